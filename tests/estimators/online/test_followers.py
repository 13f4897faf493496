"""Filters of robots whose joints follow others: against dense projection, and the truth of a motion in MuJoCo."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from poinsot import Recording, load_robot
from poinsot.estimators.online.belief import Sample
from poinsot.estimators.online.filter import ExtendedKalmanFilter, KalmanFilter
from poinsot.estimators.online.moving_polynomial import MovingPolynomial
from poinsot.estimators.online.problem import TrackingProblem
from poinsot.models.friction import NoFriction
from poinsot.models.robot.link_torques import LinkTorques
from references.gripper import GRIPPER


@pytest.fixture
def gripper(tmp_path):
    path = tmp_path / "gripper.xml"
    path.write_text(GRIPPER.format(free=""))
    return load_robot(path, friction=NoFriction())


def test_a_sample_is_projected_as_the_dense_matrices_are(gripper, rng):
    robot = gripper
    added = rng.uniform(0.1, 1.0, len(robot.parameters) - robot.inertials.size)
    torques = LinkTorques(robot, ("right",), added=added)
    q, v, a = robot.random_states(5, rng)
    N, own = robot.closure.projection(q), robot.equations
    for k in range(len(q)):
        Y, tau = torques(q[k], v[k], a[k])
        Y_tree, tau_tree = LinkTorques(replace(robot, couplings=()), ("right",))(q[k], v[k], a[k])
        tau_tree = tau_tree + torques._joints.torque(q[k], v[k], a[k], added)
        np.testing.assert_allclose(Y[own], N[k].T @ Y_tree, atol=1e-12)
        np.testing.assert_allclose(tau[own], N[k].T @ tau_tree, atol=1e-12)
        assert not Y[robot.closure.dependent].any() and not tau[robot.closure.dependent].any()


def test_an_update_is_that_of_the_dense_measurement(gripper, rng):
    robot = gripper
    linear = KalmanFilter(LinkTorques(robot, ("right",)), 0.1, gate=None)
    (q,), (v,), (a,) = robot.random_states(1, rng)
    tau, own = rng.standard_normal(len(v)), robot.equations
    belief = linear.init()
    after, innovation = linear.update(belief, Sample(0.0, q, v, a, tau))
    assert innovation.rows == len(own) == 2
    Y, known = (x[own] for x in linear.torques(q, v, a))
    y = robot.closure.projection(q[None])[0].T @ tau - known - Y @ belief.x
    S = Y @ belief.covariance @ Y.T + 0.01 * np.eye(2)
    np.testing.assert_allclose(after.x - belief.x, belief.covariance @ Y.T @ np.linalg.solve(S, y), atol=1e-9)
    assert innovation.square == pytest.approx(y @ np.linalg.solve(S, y))


def test_a_load_on_a_joint_that_follows_is_tracked(gripper, tmp_path, rng):
    """Motors at the leaders, no reading of the followers; the finger is heavier than the description says."""
    heavy = GRIPPER.format(free="").replace('size="0.012" f', 'density="3000" size="0.012" f')
    (tmp_path / "heavy.xml").write_text(heavy)
    truth = load_robot(tmp_path / "heavy.xml", friction=NoFriction())
    m = mujoco.MjModel.from_xml_string(
        heavy.replace("<world", '<option><flag contact="disable"/></option><world')
    )
    d, time = mujoco.MjData(m), np.arange(1000) / 200
    angles = np.stack([0.6 * np.sin(7 * time) + 0.3 * np.sin(11 * time), 0.8 * np.sin(9 * time)], axis=1)
    robot, i = truth, truth.closure.independent
    v, a = (np.zeros((len(time), 4)) for _ in range(2))
    positions = np.full((len(time), 4), np.nan)
    positions[:, i] = angles
    v[:, i] = np.gradient(angles, time, axis=0, edge_order=2)
    a[:, i] = np.gradient(v[:, i], time, axis=0, edge_order=2)
    positions, _ = robot.closure.positions(positions)
    v, a = robot.closure.motion(positions, v, a)
    tau = np.empty_like(v)
    for k in range(len(time)):  # MuJoCo's inverse dynamics of the tree, along the motion
        d.qpos[:], d.qvel[:], d.qacc[:] = positions[k], v[k], a[k]
        m.eq_active0[:], d.eq_active[:] = 0, 0
        mujoco.mj_inverse(m, d)
        tau[k] = d.qfrc_inverse
    torque = np.einsum("tni, tn -> ti", robot.closure.projection(positions), tau)
    names = [robot.joints[k] for k in i]
    channels = {f"position.{joint}": x for joint, x in zip(names, angles.T, strict=True)}
    channels |= {f"torque.{joint}": x for joint, x in zip(names, torque.T, strict=True)}
    units = {name: "rad" if name.startswith("p") else "N m" for name in channels}
    torques = LinkTorques(gripper, ("right",), added=_added(gripper))
    problem = TrackingProblem(torques, [Recording(time, channels, units)], MovingPolynomial(0.06))
    estimate = ExtendedKalmanFilter(torques, 0.01, initial_std=1.0, drift=0.0).solve(problem)
    mass = estimate.bodies[0].mass
    assert mass == pytest.approx(truth.inertials[truth.bodies.index("right"), 0], rel=0.05)
    assert estimate.fit.joints == tuple(names)


def _added(robot):
    behind = robot.parameters.names[robot.inertials.size :]
    return np.array([robot.parameters.held.get(name, 0.0) for name in behind])
