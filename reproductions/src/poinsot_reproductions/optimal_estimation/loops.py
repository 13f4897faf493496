"""Closed kinematic chains: a five-bar and a leg whose tarsus is turned by a rod, both in MuJoCo.

MuJoCo closes the loops by `connect` equalities, soft ones of impedance d, which regularize the constraint by
R = (1 - d) / d. Accelerations are compared at R = 0, where a parabola through three impedances ends.

Encoders and torques of the motors are recorded; passive joints are not measured, they follow from the loops. Then

    least squares        base parameters of the whole mechanism from a recording of `DURATION` (`models.closure`)
    optimal estimation   one link and the motion, with the loops as constraints of the dynamics

and every true value is compared with its 95 % interval. "All inside" asks for n values inside simultaneous intervals
(Bonferroni) that hold them all in 999 of 1000 recordings, since it is asked of any seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from typing import Any

import mujoco
import numpy as np
from jaxtyping import Float
from scipy import stats

from poinsot.arrays import JointSamples, Vector
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.estimators.shooting.ddp import DDP, ShootingSolution, posterior
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem, Trajectories
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import ContactSchedule
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.closure import Closure
from poinsot.models.robot.drive import Drive
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensors import JointPosition, Readings
from poinsot.recording import Recording
from poinsot.regression.dynamics import IdentifiedDynamics
from poinsot.regression.inverse_dynamics import InverseDynamics
from poinsot.regression.regressor import Regressor
from poinsot.report import Figure
from poinsot.report.figures.animation import DrawnBodies, robot_animation
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from ..normalized_errors import PHYSICAL, PHYSICAL_UNITS, physical, physical_slopes
from ..presentation import costs_by_iteration, with_std

IMPEDANCES = (0.9999, 0.9998, 0.9996)
"""Of MuJoCo's constraints; 0.9999 is its hardest."""
STATES, RANGE = 20, 0.4
"""At which accelerations are compared, and how far their motors are from where the mechanism is drawn [rad]."""
PERIOD, SUBSTEPS, DURATION = 1e-3, 5, 10.0
"""Of the recording [s], time steps of MuJoCo in one, and its length for least squares [s]."""
SHOOTING_SAMPLES = 1000
"""Of the recording for optimal estimation, in which MuJoCo makes one time step a sample."""
ENCODER, TORQUE = 1e-5, 0.01
"""Standard deviations of what is read: [rad], and relative to the largest torque of each motor."""
SPEEDS = 1e-4
"""Of the error of the dynamics in a step [rad/s]: what the softness of MuJoCo's loops does."""
SMOOTHING = ButterworthDecimation(cutoff_hz=20, decimate_hz=10)
HARMONICS, SLOWEST, FASTEST, AMPLITUDE = 5, 0.2, 1.6, 0.16
"""Sines of each motor, their frequencies [Hz] and amplitudes [rad], smaller above 0.5 Hz."""
TRACKING = 30.0
"""Natural frequency of the tracking [rad/s]."""
SPREAD = 0.2
"""Standard deviation of what is known beforehand of the link, in each coordinate of its chart."""
CONFIDENCE, SIMULTANEOUS = 0.95, 0.999
"""Of the interval of each value, and of all at once."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A mechanism with loops.

    Args:
        name: of the mechanism. file: its description, MJCF.
        passive: joints without a motor.
        link: whose parameters optimal estimation opens.
    """

    name: str
    file: str
    passive: tuple[str, ...]
    link: str

    @cached_property
    def robot(self) -> Articulated:
        with as_file(files("poinsot_reproductions") / "robots" / self.file) as path:
            return load_robot(path, drive=Drive(passive=self.passive), friction=ViscousCoulomb(offset=False))

    @property
    def closure(self) -> Closure:
        closure = self.robot.closure
        assert closure is not None, "the mechanism has no loop"
        return closure

    @cached_property
    def damping(self) -> Mapping[str, float]:
        """Friction parameter -> what the description says [N m s/rad]."""
        values = self.robot.described_terms["damping"]
        return {f"fv{number}": float(x) for number, x in zip(self.robot.joint_numbers, values, strict=True)}

    @cached_property
    def theta(self) -> Vector:
        """(p,) true parameters."""
        parameters = self.robot.parameters
        theta = np.zeros(len(parameters))
        theta[: self.robot.inertials.size] = self.robot.inertials.ravel()
        for name, value in self.damping.items():
            theta[parameters.names.index(name)] = value
        return theta

    def reference(
        self, times: Vector, rng: np.random.Generator
    ) -> tuple[JointSamples, JointSamples, JointSamples]:
        """(T, n) positions, speeds and accelerations of all joints: motors on sums of sines, loops closed."""
        closure, shape = self.closure, (HARMONICS, len(self.closure.independent))
        frequency = rng.uniform(SLOWEST, FASTEST, shape)
        amplitude = AMPLITUDE * rng.uniform(0.3, 1, shape) / np.maximum(frequency, 0.5)
        phase = rng.uniform(0, 2 * np.pi, shape)
        omega, angle = 2 * np.pi * frequency, 2 * np.pi * frequency * times[:, None, None] + phase
        moved = (amplitude * (np.sin(angle) - np.sin(phase))).sum(1)
        positions = np.full((len(times), len(self.robot.joints)), np.nan)
        positions[:, closure.independent] = closure.closed[closure.independent] + moved
        v, a = np.zeros((2, *positions.shape))
        v[:, closure.independent] = (amplitude * omega * np.cos(angle)).sum(1)
        a[:, closure.independent] = (-amplitude * omega**2 * np.sin(angle)).sum(1)
        positions, _ = closure.positions(positions)
        return positions, *closure.motion(self.robot.configurations(positions), v, a)


