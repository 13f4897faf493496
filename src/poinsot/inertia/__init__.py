"""The physically possible rigid bodies.

parameters                the ten inertial parameters: parts, frames, physical consistency, the equivalent ellipsoid,
                          the nearest possible body
parametrization           coordinates without bounds for the possible bodies; `charts` has a file for each
divergence                distances between bodies
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from . import charts

if TYPE_CHECKING:
    from .parametrization import Parametrization


def chart_names() -> tuple[str, ...]:
    """Names of the charts in project files; the default comes first."""
    names = [module.name.replace("_", "-") for module in iter_modules(charts.__path__)]
    return tuple(sorted(names, key=lambda name: (name != "log-cholesky", name)))


def find_chart(name: str) -> Parametrization:
    """Import and return the chart of this name; its module compiles kernels."""
    module = import_module(f"{charts.__name__}.{name.replace('-', '_')}")
    chart: Parametrization = getattr(module, name.title().replace("-", ""))()
    return chart
