"""Impulses at closed contacts: restitution and Coulomb friction as one linear complementarity problem.

After Gabiccini et al., Eqs. 4 and 10 to 15, with the formulation of Stewart and Trinkle (1996).

With v* the velocity without contact, v+ = v* + M^-1 (N c_n + T c_t), c_t = c_+ - c_-, and E = (1 1),

    0 <= c_n      _|_   N^T v+ + b_n >= 0
    0 <= c_+, c_- _|_   +-(T^T v+ + b_t) + lambda >= 0
    0 <= lambda   _|_   mu c_n - c_+ - c_- >= 0

where b_n is given by the law for normal velocities: epsilon N^T v for restitution, g / h for no gap after a step; and
b_t is 0, or the speed of the wall in the direction -T. For all contacts together, with A = G^T M^-1 G over the columns
(N, T, -T), it is Stewart and Trinkle's

    [ A_nn  A_nt  0 ]   [c_n   ]   [ N^T v* + b_n ]
    [ A_tn  A_tt  E ]   [c_t   ] + [ T^T v* + b_t ]
    [ mu    -E^T  0 ]   [lambda]   [ 0             ]

which is copositive. So for b = 0 there is a solution, however many contacts are closed, and Lemke's method finds it.

For other b there may be none, if impulses within the cones cancel each other, G c = 0 with c . b < 0: a body that is
jammed between walls cannot leave both. Then b_t and the negative part of b_n are set to 0: the body stops.

One contact that closes, b_n + N^T v* < 0, has exactly one solution, in one of three modes. It sticks where the impulse
that stops it is within the cone; otherwise it slides, with the impulse on the side of the cone that opposes the
remaining slip. For with k = c_t / c_n and b' = b + G^T v*, the normal law gives c_n = -b_n' / (a_nn + k a_nt) where
that is positive, and the remaining slip rises with k,

    d slip / dk = -b_n' (a_nn a_tt - a_nt^2) / (a_nn + k a_nt)^2 > 0

and towards the end of that range, where friction is so steep on so long a lever that the cone reaches beyond it
(Painleve's case), to infinity on the side that friction opposes.

This friction opposes the slip after an impact. The law of Whittaker (1904) lets it oppose the slip before the impact
(`opposing_slip_before`; Stronge, Impact Mechanics, 2000). Both differ only where an impact reverses the slip.

**The impact inside the impact** (`along_normal_impulse`; Routh 1905; Stronge 2000). The normal impulse p is the time of
an impact, and friction opposes the slip at each p. With u_n, u_t the velocity of the contact point and k = dc_t / dp,

    du_n / dp = a_nn + k a_nt        du_t / dp = a_nt + k a_tt        k = -mu sign(u_t) while it slips

Where the slip stops, the contact sticks with k = -a_nt / a_tt if that is within the cone, and otherwise slips the other
way. Compression ends at u_n = 0; in a jam u_n falls first, until the slip has stopped. Restitution ends

    newton       at u_n = -epsilon u_n(0)
    poisson      at p = (1 + epsilon) p_c, with p_c the impulse of compression
    energetic    where the normal work since compression is epsilon^2 times that of compression (Stronge)

The three agree where the slip neither stops nor reverses within an impact. The velocity after an impact is a continuous
function of that before it, of the inertia, mu and epsilon, and smooth as long as the stages are the same.

`lemke` is Lemke's method of `models.maximal.lcp`, which goes through JAX and can be differentiated, compiled for a
handful of unknowns: it is called some 100 000 times a second. Rounding leads it to a ray in one of some thousand
problems with a singular H. Then it is repeated on another path, with z_0 in other proportions d, w = H z + d z_0 + q.
"""

from __future__ import annotations

import numpy as np

from ...kernels import njit

NEWTON, POISSON, ENERGETIC, COMPLEMENTARITY, SLIP_BEFORE = range(5)
LAWS = ("newton", "poisson", "energetic", "complementarity", "slip-before")
"""Laws of impact. The first three follow the normal impulse; the last two have Newton's restitution and one
direction of friction for the whole impact: against the slip after it, or before it."""
ONE_DIRECTION = LAWS[3:]
RESTITUTIONS = {"newton": (LAWS[0], *ONE_DIRECTION), "poisson": (LAWS[1],), "energetic": (LAWS[2],)}
"""The laws of impact of each law of restitution."""
STAGES = 8
"""More than an impact can have: slip, stick or reversed slip, each during compression and restitution."""
PIVOT = 1e-10
"""Least pivot; rows are scaled to entries near 1."""
TIE = 1e-9
"""Ratios closer than this tie. q is scaled to entries up to 1, so this also bounds how negative a w or z may be."""
PIVOTS_PER_VARIABLE = 30
INSIDE_CONE = 1e-9
"""An impulse whose relative distance from the side of the friction cone is larger sticks."""
PROPORTIONS = 5
"""Number of different proportions of z_0 in the second attempt."""


