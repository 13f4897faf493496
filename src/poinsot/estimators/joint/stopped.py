"""Positions of end stops to begin with, from the readings; and whether a stop was reached at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import chi2

from ...arrays import Vector
from ...models.maximal import Model
from ...models.maximal.values import End
from .problem import JointFit, JointSmoothingProblem
from .smoothing import JointIterate, JointSmoothing, RecordEquations
from .stops import stop_spreads

SIGNIFICANCE = 0.01
"""Probability of a likelihood ratio that calls a stop reached which was not."""


def open_stops(problem: JointSmoothingProblem) -> list[tuple[End, int]]:
    """End stops whose positions are estimated, with the place of each in theta."""
    model, joints = problem.model, problem.model.mechanism.joints
    names = [
        (end, f"{joints[end.joint].name}.{('lower', 'upper')[end.side]}_stop") for end in model.structure.ends
    ]
    places = {model.free[k]: k for k in problem.parameters.open.tolist()}
    return [(end, places[name]) for end, name in names if name in places]


def starting_at_readings(problem: JointSmoothingProblem) -> JointSmoothingProblem:
    """The problem with stops beginning where the joint was read farthest out: it did not pass them.

    From a stop that is farther out than the motion, impulses of the stop would look like errors of the model.
    """
    theta = problem.parameters.theta.copy()
    for end, place in open_stops(problem):
        for reading in _readings(problem, end):
            theta[place] = end.sign * float(np.max(end.sign * reading))
    return replace(problem, theta=theta)


def _readings(problem: JointSmoothingProblem, end: End) -> list[Vector]:
    """Valid readings of a joint's encoders, without their zeros; none without an encoder."""
    model, parameters = problem.model, problem.parameters
    joint, found = model.mechanism.joints[end.joint].name, []
    known = dict(zip(model.free, parameters.theta.tolist(), strict=True))
    for k, sensor in enumerate(model.mechanism.sensors):
        if sensor.joint == joint and not sensor.is_rate:
            z = np.concatenate([record.z[:, k] for record in problem.records])
            z = z[np.isfinite(z)] - known.get(f"{sensor.label}.zero", sensor.zero)
            found += [np.unwrap(z) if model.angular[k] else z] if len(z) else []
    return found


def without_unreached(
    problem: JointSmoothingProblem, given: Vector, method: JointSmoothing, fit: JointFit
) -> Vector:
    """(p,) theta of a fit, where stops that the motion does not reach are as `given` (p,), or farther out.

    A stop is reached if its residuals are smaller than those of a mechanism without it by more than chance: a
    likelihood ratio of two parameters, position and restitution.
    """
    theta = fit.theta.copy()
    if not (ends := open_stops(problem)):
        return theta
    at = RecordEquations(method, replace(problem, theta=theta, guess=fit.paths)).start()
    equations = at.equations
    if (contacts := at.equations.contacts) is None:
        return theta
    for end, place in ends:
        active = contacts.active.copy()
        active[:, problem.model.structure.ends.index(end)] = False
        without = RecordEquations(method, equations.problem, contacts._replace(active=active))
        free = JointIterate(without, at.x, theta)
        # states at contacts come from readings only: without the stop they move first
        step = free.direction(method.damping.little)
        lowest = free.cost if step is None else free.cost - step.decrease
        if not 2 * (lowest - at.cost) > chi2.isf(SIGNIFICANCE, 2):
            farthest = max(
                float(np.max(end.sign * path.coordinates[:, end.coordinate])) for path in fit.paths
            )
            spread = 3 * max(_spread(problem.model, method, end), 1e-12)
            theta[place] = end.sign * max(end.sign * given[place], farthest + spread)
    return theta


def _spread(model: Model, method: JointSmoothing, end: End) -> float:
    return float(stop_spreads(model, method.noise_of(model))[end.coordinate])
