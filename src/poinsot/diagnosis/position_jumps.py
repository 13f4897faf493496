"""Positions that jump: angles wrapped at a turn, single wrong readings, recordings with a hole.

    |step - step of its neighbours| > jump times the largest usual step

of one joint. A jump by a multiple of a turn of what is measured, or of half a turn, is wrapped; one that is taken back
within three samples is a wrong reading; of another the recording has a hole, or the encoder was set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity
from ..recording import Recording
from .check import Cause, RecordingCheck

TURNS = (2 * np.pi, np.pi)
"""Where encoders wrap [rad]; those that count degrees are in radians by now."""


@dataclass(frozen=True)
class PositionJumps(RecordingCheck):
    """Steps of a position that no motion makes.

    Args:
        jump: times the 99.5 % quantile of the joint's steps.
        spread: times the noise of a step, too.
        within: part of a turn by which a wrapped step may miss it.
    """

    jump: float = 4.0
    spread: float = 30.0
    within: float = 0.03

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

    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        time, joints = recording.time, recording.joints("position")
        q = [recording[f"position.{joint}"] for joint in joints]
        jumps = [self._jumps(column) for column in q]
        moving = sum(bool(np.ptp(column) > 0) for column in q)
        # where most joints jump at once nobody set all encoders: samples are missing, unless the clock shows it
        counts = np.bincount(
            np.concatenate([[], *(at for _, at in jumps)]).astype(np.int64), minlength=len(time)
        )
        holes = np.setdiff1d(np.flatnonzero(counts >= max(2, moving / 2)), recording.gaps)
        if len(holes):
            yield Finding(
                "lost-samples",
                Severity.error,
                f"{name.capitalize()} has {'a hole' if len(holes) == 1 else f'{len(holes)} holes'}: most joints jump "
                f"at {time[holes[0] + 1]:.4g} s.",
                "Cut the recording there, into two recordings with between_s; or write time = { column = ... }.",
                evidence=2e4,
            )
        for joint, (e, found) in zip(joints, jumps, strict=True):
            at = np.setdiff1d(found, [*holes, *recording.gaps])
            if not len(at):
                continue
            cause = self._cause(e, at)
            more = f" and {len(at) - 1} more times" if len(at) > 1 else ""
            yield Finding(
                cause,
                Severity.error,
                f"The position of joint {joint} in {name} jumps by {e[at[0]]:.4g} at {time[at[0] + 1]:.4g} s{more}.",
                next(each.advice for each in self.causes if each.name == cause),
                joint,
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
