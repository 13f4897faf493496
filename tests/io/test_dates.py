"""Clocks of dates and times: ISO 8601 in CSV files, types of dates in Parquet files; the wrong cell is named."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

import poinsot
from poinsot import ParquetLog
from poinsot.exceptions import PoinsotError, UnreadableFile
from poinsot.io.tabular import epoch_seconds

CHANNELS = {"position.a": ("q", "rad")}
TIME = ("stamp", "datetime")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

WRITTEN = {
    "UTC": ("2026-05-04T12:00:00.125Z", 0.125),
    "a blank for the T": ("2026-05-04 12:00:00.125", 0.125),
    "without a zone": ("2026-05-04T12:00:00", 0.0),
    "a zone": ("2026-05-04T14:00:00.5+02:00", 0.5),
    "a zone without a colon": ("2026-05-04 06:30:00.25-0530", 0.25),
    "a zone of hours": ("2026-05-04T14:00:00+02", 0.0),
    "named UTC": ("2026-05-04 12:00:00.125 UTC", 0.125),
    "a comma": ("2026-05-04 12:00:00,125", 0.125),
    "no separators": ("20260504T120000.125Z", 0.125),
    "nanoseconds": ("2026-05-04T12:00:00.000000250Z", 2.5e-7),
    "the day before": ("2026-05-03T23:59:59.75Z", -43200.25),
}


@pytest.mark.parametrize(("text", "seconds"), WRITTEN.values(), ids=WRITTEN)
def test_texts_of_iso_8601(text, seconds):
    (found,) = epoch_seconds(pl.Series([text]))
    # half of the distance of two numbers of 64 bits at 1.8e9
    assert abs(found - NOON.timestamp() - seconds) <= 1.2e-7


@pytest.mark.parametrize(
    "text", ["12.5", "2026-05-04", "04.05.2026 12:00:00", "2026-13-04T12:00:00Z", "noon", ""]
)
def test_other_texts_are_no_dates(text):
    assert epoch_seconds(pl.Series([text])).to_list() == [None]


def test_a_clock_of_dates_in_a_csv_file(tmp_path):
    path = tmp_path / "log.csv"
    clock = [NOON + timedelta(milliseconds=4 * k) for k in range(50)]
    path.write_text("\n".join(["stamp; q", *(f"{each.isoformat()} ; 0,5" for each in clock)]))
    recording = poinsot.read_recording(
        path, CHANNELS, time=TIME, delimiter=";", decimal_comma=True, start_s=0
    )
    np.testing.assert_allclose(recording.time, 0.004 * np.arange(50), atol=2.4e-7)
    assert set(recording["position.a"]) == {0.5}


def test_clocks_are_set_back_in_autumn_where_zones_are_written(tmp_path):
    """At 01:00 UTC clocks in Paris go from 3 to 2: the text runs backwards, the time does not."""
    zone, first = ZoneInfo("Europe/Paris"), datetime(2026, 10, 25, 0, 59, 59, tzinfo=UTC)
    clock = [(first + timedelta(seconds=0.5 * k)).astimezone(zone) for k in range(5)]
    assert clock[0].hour == 2 and clock[-1].hour == 2 and clock[-1].minute < clock[0].minute
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["stamp,q", *(f"{each.isoformat()},1" for each in clock)]))
    recording = poinsot.read_recording(path, CHANNELS, time=TIME)
    np.testing.assert_allclose(np.diff(recording.time), 0.5)
    path.write_text("\n".join(["stamp,q", *(f"{each.replace(tzinfo=None).isoformat()},1" for each in clock)]))
    with pytest.raises(PoinsotError, match=r"runs backwards in row 2.* s since 1970"):
        poinsot.read_recording(path, CHANNELS, time=TIME)


TYPES = {
    "microseconds": pl.Datetime("us"),
    "milliseconds of a zone": pl.Datetime("ms", "America/New_York"),
    "nanoseconds": pl.Datetime("ns", "UTC"),
    "durations": pl.Duration("us"),
}


@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
def test_a_clock_of_dates_in_a_parquet_file(kind, tmp_path):
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[kind.time_unit]
    start = 0 if kind == pl.Duration else int(NOON.timestamp())
    ticks = start * per_second + np.arange(100) * (per_second // 250)
    path = tmp_path / "log.parquet"
    pl.DataFrame({"stamp": pl.Series(ticks, dtype=pl.Int64).cast(kind), "q": np.arange(100.0)}).write_parquet(
        path
    )
    recording = poinsot.read_recording(path, CHANNELS, time=TIME)
    np.testing.assert_allclose(recording.time, start + np.arange(100) / 250, rtol=0, atol=1.2e-7)
    log = ParquetLog([path], CHANNELS, TIME)
    np.testing.assert_allclose(log.read(10, 20).time, recording.time[10:20], rtol=0, atol=2.4e-7)
    with pytest.raises(UnreadableFile, match=r"column 'stamp' holds .*not numbers: set unit = \"datetime\""):
        poinsot.read_recording(path, CHANNELS, time=("stamp", "s"))


def test_dates_as_text_in_a_parquet_file(tmp_path):
    path = tmp_path / "log.parquet"
    texts = [f"2026-05-04T12:00:0{k}Z" for k in range(5)]
    pl.DataFrame({"stamp": texts, "q": np.zeros(5)}).write_parquet(path)
    recording = poinsot.read_recording(path, CHANNELS, time=TIME)
    np.testing.assert_array_equal(recording.time, NOON.timestamp() + np.arange(5))
    pl.DataFrame({"stamp": [*texts[:2], "noon"], "q": np.zeros(3)}).write_parquet(path)
    with pytest.raises(
        UnreadableFile, match="column 'stamp' holds 'noon' instead of a date and time in row 2"
    ):
        poinsot.read_recording(path, CHANNELS, time=TIME)
    with pytest.raises(UnreadableFile, match="column 'q' holds Float64, not dates and times"):
        poinsot.read_recording(path, CHANNELS, time=("q", "datetime"))


def test_messages_name_the_cell_and_the_unit(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("stamp,q\n2026-05-04T12:00:00Z,1\nlater,2\n")
    with pytest.raises(
        UnreadableFile, match=r"holds the text 'later' instead of a date and time in row 1 .*line 3"
    ):
        poinsot.read_recording(path, CHANNELS, time=TIME)
    with pytest.raises(UnreadableFile, match='if the column has dates and times, set unit = "datetime"'):
        poinsot.read_recording(path, CHANNELS, time=("stamp", "s"))
    with pytest.raises(PoinsotError, match="give s, ms, us, ns or datetime"):
        poinsot.read_recording(path, CHANNELS, time=("stamp", "deg"))
