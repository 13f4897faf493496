"""Covariance by blocks of residuals, against dense equations, and against the truth of correlated residuals."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.shooting.problems import dense_jacobian
from estimators.shooting.test_noise_levels import (
    parameters as parameters,
    problem_of,
    solved,
)
from poinsot.estimators.shooting.block_covariance import BLOCKS, _scores, block_covariance, clock_covariance
from poinsot.estimators.shooting.ddp import DDP, posterior
from poinsot.estimators.shooting.noise_levels import NoiseLevels
from poinsot.estimators.shooting.rates import predicted_rates


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


@pytest.fixture(scope="module")
def noisy(parameters):
    """An arm whose torques have noise, solved."""
    problem = problem_of(parameters, samples=121, chart_std=1.0)
    (model,) = problem.models
    model = replace(model, noise=np.zeros(4), command_noise=np.full(2, 0.02))
    readings = tuple(some.without_last_effort() for some in model.readings)
    problem = replace(problem, models=(replace(model, readings=readings),))
    return problem, solved(problem)


@pytest.mark.parametrize("quantity", ["gyro", "position", "torque"])
def test_theta_by_a_clock_is_that_of_readings_taken_later(noisy, quantity):
    problem, solution = noisy
    levels, (model,), at = NoiseLevels(problem.shooting, solution.at), problem.models, solution.at
    assert set(levels.clocks) == {"position", "velocity", "gyro", "accelerometer", "torque"}
    found = levels.by_clock(quantity, 0.02)
    late = 0.02 * (model.times[1] - model.times[0])
    motions = list(model.along(at.x[0], at.theta, at.w[0]))
    later = replace(
        model,
        u=model.u + late * np.gradient(model.u, model.times, axis=0) * (quantity == "torque"),
        readings=tuple(
            replace(some, values=some.values + late * predicted_rates(some.sensor, model, motions))
            if some.sensor.quantity == quantity
            else some
            for some in model.readings
        ),
    )
    again = replace(problem, models=(later,))
    expected = DDP(step_tolerance=1e-8).solve(again.shooting, at).theta - at.theta
    # in standard deviations of theta; a Gauss-Newton step leaves out second derivatives of the residuals
    std = np.sqrt(np.diag(posterior(problem.shooting, at).theta))
    size = np.abs(expected / std).max()
    np.testing.assert_allclose(found / std, expected / std, atol=0.1 * size)


def test_clocks_add_to_the_covariance(noisy):
    problem, solution = noisy
    levels = NoiseLevels(problem.shooting, solution.at)
    added = clock_covariance(levels)
    steps = np.array([levels.by_clock(quantity, 12**-0.5) for quantity in levels.clocks])
    np.testing.assert_allclose(added, steps.T @ steps)
    assert np.linalg.matrix_rank(added) <= len(levels.clocks)


@pytest.mark.parametrize("scale", [1.0, 1.05])
def test_links_of_known_mass_show_the_scale_of_efforts(noisy, scale):
    """The upper arm is known, so torques that were recorded too large are found although the forearm is open."""
    problem, _ = noisy
    (model,) = problem.models
    wrong = replace(problem, models=(replace(model, u=scale * model.u),))
    found = NoiseLevels(wrong.shooting, solved(wrong).at).effort_scale(0.0)
    assert found is not None
    change, std = found
    assert std < 0.02 and abs(change - (1 / scale - 1)) < 3 * std
