"""What residuals say: sums against loops, tests against their false-alarm rates."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import signal, stats

from poinsot import statistics
from poinsot.estimate import fit as fits
from poinsot.estimators.linear import least_squares
from poinsot.regression.inverse_dynamics import inverse_dynamics
from references.dense_regression import signals_of, smooth_motion, stacked
from references.robots import chain, own_parameters

AR = 0.8


def _spherical(e):
    return statistics.is_spherical(e.T @ e, len(e))


def coloured(rng, samples, joints, memory=AR):
    e = signal.lfilter([1.0], [1.0, -memory], rng.standard_normal((samples + 200, joints)), axis=0)[200:]
    return e @ rng.standard_normal((joints, joints))


def double_sum(W, Gamma):
    """sum over t, u of W_t^T Gamma(u - t) W_u, pair by pair."""
    total = 0.0
    for t in range(len(W)):
        for u in range(max(t - len(Gamma) + 1, 0), min(t + len(Gamma), len(W))):
            total = total + W[t].T @ (Gamma[u - t] if u >= t else Gamma[t - u].T) @ W[u]
    return total


@pytest.mark.parametrize(("rows", "lags"), [(30, 5), (30, 0), (4, 6), (6, 6), (7, 6), (33, 12), (1, 3)])
@pytest.mark.parametrize("at_once", [1, 3, 8])
def test_pairs_with_what_is_earlier_are_half_of_the_double_sum(rows, lags, at_once, rng, monkeypatch):
    monkeypatch.setattr(statistics, "COLUMNS_AT_ONCE", at_once)
    W = rng.standard_normal((rows, 3, 4))
    Gamma = rng.standard_normal((lags + 1, 3, 3))
    Gamma[0] += Gamma[0].T  # Gamma(0) is symmetric, the others need not be
    half = statistics._pairs_of_stretch(np.concatenate([np.zeros((lags, 3, 4)), W]), Gamma.transpose(1, 2, 0))
    expected = double_sum(W, Gamma)
    np.testing.assert_allclose(half + half.T, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.usefixtures("unchecked")  # a stand-in for the problem
@pytest.mark.parametrize("sizes", [(90,), (90, 60), (3, 70, 1)])
@pytest.mark.parametrize("stretch", [1, 17, 4096])
def test_the_middle_is_the_double_sum_over_each_recording_in_any_stretches(sizes, stretch, rng, monkeypatch):
    """Residuals of one recording say nothing about those of the next; within one, stretches leave no pair out."""
    monkeypatch.setattr(statistics, "SHORTEST_STRETCH", stretch)
    W = [rng.standard_normal((size, 2, 5)) for size in sizes]
    scores = [coloured(rng, size, 2, memory=0.3) for size in sizes]
    columns = np.array([0, 2, 3])

    def rows():
        for part, block in enumerate(W):
            for first in range(0, len(block), 4):
                yield SimpleNamespace(part=part, W=block[first : first + 4])

    problem = SimpleNamespace(rows=rows, row_counts=sizes)
    middle = least_squares.coloured_middle(problem, np.concatenate(scores), columns)
    N = sum(sizes)
    r = sum(
        len(s)
        / N
        * np.pad(
            statistics.autocorrelation(s, min(N // 4, len(s) - 1)), ((0, 0), (0, max(N // 4 - len(s) + 1, 0)))
        )
        for s in scores
    )
    lags = min(max(4 * max(statistics.correlation_length(row, N) for row in r), 1), N // 4)
    Gamma = np.zeros((lags + 1, 2, 2))
    for s in scores:
        for lag in range(min(lags, len(s) - 1) + 1):
            Gamma[lag] += s[: len(s) - lag].T @ s[lag:] / N * (1 - lag / (lags + 1))
    expected = sum(double_sum(block[:, :, columns], Gamma) for block in W) * statistics.taper_allowance(
        lags / N
    )
    np.testing.assert_allclose(middle, expected, atol=1e-11 * np.abs(expected).max())
    assert np.linalg.eigvalsh(middle)[0] >= -1e-12 * np.abs(middle).max()


@pytest.mark.usefixtures("unchecked")
def test_the_middle_of_white_residuals_is_that_of_eq_6(rng):
    """E[M] = W^T (1 x Sigma) W for residuals without memory, whatever the joints have to do with each other."""
    W = rng.standard_normal((400, 2, 3))
    Sigma = np.array([[1.0, 0.5], [0.5, 4.0]])
    problem = SimpleNamespace(rows=lambda: iter([SimpleNamespace(part=0, W=W)]), row_counts=(400,))
    half = np.linalg.cholesky(Sigma)
    middles = [
        least_squares.coloured_middle(problem, rng.standard_normal((400, 2)) @ half.T, np.arange(3))
        for _ in range(100)
    ]
    expected = np.einsum("tik,ij,tjl->kl", W, Sigma, W)
    # each M is off by about sqrt(2 / 400), their mean by a tenth of that; half of Gamma(1) is noise on top
    np.testing.assert_allclose(np.mean(middles, axis=0), expected, atol=0.03 * expected.max())


# -- verdicts ------------------------------------------------------------------------------------------------


def test_ljung_and_box_by_hand(rng):
    e = coloured(rng, 200, 1, memory=0.2)
    r = statistics.autocorrelation(e, 30)[0]
    Q = 200 * 202 * sum(r[lag] ** 2 / (200 - lag) for lag in range(1, 21))
    verdict = fits.whiteness(r, 200)
    np.testing.assert_allclose(verdict.p_value, stats.chi2.sf(Q, 20))
    assert (verdict.lags, verdict.white) == (20, verdict.p_value > 0.01)
    assert verdict.lag1 == r[1]
    assert fits.whiteness(r[:6], 200).lags == 5


@pytest.mark.parametrize("samples", [120, 1000])
def test_white_noise_is_called_coloured_one_time_in_a_hundred(samples):
    generator = np.random.default_rng(11)
    runs = 2000
    r = statistics.autocorrelation(generator.standard_normal((samples, runs)), 60)
    alarms = sum(not fits.whiteness(row, samples).white for row in r)
    # the test is asymptotic: with 20 lags of 120 samples its tail is somewhat heavy. 99.9 % band of the binomial
    low, high = stats.binom.ppf([0.0005, 0.9995], runs, 0.01)
    assert low <= alarms <= (2 * high if samples < 500 else high)


def test_coloured_noise_is_noticed():
    generator = np.random.default_rng(12)
    e = np.concatenate([coloured(generator, 500, 1, memory=0.3) for _ in range(50)], axis=1)
    assert sum(not fits.whiteness(row, 500).white for row in statistics.autocorrelation(e, 60)) >= 48


def test_residuals_that_are_alike_are_called_so_ninety_nine_times_in_a_hundred():
    generator = np.random.default_rng(13)
    runs = 1000
    alarms = sum(not _spherical(generator.standard_normal((200, 4))) for _ in range(runs))
    low, high = stats.binom.ppf([0.0005, 0.9995], runs, 0.01)
    assert low <= alarms <= high
    mixed = np.linalg.cholesky(np.array([[1, 0.5], [0.5, 1]]))
    for spread in (np.diag([1.0, 1.5]), mixed):
        assert not any(_spherical(generator.standard_normal((200, 2)) @ spread.T) for _ in range(20))
    assert _spherical(generator.standard_normal((50, 1)))
    assert _spherical(np.zeros((50, 3)))
    assert not _spherical(generator.standard_normal((50, 2)) * [1.0, 0.0])


def test_the_fit_is_measured_against_predicted(rng):
    robot = chain("zy", [0, 0.3])
    theta = own_parameters(robot, rng)
    noise = 0.2 * rng.standard_normal((150, 2))
    signals = signals_of(robot, theta, smooth_motion(robot, 150, rng), noise)
    problem = inverse_dynamics(robot, [signals, signals])
    W, y = stacked(problem)
    beta = problem.base.map @ theta
    fit = problem.fit(beta, "a name")
    e = y - W @ beta
    np.testing.assert_allclose(fit.residuals, np.concatenate([noise, noise]), atol=1e-10)
    np.testing.assert_allclose(fit.measured, y)
    np.testing.assert_allclose(fit.relative_error_percent, 100 * np.linalg.norm(e) / np.linalg.norm(y))
    np.testing.assert_allclose(
        fit.relative_error_percent_per_joint, 100 * np.linalg.norm(e, axis=0) / np.linalg.norm(y, axis=0)
    )
    np.testing.assert_allclose(fit.rms_per_joint, np.sqrt(np.mean(e**2, axis=0)))
    # the same recording twice: its end is not joined to its beginning
    np.testing.assert_allclose(
        fit.autocorrelation[:, :30], statistics.autocorrelation(noise, 60)[:, :30], atol=1e-9
    )
    assert (fit.joints, fit.units, fit.recording) == (("j1", "j2"), ("N m", "N m"), "a name")


def test_errors_are_told_while_moving_too(rng, monkeypatch):
    """Joint by joint, over the rows in which that joint is faster than so much."""
    robot = chain("zy", [0, 0.3])
    motion = smooth_motion(robot, 200, rng, speed=0.2)
    monkeypatch.setattr(fits, "MOVING", float(np.median(np.abs(motion[2]))))
    theta = own_parameters(robot, rng)
    problem = inverse_dynamics(robot, signals_of(robot, theta, motion, rng.standard_normal((200, 2))))
    values = problem.base.map @ theta
    found = problem.fit(values)
    _, y = stacked(problem)
    moving = np.abs(motion[2]) > fits.MOVING
    assert moving.sum() == 200
    for joint, percent in enumerate(found.moving_error_percent_per_joint):
        rows = moving[:, joint]
        expected = np.linalg.norm(found.residuals[rows, joint]) / np.linalg.norm(y[rows, joint])
        assert percent == pytest.approx(100 * expected)


def test_a_joint_that_never_moves_has_no_error_while_moving(rng):
    robot = chain("zy", [0, 0.3])
    motion = smooth_motion(robot, 200, rng)
    still = signals_of(robot, own_parameters(robot, rng), motion, rng.standard_normal((200, 2)))
    still = replace(still, v=still.v * [0.0, 1.0])
    found = inverse_dynamics(robot, still).fit(np.zeros(len(inverse_dynamics(robot, still).base)))
    assert np.isnan(found.moving_error_percent_per_joint[0])
    assert found.moving_error_percent_per_joint[1] == pytest.approx(100.0)
