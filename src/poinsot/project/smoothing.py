"""`identify` with `[method] name = "joint-smoothing"`: a [mechanism] and recordings as they were read -> an estimate.

The channels of the recordings decide on the sensors: `position.elbow` is an encoder on the joint `elbow`, whose own
numbers are called `elbow encoder.zero`, ..., and `velocity.elbow` a rate sensor. Torques, currents or voltages are the
commands of its motor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, listing, nearest
from ..inertia.parameters import inertia_matrix
from ..solve import ProgressCallback, Stop, report
from ..stopwatch import Stopwatch
from .preparation import condition
from .recordings import Run
from .settings.mechanism import (
    DryFrictionSettings,
    JointDetails,
    MechanismJointSettings,
    MechanismSettings,
    MotorSettings,
)
from .settings.preprocessing import RawSettings

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.joint import JointSmoothingProblem
    from ..models.maximal import Coulomb, LoadDependent, Mechanism, Motor
    from ..recording import Recording
    from .job import Project

FIRST_WEIGHT = 1e8
"""Middle of the weights that are tried where none is given: impulses of 1e-4 N m s."""


def estimate_jointly(
    project: Project,
    data_dir: str | Path | None,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> Estimate:
    """From a project file to an estimate.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    from ..estimators.joint import JointEstimation, JointSmoothing, WeightChoice
    from ..models.maximal import keep_compiled

    keep_compiled()
    settings, watch = project.settings, Stopwatch()
    method: Any = settings.method
    report(progress, "reading the mechanism")
    mechanism = project.mechanism(data_dir)
    report(progress, "reading the recordings")
    runs = project.recordings(mechanism.readable_joints, mechanism.inputs, data_dir)
    watch.lap("read")
    problem = build_problem(project, mechanism, runs)
    weight = FIRST_WEIGHT if method.weight == "auto" else method.weight
    smoothing = JointSmoothing(
        float(weight),
        noise_of(problem.mechanism, method.noise),
        method.form,
        method.max_iterations,
        method.tolerance,
    )
    watch.lap("problem")
    choice = WeightChoice() if method.weight == "auto" else None
    estimate = JointEstimation(smoothing, choice).solve(problem, progress=progress, stop=stop)
    saturated = [
        warning
        for record in (*problem.records, *problem.held_out)
        for warning in record.saturated_commands(problem.mechanism.inputs)
    ]
    return estimate.updated(
        warnings=(*saturated, *estimate.warnings),
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
    from ..models.maximal import JOINT_KINDS

    arguments: dict[str, Any] = {
        key: getattr(joint, key) for key in ("compliance", "rotation_compliance", "relaxation", "child_point")
    }
    arguments |= {"name": joint.name, "parent": joint.parent, "child": joint.child, "point": joint.point}
    kind = JOINT_KINDS[joint.kind]
    moving: dict[str, Any] = {
        "drag": joint.drag,
        "offset": joint.offset,
        "friction": _friction(joint.friction),
        "axis": joint.axis,
        "motor": None if joint.motor is None else _motor(joint.motor),
    }
    known = {field.name for field in fields(kind)}
    return kind(**arguments, **{key: value for key, value in moving.items() if key in known})


def _motor(motor: MotorSettings) -> Motor:
    from ..models.maximal import Motor

    return Motor(motor.gain, motor.shaft_inertia)


def _detailed(joint: Any, details: JointDetails | None) -> Any:
    if details is None:
        return joint
    changes: dict[str, Any] = {
        key: value for key in ("drag", "offset") if (value := getattr(details, key)) is not None
    }
    if details.friction is not None:
        changes["friction"] = _friction(details.friction)
    if details.motor is not None:
        changes["motor"] = _motor(details.motor)
    return replace(joint, **changes)


def _friction(law: DryFrictionSettings | None) -> Coulomb | LoadDependent | None:
    from ..models.maximal import FRICTION_LAWS

    if law is None:
        return None
    kind = FRICTION_LAWS[law.law]
    shared: dict[str, Any] = {key: getattr(law, key) for key in ("excess", "decay", "stick_drag")}
    if kind.depends_on_load:
        shared["radius"] = law.radius
    return kind(law.level, **shared)


def noise_of(mechanism: Mechanism, noise: Mapping[str, float]) -> tuple[float, ...]:
    """Standard deviations of the sensors.

    Raises:
        InvalidProject: if one has none, or one is of a channel that no sensor reads.
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
    """The problem of a project's recordings, with sensors for the channels that they have.

    Raises:
        PoinsotError: if a recording lacks what is needed, or a name does not exist in the mechanism.
    """
    from ..estimators.joint import JointSmoothingProblem, with_sensors
    from ..parameters import Normal

    settings = project.settings
    method: Any = settings.method
    preprocessing = settings.preprocessing
    assert isinstance(preprocessing, RawSettings)
    mechanism = with_sensors(mechanism, (run.recording for run in runs))
    for name in (*method.parameters, *method.start, *settings.held, *settings.priors):
        mechanism.place(name)
    for name in settings.held:
        if name in method.parameters:
            raise InvalidProject(f"{name!r} is held and among method.parameters; leave it out of one of them")
    used: dict[str, dict[str, Recording]] = {"identification": {}, "validation": {}}
    for run in runs:
        recording = condition(preprocessing, run).recording
        used[run.role][run.name] = recording if run.window_s is None else recording.between(*run.window_s)
    return JointSmoothingProblem.from_recordings(
        mechanism.starting({**settings.held, **method.start}),
        used["identification"],
        method.parameters,
        held_out=used["validation"],
        step_s=method.step_s,
        priors={name: Normal(prior.mean, prior.std) for name, prior in settings.priors.items()},
        lower=method.lower,
        upper=method.upper,
    )
