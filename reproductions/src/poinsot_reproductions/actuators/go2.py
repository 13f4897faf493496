"""A Unitree Go2 that hangs in the air: each half of the recording predicts the other.

One recording of all twelve joints at 200 Hz, an accelerating triangle, by Bellegarda et al. (iit-DLSLab,
sim2real-robot-identification). Proportional gain 20 and derivative gain 1.5 are those of its configuration; the second
acts on the measured velocity, as commands of velocity are 0. The base is taken for fixed and upright.

The slow half shows dry friction and little else. What its joints show of damping, armature and delay together is the
prior of each of them (`estimators.servo.pooling`): the motors are of one kind, and commands come in one packet. Dry
friction that is linear between four positions takes the place of a constant where a joint's recording asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from poinsot import Recording
from poinsot.arrays import Vector
from poinsot.estimate import Estimate
from poinsot.estimators.servo.between_joints import Equality, equality_of_joints
from poinsot.estimators.servo.output_error import OutputError
from poinsot.estimators.servo.problem import ActuatorProblem
from poinsot.estimators.servo.result import Actuators
from poinsot.models.robot.articulated import Articulated
from poinsot.models.servo.actuator import Actuator
from poinsot.stopwatch import Stopwatch

from ..case import Reproduction, Say
from ..described import described_robot
from .pooling import pooled_priors
from .predictions import (
    AS_DESCRIBED,
    FROM_START,
    LONGEST_STEP_S,
    Recorded,
    delay_and_lag,
    lagged,
    predict,
    published,
)

FILE = "go2/in_the_air.parquet"
GAINS = {"stiffness": 20.0, "velocity_gain": 1.5}
OPEN = ("damping", "coulomb", "armature", "delay", "zero")
POOLED = ("damping", "armature", "delay")
PUBLISHED = {"stiffness": 20.0, "damping": 2.0, "armature": 0.01, "coulomb": 0.2}
"""The simulation model's numbers; its damping stands for the derivative gain too, with both it is further off."""
KNOTS = 4
PARTS = ("hip", "thigh", "calf")
SIGNIFICANT = 0.01
"""Probability of the difference of a left and a right joint, were they equal, below which they are not."""
TARGETS = {"hip": 5.0, "thigh": 3.5, "calf": 9.0}
"""Largest of the four legs and of both halves [mrad]."""

Halves = Mapping[str, Recording]


@dataclass(frozen=True, eq=False)
class Half:
    """Estimate from one half of the recording, and its prediction of the other half.

    Args:
        name: name of the fitted half. errors, of_fit: (12,) errors in the other half and in this one [mrad].
        simulated: (T, 12) positions of the other half. alone: estimate of each joint without the others.
        left_right: tests whether joints of both sides are equal there.
    """

    name: str
    estimate: Estimate
    actuators: tuple[Actuator, ...]
    errors: Vector
    of_fit: Vector
    simulated: np.ndarray
    beyond: tuple[str, ...]
    alone: Estimate
    left_right: tuple[Equality, ...]

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Directions that the half does not determine without the other joints."""
        return tuple(direction.combination for direction in self.alone.undetermined)


def run(data: Path, say: Say) -> Reproduction:
    """Errors of each half's written file over the other half, beside three simpler models."""
    watch, begun = Stopwatch(), perf_counter()
    robot = described_robot("go2_description", "urdf", "go2.urdf")
    halves = read_halves(data / FILE, robot)
    recorded = {name: Recorded.of(name, half, robot.joints) for name, half in halves.items()}
    watch.lap("read")
    fits = []
    for name, other in zip(halves, reversed(list(halves)), strict=True):
        say(f"fitting the {name} half")
        fits.append(_half(robot, name, halves[name], recorded[name], recorded[other]))
        watch.lap(f"fit the {name} half")
    seconds = perf_counter() - begun
    models = {
        "ours": np.array([half.errors for half in fits]),
        "fit": np.array([half.of_fit for half in fits]),
        "command": np.array(
            [
                1e3 * recording.rms(recording.motion.commands)
                for recording in reversed(list(recorded.values()))
            ]
        ),
    }
    pairs = list(zip(recorded.values(), reversed(list(recorded.values())), strict=True))
    models["lag"] = np.array([1e3 * to.rms(lagged(delay_and_lag([of]), to)) for of, to in pairs])
    simple = published(robot.joints, PUBLISHED)
    models["published"] = np.array([1e3 * to.rms(predict(robot, simple, [to])[0][0]) for _, to in pairs])
    watch.lap("simpler models")
    return _reproduction(robot, recorded, fits, models, seconds, watch)


