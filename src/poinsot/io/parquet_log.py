"""A recording in parts: Parquet files with the same columns, one after the other, of which stretches are read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from ..exceptions import UnreadableFile, listing
from .block_log import UniformLog
from .parquet import checked, numbers
from .sources import Source, existing_file

MAX_BYTES = 2**43
"""Maximum size of the values in a file [B]; only some stretches are in memory at a time."""

SMALL = 1 << 20
"""Size of a file whose rows are not counted, which takes a process: it is short, however it is compressed [B]."""


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
        return "rows or required columns are given" if source.rows or source.require else ""

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
