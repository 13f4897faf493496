"""Damaged files for every reader: nothing may come of one but success, or one `PoinsotError`.

    seeds      small correct files of a format
    mutations  what damages them: bytes, spans, numbers, words of the format
    attack     one process with limits that reads mutated files, and keeps those that were answered in a new way

A new answer (the message without its numbers and names) makes an input a seed of further ones, which leads deeper into
a format. `atheris`, where it is installed, is led by the lines that ran: `python benchmarks/support/hostile.py --guided
csv`.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import random
import re
import resource
import signal
import struct
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ARM = ROOT / "examples" / "arm"
CORPUS = ROOT / "tests" / "hostile" / "corpus"

SECONDS, MEMORY = 20, 6 * 2**30
"""Limits of one input [s], and of the memory of the process [bytes], most of which its libraries take."""

MAX_BYTES = 1 << 16
"""Size of a mutated input; now and then a part is repeated to sixteen times this size."""

NUMBERS = [
    *(
        b"0",
        b"-1",
        b"1e308",
        b"-1e308",
        b"1e-320",
        b"1e999",
        b"nan",
        b"inf",
        b"-0.0",
        b"1e30",
        b"1e-30",
        b"1e15",
    ),
    *(
        b"9" * 400,
        b"9" * 5000,
        b"2147483648",
        b"9223372036854775808",
        b"4294967295",
        b"0x10",
        b"1_0",
        b"+5",
        b".",
    ),
]
TEXTS = [
    b"",
    b"\0",
    b"\r",
    b"\n",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"'",
    b'"',
    b"\\",
    b"[" * 2000,
    b"{" * 99,
    b"\xc3\xa9",
]
SIZES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**40, 2**63 - 1, 2**64 - 1]


# ---------------------------------------------------------------------------------------------------------------- seeds


def table() -> Any:
    import polars as pl

    k = np.arange(30)
    columns = {"t": k / 100, "q1": np.sin(0.3 * k).round(4), "q2": np.cos(0.2 * k).round(4), "tau1": 0.5 * k}
    return pl.DataFrame(columns)


def csv_seeds() -> Iterator[bytes]:
    text = table().write_csv()
    yield text.encode()
    yield text.replace(".", "@").replace(",", ";").replace("@", ",").encode()
    yield text.replace(",", "\t").replace("\n", "\r\n").encode()
    yield text.replace("5", "", 3).replace("0.1", '" 0.1 "', 2).encode()


def parquet_seeds() -> Iterator[bytes]:
    for compression in ("uncompressed", "snappy", "zstd", "gzip"):
        file = io.BytesIO()
        table().write_parquet(file, compression=compression, row_group_size=16)
        yield file.getvalue()


def mat_seeds() -> Iterator[bytes]:
    from scipy.io import savemat

    q = table().to_numpy()
    for content in ({"t": q[:, 0], "q": q, "log": {"q": q, "name": "arm"}}, {"q": q.T.astype("f4")}):
        for options in ({}, {"format": "4"}, {"do_compression": True}):
            file = io.BytesIO()
            with suppress(TypeError, ValueError):  # version 4 has no structs
                savemat(file, content, **options)
                yield file.getvalue()


def npz_seeds() -> Iterator[bytes]:
    from poinsot.io.npz import write_recording
    from poinsot.recording import Recording

    q = table().to_numpy()
    path = Path("seed.npz")
    valid = {"position.a": q[:, 1] > 0}
    write_recording(
        Recording(
            q[:, 0],
            {"position.a": q[:, 1], "torque.a": q[:, 3]},
            {"position.a": "rad", "torque.a": "N m"},
            valid,
        ),
        path,
    )
    yield path.read_bytes()


def checkpoint_seeds() -> Iterator[bytes]:
    file = io.BytesIO()
    np.savez(
        file,
        text=np.array(json.dumps({"format": "x", "state": {}, "job": {}})),
        coefficients=np.zeros((2, 3)),
    )
    yield file.getvalue()


def json_line_seeds() -> Iterator[bytes]:
    q = table().to_numpy()
    lines = [
        {"time": t, "position": [x, y, 0], "torque": [u, 0, None]}
        | ({"velocity": [0, 0, 0]} if k % 2 else {})
        for k, (t, x, y, u) in enumerate(q.tolist())
    ]
    lines[5]["wrenches"] = {"forearm": [0, 0, 1, 0, 0, 0]}
    yield "".join(json.dumps(line) + "\n" for line in lines).encode()


def result_seeds() -> Iterator[bytes]:
    row = {
        "name": "m.forearm",
        "value": 2.1,
        "std": 0.1,
        "unit": "kg",
        "kind": "inertia",
        "covariance": [0.01],
    }
    gains = [{"joint": "elbow", "unit": "N m/A", "value": 1.0, "covariance": [0.1], "identified": True}]
    settings = {
        "project": {"robot": {"path": "arm.urdf"}, "method": {"name": "least-squares"}},
        "project_file": "j.toml",
    }
    content = {
        "schema": "poinsot.identify/1",
        "parameters": [row],
        "drive_gains": gains,
        "settings": settings,
    }
    yield json.dumps(
        content | {"fit": {"rms_per_joint": [0.1] * 3, "units": ["N m"] * 3}, "validation": None}
    ).encode()


def toml_seeds() -> Iterator[bytes]:
    for name in (
        "arm/job",
        "arm/track",
        "arm/physical",
        "quadruped/job",
        "furuta/job",
        "throw/job",
        "so101/job",
    ):
        yield (ROOT / "examples" / f"{name}.toml").read_bytes()


def urdf_seeds() -> Iterator[bytes]:
    for name in ("arm/arm", "counterbalance/robot", "quadruped/quadruped"):
        yield (ROOT / "examples" / f"{name}.urdf").read_bytes()


def mjcf_seeds() -> Iterator[bytes]:
    link = (
        '<body name="{0}" pos="0 0 1"><joint name="j{0}" type="hinge" axis="0 1 0" range="-1 1" '
        'armature="0.1" damping="1"/>'
        '<inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.1"/><geom type="capsule" size="0.1 0.2"/>{1}</body>'
    )
    body = link.format("a", link.format("b", '<body name="c"><freejoint/><geom size="1" mass="1"/></body>'))
    yield (
        '<mujoco model="m"><compiler angle="radian" autolimits="true"/><option gravity="0 0 -9.81"/>'
        '<default><default class="x"><joint damping="2"/></default></default>'
        f'<worldbody>{body}</worldbody><equality><connect body1="a" body2="b" anchor="0 0 0"/></equality>'
        '<actuator><motor joint="ja" gear="5"/></actuator></mujoco>'
    ).encode()


def logs(write: Callable[[Path, Any], None], name: str) -> bytes:
    """A log of joint states, as one of the writers of `rosbags` or `mcap` makes it."""
    from rosbags.typesys import Stores, get_typestore

    ros1 = name.endswith(".bag")
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    types, kind = store.types, "sensor_msgs/msg/JointState"
    messages = []
    for k in range(12):
        stamp = types["builtin_interfaces/msg/Time"](5, 10_000_000 * k)
        header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="b", **({"seq": k} if ros1 else {}))
        state = types[kind](header, ["a", "b"], np.array([0.1 * k, k]), np.array([]), np.array([1.0, 2.0]))
        data = store.serialize_ros1(state, kind) if ros1 else store.serialize_cdr(state, kind)
        messages.append((5 * 10**9 + 10**7 * k, bytes(data)))
    write(Path(name), (store, kind, messages))
    return Path(name).read_bytes()


def bag_seeds() -> Iterator[bytes]:
    from rosbags.rosbag1 import Writer

    def write(path: Path, content: Any, compression: Any = None) -> None:
        store, kind, messages = content
        path.unlink(missing_ok=True)
        bag = Writer(path)
        if compression is not None:
            bag.set_compression(compression)
        with bag:
            connection = bag.add_connection("/joint_states", kind, typestore=store)
            for at, data in messages:
                bag.write(connection, at, data)

    yield logs(write, "seed.bag")
    yield logs(lambda path, content: write(path, content, Writer.CompressionFormat.BZ2), "seed.bag")


def db3_seeds() -> Iterator[bytes]:
    import sqlite3

    def write(path: Path, content: Any) -> None:
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path)
        database.execute(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)"
        )
        database.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"
        )
        database.execute("INSERT INTO topics VALUES(1, '/joint_states', ?, 'cdr')", [content[1]])
        rows = [(at, data) for at, data in content[2]]
        database.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES(1, ?, ?)", rows)
        database.commit()
        database.close()

    yield logs(write, "seed.db3")


def mcap_seeds() -> Iterator[bytes]:
    from mcap.writer import CompressionType, Writer

    def write(path: Path, content: Any, compression: Any, ros2: bool) -> None:
        store, kind, messages = content
        with path.open("wb") as file:
            writer = Writer(file, chunk_size=512, compression=compression, enable_crcs=False)
            writer.start()
            text = store.generate_msgdef(kind, ros_version=2)[0].encode()
            schema = writer.register_schema(
                kind, "ros2msg" if ros2 else "jsonschema", text if ros2 else b"{}"
            )
            channel = writer.register_channel("/joint_states", "cdr" if ros2 else "json", schema)
            for at, data in messages:
                writer.add_message(
                    channel, at, data if ros2 else b'{"name": ["a"], "position": [%d]}' % (at % 7), at
                )
            writer.finish()

    for compression in (CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4):
        yield logs(lambda path, content, by=compression: write(path, content, by, True), "seed.mcap")
    yield logs(lambda path, content: write(path, content, CompressionType.NONE, False), "seed.mcap")


# -------------------------------------------------------------------------------------------------------------- readers


def read_table(path: Path) -> None:
    """As `poinsot new` and a project file read one; the options vary with the content."""
    import poinsot
    from poinsot.io.readers import list_columns

    with suppress(poinsot.PoinsotError):
        list_columns(path)
    way = path.stat().st_size % 5
    channels: Any = {
        "position.a": ("q1", "deg"),
        "torque.a": poinsot.Column("tau1", "N m", scale=2.0, hold=way == 3),
    }
    options: dict[str, Any] = {"time": ("t", "s"), "invalid": "mask" if way == 4 else "raise"}
    if way == 1 and path.suffix == ".csv":
        channels, options = {"position.a": (1, "rad")}, {"header": False, "skip_lines": 1, "rate_hz": 100}
    if way == 2 and path.suffix == ".csv":
        options |= {"delimiter": ";", "decimal_comma": True}
    poinsot.read_recording(path, channels, **options)


def read_variables(path: Path) -> None:
    import poinsot

    poinsot.read_recording(
        path, {"position.a": ("q[1]", "rad"), "torque.a": ("log.q[3]", "N m")}, rate_hz=100
    )


def read_own(path: Path) -> None:
    import poinsot

    poinsot.read_recording(path)


def read_search(path: Path) -> None:
    from poinsot import OptimalExcitation
    from poinsot.excitation.design import read_checkpoint

    read_checkpoint(path, problem(), OptimalExcitation())


def read_stream(path: Path) -> None:
    from poinsot.estimators.online.moving_polynomial import MovingPolynomial
    from poinsot.estimators.online.problem import line_layout, stream_ticks
    from poinsot.io.json_lines import SampleStream

    lines = SampleStream(str(path), line_layout(robot()))
    for sample in MovingPolynomial(0.1, sample_hz=50).samples(stream_ticks(robot(), lines)):
        assert sample.q.shape == (3,)


def read_result(path: Path) -> None:
    from poinsot.project.prediction import load_dynamics

    assert len(load_dynamics(path, ARM).theta) > 0


def read_project(path: Path) -> None:
    """The settings, and the robot: the folder is that of an example."""
    from poinsot.project import Project

    project = Project.load(path)
    project.inputs(ARM)
    if project.settings.robot is not None:
        project.robot(ARM)


def read_robot(path: Path) -> None:
    from poinsot.export.reading import open_description
    from poinsot.models.robot.articulated import load_robot

    description = open_description(path)
    for link in description.links:
        description.inertial(link)
    for freedom in description.freedoms:
        description.terms(freedom)
    load_robot(path)


def read_log(path: Path) -> None:
    import poinsot
    from poinsot.io.readers import list_columns

    with suppress(poinsot.PoinsotError):
        list_columns(path)
    channels: Any = {
        "position.a": ("/joint_states/position/a", "rad"),
        "torque.a": ("/joint_states/effort[1]", "N m"),
    }
    poinsot.read_recording(path, channels, time=("time", "s"))


@cache
def robot() -> Any:
    from poinsot.models.robot.articulated import load_robot

    return load_robot(ARM / "arm.urdf")


@cache
def problem() -> Any:
    from poinsot.excitation.problem import excitation_problem

    return excitation_problem(robot())


@dataclass(frozen=True)
class Target:
    """A format. `suffix`: suffix of its files. `share`: share of all inputs, smaller where an input takes longer.
    `words`: its keywords.
    """

    suffix: str
    seeds: Callable[[], Iterator[bytes]]
    read: Callable[[Path], None]
    share: float
    words: tuple[bytes, ...] = ()


TARGETS: Mapping[str, Target] = {
    "csv": Target(".csv", csv_seeds, read_table, 4, (b",", b";", b"\t", b"q1", b"t", b"tau1", b"NULL", b'""', b"\r\n")),
    "parquet": Target(".parquet", parquet_seeds, read_table, 3, (b"PAR1", b"q1")),
    "mat": Target(".mat", mat_seeds, read_variables, 0.5, (b"MATLAB 5.0", b"MATLAB 7.3", b"IM", b"MI")),
    "npz": Target(".npz", npz_seeds, read_own, 3, (b"PK\x03\x04", b"<f8", b"'shape': (", b"masked", b"|O")),
    "checkpoint": Target(".npz", checkpoint_seeds, read_search, 1, (b"format", b"state", b"|O", b"<f8")),
    "json-lines": Target(".jsonl", json_line_seeds, read_stream, 2, (b"null", b"true", b"wrenches", b"NaN")),
    "result": Target(".json", result_seeds, read_result, 2, (b"null", b"[]", b"{}", b"full_parameters", b"true")),
    "toml": Target(
        ".toml", toml_seeds, read_project, 2, (b"[", b"]]", b"=", b"[[recordings]]", b"true", b"[]", b"inf", b"{}")
    ),
    "urdf": Target(
        ".urdf", urdf_seeds, read_robot, 3,
        (b"<link name='a'>", b"<joint type='fixed'>", b"&lt;", b"<!--", b"]]>", b"<!DOCTYPE a>", b"continuous"),
    ),
    "mjcf": Target(
        ".xml", mjcf_seeds, read_robot, 3,
        (b"<body>", b"</body>", b"<freejoint/>", b"ball", b"<weld/>", b"<include file='a'/>", b"childclass='x'"),
    ),
    "mcap": Target(".mcap", mcap_seeds, read_log, 2, (b"\x89MCAP0\r\n", b"zstd", b"lz4", b"ros1msg", b"json")),
    "bag": Target(".bag", bag_seeds, read_log, 2, (b"#ROSBAG V2.0\n", b"op=", b"bz2", b"none", b"string[2147483647]")),
    "db3": Target(".db3", db3_seeds, read_log, 1, (b"SQLite format 3\0", b"cdr", b"CREATE VIEW messages")),
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ mutations

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def span(rng: random.Random, data: bytes, longest: int = 256) -> slice:
    start = rng.randrange(len(data) + 1)
    return slice(start, start + rng.randrange(1, longest))


def mutated(rng: random.Random, data: bytes, others: list[bytes], words: tuple[bytes, ...]) -> bytes:
    """The data with one change."""
    kind = rng.randrange(11)
    part, place = span(rng, data), rng.randrange(len(data) + 1)
    if kind == 0 and data:
        place = rng.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if kind == 1:
        width = rng.choice((1, 2, 4, 8))
        size = rng.choice(SIZES) + rng.randrange(-2, 3)
        number = (size % 2 ** (8 * width)).to_bytes(width, rng.choice(("little", "big")))
        return data[:place] + number + data[place + width :]
    if kind == 2:
        return data[: part.start] + data[part.stop :]
    if kind == 3:
        return data[:place] + data[part] * rng.choice((1, 1, 2, 50)) + data[place:]
    if kind == 4:
        return data[:place] + rng.choice(TEXTS) + data[place:]
    if kind in (5, 6) and (numbers := list(NUMBER.finditer(data))):
        match = rng.choice(numbers)
        return data[: match.start()] + rng.choice(NUMBERS) + data[match.end() :]
    if kind == 7:
        other = rng.choice(others)
        return data[:place] + other[span(rng, other, 2048)] + data[place + rng.choice((0, 64)) :]
    if kind == 8 and words:
        return data[:place] + rng.choice(words) + data[place + rng.choice((0, 0, 4)) :]
    if kind == 9:
        return data[:place]
    if kind == 10 and rng.random() < 0.1:
        return (
            data[: part.start]
            + data[part] * min(5000, 16 * MAX_BYTES // max(len(data[part]), 1))
            + data[part.stop :]
        )
    return bytes(rng.randrange(256) for _ in range(3)).join((data[:place], data[place:]))


def repacked(rng: random.Random, data: bytes, others: list[bytes], words: tuple[bytes, ...]) -> bytes:
    """An archive with one changed member, whose checksum is right again."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w") as packed:
        names = archive.namelist()
        changed = rng.choice(names)
        for name in names:
            content = archive.read(name)
            packed.writestr(name, mutated(rng, content, others, words) if name == changed else content)
    return out.getvalue()


