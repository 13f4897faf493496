"""A payload of a legged robot, weighed by optimal estimation from what its sensors read.

The ten parameters of the body that carries it are open, with nothing known of them but a weak prior about the
description; the payload is the estimate less the description. Standard deviations stated to the estimator, of a reading
at a node:

    positions           of encoders, and as far as contacts creep, which the model does not know
    velocities          of differences of encoders
    gyro                a mean over n readings is that of a reading over sqrt(n)
    torque, speeds      as stated; of a node at which a contact comes to rest or leaves, `doubt` times as much

Accelerations and torques are means over both intervals about a node, weighted by a triangle. Those of neighbouring
nodes have readings in common; what is slow they show as well as independent ones with a reading's over sqrt(n).

Biases, misalignment and delay are parameters, with priors about 0 of the standard deviations that they have. A delay is
estimated to first order: readings are shifted by whole samples of it and estimated again, until less than half a sample
is left. How far nodes that are further apart change the result is part of its standard deviations, as a semi-implicit
step errs in proportion to its duration where a motion is fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from poinsot.arrays import Vector
from poinsot.estimate import NORMAL_95, Estimate, motions_of
from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.estimation import OptimalEstimation, OptimalEstimationProblem
from poinsot.estimators.shooting.known_parameters import KnownParameters
from poinsot.estimators.shooting.recordings import MotionNoise
from poinsot.estimators.shooting.summary import RobotMotionEstimate
from poinsot.inertia.parameters import from_pseudo_inertia
from poinsot.models.contacts.contacts import Contact, ContactDetection
from poinsot.models.robot.articulated import Articulated
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensor_errors import bias_walk_priors, sensor_error_priors
from poinsot.report.blocks import Figure
from poinsot.report.figures.animation import ESTIMATED, TRUE, DrawnBodies, robot_animation

from ..normalized_errors import PHYSICAL, PHYSICAL_UNITS, physical, physical_slopes
from ..presentation import with_std
from .robot_sensors import EDGE, IMU, NODE, Moved, SensorQuality, at_nodes, read
from .sensor_defects import DELAY_STD

CHART_STD = 1.0
"""Of each coordinate of the open body's chart about the description: a factor e."""
TURNED = 0.3
"""Standard deviation of a rotation vector of a box [rad]."""
NAME = "motion"
"""Of the recording."""
DELAY = "delay.all"
KNOTS_S = 0.5
"""Largest time between knots of a bias that walks [s]. The bridge between them, walk sqrt(KNOTS_S / 6) rms, is a tenth
of the noise of `robot_sensors` for a walk of 1e-3 rad/s and 1e-2 m/s^2 in the root of a second."""
METHOD = OptimalEstimation(DDP(step_tolerance=0.1, gap_tolerance=1e-4, max_iterations=60))
ROUGH = replace(METHOD, ddp=replace(METHOD.ddp, max_iterations=15), max_rounds=1)
"""Until a delay is known to a sample: where it is not, there may be no minimum near the motion."""
CALLED = {"clean": "clean sensors", "defects": "sensors with defects"}
"""How tables name kinds of sensors."""
SHIFTS = 5
"""How often readings are shifted at most."""


@dataclass(frozen=True)
class Stated:
    """What the estimator is told beside the noise of sensors.

    Args:
        torque: of a mean over a node's interval [N m].
        speed: of the change in a step that the model lacks, of the base's linear [m/s] and angular speed [rad/s] and of
            joints' [rad/s].
        doubt: how many times as large those of torques and of these speeds are where a contact comes to rest or
            leaves.
        closes_above: mean normal force of a contact that is closed [N].
        acceleration: of an accelerometer, with what contacts that are soft add to it [m/s^2].
        creep: of positions, by contacts that creep [rad].
        node, edge, unsteady, unit: of `at_nodes`.
    """

    torque: float
    speed: tuple[float, float, float]
    doubt: tuple[float, float, float, float]
    closes_above: float
    acceleration: float
    creep: float = 0.0
    node: int = NODE
    edge: int = EDGE
    unsteady: tuple[int, int] = (0, 0)
    unit: str = IMU

    def noise(self, quality: SensorQuality, joints: Sequence[str]) -> MotionNoise:
        """The standard deviations that the estimator is told of sensors of a quality, and of a robot's joints."""
        encoder = float(np.hypot(quality.position, quality.position_step / np.sqrt(12)))
        linear, angular, of_joints = self.speed
        return MotionNoise(
            {
                "position": float(np.hypot(self.creep, encoder)),
                "velocity": 1.5 * np.sqrt(2) * encoder / (1e-3 * self.node),
                "orientation": quality.orientation,
                "gyro": quality.gyro / float(np.sqrt(self.node)),
                "accelerometer": self.acceleration,
                "torque": self.torque,
            },
            speeds={**dict.fromkeys(joints, of_joints), "base_linear": linear, "base_angular": angular},
        )


