"""Random linear-quadratic problems, and the dense equations that they are."""

from dataclasses import dataclass, replace

import numpy as np

from poinsot.estimators.shooting.lq import Chain, LinearQuadratic, Quadratic, Rows, Stages


def positive(rng, T, d, rank=None):
    J = rng.standard_normal((T, rank or d + 2, d))
    return np.einsum("tri,trj->tij", J, J)


def random_chain(rng, T=12, n=4, m=3, p=3, resets=(), see=None, arrival=True, constraints=0):
    """`see` (p, r): theta acts through see^T theta alone."""
    see = np.eye(p) if see is None else see
    r = see.shape[1]
    L = positive(rng, T + 1, n + m + r)
    noisy = np.ones(T, dtype=bool)
    noisy[list(resets)] = False
    stages = Stages(
        A=np.eye(n) + 0.3 * rng.standard_normal((T, n, n)),
        B=rng.standard_normal((T, n, m)),
        C=rng.standard_normal((T, n, r)) @ see.T,
        gap=rng.standard_normal((T, n)),
        L_xx=L[:T, :n, :n],
        L_xw=L[:T, :n, n : n + m],
        L_xt=L[:T, :n, n + m :] @ see.T,
        L_ww=L[:T, n : n + m, n : n + m],
        L_wt=L[:T, n : n + m, n + m :] @ see.T,
        L_tt=see @ L[:T, n + m :, n + m :].sum(axis=0) @ see.T,
        l_x=rng.standard_normal((T, n)),
        l_w=rng.standard_normal((T, m)),
        l_t=see @ rng.standard_normal(r),
        noisy=noisy,
        rows=random_rows(rng, T, constraints, n, m, see) if constraints else None,
    )
    end = Quadratic(
        L[T, :n, :n], L[T, :n, n + m :] @ see.T, see @ L[T, n + m :, n + m :] @ see.T,
        rng.standard_normal(n), see @ rng.standard_normal(r),
    )  # fmt: skip
    known = positive(rng, 1, n)[0] if arrival else np.zeros((n, n))
    return Chain(stages, end, known, rng.standard_normal(n) if arrival else np.zeros(n))


def random_rows(rng, T, c, n, m, see):
    return Rows(
        rng.standard_normal((T, c, n)),
        rng.standard_normal((T, c, m)),
        rng.standard_normal((T, c, see.shape[1])) @ see.T,
        rng.standard_normal((T, c)),
    )


def random_problem(rng, chains=2, prior=True, p=3, **chain):
    made = tuple(random_chain(rng, p=p, **chain) for _ in range(chains))
    Pi = positive(rng, 1, p)[0] if prior else np.zeros((p, p))
    return LinearQuadratic(made, Pi, rng.standard_normal(p) if prior else np.zeros(p))


@dataclass
class Dense:
    """H, g, J, c of min 1/2 z H z + g z, J z = c, with z = (theta, then x_0 w_0 x_1 ... of each chain)."""

    H: np.ndarray
    g: np.ndarray
    J: np.ndarray
    c: np.ndarray
    x: list
    w: list
    p: int

    @property
    def basis(self):
        """(z, free) columns that the constraints leave."""
        _, s, Vt = np.linalg.svd(self.J)
        return Vt[np.count_nonzero(s > 1e-9 * s[0]) :].T

    def solve(self):
        """z by the KKT equations; of smallest norm where they leave some open."""
        K = np.block([[self.H, self.J.T], [self.J, np.zeros((len(self.J), len(self.J)))]])
        right = np.concatenate([-self.g, self.c])
        if np.linalg.cond(K) < 1e13:
            return np.linalg.solve(K, right)[: len(self.g)]
        return np.linalg.lstsq(K, right, rcond=1e-12)[0][: len(self.g)]

    def value(self, z):
        return 0.5 * z @ self.H @ z + self.g @ z

    def covariance(self):
        Z = self.basis
        return Z @ np.linalg.inv(Z.T @ self.H @ Z) @ Z.T


def dense(problem):
    p = len(problem.prior_t)
    size, x, w = p, [], []
    for chain in problem.chains:
        T, (n, m, _) = len(chain.stages), chain.stages.sizes
        x.append(size + np.arange((T + 1) * n).reshape(T + 1, n))
        w.append(x[-1][-1, -1] + 1 + np.arange(T * m).reshape(T, m))
        size += (T + 1) * n + T * m
    H, g = np.zeros((size, size)), np.zeros(size)
    theta = np.arange(p)
    H[:p, :p] += problem.prior_tt
    g[:p] += problem.prior_t
    rows, right = [], []

    def add(where, block, slope):
        H[np.ix_(where, where)] += block
        g[where] += slope

    for i, chain in enumerate(problem.chains):
        s, (n, m, _) = chain.stages, chain.stages.sizes
        add(x[i][0], chain.arrival_xx, chain.arrival_x)
        add(theta, s.L_tt, s.l_t)
        for t in range(len(s)):
            xi, wi, ni = x[i][t], w[i][t], x[i][t + 1]
            zero = np.zeros((p, p))
            noise = 1.0 if s.noisy[t] else 0.0
            both = np.block(
                [
                    [s.L_xx[t], noise * s.L_xw[t], s.L_xt[t]],
                    [noise * s.L_xw[t].T, noise * s.L_ww[t] + (1 - noise) * np.eye(m), noise * s.L_wt[t]],
                    [s.L_xt[t].T, noise * s.L_wt[t].T, zero],
                ]
            )
            slope = np.concatenate([s.l_x[t], noise * s.l_w[t], np.zeros(p)])
            add(np.concatenate([xi, wi, theta]), both, slope)
            row = np.zeros((n, size))
            row[:, xi], row[:, wi], row[:, theta] = s.A[t], noise * s.B[t], s.C[t]
            row[:, ni] -= np.eye(n)
            rows.append(row)
            right.append(-s.gap[t])
            if s.rows is not None:
                row = np.zeros((s.rows.e.shape[1], size))
                row[:, xi], row[:, wi], row[:, theta] = s.rows.E[t], noise * s.rows.F[t], s.rows.G[t]
                rows.append(row)
                right.append(s.rows.e[t])
        e = chain.end
        add(np.concatenate([x[i][-1], theta]), np.block([[e.V_xx, e.V_xt], [e.V_xt.T, e.V_tt]]),
            np.concatenate([e.V_x, e.V_t]))  # fmt: skip
    return Dense(H, g, np.concatenate(rows), np.concatenate(right), x, w, p)


def tail(chain, t):
    """The chain from stage t on as a problem of its own, nothing known of its first state; all theta terms kept."""
    s, n = chain.stages, chain.stages.sizes[0]
    kept = {
        name: getattr(s, name)[t:]
        for name in ("A", "B", "C", "gap", "L_xx", "L_xw", "L_xt", "L_ww", "L_wt", "l_x", "l_w", "noisy")
    }
    return replace(chain, stages=replace(s, **kept), arrival_xx=np.zeros((n, n)), arrival_x=np.zeros(n))
