"""Solution and posterior covariance of a whole linear-quadratic problem: backward, meet, forward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Matrix, Vector
from ...exceptions import NotIdentifiable
from .arrival import Start, meet
from .lq import LinearQuadratic, Quadratic
from .riccati import Backward, Policy, backward, forward, marginals


@dataclass(frozen=True, eq=False)
class Solution:
    """Of a linear-quadratic problem.

    Args:
        x: (N + 1, n) of each chain. w: (N, m) of each. theta: (p,).
        constant: the cost there.
        unseen: (p, z) orthonormal combinations of theta that nothing sees.
    """

    x: tuple[np.ndarray, ...]
    w: tuple[np.ndarray, ...]
    theta: Vector
    constant: float
    unseen: Matrix


@dataclass(frozen=True, eq=False)
class Posterior:
    """Covariances, of which those of directions that nothing sees are left out (zero), not infinite.

    Args:
        theta: (p, p).
        states: (N + 1, n, n) of each chain's states, marginal.
        states_theta: (N + 1, n, p) of each chain's states with theta.
        unseen: (p, z) orthonormal combinations of theta that nothing sees.
        unseen_states: (n, z) directions of each chain's arrival state that nothing sees.
    """

    theta: Matrix
    states: tuple[np.ndarray, ...]
    states_theta: tuple[np.ndarray, ...]
    unseen: Matrix
    unseen_states: tuple[Matrix, ...]


def solve(problem: LinearQuadratic, damping: float = 0.0, null_space: bool = True) -> Solution:
    """The minimum, damped if asked to.

    Raises:
        NotIdentifiable: if the problem has no minimum, or more than one and `null_space` is off.
    """
    passes = [backward(chain.stages, chain.end, damping) for chain in problem.chains]
    arrival = _start(problem, passes, damping, null_space).solve()
    rolled = [forward(each.policy, x_0, arrival.theta) for each, x_0 in zip(passes, arrival.x, strict=True)]
    x, w = zip(*rolled, strict=True)
    return Solution(x, w, arrival.theta, arrival.constant, arrival.unseen)


def posterior(problem: LinearQuadratic) -> Posterior:
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
    unseen = tuple(state.null for state in start.states)
    return Posterior(P_tt, states, crosses, start.schur.null, unseen)


def with_arrival(value: Quadratic, arrival_xx: Matrix, arrival_x: Vector) -> Quadratic:
    """A value function at the first node, with what was known of its state."""
    return replace(value, V_xx=value.V_xx + arrival_xx, V_x=value.V_x + arrival_x)


def _start(problem: LinearQuadratic, passes: Sequence[Backward], damping: float, null_space: bool) -> Start:
    values = [
        with_arrival(each.value, chain.arrival_xx, chain.arrival_x)
        for each, chain in zip(passes, problem.chains, strict=True)
    ]
    start = None
    if all(each.broke_at is None for each in passes):
        size_t = np.abs(np.diag(problem.prior_tt))
        for each, chain in zip(passes, problem.chains, strict=True):
            size_t = size_t + each.size_t + np.abs(np.diag(chain.end.V_tt))
        start = meet(values, problem.prior_tt, problem.prior_t, damping, null_space, size_t)
    if start is None:
        raise NotIdentifiable(
            "the linear-quadratic problem has no single minimum: damp it, give priors, or keep the null space out"
        )
    return start
