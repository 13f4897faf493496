"""The banded smoother: against the paper's recursions, dense algebra and 60 digits; its covariances, by simulation."""

import math

import numpy as np
import pytest

from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.signals.random_walk import (
    GeneralizedRandomWalk,
    cutoff_hz,
    log_likelihood,
    nvr_for_cutoff,
    smooth,
)
from poinsot.signals.random_walk_smoother import (
    LogNormalPrior,
    RatioVerdict,
    differentiate,
    maximum_likelihood_nvr,
)
from references.random_walk import (
    dense_smoother,
    kalman_smoother,
    simulate,
    sixty_digits,
    smoothing_matrix,
)

EPS = np.finfo(float).eps


def equation_12(*, alpha, beta, gamma, delta, kappa, Q11=1.0, Q22=1.0):
    """A = [[alpha, beta], [0, gamma]], D = diag(delta, kappa), Q_nvr = NVR diag(Q11, Q22)."""
    G = np.diag([delta * math.sqrt(Q11), kappa * math.sqrt(Q22)])
    G = G[:, G.any(axis=0)]  # a source of noise with zero variance is no unknown
    return GeneralizedRandomWalk(np.array([[alpha, beta], [0.0, gamma]]), G)


def smoothed_walk(alpha):
    return equation_12(alpha=alpha, beta=1, gamma=1, delta=0, kappa=1)


def trend(gamma, level_ratio):
    """Level and slope are random walks, the slope damped by gamma."""
    return equation_12(alpha=1, beta=1, gamma=gamma, delta=1, kappa=1, Q11=level_ratio)


MEMBERS = {
    "random walk": GeneralizedRandomWalk.integrated(1),
    "integrated random walk": GeneralizedRandomWalk.integrated(2),
    "order 3": GeneralizedRandomWalk.integrated(3),
    "smoothed random walk": smoothed_walk(0.8),
    "local linear trend": trend(1.0, 3.0),
    "damped trend": trend(0.7, 2.0),
    "beta and kappa": equation_12(alpha=0.9, beta=-2, gamma=0.8, delta=0, kappa=3),
    "level noise only": equation_12(alpha=1, beta=1, gamma=1, delta=2, kappa=1, Q22=0),
}
each_member = pytest.mark.parametrize("model", MEMBERS.values(), ids=MEMBERS.keys())

IRW = GeneralizedRandomWalk.integrated(2)


def gaps(samples):
    """Two gaps, one of them at the start, and a sample alone between them."""
    valid = np.ones(samples, dtype=bool)
    valid[[0, 1, 2, 20, 21, 22, 24, 25]] = False
    return valid


each_mask = pytest.mark.parametrize("mask", [lambda T: np.ones(T, dtype=bool), gaps], ids=["all", "gaps"])


# ----------------------------------------------------------------------------------------------------------- the family


