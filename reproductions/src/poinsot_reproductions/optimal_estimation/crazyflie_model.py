"""A quadrotor as the solver's recording: what lifts and turns it, what drags it, and what its sensors read.

    f = c lift e_z - drag v,    moment = (c a turn_x, c a turn_y, r turn_z),    a the arm's part along an axis

with `lift` and `turn` of a `Flight`. Moments are used between 2 and 15 Hz alone: below, a small difference between four
rotors or an air stream turns the vehicle as much as the controller does, and it would be taken for inertia. So the
place of the centre of mass, which makes a constant moment, is out of reach and held between the rotors.

theta is the body in log-Cholesky coordinates, r, where wanted the drag along x and y, and either nothing more (c is the
stand's, the mass is sought) or c (the vehicle was weighed, which says alpha = log(m) / 2). c and the masses have one
common scale that no flight can tell: one of them has to be given.

What the data say without the prior is in P^-1 - P_0^-1, of the covariances after and before. With S = P_0^(1/2), the
variance of a quantity with slope g is g^T S (S (P^-1 - P_0^-1) S)^-1 S g, and enormous where only the prior speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from jaxtyping import Bool, Float

from poinsot.arrays import Vector
from poinsot.estimators.shooting.ddp import DDP, ShootingSolution, posterior
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem, Trajectories
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.inertia.parameters import inertia_at_com
from poinsot.models.contacts.contacts import ContactSchedule
from poinsot.models.robot.actuation import Actuation
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import Accelerometer, Gyro, Pose, Readings

from .crazyflie_flight import Flight
from .crazyflie_stand import TURN_PER_MINUTE

BODY = "body"
ARM = 0.046 / np.sqrt(2)
"""Of a rotor along x and along y [m]."""

REFERENCE = (20_000 * TURN_PER_MINUTE) ** 2
"""Squared speed of about hovering, the unit of inputs, so that gains are in N and N m [rad^2/s^2]."""

POSITION, GYRO, ACCELEROMETER = 5e-4, 0.005, 0.15
"""Standard deviations of what is read [m], [rad/s], [m/s^2]; that of the accelerometer is vibration."""

PUSH, TURN = 0.2, 2.0
"""Standard deviations of what thrust and moments lack in a step, as accelerations [m/s^2], [rad/s^2]."""

CHART_STD = (1.0, 0.5, 0.5, 0.5, 3e-3, 3e-3, 3e-3, 1e-5, 1e-5, 1e-5)
"""What is known of the body beforehand: little, but that its centre of mass is between the rotors [1], [m]."""

REACTION = 0.006
"""Where the moment of a rotor about its axis begins, per thrust; known to a factor of ten only [m]."""

DRAG = 0.1
"""Standard deviation of what is known of the drag beforehand, which begins at 0 [N s/m]."""

WEIGHED_STD = 5e-5
"""Of the weighed mass [kg]."""

METHOD = DDP(step_tolerance=1e-4)
"""A full step of a ten thousandth of a standard deviation is the last."""

LEAST_INFORMATION = 1e-9
"""Of data beside a prior of 1; less is rounding."""

UNSEEN_PART = 0.3
"""From this relative standard deviation on, without the prior, a quantity is not identifiable."""


@dataclass(frozen=True, eq=False)
class FlightEstimate:
    """What a flight says.

    Args:
        flight: which. solution: of the problem.
        mass, mass_std: [kg], by the posterior.
        inertia, inertia_std: (3,) about the centre of mass, axes of the body [kg m^2].
        unidentified: of Jx, Jy, Jz and the rotors' drag moment, what the data do not determine.
        coefficient, coefficient_std: thrust per squared speed of a rotor [N s^2]; the latter 0 where it was given.
        drag: (2,) along x and y [N s/m]; 0 without.
        residuals: sensor -> root mean square in standard deviations.
        expected: sensor -> (S, 3) what it should have read.
    """

    flight: Flight
    solution: ShootingSolution
    mass: float
    mass_std: float
    inertia: Vector
    inertia_std: Vector
    unidentified: tuple[str, ...]
    coefficient: float
    coefficient_std: float
    drag: Vector
    residuals: Mapping[str, float]
    expected: Mapping[str, Float[np.ndarray, "S 3"]]


@dataclass(frozen=True, eq=False)
class Spread:
    """How sure theta is, with the prior and without.

    Args:
        covariance: (p, p) with the prior.
        prior_std: (p,) standard deviations of the prior.
        assumed: (p,) True where the prior is an assumption, False where it is a measurement.
    """

    covariance: Float[np.ndarray, "p p"]
    prior_std: Vector
    assumed: Bool[np.ndarray, "p"]

    def of_data(self, quantities: Float[np.ndarray, "k p"]) -> Vector:
        """(k,) standard deviations of quantities with slopes (k, p) by theta, without what was assumed."""
        scaled = self.covariance / np.outer(self.prior_std, self.prior_std)
        with_prior = np.linalg.inv(0.5 * (scaled + scaled.T))
        information, axes = np.linalg.eigh(with_prior - np.diag(self.assumed.astype(float)))
        along = (quantities * self.prior_std) @ axes
        return np.asarray(np.sqrt((along**2 / np.maximum(information, LEAST_INFORMATION)).sum(axis=1)))


@cache
def robot() -> Articulated:
    """One body in the air."""
    with as_file(files("poinsot_reproductions") / "robots" / "crazyflie.urdf") as path:
        return load_robot(path, floating_base=True)


def actuation() -> Actuation:
    """Inputs lift, turn_x, turn_y, turn_z in units of `REFERENCE`; gains `thrust` of three and `reaction` of one."""
    inputs = ("lift", "turn_x", "turn_y", "turn_z")
    matrix = np.zeros((6, 4))
    matrix[2:, :] = np.diag([1.0, ARM, ARM, 1.0])
    return Actuation(
        matrix, inputs, {"thrust": inputs[:3], "reaction": inputs[3:]}, {"thrust": "N", "reaction": "N m"}
    )


def estimate(
    flight: Flight, coefficient: float, mass: float | None = None, drag: bool = True
) -> FlightEstimate:
    """Trajectory and parameters of a flight.

    Args:
        flight: which.
        coefficient: thrust per squared speed [N s^2]: given, or where to begin if the mass is given.
        mass: as weighed [kg]; None: it is sought.
        drag: whether the air's drag along x and y is sought too.
    """
    parameters = _open(coefficient, mass, drag)
    motion = _motion(flight, parameters)
    std = _prior_std(parameters, mass)
    start = parameters.nominal_theta
    problem = ShootingProblem(
        (motion,),
        (GaussianPrior.flat(flight.guess[0], 12),),
        GaussianPrior.from_covariance(start, std**2),
        np.minimum(std, 0.3),
    )
    guess = Trajectories((flight.guess,), (np.zeros(motion.noise_std.shape),), start)
    solution = METHOD.solve(problem, guess)
    assumed = np.ones(len(std), dtype=bool)
    assumed[0] = mass is None  # a weighed mass is measured
    spread = Spread(posterior(problem, solution.at).theta, std, assumed)
    return _summary(flight, motion, parameters, solution, spread)


def _open(coefficient: float, mass: float | None, drag: bool) -> OpenParameters:
    thrust = coefficient * REFERENCE
    described = robot().inertials
    return OpenParameters(
        robot(),
        (BODY,),
        joints=("drag_x", "drag_y") if drag else (),
        gains=("reaction",) if mass is None else ("reaction", "thrust"),
        actuation=actuation(),
        nominal={"thrust": thrust, "reaction": REACTION * thrust},
        inertials=described if mass is None else described * (mass / described[0, 0]),
        drag=drag,
    )


def _prior_std(parameters: OpenParameters, mass: float | None) -> Vector:
    """(p,) of theta."""
    std = {"drag_x": DRAG, "drag_y": DRAG}
    std |= {name: 10 * parameters.nominal[name] for name in parameters.drive.gains}
    chart = np.array(CHART_STD)
    if mass is not None:
        chart[0] = 0.5 * WEIGHED_STD / mass
    return np.concatenate([chart, [std[name] for name in (*parameters.joints, *parameters.gains)]])


def _motion(flight: Flight, parameters: OpenParameters) -> RobotTrajectoryModel:
    pose = np.full((len(flight), 7), np.nan)  # without orientations: those are of the markers
    pose[:, :3] = flight.position
    body = parameters.robot
    readings = (
        Readings(Pose(body, np.array([POSITION] * 3 + [1.0] * 3), BODY), pose),
        Readings(Gyro(body, GYRO, BODY), flight.gyro),
        Readings(Accelerometer(body, ACCELEROMETER, BODY), flight.accelerometer),
    )
    airborne = ContactSchedule((), np.zeros((len(flight), 0), dtype=bool))
    u = np.concatenate([flight.lift[:, None], flight.turn], axis=1) / REFERENCE
    step = float(flight.times[1] - flight.times[0])
    noise = np.concatenate([np.zeros(6), np.full(3, PUSH * step), np.full(3, TURN * step)])
    return RobotTrajectoryModel(parameters, airborne, flight.times, u, readings, noise)


def _summary(
    flight: Flight,
    motion: RobotTrajectoryModel,
    parameters: OpenParameters,
    solution: ShootingSolution,
    spread: Spread,
) -> FlightEstimate:
    theta, covariance = solution.theta, spread.covariance
    values = parameters.values(theta)
    assert values.slope is not None
    pi, slope = values.bodies[0], values.slope[0]
    std = np.sqrt(np.diag(slope @ covariance[:10, :10] @ slope.T))
    inertia = np.diag(inertia_at_com(pi))
    reaction = parameters.names.index("reaction")
    quantities = np.zeros((4, len(theta)))
    quantities[:3, :10] = slope[[4, 6, 9]]
    quantities[3, reaction] = 1.0
    alone = spread.of_data(quantities) / np.abs([*inertia, theta[reaction]])
    names = ("Jx", "Jy", "Jz", "rotor drag")
    thrust, found = parameters.nominal["thrust"], 0.0
    if "thrust" in parameters.gains:
        place = parameters.names.index("thrust")
        thrust, found = float(theta[place]), float(np.sqrt(covariance[place, place]))
    drag = [float(theta[parameters.names.index(name)]) for name in parameters.joints]
    residuals, expected = _read(flight, motion, solution)
    return FlightEstimate(
        flight,
        solution,
        float(pi[0]),
        float(std[0]),
        inertia,
        std[[4, 6, 9]],
        tuple(name for name, part in zip(names, alone, strict=True) if part > UNSEEN_PART),
        thrust / REFERENCE,
        found / REFERENCE,
        np.array(drag or [0.0, 0.0]),
        residuals,
        expected,
    )


def _read(
    flight: Flight, motion: RobotTrajectoryModel, solution: ShootingSolution
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Residuals of the sensors, and what they should have read."""
    x, theta = solution.at.x[0], solution.theta
    r = np.concatenate([motion.steps(0, x[:-1], theta)[1].value, motion.last(x[-1], theta).value])
    seen = np.isfinite(flight.position[:, 0])
    parts = {"position": r[seen, :3], "gyro": r[:, 6:9], "accelerometer": r[:, 9:12]}
    expected = {
        "gyro": flight.gyro - GYRO * r[:, 6:9],
        "accelerometer": flight.accelerometer - ACCELEROMETER * r[:, 9:12],
    }
    return {name: float(np.sqrt(np.mean(part**2))) for name, part in parts.items()}, expected
