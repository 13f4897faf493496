"""Recordings of a mechanism on the steps of its discrete dynamics, and initial guesses of states (Lacoursiere, 4.3).

The initial guess of the coordinates is the readings after a Butterworth filter of second order and 10 Hz, forwards and
backwards; rates are its differences, y'_{k+1} = (y_{k+1} - y_k) / h. Coordinates without a sensor begin at zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Bool, Brief, Float, Vector, interpolated
from ...exceptions import InvalidSignals, check_known
from ...models.maximal import Encoder, Mechanism, Model, RateSensor
from ...recording import EFFORTS, Recording
from ...signals.low_pass import LowPass

CUTOFF = 10.0
"""Cutoff of the initial guess's filter: above the frequencies of swinging mechanisms, below those of noise [Hz]."""
MIN_SAMPLES = 4
"""Least number of samples of a record."""
STEP_TOLERANCE = 0.05
"""Largest deviation of a time step from a whole number of samples, in samples."""
MIN_END_SHARE, MIN_VISITS, MIN_VALUES = 0.02, 3, 20
"""A command looks saturated with more than this share of samples at each end of its range, at least this many visits
there, and more different values than this between."""


@dataclass(frozen=True, eq=False, repr=False)
class Record(Brief):
    """One recording, with one sample per step.

    Args:
        times: (N,) [s], rising; steps may differ.
        u: (N, inputs) controls, each held until the next sample; the last is not used.
        z: (N, s) readings of the mechanism's sensors, in their order; NaN where nothing was measured.

    Raises:
        InvalidSignals: if there are fewer than four samples, shapes differ, times do not rise, or controls are missing.
    """

    name: str
    times: Float[np.ndarray, "N"]
    u: Float[np.ndarray, "N inputs"]
    z: Float[np.ndarray, "N s"]

    def __post_init__(self) -> None:
        if len(self.times) < MIN_SAMPLES:
            message = f"{self.name} has {len(self.times)} samples; it needs at least {MIN_SAMPLES}"
            raise InvalidSignals(message)
        if not (len(self.times) == len(self.u) == len(self.z)):
            raise InvalidSignals(
                f"{self.name} has {len(self.times)} times, {len(self.u)} controls and {len(self.z)} readings; give as "
                "many of each"
            )
        if not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise InvalidSignals(
                f"the times of {self.name} do not increase; sort them and remove repeated ones"
            )
        if not np.isfinite(self.u).all():
            raise InvalidSignals(f"controls of {self.name} are missing; hold the last value")
        if np.isinf(self.z).any():
            raise InvalidSignals(f"readings of {self.name} are infinite; mark them as missing by NaN")

    @classmethod
    def from_recording(
        cls,
        mechanism: Mechanism,
        recording: Recording,
        name: str = "recording",
        step_s: float | None = None,
        read_as: str | None = None,
    ) -> Record:
        """The readings of a mechanism's sensors, NaN where there are none, and the commands of its motors.

        Sensors read the channels `position.<joint>` and `velocity.<joint>`. Commands are torques, currents or voltages;
        an invalid one keeps the value before it.

        Args:
            step_s: time step of the model, a multiple of the recording's interval [s]; None: one sample.
            read_as: name of the recording whose sensors are used; None: this one.

        Raises:
            InvalidSignals: if the command of a motor is missing, or step_s is no multiple.
        """
        times = np.asarray(recording.time, dtype=float)
        z, u = np.full((len(times), len(mechanism.sensors)), np.nan), []
        for k, sensor in enumerate(mechanism.sensors):
            if sensor.recording in (None, read_as or name) and sensor.channel in recording.channels:
                z[:, k] = recording.readings(sensor.channel)
        for joint in mechanism.inputs:
            channels = (f"{effort}.{joint}" for effort in EFFORTS)
            channel = next((candidate for candidate in channels if candidate in recording.channels), None)
            if channel is None:
                raise InvalidSignals(
                    f"recording {name!r} has no command of the motor of {joint!r}; give a column of its torque, "
                    "current or voltage, or leave the motor out (in a project with a description: motor = false)"
                )
            if not recording.mask(channel).any():
                raise InvalidSignals(
                    f"{channel} of recording {name!r} has no valid value; leave the motor out if it had no command"
                )
            # a drive holds its last command; before the first valid command, this is used
            u.append(recording.filled(channel, hold=True))
        record = cls(name, times, np.column_stack(u) if u else np.zeros((len(times), 0)), z)
        sample = float(np.median(record.steps))
        n = 1 if step_s is None else round(step_s / sample)
        if step_s is not None and (n < 1 or abs(step_s / sample - n) > STEP_TOLERANCE):
            raise InvalidSignals(
                f"step_s is {step_s:g} s, but {name} has a sample every {sample:g} s; give a multiple of it"
            )
        return record.every(n)

    def saturated_commands(self, joints: Sequence[str]) -> list[str]:
        """Warnings about commands of these joints, in the order of u, that look saturated at both ends."""
        warnings = []
        for joint, u in zip(joints, self.u.T, strict=True):
            low, high = u.min(), u.max()
            at_ends = [u == low, u == high]
            between = len(np.unique(u[(u > low) & (u < high)]))
            visits = min(int(np.sum(np.diff(np.r_[False, end].astype(int)) == 1)) for end in at_ends)
            share = [float(np.mean(end)) for end in at_ends]
            if min(share) > MIN_END_SHARE and visits >= MIN_VISITS and between > MIN_VALUES:
                warnings.append(
                    f"The command of {joint} in {self.name} stays at its ends, {low:g} and {high:g}, for "
                    f"{100 * sum(share):.0f} % of the time: if the drive saturates there, record its output, not "
                    "its command."
                )
        return warnings

    @property
    def steps(self) -> Float[np.ndarray, "steps"]:
        """Durations of the steps [s]."""
        return np.diff(self.times)

    def samples(self, cut: slice | np.ndarray) -> Record:
        """Some of the samples."""
        return Record(self.name, self.times[cut], self.u[cut], self.z[cut])

    def every(self, n: int) -> Record:
        """Each n-th sample: longer steps."""
        return self.samples(slice(None, None, n))

    def between(self, start: float, end: float) -> Record:
        """The samples of a window [s]."""
        return self.samples((self.times >= start) & (self.times <= end))