def attempt(rng: random.Random, corpus: list[bytes], target: Target) -> bytes:
    """An input: one of the corpus with some changes."""
    data = rng.choice(corpus)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        changed = None
        if data[:2] == b"PK" and rng.random() < 0.7:
            with suppress(Exception):  # it may be no archive any more
                changed = repacked(rng, data, corpus, target.words)
        data = mutated(rng, data, corpus, target.words) if changed is None else changed
        if len(data) > 16 * MAX_BYTES:
            data = data[:MAX_BYTES]
    return data


# --------------------------------------------------------------------------------------------------------------- attack


class TooSlow(BaseException):
    """An input took longer than it may."""


PARSED_BY_FORK = ("mat", "parquet", "mcap", "bag", "db3")


def parse_by_fork() -> None:
    """Let native parsers run in forks of one process that has imported them: starting Python takes a hundred times as
    long. That process computes nothing itself, since threads would be missing in its forks.
    """
    import subprocess

    (asking, questions), (answering, answers) = os.pipe(), os.pipe()
    if not os.fork():
        os.close(questions)
        _answer_by_fork(os.fdopen(asking), answers)
    os.close(asking)
    os.close(answers)
    replies, number = os.fdopen(answering), count()

    def run(command: list[str], **options: Any) -> Any:
        k = next(number)
        Path("stdin").write_bytes(options["input"])
        os.write(questions, json.dumps([k, *command[2:]]).encode() + b"\n")
        while (reply := replies.readline().split()) and int(reply[0]) != k:  # one that came too late
            pass
        output = [Path(name).read_bytes() for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(command, int(reply[1]), *output)

    subprocess.run = run  # type: ignore[assignment]


def _answer_by_fork(questions: Any, answers: int) -> None:
    import polars  # noqa: F401
    import scipy.io  # noqa: F401

    with suppress(ImportError):
        import mcap.stream_reader  # noqa: F401
        import rosbags.rosbag1
        import rosbags.rosbag2.storage_sqlite3  # noqa: F401

        import poinsot.io.message_columns  # noqa: F401

    for line in questions:
        k, source, *arguments = json.loads(line)
        child = os.fork()
        if not child:
            signal.alarm(2 * SECONDS)
            for number, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
            sys.argv = ["-c", *arguments]
            os.dup2(os.open("stdin", os.O_RDONLY), 0)
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(k, mode) for k, mode in enumerate("rww"))
            code = 0
            try:
                exec(source, {})
            except SystemExit as leaving:
                code = leaving.code if isinstance(leaving.code, int) else 1
                if not isinstance(leaving.code, int):
                    sys.stderr.write(str(leaving.code))
            except BaseException:
                code = 1
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(answers, b"%d %d\n" % (k, code))
    os._exit(0)


