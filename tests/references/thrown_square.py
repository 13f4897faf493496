"""A square that is thrown onto a floor and against a wall, as an estimate would tell of it: for pages and JSON.

Steps of half a millisecond; a corner inside a wall that goes deeper gets the impulse with which it leaves at e times
its normal speed, and sticks or, outside the friction cone, slides. Everything is by mass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poinsot.estimate import Estimate
from poinsot.estimate.motions import EstimatedMotion, EstimatedMotions, Impact, Impacts, Scene, SensorFit
from poinsot.recording import Recording

SIDE, INERTIA, FRICTION, RESTITUTION, GRAVITY = 0.06, 6e-4, 0.23, 0.5, 9.81
STEP, EVERY, STEPS = 5e-4, 8, 1000
LEAST = 0.03
"""Impulses below it [m/s] are a square that slides along; they are no impacts to be told."""
CORNERS = 0.5 * SIDE * np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
WALLS = np.array([[0.0, 0.0, 0.02], [0.12, 0.0, np.pi / 2]])
POSE = ("position.x", "position.y", "position.angle")
SPEED = ("velocity.x", "velocity.y", "velocity.angle")
NOISE = np.array([1e-3, 1e-3, 0.02])


def thrown_square(estimate: Estimate, rng: np.random.Generator, count: int = 2) -> Estimate:
    """The estimate with so many drops, their impacts and the scene."""
    told = [drop(f"drop {k + 1}", rng) for k in range(count)]
    impacts = [impact for _, some, _, _ in told for impact in some]
    shares = np.array([impact.normal**2 for impact in impacts])
    shares = 0.98 * shares / shares.sum()
    return estimate.updated(
        EstimatedMotions(motion for motion, _, _, _ in told),
        Impacts(replace(one, share=float(part)) for one, part in zip(impacts, shares, strict=True)),
        Scene(
            outline=square(45),
            walls=WALLS,
            friction=FRICTION,
            energy={motion.name: (time, energy) for motion, _, time, energy in told},
        ),
    )


def square(a_side: int) -> np.ndarray:
    """(4 a_side, 2) points, each corner repeated, as an outline by directions has them."""
    return np.repeat(CORNERS, a_side, axis=0)


def drop(name: str, rng: np.random.Generator) -> tuple[EstimatedMotion, list[Impact], np.ndarray, np.ndarray]:
    """The motion, its impacts, and times and energies with a time twice at each impact."""
    q = np.array([rng.normal(-0.3, 0.02), rng.normal(0.15, 0.01), rng.uniform(0, 2 * np.pi)])
    v = np.array([rng.normal(0.8, 0.1), rng.normal(-1.5, 0.2), rng.normal(0, 6)])
    states, impacts, energies = [], [], []
    for k in range(STEPS):
        time = k * STEP
        v[1] -= GRAVITY * STEP
        q = q + v * STEP
        for wall in WALLS:
            for corner in range(4):
                before = energy_of(q, v)
                blow = struck(q, v, wall, corner)
                if blow is None:
                    continue
                v, normal, tangential, slides = blow
                after = energy_of(q, v)
                if normal < LEAST:
                    continue
                energies += [(time, before), (time, after)]
                impacts.append(
                    Impact(
                        name, time, f"corner {corner + 1} on the {'wall' if wall[2] > 1 else 'floor'}", normal,
                        tangential, "m/s", RESTITUTION if normal > 0.3 else float("nan"),
                        "slides" if slides else "sticks", before - after,
                    )
                )  # fmt: skip
        if k % EVERY == 0:
            states.append((time, *q, *v))
            energies.append((time, energy_of(q, v)))
    return motion_of(name, np.array(states), rng), impacts, *np.array(energies).T


def energy_of(q: np.ndarray, v: np.ndarray) -> float:
    """By mass [J/kg]."""
    return float(0.5 * (v[0] ** 2 + v[1] ** 2 + INERTIA * v[2] ** 2) + GRAVITY * q[1])


def struck(
    q: np.ndarray, v: np.ndarray, wall: np.ndarray, corner: int
) -> tuple[np.ndarray, float, float, bool] | None:
    """Velocity after, normal and tangential impulse by mass, and whether it slides; None where nothing strikes."""
    c, s = np.cos(q[2]), np.sin(q[2])
    r = np.array([[c, -s], [s, c]]) @ CORNERS[corner]
    along = np.array([np.cos(wall[2]), np.sin(wall[2])])
    basis = np.array([[-along[1], along[0]], along])
    J = np.column_stack([basis, basis @ np.array([-r[1], r[0]])])
    v_n, v_t = J @ v
    if (q[:2] + r - wall[:2]) @ basis[0] > 0 or v_n >= 0:
        return None
    inverse = np.array([1.0, 1.0, 1.0 / INERTIA])
    W = (J * inverse) @ J.T
    normal, tangential = np.linalg.solve(W, [-(1 + RESTITUTION) * v_n, -v_t])
    slides = abs(tangential) > FRICTION * normal
    if slides:
        way = -np.sign(v_t) * FRICTION
        normal = -(1 + RESTITUTION) * v_n / (W[0, 0] + way * W[0, 1])
        tangential = way * normal
    return v + inverse * (J.T @ [normal, tangential]), float(normal), float(tangential), bool(slides)


def motion_of(name: str, states: np.ndarray, rng: np.random.Generator) -> EstimatedMotion:
    """(S, 7) times, poses and velocities, with poses tracked; one is missing."""
    time, values = states[:, 0], states[:, 1:]
    units = ("m", "m", "rad")
    path = Recording(
        time=time,
        channels=dict(zip((*POSE, *SPEED), values.T, strict=True)),
        units=dict(zip((*POSE, *SPEED), (*units, *(f"{unit}/s" for unit in units)), strict=True)),
    )
    measured = values[:, :3] + NOISE * rng.normal(size=(len(time), 3))
    measured[7] = np.nan
    pose = SensorFit("pose", POSE, units, measured, values[:, :3], POSE, (measured - values[:, :3]) / NOISE)
    return EstimatedMotion(name, path, (pose,))
