"""Consistency, Fig. 3: the torso estimated while walking forward, with and without a physically consistent chart.

Every filter processes the same samples, those of a robot that adapts with the log-Cholesky chart. The initial
covariance and the process noise of the ten parameters are the chart's, mapped by its Jacobian.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from poinsot.estimators.online.filter import Filter, KalmanFilter
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.transposed_log_cholesky import TransposedLogCholesky
from poinsot.inertia.parameters import is_consistent
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .adaptation import (
    DURATION,
    FIRST_GUESS,
    LOOP_NOTE,
    TORSO,
    TORSO_NOTE,
    calibrate,
    constant_body,
    described_body,
    estimates,
    quiet,
    samples_of,
    simulate_each,
)
from .simulation.closed_loop import AdaptedModel, Scenario
from .simulation.gait import Stepping, Stride
from .simulation.legged_robot import talos

STRIDE = Stride(length=0.1, shift=1.4, swing=0.8)
BASELINE, CHART = "ten parameters", "log-Cholesky"
INERTIAS = {"Ixx": 4, "Iyy": 6, "Izz": 9}


def run(seed: int, duration: float = DURATION, say: Say = quiet) -> Reproduction:
    """Compute for how long each filter's torso is physically impossible, and the error of its mass."""
    watch = Stopwatch()
    humanoid = talos()
    rng = np.random.default_rng(seed)
    own = described_body(humanoid, TORSO)
    mass = float(own[0])
    scenario = Scenario(
        humanoid, {TORSO: constant_body(own)}, duration, gait=partial(Stepping, stride=STRIDE)
    )
    tuning = calibrate(scenario, rng)
    filters: dict[str, Filter] = {
        BASELINE: KalmanFilter(tuning.torques, tuning.noise, drift=tuning.drift, gate=None),
        CHART: tuning.filter(),
        "transposed log-Cholesky (Eq. 17)": tuning.filter(chart=TransposedLogCholesky()),
        "exponential eigenvalue": tuning.filter(chart=ExponentialEigenvalue()),
    }
    start = FIRST_GUESS * own[None]
    watch.lap("calibration")
    (trace,) = simulate_each(scenario, {"walking": AdaptedModel(filters[CHART], start)}, seed, say).values()
    watch.lap("simulation")
    samples = samples_of(trace)
    time = np.array([sample.time for sample in samples])
    bodies = {name: estimates(filtering, samples, start) for name, filtering in filters.items()}
    watch.lap("filters")
    # the second half: the first contains the way from the initial guess
    late = time > time[-1] / 2
    impossible = {name: float(1 - is_consistent(pi).mean()) for name, pi in bodies.items()}
    errors = {name: float(100 * abs(pi[late, 0].mean() / mass - 1)) for name, pi in bodies.items()}
    charts = [name for name in filters if name != BASELINE]
    figures = {
        "baseline_non_physical_fraction": impossible[BASELINE],
        "chart_non_physical_fraction": max(impossible[name] for name in charts),
        "mass_error_percent": max(errors.values()),
    }
    rows = tuple(
        {
            "name": name,
            "non_physical_fraction": impossible[name],
            "mass_error_percent": errors[name],
            "smallest_inertia": float(pi[:, list(INERTIAS.values())].min()),
        }
        for name, pi in bodies.items()
    )
    return Reproduction(
        "online",
        "004",
        "Consistency: the torso while walking forward (Fig. 3)",
        f"The estimate of ten parameters is physically impossible for {100 * impossible[BASELINE]:.0f} % of the time, "
        f"those on charts for {100 * figures['chart_non_physical_fraction']:g} %; every filter finds the mass within "
        f"{figures['mass_error_percent']:.2f} %.",
        rows,
        {"Filters": rows},
        figures,
        {"walked [m]": round(float(trace.q[-1, 0]), 2)},
        curves={
            "Mass of the torso": Curves(
                time,
                "kg",
                {"true": np.full(len(time), mass)} | {name: bodies[name][:, 0] for name in (BASELINE, CHART)},
            )
        }
        | {
            f"{symbol} of the torso": Curves(
                time,
                "kg m^2",
                {"true": np.full(len(time), own[at])}
                | {name: bodies[name][:, at] for name in (BASELINE, CHART)},
            )
            for symbol, at in INERTIAS.items()
        },
        notes=(
            TORSO_NOTE,
            LOOP_NOTE,
            *(("The robot fell; the numbers are of the time before.",) if trace.fallen else ()),
        ),
        seconds=watch.seconds,
    )
