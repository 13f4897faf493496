"""NormalEquations equations of states and theta: a band for the states, a border for theta (Sect. 3.6).

    H = [ T   C ]      T block tridiagonal, a block a state,      gradient g = (g_x, g_theta)
        [ C^T S ]

T is factorized as a band (LAPACK's pbtrf), which eliminates the states; what remains is a problem of theta alone,

    S_bar = S - C^T T^-1 C,    g_bar = g_theta - C^T T^-1 g_x

with p unknowns in a box. Time and memory grow linearly with the number of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import linalg

from ...arrays import Matrix, Vector
from ...banded import inverse_in_band
from .linearization import RecordLinearization

LEAST_DAMPING = 1e-30
"""Absolute damping of T's diagonal: a state that no residual depends on then stays where it is."""


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """H and g of one record's weighted errors.

    Args:
        band: (2 d, N d) T, its lower diagonals.
        border: (N d, p) C. corner: (p, p) S.
        g_x: (N d,). g_theta: (p,).
    """

    band: Float[np.ndarray, "w n"]
    border: Float[np.ndarray, "n p"]
    corner: Matrix
    g_x: Vector
    g_theta: Vector

    @property
    def diagonal(self) -> Vector:
        """(N d,) of T."""
        return self.band[0]


def normal_equations(of: RecordLinearization) -> NormalEquations:
    """J^T J and J^T e."""
    A, B, P, e = of.by_x, of.by_next, of.by_theta, of.e
    N, _, d = A.shape
    A_t, B_t = np.swapaxes(A, 1, 2), np.swapaxes(B[:-1], 1, 2)
    T, C, g = A_t @ A, A_t @ P, (A_t @ e[:, :, None])[:, :, 0]
    T[1:] += B_t @ B[:-1]
    C[1:] += B_t @ P[:-1]
    g[1:] += (B_t @ e[:-1, :, None])[:, :, 0]
    below = B_t @ A[:-1]
    S, g_theta = np.einsum("kmp,kmq->pq", P, P, optimize=True), np.einsum("kmp,km->p", P, e)
    if of.start is not None:
        r, by_x, by_theta = of.start
        T[0] += by_x.T @ by_x
        C[0] += by_x.T @ by_theta
        g[0] += by_x.T @ r
        S, g_theta = S + by_theta.T @ by_theta, g_theta + by_theta.T @ r
    band = np.zeros((2 * d, N * d))
    for j in range(d):
        for i in range(j, d):
            band[i - j, j::d] = T[:, i, j]
        for i in range(d):
            band[d + i - j, j : (N - 1) * d : d] = below[:, i, j]
    return NormalEquations(band, C.reshape(N * d, -1), S, g.ravel(), g_theta)


@dataclass(frozen=True, eq=False)
class Factorization:
    """Cholesky factor of T of a record with its damping, and what it solves.

    Args:
        factor: its Cholesky band.
        equations: before they were damped.
        solved: (N d, p + 1) T^-1 (C, g_x).
    """

    factor: Float[np.ndarray, "w n"]
    equations: NormalEquations
    solved: Float[np.ndarray, "n q"]

    def states(self, d_theta: Vector) -> Vector:
        """(N d,) the step of the states that belongs to one of theta."""
        return -(self.solved[:, -1] + self.solved[:, :-1] @ d_theta)

    def inverse_blocks(self, d: int) -> tuple[Float[np.ndarray, "N d d"], Float[np.ndarray, "N d d"]]:
        """Blocks (k, k) and (k, k + 1) of T^-1, without the rest of it; the last of the latter is 0."""
        Z = inverse_in_band(np.ascontiguousarray(self.factor))
        N = Z.shape[1] // d
        diagonal, above = np.zeros((N, d, d)), np.zeros((N, d, d))
        for a in range(d):
            for b in range(d):
                diagonal[:, a, b] = Z[abs(a - b), min(a, b) :: d]
                above[:-1, b, a] = Z[d + a - b, b::d][:-1]
        return diagonal, above

    @property
    def corner(self) -> Matrix:
        """(p, p) this record's part of S_bar."""
        return np.asarray(self.equations.corner - self.equations.border.T @ self.solved[:, :-1])

    @property
    def gradient(self) -> Vector:
        """(p,) its part of g_bar."""
        return np.asarray(self.equations.g_theta - self.equations.border.T @ self.solved[:, -1])


def factorize(of: NormalEquations, damping: Vector) -> Factorization:
    """With (N d,) damping added to T's diagonal.

    Raises:
        numpy.linalg.LinAlgError: if it is not positive definite all the same.
    """
    band = of.band.copy()
    band[0] += np.maximum(damping, LEAST_DAMPING)
    factor = linalg.cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
    right = np.concatenate([of.border, of.g_x[:, None]], axis=1)
    return Factorization(factor, of, linalg.cho_solve_banded((factor, True), right, check_finite=False))
