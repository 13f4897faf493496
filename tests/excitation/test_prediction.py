"""Predicted deviations are the truth: estimates from simulated noise scatter as predicted, by a chi-square test."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import poinsot
from poinsot.excitation.excitation import predicted_covariance
from poinsot.signals.signals import Signals
from poinsot_reproductions.simulated_recordings import Sensors, model_parameters, simulate_recording

DRAWS = 100


@pytest.fixture(scope="module")
def followed(arm, problem, designed):
    """The robot without friction, its true base values, and the torques of the motion."""
    robot = poinsot.load_robot(arm.source, friction=poinsot.NoFriction())
    recording = simulate_recording(
        robot, model_parameters(robot), designed.motion, Sensors(), np.random.default_rng(0)
    )
    return robot, problem.base.map @ problem.theta, recording.stack("torque")


def squared_errors(designed, followed, noise, rng):
    """(100,) errors of weighted least squares, squared in units of the predicted covariance."""
    robot, truth, torque = followed
    information = np.linalg.inv(designed.covariance)
    found = []
    for _ in range(DRAWS):
        measured = torque + noise * rng.standard_normal(torque.shape)
        signals = Signals(designed.time, designed.joints, designed.q, designed.v, designed.a, measured)
        estimate = poinsot.LeastSquares(weighting="per-joint").solve(poinsot.inverse_dynamics(robot, signals))
        assert estimate.names == designed.problem.base.names
        error = estimate.values - truth
        found.append(error @ information @ error)
    return np.array(found)


def test_estimates_scatter_as_predicted(designed, followed, rng):
    b = len(designed.problem.base.names)
    errors = squared_errors(designed, followed, designed.problem.torque_std, rng)
    # The sum of 100 has 100 b degrees of freedom; one run in a thousand falls outside. Weights that are estimated from
    # 200 rows make errors larger by some b / 200 / 100, far inside.
    low, high = stats.chi2(DRAWS * b).ppf([0.0005, 0.9995])
    assert low < errors.sum() < high
    assert stats.kstest(errors, stats.chi2(b).cdf).pvalue > 1e-3


@pytest.mark.parametrize("factor", [0.85, 1.15])
def test_a_prediction_for_other_noise_fails_that_test(designed, followed, factor, rng):
    b = len(designed.problem.base.names)
    errors = squared_errors(designed, followed, factor * designed.problem.torque_std, rng)
    low, high = stats.chi2(DRAWS * b).ppf([0.0005, 0.9995])
    assert not low < errors.sum() < high


def test_percentages_are_relative_to_the_description(problem, designed):
    percent = designed.predicted_relative_std_percent
    assert list(percent) == list(problem.base.names)
    # the forearm's centre of mass is 0.02 m along z, its mass 1 kg
    assert np.isclose(percent["mz3"], 100 * designed.predicted_std["mz3"] / 0.02)


def test_twice_the_noise_is_twice_the_deviation(problem, designed):
    W = problem.terms.W(problem.terms.entries(designed.q, designed.v, designed.a))
    louder = predicted_covariance(replace(problem, torque_std=2 * problem.torque_std), W)
    assert np.allclose(np.sqrt(np.diag(louder)), 2 * designed.std)
