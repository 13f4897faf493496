"""Base of methods that also estimate the motion: recordings as they were read -> problem -> estimate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from ...stopwatch import Stopwatch
from ..preparation import condition
from .base import ProjectMethod

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...models.robot.articulated import Articulated
    from ...recording import Recording
    from ..job import Job
    from ..recordings import Run
    from ..settings import Settings


class MotionMethod(ProjectMethod):
    """A method that also estimates the motion, from samples as they were read."""

    stage: ClassVar[str] = "problem"
    """Key of `estimate.seconds` for the construction of the problem."""

    @abstractmethod
    def problem(self, job: Job, watch: Stopwatch) -> Any:
        """Recordings and prior knowledge -> the problem; each stage is a lap of the watch."""

    @abstractmethod
    def solver(self, settings: Settings, problem: Any) -> Any:
        """The solver of this problem; a key that it does not use is an error."""

    def warnings_of(self, problem: Any) -> tuple[str, ...]:
        """Warnings about the recordings."""
        return ()

    def prepare(self, job: Job) -> tuple[str, ...]:
        problem = self.problem(job, Stopwatch())
        self.solver(job.settings, problem)
        return self.warnings_of(problem)

    def identify(self, job: Job, **more: Any) -> Estimate:
        """From recordings to the estimate; `more`: further arguments of the method's `solve`."""
        watch = Stopwatch()
        problem = self.problem(job, watch)
        solver = self.solver(job.settings, problem)
        watch.lap(self.stage)
        estimate: Estimate = solver.solve(problem, progress=job.progress, stop=job.stop, **more)
        return estimate.updated(
            warnings=(*self.warnings_of(problem), *estimate.warnings),
            settings=job.record,
            seconds=watch.beside(estimate.seconds),
        )


def prepared(settings: Settings, run: Run) -> Recording:
    """A recording on the clock that [preprocessing] asks for, cut to its window."""
    preprocessing: Any = settings.preprocessing
    recording = condition(preprocessing, run).recording
    return recording if run.window_s is None else recording.between(*run.window_s)


def by_role(settings: Settings, runs: Iterable[Run]) -> tuple[dict[str, Recording], dict[str, Recording]]:
    """Recordings for identification, and those for validation, by name, as `prepared`."""
    used: dict[str, dict[str, Recording]] = {"identification": {}, "validation": {}}
    for run in runs:
        used[run.role][run.name] = prepared(settings, run)
    return used["identification"], used["validation"]


def read_robot(job: Job, watch: Stopwatch) -> tuple[Articulated, list[Run]]:
    """The robot and its recordings; each is a lap of the watch."""
    job.say("reading the robot")
    robot = job.project.robot(job.data_dir)
    watch.lap("robot")
    job.say("reading the recordings")
    runs = list(job.project.runs(robot, job.data_dir))
    watch.lap("read")
    return robot, runs
