"""Least squares on the inverse dynamics (seed 002, Eqs. 4 to 7): ordinary, weighted by joint, or robust.

    theta = argmin |u (tau - W theta)|^2 + prior,   u = 1                     ordinary
                                                    u = 1 / sigma_j           per joint, sigma_j from the residuals
                                                    u = sqrt(huber) / sigma_j robust: reweighted until nothing moves

Everything is done on triangular factors, one a degree of freedom: R_j^T R_j = [W_j y_j]^T [W_j y_j]. First *whether*:
which combinations the recording shows (a structural one that it does not is left out and named), then *how much*.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg

from ...arrays import Matrix, Vector
from ...estimate import Body, Direction, Estimate, Status
from ...exceptions import InvalidMethod, NotIdentifiable, listing
from ...regression.base_parameters import EXCITATION_TOLERANCE, BaseParameters, choose, unexcited
from ...regression.inverse_dynamics import InverseDynamics, Rows
from ...regression.triangular import triangular
from . import residuals

HUBER = 1.345
"""Residuals beyond this many standard deviations are weighed down; 95 % efficient on normal noise."""


@dataclass(frozen=True)
class LeastSquares:
    """Least squares on base parameters.

    Args:
        weighting: `"none"` (the seed's), `"per-joint"` (each joint's residuals at unit variance), or `"robust"`
            (the same, and outliers weighed down, Huber).
        parameters: `"base"`, or `"full"` where the motion determines every single one.
        rtol: a column (of unit norm) with less than this outside the span of the others counts as not excited.
        max_steps: of reweighting.
        step_tolerance: reweighting stops when no parameter moves by more than this part of its standard deviation.
    """

    weighting: Literal["none", "per-joint", "robust"] = "none"
    parameters: Literal["base", "full"] = "base"
    rtol: float = EXCITATION_TOLERANCE
    max_steps: int = 50
    step_tolerance: float = 1e-4

    name = "least-squares"

    def __post_init__(self) -> None:
        if self.weighting not in ("none", "per-joint", "robust"):
            raise InvalidMethod(f"weighting must be 'none', 'per-joint' or 'robust', not {self.weighting!r}")
        if self.parameters not in ("base", "full"):
            raise InvalidMethod(f"parameters must be 'base' or 'full', not {self.parameters!r}")

    def solve(self, problem: InverseDynamics) -> Estimate:
        """Estimate the base parameters.

        Raises:
            NotIdentifiable: if full parameters are asked for and the motion does not determine them, or there are
                fewer rows than parameters.
        """
        system = reduce(problem, self.rtol)
        if self.parameters == "full":
            _require_full(problem, system)
        solution = self.fit(problem, system)
        return finish(self, problem, system, solution)

    def fit(self, problem: InverseDynamics, system: System) -> Solution:
        """The parameters of a reduced system, weighted as asked."""
        n = len(system.factors)
        solution = system.solve(np.ones(n))
        if self.weighting == "none":
            return solution
        factors, steps, status = system.factors, 0, Status.step_limit
        while steps < self.max_steps:
            steps += 1
            sigma = _spread(problem, system, solution, robust=self.weighting == "robust")
            if self.weighting == "robust":
                factors = problem.factors(_Huber(solution.on_base(system), sigma))
            weights = np.divide(1.0, sigma, out=np.zeros(n), where=sigma > 0)
            previous, solution = solution, system.solve(weights, factors)
            moved = np.abs(solution.theta - previous.theta) / np.sqrt(np.diag(solution.covariance))
            if moved.max() <= self.step_tolerance:
                status = Status.solved
                break
        return Solution(
            solution.theta, solution.covariance, solution.R, solution.weights, solution.variance, steps, status
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """theta (k,) of the system's columns, its white covariance (k, k), and the factor R (k, k) it came from."""

    theta: Vector
    covariance: Matrix
    R: Matrix
    weights: Vector
    variance: float
    steps: int = 1
    status: Status = Status.solved

    def on_base(self, system: System) -> Vector:
        """(b,) values on the problem's base columns, zero where the system has none."""
        theta = np.zeros(system.size)
        theta[system.columns] = self.theta
        return theta