def with_sensors(mechanism: Mechanism, recordings: Iterable[Recording]) -> Mechanism:
    """The mechanism with an encoder or a rate sensor for each joint's position or velocity that a recording has, and
    with gains of its motors in units of the commands that were recorded.
    """
    recordings, sensors = tuple(recordings), []
    for quantity, kind in (("position", Encoder), ("velocity", RateSensor)):
        read = {joint for recording in recordings for joint in recording.joints(quantity)}
        sensors += [kind(joint) for joint in mechanism.readable_joints if joint in read]
    if not sensors:
        raise InvalidSignals("no recording has a position or velocity of a joint; name their columns")
    units = {name: unit for recording in recordings for name, unit in recording.units.items()}
    joints = []
    for joint in mechanism.joints:
        motor: Any = getattr(joint, "motor", None)
        commands = [units[name] for effort in EFFORTS if (name := f"{effort}.{joint.name}") in units]
        changed: Any = {"motor": replace(motor, unit=commands[0])} if motor and commands else {}
        joints.append(replace(joint, **changed))
    return replace(mechanism, sensors=sensors, joints=joints)


def first_guess(
    model: Model, record: Record, theta: Vector
) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, "N n"]]:
    """(N, n) coordinates and (N, n) rates from smoothed readings."""
    mechanism = model.mechanism
    if record.z.shape[1] != len(mechanism.sensors) or record.u.shape[1] != len(mechanism.inputs):
        raise InvalidSignals(
            f"{record.name} has {record.u.shape[1]} controls and {record.z.shape[1]} readings; {mechanism.name} has "
            f"{len(mechanism.inputs)} motors and {len(mechanism.sensors)} sensors"
        )
    known = dict(zip(model.free, theta, strict=True))
    names = [name for name, _ in mechanism.coordinates]
    y, rate = np.zeros((len(record.times), len(names))), np.full((len(record.times), len(names)), np.nan)
    for column, sensor in enumerate(mechanism.sensors):
        if np.isnan(record.z[:, column]).all():
            continue
        read = record.z[:, column] - known.get(f"{sensor.label}.zero", sensor.zero)
        values = smoothed(record.times, read, bool(model.angular[column]))
        (rate if sensor.is_rate else y)[:, names.index(sensor.joint)] = values
    for place in np.flatnonzero(np.isnan(rate).any(axis=0)).tolist():
        rate[1:, place] = np.diff(y[:, place]) / record.steps
        rate[0, place] = rate[1, place]  # differences have one value less than coordinates
    return y, rate


def full_turns_off(
    error: Float[np.ndarray, "N s"], angular: Bool[np.ndarray, "s"]
) -> Float[np.ndarray, "N s"]:
    """Residuals of readings; residuals of angles without full turns, in [-pi, pi]."""
    return error - np.where(angular, 2 * np.pi * np.round(error / (2 * np.pi)), 0.0)


def smoothed(times: Vector, values: Vector, turns: bool = False) -> Vector:
    """Filter forwards and backwards, after interpolating missing values."""
    h = float(np.median(np.diff(times)))
    # a filter needs even samples; steps of a record may differ
    even = np.arange(times[0], times[-1] + 0.5 * h, h)
    line = np.interp(even, times, interpolated(times, values, turns))
    if 2 * CUTOFF * h >= 1:  # sampled below twice the cutoff: there is nothing to filter
        return np.interp(times, even, line)
    low_pass = LowPass.butterworth(2, 2 * CUTOFF * h)
    pad = min(int(3 / (CUTOFF * h)), len(line) - 1)
    return np.interp(times, even, low_pass.forwards_and_backwards(line, pad))


def with_own_zeros(mechanism: Mechanism, names: Sequence[str], recordings: Sequence[str]) -> Mechanism:
    """The mechanism with one sensor per recording in place of each sensor whose zero is named."""
    zeros = [f"{sensor.label}.zero" for sensor in mechanism.sensors]
    for name in names:
        check_known(name, zeros, "per_recording names", "it may name", InvalidSignals)
    sensors, numbers = [], dict(mechanism.numbers)
    for sensor, zero in zip(mechanism.sensors, zeros, strict=True):
        if zero not in names:
            sensors.append(sensor)
            continue
        value = numbers.pop(zero, sensor.zero)
        sensors += [
            replace(sensor, name=f"{sensor.label} in {recording}", recording=recording, zero=value)
            for recording in recordings
        ]
    return replace(mechanism, sensors=sensors, numbers=numbers)
