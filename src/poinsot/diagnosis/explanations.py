"""Competing explanations of one recording: as declared, or with one defect that a change of the problem takes away.

    T(h) = L(h) - P(h) - V(h) - 1/2 k log N

L   log-likelihood of the fit, see `case`
P   disagreement with the description, (nu + b)/2 log(1 + Q/nu) with Q = (beta - beta0)^T (S + C)^-1 (beta - beta0):
    Student's t, so that a coarse description never outweighs the data alone
V   impossible signs of friction and rotor inertia, likewise: (nu + 1)/2 log(1 + z^2/nu) of each
k   nuisances that h estimates; N effective rows

h is named if T(h) - T(as declared) exceeds `margin`. A nuisance must also have a size that matters in practice, which
each explanation states. Explanations that are almost as good are named too: the data cannot tell them apart. So are
those that explain as much of what the best leaves: a current that lags must not hide a joint's zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..arrays import Vector
from ..estimate import Finding, Severity, Unchecked
from ..exceptions import InvalidMethod, PoinsotError
from ..models.friction import term_of
from ..models.friction.listed import COUPLING
from ..regression.inverse_dynamics import InverseDynamics
from .case import Examination, Score, Solved
from .check import Cause, Check
from .description import Described

TAILS = 4.0
"""nu, degrees of freedom of the tails of P and V."""

STEPS = 8
"""Gauss-Newton steps over a nuisance."""


@dataclass(frozen=True, eq=False)
class Candidate(ABC):
    """One defect that may be there: a change of the problem, with nuisances to estimate or without.

    Args:
        explanation: of what kind. where: joints or channels.
        starts: (s, k) nuisances to begin from.
        steps: (k,) for finite differences.
        zero: (k,) the nuisances of a problem without the defect.
        matters: size of a single nuisance from which it is worth a warning.
        largest_step: of an iteration, in the nuisance's unit.
    """

    explanation: Explanation
    where: tuple[str, ...] = ()
    starts: Sequence[Sequence[float]] = ((),)
    steps: Sequence[float] = ()
    zero: Sequence[float] = ()
    matters: float = 0.0
    largest_step: float = 1.0

    @abstractmethod
    def changed(self, problem: InverseDynamics, nuisance: Vector) -> InverseDynamics:
        """The problem without the defect of this size."""

    @property
    def motion(self) -> Hashable:
        """What the change does to the motion, where others may do the same; None: this one alone does it."""
        return None

    def derivatives(self, solved: Solved, problem: InverseDynamics, nuisance: Vector) -> list[np.ndarray]:
        """(N, n) d (predicted - measured torque) / d nuisance, each, at the parameters of `solved`."""
        columns = []
        for k, step in enumerate(self.steps):
            ends = []
            for sign in (1, -1):
                moved = np.array(nuisance, dtype=float)
                moved[k] += sign * step
                other = self.changed(problem, moved)
                if len(other.base) != len(solved.theta):  # gravity along an axis shows fewer parameters
                    raise InvalidMethod("the changed problems have different base parameters")
                rows = list(other.rows())
                ends.append(np.concatenate([each.W @ solved.theta - each.y for each in rows]))
            columns.append((ends[0] - ends[1]) / (2 * step))
        return columns


@dataclass(frozen=True, eq=False)
class Explained:
    """A recording under one explanation.

    Args:
        candidate: the defect.
        nuisance: (k,) values; std: of them.
        solved: the changed problem's solution.
        gain: T(h) - T(as declared).
        shown: the part of it that the recording itself shows: L, or V if that is more, less what nuisances cost. A
            change that only pleases the description is no defect, as the description is the less certain of the two.
    """

    candidate: Candidate
    nuisance: Vector
    std: Vector
    solved: Solved
    gain: float
    shown: float


class Explanation(ABC):
    """One kind of defect of a whole recording."""

    cause: ClassVar[Cause]

    @abstractmethod
    def candidates(self, case: Examination) -> Iterable[Candidate]:
        """What of this kind may be wrong with this problem."""

    @abstractmethod
    def finding(self, case: Examination, explained: Explained) -> Finding | None:
        """What to say where this explains best; None if it is too small to matter."""

    def unobservable(self, candidate: Candidate) -> Unchecked | None:
        """What to say where this recording cannot show the defect."""
        return None


@dataclass(frozen=True)
class Alignment(Check):
    """Compares all explanations.

    Args:
        explanations: to compare.
        margin: log-likelihood by which a defect must explain better than none. exp(-12) is 1 in 160 000: a hundred
            candidates a recording stay below 1 in 1000.
        ambiguous: log-likelihood below which two explanations are told apart by nobody.
        significant: |z| of a nuisance that matters, to first order, that starts the search for larger ones.
        explains: part of a joint's squared residuals that a defect must explain, of some joint: what leaves residuals
            as they are is not what is wrong, however certain its value.
        effect: part of all squared residuals that a defect without a nuisance must explain. A wrong sign or unit that
            changes the torque error by less than 1 % of itself cannot be told from what the model lacks.
        improves: the same of any defect. Recordings with a load and without it differ in friction, which is warmer or
            more loaded, and small defects of single joints take up a little of that.
        left: relative error at most that an explanation may leave: more explains nothing.
        bad_fit: relative error of a joint beyond which something is likely to be wrong.
    """

    explanations: tuple[Explanation, ...]
    margin: float = 12.0
    ambiguous: float = 6.0
    significant: float = 4.0
    explains: float = 0.1
    effect: float = 0.02
    improves: float = 0.0
    left: float = 0.5
    bad_fit: float = 0.15

    causes = ()

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        suspicious = bool(
            np.any(case.declared.ratio > self.bad_fit) or impossible(case.declared) > self.margin
        )
        tried: list[Explained] = []
        later: list[Candidate] = []
        for explanation in self.explanations:
            for candidate in explanation.candidates(case):
                if not candidate.zero:
                    if (explained := explain(case, candidate)) is not None:
                        tried.append(explained)
                    continue
                if len(candidate.zero) == 1:
                    score = local(case, candidate)
                    if not np.isfinite(score.std):
                        if (unchecked := explanation.unobservable(candidate)) is not None:
                            yield unchecked
                        continue
                    suspicious |= abs(score.z) > self.significant and abs(score.value) > candidate.matters
                later.append(candidate)
        suspicious |= any(each.gain > self.margin for each in tried)
        if suspicious:
            tried += [each for candidate in later if (each := explain(case, candidate)) is not None]
        yield from self._named(case, tried)

    def _explains(self, case: Examination, explained: Explained) -> bool:
        """Whether enough of a joint's residuals is gone, or impossible signs are, and most torque is explained."""
        if explained.solved.relative_error > self.left:
            return False
        if explained.solved.relative_error > (1 + self.explains) * case.declared.relative_error:
            return False
        left = (explained.solved.relative_error / case.declared.relative_error) ** 2
        if left > 1 - self.improves:
            return False
        if impossible(case.declared) - impossible(explained.solved) > self.margin:
            return True
        if not explained.candidate.zero and left > 1 - self.effect:
            return False  # what has no size of its own must have one in the torque
        return bool(np.any((explained.solved.ratio / case.declared.ratio) ** 2 < 1 - self.explains))

    def _named(self, case: Examination, tried: list[Explained]) -> Iterator[Finding]:
        found = [
            (each, finding)
            for each in tried
            if each.gain > self.margin
            and each.shown > self.margin
            and self._explains(case, each)
            and (finding := each.candidate.explanation.finding(case, each)) is not None
        ]
        found.sort(key=lambda pair: -pair[0].gain)
        if not found:
            return
        best = found[0][0]
        case.explained.append(best)
        names: set[str] = set()
        for each, finding in found:
            # of one cause the best is enough; another cause only where the data cannot tell it from the best
            if finding.cause in names or each.gain < best.gain - self.ambiguous:
                continue
            names.add(finding.cause)
            message = finding.message
            if each is not best:
                message += f" The recording hardly tells this from {best.candidate.explanation.cause.name}."
            yield replace(finding, message=message, evidence=each.gain)
        yield from self._beside(case, best, tried, names)

    def _beside(
        self, case: Examination, best: Explained, tried: list[Explained], names: set[str]
    ) -> Iterator[Finding]:
        """What other causes explain of what the best leaves."""
        rest = case.without(best.solved)
        found: list[tuple[Explained, Finding]] = []
        for each in tried:
            if each.candidate.explanation.cause.name in names:
                continue
            if len(each.candidate.zero) == 1:
                try:
                    score = local(rest, each.candidate)
                except (PoinsotError, np.linalg.LinAlgError):
                    continue
                if abs(score.z) < self.significant or abs(score.value) < each.candidate.matters:
                    continue
                starts: Sequence[Sequence[float]] = [each.nuisance.tolist(), [score.value]]
            elif each.gain > self.margin:
                starts = [each.nuisance.tolist()]
            else:
                continue
            other = explain(rest, replace(each.candidate, starts=starts))
            if (
                other is None
                or min(other.gain, other.shown) <= self.margin
                or not self._explains(rest, other)
            ):
                continue
            if (finding := other.candidate.explanation.finding(rest, other)) is not None:
                found.append((other, finding))
        for other, finding in sorted(found, key=lambda pair: -pair[0].gain):
            if finding.cause not in names:
                names.add(finding.cause)
                message = f"{finding.message} This is beside {best.candidate.explanation.cause.name}."
                yield replace(finding, message=message, evidence=other.gain)


