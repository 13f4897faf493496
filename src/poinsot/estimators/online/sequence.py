"""Samples of several recordings on one clock, in the order in which a filter processes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .belief import Sample


@dataclass(frozen=True, eq=False)
class RecordedSample:
    """A sample, and where it is from.

    Args:
        sample: on the filter's clock, which runs on from one recording to the next.
        recording: name of its recording. time: on the recording's own clock [s].
    """

    sample: Sample
    recording: str
    time: float


def in_sequence(
    recordings: Iterable[tuple[str, Iterable[Sample]]], pause_s: float = 1.0
) -> Iterator[RecordedSample]:
    """Samples of all recordings, one recording after the other.

    Args:
        recordings: name and samples of each.
        pause_s: time from the last sample of one to the first of the next on the filter's clock [s].
    """
    now: float | None = None
    for name, samples in recordings:
        later: float | None = None
        for sample in samples:
            if later is None:
                later = 0.0 if now is None else now + pause_s - sample.time
            now = sample.time + later
            yield RecordedSample(replace(sample, time=now), name, sample.time)
