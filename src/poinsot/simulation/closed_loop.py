"""Motion that a robot's model makes in its control loop, without noise.

    M(q) a + h(q, v) + f(v) + s(q) = K (c - q) + D (c' - v) + o      c: commanded positions, o: a constant effort

h are the efforts of gravity and speed, f those of friction, s those of springs. A step of length dt is linearly
implicit in the law, in friction and in stiff springs, so that a stiff loop of a light link stays stable at any step:

    (M + dt (D + f_v) + dt^2 (K + s_q)) a = K (c+ - q - dt v) + D (c'+ - v) + o - h - f - s - dt s_q v
    v+ = v + dt a,      q+ = q + dt v+

Friction laws and springs are tables of one speed or position, between whose points they are linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Brief, JointSamples, Times, Vector
from ..kernels import njit
from ..models.robot.articulated import Articulated
from ..models.robot.inverse_dynamics import inverse_dynamics_kernel
from ..models.robot.joint_motion import STEP
from ..models.robot.joint_terms import JointTerms

STEPS_PER_SECOND = 1000.0
"""Steps of the simulation, whatever the rate of a log [Hz]."""

CREEP = 0.01
"""Speed at which smoothed dry friction has 76 % of its size, as a part of the rms speed of the fastest joint."""

ASTRAY = 10.0
"""A motion has diverged where it is further from its command than this many times the range of all commands."""

TABLE = 2001
"""Points of the tables; those of speeds are equidistant in asinh(speed / creep)."""

BEYOND = 4.0
"""Tables extend to this many times the largest command, and are constant beyond."""


@dataclass(frozen=True, eq=False, repr=False)
class PositionLaw(Brief):
    """Efforts of a position loop, K (c - q) + D (c' - v) + o for each of n joints.

    Args:
        proportional: (n,) K [N m/rad] or [N/m]. derivative: (n,) D [N m s/rad] or [N s/m].
        constant: (n,) o [N m] or [N].
    """

    proportional: Vector
    derivative: Vector
    constant: Vector


def follow(
    robot: Articulated,
    theta: Vector,
    law: PositionLaw,
    time: Times,
    command: JointSamples,
    first_state: tuple[Vector, Vector] | None = None,
) -> JointSamples | None:
    """(T, n) positions of the joints as the model follows (T, n) commands; None: it diverges.

    Args:
        robot: with joints of one degree of freedom, without loops and floating base.
        theta: (p,) all its parameters; base parameters with 0 for the others have the same dynamics.
        time: (T,) uniform [s].
        first_state: (n,) positions and (n,) speeds; None: those of the command.
    """
    from scipy.interpolate import CubicSpline  # slow to import

    steps = max(int(np.ceil((time[-1] - time[0]) * STEPS_PER_SECOND)), 1)
    clock = np.linspace(time[0], time[-1], steps + 1)
    dt = float(clock[1] - clock[0])
    c = np.stack([np.interp(clock, time, column) for column in command.T], axis=1)
    rate = np.gradient(c, dt, axis=0)
    size, speed = float(np.ptp(c, axis=0).max()), float(np.abs(rate).max())
    if not size > 0:
        return command
    creep = CREEP * float(np.sqrt(np.mean(rate**2, axis=0)).max())
    bodies, terms = 10 * len(robot.bodies), JointTerms(robot, dry_speed=creep)
    phi = theta[bodies:]
    spacing = 2 * np.arcsinh(BEYOND * speed / creep) / (TABLE - 1)
    speeds = creep * np.sinh(spacing * (np.arange(TABLE) - (TABLE - 1) / 2))
    places = np.linspace(c.min() - BEYOND * size, c.max() + BEYOND * size, TABLE)
    springs = terms.stiffness(phi, robot.configurations(np.repeat(places[:, None], c.shape[1], axis=1)))[0]
    positions, kernel = np.empty_like(c), _follow
    q, v = (c[0], rate[0]) if first_state is None else first_state
    first, turning = robot.coordinates
    finished: Any = kernel(
        robot.tree.arrays, theta[:bodies].reshape(-1, 10), np.array(robot.model.gravity.linear), first, turning,
        robot.model.nq, terms.rotors(phi), *terms.tabulated_friction(phi, speeds), creep, spacing,
        np.ascontiguousarray(springs.T), places[0], places[1] - places[0],
        law.proportional, law.derivative, law.constant, dt, c, rate, q.copy(), v.copy(), ASTRAY * size, positions,
    )  # fmt: skip
    return np.asarray(CubicSpline(clock, positions)(time)) if finished else None


@njit(**STEP)
def _interpolated(table, x):
    """Value and slope of a table at x, counted in points; constant beyond its ends."""
    last = len(table) - 1
    k = int(min(max(np.floor(x), 0.0), last - 1.0))
    slope = table[k + 1] - table[k]
    part = x - k
    if part < 0.0 or part > 1.0:
        return table[0] if part < 0.0 else table[last], 0.0
    return table[k] + part * slope, slope


@njit(**STEP)
def _follow(
    tree, inertials, gravity, first, turning, nq, rotors, viscous, directions, friction, creep, spacing,
    springs, place, width, K, D, o, dt, c, rate, q, v, farthest, positions
):  # fmt: skip
    """Write the positions of all steps; False: the motion diverges."""
    n = c.shape[1]
    configuration, state, still = np.zeros((1, nq)), np.zeros((1, n)), np.zeros((1, n))
    M, h, none = np.zeros((1, n, n)), np.empty((1, n)), np.empty((0, n, n))
    touched, wrenches = np.empty(0, dtype=np.int64), np.empty((1, 0, 6))
    positions[0] = q
    for k in range(1, len(c)):
        for j in range(n):
            at = first[j]
            configuration[0, at] = np.cos(q[j]) if turning[j] else q[j]
            if turning[j]:
                configuration[0, at + 1] = np.sin(q[j])
        state[0], M[0] = v, 0.0
        inverse_dynamics_kernel(
            tree, inertials, gravity, configuration, state, still, touched, wrenches, M, h, none, none
        )
        A = M[0] + rotors + dt * viscous
        effort = o - h[0] - viscous @ v
        for j in range(n):
            tau, slope = _interpolated(springs[j], (q[j] - place) / width)
            slope /= width
            # explicit where that is stable: an implicit spring has a damping of its own, of dt / 2 times its frequency
            slope *= 2 * dt**2 * slope > A[j, j]
            effort[j] += (
                K[j] * (c[k, j] - q[j] - dt * v[j]) + D[j] * (rate[k, j] - v[j]) - tau - dt * slope * v[j]
            )
            A[j, j] += dt * D[j] + dt**2 * (K[j] + slope)
        for m in range(len(directions)):
            along = directions[m]
            s = along @ v
            tau, slope = _interpolated(
                friction[m], np.arcsinh(s / creep) / spacing + (len(friction[m]) - 1) / 2
            )
            slope /= spacing * np.sqrt(s**2 + creep**2)
            for i in range(n):
                effort[i] -= along[i] * tau
                for j in range(n):
                    A[i, j] += dt * slope * along[i] * along[j]
        a = np.linalg.solve(A, effort)
        v = v + dt * a
        q = q + dt * v
        positions[k] = q
        for j in range(n):
            if not abs(q[j] - c[k, j]) <= farthest:
                return False
    return True
