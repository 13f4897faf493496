"""Normal equations of states and theta: a band for the states, a border for theta (Sect. 3.6).

    H = [ T   C ]      T block tridiagonal, a block a state,      gradient g = (g_x, g_theta)
        [ C^T S ]

T is factored as a band (LAPACK's pbtrf), so the states are gone for the price of a band, and what remains is theta's,

    S_bar = S - C^T T^-1 C,    g_bar = g_theta - C^T T^-1 g_x

a problem of p unknowns in a box. Nothing grows but with the number of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import linalg
from scipy.optimize import lsq_linear

from ...arrays import Matrix, Vector
from ...banded import inverse_in_band
from .linearization import Linearization

LEAST = 1e-30
"""Damping of a number that nothing depends on."""


@dataclass(frozen=True, eq=False)
class Normal:
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


def normal(of: Linearization) -> Normal:
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
    return Normal(band, C.reshape(N * d, -1), S, g.ravel(), g_theta)


@dataclass(frozen=True, eq=False)
class Factored:
    """T of a record with its damping, factored.

    Args:
        factor: its Cholesky band.
        of: what it is of.
        solved: (N d, p + 1) T^-1 (C, g_x).
    """

    factor: Float[np.ndarray, "w n"]
    of: Normal
    solved: Float[np.ndarray, "n q"]

    def states(self, d_theta: Vector) -> Vector:
        """(N d,) the step of the states that belongs to one of theta."""
        return -(self.solved[:, -1] + self.solved[:, :-1] @ d_theta)

    def variances(self) -> Vector:
        """(N d,) diagonal of T^-1."""
        return np.asarray(inverse_in_band(np.ascontiguousarray(self.factor))[0])

    @property
    def corner(self) -> Matrix:
        """(p, p) this record's part of S_bar."""
        return np.asarray(self.of.corner - self.of.border.T @ self.solved[:, :-1])

    @property
    def gradient(self) -> Vector:
        """(p,) its part of g_bar."""
        return np.asarray(self.of.g_theta - self.of.border.T @ self.solved[:, -1])


def factored(of: Normal, damping: Vector) -> Factored:
    """With (N d,) damping added to T's diagonal.

    Raises:
        numpy.linalg.LinAlgError: if it is not positive definite all the same.
    """
    band = of.band.copy()
    band[0] += np.maximum(damping, LEAST)
    factor = linalg.cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
    right = np.concatenate([of.border, of.g_x[:, None]], axis=1)
    return Factored(factor, of, linalg.cho_solve_banded((factor, True), right, check_finite=False))


def step_in_box(S: Matrix, g: Vector, lower: Vector, upper: Vector) -> Vector:
    """(p,) argmin d^T S d / 2 + g^T d, lower <= d <= upper (Appendix C); S positive definite."""
    room = upper > lower
    if not room.all():  # BVLS goes astray where a box is closed
        d = np.where(room, 0.0, lower)
        d[room] = step_in_box(S[np.ix_(room, room)], (g + S @ d)[room], lower[room], upper[room])
        return d
    if not len(g):
        return np.zeros(0)
    if not (np.diag(S) > 0).all():
        raise np.linalg.LinAlgError("S is not positive definite")
    scale = 1 / np.sqrt(np.diag(S))
    L = np.linalg.cholesky(S * scale[:, None] * scale)
    free = -linalg.cho_solve((L, True), g * scale)
    box = lower / scale, upper / scale
    if (free >= box[0]).all() and (free <= box[1]).all():
        return np.asarray(free * scale)
    target = -linalg.solve_triangular(L, g * scale, lower=True)
    found = lsq_linear(
        L.T,
        target,
        bounds=box,
        method="bvls",
        tol=1e-14,
        max_iter=max(100, 10 * len(g)),
    )
    inside = np.clip(found.x * scale, lower, upper)
    return np.where(found.active_mask < 0, lower, np.where(found.active_mask > 0, upper, inside))
