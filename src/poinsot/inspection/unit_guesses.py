"""Guess the units of a log: the first unit of a quantity in which its readings are plausible.

Readings x have one implausibility, the largest of all channels; it is at most 1 where they are plausible:

    position        |x - middle| by half of the joint's range, and its speed by five times the speed limit
    torque          its peak by twice the limit
    gyro            its norm by 35 rad/s, beyond most sensors' range
    accelerometer   9.81 m/s^2 by three times its largest norm
    contact         its peak by 1
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..io.units import STANDARD_GRAVITY, convert
from ..models.robot.articulated import UNLIMITED, Articulated
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT
from .motion import SPEED_OVER_S

CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "position rad": ("rad", "deg"),
    "position m": ("m", "mm"),
    "torque m": ("N",),
    "torque rad": ("N m", "N cm", "N mm"),
    "gyro": ("rad/s", "deg/s"),
    "accelerometer": ("m/s^2", "g"),
    CONTACT: ("1", "N"),
    "current": ("A",),
    "voltage": ("V",),
    "orientation": ("1",),
}
"""Quantity (with the unit of the joint's position where it matters) -> units, the likeliest first."""

PLAUSIBLE = 1.05
"""Largest implausibility of plausible readings: limits of descriptions are round numbers."""


def guess_units(
    robot: Articulated, channels: Mapping[str, np.ndarray], named: Mapping[str, str], interval_s: float
) -> dict[str, tuple[str, str]]:
    """Map each channel to its unit and the reason; channels of a quantity share a unit, except prismatic joints.
    `channels`: name -> (T,) readings as logged, NaN where there is none, positions first. `named`: units that headers
    name. `interval_s`: time between two samples [s].
    """
    kinds = {joint: robot.position_units[k] for joint, k in zip(robot.joints, robot.actuated, strict=True)}
    groups: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for channel, x in channels.items():
        quantity, _, owner = channel.partition(".")
        groups.setdefault((quantity, kinds.get(owner, "")), {})[owner] = x
    guesses: dict[str, tuple[str, str]] = {}
    positions: dict[str, str] = {}
    for (quantity, kind), group in groups.items():
        sizes, of_group = group, [f"{quantity}.{owner}" for owner in group]
        if quantity in FRAME_QUANTITIES:  # norm of the vector, since one axis may read 0
            sizes = {next(iter(group)): np.sqrt(sum(x**2 for x in group.values()))}
        per_time = {"velocity": "/s", "acceleration": "/s^2"}.get(quantity, "")
        as_positions = (positions.get(kind, "") + per_time,)
        candidates = CANDIDATES.get(quantity, CANDIDATES.get(f"{quantity} {kind}", as_positions))
        implausible = partial(_implausibility, robot, quantity, interval_s)
        worst = [
            max((implausible(owner, convert(x, unit)[0]), owner) for owner, x in sizes.items())
            for unit in candidates
        ]
        best = next((k for k, (size, _) in enumerate(worst) if size <= PLAUSIBLE), worst.index(min(worst)))
        unit, (size, owner) = candidates[best], worst[best]
        reason = "as positions" if candidates == as_positions else "the numbers are plausible"
        if size > PLAUSIBLE:
            reason = f"but {owner} reaches {size:.3g} times the plausible limit: check it"
        elif best:
            reason = f"in {candidates[0]} {worst[0][1]} would be {worst[0][0]:.3g} times the plausible limit"
        elif len(candidates) > 1:
            reason += f"; it may be {' or '.join(candidates[1:])}"
        if quantity == "position":
            positions[kind] = next((named[channel] for channel in of_group if channel in named), unit)
        for channel in of_group:
            guesses[channel] = (named[channel], "its header names it") if channel in named else (unit, reason)
    return guesses


def _implausibility(robot: Articulated, quantity: str, interval_s: float, owner: str, x: np.ndarray) -> float:
    """Implausibility of a channel in SI units, as defined at the top of this file."""
    peak = float(np.nanmax(np.abs(x), initial=0.0))
    k = robot.joints.index(owner) if owner in robot.joints else 0
    if quantity == "position":
        low, high = (float(limit[k]) for limit in robot.position_limits)
        half, bounded = 0.5 * (high - low), np.isfinite(high - low)
        reach = float(np.nanmax(np.abs(x - 0.5 * (low + high)))) / half if bounded else 0.0
        h = max(1, round(SPEED_OVER_S / interval_s))
        speed = float(np.nanmax(np.abs(x[h:] - x[:-h]), initial=0.0)) / (h * interval_s)
        return max(reach, speed / (5 * robot.velocity_limits.get(owner, np.inf)))
    if quantity == "torque":
        limit = float(robot.model.upperEffortLimit[robot.actuated[k]])
        return peak / (2 * limit) if 0 < limit < UNLIMITED else 0.0
    bounds = {"gyro": peak / 35.0, "accelerometer": STANDARD_GRAVITY / max(3 * peak, 1e-9), CONTACT: peak}
    return bounds.get(quantity, 0.0)
