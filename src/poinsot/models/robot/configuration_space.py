"""Configurations of a robot as points of a manifold: q [+] d, q [-] p and their slopes, many at once.

Joints are flat, turn without limit (cosine and sine), or are curved: a ball R, or a floating base (R, p), both turning
in their own axes. With d = (v, w) and W = [w]x, |w| = t,

    Exp(w) = 1 + a W + b W^2       V(w) = 1 + b W + c W^2       (R, p) [+] d = (R Exp(w), p + R V v)
    a = sin t / t                  b = (1 - cos t) / t^2        c = (t - sin t) / t^3

Slopes are Pinocchio's: by q of q [+] d the adjoint of the inverse of Exp(d), by d

    [V(-w)  Q(-v, -w)]      Q(v, w) = X / 2 + c (W X + X W + W X W) + e (W^2 X + X W^2 - 3 W X W)
    [  0      V(-w)  ],               + f (W X W^2 + W^2 X W),   X = [v]x,    (Barfoot 2017, Eq. 7.86)
                            e = (t^2 + 2 cos t - 2) / (2 t^4),   f = (2 t - 3 sin t + t cos t) / (2 t^5)

The slope of y [-] x by y is the inverse of the slope by d at d = y [-] x; by x it is minus the inverse at -d. Below
t = 1 all of a to f are power series, which lose no digits. A planar joint moves as a floating base whose other freedoms
are held.

The shooting equation is f(x_k) [-] x_{k+1} = 0 (Martinez et al. 2024, Eq. 1; Sola et al. 2018). With J_x, J_y the
derivatives of y [-] x by small changes of either, changes d and d' of the two states satisfy it to first order if

    gap + J_y f_x d + J_x d' = 0     that is     d' = gap + T f_x d,   T = -J_x^-1 J_y

where gap itself is unchanged: a motion along the difference is straight. T is 1 where the gap is closed, and
everywhere in a flat space. On rotations it is Exp(gap).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ...arrays import Changes, Configurations, Float, JointSamples, States
from ...kernels import njit
from .joint_motion import STEP, cross
from .tree import CONTINUOUS, DEGREES, FREE, PLANAR, SPHERICAL, Tree


class Manifold(ABC):
    """A smooth space of states; all calls take a batch (T, ...).

    `size` numbers describe a state, `degrees` its changes.
    """

    size: int
    degrees: int

    @abstractmethod
    def integrate(self, x: States, d: Changes) -> States:
        """x [+] d, from the tangent at x."""

    @abstractmethod
    def difference(self, x: States, y: States) -> Changes:
        """y [-] x, the d for which x [+] d = y, in the tangent at x."""

    @abstractmethod
    def difference_jacobians(
        self, x: States, y: States
    ) -> tuple[Float[np.ndarray, "T n n"], Float[np.ndarray, "T n n"]]:
        """Derivatives of y [-] x by small changes of x and of y."""

    def carry(self, x: States, y: States, *changes: Float[np.ndarray, "T n _"]) -> tuple[np.ndarray, ...]:
        """T times changes of y: the changes of x that keep y [-] x, to first order.

        Manifolds that are flat, or flat except for a few components, should override this for speed.
        """
        by_x, by_y = self.difference_jacobians(x, y)
        T = -np.linalg.solve(by_x, by_y)
        return tuple(T @ change for change in changes)


SERIES_ANGLE = 1.0
"""Angle [rad] below which coefficients are computed by series."""


def integrate(tree: Tree, q: Configurations, d: JointSamples) -> Configurations:
    """q [+] d."""
    out = np.empty(q.shape)
    _integrate(tree.kind, tree.q_index, tree.v_index, np.ascontiguousarray(q), np.ascontiguousarray(d), out)
    return out


def difference(tree: Tree, p: Configurations, q: Configurations) -> JointSamples:
    """q [-] p, the d for which p [+] d = q."""
    out = np.empty((len(q), tree.degrees_of_freedom))
    _difference(tree.kind, tree.q_index, tree.v_index, np.ascontiguousarray(p), np.ascontiguousarray(q), out)
    return out


def integrate_slopes(d: np.ndarray, planar: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(T, k, k) slopes of q [+] d by q and by d (T, k), of a ball or a plane, k = 3, or a floating base, k = 6."""
    T, k = len(d), 6 if planar else d.shape[1]
    whole = np.zeros((T, k))
    whole[:, PLANE if planar else slice(None)] = d
    by_q, by_d = np.zeros((2, T, k, k))
    kernel: Any = _integrate_slopes
    kernel(whole, by_q, by_d)
    # motions in a plane are a subgroup: the slopes along it are those of the whole group
    return (by_q[:, PLANE[:, None], PLANE], by_d[:, PLANE[:, None], PLANE]) if planar else (by_q, by_d)


