"""A LeRobot SO-101 arm: fit on two motions, predict the others open loop.

Motions of a real arm with six STS3215 servos at 50 Hz, recorded by the authors of SAGE (isaac-sim2real). Commands and
positions are known; currents and torques are not. Two motions are chosen by what they visit (`coverage`),
first among the half that stays highest above the table. All motions are simulated from the written MuJoCo file, from
their first positions and their commands, and those in which the arm touches the table are found
(`touching`). Two are chosen among the rest, and fitted if they are others. All that were not fitted and
do not touch count.

The jaw is recorded from 0 to 1 of its travel. It is simulated as the angle between the limits of the description, and
its errors are in thousandths of the travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from poinsot import Recording
from poinsot.arrays import Vector
from poinsot.diagnosis.parameters import FEWEST_RECORDINGS
from poinsot.estimate import NORMAL_95
from poinsot.estimators.servo.output_error import OutputError
from poinsot.estimators.servo.problem import OPEN, ActuatorProblem
from poinsot.estimators.servo.result import Actuators
from poinsot.exceptions import UnreadableFile
from poinsot.models.friction.listed import servo_friction
from poinsot.models.robot.articulated import Articulated
from poinsot.stopwatch import Stopwatch

from ..case import Reproduction, Say
from ..described import described_robot
from .coverage import Choice, Coverage
from .predictions import (
    AS_DESCRIBED,
    FROM_START,
    LONGEST_STEP_S,
    Recorded,
    delay_and_lag,
    lagged,
    predict,
    predict_in_mujoco_alone,
    published,
)
from .touching import Touch, find_touching, lowest_of_recordings

FOLDER = "so101"
JOINTS = {
    "shoulder_pan": "rotation",
    "shoulder_lift": "pitch",
    "elbow_flex": "elbow",
    "wrist_flex": "wrist_pitch",
    "wrist_roll": "wrist_roll",
    "gripper": "jaw",
}
"""Joint of the description -> of the recordings."""

PUBLISHED = {
    "stiffness": 998.22,
    "velocity_gain": 2.731,
    "damping": 0.60,
    "coulomb": 0.052,
    "armature": 0.028,
    "torque_limit": 3.35,
}
TARGETS = {"rotation": 4.0, "pitch": 5.0, "elbow": 7.0, "wrist_pitch": 4.5, "wrist_roll": 4.5, "jaw": 4.0}
"""Medians over the motions [mrad], of the jaw in thousandths of its travel."""

KNOWN = {"armature": 0.028, "torque_limit": 3.35}
"""The servo's published rotor inertia and stall torque: they give torques the scale that gravity hardly shows."""

HUBER = 1.345
"""The servos shake the arm where a motion is jerky, which no actuator explains: such samples count less."""

LAWS = ("M1", "M3", "efficiency")
"""Dry friction is constant, or grows with the torque in the gears or that of the motor: the fitted motions choose."""

ROUNDS = 3
"""Choices at most."""


@dataclass(frozen=True, eq=False)
class Arm:
    """The arm and its motions.

    Args:
        recordings: name -> channels of the description's joints. scale: (6,) from rad to the unit of an error.
    """

    robot: Articulated
    recordings: Mapping[str, Recording]
    scale: Vector

    @staticmethod
    def read(folder: Path) -> Arm:
        """All motions of a folder.

        Raises:
            UnreadableFile: if there are fewer than three.
        """
        robot = described_robot("so_arm_description", "urdf", "so101.urdf")
        low, high = (
            dict(zip(robot.joints, limit, strict=True))
            for limit in (robot.model.lowerPositionLimit, robot.model.upperPositionLimit)
        )
        files = sorted((folder / FOLDER).glob("*.parquet"))
        if len(files) < 3:
            raise UnreadableFile(
                f"so101 fits two motions and predicts others: {folder / FOLDER} has {len(files)}"
            )
        travel = high["gripper"] - low["gripper"]
        recordings = {}
        for file in files:
            table = pl.read_parquet(file)
            channels = {}
            for joint, name in JOINTS.items():
                for quantity, column in (("position_command", "command"), ("position", "position")):
                    values = table[f"{column}_{name}"].to_numpy()
                    channels[f"{quantity}.{joint}"] = (
                        low[joint] + travel * values if name == "jaw" else values
                    )
            time = table["t"].to_numpy()
            recordings[file.stem] = Recording(time - time[0], channels, dict.fromkeys(channels, "rad"))
        scale = np.array([1e3 / travel if name == "jaw" else 1e3 for name in JOINTS.values()])
        return Arm(robot, recordings, scale)

    def problem(self, names: tuple[str, ...], **settings: Any) -> ActuatorProblem:
        """To fit some of the motions."""
        chosen = {name: self.recordings[name] for name in names}
        return ActuatorProblem(
            self.robot,
            chosen,
            step_s=LONGEST_STEP_S,
            huber=HUBER,
            **AS_DESCRIBED,
            **{"held": KNOWN, **settings},
        )


