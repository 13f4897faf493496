"""A gain of the torque that changes during a recording: measured = g(t) predicted, with a step of g at one time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Vector
from ..estimate import Finding
from ..regression.inverse_dynamics import InverseDynamics
from .case import Case, Solved
from .changes import UNMOVED, recordings_of
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement, severity_of


@dataclass(frozen=True, eq=False)
class StepOfGain(Candidate):
    """Torques of all joints after a sample of the thinned clock, divided by e^nuisance."""

    part: int = 0
    sample: int = 0
    row: int = 0

    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        gain = float(np.exp(nuisance[0]))
        changed = []
        for number, s in enumerate(recordings_of(problem)):
            later = (
                np.arange(len(s)) >= self.sample
                if number == self.part
                else np.full(len(s), number > self.part)
            )
            changed.append(replace(s, tau=s.tau / np.where(later, gain, 1.0)[:, None]))
        return problem.with_signals(changed)

    @property
    def motion(self) -> Hashable:
        return UNMOVED

    def derivatives(self, solved: Solved, problem: InverseDynamics, nuisance: Vector) -> list[np.ndarray]:
        column = solved.predicted.copy()
        column[: self.row] = 0
        return [column]


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

    def candidates(self, case: Case) -> Iterable[Candidate]:
        solved = case.declared
        N = solved.rows
        best, explained = 0, 0.0
        for k in range(1, self.times + 1):
            first = k * N // (self.times + 1)
            if first < 5 or N - first < 5:
                continue
            column = solved.predicted.copy()
            column[:first] = 0
            found = solved.score(column)
            if found.explained > explained:
                best, explained = first, found.explained
        if not best:
            return
        counts = np.cumsum([0, *case.thin.row_counts])
        part = int(np.searchsorted(counts, best, side="right") - 1)
        signals = recordings_of(case.thin)[part]
        sample = int((best - counts[part]) / case.thin.row_counts[part] * len(signals))
        yield StepOfGain(
            self,
            starts=[(0.0,)],
            steps=(1e-3,),
            zero=(0.0,),
            matters=np.log1p(self.warning),
            part=part,
            sample=sample,
            row=best,
        )

    def finding(self, case: Case, explained: Explained) -> Finding | None:
        step = explained.candidate
        assert isinstance(step, StepOfGain)
        factor, std = float(np.exp(explained.nuisance[0])), float(explained.std[0])
        if abs(np.log(factor)) < 4 * std:
            return None
        at = float(recordings_of(case.thin)[step.part].time[step.sample])
        return Finding(
            self.cause.name,
            severity_of(abs(np.log(factor)), np.log1p(self.warning), np.log1p(self.error)),
            f"Torques are {factor:.3g} +- {1.96 * factor * std:.2g} times as large from about {at:.4g} s of recording "
            f"{step.part + 1} on: with the step taken out, {improvement(case, explained)}.",
            f"Write between_s to end at {at:.4g} s, or to begin there.",
        )
