"""Friction that every family has without naming it: viscous, Coulomb's and an offset (Brunot et al. 2017, Eq. 3).

The viscous part of an actuator contains the back-EMF of its motor. A constant offset is that of an asymmetric friction
or an amplifier.
"""

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


@dataclass(frozen=True)
class FrictionOffset(FrictionLaw):
    """offset, of any sign."""

    name = "offset"
    in_servos = False  # their parameter `zero` has this effect
    parameters = (FrictionParameter("offset", "off", "{effort}", "constant offset", signed=True),)
    dry = False

    @staticmethod
    def effort(v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
        return p[0] + 0 * v

    @staticmethod
    def slopes(v: Any, m: Any, l: Any, q: Any, p: Any, out: Any) -> None:
        out[0] = out[1] = out[2] = out[3] = 0.0
        out[4] = 1.0
