"""Measured velocities, supply voltages, and stamps of commands; the truth is simulated by MuJoCo's own actuator."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import poinsot
from poinsot import ActuatorProblem, OutputError, Recording, Search
from poinsot.estimators.servo.intervals import coloured_covariance
from poinsot.estimators.servo.problem import InvalidActuatorProblem
from poinsot.estimators.servo.velocities import measured_velocity
from poinsot.models.servo.setpoint import Commands, regular_changes
from poinsot_reproductions.actuators.predictions import AS_DESCRIBED

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 -0.15"/>
<mass value="0.4"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
MODEL = """<mujoco><option timestep="0.0002" integrator="implicitfast"/><worldbody><body>
  <joint name="hinge" axis="0 1 0" damping="0.3" frictionloss="0.05" armature="0.01"
    solimpfriction="0.9999 0.9999 0.001" solreffriction="0.0004 1"/>
  <inertial pos="0 0 -0.15" mass="0.4" diaginertia="1e-4 1e-4 1e-4"/></body></worldbody>
  <actuator><general joint="hinge" gainprm="8" biastype="affine" biasprm="0 -8 -0.1"/></actuator></mujoco>"""
TRUTH = {
    "stiffness": 8.0,
    "damping": 0.3,
    "coulomb": 0.05,
    "armature": 0.01 + 0.5 * 0.0002 * 0.4,
    "delay": 0.01,
}
"""Of MODEL; MuJoCo's implicit damping (0.3 and 0.1) adds half of itself times the step to the inertia."""
OPEN = (*TRUTH, "zero")
QUICK = OutputError(Search(draws=60, refined=2, finished=1, hops=1))
NOISE, VELOCITY_NOISE, LATE_S = 1e-3, 0.02, 0.006


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("pendulum") / "pendulum.urdf"
    path.write_text(PENDULUM)
    return poinsot.load_robot(path)


def recorded(seed, volts=lambda t: np.full(len(t), 12.0), late_s=LATE_S):
    """20 s at 50 Hz: held commands 10 ms late, positions, late velocities, gains by the supply."""
    rng, h, each = np.random.default_rng(seed), 0.0002, 100
    model = mujoco.MjModel.from_xml_string(MODEL)
    data, time = mujoco.MjData(model), 0.02 * np.arange(1000)
    command = 0.5 * np.sin(1.1 * time) + 0.3 * np.sin(5.3 * time) + 0.15 * np.sign(np.sin(1.7 * time))
    command -= command[0]
    fine = h * np.arange(len(time) * each)
    # forces at the beginning of a step act from half a step before to half a step after (leapfrog)
    late = [
        np.clip(np.floor((fine + s * h / 4 - TRUTH["delay"]) / 0.02).astype(int), 0, None) for s in (-1, 1)
    ]
    reached = 0.5 * (command[late[0]] + command[late[1]])
    supply, q, v = volts(fine) / 12.0, np.empty(len(fine)), np.empty(len(fine))
    for k in range(len(fine)):
        q[k], v[k] = data.qpos[0], data.qvel[0]
        model.actuator_gainprm[0, 0] = 8 * supply[k]
        model.actuator_biasprm[0, 1:3] = -8 * supply[k], -0.1 * supply[k]
        data.ctrl[0] = reached[k]
        mujoco.mj_step(model, data)
    measured = q[::each] + NOISE * rng.standard_normal(len(time))
    velocity = np.interp(time - late_s, fine, v) + VELOCITY_NOISE * rng.standard_normal(len(time))
    channels = {
        "position_command.hinge": command,
        "position.hinge": measured,
        "velocity.hinge": velocity,
        "voltage": volts(time),
    }
    units = {
        "position_command.hinge": "rad",
        "position.hinge": "rad",
        "velocity.hinge": "rad/s",
        "voltage": "V",
    }
    return Recording(time, channels, units)


def without(recording, *names):
    channels = {name: each for name, each in recording.channels.items() if name not in names}
    return replace(recording, channels=channels, units={name: recording.units[name] for name in channels})


def solved(robot, recording):
    return QUICK.solve(
        ActuatorProblem(
            robot,
            {"motion": recording},
            open=OPEN,
            held={"velocity_gain": 0.1},
            step_s=0.0005,
            **AS_DESCRIBED,
        )
    )


