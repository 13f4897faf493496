"""The voltage of the motor in the driven recordings, between the samples of the encoders.

Commands are messages of their own, stamped on arrival, and hold until the next one. A step of the dynamics has their
mean over it, so nothing of their timing is lost to the encoders' clock.

*A command that was not recorded.* A step is repeated with a period P. In one recording the arm sets off before the
first command in the file, by P less the delay that the others have: the one before it, a period earlier, came before
the recorder had subscribed to them. It is put back.

*Delay.* From a command of a step to the torque some milliseconds pass. The arm sets off between two samples, so each
step says an interval; the delay is the middle of what all of them allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from poinsot import Column, Source, read_recording

from .recordings import DRIVEN, STAMP, VOLTAGE, Angles

RECEIVED = "__time"
MOVED = 1e-5
"""By how much the arm's reading has changed when it has set off [rad]; at rest it does not change at all."""
SOON = 0.05
"""Within this the arm answers a command [s]."""


@dataclass(frozen=True, eq=False)
class Commands:
    """Of one recording, on the clock of its encoders.

    Args:
        times: (M,) of the messages, rising [s].
        volts: (M,) [V].
        restored: how many were not in the file.
    """

    times: Float[np.ndarray, "M"]
    volts: Float[np.ndarray, "M"]
    restored: int = 0

    def held(self, times: Float[np.ndarray, "T"], delay: float = 0.0) -> Float[np.ndarray, "T"]:
        """(T,) the mean voltage from each time to the next, commands late by `delay` [s]; the last goes on."""
        starts = self.times + delay
        ends = np.concatenate([times[1:], times[-1:] + np.diff(times[-2:])])
        edges = np.concatenate([[min(times[0], starts[0]) - 1.0], starts, [max(ends[-1], starts[-1]) + 1.0]])
        integral = np.concatenate([[0.0, 0.0], np.cumsum(self.volts * np.diff(edges[1:]))])
        taken = np.interp(ends, edges, integral) - np.interp(times, edges, integral)
        return np.asarray(taken / (ends - times))


def commands(data: Path, name: str, angles: Angles) -> Commands:
    """The messages of a driven recording.

    Args:
        data: folder of the recordings.
        name: one of `DRIVEN`.
        angles: of the same recording.
    """
    path = data / DRIVEN[name]
    sent = read_recording(
        Source(path, {"voltage.motor": Column(VOLTAGE, "V")}, time=Column(RECEIVED, "s"), require=(VOLTAGE,))
    )
    begin = read_recording(
        Source(path, {"stamp.joints": Column(STAMP, "s")}, time=Column(STAMP, "s"), require=(STAMP,))
    )
    times, volts = sent.time - begin.time[0], sent["voltage.motor"].copy()
    if len(times) > 1 and set_off(angles)[1] < times[0]:
        before = times[0] - (times[1] - times[0])
        return Commands(np.concatenate([[before], times]), np.concatenate([volts[:1], volts]), 1)
    return Commands(times, volts)


def set_off(angles: Angles) -> tuple[float, float]:
    """The last time at which the arm still rested, and the first at which it had moved [s]."""
    first = int(np.argmax(np.abs(angles.arm - angles.arm[0]) > MOVED))
    return float(angles.times[first - 1]), float(angles.times[first])


def delay_of(recordings: Sequence[tuple[Angles, Commands]]) -> tuple[float, float]:
    """The least and the most delay [s] that all steps among the recordings allow; the middle is what we take.

    Commands that begin gently say nothing of it: dry friction holds the arm for longer. Where steps contradict each
    other it is the gap between what they allow.
    """
    intervals = []
    for angles, sent in recordings:
        rest, moved = set_off(angles)
        if abs(sent.volts[0]) < 0.5 * np.abs(sent.volts).max():
            continue
        intervals.append((rest - sent.times[0], moved - sent.times[0]))
    least, most = max(low for low, _ in intervals), min(high for _, high in intervals)
    return (least, most) if least <= most else (most, least)
