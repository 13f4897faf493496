"""Mass matrix, inverse dynamics and their slopes at many states, one call for all.

With the motion of joints as in `joint_motion`, sums over the bodies that a joint carries are

    Y       mass m, first moment h, inertia I:  Y (x, y) = (m x + y x h,  h x x + I y)
    F       Y A + V x* Y V - f, the wrench that they need, f external;  (l, w) x* (f, n) = (w x f, w x n + l x f)
    D       how V x* Y V + (Y moving with V) responds to a change of V: with (p, k) = Y V

            D (x, y) = (2 y x p,  B y),     B = W I - I W + 2 (l . h) 1 - h l^T - l h^T - [k]x,   V = (l, w), W = [w]x

(the spatial formulas of Carpentier and Mansard 2018 leave these blocks; those of x vanish). Hence for freedom j on
joint i, or on one that i's joint carries,

    tau_i by q_j:   J_i . (Y A_j + D V_j + J_j x* F)      tau_i by v_j:   J_i . (Y A'_j + D J_j)     M_ij = J_i . Y J_j

with Y, D and F of the joint of j, and for j before i, or on the same joint, without J_j x* F and with those of i's.
About a point that is r behind, wrenches have n + r x f, Y has h + m r and more inertia (see `_add_shifted`), D has

    B + 2 (r . p) 1 - 2 p r^T

Equal to Pinocchio's `crba`, `rnea` and `computeRNEADerivatives`, its reference in the tests; from Python that costs a
multiple. Rotors are not in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Configurations, Float, JointSamples, Matrix, Vector
from ...kernels import njit
from .joint_motion import STEP, cross, dot, outward, shift_wrench
from .tree import DEGREES, Tree


def inverse_dynamics(
    tree: Tree,
    inertials: Float[np.ndarray, "l 10"],
    gravity: Vector,
    q: Configurations,
    v: JointSamples,
    a: JointSamples,
    slopes: bool = False,
    outside: tuple[np.ndarray, Float[np.ndarray, "T k 6"]] | None = None,
) -> tuple[Float[np.ndarray, "T n n"], np.ndarray]:
    """M (T, n, n) and the efforts (T, n) that accelerations `a` take; or slopes (T, n, n) of the efforts by q and v.

    Args:
        tree: the robot. inertials: pi of its bodies. gravity: (3,) [m/s^2].
        q, v, a: (T, nq), (T, n), (T, n).
        slopes: whether to compute slopes instead of M and efforts.
        outside: (k,) joints of the tree on which external wrenches act, and these wrenches in the frames of the
            joints [N], [N m]; None: there are none.
    """
    T, n = v.shape
    kernel: Any = inverse_dynamics_kernel
    M, tau, none = np.zeros((T, n, n)), np.empty((T, n)), np.empty((0, n, n))
    by_q, by_v = none, none
    if slopes:
        M, tau, (by_q, by_v) = none, none[:, 0], np.zeros((2, T, n, n))
    touched, wrenches = outside or (np.empty(0, dtype=np.int64), np.empty((T, 0, 6)))
    kernel(
        tree.arrays, np.ascontiguousarray(inertials), gravity,
        *(np.ascontiguousarray(x, dtype=float) for x in (q, v, a)), touched, np.ascontiguousarray(wrenches),
        M, tau, by_q, by_v,
    )  # fmt: skip
    return (by_q, by_v) if slopes else (M, tau)


_INLINED: dict[str, Any] = {**STEP, "inline": "always"}
"""Numba's options of steps with many arrays, whose passing would take longer than their use."""


@njit(**STEP)
def _add_wrench_cross(x, f, out):
    """out += x x* f, a twist and a wrench: (u x f, u x n + l x f)."""
    a0, a1, a2 = cross(x[3], x[4], x[5], f[0], f[1], f[2])
    b0, b1, b2 = cross(x[3], x[4], x[5], f[3], f[4], f[5])
    c0, c1, c2 = cross(x[0], x[1], x[2], f[0], f[1], f[2])
    out[0] += a0
    out[1] += a1
    out[2] += a2
    out[3] += b0 + c0
    out[4] += b1 + c1
    out[5] += b2 + c2


