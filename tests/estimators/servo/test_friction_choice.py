"""The law of dry friction is that of the robot that MuJoCo simulated, and a constant where it is constant."""

import numpy as np
import pytest

from poinsot import Actuator, ActuatorProblem, OutputError, PoinsotError, Recording, Search
from poinsot.estimators.servo.friction_choice import excess
from poinsot.estimators.servo.search import group_problem
from poinsot.models.friction.listed import servo_friction
from poinsot.models.robot.articulated import load_robot
from poinsot.simulation.actuators import Motion, Simulator

URDF = """<robot name="pendulum"><link name="base"/>
<link name="bob"><inertial><origin xyz="0 0 -0.15"/><mass value="0.3"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"""
CONSTANT = Actuator("hinge", 8.0, damping=0.2, coulomb=0.06, armature=0.01, delay=0.02)
LAWS = ("M1", "M3", "efficiency")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "pendulum.urdf"
    path.write_text(URDF)
    return load_robot(path)


def problem_of(robot, actuator):
    """Two motions with noise of 0.3 mrad, by MuJoCo's steps of 0.5 ms."""
    rng, recordings = np.random.default_rng(3), {}
    simulator = Simulator.of(robot, [actuator], timestep=0.0005, hold=False)
    for name, (slow, fast) in {"one": (0.9, 4.1), "other": (1.4, 6.3)}.items():
        time = np.arange(0.0, 15.0, 0.02)
        command = 0.9 * np.sin(slow * time) + 0.25 * np.sin(fast * time)
        motion = Motion(name, time, command[:, None], command[:1], np.zeros(1))
        measured = simulator.roll_out(motion)[:, 0] + 3e-4 * rng.standard_normal(len(time))
        channels = {"position_command.hinge": command, "position.hinge": measured}
        recordings[name] = Recording(time, channels, dict.fromkeys(channels, "rad"))
    names = ("stiffness", "damping", "coulomb", "armature", "delay")
    start = {name: 1.2 * actuator.values[name] for name in names}
    return ActuatorProblem(robot, recordings, open=names, start=start, hold=False)


SEARCH = Search(draws=0, refined=1, finished=1, hops=2)


STRIBECK = {"stiction": 0.05, "stribeck_speed": 0.3}
BY_TORQUE = {"load_friction": 0.1, "external_friction": 0.05, "load_stiction": 0.1, "external_stiction": 0.05}


@pytest.mark.parametrize(
    ("law", "values"),
    [
        ("M1", {}),
        ("M2", STRIBECK),
        ("M3", {"gear_friction": 0.15}),
        ("M4", STRIBECK | {"gear_friction": 0.1, "gear_stiction": 0.1}),
        ("M5", STRIBECK | BY_TORQUE),
        ("M6", STRIBECK | BY_TORQUE | {"load_quadratic": 0.2, "external_quadratic": 0.3}),
        ("efficiency", {"load_friction": 0.3}),
    ],
)
def test_the_law_of_the_simulated_robot_is_chosen(robot, law, values):
    actuator = CONSTANT.updated(values)
    laws = LAWS if law in LAWS else ("M1", law)
    estimate = OutputError(SEARCH, friction_laws=laws).solve(problem_of(robot, actuator))
    assert estimate.actuators.friction_laws == {"hinge": law}
    assert estimate.actuators.as_json()["joints"][0]["friction_law"] == law
    found = dict(zip(estimate.names, zip(estimate.values, estimate.std, strict=True), strict=True))
    for name, true in values.items():
        value, std = found[f"hinge.{name}"]
        # 4 standard deviations; MuJoCo and the rollout differ by errors of the order of their steps
        assert abs(value - true) < 4 * std + 0.01 * true
    unused = set(servo_friction()["gears"]) - set(values)
    assert all(getattr(estimate.actuators["hinge"], name) == 0.0 for name in unused)


def test_a_law_that_explains_no_more_has_no_excess(robot):
    problem = problem_of(robot, CONSTANT)
    loads = [problem.measured_loads(motion) for motion in problem.motions]
    group = group_problem(problem, ("hinge",), problem.motions, loads)
    z = group.begin(group.coordinates.from_natural(np.array([8.0, 0.2, 0.06, 0.01, 0.02])))
    assert excess(group, z, group, z) == -np.inf


def test_laws_open_their_parameters(robot):
    problem = problem_of(robot, CONSTANT)
    for law, parameters in servo_friction().items():
        assert set(problem.open_of("hinge", law)) == {*problem.open, *parameters}


def test_an_unknown_law_is_refused():
    with pytest.raises(PoinsotError, match="there is no law of friction 'M7'"):
        OutputError(friction_laws=("M1", "M7"))
