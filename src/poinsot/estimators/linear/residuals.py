"""What residuals say: are they white, and how sure are the parameters if they are not?

Eq. 6 of seed 002, cov = sigma^2 (W^T W)^-1, holds for white residuals. Let s_t (one value a degree of freedom) be what
row t pulls at the parameters with: the residual times its squared weight, clipped if the estimate is robust. With
Gamma(l) = E[s_t s_{t+l}^T] the parameters' covariance is

    H^-1 M H^-1,    M = sum over t, u of W_t^T Gamma(u - t) W_u  (+ P, the information of priors)

Gamma is estimated from the residuals and tapered to zero at a lag that the data choose (Bartlett's window: M is never
negative; Newey and West (1987)). Politis (2003) finds the first lag m after which five autocorrelations in a row look
like noise, and tapers at 2 m with a window that is flat up to m; Bartlett's falls from lag 0 on and gets 4 m. A long
taper on few rows, and a fit that has taken up some of the residuals' slow part, make M too small: Kiefer and Vogelsang
(2005) give the quantile that 95 % intervals then need in place of 1.96, here a factor on M. The double sum is a filter,
done in the frequency domain stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import fft, special

from ...arrays import JointSamples, Matrix
from ...estimate import Fit, Whiteness
from ...regression.inverse_dynamics import InverseDynamics

WHITE_LEVEL = 0.01
LJUNG_BOX_LAGS = 20
SHOWN_LAGS = 60
SHORTEST_STRETCH = 4096
COLUMNS_AT_ONCE = 8

MOVING = 0.05
"""A joint moves above this speed; below, the direction of dry friction is uncertain. [rad/s] or [m/s]"""


def autocovariance(e: JointSamples, lags: int) -> np.ndarray:
    """(n, n, lags + 1) Gamma(l) = 1/N sum over t of e_t e_{t+l}^T, mean not removed."""
    stretch = max(SHORTEST_STRETCH, 4 * lags)
    total = np.zeros((lags + 1, e.shape[1], e.shape[1]))
    for first in range(0, len(e), stretch):
        early, late = e[first : first + stretch], e[first : first + stretch + lags]
        size = fft.next_fast_len(len(late) + lags, real=True)
        early, late = fft.rfft(early, size, axis=0), fft.rfft(late, size, axis=0)
        total += fft.irfft(np.conj(early[:, :, None]) * late[:, None, :], size, axis=0)[: lags + 1]
    return total.transpose(1, 2, 0) / len(e)


def autocorrelation(e: JointSamples, lags: int) -> np.ndarray:
    """(n, lags + 1) of each column, its mean removed; a constant column gives zeros."""
    return np.stack([_autocorrelation(column - column.mean(), lags) for column in e.T])


def _autocorrelation(e: np.ndarray, lags: int) -> np.ndarray:
    spectrum = fft.rfft(e, fft.next_fast_len(len(e) + lags, real=True))
    power = np.real(spectrum) ** 2 + np.imag(spectrum) ** 2
    covariance = fft.irfft(power, fft.next_fast_len(len(e) + lags, real=True))[: lags + 1]
    return covariance / covariance[0] if covariance[0] > 0 else np.zeros(lags + 1)


def whiteness(correlation: np.ndarray, samples: int) -> Whiteness:
    """Ljung and Box's test on the autocorrelation (L + 1,) of `samples` residuals."""
    lags = min(LJUNG_BOX_LAGS, len(correlation) - 1)
    l = np.arange(1, lags + 1)
    Q = samples * (samples + 2) * np.sum(correlation[1 : lags + 1] ** 2 / (samples - l))
    p = float(special.chdtrc(lags, Q))
    lag1 = float(correlation[1]) if len(correlation) > 1 else 0.0
    return Whiteness(lag1, lags, p, p > WHITE_LEVEL)


def alike(e: JointSamples) -> bool:
    """Whether residuals (N, n) are of one variance and unrelated between degrees of freedom, as Eq. 6 takes them.

    Bartlett's test of sphericity at the level of the test for whiteness, mean not removed.
    """
    N, n = e.shape
    eigenvalues = np.linalg.eigvalsh(e.T @ e)
    if n == 1 or not eigenvalues[-1] > 0:
        return True
    if eigenvalues[0] <= 0:
        return False
    ratio = np.mean(np.log(eigenvalues)) - np.log(np.mean(eigenvalues))
    statistic = -(N - (2 * n**2 + n + 2) / (6 * n)) * n * ratio
    return bool(special.chdtrc(n * (n + 1) / 2 - 1, max(statistic, 0.0)) > WHITE_LEVEL)


def memory(correlation: np.ndarray, samples: int) -> int:
    """Politis' m: the first lag after which five autocorrelations in a row are insignificant."""
    bound = 2 * np.sqrt(np.log10(max(samples, 10)) / samples)
    quiet = np.abs(correlation[1:]) < bound
    for lag in range(len(quiet) - 4):
        if quiet[lag : lag + 5].all():
            return lag
    return len(correlation) - 1


