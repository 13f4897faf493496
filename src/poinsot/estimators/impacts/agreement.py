"""Consistency of drops: random halves, held-out impacts, and J/m under assumptions.

The pooled problem is a sum over drops, S_bar = sum S_d and g_bar = sum g_d at the solution (`chain`), where g_bar +
prior theta = 0. With weights w_d of the drops the solution moves, to first order, by

    dtheta(w) = -(sum w_d S_d + prior)^-1 (sum w_d g_d + prior theta)

with S_d the second derivative of the robust cost, derivatives of the weights included. So each half and each drop left
out costs one small solve. Tolerances and verdicts are those of all drops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Vector
from ...exceptions import InvalidMethod, check_known
from ...models.planar.impulses import one_contact
from ...solve import ProgressCallback, Stop, report, stop_requested
from .contact_parameters import INERTIA, SHARED, S
from .pool import collisions
from .pooled_fit import LEVEL, SLIDES, PooledFit

WAVES = "wall_unevenness"
"""Common name of the modes of the floor's unevenness, which `assumed` may also hold at zero."""
ASSUMPTIONS: Mapping[str, tuple[str, ...]] = {
    "sharp corners": ("corner_radius",),
    "shape centered on the center of mass": ("shape_offset_x", "shape_offset_y"),
    "tracked point at the center of mass": ("tracked_offset_x", "tracked_offset_y"),
    "angle as tracked": ("angle_offset",),
    "floor where it is drawn": ("floor_height",),
    "floor as level as drawn": ("floor_slope",),
    "as square as drawn": ("elongation", "skew"),
    "sides as flat as drawn": ("resting_lift",),
    "impulses at the touch": ("contact_lag", "lag_power"),
    "a contact like a spring": ("lag_power",),
    "a floor without waves": (WAVES,),
    "no drag": ("linear_drag", "angular_drag"),
}
"""Parameters that are held at zero under each assumption."""
FEWEST = 4
"""Least number of drops for halves."""


@dataclass(frozen=True)
class HeldOut:
    """An impact, predicted from the other drops.

    Args:
        jump_of_omega: measured [rad/s].
        from_jump: predicted from the measured jump of the linear velocity and the pose (Eq. 32) [rad/s].
        from_before: predicted from the state before alone, with the others' friction and restitution [rad/s].
    """

    drop: str
    time: float
    jump_of_omega: float
    from_jump: float
    from_before: float


