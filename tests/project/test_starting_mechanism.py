"""`poinsot new` of a log that lacks positions of joints: which of them move, and the mechanism that they make."""

import tomllib

import mujoco
import numpy as np
import polars as pl
import pytest

from poinsot.exceptions import InvalidModel, InvalidProject
from poinsot.models.maximal import Ball, load_mechanism
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.motors import described_motors
from poinsot.project import Project
from poinsot.project.methods.joint_smoothing import JointSmoothingMethod
from poinsot.project.starting import start_project
from poinsot.stopwatch import Stopwatch

BODY = '<inertial pos="0 0 -0.15" mass="0.5" diaginertia="0.003 0.003 0.001"/>'
INERTIAL = (
    '<inertial><origin xyz="0 0 -0.15"/><mass value="0.5"/>'
    '<inertia ixx="0.003" iyy="0.003" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def pendulums(actuators='<motor joint="shoulder" gear="2"/>', elbow="", inside="", more=""):
    """A double pendulum."""
    return (
        '<mujoco model="double"><compiler angle="radian"/><option timestep="0.0005"/><worldbody><body name="upper">'
        f'<joint name="shoulder" axis="0 1 0" damping="0.02" armature="0.004"/>{BODY}<body name="lower" pos="0 0 -0.3">'
        f'<joint name="elbow" axis="0 1 0" damping="0.002" {elbow}/>{BODY}{inside}</body></body></worldbody>'
        f"<actuator>{actuators}</actuator>{more}</mujoco>"
    )


def urdf(elbow, more=""):
    """The same."""
    return (
        f'<robot name="double"><link name="base"/><link name="upper">{INERTIAL}</link>'
        f'<link name="lower">{INERTIAL}</link><joint name="shoulder" type="continuous"><parent link="base"/>'
        '<child link="upper"/><axis xyz="0 1 0"/><limit effort="10" velocity="9"/></joint>'
        f'<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>'
        f'<origin xyz="0 0 -0.3"/><axis xyz="0 1 0"/>{elbow}</joint>{more}</robot>'
    )


def log(*columns, seconds=3.0, rate=100, motor="shoulder"):
    """A motion of the double pendulum in MuJoCo, with noise: `columns` of time, position.* and voltage.*."""
    model = mujoco.MjModel.from_xml_string(pendulums(f'<motor joint="{motor}" gear="0.5"/>'))
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    data.qpos[:] = 0.4, -0.3
    rows, steps = [], round(1 / rate / model.opt.timestep)
    for k in range(round(seconds * rate)):
        u = 2 * np.sin(5 * k / rate) + 1.5 * np.sin(11 * k / rate)
        data.ctrl[:] = u
        rows.append((k / rate, *(data.qpos + 5e-4 * rng.standard_normal(2)), u))
        mujoco.mj_step(model, data, steps)
    names = ["time", "position.shoulder", "position.elbow", f"voltage.{motor}"]
    return pl.DataFrame(dict(zip(names, np.array(rows).T, strict=True))).select("time", *columns)


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """A project from a description and a table, whose parameters are not examined: its content, and what was begun."""
    monkeypatch.setattr(
        JointSmoothingMethod, "determined", lambda self, job: tuple(self.problem(job, Stopwatch()).model.free)
    )

    def begin(text, table, **further):
        robot = tmp_path / ("robot.urdf" if text.startswith("<robot") else "robot.xml")
        robot.write_text(text)
        table.write_csv(tmp_path / "log.csv")
        start = start_project(robot, tmp_path / "log.csv", tmp_path / "job.toml", **further)
        (tmp_path / "job.toml").write_text(start.text)
        return tomllib.loads(start.text), start

    return begin


READ = ("position.shoulder", "voltage.shoulder")

MOVES = {
    "a description with motors, and none at the elbow": (pendulums(), READ),
    "a description without motors": (pendulums(""), READ),
    "a URDF whose other joints have an effort": (urdf(""), READ),
    "a URDF with transmissions": (
        urdf('<limit effort="10" velocity="9"/>', '<transmission><joint name="shoulder"/></transmission>'), READ,
    ),
}  # fmt: skip
STANDS = {
    "a motor holds it": (pendulums('<motor joint="shoulder"/><position joint="elbow" kp="9"/>'), READ),
    "a URDF whose joints all have an effort": (urdf('<limit effort="5" velocity="9"/>'), READ),
    "a URDF whose gripper has limits and no motor": (
        urdf('<limit lower="-1" upper="0" effort="0" velocity="9"/>').replace(
            'name="elbow" type="continuous"', 'name="elbow" type="revolute"'
        ),
        READ,
    ),
    "an equality holds it": (pendulums(more='<equality><joint joint1="elbow"/></equality>'), READ),
}


@pytest.mark.parametrize("case", MOVES)
def test_a_joint_without_a_column_and_a_motor_moves(case, begin):
    text, columns = MOVES[case]
    content, start = begin(text, log(*columns))
    assert start.method == content["method"]["name"] == "joint-smoothing"
    assert "locked" not in content["mechanism"] and content["mechanism"]["path"].startswith("robot.")
    assert content["mechanism"]["details"]["elbow"]["motor"] is False
    assert {"what": "elbow", "value": "free"}.items() <= start.guesses[-1].items()
    assert content["method"]["noise"]["position.shoulder"] == pytest.approx(5e-4, rel=0.3)
    assert {"shoulder.gain", "elbow.drag", "lower.Jyy", "lower.cx"} <= {*content["method"]["parameters"]}


@pytest.mark.parametrize("case", STANDS)
def test_a_joint_that_something_holds_is_locked(case, begin):
    text, columns = STANDS[case]
    content, start = begin(text, log(*columns))
    assert start.method == "least-squares" and content["robot"].get("locked", {}).keys() <= {"elbow"}


def test_motors_have_the_gains_of_the_description(begin):
    content, _ = begin(pendulums(), log(*READ))
    motor = content["mechanism"]["details"]["shoulder"]["motor"]
    assert motor == {"gain": 2.0, "shaft_inertia": 0.004}


def test_an_acrobot_whose_shoulder_nobody_reads(begin):
    """The motor is at the elbow."""
    text = pendulums('<motor joint="elbow" gear="0.5"/>')
    content, _ = begin(text, log("position.elbow", "voltage.elbow", motor="elbow"))
    assert content["mechanism"]["details"]["shoulder"]["motor"] is False
    assert content["recordings"][0]["voltage"]["joints"] == ["elbow"]


def test_a_command_of_a_joint_that_nobody_reads_is_used(begin):
    content, start = begin(pendulums(), log("position.elbow", "voltage.shoulder"))
    assert content["recordings"][0]["voltage"]["joints"] == ["shoulder"] and start.method == "joint-smoothing"


def test_fingers_of_a_gripper_are_locked(begin):
    finger = (
        '<body name="f{0}"><joint name="finger{0}" type="slide" axis="1 0 0" range="0 0.04" limited="true"/>'
        + BODY
        + "</body>"
    )
    text = pendulums("", inside=finger.format(1) + finger.format(2))
    content, start = begin(text, log(*READ, "position.elbow"))
    assert content["robot"]["locked"] == {"finger1": 0.0, "finger2": 0.0}
    assert "it is a finger" in start.text


def test_joints_called_as_their_bodies(begin):
    text = pendulums().replace('"lower"', '"elbow"').replace('"upper"', '"shoulder"')
    content, _ = begin(text, log(*READ))
    assert content["recordings"][0]["position"]["joints"] == ["shoulder joint"]
    assert content["mechanism"]["details"].keys() >= {"shoulder joint", "elbow joint"}


def test_springs_are_refused(begin):
    with pytest.raises(InvalidProject, match="mechanisms have no springs, as the description has at elbow"):
        begin(pendulums(elbow='stiffness="3"'), log(*READ))


def test_two_joints_in_one_body_are_refused(begin):
    text = pendulums().replace(
        '<body name="lower"', '<joint name="slide" type="slide" axis="1 0 0"/><body name="lower"'
    )
    with pytest.raises(InvalidModel, match="has a joint made of several"):
        begin(text, log(*READ))


FOUR_BAR = (
    '<mujoco><compiler angle="radian"/><worldbody><body name="crank"><joint name="crank_joint" axis="0 1 0"/>'
    '<inertial pos="0 0 0.05" mass="0.3" diaginertia="1e-3 1e-3 1e-3"/><body name="coupler" pos="0 0 0.1">'
    '<joint name="pin" axis="0 1 0"/><inertial pos="0.15 0 0" mass="0.2" diaginertia="2e-3 2e-3 2e-3"/></body></body>'
    '<body name="rocker" pos="0.3 0 0"><joint name="rocker_joint" axis="0 1 0"/>'
    '<inertial pos="0 0 0.05" mass="0.4" diaginertia="1e-3 1e-3 1e-3"/></body></worldbody>'
    '<equality><connect body1="coupler" body2="rocker" anchor="0.3 0 0"/></equality>'
    '<actuator><motor joint="crank_joint"/></actuator></mujoco>'
)


def test_loops_are_balls(begin, tmp_path):
    t = np.arange(100) / 100
    table = pl.DataFrame(
        {"time": t, "position.crank_joint": 0.3 * np.sin(6 * t), "torque.crank_joint": np.cos(6 * t)}
    )
    content, _ = begin(FOUR_BAR, table)
    assert "form" not in content["method"] and "locked" not in content["mechanism"]
    (loop,) = (joint for joint in load_mechanism(tmp_path / "robot.xml").joints if isinstance(joint, Ball))
    assert (loop.parent, loop.child) == ("coupler", "rocker")
    np.testing.assert_allclose(loop.point, [0.3, 0, 0.1], atol=1e-12)
    assert Project.load(tmp_path / "job.toml").mechanism().inputs == ("crank_joint",)


def test_motors_of_a_description(tmp_path):
    path = tmp_path / "robot.xml"
    tendon = '<tendon><fixed name="t"><joint joint="elbow" coef="1"/></fixed></tendon>'
    path.write_text(
        pendulums('<general joint="shoulder" gainprm="3" gear="2"/><motor tendon="t"/>', more=tendon)
    )
    assert described_motors(load_robot(path), path) == {"shoulder": 6.0, "elbow": None}
    path.write_text(pendulums(""))
    assert described_motors(load_robot(path), path) is None


@pytest.mark.filterwarnings("ignore")
def test_what_a_first_look_determines(tmp_path):
    """From a description whose friction and gain are right; the motion of the elbow is found, and the gain is open."""
    (tmp_path / "robot.xml").write_text(pendulums('<motor joint="shoulder" gear="0.5"/>'))
    log(*READ, seconds=2.5).write_csv(tmp_path / "log.csv")
    start = start_project(tmp_path / "robot.xml", tmp_path / "log.csv", tmp_path / "job.toml")
    parameters = tomllib.loads(start.text)["method"]["parameters"]
    assert "shoulder.gain" in parameters and not {"upper.cy", "lower.Jxx", "lower.Jzz"} & {*parameters}
