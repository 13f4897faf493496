"""What a log lacks with which no method can start."""

from pathlib import Path

import pytest

from poinsot.exceptions import InvalidProject
from poinsot.models.robot.articulated import load_robot
from poinsot.project.methods import find_beginning
from poinsot.project.methods.base import LogContents

ARM = Path(__file__).resolve().parents[2] / "examples/arm/arm.urdf"


def test_an_imu_without_efforts():
    robot = load_robot(ARM, floating_base=True)
    quantities = ["position", "gyro", "accelerometer"]
    log = LogContents(robot, dict.fromkeys(quantities, robot.joints), dict.fromkeys(quantities, 1e-3))
    with pytest.raises(InvalidProject, match="an IMU, so its base moves, and no torques"):
        find_beginning(log)
