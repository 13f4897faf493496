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
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .local import Evaluation, evaluated, stage_cost, stretches
from .problem import ShootingProblem, Trajectories

if TYPE_CHECKING:
    from .direction import SearchDirection


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
