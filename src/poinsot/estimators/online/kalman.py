"""Kalman's filter on the ten parameters: linear, without constraints on them (Foster et al. 2024, Sect. III-B).

The baseline of the paper. Under weak excitation its estimates become physically impossible; take the extended filter
for a controller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Vector
from .filter import Filter


@dataclass(frozen=True, eq=False)
class KalmanFilter(Filter):
    """x = pi (Foster et al. 2024, Eqs. 10 to 15)."""

    name = "kalman-filter"
    citations = ("kalman1960",)
    curved = False

    def coordinates(self, pi: np.ndarray) -> Vector:
        return pi.ravel().copy()

    def inertial(self, x: Vector) -> np.ndarray:
        return x.reshape(-1, 10)

    def jacobian(self, x: Vector) -> np.ndarray:
        return np.broadcast_to(np.eye(10), (len(x) // 10, 10, 10))
