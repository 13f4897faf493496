"""A clock that runs too fast or too slowly: v -> c v, a -> c^2 a.

Gravity and inertia then disagree by c^2. A gravity of another size does the same, so which of the two is wrong is said
by gravity as declared: if it is the Earth's, the clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Unchecked
from ..regression.inverse_dynamics import InverseDynamics
from .case import Examination
from .changes import mapped, recordings_of
from .check import Cause
from .explanations import SMALLER, Candidate, Explained, Explanation, improvement, severity_of

EARTH = (9.76, 9.84)
"""Gravity on the ground, from Mexico City to the poles [m/s^2]."""


def is_earths(gravity: np.ndarray) -> bool:
    """Whether gravity has the size of the Earth's."""
    return bool(EARTH[0] <= np.linalg.norm(gravity) <= EARTH[1])


def faster(problem: InverseDynamics, x: Vector, _: Vector) -> InverseDynamics:
    """Time runs c = e^x times as fast."""
    c = float(np.exp(x[0]))
    return mapped(problem, lambda s: replace(s, v=s.v * c, a=s.a * c**2))


@dataclass(frozen=True)
class ClockScale(Explanation):
    """One factor on the rate of all recordings.

    Args:
        warning, error: relative sizes; inertia is wrong by twice as much.
    """

    warning: float = 0.01
    error: float = 0.03

    cause = Cause(
        "clock-scale",
        "The sampling rate is not the one declared: gravity and inertia disagree by its square.",
        "Mend rate_hz, or the unit of the time column.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        if np.any(case.thin.robot.model.gravity.linear) and is_earths(case.thin.robot.model.gravity.linear):
            starts = [
                (float(c),) for c in np.log([1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 10, 100, 1e3])
            ]
            yield Candidate(self, (), faster, starts, matters=self.warning)

    def finding(self, case: Examination, explained: Explained) -> Finding:
        c, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        rate = 1 / float(np.median(np.diff(recordings_of(case.problem)[0].time)))
        which = "slower" if c < 1 else "faster"
        return Finding(
            self.cause.name,
            severity_of(abs(c - 1), self.warning, self.error),
            f"The true rate is {c:.4g} +- {1.96 * c * std:.2g} times the declared one ({which}): with it, "
            f"{improvement(case, explained)}.",
            f"Write rate_hz = {rate * c:.4g} (declared: {rate:.4g}), or scale the time column by {1 / c:.4g}.",
        )

    def unobservable(self, candidate: Candidate, size: float) -> Unchecked | None:
        if size < np.log1p(self.error):
            return None
        known = f"known to +- {100 * np.expm1(size):.2g} %" if size < 1 else "not known"
        return Unchecked(
            "the rate of the clock",
            f"it is {known}: gravity and inertia, which other rates make disagree, do not show more; {SMALLER}",
        )
