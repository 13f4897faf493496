"""Viscous friction, fv v; of an actuator, with the back-EMF of its motor."""

from dataclasses import dataclass
from typing import Any

from .law import FrictionLaw, FrictionParameter


@dataclass(frozen=True)
class ViscousFriction(FrictionLaw):
    """damping v (Brunot et al. 2017, Eq. 3)."""

    name = "viscous"
    parameters = (
        FrictionParameter(
            "damping", "fv", "{effort} s/{position}", "viscous friction", kind="viscous",
            described_as="damping", drive_field="viscous_friction",
        ),
    )  # fmt: skip
    dry = False

    @staticmethod
    def effort(v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
        return p[0] * v

    @staticmethod
    def slopes(v: Any, m: Any, l: Any, q: Any, p: Any, out: Any) -> None:
        out[0] = p[0]
        out[1] = out[2] = out[3] = 0.0
        out[4] = v
