from dataclasses import replace

import numpy as np
import pytest

from poinsot.accuracy import Accuracy
from poinsot.estimate import Status
from poinsot.estimators.impacts.drop import fitted_drops
from poinsot.estimators.impacts.flights import moving
from poinsot.estimators.impacts.method import ImpactIdentification
from poinsot.estimators.impacts.problem import ImpactsProblem
from poinsot.estimators.impacts.shooting import FRICTION, GEOMETRY, INERTIA as INERTIA_AT, MASS
from poinsot.exceptions import InvalidMethod, InvalidRecording, InvalidSignals, NotIdentifiable
from poinsot.models.planar import Ellipse, PlanarBody, Wall, floor, rectangle
from poinsot.models.planar.drop import Drop, of_point
from poinsot.models.planar.events import moved
from references.exact_steps import contacts_struck, stepped

SHAPE, INERTIA, RESTITUTION = Ellipse(0.05, 0.025), 7.5625e-4, 0.2
NOISE = np.array([1e-3, 1e-3, 0.02])


def thrown(friction, rate=120, seed=0, noise=NOISE, seconds=0.5):
    """Frames of the paper's throw (Sect. 6.1)."""
    times = np.arange(round(seconds * rate) + 1) / rate
    body = PlanarBody(SHAPE, 1.0, INERTIA, friction, RESTITUTION)
    poses, _ = stepped(body, [floor()], [0, 0.1, -0.785], [3.0, -5, 0], times)
    return times, poses + noise * np.random.default_rng(seed).standard_normal(poses.shape)


@pytest.fixture(scope="module")
def sliding():
    return fitted_drops([Drop("throw", *thrown(0.3))], SHAPE, [floor()])


@pytest.fixture(scope="module")
def rolling():
    return fitted_drops([Drop("throw", *thrown(0.8))], SHAPE, [floor()], noise=NOISE)


def test_a_throw_is_identified_from_its_frames_alone(sliding):
    low, high = sliding.inertia_interval
    assert low < INERTIA < high and high / low < 1.06  # 0.6 % of standard deviation, so 1.024 of its interval
    std = np.sqrt(sliding.posterior.covariance[FRICTION, FRICTION])
    assert sliding.friction == pytest.approx(0.3, abs=4 * std) and std < 0.01
    assert sliding.friction_bound is None and sliding.restitution == pytest.approx(RESTITUTION, abs=0.03)
    assert not sliding.findings
    # 122 numbers of x and y, 61 of the angle: standard deviations are known to some 7 and 10 percent
    np.testing.assert_allclose(sliding.shooting.noise, NOISE, rtol=0.35)


def test_motion_and_impacts_are_those_of_the_fit(sliding):
    assert np.sqrt(np.mean((sliding.predicted - sliding.shooting.poses) ** 2, axis=0)) == pytest.approx(
        NOISE, rel=0.35
    )
    assert (
        len(sliding.motions[0].impacts.times) >= 3 and (np.diff(sliding.motions[0].impacts.times) > 0).all()
    )
    assert (
        np.abs(sliding.motions[0].impacts.impulses[:, 1])
        <= sliding.friction * sliding.motions[0].impacts.impulses[:, 0] + 1e-12
    ).all()


def test_rolling_hides_friction_and_a_bound_is_given(rolling):
    assert rolling.friction_bound is not None
    # the ellipse needs some 0.56 to stick at all impacts
    assert 0.45 < rolling.friction_bound < 0.62
    low, high = rolling.inertia_interval
    assert low / 1.02 < INERTIA < high * 1.02
    assert rolling.noise_given and rolling.chi_square < 1.5 * rolling.shooting.degrees


@pytest.mark.slow
def test_a_wrong_shape_is_distrusted():
    times, poses = thrown(0.4, seconds=0.25)
    fit = fitted_drops([Drop("throw", times, poses)], Ellipse(0.05, 0.035), [floor()], noise=NOISE)
    assert any("times the noise" in each.message for each in fit.findings)


