"""The rollout of one joint against tiny explicit steps, MuJoCo, and finite differences."""

import mujoco
import numpy as np
import pytest

from poinsot.models.servo.actuator import Actuator
from poinsot.models.servo.rollout import (
    JointLoad,
    Steps,
    parameter_vector,
    place_of,
    roll_out,
    rollout_parameters,
)
from poinsot.models.servo.setpoint import Setpoint

MASS, LENGTH, GRAVITY = 0.3, 0.15, 9.81
INERTIA = MASS * LENGTH**2


def pendulum_load(steps, posture):
    """The load of a pendulum, m g l sin q, linearized about a posture at every step."""
    K = len(steps.times)
    sag = MASS * GRAVITY * LENGTH
    gravity = sag * np.sin(posture)
    return JointLoad(np.full(K, INERTIA), gravity, sag * np.cos(posture), posture, gravity)


def along_itself(theta, steps, command, hold=True, ramp=0.0, **options):
    """A rollout along its own posture: the linearization is then exact."""
    posture = np.full(len(steps.times), command[0])
    setpoint = Setpoint.of(steps.time, command, hold=hold, ramp=ramp)
    for _ in range(30):
        found = roll_out(theta, steps, setpoint, pendulum_load(steps, posture), **options)
        middles = found.fine_position[:-1] + 0.5 * steps.lengths * found.fine_velocity[:-1]
        if np.abs(middles - posture).max() < 1e-12:
            return found
        posture = middles
    raise AssertionError("the posture does not settle")


def command_of(time):
    return 0.4 * np.sin(2.2 * time) + 0.15 * np.sign(np.sin(5.0 * time))


def explicit(actuator, time, command, h, hold):
    """The equations of `actuator.py` by explicit steps of h, dry friction steep in place of exact."""
    a = actuator
    t, q, v = time[0], command[0], 0.0
    w = r = command[0]
    out, next_sample = [q], 1
    while next_sample < len(time):
        s = t - a.delay
        k = np.searchsorted(time, s, side="right") - 1
        u = command[max(k, 0)]
        if not hold and 0 <= k < len(time) - 1:
            u += (command[k + 1] - command[k]) * (s - time[k]) / (time[k + 1] - time[k])
        w_new = u if a.lag == 0 else w + h / a.lag * (u - w)
        r_new = min(max(r, w_new - a.backlash / 2), w_new + a.backlash / 2)
        rate = (r_new - r) / h
        e = r_new + a.zero - q
        e = np.sign(e) * max(abs(e) - a.dead_band, 0.0)
        m = a.stiffness * e + a.derivative_gain * (rate - v) - a.velocity_gain * v
        line = 0.0 if np.isinf(a.no_load_speed) else a.torque_limit / a.no_load_speed
        m = min(m, a.torque_limit - line * max(v, 0.0))
        m = max(m, -a.torque_limit - line * min(v, 0.0))
        gravity = MASS * GRAVITY * LENGTH * np.sin(q)
        at_rest = a.stiction + abs(a.load_stiction * m + a.external_stiction * gravity)
        at_rest += a.gear_stiction * abs(m + gravity)
        if m * gravity > 0:
            drives = abs(gravity) < abs(m)
            at_rest += a.external_quadratic * gravity**2 if drives else a.load_quadratic * m**2
        level = a.coulomb + abs(a.load_friction * m + a.external_friction * gravity)
        level += a.gear_friction * abs(m + gravity)
        level += at_rest * np.exp(-((v / a.stribeck_speed) ** 2))
        level += np.interp(q, a.friction_positions, a.friction_levels) if a.friction_positions else 0.0
        force = m - a.damping * v - gravity
        inertia = a.armature + INERTIA
        free = v + h * force / inertia
        drop = h * level / inertia
        v = np.sign(free) * max(abs(free) - drop, 0.0)
        q, t, w, r = q + h * v, t + h, w_new, r_new
        if t >= time[next_sample] - 1e-12:
            out.append(q)
            next_sample += 1
    return np.array(out)


