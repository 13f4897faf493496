"""A regression reduced to triangular factors: first *whether* the recording determines a parameter, then its value.

Least squares needs only one triangular factor of the rows of each degree of freedom j, with R_j^T R_j =
[W_j y_j]^T [W_j y_j]. With w_j the weight of its rows (one over their standard deviation, or 1 where all are alike) and
prior knowledge theta_i = mean_i +- std_i,

    theta = argmin  sum_j w_j^2 |y_j - W_j theta|^2 + s^2 sum_i (theta_i - mean_i)^2 / std_i^2

    s^2 = sum_j w_j^2 |y_j - W_j theta|^2 / (N_t - b)     of only the data (Brunot et al. 2017, Eq. 7)
    H   = R^T R = sum_j w_j^2 W_j^T W_j + s^2 P           P = diag(1 / std_i^2)
    cov = s^2 H^-1                                        for white residuals of that size (Eq. 6)

With a prior w is divided by s, so that H is in absolute terms and cov = H^-1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Matrix, Vector
from ..estimate import Direction, Status
from ..exceptions import NotIdentifiable
from .base_parameters import BaseParameters, choose, triangular, unexcited
from .inverse_dynamics import InverseDynamics, Rows

ROUNDING = 1e-14
TINY = 1e-100

RIDGE = 1e-10
"""Relative to products of columns of unit norm: directions that the motion does not determine are left at zero."""


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Least-squares solution of a `System`.

    Args:
        theta: (k,) parameters of the system's columns.
        covariance: (k, k) of theta for white residuals.
        R: (k, k) triangular, R^T R = H.
        weights: (n,) w of each degree of freedom.
        variance: s^2 of the weighted residuals.
        clip: bound of weighted residuals (Huber); infinite except for robust estimates.
        factors: (n, b + 1, b + 1) factors of individually weighted rows; None: the system's own.
        steps, status: number of reweightings, and their status.
    """

    theta: Vector
    covariance: Matrix
    R: Matrix
    weights: np.ndarray
    variance: float
    clip: float = np.inf
    factors: np.ndarray | None = None
    steps: int = 1
    status: Status = Status.solved

    def on_base(self, system: ReducedRows) -> Vector:
        """(b,) values on the problem's base columns, zero where the system has none."""
        theta = np.zeros(system.size)
        theta[system.columns] = self.theta
        return theta

    def scores(self, e: np.ndarray) -> np.ndarray:
        """(N, n) scores of residuals (N, n): W^T scores = 0 at the optimum, without a prior."""
        return self.weights * np.clip(self.weights * e, -self.clip, self.clip)


