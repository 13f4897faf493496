"""Three rollouts from one guess to the next with step length alpha (Martinez et al. 2024, Sect. V-D).

    all                     x_0+ = x_0 [+] alpha dx_0,   theta+ = theta + alpha dtheta                       (Eq. 32)
    single shooting         w_k+ = w_k - alpha kbar_k - K_k dx_k+,   x_{k+1}+ = f(x_k+, w_k+; theta+)
    feasibility-driven      the same w_k+,   x_{k+1}+ = f(x_k+, w_k+; theta+) [+] (alpha - 1) gap_k          (Eq. 33)
    multiple shooting       w_k+ = w_k + alpha dw_k,   x_{k+1}+ = x_{k+1} [+] alpha dx_{k+1}                 (Eq. 34)

with kbar = k + P dtheta and dx_k+ = x_k+ [-] x_k. Single shooting has no gaps; the feasibility-driven rollout keeps
(1 - alpha) of each; multiple shooting evaluates the remaining gaps at all nodes at once. The
first two go from node to node: they correct what a nonlinear model does to the step, and amplify it where the motion is
unstable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Vector
from .local import Evaluation, evaluated, stage_cost, stretches
from .problem import ShootingProblem, Trajectories, TrajectoryModel
from .riccati import Policy


@dataclass(frozen=True, eq=False)
class TrajectoryStep:
    """A direction in which the next guess is sought.

    Args:
        x, w: (N + 1, n), (N, m) changes of each recording. theta: (p,).
        policies: of each recording.
    """

    x: tuple[np.ndarray, ...]
    w: tuple[np.ndarray, ...]
    theta: Vector
    policies: tuple[Policy, ...]


class Rollout(ABC):
    """From a guess and a direction to the next guess."""

    name: str

    def begin(self, problem: ShootingProblem, guess: Trajectories) -> Evaluation:
        """The evaluation of a guess, made consistent if the rollout needs that."""
        return evaluate(problem, guess)

    @abstractmethod
    def roll(
        self, problem: ShootingProblem, now: Evaluation, step: TrajectoryStep, alpha: float
    ) -> Evaluation:
        """The guess that a step of length `alpha` leads to."""


@dataclass(frozen=True)
class MultipleShooting(Rollout):
    """Every node steps by itself; gaps close as the dynamics permit. It takes any guess, and nodes in parallel."""

    name = "multiple"

    def roll(
        self, problem: ShootingProblem, now: Evaluation, step: TrajectoryStep, alpha: float
    ) -> Evaluation:
        moved = zip(problem.models, now.at.x, step.x, strict=True)
        x = tuple(motion.manifold.integrate(old, alpha * dx) for motion, old, dx in moved)
        w = tuple(old + alpha * dw for old, dw in zip(now.at.w, step.w, strict=True))
        return evaluate(problem, Trajectories(x, w, now.at.theta + alpha * step.theta))


@dataclass(frozen=True)
class FeasibilityDriven(Rollout):
    """Node after node, with the policy's feedback. Gaps close as a whole, however nonlinear the dynamics."""

    name = "feasible"

    closes_all: ClassVar[bool] = False
    """Whether a step leaves no gap, and not the part 1 - alpha of each."""

    def roll(
        self, problem: ShootingProblem, now: Evaluation, step: TrajectoryStep, alpha: float
    ) -> Evaluation:
        theta = now.at.theta + alpha * step.theta

        def one(number: int) -> Simulation:
            motion, x = problem.models[number], now.at.x[number]
            x_0 = motion.manifold.integrate(x[:1], alpha * step.x[number][:1])[0]
            policy, ahead = step.policies[number], alpha * np.append(step.theta, 1.0)

            def feedback(stage: int, state: np.ndarray) -> np.ndarray:
                """w_k+ - w_k."""
                dx = motion.manifold.difference(x[stage : stage + 1], state)[0]
                return -policy.gains[stage] @ np.concatenate([dx, ahead])

            gaps = (0.0 if self.closes_all else 1.0 - alpha) * now.gaps[number]
            return _simulate(motion, x_0, now.at.w[number], theta, gaps, feedback)

        return _gathered(problem, theta, map(one, range(len(problem.models))))


@dataclass(frozen=True)
class SingleShooting(FeasibilityDriven):
    """No gaps, ever: the states of the guess are not looked at, but for the first."""

    name = "single"
    closes_all = True

    def begin(self, problem: ShootingProblem, guess: Trajectories) -> Evaluation:
        def one(number: int) -> Simulation:
            motion = problem.models[number]
            closed = np.zeros((motion.stages, motion.manifold.degrees))
            return _simulate(motion, guess.x[number][0], guess.w[number], guess.theta, closed)

        return _gathered(problem, guess.theta, map(one, range(len(problem.models))))


def evaluate(problem: ShootingProblem, at: Trajectories) -> Evaluation:
    """Cost and gaps of a guess, all nodes at once."""
    gaps, cost = [], 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # a trial may go anywhere: what is not finite is refused by its infinite cost
        for motion, x, noise in zip(problem.models, at.x, at.w, strict=True):
            parts = []
            for first, last in stretches(motion):
                w = noise[first:last]
                f, r = motion.evaluate(first, x[first:last], w, at.theta)
                parts.append(motion.manifold.difference(x[first + 1 : last + 1], f))
                cost += stage_cost(motion, first, w, r)
            gaps.append(np.concatenate(parts))
        return evaluated(problem, at, tuple(gaps), cost)


Simulation = tuple[np.ndarray, np.ndarray, float, np.ndarray]
"""States, noise, cost and gaps of one recording."""


def _gathered(problem: ShootingProblem, theta: Vector, rolled: Iterable[Simulation]) -> Evaluation:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        x, w, costs, gaps = zip(*rolled, strict=True)
        return evaluated(problem, Trajectories(x, w, theta), gaps, sum(costs))


def _simulate(
    motion: TrajectoryModel,
    x_0: Vector,
    w: np.ndarray,
    theta: Vector,
    gaps: np.ndarray,
    feedback: Callable[[int, np.ndarray], np.ndarray] | None = None,
) -> Simulation:
    """From the first node on; ends early, with infinite cost, where the motion diverges."""
    manifold, N = motion.manifold, motion.stages
    x, w = np.empty((N + 1, manifold.size)), w.copy()
    x[0], cost = x_0, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for k in range(N):
            here = x[k : k + 1]
            if feedback is not None:
                w[k] += feedback(k, here)
            f, r = motion.evaluate(k, here, w[k : k + 1], theta)
            cost += stage_cost(motion, k, w[k : k + 1], r)
            # moving by 0 would round the state
            x[k + 1] = manifold.integrate(f, -gaps[k : k + 1])[0] if gaps[k].any() else f[0]
            if not np.isfinite(x[k + 1]).all():
                x[k + 1 :] = x[k]  # finite, so that gaps and priors can be computed
                return x, w, np.inf, gaps
    return x, w, cost, gaps
