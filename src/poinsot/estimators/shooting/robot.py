"""A recording of a robot as a trajectory model: steps of contact dynamics, residuals of sensors, process noise.

    node    0 -step-> 1 -step-> 2 -reset-> 3 -step-> 4 ...
    sample  0         1         2          2         3

A step from a sample to the next has the contacts that are closed and the effort that was commanded at the first.
A sample at which a contact closes has two nodes, before and after the impact; its readings belong to the second.

    x_{k+1} = f(x_k, u_k + w^u_k; theta) [+] w^x_k        w_k = (w^u_k, w^x_k); none in a reset map

w^u is noise of commands, the difference between the recorded and the applied efforts. It acts through the dynamics, so
one component moves all degrees of freedom, and an accelerometer measures it in the same sample. (Noise of fixed size on
speeds instead would bias theta: heavier bodies would seem to be disturbed less.) w^x is noise of state components; that
of speeds is enough where positions are measured.

The last node has no stage, so no noise of commands: readings of accelerations and forces there must be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...arrays import Bool, Brief, Changes, Columns, Float, NodeStates, States, Times, Vector
from ...exceptions import InvalidMethod, InvalidModel, InvalidSignals
from ...models.contacts.contact_dynamics import ContactDynamics, Linearized, RobotMotion
from ...models.contacts.contacts import ContactSchedule
from ...models.robot.motion_terms import MotionTerms
from ...models.robot.open_parameters import OpenParameters
from ...models.robot.robot_states import RobotStates
from ...models.sensors import ContactVelocity, Readings, frames_of, residuals
from ...recording import THRUST
from .first_guess import first_guess
from .problem import GaussianPrior, StageLinearization, TrajectoryModel

STATES_PER_CALL = 200
"""States in one call of the dynamics: enough to make calls cheap, few enough for their derivatives to fit in memory."""
BASE_SPEEDS = ("base_linear", "base_angular")
"""Names of a floating base's speeds among the noise levels."""


