"""Drive gains by output error: the equation is solved for the noisy quantity, the measured current.

    y_j = c_j (W_j theta + h_j) + e_j         y_j: current times the nominal gain of the drive
                                              1 / c_j: the true gain over the nominal one
    min over theta, c of  sum_j w_j^2 |y_j - c_j p_j|^2 + |P theta - z|^2,      p_j = W_j theta + h_j

w_j = 1 / sigma_j, P and z are prior knowledge in units of its standard deviation. h, the effort of what is known (the
mass of a load), sets the scale: without it (c / s, s theta) fits as well as (c, theta), and only ratios can be known.

For given c the best theta is linear least squares, so the search is over c only (variable projection), by
Gauss-Newton:

    H   = sum_j (w_j c_j)^2 W_j^T W_j + P^T P           B_j = w_j^2 c_j W_j^T p_j           D_j = w_j^2 |p_j|^2
    S   = D - B^T H^-1 B,   S dc = w^2 p^T (y - c p)     cov(c) = S^-1                for white residuals

All of these follow from the cross products M_j of [W_j h_j y_j]. A joint that shares few parameters with others fits
nearly as well with the opposite sign of its gain, so each sign is tried: the likelihood, sum_j N log sigma_j, decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ....arrays import Matrix, Vector
from ....estimate import Status

MIN_RESIDUAL = 1e-7
"""Residuals below this part of the efforts are rounding errors of the cross products."""

WEIGHTS_SETTLED = 1e-7
STEP_SETTLED = 1e-11
MAX_HALVINGS = 30

ALMOST_EXACT = 1e6
"""Weight of prior knowledge relative to all rows together, where it is treated as almost exact."""

MAX_GROWTH = 1e3
"""Growth of |c| over its initial guess at which the search has diverged: theta then explains the effect of h."""


@dataclass(frozen=True, eq=False)
class Cost:
    """The cost as a function of c, theta eliminated.

    M (n, k + 2, k + 2) are cross products of [W h y], weights (n,) w, P (r, k) and z (r,) prior knowledge.
    """

    M: np.ndarray
    weights: np.ndarray
    P: Matrix
    z: Vector

    def at(self, c: Vector) -> Point:
        """The best theta for these c (n,); `LinAlgError` if it is not determined."""
        M, w = self.M, self.weights
        WW, Wh, Wy = M[:, :-2, :-2], M[:, :-2, -2], M[:, :-2, -1]
        a = (w * c) ** 2
        H = np.einsum("j,jab->ab", a, WW) + self.P.T @ self.P
        r = (w**2 * c) @ Wy - a @ Wh + self.P.T @ self.z
        factor = linalg.cholesky(H, lower=True, check_finite=False)
        theta = linalg.cho_solve((factor, True), r, check_finite=False)
        x = np.concatenate([-np.outer(c, theta), -c[:, None], np.ones((len(c), 1))], axis=1)
        squares = np.einsum("ja,jab,jb->j", x, M, x)
        cost = float(w**2 @ squares + np.sum((self.P @ theta - self.z) ** 2))
        return Point(self, c, theta, factor, squares, cost)


@dataclass(frozen=True, eq=False)
class Point:
    """A value of c with the best theta: lower triangular factor (k, k) of H, squares (n,) |y - c p|^2, and the cost."""

    of: Cost
    c: Vector
    theta: Vector
    factor: Matrix
    squares: np.ndarray
    cost: float

    def curvature(self, free: np.ndarray) -> tuple[Matrix, Vector, Vector]:
        """S (m, m), D (m,) and w^2 p^T (y - c p) (m,) of the c that are free (n,)."""
        p, B, D = self.products()
        B, D = B[free], D[free]
        half = linalg.solve_triangular(self.factor, B.T, lower=True, check_finite=False)
        gradient = self.of.weights[free] ** 2 * p[free, -1] - self.c[free] * D
        return np.diag(D) - half.T @ half, D, gradient

    def products(self) -> tuple[np.ndarray, np.ndarray, Vector]:
        """(n, k + 2) [W h y]^T p, (n, k) B and (n,) D."""
        x, w = np.append(self.theta, 1.0), self.of.weights
        p = np.einsum("jab,b->ja", self.of.M[:, :, :-1], x)
        return p, (w**2 * self.c)[:, None] * p[:, :-2], w**2 * (p[:, :-1] @ x)

    def leverage(self) -> np.ndarray:
        """(n,) number of theta's parameters that each degree of freedom determines."""
        a = (self.of.weights * self.c) ** 2
        inverse = linalg.cho_solve((self.factor, True), np.eye(len(self.theta)), check_finite=False)
        return a * np.einsum("jab,ab->j", self.of.M[:, :-2, :-2], inverse)


