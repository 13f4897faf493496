"""Errors of all steps and readings of a record with their derivatives, and their normal equations.

Derivatives are blocks (3.25 and Appendix B). A step's errors depend on the two states at its ends and on theta, a
reading's on one state and theta, so per sample

    e_k = (errors of the step from x_k to x_{k+1}; errors of the readings at x_k),

    A_k = de_k / dx_k,    B_k = de_k / dx_{k+1},    P_k = de_k / dtheta

and all other derivatives are zero. They are by rotation vectors at zero, x_k [+] d, for all steps at once. A step has
fewer errors than arguments, so reverse mode is used; the compiled function has a fixed number of steps (`in_chunks`).

Normal equations have a band for the states and a border for theta (Lacoursiere, Sect. 3.6).

    H = [ T   C ]      T block tridiagonal, a block a state,      gradient g = (g_x, g_theta)
        [ C^T S ]

T is factorized as a band (LAPACK's pbtrf), which eliminates the states; what remains is a problem of theta alone,

    S_bar = S - C^T T^-1 C,    g_bar = g_theta - C^T T^-1 g_x

with p unknowns in a box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from scipy import linalg

from ...arrays import Float, Vector
from ...banded import inverse_in_band
from ...models.maximal import double_precision
from ...models.maximal.precision import Numbers, Scalar
from .forms import Form
from .problem import Record


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


def samples_of(record: Record, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Samples of a record at states x (N, size), as `Form.linearized` takes them."""
    # for equal shapes the last sample gets a step to itself, of any length, whose errors are masked
    h, following = (np.append(part, part[-1:], axis=0) for part in (record.steps, x[1:]))
    # NaN would reach derivatives of other rows through reverse mode
    return x, following, record.u, np.nan_to_num(record.z), h


class Linearizer:
    """Linearization of a form of a model, compiled once."""

    def __init__(self, form: Form):
        self.form = form
        self.sensors = len(form.model.mechanism.sensors)

    @double_precision
    def all_of(
        self,
        records: Sequence[Record],
        x: Sequence[np.ndarray],
        theta: Vector,
        reference: Vector | None = None,
        touched: Sequence[Bool[np.ndarray, "_"]] | None = None,
        soft: Vector | None = None,
    ) -> list[RecordLinearization]:
        """Linearized records at states x (N, size).

        Args:
            reference: step errors are by `Form.by_inertia`; None: as they are.
            touched: steps of each record that have no errors, as the impulse of an end stop is unknown; None: no step.
            soft: as in `Form.linearized`.
        """
        whole = [np.concatenate(part) for part in zip(*map(samples_of, records, x), strict=True)]
        stacked = self.form.linearized(tuple(whole), theta, reference, soft)
        ends = np.cumsum([len(states) for states in x])[:-1]
        split = [np.split(part, ends) for part in stacked]
        linearized = []
        for k, (record, states, *parts) in enumerate(zip(records, x, *split, strict=True)):
            free = np.ones(len(states), dtype=bool) if touched is None else ~touched[k]
            there = np.concatenate(
                [np.repeat(free[:, None], self.form.rows, axis=1), ~np.isnan(record.z)], axis=1
            )
            there[-1, : self.form.rows] = False  # there is no step from the last state
            for part in parts:
                part[~there] = 0.0
            start = self.form.start_linearized(states[0], theta, record.steps[0])
            linearized.append(RecordLinearization(*parts, start, there))  # type: ignore[call-arg]
        return linearized


LEAST_DAMPING = 1e-30
"""Absolute damping of T's diagonal: a state that no residual depends on is then unchanged."""


def matmul(A: Numbers, B: Numbers) -> Numbers:
    """A^T B of each sample."""
    return A.swapaxes(1, 2) @ B


