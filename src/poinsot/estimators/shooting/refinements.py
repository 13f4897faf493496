"""Outer loops of optimal estimation: a solution changes its problem, which is solved again, until nothing changes.

    estimate_schedule    times at which contacts close and open (`contact_events`)
    admit_slips          noise of speeds grows at samples where a foot slips
    estimate_levels      the most likely levels of process noise (`noise_levels`)

Each takes a problem with its solution and returns the next. Inside of all of them `solve` follows delays: rates of
readings that may be late belong to a motion. Biases and delays themselves are components of theta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Columns, NodeStates, Vector
from ...estimate import Status
from ...estimate.motions import ContactChange
from ...models.contacts.contact_dynamics import RobotMotion
from ...models.sensors import ContactVelocity, Sensor
from ...recording import EFFORTS, THRUST
from ...solve import ProgressCallback, Stop, report
from .contact_events import EventSearch
from .ddp import ShootingSolution
from .noise_levels import NoiseLevels
from .problem import Trajectories
from .robot import RobotTrajectoryModel

if TYPE_CHECKING:
    from .estimation import OptimalEstimation, OptimalEstimationProblem

WIDEST = 32
"""Half a width of lines whose slopes are rates of readings [samples]."""
STUDENT_DEGREES = 4.0
"""Of freedom of the noise of speeds where feet slip: below it Student's t has no finite kurtosis."""


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
        method, now = self.method, self.solve(problem, problem.guess)
        loops: tuple[tuple[bool, Callable[[Refined], Refined]], ...] = (
            (method.contact_schedule == "estimated", self.estimate_schedule),
            (method.contact_slip == "estimated", self.admit_slips),
            (method.process_noise != "given", self.estimate_levels),
        )
        for runs, loop in loops:
            now = loop(now) if runs else now
        return now

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
        solved = self.solve(problem, problem.guess if guess is None else guess)
        return replace(now, problem=solved.problem, solution=solved.solution)

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

    def admit_slips(self, now: Refined) -> Refined:
        for _ in range(self.method.max_rounds):
            if now.solution.status is Status.interrupted:
                break
            before, at = now.solution.cost, now.solution.at
            # a slip that was not known yet may have driven theta to where a chart is flat
            guess = replace(at, theta=now.problem.guess.theta)
            now = self._again(now, map(with_slips, now.problem.models, at.w), guess)
            if 2 * abs(now.solution.cost - before) < self.method.settled:
                # as far as if it had begun at the last round's
                return self._again(now, now.problem.models, now.solution.at)
        return now

    def estimate_levels(self, now: Refined) -> Refined:
        rng = np.random.default_rng(self.method.seed)
        for _ in range(self.method.max_rounds):
            if not now.solution.status.converged:
                break
            likelier = NoiseLevels(now.problem.shooting, now.solution.at).likelier(rng)
            step = {
                name: float(np.clip(factor, 0.2, 5.0))
                for name, (factor, _) in likelier.items()
                if self.method.process_noise == "auto" or name in (*EFFORTS, THRUST)
            }
            factors = {name: now.factors.get(name, 1.0) * factor for name, factor in step.items()}
            models, held_out = (
                tuple(model.with_levels(step) for model in some)
                for some in (now.problem.models, now.problem.held_out)
            )
            problem = replace(now.problem, held_out=held_out)
            now = self._again(replace(now, problem=problem, factors=factors), models, now.solution.at)
            if max((abs(np.log(factor)) for factor in step.values()), default=0.0) < self.method.settled:
                break
        return now


def with_slips(model: RobotTrajectoryModel, w: Columns) -> RobotTrajectoryModel:
    """The same recording with more noise of speeds where a contact is closed and process noise w (N, m) asks for it.

    Its m speeds have Student's t distribution with nu degrees of freedom (Aravkin et al. 2014), whose optimum is
    that of normal noise with a variance times (nu + |w_k / sigma|^2) / (nu + m); variances do not shrink.
    """
    sigma, nu, k = model.noise[model.noisy_freedoms], STUDENT_DEGREES, len(model.noisy_commands)
    squares = np.sum((w[:, k:] / sigma) ** 2, axis=1)
    growth = np.ones((len(model.times), w.shape[1]))
    # of the two nodes of an impact the second is the one with noise
    growth[model.samples[:-1], k:] = np.sqrt(np.maximum((nu + squares) / (nu + len(sigma)), 1.0))[:, None]
    growth[~model.schedule.closed.any(axis=1)] = 1.0
    return replace(model, growth=growth, guess=model.initial_states)


def with_rates(
    model: RobotTrajectoryModel, x: NodeStates, w: Columns, theta: Vector
) -> RobotTrajectoryModel | None:
    """The same recording, with rates of predicted readings where they may be late; None: no sensor has a delay.

    They are slopes along the motion x, w, of lines through neighbouring samples with the same contacts.
    """
    errors = model.parameters.sensor_errors(theta)
    late = [
        some.sensor
        for some in model.readings
        if some.sensor.quantity != ContactVelocity.quantity
        and errors.delays(some.sensor.quantity, some.sensor.frames)
    ]
    if not late:
        return None
    motions = list(model.along(x, theta, w))
    readings = tuple(
        replace(some, rates=_rates(some.sensor, model, motions)) if some.sensor in late else some
        for some in model.readings
    )
    return replace(model, readings=readings, guess=model.initial_states)


def _rates(
    sensor: Sensor, model: RobotTrajectoryModel, motions: Sequence[tuple[np.ndarray, RobotMotion]]
) -> Columns:
    """(S, m) rates of predicted readings: slopes of lines through neighbouring samples with the same contacts.

    The noise of a motion is in its rates, where it counts as information on a delay and draws it towards 0 (an error in
    variables). So lines are as long as they may be: the half width doubles while slopes change by less than white
    noise of the sensor would change those of the shorter lines.
    """
    times, k = model.times, np.arange(len(model.times))
    edges = np.array([0, *(np.flatnonzero(np.diff(model.schedule.mode_of)) + 1), len(k)])
    phase = np.searchsorted(edges, k, side="right")
    first, last = edges[phase - 1], edges[phase] - 1
    room = np.minimum(k - first, last - k)
    predicted, rise = np.empty((len(k), sensor.width)), np.zeros((len(k), sensor.size))
    for samples, moved in motions:
        predicted[samples] = sensor.predicted(moved)
    run, squares, noise, rates = np.full(len(k), 1e-12), np.zeros(len(k)), np.empty(0), rise
    for j in range(1, WIDEST + 1):
        # at the ends of a phase lines are shorter, and at its first and last sample from there to the next
        inside = room >= j if j > 1 else np.ones(len(k), dtype=bool)
        a, b = np.where(inside, np.maximum(k - j, first), k), np.where(inside, np.minimum(k + j, last), k)
        for samples, moved in motions:
            ahead, behind = (sensor.difference(predicted[at[samples]], moved) for at in (b, a))
            rise[samples] += j * (ahead - behind)
        run, squares = run + j * (times[b] - times[a]), squares + 2.0 * j**2 * inside
        if j & (j - 1):
            continue
        longer = rise / run[:, None]
        change = ((longer - rates) @ sensor.whitening.T)[inside]
        if j > 1 and (not inside.any() or np.mean(change**2) > np.mean(noise[inside] ** 2)):
            break
        rates, noise = longer, np.sqrt(squares) / run
    return rates
