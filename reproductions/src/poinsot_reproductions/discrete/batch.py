"""Many smoothing problems at once: other readings, controls, weights or initial guesses of one mechanism.

For bootstraps and sweeps. On a processor they are solved one after the other by `JointSmoothing`. On an accelerator,
or where problems at once are asked for, the same iteration runs in lockstep (`lockstep`), on the same normal equations,
with the elimination of states of this file: blocks of all problems in JAX, without calls to a library, so that it runs
on whatever JAX computes on. The steps of theta in its box, a few numbers a problem, are found on the processor.

States are eliminated one after the other: of the rows of state k, elimination of its d columns makes rows of the
transposed factor, and subtracts from the rows of the next,

    [T_k, H_{k,k+1}, C_k, g_k] -> U_k = [L_k^T, E_k^T, Y_k, y_k]
    [T_{k+1}, C_{k+1}, g_{k+1}] -= E_k [E_k^T, Y_k, y_k]

by sums alone, since most of a library's factorization of a 4 x 4 matrix is the call. Then [S_bar, g_bar] is
[S, g_theta] less sum_k Y_k^T [Y_k, y_k], and back from the last state L_k^T d_k = -(y_k + Y_k d_theta) - E_k^T d_{k+1}.

Time is divided into blocks. Each is linearized and folded into its rows [T, H, C, g] at once, which are all that is
kept of it: linearizations of 1 000 problems of 4 000 samples would take 4 GB each time that they are kept, the rows
2.8 GB. There are two copies of numbers as many as these at any time: those of the point with those of a trial, or with
U, which is not needed once the trial is there. Standard deviations linearize each block again, from the last to the
first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from poinsot.arrays import Vector
from poinsot.estimate import Status
from poinsot.estimators.joint.forms import TOGETHER
from poinsot.estimators.joint.linearization import (
    LEAST_DAMPING,
    Linearizer,
    NormalEquations,
    RecordLinearization,
)
from poinsot.estimators.joint.problem import JointSmoothingProblem, first_guess
from poinsot.estimators.joint.sensitivity import (
    RIDGE,
    Influence,
    Inverse,
    degrees_of_freedom,
    residual_covariance,
)
from poinsot.estimators.joint.smoothing import JointSmoothing, compiled_linearizer
from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.models.maximal import Model, double_precision
from poinsot.solve import Minimum, ProgressCallback, Stop

from .lockstep import minimize_all

SAMPLES_AT_ONCE = 2**17
"""Samples of all problems together that an accelerator linearizes in one batch."""
MEMORY, PART_OF_MEMORY = 8e9, 0.5
"""Bytes that problems at once may take where the device does not report its memory, and part of what it reports."""
LINEARIZATIONS_KEPT = 4
"""Copies of the linearization of a block that are in memory at a time, with intermediate results."""
ROWS_KEPT, STATES_KEPT = 2, 6
"""Copies of the normal equations (or one, and U), and of arrays as large as the states."""


@dataclass(frozen=True, eq=False)
class BatchFit:
    """Parameters of B problems.

    Args:
        names: names of all p parameters. open: (q,) indices of the estimated ones.
        theta: (B, p).
        std: (B, p) standard deviations for white residuals (Lacoursiere, Eqs. 3.30 to 3.32); 0 of held, NaN of
            unobservable parameters. `JointSmoothing.solve` has those for autocorrelated residuals too.
        cost: (B,) weighted squares of all residuals, by the number of samples.
        iterations: (B,) accepted steps.
        statuses: how each of the B iterations ended.
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
        return np.array([status.converged for status in self.statuses])


