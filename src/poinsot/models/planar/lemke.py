"""Linear complementarity for a handful of unknowns, compiled: w = H z + q, w >= 0, z >= 0, w_i z_i = 0.

This is Lemke's method as in `models.maximal.lcp`, which goes through JAX and can be differentiated; this one is called
some hundred thousand times a second. Among rows that tie for leaving, the one that is lexicographically least in
[q, B^-1] leaves (z_0 if it is among them), so the method ends: with a solution, or on a ray. Rounding leads it to a ray
in one of some thousand problems with a singular H. Then it is repeated with z_0 in other proportions d,
w = H z + d z_0 + q, which takes another path.
"""

from __future__ import annotations

import numpy as np
from numba import njit

PIVOT = 1e-10
"""Least pivot; rows are scaled to entries near 1."""
TIE = 1e-9
"""Ratios that are closer tie. q is scaled to entries up to 1, so this also bounds how negative a w or z may be."""
PIVOTS_PER_VARIABLE = 30
PROPORTIONS = 5
"""Number of different proportions of z_0 in the second attempt."""


@njit(cache=True)
def lemke(H: np.ndarray, q: np.ndarray, z: np.ndarray) -> bool:
    """Write z; return whether it is a solution. H is scaled by its diagonal where that is positive."""
    n = len(q)
    z[:] = 0.0
    if (q >= 0).all():
        return True
    d = np.ones(n)
    if _pivoted(H, q, d, z):
        return True
    for i in range(n):
        d[i] = 1.0 + 0.3 * (i % PROPORTIONS)
    return _pivoted(H, q, d, z)


@njit(cache=True)
def _pivoted(H: np.ndarray, q: np.ndarray, d: np.ndarray, z: np.ndarray) -> bool:
    """Write z with the proportions d of z_0; return whether one was found."""
    n = len(q)
    # rows of the friction cone have a diagonal of 0 and keep their scale
    scale = np.ones(n)
    for i in range(n):
        if H[i, i] > 0:
            scale[i] = 1.0 / np.sqrt(H[i, i])
    size = 0.0
    for i in range(n):
        size = max(size, abs(scale[i] * q[i]))
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
            here, there = tableau[i, j] / tableau[i, enters], tableau[best, j] / tableau[best, enters]
            if here < there - TIE:
                best = i
                break
            if here > there + TIE:
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
