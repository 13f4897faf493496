"""An actuator: the way of a joint from its position command to its torque.

    s   = mean of the commands over the last `ramp`      the controller moves to each within this time (`setpoint`)
    w'  = (s(t - delay) - w) / lag                       delayed and smoothed (w = s(t - delay) without lag)
    e   = dead_band(w + zero - q)                        what the controller sees of the error
    m   = clip(stiffness e + derivative_gain (w' - v) - velocity_gain v,  +-torque_limit)
    |m| <= torque_limit (1 - v sign(m) / no_load_speed)  speed-torque line of a voltage-driven motor
    (armature + M(q)) v' = m - damping v - dry friction + gravity and coupling of the mechanism

Dry friction holds a joint at rest while everything else sums to less than its level, and otherwise has the level

    level(q, v, m) = coulomb(q) + |load_friction m + external_friction l| + gear_friction |m + l|
        + (stiction + |load_stiction m + external_stiction l| + gear_stiction |m + l| + quadratic)
          exp(-(v / stribeck_speed)^2)
    quadratic = external_quadratic l^2 if |l| < |m|, else load_quadratic m^2;  0 unless m l > 0

and the sign of -v, with l the torque of gravity and of products of velocities at the joint: motor and mechanism press
the teeth of the gears together (`FRICTION_LAWS` has its members by name). `coulomb(q)` is constant, or linear between
`friction_positions`. Backlash is play between motor and
joint: the controller's error counts only beyond half of it to either side.

A controller that sets the share of the supply voltage that the motor gets has gains, torque limit and no-load speed in
proportion to this voltage V: they are those at `nominal_voltage`, and where V is recorded, u = V / nominal_voltage
multiplies stiffness, derivative_gain, velocity_gain, torque_limit and no_load_speed. Back-EMF (in `damping`) does not
depend on it.

Parameters of the controller are in the units of a joint: for a sliding joint read N for N m and m for rad.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ... import PoinsotError


class InvalidActuator(PoinsotError):
    """A parameter of an actuator has an impossible value."""


@dataclass(frozen=True)
class ParameterDescription:
    """A parameter of an actuator: its unit, its least value, and what it is in words."""

    unit: str
    least: float
    words: str


DESCRIPTIONS: Mapping[str, ParameterDescription] = {
    "stiffness": ParameterDescription("N m/rad", 0.0, "proportional gain of the position loop"),
    "derivative_gain": ParameterDescription("N m s/rad", 0.0, "gain on the rate of the command error"),
    "velocity_gain": ParameterDescription(
        "N m s/rad", 0.0, "gain on the measured velocity, inside the torque limit"
    ),
    "damping": ParameterDescription("N m s/rad", 0.0, "viscous friction and back-EMF"),
    "coulomb": ParameterDescription("N m", 0.0, "dry friction"),
    "stiction": ParameterDescription("N m", 0.0, "dry friction at rest beyond that in motion"),
    "stribeck_speed": ParameterDescription("rad/s", 0.0, "speed at which stiction has fallen to 1/e"),
    "load_friction": ParameterDescription("", 0.0, "dry friction per torque of the motor"),
    "external_friction": ParameterDescription("", 0.0, "dry friction per torque of gravity at the joint"),
    "gear_friction": ParameterDescription("", 0.0, "dry friction per torque that presses the gears together"),
    "load_stiction": ParameterDescription("", 0.0, "stiction per torque of the motor"),
    "external_stiction": ParameterDescription("", 0.0, "stiction per torque of gravity at the joint"),
    "gear_stiction": ParameterDescription("", 0.0, "stiction per torque that presses the gears together"),
    "load_quadratic": ParameterDescription("1/(N m)", 0.0, "stiction per squared torque of the motor"),
    "external_quadratic": ParameterDescription("1/(N m)", 0.0, "stiction per squared torque of gravity"),
    "armature": ParameterDescription("kg m^2", 0.0, "inertia of the rotor at the joint"),
    "torque_limit": ParameterDescription("N m", 0.0, "largest torque of the motor"),
    "no_load_speed": ParameterDescription("rad/s", 0.0, "speed at which the motor has no torque left"),
    "delay": ParameterDescription("s", 0.0, "transport delay of the command"),
    "lag": ParameterDescription("s", 0.0, "time constant of the command's first-order lag"),
    "zero": ParameterDescription("rad", -math.inf, "position without load at the command 0"),
    "dead_band": ParameterDescription(
        "rad", 0.0, "half-width of the errors to which the controller does not respond"
    ),
    "backlash": ParameterDescription("rad", 0.0, "play between motor and joint"),
    "ramp": ParameterDescription("s", 0.0, "time in which the controller moves to a new command"),
    "nominal_voltage": ParameterDescription("V", 0.0, "supply voltage at which gains and limits hold"),
}
"""Every number of an `Actuator` but the levels of a friction that varies with position, in the order of its fields."""

KNOWN: tuple[str, ...] = ("ramp", "nominal_voltage")
"""Those that are not estimated: recordings hardly distinguish ramp and delay, and the voltage only names a scale."""

PARAMETERS: tuple[str, ...] = tuple(name for name in DESCRIPTIONS if name not in KNOWN)
"""Those that recordings can show."""

PER_TORQUE: tuple[str, ...] = (
    "load_friction", "external_friction", "gear_friction", "load_stiction", "external_stiction", "gear_stiction",
    "load_quadratic", "external_quadratic",
)  # fmt: skip
"""Parameters that are dry friction per torque, or per squared torque."""

STICTIONS: tuple[str, ...] = (
    "stiction", "load_stiction", "external_stiction", "gear_stiction", "load_quadratic", "external_quadratic",
)  # fmt: skip
"""Parameters of the part of dry friction that falls with speed."""

FRICTION_LAWS: Mapping[str, tuple[str, ...]] = {
    "M1": (),
    "M2": ("stiction", "stribeck_speed"),
    "M3": ("gear_friction",),
    "M4": ("gear_friction", "stiction", "gear_stiction", "stribeck_speed"),
    "M5": ("load_friction", "external_friction", "stiction", "load_stiction", "external_stiction", "stribeck_speed"),
    "M6": (
        "load_friction", "external_friction", "stiction", "load_stiction", "external_stiction", "load_quadratic",
        "external_quadratic", "stribeck_speed",
    ),
    "efficiency": ("load_friction",),
}  # fmt: skip
"""Law of dry friction -> its parameters beside `coulomb`. M1 to M6 are those of Duclusaud et al. (2025), "Extended
friction models for the physics simulation of servo actuators", with the exponent 2 in the Stribeck term: constant;
Stribeck; by the torque between motor and mechanism; both; both with the two torques apart; and with squares of the
smaller of the two torques. The squares of M6 jump where both torques are equal, if their two factors differ:
derivatives leave it out. "efficiency": by the torque of the motor, of which a gear loses a part."""


@dataclass(frozen=True)
class Actuator:
    """The actuator of one joint. A default means: this effect is not there.

    Args:
        name: the joint's name in the robot description.
        stiffness: proportional gain of the position loop [N m/rad].
        derivative_gain: gain on the rate of the command error [N m s/rad].
        velocity_gain: gain on the measured velocity [N m s/rad]; unlike damping it counts towards the torque limit.
        damping: viscous friction, with back-EMF [N m s/rad].
        coulomb: dry friction [N m].
        stiction: dry friction at rest beyond that in motion [N m]. stribeck_speed: where it has fallen to 1/e [rad/s].
        load_friction: dry friction per torque of the motor. external_friction: per torque l of gravity and of products
            of velocities at the joint. gear_friction: per sum of both, where each turns the gears against the other.
            load_stiction, external_stiction, gear_stiction: stiction per the same torques.
        load_quadratic: stiction per squared torque of the motor [1/(N m)], where the mechanism drives it.
            external_quadratic: per l^2, where the motor drives the mechanism.
        armature: inertia of the rotor at the joint [kg m^2].
        torque_limit: largest torque of the motor [N m]. no_load_speed: speed at which none is left [rad/s].
        delay: transport delay of the command [s]. lag: time constant of its first-order lag [s].
        zero: position without load at the command 0 [rad].
        dead_band: half-width of the errors to which the controller does not respond [rad].
        backlash: play between motor and joint [rad].
        ramp: time in which the controller moves to a command that is held [s]. With a derivative gain and a torque
            limit it takes the time between two commands: the torque of a sudden command depends on how it is sampled.
        nominal_voltage: supply voltage at which gains, torque limit and no-load speed hold [V]; 0: they do not depend
            on the supply.
        friction_positions: positions between which dry friction is linear [rad], increasing. friction_levels: the
            levels there, added to `coulomb` [N m]; beyond the first and last position they stay constant.

    Raises:
        InvalidActuator: if a value is not finite (a limit may be infinite) or below its least value, or positions and
            levels of friction do not match.
    """

    name: str
    stiffness: float
    derivative_gain: float = 0.0
    velocity_gain: float = 0.0
    damping: float = 0.0
    coulomb: float = 0.0
    stiction: float = 0.0
    stribeck_speed: float = 0.1
    load_friction: float = 0.0
    external_friction: float = 0.0
    gear_friction: float = 0.0
    load_stiction: float = 0.0
    external_stiction: float = 0.0
    gear_stiction: float = 0.0
    load_quadratic: float = 0.0
    external_quadratic: float = 0.0
    armature: float = 0.0
    torque_limit: float = math.inf
    no_load_speed: float = math.inf
    delay: float = 0.0
    lag: float = 0.0
    zero: float = 0.0
    dead_band: float = 0.0
    backlash: float = 0.0
    ramp: float = 0.0
    nominal_voltage: float = 0.0
    friction_positions: tuple[float, ...] = ()
    friction_levels: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, description in DESCRIPTIONS.items():
            value = getattr(self, name)
            if math.isnan(value) or value < description.least:
                raise InvalidActuator(
                    f"{name} of the actuator of {self.name!r} is {value:g}; write {name} >= {description.least:g}"
                )
            if math.isinf(value) and name not in ("torque_limit", "no_load_speed"):
                raise InvalidActuator(
                    f"{name} of the actuator of {self.name!r} is infinite; write a finite number"
                )
        if len(self.friction_positions) != len(self.friction_levels):
            raise InvalidActuator(
                f"the actuator of {self.name!r} has {len(self.friction_positions)} friction_positions and "
                f"{len(self.friction_levels)} friction_levels; write one level for each position"
            )
        if any(b <= a for a, b in zip(self.friction_positions, self.friction_positions[1:], strict=False)):
            raise InvalidActuator(f"friction_positions of the actuator of {self.name!r} do not increase")

    @property
    def has_stiction(self) -> bool:
        """Whether dry friction falls with speed."""
        return any(getattr(self, name) > 0 for name in STICTIONS)

    @property
    def values(self) -> dict[str, float]:
        """Every parameter of `PARAMETERS` by name."""
        return {name: getattr(self, name) for name in PARAMETERS}

    @property
    def lateness(self) -> float:
        """The time by which a motion at constant speed is behind its commands, without dry friction and ramp [s]."""
        return self.delay + self.lag + (self.velocity_gain + self.damping) / self.stiffness

    def updated(self, values: Mapping[str, float | tuple[float, ...]]) -> Actuator:
        """The same actuator with other values of some parameters."""
        unknown = sorted(set(values) - {field.name for field in fields(self)})
        if unknown:
            raise InvalidActuator(
                f"an actuator has no parameter {unknown[0]!r}; it has {', '.join(PARAMETERS)}"
            )
        changes: dict[str, Any] = dict(values)
        return replace(self, **changes)
