"""What the checks of an estimate of actuators look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from ...arrays import Vector
from ...estimate import Estimate
from .effects import ServoErrors
from .following import Following
from .problem import ActuatorProblem, CommandedMotion
from .result import Actuators
from .simulated import SimulatedMotions


@dataclass(frozen=True, eq=False)
class Case:
    """What the checks look at: an estimate, its actuators, and the problem with its motions."""

    estimate: Estimate
    found: Actuators
    problem: ActuatorProblem

    @property
    def errors(self) -> ServoErrors:
        """Effects of the estimate."""
        return cast("ServoErrors", self.estimate.parameters.uncertainty.systematic)

    @property
    def simulated(self) -> SimulatedMotions:
        """What the estimate simulates."""
        return self.errors.at

    @cached_property
    def _followed(self) -> dict[tuple[str, int], Following]:
        return {}

    def following(self, motion: CommandedMotion, k: int) -> Following:
        """How the position of a joint of the problem follows its own command."""
        key = motion.name, k
        if key not in self._followed:
            self._followed[key] = Following.of(motion.steps.time, motion.command[:, k], motion.measured[:, k])
        return self._followed[key]

    def moving(self) -> Iterator[tuple[CommandedMotion, int, Vector, Vector]]:
        """(motion, place of a joint, (T,) its commands, (T,) positions) where both move enough to be compared."""
        for motion in self.problem.all_motions:
            for k, unit in enumerate(self.problem.units):
                c, q = motion.command[:, k], motion.measured[:, k]
                if np.isfinite(q).sum() > 50 and np.ptp(c) > 0 and extent(q) > 2 * least_motion(unit):
                    yield motion, k, c, q


def extent(values: Vector) -> float:
    """Range of values but for a hundredth at either end, those that are NaN left out."""
    finite = values[np.isfinite(values)]
    return float(np.subtract(*np.quantile(finite, (0.99, 0.01)))) if len(finite) else 0.0


def least_motion(unit: str) -> float:
    """Below this, dry friction and rounding hide everything else: 0.6 degrees, seven steps of a usual encoder."""
    return 0.01 if unit == "rad" else 1e-3
