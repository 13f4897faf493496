"""Logs that rosbags and mcap write, read by topic and field."""

import json
import sqlite3
import struct
import sys
import tomllib
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from mcap.writer import CompressionType, Writer
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import poinsot
import poinsot.io.containers as containers
from poinsot.cli import main
from poinsot.exceptions import MissingExtra, PoinsotError, UnreadableFile
from poinsot.io.message_columns import log_columns, read_log_columns, topic_facts, topics
from poinsot.io.readers import READERS, find_reader, is_read_as_text, list_columns
from poinsot.project import Project
from poinsot.project.starting import start_project

START = 1_700_000_000_000_000_000
MS = 1_000_000

MOTOR_STATE = """uint8 mode
float32 q
float32 dq
float32 ddq
float32 tau_est
float32 q_raw
float32 dq_raw
float32 ddq_raw
int8 temperature
uint32 lost
uint32[2] reserve
"""
LOW_STATE = """uint8[2] head
uint8 level_flag
unitree_go/IMUState imu_state
unitree_go/MotorState[20] motor_state
uint32 tick
"""
MOTOR_CMD = "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\nfloat32 kd\nuint32[3] reserve\n"
LOW_CMD = "uint8[2] head\nuint8 level_flag\nunitree_go/msg/MotorCmd[20] motor_cmd\nuint32 reserve\n"
IMU_STATE = "float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer\nint8 temperature\n"


def stores():
    ros2 = get_typestore(Stores.ROS2_HUMBLE)
    for text, name in (
        (MOTOR_STATE, "MotorState"),
        (IMU_STATE, "IMUState"),
        (LOW_STATE.replace("unitree_go/", "unitree_go/msg/"), "LowState"),
        (MOTOR_CMD, "MotorCmd"),
        (LOW_CMD, "LowCmd"),
    ):
        ros2.register(get_types_from_msg(text, f"unitree_go/msg/{name}"))
    for text, name in (
        ("string[] interface_names\nfloat64[] values\n", "InterfaceValue"),
        (
            "std_msgs/msg/Header header\nstring[] joint_names\ncontrol_msgs/msg/InterfaceValue[] interface_values\n",
            "DynamicJointState",
        ),
        (
            "std_msgs/msg/Header header\nstring[] joint_names\n"
            "trajectory_msgs/msg/JointTrajectoryPoint reference\ntrajectory_msgs/msg/JointTrajectoryPoint feedback\n",
            "JointTrajectoryControllerState",
        ),
    ):
        ros2.register(get_types_from_msg(text, f"control_msgs/msg/{name}"))
    return {"ros1": get_typestore(Stores.ROS1_NOETIC), "ros2": ros2}


STORES = stores()


class Messages:
    """Makes messages of a version of ROS."""

    def __init__(self, version):
        self.version, self.store, self.types = version, STORES[version], STORES[version].types

    def time(self, ns):
        return self.types["builtin_interfaces/msg/Time"](*divmod(ns, 10**9))

    def duration(self, ns):
        return self.types["builtin_interfaces/msg/Duration"](*divmod(ns, 10**9))

    def header(self, ns):
        more = {"seq": 0} if self.version == "ros1" else {}
        return self.types["std_msgs/msg/Header"](stamp=self.time(ns), frame_id="base", **more)

    def joint_state(self, ns, names, position, velocity=()):
        kind = self.types["sensor_msgs/msg/JointState"]
        return kind(self.header(ns), names, np.array(position), np.array(velocity), np.array([]))

    def imu(self, ns, rate, acceleration):
        vector = self.types["geometry_msgs/msg/Vector3"]
        rotation = self.types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.6, 0.8)
        zeros = np.zeros(9)
        return self.types["sensor_msgs/msg/Imu"](
            self.header(ns), rotation, zeros, vector(*rate), zeros, vector(*acceleration), zeros
        )

    def wrench(self, ns, force):
        vector = self.types["geometry_msgs/msg/Vector3"]
        wrench = self.types["geometry_msgs/msg/Wrench"](vector(*force), vector(0.1, 0.2, 0.3))
        return self.types["geometry_msgs/msg/WrenchStamped"](self.header(ns), wrench)

    def pose(self, ns, at):
        point = self.types["geometry_msgs/msg/Point"](*at)
        rotation = self.types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
        pose = self.types["geometry_msgs/msg/Pose"](point, rotation)
        return self.types["geometry_msgs/msg/PoseStamped"](self.header(ns), pose)

    def array(self, values):
        layout = self.types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        return self.types["std_msgs/msg/Float64MultiArray"](layout, np.array(values))

    def point(self, positions, after_ns=0):
        empty = np.array([])
        return self.types["trajectory_msgs/msg/JointTrajectoryPoint"](
            np.array(positions), empty, empty, empty, self.duration(after_ns)
        )

    def trajectory(self, ns, names, points):
        return self.types["trajectory_msgs/msg/JointTrajectory"](self.header(ns), names, points)


