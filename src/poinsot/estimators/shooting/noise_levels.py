"""How far theta depends on each assumed noise level, and process noise by its marginal likelihood.

**Sensitivity.** With one level times s, a Gauss-Newton step from the optimum goes to that of the changed problem, to
first order in the step and exactly in s. All levels share one linearization, whose rows are weighed anew; each costs a
backward pass.

**Levels from the data.** With r the residuals of a group of N rows (readings of one quantity, or process noise with one
level) at the solution, in assumed standard deviations, and A = J H^-1 J^T the influence of data on their predictions,

    level^2 <- level^2 * sum of omega r^2 / (c (N - tr A))

For process noise this is the most likely level (MacKay 1992; N - tr A counts the components that the data determine),
for readings the unbiased variance. omega are weights of residuals with Student's t distribution, and 1 in other groups,

    omega = min(1, (nu + 1) / (nu + r^2)),    c = mean of omega r^2 of normal residuals

where c makes levels those of clean data with and without weights. (Student's own weights are above 1 for small
residuals. Capped, rows never count for more than they were read, so standard deviations do not become too small.)

tr A = E[z^T J H^-1 J^T z] for random signs z (Hutchinson 1990): the change of the residuals along the direction that
has J^T z as its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, repeat
from math import lgamma
from typing import Any, cast

import numpy as np

from ...arrays import Columns, Float, NodeStates, States, Vector
from ...models.contacts.contact_dynamics import Linearized, RobotMotion
from ...models.sensors import ContactSinking, ContactTurning, ContactVelocity
from .direction import KEPT_STAGES, SearchDirection, ShootingIterate, ShootingSearch
from .problem import GaussianPrior, ShootingProblem, StageLinearization, Trajectories, TrajectoryModel
from .rates import predicted_rates
from .robot import CONTACT_LEVELS, EVENT, RobotTrajectoryModel, standing
from .rollout import Evaluation, stretches

PROBES = 2
"""Random signs of several thousand components make tr(C) exact to a few percent."""
STUDENT_DEGREES = 4.0
"""nu: below it Student's t has no finite kurtosis."""
HELD = 1e8
"""Information on theta, over what the data have, by which it is moved while states follow."""
WEIGHT_ROUNDS = 20
"""Rounds in which a level and the weights of its residuals settle."""
OVER_RELAXATION = 1.4
"""Power of a factor that is applied at once: levels of noise that the data determine in part follow slowly."""
STEP_LIMITS = 0.2, 5.0
"""Of a factor that is applied at once."""
LEAST_LEVELS = {
    "contact": 1.0, "contact_normal": 1.0, "contact_angular": 10.0,
    ContactVelocity.quantity: 1e-2, ContactSinking.quantity: 1e-2, ContactTurning.quantity: 0.1,
}  # fmt: skip
"""Levels below which no foot stands still [m/s^2], [rad/s^2], [m/s]: one of rubber, 50 kN/m, gives 2 mm under 100 N
within a quarter of a second. No reading sees that, so the likeliest level is far below; but where a foot cannot give,
what it does is taken for mass."""
FACTOR = 3.0
"""By which assumed levels are changed: as far off as a level from a data sheet may be."""

Linearizations = list[dict[int, StageLinearization]]
"""Of each recording, by the first stage of a stretch."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Change of what was recorded, at the motion that was estimated.

    Args:
        readings: of each recording, (N + 1, rows) of the weighted residuals. noise: (N, m) of process noise.
    """

    readings: tuple[Float[np.ndarray, "_ rows"], ...]
    noise: tuple[Float[np.ndarray, "_ m"], ...]


