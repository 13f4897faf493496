"""Go1 jumps: where it lands is estimated from inertial unit and encoders (Martinez et al. 2024, Sect. VI-D).

The start is known; there is no reading of position or orientation after it. Optimal estimation (`localization`) and the
contact-aided invariant Kalman filter of `poinsot track` have the same readings, and are told the same standard
deviations of the sensors. How much feet slip no sensor says: `FOOT_WALK` of the filter, and `STILL` of optimal
estimation, are levels with which squared errors of other jumps had about the mean of chi-square, 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from poinsot.arrays import Vector
from poinsot.estimators.online.leg_odometry import LegOdometry, LegOdometryProblem, base_of
from poinsot.models.contacts import BallContact, ContactDetection
from poinsot.recording import Recording
from poinsot.report import Figure
from poinsot.stopwatch import Stopwatch
from poinsot_fleet.store import Store
from poinsot_fleet.study import Study
from poinsot_viewer.animation import DrawnBodies, robot_animation

from ..case import Curves, Reproduction, Say
from ..normalized_errors import mean_in_band, squared_error
from ..online.simulation.legged_robot import GO1_FOOT, GO1_LEGS, go1
from .go1_jump import LANDS_ABOVE, Jump, jump
from .localization import Localization, localize
from .robot_sensors import IMU, SensorQuality, moved, named, read
from .sensor_defects import USUAL

JUMPS, FEW = 20, 4
FEET = tuple(f"{leg}_foot" for leg in GO1_LEGS)
SENSORS = SensorQuality(**vars(replace(USUAL, misalignment=0.0, delay=0)), bias_walk=0.1)
"""Encoders of 14 bits, biases of the inertial unit that wander, 2 % of readings lost."""
FOOT_WALK = 4e-3
"""[m/sqrt(s)]"""
FILTER = LegOdometry(
    inertial_noise=(SENSORS.gyro, SENSORS.accelerometer),
    position_noise=float(np.hypot(SENSORS.position, SENSORS.position_step / np.sqrt(12))),
    foot_walk=FOOT_WALK,
    bias_std=(SENSORS.gyro_bias, SENSORS.accelerometer_bias),
    bias_walk=(SENSORS.bias_walk * SENSORS.gyro_bias, SENSORS.bias_walk * SENSORS.accelerometer_bias),
    start_std=(1e-3, 1e-2),
)
METHODS = ("optimal estimation", "filter")
COMPONENTS = ("x", "y", "z", "roll", "pitch", "yaw")
"""Of an error: of the place in the world, which the robot jumps along x, and of the rotation in the base's axes."""
Poses = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(S, 3) places and (S, 4) quaternions of the base, (S, 6, 6) covariance, of rotations in the base's axes."""


def recorded(motion: Jump, rng: np.random.Generator) -> Recording:
    """What encoders, gyro, accelerometer and forces on feet read of a jump, every millisecond."""
    robot = motion.robot.robot
    unit = robot.model.frames[robot.model.getFrameId(IMU)].placement.translation
    seen = moved(motion, unit)
    # the mean of the steps before and after a sample: a reading at its time
    about = np.concatenate([seen.acceleration[:1], 0.5 * (seen.acceleration[1:] + seen.acceleration[:-1])])
    readings = read(replace(seen, acceleration=about), SENSORS, rng)
    columns = {
        **named("position", robot.joints, readings.joints, "rad"),
        **named(f"gyro.{IMU}", "xyz", readings.gyro, "rad/s"),
        **named(f"accelerometer.{IMU}", "xyz", readings.acceleration, "m/s^2"),
        **named("contact", FEET, readings.force, "N"),
    }
    return Recording(
        motion.time,
        {name: np.nan_to_num(values) for name, (values, _) in columns.items()},
        {name: unit for name, (_, unit) in columns.items()},
        {name: np.isfinite(values) for name, (values, _) in columns.items()},
    )


