"""A reduction that is applied to data of the joint side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity
from .case import Examination
from .changes import joints_of, scaled
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement


@dataclass(frozen=True)
class Reduction(Explanation):
    """Positions, torques, or both, are the joint's already."""

    cause = Cause(
        "reduction",
        "Channels that are the joint's already are divided or multiplied by the reduction again.",
        'Write side = "joint" in [drive], or leave the reduction out where the controller has applied it.',
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        robot = case.thin.robot
        N = np.diag(robot.train.reduction)
        if robot.drive.side != "motor" or np.allclose(np.abs(N), 1) or robot.floating_base:
            return
        N = N[[robot.joints.index(joint) for joint in joints_of(case.thin)]]
        yield scaled(self, ("positions and torques",), position=N, torque=1 / N)
        yield scaled(self, ("positions",), position=N)
        yield scaled(self, ("torques",), torque=1 / N)

    def finding(self, case: Examination, explained: Explained) -> Finding:
        (what,) = explained.candidate.where
        remedy = {
            "positions and torques": 'Write side = "joint" in [drive].',
            "positions": "Write the reduction as scale of the positions, so that both are the motors'.",
            "torques": "Write 1 / reduction as scale of the torques, so that both are the motors'.",
        }
        return Finding(
            self.cause.name,
            Severity.error,
            f"The {what} are the joints' already, and the reduction is applied again: without it, "
            f"{improvement(case, explained)}.",
            remedy[what],
        )
