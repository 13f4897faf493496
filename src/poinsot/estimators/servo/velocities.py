"""Measured velocities of joints: how late they are, and whether they measure what positions do not.

    y(t) = g v(t - T) + noise

Servos report velocities that are filtered, so late by some T. Both y and the derivative of the measured position pass
the same zero-phase filter; T and g are those of least squares, and the estimation leaves the rest of T open
(`search`). A velocity with g far from 1, or that follows the position badly, has another unit, sign or joint, and is
not used. One that was computed from the same positions, as their differences, has their noise and nothing else, and is
not used either: the second differences of both, where noise dominates, are alike then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Times, Vector
from ...models.servo.mechanics import smoothed

VELOCITY = "velocity"

LATENESS_S = np.arange(-0.010, 0.0601, 0.002)
"""Values of T that are tried, with parabolas between them [s]."""

EXPLAINED, SLOPE = 0.8, 0.15
"""Least part of the variance that v explains, and largest difference of g from 1, of a velocity that is used."""

ALIKE = 0.8
"""Squared correlation of second differences from which a velocity is computed from the positions."""


@dataclass(frozen=True, eq=False)
class MeasuredVelocity:
    """The velocity of one joint in one recording.

    Args:
        values: (T,) of T earlier, NaN where none is used [rad/s].
        late: T [s]. slope: g. explained: part of the variance of y. problem: why it is not used; empty: it is.
        contradicts: whether it is not used as it is not the rate of the position.
    """

    values: Vector
    late: float
    slope: float
    explained: float
    problem: str = ""
    contradicts: bool = False


def measured_velocity(time: Times, position: Vector, y: Vector, cutoff_hz: float | None) -> MeasuredVelocity:
    """A measured velocity y beside positions, both (T,) with NaN where nothing was measured."""
    from scipy.interpolate import CubicSpline

    valid = np.isfinite(position) & np.isfinite(y)
    nothing = np.full(len(time), np.nan)
    if valid.sum() < 50 or np.ptp(y[valid]) == 0.0:
        said = "it has fewer than 50 samples beside positions, or never changes"
        return MeasuredVelocity(nothing, 0.0, 0.0, 0.0, said)
    q, v = (np.interp(time, time[valid], each[valid]) for each in (position, y))
    smooth_q, smooth_v = smoothed(time, np.stack([q, v], axis=1), cutoff_hz)[0].T
    v_of_q, target = CubicSpline(time, smooth_q).derivative(), smooth_v[valid]

    def fit(late: float) -> tuple[float, float]:
        x = v_of_q(np.clip(time[valid] - late, time[0], time[-1]))
        slope = float(x @ target) / max(float(x @ x), 1e-300)
        return float(np.sum((target - slope * x) ** 2)), slope

    costs = [fit(late)[0] for late in LATENESS_S]
    k = int(np.clip(np.argmin(costs), 1, len(costs) - 2))
    before, at, after = costs[k - 1 : k + 2]
    curvature, step = before - 2 * at + after, LATENESS_S[1] - LATENESS_S[0]
    late = float(LATENESS_S[k])
    if curvature > 0:
        late += float(0.5 * step * np.clip((before - after) / curvature, -1, 1))
    cost, slope = fit(late)
    explained = 1.0 - cost / max(float(target @ target), 1e-300)
    if explained < EXPLAINED or abs(slope - 1.0) > SLOPE:
        said = (
            f"it is {slope:.3g} times the rate of the position, which explains {100 * max(explained, 0):.0f} % of it; "
            "correct its unit, sign or column"
        )
        return MeasuredVelocity(nothing, late, slope, explained, said, contradicts=True)
    if _computed(time, q, v):
        said = "it was computed from the recorded positions, and adds nothing to them"
        return MeasuredVelocity(nothing, late, slope, explained, said)
    return MeasuredVelocity(np.where(valid, y, np.nan), late, slope, explained)


def _computed(time: Times, q: Vector, v: Vector) -> bool:
    """Whether v are differences of q: backward, central or forward ones."""
    rate = np.diff(q) / np.diff(time)
    there = np.diff(v, 2)
    for differences in (
        np.concatenate([rate[:1], rate]),
        np.concatenate([rate, rate[-1:]]),
        np.gradient(q, time),
    ):
        here = np.diff(differences, 2)
        product = float(np.std(here) * np.std(there))
        if (
            product > 0
            and float(np.mean((here - here.mean()) * (there - there.mean())) / product) ** 2 > ALIKE
        ):
            return True
    return False
