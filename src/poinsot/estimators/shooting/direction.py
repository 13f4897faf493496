"""The linear-quadratic problem at a guess, its search direction, and the change of the cost that it predicts.

(Martinez et al. 2024, Sects. V-B and V-E.) Gauss-Newton: L_ab = r_a^T r_b, l_a = r_a^T r for a, b of x, w, theta, with
1 / sigma^2 and w / sigma^2 added for w. One backward and one forward pass give the direction. Recordings are taken a
stretch of stages at a time, so memory is bounded whatever their length.

A step of length alpha changes the cost, to second order, by

    dl(alpha) = alpha D1 + 1/2 alpha^2 D2                                                            (Eq. 35)
    D1 = sum of l . delta     D2 = sum of delta^T L delta     over all nodes, arrival states and theta

At alpha = 1 this is the constant that the recursion finds (Eqs. 35 and 36 sum it up node by node), without the cost of
damping; D1 is summed as it stands, and D2 follows from both. The paper's D1 and D2 agree with these at alpha = 1, but
share the terms of the gaps differently; here dl is exact at any alpha if the problem is linear-quadratic.

sqrt(D2) is the length of the step in standard deviations of the posterior: without gaps, |P r| with P the projection of
all residuals r on the range of their Jacobian by the unknowns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from ...arrays import Columns, Float, Matrix, Vector
from ...exceptions import InvalidMethod
from ...kernels import njit
from ...models.robot.joint_motion import STEP
from ...solve import DampedStep, StepLength
from .arrival import ArrivalSystem, factorize_arrival
from .problem import GaussianPrior, ShootingProblem, Trajectories, TrajectoryModel
from .riccati import LinearQuadraticStages, Policy, Quadratic, backward, forward
from .rollout import Evaluation, MultipleShooting, Rollout, stretches

KEPT_STAGES = 1024
"""Stages of a recording whose linearization is kept while damping is on: about 40 MB at 36 states. The others are
linearized again for another damping; the result is the same."""


@dataclass(eq=False)
class ShootingSearch:
    """What the iterates of one search share.

    Args:
        problem: what is solved.
        policies: arrays for the policies, which the next direction overwrites; None: each direction has its own.
        radius: of the trust region for theta, in units of the problem's scale. It adapts to how steps turn out.
        shrinkage: the trust region shrinks by no more than this factor at once.
        null_space: whether theta keeps its value in unobservable directions; otherwise they have no minimum.
        rollout: how a step is tried.
        last: the last direction; None: there was none.
    """

    problem: ShootingProblem
    policies: tuple[Policy, ...] | None = None
    radius: float = np.inf
    shrinkage: float = 0.25
    null_space: bool = True
    rollout: Rollout = MultipleShooting()  # noqa: RUF009 - frozen, without fields
    last: SearchDirection | None = None


@dataclass(frozen=True, eq=False)
class SearchDirection(DampedStep["ShootingIterate"]):
    """A step and the change of the cost that it predicts.

    Args:
        start: where it begins.
        step: changes of x (N + 1, n) and w (N, m) of each recording, and of theta (p,).
        policies: of each recording.
        slope, curvature: D1 and D2.
        free_curvature: D2 without a trust region.
        arrival: the factorized equations of the arrival nodes, whose null spaces are unobservable.
    """

    start: ShootingIterate
    step: Trajectories
    policies: tuple[Policy, ...]
    slope: float
    curvature: float
    free_curvature: float
    arrival: ArrivalSystem

    def predicted(self, alpha: float) -> float:
        """Decrease of the cost by a step of length alpha (Eq. 35)."""
        return -alpha * (self.slope + 0.5 * alpha * self.curvature)

    @property
    def decrement(self) -> float:
        # without the trust region, which makes any step short
        return 0.5 * self.free_curvature

    def trial(self, alpha: float) -> ShootingIterate:
        search = self.start.search
        return ShootingIterate(search, search.rollout.roll(search.problem, self.start.now, self, alpha))

    def adapt(self, alpha: float) -> None:
        """The trust region of theta follows the step: twice the length of a full one, or the length of a short one."""
        search = self.start.search
        taken = float(np.linalg.norm(self.step.theta / search.problem.natural_scale))
        if alpha == 1.0:
            search.radius = max(search.radius, 2.0 * taken)
        elif alpha < StepLength.long:
            # a step that does not move theta says nothing of its radius
            search.radius = min(search.radius, max(alpha, search.shrinkage) * taken) or search.radius


@dataclass(frozen=True, eq=False)
class _Chain:
    """Results of the backward pass of one recording that the forward pass needs.

    Args:
        value: at its first node, arrival cost added. arrival_x, end: the costs there.
        policy: of all stages.
        l_x, l_w: (N, n), (N, m) gradients. l_t: (p,).
        weight: (N, m) the diagonal that damping is relative to.
        size_t: (p,) sum of the terms whose difference V_tt's diagonal is, for its rounding error.
    """

    value: Quadratic
    arrival_x: Vector
    end: Quadratic
    policy: Policy
    l_x: np.ndarray
    l_w: np.ndarray
    l_t: Vector
    weight: np.ndarray
    size_t: Vector

    def slope(self, x: np.ndarray, w: np.ndarray, theta: Vector) -> float:
        """The recording's part of D1."""
        ends = self.end.V_x @ x[-1] + self.arrival_x @ x[0]
        along = np.vdot(self.l_x, x[:-1]) + np.vdot(self.l_w, w)
        return float(ends + along + (self.end.V_t + self.l_t) @ theta)