def errors(estimate):
    """Of the parameters, in standard deviations; and these."""
    found = {}
    for kind, value, std in zip(estimate.kinds, estimate.values, estimate.std, strict=True):
        if kind in TRUTH:
            found[kind] = ((value - TRUTH[kind]) / std, std)
    return found


def test_velocities_shrink_intervals_which_hold_the_truth(robot):
    shrunk = {name: [] for name in TRUTH}
    squares = []
    for seed in range(3):
        recording = without(recorded(seed), "voltage")
        with_velocity = errors(solved(robot, recording))
        positions_alone = errors(solved(robot, without(recording, "velocity.hinge")))
        for name in TRUTH:
            shrunk[name].append(with_velocity[name][1] / positions_alone[name][1])
        squares += [e**2 for e, _ in with_velocity.values()]
    assert all(np.mean(each) < 1.02 for each in shrunk.values())
    assert np.mean(shrunk["armature"]) < 0.9
    # chi-square of 15, of which 5 in a recording are correlated
    assert sum(squares) < 45


def test_the_lateness_of_a_velocity_is_found_and_one_that_measures_nothing_is_not_used(robot):
    recording = recorded(0)
    q, y = recording["position.hinge"], recording["velocity.hinge"]
    found = measured_velocity(recording.time, q, y, None)
    assert not found.problem
    assert found.late == pytest.approx(LATE_S, abs=1e-3)
    assert found.slope == pytest.approx(1.0, abs=0.03)
    for wrong in (57.3 * y, -y, np.roll(y, 300)):
        assert "correct its unit, sign or column" in measured_velocity(recording.time, q, wrong, None).problem
    for differences in (np.gradient(q, 0.02), np.diff(q, prepend=q[0]) / 0.02):
        said = measured_velocity(recording.time, q, differences, None).problem
        assert said == "it was computed from the recorded positions, and adds nothing to them"
    wrong = replace(recording, channels={**recording.channels, "velocity.hinge": -y})
    causes = {each.cause: each for each in solved(robot, wrong).findings}
    assert "is not used: it is -1" in causes["measured-velocity"].message


def test_a_sagging_battery_biases_gains_unless_its_voltage_is_a_channel(robot):
    recording = without(recorded(0, volts=lambda t: 12.6 - 0.14 * t), "velocity.hinge")
    problem = ActuatorProblem(
        robot,
        {"motion": recording},
        open=OPEN,
        held={"velocity_gain": 0.1, "nominal_voltage": 12.0},
        **AS_DESCRIBED,
    )
    estimate = QUICK.solve(problem)
    (found,) = estimate.extra(poinsot_actuators()).actuators
    assert found.nominal_voltage == 12.0
    e, std = errors(estimate)["stiffness"]
    assert abs(e) < 3
    blind = solved(robot, without(recording, "voltage"))
    # the mean supply is 11.2 V
    assert errors(blind)["stiffness"][0] < -5 or errors(blind)["stiffness"][1] > 2 * std
    assert estimate.fit.relative_error_percent < 0.95 * blind.fit.relative_error_percent


def poinsot_actuators():
    from poinsot import Actuators

    return Actuators


def test_a_voltage_is_in_volts_above_zero_and_in_all_recordings_or_none(robot):
    recording = recorded(0)
    for channels, units, said in (
        ({"voltage": np.zeros(1000)}, {}, "0 V at least"),
        ({}, {"voltage": ""}, "supply voltages are in V"),
    ):
        wrong = replace(
            recording, channels={**recording.channels, **channels}, units={**recording.units, **units}
        )
        with pytest.raises(InvalidActuatorProblem, match=said):
            ActuatorProblem(robot, {"motion": wrong})
    with pytest.raises(InvalidActuatorProblem, match="in every recording, or in none"):
        ActuatorProblem(robot, {"one": recording, "other": without(recording, "voltage")})


