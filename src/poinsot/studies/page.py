"""A fleet on one page, and at a terminal: pooled values, what differs, each robot, each log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimate import NORMAL_95
from ..report.blocks import Card, Cards, Cell, Figure, FigureGrid, Findings, Page, section_of
from ..report.figures.intervals import interval_layout, interval_rows
from ..report.figures.style import ACCENT, MUTED
from ..report.numbers import UNKNOWN, count_text, percent_text, significant, unit_text, value_text
from ..report.page import write_page
from ..report.tables import table, with_others
from ..report.words import capitalized, meaning, number_of
from ..text import table as text_table
from .random_effects import BETWEEN

if TYPE_CHECKING:
    from .fleet import FleetEstimate, PooledParameter
    from .random_effects import Spread

MAX_PANELS = 24
"""Maximum number of parameters that are drawn for every robot, those that differ most first."""


def terminal_text(estimate: FleetEstimate) -> str:
    """The lead, a line a parameter, a line a log that is not pooled, and notes."""
    rows = [
        {"parameter": parameter.name, "value": value_text(parameter.effects.mean, parameter.effects.std)}
        | {"std": significant(parameter.effects.std, 2), "unit": parameter.unit}
        | {f"between {BETWEEN[level]}": _spread_text(parameter, level) for level in estimate.levels}
        for parameter in estimate.parameters
    ]
    lines = [estimate.lead, ""]
    if rows:
        lines += [text_table(rows), "between: standard deviation and its 95 % interval; * leaves out 0"]
    for log, record in zip(estimate.fleet.logs, estimate.records, strict=True):
        if "refused" in record:
            lines.append(f"not pooled: {log.name}: {record['refused']}")
    lines += [f"note: {note}" for note in estimate.notes]
    return "\n".join(lines)


def write_fleet_page(estimate: FleetEstimate, path: Path) -> Path:
    """Write the fleet as one HTML file that opens offline."""
    counts = estimate.counts
    cards = [
        Card(
            "Logs", count_text(counts["logs"]), f"{counts['refused']} not pooled" if counts["refused"] else ""
        ),
        Card("Robots", count_text(counts["robots"])),
        Card("Days of robots", count_text(counts["days"])),
        Card("Parameters pooled", count_text(len(estimate.parameters))),
    ]
    findings = Findings.of(("note", note) for note in estimate.notes)
    sections = [section_of("Verdict", estimate.lead, Cards(cards=tuple(cards)), findings)]
    if estimate.parameters:
        lead = "Of the fleet, from which robots and days are drawn, with 95 % intervals."
        sections += [
            section_of("Parameters of the fleet", lead, _pooled(estimate)),
            section_of("Each robot", "Robots with their own 95 % intervals, and the fleet.", _grid(estimate)),
        ]
    sections.append(section_of("Each log", "One estimate each.", _logs(estimate)))
    name = estimate.fleet.project.path.stem
    return write_page(Page(f"Fleet {name}", "poinsot · fleet", sections=sections), path)


def _pooled(estimate: FleetEstimate) -> Any:
    rows: list[dict[str, str | Cell]] = []
    for parameter in estimate.parameters:
        effects = parameter.effects
        others = with_others(parameter.name, parameter.grouping)
        row: dict[str, str | Cell] = {
            "Name": parameter.name,
            "What it is": f"{meaning(parameter.name, parameter.kind)}, {parameter.owner}{others}",
            "Fleet": value_text(effects.mean, effects.std),
            "Unit": unit_text(parameter.unit),
            "95 % interval": _interval(effects.interval_95, effects.std),
        }
        for level in estimate.levels:
            differs = level in effects.spreads and effects.spreads[level].differs
            row[f"Std between {BETWEEN[level]}"] = Cell(
                _spread_text(parameter, level), tone="fair" if differs else ""
            )
        row["Next robot and day"] = _interval(effects.next_interval_95, effects.std)
        row["Logs"] = str(parameter.logs)
        rows.append(row)
    return table(
        rows,
        code=("Name",),
        caption="Standard deviations of the effects have their 95 % intervals in brackets; * marks those that leave "
        "out 0, as one parameter in 40 does by chance. Next robot and day: where 95 % of such values are. Days are "
        "those of each robot: what all robots share on a day is part of their days.",
    )


def _grid(estimate: FleetEstimate) -> FigureGrid:
    def rank(parameter: PooledParameter) -> float:
        return min((spread.p_value for spread in parameter.effects.spreads.values()), default=1.0)

    shown = sorted(estimate.parameters, key=rank)[:MAX_PANELS]
    left = len(estimate.parameters) - len(shown)
    return FigureGrid(
        panels=tuple(_figure(parameter) for parameter in shown),
        packed=True,
        legend=(("dot", "a robot"), ("ring", "the fleet")),
        caption="What differs most comes first."
        + (f" {number_of(left, 'parameter')} that differ less are left out." if left else ""),
    )


def _figure(parameter: PooledParameter) -> Figure:
    """The robots of one parameter, and the fleet beneath them."""
    effects = parameter.effects
    robots, low, high = list(effects.robots), *effects.interval_95
    values = [value for value, _ in effects.robots.values()] + [effects.mean]
    below = [NORMAL_95 * std for _, std in effects.robots.values()] + [effects.mean - low]
    above = [NORMAL_95 * std for _, std in effects.robots.values()] + [high - effects.mean]
    names = [*robots, "fleet"]
    unit, texts = unit_text(parameter.unit) or "1", [significant(value) for value in values]
    symbols = [*["circle"] * len(robots), "circle-open"]
    colours = [*[ACCENT] * len(robots), MUTED]
    data = interval_rows(names, values, (below, above), symbols, colours, texts, unit)
    return Figure(
        title=parameter.name,
        note=capitalized(meaning(parameter.name, parameter.kind)) + f", {parameter.owner}",
        data=(data,),
        layout=interval_layout(names, unit, 18, zeroline=False),
        alt=f"{parameter.name}: {'; '.join(map(' '.join, zip(names, texts, strict=True)))}",
    )


def _logs(estimate: FleetEstimate) -> Any:
    rows: list[dict[str, str | Cell]] = []
    for log, record in zip(estimate.fleet.logs, estimate.records, strict=True):
        refused = record.get("refused")
        fit: Mapping[str, Any] = record.get("fit") or {}
        error = fit.get("relative_error_percent")
        grave = (finding for finding in record.get("findings") or () if finding["severity"] != "note")
        findings = [finding["message"] for finding in grave]
        rows.append(
            {
                "Log": log.name,
                "Robot": log.robot,
                "Day": log.day or UNKNOWN,
                "Rows": count_text(record["rows"]) if record.get("rows") else UNKNOWN,
                "Relative error": UNKNOWN if error is None else percent_text(error),
                "Verdict": Cell("not pooled", tone="bad")
                if refused
                else Cell(str(record["trust"]).replace("-", " ")),
                "Why": refused or (findings[0] if findings else ""),
            }
        )
    return table(rows, code=("Log",))


def _spread_text(parameter: PooledParameter, level: str) -> str:
    spread: Spread | None = parameter.effects.spreads.get(level)
    if spread is None:
        return UNKNOWN
    low, high = (significant(value, 2) for value in spread.interval_95)
    return f"{significant(spread.std, 2)} [{low}, {high}]{' *' if spread.differs else ''}"


def _interval(interval: tuple[float, float], std: float) -> str:
    low, high = (value_text(value, std) for value in interval)
    return UNKNOWN if not np.isfinite(std) else f"[{low}, {high}]"