@dataclass(frozen=True, eq=False)
class GainOptimum:
    """Result of the search for the c that are free (n,)."""

    point: Point
    free: np.ndarray
    steps: int
    status: Status = Status.solved

    def likelihood(self, rows: int) -> float:
        """Negative log-likelihood up to a constant; smaller is likelier."""
        point = self.point
        prior = float(np.sum((point.of.P @ point.theta - point.of.z) ** 2))
        size = np.maximum(point.squares, MIN_RESIDUAL**2 * point.of.M[:, -1, -1])
        return 0.5 * rows * float(np.sum(np.log(size[size > 0]))) + 0.5 * prior

    @property
    def white_covariance(self) -> Matrix:
        """(m, m) covariance of the free c, for white residuals."""
        return np.asarray(linalg.inv(self.point.curvature(self.free)[0]))

    @property
    def seen(self) -> tuple[Vector, Matrix]:
        """Ascending eigenvalues (m,), from 0 (theta compensates a direction of c) to 1, and eigenvectors of S / D."""
        S, D, _ = self.point.curvature(self.free)
        found = np.linalg.eigh(S / np.sqrt(np.outer(D, D)))
        return found.eigenvalues, found.eigenvectors


def output_error(cost: Cost, rows: int, free: np.ndarray, start: Vector, max_iterations: int) -> GainOptimum:
    """c, theta and w together: c for given weights, weights from the residuals, until both converge.

    c begins at `start` (n,), and stays there where it is not `free` (n,); `rows` counts those of each degree of
    freedom.
    """
    square = cost.M[:, -1, -1] / rows
    size = np.sqrt(np.where(square > 0, square, square.max()))
    floor = MIN_RESIDUAL * size
    cost = replace(cost, weights=1 / size)
    c, taken = start, 0
    while taken < max_iterations:
        optimum = search(cost, free, c, max_iterations - taken)
        c, taken = optimum.point.c, taken + optimum.steps
        if np.any(np.abs(c) > MAX_GROWTH * np.abs(start)):
            break
        left = np.maximum(rows - optimum.point.leverage() - free, 1.0)
        weights = 1 / np.maximum(np.sqrt(np.maximum(optimum.point.squares, 0.0) / left), floor)
        if np.max(np.abs(weights / cost.weights - 1)) < WEIGHTS_SETTLED:
            return replace(optimum, steps=taken)
        cost = replace(cost, weights=weights)
    return replace(optimum, steps=taken, status=Status.step_limit)


def output_error_of_any_sign(
    cost: Cost, rows: int, free: np.ndarray, start: Vector, max_iterations: int
) -> GainOptimum:
    """Likeliest optimum over signs of c: initial, all positive, or one changed; `LinAlgError` if there is none."""

    def found(c: Vector) -> list[GainOptimum]:
        try:
            return [output_error(cost, rows, free, c, max_iterations)]
        except linalg.LinAlgError:  # it diverged, to where nothing is determined
            return []

    def likeliest(optima: list[GainOptimum]) -> GainOptimum:
        # others may still diverge
        ended = [optimum for optimum in optima if optimum.status is Status.solved]
        return min(ended, key=lambda optimum: optimum.likelihood(rows)) if ended else optima[0]

    first = found(np.where(free, np.abs(start), start)) + found(start)
    if not first:
        raise linalg.LinAlgError("no drive gains explain the efforts")
    best = likeliest(first)
    for joint in np.flatnonzero(free):
        turned = np.where(np.arange(len(start)) == joint, -1.0, 1.0) * best.point.c
        best = likeliest([best, *found(turned)])
    return best


