"""Dry friction that is higher at rest, with a rate of decay (Stribeck; Lacoursiere 2007, Sec. 4.1)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .law import FrictionLaw, FrictionParameter


@dataclass(frozen=True)
class StribeckFriction(FrictionLaw):
    """coulomb_excess exp(-decay v^2): beside Coulomb friction, how much higher its level is at rest.

    Args:
        decay: rate at which the excess is lost with the squared speed [s^2/rad^2] or [s^2/m^2], where it is known.
    """

    decay: float = 100.0

    name = "stribeck"
    in_servos = False  # their law `stiction` contains it
    parameters = (
        FrictionParameter("coulomb_excess", "fe", "{effort}", "Stribeck friction", kind="stribeck"),
        FrictionParameter(
            "decay", "decay", "s^2/{position}^2", "Stribeck friction", kind="stribeck", linear=False
        ),
    )

    @staticmethod
    def effort(v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
        return p[0] * np.exp(-p[1] * v * v)

    @staticmethod
    def slopes(v: Any, m: Any, l: Any, q: Any, p: Any, out: Any) -> None:
        share = np.exp(-p[1] * v * v)
        out[0] = -2 * p[0] * p[1] * v * share
        out[1] = out[2] = out[3] = 0.0
        out[4] = share
        out[5] = -p[0] * v * v * share
