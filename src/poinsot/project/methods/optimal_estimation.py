"""`[method] name = "optimal-estimation"`: motion and parameters together, from readings of sensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Vector
from ...exceptions import InvalidProject
from ...quantities import FRAME_QUANTITIES
from ...recording import CONTACT, THRUST
from ...stopwatch import Stopwatch
from ..other_jobs import values_from
from ..recordings import Run
from ..settings.fields import ChartName, PerJoint, Positive, Window, refuse
from ..settings.robot import ContactsSettings, RotorSettings
from .base import TEMPLATES, Beginning, LogContents
from .motion import MotionMethod, prepared, read_robot

if TYPE_CHECKING:
    from ...estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem
    from ...estimators.shooting.recordings import NoisyContacts
    from ...estimators.shooting.rollout import Rollout
    from ...models.contacts.contacts import ContactDetection
    from ...models.robot.actuation import Actuation
    from ...models.robot.articulated import Articulated
    from ...models.robot.open_parameters import OpenParameters
    from ...parameters import Normal
    from ...recording import Recording
    from ..job import Job
    from ..settings import Settings


OFF_CENTRE = 0.1
"""Part of its radius by which a ball's centre may be off its frame."""
WEAK_PRIOR = 1.0
"""Standard deviation of each coordinate of a chart about the description: a factor of e^2 on a mass."""
STEP_TOLERANCE = 0.1
"""Length of the last step in standard deviations, where noise levels come from the data."""

MAX_ITERATIONS = 60
"""Iterations after noise levels have settled, of which there are some two; a wrong schedule of contacts needs more."""

NoiseLevel = Positive | Annotated[list[Positive], Field(min_length=1)]
"""One standard deviation for all components of a reading, or one for each."""


def begin_with_moving_base(log: LogContents) -> Beginning | None:
    """A log with an IMU, the pose of the base, or contacts of feet, and with efforts of the joints or thrusts."""
    if not ((log.effort or THRUST in log.owners) and log.of_base):
        return None
    quantities = ("position", "velocity", *filter(None, [log.effort]), THRUST, *FRAME_QUANTITIES, CONTACT)
    feet = log.contacts["feet"] or (() if THRUST in log.owners else described_feet(log.robot))
    values = log.contacts | {"feet": feet, "estimated": not log.contacts["feet"]}
    values |= _shapes_of_feet(log.robot, feet) | {"body": log.robot.bodies[0]}
    template = TEMPLATES / "optimal-estimation.toml"
    return Beginning(f"the log has {log.of_base}, so the base moves", quantities, template, values)


def described_feet(robot: Articulated) -> tuple[str, ...]:
    """Links with round collision shapes in the lower third of the robot as it is described, where nothing is below."""
    from ...models.robot.collisions import spheres
    from ...models.robot.motion_terms import MotionTerms

    q = robot.neutral[None]
    still = np.zeros((1, robot.model.nv))
    shapes = {
        link: found
        for link, found in spheres(robot, [frame.name for frame in robot.model.frames]).items()
        if found
    }
    places = MotionTerms(robot).frames(tuple(shapes), q, still, still)
    lowest = {
        link: min(
            float((places[link].rotation[0] @ centre + places[link].position[0])[2]) - r
            for centre, r in found
        )
        for link, found in shapes.items()
    }
    bottom = min(lowest.values(), default=0.0)
    return tuple(link for link, height in lowest.items() if height < bottom * 2 / 3)


def _shapes_of_feet(robot: Articulated, feet: Sequence[str]) -> dict[str, Any]:
    """Feet as [contacts] names them: a ball about its frame, a sole with three corners or more, else a point."""
    from ...models.robot.collisions import spheres

    shapes = spheres(robot, feet)
    balls = {
        foot: found[0][1]
        for foot, found in shapes.items()
        if len(found) == 1 and np.linalg.norm(found[0][0]) < OFF_CENTRE * found[0][1]
    }
    surfaces = [foot for foot, found in shapes.items() if len(found) >= 3]
    points = [foot for foot in feet if foot not in balls and foot not in surfaces]
    return {"balls": balls, "surfaces": surfaces, "points": points}