class ShootingIterate:
    """A guess with its cost, and its linearization, which gives a direction for each damping.

    Args:
        search: what it shares with other iterates. now: the guess with its cost and gaps.
    """

    cost = property(attrgetter("now.cost"))
    infeasibility = property(attrgetter("now.infeasibility"))
    largest_gap = property(attrgetter("now.largest_gap"))
    theta = property(attrgetter("now.at.theta"))

    def __init__(self, search: ShootingSearch, now: Evaluation):
        self.search, self.now = search, now
        self._linearized: dict[tuple[int, int], LinearQuadraticStages] = {}

    def direction(self, damping: float = 0.0) -> SearchDirection | None:
        """Backward and forward; None where a matrix is not positive definite."""
        search, problem, prior = self.search, self.search.problem, self.search.problem.prior
        chains = []
        for number, policy in enumerate(search.policies or allocate_policies(problem)):
            chain = self._backward(number, damping, policy)
            if chain is None:
                return None
            chains.append(chain)
        prior_t = prior.information @ (self.theta - prior.mean)
        values = [chain.value for chain in chains]
        size_t = np.abs(np.diag(prior.information)) + sum(chain.size_t for chain in chains)
        system = factorize_arrival(
            values, prior.information, prior_t, damping, search.null_space, size_t, problem.natural_scale
        )
        if system is None:
            return None
        arrival = system.solve(problem.natural_scale, search.radius)
        rolled = [forward(c.policy, x_0, arrival.theta) for c, x_0 in zip(chains, arrival.x, strict=True)]
        x, w = zip(*rolled, strict=True)
        slope = float(prior_t @ arrival.theta) + sum(
            chain.slope(dx, dw, arrival.theta) for chain, dx, dw in zip(chains, x, w, strict=True)
        )
        step, policies = Trajectories(x, w, arrival.theta), tuple(chain.policy for chain in chains)
        # the recursion counts the cost of damping too, which is none of the problem
        damped = damping * _damped(chains, step, prior.information) if damping else 0.0
        # constant = D1 + D2 / 2 + damping / 2 delta^T D delta
        curvature = 2.0 * (arrival.constant - slope) - damped
        search.last = SearchDirection(
            self, step, policies, slope, curvature, curvature + 2.0 * arrival.excess, system
        )
        return search.last

    def _backward(self, number: int, damping: float, policy: Policy) -> _Chain | None:
        problem, at = self.search.problem, self.now.at
        model, x, w = problem.models[number], at.x[number], at.w[number]
        end = linearized_end(model, x[-1], at.theta)
        value, l_t, size_t = end, np.zeros(len(at.theta)), np.abs(np.diag(end.V_tt))
        l_x, l_w, weight = np.empty((len(w), len(end.V_x))), np.empty_like(w), np.empty_like(w)
        for first, stages in self._stretches(number, keep=damping > 0):
            last = first + len(stages)
            passed = backward(stages, value, damping, policy.part(first, last))
            if passed.broke_at is not None:
                return None
            value = passed.value
            if not np.isfinite(value.V_x).all():
                raise InvalidMethod(
                    f"the model's derivatives are not finite between stages {first} and {last}; "
                    "start closer, or look at the states there"
                )
            l_x[first:last], l_w[first:last] = stages.l_x, stages.l_w
            l_t, size_t = l_t + stages.l_t, size_t + passed.size_t
            weight[first:last] = np.abs(np.einsum("tii->ti", stages.L_ww))
        arrival = linearized_arrival(model, problem.arrivals[number], x[0], at.theta - problem.prior.mean)
        return _Chain(value + arrival, arrival.V_x, end, policy, l_x, l_w, l_t + arrival.V_t, weight, size_t)

    def _stretches(self, number: int, keep: bool) -> Iterator[tuple[int, LinearQuadraticStages]]:
        """Linearized stages from the last to the first; kept where another damping may need them again."""
        model, at = self.search.problem.models[number], self.now.at
        x, w = at.x[number], at.w[number]
        for first, last in stretches(model)[::-1]:
            stages = self._linearized.get((number, first))
            if stages is None:
                stages = linearized(model, x[first : last + 1], w[first:last], at.theta, first)
            # the last stages, with which the next pass begins
            if keep and model.stages - first <= KEPT_STAGES:
                self._linearized[number, first] = stages
            yield first, stages


def allocate_policies(problem: ShootingProblem, spread: bool = False) -> tuple[Policy, ...]:
    """Arrays for the policies of all recordings, with room for covariances if `spread`."""
    p = len(problem.prior.mean)
    return tuple(
        Policy.empty(model.stages, (model.manifold.degrees, model.noise_std.shape[1], p), spread)
        for model in problem.models
    )


def _damped(chains: Sequence[_Chain], step: Trajectories, prior: Matrix) -> float:
    """delta^T D delta, D the diagonal that damping is relative to."""
    V_tt = np.abs(np.diag(prior) + sum(np.diag(chain.value.V_tt) for chain in chains))
    total = V_tt @ step.theta**2
    for chain, x, w in zip(chains, step.x, step.w, strict=True):
        total += np.vdot(chain.weight, w**2) + np.abs(np.diag(chain.value.V_xx)) @ x[0] ** 2
    return float(total)


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
