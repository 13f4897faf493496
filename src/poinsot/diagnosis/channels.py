"""Channels with a wrong declaration: sign, joint, unit, or side of the reduction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..estimate import Finding
from .case import joints_of, mapped
from .cause import Cause
from .examination import Examination
from .explanations import UNMOVED, Candidate, Explanation

ALL = "all joints"


def scaled(
    cause: Cause,
    where: tuple[str, ...],
    finding: Callable[..., Finding],
    position: np.ndarray | float = 1.0,
    torque: np.ndarray | float = 1.0,
) -> Candidate:
    """Candidate with positions and torques times factors, common to all joints or one per joint; -1 changes a sign."""
    p, t = position, torque
    return Candidate(
        cause,
        where,
        lambda problem, *_: mapped(
            problem, lambda s: replace(s, q=s.q * p, v=s.v * p, a=s.a * p, tau=s.tau * t)
        ),
        finding,
        motion=("scaled", tuple(np.atleast_1d(p).tolist())) if np.any(p != 1.0) else UNMOVED,
    )


def places(joints: tuple[str, ...], value: float) -> dict[str, np.ndarray]:
    """Factors (n,): `value` for all joints, and where there are several for each joint, with 1 for the others."""
    n = len(joints)
    single = {joint: np.where(np.arange(n) == k, value, 1.0) for k, joint in enumerate(joints)}
    return {ALL: np.full(n, value), **(single if n > 1 else {})}


class Sign(Explanation):
    """Each joint's torque, position, or both negated."""

    fixed_base = False
    cause = Cause(
        "sign",
        "A position or torque channel counts against the joint's axis in the description.",
        "Negate the channel: scale = -1 for its column, or a negative reduction where both are read at the motor.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        negated = places(joints := joints_of(case.thin), -1.0)
        negated = negated if len(joints) > 1 else {joints[0]: negated[ALL]}
        for where, factors in negated.items():
            yield self._negated(where, factors, "torque")
        for where, factors in negated.items():
            yield self._negated(where, factors, "position")
            if where != ALL:
                yield self._negated(where, factors, "position and torque")

    def _negated(self, where: str, factors: np.ndarray, what: str) -> Candidate:
        finding = self.exact(
            f"The sign of {what} of {where if where == ALL else f'joint {where}'} is wrong: with it changed",
            f"Write scale = [{', '.join(f'{factor:g}' for factor in factors)}] in {what.replace('and', 'and in')} of "
            "the recordings.",
            "" if where == ALL else where,
        )
        changed = dict.fromkeys(what.split(" and "), factors)
        return scaled(self.cause, (where, what), finding, **changed)


class SwappedChannels(Explanation):
    """Two exchanged joints: each pair of torque channels, of position channels, and of both."""

    fixed_base = False
    cause = Cause(
        "swapped-channels",
        "The columns of two joints are exchanged.",
        "Exchange the two columns in the list of columns.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        pairs = list(combinations(range(len(joints_of(case.thin))), 2))
        for pair in pairs:
            yield self._swap(case, pair, "torque")
        for pair in pairs:  # both share their regressor
            yield self._swap(case, pair, "position")
            yield self._swap(case, pair, "position and torque")

    def _swap(self, case: Examination, pair: tuple[int, int], keys: str) -> Candidate:
        joints = joints_of(case.thin)
        order = np.arange(len(joints))
        order[list(pair)] = pair[::-1]
        p, t = (order if key in keys else slice(None) for key in ("position", "torque"))
        first, second = (joints[k] for k in pair)
        return Candidate(
            self.cause,
            (first, second, keys),
            lambda problem, *_: mapped(
                problem, lambda s: replace(s, q=s.q[:, p], v=s.v[:, p], a=s.a[:, p], tau=s.tau[:, t])
            ),
            self.exact(
                f"The {keys} columns of joints {first} and {second} are exchanged: in the other order",
                f"Exchange the two entries of columns in {keys.replace('and', 'and in')} of the recordings.",
                f"{first}, {second}",
            ),
            motion=("exchanged", pair) if "position" in keys else UNMOVED,
        )


class AngleUnit(Explanation):
    """Degrees declared as radians or the reverse: all positions, and those of each joint."""

    fixed_base = False
    cause = Cause(
        "angle-unit",
        "Positions in degrees are declared as radians, or the reverse.",
        'Declare the unit of the file: unit = "deg" or unit = "rad".',
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        for unit, declared, factor in (("deg", "rad", np.pi / 180), ("rad", "deg", 180 / np.pi)):
            for where, factors in places(joints_of(case.thin), factor).items():
                finding = self.exact(
                    f"Positions of {where} are in {unit}, declared as {declared}: read as such",
                    f'Write unit = "{unit}" in position of the recordings.',
                    "" if where == ALL else where,
                )
                yield scaled(self.cause, (where, unit), finding, position=factors)


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
        if robot.drive.side != "motor" or np.allclose(np.abs(N), 1):
            return
        N = N[[robot.joints.index(joint) for joint in joints_of(case.thin)]]
        both = "so that both are at the motor side."
        for what, remedy, p, t in (
            ("positions and torques", 'Write side = "joint" in [drive].', N, 1 / N),
            ("positions", f"Write the reduction as scale of the positions, {both}", N, 1.0),
            ("torques", f"Write 1 / reduction as scale of the torques, {both}", 1.0, 1 / N),
        ):
            message = (
                f"The {what} are at the joint side already, but the reduction is applied again: without it"
            )
            yield scaled(self.cause, (what,), self.exact(message, remedy), position=p, torque=t)
