"""Filters against the batch solution, their own statistics, and everything that a sensor can do to them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from poinsot.estimators.online.belief import Sample, SampleVerdict
from poinsot.estimators.online.filter import ExtendedKalmanFilter, Gate, KalmanFilter
from poinsot.exceptions import InvalidMethod
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.charts.transposed_log_cholesky import TransposedLogCholesky
from poinsot.inertia.parameters import is_consistent, pseudo_inertia
from poinsot.models.robot.link_torques import LinkTorques
from references.robots import chain, random_robot

CHARTS = (LogCholesky(), TransposedLogCholesky(), ExponentialEigenvalue())
ARM = chain("zyy", [0, 0.1, 0.4])
LINK = ARM.bodies[2:]
NOISE = 0.2
EXTENDED = [(lambda c: lambda *a, **k: ExtendedKalmanFilter(*a, chart=c, **k))(chart) for chart in CHARTS]
each_filter = pytest.mark.parametrize(
    "make", [KalmanFilter, *EXTENDED], ids=["kalman", *(type(c).__name__ for c in CHARTS)]
)
each_chart = pytest.mark.parametrize("make", EXTENDED, ids=[type(c).__name__ for c in CHARTS])


def samples_of(torques, pi, rng, count=400, noise=NOISE, rate=333.0, still=False):
    """Random states, efforts of the open bodies pi (k, 10) and of the others."""
    robot = torques.robot
    q, v, a = robot.random_states(count, rng)
    if still:
        q, v, a = (np.repeat(x[:1], count, axis=0) for x in (q, 0 * v, 0 * a))
    for k in range(count):
        Y, tau = torques(q[k], v[k], a[k])
        tau = tau + Y @ np.ravel(pi) + noise * rng.standard_normal(len(tau))
        yield Sample((k + 1) / rate, q[k], v[k], a[k], tau)


def last(run):
    return list(run)[-1][0]


def own(torques):
    return torques.robot.inertials[torques.open_bodies]


# -- the estimate ------------------------------------------------------------------------------------------------


def test_kalmans_filter_is_the_batch_least_squares_of_eq_5(rng):
    torques = LinkTorques(ARM, LINK)
    filter_ = KalmanFilter(torques, NOISE, drift=0.0, gate=None)
    samples = list(samples_of(torques, 1.1 * own(torques), rng))
    belief = last(filter_.run(samples))
    start = filter_.init()
    information, vector = np.linalg.inv(start.covariance), np.linalg.solve(start.covariance, start.x)
    for each in samples:
        Y, tau = torques(each.q, each.v, each.a)
        information += Y.T @ Y / NOISE**2
        vector += Y.T @ (each.tau - tau) / NOISE**2
    expected = np.linalg.solve(information, vector)
    std = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose((belief.x - expected) / std, 0, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(belief.covariance)) / std, 1, atol=1e-6)


@each_filter
def test_two_open_links_are_found(rng, make):
    robot = random_robot(rng, 6, kinds="R", floating_base=True)
    torques = LinkTorques(robot, (robot.bodies[3], robot.bodies[6]))
    truth = own(torques) * np.array([[1.2], [0.8]])
    filter_ = make(torques, NOISE, drift=0.0)
    belief = last(filter_.run(samples_of(torques, truth, rng, 600)))
    np.testing.assert_allclose(filter_.inertial(belief.x)[:, 0], truth[:, 0], rtol=0.02)


@each_chart
def test_slopes_are_those_of_the_bodies(rng, make):
    filter_ = make(LinkTorques(ARM, LINK), NOISE)
    x, h = filter_.init().x + 0.1 * rng.standard_normal(10), 1e-6
    D = np.stack(
        [(filter_.inertial(x + e) - filter_.inertial(x - e))[0] / (2 * h) for e in h * np.eye(10)], axis=1
    )
    np.testing.assert_allclose(filter_.jacobian(x)[0], D, atol=1e-8)


def test_initial_std_is_that_of_the_mass(rng):
    """To a factor: a body as a whole has this relative standard deviation, its mass alone twice as much."""
    filter_ = ExtendedKalmanFilter(LinkTorques(ARM, LINK), NOISE, initial_std=0.05)
    belief = filter_.init()
    gradient = filter_.jacobian(belief.x)[0][0]
    std = np.sqrt(gradient @ belief.covariance @ gradient) / filter_.inertial(belief.x)[0, 0]
    np.testing.assert_allclose(std, 0.1, rtol=1e-6)


# -- statistics --------------------------------------------------------------------------------------------------


@each_filter
def test_errors_are_as_large_as_said(make):
    """Truth drawn from the initial belief, noise as assumed: squared errors are chi-square, intervals cover."""
    rng = np.random.default_rng(11)
    torques, trials = LinkTorques(ARM, LINK), 60
    squares, covered = [], 0
    for _ in range(trials):
        filter_ = make(torques, NOISE, initial_std=0.03, drift=0.0, gate=None)
        start = filter_.init()
        x = start.x + start.root @ rng.standard_normal(10)
        truth = filter_.inertial(x)
        belief = last(filter_.run(samples_of(torques, truth, rng, 40)))
        e = filter_.coordinates(truth) - belief.x
        squares.append(e @ np.linalg.solve(belief.covariance, e))
        gradient = filter_.jacobian(belief.x)[0][0]
        std = np.sqrt(gradient @ belief.covariance @ gradient)
        covered += abs(filter_.inertial(belief.x)[0, 0] - truth[0, 0]) < 1.96 * std
    low, high = stats.chi2.ppf([0.005, 0.995], 10 * trials) / trials
    assert low < np.mean(squares) < high
    assert stats.binom.cdf(covered, trials, 0.95) > 0.005


def test_innovations_are_chi_square(rng):
    torques = LinkTorques(ARM, LINK)
    filter_ = KalmanFilter(torques, NOISE, drift=0.0, gate=None)
    squares = [i.square for _, i in filter_.run(samples_of(torques, own(torques), rng, 2000))]
    assert stats.kstest(squares[100:], stats.chi2(3).cdf).pvalue > 0.01


# -- guards ------------------------------------------------------------------------------------------------------


def test_the_gate_keeps_impacts_out(rng):
    torques = LinkTorques(ARM, LINK)
    samples = list(samples_of(torques, own(torques), rng, 600))
    for k in range(300, 600, 40):
        samples[k] = replace(samples[k], tau=samples[k].tau + 200.0)
    masses = {}
    for gate in (None, Gate(0.999)):
        filter_ = ExtendedKalmanFilter(torques, NOISE, drift=0.3, gate=gate)
        run = list(filter_.run(samples))
        masses[gate] = np.ptp([filter_.inertial(b.x)[0, 0] for b, _ in run[300:]])
        if gate:
            gated = [k for k, (_, i) in enumerate(run) if i.verdict is SampleVerdict.gated]
            assert set(range(300, 600, 40)) <= set(gated)
            assert len(gated) < 20
    assert masses[Gate(0.999)] < masses[None] / 3


def test_a_gate_that_rejects_everything_opens_again(rng):
    torques = LinkTorques(ARM, LINK)
    filter_ = ExtendedKalmanFilter(torques, NOISE, initial_std=0.01, drift=0.1, gate=Gate(patience=50))
    light = last(filter_.run(samples_of(torques, own(torques), rng, 300)))
    heavy = 4 * own(torques)
    later = (replace(s, time=s.time + 10) for s in samples_of(torques, heavy, rng, 900))
    run = list(filter_.run(later, light._replace(time=10.0)))
    belief, verdicts = run[-1][0], [innovation.verdict for _, innovation in run]
    assert verdicts[:50] == [SampleVerdict.gated] * 50
    assert SampleVerdict.reopened in verdicts
    np.testing.assert_allclose(filter_.inertial(belief.x)[0, 0], heavy[0, 0], rtol=0.05)
    assert verdicts[-1] is SampleVerdict.accepted


@each_chart
def test_whatever_sensors_do_the_belief_is_a_body(make):
    """NaN, infinity, spikes, late and repeated samples, standstill, a step of a factor 100: a body at every tick."""
    rng = np.random.default_rng(4)
    torques = LinkTorques(ARM, LINK)
    filter_ = make(torques, NOISE, drift=0.5)
    samples = list(samples_of(torques, own(torques), rng, 200))
    still = [replace(s, time=s.time + 2) for s in samples_of(torques, own(torques), rng, 200, still=True)]
    heavy = [replace(s, time=s.time + 4) for s in samples_of(torques, 100 * own(torques), rng, 600)]
    back = [replace(s, time=s.time + 12) for s in samples_of(torques, own(torques), rng, 1000)]
    everything = samples + still + heavy + back
    for k, each in enumerate(everything):
        trouble = rng.integers(40)
        bad = {
            0: {"tau": np.full(3, np.nan)},
            1: {"tau": each.tau * np.array([1, np.inf, 1])},
            2: {"tau": each.tau + 1e6},
            3: {"time": each.time - 1},
            4: {"q": np.full(3, np.nan)},
            5: {"a": each.a + 1e6},
            6: {"tau": np.clip(each.tau, -1, 1)},
            7: {"trusted": np.zeros(3, dtype=bool)},
        }.get(int(trouble), {})
        everything[k] = replace(each, **bad)
    for k, (belief, _) in enumerate(filter_.run(everything)):
        pi = filter_.inertial(belief.x)
        assert np.isfinite(pi).all() and np.isfinite(belief.root).all(), k
        assert is_consistent(pi).all() or np.linalg.eigvalsh(pseudo_inertia(pi[0]))[0] > -1e-9 * np.trace(
            pseudo_inertia(pi[0])
        ), k
    np.testing.assert_allclose(filter_.inertial(belief.x)[0, 0], own(torques)[0, 0], rtol=0.1)


def test_rows_that_are_not_trusted_change_nothing(rng):
    torques = LinkTorques(ARM, LINK)
    filter_ = ExtendedKalmanFilter(torques, NOISE)
    good = next(samples_of(torques, own(torques), rng))
    mask = np.array([True, False, True])
    spoiled = replace(good, tau=good.tau + np.array([0.0, 1e3, 0.0]), trusted=mask)
    (a, first), (b, second) = (
        filter_.step(filter_.init(), s) for s in (replace(good, trusted=mask), spoiled)
    )
    np.testing.assert_array_equal(a.x, b.x)
    assert first.rows == second.rows == 2


def test_bias_is_taken_off(rng):
    torques, bias = LinkTorques(ARM, LINK), np.array([1.0, -2.0, 0.5])
    samples = [replace(s, tau=s.tau + bias) for s in samples_of(torques, own(torques), rng)]
    with_bias = last(ExtendedKalmanFilter(torques, NOISE, bias=bias, gate=None).run(samples))
    without = [replace(s, tau=s.tau - bias) for s in samples]
    np.testing.assert_allclose(
        with_bias.x, last(ExtendedKalmanFilter(torques, NOISE, gate=None).run(without)).x, atol=1e-9
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise": -1.0}, "above 0"),
        ({"noise": np.ones(2)}, "each of 3 efforts"),
        ({"noise": 1.0, "initial_std": 0.0}, "initial_std"),
        ({"noise": 1.0, "drift": -0.1}, "drift"),
        ({"noise": 1.0, "bias": np.ones(5)}, "bias"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(InvalidMethod, match=words):
        ExtendedKalmanFilter(LinkTorques(ARM, LINK), **settings)


@pytest.mark.parametrize(
    "settings", [{"confidence": 1.0}, {"confidence": 0.0}, {"patience": 0}, {"growth": 1.0}]
)
def test_gates_that_mean_nothing_are_refused(settings):
    with pytest.raises(InvalidMethod, match=r"must be (above|at least)"):
        Gate(**settings)