def difference_slopes(d: np.ndarray, planar: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(T, k, k) slopes of y [-] x by x and by y, of such joints, at d = y [-] x (T, k)."""
    back, forth = (np.linalg.inv(integrate_slopes(sign * d, planar)[1]) for sign in (-1.0, 1.0))
    return -back, forth


def left_slopes(r: Float[np.ndarray, "T 3"]) -> Float[np.ndarray, "T 3 3"]:
    """V(r)^-1 = Jl^-1(r): turning R by the world's axes, Exp(phi) R, moves r = Log(R) by V(r)^-1 phi."""
    out, kernel = np.empty((len(r), 3, 3)), _left_inverses
    kernel(np.ascontiguousarray(r), out)
    return out


PLANE = np.array([0, 1, 5])
"""Freedoms of a planar joint among those of a floating base: x, y, turning about z."""


@njit(**STEP)
def _coefficients(t2):
    """a, b, c, e, f at the angle's square."""
    t = np.sqrt(t2)
    # `not <`: NaN takes the closed form, which keeps it NaN
    if not t < SERIES_ANGLE:
        s, c = np.sin(t), np.cos(t)
        return (
            s / t, (1 - c) / t2, (t - s) / (t2 * t), (t2 + 2 * c - 2) / (2 * t2 * t2),
            (2 * t - 3 * s + t * c) / (2 * t2 * t2 * t),
        )  # fmt: skip
    a = b = c = e = f = 0.0
    term = 1.0  # (-1)^k t^2k / (2k + 1)!
    for k in range(10):
        at = 2.0 * k + 2.0
        a += term
        b += term / at
        c += term / (at * (at + 1.0))
        e += term / (at * (at + 1.0) * (at + 2.0))
        f += (k + 1.0) * term / (at * (at + 1.0) * (at + 2.0) * (at + 3.0))
        term *= -t2 / (at * (at + 1.0))
    return a, b, c, e, f


@njit(**STEP)
def _cross_matrix(x, X):
    X[0, 0] = X[1, 1] = X[2, 2] = 0.0
    X[2, 1], X[0, 2], X[1, 0] = x[0], x[1], x[2]
    X[1, 2], X[2, 0], X[0, 1] = -x[0], -x[1], -x[2]


@njit(**STEP)
def _times(X, Y, Z):
    """Z = X Y, 3 x 3; Z may not be a factor."""
    for r in range(3):
        for c in range(3):
            Z[r, c] = X[r, 0] * Y[0, c] + X[r, 1] * Y[1, c] + X[r, 2] * Y[2, c]


@njit(**STEP)
def _left(w, W, W2, out):
    """V(w) into `out`; W and its square are written too."""
    _cross_matrix(w, W)
    _times(W, W, W2)
    _, b, c, _, _ = _coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    for i in range(3):
        for j in range(3):
            out[i, j] = b * W[i, j] + c * W2[i, j]
        out[i, i] += 1.0


@njit(**STEP)
def _left_inverse(w, W, W2, out):
    """V(w)^-1 into `out`; W and its square are written too."""
    _cross_matrix(w, W)
    _times(W, W, W2)
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    _, b, c, e, _ = _coefficients(t2)
    # 1 / t^2 - (1 + cos t) / (2 t sin t) = (1 - a / (2 b)) / t^2, and 2 b - a = t^2 (c - 2 e)
    z = (c - 2 * e) / (2 * b)
    for i in range(3):
        for j in range(3):
            out[i, j] = -0.5 * W[i, j] + z * W2[i, j]
        out[i, i] += 1.0


@njit(**STEP)
def _left_inverses(w, out):
    W, W2 = np.empty((3, 3)), np.empty((3, 3))
    for t in range(len(w)):
        _left_inverse(w[t], W, W2, out[t])


@njit(**STEP)
def _mixed(v, w, W, out, memory):
    """Q(v, w) into `out`, with W given."""
    X, WX, XW, WXW, A, B = memory[0], memory[1], memory[2], memory[3], memory[4], memory[5]
    _, _, c, e, f = _coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    _cross_matrix(v, X)
    _times(W, X, WX)
    _times(X, W, XW)
    _times(WX, W, WXW)
    _times(W, WX, A)
    _times(XW, W, B)
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.5 * X[i, j] + c * (WX[i, j] + XW[i, j] + WXW[i, j])
            out[i, j] += e * (A[i, j] + B[i, j] - 3 * WXW[i, j])
    _times(WXW, W, A)
    _times(W, WXW, B)
    for i in range(3):
        for j in range(3):
            out[i, j] += f * (A[i, j] + B[i, j])


@njit(**STEP)
def _integrate_slopes(d, by_q, by_d):
    T, k = d.shape
    memory = np.empty((11, 3, 3))
    W, W2, X, out, Y = memory[6], memory[7], memory[8], memory[9], memory[10]
    w, v, p = np.empty(3), np.empty(3), np.empty(3)
    for t in range(T):
        for r in range(3):
            w[r] = -d[t, k - 3 + r]
        _left(w, W, W2, out)
        a, b, _, _, _ = _coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        for i in range(3):
            for j in range(3):
                by_d[t, k - 3 + i, k - 3 + j] = out[i, j]
                by_q[t, k - 3 + i, k - 3 + j] = a * W[i, j] + b * W2[i, j]
            by_q[t, k - 3 + i, k - 3 + i] += 1.0
        if k == 3:
            continue
        for i in range(3):
            v[i] = -d[t, i]
            p[i] = 0.0  # V(-w) v = R^T p
            for j in range(3):
                by_d[t, i, j] = out[i, j]
                by_q[t, i, j] = by_q[t, 3 + i, 3 + j]
                p[i] += out[i, j] * d[t, j]
        # -R^T [p]x = -[R^T p]x R^T
        _cross_matrix(p, X)
        _times(X, by_q[t, 3:, 3:], Y)
        for i in range(3):
            for j in range(3):
                by_q[t, i, 3 + j] = -Y[i, j]
        _mixed(v, w, W, by_d[t, :3, 3:], memory)


@njit(**STEP)
def _rotated(x, y, z, w, v):
    """R v of the quaternion (x, y, z, w)."""
    a0, a1, a2 = cross(x, y, z, v[0], v[1], v[2])
    b0, b1, b2 = cross(x, y, z, a0, a1, a2)
    return v[0] + 2 * (w * a0 + b0), v[1] + 2 * (w * a1 + b1), v[2] + 2 * (w * a2 + b2)


@njit(**STEP)
def _product(x, y, z, r, X, Y, Z, R):
    """Product of two quaternions (x, y, z, r)."""
    c0, c1, c2 = cross(x, y, z, X, Y, Z)
    return (r * X + x * R + c0, r * Y + y * R + c1, r * Z + z * R + c2, r * R - x * X - y * Y - z * Z)


@njit(**STEP)
def _turn(q, at, w, out):
    """The quaternion out[at:] = q[at:] Exp(w), of the sign that is nearer to q."""
    t2 = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    a, _, _, _, _ = _coefficients(0.25 * t2)
    s, c = 0.5 * a, np.cos(0.5 * np.sqrt(t2))
    if c < 0:
        s, c = -s, -c
    o0, o1, o2, o3 = _product(q[at], q[at + 1], q[at + 2], q[at + 3], s * w[0], s * w[1], s * w[2], c)
    # one Newton step towards length 1: keeps rounding errors from growing along a recording, without a root
    unit = 0.5 * (3.0 - (o0 * o0 + o1 * o1 + o2 * o2 + o3 * o3))
    out[at], out[at + 1], out[at + 2], out[at + 3] = unit * o0, unit * o1, unit * o2, unit * o3


@njit(**STEP)
def _between(p, q, at, w):
    """w with p[at:] Exp(w) = q[at:], quaternions, |w| <= pi."""
    o0, o1, o2, o3 = _product(
        -p[at], -p[at + 1], -p[at + 2], p[at + 3], q[at], q[at + 1], q[at + 2], q[at + 3]
    )
    if o3 < 0:  # q and -q are the same rotation: use the shorter one
        o0, o1, o2, o3 = -o0, -o1, -o2, -o3
    length2 = o0 * o0 + o1 * o1 + o2 * o2
    length = np.sqrt(length2)
    # a series of arctan2(l, o3) / l, which is 0 / 0 at rest
    if length < 1e-6:
        scale = (2.0 - 2.0 * length2 / (3.0 * o3 * o3)) / o3
    else:
        scale = 2.0 * np.arctan2(length, o3) / length
    w[0], w[1], w[2] = scale * o0, scale * o1, scale * o2


@njit(**STEP)
def _turn_cosine(q, at, angle, out):
    """Cosine and sine out[at:] = q[at:] turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = c * q[at] - s * q[at + 1], s * q[at] + c * q[at + 1]
    unit = 0.5 * (3.0 - (x * x + y * y))
    out[at], out[at + 1] = unit * x, unit * y


@njit(**STEP)
def _angle_between(p, q, at):
    """The angle that turns cosine and sine p[at:] to q[at:]."""
    cosine = p[at] * q[at] + p[at + 1] * q[at + 1]
    return np.arctan2(p[at] * q[at + 1] - p[at + 1] * q[at], cosine)


@njit(**STEP)
def _integrate(kind, q_index, v_index, q, d, out):
    W, W2, V, step = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for t in range(len(q)):
        for i in range(len(kind)):
            at, dof = q_index[i], v_index[i]
            if kind[i] == FREE:
                w = d[t, dof + 3 : dof + 6]
                _left(w, W, W2, V)
                for r in range(3):
                    step[r] = V[r, 0] * d[t, dof] + V[r, 1] * d[t, dof + 1] + V[r, 2] * d[t, dof + 2]
                away = _rotated(q[t, at + 3], q[t, at + 4], q[t, at + 5], q[t, at + 6], step)
                for r in range(3):
                    out[t, at + r] = q[t, at + r] + away[r]
                _turn(q[t], at + 3, w, out[t])
            elif kind[i] == SPHERICAL:
                _turn(q[t], at, d[t, dof : dof + 3], out[t])
            elif kind[i] == CONTINUOUS:
                _turn_cosine(q[t], at, d[t, dof], out[t])
            elif kind[i] == PLANAR:
                w = d[t, dof + 2]
                a, b, _, _, _ = _coefficients(w * w)
                x, y = a * d[t, dof] - b * w * d[t, dof + 1], b * w * d[t, dof] + a * d[t, dof + 1]
                c, s = q[t, at + 2], q[t, at + 3]
                out[t, at], out[t, at + 1] = q[t, at] + c * x - s * y, q[t, at + 1] + s * x + c * y
                _turn_cosine(q[t], at + 2, w, out[t])
            else:
                for k in range(DEGREES[kind[i]]):
                    out[t, at + k] = q[t, at + k] + d[t, dof + k]


@njit(**STEP)
def _difference(kind, q_index, v_index, p, q, out):
    W, W2, V, away = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for t in range(len(q)):
        for i in range(len(kind)):
            at, dof = q_index[i], v_index[i]
            if kind[i] == FREE:
                w = out[t, dof + 3 : dof + 6]
                _between(p[t], q[t], at + 3, w)
                for r in range(3):
                    away[r] = q[t, at + r] - p[t, at + r]
                a0, a1, a2 = _rotated(-p[t, at + 3], -p[t, at + 4], -p[t, at + 5], p[t, at + 6], away)
                _left_inverse(w, W, W2, V)
                for r in range(3):
                    out[t, dof + r] = V[r, 0] * a0 + V[r, 1] * a1 + V[r, 2] * a2
            elif kind[i] == SPHERICAL:
                _between(p[t], q[t], at, out[t, dof : dof + 3])
            elif kind[i] == CONTINUOUS:
                out[t, dof] = _angle_between(p[t], q[t], at)
            elif kind[i] == PLANAR:
                w = _angle_between(p[t], q[t], at + 2)
                a, b, _, _, _ = _coefficients(w * w)
                x, y, c, s = q[t, at] - p[t, at], q[t, at + 1] - p[t, at + 1], p[t, at + 2], p[t, at + 3]
                x, y, size = c * x + s * y, c * y - s * x, a * a + b * b * w * w
                out[t, dof], out[t, dof + 1] = (a * x + b * w * y) / size, (a * y - b * w * x) / size
                out[t, dof + 2] = w
            else:
                for k in range(DEGREES[kind[i]]):
                    out[t, dof + k] = q[t, at + k] - p[t, at + k]
