"""A payload of a tenth of the arm's mass, picked up in motion: `poinsot track`'s filter gives it to the feedforward.

The motion repeats itself, so that errors before and after are of the same part of it, a period apart:

    0          calibration of the filter's noise, arm as identified
    P          the filter begins
    t          the payload is picked up; errors from t + 1 s on are compared with those of a period before

The filter has the flange as its open link, and the identified model for everything else. What it publishes
(`parameters` from `first_parameter` on) replaces parameters of the exported code, which the loop calls at every tick.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from poinsot import ExtendedKalmanFilter, Gate, MovingPolynomial, RateLimit, Tracker, calibrate_bias
from poinsot.arrays import Vector
from poinsot.estimators.online.tracking import published_line
from poinsot.models.robot.link_torques import LinkTorques
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say, shown
from . import arm
from .feedforward import IDENTIFIED, IdentifiedArm, error_curves, identified_arm
from .plant import HARMONICS_OF_PERIOD, Loop, Motion, Pickup, Plant, Trace, drawn_motion

PERIOD_S = 5.0
PERIODS = 3
PICKUP = Pickup(6.5, 0.1 * arm.ARM_MASS)
LATER_S = 1.0
WINDOW_S = 2.0
"""Errors are compared from one second after the payload is picked up, over two seconds."""

LINK = arm.LINKS[-1].link
SIGNALS = MovingPolynomial(window_s=0.04, sample_hz=100)
GATE = Gate(patience=10, growth=1.3)
"""Ten samples are a tenth of a second: longer than an impact."""
DRIFT = 0.1
MARGIN = 1.0
"""Noise of the filter over that of its calibration: the motion stays as rough as in the calibration."""
MASS_RATE = 10.0
"""Largest rate of the published mass [kg/s]."""


def repeated(motion: Motion, times: int) -> Motion:
    """A motion from rest to rest that returns to its start, several times."""
    period = len(motion.time) * (motion.time[1] - motion.time[0])
    time = np.concatenate([motion.time + k * period for k in range(times)])
    return Motion(time, *(np.tile(each, (times, 1)) for each in motion[1:]))


@dataclass(frozen=True, eq=False)
class TrackedRun:
    """A run in which a filter adapts the feedforward.

    Args:
        time, mass: (k,) of the masses of the link that the filter publishes [s], [kg].
    """

    trace: Trace
    time: Vector
    mass: Vector


def tracked_run(loop: Loop, identified: IdentifiedArm) -> TrackedRun:
    """Run a loop with a filter that replaces parameters of its feedforward."""
    theta = identified.parameters[IDENTIFIED]
    l = 10 * len(arm.LINKS)
    robot = identified.estimate.dynamics.robot
    torques = LinkTorques(robot, (LINK,), theta[:l].reshape(-1, 10), theta[l:])
    samples = SIGNALS.samples(loop.ticks())
    bias = calibrate_bias(torques, takewhile(lambda sample: sample.time < PERIOD_S, samples))
    filter_ = ExtendedKalmanFilter(torques, MARGIN * bias.std, drift=DRIFT, gate=GATE)
    tracker = Tracker(filter_, RateLimit(MASS_RATE), calibration=bias)
    times, masses = [], []
    for sample in samples:
        tracked = tracker.update(sample)
        (body,) = published_line(tracked, tracker)["bodies"]
        parameters, first = theta.copy(), body["first_parameter"]
        parameters[first : first + 10] = body["parameters"]
        loop.model = partial(identified.dynamics.torque, parameters)
        times.append(tracked.time)
        masses.append(body["mass"])
    return TrackedRun(loop.trace, np.array(times), np.array(masses))


def over_before(trace: Trace) -> float:
    """Tracking error after the payload was picked up over that of the same part of the motion before."""
    start = PICKUP.time + LATER_S
    after, before = (trace.rms(s, s + WINDOW_S) for s in (start, start - PERIOD_S))
    return after / before


def run(seed: int, *, say: Say) -> Reproduction:
    """Pick up the payload with and without the filter, and with a model that knows it."""
    watch = Stopwatch()
    rng, plant = np.random.default_rng([seed, 1]), Plant()
    with TemporaryDirectory() as folder:
        identified = identified_arm(rng, Path(folder), say)
        watch.lap("identification")
        motion = repeated(drawn_motion(rng, PERIOD_S, harmonics=HARMONICS_OF_PERIOD), PERIODS)
        noise_seed = int(rng.integers(2**31))

        def loop() -> Loop:
            generator = np.random.default_rng(noise_seed)
            return Loop(plant, motion, identified.model(IDENTIFIED), generator, PICKUP)

        say("picking up the payload")
        adapted, ignorant = tracked_run(loop(), identified), loop().run()
    watch.lap("loops")
    start = PICKUP.time + LATER_S
    found = adapted.mass[np.searchsorted(adapted.time, start)] - adapted.mass[0]
    figures = {
        "payload_over_before_after_1s": over_before(adapted.trace),
        "payload_ignored_over_before": over_before(ignorant),
        "payload_found_kg": float(found),
        "payload_kg": PICKUP.mass,
    }
    rows = tuple(
        {
            "name": name,
            "before": 1e3 * trace.rms(start - PERIOD_S, start - PERIOD_S + WINDOW_S),
            "first second": 1e3 * trace.rms(PICKUP.time, start),
            "after": 1e3 * trace.rms(start, start + WINDOW_S),
            "unit": "mrad",
        }
        for name, trace in {"with the filter": adapted.trace, "without it": ignorant}.items()
    )
    mass = adapted.mass[0] + PICKUP.mass * (adapted.time >= PICKUP.time)
    return Reproduction(
        "controller-payload",
        str(seed),
        "A payload that is picked up in motion",
        f"One second after {PICKUP.mass:.1f} kg are picked up, the tracking error is "
        f"{figures['payload_over_before_after_1s']:.2f} times that before, and without the filter "
        f"{figures['payload_ignored_over_before']:.1f} times.",
        rows,
        {"Root mean square of the tracking error [mrad]": shown(rows)},
        figures,
        {"after one second over before": f"{figures['payload_over_before_after_1s']:.3f}"},
        curves={
            "Tracking error with a payload": error_curves({"filter": adapted.trace, "no filter": ignorant}),
            "Mass of the flange": Curves(adapted.time, "kg", {"published": adapted.mass, "true change": mass}),
        },
        notes=("Before and after are the same part of a motion that repeats itself, a period apart.",),
        seconds=watch.seconds,
    )  # fmt: skip
