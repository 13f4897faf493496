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


@dataclass(frozen=True, eq=False)
class OtherPlacement(Candidate):
    """The frame of a joint in its parent: turned about an axis of its own [rad], or further away by a part."""

    joint: int = 0
    axis: tuple[float, float, float] | None = None

    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        import pinocchio as pin

        model = problem.robot.model.copy()
        place = model.jointPlacements[self.joint + 1].copy()
        if self.axis is None:
            place.translation = place.translation * (1 + nuisance[0])
        else:
            place.rotation = place.rotation @ pin.exp3(nuisance[0] * np.array(self.axis))
        model.jointPlacements[self.joint + 1] = place
        return problem.with_robot(replace(problem.robot, model=model))


@dataclass(frozen=True)
class Geometry(Explanation):
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
            axis = _axis(model, k + 1)
            normals = np.linalg.svd(axis[None])[2][1:]
            for normal in normals:
                yield OtherPlacement(
                    self,
                    (joint,),
                    [(0.0,)],
                    (1e-3,),
                    (0.0,),
                    matters=np.radians(self.warning_deg),
                    largest_step=0.3,
                    joint=k,
                    axis=tuple(normal.tolist()),
                )
            if k and np.linalg.norm(model.jointPlacements[k + 1].translation) > 0:
                yield OtherPlacement(
                    self,
                    (joint,),
                    [(0.0,)],
                    (1e-3,),
                    (0.0,),
                    matters=self.warning,
                    largest_step=0.3,
                    joint=k,
                )

    def finding(self, case: Examination, explained: Explained) -> Finding | None:
        candidate = explained.candidate
        assert isinstance(candidate, OtherPlacement)
        size, std = abs(float(explained.nuisance[0])), float(explained.std[0])
        if size < 4 * std:
            return None
        (joint,) = candidate.where
        if candidate.axis is None:
            what = f"The origin of joint {joint} is {1 + explained.nuisance[0]:.3g} +- {1.96 * std:.2g} times as far from its parent's"
            severity = severity_of(size, self.warning, self.error)
        else:
            what = f"The axis of joint {joint} is {np.degrees(size):.3g} +- {np.degrees(1.96 * std):.2g} deg from where it is"
            severity = severity_of(np.degrees(size), self.warning_deg, self.error_deg)
        return Finding(
            self.cause.name,
            severity,
            f"{what} in the description: with it, {improvement(case, explained)}.",
            f"Measure it, and mend the origin of joint {joint} in the description.",
            joint,
        )


def _axis(model: object, joint: int) -> np.ndarray:
    """(3,) of a joint of one degree of freedom, in its own frame."""
    import pinocchio as pin

    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    column = pin.getJointJacobian(model, data, joint, pin.LOCAL)[:, model.joints[joint].idx_v]
    return np.array(column[3:] if np.any(column[3:]) else column[:3])


@dataclass(frozen=True, eq=False)
class OtherLengths(Candidate):
    """All lengths of the description, times a factor."""

    factor: float = 1.0

    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        model = problem.robot.model.copy()
        for place in model.jointPlacements:
            place.translation = place.translation * self.factor
        for body in model.inertias:
            body.lever, body.inertia = body.lever * self.factor, body.inertia * self.factor**2
        robot = replace(problem.robot, model=model)
        return InverseDynamics(robot, problem.recordings, held=problem.held, priors=problem.priors)


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
            yield OtherLengths(self, ("mm",), factor=1e-3)

    def finding(self, case: Examination, explained: Explained) -> Finding:
        (unit,) = explained.candidate.where
        return Finding(
            self.cause.name,
            Severity.error,
            f"Lengths of the description are in {unit}: read so, {improvement(case, explained)}.",
            "Write them in metres: origins of joints and of inertias, and inertias in kg m^2.",
        )
