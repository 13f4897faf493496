"""Moves and differences of configurations, and their slopes, against Pinocchio's and against SciPy's exponential."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm

from poinsot.models.robot import configuration_space as space
from poinsot.models.robot.tree import tree_of
from references.robots import random_robot

SIZES = [0.0, 1e-9, 1e-5, 0.1, 0.99, 1.01, 3.0]


@pytest.fixture(scope="module")
def robot():
    return random_robot(np.random.default_rng(5), 6, kinds="RUCPS", floating_base=True)


def moves(robot, rng, size, count=3):
    """Whose rotations turn by `size` [rad]."""
    d = size * rng.standard_normal((count, robot.model.nv))
    for joint in robot.model.joints[1:]:
        if joint.nv in (3, 6):
            turn = slice(joint.idx_v + joint.nv - 3, joint.idx_v + joint.nv)
            d[:, turn] *= size / np.maximum(np.linalg.norm(d[:, turn], axis=1, keepdims=True), 1e-300)
        elif joint.nq > joint.nv:  # turns without limit
            d[:, joint.idx_v] = np.clip(d[:, joint.idx_v], -3, 3)
    return d


@pytest.mark.parametrize("size", SIZES)
def test_moves_are_pinocchio_s_and_undone(robot, rng, size):
    q, _, _ = robot.random_states(3, rng)
    d = moves(robot, rng, size)
    moved = space.integrate(robot.tree, q, d)
    theirs = [pin.integrate(robot.model, *each) for each in zip(q, d, strict=True)]
    np.testing.assert_allclose(moved, theirs, atol=1e-13)
    np.testing.assert_allclose(space.difference(robot.tree, q, moved), d, atol=1e-13)


def test_a_difference_takes_either_sign_of_a_quaternion(robot, rng):
    q, _, _ = robot.random_states(3, rng)
    moved = space.integrate(robot.tree, q, moves(robot, rng, 0.5))
    turned = moved.copy()
    turned[:, 3:7] *= -1  # the base's
    np.testing.assert_allclose(
        space.difference(robot.tree, q, turned), space.difference(robot.tree, q, moved), atol=1e-15
    )


def algebra(d):
    """(k, k) matrix of the bracket with d, linear before angular."""
    v, w = (pin.skew(part) for part in (d[:-3] if len(d) == 6 else np.zeros(3), d[-3:]))
    return np.block([[w, v], [np.zeros((3, 3)), w]]) if len(d) == 6 else w


@pytest.mark.parametrize("k", [3, 6])
@pytest.mark.parametrize("size", SIZES)
def test_slopes_are_series_of_the_bracket(rng, size, k):
    """By d of q [+] d: sum over i of (-ad)^i / (i + 1)!, the corner of an exponential; by q: exp(-ad)."""
    d = rng.standard_normal((2, k))
    d[:, -3:] *= size / np.linalg.norm(d[:, -3:], axis=1, keepdims=True)
    by_q, by_d = space.integrate_slopes(d)
    by_x, by_y = space.difference_slopes(d)
    for t in range(2):
        ad = -algebra(d[t])
        corner = expm(np.block([[ad, np.eye(k)], [np.zeros((k, 2 * k))]]))[:k, k:]
        np.testing.assert_allclose(by_d[t], corner, atol=1e-13)
        np.testing.assert_allclose(by_q[t], expm(ad), atol=1e-13)
        np.testing.assert_allclose(by_y[t] @ corner, np.eye(k), atol=1e-12)
        np.testing.assert_allclose(by_x[t], -by_y[t] @ expm(ad), atol=1e-12)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_what_is_not_a_number_stays_so(robot, rng, broken):
    q, _, _ = robot.random_states(1, rng)
    d = moves(robot, rng, 0.1, 1)
    d[0, 4] = broken
    assert not np.isfinite(space.integrate(robot.tree, q, d)).all()
    assert not np.isfinite(space.integrate_slopes(d[:, :6])[1]).all()


@pytest.mark.parametrize("size", SIZES)
def test_planar_joints_are_pinocchio_s(rng, size):
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelPlanar(), pin.SE3.Random(), "sledge")
    model.addJoint(joint, pin.JointModelRX(), pin.SE3.Random(), "arm")
    tree = tree_of(model)
    q = np.array([pin.randomConfiguration(model, -np.ones(5), np.ones(5)) for _ in range(3)])
    d = rng.standard_normal((3, 4))
    d[:, 2] = size * rng.choice([-1, 1], 3)
    moved = space.integrate(tree, q, d)
    # Pinocchio divides 1 - cos(size), which rounds by 1.1e-16, by size, times a translation of at most 4
    atol = 1e-12 + (4.4e-16 / size if size else 0.0)
    theirs = [pin.integrate(model, *x) for x in zip(q, d, strict=True)]
    np.testing.assert_allclose(moved, theirs, rtol=0, atol=atol)
    np.testing.assert_allclose(space.difference(tree, q, moved), d, atol=1e-13)
    ours = *space.integrate_slopes(d[:, :3], True), *space.difference_slopes(d[:, :3], True)
    for t in range(3):
        theirs = *pin.dIntegrate(model, q[t], d[t]), *pin.dDifference(model, q[t], moved[t])
        for mine, its in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine[t], its[:3, :3], atol=atol)
