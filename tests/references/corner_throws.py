"""Throws of a polygon in the plane done slowly: flights in small steps, the instant of impact by bisection, impulses by
equal steps of the normal impulse. Nothing of the package is in it."""

from __future__ import annotations

import numpy as np

from references.planar import impulses_by_small_steps

FALL = np.array([0.0, -9.81, 0.0])
STEP, SLOWEST, IMPULSE_STEPS = 1e-3, 0.05, 4000


def nearest(vertices: np.ndarray, walls: list[tuple[float, float, float]], q: np.ndarray):
    """Least gap of a corner, its lever, and the slope of its wall."""
    c, s = np.cos(q[2]), np.sin(q[2])
    levers = vertices @ np.array([[c, s], [-s, c]])
    found = []
    for x, y, slope in walls:
        gaps = (q[:2] + levers - [x, y]) @ np.array([-np.sin(slope), np.cos(slope)])
        found.append((gaps.min(), levers[gaps.argmin()], slope))
    return min(found, key=lambda contact: contact[0])


def flown(q: np.ndarray, v: np.ndarray, s: float) -> np.ndarray:
    return q + s * v + 0.5 * s**2 * FALL


def slow_throw(
    vertices: np.ndarray,
    walls: list[tuple[float, float, float]],
    inertia: float,
    friction: float,
    restitution: float,
    law: str,
    pose: np.ndarray,
    velocity: np.ndarray,
    times: np.ndarray,
) -> np.ndarray:
    """(T, 3) poses of the center of mass, until an impact is too slow."""
    q, v, t, poses = np.array(pose, float), np.array(velocity, float), float(times[0]), []
    while len(poses) < len(times):
        step = STEP
        if struck := nearest(vertices, walls, flown(q, v, step))[0] < 0:
            low, high = 0.0, step
            for _ in range(50):
                step = 0.5 * (low + high)
                low, high = (
                    (low, step) if nearest(vertices, walls, flown(q, v, step))[0] < 0 else (step, high)
                )
            step = low
        while len(poses) < len(times) and times[len(poses)] <= t + step:
            poses.append(flown(q, v, times[len(poses)] - t))
        q, v, t = flown(q, v, step), v + step * FALL, t + step
        if not struck:
            continue
        _, r, slope = nearest(vertices, walls, q)
        n, along = np.array([-np.sin(slope), np.cos(slope)]), np.array([np.cos(slope), np.sin(slope)])
        N, T = (np.array([*u, r[0] * u[1] - r[1] * u[0]]) for u in (n, along))
        W = np.array([1.0, 1.0, 1 / inertia])
        if -N @ v < SLOWEST:
            break
        c = impulses_by_small_steps(N, T, W, v, friction, restitution, law, IMPULSE_STEPS)
        v = v + W * (c[0] * N + c[1] * T)
        q = q + 1e-9 * np.array([*n, 0.0])
    return np.array(poses)
