"""Terms of friction: the effort of a joint is the sum of parameter times `effort(v)` over the terms of its law.

    viscous   fv v            coulomb   fc sign(v)            offset   off          (Brunot et al. 2017, Eq. 3)

sign(v) jumps at v = 0. Where a slope is needed there (integration forward in time, gradients of a motion), a term is
evaluated with a `width` w > 0 [rad/s] or [m/s], and sign(v) becomes tanh(v / w): 76 % of its size at v = w.

Arrays may be NumPy's or JAX's, traced ones included: every operation is taken from the array's own library.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...exceptions import InvalidMethod


def _library(v: Any) -> Any:
    """NumPy or JAX's NumPy, whichever `v` is from."""
    return v.__array_namespace__() if hasattr(v, "__array_namespace__") else np


def dry_sign(v: Any, deadband: float = 0.0, width: Any = 0.0) -> Any:
    """sign(v), and 0 where |v| <= deadband; tanh(v / width) for a width above 0."""
    xp = _library(v)
    if np.ndim(width) or width > 0:
        return xp.tanh(v / width)
    # the sign of a speed within its noise is noise
    return xp.where(xp.abs(v) > deadband, xp.sign(v), 0.0)


def dry_level(v: Any, level: Any, excess: Any, decay: Any) -> Any:
    """Magnitude of dry friction at speed v: level + excess exp(-decay v^2), higher at rest (Stribeck)."""
    return level + excess * _library(v).exp(-decay * v * v)


@dataclass(frozen=True)
class FrictionTerm(ABC):
    """One parameter of a friction law.

    Class attributes:
        symbol: prefix of its parameters' names, e.g. `fv`.
        kind: its name in all models, results and JSON, e.g. `viscous`.
        words: for messages and pages.
        dissipates: whether it takes energy at every speed if its parameter is positive; the parameter is then
            never below 0 in a real joint.
        linear: whether its effort is proportional to v.
        described_as: `damping` or `friction` of URDF and MJCF; None: no description has a place for it.
    """

    symbol: ClassVar[str]
    kind: ClassVar[str]
    words: ClassVar[str]
    dissipates: ClassVar[bool] = True
    linear: ClassVar[bool] = False
    described_as: ClassVar[str | None] = None

    def unit(self, effort: str, velocity: str) -> str:
        """Unit of the parameter for a joint whose effort and velocity have these units; by default the effort's."""
        return effort

    @abstractmethod
    def effort(self, v: Any, width: Any = 0.0) -> Any:
        """(...) [N m] or [N] for the parameter at 1.

        Args:
            v: (...) speed of the joint [rad/s] or [m/s].
            width: speed over which jumps are smoothed, in the unit of v; 0: they are not.
        """

    def slope(self, v: Any, width: Any = 0.0) -> Any:
        """(...) derivative of `effort` by v; 0 at a jump that is not smoothed, and by default."""
        return _library(v).zeros_like(v)


class ViscousTerm(FrictionTerm):
    """fv v"""

    symbol, kind, words = "fv", "viscous", "viscous friction"
    linear = True
    described_as = "damping"

    def unit(self, effort: str, velocity: str) -> str:
        return f"{effort} s/{velocity.removesuffix('/s')}"

    def effort(self, v: Any, width: Any = 0.0) -> Any:
        return v

    def slope(self, v: Any, width: Any = 0.0) -> Any:
        return _library(v).ones_like(v)


@dataclass(frozen=True)
class CoulombTerm(FrictionTerm):
    """fc sign(v)

    Args:
        deadband: speed below which sign(v) is taken as 0, in the joint's unit [rad/s] or [m/s].
    """

    deadband: float = 0.0

    symbol, kind, words = "fc", "coulomb", "Coulomb friction"
    described_as = "friction"

    def __post_init__(self) -> None:
        if not self.deadband >= 0:
            raise InvalidMethod(f"the deadband of the friction must be at least 0, not {self.deadband}")

    def effort(self, v: Any, width: Any = 0.0) -> Any:
        return dry_sign(v, self.deadband, width)

    def slope(self, v: Any, width: Any = 0.0) -> Any:
        if np.ndim(width) or width > 0:
            return (1 - dry_sign(v, width=width) ** 2) / width
        return super().slope(v, width)


class OffsetTerm(FrictionTerm):
    """off: a bias, of an asymmetric friction or an amplifier; of any sign."""

    symbol, kind, words = "off", "offset", "constant offset"
    dissipates = False

    def effort(self, v: Any, width: Any = 0.0) -> Any:
        return _library(v).ones_like(v)
