"""Simulated robots, their motions and the readings of their sensors (Martinez et al. 2024, Sect. VI-A).

A motion comes from the same dynamics that the estimator has. The commands at each sample are those that bring it
closest to a reference r(t), in the freedoms that its motors reach through the closed contacts,

    u = argmin |W (a(u) - a*)|,   a* = stiffness (r [-] q) - damping v,   a(u) = a(0) + P A u

with P of `contact_dynamics` and A of `actuation`; the smallest u where several do. Every sample is disturbed by w, and
the robot by the difference between the commands and their recording: commands are noisy too. An estimator may have
that as it is, noise of commands. Or, as the paper's process noise does, as equivalent noise: what it does to the speeds
in a step, dt P A sigma_u, is then part of w's standard deviation, and what it does to an accelerometer part of that
one's, both as root mean squares over the motion; that it disturbs all freedoms and readings together is not said.

A foot leaves the ground when the gait says so, and lands when it is back on the ground.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from poinsot.arrays import Matrix, Vector, carried_on
from poinsot.estimators.shooting.problem import GaussianPrior, ShootingProblem
from poinsot.estimators.shooting.robot import RobotTrajectoryModel
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parametrization import Parametrization
from poinsot.models.contacts.contact_dynamics import ContactDynamics, RobotMotion as Moved
from poinsot.models.contacts.contacts import Contact, ContactSchedule, PointContact, SurfaceContact
from poinsot.models.robot.actuation import Actuation, joint_efforts, rotor_thrusts
from poinsot.models.robot.articulated import Articulated
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.robot.robot_states import RobotStates
from poinsot.models.sensors import (
    Accelerometer,
    Gyro,
    JointPosition,
    JointVelocity,
    Orientation,
    Readings,
    Sensor,
)

from ..described import described_robot

ENCODER, ENCODER_SPEED = 1e-3, 5e-3
"""Standard deviations of joint positions [rad] and velocities [rad/s]."""
ORIENTATION, GYRO, ACCELEROMETER = 5e-3, 3e-3, 0.03
"""Of an IMU [rad], [rad/s], [m/s^2]."""
COMMAND = 1e-3
"""Of commands, relative to the largest of the motion."""
DISTURBANCE = 1e-5, 3e-4
"""Of what the model lacks in a step: in configurations, and in speeds [rad], [rad/s] and [m], [m/s]."""
START = 1e-2, 5e-2
"""How well the first state is known: configurations, and speeds."""
NOISE = (ENCODER, ENCODER_SPEED, ORIENTATION, GYRO, ACCELEROMETER, COMMAND, DISTURBANCE, START)
"""All of these, which what is kept of a case depends on."""


@dataclass(frozen=True, eq=False)
class System:
    """A robot and what it is to do.

    Args:
        name: for tables.
        robot: its description.
        home: (nq,) where it begins, at rest.
        sensors: that are read.
        open_bodies: whose parameters a case with one unknown body opens; all others are then known.
        reference: time [s] -> (n,) change from home that it is to follow.
        weights: (n,) W.
        samples, period: of the recording [s].
        actuation: inputs to efforts; None: efforts of its joints.
        inertials: (l, 10) of its bodies; None: the description's.
        contacts: with the ground.
        lifts: contact -> times at which it leaves the ground [s].
        friction: parameter of a joint -> its value, which is known.
        stiffness, damping: of the tracking [1/s^2], [1/s].
    """

    name: str
    robot: Articulated
    home: Vector
    sensors: tuple[Sensor, ...]
    open_bodies: tuple[str, ...]
    reference: Callable[[float], Vector]
    weights: Vector
    samples: int
    period: float
    actuation: Actuation | None = None
    inertials: Float[np.ndarray, "l 10"] | None = None
    contacts: tuple[Contact, ...] = ()
    lifts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    friction: Mapping[str, float] = field(default_factory=dict)
    stiffness: float = 100.0
    damping: float = 20.0

    def parameters(self, bodies: tuple[str, ...], chart: Parametrization | None = None) -> OpenParameters:
        """With these bodies open."""
        return OpenParameters(
            self.robot,
            bodies,
            chart or LogCholesky(),
            actuation=self.actuation,
            nominal=self.friction,
            inertials=self.inertials,
        )

    @cached_property
    def states(self) -> RobotStates:
        return RobotStates(self.robot)

    @cached_property
    def drive(self) -> Actuation:
        return self.actuation or joint_efforts(self.robot)


@dataclass(frozen=True, eq=False)
class Flown:
    """What a system did, and what was read of it.

    Args:
        system: which.
        x: (N + 1, nx) states at the nodes.
        schedule: of its contacts.
        u: (S, inputs) commands as they are recorded.
        commanded: (S, inputs) without noise.
        readings: of the sensors.
        noise: (2 n,) standard deviation of w.
        command_noise: (inputs,) of commands; None: it is part of the others.
        start: what is known of the first state.
        forces: (S, m) in the world [N], of the contacts of three rows each; NaN where one is open.
    """

    system: System
    x: Float[np.ndarray, "nodes nx"]
    schedule: ContactSchedule
    u: Float[np.ndarray, "S inputs"]
    commanded: Float[np.ndarray, "S inputs"]
    readings: tuple[Readings, ...]
    noise: Vector
    command_noise: Vector | None
    start: GaussianPrior
    forces: Float[np.ndarray, "S m"]

    @property
    def times(self) -> Vector:
        return self.system.period * np.arange(self.system.samples)

    def motion(self, parameters: OpenParameters) -> RobotTrajectoryModel:
        """As the solver sees it."""
        return RobotTrajectoryModel(
            parameters, self.schedule, self.times, self.u, self.readings, self.noise, self.command_noise,
            arrival=self.start,
        )  # fmt: skip

    def problem(self, parameters: OpenParameters, theta: Vector) -> ShootingProblem:
        """Trajectory and theta from what was read, with nothing known of theta; the iteration starts at `theta`."""
        return ShootingProblem((self.motion(parameters),), (self.start,), GaussianPrior.flat(theta))

    def measured(self, motion: RobotTrajectoryModel) -> Float[np.ndarray, "nodes nx"]:
        """(N + 1, nx) states as sensors read them; what none reads is as at the start."""
        x = np.tile(self.start.mean, (self.system.samples, 1))
        states, n = self.system.states, self.system.robot.model.nv
        read = {type(some.sensor): _carried_on(some.values) for some in self.readings}
        if self.system.robot.floating_base:
            x[:, 3:7] = read[Orientation]
            x[:, self.system.robot.model.nq + 3 : self.system.robot.model.nq + 6] = read[Gyro]
        if JointPosition in read:
            joints = len(self.system.robot.joints)
            turn = np.zeros((len(x), 2 * n))
            zero = np.tile(np.concatenate([x[0, : self.system.robot.model.nq], np.zeros(n)]), (len(x), 1))
            encoder = next(some.sensor for some in self.readings if isinstance(some.sensor, JointPosition))
            turn[:, n - joints : n] = _from_start(encoder, read[JointPosition], zero[0], motion)
            x = states.integrate(x, turn)
            x[:, -joints:] = read[JointVelocity]
        return x[motion.samples]


def _carried_on(values: np.ndarray) -> np.ndarray:
    """(S, width) readings, where there is none the last one before, or the first one."""
    return np.column_stack([carried_on(column, column[np.isfinite(column).argmax()]) for column in values.T])


def _from_start(
    encoder: JointPosition, values: np.ndarray, x: Vector, motion: RobotTrajectoryModel
) -> np.ndarray:
    """(S, joints) by how much the joints of each reading are turned from those of state x."""
    q, v = motion.manifold.split(x[None])
    dynamics = ContactDynamics(motion.parameters)
    still = dynamics(q.copy(), v.copy(), motion.u[:1], motion.parameters.nominal_theta)
    return np.concatenate([encoder.difference(row[None], still) for row in values])


# ------------------------------------------------------------------------------------------------------------- motion


def fly(system: System, rng: np.random.Generator, equivalent: bool = True) -> Flown:
    """Let a system move, and read its sensors.

    Args:
        system: which.
        rng: of its noise.
        equivalent: whether noise of commands is given as equivalent noise of speeds and readings.
    """
    return _Flight(system, rng, equivalent).flown()


class _Flight:
    """A motion while it is made."""

    def __init__(self, system: System, rng: np.random.Generator, equivalent: bool):
        self.system, self.rng, self.equivalent = system, rng, equivalent
        self.noise = np.repeat(DISTURBANCE, system.robot.model.nv)
        self.parameters = system.parameters(())
        self.modes: dict[tuple[int, ...], ContactDynamics] = {}
        self.frames = tuple(dict.fromkeys(frame for sensor in system.sensors for frame in sensor.frames))
        self.theta = np.zeros(0)

    def dynamics(self, closed: np.ndarray) -> ContactDynamics:
        key = tuple(np.flatnonzero(closed).tolist())
        if key not in self.modes:
            contacts = tuple(self.system.contacts[place] for place in key)
            every = tuple(dict.fromkeys((*self.frames, *(c.frame for c in self.system.contacts))))
            self.modes[key] = ContactDynamics(self.parameters, contacts, every)
        return self.modes[key]

    def flown(self) -> Flown:
        system, states, n = self.system, self.system.states, self.system.robot.model.nv
        S, inputs = system.samples, len(system.drive.inputs)
        closed, u = np.zeros((S, len(system.contacts)), dtype=bool), np.zeros((S, inputs))
        clean = [np.empty((S, sensor.width)) for sensor in system.sensors]
        forces = np.full((S, 3 * len(system.contacts)), np.nan)
        x = np.concatenate([system.home, np.zeros(n)])[None]
        by_commands: list[list[np.ndarray]] = []
        nodes, touching = [], np.ones(len(system.contacts), dtype=bool)
        self.ground = self.heights(x, touching)
        for k in range(S):
            nodes.append(x[0])
            before, touching = touching, self.touching(k, x, touching)
            if k and (touching & ~before).any():
                x = states.reset(self.dynamics(touching).impact(*self.split(x), self.theta)).value
                nodes.append(x[0])
            closed[k], dynamics = touching, self.dynamics(touching)
            u[k] = self.commands(k, x, dynamics, by_commands)
            motion = dynamics(*self.split(x), u[k : k + 1], self.theta)
            for values, sensor in zip(clean, system.sensors, strict=True):
                values[k] = sensor.predicted(motion)[0]
            for place in np.flatnonzero(touching):
                frame, rows = system.contacts[place].frame, motion.rows(system.contacts[place].frame)
                assert rows is not None
                force = motion.forces[0, rows][:3]
                forces[k, 3 * place : 3 * place + 3] = motion.frames[frame].rotation[0] @ force
            x = states.step(motion, system.period).value
            x = states.integrate(x, self.noise * self.rng.standard_normal((1, 2 * n)))
        recorded, readings, noise, command_noise = self.recorded(u, clean, by_commands)
        return Flown(
            system,
            np.array(nodes),
            ContactSchedule(system.contacts, closed),
            recorded,
            u,
            readings,
            noise,
            command_noise,
            self._start(nodes[0]),
            forces,
        )

    def recorded(
        self, u: np.ndarray, clean: list[np.ndarray], by_commands: list[list[np.ndarray]]
    ) -> tuple[np.ndarray, tuple[Readings, ...], Vector, Vector | None]:
        """Commands and readings as they are recorded, and the standard deviations of w and of commands."""
        scale, noise = COMMAND * np.abs(u).max(axis=0), self.noise
        felt = [np.zeros(sensor.size) for sensor in self.system.sensors]
        if self.equivalent:
            speeds, *felt = (
                np.sqrt(np.mean([(slope**2) @ scale**2 for slope in each], axis=0))
                for each in zip(*by_commands, strict=True)
            )
            noise = np.sqrt(noise**2 + np.concatenate([self.system.period * speeds, speeds]) ** 2)
        readings = tuple(
            noisy_readings(sensor, values, more, self.rng)
            for sensor, values, more in zip(self.system.sensors, clean, felt, strict=True)
        )
        recorded = u + scale * self.rng.standard_normal(u.shape)
        if self.equivalent:
            return recorded, readings, noise, None
        return recorded, tuple(some.without_last_effort() for some in readings), noise, scale

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, v = self.system.states.split(x)
        return q.copy(), v.copy()

    def heights(self, x: np.ndarray, closed: np.ndarray) -> Vector:
        """(contacts,) of their frames [m]."""
        zero = np.zeros((1, len(self.system.drive.inputs)))
        motion = self.dynamics(closed)(*self.split(x), zero, self.theta)
        return np.array([motion.frames[c.frame].position[0, 2] for c in self.system.contacts])

    def touching(self, k: int, x: np.ndarray, before: np.ndarray) -> np.ndarray:
        """(contacts,) after the gait has lifted some and others have landed."""
        now, time = before.copy(), k * self.system.period
        if not self.system.lifts:
            return now
        low = self.heights(x, before) <= self.ground
        for place, contact in enumerate(self.system.contacts):
            since = [time - lift for lift in self.system.lifts.get(contact.frame, ()) if time >= lift - 1e-9]
            if since and min(since) < 0.5 * self.system.period:
                now[place] = False
            elif since and min(since) > 0.05 and not before[place]:
                now[place] = low[place]
        return now

    def commands(
        self, k: int, x: np.ndarray, dynamics: ContactDynamics, by_commands: list[list[np.ndarray]]
    ) -> Vector:
        """(inputs,) what brings the robot closest to its reference; slopes of a step and of readings are kept."""
        system = self.system
        q, v = self.split(x)
        zero = np.zeros((1, len(system.drive.inputs)))
        free = dynamics(q, v, zero, self.theta, slopes=True)
        by_u = free.slopes[0].tau[0] @ free.effort_slope
        by_commands.append(
            [system.period * by_u, *(_felt(sensor, free) @ free.effort_slope for sensor in system.sensors)]
        )
        return tracking_commands(system, k * system.period, x, free)

    def _start(self, x: Vector) -> GaussianPrior:
        n = self.system.robot.model.nv
        sigma = np.repeat(START, n)
        off = sigma * self.rng.standard_normal((1, 2 * n))
        return GaussianPrior.from_covariance(self.system.states.integrate(x[None], off)[0], sigma**2)


def tracking_commands(system: System, time: float, x: np.ndarray, free: Moved) -> Vector:
    """(inputs,) u that brings the robot closest to its reference.

    Args:
        system: the robot and its reference.
        time: [s].
        x: (1, nx) its state.
        free: its motion there with u = 0, with slopes.
    """
    n = system.robot.model.nv
    home = np.concatenate([system.home, np.zeros(n)])[None]
    offset = np.concatenate([system.reference(time), np.zeros(n)])[None]
    away = system.states.difference(x, system.states.integrate(home, offset))[0, :n]
    wanted = system.stiffness * away - system.damping * free.v[0]
    by_u, W = free.slopes[0].tau[0] @ free.effort_slope, system.weights
    return np.asarray(np.linalg.lstsq(W[:, None] * by_u, W * (wanted - free.a[0]), rcond=1e-4)[0])


def _felt(sensor: Sensor, motion: Moved) -> Matrix:
    """(m, n) slope of a reading by generalized forces."""
    slopes, (a_by, forces_by) = sensor.slopes(motion), motion.slopes
    felt = np.zeros((sensor.size, a_by.tau.shape[2]))
    for slope, by in ((slopes.a, a_by), (slopes.forces, forces_by)):
        if slope is not None:
            felt += slope.reshape(-1, *slope.shape[-2:])[0] @ by.tau[0]
    return felt


def noisy_readings(sensor: Sensor, values: np.ndarray, more: Vector, rng: np.random.Generator) -> Readings:
    """With noise, which orientations get in their own axes; `more` is what commands' noise adds to it."""
    own = np.broadcast_to(np.asarray(sensor.noise), (sensor.size,))
    off = own * rng.standard_normal((len(values), sensor.size))
    if sensor.width == sensor.size:
        return Readings(replace(sensor, noise=np.hypot(own, more)), values + off)
    turned = (Rotation.from_quat(values) * Rotation.from_rotvec(off)).as_quat()
    return Readings(sensor, np.asarray(turned))


