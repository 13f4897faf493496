"""The update of a filter by one sample in one compiled call: innovation, linearization, square-root update.

    y = tau - bias - tau_nom - Y pi(x_i) - H (x - x_i),   H = Y D,  D = dpi/dx at x_i    Eqs. 14, 15, 19, 21
    x_i+1 = x + K y, B_i+1                                                               square_root, Eq. 11
    info+ = info + H^T R^-1 H

with the equations of Foster et al. (2024). With x_0 = x this is the extended filter; repeated until x_i converges, it
is the iterated one (Bell and Cathey 1993), whose x and B are the mode of the posterior and the curvature there. The
plain extended filter is overconfident after the first samples on a chart, which change the coordinates by much.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Matrix, Vector
from ...kernels import njit
from .square_root import update


@njit(cache=True, error_model="numpy")
def correct(
    q: Vector,
    v: Vector,
    a: Vector,
    tau: Vector,
    trusted: np.ndarray,
    bias: Vector,
    information: Vector,
    Y: Matrix,
    tau_nom: Vector,
    pi: np.ndarray,
    D: np.ndarray,
    at: Vector,
    longest: float,
    x: Vector,
    B: Matrix,
    info: Matrix,
    x_next: Vector,
    B_next: Matrix,
    info_next: Matrix,
) -> tuple[float, float, int, float]:
    """Write x+, B+ and info+ of one sample.

    Args:
        q, v, a, tau: (nq,), (n,), (n,), (n,). trusted: (n,) rows to use; those that are not finite are not.
        bias, information: (n,), (n,) 1 / R. Y, tau_nom: (n, 10 k), (n,).
        pi, D, at: (k, 10), (k, 10, 10), (d,) bodies and their Jacobian at x_i, and x_i.
        longest: largest change of a coordinate from x_i.
        x, B, info, x_next, B_next, info_next: (d,), (d, d), (d, d), before and after.

    Returns:
        y^T S^-1 y, log det S, the number of rows used (0 if the motion is not finite), and the nonlinearity of the
        chart along the step: the largest of step^2 / 2, the second order of e^step, in posterior standard deviations.
    """
    # unknown motion of one joint affects the efforts of all: no row of the sample can be used
    if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(a).all()):
        return np.nan, np.nan, 0, 0.0
    n, d = Y.shape
    H, w, y = np.zeros((n, d)), np.empty(n), np.empty(n)
    for i in range(n):
        expected = bias[i] + tau_nom[i]
        for b in range(len(pi)):
            for r in range(10):
                scale = Y[i, 10 * b + r]
                # most rows are zero: an open body affects only the base and the joints that carry it
                if scale != 0.0:
                    expected += scale * pi[b, r]
                    for c in range(10):
                        H[i, 10 * b + c] += scale * D[b, r, c]
        y[i] = tau[i] - expected
        # w = 0 marks a missing row for the update
        w[i] = information[i] if trusted[i] and np.isfinite(y[i]) else 0.0
        if w[i] == 0.0:
            y[i] = 0.0
            continue
        for j in range(d):
            # the innovation is at x, the linearization at x_i
            y[i] -= H[i, j] * (x[j] - at[j])
    step = np.empty(d)
    square, log_det, rows = update(B, H, y, w, step, B_next, info_next)
    furthest = 0.0
    for j in range(d):
        step[j] += x[j] - at[j]
        furthest = max(furthest, abs(step[j]))
    # all coordinates are scaled alike: the direction of the step is kept
    part = longest / furthest if furthest > longest else 1.0
    bend = 0.0
    for j in range(d):
        x_next[j] = at[j] + part * step[j]
        variance = 0.0
        for k in range(d):
            info_next[j, k] += info[j, k]
            variance += B_next[j, k] * B_next[j, k]
        # a chart is e^x in its coordinates, whose second order is step^2 / 2
        bend = max(bend, 0.5 * (part * step[j]) ** 2 / np.sqrt(variance))
    return square, log_det, int(rows), bend


@njit(cache=True, error_model="numpy")
def plausible(W: np.ndarray, pi: np.ndarray, least: float, largest: float) -> bool:
    """Whether the eigenvalues of J0^-1 J, those of M = W^T J W, lie between two bounds for all bodies.

    They do if and only if M - least 1 and largest 1 - M have Cholesky factors.

    Args:
        W: (k, 4, 4) with W^T J0 W = 1. pi: (k, 10).
    """
    J, C, M = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    for b in range(len(pi)):
        half = 0.5 * (pi[b, 4] + pi[b, 6] + pi[b, 9])
        J[0, 0], J[1, 1], J[2, 2], J[3, 3] = half - pi[b, 4], half - pi[b, 6], half - pi[b, 9], pi[b, 0]
        J[0, 1] = J[1, 0] = -pi[b, 5]
        J[0, 2] = J[2, 0] = -pi[b, 7]
        J[1, 2] = J[2, 1] = -pi[b, 8]
        for r in range(3):
            J[r, 3] = J[3, r] = pi[b, 1 + r]
        for A, X, product in ((J, W[b], C), (W[b].T.copy(), C, M)):
            for r in range(4):
                for c in range(4):
                    product[r, c] = (
                        A[r, 0] * X[0, c] + A[r, 1] * X[1, c] + A[r, 2] * X[2, c] + A[r, 3] * X[3, c]
                    )
        if not (_is_positive(M, 1.0, -least, C) and _is_positive(M, -1.0, largest, C)):
            return False
    return True


@njit(cache=True, error_model="numpy")
def _is_positive(M: Matrix, sign: float, shift: float, L: Matrix) -> bool:
    """Whether sign M + shift 1 is finite and positive definite; its Cholesky factor is written to L."""
    for c in range(4):
        for r in range(c, 4):
            total = sign * M[r, c] + (shift if r == c else 0.0)
            for k in range(c):
                total -= L[r, k] * L[c, k]
            # false of NaN too
            if r == c and not 0.0 < total < np.inf:
                return False
            L[r, c] = np.sqrt(total) if r == c else total / L[c, c]
    return True
