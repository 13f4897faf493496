"""A recording of a robot, made ready for optimal estimation: sensors, commands, contacts and their noise.

The channels of a recording say which sensors there are: `gyro.imu.x` is one axis of a gyro at the frame `imu`.
Commands are `torque.JOINT` (or `current`, `voltage`) and `thrust.ROTOR`, contacts `contact.FRAME`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Brief, Columns, NodeStates, Vector
from ...exceptions import InvalidMethod, InvalidSignals, check_known, listing, nearest
from ...models.contacts.contact_dynamics import RobotMotion
from ...models.contacts.contacts import ContactDetection, ContactSchedule, SurfaceContact
from ...models.robot.articulated import Articulated
from ...models.robot.open_parameters import OpenParameters
from ...models.sensor_errors import knots_of
from ...models.sensors import ContactVelocity, JointPosition, JointVelocity, Readings, Sensor, frame_sensor
from ...models.stages import Stages
from ...parameters import per_joint
from ...quantities import FRAME_QUANTITIES
from ...recording import CONTACT, EFFORTS, THRUST, Recording
from .first_guess import first_guess
from .problem import GaussianPrior
from .robot import RobotTrajectoryModel

FOOT_VELOCITY = ContactVelocity.quantity
WIDEST = 32
"""Half a width of lines whose slopes are rates of readings [samples]."""
STUDENT_DEGREES = 4.0
"""Of freedom of the noise of speeds where feet slip: below it Student's t has no finite kurtosis."""
BASE_SPEEDS = ("base_linear", "base_angular")
"""Keys of a floating base's speeds in `MotionNoise.speeds`."""


@dataclass(frozen=True)
class MotionNoise:
    """Standard deviations of readings, commands, model and first state, in SI units a sample.

    Args:
        readings: by quantity (`"gyro"`) or quantity and frame (`"gyro.imu"`): one number, or one a component. Those of
            `torque`, `current`, `voltage` and `thrust` are of commands, and make commands unknowns of the estimation;
            that of `foot_velocity` is how fast a closed contact may slip.
        speeds: error of the model, as a change of each speed in a step: a number, a list in the order of the joints
            with `base_linear` and `base_angular` at its end, or a mapping by these names, 0 for the others.
        first_state: of positions and of speeds in the first state, about its initial guess; None: unknown.
    """

    readings: Mapping[str, float | Sequence[float]]
    speeds: float | Sequence[float] | Mapping[str, float] = 0.0
    first_state: tuple[float, float] | None = None

    def of_commands(self, inputs: Mapping[str, str]) -> Vector:
        """(inputs,) standard deviation of each command, given the quantity of each.

        Raises:
            InvalidMethod: if a quantity has several numbers.
        """
        levels = [self.readings.get(quantity, 0.0) for quantity in inputs.values()]
        if not all(isinstance(level, float | int) for level in levels):
            raise InvalidMethod("noise: torque, current and thrust need one number for all motors")
        return np.array(levels, dtype=float)

    def of_speeds(self, robot: Articulated) -> Vector:
        """(n,) standard deviation of the change of each speed in a step, beside that by commands.

        Raises:
            InvalidMethod: if a name is unknown, the list has another length, or a number is negative.
        """
        names, given = [*robot.joints, *(BASE_SPEEDS if robot.floating_base else ())], self.speeds
        if not isinstance(given, Mapping) and np.shape(given) not in ((), (len(names),)):
            raise InvalidMethod(
                f"speed_noise has {np.size(given)} numbers for {len(names)} speeds: {listing(names, 40)}"
            )
        levels = per_joint("speed_noise", given, names, np.zeros(len(names)))
        if not (np.isfinite(levels).all() and levels.min(initial=0.0) >= 0):
            raise InvalidMethod("speed_noise: standard deviations must be at least 0")
        speeds = np.zeros(robot.model.nv)
        # one number of a list for each speed: joints first, though the base is first in v
        speeds[robot.actuated] = levels[: len(robot.joints)]
        if robot.floating_base:
            speeds[:3], speeds[3:6] = levels[-2], levels[-1]
        return speeds


