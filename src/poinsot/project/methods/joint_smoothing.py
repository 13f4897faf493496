"""`[method] name = "joint-smoothing"`: states and parameters of a [mechanism], from recordings as they were read.

The channels of the recordings decide on the sensors: `position.elbow` is an encoder on the joint `elbow`, whose own
numbers are called `elbow encoder.zero`, ..., and `velocity.elbow` a rate sensor. Torques, currents or voltages are the
commands of its motor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, Tag

from ...exceptions import InvalidProject, listing, nearest
from ...solve import report
from ...stopwatch import Stopwatch
from ..preparation import condition
from ..settings.fields import Positive, is_text
from ..settings.preprocessing import AS_READ, RawSettings
from .base import MethodSettings

if TYPE_CHECKING:
    from ...estimate import Estimate
    from ...estimators.joint import JointSmoothingProblem
    from ...models.maximal import Mechanism
    from ...recording import Recording
    from ...solve import ProgressCallback, Stop
    from ..job import Project
    from ..recordings import Run

FIRST_WEIGHT = 1e8
"""Middle of the weights that are tried where none is given: impulses of 1e-4 N m s."""


class JointSmoothingSettings(MethodSettings):
    """`poinsot.estimators.joint.JointEstimation`: states and parameters of a [mechanism].

    `parameters`: names of what is open, like `"pendulum.Jxx"`, `"elbow.drag"`, `"elbow encoder.zero"`. `noise`:
    standard deviations of what sensors read, by quantity (`position`) or channel (`position.elbow`) [rad], [m],
    [rad/s]. `weight`: kappa, 1 / (standard deviation of an impulse that the model lacks [N m s], [N s])^2; `"auto"`:
    chosen by how well readings that are left out are predicted. `step_s`: of the model; without it one sample is one
    step. `lower`, `upper`: bounds. `start`: where parameters begin, in place of the mechanism's values.
    """

    subject = "mechanism"
    takes = AS_READ
    estimates_motion = True
    sections = ("friction", "motion", "convergence")

    name: Literal["joint-smoothing"]
    parameters: list[str] = Field(min_length=1)
    noise: dict[str, Positive]
    weight: Annotated[
        Annotated[Positive, Tag("number")] | Annotated[Literal["auto"], Tag("text")], Discriminator(is_text)
    ] = "auto"
    form: Literal["reduced", "explicit", "implicit"] = "reduced"
    step_s: Positive | None = None
    lower: dict[str, float] = {}
    upper: dict[str, float] = {}
    start: dict[str, float] = {}
    max_iterations: int = Field(50, ge=1)
    tolerance: float = Field(1e-7, gt=0, lt=1)

    def identify(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Estimate:
        return estimate_jointly(self, project, data_dir, progress, stop)


def estimate_jointly(
    method: JointSmoothingSettings,
    project: Project,
    data_dir: str | Path | None,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> Estimate:
    """From a project file to an estimate.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    from ...estimators.joint import JointEstimation, JointSmoothing, WeightChoice
    from ...models.maximal import keep_compiled

    keep_compiled()
    settings, watch = project.settings, Stopwatch()
    report(progress, "reading the mechanism")
    mechanism = project.mechanism(data_dir)
    report(progress, "reading the recordings")
    runs = project.recordings(mechanism.readable_joints, mechanism.inputs, data_dir)
    watch.lap("read")
    problem = build_problem(method, project, mechanism, runs)
    weight = FIRST_WEIGHT if method.weight == "auto" else method.weight
    mechanism = problem.model.mechanism
    smoothing = JointSmoothing(
        float(weight),
        noise_of(mechanism, method.noise),
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
        for warning in record.saturated_commands(mechanism.inputs)
    ]
    return estimate.updated(
        warnings=(*saturated, *estimate.warnings),
        settings={"project": settings.model_dump(mode="json", exclude_unset=True)},
        seconds=watch.beside(estimate.seconds),
    )


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


def build_problem(
    method: JointSmoothingSettings, project: Project, mechanism: Mechanism, runs: Sequence[Run]
) -> JointSmoothingProblem:
    """The problem of a project's recordings, with sensors for the channels that they have.

    Raises:
        PoinsotError: if a recording lacks what is needed, or a name does not exist in the mechanism.
    """
    from ...estimators.joint import JointSmoothingProblem, with_sensors
    from ...parameters import Normal

    settings = project.settings
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
