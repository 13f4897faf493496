"""`identify` with `[method] name = "joint-smoothing"`: a [mechanism] and recordings as they were read -> an estimate.

A recording's channels say which sensors there are: `position.elbow` is an encoder on the joint `elbow`, whose own
numbers are called `elbow encoder.zero`, ..., and `velocity.elbow` a rate sensor. Torques, currents or voltages are what
its motor is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Vector, carried_on
from ..exceptions import InvalidProject, listing, nearest
from ..inertia.parameters import inertia_matrix
from ..solve import report
from ..stopwatch import Stopwatch
from .preparation import condition
from .recordings import EFFORTS, Run
from .settings import Settings
from .settings.mechanism import DryFrictionSettings, JointDetails, MechanismJointSettings, MechanismSettings
from .settings.preprocessing import RawSettings

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.joint import JointSmoothingProblem, Record
    from ..models.maximal import Coulomb, Encoder, LoadDependent, Mechanism, RateSensor
    from ..solve import ProgressCallback, Stop
    from .job import Project

STEPS_OFF = 0.05
"""Of a sample: how far a time step may be from a whole number of them."""
SATURATED, VISITS, DISTINCT = 0.02, 3, 20
"""Of a command that is cut off: share of samples at each end of its range, how often it gets there, and how many
different values are between."""
FIRST_WEIGHT = 1e8
"""From which on a weight is chosen: impulses of 1e-4 N m s."""


def estimate_jointly(
    project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
) -> Estimate:
    """From a project file to an estimate.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    from ..estimators.joint import JointEstimation, JointSmoothing
    from ..models.maximal import keep_compiled

    keep_compiled()
    settings, watch = project.settings, Stopwatch()
    method: Any = settings.method

    def say(stage: str) -> None:
        report(progress, stage)

    say("reading the mechanism")
    mechanism = project.mechanism(data_dir)
    moving = joints_of(mechanism)
    driven = [joint for joint in moving if joint in mechanism.inputs]
    say("reading the recordings")
    runs = project.recordings(moving, driven, data_dir)
    watch.lap("read")
    mechanism = with_sensors(mechanism, runs)
    problem = build_problem(project, mechanism, runs)
    weight = FIRST_WEIGHT if method.weight == "auto" else method.weight
    smoothing = JointSmoothing(
        float(weight),
        noise_of(mechanism, method.noise),
        method.form,
        method.max_iterations,
        method.tolerance,
    )
    watch.lap("problem")
    say("iterating")
    estimate = JointEstimation(smoothing, method.weight == "auto").solve(problem, say)
    return estimate.updated(
        warnings=(*_saturated(problem), *estimate.warnings),
        settings={"project": settings.model_dump(mode="json", exclude_unset=True)},
        seconds=watch.beside(estimate.seconds),
    )


# ----------------------------------------------------------------------------------------------------------- mechanism


def build_mechanism(settings: MechanismSettings, find: Callable[[str], Path]) -> Mechanism:
    """[mechanism] -> bodies and joints, without sensors.

    Raises:
        UnreadableFile, InvalidModel, ImpossibleBody: if there is no such mechanism.
        InvalidProject: if details are of a joint that the description does not have.
    """
    from ..models.maximal import Mechanism, load_mechanism

    if settings.path is None:
        bodies = [_body(body) for body in settings.bodies]
        joints = [_joint(joint) for joint in settings.joints]
        return Mechanism(bodies, joints, gravity=settings.gravity, name=settings.name)
    described = load_mechanism(find(settings.path), locked=settings.locked, gravity=settings.gravity)
    names = [joint.name for joint in described.joints]
    for name in settings.details:
        if name not in names:
            raise InvalidProject(
                f"mechanism.details has {name!r}{nearest(name, names)}; {described.name} has {listing(names)}"
            )
    joints = [_detailed(joint, settings.details.get(joint.name)) for joint in described.joints]
    return replace(described, joints=joints, sensors=())