@dataclass(frozen=True, eq=False)
class Fitted:
    """Estimate from two motions.

    Args:
        errors: motion -> (6,) in the units of errors. touching: found contact, by motion.
        simulated: motion -> (T, 6). beyond: properties that the file cannot hold.
    """

    choice: Choice
    found: Actuators
    errors: Mapping[str, Vector]
    touching: Mapping[str, Touch]
    simulated: Mapping[str, np.ndarray]
    beyond: tuple[str, ...]
    undetermined: tuple[str, ...]

    @property
    def held_out(self) -> tuple[str, ...]:
        """Motions that count: neither fitted nor touching."""
        return tuple(
            name for name in self.errors if name not in self.choice.names and name not in self.touching
        )


def run(data: Path, say: Say) -> Reproduction:
    """Errors of the written file over whole motions, beside three simpler models."""
    watch, begun = Stopwatch(), perf_counter()
    arm = Arm.read(data)
    recorded = {
        name: Recorded.of(name, recording, arm.robot.joints) for name, recording in arm.recordings.items()
    }
    watch.lap("read")
    coverage = Coverage(arm.recordings, arm.robot.joints)
    fitted = _fit(arm, recorded, coverage, say, watch)
    seconds = perf_counter() - begun
    say("simpler models")
    held = [recorded[name] for name in fitted.held_out]
    lags = delay_and_lag([recorded[name] for name in fitted.choice.names])
    models = {
        "ours": np.array([fitted.errors[recording.motion.name] for recording in held]),
        "command": np.array([arm.scale * recording.rms(recording.motion.commands) for recording in held]),
        "lag": np.array([arm.scale * recording.rms(lagged(lags, recording)) for recording in held]),
        "published": np.array(
            [
                arm.scale * recording.rms(q)
                for recording, q in zip(
                    held, predict(arm.robot, published(arm.robot.joints, PUBLISHED), held)[0], strict=True
                )
            ]
        ),
    }
    watch.lap("simpler models")
    say("a model that MJCF holds whole")
    alone = predict_in_mujoco_alone(arm.robot, _held_by_mjcf(arm, fitted).actuators, held)
    models["MuJoCo alone"] = np.array(
        [arm.scale * recording.rms(q) for recording, q in zip(held, alone, strict=True)]
    )
    watch.lap("a model that MJCF holds whole")
    say("two other motions")
    other = coverage.choose(2, fitted.held_out).names
    others = _from_other_motions(arm, other, fitted)
    watch.lap("two other motions")
    say("all further motions")
    further = tuple(name for name in fitted.held_out if name not in other)
    rest = _from_other_motions(arm, further, fitted) if len(further) >= FEWEST_RECORDINGS else None
    watch.lap("all further motions")
    return _reproduction(arm, recorded, fitted, models, others, rest, seconds, watch)


