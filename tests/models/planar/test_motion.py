"""Where the energy goes: works of impulses, of gravity, of forces and drag, each step."""

import itertools

import numpy as np
import pytest

from poinsot.models.planar import Ellipse, PlanarBody, Wall, floor, rectangle
from poinsot.models.planar.body import GRAVITY
from poinsot_reproductions.impacts.stepping import Law, simulate
from references.planar import works as works_of

THROW = (np.array([0.0, 5.0, 0.0]), np.array([10.0, -3.0, -8.0]))
WALLS = [floor(0.0, -0.1), Wall(12.0, 0.0, np.pi / 2)]
BODIES = {
    "ellipse": PlanarBody(Ellipse(1.5, 1.0), 10.0, 2.0, 0.4, 0.5),
    "drag": PlanarBody(Ellipse(1.5, 1.0), 10.0, 2.0, 0.4, 0.5, (0.3, 0.8)),
    "round square": PlanarBody(rectangle(1.0, 1.0, 0.1), 3.0, 0.5, 0.7, 0.3),
    "smooth impacts": PlanarBody(Ellipse(0.5, 0.5), 2.0, 0.3, 0.0, 1.0),
}


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_energy_changes_by_the_works(body, law, rng):
    h = 1e-3
    forces = rng.normal(size=(4000, 3)) * [5.0, 5.0, 0.5]
    motion = simulate(body, WALLS, *THROW, h, 4.0, law, forces)
    assert motion.struck.size > 2
    middle = 0.5 * (motion.velocities[1:] + motion.velocities[:-1])
    drag = np.array([body.drag[0], body.drag[0], body.drag[1]]) * body.inertias
    others = h * np.sum(middle * (forces - drag * motion.velocities[:-1]), axis=1)
    gravity = -body.mass * GRAVITY * h * middle[:, 1]
    works = works_of(motion, body.shape, WALLS).sum(axis=1)
    scale = 1e-12 * motion.energy.max()
    np.testing.assert_allclose(np.diff(motion.kinetic), works + gravity + others, atol=scale)
    lacks = 0.5 * body.mass * GRAVITY * h * np.diff(motion.velocities[:, 1])
    np.testing.assert_allclose(np.diff(motion.energy), works + others + lacks, atol=scale)


def test_energies_are_what_they_are():
    motion = simulate(BODIES["ellipse"], [floor()], *THROW, 1e-3, 0.1)
    assert motion.kinetic[0] == pytest.approx(0.5 * 10 * 109 + 0.5 * 2 * 64)
    assert motion.potential[0] == pytest.approx(10 * GRAVITY * 5)
    np.testing.assert_array_equal(motion.energy, motion.kinetic + motion.potential)


def test_flight_loses_what_implicit_euler_loses():
    """m g^2 h T / 2."""
    for h in (1e-2, 1e-3):
        motion = simulate(BODIES["ellipse"], [floor()], *THROW, h, 0.3)
        assert not motion.struck.size
        assert motion.energy[-1] - motion.energy[0] == pytest.approx(-10 * GRAVITY**2 * h * 0.3 / 2, rel=1e-9)


def drift(h):
    body = PlanarBody(Ellipse(1.5, 1.0), 10.0, 2.0, 0.0, 1.0)
    motion = simulate(body, [floor()], *THROW, h, 4.0)
    assert motion.struck.size >= 2
    return np.abs(motion.energy - motion.energy[0]).max()


def test_smooth_and_elastic_bounces_keep_the_energy_but_for_that():
    found = [drift(h) for h in (4e-3, 2e-3, 1e-3, 5e-4)]
    for h, lost in zip((4e-3, 2e-3, 1e-3, 5e-4), found, strict=True):
        assert 0 < lost < 10 * GRAVITY**2 * h * 4.0 / 2
    for coarse, fine in itertools.pairwise(found):
        assert coarse / fine == pytest.approx(2.0, rel=0.15)


def test_the_work_of_a_smooth_impact():
    """-(1 - epsilon^2) (N^T v)^2 / (2 N^T M^-1 N), up to the gravity of a step."""
    for epsilon in (0.0, 0.5, 1.0):
        h = 1e-6
        pose, velocity = np.array([0.0, 1.2, 0.4]), np.array([2.0, -3.0, 1.0])
        body = PlanarBody(Ellipse(1.5, 1.0), 10.0, 2.0, 0.0, epsilon)
        motion = simulate(body, [floor()], pose, velocity, h, 0.05)
        struck = motion.struck[0]
        q, v = motion.poses[struck], motion.velocities[struck]
        reach = np.hypot(1.5 * np.sin(q[2]), np.cos(q[2]))
        N = np.array([0.0, 1.0, (1.0 - 1.5**2) * np.sin(q[2]) * np.cos(q[2]) / reach])
        expected = -(1 - epsilon**2) * (N @ v) ** 2 / (2 * (N**2 / [10, 10, 2]).sum())
        normal, tangential = works_of(motion, body.shape, [floor()])[struck]
        assert normal == pytest.approx(expected, rel=1e-5, abs=1e-4)
        assert tangential == 0.0


def test_inelastic_contact_never_adds_energy():
    """Rough, sliding, rolling, rocking: the kinetic energy after an impulse is below what gravity alone would leave."""
    for shape, size in ((Ellipse(1.5, 1.0), 1.0), (rectangle(1.0, 1.6, 0.1), 0.5)):
        body = PlanarBody(shape, 10.0, 2.0 * size, 0.8)
        motion = simulate(body, WALLS, *THROW, 1e-3, 4.0)
        alone = motion.velocities[:-1] - [0.0, GRAVITY * 1e-3, 0.0]
        gained = motion.kinetic[1:] - 0.5 * alone**2 @ body.inertias
        assert gained.max() < 1e-9


def test_friction_takes_energy_where_it_opposes_slip_before_and_after():
    body = PlanarBody(Ellipse(1.5, 1.0), 10.0, 2.0, 0.3)
    motion = simulate(body, [floor()], np.array([0.0, 1, 0]), np.array([15.0, 0, 0]), 1e-3, 1.0)
    assert motion.struck.size == 1000
    assert (works_of(motion, body.shape, [floor()])[:, 1] < 0).all()


def test_poses_between_steps():
    motion = simulate(BODIES["ellipse"], [floor()], *THROW, 1e-2, 0.1)
    np.testing.assert_allclose(motion.at(np.array([0.015])), [motion.poses[1:3].mean(axis=0)], atol=1e-12)
    np.testing.assert_array_equal(motion.at(motion.times), motion.poses)
