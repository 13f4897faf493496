"""Pure functions from results to Plotly figures: plain dicts of JSON values, no Plotly object in between."""

from .curves import autocorrelation_figure as autocorrelation_figure
from .curves import autocorrelation_grid as autocorrelation_grid
from .curves import channel_figure as channel_figure
from .curves import channel_grid as channel_grid
from .curves import curve_figure as curve_figure
from .curves import effort_figure as effort_figure
from .curves import effort_grid as effort_grid
from .drops import drop_grid as drop_grid
from .ellipsoids import ellipsoid_figure as ellipsoid_figure
from .ellipsoids import ellipsoid_grid as ellipsoid_grid
from .impacts import cone_grid as cone_grid
from .impacts import energy_grid as energy_grid
from .impacts import energy_unit as energy_unit
from .impacts import impulse_grid as impulse_grid
from .intervals import interval_figure as interval_figure
from .intervals import interval_grid as interval_grid
