"""Measured velocities of joints: how late they are, and whether they measure what positions do not.

    y(t) = g v(t - T) + noise

Servos report velocities that are filtered, so late by some T. Both y and the derivative of the measured position pass
the same zero-phase filter; T and g are those of least squares. A velocity with g far from 1, or that follows the
position badly, has another unit, sign or joint, and is not used. One that was computed from the same positions, as
their differences, has their noise and nothing else, and is not used either: the second differences of both, where
noise dominates, are alike then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poinsot.arrays import Times, Vector

from .mechanics import smoothed

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
        values: (T,) on the clock of the positions, NaN where none is used [rad/s].
        late: T [s]. slope: g. explained: part of the variance of y. problem: why it is not used; empty: it is.
    """

    values: Vector
    late: float
    slope: float
    explained: float
    problem: str = ""


def measured_velocity(time: Times, position: Vector, y: Vector, cutoff_hz: float | None) -> MeasuredVelocity:
    """A measured velocity y beside positions, both (T,) with NaN where nothing was measured."""
    valid = np.isfinite(position) & np.isfinite(y)
    nothing = np.full(len(time), np.nan)
    if valid.sum() < 50 or np.ptp(y[valid]) == 0.0:
        return MeasuredVelocity(
            nothing, 0.0, 0.0, 0.0, "it has fewer than 50 samples beside positions, or never changes"
        )
    q, v = (np.interp(time, time[valid], each[valid]) for each in (position, y))
    moved, ((v_of_y, _, _), (_, v_of_q, _)) = (
        valid,
        (smoothed(time, each[:, None], cutoff_hz) for each in (v, q)),
    )

    def fit(late: float) -> tuple[float, float]:
        x = np.interp(time - late, time, v_of_q[:, 0])[moved]
        target = v_of_y[moved, 0]
        slope = float(x @ target) / max(float(x @ x), 1e-300)
        return float(np.sum((target - slope * x) ** 2)), slope

    costs = np.array([fit(late)[0] for late in LATENESS_S])
    k = int(np.clip(np.argmin(costs), 1, len(costs) - 2))
    before, at, after = costs[k - 1 : k + 2]
    curvature = before - 2 * at + after
    step = LATENESS_S[1] - LATENESS_S[0]
    late = float(
        LATENESS_S[k] + (0.5 * step * np.clip((before - after) / curvature, -1, 1) if curvature > 0 else 0)
    )
    cost, slope = fit(late)
    explained = 1.0 - cost / max(float(np.sum(v_of_y[moved, 0] ** 2)), 1e-300)
    if explained < EXPLAINED or abs(slope - 1.0) > SLOPE:
        said = (
            f"it is {slope:.3g} times the rate of the position, which explains {100 * max(explained, 0):.0f} % of it; "
            "correct its unit, sign or column"
        )
        return MeasuredVelocity(nothing, late, slope, explained, said)
    if _computed(time, q, v):
        return MeasuredVelocity(
            nothing,
            late,
            slope,
            explained,
            "it was computed from the recorded positions, and adds nothing to them",
        )
    from scipy.interpolate import CubicSpline

    values = CubicSpline(time[valid], y[valid])(time + late)
    usable = valid & (time + late >= time[valid][0]) & (time + late <= time[valid][-1])
    return MeasuredVelocity(np.where(usable, values, np.nan), late, slope, explained)


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
