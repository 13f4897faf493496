"""The arrival states and theta, at which all chains begin (Martinez et al. 2024, Eqs. 28 to 31).

With the value functions V^i of the chains at their first nodes, arrival costs added, and the prior of theta,

    [ V_xx^1              V_xt^1 ] [x_1  ]     [V_x^1]
    [          ...        ...    ] [ ... ]  = -[ ... ]                                           (Eq. 28)
    [ V_tx^1   ...        V_tt   ] [theta]     [V_t  ],    V_tt = sum_i V_tt^i + Pi

The arrival states are eliminated first, as each couples to theta alone (the paper eliminates theta first; the solution
is the same):

    S theta = -s,   S = V_tt - sum_i V_tx^i V_xx^i^-1 V_xt^i,   s = V_t - sum_i V_tx^i V_xx^i^-1 V_x^i     (Eqs. 29, 30)
    x_i = -V_xx^i^-1 (V_x^i + V_xt^i theta)

Null space (Eq. 31). A combination of parameters on which no residual depends is in the null space Z of S. S y = -s has
solutions all the same, as s lies in its range. theta = Y y with Y orthogonal to Z is the one that stays zero there,

    Y^T S Y y = -Y^T s

and is found with another basis B of the range of S, for which B^T S B is well-conditioned, by projecting Z out.

The paper takes Z of V_tt. That misses a combination that the arrival state makes up for (an encoder's offset where the
initial angle is free), which is in the null space of S. An arrival state can have unobservable directions, too
(the heading of a robot without compass): V_xx is then treated in the same way, as V_xt and V_x lie in its range.

theta may be kept within a bound, |theta / scale| <= radius: the recursion does not depend on it, so a trust region
for theta costs no more than an eigenvalue problem of its size. It is what charts of bodies need, in which e is far.

What counts as zero must not depend on units: eigenvalues are those of S / (d d^T), d^2 the diagonal of V_tt, which are
the parts of what is known of each parameter that remain when all others adapt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from ...arrays import Matrix, Vector
from .riccati import Quadratic

RANK_TOLERANCE = 1e-10
"""Relative information below which a direction is unobservable: rounding of the recursion over 1e5 nodes."""

CANCELLATION = 1e-16 / RANK_TOLERANCE
"""A diagonal entry below this part of the terms whose difference it is, is rounding error."""

MAX_RELATIVE_STD = 1e9
"""A parameter whose standard deviation is above so many typical changes is unobservable: far out, a chart is flat."""

SMALLEST_SCALE = 1e-200
"""A scale below this is zero, whatever its unit."""


@dataclass(frozen=True, eq=False)
class ArrivalSolution:
    """The solution at the arrival nodes.

    Args:
        x: of each chain, (n,). theta: (p,).
        constant: cost of the quadratic problem there, all chains and priors.
        excess: increase of the cost by the trust region of theta; 0 where it does not bind.
    """

    x: tuple[Vector, ...]
    theta: Vector
    constant: float
    excess: float = 0.0


@dataclass(frozen=True, eq=False)
class SemidefiniteFactor:
    """A symmetric matrix that is inverted on the complement of its null space.

    Args:
        M: (d, d).
        basis: (d, r) B of its range, which makes B^T M B well-conditioned whatever the units.
        null: (d, d - r) Z of its null space, orthonormal.
    """

    M: Matrix
    basis: Matrix
    null: Matrix

    @classmethod
    def of(cls, M: Matrix, scale: Vector, null_space: bool = True) -> SemidefiniteFactor:
        """Factorize M, with its null space if that is asked for.

        Args:
            M: (d, d).
            scale: (d,) a diagonal in units of M; an eigenvalue of M in these units within `RANK_TOLERANCE` is zero.
            null_space: otherwise nothing counts as zero.
        """
        # nothing is known of what has scale 0: any unit will do
        d = np.sqrt(np.where(np.abs(scale) > SMALLEST_SCALE, np.abs(scale), 1.0))
        if null_space:
            values, vectors = np.linalg.eigh(M / np.outer(d, d))
            # of either sign: rounding makes a zero eigenvalue negative as often as positive
            zero = np.abs(values) <= RANK_TOLERANCE
            if zero.any():
                # in the units of M the eigenvectors are not orthogonal any more
                null = np.linalg.qr(vectors[:, zero] / d[:, None])[0]
                return cls(M, vectors[:, ~zero] / d[:, None], null)
        return cls(M, np.diag(1.0 / d), np.zeros((len(M), 0)))

    @cached_property
    def _factor(self) -> Matrix:
        return np.linalg.cholesky(self.basis.T @ self.M @ self.basis)

    def _off_null(self, z: np.ndarray) -> np.ndarray:
        return z - self.null @ (self.null.T @ z)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """z with M z = b, orthogonal to the null space.

        Raises:
            LinAlgError: if M is not positive definite on its range.
        """
        return self._off_null(
            self.basis @ linalg.cho_solve((self._factor, True), self.basis.T @ b, check_finite=False)
        )

    def solve_indefinite(self, b: np.ndarray) -> np.ndarray:
        """z with M z = b where M may be indefinite, orthogonal to the null space."""
        return self._off_null(
            self.basis @ np.linalg.solve(self.basis.T @ self.M @ self.basis, self.basis.T @ b)
        )

    def bounded(self, b: Vector, scale: Vector, radius: float) -> Vector:
        """argmin of 1/2 z M z + b z over |z / scale| <= radius, which must bind, orthogonal to the null space.

        With z = Y V a, V^T Y^T M Y V = diag(m) and |z / scale| = |a|, it is a = -c / (m + lambda), c = V^T Y^T b, for
        the one lambda that gives |a| = radius.
        """
        Y = np.linalg.qr(self.null, mode="complete")[0][:, self.null.shape[1] :]
        # V is orthonormal in the metric of the scale, in which the bound is a ball
        m, V = linalg.eigh(Y.T @ self.M @ Y, (Y / scale[:, None] ** 2).T @ Y, check_finite=False)
        c, m = V.T @ (Y.T @ b), np.maximum(m, 0.0)

        def off(shift: float) -> float:
            # 1 / |a| is nearly linear in lambda, |a| has a pole: Hebden's form of the secular equation
            return 1.0 / float(np.linalg.norm(c / (m + shift))) - 1.0 / radius

        # |a| <= |c| / lambda, so the root is below |c| / radius
        high = 2.0 * float(np.linalg.norm(c)) / radius
        low = 1e-15 * high
        shift = low if off(low) >= 0 else optimize.brentq(off, low, high, xtol=low, rtol=1e-6)
        return np.asarray(-Y @ (V @ (c / (m + shift))))

    def cost(self, b: Vector, z: Vector) -> float:
        """1/2 z M z + b z."""
        return float(0.5 * z @ self.M @ z + b @ z)

    @property
    def inverse(self) -> Matrix:
        """(d, d) inverse of M on its range, zero on its null space."""
        basis = self._off_null(self.basis)
        half = linalg.solve_triangular(self._factor, basis.T, lower=True, check_finite=False)
        return np.asarray(half.T @ half)


@dataclass(frozen=True, eq=False)
class ArrivalSystem:
    """The factorized block matrix of Eq. 28.

    Args:
        V: value function of each chain at its first node, its arrival cost added.
        states: V_xx of each. schur: S, on its range; its null space are the combinations (p, z) of theta on which no
            residual depends.
    """

    V: tuple[Quadratic, ...]
    states: tuple[SemidefiniteFactor, ...]
    schur: SemidefiniteFactor
    s: Vector

    def solve(self, scale: Vector | None = None, radius: float = np.inf) -> ArrivalSolution:
        """States and theta of the arrival nodes, with |theta / scale| <= radius."""
        theta = -self.schur.solve(self.s)
        excess = 0.0
        if scale is not None and np.linalg.norm(theta / scale) > radius:
            bounded = self.schur.bounded(self.s, scale, radius)
            excess = self.schur.cost(self.s, bounded) - self.schur.cost(self.s, theta)
            theta = bounded
        x, constant = [], self.schur.cost(self.s, theta)
        for V, state in zip(self.V, self.states, strict=True):
            free = -state.solve(V.V_x)
            x.append(free - state.solve(V.V_xt @ theta))
            constant += V.constant + 0.5 * float(V.V_x @ free)
        return ArrivalSolution(tuple(x), theta, constant, excess)

    def covariances(self) -> tuple[Matrix, list[Matrix], list[Matrix]]:
        """P_tt (p, p) of theta, and P_xx (n, n), P_xt (n, p) of each arrival state; zero in unobservable directions.

        The inverse of Eq. 28's matrix, by blocks.
        """
        P_tt = self.schur.inverse
        xx, xt = [], []
        for V, state in zip(self.V, self.states, strict=True):
            gain = state.solve(V.V_xt)
            xt.append(-gain @ P_tt)
            xx.append(state.inverse + gain @ P_tt @ gain.T)
        return P_tt, xx, xt


def factorize_arrival(
    values: Sequence[Quadratic],
    prior_tt: Matrix,
    prior_t: Vector,
    damping: float = 0.0,
    null_space: bool = True,
    size_t: Vector | None = None,
    natural: Vector | None = None,
) -> ArrivalSystem | None:
    """Factorize Eq. 28; None where a matrix is not positive definite on its range.

    Args:
        values: of each chain at its first node, its arrival cost added.
        prior_tt, prior_t: (p, p), (p,) prior of theta.
        damping: of Levenberg and Marquardt, relative to the diagonals of V_xx and V_tt.
        null_space: Eq. 31 instead of Eq. 29: unobservable directions stay zero.
        size_t: (p,) sum of the terms whose difference V_tt's diagonal is, see `Backward`.
        natural: (p,) typical change of components of theta; one with a standard deviation of 1e9 times that is
            unobservable.
    """
    V_tt = sum((V.V_tt for V in values), start=prior_tt)
    try:
        states = [SemidefiniteFactor.of(V.V_xx, _state_scale(V.V_xx), null_space) for V in values]
        scale = np.abs(np.diag(V_tt))
        if size_t is not None:
            # a diagonal that is a difference of far larger terms is rounding, not information
            scale = np.maximum(scale, CANCELLATION * size_t)
        if natural is not None:
            scale = np.maximum(scale, MAX_RELATIVE_STD**-2 / RANK_TOLERANCE / natural**2)
        schur = SemidefiniteFactor.of(_schur(values, states, V_tt), scale, null_space)
        if damping > 0:
            # with the null space of the undamped matrices: damping adds no information
            states = [replace(state, M=_damped(state.M, damping)) for state in states]
            schur = replace(schur, M=_schur(values, states, _damped(V_tt, damping)))
        s = prior_t.copy()
        for V, state in zip(values, states, strict=True):
            s += V.V_t - V.V_xt.T @ state.solve(V.V_x)
        # factorizes, so that an indefinite matrix is found here
        schur.solve(s)
    except np.linalg.LinAlgError:
        return None
    return ArrivalSystem(tuple(values), tuple(states), schur, s)


def _state_scale(V_xx: Matrix) -> Vector:
    """(n,) the diagonal of V_xx, at least the rounding of its largest component, with which dynamics mix the others."""
    d = np.abs(np.diag(V_xx))
    return np.maximum(d, CANCELLATION * d.max(initial=0.0))


def _schur(values: Sequence[Quadratic], states: Sequence[SemidefiniteFactor], V_tt: Matrix) -> Matrix:
    S = V_tt - sum(V.V_xt.T @ state.solve_indefinite(V.V_xt) for V, state in zip(values, states, strict=True))
    # Cholesky reads one half only
    return np.asarray(0.5 * (S + S.T))


def _damped(M: Matrix, damping: float) -> Matrix:
    return M + damping * np.diag(np.abs(np.diag(M)))
