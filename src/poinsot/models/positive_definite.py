"""Inverses of many small positive definite matrices, one call for all.

A = L L^T, W = L^-1 from its first row down, A^-1 = W^T W: every inner loop adds a multiple of one row to another, which
becomes vector instructions. LAPACK's, called one matrix at a time, is made for larger ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numba import njit


def inverses(A: Float[np.ndarray, "T n n"]) -> Float[np.ndarray, "T n n"]:
    """A^-1 of symmetric matrices, of which the lower halves are read; NaN where one is not positive definite."""
    out = np.empty(A.shape)
    kernel: Any = _inverses
    kernel(np.ascontiguousarray(A, dtype=float), out)
    return out


@njit(cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _inverses(A, out):
    n = A.shape[1]
    L, W = np.empty((n, n)), np.empty((n, n))
    for t in range(len(A)):
        for i in range(n):
            for j in range(i + 1):
                s = A[t, i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k]
                # NaN where s < 0, which goes through to the whole inverse
                L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
        for i in range(n):
            inverse = 1 / L[i, i]
            for c in range(i):
                W[i, c] = 0.0
            for k in range(i):
                factor = -L[i, k] * inverse
                for c in range(k + 1):
                    W[i, c] += factor * W[k, c]
            W[i, i] = inverse
        B = out[t]
        B[:] = 0.0
        for k in range(n):
            for i in range(k + 1):
                factor = W[k, i]
                for c in range(i + 1):
                    B[i, c] += factor * W[k, c]
        for i in range(n):
            for c in range(i):
                B[c, i] = B[i, c]
