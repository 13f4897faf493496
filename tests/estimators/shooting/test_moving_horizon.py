"""Moving horizon: dense least squares where all is linear, the batch solution where it is not, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.shooting.toys import pendulum_problem
from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.moving_horizon import MovingHorizon
from poinsot.estimators.shooting.problem import (
    GaussianPrior,
    ShootingProblem,
    StageLinearization,
    TrajectoryModel,
)
from poinsot.exceptions import InvalidMethod
from poinsot.models.contacts.contact_dynamics import Linearized
from poinsot_reproductions.optimal_estimation.flat_space import FlatSpace

n, m, p, rows = 3, 2, 2, 4


class Linear(TrajectoryModel):
    """x' = A x + B w + C theta + d and r = H x + E w + D theta - z, other numbers at each stage; some have no noise."""

    def __init__(self, rng, stages, quiet=()):
        self.A = np.eye(n) + 0.2 * rng.standard_normal((stages, n, n))
        self.B, self.C = rng.standard_normal((stages, n, m)), 0.3 * rng.standard_normal((stages, n, p))
        self.H, self.E = rng.standard_normal((stages, rows, n)), rng.standard_normal((stages, rows, m))
        self.D, self.z = rng.standard_normal((stages, rows, p)), rng.standard_normal((stages, rows))
        self.d = rng.standard_normal((stages, n))
        self.manifold, self.theta_size = FlatSpace(n), p
        self.noise_std = np.tile([0.3, 0.7], (stages, 1))
        self.noisy = ~np.isin(np.arange(stages), quiet)
        self.B[~self.noisy], self.E[~self.noisy] = 0.0, 0.0

    def evaluate(self, first, x, w, theta):
        k = slice(first, first + len(x))
        f = (self.A[k] @ x[:, :, None] + self.B[k] @ w[:, :, None])[:, :, 0] + self.C[k] @ theta + self.d[k]
        r = (self.H[k] @ x[:, :, None] + self.E[k] @ w[:, :, None])[:, :, 0] + self.D[k] @ theta - self.z[k]
        return f, r

    def linearize(self, first, x, w, theta):
        k = slice(first, first + len(x))
        f, r = self.evaluate(first, x, w, theta)
        return StageLinearization(f, self.A[k], self.B[k], self.C[k], r, self.H[k], self.E[k], self.D[k])

    def last(self, x, theta, slopes=False):
        return Linearized(np.zeros((1, 0)), np.zeros((1, 0, n)))


def dense(model, arrival, prior, stages):
    """theta and its covariance from the first so many stages, by least squares on x_0, all w and theta."""
    size = n + stages * m + p
    x, noise = np.zeros((n, size)), np.zeros(n)
    x[:, :n] = np.eye(n)
    theta = np.zeros((p, size))
    theta[:, -p:] = np.eye(p)
    root = np.linalg.cholesky(arrival.information).T
    J, e = [root @ x], [root @ arrival.mean]
    root = np.linalg.cholesky(prior.information).T
    J, e = [*J, root @ theta], [*e, root @ prior.mean]
    for k in range(stages):
        w = np.zeros((m, size))
        w[:, n + k * m : n + (k + 1) * m] = np.eye(m)
        J += [w / model.noise_std[k][:, None], model.H[k] @ x + model.E[k] @ w + model.D[k] @ theta]
        e += [np.zeros(m), model.z[k] - model.H[k] @ noise]
        x = model.A[k] @ x + model.B[k] @ w + model.C[k] @ theta
        noise = model.A[k] @ noise + model.d[k]
    J, e = np.concatenate(J), np.concatenate(e)
    covariance = np.linalg.inv(J.T @ J)
    return (covariance @ (J.T @ e))[-p:], covariance[-p:, -p:]


def horizons_of(estimator, problem, duration):
    """After each stage of a recording."""
    horizon = estimator.init(problem)
    yield horizon
    for _ in range(1, problem.models[0].stages):
        horizon = estimator.update(problem.models[0], horizon, duration)
        yield horizon


