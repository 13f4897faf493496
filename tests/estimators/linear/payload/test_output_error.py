from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from poinsot.estimate import Status
from poinsot.estimators.linear.payload.moments import total_moments, whitening
from poinsot.estimators.linear.payload.output_error import (
    Cost,
    output_error,
    output_error_of_any_sign,
    search,
)
from poinsot.parameters import Normal
from poinsot.regression.system import reduce
from references.dense_regression import stacked
from references.loaded_arm import GAINS, drawn, problem

FREE = np.ones(4, dtype=bool)


class Case:
    """The reduced problem of noisy currents, and its rows."""

    def __init__(self, seed=0, held=None, priors=None, **noise):
        self.problem = problem(
            drawn(seed, **noise), held={"mL": 3.0} if held is None else held, priors=priors
        )
        self.system = reduce(self.problem, 1e-5)
        self.R = whitening(self.system)
        self.M = total_moments(self.problem, self.system.columns, self.R)
        self.rows = sum(self.problem.row_counts)
        self.P, self.z = self.system.whitened_prior(self.R)
        rows = list(self.problem.rows())
        self.W = stacked(self.problem)[0][:, :, self.system.columns]
        self.h = np.concatenate([np.broadcast_to(each.held, each.y.shape) for each in rows])
        self.y = np.concatenate([each.y + each.held for each in rows])

    def solve(self, start=None, free=FREE):
        start = np.full(4, 0.1) if start is None else start
        return output_error(self.cost(np.ones(4)), self.rows, free, start, 200)

    def residuals(self, theta, c):
        """(N, n) of parameters in their own coordinates."""
        return self.y - c * (self.W @ theta + self.h)

    def cost(self, weights):
        return Cost(self.M, weights, self.P, self.z)


@pytest.fixture(scope="module")
def case():
    return Case(white=0.05, own=0.05)


def test_without_noise_the_truth_is_found():
    exact = Case()
    optimum = exact.solve()
    assert optimum.status is Status.solved
    np.testing.assert_allclose(1 / optimum.point.c, GAINS, rtol=1e-7)


