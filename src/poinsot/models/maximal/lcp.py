"""Linear complementarity: z with w = H z + q, w >= 0, z >= 0, w_i z_i = 0 (Lacoursiere 2007, Appendices A and D.1).

Lemke's method introduces z0 with w = H z + z0 1 + q, first as large as needed for w >= 0, then exchanges one basic
variable a step, always the partner of the one that left, until z0 leaves. Among rows that tie for leaving, the one that
is lexicographically least in [q, B^-1] leaves (z0 if it is among them), so no basis comes twice and the method ends:
with a solution, or on a ray along which z0 stays. On the matrices of friction (copositive, Lacoursiere 2007, 2.24) it
ends with a solution. H is equilibrated first: z = D z', w = D^-1 w' has H' = D H D, whose rows have largest entries
near 1.

Where rounding makes it cycle, or H is such that it ends on a ray, a projected Newton method takes over: with
phi_i = sqrt(z_i^2 + w_i^2) - z_i - w_i, which is zero exactly at a solution (Fischer and Burmeister), it solves
(P^T P + mu 1) d = -P^T phi, P the slope of phi, and halves the step until phi decreases. Its answer is polished like
Lemke's: the variables with z_i > w_i solve H_aa z_a = -q_a. `Solution.method` says which method found z.

The derivative (D.1). Near a solution in which no z_i and w_i are both zero, the active variables a (z_i > 0) stay the
active ones, so H_aa z_a + q_a = 0 holds along with its derivative, below. Where z_i = w_i = 0, active are those in
Lemke's last basis: H_aa is regular, and the derivative is that to one side. (Friction without load is an example.)

    H_aa dz_a = -(dq + dH z)_a,    dz = 0 elsewhere

Mixed complementarity (2.26, 2.27 and Appendix A),

    S [lambda_A; lambda_B] + b = [0; w],   lambda_B >= 0, w >= 0, lambda_B w = 0

is solved by block LDL^T. S is symmetric but for its last block S_BB. With blocks 1..n of A and B as the last one,
S = L D L^T, L unit lower block triangular and D block diagonal: for j = 1, 2, ..., of the remainder of S

    D_j = S_jj,    L_.j = S_.j D_j^-1,    S <- S - L_.j S_.j^T    (rows and columns after j)

S_BB is never a pivot, so it need not be symmetric: D_B = S_BB - S_BA S_AA^-1 S_AB. L y = -b gives y; in between,

    D_j x_j = y_j   for the blocks of A (linear),      D_B x_B - y_B = w   for B (the complementarity problem)

and back, L^T lambda = x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

from .precision import Numbers

TRIVIAL, LEMKE, NEWTON, FAILED = range(4)
"""Which method found z: none was needed (q >= 0), Lemke's, the projected Newton method, or none did."""

RELATIVE_TOLERANCE = 1e-9
"""Largest min(z, w) of a solution, relative to the largest entry of q, in equilibrated units."""
ROUGH_TOLERANCE = 1e-6
"""The same for the result of Lemke's method, before it is polished."""
PIVOTS_PER_VARIABLE = 20
PIVOT_TOLERANCE = 1e-11
"""An entry smaller than this, beside the 1 of an equilibrated row, is no pivot."""
TIE = 1e-12
NEWTON_STEPS = 200
HALVINGS = 30
EQUILIBRATIONS = 4


class Solution(NamedTuple):
    """Solution of a linear complementarity problem.

    Args:
        z: (n,). active: (n,) which of them are basic: w is 0 there, z elsewhere.
        method: `TRIVIAL`, `LEMKE`, `NEWTON` (Lemke's method cycled or ended on a ray) or `FAILED`.
        residual: largest |min(z, w)| against the largest |q|, in equilibrated units.
        pivots: exchanges that Lemke's method made.
    """

    z: Float[Array, "n"]
    active: Bool[Array, "n"]
    method: Int[Array, ""]
    residual: Float[Array, ""]
    pivots: Int[Array, ""]


@jax.custom_jvp
def solve(H: Float[Numbers, "n n"], q: Float[Numbers, "n"]) -> Solution:
    """The z with w = H z + q, w >= 0, z >= 0, w z = 0; differentiable by D.1."""
    H, q = jnp.asarray(H), jnp.asarray(q)
    D = _equilibration(H)
    scale = jnp.max(jnp.abs(D * q), initial=0.0)
    scale = jnp.where(scale > 0, scale, 1.0)
    H_, q_ = D[:, None] * H * D, D * q / scale

    z, active, pivots = lemke(H_, q_)
    # a rough tolerance, since many pivots lose digits that polishing restores
    failed = _residual(H_, q_, z) > ROUGH_TOLERANCE
    method = jnp.where(jnp.all(q_ >= 0), TRIVIAL, jnp.where(failed, NEWTON, LEMKE))
    z = projected_newton(H_, q_, z, failed)
    active = jnp.where(failed, z > H_ @ z + q_, active)
    # the tableau has collected rounding errors of all pivots; H_aa z_a = -q_a solved anew has those of one solution
    again = jnp.linalg.solve(_on_active(H_, active), jnp.where(active, -q_, 0.0))
    again = jnp.where(active, jnp.maximum(again, 0.0), 0.0)
    z = jnp.where(_residual(H_, q_, again) <= _residual(H_, q_, z), again, jnp.maximum(z, 0.0))
    residual = _residual(H_, q_, z)
    method = jnp.where(residual > RELATIVE_TOLERANCE, FAILED, method)
    return Solution(D * z * scale, active, method, residual, pivots)


