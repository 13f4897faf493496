"""Joints as packages of constraints: what a user says, and the six relative directions in which it is said.

Every joint has a frame on each of its two bodies, a on the parent and b on the child, which coincide in the reference
configuration. Between them are six directions, three translations and three rotations along the axes of frame a, and a
joint is a division of these into *held* and *free*:

               translations        rotations
    Fixed      held held held      held held held
    Hinge      held held held      held held FREE        its axis is z of the frames
    Slider     held held FREE      held held held
    Ball       held held held      FREE FREE FREE

Held directions are holonomic constraints with a compliance (one for translations, one for rotations) and a relaxation
time. Free directions carry what resists or drives the motion: viscous drag, dry friction, a motor, a constant offset.

Dry friction has two laws. With a constant `Coulomb` level (an effort) the friction impulse lies within +- h level; with
`LoadDependent` friction it lies within +- mu times the joint's own constraint impulses, lengths in front (Appendix F):

    hinge, ball:  mu (r sum |translations| + sum |rotations|)
    slider:       mu (sum |translations| + sum |rotations| / r)

In both the level falls from its value at rest to that in motion as Stribeck has it (4.1): at the speed v it is level +
excess exp(-decay v^2). Inside its bounds dry friction is not infinitely stiff: a joint that sticks creeps like one with
the viscous drag `stick_drag`, which makes the friction impulse unique (Delta of Eq. 2.24 is 1 / (h stick_drag)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from ...exceptions import InvalidModel

WORLD = "world"
HELD, FREE = True, False
CREEP = 1e-3
"""Speed [rad/s] or [m/s] at which a joint creeps under its full dry friction, unless its stick_drag says otherwise."""


@dataclass(frozen=True)
class Coulomb:
    """Dry friction of a constant level.

    Args:
        level: in motion [N m] or [N].
        excess: how much higher it is at rest (Stribeck) [N m] or [N].
        decay: rate at which the excess is lost with the squared speed [s^2/rad^2] or [s^2/m^2].
        stick_drag: viscous drag of a joint that sticks [N m s/rad] or [N s/m]; None: a full level makes it creep at
            1e-3 rad/s or m/s.
    """

    level: float = 0.0
    excess: float = 0.0
    decay: float = 0.0
    stick_drag: float | None = None

    def __post_init__(self) -> None:
        _not_negative(self, "dry friction")


@dataclass(frozen=True)
class LoadDependent:
    """Dry friction in proportion to the joint's own constraint forces.

    Args:
        coefficient: in motion [-].
        radius: of the bearing [m], > 0; only its product with the coefficient shows in a hinge.
        excess, decay, stick_drag: as in `Coulomb`; the excess is one of the coefficient.
    """

    coefficient: float = 0.0
    radius: float = 1.0
    excess: float = 0.0
    decay: float = 0.0
    stick_drag: float | None = None

    def __post_init__(self) -> None:
        _not_negative(self, "dry friction")
        if not self.radius > 0:
            raise InvalidModel(
                f"load-dependent friction needs a radius above 0 [m], not {self.radius}; use 1 if only mu r matters"
            )


@dataclass(frozen=True)
class Motor:
    """A motor at the free direction of a hinge or slider: effort = gain u, with a shaft that turns along (F.3).

    Args:
        gain: effort per unit of the control signal [N m/unit] or [N/unit]; with efforts as signals, 1.
        shaft_inertia: of the shaft, seen at the joint [kg m^2] or [kg].
    """

    gain: float = 1.0
    shaft_inertia: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gain) and 0 <= self.shaft_inertia < np.inf):
            raise InvalidModel(
                f"a motor needs a finite gain and a shaft inertia of at least 0, not {self.gain} and "
                f"{self.shaft_inertia}"
            )


@dataclass(frozen=True)
class Joint:
    """What all joints have.

    Args:
        name: of the joint.
        parent, child: the bodies that it joins; the parent may be "world".
        point: (3,) where its frames are in the world in the reference configuration [m].
        compliance: of the held translations [m/N], > 0.
        rotation_compliance: of the held rotations [rad/(N m)], > 0.
        relaxation: time in which a violated constraint recovers [s].
        child_point: (3,) where the child's frame is, if that was measured apart from the parent's; it must be the same
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

    def __post_init__(self) -> None:
        who = f"joint {self.name!r}"
        _three_numbers(f"the point of {who}", self.point)
        for name in ("compliance", "rotation_compliance"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise InvalidModel(
                    f"the {name.replace('_', ' ')} of {who} must be above 0, not {value}; try 1e-8"
                )
        if not 0 <= self.relaxation < np.inf:
            raise InvalidModel(f"the relaxation time of {who} must be at least 0 s, not {self.relaxation}")
        if self.child_point is not None:
            _three_numbers(f"the child's point of {who}", self.child_point)
            gap = float(np.linalg.norm(np.subtract(self.child_point, self.point)))
            if gap > 1e-6:
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


@dataclass(frozen=True)
class Fixed(Joint):
    """Holds two bodies together, as firmly as its compliance says."""


@dataclass(frozen=True)
class _Moving(Joint):
    """A joint that moves.

    Args:
        drag: viscous [N m s/rad] or [N s/m].
        friction: dry, or None.
        offset: constant effort [N m] or [N].
    """

    drag: float = 0.0
    friction: Coulomb | LoadDependent | None = None
    offset: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.drag < np.inf:
            raise InvalidModel(f"the drag of joint {self.name!r} must be at least 0, not {self.drag}")
        if not np.isfinite(self.offset):
            raise InvalidModel(f"the offset of joint {self.name!r} must be finite, not {self.offset}")


@dataclass(frozen=True)
class _OneAxis(_Moving):
    """A joint with one free direction.

    Args:
        axis: (3,) its direction in the world in the reference configuration, of any length.
        motor: or None.
    """

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    motor: Motor | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _three_numbers(f"the axis of joint {self.name!r}", self.axis)
        if not np.any(self.axis):
            raise InvalidModel(f"the axis of joint {self.name!r} is 0 0 0; give it a direction")

    @property
    def frame(self) -> np.ndarray:
        """(3, 3) z is the axis."""
        z = np.asarray(self.axis, dtype=float) / np.linalg.norm(self.axis)
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


@dataclass(frozen=True)
class Ball(_Moving):
    """Turns about any axis through a point."""

    held: ClassVar[tuple[bool, ...]] = (HELD, HELD, HELD, FREE, FREE, FREE)


def _three_numbers(what: str, values: Sequence[float]) -> None:
    array = np.asarray(values, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidModel(f"{what} needs three finite numbers, not {values}")


def _not_negative(law: Coulomb | LoadDependent, what: str) -> None:
    for entry in fields(law):
        value = getattr(law, entry.name)
        if value is not None and not 0 <= value < np.inf:
            raise InvalidModel(
                f"the {entry.name.replace('_', ' ')} of {what} must be at least 0, not {value}"
            )
    if law.stick_drag == 0:
        raise InvalidModel(
            "the stick drag of dry friction must be above 0; None takes one that creeps at 1e-3"
        )
