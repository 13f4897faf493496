"""Sensors: predicted readings h(x; theta), their difference to measured ones, and its derivatives.

(Martinez et al. 2024, Eq. 1 and Sect. VI-C.) The difference to a reading z is z [-] h, for orientations Log(R_h^T R_z).
A sensor gives the derivatives of h by q, v, the acceleration a and the contact forces f; the dynamics chain them:

    h_q + h_a a_q + h_f f_q,      h_v + h_a a_v + h_f f_v,      h_a a_tau + h_f f_tau,      h_a a_theta + h_f f_theta

So readings of an accelerometer or a force plate depend on theta directly, those of an encoder only through time. If the
frame of an orientation turns by phi in its own axes, the difference changes by -Jl^-1(z [-] h) phi.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from ...arrays import Columns, Float, Matrix, ReadingRows, Vector
from ...exceptions import InvalidModel
from ...quantities import FRAME_QUANTITIES, WRENCH
from ..contacts.contact_dynamics import RobotMotion
from ..robot.articulated import Articulated
from ..robot.frame_motion import FrameMotion
from ..robot.motion_terms import frame_index


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
