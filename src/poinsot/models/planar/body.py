"""A body that moves in the plane, by itself and with its walls, as input of compiled simulations.

In the plane M is constant, so there are no gyroscopic terms. Drag, where there is some, is linear in the velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import Float
from ...exceptions import InvalidModel
from ..gravity import STANDARD_GRAVITY
from .contact import Wall, wall_array
from .shapes import Shape

GRAVITY = -STANDARD_GRAVITY[2]
"""Acceleration of gravity, downwards [m/s^2]."""


class World(NamedTuple):
    """A body, its walls and the forces on it, for compiled simulations.

    Args:
        parts, harmonics, walls: as in `contact`.
        W: (3,) inverse masses, the diagonal of M^-1. drag: (3,) drag of each coordinate [1/s].
        friction, restitution: mu and epsilon.
        pushes: (K, 3) accelerations beside gravity, each constant over an interval; the last one continues.
    """

    parts: np.ndarray
    harmonics: np.ndarray
    walls: np.ndarray
    W: np.ndarray
    drag: np.ndarray
    friction: float
    restitution: float
    pushes: np.ndarray


@dataclass(frozen=True)
class PlanarBody:
    """A planar rigid body.

    Args:
        shape: outline about the center of mass. mass: [kg]. inertia: about the center of mass [kg m^2].
        friction: mu at every wall. restitution: epsilon, from 0 to 1.
        drag: of the velocity and of the spin, an acceleration -k v each [1/s].

    Raises InvalidModel if a number is out of its range.
    """

    shape: Shape
    mass: float
    inertia: float
    friction: float
    restitution: float = 0.0
    drag: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for name, value in (("mass", self.mass), ("inertia", self.inertia)):
            if not 0 < value < np.inf:
                raise InvalidModel(f"the {name} of a body must be above 0, not {value:g}")
        if not all(0 <= value < np.inf for value in (self.friction, *self.drag)):
            raise InvalidModel("friction and drag of a body must be at least 0")
        if not 0 <= self.restitution <= 1:
            raise InvalidModel(f"restitution must be from 0 to 1, not {self.restitution:g}")

    @property
    def inertias(self) -> Float[np.ndarray, "3"]:
        """The diagonal of M [kg], [kg], [kg m^2]."""
        return np.array([self.mass, self.mass, self.inertia], dtype=float)

    def world(self, walls: Sequence[Wall], forces: Float[np.ndarray, "K 3"]) -> World:
        """The body among walls, with forces (K, 3) beside gravity [N], [N], [N m]."""
        return World(
            self.shape.parts,
            self.shape.harmonics,
            wall_array(walls),
            1 / self.inertias,
            np.array([self.drag[0], *self.drag], dtype=float),
            float(self.friction),
            float(self.restitution),
            np.ascontiguousarray(forces / self.inertias),
        )
