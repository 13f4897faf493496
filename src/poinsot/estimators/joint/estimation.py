"""A joint fit as an estimate: parameters, motions, bodies, friction curves, validation, and sentences about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ...arrays import Brief, Vector
from ...estimate import (
    Body,
    Certificate,
    Convergence,
    Estimate,
    EstimatedMotion,
    EstimatedMotions,
    EstimatedParameters,
    Extra,
    Fit,
    FrictionCurve,
    FrictionCurves,
    Provenance,
    SensorFit,
    Status,
    Uncertainty,
    extras_of,
    fit_of,
    motions_of,
    unobservable_directions,
)
from ...estimate.motions import path_of
from ...estimate.uncertainty import of_next_recording
from ...exceptions import InvalidModel
from ...inertia.parameters import body, completed_inertia, from_physical, inertia_matrix
from ...io.writing import write_text
from ...models.maximal import FrameReading, Mechanism, Model, State
from ...models.maximal.bodies import SIX
from ...models.maximal.values import friction_effort
from ...quantities import QUATERNION
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from ...stopwatch import Stopwatch
from .contacts import NONE, StopEstimate, check_stops_are_read, reached_stops, suspected_stops, widest_stops
from .effects import Rollouts, RolloutUncertainty
from .examination import JointExamination
from .prediction import efforts, predicted
from .problem import BodyMotions, JointFit, JointSmoothingProblem, Record, RecordFit, vector_readings
from .smoothing import Doubt, JointSmoothing, RecordEquations, at_held_out
from .stops import declared_stops
from .weight import ChosenWeight, WeightChoice

SPEEDS = 81
"""Points of a friction curve."""
COMPLETIONS = 4
"""Most fits with inertias that are held as a real body has them."""


class ReadingColumn(NamedTuple):
    """A column of measured and predicted readings (N,) of a sensor, as a channel has it, with its noise."""

    sensor: str
    channel: str
    unit: str
    noise: float
    measured: Vector
    predicted: Vector


@dataclass(frozen=True, eq=False)
class IdentifiedMechanism(Extra):
    """What a simulation of the mechanism needs beside the parameters.

    Args:
        weight: kappa of the residuals of steps. step_s: time step of the records [s].
        mechanism: with the estimated values. parameters: all p.
        completed: inertias that are held and that no real body has beside the estimated ones, as the nearest real body
            has them.
    """

    key = "mechanism"

    weight: float
    step_s: float
    mechanism: Mechanism = field(repr=False)
    parameters: EstimatedParameters = field(repr=False)
    completed: Mapping[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        covariance = of_next_recording(self.parameters.uncertainty)
        return {
            "weight": self.weight,
            "step_s": self.step_s,
            "covariance": covariance.tolist(),
            "completed": dict(self.completed),
        }

    def files(self, estimate: Estimate) -> tuple[Mapping[str, Callable[[Path], Any]], tuple[str, ...]]:
        """A file of MuJoCo."""
        from ...models.maximal.mjcf import mechanism_mjcf

        try:
            text, notes = mechanism_mjcf(self.mechanism, self.step_s)
        except InvalidModel as error:
            return {}, (f"No MJCF is written: {error}.",)
        name = re.sub(r"[^\w.-]", "_", self.mechanism.name)
        return {f"{name}.xml": partial(write_text, text=text)}, notes


def completed_entries(model: Model, fit: JointFit) -> dict[str, float]:
    """Held entries of inertias as real bodies with the estimated ones have them, where they are no real body's.

    Motions in a plane depend on few entries of an inertia.
    """
    mechanism = model.mechanism.starting(fit.values)
    changed: dict[str, float] = {}
    for i in range(len(mechanism.bodies)):
        names = {
            entry.index[1]: name
            for name, entry in mechanism.entries.items()
            if entry.kind == "inertia" and entry.index[0] == i
        }
        six = np.asarray(mechanism.values.inertia)[i]
        known = np.array([names[k] in fit.names for k in range(6)])
        J, mask = (inertia_matrix(np.concatenate([np.zeros(4), part])) for part in (six, known))
        found = completed_inertia(J, mask > 0)
        if known.any() and found is not J:
            changed |= {
                names[k]: float(found[at]) for k, at in enumerate(SIX) if not known[k] and found[at] != J[at]
            }
    return changed


@dataclass(frozen=True, eq=False)
class Summary:
    """The parts of an estimate; `chosen` is None where the weight was given; `completed`: of `IdentifiedMechanism`."""

    problem: JointSmoothingProblem
    method: JointSmoothing
    fit: JointFit
    chosen: ChosenWeight | None
    completed: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def rollouts(self) -> Rollouts:
        """Of the fitted records."""
        return Rollouts(self.problem, self.method, self.fit)

    @cached_property
    def parameters(self) -> EstimatedParameters:
        """All p parameters."""
        fit, model = self.fit, self.model
        entries = [model.mechanism.entries[name] for name in fit.names]
        interrupted = fit.status is Status.interrupted
        systematic = None if interrupted else RolloutUncertainty(self.rollouts)
        return EstimatedParameters(
            names=fit.names,
            units=model.units,
            owners=tuple(entry.owner for entry in entries),
            kinds=tuple(entry.family for entry in entries),
            groupings=fit.names,
            values=fit.theta,
            identifiable=np.isfinite(fit.robust_std),
            uncertainty=Uncertainty(fit.std, fit.robust_covariance, systematic),
        )

    @property
    def model(self) -> Model:
        return self.problem.model

    def estimate(self) -> Estimate:
        """The estimate without validation."""
        fit, model, names = self.fit, self.model, self.fit.names
        spread = fit.sensitivity
        condition, scaled = spread.condition_numbers
        null_space = (spread.unobservable * spread.scale).T
        states = tuple(path.states for path in fit.paths if path.states is not None)
        status = fit.status
        if status is Status.solved and not self.parameters.identifiable.all():
            status = Status.partly
        samples = sum(len(path.times) for path in fit.paths)
        return Estimate(
            method="",
            robot=model.mechanism.name,
            described=model.mechanism.described,
            parameters=self.parameters,
            status=status,
            condition_number=condition,
            scaled_condition_number=scaled,
            rows=sum(int(np.isfinite(path.observation_errors).sum()) for path in fit.paths),
            fit=self.smoothed(fit.paths),
            bodies=self.bodies(),
            undetermined=unobservable_directions(names, fit.theta, null_space, []),
            iterations=fit.iterations,
            extras=extras_of(
                FrictionCurves(tuple(self.friction_curves())),
                EstimatedMotions(tuple(map(self.motion, fit.paths))),
                BodyMotions(states),
                IdentifiedMechanism(
                    self.method.weight,
                    float(np.median(self.problem.records[0].steps)),
                    self.identified,
                    self.parameters,
                    self.completed,
                ),
                Convergence(
                    names,
                    np.array([0.5 * step.cost * samples for step in fit.history]),
                    np.zeros(len(fit.history)),
                    np.array([step.theta for step in fit.history]),
                ),
            ),
            provenance=Provenance(notes=tuple(self.notes())),
        )

    def motion(self, path: RecordFit) -> EstimatedMotion:
        """Joint coordinates and rates with their standard deviations, and the residuals of each sensor."""
        n = path.coordinates.shape[1]
        std = None if path.std is None or path.std.shape[1] != 2 * n else path.std
        columns = (
            (f"{quantity}.{name}", unit + per, values[:, k], None if std is None else std[:, first + k])
            for k, (name, unit) in enumerate(self.model.mechanism.coordinates)
            for quantity, per, values, first in (
                ("position", "", path.coordinates, 0),
                ("velocity", "/s", path.rates, n),
            )
        )
        return EstimatedMotion(
            path.name,
            path_of(path.name, path.times, columns),
            tuple(self.sensor_fits(path)),
            disturbance=self.disturbance(path),
        )

    def sensor_fits(self, path: RecordFit) -> Iterator[SensorFit]:
        """Readings of each sensor, those at a frame together, along a motion."""
        normalized = -path.observation_errors / self.method.noise_of(self.model)
        columns = self.columns(path.expected, path.observation_errors, full_turns=True)
        for label, at in self.model.mechanism.readings:
            mine = [column for column in columns if column.sensor == label]
            components = [self.model.mechanism.sensors[k].channel for k in at.tolist()]
            yield SensorFit(
                label,
                tuple(column.channel for column in mine),
                tuple(column.unit for column in mine),
                np.column_stack([column.measured for column in mine]),
                np.column_stack([column.predicted for column in mine]),
                tuple(components),
                normalized[:, at],
            )

    def columns(
        self, expected: np.ndarray, errors: np.ndarray, full_turns: bool = False
    ) -> list[ReadingColumn]:
        """Readings as channels have them, from predicted readings (N, s) and their errors; orientations as quaternions.

        Angles with or without the full turns of the readings: errors relative to hundreds of radians are meaningless.
        """
        mechanism, noise, columns = self.model.mechanism, self.method.noise_of(self.model), []
        z = expected - errors
        wraps = self.model.angular & (not full_turns)
        turns = np.where(wraps, 2 * np.pi * np.round(z / (2 * np.pi)), 0.0)
        for label, at in self.model.mechanism.readings:
            first = mechanism.sensors[int(at[0])]
            if not isinstance(first, FrameReading) or not first.is_orientation:
                for k in at.tolist():
                    pair = z[:, k] - turns[:, k], expected[:, k] - np.nan_to_num(turns[:, k])
                    channel, unit = mechanism.sensors[k].channel, mechanism.sensor_units[k]
                    columns.append(ReadingColumn(label, channel, unit, float(noise[k]), *pair))
                continue
            predicted = vector_readings(self.model, expected, at)
            measured, known = np.full_like(predicted, np.nan), np.isfinite(errors[:, at]).all(axis=1)
            known &= np.isfinite(predicted).all(axis=1)
            if known.any():
                away, to = Rotation.from_rotvec(-errors[known][:, at]), Rotation.from_quat(predicted[known])
                measured[known] = (away * to).as_quat()
                # e and -e are the same orientation
                opposite = np.sum(np.nan_to_num(measured) * predicted, axis=1) < 0
                measured[opposite] *= -1
            for k, end in enumerate(QUATERNION):
                # of a rotation by a small vector a quaternion has half
                level, channel = float(noise[at].mean()) / 2, f"{first.quantity}.{first.owner}.{end}"
                columns.append(ReadingColumn(label, channel, "1", level, measured[:, k], predicted[:, k]))
        return columns

    def disturbance(self, path: RecordFit) -> dict[str, float]:
        """Rms of the residuals of steps by coordinate, in standard deviations of the weight; of the reduced form."""
        n = path.coordinates.shape[1]
        if path.step_errors.shape[1] != 2 * n:
            return {}
        size = np.sqrt(self.method.weight * np.mean(path.step_errors.reshape(-1, 2, n) ** 2, axis=(0, 1)))
        return {
            f"impulse.{name}": float(rms)
            for (name, _), rms in zip(self.model.mechanism.coordinates, size, strict=True)
        }

    def smoothed(self, paths: Sequence[RecordFit]) -> Fit:
        """Measured readings, and those of the smoothed motion; one column per sensor."""
        parts = [(path.times, path.expected, path.observation_errors) for path in paths]
        return self._fit(parts, paths[0].name if len(paths) == 1 else "")

    def predictions(
        self, records: Sequence[Record], paths: Sequence[RecordFit], held_out: bool = False
    ) -> Fit:
        """Measured readings, and those predicted over windows from states estimated without them."""
        predictions = predicted(self.method, self.model, records, self.fit.theta, paths)
        s = len(self.model.mechanism.sensors)
        parts = [
            (
                prediction.record.times[prediction.places.ravel()],
                prediction.expected.reshape(-1, s),
                prediction.errors.reshape(-1, s),
            )
            for prediction in predictions
        ]
        longest = max(one.places.shape[1] * float(np.median(one.record.steps)) for one in predictions)
        name = records[0].name if len(records) == 1 else ""
        return self._fit(parts, f"{name}, predicted over {longest:.2g} s" if held_out else name)

    def _fit(self, parts: Sequence[tuple[Vector, np.ndarray, np.ndarray]], name: str) -> Fit:
        """Fit from the times, predicted readings and their errors (N, s) of each record."""
        times, expected, errors = (np.concatenate(part) for part in zip(*parts, strict=True))
        columns = self.columns(expected, errors)
        return fit_of(
            times,
            tuple(column.channel for column in columns),
            tuple(column.unit for column in columns),
            np.column_stack([column.measured for column in columns]),
            np.column_stack([column.predicted for column in columns]),
            counts=[len(part[0]) for part in parts],
            recording=name,
            noise=np.array([column.noise for column in columns]),
        )

    def validated(self) -> list[Fit]:
        """Each held-out record predicted over windows, and the efforts of its motors along its smoothed motion."""
        records = self.problem.held_out
        if not records:
            return []
        paths = at_held_out(self.method, self.model, records, self.fit.theta).paths
        pairs = list(zip(records, paths, strict=True))
        fits = [self.predictions([record], [path], True) for record, path in pairs]
        return fits + [effort for pair in pairs if (effort := self.efforts(*pair)) is not None]

    def efforts(self, record: Record, path: RecordFit) -> Fit | None:
        """Efforts of motors: commanded, and by inverse dynamics; None without commands, or for other forms."""
        compared = efforts(self.model, self.fit.theta, record, path)
        if compared is None or not compared[1].any():
            return None
        units = {joint.name: joint.effort_unit for joint in self.model.mechanism.joints}
        inputs = self.model.mechanism.inputs
        return fit_of(
            compared[0],
            tuple(f"torque.{name}" for name in inputs),
            tuple(units[name] for name in inputs),
            *compared[1:],
            recording=f"{record.name}, efforts",
        )

    @cached_property
    def identified(self) -> Mechanism:
        """The mechanism with the estimated values."""
        return self.model.mechanism.starting(self.fit.values)

    def bodies(self) -> tuple[Body, ...]:
        """Bodies with an estimated mass property."""
        mechanism = self.model.mechanism
        values, bodies = self.identified.values, []
        estimated = {
            entry.owner
            for name in self.fit.names
            if (entry := mechanism.entries[name]).kind in ("mass", "center", "inertia")
        }
        for i, described in enumerate(mechanism.bodies):
            if described.name in estimated:
                J = inertia_matrix(np.concatenate([np.zeros(4), np.asarray(values.inertia)[i]]))
                pi = from_physical(float(values.mass[i]), np.asarray(values.center)[i], J)
                bodies.append(body(described.name, pi))
        return tuple(bodies)

    def friction_curves(self) -> list[FrictionCurve]:
        """Friction over speed of joints with an estimated friction parameter, where friction depends only on speed."""
        curves, mechanism = [], self.model.mechanism
        places = {name: k for k, (name, _) in enumerate(mechanism.coordinates)}
        values = mechanism.starting(self.fit.values).values
        for number, joint in enumerate(mechanism.joints):
            entries = [mechanism.entries[name] for name in self.fit.names]
            mine = [
                k
                for k, entry in enumerate(entries)
                if entry.owner == joint.name and entry.kind in ("drag", "friction")
            ]
            if not (mine and joint.has_speed_friction):
                continue
            place = places[joint.name]
            fastest = max(float(np.abs(path.rates[:, place]).max()) for path in self.fit.paths)
            speed = np.linspace(-fastest, fastest, SPEEDS)
            numbers = np.array([values.drag[number], *np.asarray(values.friction)[number]])
            curve, slopes = friction_effort(speed, numbers), []
            for k in mine:
                column = 0 if entries[k].kind == "drag" else 1 + entries[k].index[1]
                # forward differences: curves are linear in most numbers
                step = np.zeros(len(numbers))
                step[column] = max(1e-6 * abs(numbers[column]), 1e-12)
                slopes.append((friction_effort(speed, numbers + step) - curve) / step[column])
            P, slope = self.parameters.covariance[np.ix_(mine, mine)], np.column_stack(slopes)
            std = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", slope, P, slope), 0.0))
            curves.append(FrictionCurve(joint.name, joint.effort_unit, speed, curve, std))
        return curves

    def notes(self) -> list[str]:
        """Meaning of the weight, and how it was chosen."""
        chosen = (
            []
            if self.chosen is None
            else [f"The weight was chosen from the recordings. {self.chosen.reason}"]
        )
        return [
            f"Residuals of steps have the weight {self.method.weight:.3g}: impulses of "
            f"{1 / np.sqrt(self.method.weight):.2g} [N s, N m s] that are not modelled are as likely as one standard "
            "deviation of a sensor.",
            *chosen,
        ]


@dataclass(frozen=True, eq=False, repr=False)
class WeightedProblem(Brief):
    """A problem with the method and the doubt that weight its residuals, for certificates of estimates."""

    problem: JointSmoothingProblem
    method: JointSmoothing
    doubt: Doubt | None = None

    def certify(self, estimate: Estimate) -> Certificate:
        """Stationarity and bounds at the estimate's values and motions; nothing is iterated."""
        theta, bounds = np.asarray(estimate.values, dtype=float), self.problem.parameters
        tolerance = float(np.sqrt(self.method.tolerance))
        if not np.isfinite(theta).all():
            return Certificate(float("inf"), False, tolerance)
        # evaluated within the bounds: a mass below 0 has no residuals; `holds` reports the violation
        inside = np.clip(theta, bounds.lower, bounds.upper)
        names = tuple(name for name, _ in self.problem.model.mechanism.coordinates)
        motions, guess = motions_of(estimate), []
        bodies: Sequence[State | None] = estimate.extra(BodyMotions) or [None] * len(motions)
        for motion, record, states in zip(motions, self.problem.records, bodies, strict=True):
            y, rate = (motion.path.stack(quantity, names) for quantity in ("position", "velocity"))
            guess.append(RecordFit.at(record, y, rate, states))
        at_values = replace(self.problem, theta=inside, guess=guess)
        stationarity = RecordEquations(self.method, at_values, self.doubt).start().stationarity()
        return Certificate(stationarity, bounds.holds(theta), tolerance)


