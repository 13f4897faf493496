"""The torque regressor over a whole recording: tau = Y(q, v, a) pi, one call for all samples.

In the frame of body i, with angular velocity w and acceleration alpha, and c the acceleration of the frame's origin
less gravity, its ten parameters pi = (m, h = m c_m, I) need the force and moment (Newton and Euler about the origin)

    f = m c + B h                    B = [alpha]x + w w^T - |w|^2 1
    n = h x c + I alpha + w x I w

A degree of freedom that moves body i with the unit twist (l, u) (linear, angular) feels l . f + u . n, so its row is

    m: l . c       h: B^T l + c x u       I: u alpha^T + (u x w) w^T, symmetrized

The twists of all degrees of freedom between the world and body i are carried outward with the frames, so a row costs
some sixty multiplications, and only blocks that are not zero by structure are computed. Source: Atkeson, An and
Hollerbach (1986); equal to Pinocchio's `computeJointTorqueRegressor`, its reference in the tests.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .tree import CONTINUOUS, FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, TRANSLATION, Tree

_compiled = njit(cache=True, fastmath={"contract"}, error_model="numpy", inline="always")


def regressor_entries(tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The blocks that are not zero by structure.

    Args:
        tree: the robot.
        q, v, a: (T, nq), (T, n), (T, n) configurations, velocities, accelerations.

    Returns:
        (T, 10 K): ten numbers for each of `tree.pairs`.
    """
    offsets = 10 * np.arange(len(tree.pairs[0]), dtype=np.int64)
    return _fill(tree, q, v, a, offsets, np.empty((len(q), 10 * len(offsets))))


