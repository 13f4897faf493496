"""Channels with a wrong declaration: sign, joint, unit, or side of the reduction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..estimate import Finding, Severity
from .case import Examination, joints_of, mapped
from .check import Cause
from .explanations import UNMOVED, Candidate, Explained, Explanation

ALL = "all joints"


def scaled(
    explanation: Explanation,
    where: tuple[str, ...],
    position: np.ndarray | float = 1.0,
    torque: np.ndarray | float = 1.0,
) -> Candidate:
    """Candidate with positions and torques times factors, common to all joints or one per joint; -1 changes a sign."""
    p, t = position, torque
    return Candidate(
        explanation,
        where,
        lambda problem, *_: mapped(
            problem, lambda s: replace(s, q=s.q * p, v=s.v * p, a=s.a * p, tau=s.tau * t)
        ),
        motion=("scaled", tuple(np.atleast_1d(p).tolist())) if np.any(p != 1.0) else UNMOVED,
    )


def only(joint: int, value: float, count: int) -> np.ndarray:
    """(count,) factors: `value` for one joint, 1 for the others."""
    return np.where(np.arange(count) == joint, value, 1.0)


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
        scale = ", ".join("-1" if joint in (each, ALL) else "1" for each in joints_of(case.thin))
        return self.cause.finding(
            Severity.error,
            f"The sign of {what} of {joint if joint == ALL else f'joint {joint}'} is wrong: with it changed",
            f"Write scale = [{scale}] in {what.replace('and', 'and in')} of the recordings.",
            "" if joint == ALL else joint,
        )


class SwappedChannels(Explanation):
    """Two exchanged joints: each pair of torque channels, of position channels, and of both."""

    cause = Cause(
        "swapped-channels",
        "The columns of two joints are exchanged.",
        "Exchange the two columns in the list of columns.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        pairs = list(combinations(range(len(joints_of(case.thin))), 2))
        for pair in pairs:
            yield self._swap(case, pair, ("torque",))
        for pair in pairs:  # both share their regressor
            yield self._swap(case, pair, ("position",))
            yield self._swap(case, pair, ("position", "torque"))

    def _swap(self, case: Examination, pair: tuple[int, int], keys: tuple[str, ...]) -> Candidate:
        joints = joints_of(case.thin)
        order = np.arange(len(joints))
        order[list(pair)] = pair[::-1]
        p, t = (order if key in keys else slice(None) for key in ("position", "torque"))
        return Candidate(
            self,
            tuple(joints[k] for k in pair),
            lambda problem, *_: mapped(
                problem, lambda s: replace(s, q=s.q[:, p], v=s.v[:, p], a=s.a[:, p], tau=s.tau[:, t])
            ),
            motion=("exchanged", pair) if "position" in keys else UNMOVED,
            about=" and ".join(keys),
        )

    def finding(self, case: Examination, explained: Explained) -> Finding:
        keys, (first, second) = explained.candidate.about, explained.candidate.where
        return self.cause.finding(
            Severity.error,
            f"The {keys} columns of joints {first} and {second} are exchanged: in the other order",
            f"Exchange the two entries of columns in {keys.replace('and', 'and in')} of the recordings.",
            f"{first}, {second}",
        )


class AngleUnit(Explanation):
    """Degrees declared as radians or the reverse: all positions, and those of each joint."""

    cause = Cause(
        "angle-unit",
        "Positions in degrees are declared as radians, or the reverse.",
        'Declare the unit of the file: unit = "deg" or unit = "rad".',
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        for unit, factor in (("deg", np.pi / 180), ("rad", 180 / np.pi)):
            yield scaled(self, (ALL, unit), position=factor)
            for k, joint in enumerate(joints if len(joints) > 1 else ()):
                yield scaled(self, (joint, unit), position=only(k, factor, len(joints)))

    def finding(self, case: Examination, explained: Explained) -> Finding:
        where, unit = explained.candidate.where
        return self.cause.finding(
            Severity.error,
            f"Positions of {where} are in {unit}, declared as {'rad' if unit == 'deg' else 'deg'}: read as such",
            f'Write unit = "{unit}" in position of the recordings.',
            "" if where == ALL else where,
        )


class Reduction(Explanation):
    """The reduction is applied to positions, torques, or both, that are at the joint side already."""

    cause = Cause(
        "reduction",
        "Channels that are at the joint side already are divided or multiplied by the reduction again.",
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
        remedies = {
            "positions and torques": 'Write side = "joint" in [drive].',
            "positions": "Write the reduction as scale of the positions, so that both are at the motor side.",
            "torques": "Write 1 / reduction as scale of the torques, so that both are at the motor side.",
        }
        message = f"The {what} are at the joint side already, but the reduction is applied again: without it"
        return self.cause.finding(Severity.error, message, remedies[what])
