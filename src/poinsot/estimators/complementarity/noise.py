"""The tracker's noise, before anything is known of the motion.

In flight poses are parabolas of time, so third differences of frames are noise alone, of 20 sigma^2; a low quantile of
them is little moved by those over impacts. Frames may be uneven: then these are divided differences.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy import stats

from ...arrays import Vector

QUANTILE = 0.3
"""Of third differences."""


def tracker_noise(times: Vector, poses: Float[np.ndarray, "N 3"]) -> Vector:
    """(3,) standard deviations of x, y and theta from third divided differences; x and y alike [m], [m], [rad]."""
    weights = np.zeros((len(times) - 3, 4))
    for k in range(4):
        others = [j for j in range(4) if j != k]
        for j in others:
            away = times[k : len(times) - 3 + k] - times[j : len(times) - 3 + j]
            weights[:, k] = (weights[:, k] if j != others[0] else 1.0) / away
    weights /= np.linalg.norm(weights, axis=1)[:, None]
    windows = np.lib.stride_tricks.sliding_window_view(poses, 4, axis=0)
    third = np.abs(np.einsum("kij,kj->ki", windows, weights))
    normal = stats.norm.ppf(0.5 + QUANTILE / 2)
    place, angle = np.quantile(third[:, :2], QUANTILE) / normal, np.quantile(third[:, 2], QUANTILE) / normal
    return np.maximum([place, place, angle], 1e-12)
