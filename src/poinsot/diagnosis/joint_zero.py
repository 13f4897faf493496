"""Joints whose zero is not the description's.

Gravity turns with all proximal joints, coupling with distal ones alone: an offset between them shows. The zero of a
first joint with a vertical axis shows nowhere, and that of a last joint turns its link's parameters with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Unchecked
from ..regression.inverse_dynamics import InverseDynamics
from .case import Examination
from .changes import mapped
from .check import Cause
from .corrections import turned
from .explanations import Candidate, Explained, Explanation, improvement, severity_of


@dataclass(frozen=True, eq=False)
class ShiftedZero(Candidate):
    """An offset added to the position of one joint [rad]."""

    joint: int = 0

    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        train, joint = problem.robot.train, problem.robot.joints[self.joint]
        return mapped(problem, lambda s: turned(s, train, joint, float(nuisance[0])))


@dataclass(frozen=True)
class JointZero(Explanation):
    """An offset of each revolute joint.

    Args:
        warning_deg, error_deg: sizes; 5 deg move a twelfth of a gravity torque to another parameter.
        grid_deg: between the offsets that are tried first.
    """

    warning_deg: float = 1.0
    error_deg: float = 5.0
    grid_deg: float = 30.0

    cause = Cause(
        "joint-zero",
        "The zero of a joint is not the description's.",
        "Add the offset: position_offset in [drive].",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        robot = case.thin.robot
        if robot.floating_base:
            return
        starts = [(float(x),) for x in np.radians(np.arange(-180 + self.grid_deg, 181, self.grid_deg))]
        for k, joint in enumerate(robot.joints):
            if robot.position_units[k] == "rad":
                yield ShiftedZero(
                    self,
                    (joint,),
                    starts=starts,
                    steps=(1e-3,),
                    zero=(0.0,),
                    matters=np.radians(self.warning_deg),
                    joint=k,
                )

    def finding(self, case: Examination, explained: Explained) -> Finding | None:
        candidate = explained.candidate
        assert isinstance(candidate, ShiftedZero)
        offset, std = float(np.degrees(explained.nuisance[0])), float(np.degrees(explained.std[0]))
        offset = (offset + 180) % 360 - 180
        if abs(offset) < 4 * std:
            return None
        train = case.thin.robot.train
        whole = np.degrees(train.offset)
        whole[candidate.joint] += offset
        values = ", ".join(f"{x:.4g}" for x in np.round(whole, 2))
        return Finding(
            self.cause.name,
            severity_of(abs(offset), self.warning_deg, self.error_deg),
            f"The zero of joint {candidate.where[0]} is off by {offset:.3g} +- {1.96 * std:.2g} deg: with it added, "
            f"{improvement(case, explained)}.",
            f'Write position_offset = {{ values = [{values}], unit = "deg" }} in [drive].',
            candidate.where[0],
        )

    def unobservable(self, candidate: Candidate) -> Unchecked:
        return Unchecked(
            f"the zero of joint {candidate.where[0]}",
            "an offset changes no torque that other parameters of its links do not explain as well",
        )
