"""The motion that shows the 36 inertial base parameters of a UR10: how good, how soon, and whether it keeps its word.

    python benchmarks/excitation.py [--json PATH] [--basis fourier|b-spline] [--seed N]

Ten seconds from rest to rest, above a floor and clear of itself, within the description's limits of position, speed and
torque, and 5 rad/s^2 (a description has no accelerations). Promised are a condition number below 60 within 3 minutes.
No program does the same out of the box, so nothing runs beside it; instead all is checked again without poinsot:

- condition number from Pinocchio's regressor, and limits of torque from its inverse dynamics, ten times as densely;
- distances between meshes by coal (the design uses convex hulls);
- the predicted covariance from 100 estimates of simulated noise: their squared errors, in its units, are chi-square.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy import stats
from support import report
from support.report import Agreement, Limit, deliver
from support.timing import Seconds

import poinsot
from poinsot.signals.signals import Signals
from poinsot_reproductions.simulated_recordings import model_parameters

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
UR10 = ROBOTS / "ur_description" / "urdf" / "ur10_robot.urdf"
ACCELERATION = 5.0
NOISE = [3.3, 3.3, 1.5, 0.54, 0.54, 0.54]  # 1 % of the torque limits [N m]
CLOSE_M = 0.02
DRAWS = 100


def main() -> None:
    arguments = options()
    if not UR10.exists():
        print("  skipped: it needs the description of the UR10 (pip install 'poinsot[robots]')")
        sys.exit(0)
    robot = poinsot.load_robot(UR10, friction=poinsot.NoFriction())
    problem = poinsot.excitation_problem(
        robot,
        duration_s=10.0,
        rate_hz=100.0,
        limits=poinsot.limits_of(robot, acceleration=ACCELERATION),
        torque_std=NOISE,
        surroundings=poinsot.Surroundings(floor_m=0.0),
        clearance_m=CLOSE_M,
    )
    basis = poinsot.FourierSeries(5) if arguments.basis == "fourier" else poinsot.QuinticSplines(12)
    motion = poinsot.OptimalExcitation(basis=basis, seed=arguments.seed).solve(problem)
    errors = squared_errors(robot, problem, motion)
    b = len(problem.base)
    sum_p = 2 * min(stats.chi2(DRAWS * b).cdf(errors.sum()), stats.chi2(DRAWS * b).sf(errors.sum()))
    shape_p = stats.kstest(errors, stats.chi2(b).cdf).pvalue
    broken = worst_use_of_limits(robot, problem, motion)
    deliver(
        "excitation",
        arguments,
        {"design": Seconds(motion.state.seconds, motion.state.seconds)},
        [],
        [
            Agreement("condition number, by Pinocchio", condition_number(robot, problem, motion), 60.0),
            Agreement("limits: the largest use of one, by Pinocchio", broken, 1.0005),
            Agreement(
                "clearance that is missing between meshes, by coal [m]", missing(robot, problem, motion), 1e-3
            ),
            Agreement("chi-square of 100 draws: 1 - p of the sum", 1 - float(sum_p), 0.999),
            Agreement("chi-square of 100 draws: 1 - p of the distribution", 1 - float(shape_p), 0.999),
        ],
        [
            f"{b} parameters, {basis}, {motion.state.iterations} iterations; condition number "
            f"{motion.condition_number:.3f}, log det of the information {motion.log_determinant:.1f}",
            f"mean squared error of {DRAWS} draws {errors.mean():.2f}, expected {b}; "
            f"p = {sum_p:.3f} (sum), {shape_p:.3f} (distribution)",
            f"start at {np.round(motion.q[0], 2)} rad; limits respected: {motion.limits_respected}; "
            f"closest approach by hulls {1e3 * (motion.least_distance or 0):.1f} mm",
        ],
        [Limit("design", motion.state.seconds, 180.0)],
    )


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", help="write the numbers here; - is standard output")
    parser.add_argument("--basis", choices=["fourier", "b-spline"], default="fourier")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--save-baseline", action="store_true", help=f"there are no ratios for {report.BASELINE.name}"
    )
    return parser.parse_args()


def condition_number(robot: poinsot.Articulated, problem, motion) -> float:
    """From Pinocchio's regressor, sample by sample, columns at unit norm."""
    data = robot.model.createData()
    Y = [
        pin.computeJointTorqueRegressor(robot.model, data, *sample).copy()
        for sample in zip(motion.q, motion.v, motion.a, strict=True)
    ]
    W = np.concatenate(Y)[:, problem.base.chosen]
    return float(np.linalg.cond(W / np.linalg.norm(W, axis=0)))


def worst_use_of_limits(robot: poinsot.Articulated, problem, motion) -> float:
    """The largest |x| / limit of speed, acceleration, torque and position, at 1 kHz."""
    _, q, v, a = motion.sampled(1000.0)
    data, limits = robot.model.createData(), problem.limits
    tau = np.array([pin.rnea(robot.model, data, *sample) for sample in zip(q, v, a, strict=True)])
    middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
    uses = ((q - middle) / half, v / limits.velocity, a / limits.acceleration, tau / limits.torque)
    return float(max(np.abs(use).max() for use in uses))


def missing(robot: poinsot.Articulated, problem, motion) -> float:
    """How much closer than asked two meshes come, at 50 Hz [m]; 0 where they do not."""
    model = robot.model
    geometry = pin.buildGeomFromUrdf(
        model, str(UR10), pin.GeometryType.COLLISION, package_dirs=[str(ROBOTS.parent.parent)]
    )
    clearance_of = dict(zip(problem.collisions.pairs, problem.clearances, strict=True))
    names = [model.frames[shape.parentFrame].name for shape in geometry.geometryObjects]
    wanted = []
    for first, second in ((i, j) for j in range(len(names)) for i in range(j)):
        if (names[first], names[second]) in clearance_of:
            geometry.addCollisionPair(pin.CollisionPair(first, second))
            wanted.append(clearance_of[names[first], names[second]])
    data, results = model.createData(), pin.GeometryData(geometry)
    worst = 0.0
    for q in motion.sampled(50.0)[1]:
        pin.computeDistances(model, data, geometry, results, q)
        distances = np.array([result.min_distance for result in results.distanceResults])
        lowest = min(
            float((shape.geometry.vertices() @ placed.rotation[2] + placed.translation[2]).min())
            for shape, placed in zip(geometry.geometryObjects, results.oMg, strict=True)
            if shape.parentJoint and hasattr(shape.geometry, "vertices")
        )
        worst = max(worst, float((np.array(wanted) - distances).max()), CLOSE_M - lowest)
    return worst


def squared_errors(robot: poinsot.Articulated, problem, motion) -> np.ndarray:
    """(100,) of least squares weighted by joint, in units of the predicted covariance."""
    theta = model_parameters(robot)
    truth = problem.base.map[:, : len(theta)] @ theta
    data = robot.model.createData()
    torque = np.array(
        [pin.rnea(robot.model, data, *s) for s in zip(motion.q, motion.v, motion.a, strict=True)]
    )
    information = np.linalg.inv(motion.covariance)
    rng, squares = np.random.default_rng(20240229), []
    for _ in range(DRAWS):
        measured = torque + NOISE * rng.standard_normal(torque.shape)
        signals = Signals(motion.time, motion.joints, motion.q, motion.v, motion.a, measured)
        estimate = poinsot.LeastSquares(weighting="per-joint").solve(poinsot.inverse_dynamics(robot, signals))
        error = estimate.values - truth
        squares.append(error @ information @ error)
    return np.array(squares)


if __name__ == "__main__":
    main()
