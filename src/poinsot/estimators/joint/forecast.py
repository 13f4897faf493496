"""The motion of an identified mechanism from its commands, with a band for readings.

Readings before the first row without any determine the state there, by smoothing with theta held. From there the
mechanism moves by its commands. The motion is that of the estimate, in steps so short that half of them change it by
less than `ACCURACY`.

The band is that of motions with draws of theta by its covariance, of the state by the readings given theta, of errors
of steps by the weight kappa (reduced form), and of the noise of a reading. These differ from each other by more than
steps do from shorter ones, so they are simulated in the steps of the record, and their differences from the estimate's
motion in the same steps are added to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Brief, Float, Matrix, Vector
from ...exceptions import InvalidSignals
from ...models.maximal import Encoder, Model
from ...models.maximal.reduced import configuration_changes, configurations
from ...statistics import NORMAL_95
from .forms import Form
from .problem import MIN_SAMPLES, JointSmoothingProblem, Record
from .sensitivity import last_state, reading_variances, state_variances
from .smoothing import JointSmoothing, RecordEquations

ACCURACY = 1e-4
"""Change of the motion with half the step at which steps are short enough [rad], [m]."""
MOST_PARTS = 256
"""Most parts of a step: motions that are unstable grow apart in any."""
DRAWS = 200
"""Number of motions whose quantiles are the band."""
BAND = 0.025, 0.975
"""Quantiles of a band."""


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Brief):
    """A motion of N samples, with n joint coordinates and s sensors.

    Args:
        until: number of samples whose readings were used.
        coordinates, rates: (N, n) [rad], [m], and over s. low, high: (N, n) band of 95 % of readings of coordinates,
            without the zeros of encoders; where nothing reads a coordinate, of the coordinate. Those of rotation
            vectors of balls mean nothing.
        readings, readings_low, readings_high: (N, s) the same of all sensors, as they read; bands of orientations mean
            nothing.
        is_fine: whether half the step changes the motion by less than `ACCURACY`.
    """

    until: int
    coordinates: Float[np.ndarray, "N n"]
    rates: Float[np.ndarray, "N n"]
    low: Float[np.ndarray, "N n"]
    high: Float[np.ndarray, "N n"]
    readings: Float[np.ndarray, "N s"]
    readings_low: Float[np.ndarray, "N s"]
    readings_high: Float[np.ndarray, "N s"]
    is_fine: bool


def forecast(
    method: JointSmoothing, model: Model, record: Record, theta: Vector, covariance: Matrix
) -> Forecast:
    """The motion of a record from its commands, after the readings before its first row without any.

    Args:
        method: with the weight and the noise. theta, covariance: (p,) and (p, p) of the model's parameters.

    Raises:
        InvalidSignals: if fewer than four rows begin with readings.
    """
    empty = np.isnan(record.z).all(axis=1)
    until = int(np.argmax(empty)) if empty.any() else len(record.times)
    if until < MIN_SAMPLES:
        raise InvalidSignals(
            f"{record.name} begins with {until} rows of readings; the state needs at least {MIN_SAMPLES} before the "
            "first row without any"
        )
    method, past = replace(method, reference=theta), record.samples(slice(until))
    fit = method.solve(JointSmoothingProblem(model, [past], theta, ()))
    path, guessed = fit.paths[0], JointSmoothingProblem(model, [past], theta, guess=fit.paths)
    at = RecordEquations(method, guessed, fit.doubt).start()
    form, x, rng = at.equations.form, at.x[0], np.random.default_rng(0)
    noise = method.noise_of(model)
    of_coordinates = _encoder_noise(model, noise)

    # until there: the smoothed motion
    spread = np.sqrt(state_variances(at.linearized[0], covariance)[:, : len(of_coordinates)])
    half = NORMAL_95 * np.hypot(spread if spread.shape == path.coordinates.shape else 0.0, of_coordinates)
    y, rate, read = path.coordinates, path.rates, path.expected
    of_readings = NORMAL_95 * noise * np.sqrt(1 + reading_variances(at.linearized[0], covariance, form.rows))
    bands = [y - half, y + half, read - of_readings, read + of_readings]
    is_fine = True
    if until < len(record.times):
        u, h = record.u[until - 1 : -1], record.steps[until - 1 :]
        ahead, is_fine = _fine(form, x[-1], u, h, theta)
        y_ahead, rate_ahead, _ = form.unpack(np.concatenate([x[-1:], ahead]), theta)
        # angles of forms by bodies are unwrapped from the first one
        turned = np.where(_hinges(model), 2 * np.pi * np.round((y[-1] - y_ahead[0]) / (2 * np.pi)), 0.0)

        # motions that are as likely, in the steps of the record, the first without errors
        chance = rng.multivariate_normal(np.zeros(len(theta)), covariance, DRAWS, method="eigh")
        chance[0] = 0.0
        drawn = np.maximum(theta + chance, model.lower)
        by_theta, of_state = last_state(at.linearized[0])
        moved = chance @ by_theta.T + rng.multivariate_normal(
            np.zeros(len(of_state)), of_state, DRAWS, method="eigh"
        )
        moved[0] = 0.0
        begin = form.moved(np.tile(x[-1], (DRAWS, 1)), moved)
        errors = None
        if form.has_coordinates:
            errors = rng.normal(scale=method.weight**-0.5, size=(DRAWS, len(h), form.rows))
            errors[0] = 0.0
        states = form.simulated(begin, np.tile(u, (DRAWS, 1, 1)), np.tile(h, (DRAWS, 1)), drawn, errors)
        coordinates = np.stack([form.unpack(one, theta)[0] for one in states])[:, 1:]
        readings = np.stack([form.read(one[1:], own) for one, own in zip(states, drawn, strict=True)])
        middle = y_ahead[1:] + turned, form.read(ahead, theta)
        away_of_coordinates = coordinates - coordinates[0]
        if not form.has_coordinates:
            turns = np.round(away_of_coordinates / (2 * np.pi))
            away_of_coordinates -= np.where(_hinges(model), 2 * np.pi * turns, 0.0)
        for k, (away, level) in enumerate(
            (
                (away_of_coordinates, of_coordinates),
                (model.differences(readings, readings[0], form.has_coordinates), noise),
            )
        ):
            away = away + level * rng.standard_normal(away.shape)
            for end, quantile in zip((2 * k, 2 * k + 1), BAND, strict=True):
                further = middle[k] + np.nanquantile(away, quantile, axis=0)
                bands[end] = np.concatenate([bands[end], further])
        y, rate = np.concatenate([y, middle[0]]), np.concatenate([rate, rate_ahead[1:]])
        read = np.concatenate([read, middle[1]])
    return Forecast(until, y, rate, bands[0], bands[1], read, bands[2], bands[3], is_fine)


def _fine(
    form: Form, x: Vector, u: np.ndarray, h: Vector, theta: Vector
) -> tuple[Float[np.ndarray, "T size"], bool]:
    """States (T, size) after x in steps so short that half of them change nothing, and whether they do not."""
    parts, before = 1, None

    def is_near(y: np.ndarray, before: np.ndarray) -> bool:
        changed = configuration_changes(form.model.structure, y, before)
        return bool(np.abs(changed).max(initial=0.0) < ACCURACY)

    while True:
        short = np.repeat(h / parts, parts)
        states = form.simulated(x[None], np.repeat(u, parts, axis=0)[None], short[None], theta)[
            0, parts::parts
        ]
        y = configurations(form.model.structure, form.unpack(states, theta)[0])
        if before is not None and is_near(y, before):
            return states, True
        if parts >= MOST_PARTS:
            return states, False
        parts, before = 2 * parts, y


def _hinges(model: Model) -> np.ndarray:
    """(n,) which coordinates are angles of hinges."""
    return np.repeat(model.structure.is_hinge, model.structure.free.sum(axis=1))


def _encoder_noise(model: Model, noise: Vector) -> Vector:
    """(n,) noise of the encoder of each coordinate; 0 where there is none."""
    names = [name for name, _ in model.mechanism.coordinates]
    levels = np.zeros(len(names))
    for sensor, level in zip(model.mechanism.sensors, noise, strict=True):
        if isinstance(sensor, Encoder):
            levels[names.index(sensor.joint)] = level
    return levels
