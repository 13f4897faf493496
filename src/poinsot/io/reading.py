"""Read files into one checked Recording.

Each file is read as a table of numbers (`readers`), its cells are held, its rows cut, its units converted,
and the files are joined on one clock. Errors are raised here, where file, column and row are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..arrays import LARGEST, carried_on
from ..exceptions import InvalidRecording, listing
from ..recording import Recording
from .npz import is_recording, read_npz
from .readers import RECORDING_ENDING, find_reader, is_read_as_text
from .sources import Column, Columns, Source, existing_file
from .units import DATES, check_quantity, convert, find_unit

CLOCKS_AGREE_S = 1e-6
"""Maximum difference of the clocks of files with the same rows. [s]"""


def read_recording(
    source: str | Path | Source | Sequence[Source],
    channels: Mapping[str, Column | tuple[str | int, str]] | None = None,
    *,
    time: Column | tuple[str | int, str] | None = None,
    rate_hz: float | None = None,
    start_s: float | None = None,
    invalid: Literal["raise", "mask"] = "raise",
    rows: tuple[int, int | None] | None = None,
    require: Sequence[str | int] = (),
    delimiter: str | None = None,
    header: bool = True,
    skip_lines: int = 0,
    decimal_comma: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Recording:
    """Read a recording from one or several files.

    Args:
        source: a file, or several whose rows belong together, or that have clocks of their own: then the later ones are
            brought to the clock of the first, held columns by their last value and others by linear interpolation.
            poinsot's own `.npz` has channels and clock.
        channels: of a single file, channel name -> `(column, unit)` or `Column`, e.g. `{"position.joint_1": ("q1",
            "deg")}`. Values are converted to SI units.
        time: of a single file, the clock's column and unit.
        rate_hz: sampling rate, where no file has a clock.
        start_s: time of the first sample; None: that of the file, or 0.
        invalid: `"raise"` for a value that is empty, not a number or infinite, or `"mask"` it.
        rows, require, delimiter, header, skip_lines, decimal_comma: of a single file, see `Source`.
        metadata: kept with the recording, besides the reader's own (`sources`, `steps`).

    Raises:
        UnreadableFile, UnknownUnit, InvalidRecording: one sentence that names file, column and row.
    """
    if isinstance(source, (str, Path)):
        path = Path(source)
        if path.suffix.lower() == RECORDING_ENDING and (channels is None or is_recording(path)):
            if channels is not None or time is not None or rate_hz is not None:
                raise InvalidRecording(
                    f"{path} brings its own channels and clock; leave channels, time and rate_hz out"
                )
            return read_npz(existing_file(path))
        source = Source(
            *(
                path,
                channels or {},
                time,
                rows,
                1,
                tuple(require),
                delimiter,
                header,
                skip_lines,
                decimal_comma,
            )
        )
    elif channels is not None or time is not None or rows is not None or require or delimiter or not header:
        raise InvalidRecording("channels, time, rows and the like belong into each Source")
    sources = [source] if isinstance(source, Source) else list(source)
    if not sources:
        raise InvalidRecording("a recording needs at least one file")
    _check_units(sources)
    parts = _on_one_clock([_read_part(each, invalid) for each in sources], sources)
    if len({len(part) for part in parts}) > 1:
        each = ", ".join(f"{part.path} {len(part)}" for part in parts)
        raise InvalidRecording(
            f"files of one recording need the same rows, but have: {each}; cut them with rows = [first, last]"
        )
    clock = _clock(parts, rate_hz, start_s)
    return Recording(
        clock,
        {name: values for part in parts for name, values in part.channels.items()},
        {name: unit for part in parts for name, unit in part.units.items()},
        {name: mask for part in parts for name, mask in part.valid.items()},
        {
            **(metadata or {}),
            "sources": [part.path for part in parts],
            "steps": [step for part in parts for step in part.steps],
        },
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a file that are kept, and their numbers in the file."""

    source: Source
    indices: np.ndarray
    total: int

    def of(self, values: np.ndarray) -> np.ndarray:
        return values if len(self.indices) == self.total else values[self.indices]

    def where(self, k: int) -> str:
        """The k-th kept row as it is numbered in the file."""
        row = int(self.indices[k])
        if not is_read_as_text(Path(self.source.path)):
            return f"row {row} (counted from 0)"
        line = row + 1 + self.source.skip_lines + self.source.header
        return f"row {row} (counted from 0; line {line} of the file)"


