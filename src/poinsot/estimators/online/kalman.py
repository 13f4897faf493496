"""Kalman filters: linear on the ten parameters, and extended on a chart of inertia (Foster et al. 2024, III-B and C).

The linear one, without constraints, is the baseline of the paper: under weak excitation its estimates become physically
impossible. Every belief of the extended one is a possible body: use it for controllers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Brief, Vector
from ...inertia.log_cholesky import LogCholesky
from ...inertia.parametrization import Parametrization
from .filter import Filter


@dataclass(frozen=True, eq=False, repr=False)
class KalmanFilter(Brief, Filter):
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


@dataclass(frozen=True, eq=False, repr=False)
class ExtendedKalmanFilter(Brief, Filter):
    """x = theta of a chart, h(theta) = Y pi(theta) (Foster et al. 2024, Eqs. 16 to 21).

    Args:
        chart: `LogCholesky`, `TransposedLogCholesky` (the paper's Eq. 17) or `ExponentialEigenvalue`.
    """

    name = "extended-kalman-filter"
    citations = ("kalman1960", "bell1993", "rucker2022", "foster2024")

    chart: Parametrization = field(default_factory=LogCholesky)

    def coordinates(self, pi: np.ndarray) -> Vector:
        return self.chart.from_inertial(pi).ravel()

    def inertial(self, x: Vector) -> np.ndarray:
        theta = x.reshape(-1, 10)
        pi = np.empty(theta.shape)
        self.chart.kernels.to_inertial(theta, pi)
        return pi

    def jacobian(self, x: Vector) -> np.ndarray:
        theta = x.reshape(-1, 10)
        D = np.empty((len(theta), 10, 10))
        self.chart.kernels.jacobian(theta, D)
        return D
