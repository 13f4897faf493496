"""Initial guess of the states from the readings, sensor by sensor, without dynamics.

    joints       encoders, else where constraints put them, else constant; speeds as read, else differences
    base         orientation from a sensor of it, else the integrated gyro, else constant
                 position from a marker or a pose; else from feet, which do not move while they touch the ground;
                 without either, at the last speed; speeds are differences

Gaps in readings are interpolated linearly. Multiple shooting accepts such a guess, whatever its gaps in the dynamics.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from ...arrays import Float, NodeStates, interpolated
from ...models.robot.frame_motion import FrameMotion
from ...models.robot.motion_terms import MotionTerms
from ...models.sensors import Gyro, JointPosition, JointVelocity, Orientation, Pose, Position, Sensor

if TYPE_CHECKING:
    from .robot import RobotTrajectoryModel

Kind = TypeVar("Kind", bound=Sensor)


def first_guess(model: RobotTrajectoryModel) -> NodeStates:
    """(N + 1, nx) states at all nodes.

    Components that no sensor reads start at the neutral configuration, with feet on the ground at height 0.
    """
    return _Guess(model).states()[model.samples]


class _Guess:
    """Builds a guess from the readings of each sensor."""

    def __init__(self, model: RobotTrajectoryModel):
        self.model, self.robot = model, model.parameters.robot
        self.nq, self.n = int(self.robot.model.nq), int(self.robot.model.nv)
        self.times = model.times
        self.still = np.concatenate([self.robot.neutral, np.zeros(self.n)])

    def states(self) -> Float[np.ndarray, "S nx"]:
        """(S, nx) at the samples."""
        x = self._joints()
        if self.robot.floating_base:
            self._base(x)
        return x

    def _joints(self) -> Float[np.ndarray, "S nx"]:
        S, n = len(self.times), self.n
        turned, speeds, positions = np.zeros((S, 2 * n)), np.full((S, n), np.nan), np.zeros(n)
        read = np.zeros(n, dtype=bool)
        for sensor, values in self._of(JointPosition):
            positions[self.robot.actuated] = self.robot.joint_positions(self.still[None, : self.nq])[0]
            away = values - positions[sensor.dofs]
            read[sensor.dofs] = True
            for dof, unit, angle in zip(sensor.dofs, sensor.units, away.T, strict=True):
                # a joint without limits may be read in any turn
                angle = interpolated(self.times, angle, turns=unit == "rad")
                turned[:, dof], speeds[:, dof] = angle, np.gradient(angle, self.times)
        for tachometer, values in self._of(JointVelocity):
            for dof, speed in zip(tachometer.dofs, values.T, strict=True):
                if np.isfinite(speed).any():
                    speeds[:, dof] = interpolated(self.times, speed)
        x = self.model.manifold.integrate(np.tile(self.still, (S, 1)), turned)
        x[:, self.nq :] = np.where(np.isfinite(speeds), speeds, 0.0)
        following = self.robot.actuated[~read[self.robot.actuated]]
        if self.robot.closure is not None and len(following):
            q, v = self.robot.closure.followed(x[:, : self.nq], x[:, self.nq :], following)
            x = np.concatenate([q, v], axis=1)
        return x

    def _base(self, x: Float[np.ndarray, "S nx"]) -> None:
        feet = [contact.frame for contact in self.model.schedule.contacts]
        of_sensors = [
            sensor.frame for kind in (Orientation, Pose, Position, Gyro) for sensor, values in self._of(kind)
        ]
        frames = self._placements(x, dict.fromkeys([*of_sensors, *feet]))
        turned = self._orientation(frames)
        R = turned.as_matrix()
        place = self._place(R, frames, feet)
        x[:, :3], x[:, 3:7] = place, turned.as_quat()
        dt = np.diff(self.times)[:, None]
        turning = (turned[:-1].inv() * turned[1:]).as_rotvec() / dt
        x[:, self.nq + 3 : self.nq + 6] = np.concatenate([turning, turning[-1:]])
        speed = np.gradient(place, self.times, axis=0)
        x[:, self.nq : self.nq + 3] = np.einsum("tji, tj -> ti", R, speed)

    def _placements(self, x: Float[np.ndarray, "S nx"], frames: Iterable[str]) -> dict[str, FrameMotion]:
        """Motion of frames relative to the base, along the motion of the joints."""
        q, still = x[:, : self.nq].copy(), np.zeros((len(x), self.n))
        q[:, :7] = [0, 0, 0, 0, 0, 0, 1]
        return MotionTerms(self.robot).frames(tuple(frames), q, still, still)

    def _orientation(self, frames: dict[str, FrameMotion]) -> Rotation:
        for kind in (Orientation, Pose):
            for sensor, values in self._of(kind):
                is_read = np.isfinite(values).all(axis=1)
                if is_read.any():
                    read = Rotation.from_quat(values[is_read, -4:])
                    in_base = Rotation.from_matrix(frames[sensor.frame].rotation[is_read])
                    of_base, at = read * in_base.inv(), self.times[is_read]
                    if len(at) == 1:
                        return Rotation.concatenate([of_base[0]] * len(self.times))
                    # Slerp does not extrapolate: constant before the first and after the last reading
                    return Slerp(at, of_base)(np.clip(self.times, at[0], at[-1]))
        for sensor, values in self._of(Gyro):
            if np.isfinite(values).all(axis=1).any():
                rates = np.stack([interpolated(self.times, rate) for rate in values.T], axis=1)
                rates = np.einsum("tij, tj -> ti", frames[sensor.frame].rotation, rates)
                steps = Rotation.from_rotvec(rates[:-1] * np.diff(self.times)[:, None])
                return Rotation.concatenate([*accumulate(steps, mul, initial=Rotation.identity())])
        return Rotation.identity(len(self.times))

    def _place(self, R: np.ndarray, frames: dict[str, FrameMotion], feet: list[str]) -> np.ndarray:
        for kind in (Position, Pose):
            for sensor, values in self._of(kind):
                read = values[:, :3]
                if np.isfinite(read).all(axis=1).any():
                    away = np.einsum("tij, tj -> ti", R, frames[sensor.frame].position)
                    return np.stack([interpolated(self.times, column) for column in (read - away).T], axis=1)
        if not feet:
            return np.tile(self.still[:3], (len(R), 1))
        reach = np.stack([np.einsum("tij, tj -> ti", R, frames[foot].position) for foot in feet], axis=1)
        return self._on_feet(reach)

    def _on_feet(self, reach: Float[np.ndarray, "S feet 3"]) -> Float[np.ndarray, "S 3"]:
        """The base from feet at `reach` from it, in the world's axes, which stand while they are closed."""
        closed, place = self.model.schedule.closed, np.zeros((len(reach), 3))
        if closed[0].any():
            # feet on the ground at height 0
            place[0, 2] = -reach[0, closed[0], 2].mean()
        speed = np.zeros(3)
        for k in range(1, len(reach)):
            held, dt = closed[k - 1] & closed[k], self.times[k] - self.times[k - 1]
            if held.any():
                speed = -(reach[k] - reach[k - 1])[held].mean(axis=0) / dt
            place[k] = place[k - 1] + dt * speed
        return place

    def _of(self, kind: type[Kind]) -> list[tuple[Kind, np.ndarray]]:
        """Sensors of a class, with their readings."""
        return [(some.sensor, some.values) for some in self.model.readings if isinstance(some.sensor, kind)]
