"""Joint smoothing: recordings of a mechanism -> an estimate of its parameters and of its motion.

    problem  = JointSmoothingProblem.from_recordings(mechanism, [recording], ("pendulum.Jxx", "elbow.drag"))
    estimate = JointEstimation(JointSmoothing(noise=(1e-3, 1e-3))).solve(problem)

Standard deviations are for autocorrelated residuals: effects that a model lacks persist, and standard deviations for
white residuals are then too small. A held-out recording is used twice. Its states are estimated with theta held
(Lacoursiere, Sect. 4.5), and it is simulated from its first state with nothing but its controls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Vector
from ...estimate import Certificate, Estimate, Status, motions_of
from ...exceptions import InvalidMethod, InvalidSignals
from ...models.maximal import Mechanism, Model
from ...parameters import Normal
from ...recording import Recording
from ...solve import ProgressCallback, Stop, report, stop_requested
from ...stopwatch import Stopwatch
from .problem import SmoothingProblem
from .records import Record, with_sensors
from .results import BodyMotions, RecordFit
from .smoothing import JointSmoothing
from .summary import Summary
from .weight import ChosenWeight, WeightChoice

STILL = 5.0
"""Multiples of a sensor's noise: readings that spread by less show no motion."""


@dataclass(frozen=True, eq=False)
class JointSmoothingProblem:
    """Recordings of a mechanism, and what is known of it.

    Args:
        mechanism: its values are the initial guess; parameters that are not named stay as they are.
        records: to be estimated from.
        parameters: names of those that are estimated.
        priors: of estimated parameters, by name.
        lower, upper: bounds, by name.
        held_out: records for validation alone.

    Raises:
        InvalidMethod: if no parameter is named, or a prior or bound is of one that is not estimated.
    """

    mechanism: Mechanism
    records: tuple[Record, ...]
    parameters: tuple[str, ...]
    priors: Mapping[str, Normal] = field(default_factory=dict)
    lower: Mapping[str, float] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    held_out: tuple[Record, ...] = ()

    def __post_init__(self) -> None:
        if not self.parameters:
            raise InvalidMethod("nothing is open; name at least one parameter to estimate")
        for name in (*self.priors, *self.lower, *self.upper):
            if name not in self.parameters:
                raise InvalidMethod(
                    f"{name!r} has a prior or a bound but is not open; name it among the parameters"
                )
        if not self.records:
            raise InvalidMethod("give at least one recording to estimate from")

    @classmethod
    def from_recordings(
        cls,
        mechanism: Mechanism,
        recordings: Sequence[Recording] | Mapping[str, Recording],
        parameters: Sequence[str],
        *,
        held_out: Sequence[Recording] | Mapping[str, Recording] = (),
        step_s: float | None = None,
        **known: Any,
    ) -> JointSmoothingProblem:
        """From recordings with channels `position.<joint>`, `velocity.<joint>`, and commands of motors.

        Args:
            mechanism: without sensors it gets an encoder or a rate sensor for each such channel.
            recordings: to be estimated from, maybe by name. held_out: for validation alone.
            parameters: names of those that are estimated.
            step_s: time step of the model, a multiple of the recordings' interval [s]; None: one sample.
            known: `priors`, `lower` and `upper`.

        Raises:
            InvalidMethod, InvalidSignals, InvalidModel: if a recording or a name does not fit the mechanism.
        """
        used, validation = _named(recordings, "recording"), _named(held_out, "held-out recording")
        if not mechanism.sensors:
            mechanism = with_sensors(mechanism, (*used.values(), *validation.values()))
        records = (
            tuple(Record.from_recording(mechanism, each, name, step_s) for name, each in some.items())
            for some in (used, validation)
        )
        return cls(mechanism, next(records), tuple(parameters), held_out=next(records), **known)

    @cached_property
    def model(self) -> Model:
        """Its discrete dynamics, the parameters free."""
        return self.mechanism.model(self.parameters)

    @cached_property
    def smoothing(self) -> SmoothingProblem:
        """What the smoother solves."""
        return SmoothingProblem(
            self.model, self.records, lower=self.lower, upper=self.upper, priors=self.priors
        )

    def check_motion(self, noise: Vector) -> None:
        """Check that each recording shows motion beyond the noise (s,).

        Raises:
            InvalidSignals: for the first that does not.
        """
        for record in self.records:
            spread = np.array(
                [np.nanstd(column) if np.isfinite(column).any() else 0.0 for column in record.z.T]
            )
            if (spread < STILL * noise).all():
                raise InvalidSignals(
                    f"nothing moves in {record.name}: no sensor's readings spread by more than {STILL:g} times its "
                    "noise; record a motion, or state a smaller noise if it is one"
                )


