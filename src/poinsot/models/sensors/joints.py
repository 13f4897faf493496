"""Sensors of joints: encoders and tachometers, one component a joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Columns, Matrix, ReadingRows
from ...exceptions import InvalidModel, check_known
from ..contacts.contact_dynamics import RobotMotion
from ..robot import tree as kinds
from .sensor import ReadingSlopes, Sensor


@dataclass(frozen=True, eq=False)
class JointSensor(Sensor):
    """One component a joint.

    Args:
        joints: names of the joints; none: all.
    """

    joints: tuple[str, ...] = ()

    def _check(self) -> None:
        for joint in self.joints:
            check_known(joint, self.robot.joints, "no joint", "the robot has", limit=20)
        # a single floating body
        if not self.robot.joints:
            raise InvalidModel(f"robot {self.robot.name!r} has no joints to read")

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(f"{self.quantity}.{joint}" for joint in self.joints or self.robot.joints)

    @cached_property
    def dofs(self) -> np.ndarray:
        """(m,) indices in v."""
        robot = self.robot
        return robot.actuated[[robot.joints.index(joint) for joint in self.joints or robot.joints]]

    @cached_property
    def chosen(self) -> Matrix:
        """(m, n) 1 where a component measures a freedom."""
        return np.eye(self.robot.model.nv)[self.dofs]


@dataclass(frozen=True, eq=False)
class JointPosition(JointSensor):
    """Encoders [rad] or [m]. Joints without limits are measured modulo full turns: differences are from -pi to pi."""

    quantity = "position"
    name = "joint positions"

    def _check(self) -> None:
        super()._check()
        _ = self._turning

    @cached_property
    def _turning(self) -> np.ndarray:
        """(m,) whether a joint has no limits."""
        tree, (first, turning) = self.robot.tree, self.robot.coordinates
        # positions of a planar joint change along its own axes, not the world's
        planar = np.repeat(tree.kind, kinds.DEGREES[tree.kind]) == kinds.PLANAR
        for joint, dof in zip(self.joints or self.robot.joints, self.dofs.tolist(), strict=True):
            if first[dof] < 0 or planar[dof]:
                raise InvalidModel(
                    f"{joint!r} is a freedom of a ball or planar joint, whose position is no angle: read its velocity, "
                    f"or the orientation of its link"
                )
        return np.asarray(turning[self.dofs])

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(self.robot.position_units[dof] for dof in self.dofs)

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        return self.robot.joint_positions(motion.q)[:, self.dofs - self.robot.actuated[0]]

    def difference(self, readings: ReadingRows, motion: RobotMotion) -> Columns:
        away = readings - self.predicted(motion)
        turning = self._turning
        # a joint without limits is measured modulo full turns
        away[:, turning] = np.remainder(away[:, turning] + np.pi, 2 * np.pi) - np.pi
        return away

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        return ReadingSlopes(q=self.chosen)


@dataclass(frozen=True, eq=False)
class JointVelocity(JointSensor):
    """Speeds of joints [rad/s] or [m/s]."""

    quantity = "velocity"
    name = "joint velocities"

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(f"{self.robot.position_units[dof]}/s" for dof in self.dofs)

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        return motion.v[:, self.dofs]

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        return ReadingSlopes(v=self.chosen)
