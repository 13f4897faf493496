"""Actuators of a robot from recorded commands and positions: the problem, and motions of all joints together.

Each joint is simulated alone along its load (`rollout`, `mechanics`). Simulated motions of all joints give new loads,
along which each is simulated again: where this no longer changes anything, the motion is that of the coupled mechanism,

    M(q) v' + b(q, v) = tau        for all joints at once

Rotors behind gears are large against what couples the joints, so a few rounds are enough. Loads are computed for blocks
of at most `BLOCK_S`, at the mean motion of each (so that impulses are kept), and are linear between their middles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Lt
from jaxtyping import Float

from ... import PoinsotError, Recording
from ...accuracy import CAREFUL, Accuracy
from ...arrays import JointSamples, Vector
from ...exceptions import listing, nearest
from ...models.friction.listed import servo_friction
from ...models.robot.articulated import Articulated
from ...models.servo.actuator import LEVEL, Actuator, actuator_parameters, estimated_parameters
from ...models.servo.mechanics import Mechanics, smoothed
from ...models.servo.rollout import (
    ActuatorRollout,
    JointLoad,
    Steps,
    interpolated,
    parameter_vector,
    roll_out,
)
from ...models.servo.setpoint import Commands
from ...parameters import Normal
from ...ranges import Positive, check_ranges
from .velocities import VELOCITY, MeasuredVelocity, measured_velocity

if TYPE_CHECKING:
    from .torque_scale import MeasuredScale

OPEN: tuple[str, ...] = (
    "stiffness", "derivative_gain", "damping", "coulomb", "armature", "torque_limit", "delay", "zero",
)  # fmt: skip
"""What is estimated unless the caller says otherwise."""

BLOCK_S = 0.004
"""Longest block for which a load is computed [s]."""

COMMAND, POSITION, VOLTAGE = "position_command", "position", "voltage"

LONGEST_HOLD_S, SETTLES_S = 0.5, 1.0
"""Longest time between two commands for which the first is taken to hold where the next one is missing, and the time
that a joint takes to reach its command after a longer one [s]."""

LINK_INERTIA_STD, GRAVITY_TILT_STD = 0.15, 0.035
"""Errors of a description unless the caller says otherwise: masses from drawings leave out cables, glue and screws, and
simulations are randomized by 10 to 20 % for this; a base that was set up by eye is level to two degrees [rad]."""

SCALE_KNOWN = 0.1
"""The scale of torques is known if the standard deviation of log stiffness is below this. Sag is as 1 / stiffness: with
less certainty an interval of the stiffness is far from symmetric, and chance alone looks like a scale."""

LEAST_SAMPLES = 3
"""Valid positions of a joint for every unknown, at least."""


class InvalidActuatorProblem(PoinsotError):
    """Recordings, robot and settings do not fit together."""


@dataclass(frozen=True, eq=False)
class CommandedMotion:
    """One recording, as the joints need it.

    Args:
        name: of the recording. steps: of the simulation.
        commands: of the joints with an actuator, in their order, at their own times. command: (T, n) the same at the
            samples [rad].
        measured: (T, n) NaN where nothing was measured [rad].
        middles, edges: (B,) of the blocks of loads, and (B + 1,) between them [s].
        q, v, a: (B, m) all joints of the robot at the middles, smoothed. slopes: (B, m) of gravity there, each by the
            joint's own position [N m/rad].
        start_velocity: (n,) smoothed [rad/s].
        velocities: joint -> its measured velocity.
        voltages: joint -> (K,) supply voltage at the middles of the steps [V].
        without_command: joint -> seconds for which it has no command; it is not measured then, and until it settles.
    """

    name: str
    steps: Steps
    commands: tuple[Commands, ...]
    command: JointSamples
    measured: JointSamples
    middles: Float[np.ndarray, "B"]
    edges: Float[np.ndarray, "B+1"]
    q: Float[np.ndarray, "B m"]
    v: Float[np.ndarray, "B m"]
    a: Float[np.ndarray, "B m"]
    slopes: Float[np.ndarray, "B m"]
    start_velocity: Vector
    velocities: Mapping[str, MeasuredVelocity] = field(default_factory=dict)
    voltages: Mapping[str, Vector] = field(default_factory=dict)
    without_command: Mapping[str, float] = field(default_factory=dict)

    @property
    def start_position(self) -> Vector:
        """(n,) first measured positions [rad]."""
        first = np.argmax(np.isfinite(self.measured), axis=0)
        return self.measured[first, np.arange(self.measured.shape[1])]

    def supply(self, actuator: Actuator) -> Vector | None:
        """(K,) supply voltage of an actuator over its nominal one; None where it has none, or none was recorded."""
        voltage = self.voltages.get(actuator.name)
        return None if voltage is None or not actuator.nominal_voltage else voltage / actuator.nominal_voltage


@dataclass(frozen=True, eq=False)
class ActuatorProblem:
    """What is to be found of the actuators of a robot.

    Args:
        robot: its links; inertias are held. Without a floating base.
        recordings: name -> recording with `position_command.JOINT` and `position.JOINT` of every joint that has an
            actuator; other joints need a position, or are locked. `velocity.JOINT` is a further measurement.
            `voltage.JOINT`, or `voltage` of all joints, is the supply on which gains and limits depend (`actuator`).
        open: parameters of every joint that are estimated, of `estimated_parameters` and `friction_levels`.
        held: values of parameters, `"stiffness"` of all joints or `"stiffness.elbow"` of one; they are not estimated.
            `"nominal_voltage"` is never: it is the median of the recorded voltages unless it is given here. `"ramp"` is
            never: where commands are held and there is a derivative gain, it is the time between samples
            unless it is given here. Give it where samples are more frequent than commands.
        start: the same for parameters that are estimated: where the search begins, besides its own starts.
        priors: the same for what is known of a parameter.
        friction_positions: positions between which dry friction is linear [rad], by joint or `""` for all.
        share: name -> joints with one set of parameters (but for `zero`).
        hold: whether a command keeps its value until the next; else it is linear between samples.
        step_s: longest step of the simulation [s].
        cutoff_hz: of the smoothed positions from which loads are first computed; None: an eighth of the sampling rate,
            at most 10 Hz.
        held_out: recordings that are predicted and not fitted.
        commands: name -> `position_command.JOINT` of this recording at the commands' own times, on the same time scale,
            in place of those on its rows. Samples that are not valid are left out.
        huber: residuals beyond so many of their levels count by their size, not its square (1.345: Huber 1964; 95 %
            efficient for normal residuals); for recordings of which the model cannot follow a part. Infinite: never.
        torque_scales: what measured torques said of the groups' stiffnesses; the method writes it here.
        link_inertia_std: relative standard deviation of the mass and inertia of each link of the description.
        gravity_tilt_std: standard deviation of the direction of gravity about either horizontal axis [rad]. Intervals
            contain both (`effects`); 0: exactly as described.
        accuracy: systematic errors of the laboratory, of which intervals allow; exact: the description is, too.

    Raises:
        InvalidActuatorProblem: if a name is unknown, or a recording lacks a channel.
    """

    robot: Articulated
    recordings: Mapping[str, Recording]
    open: tuple[str, ...] = OPEN
    held: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, Normal] = field(default_factory=dict)
    friction_positions: Mapping[str, Sequence[float]] = field(default_factory=dict)
    share: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hold: bool = True
    step_s: Positive = 0.002
    cutoff_hz: Positive | None = None
    held_out: Mapping[str, Recording] = field(default_factory=dict)
    commands: Mapping[str, Recording] = field(default_factory=dict)
    huber: Positive = math.inf
    torque_scales: Mapping[str, MeasuredScale] = field(default_factory=dict)
    link_inertia_std: Annotated[float, Ge(0), Lt(1)] = LINK_INERTIA_STD
    gravity_tilt_std: Annotated[float, Ge(0), Lt(1)] = GRAVITY_TILT_STD
    accuracy: Accuracy = CAREFUL

    def __post_init__(self) -> None:
        if self.robot.floating_base:
            raise InvalidActuatorProblem(
                "actuators need a robot whose base is fixed; write floating_base = false"
            )
        check_ranges(self, InvalidActuatorProblem)
        if not self.recordings:
            raise InvalidActuatorProblem("there is no recording to fit; give at least one")
        for name in self.open:
            self._check_parameter(name, "open")
        for what in ("held", "start", "priors"):
            for key in getattr(self, what):
                parameter, _, joint = key.partition(".")
                self._check_parameter(parameter, what)
                self._check_joint(joint, f"{what} has {key!r}")
        if not self.hold and any(
            key.partition(".")[0] == "ramp" and value for key, value in self.held.items()
        ):
            raise InvalidActuatorProblem(
                "a ramp is between commands that are held, and these are linear between samples; leave ramp out of "
                '[held], or write command = "held"'
            )
        for joint in self.friction_positions:
            self._check_joint(joint, "friction_positions")
        for joint in self.joints:
            start = {name: self.setting(self.start, name, joint) for name in estimated_parameters()}
            for actuator in (
                self.held_actuator(joint),
                self.held_actuator(joint).updated({k: x for k, x in start.items() if x is not None}),
            ):
                if not actuator.stiffness > 0:
                    raise InvalidActuatorProblem(
                        f"stiffness of {joint!r} is {actuator.stiffness:g}, and no command moves such a joint; write "
                        "stiffness > 0, or leave the joint out of position_command"
                    )
            if not self.open_of(joint):
                raise InvalidActuatorProblem(
                    f"no parameter of {joint!r} is estimated; name some in estimate = [...] that are not in [held]: "
                    f"{listing(estimated_parameters(), 20)}"
                )
        seen: dict[str, str] = {}
        for group, joints in self.share.items():
            if not joints:
                raise InvalidActuatorProblem(
                    f'share {group!r} names no joint; write share = {{ {group} = ["{self.joints[0]}"] }}'
                )
            for joint in joints:
                self._check_joint(joint, f"share {group!r}")
                if joint in seen:
                    raise InvalidActuatorProblem(
                        f"joint {joint!r} is in share {seen[joint]!r} and in {group!r}"
                    )
                seen[joint] = group

    def _check_parameter(self, name: str, where: str) -> None:
        rows, estimated = actuator_parameters(), estimated_parameters()
        if name in rows and name not in estimated and where != "held":
            raise InvalidActuatorProblem(
                f"{where} has {name!r}, which is known and not estimated; write held = {{ ramp = 0.02 }}, the seconds "
                "between two commands, or held = { nominal_voltage = 12.0 }"
            )
        if name not in (*rows, "friction_levels"):
            raise InvalidActuatorProblem(
                f"{where} has {name!r}{nearest(name, estimated)}; an actuator has {listing(estimated, 20)}"
            )

    def _check_joint(self, joint: str, where: str) -> None:
        if joint and joint not in self.joints:
            raise InvalidActuatorProblem(
                f"{where}, but there is no joint {joint!r} with a position command"
                f"{nearest(joint, self.joints)}; there are {listing(self.joints, 20)}"
            )

    @property
    def description_std(self) -> tuple[float, float]:
        """Of the mass of a link, relative, and of the direction of gravity [rad]; 0 in a laboratory that is exact."""
        return (0.0, 0.0) if self.accuracy.exact else (self.link_inertia_std, self.gravity_tilt_std)

    @property
    def all_recordings(self) -> dict[str, Recording]:
        """Those that are fitted and those that are predicted."""
        return {**self.recordings, **self.held_out}

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Joints with an actuator: those whose command and position every recording has."""
        found = [
            joint
            for joint in self.robot.joints
            if all(f"{COMMAND}.{joint}" in each.channels for each in self.all_recordings.values())
        ]
        if not found:
            joint = self.robot.joints[0]
            raise InvalidActuatorProblem(
                f"no joint has a {COMMAND} in every recording, and actuators are identified from commanded and "
                f'measured positions; write {COMMAND} = {{ joints = ["{joint}"], columns = ["..."], unit = "rad" }} in '
                f"every [[recordings]], for the joints {listing(self.robot.joints)}"
            )
        for name, recording in self.all_recordings.items():
            for joint in self.robot.joints:
                if f"{POSITION}.{joint}" not in recording.channels:
                    raise InvalidActuatorProblem(
                        f"recording {name!r} has no channel {POSITION}.{joint}; record it, or hold the joint still in "
                        f"[robot] with locked = {{ {joint} = 0.0 }}"
                    )
        return tuple(found)

    @property
    def sometimes_commanded(self) -> dict[str, tuple[str, ...]]:
        """Joint without an actuator -> recordings that have a command of it."""
        found = {}
        for joint in self.robot.joints:
            names = tuple(
                name for name, each in self.all_recordings.items() if f"{COMMAND}.{joint}" in each.channels
            )
            if names and joint not in self.joints:
                found[joint] = names
        return found

    @cached_property
    def held_commands(self) -> frozenset[str]:
        """Joints whose command stays at one value in every recording: their delay is not seen."""
        return frozenset(
            joint
            for k, joint in enumerate(self.joints)
            if all(np.ptp(motion.command[:, k]) == 0 for motion in self.motions)
        )

    @cached_property
    def places(self) -> np.ndarray:
        """(n,) places of `joints` among the robot's."""
        return np.array([self.robot.joints.index(joint) for joint in self.joints])

    @cached_property
    def units(self) -> tuple[str, ...]:
        """(n,) unit of the position of each joint."""
        return tuple(self.robot.position_units[self.robot.actuated[k]] for k in self.places)

    @cached_property
    def mechanics(self) -> Mechanics:
        return Mechanics.of(self.robot)

    @cached_property
    def groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """(name, joints) of joints that are estimated together: those of `share`, and each of the others alone."""
        shared = {joint for joints in self.share.values() for joint in joints}
        return (
            *((name, tuple(joints)) for name, joints in self.share.items()),
            *((joint, (joint,)) for joint in self.joints if joint not in shared),
        )

    def setting(self, values: Mapping[str, float], parameter: str, joint: str) -> float | None:
        """What `held` or `start` says of a parameter of a joint: the joint's own entry before that of all."""
        return values.get(f"{parameter}.{joint}", values.get(parameter))

    def prior(self, parameter: str, joint: str) -> Normal | None:
        """What is known of a parameter of a joint."""
        return self.priors.get(f"{parameter}.{joint}", self.priors.get(parameter))

    def open_of(self, joint: str, law: str = "M1") -> tuple[str, ...]:
        """Parameters of a joint that are estimated, in the order of `estimated_parameters`, levels of friction last.

        Args:
            law: of friction, of `servo_friction`; its parameters are estimated beside `open`.
        """
        named = (*self.open, *servo_friction()[law])
        wanted = [
            name
            for name in estimated_parameters()
            if name in named and self.setting(self.held, name, joint) is None
        ]
        levels = len(self.knots_of(joint))
        if levels:
            wanted += [f"{LEVEL}{k}" for k in range(levels)]
        # levels take the place of the constant
        return tuple(name for name in wanted if not (levels and name == "coulomb"))

    def knots_of(self, joint: str) -> tuple[float, ...]:
        """Positions between which the joint's dry friction is linear [rad]."""
        return tuple(
            float(x) for x in self.friction_positions.get(joint, self.friction_positions.get("", ()))
        )

    def held_actuator(self, joint: str) -> Actuator:
        """The joint's actuator with what is held, everything else at its default; stiffness 1 where it is open."""
        held = {name: self.setting(self.held, name, joint) for name in actuator_parameters()}
        known = {"ramp": self._ramp(joint), "nominal_voltage": self._median_voltage.get(joint, 0.0)} | {
            name: value for name, value in held.items() if value is not None
        }
        knots = self.knots_of(joint)
        return Actuator(
            joint,
            friction_positions=knots,
            friction_levels=(0.0,) * len(knots),
            numbers={"stiffness": 1.0, **known},
        )

    def _ramp(self, joint: str) -> float:
        """The time in which the joint's setpoint moves to a command, unless `held` says another [s]."""
        has_rate = "derivative_gain" in self.open_of(joint) or self.setting(
            self.held, "derivative_gain", joint
        )
        return (
            max(self.command_periods.get(joint, self._interval), self.step_s)
            if self.hold and has_rate
            else 0.0
        )

    @cached_property
    def command_periods(self) -> dict[str, float]:
        """Joint -> longest period of its commands in a recording where they have a clock of their own [s]."""
        found: dict[str, float] = {}
        for name in self.recordings if self.hold else ():
            for joint, commands in zip(self.joints, self._commands[name], strict=True):
                if commands.clock != "rows":
                    found[joint] = max(found.get(joint, 0.0), commands.period)
        return found

    @cached_property
    def _commands(self) -> dict[str, tuple[Commands, ...]]:
        """Recording -> commands of each joint."""
        return {name: self._commands_of(name, each) for name, each in self.all_recordings.items()}

    def _commands_of(self, name: str, recording: Recording) -> tuple[Commands, ...]:
        own = self.commands.get(name)
        found = []
        for joint in self.joints:
            channel = f"{COMMAND}.{joint}"
            if own is not None and channel in own.channels:
                given = np.flatnonzero(np.isfinite(own.readings(channel)))
                if len(given) > 1:
                    found.append(Commands(own.time[given], own[channel][given], self.hold, "stamps"))
                    continue
            values = recording.filled(channel, hold=self.hold)
            found.append(Commands.of_rows(recording.time, values, hold=self.hold))
        return tuple(found)

    @cached_property
    def _median_voltage(self) -> dict[str, float]:
        """Joint -> median supply voltage of the recordings that are fitted [V]; joints without one are absent."""
        found: dict[str, float] = {}
        for joint in self.joints:
            values = {name: _voltage(each, joint) for name, each in self.recordings.items()}
            with_one = {name: each for name, each in values.items() if each is not None}
            if with_one and len(with_one) < len(values):
                without = next(name for name in values if name not in with_one)
                raise InvalidActuatorProblem(
                    f"recording {without!r} has no {VOLTAGE}.{joint}, and {next(iter(with_one))!r} has one; gains "
                    "depend on it: give it in every recording, or in none"
                )
            if with_one:
                found[joint] = float(np.median(np.concatenate(list(with_one.values()))))
        return found

    @cached_property
    def _interval(self) -> float:
        """Median time between two samples [s]."""
        return float(np.median(np.concatenate([np.diff(each.time) for each in self.recordings.values()])))

    @cached_property
    def motions(self) -> tuple[CommandedMotion, ...]:
        """The recordings that are fitted.

        Raises:
            InvalidActuatorProblem: if a joint has too few positions.
        """
        motions = tuple(self.motion(name, each) for name, each in self.recordings.items())
        for k, joint in enumerate(self.joints):
            count = sum(int(np.isfinite(each.measured[:, k]).sum()) for each in motions)
            least = LEAST_SAMPLES * (len(self.open_of(joint)) + 2 * len(motions))
            if count < least:
                raise InvalidActuatorProblem(
                    f"{joint} has {count} valid positions, and {len(self.open_of(joint))} parameters are to be "
                    f"estimated; record at least {least}, better a minute, or give fewer in estimate = [...]"
                )
        return motions

    @cached_property
    def held_out_motions(self) -> tuple[CommandedMotion, ...]:
        """Those that are predicted."""
        return tuple(self.motion(name, each) for name, each in self.held_out.items())

    @property
    def all_motions(self) -> tuple[CommandedMotion, ...]:
        """Those that are fitted, then those that are predicted."""
        return (*self.motions, *self.held_out_motions)

    def motion(self, name: str, recording: Recording) -> CommandedMotion:
        """A recording of this robot, ready for simulation."""
        steps = Steps.of(recording.time, self.step_s)
        positions = np.stack([recording.filled(f"{POSITION}.{joint}") for joint in self.robot.joints], axis=1)
        measured = np.stack([recording.readings(f"{POSITION}.{joint}") for joint in self.joints], axis=1)
        known = self.all_recordings.get(name) is recording
        commands = self._commands[name] if known else self._commands_of(name, recording)
        command = np.stack(
            [
                each.at(recording.time)
                if each.clock == "stamps"
                else recording.filled(f"{COMMAND}.{joint}", hold=self.hold)
                for joint, each in zip(self.joints, commands, strict=True)
            ],
            axis=1,
        )
        without = {}
        for k, joint in enumerate(self.joints):
            missing, seconds = _without_command(recording, f"{COMMAND}.{joint}")
            measured[missing, k] = np.nan
            if seconds > 0:
                without[joint] = seconds
        smooth = smoothed(recording.time, positions, self.cutoff_hz)
        velocities = {
            joint: measured_velocity(
                recording.time, measured[:, k], recording.readings(f"{VELOCITY}.{joint}"), self.cutoff_hz
            )
            for k, joint in enumerate(self.joints)
            if f"{VELOCITY}.{joint}" in recording.channels
        }
        voltages = {
            joint: np.interp(steps.middles, recording.time, volts)
            for joint in self.joints
            if (volts := _voltage(recording, joint)) is not None
        }
        edges = np.append(Steps.of(recording.time, BLOCK_S).times, recording.time[-1])
        middles = 0.5 * (edges[1:] + edges[:-1])
        q, v, a = (interpolated(recording.time, each, middles) for each in smooth)
        slopes = self.mechanics.gravity_slopes(q)
        return CommandedMotion(
            name,
            steps,
            commands,
            command,
            measured,
            middles,
            edges,
            q,
            v,
            a,
            slopes,
            smooth[1][0, self.places],
            velocities,
            voltages,
            without,
        )

    def measured_loads(self, motion: CommandedMotion) -> tuple[JointLoad, ...]:
        """(n,) loads of `joints` along the smoothed measured motion."""
        return self._loads(motion, self.mechanics.loads(motion.q, motion.v, motion.a, motion.slopes))

    def simulated_loads(
        self,
        motion: CommandedMotion,
        rollouts: Mapping[str, ActuatorRollout],
        mechanics: Mechanics | None = None,
        shift: Vector | float = 0.0,
    ) -> tuple[JointLoad, ...]:
        """(n,) loads along simulated motions of joints; joints without a rollout move as measured.

        `mechanics`: of another description. `shift`: (m,) by which positions are larger. Slopes, which count where a
        simulation leaves its posture, are those of the measured motion as described.
        """
        times, edges = np.append(motion.steps.times, motion.steps.time[-1]), motion.edges
        lengths = np.diff(edges)
        q, v, a = motion.q.copy(), motion.v.copy(), motion.a.copy()
        for joint, rollout in rollouts.items():
            k = self.robot.joints.index(joint)
            position = np.interp(edges, times, rollout.fine_position)
            q[:, k] = 0.5 * (position[1:] + position[:-1])
            v[:, k] = np.diff(position) / lengths
            a[:, k] = np.diff(np.interp(edges, times, rollout.fine_velocity)) / lengths
        return self._loads(motion, (mechanics or self.mechanics).loads(q + shift, v, a, motion.slopes))

    def _loads(self, motion: CommandedMotion, loads: Sequence[JointLoad]) -> tuple[JointLoad, ...]:
        """(n,) loads of `joints` in the steps of the simulation, of those (m,) of all joints in the blocks."""
        return tuple(loads[k].resampled(motion.middles, motion.steps.middles) for k in self.places)

    def simulate(
        self,
        motion: CommandedMotion,
        actuators: Sequence[Actuator],
        *,
        start: tuple[Vector, Vector] | None = None,
        loads: Sequence[JointLoad] | None = None,
        rounds: int = 30,
        tolerance: float = 1e-6,
    ) -> tuple[tuple[ActuatorRollout, ...], tuple[JointLoad, ...], bool]:
        """All joints together, open loop: rollouts, the loads along which they were made, whether they settled.

        Args:
            actuators: (n,) of `joints`. start: (n,) positions and velocities; None: as measured.
            loads: (n,) with which to begin; None: those of the measured motion.
            rounds: at most. tolerance: largest change of a position in the last round [rad].
        """
        q0, v0 = (motion.start_position, motion.start_velocity) if start is None else start
        loads = self.measured_loads(motion) if loads is None else tuple(loads)
        setpoints = [
            commands.setpoint(each.ramp) for each, commands in zip(actuators, motion.commands, strict=True)
        ]
        before: JointSamples | float = np.inf
        rollouts: tuple[ActuatorRollout, ...] = ()
        for _ in range(max(rounds, 1)):
            rollouts = tuple(
                roll_out(
                    parameter_vector(actuator, q0[k], v0[k]),
                    motion.steps,
                    setpoints[k],
                    loads[k],
                    supply=motion.supply(actuator),
                    knots=actuator.friction_positions,
                )
                for k, actuator in enumerate(actuators)
            )
            now = np.stack([each.fine_position[:-1] for each in rollouts], axis=1)
            if not np.isfinite(now).all():
                return rollouts, loads, False
            if np.abs(now - before).max() <= tolerance:
                return rollouts, loads, True
            before, loads = now, self.simulated_loads(motion, dict(zip(self.joints, rollouts, strict=True)))
        return rollouts, loads, False


