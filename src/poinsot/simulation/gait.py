"""Where a humanoid's feet and centre of mass should be, tick by tick."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from ..arrays import Vector
from .plant import Sole
from .tasks import Kinematics


@dataclass(frozen=True, eq=False)
class Footing:
    """What a gait wants at a tick.

    Args:
        centre, centre_velocity, centre_acceleration: (2,) of the centre of mass.
        swing: the foot in the air, "" for none. placement, velocity, acceleration: what its sole should do.
        loads: foot -> part of the largest normal force that it may carry.
        sinking: feet that should stand and feel no ground -> speed at which to go down [m/s].
    """

    centre: Vector
    centre_velocity: Vector
    centre_acceleration: Vector
    swing: str
    placement: pin.SE3
    velocity: Vector
    acceleration: Vector
    loads: Mapping[str, float]
    sinking: Mapping[str, float] = field(default_factory=dict)


class Gait(ABC):
    """What feet and centre of mass should do, tick by tick; it remembers where it is in its phases."""

    @abstractmethod
    def __call__(self, time: float, kinematics: Kinematics, wrenches: Mapping[str, Vector]) -> Footing:
        """What is wanted now.

        Args:
            kinematics: at the measured state. wrenches: foot -> (6,) measured.
        """


class Standing(Gait):
    """Both feet stay, the centre of mass is held where it is."""

    def __init__(self, kinematics: Kinematics, soles: tuple[Sole, Sole]):
        self._centre = kinematics.centre_of_mass[:2].copy()
        self._loads = {sole.body: 1.0 for sole in soles}

    def __call__(self, time: float, kinematics: Kinematics, wrenches: Mapping[str, Vector]) -> Footing:
        zero = np.zeros(2)
        return Footing(
            self._centre, zero, zero, "", pin.SE3.Identity(), np.zeros(6), np.zeros(6), self._loads
        )
