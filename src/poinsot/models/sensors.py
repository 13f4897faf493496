"""Sensors of a robot: predicted readings h(x; theta), their difference to measured ones, and its derivatives.

(Martinez et al. 2024, Eq. 1 and Sect. VI-C.) The difference to a reading z is z [-] h, for orientations Log(R_h^T R_z).
A sensor gives the derivatives of h by q, v, the acceleration a and the contact forces f; the dynamics chain them:

    h_q + h_a a_q + h_f f_q,      h_v + h_a a_v + h_f f_v,      h_a a_tau + h_f f_tau,      h_a a_theta + h_f f_theta

So readings of an accelerometer or a force plate depend on theta directly, those of an encoder only through time. If the
frame of an orientation turns by phi in its own axes, the difference changes by -Jl^-1(z [-] h) phi.

In this order: the base classes; encoders and tachometers; sensors at a frame (motion capture, inertial units, feet);
`Readings` of a sensor, NaN where there is none, and their whitened residuals along a motion, 0 there: any mix of
sensors at any rate, with gaps. `frame_sensor` finds the sensor of a quantity that `poinsot.quantities` lists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from ..arrays import Bool, Brief, Columns, Float, Matrix, ReadingRows, Vector
from ..exceptions import InvalidModel, InvalidSignals, check_known
from ..lazy import load
from ..quantities import FRAME_QUANTITIES, QUATERNION, WRENCH, XYZ
from .contacts.contact_dynamics import Linearized, RobotMotion
from .contacts.contacts import Contact
from .robot import tree as kinds
from .robot.articulated import Articulated
from .robot.configuration_space import left_slopes
from .robot.frame_motion import FrameMotion
from .robot.motion_terms import frame_index
from .rotations import from_quaternion, log, skew, to_quaternion


@dataclass(frozen=True, eq=False)
class ReadingSlopes:
    """Slopes of a reading at T states, (T, m, ...) or, where they are the same at all, (m, ...); None: there are none.

    Args:
        q, v, a: by configuration, speeds, accelerations, each (..., n).
        forces: by the rows of contact forces.
    """

    q: np.ndarray | None = None
    v: np.ndarray | None = None
    a: np.ndarray | None = None
    forces: np.ndarray | None = None

    def times(self, factor: np.ndarray | float) -> ReadingSlopes:
        """Every slope multiplied from the left by (T, m, m), or by a number."""
        product = np.multiply if isinstance(factor, float) else np.matmul
        slopes = {name: slope for name, slope in vars(self).items() if slope is not None}
        return ReadingSlopes(**{name: product(factor, slope) for name, slope in slopes.items()})

    def less(self, other: ReadingSlopes, factor: np.ndarray) -> ReadingSlopes:
        """These slopes less (T, m, 1) times those of another reading of the same motion."""
        slopes = dict(vars(self))
        for name, slope in vars(other).items():
            if slope is not None:
                slopes[name] = -factor * slope + (0.0 if slopes[name] is None else slopes[name])
        return ReadingSlopes(**slopes)


@dataclass(frozen=True, eq=False)
class Sensor(ABC):
    """A sensor on a robot.

    Args:
        robot: robot that carries it.
        noise: standard deviation of a reading, one for all components or one a component, or (m, m) covariance.
    """

    robot: Articulated
    noise: float | Vector | Matrix

    quantity: ClassVar[str]
    """First part of the names of its channels in a recording, and its key in noise settings."""

    def __post_init__(self) -> None:
        self._check()
        noise, m = np.asarray(self.noise, dtype=float), self.size
        if noise.shape not in ((), (m,), (m, m)):
            raise InvalidModel(
                f"the noise of {self.name} needs one standard deviation, {m} of them, or a covariance ({m}, {m})"
            )
        if noise.ndim < 2 and not (np.isfinite(noise).all() and np.all(noise > 0)):
            raise InvalidModel(f"the standard deviations of {self.name} must be finite and above 0")
        if noise.ndim == 2 and not is_covariance(noise):
            raise InvalidModel(f"the covariance of {self.name} must be symmetric and positive definite")

    @abstractmethod
    def _check(self) -> None:
        """Check that the robot has its joints or its frame."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its quantity and place, for reports."""

    @property
    def size(self) -> int:
        """m, the number of components of a difference."""
        return len(self.units)

    @property
    def width(self) -> int:
        """Number of components of a reading; more than m for orientations."""
        return len(self.channels)

    @property
    @abstractmethod
    def units(self) -> tuple[str, ...]:
        """SI unit of each component of a difference."""

    @property
    @abstractmethod
    def channels(self) -> tuple[str, ...]:
        """(width,) names of a recording's channels that hold its readings, `quantity.joint` or `quantity.frame.x`."""

    @property
    def channel_units(self) -> tuple[str, ...]:
        """(width,) SI unit of each channel."""
        return self.units

    @property
    def components(self) -> tuple[str, ...]:
        """(m,) names of the components of a difference."""
        return self.channels

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames whose motion it needs."""
        return ()

    def along(self, readings: ReadingRows) -> Columns:
        """(T, m) readings as components; orientations as rotations from the first one."""
        return readings

    @abstractmethod
    def predicted(self, motion: RobotMotion) -> ReadingRows:
        """(T, width) h, the predicted readings."""

    @abstractmethod
    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        """Derivatives of h, in its tangent."""

    def difference(self, readings: ReadingRows, motion: RobotMotion) -> Columns:
        """(T, m) z [-] h."""
        return readings - self.predicted(motion)

    def difference_slopes(self, readings: ReadingRows, motion: RobotMotion) -> ReadingSlopes:
        """Derivatives of `difference`."""
        return self.slopes(motion).times(-1.0)

    def rate(self, motion: RobotMotion) -> Columns | None:
        """(T, m) derivative of h by time, of sensors of velocities; None: of others."""
        return None

    def rate_slopes(self, motion: RobotMotion) -> ReadingSlopes:
        """Derivatives of `rate`."""
        return ReadingSlopes()

    depends_on_efforts: ClassVar[bool] = False
    """Whether it measures accelerations or contact forces, which generalized forces change directly."""

    @cached_property
    def covariance(self) -> Float[np.ndarray, "m m"]:
        """Covariance of a reading."""
        noise = np.asarray(self.noise, dtype=float)
        return noise if noise.ndim == 2 else np.diag(np.broadcast_to(noise**2, (self.size,)))

    @cached_property
    def whitening(self) -> Float[np.ndarray, "m m"]:
        """W with W covariance W^T = 1."""
        return np.linalg.inv(np.linalg.cholesky(self.covariance))

    def whitened(self, slope: np.ndarray) -> np.ndarray:
        """W times (..., m, k); a missing component, NaN, does not affect independent ones."""
        return np.diag(self.whitening)[:, None] * slope if self.independent else self.whitening @ slope

    @cached_property
    def independent(self) -> bool:
        """Whether components are independent, so that a single one can be missing."""
        return not np.any(self.covariance - np.diag(np.diag(self.covariance)))


def channels_of(quantity: str, frame: str, ends: Sequence[str]) -> tuple[str, ...]:
    """Names of channels: `quantity.frame.end`."""
    return tuple(f"{quantity}.{frame}.{end}" for end in ends)


@dataclass(frozen=True, eq=False)
class FrameSensor(Sensor):
    """A sensor at a frame of the robot. A subclass gives `quantity`, `label`, `component_units`, `predicted`, `slopes`.

    Args:
        frame: a link, or another frame of the description.
    """

    frame: str

    label: ClassVar[str]
    """Text before the name of its frame: `gyro at`."""
    component_units: ClassVar[tuple[str, ...]]
    """(m,) SI unit of each component of a difference."""

    @classmethod
    def with_channels(
        cls, robot: Articulated, noise: float | Vector | Matrix, frame: str, ends: Sequence[str]
    ) -> Self:
        """The sensor whose channels in a recording end in these parts."""
        return cls(robot, noise, frame)

    def _check(self) -> None:
        frame_index(self.robot, self.frame)

    @property
    def name(self) -> str:
        return f"{self.label} {self.frame!r}"

    @property
    def units(self) -> tuple[str, ...]:
        return self.component_units

    @property
    def channels(self) -> tuple[str, ...]:
        listed = FRAME_QUANTITIES.get(self.quantity)
        ends = WRENCH if listed is None else listed.ends
        return channels_of(self.quantity, self.frame, ends[: len(self.channel_units)])

    @property
    def frames(self) -> tuple[str, ...]:
        return (self.frame,)

    def motion_of_frame(self, motion: RobotMotion) -> FrameMotion:
        """Motion of the frame, with the axes of its sensors; see `FrameMotion.turned` where their alignment is open."""
        assert self.frame in motion.frames, f"the motion was evaluated without the frame {self.frame!r}"
        frame, alignment = motion.frames[self.frame], motion.errors.alignment(self.frame)
        if alignment is None:
            return frame
        return frame.turned(alignment, bool(motion.errors.open_alignment(self.frame)))


def is_covariance(C: np.ndarray) -> bool:
    if not np.isfinite(C).all() or not np.all(np.diag(C) > 0):
        return False
    scale = np.sqrt(np.diag(C))
    # correlations, since the result must not depend on units
    R = C / np.outer(scale, scale)
    return bool(np.abs(R - R.T).max() < 1e-9 and np.linalg.eigvalsh(R)[0] > 1e-12)


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

    def rate(self, motion: RobotMotion) -> Columns:
        return motion.a[:, self.dofs]

    def rate_slopes(self, motion: RobotMotion) -> ReadingSlopes:
        return ReadingSlopes(a=self.chosen)


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

    def rate(self, motion: RobotMotion) -> Columns:
        # in the frame's own axes the spatial acceleration is the derivative of the velocity's components
        return self.motion_of_frame(motion).acceleration[:, self.rows]

    def rate_slopes(self, motion: RobotMotion) -> ReadingSlopes:
        by, rows = self.motion_of_frame(motion).by, self.rows
        return ReadingSlopes(
            by.acceleration_by_q[:, rows], by.acceleration_by_v[:, rows], by.jacobian[:, rows]
        )


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
class ContactVelocity(FrameSensor):
    """Velocity along the ground that a closed contact does not have [m/s].

    It is that of the contact in level axes: of the lowest point of a ball, not of its centre. Readings are 0 while the
    contact is closed, with the noise of how much it slips, and NaN while it is open.

    Args:
        contact: at the frame.
    """

    contact: Contact

    quantity = "foot_velocity"
    label = "velocity of the foot"

    @property
    def rows(self) -> list[int]:
        """Those of the contact that are read."""
        return [0, 1]

    @property
    def units(self) -> tuple[str, ...]:
        return tuple("m/s" if row < 3 else "rad/s" for row in self.rows)

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        frame = self.motion_of_frame(motion)
        velocity = self.contact.velocity(frame)[:, :, None]
        return self.contact.to_level(frame, velocity)[:, self.rows, 0]

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.motion_of_frame(motion)
        contact, velocity = self.contact, self.contact.velocity(frame)
        # R x changes by -R [x]x J_w
        parts = skew(velocity.reshape(len(velocity), -1, 3)) @ frame.by.jacobian[:, None, 3:]
        by_q = contact.velocity_by_q(frame) - parts.reshape(len(velocity), contact.size, -1)
        q, v = (contact.to_level(frame, by)[:, self.rows] for by in (by_q, contact.jacobian(frame)))
        return ReadingSlopes(q=q, v=v)


class ContactTurning(ContactVelocity):
    """Angular velocity that a closed surface does not have [rad/s]; see `ContactVelocity`."""

    quantity = "foot_turning"
    label = "turning of the foot"

    @property
    def rows(self) -> list[int]:
        return [*range(3, self.contact.size)]


class ContactSinking(ContactVelocity):
    """Velocity into the ground that a closed contact does not have [m/s]; see `ContactVelocity`."""

    quantity = "foot_sinking"
    label = "sinking of the foot"

    @property
    def rows(self) -> list[int]:
        return [2]


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


@dataclass(frozen=True, eq=False, repr=False)
class Readings(Brief):
    """Readings of one sensor at the samples of a recording.

    Args:
        sensor: the sensor.
        values: (T, width), NaN where there is no reading.
        rates: (T, m) derivative by time of the predicted reading along a motion, for readings that are late; None:
            they have no delay.
        knots: suffix of the name of each knot of a random-walk bias -> (T,) weight of the bias there.
        ahead: (T, m) or one number, how long after the speeds of a state a velocity is read [s]. The speeds of a
            semi-implicit step are those of its middle, so a velocity read at a sample is half a step ahead.
        weights: (T, m) of squared residuals; None: 1.

    Raises:
        InvalidSignals: if readings are of another width, or infinite.
    """

    sensor: Sensor
    values: ReadingRows
    rates: Columns | None = None
    knots: Mapping[str, Vector | float] = field(default_factory=lambda: {"": 1.0})
    ahead: Columns | float = 0.0
    weights: Columns | None = None

    def __post_init__(self) -> None:
        if self.values.shape[1] != self.sensor.width:
            raise InvalidSignals(
                f"a reading of {self.sensor.name} has {self.sensor.width} numbers, not {self.values.shape[1]}"
            )
        # NaN means missing; infinity is an error in the file
        if np.isinf(self.values).any():
            raise InvalidSignals(
                f"the readings of {self.sensor.name} are infinite somewhere; leave out what is missing as NaN"
            )

    def without_last_effort(self) -> Readings:
        """Readings without the last sample if they depend on efforts: no step there determines its noise."""
        if not (self.sensor.depends_on_efforts or np.any(self.ahead)):
            return self
        values = self.values.copy()
        values[-1] = np.nan
        return replace(self, values=values)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def is_read(self) -> Bool[np.ndarray, "T m"]:
        """Whether there is a reading of each component."""
        finite = np.isfinite(self.values)
        if self.sensor.independent and self.sensor.width == self.sensor.size:
            return finite
        return np.repeat(finite.all(axis=1)[:, None], self.sensor.size, axis=1)

    @property
    def all_weights(self) -> Columns:
        """(T, m) `weights`."""
        return np.ones((len(self), self.sensor.size)) if self.weights is None else self.weights

    def with_weights(self, factors: Vector) -> Readings:
        """The same readings with weights times factors (T,)."""
        return replace(self, weights=self.all_weights * factors[:, None])

    def times(self, factor: float) -> Readings:
        """The same readings with another noise: its standard deviations times a factor."""
        if factor == 1.0:
            return self
        noise = np.asarray(self.sensor.noise, dtype=float)
        sensor = replace(self.sensor, noise=noise * (factor**2 if noise.ndim == 2 else factor))
        return replace(self, sensor=sensor)

    def some(self, samples: slice | np.ndarray) -> Readings:
        """The readings at some of the samples."""
        rates = None if self.rates is None else self.rates[samples]
        knots = {knot: np.broadcast_to(weight, len(self))[samples] for knot, weight in self.knots.items()}
        ahead = np.broadcast_to(self.ahead, (len(self), self.sensor.size))[samples]
        weights = None if self.weights is None else self.weights[samples]
        return Readings(self.sensor, self.values[samples], rates, knots, ahead, weights)

    def error(self, motion: RobotMotion) -> Columns:
        """(T, m) offset of readings from predicted ones by bias, delay and the instant of reading."""
        sensor, errors, offset = self.sensor, motion.errors, np.zeros((len(motion), self.sensor.size))
        if sensor.width == sensor.size:
            for knot, weight in self.knots.items():
                offset += np.multiply.outer(weight, errors.of(errors.at_knot(sensor.channels, knot)))
        if self.rates is not None:
            offset -= errors.of(errors.delays(sensor.quantity, sensor.frames)).sum() * self.rates
        if np.any(self.ahead) and (rate := sensor.rate(motion)) is not None:
            offset += self.ahead * rate
        return offset

    def difference_slopes(self, motion: RobotMotion) -> ReadingSlopes:
        """Derivatives of the difference of readings from predicted ones, without those by the sensor's errors."""
        slopes = self.sensor.difference_slopes(self.values, motion)
        if not np.any(self.ahead):
            return slopes
        return slopes.less(self.sensor.rate_slopes(motion), np.asarray(self.ahead)[..., None])

    def predicted(self, motion: RobotMotion) -> ReadingRows:
        """(T, width) predicted readings, of sensors without quaternions with bias and delay."""
        predicted = self.sensor.predicted(motion)
        return predicted + self.error(motion) if self.sensor.width == self.sensor.size else predicted

    def normalized(self, motion: RobotMotion) -> Columns:
        """(T, m) W (z [-] h), NaN where nothing was read; correlated components count only where all were."""
        sensor, difference = self.sensor, self.sensor.difference(self.values, motion) - self.error(motion)
        read = np.isfinite(difference)
        if not sensor.independent:
            read[:] = read.all(axis=1, keepdims=True)
        # NaN times 0 is NaN: missing readings are masked before the product and after it
        return np.where(read, np.where(read, difference, 0.0) @ sensor.whitening.T, np.nan)


