"""Placements, twists and accelerations of all joints of a tree, in the world's axes: the first step of all kernels.

Quantities of a joint are about the joint's own origin, which avoids rounding errors for light bodies at the end of long
arms; from joint to joint only that point moves, by p. There freedom j is the twist J_j = (l, u), and a joint moves
with V = V_o + J v and A = A_o + J a + V_o x J v, o its other side (of the root A_o is -g). With x the cross product of
twists,

    (l, w) x (x, y) = (w x x + l x y, w x y)

Seen from the bodies behind joint j, its displacement moves all that is before it: their V changes by V_j = V_o x J_j,
and A by A_j = A_o x J_j + V_o x V_j, beside the effect of the new velocity. A change of its speed changes V by J_j, and
A by A'_j = V x J_j + V_j.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Matrix, Vector
from ...kernels import njit
from .tree import CONTINUOUS, DEGREES, FREE, PLANAR, PRISMATIC, TRANSLATION

STEP: dict[str, Any] = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}, "nogil": True}
"""Numba's options of the kernels of one sample. Without `error_model` each division would check for 0."""


@njit(**STEP)
def cross(x0: float, x1: float, x2: float, y0: float, y1: float, y2: float) -> tuple[float, float, float]:
    """x x y by components: scalars stay in registers where small arrays would be allocated."""
    return x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


@njit(**STEP)
def twist_cross(x: Vector, y: Vector, out: Vector) -> None:
    """out = x x y, twists."""
    a0, a1, a2 = cross(x[3], x[4], x[5], y[0], y[1], y[2])
    b0, b1, b2 = cross(x[0], x[1], x[2], y[3], y[4], y[5])
    c0, c1, c2 = cross(x[3], x[4], x[5], y[3], y[4], y[5])
    out[0], out[1], out[2], out[3], out[4], out[5] = a0 + b0, a1 + b1, a2 + b2, c0, c1, c2


@njit(**STEP)
def dot(x: Vector, y: Vector) -> float:
    """Power of a twist and a wrench, (6,) each."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] + x[5] * y[5]


@njit(**STEP)
def shift_wrench(f: Vector, r: Vector) -> None:
    """A wrench about a point that is r behind, in place."""
    c0, c1, c2 = cross(r[0], r[1], r[2], f[0], f[1], f[2])
    f[3] += c0
    f[4] += c1
    f[5] += c2


@njit(**STEP)
def joint_placement(kind: int, e: Vector, pitch: float, q: Vector, at: int, R: Matrix, p: Vector) -> None:
    """R, p of a joint's moving side on its fixed side."""
    if kind == TRANSLATION or kind == FREE:
        p[0], p[1], p[2] = q[at], q[at + 1], q[at + 2]
        at += 3
    else:
        p[0] = p[1] = p[2] = 0.0
    if kind == TRANSLATION:
        R[:] = np.eye(3)
    elif kind == PLANAR:
        cos, sin = q[at + 2], q[at + 3]
        R[:] = np.eye(3)
        R[0, 0], R[0, 1], R[1, 0], R[1, 1] = cos, -sin, sin, cos
        p[0], p[1] = q[at], q[at + 1]
    elif DEGREES[kind] > 1:
        i, j, k, w = q[at], q[at + 1], q[at + 2], q[at + 3]
        R[0, 0], R[0, 1], R[0, 2] = 1 - 2 * (j * j + k * k), 2 * (i * j - w * k), 2 * (i * k + w * j)
        R[1, 0], R[1, 1], R[1, 2] = 2 * (i * j + w * k), 1 - 2 * (i * i + k * k), 2 * (j * k - w * i)
        R[2, 0], R[2, 1], R[2, 2] = 2 * (i * k - w * j), 2 * (j * k + w * i), 1 - 2 * (i * i + j * j)
    else:
        along = 0.0
        if kind == CONTINUOUS:
            cos, sin = q[at], q[at + 1]
        elif kind == PRISMATIC:
            cos, sin, along = 1.0, 0.0, q[at]
        else:
            cos, sin, along = np.cos(q[at]), np.sin(q[at]), pitch * q[at]
        e0, e1, e2 = e[0], e[1], e[2]
        d0, d1, d2 = (1 - cos) * e0, (1 - cos) * e1, (1 - cos) * e2
        R[0, 0], R[0, 1], R[0, 2] = d0 * e0 + cos, d0 * e1 - sin * e2, d0 * e2 + sin * e1
        R[1, 0], R[1, 1], R[1, 2] = d1 * e0 + sin * e2, d1 * e1 + cos, d1 * e2 - sin * e0
        R[2, 0], R[2, 1], R[2, 2] = d2 * e0 - sin * e1, d2 * e1 + sin * e0, d2 * e2 + cos
        p[0], p[1], p[2] = along * e0, along * e1, along * e2


