"""Divergences from prior bodies as terms of a cone program, in whitened coordinates: X_i the body, 1 its prior.

    Entropic          sum of tr X - log det X - 4
    Euclidean         sum of |L (X - 1) L^T|_F^2
    AffineInvariant   sum of |log X|_F^2, which is not convex: near a point X_k,
                      f_k + g_k^T dx + 1/2 dx^T H_k dx. With X_k = V diag(l) V^T and f(l) = log^2 l, in the basis V
                      the entries of dX do not mix: H_ij = (f'(l_i) - f'(l_j)) / (l_i - l_j), or f''(l_i); where that
                      is too small, a part of the metric's 2 / (l_i l_j)

log det X >= sum of t_k is written with a lower triangular Z (Ben-Tal and Nemirovski 2001, Sect. 4.2):

    [ X       Z       ]  >= 0,    Z_kk >= exp(t_k)            at the optimum Z = L D with X = L D L^T, L_kk = 1
    [ Z^T   diag(Z)   ]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...arrays import Matrix, Vector
from ...inertia.divergence import Divergence, Entropic
from ...inertia.parameters import pseudo_inertia
from .conic import Cone, ConeProgram, Membership, matrix_of, places, vector_of
from .whitening import Whitened

MARGIN = 1e-6
"""Every body contains at least this part of its prior, X >= MARGIN 1: none is on the boundary of the possible set."""


def physical(coordinates: Whitened, names: tuple[str, ...]) -> tuple[Membership, ...]:
    """X_i >= MARGIN 1 on x (p,)."""
    identity, floor = np.eye(len(coordinates.center)), -MARGIN * vector_of(np.eye(4))
    return tuple(
        Membership(f"physical possibility of {name}", Cone.semidefinite, identity[body], floor)
        for body, name in zip(coordinates.bodies, names, strict=True)
    )


@dataclass(frozen=True, eq=False)
class DivergenceTerm(ABC):
    """sum over bodies of a divergence + 1/2 sum over other parameters of weight_k x_k^2, as part of a program.

    The program's variables are x (p,) and then auxiliaries.

    Args:
        coordinates: coordinates of x.
        weight: (p - 10 l,) weights of the parameters that do not belong to bodies.
        divergence: divergence from the prior bodies. names: names of the bodies.
    """

    coordinates: Whitened
    weight: Vector
    divergence: Divergence = Entropic()  # noqa: RUF009 (it is frozen)
    names: tuple[str, ...] = ()

    def value(self, x: Vector) -> float:
        """Value of the sum at x (p,)."""
        others = x[self.coordinates.others]
        divergence = self.divergence.between(self._bodies(x), self.coordinates.prior)
        return float(np.sum(divergence)) + 0.5 * float(np.sum(self.weight * others**2))

    @abstractmethod
    def program(self, x: Vector) -> ConeProgram:
        """Program that minimizes the sum, or its convex model near x (p,) where the divergence is not convex."""

    def augmented(self, x: Vector) -> Vector:
        """x (p,) and the auxiliaries that belong to it."""
        return x

    def _bodies(self, x: Vector) -> np.ndarray:
        """(l, 10)"""
        return (self.coordinates.T @ x)[: self.coordinates.prior.size].reshape(-1, 10)


@dataclass(frozen=True, eq=False)
class EntropicTerm(DivergenceTerm):
    """tr X - log det X - 4 + 1/2 (x - 1)^T M (x - 1), with `metric` M (10 l, 10 l) or 0; its logarithm keeps X > 0."""

    metric: Matrix | float = 0.0

    def value(self, x: Vector) -> float:
        off = (x - self.coordinates.center)[: self.coordinates.others.start]
        return super().value(x) + 0.5 * float(off @ np.dot(self.metric, off))

    def program(self, x: Vector) -> ConeProgram:
        bodies, p = self.coordinates.bodies, len(x)
        n = p + AUXILIARIES * len(bodies)
        P, q = np.zeros((n, n)), np.zeros(n)
        others = slice(self.coordinates.others.start, p)
        P[others, others] = np.diag(self.weight)
        own = slice(0, others.start)
        one = self.coordinates.center[own]
        P[own, own] = self.metric
        q[own] = -P[own, own] @ one
        constant = 0.5 * float(one @ P[own, own] @ one) - 4.0 * len(bodies)
        memberships: list[Membership] = []
        for number, body in enumerate(bodies):
            # tr X, as a scalar product of vectors
            q[body] += vector_of(np.eye(4))
            first = p + AUXILIARIES * number
            # - sum of t_k = - log det X at the optimum
            q[first + 10 : first + 14] = -1
            memberships += _log_det(body.start, first, n)
        return ConeProgram(P, q, tuple(memberships), constant)

    def augmented(self, x: Vector) -> Vector:
        parts = [x]
        for body in self.coordinates.bodies:
            eigenvalues, V = np.linalg.eigh(matrix_of(x[body]))
            if eigenvalues[0] <= 0:  # an initial guess may be impossible
                eigenvalues = np.maximum(eigenvalues, MIN_START)
            C = np.linalg.cholesky((V * eigenvalues) @ V.T)
            d = np.diag(C)
            # X = C C^T = L D L^T with L = C / d, so Z = L D = C d, and t_k = log D_k; Z is lower triangular
            parts += [(C * d)[places(4)[::-1]], 2 * np.log(d)]
        return np.concatenate(parts)


MIN_START = 1e-3
"""Smallest eigenvalue of X at the initial guess of auxiliary variables."""

AUXILIARIES = 14
"""Auxiliary variables of each body: the ten entries of Z, and t."""


def _log_det(X: int, Z: int, n: int) -> list[Membership]:
    """The block matrix and the four exponentials of one body, its X and Z beginning at these variables of n."""
    rows, columns = places(8)
    entry = {place: k for k, place in enumerate(zip(*places(4), strict=True))}
    F = np.zeros((len(rows), n))
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):
        if j < 4:
            F[k, X + entry[i, j]] = 1
        elif i < 4 and j - 4 <= i:
            # off-diagonal entries are times sqrt(2) in `vector_of`; those of X already are
            F[k, Z + entry[j - 4, i]] = np.sqrt(2)
        elif i == j:
            F[k, Z + entry[i - 4, i - 4]] = 1
    block = Membership("log det", Cone.semidefinite, F, np.zeros(len(rows)))
    exponentials = []
    for k in range(4):
        F = np.zeros((3, n))
        # (t_k, 1, Z_kk) in the exponential cone: exp(t_k) <= Z_kk
        F[0, Z + 10 + k] = F[2, Z + entry[k, k]] = 1
        exponentials.append(Membership("log det", Cone.exponential, F, np.array([0.0, 1.0, 0.0])))
    return [block, *exponentials]


class QuadraticTerm(DivergenceTerm):
    """A divergence modelled by its value, gradient and a positive definite Hessian, exact or approximate."""

    def program(self, x: Vector) -> ConeProgram:
        p, T, others = len(x), self.coordinates.T, self.coordinates.others
        H, g = np.zeros((p, p)), np.zeros(p)
        H[others, others], g[others] = np.diag(self.weight), self.weight * x[others]
        gradients = self.divergence.gradient(self._bodies(x), self.coordinates.prior)
        for body, gradient in zip(self.coordinates.bodies, gradients, strict=True):
            M = T[body, body]
            g[body] = M.T @ gradient
            H[body, body] = (
                2 * M.T @ EUCLIDEAN @ M if self.divergence.convex else _curvature(matrix_of(x[body]))
            )
        floor = physical(self.coordinates, self.names)
        # model and divergence then have the same cost at x, and can be compared
        constant = self.value(x) - float(g @ x) + 0.5 * float(x @ H @ x)
        return ConeProgram(H, g - H @ x, floor, constant)


MIN_CURVATURE = 0.05
"""Smallest curvature of the convex model of a divergence that is not convex, relative to the metric's."""


def _curvature(X: Matrix) -> Matrix:
    """(10, 10) H of log^2 at a positive definite X (4, 4)."""
    l, V = np.linalg.eigh(X)
    first, product = 2 * np.log(l) / l, np.outer(l, l)
    # divided differences of close eigenvalues lose digits: use the derivative between them
    apart = l[:, None] - l
    near = np.abs(apart) < 1e-6 * np.sqrt(product)
    middle = np.sqrt(product)
    second = 2 * (1 - np.log(middle)) / product
    h = np.where(near, second, (first[:, None] - first) / np.where(near, 1.0, apart))
    # log^2 is concave beyond e: a model without a lower bound of curvature has no minimum
    h = np.maximum(h, 2 * MIN_CURVATURE / product)
    M = (V.T @ matrix_of(np.eye(10)) @ V).reshape(10, 16)
    return (M * h.ravel()) @ M.T


_BASIS = vector_of(pseudo_inertia(np.eye(10)))

EUCLIDEAN = _BASIS @ _BASIS.T
"""(10, 10) E with |J|_F^2 = pi^T E pi."""
