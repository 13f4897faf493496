"""Lines over one time axis, for instance an estimate and the truth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..blocks import Figure
from ..numbers import significant, unit_text
from ..words import series
from .style import ACCENT, INK, MUTED, TOP_LEGEND, axis, curve, layout
from .thinning import line

INKS = (
    {"color": INK, "width": 1.6},
    {"color": "#e06c00", "width": 1.4},
    {"color": ACCENT, "width": 1.4, "dash": "6px,2px"},
    {"color": MUTED, "width": 1.2, "dash": "2px,2px"},
)
"""Styles of the first, second, ... line; they also differ in lightness or dashes."""

HEIGHT = 300


def curve_figure(
    title: str, unit: str, time: np.ndarray, lines: Mapping[str, np.ndarray], along: str = "time [s]"
) -> Figure:
    """Lines with one unit.

    Args:
        time: (T,) [s]. lines: name -> (T,); NaN leaves a gap.
        along: title of the horizontal axis.
    """
    shown = unit_text(unit)
    data = tuple(
        curve(name, INKS[k % len(INKS)], **line(time, values))
        for k, (name, values) in enumerate(lines.items())
    )
    finite = np.concatenate([values[np.isfinite(values)] for values in lines.values()] or [np.zeros(0)])
    extent = (
        f", from {significant(float(finite.min()))} to {significant(float(finite.max()))} {shown}".rstrip()
        if len(finite)
        else ""
    )
    return Figure(
        title=title,
        data=data,
        layout=layout(
            HEIGHT,
            xaxis=axis(along, zeroline=False),
            yaxis=axis(f"[{shown or '1'}]", nticks=7),
            showlegend=True,
            legend=TOP_LEGEND,
            margin={"l": 56, "r": 12, "t": 34, "b": 40},
        ),
        alt=f"{title}: {series(list(lines))} over time{extent}",
        wide=True,
    )
