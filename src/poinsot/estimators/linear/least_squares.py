"""Least squares on the inverse dynamics (Brunot et al. 2017, Eqs. 4 to 7): ordinary, weighted by joint, or robust.

    theta = argmin  sum over rows of rho(w (tau - W theta)) + prior

    none        rho(x) = x^2,                      w = 1
    per-joint   rho(x) = x^2,                      w = 1 / sigma_j, the spread of joint j's residuals
    robust      rho(x) = x^2 or 2 c |x| - c^2      w = 1 / sigma_j; where |x| > c: an outlier has the influence of c

cov = sigma^2 (W^T W)^-1 (Brunot et al. 2017, Eq. 6) holds for white residuals. With s_t (one value a degree of freedom)
the score of row t, the residual times its squared weight, clipped if the estimate is robust, and Gamma(l) =
E[s_t s_{t+l}^T] (`poinsot.statistics`), the covariance for coloured ones is

    H^-1 M H^-1,    M = sum over t, u of W_t^T Gamma(u - t) W_u  (+ P, the information of priors)

sigma_j and theta depend on each other: solve, estimate the spread, weight, solve again. A robust optimum is that of
least squares with each row weighted by min(1, c / |x|). Once sigma_j has converged it is fixed, the problem is convex,
and theta is its unique optimum, which `Estimate.certificate` checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ...arrays import JointSamples, Matrix, Vector
from ...diagnosis import diagnose
from ...diagnosis.systematic import SystematicUncertainty
from ...estimate import Body, Estimate, EstimatedParameters, Fit, Provenance, Status, Uncertainty
from ...exceptions import NotIdentifiable, listing
from ...inertia.parameters import body
from ...parameters import INERTIAL_SYMBOLS
from ...ranges import Count, Fraction, Positive
from ...regression.base_parameters import EXCITATION_TOLERANCE, BaseParameters
from ...regression.inverse_dynamics import InverseDynamics, Rows
from ...regression.system import LinearSolution, System, inverse, reduce
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from ...statistics import NORMAL_MEDIAN, correlated_products, is_spherical, tapered_autocovariance
from .beyond_chance import beyond_chance

SETTLED = 1e-9
"""A robust estimate is at its optimum when a step is shorter than this part of a standard deviation."""

EXACT = 1e-9
"""Residuals below this part of the efforts are rounding errors of noise-free data."""


@dataclass(frozen=True)
class LeastSquares(Method):
    """Least squares on base parameters.

    Args:
        weighting: `"none"`, `"per-joint"` (each joint's residuals at unit variance), or `"robust"` (the same, with
            outliers downweighted, Huber).
        parameters: `"base"`, or `"full"` where the motion determines every single one.
        rtol: a column (of unit norm) with less than this outside the span of the others counts as not excited.
        max_iterations: largest number of reweightings.
        huber: number of standard deviations beyond which residuals are downweighted if robust; 1.345 makes the
            estimate 95 % efficient for normal noise (Huber 1981).
        step_tolerance: the weights have converged when a step is shorter than this part of a standard deviation, in
            any direction of the parameters.
    """

    weighting: Literal["none", "per-joint", "robust"] = "none"
    parameters: Literal["base", "full"] = "base"
    rtol: Fraction = EXCITATION_TOLERANCE
    max_iterations: Count = 50
    huber: Positive = 1.345
    step_tolerance: Positive = 1e-4

    name = "least-squares"
    citations = ("brunot2017", "gautier2013", "carpentier2019")

    def solve(
        self, problem: InverseDynamics, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """Estimate the parameters; `NotIdentifiable` if the motion does not determine the requested ones."""
        report(progress, "reading rows")
        system = reduce(problem, self.rtol)
        names, free = problem.parameters.names, np.flatnonzero(problem.parameters.free)
        missing = [names[c] for c in free if c not in system.base.chosen]
        if self.parameters == "full" and missing:
            raise NotIdentifiable(
                f"the recording determines {len(system.columns)} combinations of the {len(free)} parameters, not each "
                f'of them (dependent: {listing(missing, 8)}); use parameters = "base", or hold what is known'
            )
        return finish(self, problem, system, self.fit(problem, system, progress=progress, stop=stop))

    def fit(
        self,
        problem: InverseDynamics,
        system: System,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> LinearSolution:
        """The parameters of a reduced system, with the chosen weighting."""
        # the first weights need residuals, and ordinary least squares gives them
        solution = system.solve(np.ones(len(system.factors)))
        if self.weighting == "none":
            return solution
        robust = self.weighting == "robust"
        tolerance = SETTLED if robust else self.step_tolerance
        sigma, settled = np.array([]), False
        for steps in range(1, self.max_iterations + 1):
            if stop_requested(stop):
                solution = replace(solution, steps=steps - 1, status=Status.interrupted)
                break
            if not settled:
                sigma = _spread(problem, system, solution, robust)
            weights = partial(_huber_weights, theta=solution.on_base(system), sigma=sigma, clip=self.huber)
            factors = system.weighted_factors(problem, weights) if robust else None
            # weighted residuals have unit variance by construction: estimating s^2 again would count sigma twice
            previous, solution = solution, system.solve(1 / sigma, factors, variance=1.0)
            length = float(np.linalg.norm(solution.R @ (solution.theta - previous.theta)))
            # for tiny noise, a step this short in standard deviations is below the rounding errors of theta
            rounding = 1e-12 * float(np.linalg.norm(solution.R @ solution.theta))
            report(progress, "reweighting", iteration=steps, detail=f"step {length:.1e} standard deviations")
            # from here on sigma is fixed, and the problem is convex
            settled = settled or length <= max(self.step_tolerance, rounding)
            if length <= max(tolerance, rounding):
                solution = replace(solution, steps=steps)
                break
        else:
            solution = replace(solution, steps=self.max_iterations, status=Status.step_limit)
        if not robust or not len(sigma):  # stopped before the first weights: ordinary least squares
            return solution
        return _with_clipped_covariance(problem, system, solution, self.huber)


def _huber_weights(rows: Rows, theta: Vector, sigma: np.ndarray, clip: float) -> np.ndarray:
    """(r, n) sqrt(min(1, c sigma / |e|)) at the present parameters."""
    return np.sqrt(clip / np.maximum(np.abs(rows.y - rows.W @ theta) / sigma, clip))


def _spread(problem: InverseDynamics, system: System, solution: LinearSolution, robust: bool) -> np.ndarray:
    """(n,) standard deviation of each degree of freedom's residuals; from their median if `robust`."""
    N = system.rows_each
    left = _degrees_of_freedom(system, solution.weights, solution.R)
    theta = solution.on_base(system)
    if robust:
        _, measured, predicted = problem.predict(theta)
        # outliers, up to half of the rows, do not move a median
        spread = np.median(np.abs(measured - predicted), axis=0) / NORMAL_MEDIAN * np.sqrt(N / left)
    else:
        spread = np.sqrt(system.residual_squares(theta) / left)
    # noise-free data would give a spread of zero and infinite weights
    efforts = np.sqrt(system.residual_squares(np.zeros(system.size)) / N)
    return np.maximum(spread, EXACT * np.where(efforts > 0, efforts, efforts.max(initial=0.0) or 1.0))


