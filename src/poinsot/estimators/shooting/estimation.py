"""Optimal estimation: recordings of a robot and priors -> parameters, motions and their uncertainty.

    problem  = OptimalEstimationProblem.from_recordings(OpenParameters(robot, ("trunk",)), [recording], noise)
    estimate = OptimalEstimation().solve(problem, progress=print)

Twice the cost at the optimum is chi-square with as many degrees of freedom as there are readings and priors less
unknowns. Where chi-square per degree of freedom is above 1, because sensors are noisier than stated or the model is
incomplete, standard deviations are the posterior's times its square root. They hold for white residuals.

A held-out recording is estimated with theta fixed at the result; the residuals of its sensors validate the estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ...arrays import Brief, Vector
from ...estimate import Certificate, Estimate, Fit, Status, motions_of
from ...estimate.motions import ContactChange, ContactChanges, NoiseSensitivity
from ...exceptions import ImpossibleBody, InvalidMethod, NotIdentifiable
from ...models.contacts.contacts import ContactDetection
from ...models.robot.open_parameters import OpenParameters
from ...recording import EFFORTS, THRUST, Recording
from ...solve import Method, ProgressCallback, Stop, report
from ...stopwatch import Stopwatch
from .contact_events import EventSearch
from .ddp import DDP, STATIONARITY_TOLERANCE, ShootingSolution, certify
from .known_parameters import KnownParameters
from .motion_report import RobotMotionEstimate, estimated_motion, fit_of_motions
from .noise_levels import NoiseLevels
from .posterior import posterior
from .problem import ShootingProblem, Trajectories
from .robot_log import MotionNoise, RobotLog, check_names_of_noise
from .summary import EstimateSummary


@dataclass(frozen=True, eq=False, repr=False)
class OptimalEstimationProblem(Brief):
    """Recordings that share theta, and its prior.

    Args:
        logs: to be estimated from.
        known: prior of theta.
        held_out: recordings for validation alone.
        start: (p,) initial guess of theta; None: the mean of its prior.

    Raises:
        InvalidMethod: if there is no recording, or one has other parameters or no sensor.
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
                raise InvalidMethod(f"recording {log.name!r} has other open parameters than the priors")
            if not log.stages.rows:
                raise InvalidMethod(
                    f"recording {log.name!r} has no sensor: nothing would be estimated from it"
                )

    @classmethod
    def from_recordings(
        cls,
        robot: OpenParameters,
        recordings: Sequence[Recording] | Mapping[str, Recording],
        noise: MotionNoise,
        *,
        contacts: ContactDetection | None = None,
        known: KnownParameters | None = None,
        held_out: Sequence[Recording] | Mapping[str, Recording] = (),
    ) -> OptimalEstimationProblem:
        """The problem of recordings whose channels are named as `poinsot.quantities` and `Recording` say.

        Args:
            robot: the robot and its open parameters.
            recordings: to be estimated from, with their names where they have any.
            noise: standard deviations of readings, commands, model and first state.
            contacts: which frames may touch the world, and how the recordings say when.
            known: prior of the open parameters; None: none.
            held_out: recordings for validation alone.

        Raises:
            PoinsotError: if a recording lacks a channel or a standard deviation, or a name is unknown.
        """
        logs, others = (
            tuple(
                RobotLog.from_recording(robot, recording, noise, contacts, name)
                for name, recording in _named(given, prefix)
            )
            for given, prefix in ((recordings, "recording"), (held_out, "held out"))
        )
        check_names_of_noise(noise, (*logs, *others))
        return cls(logs, known or KnownParameters(robot), others)

    @property
    def parameters(self) -> OpenParameters:
        return self.known.parameters

    @cached_property
    def shooting(self) -> ShootingProblem:
        """The problem as the solver takes it."""
        prior, logs = self.known.known(), self.logs
        models, arrivals = tuple(log.model for log in logs), tuple(log.first_state for log in logs)
        return ShootingProblem(models, arrivals, prior, self.parameters.natural_scale(prior.mean))

    @property
    def guess(self) -> Trajectories:
        """Initial guess."""
        noise = tuple(np.zeros(log.model.noise_std.shape) for log in self.logs)
        theta = self.shooting.prior.mean if self.start is None else self.start
        return Trajectories(tuple(log.initial_states for log in self.logs), noise, theta)

    def certify(self, estimate: Estimate) -> Certificate:
        """Stationarity and gaps of the dynamics at an estimate's values and motions.

        The values give theta by the inverse of the chart, the motions give states and process noise.

        Raises:
            InvalidMethod: if the estimate has not the motions of this problem's recordings.
        """
        motions = [each for each in motions_of(estimate) if isinstance(each, RobotMotionEstimate)]
        if [motion.name for motion in motions] != [log.name for log in self.logs]:
            raise InvalidMethod(
                "the estimate does not have the motions of this problem's recordings: certify what its solve returned"
            )
        try:
            theta = self.parameters.theta_of(estimate.values)
        except ImpossibleBody:  # no theta of a chart is this body
            return Certificate(np.inf, False, STATIONARITY_TOLERANCE)
        states = tuple(motion.states_at_nodes(self.parameters.robot, log.stages.after_impacts)
                       for motion, log in zip(motions, self.logs, strict=True))  # fmt: skip
        return certify(
            self.shooting, Trajectories(states, tuple(motion.process_noise for motion in motions), theta)
        )


