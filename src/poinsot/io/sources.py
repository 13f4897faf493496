"""Description of a file: which column is which channel, in which unit, and which rows are used."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..exceptions import InvalidRecording, PoinsotError, UnreadableFile, listing, nearest
from .units import DATES

DELIMITERS = "\t !#$%&'()*+,-/:;<=>?@[\\]^_`{|}~"
"""What can separate the cells of a CSV file."""

COLUMN_LISTING = 16
"""Maximum number of a file's columns that an error message lists."""


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Args:
        name: its header; or its index from 0, where there is no header. In a `.mat` file the variable: `"q"`, a
            column of a matrix `"q[2]"`, a field of a struct `"log.q[2]"`.
        unit: of the numbers in the file, times `scale`.
        scale: factor on the file's numbers before the unit applies, e.g. 2 pi / 4096 for an encoder's counts.
        hold: whether an empty cell repeats the previous value, as in logs that write changes only.
        initial: the value before the first cell with one, if `hold`. [unit]
        nanoseconds: of a clock in two columns, as stamps of ROS: the one to add, in nanoseconds.
        zero: the file's number at 0, e.g. 2048 of an encoder's counts.
        wraps: the file's numbers count modulo this: positions are unwrapped, other readings are signed, -wraps / 2 to
            wraps / 2.
        missing: numbers in the file that stand for no reading.
    """

    name: str | int
    unit: str
    scale: float = 1.0
    hold: bool = False
    initial: float | None = None
    nanoseconds: str | int | None = None
    zero: float = 0.0
    wraps: float | None = None
    missing: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(self.missing))
        if self.wraps is not None and not self.wraps > 0:
            raise InvalidRecording(f"wraps of column {self.name!r} must be positive, not {self.wraps}")
        if not (np.isfinite(self.scale) and self.scale != 0):
            raise InvalidRecording(f"the scale of column {self.name!r} must be a finite number other than 0")
        if self.initial is not None and not self.hold:
            raise InvalidRecording(
                f"column {self.name!r} has an initial value but does not hold; set hold too"
            )


@dataclass(frozen=True)
class Source:
    """One file of a recording.

    Args:
        path: CSV (`.csv`, `.tsv`, `.txt`, `.dat`), Parquet (`.parquet`, `.pq`), MATLAB v5 (`.mat`), or a format that
            another distribution reads (entry points `poinsot.readers`).
        channels: channel name -> `Column`, or `(name, unit)` for short.
        time: the clock's column, if the file has one.
        rows: the first row to read and the one after the last, counted from 0 below the header; None: to the end.
        every: of these rows every n-th is kept, beginning with the first: for readings that are logged several times.
        require: columns that must have a value: rows where one is empty are dropped, as in logs that join topics.
        delimiter: of a CSV file; None: a tab for `.tsv`, else a comma.
        header: whether a CSV file's first line names the columns.
        skip_lines: lines above the header of a CSV file.
        decimal_comma: whether a CSV file writes 3,14.
    """

    path: str | Path
    channels: Mapping[str, Column | tuple[str | int, str]] = field(default_factory=dict)
    time: Column | tuple[str | int, str] | None = None
    rows: tuple[int, int | None] | None = None
    every: int = 1
    require: tuple[str | int, ...] = ()
    delimiter: str | None = None
    header: bool = True
    skip_lines: int = 0
    decimal_comma: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "channels", MappingProxyType(dict(self.channels)))
        if self.delimiter is not None and not (len(self.delimiter) == 1 and self.delimiter in DELIMITERS):
            raise InvalidRecording(
                f"a delimiter is one character of ASCII, no quote, letter or digit, not {self.delimiter!r}"
            )
        if self.every < 1:
            raise InvalidRecording(f"every must be at least 1, not {self.every}")
        if self.skip_lines < 0:
            raise InvalidRecording(f"skip_lines must be at least 0, not {self.skip_lines}")
        if self.rows is not None:
            first, last = self.rows
            if first < 0 or (last is not None and last <= first):
                raise InvalidRecording(
                    f"rows are (first, one after the last), counted from 0, not {(first, last)}: "
                    "give 0 <= first < last"
                )

    @property
    def columns(self) -> Mapping[str, Column]:
        """Channel name -> column."""
        return {name: c if isinstance(c, Column) else Column(*c) for name, c in self.channels.items()}

    @property
    def clock(self) -> Column | None:
        """The clock's column."""
        return self.time if self.time is None or isinstance(self.time, Column) else Column(*self.time)

    @property
    def wanted(self) -> tuple[str | int, ...]:
        """The names of all columns to be read, each once."""
        clock = [] if self.clock is None else [self.clock.name, self.clock.nanoseconds]
        names = [*clock, *(column.name for column in self.columns.values()), *self.require]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def dated(self) -> frozenset[str | int]:
        """The names of columns that hold dates and times, which a reader gives as seconds since 1970 (UTC)."""
        clock = [] if self.clock is None else [self.clock]
        return frozenset(each.name for each in (*clock, *self.columns.values()) if each.unit == DATES)


Columns = Mapping[str | int, np.ndarray]
"""Column name -> (T,) numbers as the file has them, NaN where a cell is empty."""


class NotedColumns(dict[str | int, np.ndarray]):
    """Columns with sentences on how they were read, which a recording keeps among its steps."""

    def __init__(self) -> None:
        self.notes: list[str] = []


def is_pattern(folder: Path, name: str) -> bool:
    """Whether a name stands for many files: it has *, ? or {, and there is no file that is called so."""
    return any(each in name for each in "*?{") and not os.path.exists(folder / name)


def matching_files(paths: Sequence[Path]) -> list[Path]:
    """The paths, with the files that fit in place of each pattern, in the order of their names."""
    files: list[Path] = []
    for path in paths:
        fitting = (
            sorted(glob.glob(str(path), recursive=True)) if is_pattern(Path(), str(path)) else [str(path)]
        )
        if not fitting:
            raise UnreadableFile(f"no file fits {str(path)!r}")
        files += map(Path, fitting)
    return files


def existing_file(path: Path) -> Path:
    """The path, if a regular file is there."""
    # of `os`, for which a name that is too long is no error
    if os.path.isfile(path):
        return path
    if os.path.isdir(path):
        raise UnreadableFile(f"{path} is a folder, not a file")
    if os.path.exists(path):
        raise UnreadableFile(f"{path} is not a regular file")
    folder = path.parent
    if not os.path.isdir(folder):
        raise UnreadableFile(f"no file {path}: there is no folder {folder}")
    # Sorted: the order of a folder differs between file systems, and messages are tested.
    names = sorted(each.name for each in os.scandir(folder) if each.is_file() and each.name[0] != ".")
    raise UnreadableFile(f"no file {path}{nearest(path.name, names)}; the folder has {listing(names)}")


def column_not_found(path: Path, name: str | int, available: Iterable[Any], hint: str = "") -> PoinsotError:
    """The error for a column that a file does not have."""
    available = [str(column) for column in available]
    return UnreadableFile(
        f"{path} has no column {name!r}{nearest(str(name), available)}{hint or '; it has'} "
        f"{listing(available, COLUMN_LISTING)}"
    )
