"""The adjoint of the batch regressor: finite differences on trees of all joints, Pinocchio's derivatives, and laws."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.models.robot.regressor_adjoint import _adjoint, regressor_adjoint
from poinsot.models.robot.torque_regressor import L, regressor_entries
from references.robots import described, random_robot

KINDS = ["R", "U", "C", "P", "S", "RUCPS"]


def weights(robot, count, rng):
    return rng.standard_normal((count, 10 * len(robot.tree.pairs[0])))


def differences(robot, q, v, a, G, h=1e-6):
    """Central differences of sum(G * Y); by q along the motion of each degree of freedom."""

    def total(q, v, a):
        return (G * regressor_entries(robot.tree, q, v, a)).sum(axis=1)

    def moved(q, step):
        return np.array([pin.integrate(robot.model, row, step) for row in q])

    by_q, by_v, by_a = [], [], []
    for step in h * np.eye(robot.model.nv):
        by_q.append(total(moved(q, step), v, a) - total(moved(q, -step), v, a))
        by_v.append(total(q, v + step, a) - total(q, v - step, a))
        by_a.append(total(q, v, a + step) - total(q, v, a - step))
    return [np.array(each).T / (2 * h) for each in (by_q, by_v, by_a)]


@pytest.mark.parametrize("floating_base", [False, True])
@pytest.mark.parametrize("kinds", KINDS)
def test_it_is_the_derivative(kinds, floating_base, rng):
    robot = random_robot(rng, 6, kinds=kinds, floating_base=floating_base)
    q, v, a = robot.random_states(5, rng)
    G = weights(robot, 5, rng)
    found = regressor_adjoint(robot.tree, q, v, a, G)
    for ours, expected in zip(found, differences(robot, q, v, a, G), strict=True):
        # central differences with h = 1e-6: rounding 1e-16 |f| / h and truncation h^2 f''' are below 1e-8 |f|
        assert np.abs(ours - expected).max() <= 1e-7 * max(np.abs(expected).max(), 1.0)


@pytest.mark.parametrize("path", ["ur_description/urdf/ur10_robot.urdf", "panda_description/urdf/panda.urdf"])
def test_rows_of_pinocchios_derivatives(path, rng):
    """With G_ki = lambda_k pi_i it is lambda^T times the Jacobians of inverse dynamics."""
    robot = described(path)
    tree, model = robot.tree, robot.model
    q, v, a = robot.random_states(8, rng)
    multipliers = rng.standard_normal(v.shape)
    dofs, bodies = tree.pairs
    G = (multipliers[:, dofs, None] * robot.inertials[bodies]).reshape(8, -1)
    found = regressor_adjoint(tree, q, v, a, G)
    data = model.createData()
    for k in range(8):
        jacobians = pin.computeRNEADerivatives(model, data, q[k], v[k], a[k])
        for ours, J in zip(found, jacobians, strict=True):
            expected = multipliers[k] @ J
            assert np.abs(ours[k] - expected).max() <= 1e-12 * max(np.abs(expected).max(), 1.0) * 10


def test_it_is_linear_in_the_weights(rng):
    robot = random_robot(rng, 5, kinds="RUCPS")
    q, v, a = robot.random_states(4, rng)
    G, H = weights(robot, 4, rng), weights(robot, 4, rng)
    both = regressor_adjoint(robot.tree, q, v, a, 2 * G - H)
    apart = [regressor_adjoint(robot.tree, q, v, a, each) for each in (G, H)]
    for whole, first, second in zip(both, *apart, strict=True):
        assert np.allclose(whole, 2 * first - second, rtol=0, atol=1e-11 * np.abs(first).max())


@pytest.mark.parametrize("count", [1, L - 1, L, 2 * L + 3])
def test_samples_are_independent(count, rng):
    robot = random_robot(rng, 4, kinds="RP")
    q, v, a = robot.random_states(count, rng)
    G = weights(robot, count, rng)
    together = regressor_adjoint(robot.tree, q, v, a, G)
    for k in range(count):
        one = slice(k, k + 1)
        alone = regressor_adjoint(robot.tree, q[one], v[one], a[one], G[one])
        for whole, single in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[one], single)


def test_other_layouts_compile_nothing_anew(rng):
    robot = random_robot(rng, 4, kinds="RP")
    q, v, a = robot.random_states(20, rng)
    G = weights(robot, 20, rng)
    expected = regressor_adjoint(robot.tree, q[::2], v[::2], a[::2], G[::2])
    for ours, same in zip(
        regressor_adjoint(robot.tree, *(np.asfortranarray(x)[::2] for x in (q, v, a, G))),
        expected,
        strict=True,
    ):
        np.testing.assert_array_equal(ours, same)
    assert len(_adjoint.signatures) == 1
