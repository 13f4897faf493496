"""Inverse dynamics with open bodies: equal to Pinocchio's, to the whole regressor, and wrenches to Jacobians."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.models.robot.link_torques import LinkTorques
from poinsot.parameters import columns_of
from poinsot.regression.regressor import Regressor
from references.robots import described, random_robot


def state(robot, rng):
    return tuple(x[0] for x in robot.random_states(1, rng))


@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize("kinds", ["RP", "RPUCS"])
def test_open_and_known_bodies_together_are_inverse_dynamics(rng, kinds, floating_base):
    for _ in range(5):
        robot = random_robot(rng, 7, kinds=kinds, floating_base=floating_base)
        links = tuple(rng.choice(robot.bodies, 2, replace=False).tolist())
        q, v, a = state(robot, rng)
        torques = LinkTorques(robot, links)
        Y, tau = torques(q, v, a)
        pi = robot.inertials[torques.open_bodies].ravel()
        np.testing.assert_allclose(
            Y @ pi + tau, pin.rnea(robot.model, robot.model.createData(), q, v, a), atol=1e-11
        )
        whole = robot.torque_regressor(q[None], v[None], a[None])[0]
        columns = np.concatenate([10 * k + np.arange(10) for k in torques.open_bodies])
        np.testing.assert_allclose(Y, whole[:, columns], atol=1e-11)


@pytest.mark.parametrize("count", [15, 16, 17, 40])
def test_trees_of_any_number_of_joints(rng, count):
    """Joints are computed in groups of sixteen, and the world is one more."""
    robot = random_robot(rng, count, kinds="RPU")
    q, v, a = state(robot, rng)
    torques = LinkTorques(robot, (robot.bodies[-1], robot.bodies[0]))
    Y, tau = torques(q, v, a)
    expected = pin.rnea(robot.model, robot.model.createData(), q, v, a)
    found = Y @ robot.inertials[torques.open_bodies].ravel() + tau
    # rounding of some hundred products of a chain, relative to the largest effort
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_wrenches_from_outside_are_what_jacobians_carry(rng):
    robot = random_robot(rng, 7, kinds="RPS", floating_base=True)
    q, v, a = state(robot, rng)
    torques = LinkTorques(robot, robot.bodies[-1:])
    wrenches = {robot.bodies[2]: rng.standard_normal(6), robot.bodies[6]: rng.standard_normal(6)}
    data = robot.model.createData()
    pin.computeJointJacobians(robot.model, data, q)
    carried = sum(
        pin.getJointJacobian(robot.model, data, robot.bodies.index(name) + 1, pin.LOCAL).T @ wrench
        for name, wrench in wrenches.items()
    )
    np.testing.assert_allclose(torques(q, v, a)[1] - torques(q, v, a, wrenches)[1], carried, atol=1e-11)


def test_nominal_parameters_take_the_place_of_the_descriptions(rng):
    robot = random_robot(rng, 4, kinds="R")
    q, v, a = state(robot, rng)
    nominal = 1.3 * robot.inertials
    _, tau = LinkTorques(robot, robot.bodies[:1], nominal)(q, v, a)
    whole = robot.torque_regressor(q[None], v[None], a[None])[0]
    np.testing.assert_allclose(tau, whole[:, 10:] @ nominal[1:].ravel(), atol=1e-11)


def test_a_humanoid_with_its_fixed_joints(rng):
    robot = described("talos_data/robots/talos_reduced.urdf", floating_base=True)
    q, v, a = state(robot, rng)
    link = "arm_left_5_link"
    torques = LinkTorques(robot, (link,))
    Y, tau = torques(q, v, a)
    expected = pin.rnea(robot.model, robot.model.createData(), q, v, a)
    np.testing.assert_allclose(
        Y @ robot.inertials[robot.bodies.index(link)] + tau, expected, atol=1e-9 * np.abs(expected).max()
    )


def test_what_does_not_exist_is_refused_by_name(rng):
    robot = random_robot(rng, 3, kinds="R")
    name = robot.bodies[1]
    with pytest.raises(InvalidModel, match=f"did you mean {name!r}"):
        LinkTorques(robot, (name + "x",))
    with pytest.raises(InvalidModel, match="each once"):
        LinkTorques(robot, (name, name))
    with pytest.raises(InvalidModel, match="a wrench acts on"):
        LinkTorques(robot, (name,)).outside({"foot": np.zeros(6)})
    with pytest.raises(InvalidModel, match="ten numbers"):
        LinkTorques(robot, (name,), np.zeros((2, 10)))
    assert columns_of(["a"])[:2] == ("m.a", "mx.a")


def test_nominal_parameters_that_are_no_bodies_keep_their_torques(rng):
    robot = random_robot(rng, 4, kinds="R")
    q, v, a = state(robot, rng)
    nominal = robot.inertials.copy()
    nominal[0], nominal[1] = 1.5 * nominal[0], rng.standard_normal(10)
    nominal[1, 0] = -1.0
    torques = LinkTorques(robot, robot.bodies[:2], nominal)
    np.testing.assert_array_equal(torques.described, [nominal[0], robot.inertials[1]])
    Y, tau = torques(q, v, a)
    whole = robot.torque_regressor(q[None], v[None], a[None])[0]
    np.testing.assert_allclose(Y @ torques.described.ravel() + tau, whole @ nominal.ravel(), atol=1e-11)


def test_joints_add_rotors_couplings_and_friction(rng):
    drive = Drive(
        couplings=(Coupling("wrist_3_joint", "wrist_2_joint", 0.5),),
        rotor_inertia=True,
        coupled_friction=True,
    )
    robot = replace(described("ur_description/urdf/ur10_robot.urdf"), drive=drive)
    q, v, a = state(robot, rng)
    theta = rng.standard_normal(len(robot.parameters))
    nominal = theta[: 10 * len(robot.bodies)].reshape(-1, 10)
    torques = LinkTorques(robot, robot.bodies[:1], nominal, added=theta[10 * len(robot.bodies) :])
    Y, tau = torques(q, v, a)
    whole = Regressor(robot, robot.parameters).dense(q[None], v[None], a[None])[0] @ theta
    np.testing.assert_allclose(Y @ torques.described[0] + tau, whole, atol=1e-9)
    with pytest.raises(InvalidModel, match="the joints of this robot add"):
        LinkTorques(robot, robot.bodies[:1], added=np.zeros(3))