def _named(
    recordings: Sequence[Recording] | Mapping[str, Recording], prefix: str
) -> Iterable[tuple[str, Recording]]:
    if isinstance(recordings, Mapping):
        return recordings.items()
    return [(f"{prefix} {k}", recording) for k, recording in enumerate(recordings, start=1)]


@dataclass(frozen=True)
class OptimalEstimation(Method):
    """Trajectory and parameters together, by multiple-shooting DDP (Martinez et al. 2024).

    Args:
        ddp: the solver and its settings.
        process_noise: `"given"`, or `"auto"`: its levels are the most likely ones (`noise_levels`), and those that
            were given are where their search begins; `"commands"`: those of commands are, speeds keep what was given.
        contact_schedule: `"given"`, or `"estimated"`: contacts close and open where the readings ask for it.
        contact_slip: `"given"`, or `"estimated"`: noise of speeds grows at samples where a foot slips.
        settled, max_rounds: relative change of all levels, or change of chi-square by new rates of late readings, at
            which a search ends, and how often it solves again.
        seed: of the random signs by which it finds how much the data determine.
    """

    ddp: DDP = field(default_factory=DDP)
    process_noise: Literal["given", "auto", "commands"] = "given"
    contact_schedule: Literal["given", "estimated"] = "given"
    contact_slip: Literal["given", "estimated"] = "given"
    settled: float = 0.02
    max_rounds: int = 20
    seed: int = 0

    name = "optimal-estimation"
    citations = ("martinez2024", "rucker2022")

    def solve(
        self,
        problem: OptimalEstimationProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Estimate:
        """Estimate parameters and motions.

        Args:
            problem: what to solve.
            progress: called after each iteration.
            stop: asked before each iteration whether to end with what was found; `Status.interrupted` then.

        Raises:
            InvalidMethod: if the initial guess does not fit, or is not finite.
            NotIdentifiable: if the model has no finite value there, or the problem has no minimum.
        """
        watch = Stopwatch()
        problem, solution, factors, events = self._solved(problem, progress, stop)
        # other endings are statuses of an estimate, which shows what was found
        if solution.status in (Status.diverged, Status.indefinite):
            raise NotIdentifiable(solution.status.value)
        watch.lap("solve")
        covariance = posterior(problem.shooting, solution.at)
        watch.lap("posterior")
        summary = EstimateSummary(problem.logs, problem.known, solution, covariance)
        estimate = summary.estimate()
        sensitivity = NoiseSensitivity(estimate.names, estimate.std, summary.noise_moves)
        fits = () if solution.status is Status.interrupted else self._validate(problem, solution.theta, stop)
        watch.lap("summary")
        said = ", ".join(f"{name} {factor:.3g}" for name, factor in factors.items())
        levels = f"Process noise is the most likely one; times what was given it is: {said}."
        return estimate.updated(
            ContactChanges(events) if events else None,
            sensitivity if solution.status.converged else None,
            method=self.name,
            problem=problem,
            citations=(*self.citations, *(("aravkin2014",) if self.contact_slip == "estimated" else ())),
            validation=fits,
            examiner=summary.examine,
            notes=(*estimate.notes, *([levels] if factors else ())),
            seconds=watch.seconds,
        )

    def _solved(
        self, problem: OptimalEstimationProblem, progress: ProgressCallback | None, stop: Stop | None
    ) -> tuple[OptimalEstimationProblem, ShootingSolution, dict[str, float], tuple[ContactChange, ...]]:
        """The problem with its schedule and levels of process noise, its solution, factors on levels, events."""
        problem, solution = self._with_delays(problem, problem.guess, progress=progress, stop=stop)
        events: tuple[ContactChange, ...] = ()
        for _ in range(self.max_rounds if self.contact_schedule == "estimated" else 0):
            # a schedule that is far off may be why there is no minimum
            if solution.status is Status.interrupted:
                break
            report(progress, "contact events")
            searched = [EventSearch().search(log, solution.theta, x, events)
                        for log, x in zip(problem.logs, solution.at.x, strict=True)]  # fmt: skip
            events = tuple(event for _, found in searched for event in found)
            if all(np.array_equal(new.stages.schedule.closed, old.stages.schedule.closed)
                   for (new, _), old in zip(searched, problem.logs, strict=True)):  # fmt: skip
                break
            problem = replace(problem, logs=tuple(log for log, _ in searched))
            problem, solution = self._with_delays(problem, problem.guess, progress=progress, stop=stop)
        for _ in range(self.max_rounds if self.contact_slip == "estimated" else 0):
            if solution.status is Status.interrupted:
                break
            before, grown = solution.cost, map(RobotLog.with_slips, problem.logs, solution.at.w)
            problem = replace(problem, logs=tuple(grown))
            # a slip that was not known yet may have driven theta to where a chart is flat
            guess = replace(solution.at, theta=problem.guess.theta)
            problem, solution = self._with_delays(problem, guess, progress=progress, stop=stop)
            if 2 * abs(solution.cost - before) < self.settled:
                # as far as if it had begun at the last round's
                problem, solution = self._with_delays(problem, solution.at, progress=progress, stop=stop)
                break
        factors: dict[str, float] = {}
        rng = np.random.default_rng(self.seed)
        for _ in range(self.max_rounds if self.process_noise != "given" else 0):
            if not solution.status.converged:
                break
            likelier = NoiseLevels(problem.logs, problem.shooting, solution.at).likelier(rng)
            step = {
                name: float(np.clip(factor, 0.2, 5.0))
                for name, (factor, _) in likelier.items()
                if self.process_noise == "auto" or name in (*EFFORTS, THRUST)
            }
            factors = {name: factors.get(name, 1.0) * factor for name, factor in step.items()}
            logs, held_out = (
                [log.with_levels(step) for log in some] for some in (problem.logs, problem.held_out)
            )
            problem = replace(problem, logs=tuple(logs), held_out=tuple(held_out))
            problem, solution = self._with_delays(problem, solution.at, progress=progress, stop=stop)
            if max((abs(np.log(factor)) for factor in step.values()), default=0.0) < self.settled:
                break
        return problem, solution, factors, events

    def _with_delays(
        self, problem: OptimalEstimationProblem, guess: Trajectories, **more: Any
    ) -> tuple[OptimalEstimationProblem, ShootingSolution]:
        """A solution, with rates of late readings along it: it is solved again until delays are settled."""
        solution = self.ddp.solve(problem.shooting, guess, **more)
        for _ in range(self.max_rounds):
            at, before, logs = solution.at, solution, problem.logs
            rated = [log.with_rates(x, w, at.theta) for log, x, w in zip(logs, at.x, at.w, strict=True)]
            # a delay that is not known yet may be why there is no minimum
            if not any(rated) or not (solution.status.converged or solution.status is Status.step_limit):
                break
            problem = replace(problem, logs=tuple(new or old for new, old in zip(rated, logs, strict=True)))
            solution = self.ddp.solve(problem.shooting, at, **more)
            solution = replace(solution, start=before.start, history=before.history + solution.history)
            if 2 * abs(solution.cost - before.cost) < self.settled:
                break
        return problem, solution

    def _validate(
        self, problem: OptimalEstimationProblem, theta: Vector, stop: Stop | None
    ) -> tuple[Fit, ...]:
        """Fits of held-out recordings, whose motions are estimated with theta fixed."""
        fits = []
        for log in problem.held_out:
            # its residuals judge theta; a theta fitted to it would hide what they show
            parameters = problem.parameters.fixed(theta)
            alone = OptimalEstimationProblem((log.with_parameters(parameters),), KnownParameters(parameters))
            alone, solution = self._with_delays(alone, alone.guess, stop=stop)
            if solution.status is Status.interrupted:
                break
            (fixed,) = alone.logs
            motion = estimated_motion(fixed, np.zeros(0), solution.at.x[0], solution.at.w[0])
            fits.append(replace(fit_of_motions([(motion, fixed.stages)]), recording=log.name))
        return tuple(fits)