@dataclass(frozen=True, eq=False)
class System:
    """A regression problem after its rows are folded away.

    Args:
        factors: (n, b + 1, b + 1), one a degree of freedom.
        columns: (k,) base columns to estimate.
        recorded: the base parameters that the recording shows, on the problem's full parameters.
        undetermined: what it does not show.
        prior: (r, b + 1) rows of prior knowledge, in units of its standard deviation.
        equations: number of rows of the regression.
    """

    factors: np.ndarray
    columns: np.ndarray
    recorded: BaseParameters
    undetermined: tuple[Direction, ...]
    prior: Matrix
    equations: int
    seconds: float = 0.0

    @property
    def size(self) -> int:
        return self.factors.shape[-1] - 1

    def without(self, columns: np.ndarray) -> System:
        """The same with only these base columns to estimate."""
        return System(
            self.factors, columns, self.recorded, self.undetermined, self.prior, self.equations, self.seconds
        )

    def solve(self, weights: Vector, factors: np.ndarray | None = None) -> Solution:
        """Least squares with a weight for each degree of freedom (seed 002, Eqs. 5 to 7).

        With weights other than 1 or with priors the residual variance is relative to the weights.
        """
        factors = self.factors if factors is None else factors
        used = np.append(self.columns, self.size)
        stacked = (factors[:, :, used] * weights[:, None, None]).reshape(-1, len(used))
        k = len(self.columns)
        data = triangular(stacked)
        degrees = self.equations - k
        plain = linalg.solve_triangular(data[:k, :k], data[:k, k], check_finite=False) if not len(self.prior) else None
        rest = float(np.sum(data[k:, k] ** 2))
        if plain is None:
            R = triangular(np.concatenate([data / np.sqrt(_data_variance(data, degrees)), self.prior[:, used]]))
            variance = 1.0
            plain = linalg.solve_triangular(R[:k, :k], R[:k, k], check_finite=False)
        else:
            R, variance = data, rest / degrees
        inverse = linalg.solve_triangular(R[:k, :k], np.eye(k), check_finite=False)
        return Solution(plain, variance * inverse @ inverse.T, R[:k, :k], weights, variance)

    def sum_of_squares(self, solution: Solution) -> float:
        """Weighted residual sum of squares of a solution."""
        theta = np.append(-solution.on_base(self), 1.0)
        e = (self.factors * solution.weights[:, None, None]) @ theta
        return float(np.sum(e**2))


def _data_variance(data: Matrix, degrees: int) -> float:
    """Residual variance of the data alone, with which they are weighed against a prior."""
    theta = linalg.lstsq(data[:, :-1], data[:, -1])[0]
    return max(float(np.sum((data[:, -1] - data[:, :-1] @ theta) ** 2)) / degrees, np.finfo(float).tiny)


def reduce(problem: InverseDynamics, rtol: float) -> System:
    """Fold the rows and decide what the recording shows.

    Raises:
        NotIdentifiable: if there are fewer equations than parameters, or nothing moves.
    """
    started = time.perf_counter()
    factors = problem.factors()
    b = len(problem.base)
    R = triangular(factors[:, :, :b].reshape(-1, b))
    structural = problem.base
    order = np.array([np.flatnonzero(structural.chosen == c)[0] for c in structural.chosen], dtype=np.int64)
    prior = np.zeros((len(problem.priors), b + 1))
    for row, (name, normal) in zip(prior, problem.priors.items(), strict=True):
        row[[structural.names.index(name), b]] = 1 / normal.std, normal.mean / normal.std
    scale = np.linalg.norm(R, axis=0).max(initial=0.0)
    seen = choose(np.concatenate([R, prior[:, :b] * scale]), _named(structural), order, rtol)
    if not len(seen):
        raise NotIdentifiable("nothing moves in this recording: every column of the regressor is zero")
    if problem.equations <= len(seen):
        raise NotIdentifiable(
            f"{problem.equations} equations cannot determine {len(seen)} parameters; record longer or decimate less"
        )
    recorded = BaseParameters(structural.parameters, structural.chosen[seen.chosen], seen.map @ structural.map)
    undetermined = _structural(structural) + unexcited(structural, recorded)
    return System(
        factors, seen.chosen, recorded, undetermined, prior, problem.equations, time.perf_counter() - started
    )


