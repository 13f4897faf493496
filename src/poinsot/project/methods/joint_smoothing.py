"""`[method] name = "joint-smoothing"`: states and parameters of a [mechanism], from unsmoothed recordings.

The channels of the recordings determine the sensors: `position.elbow` is an encoder on the joint `elbow`, with
parameters `elbow encoder.zero`, ..., `velocity.elbow` a rate sensor, `frame_position.tip.x` a marker at the frame `tip`
and `orientation.tip.x` its pose. Torques, currents or voltages are the commands
of its motor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ...exceptions import InvalidProject, check_known
from ...stopwatch import Stopwatch
from ..settings.fields import Positive, PositiveOrAuto
from .base import TEMPLATES, Beginning, LogContents
from .motion import MotionMethod, by_role

if TYPE_CHECKING:
    from ...estimators.joint import JointEstimation, JointSmoothingProblem
    from ...models.maximal import Mechanism
    from ..job import Job
    from ..settings import Settings


def begin_with_positions(log: LogContents) -> Beginning | None:
    """A log of positions only, of a mechanism that no motor drives."""
    if log.effort or log.of_base or "position_command" in log.owners or log.gains_energy:
        return None
    quantities, robot = ("position", "velocity"), log.robot
    values = {
        "joints": [f"{joint} joint" if joint in robot.bodies else joint for joint in robot.joints],
        "noise": {quantity: log.noise[quantity] for quantity in quantities if quantity in log.noise},
    }
    return Beginning("the log has positions alone", quantities, TEMPLATES / "joint-smoothing.toml", values)


class JointSmoothingMethod(MotionMethod):
    """`poinsot.estimators.joint.JointEstimation`: states and parameters of a [mechanism].

    `parameters`: names of the open ones, like `"pendulum.Jxx"`, `"elbow.drag"`, `"elbow encoder.zero"`. `noise`:
    standard deviations of readings, by quantity (`position`), frame (`frame_position.tip`) or channel
    (`position.elbow`) [rad], [m], [rad/s]; of an orientation that of the angle [rad]. `weight`: kappa, 1 / (standard
    deviation of unmodelled impulses [N m s], [N s])^2; `"auto"`: chosen by likelihood and prediction. `per_recording`:
    zeros of sensors among `parameters`, like `"elbow encoder.zero"`, that are estimated for each recording. `step_s`:
    time step of the model; default: the sampling interval. `lower`, `upper`: bounds. `start`: initial guess of
    parameters, in place of the mechanism's values.
    """

    parameters: list[str] = Field(min_length=1)
    noise: dict[str, Positive]
    weight: PositiveOrAuto = "auto"
    form: Literal["reduced", "explicit", "implicit"] = "reduced"
    per_recording: list[str] = []
    step_s: Positive | None = None
    lower: dict[str, float] = {}
    upper: dict[str, float] = {}
    start: dict[str, float] = {}
    max_iterations: int = Field(50, ge=1)
    tolerance: float = Field(1e-7, gt=0, lt=1)

    def problem(self, job: Job, watch: Stopwatch) -> JointSmoothingProblem:
        from ...estimators.joint import JointSmoothingProblem, with_sensors
        from ...models.maximal import keep_compiled

        # JAX takes longer to compile than to solve; a second run finds the compiled code on disk.
        keep_compiled()
        settings = job.settings
        job.say("reading the mechanism")
        mechanism = job.project.mechanism(job.data_dir)
        job.say("reading the recordings")
        runs = job.project.recordings(mechanism.readable_joints, mechanism.inputs, job.data_dir)
        watch.lap("read")
        mechanism = with_sensors(mechanism, (run.recording for run in runs))
        for name in (*self.parameters, *self.start, *settings.held, *settings.priors):
            mechanism.place(name)  # a name that does not exist is an error
        for name in self.per_recording:
            if name not in self.parameters:
                raise InvalidProject(
                    f"{name!r} is in per_recording but not in method.parameters; add it there"
                )
        for name in settings.held:
            if name in self.parameters:
                raise InvalidProject(
                    f"{name!r} is in both [held] and method.parameters; delete it from one of them"
                )
        fitted, held_out = by_role(settings, runs)
        return JointSmoothingProblem.from_recordings(
            # held parameters are values of the mechanism like any other, but not open
            mechanism.starting({**settings.held, **self.start}),
            fitted,
            self.parameters,
            held_out=held_out,
            step_s=self.step_s,
            per_recording=self.per_recording,
            accuracy=settings.accuracy.value(),
            priors={name: prior.value() for name, prior in settings.priors.items()},
            lower=self.lower,
            upper=self.upper,
        )

    def solver(self, settings: Settings, problem: JointSmoothingProblem) -> JointEstimation:
        from ...estimators.joint import JointEstimation, JointSmoothing, WeightChoice

        automatic = self.weight == "auto"
        noise = noise_of(problem.model.mechanism, self.noise)
        smoothing = self.build_as(JointSmoothing, weight=1.0 if automatic else self.weight, noise=noise)
        return JointEstimation(smoothing, WeightChoice() if automatic else None)

    def warnings_of(self, problem: JointSmoothingProblem) -> tuple[str, ...]:
        records = (*problem.records, *problem.held_out)
        return tuple(
            warning
            for record in records
            for warning in record.saturated_commands(problem.model.mechanism.inputs)
        )


def noise_of(mechanism: Mechanism, noise: Mapping[str, float]) -> tuple[float, ...]:
    """Standard deviations of the sensors, by channel, by frame (`frame_position.markers`) or by quantity."""
    channels = [sensor.channel for sensor in mechanism.sensors]
    keys = [_beginnings(channel) for channel in channels]
    for name in noise:
        known = sorted({key for beginnings in keys for key in beginnings})
        check_known(name, known, "method.noise has", "the recordings have", InvalidProject)
    levels = []
    for channel, beginnings in zip(channels, keys, strict=True):
        level = next((noise[key] for key in beginnings if key in noise), None)
        if level is None:
            raise InvalidProject(
                f"method.noise lacks {channel!r}; give its standard deviation there, or delete its column"
            )
        levels.append(level)
    return tuple(levels)


def _beginnings(channel: str) -> list[str]:
    """A channel, and its parts from the first on: the longest first."""
    parts = channel.split(".")
    return [".".join(parts[:k]) for k in range(len(parts), 0, -1)]
