"""One bad recording among several: recordings that do not agree on the parameters, and what is wrong with which.

Parameters of its own for each of R recordings leave less of the torque than common ones. Of residuals with N_kj
effective rows of joint j in recording k

    G = sum over k, j of N_kj log(rms with common parameters / rms with its own) - 1/2 (R - 1) b log N

is the log-likelihood by which they disagree. Then each is looked at alone, as if there were no other: a defect that it
shows is its own, and remedies name it. If none shows one, the recording without which the others agree best is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from .case import Examination, Solved
from .changes import within
from .check import Cause, Check, look_at


@dataclass(frozen=True)
class Recordings(Check):
    """Checks of whole recordings: of all together, and of each alone where they disagree.

    Args:
        checks: to apply.
        margin: log-likelihood by which recordings must disagree.
        shown: part of a joint's torque (rms) by which they must disagree to be looked at alone.
        warning, error: part of a joint's torque (rms) that common parameters leave beside what own ones leave: more
            than friction does that differs between days, and as much as another missing term that is an error.
    """

    checks: tuple[Check, ...]
    margin: float = 12.0
    shown: float = 0.02
    warning: float = 0.05
    error: float = 0.1

    @property
    def causes(self) -> tuple[Cause, ...]:  # type: ignore[override]
        listed = (cause for check in self.checks for cause in check.causes)
        return (
            *listed,
            Cause(
                "recordings-disagree",
                "No parameters fit all recordings: one of them is of another load, zero, clock or temperature.",
                "Leave the recording out, or find out what differs in it.",
                symptom=True,
            ),
        )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        together = look_at(case, self.checks)
        count = len(case.thin.row_counts)
        apart = disagreement_of(case.best) if count > 1 else None
        if apart is None or apart.gain < self.margin or apart.size < self.shown:
            yield from together
            return
        alone = {k: look_at(case.alone(k), self.checks) for k in range(count)}
        found = {
            (k, each.cause, each.where): each
            for k, said in alone.items()
            for each in said
            if isinstance(each, Finding) and each.severity > Severity.note
        }
        common = [
            each
            for each in together
            if isinstance(each, Unchecked)
            or each.severity is Severity.note
            # what every recording shows is of all of them
            or all((k, each.cause, each.where) in found for k in range(count))
        ]
        known = {(each.cause, each.where) for each in common if isinstance(each, Finding)}
        own = [(k, each) for (k, cause, where), each in found.items() if (cause, where) not in known]
        yield from common
        for k, each in own:
            yield replace(
                each,
                message=f"In recording {k + 1} alone: {each.message}",
                remedy=f"{each.remedy} Of recording {k + 1} only, or leave it out.",
                where=within(case.problem, k + 1, each.where),
            )
        if not own:
            yield from (each for each in together if each not in common)
        if own or apart.size > self.warning:
            yield self._disagreement(case, apart, {k for k, _ in own})

    def _disagreement(self, case: Examination, apart: Disagreement, bad: set[int]) -> Finding:
        odd = bad if len(bad) == 1 else {apart.odd} if apart.odd is not None else set()
        name = f"Recording {next(iter(odd)) + 1} does not agree" if odd else "The recordings do not agree"
        joint = case.problem.robot.effort_names[apart.joint]
        return Finding(
            "recordings-disagree",
            Severity(sum(apart.size > each for each in (self.warning, self.error))),
            f"{name} with the other{'s' * (len(apart.sizes) > 2 or not odd)}: common parameters leave "
            f"{100 * apart.size:.3g} % of the torque of joint {joint} more than each recording's own.",
            (
                f'Write role = "validation" for recording {next(iter(odd)) + 1}'
                if odd
                else "Identify from each alone"
            )
            + ", and see what differs: load, zero, clock, temperature.",
            f"recording {next(iter(odd)) + 1}" if odd else "",
            evidence=apart.gain,
        )


@dataclass(frozen=True)
class Disagreement:
    """How much better parameters of its own fit each recording.

    Args:
        gain: G. sizes: (R,) largest part of a joint's torque that they take from the residuals of a recording.
        joint: of the largest. odd: the recording without which the others agree best; None of two.
    """

    gain: float
    sizes: np.ndarray
    joint: int
    odd: int | None

    @property
    def size(self) -> float:
        return float(self.sizes.max())


def disagreement_of(together: Solved) -> Disagreement:
    """Compare common parameters with each recording's own."""
    counts = together.problem.row_counts
    edges = np.cumsum([0, *counts])
    R, N = len(counts), edges[-1]
    spans = [np.arange(*edges[k : k + 2]) for k in range(R)]
    alone = [together.of(span) for span in spans]
    log_ratio, gain = np.zeros((R, len(together.sigma))), 0.0
    parts = np.zeros_like(log_ratio)
    for k, (span, own) in enumerate(zip(spans, alone, strict=True)):
        common = np.sqrt(np.mean(together.residuals[span] ** 2, axis=0))
        gain += float(own.effective_rows @ np.log(np.maximum(common, own.sigma) / own.sigma))
        parts[k] = np.sqrt(np.maximum(common**2 - own.sigma**2, 0.0)) / together.size
    gain -= 0.5 * (R - 1) * len(together.theta) * float(np.log(N))
    odd = None
    if R > 2:
        rest = [together.of(np.setdiff1d(np.arange(N), span)).relative_error for span in spans]
        odd = int(np.argmin(rest))
    worst = np.unravel_index(np.argmax(parts), parts.shape)
    return Disagreement(gain, parts.max(axis=1), int(worst[1]), odd)
