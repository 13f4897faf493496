"""`identify` with `[method] name = "optimal-estimation"`: recordings as they were read -> motion and parameters.

channels -> sensors, contacts and commands -> logs -> problem -> estimate

A recording's channels say which sensors there are: `gyro.imu_link.x` is one axis of a gyro at the frame `imu_link`.
Each quantity that was read needs its standard deviation in `method.noise`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Vector
from ..exceptions import InvalidProject, listing, nearest
from ..recording import CONTACT, FRAME_QUANTITIES, THRUST
from ..solve import report
from ..stopwatch import Stopwatch
from .other_jobs import values_from
from .preparation import condition
from .recordings import EFFORTS, Run
from .settings.preprocessing import RawSettings
from .settings.robot import ContactsSettings, RotorSettings
from .translation import by_joint

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.shooting.ddp import Iteration
    from ..estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem, RobotLog
    from ..estimators.shooting.rollout import Rollout
    from ..models.actuation import Actuation
    from ..models.articulated import Articulated
    from ..models.contacts import Contact, ContactSchedule
    from ..models.open_parameters import OpenParameters
    from ..models.sensors import Readings, Sensor
    from ..solve import ProgressCallback, Stop
    from .job import Project
    from .methods.optimal_estimation import OptimalEstimationSettings

FOOT_VELOCITY = "foot_velocity"
BASE = ("base_linear", "base_angular")
"""The freedoms of a floating base in `speed_noise`."""


def estimate_optimally(
    project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
) -> Estimate:
    """From a project file to an estimate.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    settings, watch = project.settings, Stopwatch()
    method: Any = settings.method
    report(progress, "reading the robot")
    robot = project.robot(data_dir)
    watch.lap("robot")
    report(progress, "reading the recordings")
    runs = project.runs(robot, data_dir)
    watch.lap("read")
    problem = build_problem(project, robot, runs)
    watch.lap("signals")

    def tell(iteration: Iteration) -> None:
        report(progress, f"iteration {str(iteration).strip()} (Ctrl-C ends with this)")

    report(progress, "iterating")
    estimate = build_estimation(method).solve(problem, tell, stop or (lambda: False))
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
    same = ("max_steps", "step_tolerance", "gap_tolerance", "null_space", "memory", "damping", "longest")
    return OptimalEstimation(DDP(rollouts[method.rollout], **{key: getattr(method, key) for key in same}))


