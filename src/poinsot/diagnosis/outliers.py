"""Single torque readings that cannot be: far from both neighbours, before any filter smears them.

r_k = tau_k - (tau_{k-1} + tau_{k+1}) / 2. What a filter passes on of a spike of height h has the energy h^2 times its
share of the band; an outlier is an error where that is more than the residuals of the rest have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity
from ..recording import Recording
from .check import Cause, RecordingCheck, measured_efforts


@dataclass(frozen=True)
class Outliers(RecordingCheck):
    """Spikes of the raw torque.

    Args:
        spread: a spike is further from its neighbours than this many times the 95 % quantile of |r|; of normal noise
            that is 20 standard deviations, and drives that switch directions stay below.
        warning, error: energy that spikes leave in the rows, relative to that of the torque, where the residual of a
            good fit is about .001: as large as that, or ten times as much.
    """

    spread: float = 10.0
    warning: float = 1e-3
    error: float = 1e-2

    causes = (
        Cause(
            "outliers",
            "Single torque readings are far from their neighbours.",
            "Mark them invalid (invalid = ... in the recording), and bridge them: resample_hz and bridge_intervals.",
        ),
    )

    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        band = min(1.0, 2 * highest_hz / recording.rate_hz)
        time = recording.time
        for effort, joint, tau in measured_efforts(recording):
            r = np.abs(tau[1:-1] - 0.5 * (tau[:-2] + tau[2:]))
            if len(r) < 100:
                continue
            usual = max(float(np.quantile(r, 0.95)), 1e-9 * float(np.abs(tau).max()))
            at = np.flatnonzero(r > self.spread * usual)
            if not len(at):
                continue
            rest = np.delete(tau, np.unique(np.concatenate([at, at + 1, at + 2])))
            energy = float(np.sum(r[at] ** 2) * band / max(np.sum(rest**2), 1e-300))
            if energy < self.warning:
                continue
            worst = int(at[np.argmax(r[at])]) + 1
            count = readings(at)
            yield Finding(
                "outliers",
                Severity.error if energy >= self.error else Severity.warning,
                f"{count} {effort} reading{'s' * (count > 1)} of joint {joint} in {name} cannot be: {tau[worst]:.3g} "
                f"at {time[worst]:.4g} s; 95 % of all differ from their neighbours by less than {usual:.2g}.",
                "Mark them with invalid = ... in the recording and bridge them with resample_hz and "
                "bridge_intervals, or cut them out with between_s.",
                joint,
                evidence=1e3 * min(energy, 1e3),
            )


def readings(at: np.ndarray) -> int:
    """How many readings are wrong, of indices where r is large: a spike shows in both its neighbours too."""
    lengths = [len(run) for run in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)]
    return sum(length - 2 if length > 2 else length for length in lengths)
