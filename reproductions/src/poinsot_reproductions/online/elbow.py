"""Elbow, Table I, Table II and Fig. 5: the forearm's mass as a sine, then a square wave, while the elbow moves.

The elbow follows slow curls about a level forearm. Its reference gives position and velocity, and no acceleration: a
controller that knows every mass lags behind by that much.
"""

from __future__ import annotations

import numpy as np

from poinsot.estimators.online.extended import ExtendedKalmanFilter
from poinsot.models.link_torques import LinkTorques
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .adaptation import (
    ARM_NOTE,
    BENT,
    DURATION,
    ELBOW,
    FOREARM,
    LOOP_NOTE,
    WITH,
    WITHOUT,
    adaptation_figures,
    calibrate,
    described_body,
    fallen_note,
    longest,
    mass_curves,
    mass_errors_before_switches,
    padded,
    quiet,
    rmse,
    rounded,
    rows_of_table_2,
    three_ways,
)
from .simulation.closed_loop import JointMotion, Scenario
from .simulation.humanoid import talos
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
    filter_ = ExtendedKalmanFilter(
        LinkTorques(humanoid.robot, (FOREARM,)), tuning.noise, drift=tuning.drift, gate=None
    )
    watch.lap("calibration")
    traces = three_ways(scenario, filter_, seed, say)
    watch.lap("simulation")
    at = int(humanoid.dofs([ELBOW])[0])
    errors = {name: rmse(trace.joint_error(at)) for name, trace in traces.items()}
    figures = adaptation_figures(errors, mass_errors_before_switches(traces[WITH], switch))
    rows = rows_of_table_2(errors, PAPER, "rad")
    time = longest(traces)
    return Reproduction(
        "online",
        "004",
        "Elbow: the forearm's mass changes while the elbow moves (Table II, Fig. 5)",
        f"Adaptation makes the elbow's error {figures['factor']:.1f} times smaller (in the paper 7.3 times), "
        f"{figures['against_oracle']:.2f} times that of a controller that knows the truth.",
        rows,
        {"Root-mean-square error of the elbow": rows},
        figures,
        {
            "mass error before a switch, worst [%]": rounded(figures["mass_error_percent_before_switch"]),
            "the same, median [%]": rounded(figures["median_mass_error_percent_before_switch"]),
        },
        curves={
            "Elbow": Curves(
                time,
                "rad",
                {"reference": np.array([scenario.joints(each)[ELBOW][0] for each in time])}
                | {name: padded(trace.q[:, at + 1], time) for name, trace in traces.items()},
            ),
            "Mass of the forearm": mass_curves(traces[WITH]),
        },
        notes=(
            ARM_NOTE,
            LOOP_NOTE,
            "Without adaptation the forearm is taken for its first guess, 70 % of its mass at the start, throughout.",
            "The elbow follows slow curls, without acceleration fed forward; the paper's keeps its home pose.",
            *fallen_note(traces),
        ),
        seconds=watch.seconds,
    )