def finish(method: Any, problem: InverseDynamics, system: System, solution: Solution, **extra: Any) -> Estimate:
    """Everything that an estimate says besides its values: honest covariance, fit, verdicts."""
    started = time.perf_counter()
    base = problem.base
    chosen = base.chosen[system.columns]
    place = {int(c): row for row, c in enumerate(system.recorded.chosen)}
    K = system.recorded.map[[place[int(c)] for c in chosen]]
    fitted = residuals.fit(problem, solution.on_base(system))
    inverse = linalg.solve_triangular(solution.R, np.eye(len(chosen)), check_finite=False)
    bread = inverse @ inverse.T
    middle = residuals.coloured_middle(problem, fitted.residuals, solution.weights, system.columns)
    correction = system.equations / (system.equations - len(chosen))
    scale = 1.0 if solution.variance else 0.0
    coloured = _psd(correction * bread @ middle @ bread) * scale
    if len(system.prior):
        # R was divided by the residual deviation of the data: bring the middle to the same units
        coloured = solution.covariance
    white = fitted.white
    parameters = problem.parameters
    named = BaseParameters(parameters, chosen, K)
    norms = np.linalg.norm(solution.R, axis=0)
    return Estimate(
        method=method.name,
        names=named.names,
        units=named.units,
        owners=named.owners,
        kinds=named.kinds,
        groupings=named.groupings,
        values=solution.theta,
        covariance=solution.covariance if white else coloured,
        std_kind="white" if white else "coloured",
        white_std=np.sqrt(np.diag(solution.covariance)),
        coloured_std=np.sqrt(np.diag(coloured)),
        identifiable=np.ones(len(chosen), dtype=bool),
        status=Status.partly if solution.status is Status.solved and system.undetermined else solution.status,
        condition_number=float(np.linalg.cond(solution.R)),
        scaled_condition_number=float(np.linalg.cond(solution.R / norms)),
        rows=system.equations,
        fit=fitted,
        bodies=tuple(Body(name) for name in problem.robot.bodies),
        undetermined=system.undetermined,
        problem=problem,
        iterations=solution.steps,
        robot=problem.robot.name,
        settings={**asdict(method), "joint_weights": solution.weights.tolist()},
        steps=problem.steps,
        warnings=problem.warnings,
        seconds={"regressor": system.seconds, "solve": time.perf_counter() - started},
        citations=("brunot2017", "gautier2013"),
        **extra,
    )


@dataclass(frozen=True, eq=False)
class _Huber:
    """Row weights sqrt(min(1, k sigma / |e|)) at the present parameters."""

    theta: Vector
    sigma: Vector

    def __call__(self, rows: Rows) -> np.ndarray:
        size = np.abs(rows.y - rows.W @ self.theta)
        return np.sqrt(np.minimum(1.0, HUBER * self.sigma / np.maximum(size, np.finfo(float).tiny)))


def _spread(problem: InverseDynamics, system: System, solution: Solution, robust: bool) -> Vector:
    """(n,) standard deviation of each degree of freedom's residuals; from the median where outliers must not count."""
    _, measured, predicted = problem.predict(solution.on_base(system))
    e = measured - predicted
    if robust:
        return np.median(np.abs(e), axis=0) / 0.6744897501960817
    return np.sqrt(np.sum(e**2, axis=0) / max(len(e) - len(system.columns) / e.shape[1], 1.0))


def _require_full(problem: InverseDynamics, system: System) -> None:
    free = int(problem.parameters.free.sum())
    if len(system.columns) < free:
        missing = [
            problem.parameters.names[c]
            for c in np.flatnonzero(problem.parameters.free)
            if c not in set(problem.base.chosen[system.columns])
        ]
        raise NotIdentifiable(
            f"the recording determines {len(system.columns)} combinations of the {free} parameters, not each of them "
            f"(dependent: {listing(missing, 8)}); use parameters = \"base\", or hold what is known"
        )


def _named(base: BaseParameters):
    """The base parameters as parameters of their own, for a second choice among them."""
    from ...parameters import Block, Parameters

    return Parameters(
        tuple(
            Block(kind, owner, (name,), (unit,))
            for kind, owner, name, unit in zip(base.kinds, base.owners, base.names, base.units, strict=True)
        )
    )


def _structural(base: BaseParameters) -> tuple[Direction, ...]:
    """What no motion shows: parameters without a column, and those known only in a group."""
    names = base.parameters.names
    unseen = [names[c] for c in base.unseen if base.parameters.free[c]]
    directions = [Direction(listing(unseen, 60) + " (no motion of this robot shows them)", "structural")] if unseen else []
    grouped = [
        Direction(f"the parts of {name} = {grouping}", "structural")
        for name, grouping in zip(base.names, base.groupings, strict=True)
        if name.endswith("r") and grouping not in base.parameters.names
    ]
    return tuple(directions + grouped)


def _psd(matrix: Matrix) -> Matrix:
    return 0.5 * (matrix + matrix.T)
