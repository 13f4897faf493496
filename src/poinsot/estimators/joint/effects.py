"""Errors of the laboratory in readings that a mechanism is predicted to have, over windows from smoothed states.

A window's readings follow from its first state x_0, its controls u and theta. To first order

    z - predicted = Z dx_0 + W dtheta + C d

with C the change of the readings by effects of their prior standard deviations, all by simulating again. dx_0 is
eliminated window by window. `EffectFit` names effects with which blocks that it did not fit are predicted better, and
the others widen the intervals. Of effects that may be at any level or instant (a limit of the controls, a push), the
one that explains most is tested; they widen nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ...arrays import Matrix, Vector
from ...diagnosis.disturbance import Disturbance
from ...diagnosis.effect_fit import EffectFit
from ...diagnosis.effects.effect import Effect, EffectColumn
from ...diagnosis.effects.efforts import GAIN_CHANGE, LateTorque
from ...diagnosis.effects.friction import Warming
from ...diagnosis.effects.geometry import DEGREE, DESCRIPTION, GRAVITY, UNIT_GAIN, ClockRate, ZeroOffset
from ...diagnosis.effort_samples import DroppedTorque
from ...diagnosis.prediction import SystematicEffects
from ...diagnosis.systematic import EffectUncertainty
from ...estimate import Finding, Severity, Unchecked
from ...models.maximal import FrameReading
from ...models.maximal.frames import ORIENTATION
from ...models.maximal.joints import WORLD
from ...models.maximal.mechanism import AnySensor
from ...models.maximal.values import Entry
from ...models.rotations import skew
from ...statistics import NORMAL_95
from .forms import Form
from .prediction import clear_windows
from .problem import JointFit, JointSmoothingProblem, horizon_of
from .smoothing import JointSmoothing, compiled_linearizer
from .stops import touching

STEP = 1e-4
"""Steps of finite differences, relative to parameters, and of states."""
LEVELS, PUSHES = 8, 24
"""Number of limits, and of instants of a push in each recording, that are tried."""
REMAINS = NORMAL_95
"""Standard deviations of an effect beside chosen ones, below which those explain it."""
LEAST_LEVEL = 0.1
"""Least limit that is tried, relative to the largest control."""
RUBS = ("drag", "coulomb", "level", "friction")
"""Kinds of the parameters of friction."""


class ReadingZero(ZeroOffset):
    """A zero of an encoder, or a tilted base, which moves the zeros of joints at the base."""

    sentence = "The zero of {joint}, or the direction of gravity, is off by {size}"

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        mechanism, base = at.problem.model.mechanism, at.problem.accuracy.of("base_deg")
        grounded = {joint.name for joint in mechanism.joints if joint.parent == WORLD}
        estimated = {(entry.kind, entry.index) for entry in at.entries}
        for k, sensor in enumerate(at.sensors):
            if not at.problem.model.angular[k] or ("zero", (k,)) in estimated:
                continue
            deg = np.hypot(at.problem.accuracy.of("zero_deg"), base if sensor.owner in grounded else 0.0)
            yield EffectColumn(self, sensor.owner, at.reading(k, deg * DEGREE), deg)


class FramePlace(Effect):
    """A frame that is elsewhere on its body."""

    name, cause, unit, place = "frame-place", DESCRIPTION, "mm", "frame"
    sentence = "The point of {joint} on its body is off by {size}"
    unchecked = "the point of {joint} on its body"

    def remedy(self) -> str:
        return 'Measure it, or estimate it: "{joint}.x", "{joint}.y" and "{joint}.z" in parameters.'

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        mm, estimated = at.problem.accuracy.of("length_mm"), {entry.owner for entry in at.entries}
        for frame in at.problem.model.mechanism.frames:
            rows = at.rows_at(frame.name, "frame_position")
            if rows and frame.name not in estimated:
                yield EffectColumn(self, frame.name, at.vectors(rows, mm / 1e3 * at.axes[frame.name]), mm)


class FrameAxes(Effect):
    """A frame whose axes are turned on its body."""

    name, cause, unit, place = "frame-axes", DESCRIPTION, "deg", "frame"
    sentence = "The axes of {joint} are turned on its body by {size}"
    unchecked = "the axes of {joint} on its body"

    def remedy(self) -> str:
        return "Define them again: they are the world's axes with every joint at zero."

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        deg = at.problem.accuracy.of("unit_deg")
        for frame in at.problem.model.mechanism.frames:
            rows = at.rows_at(frame.name, ORIENTATION)
            if rows:
                yield EffectColumn(
                    self, frame.name, at.vectors(rows, deg * DEGREE * at.axes[frame.name]), deg
                )


class WorldPlace(Effect):
    """An origin of readings at frames that is not that of the mechanism."""

    name, cause, unit, place = "world-place", DESCRIPTION, "mm", ""
    sentence = "The origin of frame_position differs from that of the mechanism by {size}"
    unchecked = "the origin of frame_position"

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        mm, rows = at.problem.accuracy.of("length_mm"), at.rows_at(None, "frame_position")
        if rows:
            shift = np.broadcast_to(mm / 1e3 * np.eye(3), (len(at.predicted), 3, 3))
            yield EffectColumn(self, "", at.vectors(rows, shift), mm)


class WorldAxes(Effect):
    """Axes of readings at frames that are turned against those of the mechanism, or against gravity."""

    name, cause, unit, place = "world-axes", GRAVITY, "deg", ""
    sentence = "The axes of readings at frames are turned by {size} against gravity and the mechanism"
    unchecked = "the axes of readings at frames against gravity and the mechanism"

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        deg, column = at.problem.accuracy.of("base_deg"), np.zeros((*at.predicted.shape, 3))
        for rows in at.rows_at(None, "frame_position"):
            column += at.vectors([rows], np.swapaxes(skew(at.predicted[:, rows]), 1, 2))
        turned = np.broadcast_to(np.eye(3), (len(column), 3, 3))
        column += at.vectors(at.rows_at(None, ORIENTATION), turned)
        if column.any():
            yield EffectColumn(self, "", deg * DEGREE * column, deg)


class RateScale(Effect):
    """The scale of a rate sensor."""

    name, cause, place = "unit scale", UNIT_GAIN, ""
    sentence = "The scale of the rate sensor of {joint} is off by {size}"
    unchecked = "the scale of the rate sensor of {joint}"

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        percent = at.problem.accuracy.of("unit_gain_percent")
        for k, sensor in enumerate(at.sensors):
            if sensor.is_rate:
                column = at.reading(k, percent / 100 * at.predicted[:, k])
                yield EffectColumn(self, sensor.owner, column, percent)


class RolloutClock(ClockRate):
    """The rate of the clock."""

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        percent = at.problem.accuracy.of("clock_percent")
        yield EffectColumn(self, "", percent / 100 * at.change(STEP, clock=1 + STEP), percent)


class MechanismWarming(Warming):
    """Friction that changes linearly over each record."""

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        percent, entries = at.problem.accuracy.of("friction_warming_percent"), at.entries
        for joint in dict.fromkeys(entry.owner for entry in entries if entry.kind in RUBS):
            mine = [k for k, entry in enumerate(entries) if entry.owner == joint and entry.kind in RUBS]
            values = (at.by_theta[:, :, mine] * at.theta[mine]).sum(-1, keepdims=True)
            yield EffectColumn(self, joint, percent / 100 * values * at.progress, percent)


class LateCommand(LateTorque):
    """Commands that act late."""

    sentence = "The command of {joint} acts late, or readings are early, by {size}"
    unchecked = "the delay of the command of {joint}"

    def remedy(self) -> str:
        return "Delay the commands, or advance the readings."

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        ms, part = at.problem.accuracy.of("delay_ms"), 0.1
        steps = np.concatenate([record.steps for record in at.problem.records])
        seconds = part * float(np.median(steps))
        for k, joint in at.inputs:

            def late(u: np.ndarray) -> np.ndarray:
                return np.concatenate([u[:1], u[1:] - part * np.diff(u)])

            yield EffectColumn(self, joint, ms / 1e3 * at.commanded(k, late, seconds), ms)


class CommandDrift(Effect):
    """A gain that changes over a record: a supply that sags, a motor that warms."""

    name, cause, of_model = "gain-drift", GAIN_CHANGE, True
    sentence = "The effort of commands of joint {joint} changes by {size} during a recording"

    def remedy(self) -> str:
        return "Record the supply's voltage, or shorter recordings."

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        percent = at.problem.accuracy.of("gain_percent")
        for k, joint in at.inputs:
            scaled = at.commanded(k, lambda u: (1 + STEP) * u, STEP)
            yield EffectColumn(self, joint, percent / 100 * scaled * at.progress, percent)


class ChosenEffect(Effect):
    """An effect at the level or instant that explains most; it could explain what other effects do."""

    of_model = True


class CommandLimit(ChosenEffect):
    """A drive that does not apply commands beyond a limit."""

    name, cause, unit = "limit", DroppedTorque.causes[1], "times what this limit cuts off"
    sentence = "The drive does not apply large commands of joint {joint}: it cuts off {size}"

    def remedy(self) -> str:
        return "Record what the drive applied, or clip the commands."

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        for k, joint in at.inputs:
            clips = (partial(np.clip, a_min=-level, a_max=level) for level in at.levels(k))
            clipped = [at.commanded(k, clip) for clip in clips]
            yield EffectColumn(self, joint, clipped[at.best_of(clipped)], 1.0)


class Push(ChosenEffect):
    """An effort that acts for a while."""

    name, cause, part = "push", Disturbance.causes[0], 0.01
    sentence = "An effort that the model lacks acts at {joint}: {size} of the largest command"

    def columns(self, at: Rollouts) -> Iterator[EffectColumn]:
        for k, joint in at.inputs:
            pushes, places = [], []
            for number, record in enumerate(at.problem.records):
                edges = np.linspace(0, len(record.times), PUSHES + 1).astype(int)
                for first, last in zip(edges[:-2].tolist(), edges[2:].tolist(), strict=True):
                    pushed = [other.u.copy() for other in at.problem.records]
                    pushed[number][first:last, k] += self.part * at.largest[k]
                    pushes.append(at.change(10 * self.part, controls=pushed))
                    places.append(
                        f"{joint} in {record.name} near {record.times[(first + last) // 2 - 1]:.3g} s"
                    )
            chosen = at.best_of(pushes)
            yield EffectColumn(self, places[chosen], pushes[chosen], 10.0)


EFFECTS: tuple[Effect, ...] = (
    ReadingZero(),
    FramePlace(),
    FrameAxes(),
    WorldPlace(),
    WorldAxes(),
    RateScale(),
    RolloutClock(),
    MechanismWarming(),
    LateCommand(),
    CommandDrift(),
    CommandLimit(),
    Push(),
)


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Predictions over windows of the fitted records, and their derivatives."""

    problem: JointSmoothingProblem
    method: JointSmoothing
    fit: JointFit

    @cached_property
    def form(self) -> Form:
        return compiled_linearizer(self.problem.model, self.method.form).form

    @cached_property
    def observable(self) -> np.ndarray:
        """Places of the b estimated parameters that the readings determine, without those of end stops.

        No window touches a stop (`clear_windows`).
        """
        entries = self.problem.model.mechanism.entries
        of_stops = np.array([entries[name].kind.startswith("stop") for name in self.fit.names], dtype=bool)
        return self.fit.open[(np.isfinite(self.fit.robust_std) & ~of_stops)[self.fit.open]]

    @property
    def theta(self) -> Vector:
        """(b,) their values."""
        return self.fit.theta[self.observable]

    @property
    def entries(self) -> list[Entry]:
        """Of the b parameters."""
        return [self.problem.model.mechanism.entries[self.fit.names[k]] for k in self.observable]

    @property
    def sensors(self) -> Sequence[AnySensor]:
        return self.problem.model.mechanism.sensors

    @cached_property
    def largest(self) -> Vector:
        """(inputs,) sizes of commands."""
        return np.asarray(np.max([np.abs(record.u).max(axis=0) for record in self.problem.records], axis=0))

    def levels(self, k: int) -> list[float]:
        """Limits of a motor's commands that are tried."""
        levels: list[float] = (np.linspace(LEAST_LEVEL, 1, LEVELS, endpoint=False) * self.largest[k]).tolist()
        return levels

    @property
    def inputs(self) -> list[tuple[int, str]]:
        """Motors with commands."""
        return [
            (k, name) for k, name in enumerate(self.problem.model.mechanism.inputs) if self.largest[k] > 0
        ]

    @cached_property
    def starts(self) -> list[np.ndarray]:
        """Steps (W, T) of the windows of each record."""
        model, theta = self.problem.model, self.fit.theta
        stops, found = self.method.stops_of(model, theta), []
        horizons = horizon_of(model, self.problem.records, theta)
        for record, T in zip(self.problem.records, horizons, strict=True):
            starts = np.arange(0, len(record.times) - T, T)
            starts, T = clear_windows(starts, T, touching(model, record, theta, stops))
            found.append(starts[:, None] + np.arange(T))
        return found

    @cached_property
    def states(self) -> list[np.ndarray]:
        """(W, size) smoothed states at the beginning of each window."""
        return [
            self.form.pack(path.coordinates, path.rates, self.fit.theta, path.states)[at[:, 0]]
            for path, at in zip(self.fit.paths, self.starts, strict=True)
        ]

    def readings(
        self,
        controls: Sequence[np.ndarray] | None = None,
        theta: Vector | None = None,
        moved: Vector | None = None,
        clock: float = 1.0,
    ) -> np.ndarray:
        """(N, s) predicted readings of all windows, with other controls; or parameters, first states and clock."""
        theta = self.fit.theta if theta is None else theta
        return np.concatenate(
            [self.form.read(x, theta) for x in self.simulated(controls, theta, moved, clock)]
        )

    def simulated(
        self,
        controls: Sequence[np.ndarray] | None,
        theta: Vector,
        moved: Vector | None = None,
        clock: float = 1.0,
    ) -> list[np.ndarray]:
        """States of all windows of each record, with other controls; or parameters, first states and clock."""
        parts = []
        for k, (record, at, x) in enumerate(zip(self.problem.records, self.starts, self.states, strict=True)):
            u = record.u if controls is None else controls[k]
            x = x if moved is None else self.form.moved(x, np.tile(moved, (len(x), 1)))
            anew = np.ones(len(at), dtype=bool)
            states = np.empty((*at.shape, self.form.size))
            if controls is not None:  # windows with the same controls move alike
                anew = (u[at] != record.u[at]).any(axis=(1, 2))
                states[~anew] = self.rolled[k].reshape(states.shape)[~anew]
            if anew.any():
                h = clock * record.steps[at[anew]]
                states[anew] = self.form.simulated(x[anew], u[at[anew]], h, theta)[:, 1:]
            parts.append(states.reshape(-1, self.form.size))
        return parts

    @cached_property
    def rolled(self) -> list[np.ndarray]:
        """States of all windows of each record."""
        return self.simulated(None, self.fit.theta)

    @cached_property
    def predicted(self) -> np.ndarray:
        return np.concatenate([self.form.read(x, self.fit.theta) for x in self.rolled])

    @cached_property
    def axes(self) -> Mapping[str, np.ndarray]:
        """Frame -> (N, 3, 3) its axes in the world in all windows."""
        mechanism = self.problem.model.mechanism
        unread = [frame.name for frame in mechanism.frames if not self.rows_at(frame.name, ORIENTATION)]
        vectors = self.predicted
        if unread:
            more = [FrameReading(frame, ORIENTATION, axis) for frame in unread for axis in range(3)]
            model = replace(mechanism, sensors=[*mechanism.sensors, *more]).model(self.fit.names)
            form = compiled_linearizer(model, self.method.form).form
            vectors = np.concatenate([form.read(x, self.fit.theta) for x in self.rolled])
        places = {
            frame: vectors[:, rows] for frame in self._frames for rows in self.rows_at(frame, ORIENTATION)
        }
        places |= {
            frame: vectors[:, len(self.sensors) + 3 * k : len(self.sensors) + 3 * k + 3]
            for k, frame in enumerate(unread)
        }
        return {frame: Rotation.from_rotvec(part).as_matrix() for frame, part in places.items()}

    @property
    def _frames(self) -> list[str]:
        return [frame.name for frame in self.problem.model.mechanism.frames]

    def rows_at(self, frame: str | None, quantity: str) -> list[np.ndarray]:
        """Places of the components of each reading of a quantity at a frame; None: at any."""
        found = []
        for rows in self.problem.model.mechanism.frame_rows:
            sensor = self.sensors[int(rows[0])]
            if (
                isinstance(sensor, FrameReading)
                and sensor.quantity == quantity
                and frame in (None, sensor.frame)
            ):
                found.append(rows)
        return found

    def vectors(self, rows: Sequence[np.ndarray], changes: np.ndarray) -> np.ndarray:
        """(N, s, k) changes (N, 3, k) of readings with these places."""
        column = np.zeros((*self.predicted.shape, changes.shape[2]))
        for at in rows:
            column[:, at] += changes
        return column

    @cached_property
    def measured(self) -> np.ndarray:
        """(N, s) measured less predicted readings; NaN where nothing was measured."""
        z = [record.z[at + 1] for record, at in zip(self.problem.records, self.starts, strict=True)]
        flat = np.concatenate([part.reshape(-1, part.shape[-1]) for part in z])
        return self.problem.model.differences(flat, self.predicted)

    def change(self, step: float = 1.0, **about: Any) -> np.ndarray:
        """(N, s, 1) change of the readings by a change of what they follow from, over its size."""
        changed = self.problem.model.differences(self.readings(**about), self.predicted, full_turns=True)
        return (changed / step)[:, :, None]

    def commanded(self, k: int, change: Callable[[np.ndarray], np.ndarray], step: float = 1.0) -> np.ndarray:
        """(N, s, 1) by a change of the commands (T,) of one motor, over its size."""
        controls = [record.u.copy() for record in self.problem.records]
        for u in controls:
            u[:, k] = change(u[:, k])
        return self.change(step, controls=controls)

    def reading(self, k: int, values: np.ndarray | float) -> np.ndarray:
        """(N, s, 1) a change of one sensor's readings."""
        column = np.zeros((*self.predicted.shape, 1))
        column[:, k, 0] = values
        return column

    @cached_property
    def windows(self) -> list[slice]:
        """Rows of each window."""
        lengths = [at.shape[1] for at in self.starts for _ in at]
        edges = np.cumsum([0, *lengths])
        return [slice(a, b) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]

    @cached_property
    def bases(self) -> list[Matrix]:
        """Of each window, an orthonormal basis of what its first state changes."""
        by_state = [self.change(STEP, moved=STEP * d) for d in np.eye(self.form.degrees)]
        Z = self._whitened(np.concatenate(by_state, axis=2))
        return [np.linalg.qr(Z[window].reshape(-1, Z.shape[-1]))[0] for window in self.windows]

    def _whitened(self, values: np.ndarray) -> np.ndarray:
        """(N, s, k) in noise; 0 where nothing was measured."""
        noise = np.asarray(self.method.noise_of(self.problem.model))
        return np.where(np.isfinite(self.measured)[:, :, None], values, 0.0) / noise[:, None]

    def free(self, values: np.ndarray) -> np.ndarray:
        """(N, s, k) in noise, without what first states explain."""
        out = self._whitened(values)
        for window, Q in zip(self.windows, self.bases, strict=True):
            part = out[window].reshape(len(Q), -1)
            out[window] = (part - Q @ (Q.T @ part)).reshape(out[window].shape)
        return out

    @cached_property
    def excess(self) -> float:
        """Rms of the residuals in noise, without what first states explain."""
        return float(np.sqrt(np.mean(self.free(self.measured[:, :, None]) ** 2)))

    @cached_property
    def by_theta(self) -> np.ndarray:
        """(N, s, b)."""
        columns = []
        for k in self.observable.tolist():
            step = STEP * max(abs(self.fit.theta[k]), 1e-3)
            theta = self.fit.theta.copy()
            theta[k] += step
            columns.append(self.change(step, theta=theta))
        return np.concatenate(columns, axis=2)

    @cached_property
    def progress(self) -> np.ndarray:
        """(N, 1, 1) of each row in its record, from 0 to 1: parameters are those at its start."""
        parts = [
            (at / (len(r.times) - 1)).ravel() for at, r in zip(self.starts, self.problem.records, strict=True)
        ]
        return np.concatenate(parts)[:, None, None]

    def best_of(self, candidates: Sequence[np.ndarray]) -> int:
        """Which candidate (N, s, 1) removes most of the residuals beside the parameters."""
        A = self.free(self.by_theta).reshape(self.measured.size, -1)
        Q = np.linalg.qr(A)[0]
        y = self.free(self.measured[:, :, None]).ravel()
        y = y - Q @ (Q.T @ y)
        gains = []
        for candidate in candidates:
            c = self.free(candidate).ravel()
            left = c - Q @ (Q.T @ c)
            size = float(left @ left)
            # a candidate that parameters explain is no effect
            gains.append(float(left @ y) ** 2 / size if size > 1e-6 * float(c @ c) > 0 else 0.0)
        return int(np.argmax(gains))

    @cached_property
    def effect_fits(self) -> tuple[EffectFit, ...]:
        """Parameters with effects that were not chosen, then with all; none where simulations diverge."""
        if not np.isfinite(self.predicted).all() or not len(self.observable) or len(self.windows) < 4:
            return ()
        W, y = self.free(self.by_theta), self.free(self.measured[:, :, None])[:, :, 0]
        columns = tuple(
            replace(column, values=self.free(column.values))
            for effect in (() if self.problem.accuracy.exact else EFFECTS)
            for column in effect.columns(self)
            if column.size > 0
        )
        if not all(np.isfinite(part).all() for part in (W, y, *(column.values for column in columns))):
            return ()
        counts = tuple(at.size for at in self.starts)
        fixed = tuple(column for column in columns if not isinstance(column.effect, ChosenEffect))
        plain = EffectFit(W, y + W @ self.theta, self.theta, (), counts, np.ones(y.shape[1]))
        # rollouts weight readings as a smoother does not: a shift by effects is one of the rollouts' own values
        theta = plain.plain[0] / plain.norms
        return tuple(
            replace(plain, theta=theta, columns=part, apart=part is fixed) for part in (fixed, columns)
        )


