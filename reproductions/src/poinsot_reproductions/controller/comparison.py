"""Pairs of logs of the arm in its loop, compared: what is called different when nothing changed, and when a mass did.

Each pair has three logs with different motions: A and B of the same arm, and C of an arm of which one link is heavier
or lighter. The change dm of its mass is such that the base parameter x that shows it best changes by five standard
deviations of the difference, as the comparison of A with B states it:

    dm = 5 s_x / |dx/dm|,   x the parameter with the largest |dx/dm| / s_x

Inertias change in proportion to the mass. No parameter of B is to be called different from A; of C one that the mass
changes is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from poinsot import ButterworthDecimation, Estimate, InverseDynamics, LeastSquares
from poinsot.arrays import Vector
from poinsot.regression.regressor import Regressor
from poinsot.stopwatch import Stopwatch
from poinsot.studies.comparison import Comparison
from poinsot.studies.study import Study

from ..case import Reproduction, Say
from . import arm
from .feedforward import SECONDS, described_model
from .plant import Loop, Plant, drawn_motion

PAIRS = 20
UNCHANGED = 1e-9
"""Change of a parameter with the mass, relative to that of the one that shows it best, which is rounding."""
CHANGE = 5.0
"""Standard deviations of the difference by which a parameter changes."""
SIGNALS = ButterworthDecimation(cutoff_hz=20, decimate_hz=10)
STATES = 200
"""Random states of the arm that show how a mass changes base parameters."""


@dataclass(frozen=True)
class Draw:
    """A pair of logs. `number`: of the pair. `seed`: of the case."""

    number: int
    seed: int


def run(seed: int, *, say: Say, pairs: int = PAIRS) -> Reproduction:
    """Compare `pairs` pairs of an unchanged and of a changed arm."""
    watch = Stopwatch()
    jobs = {f"pair {k + 1}": Draw(k, seed) for k in range(pairs)}
    found = Study(jobs, compare_draw, unit="pairs compared").run(say=say)
    watch.lap("pairs")
    rows = tuple({"name": name} | dict(result) for name, result in found.items())
    compared, called = (sum(row[key] for row in rows) for key in ("compared", "called"))
    figures = {
        "unchanged_called_percent": 100 * called / compared,
        "unchanged_pairs_called_percent": 100 * float(np.mean([row["called"] > 0 for row in rows])),
        "changed_found_percent": 100 * float(np.mean([row["found"] for row in rows])),
        "changed_found_in_parameter_percent": 100
        * float(np.mean([row["found_in_parameter"] for row in rows])),
        "pairs": pairs,
    }
    shown = [
        {
            "pair": row["name"],
            "called different, of": f"{row['called']} of {row['compared']}",
            "changed link": row["link"],
            "change [kg]": round(row["change_kg"], 3),
            "shown by": row["parameter"],
            "found": "yes" if row["found"] else "no",
        }
        for row in rows
    ]
    return Reproduction(
        "controller-comparison",
        str(seed),
        "Two results compared",
        f"In {pairs} pairs of logs of the same arm {called} of {compared} parameters are called different "
        f"({figures['unchanged_called_percent']:.2f} %); a mass changed by five standard deviations of the difference "
        f"is found in {figures['changed_found_percent']:.0f} %.",
        rows,
        {"Pairs of logs": shown},
        figures,
        {"unchanged, called different [%]": f"{figures['unchanged_called_percent']:.2f}",
         "pairs with one called different [%]": f"{figures['unchanged_pairs_called_percent']:.1f}",
         "changed, found [%]": f"{figures['changed_found_percent']:.0f}"},
        notes=(
            "A change is found if a parameter that depends on the mass is called different; the one that shows it best "
            f"is itself called different in {figures['changed_found_in_parameter_percent']:.0f} %.",
        ),
        seconds={"total": watch.seconds["pairs"]},
    )  # fmt: skip


def compare_draw(draw: Draw) -> dict[str, Any]:
    """How many unchanged parameters were compared and called different, and whether a changed mass was found."""
    rng = np.random.default_rng([draw.seed, 2, draw.number])
    masses = arm.column("mass")
    first, second = (identified(masses, rng) for _ in range(2))
    unchanged: Comparison = first.compare(second)
    k = int(rng.integers(1, len(masses)))  # of the first link only the inertia about its axis shows
    slopes = mass_slopes(first, k)
    std = {one.name: one.difference_std for one in unchanged.parameters}
    parameter = max(std, key=lambda name: abs(slopes[name]) / std[name])
    change = CHANGE * std[parameter] / abs(slopes[parameter])
    # a link does not lose more than half its mass
    change *= rng.choice([-1.0, 1.0]) if change < 0.5 * masses[k] else 1.0
    changed: Comparison = first.compare(identified(masses + change * np.eye(len(masses))[k], rng))
    return {
        "compared": len(unchanged.parameters),
        "called": len(unchanged.different),
        "link": arm.LINKS[k].link,
        "change_kg": float(change),
        "parameter": parameter,
        "found": any(abs(slopes[name]) > UNCHANGED * abs(slopes[parameter]) for name in changed.different),
        "found_in_parameter": parameter in changed.different,
    }


def identified(masses: Vector, rng: np.random.Generator) -> Estimate:
    """The arm with these masses (n,), identified from a log of a motion that is drawn."""
    with TemporaryDirectory() as folder:
        arm.write_job(Path(folder))
        robot = arm.loaded(Path(folder) / arm.DESCRIPTION)
    log = Loop(Plant(masses), drawn_motion(rng, SECONDS), described_model(), rng).run().recording
    return LeastSquares(weighting="per-joint").solve(InverseDynamics(robot, log, SIGNALS))


def mass_slopes(estimate: Estimate, link: int) -> dict[str, float]:
    """Base parameter -> its change for each kilogram that a link is heavier, at the same density.

    With random states W theta = W_base x for all parameters theta of the bodies, so dx/dm solves W_base dx = W dtheta.
    """
    dynamics = estimate.dynamics
    robot, names = dynamics.robot, dynamics.parameters
    q, v, a = np.random.default_rng(0).uniform(-2, 2, (3, STATES, len(robot.joints)))
    W = Regressor(robot, names).dense(robot.configurations(q), v, a).reshape(-1, len(names))
    body = robot.inertials[link]
    ten = slice(10 * link, 10 * link + 10)
    by_mass = W[:, ten] @ (body / body[0])
    slopes = np.linalg.lstsq(W[:, dynamics.columns], by_mass, rcond=None)[0]
    return dict(zip(estimate.names, slopes.tolist(), strict=True))
