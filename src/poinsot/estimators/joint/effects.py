"""Systematic effects on readings that a mechanism is predicted to have, over windows from smoothed states.

A window's readings follow from its first state x_0, its controls u and theta. To first order

    z - predicted = Z dx_0 + W dtheta + C d

with C the change of the readings by effects of their prior standard deviations, all by simulating again. dx_0 is
eliminated window by window, and `EffectFit` names effects with which blocks that it did not fit are predicted better.
Of effects that may be at any level or instant (a limit of the controls, a push), the one that explains most is tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...arrays import Matrix, Vector
from ...diagnosis.cause import Cause
from ...diagnosis.effect_fit import EffectFit, Named
from ...diagnosis.effects.effect import Effect, EffectColumn, Linearization
from ...estimate import NORMAL_95, Finding, Severity
from .forms import Form
from .prediction import horizon_of
from .problem import JointFit, JointSmoothingProblem, full_turns_off
from .smoothing import JointSmoothing, compiled_linearizer

STEP = 1e-4
"""Steps of finite differences, relative to parameters, and of states."""
LEVELS, PUSHES = 8, 24
"""Number of limits, and of instants of a push in each recording, that are tried."""
MOST = 0.5
"""Part of the held-out squared error above which an effect that is not removed spoils the result."""
REMAINS = NORMAL_95
"""Standard deviations of an effect beside chosen ones, below which those explain it."""
LEAST_LEVEL = 0.1
"""Least limit that is tried, relative to the largest control."""


class RolloutEffect(Effect):
    """An effect on predicted readings; its columns come from `Rollouts`.

    Class variables:
        is_chosen: whether its column is the best of several, and could explain what other effects do.
    """

    is_chosen: ClassVar[bool] = False

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        """None: there is no linear regression."""
        return iter(())


class RolloutZero(RolloutEffect):
    name, unit, cause = (
        "zero",
        "deg",
        Cause("joint-zero", "", "Correct the offset of its position, or level the base."),
    )
    sentence = "The zero of {joint}, or the direction of gravity, is off by {size}"


class RolloutDelay(RolloutEffect):
    name, unit, cause = "delay", "ms", Cause("delay", "", "Delay the commands, or advance the readings.")
    sentence = "Commands act late, or readings are early, by {size}"


class RolloutClock(RolloutEffect):
    name, unit, cause = "clock", "%", Cause("clock-scale", "", "Correct rate_hz, or the column of time.")
    sentence = "The clock differs from the mechanism's by {size}"


class RolloutLimit(RolloutEffect):
    name, unit, cause = (
        "limit",
        "",
        Cause("saturation", "", "Record what the drive applied, or clip the commands."),
    )
    sentence, is_chosen = "The drive does not apply commands of {joint} beyond a limit", True


class RolloutGainDrift(RolloutEffect):
    name, unit, cause = (
        "gain drift",
        "%",
        Cause("gain-change", "", "Record the supply's voltage, or shorter recordings."),
    )
    sentence = "The effort of commands of {joint} changes during a recording by {size}"


class RolloutFrictionDrift(RolloutEffect):
    name, unit, cause = "friction drift", "%", Cause("friction-drift", "", "Record when it is warm.")
    sentence = "Friction changes during a recording by {size}"


class RolloutPush(RolloutEffect):
    name, unit, cause = "push", "%", Cause("disturbance", "", "Exclude this part of the recording.")
    sentence, is_chosen = "An effort that the model lacks acts {joint}: {size} of the largest command", True


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
    def starts(self) -> list[np.ndarray]:
        """Steps (W, T) of the windows of each record."""
        horizons = horizon_of(self.problem.model, self.problem.records, self.fit.theta)
        return [
            np.arange(0, len(record.times) - T, T)[:, None] + np.arange(T)
            for record, T in zip(self.problem.records, horizons, strict=True)
        ]

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
        """(N, s) predicted readings of all windows, with other controls, parameters, first states and clock."""
        theta, parts = self.fit.theta if theta is None else theta, []
        for k, (record, at, x) in enumerate(zip(self.problem.records, self.starts, self.states, strict=True)):
            u = record.u if controls is None else controls[k]
            x = x if moved is None else self.form.moved(x, np.tile(moved, (len(x), 1)))
            states = self.form.simulated(x, u[at], clock * record.steps[at], theta)[:, 1:]
            parts.append(self.form.read(states.reshape(-1, self.form.size), theta))
        return np.concatenate(parts)

    @cached_property
    def predicted(self) -> np.ndarray:
        return self.readings()

    @cached_property
    def measured(self) -> np.ndarray:
        """(N, s) measured less predicted readings; NaN where nothing was measured."""
        z = [record.z[at + 1] for record, at in zip(self.problem.records, self.starts, strict=True)]
        flat = np.concatenate([part.reshape(-1, part.shape[-1]) for part in z])
        return np.asarray(full_turns_off(flat - self.predicted, self.problem.model.angular))

    def change(self, step: float = 1.0, **about: object) -> np.ndarray:
        """(N, s) change of the readings by a change of what they follow from, over its size."""
        return np.asarray((self.readings(**about) - self.predicted) / step)  # type: ignore[arg-type]

    @cached_property
    def windows(self) -> list[slice]:
        """Rows of each window."""
        lengths = [at.shape[1] for at in self.starts for _ in at]
        edges = np.cumsum([0, *lengths])
        return [slice(a, b) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]

    @cached_property
    def by_state(self) -> np.ndarray:
        """(N, s, degrees)."""
        return np.stack([self.change(STEP, moved=STEP * d) for d in np.eye(self.form.degrees)], axis=-1)

    @cached_property
    def bases(self) -> list[Matrix]:
        """Of each window, an orthonormal basis of what its first state changes."""
        read = np.where(np.isfinite(self.measured), 1.0, 0.0)[:, :, None]
        Z = self.by_state * read / self.noise[:, None]
        return [np.linalg.qr(Z[window].reshape(-1, Z.shape[-1]))[0] for window in self.windows]

    @cached_property
    def noise(self) -> Vector:
        """(s,) of readings."""
        return np.asarray(self.method.noise_of(self.problem.model))

    def free(self, values: np.ndarray) -> np.ndarray:
        """(N, s, k) in noise, without what first states explain."""
        shape = (*values.shape[:2], -1)
        flat = (
            np.where(np.isfinite(self.measured)[:, :, None], values.reshape(shape), 0.0) / self.noise[:, None]
        )
        out = flat.copy()
        for window, Q in zip(self.windows, self.bases, strict=True):
            part = flat[window].reshape(len(Q), -1)
            out[window] = (part - Q @ (Q.T @ part)).reshape(out[window].shape)
        return out

    @cached_property
    def by_theta(self) -> np.ndarray:
        """(N, s, q) by the open parameters."""
        columns = []
        for k in self.fit.open.tolist():
            step = STEP * max(abs(self.fit.theta[k]), 1e-3)
            theta = self.fit.theta.copy()
            theta[k] += step
            columns.append(self.change(step, theta=theta))
        return np.stack(columns, axis=-1)

    @cached_property
    def progress(self) -> np.ndarray:
        """(N, 1, 1) of each row in its record, from -1/2 to 1/2."""
        parts = [
            (at / (len(r.times) - 1) - 0.5).ravel()
            for at, r in zip(self.starts, self.problem.records, strict=True)
        ]
        return np.concatenate(parts)[:, None, None]

    def effects(self) -> Iterator[EffectColumn]:
        """Columns of all effects (N, s, k)."""
        model, records = self.problem.model, self.problem.records
        mechanism, sensors = model.mechanism, model.mechanism.sensors
        for k, sensor in enumerate(sensors):
            if not sensor.is_rate and model.angular[k]:
                column = np.zeros((*self.predicted.shape, 1))
                column[:, k] = np.radians(0.5)
                yield EffectColumn(RolloutZero(), sensor.channel.partition(".")[2], column, 0.5)
        yield EffectColumn(RolloutClock(), "", self.change(1e-4 / 0.003, clock=1 + 1e-4)[:, :, None], 0.3)
        kinds = [mechanism.entries[name].kind for name in self.fit.names]
        rubs = [
            k
            for k, place in enumerate(self.fit.open.tolist())
            if kinds[place] in ("drag", "coulomb", "level", "friction")
        ]
        if rubs:
            values = self.by_theta[:, :, rubs] * self.fit.theta[self.fit.open[rubs]]
            yield EffectColumn(
                RolloutFrictionDrift(), "", 0.15 * values.sum(-1, keepdims=True) * self.progress, 15.0
            )
        if not mechanism.inputs:
            return
        late = [
            np.vstack([record.u[:1], record.u[1:] - 0.1 * np.diff(record.u, axis=0)]) for record in records
        ]
        interval = float(np.median(np.concatenate([record.steps for record in records])))
        yield EffectColumn(
            RolloutDelay(), "", self.change(0.1 * interval / 2e-3, controls=late)[:, :, None], 2.0
        )
        largest = np.max([np.abs(record.u).max(axis=0) for record in records], axis=0)
        for k, name in enumerate(mechanism.inputs):
            if not largest[k] > 0:
                continue
            only = np.arange(len(mechanism.inputs)) == k
            scaled = [record.u * (1 + 1e-3 * only) for record in records]
            by_gain = self.change(1e-3, controls=scaled)[:, :, None]
            yield EffectColumn(RolloutGainDrift(), name, 0.05 * by_gain * self.progress, 5.0)
            levels = np.linspace(LEAST_LEVEL, 1, LEVELS, endpoint=False) * largest[k]
            clipped = [
                self.change(
                    controls=[
                        np.where(only, np.clip(record.u, -level, level), record.u) for record in records
                    ]
                )
                for level in levels.tolist()
            ]
            yield EffectColumn(RolloutLimit(), name, self.best(clipped), 1.0)
            pushes, places = [], []
            for r, record in enumerate(records):
                edges = np.linspace(0, len(record.times), PUSHES + 1).astype(int)
                for first, last in zip(edges[:-2].tolist(), edges[2:].tolist(), strict=True):
                    pushed = [other.u.copy() for other in records]
                    pushed[r][first:last, k] += 1e-2 * largest[k]
                    pushes.append(self.change(0.1, controls=pushed))
                    places.append(
                        f"at {name} in {record.name} near {record.times[(first + last) // 2 - 1]:.3g} s"
                    )
            chosen = self.best_of(pushes)
            yield EffectColumn(RolloutPush(), places[chosen], pushes[chosen][:, :, None], 10.0)

    def best_of(self, candidates: Sequence[np.ndarray]) -> int:
        """Which candidate (N, s) removes most of the residuals beside the parameters."""
        A = self.free(self.by_theta).reshape(self.measured.size, -1)
        Q = np.linalg.qr(A)[0]
        y = self.free(self.measured[:, :, None]).ravel()
        y = y - Q @ (Q.T @ y)
        gains = []
        for candidate in candidates:
            c = self.free(candidate[:, :, None]).ravel()
            left = c - Q @ (Q.T @ c)
            size = float(left @ left)
            # a candidate that parameters explain is no effect
            gains.append(float(left @ y) ** 2 / size if size > 1e-6 * float(c @ c) > 0 else 0.0)
        return int(np.argmax(gains))

    def best(self, candidates: Sequence[np.ndarray]) -> np.ndarray:
        """(N, s, 1) the best candidate."""
        return candidates[self.best_of(candidates)][:, :, None]

    @cached_property
    def effect_fits(self) -> tuple[EffectFit, ...]:
        """Parameters with effects that were not chosen, then with all; none where simulations diverge."""
        if not np.isfinite(self.predicted).all() or not len(self.fit.open) or len(self.windows) < 4:
            return ()
        W, y = self.free(self.by_theta), self.free(self.measured[:, :, None])[:, :, 0]
        columns = tuple(replace(column, values=self.free(column.values)) for column in self.effects())
        if not all(np.isfinite(part).all() for part in (W, y, *(column.values for column in columns))):
            return ()
        theta = self.fit.theta[self.fit.open]
        counts = tuple(at.size for at in self.starts)
        fixed = tuple(column for column in columns if not _is_chosen(column))
        return tuple(
            EffectFit(W, y + W @ theta, theta, part, counts, np.ones(y.shape[1])) for part in (fixed, columns)
        )

    def findings(self) -> Iterator[Finding]:
        """Effects that the readings show, and with which parts that were not fitted are predicted better."""
        if not self.effect_fits:
            return
        fixed, whole = self.effect_fits
        # a chosen column explains part of any effect: without it the others are tested first, and named if what it
        # leaves still shows them
        for named in fixed.named:
            if whole.significance(named.columns) > REMAINS:
                yield _finding(named)
        for named in whole.named:
            if _is_chosen(named.columns[0]):
                yield _finding(named)


def _finding(named: Named) -> Finding:
    column = named.columns[0]
    effect = column.effect
    half = NORMAL_95 * named.std
    size = f"{named.value:.3g} ± {half:.2g} {effect.unit}"
    sentence = effect.sentence.format(joint=column.joint, size=size)
    message = (
        f"{sentence}; {named.z:.3g} standard deviations, and it removes {100 * named.gain:.2g} % of the squared error "
        "of parts that were not fitted."
    )
    return effect.cause.finding(
        Severity.error if named.gain > MOST else Severity.warning,
        message,
        where="" if effect.name == "push" else column.joint,
        evidence=1e4 * named.gain,
    )


def _is_chosen(column: EffectColumn) -> bool:
    return isinstance(column.effect, RolloutEffect) and column.effect.is_chosen
