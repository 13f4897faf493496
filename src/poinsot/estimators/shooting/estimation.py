"""Optimal estimation: recordings of a robot, what is known of it -> an estimate of what it is and how it moved.

The problem is a value that can be looked at before it is solved; the method is `ddp` with its settings:

    problem  = OptimalEstimationProblem((RobotLog("walk", stages, noise),), KnownParameters(parameters))
    estimate = OptimalEstimation().solve(problem)

Twice the cost at the optimum is chi-square with as many degrees of freedom as there are readings and priors less
unknowns. What is reported as a standard deviation is the posterior's times sqrt(chi-square per degree) where that is
above 1: sensors that are noisier than was said, or a model that misses something, make everything less sure. That
holds for residuals that are white; where they are not, it is said.

A held-out recording is estimated with theta fixed at the result: what its sensors then leave unexplained is validation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from ...arrays import Matrix, Vector
from ...estimate import (
    NARROWED,
    Body,
    Certificate,
    Estimate,
    EstimatedParameters,
    Fit,
    Provenance,
    Status,
    extras_of,
)
from ...estimate.motions import Convergence, EstimatedMotion, EstimatedMotions
from ...estimate.unobservable import unobservable_directions
from ...exceptions import InvalidMethod, NotIdentifiable
from ...models.bodies import body_of
from ...models.open_parameters import OpenParameters
from ...models.stages import Stages
from ...stopwatch import Stopwatch
from .ddp import DDP, Ending, Iteration, Solution
from .first_guess import first_guess
from .known_parameters import KnownParameters
from .lq_solution import Posterior
from .motion_report import estimated_motion, fit_of_motions
from .posterior import posterior
from .problem import Known, ShootingProblem, Trajectories
from .robot import RobotMotion

INFLATED = 1.05
"""Chi-square per degree up to which residuals are as they were said to be."""
CHI_SQUARE = 1.5
"""Per degree of freedom: from this on, and below its inverse, the noise of the sensors is doubted aloud."""


@dataclass(frozen=True, eq=False)
class RobotLog:
    """One recording of a robot, ready to be estimated from.

    Args:
        name: of it.
        stages: what the robot was told, and what was read of it.
        noise: (2 n,) standard deviation of what the model lacks in a step, see `RobotMotion`.
        command_noise: (inputs,) standard deviation of each command; None: they are exact.
        arrival: what is known of the first state; None: nothing.
        guess: (N + 1, nx) states to begin from; None: what sensors read.

    Raises:
        InvalidMethod: if the noise does not fit, or the guess is not finite.
    """

    name: str
    stages: Stages
    noise: Vector
    command_noise: Vector | None = None
    arrival: Known | None = None
    guess: Float[np.ndarray, "nodes nx"] | None = None

    @cached_property
    def motion(self) -> RobotMotion:
        """As the solver sees it."""
        return RobotMotion(self.stages, self.noise, self.command_noise)

    @cached_property
    def begin(self) -> Float[np.ndarray, "nodes nx"]:
        """(N + 1, nx) states to begin from."""
        return first_guess(self.stages) if self.guess is None else self.guess

    @property
    def known(self) -> Known:
        """Of the first state."""
        return self.arrival or Known.nothing(self.begin[0], self.motion.manifold.degrees)

    def of(self, parameters: OpenParameters) -> RobotLog:
        """The same of a robot with other parameters open."""
        return replace(self, stages=replace(self.stages, parameters=parameters), guess=self.begin)


@dataclass(frozen=True, eq=False)
class OptimalEstimationProblem:
    """Recordings that share theta, and what is known of it.

    Args:
        logs: to be estimated from.
        known: of theta.
        held_out: recordings that only say how well the result predicts.
        start: (p,) theta to begin at; None: where what is known has its mean.

    Raises:
        InvalidMethod: if there is no recording, or one is of other parameters.
    """

    logs: tuple[RobotLog, ...]
    known: KnownParameters
    held_out: tuple[RobotLog, ...] = ()
    start: Vector | None = None

    def __post_init__(self) -> None:
        if not self.logs:
            raise InvalidMethod("give at least one recording to estimate from")
        for log in (*self.logs, *self.held_out):
            if log.stages.parameters is not self.known.parameters:
                raise InvalidMethod(
                    f"recording {log.name!r} has other open parameters than what is known of them"
                )
            if not log.stages.rows:
                raise InvalidMethod(
                    f"recording {log.name!r} has no sensor: nothing would be estimated from it"
                )

    @property
    def parameters(self) -> OpenParameters:
        return self.known.parameters

    @cached_property
    def shooting(self) -> ShootingProblem:
        """As the solver sees it."""
        return _shooting(self.logs, self.known.known())

    @property
    def guess(self) -> Trajectories:
        """Where the iteration begins."""
        return _guess(self.logs, self.shooting.prior.mean if self.start is None else self.start)


@dataclass(frozen=True, eq=False)
class Solved:
    """A problem with its solution, for certificates."""

    problem: OptimalEstimationProblem
    solution: Solution

    def certify(self, _: Estimate) -> Certificate:
        """Stationarity and gaps, recomputed."""
        return self.solution.certificate()


@dataclass(frozen=True)
class OptimalEstimation:
    """Trajectory and parameters together, by multiple-shooting DDP (seed 001).

    Args:
        ddp: how the problem is solved.
    """

    ddp: DDP = field(default_factory=DDP)

    name = "optimal-estimation"
    citations = ("martinez2024", "rucker2022")

    def solve(
        self,
        problem: OptimalEstimationProblem,
        callback: Callable[[Iteration], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Estimate:
        """Estimate.

        Args:
            problem: what to solve.
            callback: called after each iteration.
            stop: asked before each iteration whether to end with what there is.

        Raises:
            InvalidMethod: if the first guess does not fit, or is not finite.
            NotIdentifiable: if the model has no finite value there, or the problem has no minimum.
        """
        watch = Stopwatch()
        shooting = problem.shooting
        solution = self.ddp.solve(shooting, problem.guess, callback, stop=stop)
        if solution.ending in (Ending.diverged, Ending.indefinite):
            raise NotIdentifiable(solution.ending.value)
        watch.lap("solve")
        spread = posterior(shooting, solution.at)
        watch.lap("posterior")
        estimate = _Summary(problem, solution, spread).estimate()
        fits = () if solution.ending is Ending.interrupted else self._validate(problem, solution.theta)
        watch.lap("summary")
        return estimate.updated(
            method=self.name, citations=self.citations, validation=fits, seconds=watch.seconds
        )

    def _validate(self, problem: OptimalEstimationProblem, theta: Vector) -> tuple[Fit, ...]:
        """Motions of held-out recordings, with theta as it was found."""
        fits = []
        for log in problem.held_out:
            fixed = log.of(problem.parameters.fixed(theta))
            shooting = _shooting((fixed,), Known.nothing(np.zeros(0)))
            solution = self.ddp.solve(shooting, _guess((fixed,), np.zeros(0)))
            motion = estimated_motion(
                fixed.name, fixed.stages, fixed.motion, np.zeros(0), solution.at.x[0], solution.at.w[0]
            )
            fits.append(replace(fit_of_motions([(motion, fixed.stages)]), recording=log.name))
        return tuple(fits)


def _shooting(logs: tuple[RobotLog, ...], prior: Known) -> ShootingProblem:
    scale = logs[0].stages.parameters.natural_scale(prior.mean)
    return ShootingProblem(tuple(log.motion for log in logs), tuple(log.known for log in logs), prior, scale)


def _guess(logs: tuple[RobotLog, ...], theta: Vector) -> Trajectories:
    still = tuple(np.zeros(log.motion.noise_std.shape) for log in logs)
    return Trajectories(tuple(log.begin for log in logs), still, theta)


class _Summary:
    """A solution as an estimate."""

    def __init__(self, problem: OptimalEstimationProblem, solution: Solution, spread: Posterior):
        self.problem, self.solution, self.spread = problem, solution, spread
        self.parameters = problem.parameters
        self.inflation = self.chi_square if self.chi_square > INFLATED else 1.0
        self.slope = self.parameters.physical_slope(solution.theta)

    @cached_property
    def rows(self) -> int:
        """Readings."""
        return sum(
            int(np.isfinite(fit.normalized).sum()) for motion in self.motions for fit in motion.sensors
        )

    @cached_property
    def chi_square(self) -> float:
        """Per degree of freedom; 1 where there is none."""
        problem, solution = self.problem.shooting, self.solution
        known = sum(_rank(arrival.information) for arrival in problem.arrivals) + _rank(
            problem.prior.information
        )
        unknown = len(solution.theta) - solution.unseen.shape[1]
        for motion, unseen in zip(problem.motions, solution.unseen_states, strict=True):
            unknown += motion.manifold.degrees - unseen.shape[1]
        degrees = self.rows + known - unknown
        return 2.0 * solution.cost / degrees if degrees > 0 else 1.0

    @cached_property
    def motions(self) -> tuple[EstimatedMotion, ...]:
        """Of each recording."""
        at = self.solution.at
        return tuple(
            estimated_motion(log.name, log.stages, log.motion, at.theta, x, w, states)
            for log, x, w, states in zip(self.problem.logs, at.x, at.w, self.spread.states, strict=True)
        )

    def estimate(self) -> Estimate:
        parameters, theta = self.parameters, self.solution.theta
        white = self.slope @ self.spread.theta @ self.slope.T
        covariance = self.inflation * white
        seen, bodies = self._known(covariance), self._bodies(covariance)
        names, fit = parameters.physical_names, fit_of_motions(self._pairs())
        ending = self.solution.ending
        narrow = [name for name, yes in zip(names, seen, strict=True) if not yes]
        unseen = unobservable_directions(
            names, parameters.physical(theta), self.slope @ self.solution.unseen, narrow
        )
        status = Status.partly if ending is Ending.solved and unseen else Status[ending.name]
        free = self._free
        for matrix in (white, covariance):
            matrix[free], matrix[:, free] = np.nan, np.nan
        white_std, std = np.sqrt(np.diag(white)), np.sqrt(np.diag(covariance))
        condition, scaled = self._conditions()
        return Estimate(
            method="",
            robot=parameters.robot.name,
            parameters=EstimatedParameters(
                names=names,
                units=parameters.physical_units,
                owners=parameters.owners,
                kinds=parameters.kinds,
                groupings=names,
                values=parameters.physical(theta),
                covariance=covariance,
                std_kind="coloured" if self.inflation > INFLATED else "white",
                identifiable=seen,
                white_std=white_std,
                coloured_std=std,
            ),
            status=status,
            condition_number=condition,
            scaled_condition_number=scaled,
            rows=self.rows,
            fit=fit,
            bodies=bodies,
            undetermined=unseen,
            problem=Solved(self.problem, self.solution),
            iterations=self.solution.iterations,
            extras=extras_of(EstimatedMotions(self.motions), self._convergence()),
            provenance=Provenance(warnings=self._warnings(), notes=self._notes()),
        )

    def _pairs(self) -> list[tuple[EstimatedMotion, Stages]]:
        return [(motion, log.stages) for motion, log in zip(self.motions, self.problem.logs, strict=True)]

    @cached_property
    def _free(self) -> np.ndarray:
        """(b,) whether a parameter moves in a direction that nothing sees."""
        moving = np.linalg.norm(self.slope @ self.solution.unseen, axis=1)
        return np.asarray(moving > 1e-6 * np.linalg.norm(self.slope, axis=1))

    def _known(self, covariance: Matrix) -> np.ndarray:
        """(b,) whether the data, with what was measured before, say more of a parameter than what was assumed."""
        seen = ~self._free
        assumed = np.diag(self.problem.known.assumed)
        if not assumed.any():
            return seen
        with np.errstate(divide="ignore"):
            before = np.sqrt((self.slope**2) @ np.where(assumed > 0, 1 / assumed, 0.0))
        bound = (np.abs(self.slope) @ (assumed == 0)) == 0  # nothing in it was left open
        return np.asarray(seen & (~bound | (np.sqrt(np.diag(covariance)) < NARROWED * before)))

    def _conditions(self) -> tuple[float, float]:
        """Of the information on theta, in the directions that are seen: as it is, and with a unit diagonal."""
        P = self.spread.theta
        axes = np.linalg.svd(self.solution.unseen, full_matrices=True)[0][:, self.solution.unseen.shape[1] :]
        inner = axes.T @ P @ axes
        if not len(inner):
            return 1.0, 1.0
        d = np.sqrt(np.diag(inner))
        return float(np.linalg.cond(inner)), float(np.linalg.cond(inner / np.outer(d, d)))

    def _bodies(self, covariance: Matrix) -> tuple[Body, ...]:
        parameters, unseen = self.parameters, self.solution.unseen
        prior = self.problem.shooting.prior.information
        found = []
        for k, (pi, place) in enumerate(
            zip(parameters.values(self.solution.theta).bodies, parameters.places.tolist(), strict=True)
        ):
            rows = slice(10 * k, 10 * k + 10)
            kept = np.trace(self.spread.theta[rows, rows] @ prior[rows, rows]) + np.sum(unseen[rows] ** 2)
            found.append(
                body_of(
                    parameters.robot,
                    place,
                    pi,
                    covariance[rows, rows],
                    parameters.all_inertials[place],
                    float(np.clip(kept / 10, 0.0, 1.0)),
                )
            )
        return tuple(found)

    def _convergence(self) -> Convergence:
        history, start = self.solution.history, self.solution.start
        thetas = [start.at.theta, *(each.theta for each in history)]
        return Convergence(
            self.parameters.physical_names,
            np.array(self.solution.costs),
            np.array([start.infeasibility, *(each.infeasibility for each in history)]),
            np.array([self.parameters.physical(theta) for theta in thetas]),
        )

    def _warnings(self) -> tuple[str, ...]:
        said, chi_square = [], self.chi_square
        if not 1 / CHI_SQUARE <= chi_square <= CHI_SQUARE:
            doubt = (
                "sensors are noisier than was said, or the model misses something; standard deviations are widened by "
                f"{np.sqrt(chi_square):.2g}"
                if chi_square > 1
                else "sensors are less noisy than was said, so standard deviations are too large"
            )
            said.append(f"Residuals have a chi-square of {chi_square:.2g} per degree of freedom: {doubt}.")
        said += [
            f"What {fit.name} read in {motion.name} is {fit.rms:.2g} standard deviations off: its noise looks like "
            f"{fit.rms:.2g} times what was said."
            for motion in self.motions
            for fit in motion.sensors
            if fit.rms > 3
        ]
        return tuple(said)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        for log, unseen in zip(self.problem.logs, self.solution.unseen_states, strict=True):
            if unseen.shape[1]:
                freedoms = "direction" if unseen.shape[1] == 1 else "directions"
                notes.append(
                    f"Nothing says where {log.stages.parameters.robot.name} was in {log.name} in {unseen.shape[1]} "
                    f"{freedoms} of its first state, such as its place on the ground or its heading: there it stays as "
                    "it was guessed."
                )
            notes += [f"{log.name}: {note}." for note in log.stages.schedule.notes()]
        return tuple(notes)


def _rank(information: Matrix) -> int:
    """Rows of knowledge in an information matrix, whatever its units."""
    d = np.sqrt(np.diag(information))
    seen = d > 0
    return int(np.linalg.matrix_rank(information[np.ix_(seen, seen)] / np.outer(d[seen], d[seen]), tol=1e-9))
