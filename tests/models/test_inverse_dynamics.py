"""Mass matrix, efforts and their slopes, many states in one call, against Pinocchio's."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.models.robot.inverse_dynamics import inverse_dynamics
from references.robots import chain, random_robot

GRAVITY = np.array([0.3, -0.2, -9.0])
STATES = 4


def pinocchios(robot, inertials):
    """Its model without rotors, with these bodies and this gravity."""
    model = robot.model.copy()
    model.armature = np.zeros(model.nv)
    model.gravity.linear = GRAVITY
    for body, pi in enumerate(inertials):
        model.inertias[body + 1] = pin.Inertia.FromDynamicParameters(pi)
    return model


def depth_first(rng, kinds, floating):
    """A robot whose subtrees are numbered without gaps, which Pinocchio takes for granted."""
    while True:
        robot = random_robot(rng, 8, kinds=kinds, floating_base=floating)
        subtrees = [list(subtree) for subtree in robot.model.subtrees]
        if all(numbers == list(range(numbers[0], numbers[0] + len(numbers))) for numbers in subtrees):
            return robot


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kinds", ["RP", "RUCPS"])
def test_efforts_and_slopes_are_pinocchio_s(rng, kinds, floating):
    robot = depth_first(rng, kinds, floating)
    inertials = robot.inertials[::-1].copy()  # bodies that are not the description's
    model, tree = pinocchios(robot, inertials), robot.tree
    data = model.createData()
    q, v, a = robot.random_states(STATES, rng)
    joints = rng.choice(model.njoints - 1, 2, replace=False) + 1
    touched = np.array([np.flatnonzero(tree.body == joint - 1)[0] for joint in joints])
    wrenches = 10 * rng.standard_normal((STATES, 2, 6))
    M, tau = inverse_dynamics(tree, inertials, GRAVITY, q, v, a)
    by_q, by_v = inverse_dynamics(tree, inertials, GRAVITY, q, v, a, True, (touched, wrenches))
    for t in range(STATES):
        outside = pin.StdVec_Force([pin.Force.Zero() for _ in range(model.njoints)])
        for joint, wrench in zip(joints, wrenches[t], strict=True):
            outside[int(joint)].vector = wrench
        expected = pin.computeRNEADerivatives(model, data, q[t], v[t], a[t], outside)
        for ours, theirs in (
            (M[t], pin.crba(model, data, q[t])),
            (tau[t], pin.rnea(model, data, q[t], v[t], a[t])),
            (by_q[t], expected[0]),
            (by_v[t], expected[1]),
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-12 * (1 + np.abs(theirs).max()))


def test_light_bodies_at_the_end_of_a_long_arm_keep_their_digits(rng):
    """About a point 100 m away their own inertia would be a difference of numbers 1e4 times as large."""
    robot = chain("zyx", [0.3, 100.0, 0.1])
    q, v, a = robot.random_states(1, rng)
    M = inverse_dynamics(robot.tree, robot.inertials, GRAVITY, q, v, a)[0][0]
    own = robot.inertials[-1, 4]  # about the axis of its joint, which is its x axis
    assert M[-1, -1] == pytest.approx(own, rel=1e-14)