FIVE_BAR = Mechanism("five-bar", "five_bar.xml", ("left_distal", "right_distal"), "left_distal")
LEG = Mechanism("leg", "leg.xml", ("tarsus", "rod_pitch", "rod_roll"), "shin")


@dataclass(frozen=True, eq=False)
class Simulated:
    """What a mechanism did in MuJoCo.

    Args:
        times: (T,) [s].
        positions, speeds: (T, n) of all joints. torques: (T, motors).
    """

    times: Vector
    positions: JointSamples
    speeds: JointSamples
    torques: Float[np.ndarray, "T m"]

    @property
    def torque_std(self) -> Vector:
        """(motors,) noise of the torques [N m]."""
        return np.asarray(TORQUE * np.abs(self.torques).max(axis=0))


class LoopPlant:
    """A mechanism in MuJoCo, with hard loops.

    Args:
        mechanism: which. timestep: [s].
    """

    def __init__(self, mechanism: Mechanism, timestep: float):
        with as_file(files("poinsot_reproductions") / "robots" / mechanism.file) as path:
            self.model = mujoco.MjModel.from_xml_path(str(path))
        model, joints = self.model, mechanism.robot.joints
        model.opt.timestep = timestep
        # damping is integrated as everything else, by semi-implicit Euler steps
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
        model.opt.tolerance, model.opt.iterations = 1e-14, 200
        model.eq_solref[:] = 2.5 * timestep, 1.0
        self.data = mujoco.MjData(model)
        self.q = np.array([model.joint(joint).qposadr[0] for joint in joints])
        self.v = np.array([model.joint(joint).dofadr[0] for joint in joints])
        self.set_impedance(IMPEDANCES[0])

    def set_impedance(self, impedance: float) -> None:
        """How hard the loops are."""
        self.model.eq_solimp[:, :2] = impedance

    def acceleration(self, positions: Vector, speeds: Vector, torques: Vector) -> Vector:
        """(n,) of all joints, at (n,) torques of all joints."""
        self.set(positions, speeds)
        self.data.qfrc_applied[self.v], self.data.qacc_warmstart[:] = torques, 0.0
        mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qacc[self.v])

    def set(self, positions: Vector, speeds: Vector) -> None:
        """Put it into a state."""
        self.data.qpos[self.q], self.data.qvel[self.v] = positions, speeds


