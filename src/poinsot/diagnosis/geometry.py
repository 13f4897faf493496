"""Axes and lengths that are not the description's: a joint mounted askew, a link of another length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Severity
from ..regression.inverse_dynamics import InverseDynamics
from .case import Examination
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement, severity_of


def displaced(problem: InverseDynamics, joint: int, longer: float, turn: Vector) -> InverseDynamics:
    """The frame of a joint further from its parent's by a part, and turned by a vector in its own [rad]."""
    from scipy.spatial.transform import Rotation

    model = problem.robot.model.copy()
    place = model.jointPlacements[joint + 1]
    place.rotation = place.rotation @ Rotation.from_rotvec(turn).as_matrix()
    place.translation = place.translation * (1 + longer)
    return problem.with_robot(replace(problem.robot, model=model))


def in_metres(problem: InverseDynamics) -> InverseDynamics:
    """Lengths of the description are millimetres."""
    model = problem.robot.model.copy()
    for place in model.jointPlacements:
        place.translation = 1e-3 * place.translation
    for body in model.inertias:
        body.lever, body.inertia = 1e-3 * body.lever, 1e-6 * body.inertia
    robot = replace(problem.robot, model=model)
    return InverseDynamics(robot, problem.recordings, held=problem.held, priors=problem.priors)


@dataclass(frozen=True)
class JointPlacements(Explanation):
    """Two turns of each joint's axis, and the length before it.

    Args:
        warning_deg, error_deg: of an axis. warning, error: of a length, relative.
        matters: relative error of a joint below which nobody asks.
    """

    warning_deg: float = 2.0
    error_deg: float = 5.0
    warning: float = 0.05
    error: float = 0.1
    matters: float = 0.02

    cause = Cause(
        "description",
        "An axis or a length of the robot is not the description's.",
        "Measure it, and mend the origin of the joint in the description.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        robot = case.thin.robot
        model = robot.model
        if robot.floating_base or model.nv != model.njoints - 1 or np.all(case.declared.ratio < self.matters):
            return
        for k, joint in enumerate(robot.joints):
            ways = [(0.0, normal) for normal in np.linalg.svd(robot.tree.axis[k][None])[2][1:]]
            if k and np.linalg.norm(model.jointPlacements[k + 1].translation) > 0:
                ways.append((1.0, np.zeros(3)))
            for longer, turn in ways:
                yield Candidate(
                    self,
                    (joint,),
                    lambda problem, x, _, k=k, longer=longer, turn=turn: displaced(  # type: ignore[misc]
                        problem, k, x[0] * longer, x[0] * turn
                    ),
                    [(0.0,)],
                    matters=self.warning if longer else np.radians(self.warning_deg),
                    largest_step=0.3,
                    about=bool(longer),
                )

    def finding(self, case: Examination, explained: Explained) -> Finding:
        x, std = float(explained.nuisance[0]), float(explained.std[0])
        (joint,) = explained.candidate.where
        if explained.candidate.about:
            severity = severity_of(abs(x), self.warning, self.error)
            what = f"origin of joint {joint} is {1 + x:.3g} +- {1.96 * std:.2g} times as far from its parent's as"
        else:
            x, std = abs(np.degrees(x)), np.degrees(std)
            severity = severity_of(x, self.warning_deg, self.error_deg)
            what = f"axis of joint {joint} is {x:.3g} +- {1.96 * std:.2g} deg from where it is"
        return Finding(
            self.cause.name,
            severity,
            f"The {what} in the description: with it, {improvement(case, explained)}.",
            f"Measure it, and mend the origin of joint {joint} in the description.",
            joint,
        )


@dataclass(frozen=True)
class LengthUnit(Explanation):
    """Millimetres in a description that is read in metres."""

    cause = Cause(
        "length-unit",
        "Lengths of the description are in millimetres: gravity and inertia disagree by a thousand.",
        "Write metres in the description.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        if not case.thin.robot.floating_base and np.any(case.thin.robot.model.gravity.linear):
            yield Candidate(self, (), lambda problem, *_: in_metres(problem))

    def finding(self, case: Examination, explained: Explained) -> Finding:
        return Finding(
            self.cause.name,
            Severity.error,
            f"Lengths of the description are in mm: read so, {improvement(case, explained)}.",
            "Write them in metres: origins of joints and of inertias, and inertias in kg m^2.",
        )
