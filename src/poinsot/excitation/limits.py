"""Limits of a motion: positions, speeds, accelerations and torques, joint by joint.

Descriptions hold positions, speeds and torques, and no accelerations. Infinite values mean no limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Vector
from ..exceptions import InvalidMethod, listing
from ..models.robot.articulated import UNLIMITED, Articulated
from ..parameters import PerJoint, per_joint

SYMMETRIC = ("velocity", "acceleration", "torque")
"""Limits of either sign."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the n joints of one robot, in its order.

    Args:
        joints: their names. units: of their positions, `"rad"` or `"m"`.
        lower, upper: (n,) positions [rad] or [m].
        velocity, acceleration: (n,) of either sign [rad/s] or [m/s], [rad/s^2] or [m/s^2].
        torque: (n,) of either sign [N m] or [N].
        part: these limits as a part of the robot's own.

    Raises:
        InvalidMethod: if two of them contradict each other, or nothing bounds the speed of a joint.
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    lower: Vector
    upper: Vector
    velocity: Vector
    acceleration: Vector
    torque: Vector
    part: float = 1.0

    def __post_init__(self) -> None:
        for joint, unit, low, high in zip(self.joints, self.units, self.lower, self.upper, strict=True):
            if not low < high:
                raise InvalidMethod(
                    f"the position limits of joint {joint!r} contradict each other: "
                    f"the lower one, {low:g} {unit}, is not below the upper one, {high:g} {unit}; give others"
                )
        for name in SYMMETRIC:
            for joint, limit in zip(self.joints, getattr(self, name), strict=True):
                if not limit > 0:
                    raise InvalidMethod(
                        f"the {name} limit of joint {joint!r} is {limit:g}, which allows no motion; "
                        "give one above 0"
                    )
        bounded = np.isfinite(self.velocity) | np.isfinite(self.acceleration) | np.isfinite(self.torque)
        if not bounded.all():
            raise InvalidMethod(
                f"nothing bounds the motion of {listing(np.array(self.joints)[~bounded])}: the description has no "
                "limits of speed and torque; give velocity or acceleration limits"
            )

    def fraction(self, part: float) -> Limits:
        """The same with only this part of each limit in use; positions keep to the middle of their range."""
        if not 0 < part <= 1:
            raise InvalidMethod(f"the part of the limits to use must be above 0 and at most 1, not {part:g}")
        return self._scaled(part)

    @property
    def whole(self) -> Limits:
        """The robot's own limits."""
        return self._scaled(1 / self.part)

    def _scaled(self, part: float) -> Limits:
        # a joint that turns without end has no middle to keep to
        cut = 0.5 * (1 - part) * np.nan_to_num(self.upper - self.lower, posinf=0.0)
        return replace(
            self,
            lower=self.lower + cut,
            upper=self.upper - cut,
            part=part * self.part,
            **{name: part * getattr(self, name) for name in SYMMETRIC},
        )


def limits_of(
    robot: Articulated,
    *,
    lower: PerJoint | None = None,
    upper: PerJoint | None = None,
    velocity: PerJoint | None = None,
    acceleration: PerJoint | None = None,
    torque: PerJoint | None = None,
    fraction: float = 1.0,
) -> Limits:
    """The limits of a robot's description, with others where they are given; errors are those of `Limits`.

    Args:
        robot: robot with joints of one degree of freedom and no floating base.
        lower, upper, velocity, acceleration, torque: instead of the description's, in SI units.
        fraction: part of every limit that a motion may use, above 0 and at most 1.
    """
    model, n = robot.model, len(robot.joints)
    low, high = robot.position_limits
    limits = Limits(
        robot.joints,
        robot.position_units,
        per_joint("the lower position limit", lower, robot.joints, low),
        per_joint("the upper position limit", upper, robot.joints, high),
        per_joint("the velocity limit", velocity, robot.joints, _magnitudes(model.upperVelocityLimit)),
        per_joint("the acceleration limit", acceleration, robot.joints, np.full(n, np.inf)),
        per_joint("the torque limit", torque, robot.joints, _magnitudes(model.upperEffortLimit)),
    )
    return limits.fraction(fraction)


def _magnitudes(limits: np.ndarray) -> np.ndarray:
    """(n,) limits; infinite where a description has 0 or a very large number, for no limit."""
    limits = np.asarray(limits, dtype=float)
    return np.where((limits > 0) & (limits < UNLIMITED), limits, np.inf)
