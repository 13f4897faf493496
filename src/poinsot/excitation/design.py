"""Optimal excitation: the most informative motion of a robot within its limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from ..arrays import LARGEST, Float, Vector
from ..estimate import Status
from ..exceptions import InvalidMethod
from ..solve import Method, ProgressCallback, Stop, report, stop_requested
from .criterion import Criterion, condition_number, log_condition_number, log_determinant, log_mean_deviation
from .excitation import Excitation, predicted_covariance
from .problem import ExcitationProblem
from .search import MotionSearch, SearchState
from .trajectory import Basis, FourierSeries


@dataclass(frozen=True)
class OptimalExcitation(Method):
    """The best of several locally optimal motions.

    Args:
        criterion: `"condition"`: the condition number of the regressor with columns at unit norm; `"d-optimal"`: the
            determinant of the information, the inverse covariance of the parameters.
        basis: functions of which the motion is a combination.
        starts: number of random initial motions.
        seed: seed of these motions; the same seed gives the same result.
        information_weight: a motion that lowers all standard deviations by a factor e may have a condition number
            larger by a factor e^weight. 0: only the condition number, which lets columns shrink to noise.
        legs: maximum number of optimizer legs from each start.
        max_seconds: time after which no further leg begins if a motion was found, or after twice this time in any
            case; the first leg does not count. The result then depends on the speed of the machine, and says so.
    """

    criterion: Literal["condition", "d-optimal"] = "condition"
    basis: Basis = field(default_factory=FourierSeries)
    starts: int = 4
    seed: int = 0
    information_weight: float = 0.3
    legs: int = 24
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        if self.criterion not in ("condition", "d-optimal"):
            raise InvalidMethod(f"the criterion is 'condition' or 'd-optimal', not {self.criterion!r}")
        if self.starts < 1 or self.legs < 1 or self.seed < 0 or not 0 <= self.information_weight < LARGEST:
            raise InvalidMethod(
                "a design needs at least one start and one leg, a seed and a finite information_weight of at least 0"
            )
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise InvalidMethod(f"max_seconds must be above 0, not {self.max_seconds:g}")

    def objective(self, W: Float[np.ndarray, "T n b"], torque_std: Vector, sharpness: float) -> Criterion:
        """The objective, a logarithm, and its gradient by the regressor of all samples.

        The noise is `torque_std` (n,); for the sharpness see `log_condition_number`.
        """
        f, df = log_mean_deviation(W, torque_std)
        if self.criterion == "d-optimal":
            return f, df
        g, dg = log_condition_number(W, sharpness)
        return g + self.information_weight * f, dg + self.information_weight * df

    def solve(
        self,
        problem: ExcitationProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
        resume: SearchState | None = None,
    ) -> Excitation:
        """Design a motion.

        Args:
            problem: the problem to solve.
            progress: called after each leg. stop: called after each leg; True: the result is the best motion so far.
            resume: state in which an earlier search for the same problem by the same method stopped.

        Raises:
            InvalidMethod: if no motion was found that keeps within all limits.
        """
        for state in self.search(problem, resume):
            report(progress, "searching motions", iteration=state.iterations, fraction=self.fraction(state))
            if not state.done and stop_requested(stop):
                return self.finish(problem, state, interrupted=True)
        return self.finish(problem, state)

    def fraction(self, state: SearchState) -> float:
        """Part of the search that is done: of its starts, or of its time if that is more."""
        by_time = 0.0 if self.max_seconds is None else state.seconds / self.max_seconds
        return min(max((state.start + state.leg / self.legs) / self.starts, by_time), 1.0)

    def search(self, problem: ExcitationProblem, resume: SearchState | None = None) -> Iterator[SearchState]:
        """The state after each leg, until all starts are done or the time is up; arguments as `solve`."""
        search, before = MotionSearch(problem, self), 0.0 if resume is None else resume.seconds
        began: float | None = None
        # threads on matrices this small cost more than they save
        with threadpool_limits(limits=1, user_api="blas"):
            state = search.begin() if resume is None else resume
            if state.done:
                yield state
            while not state.done:
                state = search.advance(state)
                # the first leg does not count: it may compile inner loops, and the limit is one for the search
                began = time.perf_counter() if began is None else began
                seconds = before + time.perf_counter() - began
                state = replace(state, seconds=seconds)
                yield state
                if self.max_seconds is not None:
                    # a search that has found no motion yet may continue for twice the time
                    patience = 1 if state.best is not None else 2
                    if seconds > patience * self.max_seconds:
                        return

    def finish(
        self, problem: ExcitationProblem, state: SearchState, *, interrupted: bool = False
    ) -> Excitation:
        """The result of a search, checked again, with its predictions; `interrupted`: `stop` ended it."""
        if state.best is None:
            raise InvalidMethod(
                f"no motion within all limits was found after {state.iterations} iterations: {state.failure}; "
                "widen that limit, give the motion more time, or try more starts"
            )
        search, warnings = MotionSearch(problem, self), list(problem.warnings)
        q, v, a = search.motion(state.best, problem.time)
        entries = problem.terms.entries(q, v, a)
        W = problem.terms.W(entries)
        # distances are evaluated at more times than samples are taken
        closely, _, _ = search.motion(state.best, problem.checked_time)
        distances = problem.collisions.distances(problem.robot.configurations(closely))
        status = Status.solved if state.done else Status.step_limit
        if interrupted:
            status = Status.interrupted
            warnings.append(f"the search was stopped with {state.start} of {self.starts} starts done")
        elif not state.done:
            warnings.append(
                f"the search ended after {state.seconds:.0f} s, with {state.start} of {self.starts} starts done: "
                "the result depends on the speed of this machine"
            )
        return Excitation(
            problem,
            self,
            state,
            q=q,
            v=v,
            a=a,
            tau=problem.terms.torques(entries),
            covariance=predicted_covariance(problem, W),
            limits_respected=bool(search.check(state.best).max(initial=-np.inf) <= 0),
            least_distance=float(distances.min()) if distances.size else None,
            condition_number=condition_number(W),
            log_determinant=log_determinant(W, problem.torque_std),
            warnings=tuple(warnings),
            status=status,
        )
