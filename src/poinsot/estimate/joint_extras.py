"""Friction curves of joints, and every single parameter of a model, data and prior knowledge together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Matrix, Vector
from .extras import Extra


@dataclass(frozen=True, eq=False)
class FrictionCurve:
    """What friction does at each speed of a joint, against the motion.

    Args:
        joint: name of the joint.
        unit: SI unit of the effort.
        speed: (k,) [rad/s] or [m/s]. effort, std: (k,) in `unit`.
    """

    joint: str
    unit: str
    speed: Vector
    effort: Vector
    std: Vector


class FrictionCurves(tuple[FrictionCurve, ...], Extra):
    """One curve per joint with dry or viscous friction."""

    key = "friction_curves"

    def as_json(self) -> list[FrictionCurve]:
        return list(self)


@dataclass(frozen=True, eq=False)
class FullParameters(Extra):
    """Every single parameter of the model: what the data say of it, and prior knowledge where they leave it open.

    Args:
        names, units, owners, kinds: per parameter, (p,).
        values, covariance: (p,), (p, p) after data and prior.
        prior: (p,) values before the data; NaN where nothing was known.
        prior_share: (p,) which part of the prior's variance the data left: 0 all from the data, 1 all from the prior.
    """

    key = "full_parameters"

    names: tuple[str, ...]
    units: tuple[str, ...]
    owners: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Vector
    covariance: Matrix
    prior: Vector
    prior_share: Vector

    @property
    def std(self) -> Vector:
        """(p,) standard deviation of each parameter, in `units`."""
        return np.sqrt(np.diag(self.covariance))

    def as_json(self) -> list[dict[str, Any]]:
        """One row per parameter."""
        std = self.std
        return [
            {
                "name": name,
                "value": self.values[k],
                "std": std[k],
                "unit": self.units[k],
                "kind": self.kinds[k],
                "owner": self.owners[k],
                "prior": self.prior[k],
                "prior_share": self.prior_share[k],
            }
            for k, name in enumerate(self.names)
        ]
