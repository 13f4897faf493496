"""Positions that jump: angles wrapped at a turn, single wrong readings, recordings with a hole.

    |step - step of its neighbours| > jump times the largest usual step

of one joint. A jump by a multiple of a turn of what is measured, or of half a turn, is wrapped; one that is taken back
within three samples is a wrong reading; of another the recording has a hole, or the encoder was set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from .case import Examination
from .changes import recordings_of, within
from .check import Cause, Check

TURNS = (2 * np.pi, np.pi)
"""Where encoders wrap [rad]; those that count degrees are in radians by now."""


@dataclass(frozen=True)
class PositionJumps(Check):
    """Steps of a position that no motion makes.

    Args:
        jump: times the 99.5 % quantile of the joint's steps.
        spread: times the noise of a step, too.
        within: part of a turn by which a wrapped step may miss it.
    """

    jump: float = 4.0
    spread: float = 30.0
    within: float = 0.03

    of_samples = True
    causes = (
        Cause(
            "wrapped-angles", "Angles jump by a turn.", "Unwrap them before, or record multi-turn positions."
        ),
        Cause(
            "position-outliers",
            "Single positions are far from their neighbours.",
            "Mark them invalid (invalid = ...), and bridge them: resample_hz and bridge_intervals.",
        ),
        Cause(
            "position-jump",
            "A position jumps, and stays: the recording has a hole, or the encoder was set again.",
            "Cut the recording there: between_s, or two recordings.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        for number, signals in enumerate(recordings_of(case.problem), start=1):
            if signals.recording is None:
                continue
            q = signals.recording.stack("position", signals.joints)
            time = signals.recording.time
            jumps = [self._jumps(column) for column in q.T]
            moving = sum(bool(np.ptp(column) > 0) for column in q.T)
            # where most joints jump at once nobody set all encoders: samples are missing
            counts = np.bincount(np.concatenate([at for _, at in jumps]), minlength=len(q))
            holes = np.flatnonzero(counts >= max(2, moving / 2))
            if len(holes):
                yield Finding(
                    "lost-samples",
                    Severity.error,
                    f"Recording {number} has {'a hole' if len(holes) == 1 else f'{len(holes)} holes'}: most joints "
                    f"jump at {time[holes[0] + 1]:.4g} s.",
                    "Cut the recording there, into two recordings with between_s; or write time = { column = ... }.",
                    within(case.problem, number),
                    evidence=2e4,
                )
            for joint, (e, found) in zip(signals.joints, jumps, strict=True):
                at = np.setdiff1d(found, holes)
                if not len(at):
                    continue
                cause = self._cause(e, at)
                remedy = next(each.advice for each in self.causes if each.name == cause)
                more = f" and {len(at) - 1} more times" if len(at) > 1 else ""
                yield Finding(
                    cause,
                    Severity.error,
                    f"The position of joint {joint} in recording {number} jumps by {e[at[0]]:.4g} at "
                    f"{time[at[0] + 1]:.4g} s{more}.",
                    remedy,
                    within(case.problem, number, joint),
                    evidence=1e4 + float(np.max(np.abs(e[at]))),
                )

    def _jumps(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(T - 1,) what steps differ from their neighbours' by, and where they jump."""
        s = np.diff(q)
        if len(s) < 50:
            return s, np.zeros(0, dtype=np.int64)
        c = np.zeros_like(s)
        c[2:-2] = np.median([s[:-4], s[1:-3], s[3:-1], s[4:]], axis=0)
        e = s - c
        e[:2], e[-2:] = 0.0, 0.0
        noise = max(float(np.median(np.abs(e))) / 0.6745, float(np.quantile(np.abs(e), 0.95)) / 1.96)
        usual = float(np.quantile(np.abs(s), 0.995))
        return e, np.flatnonzero(np.abs(e) > max(self.jump * usual, self.spread * noise))

    def _cause(self, e: np.ndarray, at: np.ndarray) -> str:
        for turn in TURNS:
            turns = e[at] / turn
            if np.all(np.abs(np.rint(turns)) >= 1) and np.all(np.abs(turns - np.rint(turns)) < self.within):
                return "wrapped-angles"
        for k in at:
            near = e[k : k + 4]
            if abs(near.sum()) > 0.2 * abs(e[k]):
                return "position-jump" if k == at[0] or k - 3 > at[0] else "position-outliers"
        return "position-outliers"
