"""Motion in steps of implicit Euler's kind (Gabiccini et al., Eqs. 16 to 20).

    M (v_{k+1} - v_k) = G(q_k) c_{k+1} + h f_k,      q_{k+1} = q_k + h v_{k+1}

with the impulses c of `impulses`, and one of two laws for the normal velocities of contacts:

    RESTITUTION   impulse-restitution complementarity (IRC): a contact with g(q_k) <= 0 leaves at least as fast as
                  restitution says, N^T v_{k+1} >= -epsilon min(N^T v_k, 0)
    GAP           impulse-gap complementarity (IGC): no gap is below 0 after the step, g(q_k) + h N^T v_{k+1} >= 0. It
                  halts a body where the step happens to end, in two steps, with an impulse that hangs on the step

In the plane M is constant, so there are no gyroscopic terms, K = 0. Drag, where there is some, is linear in the
velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Float
from numba import njit

from ...arrays import Vector
from ...exceptions import InvalidModel
from ..gravity import STANDARD_GRAVITY
from .contact import contacts, contacts_at
from .impulses import apply_impulses
from .motion import Motion
from .shapes import Shape
from .walls import Wall, wall_array

GRAVITY = -STANDARD_GRAVITY[2]
"""Downwards [m/s^2]."""
INSIDE = 1e-6
"""How far inside a wall a body may begin, of its size."""
TOUCHES = 1e-12
"""A gap that is 0 but for rounding, of the size: what rests would otherwise leave now and then for a step."""


class Law(IntEnum):
    """What is asked of normal velocities."""

    RESTITUTION = 0
    GAP = 1


@dataclass(frozen=True)
class Body:
    """What moves.

    Args:
        shape: about the center of mass.
        mass: [kg]. inertia: about the center of mass [kg m^2].
        friction: mu at every wall. restitution: epsilon, from 0 to 1.
        drag: of the velocity and of the spin, an acceleration -k v each [1/s].

    Raises:
        InvalidModel: if a number has no meaning.
    """

    shape: Shape
    mass: float
    inertia: float
    friction: float
    restitution: float = 0.0
    drag: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for what, value in (("mass", self.mass), ("inertia", self.inertia)):
            if not 0 < value < np.inf:
                raise InvalidModel(f"the {what} of a body must be above 0, not {value:g}")
        if not all(0 <= value < np.inf for value in (self.friction, *self.drag)):
            raise InvalidModel("friction and drag of a body must be at least 0")
        if not 0 <= self.restitution <= 1:
            raise InvalidModel(f"restitution must be from 0 to 1, not {self.restitution:g}")

    @property
    def inertias(self) -> Float[np.ndarray, "3"]:
        """The diagonal of M [kg], [kg], [kg m^2]."""
        return np.array([self.mass, self.mass, self.inertia], dtype=float)


def simulate(
    body: Body,
    walls: Sequence[Wall],
    pose: Vector,
    velocity: Vector,
    step: float,
    seconds: float,
    law: Law = Law.RESTITUTION,
    forces: Float[np.ndarray, "T 3"] | None = None,
) -> Motion:
    """How a body moves from a pose and a velocity.

    Args:
        body, walls: what strikes what.
        pose: (3,) of the center of mass [m], [m], [rad]. velocity: (3,) its rate.
        step: h [s]. seconds: how long [s].
        law: for normal velocities.
        forces: (T, 3) beside gravity, one a step [N], [N], [N m].

    Raises:
        InvalidModel: if the body begins inside a wall, or a number has no meaning.
    """
    if not 0 < step <= seconds < np.inf:
        raise InvalidModel("the step must be above 0 s and no longer than the motion")
    if np.shape(pose) != (3,) or np.shape(velocity) != (3,) or not np.isfinite([pose, velocity]).all():
        raise InvalidModel("a pose and a velocity are three finite numbers each")
    count = round(seconds / step)
    if forces is None:
        forces = np.zeros((count, 3))
    if np.shape(forces) != (count, 3):
        raise InvalidModel(f"forces need three numbers for each of the {count} steps")
    if not np.isfinite(forces).all():
        raise InvalidModel("forces must be finite")
    parts, harmonics, planes = body.shape.parts, body.shape.harmonics, wall_array(walls)
    C = len(parts) * len(planes)
    q, v = np.empty((count + 1, 3)), np.empty((count + 1, 3))
    q[0], v[0] = pose, velocity
    c, g, work = np.zeros((count, C, 2)), np.empty((count + 1, C)), np.zeros((count, 2))
    least = contacts_at(q[0], body.shape, walls)[0].min()
    if least < -INSIDE * body.shape.size:
        raise InvalidModel(
            f"the body begins {-1e3 * least:.3g} mm inside a wall; lift it, or check the floor and the shape"
        )
    W = 1 / body.inertias
    accelerations = forces * W + [0.0, -GRAVITY, 0.0]
    drag = np.array([body.drag[0], body.drag[0], body.drag[1]], dtype=float)
    mu, epsilon = float(body.friction), float(body.restitution)
    unsolved = _steps(
        int(law), parts, harmonics, planes, W, mu, epsilon, accelerations, drag, float(step), q, v, c, g, work
    )
    kinetic = 0.5 * v**2 @ body.inertias
    times = step * np.arange(count + 1)
    return Motion(
        times, q, v, c, g, work[:, 0], work[:, 1], kinetic, body.mass * GRAVITY * q[:, 1], int(unsolved)
    )


@njit(cache=True)
def _steps(law, parts, harmonics, walls, W, mu, epsilon, accelerations, drag, h, q, v, c, g, work):
    """Writes motion (T + 1, 3), impulses (T, C, 2), gaps (T + 1, C) and works (T, 2); how many steps went unsolved."""
    C = len(parts) * len(walls)
    N, T = np.empty((C, 3)), np.empty((C, 3))
    b, c_closed, closed = np.zeros((C, 2)), np.empty((C, 2)), np.empty(C, dtype=np.int64)
    unsolved, touches = 0, TOUCHES * np.abs(parts).max()
    for k in range(len(accelerations)):
        contacts(q[k], parts, harmonics, walls, g[k], N, T)
        for i in range(3):
            v[k + 1, i] = v[k, i] + h * (accelerations[k, i] - drag[i] * v[k, i])
        free, count = v[k + 1], 0
        for i in range(C):
            speed = N[i, 0] * v[k, 0] + N[i, 1] * v[k, 1] + N[i, 2] * v[k, 2]
            if law == 0 and g[k, i] <= touches:
                b[count, 0] = epsilon * min(speed, 0.0)
            elif law == 1 and g[k, i] + h * (N[i, 0] * free[0] + N[i, 1] * free[1] + N[i, 2] * free[2]) < 0.0:
                b[count, 0] = g[k, i] / h
            else:
                continue
            closed[count] = i
            count += 1
        if count:
            unsolved += not apply_impulses(N, T, closed[:count], W, v[k + 1], b, mu, c_closed)
            for j in range(count):
                c[k, closed[j]] = c_closed[j]
                for i in range(3):
                    middle = 0.5 * (v[k, i] + v[k + 1, i])
                    work[k, 0] += middle * N[closed[j], i] * c_closed[j, 0]
                    work[k, 1] += middle * T[closed[j], i] * c_closed[j, 1]
        for i in range(3):
            q[k + 1, i] = q[k, i] + h * v[k + 1, i]
    contacts(q[-1], parts, harmonics, walls, g[-1], N, T)
    return unsolved
