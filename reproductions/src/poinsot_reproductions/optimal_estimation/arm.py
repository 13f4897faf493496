"""ANYmal with a Kinova arm carries an unknown object in its gripper (Martinez et al. 2024, Fig. 2, top).

It stands on its four feet, sways its trunk and swings its arm, in MuJoCo at 1 kHz; the recording has 500 Hz. MuJoCo's
ground is soft and its feet are balls; the estimator has rigid contacts at points. Encoders, tachometers, an IMU on the
trunk and the torques of all joints are read with noise, and once more with the defects of real sensors, of which
biases, misalignment and delay are estimated.

Unknown is the object: its mass and centre of mass entirely. Of its shape the gripper says something: in log-Cholesky
coordinates

    d = log(radius / sqrt(5)) +- SHAPE_STD,    s = 0 +- SHAPE_STD radius / sqrt(5)

about a uniform sphere of the radius GRIP at the tip, of START_MASS, which is where the iteration starts. The controller
assumes another one, of the mean mass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from poinsot.arrays import Inertial, Matrix, Vector
from poinsot.estimators.shooting.ddp import DDP, ShootingSolution, posterior
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem
from poinsot.estimators.shooting.refinements import with_rates
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import from_physical
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import PointContact
from poinsot.models.robot.articulated import Articulated
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from ..described import described_robot
from ..normalized_errors import PHYSICAL_UNITS
from ..online.simulation.plant import Ball, Plant
from ..presentation import costs_by_iteration, with_std
from .grasped import GraspedObject, ObjectErrors, animated, object_errors
from .guesses import measured_guess
from .plants import ModelNoise, fly_in_mujoco
from .sensor_defects import IDEAL, USUAL, Defects
from .systems import FEET, Flown, System, encoders, imu, sines, stance

HAND, TIP = "j2s6s200_link_6", "j2s6s200_end_effector"
"""The body that holds the object, and the frame of the grasp."""
POSTURE = (-0.5 * np.pi, 1.9, 1.3, 0.0, 1.5, 0.0)
"""Of the arm: forward [rad]."""
SWAY = (0.01, 0.01, 0.02, 0.03, 0.03, 0.03)
"""Of the trunk [m], [rad], between 0.3 and 0.8 Hz."""
SWING = (0.2, 0.16, 0.14, 0.14, 0.13, 0.12)
"""Of the arm's joints, between 0.4 and 1 Hz: below the speeds that the description allows [rad]."""
SAMPLES, PERIOD, TIMESTEP, SETTLING = 1500, 0.002, 0.001, 1.0
"""Of the recording and of the simulation [s], and how long the robot stands before [s]."""
NOISE = ModelNoise(command=0.01, speeds=3e-4)
"""Torques are read to 1 % of the largest. Contacts that are soft and feet that roll move speeds by 1e-4 in a step."""
MASS, SEMI_AXES, OFF_TIP = (1.0, 2.0), (0.04, 0.09), 0.03
"""Of the object: mass [kg], semi-axes [m], uniform, and how far its centre is from the tip, standard deviation [m]."""
GRIP, SHAPE_STD, SHAPE_STEP = 0.065, 0.5, 0.25
"""Radius of what the gripper holds [m], standard deviation of the logarithm of its extents, and typical change of that
in a step: with 1, as a chart alone has it, the trust region lets a step make the object a hundred times as long."""
HALF_STEP = {f"delay.{of}": 0.5 * (PERIOD - TIMESTEP) for of in ("position", "orientation", "accelerometer")}
"""What is later than speeds to the estimator, by half of what its step is longer than MuJoCo's [s]. Both are
semi-implicit, q+ = q + dt v+: positions follow speeds by half a step, and accelerations are those of its beginning."""
ROUNDS = 3
"""Further solutions where sensors are late, each with rates of readings along the one before."""
START_MASS = 0.5
"""Of the object where the iteration starts [kg]."""
FOOT_RADIUS = 0.005
"""Of the feet in MuJoCo [m]."""
MAX_STEPS = 100

STEP_TOLERANCE = 1e-3
"""The iteration ends at a full step of so many standard deviations. The chart bends over what the data leave open of
the object's shape, and shorter Gauss-Newton steps go to and fro."""
CLEAN, DEFECTS = "clean sensors", "sensors with defects"
QUALITIES: Mapping[str, Defects] = {
    CLEAN: IDEAL,
    DEFECTS: USUAL,
}