@dataclass(frozen=True, eq=False)
class Weighing:
    """The body that carries the payload, as estimated.

    Args:
        estimate: of the ten parameters and the motion.
        own: (10,) of the body without payload. load: (10,) of the payload.
        others: the same under other assumptions: nodes further apart.
        late: by how much readings were shifted before [s].
    """

    estimate: Estimate
    own: Vector
    load: Vector
    others: tuple[Estimate, ...] = ()
    late: float = 0.0

    @property
    def delay_ms(self) -> dict[str, float]:
        """Of sensors, and its standard deviation, as keys of JSON; empty if none was estimated."""
        if DELAY not in self.estimate.names:
            return {}
        std = float(self.estimate.std[self.estimate.names.index(DELAY)])
        return {"delay_ms": 1e3 * (self.late + float(self.estimate[DELAY])), "delay_std_ms": 1e3 * std}

    @property
    def pi(self) -> Vector:
        """(10,) of body and payload."""
        return np.array(self.estimate.values[:10])

    @property
    def mass(self) -> float:
        """Of the payload [kg]."""
        return float(self.pi[0] - self.own[0])

    @property
    def mass_error_percent(self) -> float:
        return 100 * (self.mass / float(self.load[0]) - 1)

    def quantities(self, payload: bool = False) -> dict[str, dict[str, Any]]:
        """Mass, centre of mass and inertia about it: truth, estimate and standard deviation.

        What other assumptions change is part of the standard deviation.

        Args:
            payload: of the payload alone; otherwise of the body with it.
        """
        known = self.own if payload else np.zeros(10)
        slopes = physical_slopes(self.pi - known)
        covariance = np.asarray(self.estimate.covariance)[:10, :10]
        std = np.sqrt(np.einsum("ij, jk, ik -> i", slopes, covariance, slopes))
        true, ours = physical(self.own + self.load - known), physical(self.pi - known)
        for other in self.others:
            std = np.hypot(std, physical(np.array(other.values[:10]) - known) - ours)
        return {
            name: {
                "truth": float(true[k]),
                "ours": float(ours[k]),
                "std": float(std[k]),
                "inside": bool(abs(ours[k] - true[k]) <= NORMAL_95 * std[k]),
            }
            for k, name in enumerate(PHYSICAL)
        }


@dataclass(frozen=True, eq=False)
class Carrier:
    """A robot that carries a payload, and what is known of its motion.

    Args:
        robot: as it is described. body: that carries the payload.
        contacts: that the robot may have, in the order of the motion's forces.
        standing: from when to when the robot is still, when a gyro reads its bias [s]; None: it is not taken off.
        begins: what is before is left out [s].
    """

    robot: Articulated
    body: str
    contacts: tuple[Contact, ...]
    standing: tuple[float, float] | None
    begins: float

    @property
    def own(self) -> Vector:
        """(10,) of the body without payload, as it is described."""
        return np.asarray(self.robot.inertials[self.robot.bodies.index(self.body)])


def weigh(
    carrier: Carrier,
    load: Vector,
    motion: Moved,
    quality: SensorQuality,
    stated: Stated,
    rng: np.random.Generator,
    coarser: Stated | None = None,
) -> Weighing:
    """Estimate a body and its payload from what sensors read of a motion.

    Args:
        carrier: the robot.
        load: (10,) the payload, to compare with.
        motion: what there is to read.
        quality: of the sensors.
        stated: to the estimator.
        rng: of the sensors' noise.
        coarser: the same with nodes further apart, to compare with; None: nothing is.
    """
    readings, others, late = read(motion, quality, rng), tuple[Estimate, ...](), None
    if coarser is not None:
        other, late = estimated(carrier, readings, quality, coarser)
        others = (other,)
    estimate, late = estimated(carrier, readings, quality, stated, late=late)
    return Weighing(estimate, carrier.own, load, others, late)


def estimated(
    carrier: Carrier,
    readings: Moved,
    quality: SensorQuality,
    stated: Stated,
    late: float | None = None,
    walk: Mapping[str, float] | None = None,
) -> tuple[Estimate, float]:
    """The body's parameters and errors of sensors, and by how much readings were shifted before [s]; see `weigh`.

    Args:
        late: by how much readings are shifted [s]; None: it is found.
        walk: of biases in the last solution, as that of `problem`.
    """
    errors = errors_of(quality, stated.unit)
    if errors:  # the gyro's bias is one of them
        carrier = replace(carrier, standing=None)
        quality = replace(quality, gyro_bias=0.0, accelerometer_bias=0.0, misalignment=0.0)
    period = float(readings.time[1] - readings.time[0])
    shift = round((late or 0.0) / period)
    for _ in range(SHIFTS if quality.delay and late is None else 0):
        rough = ROUGH.solve(problem(carrier, readings.earlier(shift), quality, stated, errors))
        more = round(float(rough[DELAY]) / period)
        if not more:
            break
        shift += more
    estimate = METHOD.solve(problem(carrier, readings.earlier(shift), quality, stated, errors, walk))
    return estimate, period * shift


