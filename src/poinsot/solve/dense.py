"""Small dense least squares in a box, as iterates of `GaussNewton`.

    F(x) = 1/2 |r(x)|^2,  lower <= x <= upper
    d    = argmin  d^T (J^T J + mu D) d / 2 + r^T J d,  lower <= x + d <= upper

D is the larger of the diagonal of J^T J and `curvature_floor`, which keeps parameters that no residual observes where
they are. The step is a quadratic program in a box,

    minimize  d^T S d / 2 + g^T d   subject to  lower <= d <= upper

With S = L L^T scaled to a unit diagonal it is the bounded least-squares problem |L^T d + L^-1 g|^2, solved by the
active-set method of Stark and Parker (1995).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from ..arrays import Matrix, Vector
from .gauss_newton import DampedStep


def step_in_box(S: Matrix, g: Vector, lower: Vector, upper: Vector) -> Vector:
    """(p,) argmin d^T S d / 2 + g^T d subject to lower <= d <= upper; S (p, p) positive definite. Raises
    `numpy.linalg.LinAlgError` if S is not positive definite.
    """
    open_ = upper > lower
    if not open_.all():  # BVLS fails where bounds are equal
        d = np.where(open_, 0.0, lower)
        d[open_] = step_in_box(S[np.ix_(open_, open_)], (g + S @ d)[open_], lower[open_], upper[open_])
        return d
    if not len(g):
        return np.zeros(0)
    if not (np.diag(S) > 0).all():
        raise np.linalg.LinAlgError("S is not positive definite")
    # BVLS compares gradients of components, which must not depend on units
    scale = 1 / np.sqrt(np.diag(S))
    scaled = S * scale[:, None] * scale
    L = np.linalg.cholesky(scaled)
    free = -np.linalg.solve(scaled, g * scale)
    box = lower / scale, upper / scale
    below, above = free < box[0], free > box[1]
    if not (below | above).any():
        return np.asarray(free * scale)
    # held at their bounds: the solution where the gradient holds them there
    d = step_in_box(S, g, np.where(above, upper, lower), np.where(below, lower, upper))
    gradient = g + S @ d
    if (gradient[below] >= 0).all() and (gradient[above] <= 0).all():
        return d
    target = -linalg.solve_triangular(L, g * scale, lower=True)
    from scipy.optimize import lsq_linear

    solution = lsq_linear(L.T, target, bounds=box, method="bvls", tol=1e-14, max_iter=max(100, 10 * len(g)))
    # exactly on the bounds, where scaling back would round
    inside = np.clip(solution.x * scale, lower, upper)
    return np.where(solution.active_mask < 0, lower, np.where(solution.active_mask > 0, upper, inside))


@dataclass(frozen=True, eq=False)
class DenseProblem:
    """Residuals with their Jacobian in a box. `residuals`: x (p,) -> whitened residuals (N,). `jacobian`: (x, residuals
    there) -> (N, p). `lower`, `upper`: (p,). `curvature_floor`: (x, cost) -> (p,) least diagonal of the Hessian in the
    damping.
    """

    residuals: Callable[[Vector], Vector]
    jacobian: Callable[[Vector, Vector], Matrix]
    lower: Vector
    upper: Vector
    curvature_floor: Callable[[Vector, float], Vector | float] = lambda _, __: 0.0

    def at(self, x: Vector) -> DenseIterate:
        """The iterate at x, moved into the box."""
        x = np.clip(x, self.lower, self.upper)
        return DenseIterate(self, x, self.residuals(x))


@dataclass(frozen=True, eq=False)
class DenseIterate:
    """A point x (p,) with its residuals r (N,)."""

    problem: DenseProblem
    x: Vector
    r: Vector

    infeasibility = 0.0
    largest_gap = 0.0

    @property
    def theta(self) -> Vector:
        return self.x

    @cached_property
    def cost(self) -> float:
        """Half of the sum of squares; infinite where a residual is not finite."""
        cost = 0.5 * float(self.r @ self.r)
        return cost if np.isfinite(cost) else float("inf")

    @cached_property
    def normal(self) -> tuple[Matrix, Vector]:
        """J^T J (p, p) and J^T r (p,)."""
        J = self.problem.jacobian(self.x, self.r)
        return J.T @ J, J.T @ self.r

    def direction(self, damping: float) -> DenseDirection | None:
        (H, g), problem = self.normal, self.problem
        # Marquardt's scaling: the damped step does not depend on units
        D = np.maximum(np.diag(H), problem.curvature_floor(self.x, self.cost))
        try:
            d = step_in_box(H + damping * np.diag(D), g, problem.lower - self.x, problem.upper - self.x)
        # the driver raises the damping
        except np.linalg.LinAlgError:
            return None
        return DenseDirection(self, d)


@dataclass(frozen=True, eq=False)
class DenseDirection(DampedStep[DenseIterate]):
    """The step d (p,) from an iterate."""

    start: DenseIterate
    d: Vector

    def predicted(self, alpha: float) -> float:
        H, g = self.start.normal
        d = alpha * self.d
        return -float(g @ d + 0.5 * d @ H @ d)

    def trial(self, alpha: float) -> DenseIterate:
        start, problem = self.start, self.start.problem
        x = np.clip(start.x + alpha * self.d, problem.lower, problem.upper)  # rounding may leave the box
        return replace(start, x=x, r=problem.residuals(x))
