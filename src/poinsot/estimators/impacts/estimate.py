"""The estimate of thrown bodies, from the fit of one drop or of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Matrix, Vector
from ...estimate import (
    Certificate,
    Estimate,
    EstimatedParameters,
    Provenance,
    Status,
    Uncertainty,
    condition_numbers,
    extras_of,
)
from ...estimate.extras import Extra
from ...estimate.motions import POSE, EstimatedMotion, Scene, SensorFit
from ...models.planar.contact import wall_array
from ...recording import Recording

if TYPE_CHECKING:
    from .problem import ImpactsProblem

AGREES = 1e-6
"""Relative differences below this, of derived values and of poses in standard deviations, are rounding."""
WITHOUT_MASS = "Without a known mass or force only J/m and impulses by mass result; give mass for J and N s."


def impulse_unit(mass: float | None) -> tuple[float, str]:
    """Factor and unit of impulses that are computed for a body of mass 1; without a known mass they stay by mass."""
    return (1.0, "m/s") if mass is None else (mass, "N s")


class SolvedMotion(Extra, ABC):
    """The unknowns of an estimate that are not parameters, and the certificate that needs them."""

    @abstractmethod
    def certify(self, problem: ImpactsProblem, estimate: Estimate) -> Certificate:
        """Optimality and feasibility at the estimate's own values."""


def motion_of(
    name: str, times: Vector, quantities: Mapping[str, Matrix], sensor: SensorFit
) -> EstimatedMotion:
    """A motion from `position` (N, 3) and perhaps `velocity` of x, y [m] and the angle [rad]."""
    channels, units = {}, {}
    for quantity, values in quantities.items():
        for k, (axis, unit) in enumerate(POSE.items()):
            channels[f"{quantity}.{axis}"] = values[:, k]
            units[f"{quantity}.{axis}"] = unit if quantity == "position" else f"{unit}/s"
    return EstimatedMotion(name, Recording(times, channels, units, {}, {"estimated": name}), (sensor,))


def estimated_parameters(
    owner: str, rows: Sequence[tuple[str, str, str, float, bool]], covariance: Matrix, coloured: bool
) -> EstimatedParameters:
    """Parameters of a body.

    Args:
        rows: name, unit, kind, value and whether it is identifiable, of each. covariance: of them.
        coloured: whether standard deviations hold whatever the correlation of residuals.
    """
    names, units, kinds, values, identifiable = zip(*rows, strict=True)
    sources = Uncertainty(correlation=covariance) if coloured else Uncertainty(covariance)
    columns = names, units, (owner,) * len(rows), kinds, np.array(values), names
    return EstimatedParameters(*columns, np.array(identifiable), sources)


def impacts_estimate(
    problem: ImpactsProblem,
    parameters: EstimatedParameters,
    status: Status,
    normal: Matrix,
    examined: Mapping[str, Any],
    extras: Sequence[Extra],
    friction: tuple[float, float],
    energy: Mapping[str, tuple[Vector, Vector]],
    provenance: Provenance,
    **rest: Any,
) -> Estimate:
    """The estimate of a problem.

    Args:
        normal: of the identifiable parameters that are not derived from others, all other unknowns eliminated.
        examined: fields of `diagnosis.throws.ThrownBody` that only the method knows.
        friction: mu and NaN, or NaN and its lower bound where it is not identifiable.
        energy: of recordings: times [s], and energies [J], or [J/kg] without a known mass.
        rest: further fields of the estimate.
    """
    condition, scaled = condition_numbers(normal)
    scene = Scene(problem.shape.outline(), wall_array(problem.walls), *friction, energy)
    return Estimate(
        method="",
        robot=problem.name,
        parameters=parameters,
        status=Status.partly if status.converged and not parameters.identifiable.all() else status,
        condition_number=condition,
        scaled_condition_number=scaled,
        problem=problem,
        examiner=problem.examiner(**examined),
        extras=extras_of(*extras, scene),
        provenance=replace(provenance, warnings=(*problem.warnings, *provenance.warnings)),
        **rest,
    )