def motion(messages):
    """(topic, type, time of the log, message): joints at 100 Hz, commands at 50 Hz, an IMU at 40 Hz."""
    for k in range(20):
        at = START + 10 * k * MS
        # The order of joints changes, and every third message brings the gripper alone.
        names, q = (
            (["elbow", "wrist"], [0.1 * k, -0.2 * k]) if k % 2 else (["wrist", "elbow"], [-0.2 * k, 0.1 * k])
        )
        state = messages.joint_state(at, names, q, [1.0, 1.0])
        yield "/joint_states", "sensor_msgs/msg/JointState", at + 2 * MS, state
        if k % 2 == 0:
            yield (
                "/commands", "std_msgs/msg/Float64MultiArray", at + 3 * MS, messages.array([0.5 * k, k, 0.0])
            )  # fmt: skip
        if k % 5 == 0:
            imu = messages.imu(at + MS, (0.01 * k, 0.0, 1.0), (0.0, 0.0, 9.81))
            yield "/imu", "sensor_msgs/msg/Imu", at + 4 * MS, imu
            yield (
                "/ft/wrench",
                "geometry_msgs/msg/WrenchStamped",
                at + 5 * MS,
                messages.wrench(at, (k, 0.0, -1.0)),
            )
            yield "/pose", "geometry_msgs/msg/PoseStamped", at + 6 * MS, messages.pose(at, (k, 2.0, 3.0))


def write_bag1(path, content, compression=None):
    messages = Messages("ros1")
    bag = Writer1(path)
    if compression:
        bag.set_compression(compression)
    with bag as writer:
        connections = {}
        for topic, kind, at, message in content(messages):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=messages.store)
            writer.write(connections[topic], at, bytes(messages.store.serialize_ros1(message, kind)))
    return path


def write_bag2(folder, content, plugin, compression=None):
    messages = Messages("ros2")
    bag = Writer2(folder, version=8, storage_plugin=plugin)
    if compression:
        bag.set_compression(compression, CompressionFormat.ZSTD)
    with bag as writer:
        connections = {}
        for topic, kind, at, message in content(messages):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=messages.store)
            writer.write(connections[topic], at, bytes(messages.store.serialize_cdr(message, kind)))
    return folder


def write_mcap(path, content, compression=CompressionType.ZSTD, version="ros2"):
    messages = Messages(version)
    encoding = {"ros1": "ros1msg", "ros2": "ros2msg"}[version]
    serialize = messages.store.serialize_ros1 if version == "ros1" else messages.store.serialize_cdr
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=4096, compression=compression)
        writer.start()
        channels = {}
        for topic, kind, at, message in content(messages):
            if topic not in channels:
                text = messages.store.generate_msgdef(kind, ros_version=int(version[-1]))[0]
                schema = writer.register_schema(kind, encoding, text.encode())
                channels[topic] = writer.register_channel(
                    topic, "cdr" if version == "ros2" else "ros1", schema
                )
            writer.add_message(channels[topic], at, bytes(serialize(message, kind)), at)
        writer.finish()
    return path


pytestmark = pytest.mark.usefixtures("forked_parsers")

FORMATS = {
    "bag": lambda folder, content: write_bag1(folder / "log.bag", content),
    "bag-bz2": lambda folder, content: write_bag1(folder / "log.bag", content, Writer1.CompressionFormat.BZ2),
    "bag-lz4": lambda folder, content: write_bag1(folder / "log.bag", content, Writer1.CompressionFormat.LZ4),
    "db3": lambda folder, content: (
        write_bag2(folder / "log", content, StoragePlugin.SQLITE3) / "metadata.yaml"
    ),
    "db3-file": lambda folder, content: (
        write_bag2(folder / "log", content, StoragePlugin.SQLITE3) / "log.db3"
    ),
    "db3-zstd": lambda folder, content: (
        write_bag2(folder / "log", content, StoragePlugin.SQLITE3, CompressionMode.MESSAGE) / "metadata.yaml"
    ),
    "mcap-folder": lambda folder, content: (
        write_bag2(folder / "log", content, StoragePlugin.MCAP) / "metadata.yaml"
    ),
    "mcap": lambda folder, content: write_mcap(folder / "log.mcap", content),
    "mcap-lz4": lambda folder, content: write_mcap(folder / "log.mcap", content, CompressionType.LZ4),
    "mcap-plain": lambda folder, content: write_mcap(folder / "log.mcap", content, CompressionType.NONE),
    "mcap-ros1": lambda folder, content: write_mcap(folder / "log.mcap", content, version="ros1"),
}
each_format = pytest.mark.parametrize("write", FORMATS.values(), ids=FORMATS)


