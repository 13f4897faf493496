"""Closed chains: positions, speeds and accelerations against differences, the regressor against forward dynamics."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from poinsot import ButterworthDecimation, LeastSquares, Recording
from poinsot.exceptions import InvalidModel, InvalidSignals, UnreadableFile
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.drive import Drive
from poinsot.models.robot.link_torques import LinkTorques
from poinsot.models.robot.loops import Loop
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.regression.base_parameters import structural_base
from poinsot.regression.dynamics import IdentifiedDynamics
from poinsot.regression.inverse_dynamics import InverseDynamics
from poinsot.regression.regressor import Regressor
from references.robots import CLOSED_CHAINS

PASSIVE = {
    "five_bar.xml": ("left_distal", "right_distal"),
    "leg.xml": ("tarsus", "rod_pitch", "rod_roll"),
}
each_chain = pytest.mark.parametrize("file", PASSIVE)


def closed_chain(file):
    return load_robot(
        CLOSED_CHAINS / file, drive=Drive(passive=PASSIVE[file]), friction=ViscousCoulomb(offset=False)
    )


def states(robot, rng, count=20, offset=0.4):
    """Closed states near where the mechanism is drawn."""
    closure, n = robot.closure, len(robot.joints)
    drawn = closure.closed + rng.uniform(-offset, offset, (count, n))
    drawn[:, closure.dependent] = np.nan
    positions, gap = closure.positions(drawn)
    assert gap.max() <= closure.tolerance
    q = robot.configurations(positions)
    return positions, q, *closure.motion(q, *rng.standard_normal((2, count, n)))


# ----------------------------------------------------------------------------------------------------------- kinematics


@each_chain
def test_passive_joints_depend_and_motors_have_the_equations(file):
    robot = closed_chain(file)
    assert tuple(robot.joints[k] for k in robot.closure.dependent) == PASSIVE[file]
    assert robot.effort_names == tuple(joint for joint in robot.joints if joint not in PASSIVE[file])


def test_a_motor_of_a_loop_that_was_not_measured():
    """Its own equation is left out; the other has the effort of its own motor only."""
    drive = Drive(passive=PASSIVE["five_bar.xml"], not_measured=("left",))
    robot = load_robot(CLOSED_CHAINS / "five_bar.xml", drive=drive, friction=ViscousCoulomb(offset=False))
    assert robot.effort_names == ("right",)
    W = Regressor(robot, robot.parameters).dense(*robot.random_states(5, np.random.default_rng(1)))
    whole = closed_chain("five_bar.xml")
    expected = Regressor(whole, whole.parameters).dense(*whole.random_states(5, np.random.default_rng(1)))
    np.testing.assert_allclose(
        W, expected[:, 1:], atol=1e-14 * np.abs(expected).max()
    )  # loops are closed twice


@each_chain
def test_speeds_and_accelerations_of_dependent_joints(file, rng):
    robot = closed_chain(file)
    closure, h = robot.closure, 1e-4
    positions, _, v, a = states(robot, rng)
    i, d = closure.independent, closure.dependent

    def at(t):
        moved = positions.copy()
        moved[:, i] += v[:, i] * t + 0.5 * a[:, i] * t**2
        return closure.positions(moved)[0][:, d]

    before, now, after = at(-h), at(0.0), at(h)
    # third derivatives are of order 1e2 here, so that differences are wrong by h^2 times that
    np.testing.assert_allclose((after - before) / (2 * h), v[:, d], atol=1e-5)
    # the gap of 1e-10 m is divided by h^2
    np.testing.assert_allclose((after - 2 * now + before) / h**2, a[:, d], rtol=1e-2, atol=2e-2)


def test_a_gap_is_closed_from_measured_positions_or_from_the_neutral_configuration(rng):
    robot = closed_chain("leg.xml")
    positions, *_ = states(robot, rng)
    measured = positions + np.where(
        np.isin(np.arange(positions.shape[1]), robot.closure.dependent), 0.05, 0.0
    )
    closed, gap = robot.closure.positions(measured)
    np.testing.assert_allclose(closed, positions, atol=1e-8)
    assert gap.max() <= robot.closure.tolerance


# ------------------------------------------------------------------------------------------------------------- dynamics


@each_chain
def test_the_regressor_undoes_forward_dynamics(file, rng):
    """N^T tau = N^T W theta at the accelerations of the dynamics that know the loops as constraints."""
    robot = closed_chain(file)
    closure, parameters = robot.closure, robot.parameters
    _, q, v, _ = states(robot, rng)
    damping = {f"fv{k}": 0.3 for k in robot.joint_numbers}
    theta = np.concatenate([robot.inertials.ravel(), np.zeros(len(parameters) - robot.inertials.size)])
    for name, value in damping.items():
        theta[parameters.names.index(name)] = value
    tau = np.zeros(v.shape)
    tau[:, closure.independent] = rng.standard_normal((len(q), len(closure.independent)))
    dynamics = ContactDynamics(OpenParameters(robot, nominal=damping), softness=1e-12)
    a = dynamics(q, v, tau, dynamics.parameters.nominal_theta).a
    np.testing.assert_allclose(closure.motion(q, v, a)[1], a, rtol=1e-6, atol=1e-6)
    efforts = Regressor(robot, parameters).dense(q, v, a) @ theta
    np.testing.assert_allclose(efforts, tau[:, closure.independent], rtol=1e-6, atol=1e-6)


def test_base_parameters_of_a_five_bar():
    """16 in the plane; two masses never act, two act at a joint, and a mass where both arms meet belongs to either."""
    robot = closed_chain("five_bar.xml")
    base = structural_base(Regressor(robot, robot.parameters))
    assert sum(kind == "inertia" for kind in base.kinds) == 11


@each_chain
def test_the_mass_matrix_is_that_of_independent_joints(file, rng):
    robot = closed_chain(file)
    theta = np.zeros(len(robot.parameters))
    theta[: robot.inertials.size] = robot.inertials.ravel()
    dynamics = IdentifiedDynamics(
        robot, robot.parameters, robot.parameters.names, theta, np.zeros((len(theta),) * 2)
    )
    positions, q, *_ = states(robot, rng, 3)
    open_chain = replace(robot, loops=())
    M = IdentifiedDynamics(
        open_chain, robot.parameters, robot.parameters.names, theta, np.zeros((len(theta),) * 2)
    ).mass_matrix(positions)
    N = robot.closure.projection(q)
    np.testing.assert_allclose(
        dynamics.mass_matrix(positions), N.transpose(0, 2, 1) @ M @ N, rtol=1e-8, atol=1e-10
    )


# ------------------------------------------------------------------------------------------------------ what is refused


def test_loops_that_cannot_be_closed(rng, tmp_path):
    robot = closed_chain("five_bar.xml")
    far = Loop(("left_distal", "right_distal"), ((2.0, 0, 0), (0.3, 0, 0)))
    with pytest.raises(InvalidModel, match="cannot be closed near the neutral configuration"):
        load_robot(CLOSED_CHAINS / "five_bar.xml", loops=[far])
    text = (CLOSED_CHAINS / "five_bar.xml").read_text()
    (tmp_path / "open.xml").write_text(text[: text.index("<equality>")] + "</mujoco>")
    short = Loop(("left_distal", "right_distal"), ((0.17, 0, 0), (0.25, 0, 0)))
    robot = load_robot(tmp_path / "open.xml", drive=robot.drive, loops=[short])
    time = np.arange(1000) * 1e-3
    channels = {"position.left": 2.5 * np.sin(5 * time), "position.right": -2.5 * np.sin(5 * time)}
    channels |= {"torque.left": np.sin(time), "torque.right": np.cos(time)}
    units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
    with pytest.raises(InvalidSignals, match=r"the loops cannot be closed at \S+ s: \S+ mm stay open"):
        InverseDynamics(
            robot, Recording(time, channels, units), ButterworthDecimation(cutoff_hz=20, decimate_hz=10)
        )


def test_a_loop_needs_links_of_the_robot():
    with pytest.raises(InvalidModel, match="a loop needs two links, not 'left_dital'"):
        load_robot(
            CLOSED_CHAINS / "five_bar.xml", loops=[Loop(("left_dital", "base"), ((0, 0, 0), (0, 0, 0)))]
        )


def test_what_knows_no_loops_says_so():
    robot = load_robot(CLOSED_CHAINS / "five_bar.xml", floating_base=True)
    with pytest.raises(InvalidModel, match="supports no closed loops, and robot 'five-bar' has 1"):
        LinkTorques(robot, robot.bodies[:1])


@each_chain
def test_torques_of_a_sample_are_those_of_the_projected_regressor(file, rng):
    robot = closed_chain(file)
    _, q, v, a = states(robot, rng, 3)
    added = rng.uniform(0.1, 1, len(robot.parameters) - robot.inertials.size)
    torques = LinkTorques(robot, robot.bodies[:1], added=added)
    regressor = Regressor(robot, robot.parameters)
    expected = regressor.dense(q, v, a) @ np.concatenate([robot.inertials.ravel(), added])
    for k in range(len(q)):
        Y, tau = torques(q[k], v[k], a[k])
        own = (Y @ robot.inertials[0] + tau)[robot.equations]
        np.testing.assert_allclose(own, expected[k], rtol=1e-9, atol=1e-9)


def test_a_described_loop_is_that_of_a_tree_with_a_loop_of_the_caller(tmp_path, rng):
    """The same mechanism without `equality`, and the loop given to `load_robot`."""
    robot = closed_chain("five_bar.xml")
    text = (CLOSED_CHAINS / "five_bar.xml").read_text()
    (tmp_path / "open.xml").write_text(text[: text.index("<equality>")] + "</mujoco>")
    same = load_robot(tmp_path / "open.xml", drive=robot.drive, friction=robot.friction, loops=robot.loops)
    _, q, v, a = states(robot, rng)
    W = [Regressor(each, each.parameters).dense(q, v, a) for each in (robot, same)]
    np.testing.assert_array_equal(*W)


def test_a_description_that_is_read_again_has_its_loops_once():
    robot = closed_chain("leg.xml")
    assert robot.read_again(CLOSED_CHAINS / "leg.xml").loops == robot.loops


def test_equalities_of_mjcf(tmp_path):
    """Inactive ones are none; the second body is the world where it is not named; sites say their points."""
    text = (CLOSED_CHAINS / "five_bar.xml").read_text()
    connect = text[text.index("<connect") : text.index("/>", text.index("<connect")) + 2]

    def loops(instead, text=text):
        (tmp_path / "robot.xml").write_text(text.replace(connect, instead))
        return load_robot(tmp_path / "robot.xml").loops

    assert loops(connect.replace("<connect", '<connect active="false"')) == ()
    assert loops('<joint joint1="left" joint2="right"/>') == ()
    to_world = loops('<connect body1="left_distal" anchor="0.25 0 0"/>')
    assert to_world == loops('<connect body1="left_distal" body2="world" anchor="0.25 0 0"/>')
    assert tuple(to_world[0].links) == ("left_distal", "world")
    sites = text.replace(
        '<joint name="left_distal"', '<site name="tip" pos="0.25 0 0"/><joint name="left_distal"'
    )
    sites = sites.replace(
        '<joint name="right_distal"', '<site name="end" pos="0.3 0 0"/><joint name="right_distal"'
    )
    (found,) = loops('<connect site1="tip" site2="end"/>', sites)
    assert (tuple(found.links), found.points) == (
        ("left_distal", "right_distal"),
        ((0.25, 0, 0), (0.3, 0, 0)),
    )
    with pytest.raises(UnreadableFile, match=r"MuJoCo says: .*unknown element 'tip'"):
        loops('<connect site1="tip" site2="end"/>')
    with pytest.raises(UnreadableFile, match=r"MuJoCo says: .*anchor"):
        loops('<connect body1="left_distal" body2="right_distal" anchor="0.25 zero"/>')


def test_a_weld_holds_three_points(tmp_path, rng):
    """Two arms whose ends are welded, in the pose that they have at the reference."""
    (tmp_path / "weld.xml").write_text(
        """<mujoco><worldbody>
        <body name="a"><joint axis="0 1 0"/><geom size="0.1"/>
          <body name="b" pos="1 0 0"><joint axis="0 1 0"/><geom size="0.1"/>
            <body name="c" pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1"/></body></body></body>
        <body name="d" pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1"/></body>
        </worldbody><equality><weld body1="c" body2="d"/></equality></mujoco>"""
    )
    robot = load_robot(tmp_path / "weld.xml")
    assert len(robot.loops) == 3 and len(robot.closure.independent) == 1
    q, _, _ = robot.random_states(5, rng)
    data = robot.model.createData()
    relative = []
    for configuration in q:
        pin.framesForwardKinematics(robot.model, data, configuration)
        c, d = (data.oMf[robot.model.getFrameId(name, pin.FrameType.BODY)] for name in "cd")
        relative.append((c.inverse() * d).homogeneous)
    np.testing.assert_allclose(np.ptp(relative, axis=0), 0, atol=1e-8)


@pytest.mark.slow
def test_an_estimate_in_which_passive_joints_are_not_measured(rng):
    """Exact signals: the base parameters are exact, and the result is examined like any other."""
    robot = closed_chain("five_bar.xml")
    closure, time = robot.closure, np.arange(8000) * 1e-3
    positions = np.full((len(time), 4), np.nan)
    positions[:, 0] = 0.3 * np.sin(4 * time) + 0.1 * np.sin(9 * time)
    positions[:, 2] = 0.3 * np.cos(5 * time) + 0.1 * np.sin(7 * time) - 0.3
    positions, _ = closure.positions(positions)
    q = robot.configurations(positions)
    v = np.gradient(positions, 1e-3, axis=0)
    a = np.gradient(v, 1e-3, axis=0)
    v, a = closure.motion(q, v, a)
    theta = np.zeros(len(robot.parameters))
    theta[: robot.inertials.size] = robot.inertials.ravel()
    tau = Regressor(robot, robot.parameters).dense(q, v, a) @ theta
    channels = {"position.left": positions[:, 0], "position.right": positions[:, 2]}
    channels |= {"torque.left": tau[:, 0], "torque.right": tau[:, 1] + 1e-4 * rng.standard_normal(len(time))}
    units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
    problem = InverseDynamics(
        robot, Recording(time, channels, units), ButterworthDecimation(cutoff_hz=40, decimate_hz=10)
    )
    estimate = LeastSquares().solve(problem)
    true = problem.base.map @ theta
    inertial = [k for k, kind in enumerate(problem.base.kinds) if kind == "inertia"]
    # the filter and differences change the motion by about 1e-3 of itself
    np.testing.assert_allclose(estimate.values[inertial], true[inertial], atol=1e-2 * np.abs(true).max())
    assert estimate.fit.relative_error_percent < 1
    assert {finding.cause for finding in estimate.findings} <= {"correlated-residuals"}
