"""Text for a terminal: rows as aligned columns, and what a screen of some width shows of a text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as aligned columns."""
    if not rows:
        return ""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[str(key) for key in keys], *([_cell(row.get(key)) for key in keys] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(keys))]
    # An empty cell aligns with numbers.
    numeric = [all(isinstance(row.get(key), (int, float, type(None))) for row in rows) for key in keys]
    return "\n".join(
        "  "
        + "  ".join(
            f"{cell:>{w}}" if right else f"{cell:<{w}}"
            for cell, w, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    )


MOST_ROWS = 12
"""Rows of a table that a terminal shows."""
HEADINGS = ("name ", "body ", "drive gain of ")
"""Beginnings of the first line of a table in the text of a result."""


def for_terminal(text: str, width: int, most_rows: int | None = MOST_ROWS) -> list[str]:
    """Lines of a text, wrapped at words to the width, and the first rows of each table; `most_rows` None: all."""
    lines = []
    for is_table, run in groupby(_apart(text.splitlines()), _is_row):
        shown = list(run)
        more = len(shown) - 1 - most_rows if is_table and most_rows is not None else 0
        if more > 0:
            shown = [*shown[: len(shown) - more], f"  ... {more} more rows: --all"]
        lines += shown
    return [part for line in lines for part in _wrapped(line, width)]


def _is_row(line: str) -> bool:
    return len(re.split(r"\s{2,}", line.strip())) >= 3


def _apart(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with an empty one between two tables."""
    before = ""
    for line in lines:
        if line.startswith(HEADINGS) and _is_row(before):
            yield ""
        yield line
        before = line


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    deep = 8 if _is_row(line) else len(line) - len(line.lstrip()) + 2
    parts = textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * deep,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return parts or [line]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
