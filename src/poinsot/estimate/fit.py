"""Fit: measured against predicted readings or efforts, with a mask of the measured samples.

A sample that was not measured is NaN in `measured`. It is left out: errors, root mean squares, autocorrelations and
whiteness are those of the samples that were measured. A lag counts measured samples of a column, so that a sensor
that is read at every sixteenth step has the autocorrelation between its consecutive readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Brief, Int, JointSamples, Times, Vector
from ..statistics import WHITE_LEVEL, autocorrelation, longest_lag, pooled

LJUNG_BOX_LAGS = 20
SHOWN_LAGS = 60

MOVING = 0.05
"""A joint moves above this speed; below, the direction of dry friction is uncertain. [rad/s] or [m/s]"""


@dataclass(frozen=True)
class Whiteness:
    """Ljung-Box verdict on the residuals of one column. `lag1`: autocorrelation at lag 1. `lags`: number of lags in the
    test. `p_value`: probability of so much correlation in white noise. `white`: the verdict at 1 %.
    """

    lag1: float
    lags: int
    p_value: float
    white: bool


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Brief):
    """Measured against predicted efforts or readings, on the rows that were (or were not) fitted.

    Args:
        time: (N,) [s].
        joints: names of the columns.
        units: SI unit of each column.
        measured: (N, n); NaN where nothing was measured. predicted: (N, n). Efforts are joint side.
        autocorrelation: (n, L + 1) of the residuals, lag 0 first; empty where rows have no order in time.
        whiteness: per column; empty where rows have no order in time.
        relative_error_percent: 100 |measured - predicted| / |measured| over all that was measured, positions about the
            mean of their recording. Where columns have different units and `noise` is stated, both are divided by it
            first.
        relative_error_percent_per_joint: (n,) the same column by column; NaN for a column whose readings are all zero,
            or that has none.
        moving_error_percent_per_joint: (n,) the same while the joint moves: at standstill dry friction is anything up
            to its Coulomb value. NaN for a joint that never moves; empty where speeds are not known.
        noise: (n,) or (N, n) standard deviations of the measurements, in `units`; None where they are not stated.
        chi_square_per_reading: sum of squared residuals of readings and process noise, in standard deviations, by the
            number of readings less unknowns; None where no noise is stated.
        sizes: (n,) |measured| of each column that relative errors are divided by; None: without subtracted means.
    """

    time: Times
    joints: tuple[str, ...]
    units: tuple[str, ...]
    measured: JointSamples
    predicted: JointSamples
    autocorrelation: np.ndarray
    whiteness: tuple[Whiteness, ...]
    relative_error_percent: float
    relative_error_percent_per_joint: tuple[float, ...]
    recording: str = ""
    moving_error_percent_per_joint: tuple[float, ...] = ()
    noise: np.ndarray | None = None
    sizes: np.ndarray | None = None
    chi_square_per_reading: float | None = None

    @property
    def error_text(self) -> str:
        """The relative error, or why there is none."""
        if np.isfinite(self.relative_error_percent):
            return f"{self.relative_error_percent:.2f} %"
        lost = not np.isfinite(self.predicted).all()
        return f"unknown, since {'the prediction is not finite' if lost else 'all measurements are 0'}"

    @property
    def measured_squares_per_joint(self) -> Vector:
        """(n,) sums of squared measurements that relative errors are divided by."""
        return np.asarray(np.nansum(self.measured**2, axis=0) if self.sizes is None else self.sizes**2)

    @property
    def mask(self) -> np.ndarray:
        """(N, n) True where something was measured."""
        return np.isfinite(self.measured)

    @property
    def readings_per_joint(self) -> Int[np.ndarray, "n"]:
        """(n,) number of samples that were measured, of N."""
        return np.asarray(np.count_nonzero(self.mask, axis=0))

    @property
    def residuals(self) -> JointSamples:
        """(N, n) measured minus predicted; NaN where nothing was measured."""
        return self.measured - self.predicted

    @property
    def sum_of_squares_per_joint(self) -> Vector:
        """(n,) sums of squared residuals, in `units` squared."""
        return np.asarray(np.nansum(self.residuals**2, axis=0))

    @property
    def rms_per_joint(self) -> Vector:
        """(n,) root mean square of the residuals, in `units`; NaN where nothing was measured."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.sum_of_squares_per_joint / self.readings_per_joint)

    @property
    def white(self) -> bool:
        # True also where nothing was tested: ask `whiteness` first.
        return all(verdict.white for verdict in self.whiteness)


