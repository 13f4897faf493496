"""Essential parameters: base parameters without those that are poorly determined (Janot et al. 2014).

Backward elimination: the parameter of the largest relative standard deviation is set to zero, the others are estimated
again, until all are below a threshold. A removal must also pass a test: with r parameters of values theta_r removed
and C their covariance in the full model, theta_r^T C^-1 theta_r / r is F(r, N - b) distributed if they are truly zero.
C allows for coloured residuals: the textbook F test, which counts every row, rejects far too often with them.

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
from ...ranges import Fraction, Positive
from ...regression.base_parameters import EXCITATION_TOLERANCE
from ...regression.inverse_dynamics import InverseDynamics
from ...regression.system import LinearSolution, reduce
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from .least_squares import LeastSquares, finish


@dataclass(frozen=True)
class EssentialParameters(Method):
    """Least squares on the essential parameters.

    Args:
        max_relative_std_percent: relative standard deviation above which parameters are candidates for removal, the
            largest first (Brunot et al. 2017, Eq. 6).
        significance: level at which the removed ones together must not differ from zero.
        keep: kinds of parameters, or names, that are never removed; by default all kinds of friction that dissipate
            energy.
        weighting, rtol: as in `LeastSquares`.
    """

    max_relative_std_percent: Positive = 30.0
    significance: Fraction = 0.01
    keep: Sequence[str] = field(default_factory=dissipating_kinds)
    weighting: Literal["none", "per-joint", "robust"] = "none"
    rtol: Fraction = EXCITATION_TOLERANCE

    name = "essential-parameters"
    citations = (*LeastSquares.citations, "janot2014")

    def solve(
        self, problem: InverseDynamics, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """Remove parameters one by one, then estimate the others.

        Raises:
            InvalidMethod: if `keep` names an unknown parameter or kind.
            NotIdentifiable: if no parameter is left.
        """
        least_squares = LeastSquares(self.weighting, rtol=self.rtol)
        system = reduce(problem, self.rtol)
        safe = self._kept(problem)
        full = least_squares.fit(problem, system, progress=progress, stop=stop)
        initial = finish(least_squares, problem, system, full, systematic=False)
        reduced, solution = system, full
        removed: list[int] = []
        refused: list[int] = []
        interrupted = full.status is Status.interrupted
        while not interrupted:
            report(progress, "removing parameters", iteration=len(removed))
            if interrupted := stop_requested(stop):
                break
            worst = self._worst(solution, reduced.columns, {*safe, *refused})
            if worst is None:
                break
            # all removed ones are tested together (F test): either of two with the same effect may go, but not both
            test = np.isin(system.columns, [*removed, worst])
            theta, C = initial.values[test], initial.covariance[np.ix_(test, test)]
            F = float(theta @ np.linalg.solve(C, theta)) / len(theta)
            rest = initial.rows - len(initial.values)
            if special.fdtrc(len(theta), rest, F) < self.significance:
                refused.append(worst)
                continue
            removed.append(worst)
            reduced = reduced.restricted(reduced.columns[reduced.columns != worst])
            if not len(reduced.columns):
                raise NotIdentifiable(
                    f"no parameter has a relative standard deviation below {self.max_relative_std_percent:g} %; "
                    "raise max_relative_std_percent or record a more exciting motion"
                )
            # the weights of the full model are kept, so that parameters are compared at the same noise level
            solution = reduced.solve(full.weights, full.factors)
        if interrupted:
            solution = replace(solution, status=Status.interrupted)
        elif self.weighting != "none":
            solution = least_squares.fit(problem, reduced, progress=progress, stop=stop)
        names = [problem.base.names[c] for c in removed]
        note = (
            f"{len(reduced.columns)} essential parameters of {len(system.columns)}; set to zero, in this order: "
            f"{listing(names, 80)}"
            if names
            else "every parameter is essential: none was removed"
        )
        refusals = (
            f"{problem.base.names[c]} is poorly known, but removing it too would make the fit significantly worse: "
            "it is kept"
            for c in sorted(refused)
        )
        directions = (*system.undetermined, *(Direction(name, "removed") for name in names))
        full_std = dict(zip(system.columns.tolist(), initial.std.tolist(), strict=True))
        return finish(
            self,
            problem,
            replace(reduced, undetermined=directions),
            solution,
            notes=(note, *refusals),
            removed={column: full_std[column] for column in removed},
        )

    def _kept(self, problem: InverseDynamics) -> set[int]:
        base = problem.base
        known = {*base.kinds, *base.names, *(base.parameters.kinds), *dissipating_kinds()}
        for name in self.keep:
            if name not in known:
                raise InvalidMethod(f"keep names {name!r}, not a parameter or kind{nearest(name, known)}")
        return {
            k
            for k, (kind, name) in enumerate(zip(base.kinds, base.names, strict=True))
            if {kind, name} & set(self.keep)
        }

    def _worst(self, solution: LinearSolution, columns: np.ndarray, safe: set[int]) -> int | None:
        """The base column of the largest relative standard deviation above the threshold."""
        with np.errstate(divide="ignore"):
            relative = 100 * np.sqrt(np.diag(solution.covariance)) / np.abs(solution.theta)
        candidates = [(r, c) for r, c in zip(relative, columns.tolist(), strict=True) if c not in safe]
        worst = max(candidates, default=(0.0, -1))
        return worst[1] if worst[0] > self.max_relative_std_percent else None