def build_problem(project: Project, robot: Articulated, runs: Sequence[Run]) -> OptimalEstimationProblem:
    """Recordings and what is known -> the problem.

    Raises:
        PoinsotError: if a recording lacks what is needed, or something names what the robot does not have.
    """
    from ..estimators.shooting.estimation import OptimalEstimationProblem
    from ..estimators.shooting.known_parameters import KnownParameters
    from ..parameters import Normal

    settings = project.settings
    method: Any = settings.method
    preprocessing = settings.preprocessing
    assert isinstance(preprocessing, RawSettings)
    parameters = _open(settings, robot, method)
    logs = {}
    for run in runs:
        conditioned = condition(preprocessing, run)
        if run.window_s is not None:
            conditioned = replace(conditioned, recording=conditioned.recording.between(*run.window_s))
        logs[run.name, run.role] = _Log(settings, parameters, conditioned).log()
    start = None
    if method.start_from is not None:
        start = _start(parameters, values_from(project, method.start_from))
    return OptimalEstimationProblem(
        tuple(log for (_, role), log in logs.items() if role == "identification"),
        KnownParameters(
            parameters,
            {name: Normal(prior.mean, prior.std) for name, prior in settings.priors.items()},
            method.prior_std,
        ),
        tuple(log for (_, role), log in logs.items() if role == "validation"),
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


# --------------------------------------------------------------------------------------------------------- recordings


@dataclass(frozen=True, eq=False)
class _Log:
    """One recording on its way to the solver."""

    settings: Any
    parameters: OpenParameters
    run: Run

    @property
    def robot(self) -> Articulated:
        return self.parameters.robot

    @property
    def where(self) -> str:
        return f"recording {self.run.name!r}"

    def log(self) -> RobotLog:
        from ..estimators.shooting.estimation import RobotLog
        from ..estimators.shooting.first_guess import first_guess
        from ..estimators.shooting.problem import Known
        from ..models.stages import Stages

        method = self.settings.method
        schedule = self._schedule()
        readings = (*self._joint_readings(), *self._frame_readings(), *self._standing(schedule))
        self._all_noise_is_someones(readings)
        told = self._command_noise()
        if told.any():
            readings = tuple(some.without_last_effort() for some in readings)
        stages = Stages(self.parameters, schedule, self.run.recording.time, self._commands(), readings)
        guess = first_guess(stages)
        n = int(self.robot.model.nv)
        arrival = None
        if method.start_std is not None:
            arrival = Known.normal(guess[0], np.repeat(np.square(method.start_std), n))
        return RobotLog(
            self.run.name, stages, np.concatenate([np.zeros(n), self._speed_noise()]), told, arrival, guess
        )

    # -- what was read -------------------------------------------------------------------------------------------------

    def _values(self, channels: Sequence[str]) -> np.ndarray:
        """(S, width), NaN where there is none."""
        recording = self.run.recording
        columns = [np.where(recording.mask(name), recording[name], np.nan) for name in channels]
        return np.stack(columns, axis=1)

    def _noise(self, quantity: str, frame: str = "") -> Any:
        """Its standard deviation, or one for each component."""
        noise = self.settings.method.noise
        level = noise.get(f"{quantity}.{frame}", noise.get(quantity))
        if level is None:
            raise InvalidProject(
                f"{self.where} has {quantity}, and method.noise does not say how noisy it is: give "
                f"{quantity} = its standard deviation, or leave its columns out"
            )
        return level if isinstance(level, float | int) else np.array(level, dtype=float)

    def _joint_readings(self) -> list[Readings]:
        from ..models.sensors import JointPosition, JointVelocity, Readings

        robot, train, recording = self.robot, self.robot.train, self.run.recording
        found = []
        for kind, at_joints in (
            (JointPosition, train.joint_positions),
            (JointVelocity, train.joint_velocities),
        ):
            measured = set(recording.joints(kind.quantity))
            joints = tuple(joint for joint in robot.joints if joint in measured)
            if not joints:
                continue
            if robot.drive.side == "motor":
                if len(joints) < len(robot.joints):
                    raise InvalidProject(
                        f"{self.where}: {kind.quantity} is at the motors' side, so it takes all joints to know one; "
                        f"there is none of {listing(joint for joint in robot.joints if joint not in measured)}"
                    )
                values = at_joints(self._values([f"{kind.quantity}.{joint}" for joint in joints]))
            else:
                values = self._values([f"{kind.quantity}.{joint}" for joint in joints])
            found.append(Readings(kind(robot, self._noise(kind.quantity), joints), values))
        return found

    def _frame_readings(self) -> list[Readings]:
        from ..models.sensors import (
            Accelerometer,
            ContactForce,
            Gyro,
            Orientation,
            Position,
            PreintegratedVelocity,
            Readings,
        )

        kinds: dict[str, type[Sensor]] = {
            kind.quantity: kind
            for kind in (Gyro, Accelerometer, Orientation, Position, PreintegratedVelocity, ContactForce)
        }
        recording, found = self.run.recording, []
        for quantity in FRAME_QUANTITIES:
            for frame in recording.frames(quantity):
                extra = {"moments": True} if f"{quantity}.{frame}.mx" in recording.channels else {}
                sensor = kinds[quantity](self.robot, self._noise(quantity, frame), frame, **extra)  # type: ignore[call-arg]
                missing = [name for name in sensor.channels if name not in recording.channels]
                if missing:
                    raise InvalidProject(
                        f"{self.where} has {sensor.channels[0]}, and no channel {listing(missing)}"
                    )
                found.append(Readings(sensor, self._values(sensor.channels)))
        return found

    def _standing(self, schedule: ContactSchedule) -> list[Readings]:
        """Feet that touch the ground do not move, if it is said how much they slip."""
        from ..models.contacts import SurfaceContact
        from ..models.sensors import ContactVelocity, Readings

        if FOOT_VELOCITY not in self.settings.method.noise:
            return []
        found = []
        for contact, closed in zip(schedule.contacts, schedule.closed.T, strict=True):
            noise = self._noise(FOOT_VELOCITY, contact.frame)
            sensor = ContactVelocity(self.robot, noise, contact.frame, isinstance(contact, SurfaceContact))
            found.append(Readings(sensor, np.where(closed[:, None], 0.0, np.full((1, sensor.size), np.nan))))
        return found

    def _all_noise_is_someones(self, readings: Sequence[Readings]) -> None:
        """That nothing in method.noise is misspelt."""
        known = {*EFFORTS, THRUST, FOOT_VELOCITY, "position", "velocity", *FRAME_QUANTITIES}
        known |= {f"{each.sensor.quantity}.{frame}" for each in readings for frame in each.sensor.frames}
        for name in self.settings.method.noise:
            quantity, _, frame = name.partition(".")
            if quantity not in known or (frame and name not in known and self.run.role == "identification"):
                raise InvalidProject(
                    f"method.noise names {name!r}{nearest(name, known)}; {self.where} has "
                    f"{listing(sorted({each.sensor.quantity for each in readings}))}"
                )

    # -- what it was told ----------------------------------------------------------------------------------------------

    def _quantity(self, name: str) -> str:
        """What a command is: a rotor's thrust, or the first effort that joints have in this recording."""
        if name not in self.robot.joints:
            return THRUST
        return next((each for each in EFFORTS if self.run.recording.joints(each)), EFFORTS[0])

    def _commands(self) -> np.ndarray:
        """(S, inputs)."""
        recording, passive = self.run.recording, self.robot.drive.passive
        columns, missing, rotors = [], [], [rotor.name for rotor in self.settings.rotors]
        for name in recording.joints(THRUST):
            if name not in rotors:
                raise InvalidProject(
                    f"{self.where} has {THRUST}.{name}, and no [[rotors]] is called {name!r}{nearest(name, rotors)}; "
                    f"there is {listing(rotors)}"
                )
        for name in self.parameters.drive.inputs:
            channel = f"{self._quantity(name)}.{name}"
            if channel in recording.channels:
                columns.append(self._values([channel])[:, 0])
            elif name in passive:
                columns.append(np.zeros(len(recording)))
            else:
                missing.append(channel)
        if missing:
            raise InvalidProject(
                f"{self.where} has no {listing(missing)}: dynamics need what each motor was told, or did; give their "
                "columns, or name joints without a motor in drive.passive"
            )
        return np.stack(columns, axis=1) if columns else np.zeros((len(recording), 0))

    def _command_noise(self) -> Vector:
        """(inputs,) standard deviation of each command."""
        noise, passive = self.settings.method.noise, self.robot.drive.passive
        levels = [
            0.0 if name in passive else noise.get(self._quantity(name), 0.0)
            for name in self.parameters.drive.inputs
        ]
        if any(isinstance(level, list) for level in levels):
            raise InvalidProject("method.noise: torque, current and thrust need one number for all motors")
        return np.array(levels, dtype=float)

    def _speed_noise(self) -> Vector:
        """(n,) of each speed, beside what commands do to it."""
        robot, value = self.robot, self.settings.method.speed_noise
        names = [*robot.joints, *(BASE if robot.floating_base else ())]
        given = by_joint("method.speed_noise", 0.0 if value is None else value, names, 0.0)
        if isinstance(given, list) and len(given) != len(names):
            raise InvalidProject(
                f"method.speed_noise has {len(given)} numbers for {len(names)} speeds: {listing(names, 40)}"
            )
        levels = np.broadcast_to(np.asarray(given, dtype=float), (len(names),))
        if not (np.isfinite(levels).all() and levels.min(initial=0.0) >= 0):
            raise InvalidProject("method.speed_noise: standard deviations must be at least 0")
        speeds = np.zeros(robot.model.nv)
        speeds[robot.actuated] = levels[: len(robot.joints)]
        if robot.floating_base:
            speeds[:3], speeds[3:6] = levels[-2], levels[-1]
        return speeds

    # -- contacts ------------------------------------------------------------------------------------------------------

    def _schedule(self) -> ContactSchedule:
        from ..models.contacts import ContactSchedule, read_gait, schedule_from_channels, schedule_from_forces

        recording, contacts = self.run.recording, self.settings.contacts
        frames = recording.joints(CONTACT)
        said = len(frames) > 0 or self.run.gait is not None
        if contacts is None:
            if said:
                raise InvalidProject(
                    f"{self.where} says when contacts are closed, and no [contacts] says what they are: give points = "
                    f"[...] or surfaces = [...] of {listing(frames) if frames else 'the gait'}"
                )
            return ContactSchedule((), np.zeros((len(recording), 0), dtype=bool))
        every = _contacts(contacts)
        if not said:
            raise InvalidProject(
                f"{self.where} does not say when {listing(each.frame for each in every)} touch the ground: give a "
                "contact channel for each, or a gait"
            )
        if self.run.gait is not None:
            schedule = read_gait(self.run.gait).schedule(every, recording.time)
        else:
            values = {frame: self._values([f"{CONTACT}.{frame}"])[:, 0] for frame in frames}
            units = {recording.units[f"{CONTACT}.{frame}"] for frame in frames}
            if units == {"N"}:
                if contacts.closes_above is None:
                    raise InvalidProject(
                        f"{self.where}: contacts are measured in N: contacts.closes_above must say from which force on "
                        "one is closed"
                    )
                schedule = schedule_from_forces(every, values, contacts.closes_above, contacts.opens_below)
            else:
                schedule = schedule_from_channels(every, values)
        shortest = round(contacts.shortest_s * recording.rate_hz)
        return schedule.without_flicker(shortest) if shortest > 1 else schedule


def _contacts(settings: ContactsSettings) -> tuple[Contact, ...]:
    from ..models.contacts import PointContact, SurfaceContact

    points = tuple(PointContact(frame) for frame in settings.points)
    surfaces = tuple(SurfaceContact(frame) for frame in settings.surfaces)
    if not points and not surfaces:
        raise InvalidProject("[contacts] names no frame: give points = [...] or surfaces = [...]")
    return points + surfaces
