"""Standard deviations: against dense formulas, and against the truth, by simulating and estimating."""

import numpy as np
import pytest
from scipy import stats

from estimators.joint import swings
from estimators.joint.test_bordered import dense, random_linearization
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record
from poinsot.estimators.joint.linearization import RecordLinearization
from poinsot.estimators.joint.sensitivity import (
    expected_sum,
    influence,
    sensitivity,
    state_variances,
)

SEEDS = 40


def test_covariances_are_the_dense_ones(rng):
    """(3.30) to (3.32), dense: (T^T T)^-1 T^T W T (T^T T)^-1, W block diagonal of the residuals' covariance, each row
    of them divided by its number less the trace of its part of the dense influence matrix.
    """
    records = [random_linearization(rng, N, 7, 2, 3, False) for N in (30, 20)]
    for each in records:
        each.e[-1, :4], each.by_x[-1, :4], each.by_theta[-1, :4] = 0, 0, 0  # no step after the last sample
    steps = [(np.arange(N) < N - 1)[:, None] | (np.arange(7) >= 4) for N in (30, 20)]
    records = [each._replace(there=there) for each, there in zip(records, steps, strict=True)]
    found = sensitivity(records, 4, np.zeros(3))
    T, e, states = [], [], []
    for each in records:
        J, error = dense(each)
        n = J.shape[1] - 3
        T.append(J[:, n:] - J[:, :n] @ np.linalg.lstsq(J[:, :n], J[:, n:])[0])
        e.append(error.reshape(-1, 7))
        states.append(np.diag(J[:, :n] @ np.linalg.pinv(J[:, :n])).reshape(-1, 7))
    T, e = np.concatenate(T), np.concatenate(e)
    influence = np.concatenate(states) + np.diag(T @ np.linalg.pinv(T)).reshape(-1, 7)
    count = np.where(np.arange(7) < 4, 48, 50) - influence.sum(axis=0)
    np.testing.assert_allclose(found.freedom, count, rtol=1e-9)
    assert count.sum() == pytest.approx(4 * 48 + 3 * 50 - 2 * 50 - 3), "residuals less states and parameters"
    C = e.T @ e / np.sqrt(np.outer(count, count))
    C[:4, 4:], C[4:, :4] = 0, 0
    W = np.kron(np.eye(50), C)
    inverse = np.linalg.inv(T.T @ T)
    np.testing.assert_allclose(found.information, T.T @ T, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, inverse @ T.T @ W @ T @ inverse, rtol=1e-7)
    assert not len(found.unobservable)
    singular = np.linalg.svd(T, compute_uv=False)
    assert found.condition_numbers[0] == pytest.approx(singular[0] / singular[-1], rel=1e-9)


def test_what_white_residuals_make_of_robust_sums_is_dense(rng):
    """Sums over all pairs of V_i^T (I - H)_ij V_j with Bartlett's weights, H of the states from a pseudoinverse."""
    at = random_linearization(rng, 30, 7, 2, 3, False)
    at.e[-1, :4], at.by_x[-1, :4], at.by_theta[-1, :4] = 0, 0, 0  # no step after the last sample
    J, _ = dense(at)
    n = J.shape[1] - 3
    V = J[:, n:] - J[:, :n] @ np.linalg.lstsq(J[:, :n], J[:, n:])[0]
    left = (np.eye(len(J)) - J[:, :n] @ np.linalg.pinv(J[:, :n])).reshape(30, 7, 30, 7)
    of, blocks = influence(at)
    np.testing.assert_allclose(of.V.reshape(-1, 3), V, atol=1e-9)
    pairs = np.einsum("kmp,kmln,lnq->klpq", of.V, left, of.V)
    for lag in (0, 1, 5, 28, 29, 40):
        away = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
        expected = np.einsum("kl,klpq->pq", np.maximum(1 - away / (lag + 1), 0), pairs)
        found = expected_sum(at, of.V, blocks, lag)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(V.T @ V).max())


