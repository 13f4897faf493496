"""Limits as inequalities: their signs, their derivatives and their words."""

import numpy as np
import pytest

from poinsot.excitation.search import MotionConstraints


def motion(problem, rng, T=6):
    n = len(problem.robot.joints)
    return rng.uniform(-2, 2, (T, n)), *(rng.standard_normal((3, T, n)) * [[[3]], [[10]], [[40]]])


def test_a_motion_within_its_limits_has_none_above_zero(problem):
    still = np.zeros((1, 3))
    assert MotionConstraints(problem).excess(still, still, still, still).max() < 0


@pytest.mark.parametrize(
    ("which", "joint", "value", "words"),
    [
        (0, 0, 2.6, "joint yaw passes its position limit by 0.1 rad"),
        (0, 2, -2.75, "joint elbow passes its position limit by 0.25 rad"),
        (1, 1, -2.1, "the velocity of joint shoulder exceeds its limit by 5 %"),
        (2, 2, 15.0, "the acceleration of joint elbow exceeds its limit by 25 %"),
        (3, 1, 30.0, "the torque of joint shoulder exceeds its limit by 20 %"),
    ],
)
def test_what_breaks_a_limit_is_named(problem, which, joint, value, words):
    state = [np.zeros((2, 3)) for _ in range(4)]
    state[which][1, joint] = value
    excess = MotionConstraints(problem).excess(*state)
    assert np.all(excess[0] < 0) and (excess[1] > 0).sum() == 1
    assert MotionConstraints(problem).describe(excess) == words


def test_what_comes_too_close_is_named(problem):
    q = np.array([[0.0, 0.9, 0.0]])
    still = np.zeros((1, 3))
    constraints = MotionConstraints(problem)
    excess = constraints.excess(q, still, still, still)
    height = 0.6 - 0.9 * np.sin(0.9) - 0.05 - 0.3
    assert constraints.describe(excess) == f"forearm comes as close as {height:.3g} m to the floor"


def test_to_spare_means_earlier(problem, rng):
    state = motion(problem, rng)
    sooner, later = MotionConstraints(problem, 0.01).excess(*state), MotionConstraints(problem).excess(*state)
    assert np.allclose(sooner - later, 0.01)


def test_derivatives_are_finite_differences(problem, rng):
    state = motion(problem, rng)
    constraints = MotionConstraints(problem)
    weights = rng.standard_normal(constraints.excess(*state).shape)
    found = constraints.pull_back(state[0], weights)
    h = 1e-4
    for k, ours in enumerate(found):
        for joint, step in enumerate(h * np.eye(3)):
            ahead, behind = list(state), list(state)
            ahead[k], behind[k] = ahead[k] + step, behind[k] - step
            slope = np.sum(weights * (constraints.excess(*ahead) - constraints.excess(*behind)), axis=1) / (
                2 * h
            )
            # distances are known to 1e-6 m: 1e-6 / (h 0.1 m) in a slope
            assert np.abs(ours[:, joint] - slope).max() < (0.2 if k == 0 else 1e-8)
