"""Covariance of theta and of every state: the inverse of the Gauss-Newton Hessian on the dynamics.

The residuals are linearized at the optimum without damping. The backward pass of `riccati` gives the covariance of the
first states and theta; a forward pass (`riccati.marginals`) carries it to all other states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from ...arrays import Matrix
from ...exceptions import NotIdentifiable
from .direction import ShootingIterate, ShootingSearch, allocate_policies
from .problem import ShootingProblem, Trajectories
from .riccati import marginals
from .rollout import evaluate


@dataclass(frozen=True, eq=False)
class TrajectoryPosterior:
    """Covariances; zero, not infinite, in unobservable directions.

    Args:
        theta: (p, p).
        states: (N + 1, n, n) of each chain's states, marginal.
        states_theta: (N + 1, n, p) of each chain's states with theta.
        unobservable: (p, z) orthonormal combinations of theta on which no residual depends.
        unobservable_states: (n, z) unobservable directions of each chain's arrival state.
    """

    theta: Matrix
    states: tuple[np.ndarray, ...]
    states_theta: tuple[np.ndarray, ...]
    unobservable: Matrix
    unobservable_states: tuple[Matrix, ...]


def posterior(problem: ShootingProblem, at: Trajectories) -> TrajectoryPosterior:
    """Covariances at a solution.

    Raises:
        NotIdentifiable: if the problem has no minimum here.
    """
    # matrices are small: threads only cost
    with threadpool_limits(limits=1, user_api="blas"):
        # the spread is needed only here, and is as large as the gains
        search = ShootingSearch(problem, allocate_policies(problem, spread=True))
        direction = ShootingIterate(search, evaluate(problem, at)).direction()
    if direction is None:
        raise NotIdentifiable("the problem has no minimum here, so there is no covariance; solve it first")
    arrival = direction.arrival
    P_tt, first_xx, first_xt = arrival.covariances()
    along = [
        marginals(policy, xx, xt, P_tt)
        for policy, xx, xt in zip(direction.policies, first_xx, first_xt, strict=True)
    ]
    states, crosses = zip(*along, strict=True)
    null = tuple(state.null for state in arrival.states)
    return TrajectoryPosterior(P_tt, states, crosses, arrival.schur.null, null)
