"""Autocorrelation of the residuals, with the 95 % band of white noise (Brunot et al. 2017, Figs. 2 and 3).

Of N white residuals each sample autocorrelation is nearly normal with variance 1/N, so 95 of 100 lie within
1.96 / sqrt(N) of zero.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ...estimate import NORMAL_95, Fit
from ..blocks import Figure, FigureGrid
from ..numbers import correlation_text
from .style import ACCENT, BAND, INK, axis, curve, layout, rounded

MOST_STEMS = 150
"""Lags that are drawn one by one; more become a line."""

LEGEND = (("stem", "autocorrelation"), ("band", "95 % band of white noise"))


def white_band(fit: Fit) -> float:
    """Half the width of the band that 95 of 100 autocorrelations of white residuals keep within."""
    return NORMAL_95 / sqrt(len(fit.time))


def stems(fit: Fit, joint: int) -> dict[str, Any]:
    """The trace of one joint's autocorrelation, lag by lag."""
    values = fit.autocorrelation[joint]
    points, hover = {"x": list(range(len(values))), "y": rounded(values)}, "lag %{x}: %{y:.3f}<extra></extra>"
    if len(values) > MOST_STEMS:
        return curve("autocorrelation", {"color": ACCENT, "width": 1.4}, hover, **points)
    look = {"width": 0.45, "marker": {"color": ACCENT, "line": {"width": 0}}, "hovertemplate": hover}
    return {"type": "bar", "name": "autocorrelation"} | points | look


def band_shape(fit: Fit, **references: str) -> dict[str, Any]:
    """The shaded band, over the whole width of a panel."""
    half = float(f"{white_band(fit):.4g}")
    place = {"xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": -half, "y1": half} | references
    line = {"color": INK, "width": 0.7, "dash": "dot"}
    return {"type": "rect", "fillcolor": BAND, "line": line, "layer": "below"} | place


def value_range(fits: list[Fit]) -> list[float]:
    """One vertical range for panels that are compared."""
    lowest = min(
        # A column without readings has no autocorrelation.
        float(np.min(fit.autocorrelation, where=np.isfinite(fit.autocorrelation), initial=0.0))
        for fit in fits
    )
    band = max(white_band(fit) for fit in fits)
    return [float(f"{max(min(lowest, -band) - 0.08, -1.05):.2f}"), 1.05]


def whiteness_words(fit: Fit, joint: int) -> str:
    """`lag 1: 0.62, not white`."""
    verdict = fit.whiteness[joint]
    return f"lag 1: {correlation_text(verdict.lag1)}, {'white' if verdict.white else 'not white'}"


def autocorrelation_figure(fit: Fit, joint: int, vertical: list[float] | None = None) -> Figure:
    """One joint."""
    return Figure(
        title=fit.joints[joint],
        note=whiteness_words(fit, joint),
        data=(stems(fit, joint),),
        layout=layout(
            210,
            xaxis=axis("lag [rows]", zeroline=False, range=[-0.6, fit.autocorrelation.shape[1] - 0.4]),
            yaxis=axis("autocorrelation", range=vertical or value_range([fit]), nticks=6),
            shapes=[band_shape(fit)],
            hovermode="closest",
        ),
        alt=(
            f"{fit.joints[joint]}: autocorrelation of the residuals up to lag {fit.autocorrelation.shape[1] - 1}; "
            f"{whiteness_words(fit, joint)}; white noise would stay within {white_band(fit):.3f}"
        ),
    )


def autocorrelation_grid(fit: Fit) -> FigureGrid:
    """All joints on the same scale."""
    vertical = value_range([fit])
    return FigureGrid(
        panels=tuple(autocorrelation_figure(fit, joint, vertical) for joint in range(len(fit.joints))),
        legend=LEGEND,
        shared_x=True,
        caption=f"Stems outside ± {white_band(fit):.3f} happen once in twenty lags where residuals are white.",
    )
