"""The ellipse of Sect. 4 and how it sets out: it is dropped, thrown, and slides."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from poinsot.models.planar import Ellipse, PlanarBody, floor
from poinsot.models.planar.body import GRAVITY

from .stepping import Law, Motion, simulate

SHAPE, MASS, INERTIA = Ellipse(1.5, 1.0), 10.0, 2.0
FLOOR = (floor(),)
DROP = ((0.0, 10.0, 0.0), (0.0, 0.0, 0.0))
THROW = ((0.0, 5.0, 0.0), (10.0, -3.0, -8.0))
SLIDE = ((0.0, 1.0, 0.0), (15.0, 0.0, 0.0))
"""Pose and velocity [m], [m], [rad] and their rates."""
LAWS = {"IRC": Law.RESTITUTION, "IGC": Law.GAP}
"""The paper's two formulations: impulse-restitution and impulse-gap complementarity."""

Start = tuple[tuple[float, float, float], tuple[float, float, float]]


def ellipse(friction: float, restitution: float = 0.0) -> PlanarBody:
    """Half axes of 1.5 and 1 m, 10 kg and 2 kg m^2."""
    return PlanarBody(SHAPE, MASS, INERTIA, friction, restitution)


def moves(body: PlanarBody, start: Start, step: float, seconds: float, law: Law = Law.RESTITUTION) -> Motion:
    """On the floor from y = 0."""
    return simulate(body, FLOOR, np.array(start[0]), np.array(start[1]), step, seconds, law)


def drift_of(step: float, seconds: float) -> float:
    """What implicit Euler loses in a flight: m g^2 h T / 2 [J]."""
    return MASS * GRAVITY**2 * step * seconds / 2


def height_along(motion: Motion, x: Float[np.ndarray, "X"]) -> Float[np.ndarray, "X"]:
    """Of the center of mass, where it goes forward all the time [m]; NaN beyond its end."""
    return np.interp(x, motion.poses[:, 0], motion.poses[:, 1], right=np.nan)
