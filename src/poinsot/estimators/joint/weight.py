"""The weight of the model against the readings, from the recordings themselves (Lacoursiere leaves kappa to the user).

By likelihood, then by prediction, as docs/concepts/joint_smoothing.md says; both on the linearization of one fit for a
whole grid of weights (`other_weights`). Each fit starts from another one, the first with the weight of the residuals of
the initial guess: this weight is low, and fits from a far initial guess converge with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Bool, Float, Vector
from ...exceptions import InvalidMethod
from ...solve import ProgressCallback, Stop, report, stop_requested
from .other_weights import OVERLAP, other_weights
from .problem import JointSmoothingProblem
from .results import JointFit
from .smoothing import JointIterate, JointSmoothing, RecordEquations


@dataclass(frozen=True, eq=False)
class ChosenWeight:
    """A weight and why.

    Args:
        method: method with the weight, and with the reference of its residuals.
        fit: fit of this method.
        likeliest: weight with the largest likelihood of the readings.
        tried: (k,) weights whose predictions were compared, rising. scores: (k,) rms errors of predicted readings,
            relative to the spread of the readings.
        fits: number of fits for the choice.
    """

    method: JointSmoothing
    fit: JointFit
    likeliest: float
    tried: Float[np.ndarray, "k"]
    scores: Float[np.ndarray, "k"]
    fits: int

    @property
    def weight(self) -> float:
        """kappa."""
        return self.method.weight

    @property
    def reason(self) -> str:
        """Why this weight, in sentences."""
        if not len(self.scores):
            return "No weight was compared: the motions of the first fit cannot be linearized."
        own, best = np.abs(np.log(self.tried / self.weight)).argmin(), self.scores.argmin()
        sentence = (
            f"If process noise is white, {self.likeliest:.2g} is the most likely weight. Readings are predicted, from "
            f"states and parameters estimated without them, best with {self.tried[best]:.2g}, to "
            f"{100 * self.scores[best]:.3g} % of their spread"
        )
        if own == best:
            return sentence + "."
        return (
            f"{sentence}; with the chosen {self.weight:.2g} to {100 * self.scores[own]:.3g} %. Of the weights whose "
            "predictions are worse by no more than the standard error of the difference it is the most likely."
        )


@dataclass(frozen=True)
class WeightChoice:
    """Choice of the weight by marginal likelihood and prediction.

    Args:
        rounds: largest number of fits in the search for the most likely weight, and of as many from there.
        step: step of the grid of log10 of the weight. reach: range of the grid from a fit's weight.
        settled: change of log10 of the weight at which the search for the most likely one ends.
        higher: step from a fit to the next one above it, in log10 of the weight: a linearization must hold for half
            of it.
        as_likely: drop of the log likelihood of a 95 % interval (Wilks 1938). Within it the lowest weight is chosen:
            without model errors all large ones are as likely, and fits with low ones converge.
        iterations, tolerance: settings of the fits of the search, see `JointSmoothing`; a linearization needs no more.

    Raises:
        InvalidMethod: if a number has no meaning.
    """

    rounds: int = 4
    step: float = 0.5
    reach: float = 3.0
    settled: float = 1.0
    higher: float = 3.0
    as_likely: float = 1.92
    iterations: int = 10
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if not (self.rounds >= 1 and self.reach >= self.step > 0):
            raise InvalidMethod("a choice of weights needs rounds >= 1 and reach >= step > 0")

    def choose(
        self,
        method: JointSmoothing,
        problem: JointSmoothingProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> ChosenWeight:
        """The weight with its fit; if stopped, the last one. Errors are those of `JointSmoothing.solve`."""
        quick = replace(method, tolerance=max(method.tolerance, self.tolerance))
        quick = replace(quick, max_iterations=min(method.max_iterations, self.iterations))
        away = np.arange(-self.reach, self.reach + self.step / 2, self.step)
        # log10 of a weight, that of its fit, its log likelihood, and errors of windows
        rows: list[np.ndarray] = []
        # states and theta of the fit with a weight, by its log10
        fits: dict[float, tuple[list[np.ndarray], Vector]] = {}

        latest = RecordEquations(method, problem).start()

        def ended(x: list[np.ndarray], theta: Vector) -> JointIterate:
            """Where a fit ended, with its inertia as the reference."""
            equations = RecordEquations(replace(method, reference=theta), replace(problem, theta=theta))
            return JointIterate(equations, x, theta)

        def start(at: float) -> JointIterate:
            """Where the fit nearest to the weight 10^at ended, with this weight."""
            nearest = min(fits, key=lambda log_weight: abs(log_weight - at), default=None)
            x, theta = (latest.x, latest.theta) if nearest is None else fits[nearest]
            return (latest if theta is latest.theta else ended(x, theta)).weighing(10**at)

        def fit_weight(at: float) -> np.ndarray:
            nonlocal latest
            end = quick.iteration.minimize(start(at), stop=stop).at
            fits[at], latest = (end.x, end.theta), ended(end.x, end.theta)
            likely, errors = other_weights(latest, 10 ** (at + away))
            rows.append(np.column_stack([at + away, np.full(len(away), at), likely, errors]))
            report(progress, "choosing the weight", detail=f"weight {10**at:.3g}")
            return rows[-1]

        at = float(np.log10(latest.own_weight))
        for _ in range(self.rounds):
            grid, before = fit_weight(at), at
            at = self.most_likely(grid)
            if not abs(at - before) > self.settled or stop_requested(stop):
                break
        # with larger weights as likely steps are as good as rigid
        rigid = not grid[-1, 2] <= grid[:, 2].max() - self.as_likely
        likeliest, best = at, np.nanmean(grid[len(away) // 2, 3:])
        for _ in range(0 if rigid else self.rounds):
            if stop_requested(stop):
                break
            before += self.higher
            error = np.nanmean(fit_weight(before)[len(away) // 2, 3:])
            if not error < best:
                break
            best = error
        table = np.concatenate(rows)
        # for each weight the values of the nearest fit
        table = table[np.argsort(np.abs(table[:, 0] - table[:, 1]), kind="stable")]
        table = table[np.unique(np.round(table[:, 0] / self.step), return_index=True)[1]]
        errors = table[:, 3:][:, np.isfinite(table[:, 3:]).any(axis=0)]
        usable = np.isfinite(np.c_[table[:, 2], errors]).all(axis=1)
        table, errors, at = table[usable], errors[usable], min(fits)
        if usable.any():  # none is where even the first fit has diverged
            at = self.most_likely(table[as_good(errors, errors[np.argmin(errors.mean(axis=1))])])
        begun = start(at)
        fit = begun.equations.result(begun, method.iteration.minimize(begun, stop=stop))
        tried, scores = 10 ** table[:, 0], np.exp(errors.mean(axis=1))
        return ChosenWeight(begun.equations.method, fit, 10**likeliest, tried, scores, len(fits) + 1)

    def most_likely(self, rows: np.ndarray) -> float:
        """log10 of the lowest weight that is as likely as any."""
        finite = rows[np.isfinite(rows[:, 2])]
        near = finite[:, 2] > finite[:, 2].max(initial=-np.inf) - self.as_likely
        return float(finite[near, 0].min()) if len(finite) else float(np.nan)


def as_good(errors: Float[np.ndarray, "K W"], best: Vector) -> Bool[np.ndarray, "K"]:
    """Whether errors of windows exceed others (W,) on average by no more than the standard error of the difference."""
    worse = errors - best
    return np.asarray(worse.mean(axis=1) <= worse.std(axis=1) / np.sqrt(max(len(best) / OVERLAP, 1)))
