"""Drag of the air, c v |v|: a law of friction in a file of its own, as a reader of `docs/extend` would write it."""

from dataclasses import dataclass

import numpy as np

from poinsot.models.friction import FrictionLaw, FrictionParameter


@dataclass(frozen=True)
class AirDrag(FrictionLaw):
    """air_drag v |v|"""

    name = "air-drag"
    parameters = (FrictionParameter("air_drag", "fa", "{effort} s^2/{position}^2", "drag of the air"),)
    dry = False

    @staticmethod
    def effort(v, m, l, q, p):
        return p[0] * v * np.abs(v)

    @staticmethod
    def slopes(v, m, l, q, p, out):
        out[0] = 2 * p[0] * np.abs(v)
        out[1] = out[2] = out[3] = 0.0
        out[4] = v * np.abs(v)
