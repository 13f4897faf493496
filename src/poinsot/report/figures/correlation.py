"""Correlation of parameters: a matrix, and the pairs that the data hardly tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Matrix
from ...estimate import Estimate
from ..blocks import Figure, FigureGrid
from ..numbers import correlation_text
from ..words import series
from .style import ACCENT, PREDICTED, axis, layout, plain, rounded

MOST, LEAST = 40, 0.3
"""Parameters that are drawn, those with the strongest correlations; and the weakest correlation that is drawn."""
STRONG = 0.9
"""Correlation of two parameters of which hardly more than a combination is known."""
PAIRS = 6


def correlations(estimate: Estimate) -> tuple[list[str], Matrix]:
    """Names of the parameters with a variance, and their correlations."""
    variance = np.diag(estimate.covariance)
    known = np.flatnonzero(estimate.identifiable & np.isfinite(variance) & (variance > 0))
    covariance = estimate.covariance[np.ix_(known, known)]
    std = np.sqrt(np.diag(covariance))
    return [estimate.names[k] for k in known.tolist()], covariance / np.outer(std, std)


def worst_pairs(names: list[str], r: Matrix) -> list[str]:
    """The most correlated pairs beyond `STRONG`, in words."""
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(r[first, second]))[:PAIRS].tolist()
    pairs = [(int(first[k]), int(second[k])) for k in order]
    return [
        f"{names[i]} and {names[j]} ({correlation_text(r[i, j])})" for i, j in pairs if abs(r[i, j]) > STRONG
    ]


def correlation_grid(estimate: Estimate) -> FigureGrid | None:
    """The matrix; None where there are fewer than two parameters."""
    names, r = correlations(estimate)
    if len(names) < 2:
        return None
    worst = worst_pairs(names, r)
    said = (
        f"Hardly told apart: {series(worst)}." if worst else f"No pair has a correlation beyond {STRONG:g}."
    )
    strongest = np.abs(r - np.eye(len(names))).max(axis=1)
    shown = np.sort(np.argsort(-strongest)[:MOST])
    r, names = r[np.ix_(shown, shown)], [names[k] for k in shown.tolist()]
    i, j = np.nonzero(np.abs(r) >= LEAST)
    off = i != j
    i, j = i[off], j[off]
    ticks: dict[str, Any] = {
        "tickvals": list(range(len(names))),
        "ticktext": [plain(name) for name in names],
        "zeroline": False,
    }
    side = max(260, 90 + 13 * len(names))
    squares = {
        "type": "scatter",
        "mode": "markers",
        "x": j.tolist(),
        "y": i.tolist(),
        "marker": {
            "symbol": "square",
            "size": 9,
            "color": [ACCENT if value > 0 else PREDICTED["color"] for value in r[i, j].tolist()],
            "opacity": rounded(np.abs(r[i, j])),
            "line": {"width": 0},
        },
        "text": [
            f"{plain(names[a])}, {plain(names[b])}: {correlation_text(r[a, b])}"
            for a, b in zip(i.tolist(), j.tolist(), strict=True)
        ],
        "hovertemplate": "%{text}<extra></extra>",
    }
    ends = [-0.6, len(names) - 0.4]
    figure = Figure(
        title=f"{len(names)} parameters",
        data=(squares,),
        layout=layout(
            side,
            hovermode="closest",
            xaxis=axis(range=ends, tickangle=-90, ticks="", **ticks),
            yaxis=axis(range=ends[::-1], ticks="", **ticks),
        ),
        alt=f"Correlation of {len(names)} parameters. {said}",
    )
    return FigureGrid(
        title="Correlation of parameters",
        panels=(figure,),
        caption=f"Blue: positive, orange: negative, the darker the stronger; below {LEAST:g} nothing is drawn. {said}",
    )
