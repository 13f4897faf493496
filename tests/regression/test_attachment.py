from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import InvalidMethod, InvalidModel, InvalidSignals
from poinsot.regression.attachment import LOAD_NAMES, attach, with_load
from poinsot.regression.base_parameters import structural_base
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.regression.regressor import Regressor
from poinsot.signals.decimation import Decimation
from references.dense_regression import stacked, torque
from references.loaded_arm import LOAD, TOOL, arm, carrying, motion, problem, recorded, truth
from references.robots import chain, own_parameters


def load_columns(found):
    """(N, n, 10) of a problem that shows all ten."""
    assert found.base.names[-10:] == LOAD_NAMES
    return stacked(found)[0][:, :, -10:]


@pytest.mark.parametrize("link", ["tool", None])
def test_the_columns_are_what_the_load_adds_to_the_torque(link):
    found = problem([recorded(True)], loaded=(True,), link=link)
    _, q, v, a = motion()
    placement = TOOL if link == "tool" else pin.SE3.Identity()
    with_load = truth().copy()
    with_load[30:40] += (placement * pin.Inertia.FromDynamicParameters(LOAD)).toDynamicParameters()
    whole, own = (torque(arm(), theta, arm().configurations(q), v, a) for theta in (with_load, truth()))
    np.testing.assert_allclose(load_columns(found) @ LOAD, whole - own, atol=1e-12 * np.abs(whole).max())


def test_without_the_load_its_columns_are_zero():
    found = problem()
    columns = load_columns(found)
    free = found.row_counts[0]
    assert not columns[:free].any()
    assert np.abs(columns[free:]).max() > 0


def test_the_truth_explains_both_recordings():
    found = problem([recorded(each, quantity="torque") for each in (False, True)])
    theta = found.base.map @ np.concatenate([truth(), LOAD])
    W, y = stacked(found)
    np.testing.assert_allclose(W @ theta, y, atol=1e-10 * np.abs(y).max())
    np.testing.assert_allclose(found.excess(1.5 * theta), 0.5 * y, atol=1e-10 * np.abs(y).max())


def test_what_is_held_of_the_load_is_taken_off():
    whole, held = problem(), problem(held={"mL": 3.0, "xxL": 0.5})
    assert held.base.names[-8:] == tuple(name for name in LOAD_NAMES if name not in ("mL", "xxL"))
    W, y = stacked(whole)
    W_held, y_held = stacked(held)
    known = W[:, :, [-10, -6]] @ [3.0, 0.5]
    np.testing.assert_allclose(y_held, y - known, atol=1e-12 * np.abs(y).max())
    np.testing.assert_array_equal(W_held, np.delete(W, [-10, -6], axis=2))
    np.testing.assert_allclose(next(held.rows()).held, known[: len(next(held.rows()).y)], atol=1e-12)


@pytest.mark.parametrize("axes", ["z", "zz", "zyz", "s", "zs"])
def test_of_the_load_exactly_that_is_in_the_base_which_some_motion_shows(axes):
    robot = chain(axes, [0.0, 0.4, 0.3][: len(axes)])
    found = inverse_dynamics(robot, [signals_of(robot)] * 2, loaded=(False, True))
    own = structural_base(Regressor(robot, robot.parameters))
    q, v, a = robot.random_states(200, np.random.default_rng(3))
    Y = robot.torque_regressor(q, v, a)[:, :, -10:].reshape(-1, 10)
    Y = Y / np.maximum(np.linalg.norm(Y, axis=0), 1e-12)
    assert len(found.base) - len(own) == np.linalg.matrix_rank(Y, tol=1e-8)
    load = np.arange(1.0, 11.0)
    theta = np.concatenate([own_parameters(robot), load])
    regressor = Regressor(robot, found.parameters)
    W = found._columns(1, regressor.entries(q, v, a), found.base.chosen)
    whole = regressor.dense(q, v, a)[:, :, : len(robot.parameters)] @ own_parameters(robot)
    added = robot.torque_regressor(q, v, a)[:, :, -10:] @ load
    np.testing.assert_allclose(
        W @ (found.base.map @ theta), whole + added, atol=1e-8 * np.abs(whole + added).max()
    )


