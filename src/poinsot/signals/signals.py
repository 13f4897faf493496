"""Signals: q, v, a and tau on one uniform clock, with standard deviations.

Steps that all smoothers share: take positions and efforts from a recording; cut, window, decimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Brief, JointSamples, Times
from ..exceptions import InvalidSignals
from ..recording import EFFORTS, Recording, clock_text, window_indices
from .decimation import PASSBAND, Decimation


@dataclass(frozen=True, eq=False, repr=False)
class Signals(Brief):
    """Smoothed motion and raw effort.

    Args:
        time: (T,) uniform [s].
        joints: names of the columns of q, v, a, tau, as in the recording.
        q: (T, nq) positions [rad] or [m]; for a floating base Pinocchio's configuration.
        v: (T, n) velocities.
        a: (T, n) accelerations.
        tau: (T, n) efforts as recorded [N m], [N], [A] or [V]; not smoothed, since `decimation` filters them.
        effort: the quantity in `tau`: `torque`, `current` or `voltage`.
        q_std, v_std, a_std: (n,) or (T, n) standard deviations, where the method gives them.
        decimation: the filter to apply to regressor columns and efforts alike; None: none.
        steps: processing steps, one sentence each.
        warnings: sentences to read before using the signals.
        recording, method: recording and method that they were computed from; None where unknown.
    """

    time: Times
    joints: tuple[str, ...]
    q: np.ndarray
    v: JointSamples
    a: JointSamples
    tau: JointSamples
    effort: str = "torque"
    q_std: np.ndarray | None = None
    v_std: np.ndarray | None = None
    a_std: np.ndarray | None = None
    decimation: Decimation | None = None
    steps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    recording: Recording | None = None
    method: Any = None

    def __post_init__(self) -> None:
        T = len(self.time)
        for name in ("q", "v", "a", "tau"):
            array = np.asarray(getattr(self, name), dtype=float)
            if array.ndim != 2 or len(array) != T:
                raise InvalidSignals(f"{name} has shape {array.shape}; the clock has {T} samples")
            if not np.isfinite(array).all():
                row = int(np.argmin(np.isfinite(array).all(axis=1)))
                raise InvalidSignals(f"{name} is not finite at sample {row}")
            # frozen: the only way to keep the converted array
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def rate_hz(self) -> float:
        return (len(self.time) - 1) / float(self.time[-1] - self.time[0])

    def between(self, start_s: float, stop_s: float) -> Signals:
        """The samples with start <= time < stop. [s]"""
        first, last = window_indices(self.time, start_s, stop_s)
        return self.cut(
            first, last, f"kept {start_s:.15g} s to {stop_s:.15g} s: {last - first} of {len(self)} samples"
        )

    def cut(self, first: int, last: int, why: str) -> Signals:
        """The samples first <= k < last; `why` is added to the steps."""
        rows = slice(first, last)
        arrays = {name: getattr(self, name)[rows] for name in ("time", "q", "v", "a", "tau")}
        for name in ("q_std", "v_std", "a_std"):
            # (n,) applies to all samples, (T, n) has one row per sample
            std = getattr(self, name)
            arrays[name] = std[rows] if std is not None and std.ndim == 2 else std
        return replace(self, **arrays, steps=(*self.steps, why))


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
