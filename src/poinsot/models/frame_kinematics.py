"""Motion of frames of a robot at many states, with derivatives, in one call.

All quantities are in the axes of the frame F itself. Column J_j of its Jacobian is the twist of freedom j, V = J v its
velocity. At joint c on the way to the world V_c is the velocity of the joint's moving side, V_o and A_o velocity and
acceleration of its other side (as if they carried F). With x the cross product of twists,
(l, w) x (x, y) = (w x x + l x y, w x y),

    V_o = V_c - J_c v_c,      A_o = A_c - J_c a_c - V_o x J_c v_c

To move joint j is to see all that is before it from a frame that has moved by J_j: V_o becomes V_o + V_o x J_j, what is
behind it stays. So the slopes by freedom j of joint c are

    V by q:  V_o x J_j                     A by v:  (V_o + V_c - V) x J_j
    V by v, A by a:  J_j                   A by q:  A_o x J_j + (V_o x J_j) x (V - V_o)

Equal to Pinocchio's `getFrameAccelerationDerivatives`, its reference in the tests. From Python that costs 6 us a frame
and state; here a frame costs one walk to the world, well below 1 us.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..arrays import Configurations, JointSamples
from .frame_motion import FrameMotion, FrameSlopes
from .link_torques import cross, outward_pass
from .tree import DEGREES, Tree


def frame_motions(
    tree: Tree,
    joints: np.ndarray,
    placements: np.ndarray,
    q: Configurations,
    v: JointSamples,
    a: JointSamples,
    slopes: bool,
    jacobians: bool = False,
) -> list[FrameMotion]:
    """The motion of F frames at T states.

    Args:
        tree: the robot.
        joints: (F,) index in the tree of the joint that carries each frame, -1 for the world.
        placements: (F, 4, 4) T_jf in that joint's frame.
        q, v, a: (T, nq), (T, n), (T, n).
        slopes: whether slopes are wanted.
        jacobians: if not, whether `jacobian` alone is; the other slopes are NaN then.
    """
    F, T, n = len(joints), len(v), tree.degrees_of_freedom
    R, p = np.empty((F, T, 3, 3)), np.empty((F, T, 3))
    V, A = np.empty((2, F, T, 6))
    S = np.zeros((4 if slopes else int(jacobians), F, T, 6, n))
    kernel: Any = _frame_motions
    kernel(
        tree.parent, tree.kind, tree.rotation, tree.translation, tree.axis, tree.pitch, tree.q_index, tree.v_index,
        tree.subspace, joints, placements, *(np.ascontiguousarray(x, dtype=float) for x in (q, v, a)),
        R, p, V, A, S,
    )  # fmt: skip
    none = np.broadcast_to(np.nan, (T, 6, n))
    by = [FrameSlopes(*S[:, k], *[none] * (4 - len(S))) if len(S) else None for k in range(F)]
    return [FrameMotion(R[k], p[k], V[k], A[k], by[k]) for k in range(F)]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _twist_cross(x, y, out):
    """out = x x y, twists."""
    a0, a1, a2 = cross(x[3], x[4], x[5], y[0], y[1], y[2])
    b0, b1, b2 = cross(x[0], x[1], x[2], y[3], y[4], y[5])
    c0, c1, c2 = cross(x[3], x[4], x[5], y[3], y[4], y[5])
    out[0], out[1], out[2], out[3], out[4], out[5] = a0 + b0, a1 + b1, a2 + b2, c0, c1, c2


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _seen(R, p, x, out):
    """out = R^T (l + u x p), R^T u: a twist seen from a frame at (R, p)."""
    d0, d1, d2 = cross(x[3], x[4], x[5], p[0], p[1], p[2])
    l0, l1, l2 = x[0] + d0, x[1] + d1, x[2] + d2
    for r in range(3):
        out[r] = R[0, r] * l0 + R[1, r] * l1 + R[2, r] * l2
        out[3 + r] = R[0, r] * x[3] + R[1, r] * x[4] + R[2, r] * x[5]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _compose(R_0, p_0, R_1, p_1, R, p):
    """(R, p) = (R_0, p_0) (R_1, p_1); the result may not be one of the factors."""
    for r in range(3):
        p[r] = p_0[r]
        for k in range(3):
            p[r] += R_0[r, k] * p_1[k]
        for c in range(3):
            R[r, c] = R_0[r, 0] * R_1[0, c] + R_0[r, 1] * R_1[1, c] + R_0[r, 2] * R_1[2, c]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _walk(i, parent, kind, v_index, subspace, R, p, R_f, p_f, v, a, V, A, S, t, memory):
    """Slopes of a frame at (R_f, p_f) on joint i, which moves with V and A, into S[:, t]."""
    J, moving, V_c, A_c, V_o, across, ahead, both, X, x, Y, y = memory
    X[:], x[:] = R_f, p_f
    V_c[0], A_c[0] = V, A
    while i >= 0:
        freedoms, first = DEGREES[kind[i]], v_index[i]
        moving[:] = 0.0  # J_c v_c, J_c a_c
        for k in range(freedoms):
            _seen(X, x, subspace[i, k], J[k])
            for r in range(6):
                moving[0, r] += J[k, r] * v[first + k]
                moving[1, r] += J[k, r] * a[first + k]
        for r in range(6):
            V_o[0, r] = V_c[0, r] - moving[0, r]
            ahead[0, r] = V[r] - V_o[0, r]
            both[0, r] = V_o[0, r] + V_c[0, r] - V[r]
        _twist_cross(V_o[0], moving[0], across[0])
        for r in range(6):
            A_c[0, r] -= moving[1, r] + across[0, r]  # now A_o
            V_c[0, r] = V_o[0, r]
        for k in range(freedoms):
            _twist_cross(V_o[0], J[k], across[0])
            _twist_cross(across[0], ahead[0], across[1])
            _twist_cross(A_c[0], J[k], across[2])
            _twist_cross(both[0], J[k], across[3])
            for r in range(6):
                S[0, t, r, first + k] = J[k, r]
                S[1, t, r, first + k] = across[0, r]
                S[2, t, r, first + k] = across[1, r] + across[2, r]
                S[3, t, r, first + k] = across[3, r]
        _compose(R[i], p[i], X, x, Y, y)
        X, x, Y, y = Y, y, X, x
        i = parent[i]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _columns(i, parent, kind, v_index, subspace, R, p, R_f, p_f, J, memory):
    """The Jacobian (6, n) of a frame at (R_f, p_f) on joint i, which begins as zeros."""
    columns, _, _, _, _, _, _, _, X, x, Y, y = memory
    column = columns[0]
    X[:], x[:] = R_f, p_f
    while i >= 0:
        for k in range(DEGREES[kind[i]]):
            _seen(X, x, subspace[i, k], column)
            for r in range(6):
                J[r, v_index[i] + k] = column[r]
        _compose(R[i], p[i], X, x, Y, y)
        X, x, Y, y = Y, y, X, x
        i = parent[i]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _frame_motions(
    parent, kind, rotation, translation, axis, pitch, q_index, v_index, subspace,
    joints, placements, q, v, a, R_out, p_out, V_out, A_out, S_out,
):  # fmt: skip
    count = len(parent)
    R, p = np.empty((count, 3, 3)), np.empty((count, 3))
    R_w, p_w = np.empty((count, 3, 3)), np.empty((count, 3))
    V, A = np.empty((count, 6)), np.empty((count, 6))
    no_gravity = np.zeros(3)
    memory = (
        np.empty((6, 6)), np.empty((2, 6)), np.empty((1, 6)), np.empty((1, 6)), np.empty((1, 6)), np.empty((4, 6)),
        np.empty((1, 6)), np.empty((1, 6)), np.empty((3, 3)), np.empty(3), np.empty((3, 3)), np.empty(3),
    )  # fmt: skip
    for t in range(len(v)):
        outward_pass(
            parent, kind, rotation, translation, axis, pitch, q_index, v_index, no_gravity, subspace,
            q[t], v[t], a[t], R, p, V, A,
        )  # fmt: skip
        for i in range(count):
            if parent[i] < 0:
                R_w[i], p_w[i] = R[i], p[i]
            else:
                _compose(R_w[parent[i]], p_w[parent[i]], R[i], p[i], R_w[i], p_w[i])
        for k in range(len(joints)):
            i = joints[k]
            R_f, p_f = placements[k, :3, :3], placements[k, :3, 3]
            if i < 0:
                R_out[k, t], p_out[k, t] = R_f, p_f
                V_out[k, t] = 0.0
                A_out[k, t] = 0.0
                continue
            _compose(R_w[i], p_w[i], R_f, p_f, R_out[k, t], p_out[k, t])
            _seen(R_f, p_f, V[i], V_out[k, t])
            _seen(R_f, p_f, A[i], A_out[k, t])
            if len(S_out) == 1:
                _columns(i, parent, kind, v_index, subspace, R, p, R_f, p_f, S_out[0, k, t], memory)
            elif len(S_out):
                _walk(
                    i, parent, kind, v_index, subspace, R, p, R_f, p_f, v[t], a[t], V_out[k, t], A_out[k, t],
                    S_out[:, k], t, memory,
                )  # fmt: skip
