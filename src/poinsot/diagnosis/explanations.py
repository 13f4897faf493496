"""Competing explanations of one recording: as declared, or with one defect that a change of the problem removes.

    T(h) = L(h) - P(h) - V(h) - 1/2 k log N

L   log-likelihood of the fit, see `case`
P   disagreement with the description, (nu + b)/2 log(1 + Q/nu) with Q = (beta - beta0)^T (S + C)^-1 (beta - beta0):
    Student's t, so that a coarse description never outweighs the data alone
V   impossible signs of friction and rotor inertia, likewise: (nu + 1)/2 log(1 + z^2/nu) of each
k   nuisances that h estimates; N effective rows

h is named if T(h) - T(as declared) exceeds `margin`, and if it removes most of the squared error, above the noise, of
blocks of the data that were not fitted (`systematic`). The search starts only where residuals stand above the noise.
Explanations that are almost as good are named too: the data cannot distinguish them. So are those that explain as much
of the residuals of the best: a current that lags must not hide a joint's zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Severity, Unchecked
from ..exceptions import InvalidMethod, PoinsotError
from ..regression.inverse_dynamics import InverseDynamics
from .case import Score, Solved
from .cause import Cause
from .check import Check
from .effect_fit import CERTAIN, certain
from .examination import Examination

UNMOVED = ("motion", "as recorded")
"""`Candidate.motion` of changes that leave the motion as recorded."""

STEPS = 8
"""Gauss-Newton steps over a nuisance."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hypothetical defect: a change of the problem, with nuisances to estimate or without.

    Args:
        cause: kind of defect. where: joints or channels.
        change: (problem, x, near) -> the problem without a defect of size x (k,); finite differences are taken about
            `near`; x = 0 changes nothing.
        finding: (case, explained) -> finding if this explains best, to which `Alignment` appends `improvement`; None:
            the defect is too small to matter.
        starts: (s, k) initial guesses of the nuisances; empty: there is nothing to estimate.
        step: step of finite differences by a nuisance. central: whether differences are central.
        matters: size of a single nuisance from which it is worth a warning.
        largest_step: largest step of an iteration, in the nuisance's unit; common to all, or (k,).
        motion: key of the change of the motion, shared by candidates that change it alike; None: it is not shared.
        column: (solved) -> (N, n) derivative by a single nuisance, where it is known.
        recording: index of the only recording that it changes, from 0; None: all.
        rivals: names of effects that look alike: it must predict better than they do.
    """

    cause: Cause
    where: tuple[str, ...]
    change: Callable[[InverseDynamics, Vector, Vector], InverseDynamics]
    finding: Callable[[Examination, Explained], Finding | None] = lambda *_: None
    starts: Sequence[Sequence[float]] = ((),)
    step: float = 1e-3
    central: bool = False
    matters: float = 0.0
    largest_step: float | Vector = 1.0
    motion: Hashable = None
    column: Callable[[Solved], np.ndarray] | None = None
    recording: int | None = None
    rivals: tuple[str, ...] = ()

    @property
    def zero(self) -> Vector:
        """(k,) no defect."""
        return np.zeros(len(self.starts[0]))

    def derivatives(self, solved: Solved, problem: InverseDynamics, nuisance: Vector) -> list[np.ndarray]:
        """(N, n) d (predicted - measured torque) / d nuisance for each nuisance, at the parameters of `solved`."""
        if self.column is not None:
            return [self.column(solved)]

        def ahead(step: Vector) -> np.ndarray:
            other = self.change(problem, nuisance + step, nuisance)
            if self.motion == UNMOVED:
                return solved.predicted - solved.dense.with_torques(other).y
            if len(other.base) != len(solved.theta):  # fewer are identifiable with gravity along an axis
                raise InvalidMethod("the changed problems have different base parameters")
            return other.excess(solved.theta)

        steps = self.step * np.eye(len(nuisance))
        if self.central:
            return [(ahead(step) - ahead(-step)) / (2 * self.step) for step in steps]
        return [(ahead(step) + solved.residuals) / self.step for step in steps]


@dataclass(frozen=True, eq=False)
class Explained:
    """A recording under one explanation.

    Args:
        candidate: the defect. nuisance, std: (k,) values and their stds. solved: solution of the changed problem.
        gain: T(h) - T(as declared).
        shown: part of the gain due to the recording only: L, or V if larger, less the penalty of nuisances. A change
            that only improves agreement with the description is no defect: the description is the less certain.
    """

    candidate: Candidate
    nuisance: Vector
    std: Vector
    solved: Solved
    gain: float
    shown: float


class Explanation(ABC):
    """One kind of defect of a whole recording; `fixed_base`: whether only robots with a fixed base can have it."""

    cause: ClassVar[Cause]
    fixed_base: ClassVar[bool] = True

    @abstractmethod
    def candidates(self, case: Examination) -> Iterable[Candidate]:
        """Defects of this kind that this problem may have."""

    def exact(self, message: str, remedy: str = "", where: str = "") -> Callable[..., Finding]:
        """`Candidate.finding` of a defect without a size."""
        return lambda *_: self.cause.finding(Severity.error, message, remedy, where)


@dataclass(frozen=True)
class Alignment(Check):
    """Compares all explanations.

    Args:
        explanations: to compare.

    Class variables:
        margin: log-likelihood by which a defect must explain better than none. exp(-12) is 1 in 160 000: a hundred
            candidates per recording stay below 1 in 1000.
        ambiguous: difference of log-likelihood below which two explanations cannot be distinguished.
        alike: difference below which the data do not prefer either.
        significant: |z| of a nuisance that matters, to first order, that starts the search for larger ones.
        explains: part of the squared residuals of some joint that a defect must explain: a change that leaves residuals
            unchanged is not the defect, however certain its value.
        effect: part of all squared residuals that a defect must explain. A change of the torque error by less than 1 %
            of itself cannot be distinguished from model error,
        of_one: unless it has a size of its own, and explains this part of the squared residuals of a joint.
        left: largest relative error that an explanation may leave.
        bad_fit: relative error of a joint beyond which something is likely to be wrong.
        above_noise: times the noise of its torque that a joint's residuals must have to start the search.
        most: part of the held-out squared error above the noise that a defect must remove.
    """

    explanations: tuple[Explanation, ...]
    margin = 12.0
    ambiguous = 6.0
    alike = 0.5
    significant = 4.0
    explains = 0.1
    effect = 0.02
    of_one = 0.3
    left = 0.5
    bad_fit = 0.15
    above_noise = 1.5
    most = 0.5

    @property
    def causes(self) -> tuple[Cause, ...]:  # type: ignore[override]
        return tuple(explanation.cause for explanation in self.explanations)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        bad = bool(np.any(case.declared.ratio > self.bad_fit) or case.declared.impossible > self.margin)
        fit = case.systematic
        rms = np.sqrt(np.mean(fit.residuals(fit.own, fit.plain[0]) ** 2, axis=0))
        if not bad and np.all(rms <= self.above_noise * fit.noise):
            return
        suspicious = bad
        tried: list[Explained] = []
        later: list[tuple[Candidate, Score | None]] = []
        for explanation in self.explanations:
            if explanation.fixed_base and case.thin.robot.floating_base:
                continue
            for candidate in explanation.candidates(case):
                if not candidate.zero.size:
                    if (explained := explain(case, candidate)) is not None:
                        tried.append(explained)
                    continue
                score = None
                if len(candidate.zero) == 1:
                    score = local(case, candidate)
                    if not np.isfinite(score.std):
                        continue
                    if not bad and abs(score.z) < self.significant and score.explained < self.effect:
                        continue
                    suspicious |= abs(score.value) > candidate.matters
                # a large defect makes a bad fit: where the fit is good, start the search from no defect
                if not bad:
                    candidate = replace(candidate, starts=candidate.zero[None].tolist())
                later.append((candidate, score))
        suspicious |= any(explained.gain > self.margin for explained in tried)
        if suspicious:
            tried += [found for candidate, score in later if (found := explain(case, candidate, score))]
        yield from self._named(case, tried)

    def _explains(self, case: Examination, explained: Explained) -> bool:
        """Whether it removes enough of a joint's residuals, or impossible signs, and explains most of the torque."""
        if explained.solved.relative_error > self.left:
            return False
        if explained.solved.relative_error > (1 + self.explains) * case.declared.relative_error:
            return False
        sized = explained.candidate.zero.size > 0
        its = [name in explained.candidate.where for name in case.problem.robot.effort_names]
        # another unit, sign or joint of a channel affects the torque of the joint itself
        if not sized and np.sum(np.log(explained.solved.ratio / case.declared.ratio)[its]) > 0:
            return False
        if not sized and case.declared.impossible - explained.solved.impossible > self.margin:
            return True
        left = (explained.solved.relative_error / case.declared.relative_error) ** 2
        own = float(np.min((explained.solved.ratio / case.declared.ratio) ** 2))
        # a defect without a size of its own must have a large effect on the torque
        of_one = sized and own < 1 - self.of_one
        return own < 1 - self.explains and (of_one or left < 1 - self.effect)

    def _predicts(self, case: Examination, explained: Explained) -> bool:
        """Whether it removes most of what can be removed of the held-out error, or impossible signs."""
        if case.declared.impossible - explained.solved.impossible > self.margin:
            return True
        fit = case.systematic
        before, after = fit.error / fit.rows_in, fit.held_out_of(explained.solved)
        rivals = [column for column in fit.columns if column.effect.name in explained.candidate.rivals]
        if rivals:
            rival = fit.held_out(np.concatenate([fit.own, fit.places(rivals)])) / fit.rows_in
            before = min(before, rival, key=np.sum)
        above = float(np.mean(before)) - float(np.mean((fit.noise / fit.sigma) ** 2))
        count = min(len(before), len(after))
        removed, ratio = before[:count] - after[:count], np.log(before[:count] / after[:count])
        return bool(np.mean(removed) > self.most * above and max(certain(removed), certain(ratio)) > CERTAIN)

    def _finding(self, case: Examination, explained: Explained) -> Finding | None:
        """Finding of an explanation, if it explains enough and is significant."""
        if not (explained.gain > self.margin and explained.shown > self.margin):
            return None
        x, std = explained.nuisance, explained.std
        # a single nuisance must differ from zero by more than its uncertainty
        certain = len(x) != 1 or abs(x[0]) >= self.significant * std[0]
        if not (certain and self._explains(case, explained)):
            return None
        if not self._predicts(case, explained):
            return None
        if (finding := explained.candidate.finding(case, explained)) is None:
            return None
        message = f"{finding.message}, {improvement(case, explained)}."
        return replace(finding, message=message, evidence=explained.gain)

    def _named(self, case: Examination, tried: list[Explained]) -> Iterator[Finding]:
        found = [
            (explained, finding)
            for explained in tried
            if (finding := self._finding(case, explained)) is not None
        ]
        if not found:
            return
        # of candidates that nothing distinguishes, the first that was tried
        first = max(explained.gain for explained, _ in found) - self.alike
        found.sort(key=lambda pair: (pair[0].gain < first, -pair[0].gain if pair[0].gain < first else 0.0))
        best = found[0][0]
        case.explained.append(best)
        names: set[str] = set()
        for explained, finding in found:
            # the best of each cause is enough; another cause only where the data cannot distinguish it from the best
            if finding.cause in names or explained.gain < best.gain - self.ambiguous:
                continue
            names.add(finding.cause)
            message = finding.message
            others = [
                other.message.partition(":")[0]
                for rival, other in found
                if other.cause == finding.cause
                and rival is not explained
                and rival.gain > explained.gain - self.ambiguous
            ]
            if others:
                message += f" The data hardly distinguish this from another place: {'; '.join(others[:3])}."
            if explained is not best:
                message += f" The data hardly distinguish this from {best.candidate.cause.name}."
            yield replace(finding, message=message)
        rest = case.without(best.solved)
        # other causes that explain residuals of the best
        beside = [
            finding
            for explained in tried
            if explained.candidate.cause.name not in names
            and (other := self._beside(rest, explained)) is not None
            and (finding := self._finding(rest, other)) is not None
        ]
        for finding in sorted(beside, key=lambda finding: -finding.evidence):
            if finding.cause not in names:
                names.add(finding.cause)
                message = f"{finding.message} This is in addition to {best.candidate.cause.name}."
                yield replace(finding, message=message)

    def _beside(self, rest: Examination, tried: Explained) -> Explained | None:
        """A candidate applied in addition to the best explanation."""
        starts: Sequence[Sequence[float]] = [tried.nuisance.tolist()]
        if len(tried.nuisance) == 1:
            try:
                score = local(rest, tried.candidate)
            except (PoinsotError, np.linalg.LinAlgError):
                return None
            if abs(score.z) < self.significant or abs(score.value) < tried.candidate.matters:
                return None
            starts = [*starts, [score.value]]
        elif not tried.gain > self.margin:
            return None
        return explain(rest, replace(tried.candidate, starts=starts))


