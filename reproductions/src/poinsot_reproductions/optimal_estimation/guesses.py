"""Where an estimator may begin: states from the measurements with errors added, bodies of another density.

The states of a guess are those that the sensors read, each with an error of `SPREAD` on top (fifty times the noise of
an encoder); what no sensor reads, a base's place and linear velocity, stays where it began. The first is drawn from
what is known of it. w is 0. Each open body has its ten parameters times a number of its own, as if it were of another
material.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Vector
from poinsot.estimators.shooting.problem import Trajectories
from poinsot.models.robot.open_parameters import OpenParameters

from .systems import START, Flown

SPREAD = 0.05, 0.5
"""Standard deviation of a guess's states: configurations [rad], [m], and speeds [rad/s], [m/s]."""
LIGHTEST, HEAVIEST = 0.3, 1.7
"""What bodies are multiplied by, uniformly: up to 70 % off."""


def theta_of(parameters: OpenParameters, factors: Vector | float) -> Vector:
    """(p,) theta with each open body's ten parameters multiplied; the rest is nominal."""
    pi = parameters.all_inertials[parameters.places]
    theta = parameters.nominal_theta.copy()
    assert parameters.chart is not None
    ten = parameters.chart.from_inertial(np.reshape(factors, (-1, 1)) * pi)
    theta[: ten.size] = ten.ravel()
    return theta


def measured_guess(flown: Flown, parameters: OpenParameters, theta: Vector) -> Trajectories:
    """States as they were read, no noise."""
    motion = flown.motion(parameters)
    return Trajectories((flown.measured(motion),), (np.zeros_like(motion.noise_std),), theta)


def random_guess(flown: Flown, parameters: OpenParameters, rng: np.random.Generator) -> Trajectories:
    """One of the distribution above."""
    factors = rng.uniform(LIGHTEST, HEAVIEST, len(parameters.bodies))
    start = measured_guess(flown, parameters, theta_of(parameters, factors))
    states, n = flown.system.states, flown.system.robot.model.nv

    def off(spread: tuple[float, float], count: int) -> Float[np.ndarray, "count _"]:
        return np.asarray(np.repeat(spread, n) * rng.standard_normal((count, 2 * n)))

    x = states.integrate(start.x[0], off(SPREAD, len(start.x[0])))
    x[:1] = states.integrate(flown.start.mean[None], off(START, 1))
    return Trajectories((x,), start.w, start.theta)
