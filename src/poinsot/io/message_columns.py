"""Logs of robots (MCAP, ROS 1 and 2 bags): numbers by topic and field, without ROS.

A column is a path: topic, fields, and at last the name of an element, or its index where the message has no names,

    /joint_states/position/elbow                    a list beside `name`, `joint_names` or `interface_names`
    /dynamic_joint_states/interface_values/elbow/values/velocity
    /imu/angular_velocity/x      /lowstate/motor_state[3]/q      /commands/data[2]
    /arm/joint_trajectory/points/positions/elbow    every point, at the time of its message plus `time_from_start`

and two are clocks: `time`, the stamp in the header where the message has one and else the time of the log, and
`log_time`. `/topic/log_time`, `/topic/header/stamp` and other times are columns of their topic, in seconds of the same
zero, the first message of the log.

Topics have rates and clocks of their own. Nothing is resampled: the rows are all times at which one of the wanted
topics has a message, and a column is NaN at times of others. `require` keeps the rows of one topic, `hold` repeats the
last value of another, and `invalid = "mask"` keeps every row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import UnreadableFile, listing
from .containers import Item, Message, Topic, in_process, read_messages
from .messages import Decoded, message_decoder
from .readers import Reader
from .sources import Columns, NotedColumns, Source, column_not_found

CLOCKS = ("time", "log_time")
NAME_LISTS = ("name", "names", "joint_names", "interface_names")
"""Fields with texts that name the elements of the lists beside and below them."""

MAX_LISTED = 4096
"""Maximum length of a list whose elements are columns; images and point clouds are longer."""

MAX_COLUMNS = 100_000
"""Maximum number of numbers of a message that have names."""

OTHER_CLOCK_NS = 86_400 * 1_000_000_000
"""Stamps that differ from the time of the log by more than a day count from another zero."""

_SECOND = 1_000_000_000
_SHAPES = 1000

Place = tuple[str | int, ...]
"""Keys and indices that lead to a number of a decoded message."""


@dataclass(frozen=True)
class TopicFacts:
    """Name, type, rate and columns of a topic of a log.

    Args:
        name, type: as in the log.
        messages: number of messages.
        start_s, stop_s: times of the first and the last message, from the first message of the log [s].
        rate_hz: from the median interval of its clock; NaN for fewer than two messages.
        largest_interval_s: the longest time without a message [s].
        delay_s: median of the time of the log less the header's stamp [s]; NaN without a header.
        delay_spread_s: range of the delay from the 5th to the 95th percentile [s].
        columns: paths of the numbers in its first message, without the topic.
        problem: why the topic cannot be read; empty if it can.
    """

    name: str
    type: str
    messages: int
    start_s: float
    stop_s: float
    rate_hz: float
    largest_interval_s: float
    delay_s: float
    delay_spread_s: float
    columns: tuple[str, ...]
    problem: str = ""


def topics(path: str | Path) -> tuple[TopicFacts, ...]:
    """The topics of a log, in the order of their names.

    Args:
        path: `.mcap`, `.bag`, `.db3`, or the `metadata.yaml` of a ROS 2 bag.

    Raises:
        UnreadableFile: if the file is damaged, or no log.
    """
    facts: tuple[TopicFacts, ...] = in_process(topic_facts, [path], Path(path))
    return facts


def topic_facts(path: Path) -> tuple[TopicFacts, ...]:
    """As `topics`, in this process."""
    counters: dict[str, _TopicCounter] = {}
    for item in read_messages(path):
        if isinstance(item, Topic):
            counters.setdefault(item.name, _TopicCounter(item))
        elif isinstance(item, Message):
            counters[item.topic.name].add(item)
    start = min((counter.log_ns[0] for counter in counters.values() if counter.log_ns), default=0)
    return tuple(counters[name].facts(start) for name in sorted(counters))


class _TopicCounter:
    """The messages of a topic, while a log is read for `topics`."""

    def __init__(self, topic: Topic):
        self.topic, self.problem = topic, ""
        self.columns: tuple[str, ...] = ()
        self.log_ns: list[int] = []
        self.stamp_ns: list[int | None] = []
        self.decoders: dict[Topic, Callable[[bytes], Decoded]] = {}

    def add(self, message: Message) -> None:
        self.log_ns.append(message.log_ns)
        if self.problem:
            return
        try:
            if message.topic not in self.decoders:
                self.decoders[message.topic] = message_decoder(message.topic)
            decoded = self.decoders[message.topic](message.data)
        except UnreadableFile as error:
            self.problem = str(error)
            return
        self.stamp_ns.append(_stamp(decoded.fields))
        if len(self.log_ns) == 1:
            self.columns = tuple(_without_points(places(decoded.fields)))

    def facts(self, start_ns: int) -> TopicFacts:
        log = np.array(self.log_ns, dtype=np.int64)
        stamped = bool(self.stamp_ns) and all(stamp is not None for stamp in self.stamp_ns)
        stamps = np.array(self.stamp_ns, dtype=np.int64) if stamped and not self.problem else None
        intervals = np.diff(np.sort(log if stamps is None else stamps)) / _SECOND
        delays = np.array([math.nan]) if stamps is None else (log - stamps) / _SECOND
        median = float(np.median(intervals)) if len(intervals) else math.nan
        low, high = np.percentile(delays, (5, 95))
        return TopicFacts(
            self.topic.name,
            self.topic.type,
            len(log),
            float(log[0] - start_ns) / _SECOND if len(log) else math.nan,
            float(log[-1] - start_ns) / _SECOND if len(log) else math.nan,
            1.0 / median if median > 0 else math.nan,
            float(intervals.max()) if len(intervals) else math.nan,
            float(np.median(delays)),
            float(high - low),
            self.columns,
            self.problem,
        )


def places(fields: Mapping[str, Any]) -> dict[str, Place]:
    """Map the path of each number of a message to its place."""
    return dict(islice(_places(fields, "", (), ()), MAX_COLUMNS))


def _places(
    value: Any, path: str, place: Place, names: tuple[Sequence[str], ...]
) -> Iterator[tuple[str, Place]]:
    """`names`: texts that may name the elements of a list, the nearest first."""
    if isinstance(value, Mapping):
        own = tuple(
            value[key] for key in NAME_LISTS if isinstance(value.get(key), list) and _are_names(value[key])
        )
        for key, inner in value.items():
            yield from _places(inner, f"{path}/{key}" if path else str(key), (*place, key), own + names)
    elif isinstance(value, (list, np.ndarray)):
        if len(value) > MAX_LISTED or (len(value) and isinstance(value[0], str)):
            return
        # Points of a trajectory follow each other in time: as many as there are joints are no list of joints.
        in_time = len(value) and isinstance(value[0], Mapping) and "time_from_start" in value[0]
        fitting = None if in_time else next((texts for texts in names if len(texts) == len(value)), None)
        if fitting is None and len(value) and all(isinstance(element, Mapping) for element in value):
            own_names = [element.get("name") for element in value]
            fitting = own_names if _are_names(own_names) else None
        for k, element in enumerate(value):
            at = f"{path}[{k}]" if fitting is None else f"{path}/{fitting[k]}"
            yield from _places(element, at, (*place, k), names)
    elif not isinstance(value, str):
        yield path, place


def _without_points(paths: Collection[str]) -> Collection[str]:
    """The paths of the numbers of a message; those of a trajectory with several points once, as of all points in time.
    A stream of single points has a new one before the old one is reached.
    """
    of_later = re.compile(r"points\[[1-9]\d*\]/")
    if not any(map(of_later.match, paths)):
        return paths
    return [path.replace("points[0]/", "points/", 1) for path in paths if not of_later.match(path)]


def _are_names(values: Sequence[Any]) -> bool:
    """Whether the values are different texts."""
    return (
        bool(values)
        and all(isinstance(value, str) and value for value in values)
        and len({*values}) == len(values)
    )


def _stamp(fields: Mapping[str, Any]) -> int | None:
    """The header's stamp [ns]; None without a header, or where it was never set."""
    header = fields.get("header")
    stamp = header.get("stamp") if isinstance(header, Mapping) else fields.get("stamp")
    return int(stamp) if isinstance(stamp, int) and 0 < stamp < 2**62 else None


