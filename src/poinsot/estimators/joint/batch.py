"""Many such problems at once: other readings, controls, weights or beginnings of one mechanism (bootstrap, sweeps).

The iteration is `smoothing`'s, step for step, with its damping, bounds and endings, written in JAX for one problem and
mapped over all of them, so that it runs on whatever JAX computes on. A pass of the loop

    looks at where the last step led: e, A, B, P there, and whether the cost is lower;
    then finds the next step, from there or with more damping from where it stood

and a problem that has ended idles until all have. States leave one after the other: of the rows of state k, elimination
of its d columns makes rows of the transposed factor, and takes something from the rows of the next,

    [T_k, H_{k,k+1}, C_k, g_k] -> U_k = [L_k^T, E_k^T, Y_k, y_k]
    [T_{k+1}, C_{k+1}, g_{k+1}] -= E_k [E_k^T, Y_k, y_k]

by sums alone, since a library's factorization of a 4 x 4 matrix is mostly its call. Then [S_bar, g_bar] is [S, g_theta]
less sum_k Y_k^T [Y_k, y_k], and back from the last state L_k^T d_k = -(y_k + Y_k d_theta) - E_k^T d_{k+1}.

theta's step in its box is found by an active set: towards the free parameters' minimum as far as the box is, the bound
that stops it holds from there on, and at a minimum the bound that pulls the most lets go. It ends at the only optimum,
and wherever it is stopped it has stayed in the box and lowered the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...arrays import Vector
from ...exceptions import InvalidMethod, InvalidSignals
from ...models.maximal import Model, double_precision
from ...parameters import Normal
from .bordered import LEAST
from .linearization import TOGETHER, Linearizer
from .records import Record, first_guess
from .results import Ending
from .sensitivity import RIDGE, Inverse
from .smoothing import (
    FIRST_DAMPING,
    LITTLE_DAMPING,
    MOST_DAMPING,
    SLIGHT,
    UNFELT,
    JointSmoothing,
    Unknowns,
    _linearizer,
)

SAMPLES_AT_ONCE = 2**17
"""Linearized at once on what is no processor, of all problems together."""
MEMORY, PART_OF_MEMORY = 16e9, 0.5
"""Bytes that problems at once may take where the device does not say what it has; and of what it says."""
SLOPES_KEPT, ROWS_KEPT = 5, 4
"""Copies of all slopes and of all rows of H that the loop holds at a time."""
ENDINGS = tuple(Ending)
"""By number; a problem that has not ended has -1."""
RUNNING = -1
OPTIMAL, BUT_FOR_KINKS, KINK, STEP_LIMIT = (
    ENDINGS.index(each)
    for each in (Ending.optimal, Ending.optimal_but_for_kinks, Ending.kink, Ending.step_limit)
)
ROUNDING = 1e-13
"""Of the terms of a slope, below which it is 0."""


@dataclass(frozen=True, eq=False)
class BatchFit:
    """What comes of B problems.

    Args:
        names: of all p parameters. open: (q,) which of them were estimated.
        theta: (B, p).
        std: (B, p) linearized standard deviations (3.30 to 3.32), for errors that do not follow each other; 0 of what
            was held, NaN of what is not seen. The robust ones are `JointSmoothing.fit`'s.
        cost: (B,) weighted squares of all errors, by the number of samples.
        iterations: (B,) accepted steps.
        endings: B.
    """

    names: tuple[str, ...]
    open: np.ndarray
    theta: Float[np.ndarray, "B p"]
    std: Float[np.ndarray, "B p"]
    cost: Float[np.ndarray, "B"]
    iterations: Int[np.ndarray, "B"]
    endings: tuple[Ending, ...]

    @property
    def converged(self) -> np.ndarray:
        """(B,) whether the cost could not be lowered any more."""
        return np.array([each.converged for each in self.endings])

    @property
    def statuses(self) -> tuple[str, ...]:
        """How each ended, in a sentence."""
        pairs = zip(self.endings, self.iterations.tolist(), strict=True)
        return tuple(ending.value.format(steps=steps) for ending, steps in pairs)


def fit_batch(
    method: JointSmoothing,
    model: Model,
    times: Vector,
    u: Float[np.ndarray, "*own N inputs"],
    z: Float[np.ndarray, "B N s"],
    theta: Float[np.ndarray, "*each p"] | None = None,
    open: Sequence[str] | None = None,  # noqa: A002
    lower: Mapping[str, float] | None = None,
    upper: Mapping[str, float] | None = None,
    priors: Mapping[str, Normal] | None = None,
    weights: Vector | None = None,
    at_once: int | None = None,
) -> BatchFit:
    """States and parameters of B records of a mechanism, each for itself.

    It compiles anew for another number of samples, of problems at once, and of open parameters.

    Args:
        method: of all; its weight counts where there are no `weights`.
        model: of the mechanism, with its free parameters.
        times: (N,) [s], of all.
        u: (B, N, inputs) controls, or (N, inputs) of all; each held until the next sample.
        z: (B, N, s) readings; NaN where there are none.
        theta: (B, p) where to begin, or (p,) for all; None: as the mechanism has it.
        open, lower, upper, priors: see `JointSmoothing.fit`; of all.
        weights: (B,) kappa of each.
        at_once: problems that go through the loop together; None: as many as the device's memory has room for, and on
            a processor one after the other, where together would only mean to wait for each other.

    Raises:
        InvalidMethod: if a name, a bound, a weight or a number of values is wrong, or the form is not for the
            mechanism.
        InvalidSignals: if a record does not fit the mechanism, or there is none.
    """
    B = len(z)
    begin = np.asarray(model.theta if theta is None else theta, dtype=float)
    _check(method, B, u, begin, weights, at_once)
    of_all = open, lower or {}, upper or {}, priors or {}
    unknowns = [Unknowns.of(model, each, *of_all) for each in (begin if begin.ndim == 2 else [begin])]
    of, unknowns = unknowns[0], unknowns * (B // len(unknowns))
    solver, noise = _solver(model, method.form), method.noise_of(model)
    x = []
    for b, each in enumerate(unknowns):
        record = Record(f"record {b + 1}", times, u if u.ndim == 2 else u[b], z[b])
        x.append(solver.form.pack(*first_guess(model, record, each.theta), each.theta))
    problems = _Problem(
        np.stack(x),
        np.stack([each.theta for each in unknowns]),
        z,
        u,
        np.full(B, method.weight) if weights is None else weights,
        np.stack([each.size for each in unknowns]),
    )
    common = _Common(
        np.append(np.diff(times), times[-1] - times[-2]),
        noise,
        of.open,
        of.lower[of.open],
        of.upper[of.open],
        of.known.mean,
        of.known.weight,
        np.float64(method.tolerance),
        np.int64(method.max_iterations),
    )
    return _result(model, of.open, solver(problems, common, at_once), len(times))


def _check(
    method: JointSmoothing,
    B: int,
    u: np.ndarray,
    theta: np.ndarray,
    weights: Vector | None,
    at_once: int | None,
) -> None:
    """That there is one of each."""
    if not B:
        raise InvalidSignals("there is nothing to fit; give at least one record")
    if at_once is not None and at_once < 1:
        raise InvalidMethod(f"it takes at least one problem at once, not {at_once}")
    if u.ndim == 3 and len(u) != B:
        raise InvalidSignals(f"there are controls of {len(u)} records and readings of {B}; give as many")
    if theta.ndim == 2 and len(theta) != B:
        raise InvalidMethod(f"there are {len(theta)} rows of theta and {B} records; give one of each")
    if weights is not None:
        if len(weights) != B:
            raise InvalidMethod(f"there are {len(weights)} weights and {B} records; give one of each")
        for weight in weights.tolist():
            replace(method, weight=weight)  # looks whether it has a meaning


def _result(model: Model, open: np.ndarray, found: _Found, samples: int) -> BatchFit:  # noqa: A002
    std = np.zeros(found.theta.shape)
    for b in range(len(std)):
        inverse = Inverse.of(found.information[b], found.effect[b])
        std[b, open] = np.sqrt(np.diag(inverse.around(found.meat[b])))
    return BatchFit(
        model.free,
        open,
        found.theta,
        std,
        found.cost / samples,
        found.iterations,
        tuple(ENDINGS[number] for number in found.ending.tolist()),
    )


# ----------------------------------------------------------------------------------------------------------- in JAX


class _Problem(NamedTuple):
    """What is of a problem alone: (N, size) first states, (p,) first theta, readings, controls, kappa, (q,) sizes."""

    x: Any
    theta: Any
    z: Any
    u: Any
    weight: Any
    size: Any


class _Common(NamedTuple):
    """What is of all: (N,) steps [s], the last twice; (s,) noise; the rest of (q,) open parameters, and when to end."""

    h: Any
    noise: Any
    open: Any
    lower: Any
    upper: Any
    known_mean: Any
    known_weight: Any
    tolerance: Any
    max_iterations: Any


class _Found(NamedTuple):
    """Of a problem; S_bar, its diagonal before the states moved, and what is around it in the covariance."""

    theta: Any
    cost: Any
    iterations: Any
    ending: Any
    information: Any
    effect: Any
    meat: Any


class _Slopes(NamedTuple):
    """A `Linearization`, weighted, of open parameters: e, A, B, P and those of the first state."""

    e: Array
    by_x: Array
    by_next: Array
    by_theta: Array
    start: tuple[Array, Array, Array]

    @property
    def cost(self) -> Array:
        return jnp.sum(self.e**2) + jnp.sum(self.start[0] ** 2)


class _Normal(NamedTuple):
    """H and g: (N, d, d) blocks of T and those above its diagonal, (N, d, q + 1) [C, g_x], (q, q + 1) [S, g_theta]."""

    T: Array
    above: Array
    right: Array
    corner: Array

    @property
    def diagonal(self) -> Array:
        """(N, d) of T."""
        return jnp.diagonal(self.T, axis1=1, axis2=2)


class _State(NamedTuple):
    """Of the loop: where a problem stands, and the step that it tries next."""

    x: Array
    theta: Array
    at: _Slopes
    cost: Array
    largest: Array
    largest_corner: Array
    alpha: Array
    nu: Array
    iterations: Array
    ending: Array
    next_x: Array
    next_theta: Array
    predicted: Array


class _Solver:
    """Compiled once for a form of a model, a number of samples and of problems at once."""

    def __init__(self, linearizer: Linearizer):
        self.linearizer, self.form = linearizer, linearizer.form
        self._call: Callable[..., Any] = jax.jit(self._all, static_argnames="together")

    @double_precision
    def __call__(self, problems: _Problem, common: _Common, at_once: int | None) -> _Found:
        """As many at once as there is room for; the last ones are filled up with the last problem."""
        B, N = problems.z.shape[:2]
        at_once = min(B, at_once or self._room(N, len(common.open)))
        samples = TOGETHER if _device().platform == "cpu" else SAMPLES_AT_ONCE
        together = min(N, max(1, samples // at_once))
        parts = []
        for first in range(0, B, at_once):
            cut = np.minimum(np.arange(first, first + at_once), B - 1)
            own = [
                part if axis is None else part[cut]
                for part, axis in zip(problems, _axes(problems), strict=True)
            ]
            found = self._call(_Problem(*own), common, together=together)
            parts.append([np.asarray(part)[: B - first] for part in found])
        return _Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _room(self, N: int, q: int) -> int:
        """For how many problems."""
        device = _device()
        if device.platform == "cpu":
            return 1
        d, m = self.form.degrees, self.form.rows + self.linearizer.sensors
        slopes, rows = m * (1 + 2 * d + q), d * (2 * d + q + 1)
        numbers = N * (SLOPES_KEPT * slopes + ROWS_KEPT * rows)
        room = (device.memory_stats() or {}).get("bytes_limit")
        return max(1, int((PART_OF_MEMORY * room if room else MEMORY) / (8 * numbers)))

    def _all(self, problems: _Problem, common: _Common, together: int) -> _Found:
        one = partial(self._one, together=together)
        found: _Found = jax.vmap(one, in_axes=(_axes(problems), None))(problems, common)
        return found

    def _one(self, problem: _Problem, common: _Common, together: int) -> _Found:
        """Until it ends."""
        linearized = partial(self._linearized, problem, common, together=together)
        begin = self._unstarted(problem, common)
        end = jax.lax.while_loop(
            lambda state: state.ending == RUNNING,
            lambda state: self._pass(problem, common, linearized, state),
            begin,
        )
        there = self._there(problem)
        spread = _spread(end.at, there, self.form.rows, common.known_weight)
        return _Found(end.theta, end.at.cost, end.iterations, end.ending, *spread)

    def _unstarted(self, problem: _Problem, common: _Common) -> _State:
        """At a cost without end, about to try where it begins."""
        N, d, q = len(problem.z), self.form.degrees, len(common.open)
        m = self.form.rows + self.linearizer.sensors
        start = jax.eval_shape(self.linearizer.of_start, problem.x[0], problem.theta, common.h[0])
        m_0 = len(start[0])
        e, by_x, by_theta = (jnp.zeros((N, m, *more)) for more in ((), (d,), (q,)))
        r, r_by_x, r_by_theta = (jnp.zeros((m_0, *more)) for more in ((), (d,), (q,)))
        at = _Slopes(e, by_x, by_x, by_theta, (r, r_by_x, r_by_theta))
        without_end, damping, nu = (jnp.asarray(value) for value in (jnp.inf, FIRST_DAMPING, 2.0))
        unstarted, running = jnp.asarray(-1), jnp.asarray(RUNNING)
        most = jnp.zeros((N, d)), jnp.zeros(q)
        tried = problem.x, problem.theta, without_end
        return _State(*tried[:2], at, without_end, *most, damping, nu, unstarted, running, *tried)

    def _pass(
        self, problem: _Problem, common: _Common, linearized: Callable[..., _Slopes], state: _State
    ) -> _State:
        """Look at the step that is tried, then find the next one."""
        here, accepted, slight = self._judged(common, state, linearized(state.next_x, state.next_theta))
        parts, q = _normal(here.at), len(common.open)
        largest = jnp.maximum(state.largest, parts.diagonal)
        corner = jnp.diagonal(parts.corner[:, :q]) + common.known_weight
        largest_corner = jnp.maximum(state.largest_corner, corner)
        unfelt = UNFELT * jnp.maximum(here.cost, 1e-300) / problem.size**2
        damping = here.alpha * largest, here.alpha * jnp.maximum(largest_corner, unfelt)
        theta = here.theta[common.open]
        d_x, d_theta, predicted = _step(parts, damping, theta, common)
        nothing = predicted <= common.tolerance * here.cost
        ends = {
            BUT_FOR_KINKS: slight,
            STEP_LIMIT: accepted & (here.iterations >= common.max_iterations),
            OPTIMAL: nothing & (here.alpha <= LITTLE_DAMPING),
            KINK: nothing | (here.alpha > MOST_DAMPING),
        }
        moved = jnp.clip(theta + d_theta, common.lower, common.upper)
        return here._replace(
            largest=largest,
            largest_corner=largest_corner,
            ending=jnp.select(list(ends.values()), list(ends), RUNNING),
            next_x=jax.vmap(self.form.plus)(here.x, d_x),
            next_theta=here.theta.at[common.open].set(moved),
            predicted=predicted,
        )

    @staticmethod
    def _judged(common: _Common, state: _State, there: _Slopes) -> tuple[_State, Array, Array]:
        """Where it stands then, whether the step led there, and whether it was one over a kink at an optimum."""
        first, alpha = state.iterations < 0, state.alpha
        away = state.next_theta[common.open] - common.known_mean
        cost = there.cost + common.known_weight @ away**2
        gain = jnp.where(first, 0.5, (state.cost - cost) / state.predicted)
        accepted = gain > 0
        little = state.predicted <= SLIGHT * common.tolerance * state.cost
        shorter = jnp.where(first, alpha, alpha * jnp.maximum(1 / 3, 1 - (2 * gain - 1) ** 3))
        new = state._replace(
            x=state.next_x,
            theta=state.next_theta,
            at=there,
            cost=cost,
            alpha=shorter,
            nu=jnp.full_like(state.nu, 2.0),
            iterations=state.iterations + 1,
        )
        old = state._replace(alpha=state.nu * alpha, nu=2 * state.nu)
        here: _State = jax.tree.map(partial(jnp.where, accepted), new, old)
        return here, accepted, ~accepted & (alpha <= LITTLE_DAMPING) & little

    def _there(self, problem: _Problem) -> Array:
        """(N, m) whether there is such an error."""
        steps = np.ones((len(problem.z), self.form.rows), dtype=bool)
        steps[-1] = False
        return jnp.concatenate([steps, ~jnp.isnan(problem.z)], axis=1)

    def _linearized(
        self, problem: _Problem, common: _Common, x: Array, theta: Array, together: int
    ) -> _Slopes:
        N = len(x)
        cut = np.minimum(np.arange(-(-N // together) * together), N - 1)
        samples = x, jnp.concatenate([x[1:], x[-1:]]), problem.u, jnp.nan_to_num(problem.z), common.h
        found = self.linearizer.of_samples(tuple(part[cut] for part in samples), theta, together)
        e, by_x, by_next, by_theta = (part[:N] for part in found)
        root = jnp.sqrt(problem.weight)
        roots = jnp.concatenate([jnp.full(self.form.rows, root), 1 / common.noise])
        there = self._there(problem)

        def weighted(part: Array) -> Array:
            more = (1,) * (part.ndim - 2)
            return jnp.where(there.reshape(*there.shape, *more), part * roots.reshape(-1, *more), 0.0)

        r, r_by_x, r_by_theta = self.linearizer.of_start(x[0], theta, common.h[0])
        return _Slopes(
            weighted(e),
            weighted(by_x),
            weighted(by_next),
            weighted(by_theta[:, :, common.open]),
            (root * r, root * r_by_x, root * r_by_theta[:, common.open]),
        )


@lru_cache(maxsize=16)
def _solver(model: Model, form: str) -> _Solver:
    """What is compiled is kept."""
    return _Solver(_linearizer(model, form))


def _device() -> jax.Device:
    """On which JAX computes unless it is told otherwise."""
    (device,) = jnp.zeros(()).devices()
    return device


def _axes(problems: _Problem) -> _Problem:
    """Which parts are of a problem alone: controls may be of all."""
    return _Problem(0, 0, 0, 0 if problems.u.ndim == 3 else None, 0, 0)


def _products(A: Array, B: Array) -> Array:
    """A^T B of each sample, as sums: batches of small matrix products are slow."""
    return jnp.sum(A[..., :, :, None] * B[..., :, None, :], axis=-3)


def _normal(at: _Slopes) -> _Normal:
    """J^T J and J^T e."""
    A, B = at.by_x, at.by_next[:-1]
    right = jnp.concatenate([at.by_theta, at.e[:, :, None]], axis=2)
    r, by_x, by_theta = at.start
    first = jnp.concatenate([by_theta, r[:, None]], axis=1)
    T = _products(A, A).at[1:].add(_products(B, B)).at[0].add(by_x.T @ by_x)
    C = _products(A, right).at[1:].add(_products(B, right[:-1])).at[0].add(by_x.T @ first)
    above = jnp.zeros_like(T).at[:-1].set(_products(A[:-1], B))
    corner = jnp.einsum("kmp,kmq->pq", at.by_theta, right) + by_theta.T @ first
    return _Normal(T, above, C, corner)


def _eliminated(rows: Array, d: int) -> Array:
    """(d, n) [L^T, L^-1 R] of rows [L L^T, R]; NaN where a pivot is not above 0."""
    done = []
    for j in range(d):
        row = rows[j] / jnp.sqrt(rows[j, j])
        done.append(row)
        rows = rows - row[:d, None] * row
    return jnp.stack(done)


def _factored(of: _Normal, damping: Array) -> Array:
    """(N, d, 2 d + q + 1) U: [L^T, E^T, Y] of each state, with (N, d) damping on T's diagonal."""
    d = of.T.shape[1]
    damped = of.T + jnp.maximum(damping, LEAST)[:, :, None] * jnp.eye(d)
    rows = jnp.concatenate([damped, of.above, of.right], axis=2)

    def eliminate(left: Array, rows: Array) -> tuple[Array, Array]:
        U = _eliminated(rows - left, d)
        E_t, Y = U[:, d : 2 * d], U[:, 2 * d :]
        gone = _products(E_t, jnp.concatenate([E_t, Y], axis=1))
        return jnp.concatenate([gone[:, :d], jnp.zeros((d, d)), gone[:, d:]], axis=1), U

    return jax.lax.scan(eliminate, jnp.zeros(rows.shape[1:]), rows)[1]


