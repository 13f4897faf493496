"""The torque regressor over a whole recording: tau = Y(q, v, a) pi, one call for all samples.

In the frame of body i, with angular velocity w and acceleration alpha, and c the acceleration of the frame's origin
less gravity, its ten parameters pi = (m, h = m c_m, I) need the force and moment (Newton and Euler about the origin)

    f = m c + B h                    B = [alpha]x + w w^T - |w|^2 1
    n = h x c + I alpha + w x I w

A freedom that moves body i with the unit twist (l, u) (linear, angular) takes the effort l . f + u . n, so its row is

    m: l . c       h: B^T l + c x u       I: u alpha^T + (u x w) w^T, symmetrized

The twists of all degrees of freedom between the world and body i are carried outward with the frames, so a row costs
some sixty multiplications, and only blocks that are not zero by structure are computed. Source: Atkeson, An and
Hollerbach (1986); equal to Pinocchio's `computeJointTorqueRegressor`, its reference in the tests.

All quantities are kept for L samples at a time, the samples innermost: Q[r, s] is component r at sample s, and each
loop over s becomes vector instructions. For that LLVM must know how far rows are apart, hence the asserted shapes, and
must have few pairs of arrays to check for overlap, hence a small function for each step. A placement (R, p) is twelve
rows, R row by row; a twist (l, u) is six.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import Configurations, JointSamples, Matrix, Vector
from ...kernels import njit
from .tree import CONTINUOUS, DEGREES, FREE, PLANAR, PRISMATIC, TRANSLATION, Tree

L = 16
"""Samples at a time: enough to fill vector registers, few enough for all quantities to stay in the cache."""

KERNEL: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
"""Numba's options of a kernel."""
INLINE_KERNEL: dict[str, Any] = {**KERNEL, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of functions that only kernels call."""


def regressor_entries(
    tree: Tree, q: Configurations, v: JointSamples, a: JointSamples, out: np.ndarray | None = None
) -> np.ndarray:
    """The blocks that are not zero by structure.

    Args:
        tree: the robot. q, v, a: (T, nq), (T, n), (T, n) configurations, velocities, accelerations.
        out: (T, at least 10 K) array whose first 10 K columns to write; allocation takes longest.

    Returns:
        (T, 10 K): ten numbers for each of `tree.pairs`.
    """
    # one pair after the other: entries have no structural zeros between them
    columns = 10 * np.arange(len(tree.pairs[0]), dtype=np.int64)
    width = 10 * len(columns)
    if out is None:
        out = np.empty((len(q), width))
    return _fill(tree, q, v, a, columns, out)[:, :width]


def dense_regressor(tree: Tree, q: Configurations, v: JointSamples, a: JointSamples) -> np.ndarray:
    """(T, n, 10 l): the whole regressor, structural zeros included. Arguments as `regressor_entries`."""
    n, width = tree.degrees_of_freedom, 10 * tree.bodies
    dofs, bodies = tree.pairs
    out = _fill(tree, q, v, a, dofs * width + 10 * bodies, np.zeros((len(q), n * width)))
    return out.reshape(len(q), n, width)


def _fill(
    tree: Tree, q: Configurations, v: JointSamples, a: JointSamples, columns: np.ndarray, out: np.ndarray
) -> np.ndarray:
    """Write the ten numbers of each of `tree.pairs` to out[:, column : column + 10]."""
    assert len(out) == len(q) and out.shape[1] >= columns.max() + 10 and out.flags.c_contiguous
    motion, depth = side_by_side(tree, q, v, a), int(np.diff(tree.path[0]).max())
    twists, x, y = np.zeros((len(tree.arrays[0]) + 1, 2 + depth, 6, L)), (motion.shape[1], L), (depth, 10, L)
    work = (twists, *map(np.empty, (x, y, (12, L), (12, L), (12, L), (21, L))))
    _regressor(tree.arrays, tree.gravity, tree.path[0], motion, columns, out, work)
    return out


def side_by_side(tree: Tree, q: Configurations, v: JointSamples, a: JointSamples) -> np.ndarray:
    """(T, nq + 2 n) q, v and a, C-contiguous: for another layout all would be compiled again."""
    n = tree.degrees_of_freedom
    assert (q.shape[1], v.shape[1], a.shape[1]) == (tree.configuration_size, n, n), "q, v, a of another robot"
    return np.concatenate([q, v, a], axis=1, out=np.empty((len(q), q.shape[1] + 2 * n)))


# cos and sin: Taylor series on [-pi/2, pi/2] after subtracting multiples of pi, which is split in two so that this is
# exact up to 1e9 rad. Library functions would be called one sample at a time.
PI_HIGH = float(np.float32(np.pi))
PI_LOW = np.pi - PI_HIGH + math.sin(np.pi)  # sin(pi) is the rounding error of pi
COSINE = np.array([(-1) ** k / math.factorial(2 * k) for k in range(12)])
SINE = np.array([(-1) ** k / math.factorial(2 * k + 1) for k in range(11)])


@njit(**INLINE_KERNEL)
def cos_sin(x: Matrix, at: int, Q: Matrix) -> None:
    """cos q, sin q of the angle q = x[at] in the first rows of Q."""
    assert x.shape[1] == L and Q.shape[1] == L
    for s in range(L):
        half_turns = np.rint(x[at, s] * (1 / np.pi))
        r = x[at, s] - half_turns * PI_HIGH - half_turns * PI_LOW
        cos, sin = COSINE[11], 0.0
        for k in range(10, -1, -1):
            cos, sin = COSINE[k] + r * r * cos, SINE[k] + r * r * sin
        sign = 1 - 4 * abs(0.5 * half_turns - np.rint(0.5 * half_turns))
        Q[0, s], Q[1, s] = sign * cos, sign * r * sin


@njit(**INLINE_KERNEL)
def one_freedom_placement(kind: int, e: Vector, pitch: float, x: Matrix, at: int, Q: Matrix) -> None:
    """Q = (R, p) of a joint with an axis e: R = cos q 1 + sin q [e]x + (1 - cos q) e e^T, p along e."""
    assert x.shape[1] == L and Q.shape[1] == L
    if kind == CONTINUOUS:
        for s in range(L):
            Q[0, s], Q[1, s], Q[2, s] = x[at, s], x[at + 1, s], 0.0
    elif kind == PRISMATIC:
        for s in range(L):
            Q[0, s], Q[1, s], Q[2, s] = 1.0, 0.0, x[at, s]
    else:
        cos_sin(x, at, Q)
        for s in range(L):
            Q[2, s] = pitch * x[at, s]
    e0, e1, e2 = e[0], e[1], e[2]
    for s in range(L):
        cos, sin, along = Q[0, s], Q[1, s], Q[2, s]
        d0, d1, d2 = (1 - cos) * e0, (1 - cos) * e1, (1 - cos) * e2
        Q[0, s], Q[1, s], Q[2, s] = d0 * e0 + cos, d0 * e1 - sin * e2, d0 * e2 + sin * e1
        Q[3, s], Q[4, s], Q[5, s] = d1 * e0 + sin * e2, d1 * e1 + cos, d1 * e2 - sin * e0
        Q[6, s], Q[7, s], Q[8, s] = d2 * e0 - sin * e1, d2 * e1 + sin * e0, d2 * e2 + cos
        Q[9, s], Q[10, s], Q[11, s] = along * e0, along * e1, along * e2


@njit(**INLINE_KERNEL)
def several_freedoms_placement(kind: int, x: Matrix, at: int, Q: Matrix) -> None:
    """Q = (R, p) of a joint that turns about a point, shifts, or both."""
    assert x.shape[1] == L and Q.shape[1] == L
    for s in range(L):
        for r in range(12):
            Q[r, s] = 0.0
    if kind == TRANSLATION or kind == FREE:
        for s in range(L):
            Q[9, s], Q[10, s], Q[11, s] = x[at, s], x[at + 1, s], x[at + 2, s]
        at += 3
    if kind == TRANSLATION:
        for s in range(L):
            Q[0, s] = Q[4, s] = Q[8, s] = 1.0
    elif kind == PLANAR:
        for s in range(L):
            cos, sin = x[at + 2, s], x[at + 3, s]
            Q[0, s], Q[1, s], Q[3, s], Q[4, s], Q[8, s] = cos, -sin, sin, cos, 1.0
            Q[9, s], Q[10, s] = x[at, s], x[at + 1, s]
    else:
        for s in range(L):
            i, j, k, w = x[at, s], x[at + 1, s], x[at + 2, s], x[at + 3, s]
            Q[0, s], Q[1, s], Q[2, s] = 1 - 2 * (j * j + k * k), 2 * (i * j - w * k), 2 * (i * k + w * j)
            Q[3, s], Q[4, s], Q[5, s] = 2 * (i * j + w * k), 1 - 2 * (i * i + k * k), 2 * (j * k - w * i)
            Q[6, s], Q[7, s], Q[8, s] = 2 * (i * k - w * j), 2 * (j * k + w * i), 1 - 2 * (i * i + j * j)


@njit(**INLINE_KERNEL)
def place(R_0: Matrix, p_0: Vector, Q: Matrix, X: Matrix) -> None:
    """X = (R_0, p_0) Q: the joint's moving side in its parent's frame."""
    assert Q.shape[1] == L and X.shape[1] == L
    for s in range(L):
        for r in range(3):
            X[9 + r, s] = p_0[r] + R_0[r, 0] * Q[9, s] + R_0[r, 1] * Q[10, s] + R_0[r, 2] * Q[11, s]
            for c in range(3):
                X[3 * r + c, s] = R_0[r, 0] * Q[c, s] + R_0[r, 1] * Q[3 + c, s] + R_0[r, 2] * Q[6 + c, s]


@njit(**INLINE_KERNEL)
def carry_twists(X: Matrix, x: np.ndarray, count: int, y: np.ndarray) -> None:
    """y = X^-1 x: the first `count` twists of the parent, seen in the child's frame: R^T (l + u x p), R^T u."""
    assert X.shape[1] == L and x.shape[1] == 6 and x.shape[2] == L and y.shape[1] == 6 and y.shape[2] == L
    for k in range(count):
        for s in range(L):
            u0, u1, u2, p0, p1, p2 = x[k, 3, s], x[k, 4, s], x[k, 5, s], X[9, s], X[10, s], X[11, s]
            l0 = x[k, 0, s] + u1 * p2 - u2 * p1
            l1 = x[k, 1, s] + u2 * p0 - u0 * p2
            l2 = x[k, 2, s] + u0 * p1 - u1 * p0
            y[k, 0, s] = X[0, s] * l0 + X[3, s] * l1 + X[6, s] * l2
            y[k, 1, s] = X[1, s] * l0 + X[4, s] * l1 + X[7, s] * l2
            y[k, 2, s] = X[2, s] * l0 + X[5, s] * l1 + X[8, s] * l2
            y[k, 3, s] = X[0, s] * u0 + X[3, s] * u1 + X[6, s] * u2
            y[k, 4, s] = X[1, s] * u0 + X[4, s] * u1 + X[7, s] * u2
            y[k, 5, s] = X[2, s] * u0 + X[5, s] * u1 + X[8, s] * u2


@njit(**INLINE_KERNEL)
def own_motion(S: Matrix, x: Matrix, v: int, a: int, J: Matrix) -> None:
    """J = S v, S a for a joint whose speeds are rows v, v + 1, ... of x, and its accelerations rows a, ..."""
    assert J.shape[1] == L and x.shape[1] == L
    for s in range(L):
        for r in range(12):
            J[r, s] = 0.0
    for k in range(len(S)):
        for s in range(L):
            for r in range(6):
                J[r, s] += S[k, r] * x[v + k, s]
                J[6 + r, s] += S[k, r] * x[a + k, s]


@njit(**INLINE_KERNEL)
def advance(J: Matrix, V: Matrix, A: Matrix, M: Matrix) -> None:
    """Add the joint's own motion (x, y) = S v to the parent's: V += S v, A += S a + V x S v with

        (l, w) x (x, y) = (w x x + l x y, w x y)

    and collect in M the terms of the regressor's rows: c, alpha, B, products and differences of squares of w.
    """
    assert J.shape[1] == L and V.shape[1] == L and A.shape[1] == L and M.shape[1] == L
    for s in range(L):
        x0, x1, x2, y0, y1, y2 = J[0, s], J[1, s], J[2, s], J[3, s], J[4, s], J[5, s]
        l0, l1, l2, w0, w1, w2 = V[0, s], V[1, s], V[2, s], V[3, s], V[4, s], V[5, s]
        b0 = A[0, s] + J[6, s] + w1 * x2 - w2 * x1 + l1 * y2 - l2 * y1
        b1 = A[1, s] + J[7, s] + w2 * x0 - w0 * x2 + l2 * y0 - l0 * y2
        b2 = A[2, s] + J[8, s] + w0 * x1 - w1 * x0 + l0 * y1 - l1 * y0
        a0 = A[3, s] + J[9, s] + w1 * y2 - w2 * y1
        a1 = A[4, s] + J[10, s] + w2 * y0 - w0 * y2
        a2 = A[5, s] + J[11, s] + w0 * y1 - w1 * y0
        l0, l1, l2, w0, w1, w2 = l0 + x0, l1 + x1, l2 + x2, w0 + y0, w1 + y1, w2 + y2
        V[0, s], V[1, s], V[2, s], V[3, s], V[4, s], V[5, s] = l0, l1, l2, w0, w1, w2
        A[0, s], A[1, s], A[2, s], A[3, s], A[4, s], A[5, s] = b0, b1, b2, a0, a1, a2
        M[0, s], M[1, s], M[2, s] = b0 + w1 * l2 - w2 * l1, b1 + w2 * l0 - w0 * l2, b2 + w0 * l1 - w1 * l0
        M[3, s], M[4, s], M[5, s] = a0, a1, a2
        M[6, s], M[7, s], M[8, s] = -w1 * w1 - w2 * w2, w0 * w1 - a2, w0 * w2 + a1
        M[9, s], M[10, s], M[11, s] = w0 * w1 + a2, -w0 * w0 - w2 * w2, w1 * w2 - a0
        M[12, s], M[13, s], M[14, s] = w0 * w2 - a1, w1 * w2 + a0, -w0 * w0 - w1 * w1
        M[15, s], M[16, s], M[17, s] = w1 * w2, w0 * w2, w0 * w1
        M[18, s], M[19, s], M[20, s] = w1 * w1 - w2 * w2, w2 * w2 - w0 * w0, w0 * w0 - w1 * w1


@njit(**INLINE_KERNEL)
def _rows(M, x, first, count, y):
    """y[k]: the ten numbers of the row of the twist x[first + k]."""
    assert M.shape[1] == L and x.shape[1] == 6 and x.shape[2] == L and y.shape[1] == 10 and y.shape[2] == L
    for k in range(count):
        for s in range(L):
            l0, l1, l2 = x[first + k, 0, s], x[first + k, 1, s], x[first + k, 2, s]
            u0, u1, u2 = x[first + k, 3, s], x[first + k, 4, s], x[first + k, 5, s]
            c0, c1, c2, a0, a1, a2 = M[0, s], M[1, s], M[2, s], M[3, s], M[4, s], M[5, s]
            B00, B01, B02 = M[6, s], M[7, s], M[8, s]
            B10, B11, B12 = M[9, s], M[10, s], M[11, s]
            B20, B21, B22 = M[12, s], M[13, s], M[14, s]
            y[k, 0, s] = c0 * l0 + c1 * l1 + c2 * l2
            y[k, 1, s] = B00 * l0 + B10 * l1 + B20 * l2 + c1 * u2 - c2 * u1
            y[k, 2, s] = B01 * l0 + B11 * l1 + B21 * l2 + c2 * u0 - c0 * u2
            y[k, 3, s] = B02 * l0 + B12 * l1 + B22 * l2 + c0 * u1 - c1 * u0
            y[k, 4, s] = a0 * u0 + M[16, s] * u1 - M[17, s] * u2
            y[k, 5, s] = B21 * u1 - B20 * u0 + M[20, s] * u2
            y[k, 6, s] = M[17, s] * u2 - M[15, s] * u0 + a1 * u1
            y[k, 7, s] = B10 * u0 + M[19, s] * u1 - B12 * u2
            y[k, 8, s] = M[18, s] * u0 - B01 * u1 + B02 * u2
            y[k, 9, s] = M[15, s] * u0 - M[16, s] * u1 + a2 * u2


@njit(**INLINE_KERNEL)
def gather_samples(motion: Matrix, t: int, x: Matrix) -> None:
    """x: samples t to t + L - 1 of (T, columns), samples innermost; the last sample again beyond the end."""
    assert x.shape[1] == L
    # always L samples: a loop of known length becomes vector instructions, one of any length does not
    last = len(motion) - 1
    for s in range(L):
        sample = min(t + s, last)
        for r in range(motion.shape[1]):
            x[r, s] = motion[sample, r]


@njit(**INLINE_KERNEL)
def _scatter(y, columns, t, out):
    """Samples t to t + L - 1 of out, as far as there are, from these columns on; eight samples at a time."""
    assert y.shape[1] == 10 and y.shape[2] == L
    end = min(L, len(out) - t)
    for s in range(0, end - 7, 8):
        for k in range(len(columns)):
            column = columns[k]
            for r in range(10):
                for e in range(8):
                    out[t + s + e, column + r] = y[k, r, s + e]
    for s in range(end - end % 8, end):
        for k in range(len(columns)):
            for r in range(10):
                out[t + s, columns[k] + r] = y[k, r, s]


@njit(**INLINE_KERNEL)
def start_twists(
    tree: tuple[np.ndarray, ...], gravity: Vector, start: np.ndarray, twists: np.ndarray
) -> None:
    """Write the twists of each joint, and of the world at the end, into zeros (joints + 1, 2 + depth, 6, L).

    Of joint i these are velocity and acceleration, then one for each degree of freedom between the world and i.
    """
    parent, kind, _, _, _, _, _, _, _, subspace = tree
    joints = len(parent)
    for r in range(3):
        for s in range(L):
            twists[joints, 1, r, s] = -gravity[r]
    for i in range(joints):
        inherited = 2 + start[i + 1] - start[i] - DEGREES[kind[i]]
        for k in range(DEGREES[kind[i]]):
            for r in range(6):
                for s in range(L):
                    twists[i, inherited + k, r, s] = subspace[i, k, r]


@njit(cache=True, **KERNEL)
def _regressor(tree, gravity, start, motion, columns, out, work):
    parent, kind, rotation, translation, axis, pitch, q_index, v_index, body, subspace = tree
    twists, x, y, Q, X, J, M = work
    start_twists(tree, gravity, start, twists)
    n = v_index[-1] + DEGREES[kind[-1]]
    nq = motion.shape[1] - 2 * n
    for t in range(0, len(motion), L):
        gather_samples(motion, t, x)
        pair = 0
        for i in range(len(kind)):
            moving = start[i + 1] - start[i]
            own = DEGREES[kind[i]]
            if own == 1:
                one_freedom_placement(kind[i], axis[i], pitch[i], x, q_index[i], Q)
            else:
                several_freedoms_placement(kind[i], x, q_index[i], Q)
            place(rotation[i], translation[i], Q, X)
            # parent -1 is the last entry, the world
            carry_twists(X, twists[parent[i]], 2 + moving - own, twists[i])
            own_motion(subspace[i, :own], x, nq + v_index[i], nq + n + v_index[i], J)
            advance(J, twists[i, 0], twists[i, 1], M)
            if body[i] >= 0:
                _rows(M, twists[i], 2, moving, y)
                _scatter(y, columns[pair : pair + moving], t, out)
                pair += moving
