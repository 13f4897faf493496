"""Robots that move in MuJoCo, an independent simulator, and the readings of their sensors.

The commands are those that bring the robot closest to its reference (`systems.tracking_commands`), by dynamics that do
not know what it carries. What sensors read is MuJoCo's own state: the base's orientation, angular velocity in its axes
and R^T (a - g), with a the acceleration of its origin in the world; positions and velocities of the joints. Readings
and recorded commands have noise. A sample of the recording is one or more time steps of the simulator, over which the
command is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from poinsot.arrays import Vector
from poinsot.estimators.shooting.problem import GaussianPrior
from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import ContactSchedule
from poinsot.models.sensors import (
    Accelerometer,
    Gyro,
    JointPosition,
    JointVelocity,
    Orientation,
    Readings,
    Sensor,
)

from ..online.simulation.plant import Plant
from .sensor_defects import IDEAL, Defects
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
    defects: Defects = IDEAL,
) -> Flown:
    """Let a plant follow a system's reference, and read its sensors.

    Args:
        system: the robot with all that it carries, and its reference; its contacts stay closed.
        plant: the same robot in MuJoCo; a sample is a whole number of its time steps.
        noise: of commands and of the model.
        rng: of the noise.
        assumed: (l, 10) of the bodies, as its controller has them; None: the description's.
        settling: how long it holds its first posture before the recording begins [s].
        defects: of the sensors.
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
        if k >= 0:
            x[k], u[k] = now, command
        for step in range(steps):
            state = np.concatenate([plant.q, plant.v])
            plant.step(tau)
            # a reading is late: it is of so many steps before; the first ones are of the beginning
            due, begins = k * steps + step + defects.delay, k + step == 0 and not before
            if begins or due % steps == 0:
                read = _base_and_joints(state, plant.data.qacc[:3], system)
                for of in range(0 if begins else max(due // steps, 0), due // steps + 1):
                    for values, sensor in zip(clean, system.sensors, strict=True):
                        if of < system.samples:
                            values[of] = read[type(sensor)]
    scale = noise.command * np.abs(u).max(axis=0)
    clean = _turned_and_biased(system.sensors, clean, defects, rng)
    readings = tuple(
        _quantized_and_dropped(
            noisy_readings(sensor, values, np.zeros(sensor.size), rng).without_last_effort(), defects, rng
        )
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


def _turned_and_biased(
    sensors: Sequence[Sensor], clean: Sequence[np.ndarray], defects: Defects, rng: np.random.Generator
) -> list[np.ndarray]:
    """Readings of an inertial unit that is turned against its frame, and biased."""
    turn = defects.turn(rng)
    bias: dict[type[Sensor], float] = {Gyro: defects.gyro_bias, Accelerometer: defects.accelerometer_bias}
    found = []
    for sensor, values in zip(sensors, clean, strict=True):
        if isinstance(sensor, Orientation):
            values = (Rotation.from_quat(values) * turn).as_quat()
        elif type(sensor) in bias:
            values = turn.inv().apply(values) + bias[type(sensor)] * rng.standard_normal(3)
        found.append(values)
    return found


def _quantized_and_dropped(readings: Readings, defects: Defects, rng: np.random.Generator) -> Readings:
    values = readings.values.copy()
    if isinstance(readings.sensor, JointPosition):
        values = defects.quantized(values)
    defects.drop(values, rng)
    return Readings(readings.sensor, values)
