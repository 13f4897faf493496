"""`[method] name = "joint-smoothing"`: states and parameters of a [mechanism], from unsmoothed recordings.

The channels of the recordings determine the sensors: `position.elbow` is an encoder on the joint `elbow`, with
parameters `elbow encoder.zero`, ..., `velocity.elbow` a rate sensor, `frame_position.tip.x` a marker at the frame `tip`
and `orientation.tip.x` its pose. Torques, currents or voltages are the commands
of its motor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from ...exceptions import InvalidMethod, InvalidProject, check_known, listing
from ...io.units import STANDARD_GRAVITY
from ...quantities import FRAME_QUANTITIES, QUATERNION
from ...stopwatch import Stopwatch
from ..settings.fields import Positive, PositiveOrAuto
from ..settings.mechanism import JointDetails, MechanismSettings
from .base import TEMPLATES, Beginning, LogContents
from .motion import MotionMethod, by_role

if TYPE_CHECKING:
    from ...estimators.joint import JointEstimation, JointSmoothingProblem
    from ...models.maximal import Mechanism, Model
    from ...models.robot.articulated import Articulated
    from ..job import Job
    from ..prediction import Prediction, PredictionJob
    from ..settings import Settings


def begin_with_positions(log: LogContents) -> Beginning | None:
    """A log of positions only, of a mechanism that no motor drives; or one without the positions of some joints."""
    if log.of_base or "position_command" in log.owners:
        return None
    if log.unread:
        return _begin_with_unread_joints(log)
    if log.effort or log.gains_energy:
        return None
    quantities, names = ("position", "velocity"), _names(log.robot)
    values = {
        "names": names,
        "details": dict.fromkeys(names.values(), UNDRIVEN),
        "parameters": [f"{name}.{kind}" for name in names.values() for kind in ("drag", "coulomb")],
        "noise": {quantity: log.noise[quantity] for quantity in quantities if quantity in log.noise},
    }
    return Beginning("the log has positions alone", quantities, TEMPLATES / "joint-smoothing.toml", values)


def _names(robot: Articulated) -> dict[str, str]:
    """Joint of the description -> its name in the mechanism, in which joints and bodies have different ones."""
    return {joint: f"{joint} joint" if joint in robot.bodies else joint for joint in robot.joints}


UNDRIVEN = {"motor": "false", "friction": "{ level = 1e-3, stick_drag = 1.0 }"}
"""Keys of [mechanism.details] of a joint in a log of positions alone."""
LEAST_FRICTION = 1e-2
"""Dry friction at which its estimation begins where the description has none, by the moment of the weight that a joint
carries, or by that weight: bearings have a few thousandths, gears more.
"""


def _begin_with_unread_joints(log: LogContents) -> Beginning:
    """A mechanism whose joints without a position move as it says."""
    if log.robot.efforts:
        sprung = listing(dict.fromkeys(effort.joint for effort in log.robot.efforts))
        raise InvalidProject(
            f"{listing(log.unread)} has no column with its position, so it is a mechanism, and mechanisms have no "
            f"springs, as the description has at {sprung}: add columns with all positions, or remove the springs"
        )
    from ...models.maximal import mechanism_of

    robot, effort = log.robot, log.effort
    mechanism = mechanism_of(robot)
    names, driven = _names(robot), log.owners.get(effort, ())
    details, parameters = {}, []
    joints = {joint.name: joint for joint in mechanism.joints}
    for joint, friction in zip(robot.joints, _least_friction(robot), strict=True):
        name = names.get(joint, joint)
        if name not in joints:  # a freedom of a ball
            continue
        parameters += [f"{name}.gain"] if joint in driven and effort != "torque" else []
        parameters += [f"{name}.drag", f"{name}.coulomb"]
        details[name] = dict(_details(joints[name], joint, friction, log))
    for body in mechanism.bodies:
        moved = next(joint for joint in mechanism.joints if joint.child == body.name)
        if moved.slides:
            parameters.append(f"{body.name}.mass")
        parameters += [f"{body.name}.{kind}" for kind in ("Jxx", "Jyy", "Jzz", "cx", "cy", "cz")]
    gravity = [float(each) for each in mechanism.gravity]
    values = {
        "names": names,
        "details": details,
        "parameters": parameters,
        "noise": {
            f"position.{names.get(joint, joint)}": log.channel_noise[f"position.{joint}"]
            for joint in log.owners["position"]
        },
        "gravity": [] if gravity == MechanismSettings.model_fields["gravity"].default else gravity,
        "proposed": True,
    }
    quantities = ("position", effort) if effort else ("position",)
    reason = f"{listing(log.unread)} moves without a column of its position"
    return Beginning(reason, quantities, TEMPLATES / "joint-smoothing.toml", values)


def _details(joint: Any, described: str, friction: float, log: LogContents) -> Iterator[tuple[str, str]]:
    """Keys of [mechanism.details] of a joint, with their values in TOML: its motor, if the log has its command, and
    where its friction begins.
    """
    motor: Any = getattr(joint, "motor", None)
    if motor is not None and described not in log.owners.get(log.effort, ()):
        yield "motor", "false"
    elif motor is not None and log.effort != "torque":
        gain = log.motors.get(described) or 1.0
        yield "motor", f"{{ gain = {gain:.6g}, shaft_inertia = {motor.shaft_inertia:.6g} }}"
    if joint.friction is None:
        yield "friction", f"{{ level = {friction:.2g} }}"
    low, high = (limit[log.robot.joints.index(described)] for limit in log.robot.position_limits)
    if "stops" in JointDetails.model_fields and joint.has_axis and np.isfinite([low, high]).any():
        ends = {"lower": low, "upper": high}
        given = ", ".join(f"{key} = {at:.6g}" for key, at in ends.items() if np.isfinite(at))
        yield "stops", f"{{ {given} }}"


def _least_friction(robot: Articulated) -> np.ndarray:
    """(n,) `LEAST_FRICTION` of the joints [N m], [N]."""
    weights = []
    for joint, unit in zip(robot.joints, robot.position_units, strict=True):
        number = robot.model.getJointId(joint if joint in robot.model.names else joint.rpartition(".")[0])
        carried = [k for k, own in enumerate(robot.body_joints) if number in robot.model.supports[own]]
        point = robot.placements[robot.body_joints.index(number)][:3, 3]
        moments = 0.0
        for k in carried:
            mass, T = robot.inertials[k][0], robot.placements[k]
            radius = np.linalg.norm(T[:3, :3] @ robot.inertials[k][1:4] / mass + T[:3, 3] - point)
            moments += mass * (1.0 if unit == "m" else float(radius))
        weights.append(moments * STANDARD_GRAVITY)
    return LEAST_FRICTION * np.array(weights)


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

    def predict(self, job: PredictionJob) -> Prediction:
        """The motion of the mechanism from its commands, after the readings before the first row without any."""
        from scipy.spatial.transform import Rotation

        from ...estimators.joint import JointSmoothing, with_sensors
        from ...estimators.joint.forecast import forecast
        from ...estimators.joint.problem import Record
        from ...models.maximal import FRAME_READINGS, Encoder, RateSensor
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
        known |= {
            f"{name}.{frame.name}.{end}": FRAME_QUANTITIES[name].units[0]
            for frame in mechanism.frames
            for name in FRAME_READINGS
            for end in FRAME_QUANTITIES[name].ends
        }
        recording = read_motion(job, known, mechanism.readable_joints, mechanism.inputs, "mask")
        mechanism = with_sensors(mechanism, [recording])
        numbers = {**settings.held, **self.start, **job.result["mechanism"]["completed"], **values}
        mechanism = mechanism.starting({name: x for name, x in numbers.items() if name in mechanism.entries})
        known_std = [row["std"] is not None and row["name"] in mechanism.entries for row in rows]
        place = np.flatnonzero(known_std)
        model = mechanism.model([rows[k]["name"] for k in place])
        covariance = np.array(job.result["mechanism"]["covariance"], dtype=float)[np.ix_(place, place)]
        record = Record.from_recording(mechanism, recording, job.motion.name, self.step_s)
        noise = noise_of(mechanism, self.noise, others=True)
        weight = job.result["mechanism"]["weight"] if self.weight == "auto" else self.weight
        smoothing = self.build_as(JointSmoothing, weight=weight, noise=noise, form=self.form_of(model))
        motion = forecast(smoothing, model, record, model.theta, covariance)

        columns, named = {CLOCK: record.times}, {CLOCK: "s"}
        table, ahead = [], slice(motion.until, None)
        away = model.differences(motion.readings, record.z)[ahead]

        def sizes(half: np.ndarray, *errors: np.ndarray) -> dict[str, float | None]:
            """Root mean squares of half the band and of errors of readings, if there are any."""
            parts = {"half_interval": half, "rms_error": errors[0] if errors else half[:0]}
            known = {name: part[np.isfinite(part)] for name, part in parts.items()}
            return {
                name: float(np.sqrt(np.mean(part**2))) if len(part) else None for name, part in known.items()
            }

        for k, (name, unit) in enumerate(mechanism.coordinates):
            if name not in mechanism.readable_joints:  # balls are read at frames
                continue
            parts = motion.coordinates, motion.low, motion.high
            for ending, part in zip(("", ".low", ".high"), parts, strict=True):
                columns[f"position.{name}{ending}"], named[f"position.{name}{ending}"] = part[:, k], unit
            columns[f"velocity.{name}"], named[f"velocity.{name}"] = motion.rates[:, k], f"{unit}/s"
            encoders = [
                away[:, i]
                for i, sensor in enumerate(mechanism.sensors)
                if isinstance(sensor, Encoder) and sensor.joint == name
            ]
            half = (motion.high - motion.low)[ahead, k] / 2
            table.append({"joint": name, "unit": unit} | sizes(half, *encoders[:1]))
        for label, at in mechanism.readings:
            first = mechanism.sensors[int(at[0])]
            if isinstance(first, Encoder | RateSensor):
                continue
            if first.is_orientation:
                e = Rotation.from_rotvec(motion.readings[:, at]).as_quat()
                for i, end in enumerate(QUATERNION):
                    columns[f"{first.quantity}.{first.owner}.{end}"] = e[:, i]
                    named[f"{first.quantity}.{first.owner}.{end}"] = "1"
                continue
            for i in at.tolist():
                channel, unit = mechanism.sensors[i].channel, mechanism.sensor_units[i]
                parts = motion.readings, motion.readings_low, motion.readings_high
                for ending, part in zip(("", ".low", ".high"), parts, strict=True):
                    columns[channel + ending], named[channel + ending] = part[:, i], unit
            half = (motion.readings_high - motion.readings_low)[ahead][:, at] / 2
            unit = mechanism.sensor_units[int(at[0])]
            table.append({"joint": label, "unit": unit} | sizes(half, away[:, at]))
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
        smoothing = self.build_as(
            JointSmoothing,
            weight=1.0 if automatic else self.weight,
            noise=noise,
            form=self.form_of(problem.model),
        )
        return JointEstimation(smoothing, WeightChoice() if automatic else None)

    def form_of(self, model: Model) -> str:
        """The form of a model: `implicit` is `reduced` where joint coordinates describe it."""
        from ...estimators.joint.smoothing import compiled_linearizer

        if self.form != "implicit":
            return self.form
        try:
            compiled_linearizer(model, "reduced")
        except InvalidMethod:
            return self.form
        return "reduced"

    def determined(self, job: Job) -> tuple[str, ...]:
        from ...estimators.joint.first_look import determined_parameters

        problem = self.problem(job, Stopwatch())
        return determined_parameters(self.solver(job.settings, problem).method, problem)

    def warnings_of(self, problem: JointSmoothingProblem) -> tuple[str, ...]:
        records = (*problem.records, *problem.held_out)
        return tuple(
            warning
            for record in records
            for warning in record.saturated_commands(problem.model.mechanism.inputs)
        )


def noise_of(mechanism: Mechanism, noise: Mapping[str, float], others: bool = False) -> tuple[float, ...]:
    """Standard deviations of the sensors, by channel, by frame (`frame_position.markers`) or by quantity.

    `others`: whether there may be some of further channels.
    """
    channels = [sensor.channel for sensor in mechanism.sensors]
    keys = [_beginnings(channel) for channel in channels]
    for name in () if others else noise:
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
