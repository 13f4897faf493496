"""Log-Cholesky chart of rigid-body inertia (Martinez et al. 2024, Eqs. 9 and 10; Rucker and Wensing 2022).

    J = e^(2 alpha) U U^T,   U = [ e^d1  s12   s13   t1 ]
                                 [       e^d2  s23   t2 ]
                                 [             e^d3  t3 ]
                                 [                    1 ]
    theta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3)

Every theta is a physical body, and every physical body with extent in all directions has exactly one theta: a positive
definite matrix has one such factor. The last column shows that m = e^(2 alpha) and that t is the centre of mass [m].

Sigma / m consists of squares and products of U's entries, and I = tr(Sigma) 1 - Sigma, so pi is written out below, and
differentiated, in a few dozen multiplications. Order and values are those of `pinocchio.LogCholeskyParameters`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Matrix, PseudoInertia, Vector
from ...kernels import njit
from ..parameters import pseudo_inertia
from ..parametrization import Kernels, Parametrization, over_rows


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def to_inertial_kernel(theta: Vector, pi: Vector) -> None:
    """Write pi (10,) of theta (10,)."""
    e = np.exp(2 * theta[0])
    e1, e2, e3 = np.exp(theta[1]), np.exp(theta[2]), np.exp(theta[3])
    s12, s23, s13 = theta[4], theta[5], theta[6]
    t1, t2, t3 = theta[7], theta[8], theta[9]
    xx = e1 * e1 + s12 * s12 + s13 * s13 + t1 * t1  # Sigma / m
    yy = e2 * e2 + s23 * s23 + t2 * t2
    zz = e3 * e3 + t3 * t3
    pi[0], pi[1], pi[2], pi[3] = e, e * t1, e * t2, e * t3
    pi[4] = e * (yy + zz)
    pi[5] = -e * (s12 * e2 + s13 * s23 + t1 * t2)
    pi[6] = e * (xx + zz)
    pi[7] = -e * (s13 * e3 + t1 * t3)
    pi[8] = -e * (s23 * e3 + t2 * t3)
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
    # h = e t
    D[1, 7] = D[2, 8] = D[3, 9] = e
    # Sigma_11 moves Iyy and Izz, and so on: d1, s12, s13, t1; d2, s23, t2; d3, t3
    D[6, 1] = D[9, 1] = 2 * e * e1 * e1
    D[6, 4] = D[9, 4] = 2 * e * s12
    D[6, 6] = D[9, 6] = 2 * e * s13
    D[6, 7] = D[9, 7] = 2 * e * t1
    D[4, 2] = D[9, 2] = 2 * e * e2 * e2
    D[4, 5] = D[9, 5] = 2 * e * s23
    D[4, 8] = D[9, 8] = 2 * e * t2
    D[4, 3] = D[6, 3] = 2 * e * e3 * e3
    D[4, 9] = D[6, 9] = 2 * e * t3
    # Ixy = -e (s12 e2 + s13 s23 + t1 t2)
    D[5, 2], D[5, 4], D[5, 5], D[5, 6] = -e * s12 * e2, -e * e2, -e * s13, -e * s23
    D[5, 7], D[5, 8] = -e * t2, -e * t1
    # Ixz = -e (s13 e3 + t1 t3)
    D[7, 3], D[7, 6], D[7, 7], D[7, 9] = -e * s13 * e3, -e * e3, -e * t3, -e * t1
    # Iyz = -e (s23 e3 + t2 t3)
    D[8, 3], D[8, 5], D[8, 8], D[8, 9] = -e * s23 * e3, -e * e3, -e * t3, -e * t2


def from_upper_factors(V: np.ndarray, theta: Matrix) -> int:
    """Write theta of V = e^alpha U (B', 4, 4) into the first B' rows; return B'."""
    U = V / V[:, 3:, 3:]
    theta[: len(V), 0] = np.log(V[:, 3, 3])
    theta[: len(V), 1:4] = np.log(np.diagonal(U, axis1=1, axis2=2)[:, :3])
    theta[: len(V), 4:7], theta[: len(V), 7:] = U[:, [0, 1, 0], [1, 2, 2]], U[:, :3, 3]
    return len(V)


def leading_factors(J: PseudoInertia) -> np.ndarray:
    """(B', 4, 4) Cholesky factors of the J (B, 4, 4) before the first that is not positive definite."""
    with suppress(np.linalg.LinAlgError):
        L = np.linalg.cholesky(J)
        if np.isfinite(L).all():
            return L
    half = len(J) // 2
    L = leading_factors(J[:half]) if half else J[:0]
    return L if len(L) < half or len(J) == 1 else np.concatenate([L, leading_factors(J[half:])])


def _from_inertial(pi: Matrix, theta: Matrix) -> int:
    # with rows and columns of J reversed, the lower Cholesky factor is U reversed
    return from_upper_factors(leading_factors(pseudo_inertia(pi)[:, ::-1, ::-1])[:, ::-1, ::-1], theta)


@dataclass(frozen=True)
class LogCholesky(Parametrization):
    """J = e^(2 alpha) U U^T; lengths in [m], masses in [kg]."""

    theta_names: ClassVar[tuple[str, ...]] = (
        "alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3",
    )  # fmt: skip

    kernels: ClassVar[Kernels] = Kernels(
        over_rows(to_inertial_kernel), over_rows(jacobian_kernel), _from_inertial
    )

    lengths: ClassVar[slice] = slice(4, 10)