@dataclass(frozen=True, eq=False)
class ReducedRows:
    """Rows of a regression, of which only products matter.

    Args:
        factors: (n, b + 1, b + 1) R_j, one per degree of freedom. products: whether they are R_j^T R_j instead: half as
            many digits, but quick to compute where a problem is changed many times.
        columns: (k,) columns to estimate.
        prior: (r, b + 1) rows of prior knowledge, in units of its standard deviation.
        equations: number of rows of the regression.
    """

    factors: np.ndarray
    columns: np.ndarray
    prior: Matrix
    equations: int
    products: bool = field(default=False, kw_only=True)

    @property
    def size(self) -> int:
        """Number b of base columns."""
        return self.factors.shape[-1] - 1

    @property
    def rows_each(self) -> float:
        """N, rows of each degree of freedom."""
        return self.equations / len(self.factors)

    def solve(
        self, weights: np.ndarray, factors: np.ndarray | None = None, *, variance: float | None = None
    ) -> LinearSolution:
        """Least squares with a weight (n,) for each degree of freedom (Brunot et al. 2017, Eqs. 5 to 7).

        `factors` are those of rows weighed one by one, None: the system's own; `variance` is s^2, None: by Eq. 7.
        """
        k = len(self.columns)
        # the last column is y: below the k-th row it contains the residual
        data = self.triangular_factor(weights, factors)
        if variance is None:
            variance = self.residual_variance(data, weights)
        R = data
        if len(self.prior):
            # noise-free data leave rounding errors or less: a prior must not divide by zero
            s = max(np.sqrt(variance), ROUNDING * np.linalg.norm(data[:, k]) / np.sqrt(self.equations), TINY)
            # from here on residuals are in units of their own spread, as the prior's rows are
            weights, variance = weights / s, 1.0
            R = triangular(np.concatenate([data / s, self._prior]))
        theta = np.linalg.solve(R[:k, :k], R[:k, k])
        return LinearSolution(
            theta, variance * inverse(R[:k, :k]), R[:k, :k], weights, variance, factors=factors
        )

    def residual_variance(self, data: Matrix, weights: np.ndarray) -> float:
        """s^2 of the rows at these weights, without prior, from their factor (k + 1, k + 1)."""
        return _residual_variance(data, self.equations)

    def whitened_prior(self, R: Matrix) -> tuple[Matrix, Vector]:
        """(r, k), (r,) prior rows on R theta, in units of their standard deviation."""
        P = np.linalg.solve(R.T, self._prior[:, :-1].T).T
        return P, self._prior[:, -1]

    def curvature(self, weights: np.ndarray) -> Matrix:
        """(k, k) R of the rows at these weights, prior included."""
        k = len(self.columns)
        return triangular(np.concatenate([self.triangular_factor(weights), self._prior])[:, :k])

    def sandwich(self, slopes: np.ndarray, scores: np.ndarray) -> tuple[Matrix, Matrix]:
        """(k, k) R of the rows at the weights `slopes` (n,), and H^-1 M H^-1 with M of the rows at `scores` (n,)."""
        R = self.curvature(slopes)
        # M = C^T C with C triangular, so H^-1 M H^-1 comes out symmetric and not negative
        half = self.curvature(scores) @ inverse(R)
        return R, half.T @ half

    def leverage(self, weights: np.ndarray, R: Matrix) -> np.ndarray:
        """(n,) trace of each degree of freedom's part of the hat matrix; they sum to k, and to less with a prior."""
        assert not self.products, "products have no rows"
        # |R^-T W^T|^2 of each row is the diagonal of the hat matrix; a factor gives the sum over rows
        n, _, k = (W := self.factors[:, :, self.columns]).shape
        A = np.linalg.solve(R.T, W.reshape(-1, k).T)
        return weights**2 * np.sum(A.reshape(k, n, -1) ** 2, axis=(0, 2))

    def residual_squares(self, theta: Vector) -> np.ndarray:
        """(n,) sum of the squared residuals of each degree of freedom at base values (b,), unweighted."""
        x = np.append(-theta, 1.0)
        if self.products:
            return np.maximum(x @ self.factors @ x, 0.0)
        return np.sum((self.factors @ x) ** 2, axis=1)

    @property
    def _prior(self) -> Matrix:
        return self.prior[:, np.append(self.columns, self.size)]

    def triangular_factor(self, weights: np.ndarray, factors: np.ndarray | None = None) -> Matrix:
        """(k + 1, k + 1) triangular factor of all weighted rows."""
        factors = self.factors if factors is None else factors
        used = np.append(self.columns, self.size)
        if self.products:
            return factor_of_products(np.tensordot(weights**2, factors, 1)[np.ix_(used, used)])
        return triangular((factors[:, :, used] * weights[:, None, None]).reshape(-1, len(used)))


@dataclass(frozen=True, eq=False)
class System(ReducedRows):
    """A regression problem reduced to triangular factors.

    Args:
        base: the columns as base parameters of the problem's full parameters.
        undetermined: unobservable directions.
        seconds: duration of the reduction of rows [s].
    """

    base: BaseParameters
    undetermined: tuple[Direction, ...]
    seconds: float = 0.0

    def weighted_factors(self, problem: InverseDynamics, weights: Callable[[Rows], np.ndarray]) -> np.ndarray:
        """Factors as `factors`, of rows that are weighted one by one by (r, n) numbers."""
        return problem.factors(weights)

    def restricted(self, columns: np.ndarray) -> System:
        """The system with only these base columns, in rising order, to estimate: the others' parameters are zero."""
        return replace(self, columns=columns, base=self.base.subset(np.isin(self.columns, columns)))


