"""Motion of frames of a robot at many states, with derivatives, in one call.

All quantities are in the axes of the frame F itself, whose velocity is V and whose acceleration is A. Seen from F, the
twists of `joint_motion` of a freedom j on the way to the world give its column of each slope:

    V by v, A by a:  J_j      V by q:  V_j      A by q:  A_j - V x V_j      A by v:  A'_j - V x J_j

Equal to Pinocchio's `getFrameAccelerationDerivatives`, its reference in the tests. From Python that costs 6 us a frame
and state; here a frame costs one walk to the world, well below 1 us.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..arrays import Configurations, JointSamples
from .frame_motion import FrameMotion, FrameSlopes
from .joint_motion import STEP, cross, outward, twist_cross
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
        tree.arrays,
        joints,
        placements,
        *(np.ascontiguousarray(x, dtype=float) for x in (q, v, a)),
        R,
        p,
        V,
        A,
        S,
    )
    none = np.broadcast_to(np.nan, (T, 6, n))
    by = [FrameSlopes(*S[:, k], *[none] * (4 - len(S))) if len(S) else None for k in range(F)]
    return [FrameMotion(R[k], p[k], V[k], A[k], by[k]) for k in range(F)]


@njit(**STEP)
def _seen(R, p, x, out):
    """out = R^T (l + u x p), R^T u: a twist seen from a frame at (R, p)."""
    d0, d1, d2 = cross(x[3], x[4], x[5], p[0], p[1], p[2])
    l0, l1, l2 = x[0] + d0, x[1] + d1, x[2] + d2
    for r in range(3):
        out[r] = R[0, r] * l0 + R[1, r] * l1 + R[2, r] * l2
        out[3 + r] = R[0, r] * x[3] + R[1, r] * x[4] + R[2, r] * x[5]


@njit(**STEP)
def _columns(S, t, j, columns):
    for k in range(len(S)):
        for r in range(6):
            S[k, t, r, j] = columns[k, r]


@njit(**STEP)
def _frame_motions(tree, joints, placements, q, v, a, R_out, p_out, V_out, A_out, S):
    parent, kind, _, _, _, _, _, v_index, _, _ = tree
    count, n, slopes = len(parent), v.shape[1], len(S) == 4
    R, p, p_w = np.empty((count, 3, 3)), np.empty((count, 3)), np.empty((count, 3))
    V, A, J, by = (
        np.empty((count, 6)),
        np.empty((count, 6)),
        np.empty((n, 6)),
        np.empty((3, n if slopes else 0, 6)),
    )
    V_j, A_j, A_v = by[0], by[1], by[2]
    no_gravity, away, columns, turning = np.zeros(3), np.empty(3), np.empty((4, 6)), np.empty(6)
    for t in range(len(v)):
        outward(tree, no_gravity, q[t], v[t], a[t], R, p, V, A, J, V_j, A_j, A_v)
        for i in range(count):
            for r in range(3):
                p_w[i, r] = p[i, r] + (p_w[parent[i], r] if parent[i] >= 0 else 0.0)
        for f in range(len(joints)):
            i, R_f, p_f, R_w = joints[f], placements[f, :3, :3], placements[f, :3, 3], R_out[f, t]
            if i < 0:
                R_w[:], p_out[f, t] = R_f, p_f
                V_out[f, t], A_out[f, t] = 0.0, 0.0
                continue
            for r in range(3):
                away[r] = R[i, r, 0] * p_f[0] + R[i, r, 1] * p_f[1] + R[i, r, 2] * p_f[2]
                p_out[f, t, r] = p_w[i, r] + away[r]
                for c in range(3):
                    R_w[r, c] = R[i, r, 0] * R_f[0, c] + R[i, r, 1] * R_f[1, c] + R[i, r, 2] * R_f[2, c]
            _seen(R_w, away, V[i], V_out[f, t])
            _seen(R_w, away, A[i], A_out[f, t])
            while i >= 0 and len(S):
                for j in range(v_index[i], v_index[i] + DEGREES[kind[i]]):
                    _seen(R_w, away, J[j], columns[0])
                    if slopes:
                        _seen(R_w, away, V_j[j], columns[1])
                        _seen(R_w, away, A_j[j], columns[2])
                        _seen(R_w, away, A_v[j], columns[3])
                        for k in range(2):  # by q from V_j, by v from J_j
                            twist_cross(V_out[f, t], columns[1 - k], turning)
                            for r in range(6):
                                columns[2 + k, r] -= turning[r]
                    _columns(S[:, f], t, j, columns)
                for r in range(3):
                    away[r] += p[i, r]
                i = parent[i]
