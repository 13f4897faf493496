"""Tables of an estimate: pure functions; numbers are rounded to their standard deviations.

A row is a mapping from the titles of the columns to cells; columns of numbers are aligned to the right.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf, nan
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
    significant,
    std_text,
    unit_text,
    value_text,
)
from .verdicts import (
    EXPLANATION,
    ORIGINS,
    ZERO_PERCENT,
    counted_origins,
    is_measured,
    origin,
    share_text,
    verdict,
    verdicts,
)
from .words import capitalized, meaning, series

AT_STANDSTILL = (
    "While moving: where the joint is faster than 0.05 rad/s or m/s. At standstill dry friction is "
    "indeterminate up to its Coulomb value. "
)


def table(
    rows: Sequence[Mapping[str, str | Cell]],
    *,
    title: str = "",
    caption: str = "",
    code: Collection[str] = (),
    groups: tuple[tuple[str, int], ...] = (),
) -> Table:
    """A table of rows, each a mapping from the same titles, in the same order, to its cells.

    code: titles of the columns with symbols or formulas.
    """
    cells = tuple(tuple(c if isinstance(c, Cell) else Cell(c) for c in row.values()) for row in rows)
    titles = list(rows[0]) if rows else []
    # the first column is a row's header, also where it looks like a number (the joints "1", "2", ...)
    numeric = [k > 0 and all(_looks_numeric(row[k].text) for row in cells) for k in range(len(titles))]
    columns = (TableColumn(name, right, name in code) for name, right in zip(titles, numeric, strict=True))
    return Table(title=title, columns=tuple(columns), rows=cells, groups=groups, caption=caption)


def value_cells(
    value: float,
    std: float,
    unit: str,
    prior_share: float | None = None,
    interval: Sequence[float] | None = None,
) -> dict[str, str | Cell]:
    """Value, standard deviation, unit and 95 % interval; in brackets where they are not measured."""
    return {
        "Value": assumed_or_measured(value_text(value, std), prior_share),
        "Std": assumed_or_measured(std_text(value, std), prior_share),
        "Unit": unit_text(unit),
        "95 % interval": Cell(
            interval_text(value, std, interval) if std > 0 else UNKNOWN,
            tone="" if is_measured(prior_share) else "assumed",
        ),
    }


def parameter_table(estimate: Estimate) -> Table:
    """All parameters: meaning, value, uncertainty and verdict."""
    rows: list[dict[str, str | Cell]] = []
    std, relative = estimate.std, estimate.relative_std_percent
    for k, judged in enumerate(verdicts(estimate)):
        # a parameter that the data do not determine is never shown as a number, even where a method has set one
        value, s = (float(estimate.values[k]), float(std[k])) if judged.determined else (nan, nan)
        percent = Cell(UNKNOWN)
        if judged.determined and value:  # a value at its bound 0 has none
            bar = min(float(relative[k]) / ZERO_PERCENT, 1.0)
            percent = Cell(percent_text(float(relative[k])), bar=bar, tone=judged.tone)
        cells = value_cells(value, s, estimate.units[k])
        if estimate.next_recording_std is not None:
            # the value of an undetermined parameter is NaN, and the text is `UNKNOWN`
            following = interval_text(value, float(estimate.next_recording_std[k]))
            own_interval = cells.pop("95 % interval")
            cells |= {"95 % interval, next recording": following, "95 % interval, these": own_interval}
        description = f"{meaning(estimate.names[k], estimate.kinds[k])}, {estimate.owners[k]}"
        rows.append(
            {
                "Name": estimate.names[k],
                "What it is": description + with_others(estimate.names[k], estimate.groupings[k]),
                **cells,
                "Relative std": percent,
                "Verdict": judged.cell,
            }
        )
    return table(
        rows,
        code=("Name",),
        caption=f"{EXPLANATION} The bar is full at {ZERO_PERCENT:.0f} %. “With others”: the data determine this "
        "parameter only in sum with others; see the groupings below.",
    )


def with_others(name: str, grouping: str) -> str:
    """Remark on a parameter that stands for a sum."""
    return "" if grouping in ("", name) else ", with others"


def fit_table(fit: Fit, title: str = "", column: str = "joint") -> Table:
    """Relative error, residual size and whiteness of each column of a fit; `column` names what a column stands for."""
    rows: list[dict[str, str | Cell]] = []
    # a column without any reading has NaN, and `fmax` passes over single missing readings
    largest = np.fmax.reduce(np.abs(fit.residuals), axis=0)
    rms, moving = fit.rms_per_joint, fit.moving_error_percent_per_joint
    for k, name in enumerate(fit.joints):
        row: dict[str, str | Cell] = {capitalized(column): name}
        row["Relative error"] = percent_text(fit.relative_error_percent_per_joint[k])
        if moving:
            row["while moving"] = percent_text(moving[k])
        row["Residual, rms"] = significant(float(rms[k]), 3, padded=True)
        row["largest"] = significant(float(largest[k]), 3, padded=True)
        row["Unit"] = unit_text(fit.units[k])
        if fit.whiteness:  # none where rows have no order in time
            white = fit.whiteness[k]
            row["Lag-1 autocorrelation"] = correlation_text(white.lag1)
            row["Ljung-Box p"] = probability_text(white.p_value)
            mark, tone = ("● white", "good") if white.white else ("○ not white", "fair")
            row["Residuals"] = Cell(mark, tone=tone)
        rows.append(row)
    lags = sorted({white.lags for white in fit.whiteness})
    return table(
        rows,
        title=title,
        code=(capitalized(column),),
        caption=f"Relative error: 100 |measured - predicted| / |measured|; all {column}s together "
        f"{percent_text(fit.relative_error_percent)}. {AT_STANDSTILL if moving else ''}"
        + (
            f"Not white: in white noise, this much correlation within the first {' or '.join(map(str, lags))} lags has "
            "a probability p below 1 %."
            if lags
            else "Rows are not a time series: whiteness is not tested."
        ),
    )


def full_parameter_table(full: FullParameters) -> Table:
    """Every parameter of the model, body by body and joint by joint, with the share of the prior."""
    owners = {owner: np.flatnonzero(np.array(full.owners) == owner).tolist() for owner in full.owners}
    std = full.std
    rows: list[dict[str, str | Cell]] = []
    for k in (k for indices in owners.values() for k in indices):
        value, s, share = float(full.values[k]), float(std[k]), float(full.prior_share[k])
        interval = None if full.interval is None else full.interval[k].tolist()
        came, judged = origin(share), verdict(value, 100 * s / abs(value) if value else inf, True)
        rows.append(
            {
                "Name": full.names[k],
                "What it is": meaning(full.names[k], full.kinds[k]),
                **value_cells(value, s, full.units[k], share, interval),
                "Before the data": significant(float(full.prior[k])),
                "Where from": share_cell(share),
                # A value from the prior has an origin but no verdict.
                "Verdict": judged.cell if came is None or came.measured else came.cell,
            }
        )
    shares = {owner: full.prior_share[indices] for owner, indices in owners.items()}
    headings = {owner: f"{owner}: {series(counted_origins(part))}" for owner, part in shares.items()}
    return table(
        rows,
        code=("Name",),
        groups=tuple((heading.removesuffix(": "), len(owners[owner])) for owner, heading in headings.items()),
        caption=f"{ORIGINS} A value in brackets is not measured: the prior's share is at least "
        "half. The full part of a bar is the data's, the hatched part the prior's. Well known, known, "
        "poorly known, zero within its interval: as above.",
    )


def assumed_or_measured(text: str, prior_share: float | None) -> Cell:
    """A number, in brackets where it is not measured."""
    if text == UNKNOWN or is_measured(prior_share):
        return Cell(text)
    return Cell(f"({text})", tone="assumed")


def share_cell(prior_share: float | None) -> Cell:
    """Shares of data and prior: the larger as text, both as a bar."""
    text = share_text(prior_share)
    # An empty bar would look like one that is all from the prior.
    if prior_share is None or text == UNKNOWN:
        return Cell(text)
    return Cell(text, bar=1.0 - min(max(prior_share, 0.0), 1.0), tone="shared")


def table_of_rows(rows: Sequence[Mapping[str, Any]], *, title: str = "", caption: str = "") -> Table:
    """A table of plain dicts, as `--json` writes them; a missing key or None leaves its cell empty."""
    # The union of all keys, as they first appear: a row may lack what another has.
    titles = {key: capitalized(key.replace("_", " ")) for row in rows for key in row}
    shown = [{title: plain_text(row.get(key)) for key, title in titles.items()} for row in rows]
    return table(shown, title=title, caption=caption)


def plain_text(value: Any) -> str:
    """Text of any value of a setting or a row."""
    if value is None:
        return ""
    # Before int, as bool is a subclass of it.
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
    return text.lstrip("<>+-± [(")[:1].isdigit() or text in ("", "∞", "-∞", UNKNOWN)
