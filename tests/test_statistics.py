"""Correlation in time: sums against loops, rules against processes of known correlation."""

import numpy as np
import pytest
from scipy import signal

from poinsot import statistics
from poinsot.statistics import andrews_lag, sum_covariance, taper_allowance, white_noise

AR = 0.8


def coloured(rng, samples, joints, memory=AR):
    e = signal.lfilter([1.0], [1.0, -memory], rng.standard_normal((samples + 200, joints)), axis=0)[200:]
    return e @ rng.standard_normal((joints, joints))


@pytest.mark.parametrize(("samples", "joints", "lags"), [(50, 3, 7), (5, 2, 4), (200, 1, 0), (130, 2, 60)])
@pytest.mark.parametrize("stretch", [1, 40, 4096])
def test_autocovariance_is_the_mean_of_products(samples, joints, lags, stretch, rng, monkeypatch):
    monkeypatch.setattr(statistics, "SHORTEST_STRETCH", stretch)
    e = coloured(rng, samples, joints) + 1.0
    expected = (
        np.array([sum(np.outer(e[t], e[t + lag]) for t in range(samples - lag)) for lag in range(lags + 1)])
        / samples
    )
    np.testing.assert_allclose(
        statistics.autocovariance(e, lags).transpose(2, 0, 1), expected, atol=1e-13 * samples
    )


def test_autocorrelation_is_that_of_the_deviations_from_the_mean(rng):
    e = coloured(rng, 300, 2) + np.array([5.0, -3.0])
    r = statistics.autocorrelation(e, 10)
    for row, column in zip(r, e.T, strict=True):
        d = column - column.mean()
        np.testing.assert_allclose(row, [d[: 300 - lag] @ d[lag:] / (d @ d) for lag in range(11)], atol=1e-13)
    assert (r[:, 0] == 1).all()
    np.testing.assert_array_equal(statistics.autocorrelation(np.zeros((20, 1)), 5), np.zeros((1, 6)))


@pytest.mark.parametrize("b", [0.0, 0.05, 0.2, 0.5])
def test_the_allowance_makes_intervals_of_a_mean_cover(b):
    """White noise, its mean, and the long-run variance of what is left with Bartlett's window of length b N: the 95 %
    quantile of |t|, simulated."""
    generator = np.random.default_rng(15)
    N, runs = 400, 20000
    e = generator.standard_normal((runs, N))
    mean = e.mean(axis=1)
    lags = int(b * N)
    spectrum = np.fft.rfft(e - mean[:, None], 2 * N, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, : lags + 1] / N
    window = 1 - np.arange(lags + 1) / (lags + 1)
    long_run = 2 * covariance @ window - covariance[:, 0]
    quantile = np.quantile(np.abs(mean) / np.sqrt(long_run / N), 0.95)
    # of 20000 runs: 0.7 % and more for heavy tails; the published polynomial fits to another percent
    np.testing.assert_allclose(1.96 * np.sqrt(taper_allowance(b)), quantile, rtol=0.03)


def test_memory_is_short_for_white_and_long_for_coloured_noise():
    generator = np.random.default_rng(14)

    def median(memory):
        rows = [statistics.autocorrelation(coloured(generator, 2000, 1, memory), 500)[0] for _ in range(40)]
        return np.median([statistics.correlation_length(row, 2000) for row in rows])

    assert median(0.0) == 0
    # 0.8^m falls below 2 sqrt(log10(2000) / 2000) = 0.08 at m = 11
    assert 9 <= median(0.8) <= 18
    assert statistics.correlation_length(np.ones(30), 100) == 29


def test_robust_sums_are_double_sums(rng):
    scores = rng.standard_normal((40, 3))
    for lag in (0, 1, 7, 60):
        total = np.zeros((3, 3))
        for i in range(40):
            for j in range(40):
                if abs(i - j) <= lag:
                    total += (1 - abs(i - j) / (lag + 1)) * np.outer(scores[i], scores[j])
        np.testing.assert_allclose(sum_covariance(scores, lag), total, atol=1e-12)
        assert np.linalg.eigvalsh(sum_covariance(scores, lag))[0] > -1e-12


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.5])
def test_lags_are_andrews(rho, rng):
    """Of a first-order process of 8000: 1.1447 (alpha 8000)^(1/3), alpha = 4 rho^2 / (1 - rho^2)^2."""
    noise = rng.standard_normal((8000, 2))
    scores = np.zeros_like(noise)
    for k in range(1, 8000):
        scores[k] = rho * scores[k - 1] + noise[k]
    expected = 1.1447 * (4 * rho**2 / (1 - rho**2) ** 2 * 8000) ** (1 / 3)
    # rho is known to 1 / sqrt(8000) = 0.011 (1 - rho^2)^(1/2): the lag to some 5 %; of nothing it is 1 or 2
    for units in (1.0, 1e-6):
        lag = andrews_lag([units * scores[:3000], units * scores[3000:]])
        assert abs(lag - expected) < 0.1 * expected + 2.5
    assert andrews_lag([np.zeros((50, 2))]) == 0
    assert andrews_lag([np.cumsum(noise[:40], axis=0)]) <= 10


def test_sums_and_squares_of_correlated_series_count_as_fewer():
    """Of an AR(1) process: 1 + 2 sum of rho^k = (1 + rho) / (1 - rho), and of rho^2k likewise."""
    e = coloured(np.random.default_rng(16), 100_000, 1)
    assert statistics.correlation_time(e[:, 0]) == pytest.approx((1 + AR) / (1 - AR), rel=0.1)
    squares = (1 + AR**2) / (1 - AR**2)
    np.testing.assert_allclose(statistics.independent_squares(e), len(e) / squares, rtol=0.1)
    # Bartlett's window of 4 m makes the variance somewhat smaller
    assert statistics.sum_variance(e[:, 0]) == pytest.approx(9 * float(e[:, 0] @ e[:, 0]), rel=0.2)
    assert statistics.correlation_time(np.zeros(9)) == 1.0


@pytest.mark.parametrize("order", [3, 4])
def test_white_noise_beside_a_motion_and_jumps(order):
    rng, time = np.random.default_rng(0), np.arange(4000) * 0.01
    x = np.sin(time) + 0.02 * rng.standard_normal(len(time)) + np.floor(time / 7)
    assert white_noise(x, order) == pytest.approx(0.02, rel=0.05)
    assert white_noise(x[:order], order) == 0.0
