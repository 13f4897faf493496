"""`[method] name = "joint-smoothing"`: states and parameters of a [mechanism], from unsmoothed recordings.

The channels of the recordings determine the sensors: `position.elbow` is an encoder on the joint `elbow`, with
parameters `elbow encoder.zero`, ..., and `velocity.elbow` a rate sensor. Torques, currents or voltages are the commands
of its motor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from ...exceptions import InvalidProject, check_known, listing
from ...stopwatch import Stopwatch
from ..settings.fields import Positive, PositiveOrAuto
from .base import TEMPLATES, Beginning, LogContents
from .motion import MotionMethod, by_role

if TYPE_CHECKING:
    from ...estimators.joint import JointEstimation, JointSmoothingProblem
    from ...models.maximal import Mechanism
    from ..job import Job
    from ..prediction import Prediction, PredictionJob
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
    standard deviations of readings, by quantity (`position`) or channel (`position.elbow`) [rad], [m],
    [rad/s]. `weight`: kappa, 1 / (standard deviation of unmodelled impulses [N m s], [N s])^2; `"auto"`: chosen by
    likelihood and prediction. `per_recording`: zeros of sensors among `parameters`, like `"elbow encoder.zero"`, that
    are estimated for each recording. `step_s`: time step of the model; default: the sampling interval. `lower`,
    `upper`: bounds. `start`: initial guess of parameters, in place of the mechanism's values.
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

    def predict(self, job: PredictionJob) -> Prediction:
        """The motion of the mechanism from its commands, after the readings before the first row without any."""
        from ...estimators.joint import JointSmoothing, with_sensors
        from ...estimators.joint.forecast import forecast
        from ...estimators.joint.problem import Record, full_turns_off
        from ..prediction import CLOCK, Prediction, read_motion

        if job.wanted != ("torque",):
            raise InvalidProject(
                f"the motion of a mechanism is predicted, not {listing(job.wanted)}; omit the option"
            )
        settings, rows = job.project.settings, job.result["parameters"]
        values = {row["name"]: row["value"] for row in rows if row["value"] is not None}
        mechanism = job.project.mechanism(job.folder)
        units = dict(mechanism.coordinates)
        known = {f"position.{name}": units[name] for name in mechanism.readable_joints}
        known |= {f"velocity.{name}": f"{units[name]}/s" for name in mechanism.readable_joints}
        for name in mechanism.inputs:
            effort = "N m" if units[name] == "rad" else "N"
            known |= {f"torque.{name}": effort, f"current.{name}": "A", f"voltage.{name}": "V"}
        recording = read_motion(job, known, mechanism.readable_joints, mechanism.inputs, "mask")
        mechanism = with_sensors(mechanism, [recording])
        numbers = {**settings.held, **self.start, **values}
        mechanism = mechanism.starting({name: x for name, x in numbers.items() if name in mechanism.entries})
        known_std = [row["std"] is not None and row["name"] in mechanism.entries for row in rows]
        place = np.flatnonzero(known_std)
        model = mechanism.model([rows[k]["name"] for k in place])
        covariance = np.array([[rows[i]["covariance"][j] for j in place] for i in place], dtype=float)
        record = Record.from_recording(mechanism, recording, job.motion.name, self.step_s)
        noise = noise_of(mechanism, self.noise, others=True)
        weight = job.result["simulation"]["weight"] if self.weight == "auto" else self.weight
        smoothing = self.build_as(JointSmoothing, weight=weight, noise=noise)
        motion = forecast(smoothing, model, record, model.theta, covariance.reshape(len(place), len(place)))

        columns, named = {CLOCK: record.times}, {CLOCK: "s"}
        table = []
        for k, (name, unit) in enumerate(mechanism.coordinates):
            parts = motion.coordinates, motion.low, motion.high
            for ending, part in zip(("", ".low", ".high"), parts, strict=True):
                columns[f"position.{name}{ending}"], named[f"position.{name}{ending}"] = part[:, k], unit
            columns[f"velocity.{name}"], named[f"velocity.{name}"] = motion.rates[:, k], f"{unit}/s"
            sensors = [i for i, s in enumerate(mechanism.sensors) if s.joint == name and not s.is_rate]
            ahead, error = slice(motion.until, None), None
            for i in sensors[:1]:
                away = full_turns_off(motion.readings - record.z, model.angular)[ahead, i]
                error = float(np.sqrt(np.nanmean(away**2))) if np.isfinite(away).any() else None
            half = (motion.high - motion.low)[ahead, k] / 2
            size = float(np.sqrt(np.mean(half**2))) if len(half) else None
            table.append({"joint": name, "unit": unit, "half_interval": size, "rms_error": error})
        notes = [
            f"Readings until {record.times[motion.until - 1]:.4g} s were used; the motion after them is predicted."
            if motion.until < len(record.times)
            else "All rows have readings, and all were used: leave them empty from where the motion is to be predicted."
        ]
        if not motion.is_fine:
            notes.append(
                "The motion is unstable: half the step changes it, and later parts depend on rounding."
            )
        return Prediction(columns, named, tuple(table), tuple(notes))

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


def noise_of(mechanism: Mechanism, noise: Mapping[str, float], others: bool = False) -> tuple[float, ...]:
    """Standard deviations of the sensors; `others`: whether there may be some of further channels."""
    channels = [sensor.channel for sensor in mechanism.sensors]
    known = {*channels, *(channel.partition(".")[0] for channel in channels)}
    for name in () if others else noise:
        check_known(name, sorted(known), "method.noise has", "the recordings have", InvalidProject)
    levels = []
    for channel in channels:
        level = noise.get(channel, noise.get(channel.partition(".")[0]))
        if level is None:
            raise InvalidProject(
                f"method.noise lacks {channel!r}; give its standard deviation there, or delete its column"
            )
        levels.append(level)
    return tuple(levels)