@dataclass(frozen=True, eq=False, repr=False)
class RobotLog(Brief):
    """One recording of a robot, ready to be estimated from.

    Args:
        name: name of the recording.
        stages: the robot with its commands, contacts and readings.
        noise: (2 n,) standard deviation of the model's error in a step, see `RobotTrajectoryModel`.
        command_noise: (inputs,) standard deviation of each command; None: they are exact.
        arrival: prior of the first state; None: unknown.
        guess: (N + 1, nx) initial guess of the states; None: from the readings.
        effort: quantity of the joints' commands.
        growth: (S,) factor of the noise of speeds in the step from each sample, see `with_slips`; None: 1.

    Raises:
        InvalidMethod: if the noise does not fit, or the guess is not finite.
    """

    name: str
    stages: Stages
    noise: Vector
    command_noise: Vector | None = None
    arrival: GaussianPrior | None = None
    guess: NodeStates | None = None
    effort: str = "torque"
    growth: Vector | None = None

    @classmethod
    def from_recording(
        cls,
        parameters: OpenParameters,
        recording: Recording,
        noise: MotionNoise,
        contacts: ContactDetection | None = None,
        name: str = "recording",
    ) -> RobotLog:
        """The log of a recording.

        Args:
            parameters: the robot and its open parameters.
            recording: with channels of sensors, commands and contacts.
            noise: standard deviations.
            contacts: which frames may touch the world, and how the recording says when; None: none.
            name: name of the recording, for messages and reports.

        Raises:
            PoinsotError: if the recording lacks a channel or a standard deviation, or a name is unknown.
        """
        return _Reader(parameters, recording, noise, f"recording {name!r}").log(name, contacts)

    @cached_property
    def model(self) -> RobotTrajectoryModel:
        """Dynamics and residuals for the solver."""
        model = RobotTrajectoryModel(self.stages, self.noise, self.command_noise)
        if self.growth is not None:
            model.noise_std[:, len(model.noisy_commands) :] *= self.growth[self.stages.samples[:-1], None]
        return model

    @cached_property
    def initial_states(self) -> NodeStates:
        """(N + 1, nx) initial guess of the states."""
        return first_guess(self.stages) if self.guess is None else self.guess

    @property
    def first_state(self) -> GaussianPrior:
        """Prior of the first state."""
        return self.arrival or GaussianPrior.flat(self.initial_states[0], self.model.manifold.degrees)

    @property
    def disturbances(self) -> tuple[str, ...]:
        """(m,) the noise level of each component of process noise, by its key: `thrust`, `base_linear`, a joint."""
        model, robot = self.model, self.stages.parameters.robot
        inputs, n = self.stages.parameters.drive.inputs, robot.model.nv
        commands = [self.effort if inputs[k] in robot.joints else THRUST for k in model.noisy_commands]
        base = [BASE_SPEEDS[0]] * 3 + [BASE_SPEEDS[1]] * 3 if robot.floating_base else []
        speeds = [*base, *robot.effort_names[len(base) :]]
        return (*commands, *(speeds[k % n] for k in model.noisy_freedoms))

    def with_levels(self, factors: Mapping[str, float]) -> RobotLog:
        """The same log with process noise times factors, by the names of `disturbances`."""
        of_commands, names = self.command_noise, iter(self.disturbances)
        if of_commands is not None:
            of_commands = np.array([x * factors.get(next(names), 1.0) if x > 0 else x for x in of_commands])
        noise = np.array([x * factors.get(next(names), 1.0) if x > 0 else x for x in self.noise])
        return replace(self, noise=noise, command_noise=of_commands, guess=self.initial_states)

    def with_slips(self, w: Columns) -> RobotLog:
        """The same log with more noise of speeds where a contact is closed and process noise w (N, m) asks for it.

        Its m speeds have Student's t distribution with nu degrees of freedom (Aravkin et al. 2014), whose optimum is
        that of normal noise with a variance times (nu + |w_k / sigma|^2) / (nu + m); variances do not shrink.
        """
        stages, sigma = self.stages, self.noise[self.model.noisy_freedoms]
        squares = np.sum((w[:, len(w[0]) - len(sigma) :] / sigma) ** 2, axis=1)
        growth, nu = np.ones(len(stages.times)), STUDENT_DEGREES
        # of the two nodes of an impact the second is the one with noise
        growth[stages.samples[:-1]] = np.sqrt(np.maximum((nu + squares) / (nu + len(sigma)), 1.0))
        growth[~stages.schedule.closed.any(axis=1)] = 1.0
        return replace(self, growth=growth, guess=self.initial_states)

    def with_rates(self, x: NodeStates, w: Columns, theta: Vector) -> RobotLog | None:
        """The same log, with rates of predicted readings where they may be late; None: no sensor has a delay.

        They are slopes along the motion x, w, of lines through neighbouring samples with the same contacts.
        """
        stages, errors = self.stages, self.stages.parameters.sensor_errors(theta)
        sensors = [some.sensor for some in stages.readings if some.sensor.quantity != FOOT_VELOCITY]
        late = [sensor for sensor in sensors if errors.delays(sensor.quantity, sensor.frames)]
        if not late:
            return None
        motions = list(stages.along(x, theta, self.model.command_noise(w)))
        readings = tuple(
            replace(some, rates=_rates(some.sensor, stages, motions)) if some.sensor in late else some
            for some in stages.readings
        )
        return replace(self, stages=replace(stages, readings=readings), guess=self.initial_states)

    def with_parameters(self, parameters: OpenParameters) -> RobotLog:
        """The same log of a robot with other open parameters."""
        return replace(self, stages=replace(self.stages, parameters=parameters), guess=self.initial_states)


