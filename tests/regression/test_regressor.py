"""The whole regressor against Newton and Euler, motors and friction written out."""

import numpy as np
import pytest

from poinsot.models.friction import NoFriction, ViscousCoulomb
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.regression.regressor import Regressor
from references.dense_regression import torque
from references.robots import own_parameters, random_robot

COUPLED = {"couplings": (Coupling("j3", "j2", 0.7), Coupling("j1", "j3", -0.4)), "rotor_inertia": True}
CASES = {
    "plain": {"joints": 4},
    "no friction": {"joints": 4, "friction": NoFriction()},
    "any axis": {"joints": 5, "kinds": "RUP", "friction": ViscousCoulomb(offset=False)},
    "without limits": {"joints": 4, "kinds": "RC", "drive": Drive(rotor_inertia=True)},
    "coupled, free": {"joints": 3, "kinds": "R", "drive": Drive(reduction=(2, 3, -5), **COUPLED)},
    "coupled, tied": {
        "joints": 3,
        "kinds": "R",
        "drive": Drive(reduction=(2, 3, -5), coupled_rotor="tied", **COUPLED),
    },
    "coupled, deadband": {
        "joints": 3,
        "kinds": "RP",
        "drive": Drive(**COUPLED),
        "friction": ViscousCoulomb(deadband=0.3),
    },
    "coupled, no own friction": {
        "joints": 3,
        "kinds": "R",
        "drive": Drive(coupled_friction=False, **COUPLED),
    },
    "passive": {"joints": 3, "drive": Drive(passive=("j2",), rotor_inertia=True)},
    "floating": {"joints": 4, "floating_base": True, "drive": Drive(rotor_inertia=True)},
    "ball": {"joints": 3, "kinds": "SR"},
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each_case
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_newton_euler_motors_and_friction(case, seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, **case)
    theta = own_parameters(robot, rng)
    states = robot.random_states(20, rng)
    W = Regressor(robot, robot.parameters).dense(*states)
    assert W.shape == (20, robot.model.nv, len(robot.parameters))
    expected = torque(robot, theta, *states)
    # some hundred products of size up to the torques themselves
    np.testing.assert_allclose(W @ theta, expected, atol=1e-12 * np.abs(expected).max())


@each_case
def test_each_column_is_the_torque_of_its_parameter_at_one(case, rng):
    """Beside the bodies, whose unit parameters rnea does not take, column by column."""
    robot = random_robot(rng, **case)
    states = robot.random_states(5, rng)
    W = Regressor(robot, robot.parameters).dense(*states)
    theta = own_parameters(robot)
    without = torque(robot, theta, *states)
    for c in range(10 * len(robot.bodies), len(theta)):
        one = theta.copy()
        one[c] = 1.0
        expected = torque(robot, one, *states) - without
        np.testing.assert_allclose(
            W[:, :, c], expected, atol=1e-11 * np.abs(without).max(), err_msg=robot.parameters.names[c]
        )


@each_case
def test_entries_outside_the_structure_are_zero_and_scatter_puts_them_where_they_belong(case, rng):
    robot = random_robot(rng, **case)
    regressor = Regressor(robot, robot.parameters)
    states = robot.random_states(6, rng)
    entries, dense = regressor.entries(*states), regressor.dense(*states)
    rows, columns = regressor.structure
    assert len(set(zip(rows, columns, strict=True))) == len(rows) == entries.shape[1]
    np.testing.assert_array_equal(dense[:, rows, columns], entries)
    outside = np.ones(dense.shape[1:], dtype=bool)
    outside[rows, columns] = False
    assert not dense[:, outside].any()
    chosen = rng.permutation(len(robot.parameters))[:7]
    np.testing.assert_array_equal(regressor.scatter(entries, chosen), dense[:, :, chosen])


def test_samples_do_not_know_each_other(rng):
    robot = random_robot(rng, 4, drive=Drive(rotor_inertia=True))
    regressor = Regressor(robot, robot.parameters)
    states = robot.random_states(9, rng)
    order = rng.permutation(9)
    np.testing.assert_array_equal(
        regressor.entries(*(x[order] for x in states)), regressor.entries(*states)[order]
    )
    np.testing.assert_array_equal(
        regressor.entries(*(x[3:4] for x in states)), regressor.entries(*states)[3:4]
    )
