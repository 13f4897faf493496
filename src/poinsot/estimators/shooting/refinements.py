"""Outer loops of optimal estimation: a solution changes its problem, which is solved again, until nothing changes.

    settle               noise levels that the data determine (`noise_levels`)
    estimate_schedule    times at which contacts close and open (`contact_events`)

Each takes a problem with its solution and returns the next. Inside of all of them `solve` follows delays: rates of
readings that may be late belong to a motion. Biases and delays themselves are components of theta.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Columns, NodeStates, Vector
from ...estimate import Status
from ...estimate.motions import ContactChange
from ...models.sensors import ContactVelocity, Sensor
from ...recording import EFFORTS, THRUST
from ...solve import Iteration, ProgressCallback, Stop, report
from .contact_events import EventSearch, events_of, with_contacts_by_forces
from .ddp import ShootingSolution
from .noise_levels import NoiseLevels
from .problem import Trajectories
from .rates import predicted_rates
from .robot import RobotTrajectoryModel
from .rollout import Evaluation

if TYPE_CHECKING:
    from .estimation import OptimalEstimation, OptimalEstimationProblem


SCHEDULE_ROUNDS, SCHEDULE_ITERATIONS = 3, 4
"""Solutions for contact events that the one before shows, and iterations of each."""


@dataclass(frozen=True, eq=False)
class Refined:
    """A problem with its solution.

    Args:
        problem: as the loops have changed it. solution: of it.
        factors: disturbance -> its level over that which was given. events: of contacts.
    """

    problem: OptimalEstimationProblem
    solution: ShootingSolution
    factors: Mapping[str, float] = field(default_factory=dict)
    events: tuple[ContactChange, ...] = ()


@dataclass(frozen=True, eq=False)
class Refinement:
    """The loops with what they share.

    Args:
        method: which loops run, and when they end.
        progress, stop: of the method's `solve`.
    """

    method: OptimalEstimation
    progress: ProgressCallback | None = None
    stop: Stop | None = None

    def run(self, problem: OptimalEstimationProblem) -> Refined:
        """Solve, and run the loops that the method asks for, one after the other."""
        if self.method.contact_schedule == "given":
            return self.settle(problem, problem.guess)
        if any(model.schedule.margin for model in problem.models):
            return self.schedule_by_forces(problem)
        return self.estimate_schedule(self.settle(problem, problem.guess))

    def solve(self, problem: OptimalEstimationProblem, guess: Trajectories) -> Refined:
        """Solve, and again with rates of late readings along the solution, until delays are settled."""

        def solved(guess: Trajectories) -> ShootingSolution:
            return self.method.ddp.solve(problem.shooting, guess, progress=self.progress, stop=self.stop)

        solution = solved(guess)
        for _ in range(self.method.max_rounds):
            before, at, models = solution, solution.at, problem.models
            # a delay that is not known yet may be why there is no minimum
            if not (before.status.converged or before.status is Status.step_limit):
                break
            rated = list(map(with_rates, models, at.x, at.w, [at.theta] * len(models)))
            if not any(rated):
                break
            models = tuple(new or old for new, old in zip(rated, models, strict=True))
            problem = replace(problem, models=models)
            solution = solved(at)
            solution = replace(solution, start=before.start, history=before.history + solution.history)
            if 2 * abs(solution.cost - before.cost) < self.method.settled:
                break
        return Refined(problem, solution)

    def _again(
        self, now: Refined, models: Iterable[RobotTrajectoryModel], guess: Trajectories | None = None
    ) -> Refined:
        """Solve again with other models of the recordings; `guess` None: from their initial guess."""
        problem = replace(now.problem, models=tuple(models))
        settled = self.settle(problem, problem.guess if guess is None else guess, now.factors)
        return replace(settled, events=now.events)

    def schedule_by_forces(self, problem: OptimalEstimationProblem) -> Refined:
        """Close contacts where the ground pushes on them along a solution, until none changes, and solve for them.

        Solutions for events that are going to move need not be exact: a few iterations with noise levels are enough.
        """
        recorded, guess = [model.schedule for model in problem.models], problem.guess
        factors: Mapping[str, float] = {}
        history: tuple[Iteration, ...] = ()
        for _ in range(SCHEDULE_ROUNDS):
            now = self.settle(problem, guess, factors, rounds=SCHEDULE_ITERATIONS)
            if now.solution.status is Status.interrupted:
                return now
            report(self.progress, "contact events")
            guess, factors, history = now.solution.at, now.factors, (*history, *now.solution.history)
            models = [
                with_contacts_by_forces(model, x, guess.theta)
                for model, x in zip(now.problem.models, guess.x, strict=True)
            ]
            is_same = all(
                np.array_equal(new.schedule.closed, old.schedule.closed)
                for new, old in zip(models, now.problem.models, strict=True)
            )
            problem = replace(now.problem, models=tuple(models))
            if is_same:
                break
        now = self.settle(problem, guess, factors)
        now = replace(now, solution=replace(now.solution, history=(*history, *now.solution.history)))
        pairs = zip(now.problem.models, recorded, strict=True)
        return replace(now, events=tuple(event for model, was in pairs for event in events_of(model, was)))

    def estimate_schedule(self, now: Refined) -> Refined:
        for _ in range(self.method.max_rounds):
            # a schedule that is far off may be why there is no minimum
            if now.solution.status is Status.interrupted:
                break
            report(self.progress, "contact events")
            theta, models = now.solution.theta, now.problem.models
            searched = [EventSearch().search(model, theta, x, now.events)
                        for model, x in zip(models, now.solution.at.x, strict=True)]  # fmt: skip
            now = replace(now, events=tuple(event for _, events in searched for event in events))
            if all(np.array_equal(new.schedule.closed, old.schedule.closed)
                   for (new, _), old in zip(searched, models, strict=True)):  # fmt: skip
                break
            now = self._again(now, [model for model, _ in searched])
        return now

    def settle(
        self,
        problem: OptimalEstimationProblem,
        guess: Trajectories,
        factors: Mapping[str, float] | None = None,
        rounds: int | None = None,
    ) -> Refined:
        """Solve for motion and parameters, and in turn for the noise levels that the data determine.

        Args:
            factors: levels over those that were given, of an earlier solution.
            rounds: iterations after which the result is taken as it is; None: until all has settled.

        Levels follow after every step: a solution for wrong levels is worth no more. The random signs are the same each
        time, so levels have a limit. Once they have settled, the problem is solved for them.
        """
        open_levels, factors = self._open_levels(problem), factors or {}
        if not open_levels:
            return self.solve(problem, guess)
        history: tuple[Iteration, ...] = ()
        start: Evaluation | None = None
        once = replace(self.method.ddp, max_iterations=1)
        for _ in range(rounds or self.method.max_rounds):
            solution = once.solve(problem.shooting, guess, progress=self.progress, stop=self.stop)
            history, start, guess = (*history, *solution.history), start or solution.start, solution.at
            if not (solution.status.converged or solution.status is Status.step_limit):
                break
            report(self.progress, "noise levels")
            levels = NoiseLevels(problem.shooting, guess)
            steps = levels.steps(open_levels, np.random.default_rng(self.method.seed))
            factors = {name: factors.get(name, 1.0) * factor for name, factor in steps.items()}
            held_out = tuple(model.with_levels(steps) for model in problem.held_out)
            problem = replace(problem, models=levels.reweighted(steps), held_out=held_out)
            if max((abs(np.log(factor)) for factor in steps.values()), default=0.0) < self.method.settled:
                break
        if rounds is None and (solution.status.converged or solution.status is Status.step_limit):
            solution = self.method.ddp.solve(problem.shooting, guess, progress=self.progress, stop=self.stop)
            history = (*history, *solution.history)
        if any(map(late_sensors, problem.models)):
            solved = self.solve(problem, solution.at)
            problem, solution = solved.problem, solved.solution
            history = (*history, *solution.history)
        return Refined(problem, replace(solution, start=start or solution.start, history=history), factors)

    def _open_levels(self, problem: OptimalEstimationProblem) -> frozenset[str]:
        """Names of the levels that are estimated."""
        given, models = self.method.process_noise, problem.models
        names = {name for model in models for name in model.disturbances} if given != "given" else set()
        if given == "commands":
            names &= {*EFFORTS, THRUST}
        present = {name for model in models for name in model.levels}
        return frozenset(present.intersection(names.union(*(model.open_levels for model in models))))


def with_rates(
    model: RobotTrajectoryModel, x: NodeStates, w: Columns, theta: Vector
) -> RobotTrajectoryModel | None:
    """The same recording, with rates of predicted readings where they may be late; None: no sensor has a delay.

    They are slopes along the motion x, w, of lines through neighbouring samples with the same contacts.
    """
    late = late_sensors(model)
    if not late:
        return None
    motions = list(model.along(x, theta, w))
    readings = tuple(
        replace(some, rates=predicted_rates(some.sensor, model, motions)) if some.sensor in late else some
        for some in model.readings
    )
    return replace(model, readings=readings, guess=model.initial_states)


def late_sensors(model: RobotTrajectoryModel) -> list[Sensor]:
    """Sensors of a recording whose readings may be late."""
    errors = model.parameters.sensor_errors(model.parameters.nominal_theta)
    return [
        some.sensor
        for some in model.readings
        if not isinstance(some.sensor, ContactVelocity)
        and errors.delays(some.sensor.quantity, some.sensor.frames)
    ]
