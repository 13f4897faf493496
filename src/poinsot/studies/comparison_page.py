"""A comparison on one page, and at a terminal: what differs, every parameter, efforts, bodies, descriptions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..estimate import NORMAL_95
from ..report.blocks import (
    Card,
    Cards,
    Cell,
    Figure,
    FigureGrid,
    Findings,
    Page,
    PageBlock,
    Section,
    Table,
    section_of,
)
from ..report.figures.curves import INKS, curve_figure
from ..report.figures.intervals import interval_layout, interval_rows
from ..report.numbers import (
    UNKNOWN,
    count_text,
    interval_text,
    percent_text,
    plus_minus,
    probability_text,
    significant,
    unit_text,
    value_text,
)
from ..report.page import write_page
from ..report.tables import table, with_others
from ..report.words import FAMILIES, capitalized, effort_word, family, meaning, number_of, series
from ..text import table as text_table

if TYPE_CHECKING:
    from .comparison import ComparedParameter, Comparison

SYMBOLS = "circle", "diamond", "square", "triangle-up"
"""Symbols of the first, second, ... result."""

SPREAD = 0.56
"""Height of the results of one parameter, in rows."""


def lead(comparison: Comparison) -> str:
    """What differs, in a sentence."""
    count, of = len(comparison.different), number_of(len(comparison.parameters), "parameter")
    chance = f"at most one comparison in {round(1 / comparison.level)} says so by chance"
    if not count:
        return f"None of {of} differs beyond chance."
    verb = "differs" if count == 1 else "differ"
    return f"{count} of {of} {verb} beyond chance ({chance}): {series(comparison.different)}."


def which(comparison: Comparison) -> str:
    """Whose differences are shown."""
    first, *others = comparison.names
    return (
        f"of {others[0]} from {first}"
        if len(others) == 1
        else f"from {first} of the result that is farthest from it"
    )


def comparison_text(comparison: Comparison) -> str:
    """The lead, a line a parameter, efforts, and notes."""
    rows = [
        {"parameter": one.name}
        | {name: plus_minus(*row) for name, row in zip(comparison.names, _rows(one), strict=True)}
        | {"unit": one.unit, "difference": _difference(one), "p": probability_text(one.p_value)}
        | {"": "differs" if one.different else ""}
        for one in comparison.parameters
    ]
    lines = [lead(comparison), "", text_table(rows)]
    lines.append(f"difference: {which(comparison)}, with its 95 % interval")
    if comparison.common is not None:
        for name, row in zip(comparison.names[1:], comparison.common.difference_percent[1:], strict=True):
            joints = zip(comparison.common.joints, row.tolist(), strict=True)
            each = ", ".join(f"{joint} {percent_text(x)}" for joint, x in joints)
            lines.append(f"efforts of {name} beside {comparison.names[0]}: {each}")
    return "\n".join([*lines, *(f"note: {note}" for note in comparison.notes)])


def write_comparison_page(comparison: Comparison, path: Path) -> None:
    """Write the comparison as one HTML file that opens offline."""
    findings = Findings.of(("note", note) for note in comparison.notes)
    sections = [
        section_of("What differs", lead(comparison), _cards(comparison), _table(comparison), findings),
        section_of(
            "Every parameter",
            "Values of each result with 95 % intervals of what results do not share.",
            _grid(comparison),
        ),
    ]
    optional = _efforts(comparison), _bodies(comparison), _descriptions(comparison)
    sections += [section for section in optional if section is not None]
    title = f"{series(comparison.names)}: {comparison.estimates[0].robot}"
    write_page(Page(title, "poinsot · compare", sections=sections), path)


def _rows(parameter: ComparedParameter) -> list[tuple[float, float]]:
    return list(zip(parameter.values.tolist(), parameter.std.tolist(), strict=True))


def _difference(parameter: ComparedParameter) -> str:
    difference, std = parameter.difference, parameter.difference_std
    return f"{value_text(difference, std)} {interval_text(difference, std)}"


def _cards(comparison: Comparison) -> Cards:
    each = zip(comparison.names, comparison.estimates, strict=True)
    cards = [
        Card(name, estimate.trust.words, f"{estimate.method}, {count_text(estimate.rows)} rows")
        for name, estimate in each
    ]
    return Cards(cards=(Card("Different", str(len(comparison.different))), *cards))


def _table(comparison: Comparison) -> Table:
    """The clearest differences first."""
    rows: list[dict[str, str | Cell]] = []
    for one in sorted(comparison.parameters, key=lambda one: one.p_value):
        row: dict[str, str | Cell] = {
            "Name": one.name,
            "Verdict": Cell("differs", tone="fair") if one.different else Cell("alike"),
            "Difference": _difference(one),
            "Change": percent_text(one.change_percent) if np.isfinite(one.change_percent) else UNKNOWN,
            "p": probability_text(one.p_value),
            "Unit": unit_text(one.unit),
        }
        row |= {name: plus_minus(*pair) for name, pair in zip(comparison.names, _rows(one), strict=True)}
        row["What it is"] = f"{meaning(one.name, one.kind)}, {one.owner}{with_others(one.name, one.grouping)}"
        rows.append(row)
    alone = "noise" if comparison.same_recordings else "noise and differences between recordings"
    return table(
        rows,
        code=("Name",),
        caption=f"Standard deviations are of what results do not share, {alone}; errors of laboratory and description "
        f"cancel. Difference: {which(comparison)}, with its 95 % interval. p: probability of so large a difference by "
        f"chance, each by itself; Holm's correction for {number_of(len(rows), 'parameter')} decides.",
    )


def _grid(comparison: Comparison) -> FigureGrid:
    """A panel for each kind of parameter, those with differences first."""
    groups: dict[tuple[str, str], list[ComparedParameter]] = {}
    for one in comparison.parameters:
        groups.setdefault((family(one.name, one.kind), one.unit), []).append(one)

    def rank(group: tuple[tuple[str, str], list[ComparedParameter]]) -> tuple[bool, int]:
        (title, _), own = group
        place = FAMILIES.index(title) if title in FAMILIES else len(FAMILIES)
        return not any(one.different for one in own), place

    panels = tuple(
        _panel(comparison, title, unit, own) for (title, unit), own in sorted(groups.items(), key=rank)
    )
    return FigureGrid(panels=panels, packed=True, caption="A star marks what differs beyond chance.")


def _panel(comparison: Comparison, title: str, unit: str, own: list[ComparedParameter]) -> Figure:
    K, shown = len(comparison.names), unit_text(unit)
    names, traces = [f"{one.name} *" if one.different else one.name for one in own], []
    for k, result in enumerate(comparison.names):
        values, std = [float(one.values[k]) for one in own], [float(one.std[k]) for one in own]
        texts = [plus_minus(*pair) for pair in zip(values, std, strict=True)]
        colour, bars = str(INKS[k % len(INKS)]["color"]), [NORMAL_95 * s for s in std]
        symbols, colours = [SYMBOLS[k % len(SYMBOLS)]] * len(own), [colour] * len(own)
        trace = interval_rows(names, values, (bars, bars), symbols, colours, texts, shown)
        # each result has its own line within the parameter's row
        shift = SPREAD * (k / (K - 1) - 0.5)
        trace |= {"y": [place + shift for place in range(len(own))], "name": result, "showlegend": True}
        trace["error_x"] |= {"color": colour}
        traces.append(trace)
    look = interval_layout(names, shown, 14 + 9 * K, rangemode="tozero")
    look |= {"showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}}
    look["margin"] = look["margin"] | {"t": 34}
    each = (f"{one.name}: {', '.join(plus_minus(*pair) for pair in _rows(one))}" for one in own)
    return Figure(title=title, data=tuple(traces), layout=look, alt=f"{title}: {'; '.join(each)}")


def _efforts(comparison: Comparison) -> Section | None:
    """Efforts of each result on the common recording."""
    common = comparison.common
    if common is None:
        return None
    panels = []
    for k, (joint, unit) in enumerate(zip(common.joints, common.units, strict=True)):
        lines = {"measured": common.motion.measured[:, k]}
        lines |= {name: tau[:, k] for name, tau in zip(comparison.names, common.efforts, strict=True)}
        title = f"{capitalized(effort_word(unit))} of {joint}"
        panels.append(curve_figure(title, unit, common.motion.time, lines))
    rows: list[dict[str, str | Cell]] = []
    for name, row in zip(comparison.names[1:], common.difference_percent[1:], strict=True):
        rows.append(
            {"Result": name, **dict(zip(common.joints, map(percent_text, row.tolist()), strict=True))}
        )
    worst, first = percent_text(float(common.difference_percent.max())), comparison.names[0]
    return section_of(
        "Efforts on one recording",
        f"On {common.motion.name}, efforts differ by up to {worst} of those of {first}, rms.",
        table(
            rows,
            caption=f"Root mean square of the difference from {comparison.names[0]}, relative to its own.",
        ),
        FigureGrid(panels=tuple(panels), shared_x=True),
    )


def _bodies(comparison: Comparison) -> Section | None:
    """Masses and centres of mass side by side."""
    if not comparison.bodies:
        return None
    rows: list[dict[str, str | Cell]] = []
    for name, every in comparison.bodies.items():
        row: dict[str, str | Cell] = {"Body": name}
        for result, body in zip(comparison.names, every, strict=True):
            center = body.center_of_mass
            row[f"{result}: mass [kg]"] = significant(body.mass)
            row[f"{result}: centre of mass [m]"] = (
                UNKNOWN if center is None else ", ".join(f"{x:.4f}" for x in center)
            )
        rows.append(row)
    return section_of("Bodies", "Bodies that every result determines, side by side.", table(rows))


def _descriptions(comparison: Comparison) -> Section | None:
    """Numbers that differ between the descriptions that the results write."""
    changes = comparison.descriptions
    if changes is None:
        return None
    blocks: list[PageBlock] = []
    if changes:
        rows: list[dict[str, str | Cell]] = [
            {
                "Link or joint": change.owner,
                "Quantity": change.quantity,
                comparison.names[0]: UNKNOWN if change.old is None else significant(change.old),
                comparison.names[-1]: UNKNOWN if change.new is None else significant(change.new),
                "Unit": unit_text(change.unit),
                "Change": UNKNOWN if change.change_percent is None else percent_text(change.change_percent),
            }
            for change in changes
        ]
        blocks.append(table(rows))
    count = number_of(len(changes), "number") + (" differs" if len(changes) == 1 else " differ")
    said = f"Of the descriptions that {comparison.names[0]} and {comparison.names[-1]} write, {count}."
    return section_of(
        "Written descriptions",
        said if changes else said.replace("0 numbers differ", "no number differs"),
        *blocks,
    )
