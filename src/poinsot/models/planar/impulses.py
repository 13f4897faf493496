"""Impulses at closed contacts: restitution and Coulomb friction as one linear complementarity problem.

After Gabiccini et al., Eqs. 4 and 10 to 15, with the formulation of Stewart and Trinkle (1996).

With v* the velocity that there would be without contact, v+ = v* + M^-1 (N c_n + T c_t), c_t = c_+ - c_-, and E = (1
1),

    0 <= c_n      _|_   N^T v+ + b_n >= 0
    0 <= c_+, c_- _|_   +-(T^T v+ + b_t) + lambda >= 0
    0 <= lambda   _|_   mu c_n - c_+ - c_- >= 0

in which b_n is what a law says of normal velocities: epsilon N^T v for restitution, g / h for no gap after a step;
and b_t is 0, or how fast the wall runs the other way. Written for all contacts together, with A = G^T M^-1 G over the
columns (N, T, -T), it is Stewart and Trinkle's

    [ A_nn  A_nt  0 ]   [c_n   ]   [ N^T v* + b_n ]
    [ A_tn  A_tt  E ]   [c_t   ] + [ T^T v* + b_t ]
    [ mu    -E^T  0 ]   [lambda]   [ 0             ]

which is copositive. So where b = 0 there is a solution, however many contacts are closed, and Lemke's method finds it.
This resolves what the paper leaves open (Sect. 4): its equations N^T (v+ + epsilon v) = 0 for every closed contact
contradict each other where more than one closes; here a contact whose impulse is 0 may separate faster.

Where b is not 0 there may be none, if impulses within the cones cancel each other, G c = 0 with c . b < 0: a body
that is jammed between walls cannot leave both. What is below 0 of b_n is then left out, and b_t: it stops.

One contact that closes, b_n + N^T v* < 0, has exactly one solution, in one of three modes: it sticks where the
impulse that stops it is within the cone; otherwise it slides, with the impulse on the side of the cone that opposes
the slip that remains. For with k = c_t / c_n the normal law gives c_n = -b_n' / (a_nn + k a_nt) where that is above
0, b' standing for b + G^T v*, and the slip that remains rises with k,

    d slip / dk = -b_n' (a_nn a_tt - a_nt^2) / (a_nn + k a_nt)^2 > 0

and towards the end of that range, where friction is so steep on so long a lever that the cone reaches beyond it
(Painleve's case), to infinity on the side that friction opposes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .lemke import lemke


@njit(cache=True, inline="always")
def one_contact(
    N: np.ndarray, T: np.ndarray, W: np.ndarray, v: np.ndarray, b: np.ndarray, mu: float
) -> tuple[float, float, bool]:
    """(c_n, c_t) of a contact, v being v*, W (3,) the inverse masses, b (2,); and whether a mode was found."""
    b_n = N[0] * v[0] + N[1] * v[1] + N[2] * v[2] + b[0]
    if b_n >= 0:
        return 0.0, 0.0, True
    b_t = T[0] * v[0] + T[1] * v[1] + T[2] * v[2] + b[1]
    a_nn = W[0] * N[0] * N[0] + W[1] * N[1] * N[1] + W[2] * N[2] * N[2]
    a_nt = W[0] * N[0] * T[0] + W[1] * N[1] * T[1] + W[2] * N[2] * T[2]
    a_tt = W[0] * T[0] * T[0] + W[1] * T[1] * T[1] + W[2] * T[2] * T[2]
    det = a_nn * a_tt - a_nt * a_nt
    c_n, c_t = (a_nt * b_t - a_tt * b_n) / det, (a_nt * b_n - a_nn * b_t) / det
    if c_n >= 0 and abs(c_t) <= mu * c_n:
        return c_n, c_t, True
    for side in (-1.0, 1.0):
        along = a_nn + side * mu * a_nt
        if along > 0:
            c_n = -b_n / along
            if (b_t + (a_nt + side * mu * a_tt) * c_n) * side <= 0:
                return c_n, side * mu * c_n, True
    return 0.0, 0.0, False


@njit(cache=True)
def apply_impulses(
    N: np.ndarray,
    T: np.ndarray,
    closed: np.ndarray,
    W: np.ndarray,
    v: np.ndarray,
    b: np.ndarray,
    mu: float,
    c: np.ndarray,
) -> bool:
    """Add the impulses of closed contacts to v, which is v* before and v+ after; return whether a solution was found.

    Args:
        N, T: (C, 3) of all contacts. closed: (K,) indices of those that are closed. W: (3,) inverse masses.
        b: of these, in its first K rows. c: (c_n, c_t) is written into its first K rows; 0 where no solution was found.
    """
    K = len(closed)
    found = False
    if K == 1:
        i = closed[0]
        c[0, 0], c[0, 1], found = one_contact(N[i], T[i], W, v, b[0], mu)
    if not found:
        found = _by_lemke(N[closed], T[closed], W, v, b[:K], mu, c[:K])
    if not found:
        c[:K] = 0.0
        return False
    for j in range(K):
        for k in range(3):
            v[k] += W[k] * (N[closed[j], k] * c[j, 0] + T[closed[j], k] * c[j, 1])
    return True


@njit(cache=True)
def _by_lemke(
    N: np.ndarray, T: np.ndarray, W: np.ndarray, v: np.ndarray, b: np.ndarray, mu: float, c: np.ndarray
) -> bool:
    """Write (c_n, c_t) of each contact into c (C, 2), b being (C, 2); return whether that is a solution."""
    C = len(b)
    H, q, z = np.zeros((4 * C, 4 * C)), np.zeros(4 * C), np.zeros(4 * C)
    D = np.empty((3 * C, 3))
    for i in range(C):
        D[i], D[C + 2 * i], D[C + 2 * i + 1] = N[i], T[i], -T[i]
        q[i], q[C + 2 * i], q[C + 2 * i + 1] = b[i, 0], b[i, 1], -b[i, 1]
    for i in range(3 * C):
        for k in range(3):
            q[i] += D[i, k] * v[k]
    if (q[:C] >= 0).all():
        c[:C] = 0.0
        return True
    for i in range(3 * C):
        for j in range(3 * C):
            for k in range(3):
                H[i, j] += D[i, k] * W[k] * D[j, k]
    for i in range(C):
        for side in range(2):
            H[C + 2 * i + side, 3 * C + i] = 1.0
            H[3 * C + i, C + 2 * i + side] = -1.0
        H[3 * C + i, i] = mu
    found = lemke(H, q, z)
    if not found:
        for i in range(C):
            q[i] -= min(b[i, 0], 0.0)
            q[C + 2 * i] -= b[i, 1]
            q[C + 2 * i + 1] += b[i, 1]
        found = lemke(H, q, z)
    for i in range(C):
        c[i, 0] = z[i]
        c[i, 1] = min(max(z[C + 2 * i] - z[C + 2 * i + 1], -mu * z[i]), mu * z[i])
    return found