def dense_regressor(tree: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(T, n, 10 l): the whole regressor, structural zeros included. Arguments as `regressor_entries`."""
    n, columns = tree.degrees_of_freedom, 10 * tree.bodies
    rows, bodies = tree.pairs
    out = _fill(tree, q, v, a, rows * columns + 10 * bodies, np.zeros((len(q), n * columns)))
    return out.reshape(len(q), n, columns)


def _fill(tree: Tree, q, v, a, offsets, out) -> np.ndarray:
    start, _ = tree.path
    q, v, a = (np.ascontiguousarray(x, dtype=float) for x in (q, v, a))
    _regressor(
        tree.parent, tree.kind, _constants(tree), tree.axis, tree.pitch, tree.q_index, tree.v_index, tree.body,
        tree.gravity, start, offsets, q, v, a, out,
    )  # fmt: skip
    return out


def _constants(tree: Tree) -> np.ndarray:
    """(J, 42) constants of the placements: R_0, p_0 of each joint, and for joints with an axis e the parts of

    R(q) = R_0 e e^T + cos q R_0 (1 - e e^T) + sin q R_0 [e]x,     p(q) = p_0 + q (shift along the axis).
    """
    J = len(tree)
    e = tree.axis
    along = e[:, :, None] * e[:, None, :]
    cross = np.cross(e[:, None, :], np.eye(3)[None]).transpose(0, 2, 1)
    parts = tree.rotation[:, None] @ np.stack([along, np.eye(3) - along, cross], axis=1)
    pitch = np.where(tree.kind == PRISMATIC, 1.0, tree.pitch)
    shift = pitch[:, None] * np.einsum("jrk,jk->jr", tree.rotation, e)
    return np.concatenate(
        [parts.reshape(J, 27), tree.rotation.reshape(J, 9), tree.translation, shift], axis=1
    )


@_compiled
def _quaternion_rotation(x, y, z, w):
    return (
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    )  # fmt: skip


@_compiled
def _placement(kind, F, i, q, s, at):
    """(R, p) of a joint's moving side in its parent's frame, from q[s, at:] and the joint's constants F."""
    if kind == REVOLUTE or kind == CONTINUOUS or kind == HELICAL or kind == PRISMATIC:
        along = q[s, at]
        if kind == PRISMATIC:
            cos, sin = 1.0, 0.0
        elif kind == CONTINUOUS:
            cos, sin = q[s, at], q[s, at + 1]
        else:
            cos, sin = np.cos(q[s, at]), np.sin(q[s, at])
        return (
            F[i, 0] + cos * F[i, 9] + sin * F[i, 18], F[i, 1] + cos * F[i, 10] + sin * F[i, 19], F[i, 2] + cos * F[i, 11] + sin * F[i, 20],
            F[i, 3] + cos * F[i, 12] + sin * F[i, 21], F[i, 4] + cos * F[i, 13] + sin * F[i, 22], F[i, 5] + cos * F[i, 14] + sin * F[i, 23],
            F[i, 6] + cos * F[i, 15] + sin * F[i, 24], F[i, 7] + cos * F[i, 16] + sin * F[i, 25], F[i, 8] + cos * F[i, 17] + sin * F[i, 26],
            F[i, 36] + along * F[i, 39], F[i, 37] + along * F[i, 40], F[i, 38] + along * F[i, 41],
        )  # fmt: skip
    x = y = z = 0.0
    Q = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    if kind == SPHERICAL:
        Q = _quaternion_rotation(q[s, at], q[s, at + 1], q[s, at + 2], q[s, at + 3])
    elif kind == PLANAR:
        x, y = q[s, at], q[s, at + 1]
        Q = (q[s, at + 2], -q[s, at + 3], 0.0, q[s, at + 3], q[s, at + 2], 0.0, 0.0, 0.0, 1.0)
    else:
        x, y, z = q[s, at], q[s, at + 1], q[s, at + 2]
        if kind == FREE:
            Q = _quaternion_rotation(q[s, at + 3], q[s, at + 4], q[s, at + 5], q[s, at + 6])
    return (
        F[i, 27] * Q[0] + F[i, 28] * Q[3] + F[i, 29] * Q[6], F[i, 27] * Q[1] + F[i, 28] * Q[4] + F[i, 29] * Q[7], F[i, 27] * Q[2] + F[i, 28] * Q[5] + F[i, 29] * Q[8],
        F[i, 30] * Q[0] + F[i, 31] * Q[3] + F[i, 32] * Q[6], F[i, 30] * Q[1] + F[i, 31] * Q[4] + F[i, 32] * Q[7], F[i, 30] * Q[2] + F[i, 31] * Q[5] + F[i, 32] * Q[8],
        F[i, 33] * Q[0] + F[i, 34] * Q[3] + F[i, 35] * Q[6], F[i, 33] * Q[1] + F[i, 34] * Q[4] + F[i, 35] * Q[7], F[i, 33] * Q[2] + F[i, 34] * Q[5] + F[i, 35] * Q[8],
        F[i, 36] + F[i, 27] * x + F[i, 28] * y + F[i, 29] * z, F[i, 37] + F[i, 30] * x + F[i, 31] * y + F[i, 32] * z, F[i, 38] + F[i, 33] * x + F[i, 34] * y + F[i, 35] * z,
    )  # fmt: skip


@_compiled
def _subspace(kind, axis, pitch, S):
    """Twists (l, u) of the joint's own degrees of freedom, in its own frame; returns their number."""
    for k in range(6):
        for i in range(6):
            S[k, i] = 0.0
    if kind == REVOLUTE or kind == CONTINUOUS:
        for i in range(3):
            S[0, 3 + i] = axis[i]
        return 1
    if kind == PRISMATIC:
        for i in range(3):
            S[0, i] = axis[i]
        return 1
    if kind == HELICAL:
        for i in range(3):
            S[0, i] = pitch * axis[i]
            S[0, 3 + i] = axis[i]
        return 1
    if kind == SPHERICAL:
        for i in range(3):
            S[i, 3 + i] = 1.0
        return 3
    if kind == TRANSLATION:
        for i in range(3):
            S[i, i] = 1.0
        return 3
    if kind == PLANAR:
        S[0, 0] = S[1, 1] = S[2, 5] = 1.0
        return 3
    for i in range(6):
        S[i, i] = 1.0
    return 6


@_compiled
def _to_child(placement, l0, l1, l2, u0, u1, u2):
    """A twist (l, u) of the parent, seen in a child frame at (R, p): R^T (l + u x p), R^T u."""
    R00, R01, R02, R10, R11, R12, R20, R21, R22, p0, p1, p2 = placement
    l0, l1, l2 = l0 + u1 * p2 - u2 * p1, l1 + u2 * p0 - u0 * p2, l2 + u0 * p1 - u1 * p0
    return (
        R00 * l0 + R10 * l1 + R20 * l2, R01 * l0 + R11 * l1 + R21 * l2, R02 * l0 + R12 * l1 + R22 * l2,
        R00 * u0 + R10 * u1 + R20 * u2, R01 * u0 + R11 * u1 + R21 * u2, R02 * u0 + R12 * u1 + R22 * u2,
    )  # fmt: skip


@_compiled
def _regressor(
    parent, kind, constants, axis, pitch, q_index, v_index, body, gravity, start, offsets, q, v, a, out
):  # fmt: skip
    joints = len(parent)
    depth = 0
    for i in range(joints):
        depth = max(depth, start[i + 1] - start[i])
    # twists[i, k]: the k-th degree of freedom between the world and i; then the velocity and the acceleration of i
    VELOCITY, ACCELERATION = depth, depth + 1
    twists = np.zeros((joints + 1, depth + 2, 6))
    world = joints
    for r in range(3):
        twists[world, ACCELERATION, r] = -gravity[r]
    S = np.zeros((joints, 6, 6))
    own = np.zeros(joints, dtype=np.int64)
    turns = np.zeros((joints, depth), dtype=np.bool_)  # whether the k-th degree of freedom turns body i
    for i in range(joints):
        own[i] = _subspace(kind[i], axis[i], pitch[i], S[i])
        inherited = start[i + 1] - start[i] - own[i]
        for k in range(inherited):
            turns[i, k] = turns[parent[i], k]
        for k in range(own[i]):
            turns[i, inherited + k] = S[i, k, 3] != 0 or S[i, k, 4] != 0 or S[i, k, 5] != 0
            twists[i, inherited + k] = S[i, k]
    M = np.zeros((6, 10))
    for s in range(len(q)):
        pair = 0
        for i in range(joints):
            X = _placement(kind[i], constants, i, q, s, q_index[i])
            up = parent[i] if parent[i] >= 0 else world
            inherited = start[i + 1] - start[i] - own[i]
            for k in range(inherited):
                if turns[i, k]:
                    (
                        twists[i, k, 0], twists[i, k, 1], twists[i, k, 2],
                        twists[i, k, 3], twists[i, k, 4], twists[i, k, 5],
                    ) = _to_child(
                        X, twists[up, k, 0], twists[up, k, 1], twists[up, k, 2],
                        twists[up, k, 3], twists[up, k, 4], twists[up, k, 5],
                    )  # fmt: skip
                else:
                    l0, l1, l2 = twists[up, k, 0], twists[up, k, 1], twists[up, k, 2]
                    twists[i, k, 0] = X[0] * l0 + X[3] * l1 + X[6] * l2
                    twists[i, k, 1] = X[1] * l0 + X[4] * l1 + X[7] * l2
                    twists[i, k, 2] = X[2] * l0 + X[5] * l1 + X[8] * l2
            l0, l1, l2, w0, w1, w2 = _to_child(
                X, twists[up, VELOCITY, 0], twists[up, VELOCITY, 1], twists[up, VELOCITY, 2],
                twists[up, VELOCITY, 3], twists[up, VELOCITY, 4], twists[up, VELOCITY, 5],
            )  # fmt: skip
            b0, b1, b2, a0, a1, a2 = _to_child(
                X, twists[up, ACCELERATION, 0], twists[up, ACCELERATION, 1], twists[up, ACCELERATION, 2],
                twists[up, ACCELERATION, 3], twists[up, ACCELERATION, 4], twists[up, ACCELERATION, 5],
            )  # fmt: skip
            # own motion (x, y) = S v: V += S v, A += S a + V x S v, (l, w) x (x, y) = (w x x + l x y, w x y)
            x0 = x1 = x2 = y0 = y1 = y2 = 0.0
            for k in range(own[i]):
                v_k, a_k = v[s, v_index[i] + k], a[s, v_index[i] + k]
                x0 += S[i, k, 0] * v_k
                x1 += S[i, k, 1] * v_k
                x2 += S[i, k, 2] * v_k
                y0 += S[i, k, 3] * v_k
                y1 += S[i, k, 4] * v_k
                y2 += S[i, k, 5] * v_k
                b0 += S[i, k, 0] * a_k
                b1 += S[i, k, 1] * a_k
                b2 += S[i, k, 2] * a_k
                a0 += S[i, k, 3] * a_k
                a1 += S[i, k, 4] * a_k
                a2 += S[i, k, 5] * a_k
            b0 += w1 * x2 - w2 * x1 + l1 * y2 - l2 * y1
            b1 += w2 * x0 - w0 * x2 + l2 * y0 - l0 * y2
            b2 += w0 * x1 - w1 * x0 + l0 * y1 - l1 * y0
            a0 += w1 * y2 - w2 * y1
            a1 += w2 * y0 - w0 * y2
            a2 += w0 * y1 - w1 * y0
            l0, l1, l2, w0, w1, w2 = l0 + x0, l1 + x1, l2 + x2, w0 + y0, w1 + y1, w2 + y2
            twists[i, VELOCITY, 0], twists[i, VELOCITY, 1], twists[i, VELOCITY, 2] = l0, l1, l2
            twists[i, VELOCITY, 3], twists[i, VELOCITY, 4], twists[i, VELOCITY, 5] = w0, w1, w2
            twists[i, ACCELERATION, 0], twists[i, ACCELERATION, 1], twists[i, ACCELERATION, 2] = b0, b1, b2
            twists[i, ACCELERATION, 3], twists[i, ACCELERATION, 4], twists[i, ACCELERATION, 5] = a0, a1, a2
            if body[i] < 0:
                continue
            c0, c1, c2 = b0 + w1 * l2 - w2 * l1, b1 + w2 * l0 - w0 * l2, b2 + w0 * l1 - w1 * l0
            # the ten numbers of a row are linear in its twist: one column of M a component of (l, u)
            M[0, 0], M[0, 1], M[0, 2], M[0, 3] = c0, -w1 * w1 - w2 * w2, w0 * w1 - a2, w0 * w2 + a1
            M[1, 0], M[1, 1], M[1, 2], M[1, 3] = c1, w0 * w1 + a2, -w0 * w0 - w2 * w2, w1 * w2 - a0
            M[2, 0], M[2, 1], M[2, 2], M[2, 3] = c2, w0 * w2 - a1, w1 * w2 + a0, -w0 * w0 - w1 * w1
            M[3, 2], M[3, 3], M[4, 1], M[4, 3], M[5, 1], M[5, 2] = c2, -c1, -c2, c0, c1, -c0
            M[3, 4], M[3, 5], M[3, 6] = a0, a1 - w0 * w2, -w1 * w2
            M[3, 7], M[3, 8], M[3, 9] = a2 + w0 * w1, w1 * w1 - w2 * w2, w1 * w2
            M[4, 4], M[4, 5], M[4, 6] = w0 * w2, a0 + w1 * w2, a1
            M[4, 7], M[4, 8], M[4, 9] = w2 * w2 - w0 * w0, a2 - w0 * w1, -w0 * w2
            M[5, 4], M[5, 5], M[5, 6] = -w0 * w1, w0 * w0 - w1 * w1, w0 * w1
            M[5, 7], M[5, 8], M[5, 9] = a0 - w1 * w2, a1 + w0 * w2, a2
            for k in range(inherited + own[i]):
                at = offsets[pair]
                pair += 1
                l0, l1, l2 = twists[i, k, 0], twists[i, k, 1], twists[i, k, 2]
                if not turns[i, k]:
                    for r in range(4):
                        out[s, at + r] = M[0, r] * l0 + M[1, r] * l1 + M[2, r] * l2
                    for r in range(4, 10):
                        out[s, at + r] = 0.0
                    continue
                u0, u1, u2 = twists[i, k, 3], twists[i, k, 4], twists[i, k, 5]
                for r in range(4):
                    out[s, at + r] = (
                        M[0, r] * l0 + M[1, r] * l1 + M[2, r] * l2 + M[3, r] * u0 + M[4, r] * u1 + M[5, r] * u2
                    )
                for r in range(4, 10):
                    out[s, at + r] = M[3, r] * u0 + M[4, r] * u1 + M[5, r] * u2
