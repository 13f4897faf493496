"""Friction of the joints of a robot: linear parameters, one column of the regressor each.

sign(v) of dry friction jumps at v = 0. Where a slope is needed there (integration forward in time, gradients of a
motion), a column is evaluated with a `width` w > 0 [rad/s] or [m/s], and sign(v) becomes tanh(v / w): 76 % of its size
at v = w.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import JointSamples
from ...exceptions import InvalidMethod
from .coulomb import CoulombFriction
from .law import FrictionLaw, FrictionParameter
from .offset import FrictionOffset
from .viscous import ViscousFriction


@dataclass(frozen=True)
class FrictionColumn:
    """Effort of a joint per linear parameter of a law.

    Args:
        law: the law, with what is known of its other parameters. place: of the parameter in the law.
        deadband: speed below which sign(v) of dry friction is taken as 0, in the joint's unit [rad/s] or [m/s].
    """

    law: FrictionLaw
    place: int = 0
    deadband: float = 0.0

    @property
    def parameter(self) -> FrictionParameter:
        return self.law.parameters[self.place]

    @property
    def is_viscous(self) -> bool:
        """Whether the effort is proportional to v."""
        return isinstance(self.law, ViscousFriction)

    def effort(self, v: np.ndarray, width: float | np.ndarray = 0.0) -> np.ndarray:
        """(...) [N m] or [N] for the parameter at 1.

        Args:
            v: (...) speed of the joint [rad/s] or [m/s].
            width: speed over which jumps are smoothed, in the unit of v; 0: they are not.
        """
        size = self.law.effort(v, 0.0, 0.0, 0.0, self.law.known(self.place))
        return np.asarray(size * self._sign(v, width) if self.law.dry else size + 0.0 * v)

    def slope(self, v: np.ndarray, width: float | np.ndarray = 0.0) -> np.ndarray:
        """(...) derivative of `effort` by v; 0 at a jump that is not smoothed."""
        p = self.law.known(self.place)
        slopes = np.zeros((4 + len(p), *np.shape(v)))
        self.law.slopes(v, 0.0, 0.0, 0.0, p, slopes)
        if not self.law.dry:
            return slopes[0]
        sign = self._sign(v, width)
        level = self.law.effort(v, 0.0, 0.0, 0.0, p)
        return slopes[0] * sign + (level * (1 - sign**2) / width if np.all(width > 0) else 0.0)

    def _sign(self, v: np.ndarray, width: float | np.ndarray) -> np.ndarray:
        if np.all(width > 0):
            return np.tanh(v / width)
        # the sign of a speed within its noise is noise
        return np.where(np.abs(v) > self.deadband, np.sign(v), 0.0)


class RobotFriction(ABC):
    """Friction of every joint of a robot, and of motors that turn with two joints, as a sum of laws."""

    deadband: float = 0.0

    @property
    @abstractmethod
    def laws(self) -> tuple[FrictionLaw, ...]:
        """The laws of each joint, in the order of their columns."""

    @property
    def terms(self) -> tuple[FrictionColumn, ...]:
        """The columns of each joint."""
        return columns_of(self.laws, self.deadband)

    @property
    def coupled_terms(self) -> tuple[FrictionColumn, ...]:
        """Columns of the shaft of a motor that turns with a second joint (see `Drive.coupled_friction`)."""
        return columns_of((ViscousFriction(), CoulombFriction()), self.deadband)

    def columns(self, v: JointSamples) -> np.ndarray:
        """(T, n, terms) effort of each joint for each parameter at 1."""
        out = np.empty((*v.shape, len(self.terms)))
        for k, term in enumerate(self.terms):
            out[..., k] = term.effort(v)
        return out


@dataclass(frozen=True)
class NoFriction(RobotFriction):
    """tau_f = 0."""

    @property
    def laws(self) -> tuple[FrictionLaw, ...]:
        return ()


@dataclass(frozen=True)
class ViscousCoulomb(RobotFriction):
    """tau_f = fv v + fc sign(v) + off (Brunot et al. 2017, Eq. 3), and further laws.

    Args:
        offset: whether a constant offset is a parameter (asymmetric friction, amplifier bias).
        coulomb: whether dry friction is a parameter.
        deadband: speed below which sign(v) is taken as 0, in the joint's unit [rad/s] or [m/s]; at standstill dry
            friction is anything up to its level, so its sign there is noise.
        further: laws beside these, with what is known of their parameters that are not linear.

    Raises:
        InvalidMethod: if the deadband is below 0, or a further law depends on torques, which only servos have.
    """

    offset: bool = True
    coulomb: bool = True
    deadband: float = 0.0
    further: tuple[FrictionLaw, ...] = ()

    def __post_init__(self) -> None:
        if not self.deadband >= 0:
            raise InvalidMethod(f"the deadband of the friction must be at least 0, not {self.deadband}")
        for law in self.further:
            if not law.by_speed:
                raise InvalidMethod(
                    f"the friction law {law.name!r} depends on torques; it is for servos only"
                )

    @property
    def laws(self) -> tuple[FrictionLaw, ...]:
        dry = (CoulombFriction(),) if self.coulomb else ()
        return (ViscousFriction(), *dry, *((FrictionOffset(),) if self.offset else ()), *self.further)


def columns_of(laws: Sequence[FrictionLaw], deadband: float) -> tuple[FrictionColumn, ...]:
    """One column for each linear parameter of the laws."""
    return tuple(
        FrictionColumn(law, place, deadband if law.dry else 0.0)
        for law in laws
        for place, parameter in enumerate(law.parameters)
        if parameter.linear
    )
