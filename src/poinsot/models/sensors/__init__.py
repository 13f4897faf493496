"""Sensors of a robot: predicted readings, residuals and their derivatives.

sensor      what every sensor has: `Sensor`, and at a frame `FrameSensor`
joints      encoders and tachometers
placement   orientation, position and pose of a frame
inertial    gyro, accelerometer, velocity of a frame
contacts    forces, and the velocity of a foot that stands
readings    readings with gaps, and their whitened residuals

`frame_sensor` finds the sensor of a quantity that `poinsot.quantities` lists.
"""

from importlib import import_module

from ...quantities import FRAME_QUANTITIES
from .contacts import ContactForce, ContactVelocity
from .inertial import Accelerometer, Gyro, PreintegratedVelocity
from .joints import JointPosition, JointVelocity
from .placement import Orientation, Pose, Position
from .readings import Readings, frames_of, residuals
from .sensor import FrameSensor, ReadingSlopes, Sensor

__all__ = [
    "Sensor",
    "FrameSensor",
    "ReadingSlopes",
    "JointPosition",
    "JointVelocity",
    "Orientation",
    "Position",
    "Pose",
    "Gyro",
    "PreintegratedVelocity",
    "Accelerometer",
    "ContactVelocity",
    "ContactForce",
    "Readings",
    "frames_of",
    "residuals",
    "frame_sensor",
]


def frame_sensor(quantity: str) -> type[FrameSensor]:
    """The sensor that models a listed quantity."""
    listed = FRAME_QUANTITIES[quantity].sensor
    if isinstance(listed, str):
        module, _, name = listed.partition(":")
        listed = getattr(import_module(module, __name__), name)
    assert isinstance(listed, type) and issubclass(listed, FrameSensor)
    return listed
