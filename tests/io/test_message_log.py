"""Logs of messages that are read by time: their rows are those of the whole file, to the bit."""

import pickle
import struct
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType, Writer

import poinsot
import poinsot.io.containers as containers
import poinsot.io.message_log as message_log
from poinsot import Column, MessageLog, Serial, Source, open_log, stream_least_squares
from poinsot.cli import main
from poinsot.exceptions import InvalidRecording, UnreadableFile
from poinsot.io.log_names import find_logs
from poinsot.io.reading import read_recording
from poinsot.project import Project
from poinsot.studies.fleet import Fleet
from simulated_fleet import JOINTS, write_fleet

START, MS = 1_700_000_000_000_000_000, 1_000_000
STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""
COMMAND = "float64[] data\n"


def header(stamp_ns):
    return np.array(divmod(stamp_ns, 10**9), dtype="<u4").tobytes() + bytes([5, 0, 0, 0]) + b"base\0\0\0\0"


def texts(names, at):
    """A list of texts in CDR, that begins at this byte."""
    data = len(names).to_bytes(4, "little")
    for name in names:
        data += bytes(-(at + len(data)) % 4) + (len(name) + 1).to_bytes(4, "little") + name.encode() + b"\0"
    return data


def numbers(values, at):
    """A list of numbers in CDR, that begins at this byte."""
    data = bytes(-at % 4) + len(values).to_bytes(4, "little")
    return data + bytes(-(at + len(data)) % 8) + np.array(values, dtype="<f8").tobytes()


def joint_state(stamp_ns, names, position, effort):
    data = header(stamp_ns)
    data += texts(names, len(data))
    for each in (position, effort):
        data += numbers(each, len(data))
    return b"\0\1\0\0" + data


def command(values):
    return b"\0\1\0\0" + numbers(values, 0)


def write(path, messages, **options):
    """An MCAP file of (topic, time of the log, bytes)."""
    kinds = {"/joint_states": ("sensor_msgs/msg/JointState", STATE)}
    with path.open("wb") as file:
        writer, channels = Writer(file, **{"chunk_size": 2048, **options}), {}
        writer.start()
        for topic, at, data in messages:
            if topic not in channels:
                name, text = kinds.get(topic, ("my_msgs/msg/Array", COMMAND))
                schema = writer.register_schema(name, "ros2msg", text.encode())
                channels[topic] = writer.register_channel(topic, "cdr", schema)
            writer.add_message(channels[topic], at, data, at)
        writer.finish()
    return path


def of_table(table, joints):
    """Messages with the rows of a table that `simulated_fleet` wrote."""
    for row in table.iter_rows(named=True):
        stamp = START + round(1e9 * row["t"])
        q, tau = ([row[f"{name}{k}"] for k in (1, 2, 3)] for name in ("q", "tau"))
        yield "/joint_states", stamp + MS, joint_state(stamp, joints, q, tau)


def motion(count, rng, late_ms=0.0, period_ms=2):
    """Joints at 500 Hz in two orders, a command every 7 ms, and another topic; messages are late by up to this."""
    found = []
    for k in range(count):
        stamp = START + period_ms * k * MS
        names = ["elbow", "wrist"] if k % 3 else ["wrist", "elbow"]
        values = rng.standard_normal((2, 2))
        late = int(rng.uniform(0, late_ms) * MS)
        found.append(("/joint_states", stamp + late, joint_state(stamp, names, *values)))
        if k % 4 == 1:
            at = stamp + int(rng.integers(0, 2 * MS))
            found.append(("/commands", at, command(rng.standard_normal(2))))
        if k % 5 == 2:
            found.append(("/camera", stamp + 1, command(rng.standard_normal(40))))
    return found


CHANNELS = {
    "position.elbow": ("/joint_states/position/elbow", "deg"),
    "position.wrist": Column("/joint_states/position/wrist", "rad", scale=2.0),
    "torque.elbow": ("/joint_states/effort/elbow", "N m"),
    "command.elbow": Column("/commands/data[0]", "deg", hold=True, initial=-0.3),
    "command.wrist": Column("/commands/data[1]", "deg", hold=True, initial=0.7, scale=0.1),
}
REQUIRE = ("/joint_states/position/elbow",)
UNITS = {"position": "rad", "torque": "N m"}
COMPRESSIONS = {each.name.lower(): each for each in CompressionType}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch, forked_parsers):
    """Parts and segments of some messages, so that small files have many."""
    monkeypatch.setattr(containers, "PART", 3000)
    monkeypatch.setattr(message_log, "SEGMENT", 9000)
    monkeypatch.setattr(message_log, "OVERLAPPING", 10_000)


