"""Files of messages: MCAP, ROS 1 bags (version 2.0), ROS 2 bags (SQLite, or a folder with `metadata.yaml`).

Each is opened as topics and a stream of messages in the file's order. What a file claims about sizes is checked before
memory is taken or a decompressor runs: a record is no longer than the file, and a chunk no larger than `MAX_CHUNK`.
"""

from __future__ import annotations

import bz2
import re
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from urllib.parse import quote

from ..exceptions import MissingExtra, UnreadableFile
from .sources import existing_file

MAX_CHUNK = 1 << 30
"""Largest size of a chunk when decompressed, and of a message. [bytes]"""

PART = 1 << 20
"""Least size of a part of an MCAP file that is read by itself: about that of a chunk as ROS 2 writes it. [bytes]"""

EXTRA = "bags"
_MCAP_MAGIC_SIZE, _MCAP_HEAD_SIZE = 8, 31
_MCAP_FOOTER_SIZE = 29 + _MCAP_MAGIC_SIZE
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BAG_MAGIC = b"#ROSBAG V2.0\n"


class Topic(NamedTuple):
    """A topic of a log.

    Args:
        name: e.g. `/joint_states`. type: of its messages, e.g. `sensor_msgs/msg/JointState`.
        encoding: of its messages, `cdr`, `ros1` or `json`; another one is listed, but not read.
        definition: of the type, as text; empty: the log has none.
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


def _message(topic: Topic, log_ns: int, data: bytes) -> Message:
    """A message whose time a clock can hold."""
    if not 0 <= log_ns < 2**63:
        raise _Damaged(f"a message was logged {log_ns} ns after 1970")
    return Message(topic, log_ns, data)


@dataclass(frozen=True)
class Metadata:
    """A named dictionary of texts that an MCAP file holds besides its messages."""

    name: str
    content: Mapping[str, str]


def read_messages(path: str | Path) -> Iterator[Message | Topic | Metadata]:
    """Everything in a log, in its order; each topic before its messages.

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
    """Where a log is read: what is wrong with it is one sentence."""
    try:
        yield
    except MissingExtra:  # of one of the files that a folder lists
        raise
    except ImportError as error:
        raise MissingExtra(EXTRA, error.name or "mcap") from None
    except _errors() as error:
        raise UnreadableFile(
            f"{path} is damaged, or no {path.suffix.lower()} file: {_sentence(error)}; "
            "if the logger was interrupted, repair the log with `mcap recover` or `rosbag reindex`"
        ) from None


def _errors() -> tuple[type[BaseException], ...]:
    return (
        _Damaged, OSError, EOFError, ValueError, LookupError, OverflowError, RecursionError, struct.error,
        sqlite3.Error, *_library_errors(),
    )  # fmt: skip


def _library_errors() -> tuple[type[BaseException], ...]:
    """Those of the libraries that are installed."""
    found: list[type[BaseException]] = []
    try:
        from mcap.exceptions import McapError

        found.append(McapError)
    except ImportError:
        pass
    try:
        from zstandard import ZstdError

        found.append(ZstdError)
    except ImportError:
        pass
    return tuple(found)


def _sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else f"it ends too early ({type(error).__name__})"


class _Damaged(Exception):
    """What is wrong with a file."""


class _Bounded:
    """A file of which no more is read at once than it has, as a read takes its memory first."""

    def __init__(self, file: IO[bytes], size: int):
        self._file, self.left = file, size

    def read(self, count: int) -> bytes:
        if count > self.left:
            raise _Damaged(f"a record claims {count} bytes, more than there are")
        self.left -= count
        return self._file.read(count)


# ----------------------------------------------------------------------------------------------------------------- MCAP


def _read_mcap(path: Path) -> Iterator[Message | Topic | Metadata]:
    topics: dict[int, Topic] = {}
    schemas: dict[int, Any] = {}
    with path.open("rb") as file:
        for _, records in _mcap_records(file, path.stat().st_size):
            yield from _mcap_items(records, topics, schemas)


class McapPart(NamedTuple):
    """Records of an MCAP file that follow each other: some chunks, or some records that are in none.

    Args:
        path: of the file. start, stop: its first byte, and the one after its last.
        size: of its messages when decompressed [bytes].
        topics: number of a channel -> topic, of the whole file once that was read to its end.
    """

    path: Path
    start: int
    stop: int
    size: int
    topics: dict[int, Topic]

    def messages(self) -> Iterator[Message]:
        """Its messages, read again.

        Raises:
            UnreadableFile: if the file was changed.
        """
        with _reading(self.path), self.path.open("rb") as file:
            file.seek(self.start)
            for _, records in _mcap_records(file, self.stop - self.start, whole=False):
                for item in _mcap_items(records, self.topics, {}):
                    if isinstance(item, Message):
                        yield item


