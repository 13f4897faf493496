"""Walls, gaps, contact points, and the directions in which impulses act (Gabiccini et al., Eqs. 3, 21 and Sect. 4.1).

A wall is straight, of any slope alpha:

    n = (-sin alpha, cos alpha)   into the free side        t = (cos alpha, sin alpha)   along the wall

A floor has alpha = 0, a wall on the left whose free side is to its right alpha = -pi/2.

A part of a shape, with center c in the body's frame, is nearest to a wall with its point in the direction -n, which in
the body's frame is phi = alpha - pi/2 - theta. With r = R(theta) c its center and cross(a, b) = a_x b_y - a_y b_x,

    g  = (p - p_0 + r) . n - h(phi)
    GQ = r - h n + h' t
    N  = (n, cross(GQ, n)) = (n, cross(r, n) + h')        T = (t, cross(GQ, t)) = (t, cross(r, t) + h)

N is the derivative of g by q. Contacts are ordered by walls, and for each wall by parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Float, Vector
from ...exceptions import InvalidModel
from ...kernels import njit
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
