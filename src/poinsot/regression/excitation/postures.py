"""A random posture within all limits and free of collisions.

Where most postures are free a few draws are enough. In a narrow workspace hardly any is; then those that break their
limits least are improved, by

    min over q of  sum max(0, d_min - d(q) + s)^2 / (0.1 m)^2 + sum max(0, |tau(q)| / tau_max - 1 + s)^2

within the limits of positions, where tau holds the robot still and s is a little to spare.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from ...arrays import JointSamples, Vector
from ...exceptions import InvalidMethod
from .constraints import MotionConstraints
from .problem import ExcitationProblem

DRAWN_AT_ONCE, DRAWN = 50, 500
IMPROVED = 20
SPARE = 0.01


def random_posture(problem: ExcitationProblem, rng: np.random.Generator) -> Vector:
    """(n,) a free posture [rad] or [m].

    Raises:
        InvalidMethod: if none is found, with what stands in the way most often.
    """
    low, high = _range(problem)
    drawn = np.empty((0, len(low)))
    while len(drawn) < DRAWN:
        some = rng.uniform(low, high, (DRAWN_AT_ONCE, len(low)))
        free = problem.free_postures(some)
        if free.any():
            posture: Vector = some[int(np.argmax(free))]
            return posture
        drawn = np.concatenate([drawn, some])
    costs = [_cost(q, problem)[0] for q in drawn]
    # stable: the same seed gives the same posture on every machine
    for k in np.argsort(costs, kind="stable")[:IMPROVED]:
        found = minimize(
            _cost, drawn[k], (problem,), jac=True, method="L-BFGS-B", bounds=np.column_stack([low, high])
        )
        if problem.free_postures(found.x[None])[0]:
            improved: Vector = found.x
            return improved
    raise InvalidMethod(_why_none_is_free(problem, drawn))


def _range(problem: ExcitationProblem) -> tuple[Vector, Vector]:
    """One turn at most, in the middle of what is allowed."""
    low, high = problem.limits.lower, problem.limits.upper
    # a turn beside the limit that there is, or about zero where there is none
    nearest = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * np.pi, -np.pi))
    middle = 0.5 * (nearest + np.where(np.isfinite(high), high, nearest + 2 * np.pi))
    return np.maximum(low, middle - np.pi), np.minimum(high, middle + np.pi)


def _cost(q: Vector, problem: ExcitationProblem) -> tuple[float, Vector]:
    posture, still = q[None], np.zeros((1, len(q)))
    constraints = MotionConstraints(problem, SPARE)
    over = np.maximum(constraints.excess(posture, still, still, problem.holding_torques(posture)), 0.0)
    # the bounds of the optimizer keep to the limits of positions
    over[:, : 2 * len(q)] = 0.0
    *direct, by_torque = constraints.pull_back(posture, 2 * over)
    gradient = direct[0] + problem.terms.pull_back(posture, still, still, None, by_torque)[0]
    return float(np.sum(over**2)), gradient[0]


def _why_none_is_free(problem: ExcitationProblem, q: JointSamples) -> str:
    """The most frequent reason."""
    touching = problem.collisions.distances(problem.robot.configurations(q)) < problem.clearances
    heavy = np.abs(problem.holding_torques(q)) >= problem.limits.torque
    reasons = [
        f"{first} comes closer than {clearance:.3g} m to {second}"
        for clearance, (first, second) in zip(problem.clearances, problem.collisions.pairs, strict=True)
    ] + [
        f"joint {joint} cannot hold the robot with {limit:g} {unit}"
        for joint, limit, unit in zip(
            problem.robot.joints, problem.limits.torque, problem.robot.effort_units, strict=True
        )
    ]
    counts = np.concatenate([touching.sum(axis=0), heavy.sum(axis=0)])
    most = int(np.argmax(counts))
    return (
        f"the limits contradict each other: no posture was found that keeps to all of them, and in {counts[most]} of "
        f"{len(q)} random ones {reasons[most]}; widen a limit, lower the floor, or ask for less clearance"
    )
