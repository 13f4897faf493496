"""tau_f = fv v + fc sign(v) + off (Janot et al. 2014, Eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass

from .law import FrictionLaw
from .terms import Coulomb, FrictionTerm, Offset, Viscous


@dataclass(frozen=True)
class ViscousCoulomb(FrictionLaw):
    """tau_f = fv v + fc sign(v) + off.

    Args:
        offset: whether a constant offset is a parameter (asymmetric friction, amplifier bias).
        coulomb: whether dry friction is.
        deadband: speed below which sign(v) is taken as 0, in the joint's unit [rad/s] or [m/s]; at standstill dry
            friction is anything up to fc, so its sign there is noise.

    Raises:
        InvalidMethod: if the deadband is below 0.
    """

    offset: bool = True
    coulomb: bool = True
    deadband: float = 0.0

    term_types = (Viscous, Coulomb, Offset)

    def __post_init__(self) -> None:
        Coulomb(self.deadband)

    @property
    def terms(self) -> tuple[FrictionTerm, ...]:
        dry = (Coulomb(self.deadband),) if self.coulomb else ()
        return (Viscous(), *dry, *((Offset(),) if self.offset else ()))

    @property
    def coupled_terms(self) -> tuple[FrictionTerm, ...]:
        return Viscous(), Coulomb(self.deadband)
