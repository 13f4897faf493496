"""Dry friction of a constant level, fc sign(v)."""

from dataclasses import dataclass
from typing import Any

from .law import FrictionLaw, FrictionParameter


@dataclass(frozen=True)
class CoulombFriction(FrictionLaw):
    """coulomb (Brunot et al. 2017, Eq. 3)."""

    name = "coulomb"
    parameters = (
        FrictionParameter(
            "coulomb", "fc", "{effort}", "Coulomb friction", described_as="friction", drive_field="dynamic_friction"
        ),
    )  # fmt: skip

    @staticmethod
    def effort(v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
        return p[0]

    @staticmethod
    def slopes(v: Any, m: Any, l: Any, q: Any, p: Any, out: Any) -> None:
        out[0] = out[1] = out[2] = out[3] = 0.0
        out[4] = 1.0
