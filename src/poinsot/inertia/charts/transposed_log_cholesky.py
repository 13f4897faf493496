"""The transposed log-Cholesky chart (Foster et al. 2024, Eqs. 16 and 17).

J = e^(2 alpha) U^T U with U and theta of `log_cholesky`: the same letters and order, but another chart, since
m = e^(2 alpha) (1 + t^T t), and t is not a length. Foster et al. write s13 before s23, and pi with Ixz before Iyy.

Every theta is a physical body and every physical body with extent in all directions has exactly one theta, from the
ordinary Cholesky factor J = L L^T, L = e^alpha U^T: alpha = log L44 comes last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Matrix, Vector
from ...kernels import njit
from ..parameters import pseudo_inertia
from ..parametrization import Kernels, Parametrization, over_rows
from .log_cholesky import LogCholesky, from_upper_factors, leading_factors


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def to_inertial_kernel(theta: Vector, pi: Vector) -> None:
    """Write pi (10,) of theta (10,)."""
    e = np.exp(2 * theta[0])
    e1, e2, e3 = np.exp(theta[1]), np.exp(theta[2]), np.exp(theta[3])
    s12, s23, s13 = theta[4], theta[5], theta[6]
    t1, t2, t3 = theta[7], theta[8], theta[9]
    xx = e1 * e1  # Sigma / e
    yy = s12 * s12 + e2 * e2
    zz = s13 * s13 + s23 * s23 + e3 * e3
    pi[0] = e * (t1 * t1 + t2 * t2 + t3 * t3 + 1)
    pi[1] = e * (t1 * e1)
    pi[2] = e * (t1 * s12 + t2 * e2)
    pi[3] = e * (t1 * s13 + t2 * s23 + t3 * e3)
    pi[4] = e * (yy + zz)
    pi[5] = -e * (s12 * e1)
    pi[6] = e * (xx + zz)
    pi[7] = -e * (s13 * e1)
    pi[8] = -e * (s12 * s13 + s23 * e2)
    pi[9] = e * (xx + yy)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def jacobian_kernel(theta: Vector, D: Matrix) -> None:
    """Write D (10, 10) = dpi/dtheta at theta (10,)."""
    e = np.exp(2 * theta[0])
    e1, e2, e3 = np.exp(theta[1]), np.exp(theta[2]), np.exp(theta[3])
    s12, s23, s13 = theta[4], theta[5], theta[6]
    t1, t2, t3 = theta[7], theta[8], theta[9]
    # alpha: 2 pi; the last row holds pi until it is computed itself, since allocation would cost more than the rest
    to_inertial_kernel(theta, D[9])
    for k in range(10):
        D[k, 0] = 2 * D[9, k]
        for j in range(1, 10):
            D[k, j] = 0.0
    # m = e (t^T t + 1)
    D[0, 7], D[0, 8], D[0, 9] = 2 * e * t1, 2 * e * t2, 2 * e * t3
    # h = e (t1 e1, t1 s12 + t2 e2, t1 s13 + t2 s23 + t3 e3)
    D[1, 1], D[1, 7] = e * t1 * e1, e * e1
    D[2, 2], D[2, 4], D[2, 7], D[2, 8] = e * t2 * e2, e * t1, e * s12, e * e2
    D[3, 3], D[3, 5], D[3, 6] = e * t3 * e3, e * t2, e * t1
    D[3, 7], D[3, 8], D[3, 9] = e * s13, e * s23, e * e3
    # Sigma_11 moves Iyy and Izz, and so on: d1; d2, s12; d3, s23, s13
    D[6, 1] = D[9, 1] = 2 * e * e1 * e1
    D[4, 2] = D[9, 2] = 2 * e * e2 * e2
    D[4, 4] = D[9, 4] = 2 * e * s12
    D[4, 3] = D[6, 3] = 2 * e * e3 * e3
    D[4, 5] = D[6, 5] = 2 * e * s23
    D[4, 6] = D[6, 6] = 2 * e * s13
    # Ixy = -e s12 e1, Ixz = -e s13 e1, Iyz = -e (s12 s13 + s23 e2)
    D[5, 1], D[5, 4] = -e * s12 * e1, -e * e1
    D[7, 1], D[7, 6] = -e * s13 * e1, -e * e1
    D[8, 2], D[8, 4], D[8, 5], D[8, 6] = -e * s23 * e2, -e * s13, -e * e2, -e * s12


def _from_inertial(pi: Matrix, theta: Matrix) -> int:
    return from_upper_factors(leading_factors(pseudo_inertia(pi)).swapaxes(1, 2), theta)


@dataclass(frozen=True)
class TransposedLogCholesky(Parametrization):
    """J = e^(2 alpha) U^T U."""

    theta_names: ClassVar[tuple[str, ...]] = LogCholesky.theta_names

    kernels: ClassVar[Kernels] = Kernels(
        over_rows(to_inertial_kernel), over_rows(jacobian_kernel), _from_inertial
    )

    lengths: ClassVar[slice] = slice(4, 7)
