"""The physically possible rigid bodies.

parameters                the ten numbers: their parts, frames, consistency with reasons, the ellipsoid that has them
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
    """The chart of a name in `CHARTS`; its module compiles kernels and is imported now."""
    chart: Parametrization = getattr(import_module(f".{name.replace('-', '_')}", __name__), CHARTS[name])()
    return chart
