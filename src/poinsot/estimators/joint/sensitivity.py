"""How sure theta is, once states are free to follow it (3.26 to 3.32).

A change of theta moves the states by X = -T^-1 C, so what it does to the errors is, variable projection's Jacobian,

    V_k = P_k + A_k X_k + B_k X_{k+1},      S_bar = sum_k V_k^T V_k      (3.32)

with rows weighted by W. Weights are chosen, not known, so the covariance is that of errors as they are:

    linearized    S_bar^-1 (sum_k V_k^T C V_k) S_bar^-1,    C the covariance of the rows of e_k over k (3.26, 3.27)
    robust        S_bar^-1 (sum_|l| < L (1 - |l|/L) sum_k s_k s_{k+l}^T) S_bar^-1,    s_k = V_k^T e_k

The first holds if errors of one step say nothing of the next one's. Those of real mechanisms do: what a model lacks
lasts. The second is for these (Newey and West 1987, the lag L by Andrews 1991); the paper found its own standard
deviations ten times too small.

Directions in which S_bar is nothing beside its diagonal are what the records do not show; the covariance is that of the
others, and NaN for parameters with a part in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...arrays import Matrix, Vector
from .bordered import factored, normal
from .linearization import Linearization

UNSEEN = 1e-10
"""Eigenvalue of S_bar, its diagonal before the states moved made 1, below which a direction is not seen."""
PART = 1e-3
"""Of a parameter in an unseen direction from which on it is not seen itself."""
RIDGE = 1e-13
"""Of the diagonal of T, relative, that keeps states in place that nothing determines."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Of q open parameters.

    Args:
        information: (q, q) S_bar.
        covariance: (q, q) for errors that do not follow each other; NaN where parameters are not seen.
        robust: (q, q) for errors that do.
        unseen: (r, q) directions of theta that no error shows, of unit length in parameters of unit effect.
        scale: (q,) changes of parameters of unit effect.
        lag: L [steps].
    """

    information: Matrix
    covariance: Matrix
    robust: Matrix
    unseen: Float[np.ndarray, "r q"]
    scale: Vector
    lag: int

    @property
    def unseen_changes(self) -> Float[np.ndarray, "r q"]:
        """`unseen`, in the units of theta."""
        return self.unseen * self.scale


@dataclass(frozen=True, eq=False)
class Inverse:
    """S_bar^-1 in the directions that are seen.

    Args:
        matrix: (q, q). unseen: (r, q). scale: (q,). See `Sensitivity`.
    """

    matrix: Matrix
    unseen: Float[np.ndarray, "r q"]
    scale: Vector

    @classmethod
    def of(cls, S: Matrix, effect: Vector) -> Inverse:
        """`effect` (q,) is the diagonal before the states moved."""
        scale = 1 / np.sqrt(np.where(effect > 0, effect, 1.0))
        values, vectors = np.linalg.eigh(S * scale[:, None] * scale)
        seen = values > UNSEEN
        root = scale[:, None] * vectors[:, seen]
        return cls((root / values[seen]) @ root.T, vectors[:, ~seen].T, scale)

    def around(self, part: Matrix) -> Matrix:
        """(q, q) S_bar^-1 part S_bar^-1; NaN of parameters that are not seen."""
        covariance = np.asarray(self.matrix @ part @ self.matrix)
        hidden = np.abs(self.unseen).max(axis=0, initial=0.0) > PART
        covariance[hidden], covariance[:, hidden] = np.nan, np.nan
        return covariance


def state_variances(of: Linearization, covariance: Matrix) -> Float[np.ndarray, "N d"]:
    """(N, d) variances of the states' tangents, weights taken for 1 / variances: T^-1 and what theta adds, X P X^T."""
    N, _, d = of.by_x.shape
    part = normal(of)
    solved = factored(part, RIDGE * part.diagonal)
    X = solved.solved[:, :-1]
    by_theta = np.einsum("np,pq,nq->n", X, np.nan_to_num(covariance), X, optimize=True)
    return (solved.variances() + by_theta).reshape(N, d)