def carrier() -> System:
    """ANYmal on its four feet, with the arm."""
    robot = described_robot("anymal_b_simple_description", "robots", "anymal-kinova.urdf", floating_base=True)
    home = stance(robot)
    home[-len(POSTURE) :] = POSTURE
    home[2] = -feet_at(robot, home)[0][0][2]
    trunk, arm = sines(np.array(SWAY), 0.3, 0.8), sines(np.array(SWING), 0.4, 1.0)
    legs = robot.model.nv - len(SWAY) - len(SWING)
    return System(
        "ANYmal with an arm",
        robot,
        home,
        (*encoders(robot), *imu(robot, robot.bodies[0])),
        (HAND,),
        lambda time: np.concatenate([trunk(time), np.zeros(legs), arm(time)]),
        np.repeat([1.0, 0.1, 1.0], [len(SWAY), legs, len(SWING)]),
        SAMPLES,
        PERIOD,
        contacts=tuple(PointContact(foot) for foot in FEET),
    )


def feet_at(robot: Articulated, q: Vector) -> list[tuple[Vector, Matrix]]:
    """Position (3,) [m] and rotation (3, 3) in the world of each of `FEET`, at the configuration q (nq,)."""
    frames = ContactDynamics(OpenParameters(robot), (), FEET)(
        q[None], np.zeros((1, robot.model.nv)), np.zeros((1, len(robot.joints))), np.zeros(0)
    ).frames
    return [(frames[foot].position[0], frames[foot].rotation[0]) for foot in FEET]


def plant_of(system: System) -> Plant:
    """The system in MuJoCo; its feet are balls that touch the ground at the feet's frames in the first posture."""
    robot, balls = system.robot, []
    for foot, (_, R_wf) in zip(FEET, feet_at(robot, system.home), strict=True):
        place, T_bf = robot.link(foot)
        up_f = R_wf.T @ np.array([0.0, 0.0, FOOT_RADIUS])
        x, y, z = T_bf[:3, 3] + T_bf[:3, :3] @ up_f
        balls.append(Ball(robot.bodies[place], (x, y, z), FOOT_RADIUS))
    plant = Plant(robot, soles=balls, timestep=TIMESTEP)
    plant.set_inertial(HAND, system.parameters(()).all_inertials[robot.bodies.index(HAND)])
    return plant


def unknown_object(rng: np.random.Generator) -> Inertial:
    """(10,) pi of a uniform ellipsoid in the frame of the tip, of random mass, extents, axes and place."""
    mass = rng.uniform(*MASS)
    L = mass * rng.uniform(*SEMI_AXES, 3) ** 2 / 5
    R = Rotation.random(random_state=rng).as_matrix()
    return from_physical(mass, OFF_TIP * rng.standard_normal(3), R @ np.diag(L.sum() - L) @ R.T)


def sphere_in_grip(mass: float) -> Inertial:
    """(10,) pi of a uniform sphere of the radius GRIP at the tip [kg]."""
    return from_physical(mass, np.zeros(3), 0.4 * mass * GRIP**2 * np.eye(3))


def carry(
    held: Inertial, rng: np.random.Generator, defects: Defects = QUALITIES[CLEAN], samples: int = SAMPLES
) -> tuple[Flown, GraspedObject]:
    """A recording with an object in the gripper, and the chart of the object.

    Args:
        held: (10,) pi of the object in the frame of the tip.
        rng: of the noise.
        defects: of the sensors.
        samples: of the recording.
    """
    system = replace(carrier(), samples=samples)
    robot, grasped = system.robot, GraspedObject.at(system.robot, TIP, LogCholesky())
    true, assumed = robot.inertials.copy(), robot.inertials.copy()
    place = robot.bodies.index(HAND)
    true[place], assumed[place] = grasped.holding(held), grasped.holding(sphere_in_grip(0.5 * sum(MASS)))
    system = replace(system, inertials=true)
    flown = fly_in_mujoco(
        system, plant_of(system), NOISE, rng, assumed=assumed, settling=SETTLING, defects=defects
    )
    return flown, grasped