def read(path, *columns, time="time"):
    channels = {f"c{k}": (column, "1") for k, column in enumerate(columns)}
    found = read_log_columns(poinsot.Source(path, channels, None if time is None else (time, "s")))
    return [found[name] for name in ((time, *columns) if time else columns)]


@each_format
def test_every_format_has_the_same_numbers(tmp_path, write):
    path = write(tmp_path, motion)
    time, elbow, wrist = read(path, "/joint_states/position/elbow", "/joint_states/position/wrist")
    k = np.arange(20)
    np.testing.assert_allclose(elbow, 0.1 * k)
    np.testing.assert_allclose(wrist, -0.2 * k)
    # Time 0 is the first message of the log, 2 ms after the first stamp.
    np.testing.assert_allclose(time, 0.01 * k - 0.002, atol=1e-12)
    (gyro, acceleration, force, moment, x) = read(
        path, "/imu/angular_velocity/x", "/imu/linear_acceleration/z", "/ft/wrench/wrench/force/x",
        "/ft/wrench/wrench/torque/z", "/pose/pose/position/x", time=None,
    )  # fmt: skip
    np.testing.assert_allclose(gyro[np.isfinite(gyro)], 0.01 * k[::5])
    np.testing.assert_allclose(acceleration[np.isfinite(acceleration)], 9.81)
    np.testing.assert_allclose(force[np.isfinite(force)], k[::5])
    np.testing.assert_allclose(moment[np.isfinite(moment)], 0.3)
    np.testing.assert_allclose(x[np.isfinite(x)], k[::5])


def test_topics_keep_their_own_times(tmp_path):
    path = write_mcap(tmp_path / "log.mcap", motion)
    time, elbow, command, gyro = read(
        path, "/joint_states/position/elbow", "/commands/data[0]", "/imu/angular_velocity/x"
    )
    k = np.arange(20)
    assert len(time) == 20 + 10 + 4
    np.testing.assert_allclose(time[np.isfinite(elbow)], 0.01 * k - 0.002, atol=1e-12)
    np.testing.assert_allclose(time[np.isfinite(command)], 0.01 * k[::2] + 0.001, atol=1e-12)
    np.testing.assert_allclose(time[np.isfinite(gyro)], 0.01 * k[::5] - 0.001, atol=1e-12)
    assert np.all(np.isfinite(np.stack([elbow, command, gyro])).sum(axis=0) == 1)


def test_the_clock_may_be_that_of_the_log(tmp_path):
    time, _ = read(write_mcap(tmp_path / "log.mcap", motion), "/joint_states/position/elbow", time="log_time")
    np.testing.assert_allclose(time, 0.01 * np.arange(20), atol=1e-12)


def test_messages_with_some_of_the_joints_leave_the_others_open(tmp_path):
    def content(messages):
        for k in range(6):
            names = ["gripper"] if k % 3 == 2 else ["elbow", "wrist"]
            at = START + k * MS
            state = messages.joint_state(at, names, [float(k)] * len(names))
            yield "/joint_states", "sensor_msgs/msg/JointState", at, state

    _, elbow, gripper = read(
        write_mcap(tmp_path / "log.mcap", content),
        "/joint_states/position/elbow",
        "/joint_states/position/gripper",
    )
    np.testing.assert_array_equal(elbow, [0, 1, np.nan, 3, 4, np.nan])
    np.testing.assert_array_equal(gripper, [np.nan, np.nan, 2, np.nan, np.nan, 5])


def test_trajectories_are_points_in_time_and_later_ones_replace_earlier_ones(tmp_path):
    def content(messages):
        for start, values in ((0, [1.0, 2.0, 3.0]), (15, [7.0, 8.0])):
            at = START + start * MS
            points = [messages.point([value, -value], 10 * k * MS) for k, value in enumerate(values)]
            trajectory = messages.trajectory(at, ["elbow", "wrist"], points)
            yield "/trajectory", "trajectory_msgs/msg/JointTrajectory", at, trajectory

    path = write_bag1(tmp_path / "log.bag", content)
    time, elbow, wrist = read(
        path, "/trajectory/points/positions/elbow", "/trajectory/points/positions/wrist"
    )
    np.testing.assert_allclose(time, [0, 0.010, 0.015, 0.025], atol=1e-12)
    np.testing.assert_array_equal(elbow, [1, 2, 7, 8])
    np.testing.assert_array_equal(wrist, -elbow)
    _, first = read(path, "/trajectory/points[0]/positions/elbow")
    np.testing.assert_array_equal(first, [1, 7])