def test_covariance_of_two_measurements_of_one_noise_is_that_of_many_draws():
    rng, N = np.random.default_rng(1), 400
    J = np.stack([np.sin(0.05 * np.arange(N)), np.ones(N)], axis=1)
    K = np.gradient(J, axis=0) + 0.1
    estimates, predicted = [], []
    for _ in range(300):
        w = rng.standard_normal(N + 5)
        e = w[5:] + 0.8 * w[4:-1] + 0.6 * w[3:-2]
        f = 0.7 * e + 0.5 * rng.standard_normal(N) - 0.4 * w[2:-3]
        A, r = np.concatenate([J, K]), np.concatenate([e, f])
        x = np.linalg.lstsq(A, r, rcond=None)[0]
        left = r - A @ x
        estimates.append(x)
        found = coloured_covariance([J], [left[:N]], 1e-12 * np.eye(2), rates=[(K, left[N:])])
        predicted.append(np.diag(found[0]))
    # 300 draws: 8 % of a variance; tapers and estimated means leave some percent
    np.testing.assert_allclose(np.mean(predicted, axis=0), np.var(estimates, axis=0), rtol=0.35)


STEP, PERIOD, LOG = 2e-4, 0.01, 1 / 333


def logged(seed):
    """6 s: commands at 100 Hz that are held, and logged with positions at 333 Hz."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(MODEL)
    data, fine = mujoco.MjData(model), STEP * np.arange(round(6.0 / STEP))
    sent = PERIOD * np.arange(round(6.0 / PERIOD)) + rng.uniform(0, PERIOD)
    command = 0.5 * np.sin(1.1 * sent) + 0.3 * np.sin(5.3 * sent) + 0.15 * np.sign(np.sin(1.7 * sent))
    command = np.round((command - command[0]) / 1e-4) * 1e-4

    def held(at):
        return command[np.clip(np.searchsorted(sent, at, side="right") - 1, 0, None)]

    # forces at the beginning of a step act from half a step before to half a step after (leapfrog)
    reached = 0.5 * sum(held(fine + side * STEP / 4 - TRUTH["delay"]) for side in (-1, 1))
    q = np.empty(len(fine))
    for k in range(len(fine)):
        q[k], data.ctrl[0] = data.qpos[0], reached[k]
        mujoco.mj_step(model, data)
    time = np.arange(0.0, 5.9, LOG)
    channels = {
        "position_command.hinge": held(time),
        "position.hinge": np.interp(time, fine, q) + 3e-4 * rng.standard_normal(len(time)),
    }
    return Recording(time, channels, dict.fromkeys(channels, "rad")), sent


def test_changes_of_a_regular_clock_are_found_between_samples_of_the_log():
    recording, sent = logged(0)
    time, command = recording.time, recording["position_command.hinge"]
    times, period = regular_changes(time, command)
    assert period == pytest.approx(PERIOD, rel=1e-4)
    offset = (times - sent[0]) / PERIOD
    assert np.abs(offset - np.round(offset)).max() * PERIOD < 1e-4
    commands = Commands.of_rows(time, command, hold=True)
    assert commands.clock == "fitted" and commands.period == pytest.approx(PERIOD, rel=1e-4)
    assert (np.diff(commands.time) > 0).all()
    # commands of the log's own clock stay where they are: each sample, some samples, and irregular ones
    rng = np.random.default_rng(0)
    for own in (
        np.cumsum(rng.standard_normal(3000)),
        np.repeat(np.cumsum(rng.standard_normal(1000)), 3),
        np.repeat(np.cumsum(rng.standard_normal(500)), rng.integers(2, 11, 500)),
    ):
        assert regular_changes(LOG * np.arange(len(own)), own) is None


def test_delay_and_armature_hold_where_the_log_is_faster_than_commands(robot):
    recording, _ = logged(1)
    problem = ActuatorProblem(
        robot, {"motion": recording}, open=OPEN, held={"velocity_gain": 0.1}, step_s=0.0015
    )
    estimate = OutputError(Search(draws=30, refined=2, finished=1, hops=0)).solve(problem)
    assert "command-stamps" in {each.cause for each in estimate.findings}
    for kind, value, std in zip(estimate.kinds, estimate.values, estimate.std, strict=True):
        if kind in TRUTH:
            assert abs(value - TRUTH[kind]) < 4 * std, kind
    delay = estimate.values[list(estimate.kinds).index("delay")]
    assert delay == pytest.approx(TRUTH["delay"], abs=3e-4)
