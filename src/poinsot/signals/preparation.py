"""Steps that all smoothers share: take positions and efforts from a recording; cut, window, decimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import JointSamples
from ..exceptions import InvalidSignals
from ..recording import EFFORTS, Recording, clock_text
from .decimation import PASSBAND, Decimation
from .signals import Signals


def unsmoothed(recording: Recording, method: Any) -> Signals:
    """Copy positions and efforts, checked for filtering; speeds and accelerations are still 0.

    The effort of a joint without a motor may be missing; its column is zero.
    """
    joints, p = positions(recording)
    effort, driven = effort_of(recording)
    check_samples(recording, [f"{effort}.{joint}" for joint in driven])
    # zero is correct for a joint without a motor, and NaN would spread through the decimation
    tau = np.zeros((len(recording), len(joints)))
    tau[:, [joints.index(joint) for joint in driven]] = recording.stack(effort, driven)
    still = np.zeros_like(p)
    return Signals(
        recording.time, joints, p, still, still, tau, effort,
        steps=recording.steps, recording=recording, method=method,
    )  # fmt: skip


def positions(recording: Recording) -> tuple[tuple[str, ...], JointSamples]:
    """The joints with a position, and their positions (T, n), checked by `check_samples`."""
    joints = recording.joints("position")
    if not joints:
        raise InvalidSignals("the recording has no channel named position.<joint>")
    check_samples(recording, [f"position.{joint}" for joint in joints])
    return joints, recording.stack("position", joints)


def check_samples(recording: Recording, names: Sequence[str]) -> None:
    """Raise `InvalidSignals` for unequal steps, or gaps in these channels, which no filter or spectrum accepts."""
    if not recording.is_uniform:
        interval = np.diff(recording.time)
        raise InvalidSignals(
            f"the clock is not uniform (intervals from {1e3 * interval.min():.4g} to {1e3 * interval.max():.4g} ms); "
            "resample first: resample_hz in the project file, poinsot.resample in Python"
        )
    for name in names:
        trusted = recording.mask(name)
        if not trusted.all():
            first = clock_text(recording.time[np.argmin(trusted)], 1 / recording.rate_hz)
            raise InvalidSignals(
                f"channel {name!r} has invalid samples, the first at {first} s, {int((~trusted).sum())} in all: "
                "cut the recording to a part without them (between_s in a project file, Recording.between in Python), "
                "or bridge them (resample_hz and bridge_intervals; poinsot.resample in Python)"
            )


def effort_of(recording: Recording) -> tuple[str, tuple[str, ...]]:
    """Quantity of a recording's efforts, and the joints that have one."""
    efforts = [quantity for quantity in EFFORTS if recording.joints(quantity)]
    if len(efforts) != 1:
        raise InvalidSignals(
            "the recording needs exactly one of torque.<joint>, current.<joint> or voltage.<joint>; "
            f"it has {', '.join(efforts) or 'none'}"
        )
    driven = recording.joints(efforts[0])
    for joint in driven:
        if joint not in recording.joints("position"):
            raise InvalidSignals(f"joint {joint!r} has a {efforts[0]} channel but no position channel")
    return efforts[0], driven


def finish(signals: Signals, edge: int) -> Signals:
    """Cut the edges, keep the window and attach the decimation of `signals.method`; note each among the steps."""
    method = signals.method
    # transients first, in samples of the recording; a window then keeps times, whatever was cut
    if edge:
        why = f"cut {edge / signals.rate_hz:.3g} s ({edge} samples) of filter transient at either end"
        signals = signals.cut(edge, len(signals) - edge, why)
    if method.window_s is not None:
        signals = signals.between(*method.window_s)
    if method.decimate_hz is None:
        return signals
    decimation = Decimation.to_passband(
        method.decimate_hz, signals.rate_hz, order=method.decimation_order, cut_edges=method.cut_edges
    )
    if decimation is None:
        return signals
    new_rate = signals.rate_hz / decimation.factor
    step = (
        f"decimated regressor columns and efforts alike by {decimation.factor} to {new_rate:.4g} Hz "
        f"(Chebyshev I of order {method.decimation_order}, pass-band to {PASSBAND * new_rate / 2:.4g} Hz, forwards and "
        f"backwards; {decimation.edge_rows} rows cut at either end)"
    )
    return replace(signals, decimation=decimation, steps=(*signals.steps, step))
