"""Borinot, a flying arm, grasps a uniform sphere: the singularity of the exponential-eigenvalue chart.

A body with equal second moments L_x = L_y = L_z looks the same from all sides: turning its axes changes nothing, so
three columns of the chart's Jacobian are 0, and with them three rows of V_theta_theta (Martinez et al. 2024, Sects.
III-B and V-C). The iteration starts at such a body, with nothing known of theta:

    Schur complement alone (Eq. 29)   V_theta_theta has no Cholesky factor
    null space (Eq. 31)               the axes stay, the rest changes, and the next V_theta_theta is regular
    log-Cholesky                      has no singularity: the reference

Levenberg and Marquardt's damping does not hide the singularity here, as it is relative to the diagonal of
V_theta_theta, which is 0. A prior of theta does hide it, and so does a start next to the singularity: both are run too.

The estimate is next to the singularity too: noise makes the moments of a sphere differ a little, and about that little
axes are hard to find: with 2 of 40 seeds it took more than 75 iterations. So every `RENEWAL` iterations the chart is
taken anew: the same body, its axes numbered as they are closest to the frame's (Exp repeats itself, and is singular a
turn away from 0), and a new trust region.

The robot moves in MuJoCo, in steps of the recording's period: residuals are noise. Description and joints are
Borinot's; the places of its six rotors are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poinsot.arrays import Inertial, Vector
from poinsot.estimate import Status
from poinsot.estimators.shooting.ddp import DDP, ShootingSolution
from poinsot.estimators.shooting.problem import GaussianPrior
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import center_of_mass, from_physical, principal_moments
from poinsot.inertia.parametrization import Parametrization
from poinsot.models.robot.actuation import rotor_thrusts
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from ..described import described_robot
from ..online.simulation.plant import Plant
from ..presentation import costs_by_iteration
from .grasped import GraspedObject, animated, object_errors
from .guesses import HEAVIEST, LIGHTEST, measured_guess
from .plants import ModelNoise, fly_in_mujoco
from .systems import COMMAND, Flown, System, encoders, imu, neutral, sines

HAND, TIP = "flying_arm_2__link2", "flying_arm_2__ee"
"""The body that holds the sphere, and the frame of the grasp."""
ROTORS, ROTOR_RADIUS, ROTOR_HEIGHT, DRAG = 6, 0.2, 0.03, 0.016
"""How many, how far from the middle and how high [m], and moment per thrust [m]."""
MASS, RADIUS, OFF_AXIS = (0.4, 0.6), (0.06, 0.08), 0.005
"""Of the sphere [kg], [m], uniform; and how far its centre is off the arm's axis, standard deviation [m]."""
START_RADIUS = 0.05
"""Of the sphere where the iteration starts, at the tip of the arm [m]."""
SAMPLES, PERIOD = 1000, 0.002
"""Of the recording, and of the simulation [s]."""
NOISE = ModelNoise(COMMAND, 1e-4)
MAX_STEPS, RENEWAL = 100, 10
"""Most iterations, and after how many the chart is taken anew."""
KNOWN_STD = 1.0
"""Standard deviation of the axes and the logarithms of the moments, where a prior of theta is tried."""


@dataclass(frozen=True)
class Attempt:
    """One way to solve.

    Args:
        chart: of the sphere.
        null_space: whether unobservable directions are left out (Eq. 31).
        spread: difference of the logarithms of the second moments where the iteration starts.
        known: whether shape and axes have a prior.
    """

    chart: Parametrization
    null_space: bool
    spread: float = 0.0
    known: bool = False


NULL_SPACE, SCHUR, REFERENCE = "null space", "Schur complement alone", "log-Cholesky"
ATTEMPTS: Mapping[str, Attempt] = {
    NULL_SPACE: Attempt(ExponentialEigenvalue(), True),
    SCHUR: Attempt(ExponentialEigenvalue(), False),
    REFERENCE: Attempt(LogCholesky(), True),
}
"""All start at the same sphere, with nothing known of theta."""
BESIDE: Mapping[str, Attempt] = {
    **{
        f"{SCHUR}, moments {spread:g} apart": Attempt(ExponentialEigenvalue(), False, spread)
        for spread in (1e-12, 1e-4)
    },
    f"{SCHUR}, with a prior": Attempt(ExponentialEigenvalue(), False, known=True),
}
"""Beside the singularity, and with a prior."""


