"""Covariance of theta with the states eliminated (Lacoursiere, Eqs. 3.26 to 3.32).

A change of theta moves the states by X = -T^-1 C, so that its effect on the residuals is the Jacobian
of variable projection,

    V_k = P_k + A_k X_k + B_k X_{k+1},      S_bar = sum_k V_k^T V_k      (3.32)

with rows weighted by W. Weights are chosen, not known, so the covariance uses the size that the residuals have:

    white       S_bar^-1 (sum_k V_k^T C V_k) S_bar^-1,    C the covariance of the rows of e_k over k (3.26, 3.27)
    coloured    a S_bar^-1 (sum_|l| < L (1 - |l|/L) sum_k s_k s_{k+l}^T) S_bar^-1,    s_k = V_k^T e_k

The residuals are smaller than the noise, since N d states and q parameters were fitted to them. With H the influence
matrix of the whitened problem, (I - H) r is the residual that the noise r causes, so row i of all steps has

    n_i - trace(H_ii),    trace(H_ii) = sum_k [A B]_ki T^-1 [A B]_ki^T + V_ki S_bar^-1 V_ki^T

effective degrees of freedom, by which its squares are divided. It takes only blocks of T^-1 within the band of T, which
Takahashi's recursion gives exactly.

The first covariance holds if residuals of different steps are independent, the second also where effects that the model
lacks persist (Newey and West 1987, the lag L by Andrews 1991), with a factor a for the degrees of freedom of theta and
for the few independent lags in N steps (`taper_allowance`). V is orthogonal to the columns of the states, so the sum of
V_k^T e_k is that of V_k^T r_k. But states reduce the sums of products, which for white residuals of unit variance are
on average

    M = sum_|l| < L (1 - |l|/L) sum_k V_k^T (I - H)_{k,k+l} V_{k+l}     in place of S_bar,   H of the states only,

by which they are divided, as Bell and McCaffrey (2002) do where clusters take the place of lags. Bartlett's weights
count the windows of L steps that hold both k and k + l. Of the states' columns a window cuts the first and the last:
with x_a = A_a^T V_a and y_b = B_b^T V_b at its ends, M lacks (x_a, y_b)^T T^-1 (x_a, y_b) / L, far blocks of T^-1 by
products of the gains of a smoother.

Directions in which S_bar is negligible beside its diagonal are unobservable; the covariance is computed in the others,
and is NaN for parameters with a part in unobservable directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Float, Matrix, Vector
from ...estimate import condition_numbers
from ...statistics import andrews_lag, sum_covariance, taper_allowance
from .linearization import Factorization, NormalEquations, RecordLinearization, factorize

UNOBSERVABLE = 1e-10
"""Eigenvalue of S_bar, scaled so that its diagonal before the states moved is 1, below which a direction counts as
unobservable: rounding of sums over 1e5 rows is some 1e-12 of it."""
PART = 1e-3
"""Part of a parameter in an unobservable direction above which it is unobservable itself."""
RIDGE = 1e-13
"""Relative addition to the diagonal of T, for states that no residual determines."""
LEAST_FREEDOM = 1e-6
"""Least effective degrees of freedom of a row, by the number of its residuals: their computation as a difference has a
rounding error of this order, and rows with fewer have no share in the information on theta."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Uncertainty of q open parameters.

    Args:
        information: (q, q) S_bar.
        covariance: (q, q) for white residuals; NaN where parameters are unobservable.
        robust: (q, q) for autocorrelated residuals.
        unobservable: (r, q) directions that change no residual, of unit length in parameters of unit effect.
        scale: (q,) changes of parameters of unit effect.
        lag: L [steps].
        freedom: (m,) effective degrees of freedom of each row of the residuals.
    """

    information: Matrix
    covariance: Matrix
    robust: Matrix
    unobservable: Float[np.ndarray, "r q"]
    scale: Vector
    lag: int
    freedom: Vector

    @property
    def condition_numbers(self) -> tuple[float, float]:
        """Condition numbers of V, the whitened Jacobian of theta, and of V with unit columns; inf if unobservable."""
        return (np.inf, np.inf) if len(self.unobservable) else condition_numbers(self.information)


@dataclass(frozen=True, eq=False)
class Inverse:
    """S_bar^-1 = root root^T in the observable directions, root (q, q - r); others as in `Sensitivity`."""

    root: Matrix
    unobservable: Float[np.ndarray, "r q"]
    scale: Vector

    @classmethod
    def of(cls, S: Matrix, effect: Vector) -> Inverse:
        """From S_bar and its diagonal before the states moved, (q,)."""
        scale = 1 / np.sqrt(np.where(effect > 0, effect, 1.0))
        # scaled, since eigenvalues of S_bar itself would compare kilograms with metres
        values, vectors = np.linalg.eigh(S * scale[:, None] * scale)
        observable = values > UNOBSERVABLE
        root = scale[:, None] * vectors[:, observable]
        return cls(root / np.sqrt(values[observable]), vectors[:, ~observable].T, scale)

    @property
    def matrix(self) -> Matrix:
        """(q, q)"""
        return np.asarray(self.root @ self.root.T)

    def around(self, part: Matrix) -> Matrix:
        """(q, q) S_bar^-1 part S_bar^-1; NaN for unobservable parameters."""
        covariance = np.asarray(self.matrix @ part @ self.matrix)
        # NaN, not a large number: the data do not determine them
        hidden = np.abs(self.unobservable).max(axis=0, initial=0.0) > PART
        covariance[hidden], covariance[:, hidden] = np.nan, np.nan
        return covariance


def degrees_of_freedom(count: Vector, by_states: Vector, V_V: np.ndarray, inverse: Inverse) -> Vector:
    """(m,) effective degrees of freedom of rows with `count` residuals (m,), of which states take `by_states` (m,).

    `V_V` (m, q, q) are the sums over steps of V_i^T V_i, i the row; `inverse` is that of S_bar.
    """
    by_theta = np.einsum("pq,mqp->m", inverse.matrix, V_V)
    # a difference of nearly equal numbers, which rounding may make negative
    return np.maximum(count - by_states - by_theta, np.maximum(LEAST_FREEDOM * count, LEAST_FREEDOM))


def residual_covariance(squares: Matrix, freedom: Vector, steps: int) -> Matrix:
    """(m, m) C from sum e_k e_k^T; residuals of steps, the first rows, are independent of those of readings."""
    C = squares / np.sqrt(np.outer(freedom, freedom))
    # set, not estimated: a model's errors and a sensor's noise have different causes
    C[:steps, steps:], C[steps:, :steps] = 0.0, 0.0
    return C


def state_variances(linearized: RecordLinearization, covariance: Matrix) -> Float[np.ndarray, "N d"]:
    """(N, d) variances of the states' tangents, weights taken as 1 / variances: T^-1 and theta's share, X P X^T."""
    factors = _factorize(linearized)
    X = factors.solved[:, :, :-1]
    by_theta = np.einsum("ndp,pq,ndq->nd", X, np.nan_to_num(covariance), X, optimize=True)
    return np.asarray(np.einsum("kii->ki", factors.inverse_blocks()[0]) + by_theta)


def reading_variances(
    linearized: RecordLinearization, covariance: Matrix, steps: int
) -> Float[np.ndarray, "N s"]:
    """(N, s) variances of predicted readings, in those of their noise; 0 where nothing was measured.

    Args:
        steps: number of rows of a sample that belong to its step.
    """
    factors, H = _factorize(linearized), linearized.by_x[:, steps:]
    by_theta = linearized.by_theta[:, steps:] - H @ factors.solved[:, :, :-1]
    of_states = np.einsum("nsd,nde,nse->ns", H, factors.inverse_blocks()[0], H, optimize=True)
    return np.asarray(of_states + np.einsum("nsp,pq,nsq->ns", by_theta, covariance, by_theta, optimize=True))


def last_state(linearized: RecordLinearization) -> tuple[Float[np.ndarray, "d q"], Matrix]:
    """Change of the last state by theta, and its covariance (d, d) given theta, weights taken as 1 / variances."""
    factors = _factorize(linearized)
    return -factors.solved[-1, :, :-1], factors.inverse_blocks()[0][-1]


class Influence(NamedTuple):
    """The sums of one record that `sensitivity` adds over records; arrays of NumPy or of JAX.

    Args:
        V: (N, m, q). S: (q, q) sum V^T V. effect: (q,) the diagonal of that before the states moved.
        squares: (m, m) sum e e^T. count, by_states: (m,) see `degrees_of_freedom`. V_V: (m, q, q) sum V_i^T V_i.
    """

    V: Any
    S: Any
    effect: Any
    squares: Any
    count: Any
    by_states: Any
    V_V: Any

    @classmethod
    def of(cls, at: RecordLinearization, X: Any, own: Any, above: Any) -> Influence:
        """From X = -T^-1 C (N, d, q) and the blocks (k, k), (k, k + 1) of T^-1 (N, d, d)."""
        xp, A, B = at.e.__array_namespace__(), at.by_x, at.by_next

        def following(part: Any) -> Any:
            return xp.concat([part[1:], 0 * part[:1]])

        V = at.by_theta + A @ X + B @ following(X)
        by_states = ((A @ own) * A + 2 * (A @ above) * B + (B @ following(own)) * B).sum(axis=(0, 2))
        V_V = xp.einsum("kmp,kmq->mpq", V, V, optimize=True)
        effect = (at.by_theta**2).sum(axis=(0, 1))
        return cls(V, V_V.sum(axis=0), effect, at.e.T @ at.e, at.count, by_states, V_V)


def sensitivity(linearized: Sequence[RecordLinearization], steps: int, prior_weight: Vector) -> Sensitivity:
    """Uncertainty from weighted residuals at the solution.

    Args:
        steps: number of rows of a sample that belong to its step.
        prior_weight: (q,) 1 / variance of the priors, which are assumed correct.
    """
    q = linearized[0].by_theta.shape[2]
    if not q:
        none = np.zeros((0, 0))
        return Sensitivity(none, none, none, none, np.zeros(0), 0, np.zeros(0))
    prior = np.diag(prior_weight)
    terms, blocks = zip(*(influence(at) for at in linearized), strict=True)
    S, effect, squares, count, by_states, V_V = (
        np.sum(parts, axis=0) for parts in list(zip(*terms, strict=True))[1:]
    )
    of_data = Inverse.of(S, effect)
    S_data, S, inverse = S, S + prior, Inverse.of(S + prior, effect + prior_weight)
    freedom = degrees_of_freedom(count, by_states, V_V, inverse)
    C = residual_covariance(squares, freedom, steps)
    meat = sum((np.einsum("kmp,mn,knq->pq", term.V, C, term.V, optimize=True) for term in terms), prior)
    rows = list(zip(linearized, terms, blocks, strict=True))
    scores = [np.einsum("kmp,km->kp", term.V, at.e, optimize=True) for at, term, _ in rows]
    lag = andrews_lag(scores)
    robust = taper_allowance(lag / sum(map(len, scores))) * sum(
        sum_covariance(score, lag) for score in scores
    )
    expected = np.sum([expected_sum(at, term.V, part, lag) for at, term, part in rows], axis=0)
    values, vectors = np.linalg.eigh(of_data.root.T @ expected @ of_data.root)
    root = of_data.root @ vectors
    by_root = S_data @ (root / np.sqrt(np.maximum(values, LEAST_FREEDOM))) @ root.T
    robust = by_root @ robust @ by_root.T + prior
    both = inverse.around(meat), inverse.around(robust)
    return Sensitivity(S, *both, inverse.unobservable, inverse.scale, lag, freedom)


def influence(linearized: RecordLinearization) -> tuple[Influence, tuple[np.ndarray, np.ndarray]]:
    """The sums of one record, and the blocks (k, k) and (k, k + 1) of T^-1, by LAPACK's factor of the band."""
    factors = _factorize(linearized)
    blocks = factors.inverse_blocks()
    return Influence.of(linearized, -factors.solved[:, :, :-1], *blocks), blocks


