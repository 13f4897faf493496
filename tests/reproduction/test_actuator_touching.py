"""Contact with a floor, found in motions that MuJoCo simulates with and without one."""

import mujoco
import numpy as np
import pytest

from poinsot import Actuator, PoinsotError
from poinsot.models.robot.articulated import load_robot
from poinsot.models.servo.mjcf import mjcf_text
from poinsot.simulation.actuators import Motion, Simulator
from poinsot_reproductions.actuators.touching import find_touching, lowest_heights, outermost_points

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.1 0 0"/><mass value="0.2"/>
<inertia ixx="4e-4" iyy="5e-4" izz="3e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.05 0 0"/><mass value="0.1"/>
<inertia ixx="2e-4" iyy="2e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tip"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.2 0 0"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<joint name="end" type="fixed"><parent link="lower"/><child link="tip"/><origin xyz="0.15 0 0"/></joint></robot>"""
TRUE = [
    Actuator(name, 20.0, damping=0.6, coulomb=0.1, armature=0.03, torque_limit=3.0)
    for name in ("shoulder", "elbow")
]
FLOOR = '<geom type="plane" size="1 1 0.1" pos="0 0 -0.08"/>'
BALL = '<geom type="sphere" size="0.001" pos="0.15 0 0" mass="0"/></body>'


def on_a_floor(text):
    """The same file with a floor 0.08 m below the base, and a ball at the tip that meets it."""
    text = text.replace("<worldbody>", f"<worldbody>{FLOOR}").replace("</body>", BALL, 1)
    return text.replace('<flag contact="disable"/>', "")


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    return load_robot(tmp_path / "arm.urdf")


def motion(depth, phase):
    """Swings that command the tip to go `depth` radians lower than level."""
    time = np.arange(0.0, 20.0, 0.02)
    swing = 0.5 - 0.5 * np.cos(0.8 * time + phase)
    commands = np.column_stack([depth * swing, 0.3 * np.sin(1.3 * time + phase)])
    return Motion("", time, commands, commands[0], np.zeros(2))


def test_recordings_on_a_floor_are_found_and_no_others(robot):
    # the simulated free motion has parameters that are 20 % off, as those of a first fit
    wrong = [Actuator(a.name, 16.0, damping=0.5, coulomb=0.12, armature=0.03, torque_limit=3.0) for a in TRUE]
    free, text = Simulator.of(robot, wrong), mjcf_text(robot, TRUE)
    touching = Simulator(mujoco.MjModel.from_xml_string(on_a_floor(text)), tuple(TRUE))
    rng, motions = np.random.default_rng(5), {}
    for number, depth in enumerate((0.1, 0.2, 0.3, 0.35, 0.9, 1.0, 1.1)):
        given = motion(depth, number)
        measured = touching.roll_out(given) + 5e-4 * rng.normal(size=given.commands.shape)
        motions[f"depth {depth}"] = (given.time, measured, free.roll_out(given))
    found = find_touching(robot, motions)
    assert set(found) == {"depth 0.9", "depth 1.0", "depth 1.1"}
    assert all(abs(each.height + 0.08) < 0.01 for each in found.values())
    assert all("held up by" in str(each) for each in found.values())


def test_the_lowest_point_of_frames_without_shapes(robot):
    points = outermost_points(robot)
    z = lowest_heights(robot, points, np.array([[0.0, 0.0], [np.pi / 2, 0.0], [-np.pi / 2, 0.0]]))
    np.testing.assert_allclose(z, [0.1, 0.1 - 0.35, 0.1], atol=1e-9)


def test_no_motion_is_refused(robot):
    with pytest.raises(PoinsotError, match="there is no motion"):
        find_touching(robot, {})
