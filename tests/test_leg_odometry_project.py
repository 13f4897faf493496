"""`[method] name = "leg-odometry"`: the example by the command line, its findings, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from poinsot import Recording
from poinsot.estimate import Trust
from poinsot.exceptions import InvalidProject, PoinsotError
from poinsot.project import Project, identify, track

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "quadruped"


def job(tmp_path, *pairs):
    text = (FOLDER / "odometry.toml").read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "odometry.toml").write_text(text)
    return Project.load(tmp_path / "odometry.toml")


def test_the_base_comes_back_to_where_it_was(poinsot, tmp_path):
    """The robot steps on the spot; it was simulated with a sway of 20 mm and at rest nowhere else."""
    code, out, _ = poinsot("track", FOLDER / "odometry.toml", "--out", tmp_path / "out")
    assert code == 0 and out.startswith("Trusted")
    content = json.loads((tmp_path / "out" / "result.json").read_text())
    values = {each["name"]: (each["value"], each["std"], each["unit"]) for each in content["parameters"]}
    assert set(values) >= {
        "position.x",
        "orientation.z",
        "velocity.y",
        "gyro_bias.z",
        "accelerometer_bias.x",
    }
    assert values["velocity.x"][2] == "m/s"
    covariance = np.array([each["covariance"] for each in content["parameters"]])
    assert covariance.shape == (15, 15) and np.linalg.eigvalsh(covariance)[0] > -1e-12
    lines = [json.loads(line) for line in (tmp_path / "out" / "published.jsonl").read_text().splitlines()]
    assert len(lines) == 120 and {line["verdict"] for line in lines} <= {"accepted", "gated"}
    assert np.abs([line["position"] for line in lines]).max() < 0.08
    np.testing.assert_allclose(lines[-1]["position"], [values[f"position.{axis}"][0] for axis in "xyz"])
    assert (tmp_path / "out" / "report.html").stat().st_size > 1e4


def test_too_small_a_level_is_found(tmp_path):
    estimate = track(job(tmp_path, ("foot_walk = 5e-3", "foot_walk = 1e-4")), FOLDER).estimate
    assert "rejected-samples" in {each.cause for each in estimate.findings}
    assert estimate.trust is not Trust.trusted


def test_lost_samples_change_little(tmp_path):
    """One sample in ten without gyro, another one without encoders."""
    project = job(tmp_path)
    problem = project.settings.method.problem(_job(project))
    whole = problem.recording
    valid = {name: whole.mask(name).copy() for name in whole.channels}
    for name, mask in valid.items():
        mask[
            {"gyro": slice(5, None, 10), "position": slice(8, None, 10)}.get(name.partition(".")[0], slice(0))
        ] = False
    thinned = Recording(whole.time, dict(whole.channels), dict(whole.units), valid)
    from dataclasses import replace

    from poinsot import LegOdometry

    found = [LegOdometry().solve(replace(problem, recording=each)) for each in (whole, thinned)]
    away = np.abs(found[0].values - found[1].values)
    assert (away < 3 * found[1].std).all() and found[1].rows < found[0].rows
    assert found[1].certificate().holds


def _job(project):
    from poinsot.project.job import Job

    return Job(project, FOLDER)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([("floating_base = true", "floating_base = false")], "floating_base = true"),
        ([("[contacts]", ""), ('points = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]', "")], "contacts"),
        ([('accelerometer = { frame = "imu"', 'accelerometer = { frame = "trunk"')], "at one frame"),
    ],
)  # fmt: skip
def test_what_it_needs(tmp_path, pairs, says):
    with pytest.raises(PoinsotError, match=says):
        track(job(tmp_path, *pairs), FOLDER)


def test_it_is_not_for_identify_nor_for_streams(tmp_path):
    with pytest.raises(InvalidProject, match="poinsot track"):
        identify(job(tmp_path), FOLDER)
    with pytest.raises(InvalidProject, match="--stream"):
        track(job(tmp_path), FOLDER, stream="-")


def test_inspect_asks_what_it_needs(poinsot):
    code, out, _ = poinsot("inspect", FOLDER / "odometry.toml")
    assert code == 0 and "refuses" not in out
