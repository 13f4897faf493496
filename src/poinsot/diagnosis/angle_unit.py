"""Degrees declared as radians, and the reverse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity
from .case import Examination
from .changes import joints_of, only, scaled
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement


@dataclass(frozen=True)
class AngleUnit(Explanation):
    """All positions, and those of each joint, in the other unit."""

    cause = Cause(
        "angle-unit",
        "Positions in degrees are declared as radians, or the reverse.",
        'Write the unit that the file has: unit = "deg" or unit = "rad".',
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        for unit, factor in (("deg", np.pi / 180), ("rad", 180 / np.pi)):
            yield scaled(self, ("all joints", unit), position=factor)
            for k, joint in enumerate(joints if len(joints) > 1 else ()):
                yield scaled(self, (joint, unit), position=only(k, factor, len(joints)))

    def finding(self, case: Examination, explained: Explained) -> Finding:
        where, unit = explained.candidate.where
        declared = "rad" if unit == "deg" else "deg"
        return Finding(
            self.cause.name,
            Severity.error,
            f"Positions of {where} are in {unit}, declared as {declared}: read so, {improvement(case, explained)}.",
            f'Write unit = "{unit}" in position of the recordings.',
            "" if where == "all joints" else where,
        )
