"""Tables of an estimate: pure functions; numbers are rounded to their standard deviations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from ..estimate import Estimate, Fit, FullParameters
from .blocks import Cell, Table, TableColumn
from .numbers import (
    UNKNOWN,
    correlation_text,
    interval_text,
    percent_text,
    probability_text,
    seconds_text,
    significant,
    std_text,
    unit_text,
    value_text,
)
from .origins import ORIGINS, counted_origins, is_measured, origin, share_text
from .verdicts import EXPLANATION, ZERO_PERCENT, ParameterVerdict, verdict, verdicts
from .words import capitalized, meaning, series

TONES = {
    ParameterVerdict.well_known: "good",
    ParameterVerdict.known: "good",
    ParameterVerdict.poorly_known: "fair",
    ParameterVerdict.zero_inside: "bad",
    ParameterVerdict.not_identifiable: "bad",
}

PARAMETER_COLUMNS = (
    TableColumn("Name", code=True),
    TableColumn("What it is"),
    TableColumn("Value", numeric=True),
    TableColumn("Std", numeric=True),
    TableColumn("Unit"),
    TableColumn("95 % interval", numeric=True),
)

AT_STANDSTILL = (
    "While moving: where the joint is faster than 0.05 rad/s or m/s. At standstill dry friction is "
    "indeterminate up to its Coulomb value. "
)


def parameter_table(estimate: Estimate) -> Table:
    """All parameters: meaning, value, uncertainty and verdict."""
    rows = []
    std, relative = estimate.std, estimate.relative_std_percent
    for index, judged in enumerate(verdicts(estimate)):
        value, s, percent = float(estimate.values[index]), float(std[index]), float(relative[index])
        name, unit = estimate.names[index], estimate.units[index]
        numbers = (
            (
                Cell(value_text(value, s)),
                Cell(std_text(value, s)),
                Cell(interval_text(value, s)),
                Cell(percent_text(percent), bar=min(percent / ZERO_PERCENT, 1.0), tone=TONES[judged]),
            )
            if judged.determined
            else (Cell(UNKNOWN), Cell(UNKNOWN), Cell(UNKNOWN), Cell(UNKNOWN))
        )
        what = meaning(name, estimate.kinds[index])
        regrouped = estimate.groupings[index] not in ("", name)
        rows.append(
            (
                Cell(name),
                Cell(f"{what}, {estimate.owners[index]}{', with others' if regrouped else ''}"),
                *numbers[:2],
                Cell(unit_text(unit)),
                *numbers[2:],
                Cell(f"{judged.mark} {judged.value}", tone=TONES[judged]),
            )
        )
    return Table(
        columns=(*PARAMETER_COLUMNS, TableColumn("Relative std", numeric=True), TableColumn("Verdict")),
        rows=tuple(rows),
        caption=f"{EXPLANATION} The bar is full at {ZERO_PERCENT:.0f} %. “With others”: the data determine this "
        "parameter only in sum with others; see the groupings below.",
    )


def _whiteness_cells(fit: Fit, joint: int) -> tuple[Cell, ...]:
    """None where rows have no order in time."""
    if not fit.whiteness:
        return ()
    white = fit.whiteness[joint]
    return (
        Cell(correlation_text(white.lag1)),
        Cell(probability_text(white.p_value)),
        Cell("● white" if white.white else "○ not white", tone="good" if white.white else "fair"),
    )


def fit_table(fit: Fit, title: str = "", of: str = "joint") -> Table:
    """Relative error, residual size and whiteness of each column of a fit; `of` names what a column is."""
    rows = []
    rms, largest = fit.rms_per_joint, np.max(np.abs(fit.residuals), axis=0)
    moving = fit.moving_error_percent_per_joint
    for joint, (name, unit) in enumerate(zip(fit.joints, fit.units, strict=True)):
        rows.append(
            (
                Cell(name),
                Cell(percent_text(fit.relative_error_percent_per_joint[joint])),
                *((Cell(percent_text(moving[joint])),) if moving else ()),
                Cell(significant(float(rms[joint]), 3, padded=True)),
                Cell(significant(float(largest[joint]), 3, padded=True)),
                Cell(unit_text(unit)),
                *_whiteness_cells(fit, joint),
            )
        )
    lags = sorted({white.lags for white in fit.whiteness})
    return Table(
        title=title,
        columns=(
            TableColumn(capitalized(of), code=True),
            TableColumn("Relative error", numeric=True),
            *((TableColumn("while moving", numeric=True),) if moving else ()),
            TableColumn("Residual, rms", numeric=True),
            TableColumn("largest", numeric=True),
            TableColumn("Unit"),
            *(
                (
                    TableColumn("Lag-1 autocorrelation", numeric=True),
                    TableColumn("Ljung-Box p", numeric=True),
                    TableColumn("Residuals"),
                )
                if fit.whiteness
                else ()
            ),
        ),
        rows=tuple(rows),
        caption=f"Relative error: 100 |measured - predicted| / |measured|; all {of}s together "
        f"{percent_text(fit.relative_error_percent)}. {AT_STANDSTILL if moving else ''}"
        + (
            f"Not white: so much correlation within the first {' or '.join(map(str, lags))} lags has a probability p "
            "below 1 % in white noise."
            if lags
            else "Rows are not a time series: whiteness is not tested."
        ),
    )


def grouping_table(estimate: Estimate) -> Table | None:
    """The combination that each regrouped parameter stands for; None where none is regrouped."""
    rows = tuple(
        (Cell(name), Cell(grouping))
        for name, grouping in zip(estimate.names, estimate.groupings, strict=True)
        if grouping not in ("", name)
    )
    if not rows:
        return None
    return Table(
        columns=(TableColumn("Parameter", code=True), TableColumn("stands for", code=True)), rows=rows
    )


def full_parameter_table(full: FullParameters) -> Table:
    """Every parameter of the model, body by body and joint by joint, with the share of the prior."""
    owners: dict[str, list[int]] = {}
    for index, owner in enumerate(full.owners):
        owners.setdefault(owner, []).append(index)
    std = full.std
    return Table(
        columns=(
            *PARAMETER_COLUMNS,
            TableColumn("Before the data", numeric=True),
            TableColumn("Where from", numeric=True),
            TableColumn("Verdict"),
        ),
        rows=tuple(
            _full_row(full, index, float(std[index])) for indices in owners.values() for index in indices
        ),
        groups=tuple(
            (
                f"{owner}: {series(counted_origins(full.prior_share[indices]))}".removesuffix(": "),
                len(indices),
            )
            for owner, indices in owners.items()
        ),
        caption=f"{ORIGINS} A value in brackets is no measurement: the prior's share is at least "
        "half. The full part of a bar is the data's, the hatched part the prior's. Well known, known, "
        "poorly known, zero within its interval: as above.",
    )


def _full_row(full: FullParameters, index: int, std: float) -> tuple[Cell, ...]:
    name, value, prior = full.names[index], float(full.values[index]), float(full.prior[index])
    share = float(full.prior_share[index])
    numbers = (value_text(value, std), std_text(value, std), interval_text(value, std))
    return (
        Cell(name),
        Cell(meaning(name, full.kinds[index])),
        *(assumed_or_measured(text, share) for text in numbers[:2]),
        Cell(unit_text(full.units[index])),
        Cell(numbers[2], tone="" if is_measured(share) else "assumed"),
        Cell(significant(prior)),
        share_cell(share),
        _full_verdict(value, std, share),
    )


def assumed_or_measured(text: str, prior_share: float | None) -> Cell:
    """A number, in brackets where it is not measured."""
    if text == UNKNOWN or is_measured(prior_share):
        return Cell(text)
    return Cell(f"({text})", tone="assumed")


def share_cell(prior_share: float | None) -> Cell:
    """Shares of data and prior: the larger as text, both as a bar."""
    text = share_text(prior_share)
    if prior_share is None or text == UNKNOWN:
        return Cell(text)
    return Cell(text, bar=1.0 - min(max(prior_share, 0.0), 1.0), tone="shared")


def _full_verdict(value: float, std: float, prior_share: float) -> Cell:
    """Verdict on a value from the data; the origin of one from the prior."""
    word = origin(prior_share)
    if word is not None and not word.measured:
        return Cell(f"{word.mark} {word.value}", tone="assumed")
    judged = verdict(value, 100 * std / abs(value) if value else inf, identifiable=True)
    return Cell(f"{judged.mark} {judged.value}", tone=TONES[judged])


def timing_table(seconds: Mapping[str, float]) -> Table:
    """Duration of each stage."""
    longest = max(seconds.values(), default=0.0)
    return Table(
        title="Timings",
        columns=(TableColumn("Stage"), TableColumn("Time", numeric=True)),
        rows=tuple(
            (Cell(stage), Cell(seconds_text(duration), bar=duration / longest if longest > 0 else 0.0))
            for stage, duration in seconds.items()
        ),
    )


def table_of_rows(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str = "",
    caption: str = "",
    columns: Iterable[str] | None = None,
) -> Table:
    """A table of plain dicts, as `--json` writes them.

    Args:
        rows: one dict a row; a missing key or None leaves its cell empty.
        title, caption: of the table.
        columns: keys in the order wanted, or a mapping from them to the titles wanted; all keys, as they first
            appear, where not given.
    """
    keys = tuple(columns) if columns is not None else tuple(dict.fromkeys(key for row in rows for key in row))
    titles = (
        columns if isinstance(columns, Mapping) else {key: capitalized(key.replace("_", " ")) for key in keys}
    )
    texts = {key: [plain_text(row.get(key)) for row in rows] for key in keys}
    numeric = {key: place > 0 and all(map(_looks_numeric, texts[key])) for place, key in enumerate(keys)}
    return Table(
        title=title,
        caption=caption,
        columns=tuple(TableColumn(titles[key], numeric=numeric[key]) for key in keys),
        rows=tuple(tuple(Cell(texts[key][row]) for key in keys) for row in range(len(rows))),
    )


def plain_text(value: Any) -> str:
    """Any value of a setting or a row, for a reader."""
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return significant(float(value), 5)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {plain_text(inner)}" for key, inner in value.items())
    if isinstance(value, np.ndarray):
        return plain_text(value.tolist())
    if isinstance(value, list | tuple):
        shown = [plain_text(inner) for inner in value[:12]]
        return ", ".join(shown) + (f", ... ({len(value)} in all)" if len(value) > 12 else "")
    return str(value)


def _looks_numeric(text: str) -> bool:
    return text.lstrip("<>+-± ")[:1].isdigit() or text in ("", "∞", "-∞", UNKNOWN)