# ------------------------------------------------------------------------------------------------------------- robots


def neutral(robot: Articulated) -> Vector:
    """(nq,) all joints at 0."""
    if robot.floating_base:
        q = np.zeros(robot.model.nq)
        q[6] = 1.0
        return q
    return np.asarray(robot.configurations(np.zeros((1, robot.model.nv)))[0])


def imu(robot: Articulated, frame: str) -> tuple[Sensor, ...]:
    return (
        Orientation(robot, ORIENTATION, frame=frame),
        Gyro(robot, GYRO, frame=frame),
        Accelerometer(robot, ACCELEROMETER, frame=frame),
    )


def encoders(robot: Articulated) -> tuple[Sensor, ...]:
    return JointPosition(robot, ENCODER), JointVelocity(robot, ENCODER_SPEED)


def sines(amplitude: np.ndarray, slowest: float, fastest: float) -> Callable[[float], Vector]:
    """Each freedom on a sine of its own that begins at rest, between two frequencies [Hz]."""
    omega = 2 * np.pi * np.linspace(slowest, fastest, len(amplitude))
    return lambda time: np.asarray(amplitude * np.sin(omega * time) * np.tanh(4 * time))


VISCOUS = (1.0, 1.0, 0.6, 0.1, 0.1, 0.03)
"""Friction of the arm's joints, which is known [N m s/rad]."""


