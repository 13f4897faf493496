"""Samples that were lost without a clock that would show it: steps of position that fit two periods better than one.

With s_k the step of the positions at k and the mean step c_k of its neighbours, a step over m periods is near m c_k:

    2 log likelihood ratio = (|s_k - c_k|^2 - |s_k - m c_k|^2) / sigma^2,  summed over joints, each with its own noise

sigma^2 is the robust variance of s_k - c_k, so that a joint whose noise hides its steps counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..recording import Recording, clock_text
from .case import Examination
from .check import Cause, RecordingCheck


@dataclass(frozen=True)
class LostSamples(RecordingCheck):
    """Steps of position over more than one period.

    Args:
        ratio: 2 log likelihood ratio of one step, at least; among a million steps, noise makes less than one.
        error: share of the samples.
    """

    ratio: float = 40.0
    error: float = 1e-3

    causes = (
        Cause(
            "lost-samples",
            "Samples are missing, and there is no clock that would show where: speeds and accelerations are wrong.",
            "Record a time stamp with each sample and name it: time = { column = ... }.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        yield from super().look(case)
        for number, part in enumerate(case.problem.parts, start=1):
            if part.signals.recording is None:
                yield Unchecked(
                    f"lost samples in recording {number}",
                    "signals were given, not the recording they were made of",
                )

    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        at, count = lost_at(recording, self.ratio)
        if not len(at):
            return
        share = count / len(recording)
        first = clock_text(recording.time[at[0]], 1 / recording.rate_hz)
        yield Finding(
            "lost-samples",
            Severity.error if share >= self.error else Severity.warning,
            f"About {count} samples ({100 * share:.2g} %) are missing in {name}, the first at {first} s: positions "
            "move by several periods in one.",
            "Record a time stamp with each sample, and write time = { column = ... } in place of rate_hz; or cut a "
            "part without gaps with between_s.",
            evidence=1e5 * share,
        )


def lost_at(recording: Recording, least: float) -> tuple[np.ndarray, int]:
    """Indices of the samples after which some are missing, and how many these are in all."""
    joints = recording.joints("position")
    found = steps(recording.stack("position", joints)) if joints else None
    if found is None:
        return np.zeros(0, dtype=np.int64), 0
    s, c, sigma = found
    one = np.sum(((s - c) / sigma) ** 2, axis=1)
    # the number of periods that fits best, at least 2
    m = np.rint(np.sum(s * c / sigma**2, axis=1) / np.maximum(np.sum((c / sigma) ** 2, axis=1), 1e-300))
    m = np.maximum(m, 2.0)
    more = np.sum(((s - m[:, None] * c) / sigma) ** 2, axis=1)
    at = np.flatnonzero((one - more > least) & (more < 0.25 * one) & (m <= LONGEST))
    # where a clock shows the gap, speeds are right
    periods = np.diff(recording.time) / np.median(np.diff(recording.time))
    at = at[periods[at] < 0.75 * m[at]]
    # a motion that sets off has steps as large on one side: the second largest of the neighbours
    beside = np.sort(np.abs(s[at[:, None] + [-2, -1, 1, 2]] / sigma), axis=1)[:, 2]
    at = at[np.sum((s[at] / sigma) ** 2, axis=1) > 1.5**2 * np.sum(beside**2, axis=1)]
    return at, int(np.sum(m[at] - 1))


LONGEST = 50
"""Periods that one step may be of: beyond, the speed has changed too much to tell."""


def steps(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(T - 1, n) steps of positions, those of neighbours, and (n,) noise; None of too few, or where nothing moves.

    The median of the neighbours up to two away on either side: a gap spoils their mean.
    """
    s = np.diff(q, axis=0)
    if len(s) < 50:
        return None
    c = np.zeros_like(s)
    c[2:-2] = np.median([s[:-4], s[1:-3], s[3:-1], s[4:]], axis=0)
    s[:2], s[-2:] = 0.0, 0.0
    e = s - c
    # a resolution of the encoder is noise too, and where most samples stand still the median is zero
    sigma = np.maximum(np.median(np.abs(e), axis=0) / 0.6745, np.quantile(np.abs(e), 0.95, axis=0) / 1.96)
    moving = sigma > 0
    return (s[:, moving], c[:, moving], sigma[moving]) if moving.any() else None
