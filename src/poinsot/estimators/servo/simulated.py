"""Simulated positions of an estimate of servos, their residuals, and what changes of the description do to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...arrays import Vector
from ...diagnosis.effect_fit import NORMAL_MEDIAN
from ...diagnosis.outliers import outlying
from ...models.servo.mechanics import Mechanics
from ...models.servo.rollout import ActuatorRollout, JointLoad, roll_out
from ...parameters import Normal
from .intervals import combined
from .problem import ActuatorProblem, CommandedMotion
from .result import Actuators
from .search import GroupProblem, JointRecording

MOST_ROWS = 4000
"""Rows of all recordings together; more of them do not change which effects are named."""

Profile = list[np.ndarray]
"""One array of samples (T, ...) for each recording."""


@dataclass(frozen=True, eq=False)
class SimulatedMotions:
    """Simulated positions of an estimate, and what they are with changed loads or another supply.

    Args:
        problem: of the estimate. found: its actuators.
    """

    problem: ActuatorProblem
    found: Actuators

    @property
    def motions(self) -> tuple[CommandedMotion, ...]:
        return self.problem.motions

    @cached_property
    def rollouts(self) -> list[list[ActuatorRollout]]:
        """Of each recording and joint, with sensitivities."""
        by_group = [group.rollouts(z, slopes=True) for group, z in self.found.fitted]
        return [
            [by_group[g][m * count + n] for g, n, count in self._places] for m in range(len(self.motions))
        ]

    @cached_property
    def _places(self) -> list[tuple[int, int, int]]:
        """(group, place in it, its number of joints) of each joint."""
        groups = [group.coordinates.joints for group, _ in self.found.fitted]
        place = {
            joint: (g, n, len(joints)) for g, joints in enumerate(groups) for n, joint in enumerate(joints)
        }
        return [place[joint] for joint in self.problem.joints]

    def group(self, joint: int) -> GroupProblem:
        """The group of a joint."""
        return self.found.fitted[self._places[joint][0]][0]

    def strand(self, motion: int, joint: int) -> JointRecording:
        g, n, count = self._places[joint]
        return self.found.fitted[g][0].strands[motion * count + n]

    def position(
        self, motion: int, joint: int, *, load: JointLoad | None = None, supply: Vector | None = None
    ) -> Vector:
        """(T,) with another load, or another supply over the nominal one (K,)."""
        g, n, count = self._places[joint]
        (group, z), strand = self.found.fitted[g], self.strand(motion, joint)
        found = roll_out(
            group.numbers(motion * count + n, z), strand.steps, strand.setpoint, load or strand.load,
            supply=strand.supply if supply is None else supply, knots=group.knots,
        )  # fmt: skip
        return found.position

    @cached_property
    def simulated(self) -> Profile:
        """(T, n) positions."""
        return [np.stack([each.position for each in rollouts], axis=1) for rollouts in self.rollouts]

    @cached_property
    def residuals(self) -> Profile:
        """(T, n) measured less simulated; NaN where nothing was measured."""
        return [motion.measured - q for motion, q in zip(self.motions, self.simulated, strict=True)]

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
        """Of each recording, along its measured motion, with the robot as described."""
        return [self.problem.measured_loads(motion) for motion in self.motions]

    def changed(self, mechanics: Mechanics | None = None, shift: Vector | float = 0.0) -> Profile:
        """(T, n) change of the positions with another description, or readings of positions (m,) shifted."""
        found = []
        for m, motion in enumerate(self.motions):
            other = replace(motion, q=motion.q - shift)
            wrong = self.problem.measured_loads(other, mechanics or self.problem.mechanics)
            columns = []
            for k, (there, usual) in enumerate(zip(wrong, self.loads[m], strict=True)):
                load, change = self.strand(m, k).load, combined(there, usual, -1.0)
                more, less = (self.position(m, k, load=combined(load, change, sign)) for sign in (1.0, -1.0))
                columns.append(0.5 * (more - less))
            found.append(np.stack(columns, axis=1))
        return found

    def of_joint(self, joint: int, values: Sequence[Vector]) -> Profile:
        """(T, n) values (T,) of one joint, 0 for the others."""
        found = []
        for motion, value in zip(self.motions, values, strict=True):
            column = np.zeros((len(motion.steps.time), len(self.problem.joints)))
            column[:, joint] = value
            found.append(column)
        return found

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
    def sensitivities(self) -> tuple[np.ndarray, tuple[tuple[int, Normal], ...]]:
        """(N, n, p) by the coordinates of all groups that have an effect, and priors of these."""
        blocks: list[np.ndarray] = []
        priors: list[tuple[int, Normal]] = []
        first = 0
        for group, z in self.found.fitted:
            coordinates, p = group.coordinates, group.coordinates.size
            slope, samples = coordinates.slope(z[:p]), []
            places = [self.problem.joints.index(joint) for joint in coordinates.joints]
            for m, motion in enumerate(self.motions):
                block = np.zeros((len(motion.steps.time), len(self.problem.joints), p))
                for n, k in enumerate(places):
                    own = np.nan_to_num(self.rollouts[m][k].sensitivities[:, :-2])
                    block[:, k] = coordinates.spread(own, n) @ slope
                samples.append(block)
            W = self.rows(samples)
            shown = np.flatnonzero(np.sum(W**2, axis=(0, 1)) > 0)
            for number, column in enumerate(shown):
                if np.isfinite(group.std[column]):
                    priors.append(
                        (
                            first + number,
                            Normal(float(group.mean[column] - z[column]), float(group.std[column])),
                        )
                    )
            blocks.append(W[:, :, shown])
            first += len(shown)
        return np.concatenate(blocks, axis=2), tuple(priors)

    @cached_property
    def noise(self) -> Vector:
        """(n,) white noise of the readings, from third differences."""
        third = np.concatenate([np.diff(motion.measured, 3, axis=0) for motion in self.motions])
        return np.asarray(np.nanmedian(np.abs(third), axis=0) / NORMAL_MEDIAN / np.sqrt(20))
