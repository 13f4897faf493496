"""Certificate of a drop: optimality and feasibility at the estimate's own values.

theta consists of the first state of the estimate's motion and of J/m, friction, restitution and mass of its parameters,
or of `DropSimulation` where the data do not determine them. The motion is simulated with it, and

    stationarity    `Shooting.descent`: the descent that one-sided slopes promise, in standard deviations
    feasible        theta is within its bounds, J = m (J/m), and the poses of the motion are the simulated ones
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Vector
from ...estimate import Certificate, Estimate, motions_of
from ...estimate.extras import Extra
from ...estimate.motions import POSE
from ...exceptions import InvalidMethod
from ...models.planar.contact import Wall
from ...models.planar.shapes import Shape
from .flights import Drop
from .segmentation import moving
from .shooting import STATIONARY, Shooting

AGREES = 1e-6
"""Relative differences below this, of derived values and of poses in standard deviations, are rounding."""


@dataclass(frozen=True, eq=False)
class DropSimulation(Extra):
    """Settings of a drop's simulation beside the estimate's values and its first state.

    Args:
        noise: (3,) standard deviations of the tracker [m], [m], [rad].
        drag: linear and angular [1/s].
        friction: of the simulation, also where its value is not identifiable.
        mass: of the simulation [kg]; None where no force acts and none is given.
    """

    key = "simulation"

    noise: Vector
    drag: tuple[float, float]
    friction: float
    mass: float | None

    def as_json(self) -> dict[str, Any]:
        return {"noise": self.noise, "drag": self.drag, "friction": self.friction, "mass": self.mass}


def certify_drop(
    drop: Drop, shape: Shape, walls: Sequence[Wall], mass: float | None, estimate: Estimate
) -> Certificate:
    """Optimality and feasibility of the estimate's values, see above."""
    simulation, motions = estimate.extra(DropSimulation), motions_of(estimate)
    if simulation is None or len(motions) != 1:
        raise InvalidMethod(
            "this estimate has no simulated motion of one drop; certify what DropIdentification gave"
        )
    drop, path = moving(drop), motions[0].path
    shooting = Shooting(
        drop.times, drop.poses, simulation.noise, shape, walls, simulation.drag, drop.forces, mass
    )
    values = {
        name: float(value)
        for name, value, known in zip(estimate.names, estimate.values, estimate.identifiable, strict=True)
        if known
    }
    m = values.get("m", simulation.mass)
    poses, rates = (path.stack(quantity, tuple(POSE)) for quantity in ("position", "velocity"))
    friction = values.get("friction", simulation.friction)
    # J/m or a mass that is not positive gives no finite theta, and no certificate below
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = shooting.theta((poses[0], rates[0]), values["J/m"], friction, values["restitution"], m)
    lower, upper = shooting.bounds()
    if not (np.isfinite(theta).all() and (lower <= theta).all() and (theta <= upper).all()):
        return Certificate(float("inf"), False, STATIONARY)
    derived = "J" not in values or m is None or abs(values["J"] / (m * values["J/m"]) - 1) < AGREES
    simulated = shooting.residuals(theta, len(drop.times)).reshape(-1, 3) + drop.poses / simulation.noise
    moves = bool(np.abs(simulated - poses / simulation.noise).max() < AGREES)
    return Certificate(shooting.descent(theta)[0], derived and moves, STATIONARY)
