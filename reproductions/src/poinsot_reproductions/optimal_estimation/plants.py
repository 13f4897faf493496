"""Robots that move in MuJoCo, an independent simulator, and the readings of their sensors.

The commands are those that bring the robot closest to its reference (`systems.tracking_commands`), by dynamics that do
not know what it carries. What sensors read is MuJoCo's own state: the base's orientation, angular velocity in its axes
and R^T (a - g), with a the acceleration of its origin in the world; positions and velocities of the joints. Readings
and recorded commands have noise. A sample of the recording is one or more time steps of the simulator, over which the
command is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from poinsot.arrays import Vector
from poinsot.estimators.shooting.problem import GaussianPrior
from poinsot.models.contact_dynamics import ContactDynamics
from poinsot.models.contacts import ContactSchedule
from poinsot.models.sensors import Accelerometer, Gyro, JointPosition, JointVelocity, Orientation, Sensor

from ..online.simulation.plant import Plant
from .systems import START, Flown, System, noisy_readings, tracking_commands


@dataclass(frozen=True)
class ModelNoise:
    """What the estimator assumes of commands and of its own dynamics.

    Args:
        command: standard deviation of recorded commands, relative to the largest of each input.
        speeds: of the model's error in the speeds, per step [m/s], [rad/s].
    """

    command: float
    speeds: float


def fly_in_mujoco(
    system: System,
    plant: Plant,
    noise: ModelNoise,
    rng: np.random.Generator,
    *,
    assumed: Float[np.ndarray, "l 10"] | None = None,
    settling: float = 0.0,
) -> Flown:
    """Let a plant follow a system's reference, and read its sensors.

    Args:
        system: the robot with all that it carries, and its reference; its contacts stay closed.
        plant: the same robot in MuJoCo; a sample is a whole number of its time steps.
        noise: of commands and of the model.
        rng: of the noise.
        assumed: (l, 10) of the bodies, as its controller has them; None: the description's.
        settling: how long it holds its first posture before the recording begins [s].
    """
    states, n, period = system.states, system.robot.model.nv, system.period
    steps = round(period / plant.timestep)
    frames = tuple(dict.fromkeys(frame for sensor in system.sensors for frame in sensor.frames))
    dynamics = ContactDynamics(
        replace(system, inertials=assumed).parameters(()),
        system.contacts,
        (*frames, *(c.frame for c in system.contacts)),
    )
    none, zero = np.zeros(0), np.zeros((1, len(system.drive.inputs)))
    before = round(settling / period)
    x, u = np.empty((system.samples, states.size)), np.empty((system.samples, zero.shape[1]))
    clean = [np.empty((system.samples, sensor.width)) for sensor in system.sensors]
    plant.reset(system.home)
    for k in range(-before, system.samples):
        now = np.concatenate([plant.q, plant.v])
        free = dynamics(plant.q[None], plant.v[None], zero, none, slopes=True)
        command = tracking_commands(system, max(k, 0) * period, now[None], free)
        tau = system.drive.matrix @ command
        plant.step(tau)
        if k >= 0:
            x[k], u[k] = now, command
            read = _base_and_joints(now, plant.data.qacc[:3], system)
            for values, sensor in zip(clean, system.sensors, strict=True):
                values[k] = read[type(sensor)]
        for _ in range(steps - 1):
            plant.step(tau)
    scale = noise.command * np.abs(u).max(axis=0)
    readings = tuple(
        noisy_readings(sensor, values, np.zeros(sensor.size), rng).without_last_effort()
        for sensor, values in zip(system.sensors, clean, strict=True)
    )
    sigma = np.repeat(START, n)
    start = states.integrate(x[:1], sigma * rng.standard_normal((1, 2 * n)))[0]
    return Flown(
        system,
        x,
        ContactSchedule(system.contacts, np.ones((system.samples, len(system.contacts)), dtype=bool)),
        u + scale * rng.standard_normal(u.shape),
        u,
        readings,
        np.repeat([0.0, noise.speeds], n),
        scale,
        GaussianPrior.from_covariance(start, sigma**2),
        np.full((system.samples, 3 * len(system.contacts)), np.nan),
    )


def _base_and_joints(x: Vector, acceleration: Vector, system: System) -> Mapping[type[Sensor], Vector]:
    """What each kind of sensor reads: of the base's frame, and of the joints after it.

    Args:
        x: (nx,) state.
        acceleration: (3,) of the base's origin in the world [m/s^2].
    """
    model, nq = system.robot.model, system.robot.model.nq
    rotation = Rotation.from_quat(x[3:7])
    return {
        Orientation: x[3:7],
        Gyro: x[nq + 3 : nq + 6],
        Accelerometer: rotation.inv().apply(acceleration - model.gravity.linear),
        JointPosition: x[7:nq],
        JointVelocity: x[nq + 6 :],
    }
