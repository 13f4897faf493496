"""What a motion must keep within: positions, speeds, accelerations and torques, joint by joint.

Descriptions hold positions, speeds and torques, and no accelerations. Whatever is infinite is no limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Vector
from ...exceptions import InvalidMethod, listing, nearest
from ...models.articulated import Articulated

UNLIMITED = 1e6
"""Limits of this size and above mean that there is none."""

PerJoint = float | Sequence[float] | np.ndarray | Mapping[str, float]
"""One number for all joints, one a joint in the robot's order, or some by name."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Of the n joints of one robot, in its order.

    Args:
        joints: their names. units: of their positions, `"rad"` or `"m"`.
        lower, upper: (n,) positions [rad] or [m].
        velocity, acceleration: (n,) of either sign [rad/s] or [m/s], [rad/s^2] or [m/s^2].
        torque: (n,) of either sign [N m] or [N].

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

    def __post_init__(self) -> None:
        for joint, unit, low, high in zip(self.joints, self.units, self.lower, self.upper, strict=True):
            if not low < high:
                raise InvalidMethod(
                    f"the position limits of joint {joint!r} contradict each other: "
                    f"the lower one, {low:g} {unit}, is not below the upper one, {high:g} {unit}; give others"
                )
        for name in ("velocity", "acceleration", "torque"):
            for joint, limit in zip(self.joints, getattr(self, name), strict=True):
                if not limit > 0:
                    raise InvalidMethod(
                        f"the {name} limit of joint {joint!r} is {limit:g}, which lets nothing move; "
                        "give one above 0"
                    )
        bounded = np.isfinite(self.velocity) | np.isfinite(self.acceleration) | np.isfinite(self.torque)
        if not bounded.all():
            raise InvalidMethod(
                f"nothing bounds the motion of {listing(np.array(self.joints)[~bounded])}: the description has no "
                "limits of speed and torque; give velocity or acceleration limits"
            )

    def fraction(self, part: float) -> Limits:
        """The same with only this part of each limit in use; positions keep to the middle of their range.

        Raises:
            InvalidMethod: if it is not above 0 and at most 1.
        """
        if not 0 < part <= 1:
            raise InvalidMethod(f"the part of the limits to use must be above 0 and at most 1, not {part:g}")
        finite = np.isfinite(self.upper - self.lower)
        # a joint that turns without end has no middle to keep to
        cut = np.where(finite, 0.5 * (1 - part) * np.where(finite, self.upper - self.lower, 0.0), 0.0)
        return replace(
            self,
            lower=self.lower + cut,
            upper=self.upper - cut,
            velocity=part * self.velocity,
            acceleration=part * self.acceleration,
            torque=part * self.torque,
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
    """The limits of a robot's description, with others where they are given.

    Args:
        robot: with joints of one degree of freedom and no floating base.
        lower, upper, velocity, acceleration, torque: instead of the description's, in SI units.
        fraction: part of every limit that a motion may use, above 0 and at most 1.

    Raises:
        InvalidMethod: if a joint does not exist, two limits contradict each other, or nothing bounds a speed.
    """
    model, n = robot.model, len(robot.joints)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    for joint in model.joints[1:]:
        if joint.nq == 1 and joint.nv == 1:  # two numbers are a cosine and a sine: any angle
            low[joint.idx_v] = model.lowerPositionLimit[joint.idx_q]
            high[joint.idx_v] = model.upperPositionLimit[joint.idx_q]
    units = robot.position_units
    found = Limits(
        robot.joints,
        units,
        per_joint("lower position limit", lower, robot.joints, np.where(low > -UNLIMITED, low, -np.inf)),
        per_joint("upper position limit", upper, robot.joints, np.where(high < UNLIMITED, high, np.inf)),
        per_joint("velocity limit", velocity, robot.joints, _magnitudes(model.upperVelocityLimit)),
        per_joint("acceleration limit", acceleration, robot.joints, np.full(n, np.inf)),
        per_joint("torque limit", torque, robot.joints, _magnitudes(model.upperEffortLimit)),
    )
    return found.fraction(fraction)


def per_joint(what: str, value: PerJoint | None, joints: Sequence[str], default: Vector) -> Vector:
    """(n,) numbers, of `default` where none are given.

    Raises:
        InvalidMethod: if a joint does not exist, a number is none, or there are too few or too many.
    """
    if value is None:
        return np.array(default, dtype=float)
    if isinstance(value, Mapping):
        result = np.array(default, dtype=float)
        for joint, number in value.items():
            if joint not in joints:
                raise InvalidMethod(
                    f"the {what} names joint {joint!r}{nearest(joint, joints)}; the robot has {listing(joints)}"
                )
            result[list(joints).index(joint)] = number
    else:
        numbers = np.asarray(value, dtype=float)
        if numbers.shape not in ((), (len(joints),)):
            raise InvalidMethod(
                f"the {what} has {numbers.size} values; give one, or one for each of the {len(joints)} joints"
            )
        result = np.broadcast_to(numbers, (len(joints),)).copy()
    if np.isnan(result).any():
        raise InvalidMethod(f"the {what} must be numbers, not {value}")
    return result


def _magnitudes(limits: np.ndarray) -> np.ndarray:
    """A description's 0 says that it knows none, as do very large numbers."""
    limits = np.asarray(limits, dtype=float)
    return np.where((limits > 0) & (limits < UNLIMITED), limits, np.inf)
