"""The weight of the model against the readings, from the recordings themselves (the paper leaves kappa to its user).

With residuals of steps e and their effective degrees of freedom f (`sensitivity`), states and theta integrated out, the
marginal likelihood of the readings (MacKay 1992, in Laplace's approximation) has the slope

    d log L / d log kappa = (f - kappa |p|^2) / 2

so that it is stationary where residuals of steps are as large as kappa says, each divided by what the states have not
taken of it. Where it is not, kappa f / (kappa |p|^2) is nearer. That assumes that what the model lacks is white. What
real mechanisms lack persists, so the weights `decades` on either side are tried too, and of the three the one is taken
whose fit predicts readings best over windows (`prediction`), from states that did not see them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ...exceptions import InvalidMethod
from ...solve import ProgressCallback, Stop, report, stop_requested
from .prediction import predicted, relative_errors
from .problem import JointSmoothingProblem
from .results import JointFit
from .smoothing import JointSmoothing, RecordEquations


@dataclass(frozen=True, eq=False)
class ChosenWeight:
    """A weight and why.

    Args:
        method: with the weight, and with the reference of its residuals.
        fit: with it.
        tried: (k,) weights whose predictions were compared, rising. scores: (k,) rms errors of predicted readings, by
            the spread of the readings.
    """

    method: JointSmoothing
    fit: JointFit
    tried: Float[np.ndarray, "k"]
    scores: Float[np.ndarray, "k"]

    @property
    def weight(self) -> float:
        """kappa."""
        return self.method.weight


@dataclass(frozen=True)
class WeightChoice:
    """Choice of the weight by marginal likelihood, and by prediction beside it.

    Args:
        rounds: of the marginal likelihood, at most.
        settled: change of log10 of the weight that ends them: half a decade moves parameters by less than their
            intervals, or the examination says so.
        longest: change of log10 of the weight in a round.
        fewest: degrees of freedom of the residuals of steps below which a larger weight changes nothing.
        decades: between the weights whose predictions are compared.
        nearly_best: factor of the smallest error up to which a prediction is as good.

    Raises:
        InvalidMethod: if a number has no meaning.
    """

    rounds: int = 8
    settled: float = 0.25
    longest: float = 3.0
    fewest: float = 3.0
    decades: float = 1.0
    nearly_best: float = 1.02

    def __post_init__(self) -> None:
        if not (self.rounds >= 1 and self.settled > 0 and self.decades > 0 and self.nearly_best >= 1):
            raise InvalidMethod(
                "a choice of weights needs rounds >= 1, settled and decades > 0, nearly_best >= 1"
            )

    def choose(
        self,
        method: JointSmoothing,
        problem: JointSmoothingProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> ChosenWeight:
        """The weight, with its fit; stopped, the last one until then.

        Raises:
            InvalidMethod, InvalidSignals: as `JointSmoothing.solve`.
        """
        method = replace(method, state_std=False)
        method, fit = self._most_likely(method, problem, progress, stop)
        found = {method.weight: (method, fit)}
        for factor in (10**-self.decades, 10**self.decades):
            if not stop_requested(stop):
                near = replace(method, weight=method.weight * factor)
                found[near.weight] = near, solve_from(near, problem, fit, stop=stop)
        fits = [found[weight] for weight in sorted(found)]
        scores = []
        for own, each in fits:
            errors = predicted(own, problem.model, problem.records, each.theta, each.paths)
            score = float(np.sqrt(np.nanmean(relative_errors(problem.model, errors) ** 2)))
            usable = each.converged and np.isfinite(score)
            scores.append(score if usable else np.inf)
            report(
                progress,
                "choosing the weight",
                detail=f"weight {own.weight:.3g}: predicted to {100 * score:.3g} %",
            )
        good = np.flatnonzero(np.array(scores) <= self.nearly_best * min(scores))
        # the most likely one where predictions do not differ; inf <= inf where none converged
        best = min(good.tolist(), key=lambda k: abs(np.log(fits[k][0].weight / method.weight)))
        tried = np.array([own.weight for own, _ in fits])
        return ChosenWeight(*fits[best], tried, np.array(scores))

    def _most_likely(
        self,
        method: JointSmoothing,
        problem: JointSmoothingProblem,
        progress: ProgressCallback | None,
        stop: Stop | None,
    ) -> tuple[JointSmoothing, JointFit]:
        """The method with the most likely weight, and its fit."""
        fit: JointFit | None = None
        before: tuple[float, float] | None = None
        # the residuals of the initial guess are larger than those of a fit: the weight rises from there
        method = replace(method, weight=RecordEquations(method, problem).start().own_weight)
        for _ in range(self.rounds):
            new = solve_from(method, problem, fit, stop=stop)
            if fit is not None and before is not None and fit.converged and not new.converged:
                # a kink, or a motion that is chaotic
                return replace(method, weight=10 ** before[0]), fit
            fit, now = new, float(np.log10(method.weight))
            squares = method.weight * sum(float(np.sum(path.step_errors**2)) for path in fit.paths)
            freedom = float(fit.sensitivity.freedom[: fit.paths[0].step_errors.shape[1]].sum())
            slope = float(np.log10(freedom / max(squares, 1e-300)))
            report(progress, "choosing the weight", detail=f"weight {method.weight:.3g}")
            rigid = freedom < self.fewest and slope > 0
            if abs(slope) < self.settled or rigid or stop_requested(stop):
                break
            step = slope
            if before is not None:
                by_secant = slope * (before[0] - now) / (slope - before[1])
                # where nothing is lacking the slope hardly falls
                step = by_secant if by_secant * slope > 0 else 3 * slope
            before = now, slope
            step = float(np.clip(step, -self.longest, self.longest))
            method = replace(method, weight=10 ** (now + step), reference=fit.theta)
        assert fit is not None
        return method, fit


def solve_from(
    method: JointSmoothing, problem: JointSmoothingProblem, begun: JointFit | None, **reports: Any
) -> JointFit:
    """The fit, from another fit's theta and states; `reports` are `progress` and `stop`."""
    if begun is not None:
        problem = replace(problem, theta=begun.theta, guess=begun.paths)
    return method.solve(problem, **reports)