def covariance_root(C: Matrix) -> Matrix:
    """(p, p) B with B B^T = C; eigenvalues that rounding made negative count as 0."""
    # not by Cholesky, which fails for covariances that are singular due to constraints
    eigenvalues, V = np.linalg.eigh(0.5 * (C + C.T))
    return np.asarray(V * np.sqrt(np.maximum(eigenvalues, 0.0)))


def inverse(R: Matrix) -> Matrix:
    """(R^T R)^-1 of a triangular R."""
    half = np.linalg.inv(R)
    return half @ half.T


def solve_triangular(R: Matrix, y: Vector, transposed: bool = False) -> Vector:
    """R^-1 y, or R^-T y, of an upper triangular R with a diagonal without zeros."""
    # here, as SciPy is slow to import; by LAPACK, as the checks of `scipy.linalg` would take most of the time
    from scipy.linalg.lapack import dtrtrs

    return np.asarray(dtrtrs(R, y, trans=transposed)[0])


def factor_of_products(G: Matrix) -> Matrix:
    """(k + 1, k + 1) triangular factor of [W y] from their products; directions without information are left at 0."""
    if not np.isfinite(G).all():  # wrong data overflow
        return np.full_like(G, np.nan)
    k = len(G) - 1
    norms = np.sqrt(np.diag(G)[:k])
    norms[norms == 0] = 1.0
    R = np.zeros_like(G)
    R[:k, :k] = np.linalg.cholesky(G[:k, :k] / norms[:, None] / norms + RIDGE * np.eye(k)).T * norms
    R[:k, k] = solve_triangular(R[:k, :k], G[:k, k], transposed=True)
    R[k, k] = np.sqrt(max(G[k, k] - R[:k, k] @ R[:k, k], 0.0))
    return R


def _residual_variance(data: Matrix, equations: int) -> float:
    """Residual variance of the data (Eq. 7), whose factor may be short of rank where a prior has to help."""
    W, y = data[:, :-1], data[:, -1]
    # the rank of columns in different units is meaningful only after scaling each to norm 1
    norms = np.linalg.norm(W, axis=0)
    W = W / np.where(norms > 0, norms, 1.0)
    theta, _, rank, _ = np.linalg.lstsq(W, y, rcond=None)
    # Q is orthogonal: residuals of the factor's few rows have the norm of all rows'
    return float(np.sum((y - W @ theta) ** 2)) / (equations - rank)


def reduce(problem: InverseDynamics, rtol: float) -> System:
    """Reduce the rows to triangular factors and decide which base parameters the recording determines, if any."""
    started = time.perf_counter()
    structural = problem.base
    b = len(structural)
    if not b:
        raise NotIdentifiable("every parameter is held: there is nothing to estimate")
    if problem.equations <= b:
        raise NotIdentifiable(
            f"{problem.equations} equations cannot determine {b} parameters; record longer or decimate less"
        )
    factors = problem.factors()
    R = triangular(factors[:, :, :b].reshape(-1, b))
    prior = np.zeros((len(problem.priors), b + 1))
    for row, (name, normal) in zip(prior, problem.priors.items(), strict=True):
        row[[structural.index(name), b]] = 1 / normal.std, normal.mean / normal.std
    # even a weak prior determines its parameter: here it is scaled to the weight of all rows
    norms = np.linalg.norm(R, axis=0)
    known = (prior[:, :b] != 0) * np.maximum(norms, norms.max())
    # indices in the structural base, whose own `chosen` are columns of the full parameters
    columns, K = choose(np.concatenate([R, known]), np.arange(b), rtol)
    if not len(columns):
        raise NotIdentifiable("nothing moves in this recording: every column of the regressor is zero")
    recorded = BaseParameters(structural.parameters, structural.chosen[columns], K @ structural.map)
    # parameters that no motion of this robot excites: their columns are zero
    names = [structural.parameters.names[c] for c in structural.unobservable if structural.parameters.free[c]]
    nowhere = (Direction(", ".join(names), "structural"),) if names else ()
    undetermined = nowhere + unexcited(structural, recorded)
    seconds = time.perf_counter() - started
    return System(factors, columns, prior, problem.equations, recorded, undetermined, seconds)
