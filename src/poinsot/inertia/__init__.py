"""The physically possible rigid bodies.

parameters                the ten inertial parameters: parts, frames, physical consistency, the equivalent ellipsoid
parametrization           coordinates without bounds for the possible bodies; the charts are listed in CHARTS
divergence                distances between bodies
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .parametrization import Parametrization

CHARTS = MappingProxyType(
    {
        "log-cholesky": "LogCholesky",
        "transposed-log-cholesky": "TransposedLogCholesky",
        "exponential-eigenvalue": "ExponentialEigenvalue",
    }
)
"""Class of a chart by its name in project files; the module has that name with underscores."""


def find_chart(name: str) -> Parametrization:
    """Import and return the chart of this name in `CHARTS`; its module compiles kernels."""
    chart: Parametrization = getattr(import_module(f".{name.replace('-', '_')}", __name__), CHARTS[name])()
    return chart
