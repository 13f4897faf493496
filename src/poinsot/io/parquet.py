"""Parquet through Polars, in this process only after it has read the wanted columns once in a process of its own.

A damaged page may make Polars abort, e.g. by a run of 2^64 equal values, and nothing but reading it shows that. The
check costs the start of a process and the decoding of the columns, once for each file as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..exceptions import UnreadableFile, listing
from .block_log import UniformLog
from .parser import MEMORY, run_parser
from .readers import Reader
from .sources import Columns, Source, column_not_found, existing_file
from .tabular import epoch_seconds
from .units import DATES

READ = """
import json
import polars as pl
scan = pl.scan_parquet(sys.argv[1], glob=False)
names = list(scan.collect_schema())
wanted = json.loads(sys.argv[2])
wanted = names if wanted is None else [names[k] if k in range(len(names)) else k for k in wanted]
found = [name for name in names if name in wanted]
rows = scan.select(pl.len()).collect().item()
if 8 * rows * max(len(found), 1) > int(sys.argv[3]):
    raise ValueError(f"it claims to have {rows} rows")
scan.select(pl.col(found).is_null().sum()).collect(engine="streaming")
"""

MAX_BYTES = 2**43
"""Maximum size of the values in a file [B]; only some stretches are in memory at a time."""

SMALL = 1 << 20
"""Size of a file whose rows are not counted, which takes a process: it is short, however it is compressed [B]."""

ELEMENT = re.compile(r"(.+)\[(\d+)\]")
"""Name of an element of a column of lists."""

DATED = (pl.Datetime, pl.Duration, pl.Time)
"""Types of columns with times."""
POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


@contextmanager
def checked(path: Path, wanted: Iterable[str | int] | None, max_bytes: int = MEMORY) -> Iterator[None]:
    """Where Polars may read these columns of a file, or all of it if they are None.

    Args:
        path: of the file.
        wanted: names of columns, or indices from 0; those that do not exist are for the reader to report.
        max_bytes: of their values in memory.

    Raises:
        UnreadableFile: if the file does not exist or is damaged, here or where Polars reads it.
    """
    status = existing_file(path).stat()
    try:
        names = json.dumps(wanted if wanted is None else list(dict.fromkeys(wanted)))
        _check(
            path.absolute(),
            names,
            max_bytes,
            (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns),
        )
        yield
    except POLARS_ERRORS as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".:;")
        raise UnreadableFile(f"{path} cannot be read as Parquet: {reason}") from error


@lru_cache(maxsize=10_000)
def _check(path: Path, names: str, max_bytes: int, _: tuple[int, ...]) -> None:
    run_parser(READ, path, "Parquet", names, str(max_bytes))


def list_parquet(path: Path) -> tuple[dict[str, Any], str]:
    """The columns of numbers and of times of a file, for scripts (schema `poinsot.columns/1`) and as text."""
    with checked(path, ()):
        schema = pl.scan_parquet(path, glob=False).collect_schema()
    of_lists = [
        name
        for name, kind in schema.items()
        if isinstance(kind, pl.List | pl.Array) and kind.inner is not None and kind.inner.is_numeric()
    ]
    with checked(path, of_lists):
        first = pl.scan_parquet(path, glob=False).select(of_lists).head(1).collect()
    names = []
    for name, kind in schema.items():
        if name in of_lists and first[name].is_not_null().any():
            names += [f"{name}[{k}]" for k in range(len(first[name][0]))]
        names += [name] if _is_number(kind) or kind in DATED else []
    content = {"schema": "poinsot.columns/1", "log": path.name, "columns": names}
    return content, "\n".join([path.name, *(f"{name}  {schema.get(name, pl.Float64)}" for name in names)])


def read_parquet(source: Source) -> Columns:
    """The wanted columns of a Parquet file."""
    path = Path(source.path)
    bases = {name: match for name in source.wanted if (match := ELEMENT.fullmatch(str(name)))}
    with checked(path, [*source.wanted, *(match[1] for match in bases.values())]):
        schema = pl.scan_parquet(path, glob=False).collect_schema()
        available = list(schema)
        names: dict[str | int, str] = {}
        for name in source.wanted:
            if isinstance(name, int) and 0 <= name < len(available):
                names[name] = available[name]
            elif name in schema:
                names[name] = str(name)
            elif name in bases and schema.get(bases[name][1], pl.Float64) in (pl.List, pl.Array):
                names[name] = bases[name][1]
            else:
                raise column_not_found(path, name, available)
        table = pl.read_parquet(path, columns=list(dict.fromkeys(names.values())), glob=False)
    cells = {name: table[header] for name, header in names.items()}
    for name in bases.keys() & {name for name, header in names.items() if header != name}:
        cells[name] = cells[name].cast(pl.List(pl.Float64)).list.get(int(bases[name][2]), null_on_oob=True)
    return {name: numbers(path, series, name in source.dated) for name, series in cells.items()}


def numbers(path: Path, cells: pl.Series, dated: bool) -> np.ndarray:
    """(T,) numbers of a column, NaN where a cell is empty; `dated`: it holds dates and times, seconds since 1970 (UTC).

    Raises:
        UnreadableFile: if it holds something else.
    """
    if dated:
        cells = dated_column(path, cells)
    elif not _is_number(cells.dtype):
        advice = f': set unit = "{DATES}"' if cells.dtype in DATED else ""
        raise UnreadableFile(f"{path}: column {cells.name!r} holds {cells.dtype}, not numbers{advice}")
    return cells.cast(pl.Float64).to_numpy()


def dated_column(path: Path, cells: pl.Series) -> pl.Series:
    """Seconds since 1970 (UTC) of a column of dates and times, null where a cell is empty.

    Raises:
        UnreadableFile: if the column or a cell is something else.
    """
    if cells.dtype not in (*DATED, pl.String):
        raise UnreadableFile(f"{path}: column {cells.name!r} holds {cells.dtype}, not dates and times")
    seconds = epoch_seconds(cells)
    bad = (seconds.is_null() & cells.is_not_null()).arg_true()
    if len(bad):
        raise UnreadableFile(
            f"{path}: column {cells.name!r} holds {cells[bad[0]]!r} instead of a date and time in row {bad[0]} "
            "(counted from 0)"
        )
    return seconds


def _is_number(kind: pl.DataType) -> bool:
    return kind.is_numeric() or kind == pl.Boolean


@dataclass(frozen=True)
class ParquetLog(UniformLog):
    """One recording in one or several Parquet files, in the order of time; see `UniformLog`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for path in self.paths:
            with checked(Path(path), self._columns, MAX_BYTES):
                columns = pl.scan_parquet(path, glob=False).collect_schema()
            missing = [column for column in self._columns if column not in columns]
            if missing:
                raise UnreadableFile(
                    f"{path} has no column {missing[0]!r}; it has {listing(list(columns), 8)}"
                )
        _ = self.clock

    @staticmethod
    def obstacle(source: Source) -> str:
        columns = [*source.columns.values(), *([source.clock] if source.clock else [])]
        if any(column.hold or column.nanoseconds is not None for column in columns):
            return "a column has hold or nanoseconds"
        return (
            "rows or required columns are given" if source.rows or source.require or source.every > 1 else ""
        )

    @staticmethod
    def bytes_in_memory(source: Source) -> int:
        path = existing_file(Path(source.path))
        if path.stat().st_size < SMALL:
            return path.stat().st_size
        with suppress(UnreadableFile), checked(path, ()):
            rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
            return 8 * int(rows) * len(source.wanted)
        return 0

    @property
    def _columns(self) -> list[str]:
        return [str(name) for name in self.source.wanted]

    @cached_property
    def _scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(list(self.paths), glob=False).select(self._columns)

    def __len__(self) -> int:
        return self._samples

    @cached_property
    def _samples(self) -> int:
        return int(self._scan.select(pl.len()).collect().item())

    def cells(self, first: int, last: int) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        table = self._scan.slice(first, last - first).collect()
        clock = self.source.clock
        assert clock is not None
        columns = {
            name: numbers(Path(self.paths[0]), table[str(name)], name in self.source.dated)
            for name in self.source.wanted
        }
        channels = {name: columns[column.name] for name, column in self.source.columns.items()}
        return columns[clock.name], channels


PARQUET = Reader(read_parquet, list_parquet, ParquetLog)
