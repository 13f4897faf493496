"""A recording in parts: Parquet files with the same columns, one after the other, of which stretches are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from poinsot.exceptions import InvalidRecording, UnreadableFile, listing
from poinsot.io.units import DATES, find_unit
from poinsot.recording import Recording
from poinsot_formats.parquet import checked, dated_column

CLOCK = 0.01
"""Part of a sampling interval by which a stamp may be off a uniform clock."""

MAX_BYTES = 2**43
"""Of the values in a file, of which no more than some stretches are in memory at a time."""


@dataclass(frozen=True)
class ParquetLog:
    """One recording in one or several files, in the order of time.

    Args:
        paths: of the files.
        channels: channel -> (column, unit), as of `poinsot.read_recording`.
        time: column of the clock and its unit.

    Raises:
        UnreadableFile: if a file is missing, damaged, or lacks a column.
        UnknownUnit: if a unit is not known.
        InvalidRecording: if the clock is not uniform over all files.
    """

    paths: Sequence[Path]
    channels: Mapping[str, tuple[str, str]]
    time: tuple[str, str]

    def __post_init__(self) -> None:
        if not self.paths:
            raise InvalidRecording("a log needs at least one Parquet file")
        for path in self.paths:
            with checked(Path(path), self._columns, MAX_BYTES):
                columns = pl.scan_parquet(path, glob=False).collect_schema()
            missing = [each for each in self._columns if each not in columns]
            if missing:
                raise UnreadableFile(
                    f"{path} has no column {missing[0]!r}; it has {listing(list(columns), 8)}"
                )
        _ = self.clock

    @property
    def _columns(self) -> list[str]:
        return [self.time[0], *dict.fromkeys(column for column, _ in self.channels.values())]

    @cached_property
    def _scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(list(self.paths), glob=False).select(self._columns)

    def __len__(self) -> int:
        return self._samples

    @cached_property
    def _samples(self) -> int:
        return int(self._scan.select(pl.len()).collect().item())

    @cached_property
    def clock(self) -> tuple[float, float]:
        """First stamp [s] and rate [Hz] of all files together."""
        if len(self) < 2:
            raise InvalidRecording(f"{self.paths[0]} has {len(self)} rows; a log needs more")
        ends = (self._scan.slice(k, 1).collect() for k in (0, len(self) - 1))
        first, last = (float(self._stamps(each)[0]) for each in ends)
        if not last > first:
            raise InvalidRecording(
                f"{self.paths[-1]} ends before {self.paths[0]} begins: give files in the order of time"
            )
        return first, (len(self) - 1) / (last - first)

    def _stamps(self, table: pl.DataFrame) -> np.ndarray:
        """Times of rows [s]."""
        column, unit = self.time
        stamps = dated_column(Path(self.paths[0]), table[column]) if unit == DATES else table[column]
        return stamps.to_numpy() * find_unit(unit).factor

    def read(self, first: int, last: int) -> Recording:
        """Samples first <= k < last, on the uniform clock of the whole log.

        Raises:
            InvalidRecording: if a stamp is off that clock, or a value is missing.
        """
        table = self._scan.slice(first, last - first).collect()
        start, rate = self.clock
        time = start + np.arange(first, last) / rate
        off = np.abs(self._stamps(table) - time) * rate
        if not off.max() <= CLOCK:
            k = int(np.argmax(~(off <= CLOCK)))
            raise InvalidRecording(
                f"row {first + k} of the log is {off[k]:.3g} intervals off a uniform clock of {rate:.6g} Hz: rows are "
                "missing, or files are not in the order of time; resample it, or give its parts one by one"
            )
        values, units = {}, {}
        for name, (column, unit) in self.channels.items():
            si = find_unit(unit)
            values[name] = si.factor * table[column].to_numpy().astype(np.float64) + si.offset
            units[name] = si.si
            if not np.isfinite(values[name]).all():
                k = int(np.argmin(np.isfinite(values[name])))
                raise InvalidRecording(f"row {first + k} of the log has no number in column {column!r}")
        return Recording(time, values, units)
