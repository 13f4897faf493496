"""Kalman update of a triangular root of the covariance, P = B B^T, by orthogonal transformations.

A measurement row z = h^T x + nu, nu ~ N(0, 1 / w), with innovation e = z - h^T x and f = sqrt(w) B^T h, is one array

    [ 1  f^T ]           [ r     0  ]     Theta: d Givens rotations of column 0 with each of the others, last first
    [ 0  B   ] Theta  =  [ k     B+ ]

    r^2 = 1 + f^T f            w times the variance of e
    x+ = x + k sqrt(w) e / r   Kalman's update, Eq. 11 of the paper
    B+ B+^T = P+

(Bierman 1977, Ch. V; Kaminski, Bryson and Schmidt 1971.) Rows with independent noise are processed one after the other,
so that

    y^T S^-1 y = sum of w e^2 / r^2       the normalized innovation squared (Eq. 22)
    log det S  = sum of log(r^2 / w)

are sums of terms that are not negative. Nothing is squared: 1 + f^T f, or 1 + B^T H^T W H B of all rows at once, loses
the 1 where a measurement is 1e8 times more exact than the prior; r and the rotations keep it up to 1e16. A row costs
3 d^2 operations, as a lower triangular B stays one.

Process noise makes B the triangular factor of [a B, b U]^T, P = a^2 B B^T + b^2 U U^T.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Matrix, Vector
from ...kernels import njit

_FAST: dict[str, Any] = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(**_FAST)
def update(B: Matrix, H: Matrix, y: Vector, w: Vector, step: Vector) -> tuple[float, float]:
    """Write x+ - x to `step`, and B+ to `B`.

    Args:
        B: (d, d) lower triangular root of the covariance.
        H: (n, d) measurement rows.
        y, w: (n,) innovations at x, and inverse variances of the measurements; 0 for rows that are not used.
        step: (d,).

    Returns:
        y^T S^-1 y, and log det S + sum of log w.
    """
    d = len(B)
    f, cos, sin = np.empty(d), np.empty(d), np.empty(d)
    square, log_det = 0.0, 0.0
    step[:] = 0.0
    for m in range(len(y)):
        # not read or not trusted
        if w[m] == 0.0:
            continue
        root, e = np.sqrt(w[m]), y[m]
        f[:] = 0.0
        for i in range(d):
            # rows are processed in turn: the innovation of each is after the steps of those before
            e -= H[m, i] * step[i]
            for j in range(i + 1):
                f[j] += H[m, i] * B[i, j]
        # r^2 is at least 1 and grows: no division by zero, and no cancellation
        r_2, per_r = 1.0, 1.0
        for j in range(d - 1, -1, -1):
            r = r_2 * per_r
            f[j] *= root
            r_2 += f[j] * f[j]
            per_r = 1 / np.sqrt(r_2)
            cos[j], sin[j] = r * per_r, f[j] * per_r
        z = root * e * per_r
        square += z * z
        log_det += np.log(r_2)
        for i in range(d):
            k = 0.0
            for j in range(i, -1, -1):
                b = B[i, j]
                B[i, j], k = cos[j] * b - sin[j] * k, cos[j] * k + sin[j] * b
            step[i] += z * k
    return square, log_det


@njit(**_FAST)
def enlarge(B: Matrix, kept: float, U: Matrix, added: float) -> None:
    """Make B a root of kept^2 B B^T + added^2 U U^T, by Householder's reflections.

    Args:
        B, U: (d, d) lower triangular.
    """
    d = len(B)
    X = added * U
    for j in range(d):
        # reflect row j of [B, X] onto its first entry; triangular factors stay triangular
        head = kept * B[j, j]
        square = head * head
        for k in range(j + 1):
            square += X[j, k] * X[j, k]
        # the sign that adds: the other one cancels
        alpha = -np.sqrt(square) if head > 0 else np.sqrt(square)
        head -= alpha
        size = -alpha * head  # half of |v|^2, v = x - alpha e
        B[j, j] = alpha
        for r in range(j + 1, d):
            B[r, j] *= kept
            if size == 0.0:
                continue
            total = head * B[r, j]
            for k in range(j + 1):
                total += X[j, k] * X[r, k]
            total /= size
            B[r, j] -= total * head
            for k in range(j + 1):
                X[r, k] -= total * X[j, k]
