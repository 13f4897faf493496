"""Joint smoothing: recordings of a mechanism -> an estimate of its parameters and of its motion.

    problem  = JointSmoothingProblem.from_recordings(mechanism, [recording], ("pendulum.Jxx", "elbow.drag"))
    estimate = JointEstimation(JointSmoothing(noise=(1e-3, 1e-3))).solve(problem)

Residuals of steps are weighted by the inertia at the estimated theta (`Form.by_inertia`). Fit and validation report
predictions (`prediction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Brief
from ...estimate import Certificate, Estimate, Status, motions_of
from ...models.maximal import State
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from ...stopwatch import Stopwatch
from .examination import JointExamination
from .problem import JointSmoothingProblem
from .results import BodyMotions, RecordFit
from .smoothing import JointSmoothing, RecordEquations
from .summary import Summary
from .weight import ChosenWeight, WeightChoice


@dataclass(frozen=True, eq=False, repr=False)
class WeightedProblem(Brief):
    """A problem with the method that weights its residuals, for certificates of estimates."""

    problem: JointSmoothingProblem
    method: JointSmoothing

    def certify(self, estimate: Estimate) -> Certificate:
        """Stationarity and bounds at the estimate's values and motions; nothing is iterated."""
        theta, bounds = np.asarray(estimate.values, dtype=float), self.problem.parameters
        tolerance = float(np.sqrt(self.method.tolerance))
        if not np.isfinite(theta).all():
            return Certificate(float("inf"), False, tolerance)
        # evaluated within the bounds: a mass below 0 has no residuals; `holds` reports the violation
        inside = np.clip(theta, bounds.lower, bounds.upper)
        names = tuple(name for name, _ in self.problem.model.mechanism.coordinates)
        motions, guess = motions_of(estimate), []
        bodies: Sequence[State | None] = estimate.extra(BodyMotions) or [None] * len(motions)
        for motion, record, states in zip(motions, self.problem.records, bodies, strict=True):
            y, rate = (motion.path.stack(quantity, names) for quantity in ("position", "velocity"))
            guess.append(RecordFit.at(record, y, rate, states))
        at_values = replace(self.problem, theta=inside, guess=guess)
        stationarity = RecordEquations(self.method, at_values).start().stationarity()
        return Certificate(stationarity, bounds.holds(theta), tolerance)


@dataclass(frozen=True)
class JointEstimation(Method):
    """Estimate of states and parameters together (Lacoursiere 2007).

    Args:
        method: weights and form.
        weight_choice: choice of the weight, in place of that of the method; None: the weight of the method.
        settled: see `JointSmoothing.settled`; a tenth of a standard deviation does not matter.
    """

    method: JointSmoothing
    weight_choice: WeightChoice | None = None
    settled: float = 0.1

    name = "joint-smoothing"
    citations = ("lacoursiere2007", "newey1987")

    def solve(
        self,
        problem: JointSmoothingProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Estimate:
        """Estimate.

        Args:
            progress: called after each weight that was tried and after each iteration.
            stop: called between iterations and weights; if it returns True, the estimate is the one so far.

        Raises:
            InvalidMethod, InvalidSignals: if a name, a bound or a record is wrong.
        """
        watch = Stopwatch()
        method = replace(self.method, reference=problem.parameters.theta, settled=self.settled)
        problem.check_motion(method.noise_of(problem.model))
        chosen: ChosenWeight | None = None
        if self.weight_choice is None:
            fit = method.solve(problem, progress=progress, stop=stop)
        else:
            chosen = self.weight_choice.choose(method, problem, progress=progress, stop=stop)
            method, fit = chosen.method, chosen.fit
            watch.lap("weight")
        if not stop_requested(stop):
            # weighted by the estimated inertia, and with the standard deviations of states for reports
            method = replace(method, reference=fit.theta, state_std=True)
            begun = replace(problem, theta=fit.theta, guess=fit.paths)
            again = method.solve(begun, progress=progress, stop=stop)
            fit = replace(again, history=(*fit.history, *again.history[1:]))
        watch.lap("solve")
        problem = replace(problem, held_out=problem.held_out_by_own_zeros(self.method, fit.theta))
        summary = Summary(problem, method, fit, chosen)
        estimate = summary.estimate()
        watch.lap("summary")
        if fit.status is not Status.interrupted and not stop_requested(stop):
            report(progress, "validating")
            estimate = estimate.updated(
                fit=summary.predictions(problem.records, fit.paths), validation=tuple(summary.validated())
            )
        watch.lap("validation")
        return estimate.updated(
            method=self.name,
            citations=self.citations,
            # a kink may have stopped the iteration before the tolerance
            problem=WeightedProblem(problem, replace(method, tolerance=max(method.tolerance, fit.remaining))),
            examiner=JointExamination(problem, method, fit).diagnose,
            seconds=watch.seconds,
        )