def fit_of(
    time: Times,
    names: tuple[str, ...],
    units: tuple[str, ...],
    measured: JointSamples,
    predicted: JointSamples,
    *,
    speeds: JointSamples | None = None,
    counts: Sequence[int] = (),
    recording: str = "",
    ordered: bool = True,
    noise: np.ndarray | None = None,
) -> Fit:
    """The fit of efforts or of readings. `time`: (N,) [s]. `names`, `units`: (n,) of the columns. `measured`: (N, n),
    NaN where nothing was measured. `predicted`: (N, n). `speeds`: (N, n) of the joints [rad/s] or [m/s]; None where the
    columns are not joints'. `counts`: number of rows of each recording, in the order of the rows; empty: one recording.
    `noise`: (n,) or (N, n) standard deviations of the measurements, in `units`. `ordered`: whether the rows are a time
    series; if not, there are no autocorrelations and no test of whiteness.
    """
    residuals, counts = measured - predicted, counts or [len(time)]
    read = np.isfinite(residuals)
    # NaN would make all sums NaN: a missing measurement and its residual are set to 0.
    e = residuals if read.all() else np.where(read, residuals, 0.0)
    z = np.where(read, about_means(measured, units, counts), 0.0)
    correlation, verdicts = np.empty((len(names), 0)), []
    if ordered:
        rows = [_correlation(column, mask, counts) for column, mask in zip(e.T, read.T, strict=True)]
        verdicts = [whiteness(row, int(mask.sum())) for row, mask in zip(rows, read.T, strict=True)]
        lags = max((len(row) for row in rows), default=1)
        correlation = np.array([np.pad(row, (0, lags - len(row))) for row in rows]).reshape(len(rows), lags)
    # Newton metres and radians cannot be added: with several units, each is divided by its noise.
    scale = np.ones(1) if noise is None or len(set(units)) <= 1 else noise
    size = np.linalg.norm(z / scale)
    moving = 1.0 if speeds is None else np.abs(speeds) > MOVING
    return Fit(
        time,
        names,
        units,
        measured,
        predicted,
        correlation,
        tuple(verdicts),
        float(100 * np.linalg.norm(e / scale) / size) if size > 0 else float("nan"),
        _relative_percent(e, z),
        recording,
        () if speeds is None else _relative_percent(e * moving, z * moving),
        noise,
        np.linalg.norm(z, axis=0),
    )


def about_means(measured: JointSamples, units: Sequence[str], counts: Sequence[int]) -> JointSamples:
    """(N, n) positions less their mean over each recording, since their zero is arbitrary; other columns unchanged."""
    positions = np.isin(units, ("rad", "m"))
    if not positions.any():
        return measured
    parts = []
    for part in np.split(measured, np.cumsum(counts)[:-1]):
        read = np.isfinite(part)
        mean = np.sum(np.where(read, part, 0.0), axis=0) / np.maximum(read.sum(axis=0), 1)
        parts.append(part - np.where(positions, mean, 0.0))
    return np.concatenate(parts)


def _correlation(e: np.ndarray, read: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """(L + 1,) autocorrelation of the measured residuals of one column, pooled over recordings."""
    if not read.all():
        starts = np.cumsum(counts) - counts
        counts = [int(read[k : k + count].sum()) for k, count in zip(starts.tolist(), counts, strict=True)]
        # A recording in which this sensor was never read has no pairs.
        counts, e = [count for count in counts if count], e[read]
    if not len(e):
        return np.zeros(2)
    lags = min(SHOWN_LAGS, longest_lag(len(e)))
    return pooled(autocorrelation, counts, e[:, None], lags)[0]


def whiteness(correlation: np.ndarray, samples: int) -> Whiteness:
    """Ljung and Box's test on the autocorrelation (L + 1,) of `samples` residuals."""
    from scipy.special import chdtrc  # SciPy is slow to import

    # Fewer lags for few samples: the test needs more samples than lags.
    lags = min(LJUNG_BOX_LAGS, len(correlation) - 1, max(samples - 1, 1))
    l = np.arange(1, lags + 1)
    # Terms of long lags weigh more, as they have fewer products.
    Q = samples * (samples + 2) * np.sum(correlation[1 : lags + 1] ** 2 / np.maximum(samples - l, 1))
    p = float(chdtrc(lags, Q))
    lag1 = float(correlation[1]) if len(correlation) > 1 else 0.0
    return Whiteness(lag1, lags, p, p > WHITE_LEVEL)


def _relative_percent(e: JointSamples, measured: JointSamples) -> tuple[float, ...]:
    """(n,) 100 |e| / |measured| of each column; NaN for a column of zeros."""
    norms = np.linalg.norm(measured, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return tuple(float(x) for x in np.where(norms > 0, 100 * np.linalg.norm(e, axis=0) / norms, np.nan))
