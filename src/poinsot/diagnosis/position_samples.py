"""Impossible steps of positions: lost samples, wrapped angles, outliers, gaps.

With s_k the step of the positions at k and the mean step c_k of its neighbours, a step over m periods is near m c_k:

    2 log likelihood ratio = (|s_k - c_k|^2 - |s_k - m c_k|^2) / sigma^2,  summed over joints, each with its own noise

sigma^2 is the robust variance of s_k - c_k, so that a joint with noise above its steps has no weight. Samples were
lost, without a gap of the time stamps, where two periods fit better than one. One joint jumps where

    |s_k - c_k| > jump times the largest usual step

A jump by a multiple of a turn of the measured angle, or of half a turn, is wrapping; one that is reversed within three
samples is an outlier; any other is a gap of the recording, or the encoder was reset.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..recording import Recording, clock_text
from ..statistics import NORMAL_MEDIAN
from .cause import Cause
from .check import RecordingCheck
from .examination import Examination
from .outliers import RETURNS

TURNS = (2 * np.pi, np.pi)
"""Angles at which encoders wrap [rad]; degrees are already converted."""

RARE = 5.0
"""Standard deviations of the usual step of all joints together from which one has another cause."""
LONGEST = 50
"""Largest number of periods of one step: beyond, the speed has changed too much to determine it."""

LOST = Cause(
    "lost-samples",
    "Samples are missing without a gap of the time stamps: speeds and accelerations are wrong.",
    "Record a time stamp with each sample, and write time = { column = ... } in place of rate_hz; or select a part "
    "without gaps with between_s.",
)


def steps(recording: Recording) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(T - 1, n) steps of positions, steps of their neighbours, (n,) noise; None if positions are too few or missing.

    The neighbours' step is the median over up to two on either side: a gap would corrupt their mean.
    """
    joints = recording.joints("position")
    if not joints or len(recording) <= 50:
        return None
    s = np.diff(recording.stack("position", joints), axis=0)
    c = s.copy()
    pairs = (s[:-4], s[1:-3]), (s[3:-1], s[4:])
    # between the larger of the smaller and the smaller of the larger: sorting takes ten times as long
    low, high = (np.minimum(*pair) for pair in pairs), (np.maximum(*pair) for pair in pairs)
    c[2:-2] = 0.5 * (np.maximum(*low) + np.minimum(*high))
    half, most = np.quantile(np.abs(s - c), (0.5, 0.95), axis=0)
    # the encoder's resolution is noise too, and where most samples stand still the median is zero
    return s, c, np.maximum(half / NORMAL_MEDIAN, most / 1.96)


UNWRAP = 'Write wraps = 6.283185307179586 beside unit = "rad" of the positions, or 360 beside "deg".'
"""Remedy of angles that jump by a turn."""


