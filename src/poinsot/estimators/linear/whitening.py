"""Coordinates in which prior knowledge is of size 1: every prior body the identity, every other parameter of order 1.

    J_i = L_i X_i L_i^T,   J0_i = L_i L_i^T the prior body        x = (the X_i as vectors, theta_k / size_k)
    theta = T x            L_i upper triangular: its last column is m^(1/2) (c, 1), mass and centre of mass

x depends on no unit, no frame and no size of a body, so that a solver's tolerances mean the same for a shoulder and
for a fingertip.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Matrix, Vector
from ...inertia.parameters import from_pseudo_inertia, pseudo_inertia
from .conic import matrix_of, vector_of

_UNITS = matrix_of(np.eye(10))
"""The symmetric matrices that the coordinates of a body count."""


@dataclass(frozen=True, eq=False)
class Whitened:
    """Coordinates x (p,) of all parameters theta (p,), bodies first.

    Args:
        prior: (l, 10) bodies with extent in all directions.
        sizes: (p - 10 l,) of the other parameters, in their units.
    """

    prior: np.ndarray
    sizes: Vector

    @property
    def bodies(self) -> tuple[slice, ...]:
        """Where each body's coordinates are."""
        return tuple(slice(10 * i, 10 * i + 10) for i in range(len(self.prior)))

    @property
    def others(self) -> slice:
        return slice(10 * len(self.prior), None)

    @cached_property
    def factors(self) -> np.ndarray:
        """(l, 4, 4) L of the prior bodies."""
        # a lower triangular factor of the matrix written backwards
        return np.linalg.cholesky(pseudo_inertia(self.prior)[:, ::-1, ::-1])[:, ::-1, ::-1]

    @cached_property
    def T(self) -> Matrix:
        """(p, p)"""
        p = 10 * len(self.prior) + len(self.sizes)
        T = np.zeros((p, p))
        for body, L in zip(self.bodies, self.factors, strict=True):
            # a column of T is what one coordinate moves; `from_pseudo_inertia` gives one body a row
            T[body, body] = from_pseudo_inertia(L @ _UNITS @ L.T).T
        T[self.others, self.others] = np.diag(self.sizes)
        return T

    @property
    def center(self) -> Vector:
        """(p,) x of the prior: identities, and zeros."""
        return np.concatenate([np.tile(vector_of(np.eye(4)), len(self.prior)), np.zeros(len(self.sizes))])
