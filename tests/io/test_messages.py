"""Definitions and bytes of ROS messages, against what rosbags writes."""

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from poinsot.exceptions import UnreadableFile
from poinsot.io.containers import Topic
from poinsot.io.messages import message_decoder, parse_definition

STORES = {"ros1": get_typestore(Stores.ROS1_NOETIC), "cdr": get_typestore(Stores.ROS2_HUMBLE)}
MIXED = """uint8 MODE=3
string NAME=a # b
bool on
int8 small
float64 large
string text
int16[3] triple
float32[] many
string[] words
Part[] parts
Part[2] pair
builtin_interfaces/Time stamp
uint64 last
================================================================================
MSG: test_msgs/Part
uint8 a
float64 b
uint16[] c
"""


def decoder(text, kind, encoding):
    return message_decoder(Topic("/topic", kind, encoding, text))


def encode(store, encoding, message, kind):
    serialize = store.serialize_cdr if encoding == "cdr" else store.serialize_ros1
    return bytes(serialize(message, kind))


def definition(store, kind, encoding):
    return store.generate_msgdef(kind, ros_version=2 if encoding == "cdr" else 1)[0]


@pytest.fixture(scope="module")
def mixed():
    """Messages of a type with all kinds of fields at all kinds of offsets."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    text = MIXED.replace("Part[", "test_msgs/msg/Part[")
    store.register(get_types_from_msg(text, "test_msgs/msg/Mixed"))
    types = store.types
    part, time = types["test_msgs/msg/Part"], types["builtin_interfaces/msg/Time"]

    def message(seed):
        random = np.random.default_rng(seed)

        def some(dtype, count):
            return random.integers(0, 100, count).astype(dtype)

        parts = [part(k, 0.5 * k, some(np.uint16, random.integers(0, 4))) for k in range(5)]
        n = random.integers(0, 4)
        words = ["w" * random.integers(0, 6) for _ in range(n)]
        fields = (
            True, -4, 1e300, "t" * int(random.integers(0, 9)), some(np.int16, 3), some(np.float32, n), words,
            parts[:n], parts[3:], time(12, 34), 2**63,
        )  # fmt: skip
        return types["test_msgs/msg/Mixed"](*fields)

    return store, message


def same(decoded, message):
    for name, value in decoded.items():
        expected = getattr(message, name)
        if isinstance(value, dict):
            same(value, expected)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for a, b in zip(value, expected, strict=True):
                same(a, b)
        elif name == "stamp":
            assert value == expected.sec * 10**9 + expected.nanosec
        else:
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("seed", range(30))
def test_messages_of_all_fields_come_back(mixed, seed):
    store, message = mixed
    decode = decoder(MIXED, "test_msgs/msg/Mixed", "cdr")
    data = encode(store, "cdr", message(seed), "test_msgs/msg/Mixed")
    same(decode(data).fields, message(seed))
    # The packed encoding has the same fields without the alignment.
    packed = bytes(store.cdr_to_ros1(data, "test_msgs/msg/Mixed"))
    ros1 = MIXED.replace("builtin_interfaces/Time", "time")
    same(decoder(ros1, "test_msgs/Mixed", "ros1")(packed).fields, message(seed))


@pytest.mark.parametrize("encoding", ["ros1", "cdr"])
@pytest.mark.parametrize(
    "kind",
    ["sensor_msgs/msg/Imu", "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped",
     "geometry_msgs/msg/PoseStamped", "std_msgs/msg/Float64MultiArray", "trajectory_msgs/msg/JointTrajectory"],
)  # fmt: skip
def test_definitions_of_common_types_are_understood(encoding, kind):
    text = definition(STORES[encoding], kind, encoding)
    assert kind in parse_definition(text, kind)


@pytest.mark.parametrize("cut", [0, 3, 4, 7, 20, 60])
def test_cut_messages_are_one_sentence(mixed, cut):
    store, message = mixed
    decode = decoder(MIXED, "test_msgs/msg/Mixed", "cdr")
    with pytest.raises(UnreadableFile, match="is damaged"):
        decode(encode(store, "cdr", message(1), "test_msgs/msg/Mixed")[:cut])


def test_lengths_beyond_the_message_are_refused_before_they_are_read():
    decode = decoder("string[] words\nfloat64[] many", "a/B", "ros1")
    with pytest.raises(UnreadableFile, match="is damaged"):
        decode(b"\xff\xff\xff\xff")
    with pytest.raises(UnreadableFile, match="is damaged"):
        decode(b"\0\0\0\0\xff\xff\xff\x7f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a/B[] more", "contains itself"),
        ("a/C[] more\n====\nMSG: a/C\n", "a/C, which has no field"),
        ("Unknown x", "uses a/Unknown, which it does not contain"),
        ("float64[99999999] x", "has 99999999 elements"),
        ("float64 3x", "which is no field"),
        ("float64 x\n" * 6000, "more than 5000 fields"),
        ("#" * 2_000_000, "longer than"),
        (
            "T0 x\n"
            + "".join(f"====\nMSG: a/T{k}\nT{k + 1} x\n" for k in range(200))
            + "===\nMSG: a/T200\nbool x",
            "nested more than",
        ),
    ],
)
def test_hostile_definitions_are_one_sentence(text, message):
    with pytest.raises(UnreadableFile, match=message):
        parse_definition(text, "a/B")
