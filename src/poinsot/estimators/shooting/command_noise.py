"""What noise of commands does: to speeds in a step, and to sensors that feel it at once.

With P the slope of accelerations by generalized forces in the contacts that are closed and A the actuation, noise of
standard deviation sigma_u in what a robot is told disturbs its speeds by dt P A sigma_u, and an accelerometer by what
that does to it. Both are root mean squares over a motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ...arrays import Vector
from ...models.contact_dynamics import RobotMotion
from ...models.sensors import Readings
from ...models.stages import Stages

MOST = 200
"""Samples at which this is computed."""


def speeds_by(stages: Stages, x: Float[np.ndarray, "nodes nx"], commands: Vector) -> Vector:
    """(n,) standard deviation of the speeds in a step.

    Args:
        stages: the recording. x: (N + 1, nx) states at its nodes.
        commands: (inputs,) standard deviation of each.
    """
    dt = float(np.median(np.diff(stages.times)))
    return dt * _rms(stages, x, lambda motion: motion.slopes[0].tau @ motion.effort_slope, commands)


def heard_by(stages: Stages, x: Float[np.ndarray, "nodes nx"], commands: Vector) -> tuple[Readings, ...]:
    """Readings whose sensors are as much noisier as noise of commands makes them; arguments as above."""
    return tuple(_heard(some, stages, x, commands) for some in stages.readings)


def _heard(some: Readings, stages: Stages, x: Float[np.ndarray, "nodes nx"], commands: Vector) -> Readings:
    sensor = some.sensor
    more = _rms(stages, x, lambda motion: sensor.felt(motion) @ motion.effort_slope, commands)
    if not more.any():
        return some
    return Readings(replace(sensor, noise=_plain(sensor.covariance + np.diag(more**2))), some.values)


def _plain(covariance: np.ndarray) -> np.ndarray:
    """Standard deviations where components are independent, so that one can be missing alone."""
    d = np.diag(covariance)
    return np.sqrt(d) if not np.any(covariance - np.diag(d)) else covariance


def _rms(
    stages: Stages,
    x: Float[np.ndarray, "nodes nx"],
    slope: Callable[[RobotMotion], Float[np.ndarray, "T m inputs"]],
    commands: Vector,
) -> Vector:
    theta = stages.parameters.nominal_theta
    squares, count = None, 0
    for motion in stages.some_motions(x, theta, MOST):
        found = (slope(motion) ** 2) @ commands**2
        squares = found.sum(axis=0) if squares is None else squares + found.sum(axis=0)
        count += len(motion)
    assert squares is not None
    return np.asarray(np.sqrt(squares / count))
