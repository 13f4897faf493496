"""Stretches in which the torque is a constant that it cannot be: zero, the last value, or the end of its range.

No model is asked: a sensor with noise or a fine step does not repeat a reading for long while the robot moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..signals.signals import Signals
from .case import Case
from .changes import recordings_of
from .check import Cause, Check


@dataclass(frozen=True)
class DroppedTorque(Check):
    """Runs of one value.

    Args:
        shortest_s: of a run [s].
        times: longer than the longest run that repeated readings make by chance, by this factor. With p the share of
            readings that repeat the one before, N of them make a run of log N / log(1/p) once.
        moves: part of a joint's range that some joint must move by during the run, so that it does not stand still.
        clipped: share of the samples at the largest (or smallest) value, and
        crowded: how many times as many as lie within 2 % of the range beside it.
        error: share of the samples; below it is a warning.
    """

    shortest_s: float = 0.02
    times: float = 3.0
    moves: float = 0.01
    clipped: float = 0.005
    crowded: float = 3.0
    error: float = 0.01

    of_samples = True
    causes = (
        Cause(
            "dropped-torque",
            "The torque is zero, or stays at one value, while the robot moves.",
            "Cut the stretch out: between_s, or two recordings.",
        ),
        Cause(
            "saturation",
            "The torque stays at the end of its range.",
            "Cut the stretch out, or widen the sensor's range: what is beyond was not recorded.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding | Unchecked]:
        for number, signals in enumerate(recordings_of(case.problem), start=1):
            driven = [
                k for k, joint in enumerate(signals.joints) if joint not in case.problem.robot.drive.passive
            ]
            dropped = np.zeros((len(signals), len(signals.joints)), dtype=bool)
            saturated = dropped.copy()
            for k in driven:
                for first, last in self._stuck(signals, k):
                    dropped[first:last, k] = True
                saturated[:, k] = self._clipped(signals.tau[:, k])
            # a run at the end of the range is cut there, and not dropped, if the range ends there often
            dropped &= ~saturated
            for cause, where in (("dropped-torque", dropped), ("saturation", saturated)):
                samples = where.any(axis=1)
                if samples.any():
                    yield self._finding(signals, number, cause, where, float(samples.mean()))

    def _stuck(self, signals: Signals, k: int) -> Iterator[tuple[int, int]]:
        """Runs of one value that chance does not make, while the robot moves."""
        tau = signals.tau[:, k]
        least = max(5, int(np.ceil(self.shortest_s * signals.rate_hz)))
        long = runs(tau, least)
        if not long:
            return
        inside = sum(last - first for first, last in long)
        repeated = int(np.count_nonzero(np.diff(tau) == 0)) - (inside - len(long))
        p = min(max(repeated / max(len(tau) - inside, 1), 1e-3), 0.999)
        chance = np.log(max(len(tau), 10)) / np.log(1 / p)
        ranges = np.ptp(signals.q, axis=0)
        for first, last in long:
            moved = np.ptp(signals.q[first:last], axis=0)
            if last - first > self.times * chance and np.any(moved > self.moves * ranges):
                yield first, last

    def _clipped(self, tau: np.ndarray) -> np.ndarray:
        """(T,) samples at an end of the range where more of them crowd than beside it."""
        at_end = np.zeros(len(tau), dtype=bool)
        span = float(np.ptp(tau))
        for end in (float(tau.min()), float(tau.max())):
            here = np.abs(tau - end) <= 1e-6 * span
            beside = (np.abs(tau - end) <= 0.02 * span) & ~here
            if here.mean() > self.clipped and here.sum() > self.crowded * beside.sum():
                at_end |= here
        return at_end

    def _finding(self, signals: Signals, number: int, cause: str, where: np.ndarray, share: float) -> Finding:
        joints = ", ".join(np.array(signals.joints)[where.any(axis=0)])
        first = int(np.argmax(where.any(axis=1)))
        k = int(np.argmax(where[first]))
        stop = first + int(np.argmin(np.append(where[first:, k], False)))
        begin, end = float(signals.time[first]), float(signals.time[stop - 1])
        value = float(signals.tau[first, k])
        if cause == "saturation":
            message = (
                f"The torque of {joints} in recording {number} stays at the end of its range for {100 * share:.2g} "
                f"% of the time, first at {begin:.4g} s ({value:.3g})."
            )
            remedy = "Cut these stretches out with between_s, or widen the range of the sensor."
        else:
            message = (
                f"The torque of {joints} in recording {number} stays at one value for {100 * share:.2g} % of the time "
                f"while the robot moves: {value:.3g} from {begin:.4g} to {end:.4g} s."
            )
            remedy = (
                f"Cut the stretch out: between_s = [{signals.time[0]:.4g}, {begin:.4g}], and a second recording from "
                f"{end:.4g} s on."
            )
        severity = Severity.error if share >= self.error else Severity.warning
        return Finding(cause, severity, message, remedy, joints, evidence=1e4 * share)


def runs(x: np.ndarray, least: int) -> list[tuple[int, int]]:
    """(first, last + 1) of stretches of at least so many equal values."""
    ends = np.flatnonzero(np.diff(x) != 0) + 1
    edges = np.concatenate([[0], ends, [len(x)]])
    long = np.flatnonzero(np.diff(edges) >= least)
    return [(int(edges[k]), int(edges[k + 1])) for k in long]
