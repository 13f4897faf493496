"""Which link: 3 kg somewhere on one of ten links, of which neither is known (future work of the paper).

Trial after trial the robot stands and moves its arms and trunk; a ball hangs on a random link at a random place. A bank
of filters, one a candidate, finds the link. The controller does not know the load: its arms sag.

A bank compares sums of log-likelihoods over many samples, which correlated residuals make too sure: the noise of its
filters is the calibrated standard deviation times the root of `CORRELATED`.

Each trial has a stream of random numbers of its own, so that results do not depend on the order of execution.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache

import numpy as np

from poinsot.estimators.online.attribution import LinkBank
from poinsot.stopwatch import Stopwatch
from poinsot.studies.study import Study

from ..case import Curves, Reproduction, Say
from .adaptation import ARM_NOTE, LOOP_NOTE, calibrate, described_body, quiet
from .simulation.closed_loop import FixedModel, JointMotion, Scenario, simulate
from .simulation.legged_robot import LeggedRobot, talos
from .simulation.loads import Attached, point_mass

TRIALS = 100
DURATION = 3.0
"""Of a trial [s]."""
LOAD, REACH = 3.0, 0.1
"""Mass of the ball [kg], and how far from the link's centre of mass it hangs at most, along each axis [m]."""
SURE = 0.95
LINKS = (
    "base_link",
    "torso_2_link",
    *(f"arm_{side}_{k}_link" for side in ("left", "right") for k in (2, 4, 5, 7)),
)
MIDDLES = {f"arm_{side}_4_joint": -1.4 for side in ("left", "right")} | {
    "arm_left_2_joint": 0.5,
    "arm_right_2_joint": -0.5,
    "torso_2_joint": 0.1,
}
"""Centres of the motion of joints that do not move about their home [rad]."""
AMPLITUDES = {1: 0.2, 2: 0.3, 3: 0.4, 4: 0.5, 5: 0.6, 6: 0.4, 7: 0.3}
"""Of the arms' joints [rad]."""
TRUNK = {"torso_1_joint": 0.2, "torso_2_joint": 0.1}
SLOWEST, FASTEST = 0.4, 0.8
"""Of the sines [Hz]."""
CORRELATED = 16.0
"""Number of samples that count as one independent sample in the likelihoods.

Residuals are correlated by slow sensor errors: the variance of their means over half a second is 5 (base) to 50 (arms)
times that of independent samples, of which this is the geometric mean. With 1, and with each row's own number, a bank
is too sure: it attributes 96 and 97 of 100 loads correctly, with 16 all (seed 101)."""
RAMP = 0.5
"""In which the motion begins [s]."""


def sines(humanoid: LeggedRobot, rng: np.random.Generator) -> JointMotion:
    """Every joint of arms and trunk on a sine of its own, about where it is at home."""
    amplitudes = TRUNK | {
        f"arm_{side}_{k}_joint": amplitude
        for side in ("left", "right")
        for k, amplitude in AMPLITUDES.items()
    }
    joints = list(amplitudes)
    A = np.array(list(amplitudes.values()))
    w = 2 * np.pi * rng.uniform(SLOWEST, FASTEST, len(joints))
    phase = rng.choice([-1.0, 1.0], len(joints))
    middle = humanoid.home[humanoid.dofs(joints) + 1]

    def motion(time: float) -> dict[str, tuple[float, float]]:
        # s(x) = 3 x^2 - 2 x^3: position and velocity begin at rest
        x = min(time / RAMP, 1.0)
        rise, speed = 3 * x**2 - 2 * x**3, 6 * x * (1 - x) / RAMP
        s, c = phase * A * np.sin(w * time), phase * A * w * np.cos(w * time)
        q, v = middle + rise * s, rise * c + speed * s
        return {joint: (float(a), float(b)) for joint, a, b in zip(joints, q, v, strict=True)}

    return motion


@cache
def robot() -> LeggedRobot:
    """Talos, its arms bent and strong; made once in a process."""
    return talos(MIDDLES, arm_effort=2.0)


