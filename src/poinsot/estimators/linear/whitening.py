"""Coordinates in which prior knowledge is of size 1: every prior body the identity, every other parameter of order 1.

    J_i = L_i X_i L_i^T,   J0_i = L_i L_i^T the prior body        x = (the X_i as vectors, theta_k / size_k)
    theta = T x            L_i upper triangular: its last column is m^(1/2) (c, 1), mass and centre of mass

x does not depend on units, frames and sizes of bodies, so that a solver's tolerances are equivalent for a shoulder and
for a fingertip.

The prior of a description is second moments of X about 1 (`prior_moments`). With J = m [[V V^T + c c^T, c],
[c^T, 1]] and V0, c0, m0 the description's,

    m = m0 e^(std z)              z, and all below, standard normal and independent
    V = V0 W                      W = U + shear: log diagonal std / 2, entries above it std / 2^(1/2)
    c = c0 + |c0| tan(direction) n + V0 s std / 2^(1/2)

so masses and extents are log-normal, shears have the spread that this gives in other axes, and a centre of mass moves
in any direction by its distance times the tangent, and by a part of the body's extent. Torques are linear in J, but
these distributions are not normal; the best linear estimator and its mean square error follow from second moments
alone, for any distribution (Hartigan 1969). They are taken about the description, the median.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Matrix, Vector
from ...inertia.charts.log_cholesky import LogCholesky
from ...inertia.parameters import from_pseudo_inertia, pseudo_inertia
from .conic import matrix_of, vector_of

_UNITS = matrix_of(np.eye(10))
"""The symmetric matrices that the coordinates of a body count."""

SAMPLES = 4000
"""Number of samples of the distribution: second moments are then accurate to a few per cent."""


@dataclass(frozen=True, eq=False)
class Whitened:
    """Coordinates x (p,) of all parameters theta (p,): first of bodies, whose prior (l, 10) has extent in all
    directions, then of the others, (p - 10 l,) sizes in their units.
    """

    prior: np.ndarray
    sizes: Vector

    @property
    def bodies(self) -> tuple[slice, ...]:
        """Slices of each body's coordinates."""
        return tuple(slice(10 * i, 10 * i + 10) for i in range(len(self.prior)))

    @property
    def others(self) -> slice:
        return slice(10 * len(self.prior), None)

    @cached_property
    def factors(self) -> np.ndarray:
        """(l, 4, 4) L of the prior bodies."""
        # a lower triangular factor of the matrix in reversed order
        return np.linalg.cholesky(pseudo_inertia(self.prior)[:, ::-1, ::-1])[:, ::-1, ::-1]

    @cached_property
    def T(self) -> Matrix:
        """(p, p)"""
        p = 10 * len(self.prior) + len(self.sizes)
        T = np.zeros((p, p))
        for body, L in zip(self.bodies, self.factors, strict=True):
            # a column of T is the change with one coordinate; `from_pseudo_inertia` gives one row per body
            T[body, body] = from_pseudo_inertia(L @ _UNITS @ L.T).T
        T[self.others, self.others] = np.diag(self.sizes)
        return T

    @property
    def center(self) -> Vector:
        """(p,) x of the prior: identities, and zeros."""
        return np.concatenate([np.tile(vector_of(np.eye(4)), len(self.prior)), np.zeros(len(self.sizes))])


def prior_moments(coordinates: Whitened, std: float, direction_deg: float) -> np.ndarray:
    """(l, 10, 10) second moments of x about the prior bodies. `std`: standard deviation of the logarithm of a mass, and
    of a second moment about its centre; `direction_deg`: of the direction of a centre of mass [deg].
    """
    L = coordinates.factors
    H = np.tile(np.diag([*4 * [std / 2], *6 * [std / np.sqrt(2)]]), (len(L), 1, 1))
    # L = m^(1/2) [V, c; 0, 1]: in units of the extents a shift of |c| tan(angle), in all directions, is V^-1 times it
    shift = np.tan(np.radians(direction_deg)) * np.linalg.norm(L[:, :3, 3], axis=-1)
    turned = np.linalg.inv(L[:, :3, :3]) * shift[:, None, None]
    H[:, 7:, 7:] = np.linalg.cholesky(turned @ np.swapaxes(turned, 1, 2) + H[:, 7:, 7:] ** 2)
    z = np.random.default_rng(0).standard_normal((SAMPLES, 10))
    X = pseudo_inertia(LogCholesky().to_inertial(z @ np.swapaxes(H, 1, 2)))
    off = vector_of(X - np.eye(4))
    return np.swapaxes(off, 1, 2) @ off / SAMPLES