def acceleration_error(mechanism: Mechanism, rng: np.random.Generator) -> float:
    """Largest difference of accelerations from MuJoCo's, relative to the largest acceleration of the state."""
    robot, plant, n = mechanism.robot, LoopPlant(mechanism, PERIOD), len(mechanism.robot.joints)
    dynamics = ContactDynamics(OpenParameters(robot, nominal=mechanism.damping))
    theta = dynamics.parameters.nominal_theta
    regularization = [(1 - d) / d for d in IMPEDANCES]
    closure, torques = mechanism.closure, np.zeros((STATES, n))
    drawn = closure.closed + rng.uniform(-RANGE, RANGE, (STATES, n))
    drawn[:, closure.dependent] = np.nan
    q = robot.configurations(closure.positions(drawn)[0])
    v, _ = closure.motion(q, *rng.standard_normal((2, STATES, n)))
    torques[:, closure.independent] = rng.standard_normal((STATES, len(closure.independent)))
    ours, worst = dynamics(q, v, torques, theta).a, 0.0
    for k, positions in enumerate(robot.joint_positions(q)):
        theirs = []
        for impedance in IMPEDANCES:
            plant.set_impedance(impedance)
            theirs.append(plant.acceleration(positions, v[k], torques[k]))
        hard = np.polynomial.polynomial.polyfit(regularization, theirs, len(IMPEDANCES) - 1)[0]
        worst = max(worst, float(np.abs(ours[k] - hard).max() / np.abs(hard).max()))
    return worst


def simulate(mechanism: Mechanism, samples: int, substeps: int, rng: np.random.Generator) -> Simulated:
    """Let the motors follow sums of sines; the torque of each time step is new."""
    robot, motors = mechanism.robot, mechanism.closure.independent
    times = PERIOD / substeps * np.arange(samples * substeps)
    positions, v, a = mechanism.reference(times, rng)
    regressor = Regressor(robot, robot.parameters)
    known = [
        regressor.dense(robot.configurations(positions[k : k + 1000]), v[k : k + 1000], a[k : k + 1000])
        @ mechanism.theta
        for k in range(0, len(times), 1000)
    ]
    feedforward = np.concatenate(known)
    dynamics = IdentifiedDynamics(
        robot,
        robot.parameters,
        robot.parameters.names,
        mechanism.theta,
        np.zeros((len(mechanism.theta),) * 2),
    )
    M = np.diag(dynamics.mass_matrix(positions[:1])[0])
    plant = LoopPlant(mechanism, PERIOD / substeps)
    plant.set(positions[0], v[0])
    torques, data = np.empty(feedforward.shape), plant.data
    q_read, v_read = np.empty((2, *positions.shape))
    for k in range(len(times)):
        q_read[k], v_read[k] = data.qpos[plant.q], data.qvel[plant.v]
        off, turning = (positions[k] - q_read[k])[motors], (v[k] - v_read[k])[motors]
        torques[k] = feedforward[k] + M * (TRACKING**2 * off + 1.4 * TRACKING * turning)
        data.qfrc_applied[plant.v[motors]] = torques[k]
        mujoco.mj_step(plant.model, data)
    read = slice(None, None, substeps)
    return Simulated(times[read], q_read[read], v_read[read], torques[read])


def recorded(mechanism: Mechanism, simulated: Simulated, rng: np.random.Generator) -> Recording:
    """Encoders and torques of the motors."""
    channels, units = {}, {}
    for k, motor in enumerate(mechanism.closure.independent):
        joint = mechanism.robot.joints[motor]
        for name, values, std, unit in (
            (f"position.{joint}", simulated.positions[:, motor], ENCODER, "rad"),
            (f"torque.{joint}", simulated.torques[:, k], simulated.torque_std[k], "N m"),
        ):
            channels[name], units[name] = values + std * rng.standard_normal(len(values)), unit
    return Recording(simulated.times, channels, units)


