"""Errors of all steps and readings of a record with their derivatives, as blocks (3.25 and Appendix B).

A step's errors depend on the two states at its ends and on theta, a reading's on one state and theta, so per sample

    e_k = (errors of the step from x_k to x_{k+1}; errors of the readings at x_k),

    A_k = de_k / dx_k,    B_k = de_k / dx_{k+1},    P_k = de_k / dtheta

and all other derivatives are zero. They are by rotation vectors at zero, x_k [+] d, for all steps at once. A step has
fewer errors than arguments, so reverse mode is used; the compiled function has a fixed number of steps (`in_chunks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ...arrays import Vector
from ...models.maximal import double_precision
from ...models.maximal.precision import Numbers, Scalar
from .forms import Form, in_chunks
from .records import Record

TOGETHER = 8
"""Steps in a batch of a chunk: intermediate results then fit into the first cache. 16 take three times as long, 1
twice."""


class RecordLinearization(NamedTuple):
    """Errors of one record with their derivatives at given states and theta; arrays of NumPy or of JAX.

    Args:
        e: (N, m) errors; of the last sample only the errors of readings are not 0.
        by_x, by_next: (N, m, d) A and B; the last of B are 0.
        by_theta: (N, m, p) P.
        start: (m_0,) errors of the first state, (m_0, d) and (m_0, p) their derivatives; None where there are none.
        there: (N, m) whether the error exists (a step, a reading); None: all do.
    """

    e: Float[Numbers, "N m"]
    by_x: Float[Numbers, "N m d"]
    by_next: Float[Numbers, "N m d"]
    by_theta: Float[Numbers, "N m p"]
    start: tuple[Float[Numbers, "m0"], Float[Numbers, "m0 d"], Float[Numbers, "m0 p"]] | None = None
    there: Bool[Numbers, "N m"] | None = None

    @property
    def cost(self) -> Any:
        """Sum of squares of all errors."""
        return (self.e**2).sum() + (0.0 if self.start is None else (self.start[0] ** 2).sum())

    @property
    def count(self) -> Any:
        """(m,) number of errors of each row."""
        N, m = self.e.shape
        return np.full(m, float(N)) if self.there is None else self.there.sum(axis=0).astype(float)

    def weighted(self, roots: Float[Numbers, "*N m"], start: Scalar) -> RecordLinearization:
        """All rows times the root of their weight: (N, m), or (m,) for all samples."""
        factor = roots[..., None]
        first = None if self.start is None else tuple(start * part for part in self.start)
        scaled = (self.e * roots, self.by_x * factor, self.by_next * factor, self.by_theta * factor)
        return RecordLinearization(*scaled, first, self.there)  # type: ignore[arg-type]

    def opened(self, columns: Int[Numbers, "q"]) -> RecordLinearization:
        """The linearization with only these columns of theta."""
        first = None if self.start is None else (*self.start[:2], self.start[2][:, columns])
        return self._replace(by_theta=self.by_theta[:, :, columns], start=first)


class Linearizer:
    """Linearization of a form of a model, compiled once."""

    def __init__(self, form: Form):
        self.form = form
        self.sensors = len(form.model.mechanism.sensors)
        self._call: Callable[..., Any] = jax.jit(
            lambda *given: self.of_samples(given[:-2], given[-2], TOGETHER, given[-1])
        )
        self._start: Callable[..., Any] = jax.jit(self.of_start)

    @double_precision
    def all_of(
        self,
        records: Sequence[Record],
        x: Sequence[np.ndarray],
        theta: Vector,
        reference: Vector | None = None,
    ) -> list[RecordLinearization]:
        """Linearized records at states x (N, size); with a reference, step errors are by `Form.by_inertia`."""
        given = []
        for record, states in zip(records, x, strict=True):
            # for equal shapes the last sample gets a step to itself, of any length, whose errors are masked
            h, following = (np.append(part, part[-1:], axis=0) for part in (record.steps, states[1:]))
            # NaN would reach derivatives of other rows through reverse mode
            given.append((states, following, record.u, np.nan_to_num(record.z), h))
        whole = [np.concatenate(part) for part in zip(*given, strict=True)]
        stacked = in_chunks(self._call, len(whole[0]), *whole, last=(theta, reference))
        ends = np.cumsum([len(states) for states in x])[:-1]
        split = [np.split(part, ends) for part in stacked]
        linearized = []
        for record, states, *parts in zip(records, x, *split, strict=True):
            measured = ~np.isnan(record.z)
            there = np.concatenate([np.ones((len(states), self.form.rows), dtype=bool), measured], axis=1)
            there[-1, : self.form.rows] = False  # there is no step from the last state
            for part in parts:
                part[~there] = 0.0
            start = tuple(np.asarray(part) for part in self._start(states[0], theta, record.steps[0]))
            linearized.append(RecordLinearization(*parts, start if len(start[0]) else None, there))  # type: ignore[call-arg]
        return linearized

    def of_samples(
        self, samples: tuple[Array, ...], theta: Array, together: int, reference: Array | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """e, A, B and P, in JAX, of states, those that follow, controls, readings and steps, a row a sample, and theta
        (p,); `together` is the number of samples in a batch.
        """

        def linearize_sample(sample: tuple[Array, ...]) -> tuple[Array, Array, Array, Array]:
            x, y, u, z, h = sample
            form = self.form
            zero = jnp.zeros(form.degrees)

            def errors(d: Array, d_next: Array, theta: Array) -> tuple[Array, Array]:
                start, end = form.plus(x, d), form.plus(y, d_next)
                # the difference first, then without full turns: in [-pi, pi] for any turn of the state
                away = form.model.nearest_turn(form.readings(start, theta) - z)
                step = form.step_errors(start, end, u, theta, h)
                if reference is not None:
                    step = form.by_inertia(step, start, theta, reference)
                e = jnp.concatenate([step, away])
                return e, e

            slopes, e = jax.jacrev(errors, argnums=(0, 1, 2), has_aux=True)(zero, zero, theta)
            return e, *slopes

        rows: tuple[Array, Array, Array, Array] = jax.lax.map(linearize_sample, samples, batch_size=together)
        return rows

    def of_start(self, x: Array, theta: Array, h: Array) -> tuple[Array, Array, Array]:
        """Errors of the first state and their derivatives, in JAX; maybe none."""

        def errors(d: Array, theta: Array) -> Array:
            return self.form.start_errors(self.form.plus(x, d), theta, h)

        zero = jnp.zeros(self.form.degrees)
        by_x, by_theta = jax.jacrev(errors, argnums=(0, 1))(zero, theta)
        return errors(zero, theta), by_x, by_theta
