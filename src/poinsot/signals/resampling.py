"""Resample a recording to a uniform clock, and report by how much samples moved.

Filters and central differences need equal steps; logs have jitter. Between two recorded samples the value comes from
a cubic spline (or a line) through the valid samples; a channel that is held, like a command, keeps its last value.
Where valid samples are more than a few intervals apart, the new samples are interpolated by a straight line, so that
they are finite, and masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ..arrays import Bool, Float, Times
from ..exceptions import ChannelNotFound, InvalidSignals
from ..recording import UNIFORM_TOLERANCE, Recording

NewTimes: TypeAlias = Float[np.ndarray, "K"]
"""The K samples of the new clock. [s]"""

BRIDGED_INTERVALS = 3.5
"""Default of `gap_intervals`: gaps of up to this many median intervals are bridged."""

LARGEST_GROWTH = 100
"""Maximum ratio of new to old number of samples; more is refused as an error."""


def resample(
    recording: Recording,
    rate_hz: float | None = None,
    method: Literal["cubic", "linear"] = "cubic",
    *,
    hold: Sequence[str] = (),
    gap_intervals: float = BRIDGED_INTERVALS,
) -> Recording:
    """Resample a recording to a uniform clock that starts at its first sample.

    Args:
        recording: recording with any clock.
        rate_hz: rate of the new clock [Hz]; None: the recording's own, from its median interval.
        method: interpolation between two samples; linear is safer where values jump.
        hold: channels that keep their value until the next sample.
        gap_intervals: valid samples more than this many median intervals apart enclose a gap.

    Returns:
        The recording; `metadata["resampled"]` holds the figures, `metadata["steps"]` a sentence.

    Raises:
        InvalidSignals: if the rate is not positive or too high, or a channel has fewer than two valid samples.
    """
    old = recording.time
    interval = float(np.median(np.diff(old)))
    rate_hz = 1.0 / interval if rate_hz is None else float(rate_hz)
    new = _uniform_clock(recording, rate_hz)
    for name in hold:
        if name not in recording.channels:
            raise ChannelNotFound(name, recording.channels)
    # in intervals of the slower clock: a slower new clock makes no gaps, and a faster one closes none
    reach = gap_intervals * max(interval, 1.0 / rate_hz)
    channels, valid = {}, {}
    for name in recording.channels:
        how = "hold" if name in hold else method
        channels[name], known = _resample_channel(name, old, recording, new, how, reach)
        if not known.all():
            valid[name] = known
    figures = _figures(old, new, rate_hz)
    figures["masked_samples"] = int(sum((~mask).sum() for mask in valid.values()))
    masked = f"; {figures['masked_samples']} samples in gaps were masked" if figures["masked_samples"] else ""
    step = (
        f"resampled {figures['samples_before']} samples to {figures['samples']} "
        f"at {figures['rate_hz']:.6g} Hz ({method}): "
        f"samples moved by up to {1e3 * figures['largest_shift_s']:.3g} ms, rms {1e3 * figures['rms_shift_s']:.3g} ms; "
        f"the clock's jitter was up to {1e3 * figures['largest_jitter_s']:.3g} ms, "
        f"rms {1e3 * figures['rms_jitter_s']:.3g} ms{masked}"
    )
    metadata = {
        **recording.metadata,
        "resampled": {"method": method, "hold": list(hold), **figures},
        "steps": [*recording.steps, step],
    }
    return Recording(new, channels, recording.units, valid, metadata)


def _uniform_clock(recording: Recording, rate_hz: float) -> NewTimes:
    if not (np.isfinite(rate_hz) and rate_hz > 0):
        raise InvalidSignals(f"the rate to resample to must be a positive number, not {rate_hz} Hz")
    # A small tolerance: the last sample belongs to the clock although its time stamp is rounded.
    samples = int(np.floor(recording.duration_s * rate_hz + 1e-6)) + 1
    if samples < 2:
        raise InvalidSignals(
            f"{rate_hz:g} Hz leaves one sample of {recording.duration_s:g} s; resample to a higher rate"
        )
    if samples > LARGEST_GROWTH * len(recording):
        raise InvalidSignals(
            f"{rate_hz:g} Hz makes {samples} samples out of {len(recording)}; "
            f"the recording has about {recording.rate_hz:.4g} Hz"
        )
    return np.minimum(recording.time[0] + np.arange(samples) / rate_hz, recording.time[-1])


def _resample_channel(
    name: str, old: Times, recording: Recording, new: NewTimes, how: str, reach: float
) -> tuple[Float[np.ndarray, "K"], Bool[np.ndarray, "K"]]:
    """Values at the new times, and where they are known."""
    trusted = recording.mask(name)
    time, values = old[trusted], recording[name][trusted]
    if len(time) < 2:
        raise InvalidSignals(f"channel {name!r} has {len(time)} valid samples; two are needed to resample it")
    # rounding of the new clock must not put a recorded sample into the adjacent gap
    near = UNIFORM_TOLERANCE * (new[1] - new[0])
    if how == "hold":
        last = np.searchsorted(time, new + near, side="right") - 1
        # before its first value a held channel is unknown
        return values[np.maximum(last, 0)], last >= 0
    # the interval that holds each new time, also beyond the ends
    before = np.clip(np.searchsorted(time, new, side="right") - 1, 0, len(time) - 2)
    on_sample = np.minimum(np.abs(new - time[before]), np.abs(time[before + 1] - new)) <= near
    inside = (new >= time[0] - near) & (new <= time[-1] + near)
    known = inside & ((time[before + 1] - time[before] <= reach) | on_sample)
    if how == "linear":
        return np.interp(new, time, values), known
    from scipy.interpolate import CubicSpline  # slow to import, and a uniform recording needs none

    return np.where(
        known, CubicSpline(time, values)(np.clip(new, time[0], time[-1])), np.interp(new, time, values)
    ), known


def _figures(old: Times, new: NewTimes, rate_hz: float) -> dict[str, Any]:
    """Distance of new samples from recorded ones, and jitter of the old clock. [s]"""
    intervals = np.diff(old)
    jitter = intervals - np.median(intervals)
    after = np.clip(np.searchsorted(old, new), 1, len(old) - 1)
    shift = np.minimum(np.abs(new - old[after - 1]), np.abs(old[after] - new))
    return {
        "rate_hz": rate_hz,
        "samples": len(new),
        "samples_before": len(old),
        "largest_shift_s": float(shift.max()),
        "rms_shift_s": float(np.sqrt(np.mean(shift**2))),
        "largest_jitter_s": float(np.abs(jitter).max()),
        "rms_jitter_s": float(np.sqrt(np.mean(jitter**2))),
    }
