"""What a mechanism takes of each joint along a posture: inertia, gravity, and coupling to the other joints.

    tau = M(q) a + b(q, v)  =  M_jj a_j + load_j,      load_j = sum over i != j of M_ji a_i + b_j

With the other joints' motion given, M_jj and load_j are functions of time, and joint j is alone with its actuator. How
load_j changes with the joint's own position is that of gravity: the position is at most a few hundredths of a radian
off the posture, and what inertia adds there is of second order.

The posture is first the measured motion, smoothed without delay; velocities and accelerations are its derivatives.
Once every joint has been simulated, it is the simulated motion, whose accelerations have no noise (`problem`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import JointSamples, Times
from ..robot.articulated import Articulated
from ..robot.inverse_dynamics import inverse_dynamics
from .rollout import JointLoad

SMOOTHING_ORDER = 2


@dataclass(frozen=True, eq=False)
class Mechanics:
    """Loads of the joints of a robot.

    Args:
        robot: without a floating base.
        inertials: (links, 10) of its links, as in `Articulated.inertials`. gravity: (3,) [m/s^2].
    """

    robot: Articulated
    inertials: np.ndarray
    gravity: np.ndarray

    @staticmethod
    def of(robot: Articulated) -> Mechanics:
        """With the inertias and the gravity of the robot's description."""
        return Mechanics(robot, np.array(robot.inertials), np.array(robot.model.gravity.linear))

    def loads(
        self, q: JointSamples, v: JointSamples, a: JointSamples, slopes: JointSamples
    ) -> tuple[JointLoad, ...]:
        """The load of each joint along a motion.

        Args:
            q, v, a: (K, n) of the robot's joints [rad], [rad/s], [rad/s^2]. slopes: (K, n) of gravity by the joint's
                own position [N m/rad].
        """
        robot = self.robot
        M, tau = inverse_dynamics(robot.tree, self.inertials, self.gravity, robot.configurations(q), v, a)
        inertia = np.diagonal(M, axis1=1, axis2=2)
        load, static = tau - inertia * a, tau - np.einsum("kij,kj->ki", M, a)
        return tuple(
            JointLoad(*(np.ascontiguousarray(each[:, j]) for each in (inertia, load, slopes, q, static)))
            for j in range(q.shape[1])
        )

    def gravity_slopes(self, q: JointSamples) -> JointSamples:
        """(K, n) of the torques of gravity, each by its own joint's position, at positions (K, n) [N m/rad]."""
        robot, still = self.robot, np.zeros_like(q)
        q = robot.configurations(q)
        slopes, _ = inverse_dynamics(robot.tree, self.inertials, self.gravity, q, still, still, slopes=True)
        return np.diagonal(slopes, axis1=1, axis2=2)


def smoothed(
    time: Times, q: JointSamples, cutoff_hz: float | None = None
) -> tuple[JointSamples, JointSamples, JointSamples]:
    """Positions (T, n), velocities and accelerations: a zero-phase Butterworth filter, then central differences.

    Args:
        cutoff_hz: of the filter; None: an eighth of the sampling rate, at most 10 Hz.
    """
    from scipy.signal import butter, sosfiltfilt

    rate = 1.0 / float(np.median(np.diff(time)))
    cutoff_hz = cutoff_hz or min(10.0, rate / 8)
    if cutoff_hz < 0.5 * rate and len(time) > 15:
        q = sosfiltfilt(butter(SMOOTHING_ORDER, cutoff_hz, fs=rate, output="sos"), q, axis=0)
    v = np.gradient(q, time, axis=0)
    return q, v, np.gradient(v, time, axis=0)