def local(case: Examination, candidate: Candidate) -> Score:
    """The nuisance to first order about zero."""
    (column,) = candidate.derivatives(case.declared, case.thin, candidate.zero)
    return case.declared.score(column)


def explain(case: Examination, candidate: Candidate, score: Score | None = None) -> Explained | None:
    """Estimate the nuisances of a candidate by Gauss-Newton from the best start; None if no start can be solved.

    `score`: test of a single nuisance about zero, if it is known.
    """
    thin, effective = case.thin, case.effective_rows
    if not candidate.zero.size and candidate.motion != UNMOVED and _rejected(case.coarse, candidate):
        return None
    points = [np.array(start, dtype=float) for start in candidate.starts]
    # a nuisance of zero changes nothing
    at = (case.declared if p.size and not p.any() else _tried(case, candidate, p) for p in points)
    solutions = [(solved, p) for solved, p in zip(at, points, strict=True) if solved is not None]
    if not solutions:
        return None
    solved, p = min(solutions, key=lambda pair: misfit(pair[0], effective))
    std = np.zeros(len(p))
    for _ in range(STEPS if len(p) else 0):
        try:
            if score is None or p.any():
                delta, std = _newton(solved, candidate.derivatives(solved, thin, p))
            else:
                delta, std = np.array([score.value]), np.array([score.std])
        except (PoinsotError, np.linalg.LinAlgError):
            break
        if not np.isfinite(delta).all():
            break
        delta *= min(1.0, float(np.min(candidate.largest_step / np.maximum(np.abs(delta), 1e-300))))
        for shrink in (1.0, 0.5, 0.25):
            other = _tried(case, candidate, p + shrink * delta)
            if other is not None and misfit(other, effective) < misfit(solved, effective):
                solved, p = other, p + shrink * delta
                break
        else:
            break
        if np.all(np.abs(delta) < 0.1 * std):
            break
    gain = total(case, solved, len(p)) - total(case, case.declared, 0)
    fit = misfit(case.declared, effective) - misfit(solved, effective)
    signs = case.declared.impossible - solved.impossible
    shown = max(fit, signs) - 0.5 * len(p) * float(np.log(effective.sum()))
    return Explained(candidate, p, std, solved, gain, shown)


