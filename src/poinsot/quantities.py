"""The quantities measured at frames of a robot, each listed once: channels, units, and the sensor that models it.

A channel is named `quantity.frame.end`: `gyro.imu_link.x`. Recordings, unit checks, project files, noise settings and
optimal estimation find a quantity here. To add one, write its sensor (see docs/extend/sensor.md) and list it below.
"""

from __future__ import annotations

from dataclasses import dataclass

XYZ = ("x", "y", "z")
QUATERNION = ("x", "y", "z", "w")
WRENCH = (*XYZ, "mx", "my", "mz")
"""A force and a moment along the axes of a frame."""


@dataclass(frozen=True)
class FrameQuantity:
    """A quantity that is measured at a frame of a robot.

    Args:
        name: first part of its channels, and its key in project files and in noise settings.
        ends: last parts of its channels.
        units: SI units that its channels may have.
        sensor: the `poinsot.models.sensors.FrameSensor` that models it, or `module:Class`; a module that begins with a
            dot is one of `poinsot`.
        sizes: numbers of channels that a frame may have; empty: all of `ends`.
    """

    name: str
    ends: tuple[str, ...]
    units: tuple[str, ...]
    sensor: str | type
    sizes: tuple[int, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of channels that a frame may have."""
        return self.sizes or (len(self.ends),)

    @property
    def is_orientation(self) -> bool:
        """Whether its channels are the components of a quaternion, whose order a file may choose."""
        return self.ends == QUATERNION


LISTED = (
    FrameQuantity("gyro", XYZ, ("rad/s",), ".models.sensors:Gyro"),
    FrameQuantity("accelerometer", XYZ, ("m/s^2",), ".models.sensors:Accelerometer"),
    FrameQuantity("orientation", QUATERNION, ("1",), ".models.sensors:Orientation"),
    FrameQuantity("frame_position", XYZ, ("m",), ".models.sensors:Position"),
    FrameQuantity("frame_velocity", XYZ, ("m/s",), ".models.sensors:PreintegratedVelocity"),
    FrameQuantity("force", WRENCH, ("N", "N m"), ".models.sensors:ContactForce", sizes=(3, 6)),
)

FRAME_QUANTITIES: dict[str, FrameQuantity] = {quantity.name: quantity for quantity in LISTED}
"""The listed quantities by name, in the order in which they are read."""
