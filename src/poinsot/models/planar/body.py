"""A planar body and the walls that it may strike: gaps, contact points, and the directions in which impulses act.

In the plane M is constant, so there are no gyroscopic terms. Drag, where there is some, is linear in the velocity.

A wall is straight, of any slope alpha:

    n = (-sin alpha, cos alpha)   into the free side        t = (cos alpha, sin alpha)   along the wall

A floor has alpha = 0, a wall on the left whose free side is to its right alpha = -pi/2.

A part of a shape, with center c in the body's frame, is nearest to a wall with its point in the direction -n, which in
the body's frame is phi = alpha - pi/2 - theta. With r = R(theta) c its center and cross(a, b) = a_x b_y - a_y b_x,

    g  = (p - p_0 + r) . n - h(phi)
    GQ = r - h n + h' t
    N  = (n, cross(GQ, n)) = (n, cross(r, n) + h')        T = (t, cross(GQ, t)) = (t, cross(r, t) + h)

N is the derivative of g by q. Contacts are ordered by walls, and for each wall by parts.

(Gabiccini et al., Eqs. 3, 21 and Sect. 4.1.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import Float, Vector
from ...exceptions import InvalidModel, check_known
from ...kernels import njit
from ..gravity import STANDARD_GRAVITY
from .impulses import LAWS
from .shapes import Shape, support_of


@dataclass(frozen=True)
class Wall:
    """A straight wall; bodies cannot enter the half plane behind it.

    Args:
        x, y: a point of it [m].
        slope: angle alpha of its direction [rad].

    Raises:
        InvalidModel: if one is not finite.
    """

    x: float = 0.0
    y: float = 0.0
    slope: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite([self.x, self.y, self.slope]).all():
            raise InvalidModel("a wall needs finite x, y and slope")


def floor(height: float = 0.0, slope: float = 0.0) -> Wall:
    """A floor through (0, height) [m] with this slope [rad]."""
    return Wall(0.0, height, slope)


def floor_of(walls: Sequence[Wall]) -> int:
    """Number of the wall that faces up most."""
    return int(np.argmax([np.cos(wall.slope) for wall in walls]))


def with_floor_moved(walls: Sequence[Wall], height: float, slope: float) -> tuple[Wall, ...]:
    """The walls, with the one that faces up most higher [m] and turned about its point [rad]."""
    moved = list(walls)
    k = floor_of(walls)
    moved[k] = Wall(walls[k].x, walls[k].y + height, walls[k].slope + slope)
    return tuple(moved)


def wall_array(walls: Sequence[Wall]) -> Float[np.ndarray, "W 3"]:
    """(x, y, alpha) of each wall. Raises InvalidModel if there is none."""
    if not walls:
        raise InvalidModel("there is nothing to strike; give at least one wall")
    return np.array([[wall.x, wall.y, wall.slope] for wall in walls])


def contacts_at(
    pose: Vector, shape: Shape, walls: Sequence[Wall]
) -> tuple[Float[np.ndarray, "C"], Float[np.ndarray, "C 3"], Float[np.ndarray, "C 3"]]:
    """Gaps [m], N and T at one pose (3,)."""
    planes = wall_array(walls)
    C = len(planes) * len(shape.parts)
    g, N, T = np.empty(C), np.empty((C, 3)), np.empty((C, 3))
    contacts(np.array(pose, dtype=float), shape.parts, shape.harmonics, planes, g, N, T)
    return g, N, T


def gaps_at(poses: Float[np.ndarray, "K 3"], shape: Shape, walls: Sequence[Wall]) -> Float[np.ndarray, "K C"]:
    """Gaps [m] at K poses."""
    return np.asarray(_gaps(np.array(poses, dtype=float), shape.parts, shape.harmonics, wall_array(walls)))


@njit(cache=True)
def _gaps(poses: np.ndarray, parts: np.ndarray, harmonics: np.ndarray, walls: np.ndarray) -> np.ndarray:
    C = len(walls) * len(parts)
    g, N, T = np.empty((len(poses), C)), np.empty((C, 3)), np.empty((C, 3))
    for k in range(len(poses)):
        contacts(poses[k], parts, harmonics, walls, g[k], N, T)
    return g


@njit(cache=True)
def contacts(
    q: np.ndarray,
    parts: np.ndarray,
    harmonics: np.ndarray,
    walls: np.ndarray,
    g: np.ndarray,
    N: np.ndarray,
    T: np.ndarray,
) -> None:
    """Gaps g (C,), directions N and T (C, 3) at a pose, written into given arrays."""
    c, s = np.cos(q[2]), np.sin(q[2])
    i = 0
    for w in range(len(walls)):
        alpha = walls[w, 2]
        t_x, t_y = np.cos(alpha), np.sin(alpha)
        n_x, n_y = -t_y, t_x
        # for the center of mass; parts add their distance from it
        above = (q[0] - walls[w, 0]) * n_x + (q[1] - walls[w, 1]) * n_y
        for p in range(len(parts)):
            r_x = c * parts[p, 0] - s * parts[p, 1]
            r_y = s * parts[p, 0] + c * parts[p, 1]
            h, slope, _ = support_of(parts[p], harmonics, alpha - 0.5 * np.pi - q[2])
            g[i] = above + r_x * n_x + r_y * n_y - h
            N[i, 0], N[i, 1], N[i, 2] = n_x, n_y, r_x * n_y - r_y * n_x + slope
            T[i, 0], T[i, 1], T[i, 2] = t_x, t_y, r_x * t_y - r_y * t_x + h
            i += 1


GRAVITY = -STANDARD_GRAVITY[2]
"""Acceleration of gravity, downwards [m/s^2]."""


class World(NamedTuple):
    """A body, its walls and the forces on it, for compiled simulations.

    Args:
        parts, harmonics, walls: as in `body`.
        W: (3,) inverse masses, the diagonal of M^-1. drag: (3,) drag of each coordinate [1/s].
        friction, restitution: mu and epsilon. law: number of the law of impact in `impulses.LAWS`.
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
    law: int


@dataclass(frozen=True)
class PlanarBody:
    """A planar rigid body.

    Args:
        shape: outline about the center of mass. mass: [kg]. inertia: about the center of mass [kg m^2].
        friction: mu at every wall. restitution: epsilon, from 0 to 1.
        drag: of the velocity and of the spin, an acceleration -k v each [1/s].
        law: of impacts of one contact, one of `impulses.LAWS`; several contacts that close together, and contacts that
            stay closed, obey `complementarity`.

    Raises InvalidModel if a number is out of its range.
    """

    shape: Shape
    mass: float
    inertia: float
    friction: float
    restitution: float = 0.0
    drag: tuple[float, float] = (0.0, 0.0)
    law: str = "complementarity"

    def __post_init__(self) -> None:
        check_known(self.law, LAWS, "no law of impact", "a law is one of", InvalidModel, len(LAWS))
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
            LAWS.index(self.law),
        )
