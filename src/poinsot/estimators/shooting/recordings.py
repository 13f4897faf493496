"""Recordings of a robot as trajectory models: sensors, commands, contacts and their noise, from channels.

The channels of a recording say which sensors there are: `gyro.imu.x` is one axis of a gyro at the frame `imu`.
Commands are `torque.JOINT` (or `current`, `voltage`) and `thrust.ROTOR`, contacts `contact.FRAME`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import ReadingRows, Vector
from ...exceptions import InvalidMethod, InvalidSignals, check_known, listing, nearest
from ...models.contacts.contacts import ContactDetection, ContactSchedule
from ...models.robot.articulated import Articulated
from ...models.robot.open_parameters import OpenParameters
from ...models.sensor_errors import knots_of
from ...models.sensors import (
    ContactSinking,
    ContactTurning,
    ContactVelocity,
    JointPosition,
    JointVelocity,
    Readings,
    TwistSensor,
    frame_sensor,
)
from ...parameters import per_joint
from ...quantities import FRAME_QUANTITIES
from ...recording import CONTACT, EFFORTS, THRUST, Recording
from .contact_events import with_contacts_by_forces
from .noise_levels import WEIGHT_ROUNDS, student_weights
from .problem import GaussianPrior
from .robot import BASE_SPEEDS, CONTACT_LEVELS, EVENT, RobotTrajectoryModel, standing

STANDING = ContactVelocity, ContactSinking, ContactTurning
"""Kinds of readings of a closed contact, which are 0."""
THIRD_DIFFERENCES = 8
"""Least number of samples from which they tell a noise level."""
LEAST_NOISE = 1e-3
"""Part of the variation of a channel from which its level begins at least."""
SLOPE_S, LEAST_HALF_WIDTH, CURVATURE_HALF_WIDTH = 0.015, 3, 2
"""Half a width of the cubics through neighbouring readings: short beside a step of a leg [s], and samples."""
LATE_STD = 0.25
"""Prior of the lateness of velocities in steps: most logs read both at once."""
FIRST_LEVELS = {
    "contact": 1.0, "contact_normal": 1.0, "contact_angular": 10.0,
    "contact_event": 30.0, "contact_normal_event": 30.0, "contact_angular_event": 300.0,
    ContactVelocity.quantity: 0.02, ContactSinking.quantity: 0.02, ContactTurning.quantity: 0.2,
}  # fmt: skip
"""Levels of contacts from which their estimation begins: of a foot of some centimetres on a hard floor that lands at
some 0.3 m/s in 10 ms [m/s^2], [rad/s^2], [m/s]."""


@dataclass(frozen=True)
class NoisyContacts:
    """Contacts whose accelerations have noise, in place of impacts; noise levels that are not given are estimated.

    Args:
        margin_s: time before a contact closes and after it opens in which it is held, with noise of its own [s].
        start: factor on the levels from which their estimation begins.
    """

    margin_s: float = 0.012
    start: float = 1.0


@dataclass(frozen=True)
class MotionNoise:
    """Standard deviations of readings, commands, model and first state, in SI units a sample.

    Args:
        readings: by quantity (`"gyro"`) or quantity and frame (`"gyro.imu"`): one number, or one a component. Those of
            `torque`, `current`, `voltage` and `thrust` are of commands, and make commands unknowns of the estimation;
            that of `foot_velocity` is how fast a closed contact may slip; those of `CONTACT_LEVELS` are accelerations
            of held contacts. With `NoisyContacts` a level that is missing is estimated.
        speeds: error of the model, as a change of each speed in a step: a number, a list in the order of the joints
            with `base_linear` and `base_angular` at its end, or a mapping by these names, 0 for the others.
        first_state: of positions and of speeds in the first state, about its initial guess; None: unknown.
    """

    readings: Mapping[str, float | Sequence[float]]
    speeds: float | Sequence[float] | Mapping[str, float] = 0.0
    first_state: tuple[float, float] | None = None

    def of_commands(self, quantities: Sequence[str]) -> Vector:
        """(inputs,) standard deviation of commands of these quantities.

        Raises:
            InvalidMethod: if a quantity has several numbers.
        """
        levels = [self.readings.get(quantity, 0.0) for quantity in quantities]
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

    def check_names(self, models: Sequence[RobotTrajectoryModel]) -> None:
        """Check that every key of `readings` is a quantity, or a quantity at a frame that some recording has.

        Raises:
            InvalidMethod: if a name is unknown.
        """
        sensors = [some.sensor for model in models for some in model.readings]
        known = {
            *EFFORTS,
            THRUST,
            *(kind.quantity for kind in STANDING),
            *(kind.quantity for kind in (JointPosition, JointVelocity)),
        }
        at_frames = (f"{sensor.quantity}.{frame}" for sensor in sensors for frame in sensor.frames)
        known |= {*FRAME_QUANTITIES, *at_frames, *CONTACT_LEVELS}
        for name in self.readings:
            if name not in known:
                raise InvalidMethod(
                    f"noise names {name!r}{nearest(name, known)}; the recordings have "
                    f"{listing(sorted({sensor.quantity for sensor in sensors}))}"
                )


def trajectory_model(
    parameters: OpenParameters,
    recording: Recording,
    noise: MotionNoise,
    contacts: ContactDetection | None = None,
    name: str = "recording",
    noisy: NoisyContacts | None = None,
) -> RobotTrajectoryModel:
    """The model of a recording.

    Args:
        parameters: the robot and its open parameters.
        recording: with channels of sensors, commands and contacts.
        noise: standard deviations.
        contacts: which frames may touch the world, and how the recording says when; None: none.
        name: the recording's name, for messages and reports.
        noisy: how contacts give way, and that velocities are read at the samples; None: contacts close with impacts,
            and velocities are those of the steps, as a simulation of the same steps reads them.

    Raises:
        PoinsotError: if the recording lacks a channel or a standard deviation, or a name is unknown.
    """
    open_levels = frozenset[str]()
    if noisy is not None:
        noise, open_levels = first_levels(recording, noise, noisy.start)
    reader = _Reader(parameters.robot, recording, noise, f"recording {name!r}")
    robot, time, schedule = parameters.robot, recording.time, reader.schedule(contacts)
    if noisy is not None and schedule.contacts:
        schedule = replace(schedule, margin=max(1, round(noisy.margin_s * recording.rate_hz)))
    readings = (*reader.joint_readings(), *reader.frame_readings(), *reader.standing_feet(schedule))
    # the first of them: a log may hold currents beside the torques computed from them
    effort = next((quantity for quantity in EFFORTS if recording.joints(quantity)), EFFORTS[0])
    inputs = {key: effort if key in robot.joints else THRUST for key in parameters.drive.inputs}
    unmoved = reader.without_motor(inputs)
    command_noise = noise.of_commands(
        ["" if key in unmoved else quantity for key, quantity in inputs.items()]
    )
    if noisy is not None:
        readings = read_ahead(readings, time)
    # the last node has no step, so no noise of commands that could explain its accelerations
    if command_noise.any():
        readings = tuple(some.without_last_effort() for some in readings)
    knots = knots_of((*parameters.sensors, *parameters.nominal), name, time)
    readings = tuple(replace(some, knots=knots) for some in readings)
    commands = reader.commands(inputs)
    speeds = np.concatenate([np.zeros(robot.model.nv), noise.of_speeds(robot)])
    model = RobotTrajectoryModel(
        parameters, schedule, time, commands, readings, speeds, command_noise, name, effort=effort,
        contact_noise=_of_contacts(noise) if schedule.margin else None,
        open_levels=open_levels | {f"{name}{EVENT}" for name in open_levels if schedule.margin},
    )  # fmt: skip
    # about its own initial guess, which comes from the readings: a weak prior, not a second measurement
    arrival, first = None, noise.first_state
    if first is not None:
        variances = np.repeat(np.square(first), robot.model.nv)
        arrival = GaussianPrior.from_covariance(model.initial_states[0], variances)
    if not schedule.is_recorded:
        model = with_contacts_by_forces(model, model.initial_states, parameters.nominal_theta, rough=True)
    return replace(model, arrival=arrival, guess=model.initial_states)


def read_ahead(readings: Sequence[Readings], time: Vector) -> tuple[Readings, ...]:
    """Readings of velocities with the times at which they are taken, relative to the speeds of a step.

    Those are the speeds in the middle of a step, so a velocity that is read with its row is half a step ahead, and one
    that is late by tau so much less. Positions of the same joint show how late it is,

        z - q' = -tau q''

    where q' is the slope of a cubic through neighbouring positions, and q'' that through neighbouring velocities, which
    is independent of the middle one: least squares with weights of Student's t. (A drive may also move a joint most in
    the first part of its period, so its speeds are not those of a line from row to row.)
    """
    step, dt = np.append(np.diff(time), 0.0)[:, None], float(np.median(np.diff(time)))
    positions = {
        joint: some.values[:, k]
        for some in readings
        if isinstance(some.sensor, JointPosition)
        for k, joint in enumerate(some.sensor.joints)
    }
    timed = []
    for some in readings:
        sensor = some.sensor
        if isinstance(sensor, JointVelocity | TwistSensor):
            joints = sensor.joints if isinstance(sensor, JointVelocity) else ()
            late = [
                _late(positions[joint], some.values[:, k], dt) if joint in positions else 0.0
                for k, joint in enumerate(joints)
            ]
            parts = 0.5 - (np.array(late) if joints else np.zeros(sensor.size))
            some = replace(some, values=_between_steps(some.values, parts), ahead=parts * step)
        timed.append(some)
    return tuple(timed)


def _late(position: Vector, velocity: Vector, dt: float) -> float:
    """tau in steps, with a prior at 0."""
    from scipy.signal import savgol_coeffs

    half = max(LEAST_HALF_WIDTH, round(SLOPE_S / dt))
    if len(position) <= 2 * half:
        return 0.0
    slope = savgol_coeffs(2 * half + 1, 3, deriv=1, delta=dt)
    behind = velocity[half:-half] - np.convolve(position, slope, "valid")
    rate = np.convolve(velocity, slope, "valid")
    read = np.isfinite(behind) & np.isfinite(rate)
    behind, rate = behind[read], rate[read]
    if not behind.any() or not rate.any():
        return 0.0
    tau, precision = 0.0, 0.0
    for _ in range(WEIGHT_ROUNDS):
        left = behind + tau * rate
        noise = float(np.median(np.abs(left))) / 0.6745
        weights = student_weights((left / noise) ** 2)
        precision = float(weights @ rate**2) / noise**2
        tau = -float((weights * rate) @ behind) / float(weights @ rate**2)
    return tau / dt * precision / (precision + (LATE_STD * dt) ** -2)


def _between_steps(velocities: ReadingRows, parts: Vector) -> ReadingRows:
    """Velocities as a line between the speeds of two steps has them at a part s of the way.

    The line is off by s (1 - s) / 2 of the curvature, which a cubic through neighbouring readings has.
    """
    from scipy.signal import savgol_coeffs

    half = CURVATURE_HALF_WIDTH
    if len(velocities) <= 2 * half:
        return velocities
    curvature, bends = savgol_coeffs(2 * half + 1, 3, deriv=2), np.zeros_like(velocities)
    bends[half:-half] = np.stack([np.convolve(column, curvature, "valid") for column in velocities.T], axis=1)
    return velocities + 0.5 * parts * (1 - parts) * np.nan_to_num(bends)


def first_levels(
    recording: Recording, noise: MotionNoise, start: float = 1.0
) -> tuple[MotionNoise, frozenset[str]]:
    """Noise with a level for each quantity of a recording and for contacts, and the names of those that were not given.

    White noise of standard deviation sigma has third differences of sqrt(20) sigma; a motion that is sampled well has
    almost none. Their median ignores impacts.

    Args:
        start: factor on the levels that were not given.
    """
    sizes: dict[str, list[float]] = {}
    for channel, values in recording.channels.items():
        quantity = channel.partition(".")[0]
        if quantity != CONTACT and len(values) > THIRD_DIFFERENCES:
            series = np.asarray(values, dtype=float)
            spread = float(np.nanmedian(np.abs(np.diff(series, n=3)))) / 0.6745 / np.sqrt(20.0)
            # commands may have no noise that one sees
            sizes.setdefault(quantity, []).append(max(spread, LEAST_NOISE * float(np.nanstd(series))))
    levels = {quantity: float(np.median(size)) for quantity, size in sizes.items()} | FIRST_LEVELS
    missing = {
        name: start * level
        for name, level in levels.items()
        if level > 0 and not any(key.partition(".")[0] == name for key in noise.readings)
    }
    if "orientation" in missing:  # of a rotation, which changes a quaternion by half of it
        missing["orientation"] *= 2.0
    return replace(noise, readings={**missing, **noise.readings}), frozenset(missing)


def _of_contacts(noise: MotionNoise) -> dict[str, float]:
    levels = {name: noise.readings[name] for name in CONTACT_LEVELS}
    if not all(isinstance(level, float | int) for level in levels.values()):
        raise InvalidMethod(f"noise: {', '.join(levels)} need one number for all contacts")
    return {name: float(level) for name, level in levels.items() if isinstance(level, float | int)}


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads the channels of a recording as sensors and commands."""

    robot: Articulated
    recording: Recording
    noise: MotionNoise
    where: str

    def _values(self, channels: Sequence[str]) -> np.ndarray:
        """(S, width), NaN where there is none."""
        return np.stack([self.recording.readings(name) for name in channels], axis=1)

    def _noise(self, quantity: str, frame: str = "") -> Any:
        """Its standard deviation, or one for each component."""
        level = self.noise.readings.get(f"{quantity}.{frame}", self.noise.readings.get(quantity))
        if level is None:
            raise InvalidMethod(
                f"{self.where} has {quantity}, and noise has no standard deviation for it: give {quantity} = its "
                "standard deviation, or leave its columns out"
            )
        return level if isinstance(level, float | int) else np.array(level, dtype=float)

    def joint_readings(self) -> Iterator[Readings]:
        robot, train = self.robot, self.robot.train
        sides = (JointPosition, train.joint_positions), (JointVelocity, train.joint_velocities)
        for kind, joint_side in sides:
            measured = set(self.recording.joints(kind.quantity))
            joints = tuple(joint for joint in robot.joints if joint in measured)
            if not joints:
                continue
            values = self._values([f"{kind.quantity}.{joint}" for joint in joints])
            if robot.drive.side == "motor":
                read = np.isin(robot.joints, joints)
                if train.velocity_map[np.ix_(read, ~read)].any():
                    raise InvalidSignals(
                        f"{self.where}: {kind.quantity} is at the motors' side, so it takes all joints to know one; "
                        f"there is none of {listing(joint for joint in robot.joints if joint not in measured)}"
                    )
                # couplings mix motors: one joint takes the readings of several
                every = np.zeros((len(values), len(robot.joints)))
                every[:, read] = values
                values = joint_side(every)[:, read]
            yield Readings(kind(robot, self._noise(kind.quantity), joints), values)

    def frame_readings(self) -> Iterator[Readings]:
        channels = self.recording.channels
        for quantity, listed in FRAME_QUANTITIES.items():
            for frame in self.recording.frames(quantity):
                ends = [end for end in listed.ends if f"{quantity}.{frame}.{end}" in channels]
                noise = self._noise(quantity, frame)
                sensor = frame_sensor(quantity).with_channels(self.robot, noise, frame, ends)
                missing = [name for name in sensor.channels if name not in channels]
                if missing:
                    raise InvalidSignals(
                        f"{self.where} has {sensor.channels[0]}, and no channel {listing(missing)}"
                    )
                yield Readings(sensor, self._values(sensor.channels))

    def standing_feet(self, schedule: ContactSchedule) -> Iterator[Readings]:
        """Closed contacts as readings of zero velocity, if noise says how much they slip."""
        for kind in STANDING:
            # whoever gives one number means all axes
            level = kind.quantity if kind.quantity in self.noise.readings else ContactVelocity.quantity
            for contact in schedule.contacts if level in self.noise.readings else ():
                if kind is ContactTurning and contact.size == 3:
                    continue  # a point may turn
                noise = self._noise(level, contact.frame)
                sensor = kind(self.robot, noise, contact.frame, contact)
                yield standing(Readings(sensor, np.zeros((len(schedule), sensor.size))), schedule)

    def without_motor(self, inputs: Mapping[str, str]) -> tuple[str, ...]:
        """Passive joints, and joints that follow others and have no command."""
        robot, channels = self.robot, self.recording.channels
        follow = [joint for joint in robot.followers if f"{inputs.get(joint)}.{joint}" not in channels]
        return (*robot.drive.passive, *follow)

    def commands(self, inputs: Mapping[str, str]) -> np.ndarray:
        """(S, inputs)."""
        recording, passive = self.recording, self.without_motor(inputs)
        rotors = [name for name, quantity in inputs.items() if quantity == THRUST]
        for name in recording.joints(THRUST):
            what = f"{self.where} has {THRUST}.{name}, and no rotor is called"
            check_known(name, rotors, what, "there is", InvalidSignals)
        columns, missing = [np.zeros((len(recording), 0))], []
        for name, quantity in inputs.items():
            channel = f"{quantity}.{name}"
            if channel in recording.channels:
                columns.append(self._values([channel]))
            elif name in passive:
                columns.append(np.zeros((len(recording), 1)))
            else:
                missing.append(channel)
        if missing:
            raise InvalidSignals(
                f"{self.where} has no {listing(missing)}: the dynamics need the command or the measured effort of each "
                "motor; give their columns, or name joints without a motor in drive.passive"
            )
        return np.concatenate(columns, axis=1)

    def schedule(self, contacts: ContactDetection | None) -> ContactSchedule:
        if contacts is not None:
            return contacts.schedule(self.recording, self.where)
        frames = self.recording.joints(CONTACT)
        if frames:
            raise InvalidMethod(
                f"{self.where} says when contacts are closed, and no [contacts] says what they are: give points "
                f"= [...] or surfaces = [...] of {listing(frames)}"
            )
        return ContactSchedule((), np.zeros((len(self.recording), 0), dtype=bool))
