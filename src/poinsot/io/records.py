"""Logs of records in JSON: one object a line (`.jsonl`), a list of objects, or one object of lists (`.json`).

A column is the path to a number: `state.q[2]` of {"state": {"q": [0.1, 0.2, 0.3]}}; or `q.elbow` where the names of its
elements are beside the list, the same in all records: {"name": ["elbow"], "q": [0.1]}. LeRobot's `meta/info.json` has
its own reader.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..exceptions import UnreadableFile
from .lerobot import INFO, LEROBOT
from .message_columns import NAME_LISTS
from .readers import Reader
from .sources import Columns, Source, column_not_found
from .tabular import epoch_seconds

NAMES = ("name", "joint", "motor", "id")
"""Keys of objects in lists that name them."""
MAX_BYTES = 1 << 30
"""Maximum size of a file [B]."""


def read_records(source: Source) -> Columns:
    """The wanted columns of a log of records."""
    path = Path(source.path)
    if _is_lerobot(path):
        return LEROBOT.read_columns(source)
    table = _table(path)
    columns: dict[str | int, np.ndarray] = {}
    for name in source.wanted:
        if name not in table.columns:
            raise column_not_found(path, name, _numeric(table))
        cells = table[str(name)]
        columns[name] = (epoch_seconds(cells) if name in source.dated else cells.cast(pl.Float64)).to_numpy()
    return columns


def list_records(path: Path) -> tuple[dict[str, Any], str]:
    """The columns of a log of records, for scripts (schema `poinsot.columns/1`) and as text."""
    if _is_lerobot(path):
        assert LEROBOT.list_contents is not None
        content, text = LEROBOT.list_contents(path)
        return dict(content), text
    names = _numeric(_table(path))
    return {"schema": "poinsot.columns/1", "log": path.name, "columns": names}, "\n".join([path.name, *names])


def _is_lerobot(path: Path) -> bool:
    return path.as_posix().endswith(INFO)


def _numeric(table: pl.DataFrame) -> list[str]:
    """Names of the columns of numbers, and of text that may be dates."""
    return [
        name for name, kind in table.schema.items() if kind.is_numeric() or kind in (pl.String, pl.Boolean)
    ]


def _by_name(value: Any) -> Any:
    """Lists of objects as objects: by their names, or by their numbers where they have none."""
    if isinstance(value, dict):
        return {key: _by_name(item) for key, item in value.items()}
    if not (isinstance(value, list) and value and all(isinstance(item, dict) for item in value)):
        return value
    key = next((key for key in NAMES if all(isinstance(item.get(key), str) for item in value)), None)
    names = [str(k) for k in range(len(value))] if key is None else [item[key] for item in value]
    return {name: _by_name(item) for name, item in zip(names, value, strict=True)}


def _table(path: Path) -> pl.DataFrame:
    """All columns of a file; `UnreadableFile` if it holds no records."""
    if path.stat().st_size > MAX_BYTES:
        raise UnreadableFile(f"{path} is larger than {MAX_BYTES >> 30} GiB; save it as Parquet")
    try:
        text = path.read_text(encoding="utf-8")
        lines = path.suffix.lower() != ".json"
        content = (
            [json.loads(line) for line in text.splitlines() if line.strip()] if lines else json.loads(text)
        )
        if isinstance(content, dict):  # of lists, or one list of records beside other facts
            records = [x for x in content.values() if isinstance(x, list) and x and isinstance(x[0], dict)]
            content = records[0] if records else pl.DataFrame(content, strict=False).to_dicts()
        content = [_by_name(record) for record in content]
        table = pl.json_normalize(content, separator=".", infer_schema_length=None, strict=False)
    except (
        OSError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
        pl.exceptions.PolarsError,
    ) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UnreadableFile(f"{path} holds no records of numbers in JSON: {reason}") from None
    texts = [name for name, kind in table.schema.items() if kind == pl.List(pl.String)]
    labels = {
        name.rpartition(".")[0]: table[name][0].to_list()
        for name in texts
        if name.rpartition(".")[2] in NAME_LISTS and table[name].list.join("\0").n_unique() == 1
    }
    table = table.drop(texts)
    for name in [name for name, kind in table.schema.items() if kind in (pl.List, pl.Array)]:
        lists = table[name].cast(pl.List(pl.Float64), strict=False)
        width = int(np.nanmax(lists.list.len().fill_null(0).to_numpy(), initial=0))
        own = labels.get(name.rpartition(".")[0], [])
        names = (
            [f"{name}.{label}" for label in own]
            if len(own) == width
            else [f"{name}[{k}]" for k in range(width)]
        )
        table = table.drop(name).with_columns(
            lists.list.get(k, null_on_oob=True).alias(one) for k, one in enumerate(names)
        )
    return table


JSON = Reader(read_records, list_records)