@njit(cache=True)
def lemke(H: np.ndarray, q: np.ndarray, z: np.ndarray) -> bool:
    """Write the solution z; return whether it was found. H is scaled by its diagonal where that is positive."""
    n = len(q)
    z[:] = 0.0
    if (q >= 0).all():
        return True
    return _pivot_to_solution(H, q, np.ones(n), z) or _pivot_to_solution(
        H, q, 1.0 + 0.3 * (np.arange(n) % PROPORTIONS), z
    )


@njit(cache=True)
def _pivot_to_solution(H: np.ndarray, q: np.ndarray, d: np.ndarray, z: np.ndarray) -> bool:
    """Write z with the proportions d of z_0; return whether one was found."""
    n = len(q)
    # rows of the friction cone have a diagonal of 0 and keep their scale
    scale = np.ones(n)
    for i in range(n):
        if H[i, i] > 0:
            scale[i] = 1.0 / np.sqrt(H[i, i])
    size = np.abs(scale * q).max()
    # columns: w, z, z_0, q
    tableau = np.zeros((n, 2 * n + 2))
    for i in range(n):
        tableau[i, i] = 1.0
        for j in range(n):
            tableau[i, n + j] = -scale[i] * H[i, j] * scale[j]
        tableau[i, 2 * n] = -d[i]
        tableau[i, 2 * n + 1] = scale[i] * q[i] / size
    # z_0 enters first, in the row that is most negative: afterwards all of q is at least 0
    basis = np.arange(n)
    row = 0
    for i in range(n):
        if tableau[i, 2 * n + 1] / d[i] <= tableau[row, 2 * n + 1] / d[row]:
            row = i
    enters = n + row
    _exchange(tableau, basis, row, 2 * n)
    for _ in range(PIVOTS_PER_VARIABLE * n):
        row = _leaving(tableau, basis, enters)
        if row < 0:
            return False
        leaves = basis[row]
        _exchange(tableau, basis, row, enters)
        # z_0 has left: what is basic among z is the solution
        if leaves == 2 * n:
            for i in range(n):
                if n <= basis[i] < 2 * n:
                    j = basis[i] - n
                    z[j] = max(tableau[i, 2 * n + 1], 0.0) * scale[j] * size
            return True
        # the complement of the variable that left
        enters = leaves + n if leaves < n else leaves - n
    return False


@njit(cache=True)
def _leaving(tableau: np.ndarray, basis: np.ndarray, enters: int) -> int:
    """The row of the least ratio; among ties that of z_0, else the lexicographic least in B^-1; -1 if there is none."""
    n = len(basis)
    least = np.inf
    for i in range(n):
        if tableau[i, enters] > PIVOT:
            least = min(least, tableau[i, 2 * n + 1] / tableau[i, enters])
    best = -1
    for i in range(n):
        if not tableau[i, enters] > PIVOT:
            continue
        if tableau[i, 2 * n + 1] / tableau[i, enters] > least + TIE:
            continue
        if basis[i] == 2 * n:
            return i
        if best < 0:
            best = i
            continue
        for j in range(n):
            ratio, best_ratio = tableau[i, j] / tableau[i, enters], tableau[best, j] / tableau[best, enters]
            if ratio < best_ratio - TIE:
                best = i
                break
            if ratio > best_ratio + TIE:
                break
    return best


@njit(cache=True)
def _exchange(tableau: np.ndarray, basis: np.ndarray, row: int, enters: int) -> None:
    """Pivot: `enters` becomes basic in a row."""
    n, m = tableau.shape
    pivot = tableau[row, enters]
    for j in range(m):
        tableau[row, j] /= pivot
    for i in range(n):
        factor = tableau[i, enters]
        if i != row and factor != 0.0:
            for j in range(m):
                tableau[i, j] -= factor * tableau[row, j]
    basis[row] = enters


@njit(cache=True, inline="always")
def one_contact(
    N: np.ndarray, T: np.ndarray, W: np.ndarray, v: np.ndarray, b: np.ndarray, mu: float
) -> tuple[float, float, bool]:
    """(c_n, c_t) of a contact, and whether a mode was found; v is v*, W (3,) the inverse masses, b (2,)."""
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
        # not positive beyond the end of the range of k, where the contact jams
        along = a_nn + side * mu * a_nt
        if along > 0:
            c_n = -b_n / along
            if (b_t + (a_nt + side * mu * a_tt) * c_n) * side <= 0:
                return c_n, side * mu * c_n, True
    return 0.0, 0.0, False


