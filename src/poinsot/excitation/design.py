"""Optimal excitation: the most informative motion of a robot within its limits.

A checkpoint is the state of a search in a file, from which a later run resumes exactly. The file also has the inputs of
the search. A run with other inputs is refused; the error names the first that differs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from os.path import isfile
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Lt
from threadpoolctl import threadpool_limits

from ..arrays import LARGEST, Float, Vector
from ..estimate import Status
from ..exceptions import InvalidMethod, UnreadableFile
from ..io.npz import DAMAGED
from ..io.results import plain
from ..io.writing import atomic_path
from ..ranges import Count, Positive, Seed, check_ranges
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
    starts: Count = 4
    seed: Seed = 0
    information_weight: Annotated[float, Ge(0), Lt(LARGEST)] = 0.3
    legs: Count = 24
    max_seconds: Positive | None = None

    def __post_init__(self) -> None:
        check_ranges(self)

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


FORMAT = "poinsot.excitation-search/1"
LIMITS = ("lower", "upper", "velocity", "acceleration", "torque")
OF_PROBLEM = ("duration_s", "rate_hz", "clearances", "torque_std", "start")
OF_METHOD = ("criterion", "seed", "information_weight", "legs")
ARRAYS = ("coefficients", "times", "multipliers", "best")


def write_checkpoint(
    path: str | Path, state: SearchState, problem: ExcitationProblem, method: OptimalExcitation
) -> None:
    """Write the state of a search, completely or not at all."""
    numbers = {field.name: getattr(state, field.name) for field in fields(state) if field.name not in ARRAYS}
    arrays = {name: getattr(state, name) for name in ARRAYS if getattr(state, name) is not None}
    # json keeps every digit, and infinity, which the strict JSON of results does not allow
    text = json.dumps({"format": FORMAT, "state": numbers, "job": _job(problem, method)})
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, text=np.array(text), **arrays)


def read_checkpoint(path: str | Path, problem: ExcitationProblem, method: OptimalExcitation) -> SearchState:
    """The state in which a search for this problem by this method stopped. A later run may have more starts."""
    path = Path(path)
    if not isfile(path):
        raise UnreadableFile(f"there is no checkpoint {path} to resume from")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            content = json.loads(str(file["text"]))
            arrays = {name: file[name] for name in ARRAYS if name in file}
        if content["format"] != FORMAT:
            raise UnreadableFile(f"{path} is a checkpoint of another version of poinsot; start anew")
        state = SearchState(**content["state"], **arrays)
    except DAMAGED:
        raise UnreadableFile(f"{path} is not a checkpoint of a search for a motion") from None
    for key, wanted in _job(problem, method).items():
        if content["job"].get(key) != wanted:
            raise InvalidMethod(
                f"{path} belongs to another search: {key} is {_short(content['job'].get(key))} there and "
                f"{_short(wanted)} here; use the same, or start anew"
            )
    # a search that was done continues if there are more starts now
    return replace(state, done=state.done and state.start + 1 >= method.starts)


def _job(problem: ExcitationProblem, method: OptimalExcitation) -> dict[str, Any]:
    """All that a search depends on, as plain values."""
    robot = {"robot": problem.robot.name, "joints": problem.robot.joints}
    other = {"basis": repr(method.basis), "parameters": problem.base.names, "model": problem.theta}
    own = {
        name: getattr(owner, name)
        for owner, names in ((problem, OF_PROBLEM), (method, OF_METHOD))
        for name in names
    }
    limits = {name: getattr(problem.limits, name) for name in LIMITS}
    return dict(plain({**robot, **own, **limits, **other, "watched": problem.collisions.pairs}))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
