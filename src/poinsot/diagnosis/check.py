"""Check: what it looks for, and what it says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..estimate import Finding, Unchecked
from ..recording import EFFORTS, Recording
from .case import Examination


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
    """A check that needs recordings alone: `inspect` runs it too, before any estimation."""

    of_samples = True

    @abstractmethod
    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        """What it finds in one recording of positions and efforts that are all valid: `case.samples_of`.

        Args:
            name: of the recording, in messages.
            highest_hz: end of the band in which efforts are used.
        """

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        for number, samples in enumerate(case.samples, start=1):
            yield from self.look_at(samples, f"recording {number}", case.highest_hz)


HELD = 0.8
"""Share of samples that repeat the one before from which an effort is a command, renewed now and then."""


def measured_efforts(recording: Recording) -> Iterator[tuple[str, str, np.ndarray]]:
    """Quantity, joint and samples of each effort that changes and is no command."""
    for quantity in EFFORTS:
        for joint in recording.joints(quantity):
            tau = recording[f"{quantity}.{joint}"]
            still = np.diff(tau) == 0
            # a sensor may stay at one value for long, a command does at several
            command = still.mean() > HELD and (quantity == "voltage" or len(np.unique(tau[1:][still])) > 2)
            if np.ptp(tau) > 0 and not command:
                yield quantity, joint, tau
