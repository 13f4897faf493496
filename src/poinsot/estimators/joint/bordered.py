"""Normal equations of states and theta: a band for the states, a border for theta (Lacoursiere, Sect. 3.6).

    H = [ T   C ]      T block tridiagonal, a block a state,      gradient g = (g_x, g_theta)
        [ C^T S ]

T is factorized as a band (LAPACK's pbtrf), which eliminates the states; what remains is a problem of theta alone,

    S_bar = S - C^T T^-1 C,    g_bar = g_theta - C^T T^-1 g_x

with p unknowns in a box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from ...arrays import Float, Vector
from ...banded import inverse_in_band
from ...models.maximal.precision import Numbers
from .linearization import RecordLinearization

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
