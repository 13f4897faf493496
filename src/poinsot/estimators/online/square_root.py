"""Kalman update of a square root of the covariance, P = B B^T, by orthogonal transformations.

A measurement row z = h^T x + nu, nu ~ N(0, 1 / w), with innovation e = z - h^T x and f = sqrt(w) B^T h, is one array

    [ 1  f^T ]           [ r     0  ]     Theta: d Givens rotations of column 0 with each of the others
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
6 d^2 operations, one whose h is zero next to nothing.

Process noise makes B the triangular factor of [a B, b U]^T, P = a^2 B B^T + b^2 U U^T.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Matrix, Vector
from ...kernels import njit


@njit(cache=True, error_model="numpy")
def update(
    B: Matrix, H: Matrix, y: Vector, w: Vector, step: Vector, B_next: Matrix, A: Matrix
) -> tuple[float, float, float]:
    """Write x+ - x to `step`, B+ to `B_next`, and H^T diag(w) H to `A`.

    Args:
        B: (d, d) root of the covariance.
        H: (n, d) measurement rows.
        y, w: (n,) innovations at x, and inverse variances of the measurements; 0 for rows that are not used.
        step: (d,). B_next, A: (d, d).

    Returns:
        y^T S^-1 y, log det S, and the number of rows used.
    """
    d, n = len(B), len(y)
    T = np.empty((d, d))  # B^T: a rotation then acts on rows, which are contiguous in memory
    for i in range(d):
        step[i] = 0.0
        for j in range(d):
            T[j, i] = B[i, j]
            A[i, j] = 0.0
    k = np.empty(d)
    square, log_det, rows = 0.0, 0.0, 0.0
    for m in range(n):
        # not read or not trusted
        if w[m] == 0.0:
            continue
        rows += 1.0
        log_det -= np.log(w[m])
        h, innovation, empty = H[m], y[m], True
        for i in range(d):
            # rows are processed in turn: the innovation of each is after the steps of those before
            innovation -= h[i] * step[i]
            if h[i] != 0.0:
                empty = False
                weighted = w[m] * h[i]
                # the lower half; the other is copied at the end
                for j in range(i + 1):
                    A[i, j] += weighted * h[j]
        if empty:
            square += w[m] * innovation * innovation
            continue
        root, r = np.sqrt(w[m]), 1.0
        k[:] = 0.0
        for j in range(d):
            f = 0.0
            for i in range(d):
                f += T[j, i] * h[i]
            f *= root
            # r is at least 1 and grows: no division by zero, and no cancellation
            longer = np.sqrt(r * r + f * f)
            cos, sin = r / longer, f / longer
            for i in range(d):
                t = T[j, i]
                T[j, i] = cos * t - sin * k[i]
                k[i] = cos * k[i] + sin * t
            r = longer
        z = root * innovation / r
        square += z * z
        log_det += 2 * np.log(r)
        for i in range(d):
            step[i] += z * k[i]
    for i in range(d):
        for j in range(d):
            B_next[i, j] = T[j, i]
            A[min(i, j), max(i, j)] = A[max(i, j), min(i, j)]
    return square, log_det, rows


@njit(cache=True, error_model="numpy")
def _is_lower(B: Matrix) -> bool:
    above = 0
    for i in range(len(B)):
        above += int(np.count_nonzero(B[i, i + 1 :]))
    return above == 0


@njit(cache=True, error_model="numpy")
def enlarge(B: Matrix, kept: float, U: Matrix, added: float, B_next: Matrix) -> None:
    """Write a lower triangular root of kept^2 B B^T + added^2 U U^T to B_next, by Householder's reflections.

    Args:
        B: (d, d). U: (d, e). B_next: (d, d).
    """
    X, lower = added * U, _is_lower(U)
    B_next[:] = kept * B
    if not _is_lower(B):
        X, lower = np.concatenate((B_next, X), axis=1), False
        B_next[:] = 0.0
    for j in range(len(B)):
        # reflect row j of [B_next, X] onto its first entry; triangular factors stay triangular
        end, square = min(j + 1, X.shape[1]) if lower else X.shape[1], B_next[j, j] ** 2
        for k in range(end):
            square += X[j, k] * X[j, k]
        # the sign that adds: the other one cancels
        alpha = -np.sqrt(square) if B_next[j, j] > 0 else np.sqrt(square)
        head = B_next[j, j] - alpha
        size = -alpha * head  # half of |v|^2, v = x - alpha e
        if size == 0.0:
            continue
        B_next[j, j] = alpha
        for r in range(j + 1, len(B)):
            total = head * B_next[r, j]
            for k in range(end):
                total += X[j, k] * X[r, k]
            total /= size
            B_next[r, j] -= total * head
            for k in range(end):
                X[r, k] -= total * X[j, k]
