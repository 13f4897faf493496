"""Figs. 13 and 14: restitution, and where the energy of an impact goes.

The throw of the 10 kg ellipse with impulse-restitution complementarity. Without friction an impact takes

    (1 - epsilon^2) (N^T v)^2 / (2 N^T M^-1 N)

and nothing where epsilon is 1. Between impacts a step takes m g^2 h^2 / 2, implicit Euler's drift, which the next
impact gives back: altogether at most m g^2 h T / 2 in T seconds, half as much in half the step.

Over a step the kinetic energy changes by (v + v+) / 2 . (G c + h f), so impulses do the work

    W_n = (v + v+)^T N c_n / 2,    W_t = (v + v+)^T T c_t / 2

With friction an impact costs more, though the point that strikes does not slide on: in the instant in which it is
stopped, the tangential impulse works on the slip that there was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from poinsot.models.planar.body import contacts, wall_array
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .paper_ellipse import FLOOR, SHAPE, THROW, drift_of, ellipse, height_along, moves
from .stepping import Motion

RESTITUTIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SHOWN = (0.0, 0.4, 0.8, 1.0)
FRICTIONS = (0.0, 0.5)
"""Smooth, and one that holds every point that strikes."""
STEP, SECONDS = 1e-3, 4.0
DRIFT_STEPS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)
"""For the drift of an elastic smooth throw."""
LISTED = 4
"""Impacts of each throw in the tables."""
FAST = 0.1
"""An impact is an approach at more than that [m/s]; below it the body lies on the floor."""


def run(
    seed: int = 0,
    restitutions: Sequence[float] = RESTITUTIONS,
    step: float = STEP,
    drift_steps: Sequence[float] = DRIFT_STEPS,
    say: Say = lambda _: None,
) -> Reproduction:
    """Throws over restitution, smooth and rough; nothing of it is random.

    Args:
        seed: of no use here.
        step: h [s].
        drift_steps: falling by halves [s].
    """
    watch = Stopwatch()
    say("throws")
    motions = {
        (friction, restitution): moves(ellipse(friction, restitution), THROW, step, SECONDS)
        for friction in FRICTIONS
        for restitution in restitutions
    }
    watch.lap("throws")
    say("drift")
    drifts = {step: elastic_drift(step) for step in drift_steps}
    watch.lap("drift")
    rows = [
        row
        for (friction, restitution), motion in motions.items()
        for row in _rows(friction, restitution, motion)
    ]
    figures = _figures(rows, motions, drifts, step)
    elastic = figures["drift_j"][f"{1e3 * drift_steps[-1]:g}"]
    return Reproduction(
        "impacts",
        "003",
        "Restitution and energy",
        "A smooth impact takes (1 - epsilon^2) of the energy of its approach, to "
        f"{figures['loss_error_percent']:.1f} %, which is the gravity of a step. An "
        f"elastic smooth throw of {SECONDS:g} s keeps its energy to {elastic:.2f} J in steps of "
        f"{1e3 * drift_steps[-1]:g} ms and half as well in steps twice as long.",
        tuple(rows),
        {
            "Impacts of the smooth ellipse": [
                _table_row(row) for row in rows if row["friction"] == 0 and row["impact"] <= LISTED
            ],
            f"Impacts with friction {FRICTIONS[-1]:g}": [
                _table_row(row) for row in rows if row["friction"] > 0 and row["impact"] <= LISTED
            ],
            "Elastic and smooth: how far the energy drifts": [
                {
                    "step [ms]": f"{1e3 * step:g}",
                    "drift [J]": f"{drift:.3f}",
                    "m g^2 h T / 2 [J]": f"{drift_of(step, SECONDS):.3f}",
                }
                for step, drift in drifts.items()
            ],
        },
        figures,
        {
            "step [s]": step,
            "seconds": SECONDS,
            "energy at the start [J]": round(float(next(iter(motions.values())).energy[0]), 3),
        },
        notes=(
            "The paper says that a tangential impulse has no time to dissipate energy. It does, by the slip before and "
            f"after it: at restitution 1 and friction {FRICTIONS[-1]:g} the first impact takes "
            f"{-_first(rows, FRICTIONS[-1], max(restitutions))['tangential_work_j']:.1f} J by it.",
        ),
        seconds=watch.seconds,
        curves=_pictures(motions, step),
    )


def elastic_drift(step: float) -> float:
    """The most by which the energy of the smooth throw with restitution 1 is off what it began with [J]."""
    energy = moves(ellipse(0.0, 1.0), THROW, step, SECONDS).energy
    return float(np.abs(energy - energy[0]).max())


def directions(motion: Motion, k: int) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """N and T of a step."""
    g, N, T = np.empty(1), np.empty((1, 3)), np.empty((1, 3))
    contacts(motion.poses[k], SHAPE.parts, SHAPE.harmonics, wall_array(FLOOR), g, N, T)
    return N[0], T[0]


def _rows(friction: float, restitution: float, motion: Motion) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for k in motion.struck.tolist():
        N, T = directions(motion, k)
        speed = float(N @ motion.velocities[k])
        if speed > -FAST:
            continue
        # by the mean of the velocities before and after: exact for the kinetic energy
        middle = motion.velocities[k : k + 2].mean(axis=0)
        work = tuple((motion.impulses[k, 0] * (np.array([N, T]) @ middle)).tolist())
        whole = 0.5 * speed**2 / float(N**2 @ (1 / ellipse(friction).inertias))
        rows.append(
            {
                "name": f"impact {len(rows) + 1}, friction {friction:g}, restitution {restitution:g}",
                "friction": friction,
                "restitution": restitution,
                "impact": len(rows) + 1,
                "time_s": float(motion.times[k]),
                "approach_m_s": -speed,
                "paper": None,
                "ours": sum(work),
                "unit": "J",
                "normal_work_j": work[0],
                "tangential_work_j": work[1],
                "expected_j": -(1 - restitution**2) * whole if friction == 0 else None,
            }
        )
    return rows


def _figures(
    rows: Sequence[Mapping[str, Any]],
    motions: Mapping[tuple[float, float], Motion],
    drifts: Mapping[float, float],
    step: float,
) -> dict[str, Any]:
    smooth = [row for row in rows if row["expected_j"] is not None]
    steps = sorted(drifts, reverse=True)
    flights = [
        np.diff(motion.energy)[motion.impulses[:, 0, 0] == 0] + drift_of(step, step)
        for motion in motions.values()
    ]
    return {
        "impacts": {
            f"friction {friction:g}": {
                f"{restitution:g}": sum(
                    (row["friction"], row["restitution"]) == (friction, restitution) for row in rows
                )
                for restitution in dict.fromkeys(e for _, e in motions)
            }
            for friction in dict.fromkeys(mu for mu, _ in motions)
        },
        "energy_at_the_end_j": {
            f"friction {friction:g}": {
                f"{restitution:g}": float(motion.energy[-1])
                for (of, restitution), motion in motions.items()
                if of == friction
            }
            for friction in dict.fromkeys(mu for mu, _ in motions)
        },
        # of impacts that are fast beside the g h of a step
        "loss_error_percent": max(
            (
                100 * abs(row["ours"] / row["expected_j"] - 1)
                for row in smooth
                if row["expected_j"] < 0 and row["approach_m_s"] > 1.0
            ),
            default=None,
        ),
        "flight_beside_drift_j": max(float(np.abs(flight).max()) for flight in flights),
        "drift_j": {f"{1e3 * step:g}": drifts[step] for step in steps},
        "drift_bound_j": {f"{1e3 * step:g}": drift_of(step, SECONDS) for step in steps},
        "drift_within_bound": all(drift <= drift_of(step, SECONDS) for step, drift in drifts.items()),
        "drift_ratios": [drifts[coarse] / drifts[fine] for coarse, fine in pairwise(steps)],
    }


def _first(rows: Sequence[Mapping[str, Any]], friction: float, restitution: float) -> Mapping[str, Any]:
    return next(row for row in rows if (row["friction"], row["restitution"]) == (friction, restitution))


def _table_row(row: Mapping[str, Any]) -> dict[str, Any]:
    told_row = {
        "restitution": f"{row['restitution']:g}",
        "impact": row["impact"],
        "at [s]": f"{row['time_s']:.3f}",
        "approach [m/s]": f"{row['approach_m_s']:.2f}",
        "energy [J]": f"{row['ours']:.2f}",
    }
    if row["expected_j"] is not None:
        return told_row | {"expected [J]": f"{row['expected_j']:.2f}"}
    return told_row | {"by the tangential impulse [J]": f"{row['tangential_work_j']:.2f}"}


def _pictures(motions: Mapping[tuple[float, float], Motion], step: float) -> dict[str, Curves]:
    pictures = {}
    for friction in dict.fromkeys(mu for mu, _ in motions):
        shown = {
            f"restitution {restitution:g}": motion
            for (of, restitution), motion in motions.items()
            if of == friction and restitution in SHOWN
        }
        x = np.linspace(0, max(motion.poses[-1, 0] for motion in shown.values()), 500)
        of = "smooth" if friction == 0 else f"friction {friction:g}"
        pictures[f"Path of the center of mass, {of} (Fig. 13)"] = Curves(
            x, "m", {name: height_along(motion, x) for name, motion in shown.items()}, "x [m]"
        )
        pictures[f"Energy, {of} (Fig. 14)"] = Curves(
            next(iter(shown.values())).times, "J", {name: motion.energy for name, motion in shown.items()}
        )
    return pictures
