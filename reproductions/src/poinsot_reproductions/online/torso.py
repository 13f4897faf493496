"""Torso, Table I, Table II and Fig. 4: a square wave of mass while the robot walks over uneven ground.

Every foothold but the first of each foot has a slab of random height under it, which the robot does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from poinsot.arrays import Vector
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .adaptation import (
    DURATION,
    LOOP_NOTE,
    TORSO,
    TORSO_NOTE,
    WITH,
    WITHOUT,
    adaptation_case,
    calibrate,
    described_body,
    foot_forces,
    mass_curves,
    padded,
    quiet,
)
from .simulation.closed_loop import Scenario, Trace
from .simulation.gait import Stepping, Stride
from .simulation.legged_robot import LeggedRobot, talos
from .simulation.loads import ScaledBody, Square
from .simulation.plant import Slab

WAVEFORM = Square(offset=30.0, amplitude=5.0, frequency=0.2)
STRIDE = Stride(length=0.15, height=0.06, shift=1.4, swing=0.8)
HIGHEST = 0.03
"""Of a slab [m]."""
PAPER = {WITHOUT: 0.0352, WITH: 0.0157}


def uneven_ground(humanoid: LeggedRobot, stride: Stride, steps: int, rng: np.random.Generator) -> list[Slab]:
    """A slab of random height under each foothold from the second step on."""
    first = humanoid.home[0] - 0.009  # the soles are a little behind the pelvis
    return [
        Slab(
            x=first + k * stride.length,
            y=-0.11 if k % 2 else 0.11,
            half_length=stride.length,
            half_width=0.11,
            height=rng.uniform(0.002, HIGHEST),
        )
        for k in range(2, steps)
    ]


def run(seed: int, duration: float = DURATION, say: Say = quiet) -> Reproduction:
    """Pelvis height held without adaptation, with it, and knowing the truth."""
    watch = Stopwatch()
    humanoid = talos()
    rng = np.random.default_rng(seed)
    load = ScaledBody(described_body(humanoid, TORSO), WAVEFORM)
    steps = 2 + int(duration / (STRIDE.shift + 0.5 * STRIDE.swing))
    scenario = Scenario(
        humanoid,
        {TORSO: load},
        duration,
        ground=uneven_ground(humanoid, STRIDE, steps, rng),
        gait=partial(Stepping, stride=STRIDE),
    )
    tuning = calibrate(scenario, rng)
    watch.lap("calibration")

    def curves(traces: Mapping[str, Trace], time: Vector) -> dict[str, Curves]:
        height = {"reference": np.full(len(time), humanoid.home[2])}
        height |= {name: padded(trace.q[:, 2], time) for name, trace in traces.items()}
        return {
            "Height of the pelvis": Curves(time, "m", height),
            "Mass of the torso": mass_curves(traces[WITH]),
            "Normal force on the feet": foot_forces(traces[WITH]),
        }

    return adaptation_case(
        "Torso: pelvis height over uneven ground while the mass changes (Table II, Fig. 4)",
        "the pelvis' height",
        scenario,
        tuning,
        Trace.height_error,
        PAPER,
        "m",
        seed=seed,
        say=say,
        watch=watch,
        curves=curves,
        facts=lambda figures, adapted: {"walked [m]": round(float(adapted.q[-1, 0]), 2)},
        notes=(
            TORSO_NOTE,
            LOOP_NOTE,
            "Without adaptation the torso is taken for its first guess, 70 % of its mass at the start, throughout.",
        ),
    )
