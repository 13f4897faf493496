"""Lines over one time axis: the channels of a recording, or for instance an estimate and the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..blocks import Figure, FigureGrid
from ..numbers import significant, unit_text
from ..words import series
from .style import ACCENT, CHANNEL, INK, MUTED, TOP_LEGEND, axis, curve, layout
from .thinning import line, longest_trace, zoom_note

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
    said = extent(lines.values(), unit)
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
        alt=f"{title}: {series(list(lines))} over time{f', {said}' if said else ''}",
        # Legends with many entries need the whole width.
        wide=True,
    )


def extent(values: Iterable[np.ndarray], unit: str) -> str:
    """`from -1 to 3 rad`; nothing where no value is finite."""
    finite = np.concatenate([each[np.isfinite(each)] for each in values] or [np.zeros(0)])
    if not len(finite):
        return ""
    low, high = significant(float(finite.min())), significant(float(finite.max()))
    return f"from {low} to {high} {unit_text(unit)}".rstrip()


def channel_figure(name: str, unit: str, time: np.ndarray, values: np.ndarray, longest: int = 4000) -> Figure:
    """One channel; (T,) times [s] and values."""
    shown, said = unit_text(unit), extent([values], unit) or "no finite value"
    return Figure(
        title=name,
        note=said,
        data=(curve("value", CHANNEL, "%{y:.5g}<extra></extra>", **line(time, values, longest)),),
        layout=layout(
            190,
            xaxis=axis("time [s]", zeroline=False),
            yaxis=axis(f"[{shown or '1'}]", nticks=6),
        ),
        alt=f"{name} over time, {said}",
    )


def channel_grid(channels: Sequence[tuple[str, str, np.ndarray, np.ndarray]]) -> FigureGrid:
    """All channels, (name, unit, time, values) each, zoomed together."""
    longest = longest_trace(len(channels))
    rows = max((len(values) for _, _, _, values in channels), default=0)
    return FigureGrid(
        panels=tuple(channel_figure(*channel, longest=longest) for channel in channels),
        shared_x=True,
        caption=zoom_note(rows, longest),
    )
