"""Go1 walks with an unknown payload, which optimal estimation weighs (Martinez et al. 2024, Sect. VI-C, Figs. 4 and 5).

Four cycles of a crawl in 14 s, in MuJoCo. The ten parameters of the trunk are open, with nothing known of them but a
weak prior about the description. Once the sensors are noisy and otherwise ideal, once they have the defects of real
ones. Then the controller walks again with the estimated trunk, and with that of the description.

Standard deviations stated to the estimator, of a reading at a node:

    positions           `CREEP`, as far as feet creep on the ground, which the model does not know
    velocities          of differences of encoders
    orientation, accelerometer
                        constant errors c count as white ones of c sqrt(N) would, N readings: the mean has the std c
    torque, speeds      `TORQUE`, `SPEED`; of a node at which a foot comes to rest or leaves, `DOUBT` times as much

A delay is not corrected; the estimate with commands as late as sensors may be says how far it may be off.

Soft contacts and feet that creep disturb for about a tenth of a second, unlike white noise. Errors c that last for n
nodes count as white ones of c sqrt(n): an error of 0.13 N m for 0.1 s counts as `TORQUE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool

from poinsot.arrays import Vector
from poinsot.estimate import NORMAL_95, Estimate
from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem
from poinsot.estimators.shooting.known_parameters import KnownParameters
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.estimators.shooting.robot_log import MotionNoise, RobotLog
from poinsot.models.contacts import BallContact, ContactDetection
from poinsot.models.open_parameters import OpenParameters
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from ..normalized_errors import PHYSICAL, physical, physical_slopes
from ..online.simulation.legged_robot import GO1_FOOT, GO1_LEGS
from ..presentation import with_std
from .go1_walk import DURATION, PAYLOAD_MASS, TRUNK, Walk, height_error, payload, swing_error, walk
from .robot_sensors import CLEAN, DEFECTS, IMU, NODE, Moved, SensorQuality, at_nodes, moved, read

PAPER_KG, PAPER_ITERATIONS = 7.364, 27
FEET = tuple(f"{leg}_foot" for leg in GO1_LEGS)
QUICK_DURATION = 7.0
"""[s]"""
STANDING = 0.6, 1.0
"""From when to when the robot stands still after it has got its load [s]; what is before is left out."""
CLOSES_ABOVE = 1.5
"""Mean normal force of a foot that touches the ground [N]."""
CREEP = 3e-3
"""[rad]: 0.7 mm at a foot."""
ACCELERATION = 0.1
"""[m/s^2]"""
TORQUE, SPEED = 0.5, 1e-3
"""[N m], and the change of speeds in a step that the model lacks [m/s], [rad/s]."""
DOUBT = 5.0, 100.0
"""How many times as large torques' and speeds' standard deviations are where a foot comes to rest or leaves."""
CHART_STD = 1.0
"""Of each coordinate of the trunk's chart about the description: a factor e."""
METHOD = OptimalEstimation(DDP(step_tolerance=0.1, gap_tolerance=1e-4, max_iterations=60))


@dataclass(frozen=True, eq=False)
class WalkLog(RobotLog):
    """A recording of a walk, with more process noise at doubtful samples.

    Args:
        doubtful: (S,) samples at which a foot comes to rest, or leaves.
    """

    doubtful: Bool[np.ndarray, "S"] | None = None

    @cached_property
    def model(self) -> RobotTrajectoryModel:
        model = RobotTrajectoryModel(self.stages, self.noise, self.command_noise)
        assert self.doubtful is not None
        factors = np.repeat(DOUBT, [len(model.noisy_commands), len(model.noisy_freedoms)])
        stages = self.doubtful[self.stages.samples[:-1]]
        model.noise_std = np.where(stages[:, None], factors, 1.0) * model.noise_std
        return model


@dataclass(frozen=True, eq=False)
class Weighing:
    """The trunk and its payload, as estimated.

    Args:
        estimate: of the ten parameters and the motion.
        own: (10,) of the trunk without payload. load: (10,) of the payload.
        delayed: the estimate if sensors are late by as much as they may be; None: they are not.
    """

    estimate: Estimate
    own: Vector
    load: Vector
    delayed: Estimate | None = None

    @property
    def pi(self) -> Vector:
        """(10,) of trunk and payload."""
        return np.array(self.estimate.values[:10])

    @property
    def mass(self) -> float:
        """Of the payload [kg]."""
        return float(self.pi[0] - self.own[0])

    @property
    def mass_error_percent(self) -> float:
        return 100 * (self.mass / float(self.load[0]) - 1)

    def quantities(self) -> dict[str, dict[str, Any]]:
        """Mass, centre of mass and inertia about it, of trunk and payload: truth, estimate and standard deviation.

        What a delay may change is part of the standard deviation.
        """
        slopes = physical_slopes(self.pi)
        covariance = np.asarray(self.estimate.covariance)[:10, :10]
        std = np.sqrt(np.einsum("ij, jk, ik -> i", slopes, covariance, slopes))
        true, ours = physical(self.own + self.load), physical(self.pi)
        if self.delayed is not None:
            std = np.hypot(std, physical(np.array(self.delayed.values[:10])) - ours)
        return {
            name: {
                "truth": float(true[k]),
                "ours": float(ours[k]),
                "std": float(std[k]),
                "inside": bool(abs(ours[k] - true[k]) <= NORMAL_95 * std[k]),
            }
            for k, name in enumerate(PHYSICAL)
        }


