"""`[method] name = "impacts"`: a [body] that strikes [[walls]]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ..settings.fields import Positive, SettingsTable
from ..settings.preprocessing import AS_READ
from .base import MethodSettings

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...solve import ProgressCallback, Stop
    from ..job import Project


class TrackerNoiseSettings(SettingsTable):
    """Standard deviations of a tracked pose: `position` [m], `angle` [rad]."""

    position: Positive
    angle: Positive


class ImpactsSettings(MethodSettings):
    """`poinsot.estimators.complementarity`: J/m, friction and restitution of a [body] that strikes [[walls]].

    `noise`: of the tracker; without it, it is found. `drag`: linear and angular [1/s]. `steps`: of the program between
    two frames. `seed`: of the starts of the search.
    """

    subject = "body"
    tables = ("walls",)
    takes = AS_READ
    estimates_motion = True
    sections = ("impacts", "motion")

    name: Literal["impacts"]
    noise: TrackerNoiseSettings | None = None
    drag: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)] = [0.0, 0.0]
    steps: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)

    def identify(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Estimate:
        from ..impacts import estimate_from_impacts

        return estimate_from_impacts(project, data_dir, progress, stop)
