"""Coverage of the intervals of J/m and friction, over many different throws of an ellipse.

The body is the paper's ellipse (Sect. 6.1); J/m, friction, restitution, pose, velocity, spin and frame rate are others
each time, and noise is 1 mm on x and y and 0.02 rad on the angle. A throw is simulated in steps of less than a
microsecond, not by the events that the estimator follows, and drawn again until the body strikes at least twice within
its half second. The estimator gets times, poses, shape and floor. In some of the throws a known force and a moment act
beside gravity, about half the weight, which the estimator gets as well: then mass and J are estimated.

Intervals are of 95 %, from the curvature of the sum of squares at its minimum, with the noise that the estimate found.
J/m, J and mass have theirs in logarithms. Friction counts where the estimate says that it is identifiable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from poinsot import ImpactIdentification
from poinsot.estimators.impacts.drop import DropFit, fitted_drops
from poinsot.estimators.impacts.shooting import FRICTION, INERTIA, MASS, RESTITUTION
from poinsot.exceptions import PoinsotError
from poinsot.models.planar import PlanarBody, floor
from poinsot.models.planar.body import GRAVITY
from poinsot.models.planar.drop import Drop
from poinsot.stopwatch import Stopwatch
from poinsot.studies.store import Store
from poinsot.studies.study import Study

from ..case import Curves, Reproduction, Say
from ..normalized_errors import BAND, covered_band, held, share_of
from ..presentation import coverage_curves
from .stepping import simulate
from .table import MASS as WEIGHED, NOISE, SECONDS, SHAPE, STEPS_PER_SECOND

TRIALS = {"free": 300, "with a known force": 100}
FEW = {"free": 12, "with a known force": 4}
RATES = (60, 120, 240)
STRIKES = 2
PUSH = 0.5
"""Known forces, in weights of the body; moments at its size."""
CHANGES = np.array([2.0, 3.0, 1.5])
"""Of the force in x, in y and of the moment [Hz]."""


@dataclass(frozen=True)
class Job:
    """One throw.

    Args:
        kind: of `TRIALS`. number: from 0. seed: of the case.
    """

    kind: str
    number: int
    seed: int


@dataclass(frozen=True, eq=False)
class Throw:
    """A drop and its truth.

    Args:
        inertia_to_mass: [m^2].
    """

    drop: Drop
    inertia_to_mass: float
    friction: float
    restitution: float


def throw(job: Job) -> Throw:
    """Simulate a throw that strikes often enough."""
    rng = np.random.default_rng([job.seed, list(TRIALS).index(job.kind), job.number])
    while True:
        rate = int(rng.choice(RATES))
        times = np.arange(round(SECONDS * rate) + 1) / rate
        inertia, friction, restitution = rng.uniform([5e-4, 0.15, 0.1], [1.1e-3, 0.9, 0.5])
        aim, speed = rng.uniform(0.6, 1.3), rng.uniform(3, 7)
        pose = np.array([0.0, rng.uniform(0.08, 0.2), rng.uniform(-np.pi / 2, np.pi / 2)])
        velocity = np.array([speed * np.cos(aim), -speed * np.sin(aim), rng.uniform(-15, 15)])
        forces = None
        if job.kind != "free":
            turns = np.outer(times[:-1], CHANGES) + rng.uniform(0, 1, 3)
            forces = (
                PUSH * WEIGHED * GRAVITY * np.sin(2 * np.pi * turns) * np.sqrt(2) * [1, 1, SHAPE.size / 2]
            )
        body = PlanarBody(SHAPE, WEIGHED, WEIGHED * inertia, friction, restitution)
        each = STEPS_PER_SECOND // rate
        held = None if forces is None else np.repeat(forces, each, axis=0)
        motion = simulate(body, [floor()], pose, velocity, 1 / STEPS_PER_SECOND, SECONDS, forces=held)
        if strikes(motion.struck) >= STRIKES:
            poses = motion.poses[::each]
            noisy = poses + np.array(NOISE) * rng.standard_normal(poses.shape)
            return Throw(Drop("throw", times, noisy, forces), inertia, friction, restitution)


def strikes(struck: np.ndarray) -> int:
    """Number of impacts, from the places of the steps in which impulses act: those within 1 ms are one impact."""
    return int(len(struck) > 0) + int(np.sum(np.diff(struck) > 1e-3 * STEPS_PER_SECOND))


def attempt(job: Job) -> dict[str, Any]:
    """Estimate from one throw: errors in standard deviations, by name; None for what is not identifiable."""
    thrown = throw(job)
    try:
        fit = fitted_drops([thrown.drop], SHAPE, [floor()])
    except PoinsotError as error:
        return {"failed": str(error)}
    return {
        "failed": None,
        "rate": round(1 / thrown.drop.times[1]),
        "distrust": [each.message for each in fit.findings],
        "error_percent": 100 * float(fit.inertia_to_mass / thrown.inertia_to_mass - 1),
        "std_percent": 100 * float(np.sqrt(fit.posterior.covariance[INERTIA, INERTIA])),
        "off": _off(fit, thrown),
    }


def _off(fit: DropFit, of: Throw) -> dict[str, float | None]:
    P, theta = fit.posterior.covariance, fit.theta
    std = np.sqrt(np.diag(P))
    inertia = theta[INERTIA] - np.log(of.inertia_to_mass)
    off: dict[str, float | None] = {
        "J/m": float(inertia / std[INERTIA]),
        "friction": float((theta[FRICTION] - of.friction) / std[FRICTION])
        if fit.friction_bound is None
        else None,
        "restitution": float((theta[RESTITUTION] - of.restitution) / std[RESTITUTION]),
    }
    if fit.shooting.mass_is_estimated:
        mass = theta[MASS] - np.log(WEIGHED)
        both = std[INERTIA] ** 2 + std[MASS] ** 2 + 2 * P[INERTIA, MASS]
        off |= {"m": float(mass / std[MASS]), "J": float((inertia + mass) / np.sqrt(both))}
        if not fit.mass_identifiable:
            off |= {"m": None, "J": None}
    return off


# ---------------------------------------------------------------------------------------------------------- all throws


def run(
    seed: int,
    trials: Mapping[str, int] | None = None,
    executor: Executor | None = None,
    folder: Path | None = None,
    quick: bool = False,
    say: Say = lambda _: None,
) -> Reproduction:
    """Throw, estimate, and see what intervals hold.

    Args:
        seed: of throws and noise.
        trials: of each kind; None: 300 free ones and 100 with a known force, or 12 and 4 if `quick`.
        executor: of the solves; None: processes of its own.
        folder: where to keep what is done; None: the user's cache.
        quick: a few throws, and nothing kept.
    """
    watch = Stopwatch()
    trials = trials or (FEW if quick else TRIALS)
    jobs = {f"{kind} {k}": Job(kind, k, seed) for kind, count in trials.items() for k in range(count)}
    settings = {"seed": seed, "noise": NOISE, "method": str(ImpactIdentification())}
    store = None if quick else Store("impacts-statistics", settings, folder)
    found = Study(jobs, attempt).run(executor, store, say=say)
    watch.lap("solves")
    results = {kind: [found[f"{kind} {k}"] for k in range(count)] for kind, count in trials.items()}
    rows = tuple(judged(kind, each) for kind, each in results.items())
    return Reproduction(
        "impacts",
        "003",
        "Statistics of single drops: errors against their intervals",
        _lead(rows),
        rows,
        {"Share of 95 % intervals that hold the truth": [line for row in rows for line in _lines(row)]},
        _figures(rows),
        curves=_pictures(results),
        notes=NOTES,
        seconds=watch.seconds,
    )


def judged(kind: str, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row of throws of a kind."""
    solved = [each for each in results if each["failed"] is None]
    off = {
        name: [each["off"][name] for each in solved if each["off"][name] is not None]
        for name in (solved[0]["off"] if solved else ())
    }
    trusted = [each["off"]["J/m"] for each in solved if not each["distrust"]]
    errors = [abs(each["error_percent"]) for each in solved]
    return {
        "name": kind,
        "trials": len(results),
        "failed": len(results) - len(solved),
        "distrusted": len(solved) - len(trusted),
        "covered_percent": {name: 100 * held(values) for name, values in off.items() if values},
        "seen_in": {name: len(values) for name, values in off.items()},
        "covered_band_percent": {
            name: [100 * edge for edge in covered_band(len(values))] for name, values in off.items() if values
        },
        "covered_percent_of_trusted": 100 * held(trusted) if trusted else None,
        "mean_absolute_error_percent": float(np.mean(errors)) if errors else None,
        "median_std_percent": float(np.median([each["std_percent"] for each in solved])) if solved else None,
    }


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "covered_percent": {row["name"]: row["covered_percent"] for row in rows},
        "inertia_to_mass_covered_percent": rows[0]["covered_percent"].get("J/m"),
        "failed": sum(row["failed"] for row in rows),
        "distrusted": sum(row["distrusted"] for row in rows),
    }


