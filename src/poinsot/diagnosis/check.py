"""Check: what it looks for, and what it says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..estimate import Finding, Unchecked
from ..recording import EFFORTS, Recording
from ..regression.inverse_dynamics import Part
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
        """What it finds in one recording whose samples are all valid, by `samples_of`.

        Args:
            name: of the recording, in messages.
            highest_hz: end of the band in which efforts are used.
        """

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        for number, part in enumerate(case.problem.parts, start=1):
            yield from self.look_at(recorded(part), f"recording {number}", case.highest_hz)


def recorded(part: Part) -> Recording:
    """The samples that signals were made of; if the recording was not kept, smoothed positions beside the efforts."""
    signals, passive = part.signals, part.robot.drive.passive
    if (recording := signals.recording) is not None:
        used = recording.between(float(signals.time[0]), float(signals.time[-1]) + 1 / signals.rate_hz)
        return samples_of(used, passive)
    channels: dict[str, np.ndarray] = {}
    for k, joint in enumerate(signals.joints, start=-len(signals.joints)):  # a floating base comes first
        channels |= {f"position.{joint}": signals.q[:, k], f"{signals.effort}.{joint}": signals.tau[:, k]}
    return samples_of(Recording(signals.time, channels, dict.fromkeys(channels, "1")), passive)


def samples_of(recording: Recording, passive: Sequence[str] = ()) -> Recording:
    """Positions and efforts, those of joints without a motor left out; lines in place of samples that are not valid."""
    channels = {}
    for name, values in recording.channels.items():
        quantity, _, joint = name.partition(".")
        mask = recording.mask(name)
        if (quantity == "position" or (quantity in EFFORTS and joint not in passive)) and mask.any():
            known = values if mask.all() else np.interp(recording.time, recording.time[mask], values[mask])
            channels[name] = known
    return replace(
        recording,
        channels=channels or {"": recording.time},
        units=dict.fromkeys(channels or [""], "1"),
        valid={},
    )


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
