"""The clock: rate, jitter and gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..recording import UNIFORM_TOLERANCE, Recording
from .findings import Finding

GAP_INTERVALS = 2.5
"""An interval longer than this many median ones is a gap: at least one sample is missing."""

SMALL_JITTER = 0.01
"""Below this part of an interval, rms, jitter is only worth a note."""


@dataclass(frozen=True)
class ClockFacts:
    """How even a clock is.

    Args:
        interval_s: the median one. rms_jitter_s, largest_jitter_s: of the intervals that are no gaps, about it.
        gaps_s: (start, stop) of each gap.
    """

    samples: int
    duration_s: float
    rate_hz: float
    interval_s: float
    rms_jitter_s: float
    largest_jitter_s: float
    uniform: bool
    gaps_s: tuple[tuple[float, float], ...]


def clock_facts(recording: Recording) -> ClockFacts:
    intervals = np.diff(recording.time)
    median = float(np.median(intervals))
    gaps = np.flatnonzero(intervals > GAP_INTERVALS * median)
    jitter = np.delete(intervals, gaps) - median
    return ClockFacts(
        samples=len(recording),
        duration_s=recording.duration_s,
        rate_hz=1.0 / median,
        interval_s=median,
        rms_jitter_s=float(np.sqrt(np.mean(jitter**2))),
        largest_jitter_s=float(np.max(np.abs(jitter))),
        uniform=recording.is_uniform,
        gaps_s=tuple((float(recording.time[k]), float(recording.time[k + 1])) for k in gaps),
    )


def clock_findings(clock: ClockFacts) -> list[Finding]:
    findings = []
    propose = f"set resample_hz = {float(f'{clock.rate_hz:.3g}'):g} under [preprocessing]"
    if clock.gaps_s:
        start, stop = max(clock.gaps_s, key=lambda gap: gap[1] - gap[0])
        count = "one gap" if len(clock.gaps_s) == 1 else f"{len(clock.gaps_s)} gaps"
        findings.append(
            Finding(
                "warning", None,
                f"The clock has {count}, the longest from {start:.6g} s to {stop:.6g} s "
                f"({(stop - start) / clock.interval_s:.1f} intervals): "
                f"cut the recording there with window_s, or {propose}.",
            )
        )  # fmt: skip
    if clock.largest_jitter_s > UNIFORM_TOLERANCE * clock.interval_s:
        findings.append(
            Finding(
                "warning" if clock.rms_jitter_s > SMALL_JITTER * clock.interval_s else "note", None,
                f"The clock is uneven: intervals of {1e3 * clock.interval_s:.4g} ms vary by up to "
                f"{1e3 * clock.largest_jitter_s:.3g} ms, rms {1e3 * clock.rms_jitter_s:.3g} ms: {propose}.",
            )
        )  # fmt: skip
    return findings
