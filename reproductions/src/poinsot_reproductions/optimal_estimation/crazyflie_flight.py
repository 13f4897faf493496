"""Flights of a Crazyflie on one clock: rotor speeds, gyro and accelerometer on board, motion capture beside.

The vehicle logs 500 times a second, with gaps, by its own clock; cameras see it 10 to 100 times a second by theirs. All
goes to steps of a fixed length: speeds of rotors squared and accelerations as means over the step that they act in, the
gyro around its beginning, positions to the nearest step. Two delays are found first.

- Rotor speeds are ahead of the gyro, which is filtered: by the time with which they correlate best with the angular
  accelerations about x and y, where both are between 2 and 15 Hz.
- The cameras are late: angles between poses 0.3 s apart are the gyro's if both clocks agree, whatever the axes.

Of motion capture positions are used alone: its orientations are of the markers, which sit on the vehicle at some angle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize_scalar
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation, Slerp

from poinsot import Column, Source, read_recording
from poinsot.arrays import Times
from poinsot.exceptions import InvalidRecording
from poinsot.recording import Recording

from .crazyflie_stand import ROTORS

AXES = ("x", "y", "z")
STEP = 0.008
"""Of the estimate [s]."""
RATE = 500.0
"""Of the log on board [Hz]."""
BAND = (2.0, 15.0)
"""In which torques and angular accelerations are compared [Hz]."""
LONGEST_DELAY = 0.02
"""[s]"""
APART = 0.3
"""Between poses of which the angle is compared [s]."""
EDGE = 0.1
"""Left out at both ends, where filters and splines are not to be trusted [s]."""

TURNING = np.array([[-1, -1, 1, 1], [-1, 1, 1, -1], [-1, 1, -1, 1]], dtype=float)
"""Signs of moments about x, y, z of the rotors m1 (front right), m2 (rear right), m3 (rear left), m4 (front left)."""


@dataclass(frozen=True, eq=False)
class Flight:
    """A flight in S steps.

    Args:
        name: of it.
        times: (S,) [s].
        lift: (S,) sum of the squared speeds of the rotors, a mean over the step that follows [rad^2/s^2].
        turn: (S, 3) the same with the signs of their moments, between 2 and 15 Hz [rad^2/s^2].
        gyro: (S, 3) [rad/s]. accelerometer: (S, 3) specific force, a mean over the step that follows [m/s^2].
        position: (S, 3) by motion capture, NaN where it saw nothing [m].
        guess: (S, 13) states to begin from: position, quaternion, velocities in the body's axes.
        rotor_delay, capture_delay: that were found [s].
    """

    name: str
    times: Float[np.ndarray, "S"]
    lift: Float[np.ndarray, "S"]
    turn: Float[np.ndarray, "S 3"]
    gyro: Float[np.ndarray, "S 3"]
    accelerometer: Float[np.ndarray, "S 3"]
    position: Float[np.ndarray, "S 3"]
    guess: Float[np.ndarray, "S 13"]
    rotor_delay: float = 0.0
    capture_delay: float = 0.0

    def __len__(self) -> int:
        return len(self.times)

    def stretches(self, count: int) -> list[Flight]:
        """Cut into so many of the same length."""
        edges = np.linspace(0, len(self), count + 1).astype(int)
        return [self._between(first, last) for first, last in pairwise(edges.tolist())]

    def _between(self, first: int, last: int) -> Flight:
        cut = slice(first, last)
        return replace(
            self,
            times=self.times[cut],
            lift=self.lift[cut],
            turn=self.turn[cut],
            gyro=self.gyro[cut],
            accelerometer=self.accelerometer[cut],
            position=self.position[cut],
            guess=self.guess[cut],
        )


def files_of(name: str) -> tuple[str, str]:
    """The log on board, and motion capture."""
    return f"{name}_onboard.parquet", f"{name}_mocap.parquet"


def read_flight(folder: Path, name: str, step: float = STEP) -> Flight:
    """A flight, with its delays taken out.

    Args:
        folder: with its two files.
        name: of the flight, with which the files' names begin.
        step: length of a step [s].

    Raises:
        UnreadableFile, InvalidRecording: if a file cannot be read, or the flight is too short.
    """
    board, capture = _read(folder, name)
    return on_steps(name, board, capture, step)


def _read(folder: Path, name: str) -> tuple[Recording, Recording]:
    on_board, captured = (folder / file for file in files_of(name))
    channels = {f"speed.{rotor}": Column(f"rpm.{rotor}", "rpm") for rotor in ROTORS}
    channels |= {f"gyro.{axis}": Column(f"gyro.{axis}", "deg/s") for axis in AXES}
    channels |= {f"acc.{axis}": Column(f"acc.{axis}", "g") for axis in AXES}
    poses = {f"position.{axis}": Column(f"locSrv.{axis}", "m") for axis in AXES}
    poses |= {f"quaternion.{axis}": Column(f"locSrv.q{axis}", "1") for axis in (*AXES, "w")}
    clock = Column("t", "s")
    return (
        read_recording(Source(on_board, channels, clock)),
        read_recording(Source(captured, poses, clock)),
    )


def on_steps(name: str, board: Recording, capture: Recording, step: float = STEP) -> Flight:
    """Both recordings of a flight on one clock, as `read_flight` has it.

    Args:
        name: of the flight.
        board: channels `speed.m1` ..., `gyro.x` ..., `acc.x` ...
        capture: channels `position.x` ..., `quaternion.x`, ..., `quaternion.w`.
        step: [s].
    """
    squared, gyro, force = board.stack("speed") ** 2, board.stack("gyro"), board.stack("acc")
    late = capture_delay(board.time, gyro, capture)
    ahead = rotor_delay(board.time, squared, gyro)
    seen = capture.time - late
    first, last = max(board.time[0], seen[0]) + EDGE, min(board.time[-1], seen[-1]) - EDGE
    times = np.arange(first, last, step)
    if len(times) < 2 / step:
        raise InvalidRecording(f"the flight {name!r} has less than 2 s that were logged and filmed")
    place = make_interp_spline(seen, capture.stack("position"), k=3)
    orientation = Slerp(seen, Rotation.from_quat(capture.stack("quaternion")))(times)
    turning = _means(board.time, gyro, times - step / 2, step)
    linear = orientation.inv().apply(place(times, 1))
    return Flight(
        name,
        times,
        _means(board.time, squared, times - ahead, step).sum(axis=1),
        _means(*_in_band(board.time, squared @ TURNING.T), times - ahead, step),
        turning,
        _means(board.time, force, times, step),
        _nearest(times, seen, place(times), step),
        np.concatenate([place(times), orientation.as_quat(), linear, turning], axis=1),
        ahead,
        late,
    )


def _means(
    time: Times, values: Float[np.ndarray, "T k"], begin: Float[np.ndarray, "S"], length: float
) -> Float[np.ndarray, "S k"]:
    """Means over [begin, begin + length] of what is straight between samples."""
    total = make_interp_spline(time, cumulative_trapezoid(values, time, axis=0, initial=0), k=1)
    inside = [np.clip(edge, time[0], time[-1]) for edge in (begin, begin + length)]
    return np.asarray((total(inside[1]) - total(inside[0])) / (inside[1] - inside[0])[:, None])


def _nearest(
    times: Float[np.ndarray, "S"],
    seen: Float[np.ndarray, "K"],
    position: Float[np.ndarray, "S 3"],
    step: float,
) -> Float[np.ndarray, "S 3"]:
    """Positions at steps next to which there is a picture; NaN at all others."""
    place = np.rint((seen - times[0]) / step).astype(int)
    there = np.zeros(len(times), dtype=bool)
    there[place[(place >= 0) & (place < len(times))]] = True
    return np.where(there[:, None], position, np.nan)


# ------------------------------------------------------------------------------------------------------------ delays


def rotor_delay(
    time: Times, squared_speed: Float[np.ndarray, "T 4"], gyro: Float[np.ndarray, "T 3"]
) -> float:
    """By how much squared speeds of rotors are ahead of the angular accelerations that they make [s]."""
    even, acceleration = _in_band(time, gyro[:, :2], slope=True)
    moment = make_interp_spline(*_in_band(time, squared_speed @ TURNING[:2].T), k=1)
    inside = slice(round(RATE * 0.5), -round(RATE * 0.5))

    def unlike(delay: float) -> float:
        both = moment(even[inside] - delay), acceleration[inside]
        a, b = (x / np.linalg.norm(x, axis=0) for x in both)
        return -float(np.sum(a * b))

    return float(minimize_scalar(unlike, bounds=(-LONGEST_DELAY, LONGEST_DELAY), method="bounded").x)


def _in_band(
    time: Times, values: Float[np.ndarray, "T k"], slope: bool = False
) -> tuple[Float[np.ndarray, "E"], Float[np.ndarray, "E k"]]:
    """Between 2 and 15 Hz, without delay, on an even clock; of the slopes if wanted."""
    even = np.arange(time[0], time[-1], 1 / RATE)
    x = make_interp_spline(time, values, k=1)(even)
    x = np.gradient(x, 1 / RATE, axis=0) if slope else x
    return even, sosfiltfilt(butter(2, BAND, "bandpass", fs=RATE, output="sos"), x, axis=0)


def capture_delay(time: Times, gyro: Float[np.ndarray, "T 3"], capture: Recording) -> float:
    """By how much poses are later than the gyro [s]."""
    turned = _turned(time, gyro)
    poses = Rotation.from_quat(capture.stack("quaternion"))
    later = np.searchsorted(capture.time, capture.time + APART)
    first = np.flatnonzero(
        (later < len(capture))
        & (capture.time > time[0] + LONGEST_DELAY)
        & (capture.time[np.minimum(later, len(capture) - 1)] < time[-1] - LONGEST_DELAY)
    )
    later = later[first]
    seen = (poses[first].inv() * poses[later]).magnitude()

    def apart(delay: float) -> float:
        begin, end = (turned(capture.time[some] - delay) for some in (first, later))
        return float(np.sum(((begin.inv() * end).magnitude() - seen) ** 2))

    return float(minimize_scalar(apart, bounds=(-LONGEST_DELAY, LONGEST_DELAY), method="bounded").x)


def _turned(time: Times, gyro: Float[np.ndarray, "T 3"]) -> Slerp:
    """Orientation since the first sample."""
    steps = Rotation.from_rotvec(0.5 * (gyro[1:] + gyro[:-1]) * np.diff(time)[:, None]).as_matrix()
    matrices = np.empty((len(time), 3, 3))
    matrices[0] = np.eye(3)
    for k, R in enumerate(steps):
        matrices[k + 1] = matrices[k] @ R
    return Slerp(time, Rotation.from_matrix(matrices))