def read_halves(path: Path, robot: Articulated) -> Halves:
    """The slow and the fast half, each on its own clock.

    Raises:
        UnreadableFile: see `polars`.
    """
    table = pl.read_parquet(path)
    time = table["t"].to_numpy()
    middle = len(time) // 2
    halves = {}
    for name, part in (("slow", slice(0, middle)), ("fast", slice(middle, None))):
        channels = {
            f"{quantity}.{joint}": table[f"{column}_{joint.removesuffix('_joint')}"].to_numpy()[part]
            for joint in robot.joints
            for quantity, column in (("position_command", "command"), ("position", "position"))
        }
        halves[name] = Recording(time[part] - time[part][0], channels, dict.fromkeys(channels, "rad"))
    return halves


def _half(robot: Articulated, name: str, recording: Recording, own: Recorded, other: Recorded) -> Half:
    alone, estimate = estimate_half(robot, name, recording)
    extra = estimate.extra(Actuators)
    assert extra is not None
    simulated, beyond = predict(robot, extra.actuators, [own, other])
    errors = [1e3 * half.rms(q) for half, q in zip((own, other), simulated, strict=True)]
    known = {key for key, identifiable in zip(alone.names, alone.identifiable, strict=True) if identifiable}
    sides = [
        (joint, f"{joint[0]}R{joint[2:]}")
        for joint in robot.joints
        if joint[1] == "L" and {f"{joint}.coulomb", f"{joint[0]}R{joint[2:]}.coulomb"} <= known
    ]
    left_right = equality_of_joints(alone, sides)
    return Half(
        name, estimate, extra.actuators, errors[1], errors[0], simulated[1], beyond, alone, left_right
    )


def estimate_half(robot: Articulated, name: str, recording: Recording) -> tuple[Estimate, Estimate]:
    """Each joint alone, with constant friction or one that varies with position; then with what all show together."""

    def problem(**settings: Any) -> ActuatorProblem:
        return ActuatorProblem(
            robot, {name: recording}, open=OPEN, held=GAINS, step_s=LONGEST_STEP_S, **AS_DESCRIBED, **settings
        )

    knots = {joint: _knots(recording.channels[f"position.{joint}"]) for joint in robot.joints}
    constant = OutputError().solve(problem())
    varying = OutputError().solve(problem(friction_positions=knots))
    chosen = {
        joint: knots[joint]
        for k, joint in enumerate(robot.joints)
        if explains_more(constant.fit.residuals[:, k], varying.fit.residuals[:, k], KNOTS - 1)
    }
    alone = constant if not chosen else OutputError().solve(problem(friction_positions=chosen))
    names = [key.rpartition(".") for key in alone.names]
    start = {
        f"{parameter}.{joint}": float(value)
        for (joint, _, parameter), value in zip(names, alone.values, strict=True)
        if not parameter.startswith("friction_level")
    }
    priors = pooled_priors(alone, POOLED)
    return alone, FROM_START.solve(problem(friction_positions=chosen, priors=priors, start=start))


def explains_more(before: Vector, after: Vector, parameters: int) -> bool:
    """Whether further parameters lower residuals by more than chance (Bayesian information criterion).

    Residuals (T,) count as so many independent ones as their autocorrelation at the first lag leaves.
    """
    r = after - after.mean()
    rho = float(np.clip(np.sum(r[1:] * r[:-1]) / max(np.sum(r * r), 1e-300), 0.0, 1.0 - 1.0 / len(r)))
    n = max(len(r) * (1 - rho) / (1 + rho), 2.0)
    return bool(n * np.log(np.mean(before**2) / max(np.mean(after**2), 1e-300)) > parameters * np.log(n))


def _knots(position: Vector) -> tuple[float, ...]:
    low, high = np.quantile(position, [0.01, 0.99])
    return tuple(float(x) for x in np.linspace(low, high, KNOTS))


