"""The weight that recordings ask for: by what the model lacks, and by what it predicts."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.joint import swings
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, WeightChoice
from poinsot.estimators.joint.prediction import predicted, window_errors
from poinsot.estimators.joint.smoothing import RecordEquations
from poinsot.estimators.joint.weight import DIFFUSE, as_good, other_weights

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
    found = WeightChoice().choose(method(), problem)
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


def test_the_likelihood_is_that_of_dense_gaussians(rng):
    """Of readings linear in states and theta: det and inverse of the whole covariance, with nothing factorized."""
    problem = JointSmoothingProblem(swings.model(), [swing(rng, 0.05), swing(rng, 0.05)], open=PIVOT)
    problem = replace(problem, records=[each.samples(slice(40)) for each in problem.records])
    weights = np.array([1e2, 1e4, 1e6])
    fit = replace(method(), weight=1e4).solve(problem)
    at = RecordEquations(
        replace(method(), weight=1.0, reference=fit.theta), replace(problem, theta=fit.theta, guess=fit.paths)
    ).start()
    likely, _ = other_weights(at, weights)
    expected = []
    for weight in weights:
        total = np.zeros((3, 3))
        logs = 0.0
        for each in at.linearized:
            N, d = len(each.e), 2
            J, c = np.zeros((N * 4, N * d)), np.zeros((N * 4, 3))
            for k in range(N):
                rows, root = slice(4 * k, 4 * k + 4), np.array([np.sqrt(weight)] * 2 + [1.0] * 2)[:, None]
                J[rows, d * k : d * k + d] = root * each.by_x[k]
                if k < N - 1:
                    J[rows, d * k + d : d * k + 2 * d] = root * each.by_next[k]
                c[rows] = root * np.c_[each.by_theta[k], each.e[k]]
            J0 = np.zeros((d, N * d))
            J0[:, :d] = np.eye(d) / np.sqrt(DIFFUSE)
            J, c = np.r_[J, J0], np.r_[c, np.zeros((d, 3))]
            T = J.T @ J
            total += c.T @ c - c.T @ J @ np.linalg.solve(T, J.T @ c)
            logs += np.linalg.slogdet(T)[1] - 2 * (N - 1) * np.log(weight)
        S, g = total[:2, :2], total[:2, 2]
        cost = total[2, 2] - g @ np.linalg.solve(S, g)
        expected.append(-0.5 * (cost + logs + np.linalg.slogdet(S)[1]))
    np.testing.assert_allclose(np.diff(likely), np.diff(expected), rtol=1e-4)


def test_predictions_of_a_linearization_are_those_of_fits(rng):
    """Each record from the fit of the other, at another weight, against fits and simulations."""
    problem = JointSmoothingProblem(swings.model(), [swing(rng, 0.02), swing(rng, 0.02)], open=PIVOT)
    fit = replace(method(), weight=1e5).solve(problem)
    own = replace(method(), reference=fit.theta)
    motion = replace(problem, theta=fit.theta, guess=fit.paths)
    _, errors = other_weights(RecordEquations(own, motion).start(), np.array([1e6]))
    at = replace(own, weight=1e6)
    expected = []
    for k in (0, 1):
        other = at.solve(replace(problem, records=[problem.records[1 - k]]))
        records = [problem.records[k]]
        found = predicted(at, problem.model, records, other.theta)
        expected.append(window_errors(problem.model, records, [each.errors for each in found]))
    # windows of the linearization are a quarter apart, and its states saw all readings before
    assert abs(errors.mean() - np.concatenate(expected).mean()) < 0.25


def test_another_weight_needs_no_other_linearization(rng):
    """The same errors and slopes as where all is computed anew, those of first states as well."""
    problem = JointSmoothingProblem(swings.model(), [swing(rng, 0.05)], open=PIVOT)
    found = RecordEquations(replace(method(), form="explicit"), problem).start().weighing(1e4)
    expected = RecordEquations(replace(method(), form="explicit", weight=1e4), problem).start()
    assert found.equations.method.weight == 1e4
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-13)
    (*parts, first, _), (*same, also, _) = found.linearized[0], expected.linearized[0]
    for each, one in zip([*parts, *(first or ())], [*same, *(also or ())], strict=True):
        np.testing.assert_allclose(each, one, rtol=1e-12, atol=1e-13 * np.abs(one).max())


def test_a_choice_takes_few_fits(rng):
    problem = JointSmoothingProblem(swings.model(), [swing(rng, 0.05)], open=PIVOT)
    found = WeightChoice().choose(method(), problem)
    assert found.fits <= 6 and found.fit.converged
    assert np.isfinite(found.scores).all() and (np.diff(found.tried) > 0).all()
    best, own = (f"{each:.2g}" for each in (found.tried[found.scores.argmin()], found.weight))
    assert f"best with {best}, to" in found.reason
    assert own == best or f"with the chosen {own} to" in found.reason


def test_errors_are_as_good_within_the_standard_error_of_their_difference(rng):
    best = rng.standard_normal(400)
    shifts = np.array(
        [-0.5, 0.0, 0.08, 0.12, 0.5]
    )  # 400 windows that overlap by three quarters: 0.1 = 1 / sqrt(100)
    spread = np.tile([1.0, -1.0], 200)
    errors = best + shifts[:, None] + spread
    np.testing.assert_array_equal(as_good(errors, best), [True, True, True, False, False])
