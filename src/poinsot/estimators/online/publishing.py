"""Rate limit of published bodies, for a controller (Foster et al. 2024, Sect. IV-B).

A published body moves towards the estimate by pi + s (pi_hat - pi), with the largest s <= 1 within all rate limits.
Possible bodies are a convex set, so published bodies are always possible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...exceptions import InvalidMethod


@dataclass(frozen=True)
class RateLimit:
    """Largest rates of change of published bodies; None: no limit.

    Args:
        mass: [kg/s]. first_moment: of each component [kg m/s]. inertia: of each component [kg m^2/s].
    """

    mass: float | None = 3.0
    first_moment: float | None = None
    inertia: float | None = None

    def __post_init__(self) -> None:
        for name, rate in vars(self).items():
            if rate is not None and not rate > 0:
                raise InvalidMethod(f"the rate of {name} must be above 0, or None for no limit, not {rate:g}")

    def next(self, published: np.ndarray, estimate: np.ndarray, dt: float) -> np.ndarray:
        """(k, 10) bodies to publish `dt` seconds after `published`, from those now estimated."""
        rates = [np.inf if rate is None else rate for rate in (self.mass, self.first_moment, self.inertia)]
        limits = dt * np.repeat(rates, [1, 3, 6])
        change = estimate - published
        # a controller must never receive NaN, even if the filter returns it
        if not np.isfinite(change).all():
            return published
        # 0 / 0 where nothing changed
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(np.abs(change) > limits, limits / np.abs(change), 1.0)
        # one factor for all ten: with several, bodies would leave the line between two possible ones
        return published + part.min(axis=-1, keepdims=True) * change
