"""Check: what it looks for, and what it says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ..estimate import Finding, Unchecked
from ..recording import Recording
from .case import Examination, recordings_of


@dataclass(frozen=True)
class Cause:
    """An entry of the page on trust.

    Args:
        name: as in findings. means: what is wrong then. advice: what to do.
    """

    name: str
    means: str
    advice: str


class Check(ABC):
    """Looks for one thing that makes a result wrong or less certain than it looks.

    Class variables:
        causes: what its findings may name.
        of_samples: whether it finds single samples or stretches that are wrong. While these are in the data nothing
            can be said about alignment, scale and fit.
    """

    causes: ClassVar[tuple[Cause, ...]]
    of_samples: ClassVar[bool] = False

    @abstractmethod
    def look(self, case: Examination) -> Iterable[Finding | Unchecked]:
        """What it finds, and what it could not check."""


class RecordingCheck(Check):
    """A check of the positions of single recordings, whatever the family of the estimate."""

    of_samples = True

    def look(self, case: Examination) -> Iterable[Finding | Unchecked]:
        for number, signals in enumerate(recordings_of(case.problem), start=1):
            if signals.recording is not None:
                yield from self.look_at(signals.recording, signals.joints, number)
            else:
                what = f"lost samples and jumps in recording {number}"
                yield Unchecked(what, "signals were given, not the recording they were made of")

    @abstractmethod
    def look_at(self, recording: Recording, joints: tuple[str, ...], number: int) -> Iterable[Finding]:
        """What it finds in the positions of these joints in a recording of this number."""