def stated_noise(quality: SensorQuality, samples: int) -> MotionNoise:
    """The standard deviations that the estimator is told.

    Args:
        quality: of the sensors. samples: N, of each sensor.
    """
    encoder = float(np.hypot(quality.position, quality.position_step / np.sqrt(12)))
    constant = np.sqrt(samples) * np.array([quality.misalignment, quality.accelerometer_bias])
    return MotionNoise(
        {
            "position": CREEP,
            "velocity": 1.5 * np.sqrt(2) * encoder / (1e-3 * NODE),
            "orientation": float(np.hypot(quality.orientation, constant[0])),
            "gyro": quality.gyro,
            "accelerometer": float(np.hypot(ACCELERATION, constant[1])),
            "torque": TORQUE,
        },
        speeds=SPEED,
    )


def weigh(walked: Walk, load: Vector, quality: SensorQuality, rng: np.random.Generator) -> Weighing:
    """Estimate the trunk from what sensors read of a walk.

    Args:
        walked: what the robot did. load: (10,) its payload, to compare with.
        quality: of the sensors. rng: of their noise.
    """
    robot = walked.robot.robot
    frame = robot.model.frames[robot.model.getFrameId(IMU)]
    motion = moved(walked.time, walked.q, walked.v, walked.tau, walked.force, frame.placement.translation)
    readings = read(motion, quality, rng)
    own = robot.inertials[robot.bodies.index(TRUNK)]
    estimate = _estimated(walked, readings, quality)
    if not quality.delay:
        return Weighing(estimate, own, load)
    commands = readings.torque.copy()
    commands[quality.delay :] = readings.torque[: -quality.delay]
    return Weighing(estimate, own, load, _estimated(walked, replace(readings, torque=commands), quality))


def _estimated(walked: Walk, readings: Moved, quality: SensorQuality) -> Estimate:
    """The trunk's parameters and the motion."""
    robot = walked.robot.robot
    recording, doubtful = at_nodes(readings, robot.joints, FEET, CLOSES_ABOVE, STANDING)
    kept = recording.time >= STANDING[0]
    recording, doubtful = recording.between(STANDING[0], np.inf), doubtful[kept]
    parameters = OpenParameters(robot, (TRUNK,))
    problem = OptimalEstimationProblem.from_recordings(
        parameters,
        {"walk": recording},
        stated_noise(quality, len(recording)),
        contacts=ContactDetection(tuple(BallContact(foot, radius=GO1_FOOT[1]) for foot in FEET)),
        known=KnownParameters(parameters, chart_std=CHART_STD),
    )
    log = problem.logs[0]
    log = WalkLog(**{field.name: getattr(log, field.name) for field in fields(log)}, doubtful=doubtful)
    return METHOD.solve(replace(problem, logs=(log,)))


# ------------------------------------------------------------------------------------------------------------ the case


