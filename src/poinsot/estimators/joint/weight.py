"""The weight of the model against the readings, from the recordings themselves (the paper leaves kappa to its user).

With residuals of steps e and their effective degrees of freedom f (`sensitivity`), states and theta integrated out, the
marginal likelihood of the readings (MacKay 1992, in Laplace's approximation) has the slope

    d log L / d log kappa = (f - kappa |p|^2) / 2

so that it is stationary where residuals of steps are as large as kappa says, each divided by what the states have not
taken of it. Where it is not, kappa f / (kappa |p|^2) is nearer. That assumes that what the model lacks is white. What
real mechanisms lack persists, so weights `decades` apart are tried from there, as long as their fits predict readings
better over windows (`prediction`), from states that did not see them.
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
        decades: from the most likely weight to the first whose predictions are compared with it.
        better: factor by which predictions must improve for another than the most likely weight: errors of some twenty
            windows have a standard deviation of 16 %.
        most: number of weights whose predictions are compared, at most.
        tolerance: of the fits meanwhile, see `JointSmoothing`.

    Raises:
        InvalidMethod: if a number has no meaning.
    """

    rounds: int = 8
    settled: float = 0.25
    longest: float = 3.0
    fewest: float = 3.0
    decades: float = 1.0
    better: float = 1.15
    most: int = 5
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        if not (self.rounds >= 1 and self.settled > 0 and self.decades > 0 and self.better >= 1):
            raise InvalidMethod("a choice of weights needs rounds >= 1, settled and decades > 0, better >= 1")

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
        tolerance = max(method.tolerance, self.tolerance)
        quick = replace(method, state_std=False, tolerance=tolerance)
        quick, fit, rigid = self._most_likely(quick, problem, progress, stop)
        folds = halves(problem, fit)
        scores: dict[float, float] = {}

        def score(weight: float) -> float:
            """Error of each half, predicted by the fit of the other."""
            own, errors = replace(quick, weight=weight), []
            for half, other in (folds, folds[::-1]):
                at = own.solve(half, stop=stop)
                found = predicted(own, problem.model, other.records, at.theta, other.guess)
                error = relative_errors(problem.model, found)
                errors.append(float(np.mean(error[~np.isnan(error)] ** 2)) if at.converged else np.inf)
            scores[weight] = float(np.sqrt(np.mean(errors)))
            detail = f"weight {weight:.3g}: other recordings predicted to {100 * scores[weight]:.3g} %"
            report(progress, "choosing the weight", detail=detail)
            return scores[weight]

        for factor, patience in () if rigid else ((10**self.decades, 2), (10**-self.decades, 1)):
            weight, step, worse = quick.weight, factor, 0
            best = scores[weight] if weight in scores else score(weight)
            while worse < patience and len(scores) < self.most and not stop_requested(stop):
                # twice as far after the first, since far from the best weight errors change slowly
                weight, step = weight * step, factor**2
                worse = 0 if score(weight) < best else worse + 1
                best = min(best, scores[weight])
            if min(scores.values()) * self.better < scores[quick.weight]:  # it is better on this side
                break
        # the most likely one, unless another predicts clearly better
        chosen = min(scores, key=scores.__getitem__, default=quick.weight)
        if scores and not scores[chosen] * self.better < scores[quick.weight]:
            chosen = quick.weight
        method = replace(quick, weight=chosen, state_std=method.state_std, tolerance=method.tolerance)
        if chosen != quick.weight:
            fit = solve_from(method, problem, fit, stop=stop)
        tried = sorted(scores)
        return ChosenWeight(method, fit, np.array(tried), np.array([scores[each] for each in tried]))

    def _most_likely(
        self,
        method: JointSmoothing,
        problem: JointSmoothingProblem,
        progress: ProgressCallback | None,
        stop: Stop | None,
    ) -> tuple[JointSmoothing, JointFit, bool]:
        """The method with the most likely weight, its fit, and whether steps are as good as rigid there."""
        fit: JointFit | None = None
        before: tuple[float, float] | None = None
        # the residuals of the initial guess are larger than those of a fit: the weight rises from there
        method = replace(method, weight=RecordEquations(method, problem).start().own_weight)
        for _ in range(self.rounds):
            new = solve_from(method, problem, fit, stop=stop)
            if fit is not None and before is not None and fit.converged and not new.converged:
                # a kink, or a motion that is chaotic
                return replace(method, weight=10 ** before[0]), fit, False
            fit, now, rigid = new, float(np.log10(method.weight)), False
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
        return method, fit, rigid


def halves(problem: JointSmoothingProblem, fit: JointFit) -> list[JointSmoothingProblem]:
    """Two problems of every other record, or of the halves of the only one, that begin at a fit of all."""
    parts = list(zip(problem.records, fit.paths, strict=True))
    if len(parts) == 1:
        ((record, path),) = parts
        middle = len(record.times) // 2
        parts = [(record.samples(cut), path.samples(cut)) for cut in (slice(middle), slice(middle, None))]
    return [
        replace(problem, records=records, guess=paths, theta=fit.theta)
        for records, paths in (zip(*parts[k::2], strict=True) for k in (0, 1))
    ]


def solve_from(
    method: JointSmoothing, problem: JointSmoothingProblem, begun: JointFit | None, **reports: Any
) -> JointFit:
    """The fit, from another fit's theta and states; `reports` are `progress` and `stop`."""
    if begun is not None:
        problem = replace(problem, theta=begun.theta, guess=begun.paths)
    return method.solve(problem, **reports)
