"""Guess the units of a log: the first unit of a quantity in which its readings are plausible.

How implausible readings x are is one number, the largest of all channels, and at most about 1 where they are plausible:

    position        |x - middle| by half of the joint's range, and its speed by the speed limit
    torque          its peak by twice the limit; where there is none, its rms by 30 times that of the links' weight
    gyro            its peak by 35 rad/s, which few measure
    accelerometer   9.81 m/s^2 by three times the median of its size
    contact         its peak by 1
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..io.units import STANDARD_GRAVITY, convert
from ..models.articulated import UNLIMITED, Articulated
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT
from .motion import SPEED_OVER_S

ANGLES, LENGTHS, TORQUES = ("rad", "deg"), ("m", "mm"), ("N m", "N cm", "N mm")
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "gyro": ("rad/s", "deg/s"),
    "accelerometer": ("m/s^2", "g"),
    CONTACT: ("1", "N"),
    "current": ("A",),
    "voltage": ("V",),
}
"""Quantity -> units, the likeliest first; those of joints depend on how they move."""

PLAUSIBLE = 1.05
"""Largest number that is still plausible: limits of descriptions are round numbers."""


def guess_units(
    robot: Articulated, channels: Mapping[str, np.ndarray], named: Mapping[str, str], interval_s: float
) -> dict[str, tuple[str, str]]:
    """Channel -> unit and the reason for it; channels of one quantity have the same, but for joints that slide.

    Args:
        channels: name -> (T,) readings as they are in the log, NaN where there is none. named: units that headers name.
        interval_s: between two samples [s].
    """
    kinds = dict(zip(robot.joints, robot.position_units, strict=True))
    groups: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for channel, x in channels.items():
        quantity, _, owner = channel.partition(".")
        groups.setdefault((quantity, kinds.get(owner, "")), {})[owner] = x
    found: dict[str, tuple[str, str]] = {}
    positions: dict[str, str] = {}
    for (quantity, kind), group in sorted(groups.items(), key=lambda item: item[0][0] != "position"):
        size = partial(_implausible, robot, quantity, interval_s=interval_s)
        owners = tuple(group)
        if quantity in FRAME_QUANTITIES:  # the size of a vector, as one axis may read nothing
            group = {owners[0]: np.sqrt(sum(x**2 for x in group.values()))}
        if quantity == "position":
            candidates = ANGLES if kind == "rad" else LENGTHS
        elif quantity == "torque":
            candidates = TORQUES if kind == "rad" else ("N",)
            angles = {
                each.removeprefix("position."): x
                for each, x in channels.items()
                if each.startswith("position.")
            }
            size = partial(size, weight=_weight(robot, angles, positions))
        elif kind and quantity not in CANDIDATES:
            ending = {"velocity": "/s", "acceleration": "/s^2"}.get(quantity, "")
            candidates = (positions[kind] + ending,)
        else:
            candidates = CANDIDATES.get(quantity, ("1",))
        sizes = [
            max((size(owner, convert(x, each)[0]), owner) for owner, x in group.items())
            for each in candidates
        ]
        best = next(
            (k for k, (ratio, _) in enumerate(sizes) if ratio <= PLAUSIBLE),
            int(np.argmin([s for s, _ in sizes])),
        )
        unit, reason = (
            candidates[best],
            f"the numbers are plausible; else write {' or '.join(candidates[1:])}",
        )
        if sizes[best][0] > PLAUSIBLE:
            reason = (
                f"and yet {sizes[best][1]} goes to {sizes[best][0]:.3g} times what is plausible: check it"
            )
        elif best:
            reason = f"in {candidates[0]} {sizes[0][1]} would go to {sizes[0][0]:.3g} times what is plausible"
        elif len(candidates) == 1:
            reason = "as the positions" if kind and quantity not in CANDIDATES else "the usual one"
        if quantity == "position":
            positions[kind] = unit
        for owner in owners:
            channel = f"{quantity}.{owner}"
            found[channel] = (named[channel], "its header names it") if channel in named else (unit, reason)
    return found


def _implausible(
    robot: Articulated,
    quantity: str,
    owner: str,
    x: np.ndarray,
    interval_s: float,
    weight: Mapping[str, float] = {},
) -> float:
    """How implausible the readings of a channel are, in SI units."""
    peak, k = float(np.nanmax(np.abs(x), initial=0.0)), 0
    if owner in robot.joints:
        k = robot.joints.index(owner)
    if quantity == "position":
        low, high = (float(each[k]) for each in robot.position_limits)
        h = max(1, round(SPEED_OVER_S / interval_s))
        speed = float(np.nanmax(np.abs(x[h:] - x[:-h]), initial=0.0)) / (h * interval_s)
        reach = (
            float(np.nanmax(np.abs(x - 0.5 * (low + high)), initial=0.0)) / (0.5 * (high - low))
            if np.isfinite(high - low)
            else 0.0
        )
        return max(reach, speed / robot.velocity_limits.get(owner, np.inf))
    if quantity == "torque":
        limit = float(robot.model.upperEffortLimit[k])
        rms = float(np.sqrt(np.nanmean(x**2)))
        return peak / (2 * limit) if 0 < limit < UNLIMITED else rms / (30 * weight.get(owner, np.inf))
    if quantity == "gyro":
        return peak / 35.0
    if quantity == "accelerometer":
        return STANDARD_GRAVITY / max(3 * float(np.nanmedian(np.abs(x))), 1e-9)
    return peak if quantity == CONTACT else 0.0


def _weight(
    robot: Articulated, angles: Mapping[str, np.ndarray], units: Mapping[str, str]
) -> dict[str, float]:
    """Joint -> rms torque of the links' weight at the positions of the log; none where it has no weight."""
    if robot.floating_base or set(angles) != set(robot.joints):
        return {}
    columns = [
        convert(angles[joint], units[kind])[0]
        for joint, kind in zip(robot.joints, robot.position_units, strict=True)
    ]
    positions = np.nan_to_num(np.stack(columns, axis=1)[:: max(1, len(columns[0]) // 50)])
    still = np.zeros_like(positions)
    torque = robot.torque_regressor(robot.configurations(positions), still, still) @ robot.inertials.ravel()
    return {
        joint: float(rms)
        for joint, rms in zip(robot.joints, np.sqrt(np.mean(torque**2, axis=0)), strict=True)
        if rms > 1e-9
    }
