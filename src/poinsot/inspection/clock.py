"""The clock: rate, jitter and gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..estimate import Finding, Severity
from ..recording import UNIFORM_TOLERANCE, Recording, clock_text
from ..signals.resampling import BRIDGED_INTERVALS

LATE_START_S = 1e8
"""A clock that starts later than this (three years) counts from a date. [s]"""

SMALL_JITTER = 0.01
"""Jitter with an rms below this fraction of an interval is a note, above it a warning."""


@dataclass(frozen=True)
class ClockFacts:
    """Facts of the clock.

    Args:
        start_s: the time of the first sample.
        interval_s: the median one. rms_jitter_s, largest_jitter_s: of the intervals that are no gaps, about it.
        gaps_s: (start, stop) of each gap.
    """

    samples: int
    start_s: float
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
    gaps = recording.gaps
    # Gaps are reported by themselves; one of them would hide the jitter of all other intervals.
    jitter = np.delete(intervals, gaps) - median
    return ClockFacts(
        samples=len(recording),
        start_s=float(recording.time[0]),
        duration_s=recording.duration_s,
        rate_hz=1.0 / median,
        interval_s=median,
        rms_jitter_s=float(np.sqrt(np.mean(jitter**2))),
        largest_jitter_s=float(np.max(np.abs(jitter))),
        uniform=recording.is_uniform,
        gaps_s=tuple((float(recording.time[k]), float(recording.time[k + 1])) for k in gaps),
    )


def clock_findings(clock: ClockFacts, even: bool = True) -> list[Finding]:
    """`even`: whether the method needs equal intervals."""
    findings = []
    # Three digits: a median interval of 1.0003 ms belongs to a clock of 1 kHz.
    propose = f"resample_hz = {float(f'{clock.rate_hz:.3g}'):g} under [preprocessing]"
    if clock.gaps_s:
        findings.append(_gaps(clock, propose))
    if clock.largest_jitter_s > UNIFORM_TOLERANCE * clock.interval_s:
        uneven = even and clock.rms_jitter_s > SMALL_JITTER * clock.interval_s
        findings.append(
            Finding(
                "uneven-clock",
                Severity.warning if uneven else Severity.note,
                f"The clock is uneven: intervals of {1e3 * clock.interval_s:.4g} ms vary by up to "
                f"{1e3 * clock.largest_jitter_s:.3g} ms, rms {1e3 * clock.rms_jitter_s:.3g} ms.",
                f"Set {propose}." if even else "",
            )
        )
    if clock.start_s > LATE_START_S:
        findings.append(
            Finding(
                "clock-origin",
                Severity.note,
                f"The clock starts at {clock_text(clock.start_s, clock.interval_s)} s, so it counts from a date.",
                "With start_s = 0 times are easier to read, and window_s and between_s easier to write.",
            )
        )
    return findings


def _gaps(clock: ClockFacts, propose: str) -> Finding:
    """What to do about gaps: bridge short ones by resampling, split the recording at long ones."""
    gaps, interval = clock.gaps_s, clock.interval_s
    one = len(gaps) == 1
    start, stop = max(gaps, key=lambda gap: gap[1] - gap[0])
    intervals = (stop - start) / interval
    a, b = clock_text(start, interval), clock_text(stop, interval)
    place = (
        f"The clock has {'one gap,' if one else f'{len(gaps)} gaps, the longest'} "
        f"from {a} s to {b} s ({intervals:.1f} intervals)."
    )
    remedy = f"Set {propose}, which bridges {'it' if one else 'them'}."
    if intervals > BRIDGED_INTERVALS:
        ends = [clock.start_s, *(after for _, after in gaps), clock.start_s + clock.duration_s]
        parts = [f"[{clock_text(x, interval)}, {clock_text(y, interval)}]" for x, y in pairwise(ends)]
        remedy = (
            f"If nothing happened meanwhile, set {propose} and bridge_intervals = {math.ceil(intervals) + 1}; "
            f"else list the recording {'twice' if one else f'{len(parts)} times'}, with between_s = {parts[0]} and "
            f"{parts[1]}{'' if one else ' and so on'}."
        )
    return Finding("lost-samples", Severity.warning, place, remedy)
