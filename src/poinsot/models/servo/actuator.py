"""An actuator: the way of a joint from its position command to its torque.

    s   = mean of the commands over the last `ramp`      the controller moves to each within this time (`setpoint`)
    w'  = (s(t - delay) - w) / lag                       delayed and smoothed (w = s(t - delay) without lag)
    e   = dead_band(w + zero - q)                        what the controller sees of the error
    m   = clip(stiffness e + derivative_gain (w' - v) - velocity_gain v,  +-torque_limit)
    |m| <= torque_limit (1 - v sign(m) / no_load_speed)  speed-torque line of a voltage-driven motor
    (armature + M(q)) v' = m - damping v - dry friction + gravity and coupling of the mechanism

Dry friction holds a joint at rest while everything else sums to less than its level, and otherwise has the level

    level(v, m, l, q) = coulomb(q) + sum over the dry laws of `models.friction` of their effort

and the sign of -v, with l the torque of gravity and of products of velocities at the joint. `coulomb(q)` is constant,
or linear between `friction_positions`. Smooth laws act against the motion beside damping. Backlash is play between
motor and joint: the controller's error counts only beyond half of it to either side.

A controller that sets the share of the supply voltage that the motor gets has gains, torque limit and no-load speed in
proportion to this voltage V: they are those at `nominal_voltage`, and where V is recorded, u = V / nominal_voltage
multiplies stiffness, derivative_gain, velocity_gain, torque_limit and no_load_speed. Back-EMF (in `damping`) does not
depend on it.

Parameters of the controller are in the units of a joint: for a sliding joint read N for N m and m for rad.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from ...exceptions import PoinsotError
from ..friction.law import FrictionLaw, FrictionParameter
from ..friction.listed import CATALOGUE


class InvalidActuator(PoinsotError):
    """A parameter of an actuator has an impossible value."""


@dataclass(frozen=True)
class ActuatorParameter:
    """A parameter of an actuator.

    Args:
        unit: with `{effort}`, `{position}` and `{inertia}` for those of the joint. words: for messages and pages.
        start: range in which a search begins, and what it is a multiple of: `""`, `"error"` (root mean square of
            command less position) or `"largest"` (its maximum). Torques are over the stiffness.
        least: its least value. default: its value where the effect is absent. smallest: least value in a search.
        is_estimated: False if it is known: recordings hardly distinguish ramp and delay, and a voltage names a scale.
        in_simulator: what `Simulator` does as MJCF has no attribute for it; empty: MJCF has one.
        without_drive: what to do instead as a joint drive of Isaac Lab has no field for it; empty: it has one.
    """

    unit: str
    words: str
    start: tuple[float, float, str] = (0.5, 2.0, "")
    least: float = 0.0
    default: float = 0.0
    smallest: float = 0.0
    is_estimated: bool = True
    in_simulator: str = ""
    without_drive: str = ""

    @property
    def is_torque(self) -> bool:
        """Whether it grows with the scale of torques: it is a torque, per something."""
        return self.unit.startswith(("{effort}", "{inertia}"))

    def unit_of(self, position_unit: str) -> str:
        """SI unit for a joint that turns (rad) or slides (m)."""
        turns = position_unit == "rad"
        effort, inertia = ("N m", "kg m^2") if turns else ("N", "kg")
        return self.unit.format(effort=effort, inertia=inertia, position=position_unit)


_GAIN = (1e-3, 0.2, "")
_WITHIN = (0.0, 0.3, "error")

CONTROLLER: Mapping[str, ActuatorParameter] = {
    "stiffness": ActuatorParameter(
        "{effort}/{position}", "proportional gain of the position loop", smallest=-math.inf
    ),
    "derivative_gain": ActuatorParameter(
        "{effort} s/{position}", "gain on the rate of the command error", _GAIN,
        in_simulator="its part on the command's rate is added to the control",
        without_drive="it is in damping; send the rate of the commands, times {share:.4g}, as velocity targets",
    ),
    "velocity_gain": ActuatorParameter(
        "{effort} s/{position}", "gain on the measured velocity, inside the torque limit", _GAIN
    ),
}  # fmt: skip
"""Parameters of the position loop; friction follows."""

MOTOR: Mapping[str, ActuatorParameter] = {
    "armature": ActuatorParameter("{inertia}", "inertia of the rotor at the joint", (9e-6, 3.6e-3, "")),
    "torque_limit": ActuatorParameter(
        "{effort}", "largest torque of the motor", (0.3, 3.0, "largest"), default=math.inf, smallest=1e-6
    ),
    "no_load_speed": ActuatorParameter(
        "{position}/s", "speed at which the motor has no torque left", (1.0, 30.0, ""), default=math.inf, smallest=1e-6,
        in_simulator="forcerange is changed at each step",
        without_drive="velocity_limit bounds speeds and not torques; DCMotorCfg has a speed-torque line",
    ),
    "delay": ActuatorParameter("s", "transport delay of the command", (0.0, 0.08, "")),
    "lag": ActuatorParameter(
        "s", "time constant of the command's first-order lag", (0.0, 0.08, ""), in_simulator="the control is smoothed",
        without_drive="smooth the commands before they are sent",
    ),
    "zero": ActuatorParameter(
        "{position}", "position without load at the command 0", (-0.3, 0.3, "error"), least=-math.inf,
        smallest=-math.inf, without_drive="add it to the commands",
    ),
    "dead_band": ActuatorParameter(
        "{position}", "half-width of the errors to which the controller does not respond", _WITHIN,
        in_simulator="the control is changed at each step", without_drive="nothing in a drive does this",
    ),
    "backlash": ActuatorParameter(
        "{position}", "play between motor and joint", _WITHIN,
        in_simulator="the control follows the command with this play", without_drive="nothing in a drive does this",
    ),
    "ramp": ActuatorParameter(
        "s", "time in which the controller moves to a new command", is_estimated=False,
        in_simulator="the control moves to a command that is held in this time",
        without_drive="send commands that move to a new one within this time",
    ),
    "nominal_voltage": ActuatorParameter(
        "V", "supply voltage at which gains and limits hold", is_estimated=False,
        in_simulator="gains and forcerange follow the voltage of a motion that has one",
        without_drive="gains of a drive do not depend on a supply; change them at each step",
    ),
}  # fmt: skip
"""Parameters of motor and command.

