"""Recordings that disagree on the parameters, and the defect of the one that differs.

Separate parameters for each of R recordings leave smaller residuals than common ones. With N_kj effective rows of joint
j in recording k,

    G = sum over k, j of N_kj log(rms with common parameters / rms with its own) - 1/2 (R - 1) b log N

is the log-likelihood by which they disagree. Then each recording is examined alone: a defect found is its own, and
remedies name it. If none is found, the recording without which the others agree best is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from .case import Solved, within
from .cause import Cause
from .check import Check, look_at
from .examination import Examination
from .explanations import severity_of

DISAGREE = Cause(
    "recordings-disagree",
    "No parameters fit all recordings: one of them is of another load, zero, clock or temperature.",
    "Exclude the recording, or find out what differs in it.",
    symptom=True,
)


@dataclass(frozen=True)
class Recordings(Check):
    """Checks of whole recordings: of all together, and of each alone where they disagree.

    Args:
        checks: to apply.

    Class variables:
        margin: log-likelihood by which recordings must disagree.
        shown: part of a joint's torque (rms) by which they must disagree to be examined alone.
        warning, error: part of a joint's torque (rms) that common parameters leave beyond separate ones: more than
            friction that differs between days, and as much as another missing term that is an error.
    """

    checks: tuple[Check, ...]
    margin = 12.0
    shown = 0.02
    warning, error = 0.05, 0.1

    @property
    def causes(self) -> tuple[Cause, ...]:  # type: ignore[override]
        return (*(cause for check in self.checks for cause in check.causes), DISAGREE)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        together = look_at(case, self.checks)
        count = len(case.thin.row_counts)
        # a correction of one recording does not explain a disagreement of all
        of_all = not case.explained or case.explained[-1].candidate.recording is None
        solved = case.best if of_all else case.declared
        gain, parts, odd = disagreement_of(solved) if count > 1 else (0.0, np.zeros(1), None)
        size = float(parts.max())
        if gain < self.margin or size < self.shown:
            yield from together
            return
        alone = [look_at(case.alone(k), self.checks) for k in range(count)]
        graver = [
            (k, finding)
            for k, findings in enumerate(alone)
            for finding in findings
            if isinstance(finding, Finding) and finding.severity > Severity.note
        ]
        shown = [(finding.cause, finding.where) for _, finding in graver]
        # a defect found in every recording is common to all
        common = [
            finding
            for finding in together
            if isinstance(finding, Unchecked)
            or finding.severity is Severity.note
            or shown.count((finding.cause, finding.where)) == count
        ]
        known = {(finding.cause, finding.where) for finding in common if isinstance(finding, Finding)}
        own = [(k, finding) for k, finding in graver if (finding.cause, finding.where) not in known]
        yield from common if own else together
        case.spoiled.update(k for k, _ in own)
        for k, finding in own:
            yield replace(
                finding,
                message=f"In recording {k + 1} alone: {finding.message}",
                remedy=f"{finding.remedy} Of recording {k + 1} only, or leave it out.",
                where=within(case.problem, k + 1, finding.where),
            )
        if not own and size <= self.warning:
            return
        (odd,) = bad if len(bad := {k for k, _ in own}) == 1 else (odd,)
        joint = case.problem.robot.effort_names[int(parts.argmax())]
        yield DISAGREE.finding(
            severity_of(size, self.warning, self.error),
            f"{'The recordings do not agree' if odd is None else f'Recording {odd + 1} is unlike the others'}: common "
            f"parameters leave {100 * size:.3g} % of the torque of joint {joint} more than separate parameters.",
            f"{'Identify from each alone' if odd is None else 'Exclude it'}, or find what differs: load, zero, clock, "
            "temperature.",
            "" if odd is None else within(case.problem, odd + 1),
            gain,
        )


def disagreement_of(together: Solved) -> tuple[float, np.ndarray, int | None]:
    """Compare common parameters with separate ones of each recording.

    Returns:
        G; (n,) largest part of each joint's torque by which separate parameters reduce the residuals of a recording;
        index of the recording without which the others agree best, None for two recordings.
    """
    edges = np.cumsum([0, *together.problem.row_counts])
    spans = [np.arange(*edges[k : k + 2]) for k in range(len(edges) - 1)]
    gain, parts = -0.5 * (len(spans) - 1) * len(together.theta) * float(np.log(edges[-1])), []
    for span in spans:
        own, common = together.some(span), np.sqrt(np.mean(together.residuals[span] ** 2, axis=0))
        gain += float(own.effective_rows @ np.log(np.maximum(common, own.sigma) / own.sigma))
        parts.append(np.sqrt(np.maximum(common**2 - own.sigma**2, 0.0)) / together.size)
    rest = [together.some(np.setdiff1d(np.arange(edges[-1]), span)).relative_error for span in spans]
    return gain, np.max(parts, axis=0), int(np.argmin(rest)) if len(spans) > 2 else None