def _rejected(coarse: Examination, candidate: Candidate) -> bool:
    """Whether a change of the motion explains a sample per row much worse than none: its regressor costs most."""
    if (solved := _tried(coarse, candidate, candidate.zero)) is None:
        return True
    least = total(coarse, coarse.declared, 0) - Alignment.margin
    # the other terms of T are not positive, and take longer than the fit
    return -misfit(solved, coarse.effective_rows) < least or total(coarse, solved, 0) < least


def _tried(case: Examination, candidate: Candidate, nuisance: Vector) -> Solved | None:
    """The solution of the changed problem; None where it cannot be solved."""
    try:
        solved = case.solve(candidate.change(case.thin, nuisance, nuisance), candidate.motion)
    except (PoinsotError, np.linalg.LinAlgError):
        return None
    return solved if np.isfinite(solved.theta).all() else None


def _newton(solved: Solved, columns: list[np.ndarray]) -> tuple[Vector, Vector]:
    """Step of all nuisances together, and each one's standard deviation."""
    if len(columns) == 1:
        found = solved.score(columns[0])
        return np.array([found.value]), np.array([found.std])
    C, G = solved.whitened_columns(columns)
    H = G.T @ G + 1e-12 * np.trace(C.T @ C) * np.eye(len(columns))
    return np.linalg.solve(H, G.T @ solved.whitened_residuals), np.sqrt(
        np.diag(np.linalg.inv(H)) * solved.inflation
    )