def answer(target: Target, path: Path) -> tuple[str, str]:
    """Outcome of a file: `ok`, `refused` with the shape of its sentence, or `exception` with the trace."""
    from poinsot.exceptions import MAX_MESSAGE, PoinsotError

    try:
        target.read(path)
    except PoinsotError as error:
        message = str(error)
        if "\n" in message or len(message) > MAX_MESSAGE:
            return "exception", f"not one line: {message!r}"
        return "refused", type(error).__name__ + re.sub(r"'[^']*'|[\d.e+-]*\d[\d.e+-]*", "#", message)[:100]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return "exception", "".join(traceback.format_exception(error))[-3000:]
    return "ok", ""


def corpus_of(name: str) -> list[bytes]:
    """Seeds, and what was found before."""
    inputs = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    return [*TARGETS[name].seeds(), *inputs]


def attack(name: str, inputs: int, seed: str, folder: Path) -> None:
    """Read so many mutated files of a format, in this process; each exception becomes a file in `folder`."""
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    target, rng = TARGETS[name], random.Random(f"{name} {seed}")
    if name in PARSED_BY_FORK:
        parse_by_fork()
    corpus = corpus_of(name)
    path = folder / f"input{target.suffix}"
    answers = set()
    for data in corpus:  # also imports and compiles everything before the limits
        path.write_bytes(data)
        answers.add(answer(target, path))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def stop(*_: Any) -> None:
        raise TooSlow

    signal.signal(signal.SIGALRM, stop)
    with (folder / "progress").open("r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        for k in range(inputs):
            data = attempt(rng, corpus, target)
            path.write_bytes(data)
            progress[:8] = struct.pack("<q", k + 1)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            result = answer(target, path)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if result[0] == "exception":
                (folder / f"exception-{seed}-{k}{target.suffix}").write_bytes(data)
                (folder / f"exception-{seed}-{k}.trace").write_text(result[1], errors="replace")
            elif result not in answers and len(data) <= MAX_BYTES and len(corpus) < 2000:
                answers.add(result)
                corpus.append(data)


if __name__ == "__main__":
    attack(sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
