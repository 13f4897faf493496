"""Effects that a model of servos lacks are named by the parts of a recording that they predict, and nothing else is.

The robot is simulated in MuJoCo, which shares no code with the rollouts of the estimate.
"""

import mujoco
import numpy as np
import pytest

import poinsot
from poinsot import ActuatorProblem, Actuators, OutputError, Recording, Search
from poinsot.estimate import Severity, Trust
from poinsot.estimators.servo.effects import EFFECTS, fit_of_effects
from poinsot.estimators.servo.residuals import Stretches
from poinsot.estimators.servo.simulated import SimulatedMotions

XML = """<mujoco model="arm"><compiler angle="radian"/>
<option gravity="{x} 0 {z}" timestep="0.001" integrator="implicitfast"/><worldbody>
<body name="upper"><joint name="lift" axis="0 -1 0" range="-3 3"/>
<inertial pos="0.07 0 0" mass="0.2" diaginertia="6e-5 6e-4 6e-4"/>
<body name="fore" pos="0.15 0 0"><joint name="elbow" axis="0 -1 0" range="-3 3"/>
<inertial pos="{center} 0 0.01" mass="{mass}" diaginertia="3e-5 3e-4 3e-4"/></body></body></worldbody></mujoco>"""
JOINTS, STIFFNESS, DAMPING = ("lift", "elbow"), np.array([20.0, 12.0]), np.array([0.8, 0.4])
OPEN = ("stiffness", "damping", "coulomb", "armature", "delay", "zero")


def model(tilt=0.0, mass=0.15, center=0.06):
    return XML.format(x=9.81 * np.sin(tilt), z=-9.81 * np.cos(tilt), mass=mass, center=center)


def commands(rng, time):
    """Waves and steps about a posture, at most 3 rad/s."""
    c = np.zeros((len(time), 2))
    for joint in range(2):
        for hz in (0.31, 0.73, 1.57):
            c[:, joint] += 0.2 * np.sin(2 * np.pi * hz * rng.uniform(0.8, 1.2) * time + rng.uniform(0, 6))
        c[:, joint] += 0.2 * np.sign(np.sin(2 * np.pi * 0.17 * time + rng.uniform(0, 6)))
    for k in range(1, len(c)):
        c[k] = c[k - 1] + np.clip(c[k] - c[k - 1], -0.03, 0.03)
    return c + np.array([0.6, -0.5])


def recorded(seed=0, sag=0.0, warm=0.0, push=0.0, **true):
    """20 s at 100 Hz. sag, warm: fall of gains and of dry friction. push: on both joints from 8 to 9 s [N m]."""
    rng = np.random.default_rng(seed)
    m = mujoco.MjModel.from_xml_string(model(**true))
    d, dry, time = mujoco.MjData(m), np.array([0.15, 0.09]), np.arange(0, 20, 0.01)
    m.dof_armature[:] = [0.03, 0.015]
    m.dof_solref[:], m.dof_solimp[:] = [-1e-6, -1000.0], [0.9999, 0.9999, 0.001, 0.5, 2]
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_REFSAFE)
    c = commands(rng, time)
    d.qpos[:], q = c[0], np.empty_like(c)
    for k in range(len(time)):
        q[k] = d.qpos
        for _ in range(10):
            part = d.time / 20
            m.dof_frictionloss[:] = dry * (1 - warm * part)
            torque = STIFFNESS * (c[max(k - 2, 0)] - d.qpos) - DAMPING * d.qvel
            d.qfrc_applied[:] = (1 - sag * part) * torque + (push if 8 < d.time < 9 else 0.0)
            mujoco.mj_step(m, d)
    q += 5e-4 * rng.standard_normal(q.shape)
    channels = {f"position.{joint}": q[:, k] for k, joint in enumerate(JOINTS)}
    channels |= {f"position_command.{joint}": c[:, k] for k, joint in enumerate(JOINTS)}
    return Recording(time, channels, dict.fromkeys(channels, "rad"))


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(model())
    return poinsot.load_robot(path)


def solve(robot, recording):
    problem = ActuatorProblem(robot, {"moves": recording}, open=OPEN)
    return problem, OutputError(Search(draws=30, refined=2, finished=1, hops=1)).solve(problem)


def warnings_of(estimate):
    return [finding.cause for finding in estimate.findings if finding.severity > Severity.note]


@pytest.fixture(scope="module")
def clean(robot):
    return solve(robot, recorded())


def test_a_clean_recording_is_trusted(clean):
    assert warnings_of(clean[1]) == [] and clean[1].trust is Trust.trusted
    unchecked = {entry.what: entry.reason for entry in clean[1].unchecked}
    assert "%" in unchecked["the described mass of what joint elbow carries"]


@pytest.mark.parametrize(
    ("cause", "wrong"),
    [
        ("gravity", {"tilt": 0.5}),
        ("described-masses", {"mass": 0.4, "center": 0.12}),
        ("gain-change", {"sag": 0.5}),
        ("friction-drift", {"warm": 0.7}),
        ("disturbance", {"push": 1.2}),
    ],
)
def test_a_gross_defect_is_named(cause, wrong, robot):
    _, estimate = solve(robot, recorded(1, **wrong))
    assert cause in warnings_of(estimate)[:2]


def test_the_size_of_a_tilt_is_found(robot):
    problem, estimate = solve(robot, recorded(2, tilt=0.2))
    named = fit_of_effects(SimulatedMotions(problem, estimate.extra(Actuators))).named[0]
    assert named.columns[0].effect.name == "tilt"
    assert abs(named.value - np.degrees(0.2)) < 4 * named.std + 0.5


def test_columns_are_differences_of_simulations_of_what_they_say(clean, robot):
    """The column of a tilt is the change of positions that the coupled simulation of a tilted robot has."""
    problem, estimate = clean
    at = SimulatedMotions(problem, estimate.extra(Actuators))
    tilt = next(effect for effect in EFFECTS if effect.name == "tilt")
    (column,) = tilt.columns(at)
    assert column.values.shape == (2000, 2, 2) and column.size == pytest.approx(
        np.degrees(problem.gravity_tilt_std)
    )
    # about the axis of both joints; the other one moves neither
    sizes = np.linalg.norm(column.values, axis=(0, 1))
    assert sizes.min() < 1e-3 * sizes.max()


def test_only_rows_about_a_push_are_left_out(robot):
    problem, estimate = solve(robot, recorded(3, push=1.2))
    stretches, left_out, _ = Stretches(SimulatedMotions(problem, estimate.extra(Actuators))).result
    time = problem.motions[0].steps.time
    inside = (time > 8.2) & (time < 8.9)
    assert stretches[inside].all() and left_out[inside].all()
    assert not left_out[(time < 7.5) | (time > 9.6)].any()