def misfit(solved: Solved, effective: Vector) -> float:
    """-L."""
    return float(np.sum(effective * np.log(solved.ratio)))


def total(case: Examination, solved: Solved, nuisances: int) -> float:
    """T."""
    effective = case.effective_rows
    complexity = 0.5 * nuisances * float(np.log(effective.sum()))
    return -misfit(solved, effective) - solved.disagreement - solved.impossible - complexity


def improvement(case: Examination, explained: Explained) -> str:
    """`the torque error falls from 14.7 to 0.97 %`."""
    declared, solved = case.declared, explained.solved
    before, after = 100 * declared.relative_error, 100 * solved.relative_error
    if after < before and f"{before:.3g}" != f"{after:.3g}":
        return f"the torque error falls from {before:.3g} to {after:.3g} %"
    k = int(np.argmin(solved.ratio / declared.ratio))
    if solved.ratio[k] < 0.95 * declared.ratio[k]:
        joint = case.problem.robot.effort_names[k]
        return f"the error of joint {joint} falls from {100 * declared.ratio[k]:.3g} to {100 * solved.ratio[k]:.3g} %"
    return (
        f"friction and rotor inertia are possible, and the torque error is {after:.3g} % (now {before:.3g} %)"
    )


def severity_of(size: float, warning: float, error: float) -> Severity:
    """Severity by the size of a nuisance."""
    return Severity.error if size >= error else Severity.warning if size >= warning else Severity.note
