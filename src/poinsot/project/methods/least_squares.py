"""`[method] name = "least-squares"`, and what a project file without a name means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .inverse_dynamics import InverseDynamicsSettings

if TYPE_CHECKING:
    from ...solve import ProgressCallback, Stop
    from ..job import Project


class LeastSquaresSettings(InverseDynamicsSettings):
    """`poinsot.LeastSquares`."""

    name: Literal["least-squares"] = "least-squares"
    weighting: Literal["none", "per-joint", "robust"] = "none"
    parameters: Literal["base", "full"] = "base"

    def build(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Any:
        from ...estimators.linear.least_squares import LeastSquares

        return self.build_as(LeastSquares)