class Samples(NamedTuple):
    """Times and numbers of the messages of a topic, or of the points of its trajectories.

    Args:
        wanted: paths of the columns, without the topic.
        log_ns, stamp_ns: (m,) times of the log and of the headers [ns].
        rows: (m, k) numbers of the wanted paths.
    """

    wanted: tuple[str, ...]
    log_ns: np.ndarray
    stamp_ns: np.ndarray
    rows: np.ndarray

    def times(self, by_log: bool) -> np.ndarray:
        """(m,) times on the clock of the rows [ns]."""
        return self.log_ns if by_log else self.stamp_ns

    def column(self, k: int, zero_ns: int) -> np.ndarray:
        """(m,) numbers of the k-th path; times count from the zero of the clock [s]."""
        path = self.wanted[k]
        if path == "log_time":
            return (self.log_ns - zero_ns) / _SECOND
        if path in ("header/stamp", "stamp"):
            return (self.stamp_ns - zero_ns) / _SECOND
        values = self.rows[:, k]
        return values / _SECOND if path.rpartition("/")[2] in ("time_from_start", "stamp") else values


@dataclass(eq=False)
class TopicReader:
    """The wanted columns of a topic, while a log is read.

    Args:
        name: the topic's name.
        wanted: paths of the columns, without the topic.
        decoders: decoders of its messages; several nodes may publish a topic, each with its own definition.
        unstamped: number of messages without a stamp.
        available: paths of all numbers in the messages so far.
        found: shape of a message -> places of the wanted numbers.
    """

    name: str
    wanted: tuple[str, ...]
    decoders: dict[Topic, Callable[[bytes], Decoded]] = field(default_factory=dict)
    log_ns: list[int] = field(default_factory=list)
    stamp_ns: list[int] = field(default_factory=list)
    rows: list[list[float]] = field(default_factory=list)
    unstamped: int = 0
    available: dict[str, None] = field(default_factory=dict)
    found: dict[Any, tuple[Place | None, ...]] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        if message.topic not in self.decoders:
            self.decoders[message.topic] = message_decoder(message.topic)
        decoded = self.decoders[message.topic](message.data)
        stamp = _stamp(decoded.fields)
        self.unstamped += stamp is None
        at = message.log_ns if stamp is None else stamp
        if not any(path.startswith("points/") for path in self.wanted):
            self._append(message.log_ns, at, decoded.fields, self._find(decoded, None))
            return
        # Points of an earlier trajectory that the new one replaces were never commanded.
        while self.stamp_ns and self.stamp_ns[-1] >= at:
            for samples in (self.log_ns, self.stamp_ns, self.rows):
                samples.pop()
        for k, point in enumerate(decoded.fields.get("points", ())):
            after = int(point.get("time_from_start", 0))
            self._append(message.log_ns, at + after, decoded.fields, self._find(decoded, k))

    def _append(
        self, log_ns: int, stamp_ns: int, fields: Mapping[str, Any], found: Sequence[Place | None]
    ) -> None:
        self.log_ns.append(log_ns)
        self.stamp_ns.append(stamp_ns)
        self.rows.append([math.nan if place is None else _number(fields, place) for place in found])

    def take(self) -> Samples:
        """Samples since the last call."""
        rows = np.array(self.rows, dtype=float).reshape(len(self.rows), len(self.wanted))
        log_ns, stamp_ns = (np.array(times, dtype=np.int64) for times in (self.log_ns, self.stamp_ns))
        self.log_ns, self.stamp_ns, self.rows = [], [], []
        return Samples(self.wanted, log_ns, stamp_ns, rows)

    def _find(self, decoded: Decoded, point: int | None) -> tuple[Place | None, ...]:
        """Where the wanted numbers are in messages of this shape; None: they are not in it."""
        key = (decoded.shape, point, tuple(decoded.fields))
        if key not in self.found:
            if len(self.found) >= _SHAPES:
                self.found.clear()
            known = places(decoded.fields)
            self.available.update(dict.fromkeys(known))
            of_point = "points" if point is None else f"points[{point}]"
            if point is not None:
                self.available.update(
                    (name.replace(of_point, "points", 1), None) for name in known if name.startswith(of_point)
                )
            self.found[key] = tuple(
                known.get(path.replace("points/", f"{of_point}/", 1) if path.startswith("points/") else path)
                for path in self.wanted
            )
        return self.found[key]


