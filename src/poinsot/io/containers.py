"""Files of messages through `mcap` and `rosbags`: MCAP, ROS 1 bags (version 2.0), ROS 2 bags (SQLite, or a folder).

Each is opened as topics and a stream of messages; `metadata.yaml` stands for the folder of a ROS 2 bag. A damaged file
may make the libraries crash or ask for more memory than there is: `in_process` reads it in a process of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ..exceptions import MissingExtra, UnreadableFile
from .parser import LONGEST_S, MEMORY, call_parser
from .sources import existing_file

MAX_CHUNK = 1 << 30
"""Maximum size of a decompressed chunk of an MCAP file. [B]"""

PART = 1 << 20
"""Minimum size of a part of an MCAP file that is read by itself: about that of a chunk as ROS 2 writes it. [B]"""

EXTRA = "bags"
BASE_MEMORY, MEMORY_PER_BYTE = 4 << 30, 16
"""Maximum memory of the process that reads a log: for the libraries and one chunk [B], and by the size of the log."""

BYTES_PER_S = 1 << 19
"""Lowest speed at which a log is read. [B/s]"""

_MCAP_MAGIC_SIZE, _MCAP_HEAD_SIZE = 8, 31
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Topic(NamedTuple):
    """A topic of a log.

    Args:
        name: e.g. `/joint_states`.
        type: message type, e.g. `sensor_msgs/msg/JointState`.
        encoding: of the messages: `cdr`, `ros1` or `json`; messages of another encoding are listed, but not read.
        definition: of the message type, as text; empty if the log has none.
    """

    name: str
    type: str
    encoding: str
    definition: str = ""


class Message(NamedTuple):
    """A message as it is in the log; `log_ns`: when it was written to the log [ns]."""

    topic: Topic
    log_ns: int
    data: bytes


@dataclass(frozen=True)
class Metadata:
    """A named dictionary of texts that an MCAP file holds besides its messages."""

    name: str
    content: Mapping[str, str]


Item = Message | Topic | Metadata


class _Damaged(Exception):
    """What is wrong with a file."""


def in_process(function: Callable[..., Any], paths: Sequence[str | Path], *arguments: Any) -> Any:
    """Return `function(*arguments)`, which reads logs, from a process of its own.

    Raises:
        UnreadableFile: if the first file does not exist or the process crashes; and the errors of the function.
    """
    path = existing_file(Path(paths[0]))
    size = sum(file.stat().st_size for each in paths for file in files_of(Path(each)) if file.is_file())
    memory = min(BASE_MEMORY + MEMORY_PER_BYTE * size, MEMORY)
    longest_s = LONGEST_S + size / BYTES_PER_S
    kind = "a log of messages"
    return call_parser(function, path, kind, *arguments, memory=memory, longest_s=longest_s)


def read_messages(path: str | Path) -> Iterator[Item]:
    """Everything in a log; each topic before its messages, MCAP files in their order and bags in the order of time.

    Args:
        path: `.mcap`, `.bag`, `.db3`, or the `metadata.yaml` of a ROS 2 bag.

    Raises:
        UnreadableFile: if the file is damaged, or of another kind.
        MissingExtra: if the package that reads it is not installed.
    """
    path = existing_file(Path(path))
    ending = path.suffix.lower()
    if ending not in OPENERS:
        raise UnreadableFile(f"{path} is no log of messages; those end in {', '.join(OPENERS)}")
    with _reading(path):
        yield from OPENERS[ending](path)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Report in one sentence what the libraries raise on a damaged log: errors of many types, assertions included."""
    try:
        yield
    except (MissingExtra, UnreadableFile):  # of one of the files that a folder lists
        raise
    except ImportError as error:
        raise MissingExtra(EXTRA, error.name or "mcap") from None
    except Exception as error:
        claim = "it claims to need more memory than it may"
        short = claim if isinstance(error, MemoryError) else f"it ends too early ({type(error).__name__})"
        reason = (str(error).strip().splitlines() or [short])[0]
        raise UnreadableFile(
            f"{path} is damaged, or no {path.suffix.lower()} file: {reason}; "
            "if the logger was interrupted, repair the log with `mcap recover` or `rosbag reindex`"
        ) from None


def _message(topic: Topic, log_ns: Any, data: Any) -> Message:
    """A message whose time a clock can hold."""
    # SQLite keeps any type in any column: bytes(10**12) would take a terabyte.
    if not (isinstance(log_ns, int) and isinstance(data, bytes)):
        raise _Damaged("its messages do not hold times and bytes")
    if not 0 <= log_ns < 2**63:
        raise _Damaged(f"a message was logged {log_ns} ns after 1970")
    return Message(topic, log_ns, data)


