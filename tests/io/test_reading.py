"""Readers: good files give SI values; each bad file gives one sentence that says what would have worked."""

import io
import math
import os
import struct
import time
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
import scipy.io

from poinsot import Column, Source, read_recording
from poinsot.exceptions import InvalidRecording, PoinsotError, UnknownUnit, UnreadableFile
from poinsot.io.tabular import list_csv, read_csv

TWO = {"position.a": ("q", "deg"), "torque.a": ("c", "mN m")}
CLOCK = ("t", "ms")


def table(rows: int = 5) -> dict[str, np.ndarray]:
    k = np.arange(rows, dtype=float)
    return {"t": 10 * k, "q": 90 * np.sin(k), "c": 1000 * np.cos(k)}


def csv_text(columns: Mapping[str, np.ndarray], delimiter: str = ",", header: bool = True) -> str:
    lines = [delimiter.join(columns)] if header else []
    lines += [delimiter.join(repr(float(x)) for x in row) for row in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes, name: str = "log.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def check_two(recording, rows: int = 5):
    k = np.arange(rows)
    np.testing.assert_allclose(recording.time, 0.01 * k, rtol=1e-15)
    np.testing.assert_allclose(recording["position.a"], math.pi / 2 * np.sin(k), rtol=1e-14)
    np.testing.assert_allclose(recording["torque.a"], np.cos(k), rtol=1e-14)
    assert dict(recording.units) == {"position.a": "rad", "torque.a": "N m"}


# ------------------------------------------------------------------------------------------------------- good files


@pytest.mark.parametrize(
    ("name", "delimiter", "options"),
    [
        ("log.csv", ",", {}),
        ("log.tsv", "\t", {}),
        ("log.txt", ";", {"delimiter": ";"}),
        ("log.dat", " ", {"delimiter": " "}),
        ("log.CSV", "|", {"delimiter": "|"}),
    ],
)
def test_csv(write, name, delimiter, options):
    check_two(read_recording(write(csv_text(table(), delimiter), name), TWO, time=CLOCK, **options))


def test_csv_variants(write):
    text = csv_text(table())
    blank = text.replace(",", " , ")
    for variant in (text.replace("\n", "\r\n"), "\ufeff" + text, blank, text + "\n\n", text.rstrip("\n")):
        check_two(read_recording(write(variant), TWO, time=CLOCK))
    check_two(read_recording(write("a comment\nanother\n" + text), TWO, time=CLOCK, skip_lines=2))
    check_two(read_recording(write('"t","q","c"\n' + text.split("\n", 1)[1]), TWO, time=CLOCK))


def test_columns_by_index(write):
    by_index = {"position.a": (1, "deg"), "torque.a": (2, "mN m")}
    check_two(read_recording(write(csv_text(table(), header=False)), by_index, time=(0, "ms"), header=False))
    check_two(read_recording(write(csv_text(table())), by_index, time=(0, "ms")))


def test_decimal_comma(write):
    text = csv_text(table(), ";").replace(".", ",")
    check_two(read_recording(write(text), TWO, time=CLOCK, delimiter=";", decimal_comma=True))
    with pytest.raises(UnreadableFile, match="set decimal_comma = true"):
        read_recording(write(text), TWO, time=CLOCK, delimiter=";")


def test_parquet(tmp_path):
    pl.DataFrame(table()).write_parquet(tmp_path / "log.parquet")
    check_two(read_recording(tmp_path / "log.parquet", TWO, time=CLOCK))


def test_parquet_of_integers_and_single_precision(tmp_path):
    frame = pl.DataFrame(
        {"t": [0, 1, 2], "q": pl.Series([0.5, 1.5, None], dtype=pl.Float32), "on": [True, False, True]}
    )
    frame.write_parquet(tmp_path / "log.parquet")
    recording = read_recording(
        tmp_path / "log.parquet", {"q": ("q", "rad"), "on": ("on", "1")}, time=("t", "s"), invalid="mask"
    )
    np.testing.assert_array_equal(recording["q"][:2], [0.5, 1.5])
    np.testing.assert_array_equal(recording.mask("q"), [True, True, False])
    np.testing.assert_array_equal(recording["on"], [1, 0, 1])


def test_matlab(tmp_path):
    columns = table()
    scipy.io.savemat(
        tmp_path / "log.mat",
        {
            "t": columns["t"][:, None],
            "x": np.stack([columns["q"], columns["c"]], 1),
            "log": {"in": {"c": columns["c"]}},
        },
        oned_as="row",
    )
    check_two(
        read_recording(
            tmp_path / "log.mat", {"position.a": ("x[0]", "deg"), "torque.a": ("x[1]", "mN m")}, time=CLOCK
        )
    )
    nested = {"position.a": ("x[0]", "deg"), "torque.a": ("log.in.c", "mN m")}
    check_two(read_recording(tmp_path / "log.mat", nested, time=CLOCK))


def element(kind, data):
    """Return a data element of a MATLAB 5 file."""
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def test_a_matlab_object_beside_the_data_stops_nothing(tmp_path):
    columns = table()
    content = io.BytesIO()
    scipy.io.savemat(content, {"t": columns["t"], "q": columns["q"], "c": columns["c"]})
    # as MATLAB saves a table: an element of class mxOPAQUE
    flags, names = struct.pack("<II", 17, 0), element(1, b"log") + element(1, b"MCOS") + element(1, b"table")
    numbers = struct.pack("<6I", 0xDD000000, 2, 1, 1, 1, 1)
    matrix = element(6, struct.pack("<II", 13, 0)) + element(5, struct.pack("<ii", 6, 1)) + element(1, b"")
    opaque = element(14, element(6, flags) + names + element(14, matrix + element(6, numbers)))
    path = tmp_path / "log.mat"
    path.write_bytes(content.getvalue()[:128] + opaque + content.getvalue()[128:])
    wanted = {"position.a": ("q", "deg"), "torque.a": ("c", "mN m")}
    check_two(read_recording(path, wanted, time=CLOCK))
    with pytest.raises(UnreadableFile, match=r"has no column 'speed'; it has .*c"):
        read_recording(path, wanted | {"velocity.a": ("speed", "deg/s")}, time=CLOCK)


def test_matlab_matrices_with_a_row_a_joint_are_transposed(tmp_path):
    columns = table()
    scipy.io.savemat(tmp_path / "log.mat", {"t": columns["t"], "x": np.stack([columns["q"], columns["c"]])})
    read = read_recording(
        tmp_path / "log.mat", {"position.a": ("x[0]", "deg"), "torque.a": ("x[1]", "mN m")}, time=CLOCK
    )
    check_two(read)
    assert read.steps[0] == f"log.mat: x is 2 x {len(read)} and was transposed"


def test_a_damaged_matlab_file_is_an_error_and_no_crash(tmp_path, monkeypatch):
    path = tmp_path / "log.mat"
    scipy.io.savemat(path, {"q": np.arange(100.0)}, do_compression=True)
    good = path.read_bytes()
    path.write_bytes(good[:200] + bytes(200))
    with pytest.raises(UnreadableFile, match="cannot be read as a MATLAB file, it may be damaged"):
        read_recording(path, {"q": ("q", "1")}, rate_hz=1)
    # a parser that dies of a signal takes its own process along, and no other
    path.write_bytes(good)
    monkeypatch.setattr(
        "poinsot.io.named_arrays.LOAD", "import os, signal; os.kill(os.getpid(), signal.SIGBUS)"
    )
    with pytest.raises(UnreadableFile, match="its reader crashed"):
        read_recording(path, {"q": ("q", "1")}, rate_hz=1)


def test_several_files_on_one_clock(write):
    columns = table()
    first = Source(
        write(csv_text({"t": columns["t"], "q": columns["q"]}), "a.csv"),
        {"position.a": Column("q", "deg")},
        Column(*CLOCK),
    )
    second = Source(write(csv_text({"c": columns["c"]}), "b.csv"), {"torque.a": Column("c", "mN m")})
    recording = read_recording([first, second])
    check_two(recording)
    assert [os.path.basename(path) for path in recording.metadata["sources"]] == ["a.csv", "b.csv"]


def test_a_rate_makes_the_clock(write):
    recording = read_recording(write(csv_text(table())), TWO, rate_hz=100)
    check_two(recording)
    later = read_recording(write(csv_text(table())), TWO, rate_hz=100, start_s=5.0)
    np.testing.assert_allclose(later.time, recording.time + 5, rtol=1e-15)


def test_the_clock_may_be_counted_from_anywhere(write):
    columns = table()
    columns["t"] += 1707741684072.0
    recording = read_recording(write(csv_text(columns)), TWO, time=CLOCK, start_s=0.0)
    np.testing.assert_allclose(recording.time, 0.01 * np.arange(5), atol=3e-7)  # an ulp of 1.7e9 s


def test_rows_are_cut(write):
    recording = read_recording(write(csv_text(table(9))), TWO, time=CLOCK, rows=(2, 7))
    np.testing.assert_allclose(recording.time, 0.01 * np.arange(2, 7))
    assert recording.metadata["steps"] == ["log.csv: rows 2 to 6 of 9"]
    assert len(read_recording(write(csv_text(table(9))), TWO, time=CLOCK, rows=(2, None))) == 7


def test_scale(write):
    counts = {"position.a": Column("q", "rev", scale=1 / 4096)}
    recording = read_recording(write("q\n0\n1024\n"), counts, rate_hz=1)
    np.testing.assert_allclose(recording["position.a"], [0, math.pi / 2])


ASYNCHRONOUS = "t,q,u\n0.0,1,\n,,5\n0.1,2,\n0.2,3,\n,,7\n0.3,4,\n"


def test_asynchronous_topics_are_joined(write):
    channels = {"position.a": ("q", "rad"), "voltage.a": Column("u", "V", hold=True, initial=0.5)}
    recording = read_recording(write(ASYNCHRONOUS), channels, time=("t", "s"), require=["q"])
    np.testing.assert_array_equal(recording["position.a"], [1, 2, 3, 4])
    np.testing.assert_array_equal(recording["voltage.a"], [0.5, 5, 5, 7])
    assert recording.metadata["steps"] == ["log.csv: dropped 2 rows without 'q'"]


def test_before_the_first_held_value_nothing_is_known(write):
    channels = {"position.a": ("q", "rad"), "voltage.a": Column("u", "V", hold=True)}
    with pytest.raises(InvalidRecording, match=r"column 'u' \(channel 'voltage.a'\) is empty .* row 0"):
        read_recording(write(ASYNCHRONOUS), channels, time=("t", "s"), require=["q"])
    recording = read_recording(write(ASYNCHRONOUS), channels, time=("t", "s"), require=["q"], invalid="mask")
    np.testing.assert_array_equal(recording.mask("voltage.a"), [False, True, True, True])


def test_gaps_can_be_masked(write):
    recording = read_recording(
        write("q,c\n1,2\n,3\nnan,4\ninf,5\nNULL,6\n5,7\n"),
        {"q": ("q", "rad"), "c": ("c", "V")},
        rate_hz=1,
        invalid="mask",
    )
    np.testing.assert_array_equal(recording.mask("q"), [True, False, False, False, False, True])
    assert "c" not in recording.valid
    assert recording.metadata["steps"] == ["channel 'q': 4 samples are no numbers and were masked"]


# -------------------------------------------------------------------------------------------------------- bad files

Q = {"q": ("q", "rad")}

BAD_TEXTS = {
    "wrong delimiter": (
        "q;c\n1;2\n3;4\n",
        {},
        r"not separated by a comma but by a semicolon: set delimiter = \";\"",
    ),
    "wrong delimiter, tab": ("q\tc\n1\t2\n", {}, r"set delimiter = \"\\t\""),
    "wrong delimiter, given": (
        "q,c\n1,2\n3,4\n",
        {"delimiter": ";"},
        r"not separated by a semicolon but by a comma",
    ),
    "missing column": ("qq,c\n1,2\n3,4\n", {}, r"no column 'q'; did you mean 'qq'\?; it has qq, c"),
    "text in a number": (
        "q\n1\n2\nthree\nfour\n",
        {},
        r"log.csv: column 'q' holds the text 'three' .* row 2 .* line 4",
    ),
    "text in the first row": (
        "a\n1\n",
        {"header": False, "channels": {"q": (0, "rad")}},
        "set header = true",
    ),
    "long text": ("q\n1\n" + "x" * 500 + "\n", {}, r"'x{30}\.\.\.'"),
    "no header": ("1,2\n3,4\n", {}, "has no header, its first line is all numbers: set header = false"),
    "named without header": ("1,2\n3,4\n", {"header": False}, "give its index, 0 to 1, or set header = true"),
    "index out of range": (
        "1,2\n3,4\n",
        {"header": False, "channels": {"q": (2, "rad")}},
        "no column 2: it has 2",
    ),
    "NaN": (
        "q\n1\nnan\n3\n",
        {},
        r"column 'q' \(channel 'q'\) is empty or not a number in row 1 .* line 3 of the file",
    ),
    "infinity": ("q\n1\n2\n-inf\n", {}, "is infinite in row 2"),
    "overflow": ("q\n1\n1e999\n", {}, "is infinite in row 1"),
    "empty cell": ("q,c\n1,2\n,2\n3,4\n", {}, "empty or not a number in row 1"),
    "blank line inside": ("q,c\n1,2\n\n3,4\n", {}, "empty or not a number in row 1"),
    "no clock": ("q\n1\n2\n", {"rate_hz": None}, "no clock .* name its time column, or give rate_hz"),
    "zero rate": ("q\n1\n2\n", {"rate_hz": 0}, "rate_hz must be a positive number"),
    "two clocks": ("q,t\n1,1\n2,2\n", {"time": ("t", "s")}, "both a time column and rate_hz"),
    "clock backwards": (
        "q,t\n1,1\n2,2\n3,1.5\n",
        {"time": ("t", "s"), "rate_hz": None},
        "clock 't' runs backwards in row 2 .*: 2 s, then 1.5 s",
    ),
    "clock repeats": ("q,t\n1,1\n2,1\n", {"time": ("t", "s"), "rate_hz": None}, "clock 't' repeats in row 1"),
    "clock empty": (
        "q,t\n1,1\n2,\n3,3\n",
        {"time": ("t", "s"), "rate_hz": None},
        r"clock 't' is empty .* set require = \['t'\]",
    ),
    "clock in radians": (
        "q,t\n1,1\n2,2\n",
        {"time": ("t", "rad"), "rate_hz": None},
        "clock 't' cannot be in 'rad'",
    ),
    "unknown unit": (
        "q\n1\n2\n",
        {"channels": {"q": ("q", "radd")}},
        r"unknown unit 'radd' of channel 'q'; did you mean 'rad'\?",
    ),
    "unit of something else": (
        "q\n1\n2\n",
        {"channels": {"position.a": ("q", "V")}},
        "a position is not measured in it",
    ),
    "empty file": ("", {}, "is empty"),
    "header only": ("q,c\n", {}, "0 rows are left"),
    "one row": ("q,c\n1,2\n", {}, "1 row is left"),
    "long row": ("q,c\n1,2\n1,2,3\n", {}, "line 3 has 3 cells, the first line has 2"),
    "no channels": ("q\n1\n2\n", {"channels": None}, "say which column is which channel"),
    "too many rows": ("q\n1\n2\n", {"rows": (0, 3)}, "has 2 rows"),
    "rows reversed": ("q\n1\n2\n", {"rows": (3, 1)}, "give 0 <= first < last"),
    "not UTF-8": ("q,c\n1,2\n".encode("utf-16"), {}, "not a text file in UTF-8"),
    "not UTF-8 inside": (b"q,c\n1,2\n\xff,1\n", {}, "text"),
    "binary": (b"q\0\0\0,c\n\0\1\2", {}, "not a text file"),
    "required column missing": ("q\n1\n2\n", {"require": ["z"]}, "no column 'z'"),
    "nothing left": ("q,z\n1,\n2,\n", {"require": ["z"]}, "0 rows are left"),
    "long delimiter": ("q\n1\n2\n", {"delimiter": ", "}, "a delimiter is one character"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_csv(write, case):
    text, options, sentence = BAD_TEXTS[case]
    path = write(text)
    with pytest.raises(PoinsotError, match=sentence) as caught:
        read_recording(path, **{"channels": Q, "rate_hz": 100, **options})
    message = str(caught.value)
    assert "\n" not in message
    assert "polars" not in message.lower()
    if (
        not isinstance(caught.value, UnknownUnit)
        and "delimiter is one" not in message
        and "rows are (" not in message
    ):
        assert "log.csv" in message or "rate_hz must" in message or "clock 't' cannot" in message


def test_missing_file_names_the_nearest(write, tmp_path):
    write("q\n1\n", "position.csv")
    with pytest.raises(UnreadableFile, match=r"no file .*positoin.csv; did you mean 'position.csv'\?"):
        read_recording(tmp_path / "positoin.csv", Q, rate_hz=1)
    with pytest.raises(UnreadableFile, match="there is no folder"):
        read_recording(tmp_path / "nowhere" / "position.csv", Q, rate_hz=1)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UnreadableFile, match="is a folder"):
        read_recording(tmp_path / "folder.csv", Q, rate_hz=1)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(UnreadableFile, match="not a regular file"):
        read_recording(tmp_path / "pipe.csv", Q, rate_hz=1)


def test_unknown_kind_of_file(write):
    with pytest.raises(UnreadableFile, match=r"files ending in '.xlsx' are unknown; known are .csv"):
        read_recording(write("", "log.xlsx"), Q, rate_hz=1)


def test_columns_that_make_no_sense():
    with pytest.raises(InvalidRecording, match="scale of column 'q'"):
        Column("q", "rad", scale=0.0)
    with pytest.raises(InvalidRecording, match="initial value but does not hold"):
        Column("q", "rad", initial=0.0)


def test_files_of_different_lengths(write):
    sources = [
        Source(write(csv_text({"q": np.arange(float(n))}), name), {name: Column("q", "rad")})
        for name, n in (("a.csv", 5), ("b.csv", 6))
    ]
    with pytest.raises(InvalidRecording, match=r"need the same rows, but have: .*a.csv 5, .*b.csv 6"):
        read_recording(sources, rate_hz=1)


def test_clocks_of_several_files_must_agree(write):
    def source(name, shift):
        text = csv_text({"t": np.arange(5.0) + shift, "q": np.ones(5)})
        return Source(write(text, f"{name}.csv"), {name: Column("q", "rad")}, Column("t", "s"))

    assert len(read_recording([source("a", 0), source("b", 1e-7)])) == 5
    with pytest.raises(
        InvalidRecording, match=r"do not overlap: .*a.csv runs from 0 s to 4 s, .*b.csv runs from 9 s"
    ):
        read_recording([source("a", 0), source("b", 9)])


def test_files_with_clocks_of_their_own(write):
    """States at 1 Hz, a measured effort at 0.5 Hz and a command that is written when it changes."""
    states = csv_text({"t": np.arange(9.0), "q": np.arange(9.0) ** 2})
    efforts = csv_text({"t": np.arange(1.0, 9, 2), "tau": 10 * np.arange(1.0, 9, 2)})
    commands = csv_text({"t": np.array([-1.0, 3.5]), "u": np.array([5.0, 7.0])})
    recording = read_recording(
        [
            Source(write(states, "states.csv"), {"q": Column("q", "rad")}, Column("t", "s")),
            Source(write(efforts, "efforts.csv"), {"tau": Column("tau", "N m")}, Column("t", "s")),
            Source(write(commands, "commands.csv"), {"u": Column("u", "rad", hold=True)}, Column("t", "s")),
        ]
    )
    time = np.arange(1.0, 8)
    np.testing.assert_array_equal(recording.time, time)
    np.testing.assert_array_equal(recording["q"], time**2)
    np.testing.assert_allclose(recording["tau"], 10 * time)
    np.testing.assert_array_equal(recording["u"], [5, 5, 5, 7, 7, 7, 7])
    assert any("efforts.csv was brought to the clock of" in step for step in recording.metadata["steps"])


def test_a_channel_is_read_once(write):
    source = Source(write("q\n1\n2\n"), {"q": Column("q", "rad")})
    with pytest.raises(InvalidRecording, match="channel 'q' is read twice"):
        read_recording([source, source], rate_hz=1)
    with pytest.raises(InvalidRecording, match="at least one file"):
        read_recording([], rate_hz=1)
    with pytest.raises(InvalidRecording, match="belong into each Source"):
        read_recording([source], Q, rate_hz=1)


def test_bad_parquet(write, tmp_path):
    with pytest.raises(UnreadableFile, match="cannot be read as Parquet"):
        read_recording(write("q\n1\n", "log.parquet"), Q, rate_hz=1)
    frame = pl.DataFrame({"qq": [1.0, 2.0], "name": ["a", "b"]})
    frame.write_parquet(tmp_path / "good.parquet")
    with pytest.raises(UnreadableFile, match=r"no column 'q'; did you mean 'qq'\?"):
        read_recording(tmp_path / "good.parquet", Q, rate_hz=1)
    with pytest.raises(UnreadableFile, match="column 'name' holds String, not numbers"):
        read_recording(tmp_path / "good.parquet", {"q": ("name", "rad")}, rate_hz=1)
    content = (tmp_path / "good.parquet").read_bytes()
    for length in range(0, len(content), 53):
        with pytest.raises(UnreadableFile):
            read_recording(write(content[:length], "cut.parquet"), {"q": ("qq", "rad")}, rate_hz=1)


def test_bad_matlab(write, tmp_path):
    path = tmp_path / "log.mat"
    scipy.io.savemat(
        path,
        {"q": np.ones((5, 3)), "t": np.arange(4.0), "s": {"x": 1.0}, "text": "hello", "z": np.ones(4) * 1j},
    )

    def refused(name, sentence, error=UnreadableFile):
        with pytest.raises(error, match=sentence):
            read_recording(path, {"a": (name, "rad")}, rate_hz=1)

    refused("qq", r"no column 'qq'; did you mean 'q'\?")
    refused("q", r"is a matrix of 5 x 3; name one of its columns, \"q\[0\]\" to \"q\[2\]\"")
    refused("q[3]", "has 3 columns")
    refused("q[", "names no array")
    refused(0, "names no array")
    refused("s.y", "no single struct with a field 'y', but x")
    refused("text", "not a matrix of real numbers")
    refused("z", "not a matrix of real numbers")
    with pytest.raises(InvalidRecording, match=r"different lengths cannot share a clock: t 4, q\[0\] 5"):
        read_recording(path, {"a": ("q[0]", "rad")}, time=("t", "s"))
    with pytest.raises(UnreadableFile, match=r"cannot be read as a MATLAB file|version 7\.3"):
        read_recording(write("q\n1\n", "text.mat"), Q, rate_hz=1)
    content = path.read_bytes()
    for length in range(0, len(content), 61):
        with pytest.raises(UnreadableFile):
            read_recording(write(content[:length], "cut.mat"), {"a": ("z", "rad")}, rate_hz=1)


def test_matlab_7_3_is_refused_with_advice(write):
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + (0x0200).to_bytes(2, "little") + b"IM"
    with pytest.raises(UnreadableFile, match=r"version 7.3; save it with save\(..., '-v7'\)"):
        read_recording(write(header + b"\x89HDF" * 100, "new.mat"), Q, rate_hz=1)


# ---------------------------------------------------------------------------------------------------- real recordings


def tx40_sources(folder):
    joints = range(1, 7)
    return [
        Source(
            folder / "pos_read_data.csv", {f"position.joint_{j}": Column(f"Joint_{j}", "rad") for j in joints}
        ),
        Source(folder / "curr_data.csv", {f"torque.joint_{j}": Column(f"Joint_{j}", "N m") for j in joints}),
    ]


def test_tx40(shared_data):
    sources = tx40_sources(shared_data("staubli_tx40"))
    recording = read_recording(sources, rate_hz=5000)
    assert len(recording) == 45_000
    assert recording.joints("torque") == tuple(f"joint_{j}" for j in range(1, 7))
    np.testing.assert_array_equal(recording["position.joint_2"][:2], [50.265, 50.265])
    durations = []
    for _ in range(5):
        start = time.perf_counter()
        read_recording(sources, rate_hz=5000)
        durations.append(time.perf_counter() - start)
    # 20 ms alone; a loose bound, since speed is the benchmark's matter: it only catches reading text first.
    assert min(durations) < 0.5


def test_emps(shared_data):
    path = shared_data("emps") / "DATA_EMPS.mat"
    recording = read_recording(path, {"position.x": ("qm", "m"), "voltage.x": ("vir", "V")}, time=("t", "s"))
    assert len(recording) == 24_841
    assert recording.rate_hz == pytest.approx(1000, rel=1e-3)


def test_ur10e(shared_data):
    path = shared_data("ur10e") / "free.csv"
    recording = read_recording(
        path,
        {f"position.{j}": (j, "rad") for j in range(1, 7)},
        time=(0, "s"),
        header=False,
        rows=(194, 4966),
    )
    assert len(recording) == 4772
    assert recording.duration_s == pytest.approx(49.6, abs=2)


def test_furuta(shared_data):
    stamp, arm = "/joint_states/header/stamp", "/joint_states/joint0/position"
    recording = read_recording(
        shared_data("furuta") / "hardware_step_response_2V.csv",
        {"position.arm": (arm, "rad"), "voltage.arm": Column("/effort_control/data.0", "V", hold=True, initial=0.0)},
        time=(stamp, "s"), require=[arm], start_s=0.0,
    )  # fmt: skip
    assert recording.rate_hz == pytest.approx(500, rel=0.01)
    assert abs(recording["voltage.arm"]).max() == pytest.approx(2.0)


def test_crazyflie(shared_data):
    path = shared_data("crazyflie") / "circle_34p7g_onboard.parquet"
    recording = read_recording(
        path, {"gyro.x": ("gyro.x", "deg/s"), "acceleration.z": ("acc.z", "g")}, time=("t", "s")
    )
    assert recording["acceleration.z"].mean() == pytest.approx(9.81, rel=0.02)


def test_a_table_that_blanks_align(tmp_path):
    path = tmp_path / "log.dat"
    path.write_text("     t      q\n   0.0   1.50\n  10.0 -12.25\n")
    content, _ = list_csv(path)
    assert content["columns"] == ["t", "q"] and content["source"] == {"delimiter": " "}
    table = read_csv(Source(path, {"position.a": ("q", "rad")}, delimiter=" "))
    np.testing.assert_array_equal(table["q"], [1.5, -12.25])


def test_a_header_in_the_encoding_of_windows(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes("q [°],c\n1,ü\n3,b\n".encode("cp1252"))
    assert list_csv(path)[0]["columns"] == ["q [°]", "c"]
    np.testing.assert_array_equal(read_csv(Source(path, {"position.a": ("q [°]", "deg")}))["q [°]"], [1, 3])
