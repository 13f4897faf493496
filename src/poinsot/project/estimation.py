"""`identify` with `[method] name = "optimal-estimation"`: settings of a project file -> problem and method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Vector
from ..exceptions import InvalidProject
from ..stopwatch import Stopwatch
from .interrupts import stoppable
from .other_jobs import values_from
from .preparation import condition
from .recordings import Run
from .settings.methods import OptimalEstimationSettings
from .settings.preprocessing import RawSettings
from .settings.robot import ContactsSettings, RotorSettings

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem
    from ..estimators.shooting.robot_log import RobotLog
    from ..estimators.shooting.rollout import Rollout
    from ..models.actuation import Actuation
    from ..models.articulated import Articulated
    from ..models.contacts import ContactDetection
    from ..models.open_parameters import OpenParameters
    from ..solve import Progress
    from .job import Project


def estimate_optimally(project: Project, data_dir: str | Path | None, say: Callable[[str], None]) -> Estimate:
    """From a project file to an estimate; Ctrl-C ends the iteration with what it has.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    settings, watch = project.settings, Stopwatch()
    assert isinstance(settings.method, OptimalEstimationSettings)
    say("reading the robot")
    robot = project.robot(data_dir)
    watch.lap("robot")
    say("reading the recordings")
    runs = project.runs(robot, data_dir)
    watch.lap("read")
    problem = build_problem(project, robot, runs)
    watch.lap("signals")

    def show(now: Progress) -> None:
        say(f"iteration {now.iteration}, cost {now.cost:.6g}, {now.detail} (Ctrl-C ends with this)")

    say("iterating")
    with stoppable() as stop:
        estimate = build_estimation(settings.method).solve(problem, progress=show, stop=stop)
    watch.lap("solve")
    return estimate.updated(
        settings={"project": settings.model_dump(mode="json", exclude_unset=True)},
        seconds={**watch.laps, **estimate.seconds, "total": watch.total},
    )


def build_estimation(method: OptimalEstimationSettings) -> OptimalEstimation:
    """[method] -> the estimator."""
    from ..estimators.shooting.ddp import DDP
    from ..estimators.shooting.estimation import OptimalEstimation
    from ..estimators.shooting.rollout import FeasibilityDriven, MultipleShooting, SingleShooting

    rollouts: dict[str, Rollout] = {
        "multiple": MultipleShooting(),
        "feasible": FeasibilityDriven(),
        "single": SingleShooting(),
    }
    same = ("max_iterations", "step_tolerance", "gap_tolerance", "null_space", "memory", "damping", "longest")
    return OptimalEstimation(DDP(rollouts[method.rollout], **{key: getattr(method, key) for key in same}))


def build_problem(project: Project, robot: Articulated, runs: Sequence[Run]) -> OptimalEstimationProblem:
    """Recordings and what is known -> the problem.

    Raises:
        PoinsotError: if a recording lacks what is needed, or something names what the robot does not have.
    """
    from ..estimators.shooting.estimation import OptimalEstimationProblem
    from ..estimators.shooting.known_parameters import KnownParameters
    from ..estimators.shooting.robot_log import MotionNoise, RobotLog, check_names_of_noise
    from ..parameters import Normal

    settings = project.settings
    method, preprocessing = settings.method, settings.preprocessing
    assert isinstance(method, OptimalEstimationSettings)
    assert isinstance(preprocessing, RawSettings)
    parameters = _open(settings, robot, method)
    noise = MotionNoise(method.noise, method.speed_noise or 0.0, method.start_std)
    logs: dict[str, list[RobotLog]] = {"identification": [], "validation": []}
    for run in runs:
        recording = condition(preprocessing, run).recording
        if run.window_s is not None:
            recording = recording.between(*run.window_s)
        contacts = _contacts(settings.contacts, run)
        logs[run.role].append(RobotLog.from_recording(parameters, recording, noise, contacts, run.name))
    check_names_of_noise(noise, logs["identification"] + logs["validation"])
    start = None
    if method.start_from is not None:
        start = _start(parameters, values_from(project, method.start_from))
    priors = {name: Normal(prior.mean, prior.std) for name, prior in settings.priors.items()}
    return OptimalEstimationProblem(
        tuple(logs["identification"]),
        KnownParameters(parameters, priors, method.prior_std),
        tuple(logs["validation"]),
        start,
    )


def _open(settings: Any, robot: Articulated, method: OptimalEstimationSettings) -> OpenParameters:
    from ..inertia import find_chart
    from ..models.open_parameters import OpenParameters

    return OpenParameters(
        robot,
        tuple(method.bodies),
        find_chart(method.chart),
        tuple(method.joints),
        actuation=_actuation(robot, settings.rotors),
        nominal=settings.held,
        dry_speed=method.dry_speed,
    )


def _actuation(robot: Articulated, rotors: Sequence[RotorSettings]) -> Actuation | None:
    """Rotors and the joints' motors; None: motors alone."""
    from ..models.actuation import rotor_thrusts
    from ..models.rotations import turning_z_to

    if not rotors:
        return None
    placements = {}
    for rotor in rotors:
        T_br = np.eye(4)
        T_br[:3, :3], T_br[:3, 3] = turning_z_to(np.array(rotor.axis)), rotor.position
        placements[rotor.name] = T_br
    return rotor_thrusts(robot, placements, {rotor.name: rotor.drag for rotor in rotors})


def _start(parameters: OpenParameters, values: Mapping[str, float]) -> Vector:
    """theta of another result, as far as it has the same parameters."""
    inertials = parameters.all_inertials.copy()
    for body, place in zip(parameters.bodies, parameters.places.tolist(), strict=True):
        ten = [values.get(name) for name in parameters.physical_names if name.endswith(f".{body}")]
        if all(value is not None for value in ten):
            inertials[place] = ten
    of_others = {name: values[name] for name in (*parameters.joints, *parameters.gains) if name in values}
    begun = replace(parameters, inertials=inertials, nominal={**parameters.nominal, **of_others})
    return begun.nominal_theta


def _contacts(settings: ContactsSettings | None, run: Run) -> ContactDetection | None:
    """[contacts] and the gait of a recording."""
    from ..models.contacts import ContactDetection, PointContact, SurfaceContact, read_gait

    if settings is None:
        if run.gait is not None:
            raise InvalidProject(
                f"recording {run.name!r} has a gait, and no [contacts] says what they are: give points = [...] or "
                "surfaces = [...] of the gait's frames"
            )
        return None
    contacts = (*map(PointContact, settings.points), *map(SurfaceContact, settings.surfaces))
    if not contacts:
        raise InvalidProject("[contacts] names no frame: give points = [...] or surfaces = [...]")
    gait = None if run.gait is None else read_gait(run.gait)
    return ContactDetection(contacts, settings.closes_above, settings.opens_below, settings.shortest_s, gait)