def _rates(sensor: Sensor, stages: Stages, motions: Sequence[tuple[np.ndarray, RobotMotion]]) -> Columns:
    """(S, m) rates of predicted readings: slopes of lines through neighbouring samples with the same contacts.

    The noise of a motion is in its rates, where it counts as information on a delay and draws it towards 0 (an error in
    variables). So lines are as long as they may be: the half width doubles while slopes change by less than white
    noise of the sensor would change those of the shorter lines.
    """
    times, k = stages.times, np.arange(len(stages.times))
    edges = np.array([0, *(np.flatnonzero(np.diff(stages.schedule.mode_of)) + 1), len(k)])
    phase = np.searchsorted(edges, k, side="right")
    first, last = edges[phase - 1], edges[phase] - 1
    room = np.minimum(k - first, last - k)
    predicted, rise = np.empty((len(k), sensor.width)), np.zeros((len(k), sensor.size))
    for samples, moved in motions:
        predicted[samples] = sensor.predicted(moved)
    run, squares, noise, rates = np.full(len(k), 1e-12), np.zeros(len(k)), np.empty(0), rise
    for j in range(1, WIDEST + 1):
        # at the ends of a phase lines are shorter, and at its first and last sample from there to the next
        inside = room >= j if j > 1 else np.ones(len(k), dtype=bool)
        a, b = np.where(inside, np.maximum(k - j, first), k), np.where(inside, np.minimum(k + j, last), k)
        for samples, moved in motions:
            ahead, behind = (sensor.difference(predicted[at[samples]], moved) for at in (b, a))
            rise[samples] += j * (ahead - behind)
        run, squares = run + j * (times[b] - times[a]), squares + 2.0 * j**2 * inside
        if j & (j - 1):
            continue
        longer = rise / run[:, None]
        change = ((longer - rates) @ sensor.whitening.T)[inside]
        if j > 1 and (not inside.any() or np.mean(change**2) > np.mean(noise[inside] ** 2)):
            break
        rates, noise = longer, np.sqrt(squares) / run
    return rates


