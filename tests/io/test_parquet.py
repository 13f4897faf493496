"""Parquet files that make Polars abort are refused in one sentence wherever they are read, and good ones are read."""

import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from poinsot import ParquetLog, Source, read_recording
from poinsot.exceptions import UnreadableFile
from poinsot.io import parquet
from poinsot.io.lerobot import _read_parquet
from poinsot.io.parquet import checked, list_parquet
from poinsot.io.readers import list_columns
from poinsot.io.recording_files import read_parquet

# 30 rows of t, q1, q2 and tau1; a run in the definition levels of a page has more values than memory has bits
ABORTS = Path(__file__).parents[1] / "hostile" / "corpus" / "parquet" / "validity-run.parquet"
CHANNELS = {"position.a": ("q1", "rad"), "position.b": ("q2", "rad"), "torque.a": ("tau1", "N m")}


@pytest.fixture(scope="module")
def table():
    t = np.arange(40) / 100
    return pl.DataFrame({"t": t, "q1": np.sin(t), "q2": np.cos(t), "tau1": 2 * t})


@pytest.fixture
def processes(monkeypatch):
    """Arguments of the processes that were started."""
    started, run = [], subprocess.run
    monkeypatch.setattr(
        subprocess, "run", lambda command, **more: (started.append(command), run(command, **more))[1]
    )
    return started


@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_recording(path, CHANNELS, time=("t", "s")),
        lambda path: ParquetLog([path], CHANNELS, ("t", "s")),
        lambda path: _read_parquet(path, ["t", "q1", "q2", "tau1"], 0),
        read_parquet,
    ],
    ids=["table", "log in blocks", "LeRobot", "recording"],
)
def test_what_makes_polars_abort_is_refused_in_one_sentence(read):
    with pytest.raises(
        UnreadableFile, match=r"cannot be read as Parquet, it may be damaged: its reader crashed$"
    ):
        read(ABORTS)


def test_more_rows_than_memory_holds_are_refused_before_they_are_read(tmp_path, table):
    path = tmp_path / "log.parquet"
    table.write_parquet(path)
    with checked(path, ["t", "q1"], 2 * 8 * 40):
        pass
    with (
        pytest.raises(UnreadableFile, match="it claims to have 40 rows"),
        checked(path, ["t", "q1"], 2 * 8 * 40 - 1),
    ):
        raise AssertionError("not reached")


def test_a_file_is_checked_once_as_long_as_it_is_the_same(tmp_path, table, processes):
    path = tmp_path / "log [1].parquet"  # no pattern
    table.write_parquet(path)
    for _ in range(3):
        recording = read_recording(path, CHANNELS, time=("t", "s"))
    assert len(processes) == 1
    np.testing.assert_array_equal(recording["torque.a"], table["tau1"])
    path.write_bytes(ABORTS.read_bytes())
    for _ in range(2):
        with pytest.raises(UnreadableFile, match="crashed"):
            read_recording(path, CHANNELS, time=("t", "s"))
    assert len(processes) == 3


def test_columns_are_listed(tmp_path, table, monkeypatch):
    path = tmp_path / "log.parquet"
    table.with_columns(name=pl.lit("arm")).write_parquet(path)
    assert list_columns(path).names == ("t", "q1", "q2", "tau1")
    content, text = list_parquet(path)
    assert content == {
        "schema": "poinsot.columns/1",
        "log": "log.parquet",
        "columns": ["t", "q1", "q2", "tau1"],
    }
    assert text.splitlines() == ["log.parquet", *(f"{name}  Float64" for name in ("t", "q1", "q2", "tau1"))]
    source = Source(path, CHANNELS, ("t", "s"))
    assert ParquetLog.bytes_in_memory(source) == path.stat().st_size
    monkeypatch.setattr(parquet, "SMALL", 0)
    assert ParquetLog.bytes_in_memory(source) == 40 * 4 * 8
    path.write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    assert ParquetLog.bytes_in_memory(source) == 0
    with pytest.raises(UnreadableFile, match="cannot be read as Parquet"):
        list_columns(path)