def _factorize(linearized: RecordLinearization) -> Factorization:
    equations = NormalEquations.of(linearized)
    return factorize(equations, RIDGE * equations.diagonal)


def expected_sum(
    at: RecordLinearization, V: np.ndarray, blocks: tuple[np.ndarray, np.ndarray], lag: int
) -> Matrix:
    """(q, q) M, which `sum_covariance` gives on average of white residuals; `blocks`: (k, k), (k, k + 1) of T^-1."""
    (own, above), N, q = blocks, len(V), V.shape[2]
    x, y = at.by_x.swapaxes(1, 2) @ V, (at.by_next.swapaxes(1, 2) @ V)[:-1]
    cut = (x.swapaxes(1, 2) @ own @ x).sum(axis=0) + (y.swapaxes(1, 2) @ own[1:] @ y).sum(axis=0)
    if lag < N - 1:
        gains = np.linalg.solve(own[1:], above[:-1].swapaxes(1, 2)).swapaxes(1, 2)
        # products of as many gains as there are lags, by doubling their number
        far, number, left = above[:-1] @ y, 1, lag
        while left:
            if left % 2:
                far = gains[: len(far) - number] @ far[number:]
            left //= 2
            gains, number = gains[:-number] @ gains[number:], 2 * number
        both = (x[: len(far)].swapaxes(1, 2) @ far).sum(axis=0)
        cut = cut + both + both.T
    rows = V.reshape(-1, q)
    return np.asarray(rows.T @ rows - cut / (lag + 1))