def borinot() -> System:
    """Borinot in the air: it tilts and turns about a hover, and swings its arm."""
    robot = described_robot("borinot_description", "urdf", "borinot_flying_arm_2.urdf", floating_base=True)
    places, spin = {}, {}
    for k in range(ROTORS):
        angle = 2 * np.pi * (k + 0.5) / ROTORS
        place = np.eye(4)
        place[:3, 3] = ROTOR_RADIUS * np.cos(angle), ROTOR_RADIUS * np.sin(angle), ROTOR_HEIGHT
        places[f"rotor{k + 1}"], spin[f"rotor{k + 1}"] = place, DRAG * (-1) ** k
    home = neutral(robot)
    home[2], home[7:] = 1.0, (0.4, -0.8)
    return System(
        "Borinot",
        robot,
        home,
        (*encoders(robot), *imu(robot, robot.bodies[0])),
        (HAND,),
        sines(np.array([0.0, 0.0, 0.05, 0.12, 0.12, 0.05, 0.5, 0.7]), 0.8, 2.4),
        # nothing pushes it sideways, and rotors turn it about the vertical by their drag alone
        np.array([0.0, 0.0, 1.0, 1.0, 1.0, 0.1, 1.0, 1.0]),
        SAMPLES,
        PERIOD,
        rotor_thrusts(robot, places, spin),
        stiffness=150.0,
        damping=25.0,
    )


def uniform_sphere(mass: float, radius: float, center: Vector) -> Inertial:
    """(10,) pi of a uniform sphere [kg], [m]."""
    return from_physical(mass, center, 0.4 * mass * radius**2 * np.eye(3))


def fly_with_sphere(rng: np.random.Generator, samples: int = SAMPLES) -> tuple[Flown, Inertial]:
    """A flight with a sphere in the grasp, and the sphere in the frame of the tip.

    Args:
        rng: of the sphere and the noise.
        samples: of the recording.
    """
    system = replace(borinot(), samples=samples)
    robot = system.robot
    radius = rng.uniform(*RADIUS)
    center = np.array([radius, 0.0, 0.0]) + OFF_AXIS * rng.standard_normal(3)
    sphere = uniform_sphere(rng.uniform(*MASS), radius, center)
    grasped = GraspedObject.at(robot, TIP, LogCholesky())
    inertials = robot.inertials.copy()
    inertials[robot.bodies.index(HAND)] = grasped.holding(sphere)
    # rotors lift it, so its base has efforts that no joint of the description limits
    plant = Plant(robot, timestep=PERIOD, effort_limits=np.full(robot.model.nv, np.inf))
    plant.set_inertial(HAND, grasped.holding(sphere))
    return fly_in_mujoco(replace(system, inertials=inertials), plant, NOISE, rng), sphere


@dataclass(frozen=True, eq=False)
class Solved:
    """Where an attempt ended.

    Args:
        attempt: how it was solved.
        grasped: the chart in the frame of the tip.
        parts: the solutions from one renewal of the chart to the next.
    """

    attempt: Attempt
    grasped: GraspedObject
    parts: tuple[ShootingSolution, ...]

    @property
    def last(self) -> ShootingSolution:
        return self.parts[-1]

    @property
    def iterations(self) -> int:
        return sum(part.iterations for part in self.parts)

    @property
    def costs(self) -> list[float]:
        """At the start, and after each iteration."""
        return [self.parts[0].start.cost, *(each.cost for part in self.parts for each in part.history)]

    @property
    def objects(self) -> Inertial:
        """(iterations + 1, 10) pi of the sphere, at the start and after each iteration."""
        thetas = [each.theta for part in self.parts for each in part.history]
        return self.attempt.chart.to_inertial(np.array([self.parts[0].start.at.theta, *thetas]))