def fit(problem: InverseDynamics, theta: np.ndarray, recording: str = "") -> Fit:
    """Measured against predicted effort of base values theta (b,) on the rows of a problem."""
    time, measured, predicted = problem.predict(theta)
    e = measured - predicted
    lags = max(min(SHOWN_LAGS, len(e) // 4), 1)
    correlation = _pooled(autocorrelation, problem.row_counts, e, lags)
    moving = np.abs(problem.speeds) > MOVING
    dofs = problem.robot
    names = (*(f"base.{k}" for k in range(6)), *dofs.joints) if dofs.floating_base else dofs.joints
    return Fit(
        time,
        names,
        dofs.effort_units,
        measured,
        predicted,
        correlation,
        tuple(whiteness(row, len(e)) for row in correlation),
        float(100 * np.linalg.norm(e) / np.linalg.norm(measured)),
        _relative_percent(e, measured),
        recording,
        _relative_percent(e * moving, measured * moving),
    )


def _relative_percent(e: JointSamples, measured: JointSamples) -> tuple[float, ...]:
    """(n,) 100 |e| / |measured| of each column; NaN for a column of zeros."""
    norms = np.linalg.norm(measured, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return tuple(float(x) for x in np.where(norms > 0, 100 * np.linalg.norm(e, axis=0) / norms, np.nan))


def coloured_middle(problem: InverseDynamics, scores: JointSamples, columns: np.ndarray) -> Matrix:
    """(k, k) M = sum over t, u of W_t^T Gamma(u - t) W_u, with the allowance for what its estimate falls short.

    Args:
        scores: (N, n) s_t, of all recordings one after the other.
        columns: the k base columns that were estimated.
    """
    longest = max(len(scores) // 4, 1)
    correlation = _pooled(autocorrelation, problem.row_counts, scores, longest)
    m = max(memory(row, len(scores)) for row in correlation)
    lags = min(max(4 * m, 1), longest)
    Gamma = _pooled(autocovariance, problem.row_counts, scores, lags) * (1 - np.arange(lags + 1) / (lags + 1))
    half = np.zeros((len(columns), len(columns)))
    joined = np.zeros((0, 0, 0))
    for begins, W in _stretches(problem, columns, max(SHORTEST_STRETCH, 2 * lags)):
        before = np.zeros((lags, *W.shape[1:])) if begins else joined[-lags:]
        joined = np.concatenate([before, W])
        half += _earlier_pairs(joined, Gamma)
    return (half + half.T) * allowance(lags / len(scores))


def allowance(b: float) -> float:
    """Squared ratio of Kiefer and Vogelsang's quantile of 95 % intervals to the normal one; b: taper by rows."""
    return float((1 + (2.9694 * b + 0.4160 * b**2 - 0.5324 * b**3) / 1.9600) ** 2)


def _stretches(
    problem: InverseDynamics, columns: np.ndarray, length: int
) -> Iterator[tuple[bool, np.ndarray]]:
    """Whether a recording begins, and its next (r, n, k) rows: at least `length` of them, but for its last ones."""
    waiting: list[np.ndarray] = []
    part, begins = 0, True
    for rows in problem.rows():
        if waiting and (rows.part != part or sum(map(len, waiting)) >= length):
            yield begins, np.concatenate(waiting)
            waiting, begins = [], rows.part != part
        part = rows.part
        waiting.append(rows.W[:, :, columns])
    yield begins, np.concatenate(waiting)


def _earlier_pairs(joined: np.ndarray, Gamma: np.ndarray) -> Matrix:
    """sum over t and u <= t of W_t^T Gamma(u - t) W_u, with Gamma(-l) = Gamma(l)^T and half of the terms u = t.

    Args:
        joined: (lags + r, n, k) the rows t, and before them as many as the taper is long.
        Gamma: (n, n, lags + 1).
    """
    lags, k = Gamma.shape[2] - 1, joined.shape[2]
    size = fft.next_fast_len(len(joined), real=True)  # what wraps around ends up in the first `lags` rows
    causal = np.concatenate([0.5 * Gamma[:, :, :1], Gamma[:, :, 1:]], axis=2)
    S = fft.rfft(causal, size).transpose(2, 1, 0)
    W = joined[lags:].reshape(-1, k)
    half = np.empty((k, k))
    for first in range(0, k, COLUMNS_AT_ONCE):
        some = slice(first, first + COLUMNS_AT_ONCE)
        filtered = fft.irfft(S @ fft.rfft(joined[:, :, some], size, axis=0), size, axis=0)[lags : len(joined)]
        half[:, some] = W.T @ filtered.reshape(len(W), -1)
    return half


def _pooled(
    of: Callable[[JointSamples, int], np.ndarray], counts: Sequence[int], e: JointSamples, lags: int
) -> np.ndarray:
    """A function of lags (its last axis), pooled over recordings: none's end is joined to the next one's beginning."""
    pooled: np.ndarray | float = 0.0
    for part in np.split(e, np.cumsum(counts)[:-1]):
        values = of(part, min(lags, len(part) - 1))
        missing = [(0, 0)] * (values.ndim - 1) + [(0, lags + 1 - values.shape[-1])]
        pooled = pooled + len(part) / len(e) * np.pad(values, missing)
    return np.asarray(pooled)
