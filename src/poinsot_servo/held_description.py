"""What errors of the robot's description do to an estimate: link inertias and the direction of gravity are held.

Positions show torques in proportion to the inertias and the gravity that the description has. With r(z) the whitened
residuals of a group at its minimum z, J their Jacobian, H = J^T J with priors, and r_i those with the description
changed by one standard deviation of its error i, the minimum moves by (implicit function theorem)

    dz_i = -H^-1 J^T (r_i(z) - r_-i(z)) / 2,        covariance = sum over i of dz_i dz_i^T

The errors, independent of each other: all ten inertial parameters of each link by a common factor, and the direction of
gravity about two horizontal axes. Where a prior or a held stiffness gives the scale, H and r_i have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy import linalg

from poinsot.arrays import Matrix, Vector

from .mechanics import Mechanics
from .problem import ActuatorProblem, Motion
from .rollout import JointLoad
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
    def of(problem: ActuatorProblem, motions: Sequence[Motion]) -> DescriptionErrors:
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
        total = np.zeros((len(z), len(z)))
        if not self.changes:
            return total
        places = [problem.joints.index(joint) for joint in group.coordinates.joints]
        J = group.jacobian(z)
        size = np.linalg.norm(J, axis=0)
        seen = size > 1e-8 * size.max()
        J = J[:, seen] / size[seen]
        inverse = linalg.pinvh(J.T @ J + 1e-14 * np.eye(J.shape[1]))
        for change in self.changes:
            added = [change[k // len(places)][places[each.joint]] for k, each in enumerate(group.strands)]
            if not any(np.any(each.load) or np.any(each.inertia) for each in added):
                continue
            more, less = (_with_loads(group, added, sign).residuals(z) for sign in (1.0, -1.0))
            shift = np.zeros(len(z))
            shift[seen] = -inverse @ (J.T @ (0.5 * np.nan_to_num(more - less))) / size[seen]
            total += np.outer(shift, shift)
        return total


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