# ----------------------------------------------------------------------------------------------------------------- MCAP


def _read_mcap(path: Path) -> Iterator[Item]:
    topics: dict[int, Topic] = {}
    schemas: dict[int, Any] = {}
    with path.open("rb") as file:
        for _, records in _mcap_records(file, path.stat().st_size):
            yield from _mcap_items(records, topics, schemas)


class McapPart(NamedTuple):
    """Consecutive records of an MCAP file: some chunks, or some records outside chunks.

    Args:
        path: of the file.
        start, stop: position of its first byte, and of the byte after its last.
        size: of its messages when decompressed [B].
        topics: number of a channel -> topic; those of the whole file once it has been read to its end.
    """

    path: Path
    start: int
    stop: int
    size: int
    topics: dict[int, Topic]

    def messages(self) -> Iterator[Message]:
        """Its messages, read again.

        Raises:
            UnreadableFile: if the file has been changed.
        """
        with _reading(self.path):
            with self.path.open("rb") as file:
                file.seek(self.start)
                content = BytesIO(file.read(self.stop - self.start))
            for _, records in _mcap_records(content, self.stop - self.start, whole=False):
                for item in _mcap_items(records, self.topics, {}):
                    if isinstance(item, Message):
                        yield item


def mcap_parts(path: Path) -> Iterator[tuple[McapPart, list[Item]]]:
    """An MCAP file in parts of about `PART` bytes, each with its contents, in the file's order.

    Raises:
        UnreadableFile: if the file is damaged, or of another kind.
        MissingExtra: if the package that reads it is not installed.
    """
    topics: dict[int, Topic] = {}
    schemas: dict[int, Any] = {}
    items: list[Item] = []
    start, stop, size = _MCAP_MAGIC_SIZE, 0, 0
    with _reading(path), path.open("rb") as file:
        for stop, records in _mcap_records(file, existing_file(path).stat().st_size):
            new = [*_mcap_items(records, topics, schemas)]
            items += new
            size += sum(_MCAP_HEAD_SIZE + len(item.data) for item in new if isinstance(item, Message))
            if size >= PART:
                yield McapPart(path, start, stop, size, topics), items
                start, size, items = stop, 0, []
        if items:
            yield McapPart(path, start, stop, size, topics), items


def mcap_counts(path: Path) -> dict[str, int]:
    """Topic -> number of its messages, as the summary at the end of an MCAP file claims; empty without a summary.

    Raises:
        UnreadableFile: if the file ends too early. MissingExtra: as `read_messages`.
    """
    with _reading(path), path.open("rb") as file:
        from mcap.reader import SeekingReader

        summary = SeekingReader(file, record_size_limit=path.stat().st_size).get_summary()
        counts: dict[str, int] = {}
        if summary is not None and summary.statistics is not None:
            for number, count in summary.statistics.channel_message_counts.items():
                name = summary.channels[number].topic
                counts[name] = counts.get(name, 0) + count
        return counts


def _mcap_records(
    file: BufferedReader | BytesIO, size: int, *, whole: bool = True
) -> Iterator[tuple[int, Sequence[Any]]]:
    """For each record of a file: the position after it, and the record, or all records of a chunk.

    Args:
        file: of this size [B].
        whole: whether it begins and ends with the marks of the format; otherwise it is a part of one.
    """
    from mcap.records import Chunk
    from mcap.stream_reader import StreamReader, breakup_chunk

    stream = StreamReader(file, skip_magic=not whole, emit_chunks=True, record_size_limit=size)
    for record in stream.records:
        records: Sequence[Any] = (record,)
        if isinstance(record, Chunk):
            if record.uncompressed_size > MAX_CHUNK:
                raise _Damaged(
                    f"a chunk claims {record.uncompressed_size} bytes, more than the {MAX_CHUNK} that are read"
                )
            records = breakup_chunk(record, validate_crc=True)
        yield file.tell(), records
        if not whole and file.tell() >= size:
            return