def _named(recordings: Sequence[Recording] | Mapping[str, Recording], word: str) -> Mapping[str, Recording]:
    if isinstance(recordings, Mapping):
        return recordings
    return {f"{word} {k + 1}": each for k, each in enumerate(recordings)}


@dataclass(frozen=True, eq=False)
class WeightedProblem:
    """A problem with the method that weighs its residuals: what an estimate is certified against."""

    problem: JointSmoothingProblem
    method: JointSmoothing

    def certify(self, estimate: Estimate) -> Certificate:
        """Stationarity and bounds at the estimate's values and motions.

        Residuals and their Jacobian are evaluated there; nothing is iterated. The tolerance of the cosines is the root
        of the iteration's: a predicted decrease of `tolerance` of the cost bounds their squares.
        """
        theta = np.asarray(estimate.values, dtype=float)
        smoothing = self.problem.smoothing
        bounds = smoothing.parameters
        feasible = bounds.holds(theta)
        inside = np.clip(theta, bounds.lower, bounds.upper)
        if not np.isfinite(theta).all():
            return Certificate(float("inf"), False, float(np.sqrt(self.method.tolerance)))
        at_values = replace(smoothing, theta=inside, guess=self._motions(estimate))
        return Certificate(
            self.method.stationarity(at_values), feasible, float(np.sqrt(self.method.tolerance))
        )

    def _motions(self, estimate: Estimate) -> list[RecordFit]:
        """The states of each record, from the estimate's motions."""
        names = [name for name, _ in self.problem.mechanism.coordinates]
        bodies = estimate.extra(BodyMotions)
        found = []
        for k, (motion, record) in enumerate(zip(motions_of(estimate), self.problem.records, strict=True)):
            y, rate = (
                np.column_stack([motion.path[f"{quantity}.{name}"] for name in names])
                for quantity in ("position", "velocity")
            )
            states = None if bodies is None else bodies[k]
            found.append(RecordFit.at(record, y, rate, states))
        return found


@dataclass(frozen=True)
class JointEstimation:
    """Estimate of states and parameters together (Lacoursiere 2007).

    Args:
        method: weights and form.
        weight_choice: how the weight is chosen by cross-validation, around that of the method; None: it is not.
    """

    method: JointSmoothing
    weight_choice: WeightChoice | None = None

    name = "joint-smoothing"
    citations = ("lacoursiere2007", "newey1987")

    def solve(
        self,
        problem: JointSmoothingProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Estimate:
        """Estimate.

        Args:
            problem: what to solve.
            progress: called after each weight that was tried and after each iteration.
            stop: asked between iterations and weights; stopped, the estimate is what was found until then.

        Raises:
            InvalidMethod, InvalidSignals: if a name, a bound or a record is wrong.
        """
        watch = Stopwatch()
        method = replace(self.method, state_std=True)
        problem.check_motion(method.noise_of(problem.model))
        chosen: ChosenWeight | None = None
        if self.weight_choice is not None:
            chosen = self.weight_choice.choose(
                replace(method, state_std=False), problem.smoothing, progress=progress, stop=stop
            )
            method = replace(method, weight=chosen.weight)
            watch.lap("weight")
        fit = method.solve(problem.smoothing, progress=progress, stop=stop)
        watch.lap("solve")
        summary = Summary(problem.model, (*problem.records, *problem.held_out), method, fit, chosen)
        estimate = summary.estimate()
        watch.lap("summary")
        validation: tuple[Any, ...] = ()
        if fit.status is not Status.interrupted and not stop_requested(stop):
            report(progress, "validating")
            validation = tuple(summary.validated())
        watch.lap("validation")
        return estimate.updated(
            method=self.name,
            citations=self.citations,
            validation=validation,
            problem=WeightedProblem(problem, method),
            seconds=watch.seconds,
        )
