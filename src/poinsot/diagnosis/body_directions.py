"""Centres of mass that lie in another direction than the description says.

What gravity shows of link i are the base parameters h = (mx, my, mz) of it and of what it carries; those that the
description gives, h0 = K pi0, point the same way to 30 degrees. An offset of the last joint changes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from .case import Examination
from .check import Check
from .description import Described
from .explanations import inflation
from .joint_zero import JointZero

MOMENTS = ("mx", "my", "mz")


@dataclass(frozen=True)
class BodyDirections(Check):
    """The angle between first moments as estimated and as described.

    Args:
        warning_deg, error_deg: two and three times what a description knows.
        shown: standard deviations by which the first moment must differ from zero.
        matters: part of the largest first moment times gravity that a link's must be, as described.
    """

    warning_deg: float = 60.0
    error_deg: float = 90.0
    shown: float = 6.0
    matters: float = 0.05

    causes = (JointZero.cause,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        solved = case.best
        problem = solved.problem
        if not Described(problem).says_something or problem.robot.floating_base:
            return
        alone, beta0, S = Described(problem, radius=0.0).base(problem.base)
        places = np.flatnonzero(alone).tolist()
        described = dict(zip(places, beta0.tolist(), strict=True))
        names = [problem.parameters.names[c] for c in problem.base.chosen]
        std = np.sqrt(np.diag(solved.covariance) * inflation(solved))
        links = []
        for number, body in enumerate(problem.robot.bodies, start=1):
            rows = [names.index(f"{m}{number}") for m in MOMENTS if f"{m}{number}" in names]
            rows = [row for row in rows if row in described]
            if len(rows) == 2:
                h, h0 = solved.theta[rows], np.array([described[row] for row in rows])
                at = [places.index(row) for row in rows]
                links.append((number, body, h, h0, float(np.max(std[rows])), S[np.ix_(at, at)]))
        largest = max((float(np.linalg.norm(h0)) for *_, h0, _, _ in links), default=0.0)
        for number, body, h, h0, deviation, S0 in links:
            size, was = float(np.linalg.norm(h)), float(np.linalg.norm(h0))
            if was < self.matters * largest or size < self.shown * deviation or was == 0:
                continue
            angle = float(np.degrees(np.arccos(np.clip(h @ h0 / (size * was), -1, 1))))
            # of a sum of links the description knows the direction less well than that of one link
            across = np.array([-h0[1], h0[0]]) / was
            known = float(np.degrees(np.arctan(np.sqrt(across @ S0 @ across) / was)))
            if angle < max(self.warning_deg, 2 * known):
                continue
            joint = problem.robot.joints[number - 1] if number <= len(problem.robot.joints) else body
            yield Finding(
                "joint-zero",
                Severity.error if angle >= max(self.error_deg, 3 * known) else Severity.warning,
                f"The centre of mass of {body} and what it carries lies {angle:.3g} deg from the described direction: "
                f"the zero of joint {joint} is off by as much, or the description is wrong.",
                "Write position_offset in [drive], or mend the centre of mass in the description.",
                joint,
                evidence=(angle / max(known, 1.0)) ** 2 / 2,
            )
