"""Derivative of a weighted sum of the torque regressor's entries by the motion: d/d(q, v, a) of <G, Y(q, v, a)>.

The row of a twist (l, u) times ten numbers g = (m, h, I) is what a body with these parameters exerts along it,
l . f + u . n. So the sum over a body's rows is linear in twists and parameters alike, and with w, alpha, c as in
`torque_regressor` its derivatives are, row by row,

    by (l, u):   f(g), n(g)
    by c:        m l + u x h
    by alpha:    h x l + I u
    by w:        (w . h) l + (l . w) h - 2 (l . h) w + I w x u + I (u x w)

From the last body to the first they are carried back over the recursion that carried twists out (reverse mode).
Twists transform with X^-1, so their derivatives, which are forces, transform with X^-T; and as the motion subspace S is
constant in the joint's own frame, a small step dq turns every carried twist y into y + y x S dq:

    d/dq = - S . sum over y of (y x* b)          b: the derivative by y;  (l, w) x* (f, n) = (w x f, w x n + l x f)

With G_ki = lambda_k pi_i it is the derivative of sum_k lambda_k tau_k: Pinocchio's `computeRNEADerivatives`, a row of
it at the price of all. Samples are innermost, L at a time, as in `torque_regressor`.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Configurations, JointSamples
from ...kernels import njit
from .torque_regressor import (
    INLINE_KERNEL,
    KERNEL,
    L,
    advance,
    carry_twists,
    gather_samples,
    one_freedom_placement,
    own_motion,
    place,
    several_freedoms_placement,
    side_by_side,
    start_twists,
)
from .tree import DEGREES, Tree


def regressor_adjoint(
    tree: Tree, q: Configurations, v: JointSamples, a: JointSamples, G: np.ndarray
) -> tuple[JointSamples, JointSamples, JointSamples]:
    """The derivatives of sum(G * Y), sample by sample.

    Args:
        tree: the robot.
        q, v, a: (T, nq), (T, n), (T, n) configurations, velocities, accelerations.
        G: (T, 10 K) weights of the entries, ten for each of `tree.pairs`, as `regressor_entries` orders them.

    Returns:
        (T, n), (T, n), (T, n) by q, v and a. By q means by a small motion of each degree of freedom, which for angles
        and lengths is the coordinate itself.
    """
    n = tree.degrees_of_freedom
    assert G.shape == (len(q), 10 * len(tree.pairs[0]))
    motion = side_by_side(tree, q, v, a)
    out = np.empty((len(q), 3 * n))
    _adjoint(tree.arrays, tree.gravity, tree.path[0], motion, np.array(G, order="C", dtype=float), out)
    return out[:, :n], out[:, n : 2 * n], out[:, 2 * n :]


@njit(**INLINE_KERNEL)
def _weights(G, column, t, count, g):
    """g[k]: the ten weights of pair k after `column`, samples innermost; 0 beyond the end."""
    assert g.shape[1] == 10 and g.shape[2] == L
    for s in range(L):
        for k in range(count):
            for r in range(10):
                g[k, r, s] = G[t + s, column + 10 * k + r] if t + s < len(G) else 0.0


@njit(**INLINE_KERNEL)
def _rows_back(x, g, count, b):
    """Add to b the derivatives of sum over k of g[k] . row of x[2 + k], by all twists x of one body."""
    assert x.shape[1] == 6 and x.shape[2] == L and g.shape[1] == 10 and g.shape[2] == L
    assert b.shape[1] == 6 and b.shape[2] == L
    for k in range(count):
        for s in range(L):
            v0, v1, v2, w0, w1, w2 = x[0, 0, s], x[0, 1, s], x[0, 2, s], x[0, 3, s], x[0, 4, s], x[0, 5, s]
            a0, a1, a2 = x[1, 3, s], x[1, 4, s], x[1, 5, s]
            c0 = x[1, 0, s] + w1 * v2 - w2 * v1
            c1 = x[1, 1, s] + w2 * v0 - w0 * v2
            c2 = x[1, 2, s] + w0 * v1 - w1 * v0
            l0, l1, l2 = x[2 + k, 0, s], x[2 + k, 1, s], x[2 + k, 2, s]
            u0, u1, u2 = x[2 + k, 3, s], x[2 + k, 4, s], x[2 + k, 5, s]
            m, h0, h1, h2 = g[k, 0, s], g[k, 1, s], g[k, 2, s], g[k, 3, s]
            xx, xy, yy, xz, yz, zz = g[k, 4, s], g[k, 5, s], g[k, 6, s], g[k, 7, s], g[k, 8, s], g[k, 9, s]
            wh, ww = w0 * h0 + w1 * h1 + w2 * h2, w0 * w0 + w1 * w1 + w2 * w2
            Iw0, Iw1 = xx * w0 + xy * w1 + xz * w2, xy * w0 + yy * w1 + yz * w2
            Iw2 = xz * w0 + yz * w1 + zz * w2
            # force and moment of these parameters
            b[2 + k, 0, s] += m * c0 + a1 * h2 - a2 * h1 + wh * w0 - ww * h0
            b[2 + k, 1, s] += m * c1 + a2 * h0 - a0 * h2 + wh * w1 - ww * h1
            b[2 + k, 2, s] += m * c2 + a0 * h1 - a1 * h0 + wh * w2 - ww * h2
            b[2 + k, 3, s] += h1 * c2 - h2 * c1 + xx * a0 + xy * a1 + xz * a2 + w1 * Iw2 - w2 * Iw1
            b[2 + k, 4, s] += h2 * c0 - h0 * c2 + xy * a0 + yy * a1 + yz * a2 + w2 * Iw0 - w0 * Iw2
            b[2 + k, 5, s] += h0 * c1 - h1 * c0 + xz * a0 + yz * a1 + zz * a2 + w0 * Iw1 - w1 * Iw0
            # by c, and its parts by V and A
            d0, d1, d2 = m * l0 + u1 * h2 - u2 * h1, m * l1 + u2 * h0 - u0 * h2, m * l2 + u0 * h1 - u1 * h0
            b[1, 0, s] += d0
            b[1, 1, s] += d1
            b[1, 2, s] += d2
            b[0, 0, s] += d1 * w2 - d2 * w1
            b[0, 1, s] += d2 * w0 - d0 * w2
            b[0, 2, s] += d0 * w1 - d1 * w0
            # by alpha
            b[1, 3, s] += h1 * l2 - h2 * l1 + xx * u0 + xy * u1 + xz * u2
            b[1, 4, s] += h2 * l0 - h0 * l2 + xy * u0 + yy * u1 + yz * u2
            b[1, 5, s] += h0 * l1 - h1 * l0 + xz * u0 + yz * u1 + zz * u2
            # by w
            e0, e1, e2 = u1 * w2 - u2 * w1, u2 * w0 - u0 * w2, u0 * w1 - u1 * w0
            lw, lh = l0 * w0 + l1 * w1 + l2 * w2, 2 * (l0 * h0 + l1 * h1 + l2 * h2)
            b[0, 3, s] += (
                wh * l0 + lw * h0 - lh * w0 + Iw1 * u2 - Iw2 * u1 + xx * e0 + xy * e1 + xz * e2
                + v1 * d2 - v2 * d1
            )  # fmt: skip
            b[0, 4, s] += (
                wh * l1 + lw * h1 - lh * w1 + Iw2 * u0 - Iw0 * u2 + xy * e0 + yy * e1 + yz * e2
                + v2 * d0 - v0 * d2
            )  # fmt: skip
            b[0, 5, s] += (
                wh * l2 + lw * h2 - lh * w2 + Iw0 * u1 - Iw1 * u0 + xz * e0 + yz * e1 + zz * e2
                + v0 * d1 - v1 * d0
            )  # fmt: skip


@njit(**INLINE_KERNEL)
def _turn(x, b, sign, h):
    """h += sign x x* b, with (l, w) x* (f, n) = (w x f, w x n + l x f)."""
    assert x.shape[1] == L and b.shape[1] == L and h.shape[1] == L
    for s in range(L):
        l0, l1, l2, w0, w1, w2 = x[0, s], x[1, s], x[2, s], x[3, s], x[4, s], x[5, s]
        f0, f1, f2, n0, n1, n2 = b[0, s], b[1, s], b[2, s], b[3, s], b[4, s], b[5, s]
        h[0, s] += sign * (w1 * f2 - w2 * f1)
        h[1, s] += sign * (w2 * f0 - w0 * f2)
        h[2, s] += sign * (w0 * f1 - w1 * f0)
        h[3, s] += sign * (w1 * n2 - w2 * n1 + l1 * f2 - l2 * f1)
        h[4, s] += sign * (w2 * n0 - w0 * n2 + l2 * f0 - l0 * f2)
        h[5, s] += sign * (w0 * n1 - w1 * n0 + l0 * f1 - l1 * f0)


@njit(**INLINE_KERNEL)
def _advance_back(J, x, b, D):
    """The reverse of a joint's own motion: b[0], b[1] become derivatives by the parent's carried V and A, and D by S v.

    A = A_p + S a + V_p x S v, so b_Vp = b_V + S v x* b_A and D = b_V - V_p x* b_A.
    x[0], x[1] become V_p and A_p again.
    """
    assert J.shape[1] == L and D.shape[1] == L and x.shape[2] == L and b.shape[2] == L
    for s in range(L):
        for r in range(6):
            x[0, r, s] -= J[r, s]
            D[r, s] = b[0, r, s]
    for s in range(L):
        x0, x1, x2, y0, y1, y2 = J[0, s], J[1, s], J[2, s], J[3, s], J[4, s], J[5, s]
        l0, l1, l2, w0, w1, w2 = x[0, 0, s], x[0, 1, s], x[0, 2, s], x[0, 3, s], x[0, 4, s], x[0, 5, s]
        x[1, 0, s] -= J[6, s] + w1 * x2 - w2 * x1 + l1 * y2 - l2 * y1
        x[1, 1, s] -= J[7, s] + w2 * x0 - w0 * x2 + l2 * y0 - l0 * y2
        x[1, 2, s] -= J[8, s] + w0 * x1 - w1 * x0 + l0 * y1 - l1 * y0
        x[1, 3, s] -= J[9, s] + w1 * y2 - w2 * y1
        x[1, 4, s] -= J[10, s] + w2 * y0 - w0 * y2
        x[1, 5, s] -= J[11, s] + w0 * y1 - w1 * y0
    _turn(x[0], b[1], -1.0, D)
    _turn(J, b[1], 1.0, b[0])


@njit(**INLINE_KERNEL)
def _carry_back(X, b, count, b_parent):
    """The reverse of carrying twists to a child: b_parent += X^-T b, a force in its frame: R f, R n + p x R f."""
    assert X.shape[1] == L and b.shape[1] == 6 and b.shape[2] == L
    assert b_parent.shape[1] == 6 and b_parent.shape[2] == L
    for k in range(count):
        for s in range(L):
            f0, f1, f2, n0, n1, n2 = b[k, 0, s], b[k, 1, s], b[k, 2, s], b[k, 3, s], b[k, 4, s], b[k, 5, s]
            p0, p1, p2 = X[9, s], X[10, s], X[11, s]
            r0 = X[0, s] * f0 + X[1, s] * f1 + X[2, s] * f2
            r1 = X[3, s] * f0 + X[4, s] * f1 + X[5, s] * f2
            r2 = X[6, s] * f0 + X[7, s] * f1 + X[8, s] * f2
            b_parent[k, 0, s] += r0
            b_parent[k, 1, s] += r1
            b_parent[k, 2, s] += r2
            b_parent[k, 3, s] += X[0, s] * n0 + X[1, s] * n1 + X[2, s] * n2 + p1 * r2 - p2 * r1
            b_parent[k, 4, s] += X[3, s] * n0 + X[4, s] * n1 + X[5, s] * n2 + p2 * r0 - p0 * r2
            b_parent[k, 5, s] += X[6, s] * n0 + X[7, s] * n1 + X[8, s] * n2 + p0 * r1 - p1 * r0


@njit(**INLINE_KERNEL)
def _along(S, D, sign, column, t, out):
    """out[:, column + k] = sign S_k . D for the samples from t on, as far as there are."""
    assert D.shape[1] == L
    for s in range(min(L, len(out) - t)):
        for k in range(len(S)):
            total = 0.0
            for r in range(6):
                total += S[k, r] * D[r, s]
            out[t + s, column + k] = sign * total


@njit(cache=True, nogil=True, **KERNEL)
def _adjoint(tree, gravity, start, motion, G, out):
    parent, kind, rotation, translation, axis, pitch, q_index, v_index, body, subspace = tree
    joints, n = len(parent), out.shape[1] // 3
    nq = motion.shape[1] - 2 * n
    twists = np.zeros((joints + 1, 2 + (start[1:] - start[:-1]).max(), 6, L))
    start_twists(tree, gravity, start, twists)
    # cleared for each L samples, since the reverse pass adds to them
    forces = np.empty_like(twists)  # the derivatives by them
    first_pair, pairs = np.zeros(joints, np.int64), 0
    for i in range(joints):
        first_pair[i] = pairs
        if body[i] >= 0:
            pairs += start[i + 1] - start[i]
    x, g = np.empty((motion.shape[1], L)), np.empty((twists.shape[1] - 2, 10, L))
    Q, X, J = np.empty((12, L)), np.empty((joints, 12, L)), np.empty((joints, 12, L))
    D, M = np.empty((6, L)), np.empty((21, L))
    for t in range(0, len(motion), L):
        gather_samples(motion, t, x)
        for i in range(joints):
            own = DEGREES[kind[i]]
            if own == 1:
                one_freedom_placement(kind[i], axis[i], pitch[i], x, q_index[i], Q)
            else:
                several_freedoms_placement(kind[i], x, q_index[i], Q)
            place(rotation[i], translation[i], Q, X[i])
            carry_twists(X[i], twists[parent[i]], 2 + start[i + 1] - start[i] - own, twists[i])
            own_motion(subspace[i, :own], x, nq + v_index[i], nq + n + v_index[i], J[i])
            advance(J[i], twists[i, 0], twists[i, 1], M)
        forces[:] = 0.0
        for i in range(joints - 1, -1, -1):
            own, moving = DEGREES[kind[i]], start[i + 1] - start[i]
            if body[i] >= 0:
                _weights(G, 10 * first_pair[i], t, moving, g)
                _rows_back(twists[i], g, moving, forces[i])
            _along(subspace[i, :own], forces[i, 1], 1.0, 2 * n + v_index[i], t, out)
            # from here on V, A and the derivatives by them are those of the parent, in the child's frame
            _advance_back(J[i], twists[i], forces[i], D)
            _along(subspace[i, :own], D, 1.0, n + v_index[i], t, out)
            D[:] = 0.0
            for k in range(2 + moving - own):
                _turn(twists[i, k], forces[i, k], 1.0, D)
            _along(subspace[i, :own], D, -1.0, v_index[i], t, out)
            _carry_back(X[i], forces[i], 2 + moving - own, forces[parent[i]])
