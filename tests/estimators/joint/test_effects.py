"""Systematic effects on predicted readings: named where they are, and not where they are not."""

import numpy as np
import pytest

from estimators.joint import swings
from poinsot.estimate import Finding
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem
from poinsot.estimators.joint.effects import RolloutEffects, Rollouts
from poinsot.models.maximal import Coulomb

TIMES = np.arange(500) * 0.02
OPEN = ("bob.Jxx", "pivot.drag", "pivot.gain")


def findings(rng, change=lambda record: record, command=lambda u: u):
    """Of a swing driven by steps, estimated and examined; `command`: what the drive applies."""
    model = swings.pendulum(Coulomb(0.0, stick_drag=0.5)).model(OPEN)
    u = np.repeat(rng.uniform(-2, 2, 25), 20)
    truth = swings.theta(coulomb=0.0)
    path = swings.exact(truth, TIMES, 0.4, 0.0, u=command(u))
    record = change(swings.read("swing", TIMES, path, rng, u=u))
    theta = model.theta
    method = JointSmoothing(1e6, swings.NOISE, reference=theta)
    problem = JointSmoothingProblem(model, [record], theta)
    rollouts = Rollouts(problem, method, method.solve(problem))
    return [finding.cause for finding in RolloutEffects().look(rollouts) if isinstance(finding, Finding)]


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
    causes = findings(rng, **about)
    if cause is None:
        assert not causes
    else:
        assert cause in causes[:2]
