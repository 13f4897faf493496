"""Tables of impacts: pose, velocities before and after, from the exact stepper, with noise of a tracker."""

from __future__ import annotations

import numpy as np

from poinsot.models.planar import PlanarBody, floor
from poinsot.models.planar.events import moved
from poinsot.models.planar.shapes import Shape
from poinsot.recording import Recording

NOISE = np.array([3e-4, 3e-4, 5e-3, *(0.02, 0.02, 0.2) * 2])
"""Of pose and velocities [m], [m], [rad], [m/s], [m/s], [rad/s]."""
UNITS = ("m", "m", "rad", *("m/s", "m/s", "rad/s") * 2)
CHANNELS = tuple(
    f"{quantity}.{axis}"
    for quantity in ("position", "velocity_before", "velocity_after")
    for axis in ("x", "y", "angle")
)


def impact_rows(
    shape: Shape, inertia_to_mass: float, friction: float, restitution: float, count: int, seed: int
) -> np.ndarray:
    """(count, 9) first impacts of throws; friction and restitution vary from one to the next."""
    rng, rows = np.random.default_rng(seed), []
    while len(rows) < count:
        law = (
            max(0.02, friction + 0.03 * rng.normal()),
            float(np.clip(restitution + 0.05 * rng.normal(), 0, 1)),
        )
        pose = np.array([rng.uniform(-0.3, 0.3), 0.25, rng.uniform(-3, 3)])
        velocity = np.array([rng.uniform(-2, 2), rng.uniform(-2.5, -0.5), rng.uniform(-12, 12)])
        body = PlanarBody(shape, 1.0, inertia_to_mass, *law)
        _, _, found = moved(body, [floor()], pose, velocity, np.arange(120) / 240)
        # one corner that strikes alone
        if len(found.times) and (len(found.times) == 1 or found.times[1] - found.times[0] > 0.01):
            rows.append(np.concatenate([found.poses[0], found.before[0], found.after[0]]))
    return np.array(rows) + NOISE * rng.standard_normal((count, 9))


def impact_table(rows: np.ndarray) -> Recording:
    """The recording with these rows, numbered instead of timed."""
    channels = dict(zip(CHANNELS, rows.T, strict=True))
    return Recording(np.arange(len(rows), dtype=float), channels, dict(zip(CHANNELS, UNITS, strict=True)))
