"""Guess the units of a log: the first unit of a quantity in which its readings are plausible.

Readings x have one implausibility, the largest of all channels; it is at most 1 where they are plausible. Sizes are
quantiles, since single samples may be errors of a bus:

    position        |x - middle| by half of the joint's range, and its speed by five times the speed limit, or a usual
                    one of joints without
    torque          its size by twice the limit
    gyro            its norm by 35 rad/s, beyond most sensors' range
    frame_position  the speed of the base by 50 m/s
    accelerometer   the median of its norm, which is gravity at rest and near it on average, within a factor of 3
    contact         its size by 1, unless it is a force

Angles that jump by a turn of a unit, and stay within one, are in this unit, whatever their size.

Angles whose resolution is another than that of the other joints' encoders are fractions of the joint's travel
(`find_fractions`).

Integers may also be ticks of an encoder, 2^k a turn, where 2^k is above all readings: with zero in the middle or at 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..exceptions import listing
from ..io.units import STANDARD_GRAVITY, convert, find_unit
from ..models.robot.articulated import UNLIMITED, Articulated
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT, THRUST
from ..statistics import grid_step
from .motion import SPEED_OVER_S
from .readings import period_of


class UnitGuess(NamedTuple):
    """The unit of a channel and the reason; the reading (x - zero) scale is in this unit. `full_travel`: difference of
    readings at the ends of the joint's travel, if they are fractions of it.
    """

    unit: str
    reason: str = ""
    scale: float = 1.0
    zero: float = 0.0
    full_travel: float = 0.0

    @property
    def text(self) -> str:
        """The unit, and what is done before it applies."""
        if self.scale == 1:
            return self.unit
        if self.full_travel:
            return (
                f"fraction of travel, {self.full_travel:g} of {self.full_travel * self.scale:.3g} {self.unit}"
            )
        return f"ticks, {2 * np.pi / self.scale:.0f} a turn and {self.zero:g} at zero"

    @property
    def turn(self) -> float:
        """A turn, in readings of an angle."""
        return 2 * np.pi / find_unit(self.unit).factor / self.scale

    def converted(self, x: np.ndarray) -> np.ndarray:
        """Readings (T,) in SI units."""
        return convert((x - self.zero) * self.scale, self.unit)[0]


PLAUSIBLE_NUMBERS, AS_POSITIONS = "the numbers are plausible", "as positions"
USUAL = (PLAUSIBLE_NUMBERS, AS_POSITIONS)
"""Beginnings of the reasons of units that nobody doubts."""


def _listed(*units: str) -> tuple[UnitGuess, ...]:
    return tuple(map(UnitGuess, units))


CANDIDATES: Mapping[str, tuple[UnitGuess, ...]] = {
    "position rad": _listed("rad", "deg"),
    "position m": _listed("m", "mm"),
    "torque m": _listed("N"),
    "torque rad": _listed("N m", "N cm", "N mm"),
    "gyro": _listed("rad/s", "deg/s"),
    "accelerometer": _listed("m/s^2", "g"),
    CONTACT: _listed("1", "N"),
    "current": _listed("A"),
    "voltage": _listed("V"),
    "orientation": _listed("1"),
    "frame_position": _listed("m", "mm"),
    THRUST: _listed("N"),
}
"""Quantity (with the unit of the joint's position where it matters) -> units, the likeliest first."""

PLAUSIBLE = 1.05
"""Largest implausibility of plausible readings: limits of descriptions are round numbers."""
USUAL_SPEED = {"rad": 7.0, "m": 1.0}
"""Speed limit of joints without one, by the SI unit of their positions [rad/s], [m/s]."""
FASTEST_BASE = 50.0
"""Speed of a base beyond which its position is in another unit [m/s]."""
SIZE = 0.98
"""Quantile of magnitudes that is their size."""
WHOLE_TURN = 0.9
"""Least part of a turn by which a reading jumps where it wraps."""
FEWEST_TICKS, MOST_TICKS = 8, 24
"""Powers of two of the ticks of an encoder in a turn."""
TICKS = range(FEWEST_TICKS, MOST_TICKS + 1)
FULL_TRAVELS = ((0.0, 1.0), (0.0, 100.0), (-100.0, 100.0))
"""Readings at the ends of a joint's travel, where they are fractions of it."""
BEYOND_ENDS = 0.02
"""Part of the travel by which readings may exceed its ends."""
FEWEST_STEPS = 3
"""Least number of differences between neighbouring readings that show an encoder's step."""
FEWEST_FRACTIONS = 3
"""Least number of joints that show that all read fractions."""
SAME_STEP = 1e-3
"""Relative difference of two equal steps."""
WHOLE = 0.05
"""Largest distance of the ticks between two ends from a whole number, as files round readings."""
SAME_TRAVEL = float(np.log(1.5))
"""Largest |log| of the ratio of the calibrated travel to the described one."""


def guess_units(
    robot: Articulated, channels: Mapping[str, np.ndarray], named: Mapping[str, str], interval_s: float
) -> dict[str, UnitGuess]:
    """Map each channel to its unit and the reason; channels of a quantity share a unit, except prismatic joints.
    `channels`: name -> (T,) readings as logged, NaN where there is none, positions first. `named`: units that headers
    name. `interval_s`: time between two samples [s].
    """
    kinds = {joint: robot.position_units[k] for joint, k in zip(robot.joints, robot.actuated, strict=True)}
    groups: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for channel, x in channels.items():
        quantity, _, owner = channel.partition(".")
        groups.setdefault((quantity, kinds.get(owner, "")), {})[owner] = x
    guesses: dict[str, UnitGuess] = {}
    positions: dict[str, UnitGuess] = {}
    angles = groups.get(("position", "rad"), {})
    unnamed = {owner: x for owner, x in angles.items() if f"position.{owner}" not in named}
    fractions = find_fractions(robot, unnamed)
    for (quantity, kind), group in groups.items():
        if quantity in ("position", "position_command"):
            of_travel = {f"{quantity}.{owner}": fractions[owner] for owner in group if owner in fractions}
            guesses |= {name: unit for name, unit in of_travel.items() if name not in named}
            group = {owner: x for owner, x in group.items() if f"{quantity}.{owner}" not in guesses}
            if not group:
                continue
        sizes, of_group = group, [f"{quantity}.{owner}" for owner in group]
        if quantity in FRAME_QUANTITIES:  # norm of the vector, since one axis may read 0
            sizes = {next(iter(group)): np.sqrt(sum(x**2 for x in group.values()))}
        per_time = {"velocity": "/s", "acceleration": "/s^2"}.get(quantity, "")
        of_position = positions.get(kind, UnitGuess(""))
        as_positions = (
            of_position._replace(
                unit=of_position.unit + per_time, zero=0.0 if per_time else of_position.zero
            ),
        )
        candidates = CANDIDATES.get(quantity, CANDIDATES.get(f"{quantity} {kind}", as_positions))
        if (quantity, kind) == ("position", "rad"):
            candidates += _ticks(group)
        worst = [
            max(
                (_implausibility(robot, quantity, interval_s, owner, unit.converted(x), unit.unit), owner)
                for owner, x in sizes.items()
            )
            for unit in candidates
        ]
        best = next((k for k, (size, _) in enumerate(worst) if size <= PLAUSIBLE), worst.index(min(worst)))
        wrapped = _wrapped(candidates, group) if (quantity, kind) == ("position", "rad") else None
        best = best if wrapped is None else candidates.index(wrapped[0])
        unit, (size, owner) = candidates[best], worst[best]
        reason = AS_POSITIONS if candidates == as_positions else PLAUSIBLE_NUMBERS
        if wrapped is not None:
            reason = f"{wrapped[1]} jumps by a turn"
        elif size > PLAUSIBLE:
            reason = f"but {owner} reaches {size:.3g} times the plausible limit: check it"
        elif best:
            reason = (
                f"in {candidates[0].unit} {worst[0][1]} would be {worst[0][0]:.3g} times the plausible limit"
            )
            if unit.scale != 1:
                reason = f"integers, and {reason}"
            elif unit.unit == "deg":
                reason = f"{reason}; angles of motors behind gears are too, which drive.side and reduction describe"
        elif len(candidates) > 1:
            reason += f"; it may be {' or '.join(each.text for each in candidates[1:])}"
        if quantity == "position":
            positions[kind] = next(
                (UnitGuess(named[channel]) for channel in of_group if channel in named), unit
            )
        for channel in of_group:
            guesses[channel] = (
                UnitGuess(named[channel], "its header names it")
                if channel in named
                else unit._replace(reason=reason)
            )
    return guesses


def find_fractions(robot: Articulated, angles: Mapping[str, np.ndarray]) -> dict[str, UnitGuess]:
    """Joints whose readings are fractions of their travel: 0 to 1, 0 to 100 or -100 to 100 between two ends.

    All joints have encoders with 2^k steps a turn. A reading that is an angle shows the step of 2 pi / 2^k in rad or
    deg; a fraction shows another, which fits a whole number of times into the full travel (the ticks between the ends),
    and the travel that follows is about the described one. Where no joint reads angles, k is the one with which all of
    at least three joints agree. The ends are taken for those of the description. `angles`: joint -> (T,) readings.
    """
    steps = {joint: grid_step(x, FEWEST_STEPS) for joint, x in angles.items()}
    steps = {joint: step for joint, step in steps.items() if step and not _is_decimal(step)}
    turns = {joint: ticks for joint, step in steps.items() if (ticks := _ticks_of_turn(step))}
    rest = {joint: x for joint, x in angles.items() if joint in steps and joint not in turns}
    if turns:
        return _of_travel(robot, rest, steps, max(turns.values()), f"{listing(turns)} have")
    if len(rest) < FEWEST_FRACTIONS or len(rest) < len(angles):
        return {}
    fits = (_of_travel(robot, rest, steps, 2**k, "all joints then have") for k in TICKS)
    return next((fit for fit in fits if len(fit) == len(rest)), {})


def _of_travel(
    robot: Articulated, angles: Mapping[str, np.ndarray], steps: Mapping[str, float], ticks: int, of_whom: str
) -> dict[str, UnitGuess]:
    """Joint -> its fraction of travel, if its encoder has so many ticks a turn; without those that do not agree."""
    found = {}
    for joint, x in angles.items():
        k = robot.joints.index(joint)
        low, high = (float(limit[k]) for limit in robot.position_limits)
        ends = next((ends for ends in FULL_TRAVELS if _within(x, ends)), None)
        if ends is None or not np.isfinite(high - low):
            continue
        full = ends[1] - ends[0]
        scale, between = 2 * np.pi / ticks / steps[joint], full / steps[joint]
        if abs(between - round(between)) > WHOLE or abs(np.log(full * scale / (high - low))) > SAME_TRAVEL:
            continue
        middle = 0.5 * (ends[0] + ends[1]) - 0.5 * (low + high) / scale
        zero = middle if ends[0] else -low / scale
        reason = (
            f"{between:.0f} steps make {full:g}, and {of_whom} {ticks} a turn: fractions of the travel, whose "
            f"{'middle' if ends[0] else 'lower end'} is taken for that of the description"
        )
        found[joint] = UnitGuess("rad", reason, float(f"{scale:.7g}"), float(f"{zero:.7g}"), full)
    return found


def _within(x: np.ndarray, ends: tuple[float, float]) -> bool:
    """Whether readings are between the ends of a travel, but for a little: a motor may be pushed beyond."""
    beyond = BEYOND_ENDS * (ends[1] - ends[0])
    return bool(ends[0] - beyond <= np.nanmin(x) and np.nanmax(x) <= ends[1] + beyond)


def _ticks_of_turn(step: float) -> int:
    """Ticks of an encoder whose step is this angle [rad] or [deg]; 0: of none."""
    for turn in (2 * np.pi, 360.0):
        k = round(np.log2(turn / step))
        if k in TICKS and abs(turn / step / 2**k - 1) < SAME_STEP:
            return int(2**k)
    return 0


def _is_decimal(step: float) -> bool:
    """Whether it is a step of rounded decimals, which says nothing of an encoder."""
    return any(
        abs(step / 10.0 ** np.floor(np.log10(step)) / leading - 1) < SAME_STEP for leading in (1, 2, 5, 10)
    )


def _ticks(group: Mapping[str, np.ndarray]) -> tuple[UnitGuess, ...]:
    """Ticks of an encoder, if all readings are integers that could be."""
    x = np.concatenate([each[np.isfinite(each)] for each in group.values()])
    if not len(x) or np.any(x != np.rint(x)):
        return ()
    k = max(FEWEST_TICKS, int(np.ceil(np.log2(np.quantile(np.abs(x), SIZE) + 1))))
    zeros = (2.0 ** (k - 1), 0.0) if np.quantile(x, 1 - SIZE) >= 0 else (0.0,)
    return tuple(UnitGuess("rad", "", 2 * np.pi / 2**k, zero) for zero in zeros) if k <= MOST_TICKS else ()


def _wrapped(
    candidates: Sequence[UnitGuess], group: Mapping[str, np.ndarray]
) -> tuple[UnitGuess, str] | None:
    """The unit by whose turn an angle jumps, and the angle's joint."""
    for unit in candidates:
        for owner, x in group.items():
            steps = np.abs(np.diff(x[np.isfinite(x)]))
            if period_of(x, (unit.turn,)) and np.max(steps, initial=0.0) > WHOLE_TURN * unit.turn:
                return unit, owner
    return None


def _speed(x: np.ndarray, interval_s: float) -> float:
    """Size of the speed of a position."""
    h = max(1, round(SPEED_OVER_S / interval_s))
    steps = np.abs(x[h:] - x[:-h])
    return float(np.nanquantile(steps, SIZE)) / (h * interval_s) if np.isfinite(steps).any() else 0.0


def _implausibility(
    robot: Articulated, quantity: str, interval_s: float, owner: str, x: np.ndarray, unit: str
) -> float:
    """Implausibility of a channel in SI units, as defined at the top of this file. `unit`: of the channel."""
    known = np.abs(x[np.isfinite(x)])
    peak = float(np.quantile(known, SIZE)) if len(known) else 0.0
    k = robot.joints.index(owner) if owner in robot.joints else 0
    if quantity == "position":
        low, high = (float(limit[k]) for limit in robot.position_limits)
        half, bounded = 0.5 * (high - low), np.isfinite(high - low)
        reach = (
            float(np.nanquantile(np.abs(x - 0.5 * (low + high)), SIZE)) / half
            if bounded and len(known)
            else 0.0
        )
        usual = USUAL_SPEED.get(robot.position_units[robot.actuated[k]], np.inf)
        return max(reach, _speed(x, interval_s) / (5 * robot.velocity_limits.get(owner, usual)))
    if quantity == "frame_position":
        return _speed(x, interval_s) / FASTEST_BASE
    if quantity == "torque":
        limit = float(robot.model.upperEffortLimit[robot.actuated[k]])
        return peak / (2 * limit) if 0 < limit < UNLIMITED else 0.0
    if quantity == "accelerometer":
        ratio = max(float(np.median(known)) / STANDARD_GRAVITY, 1e-9) if len(known) else 1.0
        return max(ratio, 1 / ratio) / 3
    return {"gyro": peak / 35.0, CONTACT: peak if unit == "1" else 0.0}.get(quantity, 0.0)
