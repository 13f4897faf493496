"""Checks of a joint estimate.

All checks are based on prediction. Where a result looks wrong (`SUSPICIOUS`), the records are changed by a hypothetical
error of declaration, and estimated again: a change that improves predictions enough is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from scipy.spatial.transform import Rotation

from ...arrays import Bool, Vector
from ...diagnosis import Cause, examined
from ...diagnosis.channels import Sign
from ...diagnosis.check import look_at
from ...diagnosis.fit import POOR_FIT, HeldOutError
from ...diagnosis.gravity import is_earths
from ...diagnosis.outliers import Outliers, distances, outlying
from ...diagnosis.position_samples import LostSamples, PositionJumps
from ...diagnosis.prediction import BlockPrediction
from ...estimate import Diagnosis, Estimate, Finding, Severity, Status, Unchecked
from ...estimate.estimate import unfinished
from ...exceptions import PoinsotError
from ...models.maximal.mechanism import AnySensor
from ...recording import Recording
from .contacts import END_STOP, StopEstimate, widest_stops
from .effects import CommandLimit, RolloutEffects, Rollouts
from .prediction import efforts, predicted
from .problem import JointFit, JointSmoothingProblem, Record, vector_readings
from .smoothing import JointSmoothing, RecordEquations, compiled_linearizer
from .stops import touching

NOTE, WARNING, ERROR = Severity
AT_BOUND = Cause(
    "at-bound",
    "A mass or an inertia is at its bound 0.",
    "Hold it, give its prior, or record a motion that determines it.",
)
NO_PREDICTION = Cause(
    "no-prediction",
    "Readings are predicted hardly better than if nothing moved.",
    "Check signs, units, the order of columns and gravity; the model may lack an effort that moves the mechanism.",
)
SENSOR_NOISE = Cause(
    "sensor-noise", "Residuals of a sensor are not as large as its stated noise.", "State its true noise."
)
WEIGHT = Cause(
    "weight",
    "Parameters change by more than their intervals with a weight half a decade larger or smaller.",
    "Record a more exciting motion, or extend the model.",
)
LONG_STEPS = Cause(
    "long-steps",
    "Steps are longer than half the fastest period.",
    "Take shorter steps: a smaller step_s, or a faster recording.",
)
IMPOSSIBLE_BODY = Cause(
    "impossible-body",
    "These mass properties are physically impossible.",
    "Hold known parameters in [held], or give them in [priors].",
)
FAR = Cause(
    "far-from-description",
    "Inertia about a joint is far from the described one.",
    "Correct rate_hz, or the unit of the time column; or the unit of torque, or the described masses.",
)
CAUSES = (AT_BOUND, NO_PREDICTION, SENSOR_NOISE, WEIGHT, LONG_STEPS, IMPOSSIBLE_BODY, FAR, END_STOP)
"""Causes that the linear family does not have."""

POOR, HARDLY = 0.32, 0.9
"""Rms errors of predictions relative to those of "nothing moves", above which a tenth of the squares, or hardly
anything, is predicted."""
LACKING, OF_NOISE = BlockPrediction.unexplained, BlockPrediction.of_noise
"""Rms errors of predictions relative to those of "nothing moves", and times the noise, from which the model lacks
something."""
UNEXPLAINED = 0.5
"""Difference of the commanded effort from that of inverse dynamics, relative, for a warning; `HARDLY` is an error."""
NOISE = 3.0
"""Residuals of a sensor by its stated noise, or the reverse, that a finding names."""
WHITE = 0.5
"""Correlation of successive residuals above which they are no noise of the sensor."""
DECADES, MOVED = 0.5, 1.96
"""Standard deviations by which parameters may change with the weight, and its change either way: 95 % intervals."""
IMPROVED = 3.0
"""Factor by which a change must improve predictions to be named."""
DESCRIBED, ABSURD = 4.0, 20.0
"""Factors of the inertia about a joint by the described one that warn, and that are an error."""
SUSPICIOUS = {
    "not-converged",
    "no-prediction",
    "poor-fit",
    "torque-noise",
    "far-from-description",
    "clock-scale",
    "held-out",
}
"""Findings after which other explanations are tried."""


@dataclass(frozen=True, eq=False)
class JointExamination:
    """A fit with its problem, method and rollouts, and end stops where it was not interrupted."""

    problem: JointSmoothingProblem
    method: JointSmoothing
    fit: JointFit
    rollouts: Rollouts
    stops: StopEstimate | None = None

    def diagnose(self, estimate: Estimate) -> Diagnosis:
        """All findings about the estimate."""
        begun = unfinished(estimate)
        if self.fit.status is Status.interrupted:
            return Diagnosis(begun, (Unchecked("the result", "it was interrupted"),), complete=False)
        with np.errstate(all="ignore"):  # wrong data overflow; values that are not finite are rejected
            found: list[Finding | Unchecked] = [*self.samples()]
            # while single samples are wrong, nothing else can be judged
            if all(isinstance(wrong, Finding) and wrong.severity < ERROR for wrong in found):
                found += [*self.predictions(estimate), *self.parameters(estimate)]
                found += (
                    ()
                    if self.stops is None
                    else self.stops.declared(
                        self.problem, self.method.stops_of(self.problem.model, self.fit.theta)
                    )
                )
                suspicious = any(
                    isinstance(finding, Finding) and finding.cause in SUSPICIOUS
                    for finding in (*begun, *found)
                )
                # a wrong declaration distorts everything else
                explained = list(self.explanations()) if suspicious else []
                found += explained or look_at(self.rollouts, (RolloutEffects(),))
                if estimate.status.converged:
                    found += self.weights(estimate.std)
            found += self.residuals()
        taken_up = Unchecked(
            "clock and unit of torque to better than a factor of two",
            "estimated inertia, friction and gains absorb them",
        )
        return examined(estimate, [*found, taken_up])

    def samples(self) -> Iterator[Finding]:
        """Impossible readings, and missing samples."""
        model, noise = self.problem.model, self.method.noise_of(self.problem.model)
        stops = self.method.stops_of(model, self.fit.theta)
        for record in (*self.problem.records, *self.problem.held_out):
            positions, touched = {}, touching(model, record, self.fit.theta, stops)
            # speeds change at end stops: readings there are far from their neighbours, and not wrong
            near = np.convolve(touched, np.ones(5), mode="same") > 0
            for label, at in model.mechanism.readings:
                sensor = model.mechanism.sensors[int(at[0])]
                # a quaternion has half of the noise of its angle
                level = float(noise[at].mean()) / (2 if sensor.is_orientation else 1)
                for i, z in enumerate(vector_readings(model, record.z, at).T.copy()):
                    read = np.isfinite(z)
                    # whole turns are no jumps; readings over more than a turn do not wrap
                    if model.angular[at[0]] and read.any() and np.ptp(z[read]) <= 2 * np.pi:
                        z[read] = np.unwrap(z[read])
                    if not sensor.is_rate and read.all():
                        positions[f"{sensor.channel}.{i}" if len(at) > 1 else sensor.channel] = z
                    yield from _outliers(record, sensor, label, z, level, near)
            # with a clock whose steps differ, gaps show in it and are none
            if positions and np.ptp(record.steps) <= 1e-3 * np.median(record.steps):
                recording = Recording(record.times, positions, dict.fromkeys(positions, "rad"))
                yield from LostSamples().look_at(recording, record.name)

    def parameters(self, estimate: Estimate) -> Iterator[Finding]:
        """Values at bounds, physically impossible bodies, and inertia far from the description."""
        model, fit = self.problem.model, self.fit
        kinds = [model.mechanism.entries[name].kind for name in fit.names]
        at_bound = [
            k
            for k in fit.open.tolist()
            if fit.theta[k] <= model.lower[k]
            and not kinds[k].startswith("stop_")  # 0 is an inelastic, hard stop
        ]
        massless = [fit.names[k] for k in at_bound if kinds[k] in ("mass", "inertia", "shaft")]
        others = [fit.names[k] for k in at_bound if fit.names[k] not in massless]
        for names, severity in ((massless, WARNING), (others, NOTE)):
            if names:
                yield AT_BOUND.finding(
                    severity if estimate.status.converged else ERROR,
                    f"{', '.join(names)} is at its lower bound.",
                    f'Write "{names[0]}" with its known value in [held] or [priors], or excite it more.',
                    names[0],
                )
        for body in estimate.bodies:
            known = not any(name.startswith(f"{body.name}.") for name in massless)
            if known and not body.physically_consistent:
                message = f"{body.name} is physically impossible: {'; '.join(body.reasons)}."
                # held moments of inertia are described, not measured: other values of them make the body possible
                held = [
                    f"{body.name}.{moment}"
                    for moment in ("Jxx", "Jyy", "Jzz")
                    if f"{body.name}.{moment}" not in [fit.names[k] for k in fit.open.tolist()]
                ]
                explained = bool(held) and (body.mass or 0.0) > 0
                if explained:
                    message = f"{message[:-1]}; {', '.join(held)}, which the estimate holds, explain this."
                severity = NOTE if explained else WARNING
                yield IMPOSSIBLE_BODY.finding(severity, message, where=body.name)
        for k in fit.open.tolist():
            described, value = model.theta[k], fit.theta[k]
            if kinds[k] == "gain" and described * value < 0 and abs(value) > MOVED * estimate.std[k]:
                yield Sign.cause.finding(
                    ERROR,
                    f"{fit.names[k]} is {value:.3g}, and the mechanism's is {described:.3g}: commands and readings "
                    "count in opposite directions.",
                    "Write scale = -1 beside the columns of one of them, or reverse the joint's axis.",
                    fit.names[k],
                    evidence=1e3,
                )
        # only a clock scales inertia alone, where known weights and a good prediction fix the unit of torque
        weighed = np.any(model.mechanism.gravity) and "mass" not in kinds and self.error < POOR
        for (name, _), ratio in zip(model.mechanism.coordinates, self._inertia_ratios(), strict=False):
            factor = float(max(ratio, 1 / ratio)) if ratio > 0 else np.inf
            if factor > DESCRIBED:
                yield Finding(
                    "clock-scale" if weighed else FAR.name,
                    ERROR if factor > ABSURD else WARNING,
                    f"The inertia about {name} is {ratio:.3g} times the described one: a clock wrong by a factor of "
                    f"{np.sqrt(ratio):.3g}{'' if weighed else f', or torque wrong by {ratio:.3g},'} makes it so.",
                    FAR.advice,
                    name,
                    evidence=float(np.log(factor)),
                )

    def _inertia_ratios(self) -> Vector:
        """(n,) estimated inertia about each joint over the described one; empty where states are not of joints."""
        model, path = self.problem.model, self.fit.paths[0]
        if path.states is not None:
            return np.ones(0)
        form = compiled_linearizer(model, self.method.form).form
        x = form.pack(path.coordinates[:1], path.rates[:1], self.fit.theta)
        ours, described = (np.diag(form.inertias(x, theta)[0]) for theta in (self.fit.theta, model.theta))
        return np.asarray(ours / described)

    @cached_property
    def error(self) -> float:
        """Error of predictions of the fitted records, see `against_rest`."""
        return self.against_rest(self.method, self.problem.records, self.fit)

    def against_rest(self, method: JointSmoothing, records: Sequence[Record], fit: JointFit) -> float:
        """Rms over sensors of the errors of predictions relative to those of "nothing moves"."""
        squares = []
        for prediction in predicted(method, self.problem.model, records, fit.theta, fit.paths):
            z, s = prediction.record.z, prediction.record.z.shape[1]
            begin = np.broadcast_to(z[prediction.places[:, :1] - 1], prediction.errors.shape)
            still = self.problem.model.differences(begin, z[prediction.places]).reshape(-1, s)
            squares.append(
                [np.nansum(part.reshape(-1, s) ** 2, axis=0) for part in (prediction.errors, still)]
            )
        # of a vector all components together: one of them may not move
        readings = [at for _, at in self.problem.model.mechanism.readings]
        error, rest = (np.array([part[at].sum() for at in readings]) for part in np.sum(squares, axis=0))
        # a reading may never change
        return float(np.sqrt(np.mean(error[rest > 0] / rest[rest > 0])))

    def predictions(self, estimate: Estimate) -> Iterator[Finding | Unchecked]:
        """Predictions: of fitted records against rest, of efforts, and of held-out records against fitted ones."""
        if not self.error <= POOR:
            yield NO_PREDICTION.finding(
                WARNING if self.error <= HARDLY else ERROR,
                f"Readings are predicted with {100 * self.error:.3g} % of the error that they would have if nothing "
                "moved.",
                evidence=self.error,
            )
        elif self.error > LACKING and (excess := self.rollouts.excess) > OF_NOISE:
            yield POOR_FIT.finding(
                WARNING,
                f"Readings are predicted with {100 * self.error:.3g} % of the error that they would have if nothing "
                f"moved, {excess:.2g} times their noise: the model lacks something.",
                "Examine the residuals, and extend the model or correct the data.",
                evidence=self.error,
            )
        yield from self._torques()
        held_out = tuple(fit for fit in estimate.validation if "efforts" not in fit.recording)
        yield from HeldOutError().look_at(estimate.updated(validation=held_out))

    def _torques(self) -> Iterator[Finding]:
        """Commands that differ from the efforts of inverse dynamics."""
        model, fitted = self.problem.model, zip(self.problem.records, self.fit.paths, strict=True)
        pairs = [part[1:] for pair in fitted if (part := efforts(model, self.fit.theta, *pair)) is not None]
        for k, name in enumerate(model.mechanism.inputs if pairs else ()):
            commanded, needed = (
                np.concatenate([effort[:, k] for effort in part]) for part in zip(*pairs, strict=True)
            )
            ratio = float(np.std(needed - commanded) / np.std(commanded))
            if ratio > UNEXPLAINED:
                yield Finding(
                    "torque-noise",
                    ERROR if ratio > HARDLY else WARNING,
                    f"The effort of the motion at {name} differs from the commanded one by {100 * ratio:.3g} % "
                    "of the latter.",
                    "Check the column, its sign and its unit; the mechanism may lack an effort that acts there.",
                    name,
                    evidence=ratio,
                )

    def residuals(self) -> Iterator[Finding]:
        """Sensors' residuals against their noise, and steps that are too long."""
        fit, mechanism = self.fit, self.problem.model.mechanism
        noise = self.method.noise_of(self.problem.model)
        errors = np.concatenate([path.observation_errors for path in fit.paths]) / noise
        freedom = fit.sensitivity.freedom[fit.paths[0].step_errors.shape[1] :]
        for label, at in mechanism.readings:
            size = float(np.sqrt(np.nansum(errors[:, at] ** 2) / freedom[at].sum()))
            # with few degrees of freedom the states have absorbed the noise
            enough = freedom[at].sum() > max(0.1 * np.isfinite(errors[:, at]).sum(), 10)
            if enough and not 1 / NOISE < size < NOISE:
                read = [e[np.isfinite(e)] for path in fit.paths for e in path.observation_errors[:, at].T]
                like = sum(e[1:] @ e[:-1] for e in read) / sum(e @ e for e in read)
                level, channel = float(noise[at].mean()), mechanism.sensors[int(at[0])].channel
                channel = channel if len(at) == 1 else channel.rpartition(".")[0]
                message = f"Residuals of {label} are {size:.2g} times its stated noise of {level:.3g}"
                remedy = f'Write noise = {{ "{channel}" = {level * size:.2g} }} if it has no other defect.'
                if size > NOISE and like > WHITE:
                    message += f", and successive ones are alike (correlation {like:.2g}), which noise is not"
                    remedy = "Extend the model, or mend the sensor or the clock; more noise would hide what is wrong."
                yield SENSOR_NOISE.finding(WARNING, f"{message}.", remedy, label)
        angular = [unit == "rad" for _, unit in mechanism.coordinates]
        for path, record in zip(fit.paths, self.problem.records, strict=True):
            longest = float(record.steps.max())
            fastest = float(np.abs(path.rates[:, angular]).max(initial=0.0))
            if fastest * longest > np.pi:
                yield LONG_STEPS.finding(
                    WARNING,
                    f"The time step of {record.name} is up to {longest:.3g} s, longer than half its fastest period of "
                    f"{2 * np.pi / fastest:.3g} s.",
                    where=record.name,
                )

    def weights(self, std: Vector) -> Iterator[Finding]:
        """Parameters that change with the weight by more than their intervals, of std (p,)."""
        places, moved = self.fit.open, np.zeros(len(self.fit.open))
        for factor in (10**-DECADES, 10**DECADES):
            near = replace(self.method, weight=self.method.weight * factor, state_std=False)
            other = near.solve(replace(self.problem, theta=self.fit.theta, guess=self.fit.paths))
            if other.converged:
                moved = np.fmax(moved, (np.abs(other.theta - self.fit.theta) / std)[places])
        for k, by in zip(places.tolist(), moved.tolist(), strict=True):
            if by > MOVED:
                yield WEIGHT.finding(
                    WARNING,
                    f"{self.fit.names[k]} changes by {by:.2g} standard deviations if the weight of the model is half "
                    "a decade larger or smaller: its interval is too narrow.",
                    f"Use an interval {by:.2g} times as wide; record a more exciting motion, or extend the model.",
                    self.fit.names[k],
                    evidence=by,
                )

    def explanations(self) -> Iterator[Finding]:
        """Wrong declarations: changes of the records that improve their predictions."""
        model = self.problem.model
        gravity = np.asarray(model.mechanism.gravity)
        if gravity.any() and not is_earths(gravity):
            yield Finding(
                "gravity",
                ERROR,
                f"Gravity is declared as {np.linalg.norm(gravity):.4g} m/s^2; on the ground it is 9.81 m/s^2.",
                "Write gravity = [0, 0, -9.81] in [mechanism], along its axes.",
                evidence=1e3,
            )
        found = []
        for cause, where, what, remedy, part, change in self.changes():
            records = [
                replace(record, **{part: change(getattr(record, part))})  # type: ignore[arg-type]
                for record in self.problem.records
            ]
            problem = replace(self.problem, records=records, theta=model.theta, guess=None)
            # stops are where the changed readings are farthest, on either side
            ends = np.isfinite(self.method.stops_of(model, self.fit.theta)).any(axis=1, keepdims=True)
            stops = widest_stops(problem, np.repeat(ends, 2, axis=1))
            method = replace(self.method, state_std=False, reference=model.theta, stops=stops)
            try:
                for _ in range(2):  # weight by the residuals of the initial guess, then by those of the fit
                    start = RecordEquations(method, problem).start()
                    start = start.weighing(start.own_weight)
                    method = start.equations.method
                    fit = start.equations.result(start, method.minimize(start))
                    problem = replace(problem, theta=fit.theta, guess=fit.paths)
                    method = replace(method, reference=fit.theta)
                error = self.against_rest(method, records, fit)
            except (PoinsotError, np.linalg.LinAlgError):
                continue
            if error < POOR and self.error > IMPROVED * error:
                found.append((error, cause, where, what, remedy))
        if found:
            error, cause, where, what, remedy = min(found)
            yield Finding(
                cause,
                ERROR,
                f"{what}: then the error of predictions is {100 * error:.3g} % of what it would be if nothing moved, "
                f"and {100 * self.error:.3g} % as declared.",
                remedy,
                where,
                evidence=1e3,
            )

    def changes(self) -> Iterator[tuple[str, str, str, str, str, Callable[[np.ndarray], np.ndarray]]]:
        """Cause, where, what, remedy; `z` or `u`, and what is right in place of it."""
        mechanism, angular = self.problem.model.mechanism, self.problem.model.angular
        inputs = list(mechanism.inputs)
        of_joints = [k for label, at in mechanism.readings if len(at) == 1 for k in at.tolist()]
        yield from self.changes_at_frames()
        for unit, factor in (("deg", np.pi / 180), ("rad", 180 / np.pi)):
            what, remedy = f"Angles seem to be in {unit}", f'Write unit = "{unit}" for the positions.'
            if angular.any():
                factors = np.where(angular, factor, 1.0)
                yield "angle-unit", "", what, remedy, "z", partial(np.multiply, factors)
        for factor in (1e-3, 1e3) if inputs else ():
            what = f"Commands seem to be {1 / factor:g} times too large"
            yield "torque-scale", "", what, "Correct their unit.", "u", partial(np.multiply, factor)
        channels = [sensor.channel for sensor in mechanism.sensors]
        for part, names, own in (("z", channels, of_joints), ("u", inputs, list(range(len(inputs))))):
            places = np.arange(len(names))
            for k, name in ((k, names[k]) for k in own):
                what = f"The sign of {name if part == 'z' else f'the command of {name}'} seems to be wrong"
                remedy = "Write scale = -1 beside its column, or reverse the joint's axis."
                yield "sign", name, what, remedy, part, partial(np.multiply, np.where(places == k, -1.0, 1.0))
            for a, b in combinations(own, 2):
                order = np.where(places == a, b, np.where(places == b, a, places))
                what = f"{names[a]} and {names[b]} seem to be exchanged"
                take = partial(np.take, indices=order, axis=1)
                yield "swapped-channels", names[a], what, "Exchange their columns.", part, take
        for k, name in self.rollouts.inputs:
            for level in self.rollouts.levels(k):
                most = np.where(np.arange(len(inputs)) == k, level, np.inf)
                what = f"The drive of {name} seems to apply no command beyond {level:.3g}"
                remedy = CommandLimit().remedy()
                yield "saturation", name, what, remedy, "u", partial(np.clip, a_min=-most, a_max=most)

    def changes_at_frames(
        self,
    ) -> Iterator[tuple[str, str, str, str, str, Callable[[np.ndarray], np.ndarray]]]:
        """The same of readings at frames: their units, axes and orders."""
        mechanism = self.problem.model.mechanism
        at_frames = [
            (label, at, mechanism.sensors[int(at[0])]) for label, at in mechanism.readings if len(at) > 1
        ]
        lengths = np.array([unit in ("m", "m/s") for unit in mechanism.sensor_units])
        for _, at in (each for each in mechanism.readings if len(each[1]) == 1):
            lengths[at] = False
        for unit, factor in (("mm", 1e-3), ("m", 1e3)) if lengths.any() else ():
            factors = np.where(lengths, factor, 1.0)
            what, remedy = f"Lengths at frames seem to be in {unit}", f'Write unit = "{unit}" for them.'
            yield "length-unit", "", what, remedy, "z", partial(np.multiply, factors)
        for label, at, sensor in at_frames:
            if sensor.is_orientation:
                what = f"{label} seems to be the inverse"
                remedy = "Write x, y, z of the quaternion with scale = -1: it turns vectors of the frame to the world."
                yield "orientation", sensor.owner, what, remedy, "z", partial(changed, at, np.negative)
                for right, shift in (("wxyz", -1), ("xyzw", 1)):
                    what = f"The quaternion of {label} seems to have another order"
                    remedy = f'Write order = "{right}", or exchange its columns.'
                    change = partial(changed, at, partial(rolled, shift))
                    yield "orientation", sensor.owner, what, remedy, "z", change
                continue
            for k in range(3):
                what = f"The sign of {'xyz'[k]} of {label} seems to be wrong"
                signs = np.where(np.arange(3) == k, -1.0, 1.0)
                change = partial(changed, at, partial(np.multiply, signs))
                yield "sign", sensor.owner, what, "Reverse this axis of the readings.", "z", change
            for a, b in combinations(range(3), 2):
                order = np.where(np.arange(3) == a, b, np.where(np.arange(3) == b, a, np.arange(3)))
                what = f"{'xyz'[a]} and {'xyz'[b]} of {label} seem to be exchanged"
                change = partial(changed, at, partial(np.take, indices=order, axis=1))
                yield "swapped-channels", sensor.owner, what, "Exchange their columns.", "z", change
        for (label, at, sensor), (other, to, second) in combinations(at_frames, 2):
            if sensor.channel.partition(".")[0] == second.channel.partition(".")[0]:
                order = np.arange(len(mechanism.sensors))
                order[at], order[to] = to, at
                what = f"{label} and {other} seem to be exchanged"
                take = partial(np.take, indices=order, axis=1)
                yield "swapped-channels", sensor.owner, what, "Exchange their columns.", "z", take


