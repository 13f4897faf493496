"""Signals: q, v, a and tau on one uniform clock, with standard deviations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Brief, JointSamples, Times
from ..exceptions import InvalidSignals
from ..recording import Recording, window_indices
from .decimation import Decimation


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
