"""The initial guess of coordinates that no sensor reads: the motion that the mechanism makes beside the readings.

With theta held at its initial guess, states are fitted to the readings of a part that grows to the end of the record.
Behind its end the mechanism is simulated from the last state, with the read coordinates put where they were read, so
that each fit begins near its minimum. A fit of a whole record that begins with a pendulum at rest may miss how often it
turned. The first part is fitted from several positions at rest, of which the one that lacks the least impulses is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from ...arrays import Bool, Float, Vector
from ...models.maximal import Encoder, FrameReading, Model
from ...models.maximal.reduced import beyond, in_loops
from .forms import ReducedForm
from .problem import Record

FitStates = Callable[[Record, np.ndarray, int], tuple[np.ndarray, float]]
"""States of a record that fit its readings, from an initial guess of them, by at most some fits; and the weight of the
residuals of steps.
"""
TURNS = (0.0, 0.25, -0.25, 0.5)
"""Positions at which hinges without a sensor may begin [turns]."""
FITS, GROWTH_FITS = 8, 2
"""Maximum numbers of fits with rising weights, of the first part and where it has grown."""
MAX_STARTS = 64
"""Maximum number of combinations of these."""
GROWTH = 4
"""Parts of a period by which the fitted part grows; a period of it is fitted again."""


def read_coordinates(model: Model, record: Record) -> Bool[np.ndarray, "n"]:
    """Which coordinates have readings of their positions in a record, or move a frame whose place is read."""
    sensors = zip(model.mechanism.sensors, record.z.T, strict=True)
    positions = [sensor for sensor, z in sensors if not sensor.is_rate and np.isfinite(z).any()]
    read = {sensor.joint for sensor in positions if isinstance(sensor, Encoder)}
    frames = dict(
        zip((frame.name for frame in model.mechanism.frames), model.structure.frame_body, strict=True)
    )
    seen = [frames[sensor.frame] for sensor in positions if isinstance(sensor, FrameReading)]
    at_frames = beyond(model.structure)[0][:, seen].any(axis=1)
    of_encoders = np.array([name in read for name, _ in model.mechanism.coordinates], dtype=bool)
    return of_encoders | at_frames


def unread_coordinates(model: Model, record: Record) -> Bool[np.ndarray, "n"]:
    """Which coordinates neither have readings nor follow from readings of others in the same loop."""
    read = read_coordinates(model, record)
    known = [loop for loop in in_loops(model.structure) if (loop & read).any()]
    return ~np.logical_or.reduce([read, *known])


def with_unread_motion(
    form: ReducedForm, record: Record, x: np.ndarray, theta: Vector, period: int, fit: FitStates
) -> Float[np.ndarray, "N size"]:
    """States (N, size) of a record, from those of the readings in which unread coordinates are at 0.

    Args:
        period: steps of one period of the readings.
        fit: states with theta held; see `FitStates`.
    """
    unread, last = unread_coordinates(form.model, record), len(x) - 1
    # balls that nothing reads stay where they are
    unread &= ~np.repeat(form.structure.is_ball, form.structure.free.sum(axis=1))
    if not unread.any():
        return x
    places = form.places[np.tile(unread, 2)]
    x, size = x.copy(), min(period, last)

    def simulate(first: int, end: int) -> None:
        """Put unread coordinates of the samples after `first` where a simulation has them."""
        moved = form.simulated(
            x[first][None], record.u[None, first:end], record.steps[None, first:end], theta
        )[0]
        whole = np.isfinite(moved).all()  # else it has diverged: they stay where they were
        x[first + 1 : end + 1, places] = moved[1:, places] if whole else x[first, places]

    def fitted(first: int, end: int, fits: int) -> tuple[np.ndarray, float]:
        return fit(record.samples(slice(first, end + 1)), x[first : end + 1], fits)

    best: tuple[np.ndarray, float] | None = None
    for start in _starts(form.model, unread):
        x[0, places] = 0.0
        x[0, places[: len(start)]] = start
        simulate(0, size)
        states, weight = fitted(0, size, FITS)
        if best is None or weight > best[1]:
            best = states, weight
    assert best is not None
    x[: size + 1] = best[0]
    end = size
    while end < last:
        begin, end = end, min(end + max(period // GROWTH, 1), last)
        simulate(begin, end)
        first = max(begin - period, 0)
        x[first : end + 1] = fitted(first, end, GROWTH_FITS)[0]
    return x


def _starts(model: Model, unread: Bool[np.ndarray, "n"]) -> Sequence[tuple[float, ...]]:
    """Positions of the unread coordinates at which the first part begins."""
    units = [
        unit for (_, unit), is_unread in zip(model.mechanism.coordinates, unread, strict=True) if is_unread
    ]
    turns = TURNS if len(TURNS) ** units.count("rad") <= MAX_STARTS else TURNS[:1]
    return [*product(*([2 * np.pi * turn for turn in turns] if unit == "rad" else [0.0] for unit in units))]
