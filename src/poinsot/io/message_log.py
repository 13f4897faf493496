"""A log of messages that is longer than memory: MCAP files, one after the other, of which stretches of rows are read.

Rows are those of the whole log (`logs`), all times at which a wanted topic has a message, but a file is in the order of
writing: messages of one time may be in different parts of it (`containers.McapPart`, about the chunks of the file).

1  The files are read once. Of each part is kept from when until when its messages are, on the clock of the rows.
2  Edges e_0 < e_1 < ... cut time into segments, e_s <= t < e_{s+1}: each is the earliest time of some part. All rows
   of a segment are in the parts that overlap it. These are read segment by segment, and the number of rows is kept, and
   the last value before each edge of the columns that hold theirs.
3  Rows k to l are in the segments of these numbers: the parts that overlap them are read, and joined as whole logs are.

Nothing is taken from the index of a file: what it claims would have to be checked by reading the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import carried_on
from ..exceptions import UnreadableFile
from .block_log import UniformLog
from .containers import McapPart, files_of, in_process, mcap_counts, mcap_parts
from .message_columns import (
    LogReader,
    Samples,
    TopicReader,
    counts_by_log,
    join,
    list_log,
    read_log_columns,
    zero_ns,
)
from .readers import Reader
from .sources import Source

SEGMENT = 1 << 22
"""Size of the parts that begin in a segment: a larger one makes the first reading faster, and reading few rows slower.
[bytes]"""

OVERLAPPING = 64
"""Largest number of parts with messages of one time: each segment is read from all that overlap it."""


@dataclass(frozen=True)
class _Segments:
    """Where the rows of a log are.

    Args:
        columns: topic -> its wanted paths. zero_ns: time 0 of the rows [ns].
        parts: in the order of the files. spans: (P, 2) first and last time of each [ns].
        edges: (S + 1,) of the segments [ns]. rows: (S + 1,) number of rows before each.
        held: (S + 1, h) the last value before each of the columns that hold theirs; NaN: there was none.
    """

    columns: Mapping[str, tuple[str, ...]]
    zero_ns: int
    parts: tuple[McapPart, ...]
    spans: np.ndarray
    edges: np.ndarray
    rows: np.ndarray
    held: np.ndarray


class _Rows(NamedTuple):
    """Rows of some segments: stamps, channel -> numbers, and the last numbers of held channels, of dropped rows too."""

    ticks: np.ndarray
    cells: Mapping[str, np.ndarray]
    held: list[float]


@dataclass(frozen=True)
class MessageLog(UniformLog):
    """One recording in one or several MCAP files, or ROS 2 bags of such (`metadata.yaml`); see `UniformLog`."""

    @staticmethod
    def obstacle(source: Source) -> str:
        if source.rows or source.every > 1:
            return "rows are given"
        if source.clock is not None and source.clock.nanoseconds is not None:
            return "its clock has nanoseconds"
        if any("/points/" in str(name) for name in source.wanted):
            return "points of trajectories replace earlier ones"
        with suppress(UnreadableFile):  # for the reader to report
            if any(file.suffix.lower() != ".mcap" for file in files_of(Path(source.path))):
                return "files of its bag are not MCAP"
        return ""

    @staticmethod
    def bytes_in_memory(source: Source) -> int:
        size = 0
        with suppress(UnreadableFile):
            for file in files_of(Path(source.path)):
                counts = mcap_counts(file)
                wanted = [str(name) for name in source.wanted]
                own = [sum(name.startswith(f"{topic}/") for name in wanted) for topic in counts]
                rows = sum(count for count, columns in zip(counts.values(), own, strict=True) if columns)
                size += 8 * rows * len(wanted) if counts else file.stat().st_size
        return size

    def __len__(self) -> int:
        return int(self._segments.rows[-1])

    def cells(self, first: int, last: int) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        index = self._segments
        start = int(np.searchsorted(index.rows, first, side="right")) - 1
        stop = int(np.searchsorted(index.rows, last))
        found = self.segment_rows(index, start, stop)
        if len(found.ticks) != index.rows[stop] - index.rows[start]:
            raise UnreadableFile(f"{self.paths[0]}: its files were changed while they were read")
        rows = slice(first - int(index.rows[start]), last - int(index.rows[start]))
        return found.ticks[rows], {name: values[rows] for name, values in found.cells.items()}

    @cached_property
    def _held(self) -> list[str]:
        """Channels that keep their value."""
        return [name for name, column in self.source.columns.items() if column.hold]

    @cached_property
    def _segments(self) -> _Segments:
        segments: _Segments = in_process(find_segments, self.paths, self)
        return segments

    def segment_rows(self, index: _Segments, start: int, stop: int) -> _Rows:
        """Rows of the segments start <= s < stop."""
        low, high = int(index.edges[start]), int(index.edges[stop])
        overlapping = (index.spans[:, 0] < high) & (index.spans[:, 1] >= low)
        parts = [index.parts[k] for k in np.flatnonzero(overlapping)]
        if stop == start + 1 and len(parts) > OVERLAPPING:
            raise UnreadableFile(
                f"{self.paths[0]}: its messages are out of order, {len(parts)} chunks have some of one time; order "
                "them with `mcap sort`"
            )
        readers = {name: TopicReader(name, paths) for name, paths in index.columns.items()}
        for part in parts:
            for message in part.messages():
                if message.topic.name in readers:
                    readers[message.topic.name].add(message)
        by_log = counts_by_log(self.source)
        samples = {name: _between(reader.take(), by_log, low, high) for name, reader in readers.items()}
        times, table = join(self.source.wanted, by_log, samples, index.zero_ns)
        cells = {name: table[column.name] for name, column in self.source.columns.items()}
        for k, name in enumerate(self._held):
            cells[name] = carried_on(cells[name], index.held[start, k])
        ends = [cells[name][-1] if len(times) else index.held[start, k] for k, name in enumerate(self._held)]
        kept = np.ones(len(times), dtype=bool)
        for required in self.source.require:
            kept &= ~np.isnan(table[required])
        assert self.source.clock is not None
        ticks = table[self.source.clock.name]
        return _Rows(ticks[kept], {name: values[kept] for name, values in cells.items()}, ends)


def find_segments(log: MessageLog) -> _Segments:
    """Read the files once, and find where the rows are."""
    by_log, reader = counts_by_log(log.source), LogReader(log.source.wanted)
    parts: list[McapPart] = []
    spans: list[dict[str, tuple[int, int]]] = []
    for path in log.paths:
        for file in files_of(Path(path)):
            for part, items in mcap_parts(file):
                for item in items:
                    reader.add(item)
                times = {name: samples.times(by_log) for name, samples in reader.take().items()}
                span = {name: (int(t.min()), int(t.max())) for name, t in times.items() if len(t)}
                if span:
                    parts.append(part)
                    spans.append(span)
    columns = reader.columns(Path(log.paths[0]), {name: None for span in spans for name in span})
    # a topic that only begins like a wanted column has no rows
    own = [[ends for name, ends in span.items() if name in columns] for span in spans]
    parts = [part for part, found in zip(parts, own, strict=True) if found]
    ends = np.array([(min(a for a, _ in found), max(b for _, b in found)) for found in own if found])
    edges = np.append(_edges(ends[:, 0], [part.size for part in parts]), ends[:, 1].max() + 1)
    zero = zero_ns(int(edges[0]), reader.first_ns or 0)
    holding = [column for column in log.source.columns.values() if column.hold]
    count, held = len(edges), np.full((len(edges), len(holding)), np.nan)
    held[0] = [
        np.nan if column.initial is None else column.initial / column.scale + column.zero
        for column in holding
    ]
    index = _Segments(columns, zero, tuple(parts), ends, edges, np.zeros(count, dtype=np.int64), held)
    for s in range(count - 1):
        segment = log.segment_rows(index, s, s + 1)
        index.rows[s + 1] = index.rows[s] + len(segment.ticks)
        held[s + 1] = segment.held
    return index


def _edges(begins_ns: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """First times of the parts [ns] at which a segment begins."""
    order = np.argsort(begins_ns, kind="stable")
    size = np.array(sizes)[order]
    number = (np.cumsum(size) - size) // SEGMENT
    return np.unique(begins_ns[order[np.flatnonzero(np.diff(number, prepend=-1))]])


def _between(samples: Samples, by_log: bool, low: int, high: int) -> Samples:
    """Those of low <= time < high [ns]."""
    times = samples.times(by_log)
    inside = (times >= low) & (times < high)
    return Samples(samples.wanted, *(each[inside] for each in samples[1:]))


MCAP = Reader(read_log_columns, list_log, MessageLog)