@njit(**STEP)
def outward(
    tree: tuple[np.ndarray, ...], gravity: Vector, q: Vector, v: Vector, a: Vector,
    R: np.ndarray, p: Matrix, V: Matrix, A: Matrix, J: Matrix, V_j: Matrix, A_j: Matrix, A_v: Matrix,
) -> None:  # fmt: skip
    """The motion of all joints at one sample.

    Args:
        tree: `Tree.arrays`. gravity: (3,); zeros for accelerations without -g. q, v, a: (nq,), (n,), (n,).
        R, p: (joints, 3, 3), (joints, 3) written: orientation, and the vector from the parent's origin to this one.
        V, A: (joints, 6) written. J: (n, 6) written.
        V_j, A_j, A_v: (n, 6) written, A_v being A'_j; or (0, 6): they are not computed.
    """
    parent, kind, rotation, translation, axis, pitch, q_index, v_index, _, subspace = tree
    R_q, p_q, world = np.empty((3, 3)), np.empty(3), np.eye(3)
    Vo, Ao, moving, across = np.empty(6), np.empty(6), np.empty(6), np.empty(6)
    for i in range(len(parent)):
        o = parent[i]
        joint_placement(kind[i], axis[i], pitch[i], q, q_index[i], R_q, p_q)
        _compose(R[o] if o >= 0 else world, rotation[i], translation[i], R_q, p_q, R[i], p[i])
        for r in range(3):
            Vo[r] = Vo[3 + r] = Ao[3 + r] = 0.0
            # the world accelerates upward, so that gravity is part of the inertial forces
            Ao[r] = -gravity[r]
        if o >= 0:
            _seen_ahead(V[o], p[i], Vo)
            _seen_ahead(A[o], p[i], Ao)
        for r in range(6):
            moving[r], A[i, r] = 0.0, Ao[r]
        first, last = v_index[i], v_index[i] + DEGREES[kind[i]]
        for j in range(first, last):
            s = subspace[i, j - first]
            for r in range(3):
                J[j, r] = R[i, r, 0] * s[0] + R[i, r, 1] * s[1] + R[i, r, 2] * s[2]
                J[j, 3 + r] = R[i, r, 0] * s[3] + R[i, r, 1] * s[4] + R[i, r, 2] * s[5]
            for r in range(6):
                moving[r] += J[j, r] * v[j]
                A[i, r] += J[j, r] * a[j]
        # V_o or V alike: J v x J v is 0
        twist_cross(Vo, moving, across)
        for r in range(6):
            V[i, r] = Vo[r] + moving[r]
            A[i, r] += across[r]
        # at most four more products per freedom, which motion without slopes does not need
        if len(V_j):
            for j in range(first, last):
                twist_cross(Ao, J[j], A_j[j])
                twist_cross(V[i], J[j], A_v[j])
                twist_cross(Vo, J[j], V_j[j])
                twist_cross(Vo, V_j[j], across)
                for r in range(6):
                    A_j[j, r] += across[r]
                    A_v[j, r] += V_j[j, r]


@njit(**STEP)
def _compose(R_o, rotation, translation, R_q, p_q, R, p):
    """R = R_o rotation R_q and p = R_o (translation + rotation p_q)."""
    for r in range(3):
        p[r] = 0.0
        x = (
            R_o[r, 0] * rotation[0, 0] + R_o[r, 1] * rotation[1, 0] + R_o[r, 2] * rotation[2, 0],
            R_o[r, 0] * rotation[0, 1] + R_o[r, 1] * rotation[1, 1] + R_o[r, 2] * rotation[2, 1],
            R_o[r, 0] * rotation[0, 2] + R_o[r, 1] * rotation[1, 2] + R_o[r, 2] * rotation[2, 2],
        )
        for c in range(3):
            p[r] += R_o[r, c] * translation[c] + x[c] * p_q[c]
            R[r, c] = x[0] * R_q[0, c] + x[1] * R_q[1, c] + x[2] * R_q[2, c]


@njit(**STEP)
def _seen_ahead(x, p, out):
    """out = x about a point that is p ahead, a twist."""
    c0, c1, c2 = cross(x[3], x[4], x[5], p[0], p[1], p[2])
    out[0], out[1], out[2] = x[0] + c0, x[1] + c1, x[2] + c2
    out[3], out[4], out[5] = x[3], x[4], x[5]
