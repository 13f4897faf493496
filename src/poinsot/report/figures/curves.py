"""Figures of lines over one axis: channels of a recording, measured and predicted efforts, autocorrelations.

Efforts of each joint are drawn with the residual beneath (Brunot et al. 2017, Fig. 4). Of N white residuals each sample
autocorrelation is nearly normal with variance 1/N, so 95 of 100 lie within 1.96 / sqrt(N) of zero: the band that is
drawn (Brunot et al. 2017, Figs. 2 and 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import nan, sqrt
from typing import Any

import numpy as np

from ...estimate import NORMAL_95, Fit
from ..blocks import Figure, FigureGrid
from ..numbers import correlation_text, percent_text, significant, unit_text
from ..words import effort_word, series
from .style import (
    ACCENT,
    BAND,
    CHANNEL,
    INK,
    MEASURED,
    MUTED,
    PREDICTED,
    RESIDUAL,
    axis,
    curve,
    layout,
    rounded,
)
from .thinning import end_to_end, line, longest_trace, zoom_note

STEMS_LEGEND = (("stem", "autocorrelation"), ("band", "95 % band of white noise"))


def white_band(fit: Fit) -> float:
    """Half the width of the 95 % band of autocorrelations of white residuals."""
    return NORMAL_95 / sqrt(len(fit.time))


def stems(fit: Fit, joint: int) -> dict[str, Any]:
    """The trace of one joint's autocorrelation, lag by lag."""
    values = fit.autocorrelation[joint]
    lags = range(len(values))
    # Each stem is a line from its value to zero, and a gap.
    x = [at for lag in lags for at in (lag, lag, None)]
    y = [at for value in rounded(values) for at in (value, 0, None)]
    hover = [f"lag {lag}: {value:.3f}" for lag, value in enumerate(values) for _ in range(3)]
    look = {"color": ACCENT, "width": 3.5 if len(values) < 150 else 1.0}
    return curve("autocorrelation", look, "%{text}<extra></extra>", x=x, y=y, text=hover)


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


def autocorrelation_grid(fit: Fit) -> FigureGrid:
    """All joints on the same scale."""
    vertical, lags, band = value_range([fit]), fit.autocorrelation.shape[1], white_band(fit)
    return FigureGrid(
        panels=tuple(
            Figure(
                title=name,
                note=(words := whiteness_words(fit, joint)),
                data=(stems(fit, joint),),
                layout=layout(
                    210,
                    xaxis=axis("lag [rows]", zeroline=False, range=[-0.6, lags - 0.4]),
                    yaxis=axis("autocorrelation", range=vertical, nticks=6),
                    shapes=[band_shape(fit)],
                    hovermode="closest",
                ),
                alt=f"{name}: autocorrelation of the residuals up to lag {lags - 1}; {words}; white noise would stay "
                f"within {band:.3f}",
            )
            for joint, name in enumerate(fit.joints)
        ),
        legend=STEMS_LEGEND,
        shared_x=True,
        caption=f"For white residuals, one stem in twenty is outside ± {band:.3f}.",
    )


EFFORT_LEGEND = (
    ("measured", "measured"),
    ("predicted", "predicted"),
    ("residual", "residual, measured minus predicted"),
)


def effort_figure(fit: Fit, joint: int, longest: int = 4000) -> Figure:
    """One joint: effort above, residual below, one time axis."""
    name, unit = fit.joints[joint], fit.units[joint]
    word, shown = effort_word(unit), unit_text(unit)
    # One figure per column, in the unit of the joint: forces and torques are never in the same figure.
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
    # a slow sensor has NaN in the rows without a reading
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
        legend=EFFORT_LEGEND,
        shared_x=True,
        caption=zoom_note(
            len(fit.time),
            longest,
            "The recordings are drawn one after the other." if np.any(np.diff(fit.time) <= 0) else "",
        ),
    )


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
    """Lines with one unit: name -> (T,), NaN leaves a gap, over time (T,) [s] or the quantity that `along` names."""
    shown = unit_text(unit)
    longest = longest_trace(2 * len(lines))  # there may be many sensors with many lines
    data = tuple(
        curve(name, INKS[k % len(INKS)], **line(time, values, longest))
        for k, (name, values) in enumerate(lines.items())
    )
    span, vertical = extent(lines.values(), unit), axis(f"[{shown or '1'}]", nticks=7)
    return Figure(
        title=title,
        data=data,
        layout=layout(HEIGHT, xaxis=axis(along, zeroline=False), yaxis=vertical, legend_above=True),
        alt=f"{title}: {series(list(lines))} over time{f', {span}' if span else ''}",
        # Legends with many entries need the whole width.
        wide=True,
    )


def with_interval(name: str, values: np.ndarray, std: np.ndarray) -> dict[str, np.ndarray]:
    """A line of `curve_figure` with its 95 % interval."""
    half = NORMAL_95 * std
    return {name: values, "95 % from": values - half, "95 % to": values + half}


def extent(values: Iterable[np.ndarray], unit: str) -> str:
    """`from -1 to 3 rad`; nothing where no value is finite."""
    finite = np.concatenate([column[np.isfinite(column)] for column in values] or [np.zeros(0)])
    if not len(finite):
        return ""
    low, high = significant(float(finite.min())), significant(float(finite.max()))
    return f"from {low} to {high} {unit_text(unit)}".rstrip()


def channel_figure(name: str, unit: str, time: np.ndarray, values: np.ndarray, longest: int = 4000) -> Figure:
    """One channel; (T,) times [s] and values."""
    shown, span = unit_text(unit), extent([values], unit) or "no finite value"
    trace = curve("value", CHANNEL, "%{y:.5g}<extra></extra>", **line(time, values, longest))
    x, y = axis("time [s]", zeroline=False), axis(f"[{shown or '1'}]", nticks=6)
    look, alt = layout(190, xaxis=x, yaxis=y), f"{name} over time, {span}"
    return Figure(title=name, note=span, data=(trace,), layout=look, alt=alt)


def channel_grid(channels: Sequence[tuple[str, str, np.ndarray, np.ndarray]]) -> FigureGrid:
    """All channels, (name, unit, time, values) each, zoomed together."""
    longest = longest_trace(len(channels))
    rows = max((len(values) for _, _, _, values in channels), default=0)
    return FigureGrid(
        panels=tuple(channel_figure(*channel, longest=longest) for channel in channels),
        shared_x=True,
        caption=zoom_note(rows, longest),
    )