def frames_of(sensors: Sequence[Sensor]) -> tuple[str, ...]:
    """All frames that sensors need, for `ContactDynamics`."""
    return tuple(dict.fromkeys(frame for sensor in sensors for frame in sensor.frames))


def residuals(readings: Sequence[Readings], motion: RobotMotion, efforts: bool = False) -> Linearized:
    """W (z [-] h) of all sensors, one after the other, in standard deviations; 0 where there is no reading.

    With slopes if the motion has them, by tau and noise of contacts only if `efforts`.

    Raises:
        InvalidSignals: if there are not as many readings as states.
    """
    T, n = motion.v.shape
    for series in readings:
        if len(series) != T:
            raise InvalidSignals(f"{series.sensor.name} has {len(series)} samples, the motion {T}")
    ends = np.cumsum([0, *(series.sensor.size for series in readings)]).tolist()
    p = motion.slopes[0].theta.shape[2] if motion.a_by is not None else 0
    c = motion.slopes[0].w.shape[2] if motion.a_by is not None else 0
    linearized = Linearized.zeros(
        np.zeros((T, ends[-1])), ends[-1], n, p, motion.a_by is not None, efforts, c
    )
    for series, (first, last) in zip(readings, pairwise(ends), strict=True):
        rows, value = slice(first, last), series.normalized(motion)
        missing = np.isnan(value)
        linearized.value[:, rows] = np.where(missing, 0.0, value)
        if motion.a_by is not None:
            _write_slopes(linearized, motion, series, missing, rows)
        if series.weights is not None:
            linearized.scale(rows, np.sqrt(series.weights))
    return linearized