def test_two_walls_and_corners_that_strike_together():
    """A square that slides into a corner, and ends up flat in it."""
    shape, walls = rectangle(0.06, 0.06), [floor(), Wall(0.15, 0.0, np.pi / 2)]
    times = np.arange(49) / 120
    noise = NOISE / 10
    body = PlanarBody(shape, 1.0, 6e-4, 0.2, 0.3)
    poses, motion = stepped(body, walls, [0, 0.1, 0.3], [1.5, -0.5, 4.0], times)
    struck = contacts_struck(motion)
    assert struck[:, :4].any() and struck[:, 4:].any() and (struck.sum(axis=1) > 1).any()
    poses = poses + noise * np.random.default_rng(1).standard_normal(poses.shape)
    fit = fitted_drops([Drop("slide", times, poses)], shape, walls)
    low, high = fit.inertia_interval
    assert low / 1.005 < 6e-4 < high * 1.005 and high / low < 1.03
    assert fit.friction == pytest.approx(0.2, abs=0.005) and fit.restitution == pytest.approx(0.3, abs=0.01)


def test_frames_of_a_body_that_lies_still_are_left_out():
    shape, times = rectangle(0.06, 0.06), np.arange(200) / 120
    body = PlanarBody(shape, 1.0, 6e-4, 0.3, 0.3)
    poses, _ = stepped(body, [floor()], [0, 0.1, 0.3], [0.5, 0, 2.0], times)
    poses = poses + NOISE * np.random.default_rng(0).standard_normal(poses.shape)
    settled = int(np.flatnonzero(np.abs(poses[:, 1] - 0.03) > 0.006)[-1])
    kept = moving(Drop("fall", times, poses, np.zeros((199, 3))))
    assert settled < len(kept.times) < settled + 60 and len(kept.forces) == len(kept.times) - 1
    shorter = Drop("fall", times[: settled + 1], poses[: settled + 1])
    assert moving(shorter) is shorter


@pytest.mark.slow
def test_what_neighbouring_frames_do_not_show_is_distrusted():
    """A floor that is 10 mm too high, a frame that was misread."""
    times, poses = thrown(0.35)
    fit = fitted_drops([Drop("throw", times, poses)], SHAPE, [floor(0.01)])
    assert any("times the noise between neighbouring frames" in each.message for each in fit.findings)
    misread = poses.copy()
    misread[30] += [0.3, 0.2, 1.0]
    fit = fitted_drops([Drop("throw", times, misread)], SHAPE, [floor()])
    assert any("the frame at 0.25 s is far from all others" in each.message for each in fit.findings)


def test_nothing_struck_is_nothing_to_identify():
    times = np.arange(40) / 120
    poses = np.column_stack([times, 1 - 4.905 * times**2, 3 * times])
    poses = poses + NOISE * np.random.default_rng(0).standard_normal(poses.shape)
    with pytest.raises(NotIdentifiable, match="the body hits nothing in throw"):
        fitted_drops([Drop("throw", times, poses)], SHAPE, [floor()], noise=NOISE)


ROD = rectangle(0.2, 0.02)
ROD_NOISE = np.array([5e-4, 5e-4, 3e-3])


def rod(law):
    """A rod that bounces five times: the laws of restitution move it 0.4 m apart."""
    times, body = np.arange(121) / 240, PlanarBody(ROD, 1.0, 3.4e-3, 0.3, 0.5, law=law)
    start = np.array([0.0, 0.248, -1.369]), np.array([-1.92, -0.741, 1.394])
    poses = moved(body, [floor()], *start, times)[0]
    return Drop("rod", times, poses + ROD_NOISE * np.random.default_rng(0).standard_normal(poses.shape))


@pytest.mark.parametrize("law", ["newton", "poisson", "energetic"])
def test_the_law_of_restitution_is_the_one_that_the_rod_obeys(law):
    estimate = ImpactIdentification().solve(ImpactsProblem((rod(law),), ROD, (floor(),)))
    laws = estimate.scene.restitution_laws
    assert estimate.scene.restitution_law == law == max(laws, key=laws.get)
    assert len(laws) == 3 and sorted(laws.values())[-2] < laws[law] - 10
    for name, truth in (("J/m", 3.4e-3), ("friction", 0.3), ("restitution", 0.5)):
        k = estimate.names.index(name)
        assert abs(estimate.values[k] - truth) < 4 * estimate.std[k]
    assert estimate.certificate().holds
    assert any(note.startswith(f"The law of restitution is {law}") for note in estimate.notes)


