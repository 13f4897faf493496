"""Find the clock of a log: one column, or the seconds and the nanoseconds of a stamp in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..exceptions import InvalidRecording
from ..io.sources import Columns
from ..io.units import DATES, find_unit
from .columns import unit_in_name, words_of

WORDS = frozenset(
    words_of(
        "time times timestamp timestamps stamp t ts clock date datetime "
        "zeit uhrzeit zeitstempel temps tiempo tempo tijd"
    )
)
"""Words of a clock's header, in a few languages of loggers."""
UNIT_WORDS = {
    **dict.fromkeys(["s", "sec", "secs", "second", "seconds"], "s"),
    **dict.fromkeys(["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"], "ms"),
    **dict.fromkeys(["us", "usec", "usecs", "micros", "microsecond", "microseconds"], "us"),
    **dict.fromkeys(
        ["ns", "nsec", "nsecs", "nanosec", "nanosecs", "nanos", "nanosecond", "nanoseconds"], "ns"
    ),
}
"""Last words of a clock's header that name its unit. A header that consists only of a unit is tried last."""
EARLIEST_DATE_S = 5e8
"""A clock that starts later counts from 1970: this is 1985. [s]"""
SLOWEST_HZ = 5.0
"""A clock in seconds whose samples are further apart is taken to count milliseconds, and so on."""


@dataclass(frozen=True)
class Clock:
    """Columns of a clock. `column`: its header. `nanoseconds`: header of the nanoseconds within each second, if they
    have a column of their own.
    """

    column: str
    nanoseconds: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Its headers."""
        return (self.column,) if self.nanoseconds is None else (self.column, self.nanoseconds)

    def ticks(self, table: Columns) -> np.ndarray:
        """(T,) The clock as one number a row, in the unit of `column`. Raises `InvalidRecording` where the nanoseconds
        are not within a second: they are then a clock of their own.
        """
        if self.nanoseconds is None:
            return table[self.column]
        within = table[self.nanoseconds]
        if np.any((within < 0) | (within >= 1e9)):
            raise InvalidRecording(f"the column {self.nanoseconds!r} is not within a second")
        return table[self.column] + 1e-9 * within


def find_clocks(columns: Sequence[str]) -> list[Clock]:
    """Candidate clocks by their headers: stamps in two columns first, then headers with the fewest other words."""
    words = {column: words_of(column) for column in columns if words_of(column)}
    units = {column: UNIT_WORDS.get(words[column][-1], "") for column in words}
    parts = {(words[column][:-1], unit): column for column, unit in units.items()}
    pairs = [
        Clock(column, parts[words[column][:-1], "ns"])
        for column, unit in units.items()
        if unit == "s" and (words[column][:-1], "ns") in parts
    ]
    named = [column for column in words if not WORDS.isdisjoint(words[column])]
    bare = [column for column in words if len(words[column]) == 1 and units[column]]
    fewest_first = sorted(named, key=lambda column: len(words[column]))
    return [*sorted(pairs, key=lambda pair: len(words[pair.column])), *map(Clock, [*fewest_first, *bare])]


def longest_increase(ticks: np.ndarray) -> slice:
    """The longest part in which a clock does not run backwards: a looped log has several."""
    edges = [0, *(np.flatnonzero(~(np.diff(ticks) >= 0)) + 1).tolist(), len(ticks)]
    return max(map(slice, edges[:-1], edges[1:]), key=lambda part: part.stop - part.start)


def rate_of_arrival(ticks: np.ndarray, positions: np.ndarray) -> float | None:
    """Samples per unit of a clock whose stamps are times of arrival, in bursts; None for times of measurement.

    `ticks` (T,) do not decrease; `positions` (T, n). In bursts most intervals are shorter than half of their mean, and
    equal intervals predict each position from its neighbours better than the stamps do, by the sum of squares.
    """
    steps = np.diff(ticks)
    waits = np.flatnonzero(steps > 0.5 * steps.mean()) + 1
    if 2 * len(waits) >= len(steps) or len(waits) < 3:
        return None
    if not roughness(np.arange(len(ticks)), positions) < roughness(ticks, positions):
        return None
    return float((waits[-1] - waits[0]) / (ticks[waits[-1]] - ticks[waits[0]]))


def roughness(ticks: np.ndarray, positions: np.ndarray) -> float:
    """Sum of squares by which positions (T, n) differ from straight lines between their neighbours at the times `ticks`
    (T,), in any unit; each column in its own unit. The smaller it is, the better a clock is.
    """
    scale = np.std(np.diff(positions, axis=0), axis=0)
    x = positions[:, scale > 0] / scale[scale > 0]
    before, after = (steps[:, None] for steps in (np.diff(ticks)[:-1], np.diff(ticks)[1:]))
    w = before / np.maximum(before + after, np.finfo(float).tiny)
    return float(np.sum((x[1:-1] - (1 - w) * x[:-2] - w * x[2:]) ** 2))


def clock_unit(clock: Clock, ticks: np.ndarray, is_dated: bool = False) -> tuple[str, str]:
    """The unit of a clock and the reason: its header, the date that it would give, or its interval. `is_dated`: whether
    its cells are dates and times. Raises `InvalidRecording` if it does not increase from row to row.
    """
    column = clock.column
    steps = np.diff(ticks)
    if not (len(steps) and np.isfinite(ticks).all() and (steps >= 0).all() and ticks[-1] > ticks[0]):
        raise InvalidRecording(f"the column {column!r} does not increase from row to row")
    if is_dated:
        return DATES, f"its cells are dates and times; a step is then {1e3 * np.median(steps):.4g} ms"
    if clock.nanoseconds is not None:
        return "s", "seconds and nanoseconds of one stamp"
    named = UNIT_WORDS.get(words_of(column)[-1]) or unit_in_name(column, "time")[0]
    if named not in (None, DATES) and find_unit(named).si == "s":
        return named, "its header names it"
    # the mean, since stamps of arrival come in bursts
    interval, units = float((ticks[-1] - ticks[0]) / len(steps)), ("s", "ms", "us", "ns")
    if ticks[0] > EARLIEST_DATE_S:  # in ms, us and ns a date has 3, 6 and 9 more digits
        unit = units[min(int(np.log10(ticks[0] / EARLIEST_DATE_S) / 3), 3)]
    else:
        unit = next((name for name in units if interval * find_unit(name).factor * SLOWEST_HZ <= 1), "ns")
    return unit, f"a step is then {1e3 * interval * find_unit(unit).factor:.4g} ms"