def _body(body: Any) -> Any:
    from ..models.maximal import RigidBody

    inertia = body.inertia
    if len(inertia) == 6:
        inertia = inertia_matrix(np.array([0, 0, 0, 0, *inertia], dtype=float))
    return RigidBody(body.name, body.mass, inertia, body.center)


def _joint(joint: MechanismJointSettings) -> Any:
    from ..models.maximal import Ball, Fixed, Hinge, Motor, Slider

    shared: dict[str, Any] = {
        key: getattr(joint, key) for key in ("compliance", "rotation_compliance", "relaxation", "child_point")
    }
    place = (joint.name, joint.parent, joint.child, joint.point)
    if joint.kind == "fixed":
        return Fixed(*place, **shared)
    shared |= {"drag": joint.drag, "offset": joint.offset, "friction": _friction(joint.friction)}
    if joint.kind == "ball":
        return Ball(*place, **shared)
    motor = None if joint.motor is None else Motor(joint.motor.gain, joint.motor.shaft_inertia)
    kind = Hinge if joint.kind == "hinge" else Slider
    return kind(*place, **shared, axis=joint.axis, motor=motor)


def _detailed(joint: Any, details: JointDetails | None) -> Any:
    from ..models.maximal import Motor

    if details is None:
        return joint
    changes: dict[str, Any] = {
        key: value for key in ("drag", "offset") if (value := getattr(details, key)) is not None
    }
    if details.friction is not None:
        changes["friction"] = _friction(details.friction)
    if details.motor is not None:
        changes["motor"] = Motor(details.motor.gain, details.motor.shaft_inertia)
    return replace(joint, **changes)


def _friction(law: DryFrictionSettings | None) -> Coulomb | LoadDependent | None:
    from ..models.maximal import Coulomb, LoadDependent

    if law is None:
        return None
    if law.law == "coulomb":
        return Coulomb(law.level, law.excess, law.decay, law.stick_drag)
    return LoadDependent(law.level, law.radius, law.excess, law.decay, law.stick_drag)


def joints_of(mechanism: Mechanism) -> tuple[str, ...]:
    """Those that sensors can read: hinges and sliders."""
    from ..models.maximal import Hinge, Slider

    return tuple(joint.name for joint in mechanism.joints if isinstance(joint, Hinge | Slider))


def with_sensors(mechanism: Mechanism, runs: Sequence[Run]) -> Mechanism:
    """With an encoder or a rate sensor for each channel that a recording has.

    Raises:
        InvalidProject: if no recording has a position or velocity of a joint.
    """
    from ..models.maximal import Encoder, RateSensor

    sensors: list[Encoder | RateSensor] = []
    for quantity, kind in (("position", Encoder), ("velocity", RateSensor)):
        read = {joint for run in runs for joint in run.recording.joints(quantity)}
        sensors += [kind(joint) for joint in joints_of(mechanism) if joint in read]
    if not sensors:
        raise InvalidProject("no recording has a position or velocity of a joint; name the columns that do")
    return replace(mechanism, sensors=sensors)


def noise_of(mechanism: Mechanism, noise: Mapping[str, float]) -> tuple[float, ...]:
    """Of each sensor.

    Raises:
        InvalidProject: if one has none, or one is of nothing that is read.
    """
    channels = [sensor.channel for sensor in mechanism.sensors]
    known = {*channels, *(channel.partition(".")[0] for channel in channels)}
    for name in noise:
        if name not in known:
            raise InvalidProject(
                f"method.noise has {name!r}{nearest(name, sorted(known))}; what is read is {listing(sorted(known))}"
            )
    levels = []
    for channel in channels:
        level = noise.get(channel, noise.get(channel.partition(".")[0]))
        if level is None:
            raise InvalidProject(
                f"method.noise says nothing of {channel!r}; give its standard deviation there, or leave its column out"
            )
        levels.append(level)
    return tuple(levels)


# ---------------------------------------------------------------------------------------------------------- recordings


