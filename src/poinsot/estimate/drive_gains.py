"""Effort per unit of current or voltage, motor by motor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Matrix, Vector
from .extras import Extra
from .uncertainty import NORMAL_95


@dataclass(frozen=True, eq=False)
class DriveGains(Extra):
    """Effort per unit of current or voltage, motor by motor.

    Args:
        joints, units: (m,) of each motor.
        values: (m,) in `units`. covariance: (m, m); zero where values were taken for exact.
        white_std: (m,) what white residuals would make of the standard deviations; None where nothing was estimated.
        identified: whether they were estimated here.
        by_gravity: (m,) whether gravity loads the joint; a gain that only inertia shows is hard to know.
    """

    key = "drive_gains"

    joints: tuple[str, ...]
    units: tuple[str, ...]
    values: Vector
    covariance: Matrix
    white_std: Vector | None = None
    identified: bool = False
    by_gravity: np.ndarray | None = None

    @property
    def std(self) -> Vector:
        """(m,) standard deviation of each, in `units`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def intervals(self) -> Matrix:
        """(m, 2) 95 %, in `units`."""
        half = NORMAL_95 * self.std
        return np.stack([self.values - half, self.values + half], axis=1)

    @property
    def poorly_known(self) -> np.ndarray:
        """(m,) whether the standard deviation is above 5 % of the value: all that follows is scaled by it."""
        # Multiplied, as a gain may be zero.
        return self.std > 0.05 * np.abs(self.values)

    def __str__(self) -> str:
        width = max(len(joint) for joint in self.joints)
        lines = [f"{'drive gain of':<{width}}  {'value':>11} {'std':>10}"]
        for joint, value, std, unit, poor in zip(
            self.joints, self.values, self.std, self.units, self.poorly_known, strict=True
        ):
            lines.append(
                f"{joint:<{width}}  {value:>11.5g} {std:>10.2g}  {unit}{', poorly known' if poor else ''}"
            )
        return "\n".join(lines)

    def as_json(self) -> list[dict[str, Any]]:
        """One row per motor."""
        std, intervals, poorly_known = self.std, self.intervals, self.poorly_known
        return [
            {
                "joint": joint,
                "value": self.values[k],
                "std": std[k],
                "interval": intervals[k],
                "unit": self.units[k],
                "identified": self.identified,
                "poorly_known": poorly_known[k],
                "by_gravity": None if self.by_gravity is None else self.by_gravity[k],
                "std_white": None if self.white_std is None else self.white_std[k],
                "covariance": self.covariance[k],
            }
            for k, joint in enumerate(self.joints)
        ]

    def as_text(self) -> str:
        return str(self)
