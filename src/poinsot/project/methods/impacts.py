"""`[method] name = "impacts"`: tracked poses, or markers, of a [body] that strikes [[walls]].

`ImpactsProblem.from_recordings` says which channels a recording needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ...exceptions import InvalidProject, listing
from ...stopwatch import Stopwatch
from ..settings.fields import NotNegative, Positive, SettingsTable
from .motion import MotionSettings, prepared

if TYPE_CHECKING:
    from ...estimators.complementarity.drop import DropIdentification
    from ...estimators.complementarity.pooled import PooledImpacts
    from ...estimators.complementarity.problem import ImpactsProblem
    from ..job import Job
    from ..settings import Settings


class TrackerNoiseSettings(SettingsTable):
    """Standard deviations of a tracked pose: `position` [m], `angle` [rad]."""

    position: Positive
    angle: Positive


class ImpactsSettings(MotionSettings):
    """`poinsot.estimators.complementarity`: J/m, friction and restitution of a [body] that strikes [[walls]].

    `noise`: of the tracker; without it, it is found. `drag`: linear and angular [1/s]. `steps`: of the program between
    two frames. `seed`: of the starts of the search.
    """

    subject = "body"
    tables = ("walls",)
    sections = ("impacts", "motion")

    name: Literal["impacts"]
    noise: TrackerNoiseSettings | None = None
    drag: Annotated[list[NotNegative], Field(min_length=2, max_length=2)] = [0.0, 0.0]
    steps: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)

    def problem(self, job: Job, watch: Stopwatch) -> ImpactsProblem:
        from ...estimators.complementarity.problem import ImpactsProblem
        from ...estimators.complementarity.recordings import FORCES, pose_channels
        from ...models.planar import Wall

        settings, body = job.settings, job.settings.body
        assert body is not None
        job.say("reading the recordings")
        runs = job.project.recordings(pose_channels(body.markers), tuple(FORCES), job.data_dir)
        watch.lap("read")
        for run in runs:
            if run.role != "identification":
                raise InvalidProject(
                    f"recording {run.name!r} is for validation, which impacts has no use for: each drop is tested by "
                    "its residuals; leave the role out"
                )
        return ImpactsProblem.from_recordings(
            {run.name: prepared(settings, run) for run in runs},
            body.outline(),
            tuple(wall.build_as(Wall) for wall in settings.walls),
            mass=body.mass,
            name=body.name,
            markers=body.markers,
        )

    def solver(self, settings: Settings, problem: ImpactsProblem) -> DropIdentification | PooledImpacts:
        """The method: of one drop by its motion, of several by the impacts of all."""
        drops = len(problem.drops)
        if settings.priors:
            raise InvalidProject(
                '[priors] have no use in "impacts", which assumes nothing about J/m; leave them out'
            )
        if drops > 1:
            from ...estimators.complementarity.pooled import PooledImpacts

            for key in ("noise", "drag", "steps"):
                if key in self.model_fields_set:
                    raise InvalidProject(
                        f"method.{key} is for one drop by itself; of {drops} drops it is estimated: leave it out"
                    )
            return PooledImpacts(settings.held, seed=self.seed)
        if settings.held:
            raise InvalidProject(
                "[held] is for several drops, whose geometry is estimated, and there is one: leave "
                f"{listing(settings.held)} out"
            )
        from ...estimators.complementarity.drop import DropIdentification

        noise = None if self.noise is None else (self.noise.position,) * 2 + (self.noise.angle,)
        return DropIdentification(noise, (self.drag[0], self.drag[1]), self.steps, self.seed)
