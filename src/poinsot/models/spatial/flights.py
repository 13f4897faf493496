"""Free motion of a rigid body: its center falls on a parabola, and its spin follows Euler's equations,

    J w' = (J w) x w,    R' = R [w]x

The spin is integrated by the classical method of Runge and Kutta, the rotation by Magnus's method of fourth order: the
exponential of the mean of w over a step, by Simpson's rule, and h^2 / 12 w x w_next.
"""

from __future__ import annotations

import numpy as np

from ...kernels import njit

STEP_S = 4e-3
"""Longest step [s]; at 20 rad/s a step of this length is wrong by less than a microradian."""


@njit(cache=True)
def cross3(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b of two vectors (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@njit(cache=True)
def turned(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R exp([x]x)."""
    a = np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    p, q = (np.sin(a) / a, (1 - np.cos(a)) / (a * a)) if a > 1e-8 else (1.0, 0.5)
    E = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            E[i, j] = q * x[i] * x[j]
        E[i, i] += 1 - q * a * a
    E[2, 1] += p * x[0]
    E[1, 2] -= p * x[0]
    E[0, 2] += p * x[1]
    E[2, 0] -= p * x[1]
    E[1, 0] += p * x[2]
    E[0, 1] -= p * x[2]
    return R @ E


@njit(cache=True)
def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Log(R) of a rotation by less than pi."""
    x = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    s = np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    a = np.arctan2(s, 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1))
    return x * (a / s) if s > 1e-12 else x


@njit(cache=True, inline="always")
def _rate(J: np.ndarray, I: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """w' = I ((J w) x w) at w = (x, y, z), with I the inverse of J."""
    a = J[0, 0] * x + J[0, 1] * y + J[0, 2] * z
    b = J[1, 0] * x + J[1, 1] * y + J[1, 2] * z
    c = J[2, 0] * x + J[2, 1] * y + J[2, 2] * z
    p, q, r = b * z - c * y, c * x - a * z, a * y - b * x
    return (
        I[0, 0] * p + I[0, 1] * q + I[0, 2] * r,
        I[1, 0] * p + I[1, 1] * q + I[1, 2] * r,
        I[2, 0] * p + I[2, 1] * q + I[2, 2] * r,
    )


@njit(cache=True)
def spun(
    J: np.ndarray, J_inverse: np.ndarray, R: np.ndarray, w: np.ndarray, s: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and spin of a free body after s seconds, which may be negative."""
    n = max(1, int(np.ceil(abs(s) / STEP_S)))
    h = s / n
    R, w = R.copy(), w.copy()
    mean, last = np.empty(3), np.empty(3)
    for _ in range(n):
        x, y, z = w[0], w[1], w[2]
        a0, a1, a2 = _rate(J, J_inverse, x, y, z)
        b0, b1, b2 = _rate(J, J_inverse, x + 0.5 * h * a0, y + 0.5 * h * a1, z + 0.5 * h * a2)
        c0, c1, c2 = _rate(J, J_inverse, x + 0.5 * h * b0, y + 0.5 * h * b1, z + 0.5 * h * b2)
        d0, d1, d2 = _rate(J, J_inverse, x + h * c0, y + h * c1, z + h * c2)
        last[0] = x + h / 6 * (a0 + 2 * b0 + 2 * c0 + d0)
        last[1] = y + h / 6 * (a1 + 2 * b1 + 2 * c1 + d1)
        last[2] = z + h / 6 * (a2 + 2 * b2 + 2 * c2 + d2)
        # w at half of the step is the method's own value there
        mean[0] = (x + 4 * (x + h / 24 * (5 * a0 + 4 * b0 + 4 * c0 - d0)) + last[0]) / 6
        mean[1] = (y + 4 * (y + h / 24 * (5 * a1 + 4 * b1 + 4 * c1 - d1)) + last[1]) / 6
        mean[2] = (z + 4 * (z + h / 24 * (5 * a2 + 4 * b2 + 4 * c2 - d2)) + last[2]) / 6
        mean[0], mean[1], mean[2] = (
            h * mean[0] + h * h / 12 * (y * last[2] - z * last[1]),
            h * mean[1] + h * h / 12 * (z * last[0] - x * last[2]),
            h * mean[2] + h * h / 12 * (x * last[1] - y * last[0]),
        )
        R = turned(R, mean)
        w[:] = last
    return R, w