def _degrees_of_freedom(system: System, weights: np.ndarray, R: Matrix) -> np.ndarray:
    """(n,) statistical degrees of freedom of each joint's residuals: rows less leverage."""
    return np.maximum(system.rows_each - system.leverage(weights, R), 1.0)


def _with_clipped_covariance(
    problem: InverseDynamics, system: System, solution: LinearSolution, clip: float
) -> LinearSolution:
    """A robust solution with its own covariance (Huber 1981, Sect. 7.6): with x = w e, clipped where |x| > c,

    H = sum_j p_j w_j^2 W_j^T W_j + P       p_j: part of joint j's residuals that is not clipped
    M = sum_j v_j w_j^2 W_j^T W_j + P       v_j: mean square of its clipped residuals
    cov = H^-1 M H^-1
    """
    _, measured, predicted = problem.predict(solution.on_base(system))
    x = solution.weights * (measured - predicted)
    inside = np.mean(np.abs(x) <= clip, axis=0)
    clipped = np.mean(np.clip(x, -clip, clip) ** 2, axis=0)
    weights = solution.weights * np.sqrt(inside)
    # as Eq. 7 divides by N - b: a fit makes its own residuals smaller
    clipped *= system.rows_each / _degrees_of_freedom(system, weights, system.curvature(weights))
    R, covariance = system.sandwich(weights, solution.weights * np.sqrt(clipped))
    return replace(solution, covariance=covariance, R=R, clip=clip)


def coloured(
    problem: InverseDynamics, fit: Fit, solution: LinearSolution, columns: np.ndarray, scale: np.ndarray
) -> tuple[Matrix, bool]:
    """(k, k) M of the k base columns, and whether residuals are spherical; scores are multiplied by `scale` (n,)."""
    scores = solution.scores(fit.residuals) * scale
    whitened = scores / solution.weights
    return coloured_middle(problem, scores, columns), is_spherical(whitened.T @ whitened, len(scores))


