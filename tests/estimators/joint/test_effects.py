"""Systematic effects on predicted readings: named where they are, and not where they are not."""

from functools import cache

import numpy as np
import pytest

from estimators.joint import swings
from poinsot.accuracy import CAREFUL
from poinsot.estimate import Finding
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem
from poinsot.estimators.joint.effects import RolloutEffects, Rollouts, RolloutUncertainty
from poinsot.models.maximal import Coulomb

TIMES = np.arange(500) * 0.02
OPEN = ("bob.Jxx", "pivot.drag", "pivot.gain")


@cache
def model():
    """One for all, so that its functions are traced once."""
    return swings.pendulum(Coulomb(0.0, stick_drag=0.5)).model(OPEN)


def rollouts(rng, change=lambda record: record, command=lambda u: u):
    """Of a swing driven by steps, estimated; `command`: what the drive applies."""
    u = np.repeat(rng.uniform(-2, 2, 25), 20)
    truth = swings.theta(coulomb=0.0)
    path = swings.exact(truth, TIMES, 0.4, 0.0, u=command(u))
    record = change(swings.read("swing", TIMES, path, rng, u=u))
    theta = model().theta
    method = JointSmoothing(1e6, swings.NOISE, reference=theta)
    problem = JointSmoothingProblem(model(), [record], theta)
    return Rollouts(problem, method, method.solve(problem))


def moved(record, by):
    return swings.Record(record.name, record.times, record.u, record.z + np.array([by, 0.0]))


@pytest.mark.parametrize(
    ("cause", "about"),
    [
        (None, {}),
        ("joint-zero", {"change": lambda record: moved(record, np.radians(3))}),
        ("delay", {"command": lambda u: np.concatenate([u[:1].repeat(3), u[:-3]])}),
        ("gain-change", {"command": lambda u: u * np.linspace(1, 0.6, len(u))}),
    ],
)
def test_an_effect_is_named_where_it_is(cause, about, rng):
    looked = RolloutEffects().look(rollouts(rng, **about))
    causes = [finding.cause for finding in looked if isinstance(finding, Finding)]
    if cause is None:
        assert not causes
    else:
        assert cause in causes[:2]


def test_intervals_contain_a_clock_that_is_off_as_clocks_are(rng):
    """By two standard deviations: no reading shows it, since inertia, drag and gain absorb it."""
    off = 1 + 2 * CAREFUL.clock_percent / 100
    at = rollouts(rng, lambda record: swings.Record(record.name, off * record.times, record.u, record.z))
    error = np.abs(at.fit.theta - at.problem.model.theta)
    assert error[0] > 4 * at.fit.robust_std[0]
    assert (error < 4 * np.sqrt(np.diag(RolloutUncertainty(at).covariance))).all()
