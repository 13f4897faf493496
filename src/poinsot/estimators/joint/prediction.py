"""Readings predicted over windows only by the model, from states estimated without them.

Theta is held, a window's first state is estimated from the readings before it, and the mechanism is simulated from
there with its controls. A window is as long as one period of the fastest coordinate, 2 pi std(y) / std(y'), so that
inertia, weight and friction all matter, and at most a sixth of the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.spatial.transform import Rotation

from ...arrays import Bool, Float, Int, Vector
from ...models.maximal import Model
from .problem import SHORTEST, JointSmoothingProblem, Record, RecordFit, horizon_of
from .smoothing import JointSmoothing, compiled_linearizer
from .stops import touching
from .unread import unread_coordinates

TOLERANCE, ITERATIONS = 1e-4, 20
"""Settings of the estimation of first states, see `JointSmoothing`."""
HISTORY = 0.5
"""Steps without contact before a window, by those of the window."""
FEWEST = 4
"""Windows between contacts with end stops, below which they are halved: effects are examined from four on."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predicted readings of one record.

    Args:
        places: (W, T) indices of the samples of each window. expected: (W, T, s) predicted readings there.
        errors: (W, T, s) predicted minus measured, angles without full turns; NaN where nothing was measured.
    """

    record: Record
    places: Int[np.ndarray, "W T"]
    expected: Float[np.ndarray, "W T s"]
    errors: Float[np.ndarray, "W T s"]


def clear_windows(
    starts: Int[np.ndarray, "W"], T: int, touched: Bool[np.ndarray, "N"], history: float = 0.0
) -> tuple[Int[np.ndarray, "V"], int]:
    """Starts and length of windows without contact with an end stop; the given ones if no step is in contact.

    Steps before a window, `history` of its length, are without contact, too: its first state follows from them. An
    impact multiplies errors of the state before it, as the moment of the impact is uncertain. Windows are halved
    until there are as many as without contacts, at most four, or until they are the shortest ones.
    """
    if not touched.any() or not len(starts):
        return starts, T
    contacts, first, last, length = np.flatnonzero(touched), int(starts[0]), int(starts[-1]) + T, T
    while True:
        found, k, before = [], first, max(int(history * length), SHORTEST) if history else 0
        while k + length <= last:
            inside = contacts[(contacts >= k - before) & (contacts < k + length)]
            if len(inside):
                k = int(inside[-1]) + 1 + before
            else:
                found.append(k)
                k += length
        if len(found) >= min(len(starts), FEWEST) or length <= SHORTEST:
            # a motion that never leaves its stops is predicted with them
            return (np.array(found), length) if found else (starts, T)
        length = max(length // 2, SHORTEST)


def predicted(
    method: JointSmoothing,
    model: Model,
    records: Sequence[Record],
    theta: Vector,
    paths: Sequence[RecordFit] | None = None,
) -> list[Predicted]:
    """Predicted readings of each record over windows of one period.

    First states begin at `paths`, smoothed motions; None: at filtered readings.
    """
    horizons, lengths, histories, guess, starts = horizon_of(model, records, theta), [], [], [], []
    for k, (record, T) in enumerate(zip(records, horizons, strict=True)):
        last = len(record.times) - 1
        # the readings of one period say little of coordinates without a sensor
        memory = last if unread_coordinates(model, record).any() else max(T, 3)
        begin = np.arange(min(T, last - 1), max(last - T, min(T, last - 1)) + 1, T)
        touched = touching(model, record, theta, method.stops_of(model, theta))
        begin, T = clear_windows(begin, min(T, last - int(begin[-1])), touched, HISTORY)
        starts.append(begin)
        lengths.append(T)
        for end in begin.tolist():
            # at least four samples: a record has no fewer
            cut = slice(max(end - memory, 0), max(end + 1, 4))
            histories.append(record.samples(cut))
            if paths is not None:
                guess.append(paths[k].samples(cut))
    # a first state to a tenth of its standard deviation is enough, and reversals of dry friction may stall it
    method = replace(method, tolerance=TOLERANCE, max_iterations=ITERATIONS, state_std=False)
    fit = method.solve(JointSmoothingProblem(model, histories, theta, (), guess=guess or None))
    form, ends, predictions = compiled_linearizer(model, method.form).form, iter(fit.paths), []
    for record, T, begin in zip(records, lengths, starts, strict=True):
        past = (next(ends) for _ in begin)
        x = [form.pack(path.coordinates, path.rates, theta, path.states)[-1] for path in past]
        at = begin[:, None] + np.arange(T)
        states = form.simulated(np.array(x), record.u[at], record.steps[at], theta)[:, 1:]
        expected = form.read(states.reshape(-1, form.size), theta)
        measured = record.z[at + 1].reshape(expected.shape)
        error = model.differences(expected, measured)
        # Inf where a simulation diverged, NaN only where nothing was measured
        error = np.where(np.isnan(error) & ~np.isnan(measured), np.inf, error)
        shape = (*at.shape, -1)
        predictions.append(Predicted(record, at + 1, expected.reshape(shape), error.reshape(shape)))
    return predictions


def efforts(
    model: Model, theta: Vector, record: Record, path: RecordFit
) -> tuple[Vector, np.ndarray, np.ndarray] | None:
    """(M,) times, (M, n) efforts of motors as commanded, and as the smoothed motion needs them.

    They are sliding means over an eighth of a window, since faster noise of commands causes no motion. None without
    motors, or where the path's residuals are not those of the reduced form.
    """
    mechanism, n = model.mechanism, path.coordinates.shape[1]
    if not mechanism.inputs or path.step_errors.shape[1] != 2 * n:
        return None
    values = mechanism.starting(dict(zip(model.free, theta.tolist(), strict=True))).values
    joints, places = [joint.name for joint in mechanism.joints], [name for name, _ in mechanism.coordinates]
    gain = np.asarray(values.gain)[[joints.index(name) for name in mechanism.inputs]]
    # the first moment of an unmodelled effort is its mean over the step
    lacking = path.step_errors[:, [places.index(name) for name in mechanism.inputs]] / record.steps[:, None]
    commanded = record.u[:-1] * gain
    steps = max(horizon_of(model, [record], theta)[0] // 8, 1)
    columns = (record.times[:-1, None], commanded, commanded + lacking)
    times, *means = (sliding_window_view(part, steps, axis=0).mean(axis=-1) for part in columns)
    return times[:, 0], means[0], means[1]


def window_errors(
    model: Model, records: Sequence[Record], errors: Sequence[Float[np.ndarray, "*k W T s"]]
) -> Float[np.ndarray, "*k windows"]:
    """Logarithms of the rms errors of windows of records, all sensors together, relative to the spread of readings.

    Their mean gives a geometric mean: unstable motions multiply any error and would dominate an arithmetic mean.
    Angles spread by half a turn at most.
    """
    z = np.concatenate([record.z for record in records])
    middle = _mean(z, axis=0)
    for at in model.orientations:
        known = z[np.isfinite(z[:, at]).all(axis=1)][:, at]
        middle[at] = Rotation.from_rotvec(known).mean().as_rotvec() if len(known) else np.nan
    spread = np.sqrt(_mean(model.differences(z, middle, full_turns=True) ** 2, axis=0))
    spread = np.where(model.angular, np.minimum(spread, np.pi), spread)
    for at in model.mechanism.frame_rows:
        # of a vector all components together: one of them may not move
        spread[at] = np.sqrt(np.mean(spread[at] ** 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = [_mean(_mean((error / spread) ** 2, axis=-2), axis=-1) for error in errors]
        return np.asarray(0.5 * np.log(np.concatenate(squares, axis=-1)))


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Mean of values that are not NaN; NaN if there are none."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values, axis=axis) / (~np.isnan(values)).sum(axis=axis))
