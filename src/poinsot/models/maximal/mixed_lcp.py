"""Mixed complementarity by block LDL^T (Lacoursiere 2007, Eqs. 2.26, 2.27 and Appendix A).

    S [lambda_A; lambda_B] + b = [0; w],   lambda_B >= 0, w >= 0, lambda_B w = 0

S is symmetric but for its last block S_BB. With blocks 1..n of A and B as the last one, S = L D L^T, L unit lower block
triangular and D block diagonal: for j = 1, 2, ..., of the remainder of S

    D_j = S_jj,    L_.j = S_.j D_j^-1,    S <- S - L_.j S_.j^T    (rows and columns after j)

S_BB is never a pivot, so it need not be symmetric: D_B = S_BB - S_BA S_AA^-1 S_AB. L y = -b gives y; in between,

    D_j x_j = y_j   for the blocks of A (linear),      D_B x_B - y_B = w   for B (the complementarity problem)

and back, L^T lambda = x.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from . import lcp


def solve(
    S: Float[Array, "n n"], b: Float[Array, "n"], blocks: Sequence[int], unilateral: int
) -> tuple[Float[Array, "n"], lcp.Solution]:
    """lambda, and what the complementarity problem inside had to say.

    Args:
        S: symmetric but for its last block, positive definite in the others.
        b: right-hand side.
        blocks: sizes of the blocks of A.
        unilateral: size of the block B; 0 for none.
    """
    L, D, last = block_ldl(S, blocks)
    x, rest = [], -b
    for L_j, D_j, size in zip(L, D, blocks, strict=True):
        y_j, rest = rest[:size], rest[size:]
        x.append(cho_solve((D_j, True), y_j))
        rest = rest - L_j @ y_j
    if unilateral:
        solution = lcp.solve(last, -rest)
    else:
        nothing = jnp.zeros((), int)
        solution = lcp.Solution(rest, jnp.zeros(0, bool), nothing, jnp.zeros((), S.dtype), nothing)
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
