"""Residuals of flights and of impacts between them, and their derivatives by finite differences.

theta = (inertia chart (6), tracked point (3) [m], gravity / 9.81, shift of the corners (3) [m], corner radius [m],
floor height [m], floor tilts (2) [rad], friction, restitution, friction of impacts less that of slides); point and
shift from the center of mass. A flight's state at its middle: p, v of the center of mass, R, w.
"""

from __future__ import annotations

import numpy as np

from ....kernels import njit
from ....models.spatial.flights import cross3, rotation_vector, spun, turned
from ....models.spatial.impacts import compliance, corner_velocity, impulse, plane_axes

CHART, POINT, GRAVITY_RATIO, SHIFT, RADIUS, HEIGHT, TILT_X, TILT_Y, FRICTION, RESTITUTION, IN_IMPACTS, S = (
    0, 6, 9, 10, 13, 14, 15, 16, 17, 18, 19, 20,
)  # fmt: skip
OF_FLIGHTS = GRAVITY_RATIO + 1
"""Parameters that a flight depends on come first."""
ROWS = 13
"""TossRows of an impact: position (3), rotation (3), gap, lever (3), law (3)."""
STEP = 1e-6


@njit(cache=True)
def inertia_of(x: np.ndarray) -> np.ndarray:
    """J/m = tr(S) 1 - S of the second moment S = L L^T, L with exp(x[:3]) on its diagonal and x[3:] below it."""
    L = np.zeros((3, 3))
    for i in range(3):
        L[i, i] = np.exp(x[i])
    L[1, 0], L[2, 0], L[2, 1] = x[3], x[4], x[5]
    second = L @ L.T
    return np.trace(second) * np.eye(3) - second


@njit(cache=True)
def frames_at(
    J: np.ndarray, J_inverse: np.ndarray, R: np.ndarray, w: np.ndarray, s: np.ndarray
) -> np.ndarray:
    """Rotations (n, 3, 3) at rising times s from the state's own."""
    n = len(s)
    out = np.empty((n, 3, 3))
    first = np.searchsorted(s, 0.0)
    Q, x, t = R, w, 0.0
    for k in range(first, n):
        Q, x = spun(J, J_inverse, Q, x, s[k] - t)
        t = s[k]
        out[k] = Q
    Q, x, t = R, w, 0.0
    for k in range(first - 1, -1, -1):
        Q, x = spun(J, J_inverse, Q, x, s[k] - t)
        t = s[k]
        out[k] = Q
    return out


@njit(cache=True)
def flight_residuals(
    theta: np.ndarray,
    g: np.ndarray,
    p: np.ndarray,
    v: np.ndarray,
    R: np.ndarray,
    w: np.ndarray,
    s: np.ndarray,
    places: np.ndarray,
    rotations: np.ndarray,
) -> np.ndarray:
    """(n, 6) frames less the motion: positions [m], and rotations in the body's frame [rad]. g: of 9.81 m/s^2."""
    J = inertia_of(theta[:6])
    Q = frames_at(J, np.linalg.inv(J), R, w, s)
    e = np.empty((len(s), 6))
    for k in range(len(s)):
        c = p + v * s[k] + 0.5 * theta[GRAVITY_RATIO] * s[k] ** 2 * g
        e[k, :3] = places[k] - (c + Q[k] @ theta[POINT : POINT + 3])
        e[k, 3:] = rotation_vector(Q[k].T @ rotations[k])
    return e


