"""Uncertainty of robot, load and gains by a block bootstrap: the problem solved on resampled recordings.

Blocks of motion are drawn with replacement (`moments`), and for each sample

    priors        have means drawn with their standard deviations
    gains         are drawn with their covariance, where they are given and not exact
    theta, c      are solved for again, with the same weights of the residuals

This includes correlations of residuals within a block, between joints, and between two recordings of the same motion.
The certificate is recomputed from the problem's rows. With e = k i - W theta the residuals, u their weights, and
r = z - P theta those of the priors, at the optimum

    W^T u^2 e + P^T r = - sum of F_k^T lambda_k     lambda_k >= 0 of what the load must satisfy, 0 for all else
    (W_j theta)^T e_j = 0                           of every joint whose gain was found by output error
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from scipy import linalg

from ....arrays import Matrix
from ....estimate import Certificate, DriveGains, Estimate, Status
from ....exceptions import NotIdentifiable
from ....ranges import Positive, Seed, check_ranges
from ....regression.inverse_dynamics import InverseDynamics
from ....regression.system import LinearSolution, System, covariance_root
from ....solve import ProgressCallback, Stop, report, stop_requested
from ..conic import NEAREST_DUAL, VIOLATION
from ..least_squares import finish
from .drive_gains import motors
from .moments import Moments, moments, whitening
from .output_error import Cost, Point, search
from .possible import Proof
from .values import load_places, load_values, payload_of, resampling_note, with_load

FAILED = 0.05
"""Part of the samples that may leave a value undetermined without a warning."""

CONSTRAINED = (
    "The load is the best-fitting possible one. Standard deviations are those without this constraint, which "
    "changes little in quantities that the recordings determine, and more in others."
)

MIN_DRAWS = 20
"""Least number of draws, for which a stop waits: with fewer, their spread is not an estimate."""

STEPS, SETTLED = 50, 1e-6
"""Tolerance of the search for gains in a draw: draws scatter by far more."""

TOLERANCE, CONIC_TOLERANCE = 1e-8, 1e-5
"""Tolerances of stationarity: of linear algebra, and of an interior-point method where the load must be possible."""


@dataclass(frozen=True)
class Resampling:
    """Block bootstrap for the uncertainty.

    Args:
        draws: number of bootstrap samples.
        block_s: length of the blocks [s]; None: twice the correlation length of the residuals.
        seed: seed of the draws.
    """

    draws: Annotated[int, Ge(MIN_DRAWS)] = 400
    block_s: Positive | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, eq=False)
class Found:
    """Estimated values, before their uncertainty.

    Args:
        problem: the problem with the estimated gains. system, solution: system and solution of `problem`.
        free: (nv,) True where gains were unknown.
        proof: multipliers of a load that must be possible; else empty.
    """

    problem: InverseDynamics
    system: System
    solution: LinearSolution
    gains: DriveGains
    free: np.ndarray
    proof: Proof = ()


def estimate_of(
    method: Any,
    found: Found,
    resampling: Resampling,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> Estimate:
    """Build the estimate, with covariances from the spread of the bootstrap samples."""
    problem, system, solution = found.problem, found.system, found.solution
    fitted = finish(method, problem, system, solution)
    R = whitening(system)
    blocks = moments(problem, system.columns, R, fitted.fit.residuals, resampling.block_s)
    theta, gains, tried = _solved(found, R, blocks, resampling, progress, stop)
    missing = tried - len(theta)
    covariance = blocks.widening**2 * np.atleast_2d(np.cov(theta.T))
    if found.gains.identified:
        drawn = np.cov((gains * found.gains.values).T)
        known = replace(found.gains, covariance=blocks.widening**2 * np.atleast_2d(drawn))
    else:
        known = found.gains
    assert problem.attachment is not None
    payload = payload_of(
        problem.attachment.link,
        load_values(problem, system, solution.theta),
        load_values(problem, system, theta),
        np.isfinite(load_places(problem, system)[1]),
        blocks.widening,
    )
    incomplete = (
        f"{missing} of {tried} draws do not determine all parameters: intervals are too short; record longer",
    )
    estimate = fitted.updated(
        status=Status.interrupted if tried < resampling.draws else fitted.status,
        uncertainty=replace(
            fitted.parameters.uncertainty, correlation=covariance, model=None, is_white=False
        ),
        certifier=partial(certify, found),
        warnings=(*fitted.warnings, *(incomplete if missing > FAILED * tried else ())),
    )
    notes = (resampling_note(estimate, known, blocks, len(theta)), *((CONSTRAINED,) if found.proof else ()))
    return with_load(estimate, payload, known, notes)


def _solved(
    found: Found,
    R: Matrix,
    blocks: Moments,
    resampling: Resampling,
    progress: ProgressCallback | None,
    stop: Stop | None,
) -> tuple[Matrix, Matrix, int]:
    """Parameters (d, k), gains (d, m) over those found, of samples that determine them; and the number of samples."""
    rng = np.random.default_rng(resampling.seed)
    driven = motors(found.problem.robot)
    theta: list[np.ndarray] = []
    gains: list[np.ndarray] = []
    tried = 0
    for M in blocks.resampled(resampling.draws, rng):
        # an interrupted result also has standard deviations, from fewer draws
        if len(theta) >= MIN_DRAWS and stop_requested(stop):
            break
        tried += 1
        report(progress, "resampling", fraction=tried / resampling.draws)
        try:
            point = _solve(found, R, M, rng)
        # samples of blocks that do not determine a parameter are counted, and many of them are a warning
        except linalg.LinAlgError:
            continue
        theta.append(linalg.solve_triangular(R, point.theta, check_finite=False))
        gains.append(1 / point.c[driven])
    if len(theta) < 0.5 * tried:
        raise NotIdentifiable(
            "parts of these recordings do not determine all parameters that the whole determines, so their uncertainty "
            "is unknown: record longer"
        )
    return np.array(theta), np.array(gains), tried


def _solve(found: Found, R: Matrix, M: np.ndarray, rng: np.random.Generator) -> Point:
    """One draw: theta and c = 1 / gain, relative to the estimated gains."""
    P, z = found.system.whitened_prior(R)
    # the prior is drawn too, as a measurement with an error of its own
    cost = Cost(M, found.solution.weights, P, z + rng.standard_normal(len(z)))
    c, driven = np.ones(len(M)), motors(found.problem.robot)
    if not found.free.any():
        half = covariance_root(found.gains.covariance)
        # c is relative to the estimated gains: 1 at their values
        c[driven] = 1 / (1 + half @ rng.standard_normal(len(half)) / found.gains.values)
        return cost.at(c)
    optimum = search(cost, found.free, c, STEPS, SETTLED)
    if not optimum.status.converged:
        raise linalg.LinAlgError("these blocks do not determine the gains")
    return optimum.point


def certify(found: Found, estimate: Estimate) -> Certificate:
    """The certificate of an estimate with the values `found`."""
    problem, system = found.problem, found.system
    theta = np.zeros(system.size)
    theta[system.columns] = estimate.values
    gradient, columns, efforts = problem.gradient(theta, np.asarray(estimate.settings["joint_weights"]))
    P, z = system.prior[:, :-1], system.prior[:, -1]
    gradient += P.T @ (z - P @ theta)
    columns += (P**2).sum(axis=0)
    # whether the load satisfies its constraints, and how far multipliers are from complementary slackness
    feasible, slack = True, 0.0
    place, _ = load_places(problem, system)
    pi = load_values(problem, system, theta[system.columns])
    for membership, multiplier in found.proof:
        dual, s = NEAREST_DUAL[membership.cone](multiplier), membership.F @ pi + membership.g
        # held parameters of the load have no column
        gradient[system.columns[place[place >= 0]]] += (membership.F.T @ dual)[place >= 0]
        feasible &= VIOLATION[membership.cone](s) <= 1e-6 * max(1.0, float(np.abs(s).max()))
        slack = max(slack, abs(float(dual @ s)) / (1 + float(np.linalg.norm(dual) * np.linalg.norm(s))))
    gradient, scale = gradient[system.columns], np.sqrt(columns * (efforts + z @ z))[system.columns]
    worst = float(np.max(np.abs(gradient) / np.where(scale > 0, scale, 1.0)))
    if found.free.any():
        # a gain is at its optimum where the residuals of its joint are orthogonal to the predicted effort
        _, measured, predicted = problem.predict(theta)
        along, size = np.sum(predicted * (measured - predicted), axis=0), np.linalg.norm(predicted, axis=0)
        cosines = np.abs(along) / (size * np.linalg.norm(measured, axis=0))
        worst = max(worst, float(np.max(cosines[found.free])))
    return Certificate(max(worst, slack), feasible, CONIC_TOLERANCE if found.proof else TOLERANCE)
