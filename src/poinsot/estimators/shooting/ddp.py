"""Multiple-shooting DDP on trajectory and parameters (Martinez et al. 2024, Sect. V).

    repeat   direction (backward, arrival, forward)             Eqs. 20 to 31, `direction`
             line search on the merit cost + nu eps             Eqs. 37 and 38, `solve.gauss_newton`
             raise the damping and shrink the trust region of theta if no alpha or only a short one is accepted
    until    the step is short, measured in standard deviations, and the gaps are closed

eps is the sum of |gap|_1. As dl(alpha) <= alpha dl(1), Eq. 38 makes the merit fall by at least alpha eta rho nu eps.

Covariance of theta and of every state: the inverse of the Gauss-Newton Hessian on the dynamics.

The residuals are linearized at the optimum without damping. The backward pass of `riccati` gives the covariance of the
first states and theta; a forward pass (`riccati.marginals`) carries it to all other states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from ...arrays import Matrix, Vector
from ...estimate import Certificate, Status
from ...exceptions import NotIdentifiable
from ...ranges import Count, NotNegative, Positive
from ...solve import GaussNewton, Iteration, Method, ProgressCallback, StepLength, Stop
from .direction import ShootingIterate, ShootingSearch, allocate_policies
from .problem import ShootingProblem, Trajectories
from .riccati import marginals
from .rollout import Evaluation, MultipleShooting, Rollout, evaluate

STATIONARITY_TOLERANCE = 1e-6
"""|P r| / |r| of a certificate that holds: steps of 1e-5 standard deviations leave 1e-7 of more than 1e4 residuals."""

CERTIFIED_GAP = 1e-7
"""Largest gap of a feasible trajectory [units of the tangent]: ten times `DDP.gap_tolerance`."""


@dataclass(frozen=True, eq=False)
class ShootingSolution:
    """Where the iteration ended.

    Args:
        at: states, noise and theta.
        cost: half of chi-square.
        status: how it ended.
        history: the iterations, first to last; `start` is the guess as the rollout took it.
        unobservable: (p, z) orthonormal combinations of theta on which no residual depends.
        problem: what was solved.
    """

    at: Trajectories
    cost: float
    status: Status
    history: tuple[Iteration, ...]
    start: Evaluation
    unobservable: Matrix
    problem: ShootingProblem

    @property
    def theta(self) -> Vector:
        return self.at.theta

    @property
    def iterations(self) -> int:
        return len(self.history)

    @property
    def costs(self) -> list[float]:
        """Cost at the start, and after each iteration."""
        return [self.start.cost, *(iteration.cost for iteration in self.history)]


@dataclass(frozen=True)
class DDP(Method):
    """Parametrized differential dynamic programming.

    Args:
        rollout: how a step is tried.
        max_iterations: most iterations.
        step_tolerance: the iteration ends at a full step shorter than this many standard deviations.
        gap_tolerance: the largest gap that counts as closed [units of the tangent].
        null_space: theta keeps its value in unobservable directions (Eq. 31); otherwise they are an error (Eq. 29).
        memory: number of iterations whose merit a step may reach: 1 is monotone, more is the paper's nonmonotone rule.
        damping: to begin with, relative to the diagonal.
        longest: initial radius of the trust region of theta, as root mean square of its components in units of the
            problem's scale; the radius adapts to how steps turn out.
        shrinkage: the trust region of theta shrinks by no more than this factor at once.
    """

    rollout: Rollout = MultipleShooting()  # noqa: RUF009 - frozen, without fields
    max_iterations: Count = 200
    step_tolerance: Positive = 1e-5
    gap_tolerance: Positive = 1e-8
    null_space: bool = True
    memory: Count = 1
    damping: NotNegative = 0.0
    longest: Positive = 0.3
    shrinkage: float = 0.25

    @property
    def iteration(self) -> GaussNewton:
        """The iteration that minimizes the cost."""
        return GaussNewton(
            max_iterations=self.max_iterations,
            relative_tolerance=0.0,
            absolute_tolerance=0.5 * self.step_tolerance**2,
            gap_tolerance=self.gap_tolerance,
            memory=self.memory,
            damping=StepLength(first=self.damping),
            shortest=2.0**-10,  # ten halvings
            take_last=True,
        )

    def solve(
        self,
        problem: ShootingProblem,
        guess: Trajectories,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> ShootingSolution:
        """Iterate from a guess.

        Args:
            problem: what to solve.
            guess: initial states, noise and theta.
            progress: called after each iteration.
            stop: called before each iteration; True ends the search with its last iterate.

        Raises:
            InvalidMethod: if the guess does not fit, or is not finite.
        """
        problem.require(guess)
        p = len(problem.prior.mean)
        search = ShootingSearch(
            problem,
            allocate_policies(problem),
            self.longest * np.sqrt(max(p, 1)),
            self.shrinkage,
            self.null_space,
            self.rollout,
        )
        with threadpool_limits(limits=1, user_api="blas"):  # matrices are small: threads only cost
            start = self.rollout.begin(problem, guess)
            minimum = self.iteration.minimize(ShootingIterate(search, start), progress=progress, stop=stop)
        unobservable = np.zeros((p, 0)) if search.last is None else search.last.arrival.schur.null
        now, status = minimum.at.now, minimum.status
        # solved for what is observable; the rest kept its initial guess
        if status is Status.solved and unobservable.shape[1]:
            status = Status.partly
        return ShootingSolution(now.at, now.cost, status, minimum.history, start, unobservable, problem)


def certify(problem: ShootingProblem, at: Trajectories) -> Certificate:
    """Stationarity and feasibility of states, noise and theta.

    Stationarity is |P r| / |r|, with P the projection of the residuals r (of sensors, noise and priors) on all that the
    unknowns can change: 0 at an optimum, whatever the units. Gaps add to it: closing them changes the residuals.
    """
    now = MultipleShooting().begin(problem, at)
    direction = ShootingIterate(ShootingSearch(problem), now).direction() if np.isfinite(now.cost) else None
    if direction is None:
        return Certificate(np.inf, False, STATIONARITY_TOLERANCE)
    # the step's length over |r|^2 = 2 cost; the 1 keeps an exact fit from dividing 0 by 0
    stationarity = np.sqrt(max(direction.curvature, 0.0) / (1.0 + 2.0 * now.cost))
    return Certificate(float(stationarity), now.largest_gap <= CERTIFIED_GAP, STATIONARITY_TOLERANCE)


@dataclass(frozen=True, eq=False)
class TrajectoryPosterior:
    """Covariances; zero, not infinite, in unobservable directions.

    Args:
        theta: (p, p).
        states: (N + 1, n, n) of each chain's states, marginal.
        states_theta: (N + 1, n, p) of each chain's states with theta.
        unobservable: (p, z) orthonormal combinations of theta on which no residual depends.
        unobservable_states: (n, z) unobservable directions of each chain's arrival state.
    """

    theta: Matrix
    states: tuple[np.ndarray, ...]
    states_theta: tuple[np.ndarray, ...]
    unobservable: Matrix
    unobservable_states: tuple[Matrix, ...]


def posterior(problem: ShootingProblem, at: Trajectories) -> TrajectoryPosterior:
    """Covariances at a solution.

    Raises:
        NotIdentifiable: if the problem has no minimum here.
    """
    # matrices are small: threads only cost
    with threadpool_limits(limits=1, user_api="blas"):
        # the spread is needed only here, and is as large as the gains
        search = ShootingSearch(problem, allocate_policies(problem, spread=True))
        direction = ShootingIterate(search, evaluate(problem, at)).direction()
    if direction is None:
        raise NotIdentifiable("the problem has no minimum here, so there is no covariance; solve it first")
    arrival = direction.arrival
    P_tt, first_xx, first_xt = arrival.covariances()
    along = [
        marginals(policy, xx, xt, P_tt)
        for policy, xx, xt in zip(direction.policies, first_xx, first_xt, strict=True)
    ]
    states, crosses = zip(*along, strict=True)
    null = tuple(state.null for state in arrival.states)
    return TrajectoryPosterior(P_tt, states, crosses, arrival.schur.null, null)
