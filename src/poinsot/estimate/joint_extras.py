"""Friction curves of joints, and every single parameter of a model, data and prior knowledge together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..arrays import Matrix, Vector
from .extras import Extra
from .uncertainty import ParameterColumns


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
class FullParameters(ParameterColumns, Extra):
    """Every single parameter of the model: what the data say of it, and prior knowledge where they leave it open.

    Args:
        prior: (p,) values before the data; NaN where nothing was known.
        prior_share: (p,) which part of the prior's variance the data leave: 0 all from the data, 1 all from the prior.
        interval: (p, 2) lowest and highest of 95 %, inside what is physically possible.
    """

    key = "full_parameters"

    prior: Vector
    prior_share: Vector
    interval: Matrix | None = None

    def as_json(self) -> list[dict[str, Any]]:
        """One row per parameter."""
        return self.rows(prior=self.prior, prior_share=self.prior_share, interval=self.interval)
