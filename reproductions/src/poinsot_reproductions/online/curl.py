"""Curl, Figs. 6 and 7: an unknown dumbbell of 12 lb on the forearm.

Every other link weighs 5 % more or less than described. The robot curls its arm unloaded while the constant bias of
its residuals is calibrated; then the dumbbell is there, the filter begins with the bare forearm, and what it estimates
reaches the controller no faster than 3 kg/s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from poinsot.arrays import Vector
from poinsot.estimators.online.tracking import RateLimit
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .adaptation import (
    ARM_NOTE,
    DURATION,
    ELBOW,
    FOREARM,
    LOOP_NOTE,
    WITH,
    WITHOUT,
    calibrate,
    described_body,
    fallen_note,
    joint_curves,
    longest,
    quiet,
    rmse,
    simulate_each,
)
from .elbow import curls
from .simulation.closed_loop import AdaptedModel, FixedModel, Scenario
from .simulation.legged_robot import LeggedRobot, talos
from .simulation.loads import Attached, point_mass

POUND = 0.45359237
"""[kg]"""
DUMBBELL = 12 * POUND
GRIP = np.array([0.0, 0.0, 0.15])
"""The dumbbell's centre in the forearm's frame [m]."""
MIDDLE, AMPLITUDE, FREQUENCY = -1.2, 0.7, 1 / 3
"""Of the curls [rad], [rad], [Hz]."""
OFF = 0.05
"""Relative error of the other links' described masses."""
LIMIT = RateLimit(mass=3.0)
SETTLED = 10.0
"""The mass counts from then on [s]."""


def imperfect(humanoid: LeggedRobot, rng: np.random.Generator) -> dict[str, Vector]:
    """All links but the forearm, each heavier or lighter than described by 5 %."""
    sign = rng.choice([-1.0, 1.0], len(humanoid.robot.bodies))
    return {
        body: (1 + OFF * side) * pi
        for body, side, pi in zip(humanoid.robot.bodies, sign, humanoid.robot.inertials, strict=True)
        if body != FOREARM
    }


def run(seed: int, duration: float = DURATION, settled: float = SETTLED, say: Say = quiet) -> Reproduction:
    """Settled mass, published rate, and the elbow's tracking."""
    watch = Stopwatch()
    humanoid = talos({ELBOW: MIDDLE, "arm_right_4_joint": MIDDLE}, arm_effort=2.0)
    rng = np.random.default_rng(seed)
    own = described_body(humanoid, FOREARM)
    actual = imperfect(humanoid, rng)
    load = Attached(own, point_mass(DUMBBELL, GRIP))
    scenario = Scenario(
        humanoid, {FOREARM: load}, duration, actual, joints=curls(MIDDLE, AMPLITUDE, FREQUENCY)
    )
    tuning = calibrate(scenario, rng)
    filter_ = tuning.filter(bias=tuning.bias)
    watch.lap("calibration")
    ways = {WITHOUT: FixedModel({FOREARM: own}), WITH: AdaptedModel(filter_, own[None], LIMIT)}
    traces = simulate_each(scenario, ways, seed, say)
    watch.lap("simulation")
    at = int(humanoid.dofs([ELBOW])[0])
    adapted = traces[WITH]
    published, truth = adapted.assumed[:, 0, 0], float(own[0] + DUMBBELL)
    late = adapted.time > settled
    errors = {name: rmse(trace.joint_error(at)) for name, trace in traces.items()}
    figures = {
        "settled_mass_error_percent": float(100 * (published[late].mean() / truth - 1)),
        "settled_mass_ripple_percent": float(100 * published[late].std() / truth),
        "max_published_rate_kg_s": float(np.max(np.abs(np.diff(published)) / np.diff(adapted.time))),
        "rmse_without": errors[WITHOUT],
        "rmse_with": errors[WITH],
    }
    rows: tuple[dict[str, Any], ...] = (
        {"name": "settled mass", "paper": truth, "ours": float(published[late].mean()), "unit": "kg"},
        {
            "name": "largest published rate",
            "paper": 3.0,
            "ours": figures["max_published_rate_kg_s"],
            "unit": "kg/s",
        },
        *(
            {"name": f"elbow {name}", "paper": None, "ours": error, "unit": "rad"}
            for name, error in errors.items()
        ),
    )
    return Reproduction(
        "online",
        "004",
        "Curl: an unknown dumbbell of 12 lb (Figs. 6 and 7)",
        f"The mass of forearm and dumbbell settles {abs(figures['settled_mass_error_percent']):.2f} % from the truth "
        f"of {truth:.3f} kg.",
        rows,
        {"Curls with a dumbbell": rows},
        figures,
        {"ripple of the mass [%]": round(figures["settled_mass_ripple_percent"], 2)},
        curves={
            "Elbow": joint_curves(scenario, traces, longest(traces), ELBOW),
            "Mass of forearm and dumbbell": Curves(
                adapted.time, "kg", {"true": adapted.actual[:, 0, 0], "published": published}
            ),
        },
        notes=(
            ARM_NOTE,
            LOOP_NOTE,
            "Every other link is 5 % heavier or lighter than described, at random. Beside the settled mass stands the "
            "truth.",
            *fallen_note(traces),
        ),
        seconds=watch.seconds,
    )
