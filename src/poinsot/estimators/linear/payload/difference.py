"""A load by difference: the estimate with it less the estimate without it.

    beta_with - beta_without = K A pi_L + e,      cov(e) = cov(beta_with) + cov(beta_without)

Each recording is identified separately, with the same base parameters beta = K pi. A transforms the load's ten
parameters from the link's frame to the body that carries it. Friction is excluded, so it may have changed between the
recordings, with temperature or load; gains are assumed exact.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from ....arrays import Matrix, Vector
from ....estimate import Estimate
from ....estimate.uncertainty import without_systematic
from ....exceptions import InvalidMethod, NotIdentifiable, listing
from ....regression.attachment import LOAD_NAMES, Attachment
from ....regression.base_parameters import EXCITATION_TOLERANCE, choose
from ....regression.inverse_dynamics import InverseDynamics, inverse_dynamics
from ....regression.system import covariance_root
from ....solve import Method, ProgressCallback, Stop
from ..least_squares import LeastSquares
from . import drive_gains
from .identification import check_recordings
from .values import payload_of, with_load

INERTIAL = ("inertia", "rotor_inertia", "rotor_coupling")
"""Kinds of parameters that a load changes, or that it cannot change."""

DRAWS = 1000
"""Number of draws of the load from the normal distribution of its ten parameters."""


@dataclass(frozen=True)
class PayloadDifference(Method):
    """A load as the difference of two identifications of the robot, with it and without it.

    Args:
        weighting, rtol: settings of both, as in `LeastSquares`.
        seed: seed of the draws for the standard deviations of centre of mass and inertia.
    """

    weighting: Literal["none", "per-joint", "robust"] = "per-joint"
    rtol: float = EXCITATION_TOLERANCE
    seed: int = 0

    name = "payload"
    citations = LeastSquares.citations

    def solve(
        self, problem: InverseDynamics, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """The estimate of the robot without the load, and the load.

        Raises:
            NotIdentifiable: if gains are unknown, every recording carries the load or none does, or they do not
                determine the same base parameters of the robot.
        """
        started = time.perf_counter()
        check_recordings(problem)
        assert problem.attachment is not None
        if drive_gains.unknown(problem):
            raise NotIdentifiable(
                "a load cannot be identified by difference with unknown drive gains: give drive.gain, or the load's "
                'mass and approach = "direct"'
            )
        least_squares = LeastSquares(self.weighting, rtol=self.rtol)
        without, with_ = (
            least_squares.solve(_robot_alone(problem, loaded), progress=progress, stop=stop)
            for loaded in (False, True)
        )
        pi, C, known = _difference(problem, problem.attachment, without, with_)
        rng = np.random.default_rng(self.seed)
        # centre of mass and inertia about it are nonlinear in pi: their spread is that of draws
        draws = pi + rng.standard_normal((DRAWS, 10)) @ covariance_root(C).T
        payload = payload_of(problem.attachment.link, pi, draws, np.isfinite(known))
        seconds = time.perf_counter() - started - without.seconds["regressor"]
        estimate = without.updated(
            method=self.name,
            status=with_.status if without.status.converged else without.status,
            seconds={**without.seconds, "solve": seconds},
        )
        note = (
            "The load is the difference of two identifications; the other one, with the load, is from "
            f"{with_.rows} rows and explains the efforts to {with_.fit.relative_error_percent:.2f} %."
        )
        return with_load(estimate, payload, drive_gains.gains_of(problem), (note,))


def _robot_alone(problem: InverseDynamics, loaded: bool) -> InverseDynamics:
    """The problem of the robot alone, in the recordings with the load or in those without it."""
    signals = [part.signals for part, on in zip(problem.parts, problem.loaded, strict=True) if on is loaded]
    own = set(problem.robot.parameters.names)
    held = {name: value for name, value in problem.parameters.held.items() if name in own}
    carried = problem.attachment.carrier.tolist() if problem.attachment else []
    fixed = [name for name in held if problem.parameters.index(name) in carried]
    if fixed:
        raise InvalidMethod(
            f"{listing(fixed)} is held, but the load changes it too: release it, or identify the load directly"
        )
    priors = {name: prior for name, prior in problem.priors.items() if name not in LOAD_NAMES}
    if priors:
        raise InvalidMethod(
            f"the priors on {listing(priors)} hold for the robot without the load only: identify the load directly"
        )
    return inverse_dynamics(problem.robot, signals, held=held)


def _difference(
    problem: InverseDynamics, attachment: Attachment, without: Estimate, with_: Estimate
) -> tuple[Vector, Matrix, Vector]:
    """(10,) the load's parameters, NaN: not determined; (10, 10) their covariance; (10,) their known values."""
    if without.names != with_.names or without.groupings != with_.groupings:
        other = sorted(set(without.groupings) ^ set(with_.groupings))
        raise NotIdentifiable(
            f"recordings with and without the load determine different combinations ({listing(other, 4)}): use "
            "similar motions in both, or identify the load directly"
        )
    # friction may change with temperature and load, without error of the load's parameters
    used = np.array([kind in INERTIAL for kind in without.kinds])
    alone = without.problem
    assert isinstance(alone, InverseDynamics)
    rows = [alone.base.index(name) for name in without.names]
    K = (alone.base.map[rows][:, attachment.carrier] @ attachment.to_body)[used]
    d = (with_.values - without.values)[used]
    # both share systematic errors
    chance = [without_systematic(estimate.parameters.uncertainty) for estimate in (with_, without)]
    C = (chance[0] + chance[1])[np.ix_(used, used)]
    known = np.array([problem.parameters.held.get(name, np.nan) for name in LOAD_NAMES])
    # whitened by C = half half^T, generalized least squares of d = K pi + e, cov(e) = C, is ordinary
    half = linalg.cholesky(C, lower=True)
    A = linalg.solve_triangular(half, K, lower=True)
    b = linalg.solve_triangular(half, d - K @ np.nan_to_num(known), lower=True)
    # combinations of parameters are not values of the load: only single parameters are reported
    chosen, grouped = choose(A, np.flatnonzero(np.isnan(known)), EXCITATION_TOLERANCE)
    single = np.count_nonzero(grouped, axis=1) == 1
    place, inverse = chosen[single], np.linalg.pinv(A[:, chosen])[single]
    pi, covariance = known.copy(), np.zeros((10, 10))
    pi[place] = inverse @ b
    covariance[np.ix_(place, place)] = inverse @ inverse.T
    return pi, covariance, known
