"""`poinsot new LOG --shape box`: poses of a tossed body under other names, axes, units and orders are one project."""

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from poinsot.exceptions import InvalidProject
from poinsot.project import Project
from poinsot.project.starting_throw import start_throw

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/cube"
SIDES = [0.12, 0.1, 0.08]
QUATERNION = ("qx", "qy", "qz", "qw")


def toss(k):
    return pl.read_csv(EXAMPLE / f"toss_{k}.csv")


@pytest.fixture
def begin(tmp_path):
    """Writes tables as logs and begins a project from them: the project, its recordings, and what was begun."""

    def begin(tables, sides=SIDES, rate_hz=None):
        paths = [tmp_path / f"toss_{k}.csv" for k in range(len(tables))]
        for path, table in zip(paths, tables, strict=True):
            table.write_csv(path)
        start = start_throw("box", {"sides": sides}, paths, tmp_path / "job.toml", rate_hz)
        (tmp_path / "job.toml").write_text(start.text)
        project = Project.load(tmp_path / "job.toml")
        return project, [run.recording for run in project.recordings(("x", "y", "z"), ())], start

    return begin


def assert_same(recording, table):
    for axis in "xyz":
        np.testing.assert_allclose(recording.channels[f"position.{axis}"], table[axis], rtol=0, atol=1e-12)
    for name in QUATERNION:
        np.testing.assert_array_equal(recording.channels[f"orientation.body.{name[1]}"], table[name])


NAMES = {
    "as it is": lambda t: t,
    "millimetres": lambda t: t.with_columns(pl.col("x", "y", "z") * 1e3),
    "of motion capture": lambda t: t.rename(
        {"t": "Time (s)"}
        | {axis: f"Body.Position.{axis.upper()}" for axis in "xyz"}
        | {name: f"Body.Rotation.{name[1].upper()}" for name in QUATERNION}
    ),
    "with velocities": lambda t: t.with_columns(vx=pl.col("x"), vz=pl.col("z"), wx=pl.col("y")),
    "counted, w first": lambda t: t.select(
        "t", "x", "y", "z", **{f"quat_{k}": name for k, name in enumerate(("qw", "qx", "qy", "qz"))}
    ),
    "counted from 1, w last": lambda t: t.select(
        "t", "x", "y", "z", **{f"q{k + 1}": name for k, name in enumerate(QUATERNION)}
    ),
}


@pytest.mark.parametrize("case", NAMES)
def test_poses_are_read_as_they_were(case, begin):
    project, recordings, start = begin([NAMES[case](toss(k)) for k in (1, 2, 3)])
    for k, recording in zip((1, 2, 3), recordings, strict=True):
        assert_same(recording, toss(k))
    assert start.method == project.settings.method.name == "impacts"
    assert project.settings.walls[0].point == [0, 0, 0]
    assert ("order of the quaternion" in {row["what"] for row in start.guesses}) == case.startswith("counted")


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("first", ["w", "x"])
def test_one_toss_tells_the_order_of_a_quaternion(k, first, begin):
    order = ("qw", "qx", "qy", "qz") if first == "w" else QUATERNION
    table = toss(k).select("t", "x", "y", "z", **{f"quat_{i}": name for i, name in enumerate(order)})
    _, (recording,), _ = begin([table])
    assert_same(recording, toss(k))


def test_a_cube_that_never_turns_does_not_tell_the_order(begin):
    table = toss(2).with_columns(**{name: pl.lit(0.5) for name in QUATERNION})
    table = table.rename({name: f"quat_{k}" for k, name in enumerate(QUATERNION)})
    with pytest.raises(InvalidProject, match='name its columns "qw", "qx", "qy" and "qz"'):
        begin([table])


def test_an_axis_that_is_not_z_is_vertical(begin):
    """Axes of the world and of the body in another even order."""
    ends = dict(zip("xyz", "yzx", strict=True))
    table = toss(1).rename(
        {a: f"new_{b}" for a, b in ends.items()} | {f"q{a}": f"new_q{b}" for a, b in ends.items()}
    )
    table = table.rename({name: name.removeprefix("new_") for name in table.columns})
    sides = [SIDES[["yzx".index(axis) for axis in "xyz"][k]] for k in range(3)]
    project, (recording,), start = begin([table], sides)
    assert recording.channels["position.z"][0] == table["x"][0]
    assert project.settings.body.sides == SIDES and "the order in which x is the last" in start.text
    assert_same(recording, toss(1))


@pytest.mark.parametrize("counted", [True, False])
def test_several_tosses_in_one_table(counted, begin):
    tables = [toss(k) for k in (1, 2, 3)]
    if counted:
        tables = [t.with_columns(t=pl.col("t") + 10.0 * k, throw=pl.lit(k)) for k, t in enumerate(tables)]
    _, recordings, _ = begin([pl.concat(tables)])
    assert len(recordings) == 3
    for recording, table in zip(recordings, tables, strict=True):
        assert_same(recording, table)


def test_a_unit_that_only_gravity_tells(begin):
    """Half widths of the block."""
    _, recordings, start = begin([toss(k).with_columns(pl.col("x", "y", "z") / 0.0524) for k in range(1, 7)])
    height = recordings[0].channels["position.z"][0] / toss(1)["z"][0]
    assert height == pytest.approx(1.0, abs=0.03) and "of an unknown unit" in start.text


def test_a_folder_of_tosses(tmp_path):
    for k in (1, 2):
        toss(k).write_csv(tmp_path / f"{k}.csv")
    start = start_throw("box", {"sides": SIDES}, [tmp_path], tmp_path / "job.toml")
    assert [each["path"] for each in tomllib.loads(start.text)["recordings"]] == ["1.csv", "2.csv"]


REFUSED = {
    "no clock: give its sampling rate": lambda t: t.drop("t"),
    "z points down": lambda t: t.with_columns(-pl.col("z")),
    "no columns are named like the pose of a body in space": lambda t: t.drop("qw"),
    "x, body.x are several of one kind": lambda t: t.with_columns(**{"body.x": pl.col("x")}),
    "in mm z_mm falls with 0.00": lambda t: t.rename({axis: f"{axis}_mm" for axis in "xyz"}),
    "along no axis a body falls": lambda t: t.with_columns(pl.col("x", "y", "z") * 0.0),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_no_toss_is_refused(sentence, begin):
    with pytest.raises(InvalidProject, match=sentence):
        begin([REFUSED[sentence](toss(1))])
