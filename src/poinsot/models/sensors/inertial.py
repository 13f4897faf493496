"""Sensors of an inertial unit: angular velocity, specific force, integrated velocity."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import ReadingRows, Vector
from ..contact_dynamics import RobotMotion
from .sensor import FrameSensor, ReadingSlopes


class TwistSensor(FrameSensor):
    """A sensor of components of a frame's velocity (linear, angular) in its axes. A subclass gives `rows`."""

    @property
    @abstractmethod
    def rows(self) -> slice:
        """Which of the six components it reads."""

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
    """Velocity of a frame's origin in its axes [m/s], as an inertial unit has it from integrated accelerations."""

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

    @cached_property
    def _gravity(self) -> Vector:
        return np.array(self.robot.model.gravity.linear)

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        frame = self.motion_of_frame(motion)
        # at rest it reads what holds it up
        return frame.point_acceleration - frame.seen_in_frame(self._gravity)[0]

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.motion_of_frame(motion)
        by_q, by_v, by_a = frame.point_acceleration_slopes()
        return ReadingSlopes(by_q - frame.seen_in_frame(self._gravity)[1], by_v, by_a)
