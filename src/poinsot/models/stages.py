"""A recording as a chain of stages: steps in time with the contacts of each sample, and resets where a foot lands.

    node    0 -step-> 1 -step-> 2 -reset-> 3 -step-> 4 ...
    sample  0         1         2          2         3

A step from a sample to the next has the contacts that are closed and the effort that was commanded at the first.
A sample at which a contact closes has two nodes, before and after the impact; its readings belong to the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Brief, Columns, Float, NodeStates, States, Times, Vector
from ..exceptions import InvalidModel, InvalidSignals
from .contacts.contact_dynamics import ContactDynamics, Linearized, RobotMotion
from .contacts.contacts import ContactSchedule
from .robot.motion_terms import MotionTerms
from .robot.open_parameters import OpenParameters
from .robot.robot_states import RobotStates
from .sensors import Readings, frames_of, residuals

STATES_PER_CALL = 200
"""States in one call of the dynamics: enough to make calls cheap, few enough for their derivatives to fit in memory."""


# The C library of Linux returns freed memory above a threshold to the system, and gets it again page by page. For the
# slopes of a humanoid that takes longer than their computation. The threshold rises to the largest block that was
# ever freed, up to 32 MiB; so one is, untouched. Elsewhere this has no effect.
np.empty(31 * 2**20, dtype=np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class Stages(Brief):
    """A robot with its commands, contacts and readings, sample by sample.

    Args:
        parameters: the robot, its actuation, and the meaning of theta.
        schedule: contacts that were closed at each sample.
        times: (S,) of the samples [s].
        u: (S, inputs) commands or measured efforts; the last affects accelerations and forces of the last sample alone.
        readings: readings of the sensors at each sample.

    Raises:
        InvalidSignals: if lengths differ, times do not increase, or commands are missing.
        InvalidModel: if a sensor is another robot's, or a contact at a frame that the robot does not have.
    """

    parameters: OpenParameters
    schedule: ContactSchedule
    times: Times
    u: Float[np.ndarray, "S inputs"]
    readings: tuple[Readings, ...] = ()

    def __post_init__(self) -> None:
        S, inputs = len(self.times), self.parameters.drive.inputs
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
        _ = self.modes  # a contact at a frame that does not exist is refused here

    @cached_property
    def states(self) -> RobotStates:
        """The manifold of states."""
        return RobotStates(self.parameters.robot)

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

    @property
    def count(self) -> int:
        """N, the number of stages."""
        return len(self.samples) - 1

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

    def evaluate(
        self,
        first: int,
        x: States,
        theta: Vector,
        slopes: bool = False,
        efforts: bool = False,
        command_noise: Float[np.ndarray, "T inputs"] | None = None,
    ) -> tuple[Linearized, Linearized]:
        """Next states of stages first, first + 1, ... from states x, and the residuals of the sensors there.

        Args:
            first: number of the first stage.
            x: (T, nx) at the beginning of each.
            theta: (p,).
            slopes: whether slopes are computed.
            efforts: whether those by tau are computed, too; at a reset, by an impulse on the joints.
            command_noise: (T, inputs) applied less recorded commands; None: zero.
        """
        groups = tuple(self._groups(first, len(x)))
        u = self.u[self.samples[first : first + len(x)]]
        u = u if command_noise is None else u + command_noise
        if len(groups) == 1 and not self.resets[first]:
            return self._alike(groups[0][1], x, u, theta, slopes, efforts)
        n, p = self.parameters.robot.model.nv, self.parameters.size
        step, residual = (  # residuals stay 0 where a foot lands: sensors are read after it
            Linearized.zeros(np.zeros((len(x), width)), m, n, p, slopes, efforts)
            for width, m in ((self.states.size, self.states.degrees), (self.rows, self.rows))
        )
        for chosen, nodes in groups:
            if self.resets[nodes[0]]:
                motion = self._motion(nodes, x[chosen], u[chosen], theta, slopes)
                step.put(chosen, self.states.reset(motion, efforts))
                continue
            of_group, residuals_of_group = self._alike(nodes, x[chosen], u[chosen], theta, slopes, efforts)
            step.put(chosen, of_group)
            residual.put(chosen, residuals_of_group)
        return step, residual

    def _alike(
        self,
        nodes: np.ndarray,
        x: States,
        u: Float[np.ndarray, "T inputs"],
        theta: Vector,
        slopes: bool,
        efforts: bool,
    ) -> tuple[Linearized, Linearized]:
        """Steps of one mode."""
        samples = self.samples[nodes]
        motion = self._motion(nodes, x, u, theta, slopes)
        durations = self.times[samples + 1] - self.times[samples]
        step = self.states.step(motion, durations, efforts)
        return step, residuals([some.some(samples) for some in self.readings], motion, efforts)

    def last(self, x: Vector, theta: Vector, slopes: bool = False, efforts: bool = False) -> Linearized:
        """Residuals of the sensors at the last node, whose state is x (nx,); T = 1."""
        motion = self._motion(np.array([self.count]), x[None], self.u[-1:], theta, slopes)
        return residuals([some.some(self.samples[-1:]) for some in self.readings], motion, efforts)

    def along(
        self,
        x: NodeStates,
        theta: Vector | Float[np.ndarray, "nodes p"],
        command_noise: Float[np.ndarray, "N inputs"] | None = None,
    ) -> Iterator[tuple[np.ndarray, RobotMotion]]:
        """Samples, and the motion of the robot there after impacts, some at a time, mode by mode.

        Args:
            x: (N + 1, nx) states at all nodes.
            theta: (p,), or (N + 1, p) where it is another at each node.
            command_noise: (N, inputs) applied less recorded commands of the stages; None: zero.
        """
        u = self.u[self.samples]
        if command_noise is not None:
            # the last node has no stage, so no noise
            u[:-1] += command_noise
        # at a sample with an impact sensors are read after it
        nodes = self.after_impacts
        mode = self.schedule.mode_of[self.samples[nodes]]
        per_call = STATES_PER_CALL if theta.ndim == 1 else 1
        for each in range(len(self.modes)):
            of_mode = nodes[mode == each]
            for begin in range(0, len(of_mode), per_call):
                some = of_mode[begin : begin + per_call]
                own = theta if theta.ndim == 1 else theta[some[0]]
                yield self.samples[some], self._motion(some, x[some], u[some], own, slopes=False)

    def contact_velocities(self, x: NodeStates) -> list[Columns]:
        """(S, 3) of each contact, closed or not, at states of the samples [m/s]."""
        (q, v), contacts = self.states.split(x), self.schedule.contacts
        frames = [frame for contact in contacts for frame in contact.frames]
        motions = MotionTerms(self.parameters.robot).frames(frames, q, v, 0 * v)
        return [contact.velocity(contact.motion(motions))[:, :3] for contact in contacts]

    def part(self, first: int, last: int) -> Stages:
        """The stages of the samples from `first` to before `last`."""
        k = slice(first, last)
        schedule = replace(self.schedule, closed=self.schedule.closed[k])
        readings = tuple(some.some(k) for some in self.readings)
        return Stages(self.parameters, schedule, self.times[k], self.u[k], readings)

    @cached_property
    def after_impacts(self) -> np.ndarray:
        """(S,) the node of each sample at which sensors are read."""
        return np.flatnonzero(~np.append(self.resets, False))

    def _motion(
        self, nodes: np.ndarray, x: States, u: Float[np.ndarray, "T inputs"], theta: Vector, slopes: bool
    ) -> RobotMotion:
        """The motion at nodes of one mode that are all resets, or all steps."""
        q, v = (np.ascontiguousarray(part) for part in self.states.split(x))
        samples = self.samples[nodes]
        dynamics = self.modes[int(self.schedule.mode_of[samples[0]])]
        # none begins at the last node
        if nodes[0] < self.count and self.resets[nodes[0]]:
            return dynamics.impact(q, v, theta, slopes)
        return dynamics(q, v, u, theta, slopes)

    def _groups(self, first: int, T: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Indices of stages, and their nodes, that one call can evaluate."""
        nodes = np.arange(first, first + T)
        # one number for mode and reset, since np.unique of pairs would sort rows
        kind = 2 * self.schedule.mode_of[self.samples[nodes]] + self.resets[nodes]
        for each in np.unique(kind):
            places = np.flatnonzero(kind == each)
            for begin in range(0, len(places), STATES_PER_CALL):
                some = places[begin : begin + STATES_PER_CALL]
                yield some, nodes[some]
