"""Dry friction of gears, by the torques that press their teeth together (Duclusaud et al. 2025).

m is the torque of the motor and l that of the mechanism at the joint: gravity and products of velocities. A gear that
loses a part of the motor's torque has `load_friction` only (its efficiency); where motor and mechanism turn the gears
against each other, the teeth carry both.

At rest the friction is higher (Stribeck). The exponent of the Stribeck term is 2. The squares jump where both torques
are equal, if their two factors differ: derivatives leave it out.
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


@dataclass(frozen=True)
class GearStiction(FrictionLaw):
    """(stiction + |load_stiction m + external_stiction l| + gear_stiction |m + l| + quadratic)
    exp(-(v / stribeck_speed)^2)

    quadratic = external_quadratic l^2 if |l| < |m|, else load_quadratic m^2;  0 unless m l > 0
    """

    stribeck_speed: float = 0.1

    name = "stiction"
    by_speed = False
    parameters = (
        FrictionParameter(
            "stiction", "", "{effort}", "dry friction at rest beyond that in motion", drive_field="friction"
        ),
        FrictionParameter(
            "stribeck_speed", "", "{position}/s", "speed at which stiction has fallen to 1/e", linear=False,
            default=0.1, without_drive="friction falls to dynamic_friction as soon as the joint moves",
        ),
        FrictionParameter("load_stiction", "", "", "stiction per torque of the motor"),
        FrictionParameter("external_stiction", "", "", "stiction per torque of gravity at the joint"),
        FrictionParameter("gear_stiction", "", "", "stiction per torque that presses the gears together"),
        FrictionParameter("load_quadratic", "", "1/({effort})", "stiction per squared torque of the motor"),
        FrictionParameter("external_quadratic", "", "1/({effort})", "stiction per squared torque of gravity"),
    )  # fmt: skip

    @staticmethod
    def effort(v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
        external = (m * l > 0) * (np.abs(l) < np.abs(m))
        motor = (m * l > 0) * (np.abs(l) >= np.abs(m))
        level = p[0] + np.abs(p[2] * m + p[3] * l) + p[4] * np.abs(m + l)
        level = level + external * p[6] * l * l + motor * p[5] * m * m
        return level * np.exp(-((v / p[1]) ** 2))

    @staticmethod
    def slopes(v: Any, m: Any, l: Any, q: Any, p: Any, out: Any) -> None:
        external = (m * l > 0) * (np.abs(l) < np.abs(m))
        motor = (m * l > 0) * (np.abs(l) >= np.abs(m))
        apart, both, share = np.sign(p[2] * m + p[3] * l), np.sign(m + l), np.exp(-((v / p[1]) ** 2))
        level = p[0] + np.abs(p[2] * m + p[3] * l) + p[4] * np.abs(m + l)
        falling = 2 * v / p[1] ** 2 * share * (level + external * p[6] * l * l + motor * p[5] * m * m)
        out[0], out[3] = -falling, 0.0
        out[1] = share * (apart * p[2] + both * p[4] + 2 * motor * p[5] * m)
        out[2] = share * (apart * p[3] + both * p[4] + 2 * external * p[6] * l)
        out[4], out[5] = share, falling * v / p[1]
        out[6], out[7], out[8] = share * apart * m, share * apart * l, share * np.abs(m + l)
        out[9], out[10] = share * motor * m * m, share * external * l * l