def left_right_percent(estimates: Sequence[Estimate]) -> float:
    """Median difference of left and right joints, relative to their mean, over what both show [%]."""
    percents = []
    for estimate in estimates:
        values = dict(zip(estimate.names, estimate.values, strict=True))
        known = dict(zip(estimate.names, estimate.identifiable, strict=True))
        for name, value in values.items():
            other = f"{name[0]}R{name[2:]}"
            parameter = name.rpartition(".")[2]
            if name[1] == "L" and other in values and known[name] and known[other] and parameter != "zero":
                mean = 0.5 * (abs(value) + abs(values[other]))
                percents.append(100 * abs(value - values[other]) / mean if mean > 0 else 0.0)
    return float(np.median(percents)) if percents else float("nan")


def _reproduction(
    robot: Articulated,
    recorded: Mapping[str, Recorded],
    fits: Sequence[Half],
    models: Mapping[str, np.ndarray],
    seconds: float,
    watch: Stopwatch,
) -> Reproduction:
    places = {part: [k for k, joint in enumerate(robot.joints) if part in joint] for part in PARTS}

    def largest(model: str, part: str) -> float:
        return float(models[model][:, places[part]].max())

    def figure(model: str) -> dict[str, float]:
        by_part = {f"{part}s" if part != "calf" else "calves": largest(model, part) for part in PARTS}
        return by_part | {"median": float(np.median(models[model]))}

    rows = tuple(
        {
            "name": part,
            "ours": largest("ours", part),
            "target": TARGETS[part],
            "in the fit": largest("fit", part),
            "command": largest("command", part),
            "delay and lag": largest("lag", part),
            "published model": largest("published", part),
            "unit": "mrad",
        }
        for part in PARTS
    )
    joints = tuple(
        {"joint": joint}
        | {f"from the {half.name} half [mrad]": round(float(half.errors[k]), 1) for half in fits}
        | {
            f"{kind}, {half.name}": _parameter(half.estimate, joint, kind)
            for kind in ("coulomb", "damping", "armature", "delay")
            for half in fits
        }
        for k, joint in enumerate(robot.joints)
    )
    sides = tuple(
        {"half": half.name, "joints": " and ".join(test.joints), "parameters": len(test.parameters)}
        | {"chi-square": f"{test.chi_square:.3g}", "probability if equal": f"{test.probability:.2g}"}
        | {"largest difference": test.most}
        for half in fits
        for test in half.left_right
    )
    difference = left_right_percent([half.estimate for half in fits])
    figures: dict[str, Any] = {
        "heldout_rms_mrad": figure("ours"),
        "heldout_median_mrad": {part: float(np.median(models["ours"][:, places[part]])) for part in PARTS},
        "heldout_per_joint_mrad": {
            half.name: dict(zip(robot.joints, map(float, half.errors), strict=True)) for half in fits
        },
        "command_rms_mrad": figure("command"),
        "lag_rms_mrad": figure("lag"),
        "published_rms_mrad": figure("published"),
        "not_determined": {half.name: list(half.undetermined) for half in fits},
        "left_right_percent": difference,
        "left_right_unequal": {
            half.name: [test.joints[0] for test in half.left_right if test.probability < SIGNIFICANT]
            for half in fits
        },
        "seconds": seconds,
    }
    other = list(recorded)[1]
    curves = {
        f"{joint} in the {other} half, predicted from the {fits[0].name} half": recorded[other].curves(
            fits[0].simulated, k
        )
        for k, joint in enumerate(robot.joints)
    }
    notes = [
        f"the {half.name} half does not determine {', '.join(half.undetermined)}"
        for half in fits
        if half.undetermined
    ]
    return Reproduction(
        "actuators-go2",
        "",
        "Unitree Go2 in the air: each half of the recording predicts the other",
        f"Median of the held-out errors: {figures['heldout_rms_mrad']['median']:.1f} mrad, "
        f"{figures['command_rms_mrad']['median']:.0f} mrad for position = command.",
        rows,
        {
            "Largest error over four legs and both halves": rows,
            "Every joint": joints,
            "Left and right": sides,
        },
        figures,
        {"left and right differ by [%]": round(difference, 1), "seconds": round(seconds, 1)},
        curves=curves,
        notes=(*notes, *fits[1].beyond),
        seconds=watch.seconds,
    )


def _parameter(estimate: Estimate, joint: str, parameter: str) -> str:
    """Value and standard deviation; a friction with position as its levels."""
    std = estimate.std
    at = [
        k
        for k, name in enumerate(estimate.names)
        if name == f"{joint}.{parameter}"
        or (parameter == "coulomb" and name.startswith(f"{joint}.friction_level"))
    ]
    return ", ".join(f"{estimate.values[k]:.3g} +- {std[k]:.1g}" for k in at)
