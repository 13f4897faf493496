"""Joints whose zero is not the description's.

Gravity turns with all proximal joints, coupling with distal ones alone: an offset between them shows. The zero of a
first joint with a vertical axis shows nowhere, and that of a last joint turns its link's parameters with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Unchecked
from ..regression.inverse_dynamics import InverseDynamics
from .case import Examination
from .changes import joints_of, mapped
from .check import Cause
from .explanations import SMALLER, Candidate, Explained, Explanation, improvement, severity_of


def shifted(problem: InverseDynamics, offset: Vector) -> InverseDynamics:
    """Offsets (n,) added to the positions of the joints [rad]."""
    train = problem.robot.train
    columns = [train.joints.index(joint) for joint in joints_of(problem)]
    read = np.linalg.solve(train.velocity_map, offset)[columns]
    return mapped(problem, lambda s: replace(s, q=s.q + read))


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
                unit = np.eye(len(robot.joints))[k]
                yield Candidate(
                    self,
                    (joint,),
                    lambda problem, x, _, unit=unit: shifted(problem, x * unit),  # type: ignore[misc]
                    starts,
                    matters=np.radians(self.warning_deg),
                    about=k,
                )

    def finding(self, case: Examination, explained: Explained) -> Finding:
        offset, std = float(np.degrees(explained.nuisance[0])), float(np.degrees(explained.std[0]))
        offset = (offset + 180) % 360 - 180
        (joint,) = explained.candidate.where
        whole = np.degrees(case.thin.robot.train.offset)
        whole[explained.candidate.about] += offset
        values = ", ".join(f"{x:.4g}" for x in np.round(whole, 2))
        return Finding(
            self.cause.name,
            severity_of(abs(offset), self.warning_deg, self.error_deg),
            f"The zero of joint {joint} is off by {offset:.3g} +- {1.96 * std:.2g} deg: with it added, "
            f"{improvement(case, explained)}.",
            f'Write position_offset = {{ values = [{values}], unit = "deg" }} in [drive].',
            joint,
        )

    def unobservable(self, candidate: Candidate, size: float) -> Unchecked | None:
        if (degrees := np.degrees(size)) < self.error_deg:
            return None
        return Unchecked(
            f"the zero of joint {candidate.where[0]}",
            f"this motion shows offsets of more than {degrees:.2g} deg; {SMALLER}"
            if degrees < 90
            else "an offset changes no torque that other parameters of its links do not explain as well",
        )
