"""Simulated positions of an estimate of servos, their residuals, and what changes of the description do to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Vector
from ...diagnosis.effect_fit import NORMAL_MEDIAN
from ...diagnosis.outliers import outlying
from ...models.servo.actuator import Actuator
from ...models.servo.mechanics import Mechanics
from ...models.servo.rollout import ActuatorRollout, JointLoad, Steps, roll_out
from ...parameters import Normal
from .problem import ActuatorProblem, CommandedMotion
from .search import GroupProblem, JointRecording

MOST_ROWS = 4000
"""Rows of all recordings together; more of them do not change which effects are named."""

STEP = 0.01
"""Part of a change of which derivatives of positions are taken."""

Profile = list[np.ndarray]
"""One array of samples (T, ...) for each recording."""


def combined(load: JointLoad, other: JointLoad, factor: float) -> JointLoad:
    """A load and a multiple of another one, along the posture of the first."""
    names = ("inertia", "load", "slope", "static")
    return replace(load, **{name: getattr(load, name) + factor * getattr(other, name) for name in names})


@dataclass(frozen=True, eq=False)
class SimulatedMotions:
    """Simulated positions of groups of joints, and what they are with changed loads, another supply or clock.

    Args:
        problem: of the estimate. fitted: problem and unknowns of each group of joints. actuators: of `joints`.
    """

    problem: ActuatorProblem
    fitted: tuple[tuple[GroupProblem, Vector], ...]
    actuators: tuple[Actuator, ...] = ()

    @cached_property
    def numbers(self) -> list[int]:
        """(n,) places of the joints among those of the problem."""
        mine = {joint for group, _ in self.fitted for joint in group.coordinates.joints}
        return [k for k, joint in enumerate(self.problem.joints) if joint in mine]

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """(n,) of the groups, in the order of the problem."""
        return tuple(self.problem.joints[k] for k in self.numbers)

    @cached_property
    def measured(self) -> Profile:
        """(T, n) positions; NaN where nothing was measured."""
        return [motion.measured[:, self.numbers] for motion in self.motions]

    @property
    def motions(self) -> tuple[CommandedMotion, ...]:
        return self.problem.motions

    @cached_property
    def rollouts(self) -> list[list[ActuatorRollout]]:
        """Of each recording and joint, with sensitivities."""
        by_group = [group.rollouts(z, slopes=True) for group, z in self.fitted]
        return [
            [by_group[g][m * count + n] for g, n, count in self._places] for m in range(len(self.motions))
        ]

    @cached_property
    def _places(self) -> list[tuple[int, int, int]]:
        """(group, place in it, its number of joints) of each joint."""
        groups = [group.coordinates.joints for group, _ in self.fitted]
        place = {
            joint: (g, n, len(joints)) for g, joints in enumerate(groups) for n, joint in enumerate(joints)
        }
        return [place[joint] for joint in self.joints]

    def group(self, joint: int) -> GroupProblem:
        """The group of a joint."""
        return self.fitted[self._places[joint][0]][0]

    def strand(self, motion: int, joint: int) -> JointRecording:
        g, n, count = self._places[joint]
        return self.fitted[g][0].strands[motion * count + n]

    def position(self, motion: int, joint: int, **changes: Any) -> Vector:
        """(T,) where fields of the joint's `JointRecording` are others."""
        g, n, count = self._places[joint]
        (group, z), strand = self.fitted[g], replace(self.strand(motion, joint), **changes)
        numbers = group.numbers(motion * count + n, z)
        return roll_out(
            numbers, strand.steps, strand.setpoint, strand.load, supply=strand.supply, knots=group.knots
        ).position

    def slope(self, of: Callable[[float], Vector]) -> Vector:
        """(T,) derivative of positions by a part of a change: motion is not linear in a whole one."""
        return np.asarray((of(STEP) - of(-STEP)) / (2 * STEP))

    def of_clock(self, motion: int, joint: int, longer: float) -> Vector:
        """(T,) change of the position where a second is longer by this part.

        What accelerations take is then less, by twice as much.
        """
        strand = self.strand(motion, joint)

        def position(part: float) -> Vector:
            factor, load = 1 + part * longer, strand.load
            return self.position(
                motion,
                joint,
                steps=Steps(factor * strand.steps.time, strand.steps.counts),
                setpoint=replace(strand.setpoint, time=factor * strand.setpoint.time),
                load=replace(load, load=load.static + (load.load - load.static) / factor**2),
            )

        return self.slope(position)

    @cached_property
    def simulated(self) -> Profile:
        """(T, n) positions."""
        return [np.stack([each.position for each in rollouts], axis=1) for rollouts in self.rollouts]

    @cached_property
    def residuals(self) -> Profile:
        """(T, n) measured less simulated; NaN where nothing was measured."""
        return [measured - q for measured, q in zip(self.measured, self.simulated, strict=True)]

    @cached_property
    def regular(self) -> Profile:
        """`residuals`, NaN for readings that are far from their neighbours."""
        return [
            np.where(np.stack([outlying(column) for column in e.T], axis=1), np.nan, e)
            for e in self.residuals
        ]

    @cached_property
    def progress(self) -> Profile:
        """(T,) from -1/2 to 1/2 over each recording."""
        return [np.linspace(-0.5, 0.5, len(motion.steps.time)) for motion in self.motions]

    @cached_property
    def loads(self) -> list[tuple[JointLoad, ...]]:
        """Of each recording, along its simulated motion, with the robot as described."""
        return [self._loads(m, self.problem.mechanics) for m in range(len(self.motions))]

    def _loads(self, motion: int, mechanics: Mechanics, shift: Vector | float = 0.0) -> tuple[JointLoad, ...]:
        rollouts = dict(zip(self.joints, self.rollouts[motion], strict=True))
        loads = self.problem.simulated_loads(self.motions[motion], rollouts, mechanics, shift)
        return tuple(loads[k] for k in self.numbers)

    def changed(self, mechanics: Mechanics | None = None, shift: Vector | float = 0.0) -> np.ndarray:
        """(N, n) change of the positions with another description, or readings of positions (m,) shifted."""
        wrong = [
            self._loads(m, mechanics or self.problem.mechanics, -np.asarray(shift))
            for m in range(len(self.motions))
        ]

        def change(m: int, k: int) -> Vector:
            load, more = self.strand(m, k).load, combined(wrong[m][k], self.loads[m][k], -1.0)
            if not (more.load.any() or more.inertia.any()):
                return np.zeros(len(self.motions[m].steps.time))
            return self.slope(lambda part: self.position(m, k, load=combined(load, more, part)))

        return self.of_joints(range(len(self.joints)), change)

    def of_joints(self, joints: Iterable[int], values: Callable[[int, int], Vector]) -> np.ndarray:
        """(N, n) rows of values (T,) of recording and joint; 0 for other joints."""
        found = [np.zeros(q.shape) for q in self.measured]
        for k in joints:
            for m, samples in enumerate(found):
                samples[:, k] = values(m, k)
        return self.rows(found)

    @cached_property
    def stride(self) -> int:
        return max(1, -(-sum(len(motion.steps.time) for motion in self.motions) // MOST_ROWS))

    def rows(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """(N, n, ...) of (T, n, ...), evenly spaced, 0 where nothing regular was measured."""
        found = []
        for residual, samples in zip(self.regular, values, strict=True):
            rows = np.nan_to_num(samples[:: self.stride])
            rows[~np.isfinite(residual[:: self.stride])] = 0.0
            found.append(rows)
        return np.concatenate(found)

    @cached_property
    def by_coordinates(self) -> np.ndarray:
        """(N, n, P) derivatives of the positions by the coordinates of all groups."""
        blocks = []
        for group, z in self.fitted:
            coordinates, p = group.coordinates, group.coordinates.size
            slope, samples = coordinates.slope(z[:p]), []
            places = [self.joints.index(joint) for joint in coordinates.joints]
            for m, motion in enumerate(self.motions):
                block = np.zeros((len(motion.steps.time), len(self.joints), p))
                for n, k in enumerate(places):
                    own = np.nan_to_num(self.rollouts[m][k].sensitivities[:, :-2])
                    block[:, k] = coordinates.spread(own, n) @ slope
                samples.append(block)
            blocks.append(self.rows(samples))
        return np.concatenate(blocks, axis=2)

    @cached_property
    def shown(self) -> np.ndarray:
        """Numbers of the coordinates that have an effect."""
        return np.flatnonzero(np.sum(self.by_coordinates**2, axis=(0, 1)) > 0)

    @cached_property
    def sensitivities(self) -> tuple[np.ndarray, tuple[tuple[int, Normal], ...]]:
        """(N, n, b) by the coordinates that have an effect, and priors of these."""
        mean, std, x = (
            np.concatenate([values(group, z)[: group.coordinates.size] for group, z in self.fitted])[
                self.shown
            ]
            for values in (lambda group, _: group.mean, lambda group, _: group.std, lambda _, z: z)
        )
        priors = tuple(
            (k, Normal(float(mean[k] - x[k]), float(std[k])))
            for k in np.flatnonzero(np.isfinite(std)).tolist()
        )
        return self.by_coordinates[:, :, self.shown], priors

    @cached_property
    def noise(self) -> Vector:
        """(n,) white noise of the readings, from third differences."""
        third = np.concatenate([np.diff(measured, 3, axis=0) for measured in self.measured])
        return np.asarray(np.nanmedian(np.abs(third), axis=0) / NORMAL_MEDIAN / np.sqrt(20))