def test_equation_12_has_the_named_members():
    for walk in (
        equation_12(alpha=1, beta=1, gamma=1, delta=0, kappa=1),
        smoothed_walk(1.0),
        trend(1.0, 0.0),
    ):
        np.testing.assert_array_equal(walk.A, IRW.A)
        np.testing.assert_array_equal(walk.G, IRW.G)
    np.testing.assert_array_equal(
        GeneralizedRandomWalk.integrated(3).A, [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    )  # Eq. 23


@pytest.mark.parametrize("wrong", [{"beta": 0}, {"alpha": 0}, {"gamma": -1}, {"kappa": 0}])
def test_a_walk_that_cannot_be_seen_or_does_not_walk_is_refused(wrong):
    irw = {"alpha": 1, "beta": 1, "gamma": 1, "delta": 0, "kappa": 1}
    with pytest.raises(InvalidMethod, match="a random walk needs"):
        equation_12(**(irw | wrong))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_cutoff_of_an_integrated_walk_has_a_closed_form(order):
    # p = nvr / (2 sin(omega / 2))^(2 order) = 1 + sqrt(2)
    omega = 0.3
    nvr = (1 + math.sqrt(2)) * (2 * math.sin(omega / 2)) ** (2 * order)
    model = GeneralizedRandomWalk.integrated(order)
    assert cutoff_hz(model, nvr, rate_hz=1000.0) == pytest.approx(1000 * omega / (2 * math.pi), rel=1e-9)


@each_member
def test_the_cutoff_is_where_a_sine_comes_out_3_db_lower(model):
    rate, cutoff = 500.0, 20.0
    nvr = nvr_for_cutoff(model, cutoff, rate)
    assert cutoff_hz(model, nvr, rate) == pytest.approx(cutoff, rel=1e-9)
    t = np.arange(4000) / rate
    tones = np.stack([np.sin(2 * np.pi * cutoff * t), np.cos(2 * np.pi * cutoff * t)], axis=1)
    x = smooth(tones, model, nvr).states[1000:3000, :, 0]
    np.testing.assert_allclose(
        x, tones[1000:3000] / math.sqrt(2), atol=1e-9
    )  # 1000 samples: 40 periods from the ends


def test_cutoffs_beyond_the_band_are_its_ends():
    assert cutoff_hz(IRW, 1e6, 100.0) == pytest.approx(50.0)
    assert cutoff_hz(IRW, 0.0, 100.0) == 0.0
    with pytest.raises(InvalidMethod, match="Nyquist frequency 50 Hz"):
        nvr_for_cutoff(IRW, 51.0, 100.0)


# --------------------------------------------------------------------------------------------------------- the smoother


@each_member
@each_mask
def test_equal_to_dense_least_squares(model, mask, rng):
    T, nvr = 60, 0.03
    valid = mask(T)
    _, y = simulate(rng, model.A, math.sqrt(nvr) * model.G, T, 1)
    ours = smooth(y, model, nvr, valid)
    dense = dense_smoother(y[:, 0], model.A, math.sqrt(nvr) * model.G, valid)
    # the dense inverse of M^T M loses cond(M)^2 eps; cond(M) < 1e4 with slopes extrapolated over T = 60
    assert_equal(ours, dense, model, relative=1e8 * EPS)


@each_member
@each_mask
def test_equal_to_the_kalman_filter_and_smoother_of_the_paper(model, mask, rng):
    T, nvr, P_0 = 60, 1e-2, 1e7
    valid = mask(T)
    _, y = simulate(rng, model.A, math.sqrt(nvr) * model.G, T, 1)
    ours = smooth(y, model, nvr, valid)
    paper = kalman_smoother(y[:, 0], model.A, math.sqrt(nvr) * model.G, valid, P_0)
    # a finite start is wrong by P(0|N) / P_0, with P(0|N) < 50 behind the first gap, and Eq. 21 subtracts and divides
    # numbers as large as P_0. Eq. 19 multiplies rounding by A^-1 at every sample: by 0.7^-60 = 2e9 at the most, which
    # forbids longer records.
    assert_equal(ours, paper, model, relative=1e2 / P_0 + 1e3 * P_0 * EPS)


def assert_equal(ours, reference, model, relative):
    for i in range(model.states):
        scale = np.abs(reference.states[:, i]).max()
        np.testing.assert_allclose(ours.states[:, 0, i], reference.states[:, i], atol=relative * scale)
    std = np.sqrt(np.diagonal(reference.covariance, axis1=1, axis2=2))
    bound = relative * std[:, :, None] * std[:, None, :]
    assert np.all(np.abs(ours.covariance[:, 0] - reference.covariance) <= bound)
    assert ours.noise_variance[0] == pytest.approx(reference.noise_variance, rel=relative)
    # sigma_e^2 wrong by a part r moves the log-likelihood by N r / 2
    assert ours.log_likelihood[0] == pytest.approx(reference.log_likelihood, abs=relative * len(ours.states))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("nvr", [1e-18, 1e-12, 1e-5, 1.0, 1e6])
def test_no_noise_variance_ratio_costs_digits(order, nvr, rng):
    t = np.arange(1500) / 5000
    y = np.sin(20 * t) + 0.5 + 1e-4 * rng.normal(size=len(t))
    ours = smooth(y[:, None], GeneralizedRandomWalk.integrated(order), nvr).states[:, 0]
    # the claim of `smooth`; normal equations miss it by many decades at 1e-12 and order 3
    for i, exact in enumerate(sixty_digits(y, order, nvr)):
        np.testing.assert_allclose(ours[: len(exact), i], exact, atol=1e-10 * np.abs(exact).max())


@each_member
def test_a_state_without_noise_follows_its_constraint(model, rng):
    x = smooth(rng.normal(size=(300, 1)), model, 1e-3, gaps(300)).states[:, 0]
    predicted = x[:-1] @ model.A.T
    silent = ~model.G.any(axis=1)
    # one rounding for each of the n_x products and sums
    size = np.abs(x[:-1]) @ np.abs(model.A.T)
    assert np.all(np.abs(x[1:] - predicted)[:, silent] <= 2 * model.states * EPS * size[:, silent])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_without_noise_the_walk_is_a_polynomial(order, rng):
    t = np.linspace(-1, 1, 400)
    y = rng.normal(size=(400, 2))
    expected = np.polynomial.Polynomial.fit(t, y[:, 0], order - 1)(t)
    ours = smooth(y, GeneralizedRandomWalk.integrated(order), 0.0).states[:, 0, 0]
    np.testing.assert_allclose(ours, expected, atol=1e-10)


def test_columns_are_smoothed_each_by_its_own_ratio_and_gaps(rng):
    y = rng.normal(size=(150, 4)).cumsum(axis=0)
    nvr = np.array([1e-3, 1e-1, 1e-3, 1e-3])
    valid = np.stack([gaps(150), gaps(150), np.ones(150, dtype=bool), gaps(150)], axis=1)
    together = smooth(np.where(valid, y, np.nan), IRW, nvr, valid)
    assert len(together.unit_covariance) == 3  # the first and the last column share one
    for j in range(4):
        alone = smooth(y[:, [j]], IRW, float(nvr[j]), valid[:, j])
        # compilers contract products and sums differently
        np.testing.assert_allclose(together.states[:, j], alone.states[:, 0], atol=1e-12)
        np.testing.assert_allclose(together.covariance[:, j], alone.covariance[:, 0], rtol=1e-12)
        assert together.log_likelihood[j] == pytest.approx(alone.log_likelihood[0], rel=1e-12)
    np.testing.assert_array_equal(together.log_likelihood, log_likelihood(y, IRW, nvr, valid))


@each_member
def test_the_covariance_is_true(model, rng):
    T, columns, nvr = 120, 400, 0.02
    truth, y = simulate(rng, model.A, math.sqrt(nvr) * model.G, T, columns)
    smoothed = smooth(y, model, nvr, gaps(T))
    for k in (0, 21, 60, T - 1):
        error = smoothed.states[k] - truth[k]
        squares = np.einsum("ni, nij, nj -> n", error, np.linalg.inv(smoothed.covariance[k]), error)
        # their sum is chi-square of 400 n_x; sigma_e^2, from 110 residuals or so, makes the mean 2 % larger and the
        # standard deviation some 5 %
        freedom = columns * model.states
        assert abs(squares.sum() / freedom - 1 - 2 / (T - 3)) < 5 * 1.05 * math.sqrt(2 / freedom)


def test_the_rate_scales_derivatives_and_their_covariance(rng):
    y = rng.normal(size=(50, 2))
    per_sample, per_second = (differentiate(y, rate_hz, order=3, nvr=1e-3) for rate_hz in (1.0, 10.0))
    for name, factor in (("q", 1), ("v", 10), ("a", 100)):
        np.testing.assert_allclose(getattr(per_second, name), factor * getattr(per_sample, name))
    np.testing.assert_allclose(per_second.covariance[..., 0, 2], 100 * per_sample.covariance[..., 0, 2])
    np.testing.assert_allclose(per_second.covariance[..., 2, 2], 1e4 * per_sample.covariance[..., 2, 2])


def test_what_cannot_be_smoothed_is_refused(rng):
    y = rng.normal(size=(20, 2))
    for nvr in (-1e-3, math.nan, np.array([1e-3, math.inf])):
        with pytest.raises(InvalidMethod, match="finite and not negative"):
            smooth(y, IRW, nvr)
    with pytest.raises(InvalidSignals, match="at least 3 valid samples"):
        smooth(y, IRW, 1e-3, np.arange(20) < 2)
    y[7, 1] = math.nan
    with pytest.raises(InvalidSignals, match="column 1 is not finite at sample 7"):
        smooth(y, IRW, 1e-3)


# --------------------------------------------------------------------------------------------- the noise variance ratio


@pytest.mark.parametrize(("order", "nvr"), [(1, 1e-2), (2, 1e-5), (3, 1e-8)])
def test_maximum_likelihood_finds_the_simulated_ratio(order, nvr, rng):
    model = GeneralizedRandomWalk.integrated(order)
    _, y = simulate(rng, model.A, math.sqrt(nvr) * model.G, 3000, 12)
    fit = maximum_likelihood_nvr(y, model, max_cutoff=0.05)
    deviation = (np.log10(fit.nvr) - math.log10(nvr)) / fit.log10_std
    # 12 nearly normal numbers of variance 1: the sum of squares has mean 12 and standard deviation sqrt(24)
    assert abs(np.sum(deviation**2) - 12) < 4 * math.sqrt(24)
    assert set(fit.verdict) == {RatioVerdict.credible}
    assert np.all(np.abs(fit.noise_std - 1) < 4 / math.sqrt(2 * 3000))
    for step in (-0.02, 0.02):  # it is the maximum
        assert np.all(log_likelihood(y, model, fit.nvr * 10**step) < fit.log_likelihood)


def test_the_likelihood_does_not_see_gaps(rng):
    _, y = simulate(rng, IRW.A, 1e-2 * IRW.G, 800, 1)
    valid = np.arange(800) % 3 != 1
    expected = maximum_likelihood_nvr(y, IRW, valid=valid)
    y[~valid] = math.nan
    assert maximum_likelihood_nvr(y, IRW, valid=valid).nvr == expected.nvr


def test_a_prior_decides_where_the_record_is_short(rng):
    _, y = simulate(rng, IRW.A, 1e-2 * IRW.G, 30, 3)
    plain = maximum_likelihood_nvr(y, IRW)
    tight = maximum_likelihood_nvr(y, IRW, prior=LogNormalPrior(median=1e-6, decades=0.01))
    np.testing.assert_allclose(np.log10(tight.nvr), -6, atol=0.03)
    assert np.all(tight.log_likelihood <= plain.log_likelihood)


def test_a_record_too_short_for_a_ratio_is_said(rng):
    _, y = simulate(rng, IRW.A, 0.1 * IRW.G, 12, 40)
    fit = maximum_likelihood_nvr(y, IRW, max_cutoff=0.5)
    inside = [v not in (RatioVerdict.at_lower_bound, RatioVerdict.at_upper_bound) for v in fit.verdict]
    vague = np.array([v is RatioVerdict.undetermined for v in fit.verdict])[inside]
    np.testing.assert_array_equal(vague, fit.log10_std[inside] > 1)
    assert vague.any()
    assert not vague.all()


def slow_motion():
    """(T, 2) [rad] at 5 kHz: turning so slowly that 70 samples pass from one step of 1 mrad to the next."""
    t = np.arange(20000) / 5000
    return np.stack([0.05 * np.sin(1.9 * t) + 0.005 * np.sin(8.9 * t + 1), 0.04 * np.cos(2.2 * t)], axis=1)


@pytest.mark.parametrize("order", [2, 3])
def test_following_the_steps_of_an_encoder_is_said(order):
    step = 1e-3
    fit = maximum_likelihood_nvr(
        np.round(slow_motion() / step) * step, GeneralizedRandomWalk.integrated(order)
    )
    assert fit.verdict == (RatioVerdict.below_quantization,) * 2
    assert "give cutoff_hz in place of the ratio" in fit.verdict[0].value


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("step", [1e-5, 1e-4])
def test_a_fine_encoder_or_white_noise_raises_no_suspicion(order, step, rng):
    motion, model = slow_motion(), GeneralizedRandomWalk.integrated(order)
    white = motion + 1e-3 * rng.normal(size=motion.shape)
    for y in (white, np.round(white / step) * step):
        assert maximum_likelihood_nvr(y, model).verdict == (RatioVerdict.credible,) * 2


def test_ends_of_the_search_are_said(rng):
    t = np.arange(2000)
    line, noise = 1e-3 * t, rng.normal(size=2000)
    fast = np.sin(0.3 * t) + 1e-4 * noise
    walk = 10 * noise.cumsum()
    y = np.stack([line + (-1.0) ** t, line, fast, walk], axis=1)
    assert maximum_likelihood_nvr(y, IRW).verdict == (
        RatioVerdict.at_lower_bound,
        RatioVerdict.at_lower_bound,
        RatioVerdict.at_upper_bound,
        RatioVerdict.wide,
    )


def test_maximum_likelihood_chases_noise_on_the_robot_of_the_paper(shared_data):
    path = shared_data("staubli_tx40") / "pos_read_data.csv"
    p = np.loadtxt(path, delimiter=",", skiprows=1)
    for order in (2, 3):
        fit = maximum_likelihood_nvr(p, GeneralizedRandomWalk.integrated(order))
        assert set(fit.verdict) == {RatioVerdict.wide}  # Sect. 4.3
        assert np.all(fit.nvr > 1e-5)


# ------------------------------------------------------------------------------------------------------ differentiation


@pytest.mark.parametrize("order", [2, 3])
def test_derivatives_belong_to_their_sample(order):
    rate, omega = 1000.0, 12.0
    t = np.arange(4000) / rate
    # a cutoff of 100 Hz passes 2 Hz to (0.02)^4 / 2.4; two signals in quadrature would show a delay of dt/2 as 6e-3
    nvr = nvr_for_cutoff(GeneralizedRandomWalk.integrated(order), 100.0, rate)
    found = differentiate(np.sin(omega * t)[:, None], rate, order=order, nvr=nvr)
    inside = slice(500, -500)
    np.testing.assert_allclose(found.q[inside, 0], np.sin(omega * t)[inside], atol=1e-4)
    np.testing.assert_allclose(found.v[inside, 0] / omega, np.cos(omega * t)[inside], atol=1e-4)
    np.testing.assert_allclose(found.a[inside, 0] / omega**2, -np.sin(omega * t)[inside], atol=1e-4)


def test_polynomials_of_the_walk_are_exact_to_the_ends():
    t = np.arange(200) / 100
    line = differentiate(np.stack([3 + 2 * t], axis=1), 100.0, order=2, nvr=1e-3)
    np.testing.assert_allclose(line.v, 2, atol=1e-9)
    np.testing.assert_allclose(line.a, 0, atol=1e-7)
    parabola = differentiate(np.stack([1 + 2 * t + 3 * t**2], axis=1), 100.0, order=3, nvr=1e-3)
    np.testing.assert_allclose(parabola.v[:, 0], 2 + 6 * t, atol=1e-9)
    np.testing.assert_allclose(parabola.a, 6, atol=1e-7)


def test_covariance_of_one_pass_is_true_at_every_sample(rng):
    model, rate, nvr, T, columns = GeneralizedRandomWalk.integrated(3), 100.0, 1e-4, 400, 300
    x, y = simulate(rng, model.A, math.sqrt(nvr) * model.G, T + 1, columns)
    x, y = x[:-1], y[1:]  # the true x_k, v_k and a_k from the state at k - 1
    truth = np.stack(
        [x[..., 0] + x[..., 1], rate * (x[..., 1] + x[..., 2] / 2), rate**2 * x[..., 2]], axis=-1
    )
    found = differentiate(y, rate, order=3, nvr=nvr)
    error = np.stack([found.q, found.v, found.a], axis=-1) - truth
    for k in (0, 1, 200, T - 1):
        squares = np.einsum("ni, nij, nj -> n", error[k], np.linalg.inv(found.covariance[k]), error[k])
        # chi-square of 3 * 300, sigma_e^2 estimated from 397 residuals
        assert abs(squares.sum() / (3 * columns) - 1) < 2 / (T - 3) + 4 * math.sqrt(2 / (3 * columns))


def test_covariance_of_two_passes_is_the_scatter_of_repetitions(rng):
    rate, nvr, T, columns, noise = 500.0, 1e-3, 1000, 400, 1e-3
    motion = 0.1 * np.sin(np.arange(T) / 100)
    found = differentiate(motion[:, None] + noise * rng.normal(size=(T, columns)), rate, order=2, nvr=nvr)
    q_v_a = np.stack([found.q, found.v, found.a], axis=-1)[T // 4 : -T // 4 : 50]
    scatter = q_v_a.var(axis=1, ddof=1).mean(axis=0)
    # 10 samples, far apart, of 400 repetitions: 3990 nearly independent squares; sigma_e^2 is from 1000 each
    claimed = found.covariance[T // 2, 0].diagonal() * noise**2 / found.noise_variance[0]
    assert np.all(np.abs(scatter / claimed - 1) < 4 * math.sqrt(2 / 3990))
    assert abs(found.noise_variance.mean() / noise**2 - 1) < 0.05
    assert found.covariance.shape == (T, columns, 3, 3)


def test_covariance_of_two_passes_is_the_dense_one():
    T, nvr, rate = 161, 0.05, 10.0
    measured = np.arange(-1, T) >= 0
    L = smoothing_matrix(T + 1, IRW.A, math.sqrt(nvr) * IRW.G, measured)[..., 1:]
    velocity = (L[1:, 1] + L[:-1, 1]) / 2
    rows = np.stack([L[1:, 0], velocity, velocity @ velocity])[:, T // 2]
    y = np.random.default_rng(1).normal(size=(T, 1))
    found = differentiate(y, rate, order=2, nvr=nvr)
    expected = found.noise_variance[0] * rows @ rows.T * np.outer(rate ** np.arange(3), rate ** np.arange(3))
    # in the middle, 80 samples from the ends, which decay like e^(-80 omega / sqrt(2)) = 1e-12 with omega = nvr^(1/4)
    size = np.sqrt(np.diag(expected))
    assert np.all(np.abs(found.covariance[T // 2, 0] - expected) < 1e-9 * np.outer(size, size))
    np.testing.assert_allclose(found.a[T // 2] / rate**2, rows[2] @ y, atol=1e-11)
    np.testing.assert_array_equal(found.std[3, 0], np.sqrt(np.diag(found.covariance[3, 0])))


def test_only_the_walks_of_the_paper_differentiate(rng):
    with pytest.raises(InvalidMethod, match="order 2"):
        differentiate(rng.normal(size=(50, 1)), 100.0, order=1, nvr=1e-3)