def solve(flown: Flown, grasped: GraspedObject, defects: Defects = IDEAL) -> ShootingSolution:
    """Estimate the object, and the errors that sensors may have, from what was read."""
    start, errors = sphere_in_grip(START_MASS), defects.errors(flown.system.robot.bodies[0])
    parameters = flown.system.parameters((HAND,), grasped)
    nominal = {**parameters.nominal, **HALF_STEP}
    parameters = replace(parameters, sensors=tuple(errors), nominal=nominal)
    theta = np.concatenate([grasped.chart.from_inertial(start), np.zeros(len(errors))])
    shape, stds = np.repeat([1.0, GRIP / np.sqrt(5)], 3), np.array(list(errors.values()))
    information = np.concatenate([[0.0], (SHAPE_STD * shape) ** -2, np.zeros(3), stds**-2])
    scale = np.append(grasped.chart.natural_scale(start), np.ones(len(errors)))
    scale[1:7] = SHAPE_STEP * shape
    model = flown.motion(parameters)
    method = DDP(max_iterations=MAX_STEPS, step_tolerance=STEP_TOLERANCE)
    prior = GaussianPrior(theta, np.diag(information))
    problem = ShootingProblem((model,), (flown.start,), prior, scale)
    solution = method.solve(problem, measured_guess(flown, parameters, theta))
    for _ in range(ROUNDS):
        before, late = solution, with_rates(model, solution.at.x[0], solution.at.w[0], solution.theta)
        if late is None or not solution.status.converged:
            break
        solution = method.solve(replace(problem, models=(late,)), before.at)
        solution = replace(solution, start=before.start, history=before.history + solution.history)
    return solution


@dataclass(frozen=True, eq=False)
class Carried:
    """An object that was carried and estimated.

    Args:
        flown: the recording. grasped: the chart.
        solution: of its problem.
        held: (10,) pi of the object in the frame of the tip.
    """

    flown: Flown
    grasped: GraspedObject
    solution: ShootingSolution
    held: Inertial

    @property
    def chi_square(self) -> float:
        """Of a reading, on average."""
        return 2.0 * self.solution.cost / sum(int(np.isfinite(r.values).sum()) for r in self.flown.readings)

    @cached_property
    def errors(self) -> ObjectErrors:
        """Standard deviations are widened where chi-square says that the model is incomplete."""
        widening = max(1.0, self.chi_square) ** 0.5
        return object_errors(self.grasped, self.solution, self.held, widening)

    @cached_property
    def delay(self) -> dict[str, float]:
        """Of sensors that may be late, where it is the last parameter, and its standard deviation [ms]."""
        variance = posterior(self.solution.problem, self.solution.at).theta[-1, -1]
        return {
            "delay_ms": 1e3 * float(self.solution.theta[-1]),
            "delay_std_ms": 1e3 * float(np.sqrt(max(1.0, self.chi_square) * variance)),
        }


