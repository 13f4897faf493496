"""Certificate of a drop: residuals, constraints and slopes at the estimate's own values.

theta is put together from the estimate: the first state of its motion, and J/m, friction, restitution and mass of its
parameters, from `DropSimulation` where the data do not determine them. Then the motion is simulated and

    stationarity    `Shooting.stationarity`: the descent that one-sided slopes promise, in standard deviations
    feasible        theta is within its bounds, J = m (J/m), and the poses of the motion are the simulated ones
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from ...arrays import Matrix, Vector
from ...estimate import Certificate, Estimate, motions_of
from ...estimate.extras import Extra
from ...estimate.motions import POSE
from ...exceptions import InvalidMethod
from ...models.planar.shapes import Shape
from ...models.planar.walls import Wall
from .flights import Drop
from .segmentation import moving
from .shooting import STATIONARY, Shooting

AGREES = 1e-6
"""Relative differences below this, of derived values and of poses in standard deviations, are rounding."""


@dataclass(frozen=True, eq=False)
class DropSimulation(Extra):
    """What the simulation of a drop needs beside the estimate's values and its first state.

    Args:
        noise: (3,) standard deviations of the tracker [m], [m], [rad].
        drag: linear and angular [1/s].
        friction: with which it was simulated, also where its value is not identifiable.
        mass: the same [kg]; None where no force acts and none is given.
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
    """Optimality and feasibility of the estimate's values, see above.

    Raises:
        InvalidMethod: if the estimate has no simulated motion of this drop.
    """
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
    poses, rates = (
        np.column_stack([path[f"{quantity}.{axis}"] for axis in POSE])
        for quantity in ("position", "velocity")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = np.array(
            [
                *poses[0],
                *rates[0],
                np.log(values["J/m"]),
                values.get("friction", simulation.friction),
                values["restitution"],
                np.log(m or 1.0),
            ]
        )[: shooting.parameters]
    lower, upper = shooting.bounds()
    if not (np.isfinite(theta).all() and (lower <= theta).all() and (theta <= upper).all()):
        return Certificate(float("inf"), False, STATIONARY)
    derived = "J" not in values or m is None or abs(values["J"] / (m * values["J/m"]) - 1) < AGREES
    simulated = shooting.residuals(theta, len(drop.times)).reshape(-1, 3) + drop.poses / simulation.noise
    moves = bool(np.abs(simulated - poses / simulation.noise).max() < AGREES)
    return Certificate(shooting.stationarity(theta), derived and moves, STATIONARY)


def condition_numbers(by_parameters: Matrix, by_nuisances: Matrix) -> tuple[float, float]:
    """Ratios of singular values of a whitened Jacobian (N, p), nuisances (N, q) eliminated; and with unit columns."""
    basis = linalg.orth(by_nuisances / np.maximum(np.linalg.norm(by_nuisances, axis=0), np.finfo(float).tiny))
    reduced = by_parameters - basis @ (basis.T @ by_parameters)
    norms = np.maximum(np.linalg.norm(reduced, axis=0), np.finfo(float).tiny)
    return float(np.linalg.cond(reduced)), float(np.linalg.cond(reduced / norms))