PLAIN = Actuator("j", stiffness=18.0, damping=0.6, coulomb=0.1, armature=0.02, delay=0.017)
WHOLE = Actuator(
    "j", stiffness=18.0, derivative_gain=0.5, velocity_gain=0.2, damping=0.3, coulomb=0.08, stiction=0.05,
    stribeck_speed=0.15, load_friction=0.05, external_friction=0.08, gear_friction=0.02, load_stiction=0.03,
    external_stiction=0.06, gear_stiction=0.015, load_quadratic=0.02, external_quadratic=0.02,
    armature=0.02, torque_limit=1.4, no_load_speed=6.0, delay=0.0173, lag=0.012, zero=0.01, dead_band=0.004,
    backlash=0.006, friction_positions=(-0.3, 0.1, 0.4), friction_levels=(0.0, 0.05, 0.12),
)  # fmt: skip


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("actuator", [PLAIN, WHOLE.updated({"derivative_gain": 0.0}), WHOLE])
def test_rollout_converges_to_tiny_explicit_steps(actuator, hold):
    time = np.arange(0, 3.0, 0.02)
    command = command_of(time)
    reference = explicit(actuator, time, command, 2e-5, hold)
    theta, knots = parameter_vector(actuator, command[0], 0.0), actuator.friction_positions
    errors = [
        np.abs(
            along_itself(theta, Steps.of(time, h), command, knots=knots, hold=hold).position - reference
        ).max()
        for h in (2e-3, 5e-4)
    ]
    # a step at the largest speed, where a held command changes under a derivative gain; else second order
    assert errors[0] < 2e-3 * np.abs(np.diff(reference)).max() / 0.02
    assert errors[1] < 0.6 * errors[0] + 1e-4


def test_the_joint_sticks_exactly():
    time = np.arange(0, 4.0, 0.02)
    command = np.where(time < 1.0, 0.0, 0.3)
    actuator = PLAIN.updated({"coulomb": 0.3})
    found = along_itself(parameter_vector(actuator, 0.0, 0.0), Steps.of(time, 0.002), command)
    assert np.ptp(found.position[-50:]) == 0.0
    # the spring pulls, gravity pulls back, dry friction has the rest
    rest = found.position[-1]
    assert abs(18.0 * (0.3 - rest) - MASS * GRAVITY * LENGTH * np.sin(rest)) <= 0.3


def test_rollout_is_that_of_mujoco():
    h = 1e-4  # its own steps are of first order
    model = mujoco.MjModel.from_xml_string(f"""
      <mujoco><option timestep="{h}" integrator="implicitfast" gravity="0 0 -{GRAVITY}"/>
        <worldbody><body><joint name="j" type="hinge" axis="0 1 0" damping=".6" armature=".02"/>
          <inertial pos="0 0 -{LENGTH}" mass="{MASS}" diaginertia="1e-9 1e-9 1e-9"/></body></worldbody>
        <actuator><position joint="j" kp="18" forcerange="-2 2" ctrllimited="false"/></actuator></mujoco>""")
    data = mujoco.MjData(model)
    time = np.arange(0, 3.0, 0.02)
    command = 0.4 * np.sin(2.2 * time)
    data.qpos[0] = command[0]
    positions = [command[0]]
    for u in command[:-1]:
        data.ctrl[0] = u
        for _ in range(200):
            mujoco.mj_step(model, data)
        positions.append(data.qpos[0])
    actuator = Actuator("j", stiffness=18.0, damping=0.6, armature=0.02, torque_limit=2.0)
    found = along_itself(parameter_vector(actuator, command[0], 0.0), Steps.of(time, 0.002), command)
    # half a step of MuJoCo at the largest speed, 0.9 rad/s
    np.testing.assert_allclose(found.position, positions, atol=5e-5)


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize(
    "name", [*rollout_parameters(), "friction_level_0", "friction_level_1", "friction_level_2"]
)
def test_sensitivities_are_finite_differences(name, hold):
    time = np.arange(0, 2.0, 0.02)
    command = command_of(time)
    steps = Steps.of(time, 0.002)
    load = pendulum_load(steps, np.interp(steps.middles, time, command))
    theta = parameter_vector(WHOLE, command[0] + 0.03, 0.2)
    place = place_of(name)
    options = {"knots": WHOLE.friction_positions, "supply": 1.0 - 0.1 * steps.middles}
    setpoint = Setpoint.of(time, command, hold=hold)
    found = roll_out(theta, steps, setpoint, load, wanted=(place,), velocity_at=time - 0.003, **options)
    # steps so small that hardly any sample changes its branch on the way
    # squares of torques have small effects, which rounding must not reach
    change = 1e-7 * max(abs(theta[place]), 1e4 if name.endswith("quadratic") else 0.1)
    plus, minus = theta.copy(), theta.copy()
    plus[place] += change
    minus[place] -= change
    after, before = (
        roll_out(each, steps, setpoint, load, velocity_at=time - 0.003, **options) for each in (plus, minus)
    )
    for analytic, a, b in (
        (found.sensitivities[:, 0], after.position, before.position),
        (found.rates[:, 0], after.velocity, before.velocity),
    ):
        difference = (a - b) / (2 * change)
        scale = np.abs(difference).max()
        assert scale > 0
        np.testing.assert_allclose(analytic, difference, atol=2e-5 * scale)