@njit(cache=True)
def flight_derivatives(
    theta: np.ndarray,
    g: np.ndarray,
    p: np.ndarray,
    v: np.ndarray,
    R: np.ndarray,
    w: np.ndarray,
    s: np.ndarray,
    places: np.ndarray,
    rotations: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Residuals (n, 6), and their derivatives by the state (n, 6, 12) and by theta (n, 6, S)."""
    n = len(s)
    e = flight_residuals(theta, g, p, v, R, w, s, places, rotations)
    by_state, by_theta = np.zeros((n, 6, 12)), np.zeros((n, 6, S))
    for k in range(n):
        for i in range(3):
            by_state[k, i, i] = -1.0
            by_state[k, i, 3 + i] = -s[k]
    for i in range(6):
        d = np.zeros(3)
        d[i % 3] = STEP
        if i < 3:
            moved = flight_residuals(theta, g, p, v, turned(R, d), w, s, places, rotations)
        else:
            moved = flight_residuals(theta, g, p, v, R, w + d, s, places, rotations)
        by_state[:, :, 6 + i] = (moved - e) / STEP
    for i in range(OF_FLIGHTS):
        x = theta.copy()
        x[i] += STEP
        by_theta[:, :, i] = (flight_residuals(x, g, p, v, R, w, s, places, rotations) - e) / STEP
    return e, by_state, by_theta


@njit(cache=True)
def plane_normal(n: np.ndarray, across: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """The declared normal n, tilted about both directions `across` (2, 3) [rad]."""
    m = n + tilt[0] * across[0] + tilt[1] * across[1]
    return m / np.sqrt(m @ m)


@njit(cache=True)
def impact_residuals(
    theta: np.ndarray,
    g: np.ndarray,
    plane: np.ndarray,
    corner: np.ndarray,
    law: int,
    a: np.ndarray,
    Ra: np.ndarray,
    sa: float,
    b: np.ndarray,
    Rb: np.ndarray,
    sb: float,
) -> tuple[np.ndarray, float]:
    """Residuals (ROWS,) in SI units, and the size of the jump [m/s].

    Args:
        plane: (4, 3) a point of it, its normal, and two directions along it. corner: (2, 3) its place, and `inwards`.
        a, b: (9,) p, v, w of both flights at their middles; Ra, Rb: rotations there; sa, sb: the impact from there [s].
    """
    J = inertia_of(theta[:6])
    Ji = np.linalg.inv(J)
    fall = theta[GRAVITY_RATIO] * g
    R, w = spun(J, Ji, Ra, a[6:], sa)
    Q, x = spun(J, Ji, Rb, b[6:], sb)
    pa, va = a[:3] + sa * a[3:6] + 0.5 * sa * sa * fall, a[3:6] + sa * fall
    pb, vb = b[:3] + sb * b[3:6] + 0.5 * sb * sb * fall, b[3:6] + sb * fall
    n = plane_normal(plane[1], plane[2:], theta[TILT_X : TILT_Y + 1])
    rho = theta[RADIUS]
    r = R @ (corner[0] + theta[SHIFT : SHIFT + 3] - rho * corner[1]) - rho * n
    out = np.empty(ROWS)
    out[:3] = pb - pa
    out[3:6] = rotation_vector(R.T @ Q)
    out[6] = n @ (pa + r - plane[0]) - theta[HEIGHT]
    jump = vb - va
    out[7:10] = J @ (x - w) - R.T @ cross3(r, jump)
    axes = plane_axes(n, plane[2])
    friction = theta[FRICTION] + theta[IN_IMPACTS]
    expected = impulse(
        compliance(Ji, R, r), axes, corner_velocity(va, R, w, r), friction, theta[RESTITUTION], law
    )
    out[10:] = axes @ (jump - expected)
    return out, np.sqrt(jump @ jump)


@njit(cache=True)
def impact_derivatives(
    theta: np.ndarray,
    g: np.ndarray,
    plane: np.ndarray,
    corner: np.ndarray,
    law: int,
    a: np.ndarray,
    Ra: np.ndarray,
    sa: float,
    b: np.ndarray,
    Rb: np.ndarray,
    sb: float,
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Residuals, the size of the jump, and derivatives by both states and the instant (ROWS, 25), and by theta."""
    e, size = impact_residuals(theta, g, plane, corner, law, a, Ra, sa, b, Rb, sb)
    local, by_theta = np.zeros((ROWS, 25)), np.zeros((ROWS, S))
    order = np.array([0, 1, 2, 3, 4, 5, -1, -1, -1, 6, 7, 8])
    for i in range(25):
        y, z, Ry, Rz, ty, tz = a.copy(), b.copy(), Ra, Rb, sa, sb
        if i == 24:
            ty, tz = sa + STEP, sb + STEP
        else:
            k = i % 12
            d = np.zeros(3)
            if order[k] < 0:
                d[k - 6] = STEP
                if i < 12:
                    Ry = turned(Ra, d)
                else:
                    Rz = turned(Rb, d)
            elif i < 12:
                y[order[k]] += STEP
            else:
                z[order[k]] += STEP
        moved, _ = impact_residuals(theta, g, plane, corner, law, y, Ry, ty, z, Rz, tz)
        local[:, i] = (moved - e) / STEP
    for i in range(S):
        x = theta.copy()
        x[i] += STEP
        moved, _ = impact_residuals(x, g, plane, corner, law, a, Ra, sa, b, Rb, sb)
        by_theta[:, i] = (moved - e) / STEP
    return e, size, local, by_theta