def _lead(rows: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for row in rows:
        shares = ", ".join(f"{share:.1f} % of {name}" for name, share in row["covered_percent"].items())
        parts.append(
            f"{row['trials']} throws {row['name']}, {row['failed']} without an answer and {row['distrusted']} with a "
            f"warning: 95 % intervals hold the truth in {shares or 'no'}"
        )
    return "; ".join(parts) + "."


def _lines(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    lines = []
    for name, share in row["covered_percent"].items():
        low, high = row["covered_band_percent"][name]
        lines.append(
            {
                "throws": row["name"],
                "of": name,
                "seen in": f"{row['seen_in'][name]} of {row['trials']}",
                "hold the truth": f"{share:.1f} %",
                f"{100 * BAND:g} % band": f"{low:.1f} to {high:.1f} %",
                "inside": "yes" if low <= share <= high else "no",
            }
        )
    return lines


def _pictures(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Curves]:
    pictures = {}
    for kind, each in results.items():
        off = [result["off"] for result in each if result["failed"] is None]
        names = [name for name in (off[0] if off else ()) if any(one[name] is not None for one in off)]
        if not names:
            continue
        values = {name: [one[name] for one in off if one[name] is not None] for name in names}
        pictures[f"Intervals that hold the truth: throws {kind}"] = coverage_curves(
            names, partial(share_of, values)
        )
    return pictures


NOTES = (
    "Throws come from the estimator's law of impact, by a simulator of its own (fixed steps of 0.8 us): this tests "
    "whether intervals follow from the model, not whether the model is right. All estimates count, also those with a "
    "warning.",
    f"A band holds {100 * BAND:g} % of what chance does to one share.",
)
