"""What was recorded of a mechanism, on the steps of its discrete dynamics, and where its states may begin (4.3).

A first guess of the coordinates is what the sensors read, through a Butterworth filter of second order and 10 Hz, there
and back; rates are its differences, y'_{k+1} = (y_{k+1} - y_k) / h. Coordinates that nothing reads begin at zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ...arrays import Vector
from ...exceptions import InvalidSignals
from ...models.maximal import Encoder, Hinge, Model, RateSensor
from ...signals.low_pass import LowPass

CUTOFF = 10.0
"""Of the filter of the first guess [Hz]."""
FEWEST = 4
"""Samples of a record."""


@dataclass(frozen=True, eq=False)
class Record:
    """One recording, a sample a step.

    Args:
        name: of it.
        times: (N,) [s], rising; steps may differ.
        u: (N, inputs) controls, each held until the next sample; the last is not used.
        z: (N, s) what the mechanism's sensors read, in their order; NaN where they did not.

    Raises:
        InvalidSignals: if there are fewer than four samples, shapes differ, times do not rise, or controls are missing.
    """

    name: str
    times: Float[np.ndarray, "N"]
    u: Float[np.ndarray, "N inputs"]
    z: Float[np.ndarray, "N s"]

    def __post_init__(self) -> None:
        if len(self.times) < FEWEST:
            raise InvalidSignals(f"{self.name} has {len(self.times)} samples; it takes at least {FEWEST}")
        if not (len(self.times) == len(self.u) == len(self.z)):
            raise InvalidSignals(
                f"{self.name} has {len(self.times)} times, {len(self.u)} controls and {len(self.z)} readings; give as "
                "many of each"
            )
        if not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise InvalidSignals(
                f"the times of {self.name} do not rise; sort them and leave out repeated ones"
            )
        if not np.isfinite(self.u).all():
            raise InvalidSignals(f"controls of {self.name} are missing somewhere; hold the last value")
        if np.isinf(self.z).any():
            raise InvalidSignals(f"readings of {self.name} are infinite somewhere; leave them out as NaN")

    @property
    def steps(self) -> Float[np.ndarray, "steps"]:
        """Their durations [s]."""
        return np.diff(self.times)

    def every(self, n: int) -> Record:
        """Each n-th sample: longer steps."""
        return Record(self.name, self.times[::n], self.u[::n], self.z[::n])

    def between(self, start: float, end: float) -> Record:
        """The samples of a window [s]."""
        cut = (self.times >= start) & (self.times <= end)
        return Record(self.name, self.times[cut], self.u[cut], self.z[cut])


def first_guess(
    model: Model, record: Record, theta: Vector
) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, "N n"]]:
    """Coordinates and rates as the sensors read them, smoothed.

    Raises:
        InvalidSignals: if the readings do not fit the mechanism's sensors and inputs.
    """
    mechanism = model.mechanism
    if record.z.shape[1] != len(mechanism.sensors) or record.u.shape[1] != len(mechanism.inputs):
        raise InvalidSignals(
            f"{record.name} has {record.u.shape[1]} controls and {record.z.shape[1]} readings; {mechanism.name} has "
            f"{len(mechanism.inputs)} motors and {len(mechanism.sensors)} sensors"
        )
    numbers = {name: place for place, name in enumerate(model.free)}
    names = [name for name, _ in mechanism.coordinates]
    y, rate = np.zeros((len(record.times), len(names))), np.full((len(record.times), len(names)), np.nan)
    for column, sensor in enumerate(mechanism.sensors):
        if np.isnan(record.z[:, column]).all():
            continue
        zero = theta[numbers[f"{sensor.label}.zero"]] if f"{sensor.label}.zero" in numbers else sensor.zero
        place, values = names.index(sensor.joint), record.z[:, column] - zero
        if isinstance(sensor, RateSensor):
            rate[:, place] = smoothed(record.times, values)
        elif isinstance(sensor, Encoder):
            turns = isinstance(next(j for j in mechanism.joints if j.name == sensor.joint), Hinge)
            y[:, place] = smoothed(record.times, values, turns)
    for place in np.flatnonzero(np.isnan(rate).any(axis=0)).tolist():
        rate[1:, place] = np.diff(y[:, place]) / record.steps
        rate[0, place] = rate[1, place]
    return y, rate


def full_turns_off(
    error: Float[np.ndarray, "N s"], angular: Bool[np.ndarray, "s"]
) -> Float[np.ndarray, "N s"]:
    """Errors of readings; of angles the nearest to zero of those that differ by full turns."""
    return error - np.where(angular, 2 * np.pi * np.round(error / (2 * np.pi)), 0.0)


def smoothed(times: Vector, values: Vector, turns: bool = False) -> Vector:
    """Through the filter, there and back; what is missing is on straight lines. Angles are unwrapped first."""
    read = np.isfinite(values)
    if not read.any():
        return np.zeros_like(values)
    kept = np.unwrap(values[read]) if turns else values[read]
    h = float(np.median(np.diff(times)))
    even = np.arange(times[0], times[-1] + 0.5 * h, h)
    line = np.interp(even, times[read], kept)
    if 2 * CUTOFF * h >= 1:
        return np.interp(times, even, line)
    low_pass = LowPass.butterworth(2, 2 * CUTOFF * h)
    pad = min(int(3 / (CUTOFF * h)), len(line) - 1)
    return np.interp(times, even, low_pass.forwards_and_backwards(line, pad))
