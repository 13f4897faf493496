"""How much a parameter of the next recording may differ: variance between recordings, by random effects.

Friction differs from day to day, and standard deviations from the residuals of a recording do not show it. With theta_r
the estimate of a parameter from recording r alone, s_r its standard deviation and tau that between recordings,

    theta_r = mu + u_r + e_r      u_r ~ N(0, tau^2)      e_r ~ N(0, s_r^2)      v_r = tau^2 + s_r^2

    mu(tau) = sum theta_r / v_r / sum 1 / v_r,   of variance V(tau) = 1 / sum 1 / v_r
    log L(tau) = -1/2 (sum log v_r + log sum 1 / v_r + sum (theta_r - mu)^2 / v_r)      restricted (Patterson and
                                                                                         Thompson 1971)
A few recordings determine tau poorly, so the parameter of the next one is a mixture of N(mu(tau), tau^2 + V(tau)) with
weights L(tau) p(tau). With p(tau) = 1 / sqrt(tau^2 + s^2) it is Student's t with R - 1 degrees of freedom where tau is
large, as of R exact values, and proper where tau is 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from scipy import special

from ...arrays import Vector
from ...diagnosis.filters import FEWEST_RECORDINGS
from ...estimate.uncertainty import NORMAL_95
from ...exceptions import NotIdentifiable
from ...regression.inverse_dynamics import InverseDynamics
from ...signals.signals import Signals
from . import residuals
from .system import LinearSolution, System, reduce

POINTS = 100
"""Of tau, equally far apart in asinh(tau / s) up to 30 times the spread of the estimates."""


def next_recording_std(
    problem: InverseDynamics, system: System, solution: LinearSolution, rtol: float
) -> Vector | None:
    """(k,) half widths of 95 % intervals about the solution for the next recording's own parameters, over 1.96.

    None where fewer than four recordings determine all parameters on their own.
    """
    recordings = cast("tuple[Signals, ...]", problem.recordings)
    if len(recordings) < FEWEST_RECORDINGS or problem.attachment is not None:
        return None
    found = []
    for signals in recordings:
        alone = problem.with_signals([signals])
        try:
            one = reduce(alone, rtol)
        except NotIdentifiable:
            continue
        if not np.isin(system.columns, one.columns).all():
            continue
        one = replace(one.restricted(system.columns), factors=alone.factors(solution.clipping(system)))
        its = one.solve(solution.weights, variance=None if solution.variance != 1.0 else 1.0)
        e = residuals.fit(alone, its.on_base(one)).residuals
        covariance = residuals.coloured_covariance(alone, one, its, its.scores(e))
        found.append((its.theta, np.sqrt(np.diag(covariance))))
    if len(found) < FEWEST_RECORDINGS:
        return None
    theta, std = np.moveaxis(np.array(found), 1, 0)
    return predictive_std(theta, std, solution.theta)


def predictive_std(theta: np.ndarray, std: np.ndarray, center: Vector) -> Vector:
    """(k,) half width of the 95 % interval about a center for another u + mu, over 1.96.

    Args:
        theta, std: (R, k) of each recording. center: (k,) of the interval.
    """
    std = np.maximum(std, 1e-12 * np.abs(center) + 1e-300)  # of noise-free data
    s = 1 / np.sqrt(np.mean(std**-2.0, axis=0))
    points = (np.arange(POINTS) + 0.5)[:, None] / POINTS
    tau = s * np.sinh(points * np.arcsinh(30 * (np.ptp(theta, axis=0) + s) / s))
    v = tau[:, None] ** 2 + std**2  # (points, R, k)
    precision = np.sum(1 / v, axis=1)
    mu = np.sum(theta / v, axis=1) / precision
    log_L = -0.5 * (np.sum(np.log(v) + (theta - mu[:, None]) ** 2 / v, axis=1) + np.log(precision))
    weight = np.exp(log_L - log_L.max(axis=0))
    weight /= weight.sum(axis=0)
    d, spread = center - mu, np.sqrt(tau**2 + 1 / precision)
    low, high = np.zeros(len(center)), np.max(np.abs(d) + 10 * spread, axis=0)
    for _ in range(50):
        middle = 0.5 * (low + high)
        inside = special.ndtr((middle - d) / spread) + special.ndtr((middle + d) / spread) - 1
        short = np.sum(weight * inside, axis=0) < 0.95
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return cast("Vector", high / NORMAL_95)
