"""What the linear methods share: recordings -> signals -> inverse dynamics -> estimate -> validation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...solve import report
from ...stopwatch import Stopwatch
from ..filters import with_filters
from ..preparation import condition, motion_warnings, smooth
from .base import MethodSettings

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...parameters import Normal
    from ...solve import ProgressCallback, Stop
    from ..job import Project
    from ..recordings import Run
    from ..settings import Settings


class InverseDynamicsSettings(MethodSettings):
    """A method that solves `poinsot.InverseDynamics`."""

    sections: ClassVar[tuple[str, ...]] = ("effort", "friction")

    @abstractmethod
    def build(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Any:
        """The estimator, with what other jobs have found."""

    def known(self, settings: Settings) -> tuple[dict[str, float], dict[str, Normal]]:
        """Parameters held, by value, and priors on others: [held] and [priors]."""
        from ...parameters import Normal

        priors = {name: prior.build_as(Normal) for name, prior in settings.priors.items()}
        return dict(settings.held), priors

    def attached(self, runs: Sequence[Run]) -> Mapping[str, Any]:
        """Arguments of `inverse_dynamics` that say which recordings carry a load, and where."""
        return {}

    def identify(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Estimate:
        from ...regression.inverse_dynamics import inverse_dynamics
        from ...validation import validate

        settings, watch = project.settings, Stopwatch()
        preprocessing: Any = settings.preprocessing
        report(progress, "reading the robot")
        robot = project.robot(data_dir)
        watch.lap("robot")
        estimator = self.build(project, data_dir, progress, stop)
        watch.lap("gains" if self.other_jobs else "robot")
        report(progress, "reading the recordings")
        runs = list(project.runs(robot, data_dir))
        watch.lap("read")
        report(progress, "smoothing")
        runs = [condition(preprocessing, run) for run in runs]
        warnings = motion_warnings(runs)
        preprocessing, runs = with_filters(preprocessing, runs)
        prepared = [(run, smooth(preprocessing, run)) for run in runs]
        watch.lap("signals")
        report(progress, "building the regressor")
        held, priors = self.known(settings)
        used = [(run, signals) for run, signals in prepared if run.role == "identification"]
        problem = inverse_dynamics(
            robot,
            [signals for _, signals in used],
            held=held,
            priors=priors,
            **self.attached([run for run, _ in used]),
        )
        watch.lap("regressor")
        report(progress, "solving")
        estimate: Estimate = estimator.solve(problem, progress=progress, stop=stop)
        watch.lap("solve")
        held_out = [(run.name, signals) for run, signals in prepared if run.role == "validation"]
        if held_out:
            report(progress, "validating")
            estimate = validate(estimate, held_out, loaded=[run.name for run, _ in prepared if run.loaded])
            watch.lap("validation")
        report(progress, "looking for what may be wrong")
        _ = estimate.diagnosis  # kept in the estimate
        watch.lap("diagnosis")
        return estimate.updated(
            warnings=(*warnings, *estimate.warnings),
            settings={**estimate.settings, "project": settings.model_dump(mode="json", exclude_unset=True)},
            seconds=_timings(estimate.seconds, watch),
        )


def _timings(inner: Mapping[str, float], watch: Stopwatch) -> dict[str, float]:
    """The regressor's rows are made while the problem is solved; the estimate knows how long that took."""
    seconds = watch.seconds
    rows = min(inner.get("regressor", 0.0), seconds["solve"])
    seconds["regressor"] += rows
    seconds["solve"] -= rows
    return seconds
