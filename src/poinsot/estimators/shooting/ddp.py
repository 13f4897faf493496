"""Multiple-shooting DDP on trajectory and parameters (seed 001, Sect. V).

    repeat   direction (backward, arrival, forward)             Eqs. 20 to 31, `direction`
             nu <- max(beta nu, dl(1) / ((1 - rho) eps))        Eq. 38
             alpha = 1, 1/2, 1/4 ... until
                 phi(alpha) <= max of the last phi + eta (dl(alpha) - alpha nu eps)      nonmonotone Armijo
             damping up and the bound on theta down where no alpha does or only a short one; else the reverse
    until    the step is short, measured in standard deviations, and the gaps are closed

phi = cost + nu eps is the merit (Eq. 37), eps the sum of |gap|_1. Older phi are taken with the newest nu. As
dl(alpha) <= alpha dl(1), Eq. 38 makes the right-hand side fall by at least alpha eta rho nu eps.

A short step counts only without damping: damping makes any step short.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import Enum

import numpy as np
from threadpoolctl import threadpool_limits

from ...arrays import Matrix, Vector
from ...estimate import Certificate
from ...exceptions import InvalidMethod
from .direction import Direction, Surroundings, room_for
from .local import Evaluation
from .problem import ShootingProblem, Trajectories
from .rollout import Mapping, MultipleShooting, Rollout

ARMIJO = 1e-4
"""eta: the part of the promise that must come true."""

FEASIBLE_SHARE = 0.3
"""rho of Eq. 38."""

PENALTY_DECAY = 0.9
"""beta of Eq. 38."""

SHORTEST = 2.0**-10
"""Of step lengths that are tried."""

LONG, SHORT = 0.5, 2.0**-6
"""Step lengths from which on damping is lowered, and up to which it is raised."""

SHORTEN = 0.25
"""The bound on theta falls by no more than this at once."""

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING, FACTOR = 1e-3, 1e-7, 1e8, 10.0

ROUNDING = 1e-13
"""Relative differences of the merit below this are none."""

STATIONARY = 1e-6
"""|P r| over |r| of a certificate that holds."""


class Ending(Enum):
    """How an iteration ended; the value says what to do next."""

    solved = "Solved."
    partly = (
        "Solved for what the data determine; in the other combinations theta stayed at its initial guess."
    )
    step_limit = "Step limit reached; raise max_steps or start closer."
    stalled = "No step leads downhill, however damped; start closer, or check the model's derivatives."
    indefinite = "The problem has no single minimum here; give priors, or leave null_space on."
    interrupted = "Interrupted; this is how far it got."
    diverged = "The model has no finite value at the initial guess; start closer, or take MultipleShooting."

    @property
    def converged(self) -> bool:
        return self in (Ending.solved, Ending.partly)


@dataclass(frozen=True, eq=False)
class Iteration:
    """What one iteration did, for callbacks.

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
            f"{self.number:4d}  cost {self.cost:.6g}  gaps {self.infeasibility:.2g}  step {self.length:.2g} std "
            f"x {self.step_length:.3g}  damping {self.damping:.0e}"
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the iteration ended.

    Args:
        at: states, noise and theta.
        cost: half of chi-square. gaps: (N, n) of each recording.
        ending: how.
        history: of the iterations, first to last; `start` is the guess as the rollout took it.
        unseen: (p, z) orthonormal combinations of theta that no residual sees.
        unseen_states: (n, z) of each arrival state.
        problem: what was solved.
    """

    at: Trajectories
    cost: float
    gaps: tuple[np.ndarray, ...]
    ending: Ending
    history: tuple[Iteration, ...]
    start: Evaluation
    unseen: Matrix
    unseen_states: tuple[Matrix, ...]
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

    def certificate(self, gap_tolerance: float = 1e-7) -> Certificate:
        """Stationarity |P r| / |r| and gaps, recomputed from the problem."""
        return certify(self.problem, self.at, gap_tolerance)


@dataclass(frozen=True)
class DDP:
    """Parametrized differential dynamic programming.

    Args:
        rollout: how a step is tried.
        max_steps: of iterations.
        step_tolerance: a full step shorter than this many standard deviations is the last.
        gap_tolerance: the largest gap that counts as closed [units of the tangent].
        null_space: theta keeps still in directions that nothing sees (Eq. 31); otherwise they are an error (Eq. 29).
        second_order: adds the second derivatives of dynamics and residuals (Eq. 21) to Gauss-Newton; far from the
            optimum the Hessian may be indefinite then, and damping has to make up for it.
        memory: iterations that the acceptance looks back on: 1 is monotone, more is the nonmonotone one of the paper.
        damping: to begin with, relative to the diagonal.
        longest: the first steps of theta are no longer than this, as root mean square of its components in units of
            the problem's scale; the bound adapts to how steps turn out.
    """

    rollout: Rollout = MultipleShooting()  # noqa: RUF009 - frozen, without fields
    max_steps: int = 200
    step_tolerance: float = 1e-5
    gap_tolerance: float = 1e-8
    null_space: bool = True
    second_order: bool = False
    memory: int = 1
    damping: float = 0.0
    longest: float = 0.3

    def __post_init__(self) -> None:
        if self.max_steps < 1 or self.memory < 1:
            raise InvalidMethod("DDP needs max_steps and memory of at least 1")
        if not (
            self.step_tolerance > 0 and self.gap_tolerance > 0 and self.damping >= 0 and self.longest > 0
        ):
            raise InvalidMethod("DDP needs tolerances and longest above 0, and damping of at least 0")

    def solve(
        self,
        problem: ShootingProblem,
        guess: Trajectories,
        callback: Callable[[Iteration], None] | None = None,
        executor: Executor | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Solution:
        """Iterate from a guess.

        Args:
            problem: what to solve.
            guess: where to begin.
            callback: called after each iteration.
            executor: of threads, over which nodes are evaluated; models whose code releases the lock gain by it.
            stop: asked before each iteration whether to end with what there is.

        Raises:
            InvalidMethod: if the guess does not fit, or is not finite.
        """
        problem.require(guess)
        search = _Search(self, problem, callback, executor, stop or (lambda: False))
        with threadpool_limits(limits=1, user_api="blas"):  # matrices are small: threads only cost
            return search.run(self.rollout.begin(problem, guess, search.mapping))


class _Search:
    """The state of one iteration after another."""

    def __init__(
        self,
        method: DDP,
        problem: ShootingProblem,
        callback: Callable[[Iteration], None] | None,
        executor: Executor | None,
        stop: Callable[[], bool],
    ):
        self.method, self.problem, self.callback, self.executor = method, problem, callback, executor
        self.stop = stop
        self.mapping: Mapping = map if executor is None else executor.map
        self.history: list[Iteration] = []
        self.penalty, self.damping = 0.0, method.damping
        self.radius = method.longest * np.sqrt(max(len(problem.prior.mean), 1))
        self.past: deque[tuple[float, float]] = deque(maxlen=method.memory)  # cost and infeasibility
        self.room = room_for(problem)

    def run(self, start: Evaluation) -> Solution:
        now, found = start, None
        if not np.isfinite(start.cost):
            return self._ended(start, start, None, Ending.diverged)
        self.past.append((now.cost, now.infeasibility))
        around, undamped = self._around(now), False
        while len(self.history) < self.method.max_steps:
            if self.stop():
                return self._ended(now, start, found, Ending.interrupted)
            around.radius = self.radius
            direction = around.direction(self.damping, self.method.null_space)
            if direction is None:
                if not self._damp():
                    return self._ended(now, start, found, Ending.indefinite)
                continue
            found = direction
            if self._settled(now, direction):
                if self.damping > 0 and not undamped:
                    self.damping, undamped = 0.0, True
                    continue
                now = self._last_step(now, direction)
                return self._ended(now, start, direction, Ending.solved)
            accepted = self._line_search(now, direction)
            if accepted is not None:
                now, undamped = accepted, False
                self.past.append((now.cost, now.infeasibility))
                around = self._around(now)
            elif self.damping > MOST_DAMPING:
                return self._ended(now, start, found, Ending.stalled)
        return self._ended(now, start, found, Ending.step_limit)

    def _around(self, now: Evaluation) -> Surroundings:
        return Surroundings(self.problem, now, self.method.second_order, self.executor, self.room)

    def _settled(self, now: Evaluation, direction: Direction) -> bool:
        rounding = 1e-8 * ROUNDING * (1.0 + 2.0 * now.cost)
        short = abs(direction.free_curvature) <= max(self.method.step_tolerance**2, rounding)
        return short and now.largest_gap <= self.method.gap_tolerance

    def _last_step(self, now: Evaluation, direction: Direction) -> Evaluation:
        """The step that was found too short to go on, where it does no harm."""
        ahead = self.method.rollout.roll(self.problem, now, direction.step, 1.0, self.mapping)
        slack = ROUNDING * (1.0 + abs(now.cost))
        better = ahead.cost <= now.cost + slack and ahead.largest_gap <= self.method.gap_tolerance
        return ahead if better else now

    def _line_search(self, now: Evaluation, direction: Direction) -> Evaluation | None:
        """The first step length that keeps enough of its promise; damping is adapted to it."""
        eps, damping = now.infeasibility, self.damping
        if eps > 0:
            needed = direction.promise(1.0) / ((1.0 - FEASIBLE_SHARE) * eps)
            self.penalty = max(PENALTY_DECAY * self.penalty, needed)
        nu = self.penalty
        reference = max(cost + nu * infeasibility for cost, infeasibility in self.past)
        slack = ROUNDING * (1.0 + abs(reference))
        alpha, trials = 1.0, 0
        while alpha >= SHORTEST:
            trials += 1
            ahead = self.method.rollout.roll(self.problem, now, direction.step, alpha, self.mapping)
            promised = direction.promise(alpha) - alpha * nu * eps
            if ahead.cost + nu * ahead.infeasibility <= reference + ARMIJO * promised + slack:
                self._adapt(alpha, direction)
                self._record(ahead, direction, alpha, trials, damping)
                return ahead
            alpha /= 2
        self._adapt(0.0, direction)
        self._record(now, direction, 0.0, trials, damping)
        return None

    def _adapt(self, alpha: float, direction: Direction) -> None:
        """Damping and trust region, to the step length that was accepted, or 0."""
        taken = float(np.linalg.norm(direction.step.theta / self.problem.natural_scale))
        if alpha == 1.0:
            self.radius = max(self.radius, 2.0 * taken)
        elif alpha < LONG:
            self.radius = min(self.radius, max(alpha, SHORTEN) * taken) or self.radius
        if alpha >= LONG:
            self._relax()
        elif alpha <= SHORT:
            self._damp()

    def _damp(self) -> bool:
        """Raise the damping; False where it cannot be raised any more."""
        self.damping = max(FIRST_DAMPING, FACTOR * self.damping)
        return self.damping <= MOST_DAMPING

    def _relax(self) -> None:
        self.damping = self.damping / FACTOR if self.damping > LEAST_DAMPING * FACTOR else 0.0

    def _record(
        self, at: Evaluation, direction: Direction, alpha: float, trials: int, damping: float
    ) -> None:
        done = Iteration(
            len(self.history) + 1, at.cost, at.infeasibility, at.largest_gap, direction.length, alpha, trials,
            damping, self.penalty, at.at.theta,
        )  # fmt: skip
        self.history.append(done)
        if self.callback is not None:
            self.callback(done)

    def _ended(self, now: Evaluation, start: Evaluation, found: Direction | None, ending: Ending) -> Solution:
        p = len(self.problem.prior.mean)
        unseen = np.zeros((p, 0)) if found is None else found.unseen
        nothing = tuple(np.zeros((motion.manifold.degrees, 0)) for motion in self.problem.motions)
        states = nothing if found is None else found.unseen_states
        if ending is Ending.solved and unseen.shape[1]:
            ending = Ending.partly
        return Solution(
            now.at, now.cost, now.gaps, ending, tuple(self.history), start, unseen, states, self.problem
        )


def certify(problem: ShootingProblem, at: Trajectories, gap_tolerance: float = 1e-7) -> Certificate:
    """How far from optimal and feasible some values are.

    Stationarity is |P r| / |r|, the sine of the angle between the residuals (of sensors, noise and priors) and what is
    orthogonal to all that the unknowns can move: 0 at an optimum, whatever the units.
    """
    now = MultipleShooting().begin(problem, at)
    direction = Surroundings(problem, now).direction() if np.isfinite(now.cost) else None
    if direction is None:
        return Certificate(np.inf, False, STATIONARY)
    # without its gaps, which feasibility is about
    stationarity = direction.length / np.sqrt(1.0 + 2.0 * now.cost)
    return Certificate(float(stationarity), now.largest_gap <= gap_tolerance, STATIONARY)