def _solved(U: Array, R: Array) -> Array:
    """(..., d, c) U^-1 R of upper triangles."""
    x: list[Array] = []
    for i in reversed(range(U.shape[-1])):
        left = R[..., i, :]
        for j, row in enumerate(x, i + 1):
            left = left - U[..., i, j, None] * row
        x.insert(0, left / U[..., i, i, None])
    return jnp.stack(x, axis=-2)


def _back(U: Array, right: Array) -> Array:
    """(N, d, c) x of L_k^T x_k + E_k^T x_{k+1} = right_k."""
    d, c = right.shape[1:]
    parts = _solved(U[:, :, :d], jnp.concatenate([right, U[:, :, d : 2 * d]], axis=2))

    def before(following: Array, part: Array) -> tuple[Array, Array]:
        x = part[:, :c] - jnp.sum(part[:, c:, None] * following, axis=1)
        return x, x

    return jax.lax.scan(before, jnp.zeros((d, c)), parts, reverse=True)[1]


def _step(
    of: _Normal, damping: tuple[Array, Array], theta: Array, common: _Common
) -> tuple[Array, Array, Array]:
    """Steps of states and theta, and the decrease that they promise; NaN if H is not positive definite."""
    d, q = of.T.shape[1], len(theta)
    U = _factored(of, damping[0])
    Y, known = U[:, :, 2 * d :], common.known_weight
    pull = known * (theta - common.known_mean)
    left = of.corner - jnp.einsum("kmp,kmq->pq", Y[:, :, :q], Y)
    S, g = left[:, :q] + jnp.diag(damping[1] + known), left[:, q] + pull
    d_theta = step_in_box(S, g, common.lower - theta, common.upper - theta)
    d_x = _back(U, -(Y[:, :, q] + Y[:, :, :q] @ d_theta)[:, :, None])[:, :, 0]
    g_x, g_theta, C = of.right[:, :, q], of.corner[:, q], of.right[:, :, :q]
    left = of.corner[:, :q] @ d_theta + jnp.einsum("kmq,km->q", C, d_x) + g_theta
    predicted = -jnp.sum(g_x * d_x) + jnp.sum(damping[0] * d_x**2) - g_theta @ d_theta - d_theta @ left
    predicted = predicted - known @ d_theta**2 - 2 * pull @ d_theta
    return d_x, d_theta, jnp.where(jnp.isfinite(predicted), predicted, jnp.nan)


