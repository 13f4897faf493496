"""Tables and Plotly figures of an estimate for notebooks: `estimate.plot`, `to_polars` and `to_pandas`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import polars as pl

from ..estimate import Estimate, motions_of
from ..exceptions import InvalidMethod, MissingExtra, listing
from .blocks import Figure, FigureGrid
from .figures.curves import autocorrelation_grid, effort_grid
from .figures.ellipsoids import ellipsoid_grid
from .figures.intervals import interval_grid
from .figures.style import plain

EXTRA = "notebook"
GAP = 36
"""Gap between two panels, for a title [px]."""


def to_pandas(estimate: Estimate) -> Any:
    """`estimate.to_pandas()`: the table of `to_polars` as a pandas table."""
    return _import_package("pandas").DataFrame(to_polars(estimate).to_dict(as_series=False))


def to_polars(estimate: Estimate) -> pl.DataFrame:
    """`estimate.to_polars()`: one row per parameter, with the columns of the JSON, and its 95 % interval."""
    rows = [
        {key: value for key, value in row.items() if key != "covariance"}
        | dict(zip(("low", "high"), estimate.interval(row["name"]), strict=True))
        for row in estimate.parameters.as_json()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _import_package(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra(EXTRA, package.partition(".")[0]) from None


@dataclass(frozen=True, eq=False)
class Plots:
    """Figures of an estimate, as its page has them: `plotly.graph_objects.Figure`, to be shown and changed.

    Each raises `MissingExtra` without Plotly, and `InvalidMethod` where the estimate has nothing to draw.
    """

    estimate: Estimate

    def parameters(self) -> Any:
        """Values with their 95 % intervals, a panel for each kind of parameter."""
        return _figure(interval_grid(self.estimate), "parameter that the data determine")

    def torques(self) -> Any:
        """Measured and predicted efforts of each joint, with the residual beneath."""
        return _figure(effort_grid(self._fit), "effort")

    def residuals(self) -> Any:
        """Autocorrelation of the residuals of each joint, with the 95 % band of white noise."""
        return _figure(
            autocorrelation_grid(self._fit) if self._fit.whiteness else None, "order of its residuals in time"
        )

    def bodies(self) -> Any:
        """The robot with its bodies as ellipsoids: identified, before the data, and as described."""
        return _figure(ellipsoid_grid(self.estimate), "body with a placement")

    @property
    def _fit(self) -> Any:
        if motions_of(self.estimate):
            raise InvalidMethod(
                f"{self.estimate.method} fits sensors, not efforts: its page has their figures"
            )
        return self.estimate.fit

    def __repr__(self) -> str:
        return f"figures of {self.estimate.robot}: {listing(('parameters()', 'torques()', 'residuals()', 'bodies()'))}"


def _figure(grid: FigureGrid | None, missing: str) -> Any:
    if grid is None or not grid.panels:
        raise InvalidMethod(f"there is nothing to draw: the estimate has no {missing}")
    go = _import_package("plotly.graph_objects")
    if len(grid.panels) == 1:
        (panel,) = grid.panels
        return go.Figure(
            panel.data, panel.layout | {"title": {"text": plain(panel.title)}, "margin": {"t": GAP + 20}}
        )
    return go.Figure(**_stacked(grid.panels))


def _stacked(panels: Sequence[Figure]) -> dict[str, Any]:
    """Panels beneath each other, with axes of their own: traces and layout."""
    data: list[dict[str, Any]] = []
    total = sum(panel.layout["height"] + GAP for panel in panels)
    layout = {key: panels[0].layout[key] for key in ("paper_bgcolor", "plot_bgcolor", "font", "hoverlabel")}
    layout |= {"height": total, "showlegend": False, "annotations": [], "shapes": []}
    layout["margin"] = {"t": GAP, "r": 16, "b": GAP}
    used, top = 0, 1.0
    for panel in panels:
        bottom = top - panel.layout["height"] / total
        height = top - bottom - GAP / total

        def place(name: str, used: int = used) -> str:
            """`y2` of the panel -> `y4` of the figure."""
            number = used + int(name[1:] or 1)
            return f"{name[0]}{number if number > 1 else ''}"

        def ends(domain: Sequence[float], bottom: float = bottom, height: float = height) -> list[float]:
            return [bottom + height * end for end in domain]

        axes = ({"xaxis": place("x"), "yaxis": place(trace.get("yaxis", "y"))} for trace in panel.data)
        data += [trace | own for trace, own in zip(panel.data, axes, strict=True)]
        vertical = [key for key in panel.layout if key.startswith("yaxis")]
        for key in vertical:
            own = place("y" + key.removeprefix("yaxis"))
            axis = panel.layout[key]
            layout[f"yaxis{own[1:]}"] = axis | {
                "domain": ends(axis.get("domain", [0, 1])),
                "anchor": place("x"),
            }
        axis = panel.layout["xaxis"]
        layout[f"xaxis{place('x')[1:]}"] = axis | {"anchor": place(axis.get("anchor", "y"))}
        for shape in panel.layout.get("shapes", ()):
            layout["shapes"].append(shape | {"xref": f"{place('x')} domain", "yref": place("y")})
        title = {
            "text": f"<b>{plain(panel.title)}</b>  {plain(panel.note)}",
            "showarrow": False,
            "xref": "paper",
            "yref": "paper",
        }
        layout["annotations"].append(title | {"x": 0, "y": bottom + height, "yanchor": "bottom"})
        used, top = used + len(vertical), bottom - GAP / total
    return {"data": data, "layout": layout}
