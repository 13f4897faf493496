"""Uncertainty of robot, load and gains by a block bootstrap: the problem solved on resampled recordings.

Blocks of motion are drawn with replacement (`moments`), and with each set

    priors        their means, from what they leave open
    gains         from their covariance, where they are given and not exact
    theta, c      solved for again, with the weights of the residuals as they are

So what residuals have in common within a block, between joints, and between two recordings of one motion is all
accounted for; that they come again with the motion is why white residuals' standard deviations are several times too
small here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from ....arrays import JointSamples, Matrix
from ....estimate import DriveGains, Estimate, Status
from ....exceptions import InvalidMethod, NotIdentifiable
from ....regression.inverse_dynamics import InverseDynamics
from ....solve import ProgressCallback, Stop, report, stop_requested
from ..least_squares import finish
from ..system import LinearSolution, System, covariance_root
from . import equation_error
from .certificate import Recheck
from .drive_gains import motors
from .moments import Moments, moments, whitening
from .notes import how, notes, warnings
from .output_error import Cost, Point, search
from .possible import Proof
from .values import load_places, load_values, payload_of

FAILED = 0.05
"""Part of the samples that may leave a value undetermined without a warning."""

CONSTRAINED = (
    "The load is the one that fits best of those that can be. Standard deviations are those without that condition, "
    "which changes little in what the recordings determine, and more in what they do not."
)

MIN_DRAWS = 20
"""With fewer, the spread of the draws says nothing; a stop waits for them."""

STEPS, SETTLED = 50, 1e-6
"""Of the search for gains in a draw, which scatter by far more."""


@dataclass(frozen=True)
class Resampling:
    """Block bootstrap for the uncertainty.

    Args:
        draws: number of bootstrap samples.
        block_s: length of the blocks [s]; None: twice the correlation length of the residuals.
        seed: of the draws.
    """

    draws: int = 400
    block_s: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < MIN_DRAWS or self.seed < 0:
            raise InvalidMethod(f"resampling needs draws of at least {MIN_DRAWS}, and a seed of at least 0")
        if self.block_s is not None and not self.block_s > 0:
            raise InvalidMethod(f"block_s must be above 0, not {self.block_s:g}")


@dataclass(frozen=True, eq=False)
class Found:
    """Values found, before their uncertainty.

    Args:
        problem: with the gains that were found. system, solution: of it.
        free: (nv,) whose gains were unknown.
        estimator: that found them.
        proof: of a load that must be possible.
    """

    problem: InverseDynamics
    system: System
    solution: LinearSolution
    gains: DriveGains
    free: np.ndarray
    estimator: str
    proof: Proof | None = None


@dataclass(frozen=True, eq=False)
class Draws:
    """Values from the bootstrap samples.

    Args:
        theta: (d, k). gains: (d, m) over the ones that were found.
        missing: samples that did not determine every value.
        moments: what was resampled.
    """

    theta: Matrix
    gains: Matrix
    missing: int
    moments: Moments


def draw(
    found: Found,
    resampling: Resampling,
    residuals: JointSamples,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> Draws:
    """Solve for every bootstrap sample.

    Args:
        residuals: (N, n) of the fit.

    Raises:
        NotIdentifiable: if a recording is too short, or nearly no draw can be solved.
    """
    R = whitening(found.system)
    blocks = moments(found.problem, found.system.columns, R, residuals, resampling.block_s)
    rng = np.random.default_rng(resampling.seed)
    driven = motors(found.problem.robot)
    theta: list[np.ndarray] = []
    gains: list[np.ndarray] = []
    tried = 0
    for M in blocks.resampled(resampling.draws, rng):
        if len(theta) >= MIN_DRAWS and stop_requested(stop):
            break
        tried += 1
        report(progress, "resampling", fraction=tried / resampling.draws)
        try:
            point = _solved(found, R, M, rng)
        except linalg.LinAlgError:
            continue
        theta.append(linalg.solve_triangular(R, point.theta, check_finite=False))
        gains.append(1 / point.c[driven])
    if len(theta) < 0.5 * tried:
        raise NotIdentifiable(
            "parts of these recordings do not determine what the whole does, so nothing can be said about how sure it "
            "is: record longer"
        )
    return Draws(np.array(theta), np.array(gains), tried - len(theta), blocks)


def _solved(found: Found, R: Matrix, M: np.ndarray, rng: np.random.Generator) -> Point:
    """One draw: theta and c = 1 / gain, relative to the gains that were found."""
    P, z = found.system.whitened_prior(R)
    cost = Cost(M, found.solution.weights, P, z + rng.standard_normal(len(z)))
    c, driven = np.ones(len(M)), motors(found.problem.robot)
    if not found.free.any():
        half = covariance_root(found.gains.covariance)
        c[driven] = 1 / (1 + half @ rng.standard_normal(len(half)) / found.gains.values)
        return cost.at(c)
    if found.estimator == "output-error":
        optimum = search(cost, found.free, c, STEPS, SETTLED)
        if not optimum.status.converged:
            raise linalg.LinAlgError("these blocks do not determine the gains")
        return optimum.point
    if found.estimator == "least-squares":
        return cost.at(1 / equation_error.ordinary(M, found.free))
    return cost.at(1 / equation_error.total(M, found.free, R, found.solution.weights))


# ------------------------------------------------------------------------------------------ what the estimate says


def estimate_of(
    method: Any,
    found: Found,
    resampling: Resampling,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> Estimate:
    """Build the estimate, with covariances from the spread of the bootstrap samples."""
    fitted = finish(method, found.problem, found.system, found.solution)
    draws = draw(found, resampling, fitted.fit.residuals, progress=progress, stop=stop)
    interrupted = len(draws.theta) + draws.missing < resampling.draws
    widening = draws.moments.widening
    covariance = widening**2 * np.atleast_2d(np.cov(draws.theta.T))
    held = np.isfinite(load_places(found.problem, found.system)[1])
    assert found.problem.attachment is not None
    payload = payload_of(
        found.problem.attachment.link,
        load_values(found.problem, found.system, found.solution.theta),
        load_values(found.problem, found.system, draws.theta),
        held,
        widening,
    )
    gains = _gains(found, draws) if found.gains.identified else found.gains
    estimate = fitted.updated(
        payload,
        None if "1" in gains.units and not gains.identified else gains,
        status=Status.interrupted if interrupted else fitted.status,
        covariance=covariance,
        std_kind="coloured",
        coloured_std=np.sqrt(np.diag(covariance)),
        certifier=Recheck(found.problem, found.system, found.free, found.estimator, found.proof),
    )
    return estimate.updated(
        notes=(
            *fitted.notes,
            how(estimate, draws.moments, len(draws.theta)),
            *(() if found.proof is None else (CONSTRAINED,)),
            *notes(estimate),
        ),
        warnings=(*fitted.warnings, *_incomplete(draws), *warnings(estimate)),
    )


def _incomplete(draws: Draws) -> tuple[str, ...]:
    count = draws.missing + len(draws.theta)
    if draws.missing <= FAILED * count:
        return ()
    return (
        f"{draws.missing} of {count} draws do not determine everything: intervals are too short; record longer",
    )


def _gains(found: Found, draws: Draws) -> DriveGains:
    """With their uncertainty."""
    drawn = draws.gains * found.gains.values
    return replace(found.gains, covariance=draws.moments.widening**2 * np.atleast_2d(np.cov(drawn.T)))