class SensedMotionMethod(MotionMethod):
    """A method that estimates parameters and motion from readings of a robot's sensors.

    `bodies`: bodies with open mass properties. `joints`: open parameters of joints (`fv3`, `fc3`, ...). `gains`: open
    factors on commands: `thrust` of all rotors, or `gain.JOINT` of a motor. `noise`: standard deviations, by quantity
    (`gyro`) or channel group (`gyro.imu_link`), of readings and, as `torque`, `current` or `thrust`, of commands;
    `foot_velocity`: of the slip velocity of a closed contact. `speed_noise`: process noise, as standard deviation of
    the change of each speed in a step, by joint, or as `base_linear` and `base_angular`. `prior_std`: standard
    deviation of bodies about the description, in coordinates of the chart; without it only [priors] are known.
    `bias_std`, `misalignment_std`: standard deviations of sensor errors that are estimated, about 0, by quantity or
    channel group, and by frame [rad]. `start_std`: standard deviations of the first state, `[positions, speeds]`.
    `dry_speed`: speed at which smoothed dry friction has 76 % of its size [rad/s] or [m/s].
    """

    stage = "signals"

    bodies: list[str] = []
    joints: list[str] = []
    gains: list[str] = []
    chart: ChartName = "log-cholesky"
    noise: dict[str, NoiseLevel]
    speed_noise: PerJoint | None = None
    prior_std: Positive | None = None
    bias_std: dict[str, Positive] = {}
    misalignment_std: dict[str, Positive] = {}
    start_std: Window | None = None
    dry_speed: Positive = 0.05

    @property
    def noisy(self) -> NoisyContacts | None:
        """How contacts give way; None: they are rigid, and all noise levels are given."""
        return None

    @model_validator(mode="after")
    def _something_disturbs(self) -> SensedMotionMethod:
        commands = {"torque", "current", "voltage", "thrust"} & set(self.noise)
        if self.noisy is None and self.speed_noise is None and not commands:
            raise refuse(
                "noise",
                "process noise is missing: give speed_noise, or in noise that of torque, current or thrust",
                key="noise",
            )
        if self.start_std is not None and min(self.start_std) <= 0:
            raise refuse("start", "start_std needs two numbers above 0: positions, speeds", key="start_std")
        return self

    def sensor_errors(self, recordings: Mapping[str, Recording], used: Collection[str]) -> dict[str, Normal]:
        """Priors of sensor errors in recordings; `used`: names of the recordings that are estimated from."""
        from ...models.sensor_errors import sensor_error_priors

        return sensor_error_priors(recordings.values(), self.bias_std, self.misalignment_std)

    def problem(self, job: Job, watch: Stopwatch) -> OptimalEstimationProblem:
        from ...estimators.shooting.estimation import OptimalEstimationProblem
        from ...estimators.shooting.known_parameters import KnownParameters
        from ...estimators.shooting.recordings import MotionNoise

        settings = job.settings
        robot, runs = read_robot(job, watch)
        recordings = {run.name: prepared(settings, run) for run in runs}
        used = [run.name for run in runs if run.role == "identification"]
        errors = self.sensor_errors(recordings, used)
        parameters = self._open(settings, robot, tuple(errors))
        priors = errors | {name: prior.value() for name, prior in settings.priors.items()}
        return OptimalEstimationProblem.from_recordings(
            parameters,
            {name: recordings[name] for name in used},
            MotionNoise(self.noise, self.speed_noise or 0.0, self.start_std),
            contacts={run.name: self._contacts(settings.contacts, run) for run in runs},
            known=KnownParameters(parameters, priors, self.prior_std or (WEAK_PRIOR if self.noisy else None)),
            held_out={name: recording for name, recording in recordings.items() if name not in used},
            noisy=self.noisy,
        )

    def _contacts(self, settings: ContactsSettings | None, run: Run) -> ContactDetection | None:
        """Contacts of a recording, and how it shows when they are closed."""
        return contacts_of(settings, run)

    def _open(self, settings: Settings, robot: Articulated, errors: tuple[str, ...]) -> OpenParameters:
        from ...inertia import find_chart
        from ...models.robot.open_parameters import OpenParameters

        return self.build_as(
            OpenParameters,
            robot=robot,
            bodies=tuple(self.bodies),
            chart=find_chart(self.chart),
            joints=tuple(self.joints),
            gains=tuple(self.gains),
            sensors=errors,
            actuation=_actuation(robot, settings.rotors),
            nominal=settings.held,
        )


