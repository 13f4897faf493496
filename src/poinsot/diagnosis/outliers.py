"""Single readings that are far from their neighbours: of efforts, positions, rates, inertial units, and of residuals.

A reading x_k is far from its neighbours if

    |x_k - median(x_{k-2}, ..., x_{k+2})| > spread times the 95 % quantile of |r|
    r_k = x_k - (x_{k-1} + x_{k+1}) / 2

and if those before and after it agree, by a quarter of this distance, once the usual step about k is taken off: a
spike returns, a step or a transient does not. The median follows the motion; r measures noise, resolution and the
curvature of a smooth motion.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Bool, Vector
from ..estimate import Finding, Severity
from ..recording import EFFORTS, Recording
from .cause import Cause
from .check import RecordingCheck
from .effort_samples import measured_efforts

SPREAD, FEWEST = 10.0, 50
"""Spread, of normal noise 24 standard deviations, and least number of readings; drives that switch directions stay
below."""

RETURNS = 0.25
"""Part of its distance by which readings before and after a spike may differ."""


def usual_distance(values: Vector) -> float:
    """The 95 % quantile of |r|, at least the smallest step of the values."""
    r = np.abs(values[1:-1] - 0.5 * (values[:-2] + values[2:]))
    steps = np.abs(np.diff(values))
    smallest = float(np.min(steps, where=steps > 0, initial=np.inf))
    least = smallest if np.median(r) == 0 and np.isfinite(smallest) else 0.0
    return max(float(np.quantile(r, 0.95)), least, 1e-9 * float(np.abs(values).max()))


def distances(values: Vector) -> Vector:
    """(T,) of readings from the median of themselves and two neighbours on either side."""
    near = np.lib.stride_tricks.sliding_window_view(np.pad(values, 2, mode="edge"), 5)
    return np.abs(values - np.median(near, axis=1))


def outlying(values: Vector) -> Bool[np.ndarray, "T"]:
    """Whether readings (T,) are far from their neighbours; NaN where nothing was measured."""
    wrong, valid = np.zeros(len(values), dtype=bool), np.flatnonzero(np.isfinite(values))
    if len(valid) >= FEWEST:
        x = values[valid]
        away = distances(x)
        wrong[valid] = (away > SPREAD * usual_distance(x)) & (change(x) < RETURNS * away)
    return wrong


def change(values: Vector) -> Vector:
    """(T,) of the three readings before each one to the three after it, beyond four usual steps between them."""
    near = np.lib.stride_tricks.sliding_window_view(np.pad(values, 3, mode="edge"), 7)
    before, after = np.median(near[:, :3], axis=1), np.median(near[:, 4:], axis=1)
    return np.abs(after - before - 4 * np.median(np.diff(near, axis=1), axis=1))


class Outliers(RecordingCheck):
    """Spikes of efforts, rates and inertial units.

    What a filter passes on of a spike of height h has the energy h^2 times its share of the band.

    Class variables:
        warning, error: energy that spikes leave in the rows, relative to that of the channel, where the residual of a
            good fit is about 0.001: as large as that, or ten times as much.
    """

    warning, error = 1e-3, 1e-2

    causes = (
        Cause(
            "outliers",
            "Single readings of a torque, a rate or an inertial unit are far from their neighbours.",
            "Mark them (invalid = ... in the recording) and interpolate them (resample_hz, bridge_intervals), or "
            "exclude them with between_s.",
        ),
    )

    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        band = min(1.0, 2 * highest_hz / recording.rate_hz)
        efforts = [(quantity, joint) for quantity, joint, _ in measured_efforts(recording)]
        others = [(q, place) for q in ("velocity", "gyro", "accelerometer") for place in recording.joints(q)]
        for quantity, place in (*efforts, *others):
            values = recording.readings(f"{quantity}.{place}")
            values, time = values[read := np.isfinite(values)], recording.time[read]
            wrong = outlying(values)
            height = np.where(wrong, distances(values), 0.0)
            energy = float(np.sum(height**2) * band / max(np.sum(values[~wrong] ** 2), 1e-300))
            if not wrong.any() or energy < self.warning:
                continue
            worst, count = int(np.argmax(height)), int(wrong.sum())
            at = f"at joint {place}" if quantity in EFFORTS else f"of {place}"
            yield self.causes[0].finding(
                Severity.error if energy >= self.error else Severity.warning,
                f"{count} {quantity} outlier{'s' * (count > 1)} {at} in {name}, the worst {values[worst]:.3g} at "
                f"{time[worst]:.4g} s; 95 % of all differ from their neighbours by less than "
                f"{usual_distance(values):.2g}.",
                where=place,
                evidence=1e3 * min(energy, 1e3),
            )