def errors_of(quality: SensorQuality, unit: str) -> dict[str, dict[str, float]]:
    """Priors of the errors that sensors of a quality have, as `sensor_error_priors` takes them.

    Args:
        unit: frame of the inertial unit.
    """
    given = {
        "bias_std": {"gyro": quality.gyro_bias, "accelerometer": quality.accelerometer_bias},
        "misalignment_std": {unit: quality.misalignment},
        "delay_std_s": {"all": DELAY_STD if quality.delay else 0.0},
    }
    some = {key: {name: std for name, std in stds.items() if std} for key, stds in given.items()}
    return {key: stds for key, stds in some.items() if stds}


def problem(
    carrier: Carrier,
    readings: Moved,
    quality: SensorQuality,
    stated: Stated,
    errors: Mapping[str, Mapping[str, float]] | None = None,
    walk: Mapping[str, float] | None = None,
) -> OptimalEstimationProblem:
    """The body's parameters and the motion, from readings; arguments as those of `weigh`.

    Args:
        errors: of sensors that are estimated too, as `sensor_error_priors` takes them.
        walk: of biases, as `bias_walk_priors` takes it; None: they are constant.
    """
    recording, doubtful = at_nodes(
        readings, carrier.robot.joints, [contact.frame for contact in carrier.contacts], stated.closes_above,
        carrier.standing, node=stated.node, edge=stated.edge, unsteady=stated.unsteady, unit=stated.unit,
    )  # fmt: skip
    kept = recording.time >= carrier.begins
    recording, doubtful = recording.between(carrier.begins, np.inf), doubtful[kept]
    priors = sensor_error_priors([recording], **(errors or {}))
    priors |= bias_walk_priors({NAME: recording}, priors, walk or {}, KNOTS_S)
    parameters = OpenParameters(carrier.robot, (carrier.body,), sensors=tuple(priors))
    stated_alike = OptimalEstimationProblem.from_recordings(
        parameters,
        {NAME: recording},
        stated.noise(quality, carrier.robot.joints),
        contacts=ContactDetection(carrier.contacts),
        known=KnownParameters(parameters, priors, CHART_STD),
    )
    (model,) = stated_alike.models
    components = [len(model.noisy_commands), 3, 3, len(model.noisy_freedoms) - 6]
    growth = np.where(doubtful[:, None], np.repeat(stated.doubt, components), 1.0)
    return replace(stated_alike, models=(replace(model, growth=growth),))


def random_box(
    mass: float,
    size: tuple[float, float, float],
    place: tuple[float, float, float],
    spread: tuple[float, float, float],
    rng: np.random.Generator,
) -> Vector:
    """(10,) pi of a uniform box on a body, in the body's frame: another place, size and orientation each time.

    Args:
        mass: [kg]. size: of its sides [m], up to 20 % different in each direction.
        place, spread: of its centre, and by how much it is another [m].
        rng: of what differs.
    """
    half = np.array(size) * rng.uniform(0.8, 1.2, 3) / 2
    centre = np.array(place) + np.array(spread) * rng.uniform(-1.0, 1.0, 3)
    R = Rotation.from_rotvec(TURNED * rng.standard_normal(3)).as_matrix()
    J = np.empty((4, 4))
    # second moments of a box about its centre, m half^2 / 3 along its own axes
    J[:3, :3] = mass * (R @ np.diag(half**2 / 3) @ R.T + np.outer(centre, centre))
    J[:3, 3] = J[3, :3] = mass * centre
    J[3, 3] = mass
    return from_pseudo_inertia(J)


def quantity_lines(quantities: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Quantities as lines of a table."""
    return [
        {
            "of": f"{name} [{PHYSICAL_UNITS[name]}]",
            "truth": float(f"{each['truth']:.4g}"),
            "ours": with_std(each["ours"], each["std"]),
            "in its 95 % interval": "yes" if each["inside"] else "no",
        }
        for name, each in quantities.items()
    ]


def weighing_animation(robot: Articulated, body: str, called: str, weighing: Weighing) -> Figure:
    """The estimated motion, with the body that carries the payload as it is and as it was estimated.

    Args:
        robot: whose motion it is. body: of it that carries the payload, in the legend `called`.
        weighing: of the payload.
    """
    motion = next(each for each in motions_of(weighing.estimate) if isinstance(each, RobotMotionEstimate))
    time, place = motion.path.time, (robot.bodies.index(body),)
    return robot_animation(
        f"The estimated motion, {called} with payload",
        robot,
        motion.nodes[:, : robot.model.nq],
        np.linspace(time[0], time[-1], len(motion.nodes)),
        (
            DrawnBodies.known(robot),
            DrawnBodies(f"true {called}", place, (weighing.own + weighing.load)[None], TRUE, 0.35),
            DrawnBodies(f"estimated {called}", place, weighing.pi[None], ESTIMATED, 0.8),
        ),
    )
