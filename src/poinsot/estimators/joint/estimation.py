"""Joint smoothing: recordings of a mechanism -> an estimate of what it is and how it moved.

The problem is a value that can be looked at before it is solved, the method is `smoothing`'s:

    problem  = JointSmoothingProblem(mechanism, (record,), ("pendulum.Jxx", "elbow.drag"))
    estimate = JointEstimation(JointSmoothing(noise=(1e-3, 1e-3))).solve(problem)

Standard deviations are the robust ones: what a model lacks lasts, so errors of steps follow each other, and those for
errors that do not are too small. A held-out recording is looked at twice. Its states are estimated with theta as it was
found (Sect. 4.5), and it is simulated from its first state with nothing but its controls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...arrays import Matrix, Vector
from ...estimate import (
    Body,
    Certificate,
    Estimate,
    EstimatedParameters,
    Fit,
    FrictionCurve,
    FrictionCurves,
    Provenance,
    Status,
    extras_of,
)
from ...estimate.fit import fit_of
from ...estimate.motions import STD, Convergence, EstimatedMotion, EstimatedMotions, SensorFit, rms_of
from ...estimate.unobservable import unobservable_directions
from ...exceptions import InvalidMethod, InvalidSignals
from ...inertia.parameters import body, from_physical, inertia_matrix
from ...models.maximal import Coulomb, Encoder, Hinge, Mechanism, Model, Slider
from ...models.maximal.mechanism import family
from ...parameters import Normal
from ...recording import Recording
from ...stopwatch import Stopwatch
from .records import Record, full_turns_off
from .results import Ending, JointFit, Path
from .simulation import simulated
from .smoothing import JointSmoothing, at_held_out
from .weight import ChosenWeight, choose_weight

DOUBTED = 3.0
"""Standard deviations of a sensor's residuals from which on its noise is doubted aloud."""
STILL = 5.0
"""Standard deviations of a sensor within which nothing moves."""
SPEEDS = 81
"""Points of a friction curve."""
_STATUS = {
    Ending.optimal: Status.solved,
    Ending.optimal_but_for_kinks: Status.solved,
    Ending.kink: Status.stalled,
    Ending.step_limit: Status.step_limit,
}


@dataclass(frozen=True, eq=False)
class JointSmoothingProblem:
    """Recordings of a mechanism, and what is known of it.

    Args:
        mechanism: where the iteration begins; what is not open stays.
        records: to be estimated from.
        parameters: names of what is open.
        priors: of open parameters.
        lower, upper: bounds, by name.
        held_out: recordings that only say how well the result predicts.

    Raises:
        InvalidMethod: if nothing is open, or a prior is of something that is not.
        InvalidSignals: if nothing moves in a recording.
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

    @property
    def model(self) -> Model:
        """Its discrete dynamics."""
        return self.mechanism.model(self.parameters)

    def check_motion(self, noise: Vector) -> None:
        """That each recording shows motion beyond the noise.

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
                    "noise; record a motion, or say a smaller noise if it is one"
                )


@dataclass(frozen=True, eq=False)
class Solved:
    """A problem with its solution, for certificates."""

    problem: JointSmoothingProblem
    method: JointSmoothing
    model: Model
    fit: JointFit

    def certify(self, _: Estimate) -> Certificate:
        """Stationarity within the box, recomputed from the records."""
        problem = self.problem
        slope = self.method.stationarity(
            self.model, problem.records, self.fit, problem.lower, problem.upper, problem.priors
        )
        return Certificate(slope, True, float(np.sqrt(self.method.tolerance)))


@dataclass(frozen=True)
class JointEstimation:
    """States and parameters together (seed 000).

    Args:
        method: weights and form.
        choose: whether the weight is chosen by what it foretells, from that of the method.
    """

    method: JointSmoothing
    choose: bool = False

    name = "joint-smoothing"
    citations = ("lacoursiere2007", "newey1987")

    def solve(self, problem: JointSmoothingProblem, say: Callable[[str], None] = lambda _: None) -> Estimate:
        """Estimate.

        Args:
            problem: what to solve.
            say: is told of each step.

        Raises:
            InvalidMethod, InvalidSignals: if a name, a bound or a record is wrong.
        """
        watch = Stopwatch()
        model = problem.model
        method = replace(self.method, state_std=True)
        problem.check_motion(method.noise_of(model))
        given: dict[str, Any] = {"lower": problem.lower, "upper": problem.upper, "priors": problem.priors}
        chosen = None
        if self.choose:
            chosen = choose_weight(method, model, problem.records, say=say, **given)
            method = replace(method, weight=chosen.weight)
            watch.lap("weight")
        fit = method.fit(model, problem.records, say=say, **given)
        watch.lap("solve")
        summary = _Summary(problem, method, model, fit, chosen)
        estimate = summary.estimate()
        watch.lap("summary")
        say("simulating")
        validation = tuple(summary.validated())
        watch.lap("validation")
        return estimate.updated(
            method=self.name, citations=self.citations, validation=validation, seconds=watch.seconds
        )