def search(
    cost: Cost, free: np.ndarray, start: Vector, max_iterations: int, settled: float = STEP_SETTLED
) -> GainOptimum:
    """Optimal c for given weights; converged where a step is smaller than the part `settled` of c."""
    point = cost.at(start)
    for steps in range(1, max_iterations + 1):
        S, D, gradient = point.curvature(free)
        if np.any(np.abs(point.c) > MAX_GROWTH * np.abs(start)) or not np.all(D > 0):
            break
        scale = np.sqrt(D)
        step = np.zeros_like(start)
        # a direction that theta compensates is left unchanged, to avoid division by zero
        step[free] = np.linalg.lstsq(S / np.outer(scale, scale), gradient / scale, rcond=1e-14)[0] / scale
        point = _downhill(cost, point, step)
        if np.max(np.abs(step) / np.maximum(np.abs(point.c), 1e-300)) < settled or not step.any():
            return GainOptimum(point, free, steps)
    return GainOptimum(point, free, max_iterations, Status.step_limit)


def _downhill(cost: Cost, point: Point, step: Vector) -> Point:
    """The point after the step, halved until the cost does not increase beyond rounding errors."""
    rounding = 1e-12 * float(cost.weights**2 @ cost.M[:, -1, -1])
    for _ in range(MAX_HALVINGS):
        try:
            ahead = cost.at(point.c + step)
        except linalg.LinAlgError:
            ahead = None
        if ahead is not None and ahead.cost <= point.cost + rounding:
            return ahead
        step = step / 2
    return point


def gains_by_least_squares(
    M: np.ndarray, free: np.ndarray, P: Matrix | None = None, z: Vector | None = None
) -> Vector:
    """(n,) 1 / c by least squares of y_j / c_j - W_j theta = h_j, 1 where not `free` (n,): an initial guess.

    It takes y as exact although it is noisy, so gains are biased towards zero (errors in variables).

    Args:
        M: (n, k + 2, k + 2) cross products of [W h y]. P, z: prior knowledge P theta = z, (r, k) and (r,), treated as
            almost exact.
    """
    whole = equation_products(M, free, np.ones(len(M)))
    G, known = whole[:-1, :-1], whole[:-1, -1]
    if P is not None and z is not None and len(P):
        m = int(free.sum())
        # a large weight instead of an equality, so that rows of P may contradict each other
        exact = ALMOST_EXACT * np.trace(G) / np.sum(P**2)
        G[m:, m:] += exact * P.T @ P
        known[m:] -= exact * P.T @ z
    scale = np.sqrt(np.diag(G))
    scale[scale == 0] = 1.0
    x = np.linalg.lstsq(G / np.outer(scale, scale), -known / scale, rcond=None)[0] / scale
    kappa = np.ones(len(free))
    kappa[free] = x[: int(free.sum())]
    return kappa


def equation_products(M: np.ndarray, free: np.ndarray, weights: Vector) -> Matrix:
    """Cross products of the columns [y of each free joint, -W] and of those with coefficient 1: y of others, -h."""
    m, size = int(free.sum()), M.shape[1]
    C = np.zeros((len(M), size, m + size - 1))
    C[:, np.arange(size - 1), np.arange(m, m + size - 1)] = -1.0
    C[free, -1, np.arange(m)] = 1.0
    C[~free, -1, -1] = 1.0
    return np.asarray(np.sum(weights[:, None, None] ** 2 * (C.transpose(0, 2, 1) @ M @ C), axis=0))