@njit(cache=True, inline="always")
def opposing_slip_before(
    N: np.ndarray, T: np.ndarray, W: np.ndarray, v: np.ndarray, c_n: float, c_t: float, mu: float
) -> tuple[float, float]:
    """(c_n, c_t) of a contact that slides through an impact with its friction opposed to the slip of v, before it.

    Args:
        c_n, c_t: of `one_contact`; returned where the contact sticks, or where no impulse on that side ends it.
    """
    slip = T[0] * v[0] + T[1] * v[1] + T[2] * v[2]
    if abs(c_t) < mu * c_n * (1 - INSIDE_CONE) or slip * c_t <= 0:
        return c_n, c_t
    a_nn = W[0] * N[0] * N[0] + W[1] * N[1] * N[1] + W[2] * N[2] * N[2]
    a_nt = W[0] * N[0] * T[0] + W[1] * N[1] * T[1] + W[2] * N[2] * T[2]
    # the same change of the normal velocity
    change = a_nn * c_n + a_nt * c_t
    along = a_nn - np.sign(slip) * mu * a_nt
    return (change / along, -np.sign(slip) * mu * change / along) if along > 0 else (c_n, c_t)


@njit(cache=True)
def along_normal_impulse(
    N: np.ndarray, T: np.ndarray, W: np.ndarray, v: np.ndarray, mu: float, epsilon: float, law: int
) -> tuple[float, float]:
    """(c_n, c_t) of a contact that closes, friction opposing the slip at each instant of the impact.

    Args:
        v: (3,) velocity before, with N^T v < 0. law: `NEWTON`, `POISSON` or `ENERGETIC`.
    """
    a_nn = W[0] * N[0] * N[0] + W[1] * N[1] * N[1] + W[2] * N[2] * N[2]
    a_nt = W[0] * N[0] * T[0] + W[1] * N[1] * T[1] + W[2] * N[2] * T[2]
    a_tt = W[0] * T[0] * T[0] + W[1] * T[1] * T[1] + W[2] * T[2] * T[2]
    u_n = N[0] * v[0] + N[1] * v[1] + N[2] * v[2]
    u_t = T[0] * v[0] + T[1] * v[1] + T[2] * v[2]
    first, c_n, c_t, work, compressed, end, compressing = u_n, 0.0, 0.0, 0.0, 0.0, 0.0, True
    for _ in range(STAGES):
        slips = u_t != 0.0
        sticks = not slips and abs(a_nt) <= mu * a_tt
        k = -a_nt / a_tt if sticks else -mu * np.sign(u_t if slips else a_nt)
        # exactly 0 where it sticks: rounding must not let it slip
        rise, along = a_nn + k * a_nt, 0.0 if sticks else a_nt + k * a_tt
        stop = -u_t / along if slips and along * u_t < 0.0 else np.inf
        if compressing:
            left = -u_n / rise if rise > 0.0 else np.inf
        elif law == NEWTON:
            left = (-epsilon * first - u_n) / rise
        elif law == POISSON:
            left = end - c_n
        else:
            missing = max((1.0 - epsilon * epsilon) * compressed - work, 0.0)
            left = (np.sqrt(u_n * u_n + 2.0 * rise * missing) - u_n) / rise
        step = max(min(left, stop), 0.0)
        work += (u_n + 0.5 * rise * step) * step
        c_n, c_t = c_n + step, c_t + k * step
        u_n, u_t = u_n + rise * step, 0.0 if stop <= left else u_t + along * step
        if stop <= left:
            continue
        if not compressing:
            break
        u_n, compressed, end, compressing = 0.0, work, (1.0 + epsilon) * c_n, False
    return c_n, c_t


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
    solved = False
    if K == 1:
        # in closed form, as for most impacts; for some b_n no mode is found
        i = closed[0]
        c[0, 0], c[0, 1], solved = one_contact(N[i], T[i], W, v, b[0], mu)
    if not solved:
        solved = _solve_by_lemke(N[closed], T[closed], W, v, b[:K], mu, c[:K])
    if not solved:
        c[:K] = 0.0
        return False
    for j in range(K):
        for k in range(3):
            v[k] += W[k] * (N[closed[j], k] * c[j, 0] + T[closed[j], k] * c[j, 1])
    return True


@njit(cache=True)
def _solve_by_lemke(
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
    solved = lemke(H, q, z)
    if not solved:
        for i in range(C):
            q[i] -= min(b[i, 0], 0.0)
            q[C + 2 * i] -= b[i, 1]
            q[C + 2 * i + 1] += b[i, 1]
        solved = lemke(H, q, z)
    for i in range(C):
        c[i, 0] = z[i]
        # ties within rounding may leave the cone slightly
        c[i, 1] = min(max(z[C + 2 * i] - z[C + 2 * i + 1], -mu * z[i]), mu * z[i])
    return solved
