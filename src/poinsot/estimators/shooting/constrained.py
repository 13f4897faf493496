"""The recursion with equality constraints at the nodes: E x + F w + G theta = e (null-space method).

What a stage asks of (w, y), y = (x, theta, 1), is its own rows and what the next stage still asks of its state, through
the dynamics. Written N_w w + N_y y = 0 with N_w = U_1 S V_1^T (U_2, V_2 the rest of both bases),

    w = V_1 a + V_2 b,   a = -S^-1 U_1^T N_y y        as far as the rows determine w
    U_2^T N_y y = 0                                   what is left for the state and theta to fulfil: passed on backward
    b = -(V_2^T Q_ww V_2)^-1 V_2^T (Q_ww V_1 a + Q_wy y)                    the rest of w, as in Eq. 25

The same elimination takes out the arrival states, whose rows are left to theta, and at last theta itself: rows that are
left then contradict each other, or were said twice. With no rows at all it is the recursion of `riccati`, in other
words and more slowly; it works on any mix of stages with and without rows, and with more rows than w can fulfil.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Matrix
from ...exceptions import InvalidMethod, NotIdentifiable
from .arrival import Seen
from .lq import Chain, LinearQuadratic, Quadratic
from .lq_solution import Solution

RANK = 1e-10
"""Singular values below this are zero; rows have norm 1."""

CONTRADICTION = 1e-7
"""What a row without unknowns may ask for, relative to what it was made of."""


@dataclass(frozen=True, eq=False)
class Eliminated:
    """One group of unknowns u as a function of the others, y.

    Args:
        policy: (d, q) u = policy y. value: (q, q) of what is left. rows: (c, q) rows y = 0 that are left.
        unseen: (d, z) directions of u that neither cost nor rows see.
    """

    policy: Matrix
    value: Matrix
    rows: Matrix
    unseen: Matrix


def solve(problem: LinearQuadratic) -> Solution:
    """The minimum on the constraints.

    Raises:
        NotIdentifiable: if the problem has no minimum.
        InvalidMethod: if the constraints contradict each other.
    """
    p = len(problem.prior_t)
    total = _augmented(problem.prior_tt, problem.prior_t)
    rows = [np.zeros((0, p + 1))]
    passed = []
    for chain in problem.chains:
        stages, first = _backward(chain)
        total = total + first.value
        rows.append(first.rows)
        passed.append((stages, first))
    met = eliminate(total, np.concatenate(rows), p)
    theta = met.policy[:, 0]
    x, w = [], []
    for (stages, first), chain in zip(passed, problem.chains, strict=True):
        states, noise = _forward(chain, stages, first.policy @ np.append(theta, 1.0), theta)
        x.append(states)
        w.append(noise)
    return Solution(tuple(x), tuple(w), theta, 0.5 * float(met.value[0, 0]), met.unseen)


def eliminate(Q: Matrix, rows: Matrix, d: int) -> Eliminated:
    """Minimize 1/2 (u, y) Q (u, y) over the first d unknowns on rows (u, y) = 0, for any y.

    Directions of u that nothing sees stay zero.

    Args:
        Q: (d + q, d + q), symmetric. rows: (c, d + q). The last component of y is 1.
        d: of u.

    Raises:
        NotIdentifiable: if there is no minimum.
        InvalidMethod: if the rows contradict each other.
    """
    rows = _independent(rows)
    N_u, N_y = rows[:, :d], rows[:, d:]
    U, s, Vt = np.linalg.svd(N_u) if min(N_u.shape) else (np.eye(len(rows)), np.zeros(0), np.eye(d))
    rank = int(np.count_nonzero(s > RANK))
    given = -Vt[:rank].T @ ((U[:, :rank].T @ N_y) / s[:rank, None])
    free = Vt[rank:].T
    Q_bb = free.T @ Q[:d, :d] @ free
    seen = Seen.of(Q_bb, np.diag(Q_bb))
    try:
        policy = given - free @ seen.solve(free.T @ (Q[:d, :d] @ given + Q[:d, d:]))
    except np.linalg.LinAlgError:
        raise NotIdentifiable(
            "the linear-quadratic problem has no minimum on its constraints: damp it, or give priors"
        ) from None
    M = np.concatenate([policy, np.eye(Q.shape[0] - d)])
    return Eliminated(policy, M.T @ Q @ M, _independent(U[:, rank:].T @ N_y), free @ seen.null)


def _backward(chain: Chain) -> tuple[list[Eliminated], Eliminated]:
    """The stages of a chain, and its arrival state given theta."""
    s, (n, m, p) = chain.stages, chain.stages.sizes
    end = Quadratic(
        chain.end.V_xx, chain.end.V_xt, chain.end.V_tt + s.L_tt, chain.end.V_x, chain.end.V_t + s.l_t
    )
    V, rows = _of(end), np.zeros((0, n + p + 1))
    passed: list[Eliminated] = []
    for t in reversed(range(len(s))):
        d = m if s.noisy[t] else 0
        M = np.zeros((n + p + 1, d + n + p + 1))
        M[:n] = np.concatenate([s.B[t][:, :d], s.A[t], s.C[t], s.gap[t][:, None]], axis=1)
        M[n:, d + n :] = np.eye(p + 1)
        own = np.zeros((0, M.shape[1]))
        if s.rows is not None:
            c = s.rows
            own = np.concatenate([c.F[t][:, :d], c.E[t], c.G[t], -c.e[t][:, None]], axis=1)
        Q = M.T @ V @ M
        Q[:d, :d] += s.L_ww[t][:d, :d]
        _add(
            Q, slice(0, d), slice(d, None), np.concatenate([s.L_xw[t].T, s.L_wt[t], s.l_w[t][:, None]], 1)[:d]
        )
        Q[d : d + n, d : d + n] += s.L_xx[t]
        _add(Q, slice(d, d + n), slice(d + n, None), np.concatenate([s.L_xt[t], s.l_x[t][:, None]], 1))
        stage = eliminate(Q, np.concatenate([rows @ M, own]), d)
        if stage.unseen.shape[1]:
            raise NotIdentifiable("some noise has neither cost nor constraint: give its covariance")
        V, rows = stage.value, stage.rows
        passed.insert(0, stage)
    V[:n, :n] += chain.arrival_xx
    _add(V, slice(0, n), slice(n + p, None), chain.arrival_x[:, None])
    return passed, eliminate(V, rows, n)


def _forward(
    chain: Chain, stages: list[Eliminated], x_0: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    s, (n, m, _) = chain.stages, chain.stages.sizes
    x, w = np.empty((len(s) + 1, n)), np.zeros((len(s), m))
    x[0] = x_0
    for t, stage in enumerate(stages):
        if s.noisy[t]:
            w[t] = stage.policy @ np.concatenate([x[t], theta, [1.0]])
        x[t + 1] = s.A[t] @ x[t] + s.B[t] @ w[t] * s.noisy[t] + s.C[t] @ theta + s.gap[t]
    return x, w


def _independent(rows: Matrix) -> Matrix:
    """As many rows as say something new; the last column holds constants.

    Raises:
        InvalidMethod: if a combination of them asks for the impossible.
    """
    if not len(rows):
        return rows
    size = np.linalg.norm(rows[:, :-1], axis=1)
    scaled = rows / np.where(size > RANK * np.abs(rows).max(initial=1e-300), size, 1.0)[:, None]
    U, s, _ = np.linalg.svd(scaled[:, :-1]) if rows.shape[1] > 1 else (np.eye(len(rows)), np.zeros(0), None)
    rank = int(np.count_nonzero(s > RANK))
    turned = U.T @ scaled
    if np.abs(turned[rank:, -1]).max(initial=0.0) > CONTRADICTION * (1.0 + np.abs(scaled[:, -1]).max()):
        raise InvalidMethod("the equality constraints contradict each other; leave out one of them")
    kept = turned[:rank]
    return np.asarray(kept / np.linalg.norm(kept[:, :-1], axis=1, keepdims=True))


def _augmented(tt: Matrix, t: np.ndarray) -> Matrix:
    return np.block([[tt, t[:, None]], [t[None], np.zeros((1, 1))]])


def _of(V: Quadratic) -> Matrix:
    """(q, q) of (x, theta, 1)."""
    top = np.concatenate([V.V_xx, V.V_xt, V.V_x[:, None]], axis=1)
    return np.concatenate(
        [top, np.concatenate([np.concatenate([V.V_xt.T, V.V_x[None]]), _augmented(V.V_tt, V.V_t)], axis=1)]
    )


def _add(Q: Matrix, rows: slice, columns: slice, block: Matrix) -> None:
    Q[rows, columns] += block
    Q[columns, rows] += block.T
