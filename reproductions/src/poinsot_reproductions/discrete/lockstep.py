"""The damped Gauss-Newton iteration of `poinsot.solve`, of B problems in step with each other, for devices.

Each problem has a search of its own (`GaussNewton.search`), which is suspended where it needs a direction or a trial.
Each pass computes the steps of all problems in one call and linearizes at the trials of all in another, so that an
accelerator is filled; searches that did not ask, or have ended, leave their answers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from poinsot.solve import DampedStep, GaussNewton, Minimum, ProgressCallback, Search, Stop, report


class Equations(Protocol):
    """The linear algebra of B problems; points and trials are opaque to the iteration."""

    def start(self) -> Any:
        """The initial guesses, as trials."""

    def evaluate(self, trial: Any) -> tuple[Any, Float[np.ndarray, "B"]]:
        """Linearize at trials: the new points, and half of the sums of their squared residuals."""

    def advance(self, accepted: np.ndarray, new: Any, old: Any | None) -> Any:
        """The new points where accepted, the old ones elsewhere; without old ones all are new."""

    def step(self, point: Any, damping: Float[np.ndarray, "B"]) -> tuple[Any, Float[np.ndarray, "B"]]:
        """Trials, and the decreases of the cost that they predict; NaN where the Hessian is not positive definite."""


@dataclass(frozen=True, eq=False)
class Place:
    """A point or a trial of one problem, as an iterate."""

    cost: float

    infeasibility = 0.0
    largest_gap = 0.0
    theta = np.zeros(0)  # not recorded: parameters of all problems stay where they are computed

    def direction(self, damping: float) -> Any:
        """Not the direction, but the request for it."""
        return StepRequest(self, damping)


@dataclass(frozen=True, eq=False)
class StepRequest:
    """What a search waits for: the step from a place."""

    start: Place
    damping: float


@dataclass(frozen=True, eq=False)
class PooledStep(DampedStep[Place]):
    """The step of one problem."""

    decrease: float

    def predicted(self, alpha: float) -> float:
        return self.decrease

    def trial(self, alpha: float) -> Any:
        """Not the trial, but the request for it: this step."""
        return self


def minimize_all(
    equations: Equations,
    method: GaussNewton,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> tuple[Any, list[Minimum[Place]]]:
    """Iterate until each problem has ended: the points of the equations there, and the end of each search."""
    new, costs = equations.evaluate(equations.start())
    trials = _places(costs)
    # without old points there is nothing to compare with: all are accepted
    point = equations.advance(np.ones(len(trials), dtype=bool), new, None)
    searches = [method.search(place, stop) for place in trials]
    requests = [_resumed(search, None) for search in searches]
    passes = 0
    while not all(isinstance(request, Minimum) for request in requests):
        damping = np.array(
            [request.damping if isinstance(request, StepRequest) else 1.0 for request in requests]
        )
        trial, predicted = equations.step(point, damping)
        for b, request in enumerate(requests):
            if isinstance(request, StepRequest):
                step = PooledStep(float(predicted[b])) if np.isfinite(predicted[b]) else None
                requests[b] = _resumed(searches[b], step)
        # a search may ask for another step at once, with another damping: it waits for the next pass
        tried = [isinstance(request, PooledStep) for request in requests]
        if not any(tried):
            continue
        new, costs = equations.evaluate(trial)
        trials = _places(costs)
        for b in np.flatnonzero(tried).tolist():
            requests[b] = _resumed(searches[b], trials[b])
        # a search that goes on from its trial, or ends there, has accepted it
        stands = [request.start if isinstance(request, StepRequest) else request.at for request in requests]
        accepted = [own is place for own, place in zip(stands, trials, strict=True)]
        point, passes = equations.advance(np.array(accepted), new, point), passes + 1
        del new  # as large as all that the next pass needs
        report(progress, "iterating", iteration=passes, cost=float(np.mean([place.cost for place in stands])))
    return point, requests


def _places(costs: Float[np.ndarray, "B"]) -> list[Place]:
    return [Place(cost) for cost in np.where(np.isfinite(costs), costs, np.inf).tolist()]


def _resumed(search: Search[Place], answer: Any) -> Any:
    """What a search waits for next; a `Minimum` where it ends."""
    try:
        return search.send(answer)
    except StopIteration as end:
        return end.value