def solve(flown: Flown, attempt: Attempt, start: Inertial) -> Solved:
    """Estimate the sphere.

    Args:
        flown: the recording.
        attempt: how.
        start: (10,) pi of the sphere where the iteration starts.
    """
    grasped = GraspedObject.at(flown.system.robot, TIP, attempt.chart)
    parameters = flown.system.parameters((HAND,), grasped)
    theta = attempt.chart.from_inertial(start)
    if isinstance(attempt.chart, ExponentialEigenvalue):
        # without the rounding of `from_inertial`, which would turn the axes
        theta[4:7], theta[7:] = 0.0, theta[7:].mean() + attempt.spread * np.array([-1.0, 0.0, 1.0])
    problem = replace(flown.problem(parameters, theta), scale=attempt.chart.natural_scale(start))
    if attempt.known:
        information = np.diag([0.0] * 4 + [KNOWN_STD**-2] * 6)
        problem = replace(problem, prior=GaussianPrior(theta, information))
    guess = measured_guess(flown, parameters, theta)
    method = DDP(null_space=attempt.null_space, max_iterations=RENEWAL)
    parts: list[ShootingSolution] = []
    while len(parts) < MAX_STEPS // RENEWAL:
        parts.append(method.solve(problem, guess))
        if parts[-1].status is not Status.step_limit:
            break
        guess = parts[-1].at
        # a prior of axes and moments holds in the coordinates that it was given in
        if not attempt.known:
            renewed = attempt.chart.from_inertial(attempt.chart.to_inertial(guess.theta))
            guess = replace(guess, theta=renewed)
    return Solved(attempt, grasped, tuple(parts))