@dataclass(frozen=True, eq=False, repr=False)
class RolloutUncertainty(EffectUncertainty):
    """`EffectFit` with effects that were not chosen, for all p parameters."""

    rollouts: Rollouts

    @cached_property
    def fit(self) -> EffectFit | None:
        return next(iter(self.rollouts.effect_fits), None)

    def _finite(self, compute: Callable[[EffectFit], np.ndarray]) -> np.ndarray | None:
        found, places = super()._finite(compute), self.rollouts.observable
        if found is None:
            return None
        # held parameters are known, and those that no reading shows are not
        every = self.rollouts.fit.robust_covariance
        every = every.copy() if found.ndim == 2 else np.diag(every).copy()
        every[np.ix_(*[places] * found.ndim)] = found
        return every


class RolloutEffects(SystematicEffects):
    """Effects that the readings show, and the size that others may have."""

    causes = tuple({effect.cause.name: effect.cause for effect in EFFECTS}.values())

    def look(self, case: Any) -> Iterator[Finding | Unchecked]:
        if not case.effect_fits:
            return
        fixed, whole = case.effect_fits
        # a chosen column explains part of any effect: without it the others are tested first, and named if what it
        # leaves still shows them
        for named in fixed.named:
            if whole.significance(named.columns) > REMAINS:
                yield self._finding(case, named)
        for named in whole.named:
            if isinstance(named.columns[0].effect, ChosenEffect):
                finding = self._finding(case, named)
                yield replace(finding, severity=max(finding.severity, Severity.warning))
        yield from self._unchecked(fixed)