def test_states_of_ros2_control_are_read_by_joint_and_interface(tmp_path):
    def content(messages):
        types = messages.types
        for k in range(3):
            at = START + k * MS
            interface = types["control_msgs/msg/InterfaceValue"]
            values = [
                interface(["position", "velocity"], np.array([k + 0.1, k + 0.2])),
                interface(["position"], np.array([k + 0.5])),
            ]
            joints = ["elbow", "wrist"]
            state = types["control_msgs/msg/DynamicJointState"](messages.header(at), joints, values)
            yield "/dynamic_joint_states", "control_msgs/msg/DynamicJointState", at, state
            controller = types["control_msgs/msg/JointTrajectoryControllerState"](
                messages.header(at), joints, messages.point([k, 2.0 * k]), messages.point([k + 0.01, 2.0 * k])
            )
            yield "/controller_state", "control_msgs/msg/JointTrajectoryControllerState", at, controller

    path = write_mcap(tmp_path / "log.mcap", content)
    _, velocity, wrist, command, feedback = read(
        path, "/dynamic_joint_states/interface_values/elbow/values/velocity",
        "/dynamic_joint_states/interface_values/wrist/values/position",
        "/controller_state/reference/positions/wrist", "/controller_state/feedback/positions/elbow",
    )  # fmt: skip
    np.testing.assert_allclose(velocity, np.arange(3) + 0.2)
    np.testing.assert_allclose(wrist, np.arange(3) + 0.5)
    np.testing.assert_allclose(command, 2.0 * np.arange(3))
    np.testing.assert_allclose(feedback, np.arange(3) + 0.01)


def test_unitree_states_are_read_by_the_layout_in_the_file(tmp_path):
    def content(messages):
        types = messages.types
        motor, imu = types["unitree_go/msg/MotorState"], types["unitree_go/msg/IMUState"]
        for k in range(4):
            motors = [
                motor(1, k + 0.5 * j, 0.1, 0.0, -2.0, 0.0, 0.0, 0.0, 40, 0, np.zeros(2, np.uint32))
                for j in range(20)
            ]
            at = imu(np.zeros(4, np.float32), np.full(3, k, np.float32), np.zeros(3, np.float32), 30)
            state = types["unitree_go/msg/LowState"](np.zeros(2, np.uint8), 255, at, motors, 1000 + k)
            yield "rt/lowstate", "unitree_go/msg/LowState", START + 2 * k * MS, state

    path = write_mcap(tmp_path / "log.mcap", content)
    _, q, torque, gyro, tick = read(
        path, "rt/lowstate/motor_state[3]/q", "rt/lowstate/motor_state[19]/tau_est",
        "rt/lowstate/imu_state/gyroscope[1]", "rt/lowstate/tick",
    )  # fmt: skip
    np.testing.assert_allclose(q, np.arange(4) + 1.5)
    np.testing.assert_allclose(torque, -2.0)
    np.testing.assert_allclose(gyro, np.arange(4))
    np.testing.assert_allclose(tick, 1000 + np.arange(4))


def test_json_messages_are_read(tmp_path):
    path = tmp_path / "log.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("State", "jsonschema", b"{}")
        channel = writer.register_channel("/state", "json", schema)
        for k in range(3):
            content = {
                "header": {"stamp": {"sec": 5, "nsec": k * MS}},
                "name": ["a", "b"],
                "q": [k, None if k else 1],
            }
            writer.add_message(channel, START + k * MS, json.dumps(content).encode(), START)
        writer.finish()
    time, a, b = read(path, "/state/q/a", "/state/q/b")
    np.testing.assert_allclose(time, [0, 1e-3, 2e-3], atol=1e-12)
    np.testing.assert_array_equal(a, [0, 1, 2])
    np.testing.assert_array_equal(b, [1, np.nan, np.nan])


def write_json(path, messages, at=lambda k: START + k * MS):
    """(topic, content) one after the other."""
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channels = {}
        for k, (topic, content) in enumerate(messages):
            if topic not in channels:
                channels[topic] = writer.register_channel(
                    topic, "json", writer.register_schema("State", "jsonschema", b"{}")
                )
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            writer.add_message(channels[topic], at(k), data, at(k))
        writer.finish()
    return path