def run(seed: int, quick: bool = False, say: Say = lambda _: None) -> Reproduction:
    """Weigh the payload with clean sensors and with defects, then walk again with what was found.

    Args:
        seed: of payload and noise.
        quick: two cycles instead of four.
        say: takes sentences about the progress.
    """
    watch = Stopwatch()
    load = payload(np.random.default_rng([seed, 0]))
    duration = QUICK_DURATION if quick else DURATION

    def walked(assumed: Vector | None) -> Walk:
        return walk(load, assumed, np.random.default_rng([seed, 1]), duration)

    say("walk with the described trunk")
    without = walked(None)
    watch.lap("walk")
    found = {}
    for number, (name, quality) in enumerate({"clean": CLEAN, "defects": DEFECTS}.items()):
        say(f"estimation, {name} sensors")
        found[name] = weigh(without, load, quality, np.random.default_rng([seed, 2, number]))
        watch.lap(name)
    say("walk with the estimated trunk")
    corrected = walked(found["defects"].pi)
    watch.lap("corrected walk")
    rows = tuple(_row(name, weighing) for name, weighing in found.items())
    errors = {
        "swing foot": (swing_error(without.trace), swing_error(corrected.trace)),
        "height of the trunk": (height_error(without.trace), height_error(corrected.trace)),
    }
    figures = {
        **{f"mass_error_percent_{name}": weighing.mass_error_percent for name, weighing in found.items()},
        "iterations": max(row["iterations"] for row in rows),
        "swing_error_ratio": errors["swing foot"][1] / errors["swing foot"][0],
        "height_error_ratio": errors["height of the trunk"][1] / errors["height of the trunk"][0],
    }
    return Reproduction(
        "optimal-estimation",
        "001",
        "Go1 walks with an unknown payload (Sect. VI-C, Figs. 4 and 5)",
        f"The payload of {PAYLOAD_MASS:g} kg is estimated as {found['clean'].mass:.3f} kg with clean sensors and "
        f"{found['defects'].mass:.3f} kg with defects, in at most {figures['iterations']} iterations. With the "
        f"estimated trunk the swing foot is {figures['swing_error_ratio']:.2f} and the height of the trunk "
        f"{figures['height_error_ratio']:.2f} times as far from its reference as without.",
        rows,
        {
            "Payload": [_payload_line(row) for row in rows],
            **{f"Trunk and payload, {name} sensors": _quantity_lines(each) for name, each in found.items()},
            "Root mean square tracking errors": [
                {
                    "of": of,
                    "described trunk [mm]": round(1e3 * a, 2),
                    "estimated trunk [mm]": round(1e3 * b, 2),
                }
                for of, (a, b) in errors.items()
            ],
        },
        figures,
        {
            "walked [m]": round(float(corrected.trace.q[-1, 0]), 2),
            "nodes": f"every {NODE} ms",
        },
        curves=_pictures(without, corrected),
        notes=NOTES,
        seconds=watch.seconds,
    )


def _row(name: str, weighing: Weighing) -> dict[str, Any]:
    estimate = weighing.estimate
    return {
        "name": f"payload, {name} sensors",
        "paper": PAPER_KG,
        "ours": weighing.mass,
        "unit": "kg",
        "truth": PAYLOAD_MASS,
        "std": weighing.quantities()["mass"]["std"],
        "error_percent": weighing.mass_error_percent,
        "iterations": estimate.iterations,
        "paper_iterations": PAPER_ITERATIONS,
        "converged": estimate.status.converged,
        "ending": estimate.status.name,
        "quantities": weighing.quantities(),
    }


def _payload_line(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "sensors": row["name"].removeprefix("payload, "),
        "truth [kg]": row["truth"],
        "paper [kg]": row["paper"],
        "ours [kg]": with_std(row["ours"], row["std"]),
        "error": f"{row['error_percent']:+.2f} %",
        "iterations, paper": row["paper_iterations"],
        "iterations, ours": row["iterations"],
        "ending": row["ending"],
    }


def _quantity_lines(weighing: Weighing) -> list[dict[str, Any]]:
    return [
        {
            "of": name,
            "truth": float(f"{each['truth']:.4g}"),
            "ours": with_std(each["ours"], each["std"]),
            "in its 95 % interval": "yes" if each["inside"] else "no",
        }
        for name, each in weighing.quantities().items()
    ]


def _pictures(without: Walk, corrected: Walk) -> dict[str, Curves]:
    """Height of the trunk, and of the front left foot over four steps."""
    time = corrected.trace.time
    length = min(len(time), len(without.trace.time))
    walks = {"described trunk": without.trace, "estimated trunk": corrected.trace}
    height = {"reference": corrected.trace.reference[:length, 2]}
    foot = {"reference": corrected.trace.swing[:length, 0, 2]}
    return {
        "Height of the trunk": Curves(
            time[:length], "m", height | {name: trace.q[:length, 2] for name, trace in walks.items()}
        ),
        "Height of the front left foot": Curves(
            time[:length], "m", foot | {name: trace.feet[:length, 0, 2] for name, trace in walks.items()}
        ),
    }


NOTES = (
    "The robot walks in MuJoCo, whose contacts are soft and whose feet roll and creep; the estimator has rigid feet "
    "that roll. The paper's walk is a measurement on the robot.",
    f"Readings every millisecond become nodes every {NODE} ms: differences and means that fit the integrator. Around "
    "each touchdown and lift-off speeds are not read and the model has more process noise.",
    "A gyro's bias is its mean while the robot stands; misalignment and the accelerometer's bias are part of the noise "
    "stated. The delay is known as a largest one: what it changes is part of the standard deviations, not corrected.",
    "The controller that walks again has the estimate of the sensors with defects.",
)
