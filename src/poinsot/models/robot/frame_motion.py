"""The motion of frames of a robot at many states, and its derivatives by the state, in one call.

Velocities and accelerations are spatial, (linear l, angular w), in the frame's own axes. The material point at the
frame's origin accelerates by l' + w x l. Slopes by q are along the tangent of the configuration. With V and A of frame
F, the twists of `joint_motion` of a freedom j between F and the world, seen from F, give its column of each slope:

    V by v, A by a:  J_j      V by q:  V_j      A by q:  A_j - V x V_j      A by v:  A'_j - V x J_j

Equal to Pinocchio's `getFrameAccelerationDerivatives`, its reference in the tests. From Python that costs 6 us a frame
and state; here a frame costs one pass to the world, well below 1 us.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Configurations, Float, JointSamples
from ...kernels import njit
from .. import rotations
from ..rotations import skew
from .joint_motion import STEP, cross, outward, twist_cross
from .tree import DEGREES, Tree


@dataclass(frozen=True, eq=False)
class FrameSlopes:
    """Slopes at T states, each (T, 6, n).

    Args:
        jacobian: derivative of the velocity by v, and of the acceleration by a.
        velocity_by_q, acceleration_by_q, acceleration_by_v: the others; NaN where only Jacobians were requested.
    """

    jacobian: Float[np.ndarray, "T 6 n"]
    velocity_by_q: Float[np.ndarray, "T 6 n"]
    acceleration_by_q: Float[np.ndarray, "T 6 n"]
    acceleration_by_v: Float[np.ndarray, "T 6 n"]


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """A frame at T states.

    Args:
        rotation, position: (T, 3, 3), (T, 3) R_wf and p_w [m].
        velocity, acceleration: (T, 6) [m/s], [rad/s] and per second; gravity is not in it.
        slopes: None where they were not requested.
    """

    rotation: Float[np.ndarray, "T 3 3"]
    position: Float[np.ndarray, "T 3"]
    velocity: Float[np.ndarray, "T 6"]
    acceleration: Float[np.ndarray, "T 6"]
    slopes: FrameSlopes | None = None

    @property
    def by(self) -> FrameSlopes:
        """The slopes, which must have been requested."""
        assert self.slopes is not None, "the motion was evaluated without slopes"
        return self.slopes

    @property
    def point_acceleration(self) -> Float[np.ndarray, "T 3"]:
        """Acceleration of the material point at the origin [m/s^2]."""
        # a spatial acceleration is that of the point of space, not of the material
        return self.acceleration[:, :3] + rotations.cross(self.velocity[:, 3:], self.velocity[:, :3])

    def point_acceleration_slopes(
        self,
    ) -> tuple[Float[np.ndarray, "T 3 n"], Float[np.ndarray, "T 3 n"], Float[np.ndarray, "T 3 n"]]:
        """Derivatives of `point_acceleration` by q, v, a."""
        by = self.by
        by_q, by_v = by.acceleration_by_q[:, :3].copy(), by.acceleration_by_v[:, :3].copy()
        _add_turning(self.velocity, by.velocity_by_q, by_q)
        _add_turning(self.velocity, by.jacobian, by_v)
        return by_q, by_v, by.jacobian[:, :3]

    def turned(self, R: Float[np.ndarray, "3 3"], columns: bool) -> FrameMotion:
        """The motion of axes that are turned by R in the frame's own, at the same origin.

        Args:
            columns: whether slopes get three more columns, for a turn in the new axes: by q they are [x]x of a vector x
                there; by v and a they have no meaning.
        """
        T, slopes = len(self.rotation), self.slopes
        V, A = ((x.reshape(T, 2, 3) @ R) for x in (self.velocity, self.acceleration))
        if slopes is not None:
            own = [(R.T @ slope.reshape(T, 2, 3, -1)).reshape(T, 6, -1) for slope in vars(slopes).values()]
            if columns:
                turn, none = np.zeros((2, T, 6, 3))
                turn[:, 3:] = np.eye(3)
                more = (turn, skew(V).reshape(T, 6, 3), skew(A).reshape(T, 6, 3), none)
                own = [np.concatenate(pair, axis=2) for pair in zip(own, more, strict=True)]
            slopes = FrameSlopes(*own)
        return FrameMotion(self.rotation @ R, self.position, V.reshape(T, 6), A.reshape(T, 6), slopes)

    def seen_in_frame(
        self, vector: Float[np.ndarray, "3"]
    ) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3 n"] | None]:
        """A vector of the world in the frame's axes, R^T x, and its slopes by q, [R^T x]x J_w."""
        seen = vector @ self.rotation
        return seen, None if self.slopes is None else skew(seen) @ self.slopes.jacobian[:, 3:]


@njit(**STEP)
def _add_turning(V, slope, out):
    """out (T, 3, n) += w x l' - l x w' with V = (l, w) and its slope (l', w') (T, 6, n)."""
    # a kernel: array products would make six temporaries of this size
    T, _, n = slope.shape
    for t in range(T):
        l0, l1, l2, w0, w1, w2 = V[t]
        s, o = slope[t], out[t]
        for j in range(n):
            o[0, j] += w1 * s[2, j] - w2 * s[1, j] - l1 * s[5, j] + l2 * s[4, j]
            o[1, j] += w2 * s[0, j] - w0 * s[2, j] - l2 * s[3, j] + l0 * s[5, j]
            o[2, j] += w0 * s[1, j] - w1 * s[0, j] - l0 * s[4, j] + l1 * s[3, j]


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
        tree: the robot. joints: (F,) index in the tree of the joint that carries each frame, -1 for the world.
        placements: (F, 4, 4) T_jf in that joint's frame. q, v, a: (T, nq), (T, n), (T, n).
        slopes: whether slopes are computed.
        jacobians: without `slopes`: whether only `jacobian` is computed; the other slopes are NaN.
    """
    F, T, n = len(joints), len(v), tree.degrees_of_freedom
    R, p = np.empty((F, T, 3, 3)), np.empty((F, T, 3))
    V, A = np.empty((2, F, T, 6))
    S = np.zeros((4 if slopes else int(jacobians), F, T, 6, n))
    kernel: Any = _frame_motions
    motion = (np.ascontiguousarray(x, dtype=float) for x in (q, v, a))
    kernel(tree.arrays, joints, placements, *motion, R, p, V, A, S)
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
def _frame_motions(tree, joints, placements, q, v, a, R_out, p_out, V_out, A_out, S):
    parent, kind, _, _, _, _, _, v_index, _, _ = tree
    count, n, slopes = len(parent), v.shape[1], len(S) == 4
    R, p, p_w = np.empty((count, 3, 3)), np.empty((count, 3)), np.empty((count, 3))
    V, A, J = np.empty((count, 6)), np.empty((count, 6)), np.empty((n, 6))
    by = np.empty((3, n if slopes else 0, 6))
    V_j, A_j, A_v = by[0], by[1], by[2]
    # accelerations of motion only: the accelerometer model subtracts gravity itself
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
                    for k in range(len(S)):
                        for r in range(6):
                            S[k, f, t, r, j] = columns[k, r]
                for r in range(3):
                    away[r] += p[i, r]
                i = parent[i]
