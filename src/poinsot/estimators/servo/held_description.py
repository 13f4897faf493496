"""What errors of the robot's description do to an estimate: link inertias and the direction of gravity are held.

Positions show torques in proportion to the inertias and the gravity that the description has. With r(z) the whitened
residuals of a group at its minimum z, J their Jacobian, H = J^T J with priors, and r_i those with the description
changed by one standard deviation of its error i, the minimum moves by (implicit function theorem)

    dz_i = -H^-1 J^T (r_i(z) - r_-i(z)) / 2,        covariance = sum over i of dz_i dz_i^T

A part of the residuals that such errors explain is no evidence for anything else (`least_cost`).

The errors, independent of each other: all ten inertial parameters of each link by a common factor, and the direction of
gravity about two horizontal axes. Where a prior or a held stiffness gives the scale, H and r_i have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy import linalg

from ...arrays import Matrix, Vector
from ...models.servo.mechanics import Mechanics
from ...models.servo.rollout import JointLoad
from .problem import ActuatorProblem, CommandedMotion
from .search import GroupProblem

LoadChange = tuple[JointLoad, ...]
"""(n,) what one error of the description adds to the load of each joint of the problem, in one recording."""


@dataclass(frozen=True, eq=False)
class DescriptionErrors:
    """Errors of a description by one standard deviation each.

    Args:
        changes: for each error, the change of the loads in every recording.
    """

    changes: tuple[tuple[LoadChange, ...], ...]

    @staticmethod
    def of(problem: ActuatorProblem, motions: Sequence[CommandedMotion]) -> DescriptionErrors:
        """The errors of a problem's robot, with their loads along the measured motions."""
        cases = _wrong_mechanics(problem)
        right = [problem.measured_loads(motion) for motion in motions] if cases else []
        found = []
        for mechanics in cases:
            wrong = [problem.measured_loads(motion, mechanics) for motion in motions]
            found.append(tuple(_differences(*pair) for pair in zip(wrong, right, strict=True)))
        return DescriptionErrors(tuple(found))

    def covariance(self, problem: ActuatorProblem, group: GroupProblem, z: Vector) -> Matrix:
        """(size, size) of a group's unknowns at its minimum z (size,)."""
        J, size = _scaled(group.jacobian(z))
        seen = size > 0
        inverse = linalg.pinvh(J[:, seen].T @ J[:, seen] + 1e-14 * np.eye(seen.sum()))
        shifts = np.zeros((len(z), len(self.changes)))
        shifts[seen] = -inverse @ (J[:, seen].T @ self.effects(problem, group, z)) / size[seen, None]
        return shifts @ shifts.T

    def effects(self, problem: ActuatorProblem, group: GroupProblem, z: Vector) -> Matrix:
        """(N, E) change of a group's residuals at z (size,) by one standard deviation of each error."""
        places = [problem.joints.index(joint) for joint in group.coordinates.joints]
        found = []
        for change in self.changes:
            added = [change[k // len(places)][places[each.joint]] for k, each in enumerate(group.strands)]
            more, less = (_with_loads(group, added, sign).residuals(z) for sign in (1.0, -1.0))
            found.append(0.5 * np.nan_to_num(more - less))
        return np.stack(found, axis=1) if found else np.zeros((len(group.residuals(z)), 0))

    def least_cost(self, problem: ActuatorProblem, group: GroupProblem, z: Vector) -> float:
        """Cost of a group at its minimum z (size,) less what the description's errors take away, each with its prior:

            min over dz of |r + J dz|^2 / 2  -  min over dz, d of (|r + J dz + D d|^2 + c |d|^2) / 2

        with r the residuals, D their `effects` and c their correlation time, which every prior has; unknowns at a bound
        stay there.
        """
        dense, r, D = group.dense(), group.residuals(z), self.effects(problem, group, z)
        J, size = _scaled(group.jacobian(z))
        J = J[:, (size > 0) & (z > dense.lower) & (z < dense.upper)]
        priors = np.hstack(
            [np.zeros((D.shape[1], J.shape[1])), np.sqrt(group.correlation) * np.eye(D.shape[1])]
        )
        both, padded = np.vstack([np.hstack([J, D]), priors]), np.concatenate([r, np.zeros(D.shape[1])])
        return 0.5 * float(r @ r - _left(J, r) + _left(both, padded))


def _left(A: Matrix, b: Vector) -> float:
    """Least squares of b - A x."""
    left = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    return float(left @ left)


def _scaled(J: Matrix) -> tuple[Matrix, Vector]:
    """Columns of a Jacobian (N, size) with norm 1, and their norms (size,); 0 for those that no sample shows."""
    size = np.linalg.norm(J, axis=0)
    size[size < 1e-8 * size.max()] = 0.0
    return J / np.where(size > 0, size, 1.0), size


def _wrong_mechanics(problem: ActuatorProblem) -> list[Mechanics]:
    right, found = problem.mechanics, []
    if problem.link_inertia_std > 0:
        for k in range(len(right.inertials)):
            inertials = right.inertials.copy()
            inertials[k] *= 1.0 + problem.link_inertia_std
            found.append(replace(right, inertials=inertials))
    size = float(np.linalg.norm(right.gravity))
    if problem.gravity_tilt_std > 0 and size > 0:
        down = right.gravity / size
        side = np.cross(down, np.eye(3)[np.argmin(np.abs(down))])
        side /= np.linalg.norm(side)
        for axis in (side, np.cross(down, side)):
            tilted = np.cos(problem.gravity_tilt_std) * down + np.sin(problem.gravity_tilt_std) * axis
            found.append(replace(right, gravity=size * tilted))
    return found


def _differences(wrong: LoadChange, right: LoadChange) -> LoadChange:
    return tuple(_combined(a, b, -1.0) for a, b in zip(wrong, right, strict=True))


def _combined(load: JointLoad, other: JointLoad, factor: float) -> JointLoad:
    """A load and a multiple of another one, along the posture of the first."""
    return JointLoad(
        **{
            each.name: getattr(load, each.name)
            if each.name == "posture"
            else getattr(load, each.name) + factor * getattr(other, each.name)
            for each in fields(load)
        }
    )


def _with_loads(group: GroupProblem, added: Sequence[JointLoad], factor: float) -> GroupProblem:
    strands = tuple(
        replace(strand, load=_combined(strand.load, more, factor))
        for strand, more in zip(group.strands, added, strict=True)
    )
    return replace(group, strands=strands)