@pytest.mark.parametrize("quiet", [(), (4, 9)], ids=["noise in all stages", "stages without noise"])
def test_a_linear_horizon_knows_all_that_was_read(rng, quiet):
    """Whatever its length: what has left is in the arrival cost."""
    stages = 14
    model = Linear(rng, stages, quiet)
    arrival = GaussianPrior.from_covariance(rng.standard_normal(n), np.full(n, 0.5))
    prior = GaussianPrior.from_covariance(rng.standard_normal(p), np.full(p, 2.0))
    # without what a closing contact leaves open all is exact
    estimator = MovingHorizon(np.zeros(p), nodes=5, longest=np.inf, closing=1e-9)
    horizons = list(horizons_of(estimator, ShootingProblem((model,), (arrival,), prior), 0.01))
    assert len(horizons) == stages
    for k, horizon in enumerate(horizons):
        theta, covariance = dense(model, arrival, prior, k + 1)
        np.testing.assert_allclose(horizon.at.theta, theta, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(horizon.system.covariances()[0], covariance, rtol=1e-6, atol=1e-9)
    assert [h.first for h in horizons[-3:]] == [stages - 6, stages - 5, stages - 4]


def test_a_walk_of_the_parameters_keeps_them_open(rng):
    """The variance grows by Q for each stage that leaves, less what is read."""
    model = Linear(rng, 40)
    model.H[:], model.D[:], model.C[:] = 0.0, 0.0, 0.0  # nothing is known but the priors
    arrival = GaussianPrior.from_covariance(np.zeros(n), np.ones(n))
    prior = GaussianPrior.from_covariance(np.zeros(p), np.full(p, 0.01))
    estimator = MovingHorizon(np.array([0.0, 2.0]), nodes=5)
    *_, last = horizons_of(estimator, ShootingProblem((model,), (arrival,), prior), 0.01)
    left = last.first
    np.testing.assert_allclose(
        np.diag(last.system.covariances()[0]), [0.01, 0.01 + left * 0.01 * 4.0], rtol=1e-9
    )


def test_errors_of_parameters_that_walk_are_chi_square(rng):
    """theta walks a little at each stage, which the horizon, where it is constant, leaves out."""
    walk, runs, stages, squares = 0.3, 40, 25, []
    model = Linear(rng, stages)
    arrival = GaussianPrior.from_covariance(np.zeros(n), np.full(n, 0.5))
    prior = GaussianPrior.from_covariance(np.zeros(p), np.full(p, 0.2))
    estimator = MovingHorizon(np.full(p, walk), nodes=5, longest=np.inf)
    for _ in range(runs):
        theta, x = np.sqrt(0.2) * rng.standard_normal(p), np.sqrt(0.5) * rng.standard_normal(n)
        for k in range(stages):
            w = model.noise_std[k] * rng.standard_normal(m)
            model.z[k] = model.H[k] @ x + model.E[k] @ w + model.D[k] @ theta + rng.standard_normal(rows)
            x = model.A[k] @ x + model.B[k] @ w + model.C[k] @ theta + model.d[k]
            theta = theta + walk * np.sqrt(0.01) * rng.standard_normal(p)
        *_, last = horizons_of(estimator, ShootingProblem((model,), (arrival,), prior), 0.01)
        away = theta - last.at.theta
        squares.append(
            away @ np.linalg.solve(last.system.covariances()[0] + 5 * walk**2 * 0.01 * np.eye(p), away)
        )
    # mean of chi-square with p degrees of freedom: its standard deviation is sqrt(2 p / runs) = 0.32
    assert abs(np.mean(squares) - p) < 4 * np.sqrt(2 * p / runs)


def test_a_horizon_of_all_nodes_is_the_batch_solution(rng):
    problem, guess, _ = pendulum_problem(rng, prior_std=1.0, N=60)
    x0 = GaussianPrior(guess.x[0][0], np.diag([1e4, 1 / 0.3**2]))
    problem = replace(problem, arrivals=(x0,))
    *_, last = horizons_of(MovingHorizon(np.zeros(3), nodes=1000, iterations=4), problem, 0.01)
    windowed = replace(problem, models=last.problem.models)
    batch = DDP().solve(windowed, last.at)
    assert batch.status.converged
    np.testing.assert_allclose(last.at.theta, batch.theta, rtol=1e-4)


def test_what_is_no_horizon():
    with pytest.raises(InvalidMethod, match="nodes must be at least 3, not 2"):
        MovingHorizon(np.zeros(3), nodes=2)
    with pytest.raises(InvalidMethod, match="walk needs standard deviations"):
        MovingHorizon(np.array([-1.0]))
