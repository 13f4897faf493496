"""Friction laws of a joint that are linear in their parameters (seed 002, Eq. 3).

A law is a set of columns, each a function of the joint's own velocity. The next law is one more class with
`symbols`, `kinds`, `units` and `columns`; regression, estimators and report need not know about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import JointSamples
from ..exceptions import InvalidMethod


@dataclass(frozen=True)
class NoFriction:
    """tau_f = 0."""

    @property
    def symbols(self) -> tuple[str, ...]:
        return ()

    @property
    def kinds(self) -> tuple[str, ...]:
        return ()

    def units(self, effort: str, velocity: str) -> tuple[str, ...]:
        return ()

    def columns(self, v: JointSamples) -> np.ndarray:
        """(T, n, 0)"""
        return np.empty((*v.shape, 0))


@dataclass(frozen=True)
class ViscousCoulomb:
    """tau_f = fv v + fc sign(v) + off.

    Args:
        offset: whether a constant offset is a parameter (asymmetric friction, amplifier bias).
        coulomb: whether dry friction is.
        deadband: speed below which sign(v) is taken as 0, in the joint's unit [rad/s] or [m/s]; at standstill dry
            friction is anything up to fc, so its sign there is noise.
    """

    offset: bool = True
    coulomb: bool = True
    deadband: float = 0.0

    def __post_init__(self) -> None:
        if not self.deadband >= 0:
            raise InvalidMethod(f"the deadband of the friction must be at least 0, not {self.deadband}")

    @property
    def symbols(self) -> tuple[str, ...]:
        return ("fv", *(("fc",) if self.coulomb else ()), *(("off",) if self.offset else ()))

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("viscous", *(("coulomb",) if self.coulomb else ()), *(("offset",) if self.offset else ()))

    def units(self, effort: str, velocity: str) -> tuple[str, ...]:
        """Units of the parameters for a joint whose effort and velocity have these units."""
        known = {"viscous": f"{effort} s/{velocity.removesuffix('/s')}", "coulomb": effort, "offset": effort}
        return tuple(known[kind] for kind in self.kinds)

    def columns(self, v: JointSamples) -> np.ndarray:
        """(T, n, len(symbols)): the torque of each joint for each parameter at 1."""
        known = {
            "viscous": lambda: v,
            "coulomb": lambda: dry_sign(v, self.deadband),
            "offset": lambda: np.ones_like(v),
        }
        return np.stack([known[kind]() for kind in self.kinds], axis=-1)


FrictionLaw = NoFriction | ViscousCoulomb


def dry_sign(v: np.ndarray, deadband: float = 0.0) -> np.ndarray:
    """sign(v), and 0 where |v| <= deadband."""
    return np.where(np.abs(v) > deadband, np.sign(v), 0.0)
