"""Sensors of a robot: predicted readings, residuals and their derivatives.

sensor      base classes: `Sensor`, and for those at a frame `FrameSensor`
joints      encoders and tachometers
placement   orientation, position and pose of a frame
inertial    gyro, accelerometer, velocity of a frame; forces at contacts, and the velocity of a foot that stands
readings    readings with gaps, and their whitened residuals

`frame_sensor` finds the sensor of a quantity that `poinsot.quantities` lists.
"""

from ...lazy import load
from ...quantities import FRAME_QUANTITIES
from .inertial import (
    Accelerometer as Accelerometer,
    ContactForce as ContactForce,
    ContactVelocity as ContactVelocity,
    Gyro as Gyro,
    PreintegratedVelocity as PreintegratedVelocity,
)
from .joints import JointPosition as JointPosition, JointVelocity as JointVelocity
from .placement import Orientation as Orientation, Pose as Pose, Position as Position
from .readings import Readings as Readings, frames_of as frames_of, residuals as residuals
from .sensor import FrameSensor as FrameSensor, ReadingSlopes as ReadingSlopes, Sensor as Sensor


def frame_sensor(quantity: str) -> type[FrameSensor]:
    """The sensor that models a listed quantity."""
    listed = FRAME_QUANTITIES[quantity].sensor
    if isinstance(listed, str):
        listed = load(f".models.sensors{listed}" if listed.startswith(".") else listed)
    assert isinstance(listed, type) and issubclass(listed, FrameSensor)
    return listed
