"""Covariance by blocks of residuals, against dense equations, and against the truth of correlated residuals."""

import numpy as np

from estimators.shooting.problems import dense_jacobian
from estimators.shooting.test_noise_levels import (
    parameters as parameters,
    problem_of,
    solved,
)
from poinsot.estimators.shooting.block_covariance import BLOCKS, _scores, block_covariance
from poinsot.estimators.shooting.ddp import posterior
from poinsot.estimators.shooting.noise_levels import NoiseLevels


def test_scores_are_those_of_the_dense_problem(parameters):
    problem = problem_of(parameters, samples=41, chart_std=1.0)
    levels = NoiseLevels(problem.shooting, solved(problem).at)
    (x,), (w,), theta = levels.at.x, levels.at.w, levels.at.theta
    J, p, (N, m) = dense_jacobian(problem.shooting, x, w, theta), len(theta), w.shape
    # states and noise follow theta, with the least change of the residuals
    R = J[:, :p] - J[:, p:] @ np.linalg.lstsq(J[:, p:], J[:, :p], rcond=None)[0]
    covariance = posterior(problem.shooting, levels.at).theta
    (table,) = levels.tables
    rows, of_nodes = table.readings.shape[1], []
    for k in range(N + 1):
        own = slice(p + k * (rows + m), p + k * (rows + m) + rows + m)
        r = table.readings[k] if k == N else np.concatenate([table.readings[k], table.noise[k]])
        of_nodes.append(R[own].T @ r)
    std = np.sqrt(np.diag(covariance))
    # residuals are measured less predicted, the Jacobian has their sign
    expected = np.stack([part.sum(axis=0) for part in np.array_split(np.array(of_nodes), BLOCKS)]) * std
    np.testing.assert_allclose(_scores(levels, 0, std), expected, atol=1e-4 * np.abs(expected).max())


def test_the_larger_covariance_of_each_direction_counts(parameters):
    """Of white residuals blocks show variances up to (1 + sqrt(p / blocks))^2 times theirs (Marchenko and Pastur)."""
    problem = problem_of(parameters, samples=201, chart_std=1.0)
    levels = NoiseLevels(problem.shooting, solved(problem).at)
    white = posterior(problem.shooting, levels.at).theta
    found, factor = block_covariance(levels, white)
    assert np.linalg.eigvalsh(found - white)[0] >= -1e-9 * np.abs(white).max()
    assert 1.0 <= factor < 1.5 * (1 + np.sqrt(len(white) / BLOCKS)) ** 2
    (table,) = levels.tables
    table.readings[:], table.noise[:] = 5 * table.readings, 5 * table.noise
    assert block_covariance(levels, white)[1] > 5 * factor
