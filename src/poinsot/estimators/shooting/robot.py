"""A recording of a robot as a trajectory model: steps of contact dynamics, residuals of sensors, process noise.

    node    0 -step-> 1 -step-> 2 -reset-> 3 -step-> 4 ...
    sample  0         1         2          2         3

A step from a sample to the next has the contacts that are closed and the effort that was commanded at the first.
A sample at which a contact closes has two nodes, before and after the impact; its readings belong to the second.

    x_{k+1} = f(x_k, u_k + w^u_k, w^c_k; theta) [+] w^x_k        w_k = (w^u_k, w^x_k, w^c_k); none in a reset map

w^u is noise of commands, the difference between the recorded and the applied efforts. It acts through the dynamics, so
one component moves all degrees of freedom, and an accelerometer measures it in the same sample. (Noise of fixed size on
speeds instead would bias theta: heavier bodies would seem to be disturbed less.) w^x is noise of state components; that
of speeds is enough where positions are measured. w^c is the acceleration that closed contacts have though they should
have none (J a + gamma = w^c): ground that gives, a foot that rolls, and near events the impact itself, which then
takes the schedule's margin and is no reset map. It acts through the dynamics too: what moves the foot, the leg feels.

The last node has no stage, so no noise of commands: readings of accelerations and forces there must be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...arrays import Bool, Brief, Changes, Columns, Float, Int, NodeStates, States, Times, Vector
from ...exceptions import InvalidMethod, InvalidModel, InvalidSignals
from ...models.contacts.contact_dynamics import ContactDynamics, DynamicsJacobians, Linearized, RobotMotion
from ...models.contacts.contacts import ContactSchedule
from ...models.robot.motion_terms import MotionTerms
from ...models.robot.open_parameters import OpenParameters
from ...models.robot.robot_states import RobotStates
from ...models.sensors import ContactSinking, ContactTurning, ContactVelocity, Readings, frames_of, residuals
from ...recording import THRUST
from .first_guess import first_guess
from .problem import GaussianPrior, StageLinearization, TrajectoryModel

STATES_PER_CALL = 200
"""States in one call of the dynamics: enough to make calls cheap, few enough for their derivatives to fit in memory."""
LEAST_FORCE, LEAST_EFFORT_NOISE = 0.02, 1e-3
"""Parts of a robot's weight: force of a contact that is closed, and noise of efforts a metre where none is stated."""
ROUGH_HALF_WIDTH = 3
"""Of cubics through speeds that were read [samples]."""
BASE_SPEEDS = ("base_linear", "base_angular")
"""Names of a floating base's speeds among the noise levels."""
EVENT = "_event"
"""End of the names of noise levels near contact events."""
_OF_CONTACTS = ("contact", "contact_normal", "contact_angular")
CONTACT_LEVELS = (*_OF_CONTACTS, *(f"{name}{EVENT}" for name in _OF_CONTACTS))
"""Names of noise levels of held contacts: of accelerations along the ground and across it [m/s^2], and of angular ones
[rad/s^2], away from and near events."""
_STUDENT = ("accelerometer", "gyro", "velocity")
STUDENT_LEVELS = frozenset(
    [
        *_STUDENT,
        *(f"{name}{EVENT}" for name in _STUDENT),
        ContactVelocity.quantity,
        ContactSinking.quantity,
        ContactTurning.quantity,
        *CONTACT_LEVELS,
    ]
)
"""Names of noise levels that soft ground and impacts touch."""

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
        contact_noise: level of `CONTACT_LEVELS` -> standard deviation of the acceleration of held contacts [m/s^2],
            [rad/s^2]; None: they are exact.
        event_factors: quantity -> factor on the noise of its readings near contact events, where legs move otherwise
            than a step says.
        open_levels: names of noise levels that are estimated from the data, of sensors and of process noise.

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
    contact_noise: Mapping[str, float] | None = None
    event_factors: Mapping[str, float] = field(default_factory=dict)
    open_levels: frozenset[str] = frozenset()

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
        of_contacts = {} if self.contact_noise is None else self.contact_noise
        if not all(of_contacts.get(level, 0.0) > 0 for level in (CONTACT_LEVELS if of_contacts else ())):
            raise InvalidMethod(f"the noise of contacts needs numbers above 0: {', '.join(CONTACT_LEVELS)}")
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
            schedule=self.schedule.part(k),
            times=self.times[k],
            u=self.u[k],
            readings=tuple(some.some(k) for some in self.readings),
            growth=None if self.growth is None else self.growth[k],
            guess=None,
        )

    def with_schedule(self, closed: Bool[np.ndarray, "S c"]) -> RobotTrajectoryModel:
        """The same recording with contacts closed at other samples, and feet that stand there."""
        schedule = replace(self.schedule, closed=closed, slipping=None)
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
        growth = 1.0 if self.growth is None else self.growth[self.samples[:-1]]
        return growth * self.level_std

    @cached_property
    def level_std(self) -> Float[np.ndarray, "N m"]:
        """Standard deviations of the process noise without `growth`."""
        # components without noise are no unknowns: the recursion divides by their variance
        std = np.concatenate([self._of_commands[self.noisy_commands], self.noise[self.noisy_freedoms]])
        of_contacts = np.array([(self.contact_noise or {}).get(level, 1.0) for level in CONTACT_LEVELS])
        levels = of_contacts[self.contact_levels[self.samples[:-1]]]
        return np.concatenate([np.tile(std, (self.stages, 1)), levels], axis=1)

    @property
    def student_levels(self) -> frozenset[str]:
        """Names of noise levels whose residuals have Student's t: ground and impacts are no white noise."""
        return STUDENT_LEVELS if self.contact_noise else frozenset()

    def contact_level(self, name: str) -> float:
        """A noise level of held contacts, of their accelerations or of the velocities of settled ones; 0: no such."""
        own = [float(np.mean(some.sensor.noise)) for some in self.readings if some.sensor.quantity == name]
        return (self.contact_noise or {}).get(name, max(own, default=0.0))

    @cached_property
    def contact_rows(self) -> tuple[np.ndarray, ...]:
        """Places of each contact's rows among those of all contacts, if these have noise."""
        sizes = [contact.size for contact in self.schedule.contacts] if self.contact_noise else []
        return tuple(np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])) if sizes else ()

    @cached_property
    def contact_levels(self) -> Int[np.ndarray, "S c"]:
        """(S, c) place in `CONTACT_LEVELS` of the level of each row of the contacts, if these have noise."""
        rows, loose = self.contact_rows, self.schedule.loose
        levels = np.zeros((len(self.times), sum(map(len, rows))), dtype=np.int64)
        for contact, places in enumerate(rows):
            own = np.array([0, 0, 1, 2, 2, 2])[: len(places)]
            levels[:, places] = own + len(_OF_CONTACTS) * loose[:, contact, None]
        return levels

    @property
    def disturbances(self) -> tuple[str, ...]:
        """The noise levels of process noise, by their keys: `thrust`, `base_linear`, a joint, `contact`."""
        return tuple(dict.fromkeys([*self._of_columns, *(CONTACT_LEVELS if self.contact_rows else ())]))

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities that were read."""
        return tuple(dict.fromkeys(some.sensor.quantity for some in self.readings))

    @cached_property
    def levels(self) -> frozenset[str]:
        """Names of the noise levels of readings and process noise."""
        return frozenset([*self.disturbances, *np.unique(self.level_of_readings.astype(str)).tolist()]) - {""}

    @cached_property
    def level_of_readings(self) -> np.ndarray:
        """(S, rows) the noise level of each reading: its quantity, and near contact events another; "": not read."""
        sensors = [some.sensor for some in self.readings for _ in range(some.sensor.size)]
        levels = np.array([[sensor.quantity for sensor in sensors]] * len(self.times), dtype=object)
        near = self.schedule.near_events.any(axis=1)
        for row, sensor in enumerate(sensors):
            # a foot that stands is settled, whatever the others do
            if not isinstance(sensor, ContactVelocity):
                levels[near, row] += EVENT
        levels[~np.concatenate([some.is_read for some in self.readings], axis=1)] = ""
        return levels

    @property
    def _of_columns(self) -> tuple[str, ...]:
        """The noise level of each command and speed that has noise."""
        robot, inputs = self.parameters.robot, self.parameters.drive.inputs
        commands = [self.effort if inputs[k] in robot.joints else THRUST for k in self.noisy_commands]
        base = [BASE_SPEEDS[0]] * 3 + [BASE_SPEEDS[1]] * 3 if robot.floating_base else []
        speeds = [*base, *robot.joints]
        return (*commands, *(speeds[k % len(speeds)] for k in self.noisy_freedoms))

    @cached_property
    def level_of(self) -> Int[np.ndarray, "N m"]:
        """(N, m) place in `disturbances` of the level of each component of process noise; -1 where it has no effect."""
        names, samples = list(self.disturbances), self.samples[:-1]
        columns = np.array([names.index(name) for name in self._of_columns], dtype=np.int64)
        of_contacts = self.contact_levels[samples]
        if self.contact_rows:
            of_contacts = names.index(CONTACT_LEVELS[0]) + of_contacts
            for contact, places in enumerate(self.contact_rows):
                of_contacts[np.ix_(~self.schedule.held[samples, contact], places)] = -1
        levels = np.concatenate([np.tile(columns, (self.stages, 1)), of_contacts], axis=1)
        levels[self.resets] = -1
        return levels

    def with_levels(self, factors: Mapping[str, float]) -> RobotTrajectoryModel:
        """The same recording with noise times factors, by the names of `disturbances` and quantities of sensors."""
        scale = np.array([factors.get(name, 1.0) for name in self._of_columns])
        commands, noise, k = self._of_commands.copy(), self.noise.copy(), len(self.noisy_commands)
        commands[self.noisy_commands] *= scale[:k]
        noise[self.noisy_freedoms] *= scale[k:]
        of_contacts = self.contact_noise and {
            name: std * factors.get(name, 1.0) for name, std in self.contact_noise.items()
        }
        readings = tuple(some.times(factors.get(some.sensor.quantity, 1.0)) for some in self.readings)
        near = self.schedule.near_events.any(axis=1)
        changed = {
            name: factors.get(f"{name}{EVENT}", 1.0) / factors.get(name, 1.0) for name in self.quantities
        }
        readings = tuple(
            some.with_weights(np.where(near, changed[some.sensor.quantity] ** -2.0, 1.0))
            if near.any()
            else some
            for some in readings
        )
        return replace(
            self,
            noise=noise,
            command_noise=commands,
            contact_noise=of_contacts,
            readings=readings,
            event_factors={name: self.event_factors.get(name, 1.0) * by for name, by in changed.items()},
            guess=self.initial_states,
        )

    def _command_errors(self, w: Columns) -> Float[np.ndarray, "T inputs"]:
        """(T, inputs) applied less recorded commands."""
        errors = np.zeros((len(w), self.u.shape[1]))
        errors[:, self.noisy_commands] = w[:, : len(self.noisy_commands)]
        return errors

    def _tangent(self, w: Columns) -> Changes:
        d = np.zeros((len(w), self.manifold.degrees))
        k = len(self.noisy_commands)
        d[:, self.noisy_freedoms] = w[:, k : k + len(self.noisy_freedoms)]
        return d

    def _of_contacts(self, w: Columns | None) -> Float[np.ndarray, "T c"] | None:
        """(T, c) noise of the rows of all contacts; None: they have none."""
        if w is None or not self.contact_rows:
            return None
        return w[:, len(self.noisy_commands) + len(self.noisy_freedoms) :]

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
            assert step.by_w is not None and residual.by_w is not None
            by_w = np.concatenate([step.by_tau @ by_u, by_w, step.by_w], axis=2)
            # by_tau of a reset is by an impulse, which commands do not give
            by_w[~self.noisy[first : first + len(x)]] = 0.0
            none = np.zeros((*residual.value.shape, len(self.noisy_freedoms)))
            r_w = np.concatenate([residual.by_tau @ by_u, none, residual.by_w], axis=2)
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
            w: (T, m) process noise, of which that of commands and contacts counts; None: zero.
            slopes: whether slopes are computed: by x, by theta, and where commands have noise by tau; at a reset those
                by an impulse on the joints.
        """
        nodes = np.arange(first, first + len(x))
        efforts = slopes and (len(self.noisy_commands) > 0 or len(self.contact_rows) > 0)
        u, moving = self.u[self.samples[nodes]], self._of_contacts(w)
        if w is not None and len(self.noisy_commands):
            u = u + self._command_errors(w)
        parts: list[tuple[np.ndarray, Linearized, Linearized | None]] = []
        for chosen in self._groups(nodes):
            samples = self.samples[nodes[chosen]]
            own = None if moving is None else moving[chosen]
            motion = self._motion(nodes[chosen], x[chosen], u[chosen], theta, slopes, own)
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
            Linearized.zeros(
                np.zeros((len(x), width)), m, n, p, slopes, efforts, sum(map(len, self.contact_rows))
            )
            for width, m in ((self.manifold.size, self.manifold.degrees), (self.rows, self.rows))
        )
        for chosen, step, of_sensors in parts:
            whole.put(chosen, step)
            # residuals stay 0 where a foot lands: sensors are read after it
            if of_sensors is not None:
                residual.put(chosen, of_sensors)
        return whole, residual

    def _motion(
        self,
        nodes: np.ndarray,
        x: States,
        u: Float[np.ndarray, "T inputs"],
        theta: Vector,
        slopes: bool,
        moving: Float[np.ndarray, "T c"] | None = None,
    ) -> RobotMotion:
        """The motion at nodes of one mode that are all resets, or all steps; `moving` (T, c): noise of contacts."""
        q, v = (np.ascontiguousarray(part) for part in self.manifold.split(x))
        mode, is_reset = divmod(int(self._kinds[nodes[0]]), 2)
        rows = self._rows_of_modes[mode]
        if is_reset:
            motion = self.modes[mode].impact(q, v, theta, slopes)
        else:
            motion = self.modes[mode](q, v, u, theta, slopes, None if moving is None else moving[:, rows])
        if not slopes:
            return motion
        a_by, forces_by = (self._by_all_contacts(part, rows) for part in motion.slopes)
        return replace(motion, a_by=a_by, forces_by=forces_by)

    @cached_property
    def _rows_of_modes(self) -> tuple[np.ndarray, ...]:
        """Places of the rows of each mode's contacts among those of all contacts."""
        none, rows = np.zeros(0, dtype=np.int64), self.contact_rows
        return tuple(
            np.concatenate([none, *(rows[place] for place in closed if rows)])
            for closed in self.schedule.modes
        )

    def _by_all_contacts(self, slopes: DynamicsJacobians, rows: np.ndarray) -> DynamicsJacobians:
        """Slopes by noise of the rows of all contacts, 0 for those of open ones."""
        w = np.zeros((*slopes.w.shape[:2], sum(map(len, self.contact_rows))))
        w[:, :, rows] = slopes.w[:, :, : len(rows)]
        return replace(slopes, w=w)

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
        u, nodes, moving = self.u[self.samples], self.after_impacts, self._of_contacts(w)
        if w is not None:
            # the last node has no stage, so no noise
            u[:-1] += self._command_errors(w)
        if moving is not None:
            moving = np.concatenate([moving, np.zeros((1, moving.shape[1]))])
        for chosen in self._groups(nodes, STATES_PER_CALL if theta.ndim == 1 else 1):
            some = nodes[chosen]
            own = theta if theta.ndim == 1 else theta[some[0]]
            of_contacts = None if moving is None else moving[some]
            yield self.samples[some], self._motion(some, x[some], u[some], own, False, of_contacts)

    def closed_by_forces(
        self, x: NodeStates, theta: Vector, weight: float, rough: bool = False
    ) -> Bool[np.ndarray, "S c"]:
        """Contacts on which the ground pushes, by the efforts of the joints and the motion x (S, nx) at the samples.

        Ground does not pull: negative forces are noise, and show its size. A contact is closed where its force is above
        four times that, but not above half the weight's share [N] of all contacts, nor below a fiftieth of the weight.

        Args:
            rough: whether x are readings, whose differences are no accelerations.
        """
        from scipy.signal import savgol_filter

        (q, v), dynamics = self.manifold.split(x), ContactDynamics(self.parameters, self.schedule.contacts)
        dt = float(np.median(np.diff(self.times)))
        if rough and len(v) > 2 * ROUGH_HALF_WIDTH:
            a = savgol_filter(v, 2 * ROUGH_HALF_WIDTH + 1, 3, deriv=1, delta=dt, axis=0)
            v = savgol_filter(v, 2 * ROUGH_HALF_WIDTH + 1, 3, axis=0)
        else:
            a = np.diff(v, axis=0, append=v[-1:]) / dt
        noise = float(np.mean(self._of_commands[self.noisy_commands])) if len(self.noisy_commands) else 0.0
        size = noise or LEAST_EFFORT_NOISE * weight
        force = dynamics.normal_forces(q, v, a, self.u, theta, size, weight)
        pulls = -force[force < 0]
        of_noise = float(np.median(pulls)) / 0.6745 if len(pulls) else 0.0
        most = 0.5 * weight / force.shape[1]
        return force > max(min(4.0 * of_noise, most), LEAST_FORCE * weight)

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
    closed = schedule.settled[:, frames.index(some.sensor.frame)]
    return replace(some, values=np.where(closed[:, None], 0.0, np.full((1, some.sensor.size), np.nan)))
