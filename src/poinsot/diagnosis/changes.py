"""Changes of signals that several explanations share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ..arrays import Vector
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.signals import Signals
from .explanations import Candidate


def recordings_of(problem: InverseDynamics) -> tuple[Signals, ...]:
    return cast("tuple[Signals, ...]", problem.recordings)


def joints_of(problem: InverseDynamics) -> tuple[str, ...]:
    """Columns of the signals, as recorded."""
    return recordings_of(problem)[0].joints


def mapped(problem: InverseDynamics, change: Callable[[Signals], Signals]) -> InverseDynamics:
    """The problem with each recording's signals changed."""
    return problem.with_signals([change(each) for each in recordings_of(problem)])


@dataclass(frozen=True, eq=False)
class Scaled(Candidate):
    """Positions and torques as recorded, times factors, one for all or one a joint; -1 turns a sign."""

    position: np.ndarray | float = 1.0
    torque: np.ndarray | float = 1.0

    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        p, t = self.position, self.torque
        return mapped(problem, lambda s: replace(s, q=s.q * p, v=s.v * p, a=s.a * p, tau=s.tau * t))


def only(joint: int, value: float, count: int) -> np.ndarray:
    """(count,) ones, and this value for one joint."""
    factors = np.ones(count)
    factors[joint] = value
    return factors
