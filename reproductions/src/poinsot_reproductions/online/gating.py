"""Gating, Fig. 8: the estimated mass while stepping in place, with and without a gate on the innovations.

The robot adapts with a gate that rejects improbable samples, from an initial guess of the torso that is 30 % off. The
same samples are then filtered without a gate.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from poinsot.estimators.online.belief import SampleVerdict
from poinsot.estimators.online.extended import ExtendedKalmanFilter
from poinsot.estimators.online.gating import Gate
from poinsot.models.link_torques import LinkTorques
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
    described_body,
    quiet,
    seconds_of,
)
from .simulation.closed_loop import AdaptedModel, Scenario, simulate
from .simulation.gait import Stepping, Stride
from .simulation.humanoid import talos
from .simulation.loads import ScaledBody

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
        humanoid,
        {TORSO: ScaledBody(own, lambda time: mass)},
        duration,
        gait=partial(Stepping, stride=STRIDE),
        matched=False,
    )
    tuning = calibrate(scenario, rng)
    torques = LinkTorques(humanoid.robot, (TORSO,))
    gated = ExtendedKalmanFilter(torques, tuning.noise, drift=tuning.drift, gate=GATE)
    trusting = ExtendedKalmanFilter(torques, tuning.noise, drift=tuning.drift, gate=None)
    start = FIRST_GUESS * own[None]
    watch.lap("calibration")
    trace = simulate(
        scenario,
        AdaptedModel(gated, start),
        np.random.default_rng(seed),
        seconds_of("with the gate", scenario, say),
    )
    watch.lap("simulation")
    samples = [sample for sample in trace.samples if sample is not None]
    time = np.array([sample.time for sample in samples])
    without = np.array(
        [trusting.inertial(belief.x)[0, 0] for belief, _ in trusting.run(samples, trusting.init(start))]
    )
    beliefs = list(gated.run(samples, gated.init(start)))
    within = np.array([gated.inertial(belief.x)[0, 0] for belief, _ in beliefs])
    watch.lap("filters")
    rejected = np.array([innovation.verdict is not SampleVerdict.accepted for _, innovation in beliefs])
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
            "Normal force on the feet": Curves(
                trace.time, "N", {"left": trace.ground_force[:, 0], "right": trace.ground_force[:, 1]}
            ),
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
        elif now - since >= STAYS:
            return since
    return None