def run(seed: int, quick: bool = False, say: Say = lambda _: None) -> Reproduction:
    """Carry an object and estimate it, with clean sensors and with defects.

    Args:
        seed: of the object and the noise.
        quick: a shorter recording, and clean sensors alone.
    """
    watch = Stopwatch()
    rng = np.random.default_rng(seed)
    held, results = unknown_object(rng), {}
    for name in (CLEAN,) if quick else QUALITIES:
        flown, grasped = carry(held, rng, QUALITIES[name], SAMPLES // 10 if quick else SAMPLES)
        watch.lap(f"simulation, {name}")
        results[name] = Carried(flown, grasped, solve(flown, grasped, QUALITIES[name]), held)
        say(name)
        watch.lap(f"solve, {name}")
    rows = tuple(row for name, each in results.items() for row in _rows(name, each.errors))
    clean = results[CLEAN]
    return Reproduction(
        "optimal-estimation",
        "001",
        "Arm: an unknown object in the gripper of a legged robot",
        _lead(results),
        rows,
        {
            f"The object in the frame of the gripper's tip, {name}": [
                _readable(row) for row in rows if row["sensors"] == name
            ]
            for name in results
        },
        _figures(results),
        _facts(results),
        curves=_pictures(results),
        animations=(
            animated(
                "The estimated motion",
                clean.flown,
                clean.grasped,
                clean.solution.at.x[0],
                HAND,
                clean.grasped.chart.to_inertial(clean.solution.theta[:10]),
                held,
            ),
        ),
        notes=NOTES,
        seconds=watch.seconds,
    )


def _rows(sensors: str, errors: ObjectErrors) -> list[dict[str, Any]]:
    outside = errors.outside_intervals
    return [
        {
            "name": name,
            "sensors": sensors,
            "ours": errors.estimated[name],
            "paper": None,
            "true": errors.true[name],
            "std": std,
            "inside_interval": None if std is None else name not in outside,
            "unit": PHYSICAL_UNITS[name],
        }
        for name, std in errors.std.items()
    ]


def _figures(results: Mapping[str, Carried]) -> dict[str, Any]:
    def of(each: Carried) -> dict[str, Any]:
        return {
            "mass_error_percent": each.errors.mass_percent,
            "center_of_mass_error_m": each.errors.center_of_mass,
            "iterations": each.solution.iterations,
            "ending": each.solution.status.name,
            "converged": each.solution.status.converged,
            "chi_square_per_reading": each.chi_square,
            "outside_intervals": each.errors.outside_intervals,
        }

    figures = of(results[CLEAN])
    if DEFECTS in results:
        figures["with_defects"] = of(results[DEFECTS]) | results[DEFECTS].delay
    return figures


def _facts(results: Mapping[str, Carried]) -> dict[str, Any]:
    system = results[CLEAN].flown.system
    facts = {
        "recording": f"{system.samples} samples, {(system.samples - 1) * system.period:.2f} s, in MuJoCo"
    }
    for name, each in results.items():
        facts[f"iterations, {name}"] = f"{each.solution.iterations}, {each.solution.status.name}"
        facts[f"chi-square per reading, {name}"] = f"{each.chi_square:.3f}"
    if DEFECTS in results:
        delay, std = results[DEFECTS].delay.values()
        facts["delay of sensors [ms]"] = f"{with_std(delay, std)}, {1e3 * TIMESTEP * USUAL.delay:g} in truth"
    return facts


def _pictures(results: Mapping[str, Carried]) -> dict[str, Curves]:
    masses = {}
    for name, each in results.items():
        thetas = [each.solution.problem.prior.mean, *(step.theta for step in each.solution.history)]
        masses[name] = each.grasped.chart.to_inertial(np.array(thetas)[:, :10])[:, 0]
    longest = max(map(len, masses.values()))
    lines = {name: np.pad(each, (0, longest - len(each)), mode="edge") for name, each in masses.items()}
    clean = results[CLEAN]
    robot = clean.flown.system.robot
    return {
        "Cost": costs_by_iteration({name: each.solution.costs for name, each in results.items()}),
        "Mass of the object": Curves(
            np.arange(longest, dtype=float),
            "kg",
            lines | {"true": np.full(longest, clean.held[0])},
            "iteration",
        ),
        "Joints of the arm": Curves(
            clean.flown.times,
            "rad",
            {joint: clean.flown.x[:, 7 + robot.joints.index(joint)] for joint in robot.joints[-len(SWING) :]},
        ),
    }


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "quantity": f"{row['name']} [{row['unit']}]",
        "estimated": f"{row['ours']:.5g}" if row["std"] is None else with_std(row["ours"], row["std"]),
        "true": f"{row['true']:.5g}",
        "inside the 95 % interval": {True: "yes", False: "no", None: "not observable"}[
            row["inside_interval"]
        ],
    }


def _lead(results: Mapping[str, Carried]) -> str:
    return (
        "The object: "
        + "; ".join(
            f"with {name} its mass is found to {abs(each.errors.mass_percent):.2f} % and its centre of mass "
            f"to {1e3 * each.errors.center_of_mass:.1f} mm, in {each.solution.iterations} iterations "
            f"({each.solution.status.name})"
            for name, each in results.items()
        )
        + "."
    )


NOTES = (
    "The paper shows this case in pictures, without numbers.",
    "Robot, sensors and contacts are known, and so is the hand without the object. The gripper tells the size of the "
    f"object to a factor of {np.exp(SHAPE_STD):.1f} (one standard deviation) about a sphere of {1e3 * GRIP:.0f} mm; "
    "nothing is known of its mass and place.",
    "MuJoCo's contacts are soft, and its feet are balls that roll; the estimator's are rigid points. Of sensors with "
    "defects it estimates biases, misalignment and delay; steps of encoders and lost readings it does not know. "
    "That positions and accelerations are half a millisecond late to it, which has one step in two milliseconds where "
    "MuJoCo has two, it is told. "
    "Intervals are the posterior's, widened by the root of chi-square per reading where that is "
    "above 1; errors that stay the same all along are larger than that.",
)
