"""Geometry that differs from the description: zeros of joints, axes, lengths, directions of centres of mass.

Gravity turns with all proximal joints, coupling only with distal ones: an offset between them is observable. The zero
of a first joint with a vertical axis is not, and that of a last joint is equivalent to rotated parameters of its link.

Gravity determines the base parameters h = (mx, my, mz) of link i and all that it carries; the described ones,
h0 = K pi0, have the same direction to 30 degrees. An offset of the last joint changes only this direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Severity, Unchecked
from ..regression.inverse_dynamics import InverseDynamics
from .check import Check
from .corrections import Nuisance, differences
from .description import described_base
from .effects.geometry import DESCRIPTION, ZERO
from .examination import Examination
from .explanations import Candidate, Explained, Explanation, severity_of

MOMENTS = ("mx", "my", "mz")


def displaced(
    joint: int, longer: float, turn: Vector, problem: InverseDynamics, x: Vector, _: Vector
) -> InverseDynamics:
    """The problem with a joint's frame rotated by x [rad] about `turn`, or 1 + x times as far from its parent's."""
    model = problem.robot.model.copy()
    place = model.jointPlacements[joint + 1]
    K = np.cross(np.eye(3), turn)  # of the cross product with turn
    place.rotation = place.rotation @ (np.eye(3) + np.sin(x[0]) * K + (1 - np.cos(x[0])) * K @ K)
    place.translation = place.translation * (1 + x[0] * longer)
    return problem.with_robot(replace(problem.robot, model=model))


class JointZero(Explanation):
    """An offset of each revolute joint.

    Class variables:
        warning_deg, error_deg: sizes; 5 deg attribute a twelfth of a gravity torque to another parameter.
        grid_deg: spacing of the initial guesses of the offset.
    """

    warning_deg, error_deg = 1.0, 5.0
    grid_deg = 30.0

    cause = ZERO

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        robot = case.thin.robot
        starts = [(float(x),) for x in np.radians(np.arange(-180 + self.grid_deg, 181, self.grid_deg))]
        for k, joint in enumerate(robot.joints):
            if robot.position_units[k] == "rad":
                yield Candidate(
                    self.cause,
                    (joint,),
                    differences([Nuisance("zero", joint)]).change,
                    partial(self._finding, k),
                    starts,
                    matters=np.radians(self.warning_deg),
                )

    def _finding(self, k: int, case: Examination, explained: Explained) -> Finding:
        offset, std = float(np.degrees(explained.nuisance[0])), float(np.degrees(explained.std[0]))
        offset = (offset + 180) % 360 - 180
        (joint,) = explained.candidate.where
        whole = np.degrees(case.thin.robot.train.offset)
        whole[k] += offset
        values = ", ".join(f"{x:.4g}" for x in np.round(whole, 2))
        return self.cause.finding(
            severity_of(abs(offset), self.warning_deg, self.error_deg),
            f"The zero of joint {joint} is off by {offset:.3g} +- {1.96 * std:.2g} deg: with it added",
            f'Write position_offset = {{ values = [{values}], unit = "deg" }} in [drive].',
            joint,
        )


class JointPlacements(Explanation):
    """Two rotations of each joint's axis, and its distance from the parent joint.

    The first joint has neither: a tilted first axis is equivalent to a tilted base, see `Gravity`.

    Class variables:
        warning_deg, error_deg: angles of an axis. warning, error: relative errors of a length.
        matters: relative error of a joint that must be exceeded for this check.
    """

    warning_deg, error_deg = 2.0, 5.0
    warning, error = 0.05, 0.1
    matters = 0.02

    cause = DESCRIPTION

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        robot = case.thin.robot
        model = robot.model
        if model.nv != model.njoints - 1 or np.all(case.declared.ratio < self.matters):
            return
        for k, joint in enumerate(robot.joints[1:], start=1):
            ways = [(0.0, normal) for normal in np.linalg.svd(robot.tree.axis[k][None])[2][1:]]
            if np.linalg.norm(model.jointPlacements[k + 1].translation) > 0:
                ways.append((1.0, np.zeros(3)))
            for longer, turn in ways:
                yield Candidate(
                    self.cause,
                    (joint,),
                    partial(displaced, k, longer, turn),
                    partial(self._finding, bool(longer)),
                    starts=[(0.0,)],
                    matters=self.warning if longer else np.radians(self.warning_deg),
                    largest_step=0.3,
                )

    def _finding(self, longer: bool, case: Examination, explained: Explained) -> Finding:
        x, std = float(explained.nuisance[0]), float(explained.std[0])
        (joint,) = explained.candidate.where
        if longer:
            severity = severity_of(abs(x), self.warning, self.error)
            what = f"origin of joint {joint} is {1 + x:.3g} +- {1.96 * std:.2g} times as far from its parent's as"
        else:
            x, std = abs(np.degrees(x)), np.degrees(std)
            severity = severity_of(x, self.warning_deg, self.error_deg)
            what = f"axis of joint {joint} is {x:.3g} +- {1.96 * std:.2g} deg away from that"
        return self.cause.finding(severity, f"The {what} in the description: with it", where=joint)


class BodyDirections(Check):
    """The angle between first moments as estimated and as described.

    Class variables:
        warning_deg, error_deg: two and three times the accuracy of a description.
        shown: standard deviations by which the first moment must differ from zero.
        matters: least first moment of a link, as part of the largest, both as described.
    """

    warning_deg, error_deg = 60.0, 90.0
    shown = 6.0
    matters = 0.05

    causes = (JointZero.cause,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        solved = case.best
        problem = solved.problem
        alone, beta0, S = described_base(problem, radius=0.0)
        if not alone.any() or problem.robot.floating_base:
            return
        names = np.array([problem.parameters.names[c] for c in problem.base.chosen])[alone].tolist()
        theta, std = solved.theta[alone], np.sqrt(np.diag(solved.covariance) * solved.inflation)[alone]
        links = []
        for number, body in zip(problem.robot.body_joints, problem.robot.bodies, strict=True):
            rows = [names.index(f"{m}{number}") for m in MOMENTS if f"{m}{number}" in names]
            if len(rows) == 2:
                links.append((number, body, rows, float(np.linalg.norm(beta0[rows]))))
        largest = max((was for *_, was in links), default=0.0)
        for number, body, rows, was in links:
            h, h0, size = theta[rows], beta0[rows], float(np.linalg.norm(theta[rows]))
            if was < self.matters * largest or size < self.shown * np.max(std[rows]) or was == 0:
                continue
            angle = float(np.degrees(np.arccos(np.clip(h @ h0 / (size * was), -1, 1))))
            # the described direction of a sum of links is less certain than that of one link
            across = np.array([-h0[1], h0[0]]) / was
            known = float(np.degrees(np.arctan(np.sqrt(across @ S[np.ix_(rows, rows)] @ across) / was)))
            if angle < max(self.warning_deg, 2 * known):
                continue
            joint = problem.robot.joints[number - 1] if number <= len(problem.robot.joints) else body
            yield self.causes[0].finding(
                Severity.error if angle >= max(self.error_deg, 3 * known) else Severity.warning,
                f"The centre of mass of {body} and what it carries lies {angle:.3g} deg from the described direction: "
                f"the zero of joint {joint} is off by as much, or the description is wrong.",
                "Write position_offset in [drive], or correct the centre of mass in the description.",
                joint,
                evidence=(angle / max(known, 1.0)) ** 2 / 2,
            )