def test_variances_of_states_are_of_the_dense_inverse(rng):
    """With weights for the inverse of variances, of states and theta together, it is the inverse of J^T J."""
    of = random_linearization(rng, 30, 7, 2, 3)
    J, _ = dense(of)
    inverse = np.linalg.inv(J.T @ J)
    found = state_variances(of, inverse[-3:, -3:])
    np.testing.assert_allclose(found.ravel(), np.diag(inverse)[:-3], rtol=1e-9)


def test_what_is_not_seen_is_not_sure(rng):
    """Two parameters of which the errors show the sum alone, in units a million apart, and one that shows nowhere."""
    of = random_linearization(rng, 30, 7, 2, 4, False)
    P = of.by_theta.copy()
    P[:, :, 1], P[:, :, 3] = 1e6 * P[:, :, 0], 0
    found = sensitivity([RecordLinearization(of.e, of.by_x, of.by_next, P)], 4, np.zeros(4))
    assert found.unobservable.shape == (2, 4)
    np.testing.assert_allclose(found.unobservable @ found.unobservable.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(found.unobservable @ [1, 1, 0, 0], 0, atol=1e-6)
    for covariance in (found.covariance, found.robust):
        assert np.isfinite(covariance[2, 2])
        hidden = np.ones((4, 4), dtype=bool)
        hidden[2, 2] = False
        assert np.isnan(covariance[hidden]).all()
    one = sensitivity([RecordLinearization(of.e, of.by_x, of.by_next, P[:, :, [0, 2]])], 4, np.zeros(2))
    assert found.covariance[2, 2] == pytest.approx(one.covariance[1, 1], rel=0.1)


# -- against the truth -------------------------------------------------------------------------------------------------


def estimated(method, truth, names, times, motion, every=1):
    """Normalized squared errors (SEEDS, 2), by `covariance` and by `robust_covariance`, and errors (SEEDS, 2, q)."""
    places = [swings.FREE.index(name) for name in names]
    squares, parts = [], []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        record = swings.read("swing", times, motion(rng), rng)
        z = record.z.copy()
        z[np.arange(len(z)) % every != 0] = np.nan
        fit = method.solve(
            JointSmoothingProblem(swings.model(), [Record("swing", times, record.u, z)], truth, names)
        )
        assert fit.converged
        error = (fit.theta - truth)[places]
        both = [part[np.ix_(places, places)] for part in (fit.covariance, fit.robust_covariance)]
        squares.append([error @ np.linalg.solve(part, error) for part in both])
        parts.append([error / np.sqrt(np.diag(part)) for part in both])
    return np.array(squares), np.array(parts)


IMPULSE, FINE_NOISE = 5e-4, (1e-4, 1e-2)
"""Standard deviations of random impulses [N m s], and of readings [rad] as fine as what an impulse moves in a step.

Both are so small that the inertia is known to 0.1 %: joint estimates of states and parameters are biased by some
variance times degrees of freedom, since residuals of steps are proportional to the inertia."""


def kicked(rng, times, truth):
    """A swing with a random torque in each step, by Runge and Kutta's fourth-order method in steps of 2 ms."""
    mass, c, J, drag, _, _, shaft = truth[:7]
    inertia, states = J + mass * c**2 + shaft, [np.array([1.5, 0.0])]
    h, parts = times[1] - times[0], 10

    def slope(state, torque):
        return np.array([state[1], (9.81 * mass * c * np.sin(state[0]) - drag * state[1] + torque) / inertia])

    for torque in IMPULSE / h * rng.standard_normal(len(times) - 1):
        x, d = states[-1], h / parts
        for _ in range(parts):
            k_1 = slope(x, torque)
            k_2 = slope(x + d / 2 * k_1, torque)
            k_3 = slope(x + d / 2 * k_2, torque)
            k_4 = slope(x + d * k_3, torque)
            x = x + d / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
        states.append(x)
    return np.array(states).T


def coverage(seeds):
    """Normalized squared errors (n, 2) and errors (n, 2, 2), by the white and by the robust covariance.

    Steps give way: their impulses are of the size that the weight states. The states follow the readings as much as the
    model, and take two thirds of the degrees of freedom of the residuals.
    """
    names, times, truth = ("bob.Jxx", "pivot.drag"), np.arange(300) * 0.02, swings.theta()
    places = [swings.FREE.index(name) for name in names]
    method, found, parts = JointSmoothing(1 / IMPULSE**2, FINE_NOISE), [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        record = swings.read("swing", times, kicked(rng, times, truth), rng, noise=FINE_NOISE)
        fit = method.solve(JointSmoothingProblem(swings.model(), [record], truth, names))
        assert fit.converged
        assert fit.sensitivity.freedom.sum() == pytest.approx(2 * 299 + 300 - 600 - 2, abs=1e-3)
        error = (fit.theta - truth)[places]
        both = [part[np.ix_(places, places)] for part in (fit.covariance, fit.robust_covariance)]
        found.append([error @ np.linalg.solve(part, error) for part in both])
        parts.append([error / np.sqrt(np.diag(part)) for part in both])
    return np.array(found), np.array(parts)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(100, 200)])