def signals_of(robot):
    from references.dense_regression import signals_of, smooth_motion

    rng = np.random.default_rng(1)
    return signals_of(robot, own_parameters(robot, rng), smooth_motion(robot, 60, rng))


def test_the_factors_hold_the_load_too():
    found = problem()
    W, y = stacked(found)
    for joint, R in enumerate(found.factors()):
        rows = np.column_stack([W[:, joint], y[:, joint]])
        np.testing.assert_allclose(R.T @ R, rows.T @ rows, atol=1e-10 * np.abs(rows.T @ rows).max())


def test_a_link_that_there_is_not_is_named_with_its_nearest():
    with pytest.raises(InvalidModel, match=r"no link 'tol'; did you mean 'tool'\?; the robot has"):
        problem(link="tol")


def test_a_link_that_does_not_move_shows_nothing():
    with pytest.raises(InvalidModel, match="link 'base' does not move"):
        problem(link="base")


def test_a_body_without_a_link_is_called_like_its_joint():
    assert attach(arm(), "j2").body == 1
    np.testing.assert_array_equal(attach(arm(), "j2").to_body, np.eye(10))
    assert attach(arm()).body == 3


def test_each_recording_is_with_the_load_or_without():
    with pytest.raises(InvalidMethod, match="`loaded` has 2 values for 1 recordings"):
        problem([recorded(True)], loaded=(False, True))


def test_recordings_of_different_robots_share_nothing():
    free, loaded = recorded(False), recorded(True)
    other = replace(loaded, joints=("a", "b", "c", "d"))
    with pytest.raises(
        InvalidSignals, match="of different robots: one has the joints j1, j2, j3, j4, another a, b"
    ):
        problem([free, other])
    fewer = replace(
        loaded, joints=("j1", "j2", "j3"), **{k: getattr(loaded, k)[:, :3] for k in ("q", "v", "a", "tau")}
    )
    with pytest.raises(InvalidSignals, match="another j1, j2, j3; what they share"):
        problem([free, fewer])


def test_columns_in_another_order_are_the_same_robot():
    loaded = recorded(True)
    turned = replace(
        loaded, joints=loaded.joints[::-1], **{k: getattr(loaded, k)[:, ::-1] for k in ("q", "v", "a", "tau")}
    )
    np.testing.assert_array_equal(stacked(problem([recorded(False), turned]))[1], stacked(problem())[1])


@pytest.mark.parametrize("decimation", [None, Decimation(5, cut_edges=False), Decimation(3)])
def test_the_speeds_are_those_of_the_rows(decimation):
    found = problem([replace(recorded(each), decimation=decimation) for each in (False, True)])
    v = motion()[2] if decimation is None else motion()[2][decimation.kept_indices(len(motion()[2]))]
    np.testing.assert_array_equal(found.speeds, np.concatenate([v, v]))
    assert len(found.speeds) == sum(found.row_counts)


def test_the_change_of_frame_is_that_of_the_body():
    expected = (TOOL * pin.Inertia.FromDynamicParameters(LOAD)).toDynamicParameters()
    np.testing.assert_allclose(attach(arm(), "tool").to_body @ LOAD, expected, atol=1e-14)
    np.testing.assert_allclose(carrying(truth())[30:40] - truth()[30:40], expected, atol=1e-14)


def test_the_base_of_the_robot_stays_what_it_is():
    found = problem()
    own = structural_base(Regressor(arm(), arm().parameters))
    assert found.base.names[: len(own)] == own.names
    np.testing.assert_allclose(found.base.map[: len(own), : len(arm().parameters)], own.map, atol=1e-13)
    extended = structural_base(Regressor(arm(), found.parameters))
    attachment = attach(arm(), "tool")
    again = with_load(extended, attachment, Regressor(arm(), found.parameters), seed=7)
    np.testing.assert_allclose(again.map, found.base.map, atol=1e-7)