@dataclass(frozen=True)
class JointEstimation(Method):
    """Estimate of states and parameters together (Lacoursiere 2007).

    Args:
        method: weights and form.
        weight_choice: choice of the weight, in place of that of the method; None: the weight of the method.
        settled: see `JointSmoothing.settled`; a tenth of a standard deviation does not matter.
    """

    method: JointSmoothing
    weight_choice: WeightChoice | None = None
    settled: float = 0.1

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
            progress: called after each weight that was tried and after each iteration.
            stop: called between iterations and weights; if it returns True, the estimate is the one so far.

        Raises:
            InvalidMethod, InvalidSignals: if a name, a bound or a record is wrong.
        """
        watch = Stopwatch()
        method = replace(self.method, reference=problem.parameters.theta, settled=self.settled)
        problem.check_motion(method.noise_of(problem.model))
        declared = np.isfinite(declared_stops(problem.model, problem.parameters.theta))
        check_stops_are_read(problem, declared)
        problem = StopEstimate.unknown(problem).known_to(problem)
        ends = declared | suspected_stops(method, problem)
        method = replace(method, stops=widest_stops(problem, ends))
        stops: StopEstimate | None = None
        chosen: ChosenWeight | None = None
        if self.weight_choice is None:
            fit = method.solve(problem, progress=progress, stop=stop)
        else:
            chosen = self.weight_choice.choose(method, problem, progress=progress, stop=stop)
            method, fit = chosen.method, chosen.fit
            watch.lap("weight")
        if not stop_requested(stop):
            # weighted by the estimated inertia, and with the standard deviations of states for reports
            method = replace(method, reference=fit.theta)
            begun = replace(problem, theta=fit.theta, guess=fit.paths)
            method = replace(method, stops=reached_stops(method, begun, ends), state_std=True)
            stops = StopEstimate.of(method, begun)
            # where no bounce and no rest is seen, errors near an end are those of something else
            method = replace(
                method,
                stops=np.where(declared | stops.is_found, method.stops_of(problem.model, fit.theta), NONE),
            )
            begun = stops.known_to(begun)
            again = method.solve(begun, progress=progress, stop=stop)
            problem = replace(problem, theta=begun.theta, priors=begun.priors)
            fit = replace(again, history=(*fit.history, *again.history[1:]))
        completed: dict[str, float] = {}
        for _ in range(COMPLETIONS):
            changed = completed_entries(problem.model, fit)
            if not changed or stop_requested(stop):
                break
            completed |= changed
            model = problem.model.mechanism.starting(completed).model(problem.model.free)
            problem = replace(problem, model=model)
            again = method.solve(replace(problem, theta=fit.theta, guess=fit.paths), stop=stop)
            fit = replace(again, history=(*fit.history, *again.history[1:]))
        watch.lap("solve")
        problem = replace(problem, held_out=problem.held_out_by_own_zeros(self.method, fit.theta))
        summary = Summary(problem, method, fit, chosen, completed)
        estimate = summary.estimate()
        watch.lap("summary")
        if fit.status is not Status.interrupted and not stop_requested(stop):
            report(progress, "validating")
            estimate = estimate.updated(
                fit=summary.predictions(problem.records, fit.paths), validation=tuple(summary.validated())
            )
        watch.lap("validation")
        return estimate.updated(
            method=self.name,
            citations=self.citations,
            # a kink may have stopped the iteration before the tolerance
            problem=WeightedProblem(
                problem, replace(method, tolerance=max(method.tolerance, fit.remaining)), fit.doubt
            ),
            examiner=JointExamination(problem, method, fit, summary.rollouts, stops).diagnose,
            corrected=() if stops is None else tuple(stops.undeclared(problem.model, ~declared)),
            seconds=watch.seconds,
        )