def test_a_law_that_is_given_is_not_compared():
    estimate = ImpactIdentification(restitution="poisson").solve(
        ImpactsProblem((rod("poisson"),), ROD, (floor(),))
    )
    assert list(estimate.scene.restitution_laws) == ["poisson"]
    assert estimate.scene.restitution_law == "poisson" and estimate.extras["simulation"].law == "poisson"
    assert not any("law of restitution" in note for note in estimate.notes)


def surveyed(off, **settings):
    """The rod's drop with the floor and the tracked point off by (4,), and the truth as declared."""
    drop = rod("newton")
    # a higher floor than declared: frames and floor are higher by the same
    moved_frames = drop.poses + np.array([0.0, off[0], 0.0])
    frames = of_point(moved_frames, np.array(off[2:]))
    problem = ImpactsProblem((replace(drop, poses=frames),), ROD, (floor(0.0, -off[1]),))
    return ImpactIdentification(**settings).solve(problem)


@pytest.mark.parametrize(
    ("off", "cause"),
    [
        ((0.0, 0.0, 0.0, 0.0), None),
        ((3e-3, 0.0, 0.0, 0.0), "wall"),
        ((0.0, np.radians(1), 0.0, 0.0), "wall"),
        ((0.0, 0.0, 4e-3, -3e-3), "tracked-point"),
    ],
)
def test_a_survey_that_is_off_changes_no_value_and_is_named(off, cause):
    estimate = surveyed(off)
    assert {"wall", "tracked-point"} & {finding.cause for finding in estimate.findings} == {cause} - {None}
    assert estimate.trust.value == "trusted" and estimate.certificate().holds
    truths = {"J/m": 3.4e-3, "restitution": 0.5} | dict(zip(GEOMETRY, off, strict=True))
    for name, truth in truths.items():
        k = estimate.names.index(name)
        assert abs(estimate.values[k] - truth) < 4 * estimate.std[k], name
    assert estimate["J/m"] == pytest.approx(3.4e-3, rel=0.05)


def test_held_geometry_is_not_estimated():
    estimate = surveyed((3e-3, 0.0, 0.0, 0.0), held={"floor_height": 3e-3, "floor_slope": 0.0})
    assert not {"floor_height", "floor_slope"} & set(estimate.names)
    assert not estimate.findings and estimate["J/m"] == pytest.approx(3.4e-3, rel=0.03)
    with pytest.raises(InvalidMethod, match="delete corner_radius"):
        surveyed((0.0,) * 4, held={"corner_radius": 1e-3})


def test_an_exact_laboratory_knows_floor_and_tracked_point():
    problem = ImpactsProblem((rod("newton"),), ROD, (floor(),), accuracy=Accuracy(exact=True))
    assert not set(GEOMETRY) & set(ImpactIdentification().solve(problem).names)


def test_laws_that_predict_alike_are_not_told_apart(sliding):
    """The ellipse slides through its impacts."""
    values = sliding.likelihoods.values()
    assert len(values) == 3 and max(values) - min(values) < 3


def test_input_that_cannot_be_used():
    times, poses = thrown(0.3)
    with pytest.raises(InvalidSignals, match="at least 8"):
        fitted_drops([Drop("throw", times[:5], poses[:5])], SHAPE, [floor()])
    with pytest.raises(InvalidRecording, match="out of order"):
        Drop("throw", times[::-1], poses)
    with pytest.raises(InvalidRecording, match="each of the 60 intervals"):
        Drop("throw", times, poses, np.zeros((61, 3)))
    with pytest.raises(InvalidMethod, match="three numbers"):
        ImpactIdentification((1e-3, 1e-3))
    with pytest.raises(InvalidMethod, match="no law of restitution 'newtn'; did you mean 'newton'"):
        ImpactIdentification(restitution="newtn")


def forced(mass, seed, size=0.3):
    """The throw, pushed and turned by a known force that changes from frame to frame [N], [N m]."""
    times = np.arange(61) / 120
    t = times[:-1]
    forces = size * np.column_stack(
        [np.sin(4 * np.pi * t), np.sign(np.cos(6 * np.pi * t)), 0.02 * np.cos(3 * np.pi * t)]
    )
    body = PlanarBody(SHAPE, mass, mass * INERTIA, 0.3, RESTITUTION)
    poses, motion = stepped(body, [floor()], [0, 0.1, -0.785], [3.0, -5, 0], times, forces)
    noise = NOISE * np.random.default_rng(seed).standard_normal(poses.shape)
    return Drop("throw", times, poses + noise, forces), motion.impulses[motion.struck[0], 0, 0]


