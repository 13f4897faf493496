"""Designed commands: limits at every sample, and predicted intervals against those of estimates of simulated robots."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from poinsot import Actuator, ActuatorProblem, OutputError, Recording, Search, load_robot
from poinsot.estimators.servo.command_design import SHAPES, CommandDesign
from poinsot.exceptions import PoinsotError
from poinsot.excitation.limits import limits_of
from poinsot.export.command_files import lerobot_actions, write_joint_trajectory, write_lerobot
from poinsot.models.robot.collisions import Surroundings, Workspace
from poinsot.project.actuators import read_actuators
from poinsot.simulation.actuators import Motion, Simulator

URDF = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -0.1"/><mass value="0.4"/>
<inertia ixx="4e-4" iyy="5e-4" izz="3e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.02 0 -0.08"/><mass value="0.2"/>
<inertia ixx="2e-4" iyy="2e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.5"/>
<axis xyz="0 1 0"/><limit lower="-0.8" upper="1.2" effort="9" velocity="3"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.2"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="1.5"/></joint></robot>"""
TRUTH = (
    Actuator("shoulder", 20.0, derivative_gain=0.3, damping=0.5, coulomb=0.08, armature=0.02, torque_limit=1.5,
             delay=0.021, zero=0.01, ramp=0.02),
    Actuator("elbow", 12.0, derivative_gain=0.2, damping=0.3, coulomb=0.05, armature=0.01, torque_limit=0.8,
             delay=0.017, zero=-0.01, ramp=0.02),
)  # fmt: skip
NOISE = 1e-3


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(URDF)
    return load_robot(path)


@pytest.fixture(scope="module")
def designed(robot):
    return CommandDesign(robot, TRUTH, limits_of(robot, fraction=0.9), duration_s=42.0, noise=NOISE).design()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("speed", [0.3, 2.0, 10.0])
def test_a_shape_begins_and_ends_at_rest_within_amplitude_and_speed(name, speed):
    time = np.arange(300) / 50.0
    wave = SHAPES[name](time, 0.7, speed)
    assert abs(wave[0]) <= speed / 50 + 1e-12
    assert abs(wave[-1]) < 1e-9
    assert 0.01 < np.abs(wave).max() <= 0.7 + 1e-12
    assert np.abs(np.diff(wave)).max() * 50 <= speed * (1 + 1e-9)


def test_what_is_not_estimated_has_the_value_of_the_actuator(designed):
    whole = TRUTH[0].updated({"velocity_gain": 0.1, "lag": 0.01, "gear_friction": 0.03, "no_load_speed": 8.0})
    elbow = TRUTH[1].updated({"torque_limit": np.inf, "load_friction": 0.02})
    design = replace(
        designed.design, actuators=(whole, elbow), held={"armature": 9.0, "zero.elbow": 9.0},
        laws={"shoulder": "M3", "elbow": "M1"},
    )  # fmt: skip
    problem = design.problem(designed.time, designed.commands)
    for actuator, law in ((whole, "M3"), (elbow, "M1")):
        open_ = problem.open_of(actuator.name, law)
        again = problem.held_actuator(actuator.name).updated({name: actuator.values[name] for name in open_})
        assert again == actuator
        assert "armature" not in open_
    assert "gear_friction" in problem.open_of("shoulder", "M3")
    assert {"zero", "torque_limit", "load_friction"}.isdisjoint(problem.open_of("elbow"))


def test_limits_hold_at_every_sample(robot, designed):
    limits = designed.design.limits
    assert len(designed.time) == 42 * 50
    for values in (designed.commands, designed.positions):
        assert (values > limits.lower).all()
        assert (values < limits.upper).all()
    assert (np.abs(np.diff(designed.commands, axis=0)) * 50 < limits.velocity).all()
    # every shape comes before one comes again
    assert all({each.split(" ", 1)[1] for each in shapes} == set(SHAPES) for shapes in designed.shapes)


def test_predicted_intervals_are_those_of_the_estimate(robot, designed):
    # simulated by MuJoCo, all joints coupled
    simulator = Simulator.of(robot, TRUTH, timestep=0.0005)
    commands = designed.commands
    measured = simulator.roll_out(Motion("true", designed.time, commands, commands[0], np.zeros(2)))
    measured += NOISE * np.random.default_rng(3).standard_normal(measured.shape)
    channels = {}
    for k, joint in enumerate(designed.joints):
        channels |= {f"position_command.{joint}": commands[:, k], f"position.{joint}": measured[:, k]}
    recording = Recording(designed.time, channels, dict.fromkeys(channels, "rad"))
    estimate = OutputError(Search(draws=100, refined=4, finished=2, hops=2)).solve(
        ActuatorProblem(robot, {"true": recording})
    )
    std = dict(zip(estimate.names, estimate.parameters.coloured_std, strict=True))
    values = dict(zip(estimate.names, estimate.values, strict=True))
    known = dict(zip(estimate.names, estimate.identifiable, strict=True))
    for each in designed.intervals:
        name = f"{each.joint}.{each.parameter}"
        assert known[name] == each.is_identifiable, name
        if each.is_identifiable:
            assert 1 / 1.5 < std[name] / each.std < 1.5, name
            assert abs(values[name] - each.value) < 4 * std[name], name
    assert sum(each.is_identifiable for each in designed.intervals) > 12