@dataclass(frozen=True, eq=False)
class _Summary:
    """A fit as an estimate."""

    problem: JointSmoothingProblem
    method: JointSmoothing
    model: Model
    fit: JointFit
    chosen: ChosenWeight | None

    @property
    def noise(self) -> Vector:
        """(s,) of sensors."""
        return self.method.noise_of(self.model)

    def estimate(self) -> Estimate:
        """Without what takes more solving."""
        fit, model, names = self.fit, self.model, self.fit.names
        entries = [model.mechanism.entries[name] for name in names]
        seen = np.isfinite(fit.robust_std) & ~fit.scale_is_free
        spread = fit.sensitivity
        unseen = unobservable_directions(names, fit.theta, spread.unseen_changes.T, [])
        motions = tuple(
            self.motion(path, record) for path, record in zip(fit.paths, self.problem.records, strict=True)
        )
        size = 1 / np.sqrt(np.where(np.diag(spread.information) > 0, np.diag(spread.information), 1.0))
        status = _STATUS[fit.ending]
        if status is Status.solved and not seen.all():
            status = Status.partly
        return Estimate(
            method="",
            robot=model.mechanism.name,
            parameters=EstimatedParameters(
                names=names,
                units=model.units,
                owners=tuple(entry.owner for entry in entries),
                kinds=tuple(family(entry) for entry in entries),
                groupings=names,
                values=fit.theta,
                covariance=fit.robust_covariance,
                std_kind="coloured",
                identifiable=seen,
                white_std=fit.std,
                coloured_std=fit.robust_std,
            ),
            status=status,
            condition_number=float(np.linalg.cond(spread.information)),
            scaled_condition_number=float(np.linalg.cond(spread.information * size[:, None] * size)),
            rows=sum(int(np.isfinite(path.observation_errors).sum()) for path in fit.paths),
            fit=self.readings(fit.paths, self.problem.records),
            bodies=self.bodies(),
            undetermined=unseen,
            problem=Solved(self.problem, self.method, model, fit),
            iterations=fit.iterations,
            extras=extras_of(
                FrictionCurves(tuple(self.friction_curves())),
                EstimatedMotions(motions),
                Convergence(
                    names,
                    np.array([0.5 * each.cost * self.samples for each in fit.history]),
                    np.zeros(len(fit.history)),
                    np.array([each.theta for each in fit.history]),
                ),
            ),
            provenance=Provenance(warnings=tuple(self.warnings(motions)), notes=tuple(self.notes())),
        )

    @property
    def samples(self) -> int:
        return sum(len(path.times) for path in self.fit.paths)

    # -- motion --------------------------------------------------------------------------------------------------------

    def motion(self, path: Path, record: Record) -> EstimatedMotion:
        """How the mechanism moved, beside what was read of it."""
        channels: dict[str, np.ndarray] = {}
        units: dict[str, str] = {}
        n = path.coordinates.shape[1]
        for k, (name, unit) in enumerate(self.model.mechanism.coordinates):
            for quantity, of, values, at in (
                ("position", unit, path.coordinates, k),
                ("velocity", f"{unit}/s", path.rates, n + k),
            ):
                channels[f"{quantity}.{name}"], units[f"{quantity}.{name}"] = values[:, k], of
                if path.std is not None and path.std.shape[1] == 2 * n:
                    channels[f"{STD}{quantity}.{name}"] = path.std[:, at]
                    units[f"{STD}{quantity}.{name}"] = of
        fits = []
        for k, (label, channel, unit) in enumerate(self.sensors()):
            away = -path.observation_errors[:, k : k + 1]
            fits.append(
                SensorFit(
                    label,
                    (channel,),
                    (unit,),
                    path.expected[:, k : k + 1] + away,
                    path.expected[:, k : k + 1],
                    (channel,),
                    away / self.noise[k],
                )
            )
        return EstimatedMotion(
            record.name,
            Recording(path.times, channels, units, {}, {"estimated": record.name}),
            tuple(fits),
            disturbance=self.disturbance(path),
        )

    def sensors(self) -> list[tuple[str, str, str]]:
        """(label, channel, unit) of each."""
        units = dict(self.model.mechanism.coordinates)
        return [
            (
                sensor.label,
                sensor.channel,
                units[sensor.joint] + ("" if isinstance(sensor, Encoder) else "/s"),
            )
            for sensor in self.model.mechanism.sensors
        ]

    def disturbance(self, path: Path) -> dict[str, float]:
        """What else acted, by coordinate, in standard deviations that the weight says; by body it is not told apart."""
        n = path.coordinates.shape[1]
        if path.step_errors.shape[1] != 2 * n:
            return {}
        size = np.sqrt(self.method.weight * np.mean(path.step_errors.reshape(-1, 2, n) ** 2, axis=(0, 1)))
        return {
            f"impulse.{name}": float(each)
            for (name, _), each in zip(self.model.mechanism.coordinates, size, strict=True)
        }

    def readings(self, paths: Sequence[Path], records: Sequence[Record]) -> Fit:
        """All that was read beside what should have been, a column a sensor; what is missing is as expected."""
        expected = np.concatenate([path.expected for path in paths])
        away = np.concatenate([np.nan_to_num(-path.observation_errors) for path in paths])
        return _fit(
            self.sensors(), np.concatenate([r.times for r in records]), expected, away, self.noise, records
        )

    def validated(self) -> list[Fit]:
        """Of each held-out recording with states estimated, and of all recordings simulated."""
        problem, found = self.problem, []
        if problem.held_out:
            again = at_held_out(self.method, self.model, problem.held_out, self.fit.theta)
            for path, record in zip(again.paths, problem.held_out, strict=True):
                found.append(replace(self.readings([path], [record]), recording=record.name))
            paths = (*self.fit.paths, *again.paths)
        else:
            paths = self.fit.paths
        for path, record in zip(paths, (*problem.records, *problem.held_out), strict=True):
            read = simulated(self.model, self.fit.theta, record, path)
            away = np.nan_to_num(path.expected - path.observation_errors - read)
            away = full_turns_off(away, self.model.angular)
            fit = _fit(self.sensors(), record.times, read, away, self.noise, [record])
            found.append(replace(fit, recording=f"{record.name}, simulated from its first state"))
        return found

    # -- what it is ----------------------------------------------------------------------------------------------------

    def bodies(self) -> tuple[Body, ...]:
        """Those of which a mass property is open."""
        values, found = self.model.mechanism.starting(self.fit.values).values, []
        for i, of in enumerate(self.model.mechanism.bodies):
            inertial = {"mass", "center", "inertia"}
            if not any(
                (entry := self.model.mechanism.entries[name]).owner == of.name and entry.kind in inertial
                for name in self.fit.names
            ):
                continue
            J = inertia_matrix(np.concatenate([np.zeros(4), np.asarray(values.inertia)[i]]))
            found.append(body(of.name, from_physical(float(values.mass[i]), np.asarray(values.center)[i], J)))
        return tuple(found)

    def friction_curves(self) -> list[FrictionCurve]:
        """Of joints of which a friction parameter is open and whose friction depends on speed alone."""
        curves, mechanism = [], self.model.mechanism
        for joint in mechanism.joints:
            if not isinstance(joint, Hinge | Slider) or not isinstance(joint.friction, Coulomb | None):
                continue
            kinds = {"drag", "level", "excess", "decay"}
            mine = [
                k
                for k, name in enumerate(self.fit.names)
                if mechanism.entries[name].owner == joint.name and mechanism.entries[name].kind in kinds
            ]
            if not mine:
                continue
            place = [name for name, _ in mechanism.coordinates].index(joint.name)
            fastest = max(float(np.abs(path.rates[:, place]).max()) for path in self.fit.paths)
            speed = np.linspace(-fastest, fastest, SPEEDS)
            law = joint.friction or Coulomb()
            start = {"drag": joint.drag, "level": law.level, "excess": law.excess, "decay": law.decay}
            kind_of = [mechanism.entries[self.fit.names[k]].kind for k in mine]
            best = self.fit.theta[mine]
            curve = _friction(speed, start | dict(zip(kind_of, best, strict=True)))
            slopes = np.zeros((SPEEDS, len(mine)))
            for i in range(len(mine)):
                step = max(1e-6 * abs(best[i]), 1e-12)
                other = best.copy()
                other[i] += step
                slopes[:, i] = (
                    _friction(speed, start | dict(zip(kind_of, other, strict=True))) - curve
                ) / step
            P = self.fit.robust_covariance[np.ix_(mine, mine)]
            std = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", slopes, P, slopes), 0.0))
            unit = "N" if isinstance(joint, Slider) else "N m"
            curves.append(FrictionCurve(joint.name, unit, speed, curve, std))
        return curves

    # -- words ---------------------------------------------------------------------------------------------------------

    def warnings(self, motions: Sequence[EstimatedMotion]) -> list[str]:
        said = []
        if not self.fit.converged:
            said.append(f"It did not converge: {self.fit.status}.")
        for label, _, _ in self.sensors():
            fits = [fit for motion in motions for fit in motion.sensors if fit.name == label]
            if (rms := rms_of(fits)) > DOUBTED:
                said.append(
                    f"What {label} read is {rms:.2g} standard deviations off: its noise is larger than was said, or "
                    "the weight leaves the model too little freedom."
                )
        said += [
            f"No real body is like {found.name}: {'; '.join(found.reasons)}."
            for found in self.bodies()
            if not found.physically_consistent
        ]
        if self.fit.scale_is_free.any():
            free = ", ".join(np.array(self.fit.names)[self.fit.scale_is_free].tolist())
            said.append(
                f"Only ratios of {free} act, so they shrink together as far as they can: hold one of them, or say what "
                "is known of it in [priors]."
            )
        at_bound = [
            name
            for name, value, low in zip(self.fit.names, self.fit.theta, self.model.lower, strict=True)
            if value <= low
        ]
        if at_bound:
            said.append(f"{', '.join(at_bound)} ended at the bound below which it has no meaning.")
        for record in (*self.problem.records, *self.problem.held_out):
            said += self._step_warnings(record)
        return said

    def _step_warnings(self, record: Record) -> list[str]:
        path = next((path for path in self.fit.paths if path.name == record.name), None)
        if path is None:
            return []
        longest = float(record.steps.max())
        turning = [unit == "rad" for _, unit in self.model.mechanism.coordinates]
        fastest = float(np.abs(path.rates[:, turning]).max(initial=0.0))
        if fastest * longest <= np.pi:
            return []
        return [
            f"The time step of {record.name} is up to {longest:.3g} s, longer than half its fastest period of "
            f"{2 * np.pi / fastest:.3g} s; take shorter steps."
        ]

    def notes(self) -> list[str]:
        notes = [
            f"Errors of steps have the weight {self.method.weight:.3g}: impulses of "
            f"{1 / np.sqrt(self.method.weight):.2g} [N s, N m s] that the model lacks are as likely as one standard "
            "deviation of a sensor."
        ]
        if self.chosen is not None:
            scores = ", ".join(
                f"{weight:.0e}: {np.sqrt(score):.3g}"
                for weight, score in zip(self.chosen.tried, self.chosen.scores, strict=True)
            )
            notes.append(
                "The weight was chosen by how well readings that were left out in blocks are foretold; off by, in "
                f"standard deviations, {scores}."
            )
        return notes


def _fit(
    sensors: Sequence[tuple[str, str, str]],
    time: Vector,
    expected: Matrix,
    away: Matrix,
    noise: Vector,
    records: Sequence[Record],
) -> Fit:
    """A column a sensor; the relative error of all is of standard deviations, since units differ."""
    fit = fit_of(
        time,
        tuple(channel for _, channel, _ in sensors),
        tuple(unit for _, _, unit in sensors),
        expected + away,
        expected,
        speeds=None,
        counts=[len(record.times) for record in records],
        recording=records[0].name if len(records) == 1 else "",
    )
    size = float(np.linalg.norm((expected + away) / noise))
    return replace(
        fit,
        relative_error_percent=100 * float(np.linalg.norm(away / noise)) / size if size > 0 else float("nan"),
    )


def _friction(speed: Vector, law: Mapping[str, float]) -> Vector:
    """[N m] or [N], against the motion."""
    level = law["level"] + law["excess"] * np.exp(-law["decay"] * speed**2)
    return np.asarray(law["drag"] * speed + np.sign(speed) * level)