@njit(**STEP)
def inertia_times(Y: Vector, x: Vector, out: Vector) -> None:
    """out = Y x."""
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = Y[0], Y[1], Y[2], Y[3], Y[4], Y[5], Y[6], Y[7], Y[8], Y[9]
    l0, l1, l2, u0, u1, u2 = x[0], x[1], x[2], x[3], x[4], x[5]
    out[0] = m * l0 + u1 * h2 - u2 * h1
    out[1] = m * l1 + u2 * h0 - u0 * h2
    out[2] = m * l2 + u0 * h1 - u1 * h0
    out[3] = h1 * l2 - h2 * l1 + xx * u0 + xy * u1 + xz * u2
    out[4] = h2 * l0 - h0 * l2 + xy * u0 + yy * u1 + yz * u2
    out[5] = h0 * l1 - h1 * l0 + xz * u0 + yz * u1 + zz * u2


@njit(**STEP)
def turned_inertia(pi: Vector, R: Matrix, Y: Vector) -> None:
    """Y of a body whose frame is turned by R."""
    Y[0] = pi[0]
    k = 4
    for r in range(3):
        Y[1 + r] = R[r, 0] * pi[1] + R[r, 1] * pi[2] + R[r, 2] * pi[3]
        e0 = R[r, 0] * pi[4] + R[r, 1] * pi[5] + R[r, 2] * pi[7]
        e1 = R[r, 0] * pi[5] + R[r, 1] * pi[6] + R[r, 2] * pi[8]
        e2 = R[r, 0] * pi[7] + R[r, 1] * pi[8] + R[r, 2] * pi[9]
        for c in range(r + 1):
            Y[k] = e0 * R[c, 0] + e1 * R[c, 1] + e2 * R[c, 2]
            k += 1


@njit(**STEP)
def _add_shifted(Y, r, out):
    """out += Y about a point that is r behind: I + 2 (r . h) 1 - r h^T - h r^T + m (|r|^2 1 - r r^T)."""
    m, h0, h1, h2, r0, r1, r2 = Y[0], Y[1], Y[2], Y[3], r[0], r[1], r[2]
    g0, g1, g2 = 2 * h0 + m * r0, 2 * h1 + m * r1, 2 * h2 + m * r2
    # g = 2 h + m r, so that only r g^T symmetrized is subtracted
    trace = r0 * g0 + r1 * g1 + r2 * g2
    out[0] += m
    out[1] += h0 + m * r0
    out[2] += h1 + m * r1
    out[3] += h2 + m * r2
    out[4] += Y[4] + trace - r0 * g0
    out[5] += Y[5] - 0.5 * (r0 * g1 + r1 * g0)
    out[6] += Y[6] + trace - r1 * g1
    out[7] += Y[7] - 0.5 * (r0 * g2 + r2 * g0)
    out[8] += Y[8] - 0.5 * (r1 * g2 + r2 * g1)
    out[9] += Y[9] + trace - r2 * g2