def _write_slopes(
    linearized: Linearized, motion: RobotMotion, series: Readings, missing: np.ndarray, rows: slice
) -> None:
    """Write slopes by q, v, a and f, chained to x, tau and theta, in standard deviations where there is a reading."""
    assert linearized.by_x is not None and linearized.by_theta is not None
    whitened, n = series.sensor.whitened, motion.v.shape[1]
    by_x, by_theta = linearized.by_x[:, rows], linearized.by_theta[:, rows]
    by_tau, by_w = (
        None if slope is None else slope[:, rows] for slope in (linearized.by_tau, linearized.by_w)
    )
    slopes = series.difference_slopes(motion)
    for slope, out in ((slopes.q, by_x[:, :, :n]), (slopes.v, by_x[:, :, n:])):
        if slope is not None:
            out += whitened(slope[..., :n])
    _write_slopes_by_errors(by_theta, motion, series, slopes.q)
    for part, through in zip((slopes.a, slopes.forces), motion.slopes, strict=True):
        if part is None or not part.shape[-1]:
            continue
        part = whitened(part[..., : through.q.shape[1]])
        by_x[:, :, :n] += part @ through.q
        by_x[:, :, n:] += part @ through.v
        by_theta += part @ through.theta
        if by_tau is not None and by_w is not None:
            by_tau += part @ through.tau
            by_w += part @ through.w
    if missing.any():
        for written in (by_x, by_theta, by_tau, by_w):
            if written is not None:
                written[missing] = 0.0


