"""A loop as a constraint of forward dynamics: the relative motion of two points, and the force between them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...arrays import Columns, ColumnSlopes, Float
from ..contacts.contacts import Contact, PointContact
from ..rotations import skew
from .frame_motion import FrameMotion, FrameSlopes

CLOSING_RATE = 50.0
"""Rate at which a simulated loop closes a gap [1/s]: far above joints' motion, far below the sampling rate."""


@dataclass(frozen=True, eq=False)
class RelativeMotion(FrameMotion):
    """How a point a moves relative to a point b, in the axes of the world, as a frame that does not rotate.

    With x a vector of a frame, R x changes by R (x_q - [x]x J_w) with q.

    Args:
        ends: the motions of both frames.
    """

    ends: tuple[FrameMotion, ...] = ()

    @classmethod
    def of(cls, ends: tuple[FrameMotion, FrameMotion]) -> RelativeMotion:
        """The motion of the first frame relative to the second, with slopes if both have them."""
        a, b = (_in_world(frame) for frame in ends)
        difference = [
            np.pad(x - y, [(0, 0), (0, 3), *[(0, 0)] * (x.ndim - 2)]) for x, y in zip(a, b, strict=True)
        ]
        velocity, acceleration, *slopes = difference
        return cls(
            np.broadcast_to(np.eye(3), ends[0].rotation.shape),
            ends[0].position - ends[1].position,
            velocity,
            acceleration,
            FrameSlopes(*slopes) if slopes else None,
            ends,
        )


def _in_world(frame: FrameMotion) -> Iterator[np.ndarray]:
    """(T, 3) velocity and acceleration of the origin in the world, then their slopes in the order of `FrameSlopes`."""
    R, v, a = frame.rotation, frame.velocity[:, :3], frame.point_acceleration
    yield from ((R @ x[:, :, None])[:, :, 0] for x in (v, a))
    if frame.slopes is None:
        return
    (J, J_w), v_q = np.split(frame.slopes.jacobian, 2, axis=1), frame.slopes.velocity_by_q[:, :3]
    a_q, a_v, _ = frame.point_acceleration_slopes()
    yield from (R @ x for x in (J, v_q - skew(v) @ J_w, a_q - skew(a) @ J_w, a_v))


@dataclass(frozen=True, eq=False)
class KeptClosed(Contact, ABC):
    """A constraint at a position r = 0: J a + gamma = 0 with Baumgarte's terms 2 rate J v + rate^2 r in gamma (1972).

    Args:
        frame: its name. damping: 2 rate [1/s].
    """

    damping: float = 2 * CLOSING_RATE

    def residual(self, motion: FrameMotion) -> Columns:
        return super().residual(motion) + (self.damping / 2) ** 2 * motion.position[:, : self.size]

    def residual_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        by_q, by_v = super().residual_slopes(motion)
        return by_q + (self.damping / 2) ** 2 * self.jacobian(motion), by_v


@dataclass(frozen=True, eq=False)
class LoopConstraint(KeptClosed, PointContact):
    """A loop that stays closed.

    Its force [N] is on the first frame in the axes of the world, and the opposite one on the second.

    Args:
        frame: the first of the frames. ends: the frames that stay together.
    """

    ends: tuple[str, ...] = ()

    @property
    def frames(self) -> tuple[str, ...]:
        return self.ends

    def motion(self, frames: Mapping[str, FrameMotion]) -> RelativeMotion:
        a, b = self.ends
        return RelativeMotion.of((frames[a], frames[b]))

    def wrench(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T 12"]:
        return np.concatenate([np.pad(f, ((0, 0), (0, 3))) for f, _ in self._at_ends(motion, force)], axis=1)

    def effort_by_q(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T n n"]:
        # R^T f changes by [R^T f]x J_w
        jacobians = [(f, end.by.jacobian) for f, end in self._at_ends(motion, force)]
        return sum(J[:, :3].transpose(0, 2, 1) @ skew(f) @ J[:, 3:] for f, J in jacobians)

    @staticmethod
    def _at_ends(motion: FrameMotion, force: Columns) -> Iterator[tuple[Columns, FrameMotion]]:
        """The force on each frame in its axes, and the motion of this frame."""
        assert isinstance(motion, RelativeMotion), "the motion of a loop is that of both ends"
        for sign, end in zip((1, -1), motion.ends, strict=True):
            yield sign * (force[:, None] @ end.rotation)[:, 0], end
