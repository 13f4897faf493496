import numpy as np
import pytest

from estimators.joint import swings
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record, WeightChoice

TIMES = np.arange(250) * 0.02
PIVOT = ("bob.Jxx", "pivot.drag")


def test_each_reading_is_left_out_once_but_at_the_ends():
    record = Record("r", TIMES, np.zeros((250, 1)), np.zeros((250, 2)))
    even, odd = WeightChoice().left_out(record, 0), WeightChoice().left_out(record, 1)
    assert not (even & odd).any()
    assert (even | odd)[12:-12].all()
    assert not (even | odd)[[0, -1]].any()
    assert 0.8 < even.sum() / odd.sum() < 1.25


def test_the_weight_follows_the_torques_that_the_model_lacks(rng):
    """Without any the largest is as good as others and taken; a torque of 20 mN m takes a smaller one."""
    method = JointSmoothing(1e6, swings.NOISE)
    weights, chosen = [1e4, 1e6, 1e8, 1e10], []
    choice = WeightChoice(weights)
    for size in (0.0, 0.02):

        def torque(t, size=size):
            return size * np.sin(7 * t) * np.sin(3 * t)

        motion = swings.exact(swings.theta(), TIMES, 1.5, 0.0, torque=torque)
        record = swings.read("swing", TIMES, motion, rng)
        problem = JointSmoothingProblem(swings.model(), [record], open=PIVOT)
        found = choice.choose(method, problem)
        np.testing.assert_array_equal(found.tried, weights)
        assert (found.scores > 0.8).all(), "no prediction of a reading is better than its noise"
        chosen.append(found.weight)
    assert chosen[0] == 1e10
    assert chosen[1] < 1e8

    begun = method.solve(JointSmoothingProblem(swings.model(), [record], open=PIVOT))
    again = choice.score(method, problem, begun)
    assert again == pytest.approx(found.scores[1], rel=1e-3)
