"""The smooth trend of statsmodels: y_k = level_k + e_k, level_{k+1} = level_k + slope_k, slope_{k+1} = slope_k + eta_k.

It is given what it needs to be right: an exactly diffuse beginning, and samples in thousandths. In units of 1 it takes
its recursions for settled too early (its tolerance is absolute) and the level is off by a hundredth of the noise; in
units of 1/5000 its optimizer ends at a ratio of 1e10 and says that it converged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from statsmodels.tsa.statespace.structural import UnobservedComponents

UNIT = 1e-3


@dataclass(frozen=True)
class Fit:
    """Smooth one series, with both variances by maximum likelihood."""

    model: Any
    result: Any

    @property
    def ratio(self) -> float:
        return self.result.params[1] / self.result.params[0]

    @property
    def log_likelihood(self) -> float:
        return self.result.llf

    def log_likelihood_at(self, variance: float, ratio: float) -> float:
        return self.model.loglike(_parameters(variance, ratio))

    def level_at(self, variance: float, ratio: float) -> np.ndarray:
        return UNIT * self.model.smooth(_parameters(variance, ratio)).level.smoothed


def fit(y: np.ndarray) -> Fit:
    model = UnobservedComponents(y / UNIT, level="smooth trend", use_exact_diffuse=True)
    return Fit(model, model.fit(disp=False))


def _parameters(variance: float, ratio: float) -> list[float]:
    return [variance / UNIT**2, ratio * variance / UNIT**2]
