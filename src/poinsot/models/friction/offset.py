"""A constant offset of the effort: of an asymmetric friction or an amplifier."""

from dataclasses import dataclass
from typing import Any

from .law import FrictionLaw, FrictionParameter


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
