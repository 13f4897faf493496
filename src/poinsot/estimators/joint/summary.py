"""A joint fit as an estimate: parameters, motions, bodies, friction curves, validation, and sentences about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Vector
from ...estimate import (
    Body,
    Convergence,
    Estimate,
    EstimatedMotion,
    EstimatedMotions,
    EstimatedParameters,
    Fit,
    FrictionCurve,
    FrictionCurves,
    Provenance,
    SensorFit,
    Status,
    extras_of,
    fit_of,
    unobservable_directions,
)
from ...estimate.motions import STD, rms_of
from ...inertia.parameters import body, from_physical, inertia_matrix
from ...models.maximal import Model
from ...recording import Recording
from .problem import JointSmoothingProblem
from .records import Record, full_turns_off
from .results import BodyMotions, JointFit, RecordFit
from .simulation import simulated
from .smoothing import JointSmoothing, at_held_out
from .weight import ChosenWeight

NOISY = 3.0
"""Multiples of a sensor's stated noise: a warning is given where its residuals are larger."""
SPEEDS = 81
"""Points of a friction curve."""


@dataclass(frozen=True, eq=False)
class Summary:
    """The parts of an estimate.

    Args:
        problem: that was solved.
        method: with the weight that was used. fit: its result.
        chosen: the choice of the weight; None where it was given.
    """

    problem: JointSmoothingProblem
    method: JointSmoothing
    fit: JointFit
    chosen: ChosenWeight | None

    @property
    def noise(self) -> Vector:
        """(s,) of sensors."""
        return self.method.noise_of(self.model)

    @property
    def model(self) -> Model:
        return self.problem.model

    def estimate(self) -> Estimate:
        """The estimate without validation."""
        fit, model, names = self.fit, self.model, self.fit.names
        entries = [model.mechanism.entries[name] for name in names]
        # parameters of which only ratios act may have a finite covariance where a bound stopped them
        identifiable = np.isfinite(fit.robust_std) & ~fit.scale_is_free
        spread = fit.sensitivity
        motions = tuple(
            self.motion(path, record) for path, record in zip(fit.paths, self.problem.records, strict=True)
        )
        states = tuple(path.states for path in fit.paths if path.states is not None)
        status = fit.status
        if status is Status.solved and not identifiable.all():
            status = Status.partly
        samples = sum(len(path.times) for path in fit.paths)
        return Estimate(
            method="",
            robot=model.mechanism.name,
            parameters=EstimatedParameters(
                names=names,
                units=model.units,
                owners=tuple(entry.owner for entry in entries),
                kinds=tuple(entry.family for entry in entries),
                groupings=names,
                values=fit.theta,
                covariance=fit.robust_covariance,
                std_kind="coloured",
                identifiable=identifiable,
                white_std=fit.std,
                coloured_std=fit.robust_std,
            ),
            status=status,
            condition_number=spread.condition_number,
            scaled_condition_number=spread.scaled_condition_number,
            rows=sum(int(np.isfinite(path.observation_errors).sum()) for path in fit.paths),
            fit=self.readings(fit.paths, self.problem.records),
            bodies=self.bodies(),
            undetermined=unobservable_directions(names, fit.theta, spread.unobservable_changes.T, []),
            iterations=fit.iterations,
            extras=extras_of(
                FrictionCurves(tuple(self.friction_curves())),
                EstimatedMotions(motions),
                BodyMotions(states),
                Convergence(
                    names,
                    np.array([0.5 * each.cost * samples for each in fit.history]),
                    np.zeros(len(fit.history)),
                    np.array([each.theta for each in fit.history]),
                ),
            ),
            provenance=Provenance(warnings=tuple(self.warnings(motions)), notes=tuple(self.notes())),
        )

    # -- motion --------------------------------------------------------------------------------------------------------

    def motion(self, path: RecordFit, record: Record) -> EstimatedMotion:
        """Joint coordinates and rates with their standard deviations, and the residuals of each sensor."""
        channels: dict[str, np.ndarray] = {}
        units: dict[str, str] = {}
        n = path.coordinates.shape[1]
        for k, (name, unit) in enumerate(self.model.mechanism.coordinates):
            for quantity, unit_of, values, column in (
                ("position", unit, path.coordinates, k),
                ("velocity", f"{unit}/s", path.rates, n + k),
            ):
                channel = f"{quantity}.{name}"
                channels[channel], units[channel] = values[:, k], unit_of
                if path.std is not None and path.std.shape[1] == 2 * n:
                    channels[STD + channel], units[STD + channel] = path.std[:, column], unit_of
        fits = tuple(
            SensorFit(
                label,
                (channel,),
                (unit,),
                path.measured[:, k : k + 1],
                path.expected[:, k : k + 1],
                (channel,),
                -path.observation_errors[:, k : k + 1] / self.noise[k],
            )
            for k, (label, channel, unit) in enumerate(self.sensors())
        )
        return EstimatedMotion(
            record.name,
            Recording(path.times, channels, units, {}, {"estimated": record.name}),
            fits,
            disturbance=self.disturbance(path),
        )

    def sensors(self) -> list[tuple[str, str, str]]:
        """(label, channel, unit) of each."""
        mechanism = self.model.mechanism
        units = dict(mechanism.coordinates)
        return [
            (sensor.label, sensor.channel, sensor.unit_of(units[sensor.joint]))
            for sensor in mechanism.sensors
        ]

    def disturbance(self, path: RecordFit) -> dict[str, float]:
        """Rms of the residuals of steps by coordinate, in the standard deviations that the weight states.

        Only of the reduced form: residuals by body do not belong to a coordinate.
        """
        n = path.coordinates.shape[1]
        if path.step_errors.shape[1] != 2 * n:
            return {}
        size = np.sqrt(self.method.weight * np.mean(path.step_errors.reshape(-1, 2, n) ** 2, axis=(0, 1)))
        return {
            f"impulse.{name}": float(each)
            for (name, _), each in zip(self.model.mechanism.coordinates, size, strict=True)
        }

    def readings(self, paths: Sequence[RecordFit], records: Sequence[Record]) -> Fit:
        """Measured and predicted readings, a column a sensor."""
        return self._fit(
            np.concatenate([path.measured for path in paths]),
            np.concatenate([path.expected for path in paths]),
            records,
            records[0].name if len(records) == 1 else "",
        )

    def _fit(self, measured: np.ndarray, predicted: np.ndarray, records: Sequence[Record], name: str) -> Fit:
        sensors = self.sensors()
        return fit_of(
            np.concatenate([record.times for record in records]),
            tuple(channel for _, channel, _ in sensors),
            tuple(unit for _, _, unit in sensors),
            measured,
            predicted,
            speeds=None,
            counts=[len(record.times) for record in records],
            recording=name,
            noise=self.noise,
        )

    def validated(self) -> list[Fit]:
        """Fits of each held-out record with its states estimated, and of all records simulated."""
        found, paths = [], self.fit.paths
        if self.problem.held_out:
            again = at_held_out(self.method, self.model, self.problem.held_out, self.fit.theta)
            for path, record in zip(again.paths, self.problem.held_out, strict=True):
                found.append(replace(self.readings([path], [record]), recording=record.name))
            paths = (*paths, *again.paths)
        for path, record in zip(paths, (*self.problem.records, *self.problem.held_out), strict=True):
            read = simulated(self.model, self.fit.theta, record, path)
            measured = read + full_turns_off(path.measured - read, self.model.angular)
            found.append(
                self._fit(measured, read, [record], f"{record.name}, simulated from its first state")
            )
        return found

    # -- what it is ----------------------------------------------------------------------------------------------------

    def bodies(self) -> tuple[Body, ...]:
        """Those of which a mass property was estimated."""
        mechanism = self.model.mechanism
        values, found = mechanism.starting(self.fit.values).values, []
        estimated = {
            entry.owner
            for name in self.fit.names
            if (entry := mechanism.entries[name]).kind in ("mass", "center", "inertia")
        }
        for i, each in enumerate(mechanism.bodies):
            if each.name in estimated:
                J = inertia_matrix(np.concatenate([np.zeros(4), np.asarray(values.inertia)[i]]))
                pi = from_physical(float(values.mass[i]), np.asarray(values.center)[i], J)
                found.append(body(each.name, pi))
        return tuple(found)

    def friction_curves(self) -> list[FrictionCurve]:
        """Friction over speed of joints with an estimated friction parameter, where friction depends on speed alone."""
        curves, mechanism = [], self.model.mechanism
        places = {name: k for k, (name, _) in enumerate(mechanism.coordinates)}
        for joint in mechanism.joints:
            law = joint.friction_curve
            if law is None:
                continue
            open_ = {
                mechanism.entries[name].kind: k
                for k, name in enumerate(self.fit.names)
                if mechanism.entries[name].owner == joint.name and mechanism.entries[name].kind in law.numbers
            }
            if not open_:
                continue
            mine, place = list(open_.values()), places[joint.name]
            fastest = max(float(np.abs(path.rates[:, place]).max()) for path in self.fit.paths)
            speed = np.linspace(-fastest, fastest, SPEEDS)
            numbers = {**law.numbers} | {kind: float(self.fit.theta[k]) for kind, k in open_.items()}
            curve, slopes = law.effort(speed, numbers), []
            for kind in open_:
                # forward differences: curves are linear in all numbers but the decay
                step = max(1e-6 * abs(numbers[kind]), 1e-12)
                slopes.append((law.effort(speed, numbers | {kind: numbers[kind] + step}) - curve) / step)
            P, slope = self.fit.robust_covariance[np.ix_(mine, mine)], np.column_stack(slopes)
            std = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", slope, P, slope), 0.0))
            curves.append(FrictionCurve(joint.name, joint.effort_unit, speed, curve, std))
        return curves

    # -- words ---------------------------------------------------------------------------------------------------------

    def warnings(self, motions: Sequence[EstimatedMotion]) -> list[str]:
        """Sentences that limit how far the values can be trusted."""
        fit, names = self.fit, np.array(self.fit.names)
        found = []
        if not fit.converged:
            found.append(f"It did not converge: {fit.status.value}")
        for label, _, _ in self.sensors():
            fits = [each for motion in motions for each in motion.sensors if each.name == label]
            if (rms := rms_of(fits)) > NOISY:
                found.append(
                    f"The residuals of {label} are {rms:.2g} times its stated noise: its noise is larger than stated, "
                    "or the weight leaves the model too little freedom."
                )
        found += [
            f"No real body is like {each.name}: {'; '.join(each.reasons)}."
            for each in self.bodies()
            if not each.physically_consistent
        ]
        if fit.scale_is_free.any():
            found.append(
                f"Only ratios of {', '.join(names[fit.scale_is_free].tolist())} act, so they shrink together as far as "
                "they can: hold one of them, or give what is known of it in [priors]."
            )
        at_bound = names[fit.theta <= self.model.lower].tolist()
        if at_bound:
            found.append(f"{', '.join(at_bound)} ended at the bound below which it has no meaning.")
        for path, record in zip(fit.paths, self.problem.records, strict=True):
            found += self._step_warnings(path, record)
        return found

    def _step_warnings(self, path: RecordFit, record: Record) -> list[str]:
        longest = float(record.steps.max())
        angular = [unit == "rad" for _, unit in self.model.mechanism.coordinates]
        fastest = float(np.abs(path.rates[:, angular]).max(initial=0.0))
        if fastest * longest <= np.pi:
            return []
        return [
            f"The time step of {record.name} is up to {longest:.3g} s, longer than half its fastest period of "
            f"{2 * np.pi / fastest:.3g} s; take shorter steps."
        ]

    def notes(self) -> list[str]:
        """How the weight is to be read, and how it was chosen."""
        notes = [
            f"Residuals of steps have the weight {self.method.weight:.3g}: impulses of "
            f"{1 / np.sqrt(self.method.weight):.2g} [N s, N m s] that the model lacks are as likely as one standard "
            "deviation of a sensor."
        ]
        if self.chosen is not None:
            scores = ", ".join(
                f"{weight:.0e}: {np.sqrt(score):.3g}"
                for weight, score in zip(self.chosen.tried, self.chosen.scores, strict=True)
            )
            notes.append(
                "The weight was chosen by how well readings that were left out in blocks are predicted; rms errors in "
                f"standard deviations of the sensors: {scores}."
            )
        return notes
