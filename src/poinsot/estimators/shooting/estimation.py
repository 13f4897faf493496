"""Optimal estimation: recordings of a robot and priors -> parameters, motions and their uncertainty.

    problem  = OptimalEstimationProblem.from_recordings(OpenParameters(robot, ("trunk",)), [recording], noise)
    estimate = OptimalEstimation().solve(problem, progress=print)

Twice the cost at the optimum is chi-square with as many degrees of freedom as there are readings and priors less
unknowns. Where chi-square per degree of freedom is above 1, because sensors are noisier than stated or the model is
incomplete, standard deviations are the posterior's times its square root. They hold for white residuals.

A held-out recording is estimated with theta fixed at the result; the residuals of its sensors validate the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ...arrays import Brief, Vector
from ...estimate import Certificate, Estimate, Fit, Status, motions_of
from ...estimate.motions import ContactChanges, NoiseSensitivity
from ...exceptions import ImpossibleBody, InvalidMethod, NotIdentifiable
from ...models.contacts.contacts import ContactDetection
from ...models.robot.open_parameters import OpenParameters
from ...recording import Recording
from ...solve import Method, ProgressCallback, Stop
from ...stopwatch import Stopwatch
from .ddp import DDP, STATIONARITY_TOLERANCE, certify, posterior
from .known_parameters import KnownParameters
from .problem import ShootingProblem, Trajectories
from .recordings import MotionNoise, NoisyContacts, trajectory_model
from .refinements import Refinement
from .robot import RobotTrajectoryModel
from .summary import EstimateSummary, RobotMotionEstimate, estimated_motion, fit_of_motions

Models = tuple[RobotTrajectoryModel, ...]


@dataclass(frozen=True, eq=False, repr=False)
class OptimalEstimationProblem(Brief):
    """Recordings that share theta, and its prior.

    Args:
        models: the recordings to be estimated from.
        known: prior of theta.
        held_out: recordings only for validation.
        start: (p,) initial guess of theta; None: the mean of its prior.

    Raises:
        InvalidMethod: if there is no recording, or one has other parameters or no sensor.
    """

    models: Models
    known: KnownParameters
    held_out: Models = ()
    start: Vector | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise InvalidMethod("give at least one recording to estimate from")
        for model in (*self.models, *self.held_out):
            if model.parameters is not self.known.parameters:
                raise InvalidMethod(f"recording {model.name!r} has other open parameters than the priors")
            if not model.rows:
                raise InvalidMethod(
                    f"recording {model.name!r} has no sensor: nothing would be estimated from it"
                )

    @classmethod
    def from_recordings(
        cls,
        robot: OpenParameters,
        recordings: Sequence[Recording] | Mapping[str, Recording],
        noise: MotionNoise,
        *,
        contacts: ContactDetection | Mapping[str, ContactDetection | None] | None = None,
        known: KnownParameters | None = None,
        held_out: Sequence[Recording] | Mapping[str, Recording] = (),
        noisy: NoisyContacts | None = None,
    ) -> OptimalEstimationProblem:
        """The problem of recordings whose channels are named as `poinsot.quantities` and `Recording` say.

        Args:
            robot: the robot and its open parameters.
            recordings: to be estimated from, with their names where they have any.
            noise: standard deviations of readings, commands, model and first state.
            contacts: which frames may touch the world, and how the recordings say when; or those of each recording by
                its name.
            known: prior of the open parameters; None: none.
            held_out: recordings only for validation.
            noisy: how contacts give way, with noise levels from the data; None: contacts close with impacts.

        Raises:
            PoinsotError: if a recording lacks a channel or a standard deviation, or a name is unknown.
        """

        def models_of(given: Sequence[Recording] | Mapping[str, Recording], prefix: str) -> Models:
            if not isinstance(given, Mapping):
                given = {f"{prefix} {k}": recording for k, recording in enumerate(given, start=1)}
            detection = contacts if isinstance(contacts, Mapping) else dict.fromkeys(given, contacts)
            pairs = given.items()
            return tuple(
                trajectory_model(robot, one, noise, detection.get(key), key, noisy) for key, one in pairs
            )

        models, others = models_of(recordings, "recording"), models_of(held_out, "held out")
        noise.check_names((*models, *others))
        return cls(models, known or KnownParameters(robot), others)

    @property
    def parameters(self) -> OpenParameters:
        return self.known.parameters

    @cached_property
    def shooting(self) -> ShootingProblem:
        """The problem as the solver takes it."""
        prior, arrivals = self.known.known(), tuple(model.first_state for model in self.models)
        return ShootingProblem(self.models, arrivals, prior, self.parameters.natural_scale(prior.mean))

    @property
    def guess(self) -> Trajectories:
        """Initial guess."""
        noise = tuple(np.zeros(model.noise_std.shape) for model in self.models)
        theta = self.shooting.prior.mean if self.start is None else self.start
        return Trajectories(tuple(model.initial_states for model in self.models), noise, theta)

    def certify(self, estimate: Estimate) -> Certificate:
        """Stationarity and gaps of the dynamics at an estimate's values and motions.

        The values give theta by the inverse of the chart, the motions give states and process noise.

        Raises:
            InvalidMethod: if the estimate has not the motions of this problem's recordings.
        """
        motions = [motion for motion in motions_of(estimate) if isinstance(motion, RobotMotionEstimate)]
        if [motion.name for motion in motions] != [model.name for model in self.models]:
            raise InvalidMethod(
                "the estimate does not have the motions of this problem's recordings: certify what its solve returned"
            )
        try:
            theta = self.parameters.theta_of(estimate.values)
        except ImpossibleBody:  # no theta of a chart is this body
            return Certificate(np.inf, False, STATIONARITY_TOLERANCE)
        states = tuple(motion.states_at_nodes(self.parameters.robot, model.after_impacts)
                       for motion, model in zip(motions, self.models, strict=True))  # fmt: skip
        return certify(
            self.shooting, Trajectories(states, tuple(motion.process_noise for motion in motions), theta)
        )


@dataclass(frozen=True)
class OptimalEstimation(Method):
    """Trajectory and parameters together, by multiple-shooting DDP (Martinez et al. 2024).

    Args:
        ddp: the solver and its settings.
        process_noise: `"given"`, or `"auto"`: its levels are the most likely ones (`noise_levels`), and those that
            were given are where their search begins; `"commands"`: those of commands are, speeds keep what was given.
            Levels that were not given are estimated in any case.
        contact_schedule: `"given"`, or `"estimated"`: contacts close and open where the readings ask for it.
        settled, max_rounds: relative change of all levels, or change of chi-square by new rates of late readings, at
            which a search ends, and how often it solves again.
        seed: of the random signs by which it finds how much the data determine.
    """

    ddp: DDP = field(default_factory=DDP)
    process_noise: Literal["given", "auto", "commands"] = "given"
    contact_schedule: Literal["given", "estimated"] = "given"
    settled: float = 0.05
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
            stop: called before each iteration; True ends with the last iterate, as `Status.interrupted`.

        Raises:
            InvalidMethod: if the initial guess does not fit, or is not finite.
            NotIdentifiable: if the model has no finite value there, or the problem has no minimum.
        """
        watch = Stopwatch()
        solved = Refinement(self, progress, stop).run(problem)
        problem, solution = solved.problem, solved.solution
        # with any other status there is an estimate
        if solution.status in (Status.diverged, Status.indefinite):
            raise NotIdentifiable(solution.status.value)
        watch.lap("solve")
        covariance = posterior(problem.shooting, solution.at)
        watch.lap("posterior")
        summary = EstimateSummary(problem.models, problem.known, solution, covariance)
        estimate = summary.estimate()
        sensitivity = NoiseSensitivity(estimate.names, estimate.std, summary.noise_moves)
        fits = () if solution.status is Status.interrupted else self._validate(problem, solution.theta, stop)
        watch.lap("summary")
        factors = ", ".join(f"{name} {factor:.3g}" for name, factor in solved.factors.items())
        levels = f"Noise levels are those that the data determine; times the first ones they are: {factors}."
        has_student = any(model.student_levels for model in problem.models)
        return estimate.updated(
            ContactChanges(solved.events) if solved.events else None,
            sensitivity if solution.status.converged else None,
            method=self.name,
            problem=problem,
            citations=(*self.citations, *(("aravkin2014",) if has_student else ())),
            validation=fits,
            examiner=summary.examine,
            notes=(*estimate.notes, *([levels] if factors else ())),
            seconds=watch.seconds,
        )

    def _validate(
        self, problem: OptimalEstimationProblem, theta: Vector, stop: Stop | None
    ) -> tuple[Fit, ...]:
        """Fits of held-out recordings, whose motions are estimated with theta fixed."""
        fits = []
        for model in problem.held_out:
            # its residuals judge theta; a theta fitted to it would hide what they show
            parameters = problem.parameters.fixed(theta)
            model = replace(model, parameters=parameters, guess=model.initial_states)
            single = OptimalEstimationProblem((model,), KnownParameters(parameters))
            solved = Refinement(self, stop=stop).solve(single, single.guess)
            if solved.solution.status is Status.interrupted:
                break
            (model,), at = solved.problem.models, solved.solution.at
            motion = estimated_motion(model, np.zeros(0), at.x[0], at.w[0])
            fits.append(replace(fit_of_motions([(motion, model)]), recording=model.name))
        return tuple(fits)
