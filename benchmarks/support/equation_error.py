"""Drive gains from the equation that is linear in them: the current is a column of the regressor.

    kappa_j y_j - W_j theta = h_j            kappa_j: the drive's true gain over the nominal one

Ordinary least squares assumes y exact although it is noisy: gains are biased towards zero (errors in variables). Total
least squares assumes all columns equally noisy, once each has norm 1: x = (kappa, theta, 1) is the last right singular
vector of [y -W -h] (Gautier and Briot 2014). Both are compared with output error.
"""

from __future__ import annotations

import numpy as np

from poinsot.estimate import DriveGains, Estimate
from poinsot.estimators.linear.payload.drive_gains import gains_of, motors
from poinsot.estimators.linear.payload.moments import total_moments, whitening
from poinsot.estimators.linear.payload.output_error import equation_products, gains_by_least_squares
from poinsot.regression.inverse_dynamics import InverseDynamics
from poinsot.regression.system import reduce


def gains_by(estimator: str, problem: InverseDynamics, by_output_error: Estimate) -> DriveGains:
    """Gains of a problem with a known load by "least-squares" or "total-least-squares", as if they were exact.

    `by_output_error`: the estimate of the same problem, whose weights of the joints are used.
    """
    system = reduce(problem, by_output_error.settings["rtol"])
    R, free = whitening(system), motors(problem.robot)
    M = total_moments(problem, system.columns, R)
    weights = np.array(by_output_error.settings["joint_weights"])
    ordinary = estimator == "least-squares"
    kappa = gains_by_least_squares(M, free) if ordinary else gains_by_total_least_squares(M, free, R, weights)
    return gains_of(problem.with_gains(problem.robot.train.gain * kappa[problem.robot.actuated]))


def gains_by_total_least_squares(
    M: np.ndarray, free: np.ndarray, R: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """(n,) kappa by total least squares of weighted rows, 1 where not free; R (k, k) is that of M's white columns."""
    own = np.eye(len(R) + 2)
    own[:-2, :-2] = R
    G = equation_products(own.T @ M @ own, free, weights)
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1.0
    x = np.linalg.eigh(G / np.outer(scale, scale))[1][:, 0] / scale
    kappa = np.ones(len(free))
    kappa[free] = (x[:-1] / x[-1])[: int(free.sum())]
    return kappa
