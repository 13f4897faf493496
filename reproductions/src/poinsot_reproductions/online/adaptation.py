"""What the cases share: one rule that tunes every filter from the sensors' noise, and three kinds of controller.

A filter has two numbers to tune: the standard deviation R^(1/2) of an effort, and the drift of the body. Before each
run the robot moves as in the run, with the same sensors, but its link is as described and constant. The mean of the
residuals in these seconds is the filter's bias, their standard deviation its noise.

With that noise one sample alone tells the scale of a body pi, whose effort is Y pi, with the relative standard
deviation

    r = 1 / |R^(-1/2) Y pi|.

Take the scale as a random walk with a drift q (relative, per square root of a second), measured f times a second. The
steady state of its Kalman filter has the variance P = q r / f^(1/2) and the time constant T = r / (q f^(1/2)). So the
drift with which the sensors' noise makes the scale uncertain by s is

    q = s^2 f^(1/2) / r,        T = r^2 / (s^2 f):

the better the sensors see the body's weight, the faster the filter follows it at the same precision. (Where r < s, as
for Talos' torso, each sample alone is precise enough, and T is less than a sample.) A mass counts as found within 5 %
(`CLOSE`), which two standard deviations may use up: s is half of that, in all cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poinsot.arrays import Vector
from poinsot.estimators.online.belief import Sample
from poinsot.estimators.online.filter import ExtendedKalmanFilter, Filter
from poinsot.estimators.online.problem import calibrate_bias
from poinsot.models.robot.link_torques import LinkTorques
from poinsot.solve import Progress
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .simulation.closed_loop import (
    AdaptedModel,
    ControllerModel,
    FixedModel,
    Scenario,
    Trace,
    TrueModel,
    simulate,
)
from .simulation.legged_robot import LeggedRobot
from .simulation.loads import ScaledBody

DURATION = 30.0
"""[s]"""
FIRST_GUESS = 0.7
"""Initial guess of a link's mass, relative to the true one."""
CLOSE = 0.05
"""Relative error within which a mass counts as found."""
PRECISION = CLOSE / 2
"""s: relative standard deviation of a body's scale, to which filters average the sensors' noise."""
CALIBRATION = 5.0
"""Duration of the run before, unloaded [s]: a step with each foot, or a curl and more."""
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
    "Physics are MuJoCo's. Controller and filter get a state estimate at 1 kHz that is delayed and noisy, and whose "
    "velocity of the base wanders by 2 mm/s; the filter runs at 333 Hz on sensed efforts and wrenches of the feet. "
    "Every run begins at rest."
)