class NormalEquations(NamedTuple):
    """H and g of one record's weighted errors; arrays of NumPy or of JAX.

    Args:
        T: (N, d, d) blocks of the diagonal. above: (N, d, d) blocks (k, k + 1) beside them; the last one is 0.
        right: (N, d, p + 1) C and g_x. corner: (p, p + 1) S and g_theta.
    """

    T: Float[Numbers, "N d d"]
    above: Float[Numbers, "N d d"]
    right: Float[Numbers, "N d q"]
    corner: Float[Numbers, "p q"]

    @classmethod
    def of(cls, at: RecordLinearization, products: Callable[[Any, Any], Any] = matmul) -> NormalEquations:
        """J^T J and J^T e of errors; `products` gives A^T B of batches of small matrices, in the way that is fast."""
        xp, A, B = at.e.__array_namespace__(), at.by_x, at.by_next
        columns = xp.concat([at.by_theta, at.e[:, :, None]], axis=2)
        T, right = products(A, A), products(A, columns)
        # one product over all rows: separate products for each sample would take (N, p, p) numbers
        corner = xp.tensordot(at.by_theta, columns, axes=([0, 1], [0, 1]))
        if at.start is None:
            first_T, first_right = 0 * T[:1], 0 * right[:1]
        else:
            r, by_x, by_theta = at.start
            first = xp.concat([by_theta, r[:, None]], axis=1)
            first_T, first_right = (by_x.T @ by_x)[None], (by_x.T @ first)[None]
            corner = corner + by_theta.T @ first
        # derivatives of a step by the state after it belong to the rows of the next sample
        T = T + xp.concat([first_T, products(B, B)[:-1]])
        right = right + xp.concat([first_right, products(B, columns)[:-1]])
        return cls(T, products(A, B), right, corner)

    @property
    def diagonal(self) -> Any:
        """(N, d) diagonal of T."""
        return self.T.diagonal(axis1=-2, axis2=-1)

    def decrease(self, d_x: Any, d_theta: Any, damping: Any) -> Any:
        """-2 g^T d - d^T H d, H = J^T J without its damping (N, d).

        On the states' equations, (T + D) d_x + C d_theta = -g_x, it is -g_x^T d_x + d_x^T D d_x - g_theta^T d_theta -
        d_theta^T (S d_theta + C^T d_x + g_theta). Bounds may hold theta, so its equations need not be solved.
        """
        xp = d_x.__array_namespace__()
        by_states = xp.tensordot(d_x, self.right, axes=2)  # C^T d_x and g_x^T d_x
        S, g_theta = self.corner[:, :-1], self.corner[:, -1]
        # S without the damping of theta: the decrease is that of the quadratic, not of the damped one
        remainder = S @ d_theta + by_states[:-1] + g_theta
        return (damping * d_x**2).sum() - by_states[-1] - g_theta @ d_theta - d_theta @ remainder


@dataclass(frozen=True, eq=False)
class Factorization:
    """Cholesky band of T of a record with its damping, its equations before that, and (N, d, p + 1) T^-1 (C, g_x)."""

    factor: Float[np.ndarray, "w n"]
    equations: NormalEquations
    solved: Float[np.ndarray, "N d q"]

    def states(self, d_theta: Vector) -> Float[np.ndarray, "N d"]:
        """Step of the states for a step of theta."""
        return np.asarray(-(self.solved[:, :, -1] + self.solved[:, :, :-1] @ d_theta))

    def inverse_blocks(self) -> tuple[Float[np.ndarray, "N d d"], Float[np.ndarray, "N d d"]]:
        """Blocks (k, k) and (k, k + 1) of T^-1; the last block (k, k + 1) is 0."""
        Z = inverse_in_band(np.ascontiguousarray(self.factor))
        diagonal, above = np.zeros_like(self.equations.T), np.zeros_like(self.equations.T)
        d = diagonal.shape[1]
        for a in range(d):
            for b in range(d):
                diagonal[:, a, b] = Z[abs(a - b), min(a, b) :: d]
                above[:-1, b, a] = Z[d + a - b, b::d][:-1]
        return diagonal, above

    @property
    def corner(self) -> Float[np.ndarray, "p q"]:
        """This record's part of S_bar and g_bar."""
        C = self.equations.right[:, :, :-1]
        return np.asarray(self.equations.corner - np.einsum("kdp,kdq->pq", C, self.solved, optimize=True))


def factorize(equations: NormalEquations, damping: Float[np.ndarray, "N d"]) -> Factorization:
    """Factorize with damping added to T's diagonal; `LinAlgError` if it is still not positive definite."""
    N, d, q = equations.right.shape
    # LAPACK's lower band: T[i, j] is band[i - j, j]; blocks below the diagonal are those above it, transposed
    band = np.zeros((2 * d, N * d))
    for j in range(d):
        for i in range(j, d):
            band[i - j, j::d] = equations.T[:, i, j]
        for i in range(d):
            band[d + i - j, j : (N - 1) * d : d] = equations.above[:-1, j, i]
    band[0] += np.maximum(damping, LEAST_DAMPING).ravel()
    factor = linalg.cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
    right = np.asarray(equations.right).reshape(N * d, q)
    solved = linalg.cho_solve_banded((factor, True), right, check_finite=False)
    return Factorization(factor, equations, solved.reshape(N, d, q))