def test_joints_move_less_where_the_motion_would_leave_the_workspace(robot, designed):
    q = np.zeros((1, 2))
    box = Workspace(upper=(np.inf, np.inf, 0.4), frames=("elbow",))
    watched = Surroundings(False, None, box).resolve(robot, robot.configurations(q))
    design = replace(designed.design, duration_s=12.0, collisions=watched, clearance_m=0.02)
    found = design.design()
    distances = watched.distances(robot.configurations(found.positions))
    assert (distances >= watched.clearances(0.02)).all()
    assert found.least_distance == distances.min()
    with pytest.raises(PoinsotError, match="write another posture"):
        replace(design, posture=np.array([1.0, 0.0])).design()


def test_requests_that_cannot_be_are_refused(designed):
    for change, message in (
        ({"noise": 0.0}, "noise must be above 0 and below"),
        ({"duration_s": 1.0}, "write a duration of 6 s or more"),
        ({"posture": np.array([3.0, 0.0])}, "not within the position limits of shoulder"),
    ):
        with pytest.raises(PoinsotError, match=message):
            replace(designed.design, **change)


def test_files_have_the_commands(designed, tmp_path):
    write_lerobot(designed, tmp_path / "a.parquet")
    write_lerobot(designed, tmp_path / "a.npy")
    write_joint_trajectory(designed, tmp_path / "t.json")
    table = pl.read_parquet(tmp_path / "a.parquet")
    actions = np.stack(table["action"].to_list())
    np.testing.assert_allclose(np.radians(actions), designed.commands, atol=1e-6)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), actions)
    np.testing.assert_allclose(table["timestamp"].to_numpy(), designed.time, atol=1e-5)
    trajectory = json.loads((tmp_path / "t.json").read_text())
    assert trajectory["joint_names"] == ["shoulder", "elbow"]
    last = trajectory["points"][-1]
    assert last["positions"] == designed.commands[-1].tolist()
    at = last["time_from_start"]
    assert abs(at["sec"] + 1e-9 * at["nanosec"] - designed.time[-1]) < 1e-9
    with pytest.raises(PoinsotError, match="write deg or rad"):
        lerobot_actions(designed, "percent")


JOB = """
[robot]
path = "arm.urdf"
[[recordings]]
path = "none.csv"
time = { column = "t", unit = "s" }
position = { columns = ["a", "b"], unit = "rad" }
position_command = { columns = ["c", "d"], unit = "rad" }
[method]
name = "actuators"
"""
START = "start = { stiffness = 20.0, damping = 0.5, coulomb = 0.1, armature = 0.02, delay = 0.02 }\n"


def test_the_command_writes_commands_and_intervals(poinsot, tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "job.toml").write_text(JOB + START)
    out = tmp_path / "out"
    code, shown, _ = poinsot("excite", tmp_path / "job.toml", "--commands", "--duration", "12", "--out", out)
    assert code == 0
    assert "all limits are kept" in shown
    assert {each.name for each in out.iterdir()} == {
        "commands.csv", "lerobot.parquet", "lerobot.npy", "joint_trajectory.json", "excite.json",
        "poinsot.manifest.json",
    }  # fmt: skip
    content = json.loads((out / "excite.json").read_text())
    assert content["schema"] == "poinsot.commands/1"
    assert {row["parameter"] for row in content["parameters"]} >= {"stiffness", "delay"}
    assert len(pl.read_csv(out / "commands.csv")) == 600
    (tmp_path / "job.toml").write_text(JOB)
    code, _, error = poinsot("excite", "--commands", tmp_path / "job.toml")
    assert code == 2
    assert "write in [method]" in error
    code, _, error = poinsot(
        "excite", "--commands", tmp_path / "arm.urdf", "--actuators", out / "excite.json"
    )
    assert code == 2
    assert "is no result of" in error


def test_help_lists_the_verbs_of_servo_robots(poinsot):
    code, shown, _ = poinsot("--help")
    assert code == 0
    assert "drives" in shown
    assert "excite --commands" not in shown
    assert "--lerobot-unit" in poinsot("excite", "--commands", "--help")[1]
    assert "--commands" in poinsot("excite", "--help")[1]


def test_actuators_of_a_result_are_read_back(tmp_path):
    rows = [
        {
            "joint": each.name,
            "friction_law": "M1",
            "friction_positions": [],
            "friction_levels": [],
            "ramp": each.ramp,
        }
        | {name: value if np.isfinite(value) else None for name, value in each.values.items()}
        for each in TRUTH
    ]
    (tmp_path / "result.json").write_text(json.dumps({"actuators": {"joints": rows}}))
    found, laws = read_actuators(tmp_path / "result.json", ("elbow", "shoulder"))
    assert found == TRUTH
    assert laws == {"shoulder": "M1", "elbow": "M1"}
    with pytest.raises(PoinsotError, match="the robot the joints wrist"):
        read_actuators(tmp_path / "result.json", ("wrist",))
