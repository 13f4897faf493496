"""Optimal estimation of a floating robot whose joints follow others: the truth of a motion in MuJoCo."""

import numpy as np
import pytest

from poinsot import load_robot
from poinsot.estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem
from poinsot.estimators.shooting.recordings import MotionNoise
from poinsot.models.friction import NoFriction
from poinsot.models.robot.open_parameters import OpenParameters
from references.gripper import GRIPPER, NOISE, simulated


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("gripper") / "gripper.xml"
    path.write_text(GRIPPER.format(free="<freejoint/>"))
    return simulated(path, np.random.default_rng(3)), load_robot(path, friction=NoFriction())


def test_a_body_on_a_joint_that_follows_is_found(recording, tmp_path):
    """By encoders and torques of the leaders only; the description has a finger of half as much again."""
    recorded, truth = recording
    heavy = GRIPPER.format(free="<freejoint/>").replace('size="0.012" f', 'density="1500" size="0.012" f')
    (tmp_path / "heavy.xml").write_text(heavy)
    robot = load_robot(tmp_path / "heavy.xml", friction=NoFriction())
    problem = OptimalEstimationProblem.from_recordings(
        OpenParameters(robot, ("right",)), {"run": recorded}, MotionNoise(NOISE, 1e-4)
    )
    (model,) = problem.models
    q, v = model.manifold.split(model.initial_states)
    still = np.zeros_like(v)
    for constraint in model.modes[0].constraints:
        np.testing.assert_allclose(constraint.of_joints(q, v, still).position, 0, atol=1e-9)
        np.testing.assert_allclose(constraint.of_joints(q, v, still).velocity, 0, atol=1e-9)
    estimate = OptimalEstimation().solve(problem)
    body = truth.inertials[truth.bodies.index("right")]
    # the model takes the velocity as constant in the palm's axes during a step, MuJoCo in the world's
    np.testing.assert_allclose(estimate.values[[0, 1, 9]], body[[0, 1, 9]], rtol=0.04)
    path = estimate.motions[0].path
    left, right = (path.readings(f"position.{joint}") for joint in ("left", "right"))
    np.testing.assert_allclose(right, 0.05 - 0.8 * left, atol=1e-3)
