"""Stiffness from the encoder of the motor: a pendulum on a spring, simulated by an integrator of high order."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from poinsot.accuracy import Accuracy
from poinsot.estimate.uncertainty import by_chance
from poinsot.estimators.linear.hidden_deflections import HiddenDeflections, HiddenMotion
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.exceptions import InvalidMethod
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.drive import Drive
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.signals.butterworth import ButterworthDecimation

PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody><body name="rod">
<inertial pos="0.2 0 0.03" mass="1.5" diaginertia="0.01 0.02 0.02"/>
<joint name="swing" axis="0 1 0"/></body></worldbody></mujoco>"""
ROTOR, VISCOUS, COULOMB, STIFFNESS, DAMPING = 0.05, 0.4, 0.6, 150.0, 0.25
INERTIA, MOMENT = 0.02 + 1.5 * (0.2**2 + 0.03**2), 1.5 * np.array([0.2, 0.03])
SMOOTHER = ButterworthDecimation(cutoff_hz=30, decimate_hz=21)


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("pendulum") / "pendulum.xml"
    path.write_text(PENDULUM)
    drive = Drive(rotor_inertia=True, elastic=("swing",))
    return load_robot(path, drive=drive, friction=ViscousCoulomb(offset=False))


def gravity(angle):
    """Torque that holds the pendulum: about y, x to the side and z up turn downwards."""
    return -9.81 * (MOMENT[0] * np.cos(angle) + MOMENT[1] * np.sin(angle))


def simulated(seed, noise=1.0, seconds=8.0, rate=500.0):
    """Motor and deflection of a motor that follows sines up to 6 Hz, below the resonance at 6.8 Hz."""
    generator = np.random.default_rng(seed)
    w = 2 * np.pi * np.array([0.4, 1.1, 2.3, 4.0, 6.0])
    size, phase = np.array([0.6, 0.3, 0.08, 0.02, 0.012]), generator.uniform(0, 2 * np.pi, 5)
    time = np.arange(round(seconds * rate)) / rate

    def motor(t):
        angle = np.multiply.outer(t, w) + phase
        return np.sin(angle) @ size, np.cos(angle) @ (size * w), -np.sin(angle) @ (size * w**2)

    def rates(t, x):
        q, _, a = motor(t)
        spring = -STIFFNESS * x[0] - DAMPING * x[1]
        return [x[1], (spring - gravity(q + x[0])) / INERTIA - a]

    d = solve_ivp(rates, (0, time[-1]), [0.0, 0.0], t_eval=time, rtol=1e-9, atol=1e-12).y
    q, v, a = motor(time)
    tau = ROTOR * a + VISCOUS * v + COULOMB * np.sign(v) - (STIFFNESS * d[0] + DAMPING * d[1])
    channels = {
        "position.swing": q + 1e-5 * noise * generator.standard_normal(len(q)),
        "torque.swing": tau + 0.05 * noise * generator.standard_normal(len(q)),
        "position.swing_deflection": d[0] + 1e-5 * noise * generator.standard_normal(len(q)),
    }
    units = {name: "N m" if name.startswith("torque") else "rad" for name in channels}
    return Recording(time, channels, units)


def without_link(recording):
    names = [name for name in recording.channels if "deflection" not in name]
    return Recording(
        recording.time,
        {name: recording[name] for name in names},
        {name: recording.units[name] for name in names},
    )


def problem_of(robot, recording):
    return inverse_dynamics(robot, SMOOTHER.apply(recording), accuracy=Accuracy(exact=True))


@pytest.fixture(scope="module")
def hidden(robot):
    return HiddenDeflections().solve(problem_of(robot, without_link(simulated(1))))


def test_a_spring_joins_motor_and_link(robot):
    assert robot.joints == ("swing", "swing_deflection")
    assert robot.drive.passive == ("swing_deflection",)
    kinds = {block.kind for block in robot.parameters if block.owner == "swing_deflection"}
    assert kinds == {"viscous", "spring_stiffness"}


def test_encoders_at_motor_and_link_give_the_stiffness(robot):
    estimate = LeastSquares().solve(problem_of(robot, simulated(1)))
    values = dict(zip(estimate.names, estimate.values, strict=True))
    assert values["ks_2"] == pytest.approx(STIFFNESS, rel=0.005)
    assert values["fv2"] == pytest.approx(DAMPING, rel=0.05)
    assert values["ia1"] == pytest.approx(ROTOR, rel=0.05)


def test_the_encoder_of_the_motor_gives_the_stiffness(hidden):
    values = dict(zip(hidden.names, hidden.values, strict=True))
    assert values["ks_2"] == pytest.approx(STIFFNESS, rel=0.01)
    assert values["ia1"] == pytest.approx(ROTOR, rel=0.05)
    assert hidden.status.converged
    assert hidden.certificate().stationarity < 1e-3


def test_errors_are_as_large_as_their_standard_deviations_say(hidden):
    truth = {"ks_2": STIFFNESS, "fv2": DAMPING, "ia1": ROTOR, "fv1": VISCOUS, "fc1": COULOMB}
    C = by_chance(hidden.parameters.uncertainty)
    for name, value in truth.items():
        k = hidden.names.index(name)
        # 4 standard deviations, and what filtered dry friction leaves
        assert abs(hidden.values[k] - value) <= 4 * np.sqrt(C[k, k]) + 0.005 * value, name


def test_another_motion_is_predicted(hidden):
    fit = hidden.predict(without_link(simulated(2)))
    assert fit.relative_error_percent < 1.0


def test_derivatives_are_those_of_larger_steps(robot, monkeypatch):
    problem = problem_of(robot, without_link(simulated(1)))
    motion = HiddenMotion(problem)
    x = np.concatenate([HiddenMotion(problem, simulated=False).start()[: motion.b], [0.001, 0.0]])
    columns = np.arange(motion.b)
    J = motion.jacobian(x, columns)
    monkeypatch.setattr("poinsot.estimators.linear.hidden_deflections.DIFFERENCE", 1e-4)
    monkeypatch.setattr(HiddenMotion, "of_motors", frozenset())
    other = motion.jacobian(x, columns)
    size = np.linalg.norm(J, axis=(0, 1))
    assert np.all(np.linalg.norm(J - other, axis=(0, 1)) <= 1e-3 * size + 1e-9)


def test_without_elastic_joints_it_is_refused(robot):
    with pytest.raises(InvalidMethod, match="needs an elastic joint whose deflection was not recorded"):
        HiddenDeflections().solve(problem_of(robot, simulated(1)))
