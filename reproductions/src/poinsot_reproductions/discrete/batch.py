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
"""

from __future__ import annotations

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
from poinsot.estimators.joint.bordered import LEAST_DAMPING, NormalEquations
from poinsot.estimators.joint.linearization import TOGETHER, Linearizer, RecordLinearization
from poinsot.estimators.joint.problem import JointSmoothingProblem
from poinsot.estimators.joint.records import first_guess
from poinsot.estimators.joint.sensitivity import (
    RIDGE,
    Influence,
    Inverse,
    degrees_of_freedom,
    residual_covariance,
    white_meat,
)
from poinsot.estimators.joint.smoothing import JointSmoothing, compiled_linearizer
from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.models.maximal import Model, double_precision
from poinsot.solve import GaussNewton, Minimum, ProgressCallback, Stop

from .lockstep import minimize_all

SAMPLES_AT_ONCE = 2**17
"""Samples of all problems together that an accelerator linearizes in one batch."""
MEMORY, PART_OF_MEMORY = 16e9, 0.5
"""Bytes that problems at once may take where the device does not report its memory, and part of what it reports."""
LINEARIZATIONS_KEPT, ROWS_KEPT = 5, 4
"""Copies of the linearizations and of the normal equations that are in memory at a time."""


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
        return np.array([each.converged for each in self.statuses])


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
        fits = [
            each.solve(problem, progress=progress, stop=stop)
            for each, problem in zip(methods, problems, strict=True)
        ]
        each_fit = [(fit.theta, fit.std, fit.cost, fit.iterations, fit.status) for fit in fits]
        return _batch_fit(problems[0], zip(*each_fit, strict=True))
    solver = _solver(problems[0].model, method.form)
    at_once = min(len(problems), at_once or solver.room(problems[0]))
    limits = method.max_iterations, method.tolerance
    iteration = GaussNewton(*limits, damping=method.damping, kink_factor=method.kink_factor)
    parts = []
    for first in range(0, len(problems), at_once):
        # the last ones are filled up with the last problem, so that nothing is compiled for fewer
        cut = np.minimum(np.arange(first, first + at_once), len(problems) - 1).tolist()
        equations = _BatchEquations(solver, [methods[b] for b in cut], [problems[b] for b in cut])
        found = equations.result(*minimize_all(equations, iteration, progress=progress, stop=stop))
        parts.append([part[: len(problems) - first] for part in found])
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
    """Data of each problem: (N, s) readings, (N, inputs) controls, and kappa."""

    z: Any
    u: Any
    weight: Any


class _Common(NamedTuple):
    """Data that all problems share: (N,) steps [s], the last twice; (s,) noise; (q,) indices of the open parameters."""

    h: Any
    noise: Any
    open: Any


class _Point(NamedTuple):
    """A problem where it stands: the sum of squares of its residuals, without priors, and the largest diagonals of
    J^T J so far, (N, d) of T and (q,) of S.
    """

    x: Array
    theta: Array
    at: RecordLinearization
    squares: Array
    largest: Array
    largest_of_theta: Array


class _Solver:
    """Functions that are compiled once for a form of a model, a number of samples and of problems at once."""

    def __init__(self, linearizer: Linearizer):
        self.linearizer, self.form = linearizer, linearizer.form
        self.evaluate: Any = jax.jit(self._evaluate, static_argnames="together")
        self.eliminate: Any = jax.jit(jax.vmap(_eliminated_states))
        self.step: Any = jax.jit(jax.vmap(self._step))
        self.advance: Any = jax.jit(jax.vmap(_advanced))
        self.influence: Any = jax.jit(jax.vmap(_influence))
        self.meat: Any = jax.jit(jax.vmap(white_meat))

    def room(self, problem: JointSmoothingProblem) -> int:
        """Number of problems like this one that the device has memory for."""
        N, q = len(problem.records[0].times), len(problem.parameters.open)
        d, m = self.form.degrees, self.form.rows + self.linearizer.sensors
        blocks, rows = m * (1 + 2 * d + q), d * (2 * d + q + 1)
        numbers = N * (LINEARIZATIONS_KEPT * blocks + ROWS_KEPT * rows)
        # devices that share the host's memory report none
        room = (_device().memory_stats() or {}).get("bytes_limit")
        return max(1, int((PART_OF_MEMORY * room if room else MEMORY) / (8 * numbers)))

    def _evaluate(self, given: _Given, common: _Common, x: Array, theta: Array, together: int) -> _Point:
        one = partial(self._linearized, common=common, together=together)
        shared = _Given(0, 0 if given.u.ndim == 3 else None, 0)  # controls may be those of all
        found: _Point = jax.vmap(one, in_axes=(shared, 0, 0))(given, x, theta)
        return found

    def _linearized(self, given: _Given, x: Array, theta: Array, common: _Common, together: int) -> _Point:
        N = len(x)
        # the last batch of samples is filled up with the last sample
        cut = np.minimum(np.arange(-(-N // together) * together), N - 1)
        samples = x, jnp.concatenate([x[1:], x[-1:]]), given.u, jnp.nan_to_num(given.z), common.h
        found = self.linearizer.of_samples(tuple(part[cut] for part in samples), theta, together)
        # masks and not other shapes: readings that are missing differ from problem to problem
        steps = np.ones((N, self.form.rows), dtype=bool)
        steps[-1] = False
        there = jnp.concatenate([steps, ~jnp.isnan(given.z)], axis=1)
        root = jnp.sqrt(given.weight)
        roots = jnp.where(there, jnp.concatenate([jnp.full(self.form.rows, root), 1 / common.noise]), 0.0)
        start = self.linearizer.of_start(x[0], theta, common.h[0])
        e, by_x, by_next, by_theta = (part[:N] for part in found)
        at = RecordLinearization(e, by_x, by_next, by_theta, start, there)
        at = at.weighted(roots, root).opened(common.open)
        equations = NormalEquations.of(at, _products)
        return _Point(x, theta, at, at.cost, equations.diagonal, jnp.diagonal(equations.corner))

    def _step(self, point: _Point, damping: Array, U: Array, d_theta: Array) -> tuple[Array, Array]:
        """States of the trial, and the predicted decrease of the sum of squares."""
        d = self.form.degrees
        Y = U[:, :, 2 * d :]
        d_x = _back(U, -(Y[:, :, -1] + Y[:, :, :-1] @ d_theta)[:, :, None])[:, :, 0]
        decrease = NormalEquations.of(point.at, _products).decrease(d_x, d_theta, damping * point.largest)
        return jax.vmap(self.form.plus)(point.x, d_x), decrease


class _BatchEquations:
    """Problems as `lockstep.Equations`, on JAX's default device."""

    @double_precision
    def __init__(
        self, solver: _Solver, methods: Sequence[JointSmoothing], problems: Sequence[JointSmoothingProblem]
    ):
        self.solver, self.method, first = solver, methods[0], problems[0]
        self.parameters = [problem.parameters for problem in problems]
        records = [problem.records[0] for problem in problems]
        thetas = np.stack([each.theta for each in self.parameters])
        begun = [first_guess(first.model, *each) for each in zip(records, thetas, strict=True)]
        x = [solver.form.pack(*guess, theta) for guess, theta in zip(begun, thetas, strict=True)]
        self._start = jnp.asarray(np.stack(x)), jnp.asarray(thetas)
        # controls that are the same object for all are kept once on the device
        shared = all(record.u is records[0].u for record in records)
        self.given = _Given(
            jnp.asarray(np.stack([record.z for record in records])),
            jnp.asarray(records[0].u if shared else np.stack([record.u for record in records])),
            jnp.asarray([method.weight for method in methods]),
        )
        h = records[0].steps
        self.common = _Common(np.append(h, h[-1]), self.method.noise_of(first.model), self.parameters[0].open)
        # a processor's cache holds a few samples of all problems; an accelerator wants all that it can get
        samples = TOGETHER if _device().platform == "cpu" else SAMPLES_AT_ONCE
        self.together = min(len(h) + 1, max(1, samples // len(problems)))

    def start(self) -> tuple[Array, Array]:
        return self._start

    @double_precision
    def evaluate(self, trial: tuple[Array, Array]) -> tuple[_Point, np.ndarray]:
        point = self.solver.evaluate(self.given, self.common, *trial, together=self.together)
        return point, 0.5 * self._squares(point)

    def _squares(self, point: _Point) -> np.ndarray:
        """(B,) sums of squares of all residuals, those of priors too."""
        of_priors = [
            own.prior_cost(each) for own, each in zip(self.parameters, np.asarray(point.theta), strict=True)
        ]
        return np.asarray(point.squares) + np.array(of_priors)

    @double_precision
    def advance(self, accepted: np.ndarray, new: _Point, old: _Point | None) -> _Point:
        moved: _Point = new if old is None else self.solver.advance(accepted, new, old)
        return moved

    @double_precision
    def step(self, point: _Point, damping: np.ndarray) -> tuple[tuple[Array, Array], np.ndarray]:
        U, corner = self.solver.eliminate(point.at, point.largest, damping)
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
        V, *sums = self.solver.influence(point.at)
        information, effect, squares, count, by_states, V_V = (np.asarray(part) for part in sums)
        prior, inverses, C = self.parameters[0].prior_weight, [], []
        for b in range(len(ends)):
            inverses.append(Inverse.of(information[b] + np.diag(prior), effect[b] + prior))
            freedom = degrees_of_freedom(count[b], by_states[b], V_V[b], inverses[b])
            C.append(residual_covariance(squares[b], freedom, self.solver.form.rows))
        meat = np.asarray(self.solver.meat(V, np.stack(C))) + np.diag(prior)
        std = np.zeros(point.theta.shape)  # 0 of parameters that were held
        for b, inverse in enumerate(inverses):
            std[b, self.common.open] = np.sqrt(np.diag(inverse.around(meat[b])))
        cost = np.asarray(point.squares) / len(self.common.h)  # without the priors, as `JointFit.cost`
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


def _advanced(accepted: Array, new: _Point, old: _Point) -> _Point:
    """The new point if it is accepted, with the larger diagonals of both; otherwise the old one."""
    grown = new._replace(
        largest=jnp.maximum(old.largest, new.largest),
        largest_of_theta=jnp.maximum(old.largest_of_theta, new.largest_of_theta),
    )
    point: _Point = jax.tree.map(partial(jnp.where, accepted), grown, old)
    return point


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


def _factorized(equations: NormalEquations, damping: Array) -> Array:
    """(N, d, 2 d + q + 1) U: [L^T, E^T, Y] of each state, with (N, d) damping on T's diagonal."""
    d = equations.T.shape[1]
    damped = equations.T + jnp.maximum(damping, LEAST_DAMPING)[:, :, None] * jnp.eye(d)
    rows = jnp.concatenate([damped, equations.above, equations.right], axis=2)

    def eliminate(left: Array, rows: Array) -> tuple[Array, Array]:
        U = _eliminated(rows - left, d)
        E_t, Y = U[:, d : 2 * d], U[:, 2 * d :]
        gone = _products(E_t, jnp.concatenate([E_t, Y], axis=1))
        # nothing is subtracted from the block above the diagonal: elimination of a state reaches the next one alone
        return jnp.concatenate([gone[:, :d], jnp.zeros((d, d)), gone[:, d:]], axis=1), U

    return jax.lax.scan(eliminate, jnp.zeros(rows.shape[1:]), rows)[1]


def _eliminated_states(at: RecordLinearization, largest: Array, damping: Array) -> tuple[Array, Array]:
    """U, and (q, q + 1) S_bar and g_bar."""
    equations = NormalEquations.of(at, _products)
    U = _factorized(equations, damping * largest)
    Y = U[:, :, 2 * equations.T.shape[1] :]
    return U, jnp.asarray(equations.corner) - jnp.einsum("kmp,kmq->pq", Y[:, :, :-1], Y)


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


def _influence(at: RecordLinearization) -> Influence:
    equations, d = NormalEquations.of(at, _products), at.by_x.shape[2]
    U = _factorized(equations, RIDGE * equations.diagonal)
    return Influence.of(at, _back(U, -U[:, :, 2 * d : -1]), *_inverse_blocks(U, d))
