"""Measured and predicted effort of each joint, and the residual beneath (Brunot et al. 2017, Fig. 4)."""

from __future__ import annotations

from math import nan

import numpy as np

from ...estimate import Fit
from ..blocks import Figure, FigureGrid
from ..numbers import percent_text, significant, unit_text
from ..words import effort_word
from .style import MEASURED, PREDICTED, RESIDUAL, axis, curve, layout
from .thinning import end_to_end, line, longest_trace, zoom_note

LEGEND = (
    ("measured", "measured"),
    ("predicted", "predicted"),
    ("residual", "residual, measured minus predicted"),
)


def effort_figure(fit: Fit, joint: int, longest: int = 4000) -> Figure:
    """One joint: effort above, residual below, one time axis."""
    name, unit = fit.joints[joint], fit.units[joint]
    word, shown = effort_word(unit), unit_text(unit)
    # By column, in the unit of the joint: forces and torques are never in one figure.
    measured, predicted = fit.measured[:, joint], fit.predicted[:, joint]
    residual = measured - predicted
    traces = (
        ("measured", measured, MEASURED, "y"),
        ("predicted", predicted, PREDICTED, "y"),
        ("residual", residual, RESIDUAL, "y2"),
    )
    data = tuple(
        curve(label, ink, yaxis=y, **line(fit.time, values, longest)) for label, values, ink, y in traces
    )
    percent = fit.relative_error_percent_per_joint[joint]
    # a slow sensor has no reading in most rows, and NaN there
    read = residual[np.isfinite(residual)]
    rms = float(np.sqrt(np.mean(read**2))) if len(read) else nan
    largest = float(np.abs(read).max()) if len(read) else nan
    return Figure(
        title=name,
        note=f"relative error {percent_text(percent)}",
        data=data,
        layout=layout(
            320,
            xaxis=axis("time [s]", anchor="y2", zeroline=False),
            yaxis=axis(f"{word} [{shown}]", domain=[0.38, 1.0], nticks=7),
            yaxis2=axis(f"residual [{shown}]", domain=[0.0, 0.29], nticks=5),
        ),
        alt=(
            f"{name}: measured and predicted {word} over {float(np.ptp(end_to_end(fit.time))):.3g} s, "
            f"relative error {percent_text(percent)}, root mean square of the residual "
            f"{significant(rms, 3)} {shown}, largest {significant(largest, 3)} {shown}"
        ),
    )


def effort_grid(fit: Fit) -> FigureGrid:
    """All joints, zoomed together."""
    longest = longest_trace(len(fit.joints))
    return FigureGrid(
        panels=tuple(effort_figure(fit, joint, longest) for joint in range(len(fit.joints))),
        legend=LEGEND,
        shared_x=True,
        caption=zoom_note(
            len(fit.time),
            longest,
            "The recordings are drawn one behind the other." if np.any(np.diff(fit.time) <= 0) else "",
        ),
    )