class _Active(NamedTuple):
    """d, the bounds that hold it (-1, 0, 1), steps, and whether it is the optimum."""

    d: Array
    held: Array
    steps: Array
    done: Array


def step_in_box(S: Array, g: Array, lower: Array, upper: Array) -> Array:
    """(p,) argmin d^T S d / 2 + g^T d, lower <= d <= upper, 0 between them; NaN if S is not positive definite.

    As `bordered.step_in_box`, in JAX.
    """
    p = len(g)
    if not p:
        return jnp.zeros(0)
    scale = 1 / jnp.sqrt(jnp.diagonal(S))
    S, g, low, high = S * scale[:, None] * scale, g * scale, lower / scale, upper / scale

    def go(state: _Active) -> _Active:
        free = state.held == 0
        both = free[:, None] & free
        right = jnp.where(free, -g - jnp.where(both | free[None], 0.0, S) @ state.d, state.d)
        rows = jnp.concatenate([jnp.where(both, S, jnp.eye(p)), right[:, None]], axis=1)
        U = _eliminated(rows, p)
        target = _solved(U[:, :p], U[:, p:])[:, 0]
        way = jnp.where(free, target - state.d, 0.0)
        room = jnp.where(way < 0, low - state.d, high - state.d)
        part = jnp.where(free & (way != 0), room / jnp.where(way == 0, 1.0, way), jnp.inf)
        stop = jnp.argmin(part)
        stopped = part[stop] < 1
        d = state.d + jnp.minimum(part[stop], 1.0) * way
        at_stop = jnp.arange(p) == stop
        bound = jnp.where(way < 0, -1, 1)
        # at a minimum, the slope that pulls away from its bound
        terms = ROUNDING * (jnp.abs(S) @ jnp.abs(d) + jnp.abs(g))
        pull = jnp.where(free, -jnp.inf, state.held * (S @ d + g) - terms)
        goes = (jnp.arange(p) == jnp.argmax(pull)) & (pull > 0)
        held = jnp.where(stopped, jnp.where(at_stop, bound, state.held), jnp.where(goes, 0, state.held))
        d = jnp.where(stopped & at_stop, jnp.where(bound < 0, low, high), d)
        broken = ~jnp.isfinite(target).all()
        done = broken | ~stopped & ~goes.any()
        return _Active(jnp.where(broken, jnp.nan, d), held, state.steps + 1, done)

    begin = _Active(
        jnp.zeros(p), jnp.zeros(p, dtype=int), jnp.zeros((), dtype=int), jnp.zeros((), dtype=bool)
    )
    end = jax.lax.while_loop(lambda state: ~state.done & (state.steps < 10 * (p + 2)), go, begin)
    inside = jnp.clip(end.d * scale, lower, upper)
    return jnp.where(end.held < 0, lower, jnp.where(end.held > 0, upper, inside))


