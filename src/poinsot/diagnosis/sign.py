"""A position or torque channel that counts the other way round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..estimate import Finding, Severity
from .case import Examination
from .changes import joints_of, only, scaled
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement

ALL = "all joints"


@dataclass(frozen=True)
class Sign(Explanation):
    """Each joint's torque, position, or both negated."""

    cause = Cause(
        "sign",
        "A position or torque channel counts against the joint's axis in the description.",
        "Negate the channel: scale = -1 for its column, or a negative reduction where both are read at the motor.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        if len(joints) > 1:
            yield scaled(self, (ALL, "torque"), torque=-1.0)
            yield scaled(self, (ALL, "position"), position=-1.0)
        for k, joint in enumerate(joints):
            yield scaled(self, (joint, "torque"), torque=only(k, -1.0, len(joints)))
        for k, joint in enumerate(joints):
            turned = only(k, -1.0, len(joints))
            yield scaled(self, (joint, "position"), position=turned)
            yield scaled(self, (joint, "position and torque"), position=turned, torque=turned)

    def finding(self, case: Examination, explained: Explained) -> Finding:
        joint, what = explained.candidate.where
        keys = what.split(" and ")
        joints = joints_of(case.thin)
        whose = joint if joint == ALL else f"joint {joint}"
        scale = ", ".join("-1" if joint in (each, ALL) else "1" for each in joints)
        return Finding(
            self.cause.name,
            Severity.error,
            f"The sign of {what} of {whose} is wrong: with it turned, {improvement(case, explained)}.",
            f"Write scale = [{scale}] in {' and in '.join(keys)} of the recordings.",
            "" if joint == ALL else joint,
        )
