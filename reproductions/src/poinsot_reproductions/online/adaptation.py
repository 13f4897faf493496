"""What the cases share: a filter with the noise that a calibration found, three controllers that know differently.

The filter's noise is that of the residuals while the robot stands, times a margin for what only motion shows: impacts
inside a window, a base whose estimated velocity wanders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from poinsot.arrays import Vector
from poinsot.estimators.online.calibration import Bias, calibrate_bias
from poinsot.estimators.online.filter import Filter
from poinsot.models.link_torques import LinkTorques
from poinsot.simulation.closed_loop import Adapted, Knowledge, Oracle, Scenario, ToldOnce, Trace, simulate
from poinsot.simulation.humanoid import Humanoid
from poinsot.simulation.loads import ScaledBody

from ..case import Curves, Say

DURATION = 30.0
"""[s]"""
FIRST_GUESS = 0.7
"""Part of its true mass that a link is taken for at the start."""
NOISE_MARGIN = 4.0
CALIBRATION = 1.0
"""For how long the robot stands before, unloaded [s]."""
BEFORE_SWITCH = 0.1
"""Window before a switch of the mass in which the estimate should have arrived [s]."""

TORSO, FOREARM, ELBOW = "torso_2_link", "arm_left_5_link", "arm_left_4_joint"
BENT = {"arm_left_4_joint": -1.4, "arm_right_4_joint": -1.4}
"""Forearms level [rad]."""

WITHOUT, WITH, ORACLE = "without adaptation", "with adaptation", "knowing the truth"

ARM_NOTE = (
    "Talos stands in for Nadia, whose model is not public. Its elbow cannot carry these loads as it is (17.9 N m): the "
    "forearm is arm_left_5_link, and the arms' effort limits are doubled in plant and controller alike."
)
TORSO_NOTE = "Talos stands in for Nadia, whose model is not public; its torso is torso_2_link."
LOOP_NOTE = (
    "Physics are MuJoCo's. Controller and filter hear a state estimator at 1 kHz that is late and noisy, and whose "
    "velocity of the base wanders by 2 mm/s; the filter runs at 333 Hz on sensed efforts and wrenches of the feet. "
    "Every run begins at rest."
)


def described_body(humanoid: Humanoid, link: str) -> Vector:
    """(10,) pi of a link as the description gives it."""
    return humanoid.robot.inertials[humanoid.robot.bodies.index(link)]


def calibrate(
    humanoid: Humanoid, link: str, rng: np.random.Generator, actual: Mapping[str, Vector] | None = None
) -> Bias:
    """Bias and noise of the residuals while the robot stands unloaded."""
    own = described_body(humanoid, link)
    scenario = Scenario(
        humanoid, {link: ScaledBody(own, lambda time: float(own[0]))}, CALIBRATION, actual or {}
    )
    trace = simulate(scenario, ToldOnce({link: own}), rng)
    samples = [sample for sample in trace.samples if sample is not None]
    return calibrate_bias(LinkTorques(humanoid.robot, (link,)), samples)


def quiet(what: str) -> None:
    """Nobody watches."""


def seconds_of(what: str, scenario: Scenario, say: Say) -> Callable[[float], None]:
    """Progress of a simulation: how much of it has been."""
    return lambda time: say(f"{what}, {time:.0f} of {scenario.duration:g} s")


def three_ways(scenario: Scenario, filter_: Filter, seed: int, say: Say) -> dict[str, Trace]:
    """The same run told once, adapting, and knowing the truth, with the same first guess and the same noise."""
    (link, load), *_ = scenario.loads.items()
    start = FIRST_GUESS * load(0.0)
    ways: dict[str, Knowledge] = {
        WITHOUT: ToldOnce({link: start}),
        WITH: Adapted(filter_, start[None]),
        ORACLE: Oracle(scenario.loads),
    }
    return {
        name: simulate(scenario, way, np.random.default_rng(seed), seconds_of(name, scenario, say))
        for name, way in ways.items()
    }


def rmse(errors: Vector) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def mass_errors_before_switches(trace: Trace, after: float = 0.0) -> Vector:
    """Mean absolute error of the told mass just before each switch [%]; of switches after a time [s]."""
    told, actual, time = trace.told[:, 0, 0], trace.actual[:, 0, 0], trace.time
    step = np.diff(actual)
    switches = np.flatnonzero((np.abs(step) > 0.2 * np.ptp(actual)) & (time[1:] > after))
    errors = []
    for k in switches:
        window = (time > time[k] - BEFORE_SWITCH) & (time <= time[k])
        errors.append(100 * np.mean(np.abs(told[window] - actual[window])) / actual[k])
    return np.array(errors)


def adaptation_figures(errors: Mapping[str, float], before_switch: Vector) -> dict[str, Any]:
    """Headline numbers of a tracking case; the mass error is that of the worst switch."""
    return {
        "rmse_without": errors[WITHOUT],
        "rmse_with": errors[WITH],
        "rmse_oracle": errors[ORACLE],
        "factor": errors[WITHOUT] / errors[WITH],
        "against_oracle": errors[WITH] / errors[ORACLE],
        "mass_error_percent_before_switch": float(before_switch.max()) if len(before_switch) else None,
        "median_mass_error_percent_before_switch": (
            float(np.median(before_switch)) if len(before_switch) else None
        ),
    }


def rows_of_table_2(
    errors: Mapping[str, float], paper: Mapping[str, float], unit: str
) -> tuple[dict[str, Any], ...]:
    """Root-mean-square errors and by what factor adaptation makes them smaller, the paper's beside ours."""
    times = {
        "name": "without over with",
        "paper": paper[WITHOUT] / paper[WITH],
        "ours": errors[WITHOUT] / errors[WITH],
        "unit": "1",
    }
    return (
        *(
            {"name": name, "paper": paper.get(name), "ours": error, "unit": unit}
            for name, error in errors.items()
        ),
        times,
    )


def mass_curves(trace: Trace) -> Curves:
    """The mass that the controller was told, and the true one."""
    return Curves(trace.time, "kg", {"true": trace.actual[:, 0, 0], "estimate": trace.told[:, 0, 0]})


def rounded(percent: float | None) -> float | None:
    """For people, where there is one."""
    return None if percent is None else round(percent, 2)


def padded(values: Vector, time: Vector) -> Vector:
    """A run that ended early goes on as NaN."""
    return np.concatenate([values, np.full(max(len(time) - len(values), 0), np.nan)])


def longest(traces: Mapping[str, Trace]) -> Vector:
    """The time axis that all of these runs fit on."""
    return max((trace.time for trace in traces.values()), key=len)


def fallen_note(traces: Mapping[str, Trace]) -> tuple[str, ...]:
    """Says who fell, if anybody did."""
    return tuple(
        f"The robot {name} fell after {trace.time[-1]:.1f} s; its error is of the time before."
        for name, trace in traces.items()
        if trace.fallen
    )
