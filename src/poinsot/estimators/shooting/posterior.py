"""How sure theta and every state are: the inverse of the Gauss-Newton Hessian on the dynamics, from one more pass.

At the optimum the residuals are linearized once more, without damping, and the recursion of `riccati` is run backward
for what the data say of the first states and theta, and forward for what follows of all others (`riccati.marginals`).
"""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from ...exceptions import NotIdentifiable
from .direction import Surroundings, room_for
from .lq_solution import Posterior
from .problem import ShootingProblem, Trajectories
from .riccati import marginals
from .rollout import evaluate


def posterior(problem: ShootingProblem, at: Trajectories) -> Posterior:
    """Covariances at a solution.

    Raises:
        NotIdentifiable: if the problem has no minimum here.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        room = room_for(problem, spread=True)
        direction = Surroundings(problem, evaluate(problem, at), room=room).direction()
    if direction is None:
        raise NotIdentifiable("the problem has no minimum here, so there is no covariance; solve it first")
    P_tt, first_xx, first_xt = direction.start.covariances()
    along = [
        marginals(policy, xx, xt, P_tt)
        for policy, xx, xt in zip(direction.step.policies, first_xx, first_xt, strict=True)
    ]
    states, crosses = zip(*along, strict=True)
    return Posterior(P_tt, states, crosses, direction.unseen, direction.unseen_states)
