"""Motion in steps of implicit Euler's kind (Gabiccini et al., Eqs. 16 to 20).

    M (v_{k+1} - v_k) = G(q_k) c_{k+1} + h f_k,      q_{k+1} = q_k + h v_{k+1}

with the impulses c of `poinsot.models.planar.impulses`, and one of two laws for the normal velocities of contacts:

    RESTITUTION   impulse-restitution complementarity (IRC): a contact with g(q_k) <= 0 leaves at least as fast as
                  restitution says, N^T v_{k+1} >= -epsilon min(N^T v_k, 0)
    GAP           impulse-gap complementarity (IGC): no gap is below 0 after the step, g(q_k) + h N^T v_{k+1} >= 0

In the plane M is constant, so there are no gyroscopic terms, K = 0. Drag, where there is some, is linear in the
velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Vector
from poinsot.exceptions import InvalidModel
from poinsot.kernels import njit
from poinsot.models.planar.body import GRAVITY, PlanarBody, Wall, World, contacts, contacts_at
from poinsot.models.planar.impulses import apply_impulses

INSIDE = 1e-6
"""Largest depth inside a wall at the start, relative to the size."""
TOUCHES = 1e-12
"""A gap that is 0 but for rounding, relative to the size: a resting body would otherwise leave for single steps."""


class Law(IntEnum):
    """Law for the normal velocities of contacts."""

    RESTITUTION = 0
    GAP = 1


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of one body over T steps, with C contacts: wall by wall, and part by part of the shape.

    Args:
        times: (T + 1,) [s].
        poses, velocities: (T + 1, 3) of the center of mass [m], [m], [rad] and their rates.
        impulses: (T, C, 2) normal and tangential, of the step that begins at that time [N s].
        gaps: (T + 1, C) [m].
        kinetic, potential: (T + 1,) energies; potential is 0 at y = 0 [J].
        unsolved: number of steps whose complementarity was not solved, so that no impulse acted; 0 unless numbers
            overflow.
    """

    times: Float[np.ndarray, "T1"]
    poses: Float[np.ndarray, "T1 3"]
    velocities: Float[np.ndarray, "T1 3"]
    impulses: Float[np.ndarray, "T C 2"]
    gaps: Float[np.ndarray, "T1 C"]
    kinetic: Float[np.ndarray, "T1"]
    potential: Float[np.ndarray, "T1"]
    unsolved: int = 0

    @property
    def energy(self) -> Float[np.ndarray, "T1"]:
        """Kinetic and potential [J]."""
        return self.kinetic + self.potential

    @property
    def struck(self) -> np.ndarray:
        """Indices of the steps in which an impulse acted."""
        return np.flatnonzero(self.impulses[:, :, 0].max(axis=1) > 0)

    def at(self, times: Vector) -> Float[np.ndarray, "N 3"]:
        """Poses at times within the motion, linearly interpolated between steps."""
        return np.column_stack([np.interp(times, self.times, self.poses[:, k]) for k in range(3)])


def simulate(
    body: PlanarBody,
    walls: Sequence[Wall],
    pose: Vector,
    velocity: Vector,
    step: float,
    seconds: float,
    law: Law = Law.RESTITUTION,
    forces: Float[np.ndarray, "T 3"] | None = None,
) -> Motion:
    """Simulate a body from a pose and a velocity.

    Args:
        pose: (3,) of the center of mass [m], [m], [rad]. velocity: (3,) its rate.
        step: h [s]. seconds: duration [s].
        forces: (T, 3) beside gravity, one for each step [N], [N], [N m].

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
    world = body.world(walls, forces)
    C = len(world.parts) * len(world.walls)
    q, v = np.empty((count + 1, 3)), np.empty((count + 1, 3))
    q[0], v[0] = pose, velocity
    c, g = np.zeros((count, C, 2)), np.empty((count + 1, C))
    least = contacts_at(q[0], body.shape, walls)[0].min()
    if least < -INSIDE * body.shape.size:
        raise InvalidModel(
            f"the body begins {-1e3 * least:.3g} mm inside a wall; lift it, or check the floor and the shape"
        )
    unsolved = _steps(world, int(law), float(step), q, v, c, g)
    kinetic = 0.5 * v**2 @ body.inertias
    times = step * np.arange(count + 1)
    return Motion(times, q, v, c, g, kinetic, body.mass * GRAVITY * q[:, 1], int(unsolved))


@njit(cache=True)
def _steps(
    world: World,
    law: int,
    h: float,
    q: np.ndarray,
    v: np.ndarray,
    c: np.ndarray,
    g: np.ndarray,
) -> int:
    """Write motion q, v (T + 1, 3), impulses c (T, C, 2) and gaps g (T + 1, C); return unsolved steps."""
    parts, harmonics, walls, W, drag = world.parts, world.harmonics, world.walls, world.W, world.drag
    mu, epsilon, pushes = world.friction, world.restitution, world.pushes
    C = g.shape[1]
    N, T = np.empty((C, 3)), np.empty((C, 3))
    b, c_closed, closed = np.zeros((C, 2)), np.empty((C, 2)), np.empty(C, dtype=np.int64)
    unsolved, touches = 0, TOUCHES * np.abs(parts).max()
    for k in range(len(c)):
        contacts(q[k], parts, harmonics, walls, g[k], N, T)
        for i in range(3):
            a = pushes[k, i] - (GRAVITY if i == 1 else 0.0)
            v[k + 1, i] = v[k, i] + h * (a - drag[i] * v[k, i])
        free, count = v[k + 1], 0
        for i in range(C):
            speed = N[i, 0] * v[k, 0] + N[i, 1] * v[k, 1] + N[i, 2] * v[k, 2]
            # restitution needs a closed contact now; the gap law one that would be closed after the step
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
            q[k + 1, i] = q[k, i] + h * v[k + 1, i]
    contacts(q[-1], parts, harmonics, walls, g[-1], N, T)
    return unsolved