def mcap_parts(path: Path) -> Iterator[tuple[McapPart, list[Message | Topic | Metadata]]]:
    """An MCAP file in parts of about `PART` bytes, each with what is in it, in the file's order.

    Raises:
        UnreadableFile: if the file is damaged, or of another kind.
        MissingExtra: if the package that reads it is not installed.
    """
    topics: dict[int, Topic] = {}
    schemas: dict[int, Any] = {}
    items: list[Message | Topic | Metadata] = []
    start, stop, size = _MCAP_MAGIC_SIZE, 0, 0
    with _reading(path), path.open("rb") as file:
        for stop, records in _mcap_records(file, existing_file(path).stat().st_size):
            new = [*_mcap_items(records, topics, schemas)]
            items += new
            size += sum(_MCAP_HEAD_SIZE + len(each.data) for each in new if isinstance(each, Message))
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
        from mcap.records import Channel, Statistics

        footer = existing_file(path).stat().st_size - _MCAP_FOOTER_SIZE
        file.seek(footer)
        start = struct.unpack_from("<Q", file.read(_MCAP_FOOTER_SIZE), 9)[0]
        if not 0 < start < footer:
            return {}
        file.seek(start)
        records = [each for _, found in _mcap_records(file, footer - start, whole=False) for each in found]
        names = {each.id: each.topic for each in records if isinstance(each, Channel)}
        counts: dict[str, int] = {}
        for number, count in chain.from_iterable(
            each.channel_message_counts.items() for each in records if isinstance(each, Statistics)
        ):
            counts[names[number]] = counts.get(names[number], 0) + count
        return counts


def _mcap_records(file: IO[bytes], size: int, *, whole: bool = True) -> Iterator[tuple[int, Sequence[Any]]]:
    """Records of so many bytes of a file, from where it stands: position after it, and the record or those of a chunk.

    `whole`: whether it is the whole file, which begins and ends with the marks of its format.
    """
    from mcap.records import Chunk
    from mcap.stream_reader import StreamReader, breakup_chunk

    bounded = _Bounded(file, size)
    for outer in StreamReader(cast(IO[bytes], bounded), skip_magic=not whole, emit_chunks=True).records:
        records: Sequence[Any] = (outer,)
        if isinstance(outer, Chunk):
            data = _decompress(outer.compression, outer.data, outer.uncompressed_size)
            records = breakup_chunk(
                Chunk(
                    compression="",
                    data=data,
                    message_start_time=outer.message_start_time,
                    message_end_time=outer.message_end_time,
                    uncompressed_crc=outer.uncompressed_crc,
                    uncompressed_size=len(data),
                ),
                validate_crc=True,
            )
        yield file.tell(), records
        if not (whole or bounded.left):
            return


def _mcap_items(
    records: Sequence[Any], topics: dict[int, Topic], schemas: dict[int, Any]
) -> Iterator[Message | Topic | Metadata]:
    """What records are; topics and schemas of the records before them are known, and new ones are added."""
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


def _decompress(compression: str, data: bytes, size: int) -> bytes:
    """Decompressed data of a size that was claimed, and is checked."""
    if size > MAX_CHUNK:
        raise _Damaged(f"a chunk claims {size} bytes, more than the {MAX_CHUNK} that are read")
    if compression in ("", "none"):
        return data
    if compression == "zstd":
        import zstandard

        if zstandard.frame_content_size(data) > size:
            raise _Damaged("a chunk is larger than it claims")
        content = zstandard.ZstdDecompressor().decompress(data, max_output_size=max(size, 1))
    elif compression == "lz4":
        import lz4.frame

        try:
            content = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
        except RuntimeError as error:
            raise _Damaged(str(error)) from None
    elif compression == "bz2":
        content = bz2.BZ2Decompressor().decompress(data, max_length=size + 1)
    else:
        raise _Damaged(f"a chunk has the compression {compression[:20]!r}, which is unknown")
    if len(content) != size:
        raise _Damaged(f"a chunk claims {size} bytes and has {len(content)}")
    return content


# ------------------------------------------------------------------------------------------------------------ ROS 1 bag


