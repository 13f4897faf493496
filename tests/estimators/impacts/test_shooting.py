from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate import Status
from poinsot.estimators.impacts import shooting as module
from poinsot.estimators.impacts.shooting import (
    FRICTION,
    INERTIA,
    PRIOR_STD,
    RESTITUTION,
    STATIONARY,
    MixturePosterior,
    Shooting,
    covariance_root,
)
from poinsot.models.planar import Ellipse, PlanarBody, floor
from poinsot.models.planar.events import moved
from poinsot.models.planar.impulses import LAWS
from references.exact_steps import stepped

SHAPE = Ellipse(0.05, 0.025)
NOISE = np.array([1e-3, 1e-3, 0.02])
TRUTH = np.array([0, 0.1, -0.785, 3.0, -5, 0, np.log(7.5625e-4), 0.3, 0.2])


def shooting(seed=0, truth=TRUTH):
    times = np.arange(61) / 120
    body = PlanarBody(SHAPE, 1.0, float(np.exp(truth[6])), truth[7], truth[8])
    poses, _ = stepped(body, [floor()], truth[:3], truth[3:6], times)
    poses = poses + NOISE * np.random.default_rng(seed).standard_normal(poses.shape)
    return Shooting(times, poses, NOISE, SHAPE, [floor()])


def test_errors_of_the_truth_are_the_noise():
    e = shooting().residuals(TRUTH, 61)
    assert np.mean(e**2) == pytest.approx(1, abs=4 * np.sqrt(2 / 183))


@pytest.mark.parametrize("law", LAWS)
def test_slopes_are_differences_both_ways(law):
    """Central differences with another step; poses are smooth where no event changes."""
    of = replace(shooting(), law=law)
    theta = TRUTH + np.array([1e-4, -1e-4, 1e-3, 0.01, 0.01, 0.05, 0.01, 0.002, 0.003])
    J = of.jacobian(theta, of.residuals(theta, 61))
    for k, scale in enumerate(of.scale()):
        step = 1e-5 * scale * np.eye(9)[k]
        central = (of.residuals(theta + step, 61) - of.residuals(theta - step, 61)) / (2e-5 * scale)
        # forward differences of 1e-6: second derivatives of 1e4 leave 1e-2 of slopes of 1e3
        np.testing.assert_allclose(J[:, k], central, rtol=0.02, atol=0.02 * np.abs(central).max())


SURVEYED = np.array([5e-3, np.radians(1), 5e-3, 5e-3])
OFF = np.array([2e-3, -0.01, 3e-3, -1e-3])


def elsewhere(law="newton"):
    """Frames of a point beside the center of mass, above a floor that is not where it is declared; and theta."""
    times, truth = np.arange(61) / 120, np.append(TRUTH, OFF)
    body = PlanarBody(SHAPE, 1.0, float(np.exp(TRUTH[6])), 0.3, 0.2, law=law)
    poses = moved(body, [floor(OFF[0], OFF[1])], TRUTH[:3], TRUTH[3:6], times)[0]
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    away = np.column_stack([c * OFF[2] - s * OFF[3], s * OFF[2] + c * OFF[3], 0 * c])
    poses = poses + away + NOISE * np.random.default_rng(1).standard_normal(poses.shape)
    return Shooting(times, poses, NOISE, SHAPE, [floor()], law=law, geometry_std=SURVEYED), truth


def test_floor_and_tracked_point_are_those_of_the_frames():
    of, truth = elsewhere()
    assert np.mean(of.residuals(truth) ** 2) == pytest.approx(1, abs=4 * np.sqrt(2 / 183))
    np.testing.assert_allclose(of.misfit(truth)[-4:], OFF / SURVEYED)
    start = np.append(TRUTH, np.zeros(4))
    fit = of.fit(start)
    assert fit.status is Status.solved
    away, P = fit.theta - truth, MixturePosterior.of(of, [fit]).covariance
    # chi-square of seven: of J/m, friction, restitution and the geometry
    assert away[INERTIA:] @ np.linalg.solve(P[INERTIA:, INERTIA:], away[INERTIA:]) < 7 + 4 * np.sqrt(14)
    assert (np.sqrt(np.diag(P))[9:] < 0.6 * SURVEYED).all()


def test_geometry_that_is_held_stays():
    of, truth = elsewhere()
    held = replace(of, geometry=OFF * [1, 1, 0, 0], geometry_std=SURVEYED * [0, 0, 1, 1])
    np.testing.assert_array_equal(held.residuals(np.delete(truth, [9, 10])), of.residuals(truth))
    assert held.parameters == 11 and held.name_of(10) == "tracked_offset_y"