def _write_slopes_by_errors(
    by_theta: np.ndarray, motion: RobotMotion, series: Readings, by_q: np.ndarray | None
) -> None:
    """Write slopes by a sensor's open errors; its slopes by q have those by rotations of its frame as last columns."""
    sensor, n, places = series.sensor, motion.v.shape[1], motion.errors.places
    for knot, weight in series.knots.items():
        for k, name in enumerate(motion.errors.at_knot(sensor.channels, knot)):
            if name in places:
                by_theta[:, :, places[name]] -= np.multiply.outer(weight, sensor.whitening[:, k])
    if by_q is not None and by_q.shape[-1] > n:
        for place, turn in motion.errors.open_alignment(sensor.frames[0]).items():
            by_theta[:, :, place] += sensor.whitened(by_q[..., n:]) @ turn
    delays = motion.errors.delays(sensor.quantity, sensor.frames)
    for name in delays if series.rates is not None else ():
        if name in places:
            by_theta[:, :, places[name]] += series.rates @ sensor.whitening.T


def frame_sensor(quantity: str) -> type[FrameSensor]:
    """The sensor that models a listed quantity."""
    listed = FRAME_QUANTITIES[quantity].sensor
    if isinstance(listed, str):
        listed = load(listed)
    assert isinstance(listed, type) and issubclass(listed, FrameSensor)
    return listed
