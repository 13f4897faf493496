"""Motion over a plane: against small impulses of another program, and laws that hold in any motion."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poinsot.models.spatial.impacts import LAWS
from poinsot.models.spatial.rolling import gaps_of, rolled
from references.spatial import STEP, G, flown, struck

SIDES = np.array([0.12, 0.1, 0.08])
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * SIDES
J = np.diag([1.5e-3, 2e-3, 2.2e-3])
UP = np.array([0.0, 0.0, 1.0])


def over(friction=0.3, e=0.4, law="poisson", p=(0, 0, 0.2), v=(0, 0, 0), R=None, w=(0, 0, 0), clock=(), g=G):
    """A motion over the level plane."""
    axes, R = np.array([UP, [1.0, 0, 0], [0, 1.0, 0]]), np.eye(3) if R is None else R
    vectors = (np.array(x, dtype=float) for x in (p, v, R, w, clock))
    both = np.full(2, float(friction))
    return rolled(J, CORNERS, 0.0, axes, 0.0, g, both, float(e), LAWS.index(law), *vectors)


@pytest.mark.parametrize("law", LAWS)
def test_a_toss_is_that_of_small_impulses(law, rng):
    """Until several corners strike within a step of the other program."""
    state = (
        np.array([0.0, 0, 0.3]),
        rng.uniform(-0.8, 0.8, 3),
        Rotation.random(rng=rng),
        rng.normal(size=3) * 5,
    )
    start, frames, impacts = state, [], 0
    while impacts < 3:
        frames.append(state)
        state = flown(state, J, STEP)
        if min((state[0] + state[2].apply(corner)) @ UP for corner in CORNERS) < 0:
            after = struck(state, J, CORNERS, UP, 0.3, 0.4, law)
            impacts += after is not None
            state = after or state
    clock = STEP * np.arange(len(frames))
    p, v, R, w = start
    places, rotations = over(law=law, p=p, v=v, R=R.as_matrix(), w=w, clock=clock)
    expected = np.array([frame[0] for frame in frames])
    turned = Rotation.from_matrix(rotations) * Rotation.concatenate([frame[2] for frame in frames]).inv()
    np.testing.assert_allclose(places, expected, atol=3e-3)
    assert np.degrees(turned.magnitude()).max() < 3


def test_a_box_slides_and_rests():
    """It slows down by friction times gravity, to a stop; on a slope steeper than friction it does not."""
    clock = np.linspace(0, 1, 101)
    places, rotations = over(p=(0, 0, 0.04), v=(1.0, 0, 0), clock=clock)
    stop = 1 / (0.3 * 9.81)
    x = np.where(clock < stop, clock - 0.5 * 0.3 * 9.81 * clock**2, 0.5 * stop)
    np.testing.assert_allclose(places, np.column_stack([x, 0 * x, 0 * x + 0.04]), atol=2e-3)
    np.testing.assert_allclose(rotations[-1], np.eye(3), atol=1e-3)

    # gravity turned by 30 degrees
    g = Rotation.from_rotvec([0, -np.pi / 6, 0]).apply(G)
    places, _ = over(p=(0, 0, 0.04), clock=clock, g=g)
    a = np.linalg.norm(G) * (0.5 - 0.3 * np.cos(np.pi / 6))
    np.testing.assert_allclose(np.abs(places[:, 0]), 0.5 * a * clock**2, atol=5e-3)


def test_no_motion_gains_energy_or_passes_the_plane(rng):
    for _ in range(5):
        p, v, w = np.array([0, 0, 0.25]), rng.uniform(-1, 1, 3), rng.normal(size=3) * 8
        clock = np.arange(0, 1.5, 2e-3)
        places, rotations = over(
            p=p, v=v, R=Rotation.random(rng=rng).as_matrix(), w=w, clock=clock, friction=0.2
        )
        lowest = [gaps_of(x, R, CORNERS, 0.0, UP, 0.0).min() for x, R in zip(places, rotations, strict=True)]
        assert min(lowest) > -1e-3
        height = np.array([max(places[k:, 2]) for k in range(len(places))])
        energy = 0.5 * v @ v + 0.5 * w @ J @ w + 9.81 * p[2]
        assert (9.81 * height < energy + 1e-6).all()
        # at the end it lies on a face
        assert np.sum(gaps_of(places[-1], rotations[-1], CORNERS, 0.0, UP, 0.0) < 1e-3) >= 4


def test_without_friction_an_elastic_impact_keeps_the_energy(rng):
    w = rng.normal(size=3) * 5
    start = {"p": (0, 0, 0.2), "v": (0.3, 0, 0), "R": Rotation.random(rng=rng).as_matrix(), "w": w}
    clock = np.linspace(0, 0.35, 3501)
    places, rotations = over(friction=0.0, e=1.0, law="newton", clock=clock, **start)
    h = clock[1]
    v = np.gradient(places, h, axis=0)
    turns = (Rotation.from_matrix(rotations[:-2]).inv() * Rotation.from_matrix(rotations[2:])).as_rotvec() / (
        2 * h
    )
    energy = (
        0.5 * np.sum(v[1:-1] ** 2, axis=1)
        + 0.5 * np.sum((turns @ J) * turns, axis=1)
        + 9.81 * places[1:-1, 2]
    )
    first = 0.5 * 0.3**2 + 0.5 * w @ J @ w + 9.81 * 0.2
    assert (np.linalg.norm(np.diff(v, axis=0), axis=1) > 0.1).any(), "it strikes the plane"
    assert np.median(energy) == pytest.approx(first, rel=1e-4)
    assert energy[-5:] == pytest.approx(first, rel=2e-3)
