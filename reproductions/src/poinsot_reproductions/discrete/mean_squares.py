"""Mean squares of the residuals of a fit, as the paper states them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poinsot.estimators.joint import JointFit


def observation_mse(fit: JointFit) -> float:
    """Mean square of predicted minus measured readings [rad^2], [m^2]."""
    return _mean_square([path.observation_errors for path in fit.paths])


def impulse_mse(fit: JointFit) -> float:
    """Mean square of the residuals of steps."""
    return _mean_square([path.step_errors for path in fit.paths])


def _mean_square(parts: Sequence[np.ndarray]) -> float:
    every = np.concatenate([part[np.isfinite(part)] for part in parts])
    return float(np.mean(every**2)) if len(every) else float("nan")
