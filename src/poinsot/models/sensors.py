"""What sensors read, h(x; theta), and how far a reading is from it, with slopes (seed 001, Eq. 1 and Sect. VI-C).

A reading z leaves the difference z [-] h, which for orientations is Log(R_h^T R_z). Slopes of h are by q, v, and by the
acceleration a and the contact forces f, which the dynamics carry on to everything:

    h_q + h_a a_q + h_f f_q,      h_v + h_a a_v + h_f f_v,      h_a a_tau + h_f f_tau,      h_a a_theta + h_f f_theta

So an accelerometer or a force plate sees theta at once, an encoder only through time. Where the frame of an orientation
turns by phi in its own axes the difference moves by -Jl^-1(z [-] h) phi.

Readings are NaN where there is none: any mix of sensors at any rate, with gaps. Their residuals are 0 there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from ..arrays import Matrix, Vector
from ..exceptions import InvalidModel, InvalidSignals, listing, nearest
from . import tree as kinds
from .articulated import Articulated
from .contact_dynamics import RobotMotion
from .frame_motion import FrameMotion
from .motion_terms import frame_index
from .rotations import from_quaternion, left_slope, log, skew, to_quaternion


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

        def scaled(slope: np.ndarray | None) -> np.ndarray | None:
            if slope is None:
                return None
            return factor * slope if isinstance(factor, float) else factor @ slope

        return ReadingSlopes(scaled(self.q), scaled(self.v), scaled(self.a), scaled(self.forces))


@dataclass(frozen=True, eq=False)
class Sensor(ABC):
    """Something on a robot that is read.

    Args:
        robot: that carries it.
        noise: standard deviation of a reading, one for all components or one a component, or (m, m) covariance.
    """

    robot: Articulated
    noise: float | Vector | Matrix

    quantity: ClassVar[str]
    """What the channels of a recording call it."""

    def __post_init__(self) -> None:
        self._check()
        noise, m = np.asarray(self.noise, dtype=float), self.size
        if noise.shape not in ((), (m,), (m, m)):
            raise InvalidModel(
                f"the noise of {self.name} needs one standard deviation, {m} of them, or a covariance ({m}, {m})"
            )
        if noise.ndim < 2 and not (np.isfinite(noise).all() and np.all(noise > 0)):
            raise InvalidModel(f"the standard deviations of {self.name} must be finite and above 0")
        if noise.ndim == 2 and not _is_covariance(noise):
            raise InvalidModel(f"the covariance of {self.name} must be symmetric and positive definite")

    @abstractmethod
    def _check(self) -> None:
        """Raise if the robot has no place for it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is and where, for people."""

    @property
    @abstractmethod
    def size(self) -> int:
        """m, components of a difference."""

    @property
    def width(self) -> int:
        """Numbers of a reading; more than m for orientations."""
        return self.size

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
        """(width,) SI unit of each."""
        return self.units

    @property
    def components(self) -> tuple[str, ...]:
        """(m,) names of the components of a difference."""
        return self.channels

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames whose motion it needs."""
        return ()

    def along(self, readings: Float[np.ndarray, "T width"]) -> Float[np.ndarray, "T m"]:
        """(T, m) readings as components; orientations as rotations from the first one."""
        return readings

    @abstractmethod
    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        """(T, width) h."""

    @abstractmethod
    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        """Of h, in its tangent."""

    def difference(
        self, readings: Float[np.ndarray, "T width"], motion: RobotMotion
    ) -> Float[np.ndarray, "T m"]:
        """(T, m) z [-] h."""
        return readings - self.expected(motion)

    def difference_slopes(self, readings: Float[np.ndarray, "T width"], motion: RobotMotion) -> ReadingSlopes:
        """Of `difference`."""
        return self.slopes(motion).times(-1.0)

    feels_efforts: ClassVar[bool] = False
    """Whether it reads accelerations or contact forces, which generalized forces change at once."""

    @cached_property
    def covariance(self) -> Float[np.ndarray, "m m"]:
        """Of a reading."""
        noise = np.asarray(self.noise, dtype=float)
        return noise if noise.ndim == 2 else np.diag(np.broadcast_to(noise**2, (self.size,)))

    @cached_property
    def whitening(self) -> Float[np.ndarray, "m m"]:
        """W with W covariance W^T = 1."""
        return np.linalg.inv(np.linalg.cholesky(self.covariance))

    @cached_property
    def independent(self) -> bool:
        """Whether components are, so that one can be missing alone."""
        return not np.any(self.covariance - np.diag(np.diag(self.covariance)))


