"""Coordinates of a search over actuators: torques as ratios to the stiffness.

From positions under position commands, everything that a joint does with its own torques is invariant to their common
scale: only gravity, known inertia and coupling have a scale of their own. So with an open stiffness

    x = (log stiffness, torque parameters / stiffness, delay, lag, zero, ...)

the ratios are what the data determine well, and log stiffness is the one direction that they may not. Without an open
stiffness all parameters are their own coordinates.

Joints of a group have all of these in common but `zero`; each joint and recording has a start (position and velocity),
known to within a prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Matrix, Vector
from ...models.servo.actuator import parameter as row_of
from ...models.servo.rollout import place_of

OWN = frozenset(("zero",))
"""Parameters that joints of a group do not share."""


def is_torque(parameter: str) -> bool:
    """Whether a parameter grows with the scale of torques: it is a torque, per something."""
    return row_of(parameter).is_torque


def is_scaled(parameter: str) -> bool:
    """Whether the coordinate of a parameter is its ratio to the stiffness."""
    return parameter != "stiffness" and is_torque(parameter)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Of one group of joints.

    Args:
        joints: of the group. open: parameters that are estimated, the same for all.
        held: (n, p) numbers of each joint's rollout, of what is not open.
    """

    joints: tuple[str, ...]
    open: tuple[str, ...]
    held: Matrix

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """(parameter, joint) of each coordinate; joint "" for one that the group shares."""
        shared = [(name, "") for name in self.open if name not in OWN]
        return (*shared, *((name, joint) for name in self.open if name in OWN for joint in self.joints))

    @property
    def size(self) -> int:
        return len(self.columns)

    @property
    def has_scale(self) -> bool:
        """Whether the stiffness is open."""
        return "stiffness" in self.open

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """Places in theta of `open`, in its order."""
        return tuple(place_of(name) for name in self.open)

    def natural(self, x: Vector) -> Vector:
        """(p,) parameters in their units, of coordinates x (p,)."""
        theta = np.array(x, dtype=float)
        if self.has_scale:
            k = self.columns.index(("stiffness", ""))
            theta[k] = np.exp(x[k])
            for i, (name, _) in enumerate(self.columns):
                if is_scaled(name):
                    theta[i] = x[i] * theta[k]
        return theta

    def slope(self, x: Vector) -> Matrix:
        """(p, p) of `natural` by x."""
        slope = np.eye(len(x))
        if self.has_scale:
            k = self.columns.index(("stiffness", ""))
            scale = np.exp(x[k])
            slope[k, k] = scale
            for i, (name, _) in enumerate(self.columns):
                if is_scaled(name):
                    slope[i, i], slope[i, k] = scale, x[i] * scale
        return slope

    def from_natural(self, theta: Vector) -> Vector:
        """(p,) coordinates of parameters in their units."""
        x = np.array(theta, dtype=float)
        if self.has_scale:
            k = self.columns.index(("stiffness", ""))
            for i, (name, _) in enumerate(self.columns):
                if is_scaled(name):
                    x[i] = theta[i] / theta[k]
            x[k] = np.log(theta[k])
        return x

    def of_joint(self, theta: Vector, joint: int) -> Vector:
        """(p,) numbers of the rollout of a joint of the group, without its start."""
        numbers = self.held[joint].copy()
        for place, (_, owner), value in zip(self._places, self.columns, theta, strict=True):
            if owner in ("", self.joints[joint]):
                numbers[place] = value
        return numbers

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """Place in theta of each column."""
        return tuple(place_of(name) for name, _ in self.columns)

    def spread(self, sensitivities: Matrix, joint: int) -> Matrix:
        """(T, p) of a joint's positions by the group's parameters, from those by its own `open`, (T, len(open))."""
        out = np.zeros((len(sensitivities), self.size))
        for column, (name, owner) in enumerate(self.columns):
            if owner in ("", self.joints[joint]):
                out[:, column] = sensitivities[:, self.open.index(name)]
        return out


def bounds(columns: Sequence[tuple[str, str]], longest_delay: float) -> tuple[Vector, Vector]:
    """(p,) least and largest coordinates: ratios of nothing below 0, delays up to the longest [s]."""
    lower = np.array([row_of(name).smallest for name, _ in columns])
    upper = np.array([longest_delay if name in ("delay", "lag") else np.inf for name, _ in columns])
    return lower, upper