class LostSamples(RecordingCheck):
    """Steps of position over more than one period.

    Class variables:
        ratio: 2 log likelihood ratio of one step, at least; among a million steps, noise makes less than one.
        error: share of the samples.
    """

    ratio = 40.0
    error = 1e-3

    causes = (LOST,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        yield from super().look(case)
        for number, part in enumerate(case.problem.parts, start=1):
            if part.signals.recording is None:
                yield Unchecked(
                    f"lost samples in recording {number}", "signals were given without the recording"
                )

    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        at, count = lost_at(recording, self.ratio)
        if not len(at):
            return
        share = count / len(recording)
        first = clock_text(recording.time[at[0]], 1 / recording.rate_hz)
        yield LOST.finding(
            Severity.error if share >= self.error else Severity.warning,
            f"About {count} samples ({100 * share:.2g} %) are missing in {name}, the first at {first} s: positions "
            "move by the steps of several periods in one.",
            evidence=1e5 * share,
        )


def lost_at(recording: Recording, least: float) -> tuple[np.ndarray, int]:
    """Indices of the samples after which others are missing, and the number of missing samples."""
    found = steps(recording)
    if found is None or not (moving := found[2] > 0).any():
        return np.zeros(0, dtype=np.int64), 0
    s, c, sigma = (array[..., moving] for array in found)
    s[:2], s[-2:], c[:2], c[-2:] = 0.0, 0.0, 0.0, 0.0
    one = np.sum(((s - c) / sigma) ** 2, axis=1)
    # the number of periods that fits best, at least 2
    size = np.sum((c / sigma) ** 2, axis=1)
    periods_moved = np.sum(s * c / sigma**2, axis=1) / np.maximum(size, 1e-300)
    m = np.maximum(np.rint(periods_moved), 2.0)
    more = np.sum(((s - m[:, None] * c) / sigma) ** 2, axis=1)
    at = np.flatnonzero((one - more > least) & (more < 0.25 * one) & (m <= LONGEST))
    # readings of all joints may be now younger, now older than their row
    usual = periods_moved[size > np.median(size)]
    jitter = float(np.median(np.abs(usual - 1))) / NORMAL_MEDIAN if len(usual) else 0.0
    at = at[m[at] - 1 > RARE * jitter]
    # where time stamps have the gap, speeds are right
    periods = np.diff(recording.time) / np.median(np.diff(recording.time))
    at = at[periods[at] < 0.75 * m[at]]
    # a repeat beside a double step is one reading that came late, and a step that is taken back is an outlying one
    repeats = np.pad((s == 0).all(axis=1), 1)
    back = [
        np.sum(((s[at] + s[at + i] - 2 * c[at]) / sigma) ** 2, axis=1) < RETURNS**2 * one[at] for i in (-1, 1)
    ]
    at = at[~(repeats[at] | repeats[at + 2] | back[0] | back[1])]
    # when a motion starts, steps on one side are as large: compare with the second largest of the neighbours
    beside = np.sort(np.abs(s[at[:, None] + [-2, -1, 1, 2]] / sigma), axis=1)[:, 2]
    at = at[np.sum((s[at] / sigma) ** 2, axis=1) > 1.5**2 * np.sum(beside**2, axis=1)]
    # in an impact the speed jumps, too: some step before is as long as one after only where samples are missing
    pairs = [np.sum(((s[at - i] - s[at + j]) / sigma) ** 2, axis=1) for i in (1, 2) for j in (1, 2)]
    at = at[np.min(pairs, axis=0) < 0.1 * one[at] + s.shape[1]]
    return at, int(np.sum(m[at] - 1))


class PositionJumps(RecordingCheck):
    """Impossible steps of a position.

    Class variables:
        jump: times the 99.5 % quantile of the joint's steps.
        spread: times the noise of a step, too.
        within: part of a turn by which a wrapped step may miss it.
    """

    jump = 4.0
    spread = 30.0
    within = 0.03

    causes = (
        Cause(
            "wrapped-angles",
            "Angles jump by a turn.",
            UNWRAP,
        ),
        Cause(
            "position-outliers",
            "Single positions are far from their neighbours.",
            'If one number stands for errors, write missing = [it] beside the columns, invalid = "mask" in '
            "[[recordings]], and resample_hz in [preprocessing], which interpolates them.",
        ),
        Cause(
            "position-jump",
            "A position jumps permanently: the recording has a gap, or the encoder was reset.",
            "Split the recording there: between_s, or two recordings.",
        ),
    )

    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        if (found := steps(recording)) is None:
            return
        s, c, noise = found
        e, time = s - c, recording.time
        usual = np.quantile(np.abs(s), 0.995, axis=0)
        jumps = np.abs(e) > np.maximum(self.jump * usual, self.spread * noise)
        # most joints jump at once where samples are missing, unless time stamps have the gap; a reset is of one encoder
        most = max(2.0, np.count_nonzero(np.any(s != 0, axis=0)) / 2)
        holes = np.setdiff1d(np.flatnonzero(jumps.sum(axis=1) >= most), recording.gaps)
        if len(holes):
            yield LOST.finding(
                Severity.error,
                f"{name.capitalize()} has {'a gap' if len(holes) == 1 else f'{len(holes)} gaps'}: most joints jump "
                f"at {time[holes[0] + 1]:.4g} s.",
                "Split it there into two recordings with between_s; or write time = { column = ... }.",
                evidence=2e4,
            )
        for k, joint in enumerate(recording.joints("position")):
            at = np.setdiff1d(np.flatnonzero(jumps[:, k]), [*holes, *recording.gaps])
            if not len(at):
                continue
            more = f" and {len(at) - 1} more times" if len(at) > 1 else ""
            step = e[at[0], k]
            yield self._cause(e[:, k], at).finding(
                Severity.error,
                f"The position of joint {joint} in {name} jumps by {step:.4g} at {time[at[0] + 1]:.4g} s{more}.",
                where=joint,
                evidence=1e4 + float(np.max(np.abs(e[at, k]))),
            )

    def _cause(self, e: np.ndarray, at: np.ndarray) -> Cause:
        wrapped, outliers, jump = self.causes
        for turn in TURNS:
            turns = e[at] / turn
            if np.all(np.abs(np.rint(turns)) >= 1) and np.all(np.abs(turns - np.rint(turns)) < self.within):
                return wrapped
        for k in at:
            near = e[k : k + 4]
            if abs(near.sum()) > 0.2 * abs(e[k]):
                return jump if k == at[0] or k - 3 > at[0] else outliers
        return outliers
