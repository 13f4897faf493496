"""Dry friction of gears, by the torques that press their teeth together (Duclusaud et al. 2025).

m is the torque of the motor and l that of the mechanism at the joint: gravity and products of velocities. A gear that
loses a part of the motor's torque has `load_friction` only (its efficiency); where motor and mechanism turn the gears
against each other, the teeth carry both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .law import FrictionLaw, FrictionParameter


@dataclass(frozen=True)
class GearFriction(FrictionLaw):
    """|load_friction m + external_friction l| + gear_friction |m + l|"""

    name = "gears"
    by_speed = False
    parameters = (
        FrictionParameter("load_friction", "", "", "dry friction per torque of the motor"),
        FrictionParameter("external_friction", "", "", "dry friction per torque of gravity at the joint"),
        FrictionParameter("gear_friction", "", "", "dry friction per torque that presses the gears together"),
    )

    @staticmethod
    def effort(v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
        return np.abs(p[0] * m + p[1] * l) + p[2] * np.abs(m + l)

    @staticmethod
    def slopes(v: Any, m: Any, l: Any, q: Any, p: Any, out: Any) -> None:
        apart, both = np.sign(p[0] * m + p[1] * l), np.sign(m + l)
        out[0] = out[3] = 0.0
        out[1], out[2] = apart * p[0] + both * p[2], apart * p[1] + both * p[2]
        out[4], out[5], out[6] = apart * m, apart * l, np.abs(m + l)
