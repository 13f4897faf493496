"""Correlation of a series in time, the variance of its sum, values that differ between recordings, and rounded ones.

Gamma(l) = E[e_t e_{t+l}^T] is estimated from the series and tapered to zero at a lag that the data choose (Bartlett's
window, with which no variance is negative; Newey and West 1987). Politis (2003) finds the first lag m after which five
autocorrelations in a row look like noise, and tapers at 2 m with a window that is flat up to m; Bartlett's falls from
lag 0 on and gets 4 m. A long taper on few rows, and a fit that has absorbed some of the residuals' slow part, make
variances too small: they are widened by `taper_allowance`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .arrays import Float, JointSamples, Matrix, Vector, fast_length

NORMAL_95 = 1.959963984540054
"""Half width of the 95 % interval of a normal distribution, in standard deviations."""

NORMAL_MEDIAN = 0.6744897501960817
"""Median of |x| for a standard normal x."""

SHORTEST_STRETCH = 4096
"""Rows of a Fourier transform, at least: a long series is transformed stretch by stretch."""

COLUMNS_AT_ONCE = 8
"""Columns of rows that are transformed together."""

WHITE_LEVEL = 0.01
"""Level of the tests for whiteness."""

QUIET_LAGS = 5
"""Number of insignificant autocorrelations in a row after which a series counts as uncorrelated (Politis' K_N)."""

POINTS = 100
"""Grid points of tau in `predictive_std`, equidistant in asinh(tau / s) up to 30 times the spread of the estimates."""

LARGEST_CORRELATION = 0.97
"""Bound on the first autocorrelation, near 1 of which the bandwidth diverges (Andrews and Monahan 1992)."""


def white_noise(x: Vector, order: int = 3) -> float:
    """Standard deviation of the white noise of a series (T,) from its differences of this order; 0 for too few.

    Differences cancel a smooth motion, and their median leaves jumps out. Their variance is that of the noise times the
    sum of the squared binomial coefficients.
    """
    if len(x) <= order:
        return 0.0
    return float(np.median(np.abs(np.diff(x, order)))) / (
        NORMAL_MEDIAN * math.sqrt(math.comb(2 * order, order))
    )


def autocovariance(e: JointSamples, lags: int) -> np.ndarray:
    """(n, n, lags + 1) Gamma(l) = 1/N sum over t of e_t e_{t+l}^T, mean not removed."""
    stretch = max(SHORTEST_STRETCH, 4 * lags)
    total = np.zeros((lags + 1, e.shape[1], e.shape[1]))
    for first in range(0, len(e), stretch):
        # `late` extends beyond the end of the chunk, so that no pair of rows across its border is lost
        early, late = e[first : first + stretch], e[first : first + stretch + lags]
        size = fast_length(len(late) + lags)
        early, late = np.fft.rfft(early, size, axis=0), np.fft.rfft(late, size, axis=0)
        total += np.fft.irfft(np.conj(early[:, :, None]) * late[:, None, :], size, axis=0)[: lags + 1]
    return total.transpose(1, 2, 0) / len(e)


def autocorrelation(e: JointSamples, lags: int) -> np.ndarray:
    """(n, lags + 1) autocorrelation of each column, its mean removed; a constant column gives zeros."""
    # padded by the lags, since the transform is periodic
    length = fast_length(len(e) + lags)
    spectrum = np.fft.rfft((e - e.mean(axis=0)).T, length)
    covariance = np.fft.irfft(np.real(spectrum) ** 2 + np.imag(spectrum) ** 2, length)[:, : lags + 1]
    return np.divide(covariance, covariance[:, :1], np.zeros_like(covariance), where=covariance[:, :1] > 0)


def pooled(
    function: Callable[[JointSamples, int], np.ndarray], counts: Sequence[int], e: JointSamples, lags: int
) -> np.ndarray:
    """A function of lags (its last axis), pooled over recordings without pairs across their ends."""
    total: np.ndarray | float = 0.0
    for part in np.split(e, np.cumsum(counts)[:-1]):
        values = function(part, min(lags, len(part) - 1))
        # a short recording has no pairs at long lags
        missing = [(0, 0)] * (values.ndim - 1) + [(0, lags + 1 - values.shape[-1])]
        total = total + len(part) / len(e) * np.pad(values, missing)
    return np.asarray(total)


def longest_lag(samples: int) -> int:
    """A quarter of the rows: beyond, an autocorrelation is the mean of too few products."""
    return max(samples // 4, 1)


def correlation_length(correlation: np.ndarray, samples: int) -> int:
    """Politis' m, from autocorrelations (L + 1,): the first lag after which five in a row are insignificant."""
    # Politis' c = 2; the logarithm is to base 10 in his paper too
    loud = np.abs(correlation[1:]) >= 2 * np.sqrt(np.log10(max(samples, 10)) / samples)
    edges = np.concatenate([[-1], np.flatnonzero(loud), [len(loud)]])
    quiet = np.flatnonzero(np.diff(edges) > QUIET_LAGS)
    return int(edges[quiet[0]]) + 1 if len(quiet) else len(loud)


def correlation_time(e: Vector) -> float:
    """1 + 2 sum of rho_k of a series (N,) about 0, at least 1: the variance of its sum over that of white noise."""
    if not np.any(e):
        return 1.0
    rho = autocovariance(e[:, None], longest_lag(len(e)))[0, 0]
    rho = rho / rho[0]
    return max(1.0, 1 + 2 * float(rho[1 : correlation_length(rho, len(e)) + 1].sum()))


def independent_squares(e: JointSamples) -> Vector:
    """(n,) number of independent squares in each column (N, n): N / (1 + 2 sum of rho_k^2)."""
    N, correlation = len(e), autocorrelation(e, longest_lag(len(e)))
    lengths = [correlation_length(rho, N) for rho in correlation]
    return np.array(
        [
            N / (1 + 2 * float(np.sum(rho[1 : m + 1] ** 2)))
            for rho, m in zip(correlation, lengths, strict=True)
        ]
    )


def taper_lags(correlation: np.ndarray, samples: int) -> int:
    """Length of Bartlett's window for autocorrelations (n, lags + 1)."""
    # one taper for all columns: tapers of different lengths may make a covariance indefinite
    m = max(correlation_length(row, samples) for row in correlation)
    return min(max(4 * m, 1), longest_lag(samples))


def tapered(Gamma: np.ndarray) -> np.ndarray:
    """Gamma (n, n, lags + 1) times Bartlett's window."""
    return Gamma * (1 - np.arange(Gamma.shape[2]) / Gamma.shape[2])


def tapered_autocovariance(e: JointSamples, counts: Sequence[int]) -> tuple[np.ndarray, float]:
    """(n, n, lags + 1) tapered Gamma of rows (N, n) of recordings of these lengths, and its `taper_allowance`."""
    N = len(e)
    lags = taper_lags(pooled(autocorrelation, counts, e, longest_lag(N)), N)
    return tapered(pooled(autocovariance, counts, e, lags)), taper_allowance(lags / N)


def taper_allowance(b: float) -> float:
    """Factor on variances from Bartlett's taper of a part b of the rows, which are too small and uncertain themselves.

    The squared ratio of the quantile of 95 % intervals that Kiefer and Vogelsang (2005) give to the normal one.
    """
    return float((1 + (2.9694 * b + 0.4160 * b**2 - 0.5324 * b**3) / NORMAL_95) ** 2)


def sum_covariance(e: JointSamples, lags: int) -> Matrix:
    """(n, n) covariance of the sum of rows (N, n), mean not removed (Newey and West 1987)."""
    total = e.T @ e
    for l in range(1, min(lags, len(e) - 1) + 1):
        crossed = e[l:].T @ e[:-l]
        total = total + (1 - l / (lags + 1)) * (crossed + crossed.T)
    return np.asarray(total)


def sum_variance(s: Vector) -> float:
    """Variance of the sum of a series (N,), mean not removed, and never below that of a white one."""
    lags = taper_lags(autocorrelation(s[:, None], longest_lag(len(s))), len(s))
    return max(float(sum_covariance(s[:, None], lags)[0, 0]), float(s @ s))


def correlated_products(rows: Iterable[tuple[int, np.ndarray]], Gamma: np.ndarray) -> Matrix:
    """(k, k) M = sum over t, u of W_t^T Gamma(u - t) W_u, the covariance of sum W_t^T e_t.

    Args:
        rows: number of the recording and its next W (r, n, k), recording by recording.
        Gamma: (n, n, lags + 1) autocovariance of e, tapered.
    """
    half = earlier_pairs(rows, Gamma)
    return half + half.T


def earlier_pairs(rows: Iterable[tuple[int, np.ndarray]], Gamma: np.ndarray) -> Matrix:
    """(k, k) the pairs with u <= t, half of those with u = t: M without the transposed ones."""
    lags, half = Gamma.shape[2] - 1, np.zeros((1, 1))
    joined = np.zeros((0, 0, 0))
    for begins, W in _stretches(rows, max(SHORTEST_STRETCH, 2 * lags)):
        # rows of two recordings are unrelated: each recording begins after zeros, not after the one before
        before = np.zeros((lags, *W.shape[1:])) if begins else joined[-lags:]
        joined = np.concatenate([before, W])
        # a transpose adds the pairs in the other order, so that each is computed once
        half = half + _pairs_of_stretch(joined, Gamma)
    return half


def _stretches(rows: Iterable[tuple[int, np.ndarray]], length: int) -> Iterator[tuple[bool, np.ndarray]]:
    """Whether a recording begins, and its next (r, n, k) rows: at least `length` of them, except for its last ones."""
    waiting: list[np.ndarray] = []
    part, begins = 0, True
    for number, W in rows:
        # recordings are not joined: a chunk ends with its recording, however short it is
        if waiting and (number != part or sum(map(len, waiting)) >= length):
            yield begins, np.concatenate(waiting)
            waiting, begins = [], number != part
        part = number
        waiting.append(W)
    if waiting:
        yield begins, np.concatenate(waiting)


def _pairs_of_stretch(joined: np.ndarray, Gamma: np.ndarray) -> Matrix:
    """The pairs of one stretch, with Gamma(-l) = Gamma(l)^T.

    `joined` (lags + r, n, k) are the rows t after as many as the taper is long; Gamma is (n, n, lags + 1).
    """
    lags, k = Gamma.shape[2] - 1, joined.shape[2]
    size = fast_length(len(joined))  # what wraps around ends up in the first `lags` rows
    causal = np.concatenate([0.5 * Gamma[:, :, :1], Gamma[:, :, 1:]], axis=2)
    S = np.fft.rfft(causal, size).transpose(2, 1, 0)
    W = joined[lags:].reshape(-1, k)
    half = np.empty((k, k))
    # the spectra of all columns at once would take several times the memory of the rows
    for first in range(0, k, COLUMNS_AT_ONCE):
        some = slice(first, first + COLUMNS_AT_ONCE)
        filtered = np.fft.irfft(S @ np.fft.rfft(joined[:, :, some], size, axis=0), size, axis=0)[
            lags : len(joined)
        ]
        half[:, some] = W.T @ filtered.reshape(len(W), -1)
    return half


def andrews_lag(scores: Sequence[Float[np.ndarray, "_ q"]]) -> int:
    """Lag of Bartlett's window from the first autocorrelations of scores (Andrews 1991, Eqs. 6.2, 6.4, first order).

    For scores of a smoother, whose correlation decays slowly and never looks like noise.
    """
    N = sum(map(len, scores))
    before, after = (np.concatenate([rows[cut] for rows in scores]) for cut in (slice(-1), slice(1, None)))
    moving = np.any(before, axis=0)
    if not moving.any():
        return 0
    rho = (before * after).sum(axis=0)[moving] / (before**2).sum(axis=0)[moving]
    rho = np.clip(rho, -LARGEST_CORRELATION, LARGEST_CORRELATION)
    # with each score weighted by its own long-run variance only its rho remains
    alpha = float(np.mean(4 * rho**2 / (1 - rho**2) ** 2))
    # lags near N would leave no products to average
    return int(min(np.ceil(1.1447 * (alpha * N) ** (1 / 3)), N // 4))


def is_spherical(products: Matrix, N: int) -> bool:
    """Whether N residuals e with products (n, n) e^T e have equal variance and no correlation between columns.

    Bartlett's test of sphericity at `WHITE_LEVEL`, mean not removed.
    """
    from scipy.special import chdtrc  # SciPy is slow to import

    n = len(products)
    eigenvalues = np.linalg.eigvalsh(products)
    # all residuals are zero (noise-free data): no contradiction
    if n == 1 or not eigenvalues[-1] > 0:
        return True
    # one joint's residuals are exactly a combination of the others': correlated
    if eigenvalues[0] <= 0:
        return False
    ratio = np.mean(np.log(eigenvalues)) - np.log(np.mean(eigenvalues))
    # Bartlett's factor: without it the statistic is too large on few rows
    statistic = -(N - (2 * n**2 + n + 2) / (6 * n)) * n * ratio
    return bool(chdtrc(n * (n + 1) / 2 - 1, max(float(statistic), 0.0)) > WHITE_LEVEL)


def grid_step(values: Vector, fewest: int = 1) -> float:
    """Step of the grid on which all values (N,) lie that are not NaN: the resolution of an encoder; 0: there is none.

    `fewest`: number of differences between neighbouring levels that it takes at least.

    >>> grid_step(0.25 * np.array([0, 1, 5, 3, 2, 2, 8, 9, 3, 4, 1, 0]))
    0.25
    """
    levels = np.unique(values[np.isfinite(values)])
    span, steps = np.ptp(levels) if len(levels) else 0.0, np.diff(levels)
    # a change of unit rounds equal readings to values that differ by 1e-16 of their size: these are no steps
    steps = steps[steps > 1e-9 * span]
    if len(steps) < fewest:
        return 0.0
    step = float(steps.min())
    # refined with the whole span, so that rounding of a single step does not add up
    places = np.round((levels - levels[0]) / step)
    step = float(span / places[-1])
    off_grid = np.abs((levels - levels[0]) / step - np.round((levels - levels[0]) / step))
    # rounding in the file moves values off the grid slightly; with ten million steps every value is near one
    return step if off_grid.max() < 0.05 and places[-1] < 1e7 else 0.0


def student_factor(count: np.ndarray | int) -> Any:
    """Factor on standard deviations from the scatter of so many values.

    Their 1.96-fold then holds 95 % by Student's t.
    """
    from scipy.special import stdtrit

    return stdtrit(count - 1, 0.975) / NORMAL_95


def predictive_std(theta: np.ndarray, std: np.ndarray, center: Vector | None = None) -> tuple[Vector, Vector]:
    """(k,) center, and half width of the 95 % interval about it for the next recording's parameters, over 1.96.

    With theta_r the estimate from recording r alone, s_r its standard deviation, and tau that between recordings, the
    restricted likelihood is

        v_r = tau^2 + s_r^2     mu = sum theta_r / v_r / sum 1 / v_r     V = 1 / sum 1 / v_r
        log L(tau) = -1/2 (sum log v_r + log sum 1 / v_r + sum (theta_r - mu)^2 / v_r)

    A few recordings determine tau poorly, so the parameter of the next one is a mixture of N(mu(tau), tau^2 + V(tau))
    with weights L(tau) p(tau). With p(tau) = 1 / sqrt(tau^2 + s^2) it is Student's t with R - 1 degrees of freedom
    where tau is large, as of R exact values, and proper where tau is 0.

    Args:
        theta, std: (R, k) estimates of each recording, or of each member of another group.
        center: (k,) center of the interval; None: the mean of the mixture.
    """
    from scipy.special import ndtr  # slow to import, and few estimates are of several recordings

    size = np.abs(theta.mean(axis=0) if center is None else center)
    std = np.maximum(std, 1e-12 * size + 1e-300)  # of noise-free data
    s = 1 / np.sqrt(np.mean(std**-2.0, axis=0))
    points = (np.arange(POINTS) + 0.5)[:, None] / POINTS
    tau = s * np.sinh(points * np.arcsinh(30 * (np.ptp(theta, axis=0) + s) / s))
    v = tau[:, None] ** 2 + std**2  # (points, R, k)
    precision = np.sum(1 / v, axis=1)
    mu = np.sum(theta / v, axis=1) / precision
    log_L = -0.5 * (np.sum(np.log(v) + (theta - mu[:, None]) ** 2 / v, axis=1) + np.log(precision))
    weight = np.exp(log_L - log_L.max(axis=0))
    weight /= weight.sum(axis=0)
    if center is None:
        center = np.sum(weight * mu, axis=0)
    d, spread = center - mu, np.sqrt(tau**2 + 1 / precision)
    low, high = np.zeros(len(center)), np.max(np.abs(d) + 10 * spread, axis=0)
    for _ in range(50):
        middle = 0.5 * (low + high)
        inside = ndtr((middle - d) / spread) + ndtr((middle + d) / spread) - 1
        short = np.sum(weight * inside, axis=0) < 0.95
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return center, np.asarray(high / NORMAL_95)
