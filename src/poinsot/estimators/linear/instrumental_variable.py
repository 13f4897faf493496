"""Instrumental variables on the inverse dynamics (Janot, Vandanjon and Gautier 2014).

    theta_0    least squares
    Z_i        the regressor of the motion without noise of a model of theta_i        (see `instruments`)
    theta_i+1  Z_i^T w^2 (y - W theta_i+1) = 0, with the weights of `least_squares`

The errors of Z_i's own parameters are of second order: a few rounds settle. Standard deviations are those of least
squares of the regressor V that the instruments explain, and of the residuals of W itself; for coloured ones

    H^-1 M H^-1,    M = sum over t, u of V_t^T Gamma(u - t) V_u
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from ...arrays import Matrix
from ...estimate import Estimate, Fit, Status
from ...exceptions import NotIdentifiable
from ...ranges import Count, Fraction, Positive
from ...regression.base_parameters import EXCITATION_TOLERANCE
from ...regression.inverse_dynamics import InverseDynamics
from ...regression.system import LinearSolution, reduce
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from ...statistics import correlated_products, is_spherical, tapered_autocovariance
from .instruments import InstrumentedSystem, NoiseFreeMotion, certify, influence_factor
from .least_squares import LeastSquares, finish

WEAK = 0.1
"""Instruments that explain less than this part of the regressor in some direction are weak: there least squares' bias
returns."""


@dataclass(frozen=True)
class InstrumentalVariable(Method):
    """Instrumental variables for base parameters, for robots in a control loop and noisy derivatives.

    Args:
        weighting, rtol, max_iterations, huber, step_tolerance: as in `LeastSquares`.
        rounds: largest number of simulations.
        round_tolerance: rounds end when no parameter moves by more than this part of its standard deviation.
        motion_hz: where no position commands are recorded, the band of the recorded motion that instruments follow;
            None: twice its bandwidth.
    """

    weighting: Literal["none", "per-joint", "robust"] = "none"
    rounds: Count = 10
    round_tolerance: Positive = 0.05
    motion_hz: Positive | None = None
    rtol: Fraction = EXCITATION_TOLERANCE
    max_iterations: Count = 50
    huber: Positive = 1.345
    step_tolerance: Positive = 1e-4

    name = "instrumental-variable"
    citations = (*LeastSquares.citations, "janot2014")

    def solve(
        self, problem: InverseDynamics, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """Estimate the parameters.

        Raises:
            InvalidMethod: if the robot has loops, a floating base, a load, or joints without a measured motor.
            NotIdentifiable: if the recording, or the motion without noise, does not determine them.
        """
        report(progress, "reading rows")
        reduced = reduce(problem, self.rtol)
        least_squares = LeastSquares(
            self.weighting,
            rtol=self.rtol,
            max_iterations=self.max_iterations,
            huber=self.huber,
            step_tolerance=self.step_tolerance,
        )
        motion = NoiseFreeMotion.of(problem, self.motion_hz)
        solution = least_squares.fit(problem, reduced, progress=progress, stop=stop)
        first, steps, status = solution, 0, Status.step_limit
        for round_number in range(1, self.rounds + 1):
            if stop_requested(stop):
                status = Status.interrupted
                break
            report(progress, "simulating the motion", iteration=round_number)
            instruments = motion.instruments(solution.on_base(reduced))
            system = InstrumentedSystem.of_motion(reduced, problem, instruments)
            _require_excitation(system, self.rtol)
            previous, solution = solution, least_squares.fit(problem, system, progress=progress, stop=stop)
            steps += solution.steps
            moved = np.abs(solution.theta - previous.theta) / np.sqrt(np.diag(solution.covariance))
            if motion.law is None or moved.max() <= self.round_tolerance:
                status = solution.status
                break
        else:
            round_number = self.rounds
        if solution is first:  # stopped before the first simulation
            return finish(least_squares, problem, reduced, replace(first, status=status))
        solution = replace(solution, steps=steps, status=status)
        estimate = finish(
            self,
            problem,
            system,
            solution,
            notes=_notes(motion, system, round_number),
            coloured=partial(_coloured, system),
            instruments=instruments,
        )
        return estimate.updated(certifier=partial(certify, instruments))


def _require_excitation(system: InstrumentedSystem, rtol: float) -> None:
    """Raise `NotIdentifiable` if the motion without noise does not excite some column."""
    R = system.curvature(np.ones(len(system.factors)))
    norms = np.linalg.norm(R, axis=0)
    scaled = np.linalg.svd(R / np.where(norms > 0, norms, 1.0), compute_uv=False)
    if not norms.all() or scaled[-1] <= rtol:
        names = [name for name, norm in zip(system.base.names, norms, strict=True) if not norm]
        raise NotIdentifiable(
            "the commanded motion does not excite every parameter that the recording does"
            + (f" ({', '.join(names)})" if names else "")
            + ": record larger motions, or use least-squares"
        )


def _notes(motion: NoiseFreeMotion, system: InstrumentedSystem, rounds: int) -> tuple[str, ...]:
    source = motion.source[0].upper() + motion.source[1:]
    times = f" The parameters settled in {rounds} rounds." if motion.law is not None else ""
    weak = ""
    if system.strength < WEAK:
        weak = (
            f" In one direction they explain only {100 * system.strength:.2g} % of the regressor: there the estimate "
            "is uncertain."
        )
    return (f"{source}.{times}{weak}",)


def _coloured(
    system: InstrumentedSystem,
    problem: InverseDynamics,
    fit: Fit,
    solution: LinearSolution,
    columns: np.ndarray,
    scale: np.ndarray,
) -> tuple[Matrix, bool]:
    """(k, k) M of the rows V, and whether residuals are spherical; as `least_squares.coloured`."""
    scores = solution.scores(fit.residuals) * scale
    whitened = scores / solution.weights
    Gamma, allowance = tapered_autocovariance(scores, problem.row_counts)
    weights = influence_factor(solution, fit.residuals)
    explained = system.explained(weights)
    rows = ((rows.part, rows.W[:, :, columns] @ explained) for rows in system.instruments.rows())
    M = correlated_products(rows, Gamma) * allowance
    return M, is_spherical(whitened.T @ whitened, len(scores))
