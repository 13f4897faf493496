"""The catalogue of friction laws, and the sums of them that each family of models has by name.

Adding a law is its file and a line of `CATALOGUE`: robots, servos and mechanisms then have friction of its name, which
is this law beside viscous and Coulomb friction.

In a robot, friction has one column of the regressor for each linear parameter. sign(v) of dry friction jumps at v = 0.
Where a slope is needed there (integration forward in time, gradients of a motion), a column is evaluated with a `width`
w > 0 [rad/s] or [m/s], and sign(v) becomes tanh(v / w): 76 % of its size at v = w.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...arrays import JointSamples
from ...exceptions import InvalidMethod
from .basic import CoulombFriction, FrictionOffset, ViscousFriction
from .gears import GearFriction, GearStiction
from .law import FrictionLaw, FrictionParameter
from .stribeck import StribeckFriction


@dataclass(frozen=True)
class FrictionColumn:
    """Effort of a joint per linear parameter of a law.

    Args:
        law: the law, with what is known of its other parameters. place: of the parameter in the law.
        deadband: speed below which sign(v) of dry friction is taken as 0, in the joint's unit [rad/s] or [m/s].
    """

    law: FrictionLaw
    place: int = 0
    deadband: float = 0.0

    @property
    def parameter(self) -> FrictionParameter:
        return self.law.parameters[self.place]

    @property
    def is_viscous(self) -> bool:
        """Whether the effort is proportional to v."""
        return isinstance(self.law, ViscousFriction)

    def effort(self, v: np.ndarray, width: float | np.ndarray = 0.0) -> np.ndarray:
        """(...) [N m] or [N] for the parameter at 1.

        Args:
            v: (...) speed of the joint [rad/s] or [m/s].
            width: speed over which jumps are smoothed, in the unit of v; 0: they are not.
        """
        size = self.law.effort(v, 0.0, 0.0, 0.0, self.law.known(self.place))
        return np.asarray(size * self._sign(v, width) if self.law.dry else size + 0.0 * v)

    def slope(self, v: np.ndarray, width: float | np.ndarray = 0.0) -> np.ndarray:
        """(...) derivative of `effort` by v; 0 at a jump that is not smoothed."""
        p = self.law.known(self.place)
        slopes = np.zeros((4 + len(p), *np.shape(v)))
        self.law.slopes(v, 0.0, 0.0, 0.0, p, slopes)
        if not self.law.dry:
            return slopes[0]
        sign = self._sign(v, width)
        level = self.law.effort(v, 0.0, 0.0, 0.0, p)
        return slopes[0] * sign + (level * (1 - sign**2) / width if np.all(width > 0) else 0.0)

    def _sign(self, v: np.ndarray, width: float | np.ndarray) -> np.ndarray:
        if np.all(width > 0):
            return np.tanh(v / width)
        # the sign of a speed within its noise is noise
        return np.where(np.abs(v) > self.deadband, np.sign(v), 0.0)


class RobotFriction(ABC):
    """Friction of every joint of a robot, and of motors that turn with two joints, as a sum of laws."""

    deadband: float = 0.0

    @property
    @abstractmethod
    def laws(self) -> tuple[FrictionLaw, ...]:
        """The laws of each joint, in the order of their columns."""

    @property
    def terms(self) -> tuple[FrictionColumn, ...]:
        """The columns of each joint."""
        return columns_of(self.laws, self.deadband)

    @property
    def coupled_terms(self) -> tuple[FrictionColumn, ...]:
        """Columns of the shaft of a motor that turns with a second joint (see `Drive.coupled_friction`)."""
        return columns_of((ViscousFriction(), CoulombFriction()), self.deadband)

    def columns(self, v: JointSamples) -> np.ndarray:
        """(T, n, terms) effort of each joint for each parameter at 1."""
        out = np.empty((*v.shape, len(self.terms)))
        for k, term in enumerate(self.terms):
            out[..., k] = term.effort(v)
        return out


@dataclass(frozen=True)
class NoFriction(RobotFriction):
    """tau_f = 0."""

    @property
    def laws(self) -> tuple[FrictionLaw, ...]:
        return ()


@dataclass(frozen=True)
class ViscousCoulomb(RobotFriction):
    """tau_f = fv v + fc sign(v) + off (Brunot et al. 2017, Eq. 3), and further laws.

    Args:
        offset: whether a constant offset is a parameter (asymmetric friction, amplifier bias).
        coulomb: whether dry friction is a parameter.
        deadband: speed below which sign(v) is taken as 0, in the joint's unit [rad/s] or [m/s]; at standstill dry
            friction is anything up to its level, so its sign there is noise.
        further: laws beside these, with what is known of their parameters that are not linear.

    Raises:
        InvalidMethod: if the deadband is below 0, or a further law depends on torques, which only servos have.
    """

    offset: bool = True
    coulomb: bool = True
    deadband: float = 0.0
    further: tuple[FrictionLaw, ...] = ()

    def __post_init__(self) -> None:
        if not self.deadband >= 0:
            raise InvalidMethod(f"the deadband of the friction must be at least 0, not {self.deadband}")
        for law in self.further:
            if not law.by_speed:
                raise InvalidMethod(
                    f"the friction law {law.name!r} depends on torques; it is for servos only"
                )

    @property
    def laws(self) -> tuple[FrictionLaw, ...]:
        dry = (CoulombFriction(),) if self.coulomb else ()
        return (ViscousFriction(), *dry, *((FrictionOffset(),) if self.offset else ()), *self.further)


def columns_of(laws: Sequence[FrictionLaw], deadband: float) -> tuple[FrictionColumn, ...]:
    """One column for each linear parameter of the laws."""
    return tuple(
        FrictionColumn(law, place, deadband if law.dry else 0.0)
        for law in laws
        for place, parameter in enumerate(law.parameters)
        if parameter.linear
    )


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
