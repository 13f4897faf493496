"""Recording: named channels with units on one clock, frozen, checked once.

A channel is named `quantity.joint` (`position.joint_1`, `torque.elbow`), or freely where it belongs to no joint
(`temperature`). Values are in SI units and radians; `io` converts the units of files. The constructor checks that
the clock increases and values are finite, so later stages do not check again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from .arrays import Brief, JointSamples, Mask, Samples, Times, carried_on, interpolated
from .exceptions import ChannelNotFound, InvalidRecording
from .lazy import load
from .quantities import FRAME_QUANTITIES

IMPACT_VELOCITIES = ("velocity_before", "velocity_after")
"""Velocities of a body on both sides of an impact: each row of such a recording is one impact."""

QUANTITIES = (
    *("position", "velocity", "acceleration", "torque", "current", "voltage", "position_command"),
    *IMPACT_VELOCITIES,
)
"""The quantities that a joint, its motor, or a body in the plane can have."""

EFFORTS = ("torque", "current", "voltage")
"""The quantities that measure the effort of a motor."""

CONTACT = "contact"
"""Quantity of a frame: 1 while it is in contact, or the normal force [N]."""

THRUST = "thrust"
"""Quantity of a rotor [N]."""

GAP_INTERVALS = 2.5
"""An interval longer than this many median ones is a gap: at least one sample is missing."""

UNIFORM_TOLERANCE = 1e-3
"""Maximum relative deviation of an interval from the median in a uniform clock."""


@dataclass(frozen=True, eq=False, repr=False)
class Recording(Brief):
    """Named channels with units on one clock.

    Args:
        time: (T,) sample times, strictly increasing [s].
        channels: name -> (T,) values in SI units.
        units: name -> the SI unit of the channel, e.g. `"rad"` or `"N m"`.
        valid: name -> (T,) mask, True where the sample is valid; a channel without a mask is valid and finite
            throughout.
        metadata: further information (source files, processing steps).

    Raises:
        InvalidRecording: if the clock does not increase, lengths differ, or a valid value is not finite.
    """

    time: Times
    channels: Mapping[str, Samples]
    units: Mapping[str, str]
    valid: Mapping[str, Mask] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # frozen arrays: signals and estimates keep views of a recording for as long as they live
        time = _frozen(self.time, float)
        channels = {name: _frozen(values, float) for name, values in self.channels.items()}
        valid = {name: _frozen(mask, bool) for name, mask in self.valid.items()}
        _check_clock(time)
        if not channels:
            raise InvalidRecording("a recording needs at least one channel besides its clock")
        for name in channels:
            if name not in self.units:
                raise InvalidRecording(f"channel {name!r} has no unit; give one, '1' for a pure number")
        for name in (*self.units, *valid):
            if name not in channels:
                raise ChannelNotFound(name, channels)
        for name, values in channels.items():
            _check_channel(name, values, valid.get(name), time)
        for name, value in (
            ("time", time),
            ("channels", MappingProxyType(channels)),
            ("units", MappingProxyType(dict(self.units))),
            ("valid", MappingProxyType(valid)),
            ("metadata", MappingProxyType(dict(self.metadata))),
        ):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # mapping proxies cannot be sent to other processes, and estimates keep recordings
        mappings = (self.channels, self.units, self.valid, self.metadata)
        return type(self), (self.time, *(dict(mapping) for mapping in mappings))

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, name: str) -> Samples:
        """The values of a channel, (T,), read-only.

        Raises:
            ChannelNotFound: if there is no such channel.
        """
        try:
            return self.channels[name]
        except KeyError:
            raise ChannelNotFound(name, self.channels) from None

    def _repr_html_(self) -> str:
        """A sparkline of each channel, for notebooks."""
        html: str = load(".report.notebook_html:recording_html")(self)
        return html

    @property
    def duration_s(self) -> float:
        return float(self.time[-1] - self.time[0])

    @property
    def rate_hz(self) -> float:
        """Sampling rate, from the median interval. [Hz]"""
        return 1.0 / float(np.median(np.diff(self.time)))

    @property
    def is_uniform(self) -> bool:
        """Whether every interval equals the median one to one part in a thousand."""
        intervals = np.diff(self.time)
        # the median, not the mean: one gap changes the mean, and every interval would seem irregular
        median = np.median(intervals)
        return bool(np.all(np.abs(intervals - median) <= UNIFORM_TOLERANCE * median))

    @property
    def gaps(self) -> np.ndarray:
        """(g,) samples after which the clock has a gap."""
        intervals = np.diff(self.time)
        return np.flatnonzero(intervals > GAP_INTERVALS * np.median(intervals))

    @property
    def steps(self) -> tuple[str, ...]:
        """The processing steps so far, one sentence each, which signals, estimates and reports show."""
        return tuple(self.metadata.get("steps", ()))

    def noted(self, *steps: str) -> Recording:
        """The recording with more processing steps."""
        return replace(self, metadata={**self.metadata, "steps": [*self.steps, *steps]})

    def joints(self, quantity: str) -> tuple[str, ...]:
        """The joints that have a channel of this quantity, in the order of the channels."""
        prefix = quantity + "."
        return tuple(name.removeprefix(prefix) for name in self.channels if name.startswith(prefix))

    def frames(self, quantity: str) -> tuple[str, ...]:
        """The frames that have channels of this quantity, in the order of the channels."""
        prefix, ends = quantity + ".", FRAME_QUANTITIES[quantity].ends
        # the last dot separates frame and end: names of frames in robot descriptions have dots too
        parts = (
            name.removeprefix(prefix).rpartition(".") for name in self.channels if name.startswith(prefix)
        )
        return tuple(dict.fromkeys(frame for frame, _, end in parts if end in ends))

    def stack(self, quantity: str, joints: tuple[str, ...] | None = None) -> JointSamples:
        """(T, n) samples of one quantity, one column a joint.

        Raises:
            ChannelNotFound: if a joint has no such channel.
        """
        joints = self.joints(quantity) if joints is None else joints
        if not joints:
            raise ChannelNotFound(f"{quantity}.<joint>", self.channels)
        return np.stack([self[f"{quantity}.{joint}"] for joint in joints], axis=1)

    def readings(self, name: str) -> Samples:
        """(T,) values of a channel, NaN where they are not valid."""
        return np.where(self.mask(name), self[name], np.nan)

    def filled(self, name: str, *, hold: bool = False) -> Samples:
        """(T,) values of a channel without gaps; before the first valid sample its value holds.

        Args:
            name: the channel.
            hold: whether invalid samples repeat the last valid value, instead of being linearly interpolated.

        Raises:
            InvalidRecording: if no sample is valid.
        """
        valid, values = self.mask(name), self[name]
        if not valid.any():
            raise InvalidRecording(f"channel {name!r} has no valid sample")
        if valid.all():
            return values
        readings = self.readings(name)
        return carried_on(readings, float(values[valid][0])) if hold else interpolated(self.time, readings)

    def mask(self, name: str) -> Mask:
        """(T,) True where the channel's samples are valid."""
        if name not in self.channels:
            raise ChannelNotFound(name, self.channels)
        return self.valid.get(name, np.ones(len(self), dtype=bool))

    def between(self, start_s: float, stop_s: float) -> Recording:
        """The samples with start <= time < stop, times unchanged. [s]

        Raises:
            InvalidRecording: if fewer than two samples are left.
        """
        first, last = window_indices(self.time, start_s, stop_s)
        cut = slice(first, last)
        return replace(
            self,
            time=self.time[cut],
            channels={name: values[cut] for name, values in self.channels.items()},
            valid={name: mask[cut] for name, mask in self.valid.items()},
        )