def coloured_middle(problem: InverseDynamics, scores: JointSamples, columns: np.ndarray) -> Matrix:
    """(k, k) M of scores s_t (N, n) of all recordings and k base columns, widened as `taper_allowance` says."""
    Gamma, allowance = tapered_autocovariance(scores, problem.row_counts)
    rows = ((rows.part, rows.W[:, :, columns]) for rows in problem.rows())
    return correlated_products(rows, Gamma) * allowance


def finish(
    method: Any,
    problem: InverseDynamics,
    system: System,
    solution: LinearSolution,
    notes: tuple[str, ...] = (),
    *,
    systematic: bool = True,
    removed: Mapping[int, float] | None = None,
    coloured: Callable[..., tuple[Matrix, bool]] = coloured,
    instruments: InverseDynamics | None = None,
) -> Estimate:
    """Build the estimate; `systematic`: whether the covariance includes systematic errors.

    `removed`: base columns of parameters that were set to zero, with their standard deviations.
    `coloured`: function that computes M of a fit, as the one here.
    `instruments`: problem whose regressor multiplies the residuals in place of their own.
    """
    started = time.perf_counter()
    named = system.base
    fitted = problem.fit(solution.on_base(system))
    scale = np.sqrt(system.rows_each / _degrees_of_freedom(system, solution.weights, solution.R))
    middle, spherical = coloured(problem, fitted, solution, system.columns, scale)
    # H^-1 (M + P) H^-1; also for white residuals: the page shows both, and their ratio
    prior, bread = system.prior[:, system.columns], inverse(solution.R)
    robust = 0.5 * ((product := bread @ (middle + prior.T @ prior) @ bread) + product.T)
    # noise-free data leave rounding errors
    np.fill_diagonal(robust, np.maximum(np.diag(robust), 0.0))
    white = fitted.white and spherical
    bias, between = beyond_chance(problem, system, solution, instruments) if systematic else (None, None)
    uncertainty = Uncertainty(solution.covariance, robust, model=bias, is_white=white)
    errors = None
    if systematic:
        errors = SystematicUncertainty(
            problem, solution.on_base(system), system.columns, solution.clip, removed or {}
        )
        uncertainty = replace(
            uncertainty, systematic=errors, scale=problem.accuracy.of("common_gain_percent") / 100
        )
    uncertainty = replace(uncertainty, recordings=between)
    settings = {**asdict(method), "joint_weights": solution.weights.tolist()}
    citations = (*method.citations, *(() if white else ("newey1987", "politis2003", "kiefer2005")))
    # the certificate evaluates rho, with the threshold of the settings
    if np.isfinite(solution.clip):
        settings["clip"] = solution.clip
        citations += ("huber1981",)
    return Estimate(
        method=method.name,
        robot=problem.robot.name,
        described=problem.robot.described,
        parameters=EstimatedParameters(
            names=named.names,
            units=named.units,
            owners=named.owners,
            kinds=named.kinds,
            groupings=named.groupings,
            values=solution.theta,
            identifiable=np.ones(len(named), dtype=bool),
            uncertainty=uncertainty,
        ),
        status=Status.partly if solution.status is Status.solved and system.undetermined else solution.status,
        condition_number=float(np.linalg.cond(solution.R)),
        scaled_condition_number=float(np.linalg.cond(solution.R / np.linalg.norm(solution.R, axis=0))),
        rows=system.equations,
        fit=fitted,
        bodies=_bodies(problem, named, solution.theta),
        undetermined=system.undetermined,
        problem=problem,
        examiner=diagnose if errors is None else partial(diagnose, systematic=errors),
        iterations=solution.steps,
        provenance=Provenance(
            settings=settings,
            steps=problem.steps,
            notes=(*notes, *problem.robot.notes),
            warnings=problem.warnings,
            seconds={"regressor": system.seconds, "solve": time.perf_counter() - started},
            citations=citations,
        ),
    )


def _bodies(problem: InverseDynamics, named: BaseParameters, theta: Vector) -> tuple[Body, ...]:
    """Mass properties of the bodies whose ten parameters are each estimated or held on their own."""
    parameters = problem.parameters
    known = dict(parameters.held)
    known |= {
        name: float(value) for name, value, only in zip(named.names, theta, named.alone, strict=True) if only
    }
    numbered = zip(problem.robot.body_joints, problem.robot.bodies, strict=True)
    tens = ((name, [known.get(f"{symbol}{k}") for symbol in INERTIAL_SYMBOLS]) for k, name in numbered)
    # nine parameters and a regrouped one do not define a body
    return tuple(body(name, None if None in ten else np.array(ten)) for name, ten in tens)