def test_a_topic_below_another_one_is_told_apart(tmp_path):
    content = [
        ("/arm", {"x": 1.0}),
        ("/arm/left", {"q": 2.0}),
        ("/arm", {"x": 3.0}),
        ("/arm/left", {"q": 4.0}),
    ]
    path = write_json(tmp_path / "log.mcap", content)
    time, q = read(path, "/arm/left/q")
    np.testing.assert_array_equal(q, [2, 4])
    np.testing.assert_allclose(time, [0.001, 0.003], atol=1e-12)


def test_a_topic_may_have_two_publishers_with_definitions_of_their_own(tmp_path):
    path = tmp_path / "log.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        for k, (text, data) in enumerate(
            [("float32 x\n", struct.pack("<f", 1.5)), ("float64 x\n", struct.pack("<d", 2.5))]
        ):
            schema = writer.register_schema("a/msg/B", "ros2msg", text.encode())
            channel = writer.register_channel("/b", "cdr", schema)
            writer.add_message(channel, START + k * MS, b"\0\1\0\0" + data, START)
        writer.finish()
    np.testing.assert_array_equal(read(path, "/b/x")[1], [1.5, 2.5])
    assert topics(path)[0].messages == 2


@pytest.mark.parametrize(
    "content",
    [
        b'{"x": ' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"x": ' + b"[" * 100_000,
        b'{"x": 1' + b"0" * 400 + b"}",
        b'{"x": [1' + b"0" * 400 + b"]}",
        b"[1]",
        b"\xff",
    ],
)
def test_hostile_json_is_one_sentence(tmp_path, content):
    path = write_json(tmp_path / "log.mcap", [("/a", {"x": 1.0}), ("/a", content)])
    assert topics(path)[0].messages == 2
    with pytest.raises(UnreadableFile, match="JSON"):
        read(path, "/a/x")


def test_times_beyond_what_a_clock_holds_are_refused(tmp_path):
    path = write_json(tmp_path / "log.mcap", [("/a", {"x": 1.0})] * 2, at=lambda k: 2**63 + k)
    with pytest.raises(UnreadableFile, match="was logged 9223372036854775808 ns after 1970"):
        topics(path)


@each_format
def test_topics_are_listed_with_rates_and_delays(tmp_path, write):
    found = {topic.name: topic for topic in topics(write(tmp_path, motion))}
    assert list(found) == ["/commands", "/ft/wrench", "/imu", "/joint_states", "/pose"]
    joints = found["/joint_states"]
    assert joints.messages == 20
    assert joints.rate_hz == pytest.approx(100)
    assert joints.delay_s == pytest.approx(0.002)
    assert joints.delay_spread_s == pytest.approx(0, abs=1e-9)
    assert "position/wrist" in joints.columns
    assert not joints.problem
    assert found["/commands"].rate_hz == pytest.approx(50)
    assert np.isnan(found["/commands"].delay_s)


def test_old_bags_without_definitions_use_those_of_ros(tmp_path):
    path = write_bag2(tmp_path / "log", motion, StoragePlugin.SQLITE3) / "log.db3"
    with closing(sqlite3.connect(path)) as database, database:
        for table in ("message_definitions", "schema"):
            database.execute(f"DROP TABLE {table}")
    _, elbow = read(path, "/joint_states/position/elbow")
    np.testing.assert_allclose(elbow, 0.1 * np.arange(20))


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["UPDATE messages SET data = 1000000000000"], "do not hold times and bytes"),
        (["UPDATE messages SET timestamp = 'now'"], "is damaged"),
        (["UPDATE messages SET topic_id = 99"], "messages of topics that it does not describe"),
        (
            [
                "DROP TABLE messages",
                "CREATE VIEW messages AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id FROM r) "
                "SELECT id, 1 AS topic_id, 1 AS timestamp, x'00' AS data FROM r",
            ],
            "missing tables",
        ),
    ],
)
def test_hostile_tables_are_one_sentence(tmp_path, statements, message):
    path = write_bag2(tmp_path / "log", motion, StoragePlugin.SQLITE3) / "log.db3"
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
    with pytest.raises(UnreadableFile, match=message):
        topics(path)