def window_indices(time: Times, start_s: float, stop_s: float) -> tuple[int, int]:
    """First and one-past-last sample with start <= time < stop, half a sample of tolerance; two samples at least."""
    # times in project files have few digits, those of clocks rounding errors: 1.2 s means the sample at 1.19999
    half = 0.5 * float(np.median(np.diff(time)))
    first, last = (int(k) for k in np.searchsorted(time, (start_s - half, stop_s - half)))
    if last - first < 2:
        raise InvalidRecording(
            f"the window {start_s:.15g} s to {stop_s:.15g} s holds {max(last - first, 0)} samples; "
            f"the recording runs from {clock_text(time[0], half)} s to {clock_text(time[-1], half)} s"
        )
    return first, last


def clock_text(seconds: float, interval_s: float) -> str:
    """A time with enough digits to distinguish it from adjacent samples, also on clocks that count from 1970.

    >>> clock_text(4.05, 0.001), clock_text(1700000003.999, 0.001), clock_text(30.0, 0.5)
    ('4.05', '1700000003.999', '30')
    """
    decimals = min(max(math.ceil(-math.log10(interval_s) - 1e-9), 0), 9)
    # + 0.0 makes -0.0 a plain 0
    text = f"{round(seconds, decimals) + 0.0:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _frozen(values: Any, dtype: type) -> np.ndarray:
    array: np.ndarray = np.ascontiguousarray(values, dtype=dtype)
    # ascontiguousarray returns its argument where it can: the caller could still write to it
    if array is values and array.flags.writeable:
        array = array.copy()
    array.setflags(write=False)
    return array


def _check_clock(time: np.ndarray) -> None:
    if time.ndim != 1 or len(time) < 2:
        raise InvalidRecording(f"a recording needs at least two samples; this one has {time.size}")
    if not np.all(np.isfinite(time)):
        row = int(np.argmin(np.isfinite(time)))
        raise InvalidRecording(f"the clock is not finite at row {row} (counted from 0)")
    steps = np.diff(time)
    if not np.all(steps > 0):
        row = int(np.argmax(steps <= 0)) + 1
        how = "repeats" if steps[row - 1] == 0 else "runs backwards"
        raise InvalidRecording(
            f"the clock {how} at row {row} (counted from 0): {time[row - 1]:.15g} s, then {time[row]:.15g} s; "
            "sort the file or drop the row"
        )


def _check_channel(name: str, values: np.ndarray, mask: np.ndarray | None, time: np.ndarray) -> None:
    for part, array in (("values", values), ("mask", mask)):
        if array is not None and array.shape != time.shape:
            raise InvalidRecording(
                f"channel {name!r}: its {part} have shape {array.shape}, the clock has {time.shape}"
            )
    # masked samples may have any value: NaN, or the value that a device sends without a reading
    bad = ~np.isfinite(values)
    if mask is not None:
        bad &= mask
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidRecording(
            f"channel {name!r} is {values[row]} at row {row} (counted from 0), and at {int(bad.sum())} rows in all; "
            "drop the rows, or read with invalid='mask' to keep them as gaps"
        )
