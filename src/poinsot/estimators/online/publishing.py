"""What a controller is told: bodies that change no faster than it can bear (seed 004, Sect. IV-B).

A published body is moved towards the estimate by a part s of the way, pi + s (pi_hat - pi), with the largest s <= 1
that keeps every rate. Between two possible bodies all are possible, so what is published always is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...exceptions import InvalidMethod


@dataclass(frozen=True)
class RateLimit:
    """How fast what is published may change; None: as it likes.

    Args:
        mass: [kg/s]. first_moment: of each component [kg m/s]. inertia: of each component [kg m^2/s].
    """

    mass: float | None = 3.0
    first_moment: float | None = None
    inertia: float | None = None

    def __post_init__(self) -> None:
        for name, rate in (
            ("mass", self.mass),
            ("first_moment", self.first_moment),
            ("inertia", self.inertia),
        ):
            if rate is not None and not rate > 0:
                raise InvalidMethod(f"the rate of {name} must be above 0, or None for no limit, not {rate:g}")

    def next(self, published: np.ndarray, estimate: np.ndarray, dt: float) -> np.ndarray:
        """(k, 10) what to publish dt seconds after `published`, with bodies now estimated so."""
        rates = [np.inf if rate is None else rate for rate in (self.mass, self.first_moment, self.inertia)]
        limits = dt * np.repeat(rates, [1, 3, 6])
        change = estimate - published
        if not np.isfinite(change).all():
            return published
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(np.abs(change) > limits, limits / np.abs(change), 1.0)
        return published + part.min(axis=-1, keepdims=True) * change