def test_slopes_of_the_geometry_are_differences_both_ways():
    of, truth = elsewhere()
    J = of.misfit_jacobian(of.jacobian(truth, of.residuals(truth)))
    for k, scale in enumerate(of.scale()):
        step = 1e-5 * scale * np.eye(13)[k]
        central = (of.misfit(truth + step) - of.misfit(truth - step)) / (2e-5 * scale)
        np.testing.assert_allclose(J[:, k], central, rtol=0.02, atol=0.02 * np.abs(central).max())


@pytest.fixture(scope="module")
def rolling():
    """A throw that bounces eleven times and then rolls, of 750 frames."""
    truth, times = np.array([0, 0.3, 0.4, 1, -2, 5, np.log(8e-4), 0.3, 0.6]), np.arange(750) / 240
    body = PlanarBody(SHAPE, 1.0, 8e-4, 0.3, 0.6)
    return truth, times, moved(body, [floor()], truth[:3], truth[3:6], times)[0]


def test_slopes_of_a_long_throw_are_those_along_what_frames_hardly_show(rolling):
    """Along each column of R, of one standard deviation, beside central differences of many times the step."""
    truth, times, poses = rolling
    of = Shooting(times, poses, NOISE, SHAPE, [floor()])
    e = of.residuals(truth)
    J = of.jacobian(truth, e)
    R, inverse = covariance_root(J)
    np.testing.assert_allclose(R @ inverse, np.eye(9), atol=1e-9)
    assert np.linalg.norm(J * of.scale(), axis=0).max() > 1e5  # of a unit, in standard deviations of poses
    for r in R.T:
        central = (of.residuals(truth + 0.1 * r) - of.residuals(truth - 0.1 * r)) / 0.2
        np.testing.assert_allclose(J @ r, central, atol=0.05 * max(np.linalg.norm(central), 0.1))


def test_slopes_end_at_bounds(rolling):
    """Differences are taken into the box, where residuals have a meaning."""
    truth, times, poses = rolling
    of, theta = Shooting(times[:60], poses[:60], NOISE, SHAPE, [floor()]), truth.copy()
    theta[RESTITUTION] = 1.0
    J = of.jacobian(theta, of.residuals(theta))
    step = 1e-6 * np.eye(9)[RESTITUTION]
    behind = (of.residuals(theta) - of.residuals(theta - step)) / 1e-6
    np.testing.assert_allclose(J[:, RESTITUTION], behind, atol=0.02 * np.abs(behind).max())


@pytest.mark.slow
def test_intervals_of_a_long_throw_cover(rolling):
    """Of fits from the truth to 16 draws of the noise, as in the test of short throws."""
    truth, times, poses = rolling
    away = []
    for seed in range(16):
        drawn = poses + NOISE * np.random.default_rng(seed).standard_normal(poses.shape)
        of = Shooting(times, drawn, NOISE, SHAPE, [floor()])
        fit = of.fit(truth)
        assert fit.status is Status.solved
        P = MixturePosterior.of(of, [fit]).covariance
        z, three = (fit.theta - truth) / np.sqrt(np.diag(P)), (fit.theta - truth)[INERTIA:]
        below = np.sum(of.residuals(truth) ** 2) - fit.chi_square
        away.append((three @ np.linalg.solve(P[INERTIA:, INERTIA:], three), below, *z**2))
    of_three, of_nine, *of_each = np.sum(away, axis=0)
    assert abs(of_three - 48) < 4 * np.sqrt(2 * 48) and abs(of_nine - 144) < 4 * np.sqrt(2 * 144)
    np.testing.assert_allclose(of_each, 16, atol=4 * np.sqrt(2 * 16))


