"""Kalman's update on a square root of the covariance, P = B B^T, so that P is symmetric and positive whatever happens.

With measurement z = H x + nu, nu ~ N(0, diag(1 / w)), innovation y = z - H x, and w_i = 0 for rows not to be trusted:

    A = H^T diag(w) H,  g = H^T diag(w) y,   M = 1 + B^T A B = C C^T,   u = C^-1 B^T g
    x+ = x + B C^-T u                        seed 004, Eq. 11, by the matrix inversion lemma
    B+ = B C^-T                              P+ = B M^-1 B^T
    y^T S^-1 y = y^T diag(w) y - u^T u       the normalized innovation squared (Eq. 22)
    log det S = log det M - sum of log w_i

Everything is as small as the state: a robot with forty rows costs no more than one with four, but for A. Process noise
makes B the triangular factor of [a B, b U]^T, P = a^2 B B^T + b^2 U U^T.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...arrays import Matrix, Vector


@njit(cache=True, error_model="numpy")
def update(
    B: Matrix, H: Matrix, y: Vector, w: Vector, step: Vector, B_next: Matrix, A: Matrix
) -> tuple[float, float, float]:
    """Write x+ - x to `step`, B+ to `B_next`, and H^T diag(w) H to `A`.

    Args:
        B: (d, d). H: (n, d). y, w: (n,).
        step: (d,). B_next, A: (d, d).

    Returns:
        y^T S^-1 y, log det S, and the number of trusted rows.
    """
    d, n = len(B), len(y)
    g = np.zeros(d)
    A[:] = 0.0
    square, log_det, rows = 0.0, 0.0, 0.0
    for i in range(n):
        if w[i] == 0.0:
            continue
        rows += 1.0
        log_det -= np.log(w[i])
        square += w[i] * y[i] * y[i]
        for j in range(d):
            h = w[i] * H[i, j]
            if h == 0.0:
                continue
            g[j] += h * y[i]
            for k in range(j + 1):
                A[j, k] += h * H[i, k]
    for j in range(d):
        for k in range(j):
            A[k, j] = A[j, k]
    # C lower triangular of 1 + B^T A B
    AB = A @ B
    C = B.T @ AB
    for j in range(d):
        C[j, j] += 1.0
    for j in range(d):
        for k in range(j + 1):
            total = C[j, k]
            for r in range(k):
                total -= C[j, r] * C[k, r]
            C[j, k] = np.sqrt(total) if j == k else total / C[k, k]
        log_det += 2 * np.log(C[j, j])
    u = np.empty(d)
    for j in range(d):
        total = 0.0
        for r in range(d):
            total += B[r, j] * g[r]
        for k in range(j):
            total -= C[j, k] * u[k]
        u[j] = total / C[j, j]
        square -= u[j] * u[j]
    # rows of B C^-T: solve C b = (row of B)
    for r in range(d):
        step[r] = 0.0
        for j in range(d):
            total = B[r, j]
            for k in range(j):
                total -= C[j, k] * B_next[r, k]
            B_next[r, j] = total / C[j, j]
            step[r] += B_next[r, j] * u[j]
    return max(square, 0.0), log_det, rows


@njit(cache=True, error_model="numpy")
def enlarge(B: Matrix, kept: float, U: Matrix, added: float, B_next: Matrix) -> None:
    """Write a lower triangular root of kept^2 B B^T + added^2 U U^T to B_next, by Householder's reflections.

    Args:
        B: (d, d). U: (d, e). B_next: (d, d).
    """
    d, e = len(B), U.shape[1]
    X = np.empty((d, d + e))
    for r in range(d):
        for c in range(d):
            X[r, c] = kept * B[r, c]
        for c in range(e):
            X[r, d + c] = added * U[r, c]
    for j in range(d):
        # reflect columns j.. so that row j keeps its first entry alone
        norm = 0.0
        for k in range(j, d + e):
            norm += X[j, k] * X[j, k]
        norm = np.sqrt(norm)
        if norm == 0.0:
            continue
        alpha = -norm if X[j, j] > 0 else norm
        head = X[j, j] - alpha
        size = -alpha * head  # half of |v|^2, v = x - alpha e
        if size == 0.0:
            continue
        X[j, j] = head
        for r in range(j + 1, d):
            total = 0.0
            for k in range(j, d + e):
                total += X[j, k] * X[r, k]
            total /= size
            for k in range(j, d + e):
                X[r, k] -= total * X[j, k]
        X[j, j] = alpha
        for k in range(j + 1, d + e):
            X[j, k] = 0.0
    for r in range(d):
        for c in range(d):
            B_next[r, c] = X[r, c] if c <= r else 0.0
