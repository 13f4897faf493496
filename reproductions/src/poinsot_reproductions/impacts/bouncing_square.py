"""Drops of a square with round corners on a floor that gives way: forces and small steps, no impulses.

Each corner, a circle, that is d inside the floor is pushed out by (Hunt and Crossley, with a loss that slow blows have
as well)

    k d (d / 1 mm)^(m - 1) (1 + c d' + l tanh(d' / a small speed))

k such that a blow takes about a millisecond, and held back by friction mu F tanh(slip / a small speed). c and mu are
drawn anew for each contact. Steps of a few microseconds (semi-implicit Euler) carry it; nothing of an instant of
impact, of Eq. 32 or of an impulse is in here.

The tracker sees a point beside the center of mass, an angle that is off, and noise; drag and a random acceleration act
in flight. The floor lies elsewhere in each drop, is not level, has waves, is rough, and was moved between two of the
drops. The square is longer than wide, its corners differ, and its sides are not flat: each has one more circle in its
middle, which sticks out a little or does not, on which it rocks and comes to rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poinsot.kernels import njit
from poinsot.models.planar.drop import Drop

STEP = 4e-6
SIDE = 0.06
WAVES = np.array([0.5, 0.3, 0.2, 0.12, 0.08])
"""Lengths of the floor's waves [m]; all are equally steep."""
ROUGH = np.array([0.05, 0.03, 0.02])
"""Lengths of its short waves [m]; all are equally high."""
DEPTH = 1e-3
"""At which `stiffness` is what it says, whatever the hardening [m]."""
MOVED_AFTER = 0.75
"""Of the drops."""
CLEAR = 5e-3
"""A circle that is higher above the level than this is in the air [m]."""