@dataclass(frozen=True, eq=False)
class _Part:
    """One file's part of a recording, in SI units, and its processing steps."""

    path: str
    time: np.ndarray | None
    channels: dict[str, np.ndarray]
    units: dict[str, str]
    valid: dict[str, np.ndarray]
    steps: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self.channels.values())))


def _check_units(sources: Sequence[Source]) -> None:
    seen: set[str] = set()
    for source in sources:
        if not source.channels:
            raise InvalidRecording(
                f"nothing to read from {source.path}: say which column is which channel, in which unit, "
                'as in channels = {"position.joint_1": ("q1", "deg")}'
            )
        for name, column in source.columns.items():
            if name in seen:
                raise InvalidRecording(f"channel {name!r} is read twice; name each channel once")
            seen.add(name)
            check_quantity(name, column.unit)
        clock = source.clock
        if clock is not None and find_unit(clock.unit, " of the clock").si != "s":
            raise InvalidRecording(
                f"the clock {clock.name!r} cannot be in {clock.unit!r}; give s, ms, us, ns or {DATES}"
            )


def _read_part(source: Source, invalid: str) -> _Part:
    path = existing_file(Path(source.path))
    table = find_reader(path).read_columns(source)
    if len({len(values) for values in table.values()}) > 1:
        each = ", ".join(f"{name} {len(values)}" for name, values in table.items())
        raise InvalidRecording(f"{path}: columns of different lengths cannot share a clock: {each}")
    rows, steps = _kept_rows(source, table)
    steps += getattr(table, "notes", [])
    channels, units, valid = {}, {}, {}
    for name, column in source.columns.items():
        cells = table[column.name]
        if column.missing:
            cells = np.where(np.isin(cells, column.missing), np.nan, cells)
        if column.hold:
            # Before rows are cut: the last value above the first row holds on into it. Cells are held as the
            # file has them; the initial value is given after scaling.
            initial = np.nan if column.initial is None else column.initial / column.scale + column.zero
            cells = carried_on(cells, initial)
        values = rows.of(cells)
        good = np.abs(values) <= LARGEST
        if not good.all():
            if invalid != "mask":
                k, bad = int(np.argmin(good)), int((~good).sum())
                large = "infinite" if np.isinf(values[k]) else f"above {LARGEST:g}"
                what = "empty or not a number" if np.isnan(values[k]) else large
                raise InvalidRecording(
                    f"{source.path}: column {column.name!r} (channel {name!r}) is {what} in {rows.where(k)}"
                    f"{f', and in {bad} rows in all' if bad > 1 else ''}; drop such rows, or set "
                    'invalid = "mask" to keep them as gaps'
                )
            valid[name] = good
            steps.append(f"channel {name!r}: {int((~good).sum())} samples are no numbers and were masked")
        if column.wraps is not None:
            values = unwrapped(values, column.wraps, name.startswith("position"))
        channels[name], units[name] = convert(_scaled(values, column), column.unit)
    return _Part(str(path), _read_clock(rows, table), channels, units, valid, tuple(steps))


def _read_clock(rows: _Rows, table: Columns) -> np.ndarray | None:
    clock = rows.source.clock
    if clock is None:
        return None
    ticks = rows.of(table[clock.name])
    if clock.nanoseconds is not None:
        ticks = ticks + rows.of(table[clock.nanoseconds]) * (1e-9 / find_unit(clock.unit).factor)
    finite = np.isfinite(ticks)
    if not finite.all():
        raise InvalidRecording(
            f"{rows.source.path}: the clock {clock.name!r} is empty or not a number in "
            f"{rows.where(int(np.argmin(finite)))}; "
            f"if such rows belong to another topic, set require = [{clock.name!r}]"
        )
    # A negative scale turns a clock that counts down into one that counts up.
    backwards = np.diff(ticks * clock.scale) <= 0
    if backwards.any():
        k = int(np.argmax(backwards)) + 1
        how = "repeats" if ticks[k] == ticks[k - 1] else "runs backwards"
        unit = "s since 1970" if clock.unit == DATES else clock.unit
        raise InvalidRecording(
            f"{rows.source.path}: the clock {clock.name!r} {how} in {rows.where(k)}: "
            f"{ticks[k - 1]:.15g} {unit}, then {ticks[k]:.15g} {unit}; sort the file or drop the row"
        )
    return convert(_scaled(ticks, clock), clock.unit)[0]


def _scaled(values: np.ndarray, column: Column) -> np.ndarray:
    return values if (column.zero, column.scale) == (0.0, 1.0) else (values - column.zero) * column.scale