def build_problem(project: Project, mechanism: Mechanism, runs: Sequence[Run]) -> JointSmoothingProblem:
    """Recordings and what is known -> the problem.

    Raises:
        PoinsotError: if a recording lacks what is needed, or something names what the mechanism does not have.
    """
    from ..estimators.joint import JointSmoothingProblem
    from ..parameters import Normal

    settings = project.settings
    method: Any = settings.method
    for name in (*method.parameters, *method.start, *settings.held, *settings.priors):
        mechanism.place(name)
    for name in settings.held:
        if name in method.parameters:
            raise InvalidProject(f"{name!r} is held and among method.parameters; leave it out of one of them")
    begun = mechanism.starting({**settings.held, **method.start})
    records = {(run.name, run.role): _record(settings, begun, run) for run in runs}
    return JointSmoothingProblem(
        begun,
        tuple(record for (_, role), record in records.items() if role == "identification"),
        tuple(method.parameters),
        {name: Normal(prior.mean, prior.std) for name, prior in settings.priors.items()},
        method.lower,
        method.upper,
        tuple(record for (_, role), record in records.items() if role == "validation"),
    )


def _record(settings: Settings, mechanism: Mechanism, run: Run) -> Record:
    from ..estimators.joint import Record

    preprocessing = settings.preprocessing
    method: Any = settings.method
    assert isinstance(preprocessing, RawSettings)
    recording = condition(preprocessing, run).recording
    if run.window_s is not None:
        recording = recording.between(*run.window_s)
    z = [
        np.where(recording.mask(channel), recording[channel], np.nan)
        if channel in recording.channels
        else np.full(len(recording), np.nan)
        for channel in (sensor.channel for sensor in mechanism.sensors)
    ]
    u = []
    for joint in mechanism.inputs:
        channel = next((f"{e}.{joint}" for e in EFFORTS if f"{e}.{joint}" in recording.channels), None)
        if channel is None:
            raise InvalidProject(
                f"recording {run.name!r} does not say what the motor of {joint!r} was told; give a column of its "
                "torque, current or voltage, or leave the motor out"
            )
        told = np.where(recording.mask(channel), recording[channel], np.nan)
        u.append(_held(told, f"{channel} of recording {run.name!r}"))
    record = Record(
        run.name,
        np.asarray(recording.time, dtype=float),
        np.column_stack(u) if u else np.zeros((len(recording), 0)),
        np.column_stack(z),
    )
    return record if method.step_s is None else record.every(_samples(record, method.step_s))


def _held(values: Vector, what: str) -> Vector:
    """What is missing keeps the value before it.

    Raises:
        InvalidProject: if there is none.
    """
    known = np.isfinite(values)
    if not known.any():
        raise InvalidProject(f"{what} has no value at all; leave the motor out if it was not told anything")
    return carried_on(values, float(values[known][0]))


def _samples(record: Record, step_s: float) -> int:
    """In a step.

    Raises:
        InvalidProject: if it is not a whole number of them.
    """
    sample = float(np.median(record.steps))
    n = round(step_s / sample)
    if n < 1 or abs(step_s / sample - n) > STEPS_OFF:
        raise InvalidProject(
            f"method.step_s is {step_s:g} s, and {record.name} has a sample each {sample:g} s; give a multiple of it"
        )
    return n


def _saturated(problem: JointSmoothingProblem) -> list[str]:
    """Commands that look cut off at both ends."""
    said = []
    for record in (*problem.records, *problem.held_out):
        for joint, u in zip(problem.mechanism.inputs, record.u.T, strict=True):
            low, high = u.min(), u.max()
            at_ends = [u == low, u == high]
            between = len(np.unique(u[(u > low) & (u < high)]))
            visits = min(int(np.sum(np.diff(np.r_[False, end].astype(int)) == 1)) for end in at_ends)
            share = [float(np.mean(end)) for end in at_ends]
            if min(share) > SATURATED and visits >= VISITS and between > DISTINCT:
                said.append(
                    f"The command of {joint} in {record.name} stays at its ends, {low:g} and {high:g}, for "
                    f"{100 * sum(share):.0f} % of the time: if the drive saturates there, record what it gives, not "
                    "what it was asked for."
                )
    return said
