"""A Recording as MCAP or Parquet and back: equal in channels, units, clock, masks and metadata.

    MCAP     a topic for each quantity, `/position`, with messages of the type below (ROS 2, CDR), one a sample; other
             tools and `read_log_columns` read them as `/position/value/elbow`. Units, the order of channels and the
             recording's metadata are an MCAP metadata record `poinsot.recording`.
    Parquet  a column for each channel, `time`, and `valid.<channel>` of masked ones; the rest is the file's metadata.

The clock is kept as numbers of its own: stamps in nanoseconds would round it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..exceptions import InvalidRecording, MissingExtra, UnreadableFile, UnwritableOutput
from ..recording import Recording
from .containers import EXTRA, Message, Metadata, in_process, read_messages
from .messages import message_decoder
from .parquet import checked
from .writing import atomic_path

SCHEMA = "poinsot.recording/1"
METADATA = "poinsot.recording"
TYPE = "poinsot_msgs/msg/Samples"
DEFINITION = """# Samples of one quantity at one time; `valid` is false where a value is not to be used.
std_msgs/Header header
float64 time
string[] name
float64[] value
bool[] valid
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""

_LARGEST_S = 2.0**31 - 1


def write_mcap(recording: Recording, path: str | Path) -> None:
    """Write a recording to MCAP, complete or not at all.

    Raises:
        UnwritableOutput: if the file cannot be written, or times do not fit into stamps (before 1970, after 2038).
        InvalidRecording: if the metadata cannot be written.
        MissingExtra: without the packages `mcap` and `rosbags`.
    """
    try:
        from mcap.writer import Writer
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as error:
        raise MissingExtra(EXTRA, error.name or "mcap") from None
    time = recording.time
    # Clocks often start a little before zero; stamps cannot.
    shift = -math.floor(time[0]) if -_LARGEST_S < time[0] < 0 else 0
    if time[0] + shift < 0 or time[-1] + shift > _LARGEST_S:
        raise UnwritableOutput(f"cannot write {path}: its times do not fit into stamps of 32 bit seconds")
    content = _header(recording)
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(DEFINITION, TYPE))
    samples, stamp, head = (
        store.types[name] for name in (TYPE, "builtin_interfaces/msg/Time", "std_msgs/msg/Header")
    )
    groups: dict[str, list[str]] = {}
    for name in recording.channels:
        groups.setdefault(name.partition(".")[0], []).append(name)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="poinsot")
        writer.add_metadata(METADATA, {"header": content})
        schema = writer.register_schema(TYPE, "ros2msg", DEFINITION.encode())
        for group, names in groups.items():
            channel = writer.register_channel(f"/{group}", "cdr", schema)
            values = np.stack([recording[name] for name in names], axis=1)
            valid = np.stack([recording.mask(name) for name in names], axis=1)
            for k, at in enumerate(time):
                at_ns = round((float(at) + shift) * 1e9)
                header = head(stamp(*divmod(at_ns, 1_000_000_000)), "")
                message = samples(header, float(at), names, values[k], valid[k])
                data = bytes(store.serialize_cdr(message, TYPE, little_endian=True))
                writer.add_message(channel, at_ns, data, at_ns, sequence=k)
        writer.finish()


def read_mcap(path: str | Path) -> Recording:
    """Read a recording that `write_mcap` wrote. Other logs: `poinsot.read_recording` with columns by topic and field.

    Raises:
        UnreadableFile: if the file is damaged or not from `write_mcap`.
    """
    recording: Recording = in_process(mcap_recording, [path], Path(path))
    return recording


def mcap_recording(path: Path) -> Recording:
    """As `read_mcap`, in this process."""
    header: dict[str, Any] | None = None
    samples: dict[str, list[dict[str, Any]]] = {}
    for item in read_messages(path):
        if isinstance(item, Metadata) and item.name == METADATA:
            header = _parse(path, item.content.get("header", ""))
        elif isinstance(item, Message) and item.topic.type == TYPE:
            samples.setdefault(item.topic.name, []).append(message_decoder(item.topic)(item.data).fields)
    if header is None:
        raise UnreadableFile(
            f"{path} is no recording that poinsot wrote; read it with poinsot.read_recording and columns such as "
            "/joint_states/position/elbow, which `poinsot inspect` lists"
        )
    try:
        columns: dict[str, np.ndarray] = {}
        masks: dict[str, np.ndarray] = {}
        time = np.array([])
        for messages in samples.values():
            time, values, valid = (
                np.array([message[name] for message in messages]) for name in ("time", "value", "valid")
            )
            columns.update(zip(messages[0]["name"], values.T, strict=True))
            masks.update(zip(messages[0]["name"], valid.T, strict=True))
        return _recording(header, time, columns, masks)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _damaged(path, error) from None


def write_parquet(recording: Recording, path: str | Path) -> None:
    """Write a recording to Parquet, complete or not at all.

    Raises:
        UnwritableOutput: if the file cannot be written, or a channel has the name of the clock.
        InvalidRecording: if the metadata cannot be written.
    """
    columns = {"time": recording.time, **recording.channels}
    columns |= {f"valid.{name}": mask for name, mask in recording.valid.items()}
    if len(columns) != 1 + len(recording.channels) + len(recording.valid):
        raise UnwritableOutput(f"cannot write {path}: a channel is called `time` or `valid.<other channel>`")
    header = _header(recording)
    table = pl.DataFrame({name: np.ascontiguousarray(values) for name, values in columns.items()})
    with atomic_path(path) as temporary:
        table.write_parquet(temporary, metadata={METADATA: header})


def read_parquet(path: str | Path) -> Recording:
    """Read a recording that `write_parquet` wrote.

    Raises:
        UnreadableFile: if the file is damaged or not from `write_parquet`.
    """
    path = Path(path)
    try:
        with checked(path, None):
            found = pl.read_parquet_metadata(path).get(METADATA)
            if found is None:
                raise UnreadableFile(
                    f"{path} is no recording that poinsot wrote; read it with poinsot.read_recording and its columns"
                )
            header, table = _parse(path, found), pl.read_parquet(path, glob=False)
        columns = {str(name): table[str(name)].to_numpy() for name in header["channels"]}
        masks = {str(name): table[f"valid.{name}"].to_numpy() for name in header["masked"]}
        return _recording(header, table["time"].to_numpy(), columns, masks)
    except (pl.exceptions.PolarsError, KeyError, TypeError, ValueError) as error:
        raise _damaged(path, error) from None


def _header(recording: Recording) -> str:
    content = {
        "schema": SCHEMA,
        "channels": list(recording.channels),
        "units": dict(recording.units),
        "masked": list(recording.valid),
        "metadata": dict(recording.metadata),
    }
    try:
        return json.dumps(content)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecording(f"the recording's metadata cannot be written: {error}") from None


def _parse(path: str | Path, text: str) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    found = header.get("schema") if isinstance(header, dict) else None
    if found != SCHEMA:
        raise UnreadableFile(f"{path} has the schema {str(found)[:40]!r}; this version reads {SCHEMA!r}")
    return dict(header)


def _recording(
    header: Mapping[str, Any],
    time: np.ndarray,
    columns: Mapping[str, np.ndarray],
    masks: Mapping[str, np.ndarray],
) -> Recording:
    names = header["channels"]
    return Recording(
        time,
        {name: columns[name] for name in names},
        {name: header["units"][name] for name in names},
        {name: masks[name] for name in header["masked"]},
        header["metadata"],
    )


def _damaged(path: str | Path, error: BaseException) -> UnreadableFile:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return UnreadableFile(f"{path} is damaged, or no recording that poinsot wrote: {reason}")
