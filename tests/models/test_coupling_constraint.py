"""Joints that follow others in forward dynamics: against MuJoCo's terms, differences, and the projected regressor."""

import mujoco
import numpy as np
import pytest

from poinsot import load_robot
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import PointContact
from poinsot.models.friction import NoFriction
from poinsot.models.robot.coupling_constraint import coupling_constraints
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.regression.regressor import Regressor
from references.gripper import GRIPPER
from references.state_differences import assert_slope, by_state


@pytest.fixture(params=["", "<freejoint/>"], ids=["fixed", "floating"])
def gripper(request, tmp_path):
    path = tmp_path / "gripper.xml"
    path.write_text(GRIPPER.format(free=request.param))
    return load_robot(path, friction=NoFriction())


def test_random_states_keep_couplings(gripper, rng):
    q, v, a = gripper.random_states(20, rng)
    for coupling in coupling_constraints(gripper):
        motion = coupling.of_joints(q, v, a)
        for values in (motion.position, motion.velocity, motion.acceleration):
            np.testing.assert_allclose(values, 0, atol=1e-9)


def test_accelerations_are_those_of_mujocos_terms_along_the_couplings(gripper, rng):
    """M and b of MuJoCo, projected onto the independent joints by differences of the followers' positions."""
    m = mujoco.MjModel.from_xml_path(str(gripper.source))
    d, robot, h = mujoco.MjData(m), gripper, 1e-5
    q, v, _ = robot.random_states(5, rng)
    joints = {name: m.joint(name).dofadr[0] for name in robot.joints}
    lift, left, tip, right = (joints[name] for name in ("lift", "left", "tip", "right"))
    first = m.nv - 4
    u = rng.standard_normal((len(q), len(robot.joints)))
    dynamics = ContactDynamics(OpenParameters(robot), softness=1e-13)
    motion = dynamics(q, v, u, dynamics.parameters.nominal_theta)

    def follow(x):
        return (
            0.02 + 0.01 + 0.1 * (x - 0.1) + 0.4 * (x - 0.1) ** 2 - 0.3 * (x - 0.1) ** 3 + 0.2 * (x - 0.1) ** 4
        )

    for k in range(len(q)):
        d.qpos[:], d.qvel[:] = q[k], v[k]
        if first:  # base velocity: in the world's axes in MuJoCo
            d.qpos[3:7] = np.roll(q[k, 3:7], 1)
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, d.qpos[3:7])
            R = R.reshape(3, 3)
            d.qvel[:3] = R @ v[k, :3]
        mujoco.mj_forward(m, d)
        M, bias = np.zeros((m.nv, m.nv)), d.qfrc_bias - d.qfrc_passive
        for j in range(m.nv):
            mujoco.mj_mulM(m, d, M[j], np.eye(m.nv)[j])
        independent = [*range(first), lift, left]
        N = np.eye(m.nv)[:, independent]
        x = d.qpos[m.joint("lift").qposadr[0]]
        slope = (follow(x + h) - follow(x - h)) / (2 * h)
        bend = (follow(x + h) - 2 * follow(x) + follow(x - h)) / h**2
        N[right, independent.index(left)], N[tip, independent.index(lift)] = -0.8, slope
        gamma = np.zeros(m.nv)
        gamma[tip] = bend * d.qvel[lift] ** 2
        tau = np.zeros(m.nv)
        tau[first:] = u[k]
        expected = N @ np.linalg.solve(N.T @ M @ N, N.T @ (tau - bias - M @ gamma)) + gamma
        ours = motion.a[k].copy()
        if first:  # acceleration of the base: R (a + w x v) in the world
            ours[:3] = R @ (ours[:3] + np.cross(v[k, 3:6], v[k, :3]))
        np.testing.assert_allclose(ours, expected, atol=2e-5 * np.abs(expected).max())


def test_slopes_of_accelerations_efforts_and_impacts(gripper, rng):
    contacts = (PointContact("right"),) if gripper.floating_base else ()
    parameters = OpenParameters(gripper, gripper.bodies[:2], LogCholesky())
    dynamics = ContactDynamics(parameters, contacts)
    q, v, _ = gripper.random_states(2, rng)
    q[:, -1] += 0.03  # slopes also hold where a coupling is open
    u, theta = rng.standard_normal((len(q), len(gripper.joints))), parameters.nominal_theta

    def both(motion):
        return np.hstack([motion.a, motion.forces])

    for motion, moved in (
        (dynamics(q, v, u, theta, True), lambda q, v: dynamics(q, v, np.tile(u, (len(q) // 2, 1)), theta)),
        (dynamics.impact(q, v, theta, True), lambda q, v: dynamics.impact(q, v, theta)),
    ):
        n = gripper.model.nv
        by_q, by_v = by_state(lambda q, v, moved=moved: both(moved(q, v)), gripper, q, v)
        for slopes, rows in ((motion.a_by, slice(0, n)), (motion.forces_by, slice(n, None))):
            assert_slope(slopes.q, by_q[:, rows])
            assert_slope(slopes.v, by_v[:, rows])


def test_the_projected_regressor_undoes_forward_dynamics(gripper, rng):
    parameters = gripper.parameters
    theta = np.zeros(len(parameters))
    theta[: gripper.inertials.size] = gripper.inertials.ravel()
    for name, value in parameters.held.items():
        theta[parameters.names.index(name)] = value
    q, v, _ = gripper.random_states(10, rng)
    dynamics = ContactDynamics(OpenParameters(gripper), softness=1e-13)
    u = rng.standard_normal((len(q), len(gripper.joints)))
    a = dynamics(q, v, u, dynamics.parameters.nominal_theta).a
    tau = u @ dynamics.parameters.drive.matrix.T
    N = gripper.closure.projection(q)
    efforts = Regressor(gripper, parameters).dense(q, v, a) @ theta
    np.testing.assert_allclose(efforts, np.einsum("tni, tn -> ti", N, tau), rtol=1e-6, atol=1e-6)


def test_joints_without_limits_follow_over_full_turns(tmp_path, rng):
    """A configuration counts no turns, so that a position of -pi follows one of pi."""
    inertia = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    text = '<robot name="r"><link name="w"/>'
    for name, mimic in (("a", ""), ("b", '<mimic joint="a" multiplier="-2" offset="0.3"/>')):
        text += (
            f'<link name="{name}"><inertial>{inertia}</inertial></link><joint name="{name}" type="continuous">'
            f'<parent link="w"/><child link="{name}"/><axis xyz="0 0 1"/>{mimic}</joint>'
        )
    (tmp_path / "r.urdf").write_text(text + "</robot>")
    robot = load_robot(tmp_path / "r.urdf", friction=NoFriction())
    angle = np.linspace(-10, 10, 41)
    q = robot.configurations(np.stack([angle, 0.3 - 2 * angle], axis=1))
    still = np.zeros((len(q), 2))
    (coupling,) = coupling_constraints(robot)
    np.testing.assert_allclose(coupling.of_joints(q, still, still).position, 0, atol=1e-9)
