"""Logs that are read in blocks: a recording on a uniform clock, read in stretches of samples.

A format is a class that makes a `UniformLog` of files; the `Reader` of their ending names it (`open_blocks`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from ..exceptions import InvalidRecording, listing
from ..recording import Recording
from .readers import READERS, find_reader, is_known
from .sources import Column, Source
from .units import convert

CLOCK = 0.01
"""Fraction of a sampling interval by which a stamp may be off a uniform clock."""


class BlockLog(Protocol):
    """A log that is longer than memory; it can be pickled, and opens its files where it is used."""

    def __len__(self) -> int:
        """Number of samples."""
        ...

    @property
    def clock(self) -> tuple[float, float]:
        """First stamp [s] and rate [Hz]."""
        ...

    def read(self, first: int, last: int) -> Recording:
        """Samples first <= k < last; `InvalidRecording` if one is missing, or off the clock."""
        ...


@dataclass(frozen=True)
class UniformLog(ABC):
    """One recording in one or several files, in the order of time, whose rows are on one uniform clock.

    Args:
        paths: the files.
        channels: channel -> (column, unit), or `Column`, as in `poinsot.read_recording`.
        time: column of the clock and its unit, or `Column`.
        require: columns that must have a value; rows where one is empty are dropped.

    Raises:
        InvalidRecording: if there is no file, such columns are not read in blocks, or the clock is not uniform.
        UnreadableFile: if a file is missing, damaged, or lacks a column.
        UnknownUnit: if a unit is not known.
    """

    paths: Sequence[Path]
    channels: Mapping[str, Column | tuple[str | int, str]]
    time: Column | tuple[str | int, str]
    require: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        if not self.paths:
            raise InvalidRecording("a log needs at least one file")
        altered = any(column.wraps or column.missing for column in self.source.columns.values())
        if why := "a column has wraps or missing" if altered else self.obstacle(self.source):
            raise InvalidRecording(f"{self.paths[0]} cannot be read in blocks: {why}")

    @staticmethod
    @abstractmethod
    def obstacle(source: Source) -> str:
        """Why such columns cannot be read in blocks; empty: they can."""

    @staticmethod
    @abstractmethod
    def bytes_in_memory(source: Source) -> int:
        """Approximate size of the requested columns by the file's metadata [B]; 0 if it is damaged."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of samples."""

    @abstractmethod
    def cells(self, first: int, last: int) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        """(r,) stamps of rows first <= k < last in the clock's unit, and channel -> (r,) numbers as the files have
        them, held where a cell is empty if the column does so.
        """

    @property
    def source(self) -> Source:
        """The first file, with the columns of all."""
        return Source(Path(self.paths[0]), self.channels, self.time, require=tuple(self.require))

    @cached_property
    def clock(self) -> tuple[float, float]:
        """First stamp [s] and rate [Hz] of all files together."""
        if len(self) < 2:
            raise InvalidRecording(f"{self.paths[0]} has {len(self)} rows; a log needs more")
        first, last = (float(self._stamps(self.cells(k, k + 1)[0])[0]) for k in (0, len(self) - 1))
        if not last > first:
            raise InvalidRecording(
                f"{self.paths[-1]} ends before {self.paths[0]} begins: give files in the order of time"
            )
        return first, (len(self) - 1) / (last - first)

    def _stamps(self, ticks: np.ndarray) -> np.ndarray:
        """Times of rows [s]."""
        clock = self.source.clock
        assert clock is not None
        return convert(ticks * clock.scale, clock.unit)[0]

    def read(self, first: int, last: int) -> Recording:
        """Samples first <= k < last, on the uniform clock of the whole log.

        Raises:
            InvalidRecording: if a stamp is off that clock, or a value is missing.
        """
        ticks, cells = self.cells(first, last)
        start, rate = self.clock
        time = start + np.arange(first, last) / rate
        off = np.abs(self._stamps(ticks) - time) * rate
        if not off.max() <= CLOCK:
            k = int(np.argmax(~(off <= CLOCK)))
            raise InvalidRecording(
                f"row {first + k} of the log is {off[k]:.3g} intervals off a uniform clock of {rate:.6g} Hz: rows are "
                "missing, or files are not in the order of time; resample it, or give its parts one by one"
            )
        values, units = {}, {}
        for name, column in self.source.columns.items():
            values[name], units[name] = convert((cells[name] - column.zero) * column.scale, column.unit)
            if not np.isfinite(values[name]).all():
                k = int(np.argmin(np.isfinite(values[name])))
                raise InvalidRecording(f"row {first + k} of the log has no number in column {column.name!r}")
        return Recording(time, values, units)


def find_block_log(paths: Sequence[Path]) -> type[UniformLog] | None:
    """The class that reads files in blocks, by the ending of their names; None if there is none, or several."""
    files = {path.suffix.lower(): path for path in paths}.values()
    kinds = {find_reader(path).open_blocks if is_known(path) else None for path in files}
    return kinds.pop() if len(kinds) == 1 else None


def open_log(
    paths: Sequence[str | Path],
    channels: Mapping[str, Column | tuple[str | int, str]],
    time: Column | tuple[str | int, str],
    require: Sequence[str | int] = (),
) -> UniformLog:
    """A recording in files that are read in blocks, by the ending of their names.

    Args:
        paths, channels, time, require: as in `UniformLog`.

    Raises:
        InvalidRecording: if such files are not read in blocks; and as in `UniformLog`.
    """
    files = [Path(path) for path in paths]
    kind = find_block_log(files)
    if kind is None:
        known = listing(f".{ending}" for ending in READERS if find_block_log([Path(f"a.{ending}")]))
        raise InvalidRecording(
            f"{listing(map(str, files), 4)}: files that are read in blocks are of one kind, {known}"
        )
    return kind(files, channels, time, tuple(require))
