"""Elbow, Table I, Table II and Fig. 5: the forearm's mass as a sine, then a square wave, while the elbow moves.

The elbow follows slow curls about a level forearm. Its reference gives position and velocity, and no acceleration: a
controller that knows every mass lags behind by that much.
"""

from __future__ import annotations

import numpy as np

from poinsot.stopwatch import Stopwatch

from ..case import Reproduction, Say
from .adaptation import (
    ARM_NOTE,
    BENT,
    DURATION,
    ELBOW,
    FOREARM,
    LOOP_NOTE,
    WITH,
    WITHOUT,
    adaptation_case,
    calibrate,
    described_body,
    joint_curves,
    mass_curves,
    quiet,
    rounded,
)
from .simulation.closed_loop import JointMotion, Scenario
from .simulation.legged_robot import talos
from .simulation.loads import ScaledBody, Sine, Square, Then

SWITCH = 8.0
"""From sine to square [s]."""
WAVEFORM = Then(Sine(4.5, 3.0, 1.0), SWITCH, Square(4.5, 3.0, 1.0))
CURL, CURL_HZ = 0.5, 1 / 3
"""Amplitude [rad] and frequency."""
PAPER = {WITHOUT: 1.0956, WITH: 0.1499}


def curls(middle: float, amplitude: float, frequency: float) -> JointMotion:
    """The elbow on a sine [rad], [Hz]."""
    w = 2 * np.pi * frequency
    return lambda time: {ELBOW: (middle + amplitude * np.sin(w * time), amplitude * w * np.cos(w * time))}


def run(seed: int, duration: float = DURATION, switch: float = SWITCH, say: Say = quiet) -> Reproduction:
    """The elbow's angle held without adaptation, with it, and knowing the truth."""
    watch = Stopwatch()
    humanoid = talos(BENT, arm_effort=2.0)
    rng = np.random.default_rng(seed)
    waveform = Then(WAVEFORM.first, switch, WAVEFORM.second)
    load = ScaledBody(described_body(humanoid, FOREARM), waveform)
    scenario = Scenario(humanoid, {FOREARM: load}, duration, joints=curls(BENT[ELBOW], CURL, CURL_HZ))
    tuning = calibrate(scenario, rng)
    watch.lap("calibration")
    at = int(humanoid.dofs([ELBOW])[0])
    return adaptation_case(
        "Elbow: the forearm's mass changes while the elbow moves (Table II, Fig. 5)",
        "the elbow",
        scenario,
        tuning,
        lambda trace: trace.joint_error(at),
        PAPER,
        "rad",
        seed=seed,
        say=say,
        watch=watch,
        after=switch,
        curves=lambda traces, time: {
            "Elbow": joint_curves(scenario, traces, time, ELBOW),
            "Mass of the forearm": mass_curves(traces[WITH]),
        },
        facts=lambda figures, adapted: {
            "the same, median [%]": rounded(figures["median_mass_error_percent_before_switch"])
        },
        notes=(
            ARM_NOTE,
            LOOP_NOTE,
            "Without adaptation the forearm is taken for its first guess, 70 % of its mass at the start, throughout.",
            "The elbow follows slow curls, without acceleration fed forward; the paper's keeps its home pose.",
        ),
    )
