"""Torque that has nothing to do with the motion: the model explains it no better than its mean does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from .case import Examination
from .check import Cause, Check


@dataclass(frozen=True)
class TorqueNoise(Check):
    """Explained variance of each joint, about its mean.

    Args:
        error: adjusted R^2 below which the torque of a joint is noise.
    """

    error: float = 0.2

    causes = (
        Cause(
            "torque-noise",
            "The torque is unrelated to the motion: another signal, another recording, or noise.",
            "Look at the torque columns, and whether positions and torques are of one recording.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        if case.explained:
            return
        solved = case.declared
        W, y = solved.dense.W, solved.dense.y
        passive = case.problem.robot.drive.passive
        noisy, worst = [], 1.0
        names = case.problem.robot.effort_names
        for k, joint in enumerate(names):
            variance = float(np.var(y[:, k]))
            if joint in passive or variance == 0:
                continue
            left = max(solved.rows - W.shape[2] / len(names), 1.0)
            r2 = 1 - float(np.sum(solved.residuals[:, k] ** 2)) / left / variance
            if r2 < self.error:
                noisy.append(joint)
                worst = min(worst, r2)
        if noisy:
            everything = len(noisy) == len(names) - len(passive)
            yield Finding(
                "torque-noise",
                Severity.error,
                f"The motion explains {max(100 * worst, 0):.2g} % of the variance of the torque of "
                f"{'all joints' if everything else ', '.join(noisy)}: it is noise, or another signal.",
                "Look at the torque columns, and whether they are of the same recording as the positions.",
                "" if everything else ", ".join(noisy),
                evidence=50.0 * len(noisy),
            )
