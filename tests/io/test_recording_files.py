"""Recordings written to MCAP and Parquet come back equal."""

from contextlib import suppress

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import poinsot
from poinsot.exceptions import InvalidRecording, PoinsotError, UnreadableFile, UnwritableOutput
from poinsot.io import recording_files as recordings
from poinsot.io.message_columns import read_log_columns, topics
from poinsot.io.recording_files import read_mcap, read_parquet, write_mcap, write_parquet

pytestmark = pytest.mark.usefixtures("forked_parsers")

FORMATS = {"mcap": (write_mcap, read_mcap), "parquet": (write_parquet, read_parquet)}
each_format = pytest.mark.parametrize(("ending", "write", "read"), [(k, *v) for k, v in FORMATS.items()])


@pytest.fixture
def recording(rng):
    time = -0.5 + np.cumsum(rng.uniform(0.009, 0.011, 50))
    current = rng.normal(size=50)
    current[[3, 7]] = np.nan
    channels = {
        "position.elbow": rng.normal(size=50),
        "torque.elbow": rng.normal(size=50),
        "position.wrist": rng.normal(size=50),
        "current.elbow": current,
        "Überdruck": np.full(50, 0.1),
    }
    units = dict(zip(channels, ("rad", "N m", "m", "A", "Pa"), strict=True))
    valid = {"current.elbow": np.isfinite(current) & (rng.random(50) > 0.2)}
    return poinsot.Recording(
        time, channels, units, valid, {"steps": ["a sentence"], "more": {"n": [1, None]}}
    )


@each_format
def test_a_recording_comes_back_equal(tmp_path, recording, ending, write, read):
    path = tmp_path / f"log.{ending}"
    write(recording, path)
    found = read(path)
    np.testing.assert_array_equal(found.time, recording.time)
    assert list(found.channels) == list(recording.channels)
    for name in recording.channels:
        np.testing.assert_array_equal(found[name], recording[name])
    assert dict(found.units) == dict(recording.units)
    assert list(found.valid) == list(recording.valid)
    np.testing.assert_array_equal(found.mask("current.elbow"), recording.mask("current.elbow"))
    assert dict(found.metadata) == dict(recording.metadata)


def test_rosbags_reads_the_messages_that_are_written(tmp_path, recording):
    write_mcap(recording, tmp_path / "log.mcap")
    store = get_typestore(Stores.ROS2_HUMBLE)
    own = recordings.DEFINITION.partition("====")[0].replace("std_msgs/Header", "std_msgs/msg/Header")
    store.register(get_types_from_msg(own, recordings.TYPE))
    with (tmp_path / "log.mcap").open("rb") as file:
        for _, channel, record in make_reader(file).iter_messages():
            message, k = store.deserialize_cdr(record.data, recordings.TYPE), record.sequence
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            assert stamp == record.log_time == round((recording.time[k] + 1) * 1e9)
            assert message.time == recording.time[k]
            assert message.name == [n for n in recording.channels if n.partition(".")[0] == channel.topic[1:]]
            np.testing.assert_array_equal(message.value, [recording[name][k] for name in message.name])
            np.testing.assert_array_equal(message.valid, [recording.mask(name)[k] for name in message.name])


def test_other_tools_see_topics_by_quantity(tmp_path, recording):
    path = tmp_path / "log.mcap"
    write_mcap(recording, path)
    assert [topic.name for topic in topics(path)] == ["/current", "/position", "/torque", "/Überdruck"]
    source = poinsot.Source(path, {"a": ("/position/value/position.wrist", "m")}, ("/position/time", "s"))
    columns = read_log_columns(source)
    np.testing.assert_array_equal(columns["/position/time"], recording.time)
    np.testing.assert_array_equal(columns["/position/value/position.wrist"], recording["position.wrist"])


@each_format
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path, recording, ending, write, read):
    path = tmp_path / f"log.{ending}"
    with pytest.raises(InvalidRecording, match="metadata cannot be written"):
        write(
            poinsot.Recording(
                recording.time, recording.channels, recording.units, recording.valid, {"a": {1}}
            ),
            path,
        )
    with pytest.raises(UnwritableOutput, match="no folder"):
        write(recording, tmp_path / "none" / path.name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("count", [15, pytest.param(100, marks=pytest.mark.slow)])
@each_format
def test_other_and_damaged_files_are_one_sentence(tmp_path, recording, ending, write, read, count, rng):
    path = tmp_path / f"log.{ending}"
    with pytest.raises(UnreadableFile, match="no file"):
        read(path)
    write(recording, path)
    content = path.read_bytes()
    for _ in range(count):
        changed = bytearray(content)
        changed[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(
            bytes(changed[: rng.integers(len(content))]) if rng.random() < 0.2 else bytes(changed)
        )
        with suppress(PoinsotError):
            read(path)


def test_a_clock_that_is_no_channel_is_refused(tmp_path):
    time = np.arange(3.0)
    with pytest.raises(UnwritableOutput, match="is called `time`"):
        write_parquet(poinsot.Recording(time, {"time": time}, {"time": "s"}), tmp_path / "log.parquet")
    with pytest.raises(UnwritableOutput, match="do not fit into stamps"):
        write_mcap(poinsot.Recording(time + 1e10, {"a": time}, {"a": "1"}), tmp_path / "log.mcap")
