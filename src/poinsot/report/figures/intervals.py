"""Values with their 95 % intervals, one picture for each kind of parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...estimate import NORMAL_95, Estimate
from ..blocks import Figure, FigureGrid
from ..numbers import plus_minus, unit_text
from ..verdicts import ParameterVerdict, verdicts
from ..words import FAMILIES, family, number_of
from .style import ACCENT, MUTED, axis, layout, markers, plain, rounded

SYMBOLS = {
    ParameterVerdict.well_known: "circle",
    ParameterVerdict.known: "circle",
    ParameterVerdict.poorly_known: "circle-open",
    ParameterVerdict.zero_inside: "x-thin-open",
}


def families(estimate: Estimate) -> dict[tuple[str, str], list[int]]:
    """(kind in words, unit) -> indices of its parameters that the data determine, in order."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, verdict in enumerate(verdicts(estimate)):
        if verdict.determined:
            key = (family(estimate.names[index], estimate.kinds[index]), estimate.units[index])
            groups.setdefault(key, []).append(index)
    # Stable: kinds that are not listed keep the order of the parameters.
    rank = {title: place for place, title in enumerate(FAMILIES)}
    return dict(sorted(groups.items(), key=lambda group: rank.get(group[0][0], len(rank))))


def interval_figure(estimate: Estimate, title: str, unit: str, indices: list[int]) -> Figure:
    """Parameters of one kind and unit, first on top."""
    judged = verdicts(estimate)
    names = [estimate.names[index] for index in indices]
    values, std, shown = estimate.values[indices].tolist(), estimate.std[indices].tolist(), unit_text(unit)
    sure = [judged[index].tone == "good" for index in indices]
    colours = [ACCENT if known else MUTED for known in sure]
    texts = [plus_minus(*pair) for pair in zip(values, std, strict=True)]
    bars = [NORMAL_95 * s for s in std]
    drawn = interval_rows(
        names, values, (bars, bars), [SYMBOLS[judged[index]] for index in indices], colours, texts, shown
    )
    poor = len(indices) - sum(sure)
    return Figure(
        title=title,
        note=number_of(len(indices), "parameter") + (f", {poor} uncertain" if poor else ""),
        data=(drawn,),
        layout=interval_layout(names, shown, 22, zerolinecolor=MUTED, zerolinewidth=1.2, rangemode="tozero"),
        alt=f"{title}: {'; '.join(map(' '.join, zip(names, texts, strict=True)))}",
    )


def interval_rows(
    names: Sequence[str],
    values: Sequence[float],
    bars: tuple[Sequence[float], Sequence[float]],
    symbols: list[str],
    colours: list[str],
    texts: Sequence[str],
    unit: str,
) -> dict[str, Any]:
    """Values one below the other, with bars of these lengths below and above; `texts`: values in words."""
    below, above = map(rounded, bars)
    lengths = (
        {"array": above} if below == above else {"array": above, "arrayminus": below, "symmetric": False}
    )
    return markers(
        values,
        list(range(len(names))),
        symbols,
        colours,
        error_x={"type": "data", **lengths, "color": ACCENT, "thickness": 1.6, "width": 4},
        text=[f"{plain(name)}: {words} {unit}" for name, words in zip(names, texts, strict=True)],
        hovertemplate="%{text}<extra></extra>",
    )


def interval_layout(names: Sequence[str], unit: str, height: int, **xaxis: Any) -> dict[str, Any]:
    """Axes of `interval_rows`, first on top; `height`: of a row [px]."""
    return layout(
        62 + height * max(len(names), 2),
        hovermode="closest",
        xaxis=axis(f"value [{unit or '1'}]", **xaxis),
        yaxis=axis(
            tickvals=list(range(len(names))),
            ticktext=[plain(name) for name in names],
            # Reversed: the first on top.
            range=[len(names) - 0.4, -0.6],
            zeroline=False,
            ticks="",
        ),
    )


def interval_grid(estimate: Estimate) -> FigureGrid | None:
    """All kinds; None where the data determine nothing."""
    groups = families(estimate)
    if not groups:
        return None
    left_out = int(np.sum([not verdict.determined for verdict in verdicts(estimate)]))
    note = f" {left_out} that the data do not determine are omitted." if left_out else ""
    return FigureGrid(
        title="Values and 95 % intervals",
        panels=tuple(
            interval_figure(estimate, title, unit, indices) for (title, unit), indices in groups.items()
        ),
        packed=True,
        legend=(
            ("dot", "known or well known"),
            ("ring", "poorly known"),
            ("cross", "zero within its interval"),
        ),
        caption="Bars are 95 % intervals; where none is visible, it is smaller than the dot." + note,
    )
