"""Whiteness of residuals, and the covariance of the parameters where residuals are coloured.

cov = sigma^2 (W^T W)^-1 (Brunot et al. 2017, Eq. 6) holds for white residuals. Let s_t (one value a degree of freedom)
be the score of row t: the residual times its squared weight, clipped if the estimate is robust. With
Gamma(l) = E[s_t s_{t+l}^T] the parameters' covariance is

    H^-1 M H^-1,    M = sum over t, u of W_t^T Gamma(u - t) W_u  (+ P, the information of priors)

Gamma is estimated from the residuals and tapered to zero at a lag that the data choose (Bartlett's window: M is never
negative; Newey and West (1987)). Politis (2003) finds the first lag m after which five autocorrelations in a row look
like noise, and tapers at 2 m with a window that is flat up to m; Bartlett's falls from lag 0 on and gets 4 m. A long
taper on few rows, and a fit that has absorbed some of the residuals' slow part, make M too small: it is widened by
`taper_allowance`. The double sum is a filter, done in the frequency domain stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...arrays import JointSamples, Matrix, fast_length
from ...estimate import Fit, taper_allowance
from ...estimate.fit import WHITE_LEVEL, autocorrelation, pooled
from ...regression.inverse_dynamics import InverseDynamics, Rows
from .system import LinearSolution

SHORTEST_STRETCH = 4096
COLUMNS_AT_ONCE = 8


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


def is_spherical(products: Matrix, N: int) -> bool:
    """Whether N residuals e with products (n, n) e^T e have equal variance and no correlation between degrees of
    freedom, as Eq. 6 assumes. Bartlett's test of sphericity at the level of the test for whiteness, mean not removed.
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


def correlation_length(correlation: np.ndarray, samples: int) -> int:
    """Politis' m: the first lag after which five autocorrelations in a row are insignificant."""
    # Politis' c = 2 and K_N = 5; the logarithm is to base 10 in his paper too
    bound = 2 * np.sqrt(np.log10(max(samples, 10)) / samples)
    quiet = np.abs(correlation[1:]) < bound
    for lag in range(len(quiet) - 4):
        if quiet[lag : lag + 5].all():
            return lag
    return len(correlation) - 1


def coloured(
    problem: InverseDynamics, fit: Fit, solution: LinearSolution, columns: np.ndarray, scale: np.ndarray
) -> tuple[Matrix, bool]:
    """(k, k) M of the k base columns, and whether residuals are spherical; scores are multiplied by `scale` (n,)."""
    scores = solution.scores(fit.residuals) * scale
    whitened = scores / solution.weights
    return coloured_middle(problem, scores, columns), is_spherical(whitened.T @ whitened, len(scores))


def coloured_middle(problem: InverseDynamics, scores: JointSamples, columns: np.ndarray) -> Matrix:
    """(k, k) M of scores s_t (N, n) of all recordings and k base columns, widened as `taper_allowance` says."""
    N, counts = len(scores), problem.row_counts
    lags = taper_lags(pooled(autocorrelation, counts, scores, longest_lag(N)), N)
    half = earlier_pairs(problem.rows(), columns, tapered(pooled(autocovariance, counts, scores, lags)))
    return (half + half.T) * taper_allowance(lags / N)


def longest_lag(samples: int) -> int:
    """A quarter of the rows: beyond, an autocorrelation is the mean of too few products."""
    return max(samples // 4, 1)


def taper_lags(correlation: np.ndarray, samples: int) -> int:
    """Length of Bartlett's window for autocorrelations (n, lags + 1)."""
    # one taper for all joints: tapers of different lengths may make M indefinite
    m = max(correlation_length(row, samples) for row in correlation)
    return min(max(4 * m, 1), longest_lag(samples))


def tapered(Gamma: np.ndarray) -> np.ndarray:
    """Gamma (n, n, lags + 1) times Bartlett's window."""
    return Gamma * (1 - np.arange(Gamma.shape[2]) / Gamma.shape[2])


def earlier_pairs(rows: Iterable[Rows], columns: np.ndarray, Gamma: np.ndarray) -> Matrix:
    """(k, k) sum over t and u <= t of W_t^T Gamma(u - t) W_u, half of the terms u = t: M without the transposed pairs.

    Args:
        rows: of one or several recordings. columns: (k,) base columns. Gamma: (n, n, lags + 1), tapered.
    """
    lags = Gamma.shape[2] - 1
    half = np.zeros((len(columns), len(columns)))
    joined = np.zeros((0, 0, 0))
    for begins, W in _stretches(rows, columns, max(SHORTEST_STRETCH, 2 * lags)):
        # rows of two recordings are unrelated: each recording begins after zeros, not after the one before
        before = np.zeros((lags, *W.shape[1:])) if begins else joined[-lags:]
        joined = np.concatenate([before, W])
        # a transpose adds the pairs in the other order, so that each is computed once
        half += _pairs_of_stretch(joined, Gamma)
    return half


def _stretches(each: Iterable[Rows], columns: np.ndarray, length: int) -> Iterator[tuple[bool, np.ndarray]]:
    """Whether a recording begins, and its next (r, n, k) rows: at least `length` of them, but for its last ones."""
    waiting: list[np.ndarray] = []
    part, begins = 0, True
    for rows in each:
        # recordings are not joined: a chunk ends with its recording, however short it is
        if waiting and (rows.part != part or sum(map(len, waiting)) >= length):
            yield begins, np.concatenate(waiting)
            waiting, begins = [], rows.part != part
        part = rows.part
        waiting.append(rows.W[:, :, columns])
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
