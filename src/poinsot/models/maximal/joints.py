"""Joints as packages of constraints on the six relative directions of two bodies.

Every joint has a frame on each of its two bodies, a on the parent and b on the child, which coincide in the reference
configuration. Between them are six directions, three translations and three rotations along the axes of frame a, and a
joint is a division of these into *held* and *free*:

               translations        rotations
    Fixed      held held held      held held held
    Hinge      held held held      held held FREE        its axis is z of the frames
    Slider     held held FREE      held held held
    Ball       held held held      FREE FREE FREE

Held directions are holonomic constraints with a compliance (one for translations, one for rotations) and a relaxation
time. Free directions have the efforts along the motion: viscous drag, dry friction, a motor, a constant offset.

Dry friction has two laws. With a constant `Coulomb` level (an effort) the friction impulse lies within +- h level; with
`LoadDependent` friction it lies within +- mu times the joint's own constraint impulses, lengths in front (Appendix F):

    hinge, ball:  mu (r sum |translations| + sum |rotations|)
    slider:       mu (sum |translations| + sum |rotations| / r)

In both the level falls from its value at rest to that in motion (Stribeck effect, 4.1): at the speed v it is level +
excess exp(-decay v^2). Inside its bounds dry friction is not infinitely stiff: a joint that sticks creeps as with
the viscous drag `stick_drag`, which makes the friction impulse unique (Delta of Eq. 2.24 is 1 / (h stick_drag)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from ...exceptions import InvalidModel
from ..friction import dry_level
from .bodies import CREEP, require, require_direction, require_three
from .values import Entry

WORLD = "world"
HELD, FREE = True, False


def friction_effort(speed: np.ndarray, drag: float, level: float, excess: float, decay: float) -> np.ndarray:
    """Effort against the motion at these speeds, of friction that depends on speed alone [N m] or [N]."""
    return np.asarray(drag * speed + np.sign(speed) * dry_level(speed, level, excess, decay))


class DryFriction(ABC):
    """A law of dry friction: its level, whether that depends on the load, and its numbers."""

    level: float
    excess: float
    decay: float
    stick_drag: float | None

    depends_on_load: ClassVar[bool]
    symbol: ClassVar[str]
    """Prefix of the names of its numbers."""

    def __post_init__(self) -> None:
        for entry in fields(self):  # type: ignore[arg-type]
            value = getattr(self, entry.name)
            if value is not None:
                require(value, f"the {entry.name.replace('_', ' ')} of dry friction", "at least 0")
        if self.stick_drag == 0:
            raise InvalidModel(
                "the stick drag of dry friction must be above 0; None takes one that creeps at 1e-3"
            )

    def entries(self, owner: str, k: int, position: str, effort: str, weight: float) -> list[Entry]:
        """Its numbers, of joint k, in units of its coordinate and effort, in a mechanism of a weight [N]."""
        unit = "" if self.depends_on_load else effort
        drag = self.creep_drag(weight) if self.stick_drag is None else self.stick_drag
        each = (
            (self.symbol, unit, "level", self.level),
            (f"{self.symbol}_excess", unit, "excess", self.excess),
            ("decay", f"s^2/{position}^2", "decay", self.decay),
            ("stick_drag", f"{effort} s/{position}", "stick", drag),
        )
        return [Entry(owner, name, unit, kind, (k,), value, 0.0) for name, unit, kind, value in each]

    @abstractmethod
    def creep_drag(self, weight: float) -> float:
        """Drag [N m s/rad] or [N s/m], > 0, of a sticking joint: it creeps at 1e-3 rad/s or m/s at full friction."""

    def load_weight(self, held: np.ndarray, slides: bool) -> np.ndarray:
        """(6,) lengths with which held impulses enter the law; 0 in free directions and in laws without load."""
        return np.zeros(6)


@dataclass(frozen=True)
class Coulomb(DryFriction):
    """Dry friction of a constant level.

    Args:
        level: level in motion [N m] or [N].
        excess: how much higher it is at rest (Stribeck) [N m] or [N].
        decay: rate at which the excess is lost with the squared speed [s^2/rad^2] or [s^2/m^2].
        stick_drag: viscous drag of a joint that sticks [N m s/rad] or [N s/m]; None: a full level makes it creep at
            1e-3 rad/s or m/s.
    """

    level: float = 0.0
    excess: float = 0.0
    decay: float = 0.0
    stick_drag: float | None = None

    depends_on_load: ClassVar[bool] = False
    symbol: ClassVar[str] = "coulomb"

    def creep_drag(self, weight: float) -> float:
        # a free level of 0 may grow: it starts with the drag of a level of 1
        return (self.level + self.excess or 1.0) / CREEP


@dataclass(frozen=True)
class LoadDependent(DryFriction):
    """Dry friction in proportion to the joint's own constraint forces.

    Args:
        coefficient: coefficient in motion [-].
        radius: radius of the bearing [m], > 0; a hinge depends only on its product with the coefficient.
        excess, decay, stick_drag: as in `Coulomb`; the excess is one of the coefficient. Without a stick drag, friction
            under the weight of all bodies makes it creep at 1e-3 rad/s or m/s.
    """

    coefficient: float = 0.0
    radius: float = 1.0
    excess: float = 0.0
    decay: float = 0.0
    stick_drag: float | None = None

    depends_on_load: ClassVar[bool] = True
    symbol: ClassVar[str] = "friction"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.radius > 0:
            raise InvalidModel(
                f"load-dependent friction needs a radius above 0 [m], not {self.radius}; use 1 if only mu r matters"
            )

    @property
    def level(self) -> float:  # type: ignore[override]
        """The coefficient, in place of the level of `Coulomb`."""
        return self.coefficient

    def load_weight(self, held: np.ndarray, slides: bool) -> np.ndarray:
        weight = np.ones(6)
        if slides:
            weight[3:] = 1 / self.radius
        else:
            weight[:3] = self.radius
        return np.where(held, weight, 0.0)

    def creep_drag(self, weight: float) -> float:
        return max(self.coefficient + self.excess, 1e-6) * self.radius * weight / CREEP


@dataclass(frozen=True)
class Motor:
    """A motor at the free direction of a hinge or slider: effort = gain u, with a shaft that turns along (F.3).

    Args:
        gain: effort per unit of the control signal [N m/unit] or [N/unit]; with efforts as signals, 1.
        shaft_inertia: inertia of the shaft reflected to the joint [kg m^2] or [kg].
        unit: unit of the control signal, e.g. `V`.
    """

    gain: float = 1.0
    shaft_inertia: float = 0.0
    unit: str = "unit"

    def __post_init__(self) -> None:
        require(self.shaft_inertia, "the shaft inertia of a motor", "at least 0")
        if not np.isfinite(self.gain):
            raise InvalidModel(f"a motor needs a finite gain, not {self.gain}")


@dataclass(frozen=True)
class Joint:
    """Base class of all joints.

    Args:
        parent, child: the bodies that it joins; the parent may be "world".
        point: (3,) where its frames are in the world in the reference configuration [m].
        compliance: of the held translations [m/N], > 0. rotation_compliance: of the held rotations [rad/(N m)], > 0.
        relaxation: time in which a violated constraint recovers [s].
        child_point: (3,) place of the child's frame, if it was measured separately; it must be the same
            point.
    """

    name: str
    parent: str
    child: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    compliance: float = 1e-8
    rotation_compliance: float = 1e-8
    relaxation: float = 0.02
    child_point: Sequence[float] | None = None

    held: ClassVar[tuple[bool, ...]] = 6 * (HELD,)
    has_axis: ClassVar[bool] = False
    """Whether it has one coordinate, which a sensor can measure and a motor can drive."""
    slides: ClassVar[bool] = False
    position_unit: ClassVar[str] = "rad"
    effort_unit: ClassVar[str] = "N m"

    def __post_init__(self) -> None:
        who = f"joint {self.name!r}"
        require_three(self.point, f"the point of {who}")
        require(self.compliance, f"the compliance of {who}", "above 0", "; try 1e-8")
        require(self.rotation_compliance, f"the rotation compliance of {who}", "above 0", "; try 1e-8")
        require(self.relaxation, f"the relaxation time of {who}", "at least 0 s")
        if self.child_point is not None:
            require_three(self.child_point, f"the child's point of {who}")
            gap = float(np.linalg.norm(np.subtract(self.child_point, self.point)))
            if gap > 1e-6:  # less is rounding of the given numbers, and is closed by the first step
                raise InvalidModel(
                    f"{who} does not close: its points on {self.parent!r} and {self.child!r} are {gap:.3g} m apart in "
                    f"the reference configuration; give both bodies the same point"
                )
        if self.parent == self.child:
            raise InvalidModel(f"{who} joins {self.parent!r} to itself; name two bodies, or 'world' and one")

    @property
    def frame(self) -> np.ndarray:
        """(3, 3) the axes of its frames in the world in the reference configuration."""
        return np.eye(3)

    @property
    def speed_friction(self) -> dict[str, float] | None:
        """Arguments of `friction_effort`, by the kinds of `Entry`, where friction depends on speed alone."""
        return None

    def entries(self, k: int, weight: float) -> list[Entry]:
        """Its numbers, as joint k of a mechanism of a weight [N]; efforts are N along a translation, N m otherwise."""
        found = [Entry(self.name, "compliance", "m/N", "compliance", (k, 0), self.compliance, 0.0)]
        if any(self.held[3:]):
            rotation = "rotation_compliance", "rad/(N m)", "compliance", (k, 1), self.rotation_compliance
            found.append(Entry(self.name, *rotation, 0.0))
        return [*found, Entry(self.name, "relaxation", "s", "relaxation", (k,), self.relaxation, 0.0)]


@dataclass(frozen=True)
class Fixed(Joint):
    """Holds two bodies together, with its compliance."""


@dataclass(frozen=True)
class _Moving(Joint):
    """A joint that moves.

    Args:
        drag: viscous drag [N m s/rad] or [N s/m]. friction: dry one, or None. offset: constant effort [N m] or [N].
    """

    drag: float = 0.0
    friction: Coulomb | LoadDependent | None = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.drag, f"the drag of joint {self.name!r}", "at least 0")
        if not np.isfinite(self.offset):
            raise InvalidModel(f"the offset of joint {self.name!r} must be finite, not {self.offset}")

    def entries(self, k: int, weight: float) -> list[Entry]:
        position, effort = self.position_unit, self.effort_unit
        found = [
            *super().entries(k, weight),
            Entry(self.name, "drag", f"{effort} s/{position}", "drag", (k,), self.drag, 0.0),
            Entry(self.name, "offset", effort, "offset", (k,), self.offset),
        ]
        if self.friction is not None:
            found += self.friction.entries(self.name, k, position, effort, weight)
        return found


@dataclass(frozen=True)
class _OneAxis(_Moving):
    """A joint with one free direction.

    Args:
        axis: (3,) its direction in the world in the reference configuration, of any length. motor: its motor, or None.
    """

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    motor: Motor | None = None

    has_axis: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_direction(self.axis, f"the axis of joint {self.name!r}")

    @property
    def speed_friction(self) -> dict[str, float] | None:
        law = self.friction or Coulomb()
        if law.depends_on_load:
            return None
        return {"drag": self.drag, "level": law.level, "excess": law.excess, "decay": law.decay}

    def entries(self, k: int, weight: float) -> list[Entry]:
        found, motor = super().entries(k, weight), self.motor
        if motor is not None:
            shaft = "kg" if self.slides else "kg m^2"
            unit = "1" if motor.unit == self.effort_unit else f"{self.effort_unit}/{motor.unit}"
            found += [
                Entry(self.name, "gain", unit, "gain", (k,), motor.gain),
                Entry(self.name, "shaft_inertia", shaft, "shaft", (k,), motor.shaft_inertia, 0.0),
            ]
        return found

    @property
    def frame(self) -> np.ndarray:
        """(3, 3) z is the axis."""
        z = np.asarray(self.axis, dtype=float) / np.linalg.norm(self.axis)
        # any axis normal to z; that of the least component is never parallel to it
        x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
        x /= np.linalg.norm(x)
        return np.stack([x, np.cross(z, x), z], axis=1)


@dataclass(frozen=True)
class Hinge(_OneAxis):
    """Turns about an axis."""

    held: ClassVar[tuple[bool, ...]] = (HELD, HELD, HELD, HELD, HELD, FREE)


@dataclass(frozen=True)
class Slider(_OneAxis):
    """Slides along an axis."""

    held: ClassVar[tuple[bool, ...]] = (HELD, HELD, FREE, HELD, HELD, HELD)
    slides: ClassVar[bool] = True
    position_unit: ClassVar[str] = "m"
    effort_unit: ClassVar[str] = "N"


@dataclass(frozen=True)
class Ball(_Moving):
    """Turns about any axis through a point."""

    held: ClassVar[tuple[bool, ...]] = (HELD, HELD, HELD, FREE, FREE, FREE)


AnyJoint = Fixed | Hinge | Slider | Ball
JOINT_KINDS: Mapping[str, type[AnyJoint]] = {"fixed": Fixed, "hinge": Hinge, "slider": Slider, "ball": Ball}
FRICTION_LAWS: Mapping[str, type[Coulomb] | type[LoadDependent]] = {
    "coulomb": Coulomb,
    "load-dependent": LoadDependent,
}
"""Joints by their names in project files."""
