"""A humanoid as a closed loop needs it: a robot, its two soles, where it stands, and what its motors can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Vector
from ..models.articulated import Articulated
from .plant import Sole


@dataclass(frozen=True, eq=False)
class Humanoid:
    """A robot that stands on two feet.

    Args:
        robot: with a floating base, its pelvis.
        soles: left, right.
        home: (nq,) standing on z = 0.
        effort_limits: (n,) of its motors.
        pelvis: name of the base's link.
    """

    robot: Articulated
    soles: tuple[Sole, Sole]
    home: Vector
    effort_limits: Vector
    pelvis: str

    def dofs(self, joints: Sequence[str]) -> np.ndarray:
        """Places in v of joints by name."""
        return np.array([6 + self.robot.joints.index(joint) for joint in joints])
