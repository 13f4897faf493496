"""`[method] name = "filter"`: the changing mass properties of links, sample by sample, for `poinsot track`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from ...exceptions import InvalidProject, NotIdentifiable
from ...stopwatch import Stopwatch
from ..job import uninterrupted
from ..other_jobs import torques_from
from ..settings.fields import ChartOrNone, PerJoint, Positive, by_joint, is_text, refuse
from .base import OnlineMethod, OnSample, Tracking

if TYPE_CHECKING:
    from ...estimators.online.belief import Bias, RecordedSample
    from ...estimators.online.filter import Filter
    from ...estimators.online.moving_polynomial import MovingPolynomial
    from ...estimators.online.problem import TrackingProblem
    from ...estimators.online.tracking import Tracker
    from ...models.robot.link_torques import LinkTorques
    from ..job import Job, Project
    from ..settings import Settings


class FilterMethod(OnlineMethod):
    """`poinsot.ExtendedKalmanFilter`, or with `chart = "none"` `poinsot.KalmanFilter`, for `poinsot track`.

    `links`: bodies whose mass properties are estimated; all others are known. `robot_from`: the project file, or the
    result, of a job that identifies the robot (gains, friction and mass properties); without it the description's are
    used. `calibrate_s`: duration at the start in which open bodies are as described, and residuals determine the noise
    and, with `calibrate_bias`, a constant bias; 0: there is none, and `noise` is given. `mass_rate`: largest rate of
    change of published masses [kg/s].
    """

    links: list[str] = Field(min_length=1)
    robot_from: str | None = None
    chart: ChartOrNone = "log-cholesky"
    noise: PerJoint | None = None
    calibrate_s: float = Field(2.0, ge=0)
    calibrate_bias: bool = False
    noise_margin: Positive = 2.0
    gate: Annotated[
        Annotated[Annotated[float, Field(gt=0, lt=1)], Tag("number")]
        | Annotated[Literal["none"], Tag("text")],
        Discriminator(is_text),
    ] = 0.999
    mass_rate: Positive | None = 3.0

    @model_validator(mode="after")
    def _noise_from_somewhere(self) -> FilterMethod:
        if self.noise is None and self.calibrate_s == 0:
            raise refuse("noise", "the noise level is missing: give noise, or calibrate_s", key="calibrate_s")
        if self.calibrate_bias and self.calibrate_s == 0:
            raise refuse("bias", "the bias is calibrated over calibrate_s: set it", key="calibrate_bias")
        return self

    def check(self, settings: Settings) -> None:
        """Reject settings that a filter, which processes all of each recording, cannot use."""
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
                    "here; choose a part with between_s, or delete the recording",
                    key="recordings",
                )

    @property
    def other_jobs(self) -> Mapping[str, str]:
        return {} if self.robot_from is None else {"robot_from": self.robot_from}

    def prepare(self, job: Job) -> tuple[str, ...]:
        from ...models.robot.link_torques import LinkTorques

        if job.settings.recordings:
            self.problem(
                job.project, LinkTorques(job.project.robot(job.data_dir), tuple(self.links)), job.data_dir
            )
        return ()

    def track(
        self, job: Job, *, stream: str | None = None, follow: bool = False, on_sample: OnSample | None = None
    ) -> Tracking:
        from ...estimate import Status
        from ...estimators.online.problem import calibrated_samples, line_layout, stream_ticks
        from ...estimators.online.tracking import RateLimit, Tracker, published_line
        from ...io.json_lines import SampleStream

        watch = Stopwatch()
        torques, steps, errors = torques_from(job, self.robot_from, self.links)
        watch.lap("robot")
        lines, problem = None, None
        tracker: Tracker | None = None
        status = Status.solved
        try:
            if stream is not None:
                lines = SampleStream(stream, line_layout(torques.robot), follow=follow)
                calibration, samples = calibrated_samples(
                    torques,
                    _moving_polynomial(job.project),
                    [(lines.name, stream_ticks(torques.robot, lines))],
                    self._calibrate_s,
                )
            else:
                problem = self.problem(job.project, torques, job.data_dir)
                calibration, samples = problem.calibrated_samples()
            tracker = Tracker(
                self.filter(torques, calibration), RateLimit(self.mass_rate), calibration=calibration
            )

            def process(recorded: RecordedSample, tracker: Tracker = tracker) -> None:
                with uninterrupted():  # each processed sample must be published
                    tracked = tracker.update(recorded.sample, recorded.recording, recorded.time)
                    if on_sample is not None:
                        on_sample(published_line(tracked, tracker))

            if not tracker.run(samples, progress=job.progress, stop=job.stop, process=process):
                status = Status.interrupted
        # between two samples, or while waiting for a line: the result is that of the samples processed until then
        except KeyboardInterrupt:
            status = Status.interrupted
        if tracker is None:
            raise NotIdentifiable("interrupted before the end of the calibration: there is no result yet")
        watch.lap("filter")
        if calibration is not None:
            what = "noise and bias" if self.calibrate_bias else "noise"
            steps += (f"{what} from the first {self.calibrate_s:g} s, {calibration.samples} samples",)
        warnings: tuple[str, ...] = ()
        if lines is not None and lines.bad:
            warnings = (f"{lines.bad} lines were not samples and were skipped; {lines.first_bad}.",)
        estimate = tracker.estimate(
            status=status,
            problem=problem,
            inherited=errors,
            settings=job.record,
            steps=steps,
            warnings=warnings,
            seconds=watch.seconds,
        )
        return Tracking(estimate, tracker, calibration)

    def problem(
        self, project: Project, torques: LinkTorques, data_dir: str | Path | None = None
    ) -> TrackingProblem:
        """[[recordings]], [preprocessing] and the calibration of [method] -> the problem."""
        from ...estimators.online.problem import TrackingProblem

        if not project.settings.recordings:
            raise InvalidProject(
                f"{project.path} has no [[recordings]]: give one, or samples as they come with --stream"
            )
        runs = project.runs(torques.robot, data_dir)
        return TrackingProblem(
            torques,
            [run.recording for run in runs],
            _moving_polynomial(project),
            self._calibrate_s,
            [run.name for run in runs],
            accuracy=project.settings.accuracy.value(),
        )

    @property
    def _calibrate_s(self) -> float:
        """Length of the calibration [s]; 0 where noise is given and no bias is wanted."""
        return self.calibrate_s if self.noise is None or self.calibrate_bias else 0.0

    def filter(self, torques: LinkTorques, calibration: Bias | None) -> Filter:
        """[method] -> the filter. `calibration`: noise and bias of the first seconds; None: the settings contain the
        noise.
        """
        from ...estimators.online.filter import ExtendedKalmanFilter, Gate, KalmanFilter
        from ...inertia import find_chart

        robot = torques.robot
        if self.noise is not None:
            given: Any = by_joint("method.noise", self.noise, robot.joints)
            # efforts of the base are never measured, but the filter requires a positive noise for each
            noise = np.full(robot.model.nv, float(np.min(given)))
            noise[robot.actuated] = given
        else:
            assert calibration is not None
            noise = self.noise_margin * calibration.std
            # an effort without readings has no residuals, and its noise is not used: any value above 0 will do
            noise = np.where(noise > 0, noise, noise[noise > 0].min(initial=1.0))
        keys: Any = self
        # not by `build_as`: a gate has a `largest_std` too, of another meaning
        gate = None if self.gate == "none" else Gate(self.gate, keys.patience, keys.growth)
        bias = calibration.value if calibration is not None and self.calibrate_bias else 0.0
        common: dict[str, Any] = {"torques": torques, "noise": noise, "gate": gate, "bias": bias}
        if self.chart == "none":
            return self.build_as(KalmanFilter, **common)
        return self.build_as(ExtendedKalmanFilter, chart=find_chart(self.chart), **common)


def _moving_polynomial(project: Project) -> MovingPolynomial:
    from ...estimators.online.moving_polynomial import MovingPolynomial

    preprocessing: Any = project.settings.preprocessing
    polynomial: MovingPolynomial = preprocessing.build_as(MovingPolynomial)
    return polynomial
