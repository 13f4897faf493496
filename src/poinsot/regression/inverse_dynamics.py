"""Inverse dynamics identification model: tau = W(q, v, a) theta + e, row by row (Brunot et al. 2017, Eqs. 2 to 4).

The rows are computed in chunks: joint side, regressor entries, decimation of entries and torques alike. Estimators fold
each chunk into a factor; rows that are few enough are kept, for several passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np

from ..accuracy import CAREFUL, Accuracy
from ..arrays import Brief, Columns, Configurations, JointSamples, Times, Vector
from ..estimate import Certificate, Estimate, Fit, FullParameters, fit_of
from ..exceptions import InvalidMethod, InvalidSignals, check_known, listing, nearest
from ..models.robot.articulated import Articulated
from ..models.robot.elastic import deflection
from ..parameters import INERTIAL_UNITS, Block, Normal, Parameters, rescaled
from ..recording import Recording
from ..signals.signals import Signals
from .attachment import LOAD_NAMES, Attachment, attach, with_load
from .base_parameters import BaseParameters, TriangularFactor, structural_base
from .dynamics import IdentifiedDynamics
from .regressor import Regressor

UNSCALED = {"current": "A", "voltage": "V"}
"""Quantities that are efforts up to an unknown gain, and their units."""

SAMPLES_PER_STRETCH = 2048
KEPT_NUMBERS = 2**22
"""Rows are kept between passes when they hold no more than this many numbers (32 MiB)."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Consecutive rows of the regression.

    Args:
        first: index of the first one in its recording. part: index of the recording.
        time: (r,). W: (r, n, b) columns of the base parameters. y: (r, n) effort less `held`.
        held: (r, n) effort of the held parameters.
    """

    part: int
    first: int
    time: Times
    W: np.ndarray
    y: JointSamples
    held: JointSamples


@dataclass(frozen=True, eq=False)
class Part:
    """One recording, converted to the joint side in chunks, so that no array of its length is copied.

    Args:
        signals: as recorded.
        robot: robot whose joints they are.
        order: (n,) column of the signals for each joint of the robot; -1: not measured, it follows from a loop.
    """

    signals: Signals
    robot: Articulated
    order: np.ndarray

    def __len__(self) -> int:
        return len(self.signals)

    @cached_property
    def kept(self) -> slice | np.ndarray:
        """The samples that become rows."""
        decimation = self.signals.decimation
        return slice(None) if decimation is None else decimation.kept_indices(len(self))

    def joint_side(self, first: int, last: int) -> tuple[Configurations, JointSamples, JointSamples, Columns]:
        """q (T, nq), v and a (T, n), and the torque of each equation, of the samples first <= k < last."""
        signals, train = self.signals, self.robot.train
        q, v, a, tau = (array[first:last] for array in (signals.q, signals.v, signals.a, signals.tau))
        if self.robot.floating_base:
            # efforts of the base are not those of motors, and pass no gears
            tau = np.concatenate([tau[:, :6], train.joint_torques(tau[:, 6:])], axis=1)
            return q, v, a, tau[:, self.robot.equations]
        q, v, a, tau = (array[:, self.order] for array in (q, v, a, tau))
        tau = np.where(self.order >= 0, tau, 0.0)  # no motor drives a joint that only follows
        v, a, tau = train.joint_velocities(v), train.joint_velocities(a), train.joint_torques(tau)
        closure, used = self.robot.closure, self.robot.equation_places
        if closure is None:
            return self.robot.configurations(train.joint_positions(q)), v, a, tau[:, used]
        q = self.robot.configurations(self._closed[first:last])
        return q, *closure.motion(q, v, a), np.einsum("tni, tn -> ti", closure.projection(q)[:, :, used], tau)

    @cached_property
    def positions(self) -> JointSamples:
        """(T, n) measured positions of the joints; NaN for joints that follow others and were not measured."""
        positions = self.robot.train.joint_positions(self.signals.q[:, self.order])
        positions[:, self.order < 0] = np.nan
        return positions

    @cached_property
    def _closed(self) -> JointSamples:
        """(T, n) positions of the joints, loops closed; `InvalidSignals` if they cannot be."""
        closure = self.robot.closure
        assert closure is not None, "the robot has no loops"
        closed, gap = closure.positions(self.positions)
        worst = int(gap.argmax())
        if not gap[worst] <= closure.tolerance:
            raise InvalidSignals(
                f"the loops cannot be closed at {self.signals.time[worst]:.6g} s: {1e3 * gap[worst]:.3g} mm stay open; "
                "look at zeros and signs of the measured joints, and at the description"
            )
        return closed

    @cached_property
    def channels(self) -> np.ndarray:
        """(T, m) channels of the recording that efforts of joints depend on; `InvalidSignals` if one is missing."""
        wanted, recording = self.robot.inputs, self.signals.recording
        missing = [name for name in wanted if recording is None or name not in recording.channels]
        if missing:
            raise InvalidSignals(
                f"the efforts of the robot's joints need the channel {listing(map(repr, missing))}, which a recording "
                f'lacks: channels = {{ "{missing[0]}" = {{ column = "...", unit = "..." }} }} in its file'
            )
        if recording is None:
            return np.zeros((len(self), 0))
        half = 0.5 / self.signals.rate_hz
        at = np.minimum(np.searchsorted(recording.time, self.signals.time - half), len(recording) - 1)
        found = [recording.readings(name)[at] for name in wanted]
        if not all(np.isfinite(values).all() for values in found):
            raise InvalidSignals(
                f"the channels {listing(wanted)} have samples that are not valid: cut or bridge them"
            )
        return np.stack(found, axis=1) if found else np.zeros((len(self), 0))


class SignalsMethod(Protocol):
    """A method that computes signals from a recording: `ButterworthDecimation`, `RandomWalkSmoother`, ..."""

    def apply(self, recording: Recording, /) -> Signals: ...


@dataclass(frozen=True, eq=False, repr=False)
class InverseDynamics(Brief):
    """min over theta of sum |tau - W theta|^2, rows streamed (Brunot et al. 2017, Eq. 4).

    Args:
        robot: as `load_robot` returns it; its parameters are theta.
        recordings: of the robot, sharing the parameters: one or several, `Recording`s or `Signals` computed from them.
            Kept as signals.
        signals: method that computes signals of recordings; None where `recordings` are signals already.
        held: parameter name -> value of a parameter that is not estimated.
        priors: base parameter name (e.g. `zz1r`) -> `Normal(mean, std)`.
        loaded: for each recording, whether the robot carries a load, whose parameters `mL`, `mxL`, ... are estimated
            too; empty: there is no load.
        link: link that carries the load, in whose frame it is expressed; None: the last body.
        accuracy: systematic errors of the laboratory, of which intervals allow.

    Raises:
        InvalidSignals: if joints and channels do not match, or an effort carries no information.
        InvalidMethod: if a held or prior parameter does not exist.
        InvalidModel: if the robot has no such link.
    """

    robot: Articulated
    recordings: Signals | Recording | Sequence[Signals | Recording]
    signals: InitVar[SignalsMethod | None] = None
    held: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, Normal] = field(default_factory=dict)
    loaded: Sequence[bool] = ()
    link: str | None = None
    accuracy: Accuracy = CAREFUL

    def __post_init__(self, signals: SignalsMethod | None) -> None:
        given = [self.recordings] if isinstance(self.recordings, Signals | Recording) else self.recordings
        if signals is None and not all(isinstance(recording, Signals) for recording in given):
            raise InvalidSignals(
                "a recording has positions, and a regression needs speeds and accelerations: give a method, "
                "signals=ButterworthDecimation(cutoff_hz=..., decimate_hz=...), or its signals"
            )
        method = cast("SignalsMethod", signals)
        kept = tuple(
            recording if isinstance(recording, Signals) else method.apply(recording) for recording in given
        )
        known = {"held": dict(self.held or {}), "priors": dict(self.priors or {})}
        self.__dict__.update(recordings=kept, loaded=tuple(map(bool, self.loaded)), **known)
        if not kept:
            raise InvalidSignals("there is no recording to identify from")
        first = kept[0].joints
        for other in kept[1:]:
            if set(other.joints) != set(first):
                raise InvalidSignals(
                    f"the recordings are of different robots: one has the joints {listing(first)}, another "
                    f"{listing(other.joints)}; what they share cannot be estimated from both"
                )
        if self.loaded and len(self.loaded) != len(kept):
            raise InvalidMethod(
                f"`loaded` has {len(self.loaded)} values for {len(kept)} recordings; give one for each"
            )
        if not len(self.robot.equations):
            raise InvalidSignals(
                f"no equation of motion is left without the {kept[0].effort} of "
                f"{listing(self.robot.drive.not_measured)}: a regression needs the effort of one motor at least"
            )
        _ = self.parameters
        for name in self.priors:
            _check_prior(name, self.base, self.parameters)
        # computed now, so that invalid input is refused when the problem is made
        _ = self.base, self.parts

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The recordings, joint side."""
        return tuple(
            _joint_side(self.robot, recording) for recording in cast("tuple[Signals, ...]", self.recordings)
        )

    @cached_property
    def attachment(self) -> Attachment | None:
        """Where the load is, whose ten parameters are the last ones; None: there is none."""
        return attach(self.robot, self.link) if self.loaded else None

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters, with held ones."""
        parameters = self.robot.parameters
        if self.attachment is not None:
            block = Block("payload", self.attachment.link, LOAD_NAMES, INERTIAL_UNITS)
            parameters = Parameters((*parameters.blocks, block), parameters.held)
        if self.unscaled_unit:
            parameters = parameters.measured_in(self.unscaled_unit)
        return parameters.hold(**self.held)

    @cached_property
    def unscaled_unit(self) -> str:
        """`"A"` or `"V"` where efforts have this unit and no gain converts them to torques; else empty."""
        # with a load, gains are identified
        known = self.loaded or np.any(self.robot.train.gain != 1)
        return "" if known else UNSCALED.get(cast("Sequence[Signals]", self.recordings)[0].effort, "")

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters that some motion of this robot determines; their columns are those of `Rows.W`."""
        base = structural_base(self.regressor)
        return base if self.attachment is None else with_load(base, self.attachment, self.regressor)

    @property
    def steps(self) -> tuple[str, ...]:
        """Steps of the data's processing."""
        return tuple(step for part in self.parts for step in part.signals.steps)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings on the data, and on efforts that were not measured."""
        unscaled = (
            f"Efforts are in {self.unscaled_unit}, and no gain converts them to torques: all values here are in this "
            f"unit, and masses not in kg. Write gain [N m/{self.unscaled_unit}] in [drive].",
        )
        of_parts = tuple(warning for part in self.parts for warning in part.signals.warnings)
        return (*of_parts, *self._cost_of_missing_efforts(), *(unscaled if self.unscaled_unit else ()))

    def _cost_of_missing_efforts(self) -> Iterator[str]:
        """What the equations that are left out would determine: a sentence, or none if all efforts were measured."""
        if not (missing := self.robot.drive.not_measured):
            return
        measured = replace(self.robot, drive=replace(self.robot.drive, not_measured=()))
        # not `with_robot`, which keeps the base
        full = structural_base(Regressor(measured, self.parameters))
        names = [name for name in measured.effort_names if name not in self.robot.effort_names]
        own = structural_base(self.regressor)
        lost = [self.parameters.names[k] for k in own.unobservable if k not in full.unobservable]
        nothing = f"; nothing determines {listing(lost)}" if lost else ""
        yield (
            f"The effort of {listing(missing)} was not measured: without the equation{'s' * (len(names) > 1)} of "
            f"{listing(names)} any motion determines {len(own)} combinations of parameters, not {len(full)}{nothing}."
        )

    def with_signals(self, signals: Sequence[Signals]) -> InverseDynamics:
        """The same problem with other signals of the same robot."""
        return self._with_the_same_base(recordings=tuple(signals), regressor=self.regressor)

    def with_gains(self, gains: Vector) -> InverseDynamics:
        """The same problem with other drive gains (n,), one a joint."""
        drive = replace(self.robot.drive, gain=tuple(gains.tolist()))
        return self.with_robot(replace(self.robot, drive=drive))

    def with_robot(self, robot: Articulated) -> InverseDynamics:
        """The same problem with a robot of the same base parameters."""
        return self._with_the_same_base(robot=robot)

    def _with_the_same_base(self, **changes: Any) -> InverseDynamics:
        """A copy with changes on which the parameters and their base do not depend: these are not computed again."""
        other = object.__new__(InverseDynamics)
        # `replace` would run __post_init__ and compute the base again, which costs more than a factorization
        names = ("robot", "recordings", "held", "priors", "loaded", "link", "accuracy")
        fields = {name: getattr(self, name) for name in names}
        derived = {name: getattr(self, name) for name in ("parameters", "attachment", "base")}
        other.__dict__.update({**fields, **derived, **changes})
        _ = other.parts
        return other

    def rows(self) -> Iterator[Rows]:
        """All rows, in the order of time, recording by recording."""
        yield from self._kept if self._kept is not None else self._stream()

    @cached_property
    def row_counts(self) -> tuple[int, ...]:
        """Rows of each recording; each has one for each of `robot.equations`."""
        return tuple(len(part.signals.time[part.kept]) for part in self.parts)

    @property
    def equations(self) -> int:
        return sum(self.row_counts) * len(self.robot.equations)

    def factors(self, weights: Callable[[Rows], np.ndarray] | None = None) -> np.ndarray:
        """(n, b + 1, b + 1) triangular factor of [W y] of each degree of freedom.

        Args:
            weights: function that returns (r, n) factors for the rows; None: 1.
        """
        n, b = len(self.robot.equations), len(self.base)
        # a joint near the tip has few columns: folding zeros would take most of the time
        active = [np.append(np.flatnonzero(self._active[dof]), b) for dof in range(n)]
        folding = [TriangularFactor(len(columns)) for columns in active]
        for rows in self.rows():
            w = None if weights is None else weights(rows)
            for dof, (factor, columns) in enumerate(zip(folding, active, strict=True)):
                block = np.column_stack([rows.W[:, dof, columns[:-1]], rows.y[:, dof]])
                factor.fold(block if w is None else block * w[:, dof, None])
        R = np.zeros((n, b + 1, b + 1))
        for dof, (factor, columns) in enumerate(zip(folding, active, strict=True)):
            R[dof, : len(columns), columns] = factor.R.T
        return R

    def predict(self, theta: Vector) -> tuple[Times, JointSamples, JointSamples]:
        """(N,) time, (N, n) effort as measured and as predicted by base values theta (b,); held parameters included."""
        time, measured, predicted = [], [], []
        for rows in self.rows():
            time.append(rows.time + self._starts[rows.part])
            measured.append(rows.y + rows.held)
            predicted.append(rows.W @ theta + rows.held)
        return np.concatenate(time), np.concatenate(measured), np.concatenate(predicted)

    def excess(self, theta: Vector) -> JointSamples:
        """(N, n) W theta - y, without W: efforts are decimated in place of entries."""
        n, found = len(self.robot.equations), []
        held = np.flatnonzero(self.parameters.held_values)
        for index, part in enumerate(self.parts):
            one = np.eye(len(self.regressor.structure[0]))
            by_entry = self._columns(index, one, self.base.chosen) @ theta
            by_entry += self._columns(index, one, held) @ self.parameters.held_values[held]

            def efforts(raw: np.ndarray, by_entry: np.ndarray = by_entry) -> np.ndarray:
                return raw[:, :-n] @ by_entry - raw[:, -n:]

            found += [rows for _, rows in self._decimated(part, efforts)]
        return np.concatenate(found)

    def sampled(self, full: Vector) -> list[JointSamples]:
        """(T, n) torque of all parameters (p,) at the samples of each recording, not decimated."""
        rows, columns = self.regressor.structure
        found = []
        for index, part in enumerate(self.parts):
            own = full if self.attachment is None else full[: self.attachment.first].copy()
            if self.attachment is not None and self.loaded[index]:
                own[self.attachment.carrier] += self.attachment.to_body @ full[self.attachment.first :]
            by_entry = np.zeros((len(rows), len(self.robot.equations)))
            by_entry[np.arange(len(rows)), rows] = own[columns]
            spans = [
                (k, min(k + SAMPLES_PER_STRETCH, len(part))) for k in range(0, len(part), SAMPLES_PER_STRETCH)
            ]
            n = len(self.robot.equations)
            found.append(np.concatenate([raw[:, :-n] @ by_entry for raw in self._raw(part, spans)]))
        return found

    def fit(self, theta: Vector, recording: str = "") -> Fit:
        """Measured against predicted effort of base values theta (b,), of recordings called `recording`."""
        units = tuple(self.robot.effort_units[k] for k in self.robot.equations)
        units = rescaled(units, self.unscaled_unit) if self.unscaled_unit else units
        more: dict[str, Any] = {"speeds": self.speeds, "counts": self.row_counts, "recording": recording}
        time, measured, predicted = self.predict(theta)
        return fit_of(time, self.robot.effort_names, units, measured, predicted, **more)

    def dynamics(self, estimate: Estimate) -> IdentifiedDynamics:
        """Torque, mass matrix and gravity of an estimate on any motion; of full parameters where it has them."""
        known = estimate.extra(FullParameters) or estimate
        return IdentifiedDynamics(
            self.robot,
            self.parameters,
            known.names,
            known.values,
            known.covariance,
            np.max([np.asarray(fit.rms_per_joint) for fit in (estimate.fit, *estimate.validation)], axis=0),
        )

    def predicted(
        self, estimate: Estimate, recording: Signals | Recording, name: str = "", *, loaded: bool = False
    ) -> Fit:
        """Measured against predicted effort of another recording, prepared like those that were identified from."""
        if loaded and self.attachment is None:
            raise InvalidMethod(
                f"the robot carries a load in recording {name!r}, but this estimate is of the robot without one: "
                "identify the load directly, or validate without it"
            )
        other = InverseDynamics(
            self.robot,
            recording,
            self.parts[0].signals.method,
            held=self.parameters.held,
            loaded=() if self.attachment is None else (loaded,),
            link=None if self.attachment is None else self.attachment.link,
        )
        return other.fit(other.base.map @ self.dynamics(estimate).theta, name)

    @cached_property
    def speeds(self) -> JointSamples:
        """(N, n) joint velocities of the rows, as the regressor has them."""
        v = np.concatenate([part.signals.v[part.kept][:, part.order] for part in self.parts])
        if self.robot.floating_base:
            return v[:, self.robot.equations]
        return self.robot.train.joint_velocities(v)[:, self.robot.equations]

    def gradient(
        self, theta: Vector, weights: np.ndarray, clip: float = np.inf
    ) -> tuple[Vector, Vector, float]:
        """Gradient of -1/2 sum over rows of rho(w (y - W theta)) by base values theta (b,), and its scale.

        Args:
            weights: (n,) w of each degree of freedom.
            clip: size beyond which Huber's rho grows linearly.

        Returns:
            (b,) the gradient, (b,) |w W|^2 column by column, and |w y|^2.
        """
        gradient, columns, efforts = np.zeros(len(self.base)), np.zeros(len(self.base)), 0.0
        for rows in self.rows():
            W, y = rows.W * weights[:, None], rows.y * weights
            gradient += np.einsum("rnb,rn->b", W, np.clip(y - W @ theta, -clip, clip))
            columns += (W**2).sum(axis=(0, 1))
            efforts += float((y**2).sum())
        return gradient, columns, efforts

    def certify(self, estimate: Estimate) -> Certificate:
        """Stationarity of a least-squares estimate, recomputed row by row: at the optimum of

            1/2 sum over rows of rho(w (y - W theta)) + 1/2 sum over priors of (theta_i - mean_i)^2 / std_i^2

        the gradient is zero; here it is relative to |w W| |w y|, column by column. The weights w of the degrees of
        freedom and the size beyond which Huber's rho grows linearly are those in the estimate's settings.
        """
        place = np.array([self.base.index(name) for name in estimate.names], dtype=np.int64)
        theta = np.zeros(len(self.base))
        theta[place] = np.where(estimate.identifiable, estimate.values, 0.0)
        # an estimate of another method, or from a file, may have none: then all weights are 1
        weights = np.asarray(estimate.settings.get("joint_weights", np.ones(len(self.robot.equations))))
        gradient, columns, efforts = self.gradient(
            theta, weights, float(estimate.settings.get("clip", np.inf))
        )
        for name, prior in self.priors.items():
            k = self.base.index(name)
            gradient[k] += (prior.mean - theta[k]) / prior.std**2
            columns[k] += 1 / prior.std**2
            efforts += (prior.mean / prior.std) ** 2 if k in place else 0.0
        # only what was estimated is at an optimum: parameters that were removed were set to zero
        seen = place[estimate.identifiable & (columns[place] > 0)]
        scale = np.sqrt(columns[seen] * efforts)
        return Certificate(float(np.max(np.abs(gradient[seen]) / scale, initial=0.0)), feasible=True)

    @cached_property
    def _starts(self) -> tuple[float, ...]:
        """Shift of each recording's clock such that the recordings are consecutive in time."""
        shifts, end = [], 0.0
        for k, part in enumerate(self.parts):
            # recordings have clocks of their own, and a plot of all has one axis
            shifts.append(0.0 if k == 0 else end - float(part.signals.time[0]))
            end = float(part.signals.time[-1]) + shifts[-1]
        return tuple(shifts)

    @cached_property
    def regressor(self) -> Regressor:
        return Regressor(self.robot, self.parameters)

    @cached_property
    def _active(self) -> np.ndarray:
        """(n, b) whether a base parameter acts on a degree of freedom at all."""
        rows, columns = self.regressor.structure
        active = np.zeros((len(self.robot.equations), len(self.parameters)), dtype=bool)
        active[rows, columns] = True
        if self.attachment is not None:
            # a load acts on the joints on which the body that carries it acts
            active[:, self.attachment.first :] = active[:, self.attachment.carrier].any(axis=1, keepdims=True)
        return active[:, self.base.chosen]

    @cached_property
    def _kept(self) -> list[Rows] | None:
        return list(self._stream()) if self.equations * (len(self.base) + 1) <= KEPT_NUMBERS else None

    def _stream(self) -> Iterator[Rows]:
        held = np.flatnonzero(self.parameters.held_values)
        n = len(self.robot.equations)
        for index, part in enumerate(self.parts):
            time = part.signals.time[part.kept]
            for first, raw in self._decimated(part, lambda raw: raw):
                at, entries, y = time[first : first + len(raw)], raw[:, :-n], raw[:, -n:]
                W = self._columns(index, entries, self.base.chosen)
                known = self._columns(index, entries, held) @ self.parameters.held_values[held]
                # a difference is a copy: the memory of `raw` is reused
                yield Rows(index, first, at, W, y - known, known)

    def _decimated(
        self, part: Part, reduce: Callable[[np.ndarray], np.ndarray]
    ) -> Iterable[tuple[int, np.ndarray]]:
        """Index of the first row, and rows of what `reduce` makes of entries and efforts side by side."""
        T, decimation = len(part), part.signals.decimation
        if decimation is not None:
            spans = list(decimation.spans(T, SAMPLES_PER_STRETCH))
            return decimation.apply(map(reduce, self._raw(part, spans)), T)
        spans = [(k, min(k + SAMPLES_PER_STRETCH, T)) for k in range(0, T, SAMPLES_PER_STRETCH)]
        return zip((first for first, _ in spans), map(reduce, self._raw(part, spans)), strict=True)

    def _raw(self, part: Part, spans: Sequence[tuple[int, int]]) -> Iterator[np.ndarray]:
        """Entries and efforts side by side, chunk by chunk, in the same memory: allocation takes longest."""
        n = len(self.robot.equations)
        memory = np.empty((max(last - first for first, last in spans), len(self.regressor.structure[0]) + n))
        for first, last in spans:
            raw = memory[: last - first]
            q, v, a, tau = part.joint_side(first, last)
            self.regressor.entries(q, v, a, part.channels[first:last], out=raw)
            raw[:, -n:] = tau
            yield raw

    def _columns(self, part: int, entries: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """(r, n, len(wanted)) columns of these parameters, in rising order; a load's are zero where there is none."""
        if self.attachment is None:
            return self.regressor.scatter(entries, wanted)
        # the load's columns are the last, so that both parts stay in rising order
        own, load = wanted[wanted < self.attachment.first], wanted[wanted >= self.attachment.first]
        W = self.regressor.scatter(entries, own)
        if self.loaded[part]:
            added = self.attachment.columns(self.regressor, entries, load - self.attachment.first)
        else:
            added = np.zeros((*W.shape[:2], len(load)))
        return np.concatenate([W, added], axis=2)


inverse_dynamics = InverseDynamics
"""The problem, by the name of a function: `inverse_dynamics(robot, signals)` of signals that exist already."""


def _check_prior(name: str, base: BaseParameters, parameters: Parameters) -> None:
    if name in parameters.held:
        raise InvalidMethod(f"{name} is held at {parameters.held[name]:g}; it cannot have a prior too")
    if name in parameters.names and name not in base.names:
        inside = [
            f"{b} = {g}" for b, g in zip(base.names, base.groupings, strict=True) if f"{name}" in g.split()
        ]
        raise InvalidMethod(
            f"a prior on {name} alone cannot be used: the motion determines {'; '.join(inside) or 'nothing of it'}; "
            "give the prior for a base parameter"
        )
    check_known(name, base.names, "no base parameter", "there are", InvalidMethod, 30)


def columns_of(robot: Articulated, signals: Signals) -> np.ndarray:
    """(n,) column in the signals of each joint of the robot; -1 where it was not measured."""
    return np.array(
        [signals.joints.index(joint) if joint in signals.joints else -1 for joint in robot.joints]
    )


def _joint_side(robot: Articulated, signals: Signals) -> Part:
    """Signals of one recording in the robot's own coordinates, columns in its order."""
    if robot.floating_base:
        robot.refuse_loops("the torque regressor of a robot with a floating base")
        # configurations and efforts include the base, whose effort is zero
        nq, n = robot.model.nq, robot.model.nv
        for name, size in {"q": nq, "v": n, "a": n, "tau": n}.items():
            columns = getattr(signals, name).shape[1]
            if columns != size:
                raise InvalidSignals(
                    f"robot {robot.name!r} has a floating base: {name} needs {size} columns (base first), "
                    f"not {columns}"
                )
        return Part(signals, robot, np.arange(n))
    signals = _with_unread_deflections(robot, signals)
    dependent = [] if robot.closure is None else [robot.joints[k] for k in robot.closure.dependent]
    follows = [joint for joint in dependent if joint in (*robot.drive.without_effort, *robot.followers)]
    for joint in robot.joints:
        if joint not in signals.joints and joint not in follows:
            raise InvalidSignals(
                f"joint {joint!r} has no position channel{nearest(joint, signals.joints)}; "
                f"the recording has {listing(signals.joints)}: lock the joint or name its channel"
            )
    for joint in signals.joints:
        if joint not in robot.joints:
            raise InvalidSignals(
                f"channel position.{joint} belongs to no joint of the robot{nearest(joint, robot.joints)}; "
                f"the robot has {listing(robot.joints)}"
            )
    order = columns_of(robot, signals)
    for k, joint in zip(order, robot.joints, strict=True):
        tau = signals.tau[:, k]
        if joint not in (*robot.drive.without_effort, *follows) and np.ptp(tau) == 0:
            what = "all zero" if tau[0] == 0 else "constant"
            raise InvalidSignals(
                f"[dropped-torque] the {signals.effort} of joint {joint!r} is {what}: it carries no information; "
                "give its channel, or list the joint under drive.passive if nothing drives it, or under "
                f"not_measured of {signals.effort} if its motor was not measured"
            )
    part = Part(signals, robot, order)
    _ = part.joint_side(0, 1), part.channels  # invalid input is refused here, not at the first use
    return part


def _with_unread_deflections(robot: Articulated, signals: Signals) -> Signals:
    """The signals with the deflections of elastic joints that no encoder reads, as of a rigid robot."""
    names = (deflection(joint) for joint in robot.drive.elastic)
    missing = tuple(name for name in names if name not in signals.joints)
    if not missing:
        return signals
    still = np.zeros((len(signals), len(missing)))
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(signals, name), still], axis=1) for name in ("q", "v", "a", "tau")
    }
    return replace(signals, joints=(*signals.joints, *missing), **arrays, q_std=None, v_std=None, a_std=None)
