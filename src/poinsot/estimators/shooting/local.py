"""Cost and gaps of a guess, and the linear-quadratic problem of the next step.

Gauss-Newton: L_ab = r_a^T r_b, l_a = r_a^T r for a, b of x, w, theta, with 1 / sigma^2 and w / sigma^2 added for w.
Recordings are taken a stretch of stages at a time, so memory is bounded whatever their length.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...arrays import Columns, Float, Vector
from ...kernels import njit
from ...models.robot.joint_motion import STEP
from .problem import GaussianPrior, ShootingProblem, Trajectories, TrajectoryModel
from .riccati import LinearQuadraticStages, Quadratic

STRETCH = 100
"""Stages that are linearized in one call."""


def stretches(motion: TrajectoryModel) -> list[tuple[int, int]]:
    """First and last + 1 of each stretch of a recording, as equal as they come."""
    # equal parts: a short last one would take a call of its own
    count = -(-motion.stages // STRETCH)
    ends = [round(i * motion.stages / count) for i in range(count + 1)]
    return list(pairwise(ends))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A guess with its cost and gaps.

    Args:
        at: the guess.
        gaps: (N, n) f(x_k, w_k; theta) [-] x_{k+1} of each recording.
        cost: of Eq. 1; infinite where the model returns what is not a number.
    """

    at: Trajectories
    gaps: tuple[np.ndarray, ...]
    cost: float

    @property
    def infeasibility(self) -> float:
        """Sum of |gap|_1 (Eq. 37)."""
        return float(sum(np.abs(gap).sum() for gap in self.gaps))

    @property
    def largest_gap(self) -> float:
        return float(max(np.abs(gap).max(initial=0.0) for gap in self.gaps))


def evaluated(
    problem: ShootingProblem, at: Trajectories, gaps: tuple[np.ndarray, ...], along: float
) -> Evaluation:
    """The evaluation of a guess whose stages cost `along`: last nodes and priors are added."""
    d = at.theta - problem.prior.mean
    cost = along + 0.5 * float(d @ problem.prior.information @ d)
    for motion, arrival, x in zip(problem.models, problem.arrivals, at.x, strict=True):
        d = motion.manifold.difference(arrival.mean[None], x[:1])[0]
        cost += 0.5 * float(d @ arrival.information @ d)
        if arrival.cross is not None:
            cost += float(d @ arrival.cross @ (at.theta - problem.prior.mean))
        cost += 0.5 * float(np.sum(motion.last(x[-1], at.theta).value ** 2))
    # NaN compares as False: infinity is what the line search refuses
    finite = np.isfinite(cost) and all(np.isfinite(gap).all() for gap in gaps)
    return Evaluation(at, gaps, cost if finite else np.inf)


def stage_cost(motion: TrajectoryModel, first: int, w: np.ndarray, r: np.ndarray) -> float:
    """Cost of a stretch with noise w (T, m) and residuals r (T, rows)."""
    stretch = slice(first, first + len(w))
    noise = w[motion.noisy[stretch]] / motion.noise_std[stretch][motion.noisy[stretch]]
    return 0.5 * float(np.sum(r**2) + np.sum(noise**2))