def test_a_bag_may_be_spread_over_files_that_its_description_lists(tmp_path):
    first = write_bag2(tmp_path / "log", motion, StoragePlugin.SQLITE3)
    text = (first / "metadata.yaml").read_text()
    (first / "log.db3").rename(first / "other.db3")
    (first / "metadata.yaml").write_text(text.replace("- log.db3", "- ../../elsewhere/other.db3"))
    assert len(read(first / "metadata.yaml", "/joint_states/position/elbow")[0]) == 20
    (first / "metadata.yaml").write_text(text.replace("- log.db3", "- log.db3.zstd"))
    with pytest.raises(UnreadableFile, match="decompress it first with `zstd -d`"):
        topics(first / "metadata.yaml")
    (first / "metadata.yaml").write_text("nothing: of this kind")
    with pytest.raises(UnreadableFile, match="does not describe a ROS 2 bag"):
        topics(first / "metadata.yaml")


def test_what_is_not_in_the_log_is_named(tmp_path):
    path = write_mcap(tmp_path / "log.mcap", motion)
    with pytest.raises(
        UnreadableFile, match=r"no column '/joint_states/position/elbo'; did you mean .*/elbow"
    ):
        read(path, "/joint_states/position/elbo")
    with pytest.raises(
        UnreadableFile, match=r"no column '/joint_state/position/elbow'.*messages of /joint_states"
    ):
        read(path, "/joint_state/position/elbow")
    with pytest.raises(UnreadableFile, match="no column of a topic"):
        read(path)


def damaged(content, random):
    """The bytes cut, or some of them changed."""
    data = bytearray(content)
    if random.random() < 0.3:
        return bytes(data[: random.integers(len(data))])
    for _ in range(random.integers(1, 20)):
        data[random.integers(len(data))] = random.integers(256)
    return bytes(data)


@pytest.mark.parametrize("form", ["bag", "bag-lz4", "bag-bz2", "db3-file", "mcap", "mcap-lz4", "mcap-plain"])
def test_damaged_files_are_one_sentence_or_are_read(tmp_path, form):
    path = FORMATS[form](tmp_path, motion)
    content, random = path.read_bytes(), np.random.default_rng(0)
    for _ in range(150):
        path.write_bytes(damaged(content, random))
        for check in (
            topic_facts,
            lambda path: log_columns(path, ["time", "/joint_states/position/elbow"], False),
        ):
            with suppress(PoinsotError):
                check(path)


def test_claims_about_sizes_are_checked_before_memory_is_taken(tmp_path, monkeypatch):
    path = write_bag1(tmp_path / "log.bag", motion)
    content = path.read_bytes()
    path.write_bytes(content[:13] + struct.pack("<I", 0xFFFFFFF0) + content[17:])
    with pytest.raises(UnreadableFile, match=r"Header could not be read|more memory than it may"):
        topics(path)
    path = write_mcap(tmp_path / "log.mcap", motion)
    monkeypatch.setattr(containers, "MAX_CHUNK", 100)
    with pytest.raises(UnreadableFile, match="more than the 100 that are read"):
        topics(path)


