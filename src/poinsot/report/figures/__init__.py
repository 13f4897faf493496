"""Pure functions from results to Plotly figures: plain dicts of JSON values, no Plotly object in between."""

from .autocorrelation import autocorrelation_figure, autocorrelation_grid
from .curves import channel_figure, channel_grid, curve_figure
from .drops import drop_grid
from .effort import effort_figure, effort_grid
from .ellipsoids import ellipsoid_figure, ellipsoid_grid
from .impacts import cone_grid, energy_grid, energy_unit, impulse_grid
from .intervals import interval_figure, interval_grid

__all__ = [
    "autocorrelation_figure",
    "autocorrelation_grid",
    "channel_figure",
    "channel_grid",
    "cone_grid",
    "curve_figure",
    "drop_grid",
    "effort_figure",
    "effort_grid",
    "ellipsoid_figure",
    "ellipsoid_grid",
    "energy_grid",
    "energy_unit",
    "impulse_grid",
    "interval_figure",
    "interval_grid",
]