class OptimalEstimationMethod(SensedMotionMethod):
    """`poinsot.OptimalEstimation`: parameters and motion together, from encoders, IMU, contacts and commands.

    `process_noise = "auto"`: noise levels of commands and speeds are estimated by maximum likelihood, `"commands"`:
    those of commands alone; given levels are the initial guess. `contact_schedule = "estimated"`: times at which
    contacts close and open are estimated. `contact_model`: `"noisy"`, accelerations of closed contacts have noise, and
    all noise levels that are not given are estimated; `"rigid"`, contacts close with impacts. `contact_margin_s`: time
    before a contact closes and after it opens in which it is held, with more noise [s]. With `"noisy"`, `prior_std` is
    1 and `step_tolerance` 0.1 where they are not given.
    `delay_std_s`: standard deviation of delays of readings about 0, by quantity, channel group, frame, or `all`.
    `bias_walk`: standard deviation of the change of biases in the square root of a second, by quantity or channel
    group; `bias_knots_s`: largest time between knots of their walk [s]. `start_from`: result used as initial guess.
    """

    delay_std_s: dict[str, Positive] = {}
    bias_walk: dict[str, Positive] = {}
    bias_knots_s: Positive = 1.0
    start_from: str | None = None
    rollout: Literal["multiple", "feasible", "single"] = "multiple"
    noise: dict[str, NoiseLevel] = {}
    contact_model: Literal["noisy", "rigid"] = "noisy"
    contact_margin_s: Positive = 0.012
    step_tolerance: Positive | None = None

    @property
    def noisy(self) -> NoisyContacts | None:
        from ...estimators.shooting.recordings import NoisyContacts

        return NoisyContacts(self.contact_margin_s) if self.contact_model == "noisy" else None

    def _contacts(self, settings: ContactsSettings | None, run: Run) -> ContactDetection | None:
        contacts = super()._contacts(settings, run)
        is_estimated = self.noisy is not None and getattr(self, "contact_schedule", "") == "estimated"
        return contacts and replace(contacts, estimated=is_estimated)

    aliases: ClassVar[dict[str, str]] = {"max_steps": "max_iterations"}

    def sensor_errors(self, recordings: Mapping[str, Recording], used: Collection[str]) -> dict[str, Normal]:
        from ...models.sensor_errors import bias_walk_priors, sensor_error_priors

        sensors, own = recordings.values(), {name: recordings[name] for name in used}
        errors = sensor_error_priors(sensors, self.bias_std, self.misalignment_std, self.delay_std_s)
        return errors | bias_walk_priors(own, errors, self.bias_walk, self.bias_knots_s)

    def problem(self, job: Job, watch: Stopwatch) -> OptimalEstimationProblem:
        problem = super().problem(job, watch)
        if self.start_from is None:
            return problem
        return replace(problem, start=_start(problem.parameters, values_from(job.project, self.start_from)))

    def solver(self, settings: Settings, problem: OptimalEstimationProblem) -> OptimalEstimation:
        from ...estimators.shooting import rollout
        from ...estimators.shooting.ddp import DDP
        from ...estimators.shooting.estimation import OptimalEstimation

        rollouts: dict[str, Rollout] = {
            "multiple": rollout.MultipleShooting(),
            "feasible": rollout.FeasibilityDriven(),
            "single": rollout.SingleShooting(),
        }
        more: dict[str, Any] = {}
        if self.noisy and self.step_tolerance is None:
            more["step_tolerance"] = STEP_TOLERANCE
        if self.noisy and "max_iterations" not in self.model_fields_set:
            more["max_iterations"] = MAX_ITERATIONS
        ddp = self.build_as(DDP, rollout=rollouts[self.rollout], **more)
        return self.build_as(OptimalEstimation, ddp=ddp)


def _actuation(robot: Articulated, rotors: Sequence[RotorSettings]) -> Actuation:
    """Rotors and the joints' motors, with a gain of all rotors together and one of each motor."""
    from ...models.robot.actuation import joint_efforts, rotor_thrusts
    from ...models.rotations import turning_z_to

    gains = {
        f"gain.{joint}": (joint,)
        for joint, driven in zip(robot.joints, robot.train.driven, strict=True)
        if driven
    }
    if not rotors:
        return joint_efforts(robot, gains)
    placements = {}
    for rotor in rotors:
        T_br = np.eye(4)
        T_br[:3, :3], T_br[:3, 3] = turning_z_to(np.array(rotor.axis)), rotor.position
        placements[rotor.name] = T_br
    lifted = rotor_thrusts(robot, placements, {rotor.name: rotor.drag for rotor in rotors}, "thrust")
    return replace(lifted, gains={**lifted.gains, **gains})


def _start(parameters: OpenParameters, values: Mapping[str, float]) -> Vector:
    """Initial guess of theta, with the values of another result for common parameters."""
    inertials = parameters.all_inertials.copy()
    for body, place in zip(parameters.bodies, parameters.places.tolist(), strict=True):
        ten = [values.get(name) for name in parameters.physical_names if name.endswith(f".{body}")]
        # All ten or none: some of them combined with the rest of the described body may be impossible.
        if all(value is not None for value in ten):
            inertials[place] = ten
    of_others = {name: values[name] for name in parameters.others if name in values}
    begun = replace(parameters, inertials=inertials, nominal={**parameters.nominal, **of_others})
    return begun.nominal_theta


def contacts_of(settings: ContactsSettings | None, run: Run) -> ContactDetection | None:
    """[contacts] and the gait of a recording."""
    from ...models.contacts.contacts import BallContact, ContactDetection, PointContact, SurfaceContact
    from ..gait import read_gait

    if settings is None:
        if run.gait is not None:
            raise InvalidProject(
                f"recording {run.name!r} has a gait, but [contacts] is missing: give points = [...] or "
                "surfaces = [...] of the gait's frames"
            )
        return None
    contacts = (*map(PointContact, settings.points), *map(SurfaceContact, settings.surfaces))
    contacts += tuple(BallContact(frame, radius=radius) for frame, radius in settings.balls.items())
    if not contacts:
        raise InvalidProject(
            "[contacts] names no frame: give points = [...], surfaces = [...] or balls = {...}"
        )
    gait = None if run.gait is None else read_gait(run.gait)
    return settings.build_as(ContactDetection, contacts=contacts, gait=gait)
