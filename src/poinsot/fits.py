"""Measured against predicted efforts: how large what is left is, and whether it is white."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import fft, special

from .arrays import JointSamples, Times
from .estimate import Fit, Whiteness

WHITE_LEVEL = 0.01
LJUNG_BOX_LAGS = 20
SHOWN_LAGS = 60

MOVING = 0.05
"""A joint moves above this speed; below, the direction of dry friction is uncertain. [rad/s] or [m/s]"""


def fit_of(
    time: Times,
    names: tuple[str, ...],
    units: tuple[str, ...],
    measured: JointSamples,
    predicted: JointSamples,
    *,
    speeds: JointSamples | None,
    counts: Sequence[int],
    recording: str = "",
) -> Fit:
    """A fit of efforts, or of readings, (N, n).

    Args:
        time: (N,) [s]. names, units: (n,) of the columns.
        speeds: (N, n) of the joints [rad/s] or [m/s]; None where the columns are not joints'.
        counts: how many rows each recording has, one after the other.
    """
    e = measured - predicted
    lags = max(min(SHOWN_LAGS, len(e) // 4), 1)
    correlation = pooled(autocorrelation, counts, e, lags)
    return Fit(
        time,
        names,
        units,
        measured,
        predicted,
        correlation,
        tuple(whiteness(row, len(e)) for row in correlation),
        float(100 * np.linalg.norm(e) / np.linalg.norm(measured)),
        _relative_percent(e, measured),
        recording,
        () if speeds is None else _while_moving(e, measured, speeds),
    )


def _while_moving(e: JointSamples, measured: JointSamples, speeds: JointSamples) -> tuple[float, ...]:
    moving = np.abs(speeds) > MOVING
    return _relative_percent(e * moving, measured * moving)


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


def _relative_percent(e: JointSamples, measured: JointSamples) -> tuple[float, ...]:
    """(n,) 100 |e| / |measured| of each column; NaN for a column of zeros."""
    norms = np.linalg.norm(measured, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return tuple(float(x) for x in np.where(norms > 0, 100 * np.linalg.norm(e, axis=0) / norms, np.nan))


def pooled(
    of: Callable[[JointSamples, int], np.ndarray], counts: Sequence[int], e: JointSamples, lags: int
) -> np.ndarray:
    """A function of lags (its last axis), pooled over recordings: none's end is joined to the next one's beginning."""
    pooled: np.ndarray | float = 0.0
    for part in np.split(e, np.cumsum(counts)[:-1]):
        values = of(part, min(lags, len(part) - 1))
        missing = [(0, 0)] * (values.ndim - 1) + [(0, lags + 1 - values.shape[-1])]
        pooled = pooled + len(part) / len(e) * np.pad(values, missing)
    return np.asarray(pooled)
