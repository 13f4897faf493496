"""Sensors of the motion of a frame and of forces on it: those of an inertial unit, and those of a foot."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Matrix, ReadingRows, Vector
from ..contacts.contact_dynamics import RobotMotion
from ..robot.articulated import Articulated
from .sensor import FrameSensor, ReadingSlopes


class TwistSensor(FrameSensor):
    """A sensor of components of a frame's velocity (linear, angular) in its axes. A subclass gives `rows`."""

    @property
    @abstractmethod
    def rows(self) -> slice:
        """The components, of six, that it measures."""

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        return self.motion_of_frame(motion).velocity[:, self.rows]

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        by = self.motion_of_frame(motion).by
        return ReadingSlopes(q=by.velocity_by_q[:, self.rows], v=by.jacobian[:, self.rows])


@dataclass(frozen=True, eq=False)
class Gyro(TwistSensor):
    """Angular velocity of a frame in its axes [rad/s]."""

    quantity = "gyro"
    label = "gyro at"
    component_units = ("rad/s",) * 3
    rows = slice(3, 6)


@dataclass(frozen=True, eq=False)
class PreintegratedVelocity(TwistSensor):
    """Velocity of a frame's origin in its axes [m/s], as an inertial unit integrates it from accelerations."""

    quantity = "frame_velocity"
    label = "velocity of"
    component_units = ("m/s",) * 3
    rows = slice(0, 3)


@dataclass(frozen=True, eq=False)
class Accelerometer(FrameSensor):
    """Specific force at a frame's origin in its axes, acceleration less gravity [m/s^2]: 9.81 upward at rest."""

    depends_on_efforts = True
    quantity = "accelerometer"
    label = "accelerometer at"
    component_units = ("m/s^2",) * 3

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        frame = self.motion_of_frame(motion)
        # at rest it reads the support against gravity
        return frame.point_acceleration - frame.seen_in_frame(self.robot.tree.gravity)[0]

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.motion_of_frame(motion)
        by_q, by_v, by_a = frame.point_acceleration_slopes()
        return ReadingSlopes(by_q - frame.seen_in_frame(self.robot.tree.gravity)[1], by_v, by_a)


@dataclass(frozen=True, eq=False)
class ContactVelocity(TwistSensor):
    """Velocity of a foot in its axes, linear and, if it cannot turn, angular [m/s], [rad/s].

    Readings are 0 while it stands, with the noise of how much it slips, and NaN while it does not.

    Args:
        turning: whether its angular velocity is measured too.
    """

    turning: bool = False

    quantity = "foot_velocity"
    label = "velocity of the foot"

    @property
    def units(self) -> tuple[str, ...]:
        return (("m/s",) * 3 + ("rad/s",) * 3)[: 6 if self.turning else 3]

    @property
    def rows(self) -> slice:
        return slice(0, self.size)


@dataclass(frozen=True, eq=False)
class ContactForce(FrameSensor):
    """Force of the world on the robot at a contact, in the axes of its frame [N], and with moments [N m].

    An open contact is expected to read 0, and so are the moments of a point.

    Args:
        moments: whether a reading is force and moment, six components.
    """

    moments: bool = False

    depends_on_efforts = True
    quantity = "force"
    label = "force at"

    @classmethod
    def with_channels(
        cls, robot: Articulated, noise: float | Vector | Matrix, frame: str, ends: Sequence[str]
    ) -> ContactForce:
        return cls(robot, noise, frame, moments="mx" in ends)

    @property
    def units(self) -> tuple[str, ...]:
        return (("N",) * 3 + ("N m",) * 3)[: 6 if self.moments else 3]

    @property
    def frames(self) -> tuple[str, ...]:
        return ()

    def _rows(self, motion: RobotMotion) -> slice:
        """The rows of forces that are measured; empty where the contact is open."""
        # an open contact has no rows
        rows = motion.rows(self.frame) or slice(0, 0)
        return slice(rows.start, min(rows.stop, rows.start + self.size))

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        rows = self._rows(motion)
        expected = np.zeros((len(motion), self.size))
        expected[:, : rows.stop - rows.start] = motion.forces[:, rows]
        return expected

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        rows = self._rows(motion)
        chosen = np.zeros((self.size, motion.forces.shape[1]))
        chosen[: rows.stop - rows.start, rows] = np.eye(rows.stop - rows.start)
        return ReadingSlopes(forces=chosen)
