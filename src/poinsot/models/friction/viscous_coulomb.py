"""tau_f = fv v + fc sign(v) + off (Brunot et al. 2017, Eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass

from .law import FrictionLaw
from .terms import CoulombTerm, FrictionTerm, OffsetTerm, ViscousTerm


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

    term_types = (ViscousTerm, CoulombTerm, OffsetTerm)

    def __post_init__(self) -> None:
        CoulombTerm(self.deadband)

    @property
    def terms(self) -> tuple[FrictionTerm, ...]:
        dry = (CoulombTerm(self.deadband),) if self.coulomb else ()
        return (ViscousTerm(), *dry, *((OffsetTerm(),) if self.offset else ()))

    @property
    def coupled_terms(self) -> tuple[FrictionTerm, ...]:
        return ViscousTerm(), CoulombTerm(self.deadband)
