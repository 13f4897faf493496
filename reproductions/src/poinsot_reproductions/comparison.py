"""Several methods side by side: a row for each joint, a column for each method (Brunot et al. 2017, Figs. 2 to 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from poinsot.estimate import Fit
from poinsot.report.blocks import Figure
from poinsot.report.figures.curves import band_shape, stems, value_range, whiteness_words
from poinsot.report.figures.style import INK, MEASURED, PREDICTED, RESIDUAL, axis, curve, layout, plain
from poinsot.report.figures.thinning import line, longest_trace
from poinsot.report.numbers import correlation_text, percent_text, unit_text
from poinsot.report.words import series

HEADING = 34  # pixels above the panels for the names of the methods


def effort_comparison(fits: Mapping[str, Fit], title: str = "") -> Figure:
    """Measured, predicted and residual effort in one panel for each joint and method (Brunot et al. 2017, Fig. 4).

    Args:
        fits: method -> its fit; all of the same joints.
        title: above the picture.
    """
    grid = _Grid(fits, row_height=150)
    longest = longest_trace(len(grid))
    data: list[dict[str, Any]] = []
    for joint, method, suffix in grid:
        fit = fits[method]
        for name, samples, ink in (
            ("measured", fit.measured, MEASURED),
            ("predicted", fit.predicted, PREDICTED),
            ("residual", fit.residuals, RESIDUAL),
        ):
            data.append(
                curve(
                    name,
                    ink,
                    showlegend=suffix == "",
                    xaxis=f"x{suffix}",
                    yaxis=f"y{suffix}",
                    **line(fit.time, samples[:, joint], longest),
                )
            )
    axes = grid.axes("time [s]", lambda joint: f"{grid.joints[joint]} [{unit_text(grid.first.units[joint])}]")
    notes = [
        grid.note(joint, method, percent_text(fits[method].relative_error_percent_per_joint[joint]))
        for joint, method, _ in grid
    ]
    totals = "; ".join(f"{method} {percent_text(fit.relative_error_percent)}" for method, fit in fits.items())
    return grid.figure(
        title or "Measured, predicted and residual effort",
        data,
        axes,
        notes,
        alt=f"Measured, predicted and residual effort of {series(grid.joints)}; relative error in total: {totals}",
        legend=True,
    )


def autocorrelation_comparison(fits: Mapping[str, Fit], title: str = "") -> Figure:
    """Autocorrelation of the residuals for each joint and method (Brunot et al. 2017, Figs. 2 and 3).

    Args:
        fits: method -> its fit; all of the same joints.
        title: above the picture.
    """
    grid = _Grid(fits, row_height=120)
    data = [
        stems(fits[method], joint) | {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        for joint, method, suffix in grid
    ]
    shapes = [
        band_shape(fits[method], xref=f"x{suffix} domain", yref=f"y{suffix}") for _, method, suffix in grid
    ]
    axes = grid.axes("lag [rows]", lambda joint: grid.joints[joint])
    vertical = value_range(list(fits.values()))
    for key, value in axes.items():
        if key.startswith("yaxis"):
            value["range"] = vertical
    notes = [grid.note(joint, method, whiteness_words(fits[method], joint)) for joint, method, _ in grid]
    conditions = "; ".join(
        f"{method}: "
        + ", ".join(correlation_text(fit.whiteness[joint].lag1) for joint in range(len(grid.joints)))
        for method, fit in fits.items()
    )
    return grid.figure(
        title or "Autocorrelation of the residuals",
        data,
        axes,
        notes,
        alt=f"Autocorrelation of the residuals of {series(grid.joints)}; at lag 1, {conditions}",
        shapes=shapes,
        hovermode="closest",
    )


class _Grid:
    """Panels of joints by methods; iterates over (joint, method, suffix of its axes), row by row."""

    def __init__(self, fits: Mapping[str, Fit], row_height: int):
        self.methods = tuple(fits)
        self.first = next(iter(fits.values()))
        self.joints = self.first.joints
        self.height = HEADING + 46 + row_height * len(self.joints)
        self._gap_x, self._gap_y = 0.035, 26 / max(self.height - HEADING - 46, 1)

    def __len__(self) -> int:
        return len(self.joints) * len(self.methods)

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        for number, (joint, method) in enumerate(product(range(len(self.joints)), self.methods), start=1):
            yield joint, method, "" if number == 1 else str(number)

    def axes(self, x_title: str, y_title: Callable[[int], str]) -> dict[str, Any]:
        """All axes: titles at the left and at the bottom only, x shared by all, y by each row."""
        axes: dict[str, Any] = {}
        for joint, method, suffix in self:
            column = self.methods.index(method)
            last, leftmost = joint == len(self.joints) - 1, column == 0
            x = axis(x_title if last else "", domain=self._x(column), anchor=f"y{suffix}", zeroline=False)
            y = axis(y_title(joint) if leftmost else "", domain=self._y(joint), anchor=f"x{suffix}", nticks=5)
            if suffix:
                x["matches"] = "x"
            if not leftmost:
                y["matches"] = f"y{self._suffix(joint, 0)}"
            axes[f"xaxis{suffix}"] = x | {"showticklabels": last}
            axes[f"yaxis{suffix}"] = y | {"showticklabels": leftmost}
        return axes

    def note(self, joint: int, method: str, text: str) -> dict[str, Any]:
        """A remark above the right corner of a panel."""
        x, y = self._x(self.methods.index(method))[1], self._y(joint)[1]
        return label(text, x, y, xanchor="right", yanchor="bottom", font={"size": 11})

    def figure(
        self,
        title: str,
        data: list[dict[str, Any]],
        axes: dict[str, Any],
        notes: list[dict[str, Any]],
        alt: str,
        legend: bool = False,
        **more: Any,
    ) -> Figure:
        headings = [
            label(method, sum(self._x(column)) / 2, 1.0, yshift=14, xanchor="center", yanchor="bottom")
            for column, method in enumerate(self.methods)
        ]
        below = {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "yref": "container"}
        return Figure(
            title=title,
            data=tuple(data),
            layout=layout(
                self.height + (28 if legend else 0),
                **axes,
                annotations=[*headings, *notes],
                margin={"l": 64, "r": 12, "t": HEADING, "b": 46 + (28 if legend else 0)},
                showlegend=legend,
                legend=below | {"y": 0.0, "yanchor": "bottom"},
                **more,
            ),
            alt=alt,
            wide=True,
        )

    def _suffix(self, joint: int, column: int) -> str:
        number = joint * len(self.methods) + column + 1
        return "" if number == 1 else str(number)

    def _x(self, column: int) -> list[float]:
        width = (1.0 - self._gap_x * (len(self.methods) - 1)) / len(self.methods)
        start = column * (width + self._gap_x)
        return [round(start, 5), round(min(start + width, 1.0), 5)]

    def _y(self, joint: int) -> list[float]:
        pitch = 1.0 / len(self.joints)
        top = 1.0 - joint * pitch
        bottom = top - pitch + (self._gap_y if joint < len(self.joints) - 1 else 0.0)
        return [round(max(bottom, 0.0), 5), round(top, 5)]


def label(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """A heading inside a figure of several panels, at a place of the paper."""
    place = {"text": plain(text), "x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False}
    return place | {"font": {"size": 13, "color": INK}} | more