def described_body(humanoid: LeggedRobot, link: str) -> Vector:
    """(10,) pi of a link as the description gives it."""
    return humanoid.robot.inertials[humanoid.robot.bodies.index(link)]


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a filter is tuned with, see the top of this file.

    Args:
        torques: the robot with the link that changes.
        bias, noise: (n,) mean and standard deviation of the residuals [N m] or [N].
        drift: of the body [1/s^(1/2)].
    """

    torques: LinkTorques
    bias: Vector
    noise: Vector
    drift: float

    def filter(self, **options: Any) -> ExtendedKalmanFilter:
        """Make the filter, without a gate and a bias unless `options` have them."""
        settings: dict[str, Any] = {"drift": self.drift, "gate": None} | options
        return ExtendedKalmanFilter(self.torques, self.noise, **settings)


def calibrate(scenario: Scenario, rng: np.random.Generator) -> Tuning:
    """Tune a filter of the link that changes, in a run in which it does not change.

    Args:
        scenario: what the robot will do.
        rng: of the sensors' noise.
    """
    humanoid, (link,) = scenario.legged, scenario.loads
    own = described_body(humanoid, link)
    # the same motion, ground and sensors; only the load is constant
    unloaded = replace(scenario, loads={link: constant_body(own)}, duration=CALIBRATION)
    samples = samples_of(simulate(unloaded, FixedModel({link: own}), rng))
    torques = LinkTorques(humanoid.robot, (link,))
    bias = calibrate_bias(torques, samples)
    rate_hz = (len(samples) - 1) / (samples[-1].time - samples[0].time)
    return Tuning(torques, bias.value, bias.std, drift(torques, bias.std, samples[-1], rate_hz))


def drift(torques: LinkTorques, noise: Vector, at: Sample, rate_hz: float) -> float:
    """Drift of one open link by the rule at the top of this file [1/s^(1/2)].

    Args:
        torques: the robot with its open link, as described.
        noise: (n,) standard deviation of the efforts [N m] or [N].
        at: where the robot is.
    """
    Y, _ = torques(at.q, at.v, at.a, at.wrenches)
    # by the noise of each row: a leg's efforts say little of the torso
    r = 1 / float(np.linalg.norm((Y @ torques.described.ravel()) / noise))
    return PRECISION**2 * float(np.sqrt(rate_hz)) / r


def quiet(message: str | Progress) -> None:
    """Drop the progress."""


def simulate_each(
    scenario: Scenario, ways: Mapping[str, ControllerModel], seed: int, say: Say
) -> dict[str, Trace]:
    """Simulate the same run, with the same noise, for each way in which the controller knows the bodies."""

    def simulated(name: str, way: ControllerModel) -> Trace:
        # a generator of its own for each: the sensors' noise must not depend on the runs before
        rng = np.random.default_rng(seed)
        whole = scenario.duration
        return simulate(
            scenario,
            way,
            rng,
            lambda time: say(Progress(name, fraction=time / whole, detail=f"{time:.0f} of {whole:g} s")),
        )

    return {name: simulated(name, way) for name, way in ways.items()}


def constant_body(pi: Vector) -> ScaledBody:
    """Make the load of a body that does not change."""
    return ScaledBody(pi, lambda time: float(pi[0]))


def samples_of(trace: Trace) -> list[Sample]:
    """Return the samples that a filter would have processed."""
    return [sample for sample in trace.samples if sample is not None]


def estimates(filter_: Filter, samples: list[Sample], start: np.ndarray) -> np.ndarray:
    """Return the body (T, 10) that a filter estimates after each sample, from an initial guess (1, 10)."""
    return np.array(
        [filter_.inertial(belief.x)[0] for belief, _ in filter_.run(samples, filter_.init(start))]
    )


def adaptation_case(
    title: str,
    subject: str,
    scenario: Scenario,
    tuning: Tuning,
    error: Callable[[Trace], Vector],
    paper: Mapping[str, float],
    unit: str,
    *,
    seed: int,
    say: Say,
    watch: Stopwatch,
    curves: Callable[[Mapping[str, Trace], Vector], Mapping[str, Curves]],
    facts: Callable[[Mapping[str, Any], Trace], Mapping[str, Any]],
    after: float = 0.0,
    notes: tuple[str, ...] = (),
) -> Reproduction:
    """Run a case of Table II: without adaptation, with it, and with true masses; initial guess and noise are the same.

    Args:
        subject: the quantity that the controller holds, as in "the error of SUBJECT".
        error: of that quantity over a run (T,) [unit].
        paper: the paper's root-mean-square errors.
        after: switches of the mass count from then on [s].
        curves, facts: of the runs and their longest time axis; of the figures and the adapted run.
    """
    (link, load), *_ = scenario.loads.items()
    start = FIRST_GUESS * load(0.0)
    traces = simulate_each(
        scenario,
        {
            WITHOUT: FixedModel({link: start}),
            WITH: AdaptedModel(tuning.filter(), start[None]),
            ORACLE: TrueModel(scenario.loads),
        },
        seed,
        say,
    )
    watch.lap("simulation")
    errors = {name: rmse(error(trace)) for name, trace in traces.items()}
    figures = adaptation_figures(errors, mass_errors_before_switches(traces[WITH], after))
    rows = rows_of_table_2(errors, paper, unit)
    return Reproduction(
        "online",
        "004",
        title,
        f"Adaptation makes the error of {subject} {figures['factor']:.1f} times smaller (in the paper "
        f"{paper[WITHOUT] / paper[WITH]:.1f} times), {figures['against_oracle']:.2f} times that of a controller that "
        "knows the truth.",
        rows,
        {f"Root-mean-square error of {subject}": rows},
        figures,
        {"mass error before a switch, worst [%]": rounded(figures["mass_error_percent_before_switch"])}
        | dict(facts(figures, traces[WITH])),
        curves=curves(traces, longest(traces)),
        notes=(*notes, *fallen_note(traces)),
        seconds=watch.seconds,
    )


def joint_curves(scenario: Scenario, traces: Mapping[str, Trace], time: Vector, joint: str) -> Curves:
    """Return a joint's reference and its angle in each run."""
    at = int(scenario.legged.dofs([joint])[0]) + 1
    reference = np.array([scenario.joints(instant)[joint][0] for instant in time])
    angles = {name: padded(trace.q[:, at], time) for name, trace in traces.items()}
    return Curves(time, "rad", {"reference": reference} | angles)


def foot_forces(trace: Trace) -> Curves:
    """Return the normal force on each foot."""
    left, right = trace.ground_force.T
    return Curves(trace.time, "N", {"left": left, "right": right})


def rmse(errors: Vector) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def mass_errors_before_switches(trace: Trace, after: float = 0.0) -> Vector:
    """Mean absolute error of the estimated mass just before each switch [%]; of switches after a time [s]."""
    estimated, actual, time = trace.assumed[:, 0, 0], trace.actual[:, 0, 0], trace.time
    step = np.diff(actual)
    # a fifth of the range: a sine sampled at 333 Hz has no such steps
    switches = np.flatnonzero((np.abs(step) > 0.2 * np.ptp(actual)) & (time[1:] > after))
    errors = []
    for k in switches:
        window = (time > time[k] - BEFORE_SWITCH) & (time <= time[k])
        errors.append(100 * np.mean(np.abs(estimated[window] - actual[window])) / actual[k])
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
    """The mass that the controller assumed, and the true one."""
    return Curves(trace.time, "kg", {"true": trace.actual[:, 0, 0], "estimate": trace.assumed[:, 0, 0]})


def rounded(percent: float | None) -> float | None:
    """Round to two decimals, where there is a number."""
    return None if percent is None else round(percent, 2)


def padded(values: Vector, time: Vector) -> Vector:
    """Fill a run that ended early with NaN."""
    return np.concatenate([values, np.full(max(len(time) - len(values), 0), np.nan)])


def longest(traces: Mapping[str, Trace]) -> Vector:
    """The longest time axis of these runs."""
    return max((trace.time for trace in traces.values()), key=len)


def fallen_note(traces: Mapping[str, Trace]) -> tuple[str, ...]:
    """Sentences on the runs in which the robot fell."""
    return tuple(
        f"The robot {name} fell after {trace.time[-1]:.1f} s; its error is of the time before."
        for name, trace in traces.items()
        if trace.fallen
    )
