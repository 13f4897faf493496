"""Readings that repeat the one before although the joint moves: a bus that polls slowly, a register read too often.

With s_k the step between two samples, and g the smallest step of the channel, steps of 0 are as frequent as those of
+g and -g together over two, if readings are renewed at every sample: the density of steps is smooth. More are stale.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..recording import EFFORTS, Recording
from .case import within
from .cause import Cause
from .check import Check
from .examination import Examination


class StaleSamples(Check):
    """Stale readings of positions and efforts.

    Class variables:
        certain: standard deviations by which repeats must exceed those by rounding.
        around: samples to either side whose mean step says whether a channel moves. moving: in smallest steps.
        least: share of stale readings that is worth a note.
    """

    certain = 5.0
    around = 8
    moving = 2.0
    least = 0.01
    of_samples = True

    causes = (
        Cause(
            "stale-samples",
            "Readings repeat while the joint moves: they are older than their time stamps say.",
            "Log at the rate at which readings are renewed, or write every = ... in [[recordings]] where all are held.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        for number, recording in enumerate(case.samples, start=1):
            for quantity in ("position", *EFFORTS):
                share = [self.share(recording[f"{quantity}.{joint}"]) for joint in recording.joints(quantity)]
                if max(share, default=0.0) >= self.least:
                    yield self._finding(case, number, recording, quantity, np.array(share))

    def share(self, values: np.ndarray) -> float:
        """Share of stale samples among those at which the channel moves."""
        steps = np.diff(values)
        sizes = np.unique(np.abs(steps))
        span = float(np.ptp(values))
        sizes = sizes[sizes > 1e-9 * span]
        if len(sizes) < 3:
            return 0.0
        grid = float(sizes[0])
        window = np.ones(2 * self.around + 1) / (2 * self.around + 1)
        moves = np.convolve(np.abs(steps), window, mode="same") > self.moving * grid
        zero = np.abs(steps[moves]) < 0.5 * grid
        by_rounding = np.count_nonzero(np.abs(steps[moves]) < 1.5 * grid) - np.count_nonzero(zero)
        beyond = np.count_nonzero(zero) - 0.5 * by_rounding
        if not beyond > self.certain * np.sqrt(by_rounding + 1):
            return 0.0
        return float(beyond / max(len(zero), 1))

    def _finding(
        self, case: Examination, number: int, recording: Recording, quantity: str, share: np.ndarray
    ) -> Finding:
        """A warning where readings are older, on average, than a laboratory's delays are."""
        joints = [
            joint for joint, part in zip(recording.joints(quantity), share, strict=True) if part >= self.least
        ]
        most = min(float(share.max()), 0.99)
        age_ms = 1e3 * most / (1 - most) / recording.rate_hz
        late = age_ms > case.problem.accuracy.of("delay_ms")
        whose = "all joints" if len(joints) == len(share) else ", ".join(joints)
        return self.causes[0].finding(
            Severity.warning if late else Severity.note,
            f"The {quantity} of {whose} in recording {number} repeats {100 * most:.2g} % of its readings while it "
            f"changes: readings are {age_ms:.2g} ms old on average.",
            where=within(case.problem, number, "" if len(joints) == len(share) else ", ".join(joints)),
            evidence=1e3 * most,
        )