def _fit(
    arm: Arm, recorded: Mapping[str, Recorded], coverage: Coverage, say: Say, watch: Stopwatch
) -> Fitted:
    """Choose among the motions that stay high, fit, find contact; again among all that do not touch."""
    heights = lowest_of_recordings(
        arm.robot, {name: (recording.motion.time, recording.measured) for name, recording in recorded.items()}
    )
    middle = float(np.median(list(heights.values())))
    choice = coverage.choose(2, [name for name, height in heights.items() if height >= middle])
    for number in range(ROUNDS):
        watch.lap("choose")
        say(f"fitting {' and '.join(choice.names)}")
        estimate = OutputError(friction_laws=LAWS).solve(arm.problem(choice.names))
        actuators = estimate.extra(Actuators)
        assert actuators is not None
        watch.lap("fit")
        say("predicting all motions")
        simulated, beyond = predict(arm.robot, actuators.actuators, list(recorded.values()))
        by_name = dict(zip(recorded, simulated, strict=True))
        watch.lap("predict")
        contact = find_touching(
            arm.robot,
            {
                name: (recording.motion.time, recording.measured, by_name[name])
                for name, recording in recorded.items()
            },
        )
        watch.lap("find contact")
        again = coverage.choose(2, [name for name in recorded if name not in contact])
        if again.names == choice.names or number == ROUNDS - 1:
            break
        choice = again
    assert actuators is not None
    errors = {name: arm.scale * recording.rms(by_name[name]) for name, recording in recorded.items()}
    undetermined = tuple(direction.combination for direction in estimate.undetermined)
    return Fitted(choice, actuators, errors, contact, by_name, beyond, undetermined)


def _held_by_mjcf(arm: Arm, fitted: Fitted) -> Actuators:
    """From the same motions, without a gain on the command's rate and with constant dry friction."""
    estimate = OutputError().solve(arm.problem(fitted.choice.names, held=KNOWN | {"derivative_gain": 0.0}))
    return estimate.actuators  # type: ignore[attr-defined]


def _from_other_motions(arm: Arm, names: tuple[str, ...], fitted: Fitted) -> Actuators:
    """The actuators, with the same laws of friction, from motions that were not fitted."""
    start = {
        f"{parameter}.{actuator.name}": value
        for actuator in fitted.found.actuators
        for parameter, value in actuator.values.items()
        if np.isfinite(value) and parameter not in KNOWN
    }
    laws = fitted.found.friction_laws
    further = {name for law in laws.values() for name in servo_friction()[law]}
    held = {f"{name}.{joint}": value for joint in laws for name, value in KNOWN.items()} | {
        f"{name}.{joint}": 0.0 for joint, law in laws.items() for name in further - set(servo_friction()[law])
    }
    problem = arm.problem(names, start=start, held=held, open=(*OPEN, *sorted(further)))
    actuators = FROM_START.solve(problem).extra(Actuators)
    assert actuators is not None
    return actuators


def _reproduction(
    arm: Arm,
    recorded: Mapping[str, Recorded],
    fitted: Fitted,
    models: Mapping[str, np.ndarray],
    others: Actuators,
    rest: Actuators | None,
    seconds: float,
    watch: Stopwatch,
) -> Reproduction:
    names = tuple(JOINTS.values())
    medians = {
        model: dict(zip(names, np.median(errors, axis=0), strict=True)) for model, errors in models.items()
    }
    p90 = dict(zip(names, np.quantile(models["ours"], 0.9, axis=0), strict=True))
    rows = tuple(
        {
            "name": name,
            "ours": float(medians["ours"][name]),
            "target": TARGETS[name],
            "p90": float(p90[name]),
            "command": float(medians["command"][name]),
            "delay and lag": float(medians["lag"][name]),
            "published model": float(medians["published"][name]),
            "MuJoCo alone": float(medians["MuJoCo alone"][name]),
            "unit": "1/1000" if name == "jaw" else "mrad",
        }
        for name in names
    )
    ratios, percent, spread = _ratios(fitted.found, others, rest)
    figures: dict[str, Any] = {
        "heldout_rms_mrad": _with_median(medians["ours"]),
        "heldout_p90_mrad": float(max(p90.values())),
        "heldout_p90_per_joint_mrad": {name: float(value) for name, value in p90.items()},
        "heldout_motions": list(fitted.held_out),
        "fitted_motions": list(fitted.choice.names),
        "touching": sorted(fitted.touching),
        "command_rms_mrad": _with_median(medians["command"]),
        "lag_rms_mrad": _with_median(medians["lag"]),
        "published_rms_mrad": _with_median(medians["published"]),
        "mujoco_alone_rms_mrad": _with_median(medians["MuJoCo alone"]),
        "between_recordings_percent": percent,
        "ratios_inside_percent": _inside_percent(ratios),
        "seconds": seconds,
    }
    motions = tuple(
        {
            "motion": name,
            "": "fitted"
            if name in fitted.choice.names
            else (str(fitted.touching[name]) if name in fitted.touching else "predicted"),
        }
        | {joint: round(float(value), 1) for joint, value in zip(names, fitted.errors[name], strict=True)}
        for name in recorded
    )
    shown = next(iter(fitted.held_out))
    curves = {
        f"{joint} in {shown}": recorded[shown].curves(fitted.simulated[shown], j)
        for j, joint in enumerate(names)
    }
    return Reproduction(
        "actuators-so101",
        "",
        "LeRobot SO-101: predicted open loop from the written MuJoCo file",
        f"Median over the joints of the held-out error: {figures['heldout_rms_mrad']['median']:.1f} mrad, "
        f"{figures['command_rms_mrad']['median']:.0f} mrad for position = command.",
        rows,
        {"Error of whole held-out motions": rows, "Every motion [mrad, 1/1000]": motions, "Ratios": ratios},
        figures,
        {
            "fitted": str(fitted.choice),
            "touching": ", ".join(sorted(fitted.touching)) or "none",
            "90th percentile over motions, largest of the joints": round(figures["heldout_p90_mrad"], 1),
            "between recordings [%]": round(percent, 1),
            "ratios of both pairs inside the intervals that further motions give [%]": round(
                figures["ratios_inside_percent"], 1
            ),
            "seconds": round(seconds, 1),
        },
        curves=curves,
        notes=(
            spread,
            *(f"not determined: {combination}" for combination in fitted.undetermined),
            *fitted.beyond,
        ),
        seconds=watch.seconds,
    )