def run(seed: int, quick: bool = False, say: Say = lambda _: None) -> Reproduction:
    """The sphere with and without the null space, and in log-Cholesky coordinates.

    Args:
        seed: of the sphere, the start and the noise.
        quick: a shorter recording, and no solves beside the singularity.
    """
    watch = Stopwatch()
    rng = np.random.default_rng(seed)
    flown, sphere = fly_with_sphere(rng, SAMPLES // 4 if quick else SAMPLES)
    watch.lap("simulation")
    start = uniform_sphere(
        rng.uniform(LIGHTEST, HEAVIEST) * sphere[0], START_RADIUS, np.array([START_RADIUS, 0.0, 0.0])
    )
    solutions = {}
    for name, attempt in (ATTEMPTS if quick else {**ATTEMPTS, **BESIDE}).items():
        say(name)
        solutions[name] = solve(flown, attempt, start)
    watch.lap("solves")
    rows = tuple(_row(name, solution, sphere) for name, solution in solutions.items())
    return Reproduction(
        "optimal-estimation",
        "001",
        "Sphere: the null space at the chart's singularity",
        _lead(rows),
        rows,
        {"Ways to solve": [_readable(row) for row in rows]},
        _figures(rows, solutions),
        _facts(flown, sphere, start),
        curves={
            "Cost": costs_by_iteration({name: solutions[name].costs for name in ATTEMPTS}),
            "Principal moments over iterations, with the null space": _moments(solutions[NULL_SPACE], sphere),
        },
        animations=(
            animated(
                "The motion that is estimated with the null space",
                flown,
                solutions[NULL_SPACE].grasped,
                solutions[NULL_SPACE].last.at.x[0],
                HAND,
                solutions[NULL_SPACE].objects[-1],
                sphere,
            ),
        ),
        notes=NOTES,
        seconds=watch.seconds,
    )


def _row(name: str, solved: Solved, sphere: Inertial) -> dict[str, Any]:
    last, attempt = solved.last, solved.attempt
    pi = attempt.chart.to_inertial(last.theta)
    row = {
        "name": name,
        "chart": type(attempt.chart).__name__,
        "null_space": attempt.null_space,
        "start_spread": attempt.spread,
        "prior": attempt.known,
        "converged": last.status.converged,
        "ending": last.status.name,
        "iterations": solved.iterations,
        "final_cost": last.cost,
        "cost_per_iteration": solved.costs,
        "mass": float(pi[0]),
        "center_of_mass": center_of_mass(pi).tolist(),
        "principal_moments": np.sort(principal_moments(pi)[0]).tolist(),
    }
    if not last.status.converged:
        return row
    errors = object_errors(solved.grasped, last, sphere)
    return row | {
        "mass_error_percent": errors.mass_percent,
        "center_of_mass_error_m": errors.center_of_mass,
        "std": dict(errors.std),
        "outside_intervals": errors.outside_intervals,
    }


def _figures(rows: tuple[Mapping[str, Any], ...], solutions: Mapping[str, Solved]) -> dict[str, Any]:
    null_space, schur, reference = rows[:3]
    pi, other = (solutions[name].objects[-1] for name in (NULL_SPACE, REFERENCE))
    return {
        "iterations_nullspace": null_space["iterations"] if null_space["converged"] else None,
        "converged_schur": schur["converged"],
        "ending_schur": schur["ending"],
        "iterations_log_cholesky": reference["iterations"] if reference["converged"] else None,
        "mass_error_percent": null_space.get("mass_error_percent"),
        "center_of_mass_error_m": null_space.get("center_of_mass_error_m"),
        "outside_intervals": null_space.get("outside_intervals"),
        "cost_apart": abs(null_space["final_cost"] - reference["final_cost"]),
        "mass_apart_kg": float(abs(pi[0] - other[0])),
    }


def _facts(flown: Flown, sphere: Inertial, start: Inertial) -> dict[str, Any]:
    system = flown.system
    return {
        "recording": f"{system.samples} samples, {(system.samples - 1) * system.period:.2f} s, in MuJoCo",
        "sphere": f"{sphere[0]:.3f} kg, centre {1e3 * np.linalg.norm(center_of_mass(sphere)):.0f} mm from the tip",
        "start": f"a sphere of {start[0]:.3f} kg, centre {1e3 * START_RADIUS:.0f} mm from the tip",
    }


def _moments(solved: Solved, sphere: Inertial) -> Curves:
    moments = np.sort([principal_moments(pi)[0] for pi in solved.objects], axis=1)
    lines = {name: moments[:, k] for k, name in enumerate(("smallest", "middle", "largest"))}
    truth = np.full(len(moments), principal_moments(sphere)[0].mean())
    return Curves(np.arange(len(moments), dtype=float), "kg m^2", lines | {"true": truth}, "iteration")


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    errors = (
        {
            "mass": f"{row['mass_error_percent']:+.3f} %",
            "centre of mass": f"{1e3 * row['center_of_mass_error_m']:.2f} mm",
            "outside 95 % intervals": ", ".join(row["outside_intervals"]) or "none",
        }
        if row["converged"]
        else dict.fromkeys(("mass", "centre of mass", "outside 95 % intervals"), "-")
    )
    return {
        "solved with": row["name"],
        "ending": row["ending"],
        "iterations": row["iterations"],
        "cost": f"{row['final_cost']:.4f}",
        **errors,
    }


def _lead(rows: tuple[Mapping[str, Any], ...]) -> str:
    null_space, schur, reference = (
        f"in {row['iterations']} iterations"
        if row["converged"]
        else f"not: {row['ending']} after {row['iterations']}"
        for row in rows[:3]
    )
    return (
        f"From equal principal moments, exponential-eigenvalue coordinates converge with the null space {null_space}, "
        f"with the Schur complement alone {schur}; log-Cholesky coordinates {reference}."
    )


NOTES = (
    "All ways start at the same sphere and the measured states, with nothing known of theta. The link that holds the "
    "sphere is known; the ten parameters of the sphere are not.",
    "The singularity is a point: a start whose moments differ by rounding is regular, as V_theta_theta is factorized "
    "in units of its own diagonal. The Schur complement alone then converges too, as it does with a prior of theta.",
    "MuJoCo's time step is the recording's period, and it integrates as the estimator does: with a finer one the fast "
    "arm would have errors of integration above the noise of its tachometers.",
    "The paper shows this case in its video, without numbers.",
)