def _spread(at: _Slopes, there: Array, steps: int, known: Array) -> tuple[Array, Array, Array]:
    """S_bar, its diagonal before the states moved, and sum V^T C V (see `sensitivity`)."""
    d, q = at.by_x.shape[2], at.by_theta.shape[2]
    part = _normal(at)
    U = _factored(part, RIDGE * part.diagonal)
    X = _back(U, -U[:, :, 2 * d : 2 * d + q])
    following = jnp.concatenate([X[1:], jnp.zeros((1, d, q))])
    moved = [
        _products(jnp.swapaxes(slopes, 1, 2), x) for slopes, x in ((at.by_x, X), (at.by_next, following))
    ]
    V = at.by_theta + moved[0] + moved[1]
    count = jnp.maximum(there.sum(axis=0) - q, 1)
    C = at.e.T @ at.e / jnp.sqrt(count[:, None] * count)
    own = np.arange(at.e.shape[1]) < steps
    C = jnp.where(own[:, None] == own, C, 0.0)
    information = jnp.einsum("kmp,kmq->pq", V, V) + jnp.diag(known)
    meat = jnp.einsum("kmp,kmq->pq", V, jnp.einsum("mn,knq->kmq", C, V)) + jnp.diag(known)
    return information, known + jnp.einsum("kmp,kmp->p", at.by_theta, at.by_theta), meat