def test_it_is_the_optimum_of_the_stacked_rows(case):
    """A dense solver on all rows, at the weights that were found."""
    optimum = case.solve()
    theta, c = np.linalg.solve(case.R, optimum.point.theta), optimum.point.c
    w = optimum.point.of.weights

    def weighted(x):
        return (w * case.residuals(x[:-4], x[-4:])).ravel()

    scale = np.concatenate([np.abs(theta) + 1e-3, c])
    dense = optimize.least_squares(
        weighted, np.concatenate([1.05 * theta, 0.95 * c]), x_scale=scale, xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    np.testing.assert_allclose(c, dense.x[-4:], rtol=1e-6)
    np.testing.assert_allclose(theta, dense.x[:-4], atol=1e-5 * np.abs(theta).max())
    assert optimum.point.cost == pytest.approx(2 * dense.cost, rel=1e-9)


def test_the_weights_are_the_spread_of_the_residuals(case):
    optimum = case.solve()
    e = case.residuals(np.linalg.solve(case.R, optimum.point.theta), optimum.point.c)
    left = case.rows - optimum.point.leverage() - 1
    np.testing.assert_allclose(optimum.point.of.weights, 1 / np.sqrt(np.sum(e**2, axis=0) / left), rtol=1e-6)
    assert optimum.point.leverage().sum() == pytest.approx(len(case.system.columns))


def test_gradient_and_curvature_are_those_of_the_cost(case):
    """The gradient by finite differences; S is the curvature where residuals are zero."""
    cost = case.cost(1 / case.y.std(axis=0))
    c = 1.1 / GAINS
    point = cost.at(c)
    steps = 1e-5 * c
    slope = [
        (cost.at(c + step).cost - cost.at(c - step).cost) / (2 * step[k])
        for k, step in enumerate(np.diag(steps))
    ]
    np.testing.assert_allclose(-2 * point.curvature(FREE)[2], slope, rtol=1e-6)
    exact = Case()
    cost, c = exact.cost(1 / exact.y.std(axis=0)), 1 / GAINS
    S = cost.at(c).curvature(FREE)[0]
    bent = np.empty((4, 4))
    for k, step in enumerate(np.diag(1e-4 * c)):
        ahead, behind = (-2 * cost.at(c + sign * step).curvature(FREE)[2] for sign in (1, -1))
        bent[k] = (ahead - behind) / (2 * step[k])
    np.testing.assert_allclose(2 * S, bent, rtol=1e-5, atol=1e-5 * np.abs(bent).max())


def test_the_white_covariance_is_that_of_the_stacked_problem(case):
    optimum = case.solve()
    theta, c, w = np.linalg.solve(case.R, optimum.point.theta), optimum.point.c, optimum.point.of.weights
    p = case.W @ theta + case.h
    J = np.concatenate(
        [-(w * c)[:, None] * case.W, -(w * p)[:, :, None] * np.eye(4)], axis=2
    ).reshape(-1, len(theta) + 4)  # fmt: skip
    scale = np.linalg.norm(J, axis=0)
    dense = np.linalg.inv((J / scale).T @ (J / scale)) / np.outer(scale, scale)
    np.testing.assert_allclose(optimum.white_covariance, dense[-4:, -4:], rtol=1e-6)


def test_without_a_known_scale_no_direction_of_all_gains_is_seen():
    values, vectors = Case(white=0.05, held={}).solve().seen
    assert values[0] < 1e-12 < 1e-4 < values[1]
    scaled = vectors[:, 0] / vectors[0, 0]
    assert np.all(scaled > 0)  # all of them up or down together


def test_gains_that_are_not_free_stay():
    case = Case(white=0.05)
    free = np.array([True, False, True, True])
    optimum = case.solve(np.array([0.1, 1 / 12.0, 0.1, 0.1]), free)
    assert optimum.point.c[1] == 1 / 12.0
    assert optimum.white_covariance.shape == (3, 3)


def test_all_gains_held_is_weighted_least_squares(case):
    optimum = case.solve(1 / GAINS, np.zeros(4, dtype=bool))
    w = optimum.point.of.weights / GAINS
    A = (case.W * w[:, None]).reshape(-1, case.W.shape[2])
    b = ((case.y * GAINS - case.h) * w).ravel()
    theta = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(
        np.linalg.solve(case.R, optimum.point.theta), theta, atol=1e-9 * np.abs(theta).max()
    )


def test_a_prior_pulls_as_much_as_it_is_sure(case):
    base = case.problem.base
    name = next(name for name in base.names if name.startswith("zz1"))
    free = case.solve()
    value = np.linalg.solve(case.R, free.point.theta)[base.index(name)]
    sure = Case(priors={name: Normal(2 * value, 1e-6 * abs(value))}, white=0.05, own=0.05)
    assert np.linalg.solve(sure.R, sure.solve().point.theta)[base.index(name)] == pytest.approx(
        2 * value, rel=1e-4
    )
    vague = Case(priors={name: Normal(2 * value, 1e6 * abs(value))}, white=0.05, own=0.05)
    np.testing.assert_allclose(vague.solve().point.c, free.point.c, rtol=1e-6)


def any_sign(case, M, start):
    return output_error_of_any_sign(replace(case.cost(np.ones(4)), M=M), case.rows, FREE, start, 200)


def turned(M, joint):
    """Cross products of the same rows with a joint's current counted the other way."""
    T = np.eye(M.shape[1])
    T[-1, -1] = -1.0
    M = M.copy()
    M[joint] = T @ M[joint] @ T
    return M


@pytest.mark.parametrize("joint", range(4))
def test_the_sign_of_a_gain_is_found(case, joint):
    """Alone, a search that starts with the wrong sign may end in a valley of its own, or run away."""
    expected = case.solve().point.c
    signs = np.where(np.arange(4) == joint, -1.0, 1.0)
    np.testing.assert_allclose(any_sign(case, case.M, 0.1 * signs).point.c, expected, rtol=1e-6)
    other = any_sign(case, turned(case.M, joint), 0.1 * signs).point.c
    np.testing.assert_allclose(other, expected * signs, rtol=1e-6)


def test_out_of_steps_is_a_status(case):
    optimum = output_error(case.cost(np.ones(4)), case.rows, FREE, np.full(4, 0.3), 2)
    assert optimum.status is Status.step_limit and not optimum.status.converged
    assert search(case.cost(np.ones(4)), FREE, np.full(4, 0.3), 1).status is Status.step_limit
