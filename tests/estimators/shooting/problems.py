"""Random linear-quadratic problems of several chains, their solution by the recursion, and by dense equations."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from poinsot.arrays import Matrix, Vector
from poinsot.estimators.shooting.arrival import ArrivalSystem, factorize_arrival
from poinsot.estimators.shooting.ddp import TrajectoryPosterior
from poinsot.estimators.shooting.riccati import (
    Backward,
    LinearQuadraticStages,
    Policy,
    Quadratic,
    backward,
    forward,
    marginals,
)
from poinsot.exceptions import InvalidMethod, NotIdentifiable


def require_shapes(value, **shapes):
    for name, shape in shapes.items():
        assert getattr(value, name).shape == shape, name


@dataclass(frozen=True, eq=False)
class Chain:
    """One recording.

    Args:
        stages: all of it but the last node.
        end: the last node's cost.
        arrival_xx, arrival_x: (n, n), (n,) Lambda and lambda: what was known of x_0; zeros for nothing.

    Raises:
        InvalidMethod: if shapes do not match, or a number is not finite.
    """

    stages: LinearQuadraticStages
    end: Quadratic
    arrival_xx: Matrix
    arrival_x: Vector

    def __post_init__(self) -> None:
        n, _, p = self.stages.sizes
        if self.end.V_xt.shape != (n, p):
            raise InvalidMethod(
                f"a chain of {n} states and {p} parameters cannot end in {self.end.V_xt.shape[0]} and "
                f"{self.end.V_xt.shape[1]}"
            )
        require_shapes(self, arrival_xx=(n, n), arrival_x=(n,))
        for part in (self, self.stages, self.end):
            _require_finite(part)


@dataclass(frozen=True, eq=False)
class LinearQuadratic:
    """Chains that share theta, and what was known of it.

    Args:
        chains: one a recording.
        prior_tt, prior_t: (p, p), (p,) Pi and pi; zeros for nothing.
    """

    chains: tuple[Chain, ...]
    prior_tt: Matrix
    prior_t: Vector

    def __post_init__(self) -> None:
        p = len(self.prior_t)
        if not self.chains:
            raise InvalidMethod("a problem needs a recording: give at least one chain")
        if any(chain.stages.sizes[2] != p for chain in self.chains):
            raise InvalidMethod(f"chains that share theta must each have its {p} parameters")
        require_shapes(self, prior_tt=(p, p))


def join(stretches: Sequence[LinearQuadraticStages]) -> LinearQuadraticStages:
    """Stretches of one chain in a row, as one."""
    stacked = {
        field.name: np.concatenate([getattr(each, field.name) for each in stretches])
        for field in fields(LinearQuadraticStages)
        if field.name not in ("L_tt", "l_t")
    }
    L_tt, l_t = sum(each.L_tt for each in stretches), sum(each.l_t for each in stretches)
    return LinearQuadraticStages(**stacked, L_tt=np.asarray(L_tt), l_t=np.asarray(l_t))


def _require_finite(value: object) -> None:
    for field in fields(value):  # type: ignore[arg-type]
        array = getattr(value, field.name)
        if isinstance(array, np.ndarray) and not np.isfinite(array).all():
            raise InvalidMethod(
                f"{field.name} of the linear-quadratic problem holds a number that is not finite"
            )


@dataclass(frozen=True, eq=False)
class Solution:
    """Of a linear-quadratic problem.

    Args:
        x: (N + 1, n) of each chain. w: (N, m) of each. theta: (p,).
        constant: the cost there.
        unobservable: (p, z) orthonormal combinations of theta that nothing sees.
    """

    x: tuple[np.ndarray, ...]
    w: tuple[np.ndarray, ...]
    theta: Vector
    constant: float
    unobservable: Matrix


def solve(problem: LinearQuadratic, damping: float = 0.0, null_space: bool = True) -> Solution:
    """The minimum, damped if asked to.

    Raises:
        NotIdentifiable: if the problem has no minimum, or more than one and `null_space` is off.
    """
    passes = [backward(chain.stages, chain.end, damping) for chain in problem.chains]
    system = _start(problem, passes, damping, null_space)
    arrival = system.solve()
    rolled = [forward(each.policy, x_0, arrival.theta) for each, x_0 in zip(passes, arrival.x, strict=True)]
    x, w = zip(*rolled, strict=True)
    return Solution(x, w, arrival.theta, arrival.constant, system.schur.null)


def posterior(problem: LinearQuadratic) -> TrajectoryPosterior:
    """Covariance of theta and of every state: the inverse of the whole Hessian on the constraints, by blocks.

    Raises:
        NotIdentifiable: if the problem has no minimum.
    """
    passes = []
    for chain in problem.chains:
        room = Policy.empty(len(chain.stages), chain.stages.sizes, spread=True)
        passes.append(backward(chain.stages, chain.end, out=room))
    start = _start(problem, passes, 0.0, True)
    P_tt, first_xx, first_xt = start.covariances()
    along = [
        marginals(each.policy, xx, xt, P_tt) for each, xx, xt in zip(passes, first_xx, first_xt, strict=True)
    ]
    states, crosses = zip(*along, strict=True)
    unobservable = tuple(state.null for state in start.states)
    return TrajectoryPosterior(P_tt, states, crosses, start.schur.null, unobservable)


def _start(
    problem: LinearQuadratic, passes: Sequence[Backward], damping: float, null_space: bool
) -> ArrivalSystem:
    values = [
        each.value
        + Quadratic(
            chain.arrival_xx,
            np.zeros_like(each.value.V_xt),
            np.zeros_like(each.value.V_tt),
            chain.arrival_x,
            np.zeros_like(each.value.V_t),
        )
        for each, chain in zip(passes, problem.chains, strict=True)
    ]
    start = None
    if all(each.broke_at is None for each in passes):
        size_t = np.abs(np.diag(problem.prior_tt))
        for each, chain in zip(passes, problem.chains, strict=True):
            size_t = size_t + each.size_t + np.abs(np.diag(chain.end.V_tt))
        start = factorize_arrival(values, problem.prior_tt, problem.prior_t, damping, null_space, size_t)
    if start is None:
        raise NotIdentifiable(
            "the linear-quadratic problem has no single minimum: damp it, give priors, or keep the null space out"
        )
    return start


def positive(rng, T, d, rank=None):
    J = rng.standard_normal((T, rank or d + 2, d))
    return np.einsum("tri,trj->tij", J, J)


def random_chain(rng, T=12, n=4, m=3, p=3, resets=(), see=None, arrival=True):
    """`see` (p, r): theta acts through see^T theta alone."""
    see = np.eye(p) if see is None else see
    r = see.shape[1]
    L = positive(rng, T + 1, n + m + r)
    noisy = np.ones(T, dtype=bool)
    noisy[list(resets)] = False
    stages = LinearQuadraticStages(
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
    )
    end = Quadratic(
        L[T, :n, :n], L[T, :n, n + m :] @ see.T, see @ L[T, n + m :, n + m :] @ see.T,
        rng.standard_normal(n), see @ rng.standard_normal(r),
    )  # fmt: skip
    known = positive(rng, 1, n)[0] if arrival else np.zeros((n, n))
    return Chain(stages, end, known, rng.standard_normal(n) if arrival else np.zeros(n))


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


def dense_jacobian(shooting, x, w, theta):
    """Of all whitened residuals by (theta, x_0, w), states after the first eliminated by the dynamics."""
    (model,) = shooting.models
    N, m, n, p = *w.shape, model.manifold.degrees, len(theta)
    by = np.zeros((n, p + n + N * m))
    by[:, p : p + n] = np.eye(n)
    rows = [np.linalg.cholesky(shooting.prior.information).T @ np.eye(p, by.shape[1])]
    for k in range(N):
        at = model.linearize(k, x[k : k + 1], w[k : k + 1], theta)
        row = at.r_x[0] @ by
        row[:, :p] += at.r_theta[0]
        noise = slice(p + n + k * m, p + n + (k + 1) * m)
        if at.r_w is not None:
            row[:, noise] += at.r_w[0]
        own = np.zeros((m, by.shape[1]))
        own[:, noise] = np.diag(1 / model.noise_std[k])
        rows += [row, own]
        by = at.f_x[0] @ by
        by[:, :p] += at.f_theta[0]
        by[:, noise] += at.f_w[0]
    last = model.last(x[-1], theta, slopes=True)
    row = last.by_x[0] @ by
    row[:, :p] += last.by_theta[0]
    return np.concatenate([*rows, row])
