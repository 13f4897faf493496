"""A load beside commands and positions is named as unused, with how much of it the command error explains."""

import numpy as np
import pytest

import poinsot
from poinsot import ActuatorProblem, Recording
from poinsot.estimators.servo.examination import explained_share, unused_efforts

URDF = """<robot name="swing"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.15"/><mass value="0.3"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<joint name="pivot" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="10" velocity="10"/></joint></robot>"""


def problem_of(tmp_path, **channels):
    (tmp_path / "swing.urdf").write_text(URDF)
    time = np.arange(0, 10, 0.02)
    command = np.sin(time)
    motion = {
        "position_command.pivot": command,
        "position.pivot": command - 0.05 * np.sin(3 * time),
    } | channels
    recording = Recording(time, motion, {name: "rad" if "position" in name else "" for name in motion})
    return ActuatorProblem(poinsot.load_robot(tmp_path / "swing.urdf"), {"motion": recording})


def test_a_load_that_is_the_controllers_output_is_told_by_the_error(tmp_path):
    time = np.arange(0, 10, 0.02)
    (found,) = unused_efforts(problem_of(tmp_path, **{"load.pivot": np.abs(2.0 * np.sin(3 * time)) + 0.1}))
    assert found.what == "the load of pivot"
    assert "100 % at pivot" in found.reason
    assert not found.failed
    noise = np.random.default_rng(0).standard_normal(len(time))
    (found,) = unused_efforts(problem_of(tmp_path, **{"current.pivot": noise}))
    assert "current" in found.what
    assert "0 % at pivot" in found.reason


def test_without_such_channels_nothing_is_said(tmp_path):
    assert unused_efforts(problem_of(tmp_path)) == ()


def test_the_explained_share_is_that_of_least_squares():
    x, noise = np.random.default_rng(1).standard_normal((2, 500))
    y = 0.7 * x + 0.4 * noise + 3.0
    fit = np.polyval(np.polyfit(x, y, 1), x)
    assert explained_share(x, y) == pytest.approx(1 - np.var(y - fit) / np.var(y), rel=1e-9)
    assert explained_share(np.ones(5), np.arange(5.0)) == 0.0