@pytest.mark.parametrize(
    ("package", "form"),
    [
        ("mcap.records", "mcap"),
        ("rosbags.rosbag1", "bag-lz4"),
        ("zstandard", "db3-zstd"),
        ("rosbags.typesys", "db3-file"),
    ],
)
def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch, package, form):
    path = FORMATS[form](tmp_path, motion)
    if form == "db3-file":
        with closing(sqlite3.connect(path)) as database, database:
            for table in ("message_definitions", "schema"):
                database.execute(f"DROP TABLE {table}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"needs the package '{package}'.*pip install 'poinsot\[bags\]'"):
        topics(path)


def test_files_of_another_kind_are_named(tmp_path):
    for name in ("log.mcap", "log.bag", "log.db3", "metadata.yaml"):
        (tmp_path / name).write_text("a,b\n1,2\n")
        with pytest.raises(UnreadableFile, match="is damaged, or no"):
            topics(tmp_path / name)
    with pytest.raises(UnreadableFile, match="is no log of messages"):
        topics(__file__)


def test_inspect_lists_the_topics_of_a_log(tmp_path, capsys):
    path = write_mcap(tmp_path / "log.mcap", motion)
    assert main(["inspect", str(path), "--json", str(tmp_path / "topics.json")]) == 0
    shown = capsys.readouterr().out
    assert "/joint_states" in shown
    assert "100 Hz" in shown
    assert "position/elbow" in shown
    content = json.loads((tmp_path / "topics.json").read_text())
    assert content["schema"] == "poinsot.topics/1"
    rates = {topic["name"]: topic["rate_hz"] for topic in content["topics"]}
    assert rates["/commands"] == pytest.approx(50)
    assert main(["inspect", str(tmp_path / "no.mcap")]) == 2
    (tmp_path / "cut.mcap").write_bytes(path.read_bytes()[:-100])
    assert main(["inspect", str(tmp_path / "cut.mcap")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_a_recording_is_read_from_a_log_by_poinsot(tmp_path):
    path = write_bag1(tmp_path / "log.bag", motion)
    recording = poinsot.read_recording(
        path,
        {
            "position.elbow": ("/joint_states/position/elbow", "rad"),
            "position_command.elbow": poinsot.Column("/commands/data[0]", "rad", hold=True, initial=0.0),
        },
        time=("time", "s"),
        require=["/joint_states/position/elbow"],
    )
    k = np.arange(20)
    np.testing.assert_allclose(recording["position.elbow"], 0.1 * k)
    # Without a stamp, a command counts from when it was logged, 3 ms after the state that it belongs to.
    np.testing.assert_allclose(recording["position_command.elbow"], 0.5 * 2 * ((k - 1) // 2) * (k > 0))
    assert any("/joint_states: logged 2 ms after its stamps" in step for step in recording.steps)
    everything = poinsot.read_recording(
        path,
        {
            "position.elbow": ("/joint_states/position/elbow", "rad"),
            "gyro.base.x": ("/imu/angular_velocity/x", "rad/s"),
        },
        time=("time", "s"),
        invalid="mask",
    )
    assert everything.mask("gyro.base.x").sum() == 4
    assert everything.mask("position.elbow").sum() == 20


def test_the_example_is_inspected_without_a_word_about_torques(tmp_path, capsys):
    assert main(["inspect", str(Path(__file__).parents[2] / "examples/so101/job.toml")]) == 0
    shown = capsys.readouterr().out
    assert "position_command.elbow_flex" in shown
    assert "missing-effort" not in shown


@pytest.mark.parametrize("ending", READERS)
def test_every_reader_is_found_by_its_ending_and_refuses_other_files(ending, tmp_path):
    path = tmp_path / f"log.{ending.upper()}"
    assert isinstance(find_reader(path), poinsot.Reader)
    path.write_bytes(b"nothing of this kind")
    for read in (lambda: poinsot.read_recording(path, {"a": ("/b/c", "1")}), lambda: list_columns(path)):
        with pytest.raises(UnreadableFile, match=r"log\.[A-Z0-9]+\b"):
            read()
    assert is_read_as_text(path) == (ending in ("csv", "tsv", "txt", "dat"))


ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody><body name="upper"><joint name="elbow" axis="0 1 0"/>
<inertial pos="0 0 -0.2" mass="1" diaginertia="0.01 0.01 0.01"/><body name="lower" pos="0 0 -0.4">
<joint name="wrist" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.01 0.01 0.01"/></body></body></worldbody></mujoco>"""


def swinging(messages):
    """Positions at 100 Hz, and at 50 Hz the commands that they follow."""
    for k in range(300):
        at, q = START + 10 * k * MS, 0.3 * np.sin(0.02 * k * np.array([1.0, 1.7]))
        yield (
            "/joint_states",
            "sensor_msgs/msg/JointState",
            at,
            messages.joint_state(at, ["elbow", "wrist"], q),
        )
        if k % 2 == 0:
            yield "/commands", "std_msgs/msg/Float64MultiArray", at + 3 * MS, messages.array(1.1 * q)


def test_a_project_is_begun_from_a_log(tmp_path):
    """Commands hold between their messages, and count on the clock of the joints."""
    (tmp_path / "arm.xml").write_text(ARM)
    log = write_mcap(tmp_path / "log.mcap", swinging)
    start = start_project(tmp_path / "arm.xml", log, tmp_path / "job.toml")
    content = tomllib.loads(start.text)
    (recording,) = content["recordings"]
    assert start.method == "actuators" == content["method"]["name"]
    assert recording["time"]["column"] == "time" and recording["require"] == ["/joint_states/position/elbow"]
    assert recording["position"]["columns"] == [
        "/joint_states/position/elbow",
        "/joint_states/position/wrist",
    ]
    assert recording["position_command"]["columns"] == ["/commands/data[0]", "/commands/data[1]"]
    assert recording["position_command"]["hold"] is True
    (tmp_path / "job.toml").write_text(start.text)
    project = Project.load(tmp_path / "job.toml")
    (run,) = project.runs(project.robot())
    assert len(run.recording) == 300 and run.held == ("position_command.elbow", "position_command.wrist")


@pytest.mark.parametrize(
    ("gains", "held"),
    [
        ((lambda k, j: 20.0, 0.0), {"stiffness": 20.0, "velocity_gain": 1.5, "derivative_gain": 0.0}),
        (
            (lambda k, j: 20.0 + 5.0 * j, 0.0),
            {"stiffness.elbow": 20.0, "velocity_gain.elbow": 1.5, "derivative_gain.elbow": 0.0}
            | {"stiffness.wrist": 25.0, "velocity_gain.wrist": 1.5, "derivative_gain.wrist": 0.0},
        ),
        (
            (lambda k, j: 20.0 * min(k / 50, 1.0), 0.0),
            {"stiffness": 20.0, "velocity_gain": 1.5, "derivative_gain": 0.0},
        ),
        ((lambda k, j: 20.0 * min(k / 150, 1.0), 0.0), None),
        ((lambda k, j: 20.0, 0.3), None),
    ],
    ids=["of all", "of each", "rising at first", "rising", "torques too"],
)
def test_gains_beside_commands_are_held(tmp_path, gains, held):
    """Messages of Unitree's robots have gains; those that change, or come with other commands, are not held."""
    stiffness, torque = gains

    def content(messages):
        types = messages.types
        motor, command, imu = (
            types[f"unitree_go/msg/{name}"] for name in ("MotorState", "MotorCmd", "IMUState")
        )
        none, at_rest = np.zeros(3, np.uint32), imu(*(np.zeros(n, np.float32) for n in (4, 3, 3)), 30)
        for k in range(200):
            q = 0.3 * np.sin(0.02 * k * np.array([1.0, 1.7]))
            angle = [float(q[j]) if j < 2 else 0.0 for j in range(20)]
            motors = [motor(1, x, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 40, 0, none[:2]) for x in angle]
            commands = [
                command(1, 1.1 * x, 0.0, torque, stiffness(k, j), 1.5, none) for j, x in enumerate(angle)
            ]
            head, at = np.zeros(2, np.uint8), START + 5 * k * MS
            state = types["unitree_go/msg/LowState"](head, 255, at_rest, motors, k)
            yield "rt/lowstate", "unitree_go/msg/LowState", at, state
            yield (
                "rt/lowcmd",
                "unitree_go/msg/LowCmd",
                at + 1000,
                types["unitree_go/msg/LowCmd"](head, 255, commands, 0),
            )

    (tmp_path / "arm.xml").write_text(ARM)
    log = write_mcap(tmp_path / "log.mcap", content)
    start = start_project(tmp_path / "arm.xml", log, tmp_path / "job.toml")
    assert tomllib.loads(start.text).get("held") == held
    said = [each for each in start.guesses if each["value"].startswith("stiffness")]
    assert len(said) == 2 and all(("not held" in each["reason"]) == (held is None) for each in said)
    (recording,) = tomllib.loads(start.text)["recordings"]
    rising = [k for k in range(199) if held and stiffness(k, 0) != stiffness(k + 1, 0)]
    assert ("between_s" in recording) == bool(rising)
    if rising:  # cut to what follows
        np.testing.assert_allclose(recording["between_s"], [0.005 * (rising[-1] + 1), 0.995], atol=1.1e-3)


def test_gains_of_a_table_are_held(tmp_path):
    """Columns of a table have gains too, where the name of a command has `kp` and `kd` in place of its first word."""
    time = np.arange(0, 8, 0.01)
    table = {"time": time}
    for joint, rate in (("FL_hip", 1.0), ("FL_thigh", 1.7)):
        q = 0.3 * np.sin(rate * time)
        rising = np.minimum(time / 2, 1.0)
        table |= {f"command_{joint}": 1.1 * q, f"position_{joint}": q}
        table |= {f"kp_{joint}": 20 * rising, f"kd_{joint}": np.full(len(time), 1.5)}
    links = "".join(
        f'<link name="{b}"><inertial><mass value="1"/><origin xyz="0 0 -0.1"/><inertia ixx="0.01" iyy="0.01" '
        f'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{b}" type="revolute"><parent link="{a}"/>'
        f'<child link="{b}"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="9" velocity="9"/></joint>'
        for a, b in (("base", "FL_hip"), ("FL_hip", "FL_thigh"))
    )
    (tmp_path / "leg.urdf").write_text(f'<robot name="leg"><link name="base"/>{links}</robot>')
    pl.DataFrame(table).write_csv(tmp_path / "log.csv")
    start = start_project(tmp_path / "leg.urdf", tmp_path / "log.csv", tmp_path / "job.toml")
    content = tomllib.loads(start.text)
    assert content["held"] == {"stiffness": 20.0, "velocity_gain": 1.5, "derivative_gain": 0.0}
    np.testing.assert_allclose(content["recordings"][0]["between_s"], [2.0, 7.99], atol=2e-3)
    said = {each["what"]: each["reason"] for each in start.guesses}
    assert said["kp_FL_hip"] == "constant in most of the log: held"
