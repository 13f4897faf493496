"""The load that fits best among physically possible ones.

    min over pi_L, and over all else for it, of the cost      subject to  J(pi_L) > 0, and what is certain beside it

All else (the robot, unknown gains) is optimal for a given load, so the search is over the load's ten parameters x (in
whitened coordinates): with S = U^T U the curvature of the cost when all else adapts, and g its gradient,

    min over u of  1/2 |u - U x|^2 + (U^-T g)^T u       U^-1 u in the set        a cone program (`conic`)

and x = U^-1 u: exact where gains are known, and repeated from the new x where they are not. J is in units of the
load's own mass and size, and no smaller than MARGIN there: closer to the boundary a body is practically a plate or a
needle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from ....arrays import Matrix, Vector
from ....exceptions import InvalidMethod, NotIdentifiable, listing
from ....inertia.parameters import pseudo_inertia
from ....regression.attachment import LOAD_NAMES
from ....regression.inverse_dynamics import InverseDynamics
from ....regression.system import System
from ..conic import VIOLATION, Cone, ConeProgram, ConicStatus, Membership, vector_of
from ..constraints import BodyConstraint, conditions_on
from .output_error import Cost, GainOptimum, Point, search
from .values import load_places

MARGIN = 1e-6
STEPS, SETTLED = 30, 1e-6
"""Tolerance of the search, in standard deviations."""

MIN_RADIUS = 1e-3
"""Smallest size of a load, for the units of J [m]."""

Proof = tuple[tuple[Membership, Vector], ...]
"""Constraints on the load's parameters, with multipliers that prove that no physically possible load fits better."""


def nearest_possible(
    problem: InverseDynamics,
    system: System,
    R: Matrix,
    optimum: GainOptimum,
    constraint: BodyConstraint,
    max_iterations: int,
) -> tuple[GainOptimum, Proof]:
    """The optimum over physically possible loads, with the residuals' weights kept."""
    place, known = load_places(problem, system)
    missing = [
        name for name, at, value in zip(LOAD_NAMES, place, known, strict=True) if at < 0 and np.isnan(value)
    ]
    if missing:
        raise NotIdentifiable(
            f"the recordings do not determine {listing(missing)}, so physical possibility of the load cannot be "
            "decided: move the link about more axes, or delete possible and constraint"
        )
    # the load's columns are the last ones, and R is triangular: its last block is theirs alone
    k, l = len(R), int((place >= 0).sum())
    A, a = np.zeros((10, l)), np.nan_to_num(known)  # pi = A R_LL^-1 x + a
    A[place >= 0, place[place >= 0] - (k - l)] = 1.0
    A = linalg.solve_triangular(R[k - l :, k - l :], A.T, trans="T", check_finite=False).T
    point, x = optimum.point, optimum.point.theta[k - l :]
    assert problem.attachment is not None
    members = _members(A @ x + a, constraint, problem.attachment.link)
    # the best load is possible already: no constraint is active, and all multipliers are zero
    if all(
        VIOLATION[membership.cone](membership.F @ (A @ x + a) + membership.g) == 0 for membership in members
    ):
        return optimum, tuple((membership, np.zeros_like(membership.g)) for membership in members)
    for step in range(STEPS):
        S, gradient = _profile(point, optimum.free, l)
        U = linalg.cholesky(S, check_finite=False)
        to_x = linalg.solve_triangular(U, np.eye(l), check_finite=False)
        inside = tuple(membership.through(A @ to_x, a) for membership in members)
        # at the unconstrained optimum the gradient is zero; here it sets the scale of the solver's tolerance
        found = ConeProgram(np.eye(l), to_x.T @ gradient - U @ x, inside).solve(U @ x if step else None)
        if found.status is ConicStatus.infeasible:
            raise InvalidMethod(
                f"no load satisfies all of: {'; '.join(membership.name for membership in members)}; relax one of them"
            )
        if found.status is not ConicStatus.solved:
            raise NotIdentifiable(
                "the interior-point method stopped before the best possible load: hold its known parameters, or "
                "delete possible and constraint"
            )
        length = float(np.linalg.norm(found.x - U @ x))
        x = to_x @ found.x
        point = _with_load(point.of, optimum.free, point.c, x, max_iterations)
        if length < SETTLED:
            break
    return replace(optimum, point=point), tuple(zip(members, found.multipliers, strict=True))


def _members(pi: Vector, constraint: BodyConstraint, link: str) -> tuple[Membership, ...]:
    """Constraints on a load's ten parameters; pi determines its size."""
    # from the best load, possible or not: it only sets units in which the entries of J are of one size
    mass = max(abs(float(pi[0])), 1e-12)
    radius = max(float(np.linalg.norm(pi[1:4])) / mass, MIN_RADIUS)
    scale = np.array([1 / radius, 1 / radius, 1 / radius, 1.0]) / np.sqrt(mass)
    J = vector_of(pseudo_inertia(np.eye(10)) * np.outer(scale, scale))
    possible = Membership("physical possibility", Cone.semidefinite, J.T, -MARGIN * vector_of(np.eye(4)))
    certain = (Membership(f"{what} of {link}", cone, F, g) for what, cone, F, g in conditions_on(constraint))
    return possible, *certain


def _with_load(cost: Cost, free: np.ndarray, c: Vector, x: Vector, max_iterations: int) -> Point:
    """Optimum of all other parameters for a load x (l,)."""
    size, l = cost.M.shape[-1], len(x)
    k = size - 2
    E = np.zeros((size, size - l))
    E[: k - l, : k - l] = np.eye(k - l)
    # [W h y] E = [W_rest, h + W_load x, y]: a given load is added to the known effort
    E[k - l : k, -2] = x
    E[k, -2] = E[k + 1, -1] = 1.0
    rest = Cost(E.T @ cost.M @ E, cost.weights, cost.P[:, : k - l], cost.z - cost.P[:, k - l :] @ x)
    best = search(rest, free, c, max_iterations).point
    whole = cost.at(best.c)  # for its factor: the curvature does not depend on the load
    return replace(whole, theta=np.concatenate([best.theta, x]), squares=best.squares, cost=best.cost)


def _profile(point: Point, free: np.ndarray, l: int) -> tuple[Matrix, Vector]:
    """(l, l), (l,) curvature and gradient of half the cost in the load, all else adapting."""
    cost, c, theta = point.of, point.c, point.theta
    M, w = cost.M, cost.weights
    p, B, D = point.products()
    H = point.factor @ point.factor.T
    # Gauss-Newton's: second derivatives of c theta, which multiply residuals, are neglected
    whole = np.block([[H, B[free].T], [B[free], np.diag(D[free])]])
    k, m = len(theta), int(free.sum())
    load = np.arange(k - l, k)
    rest = np.concatenate([np.arange(k - l), np.arange(k, k + m)])
    cross = whole[np.ix_(rest, load)]
    # Schur's complement: the curvature in the load when all else adapts to it
    S = whole[np.ix_(load, load)] - cross.T @ linalg.solve(whole[np.ix_(rest, rest)], cross, assume_a="pos")
    slope = -(w**2 * c) @ (M[:, :-2, -1] - c[:, None] * p[:, :-2]) + cost.P.T @ (cost.P @ theta - cost.z)
    return 0.5 * (S + S.T), slope[load]
