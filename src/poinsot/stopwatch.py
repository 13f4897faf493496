"""Seconds by stage, for the record of an estimate or a reproduction."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Stopwatch:
    """Measure the seconds of consecutive stages; the laps of a repeated stage add up.

    >>> watch = Stopwatch()
    >>> watch.lap("read"), watch.lap("solve"), watch.lap("read")
    (None, None, None)
    >>> list(watch.laps), watch.seconds["total"] == sum(watch.laps.values())
    (['read', 'solve'], True)
    """

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Add the time since the last lap to this stage."""
        now = time.perf_counter()
        self.laps[stage] = self.laps.get(stage, 0.0) + now - self._last
        self._last = now

    def beside(self, stages: Mapping[str, float]) -> dict[str, float]:
        """Seconds of this watch's stages, of the stages of another watch that ran in between, and their `total`. [s]"""
        others = {stage: seconds for stage, seconds in stages.items() if stage != "total"}
        return {**self.laps, **others, "total": sum(self.laps.values()) + sum(others.values())}

    @property
    def seconds(self) -> dict[str, float]:
        """The stages and `total`. [s]"""
        return self.beside({})