class Reweighted(TrajectoryModel):
    """A recording with other noise levels.

    Args:
        model: of the recording.
        along: (N, m) process noise at which the model is linearized whatever its own is.
        linearizations: first stage of a stretch -> its linearization there, which others of the same recording share.
        factors: quantity that was read, or disturbance, -> factor of its noise level.
        signs: (N + 1, rows) residuals in place of the model's own; None: these.
    """

    def __init__(
        self,
        model: RobotTrajectoryModel,
        along: Columns,
        linearizations: dict[int, StageLinearization],
        factors: Mapping[str, float],
        signs: Float[np.ndarray, "nodes rows"] | None = None,
    ):
        self.model, self.along, self.signs = model, along, signs
        self.linearizations = linearizations
        self.manifold, self.noisy, self.theta_size = model.manifold, model.noisy, model.theta_size
        # the last is of components without effect
        by_level = np.array([*(factors.get(name, 1.0) for name in model.disturbances), 1.0])
        self.noise_std = model.noise_std * by_level[model.level_of]
        names = model.level_of_readings[model.samples]
        self.rows = np.ones(names.shape)
        for name, factor in factors.items():
            self.rows[names == name] = 1.0 / factor

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        at = self.linearizations.get(first)
        if at is None:
            at = self.model.linearize(first, x, self.along[first : first + len(w)], theta)
            if self.stages - first <= KEPT_STAGES:
                self.linearizations[first] = at
        return self._reweighted(at, slice(first, first + len(w)), "r", "r_x", "r_w", "r_theta")

    def last(self, x: Vector, theta: Vector, slopes: bool = False) -> Linearized:
        last = slice(self.stages, self.stages + 1)
        return self._reweighted(self.model.last(x, theta, slopes), last, "value", "by_x", "by_theta")

    def _reweighted(self, at: Any, nodes: slice, residual: str, *slopes: str) -> Any:
        rows = self.rows[nodes][:, :, None]
        changed = {name: getattr(at, name) * rows for name in slopes if getattr(at, name) is not None}
        changed[residual] = (
            getattr(at, residual) * self.rows[nodes] if self.signs is None else self.signs[nodes]
        )
        return replace(at, **changed)


