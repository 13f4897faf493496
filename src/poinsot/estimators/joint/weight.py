"""The weight of the model against the readings, chosen by cross-validation (the paper leaves kappa to its user).

Too small, and the states follow noise; too large, and what the model lacks distorts theta. So readings are left out in
blocks of time, states and theta are estimated from the others, and the blocks predicted,

    score(kappa) = mean of ((h(x_k; theta) - z_k) / sigma)^2   over readings that were left out,

each reading once: every other block of a record, then the blocks between. A small kappa does not predict the motion
within a block, a large one predicts a wrong one. The score is flat near its minimum; of the weights whose score is
nearly the lowest the largest is taken, since what the model can explain should be explained by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ...exceptions import InvalidMethod
from ...solve import ProgressCallback, Stop, report, stop_requested
from .problem import JointSmoothingProblem
from .records import Record, full_turns_off
from .results import JointFit
from .smoothing import JointSmoothing


@dataclass(frozen=True, eq=False)
class ChosenWeight:
    """A weight and why.

    Args:
        weight: kappa.
        tried: (k,) weights, rising. scores: (k,) of each, in variances of a reading.
    """

    weight: float
    tried: Float[np.ndarray, "k"]
    scores: Float[np.ndarray, "k"]


@dataclass(frozen=True)
class WeightChoice:
    """Cross-validation of the weight.

    Args:
        weights: to try, rising; None: `span` on each side of the method's own, `decades` apart.
        decades: between one weight and the next: the score changes little within one decade.
        span: number of weights on each side.
        blocks: that are left out of a record at a time, with as many between them.
        nearly_best: factor of the lowest score up to which a weight is as good as the best: with some hundred readings
            a score has a standard deviation of 5 % or more.

    Raises:
        InvalidMethod: if a number has no meaning.
    """

    weights: Sequence[float] | None = None
    decades: float = 2.0
    span: int = 3
    blocks: int = 10
    nearly_best: float = 1.05

    def __post_init__(self) -> None:
        if not (self.decades > 0 and self.span >= 0 and self.blocks >= 1 and self.nearly_best >= 1):
            raise InvalidMethod("a choice of weights needs decades > 0, blocks >= 1 and nearly_best >= 1")

    def choose(
        self,
        method: JointSmoothing,
        problem: JointSmoothingProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> ChosenWeight:
        """The weight that predicts left-out readings best; stopped, the best until then, or the method's own.

        Raises:
            InvalidMethod, InvalidSignals: as `JointSmoothing.solve`.
        """
        around = range(-self.span, self.span + 1)
        weights = self.weights or [method.weight * 10 ** (self.decades * k) for k in around]
        scores: list[float] = []
        # one fit of all readings: each weight begins there and needs few iterations
        begun = method.solve(problem, stop=stop)
        for k, weight in enumerate(weights):
            own = replace(method, weight=float(weight))
            found = self.score(own, problem, begun, stop=stop)
            if stop_requested(stop):
                break  # a score that was cut short compares with no other
            scores.append(found)
            report(
                progress,
                "choosing the weight",
                fraction=(k + 1) / len(weights),
                detail=f"weight {weight:.3g}: left-out readings have an rms error of {np.sqrt(found):.3g} sigma",
            )
        tried, values = np.array(weights[: len(scores)], dtype=float), np.array(scores)
        if not scores:
            return ChosenWeight(method.weight, tried, values)
        # the largest of those that are as good as the best, see above
        good = np.flatnonzero(values <= self.nearly_best * values.min())
        return ChosenWeight(float(tried[good[-1]]), tried, values)

    def score(
        self,
        method: JointSmoothing,
        problem: JointSmoothingProblem,
        begun: JointFit,
        *,
        stop: Stop | None = None,
    ) -> float:
        """Mean squared error of left-out readings, in variances; `begun` is a fit of all records, to begin at."""
        whole = method.solve(replace(problem, theta=begun.theta, guess=begun.paths), stop=stop)
        noise, angular = method.noise_of(problem.model), problem.model.angular
        squares, count = 0.0, 0
        for odd in (0, 1):
            left_out = [self.left_out(record, odd) for record in problem.records]
            parts = [
                replace(record, z=np.where(out[:, None], np.nan, record.z))
                for record, out in zip(problem.records, left_out, strict=True)
            ]
            found = method.solve(
                replace(problem, records=parts, theta=whole.theta, guess=whole.paths), stop=stop
            )
            for path, record, out in zip(found.paths, problem.records, left_out, strict=True):
                error = full_turns_off(path.expected[out] - record.z[out], angular) / noise
                error = error[np.isfinite(error)]
                squares, count = squares + float(np.sum(error**2)), count + len(error)
        return squares / max(count, 1)

    def left_out(self, record: Record, odd: int) -> np.ndarray:
        """(N,) whether a sample is left out; the first and the last block never are."""
        along = (record.times - record.times[0]) / (record.times[-1] - record.times[0])
        place = np.floor(along * (2 * self.blocks + 2))
        return np.asarray((place % 2 == odd) & (place > 0) & (place < 2 * self.blocks + 1))
