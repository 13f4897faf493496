"""`[method] name = "joint-smoothing"`: states and parameters of a [mechanism]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, Tag

from ..settings.fields import Positive, is_text
from ..settings.preprocessing import AS_READ
from .base import MethodSettings

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...solve import ProgressCallback, Stop
    from ..job import Project


class JointSmoothingSettings(MethodSettings):
    """`poinsot.estimators.joint.JointEstimation`: states and parameters of a [mechanism].

    `parameters`: names of what is open, like `"pendulum.Jxx"`, `"elbow.drag"`, `"elbow encoder.zero"`. `noise`:
    standard deviations of what sensors read, by quantity (`position`) or channel (`position.elbow`) [rad], [m],
    [rad/s]. `weight`: kappa, 1 / (standard deviation of an impulse that the model lacks [N m s], [N s])^2; `"auto"`:
    chosen by how well readings that are left out are predicted. `step_s`: of the model; without it one sample is one
    step. `lower`, `upper`: bounds. `start`: where parameters begin, in place of the mechanism's values.
    """

    subject = "mechanism"
    takes = AS_READ
    estimates_motion = True
    sections = ("friction", "motion", "convergence")

    name: Literal["joint-smoothing"]
    parameters: list[str] = Field(min_length=1)
    noise: dict[str, Positive]
    weight: Annotated[
        Annotated[Positive, Tag("number")] | Annotated[Literal["auto"], Tag("text")], Discriminator(is_text)
    ] = "auto"
    form: Literal["reduced", "explicit", "implicit"] = "reduced"
    step_s: Positive | None = None
    lower: dict[str, float] = {}
    upper: dict[str, float] = {}
    start: dict[str, float] = {}
    max_iterations: int = Field(50, ge=1)
    tolerance: float = Field(1e-7, gt=0, lt=1)

    def identify(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Estimate:
        from ..smoothing import estimate_jointly

        return estimate_jointly(project, data_dir, progress, stop)
