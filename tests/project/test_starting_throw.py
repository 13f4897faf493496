"""`poinsot new LOG --shape NAME`: poses of a thrown body under other names, axes and units are the same project."""

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from poinsot.exceptions import InvalidProject
from poinsot.project import Project
from poinsot.project.starting_throw import read_sizes, start_throw

FRAMES = Path(__file__).resolve().parents[2] / "examples/throw/frames.csv"
SIZES = {"half_axes": [0.05, 0.025], "mass": 0.064}


@pytest.fixture(scope="module")
def frames():
    return {name: column.to_numpy() for name, column in zip("txya", pl.read_csv(FRAMES), strict=True)}


def begin(folder, columns, rate_hz=None):
    pl.DataFrame(columns).write_csv(folder / "throw.csv")
    start = start_throw("ellipse", SIZES, [folder / "throw.csv"], folder / "job.toml", rate_hz)
    (folder / "job.toml").write_text(start.text)
    return Project.load(folder / "job.toml"), start


LOGS = {
    "as it is": lambda f: {"t": f["t"], "x": f["x"], "y": f["y"], "angle": f["a"]},
    "z is up, and another order": lambda f: {"theta": f["a"], "z": f["y"], "x": f["x"], "time": f["t"]},
    "millimetres and degrees": lambda f: {
        "t": f["t"], "px.x": 1e3 * f["x"], "px.y": 1e3 * f["y"], "rot": np.degrees(f["a"]),
    },
    "centimetres, units in headers": lambda f: {
        "t": f["t"], "x_cm": 100 * f["x"], "y_cm": 100 * f["y"], "phi_deg": np.degrees(f["a"]),
    },
    "y points down": lambda f: {"t": f["t"], "x": f["x"], "y": -f["y"], "angle": -f["a"]},
    "with velocities": lambda f: {
        "t": f["t"], "x": f["x"], "z": f["y"], "th": f["a"], "vx": f["x"], "vz": f["y"], "vth": f["a"],
    },
    "milliseconds": lambda f: {"t_ms": 1e3 * f["t"], "x": f["x"], "y": f["y"], "yaw": f["a"]},
}  # fmt: skip


@pytest.mark.parametrize("case", LOGS)
def test_poses_are_read_as_they_were(case, frames, tmp_path):
    project, start = begin(tmp_path, LOGS[case](frames))
    (run,) = project.recordings(("x", "y", "angle"), ())
    recording = run.recording
    np.testing.assert_allclose(recording.time, frames["t"], atol=1e-9)
    for axis, name in (("x", "x"), ("y", "y"), ("angle", "a")):
        np.testing.assert_allclose(recording.channels[f"position.{axis}"], frames[name], rtol=0, atol=1e-9)
    assert project.settings.method.name == start.method == "impacts"
    assert project.settings.walls[0].y == 0
    assert start.unused == (("vx", "vz", "vth") if case == "with velocities" else ())


def test_the_depth_of_a_motion_in_space_is_not_read(frames, tmp_path):
    depth = 1e-3 * np.sin(frames["t"])
    columns = {"t": frames["t"], "x": depth, "y": frames["x"], "z": frames["y"], "angle": frames["a"]}
    project, start = begin(tmp_path, columns)
    assert project.settings.recordings[0].position.columns == ["y", "z", "angle"]
    assert start.unused == ("x",)


def test_the_floor_is_where_the_body_touches(frames, tmp_path):
    columns = LOGS["as it is"](frames) | {"y": frames["y"] + 0.137}
    project, _ = begin(tmp_path, columns)
    assert abs(project.settings.walls[0].y - 0.137) < 2e-3


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (["t", "x", "y", "x2", "angle"], None),
        (["t", "a", "b", "c"], "no columns are named like the pose"),
        (["t", "a.x", "a.y", "b.x", "b.y", "angle"], "a.x, b.x are several of one kind"),
    ],
)
def test_what_is_no_pose_is_refused(columns, sentence, frames, tmp_path):
    of = {"x": "x", "y": "y", "t": "t", "angle": "a"}
    table = {name: frames[of.get(name.rpartition(".")[2], "x")] for name in columns}
    if sentence is None:
        assert "x2" in begin(tmp_path, table)[1].unused
        return
    with pytest.raises(InvalidProject, match=sentence):
        begin(tmp_path, table)


def test_what_does_not_fall_is_refused(frames, tmp_path):
    with pytest.raises(InvalidProject, match="none of x, y falls with gravity in m, mm, cm"):
        begin(tmp_path, LOGS["as it is"](frames) | {"y": 0.2 + 0 * frames["t"]})
    with pytest.raises(InvalidProject, match="has no clock: give its sampling rate"):
        begin(tmp_path, {name: x for name, x in LOGS["as it is"](frames).items() if name != "t"})


def test_sizes_are_keys_of_the_body(tmp_path):
    assert read_sizes(["half_axes=[0.05, 0.025]", "mass = 0.064"]) == SIZES
    with pytest.raises(InvalidProject, match="--size 'radius': write a key"):
        read_sizes(["radius"])
    with pytest.raises(InvalidProject, match="--shape circle: radius: field required"):
        start_throw("circle", {}, [FRAMES], tmp_path / "job.toml")


def test_the_command_line(poinsot, tmp_path):
    job = tmp_path / "job.toml"
    body = ["--shape", "ellipse", "--size", "half_axes=[0.05, 0.025]", "-o", job]
    code, _, err = poinsot("new", FRAMES, FRAMES, *body, "--yes")
    assert (code, err) == (0, "")
    assert len(tomllib.loads(job.read_text())["recordings"]) == 2
    code, _, err = poinsot("new", FRAMES, *body, "--force", "--validation", FRAMES)
    assert code == 2 and "give all logs without --validation" in err
    code, _, err = poinsot("new", FRAMES, "-o", tmp_path / "other.toml")
    assert code == 2 and "of a thrown body, --shape and no robot" in err


def test_a_shape_that_does_not_exist(tmp_path):
    with pytest.raises(InvalidProject, match="'star' is no shape of a thrown body; known are 'ellipse'"):
        start_throw("star", {}, [tmp_path / "log.csv"], tmp_path / "job.toml")