def test_a_known_force_shows_mass_and_inertia():
    """From ten times heavier and lighter than where the search of the mass begins."""
    z = []
    for mass, size, seed in [(0.064, 0.3, 0), (0.0064, 0.3, 2), (0.064, 0.06, 3)]:
        drop, first_impulse = forced(mass, seed, size)
        fit = fitted_drops([drop], SHAPE, [floor()])
        assert fit.mass_identifiable and not fit.findings
        away = (fit.theta - np.log([1, 1, 1, 1, 1, 1, INERTIA, 1, 1, mass]))[[INERTIA_AT, MASS]]
        P = fit.posterior.covariance[np.ix_([INERTIA_AT, MASS], [INERTIA_AT, MASS])]
        z.append(away @ np.linalg.solve(P, away))
        assert fit.mass == pytest.approx(mass, rel=4 * np.sqrt(fit.posterior.covariance[MASS, MASS]))
        # impulses by mass are those of the truth once they are multiplied
        assert fit.mass * fit.motions[0].impacts.impulses[0, 0] == pytest.approx(first_impulse, rel=0.15)
    # chi-square with two degrees of freedom each
    assert sum(z) < 6 + 4 * np.sqrt(12)


def test_a_mass_that_is_given_is_not_sought():
    drop, _ = forced(0.064, 0)
    sought, given = (fitted_drops([drop], SHAPE, [floor()], mass, noise=NOISE) for mass in (None, 0.064))
    assert len(given.theta) == 9 and given.mass == 0.064 and not given.shooting.mass_is_estimated
    # one parameter less: chi-square more
    assert sought.chi_square < given.chi_square < sought.chi_square + 15


def test_a_force_that_hardly_acts_shows_no_mass():
    drop, _ = forced(0.064, 0)
    weak = Drop("throw", *thrown(0.3), 1e-4 * drop.forces)
    fit = fitted_drops([weak], SHAPE, [floor()], noise=NOISE)
    assert fit.shooting.mass_is_estimated and not fit.mass_identifiable and fit.mass is None
    low, high = fit.inertia_interval
    assert low / 1.01 < INERTIA < high * 1.01


def test_motion_at_other_times_is_the_fits():
    drop, _ = forced(0.064, 0)
    fit = fitted_drops([drop], SHAPE, [floor()], 0.064, noise=NOISE)
    poses, velocities, _ = fit.shooting.motion(fit.theta, drop.times[:20])
    np.testing.assert_allclose(poses, fit.predicted[:20], atol=1e-9)
    np.testing.assert_allclose(velocities, fit.velocities[:20], atol=1e-7)
    fine = np.linspace(0, drop.times[19], 400)
    between = fit.shooting.motion(fit.theta, fine)[0]
    np.testing.assert_allclose(between[-1], poses[-1], atol=1e-4)


def test_a_search_that_is_stopped_says_so_and_keeps_what_it_found():
    """Stopped at once, where the motion of the first frames strikes the floor; and between the rounds of the search."""
    problem = ImpactsProblem((Drop("throw", *thrown(0.3)),), SHAPE, (floor(),))
    found = ImpactIdentification(NOISE).solve(problem, stop=lambda: True)
    assert found.status is Status.interrupted and not found.status.converged
    assert np.isfinite(found["J/m"]) and len(found.motions[0].path) == 61
    asked = []
    found = ImpactIdentification(NOISE).solve(problem, stop=lambda: len(asked.append(0) or asked) > 3)
    assert found.status is Status.interrupted
    assert found["J/m"] == pytest.approx(INERTIA, rel=0.2)


def test_progress_tells_the_stages():
    seen = []
    problem = ImpactsProblem((Drop("throw", *thrown(0.3)),), SHAPE, (floor(),))
    estimate = ImpactIdentification().solve(problem, progress=seen.append)
    assert {"shooting", "noise of the tracker"} <= {each.stage for each in seen}
    assert estimate.coloured_std is None and estimate.std_kind == "white"
    # whitened by the noise: J/m in m^2 beside mu and restitution; the scaled one is of order one
    assert estimate.condition_number > 100 and 1 < estimate.scaled_condition_number < 10
