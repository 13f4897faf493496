"""Impulses of a rigid body at one corner: Coulomb friction during the impact, and restitution.

Routh's construction in space: with the normal impulse p as time, the velocity u of the corner changes by

    du/dp = K (n - mu t(u)),    K = 1 - [r]x (J/m)^-1 [r]x,    t = s / sqrt(|s|^2 + eps^2),   s: u along the plane

so slip may turn, stop, or begin anew within one impact. Compression ends where n . u = 0, and the impact where

    Newton    n . u = -e n . u_before
    Poisson   p = (1 + e) p of compression
    Stronge   work of p in restitution = e^2 times that of compression

(Routh 1905; Stronge 1990; Batlle 1996.)
"""

from __future__ import annotations

import numpy as np

from ...kernels import njit
from ..planar.impulses import ENERGETIC, NEWTON, POISSON, RESTITUTIONS
from .flights import cross3

LAWS = tuple(RESTITUTIONS)
SLIP = 1e-3
"""eps: slip below which friction falls [m/s]."""
SLIDES = 0.1
"""Part of the slip that a step changes."""
MOST_STEPS = 20000


@njit(cache=True)
def compliance(J_inverse: np.ndarray, R: np.ndarray, r: np.ndarray) -> np.ndarray:
    """K (3, 3) of a corner that is at r (3,) from the center, both of the world; by mass."""
    W = R @ J_inverse @ R.T
    S = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
    return np.eye(3) - S @ W @ S


@njit(cache=True, inline="always")
def _slope(K: np.ndarray, mu: float, x: float, y: float) -> tuple[float, float, float, float, float]:
    """du/dp along the normal and both tangents, and the tangential impulse by p, at slip (x, y)."""
    by = -mu / np.sqrt(x * x + y * y + SLIP * SLIP)
    f, g = by * x, by * y
    return (
        K[0, 0] + K[0, 1] * f + K[0, 2] * g,
        K[1, 0] + K[1, 1] * f + K[1, 2] * g,
        K[2, 0] + K[2, 1] * f + K[2, 2] * g,
        f,
        g,
    )


@njit(cache=True)
def _advanced(K: np.ndarray, mu: float, u: np.ndarray, h: float, new: np.ndarray, f: np.ndarray) -> None:
    """Into `new` the velocity, into `f` the impulse after h more of normal impulse (Runge and Kutta)."""
    x, y = u[1], u[2]
    a0, a1, a2, a3, a4 = _slope(K, mu, x, y)
    b0, b1, b2, b3, b4 = _slope(K, mu, x + 0.5 * h * a1, y + 0.5 * h * a2)
    c0, c1, c2, c3, c4 = _slope(K, mu, x + 0.5 * h * b1, y + 0.5 * h * b2)
    d0, d1, d2, d3, d4 = _slope(K, mu, x + h * c1, y + h * c2)
    w = h / 6
    new[0] = u[0] + w * (a0 + 2 * b0 + 2 * c0 + d0)
    new[1] = x + w * (a1 + 2 * b1 + 2 * c1 + d1)
    new[2] = y + w * (a2 + 2 * b2 + 2 * c2 + d2)
    f[0], f[1], f[2] = h, w * (a3 + 2 * b3 + 2 * c3 + d3), w * (a4 + 2 * b4 + 2 * c4 + d4)


@njit(cache=True)
def impulse(
    K: np.ndarray, axes: np.ndarray, velocity: np.ndarray, mu: float, e: float, law: int
) -> np.ndarray:
    """Impulse by mass (3,) [m/s]; zero if the corner leaves.

    Args:
        K: (3, 3) of `compliance`. axes: (3, 3) rows: the normal, and two directions along the plane.
        velocity: (3,) of the corner before the impact [m/s]. mu, e: friction, restitution. law: index in `LAWS`.
    """
    K, u = axes @ K @ axes.T, axes @ velocity
    total, new, f = np.zeros(3), np.empty(3), np.empty(3)
    first = u[0]
    if first >= 0:
        return total
    steep = mu * max(K[1, 1], K[2, 2]) + 0.1
    p, work, spent, goal, compressed = 0.0, 0.0, 0.0, np.inf, False
    for _ in range(MOST_STEPS):
        slip = np.sqrt(u[1] * u[1] + u[2] * u[2])
        # near sticking a step changes the slip by a fraction of eps; while it slides, by a part of it
        h = np.hypot(SLIP, SLIDES * slip) / steep
        if compressed and law == POISSON:
            h = min(h, goal - p)
        _advanced(K, mu, u, h, new, f)
        begin, end = u[0], new[0]
        if not compressed and end >= 0:
            h = _until(K, mu, u, h, 0.0, new, f)
            spent, work, compressed = -(work + 0.5 * h * begin), 0.0, True
            p, u[:] = p + h, new
            total += f
            goal = (1 + e) * p
            if e <= 0:
                break
            continue
        gained = work + 0.5 * h * (begin + end)
        last = False
        if compressed:
            if law == NEWTON and end >= -e * first:
                _until(K, mu, u, h, -e * first, new, f)
                last = True
            elif law == POISSON and p + h >= goal * (1 - 1e-12):
                last = True
            elif law == ENERGETIC and gained >= e * e * spent:
                # the work grows by h (begin + h slope / 2)
                slope, missing = (end - begin) / h, e * e * spent - work
                root = np.sqrt(max(begin * begin + 2 * slope * missing, 0.0))
                _advanced(K, mu, u, 2 * missing / (begin + root), new, f)
                last = True
        total += f
        if last:
            break
        p, work, u[:] = p + h, gained, new
    return axes.T @ total


@njit(cache=True)
def _until(
    K: np.ndarray, mu: float, u: np.ndarray, h: float, wanted: float, new: np.ndarray, f: np.ndarray
) -> float:
    """The part of the step h after which the normal velocity is `wanted`, and the velocity and impulse there."""
    for _ in range(4):  # Newton's method, since the normal velocity is nearly linear in h
        slope = _slope(K, mu, new[1], new[2])[0]
        h -= (new[0] - wanted) / slope
        _advanced(K, mu, u, h, new, f)
        if abs(new[0] - wanted) < 1e-14:
            break
    return h


@njit(cache=True)
def corner_velocity(v: np.ndarray, R: np.ndarray, w: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Velocity of a point that is at r (3,) of the world from the center."""
    return v + cross3(R @ w, r)


@njit(cache=True)
def plane_axes(n: np.ndarray, along: np.ndarray) -> np.ndarray:
    """(3, 3) rows: the unit normal n, and two directions of the plane, the first nearest to `along`."""
    axes = np.empty((3, 3))
    axes[0] = n
    t = along - (along @ n) * n
    axes[1] = t / np.sqrt(t @ t)
    axes[2] = cross3(n, axes[1])
    return axes
