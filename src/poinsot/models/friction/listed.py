"""The catalogue of friction laws, and the sums of them that each family of models has by name.

Adding a law is its file and a line of `CATALOGUE`: robots, servos and mechanisms then have friction of its name, which
is this law beside viscous and Coulomb friction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from .coulomb import CoulombFriction
from .gears import GearFriction
from .law import FrictionLaw, FrictionParameter
from .offset import FrictionOffset
from .robot import NoFriction, RobotFriction, ViscousCoulomb
from .stiction import GearStiction
from .stribeck import StribeckFriction
from .viscous import ViscousFriction

CATALOGUE: list[FrictionLaw] = [
    ViscousFriction(), CoulombFriction(), FrictionOffset(), StribeckFriction(), GearStiction(), GearFriction(),
]  # fmt: skip

BASIC = (ViscousFriction.name, CoulombFriction.name, FrictionOffset.name)
"""Laws that every family has without naming them."""

COUPLING = "_coupling"
"""Ending of the kind of a coupled motor's parameter: `viscous_coupling`."""

SERVO_SUMS: Mapping[str, tuple[str, ...]] = {
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
"""Dry friction of a servo -> its parameters beside `coulomb`. M1 to M6 are those of Duclusaud et al. (2025): constant;
Stribeck; by the torque between motor and mechanism; both; both with the two torques apart; and with squares of the
smaller of the two torques. "efficiency": by the torque of the motor, of which a gear loses a part."""


def further_laws() -> dict[str, FrictionLaw]:
    """Name -> law of those that a family has only where it is named."""
    return {law.name: law for law in CATALOGUE if law.name not in BASIC}


def servo_friction() -> dict[str, tuple[str, ...]]:
    """Name of the dry friction of a servo -> its parameters beside `coulomb` and `damping`."""
    return {**SERVO_SUMS, **{name: law.names for name, law in further_laws().items() if law.in_servos}}


def mechanism_laws() -> dict[str, FrictionLaw]:
    """Name -> law that a joint of a mechanism may have, beside viscous drag and offset."""
    basic = (ViscousFriction.name, FrictionOffset.name)
    return {law.name: law for law in CATALOGUE if law.by_speed and law.name not in basic}


def mechanism_friction() -> dict[str, tuple[str, ...]]:
    """Name of the dry friction of a joint of a mechanism -> its parameters beside those of `coulomb`."""
    own = (CoulombFriction.name, StribeckFriction.name)
    further = {name: law.names for name, law in mechanism_laws().items() if name not in own}
    return {"coulomb": (), "load-dependent": (), **further}


def robot_friction() -> dict[str, FrictionLaw | None]:
    """Name of the friction of a robot in a project file -> the law beside the basic ones."""
    further = {name: law for name, law in further_laws().items() if law.by_speed}
    return {"viscous-coulomb": None, "viscous": None, "none": None, **further}


def robot_keys(name: str) -> tuple[str, ...]:
    """Keys that a project file may set under [friction] beside `law`."""
    law = robot_friction()[name]
    own = () if law is None else tuple(field.name for field in fields(law))
    return () if name == "none" else ("offset", "deadband", *own)


def build_robot_friction(name: str, settings: Mapping[str, Any]) -> RobotFriction:
    """The friction of a robot, with those of the settings that it has."""
    if name == "none":
        return NoFriction()
    law = robot_friction()[name]
    given = {key: settings[key] for key in robot_keys(name) if key in settings}
    basic = {key: given.pop(key) for key in ("offset", "deadband") if key in given}
    further = () if law is None else (type(law)(**given),)
    return ViscousCoulomb(**basic, coulomb=name != "viscous", further=further)


def parameters_by_kind() -> dict[str, FrictionParameter]:
    """Kind -> parameter, of every law that is linear in it."""
    return {p.kind: p for law in CATALOGUE if law.by_speed for p in law.parameters if p.linear}


def parameter_of(kind: str) -> FrictionParameter | None:
    """The parameter of a kind, a joint's own or a coupled motor's; None if it is not friction."""
    return parameters_by_kind().get(kind.removesuffix(COUPLING))


def dissipating_kinds() -> tuple[str, ...]:
    """Kinds of friction whose parameters are never below 0 in a real joint: of joints, then of coupled motors."""
    own = [kind for kind, parameter in parameters_by_kind().items() if parameter.dissipates]
    return (*own, *(f"{kind}{COUPLING}" for kind in own))


def words_of(kind: str) -> str:
    """A parameter's kind in words: `viscous friction`, `viscous friction of the coupled motor`, `rotor inertia`."""
    parameter = parameter_of(kind)
    if parameter is None:
        return kind.replace("_", " ")
    return f"{parameter.words} of the coupled motor" if kind.endswith(COUPLING) else parameter.words