def halves(fit: PooledFit, splits: int = 2000, seed: int = 0) -> Vector:
    """(splits,) |difference| of J/m between two random halves of the drops, relative to J/m of all.

    Raises InvalidMethod if there are fewer than four drops.
    """
    rng, D = np.random.default_rng(seed), fit.problem.chain.drops
    if D < FEWEST:
        raise InvalidMethod("halves need four drops at least")
    # with an odd number, one half has a drop more
    one = np.zeros((splits, D))
    for row in one:
        row[rng.permutation(D)[: D // 2]] = 1.0
    moved = [fit.problem.reweighted(fit.by, fit.at.shared, half)[:, 0] for half in (one, 1 - one)]
    return np.asarray(np.abs(moved[0] - moved[1]) / fit.inertia_to_mass)


def held_out(fit: PooledFit) -> tuple[HeldOut, ...]:
    """Predictions of each used impact from the other drops' theta, friction and restitution.

    States come from flights, continuity and the floor; consistency is left out of them everywhere.
    """
    problem, chain, turning = fit.problem, fit.problem.chain, fit.problem.turning
    # consistency would make the states of the held-out drop explain its own jump of omega
    without_consistency = replace(problem, turning=np.zeros_like(turning), free=np.zeros_like(problem.free))
    at, _ = without_consistency.minimized(fit.at)
    without = problem.reweighted(fit.by, fit.at.shared, 1.0 - np.eye(chain.drops))
    struck = chain.struck
    used = np.array([impact.used for impact in fit.impacts])
    laws = np.array([(impact.friction_ratio, impact.restitution) for impact in fit.impacts])
    sliding = used & np.array([impact.mode == SLIDES for impact in fit.impacts])
    rows = []
    for d in np.unique(struck[turning]):
        own = np.flatnonzero(turning & (struck == d))
        there = replace(at, tau=at.tau[own], lost=at.lost[own], brevity=at.brevity[own], shared=without[d])
        hit = collisions(chain.impacts(own), there, problem.part[own])
        name, J = fit.segmented.drops[d].name, float(without[d, INERTIA])
        slid, others = laws[sliding & (struck != d), 0], laws[used & (struck != d), 1]
        friction = float(np.median(slid)) if len(slid) else fit.friction_bound
        restitution = float(np.median(others)) if len(others) else 0.0
        for i in range(len(own)):
            GQ, v = hit.GQ[i], hit.before[i, 3:]
            N, T = (np.array([*u, GQ[0] * u[1] - GQ[1] * u[0]]) for u in (hit.normal, hit.tangent))
            moment = GQ[0] * hit.jump[i, 1] - GQ[1] * hit.jump[i, 0]
            # the jump of omega by Coulomb's and Newton's laws, for a body of mass 1
            b = np.array([restitution * float(N @ v), 0.0])
            c_n, c_t, _ = one_contact(N, T, np.array([1.0, 1.0, 1 / J]), v.copy(), b, friction)
            jumps = hit.jump[i, 2], moment / J, (N[2] * c_n + T[2] * c_t) / J
            rows.append(HeldOut(name, float(there.tau[i]), *map(float, jumps)))
    return tuple(rows)


def assumed(fit: PooledFit, names: Sequence[str], rounds: int = 4) -> float:
    """J/m with these held at zero, all else estimated; impacts, flights and frames are the same [m^2]."""
    for name in names:
        check_known(name, (*SHARED[1:], WAVES), "cannot hold", "it can hold", InvalidMethod, S)
    at, problem = fit.at, fit.problem
    zero = np.isin(np.append(SHARED, np.full(len(at.shared) - S, WAVES)), list(names))
    problem = replace(problem, free=problem.free & ~zero)
    at = replace(at, shared=np.where(zero, 0.0, at.shared))
    if "floor_height" in names:
        # each drop's own height is part of that assumption
        at = replace(at, heights=0 * at.heights)
        problem = replace(problem, tolerances=replace(problem.tolerances, floor=1e-9))
    for _ in range(rounds):
        at, system = problem.minimized(at)
        problem = replace(problem, tolerances=problem.updated_tolerances(at, system))
    return float(at.shared[INERTIA])


@dataclass(frozen=True, eq=False)
class Agreement:
    """Consistency of drops, and of J/m under other assumptions.

    Args:
        differences: (L,) relative differences of J/m of random halves; NaN with fewer than four drops.
        held_out: predictions of impacts from the other drops.
        assumed: J/m under each of `ASSUMPTIONS` [m^2], as far as computed before an interruption.
    """

    differences: Vector
    held_out: tuple[HeldOut, ...]
    assumed: Mapping[str, float]

    @property
    def halves_difference(self) -> float:
        """95 % quantile of the differences of halves; NaN with fewer than four drops."""
        return float(np.quantile(self.differences, LEVEL))

    @property
    def errors(self) -> Vector:
        """(H,) |error| of each held-out jump of omega, from the measured linear jump [rad/s]."""
        return np.array([abs(row.from_jump - row.jump_of_omega) for row in self.held_out])


def agreement(
    fit: PooledFit, seed: int = 0, progress: ProgressCallback | None = None, stop: Stop | None = None
) -> Agreement:
    """Random halves (`seed`), held-out impacts, J/m under each assumption; `stop` keeps those computed until then."""
    moves: dict[str, float] = {}
    for k, (name, held) in enumerate(ASSUMPTIONS.items(), 1):
        if stop_requested(stop):
            break
        if set(held) <= set(fit.held):
            continue
        done = (k - 1) / len(ASSUMPTIONS)
        report(progress, "J/m under assumptions", iteration=k, fraction=done, detail=name)
        moves[name] = assumed(fit, held)
    enough = fit.problem.chain.drops >= FEWEST
    return Agreement(halves(fit, seed=seed) if enough else np.full(1, np.nan), held_out(fit), moves)