def located(
    motion: Jump, rng: np.random.Generator, foot_walk: float = FOOT_WALK
) -> tuple[dict[str, Poses], Localization, int]:
    """The base at the samples of a jump by both methods, what optimal estimation found besides, and the first sample.

    Args:
        rng: of the sensors' noise. foot_walk: of the filter [m/sqrt(s)].
    """
    feet = ContactDetection(tuple(BallContact(foot, radius=GO1_FOOT[1]) for foot in FEET), LANDS_ABOVE)
    R = Rotation.from_quat(motion.q[0, 3:7]).as_matrix()
    samples, T_bu = LegOdometryProblem(motion.robot.robot, recorded(motion, rng), feet).samples
    start = motion.q[0, :3] + R @ T_bu[:3, 3], R @ T_bu[:3, :3]
    ours, filter_ = localize(samples, FILTER, *start), replace(FILTER, foot_walk=foot_walk)
    belief = filter_.init(samples[0], *start)
    bases = [base_of(belief, T_bu, filter_.inertial_noise[0])]
    for sample in samples[1:]:
        belief, _ = filter_.update(belief, sample)
        bases.append(base_of(belief, T_bu, filter_.inertial_noise[0]))
    states = np.array([state for state, _ in bases])
    theirs = states[:, :3], states[:, 3:7], np.array([P[:6, :6] for _, P in bases])
    return dict(zip(METHODS, (ours.base(T_bu), theirs), strict=True)), ours, len(motion.time) - len(samples)


def errors(
    motion: Jump, poses: Poses, first: int, sample: int
) -> tuple[Vector, Vector, tuple[float, int], Vector]:
    """(3,) errors of place [m] and of rotation, in the base's axes [rad], the squared error with its degrees, and (6,)
    all errors in their own standard deviations.

    Args:
        first: sample of the motion at which the poses begin. sample: of the motion.
    """
    place, quaternion, P = (column[sample - first] for column in poses)
    away = motion.q[sample, :3] - place
    turned = (Rotation.from_quat(quaternion).inv() * Rotation.from_quat(motion.q[sample, 3:7])).as_rotvec()
    e = np.concatenate([away, turned])
    return away, turned, squared_error(e, P), e / np.sqrt(np.diag(P))


def attempt(job: tuple[int, int]) -> dict[str, Any]:
    """Errors of both methods at the landing of one jump.

    Args:
        job: seed of the case, and number of the jump.
    """
    motion = jump(np.random.default_rng([*job, 0]))
    poses, ours, first = located(motion, np.random.default_rng([*job, 1]))
    found = {name: errors(motion, each, first, motion.landing) for name, each in poses.items()}
    return {
        "flight_s": float(motion.time[motion.landing] - motion.time[motion.take_off]),
        "length_m": float(motion.q[motion.landing, 0] - motion.q[0, 0]),
        "iterations": ours.iterations,
        "converged": ours.converged,
        "methods": {
            name: {
                "position": place.tolist(),
                "orientation": turned.tolist(),
                "square": square,
                "off": off.tolist(),
            }
            for name, (place, turned, square, off) in found.items()
        },
    }


# ------------------------------------------------------------------------------------------------------------ the case


def run(
    seed: int,
    quick: bool = False,
    say: Say = lambda _: None,
    *,
    executor: Executor | None = None,
    folder: Path | None = None,
) -> Reproduction:
    """Jump, and ask both methods where the robot landed.

    Args:
        seed: of the jumps and of the noise. quick: `FEW` jumps. say: takes sentences about the progress.
        executor, folder: as of `Study.run` and its store.
    """
    watch = Stopwatch()
    jobs = {f"{seed}-{number}": (seed, number) for number in range(FEW if quick else JUMPS)}
    settings = {"seed": seed, "jumps": len(jobs), "sensors": asdict(SENSORS), "foot_walk": FOOT_WALK}
    settings["components"] = COMPONENTS
    solved = Study(jobs, attempt, unit="jumps").run(executor, Store("jump", settings, folder), say=say)
    watch.lap("jumps")
    say("one jump, for the pictures")
    motion = jump(np.random.default_rng([seed, 0, 0]))
    poses, ours, first = located(motion, np.random.default_rng([seed, 0, 1]))
    watch.lap("pictures")
    rows = tuple(_row(name, [each["methods"][name] for each in solved.values()]) for name in METHODS)
    jumps = {
        "iterations": max(each["iterations"] for each in solved.values()),
        "converged": all(each["converged"] for each in solved.values()),
    }
    figures = {
        f"{what}_error{ending}_{unit}": row[what]
        for row, ending in zip(rows, ("", "_filter"), strict=True)
        for what, unit in (("position", "m"), ("orientation", "rad"))
    }
    ratio = figures["position_error_filter_m"] / figures["position_error_m"]
    mean = {key: float(np.mean([each[key] for each in solved.values()])) for key in ("flight_s", "length_m")}
    return Reproduction(
        "optimal-estimation",
        "001",
        "Go1 jumps, and is localized by its inertial unit and encoders alone (Sect. VI-D)",
        f"Over {len(jobs)} jumps optimal estimation finds the place of landing to "
        f"{1e3 * figures['position_error_m']:.2f} mm and {1e3 * figures['orientation_error_rad']:.2f} mrad, the "
        f"contact-aided invariant filter to {1e3 * figures['position_error_filter_m']:.2f} mm and "
        f"{1e3 * figures['orientation_error_filter_rad']:.2f} mrad (root mean square): {ratio:.1f} times as far.",
        tuple(row | (jumps if row["name"] == METHODS[0] else {}) for row in rows),
        {"At landing, root mean square": [_line(row) for row in rows]},
        figures,
        {
            "jumps": len(jobs),
            "mean flight [s]": round(mean["flight_s"], 3),
            "mean length [m]": round(mean["length_m"], 3),
            "random walk of a foot in the filter [m/sqrt(s)]": FOOT_WALK,
        },
        curves=_pictures(motion, poses, ours, first),
        animations=(_animated(motion, first),),
        notes=NOTES,
        seconds=watch.seconds,
    )