@njit(**STEP)
def _response(Y, V, P, D):
    """D of a body as its p (3,) and B (9,), from V and P = Y V = (p, k)."""
    h0, h1, h2, xx, xy, yy, xz, yz, zz = Y[1], Y[2], Y[3], Y[4], Y[5], Y[6], Y[7], Y[8], Y[9]
    l0, l1, l2, w0, w1, w2 = V[0], V[1], V[2], V[3], V[4], V[5]
    D[0], D[1], D[2] = P[0], P[1], P[2]
    along = 2 * (l0 * h0 + l1 * h1 + l2 * h2)
    # W I, and with its transpose W I - I W
    a00, a01, a02 = w1 * xz - w2 * xy, w1 * yz - w2 * yy, w1 * zz - w2 * yz
    a10, a11, a12 = w2 * xx - w0 * xz, w2 * xy - w0 * yz, w2 * xz - w0 * zz
    a20, a21, a22 = w0 * xy - w1 * xx, w0 * yy - w1 * xy, w0 * yz - w1 * xz
    s01 = a01 + a10 - h0 * l1 - h1 * l0
    s02 = a02 + a20 - h0 * l2 - h2 * l0
    s12 = a12 + a21 - h1 * l2 - h2 * l1
    D[3] = 2 * (a00 - h0 * l0) + along
    D[7] = 2 * (a11 - h1 * l1) + along
    D[11] = 2 * (a22 - h2 * l2) + along
    D[4], D[6] = s01 + P[5], s01 - P[5]
    D[5], D[9] = s02 - P[4], s02 + P[4]
    D[8], D[10] = s12 + P[3], s12 - P[3]


@njit(**STEP)
def _add_response(D, x, out):
    """out += D x."""
    u0, u1, u2 = x[3], x[4], x[5]
    c0, c1, c2 = cross(u0, u1, u2, D[0], D[1], D[2])
    out[0] += 2 * c0
    out[1] += 2 * c1
    out[2] += 2 * c2
    out[3] += D[3] * u0 + D[4] * u1 + D[5] * u2
    out[4] += D[6] * u0 + D[7] * u1 + D[8] * u2
    out[5] += D[9] * u0 + D[10] * u1 + D[11] * u2


@njit(**STEP)
def _transposed_response(D, x, out):
    """out = the angular part of D^T x, which has no linear part."""
    c0, c1, c2 = cross(D[0], D[1], D[2], x[0], x[1], x[2])
    out[0] = 2 * c0 + D[3] * x[3] + D[6] * x[4] + D[9] * x[5]
    out[1] = 2 * c1 + D[4] * x[3] + D[7] * x[4] + D[10] * x[5]
    out[2] = 2 * c2 + D[5] * x[3] + D[8] * x[4] + D[11] * x[5]


@njit(**_INLINED)
def _add_behind(i, o, p, slopes, Y, F, D):
    """Add the sums of joint i to those of its parent; F[i] is shifted."""
    _add_shifted(Y[i], p, Y[o])
    shift_wrench(F[i], p)
    for r in range(6):
        F[o, r] += F[i, r]
    if not slopes:
        return
    along = 2 * (p[0] * D[i, 0] + p[1] * D[i, 1] + p[2] * D[i, 2])
    for r in range(3):
        D[o, r] += D[i, r]
        D[o, 3 + 4 * r] += along
        for c in range(3):
            D[o, 3 + 3 * r + c] += D[i, 3 + 3 * r + c] - 2 * D[i, r] * p[c]


@njit(**_INLINED)
def _mass_column(j, i, parent, kind, v_index, p, J, by_a, M):
    """Row and column j of M, of joint i, as far as the tree's root; by_a (6,) is Y J_j."""
    while True:
        for k in range(v_index[i], v_index[i] + DEGREES[kind[i]]):
            M[k, j] = M[j, k] = dot(J[k], by_a)
        if parent[i] < 0:
            return
        shift_wrench(by_a, p[i])
        i = parent[i]


@njit(**_INLINED)
def _slope_columns(j, i, parent, kind, v_index, p, J, V_j, A_j, A_v, back, by_a, of_q, of_v, by_q, by_v):
    """Rows and columns j, of joint i, as far as the tree's root.

    by_a = Y J_j, back (3,) is the angular part of D^T J_j; J_k is multiplied by of_q and of_v for the row of
    another freedom k.
    """
    own = i
    while True:
        for k in range(v_index[i], v_index[i] + DEGREES[kind[i]]):
            by_q[j, k] = dot(by_a, A_j[k]) + back[0] * V_j[k, 3] + back[1] * V_j[k, 4] + back[2] * V_j[k, 5]
            by_v[j, k] = dot(by_a, A_v[k]) + back[0] * J[k, 3] + back[1] * J[k, 4] + back[2] * J[k, 5]
            # on its own joint the line above covers both: J_j x* F is for freedoms before j
            if i != own:
                by_q[k, j], by_v[k, j] = dot(J[k], of_q), dot(J[k], of_v)
        if parent[i] < 0:
            return
        shift_wrench(by_a, p[i])
        shift_wrench(of_q, p[i])
        shift_wrench(of_v, p[i])
        i = parent[i]


