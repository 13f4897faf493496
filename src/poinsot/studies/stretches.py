"""Findings about a log that is read in blocks.

Samples are examined block by block on the way (`examine_block`): jumps, lost samples, outliers, efforts that drop out
or saturate, by the checks that `poinsot inspect` runs too. What needs a whole recording (delays, zeros, signs, gravity,
friction, a load that was picked up) is examined on some stretches, as if each were a recording: half of them evenly
over the log, and half where the estimate fits worst, so that what changes for some minutes is not missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from ..diagnosis import SAMPLE_CHECKS, Examination, diagnose, examined
from ..diagnosis.case import recorded
from ..estimate import Diagnosis, Estimate, Finding, Unchecked
from ..estimators.linear.least_squares import LeastSquares
from ..exceptions import PoinsotError
from ..io.block_log import BlockLog
from ..models.robot.articulated import Articulated
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.butterworth import ButterworthDecimation
from .residual_sums import ResidualSums


class ExaminedBlock(NamedTuple):
    """A block: first and last sample, findings about its samples, and (n,) mean squares of its residuals."""

    span: tuple[int, int]
    findings: tuple[Finding, ...]
    squares: np.ndarray


def examine_block(problem: InverseDynamics, span: tuple[int, int], sums: ResidualSums) -> ExaminedBlock:
    """Examine single samples of a block; `problem` is that of the block with its halo."""
    samples = recorded(problem.parts[0])
    highest = Examination(None, problem).highest_hz
    name = f"the stretch from {samples.time[0]:.6g} to {samples.time[-1]:.6g} s"
    with np.errstate(all="ignore"):  # wrong data overflow
        of_checks = (check.look_at(samples, name, highest) for check in SAMPLE_CHECKS)
        findings = tuple(finding for listed in of_checks for finding in listed)
    return ExaminedBlock(span, findings, np.diagonal(sums.products[:, :, 0]) / max(sums.count, 1))


@dataclass(frozen=True, eq=False)
class LogExaminer:
    """Examines an estimate of a log.

    Args:
        robot, log, method, estimator: as for the estimate. seen: its blocks.
        stretches: number of stretches that are examined as recordings.
        rows: rows of each.
    """

    robot: Articulated
    log: BlockLog
    method: ButterworthDecimation
    estimator: LeastSquares
    seen: tuple[ExaminedBlock, ...]
    stretches: int = 8
    rows: int = 500

    def __call__(self, estimate: Estimate) -> Diagnosis:
        findings: list[Finding | Unchecked] = [*merge_findings(self.seen)]
        known = {(finding.cause, finding.where) for finding in findings if isinstance(finding, Finding)}
        try:
            of_stretches = self._of_stretches()
        except (PoinsotError, np.linalg.LinAlgError) as error:
            return examined(estimate, [*findings, Unchecked("stretches of the log", str(error), failed=True)])
        findings += [new for new in of_stretches.findings if (new.cause, new.where) not in known]
        return examined(estimate, [*findings, *of_stretches.unchecked])

    def _of_stretches(self) -> Diagnosis:
        spans = self.spans
        recordings = [self.log.read(*span) for span in spans]
        estimate = self.estimator.solve(InverseDynamics(self.robot, recordings, self.method))
        diagnosis = diagnose(estimate)
        if len(spans) == 1 and spans[0] == (0, len(self.log)):
            return diagnosis
        # a user with one recording does not know the numbers of stretches
        times = {
            f"recording {k}": f"the stretch at {recording.time[0]:.6g} s"
            for k, recording in enumerate(recordings, start=1)
        }
        return replace(diagnosis, findings=tuple(_named(finding, times) for finding in diagnosis.findings))

    @property
    def spans(self) -> list[tuple[int, int]]:
        """(first, last) sample of the stretches, in the order of time."""
        N, (_, rate) = len(self.log), self.log.clock
        length = ceil(self.rows * max(rate / _row_rate(self.method, rate), 1.0))
        if N <= self.stretches * length:
            return [(0, N)]
        squares = np.array([block.squares for block in self.seen])
        usual = np.maximum(np.median(squares, axis=0), 1e-300)
        worst = np.argsort(-(squares / usual).max(axis=1), kind="stable")[: self.stretches // 2]
        even = np.linspace(0, N - length, self.stretches - len(worst)).astype(int).tolist()
        taken = [(first, first + length) for first in even]
        for k in worst.tolist():
            first = min(self.seen[k].span[0], N - length)
            if all(abs(first - other) >= length for other, _ in taken):
                taken.append((first, first + length))
        return sorted(taken)


def merge_findings(seen: Sequence[ExaminedBlock]) -> list[Finding]:
    """One finding for each cause and place, the gravest, and in how many blocks it is."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for block in seen:
        for finding in block.findings:
            groups.setdefault((finding.cause, finding.where), []).append(finding)
    merged = []
    for group in groups.values():
        gravest = max(group, key=lambda finding: (finding.severity, finding.evidence))
        more = f" So it is in {len(group)} of {len(seen)} blocks of the log." if len(group) > 1 else ""
        merged.append(replace(gravest, message=gravest.message + more))
    return merged


def _named(finding: Finding, times: dict[str, str]) -> Finding:
    """Name the recordings in a finding by their time."""
    message, where = finding.message, finding.where
    for number, name in reversed(times.items()):  # 10 before 1
        message, where = message.replace(number, name), where.replace(number, name)
        message = message.replace(number.capitalize(), name.capitalize())
    return replace(finding, message=message, where=where)


def _row_rate(method: ButterworthDecimation, rate: float) -> float:
    """Rows a second, about."""
    return rate if method.decimate_hz is None else min(2.5 * method.decimate_hz, rate)
