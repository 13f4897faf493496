"""Simulated robots whose parameters are known: to demonstrate, to test, to try a motion before a robot does.

Recordings of a robot that follows a motion exactly, measured by imperfect sensors:
tau = rnea(q, v, a) + rotors + friction, exactly as the regressor has it; then noise and quantization of what is read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poinsot.arrays import JointSamples, Times, Vector
from poinsot.exceptions import InvalidMethod
from poinsot.models.robot.articulated import Articulated
from poinsot.recording import Recording
from poinsot.regression.regressor import Regressor


@dataclass(frozen=True)
class Sensors:
    """Errors of the sensors at the joints.

    Args:
        position_std: white noise on the positions [rad] or [m].
        torque_std: white noise on the efforts [N m] or [N].
        position_step: size of an encoder's step; 0: none.
    """

    position_std: float = 0.0
    torque_std: float = 0.0
    position_step: float = 0.0

    def read(
        self, q: JointSamples, tau: JointSamples, rng: np.random.Generator
    ) -> tuple[JointSamples, JointSamples]:
        """(T, n) positions and efforts as the sensors give them."""
        q = q + self.position_std * rng.standard_normal(q.shape)
        if self.position_step:
            # rounded after the noise, as an encoder does
            q = self.position_step * np.round(q / self.position_step)
        return q, tau + self.torque_std * rng.standard_normal(tau.shape)


def fourier_motion(
    joints: int,
    duration_s: float,
    rate_hz: float,
    rng: np.random.Generator,
    *,
    harmonics: int = 5,
    amplitude: float = 1.0,
) -> tuple[Times, JointSamples, JointSamples, JointSamples]:
    """Time (T,), and (T, n) positions, velocities, accelerations of a random sum of sines from rest to rest.

    Args:
        amplitude: size of the motion [rad] or [m].
        harmonics: number of harmonics of the fundamental frequency 1 / duration.
    """
    time = np.arange(round(duration_s * rate_hz)) / rate_hz
    w = 2 * np.pi * np.arange(1, harmonics + 1) / duration_s
    # over sqrt(harmonics): the size of the motion does not depend on their number
    sines, cosines = rng.standard_normal((2, harmonics, joints)) * amplitude / np.sqrt(harmonics)
    # a smooth start and stop: time runs as s(t), with s' = s'' = 0 at both ends
    x = time / time[-1]
    s, ds, dds = 10 * x**3 - 15 * x**4 + 6 * x**5, 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)
    s, ds, dds = duration_s * s, duration_s * ds / time[-1], duration_s * dds / time[-1] ** 2
    phase = s[:, None] * w
    q = np.sin(phase) @ sines + np.cos(phase) @ cosines
    v_s = (np.cos(phase) * w) @ sines - (np.sin(phase) * w) @ cosines
    a_s = -(np.sin(phase) * w**2) @ sines - (np.cos(phase) * w**2) @ cosines
    v = v_s * ds[:, None]
    a = a_s * ds[:, None] ** 2 + v_s * dds[:, None]
    return time, q, v, a


def model_parameters(robot: Articulated, **values: float) -> Vector:
    """(p,) the description's own inertial parameters, other parameters by name, or as they are held, or zero.

    Raises:
        InvalidMethod: if a name does not exist.
    """
    theta = robot.parameters.held_values.copy()
    theta[: robot.inertials.size] = robot.inertials.ravel()
    for name, value in values.items():
        theta[robot.parameters.index(name)] = value
    return theta


def simulate_recording(
    robot: Articulated,
    theta: Vector,
    motion: tuple[Times, JointSamples, JointSamples, JointSamples],
    sensors: Sensors,
    rng: np.random.Generator,
) -> Recording:
    """Simulate the recording of sensors at the joints while the robot follows a motion exactly.

    Args:
        robot: with joints of one degree of freedom and no floating base.
        theta: (p,) its true parameters, see `model_parameters`.
        motion: time, q, v, a as `fourier_motion` gives them.

    Raises:
        InvalidMethod: if the parameters are not those of the robot.
    """
    robot.refuse_loops("a simulation by inverse dynamics")
    time, q, v, a = motion
    if theta.shape != (len(robot.parameters),):
        raise InvalidMethod(f"{len(theta)} parameters for a robot that has {len(robot.parameters)}")
    # the regressor is exact for all parameters, rotors and friction included
    tau = Regressor(robot, robot.parameters).dense(robot.configurations(q), v, a) @ theta
    q_read, tau_read = sensors.read(q, tau, rng)
    names = [f"{quantity}.{joint}" for quantity in ("position", "torque") for joint in robot.joints]
    units = dict(zip(names, (*robot.position_units, *robot.effort_units), strict=True))
    return Recording(time, dict(zip(names, (*q_read.T, *tau_read.T), strict=True)), units)
