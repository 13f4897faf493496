"""`[method] name = "least-squares"`, and what a project file without a name means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .inverse_dynamics import InverseDynamicsSettings

if TYPE_CHECKING:
    from ..job import Job


class LeastSquaresSettings(InverseDynamicsSettings):
    """`poinsot.LeastSquares`."""

    name: Literal["least-squares"] = "least-squares"
    weighting: Literal["none", "per-joint", "robust"] = "none"
    parameters: Literal["base", "full"] = "base"

    def build(self, job: Job) -> Any:
        from ...estimators.linear.least_squares import LeastSquares

        return self.build_as(LeastSquares)