@dataclass(frozen=True, eq=False)
class NoiseLevels:
    """The assumed noise of recordings of robots, and a solution.

    Args:
        problem, at: of the recordings, and its optimum.
    """

    problem: ShootingProblem
    at: Trajectories

    @property
    def models(self) -> tuple[RobotTrajectoryModel, ...]:
        return cast(tuple[RobotTrajectoryModel, ...], self.problem.models)

    @cached_property
    def sensors(self) -> tuple[str, ...]:
        """Levels of readings: quantities, and those of readings near contact events."""
        ends = ("", EVENT) if any(model.schedule.margin for model in self.models) else ("",)
        return tuple(
            dict.fromkeys(
                f"{name}{end}" for end in ends for model in self.models for name in model.quantities
            )
        )

    @cached_property
    def disturbances(self) -> tuple[str, ...]:
        """Commands (`torque`, `thrust`, ...) and speeds (`base_linear`, joints) that have process noise."""
        return tuple(dict.fromkeys(name for model in self.models for name in model.disturbances))

    @cached_property
    def moves(self) -> dict[tuple[str, float], Vector]:
        """Change (p,) of theta with each level times `FACTOR` and over it, where a step is found."""
        return self.moves_without(())

    def moves_without(self, names: Collection[str]) -> dict[tuple[str, float], Vector]:
        """`moves` of levels other than these."""
        levels = [(name, s) for name in self.groups if name not in names for s in (FACTOR, 1 / FACTOR)]
        steps = ((level, self.moved(dict([level]), self._linearizations)) for level in levels)
        return {level: step for level, step in steps if step is not None}

    def moved(
        self, factors: Mapping[str, float], linearizations: Linearizations | None = None
    ) -> Vector | None:
        """Change of theta with these levels times their factors; None where no step is found."""
        direction = self._direction(self.problem, self.at, factors, linearizations)
        return None if direction is None else direction.step.theta

    def likelier(self, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
        """Factor on the level of each group with residuals, a step towards what the data ask for; and N - tr A."""
        traces = np.mean([self._traces(rng) for _ in range(PROBES)], axis=0)
        found: dict[str, tuple[float, float]] = {}
        for group, trace in zip(self.groups, traces.tolist(), strict=True):
            residuals = np.concatenate([table.of(group) for table in self.tables])
            if len(residuals):
                # noise of which the data determine nothing has no likelier level
                free = max(len(residuals) - trace, 1.0)
                is_student = any(group in model.student_levels for model in self.models)
                found[group] = self._factor(residuals, free, is_student), free
        return found

    def steps(self, names: Collection[str], rng: np.random.Generator) -> dict[str, float]:
        """Factors on these levels that lead to their limits in few rounds; none falls below `LEAST_LEVELS`."""
        steps = {}
        for name, (factor, _) in self.likelier(rng).items():
            if name in names:
                level = max(model.contact_level(name) for model in self.models)
                least = LEAST_LEVELS.get(name, 0.0) / level if level else 0.0
                steps[name] = float(max(np.clip(factor**OVER_RELAXATION, *STEP_LIMITS), least))
        return steps

    @staticmethod
    def _factor(residuals: Vector, free: float, is_student: bool) -> float:
        """The level of residuals of which `free` are free, in assumed standard deviations."""
        if not is_student:
            return float(np.sqrt(residuals @ residuals / free))
        level, squares = 1.0, residuals**2
        for _ in range(WEIGHT_ROUNDS):
            level = float(np.sqrt(student_weights(squares / level**2) @ squares / (NORMAL_SHARE * free)))
        return level

    def reweighted(self, factors: Mapping[str, float]) -> tuple[RobotTrajectoryModel, ...]:
        """The recordings with levels times factors, and with weights of the residuals that these leave."""
        models = map(_slipping, self.models, self.tables)
        return tuple(
            table.weighted(model.with_levels(factors), factors)
            for model, table in zip(models, self.tables, strict=True)
        )

    @cached_property
    def chi_square(self) -> float:
        """Sum of squared residuals of readings and process noise, as large as that of clean data without weights."""
        return float(sum(table.chi_square(model.student_levels)
                         for model, table in zip(self.models, self.tables, strict=True)))  # fmt: skip

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all levels."""
        return (*self.sensors, *self.disturbances)

    @cached_property
    def _linearizations(self) -> Linearizations:
        """Shared by all directions, as they are linearized at the solution."""
        return [{} for _ in self.models]

    @cached_property
    def tables(self) -> tuple[_Rows, ...]:
        """The residuals of each recording."""
        return tuple(map(self._rows, self.models, self.at.x, self.at.w))

    def _rows(self, model: RobotTrajectoryModel, x: NodeStates, w: Columns) -> _Rows:
        readings = np.zeros((model.stages + 1, model.rows))
        for first, last in stretches(model):
            readings[first:last] = model.evaluate(first, x[first:last], w[first:last], self.at.theta)[1]
        readings[-1:] = model.last(x[-1], self.at.theta).value
        names = model.level_of_readings[model.samples]
        # sensors are read after an impact
        names[:-1][model.resets] = ""
        weights = np.concatenate([some.all_weights for some in model.readings], axis=1)[model.samples]
        for name, factor in model.event_factors.items():
            weights[names == f"{name}{EVENT}"] *= factor**2
        return _Rows(
            readings / np.sqrt(weights),
            w / (model.level_std if model.student_levels else model.noise_std),
            weights,
            (model.level_std / model.noise_std) ** 2 if model.student_levels else np.ones(w.shape),
            names.astype(str),
            np.array([*model.disturbances, ""])[model.level_of],
        )

    def _traces(self, rng: np.random.Generator) -> Vector:
        """tr A of each group, by random signs."""
        signs = [
            tuple(
                rng.choice([-1.0, 1.0], part.shape) * (part != "")
                for part in (table.of_readings, table.of_noise)
            )
            for table in self.tables
        ]
        problem = self._from(self.at.theta)
        std = [model.noise_std for model in self.models]
        at = replace(self.at, w=tuple(z * sigma for (_, z), sigma in zip(signs, std, strict=True)))
        direction = self._direction(problem, at, {}, self._linearizations, [z for z, _ in signs])
        traces = dict.fromkeys((*self.groups, ""), 0.0)
        for k, (table, (z, z_w)) in enumerate(zip(self.tables, signs, strict=True) if direction else ()):
            assert direction is not None
            moved, dw = self.moved_readings(k, direction.step), direction.step.w[k] / std[k]
            for shares, names in ((-z * moved, table.of_readings), (-z_w * dw, table.of_noise)):
                for name in np.unique(names).tolist():
                    traces[name] += float(shares[names == name].sum())
        return np.array([traces[group] for group in self.groups])

    def followed(self, std: Vector) -> Iterator[Trajectories]:
        """Steps of states and noise that follow when one component of theta after the other moves by its std (p,)."""
        still = [np.zeros(table.readings.shape) for table in self.tables]
        at = replace(self.at, w=tuple(np.zeros_like(w) for w in self.at.w))
        for i, size in enumerate(std.tolist()):
            moved = self.at.theta.copy()
            moved[i] += size
            problem = replace(self._from(self.at.theta), prior=GaussianPrior(moved, np.diag(HELD / std**2)))
            direction = self._direction(problem, at, {}, self._linearizations, still)
            if direction is not None:
                yield direction.step

    @property
    def clocks(self) -> tuple[str, ...]:
        """Quantities that have a clock: those of sensors, and efforts if they have noise."""
        read = [some.sensor for model in self.models for some in model.readings]
        quantities = [sensor.quantity for sensor in read if not isinstance(sensor, ContactVelocity)]
        efforts = [model.effort for model in self.models if len(model.noisy_commands)]
        return tuple(dict.fromkeys([*quantities, *efforts]))

    def by_clock(self, quantity: str, steps: float) -> Vector | None:
        """Change (p,) of theta if the readings of a quantity were taken some steps later; None where none is found."""
        direction = self._following(self._clock(quantity, steps))
        return None if direction is None else direction.step.theta

    def effort_scale(self, steps: float) -> tuple[float, float] | None:
        """Relative change of all recorded efforts that the readings ask for, and its standard deviation.

        Let P be the derivative of the residuals r with respect to the scale, and P + J dx the part of it that no change
        of motion and parameters can compensate. The change is -P^T r / A, with A = P^T (P + J dx), and its variance is
        1 / A. Clocks that are off by `steps` change r too, and add to the variance.

        Returns:
            None: efforts are exact, or no step is found.
        """
        none = tuple(np.zeros(table.readings.shape) for table in self.tables)
        scaled = Shift(none, self._of_efforts(lambda model: model.u))
        if not any(part.any() for part in scaled.noise) or (direction := self._following(scaled)) is None:
            return None
        std = [model.noise_std for model in self.models]
        left = Shift(
            tuple(P + self.moved_readings(k, direction.step) for k, P in enumerate(scaled.readings)),
            tuple(P / s + dw / s for P, s, dw in zip(scaled.noise, std, direction.step.w, strict=True)),
        )

        def along(readings: Sequence[np.ndarray], noise: Sequence[np.ndarray]) -> float:
            pairs = zip((*left.readings, *left.noise), (*readings, *noise), strict=True)
            return sum(float(np.vdot(a, b)) for a, b in pairs)

        def in_std(noise: Sequence[np.ndarray]) -> list[np.ndarray]:
            return [part / s for part, s in zip(noise, std, strict=True)]

        information = along(scaled.readings, in_std(scaled.noise))
        r = [table.readings * np.sqrt(table.weights_of_readings) for table in self.tables]
        change = -along(r, in_std(self.at.w)) / information
        clocks = [self._clock(quantity, steps) for quantity in self.clocks]
        by_clocks = [along(clock.readings, in_std(clock.noise)) / information for clock in clocks]
        return change, float(np.sqrt(1 / information + np.square(by_clocks).sum()))

    def _following(self, shift: Shift) -> SearchDirection | None:
        """The step of motion and parameters after residuals were shifted."""
        at = replace(self.at, w=shift.noise)
        return self._direction(self._from(self.at.theta), at, {}, self._linearizations, shift.readings)

    def _of_efforts(self, change: Callable[[RobotTrajectoryModel], np.ndarray]) -> tuple[Columns, ...]:
        """Noise of commands if the applied efforts stay, and recorded ones change."""
        shifted = []
        for model, w in zip(self.models, self.at.w, strict=True):
            noise, k = np.zeros(w.shape), len(model.noisy_commands)
            noise[:, :k] = -change(model)[model.samples[:-1]][:, model.noisy_commands]
            shifted.append(noise)
        return tuple(shifted)

    @cached_property
    def _motions(self) -> list[list[tuple[np.ndarray, RobotMotion]]]:
        """Samples of each recording, and the motion there at the solution."""
        pairs = zip(self.models, self.at.x, self.at.w, strict=True)
        return [list(model.along(x, self.at.theta, w)) for model, x, w in pairs]

    def _clock(self, quantity: str, steps: float) -> Shift:
        """Readings of a quantity, or efforts, some steps later."""
        columns = []
        for model, table, motions in zip(self.models, self.tables, self._motions, strict=True):
            column, first = np.zeros(table.readings.shape), 0
            late = steps * float(np.median(np.diff(model.times)))
            for some in model.readings:
                rows = slice(first, first := first + some.sensor.size)
                if some.sensor.quantity == quantity:
                    rates = predicted_rates(some.sensor, model, motions) @ some.sensor.whitening.T
                    column[model.after_impacts, rows] = (
                        late * rates * some.is_read * np.sqrt(some.all_weights)
                    )
            columns.append(column)

        def later(model: RobotTrajectoryModel) -> np.ndarray:
            late = steps * float(np.median(np.diff(model.times))) * (model.effort == quantity)
            return np.asarray(late * np.gradient(model.u, model.times, axis=0))

        return Shift(tuple(columns), self._of_efforts(later))

    def _from(self, theta: Vector) -> ShootingProblem:
        """The problem with all priors at the solution and theta."""
        arrivals = (
            GaussianPrior(x[0], arrival.information)
            for x, arrival in zip(self.at.x, self.problem.arrivals, strict=True)
        )
        return replace(self.problem, arrivals=tuple(arrivals), prior=replace(self.problem.prior, mean=theta))

    def moved_readings(self, k: int, step: Trajectories) -> Float[np.ndarray, "nodes rows"]:
        """(N + 1, rows) change of a recording's residuals along a step."""
        model, at = self.models[k], self.at
        moved, dx, dw, d = np.zeros((model.stages + 1, model.rows)), step.x[k], step.w[k], step.theta
        shared = Reweighted(model, at.w[k], self._linearizations[k], {})
        for first, last in stretches(model):
            part = shared.linearize(first, at.x[k][first:last], at.w[k][first:last], at.theta)
            moved[first:last] = np.einsum("tri, ti -> tr", part.r_x, dx[first:last])
            if part.r_w is not None:
                moved[first:last] += np.einsum("tri, ti -> tr", part.r_w, dw[first:last])
            if part.r_theta is not None:
                moved[first:last] += part.r_theta @ d
        end = model.last(at.x[k][-1], at.theta, slopes=True)
        assert end.by_x is not None and end.by_theta is not None
        moved[-1] = end.by_x[0] @ dx[-1] + end.by_theta[0] @ d
        return moved

    def _direction(
        self,
        problem: ShootingProblem,
        at: Trajectories,
        factors: Mapping[str, float],
        linearizations: Linearizations | None = None,
        signs: Sequence[Columns] | None = None,
    ) -> SearchDirection | None:
        """The step of a problem with these levels times their factors, linearized at the solution."""
        models = tuple(
            Reweighted(model, w, own, factors, z)
            for model, w, own, z in zip(
                self.models,
                self.at.w,
                linearizations or [{} for _ in self.models],
                signs or repeat(None),
                strict=False,
            )
        )
        return ShootingIterate(
            ShootingSearch(replace(problem, models=models)), Evaluation(at, (), 0.0)
        ).direction()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Residuals of one recording with their weights, and the group of each; "" of those that count nowhere.

    Args:
        readings, noise: (N + 1, rows), (N, m) residuals in assumed standard deviations.
        weights_of_readings, weights_of_noise: of their squares in the problem.
        of_readings, of_noise: names of groups.
    """

    readings: Float[np.ndarray, "nodes rows"]
    noise: Float[np.ndarray, "N m"]
    weights_of_readings: Float[np.ndarray, "nodes rows"]
    weights_of_noise: Float[np.ndarray, "N m"]
    of_readings: np.ndarray
    of_noise: np.ndarray

    def of(self, group: str) -> Vector:
        """The residuals of a group."""
        return np.concatenate([self.readings[self.of_readings == group], self.noise[self.of_noise == group]])

    def weighted(self, model: RobotTrajectoryModel, factors: Mapping[str, float]) -> RobotTrajectoryModel:
        """The recording with weights of these residuals after levels have changed by factors."""
        levels = model.student_levels
        if not levels:
            return model
        of_readings, of_noise = (
            _weights(values, names, levels, factors)
            for values, names in ((self.readings, self.of_readings), (self.noise, self.of_noise))
        )
        for name, factor in model.event_factors.items():
            of_readings[self.of_readings == f"{name}{EVENT}"] /= factor**2
        at_samples, growth = of_readings[model.after_impacts], np.ones((len(model.times), of_noise.shape[1]))
        growth[model.samples[:-1]] = of_noise**-0.5
        ends = np.cumsum([0, *(some.sensor.size for some in model.readings)]).tolist()
        readings = tuple(
            replace(some, weights=at_samples[:, first:last])
            for some, (first, last) in zip(model.readings, pairwise(ends), strict=True)
        )
        return replace(model, readings=readings, growth=growth)

    def chi_square(self, student_levels: Collection[str]) -> float:
        """Sum of weighted squares, divided by their share in clean data; without levels, of the problem itself."""
        total = 0.0
        for values, weights, names in (
            (self.readings, self.weights_of_readings, self.of_readings),
            (self.noise, self.weights_of_noise, self.of_noise),
        ):
            share = np.where(np.isin(names, list(student_levels)), NORMAL_SHARE, 1.0)
            total += float(np.sum((weights * values**2 / share)[names != ""]))
        return total


def _slipping(model: RobotTrajectoryModel, table: _Rows) -> RobotTrajectoryModel:
    """The recording, with contacts that slip where their accelerations are likelier near an event than away from one.

    A foot that slips does so for a while, and a heavy tail of single samples would rather have it jump: from a margin
    before the first sample to one after the last its noise is that of events.
    """
    if not model.contact_rows:
        return model
    schedule, samples = model.schedule, model.samples[:-1]
    quiet = len(CONTACT_LEVELS) // 2
    std = np.array([(model.contact_noise or {})[level] for level in CONTACT_LEVELS])
    levels = model.contact_levels[samples]
    given = table.noise[:, -levels.shape[1] :] * std[levels]
    of_quiet, of_events = std[levels % quiet], std[levels % quiet + quiet]
    student = student_density(given / of_quiet) - np.log(of_quiet)
    normal = -0.5 * (given / of_events) ** 2 - 0.5 * np.log(2 * np.pi) - np.log(of_events)
    slipping = np.zeros_like(schedule.closed) if schedule.slipping is None else schedule.slipping.copy()
    for contact, rows in enumerate(model.contact_rows):
        odds = (normal - student)[:, rows].sum(axis=1)
        found = samples[(odds > 0) & ~schedule.loose[samples, contact] & schedule.held[samples, contact]]
        for k in found.tolist():
            slipping[max(0, k - schedule.margin) : k + schedule.margin + 1, contact] = True
    schedule = replace(schedule, slipping=slipping & schedule.closed)
    readings = tuple(standing(some, schedule) for some in model.readings)
    return replace(model, schedule=schedule, readings=readings, guess=model.initial_states)


def student_density(r: np.ndarray) -> np.ndarray:
    """Logarithm of Student's density."""
    nu = STUDENT_DEGREES
    scale = lgamma((nu + 1) / 2) - lgamma(nu / 2) - 0.5 * np.log(nu * np.pi)
    return np.asarray(scale - (nu + 1) / 2 * np.log1p(r**2 / nu))


def student_weights(squares: np.ndarray) -> np.ndarray:
    """omega of squared residuals in standard deviations."""
    return np.minimum(1.0, (STUDENT_DEGREES + 1.0) / (STUDENT_DEGREES + squares))


def _normal_share() -> float:
    """c, the mean of omega r^2 of normal residuals: below the cap at r = 1 the variance, above it an integral."""
    r, step = np.linspace(-12.0, 12.0, 24001, retstep=True)
    density = np.exp(-(r**2) / 2) / np.sqrt(2 * np.pi)
    return float(np.sum(student_weights(r**2) * r**2 * density) * step)


def _weights(
    values: Columns, names: np.ndarray, levels: Collection[str], factors: Mapping[str, float]
) -> Columns:
    """omega of residuals after levels have changed by factors; 1 in groups without Student's t."""
    weights = np.ones(values.shape)
    for name in levels:
        own = names == name
        weights[own] = student_weights((values[own] / factors.get(name, 1.0)) ** 2)
    return weights


NORMAL_SHARE = _normal_share()