def sensitivity(of: Sequence[Linearization], steps: int, known: Vector) -> Sensitivity:
    """From weighted errors at the solution.

    Args:
        of: each record.
        steps: how many rows of a sample are of its step.
        known: (q,) weights of what is known of theta, whose errors are as large as they say.
    """
    projected = [_projected(each) for each in of]
    q = of[0].by_theta.shape[2]
    S = sum((np.einsum("kmp,kmq->pq", V, V, optimize=True) for V in projected), np.diag(known))
    if not q:
        return Sensitivity(S, S, S, np.zeros((0, 0)), np.zeros(0), 0)
    effect = known + sum(np.einsum("kmp,kmp->p", each.by_theta, each.by_theta, optimize=True) for each in of)
    inverse = Inverse.of(S, effect)

    rows = np.concatenate([each.e for each in of])
    count = np.maximum(sum(_count(each) for each in of) - q, 1)
    C = rows.T @ rows / np.sqrt(np.outer(count, count))
    C[:steps, steps:], C[steps:, :steps] = 0.0, 0.0
    meat = sum((np.einsum("kmp,mn,knq->pq", V, C, V, optimize=True) for V in projected), np.diag(known))
    scores = [
        np.einsum("kmp,km->kp", V, each.e, optimize=True) for V, each in zip(projected, of, strict=True)
    ]
    lag = andrews_lag(scores)
    robust = sum((newey_west(each, lag) for each in scores), np.diag(known))
    both = inverse.around(meat), inverse.around(robust)
    return Sensitivity(S, *both, inverse.unseen, inverse.scale, lag)


def _count(of: Linearization) -> np.ndarray:
    """(m,) errors of each row that there are."""
    return np.full(of.e.shape[1], len(of.e)) if of.there is None else of.there.sum(axis=0)


def _projected(of: Linearization) -> Float[np.ndarray, "N m q"]:
    """V."""
    N, _, d = of.by_x.shape
    part = normal(of)
    ridge = RIDGE * part.diagonal
    X = -factored(part, ridge).solved[:, :-1].reshape(N, d, -1)
    V = of.by_theta + of.by_x @ X
    V[:-1] += of.by_next[:-1] @ X[1:]
    return np.asarray(V)


def newey_west(scores: Float[np.ndarray, "N q"], lag: int) -> Matrix:
    """(q, q) sum of autocovariances, with Bartlett's weights."""
    total = scores.T @ scores
    for l in range(1, min(lag, len(scores) - 1) + 1):
        crossed = scores[l:].T @ scores[:-l]
        total = total + (1 - l / (lag + 1)) * (crossed + crossed.T)
    return np.asarray(total)


def andrews_lag(scores: Sequence[Float[np.ndarray, "_ q"]]) -> int:
    """Of Bartlett's weights, from how scores follow themselves (Andrews 1991, Eqs. 6.2 and 6.4, first order)."""
    N = sum(len(each) for each in scores)
    above, below = 0.0, 0.0
    for column in range(scores[0].shape[1]):
        before = np.concatenate([each[:-1, column] for each in scores])
        after = np.concatenate([each[1:, column] for each in scores])
        square = float(before @ before)
        if square <= 0:
            continue
        rho = float(np.clip(before @ after / square, -0.97, 0.97))
        spread = float(np.mean((after - rho * before) ** 2)) ** 2
        if spread <= 0:
            continue
        weight = 1 / (spread / (1 - rho) ** 4)  # each score by its own long-run variance
        above += weight * 4 * rho**2 * spread / ((1 - rho) ** 6 * (1 + rho) ** 2)
        below += weight * spread / (1 - rho) ** 4
    if not below:
        return 0
    return int(min(np.ceil(1.1447 * (above / below * N) ** (1 / 3)), N // 4))