def check_names_of_noise(noise: MotionNoise, logs: Sequence[RobotLog]) -> None:
    """Check that every key of `noise.readings` is a quantity, or a quantity at a frame that some log has."""
    sensors = [each.sensor for log in logs for each in log.stages.readings]
    known = {*EFFORTS, THRUST, FOOT_VELOCITY, *(kind.quantity for kind in (JointPosition, JointVelocity))}
    at_frames = (f"{sensor.quantity}.{frame}" for sensor in sensors for frame in sensor.frames)
    known |= {*FRAME_QUANTITIES, *at_frames}
    for name in noise.readings:
        if name not in known:
            raise InvalidMethod(
                f"noise names {name!r}{nearest(name, known)}; the recordings have "
                f"{listing(sorted({sensor.quantity for sensor in sensors}))}"
            )


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads the channels of a recording as sensors and commands."""

    parameters: OpenParameters
    recording: Recording
    noise: MotionNoise
    where: str

    @property
    def robot(self) -> Articulated:
        return self.parameters.robot

    def log(self, name: str, contacts: ContactDetection | None) -> RobotLog:
        schedule = self._schedule(contacts)
        readings = (*self._joint_readings(), *self._frame_readings(), *self._standing_feet(schedule))
        # the first of them: a log may hold currents beside the torques made of them
        effort = next((each for each in EFFORTS if self.recording.joints(each)), EFFORTS[0])
        commands = self.parameters.drive.inputs
        inputs = {name: effort if name in self.robot.joints else THRUST for name in commands}
        passive = self.robot.drive.passive
        command_noise = self.noise.of_commands(
            {name: "" if name in passive else quantity for name, quantity in inputs.items()}
        )
        # the last node has no step, so no noise of commands that could explain its accelerations
        if command_noise.any():
            readings = tuple(some.without_last_effort() for some in readings)
        time = self.recording.time
        knots = knots_of((*self.parameters.sensors, *self.parameters.nominal), name, time)
        readings = tuple(replace(some, knots=knots) for some in readings)
        stages = Stages(self.parameters, schedule, time, self._commands(inputs), readings)
        guess, n = first_guess(stages), int(self.robot.model.nv)
        # about its own initial guess, which comes from the readings: a weak prior, not a second measurement
        arrival, first = None, self.noise.first_state
        if first is not None:
            arrival = GaussianPrior.from_covariance(guess[0], np.repeat(np.square(first), n))
        process_noise = np.concatenate([np.zeros(n), self.noise.of_speeds(self.robot)])
        return RobotLog(name, stages, process_noise, command_noise, arrival, guess, effort)

    def _values(self, channels: Sequence[str]) -> np.ndarray:
        """(S, width), NaN where there is none."""
        recording = self.recording
        columns = [recording.readings(name) for name in channels]
        return np.stack(columns, axis=1)

    def _noise(self, quantity: str, frame: str = "") -> Any:
        """Its standard deviation, or one for each component."""
        level = self.noise.readings.get(f"{quantity}.{frame}", self.noise.readings.get(quantity))
        if level is None:
            raise InvalidMethod(
                f"{self.where} has {quantity}, and noise has no standard deviation for it: give {quantity} = its "
                "standard deviation, or leave its columns out"
            )
        return level if isinstance(level, float | int) else np.array(level, dtype=float)

    def _joint_readings(self) -> list[Readings]:
        robot, train, found = self.robot, self.robot.train, []
        sides = (JointPosition, train.joint_positions), (JointVelocity, train.joint_velocities)
        for kind, joint_side in sides:
            measured = set(self.recording.joints(kind.quantity))
            joints = tuple(joint for joint in robot.joints if joint in measured)
            if not joints:
                continue
            values = self._values([f"{kind.quantity}.{joint}" for joint in joints])
            if robot.drive.side == "motor":
                if len(joints) < len(robot.joints):
                    raise InvalidSignals(
                        f"{self.where}: {kind.quantity} is at the motors' side, so it takes all joints to know one; "
                        f"there is none of {listing(joint for joint in robot.joints if joint not in measured)}"
                    )
                # couplings mix motors: one joint takes the readings of several
                values = joint_side(values)
            found.append(Readings(kind(robot, self._noise(kind.quantity), joints), values))
        return found

    def _frame_readings(self) -> list[Readings]:
        recording, found = self.recording, []
        for quantity, listed in FRAME_QUANTITIES.items():
            for frame in recording.frames(quantity):
                ends = [end for end in listed.ends if f"{quantity}.{frame}.{end}" in recording.channels]
                noise = self._noise(quantity, frame)
                sensor = frame_sensor(quantity).with_channels(self.robot, noise, frame, ends)
                missing = [name for name in sensor.channels if name not in recording.channels]
                if missing:
                    raise InvalidSignals(
                        f"{self.where} has {sensor.channels[0]}, and no channel {listing(missing)}"
                    )
                found.append(Readings(sensor, self._values(sensor.channels)))
        return found

    def _standing_feet(self, schedule: ContactSchedule) -> list[Readings]:
        """Closed contacts as readings of zero velocity, if noise says how much they slip."""
        if FOOT_VELOCITY not in self.noise.readings:
            return []
        found = []
        for contact, closed in zip(schedule.contacts, schedule.closed.T, strict=True):
            noise = self._noise(FOOT_VELOCITY, contact.frame)
            sensor = ContactVelocity(self.robot, noise, contact.frame, isinstance(contact, SurfaceContact))
            found.append(Readings(sensor, np.where(closed[:, None], 0.0, np.full((1, sensor.size), np.nan))))
        return found

    def _commands(self, inputs: Mapping[str, str]) -> np.ndarray:
        """(S, inputs)."""
        recording, passive = self.recording, self.robot.drive.passive
        rotors = [name for name, quantity in inputs.items() if quantity == THRUST]
        for name in recording.joints(THRUST):
            what = f"{self.where} has {THRUST}.{name}, and no rotor is called"
            check_known(name, rotors, what, "there is", InvalidSignals)
        columns, missing = [], []
        for name, quantity in inputs.items():
            channel = f"{quantity}.{name}"
            if channel in recording.channels:
                columns.append(self._values([channel])[:, 0])
            elif name in passive:
                columns.append(np.zeros(len(recording)))
            else:
                missing.append(channel)
        if missing:
            raise InvalidSignals(
                f"{self.where} has no {listing(missing)}: the dynamics need the command or the measured effort of each "
                "motor; give their columns, or name joints without a motor in drive.passive"
            )
        return np.stack(columns, axis=1) if columns else np.zeros((len(recording), 0))

    def _schedule(self, contacts: ContactDetection | None) -> ContactSchedule:
        if contacts is not None:
            return contacts.schedule(self.recording, self.where)
        frames = self.recording.joints(CONTACT)
        if frames:
            raise InvalidMethod(
                f"{self.where} says when contacts are closed, and no [contacts] says what they are: give points "
                f"= [...] or surfaces = [...] of {listing(frames)}"
            )
        return ContactSchedule((), np.zeros((len(self.recording), 0), dtype=bool))
