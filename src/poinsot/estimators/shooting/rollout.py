"""Three rollouts from one guess to the next with step length alpha (Martinez et al. 2024, Sect. V-D).

    all                     x_0+ = x_0 [+] alpha dx_0,   theta+ = theta + alpha dtheta                       (Eq. 32)
    single shooting         w_k+ = w_k - alpha kbar_k - K_k dx_k+,   x_{k+1}+ = f(x_k+, w_k+; theta+)
    feasibility-driven      the same w_k+,   x_{k+1}+ = f(x_k+, w_k+; theta+) [+] (alpha - 1) gap_k          (Eq. 33)
    multiple shooting       w_k+ = w_k + alpha dw_k,   x_{k+1}+ = x_{k+1} [+] alpha dx_{k+1}                 (Eq. 34)

with kbar = k + P dtheta and dx_k+ = x_k+ [-] x_k. Single shooting has no gaps; the feasibility-driven rollout keeps
(1 - alpha) of each; multiple shooting evaluates the remaining gaps at all nodes at once. The first two go from node to
node: they correct what a nonlinear model does to the step, and amplify it where the motion is unstable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .problem import ShootingProblem, Trajectories, TrajectoryModel

if TYPE_CHECKING:
    from .direction import SearchDirection


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


class Rollout(ABC):
    """From a guess and a direction to the next guess."""

    name: str

    def begin(self, problem: ShootingProblem, guess: Trajectories) -> Evaluation:
        """The evaluation of a guess, made consistent if the rollout needs that."""
        return evaluate(problem, guess)

    @abstractmethod
    def roll(
        self, problem: ShootingProblem, now: Evaluation, direction: SearchDirection, alpha: float
    ) -> Evaluation:
        """The guess that a step of length `alpha` leads to."""


@dataclass(frozen=True)
class MultipleShooting(Rollout):
    """Every node steps by itself; gaps close as the dynamics permit. It takes any guess, and nodes in parallel."""

    name = "multiple"

    def roll(
        self, problem: ShootingProblem, now: Evaluation, direction: SearchDirection, alpha: float
    ) -> Evaluation:
        at, step = now.at, direction.step
        moved = zip(problem.models, at.x, step.x, strict=True)
        x = tuple(model.manifold.integrate(old, alpha * dx) for model, old, dx in moved)
        w = tuple(old + alpha * dw for old, dw in zip(at.w, step.w, strict=True))
        return evaluate(problem, Trajectories(x, w, at.theta + alpha * step.theta))


@dataclass(frozen=True)
class FeasibilityDriven(Rollout):
    """Node after node, with the policy's feedback. Gaps close as a whole, however nonlinear the dynamics."""

    name = "feasible"

    closes_all: ClassVar[bool] = False
    """Whether a step leaves no gap, and not the part 1 - alpha of each."""

    def roll(
        self, problem: ShootingProblem, now: Evaluation, direction: SearchDirection, alpha: float
    ) -> Evaluation:
        at, step, ahead = now.at, direction.step, alpha * np.append(direction.step.theta, 1.0)
        moved = zip(problem.models, at.x, step.x, strict=True)
        first = tuple(model.manifold.integrate(x[:1], alpha * dx[:1]) for model, x, dx in moved)
        gaps = tuple((0.0 if self.closes_all else 1.0 - alpha) * gap for gap in now.gaps)

        def feedback(recording: int, k: int, state: np.ndarray) -> np.ndarray:
            """w_k+ - w_k."""
            dx = problem.models[recording].manifold.difference(at.x[recording][k : k + 1], state)[0]
            return -direction.policies[recording].gains[k] @ np.concatenate([dx, ahead])

        return _simulate(problem, Trajectories(first, at.w, at.theta + alpha * step.theta), gaps, feedback)


@dataclass(frozen=True)
class SingleShooting(FeasibilityDriven):
    """No gaps, ever: of the states of the guess only the first counts."""

    name = "single"
    closes_all = True

    def begin(self, problem: ShootingProblem, guess: Trajectories) -> Evaluation:
        closed = tuple(np.zeros((model.stages, model.manifold.degrees)) for model in problem.models)
        return _simulate(problem, guess, closed, lambda recording, k, state: 0.0)


def evaluate(problem: ShootingProblem, at: Trajectories) -> Evaluation:
    """Cost and gaps of a guess, all nodes at once."""
    gaps, cost = [], 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # a trial may go anywhere: what is not finite is refused by its infinite cost
        for model, x, noise in zip(problem.models, at.x, at.w, strict=True):
            parts = []
            for first, last in stretches(model):
                w = noise[first:last]
                f, r = model.evaluate(first, x[first:last], w, at.theta)
                parts.append(model.manifold.difference(x[first + 1 : last + 1], f))
                cost += stage_cost(model, first, w, r)
            gaps.append(np.concatenate(parts))
        return evaluated(problem, at, tuple(gaps), cost)


def _simulate(
    problem: ShootingProblem,
    at: Trajectories,
    gaps: Sequence[np.ndarray],
    feedback: Callable[[int, int, np.ndarray], np.ndarray | float],
) -> Evaluation:
    """Simulate each recording from the first state, noise and theta of `at`, with these gaps.

    `feedback` gives what is added to the noise of a recording at a stage, where the state is another one. Where the
    motion diverges the simulation ends, with infinite cost.
    """
    xs, ws, cost = [], [], 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for recording, (model, given, noise, gap) in enumerate(
            zip(problem.models, at.x, at.w, gaps, strict=True)
        ):
            manifold, N = model.manifold, model.stages
            x, w = np.empty((N + 1, manifold.size)), noise.copy()
            x[0] = given[0]
            for k in range(N):
                state = x[k : k + 1]
                w[k] += feedback(recording, k, state)
                f, r = model.evaluate(k, state, w[k : k + 1], at.theta)
                cost += stage_cost(model, k, w[k : k + 1], r)
                # moving by 0 would round the state
                x[k + 1] = manifold.integrate(f, -gap[k : k + 1])[0] if gap[k].any() else f[0]
                if not np.isfinite(x[k + 1]).all():
                    x[k + 1 :] = x[k]  # finite, so that gaps and priors can be computed
                    cost = np.inf
                    break
            xs.append(x)
            ws.append(w)
        return evaluated(problem, Trajectories(tuple(xs), tuple(ws), at.theta), tuple(gaps), cost)
