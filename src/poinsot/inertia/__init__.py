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
"""Name of a chart in project files -> its class, in the module of that name with underscores."""


def find_chart(name: str) -> Parametrization:
    """The chart of a name in `CHARTS`; its module, which compiles kernels, is imported by this call."""
    chart: Parametrization = getattr(import_module(f".{name.replace('-', '_')}", __name__), CHARTS[name])()
    return chart
