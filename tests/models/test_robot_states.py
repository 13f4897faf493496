"""States on their manifold, and steps in time with slopes."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import PointContact
from poinsot.models.robot import configuration_space as space
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.robot.robot_states import RobotStates
from references.robots import chain, described, random_robot
from references.state_differences import assert_slope, by_state, by_vector


def some_states(robot, rng, T=3):
    q, v, _ = robot.random_states(T, rng)
    return np.concatenate([q, v], axis=1)


@pytest.fixture(params=["RP", "RUCPS"])
def robot(request, rng):
    return random_robot(rng, 5, kinds=request.param, floating_base=True)


def test_difference_undoes_integrate(robot, rng):
    states = RobotStates(robot)
    x = some_states(robot, rng)
    d = 0.5 * rng.standard_normal((3, states.degrees))
    y = states.integrate(x, d)
    assert y.shape == (3, states.size)
    np.testing.assert_allclose(states.difference(x, y), d, atol=1e-12)
    np.testing.assert_allclose(states.difference(x, x), 0.0, atol=1e-14)


def test_slopes_of_integrate_and_difference(robot, rng):
    states = RobotStates(robot)
    x = some_states(robot, rng, 1)
    d = 0.5 * rng.standard_normal((1, states.degrees))
    y = states.integrate(x, d)
    zero = np.zeros(states.degrees)
    by_x, by_d = (states._dense(each, 1, 1.0) for each in states._blocks(space.integrate_slopes, d))
    moved = by_vector(
        lambda e: states.difference(y, states.integrate(states.integrate(x, e[None]), d))[0], zero
    )
    assert_slope(by_x[0], moved)
    assert_slope(by_d[0], by_vector(lambda e: states.difference(y, states.integrate(x, d + e))[0], zero))
    by_x, by_y = states.difference_jacobians(x, y)
    assert_slope(by_x[0], by_vector(lambda e: states.difference(states.integrate(x, e[None]), y)[0], zero))
    assert_slope(by_y[0], by_vector(lambda e: states.difference(x, states.integrate(y, e[None]))[0], zero))


def test_changes_are_carried_between_states(robot, rng):
    states = RobotStates(robot)
    x = some_states(robot, rng)
    y = states.integrate(x, 0.5 * rng.standard_normal((3, states.degrees)))
    change = rng.standard_normal((3, states.degrees, 2))
    by_x, by_y = states.difference_jacobians(x, y)
    (carried,) = states.carry(x, y, change)
    np.testing.assert_allclose(by_x @ carried + by_y @ change, 0.0, atol=1e-9)


def test_slopes_of_a_disturbed_step(robot, rng):
    states = RobotStates(robot)
    dynamics = ContactDynamics(OpenParameters(robot, robot.bodies[:1], None))
    q, v, _ = robot.random_states(1, rng)
    u, theta = rng.standard_normal((1, len(robot.joints))), dynamics.parameters.nominal_theta
    w = 0.3 * rng.standard_normal((1, states.degrees))

    def moved(q, v, w, theta=theta, slopes=False):
        many = len(q)
        step = states.step(dynamics(q, v, np.tile(u, (many, 1)), theta, slopes), 0.01)
        return states.disturbed(step, np.tile(w, (many, 1)))

    step, by_w = moved(q, v, w, slopes=True)

    def away(x):
        return states.difference(np.tile(step.value, (len(x), 1)), x)

    by_q, by_v = by_state(lambda q, v: away(moved(q, v, w)[0].value), robot, q, v)
    assert_slope(step.by_x, np.concatenate([by_q, by_v], axis=2))
    assert_slope(by_w, by_vector(lambda d: away(moved(q, v, w + d)[0].value), np.zeros(states.degrees)))
    assert_slope(step.by_theta, by_vector(lambda theta: away(moved(q, v, w, theta)[0].value), theta))


@pytest.mark.parametrize("impact", [False, True], ids=["step", "impact"])
def test_slopes_of_a_step(rng, impact):
    robot = described("anymal_b_simple_description/robots/anymal.urdf", floating_base=True)
    parameters = OpenParameters(robot, robot.bodies[:1], joints=("fv3",), nominal={"fv3": 0.4})
    dynamics = ContactDynamics(parameters, (PointContact("LF_FOOT"), PointContact("RH_FOOT")))
    states, dt = RobotStates(robot), np.array([0.02, 0.01])
    q, v, _ = robot.random_states(2, rng)
    u = 10 * rng.standard_normal((2, 12))
    theta = parameters.nominal_theta

    def moved(q, v, u, theta, slopes=False):
        if impact:
            return states.reset(dynamics.impact(q, v, theta, slopes), slopes)
        times = np.tile(dt, len(q) // 2)
        return states.step(dynamics(q, v, u, theta, slopes), times, slopes)

    step = moved(q, v, u, theta, True)
    base = step.value

    def away(x):
        return states.difference(np.tile(base, (len(x) // 2, 1)), x)

    by_q, by_v = by_state(
        lambda q, v: away(moved(q, v, np.tile(u, (len(q) // 2, 1)), theta).value), robot, q, v
    )
    assert_slope(step.by_x, np.concatenate([by_q, by_v], axis=2))
    assert_slope(step.by_theta, by_vector(lambda theta: away(moved(q, v, u, theta).value), theta))
    if not impact:
        effort = parameters.drive.slope(parameters.nominal_gains)
        by_u = by_vector(lambda du: away(moved(q, v, u + du, theta).value), np.zeros(12))
        assert_slope(step.by_tau @ effort, by_u)


def test_a_step_without_slopes_is_only_a_state(rng):
    robot = random_robot(rng, 2)
    q, v, u = robot.random_states(2, rng)
    motion = ContactDynamics(OpenParameters(robot))(q, v, u, np.zeros(0))
    step = RobotStates(robot).step(motion, 0.01)
    assert step.by_x is None and step.by_tau is None and step.by_theta is None
    np.testing.assert_allclose(step.value[:, 2:], v + 0.01 * motion.a, atol=1e-14)
    np.testing.assert_allclose(step.value[:, :2], q + 0.01 * step.value[:, 2:], atol=1e-14)


def test_a_thrown_robot_falls_as_bodies_do(rng):
    """Semi-implicit steps of a free flight: the centre of mass falls by g t (t + dt) / 2, whatever the joints do."""
    robot = random_robot(rng, 3, floating_base=True)
    dynamics, states, dt = ContactDynamics(OpenParameters(robot)), RobotStates(robot), 1e-3
    q, v, _ = robot.random_states(1, rng)
    x = np.concatenate([q, 0.3 * v], axis=1)
    data = robot.model.createData()
    start = pin.centerOfMass(robot.model, data, q[0], 0.3 * v[0]).copy()
    speed = data.vcom[0].copy()
    for _ in range(50):
        q, v = states.split(x)
        x = states.step(dynamics(q, v, np.zeros((1, 3)), np.zeros(0)), dt).value
    q, _ = states.split(x)
    fallen = pin.centerOfMass(robot.model, data, q[0]) - start - speed * 0.05
    np.testing.assert_allclose(fallen, [0, 0, -9.81 * 0.05 * 0.051 / 2], atol=2e-4)


def test_a_pendulum_keeps_its_energy_over_many_swings():
    """A semi-implicit step makes an error in energy that comes and goes; an explicit one lets it grow."""
    robot = chain("y", [0.0])
    dynamics, states = ContactDynamics(OpenParameters(robot)), RobotStates(robot)
    x, data, energies = np.array([[1.0, 0.0]]), robot.model.createData(), []
    for _ in range(200):
        q, v = states.split(x)
        energies.append(pin.computeMechanicalEnergy(robot.model, data, q[0], v[0]))
        x = states.step(dynamics(q, v, np.zeros((1, 1)), np.zeros(0)), 0.05).value
    error = np.abs(np.array(energies) - energies[0])
    assert error[100:].max() < 1.1 * error[:100].max()
