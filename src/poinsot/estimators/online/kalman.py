"""Kalman filters: linear on the ten parameters, and extended on a chart of inertia (Foster et al. 2024, III-B and C).

The linear one, without constraints, is the baseline of the paper: under weak excitation its estimates become physically
impossible. Every belief of the extended one is a possible body: use it for controllers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Brief, Vector
from ...inertia.charts.log_cholesky import LogCholesky
from ...inertia.parametrization import Kernels, Parametrization
from ...kernels import njit
from .filter import Filter


@njit(cache=True)
def _copy(x, pi):
    pi[:] = x


@njit(cache=True)
def _identity(x, D):
    for b in range(len(x)):
        for r in range(10):
            for c in range(10):
                D[b, r, c] = 1.0 if r == c else 0.0


_TEN = Kernels(_copy, _identity)


@dataclass(frozen=True, eq=False, repr=False)
class KalmanFilter(Brief, Filter):
    """x = pi (Foster et al. 2024, Eqs. 10 to 15)."""

    name = "kalman-filter"
    citations = ("kalman1960",)
    curved = False

    @property
    def kernels(self) -> Kernels:
        return _TEN

    def coordinates(self, pi: np.ndarray) -> Vector:
        return pi.ravel().copy()


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

    @property
    def kernels(self) -> Kernels:
        return self.chart.kernels