def check_equal(path, log, cuts):
    """The log against the whole file, stretch by stretch."""
    whole = read_recording(Source(path, CHANNELS, log.time, require=log.require), invalid="mask")
    assert len(log) == len(whole)
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    for first, last in pairwise(edges):
        ticks, cells = log.cells(first, last)
        np.testing.assert_array_equal(ticks, whole.time[first:last])
        for name, column in log.source.columns.items():
            values = poinsot.io.units.convert(cells[name] * column.scale, column.unit)[0]
            known = whole.mask(name)[first:last]
            np.testing.assert_array_equal(values[known], whole[name][first:last][known])
            assert np.isnan(values[~known]).all()


@pytest.mark.parametrize("compression", COMPRESSIONS.values(), ids=COMPRESSIONS)
@pytest.mark.parametrize("chunks", ["indexed", "no index", "no chunks"])
@pytest.mark.parametrize("clock", ["time", "log_time"])
def test_rows_are_those_of_the_whole_file(tmp_path, compression, chunks, clock):
    options = {"compression": compression, "use_chunking": chunks != "no chunks"}
    if chunks == "no index":
        options |= {"index_types": IndexType.NONE, "use_statistics": False, "repeat_channels": False}
    messages = motion(600, np.random.default_rng(0), late_ms=30.0)
    path = write(tmp_path / "log.mcap", messages, **options)
    log = MessageLog([path], CHANNELS, (clock, "s"), REQUIRE)
    assert len(log._segments.parts) > 10
    check_equal(path, log, (1, 2, 77, 300, 599))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_file_any_stretch(tmp_path_factory, data):
    """Messages in any order, some of the same time, topics that end early, stamps that were never set."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    messages = motion(data.draw(st.integers(3, 200)), rng, data.draw(st.sampled_from([0.0, 3.0, 100.0, 1e5])))
    if data.draw(st.booleans()):
        messages = [messages[k] for k in rng.permutation(len(messages))]
    if data.draw(st.booleans()):
        messages.sort(key=lambda each: each[0])  # topic after topic
    if data.draw(st.booleans()):
        messages += [messages[int(k)] for k in rng.integers(0, len(messages), 5)]
    if data.draw(st.booleans()):
        at, names = int(rng.integers(0, 2**50)), ["elbow"]
        messages.append(("/joint_states", START + at, joint_state(0, names, [1.0], [2.0])))
    path = tmp_path_factory.mktemp("any") / "log.mcap"
    write(
        path,
        messages,
        chunk_size=data.draw(st.sampled_from([1, 500, 4000, 10**6])),
        compression=data.draw(st.sampled_from(list(CompressionType))),
        use_chunking=data.draw(st.booleans()),
    )
    require = data.draw(st.sampled_from([(), REQUIRE, ("/commands/data[1]",)]))
    log = MessageLog([path], CHANNELS, (data.draw(st.sampled_from(["time", "log_time"])), "s"), require)
    try:
        whole = read_recording(Source(path, CHANNELS, log.time, require=require), invalid="mask")
    except (InvalidRecording, UnreadableFile) as error:
        with pytest.raises(type(error)):
            _ = log.clock
        return
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=6))
    check_equal(path, log, cuts)


def test_several_files_and_a_bag_are_one_log(tmp_path):
    """Files end at any message, and later ones begin before."""
    messages = motion(500, np.random.default_rng(1), late_ms=10.0)
    path = write(tmp_path / "log.mcap", messages)
    whole = MessageLog([path], CHANNELS, ("time", "s"), REQUIRE)
    names = []
    for k, (first, last) in enumerate(pairwise([0, 150, 151, 420, len(messages)])):
        names.append(f"log_{k}.mcap")
        write(tmp_path / names[-1], messages[first:last])
    (tmp_path / "metadata.yaml").write_text(
        "rosbag2_bagfile_information:\n  relative_file_paths:\n"
        + "".join(f"    - {name}\n" for name in names)
    )
    bag = tmp_path / "metadata.yaml"
    check_equal(bag, MessageLog([bag], CHANNELS, ("time", "s"), REQUIRE), (7, 301))
    for paths in ([tmp_path / name for name in names], [bag]):
        log = open_log(paths, CHANNELS, ("time", "s"), REQUIRE)
        assert len(log) == len(whole)
        for mine, other in zip(log.cells(3, 400)[1].values(), whole.cells(3, 400)[1].values(), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_reading_a_stretch_decodes_the_parts_around_it_only(tmp_path, monkeypatch):
    path = write(tmp_path / "log.mcap", motion(3000, np.random.default_rng(2), late_ms=2.0))
    log = MessageLog([path], CHANNELS, ("time", "s"), REQUIRE)
    assert len(log._segments.parts) > 100
    read, messages = [], containers.McapPart.messages
    monkeypatch.setattr(containers.McapPart, "messages", lambda part: (read.append(part), messages(part))[1])
    again = pickle.loads(pickle.dumps(log))
    recording = again.read(1000, 1050)
    assert len(recording) == 50
    assert 0 < len(read) < 10


def test_recordings_are_on_the_uniform_clock(tmp_path):
    messages = motion(300, np.random.default_rng(3))
    path = write(tmp_path / "log.mcap", messages)
    log = MessageLog([path], CHANNELS, ("time", "s"), REQUIRE)
    assert log.clock == pytest.approx((0.0, 500.0), rel=1e-12)
    recording = log.read(20, 30)
    np.testing.assert_allclose(recording.time, np.arange(20, 30) / 500.0, rtol=1e-12)
    assert recording.units["position.elbow"] == "rad"
    lost = write(tmp_path / "lost.mcap", [each for each in messages if each[1] != START + 200 * MS])
    with pytest.raises(InvalidRecording, match="off a uniform clock"):
        MessageLog([lost], CHANNELS, ("time", "s"), REQUIRE).read(0, 200)
    open_cells = {name: (column, unit) for name, (column, unit) in list(CHANNELS.items())[:1]} | {
        "command.elbow": ("/commands/data[0]", "deg")
    }
    with pytest.raises(InvalidRecording, match=r"has no number in column '/commands/data\[0\]'"):
        MessageLog([path], open_cells, ("time", "s"), REQUIRE).read(0, 50)


def test_what_is_not_read_in_blocks_is_named(tmp_path):
    path = write(tmp_path / "log.mcap", motion(30, np.random.default_rng(4)))
    points = {"position.a": ("/trajectory/points/positions/a", "rad")}
    with pytest.raises(InvalidRecording, match="points of trajectories replace earlier ones"):
        MessageLog([path], points, ("time", "s"))
    with pytest.raises(InvalidRecording, match="at least one file"):
        MessageLog([], CHANNELS, ("time", "s"))
    with pytest.raises(InvalidRecording, match=r"are of one kind, .*\.mcap"):
        open_log([path, tmp_path / "log.parquet"], CHANNELS, ("time", "s"))
    with pytest.raises(UnreadableFile, match="no column '/joint_states/position/elbo'; did you mean"):
        len(MessageLog([path], {"position.a": ("/joint_states/position/elbo", "rad")}, ("time", "s")))
    (tmp_path / "metadata.yaml").write_text(
        "rosbag2_bagfile_information:\n  relative_file_paths:\n    - log.db3\n"
    )
    with pytest.raises(InvalidRecording, match="files of its bag are not MCAP"):
        MessageLog([tmp_path / "metadata.yaml"], CHANNELS, ("time", "s"))


def test_size_in_memory_follows_from_the_summary(tmp_path):
    messages = motion(300, np.random.default_rng(5))
    path = write(tmp_path / "log.mcap", messages)
    source = Source(path, CHANNELS, ("time", "s"))
    rows = sum(topic != "/camera" for topic, _, _ in messages)
    assert MessageLog.bytes_in_memory(source) == 8 * rows * len(source.wanted)
    without = write(tmp_path / "log.mcap", messages, use_statistics=False)
    assert MessageLog.bytes_in_memory(source) == without.stat().st_size
    path.write_bytes(path.read_bytes()[:100])
    assert MessageLog.bytes_in_memory(source) in (0, 100)


def test_damaged_files_are_one_sentence_or_the_same_rows(tmp_path):
    path = write(tmp_path / "log.mcap", motion(200, np.random.default_rng(6)))
    content, rng = path.read_bytes(), np.random.default_rng(7)
    for k in range(200):
        data = bytearray(content[: rng.integers(len(content))] if k % 4 == 0 else content)
        for at in rng.integers(0, len(data), rng.integers(1, 20)) if k % 4 else ():
            data[at] = rng.integers(256)
        path.write_bytes(bytes(data))
        try:
            whole = read_recording(Source(path, CHANNELS, ("time", "s"), require=REQUIRE), invalid="mask")
        except InvalidRecording:
            continue  # a clock that repeats, for one: the same as far as rows are read
        except UnreadableFile:
            with pytest.raises(UnreadableFile):
                len(MessageLog([path], CHANNELS, ("time", "s"), REQUIRE))
            continue
        check_equal(path, MessageLog([path], CHANNELS, ("time", "s"), REQUIRE), (len(whole) // 2,))


def record(opcode, content):
    return bytes([opcode]) + struct.pack("<Q", len(content)) + content


def chunk(size, data, crc=0):
    return record(
        6, struct.pack("<QQQI", 0, 0, size, crc) + struct.pack("<I", 0) + struct.pack("<Q", len(data)) + data
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda content: content[: len(content) // 2], "is damaged"),
        (lambda content: content[:-20], "is damaged"),
        (
            lambda content: content[:8] + chunk(10**10, b"") + content[8:],
            "more than the 1073741824 that are read",
        ),
        (lambda content: content[:8] + chunk(4, b"abcd", crc=1) + content[8:], "crc validation failed"),
        (lambda content: content[:8] + bytes([6]) + struct.pack("<Q", 10**10) + content[8:], "is damaged"),
    ],
    ids=["cut", "no end", "large chunk", "wrong CRC", "large record"],
)
def test_hostile_files_are_one_sentence(tmp_path, damage, said):
    path = write(tmp_path / "log.mcap", motion(200, np.random.default_rng(8)))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UnreadableFile, match=said) as found:
        len(MessageLog([path], CHANNELS, ("time", "s")))
    assert "\n" not in str(found.value)


def test_an_index_that_lies_changes_nothing(tmp_path):
    """Nothing is taken from the index: chunks that it places elsewhere, at other times, are read where they are."""
    path = write(tmp_path / "log.mcap", motion(200, np.random.default_rng(9)))
    content = bytearray(path.read_bytes())
    whole = MessageLog([path], CHANNELS, ("time", "s"), REQUIRE)
    with path.open("rb") as file:
        places = [each.chunk_start_offset for each in make_reader(file).get_summary().chunk_indexes]
    for place in places:
        at = content.rindex(struct.pack("<Q", place))
        content[at - 16 : at + 8] = rng_bytes(24)  # first and last time, and place
    path.write_bytes(bytes(content))
    log = MessageLog([path], CHANNELS, ("time", "s"), REQUIRE)
    assert len(log) == len(whole)
    for mine, other in zip(log.cells(0, 150)[1].values(), whole.cells(0, 150)[1].values(), strict=True):
        np.testing.assert_array_equal(mine, other)


def rng_bytes(count):
    return np.random.default_rng(10).bytes(count)


def test_a_file_that_changes_after_it_was_opened(tmp_path):
    path = write(tmp_path / "log.mcap", motion(200, np.random.default_rng(11)))
    log = MessageLog([path], CHANNELS, ("time", "s"), REQUIRE)
    assert len(log) == 200
    write(path, motion(120, np.random.default_rng(12)))
    with pytest.raises(UnreadableFile):
        log.read(0, 200)


def test_messages_too_far_out_of_order(tmp_path, monkeypatch):
    monkeypatch.setattr(message_log, "OVERLAPPING", 8)
    messages = motion(600, np.random.default_rng(13))
    order = np.random.default_rng(14).permutation(len(messages))
    path = write(tmp_path / "log.mcap", [messages[k] for k in order])
    with pytest.raises(UnreadableFile, match="order them with `mcap sort`"):
        len(MessageLog([path], CHANNELS, ("time", "s")))


def test_estimates_are_those_of_parquet_for_any_files_and_workers(tmp_path):
    write_fleet(tmp_path, 1, 1, np.random.default_rng(15), seconds=20.0)
    (parquet,) = (tmp_path / "logs").glob("*.parquet")
    table = pl.read_parquet(parquet)
    messages = list(of_table(table, JOINTS))
    names = {
        "position": {joint: f"q{k}" for k, joint in enumerate(JOINTS, start=1)},
        "torque": {joint: f"tau{k}" for k, joint in enumerate(JOINTS, start=1)},
    }
    of_parquet = {
        f"{what}.{j}": (name, UNITS[what]) for what, each in names.items() for j, name in each.items()
    }
    fields = {"position": "position", "torque": "effort"}
    of_mcap = {
        f"{what}.{joint}": (f"/joint_states/{fields[what]}/{joint}", UNITS[what])
        for what in names
        for joint in JOINTS
    }
    robot = poinsot.load_robot(tmp_path / "arm.urdf", friction=poinsot.ViscousCoulomb())
    method = poinsot.ButterworthDecimation(cutoff_hz=20.0, decimate_hz=12.0)
    log = open_log([parquet], of_parquet, ("t", "s"))
    expected = stream_least_squares(robot, log, method, executor=Serial(), block=1500).values
    for cuts, executor, block in (
        ((), Serial(), 1500),
        ((1, 900, 901, 2500), ThreadPoolExecutor(3), 800),
        ((2000,), Serial(), 10**6),
    ):
        paths = []
        for first, last in pairwise([0, *cuts, len(messages)]):
            paths.append(write(tmp_path / f"{len(cuts)}_{first:05d}.mcap", messages[first:last]))
        found = stream_least_squares(
            robot, open_log(paths, of_mcap, ("time", "s")), method, executor=executor, block=block
        )
        assert np.abs(found.values - expected).max() <= 1e-9 * np.abs(expected).max()


def test_a_fleet_reads_long_and_split_logs_of_messages_in_blocks(tmp_path):
    write_fleet(tmp_path, 1, 2, np.random.default_rng(16), seconds=6.0)
    job = tmp_path / "job.toml"
    text = job.read_text().replace('column = "t"', 'column = "time"').replace("*.parquet", "*.mcap")
    for what, field in (("q", "position"), ("tau", "effort")):
        columns = ", ".join(f'"/joint_states/{field}/{joint}"' for joint in JOINTS)
        text = text.replace(", ".join(f'"{what}{k}"' for k in (1, 2, 3)), columns)
    job.write_text(text)
    for path in (tmp_path / "logs").glob("*.parquet"):
        messages = list(of_table(pl.read_parquet(path), JOINTS))
        write(path.with_suffix(".mcap"), messages)
        (tmp_path / "parts").mkdir(exist_ok=True)
        for k, part in enumerate((messages[:500], messages[500:])):
            write(tmp_path / "parts" / f"{path.stem}_{k}.mcap", part)
    project = Project.load(job)
    short = Fleet.of(project)
    assert [short.opener(log) for log in short.logs] == [None, None]
    long = Fleet(project, tmp_path, short.logs, long_bytes=1000)
    assert None not in [long.opener(log) for log in long.logs]
    split = Fleet(project, tmp_path, find_logs(tmp_path, "parts/{robot}_{day}_{part}.mcap"))
    assert [len(log.paths) for log in split.logs] == [2, 2]
    values = [
        [
            [row["value"] for row in record["parameters"]]
            for record in fleet.estimate(Serial(), tmp_path / name).records
        ]
        for name, fleet in (("a", short), ("b", long), ("c", split))
    ]
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], rtol=1e-9, atol=1e-9 * np.abs(values[0]).max())
    (tmp_path / "logs" / "unit01_2026-05-04.mcap").write_bytes(b"no log of messages")
    assert (
        main(["-q", "identify", str(job), "--logs", "logs/unit01_2026-05-04.mcap", "--data", str(tmp_path)])
        == 2
    )