@njit(**STEP)
def add_needed_wrench(Y: Vector, V: Vector, A: Vector, P: Vector, F: Vector) -> None:
    """F += Y A + V x* Y V, and P = Y V."""
    inertia_times(Y, A, P)
    for r in range(6):
        F[r] += P[r]
    inertia_times(Y, V, P)
    _add_wrench_cross(V, P, F)


@njit(**STEP)
def add_turned(R: Matrix, sign: float, f: Vector, out: Vector) -> None:
    """out += sign R f, a wrench."""
    for r in range(3):
        out[r] += sign * (R[r, 0] * f[0] + R[r, 1] * f[1] + R[r, 2] * f[2])
        out[3 + r] += sign * (R[r, 0] * f[3] + R[r, 1] * f[4] + R[r, 2] * f[5])


@njit(**STEP)
def inverse_dynamics_kernel(
    tree: Any, inertials: Any, gravity: Any, q: Any, v: Any, a: Any, touched: Any, wrenches: Any,
    M: Any, tau: Any, by_q: Any, by_v: Any,
) -> None:  # fmt: skip
    """`inverse_dynamics` into M (zeros) and tau, or into by_q and by_v (zeros) if these are not empty."""
    parent, kind, _, _, _, _, _, v_index, body, _ = tree
    joints, n, slopes = len(parent), v.shape[1], len(by_q) > 0
    R, p = np.empty((joints, 3, 3)), np.empty((joints, 3))
    V, A, F = np.empty((joints, 6)), np.empty((joints, 6)), np.empty((joints, 6))
    Y, D = np.empty((joints, 10)), np.empty((joints, 12))
    J, by = np.empty((n, 6)), np.empty((3, n if slopes else 0, 6))
    V_j, A_j, A_v = by[0], by[1], by[2]
    P, by_a, of_q, of_v, back = np.empty(6), np.empty(6), np.empty(6), np.empty(6), np.empty(3)
    for t in range(len(v)):
        outward(tree, gravity, q[t], v[t], a[t], R, p, V, A, J, V_j, A_j, A_v)
        Y[:], F[:], D[:] = 0.0, 0.0, 0.0
        for i in range(joints):
            if body[i] >= 0:
                turned_inertia(inertials[body[i]], R[i], Y[i])
                add_needed_wrench(Y[i], V[i], A[i], P, F[i])
                if slopes:
                    _response(Y[i], V[i], P, D[i])
        for k in range(len(touched)):
            add_turned(R[touched[k]], -1.0, wrenches[t, k], F[touched[k]])
        for i in range(joints - 1, -1, -1):
            for j in range(v_index[i], v_index[i] + DEGREES[kind[i]]):
                inertia_times(Y[i], J[j], by_a)
                if not slopes:
                    tau[t, j] = dot(J[j], F[i])
                    _mass_column(j, i, parent, kind, v_index, p, J, by_a, M[t])
                    continue
                inertia_times(Y[i], A_j[j], of_q)
                _add_response(D[i], V_j[j], of_q)
                _add_wrench_cross(J[j], F[i], of_q)
                inertia_times(Y[i], A_v[j], of_v)
                _add_response(D[i], J[j], of_v)
                _transposed_response(D[i], J[j], back)
                _slope_columns(
                    j, i, parent, kind, v_index, p, J, V_j, A_j, A_v, back, by_a, of_q, of_v, by_q[t], by_v[t]
                )  # fmt: skip
            if parent[i] >= 0:
                _add_behind(i, parent[i], p[i], slopes, Y, F, D)
