"""Joints whose zero is not the description's.

Gravity turns with all proximal joints, coupling with distal ones alone: an offset between them shows. The zero of a
first joint with a vertical axis shows nowhere, and that of a last joint turns its link's parameters with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Finding, Unchecked
from .case import Examination
from .check import Cause
from .corrections import Nuisance, differences
from .explanations import Candidate, Explained, Explanation, improvement, severity_of


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
        for joint, unit in zip(robot.joints, robot.position_units, strict=True):
            if unit == "rad":
                zero = differences([Nuisance("zero", joint)], explanation=self)
                yield replace(zero, where=(joint,), starts=starts, matters=np.radians(self.warning_deg))

    def finding(self, case: Examination, explained: Explained) -> Finding | None:
        (joint,) = explained.candidate.where
        offset, std = float(np.degrees(explained.nuisance[0])), float(np.degrees(explained.std[0]))
        offset = (offset + 180) % 360 - 180
        if abs(offset) < 4 * std:
            return None
        train = case.thin.robot.train
        whole = np.degrees(train.offset)
        whole[train.joints.index(joint)] += offset
        values = ", ".join(f"{x:.4g}" for x in np.round(whole, 2))
        return Finding(
            self.cause.name,
            severity_of(abs(offset), self.warning_deg, self.error_deg),
            f"The zero of joint {joint} is off by {offset:.3g} +- {1.96 * std:.2g} deg: with it added, "
            f"{improvement(case, explained)}.",
            f'Write position_offset = {{ values = [{values}], unit = "deg" }} in [drive].',
            joint,
        )

    def unobservable(self, candidate: Candidate) -> Unchecked:
        return Unchecked(
            f"the zero of joint {candidate.where[0]}",
            "an offset changes no torque that other parameters of its links do not explain as well",
        )
