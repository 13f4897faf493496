"""The limits along a motion as inequalities g <= 0 without units, and their derivatives by the motion.

    position      (q - upper) / s,  (lower - q) / s         s half the range, or one turn where there is none
    speed, acceleration, torque     x / x_max - 1,  -x / x_max - 1
    clearance     (d_min - d) / 0.1 m

at each evaluated time. `excess` has one row per time and one column per constraint, always in this order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Float, JointSamples, Vector
from .limits import SYMMETRIC
from .problem import ExcitationProblem

CLEARANCE_SCALE_M = 0.1


@dataclass(frozen=True, eq=False)
class MotionConstraints:
    """The limits of one problem, with a part of each as margin (`spare`); 0.1 m times this part for clearances."""

    problem: ExcitationProblem
    spare: float = 0.0

    def excess(
        self, q: JointSamples, v: JointSamples, a: JointSamples, tau: JointSamples
    ) -> Float[np.ndarray, "T G"]:
        """(T, 8 n + C) g, positive where a limit is broken."""
        limits = self.problem.limits
        distances = self.problem.collisions.distances(self.problem.robot.configurations(q))
        with np.errstate(invalid="ignore"):  # a line search may try motions that overflow
            parts = [(q - limits.upper) / self._range, (limits.lower - q) / self._range]
            for values, limit in zip((v, a, tau), self._symmetric, strict=True):
                parts += [values / limit - 1, -values / limit - 1]
            parts.append((self.problem.clearances - distances) / CLEARANCE_SCALE_M)
        return np.concatenate(parts, axis=1) + self.spare

    def pull_back(
        self, q: JointSamples, weights: Float[np.ndarray, "T G"]
    ) -> tuple[JointSamples, JointSamples, JointSamples, JointSamples]:
        """(T, n) each: the derivatives of sum(weights * g) by q, v, a and tau."""
        n = q.shape[1]
        up, down, *others = (weights[:, k * n : (k + 1) * n] for k in range(8))
        dv, da, dtau = (
            (others[2 * k] - others[2 * k + 1]) / limit for k, limit in enumerate(self._symmetric)
        )
        apart = -weights[:, 8 * n :] / CLEARANCE_SCALE_M
        dq = (up - down) / self._range
        # distances are the largest cost, and usually no pair is close
        if apart.any():
            dq = dq + self.problem.collisions.pull_back(self.problem.robot.configurations(q), apart)
        return dq, dv, da, dtau

    def describe(self, excess: Float[np.ndarray, "T G"]) -> str:
        """The most violated constraint, in words, e.g. `the torque of joint elbow exceeds its limit by 3 %`."""
        problem, n = self.problem, len(self.problem.robot.joints)
        # the order of `excess`: 2 n positions, 6 n others by quantity and sign, then pairs
        column = int(np.argmax(excess.max(axis=0)))
        by = float(excess[:, column].max())
        if column >= 8 * n:
            first, second = problem.collisions.pairs[column - 8 * n]
            least = problem.clearances[column - 8 * n] - by * CLEARANCE_SCALE_M
            return f"{first} comes as close as {least:.3g} m to {second}"
        joint, unit = problem.limits.joints[column % n], problem.limits.units[column % n]
        if column < 2 * n:
            return f"joint {joint} passes its position limit by {by * self._range[column % n]:.3g} {unit}"
        quantity = SYMMETRIC[(column - 2 * n) // (2 * n)]
        return f"the {quantity} of joint {joint} exceeds its limit by {100 * by:.2g} %"

    @property
    def _symmetric(self) -> tuple[Vector, ...]:
        """(n,) limits of speed, acceleration and torque."""
        return tuple(getattr(self.problem.limits, name) for name in SYMMETRIC)

    @property
    def _range(self) -> np.ndarray:
        half = 0.5 * (self.problem.limits.upper - self.problem.limits.lower)
        return np.where(np.isfinite(half), half, 2 * np.pi)
