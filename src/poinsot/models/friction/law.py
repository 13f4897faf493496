"""A friction law: the terms of every joint of a robot, and those of a motor that turns with two joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import JointSamples
from .terms import CoulombTerm, FrictionTerm, ViscousTerm


@dataclass(frozen=True)
class FrictionLaw(ABC):
    """Friction as a sum of terms, one parameter each.

    A law is a frozen dataclass: its fields are what a project file may set under [friction], by the same names.
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
