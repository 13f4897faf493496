"""A gain of the torque that changes during a recording: measured = g(t) predicted, with a step of g at one time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Vector
from ..estimate import Finding
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.signals import Signals
from .case import Examination, Solved, recordings_of
from .changes import UNMOVED, joints_of, moved_torques
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement, severity_of


@dataclass(frozen=True, eq=False)
class StepOfGain(Candidate):
    """Torques of all joints after a sample of the thinned clock, divided by e^nuisance."""

    part: int = 0
    sample: int = 0
    row: int = 0
    joint: int | None = None

    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        gain = float(np.exp(nuisance[0]))
        changed = []
        for number, s in enumerate(recordings_of(problem)):
            later = (
                np.arange(len(s)) >= self.sample
                if number == self.part
                else np.full(len(s), number > self.part)
            )
            changed.append(replace(s, tau=s.tau / np.where(later[:, None] & self.own(s), gain, 1.0)))
        return problem.with_signals(changed)

    def own(self, signals: Signals) -> np.ndarray:
        """(n,) which channels the step is of."""
        return np.array([self.joint in (None, k) for k in range(len(signals.joints))])

    @property
    def motion(self) -> Hashable:
        return UNMOVED

    def derivatives(self, solved: Solved, problem: InverseDynamics, nuisance: Vector) -> list[np.ndarray]:
        n = solved.predicted.shape[1]
        own = np.zeros(solved.predicted.shape)
        own[self.row :] = np.ones(n) if self.joint is None else np.eye(n)[self.joint]
        return [moved_torques(solved, own)]


@dataclass(frozen=True)
class GainChange(Explanation):
    """A step of the gain at each of several times; the largest is looked at closely.

    Args:
        warning, error: relative sizes of the step.
        times: steps tried in all recordings together.
    """

    warning: float = 0.05
    error: float = 0.15
    times: int = 39

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

    def _largest(self, case: Examination, joint: int | None) -> StepOfGain | None:
        """The step that explains most, to first order."""
        N, best, explained = case.declared.rows, None, 0.0
        counts = np.cumsum([0, *case.thin.row_counts])
        for k in range(1, self.times + 1):
            row = k * N // (self.times + 1)
            if row < 5 or N - row < 5:
                continue
            part = int(np.searchsorted(counts, row, side="right") - 1)
            signals = recordings_of(case.thin)[part]
            sample = int((row - counts[part]) / case.thin.row_counts[part] * len(signals))
            step = StepOfGain(
                self,
                () if joint is None else (joints_of(case.thin)[joint],),
                [(0.0,)],
                (1e-3,),
                (0.0,),
                matters=float(np.log1p(self.warning)),
                part=part,
                sample=sample,
                row=row,
                joint=joint,
            )
            (column,) = step.derivatives(case.declared, case.thin, np.zeros(1))
            found = case.declared.score(column)
            if found.explained > explained:
                best, explained = step, found.explained
        return best

    def finding(self, case: Examination, explained: Explained) -> Finding | None:
        step = explained.candidate
        assert isinstance(step, StepOfGain)
        factor, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        if abs(np.log(factor)) < 4 * std:
            return None
        at = float(recordings_of(case.thin)[step.part].time[step.sample])
        whose = f"Torques of joint {step.where[0]}" if step.where else "Torques"
        return Finding(
            self.cause.name,
            severity_of(abs(np.log(factor)), np.log1p(self.warning), np.log1p(self.error)),
            f"{whose} are {factor:.3g} +- {1.96 * factor * std:.2g} times as large from about {at:.4g} s of recording "
            f"{step.part + 1} on: with the step taken out, {improvement(case, explained)}.",
            f"Write between_s to end at {at:.4g} s, or to begin there.",
            step.where[0] if step.where else "",
        )
