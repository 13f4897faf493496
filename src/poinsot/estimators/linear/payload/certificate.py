"""Whether a load and its robot are the optimum, from the problem's rows.

With e = k i - W theta the residuals, u their weights, and r = z - P theta those of the priors, at the optimum

    W^T u^2 e + P^T r = - sum of F_k^T lambda_k     lambda_k >= 0 of what the load must satisfy, 0 for all else
    (W_j theta)^T e_j = 0                           of every joint whose gain was found by output error
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....arrays import Vector
from ....estimate import Certificate, Estimate
from ..conic import NEAREST_DUAL, VIOLATION
from .values import load_places, load_values

if TYPE_CHECKING:
    from .draws import Found

TOLERANCE, CONIC_TOLERANCE = 1e-8, 1e-5
"""Of stationarity: of linear algebra, and of an interior-point method where the load must be possible."""


def certify(found: Found, estimate: Estimate) -> Certificate:
    """The certificate of an estimate of a problem for which `found` was found before."""
    problem, system = found.problem, found.system
    theta = np.zeros(system.size)
    theta[system.columns] = estimate.values
    gradient, columns, efforts = problem.gradient(theta, np.asarray(estimate.settings["joint_weights"]))
    P, z = system.prior[:, :-1], system.prior[:, -1]
    gradient += P.T @ (z - P @ theta)
    columns += (P**2).sum(axis=0)
    # before the gradient is cut to the columns that were estimated: multipliers are added to it in place
    feasible, slack = _constrain(found, theta[system.columns], gradient)
    gradient, scale = gradient[system.columns], np.sqrt(columns * (efforts + z @ z))[system.columns]
    worst = float(np.max(np.abs(gradient) / np.where(scale > 0, scale, 1.0)))
    if found.estimator == "output-error" and found.free.any():
        # a gain is at its optimum where the residuals of its joint are orthogonal to the predicted effort
        _, measured, predicted = problem.predict(theta)
        along, size = np.sum(predicted * (measured - predicted), axis=0), np.linalg.norm(predicted, axis=0)
        worst = max(
            worst, float(np.max((np.abs(along) / (size * np.linalg.norm(measured, axis=0)))[found.free]))
        )
    return Certificate(max(worst, slack), feasible, TOLERANCE if found.proof is None else CONIC_TOLERANCE)


def _constrain(found: Found, theta: Vector, gradient: Vector) -> tuple[bool, float]:
    """Add the multipliers of the load's constraints to the gradient (b,).

    Returns:
        Whether the load satisfies its constraints, and how far multipliers are from complementary slackness.
    """
    if found.proof is None:
        return True, 0.0
    place, _ = load_places(found.problem, found.system)
    pi = load_values(found.problem, found.system, theta)
    feasible, slack = True, 0.0
    for each, multiplier in zip(found.proof.memberships, found.proof.multipliers, strict=True):
        z, s = NEAREST_DUAL[each.cone](multiplier), each.F @ pi + each.g
        # held parameters of the load have no column
        gradient[found.system.columns[place[place >= 0]]] += (each.F.T @ z)[place >= 0]
        feasible &= VIOLATION[each.cone](s) <= 1e-6 * max(1.0, float(np.abs(s).max()))
        slack = max(slack, abs(float(z @ s)) / (1 + float(np.linalg.norm(z) * np.linalg.norm(s))))
    return feasible, slack
