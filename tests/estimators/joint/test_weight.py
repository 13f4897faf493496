"""The weight that recordings ask for: by what the model lacks, and by what it predicts."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.joint import swings
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, WeightChoice
from poinsot.estimators.joint.weight import halves

TIMES = np.arange(250) * 0.02
PIVOT = ("bob.Jxx", "pivot.drag")


def method(**given):
    return JointSmoothing(1.0, swings.NOISE, reference=swings.theta(), **given)


def swing(rng, size, decay=0.0):
    """With a torque of random steps of 0.02 s that the model does not know [N m]."""
    torques = size * rng.standard_normal(len(TIMES))

    def torque(t):
        return torques[min(int(t / 0.02), len(TIMES) - 1)]

    return swings.read("swing", TIMES, swings.exact(swings.theta(), TIMES, 1.5, 0.0, torque=torque), rng)


@pytest.mark.parametrize("size", [0.05, 0.2])
def test_a_white_torque_that_the_model_lacks_is_found_in_size(size, rng):
    """1 / (size h)^2, of some 250 impulses: 2 / 250 of its logarithm's variance, and what readings hide of it."""
    problem = JointSmoothingProblem(swings.model(), [swing(rng, size), swing(rng, size)], open=PIVOT)
    choice = WeightChoice(most=1)
    found = choice.choose(method(), problem)
    assert abs(np.log10(found.weight * (size * 0.02) ** 2)) < 0.5
    np.testing.assert_allclose(found.fit.theta[:2], swings.theta()[:2], rtol=1e-9)  # held
    assert found.method.reference is not None


def test_without_any_steps_become_rigid(rng):
    problem = JointSmoothingProblem(swings.model(), [swing(rng, 0.0)], open=PIVOT)
    found = WeightChoice().choose(method(), problem)
    std = found.fit.robust_std[found.fit.open]
    assert found.weight > 1e9 and found.fit.converged
    np.testing.assert_array_less(np.abs(found.fit.theta - swings.theta())[found.fit.open], 4 * std)


@pytest.mark.parametrize("weight", [1e2, 1e5])
def test_inertia_does_not_shrink_where_steps_give_way(weight, rng):
    """By the inertia of theta itself, as in the paper, it ends at a small part of what it is, or at 0."""
    problem = JointSmoothingProblem(swings.model(), [swing(rng, 0.02)], open=PIVOT)
    by_reference = replace(method(), weight=weight).solve(problem)
    as_in_the_paper = replace(method(), weight=weight, reference=None).solve(problem)
    truth = swings.theta()[2] + swings.theta()[0] * swings.theta()[1] ** 2  # about the pivot
    about = [fit.values["bob.Jxx"] + truth - swings.theta()[2] for fit in (by_reference, as_in_the_paper)]
    assert abs(about[0] / truth - 1) < 0.05
    assert weight > 1e4 or about[1] < 0.97 * truth


def test_halves_share_all_samples(rng):
    problem = JointSmoothingProblem(swings.model(), [swing(rng, 0.0)], open=PIVOT)
    fit = replace(method(), weight=1e8).solve(problem)
    first, second = halves(problem, fit)
    assert [len(each.records[0].times) for each in (first, second)] == [125, 125]
    np.testing.assert_array_equal(np.concatenate([first.guess[0].times, second.guess[0].times]), TIMES)
    three = replace(problem, records=problem.records * 3)
    begun = replace(fit, paths=fit.paths * 3)
    assert [len(each.records) for each in halves(three, begun)] == [2, 1]
