"""Many smoothing problems at once: other readings, controls, weights or initial guesses of one mechanism.

For bootstraps and sweeps. On a processor they are solved one after the other by `JointSmoothing`. On an accelerator,
or where problems at once are asked for, the same iteration runs in lockstep (`lockstep`), with the linear algebra of
this file: blocks of all problems in JAX, without calls to a library, so that it runs on whatever JAX computes on.

States are eliminated one after the other: of the rows of state k, elimination of its d columns makes rows of the
transposed factor, and subtracts from the rows of the next,

    [T_k, H_{k,k+1}, C_k, g_k] -> U_k = [L_k^T, E_k^T, Y_k, y_k]
    [T_{k+1}, C_{k+1}, g_{k+1}] -= E_k [E_k^T, Y_k, y_k]

by sums alone, since most of a library's factorization of a 4 x 4 matrix is the call. Then [S_bar, g_bar] is
[S, g_theta] less sum_k Y_k^T [Y_k, y_k], and back from the last state L_k^T d_k = -(y_k + Y_k d_theta) - E_k^T d_{k+1}.

theta's step in its box is found by an active set: towards the free parameters' minimum as far as the box allows, the
bound that stops it is active from there on, and at a minimum the bound with the steepest gradient away from it is
released. It ends at the only optimum, and wherever it is stopped it is in the box and has lowered the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...arrays import Vector
from ...estimate import Status
from ...exceptions import InvalidMethod, InvalidSignals
from ...models.maximal import Model, double_precision
from ...solve import ProgressCallback, Stop
from .bordered import LEAST_DAMPING
from .linearization import TOGETHER, Linearizer
from .lockstep import minimize_all
from .problem import SmoothingProblem
from .records import first_guess
from .sensitivity import RIDGE, Inverse, degrees_of_freedom, residual_covariance
from .smoothing import JointSmoothing, compiled_linearizer

SAMPLES_AT_ONCE = 2**17
"""Samples of all problems together that an accelerator linearizes in one batch."""
MEMORY, PART_OF_MEMORY = 16e9, 0.5
"""Bytes that problems at once may take where the device does not report its memory, and part of what it reports."""
LINEARIZATIONS_KEPT, ROWS_KEPT = 5, 4
"""Copies of the linearizations and of the normal equations that are in memory at a time."""
ROUNDING = 1e-13
"""Gradients below this part of their terms are rounding errors."""


@dataclass(frozen=True, eq=False)
class BatchFit:
    """Parameters of B problems.

    Args:
        names: of all p parameters. open: (q,) places of those that were estimated.
        theta: (B, p).
        std: (B, p) standard deviations for white residuals (Lacoursiere, Eqs. 3.30 to 3.32); 0 of held, NaN of
            unobservable parameters. `JointSmoothing.solve` has those for autocorrelated residuals too.
        cost: (B,) weighted squares of all residuals, by the number of samples.
        iterations: (B,) accepted steps.
        statuses: B.
    """

    names: tuple[str, ...]
    open: np.ndarray
    theta: Float[np.ndarray, "B p"]
    std: Float[np.ndarray, "B p"]
    cost: Float[np.ndarray, "B"]
    iterations: Int[np.ndarray, "B"]
    statuses: tuple[Status, ...]

    @property
    def converged(self) -> np.ndarray:
        """(B,) whether each passed its stopping test."""
        return np.array([each.converged for each in self.statuses])


def fit_batch(
    method: JointSmoothing,
    problems: Sequence[SmoothingProblem],
    weights: Vector | None = None,
    *,
    at_once: int | None = None,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> BatchFit:
    """Solve B problems of one model, each for itself.

    On an accelerator it compiles anew for another number of samples, of problems at once, and of open parameters.

    Args:
        method: of all; its weight counts where there are no `weights`.
        problems: B, of one record each, at the same times; model, open parameters, bounds and priors are the same.
        weights: (B,) kappa of each.
        at_once: problems in lockstep; None: as many as the accelerator's memory has room for, or one after the other
            on a processor, where lockstep only means to wait.

    Raises:
        InvalidMethod: if a weight or a number of values is wrong, or problems do not belong together.
        InvalidSignals: if there is no problem, or a record does not fit the mechanism.
    """
    methods = _checked(method, problems, weights, at_once)
    if at_once is None and _device().platform == "cpu":
        fits = [
            each.solve(problem, progress=progress, stop=stop)
            for each, problem in zip(methods, problems, strict=True)
        ]
        return BatchFit(
            problems[0].model.free,
            problems[0].parameters.open,
            np.stack([fit.theta for fit in fits]),
            np.stack([fit.std for fit in fits]),
            np.array([fit.cost for fit in fits]),
            np.array([fit.iterations for fit in fits]),
            tuple(fit.status for fit in fits),
        )
    solver = _solver(problems[0].model, method.form)
    at_once = min(len(problems), at_once or solver.room(problems[0]))
    parts = []
    for first in range(0, len(problems), at_once):
        # the last ones are filled up with the last problem, so that nothing is compiled for fewer
        cut = np.minimum(np.arange(first, first + at_once), len(problems) - 1).tolist()
        equations = _BatchEquations(solver, [methods[b] for b in cut], [problems[b] for b in cut])
        found = equations.result(minimize_all(equations, method.iteration, progress=progress, stop=stop))
        parts.append([part[: len(problems) - first] for part in found])
    theta, std, cost, iterations, statuses = zip(*parts, strict=True)
    return BatchFit(
        problems[0].model.free,
        problems[0].parameters.open,
        np.concatenate(theta),
        np.concatenate(std),
        np.concatenate(cost),
        np.concatenate(iterations),
        tuple(each for part in statuses for each in part),
    )


def _checked(
    method: JointSmoothing,
    problems: Sequence[SmoothingProblem],
    weights: Vector | None,
    at_once: int | None,
) -> list[JointSmoothing]:
    """The method of each problem."""
    if not problems:
        raise InvalidSignals("there is nothing to fit; give at least one record")
    if at_once is not None and at_once < 1:
        raise InvalidMethod(f"it takes at least one problem at once, not {at_once}")
    first = problems[0]
    for problem in problems:
        same = problem.model is first.model and np.array_equal(problem.parameters.open, first.parameters.open)
        if len(problem.records) != 1 or not same:
            raise InvalidMethod(
                "the problems of a batch need one record each, and the same model and parameters"
            )
        if not np.array_equal(problem.records[0].times, first.records[0].times):
            raise InvalidSignals("the records of a batch need the same times; fit others one by one")
    if weights is None:
        return [method] * len(problems)
    if len(weights) != len(problems):
        raise InvalidMethod(f"there are {len(weights)} weights and {len(problems)} records; give one of each")
    return [replace(method, weight=weight) for weight in weights.tolist()]


# ----------------------------------------------------------------------------------------------------------- in JAX


class _Given(NamedTuple):
    """Of each problem: (N, s) readings, (N, inputs) controls, kappa, and (q,) sizes of the parameters."""

    z: Any
    u: Any
    weight: Any
    size: Any


class _Common(NamedTuple):
    """Of all problems: (N,) steps [s], the last twice; (s,) noise; the rest of the q open parameters."""

    h: Any
    noise: Any
    open: Any
    lower: Any
    upper: Any
    prior_mean: Any
    prior_weight: Any
    least_effect: Any


class _Blocks(NamedTuple):
    """A weighted `RecordLinearization` of open parameters: e, A, B, P and those of the first state."""

    e: Array
    by_x: Array
    by_next: Array
    by_theta: Array
    start: tuple[Array, Array, Array]

    @property
    def cost(self) -> Array:
        return jnp.sum(self.e**2) + jnp.sum(self.start[0] ** 2)

    @property
    def diagonals(self) -> tuple[Array, Array]:
        """(N, d) and (q,) of J^T J."""
        of_next = jnp.sum(self.by_next[:-1] ** 2, axis=1)
        states = (
            jnp.sum(self.by_x**2, axis=1).at[1:].add(of_next).at[0].add(jnp.sum(self.start[1] ** 2, axis=0))
        )
        return states, jnp.sum(self.by_theta**2, axis=(0, 1)) + jnp.sum(self.start[2] ** 2, axis=0)


class _BlockEquations(NamedTuple):
    """H and g: (N, d, d) blocks of T and those above its diagonal, (N, d, q + 1) [C, g_x], (q, q + 1) [S, g_theta]."""

    T: Array
    above: Array
    right: Array
    corner: Array


class _Point(NamedTuple):
    """A problem where it stands, with the largest diagonals of J^T J so far; the cost is a sum of squares."""

    x: Array
    theta: Array
    at: _Blocks
    cost: Array
    largest: Array
    largest_corner: Array


class _Solver:
    """Functions that are compiled once for a form of a model, a number of samples and of problems at once."""

    def __init__(self, linearizer: Linearizer):
        self.linearizer, self.form = linearizer, linearizer.form
        self.evaluate: Any = jax.jit(self._evaluate, static_argnames="together")
        self.step: Any = jax.jit(self._step)
        self.advance: Any = jax.jit(jax.vmap(_advanced))
        self.influence: Any = jax.jit(self._influence)
        self.meat: Any = jax.jit(jax.vmap(_meat))

    def room(self, problem: SmoothingProblem) -> int:
        """For how many problems like this one the device has memory."""
        N, q = len(problem.records[0].times), len(problem.parameters.open)
        d, m = self.form.degrees, self.form.rows + self.linearizer.sensors
        blocks, rows = m * (1 + 2 * d + q), d * (2 * d + q + 1)
        numbers = N * (LINEARIZATIONS_KEPT * blocks + ROWS_KEPT * rows)
        room = (_device().memory_stats() or {}).get("bytes_limit")
        return max(1, int((PART_OF_MEMORY * room if room else MEMORY) / (8 * numbers)))

    def _evaluate(self, given: _Given, common: _Common, x: Array, theta: Array, together: int) -> _Point:
        one = partial(self._linearized, common=common, together=together)
        found: _Point = jax.vmap(one, in_axes=(_axes(given), 0, 0))(given, x, theta)
        return found

    def _linearized(self, given: _Given, x: Array, theta: Array, common: _Common, together: int) -> _Point:
        N = len(x)
        cut = np.minimum(np.arange(-(-N // together) * together), N - 1)
        samples = x, jnp.concatenate([x[1:], x[-1:]]), given.u, jnp.nan_to_num(given.z), common.h
        found = self.linearizer.of_samples(tuple(part[cut] for part in samples), theta, together)
        e, by_x, by_next, by_theta = (part[:N] for part in found)
        root = jnp.sqrt(given.weight)
        roots = jnp.concatenate([jnp.full(self.form.rows, root), 1 / common.noise])
        there = self._there(given)

        def weighted(part: Array) -> Array:
            more = (1,) * (part.ndim - 2)
            return jnp.where(there.reshape(*there.shape, *more), part * roots.reshape(-1, *more), 0.0)

        r, r_by_x, r_by_theta = self.linearizer.of_start(x[0], theta, common.h[0])
        at = _Blocks(
            weighted(e),
            weighted(by_x),
            weighted(by_next),
            weighted(by_theta[:, :, common.open]),
            (root * r, root * r_by_x, root * r_by_theta[:, common.open]),
        )
        prior = common.prior_weight @ (theta[common.open] - common.prior_mean) ** 2
        largest, corner = at.diagonals
        return _Point(x, theta, at, at.cost + prior, largest, corner + common.prior_weight)

    def _there(self, given: _Given) -> Array:
        """(N, m) whether there is such a residual."""
        steps = np.ones((len(given.z), self.form.rows), dtype=bool)
        steps[-1] = False
        return jnp.concatenate([steps, ~jnp.isnan(given.z)], axis=1)

    def _step(
        self, given: _Given, common: _Common, point: _Point, alpha: Array
    ) -> tuple[Array, Array, Array]:
        """(x, theta) of the trial, and half of the predicted decrease of the sum of squares."""

        def one(given: _Given, point: _Point, alpha: Array) -> tuple[Array, Array, Array]:
            least = common.least_effect * jnp.maximum(point.cost, 1e-300) / given.size**2
            damping = alpha * point.largest, alpha * jnp.maximum(point.largest_corner, least)
            theta = point.theta[common.open]
            d_x, d_theta, decrease = _damped_step(_block_equations(point.at), damping, theta, common)
            moved = jnp.clip(theta + d_theta, common.lower, common.upper)
            x = jax.vmap(self.form.plus)(point.x, d_x)
            return x, point.theta.at[common.open].set(moved), 0.5 * decrease

        found: tuple[Array, Array, Array] = jax.vmap(one, in_axes=(_axes(given), 0, 0))(given, point, alpha)
        return found

    def _influence(self, given: _Given, common: _Common, at: _Blocks) -> Any:
        def one(given: _Given, at: _Blocks) -> Any:
            return _influence(at, self._there(given), common.prior_weight)

        return jax.vmap(one, in_axes=(_axes(given), 0))(given, at)


class _BatchEquations:
    """Problems as `lockstep.Equations`, on JAX's default device."""

    @double_precision
    def __init__(
        self, solver: _Solver, methods: Sequence[JointSmoothing], problems: Sequence[SmoothingProblem]
    ):
        self.solver, self.count, first = solver, len(problems), problems[0]
        records, parameters = [problem.records[0] for problem in problems], first.parameters
        begun = [first_guess(p.model, p.records[0], p.parameters.theta) for p in problems]
        x = [
            solver.form.pack(*guess, problem.parameters.theta)
            for guess, problem in zip(begun, problems, strict=True)
        ]
        self._start = jnp.asarray(np.stack(x)), jnp.asarray(np.stack([p.parameters.theta for p in problems]))
        shared = all(record.u is records[0].u for record in records)
        self.given = _Given(
            jnp.asarray(np.stack([record.z for record in records])),
            jnp.asarray(records[0].u if shared else np.stack([record.u for record in records])),
            jnp.asarray([method.weight for method in methods]),
            jnp.asarray(np.stack([problem.parameters.size for problem in problems])),
        )
        self.parameters, self.steps = parameters, solver.form.rows
        h, places = records[0].steps, parameters.open
        self.common = _Common(
            np.append(h, h[-1]),
            methods[0].noise_of(first.model),
            places,
            parameters.lower[places],
            parameters.upper[places],
            parameters.prior_mean,
            parameters.prior_weight,
            np.float64(methods[0].least_effect),
        )
        samples = TOGETHER if _device().platform == "cpu" else SAMPLES_AT_ONCE
        self.together = min(len(h) + 1, max(1, samples // self.count))

    def start(self) -> tuple[Array, Array]:
        return self._start

    @double_precision
    def evaluate(self, trial: tuple[Array, Array]) -> tuple[_Point, np.ndarray]:
        point = self.solver.evaluate(self.given, self.common, *trial, together=self.together)
        return point, 0.5 * np.asarray(point.cost)

    @double_precision
    def advance(self, accepted: np.ndarray, new: _Point, old: _Point | None) -> _Point:
        moved: _Point = new if old is None else self.solver.advance(accepted, new, old)
        return moved

    @double_precision
    def step(self, point: _Point, damping: np.ndarray) -> tuple[tuple[Array, Array], np.ndarray]:
        x, theta, predicted = self.solver.step(self.given, self.common, point, damping)
        return (x, theta), np.array(predicted)

    @double_precision
    def result(self, found: Any) -> tuple[Any, ...]:
        """theta, std, costs by the number of samples, iterations, statuses."""
        point, places = found.point, self.parameters.open
        V, *sums = self.solver.influence(self.given, self.common, point.at)
        information, effect, squares, count, by_states, V_V = (np.asarray(part) for part in sums)
        inverses, C = [], []
        for b in range(self.count):
            inverses.append(Inverse.of(information[b], effect[b]))
            freedom = degrees_of_freedom(count[b], by_states[b], V_V[b], inverses[b])
            C.append(residual_covariance(squares[b].copy(), freedom, self.steps))
        meat = np.asarray(self.solver.meat(V, np.stack(C))) + np.diag(self.common.prior_weight)
        std = np.zeros(point.theta.shape)
        for b, inverse in enumerate(inverses):
            std[b, places] = np.sqrt(np.diag(inverse.around(meat[b])))
        cost = np.asarray(jax.vmap(lambda at: at.cost)(point.at)) / len(self.common.h)  # without the priors
        return np.asarray(point.theta), std, cost, found.iterations, found.statuses


@lru_cache(maxsize=16)
def _solver(model: Model, form: str) -> _Solver:
    """Compiled functions are kept."""
    return _Solver(compiled_linearizer(model, form))


def _device() -> jax.Device:
    """JAX's default device."""
    (device,) = jnp.zeros(()).devices()
    return device


def _axes(given: _Given) -> _Given:
    """Axes of the problems: controls may be shared."""
    return _Given(0, 0 if given.u.ndim == 3 else None, 0, 0)


def _advanced(accepted: Array, new: _Point, old: _Point) -> _Point:
    """The new point if it is accepted, with the larger diagonals of both; otherwise the old one."""
    grown = new._replace(
        largest=jnp.maximum(old.largest, new.largest),
        largest_corner=jnp.maximum(old.largest_corner, new.largest_corner),
    )
    point: _Point = jax.tree.map(partial(jnp.where, accepted), grown, old)
    return point


# --------------------------------------------------------------------------------------------------- linear algebra


def _products(A: Array, B: Array) -> Array:
    """A^T B of each sample, as sums: batches of small matrix products are slow."""
    return jnp.sum(A[..., :, :, None] * B[..., :, None, :], axis=-3)


def _block_equations(at: _Blocks) -> _BlockEquations:
    """J^T J and J^T e."""
    A, B = at.by_x, at.by_next[:-1]
    right = jnp.concatenate([at.by_theta, at.e[:, :, None]], axis=2)
    r, by_x, by_theta = at.start
    first = jnp.concatenate([by_theta, r[:, None]], axis=1)
    T = _products(A, A).at[1:].add(_products(B, B)).at[0].add(by_x.T @ by_x)
    C = _products(A, right).at[1:].add(_products(B, right[:-1])).at[0].add(by_x.T @ first)
    above = jnp.zeros_like(T).at[:-1].set(_products(A[:-1], B))
    corner = jnp.einsum("kmp,kmq->pq", at.by_theta, right) + by_theta.T @ first
    return _BlockEquations(T, above, C, corner)


def _eliminated(rows: Array, d: int) -> Array:
    """(d, n) [L^T, L^-1 R] of rows [L L^T, R]; NaN where a pivot is not above 0."""
    done = []
    for j in range(d):
        row = rows[j] / jnp.sqrt(rows[j, j])
        done.append(row)
        rows = rows - row[:d, None] * row
    return jnp.stack(done)


def _factorized(equations: _BlockEquations, damping: Array) -> Array:
    """(N, d, 2 d + q + 1) U: [L^T, E^T, Y] of each state, with (N, d) damping on T's diagonal."""
    d = equations.T.shape[1]
    damped = equations.T + jnp.maximum(damping, LEAST_DAMPING)[:, :, None] * jnp.eye(d)
    rows = jnp.concatenate([damped, equations.above, equations.right], axis=2)

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


def _damped_step(
    equations: _BlockEquations, damping: tuple[Array, Array], theta: Array, common: _Common
) -> tuple[Array, Array, Array]:
    """Steps of states and theta, and the predicted decrease; NaN if the damped H is not positive definite."""
    d, q = equations.T.shape[1], len(theta)
    U = _factorized(equations, damping[0])
    Y, prior = U[:, :, 2 * d :], common.prior_weight
    pull = prior * (theta - common.prior_mean)
    reduced = equations.corner - jnp.einsum("kmp,kmq->pq", Y[:, :, :q], Y)
    S, g = reduced[:, :q] + jnp.diag(damping[1] + prior), reduced[:, q] + pull
    d_theta = step_in_box(S, g, common.lower - theta, common.upper - theta)
    d_x = _back(U, -(Y[:, :, q] + Y[:, :, :q] @ d_theta)[:, :, None])[:, :, 0]
    g_x, g_theta, C = equations.right[:, :, q], equations.corner[:, q], equations.right[:, :, :q]
    left = equations.corner[:, :q] @ d_theta + jnp.einsum("kmq,km->q", C, d_x) + g_theta
    predicted = -jnp.sum(g_x * d_x) + jnp.sum(damping[0] * d_x**2) - g_theta @ d_theta - d_theta @ left
    predicted = predicted - prior @ d_theta**2 - 2 * pull @ d_theta
    return d_x, d_theta, jnp.where(jnp.isfinite(predicted), predicted, jnp.nan)


class _Active(NamedTuple):
    """d, its active bounds (-1: lower, 0: none, 1: upper), steps, and whether it is the optimum."""

    d: Array
    held: Array
    steps: Array
    done: Array


def step_in_box(S: Array, g: Array, lower: Array, upper: Array) -> Array:
    """(p,) argmin d^T S d / 2 + g^T d, lower <= d <= upper, 0 between them; NaN if S is not positive definite.

    As `poinsot.solve.box.step_in_box`, in JAX.
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
        # at a minimum, release the bound with the steepest gradient away from it
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


def _inverse_blocks(U: Array, d: int) -> tuple[Array, Array]:
    """Blocks (k, k) and (k, k + 1) of T^-1, from the last state to the first."""
    eye = jnp.broadcast_to(jnp.eye(d), U[:, :, :d].shape)
    both = _solved(U[:, :, :d], jnp.concatenate([eye, U[:, :, d : 2 * d]], axis=2))

    def before(following: Array, part: Array) -> tuple[Array, tuple[Array, Array]]:
        K, G = part[:, :d], part[:, d:]  # L^-T and L^-T E^T
        above = -_products(jnp.swapaxes(G, 0, 1), following)
        own = _products(K.T, K.T) - _products(above.T, G.T)
        return own, (own, above)

    found: tuple[Array, Array] = jax.lax.scan(before, jnp.zeros((d, d)), both, reverse=True)[1]
    return found


def _influence(at: _Blocks, there: Array, prior_weight: Array) -> tuple[Array, ...]:
    """V, S_bar, its diagonal before the states moved, sum e e^T, and of the rows of e: their numbers, the states' part
    of the trace of the influence matrix, and sum V^T V (see `sensitivity`).
    """
    d, q = at.by_x.shape[2], at.by_theta.shape[2]
    equations = _block_equations(at)
    U = _factorized(equations, RIDGE * jnp.diagonal(equations.T, axis1=1, axis2=2))
    X = _back(U, -U[:, :, 2 * d : 2 * d + q])
    following = jnp.concatenate([X[1:], jnp.zeros((1, d, q))])
    A_t, B_t = jnp.swapaxes(at.by_x, 1, 2), jnp.swapaxes(at.by_next, 1, 2)
    V = at.by_theta + _products(A_t, X) + _products(B_t, following)
    own, above = _inverse_blocks(U, d)
    next_own = jnp.concatenate([own[1:], jnp.zeros((1, d, d))])
    by_states = jnp.sum(
        _products(A_t, own) * at.by_x + (2 * _products(A_t, above) + _products(B_t, next_own)) * at.by_next,
        axis=(0, 2),
    )
    information = jnp.einsum("kmp,kmq->pq", V, V) + jnp.diag(prior_weight)
    effect = prior_weight + jnp.einsum("kmp,kmp->p", at.by_theta, at.by_theta)
    V_V = jnp.einsum("kmp,kmq->mpq", V, V)
    return V, information, effect, at.e.T @ at.e, there.sum(axis=0).astype(float), by_states, V_V


def _meat(V: Array, C: Array) -> Array:
    """(q, q) sum V^T C V."""
    return jnp.einsum("kmp,kmq->pq", V, jnp.einsum("mn,knq->kmq", C, V))
