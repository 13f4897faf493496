"""`[method] name = "filter"`: the changing mass properties of links, sample by sample, for `poinsot track`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from ...exceptions import InvalidProject
from ...solve import report
from ..settings.fields import ChartOrNone, PerJoint, Positive, is_text, refuse
from ..settings.preprocessing import AS_THEY_COME
from .base import MethodSettings

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...solve import ProgressCallback, Stop
    from ..job import Project
    from ..settings import Settings


class FilterSettings(MethodSettings):
    """`poinsot.ExtendedKalmanFilter`, or with `chart = "none"` `poinsot.KalmanFilter`, for `poinsot track`.

    `links`: bodies whose mass properties are open; all others are known. `robot_from`: the project file, or the result,
    of a job that identifies the robot: its gains, friction and mass properties; without it the description's.
    `calibrate_s`: for how long at the start open bodies are as described, and their residuals say the noise and, with
    `calibrate_bias`, a constant bias; 0: there is no such time, and `noise` is given. `mass_rate`: how fast published
    masses may change [kg/s].
    """

    takes = AS_THEY_COME
    floating_base = True
    needs_recordings = False
    sections = ("effort",)

    name: Literal["filter"]
    links: list[str] = Field(min_length=1)
    robot_from: str | None = None
    chart: ChartOrNone = "log-cholesky"
    noise: PerJoint | None = None
    calibrate_s: float = Field(2.0, ge=0)
    calibrate_bias: bool = False
    noise_margin: Positive = 2.0
    initial_std: Positive = 0.3
    drift: float = Field(0.1, ge=0)
    largest_std: Positive = 1.0
    adaptive: bool = False
    iterations: int = Field(10, ge=0)
    gate: Annotated[
        Annotated[Annotated[float, Field(gt=0, lt=1)], Tag("number")]
        | Annotated[Literal["none"], Tag("text")],
        Discriminator(is_text),
    ] = 0.999
    patience: int = Field(100, ge=1)
    growth: float = Field(1.1, gt=1)
    memory_s: Positive = 2.0
    mass_rate: Positive | None = 3.0

    @model_validator(mode="after")
    def _noise_from_somewhere(self) -> FilterSettings:
        if self.noise is None and self.calibrate_s == 0:
            raise refuse(
                "noise", "nothing says how large the noise is: give noise, or calibrate_s", key="calibrate_s"
            )
        if self.calibrate_bias and self.calibrate_s == 0:
            raise refuse("bias", "a bias is calibrated over a window: give calibrate_s", key="calibrate_bias")
        return self

    def check(self, settings: Settings) -> None:
        """It processes all of each recording, and nothing that is given may be left out silently."""
        for key in ("held", "priors"):
            if getattr(settings, key):
                raise refuse(
                    "filter", f"[{key}] is for a regression: {self.name!r} takes robot_from", key=key
                )
        for recording in settings.recordings:
            if recording.window_s is not None or recording.role != "identification":
                key = "role" if recording.window_s is None else "window_s"
                raise refuse(
                    "filter",
                    f"recording {recording.title!r}: a filter processes all of each recording, so {key} has no use "
                    "here; choose a part with between_s, or leave the recording out",
                    key="recordings",
                )

    @property
    def other_jobs(self) -> Mapping[str, str]:
        return {} if self.robot_from is None else {"robot_from": self.robot_from}

    def identify(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Estimate:
        raise InvalidProject(
            f'{project.path}: [method] name = "{self.name}" processes one sample at a time: run poinsot track'
        )

    def track(self, project: Project, data_dir: Path | None, **options: Any) -> Any:
        from ..track import track

        progress = options.pop("progress", None)
        return track(project, data_dir, progress=lambda stage: report(progress, stage), **options)
