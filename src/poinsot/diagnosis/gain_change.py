"""A gain of the torque that changes during a recording: measured = g(t) predicted, with a step of g at one time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Vector
from ..estimate import Finding
from ..regression.inverse_dynamics import InverseDynamics
from .case import Examination, Solved
from .changes import UNMOVED, joints_of, moved_torques, recordings_of
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement, severity_of


@dataclass(frozen=True)
class GainChange(Explanation):
    """A step of the gain at each of several times; the largest is looked at closely.

    Args:
        warning, error: relative sizes of the step.
        times: steps tried in all recordings together.
        least: part of a recording before a step and after it: what is all of it is another scale.
    """

    warning: float = 0.05
    error: float = 0.15
    times: int = 39
    least: float = 0.1

    cause = Cause(
        "gain-change",
        "The torque is larger by a factor from some time on: another range, a warm sensor, another load.",
        "Identify from the part before or after the change: between_s.",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints = joints_of(case.thin)
        which: list[int | None] = [None, *(range(len(joints)) if len(joints) > 1 else ())]
        if case.thin.robot.floating_base:
            return
        for joint in which:
            if (step := self._largest(case, joint)) is not None:
                yield step

    def _largest(self, case: Examination, joint: int | None) -> Candidate | None:
        """The step that explains most, to first order."""
        N, best, explained = case.declared.rows, None, 0.0
        counts = np.cumsum([0, *case.thin.row_counts])
        for row in np.linspace(0, N, self.times + 2).astype(int)[1:-1]:
            part = int(np.searchsorted(counts, row, side="right") - 1)
            before, after = row - counts[part], counts[part + 1] - row
            if min(before, after) < self.least * (before + after):
                continue
            step = self._step(case, joint, part, before / (before + after), slice(row, counts[part + 1]))
            (column,) = step.derivatives(case.declared, case.thin, np.zeros(1))
            found = case.declared.score(column)
            if found.explained > explained:
                best, explained = step, found.explained
        return best

    def _step(self, case: Examination, joint: int | None, part: int, share: float, rows: slice) -> Candidate:
        """Torques of all joints, or of one, after a share of one recording, divided by e^x."""
        joints, signals = joints_of(case.thin), recordings_of(case.thin)
        own = np.array([joint in (None, k) for k in range(len(joints))])
        sample = int(share * len(signals[part]))

        def change(problem: InverseDynamics, x: Vector, _: Vector) -> InverseDynamics:
            changed = list(recordings_of(problem))
            later = (np.arange(len(changed[part])) >= sample)[:, None] & own
            changed[part] = replace(changed[part], tau=changed[part].tau / np.where(later, np.exp(x[0]), 1.0))
            return problem.with_signals(changed)

        def column(solved: Solved) -> np.ndarray:
            later = np.zeros(solved.predicted.shape)
            later[rows] = own
            return moved_torques(solved, later)

        return Candidate(
            self,
            () if joint is None else (joints[joint],),
            change,
            [(0.0,)],
            matters=float(np.log1p(self.warning)),
            motion=UNMOVED,
            column=column,
            about=(part, float(signals[part].time[sample])),
        )

    def finding(self, case: Examination, explained: Explained) -> Finding:
        where, (part, at) = explained.candidate.where, explained.candidate.about
        factor, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        whose = f"Torques of joint {where[0]}" if where else "Torques"
        return Finding(
            self.cause.name,
            severity_of(abs(np.log(factor)), np.log1p(self.warning), np.log1p(self.error)),
            f"{whose} are {factor:.3g} +- {1.96 * factor * std:.2g} times as large from about {at:.4g} s of recording "
            f"{part + 1} on: with the step taken out, {improvement(case, explained)}.",
            f"Write between_s to end at {at:.4g} s, or to begin there.",
            where[0] if where else "",
        )
