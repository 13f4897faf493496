"""Joints as packages of constraints on the six relative directions of two bodies.

Every joint has a frame on each of its two bodies, a on the parent and b on the child, which coincide in the reference
configuration. Between them are six directions, three translations and three rotations along the axes of frame a, and a
joint is a division of these into *held* and *free*:

               translations        rotations
    Fixed      held held held      held held held
    Hinge      held held held      held held FREE        its axis is z of the frames
    Slider     held held FREE      held held held
    Ball       held held held      FREE FREE FREE
    Free       FREE FREE FREE      FREE FREE FREE

Held directions are holonomic constraints with a compliance (one for translations, one for rotations) and a relaxation
time. Free directions have the efforts along the motion: viscous drag, dry friction, a motor, a constant offset.

Dry friction has two laws. With a constant `Coulomb` level (an effort) the friction impulse lies within +- h level; with
`LoadDependent` friction it lies within +- mu times the joint's own constraint impulses, lengths in front (Appendix F):

    hinge, ball:  mu (r sum |translations| + sum |rotations|)
    slider:       mu (sum |translations| + sum |rotations| / r)

In both the level falls from its value at rest to that in motion (Stribeck effect, 4.1), and `models.friction` has
further laws. Inside its bounds dry friction is not infinitely stiff: a joint that sticks creeps as with the viscous
drag `stick_drag`, which makes the friction impulse unique (Delta of Eq. 2.24 is 1 / (h stick_drag)).

**Sensors** give readings h(x; theta) (Lacoursiere 2007, Eqs. 3.2 and 3.6).
An encoder on a hinge reads its angle y (on a slider: its displacement) with a zero offset, and on an eccentric disc,
which adds the first harmonic of the angle:

    z = y + zero + sine sin y + cosine cos y

The angle is the twist about the hinge's axis of the relative rotation e = (x, y, z, w) between the joint's two frames,
2 atan2(z, w), between -pi and pi, so an error h(x) - z of angles is the nearest of those that differ by full turns. A
displacement has no harmonics. A rate sensor reads the speed in the free direction, plus a zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from ...exceptions import InvalidModel, check_known
from ..friction.listed import mechanism_friction, mechanism_laws
from .bodies import CREEP, require, require_direction, require_three
from .values import Entry, law_places

WORLD = "world"
HELD, FREE = True, False


@dataclass(frozen=True, kw_only=True)
class DryFriction(ABC):
    """Dry friction of a joint of a mechanism: its size, whether that depends on the load, and further laws.

    Args:
        excess: how much higher its size is at rest (Stribeck) [N m] or [N]; of a coefficient [-].
        decay: rate at which the excess is lost with the squared speed [s^2/rad^2] or [s^2/m^2].
        stick_drag: viscous drag of a joint that sticks [N m s/rad] or [N s/m]; None: at its full size, that of a
            coefficient under the weight of all bodies, it creeps at 1e-3 rad/s or m/s.
        further: parameters of further laws of `models.friction`, by name.
    """

    depends_on_load: ClassVar[bool]
    symbol: ClassVar[str]
    """Prefix of the names of its numbers."""

    excess: float = 0.0
    decay: float = 0.0
    stick_drag: float | None = None
    further: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name != "further" and value is not None:
                require(value, f"the {entry.name.replace('_', ' ')} of dry friction", "at least 0")
        if self.stick_drag == 0:
            raise InvalidModel(
                "the stick drag of dry friction must be above 0; None takes one that creeps at 1e-3"
            )
        known = {name for names in mechanism_friction().values() for name in names}
        for name, value in self.further.items():
            require(value, f"{name} of friction", "at least 0")
            check_known(name, known, "no law of friction has a parameter", "laws have")

    @property
    @abstractmethod
    def size(self) -> float:
        """Level in motion, or coefficient."""

    @property
    def laws(self) -> tuple[str, ...]:
        """Names of the laws of which it is the sum."""
        own = ("coulomb", "stribeck")
        return tuple(
            name
            for name, law in mechanism_laws().items()
            if name in own or set(law.names) & set(self.further)
        )

    def entries(self, owner: str, k: int, position: str, effort: str, weight: float) -> list[Entry]:
        """Its numbers, of joint k, in units of its coordinate and effort, in a mechanism of a weight [N]."""
        drag = self.creep_drag(weight) if self.stick_drag is None else self.stick_drag
        given = {"coulomb": self.size, "coulomb_excess": self.excess, "decay": self.decay, **self.further}
        named = {"coulomb": self.symbol, "coulomb_excess": f"{self.symbol}_excess"}
        found = []
        for law, first in law_places(self.laws):
            for i, row in enumerate(law.parameters):
                unit = row.unit_of("" if self.depends_on_load and row.name in named else effort, position)
                found.append(
                    Entry(
                        owner, named.get(row.name, row.name), unit, "friction", (k, first + i),
                        given.get(row.name, row.default), -np.inf if row.signed else 0.0, row.kind,
                    )
                )  # fmt: skip
        return [*found, Entry(owner, "stick_drag", f"{effort} s/{position}", "stick", (k,), drag, 0.0)]

    @abstractmethod
    def creep_drag(self, weight: float) -> float:
        """Drag [N m s/rad] or [N s/m], > 0, of a sticking joint: it creeps at 1e-3 rad/s or m/s at full friction."""

    def load_weight(self, held: np.ndarray, slides: bool) -> np.ndarray:
        """(6,) lengths with which held impulses enter the law; 0 in free directions and in laws without load."""
        return np.zeros(6)


@dataclass(frozen=True)
class Coulomb(DryFriction):
    """Dry friction of a constant level in motion [N m] or [N]."""

    level: float = 0.0

    depends_on_load: ClassVar[bool] = False
    symbol: ClassVar[str] = "coulomb"

    @property
    def size(self) -> float:
        return self.level

    def creep_drag(self, weight: float) -> float:
        # a free level of 0 may grow: it starts with the drag of a level of 1
        return (self.level + self.excess or 1.0) / CREEP


@dataclass(frozen=True)
class LoadDependent(DryFriction):
    """Dry friction in proportion to the joint's own constraint forces.

    Args:
        coefficient: coefficient in motion [-].
        radius: radius of the bearing [m], > 0; a hinge depends only on its product with the coefficient.
    """

    coefficient: float = 0.0
    radius: float = 1.0

    depends_on_load: ClassVar[bool] = True
    symbol: ClassVar[str] = "friction"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.radius > 0:
            raise InvalidModel(
                f"load-dependent friction needs a radius above 0 [m], not {self.radius}; use 1 if only mu r matters"
            )

    @property
    def size(self) -> float:
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


def dry_friction(
    law: str, level: float, radius: float, further: Mapping[str, float], **common: Any
) -> DryFriction:
    """Dry friction by its name in `mechanism_friction`.

    Args:
        level: or coefficient. radius: see `LoadDependent`. common: other arguments of both.
    """
    if law == "load-dependent":
        return LoadDependent(level, radius, further=further, **common)
    return Coulomb(level, further=further, **common)


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
class Stops:
    """End stops of a hinge or slider: positions that its coordinate does not pass.

    Args:
        lower, upper: positions [rad] or [m]; None: there is no stop at this end.
        restitution: speed after an impact by the speed before it, 0 to 1; None: unknown, and 0 in simulations.
        give: g of a stop that gives way [s]: motions before and after an impact with the speeds v_0 and v_1 outward
            meet g (v_0 - v_1) beyond it, as with a spring, which takes the same time at any speed; None: unknown, and 0
            in simulations.

    Raises:
        InvalidModel: if there is no stop, if they leave no room between them, or if a number is out of range.
    """

    lower: float | None = None
    upper: float | None = None
    restitution: float | None = None
    give: float | None = None

    def __post_init__(self) -> None:
        given = [end for end in self.ends if end is not None]
        if not given or not np.isfinite(given).all():
            raise InvalidModel(
                "end stops need a finite lower or upper position; leave out stops of a joint without"
            )
        if len(given) == 2 and not given[0] < given[1]:
            raise InvalidModel(
                f"the lower stop must be below the upper one, and {given[0]:g} is not below {given[1]:g}; exchange them"
            )
        if self.restitution is not None and not 0 <= self.restitution <= 1:
            raise InvalidModel(f"the restitution of stops must be from 0 to 1, not {self.restitution:g}")
        if self.give is not None and not 0 <= self.give < np.inf:
            raise InvalidModel(f"the give of stops must be 0 or more, not {self.give:g}")

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Lower and upper position."""
        return self.lower, self.upper

    def entries(self, owner: str, k: int, position: str) -> list[Entry]:
        """Their numbers, of joint k, in the unit of its coordinate."""
        found = [
            Entry(owner, f"{side}_stop", position, "stop", (k, end), value)
            for end, (side, value) in enumerate(zip(("lower", "upper"), self.ends, strict=True))
            if value is not None
        ]
        return [
            *found,
            Entry(owner, "stop_restitution", "1", "stop_restitution", (k,), self.restitution or 0.0, 0.0),
            Entry(owner, "stop_give", "s", "stop_give", (k,), self.give or 0.0, 0.0),
        ]


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
    def has_speed_friction(self) -> bool:
        """Whether it has one coordinate, and friction that depends on its speed only."""
        return False

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
    friction: DryFriction | None = None
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
        stops: its end stops, or None.
    """

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    motor: Motor | None = None
    stops: Stops | None = None

    has_axis: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_direction(self.axis, f"the axis of joint {self.name!r}")

    @property
    def has_speed_friction(self) -> bool:
        return self.friction is None or not self.friction.depends_on_load

    def entries(self, k: int, weight: float) -> list[Entry]:
        found, motor = super().entries(k, weight), self.motor
        if motor is not None:
            shaft = "kg" if self.slides else "kg m^2"
            unit = "1" if motor.unit == self.effort_unit else f"{self.effort_unit}/{motor.unit}"
            found += [
                Entry(self.name, "gain", unit, "gain", (k,), motor.gain),
                Entry(self.name, "shaft_inertia", shaft, "shaft", (k,), motor.shaft_inertia, 0.0),
            ]
        return (
            found if self.stops is None else [*found, *self.stops.entries(self.name, k, self.position_unit)]
        )

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


@dataclass(frozen=True)
class Free(Joint):
    """Holds nothing: a body that flies, or floats, has its coordinates by it."""

    held: ClassVar[tuple[bool, ...]] = 6 * (FREE,)

    def entries(self, k: int, weight: float) -> list[Entry]:
        return []


AnyJoint = Fixed | Hinge | Slider | Ball | Free
JOINT_KINDS: Mapping[str, type[AnyJoint]] = {
    "fixed": Fixed,
    "hinge": Hinge,
    "slider": Slider,
    "ball": Ball,
    "free": Free,
}
"""Joints by their names in project files."""


@dataclass(frozen=True)
class AxisSensor:
    """Sensor of the coordinate of a hinge or slider, given by its name, or of its rate.

    Args:
        zero: reading where the coordinate or rate is 0 [rad], [m], [rad/s] or [m/s].
        name: None: that of the joint. recording: the only recording that has it; None: all.
    """

    joint: str
    zero: float = 0.0
    name: str | None = field(default=None, kw_only=True)
    recording: str | None = field(default=None, kw_only=True)

    is_rate: ClassVar[bool] = False
    is_orientation: ClassVar[bool] = False
    parts: ClassVar[tuple[str, ...]] = ("zero",)
    """Names of its numbers."""

    def __post_init__(self) -> None:
        if not np.isfinite([getattr(self, part) for part in self.parts]).all():
            raise InvalidModel(f"the sensor {self.label!r} of joint {self.joint!r} needs finite numbers")

    @property
    def owner(self) -> str:
        """Name of what it reads."""
        return self.joint

    def unit(self, joints: Mapping[str, Joint]) -> str:
        """Unit of its readings."""
        position = joints[self.joint].position_unit
        return f"{position}/s" if self.is_rate else position

    def entries(self, k: int, joints: Mapping[str, Joint]) -> list[Entry]:
        """Its numbers, as sensor k of a mechanism."""
        joint = joints[self.joint]
        if joint.slides and any(getattr(self, part) for part in self.parts[1:]):
            raise InvalidModel(
                f"sensor {self.label!r} reads a slider, which has no eccentricity; leave out sine and cosine"
            )
        unit, parts = self.unit(joints), self.parts[: 1 if joint.slides else None]
        return [Entry(self.label, part, unit, part, (k,), getattr(self, part)) for part in parts]

    @property
    def label(self) -> str:
        """Prefix of its parameters' names."""
        return self.name or f"{self.joint} {'rate' if self.is_rate else 'encoder'}"

    @property
    def channel(self) -> str:
        """The channel of recordings that holds its readings."""
        return f"{'velocity' if self.is_rate else 'position'}.{self.joint}"


@dataclass(frozen=True)
class Encoder(AxisSensor):
    """Sensor of the coordinate of a hinge [rad] or slider [m].

    Args:
        sine, cosine: eccentricity: amplitudes of the first harmonic, hinges only [rad].
    """

    sine: float = 0.0
    cosine: float = 0.0

    parts: ClassVar[tuple[str, ...]] = ("zero", "sine", "cosine")


@dataclass(frozen=True)
class RateSensor(AxisSensor):
    """Sensor of the speed of a hinge [rad/s] or slider [m/s]."""

    is_rate: ClassVar[bool] = True