def local(case: Examination, candidate: Candidate) -> Score:
    """The nuisance to first order about none."""
    (column,) = candidate.derivatives(case.declared, case.thin, np.array(candidate.zero))
    return case.declared.score(column)


def explain(case: Examination, candidate: Candidate) -> Explained | None:
    """The best values of a candidate's nuisances: the best start, then Gauss-Newton; None where none can be solved."""
    thin, effective = case.thin, case.declared.effective_rows
    points = [np.array(start, dtype=float) for start in candidate.starts]
    solutions = [(solved, p) for p in points if (solved := _tried(case, candidate, p)) is not None]
    if not solutions:
        return None
    solved, p = min(solutions, key=lambda each: misfit(each[0], effective))
    std = np.zeros(len(p))
    for _ in range(STEPS if len(p) else 0):
        try:
            delta, std = _newton(solved, candidate.derivatives(solved, thin, p))
        except (PoinsotError, np.linalg.LinAlgError):
            break
        if not np.isfinite(delta).all():
            break
        delta *= min(1.0, candidate.largest_step / max(float(np.max(np.abs(delta))), 1e-300))
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
    signs = impossible(case.declared) - impossible(solved)
    shown = max(fit, signs) - 0.5 * len(p) * float(np.log(effective.sum()))
    return Explained(candidate, p, std, solved, gain, shown)


