"""How far to trust the equations of motion, where a sensor's resolution says how far to trust it (Eq. 3.27).

A sensor that rounds to steps of size s errs with a standard deviation of s / sqrt(12). With that given, the covariance
of the impulse errors is estimated again and again from what they are,

    kappa_{i+1} = 1 / mean |p(kappa_i)|^2

until it stays. (With that of the readings estimated likewise, Eq. 3.26, one would take all and the other vanish.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Vector
from poinsot.estimators.joint import JointFit, JointSmoothing, JointSmoothingProblem, Record
from poinsot.models.maximal import Model

from .mean_squares import impulse_mse

ROUNDS = 12
SETTLED = 0.05
"""Largest change of a weight that has settled, by the weight itself."""
TOLERANCE = 1e-6


def resolution(values: Float[np.ndarray, "T"]) -> float:
    """The smallest step between values that occur, rounding of the file left out."""
    steps = np.diff(np.unique(values))
    return float(steps[steps > 1e-3 * np.median(steps)].min())


def over_steps(samples: Float[np.ndarray, "T"]) -> Float[np.ndarray, "T 1"]:
    """Controls over each step, of a signal that was sampled with the angle rather than held: the mean of its ends."""
    return np.append((samples[:-1] + samples[1:]) / 2, samples[-1:])[:, None]


def with_own_noise(
    model: Model, record: Record, names: Sequence[str], noise: float, weight: float
) -> tuple[JointFit, list[JointFit]]:
    """The estimate at the weight that its own impulse errors say, and those on the way.

    Args:
        names: what is estimated.
        noise: of the readings, standard deviation.
        weight: where to begin, 1 / (standard deviation of an impulse)^2.
    """
    fits: list[JointFit] = []
    for _ in range(ROUNDS):
        begin = fits[-1].theta if fits else None
        fits.append(at_weight(model, record, names, noise, weight, begin))
        before, weight = weight, 1 / impulse_mse(fits[-1])
        if abs(np.log(weight / before)) < SETTLED:
            break
    return fits[-1], fits


def at_weight(
    model: Model,
    record: Record,
    names: Sequence[str],
    noise: float,
    weight: float,
    begin: Vector | None = None,
) -> JointFit:
    """The estimate at a given weight, from theta `begin`; None: as the mechanism has it."""
    method = JointSmoothing(weight=weight, noise=(noise,), tolerance=TOLERANCE)
    return method.solve(JointSmoothingProblem(model, [record], begin, names))