def changed(at: np.ndarray, change: Callable[[np.ndarray], np.ndarray], z: np.ndarray) -> np.ndarray:
    """Readings (N, s), of which `change` was applied to the (N, 3) at these places."""
    z = z.copy()
    z[:, at] = change(z[:, at])
    return z


def rolled(shift: int, vectors: np.ndarray) -> np.ndarray:
    """Rotation vectors (N, 3) whose quaternions have their components in another order; NaN remains NaN."""
    known, found = np.isfinite(vectors).all(axis=1), np.full_like(vectors, np.nan)
    if known.any():
        e = Rotation.from_rotvec(vectors[known]).as_quat()
        found[known] = Rotation.from_quat(np.roll(e, shift, axis=1)).as_rotvec()
    return found


def _outliers(
    record: Record, sensor: AnySensor, label: str, z: Vector, noise: float, near: Bool[np.ndarray, "N"]
) -> Iterator[Finding]:
    """Readings that are far from their neighbours, by their part of the expected squared error of all.

    `near` are readings near contacts with end stops, which are not judged.
    """
    wrong = outlying(z) & ~near
    if count := int(np.count_nonzero(wrong)):
        read, first = np.isfinite(z), float(record.times[np.argmax(wrong)])
        share = float(np.sum(distances(z[read])[wrong[read]] ** 2)) / (noise**2 * np.count_nonzero(read))
        cause = Outliers.causes[0] if sensor.is_rate else PositionJumps.causes[1]
        yield cause.finding(
            ERROR if share > 1 else NOTE,
            f"{count} reading{'s' * (count > 1)} of {label} in {record.name}, the first at "
            f"{first:.4g} s, {'are' if count > 1 else 'is'} far from the neighbours: their squared error is "
            f"{100 * share:.2g} % of what is expected of all.",
            "Mark them invalid: invalid = ... in the recording.",
            sensor.owner,
            evidence=2e5,
        )
