"""The linear-quadratic problem of one iteration, and its Riccati recursion with columns for theta.

(Martinez et al. 2024, Eqs. 16, 20 to 27.) A chain of nodes x_0 ... x_N, for which the next one is given by noise w_k
and by parameters theta that all nodes share:

    min   sum_k  1/2 [x w theta] L_k [x w theta]^T + l_k . [x w theta]     stages k = 0 ... N - 1, theta rows summed
          + 1/2 [x_N theta] V_N [x_N theta]^T + v_N . [x_N theta]          the last node
          + 1/2 x_0 Lambda x_0 + lambda . x_0                              prior of the arrival state
          + 1/2 theta Pi theta + pi . theta                                prior of theta
    s.t.  x_{k+1} = A_k x_k + B_k w_k + C_k theta + gap_k                  (Eq. 21, fourth row)

All unknowns are changes (delta x, delta w, delta theta). A reset map between phases (Eq. 16) is a stage without noise.
Several chains, one a recording, share theta.

From the last node to the first, with V' the value function of the next one and y = (x, theta, 1):

    V'_x+ = V'_x + V'_xx gap,   V'_t+ = V'_t + V'_xt^T gap                          the gap's deflection
    Q_xx = L_xx + A^T V'_xx A               Q_wt = L_wt + B^T (V'_xt + V'_xx C)                         (Eq. 23)
    Q_xw = L_xw + A^T V'_xx B               Q_xt = L_xt + A^T (V'_xt + V'_xx C)
    Q_ww = L_ww + B^T V'_xx B               Q_tt = V'_tt + C^T (V'_xt + V'_xx C) + V'_xt^T C
    Q_x = l_x + A^T V'_x+,   Q_w = l_w + B^T V'_x+,   Q_t = V'_t+ + C^T V'_x+
    w = -k - K x - P theta,   [K P k] = Q_ww^-1 [Q_wx Q_wt Q_w]                                          (Eq. 25)
    V_yy = Q_yy - Q_yw [K P k]                                                                          (Eq. 27)

(The paper's Q_tt lacks V'_xt^T C and the transpose of it, and its V'_t+ the index of V'_xt.) L_tt and l_t enter where
the recursion begins: they add to V_tt and V_t alike wherever they do.

The kernel takes the 1 of y for one more parameter, r = (theta, 1): with [C gap] for C the gap's deflection is a part of
Q_xt, and the constant of the value one of Q_tt. E = V'_xx [A C] + [0 V'_xr] gives every Q in one product with A, B or
C, and with Q_ww = U^T U, Y = U^-T Q_wy the value is Q_yy - Y^T Y, symmetric and as positive as rounding permits; the
policy U^-1 Y is used only where states are rolled out,

    x' = Phi x + Gamma theta + phi,   Phi = A - B K,   Gamma = C - B P,   phi = gap - B k

so nothing of a stretch is kept after its backward pass but its policy and these three. A stage without
noise (a reset map) has V_yy = Q_yy.

Where each column of B has one entry, as noise of speeds gives it, products with B are a choice of rows.

Damping (Levenberg and Marquardt) adds damping / 2 |w|^2, weighed with the diagonal of L_ww: all of the above then holds
for that problem.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Bool, Changes, Columns, Float, Matrix, Vector
from ...kernels import njit
from ...models.robot.joint_motion import STEP


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

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


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


@dataclass(frozen=True, eq=False)
class Policy:
    """w = -k - K x - P theta along T stages (Eq. 25), and the states that it leads to.

    Args:
        gains: (T, m, n + p + 1) [K P k]; zero where a stage has no noise.
        transitions: (T, n, n + p + 1) [Phi Gamma phi] of x' = Phi x + Gamma theta + phi.
        spread: (T, n, m) B U^-1, of which B Q_ww^-1 B^T = spread spread^T is how far w leaves x' open; T = 0 where it
            was not asked for.
    """

    gains: Float[np.ndarray, "T m q"]
    transitions: Float[np.ndarray, "T n q"]
    spread: Float[np.ndarray, "_ n m"]

    def __len__(self) -> int:
        return len(self.gains)

    @classmethod
    def empty(cls, T: int, sizes: tuple[int, int, int], spread: bool = False) -> Policy:
        """Room for T stages of sizes n, m, p, to be written by backward passes."""
        n, m, p = sizes
        q = n + p + 1
        return cls(np.empty((T, m, q)), np.empty((T, n, q)), np.empty((T if spread else 0, n, m)))

    def part(self, first: int, last: int) -> Policy:
        """The stages from `first` to before `last`; a view."""
        pick = slice(first, last)
        return Policy(self.gains[pick], self.transitions[pick], self.spread[pick])


@dataclass(frozen=True, eq=False)
class Backward:
    """Result of a backward pass.

    Args:
        policy: of the stretch.
        value: the value function where the stretch begins; its constant is what all of it costs there.
        broke_at: the stage whose Q_ww is not positive definite, at which the pass ended; None where there is none.
        size_t: (p,) sum of the terms whose difference V_tt's diagonal is; its rounding error is 1e-16 of that.
    """

    policy: Policy
    value: Quadratic
    broke_at: int | None = None
    size_t: Vector = field(default_factory=lambda: np.zeros(0))


def backward(
    stages: LinearQuadraticStages, end: Quadratic, damping: float = 0.0, out: Policy | None = None
) -> Backward:
    """Policy and value of a stretch, from the value function of what comes after it.

    Args:
        stages: the stretch.
        end: value function, or cost, of the node after the last stage.
        damping: of Levenberg and Marquardt, relative to the diagonal of L_ww.
        out: where to write the policy; with room for the spread, that too.
    """
    T, (n, m, p) = len(stages), stages.sizes
    # copies: the kernel turns them into those of the first stage
    V_xx, V_xr = end.V_xx.copy(), _with_one(end.V_xt, end.V_x)
    V_rr, V_t = np.empty((p + 1, p + 1)), end.V_t + stages.l_t
    # twice the constant, as quadratic forms are halved
    V_rr[:p, :p], V_rr[:p, p], V_rr[p, :p], V_rr[p, p] = end.V_tt + stages.L_tt, V_t, V_t, 2.0 * end.constant
    size_r = np.append(np.abs(np.diag(stages.L_tt)), 0.0)
    policy = Policy.empty(T, (n, m, p)) if out is None else out
    # without columns of noise there is no Q_ww to factorize
    noisy = stages.noisy if m else np.zeros(T, dtype=bool)
    s, c = stages, np.ascontiguousarray
    broke_at = _backward(
        c(s.A), c(s.B), _with_one(s.C, s.gap), c(s.L_xx), c(s.L_xw), _with_one(s.L_xt, s.l_x), c(s.L_ww),
        _with_one(s.L_wt, s.l_w), noisy, damping, V_xx, V_xr, V_rr,
        policy.gains, policy.transitions, policy.spread, size_r,
    )  # fmt: skip
    value = Quadratic(V_xx, V_xr[:, :p], V_rr[:p, :p], V_xr[:, p], V_rr[:p, p], 0.5 * V_rr[p, p])
    return Backward(policy, value, None if broke_at < 0 else broke_at, size_r[:p])


def _with_one(by_theta: np.ndarray, by_one: np.ndarray) -> np.ndarray:
    """Columns of r = (theta, 1)."""
    return np.concatenate([by_theta, by_one[..., None]], axis=-1)


def forward(policy: Policy, x_0: Vector, theta: Vector) -> tuple[Float[np.ndarray, "T1 n"], Columns]:
    """States (T + 1, n) and noise (T, m) of the linear-quadratic problem, from its first state on."""
    x, w = np.empty((len(policy) + 1, len(x_0))), np.empty(policy.gains.shape[:2])
    x[0] = x_0
    _forward(policy.gains, policy.transitions, np.concatenate([x_0, theta, [1.0]]), x, w)
    return x, w


def marginals(
    policy: Policy,
    P_xx: Float[np.ndarray, "n n"],
    P_xt: Float[np.ndarray, "n p"],
    P_tt: Float[np.ndarray, "p p"],
) -> tuple[Float[np.ndarray, "T1 n n"], Float[np.ndarray, "T1 n p"]]:
    """Covariance (T + 1, n, n) of each state, and (T + 1, n, p) of each with theta, from those of the first.

    Given x, theta and all later readings, w is N(-k - K x - P theta, Q_ww^-1), the integrand of Eq. 24, so

        x' = Phi x + Gamma theta + phi + spread u,   u ~ N(0, 1), independent of x and theta

    and a pass from the first node on carries the posterior along: no second recursion backward is needed.
    """
    assert len(policy.spread) == len(policy), "give the backward pass room for the spread"
    T, n, p = len(policy), *P_xt.shape
    xx, xt = np.empty((T + 1, n, n)), np.empty((T + 1, n, p))
    xx[0], xt[0] = P_xx, P_xt
    for t in range(T):
        Phi, Gamma, S = policy.transitions[t, :, :n], policy.transitions[t, :, n:-1], policy.spread[t]
        cross = Phi @ xt[t] @ Gamma.T
        xx[t + 1] = Phi @ xx[t] @ Phi.T + cross + cross.T + Gamma @ P_tt @ Gamma.T + S @ S.T
        xt[t + 1] = Phi @ xt[t] + Gamma @ P_tt
    return xx, xt


@njit(**STEP)
def _factor(Q):
    """Q = U^T U in place, U upper triangular; False if Q is not positive definite. Rows run contiguously."""
    m = len(Q)
    for j in range(m):
        pivot = Q[j, j]
        # not `<= 0`, which would let NaN through
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        for c in range(j, m):
            Q[j, c] /= root
        for i in range(j + 1, m):
            u = Q[j, i]
            for c in range(i, m):
                Q[i, c] -= u * Q[j, c]
    return True


@njit(**STEP)
def _solve_transposed(U, Y):
    """Y <- U^-T Y, row after row."""
    m, q = Y.shape
    for j in range(m):
        inverse = 1.0 / U[j, j]
        for c in range(q):
            Y[j, c] *= inverse
        for i in range(j + 1, m):
            u = U[j, i]
            for c in range(q):
                Y[i, c] -= u * Y[j, c]


@njit(**STEP)
def _solve(U, Y):
    """Y <- U^-1 Y, from the last row to the first."""
    m, q = Y.shape
    for j in range(m - 1, -1, -1):
        inverse = 1.0 / U[j, j]
        for c in range(q):
            Y[j, c] *= inverse
        for i in range(j):
            u = U[i, j]
            for c in range(q):
                Y[i, c] -= u * Y[j, c]


@njit(**STEP)
def _symmetric(Q, V):
    """V = (Q + Q^T) / 2 of the leading columns of Q."""
    for i in range(len(V)):
        V[i, i] = Q[i, i]
        for j in range(i):
            V[i, j] = V[j, i] = 0.5 * (Q[i, j] + Q[j, i])


@njit(**STEP)
def _put(Z, column, M):
    """Columns of Z from `column` on = M. (Slices would do, but take Numba twice as long to compile.)"""
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            Z[i, column + j] = M[i, j]


@njit(**STEP)
def _add(Z, column, M):
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            Z[i, column + j] += M[i, j]


@njit(**STEP)
def _subtract(Z, M, row, column):
    """Z -= the block of M that begins at (row, column)."""
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[i, j] -= M[row + i, column + j]


@njit(**STEP)
def _take(Z, column, M):
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            M[i, j] = Z[i, column + j]


@njit(**STEP)
def _places(B, place, size):
    """Whether each column of B has one entry that is not 0 (noise on some freedoms), and then where and what it is."""
    n, m = B.shape
    place[:] = -1
    for i in range(n):
        for j in range(m):
            if B[i, j] != 0.0:
                if place[j] >= 0:
                    return False
                place[j], size[j] = i, B[i, j]
    return place.min() >= 0


@njit(**STEP)
def _picked(V_xx, E, place, size, Q_ww, Y):
    """Q_ww = B^T V_xx B and Y = B^T E of such a B."""
    for i in range(len(place)):
        for j in range(len(place)):
            Q_ww[i, j] = size[i] * V_xx[place[i], place[j]] * size[j]
        for c in range(E.shape[1]):
            Y[i, c] = size[i] * E[place[i], c]


@njit(**STEP)
def _backward(
    A, B, C, L_xx, L_xw, L_xr, L_ww, L_wr, noisy, damping, V_xx, V_xr, V_rr, gains, transitions, root, size_r
):
    """V_.. become those of the first stage. Returns the stage that broke the pass, or -1."""
    T, n, m = B.shape
    p = C.shape[2]  # of r, with the 1
    q = n + p
    E, Q_xy, E_r = np.empty((n, q)), np.empty((n, q)), np.empty((n, p))
    Q_rr, R = np.empty((p, p)), np.empty((p, p))
    VB, Q_ww, Y = np.empty((n, m)), np.empty((m, m)), np.empty((m, q))
    D, BX = np.empty((q, q)), np.empty((n, q))
    place, size = np.empty(m, dtype=np.int64), np.empty(m)
    for t in range(T - 1, -1, -1):
        Z, X = transitions[t], gains[t]
        _put(Z, 0, A[t])
        _put(Z, n, C[t])
        np.dot(V_xx, Z, E)
        _add(E, n, V_xr)
        _take(E, n, E_r)
        np.dot(A[t].T, E, Q_xy)
        _add(Q_xy, 0, L_xx[t])
        _add(Q_xy, n, L_xr[t])
        np.dot(C[t].T, E_r, Q_rr)
        np.dot(V_xr.T, C[t], R)
        _add(Q_rr, 0, R)
        for a in range(p):
            # before V_tt is added: the terms that it will be the difference of
            size_r[a] += abs(Q_rr[a, a])
        _add(Q_rr, 0, V_rr)
        if noisy[t]:
            single = _places(B[t], place, size)
            if single:
                _picked(V_xx, E, place, size, Q_ww, Y)
            else:
                np.dot(V_xx, B[t], VB)
                np.dot(B[t].T, VB, Q_ww)
                np.dot(B[t].T, E, Y)
            _add(Q_ww, 0, L_ww[t])
            _add(Y, n, L_wr[t])
            for i in range(m):
                # of L_ww and not of Q_ww: then all stages belong to one damped problem
                Q_ww[i, i] += damping * abs(L_ww[t, i, i])
                for j in range(n):
                    Y[i, j] += L_xw[t, j, i]
            if not _factor(Q_ww):
                return t
            _solve_transposed(Q_ww, Y)
            # Y^T Y is symmetric to the last bit, unlike K^T Q_wy
            np.dot(Y.T, Y, D)
            _subtract(Q_xy, D, 0, 0)
            _subtract(Q_rr, D, n, n)
            _put(X, 0, Y)
            _solve(Q_ww, X)
            if single:
                for j in range(m):
                    for c in range(q):
                        Z[place[j], c] -= size[j] * X[j, c]
            else:
                np.dot(B[t], X, BX)
                _subtract(Z, BX, 0, 0)
            if len(root):
                # (B U^-1)^T = U^-T B^T
                _put(root[t], 0, B[t])
                _solve_transposed(Q_ww, root[t].T)
        else:
            # a reset map has no noise: V_yy = Q_yy
            gains[t] = 0.0
            if len(root):
                root[t] = 0.0
        # A^T E is symmetric up to rounding, which would grow along the chain
        _symmetric(Q_xy, V_xx)
        _symmetric(Q_rr, V_rr)
        _take(Q_xy, n, V_xr)
    return -1


@njit(**STEP)
def _forward(gains, transitions, y, x, w):
    """From y = (x_0, theta, 1), whose states become later ones."""
    T, m, q = gains.shape
    n = x.shape[1]
    for t in range(T):
        for i in range(m):
            total = 0.0
            for j in range(q):
                total += gains[t, i, j] * y[j]
            w[t, i] = -total
        for i in range(n):
            total = 0.0
            for j in range(q):
                total += transitions[t, i, j] * y[j]
            x[t + 1, i] = total
        y[:n] = x[t + 1]
