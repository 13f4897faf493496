"""Predictions against an independent integrator, and what they are divided by."""

import numpy as np
import pytest

from estimators.joint import swings
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem
from poinsot.estimators.joint.prediction import predicted, window_errors
from poinsot.estimators.joint.problem import horizon_of
from poinsot.estimators.joint.smoothing import compiled_linearizer

TIMES = np.arange(250) * 0.02


def test_a_simulation_is_that_of_an_integrator():
    """Of fourth order in a step of 20 ms, a 60th of a period; over one period the phase is off by 1e-5 of it."""
    theta, u = swings.theta(coulomb=0.0), 0.5 * np.sin(3 * TIMES)
    truth = swings.exact(theta, TIMES, 1.5, 0.0, u=u)
    form = compiled_linearizer(swings.model(), "reduced").form
    starts, T = np.array([0, 100, 190]), 50
    at = starts[:, None] + np.arange(T)
    found = form.simulated(truth.T[starts], u[at][:, :, None], np.full((3, T), 0.02), theta)
    np.testing.assert_allclose(found, truth.T[starts[:, None] + np.arange(T + 1)], atol=2e-4)


def test_states_do_not_see_what_they_predict(rng):
    """Readings after a window's beginning change neither its first state nor its prediction."""
    model, theta = swings.model(), swings.theta()
    method = JointSmoothing(1e8, swings.NOISE, reference=theta)
    record = swings.read("swing", TIMES, swings.exact(theta, TIMES, 1.5, 0.0), rng)
    (found,) = predicted(method, model, [record], theta)
    assert found.places.shape[1] == horizon_of(model, [record], theta)[0]
    changed = record.z.copy()
    changed[found.places[1]] += 0.3
    other = swings.Record("swing", TIMES, record.u, changed)
    (again,) = predicted(method, model, [other], theta)
    np.testing.assert_allclose(again.expected[:2, :, 0], found.expected[:2, :, 0], atol=1e-6)
    assert np.abs(again.expected[2, :, 0] - found.expected[2, :, 0]).max() > 1e-3
    # of the truth the errors are those of the readings, and some of the first states'
    assert 0.8 * swings.NOISE[0] < np.sqrt(np.mean(found.errors[:, :, 0] ** 2)) < 2 * swings.NOISE[0]
    assert np.isnan(found.errors[:, :, 1]).all(), "no rate was read"


def test_whole_turns_count_nowhere(rng):
    """A pendulum that turns over: errors are modulo a turn, and by half a turn at most."""
    model, theta = swings.model(), swings.theta(drag=0.0)
    record = swings.read("over", TIMES, swings.exact(theta, TIMES, 0.0, 25.0), rng)
    assert np.ptp(record.z[:, 0]) > 50
    method = JointSmoothing(1e8, swings.NOISE, reference=theta)
    wrong = swings.theta(drag=0.02)
    found = (predicted(method, model, [record], each)[0].errors for each in (theta, wrong))
    errors = [float(np.exp(window_errors(model, [record], [each]).mean())) for each in found]
    assert 0.5 * swings.NOISE[0] / np.pi < errors[0] < 3 * swings.NOISE[0] / np.pi < 0.03 < errors[1]


def test_a_path_to_begin_at_changes_nothing(rng):
    model, theta = swings.model(), swings.theta()
    method = JointSmoothing(1e8, swings.NOISE, reference=theta)
    record = swings.read("swing", TIMES, swings.exact(theta, TIMES, 1.5, 0.0), rng)
    paths = method.solve(JointSmoothingProblem(model, [record], theta, ())).paths
    one, two = (predicted(method, model, [record], theta, begin)[0].expected for begin in (None, paths))
    assert one[:, :, 0] == pytest.approx(two[:, :, 0], abs=1e-3 * swings.NOISE[0] * 100)
