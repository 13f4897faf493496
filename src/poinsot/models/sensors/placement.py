"""Sensors of the pose of a frame in the world: attitude filters, markers, motion capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Columns, Float, ReadingRows
from ...quantities import QUATERNION, XYZ
from ..contacts.contact_dynamics import RobotMotion
from ..robot.configuration_space import left_slopes
from ..rotations import from_quaternion, log, to_quaternion
from .sensor import FrameSensor, ReadingSlopes, channels_of

ROTATION = ("rx", "ry", "rz")
"""Suffixes of the names of a rotation vector's components."""


def rotation_from_first(quaternions: Float[np.ndarray, "T 4"]) -> Float[np.ndarray, "T 3"]:
    """Rotation vectors from the first one [rad]."""
    R = from_quaternion(quaternions)
    return log(R[0].T @ R)


@dataclass(frozen=True, eq=False)
class Orientation(FrameSensor):
    """Orientation of a frame in the world. A reading is a quaternion (x, y, z, w), a difference a vector [rad]."""

    quantity = "orientation"
    label = "orientation of"
    component_units = ("rad",) * 3

    @property
    def channel_units(self) -> tuple[str, ...]:
        return ("1",) * 4

    @property
    def components(self) -> tuple[str, ...]:
        return channels_of(self.quantity, self.frame, ROTATION)

    def along(self, readings: ReadingRows) -> Columns:
        return rotation_from_first(readings)

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        return to_quaternion(self.motion_of_frame(motion).rotation)

    def difference(self, readings: ReadingRows, motion: RobotMotion) -> Columns:
        return log(self.motion_of_frame(motion).rotation.transpose(0, 2, 1) @ from_quaternion(readings))

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        return ReadingSlopes(q=self.motion_of_frame(motion).by.jacobian[:, 3:])

    def difference_slopes(self, readings: ReadingRows, motion: RobotMotion) -> ReadingSlopes:
        return self.slopes(motion).times(-left_slopes(self.difference(readings, motion)))


@dataclass(frozen=True, eq=False)
class Position(FrameSensor):
    """Position of a frame's origin in the world [m], e.g. of a marker tracked by cameras."""

    quantity = "frame_position"
    label = "position of"
    component_units = ("m",) * 3

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        return self.motion_of_frame(motion).position

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.motion_of_frame(motion)
        return ReadingSlopes(q=frame.rotation @ frame.by.jacobian[:, :3])


@dataclass(frozen=True, eq=False)
class Pose(FrameSensor):
    """Pose of a frame in the world (motion capture). A reading is x, y, z [m] and a quaternion (x, y, z, w).

    A difference is that of positions, in the world's axes [m], and of orientations, in the frame's [rad].
    """

    quantity = "pose"
    label = "pose of"
    component_units = ("m",) * 3 + ("rad",) * 3

    @property
    def channels(self) -> tuple[str, ...]:
        return self._with_orientation(QUATERNION)

    @property
    def channel_units(self) -> tuple[str, ...]:
        return (*("m",) * 3, *("1",) * 4)

    @property
    def components(self) -> tuple[str, ...]:
        return self._with_orientation(ROTATION)

    def _with_orientation(self, ends: Sequence[str]) -> tuple[str, ...]:
        position = channels_of(Position.quantity, self.frame, XYZ)
        return (*position, *channels_of(Orientation.quantity, self.frame, ends))

    def along(self, readings: ReadingRows) -> Columns:
        return np.concatenate([readings[:, :3], rotation_from_first(readings[:, 3:])], axis=1)

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        frame = self.motion_of_frame(motion)
        return np.concatenate([frame.position, to_quaternion(frame.rotation)], axis=1)

    def difference(self, readings: ReadingRows, motion: RobotMotion) -> Columns:
        frame = self.motion_of_frame(motion)
        turned = log(frame.rotation.transpose(0, 2, 1) @ from_quaternion(readings[:, 3:]))
        return np.concatenate([readings[:, :3] - frame.position, turned], axis=1)

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.motion_of_frame(motion)
        J = frame.by.jacobian
        return ReadingSlopes(q=np.concatenate([frame.rotation @ J[:, :3], J[:, 3:]], axis=1))

    def difference_slopes(self, readings: ReadingRows, motion: RobotMotion) -> ReadingSlopes:
        factor = np.zeros((len(motion), 6, 6))
        # positions are in the world's axes, so rotating the frame does not rotate their difference
        factor[:, :3, :3] = -np.eye(3)
        factor[:, 3:, 3:] = -left_slopes(self.difference(readings, motion)[:, 3:])
        return self.slopes(motion).times(factor)