def test_steps_that_give_way_have_the_right_covariance(seeds):
    """The sum of n draws of chi-square with 2 degrees of freedom is chi-square with 2 n: its 99 % interval.

    With N - q in place of the effective degrees of freedom the white one is twice as large, and outside.
    """
    squares, parts = coverage(seeds)
    white, robust = squares.sum(axis=0)
    lower, upper = stats.chi2.ppf([0.005, 0.995], 2 * len(seeds))
    assert lower < white < upper
    assert lower < robust < upper
    # 95 % intervals of each parameter hold the truth at least as often as 1 in 1000 would have it by chance
    assert (np.abs(parts) < 1.96).sum(axis=0).min() >= stats.binom.ppf(0.001, len(seeds), 0.95)


@pytest.mark.parametrize("every", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_errors_are_as_large_as_their_covariance_says(every):
    """White noise of readings, an exact motion, steps that weigh so much that they hold; at times most is not read.

    Less than half a degree of freedom is left to the residuals of all steps. With a weight ten times smaller it is 1.5,
    and the covariance is right for steps that give way as the weight states, which these do not: normalized squares of
    the errors are then 0.67 to 0.69 of what they should be.
    """
    names = ("bob.Jxx", "pivot.drag", "pivot encoder.zero")
    times, truth = np.arange(0.0, 4.0, 0.02 / every**0.5), swings.theta()
    motion = swings.exact(truth, times, 1.5, 0.0)
    method = JointSmoothing(1e11, swings.NOISE)
    squares, _ = estimated(method, truth, names, times, lambda _: motion, every)
    lower, upper = stats.chi2.ppf([0.005, 0.995], 3 * SEEDS) / (3 * SEEDS)
    linearized, robust = squares.mean(axis=0) / 3
    assert lower < linearized < upper
    assert lower < robust < upper


@pytest.mark.slow
def test_slow_torques_are_within_the_covariance():
    """Eight tones of 1 mN m that the mechanism does not know, below 1.5 Hz: they last for ten steps and more.

    The swing lasts as long as the record, so that there are many times what torques do to it. Steps weigh by the size
    of the impulses. Of 80 numbers 1.96 standard deviations cover 76 +- 2 if they are right, 71 is 2.6 of these below.
    """
    names = ("bob.Jxx", "pivot.drag")
    times, truth = np.arange(500) * 0.04, swings.theta(drag=0.004)

    def motion(rng):
        tones, phases = rng.uniform(0.2, 1.5, 8), rng.uniform(0, 2 * np.pi, 8)

        def torque(t):
            return 1e-3 * np.sin(2 * np.pi * tones * t + phases).sum()

        return swings.exact(truth, times, 1.5, 0.0, torque=torque)

    method = JointSmoothing(1 / (2e-3 * 0.04) ** 2, swings.NOISE)
    _, parts = estimated(method, truth, names, times, motion)
    white, robust = (np.abs(parts) < 1.96).mean(axis=(0, 2))
    # divided by N - q the white one covered less than 0.8: most of that were the states' degrees of freedom
    assert 71 / 80 < white <= 1
    assert 71 / 80 < robust <= 1
