"""The papers' numbers come out of the raw recordings, and out of nothing else."""

import json
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

from poinsot.cli.reproduce import load_case
from poinsot.exceptions import PoinsotError
from poinsot_reproductions import emps, tx40
from poinsot_reproductions.tx40_tables import TABLE_1, TABLE_3


@pytest.fixture(scope="module")
def staubli(shared_data):
    return tx40.run(shared_data("staubli_tx40"))


def values(result, table, column):
    return {row["name"]: row for row in result.rows if (row["table"], row["column"]) == (table, column)}


def test_table_1_classical_is_reproduced(staubli):
    rows = values(staubli, "1", "classical")
    differences = np.abs([row["difference"] for row in rows.values()])
    assert set(rows) == set(TABLE_1)
    assert differences.max() <= 0.03
    assert (differences <= 0.005).sum() >= 20
    for row in rows.values():
        assert row["ours_std_percent"] == pytest.approx(row["paper_std_percent"], rel=0.10)


@pytest.mark.parametrize("column", ["irwsm1", "irwsm2"])
def test_the_random_walk_columns_of_table_1_are_reproduced(staubli, column):
    assert max(abs(row["difference"]) for row in values(staubli, "1", column).values()) <= 0.1


def test_table_2_is_reproduced(staubli):
    errors = {(row["name"], row["column"]): row["ours"] for row in staubli.rows if row["table"] == "2"}
    assert errors["good", "classical"] == pytest.approx(5.06, abs=0.1)
    for column, value in (("classical", 9.4), ("irwsm1", 7.5), ("irwsm2", 8.9)):
        assert errors["poor", column] == pytest.approx(value, abs=0.25)
    assert errors["poor", "irwsm1"] < min(errors["poor", "classical"], errors["poor", "irwsm2"])


def test_table_3_irwsm1_is_reproduced(staubli):
    rows = values(staubli, "3", "irwsm1")
    assert set(rows) == set(TABLE_3)
    assert max(abs(row["difference"]) for row in rows.values()) <= 0.05


def test_the_essential_parameters_are_the_papers_and_one_more(staubli):
    assert staubli.figures["essential_only_paper"] == []
    assert staubli.figures["essential_only_ours"] == ["mx3"]  # 27 %, below the threshold of 30 %


def test_residuals_of_the_poor_case_are_more_correlated(staubli):
    lag1 = staubli.figures["lag1_autocorrelation"]
    assert np.mean(lag1["poor"]["irwsm1"]) > np.mean(lag1["good"]["irwsm1"])


def test_the_printed_tables_are_the_targets(shared_data):
    targets = json.loads((shared_data("staubli_tx40").parents[1] / "targets" / "tx40.json").read_text())
    for ours, theirs in ((TABLE_1, targets["good_knowledge"]), (TABLE_3, targets["poor_knowledge"])):
        assert {name: [cell[0] for cell in cells] for name, cells in ours.items()} == {
            name: [column["value"] for column in columns.values()] for name, columns in theirs.items()
        }


def test_doubled_torques_double_the_parameters(staubli, shared_data, tmp_path):
    folder = shared_data("staubli_tx40")
    for name in ("pos_read_data.csv", "tx40.urdf"):
        (tmp_path / name).symlink_to(folder / name)
    header = (folder / "curr_data.csv").read_text().split("\n", 1)[0]
    torque = np.loadtxt(folder / "curr_data.csv", delimiter=",", skiprows=1)
    np.savetxt(tmp_path / "curr_data.csv", 2 * torque, "%.10g", ",", header=header, comments="")
    once, twice = values(staubli, "1", "classical"), values(tx40.run(tmp_path), "1", "classical")
    for name, row in once.items():
        assert twice[name]["ours"] == pytest.approx(2 * row["ours"], rel=1e-6)


def test_emps_is_within_one_percent(shared_data):
    result = emps.run(shared_data("emps"))
    assert [row["name"] for row in result.rows] == ["M", "Fv", "Fc", "offset"]
    for row in result.rows:
        assert row["ours"] == pytest.approx(row["paper"], rel=0.01)


@pytest.mark.parametrize("case", [tx40.CASE, emps.CASE], ids=["tx40", "emps"])
def test_a_case_from_recordings_refuses_what_it_cannot_use(case, tmp_path):
    with pytest.raises(PoinsotError, match="there is no"):
        case(None, None, tmp_path, print)
    with pytest.raises(PoinsotError, match="say where they are with --data"):
        case(None, None, None, print)
    for part, seed in (("one", None), (None, 3)):
        with pytest.raises(PoinsotError, match="--case and --seed are for cases that simulate"):
            case(part, seed, tmp_path, print)


def test_every_entry_point_is_a_case_of_its_name():
    content = tomllib.loads((Path(__file__).parents[2] / "reproductions" / "pyproject.toml").read_text())
    declared = content["project"]["entry-points"]["poinsot.reproductions"]
    names = "tx40 emps online optimal-estimation discrete-multibody impacts actuators controller closed-loop"
    assert set(declared) == set(names.split())
    assert declared == {point.name: point.value for point in entry_points(group="poinsot.reproductions")}
    assert all(load_case(name).name == name for name in declared)
