"""Columns into CSV and Parquet: every digit kept, nothing half-written."""

import numpy as np
import polars as pl
import pytest

from poinsot.exceptions import UnwritableOutput
from poinsot.io.writing import write_columns


@pytest.mark.parametrize(("suffix", "read"), [(".csv", pl.read_csv), (".parquet", pl.read_parquet)])
def test_what_is_written_is_read_to_the_last_digit(tmp_path, rng, suffix, read):
    table = rng.standard_normal((50, 2)) * 10.0 ** rng.integers(-12, 12, (50, 2))
    columns = {"time": np.arange(50) / 3, "position.a": table[:, 0], "position.b": table[::-1, 1]}
    write_columns(columns, tmp_path / f"t{suffix}")
    found = read(tmp_path / f"t{suffix}")
    assert found.columns == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(found[name].to_numpy(), values)
    assert [path.name for path in tmp_path.iterdir()] == [f"t{suffix}"]


def test_a_name_without_a_known_ending_is_refused(tmp_path):
    with pytest.raises(UnwritableOutput, match=r"no known ending; use \.csv or \.parquet"):
        write_columns({"time": np.zeros(2)}, tmp_path / "t.xlsx")
    with pytest.raises(UnwritableOutput, match="there is no folder"):
        write_columns({"time": np.zeros(2)}, tmp_path / "none" / "t.csv")
    assert list(tmp_path.iterdir()) == []
