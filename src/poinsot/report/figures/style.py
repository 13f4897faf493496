"""One look for all figures: white, thin rules, two inks that differ in lightness as well as in colour."""

from __future__ import annotations

from html import escape
from math import floor, log10
from typing import Any

import numpy as np

INK = "#1b2733"
MUTED = "#5b6773"
RULE = "#e3e7eb"
ACCENT = "#1f5fa8"
BAND = "rgba(31, 95, 168, 0.13)"

MEASURED = {"color": INK, "width": 1.8}
PREDICTED = {"color": "#e06c00", "width": 1.8, "dash": "5px,2px"}
COMMANDED = {"color": ACCENT, "width": 1.2, "dash": "1px,3px"}
RESIDUAL = {"color": MUTED, "width": 1.1}
CHANNEL = {"color": ACCENT, "width": 1.1}

FIGURES_IN_JSON = 6
"""Significant digits of a drawn number, relative to the largest of its trace."""


def rounded(values: Any) -> list[float | None]:
    """Values for a trace: to 6 significant digits of the largest, None where not finite."""
    values = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(values)
    largest = float(np.max(np.abs(values[finite]))) if finite.any() else 0.0
    if largest > 0:
        decimals = FIGURES_IN_JSON - 1 - floor(log10(largest))
        # Beyond, 10**decimals overflows.
        values = np.round(values, decimals) if abs(decimals) < 300 else values
    if finite.all():
        return list(values.tolist())
    return [value if seen else None for value, seen in zip(values.tolist(), finite.tolist(), strict=True)]


def plain(text: str) -> str:
    """Text escaped for Plotly, which interprets some HTML."""
    return escape(text, quote=False)


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """A Plotly axis in this look."""
    look: dict[str, Any] = {
        "gridcolor": RULE,
        "zerolinecolor": "#b9c1c9",
        "zerolinewidth": 1,
        "linecolor": "#b9c1c9",
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "#b9c1c9",
        "automargin": True,
    }
    if title:
        look["title"] = {"text": plain(title), "standoff": 6, "font": {"size": 12, "color": MUTED}}
    return look | more


def layout(height: int, *, legend_above: bool = False, below: int = 40, **more: Any) -> dict[str, Any]:
    """A Plotly layout in this look, with the margin below the picture. [px]"""
    look: dict[str, Any] = {
        "height": height,
        # The page gives the width, the figure its height.
        "autosize": True,
        "margin": {"l": 56, "r": 12, "t": 34 if legend_above else 8, "b": below},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "font": {
            "family": "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
            "size": 12,
            "color": INK,
        },
        "showlegend": legend_above,
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "#ffffff", "bordercolor": "#b9c1c9", "font": {"color": INK}},
    }
    if legend_above:
        look["legend"] = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    return look | more


def curve(name: str, ink: dict[str, Any], hover: str = "%{y:.4g}", **more: Any) -> dict[str, Any]:
    """A Plotly trace of lines; `hover` is the template of the text on hovering, "" for none."""
    shown = {"hovertemplate": hover} if hover else {"hoverinfo": "skip"}
    return {"type": "scatter", "mode": "lines", "name": name, "line": ink} | shown | more


def markers(
    x: Any, y: Any, symbol: str | list[str], colour: str | list[str], size: int = 8, **more: Any
) -> dict[str, Any]:
    """A Plotly trace of symbols, each with an outline of its own colour, as open symbols are only an outline."""
    look = {"symbol": symbol, "color": colour, "size": size, "line": {"color": colour, "width": 1.6}}
    return {"type": "scatter", "mode": "markers", "x": rounded(x), "y": rounded(y), "marker": look} | more
