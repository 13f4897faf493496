"""The result: its files are read again by the package, its JSON has what is promised."""

import json

import numpy as np
import pytest

import poinsot
from poinsot.exceptions import UnwritableOutput
from poinsot.io.results import to_text


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_its_file_is_a_recording(designed, tmp_path, suffix):
    path = tmp_path / f"trajectory{suffix}"
    designed.write(path)
    units = {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s^2"}
    channels = {
        f"{quantity}.{joint}": (f"{quantity}.{joint}", unit)
        for quantity, unit in units.items()
        for joint in designed.joints
    }
    recording = poinsot.read_recording(path, channels, time=("time", "s"))
    assert np.array_equal(recording.time, designed.time)
    for quantity, values in (
        ("position", designed.q),
        ("velocity", designed.v),
        ("acceleration", designed.a),
    ):
        assert np.array_equal(recording.stack(quantity), values)
    assert recording.is_uniform and recording.rate_hz == pytest.approx(50)
    own = designed.recording
    assert {name: own.units[name] for name in channels} == dict(recording.units)


def test_a_name_without_a_format_is_refused(designed, tmp_path):
    with pytest.raises(UnwritableOutput, match=r"no known ending; use \.csv or \.parquet"):
        designed.write(tmp_path / "trajectory.txt")


def test_another_rate_is_the_same_motion(designed):
    time, q, v, a = designed.sampled(100.0)
    assert np.allclose(time[::2], designed.time) and np.allclose(q[::2], designed.q)
    assert np.allclose(v[::2], designed.v) and np.allclose(a[::2], designed.a)


def test_its_json_has_what_is_promised(designed):
    content = json.loads(to_text(designed.as_json()))
    assert content["schema"] == "poinsot.excite/1"
    assert content["condition_number"] == designed.condition_number
    assert content["limits_respected"] is True
    assert isinstance(content["seconds"], float)
    assert list(content["predicted_relative_std_percent"]) == list(designed.problem.base.names)
    assert all(std > 0 for std in content["predicted_std"].values())
    assert {"robot", "criterion", "seed", "iterations", "warnings"} <= content.keys()


def test_use_of_limits(designed):
    used = designed.use_of_limits_percent
    assert np.isclose(used["elbow"]["velocity"], 100 * np.abs(designed.v[:, 2]).max() / 2)
    assert np.isclose(used["shoulder"]["torque"], 100 * np.abs(designed.tau[:, 1]).max() / 25)
    assert all(0 < part <= 100 for each in used.values() for part in each.values())
    # an optimal motion goes to some limit
    assert max(part for each in used.values() for part in each.values()) > 95
