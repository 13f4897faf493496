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
from typing import Any

import numpy as np

from ...arrays import Vector
from .local import Evaluation, evaluated, stage_cost, stretches
from .problem import ShootingProblem, Trajectories, TrajectoryModel
from .riccati import Policy

Mapping = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or an executor's."""


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

    @abstractmethod
    def begin(self, problem: ShootingProblem, guess: Trajectories, mapping: Mapping = map) -> Evaluation:
        """The guess as this rollout needs it."""

    @abstractmethod
    def roll(
        self,
        problem: ShootingProblem,
        now: Evaluation,
        step: TrajectoryStep,
        alpha: float,
        mapping: Mapping = map,
    ) -> Evaluation:
        """The guess that a step of length `alpha` leads to."""


@dataclass(frozen=True)
class MultipleShooting(Rollout):
    """Every node steps by itself; gaps close as the dynamics permit. It takes any guess, and nodes in parallel."""

    name = "multiple"

    def begin(self, problem: ShootingProblem, guess: Trajectories, mapping: Mapping = map) -> Evaluation:
        return evaluate(problem, guess, mapping)

    def roll(
        self,
        problem: ShootingProblem,
        now: Evaluation,
        step: TrajectoryStep,
        alpha: float,
        mapping: Mapping = map,
    ) -> Evaluation:
        moved = zip(problem.models, now.at.x, step.x, strict=True)
        x = tuple(motion.manifold.integrate(old, alpha * dx) for motion, old, dx in moved)
        w = tuple(old + alpha * dw for old, dw in zip(now.at.w, step.w, strict=True))
        return evaluate(problem, Trajectories(x, w, now.at.theta + alpha * step.theta), mapping)


class _Sequential(Rollout):
    """Node after node, with the policy's feedback."""

    @abstractmethod
    def _kept(self, gaps: np.ndarray, alpha: float) -> np.ndarray:
        """(N, n) what is to be left of the gaps."""

    def roll(
        self,
        problem: ShootingProblem,
        now: Evaluation,
        step: TrajectoryStep,
        alpha: float,
        mapping: Mapping = map,
    ) -> Evaluation:
        theta = now.at.theta + alpha * step.theta

        def one(number: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
            motion, x, w = problem.models[number], now.at.x[number], now.at.w[number]
            kept = self._kept(now.gaps[number], alpha)
            x_0 = motion.manifold.integrate(x[:1], alpha * step.x[number][:1])[0]
            feedback = _feedback(step.policies[number], step.theta, alpha)
            return *_simulate(motion, x_0, w, theta, kept, x, feedback), kept

        return _gathered(problem, theta, mapping(one, range(len(problem.models))))


@dataclass(frozen=True)
class SingleShooting(_Sequential):
    """No gaps, ever: the states of the guess are not looked at, but for the first."""

    name = "single"

    def begin(self, problem: ShootingProblem, guess: Trajectories, mapping: Mapping = map) -> Evaluation:
        def one(number: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
            motion, x, w = problem.models[number], guess.x[number], guess.w[number]
            kept = np.zeros((motion.stages, motion.manifold.degrees))
            return *_simulate(motion, x[0], w, guess.theta, kept), kept

        return _gathered(problem, guess.theta, mapping(one, range(len(problem.models))))

    def _kept(self, gaps: np.ndarray, alpha: float) -> np.ndarray:
        return np.zeros_like(gaps)


@dataclass(frozen=True)
class FeasibilityDriven(_Sequential):
    """Gaps close as a whole, by the step length, however nonlinear the dynamics."""

    name = "feasible"

    def begin(self, problem: ShootingProblem, guess: Trajectories, mapping: Mapping = map) -> Evaluation:
        return evaluate(problem, guess, mapping)

    def _kept(self, gaps: np.ndarray, alpha: float) -> np.ndarray:
        return (1.0 - alpha) * gaps


def evaluate(problem: ShootingProblem, at: Trajectories, mapping: Mapping = map) -> Evaluation:
    """Cost and gaps of a guess, all nodes at once."""

    def one(item: tuple[int, int, int]) -> tuple[np.ndarray, float]:
        number, first, last = item
        motion, x, w = problem.models[number], at.x[number], at.w[number][first:last]
        f, r = motion.evaluate(first, x[first:last], w, at.theta)
        return motion.manifold.difference(x[first + 1 : last + 1], f), stage_cost(motion, first, w, r)

    items = [(i, *ends) for i, motion in enumerate(problem.models) for ends in stretches(motion)]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = list(mapping(one, items))
        parts: list[list[np.ndarray]] = [[] for _ in problem.models]
        for (number, *_), (gap, _) in zip(items, found, strict=True):
            parts[number].append(gap)
        gaps = tuple(np.concatenate(each) for each in parts)
        return evaluated(problem, at, gaps, sum(cost for _, cost in found))


def _gathered(problem: ShootingProblem, theta: Vector, rolled: Iterable[Any]) -> Evaluation:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        x, w, costs, gaps = zip(*rolled, strict=True)
        return evaluated(problem, Trajectories(x, w, theta), gaps, sum(costs))


def _feedback(policy: Policy, dtheta: Vector, alpha: float) -> Callable[[int, np.ndarray], np.ndarray]:
    """w_k+ - w_k of a stage, given its number and dx_k+."""
    ahead = -alpha * (policy.k + policy.P @ dtheta)

    def change(stage: int, dx: np.ndarray) -> np.ndarray:
        return ahead[stage] - policy.K[stage] @ dx

    return change


def _simulate(
    motion: TrajectoryModel,
    x_0: Vector,
    w: np.ndarray,
    theta: Vector,
    kept: np.ndarray,
    old: np.ndarray | None = None,
    feedback: Callable[[int, np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """States, noise and cost from the first node on; ends early, with infinite cost, where the motion diverges."""
    manifold, N = motion.manifold, motion.stages
    x, w = np.empty((N + 1, manifold.size)), w.copy()
    x[0], cost = x_0, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for k in range(N):
            here = x[k : k + 1]
            if feedback is not None and old is not None:
                w[k] += feedback(k, manifold.difference(old[k : k + 1], here)[0])
            f, r = motion.evaluate(k, here, w[k : k + 1], theta)
            cost += stage_cost(motion, k, w[k : k + 1], r)
            x[k + 1] = manifold.integrate(f, -kept[k : k + 1])[0] if kept[k].any() else f[0]
            if not np.isfinite(x[k + 1]).all():
                x[k + 1 :] = x[k]
                return x, w, np.inf
    return x, w, cost
