"""Operations on symmetric banded matrices that SciPy lacks; a matrix is stored as its lower diagonals, (w, N)."""

from __future__ import annotations

import numpy as np

from .kernels import njit


@njit(cache=True)
def inverse_in_band(factor: np.ndarray) -> np.ndarray:
    """Entries of (L L^T)^-1 in the band of L, as lower diagonals like `factor` (Takahashi's recursion)."""
    w, N = factor.shape
    Z = np.zeros((w, N))
    for j in range(N - 1, -1, -1):
        reach = min(w - 1, N - 1 - j)
        pivot = factor[0, j]
        for i in range(reach, -1, -1):
            total = 0.0
            for k in range(1, reach + 1):
                low, high = min(i, k), max(i, k)
                total += factor[k, j] * Z[high - low, j + low]
            Z[i, j] = ((1.0 / pivot if i == 0 else 0.0) - total) / pivot
    return Z
