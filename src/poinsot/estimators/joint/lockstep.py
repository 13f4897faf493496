"""The damped Gauss-Newton iteration of `poinsot.solve`, of B problems in step with each other, for devices.

It does for each problem what `GaussNewton.minimize` does without a line search and without constraints, by the same
rules of damping, stopping and stalling. What differs is who waits: each pass evaluates the trials of all problems in
one call and computes the steps of all in another, so that an accelerator is filled; problems that have ended idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from ...estimate import Status
from ...solve import GainRatio, GaussNewton, ProgressCallback, Stop, report, stop_requested


class Equations(Protocol):
    """The linear algebra of B problems; points and trials are opaque to the iteration."""

    count: int

    def start(self) -> Any:
        """The initial guesses, as trials."""

    def evaluate(self, trial: Any) -> tuple[Any, Float[np.ndarray, "B"]]:
        """Linearize at trials: the new points, and half of the sums of their squared residuals."""

    def advance(self, accepted: np.ndarray, new: Any, old: Any | None) -> Any:
        """The new points where accepted, the old ones elsewhere; without old ones all are new."""

    def step(self, point: Any, damping: Float[np.ndarray, "B"]) -> tuple[Any, Float[np.ndarray, "B"]]:
        """Trials, and the decreases of the cost that they predict; NaN where the Hessian is not positive definite."""


@dataclass(frozen=True, eq=False)
class Minima:
    """Where B problems ended: points of the equations, half of the sums of squares, accepted steps, and how."""

    point: Any
    cost: Float[np.ndarray, "B"]
    iterations: np.ndarray
    statuses: tuple[Status, ...]


def minimize_all(
    equations: Equations,
    method: GaussNewton,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> Minima:
    """Iterate until each problem has ended."""
    rule, B = method.damping, equations.count
    assert isinstance(rule, GainRatio)
    point, cost = equations.evaluate(equations.start())
    point = equations.advance(np.ones(B, dtype=bool), point, None)
    damping, failures, iterations = np.full(B, rule.first), np.zeros(B, dtype=int), np.zeros(B, dtype=int)
    undamped = np.zeros(B, dtype=bool)  # whether the damping was taken away since the last accepted step
    status: list[Status | None] = [None if finite else Status.diverged for finite in np.isfinite(cost)]

    def running() -> np.ndarray:
        return np.array([each is None for each in status])

    def end(which: np.ndarray, how: Status) -> None:
        for b in np.flatnonzero(which & running()).tolist():
            status[b] = how

    def raise_damping(which: np.ndarray, at_most: Status) -> None:
        end(which & (damping >= rule.most), at_most)
        failures[which] += 1
        for b in np.flatnonzero(which).tolist():
            damping[b] = min(rule.rejected(float(damping[b]), int(failures[b])), rule.most)

    while True:
        end(iterations >= method.max_iterations, Status.step_limit)
        if stop_requested(stop):
            end(np.ones(B, dtype=bool), Status.interrupted)
        active = running()
        if not active.any():
            return Minima(point, cost, iterations, tuple(each for each in status if each is not None))
        trial, predicted = equations.step(point, damping)
        defined = np.isfinite(predicted)
        raise_damping(active & ~defined, Status.indefinite)
        short = active & defined & (np.abs(predicted) <= method.relative_tolerance * cost)
        end(short & (damping <= rule.little), Status.solved)
        end(short & undamped, Status.stalled)
        again = short & running()  # damping makes any step short: look at the full one, once
        damping[again], undamped[again] = rule.little, True
        tried = active & defined & ~short
        if not tried.any():
            continue
        new, reached = equations.evaluate(trial)
        accepted = tried & (reached < cost)
        point = equations.advance(accepted, new, point)
        for b in np.flatnonzero(accepted).tolist():
            gain = float(cost[b] - reached[b]) / float(predicted[b])
            damping[b] = rule.accepted(float(damping[b]), gain, 1.0)
        cost = np.where(accepted, reached, cost)
        iterations[accepted] += 1
        failures[accepted], undamped[accepted] = 0, False
        near = predicted <= method.kink_factor * method.relative_tolerance * cost
        end(tried & ~accepted & near & (damping <= rule.little), Status.solved)
        raise_damping(tried & ~accepted & running(), Status.stalled)
        report(progress, "iterating", iteration=int(iterations.max()), cost=float(cost.mean()))
