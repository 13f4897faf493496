"""Thin long traces to their envelope: the smallest and the largest sample of each bucket, at their times.

A screen has about a thousand columns of pixels. The two extremes of each column draw the same picture as all samples,
and no peak is lost.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .style import rounded

LONGEST = 4000
"""Points of a trace that are drawn one by one; longer ones are thinned."""

ALL_PANELS, FEWEST = 9000, 250
"""Points of all traces of a grid together, and the least number for one trace: the page of a humanoid has less than
1.5 MB, and an interval of two points is no wider than four pixels of a panel."""


def longest_trace(panels: int) -> int:
    """Points that each of so many panels may draw."""
    return int(np.clip(ALL_PANELS // max(panels, 1), FEWEST, LONGEST))


def thinned(values: np.ndarray, longest: int = LONGEST) -> np.ndarray:
    """Indices, increasing, of at most `longest` samples: first, last and extremes of every stretch; (T,) -> (k,)."""
    length = len(values)
    if length <= longest:
        return np.arange(length)
    buckets = max((longest - 2) // 2, 1)
    edges = np.linspace(0, length, buckets + 1).astype(int)
    finite = np.isfinite(values)
    # A missing sample must never be the extreme of an interval that has others.
    low = np.where(finite, values, np.inf)
    high = np.where(finite, values, -np.inf)
    # Buckets differ in length by one: pad to a rectangle by repeating each bucket's last sample.
    inside = np.minimum(edges[:-1, None] + np.arange(np.max(np.diff(edges))), edges[1:, None] - 1)
    rows = np.arange(buckets)
    lowest = inside[rows, np.argmin(low[inside], axis=1)]
    highest = inside[rows, np.argmax(high[inside], axis=1)]
    return np.unique(np.concatenate([[0, length - 1], lowest, highest]))


def pieces(time: np.ndarray) -> list[slice]:
    """The intervals without a gap or a restart of the clock: a line is drawn in each of them."""
    steps = np.diff(time)
    if not len(steps):
        return [slice(0, len(time))]
    # Median of positive steps only: a clock restarts at each recording.
    usual = np.median(steps[steps > 0]) if np.any(steps > 0) else 1.0
    breaks = np.flatnonzero((steps <= 0) | (steps > 20 * usual)) + 1
    if len(breaks) > len(time) // 20:  # a clock this irregular has no gaps worth showing
        breaks = np.flatnonzero(steps <= 0) + 1
    edges = [0, *breaks.tolist(), len(time)]
    return [slice(first, last) for first, last in pairwise(edges)]


def end_to_end(time: np.ndarray) -> np.ndarray:
    """The clock, with each recording that restarts it appended to the one before."""
    steps = np.diff(time)
    if np.all(steps > 0) or not np.any(steps > 0):
        return time
    jumps = np.where(steps <= 0, np.median(steps[steps > 0]) - steps, 0.0)
    return time + np.append(0.0, np.cumsum(jumps))


def line(time: np.ndarray, values: np.ndarray, longest: int = LONGEST) -> dict[str, Any]:
    """`x` and `y` of a Plotly trace: thinned, broken at gaps, restarted clocks put end to end."""
    share = longest / max(len(time), 1)
    display = end_to_end(time)
    x: list[np.ndarray] = []
    y: list[np.ndarray] = []
    for piece in pieces(time):
        length = piece.stop - piece.start
        chosen = piece.start + thinned(values[piece], length if share >= 1 else max(int(share * length), 4))
        x += [display[chosen], np.array([np.nan])]
        y += [values[chosen], np.array([np.nan])]
    # No gap behind the last piece.
    return {"x": rounded(np.concatenate(x[:-1])), "y": rounded(np.concatenate(y[:-1]))}


def zoom_note(length: int, longest: int, *more: str) -> str:
    """The caption of panels that are zoomed together; it states whether samples were omitted."""
    thinned = (
        f"{length} rows are drawn as the smallest and the largest of each of {longest // 2} intervals; "
        "every peak is kept, and all numbers are from all rows."
    )
    drag = "Drag over a panel to zoom all of them in time; double click to go back."
    return " ".join(filter(None, (drag, thinned if length > longest else "", *more)))


def recordings_note(count: int, shown: int) -> str:
    """Sentence of the caption where recordings are omitted."""
    return "" if count <= shown else f"The first {shown} of {count} recordings are shown."
