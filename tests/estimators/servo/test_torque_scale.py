"""A measured torque gives the scale that positions leave open; the truth is simulated in MuJoCo."""

import mujoco
import numpy as np
import pytest

import poinsot
from poinsot import Actuator, ActuatorProblem, Actuators, OutputError, Recording, Search
from poinsot.estimators.servo.torque_scale import torque_scales
from poinsot.models.servo.mjcf import mjcf_text

TURNTABLE = """<robot name="turntable"><link name="base"/><link name="plate"><inertial><mass value="0.05"/>
<inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/></inertial></link>
<joint name="pan" type="continuous"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/></joint></robot>"""
TRUTH = Actuator("pan", 8.0, damping=0.4, coulomb=0.12, armature=0.01, delay=0.012)
OPEN = ("stiffness", "damping", "coulomb", "armature", "delay", "zero")
QUICK = OutputError(Search(draws=60, refined=2, finished=1, hops=1))
NOISE_NM = 0.05


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("turntable") / "turntable.urdf"
    path.write_text(TURNTABLE)
    return poinsot.load_robot(path)


def recorded(robot, seed, torque=lambda tau: tau, unit="N m"):
    """20 s at 50 Hz: commands that are held, positions and torques of the motor with noise."""
    rng, h, each = np.random.default_rng(seed), 0.0005, 40
    model = mujoco.MjModel.from_xml_string(mjcf_text(robot, [TRUTH], timestep=h))
    data, time = mujoco.MjData(model), 0.02 * np.arange(1000)
    phase = rng.uniform(0, 2 * np.pi, 3)
    command = 0.3 * np.sin(2.0 * time + phase[0]) + 0.2 * np.sin(7.0 * time + phase[1])
    command += 0.1 * np.sign(np.sin(1.3 * time + phase[2]))
    command -= command[0]
    position, tau = np.empty((2, len(time)))
    for k, u in enumerate(command):
        position[k], tau[k], data.ctrl[0] = (
            data.qpos[0],
            data.actuator_force[0],
            u,
        )  # the force is a step late
        mujoco.mj_step(model, data, each)
    channels = {
        "position_command.pan": command,
        "position.pan": position + 2e-4 * rng.standard_normal(len(time)),
        "torque.pan": torque(tau + NOISE_NM * rng.standard_normal(len(time))),
    }
    units = dict.fromkeys(channels, "rad") | {"torque.pan": unit}
    return ActuatorProblem(robot, {"motion": Recording(time, channels, units)}, open=OPEN)


def stiffness(estimate):
    k = estimate.names.index("pan.stiffness")
    return estimate.values[k], estimate.std[k]


@pytest.mark.parametrize(
    "torque", [lambda tau: tau, np.abs, lambda tau: tau + 0.3], ids=["signed", "size", "offset"]
)
def test_the_scale_is_that_of_the_torque(robot, torque):
    estimate = QUICK.solve(recorded(robot, 1, torque))
    value, std = stiffness(estimate)
    assert abs(value - TRUTH.stiffness) < 4 * std
    assert std < 0.05 * value
    assert estimate.extra(Actuators).scale_known["pan"]
    for name in ("coulomb", "damping"):
        k = estimate.names.index(f"pan.{name}")
        assert estimate.identifiable[k]
        assert abs(estimate.values[k] - getattr(TRUTH, name)) < 4 * estimate.std[k]
    assert [each.cause for each in estimate.findings if "torque" in each.cause] == ["scale-from-torque"]
    assert not any("torque" in each.what for each in estimate.unchecked)


def test_a_torque_in_another_unit_or_of_something_else_gives_none(robot):
    rng = np.random.default_rng(0)
    for problem in (
        recorded(robot, 2, unit="%"),
        recorded(robot, 2, lambda tau: rng.standard_normal(len(tau))),
    ):
        estimate = QUICK.solve(problem)
        assert not estimate.extra(Actuators).scale_known["pan"]
        assert any("torque" in each.what for each in estimate.unchecked)


def test_a_torque_that_contradicts_what_is_known_is_found(robot):
    problem = recorded(robot, 3, lambda tau: 1.6 * tau)
    held = ActuatorProblem(robot, problem.recordings, open=OPEN[1:], held={"stiffness": TRUTH.stiffness})
    estimate = QUICK.solve(held)
    (found,) = [each for each in estimate.findings if each.cause == "torque-unit"]
    assert "times the one that moves it" in found.message
    (scale,) = torque_scales(held, estimate.extra(Actuators)).values()
    assert abs(scale.factor - 1.6) < 4 * scale.std
