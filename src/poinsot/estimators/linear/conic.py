"""Convex cone programs, solved by Clarabel, with certificates computed here.

    min  1/2 x^T P x + q^T x     subject to   F_k x + g_k in C_k                                  (primal)
    max  -1/2 x^T P x - sum of g_k^T z_k   subject to   P x + q = sum of F_k^T z_k,  z_k in C_k*  (dual)

No feasible point has a cost below that of a feasible dual point. Both are recomputed from P, q, F_k and g_k. The
residual of the dual's equation at the multipliers z is subtracted from the bound, which then holds for all points no
further from 0 than the solution.

Symmetric matrices are vectors here: the upper triangle column by column, entries off the diagonal times sqrt(2), which
preserves scalar products (`vector_of`, `matrix_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

import numpy as np
from scipy import sparse

from ...arrays import Matrix, Vector
from ...exceptions import MissingExtra

TOLERANCE = 1e-9
"""Relative tolerance of feasibility and of the duality gap."""

MAX_ITERATIONS = 200
ROUNDING = 1e-12


class Cone(Enum):
    """Convex cones."""

    zero = "s = 0"
    nonnegative = "s >= 0"
    second_order = "s_0 >= |s_1..|"
    semidefinite = "the symmetric matrix of s is positive semidefinite"
    exponential = "s_1 exp(s_0 / s_1) <= s_2, s_1 > 0"


@dataclass(frozen=True, eq=False)
class Membership:
    """F x + g lies in a cone.

    Args:
        name: the condition, as shown to users.
        cone: the cone of all rows together.
        F: (r, n). g: (r,).
    """

    name: str
    cone: Cone
    F: Matrix
    g: Vector

    def through(self, M: Matrix, offset: Vector | float = 0.0) -> Membership:
        """The same condition on y, where x = M y + offset."""
        return replace(self, F=self.F @ M, g=self.g + self.F @ np.broadcast_to(offset, len(M)))


class ConicStatus(Enum):
    """How the solution of a program ended."""

    solved = "solved"
    infeasible = "no point satisfies all conditions"
    failed = "stopped before the optimum"


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """The solver's solution.

    Args:
        x: (n,). multipliers: z_k of each membership.
    """

    status: ConicStatus
    x: Vector
    multipliers: tuple[Vector, ...]
    steps: int


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """min 1/2 x^T P x + q^T x, F_k x + g_k in C_k.

    Args:
        P: (n, n) positive semidefinite. q: (n,).
        memberships: conditions on x, or on its first entries.
        constant: constant term of the cost and of its bound.
    """

    P: Matrix
    q: Vector
    memberships: tuple[Membership, ...]
    constant: float = 0.0

    def __post_init__(self) -> None:
        n = len(self.q)
        whole = tuple(m.through(np.eye(k, n)) if (k := m.F.shape[1]) < n else m for m in self.memberships)
        object.__setattr__(self, "memberships", whole)

    def solve(self, start: Vector | None = None, *, balanced: bool = False) -> ConeSolution:
        """The optimum.

        Args:
            start: (n,) a point near the optimum; the solver's tolerances are relative to the change from it.
            balanced: whether rows and columns are first scaled to similar size, if coordinates are not well scaled.
        """
        try:
            import clarabel
        except ImportError:
            raise MissingExtra("sdp", "clarabel") from None
        cones = {
            Cone.zero: clarabel.ZeroConeT,
            Cone.nonnegative: clarabel.NonnegativeConeT,
            Cone.second_order: clarabel.SecondOrderConeT,
            Cone.semidefinite: lambda rows: clarabel.PSDTriangleConeT(side(rows)),
            Cone.exponential: lambda rows: clarabel.ExponentialConeT(),
        }
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = MAX_ITERATIONS
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = TOLERANCE
        settings.max_threads = 1
        settings.equilibrate_enable = balanced
        start = np.zeros(len(self.q)) if start is None else start
        # x = start + y: coefficients in y are small near the solution
        q = self.q + self.P @ start
        slope, curvature = float(np.abs(q).max()), float(np.abs(self.P).max())
        # a solver works best with costs of about 1; at the optimum the gradient is only rounding errors
        size = slope if slope > ROUNDING * curvature else curvature or 1.0
        solver = clarabel.DefaultSolver(
            # Clarabel reads only the upper triangle, and has A x + s = b with s in the cone: A = -F, b = g
            sparse.csc_matrix(np.triu(self.P / size)),
            q / size,
            sparse.csc_matrix(-np.concatenate([membership.F for membership in self.memberships])),
            np.concatenate([membership.g + membership.F @ start for membership in self.memberships]),
            [cones[membership.cone](len(membership.g)) for membership in self.memberships],
            settings,
        )
        try:
            found = solver.solve()
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # Rust's, when numbers are beyond its eigenvalues
                raise
            return ConeSolution(
                ConicStatus.failed, start, tuple(0.0 * membership.g for membership in self.memberships), 0
            )
        # multipliers are those of the scaled cost; a shift of x does not change them
        x, z = start + np.array(found.x), size * np.array(found.z)
        ends = np.cumsum([len(membership.g) for membership in self.memberships])[:-1]
        # "almost" solved: at reduced accuracy, which the certificate measures
        named = {"Solved": ConicStatus.solved, "PrimalInfeasible": ConicStatus.infeasible}
        status = named.get(str(found.status).removeprefix("Almost"), ConicStatus.failed)
        return ConeSolution(status, x, tuple(np.split(z, ends)), int(found.iterations))

    def cost(self, x: Vector) -> float:
        """1/2 x^T P x + q^T x + constant."""
        return float(0.5 * x @ self.P @ x + self.q @ x) + self.constant

    def bound(self, x: Vector, multipliers: Sequence[Vector]) -> tuple[float, float, float]:
        """A certificate: cost of a point (n,); lower bound of all feasible costs from the multipliers, not above
        that cost except for rounding; and the largest violation of the cones by the point, in units of the rows.
        """
        residual = self.P @ x + self.q
        dual = self.constant - 0.5 * float(x @ self.P @ x)
        violation = 0.0
        for membership, z in zip(self.memberships, multipliers, strict=True):
            # multipliers outside their cone by rounding do not give a bound
            z = NEAREST_DUAL[membership.cone](z)
            s = membership.F @ x + membership.g
            residual = residual - membership.F.T @ z
            dual -= float(membership.g @ z)
            violation = max(violation, VIOLATION[membership.cone](s))
        # |residual^T y| <= |residual|^T |x| for all y that are entry by entry no larger than x
        return self.cost(x), dual - float(np.abs(residual) @ np.abs(x)), violation


def side(rows: int) -> int:
    """Side of the square matrix with this number of entries on and above its diagonal."""
    return round((np.sqrt(8 * rows + 1) - 1) / 2)


@cache
def places(n: int) -> tuple[np.ndarray, np.ndarray]:
    """(row, column) of each entry of the vector of a symmetric (n, n)."""
    # row by row of the lower triangle is column by column of the upper one
    columns, rows = np.tril_indices(n)
    return rows, columns


def vector_of(S: np.ndarray) -> np.ndarray:
    """(..., n (n + 1) / 2) of symmetric (..., n, n)."""
    rows, columns = places(S.shape[-1])
    return S[..., rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2))


def matrix_of(s: np.ndarray) -> np.ndarray:
    """(..., n, n), the inverse of `vector_of`."""
    n = side(s.shape[-1])
    rows, columns = places(n)
    S = np.zeros((*s.shape[:-1], n, n))
    S[..., rows, columns] = s / np.where(rows == columns, 1.0, np.sqrt(2))
    S[..., columns, rows] = S[..., rows, columns]
    return S


def _below_zero(s: Vector) -> float:
    return float(max(-s.min(initial=0.0), 0.0))


def _outside_exponential(s: Vector) -> float:
    """Violation of the exponential cone by three numbers, in the last one."""
    if s[1] <= 0:
        return float(max(-s[1], s[0], -s[2], 0.0))
    # exp overflows at 710, and an infinite violation could not be compared
    return float(max(s[1] * np.exp(min(s[0] / s[1], 700.0)) - s[2], 0.0))


VIOLATION: dict[Cone, Callable[[Vector], float]] = {
    Cone.zero: lambda s: float(np.abs(s).max(initial=0.0)),
    Cone.nonnegative: _below_zero,
    Cone.second_order: lambda s: float(max(np.linalg.norm(s[1:]) - s[0], 0.0)),
    Cone.semidefinite: lambda s: _below_zero(np.linalg.eigvalsh(matrix_of(s))),
    Cone.exponential: _outside_exponential,
}


def _semidefinite_part(z: Vector) -> Vector:
    eigenvalues, V = np.linalg.eigh(matrix_of(z))
    return vector_of(V * np.maximum(eigenvalues, 0.0) @ V.T)


def _in_exponential_dual(z: Vector) -> Vector:
    """The dual cone is -z_0 exp(z_1 / z_0) <= e z_2, z_0 < 0: raise z_2 to its boundary where it is below."""
    if z[0] >= 0:
        return np.array([0.0, max(z[1], 0.0), max(z[2], 0.0)])
    return np.array([z[0], z[1], max(z[2], -z[0] * np.exp(min(z[1] / z[0] - 1, 700.0)))])


NEAREST_DUAL: dict[Cone, Callable[[Vector], Vector]] = {
    Cone.zero: lambda z: z,
    Cone.nonnegative: lambda z: np.maximum(z, 0.0),
    Cone.second_order: lambda z: np.append(max(z[0], float(np.linalg.norm(z[1:]))), z[1:]),
    Cone.semidefinite: _semidefinite_part,
    Cone.exponential: _in_exponential_dual,
}
"""Projections to the dual cones of points that violate them only by rounding."""
