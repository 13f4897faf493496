"""MuJoCo files of actuators: read back equal, and moving as the exact simulation of one joint."""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from poinsot import Actuator, PoinsotError
from poinsot.models.friction.listed import servo_friction
from poinsot.models.robot.articulated import load_robot
from poinsot.models.servo.actuator import actuator_parameters
from poinsot.models.servo.mjcf import actuators_of, mjcf_text, parameters_beyond_mjcf, write_mjcf
from poinsot.models.servo.rollout import JointLoad, Steps, parameter_vector, roll_out
from poinsot.models.servo.setpoint import Commands, Setpoint
from poinsot.simulation import actuators as simulate
from poinsot.simulation.actuators import Motion, Simulator, roll_out_all, shaped_command

MASS, LENGTH = 0.3, 0.15
ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 -0.1"/><mass value="0.2"/>
<inertia ixx="4e-4" iyy="5e-4" izz="3e-4" ixy="1e-5" ixz="-2e-5" iyz="3e-5"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.02 0 -0.05"/><mass value="0.1"/>
<inertia ixx="2e-4" iyy="2e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0 0.01 0.3" rpy="0.1 -0.2 0.3"/><axis xyz="0 0.6 0.8"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
<joint name="slide &amp; turn" type="prismatic"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 -0.2" rpy="0 0.4 0"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
<dynamics damping="0.7" friction="0.02"/></joint></robot>"""
PENDULUM = f"""<robot name="pendulum"><link name="base"/>
<link name="bob"><inertial><origin xyz="0 0 {-LENGTH}"/><mass value="{MASS}"/>
<inertia ixx="1e-12" iyy="1e-12" izz="1e-12" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"""
SERVO = Actuator(
    "hinge",
    6.0,
    derivative_gain=0.15,
    damping=0.1,
    coulomb=0.08,
    armature=0.01,
    torque_limit=1e4,
    delay=0.013,
    zero=0.02,
    ramp=0.02,
)


def robot_of(tmp_path, text):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    return load_robot(path)


def motion_of(joints=1, seconds=6.0, rate=50.0):
    time = np.arange(0.0, seconds, 1.0 / rate)
    command = 0.5 * np.sin(2.0 * time) + 0.2 * np.sign(np.sin(4.5 * time)) - 0.2
    return Motion(
        "test",
        time,
        np.repeat(command[:, None], joints, axis=1),
        np.full(joints, command[0]),
        np.zeros(joints),
    )


def exact(actuator, motion, h, hold=True):
    """The same pendulum along its own posture, where the linear load is exact."""
    steps = Steps.of(motion.time, h)
    K, sag = len(steps.times), MASS * 9.81 * LENGTH
    setpoint = Setpoint.of(motion.time, motion.commands[:, 0], hold=hold, ramp=actuator.ramp)
    posture, theta = np.zeros(K), parameter_vector(actuator, motion.position[0], motion.velocity[0])
    for _ in range(40):
        gravity = sag * np.sin(posture)
        load = JointLoad(np.full(K, MASS * LENGTH**2), gravity, sag * np.cos(posture), posture, gravity)
        supply = None
        if motion.voltage is not None:
            supply = np.interp(steps.middles, motion.time, motion.voltage[:, 0]) / actuator.nominal_voltage
        found = roll_out(theta, steps, setpoint, load, supply=supply, knots=actuator.friction_positions)
        if np.abs(found.fine_position[:-1] - posture).max() < 1e-10:
            return found.position
        posture = found.fine_position[:-1].copy()
    raise AssertionError("the posture does not settle")


def test_a_dcmotor_moves_in_mujoco_alone_as_the_speed_torque_line_in_the_simulator(tmp_path):
    robot, motion, h = robot_of(tmp_path, PENDULUM), motion_of(seconds=10.0), 0.002
    servo = Actuator(
        "hinge", 6.0, velocity_gain=0.1, damping=0.05, coulomb=0.02, armature=0.01, torque_limit=0.6, no_load_speed=4.0,
        nominal_voltage=12.0,
    )  # fmt: skip
    lines = write_mjcf(robot, [servo], tmp_path / "motor.xml", dcmotor=True)
    assert [line.split(" = ")[0] for line in lines] == ["hinge: MJCF has no attribute for nominal_voltage"]
    shifted = write_mjcf(robot, [servo.updated({"zero": 0.1})], tmp_path / "zero.xml", dcmotor=True)
    assert any("zero = 0.1" in line for line in shifted)
    apart = []
    for h in (0.002, 0.0005):
        write_mjcf(robot, [servo], tmp_path / "motor.xml", timestep=h, dcmotor=True)
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "motor.xml"))
        assert model.actuator_gaintype[0] == mujoco.mjtGain.mjGAIN_DCMOTOR
        data, each = mujoco.MjData(model), round(0.02 / h)
        # the control of each step as the simulator has it
        control, _ = shaped_command(
            servo,
            Commands.of_rows(motion.time, motion.commands[:, 0], hold=True),
            h,
            each * (len(motion.time) - 1),
        )
        data.qpos[0] = motion.position[0]
        q = np.empty(len(control))
        for k, u in enumerate(control):
            q[k], data.ctrl[0] = data.qpos[0], u
            mujoco.mj_step(model, data)
        expected = Simulator.of(robot, [servo], timestep=h).roll_out(motion)[:-1, 0]
        apart.append(np.abs(q[::each] - expected).max())
    without = Simulator.of(robot, [servo.updated({"no_load_speed": np.inf})]).roll_out(motion)[:-1, 0]
    assert np.abs(without - expected).max() > 0.05
    # MuJoCo takes the line of a <dcmotor> implicitly in the speed, the simulator explicitly: of first order in the step
    assert apart[0] < 5e-3
    assert apart[1] < 0.3 * apart[0]


def test_gains_and_limits_follow_the_supply_voltage(tmp_path):
    robot, motion = robot_of(tmp_path, PENDULUM), motion_of(seconds=4.0)
    sagging = replace(motion, voltage=12.0 - 1.0 * motion.time[:, None])
    servo = Actuator(
        "hinge", 6.0, velocity_gain=0.1, damping=0.2, coulomb=0.05, armature=0.01, torque_limit=0.9, no_load_speed=5.0,
        zero=0.02, nominal_voltage=12.0,
    )  # fmt: skip
    here, there = exact(servo, sagging, 1e-3), exact(servo, motion, 1e-3)
    assert np.abs(here - there).max() > 5e-3
    errors = [
        np.abs(Simulator.of(robot, [servo], timestep=h).roll_out(sagging)[:, 0] - here).max()
        for h in (2e-3, 1e-3)
    ]
    # of first order in MuJoCo's step
    assert errors[0] < 2e-3
    assert errors[1] < 0.6 * errors[0] + 1e-5


def test_a_written_file_reads_back_as_the_same_actuators(tmp_path):
    robot = robot_of(tmp_path, ARM)
    numbers = {name: 0.01 * k + 0.002 for k, name in enumerate(actuator_parameters(), start=1)}
    knots, levels = (-0.5, 0.1, 0.7), (0.1, 0.2, 0.3)
    one = Actuator("slide & turn", friction_positions=knots, friction_levels=levels, **numbers)
    other = Actuator("shoulder", 17.8, velocity_gain=0.4)
    lines = write_mjcf(robot, [one, other], tmp_path / "arm.xml")
    read = actuators_of(mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml")))
    for written, again in zip((one, other), read, strict=True):
        assert again.name == written.name
        assert again.friction_positions == written.friction_positions
        assert again.friction_levels == written.friction_levels
        np.testing.assert_allclose(list(again.values.values()), list(written.values.values()), rtol=1e-12)
    friction = {
        *servo_friction()["gears"],
        *servo_friction()["stiction"],
        "friction_positions",
        "friction_levels",
    }
    beyond = friction | {
        "derivative_gain",
        "ramp",
        "lag",
        "dead_band",
        "backlash",
        "no_load_speed",
        "nominal_voltage",
    }
    assert len(lines) == len(beyond)
    assert all(any(f"attribute for {name} =" in line for line in lines) for name in beyond)
    assert parameters_beyond_mjcf([other]) == ()


def test_mujoco_alone_delays_the_control_of_the_file_as_the_simulator_does(tmp_path):
    robot, h = robot_of(tmp_path, PENDULUM), 0.002
    servo = Actuator(
        "hinge", 6.0, velocity_gain=0.1, damping=0.2, armature=0.01, torque_limit=2.0, delay=0.013
    )
    path = tmp_path / "pendulum.xml"
    assert write_mjcf(robot, [servo], path, timestep=h) == ()
    time = h * np.arange(1500)
    command = 0.5 * np.sin(2.0 * time) ** 2  # from 0, as MuJoCo's buffer of controls has 0 before the first
    model = mujoco.MjModel.from_xml_path(str(path))
    data, alone = mujoco.MjData(model), []
    for each in command:
        data.ctrl[0] = each
        alone.append(data.qpos[0])
        mujoco.mj_step(model, data)
    motion = Motion("test", time, command[:, None], np.zeros(1), np.zeros(1))
    simulated = Simulator.load(path, hold=False).roll_out(motion)[:, 0]
    # Both interpolate the command over parts of a step, with errors below h^2 / 8 of its second derivative, 4 rad/s^2;
    # the servo is damped and has no gain above 2.
    np.testing.assert_allclose(alone, simulated, atol=2 * 2 * h**2 / 8 * 4.0)
    without = np.interp(time + servo.delay, time, alone)
    assert np.abs(without - simulated)[:-10].max() > 100 * h**2  # the delay is no small matter


def test_the_file_has_the_robots_inertia(tmp_path):
    robot = robot_of(tmp_path, ARM)
    model = mujoco.MjModel.from_xml_string(mjcf_text(robot, [Actuator("shoulder", 1.0, armature=0.05)]))
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    assert model.dof_damping[1] == 0.7  # the passive joint is as described
    for _ in range(5):
        data.qpos[:], data.qvel[:], data.qacc[:] = rng.normal(size=(3, 2))
        mujoco.mj_inverse(model, data)
        expected = np.array(pin.rnea(robot.model, robot.model.createData(), data.qpos, data.qvel, data.qacc))
        expected[0] += 0.05 * data.qacc[0]
        moved = data.qfrc_inverse + data.qfrc_passive + data.qfrc_constraint
        np.testing.assert_allclose(moved, expected, atol=1e-9)


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"lag": 0.02},
        {"backlash": 0.04},
        {"dead_band": 0.03},
        {"no_load_speed": 3.0, "torque_limit": 1.2},
        {"stiction": 0.1, "stribeck_speed": 0.3},
        {"load_friction": 0.15},
        {"external_friction": 0.3},
        {"gear_friction": 0.1},
        {"load_friction": 0.1, "external_friction": 0.2},
        {"load_stiction": 0.1, "external_stiction": 0.05, "stribeck_speed": 0.3},
        {"gear_friction": 0.05, "gear_stiction": 0.1, "stribeck_speed": 0.3},
        {"friction_positions": (-0.6, 0.0, 0.5), "friction_levels": (0.3, 0.0, 0.2)},
        {"velocity_gain": 0.3, "torque_limit": 0.6},
    ],
    ids=lambda change: ",".join(change) or "plain",
)
def test_mujoco_moves_the_file_as_the_exact_simulation_of_a_joint(tmp_path, change, hold):
    # MuJoCo's error is of the order of h; from 1 ms to 0.25 ms the difference must shrink.
    actuator, motion = replace(SERVO, **change), motion_of()
    robot = robot_of(tmp_path, PENDULUM)

    def difference(h):
        found = Simulator.of(robot, [actuator], timestep=h, hold=hold).roll_out(motion)[:, 0]
        return np.sqrt(np.mean((found - exact(actuator, motion, h, hold)) ** 2))

    assert difference(0.00025) < 1e-3
    assert difference(0.00025) < 0.6 * difference(0.001) + 2e-4


@pytest.mark.parametrize("derivative_gain", [0.4, 2.0])
def test_a_derivative_gain_on_held_commands_does_not_depend_on_the_time_step(tmp_path, derivative_gain):
    # commands in steps of an encoder; their rate is at the torque limit in much of the motion
    robot, motion = robot_of(tmp_path, PENDULUM), motion_of()
    wave = 0.3 * np.sin(2.0 * motion.time) + 0.1 * np.sin(9.0 * motion.time)
    motion = replace(motion, commands=np.round(wave[:, None] / 0.0015) * 0.0015, position=np.zeros(1))
    servo = replace(SERVO, derivative_gain=derivative_gain, torque_limit=0.7)
    steps = (0.004, 0.002, 0.001, 0.0005)
    own = [exact(servo, motion, h) for h in steps]
    file = [Simulator.of(robot, [servo], timestep=h).roll_out(motion)[:, 0] for h in steps]

    def apart(found, best):
        return [float(np.sqrt(np.mean((each - best) ** 2))) for each in found]

    # of a motion of 300 mrad: what second order leaves, and MuJoCo's first order
    assert max(apart(own, own[-1])) < 1e-3
    assert max(apart(file, own[-1])) < 3e-3
    with pytest.raises(PoinsotError, match="write ramp = the seconds between two commands"):
        Simulator.of(robot, [servo.updated({"ramp": 0.0})], timestep=0.002)


def test_the_file_loaded_again_predicts_the_same(tmp_path):
    robot, motion = robot_of(tmp_path, PENDULUM), motion_of(seconds=10.0)
    write_mjcf(robot, [SERVO], tmp_path / "pendulum.xml", timestep=0.004)
    own = Simulator.of(robot, [SERVO], timestep=0.004)
    again = Simulator.load(tmp_path / "pendulum.xml")
    a, b, c = roll_out_all([(own, motion), (again, motion), (again, motion)])
    np.testing.assert_array_equal(b, c)
    assert np.abs(a - b).max() < 1e-6


def test_dry_friction_holds_a_servo_under_gravity(tmp_path):
    # the joint sags to 0.3 rad beside its command, and rests there: no creep over 20 s
    held = replace(SERVO, coulomb=0.3, delay=0.0)
    time = np.arange(0.0, 20.0, 0.02)
    motion = Motion("hold", time, np.full((len(time), 1), 1.0), np.array([1.04]), np.zeros(1))
    q = Simulator.of(robot_of(tmp_path, PENDULUM), [held]).roll_out(motion)[:, 0]
    assert abs(q[-1] - q[50]) < 1e-4


def test_a_shaped_command_is_between_its_means_over_steps():
    time = np.array([0.0, 0.1, 0.2, 0.3])
    command = np.array([0.0, 1.0, -1.0, 0.5])
    means = np.array([0.0, 0.0, 0.5, 0.0, -0.25])
    r, rate = shaped_command(Actuator("a", 1.0, delay=0.05), Commands(time, command, True), 0.1, 4)
    np.testing.assert_allclose(r, 0.5 * (means[1:] + means[:-1]), atol=1e-12)
    np.testing.assert_allclose(rate, np.diff(means) / 0.1, atol=1e-12)
    means = np.array([0.0, 0.5, 0.0, -0.25, 0.5])
    r, _ = shaped_command(Actuator("a", 1.0), Commands(time, command, False), 0.1, 4)
    np.testing.assert_allclose(r, 0.5 * (means[1:] + means[:-1]), atol=1e-12)


def test_bad_files_and_names_are_refused(tmp_path):
    robot = robot_of(tmp_path, PENDULUM)
    with pytest.raises(PoinsotError, match="no joint 'elbow' for an actuator; the robot has hinge"):
        mjcf_text(robot, [Actuator("elbow", 1.0)])
    with pytest.raises(PoinsotError, match="cannot write"):
        write_mjcf(robot, [SERVO], tmp_path / "missing" / "file.xml")
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><body></mujoco>")
    with pytest.raises(PoinsotError, match="MuJoCo cannot read"):
        Simulator.load(tmp_path / "bad.xml")
    motor = mjcf_text(robot, [SERVO]).replace(f"{-SERVO.stiffness!r} ", "0 ")
    (tmp_path / "motor.xml").write_text(motor)
    with pytest.raises(PoinsotError, match="no position servo"):
        Simulator.load(tmp_path / "motor.xml")


def test_python_steps_as_the_library_does_where_its_file_is_not_found(tmp_path, monkeypatch):
    robot, motion = robot_of(tmp_path, PENDULUM), motion_of(seconds=2.0)
    levels = {"friction_positions": (-0.6, 0.0, 0.5), "friction_levels": (0.3, 0.0, 0.2)}
    changes = {"load_friction": 0.1, "gear_stiction": 0.1, "no_load_speed": 4.0, "torque_limit": 2.0}
    simulator = Simulator.of(robot, [replace(SERVO, **changes, **levels)], timestep=0.002)
    compiled = simulator.roll_out(motion)
    monkeypatch.setattr(simulate, "_native_step", lambda: None)
    np.testing.assert_allclose(simulator.roll_out(motion), compiled, atol=1e-9)


def test_a_simulation_that_diverges_step_by_step_has_no_values_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log there
    unstable = Actuator("hinge", 1e9, load_friction=0.01)
    q = Simulator.of(robot_of(tmp_path, PENDULUM), [unstable], timestep=0.01).roll_out(motion_of(seconds=1.0))
    assert np.isfinite(q[0]).all()
    assert np.isnan(q[-1]).all()
