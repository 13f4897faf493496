"""Whether a load and its robot are the optimum, from the problem's rows.

With e = k i - W theta the residuals, u their weights, and r = z - P theta those of the priors, at the optimum

    W^T u^2 e + P^T r = - sum of F_k^T lambda_k     lambda_k >= 0 of what the load must satisfy, 0 for all else
    (W_j theta)^T e_j = 0                           of every joint whose gain was found by output error
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....estimate import Certificate, Estimate
from ....regression.inverse_dynamics import InverseDynamics
from ..conic import NEAREST_DUAL, VIOLATION
from ..system import System
from .possible import Proof
from .values import load_places, load_values

CONIC = 1e-5
"""What an interior-point method leaves of stationarity."""


@dataclass(frozen=True, eq=False)
class Recheck:
    """The certificate of an estimate.

    Args:
        problem: with the gains that were found. system: for its priors and columns.
        free: (nv,) whose gains were unknown. estimator: that found them.
        proof: of a load that must be possible; None: it need not.
    """

    problem: InverseDynamics
    system: System
    free: np.ndarray
    estimator: str
    proof: Proof | None

    def __call__(self, estimate: Estimate) -> Certificate:
        theta = np.zeros(self.system.size)
        theta[self.system.columns] = estimate.values
        u = np.asarray(estimate.settings["joint_weights"])
        gradient, columns = np.zeros(self.system.size), np.zeros(self.system.size)
        along, felt, efforts = np.zeros((3, len(u)))
        for rows in self.problem.rows():
            W, p = rows.W * u[:, None], rows.W @ theta + rows.held
            y = rows.y + rows.held
            gradient += np.einsum("rnb,rn->b", W, u * (y - p))
            columns += (W**2).sum(axis=(0, 1))
            along += np.sum(p * (y - p), axis=0)
            felt += np.sum(p**2, axis=0)
            efforts += np.sum(y**2, axis=0)
        P, z = self.system.prior[:, :-1], self.system.prior[:, -1]
        gradient += P.T @ (z - P @ theta)
        columns += (P**2).sum(axis=0)
        feasible, slack = self._load(theta[self.system.columns], gradient)
        scale = np.sqrt(columns * float(u**2 @ efforts + z @ z))[self.system.columns]
        worst = float(np.max(np.abs(gradient[self.system.columns]) / np.where(scale > 0, scale, 1.0)))
        if self.estimator == "output-error" and self.free.any():
            worst = max(worst, float(np.max((np.abs(along) / np.sqrt(felt * efforts))[self.free])))
        return Certificate(max(worst, slack), feasible, 1e-8 if self.proof is None else CONIC)

    def _load(self, theta: np.ndarray, gradient: np.ndarray) -> tuple[bool, float]:
        """Whether the load is where it must be, and how far multipliers are from slack only; they are added to the
        gradient.
        """
        if self.proof is None:
            return True, 0.0
        place, _ = load_places(self.problem, self.system)
        pi = load_values(self.problem, self.system, theta)
        feasible, slack = True, 0.0
        for each, multiplier in zip(self.proof.memberships, self.proof.multipliers, strict=True):
            z, s = NEAREST_DUAL[each.cone](multiplier), each.F @ pi + each.g
            gradient[self.system.columns[place[place >= 0]]] += (each.F.T @ z)[place >= 0]
            feasible &= VIOLATION[each.cone](s) <= 1e-6 * max(1.0, float(np.abs(s).max()))
            slack = max(slack, abs(float(z @ s)) / (1 + float(np.linalg.norm(z) * np.linalg.norm(s))))
        return feasible, slack
