"""How the cases of real robots read their recordings."""

import numpy as np
import polars as pl
import pytest

from poinsot import Actuator, PoinsotError
from poinsot.models.servo.mjcf import mjcf_text
from poinsot_reproductions.actuators.go2 import read_halves
from poinsot_reproductions.actuators.so101 import JOINTS, Arm
from references.robots import described

TIME = np.arange(100) * 0.02


def so101_motion(path):
    columns = {
        f"{what}_{name}": 0.1 + 0.001 * np.arange(100)
        for what in ("command", "position")
        for name in JOINTS.values()
    }
    pl.DataFrame({"t": 5.0 + TIME, **columns}).write_parquet(path)


def test_the_jaw_is_an_angle_between_its_limits(tmp_path):
    described("so_arm_description/urdf/so101.urdf")
    (tmp_path / "so101").mkdir()
    for name in ("one", "two", "three"):
        so101_motion(tmp_path / "so101" / f"{name}.parquet")
    arm = Arm.read(tmp_path)
    assert set(arm.recordings) == {"one", "two", "three"}
    first = arm.recordings["one"]
    assert first.time[0] == 0.0
    np.testing.assert_allclose(first.channels["position.elbow_flex"][0], 0.1)
    # limits of the description: -0.174533 to 1.74533 rad
    np.testing.assert_allclose(first.channels["position.gripper"][0], -0.174533 + 0.1 * 1.919863, atol=1e-6)
    np.testing.assert_allclose(arm.scale, [1e3] * 5 + [1e3 / 1.919863], rtol=1e-6)


def test_two_motions_leave_none_to_predict(tmp_path):
    described("so_arm_description/urdf/so101.urdf")
    (tmp_path / "so101").mkdir()
    with pytest.raises(PoinsotError, match="fits two motions and predicts others"):
        Arm.read(tmp_path)


def test_halves_of_a_recording_have_their_own_clocks(tmp_path):
    robot = described("go2_description/urdf/go2.urdf")
    names = [joint.removesuffix("_joint") for joint in robot.joints]
    columns = {f"{what}_{name}": np.arange(100.0) for what in ("command", "position") for name in names}
    pl.DataFrame({"t": TIME, **columns}).write_parquet(tmp_path / "go2.parquet")
    halves = read_halves(tmp_path / "go2.parquet", robot)
    assert list(halves) == ["slow", "fast"]
    assert halves["fast"].time[0] == 0.0
    assert halves["fast"].channels["position.FL_hip_joint"][0] == 50.0


def test_a_quadruped_held_by_its_base_is_a_mujoco_file():
    robot = described("go2_description/urdf/go2.urdf")
    text = mjcf_text(robot, [Actuator(joint, 20.0, velocity_gain=1.5) for joint in robot.joints])
    assert text.count("<general") == text.count("<joint name") == 12
