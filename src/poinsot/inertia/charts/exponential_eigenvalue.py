"""Exponential-eigenvalue chart of rigid-body inertia (Martinez et al. 2024, Eqs. 11 to 15).

    theta = (sigma_m, h, omega, sigma_x, sigma_y, sigma_z)
    m = e^sigma_m,  R = Exp(omega),  L = e^sigma  (second moments of mass about the centre)    (13), (14)
    I_c = R diag(P L) R^T,  P L = (L_y + L_z, L_x + L_z, L_x + L_y)                            (11)
    I = I_c + (|h|^2 1 - h h^T) / m                                                            (5)

Every theta is a physical body: Sigma_c = R diag(L) R^T is positive definite. A body has several theta: the axes can be
ordered and oriented in 24 ways, and Exp is periodic. `from_inertial` takes the axes that are closest to the body
frame's, so |omega| stays below 62.8 degrees, and from(to(theta)) = theta where |omega| < 45 degrees.

A change of omega turns the axes by psi = J_r(omega) domega, seen in the axes themselves (J_r is the right Jacobian of
Exp). With r_i the columns of R and S_ij the entries of the skew matrix of psi,

    dI_c = R (S diag(P L) - diag(P L) S) R^T = sum over i < j of  S_ij (L_i - L_j) (r_i r_j^T + r_j r_i^T),

for (P L)_j - (P L)_i = L_i - L_j. So a body with L_i = L_j can be turned about the third axis k and remain the same:
psi = e_k, domega = J_r^-1 e_k is a null direction of the Jacobian, and for a sphere every domega is one. J_r itself is
singular where |omega| is 2 pi, 4 pi, ...: there two directions of omega do not rotate. Together they are the null
space of  diag(n) J_r,  n_k = 0 where the body is symmetric about axis k and 1 elsewhere.

`from_inertial` diagonalizes Sigma_c with Jacobi's rotations: they keep the relative accuracy of small second moments of
thin bodies, and do not rotate the axes of a sphere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from ...arrays import Float, Inertial, Matrix, Vector
from ...kernels import njit
from ..parameters import ROUNDING, closest_axes
from ..parametrization import Kernels, Parametrization


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _coefficients(w):
    """a, b, c in Exp(w) = 1 + a S + b S^2, J_r = 1 - b S + c S^2: sin(t)/t, (1-cos t)/t^2, (t-sin t)/t^3, t = |w|."""
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    if square == 0:
        return 1.0, 0.5, 1 / 6
    angle = np.sqrt(square)
    sin, cos = np.sin(0.5 * angle), np.cos(0.5 * angle)
    a, b = 2 * sin * cos / angle, 2 * sin * sin / square
    if angle > 0.5:
        return a, b, (1 - a) / square
    # 1 - a would cancel; the next term of this series is square^6 / 15!, below rounding
    c = 1 / 39916800 - square / 6227020800
    return a, b, 1 / 6 - square * (1 / 120 - square * (1 / 5040 - square * (1 / 362880 - square * c)))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _one_and_skew(w, a, b, M):
    """Write M (3, 3) = 1 + a S + b S^2, with S^2 = w w^T - |w|^2 1."""
    x, y, z = w[0], w[1], w[2]
    M[0, 0], M[1, 1], M[2, 2] = 1 - b * (y * y + z * z), 1 - b * (x * x + z * z), 1 - b * (x * x + y * y)
    M[0, 1], M[1, 0] = b * x * y - a * z, b * x * y + a * z
    M[0, 2], M[2, 0] = b * x * z + a * y, b * x * z - a * y
    M[1, 2], M[2, 1] = b * y * z - a * x, b * y * z + a * x


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _steiner(theta, factor):
    """factor (|h|^2 1 - h h^T): xx, xy, yy, xz, yz, zz."""
    x, y, z = theta[1], theta[2], theta[3]
    xx, yy, zz = factor * x * x, factor * y * y, factor * z * z
    return yy + zz, -factor * x * y, xx + zz, -factor * x * z, -factor * y * z, xx + yy


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _fill(theta, pi, R):
    """Write pi (10,) of theta (10,), and R."""
    a, b, _ = _coefficients(theta[4:7])
    _one_and_skew(theta[4:7], a, b, R)
    Lx, Ly, Lz = np.exp(theta[7]), np.exp(theta[8]), np.exp(theta[9])
    Dx, Dy, Dz = Ly + Lz, Lx + Lz, Lx + Ly
    pi[0], pi[1], pi[2], pi[3] = np.exp(theta[0]), theta[1], theta[2], theta[3]
    pi[4], pi[5], pi[6], pi[7], pi[8], pi[9] = _steiner(theta, 1 / pi[0])
    k = 4
    for r in range(3):
        for s in range(r + 1):  # xx, xy, yy, xz, yz, zz
            pi[k] += Dx * R[r, 0] * R[s, 0] + Dy * R[r, 1] * R[s, 1] + Dz * R[r, 2] * R[s, 2]
            k += 1


@njit(cache=True, error_model="numpy")
def to_inertial_kernel(theta: Vector, pi: Vector) -> None:
    """Write pi (10,) of theta (10,)."""
    _fill(theta, pi, np.empty((3, 3)))


@njit(cache=True, error_model="numpy")
def jacobian_kernel(theta: Vector, D: Matrix) -> None:
    """Write D (10, 10) = dpi/dtheta at theta (10,)."""
    _differentiate(theta, D, np.empty((3, 3)), np.empty((3, 3)), np.empty(3))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _differentiate(theta, D, R, J_r, L):
    """Write D (10, 10), and R, J_r, L."""
    m = np.exp(theta[0])
    per_m = 1 / m
    hx, hy, hz = theta[1], theta[2], theta[3]
    for k in range(3):
        L[k] = np.exp(theta[7 + k])
    a, b, c = _coefficients(theta[4:7])
    _one_and_skew(theta[4:7], a, b, R)
    _one_and_skew(theta[4:7], -b, c, J_r)
    D[:] = 0.0
    # sigma_m: m and -(|h|^2 1 - h h^T) / m
    D[0, 0] = m
    D[4, 0], D[5, 0], D[6, 0], D[7, 0], D[8, 0], D[9, 0] = _steiner(theta, -per_m)
    # h
    D[1, 1] = D[2, 2] = D[3, 3] = 1.0
    D[6, 1] = D[9, 1] = 2 * per_m * hx
    D[4, 2] = D[9, 2] = 2 * per_m * hy
    D[4, 3] = D[6, 3] = 2 * per_m * hz
    D[5, 1], D[5, 2] = -per_m * hy, -per_m * hx
    D[7, 1], D[7, 3] = -per_m * hz, -per_m * hx
    D[8, 2], D[8, 3] = -per_m * hz, -per_m * hy
    # rotations psi_x, psi_y, psi_z: S_yz = -psi_x, S_xz = psi_y, S_xy = -psi_z
    nx, ny, nz = L[2] - L[1], L[0] - L[2], L[1] - L[0]
    k = 4
    for r in range(3):
        for s in range(r + 1):  # xx, xy, yy, xz, yz, zz
            turn_x = nx * (R[r, 1] * R[s, 2] + R[r, 2] * R[s, 1])
            turn_y = ny * (R[r, 0] * R[s, 2] + R[r, 2] * R[s, 0])
            turn_z = nz * (R[r, 0] * R[s, 1] + R[r, 1] * R[s, 0])
            for j in range(3):
                D[k, 4 + j] = turn_x * J_r[0, j] + turn_y * J_r[1, j] + turn_z * J_r[2, j]
                # sigma_j: L_j (1 - r_j r_j^T)
                D[k, 7 + j] = L[j] * ((1.0 if r == s else 0.0) - R[r, j] * R[s, j])
            k += 1


@njit(cache=True, error_model="numpy")
def _to_inertial(theta, pi):
    R = np.empty((3, 3))
    for b in range(len(theta)):
        _fill(theta[b], pi[b], R)


@njit(cache=True, error_model="numpy")
def _jacobian(theta, D):
    R, J_r, L = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for b in range(len(theta)):
        _differentiate(theta[b], D[b], R, J_r, L)


def _from_inertial(pi: Matrix, theta: Matrix) -> int:
    """Write theta (B, 10) of pi (B, 10); return the number of rows before the first that is not a body."""
    L, R = np.empty((len(pi), 3)), np.empty((len(pi), 3, 3))
    done = _principal_axes(pi, L, R)
    pi, theta = pi[:done], theta[:done]
    L, R = closest_axes(L[:done], R[:done])
    theta[:, 0], theta[:, 1:4], theta[:, 7:] = np.log(pi[:, 0]), pi[:, 1:4], np.log(L)
    theta[:, 4:7] = Rotation.from_matrix(R).as_rotvec()
    return done


@njit(cache=True, error_model="numpy")
def _principal_axes(pi, L, R):
    """Write L (B, 3) and R (B, 3, 3) of pi (B, 10); return the number of rows before the first that is not a body."""
    A = np.empty((3, 3))
    for b in range(len(pi)):
        m, hx, hy, hz = pi[b, 0], pi[b, 1], pi[b, 2], pi[b, 3]
        xx, yy, zz = pi[b, 4], pi[b, 6], pi[b, 9]
        A[0, 0] = 0.5 * (yy + zz - xx) - hx * hx / m  # Sigma_c
        A[1, 1] = 0.5 * (xx + zz - yy) - hy * hy / m
        A[2, 2] = 0.5 * (xx + yy - zz) - hz * hz / m
        A[0, 1] = A[1, 0] = -pi[b, 5] - hx * hy / m
        A[0, 2] = A[2, 0] = -pi[b, 7] - hx * hz / m
        A[1, 2] = A[2, 1] = -pi[b, 8] - hy * hz / m
        if not (m > 0 and np.isfinite(A.sum())):
            return b
        _diagonalize(A, R[b], ROUNDING * (abs(xx) + abs(yy) + abs(zz)))
        for k in range(3):
            L[b, k] = A[k, k]
            if not A[k, k] > 0:  # also for NaN
                return b
    return len(pi)


@njit(cache=True, error_model="numpy")
def _diagonalize(A, R, rounding):
    """Jacobi's method: A becomes R^T A R, diagonal up to rounding errors of its entries."""
    eps = 2.220446049250313e-16
    R[:] = np.eye(3)
    for _ in range(30):  # it converges quadratically; six sweeps is the largest number observed
        turned = False
        for p in range(2):
            for q in range(p + 1, 3):
                own = np.sqrt(abs(A[p, p]) * abs(A[q, q]))
                if abs(A[p, q]) <= max(eps * own, rounding):
                    continue
                turned = True
                tau = (A[q, q] - A[p, p]) / (2 * A[p, q])
                t = (1.0 if tau >= 0 else -1.0) / (abs(tau) + np.sqrt(1 + tau * tau))
                cos = 1 / np.sqrt(1 + t * t)
                sin = t * cos
                k = 3 - p - q
                A[p, p] -= t * A[p, q]
                A[q, q] += t * A[p, q]
                A[p, q] = A[q, p] = 0.0
                A[k, p], A[k, q] = cos * A[k, p] - sin * A[k, q], sin * A[k, p] + cos * A[k, q]
                A[p, k], A[q, k] = A[k, p], A[k, q]
                for r in range(3):
                    R[r, p], R[r, q] = cos * R[r, p] - sin * R[r, q], sin * R[r, p] + cos * R[r, q]
        if not turned:
            return


@dataclass(frozen=True)
class ExponentialEigenvalue(Parametrization):
    """Mass, first moment, rotation of the principal axes, and second moments; masses and moments by their logarithm."""

    theta_names: ClassVar[tuple[str, ...]] = (
        "sigma_m", "hx", "hy", "hz", "omega_x", "omega_y", "omega_z", "sigma_x", "sigma_y", "sigma_z",
    )  # fmt: skip

    kernels: ClassVar[Kernels] = Kernels(_to_inertial, _jacobian, _from_inertial)

    lengths: ClassVar[slice] = slice(1, 4)

    def natural_scale(self, pi: Inertial) -> Float[np.ndarray, "*batch 10"]:
        scale = super().natural_scale(pi)
        scale[..., self.lengths] *= pi[..., :1]
        return scale
