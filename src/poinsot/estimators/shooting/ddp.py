"""Multiple-shooting DDP on trajectory and parameters (Martinez et al. 2024, Sect. V).

    repeat   direction (backward, arrival, forward)             Eqs. 20 to 31, `direction`
             nu <- max(beta nu, dl(1) / ((1 - rho) eps))        Eq. 38
             alpha = 1, 1/2, 1/4 ... until
                 phi(alpha) <= max of the last phi + eta (dl(alpha) - alpha nu eps)      nonmonotone Armijo
             raise the damping and shrink the trust region of theta if no alpha or only a short one is accepted
    until    the step is short, measured in standard deviations, and the gaps are closed

phi = cost + nu eps is the merit (Eq. 37), eps the sum of |gap|_1. Older phi are taken with the newest nu. As
dl(alpha) <= alpha dl(1), Eq. 38 makes the right-hand side fall by at least alpha eta rho nu eps.

A short step ends the iteration only without damping: damping makes any step short.

The iteration is not that of `solve.gauss_newton`, whose stopping test is the predicted decrease. That has a term
costate . gap, which rounding keeps above zero: on 120 nodes of a quadruped with gaps of 4e-15 it stays at 5e-12, a
tenth of what a step of 1e-5 standard deviations predicts, and it grows with the length of the recording and the
precision of sensors. D2 of `direction`, which is tested here, falls to 1e-20. The trust region of theta and its
adaptation are this method's own, too.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from ...arrays import Matrix, Vector
from ...estimate import Certificate, Status
from ...exceptions import InvalidMethod
from ...solve import ProgressCallback, Stop, report, stop_requested
from .direction import LinearizedProblem, SearchDirection, allocate_policies
from .local import Evaluation
from .problem import ShootingProblem, Trajectories
from .rollout import Mapping, MultipleShooting, Rollout

ROUNDING = 1e-13
"""Relative rounding error of the merit: a sum of up to 1e6 terms in double precision."""

STATIONARITY_TOLERANCE = 1e-6
"""|P r| / |r| of a certificate that holds: steps of 1e-5 standard deviations leave 1e-7 of more than 1e4 residuals."""

CERTIFIED_GAP = 1e-7
"""Largest gap of a feasible trajectory [units of the tangent]: ten times `DDP.gap_tolerance`."""


@dataclass(frozen=True, eq=False)
class DDPIteration:
    """One iteration.

    Args:
        number: from 1.
        cost, infeasibility, largest_gap: after it; the sum of all |gap|_1, and the largest component.
        length: of the full step, in standard deviations of the posterior.
        step_length: alpha; 0 where none was accepted.
        trials: step lengths that were tried.
        damping, penalty: mu (relative) and nu that it used.
        theta: (p,) after it.
    """

    number: int
    cost: float
    infeasibility: float
    largest_gap: float
    length: float
    step_length: float
    trials: int
    damping: float
    penalty: float
    theta: Vector

    def __str__(self) -> str:
        return (
            f"gaps {self.infeasibility:.2g}, step {self.length:.2g} std x {self.step_length:.3g}, "
            f"damping {self.damping:.0e}"
        )


@dataclass(frozen=True, eq=False)
class ShootingSolution:
    """Where the iteration ended.

    Args:
        at: states, noise and theta.
        cost: half of chi-square. gaps: (N, n) of each recording.
        status: how it ended.
        history: the iterations, first to last; `start` is the guess as the rollout took it.
        unobservable: (p, z) orthonormal combinations of theta on which no residual depends.
        unobservable_states: (n, z) of each arrival state.
        problem: what was solved.
    """

    at: Trajectories
    cost: float
    gaps: tuple[np.ndarray, ...]
    status: Status
    history: tuple[DDPIteration, ...]
    start: Evaluation
    unobservable: Matrix
    unobservable_states: tuple[Matrix, ...]
    problem: ShootingProblem

    @property
    def theta(self) -> Vector:
        return self.at.theta

    @property
    def iterations(self) -> int:
        return len(self.history)

    @property
    def costs(self) -> list[float]:
        """At the start, and after each iteration."""
        return [self.start.cost, *(each.cost for each in self.history)]

    def certificate(self, gap_tolerance: float = CERTIFIED_GAP) -> Certificate:
        """Stationarity |P r| / |r| and gaps, recomputed from the problem."""
        return certify(self.problem, self.at, gap_tolerance)


@dataclass(frozen=True)
class StepControl:
    """Line search, damping and trust region; all without unit.

    Args:
        armijo: eta, the part of the predicted decrease that a step must reach.
        feasible_share: rho of Eq. 38, the part of the merit's decrease that closing the gaps must bring.
        penalty_decay: beta of Eq. 38, by which the penalty may fall in an iteration.
        shortest: smallest step length tried; ten halvings.
        long, short: step lengths from which on the damping is lowered, and up to which it is raised.
        shrinkage: the trust region of theta shrinks by no more than this factor at once.
        first_damping, min_damping, max_damping, damping_factor: the schedule of the damping, relative to the diagonal
            of the Hessian: 1e-7 is no longer visible beside it, and at 1e8 a step is 1e-8 of a standard deviation.
    """

    armijo: float = 1e-4
    feasible_share: float = 0.3
    penalty_decay: float = 0.9
    shortest: float = 2.0**-10
    long: float = 0.5
    short: float = 2.0**-6
    shrinkage: float = 0.25
    first_damping: float = 1e-3
    min_damping: float = 1e-7
    max_damping: float = 1e8
    damping_factor: float = 10.0


@dataclass(frozen=True)
class DDP:
    """Parametrized differential dynamic programming.

    Args:
        rollout: how a step is tried.
        max_iterations: most iterations.
        step_tolerance: the iteration ends at a full step shorter than this many standard deviations.
        gap_tolerance: the largest gap that counts as closed [units of the tangent].
        null_space: theta keeps its value in unobservable directions (Eq. 31); otherwise they are an error (Eq. 29).
        second_order: adds the second derivatives of dynamics and residuals (Eq. 21) to Gauss-Newton; far from the
            optimum the Hessian may be indefinite then, and damping has to make up for it.
        memory: number of iterations whose merit a step may reach: 1 is monotone, more is the paper's nonmonotone rule.
        damping: to begin with, relative to the diagonal.
        longest: initial radius of the trust region of theta, as root mean square of its components in units of the
            problem's scale; the radius adapts to how steps turn out.
        control: constants of line search, damping and trust region.
    """

    rollout: Rollout = MultipleShooting()  # noqa: RUF009 - frozen, without fields
    max_iterations: int = 200
    step_tolerance: float = 1e-5
    gap_tolerance: float = 1e-8
    null_space: bool = True
    second_order: bool = False
    memory: int = 1
    damping: float = 0.0
    longest: float = 0.3
    control: StepControl = field(default_factory=StepControl)

    def __post_init__(self) -> None:
        if self.max_iterations < 1 or self.memory < 1:
            raise InvalidMethod("DDP needs max_iterations and memory of at least 1")
        if not (
            self.step_tolerance > 0 and self.gap_tolerance > 0 and self.damping >= 0 and self.longest > 0
        ):
            raise InvalidMethod("DDP needs tolerances and longest above 0, and damping of at least 0")

    def solve(
        self,
        problem: ShootingProblem,
        guess: Trajectories,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
        executor: Executor | None = None,
    ) -> ShootingSolution:
        """Iterate from a guess.

        Args:
            problem: what to solve.
            guess: initial states, noise and theta.
            progress: called after each iteration.
            stop: asked before each iteration whether to end with what was found.
            executor: of threads, over which nodes are evaluated; models whose code releases the lock gain by it.

        Raises:
            InvalidMethod: if the guess does not fit, or is not finite.
        """
        problem.require(guess)
        search = _Search(self, problem, progress, stop, executor)
        with threadpool_limits(limits=1, user_api="blas"):  # matrices are small: threads only cost
            return search.run(self.rollout.begin(problem, guess, search.mapping))


class _Search:
    """The state that one iteration passes to the next."""

    def __init__(
        self,
        method: DDP,
        problem: ShootingProblem,
        progress: ProgressCallback | None,
        stop: Stop | None,
        executor: Executor | None,
    ):
        self.method, self.problem, self.progress, self.stop = method, problem, progress, stop
        self.executor, self.control = executor, method.control
        self.mapping: Mapping = map if executor is None else executor.map
        self.history: list[DDPIteration] = []
        self.penalty, self.damping = 0.0, method.damping
        self.radius = method.longest * np.sqrt(max(len(problem.prior.mean), 1))
        self.past: deque[tuple[float, float]] = deque(maxlen=method.memory)  # cost and infeasibility
        self.policies = allocate_policies(problem)

    def run(self, start: Evaluation) -> ShootingSolution:
        now, found = start, None
        if not np.isfinite(start.cost):
            return self._ended(start, start, None, Status.diverged)
        self.past.append((now.cost, now.infeasibility))
        linearized, undamped = self._linearize(now), False
        while len(self.history) < self.method.max_iterations:
            if stop_requested(self.stop):
                return self._ended(now, start, found, Status.interrupted)
            linearized.radius = self.radius
            direction = linearized.direction(self.damping, self.method.null_space)
            if direction is None:
                if not self._raise_damping():
                    return self._ended(now, start, found, Status.indefinite)
                continue
            found = direction
            if self._passes_stopping_test(now, direction):
                if self.damping > 0 and not undamped:
                    self.damping, undamped = 0.0, True
                    continue
                now = self._last_step(now, direction)
                return self._ended(now, start, direction, Status.solved)
            accepted = self._line_search(now, direction)
            if accepted is not None:
                now, undamped = accepted, False
                self.past.append((now.cost, now.infeasibility))
                linearized = self._linearize(now)
            elif self.damping > self.control.max_damping:
                return self._ended(now, start, found, Status.stalled)
        return self._ended(now, start, found, Status.step_limit)

    def _linearize(self, now: Evaluation) -> LinearizedProblem:
        return LinearizedProblem(self.problem, now, self.method.second_order, self.executor, self.policies)

    def _passes_stopping_test(self, now: Evaluation, direction: SearchDirection) -> bool:
        rounding = 1e-8 * ROUNDING * (1.0 + 2.0 * now.cost)
        short = abs(direction.free_curvature) <= max(self.method.step_tolerance**2, rounding)
        return short and now.largest_gap <= self.method.gap_tolerance

    def _last_step(self, now: Evaluation, direction: SearchDirection) -> Evaluation:
        """Take the step that passed the stopping test, unless it raises the cost or opens a gap."""
        ahead = self.method.rollout.roll(self.problem, now, direction.step, 1.0, self.mapping)
        slack = ROUNDING * (1.0 + abs(now.cost))
        better = ahead.cost <= now.cost + slack and ahead.largest_gap <= self.method.gap_tolerance
        return ahead if better else now

    def _line_search(self, now: Evaluation, direction: SearchDirection) -> Evaluation | None:
        """The first step length with enough of its predicted decrease; damping and radius adapt to it."""
        eps, damping, control = now.infeasibility, self.damping, self.control
        if eps > 0:
            needed = direction.predicted_change(1.0) / ((1.0 - control.feasible_share) * eps)
            self.penalty = max(control.penalty_decay * self.penalty, needed)
        nu = self.penalty
        reference = max(cost + nu * infeasibility for cost, infeasibility in self.past)
        slack = ROUNDING * (1.0 + abs(reference))
        alpha, trials = 1.0, 0
        while alpha >= control.shortest:
            trials += 1
            ahead = self.method.rollout.roll(self.problem, now, direction.step, alpha, self.mapping)
            predicted = direction.predicted_change(alpha) - alpha * nu * eps
            if ahead.cost + nu * ahead.infeasibility <= reference + control.armijo * predicted + slack:
                self._adapt(alpha, direction)
                self._record(ahead, direction, alpha, trials, damping)
                return ahead
            alpha /= 2
        self._adapt(0.0, direction)
        self._record(now, direction, 0.0, trials, damping)
        return None

    def _adapt(self, alpha: float, direction: SearchDirection) -> None:
        """Adapt damping and trust region to the step length that was accepted, or 0."""
        control = self.control
        taken = float(np.linalg.norm(direction.step.theta / self.problem.natural_scale))
        if alpha == 1.0:
            self.radius = max(self.radius, 2.0 * taken)
        elif alpha < control.long:
            self.radius = min(self.radius, max(alpha, control.shrinkage) * taken) or self.radius
        if alpha >= control.long:
            factor = control.damping_factor
            self.damping = self.damping / factor if self.damping > control.min_damping * factor else 0.0
        elif alpha <= control.short:
            self._raise_damping()

    def _raise_damping(self) -> bool:
        """False where it cannot be raised any more."""
        control = self.control
        self.damping = max(control.first_damping, control.damping_factor * self.damping)
        return self.damping <= control.max_damping

    def _record(
        self, at: Evaluation, direction: SearchDirection, alpha: float, trials: int, damping: float
    ) -> None:
        number = len(self.history) + 1
        done = DDPIteration(
            number, at.cost, at.infeasibility, at.largest_gap, direction.length, alpha, trials, damping,
            self.penalty, at.at.theta,
        )  # fmt: skip
        self.history.append(done)
        report(self.progress, "iterating", iteration=number, cost=at.cost, detail=str(done))

    def _ended(
        self, now: Evaluation, start: Evaluation, found: SearchDirection | None, status: Status
    ) -> ShootingSolution:
        unobservable = np.zeros((len(self.problem.prior.mean), 0))
        states = tuple(np.zeros((model.manifold.degrees, 0)) for model in self.problem.models)
        if found is not None:
            unobservable, states = found.unobservable, found.unobservable_states
        if status is Status.solved and unobservable.shape[1]:
            status = Status.partly
        return ShootingSolution(
            now.at, now.cost, now.gaps, status, tuple(self.history), start, unobservable, states, self.problem
        )


def certify(problem: ShootingProblem, at: Trajectories, gap_tolerance: float = CERTIFIED_GAP) -> Certificate:
    """Stationarity and feasibility of states, noise and theta.

    Stationarity is |P r| / |r|, with P the projection of the residuals r (of sensors, noise and priors) on all that the
    unknowns can change: 0 at an optimum, whatever the units. Gaps add to it: closing them changes the residuals.
    """
    now = MultipleShooting().begin(problem, at)
    direction = LinearizedProblem(problem, now).direction() if np.isfinite(now.cost) else None
    if direction is None:
        return Certificate(np.inf, False, STATIONARITY_TOLERANCE)
    stationarity = direction.length / np.sqrt(1.0 + 2.0 * now.cost)
    return Certificate(float(stationarity), now.largest_gap <= gap_tolerance, STATIONARITY_TOLERANCE)