@dataclass(frozen=True, eq=False)
class Compared:
    """Estimated values beside true ones.

    Args:
        names: (k,). units: (k,).
        values, std, true: (k,).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Vector
    std: Vector
    true: Vector

    @property
    def errors(self) -> Vector:
        """(k,) in standard deviations."""
        return np.abs(self.values - self.true) / self.std

    @property
    def inside(self) -> bool:
        """Whether all are inside their simultaneous intervals."""
        return bool(np.all(self.errors <= stats.norm.isf((1 - SIMULTANEOUS) / 2 / len(self.errors))))

    @property
    def inside_percent(self) -> float:
        """How many are inside their own interval."""
        return 100.0 * float(np.mean(self.errors <= stats.norm.isf((1 - CONFIDENCE) / 2)))


def identified(mechanism: Mechanism, rng: np.random.Generator, samples: int) -> Compared:
    """Base parameters by least squares."""
    recording = recorded(mechanism, simulate(mechanism, samples, SUBSTEPS, rng), rng)
    problem = InverseDynamics(mechanism.robot, recording, SMOOTHING)
    estimate = LeastSquares().solve(problem)
    seen = np.flatnonzero(estimate.identifiable)
    place = [problem.base.index(estimate.names[k]) for k in seen]
    return Compared(
        tuple(estimate.names[k] for k in seen),
        tuple(estimate.units[k] for k in seen),
        estimate.values[seen],
        estimate.std[seen],
        (problem.base.map @ mechanism.theta)[place],
    )


@dataclass(frozen=True, eq=False)
class Shot:
    """The motion and one link, estimated together.

    Args:
        simulated: what happened. solution: of the problem.
        link: its parameters.
    """

    simulated: Simulated
    solution: ShootingSolution
    link: Compared


def shoot(mechanism: Mechanism, rng: np.random.Generator, samples: int) -> Shot:
    """Optimal estimation of the motion and one link, from encoders and torques of the motors."""
    robot, motors = mechanism.robot, mechanism.closure.independent
    simulated = simulate(mechanism, samples, 1, rng)
    recording = recorded(mechanism, simulated, rng)
    chart, n, place = LogCholesky(), robot.model.nv, robot.bodies.index(mechanism.link)
    true = robot.inertials[place]
    joints = tuple(robot.joints[k] for k in motors)
    parameters = OpenParameters(robot, (mechanism.link,), chart, nominal=mechanism.damping)
    u = np.zeros((samples, n))
    u[:, motors] = np.column_stack([recording.channels[f"torque.{joint}"] for joint in joints])
    read = np.column_stack([recording.channels[f"position.{joint}"] for joint in joints])
    readings = (Readings(JointPosition(robot, ENCODER, joints=joints), read),)
    schedule = ContactSchedule((), np.zeros((samples, 0), dtype=bool))
    noise = np.repeat([0.0, SPEEDS], n)
    command = np.zeros(n)
    command[motors] = simulated.torque_std
    # the first guess: what encoders read, loops closed, and its differences
    positions = np.full((samples, n), np.nan)
    positions[:, motors] = read
    positions, _ = mechanism.closure.positions(positions)
    v = np.zeros((samples, n))
    v[:, motors] = np.gradient(read, PERIOD, axis=0)
    q = robot.configurations(positions)
    v, _ = mechanism.closure.motion(q, v, 0 * v)
    x = np.concatenate([q, v], axis=1)
    scale = chart.natural_scale(true)
    theta = chart.from_inertial(true) + SPREAD * scale * rng.standard_normal(10)
    motion = RobotTrajectoryModel(parameters, schedule, simulated.times, u, readings, noise, command)
    problem = ShootingProblem(
        (motion,),
        (GaussianPrior.from_covariance(x[0], np.repeat([1e-3, 0.1], n) ** 2),),
        GaussianPrior.from_covariance(theta, (SPREAD * scale) ** 2),
    )
    solution = DDP(max_iterations=60).solve(
        problem, Trajectories((x,), (np.zeros_like(motion.noise_std),), theta)
    )
    pi, posterior_of = chart.to_inertial(solution.theta), posterior(problem, solution.at)
    slopes = physical_slopes(pi) @ chart.jacobian(solution.theta)
    std = np.sqrt(np.einsum("ip, pq, iq -> i", slopes, posterior_of.theta, slopes))
    return Shot(
        simulated,
        solution,
        Compared(PHYSICAL, tuple(PHYSICAL_UNITS.values()), physical(pi), std, physical(true)),
    )


MECHANISMS = (FIVE_BAR, LEG)
METHODS = {"linear": "least squares", "shooting": "optimal estimation"}


def run(seed: int, quick: bool = False, say: Say = lambda _: None) -> Reproduction:
    """Compare accelerations with MuJoCo's, and estimates with the truth, for each mechanism.

    Args:
        seed: of motions and noise.
        quick: shorter recordings.
    """
    watch, rng = Stopwatch(), np.random.default_rng(seed)
    figures: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    curves: dict[str, Curves] = {}
    animations = []
    for mechanism in MECHANISMS:
        error = acceleration_error(mechanism, rng)
        base = identified(mechanism, rng, round(DURATION / PERIOD) // (2 if quick else 1))
        watch.lap(f"{mechanism.name}, least squares")
        shot = shoot(mechanism, rng, SHOOTING_SAMPLES // (4 if quick else 1))
        watch.lap(f"{mechanism.name}, optimal estimation")
        say(mechanism.name)
        found = {"linear": base, "shooting": shot.link}
        inertial = sum(not name.startswith("f") for name in base.names)
        figures[mechanism.name] = {
            "acceleration_error": error,
            "inside_intervals": all(each.inside for each in found.values()),
            "inside_percent": {name: each.inside_percent for name, each in found.items()},
            "base_parameters": inertial,
            "iterations": shot.solution.iterations,
            "converged": shot.solution.status.converged,
        }
        rows += [row for name, each in found.items() for row in _rows(mechanism, METHODS[name], each)]
        curves |= _curves(mechanism, shot)
        animations.append(_animation(mechanism, shot))
    return Reproduction(
        "optimal-estimation",
        "001",
        "Loops: a five-bar and a leg with a rod",
        _lead(figures),
        tuple(rows),
        {
            f"{mechanism.name}, {method}": [
                _readable(row)
                for row in rows
                if (row["mechanism"], row["method"]) == (mechanism.name, method)
            ]
            for mechanism in MECHANISMS
            for method in METHODS.values()
        },
        figures,
        {
            f"{name}, inertial base parameters": str(values["base_parameters"])
            for name, values in figures.items()
        },
        curves=curves,
        animations=tuple(animations),
        notes=NOTES,
        seconds=watch.seconds,
    )


def _rows(mechanism: Mechanism, method: str, found: Compared) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "mechanism": mechanism.name,
            "method": method,
            "paper": None,
            "ours": float(value),
            "std": float(std),
            "true": float(true),
            "inside_interval": bool(error <= stats.norm.isf((1 - CONFIDENCE) / 2)),
            "unit": unit,
        }
        for name, unit, value, std, true, error in zip(
            found.names, found.units, found.values, found.std, found.true, found.errors, strict=True
        )
    ]


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "quantity": f"{row['name']} [{row['unit']}]",
        "estimated": with_std(row["ours"], row["std"]),
        "true": f"{row['true']:.5g}",
        "inside the 95 % interval": "yes" if row["inside_interval"] else "no",
    }


def _lead(figures: Mapping[str, Any]) -> str:
    return " ".join(
        f"{name}: accelerations equal MuJoCo's to {values['acceleration_error']:.1e}; of {values['base_parameters']} "
        f"inertial base parameters and friction {values['inside_percent']['linear']:.0f} %, of the link's parameters "
        f"by optimal estimation {values['inside_percent']['shooting']:.0f} % are inside their 95 % intervals."
        for name, values in figures.items()
    )


def _curves(mechanism: Mechanism, shot: Shot) -> dict[str, Curves]:
    # the first guess is what was read: its cost is 0, and its steps do not join
    robot = mechanism.robot
    estimated = robot.joint_positions(shot.solution.at.x[0][:, : robot.model.nq])
    lines: dict[str, np.ndarray] = {}
    for k in mechanism.closure.dependent:
        lines |= {
            f"{robot.joints[k]}, true": shot.simulated.positions[:, k],
            robot.joints[k]: estimated[:, k],
        }
    return {
        f"Joints of the {mechanism.name} that nobody measured": Curves(shot.simulated.times, "rad", lines),
        f"Cost, {mechanism.name}": costs_by_iteration({"optimal estimation": shot.solution.costs[1:]}),
    }


def _animation(mechanism: Mechanism, shot: Shot) -> Figure:
    robot = mechanism.robot
    return robot_animation(
        f"The estimated motion of the {mechanism.name}",
        robot,
        shot.solution.at.x[0][:, : robot.model.nq],
        shot.simulated.times,
        (DrawnBodies.known(robot),),
    )


NOTES = (
    "The paper has no closed loops; this case is ours.",
    "Base parameters of the five-bar: of 16 parameters in its plane the two distal masses act at the joints that "
    "carry them, the two proximal masses not at all, and a point mass where both arms meet belongs to either arm: 11 "
    "are left.",
    "Rates of intervals count single 95 % intervals; `inside_intervals` asks for all values at once, in intervals that "
    f"hold them all in {100 * SIMULTANEOUS:.1f} % of recordings.",
)
