"""The motion of a frame of a robot, and its derivatives by the state of the robot.

Velocities and accelerations are spatial, (linear l, angular w), in the frame's own axes. The material point at the
frame's origin accelerates by l' + w x l. Slopes by q are along the tangent of the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numba import njit

from .rotations import cross, skew


@dataclass(frozen=True, eq=False)
class FrameSlopes:
    """Slopes at T states, each (T, 6, n).

    Args:
        jacobian: of the velocity by v, and of the acceleration by a.
        velocity_by_q, acceleration_by_q, acceleration_by_v: the others; NaN where only Jacobians were asked for.
    """

    jacobian: Float[np.ndarray, "T 6 n"]
    velocity_by_q: Float[np.ndarray, "T 6 n"]
    acceleration_by_q: Float[np.ndarray, "T 6 n"]
    acceleration_by_v: Float[np.ndarray, "T 6 n"]


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """A frame at T states.

    Args:
        rotation, position: (T, 3, 3), (T, 3) R_wf and p_w [m].
        velocity, acceleration: (T, 6) [m/s], [rad/s] and per second; gravity is not in it.
        slopes: None where they were not asked for.
    """

    rotation: Float[np.ndarray, "T 3 3"]
    position: Float[np.ndarray, "T 3"]
    velocity: Float[np.ndarray, "T 6"]
    acceleration: Float[np.ndarray, "T 6"]
    slopes: FrameSlopes | None = None

    @property
    def by(self) -> FrameSlopes:
        """The slopes, which must have been asked for."""
        assert self.slopes is not None, "the motion was evaluated without slopes"
        return self.slopes

    @property
    def linear(self) -> Float[np.ndarray, "T 3"]:
        """Velocity of the origin [m/s]."""
        return self.velocity[:, :3]

    @property
    def angular(self) -> Float[np.ndarray, "T 3"]:
        """Angular velocity [rad/s]."""
        return self.velocity[:, 3:]

    @property
    def point_acceleration(self) -> Float[np.ndarray, "T 3"]:
        """Of the material point at the origin [m/s^2]."""
        # a spatial acceleration is that of the point which is here now, not of the material
        return self.acceleration[:, :3] + cross(self.angular, self.linear)

    def point_acceleration_slopes(
        self,
    ) -> tuple[Float[np.ndarray, "T 3 n"], Float[np.ndarray, "T 3 n"], Float[np.ndarray, "T 3 n"]]:
        """Of `point_acceleration` by q, v, a."""
        by = self.by
        by_q, by_v = by.acceleration_by_q[:, :3].copy(), by.acceleration_by_v[:, :3].copy()
        _add_turning(self.velocity, by.velocity_by_q, by_q)
        _add_turning(self.velocity, by.jacobian, by_v)
        return by_q, by_v, by.jacobian[:, :3]

    def seen_in_frame(
        self, vector: Float[np.ndarray, "3"]
    ) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3 n"] | None]:
        """A vector of the world in the frame's axes, R^T x, and its slopes by q, [R^T x]x J_w."""
        seen = vector @ self.rotation
        return seen, None if self.slopes is None else skew(seen) @ self.slopes.jacobian[:, 3:]


@njit(cache=True, error_model="numpy", fastmath={"contract"}, nogil=True)
def _add_turning(V, slope, out):
    """out (T, 3, n) += w x l' - l x w' with V = (l, w) and its slope (l', w') (T, 6, n)."""
    # a kernel: array products would make six temporaries of this size
    T, _, n = slope.shape
    for t in range(T):
        l0, l1, l2, w0, w1, w2 = V[t]
        s, o = slope[t], out[t]
        for j in range(n):
            o[0, j] += w1 * s[2, j] - w2 * s[1, j] - l1 * s[5, j] + l2 * s[4, j]
            o[1, j] += w2 * s[0, j] - w0 * s[2, j] - l2 * s[3, j] + l0 * s[5, j]
            o[2, j] += w0 * s[1, j] - w1 * s[0, j] - l0 * s[4, j] + l1 * s[3, j]