def _voltage(recording: Recording, joint: str) -> Vector | None:
    """(T,) supply voltage of a joint [V]; None where none was recorded."""
    channel = next((name for name in (f"{VOLTAGE}.{joint}", VOLTAGE) if name in recording.channels), None)
    if channel is None:
        return None
    if recording.units[channel] != "V":
        raise InvalidActuatorProblem(
            f'{channel} is in {recording.units[channel] or "no unit"}, and supply voltages are in V; write unit = "V"'
        )
    values = recording.filled(channel)
    if not values.min() > 0:
        raise InvalidActuatorProblem(
            f"{channel} is {values.min():.3g} V at least, and a supply has more than 0; mask these samples, or leave "
            "the channel out"
        )
    return values


def _without_command(recording: Recording, channel: str) -> tuple[np.ndarray, float]:
    """(T,) whether the motion is of commands that are missing, and for how long they are [s]."""
    missing, seconds = np.zeros(len(recording), dtype=bool), 0.0
    good, time = np.flatnonzero(np.isfinite(recording.readings(channel))), recording.time
    for before, after in zip([0, *good], [*good, len(time) - 1], strict=True):
        gap = time[after] - time[before]
        if after - before > 1 and gap > LONGEST_HOLD_S:
            missing |= (time > time[before]) & (time < time[after] + SETTLES_S)
            seconds += float(gap)
    return missing, seconds
