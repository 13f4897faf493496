"""Motion of a body with corners over a plane: flights, impacts, sliding and rest.

Between contacts the body flies. A step that would take a corner through the plane ends where it touches. Corners that
touch and approach get an impulse one after the other, the fastest first, by Routh's construction (`impacts`): with
restitution if it is an impact, with none if gravity alone made it approach (`REST`). So a body that lies or slides gets
an impulse at each corner in each step; penetration that remains is corrected along the normal.
"""

from __future__ import annotations

import numpy as np

from ...kernels import njit
from .flights import cross3, spun
from .impacts import compliance, corner_velocity, impulse

STEP_S = 5e-4
"""Longest step [s]."""
TOUCHING = 2e-5
"""Gap below which a corner touches [m]."""
REST = 4.0
"""A corner that approaches by no more than gravity adds in so many steps has no restitution."""
STILL, STILL_STEPS = 2e-3, 20
"""A body on three corners stays where it is after so many steps with speeds of the center, and of a corner about it,
below the first number [m/s]."""
MOST_IMPULSES = 60
"""In one step."""


@njit(cache=True)
def gaps_of(
    p: np.ndarray, R: np.ndarray, corners: np.ndarray, radius: float, n: np.ndarray, height: float
) -> np.ndarray:
    """(C,) distances of rounded corners from the plane n . x = height [m]."""
    return (corners @ R.T + p) @ n - radius - height


@njit(cache=True)
def rolled(
    J: np.ndarray,
    corners: np.ndarray,
    radius: float,
    axes: np.ndarray,
    height: float,
    g: np.ndarray,
    friction: np.ndarray,
    e: float,
    law: int,
    p: np.ndarray,
    v: np.ndarray,
    R: np.ndarray,
    w: np.ndarray,
    clock: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Places (T, 3) and rotations (T, 3, 3) at rising times (T,) [s], the first of which is that of the state.

    Args:
        J: (3, 3) inertia by mass [m^2]. corners: (C, 3) centers of their balls of this `radius`, from the center of
            mass [m]. axes: (3, 3) rows: the plane's normal, two directions along it. height: n . x of the plane [m].
        g: (3,) gravity [m/s^2]. friction: (2,) of slides, and of impacts. e, law: restitution, and index in `LAWS`.
        p, v, R, w: place, velocity, rotation and spin in the body's frame.
    """
    J_inverse, n = np.linalg.inv(J), axes[0].copy()
    places, rotations = np.empty((len(clock), 3)), np.empty((len(clock), 3, 3))
    places[0], rotations[0] = p, R
    p, v, w, t, still = p.copy(), v.copy(), w.copy(), clock[0], 0
    slow = REST * STEP_S * np.sqrt(np.sum(g * g))
    reach = 0.0
    for c in range(len(corners)):
        reach = max(reach, np.sqrt(np.sum(corners[c] ** 2)))
    for k in range(1, len(clock)):
        while still < STILL_STEPS and t < clock[k] - 1e-12:
            before = gaps_of(p, R, corners, radius, n, height)
            h = min(STEP_S, clock[k] - t)
            for _ in range(3):
                R_next, w_next = spun(J, J_inverse, R, w, h)
                p_next = p + h * v + 0.5 * h * h * g
                gaps = gaps_of(p_next, R_next, corners, radius, n, height)
                part = 1.0
                for c in range(len(gaps)):
                    if before[c] > TOUCHING and gaps[c] < 0:
                        part = min(part, before[c] / (before[c] - gaps[c]))
                if part > 0.999:
                    break
                h *= max(part, 1e-3)
            p, R, w, v, t = p_next, R_next, w_next, v + h * g, t + h
            deepest, touching = gaps.min(), 0
            for gap in gaps:
                touching += gap < TOUCHING
            for _ in range(MOST_IMPULSES if touching else 0):
                fastest, at = -1e-9, -1
                for c in range(len(gaps)):
                    if gaps[c] < TOUCHING:
                        speed = corner_velocity(v, R, w, R @ corners[c] - radius * n) @ n
                        if speed < fastest:
                            fastest, at = speed, c
                if at < 0:
                    break
                r, rests = R @ corners[at] - radius * n, fastest > -slow
                u = corner_velocity(v, R, w, r)
                K = compliance(J_inverse, R, r)
                I = impulse(K, axes, u, friction[0 if rests else 1], 0.0 if rests else e, law)
                v = v + I
                w = w + J_inverse @ (R.T @ cross3(r, I))
            if deepest < 0:
                p = p - deepest * n
            slowest = (
                touching >= 3 and np.sqrt(np.sum(v * v)) < STILL and reach * np.sqrt(np.sum(w * w)) < STILL
            )
            still = still + 1 if slowest else 0
        places[k], rotations[k], t = p, R, clock[k]
    return places, rotations