def _tried(case: Examination, candidate: Candidate, nuisance: Vector) -> Solved | None:
    """The changed problem, solved; None where the change makes a problem that nobody can solve."""
    try:
        solved = case.solve(candidate.changed(case.thin, nuisance), candidate.motion)
    except (PoinsotError, np.linalg.LinAlgError):
        return None
    return solved if np.isfinite(solved.theta).all() else None


def _newton(solved: Solved, columns: list[np.ndarray]) -> tuple[Vector, Vector]:
    """Step of all nuisances together, and each one's standard deviation."""
    if len(columns) == 1:
        found = solved.score(columns[0])
        return np.array([found.value]), np.array([found.std])
    Q = solved.whitened_basis
    C = np.stack([(c / solved.sigma).reshape(-1) for c in columns], axis=1)
    G = C - Q @ (Q.T @ C)
    e = (solved.residuals / solved.sigma).reshape(-1)
    H = G.T @ G + 1e-12 * np.trace(C.T @ C) * np.eye(len(columns))
    return np.linalg.solve(H, G.T @ e), np.sqrt(np.diag(np.linalg.inv(H)) * inflation(solved))


def misfit(solved: Solved, effective: Vector) -> float:
    """-L."""
    return float(np.sum(effective * np.log(solved.ratio)))


def total(case: Examination, solved: Solved, nuisances: int) -> float:
    """T."""
    effective = case.declared.effective_rows
    complexity = 0.5 * nuisances * float(np.log(effective.sum()))
    return -misfit(solved, effective) - disagreement(solved) - impossible(solved) - complexity


def inflation(solved: Solved) -> float:
    """Factor on covariances for correlated residuals."""
    return float(np.mean(solved.rows / solved.effective_rows))


def disagreement(solved: Solved) -> float:
    """P."""
    described = Described(solved.problem)
    if not described.says_something:
        return 0.0
    alone, beta0, S = described.base(solved.problem.base)
    if not alone.any():
        return 0.0
    e, M = solved.theta[alone] - beta0, S + solved.covariance[np.ix_(alone, alone)] * inflation(solved)
    scale = np.sqrt(np.diag(M)) + 1e-300
    M = M / scale[:, None] / scale + 1e-9 * np.eye(len(e))
    Q = float((e / scale) @ np.linalg.solve(M, e / scale))
    return 0.5 * (TAILS + len(e)) * float(np.log1p(Q / TAILS))


def impossible(solved: Solved) -> float:
    """V."""
    std = np.sqrt(np.diag(solved.covariance) * inflation(solved)) + 1e-300
    nonnegative = np.array([is_nonnegative(kind) for kind in solved.problem.base.kinds])
    z = np.maximum(-solved.theta / std, 0.0)[nonnegative]
    return 0.5 * (TAILS + 1) * float(np.sum(np.log1p(z**2 / TAILS)))


def is_nonnegative(kind: str) -> bool:
    """Whether no real joint has a parameter of this kind below zero; the cross terms of couplings may be negative."""
    term = None if kind.endswith(COUPLING) else term_of(kind)
    return kind == "rotor_inertia" or (term is not None and term.dissipates)


def improvement(case: Examination, explained: Explained) -> str:
    """`the torque error falls from 14.7 to 0.97 %`."""
    before, after = 100 * case.declared.relative_error, 100 * explained.solved.relative_error
    if after >= before or f"{before:.3g}" == f"{after:.3g}":
        return f"friction and rotor inertia are possible, and the torque error is {after:.3g} % (now {before:.3g} %)"
    return f"the torque error falls from {before:.3g} to {after:.3g} %"


def severity_of(size: float, warning: float, error: float) -> Severity:
    """By the practical size of a nuisance."""
    return Severity.error if size >= error else Severity.warning if size >= warning else Severity.note


__all__ = ["Alignment", "Candidate", "Cause", "Explained", "Explanation", "improvement", "severity_of"]
