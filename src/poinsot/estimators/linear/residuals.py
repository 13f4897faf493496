"""What residuals say: are they white, and how sure are the parameters if they are not?

Eq. 6 of seed 002, cov = sigma^2 (W^T W)^-1, holds for white residuals. For residuals e_t (one value a degree of freedom)
with autocovariance Gamma(l) = E[e_t e_{t+l}^T] the covariance of ordinary (or weighted) least squares is

    (W^T W)^-1 [ sum over t, s of W_t^T Gamma(s - t) W_s ] (W^T W)^-1

Gamma is estimated from the residuals, tapered to zero at a lag that the data choose (Bartlett's window keeps the sum
positive; the lag is Politis' (2003): twice the first after which five autocorrelations in a row look like noise), and
the double sum is a filter, done in the frequency domain stretch by stretch. Newey and West (1987) is the textbook's name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import fft, special

from ...arrays import JointSamples, Matrix
from ...estimate import Fit, Whiteness
from ...regression.inverse_dynamics import InverseDynamics

WHITE_LEVEL = 0.01
LJUNG_BOX_LAGS = 20
SHOWN_LAGS = 60
SHORTEST_STRETCH = 4096


def autocovariance(e: JointSamples, lags: int) -> np.ndarray:
    """(lags + 1, n, n) Gamma(l) = 1/N sum over t of e_t e_{t+l}^T, mean not removed."""
    N = len(e)
    size = fft.next_fast_len(N + lags + 1, real=True)
    spectrum = fft.rfft(e, size, axis=0)
    cross = fft.irfft(np.conj(spectrum[:, :, None]) * spectrum[:, None, :], size, axis=0)
    return cross[: lags + 1] / N


def autocorrelation(e: JointSamples, lags: int) -> np.ndarray:
    """(n, lags + 1) of each column, its mean removed; a constant column gives zeros."""
    e = e - e.mean(axis=0)
    covariance = np.diagonal(autocovariance(e, lags), axis1=1, axis2=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(covariance / covariance[0]).T


def whiteness(correlation: np.ndarray, samples: int) -> Whiteness:
    """Ljung and Box's test on the autocorrelation (L + 1,) of `samples` residuals."""
    lags = min(LJUNG_BOX_LAGS, len(correlation) - 1)
    l = np.arange(1, lags + 1)
    Q = samples * (samples + 2) * np.sum(correlation[1 : lags + 1] ** 2 / (samples - l))
    p = float(special.chdtrc(lags, Q))
    lag1 = float(correlation[1]) if len(correlation) > 1 else 0.0
    return Whiteness(lag1, lags, p, p > WHITE_LEVEL)


def memory(correlation: np.ndarray, samples: int) -> int:
    """Politis' lag: twice the first after which five autocorrelations in a row are insignificant."""
    bound = 2 * np.sqrt(np.log10(max(samples, 10)) / samples)
    quiet = np.abs(correlation[1:]) < bound
    for lag in range(len(quiet) - 4):
        if quiet[lag : lag + 5].all():
            return 2 * lag
    return len(correlation) - 1


def fit(problem: InverseDynamics, theta: np.ndarray, recording: str = "") -> Fit:
    """Measured against predicted effort of base values theta (b,) on the rows of a problem."""
    time, measured, predicted = problem.predict(theta)
    e = measured - predicted
    lags = max(min(SHOWN_LAGS, len(e) // 4), 1)
    correlation = _by_part(problem.row_counts, e, lags)
    norms = np.linalg.norm(measured, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_joint = np.where(norms > 0, 100 * np.linalg.norm(e, axis=0) / norms, np.nan)
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
        tuple(float(x) for x in per_joint),
        recording,
    )


def coloured_middle(problem: InverseDynamics, e: JointSamples, weights: np.ndarray, columns: np.ndarray) -> Matrix:
    """(k, k) sum over t, s of W_t^T Gamma(s - t) W_s, rows weighted.

    Args:
        e: (N, n) residuals, unweighted.
        weights: (n,) of the degrees of freedom.
        columns: the k base columns that were estimated.
    """
    e = e * weights
    lag_limit = max(len(e) // 4, 1)
    correlation = _by_part(problem.row_counts, e, lag_limit)
    active = np.linalg.norm(e, axis=0) > 0
    lags = max((memory(row, len(e)) for row in correlation[active]), default=0)
    lags = min(max(lags, 1), lag_limit)
    Gamma = _covariance_by_part(problem.row_counts, e, lags) * (1 - np.arange(lags + 1) / (lags + 1))[:, None, None]
    middle = np.zeros((len(columns), len(columns)))
    stretch = max(SHORTEST_STRETCH, 8 * lags)
    waiting: list[np.ndarray] = []
    part = 0
    for rows in problem.rows():
        if rows.part != part or sum(map(len, waiting)) >= stretch:
            middle += _filtered_square(np.concatenate(waiting), Gamma)
            waiting, part = [], rows.part
        waiting.append(rows.W[:, :, columns] * weights[:, None])
    return middle + _filtered_square(np.concatenate(waiting), Gamma)


def _filtered_square(W: np.ndarray, Gamma: np.ndarray) -> Matrix:
    """sum over t, s of W_t^T Gamma(s - t) W_s for one stretch (r, n, k), Gamma(-l) = Gamma(l)^T."""
    lags = len(Gamma) - 1
    size = fft.next_fast_len(len(W) + lags, real=True)
    both = np.zeros((size, *Gamma.shape[1:]))
    both[: lags + 1] = Gamma
    both[size - lags :] = Gamma[:0:-1].transpose(0, 2, 1)
    S = fft.rfft(both, axis=0)  # spectral density of e, Hermitian
    X = fft.rfft(W, size, axis=0)
    # sum over t, s of W_t^T Gamma(s - t) W_s = mean over frequencies of X^T conj-weighted; real by symmetry
    twice = np.full(len(X), 2.0)
    twice[0] = 1.0
    if size % 2 == 0:
        twice[-1] = 1.0
    SX = np.matmul(np.conj(S), X) * twice[:, None, None]
    n, k = W.shape[1:]
    return np.real(np.conj(X).reshape(-1, k).T @ SX.reshape(-1, k)) / size


def _by_part(counts: Sequence[int], e: JointSamples, lags: int) -> np.ndarray:
    """Autocorrelation pooled over recordings, none of whose ends is joined to the next one's beginning."""
    total = sum(counts)
    parts = np.split(e, np.cumsum(counts)[:-1])
    return sum(
        len(part) / total * _padded(autocorrelation(part, min(lags, len(part) - 1)).T, lags).T for part in parts
    )


def _covariance_by_part(counts: Sequence[int], e: JointSamples, lags: int) -> np.ndarray:
    total = sum(counts)
    parts = np.split(e, np.cumsum(counts)[:-1])
    return sum(len(part) / total * _padded(autocovariance(part, min(lags, len(part) - 1)), lags) for part in parts)


def _padded(values: np.ndarray, lags: int) -> np.ndarray:
    return np.concatenate([values, np.zeros((lags + 1 - len(values), *values.shape[1:]))])
