"""Drops of a square with round corners on a floor that gives way: forces and small steps, no impulses.

Each corner, a circle, that is d inside the floor is pushed out by k d (1 + c d') (Hunt and Crossley), k such that a
blow takes about a millisecond, and held back by friction mu F tanh(slip / a small speed). c and mu are drawn anew for
each contact. Steps of a few microseconds (semi-implicit Euler) carry it; nothing of an instant of impact, of Eq. 32
or of an impulse is in here. The tracker sees a point beside the center of mass, an angle that is off, and noise; the
floor lies elsewhere in each drop, and is not level; drag and a random acceleration act in flight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ...estimators.complementarity.flights import Drop

STEP = 4e-6
SIDE = 0.06


@dataclass(frozen=True)
class Throws:
    """What the drops are made of; lengths [m], angles [rad], noise of a frame and wander as `FlightModel` has them."""

    inertia_to_mass: float = 6e-4
    corner_radius: float = 5e-3
    shape_offset: tuple[float, float] = (-2e-4, 1e-4)
    angle_offset: float = 0.03
    floor_height: float = 1e-3
    floor_spread: float = 4e-4
    floor_slope: float = 1e-3
    tracked_offset: tuple[float, float] = (0.5e-3, 0.3e-3)
    drag: tuple[float, float] = (0.4, 0.45)
    friction: tuple[float, float] = (0.15, 0.21)
    damping: tuple[float, float] = (0.15, 0.9)
    stiffness: float = 4e6
    noise: tuple[float, float, float] = (1.5e-5, 4.5e-5, 9e-4)
    wander: tuple[float, float, float] = (7e-4, 3.5e-3, 1.2)
    frames_per_second: float = 250.0
    seconds: float = 0.8

    def drops(self, count: int, seed: int) -> list[Drop]:
        rng = np.random.default_rng(seed)
        return [self.drop(f"drop {i + 1}", rng) for i in range(count)]

    def drop(self, name: str, rng: np.random.Generator) -> Drop:
        start = np.array(
            [
                rng.normal(-0.3, 0.02),
                rng.normal(0.15, 0.01),
                rng.uniform(0, 2 * np.pi),
                rng.normal(-0.6, 0.1),
                rng.normal(-2.1, 0.2),
                rng.normal(0, 3),
            ]
        )
        height = self.floor_height + self.floor_spread * rng.normal()
        every = round(1 / self.frames_per_second / STEP)
        frames = int(self.seconds * self.frames_per_second)
        center = 0.5 * SIDE - self.corner_radius
        corners = center * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]]) + np.array(self.shape_offset)
        shakes = rng.normal(size=(frames * every, 3)) * np.sqrt(np.array(self.wander) / STEP)
        draws = rng.uniform(size=(4000, 2)) * np.array(
            [self.friction[1] - self.friction[0], self.damping[1] - self.damping[0]]
        ) + np.array([self.friction[0], self.damping[0]])
        path = _fallen(
            start,
            corners,
            self.corner_radius,
            self.inertia_to_mass,
            np.array(self.drag),
            height,
            self.floor_slope,
            self.stiffness,
            draws,
            shakes,
            every,
            frames,
        )
        # the body frame of the tracker is turned back by what its angle lacks
        c, s = np.cos(path[:, 2] - self.angle_offset), np.sin(path[:, 2] - self.angle_offset)
        o_x, o_y = self.tracked_offset
        seen = path + np.column_stack(
            [c * o_x - s * o_y, s * o_x + c * o_y, np.full(frames, -self.angle_offset)]
        )
        return Drop(
            name, np.arange(frames) / self.frames_per_second, seen + rng.normal(size=path.shape) * self.noise
        )


@njit(cache=True)
def _fallen(
    start: np.ndarray,
    corners: np.ndarray,
    radius: float,
    J: float,
    drag: np.ndarray,
    height: float,
    slope: float,
    stiffness: float,
    draws: np.ndarray,
    shakes: np.ndarray,
    every: int,
    frames: int,
) -> np.ndarray:
    """(frames, 3) true poses of the center of mass."""
    x, y, theta, v_x, v_y, omega = start
    t_x, t_y = np.cos(slope), np.sin(slope)
    touching, drawn, which = np.zeros(4), 0, np.zeros(4, dtype=np.int64)
    path = np.empty((frames, 3))
    for i in range(frames * every):
        if i % every == 0:
            path[i // every] = x, y, theta
        a_x, a_y = -drag[0] * v_x + shakes[i, 0], -9.81 - drag[0] * v_y + shakes[i, 1]
        turn = -drag[1] * omega + shakes[i, 2]
        c, s = np.cos(theta), np.sin(theta)
        for k in range(4):
            r_x = c * corners[k, 0] - s * corners[k, 1] + radius * t_y
            r_y = s * corners[k, 0] + c * corners[k, 1] - radius * t_x
            depth = -(-(x + r_x) * t_y + (y + r_y - height) * t_x)
            if depth <= 0:
                touching[k] = 0.0
                continue
            if touching[k] == 0.0:
                touching[k], which[k], drawn = 1.0, drawn, drawn + 1
            u_x, u_y = v_x - omega * r_y, v_y + omega * r_x
            inward, slip = -(-u_x * t_y + u_y * t_x), u_x * t_x + u_y * t_y
            mu, damping = draws[which[k], 0], draws[which[k], 1]
            F = max(0.0, stiffness * depth * (1 + damping * inward))
            H = -mu * F * np.tanh(slip / 2e-3)
            f_x, f_y = -F * t_y + H * t_x, F * t_x + H * t_y
            a_x, a_y, turn = a_x + f_x, a_y + f_y, turn + (r_x * f_y - r_y * f_x) / J
        v_x, v_y, omega = v_x + STEP * a_x, v_y + STEP * a_y, omega + STEP * turn
        x, y, theta = x + STEP * v_x, y + STEP * v_y, theta + STEP * omega
    return path