@dataclass(frozen=True)
class Throws:
    """What the drops are made of; lengths [m], angles [rad], noise of a frame and wander as `FlightModel` has them."""

    inertia_to_mass: float = 6e-4
    corner_radius: float = 5e-3
    corner_spread: float = 2e-4
    shape_offset: tuple[float, float] = (-2e-4, 1e-4)
    angle_offset: float = 0.03
    floor_height: float = 1e-3
    floor_spread: float = 4e-4
    floor_slope: float = 1e-3
    floor_moved: float = 7e-4
    floor_waves: float = 2e-4
    floor_roughness: float = 8e-5
    elongation: float = 4e-3
    bulge: float = 1e-4
    tracked_offset: tuple[float, float] = (0.5e-3, 0.3e-3)
    drag: tuple[float, float] = (0.4, 0.45)
    friction: tuple[float, float] = (0.15, 0.21)
    damping: tuple[float, float] = (0.15, 0.9)
    loss: float = 0.4
    stiffness: float = 4e6
    hardening: float = 3.0
    noise: tuple[float, float, float] = (1.5e-5, 4.5e-5, 9e-4)
    wander: tuple[float, float, float] = (7e-4, 3.5e-3, 1.2)
    frames_per_second: float = 250.0
    seconds: float = 0.8

    def drops(self, count: int, seed: int) -> list[Drop]:
        """Of one square on one floor."""
        rng = np.random.default_rng(seed)
        circles, phases = self.circles(rng), rng.uniform(0, 2 * np.pi, len(WAVES) + len(ROUGH))
        moved = [self.floor_moved * (i >= MOVED_AFTER * count) for i in range(count)]
        return [self.drop(f"drop {i + 1}", rng, circles, phases, up) for i, up in enumerate(moved)]

    def circles(self, rng: np.random.Generator) -> np.ndarray:
        """(8, 3) centers from the center of mass, and radii, of those that may touch: of corners and of sides."""
        half = 0.5 * SIDE * np.array([1 + self.elongation, 1 - self.elongation])
        signs = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
        radii = self.corner_radius + self.corner_spread * rng.normal(size=4)
        outwards = np.array([[0.0, -1], [1, 0], [0, 1], [-1, 0]])
        bulges = self.bulge * rng.normal(size=4)
        corners = np.column_stack([signs * (half - radii[:, None]), radii])
        sides = outwards * (half - self.corner_radius + bulges[:, None])
        found = np.vstack([corners, np.column_stack([sides, np.full(4, self.corner_radius)])])
        found[:, :2] += self.shape_offset
        return found

    def drop(
        self, name: str, rng: np.random.Generator, circles: np.ndarray, phases: np.ndarray, moved: float
    ) -> Drop:
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
        height = self.floor_height + moved + self.floor_spread * rng.normal()
        every = round(1 / self.frames_per_second / STEP)
        frames = int(self.seconds * self.frames_per_second)
        shakes = rng.normal(size=(frames * every, 3)) * np.sqrt(np.array(self.wander) / STEP)
        draws = rng.uniform(size=(4000, 2)) * np.array(
            [self.friction[1] - self.friction[0], self.damping[1] - self.damping[0]]
        ) + np.array([self.friction[0], self.damping[0]])
        path = _fallen(
            start,
            circles,
            self.inertia_to_mass,
            np.array(self.drag),
            height,
            self.floor_slope,
            np.concatenate([WAVES, ROUGH]),
            np.concatenate([self.floor_waves * WAVES / WAVES[0], np.full(len(ROUGH), self.floor_roughness)]),
            phases,
            self.stiffness,
            self.hardening,
            self.loss,
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
    circles: np.ndarray,
    J: float,
    drag: np.ndarray,
    height: float,
    slope: float,
    lengths: np.ndarray,
    waves: np.ndarray,
    phases: np.ndarray,
    stiffness: float,
    hardening: float,
    loss: float,
    draws: np.ndarray,
    shakes: np.ndarray,
    every: int,
    frames: int,
) -> np.ndarray:
    """(frames, 3) true poses of the center of mass."""
    x, y, theta, v_x, v_y, omega = start
    K = len(circles)
    touching, drawn, which = np.zeros(K), 0, np.zeros(K, dtype=np.int64)
    path = np.empty((frames, 3))
    for i in range(frames * every):
        if i % every == 0:
            path[i // every] = x, y, theta
        a_x, a_y = -drag[0] * v_x + shakes[i, 0], -9.81 - drag[0] * v_y + shakes[i, 1]
        turn = -drag[1] * omega + shakes[i, 2]
        c, s = np.cos(theta), np.sin(theta)
        for k in range(K):
            radius = circles[k, 2]
            r_x = c * circles[k, 0] - s * circles[k, 1]
            r_y = s * circles[k, 0] + c * circles[k, 1]
            above = y + r_y - radius - height - slope * (x + r_x)
            if above > CLEAR:
                touching[k] = 0.0
                continue
            rising = slope
            for j in range(len(waves)):
                phase = 2 * np.pi * (x + r_x) / lengths[j] + phases[j]
                above -= waves[j] * np.sin(phase)
                rising += waves[j] * 2 * np.pi / lengths[j] * np.cos(phase)
            t_x, t_y = 1 / np.sqrt(1 + rising**2), rising / np.sqrt(1 + rising**2)
            # the circle's center is (above + radius) over a floor that rises so, its lowest point radius nearer
            depth = radius - (above + radius) * t_x
            r_x, r_y = r_x + radius * t_y, r_y - radius * t_x
            if depth <= 0:
                touching[k] = 0.0
                continue
            if touching[k] == 0.0:
                touching[k], which[k], drawn = 1.0, drawn % len(draws), drawn + 1
            u_x, u_y = v_x - omega * r_y, v_y + omega * r_x
            inward, slip = -(-u_x * t_y + u_y * t_x), u_x * t_x + u_y * t_y
            mu, damping = draws[which[k], 0], draws[which[k], 1]
            lost = max(0.0, 1 + damping * inward + loss * np.tanh(inward / 0.02))
            F = stiffness * depth * (depth / DEPTH) ** (hardening - 1) * lost
            H = -mu * F * np.tanh(slip / 2e-3)
            f_x, f_y = -F * t_y + H * t_x, F * t_x + H * t_y
            a_x, a_y, turn = a_x + f_x, a_y + f_y, turn + (r_x * f_y - r_y * f_x) / J
        v_x, v_y, omega = v_x + STEP * a_x, v_y + STEP * a_y, omega + STEP * turn
        x, y, theta = x + STEP * v_x, y + STEP * v_y, theta + STEP * omega
    return path
