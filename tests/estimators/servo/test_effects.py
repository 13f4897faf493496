"""Effects that a model of servos lacks are named by the parts of a recording that they predict, and nothing else is.

The robot is simulated in MuJoCo, which shares no code with the rollouts of the estimate.
"""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import poinsot
from poinsot import Accuracy, ActuatorProblem, Actuators, OutputError, Recording, Search
from poinsot.estimate import Severity, Trust
from poinsot.estimators.servo.effects import EFFECTS, CommonMass, fit_of_effects

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
    _, estimate = solve(robot, recorded(2, tilt=0.2))
    named = fit_of_effects(estimate.parameters.uncertainty.systematic.at).named[0]
    assert named.columns[0].effect.name == "tilt"
    assert abs(named.value - np.degrees(0.2)) < 4 * named.std + 0.5


def test_columns_are_differences_of_simulations_of_what_they_say(clean, robot):
    """The column of a tilt is the change of positions that the coupled simulation of a tilted robot has."""
    problem, estimate = clean
    at = estimate.parameters.uncertainty.systematic.at
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
    stretches, left_out, _ = estimate.parameters.uncertainty.systematic.stretches.result
    time = problem.motions[0].steps.time
    inside = (time > 8.2) & (time < 8.9)
    assert stretches[inside].all() and left_out[inside].all()
    assert not left_out[(time < 7.5) | (time > 9.6)].any()


def test_effects_that_are_not_named_widen_intervals(clean, robot):
    problem, estimate = clean
    exact = OutputError(Search(draws=30, refined=2, finished=1, hops=1)).solve(
        replace(problem, accuracy=Accuracy(exact=True))
    )
    known = estimate.identifiable
    assert (exact.systematic_std == 0).all() and (estimate.std >= exact.std)[known].all()
    np.testing.assert_array_equal(exact.std, exact.parameters.coloured_std)
    assert not exact.parameters.uncertainty.systematic.at.problem.description_std[0]
    # gravity has the scale of torques from the masses, whose error by itself is 15 %
    scale = [kind == "stiffness" for kind in estimate.kinds]
    np.testing.assert_array_less(estimate.relative_std_percent[scale], 3 * 15)
    np.testing.assert_array_less(10, estimate.relative_std_percent[scale])
    assert {"clock", "zero"} <= {
        column.effect.name for column in estimate.parameters.uncertainty.systematic.fit.columns
    }
    assert any("%" in entry.reason and "clock" in entry.what for entry in estimate.unchecked)


def test_heavier_links_are_weaker_actuators(clean):
    """All torques that the robot takes by a common factor: as a stiffness, to which others are ratios, over it."""
    at = clean[1].parameters.uncertainty.systematic.at
    (column,) = CommonMass().columns(at)
    scale = [k for k, (name, _) in enumerate(at.group(0).coordinates.columns) if name == "stiffness"]
    size = at.group(0).coordinates.size
    of_scale = at.by_coordinates[:, :, [scale[0], size + scale[0]]].sum(axis=2)
    np.testing.assert_allclose(
        column.values[:, :, 0], -0.01 * column.size * of_scale, atol=1e-3 * np.abs(of_scale).max()
    )


def test_a_clock_changes_positions_as_a_simulation_in_other_time_does(clean, robot):
    problem, estimate = clean
    found, part = estimate.extra(Actuators), -1e-3
    motion, recording = problem.motions[0], problem.recordings["moves"]
    slow = replace(problem, recordings={"moves": replace(recording, time=(1 + part) * recording.time)})
    q0, v0 = found.starts["moves"]
    usual, other = (
        np.stack(
            [each.position for each in of.simulate(of.motions[0], found.actuators, start=start)[0]], axis=1
        )
        for of, start in ((problem, (q0, v0)), (slow, (q0, v0 / (1 + part))))
    )
    at = estimate.parameters.uncertainty.systematic.at
    column = np.stack([at.of_clock(0, k, 1.0) for k in range(2)], axis=1)
    assert len(motion.steps.time) == len(column)
    error = (other - usual) / part - column
    assert np.sqrt(np.mean(error**2)) < 0.1 * np.sqrt(np.mean(column**2))


def test_a_gain_on_the_rate_of_commands_is_estimated_only_where_it_explains_more(robot):
    """The simulated controller has none, and a setpoint that steps."""
    problem = ActuatorProblem(robot, {"moves": recorded(4)}, open=(*OPEN, "derivative_gain"))
    estimate = OutputError(Search(draws=60, refined=3, finished=1, hops=2)).solve(problem)
    assert not [name for name in estimate.names if "derivative_gain" in name]
    assert {actuator.ramp for actuator in estimate.extra(Actuators).actuators} == {0.0}
    for joint, damping in zip(JOINTS, DAMPING, strict=True):
        k = estimate.names.index(f"{joint}.damping")
        assert abs(estimate.values[k] - damping) < 2.6 * estimate.std[k]