def _with_median(by_joint: Mapping[str, float]) -> dict[str, float]:
    """And their median over the joints."""
    values = {name: float(value) for name, value in by_joint.items()}
    return values | {"median": float(np.median(list(values.values())))}


def _ratios(
    ours: Actuators, others: Actuators, rest: Actuators | None
) -> tuple[tuple[dict[str, Any], ...], float, str]:
    """Rows of ratios from both pairs of motions, the median of their relative standard deviation [%], a note on it.

    Args:
        rest: from motions of neither pair: its intervals for the next recording are to contain both.
    """
    second = {(ratio.joint, ratio.name): ratio for ratio in others.ratios}
    third = {} if rest is None else {(ratio.joint, ratio.name): ratio for ratio in rest.ratios}
    rows: list[dict[str, Any]] = []
    spreads: dict[str, list[float]] = {}
    for ratio in ours.ratios:
        other = second.get((ratio.joint, ratio.name))
        if other is None:  # a limit that the other motions never reach
            continue
        if ratio.std < abs(ratio.value):
            spreads.setdefault(ratio.name, []).append(_spread(ratio.value, other.value))
        row: dict[str, Any] = {
            "joint": JOINTS[ratio.joint],
            "ratio": ratio.name,
            "unit": ratio.unit,
            "value": f"{ratio.value:.3g}",
            "std": f"{ratio.std:.2g}",
            "from two other motions": f"{other.value:.3g}",
            "its std": f"{other.std:.2g}",
        }
        following = third.get((ratio.joint, ratio.name))
        if following is not None and following.next_std is not None:
            middle, half = following.value, NORMAL_95 * following.next_std
            row["of the next, by further motions"] = f"{middle:.3g} ± {half:.2g}"
            row["both inside"] = all(abs(value - middle) < half for value in (ratio.value, other.value))
        rows.append(row)
    by_name = ", ".join(f"{np.median(percents):.0f} % of {name}" for name, percents in spreads.items())
    note = (
        f"relative standard deviation between the two pairs of motions, median over the joints: {by_name}. Each pair "
        "shows the time by which a slow motion is late, and hardly how delay, damping and derivative gain share in it"
    )
    return (
        tuple(rows),
        float(np.median(np.concatenate(list(spreads.values())))) if spreads else float("nan"),
        note,
    )


def _inside_percent(rows: tuple[dict[str, Any], ...]) -> float:
    """Share of the intervals for the next recording that contain the values of both pairs [%]."""
    inside = [row["both inside"] for row in rows if "both inside" in row]
    return 100 * float(np.mean(inside)) if inside else float("nan")


def _spread(one: float, other: float) -> float:
    """Relative standard deviation of two values [%], which is their difference over sqrt 2."""
    mean = 0.5 * (abs(one) + abs(other))
    return 100 * abs(one - other) / np.sqrt(2) / mean if mean > 0 else 0.0