# The C library of Linux returns freed memory above a threshold to the system, and gets it again page by page. For the
# slopes of a humanoid that takes longer than their computation. The threshold rises to the largest block that was
# ever freed, up to 32 MiB; so one is, untouched. Elsewhere this has no effect.
np.empty(31 * 2**20, dtype=np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class RobotTrajectoryModel(Brief, TrajectoryModel):
    """One recording of a robot: its commands, contacts and readings, sample by sample, and their noise.

    Args:
        parameters: the robot, its actuation, and the meaning of theta.
        schedule: contacts that were closed at each sample.
        times: (S,) of the samples [s].
        u: (S, inputs) commands or measured efforts; the last affects only accelerations and forces of the last sample.
        readings: readings of the sensors at each sample.
        noise: (2 n,) standard deviation of the model's error in a step, of each component of a change of state; 0 where
            it is exact.
        command_noise: (inputs,) standard deviation of each command; None: they are exact.
        name: the recording's name.
        arrival: prior of the first state; None: unknown.
        guess: (N + 1, nx) initial guess of the states; None: from the readings.
        effort: quantity of the joints' commands.
        growth: (S, m) factor of each component of the process noise in the step from each sample; None: 1.

    Raises:
        InvalidSignals: if lengths differ, times do not increase, or commands are missing.
        InvalidModel: if a sensor is another robot's, or a contact at a frame that the robot does not have.
        InvalidMethod: if a standard deviation is negative, or none is above 0.
    """

    parameters: OpenParameters
    schedule: ContactSchedule
    times: Times
    u: Float[np.ndarray, "S inputs"]
    readings: tuple[Readings, ...]
    noise: Vector
    command_noise: Vector | None = None
    name: str = "recording"
    arrival: GaussianPrior | None = None
    guess: NodeStates | None = None
    effort: str = "torque"
    growth: Float[np.ndarray, "S m"] | None = None

    def __post_init__(self) -> None:
        S, inputs, degrees = len(self.times), self.parameters.drive.inputs, self.manifold.degrees
        lengths = {"contact schedule": len(self.schedule), "commands": len(self.u)}
        lengths |= {some.sensor.name: len(some) for some in self.readings}
        for what, length in lengths.items():
            if length != S:
                raise InvalidSignals(
                    f"a trajectory needs the same number of samples of everything, not {what}: {length} samples, "
                    f"times: {S}"
                )
        if S < 2 or not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise InvalidSignals("a trajectory needs at least two samples at finite times that increase")
        if self.u.shape[1] != len(inputs):
            raise InvalidSignals(
                f"the robot is moved by {len(inputs)} inputs, the commands have {self.u.shape[1]} columns"
            )
        # the last command has no effect: no step begins there
        missing = np.flatnonzero(~np.isfinite(self.u[:-1]).all(axis=1))
        if len(missing):
            raise InvalidSignals(
                f"commands are missing at {len(missing)} of {S} samples, the first at sample {missing[0]}; dynamics "
                f"need them all: fill the gaps, or use a part without any"
            )
        for some in self.readings:
            # by identity: frames and joints of a copy may have other indices
            if some.sensor.robot is not self.parameters.robot:
                raise InvalidModel(f"{some.sensor.name} is a sensor of another robot than the one estimated")
        levels = np.concatenate([self._of_commands, self.noise])
        if (self.noise.shape, self._of_commands.shape) != ((degrees,), (len(inputs),)) or not (
            np.isfinite(levels).all() and levels.min() >= 0 and levels.max() > 0
        ):
            raise InvalidMethod(
                f"process noise needs a standard deviation of at least 0 for each of {degrees} changes of a state and "
                f"of {len(inputs)} commands, and one above 0"
            )
        _ = self.modes  # a contact at a frame that does not exist is refused here

    # ---------------------------------------------------------------------------------------------------------- chain

    @cached_property
    def manifold(self) -> RobotStates:  # type: ignore[override]
        return RobotStates(self.parameters.robot)

    @property
    def theta_size(self) -> int:  # type: ignore[override]
        return self.parameters.size

    @cached_property
    def samples(self) -> np.ndarray:
        """(N + 1,) the sample of each node."""
        # one more node where a foot lands
        landings = [phase.first for phase in self.schedule.resets]
        return np.sort(np.concatenate([np.arange(len(self.times)), landings]).astype(np.int64))

    @cached_property
    def resets(self) -> np.ndarray:
        """(N,) True where a stage is an impact, which has no duration and no noise."""
        return self.samples[:-1] == self.samples[1:]

    @cached_property
    def noisy(self) -> np.ndarray:  # type: ignore[override]
        return ~self.resets

    @cached_property
    def after_impacts(self) -> np.ndarray:
        """(S,) the node of each sample at which sensors are read."""
        return np.flatnonzero(~np.append(self.resets, False))

    @cached_property
    def modes(self) -> tuple[ContactDynamics, ...]:
        """The dynamics of each of the schedule's modes."""
        frames = frames_of([some.sensor for some in self.readings])
        return tuple(
            ContactDynamics(self.parameters, self.schedule.contacts_of(closed), frames)
            for closed in self.schedule.modes
        )

    @property
    def rows(self) -> int:
        """Number of residuals at a node."""
        return sum(some.sensor.size for some in self.readings)

    def part(self, first: int, last: int) -> RobotTrajectoryModel:
        """The samples from `first` to before `last`, whose initial guess is that of their readings."""
        k = slice(first, last)
        return replace(
            self,
            schedule=replace(self.schedule, closed=self.schedule.closed[k]),
            times=self.times[k],
            u=self.u[k],
            readings=tuple(some.some(k) for some in self.readings),
            growth=None if self.growth is None else self.growth[k],
            guess=None,
        )

    def with_schedule(self, closed: Bool[np.ndarray, "S c"]) -> RobotTrajectoryModel:
        """The same recording with contacts closed at other samples, and feet that stand there."""
        schedule = replace(self.schedule, closed=closed)
        readings = tuple(standing(some, schedule) for some in self.readings)
        return replace(self, schedule=schedule, readings=readings, guess=None)

    @cached_property
    def initial_states(self) -> NodeStates:
        """(N + 1, nx) initial guess of the states."""
        return first_guess(self) if self.guess is None else self.guess

    @property
    def first_state(self) -> GaussianPrior:
        """Prior of the first state."""
        return self.arrival or GaussianPrior.flat(self.initial_states[0], self.manifold.degrees)

    # -------------------------------------------------------------------------------------------------- process noise

    @property
    def _of_commands(self) -> Vector:
        return np.zeros(self.u.shape[1]) if self.command_noise is None else self.command_noise

    @cached_property
    def noisy_commands(self) -> np.ndarray:
        """Inputs that have noise."""
        return np.flatnonzero(self._of_commands > 0)

    @cached_property
    def noisy_freedoms(self) -> np.ndarray:
        """Components of a change of state that have noise."""
        return np.flatnonzero(self.noise > 0)

    @cached_property
    def noise_std(self) -> Float[np.ndarray, "N m"]:  # type: ignore[override]
        # components without noise are no unknowns: the recursion divides by their variance
        std = np.concatenate([self._of_commands[self.noisy_commands], self.noise[self.noisy_freedoms]])
        growth = 1.0 if self.growth is None else self.growth[self.samples[:-1]]
        return growth * np.tile(std, (self.stages, 1))

    @property
    def disturbances(self) -> tuple[str, ...]:
        """(m,) the noise level of each component of process noise, by its key: `thrust`, `base_linear`, a joint."""
        robot, inputs = self.parameters.robot, self.parameters.drive.inputs
        commands = [self.effort if inputs[k] in robot.joints else THRUST for k in self.noisy_commands]
        base = [BASE_SPEEDS[0]] * 3 + [BASE_SPEEDS[1]] * 3 if robot.floating_base else []
        speeds = [*base, *robot.joints]
        return (*commands, *(speeds[k % len(speeds)] for k in self.noisy_freedoms))

    def with_levels(self, factors: Mapping[str, float]) -> RobotTrajectoryModel:
        """The same recording with process noise times factors, by the names of `disturbances`."""
        scale = np.array([factors.get(name, 1.0) for name in self.disturbances])
        commands, noise, k = self._of_commands.copy(), self.noise.copy(), len(self.noisy_commands)
        commands[self.noisy_commands] *= scale[:k]
        noise[self.noisy_freedoms] *= scale[k:]
        return replace(self, noise=noise, command_noise=commands, guess=self.initial_states)

    def _command_errors(self, w: Columns) -> Float[np.ndarray, "T inputs"]:
        """(T, inputs) applied less recorded commands."""
        errors = np.zeros((len(w), self.u.shape[1]))
        errors[:, self.noisy_commands] = w[:, : len(self.noisy_commands)]
        return errors

    def _tangent(self, w: Columns) -> Changes:
        d = np.zeros((len(w), self.manifold.degrees))
        d[:, self.noisy_freedoms] = w[:, len(self.noisy_commands) :]
        return d

    # ------------------------------------------------------------------------------------------ dynamics and residuals

    def evaluate(
        self, first: int, x: States, w: Columns, theta: Vector
    ) -> tuple[States, Float[np.ndarray, "T rows"]]:
        step, residual = self.steps(first, x, theta, w)
        return self.manifold.integrate(step.value, self._tangent(w)), residual.value

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        step, residual = self.steps(first, x, theta, w, slopes=True)
        step, by_w = self.manifold.disturbed(step, self._tangent(w))
        assert step.by_x is not None and step.by_theta is not None and residual.by_x is not None
        by_w, r_w = np.ascontiguousarray(by_w[:, :, self.noisy_freedoms]), None
        if step.by_tau is not None and residual.by_tau is not None:
            by_u = self.parameters.drive.slope(self.parameters.values(theta).gains)[:, self.noisy_commands]
            by_w = np.concatenate([step.by_tau @ by_u, by_w], axis=2)
            # by_tau of a reset is by an impulse, which commands do not give
            by_w[~self.noisy[first : first + len(x)]] = 0.0
            none = np.zeros((*residual.value.shape, len(self.noisy_freedoms)))
            r_w = np.concatenate([residual.by_tau @ by_u, none], axis=2)
        return StageLinearization(
            step.value, step.by_x, by_w, step.by_theta, residual.value, residual.by_x, r_w, residual.by_theta
        )

    def last(self, x: Vector, theta: Vector, slopes: bool = False) -> Linearized:
        motion = self._motion(np.array([self.stages]), x[None], self.u[-1:], theta, slopes)
        return residuals([some.some(self.samples[-1:]) for some in self.readings], motion)

    def steps(
        self, first: int, x: States, theta: Vector, w: Columns | None = None, slopes: bool = False
    ) -> tuple[Linearized, Linearized]:
        """Next states of stages first, first + 1, ... before noise of states, and the residuals of the sensors there.

        Args:
            first: number of the first stage.
            x: (T, nx) at the beginning of each.
            theta: (p,).
            w: (T, m) process noise, of which that of commands counts; None: zero.
            slopes: whether slopes are computed: by x, by theta, and where commands have noise by tau; at a reset those
                by an impulse on the joints.
        """
        nodes, efforts = np.arange(first, first + len(x)), slopes and len(self.noisy_commands) > 0
        u = self.u[self.samples[nodes]]
        if w is not None and len(self.noisy_commands):
            u = u + self._command_errors(w)
        parts: list[tuple[np.ndarray, Linearized, Linearized | None]] = []
        for chosen in self._groups(nodes):
            samples = self.samples[nodes[chosen]]
            motion = self._motion(nodes[chosen], x[chosen], u[chosen], theta, slopes)
            if self.resets[nodes[chosen[0]]]:
                parts.append((chosen, self.manifold.reset(motion, efforts), None))
                continue
            step = self.manifold.step(motion, self.times[samples + 1] - self.times[samples], efforts)
            left = residuals([some.some(samples) for some in self.readings], motion, efforts)
            parts.append((chosen, step, left))
        if len(parts) == 1 and parts[0][2] is not None:
            return parts[0][1], parts[0][2]
        n, p = self.parameters.robot.model.nv, self.parameters.size
        whole, residual = (
            Linearized.zeros(np.zeros((len(x), width)), m, n, p, slopes, efforts)
            for width, m in ((self.manifold.size, self.manifold.degrees), (self.rows, self.rows))
        )
        for chosen, step, of_sensors in parts:
            whole.put(chosen, step)
            # residuals stay 0 where a foot lands: sensors are read after it
            if of_sensors is not None:
                residual.put(chosen, of_sensors)
        return whole, residual

    def _motion(
        self, nodes: np.ndarray, x: States, u: Float[np.ndarray, "T inputs"], theta: Vector, slopes: bool
    ) -> RobotMotion:
        """The motion at nodes of one mode that are all resets, or all steps."""
        q, v = (np.ascontiguousarray(part) for part in self.manifold.split(x))
        mode, is_reset = divmod(int(self._kinds[nodes[0]]), 2)
        if is_reset:
            return self.modes[mode].impact(q, v, theta, slopes)
        return self.modes[mode](q, v, u, theta, slopes)

    @cached_property
    def _kinds(self) -> np.ndarray:
        """(N + 1,) one number for mode and reset of each node, since np.unique of pairs would sort rows."""
        return 2 * self.schedule.mode_of[self.samples] + np.append(self.resets, False)

    def _groups(self, nodes: np.ndarray, most: int = STATES_PER_CALL) -> Iterator[np.ndarray]:
        """Places in `nodes` that one call can evaluate: of one mode, all resets or all steps."""
        kinds = self._kinds[nodes]
        for kind in np.unique(kinds):
            places = np.flatnonzero(kinds == kind)
            yield from np.split(places, range(most, len(places), most))

    # -------------------------------------------------------------------------------------------------- along a motion

    def along(
        self, x: NodeStates, theta: Vector | Float[np.ndarray, "nodes p"], w: Columns | None = None
    ) -> Iterator[tuple[np.ndarray, RobotMotion]]:
        """Samples, and the motion of the robot there after impacts, some at a time, mode by mode.

        Args:
            x: (N + 1, nx) states at all nodes.
            theta: (p,), or (N + 1, p) where it is another at each node.
            w: (N, m) process noise; None: zero.
        """
        u, nodes = self.u[self.samples], self.after_impacts
        if w is not None:
            # the last node has no stage, so no noise
            u[:-1] += self._command_errors(w)
        for chosen in self._groups(nodes, STATES_PER_CALL if theta.ndim == 1 else 1):
            some = nodes[chosen]
            own = theta if theta.ndim == 1 else theta[some[0]]
            yield self.samples[some], self._motion(some, x[some], u[some], own, slopes=False)

    def contact_velocities(self, x: NodeStates) -> list[Columns]:
        """(S, 3) of each contact, closed or not, at states of the samples [m/s]."""
        (q, v), contacts = self.manifold.split(x), self.schedule.contacts
        frames = [frame for contact in contacts for frame in contact.frames]
        motions = MotionTerms(self.parameters.robot).frames(frames, q, v, 0 * v)
        return [contact.velocity(contact.motion(motions))[:, :3] for contact in contacts]


def standing(some: Readings, schedule: ContactSchedule) -> Readings:
    """Readings of a contact's velocity: zero where the schedule has it closed. Other readings remain as they are."""
    if not isinstance(some.sensor, ContactVelocity):
        return some
    frames = [contact.frame for contact in schedule.contacts]
    closed = schedule.closed[:, frames.index(some.sensor.frame)]
    return replace(some, values=np.where(closed[:, None], 0.0, np.full((1, some.sensor.size), np.nan)))
