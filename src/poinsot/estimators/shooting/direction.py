"""One backward and one forward pass: the search direction and the change of the cost that it predicts.

(Martinez et al. 2024, Sects. V-B and V-E.)

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

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod
from .arrival import ArrivalSolution, ArrivalSystem, factorize_arrival
from .local import Evaluation, linearized, linearized_arrival, linearized_end, stretches
from .problem import ShootingProblem, TrajectoryModel
from .riccati import LinearQuadraticStages, Policy, Quadratic, backward, forward
from .rollout import TrajectoryStep

KEPT_STAGES = 1024
"""Stages of a recording whose linearization is kept while damping is on: about 40 MB at 36 states. The others are
linearized again for another damping; the result is the same."""


@dataclass(frozen=True, eq=False)
class SearchDirection:
    """A step and the change of the cost that it predicts.

    Args:
        step: x, w, theta and policies.
        slope, curvature: D1 and D2.
        free_curvature: D2 without a trust region.
        arrival: the factorized equations of the arrival nodes, whose null spaces are unobservable.
    """

    step: TrajectoryStep
    slope: float
    curvature: float
    free_curvature: float
    arrival: ArrivalSystem

    def predicted_change(self, alpha: float) -> float:
        """Change of the cost by a step of length alpha (Eq. 35)."""
        return alpha * (self.slope + 0.5 * alpha * self.curvature)


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


class LinearizedProblem:
    """The linearization of a problem at one guess, which gives a direction for each damping.

    Args:
        problem, now: the problem, and the guess with its cost.
        policies: arrays for the policies, which the next direction overwrites; None: each direction has its own.
        radius: of the trust region for theta.
    """

    def __init__(
        self,
        problem: ShootingProblem,
        now: Evaluation,
        policies: tuple[Policy, ...] | None = None,
        radius: float = np.inf,
    ):
        self.problem, self.now, self.policies, self.radius = problem, now, policies, radius
        self._kept: dict[tuple[int, int], LinearQuadraticStages] = {}

    def direction(self, damping: float = 0.0, null_space: bool = True) -> SearchDirection | None:
        """Backward and forward; None where a matrix is not positive definite."""
        problem, theta = self.problem, self.now.at.theta
        chains = []
        for number, policy in enumerate(self.policies or allocate_policies(problem)):
            chain = self._backward(number, damping, policy)
            if chain is None:
                return None
            chains.append(chain)
        prior_t = problem.prior.information @ (theta - problem.prior.mean)
        values = [chain.value for chain in chains]
        size_t = np.abs(np.diag(problem.prior.information)) + sum(chain.size_t for chain in chains)
        system = factorize_arrival(
            values, problem.prior.information, prior_t, damping, null_space, size_t, problem.natural_scale
        )
        if system is None:
            return None
        arrival = system.solve(problem.natural_scale, self.radius)
        step = _step(chains, arrival)
        slope = float(prior_t @ arrival.theta) + sum(
            _slope(chain, x, w, arrival.theta) for chain, x, w in zip(chains, step.x, step.w, strict=True)
        )
        # the recursion counts the cost of damping too, which is none of the problem
        damped = damping * _damped(chains, step, problem.prior.information) if damping else 0.0
        # constant = D1 + D2 / 2 + damping / 2 delta^T D delta
        curvature = 2.0 * (arrival.constant - slope) - damped
        return SearchDirection(step, slope, curvature, curvature + 2.0 * arrival.excess, system)

    def _backward(self, number: int, damping: float, policy: Policy) -> _Chain | None:
        problem, at = self.problem, self.now.at
        motion, x, w = problem.models[number], at.x[number], at.w[number]
        end = linearized_end(motion, x[-1], at.theta)
        value, l_t, size_t = end, np.zeros(len(at.theta)), np.abs(np.diag(end.V_tt))
        l_x, l_w, weight = np.empty((len(w), len(end.V_x))), np.empty_like(w), np.empty_like(w)
        for first, stages in self._stretches(number, motion, keep=damping > 0):
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
        off = at.theta - problem.prior.mean
        arrival = linearized_arrival(motion, problem.arrivals[number], x[0], off)
        value = with_arrival(value, arrival)
        return _Chain(value, arrival.V_x, end, policy, l_x, l_w, l_t + arrival.V_t, weight, size_t)

    def _stretches(
        self, number: int, motion: TrajectoryModel, keep: bool
    ) -> Iterator[tuple[int, LinearQuadraticStages]]:
        """Linearized stages from the last to the first; kept where another damping may need them again."""
        x, w, theta = self.now.at.x[number], self.now.at.w[number], self.now.at.theta
        for first, last in stretches(motion)[::-1]:
            key = number, first
            stages = self._kept.get(key)
            if stages is None:
                stages = linearized(motion, x[first : last + 1], w[first:last], theta, first)
            # the last stages, with which the next pass begins
            if keep and motion.stages - first <= KEPT_STAGES:
                self._kept[key] = stages
            yield first, stages


def allocate_policies(problem: ShootingProblem, spread: bool = False) -> tuple[Policy, ...]:
    """Arrays for the policies of all recordings, with room for covariances if `spread`."""
    return tuple(
        Policy.empty(
            motion.stages, (motion.manifold.degrees, motion.noise_std.shape[1], motion.parameters), spread
        )
        for motion in problem.models
    )


def with_arrival(value: Quadratic, arrival: Quadratic) -> Quadratic:
    """The value function at the first node with the prior of its state added."""
    sums = {name: getattr(value, name) + getattr(arrival, name) for name in ("V_xx", "V_xt", "V_x", "V_t")}
    return replace(value, **sums)


def _step(chains: list[_Chain], arrival: ArrivalSolution) -> TrajectoryStep:
    rolled = [forward(chain.policy, x_0, arrival.theta) for chain, x_0 in zip(chains, arrival.x, strict=True)]
    x, w = zip(*rolled, strict=True)
    return TrajectoryStep(x, w, arrival.theta, tuple(chain.policy for chain in chains))


def _slope(chain: _Chain, x: np.ndarray, w: np.ndarray, theta: Vector) -> float:
    """A recording's part of D1."""
    ends = chain.end.V_x @ x[-1] + chain.arrival_x @ x[0]
    along = np.vdot(chain.l_x, x[:-1]) + np.vdot(chain.l_w, w)
    return float(ends + along + (chain.end.V_t + chain.l_t) @ theta)


def _damped(chains: list[_Chain], step: TrajectoryStep, prior: Matrix) -> float:
    """delta^T D delta, D the diagonal that damping is relative to."""
    V_tt = np.abs(np.diag(prior) + sum(np.diag(chain.value.V_tt) for chain in chains))
    total = V_tt @ step.theta**2
    for chain, x, w in zip(chains, step.x, step.w, strict=True):
        total += np.vdot(chain.weight, w**2) + np.abs(np.diag(chain.value.V_xx)) @ x[0] ** 2
    return float(total)
