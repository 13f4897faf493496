"""Derivatives by time of what sensors read along an estimated motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Columns
from ...models.contacts.contact_dynamics import RobotMotion
from ...models.sensors import Sensor
from .robot import RobotTrajectoryModel

WIDEST = 32
"""Half a width of lines whose slopes are rates of readings [samples]."""


def predicted_rates(
    sensor: Sensor, model: RobotTrajectoryModel, motions: Sequence[tuple[np.ndarray, RobotMotion]]
) -> Columns:
    """(S, m) rates of predicted readings: slopes of lines through neighbouring samples with the same contacts.

    The noise of a motion is in its rates, where it counts as information on a delay and draws it towards 0 (an error in
    variables). So lines are as long as they may be: the half width doubles while slopes change by less than white
    noise of the sensor would change those of the shorter lines.
    """
    times, k = model.times, np.arange(len(model.times))
    edges = np.array([0, *(np.flatnonzero(np.diff(model.schedule.mode_of)) + 1), len(k)])
    phase = np.searchsorted(edges, k, side="right")
    first, last = edges[phase - 1], edges[phase] - 1
    room = np.minimum(k - first, last - k)
    predicted, rise = np.empty((len(k), sensor.width)), np.zeros((len(k), sensor.size))
    for samples, moved in motions:
        predicted[samples] = sensor.predicted(moved)
    run, squares, noise, rates = np.full(len(k), 1e-12), np.zeros(len(k)), np.empty(0), rise
    for j in range(1, WIDEST + 1):
        # at the ends of a phase lines are shorter, and at its first and last sample from there to the next
        inside = room >= j if j > 1 else np.ones(len(k), dtype=bool)
        a, b = np.where(inside, np.maximum(k - j, first), k), np.where(inside, np.minimum(k + j, last), k)
        for samples, moved in motions:
            ahead, behind = (sensor.difference(predicted[at[samples]], moved) for at in (b, a))
            rise[samples] += j * (ahead - behind)
        run, squares = run + j * (times[b] - times[a]), squares + 2.0 * j**2 * inside
        if j & (j - 1):
            continue
        longer = rise / run[:, None]
        change = ((longer - rates) @ sensor.whitening.T)[inside]
        if j > 1 and (not inside.any() or np.mean(change**2) > np.mean(noise[inside] ** 2)):
            break
        rates, noise = longer, np.sqrt(squares) / run
    return rates
