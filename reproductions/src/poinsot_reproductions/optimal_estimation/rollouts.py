"""Table I: single shooting, feasibility-driven and multiple shooting from the same random guesses.

One motion of each system, one body unknown. `solved` counts what the solver says it solved (`Status.converged`) within
its iterations, whichever minimum that is; iterations, cost and error are over these. The error is the largest component
of the estimated states' difference from the true ones, which has speeds in it, in SI units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.rollout import FeasibilityDriven, MultipleShooting, Rollout, SingleShooting
from poinsot.stopwatch import Stopwatch
from poinsot.studies.store import Store
from poinsot.studies.study import Study

from ..case import Reproduction, Say
from ..presentation import costs_by_iteration, counted, finite, fixed
from .guesses import HEAVIEST, LIGHTEST, SPREAD, random_guess
from .systems import (
    NOISE,
    SYSTEMS,
    Flown,
    fly,
)

GUESSES = 100
MAX_STEPS = 200
ROBOTS = ("Kinova", "Quadrotor", "ANYmal")
ROLLOUTS: Mapping[str, Rollout] = {
    rollout.name: rollout for rollout in (SingleShooting(), FeasibilityDriven(), MultipleShooting())
}
PAPER: Mapping[tuple[str, str], tuple[float, float, float] | None] = {
    ("Kinova", "single"): (39.7, 0.278, 3.11),
    ("Kinova", "feasible"): (44.7, 0.116, 3.12),
    ("Kinova", "multiple"): (99.4, 0.061, 2.67),
    ("Quadrotor", "single"): (140.9, 0.012, 10.74),
    ("Quadrotor", "feasible"): (150.1, 0.026, 10.74),
    ("Quadrotor", "multiple"): (16.9, 0.007, 10.74),
    ("ANYmal", "single"): None,
    ("ANYmal", "feasible"): (198.3, 0.022, 6.12),
    ("ANYmal", "multiple"): (14.1, 0.001, 6.02),
}
"""Iterations, cost and error; None: not solved."""
COST_DIGITS = 4
"""Costs are half of chi-square, of the order of 1000 with a spread of 30; the tolerance leaves them 1e-9."""


@dataclass(frozen=True)
class Job:
    """One solve.

    Args:
        system, rollout: which.
        guess: number of the guess, from 0.
        seed: of the case.
    """

    system: str
    rollout: str
    guess: int
    seed: int


def attempt(job: Job) -> dict[str, Any]:
    """Solve from one guess: `ending`, `converged`, `iterations`, `cost`, `error` and `costs` of the iterations."""
    flown = _flown(job.system, job.seed)
    parameters = flown.system.parameters(flown.system.open_bodies)
    guess = random_guess(flown, parameters, _stream(job.seed, job.system, 1 + job.guess))
    problem = flown.problem(parameters, guess.theta)
    with np.errstate(over="ignore", invalid="ignore"):  # a rollout may run away
        solution = DDP(ROLLOUTS[job.rollout], max_iterations=MAX_STEPS).solve(problem, guess)
    away = flown.system.states.difference(flown.x, solution.at.x[0])
    return {
        "ending": solution.status.name,
        "converged": solution.status.converged,
        "iterations": solution.iterations,
        "cost": finite(solution.cost),
        "error": finite(np.abs(away).max()),
        "costs": [finite(cost) for cost in solution.costs],
    }


@cache
def _flown(system: str, seed: int) -> Flown:
    return fly(SYSTEMS[system](), _stream(seed, system, 0))


def _stream(seed: int, system: str, number: int) -> np.random.Generator:
    """A random stream for each motion and guess, so that results do not depend on the order of execution."""
    return np.random.default_rng([seed, list(SYSTEMS).index(system), number])


def run(
    seed: int,
    guesses: int | None = None,
    robots: Sequence[str] = ROBOTS,
    executor: Executor | None = None,
    folder: Path | None = None,
    quick: bool = False,
    say: Say = lambda _: None,
) -> Reproduction:
    """All rollouts from the same guesses.

    Args:
        seed: of motions, noise and guesses.
        guesses: of each system; None: 100, or 4 if `quick`.
        robots: which systems.
        executor: of the solves; None: processes of its own.
        folder: where to keep what is done; None: the user's cache.
        quick: a few guesses, and nothing kept.
    """
    watch = Stopwatch()
    guesses = guesses or (4 if quick else GUESSES)
    jobs = {
        f"{system} {rollout} {guess}": Job(system, rollout, guess, seed)
        for system in robots
        for rollout in ROLLOUTS
        for guess in range(guesses)
    }
    store = None if quick else Store("rollouts", _settings(seed), folder)
    # single shooting takes longest: it starts first, so that no process is left alone with it at the end
    slowest_first = dict(sorted(jobs.items(), key=lambda item: item[1].rollout != "single"))
    found = Study(slowest_first, attempt).run(executor, store, say=say)
    watch.lap("solves")
    rows = tuple(
        _row(system, rollout, [found[f"{system} {rollout} {guess}"] for guess in range(guesses)])
        for system in robots
        for rollout in ROLLOUTS
    )
    return Reproduction(
        "optimal-estimation",
        "001",
        "Rollouts: iterations, cost and error from random initial guesses (Table I)",
        _lead(rows),
        rows,
        {"Rollouts": [_readable(row) for row in rows], "Endings": [_endings(row) for row in rows]},
        _figures(rows),
        _facts(robots),
        curves={
            f"Cost of the first guess: {system}": costs_by_iteration(
                {rollout: found[f"{system} {rollout} 0"]["costs"] for rollout in ROLLOUTS}
            )
            for system in robots
        },
        notes=NOTES,
        seconds=watch.seconds,
    )


def _settings(seed: int) -> dict[str, Any]:
    """All that a result depends on."""
    return {
        "seed": seed,
        "steps": MAX_STEPS,
        "method": {name: str(asdict(DDP(rollout))) for name, rollout in ROLLOUTS.items()},
        "noise": NOISE,
        "guess": (SPREAD, LIGHTEST, HEAVIEST),
    }


def _row(system: str, rollout: str, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    solved = [result for result in results if result["converged"]]
    paper = PAPER.get((system, rollout))
    iterations, costs, errors = (
        np.array([each[key] for each in solved]) for key in ("iterations", "cost", "error")
    )
    named = None if paper is None else dict(zip(("iterations", "cost", "error"), paper, strict=True))
    return {
        "name": f"{system}, {rollout}",
        "system": system,
        "rollout": rollout,
        "guesses": len(results),
        "solved": len(solved),
        "iterations_mean": float(iterations.mean()) if solved else None,
        "iterations_std": float(iterations.std()) if solved else None,
        "cost_mean": round(float(costs.mean()), COST_DIGITS) if solved else None,
        "error_mean": float(errors.mean()) if solved else None,
        "endings": counted(each["ending"] for each in results),
        "ours": float(iterations.mean()) if solved else None,
        "paper": None if paper is None else paper[0],
        "unit": "iterations",
        "paper_table": named,
    }


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    mean, std = row["iterations_mean"], row["iterations_std"]
    return {
        "system": row["system"],
        "rollout": row["rollout"],
        "solved": f"{row['solved']} of {row['guesses']}",
        "iterations": "-" if mean is None else f"{mean:.1f} +- {std:.1f}",
        "in the paper": "not solved" if row["paper"] is None else f"{row['paper']:.1f}",
        "cost": fixed(row["cost_mean"], 2),
        "largest error": fixed(row["error_mean"], 3),
    }


def _endings(row: Mapping[str, Any]) -> dict[str, Any]:
    endings = ", ".join(f"{name} {count}" for name, count in row["endings"].items())
    return {"system": row["system"], "rollout": row["rollout"], "how they ended": endings}


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    multiple = {row["system"]: row for row in rows if row["rollout"] == "multiple"}
    costs = [(row["cost_mean"], multiple[row["system"]]["cost_mean"]) for row in rows]
    return {
        "multiple_solved_fraction": {name: row["solved"] / row["guesses"] for name, row in multiple.items()},
        "multiple_iterations": {name: row["iterations_mean"] for name, row in multiple.items()},
        "single_solved_fraction": {
            row["system"]: row["solved"] / row["guesses"] for row in rows if row["rollout"] == "single"
        },
        "multiple_has_lowest_cost": all(
            ours is not None and (cost is None or ours <= cost) for cost, ours in costs
        ),
    }


def _facts(robots: Sequence[str]) -> dict[str, Any]:
    horizons = {}
    for name in robots:
        system = SYSTEMS[name]()
        horizons[f"horizon of {name}"] = (
            f"{system.samples} samples, {(system.samples - 1) * system.period:.2f} s, unknown: "
            f"{', '.join(system.open_bodies)}"
        )
    return horizons | {
        "initial guesses, states": f"measured, +- {SPREAD[0]} rad and m, +- {SPREAD[1]} rad/s and m/s",
        "initial guesses, bodies": f"true ones times {LIGHTEST} to {HEAVIEST}, uniform",
        "solved": f"a full step shorter than {DDP().step_tolerance:g} standard deviations and gaps below "
        f"{DDP().gap_tolerance:g}, within {MAX_STEPS} iterations",
    }


def _lead(rows: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for row in rows:
        if row["rollout"] == "multiple" and row["iterations_mean"] is not None:
            single = next(r for r in rows if r["system"] == row["system"] and r["rollout"] == "single")
            parts.append(
                f"{row['system']}: multiple shooting solves {row['solved']} of {row['guesses']} guesses in "
                f"{row['iterations_mean']:.1f} iterations, single shooting {single['solved']}"
            )
    return "; ".join(parts) + "."


NOTES = (
    "Steps of theta are measured by 1 in every coordinate. `poinsot identify` measures lengths of a chart by the size "
    "of the body, with which single shooting solves about half of ANYmal's guesses, and multiple shooting all of "
    "Kinova's.",
    "Guesses are what a user has: states as they were measured, with errors of fifty encoders' noises on top, and a "
    "body of another density. All rollouts get identical ones. Single shooting has no use for the states but the "
    "first: it plays the recorded commands from there through the wrong robot.",
    "The motions, noise levels, horizons and the scale of the cost are ours; the paper does not give its own. Compare "
    "rollouts within a system.",
    "Costs are half of chi-square, rounded to 1e-4. Where rollouts end in the same minimum they have the same cost; "
    "the mean is over the solves that ended, and a local minimum counts as one.",
    "On a system without contacts, in a motion that does not run away, single shooting is as good as any: its "
    "feedback gains keep it close. What defeats it is a first rollout that leaves the neighbourhood of the motion.",
)
