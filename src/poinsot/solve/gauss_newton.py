"""Damped Gauss-Newton: the one iteration behind every nonlinear method of the package.

    minimize  F(x)   subject to   c(x) = 0,        F half of a sum of squares, near x of the form
                                                   F(x + alpha d) = F(x) - m(alpha),  m the predicted decrease

    repeat    d(mu) from the linearization at x, damped by mu (Levenberg and Marquardt)
              solved where |J d|^2 / 2 <= absolute + relative F, with little damping and closed constraints
              nu <- max(0.9 nu, -m(1) / ((1 - rho) e)),  e = |c|_1                                    penalty
              alpha = 1, 1/2, ... >= shortest  until
                  F + nu e  falls from the largest of the last `memory` by at least eta (m + alpha nu e)    Armijo
              mu from the result of the step

The merit F + nu e and its penalty are those of Martinez, Mastalli et al., Eqs. 37 and 38; without constraints it is F.
With `shortest = 1` there is no line search: a step that fails is tried again with more damping.

|J d| is the length of the undamped step in standard deviations. Without constraints m(1) = |J d|^2 / 2. With them m has
a term multiplier . c, which rounding keeps above zero: for 120 nodes of a quadruped with c = 4e-15 it stays at 5e-12,
a tenth of what a step of 1e-5 standard deviations predicts; so the test is not on m.

The damping follows one of two rules: the gain ratio of the actual to the predicted decrease (Nielsen 1999; Madsen,
Nielsen and Tingleff 2004, Eq. 2.21), or the step length that a line search accepted.

A method provides an `Iterate`: a point with its cost, and the step direction from there. The linear algebra (dense,
banded with a border, a Riccati recursion) is part of the method.

Every `solve` of the package takes progress and stop:

    estimate = method.solve(problem, progress=print, stop=lambda: time.monotonic() > deadline)

`progress` is called before each stage and after each iteration. `stop` is called between iterations; once it returns
True, the method ends with its current result, as `Status.interrupted`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ..arrays import Vector
from ..estimate.status import Status


@dataclass(frozen=True)
class Progress:
    """One report of a running method; `str` gives one line for a terminal.

    Args:
        stage: name of the current stage: `"smoothing"`, `"iterating"`.
        iteration: number of iterations completed; None outside of iterations.
        cost: half of the sum of squared whitened residuals at this point.
        fraction: part of the stage that is done, 0 to 1; None where that is unknown.
        detail: further text, such as damping and step length.
    """

    stage: str
    iteration: int | None = None
    cost: float | None = None
    fraction: float | None = None
    detail: str = ""

    def __str__(self) -> str:
        words = (
            self.stage,
            "" if self.iteration is None else f"iteration {self.iteration}",
            "" if self.fraction is None else f"{100 * self.fraction:.0f} %",
            "" if self.cost is None else f"cost {self.cost:.6g}",
            self.detail,
        )
        return ", ".join(filter(None, words))


ProgressCallback = Callable[[Progress], None]
Stop = Callable[[], bool]
"""Called between iterations: True ends the method with its current result."""


def report(progress: ProgressCallback | None, stage: str, **fields: object) -> None:
    """Call `progress`, if there is one, with a `Progress` of these fields."""
    if progress is not None:
        progress(Progress(stage, **fields))  # type: ignore[arg-type]


def stop_requested(stop: Stop | None) -> bool:
    """Whether `stop` was given and returns True."""
    return stop is not None and stop()


I = TypeVar("I", bound="Iterate")


class DampedStep(ABC, Generic[I]):
    """A step from an iterate, computed with some damping."""

    @abstractmethod
    def predicted(self, alpha: float) -> float:
        """Decrease of the cost that the linearization predicts for the step times alpha; negative: an increase."""

    @abstractmethod
    def trial(self, alpha: float) -> I:
        """The iterate at the end of the step times alpha; its cost is infinite where the model has no finite value."""

    @property
    def decrement(self) -> float:
        """|J d|^2 / 2, which is compared with the tolerance."""
        return self.predicted(1.0)

    def adapt(self, alpha: float) -> None:
        """Adapt a trust region to the step length that was accepted; 0: none was accepted."""


class Iterate(Protocol):
    """A point of the search, with what was computed there.

    `cost` is half of the sum of squared whitened residuals; `infeasibility` the sum of the absolute violations of
    equality constraints (0 without any), `largest_gap` the largest of them. The linearization may be lazy: `direction`
    is called for accepted iterates only, possibly several times with different damping.
    """

    @property
    def cost(self) -> float: ...

    @property
    def infeasibility(self) -> float: ...

    @property
    def largest_gap(self) -> float: ...

    @property
    def theta(self) -> Vector:
        """(p,) the parameters, which the record of iterations keeps."""

    def direction(self: I, damping: float) -> DampedStep[I] | None:
        """The step for this damping; None where the damped Hessian is not positive definite."""


@dataclass(frozen=True)
class GainRatio:
    """Damping from the gain ratio of a step, after Nielsen (1999).

        success   mu <- mu max(1/3, 1 - (2 rho - 1)^3), nu <- 2          failure   mu <- nu mu, nu <- 2 nu

    Args:
        first: damping of the first step, relative to the diagonal of the Hessian. least, most: its limits.
        little: damping up to which a small predicted decrease means a minimum, not a step shortened by damping.
    """

    first: float = 1e-3
    least: float = 1e-12
    most: float = 1e8
    little: float = 1e-2

    def accepted(self, damping: float, gain: float, alpha: float) -> float:
        return max(damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), self.least)

    def rejected(self, damping: float, failures: int) -> float:
        return max(damping, self.least) * 2.0**failures


@dataclass(frozen=True)
class StepLength:
    """Damping from the step length that a line search accepted: none where full steps succeed. `first`: damping of the
    first step; 0: none. `raised`: least damping after a raise. `least`, `most`: its limits. `factor`: by which
    it is raised and lowered. `long`, `short`: step lengths from which it is lowered, and up to which it is raised.
    `little`: damping up to which a small predicted decrease means a minimum.
    """

    first: float = 0.0
    raised: float = 1e-3
    least: float = 1e-7
    most: float = 1e8
    factor: float = 10.0
    long: float = 0.5
    short: float = 2.0**-6
    little: float = 0.0

    def accepted(self, damping: float, gain: float, alpha: float) -> float:
        if alpha >= self.long:
            return damping / self.factor if damping > self.least * self.factor else 0.0
        return self.rejected(damping, 1) if alpha <= self.short else damping

    def rejected(self, damping: float, failures: int) -> float:
        return max(self.raised, self.factor * damping)


@dataclass(frozen=True, eq=False)
class Iteration:
    """Record of one iteration. `number`: from 1. `cost`, `infeasibility`: after it. `predicted`: decrease of the cost
    predicted for the full step. `length`: of the full step, in standard deviations. `step_length`: alpha; 0 where
    no step was accepted. `trials`: number of step lengths and dampings tried. `damping`: damping of the step, relative
    to the diagonal of the Hessian. `penalty`: nu. `theta`: (p,) after it.
    """

    number: int
    cost: float
    infeasibility: float
    predicted: float
    length: float
    step_length: float
    trials: int
    damping: float
    penalty: float
    theta: Vector

    def __str__(self) -> str:
        gaps = f"gaps {self.infeasibility:.2g}, " if self.infeasibility > 0 else ""
        return f"{gaps}step {self.length:.2g} std x {self.step_length:.3g}, damping {self.damping:.0e}"


@dataclass(frozen=True, eq=False)
class Minimum(Generic[I]):
    """Where the iteration ended. `at`: the last accepted iterate. `status`: how it ended; `solved` only if the stopping
    test was passed. `history`: all iterations.
    """

    at: I
    status: Status
    history: tuple[Iteration, ...]

    @property
    def iterations(self) -> int:
        """Number of accepted steps."""
        return sum(iteration.step_length > 0 for iteration in self.history)


Search: TypeAlias = Generator[Any, Any, Minimum[I]]
"""A suspended iteration, see `GaussNewton.search`."""


@dataclass(frozen=True)
class GaussNewton:
    """The damped Gauss-Newton iteration.

    Args:
        max_iterations: maximum number of accepted steps and failed line searches.
        relative_tolerance, absolute_tolerance: a full step whose predicted decrease is at most
            absolute + relative cost is the last.
        gap_tolerance: the largest gap that counts as closed, in units of the constraints.
        damping: how the damping adapts.
        shortest: step lengths from 1 down to this one are tried; 1: no line search.
        memory: number of iterations whose largest merit a step is compared with; 1: the merit falls in every iteration.
        kink_factor: a rejected step, with little damping, whose predicted decrease is below this factor times the
            tolerance ends the search at a kink of the cost, where the linearization holds on one side only; 1: never.
        take_last: whether the step that passes the stopping test is still taken, where it raises neither cost nor gaps.
        armijo: eta, the part of the predicted decrease that a step must achieve in a line search.
        feasible_share: rho, the part of the merit's decrease that closing the constraints must bring.
        penalty_decay: least ratio of the penalty to that of the iteration before.
        rounding: relative rounding error of the merit, by which a line search lets it rise: 1e-13 is that of a sum of
            up to 1e6 squares of residuals in double precision.
    """

    max_iterations: int = 100
    relative_tolerance: float = 1e-10
    absolute_tolerance: float = 0.0
    gap_tolerance: float = 1e-8
    damping: GainRatio | StepLength = field(default_factory=GainRatio)
    shortest: float = 1.0
    memory: int = 1
    kink_factor: float = 1.0
    take_last: bool = False
    armijo: float = 1e-4
    feasible_share: float = 0.3
    penalty_decay: float = 0.9
    rounding: float = 1e-13

    def minimize(
        self, start: I, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Minimum[I]:
        """Iterate from `start`. `progress`: called after each iteration. `stop`: called before each."""
        search: Search[I] = _Search(self, start, progress, stop).run()
        answer: Any = None
        while True:
            try:
                answer = search.send(answer)  # directions and trials of a single problem are already computed
            except StopIteration as end:
                minimum: Minimum[I] = end.value
                return minimum

    def search(self, start: I, stop: Stop | None = None) -> Search[I]:
        """The same iteration as a generator: send back each yielded direction and trial, computed if it was deferred.

        A caller that solves many problems together computes what their searches wait for in one batch.
        """
        return _Search(self, start, None, stop).run()


class _Search(Generic[I]):
    """The state of a running iteration."""

    def __init__(self, method: GaussNewton, start: I, progress: ProgressCallback | None, stop: Stop | None):
        self.method, self.now, self.progress, self.stop = method, start, progress, stop
        self.damping, self.penalty = method.damping.first, 0.0
        # since the last accepted step: whether damping was reduced to `little`, and the Hessian was indefinite then
        self.undamped = self.indefinite = False
        self.history: list[Iteration] = []
        self.past: deque[tuple[float, float]] = deque(maxlen=method.memory)  # cost and infeasibility

    def run(self) -> Search[I]:
        if not self.now.cost < float("inf"):
            return self.ended(Status.diverged)
        self.past.append((self.now.cost, self.now.infeasibility))
        while len(self.history) < self.method.max_iterations:
            if stop_requested(self.stop):
                return self.ended(Status.interrupted)
            status = yield from self.iterate()
            if status is not None:
                return self.ended(status)
        return self.ended(Status.step_limit)

    def ended(self, status: Status) -> Minimum[I]:
        return Minimum(self.now, status, tuple(self.history))

    def iterate(self) -> Generator[Any, Any, Status | None]:
        """Make one accepted step, or a failed line search; return a status where the iteration ends."""
        rule, trials, failures = self.method.damping, 0, 0
        while True:
            direction = yield self.now.direction(self.damping)
            little = self.damping <= rule.little
            if direction is None:
                self.indefinite |= little
                if not self.raise_damping(failures := failures + 1):
                    return Status.indefinite
                continue
            closed, decrement = self.now.largest_gap <= self.method.gap_tolerance, direction.decrement
            short = closed and abs(decrement) <= self.tolerance()
            if short and little:
                self.take_last_step(direction)
                return Status.solved
            if short:  # damping shortens every step: test the undamped step, once
                if self.undamped:
                    return Status.indefinite if self.indefinite else Status.stalled
                self.damping, self.undamped = rule.little, True
                continue
            accepted, alpha, tried = yield from self.line_search(direction)
            trials += tried
            direction.adapt(alpha)
            if accepted is not None:
                self.accept(accepted, direction, alpha, trials)
                return None
            if closed and little and decrement <= self.method.kink_factor * self.tolerance():
                return Status.solved
            used = self.damping
            if not self.raise_damping(failures := failures + 1):
                return Status.stalled
            if self.method.shortest < 1:  # a failed line search counts as an iteration
                self.record(direction, 0.0, trials, used)
                return None

    def tolerance(self) -> float:
        """Decrement up to which a full step is the last."""
        method, cost = self.method, self.now.cost
        # below this, a step changes the residuals by less than their rounding errors
        least = 1e-8 * method.rounding * (1.0 + 2.0 * cost)
        return max(method.absolute_tolerance + method.relative_tolerance * cost, least)

    def raise_damping(self, failures: int) -> bool:
        """Raise the damping; return False where it was at its maximum."""
        # at the limit already: another try would give the same step
        if self.damping >= self.method.damping.most:
            return False
        self.damping = min(self.method.damping.rejected(self.damping, failures), self.method.damping.most)
        return True

    def line_search(self, direction: DampedStep[I]) -> Generator[Any, Any, tuple[I | None, float, int]]:
        """Find the first step length whose merit decreases enough; return the iterate, the length and the trials."""
        method, e = self.method, self.now.infeasibility
        if e > 0:
            needed = -direction.predicted(1.0) / ((1.0 - method.feasible_share) * e)
            self.penalty = max(method.penalty_decay * self.penalty, needed)
        nu = self.penalty
        # older merits are computed with the newest penalty
        reference = max(cost + nu * infeasibility for cost, infeasibility in self.past)
        searches = method.shortest < 1
        slack, share = (method.rounding * (1.0 + abs(reference)), method.armijo) if searches else (0.0, 0.0)
        alpha, trials = 1.0, 0
        while alpha >= self.method.shortest:
            trials += 1
            trial = yield direction.trial(alpha)
            falls = direction.predicted(alpha) + alpha * nu * e
            merit = trial.cost + nu * trial.infeasibility
            # without a line search any decrease is accepted: its gain ratio sets the damping
            if merit <= reference - share * falls + slack and (searches or merit < reference):
                return trial, alpha, trials
            alpha /= 2
        return None, 0.0, trials

    def accept(self, trial: I, direction: DampedStep[I], alpha: float, trials: int) -> None:
        used, before, predicted = self.damping, self.now.cost, direction.predicted(alpha)
        # where gaps close, the cost may be predicted to rise
        gain = (before - trial.cost) / predicted if predicted > 0 else 1.0
        self.now, self.undamped, self.indefinite = trial, False, False
        # cost and gaps separately, since the penalty in their sum may change
        self.past.append((trial.cost, trial.infeasibility))
        self.damping = self.method.damping.accepted(used, gain, alpha)
        self.record(direction, alpha, trials, used)

    def record(self, direction: DampedStep[I], alpha: float, trials: int, damping: float) -> None:
        now, number, length = self.now, len(self.history) + 1, sqrt(max(2.0 * direction.decrement, 0.0))
        iteration = Iteration(
            number, now.cost, now.infeasibility, direction.predicted(1.0), length, alpha, trials, damping,
            self.penalty, now.theta,
        )  # fmt: skip
        self.history.append(iteration)
        report(self.progress, "iterating", iteration=number, cost=now.cost, detail=str(iteration))

    def take_last_step(self, direction: DampedStep[I]) -> None:
        if not self.method.take_last:
            return
        trial, slack = direction.trial(1.0), self.method.rounding * (1.0 + abs(self.now.cost))
        if trial.cost <= self.now.cost + slack and trial.largest_gap <= self.method.gap_tolerance:
            self.now = trial
