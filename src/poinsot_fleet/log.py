"""What is read in blocks: a recording on a uniform clock, of which stretches of samples are read."""

from __future__ import annotations

from typing import Protocol

from poinsot.recording import Recording


class BlockLog(Protocol):
    """A log that is longer than memory; it can be pickled, and opens its files where it is used."""

    def __len__(self) -> int:
        """Number of samples."""
        ...

    @property
    def clock(self) -> tuple[float, float]:
        """First stamp [s] and rate [Hz]."""
        ...

    def read(self, first: int, last: int) -> Recording:
        """Samples first <= k < last; `InvalidRecording` if one is missing, or off the clock."""
        ...
