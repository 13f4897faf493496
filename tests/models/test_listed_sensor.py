"""A sensor that is listed in `poinsot.quantities` works everywhere: here the magnetometer of docs/extend/sensor.md."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from poinsot.exceptions import PoinsotError
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import Readings, residuals
from poinsot.quantities import FRAME_QUANTITIES, XYZ
from references.recorded_arm import FRICTION, JOB, NOISE, ROD, SPEED_NOISE, record, urdf, write
from references.state_differences import assert_slope, by_state

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/extend/sensor.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
STD = 0.01


@pytest.fixture
def listed(monkeypatch):
    """The class of the guide, listed until the end of the test."""
    variables = {"__name__": "guide"}
    monkeypatch.delitem(FRAME_QUANTITIES, "magnetometer", raising=False)
    monkeypatch.setitem(sys.modules, "guide", type(sys)("guide"))
    monkeypatch.setitem(FRAME_QUANTITIES, "magnetometer", None)
    for block in BLOCKS:
        exec(block, variables)
    return variables["Magnetometer"]


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(urdf(**ROD))
    return load_robot(tmp_path / "arm.urdf")


def motion_of(arm, q, v):
    parameters = OpenParameters(arm, ("fore",), nominal=FRICTION)
    dynamics = ContactDynamics(parameters, frames=("imu",))
    return dynamics(q, v, np.zeros_like(v), parameters.nominal_theta, slopes=True)


def test_the_guide_is_short():
    assert len(GUIDE.splitlines()) < 60


def test_its_derivatives_are_those_of_its_readings(listed, arm, rng):
    sensor = listed(arm, STD, "imu")
    q, v = rng.standard_normal((2, 3, 2))
    motion = motion_of(arm, q, v)
    values = sensor.predicted(motion) + STD * rng.standard_normal((3, 3))
    found = residuals([Readings(sensor, values)], motion)

    def residual(q, v):
        readings = Readings(sensor, np.tile(values, (len(q) // 3, 1)))
        return residuals([readings], motion_of(arm, q, v)).value

    assert_slope(found.by_x, np.concatenate(by_state(residual, arm, q, v), axis=2))
    assert sensor.channels == tuple(f"magnetometer.imu.{end}" for end in XYZ)


def test_optimal_estimation_reads_it(listed, arm, rng):
    import poinsot

    recorded = record(rng, 121)
    field = listed(arm, STD, "imu").predicted(motion_of(arm, recorded.q, recorded.v))
    field = field + STD * rng.standard_normal(field.shape)
    channels, units = {}, {}
    for joint, k in (("turn", 0), ("swing", 1)):
        channels |= {f"position.{joint}": recorded.readings["position"][:, k]}
        channels |= {f"torque.{joint}": recorded.torque[:, k]}
        units |= {f"position.{joint}": "rad", f"torque.{joint}": "N m"}
    channels |= {f"magnetometer.imu.{end}": field[:, k] for k, end in enumerate(XYZ)}
    units |= {f"magnetometer.imu.{end}": "1" for end in XYZ}
    recording = poinsot.Recording(recorded.time, channels, units)
    robot = poinsot.OpenParameters(arm, ("fore",), nominal=FRICTION)
    noise = poinsot.MotionNoise({"position": NOISE["position"], "magnetometer": STD}, SPEED_NOISE)
    problem = poinsot.OptimalEstimationProblem.from_recordings(robot, [recording], noise)
    estimate = poinsot.OptimalEstimation().solve(problem)
    assert estimate.status.converged and estimate.rows == 121 * (2 + 3)
    (fit,) = [fit for fit in estimate.motions[0].sensors if fit.name == "magnetometer at 'imu'"]
    assert fit.rms == pytest.approx(1.0, abs=0.15)  # 4 standard deviations of 363 readings
    silent = poinsot.MotionNoise({"position": NOISE["position"]}, SPEED_NOISE)
    with pytest.raises(PoinsotError, match="has magnetometer, and noise has no standard deviation for it"):
        poinsot.OptimalEstimationProblem.from_recordings(robot, [recording], silent)


def test_a_project_file_reads_it(tmp_path, listed, arm, rng):
    """In a process of its own, as keys of project files are made when they are imported."""
    recorded = record(rng, 61)
    field = listed(arm, STD, "imu").predicted(motion_of(arm, recorded.q, recorded.v))
    field = field + STD * rng.standard_normal(field.shape)
    write(tmp_path / "run.csv", recorded)
    header, *rows = (tmp_path / "run.csv").read_text().splitlines()
    rows = [f"{row},{','.join(map(str, values))}" for row, values in zip(rows, field.tolist(), strict=True)]
    (tmp_path / "run.csv").write_text("\n".join([header + ",bx,by,bz", *rows]) + "\n")
    sensor = 'magnetometer = { frame = "imu", columns = ["bx", "by", "bz"], unit = "1" }\n'
    text = JOB.replace("gyro = {", sensor + "gyro = {").replace("noise = {", "noise = { magnetometer = 0.01,")
    (tmp_path / "job.toml").write_text(text)
    identify = "estimate = poinsot.identify(poinsot.Project.load('job.toml'))\nprint(estimate.rows)"
    run = subprocess.run(
        [sys.executable, "-c", "\n".join([*BLOCKS, identify])], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.stdout.split() == [str(61 * 13)], run.stderr
