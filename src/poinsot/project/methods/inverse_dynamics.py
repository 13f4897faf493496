"""The linear methods: recordings -> signals -> inverse dynamics -> estimate -> validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...exceptions import listing
from ...lazy import load
from ...models.robot.articulated import Articulated, load_robot
from ...stopwatch import Stopwatch
from ..preparation import condition, motion_warnings, smooth, with_filters, with_more_rows
from ..remedies import in_terms_of
from ..settings.fields import AUTO
from .base import TEMPLATES, Beginning, LogContents, ProjectMethod
from .motion import read_robot

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...parameters import Normal
    from ...regression.inverse_dynamics import InverseDynamics
    from ...signals.signals import Signals
    from ..job import Job
    from ..prediction import Prediction, PredictionJob
    from ..recordings import Run
    from ..settings import Settings


EFFECTS_OF_A_JOINT = 25
"""About as many sizes of systematic effects are estimated for each joint (`poinsot.diagnosis.effects`)."""


def begin_with_efforts(log: LogContents) -> Beginning | None:
    """A log with a torque, current or voltage of a joint, of a robot whose base is fixed, and all of whose joints
    that move have a position.
    """
    if not log.effort or log.of_base or log.unread:
        return None
    driven = log.owners[log.effort]
    without = [joint for joint in log.owners["position"] if joint not in driven]
    passive = [joint for joint in without if joint in (*log.free, *log.robot.dependent_joints)]
    not_measured = [joint for joint in without if joint not in passive]
    reason = f"the log has a {log.effort} of {listing(driven)}"
    values = {"effort": log.effort, "passive": passive, "not_measured": not_measured}
    return Beginning(reason, ("position", log.effort), TEMPLATES / "least-squares.toml", values)


class LinearMethod(ProjectMethod):
    """A method that solves `poinsot.InverseDynamics`.

    `per_recording`: nuisances that differ between recordings and are also estimated: `"zero"`, `"offset"` and
    `"delay"`, of all joints, or of one, as `"zero.elbow"`.
    """

    per_recording: list[str] = []

    def build(self, job: Job) -> Any:
        """The estimator, with results of other jobs."""
        return self.build_as(load(self.row.keys[0]))

    def known(self, settings: Settings) -> tuple[dict[str, float], dict[str, Normal]]:
        """Held parameters with their values, and priors on others: [held] and [priors]."""
        priors = {name: prior.value() for name, prior in settings.priors.items()}
        return dict(settings.held), priors

    def attached(self, runs: Sequence[Run]) -> Mapping[str, Any]:
        """Arguments of `inverse_dynamics` for the load: which recordings carry it, and on which link."""
        return {}

    def predict(self, job: PredictionJob) -> Prediction:
        from ..prediction import predict_dynamics

        return predict_dynamics(job)

    def problem(
        self, job: Job, watch: Stopwatch, *, intervals: bool = True
    ) -> tuple[InverseDynamics, list[tuple[Run, Signals]], tuple[str, ...]]:
        """Recordings -> the regression, signals of all recordings, and warnings; each stage is a lap of the watch.

        `intervals`: whether `"auto"` rates rise above the motion's band where intervals need more rows.
        """
        settings = job.settings
        preprocessing: Any = settings.preprocessing
        robot, runs = read_robot(job, watch)
        job.say("smoothing")
        # All recordings, including those for validation, which are smoothed alike.
        runs = [condition(preprocessing, run) for run in runs]
        # Before filters are chosen: a robot at rest must be reported as such, not as a bad spectrum.
        warnings = motion_warnings(runs)
        asked = preprocessing
        preprocessing, runs = with_filters(preprocessing, runs)
        prepared = [(run, smooth(preprocessing, run)) for run in runs]
        watch.lap("signals")
        job.say("building the regressor")
        problem = self._regression(robot, prepared, settings)
        if intervals and getattr(asked, "decimate_hz", None) == AUTO:
            effects = 0 if problem.accuracy.exact else EFFECTS_OF_A_JOINT * len(problem.robot.equations)
            each = [problem.equations / max(len(problem.base) + more, 1) for more in (0, effects)]
            faster = with_more_rows(asked, preprocessing, prepared, *each)
            if faster is not None:
                prepared = faster
                problem = self._regression(robot, prepared, settings)
        watch.lap("regressor")
        return problem, prepared, warnings

    def _regression(
        self, robot: Articulated, prepared: Sequence[tuple[Run, Signals]], settings: Settings
    ) -> InverseDynamics:
        """The regression of the recordings for identification."""
        from ...regression.inverse_dynamics import inverse_dynamics

        held, priors = self.known(settings)
        used = [(run, signals) for run, signals in prepared if run.role == "identification"]
        return inverse_dynamics(
            robot,
            [signals for _, signals in used],
            held=held,
            priors=priors,
            accuracy=settings.accuracy.value(),
            **self.attached([run for run, _ in used]),
        )

    def exchanged(self, job: Job) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
        from ...diagnosis import Examination
        from ...diagnosis.channels import SwappedChannels
        from ...diagnosis.explanations import Alignment, explain

        # the band of the motion has the least noise
        problem, _, _ = self.problem(job, Stopwatch(), intervals=False)
        case = Examination(None, problem)
        tried = (explain(case, candidate) for candidate in SwappedChannels().candidates(case))
        better = [one for one in tried if one is not None and one.gain > Alignment.margin]
        for explanation in sorted(better, key=lambda one: -one.gain):
            first, second, keys = explanation.candidate.where
            keys = keys.replace("torque", problem.parts[0].signals.effort)
            yield (first, second), tuple(keys.split(" and "))

    def prepare(self, job: Job) -> tuple[str, ...]:
        problem, _, warnings = self.problem(job, Stopwatch())
        return (*warnings, *problem.warnings)

    def identify(self, job: Job) -> Estimate:
        from ...diagnosis.corrections import correct, correct_held_out
        from ...diagnosis.fit import POSSIBLE_BODIES
        from ...estimate.estimate import validate

        watch = Stopwatch()
        job.say("reading the robot")
        # Before the recordings are read: this may solve another job, or fail.
        estimator = self.build(job)
        watch.lap("gains" if self.other_jobs else "robot")
        problem, prepared, warnings = self.problem(job, watch)
        held_out = [(run.name, signals) for run, signals in prepared if run.role == "validation"]
        corrections = None
        delay = getattr(job.settings.preprocessing, "delay", None) == AUTO
        if delay or self.per_recording:
            job.say("comparing recordings")
            names = [run.name for run, _ in prepared if run.role == "identification"]
            problem, corrections = correct(problem, self.per_recording, delay=delay, names=names)
            watch.lap("corrections")
        job.say("solving")
        estimate: Estimate = estimator.solve(problem, progress=job.progress, stop=job.stop)
        watch.lap("solve")
        if corrections is not None:
            held_out = [
                (name, correct_held_out(estimate, corrections, signals)) for name, signals in held_out
            ]
            estimate = corrections.applied(estimate)
        if held_out:
            job.say("validating")
            estimate = validate(estimate, held_out, loaded=[run.name for run, _ in prepared if run.loaded])
            watch.lap("validation")
        job.say("looking for what may be wrong")
        # the line to write where a remedy proposes another method
        possible = 'Write name = "semidefinite" in [method]'
        joints = problem.parts[0].signals.joints
        findings = (
            in_terms_of(
                job.settings,
                joints,
                replace(finding, remedy=finding.remedy.replace(POSSIBLE_BODIES, possible)),
            )
            for finding in estimate.findings
        )
        estimate = estimate.updated(examined=replace(estimate.diagnosis, findings=tuple(findings)))
        watch.lap("diagnosis")
        # the regressor's rows are computed during the solution; the estimate has the time this took
        seconds = watch.seconds
        rows = min(estimate.seconds.get("regressor", 0.0), seconds["solve"])
        return estimate.updated(
            warnings=(*warnings, *estimate.warnings),
            settings={**estimate.settings, **job.record},
            seconds=seconds | {"regressor": seconds["regressor"] + rows, "solve": seconds["solve"] - rows},
        )


class SemidefiniteMethod(LinearMethod):
    """Least squares on possible bodies. `prior`: file of a robot description with the same bodies."""

    aliases: ClassVar[dict[str, str]] = {"trust": "weighing"}

    prior: str | None = None

    @property
    def weighs_prior(self) -> bool:
        keys: Any = self
        return bool(keys.weighing == "both")

    def build(self, job: Job) -> Any:
        if self.prior is None:
            return super().build(job)
        path = job.project.find_description(self.prior, job.data_dir, "method.prior")
        # With the same joints locked, so that the bodies have the same names.
        described = load_robot(path, locked=job.settings.described.locked)
        prior = dict(zip(described.bodies, described.inertials.tolist(), strict=True))
        return self.build_as(load(self.row.keys[0]), prior=prior)
