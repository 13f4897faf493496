"""Friction laws: the terms of every joint of a robot, and those of a motor that turns with two joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import JointSamples
from .terms import CoulombTerm, FrictionTerm, OffsetTerm, ViscousTerm


@dataclass(frozen=True)
class FrictionLaw(ABC):
    """Friction as a sum of terms, one parameter each.

    A law is a frozen dataclass: its fields are the keys that a project file may set under [friction].
    """

    term_types: ClassVar[tuple[type[FrictionTerm], ...]] = ()
    """Every term that a law of this class may have."""

    @property
    @abstractmethod
    def terms(self) -> tuple[FrictionTerm, ...]:
        """The terms of each joint, in the order of their columns."""

    @property
    def coupled_terms(self) -> tuple[FrictionTerm, ...]:
        """Terms of the shaft of a motor that turns with a second joint (see `Drive.coupled_friction`)."""
        return ViscousTerm(), CoulombTerm()

    def columns(self, v: JointSamples) -> np.ndarray:
        """(T, n, terms) effort of each joint for each parameter at 1."""
        out = np.empty((*v.shape, len(self.terms)))
        for k, term in enumerate(self.terms):
            out[..., k] = term.effort(v)
        return out


class NoFriction(FrictionLaw):
    """tau_f = 0."""

    @property
    def terms(self) -> tuple[FrictionTerm, ...]:
        return ()


@dataclass(frozen=True)
class ViscousCoulomb(FrictionLaw):
    """tau_f = fv v + fc sign(v) + off (Brunot et al. 2017, Eq. 3).

    Args:
        offset: whether a constant offset is a parameter (asymmetric friction, amplifier bias).
        coulomb: whether dry friction is a parameter.
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