With a derivative gain and a torque limit, `ramp` takes the time between two commands that are held: the torque of a
sudden command depends on how it is sampled. `nominal_voltage` 0: gains, torque limit and no-load speed do not depend on
the supply.
"""

LEVELS = ActuatorParameter(
    "{effort}", "dry friction at a position", (0.02, 1.0, "error"),
    in_simulator="frictionloss is changed at each step",
    without_drive="friction of a drive is constant; change it at each step",
)  # fmt: skip
"""A level of dry friction at one of `friction_positions`, the parameter `friction_level_K`."""

LEVEL = "friction_level_"

START_BY_UNIT = {"{effort}": (0.02, 1.0, "error"), "{position}/s": (0.02, 0.5, ""), "": (0.01, 0.3, "")}
"""Range in which the search for a parameter of friction begins; other units as a gain, or as without a unit."""


def servo_laws() -> tuple[FrictionLaw, ...]:
    """Laws of friction whose parameters an actuator has: viscous, Coulomb, and the others."""
    return tuple(law for law in CATALOGUE if law.in_servos)


def actuator_parameters() -> dict[str, ActuatorParameter]:
    """Every number of an `Actuator` by name, but the levels of a friction that varies with position."""
    return _parameters(servo_laws())


@cache
def _parameters(laws: tuple[FrictionLaw, ...]) -> dict[str, ActuatorParameter]:
    friction = {row.name: _of_friction(law, row) for law in laws for row in law.parameters}
    return {**CONTROLLER, **friction, **MOTOR}


def _of_friction(law: FrictionLaw, row: FrictionParameter) -> ActuatorParameter:
    gain = row.unit.startswith("{effort} ")
    applied = "frictionloss is changed" if law.dry else "the effort is applied"
    return ActuatorParameter(
        row.unit,
        row.words,
        START_BY_UNIT.get(row.unit, _GAIN if gain else START_BY_UNIT[""]),
        default=row.default,
        least=-math.inf if row.signed else 0.0,
        smallest=0.0 if row.linear else 1e-6,
        in_simulator="" if row.described_as else f"{applied} at each step",
        without_drive="" if row.drive_field else row.without_drive,
    )


def estimated_parameters() -> tuple[str, ...]:
    """Names of the parameters of an actuator that recordings can show."""
    return tuple(name for name, row in actuator_parameters().items() if row.is_estimated)


def parameter(name: str) -> ActuatorParameter:
    """A parameter by name, `friction_level_K` included."""
    return LEVELS if name.startswith(LEVEL) else actuator_parameters()[name]


@dataclass(frozen=True, init=False, repr=False)
class Actuator:
    """The actuator of one joint. Every number of `actuator_parameters` is an attribute, which may be left out.

    Args:
        name: the joint's name in the robot description.
        stiffness: proportional gain of the position loop [N m/rad].
        friction_positions: positions between which dry friction is linear [rad], increasing. friction_levels: the
            levels there, added to `coulomb` [N m]; beyond the first and last position they stay constant.
        numbers, given: the other parameters; a default means that the effect is absent.

    Raises:
        InvalidActuator: if there is no such parameter, a value is not finite (a limit may be infinite) or below its
            least value, or positions and levels of friction do not match.
    """

    name: str
    numbers: Mapping[str, float]
    friction_positions: tuple[float, ...]
    friction_levels: tuple[float, ...]

    def __init__(
        self,
        name: str,
        stiffness: float | None = None,
        *,
        numbers: Mapping[str, float] | None = None,
        friction_positions: tuple[float, ...] = (),
        friction_levels: tuple[float, ...] = (),
        **given: float,
    ) -> None:
        given = {**(numbers or {}), **given} | ({} if stiffness is None else {"stiffness": stiffness})
        rows = actuator_parameters()
        if "stiffness" not in given:
            raise InvalidActuator(f"the actuator of {name!r} has no stiffness; write stiffness > 0")
        if unknown := sorted(set(given) - set(rows)):
            raise InvalidActuator(
                f"an actuator has no parameter {unknown[0]!r}; it has {', '.join(estimated_parameters())}"
            )
        values = {key: float(given.get(key, row.default)) for key, row in rows.items()}
        for key, row in rows.items():
            if math.isnan(values[key]) or values[key] < row.least:
                raise InvalidActuator(
                    f"{key} of the actuator of {name!r} is {values[key]:g}; write {key} >= {row.least:g}"
                )
            if math.isinf(values[key]) and row.default != math.inf:
                raise InvalidActuator(f"{key} of the actuator of {name!r} is infinite; write a finite number")
        if len(friction_positions) != len(friction_levels):
            raise InvalidActuator(
                f"the actuator of {name!r} has {len(friction_positions)} friction_positions and "
                f"{len(friction_levels)} friction_levels; write one level for each position"
            )
        if any(b <= a for a, b in pairwise(friction_positions)):
            raise InvalidActuator(f"friction_positions of the actuator of {name!r} do not increase")
        for field, value in (
            ("name", name),
            ("numbers", values),
            ("friction_positions", tuple(friction_positions)),
            ("friction_levels", tuple(friction_levels)),
        ):
            object.__setattr__(self, field, value)

    def __getattr__(self, key: str) -> float:
        numbers = self.__dict__.get("numbers", {})
        if key not in numbers:
            raise AttributeError(f"an actuator has no parameter {key!r}")
        return float(numbers[key])

    def __repr__(self) -> str:
        return f"Actuator({', '.join(f'{name}={value!r}' for name, value in self.content.items())})"

    @property
    def content(self) -> dict[str, str | float | tuple[float, ...]]:
        """Arguments that give this actuator, those at their defaults left out."""
        rows = actuator_parameters()
        numbers = {key: x for key, x in self.numbers.items() if key == "stiffness" or x != rows[key].default}
        found: dict[str, str | float | tuple[float, ...]] = {"name": self.name, **numbers}
        if self.friction_positions:
            found |= {"friction_positions": self.friction_positions, "friction_levels": self.friction_levels}
        return found

    @property
    def values(self) -> dict[str, float]:
        """Every estimated parameter by name."""
        return {name: self.numbers[name] for name in estimated_parameters()}

    @property
    def further_friction(self) -> tuple[FrictionLaw, ...]:
        """Laws of friction with an effect, beside damping and Coulomb friction."""
        return tuple(law for law in servo_laws()[2:] if law.is_active(self.numbers))

    @property
    def has_friction_by_torque(self) -> bool:
        """Whether friction depends on the torque of the motor."""
        rows = [row for law in self.further_friction for row in law.parameters]
        return any(row.is_per_torque and self.numbers[row.name] for row in rows)

    def has_effect(self, key: str) -> bool:
        """Whether a parameter, `friction_positions` or `friction_levels` has an effect in this actuator."""
        if key in ("friction_positions", "friction_levels"):
            return bool(self.friction_positions)
        for law in servo_laws():
            if key in law.names and not law.parameters[law.names.index(key)].linear:
                return law.is_active(self.numbers)
        return self.numbers[key] != actuator_parameters()[key].default

    @property
    def lateness(self) -> float:
        """The time by which a motion at constant speed is behind its commands, without dry friction and ramp [s]."""
        return self.delay + self.lag + (self.velocity_gain + self.damping) / self.stiffness

    def updated(self, values: Mapping[str, float | tuple[float, ...]]) -> Actuator:
        """The same actuator with other values of some arguments."""
        levels = {"friction_positions": self.friction_positions, "friction_levels": self.friction_levels}
        given: dict[str, Any] = {**self.numbers, **levels, **values}
        return Actuator(self.name, **given)