def _number(fields: Mapping[str, Any], place: Place) -> float:
    value: Any = fields
    for key in place:
        value = value[key]
    return float(value)


class LogReader:
    """The wanted columns of a log, while its messages are read."""

    def __init__(self, wanted: Sequence[str | int]):
        self.paths = [str(name) for name in wanted if name not in CLOCKS]
        self.readers: dict[str, TopicReader] = {}
        self.names: dict[str, None] = {}
        self.first_ns: int | None = None
        """Time of the log of the first message of any topic."""

    def add(self, item: Item) -> None:
        if isinstance(item, Topic) and item.name not in self.names:
            self.names[item.name] = None
            start = f"{item.name}/"
            own = tuple(name.removeprefix(start) for name in self.paths if name.startswith(start))
            if own:
                self.readers[item.name] = TopicReader(item.name, own)
        elif isinstance(item, Message):
            self.first_ns = item.log_ns if self.first_ns is None else min(self.first_ns, item.log_ns)
            if item.topic.name in self.readers:
                self.readers[item.topic.name].add(item)

    def take(self) -> dict[str, Samples]:
        """Samples of each topic since the last call."""
        return {name: reader.take() for name, reader in self.readers.items()}

    def columns(self, path: Path, topics: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Map each of the topics to its requested paths. Call after the log has been read.

        A path that no message of a topic has belongs to a topic with a longer name, as `/arm/left` beside `/arm`.

        Raises:
            UnreadableFile: if a column is in no message.
        """
        readers = {name: self.readers[name] for name in topics}
        _check_columns(path, self.paths, readers, self.names)
        known = {
            name: tuple(each for each in reader.wanted if each in reader.available or each == "log_time")
            for name, reader in readers.items()
        }
        known = {name: paths for name, paths in known.items() if paths}
        if not known:
            raise UnreadableFile(
                f"{path}: no column of a topic is asked for; it has the topics {listing(self.names)}"
            )
        return known


def read_log_columns(source: Source) -> Columns:
    """The requested columns of a log; see the derivation above.

    Raises:
        UnreadableFile: if the file is damaged, or has no such column.
    """
    columns = NotedColumns()
    content, columns.notes = in_process(
        log_columns, [source.path], Path(source.path), source.wanted, counts_by_log(source)
    )
    columns.update(content)
    return columns


def log_columns(
    path: Path, wanted: Sequence[str | int], by_log: bool
) -> tuple[dict[str | int, np.ndarray], list[str]]:
    """The columns of `read_log_columns` and sentences on how they were read, in this process.

    Args:
        path: the log.
        wanted: names of the columns.
        by_log: whether the clock of the rows is that of the log.
    """
    log = LogReader(wanted)
    for item in read_messages(path):
        log.add(item)
    samples = log.take()
    known = log.columns(path, [name for name, read in samples.items() if len(read.rows)])
    samples = {
        name: Samples(
            paths, *samples[name][1:3], samples[name].rows[:, [*map(samples[name].wanted.index, paths)]]
        )
        for name, paths in known.items()
    }
    zero = zero_ns(min(int(read.times(by_log).min()) for read in samples.values()), log.first_ns or 0)
    notes = []
    if zero != (log.first_ns or 0):
        notes.append("stamps count from another zero than the times of the log; time 0 is the first stamp")
    for topic, read in samples.items():
        notes.extend(_remarks(topic, read, log.readers[topic].unstamped, by_log))
    notes.append(f"time 0 is {zero / _SECOND:.9f} s of the log's clock")
    return join(wanted, by_log, samples, zero)[1], notes


def counts_by_log(source: Source) -> bool:
    """Whether the clock of the rows is that of the log."""
    return source.clock is not None and source.clock.name == "log_time"


def zero_ns(earliest_ns: int, first_ns: int) -> int:
    """Time 0 of the rows: the first message, or the earliest row where stamps count from another zero [ns]."""
    return earliest_ns if abs(earliest_ns - first_ns) > OTHER_CLOCK_NS else first_ns


def _check_columns(
    path: Path, wanted: Sequence[str], readers: Mapping[str, TopicReader], topic_names: Mapping[str, None]
) -> None:
    """Check that every wanted column is in some message."""
    for name in wanted:
        owners = [topic for topic in readers if name.startswith(f"{topic}/")]
        if not owners:
            raise column_not_found(path, name, topic_names, "; it has messages of")
        available = {f"{topic}/{each}": None for topic in owners for each in readers[topic].available}
        available |= {f"{topic}/log_time": None for topic in owners}
        if name not in available:
            raise column_not_found(path, name, available)


def join(
    wanted: Sequence[str | int], by_log: bool, samples: Mapping[str, Samples], zero: int
) -> tuple[np.ndarray, dict[str | int, np.ndarray]]:
    """(T,) all times of topics [ns], and the wanted columns at them; of samples at the same time the last one counts.

    Args:
        wanted, by_log: as of `log_columns`.
        samples: samples of each topic, in the order of the log.
        zero: time 0 of the rows [ns].
    """
    times = {name: read.times(by_log) for name, read in samples.items()}
    clock = np.unique(np.concatenate(list(times.values())))
    columns: dict[str | int, np.ndarray] = {
        name: (clock - zero) / _SECOND for name in wanted if name in CLOCKS
    }
    for topic, read in samples.items():
        index = np.searchsorted(clock, times[topic])
        for k, path in enumerate(read.wanted):
            values = np.full(len(clock), np.nan)
            values[index] = read.column(k, zero)
            columns[f"{topic}/{path}"] = values
    return clock, columns


def _remarks(name: str, samples: Samples, unstamped: int, by_log: bool) -> Iterator[str]:
    times = samples.times(by_log)
    if repeated := len(times) - len(np.unique(times)):
        yield f"{name}: {repeated} messages share their time with another one of the topic; the last one counts"
    if by_log:
        return
    if unstamped:
        yield f"{name}: {unstamped} messages have no stamp; the time of the log is used"
        return
    delay = (samples.log_ns - samples.stamp_ns) / _SECOND
    if abs(np.median(delay)) < OTHER_CLOCK_NS / _SECOND:
        yield (
            f"{name}: logged {1e3 * np.median(delay):.3g} ms after its stamps (median), "
            f"{1e3 * np.max(delay):.3g} ms at most"
        )


def list_log(path: Path) -> tuple[dict[str, Any], str]:
    """The topics of a log for `poinsot inspect`: for scripts (schema `poinsot.topics/1`), and as text."""
    found = topics(path)
    content = {
        "schema": "poinsot.topics/1",
        "log": path.name,
        "topics": [{name: _json(value) for name, value in vars(topic).items()} for topic in found],
    }
    cells = [("topic", "type", "messages", "rate", "longest gap", "delay", "span")]
    cells += [
        (
            topic.name,
            topic.type.replace("/msg/", "/"),
            str(topic.messages),
            _text(topic.rate_hz, "Hz"),
            _text(1e3 * topic.largest_interval_s, "ms"),
            _text(1e3 * topic.delay_s, "ms"),
            f"{topic.start_s:.2f} to {topic.stop_s:.2f} s" if topic.messages else "",
        )
        for topic in found
    ]
    content["columns"] = ["time", *(f"{topic.name}/{each}" for topic in found for each in topic.columns)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    for topic in found:
        if topic.problem:
            lines.append(f"note: {topic.problem}")
        elif topic.columns:
            lines.append(f"{topic.name}/: {listing(topic.columns, 12)}")
    return content, "\n".join([path.name, *lines])


def _text(value: float, unit: str) -> str:
    return "" if math.isnan(value) else f"{value:.4g} {unit}"


def _json(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


BAG = Reader(read_log_columns, list_log)