def _read_bag(path: Path) -> Iterator[Message | Topic]:
    """Records of a ROS 1 bag, one after the other: also of a bag whose index was never written."""
    topics: dict[int, Topic] = {}
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(_BAG_MAGIC)) != _BAG_MAGIC:
            raise _Damaged("it does not start as a ROS 1 bag of version 2.0 does")
        for header, data in _bag_records(file, size):
            records: Iterator[tuple[dict[str, bytes], bytes]] = iter(((header, data),))
            if header.get("op") == b"\x05":
                compression = header["compression"].decode()
                (claimed,) = struct.unpack("<I", header["size"])
                import io

                content = _decompress(compression, data, claimed)
                records = _bag_records(io.BytesIO(content), len(content))
            for inner, payload in records:
                if inner.get("op") == b"\x07":
                    (number,) = struct.unpack("<I", inner["conn"])
                    if number not in topics:
                        about = _bag_header(payload)
                        name, kind = inner["topic"].decode(), about["type"].decode()
                        topics[number] = Topic(name, kind, "ros1", about["message_definition"].decode())
                        yield topics[number]
                elif inner.get("op") == b"\x02":
                    (number,) = struct.unpack("<I", inner["conn"])
                    seconds, nanoseconds = struct.unpack("<II", inner["time"])
                    yield _message(topics[number], seconds * 1_000_000_000 + nanoseconds, payload)


def _bag_records(file: IO[bytes], size: int) -> Iterator[tuple[dict[str, bytes], bytes]]:
    """Header and data of each record."""

    def block() -> bytes:
        (length,) = struct.unpack("<I", file.read(4))
        if length > size:
            raise _Damaged(f"a record claims {length} bytes, more than there are")
        content = file.read(length)
        if len(content) != length:
            raise _Damaged("it ends in the middle of a record")
        return content

    while file.tell() < size:
        yield _bag_header(block()), block()


def _bag_header(content: bytes) -> dict[str, bytes]:
    """`name=value` fields, each with its length before it."""
    fields: dict[str, bytes] = {}
    at = 0
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at)
        at += 4 + length
        name, _, value = content[at - length : at].partition(b"=")
        fields[name.decode()] = value
    return fields


# ----------------------------------------------------------------------------------------------------------- ROS 2 bag


def _read_sqlite(path: Path) -> Iterator[Message | Topic]:
    address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as database:
        database.execute("PRAGMA trusted_schema = OFF")
        # A view could compute for ever; a table cannot.
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"topics", "messages"} <= tables:
            raise _Damaged("it has no tables `topics` and `messages`")
        definitions: dict[str, str] = {}
        if "message_definitions" in tables:
            rows = database.execute(
                "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
            )
            definitions = {name: text for name, encoding, text in rows if encoding == "ros2msg"}
        topics: dict[int, Topic] = {}
        for number, name, kind, encoding in database.execute(
            "SELECT id, name, type, serialization_format FROM topics"
        ):
            text = definitions.get(kind) or _known_definition(str(kind))
            topics[number] = Topic(str(name), str(kind), str(encoding), text)
            yield topics[number]
        for number, stamp, data in database.execute(
            "SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id"
        ):
            # SQLite keeps any type in any column: bytes(10**12) would take a terabyte.
            if not (isinstance(stamp, int) and isinstance(data, bytes)):
                raise _Damaged("its table `messages` does not hold times and bytes")
            yield _message(topics[number], stamp, _decompressed(data))


def _decompressed(data: bytes) -> bytes:
    """A message, which a bag may compress one by one: what starts as Zstandard does is in no encoding of messages."""
    if data[:4] != _ZSTD_MAGIC:
        return data
    import zstandard

    return _decompress("zstd", data, zstandard.frame_content_size(data))


def _known_definition(kind: str) -> str:
    """The definition of a standard type, for bags from before ROS 2 Iron, which hold none; empty if it is unknown."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.LATEST)
    if kind not in store.fielddefs:
        return ""
    return str(store.generate_msgdef(kind, ros_version=2)[0])


def listed_files(path: Path) -> list[Path]:
    """The files of a ROS 2 bag that its `metadata.yaml` lists, in their order.

    Raises:
        UnreadableFile: if it does not describe a bag, or one that is compressed as a whole.
    """
    with _reading(path):
        return _listed_files(existing_file(path))


def _listed_files(path: Path) -> list[Path]:
    if path.stat().st_size > 1 << 24:
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


def _read_folder(path: Path) -> Iterator[Message | Topic | Metadata]:
    yield from chain.from_iterable(map(read_messages, _listed_files(path)))


OPENERS: Mapping[str, Callable[[Path], Iterator[Message | Topic | Metadata]]] = {
    ".mcap": _read_mcap,
    ".bag": _read_bag,
    ".db3": _read_sqlite,
    ".yaml": _read_folder,
}
"""Ending of a file's name -> what reads it."""
