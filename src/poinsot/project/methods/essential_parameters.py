"""`[method] name = "essential-parameters"`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ..settings.fields import Positive
from .inverse_dynamics import InverseDynamicsSettings

if TYPE_CHECKING:
    from ...solve import ProgressCallback, Stop
    from ..job import Project


class EssentialSettings(InverseDynamicsSettings):
    """`poinsot.EssentialParameters`."""

    name: Literal["essential-parameters"]
    max_relative_std_percent: Positive = 30.0
    significance: float = Field(0.01, gt=0, lt=1)
    keep: list[str] | None = None
    weighting: Literal["none", "per-joint", "robust"] = "none"

    def build(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Any:
        from ...estimators.linear.essential import EssentialParameters

        return self.build_as(EssentialParameters, **({} if self.keep is None else {"keep": tuple(self.keep)}))
