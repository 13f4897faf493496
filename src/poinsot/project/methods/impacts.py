"""`[method] name = "impacts"`: tracked poses, or markers, of a [body] that strikes [[walls]].

`ImpactsProblem.from_recordings` says which channels a recording needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ...exceptions import InvalidProject, listing
from ...solve import report
from ...stopwatch import Stopwatch
from ..preparation import condition
from ..settings.fields import Positive, SettingsTable
from ..settings.preprocessing import AS_READ, RawSettings
from .base import MethodSettings

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...estimators.complementarity.drop import DropIdentification
    from ...estimators.complementarity.pooled import PooledImpacts
    from ...estimators.complementarity.problem import ImpactsProblem
    from ...recording import Recording
    from ...solve import ProgressCallback, Stop
    from ..job import Project
    from ..recordings import Run
    from ..settings import Settings


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
        return estimate_from_impacts(self, project, data_dir, progress, stop)


def estimate_from_impacts(
    method: ImpactsSettings,
    project: Project,
    data_dir: Path | None,
    progress: ProgressCallback | None,
    stop: Stop | None,
) -> Estimate:
    """From a project file to an estimate.

    Raises:
        PoinsotError: one sentence that says what to correct.
    """
    from ...estimators.complementarity.recordings import FORCES, pose_channels

    settings, watch = project.settings, Stopwatch()
    assert settings.body is not None
    report(progress, "reading the recordings")
    runs = project.recordings(pose_channels(settings.body.markers), tuple(FORCES), data_dir)
    watch.lap("read")
    problem = build_problem(project, runs)
    watch.lap("problem")
    estimate = build_method(method, settings, len(problem.drops)).solve(problem, progress=progress, stop=stop)
    return estimate.updated(
        settings={"project": settings.model_dump(mode="json", exclude_unset=True)},
        seconds=watch.beside(estimate.seconds),
    )


def build_method(
    method: ImpactsSettings, settings: Settings, drops: int
) -> DropIdentification | PooledImpacts:
    """[method] -> the estimator: of one drop by its motion, of several by the impacts of all.

    Raises:
        InvalidProject: if a key is given that has no use.
    """
    if settings.priors:
        raise InvalidProject(
            '[priors] have no use in "impacts", which assumes nothing about J/m; leave them out'
        )
    if drops > 1:
        from ...estimators.complementarity.pooled import PooledImpacts

        for key in ("noise", "drag", "steps"):
            if key in method.model_fields_set:
                raise InvalidProject(
                    f"method.{key} is for one drop by itself; of {drops} drops it is estimated: leave it out"
                )
        return PooledImpacts(settings.held, seed=method.seed)
    if settings.held:
        raise InvalidProject(
            "[held] is for several drops, whose geometry is estimated, and there is one: leave "
            f"{listing(settings.held)} out"
        )
    from ...estimators.complementarity.drop import DropIdentification

    noise = None if method.noise is None else (method.noise.position,) * 2 + (method.noise.angle,)
    return DropIdentification(noise, (method.drag[0], method.drag[1]), method.steps, method.seed)


def build_problem(project: Project, runs: Sequence[Run]) -> ImpactsProblem:
    """Recordings, [body] and [[walls]] -> the problem.

    Raises:
        PoinsotError: if a recording lacks what is needed, or cannot be right.
    """
    from ...estimators.complementarity.problem import ImpactsProblem
    from ...models.planar import Wall

    settings = project.settings
    body, preprocessing = settings.body, settings.preprocessing
    assert body is not None and isinstance(preprocessing, RawSettings)
    recordings: dict[str, Recording] = {}
    for run in runs:
        if run.role != "identification":
            raise InvalidProject(
                f"recording {run.name!r} is for validation, which impacts has no use for: each drop is tested by "
                "its residuals; leave the role out"
            )
        recording = condition(preprocessing, run).recording
        recordings[run.name] = recording if run.window_s is None else recording.between(*run.window_s)
    walls = tuple(Wall(wall.x, wall.y, wall.slope) for wall in settings.walls or ())
    return ImpactsProblem.from_recordings(
        recordings, body.outline(), walls, mass=body.mass, name=body.name, markers=body.markers
    )
