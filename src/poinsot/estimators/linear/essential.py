"""Essential parameters: base parameters without those that are poorly determined (Janot et al. 2014).

Backward elimination: the parameter of the largest relative standard deviation is set to zero, the others are estimated
anew, until all are below a threshold. A removal must also survive a test: with r parameters of values theta_r removed
and C their covariance in the full model, theta_r^T C^-1 theta_r / r is F(r, N - b) distributed if they are truly zero.
C is the honest covariance: with coloured residuals the textbook's F, which counts every row, rejects far too much.

Friction parameters are kept by default: a joint has friction, however poorly this recording determines it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy import special

from ...estimate import Direction, Estimate, Status
from ...exceptions import InvalidMethod, NotIdentifiable, listing, nearest
from ...models.friction.listed import dissipating_kinds
from ...regression.base_parameters import EXCITATION_TOLERANCE
from ...regression.inverse_dynamics import InverseDynamics
from ...solve import ProgressCallback, Stop, report, stop_requested
from .least_squares import LeastSquares, finish
from .system import LinearSolution, System, reduce


@dataclass(frozen=True)
class EssentialParameters:
    """Least squares on the essential parameters.

    Args:
        max_relative_std_percent: parameters above it are candidates for removal, the worst first
            (Brunot et al. 2017, Eq. 6).
        significance: a removal is refused where the removed ones together are non-zero at this level.
        keep: kinds of parameters, or names, that are never removed; by default all kinds of friction that take
            energy.
        weighting, rtol: as in `LeastSquares`.
    """

    max_relative_std_percent: float = 30.0
    significance: float = 0.01
    keep: Sequence[str] = field(default_factory=dissipating_kinds)
    weighting: Literal["none", "per-joint", "robust"] = "none"
    rtol: float = EXCITATION_TOLERANCE

    name = "essential-parameters"
    citations = (*LeastSquares.citations, "janot2014")

    def __post_init__(self) -> None:
        if not self.max_relative_std_percent > 0 or not 0 < self.significance < 1:
            raise InvalidMethod(
                "essential parameters need max_relative_std_percent > 0 and 0 < significance < 1"
            )

    def solve(
        self,
        problem: InverseDynamics,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Estimate:
        """Remove parameters one by one, then estimate the others.

        Raises:
            InvalidMethod: if `keep` names nothing that exists.
            NotIdentifiable: if no parameter is left.
        """
        least_squares = LeastSquares(self.weighting, rtol=self.rtol)
        system = reduce(problem, self.rtol)
        kept = self._kept(problem)
        full = least_squares.fit(problem, system, progress=progress, stop=stop)
        honest = finish(least_squares, problem, system, full)
        columns = [int(c) for c in system.columns]
        removed: list[int] = []
        refused: set[int] = set()
        solution, interrupted = full, full.status is Status.interrupted
        while not interrupted:
            report(progress, "removing parameters", iteration=len(removed))
            if interrupted := stop_requested(stop):
                break
            worst = self._worst(solution, columns, kept | refused)
            if worst is None:
                break
            test = [system.columns.tolist().index(c) for c in (*removed, worst)]
            if self._significant(honest, test):
                refused.add(worst)
                continue
            removed.append(worst)
            columns.remove(worst)
            if not columns:
                raise NotIdentifiable(
                    f"no parameter has a relative standard deviation below {self.max_relative_std_percent:g} %; "
                    "raise max_relative_std_percent or record a livelier motion"
                )
            solution = _resolve(system, columns, full)
        reduced = system.without(np.array(columns, dtype=np.int64))
        if interrupted:
            final = replace(solution, status=Status.interrupted)
        elif self.weighting == "none":
            final = solution
        else:
            final = least_squares.fit(problem, reduced, progress=progress, stop=stop)
        names = [problem.base.names[c] for c in removed]
        note = (
            f"{len(columns)} essential parameters of {len(system.columns)}; set to zero, in this order: "
            f"{listing(names, 80)}"
            if names
            else "every parameter is essential: none was removed"
        )
        notes = (note, *(_refusal(problem.base.names[c]) for c in sorted(refused)))
        return finish(self, problem, _with_removed(reduced, names), final, notes=notes)

    def _kept(self, problem: InverseDynamics) -> set[int]:
        base = problem.base
        known = {*base.kinds, *base.names, *(base.parameters.kinds), *dissipating_kinds()}
        for name in self.keep:
            if name not in known:
                raise InvalidMethod(f"keep names {name!r}, no parameter or kind{nearest(name, known)}")
        return {
            k
            for k, (kind, name) in enumerate(zip(base.kinds, base.names, strict=True))
            if {kind, name} & set(self.keep)
        }

    def _worst(self, solution: LinearSolution, columns: list[int], safe: set[int]) -> int | None:
        """The base column of the largest relative standard deviation above the threshold."""
        with np.errstate(divide="ignore"):
            relative = 100 * np.sqrt(np.diag(solution.covariance)) / np.abs(solution.theta)
        candidates = [(r, c) for r, c in zip(relative, columns, strict=True) if c not in safe]
        worst = max(candidates, default=(0.0, -1))
        return worst[1] if worst[0] > self.max_relative_std_percent else None

    def _significant(self, honest: Estimate, test: list[int]) -> bool:
        theta, C = honest.values[test], honest.covariance[np.ix_(test, test)]
        F = float(theta @ np.linalg.solve(C, theta)) / len(test)
        return float(special.fdtrc(len(test), honest.rows - len(honest.values), F)) < self.significance


def _resolve(system: System, columns: list[int], full: LinearSolution) -> LinearSolution:
    return system.without(np.array(columns, dtype=np.int64)).solve(full.weights, full.factors)


def _with_removed(system: System, names: list[str]) -> System:
    """The system with the removed parameters among its unobservable directions."""
    removed = tuple(Direction(name, "removed") for name in names)
    return replace(system, undetermined=system.undetermined + removed)


def _refusal(name: str) -> str:
    return f"{name} is poorly known, but leaving it out too would make the fit significantly worse: it stays"