def linearized(
    motion: TrajectoryModel, x: Float[np.ndarray, "T1 nx"], w: Columns, theta: Vector, first: int
) -> LinearQuadraticStages:
    """The stretch that begins at stage `first`, from its states (one more than stages) and noise."""
    T, m = w.shape
    at = motion.linearize(first, x[:-1], w, theta)
    # to the tangent at x_{k+1}, in which its change is counted
    A, B, C = motion.manifold.carry(x[1:], at.f, at.f_x, at.f_w, at.f_theta)
    n, p, rows = A.shape[1], C.shape[2], at.r.shape[1]
    r_t = np.zeros((T, rows, p)) if at.r_theta is None else at.r_theta
    noisy = motion.noisy[first : first + T]
    information = np.zeros((T, m))
    # a reset has no noise; its standard deviations mean nothing and may be 0
    information[noisy] = motion.noise_std[first : first + T][noisy] ** -2
    L_xw, L_wt = np.zeros((T, n, m)), np.zeros((T, m, p))
    L_ww, l_w = np.zeros((T, m, m)), information * w
    L_ww[:, range(m), range(m)] = information
    if at.r_w is not None:
        w_rows = at.r_w.transpose(0, 2, 1)
        L_xw, L_wt = at.r_x.transpose(0, 2, 1) @ at.r_w, w_rows @ r_t
        L_ww, l_w = L_ww + w_rows @ at.r_w, l_w + (w_rows @ at.r[:, :, None])[:, :, 0]
    L_xx, L_xt, l_x = np.zeros((T, n, n)), np.zeros((T, n, p)), np.zeros((T, n))
    L_tt, l_t = np.zeros((p, p)), np.zeros(p)
    # slopes that a model broadcasts have another layout, for which all would be compiled anew
    c = np.ascontiguousarray
    _products(c(at.r_x), c(r_t), c(at.r), L_xx, L_xt, L_tt, l_x, l_t)
    gap = motion.manifold.difference(x[1:], at.f)
    return LinearQuadraticStages(
        A=A, B=B, C=C, gap=gap, L_xx=L_xx, L_xw=L_xw, L_xt=L_xt, L_ww=L_ww, L_wt=L_wt, L_tt=L_tt,
        l_x=l_x, l_w=l_w, l_t=l_t, noisy=noisy,
    )  # fmt: skip


@njit(**STEP)
def _products(r_x, r_t, r, L_xx, L_xt, L_tt, l_x, l_t):
    """Add r_a^T r_b and r_a^T r, row after row of the residuals; most have few columns that are not 0."""
    T, rows, n = r_x.shape
    p = r_t.shape[2]
    for t in range(T):
        for k in range(rows):
            x, theta, value = r_x[t, k], r_t[t, k], r[t, k]
            low, high = 0, n
            # the row of an encoder has one column that is not 0, that of a gyro six
            while low < n and x[low] == 0.0:
                low += 1
            while high > low and x[high - 1] == 0.0:
                high -= 1
            left, right = 0, p
            while left < p and theta[left] == 0.0:
                left += 1
            while right > left and theta[right - 1] == 0.0:
                right -= 1
            for i in range(low, high):
                l_x[t, i] += x[i] * value
                if x[i] != 0.0:
                    for j in range(low, high):
                        L_xx[t, i, j] += x[i] * x[j]
                    for a in range(left, right):
                        L_xt[t, i, a] += x[i] * theta[a]
            for a in range(left, right):
                l_t[a] += theta[a] * value
                for b in range(left, right):
                    L_tt[a, b] += theta[a] * theta[b]


def linearized_end(motion: TrajectoryModel, x: Vector, theta: Vector) -> Quadratic:
    """The last node's cost, less its value at the guess."""
    at = motion.last(x, theta, slopes=True)
    assert at.by_x is not None
    r, r_x = at.value[0], at.by_x[0]
    r_t = np.zeros((len(r), len(theta))) if at.by_theta is None else at.by_theta[0]
    return Quadratic(r_x.T @ r_x, r_x.T @ r_t, r_t.T @ r_t, r_x.T @ r, r_t.T @ r)


def linearized_arrival(
    motion: TrajectoryModel, arrival: GaussianPrior, x_0: Vector, off: Vector
) -> Quadratic:
    """The arrival cost, less its value at the guess, where theta is `off` (p,) from the mean of its prior."""
    mean, p = arrival.mean[None], len(off)
    d = motion.manifold.difference(mean, x_0[None])[0]
    J = motion.manifold.difference_jacobians(mean, x_0[None])[1][0]
    X = np.zeros((len(d), p)) if arrival.cross is None else arrival.cross
    by_d = arrival.information @ d + X @ off
    return Quadratic(J.T @ arrival.information @ J, J.T @ X, np.zeros((p, p)), J.T @ by_d, X.T @ d)