def test_fit_is_a_minimum_and_the_truth_is_within_its_covariance():
    errors = []
    for seed in range(12):
        of = shooting(seed)
        shot = of.fit(TRUTH)
        assert shot.status is Status.solved
        J = of.jacobian(shot.theta, of.residuals(shot.theta, 61))
        size = np.linalg.norm(J, axis=0) * np.sqrt(shot.chi_square)
        assert (np.abs(J.T @ of.residuals(shot.theta, 61)) < 0.02 * size).all()
        away, P = (
            (shot.theta - TRUTH)[INERTIA:],
            MixturePosterior.of(of, [shot]).covariance[INERTIA:, INERTIA:],
        )
        below = np.sum(of.residuals(TRUTH, 61) ** 2) - shot.chi_square
        errors.append((away @ np.linalg.solve(P, away), below))
    # chi-square of J/m, friction and restitution by their covariance, and of all nine by the sum itself: of the first
    # velocities, which one frame and a half show, only the latter is nearly so
    of_three, of_nine = np.sum(errors, axis=0)
    assert abs(of_three - 36) < 4 * np.sqrt(2 * 36)
    assert abs(of_nine - 108) < 4 * np.sqrt(2 * 108)


def test_held_parameters_stay():
    start = TRUTH.copy()
    start[FRICTION] = 0.31
    shot = shooting().fit(start, held=[FRICTION])
    assert shot.theta[FRICTION] == 0.31


def test_search_finds_what_a_step_downhill_does_not():
    of = shooting(3)
    start = TRUTH.copy()
    start[INERTIA] += np.log(1.15)
    start[RESTITUTION] = 0.6
    start[5] = -12.0
    limit = 183 + 4 * np.sqrt(2 * 183)
    assert of.fit(start).chi_square > limit
    found, *_ = of.search(start, limit, np.random.default_rng(0))
    assert found.chi_square < limit
    assert np.exp(found.theta[INERTIA]) == pytest.approx(7.5625e-4, rel=0.03)


def test_hidden_friction_is_as_wide_as_it_may_be():
    truth = TRUTH.copy()
    truth[FRICTION] = 0.9
    of = shooting(0, truth)
    std = np.sqrt(np.diag(MixturePosterior.of(of, [of.fit(truth)]).covariance))
    assert std[FRICTION] == pytest.approx(PRIOR_STD[FRICTION]) and std[INERTIA] < 0.1


class Valley(Shooting):
    """Residuals 1 + 50 |x - y|, x + y - bottom, and the other seven components: a valley with a kink along x = y."""

    bottom = 0.0

    def residuals(self, theta, _frames=None):
        return np.array([1 + 50 * abs(theta[0] - theta[1]), theta[0] + theta[1] - self.bottom, *theta[2:]])

    def jacobian(self, theta, e):
        return np.column_stack([(self.residuals(theta + 1e-6 * d, 3) - e) / 1e-6 for d in np.eye(9)])

    def bounds(self):
        return np.full(9, -np.inf), np.full(9, np.inf)


@pytest.mark.parametrize(
    ("kinks", "bottom", "status"),
    [(0, 2.0, Status.stalled), (5, 2.0, Status.solved), (0, 1.0, Status.solved)],
)
def test_a_step_that_lowers_nothing_is_convergence_at_a_minimum_only(monkeypatch, kinks, bottom, status):
    """At the kink no step of the one-sided linearization lowers the cost; along it the cost falls, but at its bottom.

    A fit that may go on does so along the slope that descends, down to the bottom.

    There the gradient of both sides differs from zero, and still no direction descends: a minimum.
    """
    monkeypatch.setattr(module, "KINKS", kinks)
    of = Valley(np.arange(3.0), np.zeros((3, 3)), np.ones(3), SHAPE, [floor()])
    object.__setattr__(of, "bottom", bottom)
    fit = of.fit(np.array([0.5, 0.5, 0, 0, 0, 0, 0, 0, 0]))
    assert fit.status is status
    assert np.abs(of.jacobian(fit.theta, of.residuals(fit.theta, 3)).T @ of.residuals(fit.theta, 3)).max() > 1
    assert (of.descent(fit.theta)[0] <= STATIONARY) == (status is Status.solved)


def test_stationarity_is_the_length_of_the_step_where_the_cost_is_smooth():
    of = shooting(0)
    best = of.fit(TRUTH).theta
    P = MixturePosterior.of(of, [of.fit(TRUTH)]).covariance
    assert of.descent(best)[0] < 0.03
    away = best.copy()
    away[INERTIA] += 0.5 * np.sqrt(P[INERTIA, INERTIA])
    e = of.residuals(away, 61)
    J = of.jacobian(away, e)
    g = J.T @ e
    expected = np.sqrt(g @ np.linalg.solve(J.T @ J + np.diag(PRIOR_STD[:9] ** -2), g))
    assert expected > 0.5
    # forward differences of 1e-3 standard deviations against those of 1e-6 of the scale
    assert of.descent(away)[0] == pytest.approx(expected, rel=0.05)