@dataclass(frozen=True, eq=False)
class Trial:
    """One load on one link.

    Args:
        link: that carries it.
        noise: (n,) of the bank's filters.
        rng: of the load's place, the motion and the sensors.
    """

    link: str
    noise: np.ndarray
    rng: np.random.Generator


def attribute(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    """(T,) time [s] and (T, k + 1) probabilities of the candidates, and of no change."""
    humanoid, link, rng = robot(), trial.link, trial.rng
    bank = LinkBank(humanoid.robot, LINKS, trial.noise)
    own = described_body(humanoid, link)
    place = own[1:4] / own[0] + rng.uniform(-REACH, REACH, 3)
    load = Attached(own, point_mass(LOAD, place))
    scenario = Scenario(humanoid, {link: load}, DURATION, joints=sines(humanoid, rng))
    trace = simulate(scenario, FixedModel({link: own}), rng)
    suspicion, time, probabilities = bank.init(), [], []
    for sample in trace.samples:
        if sample is not None:
            suspicion, _ = bank.step(suspicion, sample)
            time.append(sample.time)
            probabilities.append(suspicion.probabilities)
    return np.array(time), np.array(probabilities)


def sure_since(time: np.ndarray, probability: np.ndarray) -> float | None:
    """From when on a probability is above the bound to the end [s]; None if it is not."""
    # to the end: a verdict that is taken back was none
    unsure = np.flatnonzero(probability <= SURE)
    if not len(unsure):
        return float(time[0])
    return float(time[unsure[-1] + 1]) if unsure[-1] + 1 < len(time) else None


def run(seed: int, trials: int = TRIALS, executor: Executor | None = None, say: Say = quiet) -> Reproduction:
    """Count how often the right link is found, and after how long.

    Args:
        executor: of the trials; None: processes of its own.
    """
    watch = Stopwatch()
    rng = np.random.default_rng(seed)
    say("calibration")
    own = described_body(robot(), LINKS[1])
    moving = Scenario(robot(), {LINKS[1]: Attached(own, 0 * own)}, DURATION, joints=sines(robot(), rng))
    noise = np.sqrt(CORRELATED) * calibrate(moving, rng).noise
    watch.lap("calibration")
    loaded = rng.choice(LINKS, trials)
    tasks = [Trial(link, noise, own) for link, own in zip(loaded.tolist(), rng.spawn(trials), strict=True)]
    jobs = {str(k): task for k, task in enumerate(tasks)}
    results = list(Study(jobs, attribute, unit="trials").run(executor, say=say).values())
    waits = [
        sure_since(time, probabilities[:, LINKS.index(task.link)])
        for task, (time, probabilities) in zip(tasks, results, strict=True)
    ]
    time, probabilities = results[0]
    shown = Curves(time, "1", {name: probabilities[:, k] for k, name in enumerate((*LINKS, "none"))})
    watch.lap("trials")
    times = [wait for wait in waits if wait is not None]
    figures = {
        "trials": trials,
        "attributed_correctly": len(times),
        "median_seconds": float(np.median(times)) if times else None,
    }
    rows = tuple(
        {
            "name": link,
            "trials": int(np.sum(loaded == link)),
            "attributed": sum(w is not None for w, at in zip(waits, loaded, strict=True) if at == link),
        }
        for link in LINKS
    )
    return Reproduction(
        "online",
        "004",
        "Which link: 3 kg on one of ten, at an unknown place",
        f"{len(times)} of {trials} loads are attributed to the right link with a probability above {SURE} within "
        f"{DURATION:g} s.",
        rows,
        {"Loads by link": rows},
        figures,
        {"median time until sure [s]": figures["median_seconds"]},
        notes=(ARM_NOTE, LOOP_NOTE, "The paper assumes the link to be known."),
        seconds=watch.seconds,
        curves={f"Probabilities in the first trial, with the load on {loaded[0]}": shown},
    )
