"""Rows folded into a triangular factor: a least-squares problem of any length needs no more memory than a short one.

[ R ]                       R^T R = sum over blocks of [W y]^T [W y]
[ W y ]  = Q R+             (Householder, never the normal equations)
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..arrays import Matrix

ROWS_PER_FOLD = 4096


class TriangularFactor:
    """The factor R of rows that arrive block by block.

    Args:
        columns: of a row, the right-hand side included.
    """

    def __init__(self, columns: int):
        self.columns = columns
        self._pending: list[np.ndarray] = [np.zeros((0, columns))]
        self._rows = 0

    def fold(self, rows: np.ndarray) -> None:
        """Add (r, columns) rows."""
        for first in range(0, len(rows), ROWS_PER_FOLD):
            block = rows[first : first + ROWS_PER_FOLD]
            self._pending.append(block)
            self._rows += len(block)
            # a factorization costs about the square of the columns for each row, those of the old factor included
            if self._rows >= ROWS_PER_FOLD + self.columns:
                self._reduce()

    @property
    def R(self) -> Matrix:
        """(columns, columns) upper triangular; fewer rows were padded with zeros."""
        self._reduce()
        R = self._pending[0]
        # fewer rows than columns give a trapezoid
        return np.concatenate([R, np.zeros((self.columns - len(R), self.columns))])

    def _reduce(self) -> None:
        stacked = np.concatenate(self._pending)
        R = triangular(stacked) if len(stacked) else stacked
        self._pending, self._rows = [R], len(R)


def triangular(rows: Matrix) -> Matrix:
    """(min(r, c), c) the triangular factor of (r, c) rows."""
    return linalg.qr(rows, mode="r", overwrite_a=False, check_finite=False)[0][: rows.shape[1]]
