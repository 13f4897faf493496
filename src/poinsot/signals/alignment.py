"""Alignment: channels that lag behind the others are brought forward, y(t) <- y(t + delay).

A delay of whole samples moves values; a part of a sample is taken from a cubic spline. What the shift leaves without
a value at either end is cut from all channels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.interpolate import CubicSpline

from ..exceptions import ChannelNotFound, InvalidSignals
from ..recording import Recording

ROUNDING = 1e-6
"""Times that differ by less than this part of an interval are the same."""


def align(recording: Recording, delays: Mapping[str, float]) -> Recording:
    """The recording with delayed channels brought forward.

    Args:
        recording: any.
        delays: channel (`torque.elbow`) or quantity (`torque`) -> by how much it lags [s]; negative: it leads.

    Raises:
        ChannelNotFound: if there is no such channel or quantity.
        InvalidSignals: if the delay is no number, or leaves nothing of the recording.
    """
    seconds = _by_channel(recording, delays)
    if not seconds or not any(seconds.values()):
        return recording
    time = recording.time
    near = ROUNDING * float(np.median(np.diff(time)))
    late, early = max(0.0, *seconds.values()), min(0.0, *seconds.values())
    kept = (time + late <= time[-1] + near) & (time + early >= time[0] - near)
    if kept.sum() < 2:
        raise InvalidSignals(f"a delay of {late - early:g} s leaves nothing of {recording.duration_s:g} s")
    channels = {name: values[kept] for name, values in recording.channels.items()}
    valid = {name: mask[kept] for name, mask in recording.valid.items()}
    for name, delay in seconds.items():
        at = np.clip(time[kept] + delay, time[0], time[-1])
        after = np.minimum(np.searchsorted(time, at - near), len(time) - 1)
        before = np.where(time[after] - at <= near, after, after - 1)
        trusted = recording.mask(name)
        spline = CubicSpline(time[trusted], recording[name][trusted])
        channels[name] = np.where(before == after, recording[name][before], spline(at))
        if name in recording.valid:
            valid[name] = trusted[before] & trusted[after]
    cut = len(recording) - int(kept.sum())
    said = ", ".join(f"{name} by {1e3 * delay:g} ms" for name, delay in delays.items())
    steps = [*recording.metadata.get("steps", ()), f"brought forward {said}; {cut} samples cut at the ends"]
    return Recording(time[kept], channels, recording.units, valid, {**recording.metadata, "steps": steps})


def _by_channel(recording: Recording, delays: Mapping[str, float]) -> dict[str, float]:
    """Delay of each delayed channel; a channel's own wins over its quantity's."""
    seconds: dict[str, float] = {}
    for name, delay in sorted(delays.items(), key=lambda item: item[0] in recording.channels):
        if not np.isfinite(delay):
            raise InvalidSignals(f"the delay of {name!r} must be a number of seconds, not {delay}")
        found = (
            [name] if name in recording.channels else [f"{name}.{joint}" for joint in recording.joints(name)]
        )
        if not found:
            raise ChannelNotFound(name, recording.channels)
        seconds |= dict.fromkeys(found, float(delay))
    return seconds
