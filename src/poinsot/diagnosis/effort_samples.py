"""Impossible torque readings: constant intervals (zero, the last value, or the end of the range).

A sensor with noise or a fine resolution does not repeat a reading for long while the robot moves. The model only
decides the severity of zeros: where it predicts torque, they are wrong however short they last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..recording import EFFORTS, Recording
from .case import within
from .cause import Cause
from .check import RecordingCheck
from .examination import Examination

Masks = dict[str, np.ndarray]
"""Channel -> (T,) True where a sample is wrong."""

FEWEST_LEVELS = 20
"""A channel with at most this many different values is a command, a switch, or a joint at rest."""

HELD = 0.8
"""Share of samples equal to the one before, from which on an effort is a command updated at a lower rate."""


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


class DroppedTorque(RecordingCheck):
    """Runs of constant torque.

    Class variables:
        shortest_s: shortest run that counts [s].
        times: factor over the longest run that repeated readings make by chance. With p the share of readings equal to
            the one before, N of them make a run of log N / log(1/p) once.
        moves: part of its range by which some joint must move during the run, so that the robot does not stand still.
        clipped: share of the samples at the largest (or smallest) value, and
        crowded: how many times as many as lie within 2 % of the range beside it.
        same: part of the range up to which readings count as one value. Splines that resample ring into a run of zeros
            and decay by 0.27 a sample (2 - sqrt 3): eleven samples from its ends they are this small.
        error: share of the samples that are used; below it is a warning,
        contradicts: and an error nevertheless where they are zero and the model predicts this many times the rms of
            its residuals there.
    """

    shortest_s = 0.02
    times = 3.0
    moves = 0.01
    clipped = 0.005
    crowded = 3.0
    same = 1e-6
    error = 0.01
    contradicts = 3.0

    causes = (
        Cause(
            "dropped-torque",
            "The torque is zero, or stays at one value, while the robot moves.",
            "Exclude the interval: between_s, or two recordings.",
        ),
        Cause(
            "saturation",
            "The torque stays at the end of its range.",
            "Exclude these intervals with between_s, or widen the sensor's range: larger values were not recorded.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        for number, samples in enumerate(case.samples, start=1):
            for finding in self.look_at(samples, f"recording {number}"):
                wrong = finding.cause == "dropped-torque" and self._contradicted(case, number, samples)
                severity = Severity.error if wrong else finding.severity
                yield replace(finding, severity=severity, where=within(case.problem, number, finding.where))

    def look_at(self, recording: Recording, name: str, highest_hz: float = np.inf) -> Iterator[Finding]:
        for cause, where in zip(self.causes, self._masks(recording), strict=True):
            if where:
                yield self._finding(recording, name, cause, where)

    def _masks(self, recording: Recording) -> tuple[Masks, Masks]:
        """Samples in constant runs longer than by chance, and samples at the end of the range."""
        q = recording.stack("position") if recording.joints("position") else recording.time[:, None]
        dropped, saturated = Masks(), Masks()
        for effort, joint, tau in measured_efforts(recording):
            name = f"{effort}.{joint}"
            ends = at_ends(tau, self.clipped, self.crowded)
            # a run at the end of the range is cut there, and not dropped, if the range ends there often
            stuck = self._stuck(recording, q, tau) & ~ends
            dropped |= {name: stuck} if stuck.any() else {}
            saturated |= {name: ends} if ends.any() else {}
        return dropped, saturated

    def _contradicted(self, case: Examination, number: int, recording: Recording) -> bool:
        """Whether a channel reads zero where the model predicts a torque of its joint."""
        solved = case.declared
        if solved.problem.robot.train.drive.side == "motor" or solved.rows != len(case.time):
            return False  # a motor may drive several joints
        rows = slice(*np.cumsum([0, *case.thin.row_counts])[number - 1 : number + 1])
        names = case.problem.robot.effort_names
        for name, stuck in self._masks(recording)[0].items():
            zero = stuck & (np.abs(recording[name]) <= self.same * np.ptp(recording[name]))
            if not zero.any() or (joint := name.partition(".")[2]) not in names:
                continue
            j = names.index(joint)
            at = np.interp(recording.time[zero], case.time[rows], solved.predicted[rows, j])
            if np.sqrt(np.mean(at**2)) > self.contradicts * solved.sigma[j]:
                return True
        return False

    def _stuck(self, recording: Recording, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """(T,) True in runs of one value longer than by chance, while the robot moves."""
        stuck = np.zeros(len(tau), dtype=bool)
        least = max(5, int(np.ceil(self.shortest_s * recording.rate_hz)))
        same = self.same * float(np.ptp(tau))
        long = runs(tau, least, same)
        if not long:
            return stuck
        inside = sum(last - first for first, last in long)
        repeated = int(np.count_nonzero(np.abs(np.diff(tau)) <= same)) - (inside - len(long))
        p = min(max(repeated / max(len(tau) - inside, 1), 1e-3), 0.999)
        chance = np.log(max(len(tau), 10)) / np.log(1 / p)
        ranges = np.ptp(q, axis=0)
        for first, last in long:
            moved = np.any(np.ptp(q[first:last], axis=0) > self.moves * ranges)
            stuck[first:last] = moved and last - first > self.times * chance
        return stuck

    def _finding(self, recording: Recording, name: str, cause: Cause, where: Masks) -> Finding:
        samples = np.any([*where.values()], axis=0)
        share, first = float(samples.mean()), int(np.argmax(samples))
        channel = next(key for key, mask in where.items() if mask[first])
        stop = first + int(np.argmin(np.append(where[channel][first:], False)))
        begin, end = float(recording.time[first]), float(recording.time[stop - 1])
        value = float(recording[channel][(first + stop) // 2])  # in the middle, where no resampling rings
        if abs(value) <= self.same * float(np.ptp(recording[channel])):
            value = 0.0
        joints, effort = ", ".join(key.partition(".")[2] for key in where), channel.partition(".")[0]
        severity = Severity.error if share >= self.error else Severity.warning
        part = f"for {100 * share:.3g} % of the time"
        if cause == self.causes[1]:
            message, remedy = f"at the end of its range {part}, first at {begin:.4g} s ({value:.3g})", ""
        else:
            message = (
                f"at one value {part} while the robot moves: {value:.3g} from {begin:.4g} to {end:.4g} s"
            )
            before = f"between_s = [{recording.time[0]:.4g}, {begin:.4g}]"
            remedy = f"Exclude the interval: {before}, and a second recording from {end:.4g} s on."
        sentence = f"The {effort} of {joints} in {name} stays {message}."
        return cause.finding(severity, sentence, remedy, joints, 1e4 * share)


def at_ends(values: np.ndarray, clipped: float = 0.005, crowded: float = 3.0) -> np.ndarray:
    """(T,) samples at an end of the range where more of them crowd than beside it, see `DroppedTorque`.

    A command of few levels is always at one of them, and never beside it.
    """
    found = np.zeros(len(values), dtype=bool)
    levels = np.unique(values)
    if len(levels) <= FEWEST_LEVELS:
        return found
    span = float(levels[-1] - levels[0])
    for end, beside in ((levels[0], levels[1]), (levels[-1], levels[-2])):
        here = np.abs(values - end) <= 1e-6 * span
        # the next level at least, where the resolution is coarse
        near = np.abs(values - end) <= max(0.02 * span, 1.001 * abs(beside - end))
        if here.mean() > clipped and here.sum() > crowded * (near & ~here).sum():
            found |= here
    return found


def runs(x: np.ndarray, least: int, same: float = 0.0) -> list[tuple[int, int]]:
    """(first, last + 1) of stretches of at least so many values that differ by no more than `same` from the next."""
    ends = np.flatnonzero(np.abs(np.diff(x)) > same) + 1
    edges = np.concatenate([[0], ends, [len(x)]])
    long = np.flatnonzero(np.diff(edges) >= least)
    return [(int(edges[k]), int(edges[k + 1])) for k in long]