def unwrapped(values: np.ndarray, period: float, continuously: bool) -> np.ndarray:
    """(T,) numbers that count modulo `period`, with steps below half of it; or else signed, -period / 2 to period / 2.
    Samples without a number are passed over.
    """
    if not continuously:
        return (values + period / 2) % period - period / 2
    known = np.isfinite(values)
    result = values.copy()
    result[known] = np.unwrap(values[known], period=period)
    return result


def _kept_rows(source: Source, table: Columns) -> tuple[_Rows, list[str]]:
    total = len(next(iter(table.values())))
    first, last = source.rows or (0, None)
    stop = total if last is None else last
    if stop > total:
        raise InvalidRecording(f"{source.path} has {total} rows; rows = [{first}, {stop}] ask for more")
    kept, steps = np.arange(first, stop, source.every), []
    if source.every > 1:
        steps.append(f"{Path(source.path).name}: every {source.every}th row")
    if stop - first < total:
        steps.append(f"{Path(source.path).name}: rows {first} to {stop - 1} of {total}")
    for name in source.require:
        present = ~np.isnan(table[name][kept])
        if not present.all():
            steps.append(f"{Path(source.path).name}: dropped {int((~present).sum())} rows without {name!r}")
        kept = kept[present]
    if len(kept) < 2:
        left = "1 row is" if len(kept) == 1 else f"{len(kept)} rows are"
        raise InvalidRecording(f"{source.path}: {left} left; a recording needs at least two samples")
    return _Rows(source, kept, total), steps


def _on_one_clock(parts: Sequence[_Part], sources: Sequence[Source]) -> list[_Part]:
    """The parts at the times of the first, if each has a clock and they differ; only the time that all have."""
    first, *others = parts
    times = [part.time for part in parts if part.time is not None]
    agree = all(
        len(time) == len(times[0]) and np.max(np.abs(time - times[0])) <= CLOCKS_AGREE_S for time in times
    )
    if len(times) < len(parts) or agree:
        if agree or len({len(part) for part in parts}) > 1:
            return list(parts)
        raise InvalidRecording(
            f"{listing([part.path for part in parts if part.time is None])} has no clock, and those of the other files "
            "of the recording differ: name a time column in each"
        )
    held = [{name for name, column in source.columns.items() if column.hold} for source in sources]
    # the last value of a held column counts on
    ends = [
        np.inf if names >= part.channels.keys() else time[-1]
        for part, time, names in zip(parts, times, held, strict=True)
    ]
    inside = (times[0] >= max(time[0] for time in times)) & (times[0] <= min(*ends, times[0][-1]))
    if inside.sum() < 2:
        spans = ", ".join(
            f"{part.path} runs from {time[0]:.15g} s to {time[-1]:.15g} s"
            for part, time in zip(parts, times, strict=True)
        )
        raise InvalidRecording(f"the clocks of the files of one recording do not overlap: {spans}")
    at = times[0][inside]
    moved = [
        _Part(
            first.path,
            at,
            {name: x[inside] for name, x in first.channels.items()},
            first.units,
            {name: good[inside] for name, good in first.valid.items()},
            first.steps,
        )
    ]
    for part, time, names in zip(others, times[1:], held[1:], strict=True):
        before = np.searchsorted(time, at, side="right") - 1
        after = np.minimum(before + (time[before] < at), len(time) - 1)
        moved.append(
            _Part(
                part.path,
                at,
                {
                    name: x[before] if name in names else np.interp(at, time, x)
                    for name, x in part.channels.items()
                },
                part.units,
                {name: good[before] & (good[after] | (name in names)) for name, good in part.valid.items()},
                (*part.steps, f"{part.path} was brought to the clock of {first.path}"),
            )
        )
    return moved


def _clock(parts: Sequence[_Part], rate_hz: float | None, start_s: float | None) -> np.ndarray:
    clocked = [part for part in parts if part.time is not None]
    paths = ", ".join(part.path for part in parts)
    if not clocked:
        if rate_hz is None:
            raise InvalidRecording(f"no clock for {paths}: name its time column, or give rate_hz")
        if not (np.isfinite(rate_hz) and rate_hz > 0):
            raise InvalidRecording(f"rate_hz must be a positive number, not {rate_hz}")
        # Each time by one division: sums of intervals drift.
        return np.arange(len(parts[0])) / rate_hz + (start_s or 0.0)
    if rate_hz is not None:
        raise InvalidRecording(f"both a time column and rate_hz are given for {paths}; give one of them")
    clock = clocked[0].time
    assert clock is not None
    return clock if start_s is None else clock - clock[0] + start_s
