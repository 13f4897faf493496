"""Standard deviations against the truth: simulate, estimate, and ask the normalized errors to be what they claim.

Every run has the same motion and other noise, so the runs are independent. Coverage of 95 % intervals is pooled over
parameters, whose errors are related; its band is that of as many independent trials as there are runs.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import signal, stats

from poinsot.estimate.uncertainty import without_systematic
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.models.robot.drive import Drive
from poinsot.parameters import Normal
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.signals.signals import Signals
from references.dense_regression import smooth_motion, torque
from references.robots import chain, own_parameters

RUNS = 300
SAMPLES = 300
ROBOT = chain("zy", [0, 0.3], drive=Drive(rotor_inertia=True))
FEW = 100
LOW, HIGH = stats.binom.ppf([0.005, 0.995], RUNS, 0.95) / RUNS  # 0.917 to 0.980
WIDE_LOW, WIDE_HIGH = stats.binom.ppf([0.005, 0.995], FEW, 0.95) / FEW  # 0.890 to 0.990


@pytest.fixture(scope="module")
def setting():
    generator = np.random.default_rng(77)
    theta = own_parameters(ROBOT, generator)
    time, q, v, a = smooth_motion(ROBOT, SAMPLES, generator, rate_hz=50.0)
    tau = torque(ROBOT, theta, q, v, a)
    problem = inverse_dynamics(ROBOT, Signals(time, ROBOT.joints, q, v, a, tau))
    return problem, problem.base.map @ theta


def with_noise(problem, noise):
    """The same problem with other efforts; what was worked out about the robot is kept."""
    (part,) = problem.parts
    return replace(problem, recordings=replace(part.signals, tau=part.signals.tau + noise))


def white(generator, spread=(1.0, 1.0)):
    return generator.standard_normal((SAMPLES, 2)) * spread


def coloured(generator, memory=0.8, spread=(1.0, 0.3)):
    e = generator.standard_normal((SAMPLES + 100, 2)) * spread
    return signal.lfilter([1.0], [1.0, -memory], e, axis=0)[100:]


def simulate(setting, method, noise, seed=0, runs=RUNS):
    """Errors (runs, b), and the estimates."""
    problem, values = setting
    generator = np.random.default_rng(seed)
    estimates = [method.solve(with_noise(problem, noise(generator))) for _ in range(runs)]
    return np.array([e.values for e in estimates]) - values, estimates


def chance(estimate):
    """Standard deviations without systematic errors, which simulated noise does not have."""
    return np.sqrt(np.diag(without_systematic(estimate.parameters.uncertainty)))


def coverage(errors, std):
    return float(np.mean(np.abs(errors) <= 1.959964 * np.array(std)))


@pytest.fixture(scope="module")
def white_runs(setting):
    return simulate(setting, LeastSquares(), white)


@pytest.fixture(scope="module")
def coloured_runs(setting):
    return simulate(setting, LeastSquares(), coloured, seed=1)


# -- white residuals -----------------------------------------------------------------------------------------


def test_normalized_errors_are_chi_square(white_runs):
    """error^T cov^-1 error with the true variance 1 is chi-square with b degrees of freedom; 99 % band of their sum."""
    errors, estimates = white_runs
    b = errors.shape[1]
    sizes = []
    for error, estimate in zip(errors, estimates, strict=True):
        if estimate.std_kind == "white":
            variance = np.sum(estimate.fit.residuals**2) / (estimate.rows - b)
            covariance = estimate.parameters.uncertainty.readings  # that of Eq. 6
            sizes.append(error @ np.linalg.solve(covariance / variance, error))
    assert len(sizes) > 0.9 * RUNS
    low, high = stats.chi2.ppf([0.005, 0.995], b * len(sizes))
    assert low <= sum(sizes) <= high
    # not their sum only: each is a draw from it
    assert stats.kstest(sizes, "chi2", args=(b,)).pvalue > 0.01


def test_the_variance_of_eq_7_is_unbiased(white_runs):
    errors, estimates = white_runs
    degrees = 2 * SAMPLES - errors.shape[1]
    sums = [np.sum(e.fit.residuals**2) for e in estimates]
    low, high = stats.chi2.ppf([0.005, 0.995], degrees * RUNS)
    assert low <= sum(sums) <= high


def test_white_intervals_cover(white_runs):
    errors, estimates = white_runs
    assert LOW <= coverage(errors, [e.white_std for e in estimates]) <= HIGH
    assert LOW <= coverage(errors, [chance(e) for e in estimates]) <= HIGH
    assert np.all([e.std >= chance(e) for e in estimates])
    # the coloured ones, which have to find out that there is no colour, do so too
    assert LOW <= coverage(errors, [e.coloured_std for e in estimates]) <= HIGH


def test_white_residuals_are_mostly_called_so(white_runs):
    """Two joints tested at 1 %, and whether they are alike at 1 %: some 3 % are called coloured."""
    _, estimates = white_runs
    calls = sum(e.std_kind == "coloured" for e in estimates)
    assert calls <= stats.binom.ppf(0.995, RUNS, 0.03)


def test_joints_of_different_noise_are_covered_too(setting):
    """Eq. 6 takes all residuals as one population; `std` does not, and weights by joint make them one."""

    def noise(generator):
        return white(generator, (3.0, 0.1))

    errors, estimates = simulate(setting, LeastSquares(), noise, seed=2, runs=FEW)
    second = [k for k, name in enumerate(estimates[0].names) if name[-1] == "2" and name[:2] in ("fv", "fc")]
    assert coverage(errors[:, second], [e.white_std[second] for e in estimates]) > 0.999  # far too wide
    assert WIDE_LOW <= coverage(errors, [chance(e) for e in estimates]) <= WIDE_HIGH
    # the quiet joint's residuals also carry what the noisy one does to shared parameters: wide rather than narrow
    assert coverage(errors[:, second], [chance(e)[second] for e in estimates]) >= WIDE_LOW
    assert (
        np.mean([chance(e)[second] for e in estimates], axis=0)
        < 0.5 * np.mean([e.white_std[second] for e in estimates], axis=0)
    ).all()
    assert {e.std_kind for e in estimates} == {"coloured"}
    weighted, by_joint = simulate(setting, LeastSquares("per-joint"), noise, seed=2, runs=FEW)
    assert WIDE_LOW <= coverage(weighted, [e.white_std for e in by_joint]) <= WIDE_HIGH
    assert WIDE_LOW <= coverage(weighted, [chance(e) for e in by_joint]) <= WIDE_HIGH
    assert sum(e.std_kind == "white" for e in by_joint) > 0.9 * FEW
    assert np.mean(weighted[:, second] ** 2) < np.mean(errors[:, second] ** 2)


def test_joints_whose_noise_is_related_are_covered(setting):
    half = np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]])
    errors, estimates = simulate(
        setting, LeastSquares(), lambda generator: white(generator) @ half.T, seed=3, runs=FEW
    )
    assert WIDE_LOW <= coverage(errors, [chance(e) for e in estimates]) <= WIDE_HIGH
    assert {e.std_kind for e in estimates} == {"coloured"}


# -- coloured residuals --------------------------------------------------------------------------------------


def test_coloured_residuals_ruin_eq_6_and_not_the_other(coloured_runs):
    """AR(1) of 0.8: 300 samples a joint are worth 33, and 7 parameters are fitted to them. 0.90 is the floor."""
    errors, estimates = coloured_runs
    assert {e.std_kind for e in estimates} == {"coloured"}
    assert coverage(errors, [e.white_std for e in estimates]) < 0.8
    assert 0.90 <= coverage(errors, [chance(e) for e in estimates]) <= HIGH
    each = np.mean(np.abs(errors) <= 1.96 * np.array([chance(e) for e in estimates]), axis=0)
    assert each.min() > 0.85
    np.testing.assert_array_equal(chance(estimates[0]), estimates[0].coloured_std)


@pytest.mark.parametrize("weighting", ["per-joint", "robust"])
def test_coloured_residuals_with_weights(weighting, setting):
    errors, estimates = simulate(setting, LeastSquares(weighting), coloured, seed=4, runs=FEW)
    assert coverage(errors, [e.white_std for e in estimates]) < 0.8
    assert 0.90 <= coverage(errors, [chance(e) for e in estimates]) <= HIGH


def test_the_coloured_std_is_that_of_the_errors(coloured_runs):
    """On average over the runs, parameter by parameter: within what a taper costs, and the allowance for it."""
    errors, estimates = coloured_runs
    ratio = np.sqrt(np.mean([chance(e) ** 2 for e in estimates], axis=0) / np.mean(errors**2, axis=0))
    assert 0.8 < ratio.min()
    assert ratio.max() < 1.25


# -- robust, and with priors ---------------------------------------------------------------------------------


def contaminated(generator):
    noise = white(generator, (1.0, 0.2))
    noise[generator.random(noise.shape) < 0.1] *= 15
    return noise


@pytest.mark.parametrize(
    "noise", [lambda g: white(g, (1.0, 0.2)), contaminated], ids=["normal", "contaminated"]
)
def test_robust_intervals_cover(noise, setting):
    errors, estimates = simulate(setting, LeastSquares("robust"), noise, seed=5, runs=FEW)
    assert WIDE_LOW <= coverage(errors, [e.white_std for e in estimates]) <= WIDE_HIGH
    assert WIDE_LOW <= coverage(errors, [e.coloured_std for e in estimates]) <= WIDE_HIGH
    ratio = np.mean([e.white_std**2 for e in estimates], axis=0) / np.mean(errors**2, axis=0)
    # each is a variance from 100 runs: relative deviation sqrt(2 / 100) = 14 %, four of them
    assert np.abs(ratio - 1).max() < 0.57
    assert abs(ratio.mean() - 1) < 0.15


@pytest.mark.parametrize("noise", [white, coloured], ids=["white", "coloured"])
@pytest.mark.parametrize("weighting", ["none", "per-joint"])
def test_the_posterior_covers_truths_drawn_from_the_prior(noise, weighting, setting):
    """Bayesian calibration: the truth is another one in each run, as likely as the prior says."""
    problem, values = setting
    names = ("fv1", "fc2", "off2", "yy2r")
    place = [problem.base.index(name) for name in names]
    free = LeastSquares(weighting).solve(with_noise(problem, noise(np.random.default_rng(0))))
    spread = chance(free)[place]  # as sure as the data: both count
    W = np.concatenate([rows.W for rows in problem.rows()])
    generator = np.random.default_rng(6)
    errors, stds = [], []
    for _ in range(FEW):
        shift = spread * generator.standard_normal(len(names))
        truth = values.copy()
        truth[place] += shift
        priors = {
            name: Normal(float(values[k]), float(s)) for name, k, s in zip(names, place, spread, strict=True)
        }
        run = with_noise(problem, noise(generator) + W[:, :, place] @ shift)
        estimate = LeastSquares(weighting).solve(replace(run, priors=priors))
        errors.append(estimate.values - truth)
        stds.append(chance(estimate))
    errors, stds = np.array(errors), np.array(stds)
    # coloured: the floor of 0.90 less twice what 100 runs of related errors scatter
    assert (WIDE_LOW if noise is white else 0.87) <= coverage(errors, stds) <= WIDE_HIGH
    assert 0.87 <= coverage(errors[:, place], stds[:, place]) <= WIDE_HIGH
    assert (np.mean(stds[:, place], axis=0) < 0.95 * spread).all()  # the data and the prior together say more