def kinova(samples: int = 81, period: float = 0.01) -> System:
    """The arm, every joint on a sine of its own; an IMU on the hand."""
    robot = described_robot("kinova_description", "robots", "kinova.urdf")
    q = robot.configurations(np.array([[0.0, 2.6, 1.5, 0.0, 0.5, 0.0]]))[0]
    return System(
        "Kinova",
        robot,
        q,
        (*encoders(robot), *imu(robot, "j2s6s200_end_effector")),
        robot.bodies[-1:],
        sines(np.array([0.6, 0.4, 0.4, 0.8, 0.8, 1.0]), 0.5, 1.2),
        np.ones(6),
        samples,
        period,
        friction=dict(zip(("fv1", "fv2", "fv3", "fv4", "fv5", "fv6"), VISCOUS, strict=True)),
    )


ARMS = {"r0": (0.16, -0.22), "r1": (-0.13, 0.24), "r2": (0.11, 0.20), "r3": (-0.15, -0.17)}
"""Where the rotors of the asymmetric quadrotor are [m]."""
SPIN = {"r0": 0.016, "r1": 0.016, "r2": -0.016, "r3": -0.016}
"""Moment per thrust [m]."""


def _asymmetric() -> Float[np.ndarray, "1 10"]:
    """A body of 1.6 kg off its middle, whose axes are not the frame's."""
    mass, c = 1.6, np.array([0.02, -0.015, 0.01])
    about_c = np.array([[0.029, 0.003, -0.002], [0.003, 0.034, 0.0015], [-0.002, 0.0015, 0.052]])
    inertia = about_c + mass * (c @ c * np.eye(3) - np.outer(c, c))
    I = inertia
    return np.array([[mass, *(mass * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]])


def quadrotor(samples: int = 101, period: float = 0.02) -> System:
    """Iris with an inertia of its own and arms of different lengths, rolling, pitching and turning about a hover."""
    robot = described_robot("iris_description", "robots", "iris_simple.urdf", floating_base=True)
    places: dict[str, Matrix] = {}
    for name, (x, y) in ARMS.items():
        places[name] = np.eye(4)
        places[name][:3, 3] = x, y, 0.02
    return System(
        "Quadrotor",
        robot,
        neutral(robot),
        imu(robot, robot.bodies[0]),
        robot.bodies,
        sines(np.array([0.0, 0.0, 0.3, 0.4, 0.4, 0.5]), 0.6, 1.2),
        np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
        samples,
        period,
        rotor_thrusts(robot, places, SPIN),
        _asymmetric(),
        stiffness=30.0,
        damping=8.0,
    )


FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
STANCE = {"HAA": (-0.1, 0.1), "HFE": (0.7, -0.7), "KFE": (-1.0, 1.0)}
"""Joint -> position in front and behind [rad], on the left; the right side mirrors HAA."""
SWING, FLEX = 0.12, 0.5
"""How long a foot is to be in the air [s], and how far its knee bends [rad]."""


def stance(robot: Articulated) -> Vector:
    """(nq,) ANYmal on its four feet, its base at the origin; joints that are none of the legs' are at 0."""
    q = neutral(robot)
    for k, joint in enumerate(robot.joints):
        leg, _, kind = joint.partition("_")
        if kind in STANCE:
            front, hind = STANCE[kind]
            q[7 + k] = front if leg[1] == "F" else hind
            if kind == "HAA":
                q[7 + k] = -0.1 if leg[0] == "L" else 0.1
    return q


def anymal(samples: int = 41, period: float = 0.02) -> System:
    """A trot on the spot: two feet, then the other two leave the ground and land; the trunk sways."""
    robot = described_robot("anymal_b_simple_description", "robots", "anymal.urdf", floating_base=True)
    lifts = {"LF_FOOT": (0.1,), "RH_FOOT": (0.1,), "RF_FOOT": (0.28,), "LH_FOOT": (0.28,)}
    sway = sines(np.array([0.02, 0.02, 0.03, 0.3, 0.25, 0.25]), 1.0, 2.5)

    def reference(time: float) -> Vector:
        change = np.zeros(robot.model.nv)
        change[:6] = sway(time)
        for k, joint in enumerate(robot.joints):
            leg, kind = joint.split("_")
            for lift in lifts[f"{leg}_FOOT"]:
                phase = np.clip((time - lift) / SWING, 0.0, 1.0)
                bend = FLEX * np.sin(np.pi * phase) ** 2
                sign = 1.0 if leg[1] == "F" else -1.0
                change[6 + k] += {"HAA": 0.0, "HFE": 0.6 * sign * bend, "KFE": -sign * bend}[kind]
        return change

    return System(
        "ANYmal",
        robot,
        stance(robot),
        (*encoders(robot), *imu(robot, "base")),
        robot.bodies[:1],
        reference,
        np.concatenate([np.full(6, 1.0), np.full(12, 0.3)]),
        samples,
        period,
        contacts=tuple(PointContact(foot) for foot in FEET),
        lifts=lifts,
    )


CROUCH = {
    "arm_left_1_joint": 0.25847, "arm_left_2_joint": 0.173046, "arm_left_4_joint": -0.525366,
    "arm_right_1_joint": -0.25847, "arm_right_2_joint": -0.173046, "arm_right_4_joint": -0.525366,
    "leg_left_3_joint": -0.411354, "leg_left_4_joint": 0.859395, "leg_left_5_joint": -0.448041,
    "leg_right_3_joint": -0.411354, "leg_right_4_joint": 0.859395, "leg_right_5_joint": -0.448041,
}  # fmt: skip
"""Joint -> position [rad]; all others 0."""
HELD = {
    "head_1_joint": 0.0, "head_2_joint": 0.0,
    **{f"arm_{side}_{k}_joint": 0.0 for side in ("left", "right") for k in (5, 6, 7)},
    "gripper_left_joint": -0.3, "gripper_right_joint": -0.3,
}  # fmt: skip
"""Joints of Talos that are held: head, wrists and grippers, whose bodies are light and hardly move [rad]."""


def talos(samples: int = 81, period: float = 0.01) -> System:
    """Half sitting on both soles, bending its knees and moving trunk and arms; wrists and head are held."""
    robot = described_robot("talos_data", "robots", "talos_reduced.urdf", floating_base=True, locked=HELD)
    home = neutral(robot)
    for joint, position in CROUCH.items():
        home[7 + robot.joints.index(joint)] = position
    amplitude = np.zeros(robot.model.nv)
    amplitude[:6] = 0.02, 0.02, 0.05, 0.05, 0.05, 0.05
    for k, joint in enumerate(robot.joints):
        amplitude[6 + k] = 0.0 if joint.startswith("leg") else 0.15 if joint.startswith("torso") else 0.3
    weights = np.where(amplitude > 0, 1.0, 0.1)
    return System(
        "Talos",
        robot,
        home,
        (*encoders(robot), *imu(robot, "base_link")),
        ("torso_2_link",),
        sines(amplitude, 0.6, 1.8),
        weights,
        samples,
        period,
        contacts=tuple(SurfaceContact(f"{side}_sole_link") for side in ("left", "right")),
    )


SYSTEMS: dict[str, Callable[[], System]] = {
    "Kinova": kinova,
    "Quadrotor": quadrotor,
    "ANYmal": anymal,
    "Talos": talos,
}
