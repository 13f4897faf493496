"""Gating, Fig. 8: the estimated mass while stepping in place, with and without a gate on the innovations.

The robot adapts with a gate that rejects improbable samples, from an initial guess of the torso that is 30 % off. The
same samples are then filtered without a gate.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from poinsot.estimators.online.belief import SampleVerdict
from poinsot.estimators.online.filter import Gate
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .adaptation import (
    CLOSE,
    DURATION,
    FIRST_GUESS,
    LOOP_NOTE,
    TORSO,
    TORSO_NOTE,
    calibrate,
    constant_body,
    described_body,
    estimates,
    foot_forces,
    quiet,
    samples_of,
    simulate_each,
)
from .simulation.closed_loop import AdaptedModel, Scenario
from .simulation.gait import Stepping, Stride
from .simulation.legged_robot import talos

STRIDE = Stride(height=0.04, shift=1.4, swing=0.45, depth=0.03)
GATE = Gate(confidence=0.999)
SETTLED = 5.0
"""Peaks count from then on [s]."""
STAYS = 0.5
"""An estimate has converged once it stays close for this long [s]."""


def run(seed: int, duration: float = DURATION, settled: float = SETTLED, say: Say = quiet) -> Reproduction:
    """Peak-to-peak of the torso's mass with and without the gate."""
    watch = Stopwatch()
    humanoid = talos()
    rng = np.random.default_rng(seed)
    own = described_body(humanoid, TORSO)
    mass = float(own[0])
    scenario = Scenario(
        humanoid, {TORSO: constant_body(own)}, duration, gait=partial(Stepping, stride=STRIDE), matched=False
    )
    tuning = calibrate(scenario, rng)
    gated = tuning.filter(gate=GATE)
    start = FIRST_GUESS * own[None]
    watch.lap("calibration")
    (trace,) = simulate_each(scenario, {"with the gate": AdaptedModel(gated, start)}, seed, say).values()
    watch.lap("simulation")
    samples = samples_of(trace)
    time = np.array([sample.time for sample in samples])
    without, within = (estimates(filtering, samples, start)[:, 0] for filtering in (tuning.filter(), gated))
    watch.lap("filters")
    rejected = np.array([verdict is not SampleVerdict.accepted for verdict in trace.verdicts[1:]])
    late = time > settled
    figures: dict[str, Any] = {
        "peak_to_peak_without": float(np.ptp(without[late])),
        "peak_to_peak_with": float(np.ptp(within[late])),
        "factor": float(np.ptp(without[late]) / np.ptp(within[late])),
        "rejected_fraction": float(rejected.mean()),
        "converged_seconds": convergence(time, np.abs(within - mass) < CLOSE * mass),
        "mean_mass_error_percent": float(100 * abs(within[late].mean() / mass - 1)),
    }
    rows = tuple(
        {"name": name, "paper": None, "ours": figures[key], "unit": unit}
        for name, key, unit in (
            ("peak-to-peak without gate", "peak_to_peak_without", "kg"),
            ("peak-to-peak with gate", "peak_to_peak_with", "kg"),
            ("rejected samples", "rejected_fraction", "1"),
            ("mean mass error with gate", "mean_mass_error_percent", "%"),
        )
    )
    return Reproduction(
        "online",
        "004",
        "Gating: the torso's mass while stepping in place (Fig. 8)",
        f"The gate makes the peaks of the torso's mass {figures['factor']:.1f} times smaller and rejects "
        f"{100 * figures['rejected_fraction']:.0f} % of the samples.",
        rows,
        {"Torso's mass": rows},
        figures,
        {
            "within 5 % after [s]": figures["converged_seconds"],
            "confidence of the gate": GATE.confidence,
        },
        curves={
            "Mass of the torso": Curves(
                time, "kg", {"true": np.full(len(time), mass), "without gate": without, "with gate": within}
            ),
            "Normal force on the feet": foot_forces(trace),
        },
        notes=(
            TORSO_NOTE,
            LOOP_NOTE,
            "The feet's sensors lag by 3 ms, which nothing compensates here: an impact reaches "
            "them later than the joints. In the other cases all signals are made to lag alike.",
            *(("The robot fell; the numbers are of the time before.",) if trace.fallen else ()),
        ),
        seconds=watch.seconds,
    )


def convergence(time: np.ndarray, close: np.ndarray) -> float | None:
    """From when on an estimate stays close for a while [s]; None if it never does."""
    since: float | None = None
    for now, good in zip(time, close, strict=True):
        if not good:
            since = None
        elif since is None:
            since = float(now)
        # a single crossing of the band is no convergence
        elif now - since >= STAYS:
            return since
    return None
