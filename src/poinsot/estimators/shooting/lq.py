"""The linear-quadratic problem of one iteration, as plain arrays (Martinez et al. 2024, Eqs. 16 and 21).

A chain of nodes x_0 ... x_N, for which the next one is given by noise w_k and by parameters theta that all nodes share:

    min   sum_k  1/2 [x w theta] L_k [x w theta]^T + l_k . [x w theta]     stages k = 0 ... N - 1, theta rows summed
          + 1/2 [x_N theta] V_N [x_N theta]^T + v_N . [x_N theta]          the last node
          + 1/2 x_0 Lambda x_0 + lambda . x_0                              prior of the arrival state
          + 1/2 theta Pi theta + pi . theta                                prior of theta
    s.t.  x_{k+1} = A_k x_k + B_k w_k + C_k theta + gap_k                  (Eq. 21, fourth row)

All unknowns are changes (delta x, delta w, delta theta). A reset map between phases (Eq. 16) is a stage without noise.
Several chains, one a recording, share theta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ...arrays import Changes, Columns, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Quadratic:
    """1/2 [x theta] V [x theta]^T + v . [x theta] + constant: the cost of a last node, or a value function (Eq. 26).

    Args:
        V_xx, V_xt, V_tt: (n, n), (n, p), (p, p).
        V_x, V_t: (n,), (p,).
        constant: its value at zero.
    """

    V_xx: Matrix
    V_xt: Matrix
    V_tt: Matrix
    V_x: Vector
    V_t: Vector
    constant: float = 0.0

    def __call__(self, x: Vector, theta: Vector) -> float:
        """The value at x (n,), theta (p,)."""
        square = x @ self.V_xx @ x + theta @ self.V_tt @ theta
        return float(square / 2 + x @ self.V_xt @ theta + self.V_x @ x + self.V_t @ theta + self.constant)


@dataclass(frozen=True, eq=False)
class LinearQuadraticStages:
    """A stretch of a chain: dynamics and cost of T stages in a row.

    Args:
        A, B, C, gap: (T, n, n), (T, n, m), (T, n, p), (T, n).
        L_xx, L_xw, L_xt: (T, n, n), (T, n, m), (T, n, p). L_ww, L_wt: (T, m, m), (T, m, p).
        L_tt: (p, p) the sum over the stretch: no policy depends on more.
        l_x, l_w: (T, n), (T, m). l_t: (p,) the sum over the stretch.
        noisy: (T,) False where a stage has no w (a reset map); its arrays of w are not read there.
    """

    A: Float[np.ndarray, "T n n"]
    B: Float[np.ndarray, "T n m"]
    C: Float[np.ndarray, "T n p"]
    gap: Changes
    L_xx: Float[np.ndarray, "T n n"]
    L_xw: Float[np.ndarray, "T n m"]
    L_xt: Float[np.ndarray, "T n p"]
    L_ww: Float[np.ndarray, "T m m"]
    L_wt: Float[np.ndarray, "T m p"]
    L_tt: Matrix
    l_x: Changes
    l_w: Columns
    l_t: Vector
    noisy: Bool[np.ndarray, "T"]

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """n, m, p: of a state's tangent, of its noise, of theta."""
        return self.B.shape[1], self.B.shape[2], self.C.shape[2]
