"""What may be wrong with a joint estimate: its findings.

Everything rests on prediction, since smoothed states follow their readings whatever the parameters are. Readings are
looked at first: single ones that cannot be, and samples that are missing. Where the result then looks wrong (it has not
converged, bodies end without inertia, or it predicts little), the records are changed as if one thing in them had been
declared wrongly, and estimated again: what makes them predicted is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ...arrays import Vector
from ...diagnosis import Cause
from ...diagnosis.clock_scale import is_earths
from ...diagnosis.lost_samples import LostSamples, lost_at
from ...estimate import Diagnosis, Estimate, Finding, Severity, Status, Unchecked
from ...estimate.estimate import unfinished
from ...estimate.finding import ordered
from ...exceptions import PoinsotError
from ...recording import Recording
from .prediction import Predicted, predicted, relative_errors
from .problem import JointSmoothingProblem
from .records import Record, full_turns_off
from .results import JointFit
from .smoothing import JointSmoothing, RecordEquations
from .weight import solve_from

CAUSES = (
    Cause(
        "at-bound",
        "A mass or an inertia ended at the bound below which it means nothing.",
        "Hold it, give its prior, or record a motion that shows it.",
    ),
    Cause(
        "no-prediction",
        "Readings are predicted hardly better than if nothing moved.",
        "Check signs, units, the order of columns and gravity; the model may lack what moves the mechanism.",
    ),
    Cause("sensor-noise", "Residuals of a sensor are not as large as its stated noise.", "State the noise that it has."),
    Cause(
        "weight",
        "Parameters move by more than their intervals with the weight of the model half a decade either way.",
        "Record a livelier motion, or add to the model what it lacks.",
    ),
    Cause("long-steps", "Steps are longer than half the fastest period.", "Take shorter steps: step_s."),
    Cause(
        "impossible-body",
        "No real body has these mass properties.",
        "Hold what is known of it, or give priors.",
    ),
    Cause(
        "far-from-description",
        "The inertia about a joint is far from the one that was described.",
        "Check the unit of the torques, the rate of the recording and the described masses.",
    ),
)
"""Those that the linear family does not have."""

Change = Callable[[Record], Record]


@dataclass(frozen=True)
class Thresholds:
    """From when on something counts.

    Args:
        poor, none: rms error of predictions by that of "nothing moves" above which readings are predicted poorly, and
            hardly at all.
        times_warning, times_error: errors of held-out predictions by those of the fitted recordings.
        held_out, held_out_error: errors of predictions, by the spread of readings, below which that does not matter.
        noise: residuals of a sensor, by its stated noise, or the reverse.
        moved: standard deviations that parameters may move by with the weight: their 95 % interval.
        decades: of the weight, either way.
        improved: factor by which a change must make predictions better to be named, and `explains`: what they are then
            at most, by "nothing moves".
        described, absurd: factors of the inertia about a joint against the described one.
        spike: times the 95 % quantile of the distance from both neighbours, and of the noise.
    """

    poor: float = 0.5
    none: float = 0.9
    times_warning: float = 2.5
    times_error: float = 5.0
    held_out: float = 0.05
    held_out_error: float = 0.25
    noise: float = 3.0
    moved: float = 1.96
    decades: float = 0.5
    improved: float = 3.0
    explains: float = 0.5
    described: float = 4.0
    absurd: float = 20.0
    spike: float = 10.0


@dataclass(frozen=True, eq=False)
class Examination:
    """A fit, with the problem and the method that made it.

    Args:
        problem, method, fit: as solved. limits: from when on something counts.
    """

    problem: JointSmoothingProblem
    method: JointSmoothing
    fit: JointFit
    limits: Thresholds = Thresholds()

    def diagnose(self, estimate: Estimate) -> Diagnosis:
        """All findings about the estimate."""
        findings, unchecked = list(unfinished(estimate)), []
        if self.fit.status is Status.interrupted:
            return Diagnosis(ordered(findings), (Unchecked("the result", "it was interrupted"),), complete=False)
        with np.errstate(all="ignore"):  # wrong data overflow; what is not finite is not taken
            findings += self.samples()
            bad_samples = any(each.severity is Severity.error for each in findings[len(unfinished(estimate)) :])
            findings += [*self.parameters(estimate), *self.predictions(), *self.residuals()]
            if not estimate.status.converged or any(each.cause in SUSPICIOUS for each in findings):
                findings += [] if bad_samples else self.explanations()
            if estimate.status.converged:
                findings += self.weights()
        if not self.problem.held_out:
            unchecked.append(
                Unchecked("prediction of other motions", 'no recording was held out; give one the role "validation"')
            )
        unchecked.append(
            Unchecked(
                "clock and unit of torque to better than a factor of two",
                "inertia, friction and gains that are estimated take them up",
            )
        )
        return Diagnosis(ordered(findings), tuple(unchecked))

    # -- readings ------------------------------------------------------------------------------------------------------

    def samples(self) -> Iterator[Finding]:
        """Readings that cannot be, and samples that are missing."""
        model, noise = self.problem.model, self.method.noise_of(self.problem.model)
        for record in (*self.problem.records, *self.problem.held_out):
            for k, sensor in enumerate(model.mechanism.sensors):
                read = np.flatnonzero(np.isfinite(record.z[:, k]))
                z = record.z[read, k]
                z = np.unwrap(z) if model.angular[k] else z
                if len(z) < 100:
                    continue
                r = z[1:-1] - 0.5 * (z[:-2] + z[2:])
                usual = max(float(np.quantile(np.abs(r), 0.95)), 2 * float(noise[k]))
                # a single one shows in both its neighbours with half the size and the other sign
                near = np.pad(r, 1)
                alone = np.maximum(np.abs(near[:-2] + r / 2), np.abs(near[2:] + r / 2)) < 0.25 * np.abs(r)
                at = np.flatnonzero((np.abs(r) > self.limits.spike * usual) & alone)
                if len(at):
                    worst = read[at[np.argmax(np.abs(r[at]))] + 1]
                    yield Finding(
                        "position-outliers",
                        Severity.error,
                        f"{len(at)} reading{'s' * (len(at) > 1)} of {sensor.label} in {record.name} cannot be: the worst "
                        f"is {record.z[worst, k]:.4g} at {record.times[worst]:.4g} s; 95 % of all are within {usual:.2g} "
                        "of their neighbours.",
                        "Mark them with invalid = ... in the recording: missing readings are not imputed here.",
                        sensor.label,
                        evidence=1e4,
                    )
            yield from self._lost(record)

    def _lost(self, record: Record) -> Iterator[Finding]:
        angular, steps = self.problem.model.angular, record.steps
        if np.ptp(steps) > 1e-3 * np.median(steps) or np.isnan(record.z).any():
            return  # there is a clock, or gaps are marked
        positions = {
            f"position.{sensor.joint}": np.unwrap(record.z[:, k]) if angular[k] else record.z[:, k]
            for k, sensor in enumerate(self.problem.model.mechanism.sensors)
            if sensor.channel.startswith("position.")
        }
        recording = Recording(record.times, positions, dict.fromkeys(positions, "rad"))
        at, count = lost_at(recording, LostSamples().ratio) if positions else (np.zeros(0, dtype=int), 0)
        if len(at):
            share = count / len(record.times)
            yield Finding(
                "lost-samples",
                Severity.error if share >= LostSamples().error else Severity.warning,
                f"About {count} samples ({100 * share:.2g} %) are missing in {record.name}, the first at "
                f"{record.times[at[0]]:.4g} s: positions move by several periods in one.",
                "Record a time stamp with each sample, and write time = { column = ... } in place of rate_hz.",
                evidence=1e5 * share,
            )

    # -- parameters ----------------------------------------------------------------------------------------------------

    def parameters(self, estimate: Estimate) -> Iterator[Finding]:
        """Bounds, bodies that cannot be, and inertia far from the description."""
        model, fit, limits = self.problem.model, self.fit, self.limits
        entries = [model.mechanism.entries[name] for name in fit.names]
        at_bound = np.isin(np.arange(len(fit.names)), fit.open) & (fit.theta <= model.lower)
        massless = [
            name
            for name, entry, held in zip(fit.names, entries, at_bound.tolist(), strict=True)
            if held and entry.kind in ("mass", "inertia", "shaft")
        ]
        others = [name for name, held in zip(fit.names, at_bound.tolist(), strict=True) if held and name not in massless]
        for names, severity in ((massless, Severity.warning), (others, Severity.note)):
            if names:
                failed = not estimate.status.converged
                yield Finding(
                    "at-bound",
                    Severity.error if failed else severity,
                    f"{', '.join(names)} ended at the bound below which it has no meaning"
                    f"{' of a fit that has not converged' if failed else ''}.",
                    "Hold it in [held], give its prior in [priors], or record a motion that shows it.",
                    names[0],
                )
        for each in estimate.bodies:
            if not each.physically_consistent and each.name not in {name.split(".")[0] for name in massless}:
                yield Finding(
                    "impossible-body",
                    Severity.warning,
                    f"No real body is like {each.name}: {'; '.join(each.reasons)}.",
                    "Hold what is known of it in [held], or give it in [priors].",
                    each.name,
                )
        names = [name for name, _ in model.mechanism.coordinates]
        for name, ratio in zip(names, self._inertia_ratios(), strict=False):
            factor = max(ratio, 1 / max(ratio, 1e-12))
            if factor > limits.described:
                yield Finding(
                    "far-from-description",
                    Severity.error if factor > limits.absurd else Severity.warning,
                    f"The inertia about {name} is {ratio:.3g} times the one that was described: a clock that is wrong by "
                    f"{np.sqrt(ratio):.3g}, or torques wrong by {ratio:.3g}, would make it so.",
                    "Check the rate of the recording, the unit of the torque, and the description's masses.",
                    name,
                    evidence=float(np.log(factor)),
                )

    def _inertia_ratios(self) -> Vector:
        """(n,) estimated inertia about each joint by that of the described values; none of other forms."""
        model, form = self.problem.model, RecordEquations(self.method, self.problem).form
        x = form.pack(self.fit.paths[0].coordinates[:1], self.fit.paths[0].rates[:1], self.fit.theta)
        found = [form.inertias(x, theta)[0] for theta in (self.fit.theta, model.theta)]
        if len(found[0]) != len(model.mechanism.coordinates):
            return np.ones(0)
        return np.asarray(np.diag(found[0]) / np.diag(found[1]))

    # -- prediction ----------------------------------------------------------------------------------------------------

    @cached_property
    def fitted(self) -> list[Predicted]:
        """Predictions of the fitted records."""
        return predicted(self.method, self.problem.model, self.problem.records, self.fit.theta, self.fit.paths)

    def against_rest(self, found: Sequence[Predicted]) -> Vector:
        """(s,) rms errors of predictions, by those of "nothing moves" and "it is where it is on average", the better."""
        angular = self.problem.model.angular
        errors, still, mean = [], [], []
        for each in found:
            z = each.record.z
            errors.append(each.errors.reshape(-1, z.shape[1]))
            still.append(full_turns_off(z[each.places[:, :1] - 1] - z[each.places], angular).reshape(errors[-1].shape))
            mean.append((np.nanmean(z, axis=0) - z[each.places]).reshape(errors[-1].shape))
        error, *rest = (np.sqrt(np.nanmean(np.concatenate(part) ** 2, axis=0)) for part in (errors, still, mean))
        return np.asarray(error / np.maximum(np.fmin(*rest), 1e-12))

    def predictions(self) -> Iterator[Finding]:
        """Of the fitted records against rest, and of those held out against these."""
        model, limits = self.problem.model, self.limits
        labels = [sensor.label for sensor in model.mechanism.sensors]
        for label, ratio in zip(labels, self.against_rest(self.fitted), strict=True):
            # Inf: the simulation diverged
            if not ratio <= limits.poor and not np.isnan(ratio):
                yield Finding(
                    "no-prediction",
                    Severity.warning if ratio <= limits.none else Severity.error,
                    f"{label} is predicted with {100 * ratio:.3g} % of the error that it would have if nothing moved.",
                    "Check signs, units, the order of columns and gravity; the model may lack what moves the mechanism.",
                    label,
                    evidence=float(min(ratio, 1e6)),
                )
        if not self.problem.held_out:
            return
        here = relative_errors(model, self.fitted)
        for record in self.problem.held_out:
            there = relative_errors(model, predicted(self.method, model, [record], self.fit.theta))
            for label, error, fitted in zip(labels, there, here, strict=True):
                times = error / max(float(fitted), 1e-12)
                if error > limits.held_out and times > limits.times_warning:
                    grave = error > limits.held_out_error and times > limits.times_error
                    yield Finding(
                        "held-out",
                        Severity.error if grave else Severity.warning,
                        f"{label} in {record.name} is predicted to {100 * error:.3g} % of its spread, {times:.2g} times "
                        f"the error on the fitted recordings ({100 * fitted:.3g} %).",
                        "Record a livelier motion, or add to the mechanism what it lacks.",
                        label,
                        evidence=float(times),
                    )

    # -- residuals -----------------------------------------------------------------------------------------------------

    def residuals(self) -> Iterator[Finding]:
        """Sensors' residuals against their noise, and steps that are too long."""
        fit, noise = self.fit, self.method.noise_of(self.problem.model)
        steps = fit.paths[0].step_errors.shape[1]
        errors = np.concatenate([path.observation_errors for path in fit.paths]) / noise
        for k, sensor in enumerate(self.problem.model.mechanism.sensors):
            freedom = float(fit.sensitivity.freedom[steps + k]) if len(fit.sensitivity.freedom) else 0.0
            # with few degrees of freedom the states have taken the noise
            if freedom < 0.1 * np.isfinite(errors[:, k]).sum() or freedom < 10:
                continue
            size = float(np.sqrt(np.nansum(errors[:, k] ** 2) / freedom))
            if not 1 / self.limits.noise < size < self.limits.noise:
                yield Finding(
                    "sensor-noise",
                    Severity.warning,
                    f"Residuals of {sensor.label} are {size:.2g} times its stated noise of {noise[k]:.3g}.",
                    f"Write noise = {{ {sensor.channel!r} = {noise[k] * size:.2g} }}, if nothing else is wrong with it.",
                    sensor.label,
                    evidence=float(abs(np.log(size))),
                )
        angular = [unit == "rad" for _, unit in self.problem.model.mechanism.coordinates]
        for path, record in zip(fit.paths, self.problem.records, strict=True):
            longest, fastest = float(record.steps.max()), float(np.abs(path.rates[:, angular]).max(initial=0.0))
            if fastest * longest > np.pi:
                yield Finding(
                    "long-steps",
                    Severity.warning,
                    f"The time step of {record.name} is up to {longest:.3g} s, longer than half its fastest period of "
                    f"{2 * np.pi / fastest:.3g} s.",
                    "Take shorter steps: a smaller step_s, or a faster recording.",
                    record.name,
                )

    def weights(self) -> Iterator[Finding]:
        """Parameters that move with the weight by more than their intervals."""
        open_ = self.fit.open
        std = self.fit.robust_std[open_]
        moved = np.zeros(len(open_))
        for factor in (10**-self.limits.decades, 10**self.limits.decades):
            near = replace(self.method, weight=self.method.weight * factor, state_std=False)
            other = solve_from(near, self.problem, self.fit)
            if other.converged:
                moved = np.fmax(moved, np.abs(other.theta - self.fit.theta)[open_] / np.maximum(std, 1e-300))
        names = np.array(self.fit.names)[open_]
        for name, by in zip(names.tolist(), moved.tolist(), strict=True):
            if by > self.limits.moved:
                yield Finding(
                    "weight",
                    Severity.warning,
                    f"{name} moves by {by:.2g} standard deviations where the weight of the model is half a decade more or "
                    "less: its interval is too narrow.",
                    "Record a livelier motion, add to the mechanism what it lacks, or take the interval so many times wider.",
                    name,
                    evidence=by,
                )

    # -- what else it could be -----------------------------------------------------------------------------------------

    def explanations(self) -> Iterator[Finding]:
        """The change of the records under which they are predicted, if there is one."""
        declared = float(np.nanmean(self.against_rest(self.fitted)))
        gravity = np.asarray(self.problem.model.mechanism.gravity)
        if gravity.any() and not is_earths(gravity):
            yield Finding(
                "gravity",
                Severity.error,
                f"Gravity is declared as {np.linalg.norm(gravity):.4g} m/s^2, and on the ground it is 9.81 m/s^2.",
                "Write gravity = [0, 0, -9.81] in [mechanism], with the directions of its frame.",
                evidence=1e3,
            )
        found = []
        for (cause, where, what, remedy), change in self.changes().items():
            records = [change(record) for record in self.problem.records]
            problem = replace(self.problem, records=records, theta=self.problem.model.theta, guess=None)
            try:
                method = replace(self.method, state_std=False, reference=problem.parameters.theta)
                method = replace(method, weight=RecordEquations(method, problem).start().own_weight)
                fit = method.solve(problem)
                method = replace(method, weight=method.weight * 100, reference=fit.theta)
                fit = solve_from(method, problem, fit)
                now = predicted(method, problem.model, records, fit.theta, fit.paths)
                error = float(np.nanmean(self.against_rest(now)))
            except (PoinsotError, np.linalg.LinAlgError):
                continue
            massless = any(
                problem.model.mechanism.entries[fit.names[k]].kind in ("mass", "inertia")
                and fit.theta[k] <= problem.model.lower[k]
                for k in fit.open.tolist()
            )
            if error < self.limits.explains and not massless and declared > self.limits.improved * error:
                found.append((error, cause, where, what, remedy))
        if found:
            error, cause, where, what, remedy = min(found)
            yield Finding(
                cause,
                Severity.error,
                f"{what}: then readings are predicted with {100 * error:.3g} % of the error that they would have if "
                f"nothing moved, as declared with {100 * declared:.3g} %.",
                remedy,
                where,
                evidence=1e3,
            )

    def changes(self) -> Mapping[tuple[str, str, str, str], Change]:
        """(cause, where, what, remedy) -> the record as it would be if that were so."""
        mechanism, angular = self.problem.model.mechanism, self.problem.model.angular
        found: dict[tuple[str, str, str, str], Change] = {}

        def scaled(part: str, factors: np.ndarray) -> Change:
            return lambda record: replace(record, **{part: getattr(record, part) * factors})

        def permuted(part: str, order: list[int]) -> Change:
            return lambda record: replace(record, **{part: getattr(record, part)[:, order]})

        degrees = np.where(angular, np.pi / 180, 1.0)
        found["angle-unit", "", "Angles seem to be in degrees", 'Write unit = "deg" for the positions.'] = scaled(
            "z", degrees
        )
        found["angle-unit", "", "Angles seem to be in radians", 'Write unit = "rad" for the positions.'] = scaled(
            "z", 1 / degrees
        )
        for part, names in (("z", [s.label for s in mechanism.sensors]), ("u", list(mechanism.inputs))):
            for k, name in enumerate(names):
                what = f"The sign of {name if part == 'z' else f'the command of {name}'} seems to be wrong"
                found["sign", name, what, "Write sign = -1 for its column, or turn the joint's axis."] = scaled(
                    part, np.where(np.arange(len(names)) == k, -1.0, 1.0)
                )
            for a, b in combinations(range(len(names)), 2):
                order = list(range(len(names)))
                order[a], order[b] = b, a
                what = f"{names[a]} and {names[b]} seem to be exchanged"
                found["swapped-channels", names[a], what, "Exchange their columns."] = permuted(part, order)
        for factor, unit in ((1e-3, '"N mm"'), (1e3, '"kN m"')) if mechanism.inputs else ():
            what = f"Commands seem to be {1 / factor:g} times too large"
            found["torque-scale", "", what, f"Check their unit: unit = {unit}, or the gain of the motor."] = scaled(
                "u", np.full(len(mechanism.inputs), factor)
            )
        for factor in (0.01, 0.1, 10.0, 100.0):
            found[
                "clock-scale",
                "",
                f"The clock seems to run {factor:g} times too fast",
                "Mend rate_hz, or the unit of the time column.",
            ] = lambda record, factor=factor: replace(record, times=record.times / factor)  # type: ignore[misc]
        return found


SUSPICIOUS = {"no-prediction", "at-bound", "far-from-description", "held-out"}
"""Findings that make other explanations worth their time."""