AXES = ("x", "y", "z", "mx", "my", "mz")
"""Of what a sensor at a frame reads: along axes, and moments or angular velocities about them."""
QUATERNION, TURNS = ("x", "y", "z", "w"), ("rx", "ry", "rz")
"""Of an orientation, and of the rotation between two."""


def _channels(quantity: str, frame: str, ends: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{quantity}.{frame}.{end}" for end in ends)


def _from_first(quaternions: Float[np.ndarray, "T 4"]) -> Float[np.ndarray, "T 3"]:
    """Rotation vectors from the first one [rad]."""
    R = from_quaternion(quaternions)
    return log(R[0].T @ R)


# ------------------------------------------------------------------------------------------------------------ joints


@dataclass(frozen=True, eq=False)
class _OfJoints(Sensor):
    """One component a joint.

    Args:
        joints: which; none: all.
    """

    joints: tuple[str, ...] = ()

    def _check(self) -> None:
        for joint in self.joints:
            if joint not in self.robot.joints:
                raise InvalidModel(
                    f"no joint {joint!r}{nearest(joint, self.robot.joints)}; the robot has "
                    f"{listing(self.robot.joints, 20)}"
                )
        if not self.robot.joints:
            raise InvalidModel(f"robot {self.robot.name!r} has no joints to read")

    @property
    def size(self) -> int:
        return len(self.joints or self.robot.joints)

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
        """(m, n) 1 where a component is a freedom."""
        return np.eye(self.robot.model.nv)[self.dofs]


@dataclass(frozen=True, eq=False)
class JointPosition(_OfJoints):
    """Encoders [rad] or [m]. Joints without limits are read in any turn: their differences are from -pi to pi."""

    quantity = "position"

    def _check(self) -> None:
        super()._check()
        _ = self._coordinates

    @cached_property
    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """(m,) the first coordinate in q of each joint, and whether it is a cosine with the sine behind it."""
        tree = self.robot.tree
        places = {}
        for kind, at, dof in zip(tree.kind, tree.q_index, tree.v_index, strict=True):
            if kind == kinds.TRANSLATION:
                places.update({int(dof) + k: (int(at) + k, False) for k in range(3)})
            elif kinds.DEGREES[kind] == 1:
                places[int(dof)] = (int(at), bool(kind == kinds.CONTINUOUS))
        for joint, dof in zip(self.joints or self.robot.joints, self.dofs, strict=True):
            if int(dof) not in places:
                raise InvalidModel(
                    f"{joint!r} is a freedom of a ball or planar joint, whose position is no angle: read its velocity, "
                    f"or the orientation of its link"
                )
        first, turning = zip(*(places[int(dof)] for dof in self.dofs), strict=True)
        return np.array(first), np.array(turning, dtype=bool)

    @property
    def name(self) -> str:
        return "joint positions"

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(self.robot.position_units[dof] for dof in self.dofs)

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        first, turning = self._coordinates
        position = motion.q[:, first].copy()
        cosines = first[turning]
        position[:, turning] = np.arctan2(motion.q[:, cosines + 1], motion.q[:, cosines])
        return position

    def difference(
        self, readings: Float[np.ndarray, "T width"], motion: RobotMotion
    ) -> Float[np.ndarray, "T m"]:
        away = readings - self.expected(motion)
        turning = self._coordinates[1]
        away[:, turning] = np.remainder(away[:, turning] + np.pi, 2 * np.pi) - np.pi
        return away

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        return ReadingSlopes(q=self.chosen)


@dataclass(frozen=True, eq=False)
class JointVelocity(_OfJoints):
    """Speeds of joints [rad/s] or [m/s]."""

    quantity = "velocity"

    @property
    def name(self) -> str:
        return "joint velocities"

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(f"{self.robot.position_units[dof]}/s" for dof in self.dofs)

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        return motion.v[:, self.dofs]

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        return ReadingSlopes(v=self.chosen)


# ------------------------------------------------------------------------------------------------------------ frames


@dataclass(frozen=True, eq=False)
class _AtFrame(Sensor):
    """At a frame of the robot.

    Args:
        frame: a link, or another frame of the description.
    """

    frame: str

    def _check(self) -> None:
        frame_index(self.robot, self.frame)

    @property
    def size(self) -> int:
        return 3

    @property
    def channels(self) -> tuple[str, ...]:
        return _channels(self.quantity, self.frame, AXES[: self.width])

    @property
    def frames(self) -> tuple[str, ...]:
        return (self.frame,)

    def of(self, motion: RobotMotion) -> FrameMotion:
        """How the frame moves."""
        assert self.frame in motion.frames, f"the motion was evaluated without the frame {self.frame!r}"
        return motion.frames[self.frame]


@dataclass(frozen=True, eq=False)
class Orientation(_AtFrame):
    """Of a frame in the world: an attitude filter. A reading is a quaternion (x, y, z, w), a difference [rad]."""

    quantity = "orientation"

    @property
    def name(self) -> str:
        return f"orientation of {self.frame!r}"

    @property
    def width(self) -> int:
        return 4

    @property
    def units(self) -> tuple[str, ...]:
        return ("rad",) * 3

    @property
    def channels(self) -> tuple[str, ...]:
        return _channels(self.quantity, self.frame, QUATERNION)

    @property
    def channel_units(self) -> tuple[str, ...]:
        return ("1",) * 4

    @property
    def components(self) -> tuple[str, ...]:
        return _channels(self.quantity, self.frame, TURNS)

    def along(self, readings: Float[np.ndarray, "T width"]) -> Float[np.ndarray, "T m"]:
        return _from_first(readings)

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        return to_quaternion(self.of(motion).rotation)

    def difference(
        self, readings: Float[np.ndarray, "T width"], motion: RobotMotion
    ) -> Float[np.ndarray, "T m"]:
        return log(self.of(motion).rotation.transpose(0, 2, 1) @ from_quaternion(readings))

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        return ReadingSlopes(q=self.of(motion).by.jacobian[:, 3:])

    def difference_slopes(self, readings: Float[np.ndarray, "T width"], motion: RobotMotion) -> ReadingSlopes:
        return self.slopes(motion).times(-left_slope(self.difference(readings, motion)))


@dataclass(frozen=True, eq=False)
class Position(_AtFrame):
    """Of a frame's origin in the world [m]: a marker that cameras follow."""

    quantity = "frame_position"

    @property
    def name(self) -> str:
        return f"position of {self.frame!r}"

    @property
    def units(self) -> tuple[str, ...]:
        return ("m",) * 3

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        return self.of(motion).position

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.of(motion)
        return ReadingSlopes(q=frame.rotation @ frame.by.jacobian[:, :3])


@dataclass(frozen=True, eq=False)
class Pose(_AtFrame):
    """Of a frame in the world: motion capture. A reading is x, y, z [m] and a quaternion (x, y, z, w).

    A difference is that of positions, in the world's axes [m], and of orientations, in the frame's [rad].
    """

    quantity = "pose"

    @property
    def name(self) -> str:
        return f"pose of {self.frame!r}"

    @property
    def size(self) -> int:
        return 6

    @property
    def width(self) -> int:
        return 7

    @property
    def units(self) -> tuple[str, ...]:
        return ("m",) * 3 + ("rad",) * 3

    @property
    def channels(self) -> tuple[str, ...]:
        return (
            *_channels(Position.quantity, self.frame, AXES[:3]),
            *_channels(Orientation.quantity, self.frame, QUATERNION),
        )

    @property
    def channel_units(self) -> tuple[str, ...]:
        return (*("m",) * 3, *("1",) * 4)

    @property
    def components(self) -> tuple[str, ...]:
        return (
            *_channels(Position.quantity, self.frame, AXES[:3]),
            *_channels(Orientation.quantity, self.frame, TURNS),
        )

    def along(self, readings: Float[np.ndarray, "T width"]) -> Float[np.ndarray, "T m"]:
        return np.concatenate([readings[:, :3], _from_first(readings[:, 3:])], axis=1)

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        frame = self.of(motion)
        return np.concatenate([frame.position, to_quaternion(frame.rotation)], axis=1)

    def difference(
        self, readings: Float[np.ndarray, "T width"], motion: RobotMotion
    ) -> Float[np.ndarray, "T m"]:
        frame = self.of(motion)
        turned = log(frame.rotation.transpose(0, 2, 1) @ from_quaternion(readings[:, 3:]))
        return np.concatenate([readings[:, :3] - frame.position, turned], axis=1)

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.of(motion)
        J = frame.by.jacobian
        return ReadingSlopes(q=np.concatenate([frame.rotation @ J[:, :3], J[:, 3:]], axis=1))

    def difference_slopes(self, readings: Float[np.ndarray, "T width"], motion: RobotMotion) -> ReadingSlopes:
        factor = np.zeros((len(motion), 6, 6))
        factor[:, :3, :3] = -np.eye(3)
        factor[:, 3:, 3:] = -left_slope(self.difference(readings, motion)[:, 3:])
        return self.slopes(motion).times(factor)


@dataclass(frozen=True, eq=False)
class Gyro(_AtFrame):
    """Angular velocity of a frame in its axes [rad/s]."""

    quantity = "gyro"

    @property
    def name(self) -> str:
        return f"gyro at {self.frame!r}"

    @property
    def units(self) -> tuple[str, ...]:
        return ("rad/s",) * 3

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        return self.of(motion).angular

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        by = self.of(motion).by
        return ReadingSlopes(q=by.velocity_by_q[:, 3:], v=by.jacobian[:, 3:])


@dataclass(frozen=True, eq=False)
class PreintegratedVelocity(_AtFrame):
    """Velocity of a frame's origin in its axes [m/s], as an inertial unit has it from integrated accelerations."""

    quantity = "frame_velocity"

    @property
    def name(self) -> str:
        return f"velocity of {self.frame!r}"

    @property
    def units(self) -> tuple[str, ...]:
        return ("m/s",) * 3

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        return self.of(motion).linear

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        by = self.of(motion).by
        return ReadingSlopes(q=by.velocity_by_q[:, :3], v=by.jacobian[:, :3])


@dataclass(frozen=True, eq=False)
class Accelerometer(_AtFrame):
    """Specific force at a frame's origin in its axes, acceleration less gravity [m/s^2]: 9.81 upward at rest."""

    feels_efforts = True
    quantity = "accelerometer"

    @property
    def name(self) -> str:
        return f"accelerometer at {self.frame!r}"

    @property
    def units(self) -> tuple[str, ...]:
        return ("m/s^2",) * 3

    @cached_property
    def _gravity(self) -> Vector:
        return np.array(self.robot.model.gravity.linear)

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        frame = self.of(motion)
        return frame.point_acceleration - self._gravity @ frame.rotation

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        frame = self.of(motion)
        by_q, by_v, by_a = frame.point_acceleration_slopes()
        falling = skew(self._gravity @ frame.rotation) @ frame.by.jacobian[:, 3:]
        return ReadingSlopes(by_q - falling, by_v, by_a)


# ---------------------------------------------------------------------------------------------------------- contacts


@dataclass(frozen=True, eq=False)
class ContactVelocity(_AtFrame):
    """Velocity of a foot in its axes, linear and, if it cannot turn, angular [m/s], [rad/s].

    Readings are 0 while it stands, with the noise of how much it slips, and NaN while it does not.

    Args:
        turning: whether its angular velocity is read too.
    """

    turning: bool = False

    quantity = "foot_velocity"

    @property
    def name(self) -> str:
        return f"velocity of the foot {self.frame!r}"

    @property
    def size(self) -> int:
        return 6 if self.turning else 3

    @property
    def units(self) -> tuple[str, ...]:
        return (("m/s",) * 3 + ("rad/s",) * 3)[: self.size]

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        return self.of(motion).velocity[:, : self.size]

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        by, m = self.of(motion).by, self.size
        return ReadingSlopes(q=by.velocity_by_q[:, :m], v=by.jacobian[:, :m])


@dataclass(frozen=True, eq=False)
class ContactForce(_AtFrame):
    """What the world does to the robot at a contact, in the axes of its frame [N], and with moments [N m].

    An open contact is expected to read 0, and so are the moments of a point.

    Args:
        moments: whether a reading is force and moment, six components.
    """

    moments: bool = False

    feels_efforts = True
    quantity = "force"

    @property
    def name(self) -> str:
        return f"force at {self.frame!r}"

    @property
    def size(self) -> int:
        return 6 if self.moments else 3

    @property
    def units(self) -> tuple[str, ...]:
        return (("N",) * 3 + ("N m",) * 3)[: self.size]

    @property
    def frames(self) -> tuple[str, ...]:
        return ()

    def _rows(self, motion: RobotMotion) -> slice:
        """The rows of forces that are read; empty where the contact is open."""
        rows = motion.rows(self.frame) or slice(0, 0)
        return slice(rows.start, min(rows.stop, rows.start + self.size))

    def expected(self, motion: RobotMotion) -> Float[np.ndarray, "T width"]:
        rows = self._rows(motion)
        expected = np.zeros((len(motion), self.size))
        expected[:, : rows.stop - rows.start] = motion.forces[:, rows]
        return expected

    def slopes(self, motion: RobotMotion) -> ReadingSlopes:
        rows = self._rows(motion)
        chosen = np.zeros((self.size, motion.forces.shape[1]))
        chosen[: rows.stop - rows.start, rows] = np.eye(rows.stop - rows.start)
        return ReadingSlopes(forces=chosen)


# ---------------------------------------------------------------------------------------------------------- readings


@dataclass(frozen=True, eq=False)
class Readings:
    """What a sensor read at the samples of a recording.

    Args:
        sensor: that was read.
        values: (T, width), NaN where it was not.

    Raises:
        InvalidSignals: if readings are of another width, or infinite.
    """

    sensor: Sensor
    values: Float[np.ndarray, "T width"]

    def __post_init__(self) -> None:
        if self.values.shape[1] != self.sensor.width:
            raise InvalidSignals(
                f"a reading of {self.sensor.name} has {self.sensor.width} numbers, not {self.values.shape[1]}"
            )
        if np.isinf(self.values).any():
            raise InvalidSignals(
                f"the readings of {self.sensor.name} are infinite somewhere; leave out what is missing as NaN"
            )

    def without_last_effort(self) -> Readings:
        """Without the last sample of what feels efforts: no step begins there that would show their noise."""
        if not self.sensor.feels_efforts:
            return self
        values = self.values.copy()
        values[-1] = np.nan
        return Readings(self.sensor, values)

    @classmethod
    def at(
        cls, sensor: Sensor, samples: np.ndarray, values: Float[np.ndarray, "_ width"], length: int
    ) -> Readings:
        """Readings of a slower sensor.

        Args:
            sensor: that was read.
            samples: (K,) at which of the recording's samples.
            values: (K, width) what it read.
            length: T, samples of the recording.
        """
        if len(samples) and not (0 <= int(samples.min()) and int(samples.max()) < length):
            raise InvalidSignals(
                f"{sensor.name} was read at samples that the recording of {length} does not have"
            )
        full = np.full((length, values.shape[1]), np.nan)
        full[samples] = values
        return cls(sensor, full)

    def __len__(self) -> int:
        return len(self.values)

    def some(self, samples: slice | np.ndarray) -> Readings:
        """Those at some of the samples."""
        return Readings(self.sensor, self.values[samples])


@dataclass(frozen=True, eq=False)
class Residuals:
    """W (z [-] h) of all sensors at T states, in standard deviations; 0 where there is no reading.

    Args:
        r: (T, rows), one sensor after the other.
        by_x: (T, rows, 2n) by q and v; None: slopes were not asked for.
        by_tau, by_theta: (T, rows, n), if that was asked for, and (T, rows, p).
    """

    r: Float[np.ndarray, "T rows"]
    by_x: Float[np.ndarray, "T rows two_n"] | None = None
    by_tau: Float[np.ndarray, "T rows n"] | None = None
    by_theta: Float[np.ndarray, "T rows p"] | None = None


def frames_of(sensors: Sequence[Sensor]) -> tuple[str, ...]:
    """All frames that sensors need, for `ContactDynamics`."""
    return tuple(dict.fromkeys(frame for sensor in sensors for frame in sensor.frames))


def residuals(readings: Sequence[Readings], motion: RobotMotion, efforts: bool = False) -> Residuals:
    """Of readings at the states of a motion; with slopes if the motion has them, by tau only if `efforts`.

    Raises:
        InvalidSignals: if there are not as many readings as states.
    """
    T = len(motion)
    for some in readings:
        if len(some) != T:
            raise InvalidSignals(f"{some.sensor.name} has {len(some)} samples, the motion {T}")
    ends = np.cumsum([0, *(some.sensor.size for some in readings)]).tolist()
    r = np.zeros((T, ends[-1]))
    by = _Slopes.of(motion, ends[-1], efforts) if motion.a_by is not None else None
    for some, (first, last) in zip(readings, pairwise(ends), strict=True):
        sensor, rows = some.sensor, slice(first, last)
        away = sensor.difference(some.values, motion)
        seen = components_read(sensor, away)
        r[:, rows] = np.where(seen, np.where(seen, away, 0.0) @ sensor.whitening.T, 0.0)
        if by is not None:
            by.write(sensor.difference_slopes(some.values, motion), sensor, seen, rows)
    return Residuals(r) if by is None else Residuals(r, by.x, by.tau, by.theta)


@dataclass(frozen=True, eq=False)
class _Slopes:
    """The slopes of residuals, in the making: zeros in which sensors write."""

    motion: RobotMotion
    x: np.ndarray
    tau: np.ndarray | None
    theta: np.ndarray

    @classmethod
    def of(cls, motion: RobotMotion, rows: int, efforts: bool) -> _Slopes:
        T, n = motion.v.shape
        p = motion.slopes[0].theta.shape[2]
        tau = np.zeros((T, rows, n)) if efforts else None
        return cls(motion, np.zeros((T, rows, 2 * n)), tau, np.zeros((T, rows, p)))

    def write(self, slopes: ReadingSlopes, sensor: Sensor, seen: np.ndarray, rows: slice) -> None:
        """Slopes by q, v, a and f, carried on to x, tau and theta, in standard deviations where there is a reading."""
        n = self.motion.v.shape[1]
        by_q, by_v, by_theta = self.x[:, rows, :n], self.x[:, rows, n:], self.theta[:, rows]
        by_tau = None if self.tau is None else self.tau[:, rows]
        carried = [
            (part, through)
            for part, through in zip((slopes.a, slopes.forces), self.motion.slopes, strict=True)
            if part is not None and part.shape[-1]
        ]
        if not carried and not _vary(slopes) and sensor.independent:
            self._write_same(slopes, sensor, seen, rows)
            return
        for own, out in ((slopes.q, by_q), (slopes.v, by_v)):
            if own is not None:
                out += own
        for part, through in carried:
            by_q += part @ through.q
            by_v += part @ through.v
            by_theta += part @ through.theta
            if by_tau is not None:
                by_tau += part @ through.tau
        all_seen, unseen = bool(seen.all()), ~seen
        for written in (by_q, by_v, by_theta, by_tau) if carried else (by_q, by_v):
            if written is None:
                continue
            if sensor.independent:
                written *= np.diag(sensor.whitening)[:, None]
            else:
                written[...] = sensor.whitening @ written
            if not all_seen:
                written[unseen] = 0.0

    def _write_same(self, slopes: ReadingSlopes, sensor: Sensor, seen: np.ndarray, rows: slice) -> None:
        """Slopes by q and v that are the same at all states."""
        n = self.motion.v.shape[1]
        for own, columns in ((slopes.q, slice(0, n)), (slopes.v, slice(n, 2 * n))):
            if own is not None:
                out = self.x[:, rows, columns]
                out[...] = np.diag(sensor.whitening)[:, None] * own
                if not seen.all():
                    out[~seen] = 0.0


def _vary(slopes: ReadingSlopes) -> bool:
    """Whether slopes by q or v are other at each state."""
    return any(own is not None and own.ndim == 3 for own in (slopes.q, slopes.v))


def components_read(sensor: Sensor, away: Float[np.ndarray, "T m"]) -> np.ndarray:
    """(T, m) True where a component counts: with correlated components only where all do."""
    seen = np.isfinite(away)
    return seen if sensor.independent else np.broadcast_to(seen.all(axis=1, keepdims=True), seen.shape)


def _is_covariance(C: np.ndarray) -> bool:
    if not np.isfinite(C).all() or not np.all(np.diag(C) > 0):
        return False
    scale = np.sqrt(np.diag(C))
    R = C / np.outer(scale, scale)
    return bool(np.abs(R - R.T).max() < 1e-9 and np.linalg.eigvalsh(R)[0] > 1e-12)