@solve.defjvp
def _tangent(primals: tuple[Numbers, Numbers], tangents: tuple[Array, Array]) -> tuple[Solution, Solution]:
    H, q = (jnp.asarray(part) for part in primals)
    H_dot, q_dot = tangents
    solution: Solution = solve(H, q)
    z, active = solution.z, solution.active
    z_dot = jnp.linalg.solve(_on_active(H, active), jnp.where(active, -(q_dot + H_dot @ z), 0.0))
    active_dot, method_dot, pivots_dot = (
        np.zeros(x.shape, jax.dtypes.float0) for x in (solution.active, solution.method, solution.pivots)
    )
    still: Any = (z_dot, active_dot, method_dot, jnp.zeros_like(solution.residual), pivots_dot)
    return solution, Solution(*still)


def lemke(
    H: Float[Array, "n n"], q: Float[Array, "n"]
) -> tuple[Float[Array, "n"], Bool[Array, "n"], Int[Array, ""]]:
    """(z, which are basic, pivots) by Lemke's method; not a solution where it ends on a ray or at its limit.

    The tableau's columns are w (n), z (n), z0, q.
    """
    n = len(q)
    one = jnp.ones((n, 1), H.dtype)
    tableau = jnp.concatenate([jnp.eye(n, dtype=H.dtype), -H, -one, q[:, None]], axis=1)
    basis = jnp.arange(n)  # variables 0 to n - 1 are w, n to 2 n - 1 are z, 2 n is z0
    # z0 enters where q is least; of rows that tie, the lexicographically least in [q, 1] is the last
    row = n - 1 - jnp.argmin(q[::-1])
    needed = q[row] < 0
    state = _exchange(tableau, basis, row, jnp.asarray(2 * n), needed)
    enters = jnp.where(needed, n + row, 2 * n)

    def going(loop: tuple[Array, Array, Array, Array]) -> Array:
        _, _, enters, pivots = loop
        return (enters < 2 * n) & (pivots < PIVOTS_PER_VARIABLE * n + 20)

    def step(loop: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        tableau, basis, enters, pivots = loop
        row, found = _leaving_row(tableau, basis, tableau[:, enters])
        leaves = basis[row]
        tableau, basis = _exchange(tableau, basis, row, enters, found)
        partner = jnp.where(leaves < n, leaves + n, leaves - n)  # of z0: n, which is never used
        enters = jnp.where(found & (leaves < 2 * n), partner, 2 * n)
        return tableau, basis, enters, pivots + found

    tableau, basis, _, pivots = jax.lax.while_loop(going, step, (*state, enters, needed.astype(int)))
    values = jnp.maximum(tableau[:, -1], 0.0)
    z = jnp.zeros(2 * n + 1, H.dtype).at[basis].set(values)
    basic = jnp.zeros(2 * n + 1, bool).at[basis].set(True)
    return z[n : 2 * n], basic[n : 2 * n], pivots


def _leaving_row(tableau: Array, basis: Array, column: Array) -> tuple[Array, Array]:
    """The row of the least ratio, ties broken by the columns of B^-1; and whether there is one."""
    n = len(basis)
    candidates = column > PIVOT_TOLERANCE * jnp.maximum(jnp.max(jnp.abs(column)), 1.0)
    found = jnp.any(candidates)
    divisor = jnp.where(candidates, column, 1.0)

    def narrowed(candidates: Array, values: Array) -> Array:
        ratio = jnp.where(candidates, values / divisor, jnp.inf)
        least = jnp.min(ratio)
        return candidates & (ratio <= least + TIE * jnp.maximum(jnp.abs(least), 1.0))

    candidates = narrowed(candidates, tableau[:, -1])
    is_z0 = candidates & (basis == 2 * n)
    candidates = jnp.where(jnp.any(is_z0), is_z0, candidates)

    candidates, _ = jax.lax.while_loop(
        lambda loop: (jnp.sum(loop[0]) > 1) & (loop[1] < n),  # while rows tie
        lambda loop: (narrowed(loop[0], tableau[:, loop[1]]), loop[1] + 1),
        (candidates, jnp.asarray(0)),
    )
    return jnp.argmax(candidates), found


def _exchange(tableau: Array, basis: Array, row: Array, enters: Array, wanted: Array) -> tuple[Array, Array]:
    """Pivot on (row, enters), where wanted."""
    pivot_row = tableau[row] / jnp.where(wanted, tableau[row, enters], 1.0)
    column = tableau[:, enters].at[row].set(0.0)
    pivoted = (tableau - column[:, None] * pivot_row).at[row].set(pivot_row)
    return jnp.where(wanted, pivoted, tableau), jnp.where(wanted, basis.at[row].set(enters), basis)


def projected_newton(
    H: Float[Array, "n n"], q: Float[Array, "n"], z: Float[Array, "n"], wanted: Bool[Array, ""]
) -> Float[Array, "n"]:
    """z by a damped Newton method on Fischer and Burmeister's function, from a guess; that guess if not wanted."""
    n = len(q)

    def phi(z: Array) -> Array:
        w = H @ z + q
        return jnp.sqrt(z * z + w * w) - z - w

    def going(loop: tuple[Array, Array, Array]) -> Array:
        z, k, stuck = loop
        return wanted & ~stuck & (k < NEWTON_STEPS) & (jnp.max(jnp.abs(phi(z)), initial=0.0) > 1e-13)

    def step(loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        z, k, _ = loop
        w, f = H @ z + q, phi(z)
        length = jnp.sqrt(z * z + w * w)
        kink = length == 0  # any element of the generalized slope will do
        length = jnp.where(kink, 1.0, length)
        by_z, by_w = (jnp.where(kink, 0.5**0.5, x / length) - 1 for x in (z, w))
        P = jnp.diag(by_z) + by_w[:, None] * H
        merit, gradient = f @ f, P.T @ f
        # vanishes with the merit: the last steps are Newton's
        damping = jnp.minimum(1e-3, jnp.sqrt(merit)) ** 2
        d = -jnp.linalg.solve(P.T @ P + damping * jnp.eye(n, dtype=H.dtype), gradient)

        def too_long(trial: tuple[Array, Array]) -> Array:
            t, halvings = trial
            g = phi(z + t * d)
            return (g @ g > merit + 1e-4 * t * (2 * gradient @ d)) & (halvings < HALVINGS)

        t, halvings = jax.lax.while_loop(
            too_long, lambda trial: (trial[0] / 2, trial[1] + 1), (jnp.ones((), H.dtype), jnp.asarray(0))
        )
        return z + t * d, k + 1, halvings >= HALVINGS

    return jax.lax.while_loop(going, step, (z, jnp.asarray(0), jnp.asarray(False)))[0]


def _equilibration(H: Array) -> Array:
    """(n,) D > 0 for which the largest entries of the rows and columns of D H D are near 1."""
    # the same D for rows and columns: complementarity of z_i and w_i must not mix scales
    D = jnp.ones(len(H), H.dtype)
    for _ in range(EQUILIBRATIONS):
        size = jnp.abs(D[:, None] * H * D)
        largest = jnp.maximum(jnp.max(size, axis=0, initial=0.0), jnp.max(size, axis=1, initial=0.0))
        D = D / jnp.sqrt(jnp.where(largest > 0, largest, 1.0))
    return D


def _on_active(H: Array, active: Array) -> Array:
    """H_aa, with 1 on the diagonal of all other variables."""
    both = active[:, None] & active
    return jnp.where(both, H, jnp.diag(jnp.where(active, 0.0, 1.0)))


def _residual(H: Array, q: Array, z: Array) -> Array:
    # NaN compares false with every bound, so that a failed result would pass as a solution
    residual = jnp.max(jnp.abs(jnp.minimum(z, H @ z + q)), initial=0.0)
    return jnp.where(jnp.isfinite(residual), residual, jnp.inf)


def solve_mixed(
    S: Float[Array, "n n"], b: Float[Array, "n"], blocks: Sequence[int], unilateral: int
) -> tuple[Float[Array, "n"], Solution]:
    """lambda, and the solution of the complementarity problem in it.

    Args:
        S: symmetric but for its last block, positive definite in the others. b: right-hand side.
        blocks: sizes of the blocks of A. unilateral: size of the block B; 0 for none.
    """
    L, D, last = block_ldl(S, blocks)
    x, rest = [], -b
    for L_j, D_j, size in zip(L, D, blocks, strict=True):
        y_j, rest = rest[:size], rest[size:]
        x.append(cho_solve((D_j, True), y_j))
        rest = rest - L_j @ y_j
    if unilateral:
        solution = solve(last, -rest)
    else:
        nothing = jnp.zeros((), int)
        solution = Solution(rest, jnp.zeros(0, bool), nothing, jnp.zeros((), S.dtype), nothing)
    # back from the last block, each with what is known of the blocks after it
    impulses = solution.z
    for L_j, x_j in zip(reversed(L), reversed(x), strict=True):
        impulses = jnp.concatenate([x_j - L_j.T @ impulses, impulses])
    return impulses, solution


def block_ldl(
    S: Float[Array, "n n"], blocks: Sequence[int]
) -> tuple[list[Array], list[Array], Float[Array, "m m"]]:
    """The columns L_.j below each block, the Cholesky factors of D_j, and D_B, the remainder."""
    L, D = [], []
    for size in blocks:
        below = S[size:, :size]
        factor = jnp.linalg.cholesky(S[:size, :size])
        L.append(cho_solve((factor, True), below.T).T)
        D.append(factor)
        S = S[size:, size:] - L[-1] @ below.T
    return L, D, S
