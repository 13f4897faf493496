"""The channels of a recording over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..blocks import Figure, FigureGrid
from ..numbers import significant, unit_text
from .style import CHANNEL, axis, curve, layout
from .thinning import line, longest_trace, thinning_note


def channel_figure(name: str, unit: str, time: np.ndarray, values: np.ndarray, longest: int = 4000) -> Figure:
    """One channel; (T,) times [s] and values."""
    finite = values[np.isfinite(values)]
    shown = unit_text(unit)
    extent = (
        f"from {significant(float(finite.min()))} to {significant(float(finite.max()))} {shown}".rstrip()
        if len(finite)
        else "no finite value"
    )
    return Figure(
        title=name,
        note=extent,
        data=(curve("value", CHANNEL, "%{y:.5g}<extra></extra>", **line(time, values, longest)),),
        layout=layout(
            190,
            xaxis=axis("time [s]", zeroline=False),
            yaxis=axis(f"[{shown or '1'}]", nticks=6),
        ),
        alt=f"{name} over time, {extent}",
    )


def channel_grid(channels: Sequence[tuple[str, str, np.ndarray, np.ndarray]], title: str = "") -> FigureGrid:
    """All channels, (name, unit, time, values) each, zoomed together."""
    longest = longest_trace(len(channels))
    rows = max((len(values) for _, _, _, values in channels), default=0)
    return FigureGrid(
        title=title,
        panels=tuple(channel_figure(*channel, longest=longest) for channel in channels),
        shared_x=True,
        caption=("Drag over a panel to zoom all of them in time. " + thinning_note(rows, longest)).strip(),
    )
