"""Drive gains from the equation that is linear in them: the current is a column of the regressor.

    kappa_j y_j - W_j theta = h_j            kappa_j: the drive's true gain over the nominal one

Ordinary least squares assumes y exact although it is noisy: gains are biased towards zero (errors in variables). Total
least squares assumes all columns equally noisy, once each has norm 1: x = (kappa, theta, 1) is the last right singular
vector of [y -W -h] (Gautier and Briot 2014). Both are for comparison with `output_error`.
"""

from __future__ import annotations

import numpy as np

from ....arrays import Matrix, Vector

EXACT = 1e6
"""Weight of prior knowledge relative to all rows together, where it is treated as almost exact."""


def ordinary(M: np.ndarray, free: np.ndarray, P: Matrix | None = None, z: Vector | None = None) -> Vector:
    """(n,) kappa by least squares, 1 where not `free` (n,); M are cross products (n, k + 2, k + 2) of [W h y], and
    prior knowledge P theta = z, (r, k) and (r,), is treated as almost exact.
    """
    whole = _gram(M, free, np.ones(len(M)))
    G, known = whole[:-1, :-1], whole[:-1, -1]
    if P is not None and z is not None and len(P):
        m = int(free.sum())
        # a large weight instead of an equality, so that rows of P may contradict each other
        exact = EXACT * np.trace(G) / np.sum(P**2)
        G[m:, m:] += exact * P.T @ P
        known[m:] -= exact * P.T @ z
    scale = _norms(G)
    x = np.linalg.lstsq(G / np.outer(scale, scale), -known / scale, rcond=None)[0] / scale
    return _ratios(x, free)


def total(M: np.ndarray, free: np.ndarray, R: Matrix, weights: Vector) -> Vector:
    """(n,) kappa by total least squares of weighted rows, 1 where not free; R (k, k) is that of M's white columns."""
    own = np.eye(len(R) + 2)
    own[:-2, :-2] = R
    G = _gram(own.T @ M @ own, free, weights)
    scale = _norms(G)
    x = np.linalg.eigh(G / np.outer(scale, scale))[1][:, 0] / scale
    return _ratios(x[:-1] / x[-1], free)


def _gram(M: np.ndarray, free: np.ndarray, weights: Vector) -> Matrix:
    """Cross products of the columns [y of each free joint, -W] and of those with coefficient 1: y of others, -h."""
    m, size = int(free.sum()), M.shape[1]
    C = np.zeros((len(M), size, m + size - 1))
    C[:, np.arange(size - 1), np.arange(m, m + size - 1)] = -1.0
    C[free, -1, np.arange(m)] = 1.0
    C[~free, -1, -1] = 1.0
    return np.asarray(np.sum(weights[:, None, None] ** 2 * (C.transpose(0, 2, 1) @ M @ C), axis=0))


def _norms(G: Matrix) -> Vector:
    norms = np.sqrt(np.diag(G))
    return np.where(norms > 0, norms, 1.0)


def _ratios(x: Vector, free: np.ndarray) -> Vector:
    kappa = np.ones(len(free))
    kappa[free] = x[: int(free.sum())]
    return kappa