def fit_batch(
    method: JointSmoothing,
    problems: Sequence[JointSmoothingProblem],
    weights: Vector | None = None,
    *,
    at_once: int | None = None,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> BatchFit:
    """Solve B problems of one model, each for itself.

    On an accelerator it compiles anew for another number of samples, of problems at once, and of open parameters.

    Args:
        method: the method of all problems; `weights` replace its weight.
        problems: B, of one record each, at the same times; model, open parameters, bounds and priors are the same.
        weights: (B,) kappa of each.
        at_once: number of problems in lockstep; None: as many as the accelerator's memory has room for, or one after
            the other on a processor, where lockstep gains nothing.

    Raises:
        InvalidMethod: if a weight or a number of values is wrong, or problems do not belong together.
        InvalidSignals: if there is no problem, or a record does not fit the mechanism.
    """
    methods = _checked(method, problems, weights, at_once)
    if at_once is None and _device().platform == "cpu":
        fits = (
            method.solve(problem, progress=progress, stop=stop)
            for method, problem in zip(methods, problems, strict=True)
        )
        # not the fits themselves, whose motions are large
        each_fit = [(fit.theta, fit.std, fit.cost, fit.iterations, fit.status) for fit in fits]
        return _batch_fit(problems[0], zip(*each_fit, strict=True))
    solver = _solver(problems[0].model, method.form)
    at_once = min(len(problems), at_once or solver.room(problems[0]))
    parts = []
    for first in range(0, len(problems), at_once):
        # the last ones are filled up with the last problem, so that nothing is compiled for fewer
        cut = np.minimum(np.arange(first, first + at_once), len(problems) - 1).tolist()
        equations = _BatchEquations(solver, [methods[b] for b in cut], [problems[b] for b in cut])
        results = equations.result(*minimize_all(equations, method.iteration, progress=progress, stop=stop))
        parts.append([part[: len(problems) - first] for part in results])
    return _batch_fit(problems[0], (np.concatenate(part) for part in zip(*parts, strict=True)))


def _batch_fit(problem: JointSmoothingProblem, parts: Iterable[Any]) -> BatchFit:
    """From theta, std, costs, iterations and statuses of all."""
    theta, std, cost, iterations, statuses = (np.asarray(part) for part in parts)
    names, places = problem.model.free, problem.parameters.open
    return BatchFit(names, places, theta, std, cost, iterations, tuple(statuses.tolist()))


def _checked(
    method: JointSmoothing,
    problems: Sequence[JointSmoothingProblem],
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
    """Data of each problem, in n blocks of K samples: (n, K, s) readings, (n, K, inputs) controls, and kappa."""

    z: Any
    u: Any
    weight: Any


class _Common(NamedTuple):
    """Data that all problems share: (n, K) steps [s] and whether they exist; (s,) noise; (q,) indices of the open
    parameters.
    """

    h: Any
    steps: Any
    noise: Any
    open: Any


class _Point(NamedTuple):
    """A problem where it stands, in n blocks of K samples: states (n, K, size), theta, normal equations (n, K, ...),
    the sum of squares of its residuals, without priors, and the largest diagonals of J^T J so far, (n, K, d) of T and
    (q,) of S.
    """

    x: Any
    theta: Any
    equations: Any
    squares: Any
    largest: Any
    largest_of_theta: Any


# problems are the second axis of what is in blocks: a scan over these then copies nothing
ROWS = NormalEquations(*(1, 1, 1, 0))  # type: ignore[arg-type]
POINT = _Point(1, 0, ROWS, 0, 1, 0)


class _Solver:
    """Functions that are compiled once for a form of a model, a number of samples and of problems at once."""

    def __init__(self, linearizer: Linearizer):
        self.linearizer, self.form = linearizer, linearizer.form
        self.evaluate: Any = jax.jit(self._evaluate, static_argnames="together")
        self.eliminate: Any = jax.jit(jax.vmap(_eliminated_states, (ROWS, 1, 0), (1, 0)))
        self.step: Any = jax.jit(jax.vmap(self._step, (POINT, 0, 1, 0), (1, 0)))
        # in place of the old point: three copies would be in memory otherwise
        self.advance: Any = jax.jit(_advanced, donate_argnums=2)
        self.influence: Any = jax.jit(self._influences, static_argnames="together")

    def room(self, problem: JointSmoothingProblem) -> int:
        """Number of problems like this one that the device has memory for."""
        N, (bytes_kept, folded) = (
            len(problem.records[0].times),
            self.bytes_of_sample(len(problem.parameters.open)),
        )
        # devices that share the host's memory report none
        room = (_device().memory_stats() or {}).get("bytes_limit")
        left = (PART_OF_MEMORY * room if room else MEMORY) - SAMPLES_AT_ONCE * folded
        return max(1, int(left / (N * bytes_kept + math.sqrt(N) * folded)))

    def bytes_of_sample(self, q: int) -> tuple[int, int]:
        """Bytes that are kept of each sample of a problem with q open parameters, and of those in a block."""
        form, sensors, d = self.form, self.linearizer.sensors, self.form.degrees
        numbers = ROWS_KEPT * d * (2 * d + q + 1) + STATES_KEPT * form.size
        numbers += sensors + len(form.model.mechanism.inputs)
        linearized = (form.rows + sensors) * (1 + 2 * d + len(form.model.free))
        return 8 * numbers, 8 * LINEARIZATIONS_KEPT * linearized

    def _evaluate(self, given: _Given, common: _Common, x: Array, theta: Array, together: int) -> _Point:
        one = partial(self._folded, common=common, together=together)
        point: _Point = jax.vmap(one, (_over(given), 1, 0), POINT)(given, x, theta)
        return point

    def _folded(self, given: _Given, x: Array, theta: Array, common: _Common, together: int) -> _Point:
        """Normal equations of one problem: of each block nothing else is kept."""

        def fold(carry: Any, block: Any) -> tuple[Any, Any]:
            (first_T, first_right), corner, squares = carry
            at = self._linearized(block, theta, given.weight, common, together)
            # with a sample that has no residuals at the end: its rows are what this block adds to those of the next
            T, above, right, corner_of = NormalEquations.of(_with_another(at), _products)
            carry = (T[-1], right[-1]), corner + corner_of, squares + at.cost
            T, right = jnp.asarray(T).at[0].add(first_T), jnp.asarray(right).at[0].add(first_right)
            rows = NormalEquations(T[:-1], above[:-1], right[:-1], jnp.zeros(()))
            return carry, (rows, rows.diagonal)

        start = self._start(x, theta, given, common)
        of_start = NormalEquations.of(start, _products)
        begin = (of_start.T[0], of_start.right[0]), of_start.corner, start.cost
        (_, corner, squares), (rows, diagonal) = jax.lax.scan(fold, begin, self._blocks(x, given, common))
        return _Point(x, theta, rows._replace(corner=corner), squares, diagonal, jnp.diagonal(corner))

    def _blocks(self, x: Array, given: _Given, common: _Common) -> tuple[Array, ...]:
        """States of each block, the one after each block, and data, to be scanned; after the last there is itself."""
        after = jnp.concatenate([x[1:, 0], x[-1:, -1]])
        return x, after, given.u, given.z, common.h, common.steps

    def _linearized(
        self, block: tuple[Array, ...], theta: Array, weight: Array, common: _Common, together: int
    ) -> RecordLinearization:
        """Weighted residuals of a block of one problem, with their derivatives by states and open parameters."""
        x, after, u, z, h, steps = block
        following = jnp.concatenate([x[1:], after[None]])
        linearized = self.form.of_samples((x, following, u, jnp.nan_to_num(z), h), theta, together)
        # masks and not other shapes: readings that are missing differ from problem to problem
        stepped = jnp.broadcast_to(steps[:, None], (len(x), self.form.rows))
        there = jnp.concatenate([stepped, ~jnp.isnan(z)], axis=1)
        of_steps = jnp.full(self.form.rows, jnp.sqrt(weight))
        roots = jnp.where(there, jnp.concatenate([of_steps, 1 / common.noise]), 0.0)
        at = RecordLinearization(*linearized).weighted(roots, 1.0).opened(common.open)
        return at._replace(there=there)

    def _start(self, x: Array, theta: Array, given: _Given, common: _Common) -> RecordLinearization:
        """Weighted residuals of the first state alone: of a sample without any others."""
        start = self.form.of_start(x[0, 0], theta, common.h[0, 0])
        d, p = self.form.degrees, len(theta)
        e, by_x, by_theta = (jnp.zeros(shape) for shape in ((1, 1), (1, 1, d), (1, 1, p)))
        return (
            RecordLinearization(e, by_x, by_x, by_theta, start)
            .weighted(jnp.zeros((1, 1)), jnp.sqrt(given.weight))
            .opened(common.open)
        )

    def _step(self, point: _Point, damping: Array, U: Array, d_theta: Array) -> tuple[Array, Array]:
        """States of the trial, and the predicted decrease of the sum of squares."""
        d, rows, none = self.form.degrees, point.equations, jnp.zeros((0, self.form.degrees))

        def back(carry: tuple[Array, Array], block: Any) -> tuple[tuple[Array, Array], Array]:
            (following, decrease), (right, x, largest, U) = carry, block
            Y = U[:, :, 2 * d :]
            d_x = _back(U, -(Y[:, :, -1] + Y[:, :, :-1] @ d_theta)[:, :, None], following)
            of_states = rows._replace(right=right, corner=jnp.zeros_like(rows.corner))
            decrease += of_states.decrease(d_x[:, :, 0], d_theta, damping * largest)
            return (d_x[0], decrease), jax.vmap(self.form.plus)(x, d_x[:, :, 0])

        of_theta = rows._replace(right=jnp.zeros((0, *rows.right.shape[2:])))
        begin = jnp.zeros((d, 1)), of_theta.decrease(none, d_theta, none)
        blocks = rows.right, point.x, point.largest, U
        (_, decrease), x = jax.lax.scan(back, begin, blocks, reverse=True)
        return x, decrease

    def _influences(self, given: _Given, common: _Common, point: _Point, together: int) -> Any:
        one = partial(self._influence, common=common, together=together)
        return jax.vmap(one, (_over(given), POINT))(given, point)

    def _influence(self, given: _Given, point: _Point, common: _Common, together: int) -> tuple[Array, ...]:
        """Sums of `Influence` but V, with (m, m, q, q) sum V_i^T V_j in place of V_V, of one problem.

        The rows of V of two residuals, which are needed together where their covariance is, are thus not kept.
        """
        d, q, theta, rows = self.form.degrees, len(common.open), point.theta, point.equations
        U = _factorized(rows, RIDGE * rows.diagonal)

        def back(carry: Any, block: Any) -> tuple[Any, None]:
            (X_after, own_after, sums), (U, data) = carry, block
            X = _back(U, -U[:, :, 2 * d : -1], X_after)
            own, above = _inverse_blocks(U, d, own_after)
            at = self._linearized(data, theta, given.weight, common, together)
            X, own = (jnp.concatenate([part, last[None]]) for part, last in ((X, X_after), (own, own_after)))
            of = Influence.of(_with_another(at), X, own, jnp.pad(above, ((0, 1), (0, 0), (0, 0))))
            products = jnp.einsum("kmp,knq->mnpq", of.V, of.V)
            new = (of.S, of.effect, of.squares, of.count, of.by_states, products)
            return (X[0], own[0], jax.tree.map(jnp.add, sums, new)), None

        m = self.form.rows + self.linearizer.sensors
        shapes = (q, q), (q,), (m, m), (m,), (m,), (m, m, q, q)
        begin = jnp.zeros((d, q)), jnp.zeros((d, d)), tuple(map(jnp.zeros, shapes))
        carry, _ = jax.lax.scan(back, begin, (U, self._blocks(point.x, given, common)), reverse=True)
        sums: tuple[Array, ...] = carry[2]
        return sums


class _BatchEquations:
    """Problems as `lockstep.Equations`, on JAX's default device."""

    @double_precision
    def __init__(
        self, solver: _Solver, methods: Sequence[JointSmoothing], problems: Sequence[JointSmoothingProblem]
    ):
        self.solver, self.method, first = solver, methods[0], problems[0]
        self.parameters = [problem.parameters for problem in problems]
        records = [problem.records[0] for problem in problems]
        thetas = np.stack([parameters.theta for parameters in self.parameters])
        begun = [first_guess(first.model, *pair) for pair in zip(records, thetas, strict=True)]
        self.samples = N = len(records[0].times)
        # a processor's cache holds a few samples of all problems; an accelerator wants all that it can get
        samples = TOGETHER if _device().platform == "cpu" else SAMPLES_AT_ONCE
        self.together = min(N, max(1, samples // len(problems)))
        # a block is little beside all samples, and has many beside what it costs to begin one
        K = self.together * math.ceil(math.sqrt(N) / self.together)

        def blocks(parts: Sequence[np.ndarray], filling: float | None = None) -> Array:
            """(n, B, K, ...) of (N, ...) of each problem; the last block is filled up, None: with the last sample."""
            rows = np.stack(parts)
            width = [(0, 0), (0, -N % K)] + [(0, 0)] * (rows.ndim - 2)
            filled = (
                np.pad(rows, width, "edge")
                if filling is None
                else np.pad(rows, width, constant_values=filling)
            )
            return jnp.asarray(filled.reshape(len(rows), -1, K, *rows.shape[2:]).swapaxes(0, 1))

        x = [solver.form.pack(*guess, theta) for guess, theta in zip(begun, thetas, strict=True)]
        self._start = blocks(x), jnp.asarray(thetas)
        # controls that are the same object for all are kept once on the device
        shared = all(record.u is records[0].u for record in records)
        z, u = ([getattr(record, part) for record in records] for part in ("z", "u"))
        self.given = _Given(
            blocks(z, np.nan),
            blocks(u[:1])[:, 0] if shared else blocks(u),
            jnp.asarray([method.weight for method in methods]),
        )
        h = np.append(records[0].steps, records[0].steps[-1])
        there = np.ones(N, dtype=bool)
        there[-1] = False  # there is no step from the last state
        self.common = _Common(
            blocks([h])[:, 0],
            blocks([there], False)[:, 0],
            self.method.noise_of(first.model),
            self.parameters[0].open,
        )

    def start(self) -> tuple[Array, Array]:
        return self._start

    @double_precision
    def evaluate(self, trial: tuple[Array, Array]) -> tuple[_Point, np.ndarray]:
        point = self.solver.evaluate(self.given, self.common, *trial, together=self.together)
        return point, 0.5 * self._squares(point)

    def _squares(self, point: _Point) -> np.ndarray:
        """(B,) sums of squares of all residuals, those of priors too."""
        of_priors = [
            own.prior_cost(values)
            for own, values in zip(self.parameters, np.asarray(point.theta), strict=True)
        ]
        return np.asarray(point.squares) + np.array(of_priors)

    @double_precision
    def advance(self, accepted: np.ndarray, new: _Point, old: _Point | None) -> _Point:
        moved: _Point = new if old is None else self.solver.advance(accepted, new, old)
        return moved

    @double_precision
    def step(self, point: _Point, damping: np.ndarray) -> tuple[tuple[Array, Array], np.ndarray]:
        U, corner = self.solver.eliminate(point.equations, point.largest, damping)
        theta, corner, squares = np.asarray(point.theta), np.asarray(corner), self._squares(point)
        of_theta = damping[:, None] * np.asarray(point.largest_of_theta)
        d_theta, by_priors = np.full(of_theta.shape, np.nan), np.zeros(len(theta))
        moved = theta.copy()
        for b, own in enumerate(self.parameters):
            # each problem has its own least curvature: initial guesses, and so magnitudes, may differ
            least = damping[b] * self.method.least_curvature(squares[b], own)
            try:
                d_theta[b] = own.step(theta[b], corner[b], np.maximum(of_theta[b], least))
            except np.linalg.LinAlgError:
                by_priors[b] = (
                    np.nan
                )  # S_bar is not positive definite; the search asks again with more damping
                continue
            by_priors[b], moved[b] = own.prior_decrease(theta[b], d_theta[b]), own.moved(theta[b], d_theta[b])
        x, decrease = self.solver.step(point, damping, U, d_theta)
        return (x, jnp.asarray(moved)), 0.5 * (np.asarray(decrease) + by_priors)

    @double_precision
    def result(self, point: _Point, ends: Sequence[Minimum[Any]]) -> tuple[Any, ...]:
        """theta, std, costs by the number of samples, iterations, statuses."""
        sums = self.solver.influence(self.given, self.common, point, together=self.together)
        information, effect, squares, count, by_states, products = (np.asarray(part) for part in sums)
        prior = self.parameters[0].prior_weight
        std = np.zeros(point.theta.shape)  # 0 of parameters that were held
        for b in range(len(ends)):
            inverse = Inverse.of(information[b] + np.diag(prior), effect[b] + prior)
            V_V = np.einsum("mmpq->mpq", products[b])
            freedom = degrees_of_freedom(count[b], by_states[b], V_V, inverse)
            C = residual_covariance(squares[b], freedom, self.solver.form.rows)
            meat = np.einsum("mn,mnpq->pq", C, products[b]) + np.diag(prior)
            std[b, self.common.open] = np.sqrt(np.diag(inverse.around(meat)))
        cost = np.asarray(point.squares) / self.samples  # without the priors, as `JointFit.cost`
        iterations, statuses = zip(*((end.iterations, end.status) for end in ends), strict=True)
        return np.asarray(point.theta), std, cost, iterations, statuses


@lru_cache(maxsize=16)
def _solver(model: Model, form: str) -> _Solver:
    """The compiled functions of a form of a model, kept for later calls."""
    return _Solver(compiled_linearizer(model, form))


def _device() -> jax.Device:
    """JAX's default device."""
    (device,) = jnp.zeros(()).devices()
    return device


def _over(given: _Given) -> _Given:
    """Axes of problems; controls may be those of all."""
    return _Given(1, 1 if given.u.ndim == 4 else None, 0)


def _advanced(accepted: Array, new: _Point, old: _Point) -> _Point:
    """The new point where it is accepted, with the larger diagonals of both; otherwise the old one."""
    grown = new._replace(
        largest=jnp.maximum(old.largest, new.largest),
        largest_of_theta=jnp.maximum(old.largest_of_theta, new.largest_of_theta),
    )

    def chosen(axis: int, one: Array, other: Array) -> Array:
        return jnp.where(jnp.expand_dims(accepted, [k for k in range(one.ndim) if k != axis]), one, other)

    point: _Point = jax.tree.map(chosen, POINT, grown, old)
    return point


def _with_another(at: RecordLinearization) -> RecordLinearization:
    """With another sample at the end, which has no residuals."""
    padded: RecordLinearization = jax.tree.map(lambda part: jnp.concatenate([part, 0 * part[:1]]), at)
    return padded


# --------------------------------------------------------------------------------------------------- linear algebra


def _products(A: Array, B: Array) -> Array:
    """A^T B of each sample, as sums: batches of small matrix products are slow."""
    return jnp.sum(A[..., :, :, None] * B[..., :, None, :], axis=-3)


def _eliminated(rows: Array, d: int) -> Array:
    """(d, n) [L^T, L^-1 R] of rows [L L^T, R]; NaN where a pivot is not above 0."""
    done = []
    for j in range(d):
        # a negative pivot makes NaN, which spreads to the predicted decrease: no branch is needed
        row = rows[j] / jnp.sqrt(rows[j, j])
        done.append(row)
        rows = rows - row[:d, None] * row
    return jnp.stack(done)


def _factorized(rows: NormalEquations, damping: Array) -> Array:
    """(n, K, d, 2 d + q + 1) U: [L^T, E^T, Y] of each state, with (n, K, d) damping on T's diagonal."""
    d, columns = rows.right.shape[2:]

    def eliminate(left: Array, rows: Array) -> tuple[Array, Array]:
        U = _eliminated(rows - left, d)
        E_t, Y = U[:, d : 2 * d], U[:, 2 * d :]
        gone = _products(E_t, jnp.concatenate([E_t, Y], axis=1))
        # nothing is subtracted from the block above the diagonal: elimination of a state reaches the next one alone
        return jnp.concatenate([gone[:, :d], jnp.zeros((d, d)), gone[:, d:]], axis=1), U

    def of_block(left: Array, block: Any) -> tuple[Array, Array]:
        T, above, right, damping = block
        damped = T + jnp.maximum(damping, LEAST_DAMPING)[:, :, None] * jnp.eye(d)
        after, U = jax.lax.scan(eliminate, left, jnp.concatenate([damped, above, right], axis=2))
        return after, U

    blocks = rows.T, rows.above, rows.right, damping
    return jax.lax.scan(of_block, jnp.zeros((d, 2 * d + columns)), blocks)[1]


def _eliminated_states(equations: NormalEquations, largest: Array, damping: Array) -> tuple[Array, Array]:
    """U, and (q, q + 1) S_bar and g_bar."""
    U, d = _factorized(equations, damping * largest), equations.T.shape[-1]

    def less(corner: Any, U: Array) -> tuple[Any, None]:
        Y = U[:, :, 2 * d :]
        return corner - jnp.einsum("kmp,kmq->pq", Y[:, :, :-1], Y), None

    # block by block: one product of all would copy them
    return U, jnp.asarray(jax.lax.scan(less, equations.corner, U)[0])


def _solved(U: Array, R: Array) -> Array:
    """(..., d, c) U^-1 R of upper triangles."""
    x: list[Array] = []
    for i in reversed(range(U.shape[-1])):
        left = R[..., i, :]
        for j, row in enumerate(x, i + 1):
            left = left - U[..., i, j, None] * row
        x.insert(0, left / U[..., i, i, None])
    return jnp.stack(x, axis=-2)


def _back(U: Array, right: Array, following: Array) -> Array:
    """(K, d, c) x of L_k^T x_k + E_k^T x_{k+1} = right_k, x after the last one is `following` (d, c)."""
    d, c = right.shape[1:]
    parts = _solved(U[:, :, :d], jnp.concatenate([right, U[:, :, d : 2 * d]], axis=2))

    def before(following: Array, part: Array) -> tuple[Array, Array]:
        x = part[:, :c] - jnp.sum(part[:, c:, None] * following, axis=1)
        return x, x

    return jax.lax.scan(before, following, parts, reverse=True)[1]


def _inverse_blocks(U: Array, d: int, following: Array) -> tuple[Array, Array]:
    """Blocks (k, k) and (k, k + 1) of T^-1, from the last state to the first, after one with block `following`."""
    eye = jnp.broadcast_to(jnp.eye(d), U[:, :, :d].shape)
    both = _solved(U[:, :, :d], jnp.concatenate([eye, U[:, :, d : 2 * d]], axis=2))

    def before(following: Array, part: Array) -> tuple[Array, tuple[Array, Array]]:
        K, G = part[:, :d], part[:, d:]  # L^-T and L^-T E^T
        above = -_products(jnp.swapaxes(G, 0, 1), following)
        own = _products(K.T, K.T) - _products(above.T, G.T)
        return own, (own, above)

    solved: tuple[Array, Array] = jax.lax.scan(before, following, both, reverse=True)[1]
    return solved