def _row(name: str, found: list[Mapping[str, Any]]) -> dict[str, Any]:
    rms = {
        what: float(np.sqrt(np.mean(np.sum(np.square([each[what] for each in found]), axis=1))))
        for what in ("position", "orientation")
    }
    band = mean_in_band([tuple(each["square"]) for each in found])
    inside = band["band"][0] <= band["nees_mean"] <= band["band"][1]
    off = np.sqrt(np.mean(np.square([each["off"] for each in found]), axis=0)).tolist()
    return {
        "name": name,
        "paper": None,
        **rms,
        "jumps": len(found),
        **band,
        "inside": bool(inside),
        "in_std": dict(zip(COMPONENTS, off, strict=True)),
    }


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    low, high = row["band"]
    return {
        "method": row["name"],
        "position [mm]": round(1e3 * row["position"], 2),
        "orientation [mrad]": round(1e3 * row["orientation"], 2),
        "mean squared error in standard deviations": round(row["nees_mean"], 2),
        "99 % band": f"{low:.2f} to {high:.2f}",
        "inside": "yes" if row["inside"] else "no",
        ", ".join(COMPONENTS): ", ".join(f"{each:.1f}" for each in row["in_std"].values()),
    }


def _pictures(motion: Jump, poses: Mapping[str, Poses], ours: Localization, first: int) -> dict[str, Curves]:
    """Errors of place and orientation over a jump, and the slip that optimal estimation found."""
    time = motion.time[first:]
    true, turned = motion.q[first:, :3], Rotation.from_quat(motion.q[first:, 3:7])
    place = {name: 1e3 * np.linalg.norm(each[0] - true, axis=1) for name, each in poses.items()}
    angle = {
        name: 1e3 * (Rotation.from_quat(each[1]).inv() * turned).magnitude() for name, each in poses.items()
    }
    slip = {foot: 1e3 * column for foot, column in zip(FEET, ours.slip.T, strict=True)}
    return {
        "First jump: error of the place of the base": Curves(time, "mm", place),
        "First jump: error of its orientation": Curves(time, "mrad", angle),
        "First jump: slip of feet by evidence": Curves(time[1:], "mm/sqrt(s)", slip),
    }


def _animated(motion: Jump, first: int) -> Figure:
    """The jump, its bodies drawn as ellipsoids."""
    robot = go1().robot
    return robot_animation(
        "The first jump", robot, motion.q[first:], motion.time[first:], (DrawnBodies.known(robot),)
    )


NOTES = (
    "The robot jumps in MuJoCo, whose contacts are soft and whose feet roll and creep. The paper's jump is a "
    "measurement on the robot, of which it gives a picture and no table.",
    "The base is moved by the inertial unit and held by feet that stand; torques and the robot's masses are not used. "
    "Both methods know that feet are balls that roll.",
    "Both have the same readings and the same standard deviations of the sensors. Optimal estimation has the whole "
    "recording and finds from it when feet slip; the filter has what was before, and one random walk of its feet.",
    "While the robot pushes, all feet creep backward together, by 20 mm/s on MuJoCo's soft floor. To the filter feet "
    "walk at random, each by itself and alike in all directions: its errors along x and in pitch are about twice as "
    "large as it says, others half as large. So the mean of its squared errors depends on the one level of this walk, "
    "and says less than the components beside it, root mean squares in standard deviations.",
    "Sensors have biases that wander, quantized encoders and lost readings, and neither misalignment nor delay.",
)