def _mcap_items(records: Sequence[Any], topics: dict[int, Topic], schemas: dict[int, Any]) -> Iterator[Item]:
    """Contents of records; topics and schemas of earlier records are known, and new ones are added."""
    from mcap.records import Channel, Message as McapMessage, Metadata as McapMetadata, Schema

    for record in records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            if record.id not in topics:
                topics[record.id] = _mcap_topic(record, schemas.get(record.schema_id))
                yield topics[record.id]
        elif isinstance(record, McapMessage):
            if record.channel_id not in topics:
                raise _Damaged(f"it has a message of channel {record.channel_id}, which it does not describe")
            yield _message(topics[record.channel_id], record.log_time, record.data)
        elif isinstance(record, McapMetadata):
            yield Metadata(record.name, record.metadata)


def _mcap_topic(channel: Any, schema: Any) -> Topic:
    encodings = {"ros1msg": "ros1", "ros2msg": "cdr", "jsonschema": "json", "": channel.message_encoding}
    kind = "" if schema is None else schema.encoding
    # A definition in another language (IDL, protocol buffers) is listed by its name.
    encoding = encodings.get(kind, kind) if channel.message_encoding in ("cdr", "ros1", "json") else kind
    text = "" if schema is None else schema.data.decode("utf-8", errors="replace")
    return Topic(
        channel.topic, "" if schema is None else schema.name, encoding or channel.message_encoding, text
    )


# ----------------------------------------------------------------------------------------------------------------- bags


def _read_bag(path: Path) -> Iterator[Item]:
    from rosbags.rosbag1 import Reader

    with Reader(path) as bag:
        topics = {
            each.id: Topic(each.topic, each.msgtype.replace("/msg/", "/"), "ros1", each.msgdef.data)
            for each in bag.connections
        }
        yield from _bag_items(topics, bag.messages())


def _read_sqlite(path: Path) -> Iterator[Item]:
    from rosbags.interfaces import MessageDefinitionFormat
    from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader

    encoding_of = attrgetter("ext.serialization_format")
    bag = Sqlite3Reader(Path(quote(str(path.resolve()))))  # it makes an address of it
    bag.open()
    with closing(bag):
        topics = {
            each.id: Topic(
                each.topic,
                each.msgtype,
                # a definition in IDL is listed, but not read
                "ros2idl" if each.msgdef.format == MessageDefinitionFormat.IDL else encoding_of(each),
                each.msgdef.data,
            )
            for each in bag.connections
        }
        if bag.metadata.message_count != sum(each.msgcount for each in bag.connections):
            raise _Damaged("it has messages of topics that it does not describe")
        yield from _bag_items(topics, bag.messages(bag.connections))


def _bag_items(topics: Mapping[int, Topic], messages: Iterable[tuple[Any, int, bytes]]) -> Iterator[Item]:
    """Topics, and their messages, which a bag may compress one by one."""
    yield from topics.values()
    for connection, log_ns, data in messages:
        message = _message(topics[connection.id], log_ns, data)
        # What starts as Zstandard does is in no encoding of messages.
        if data[:4] == _ZSTD_MAGIC:
            import zstandard

            message = message._replace(data=zstandard.ZstdDecompressor().decompressobj().decompress(data))
        yield message


def files_of(path: Path) -> list[Path]:
    """The files that the `metadata.yaml` of a ROS 2 bag lists, in their order; of another log, the log itself.

    Raises:
        UnreadableFile: if a file `.yaml` does not describe a bag, or one that is compressed as a whole.
    """
    if path.suffix.lower() != ".yaml":
        return [path]
    with _reading(path):
        if existing_file(path).stat().st_size > 1 << 24:
            raise _Damaged("it is larger than the description of a bag can be")
        text = path.read_text(encoding="utf-8")
        listed = re.search(r"^\s*relative_file_paths:[^\n]*\n((?:\s*-\s[^\n]*\n?)+)", text, re.MULTILINE)
        if "rosbag2_bagfile_information" not in text or listed is None:
            raise _Damaged("it does not describe a ROS 2 bag")
        names = [line.strip().removeprefix("-").strip().strip("'\"") for line in listed[1].splitlines()]
        files = [path.parent / Path(name).name for name in names if name]
        for file in files:
            if file.suffix.lower() not in (".db3", ".mcap"):
                raise UnreadableFile(f"{file} cannot be read; decompress it first with `zstd -d`")
        return files


OPENERS: Mapping[str, Callable[[Path], Iterator[Item]]] = {
    ".mcap": _read_mcap,
    ".bag": _read_bag,
    ".db3": _read_sqlite,
    ".yaml": lambda path: chain.from_iterable(map(read_messages, files_of(path))),
}
"""Ending of a file's name -> function that reads it."""
