"""Stretches in which the torque is a constant that it cannot be: zero, the last value, or the end of its range.

A sensor with noise or a fine step does not repeat a reading for long while the robot moves. The model is asked only how
grave zeros are: where it predicts torque, they are wrong however short they last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..signals.signals import Signals
from .case import Examination
from .changes import recordings_of, within
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
        same: part of the range up to which readings count as one value. Splines that resample ring by .27 a sample
            (2 - sqrt 3) into a stretch of zeros: they are this small eleven samples from its ends.
        error: share of the samples that are used; below it is a warning,
        contradicts: and an error nevertheless where they are zero and the model predicts this many times the rms of
            its residuals there.
    """

    shortest_s: float = 0.02
    times: float = 3.0
    moves: float = 0.01
    clipped: float = 0.005
    crowded: float = 3.0
    same: float = 1e-6
    error: float = 0.01
    contradicts: float = 3.0

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

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
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
                    share = float(samples.mean())
                    grave = share >= self.error or (
                        cause == "dropped-torque" and self._contradicted(case, number, signals, dropped)
                    )
                    severity = Severity.error if grave else Severity.warning
                    found = self._finding(signals, number, cause, where, share, severity)
                    yield replace(found, where=within(case.problem, number, found.where))

    def _contradicted(self, case: Examination, number: int, signals: Signals, dropped: np.ndarray) -> bool:
        """Whether a channel reads zero where the model predicts torque of its joint."""
        zero = dropped & (np.abs(signals.tau) <= self.same * np.ptp(signals.tau, axis=0))
        solved = case.declared
        if solved.problem.robot.train.drive.side == "motor" or solved.rows != len(case.time):
            return False  # a motor may drive several joints
        rows = slice(*np.cumsum([0, *case.thin.row_counts])[number - 1 : number + 1])
        names = case.problem.robot.effort_names
        for k in np.flatnonzero(zero.any(axis=0)):
            if (joint := signals.joints[k]) not in names:
                continue
            j = names.index(joint)
            at = np.interp(signals.time[zero[:, k]], case.time[rows], solved.predicted[rows, j])
            if np.sqrt(np.mean(at**2)) > self.contradicts * solved.sigma[j]:
                return True
        return False

    def _stuck(self, signals: Signals, k: int) -> Iterator[tuple[int, int]]:
        """Runs of one value that chance does not make, while the robot moves."""
        tau = signals.tau[:, k]
        least = max(5, int(np.ceil(self.shortest_s * signals.rate_hz)))
        same = self.same * float(np.ptp(tau))
        long = runs(tau, least, same)
        if not long:
            return
        inside = sum(last - first for first, last in long)
        repeated = int(np.count_nonzero(np.abs(np.diff(tau)) <= same)) - (inside - len(long))
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

    def _finding(
        self,
        signals: Signals,
        number: int,
        cause: str,
        where: np.ndarray,
        share: float,
        severity: Severity,
    ) -> Finding:
        joints = ", ".join(np.array(signals.joints)[where.any(axis=0)])
        first = int(np.argmax(where.any(axis=1)))
        k = int(np.argmax(where[first]))
        stop = first + int(np.argmin(np.append(where[first:, k], False)))
        begin, end = float(signals.time[first]), float(signals.time[stop - 1])
        value = float(signals.tau[(first + stop) // 2, k])  # in the middle, where no resampling rings
        if abs(value) <= self.same * float(np.ptp(signals.tau[:, k])):
            value = 0.0
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
        return Finding(cause, severity, message, remedy, joints, evidence=1e4 * share)


def runs(x: np.ndarray, least: int, same: float = 0.0) -> list[tuple[int, int]]:
    """(first, last + 1) of stretches of at least so many values that differ by no more than `same` from the next."""
    ends = np.flatnonzero(np.abs(np.diff(x)) > same) + 1
    edges = np.concatenate([[0], ends, [len(x)]])
    long = np.flatnonzero(np.diff(edges) >= least)
    return [(int(edges[k]), int(edges[k + 1])) for k in long]
