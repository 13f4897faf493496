"""Text for a terminal: rows as aligned columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
