"""Mixed complementarity by block LDL^T (seed 000, Eqs. 2.26, 2.27 and Appendix A).

    S [lambda_A; lambda_B] + b = [0; w],   lambda_B >= 0, w >= 0, lambda_B w = 0

S is symmetric but for its last block S_BB. With blocks 1..n of A and B as the last one, S = L D L^T, L unit lower block
triangular and D block diagonal: for j = 1, 2, ...

    D_j = S_jj - sum_k L_jk D_k L_jk^T,    L_ij = (S_ij - sum_k L_ik D_k L_jk^T) D_j^-1,  i > j

S_BB is never a pivot, so it need not be symmetric: D_B = S_BB - S_BA S_AA^-1 S_AB. L y = -b gives y; in between,

    D_j x_j = y_j   for the blocks of A (linear),      D_B x_B - y_B = w   for B (the complementarity problem)

and back, L^T lambda = x.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
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
    sizes = (*blocks, *([unilateral] if unilateral else []))
    L, D = block_ldl(S, sizes)
    y: list[Array] = []
    for i, b_i in enumerate(_parts(b, sizes)):
        y.append(-b_i - sum(L[i][j] @ y[j] for j in range(i)))
    x = [jnp.linalg.solve(D_j, y_j) for D_j, y_j in zip(D[: len(blocks)], y, strict=False)]
    if unilateral:
        solution = lcp.solve(D[-1], -y[-1])
        x.append(solution.z)
    else:
        nothing = jnp.zeros((), int)
        solution = lcp.Solution(
            jnp.zeros(0, S.dtype), jnp.zeros(0, bool), nothing, jnp.zeros((), S.dtype), nothing
        )
    for j in reversed(range(len(sizes))):
        x[j] = x[j] - sum(L[i][j].T @ x[i] for i in range(j + 1, len(sizes)))
    return jnp.concatenate(x) if x else b, solution


def block_ldl(S: Float[Array, "n n"], sizes: Sequence[int]) -> tuple[list[list[Array]], list[Array]]:
    """L[i][j] for j < i, and the blocks of D; the last block of S is not inverted."""
    ends = np.cumsum(sizes)
    part = [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]
    L: list[list[Array]] = []
    D: list[Array] = []
    LD: list[list[Array]] = []  # L_ik D_k
    for i, rows in enumerate(part):
        L.append([])
        LD.append([])
        for j in range(i):
            LD[i].append(S[rows, part[j]] - sum(LD[i][k] @ L[j][k].T for k in range(j)))
            L[i].append(jnp.linalg.solve(D[j], LD[i][j].T).T)
        D.append(S[rows, rows] - sum(LD[i][k] @ L[i][k].T for k in range(i)))
    return L, D


def _parts(b: Array, sizes: Sequence[int]) -> list[Array]:
    return list(jnp.split(b, np.cumsum(sizes)[:-1].tolist())) if sizes else []
