"""Frames of bodies, and what is read at them: markers, orientations, gyroscopes.

A frame is a point of a body, with axes that are the world's in the reference configuration. With the body's axes R and
quaternion e, R_0 and e_0 in the reference configuration, centre of mass r at c, and the frame at p in the body,

    frame_position   r + R (p - c)                          of the point, in the world
    orientation      Log(e e_0^-1)                          of the frame in the world; errors are Log(e_h e_z^-1)
    frame_velocity   v + omega x R (p - c)
    gyro             R_0 R^T omega                          along the frame's own axes

A reading has three components, each a sensor of its own with its noise; all but orientations may have a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.transform import Rotation

from ...exceptions import InvalidModel
from ...quantities import XYZ
from .bodies import State, require_three
from .quaternions import conjugate, cross, log, multiply, turn, turn_back
from .values import Entry, Structure, Values

ORIENTATION = "orientation"


@dataclass(frozen=True)
class BodyFrame:
    """A point of a body at which sensors are.

    Args:
        point: (3,) where it is in the world in the reference configuration [m].
    """

    name: str
    body: str
    point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        require_three(self.point, f"the point of frame {self.name!r}")

    def entries(self, k: int) -> list[Entry]:
        """Its numbers, as frame k of a mechanism."""
        return [
            Entry(self.name, axis, "m", "frame_point", (k, i), float(self.point[i]))
            for i, axis in enumerate(XYZ)
        ]


class MovingFrame(NamedTuple):
    """Motion of a frame: place, velocity [m/s], angular velocity [rad/s], axes and quaternion in the world."""

    place: Array
    velocity: Array
    omega: Array
    axes: Array
    quaternion: Array


FRAME_READINGS: Mapping[str, tuple[str, Callable[[MovingFrame], Array]]] = {
    "frame_position": ("m", lambda at: at.place),
    ORIENTATION: ("rad", lambda at: log(at.quaternion)),
    "frame_velocity": ("m/s", lambda at: at.velocity),
    "gyro": ("rad/s", lambda at: turn_back(at.axes, at.omega)),
}
"""Quantities that are read at frames: units of their components, and the predicted reading."""


@dataclass(frozen=True)
class FrameReading:
    """A component of what is read at a frame.

    Args:
        quantity: a name of `FRAME_READINGS`. axis: place of the component in x, y, z.
        zero: reading of a motion that has 0; not of orientations.
        name: None: made of frame, quantity and axis. recording: the only recording that has it; None: all.
    """

    frame: str
    quantity: str
    axis: int
    zero: float = 0.0
    name: str | None = field(default=None, kw_only=True)
    recording: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not np.isfinite(self.zero) or (self.is_orientation and self.zero):
            raise InvalidModel(f"the sensor {self.label!r} needs a finite zero, and an orientation none")

    @property
    def is_rate(self) -> bool:
        """Whether it reads a speed."""
        return FRAME_READINGS[self.quantity][0].endswith("/s")

    @property
    def is_orientation(self) -> bool:
        """Whether it is a component of a rotation vector."""
        return self.quantity == ORIENTATION

    @property
    def owner(self) -> str:
        """Name of what it reads."""
        return self.frame

    @property
    def label(self) -> str:
        """Prefix of its parameters' names."""
        return self.name or f"{self.frame} {self.quantity} {XYZ[self.axis]}"

    @property
    def channel(self) -> str:
        """The channel of its readings; those of an orientation are computed from the channels of a quaternion."""
        return f"{self.quantity}.{self.frame}.{XYZ[self.axis]}"

    def unit(self, joints: Mapping[str, Any]) -> str:
        """Unit of its readings."""
        return FRAME_READINGS[self.quantity][0]

    def entries(self, k: int, joints: Mapping[str, Any]) -> list[Entry]:
        """Its numbers, as sensor k of a mechanism."""
        if self.is_orientation:
            return []
        return [Entry(self.label, "zero", self.unit(joints), "zero", (k,), self.zero)]


def frame_readings(
    structure: Structure, values: Values, R: Float[Array, "l 3 3"], x: State
) -> Float[Array, "r 3"]:
    """What is read at frames, of bodies with the axes R in the state x, in the order of `Structure.read`."""
    read = []
    for frame, quantity in structure.read:
        i = int(structure.frame_body[frame])
        R_0, origin = structure.placement[i, :3, :3], structure.placement[i, :3, 3]
        in_body = R_0.T @ (jnp.asarray(values.frame_point)[frame] - origin)
        arm = turn(R[i], in_body - jnp.asarray(values.center)[i])
        velocity, omega = jnp.split(jnp.asarray(x.velocity)[i], 2)
        e_0 = jnp.asarray(Rotation.from_matrix(R_0).as_quat())
        motion = MovingFrame(
            x.position[i] + arm,
            velocity + cross(omega, arm),
            omega,
            R[i] @ R_0.T,
            multiply(jnp.asarray(x.quaternion)[i], conjugate(e_0)),
        )
        read.append(FRAME_READINGS[quantity][1](motion))
    return jnp.stack(read)
