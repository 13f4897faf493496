"""Whether drops agree with each other, and with impacts that were not looked at.

The pooled problem is a sum over drops, S_bar = sum S_d and g_bar = sum g_d at the solution (`chain`), where g_bar +
prior = 0. With drop d counted w_d times the solution moves, to first order, by

    dtheta(w) = -(sum w_d S_d + prior)^-1 (sum w_d g_d + prior theta)

with S_d the second derivative of the robust cost, weights of impacts included. So a bootstrap over drops, halves and
leaving each drop out cost a small solve apiece; the drop is what is drawn, since its floor and its throw are its own.
Tolerances and verdicts are those of all drops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ...arrays import Vector
from ...exceptions import InvalidMethod
from ...models.planar.impulses import one_contact
from .chain import Unknowns, collisions, reduced
from .collisions import SHARED, S
from .pooled import (
    descended,
    priors,
    residual_tolerances,
    rested,
    theta_step,
    updated_tolerances,
)
from .result import PooledFit

WAVES = "wall_unevenness"
"""All modes of it, which `assumed` may hold at zero as well."""
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
"""What is held at zero under each."""
INTERVAL, LEVEL = (2.5, 97.5), 0.95
"""Percentiles of an interval; part of the halves that agree so well."""
FEWEST = 4
"""Drops that halves need."""


@dataclass(frozen=True)
class HeldOut:
    """An impact, by drops without its own.

    Args:
        jump_of_omega: measured [rad/s].
        from_jump: by the measured jump of the linear velocity and the pose (Eq. 32) [rad/s].
        from_before: by the state before alone, with the others' friction and restitution [rad/s].
    """

    drop: str
    time: float
    jump_of_omega: float
    from_jump: float
    from_before: float


def moved(fit: PooledFit, counts: Float[np.ndarray, "K D"]) -> Float[np.ndarray, "K named"]:
    """What has a name in theta (`PooledFit.names`), where drops count as often as each row says."""
    return _moved(fit, counts)[:, :S]


def _moved(fit: PooledFit, counts: Float[np.ndarray, "K D"]) -> Float[np.ndarray, "K s"]:
    """All of theta."""
    found = fit.solved
    theta = found.at.shared
    return np.array([theta + theta_step(found.by, theta, found.free, found.prior, w)[0] for w in counts])


def bootstrap(fit: PooledFit, samples: int = 2000, seed: int = 0) -> Vector:
    """(samples,) J/m of drops drawn with replacement [m^2]."""
    rng, D = np.random.default_rng(seed), fit.solved.chain.drops
    counts = rng.multinomial(D, np.full(D, 1 / D), size=samples)
    return moved(fit, counts.astype(float))[:, 0]


def halves(fit: PooledFit, splits: int = 2000, seed: int = 0) -> Vector:
    """(splits,) |difference| of J/m of two random halves of the drops, by that of all.

    Raises:
        InvalidMethod: if there are fewer than four drops.
    """
    rng, D = np.random.default_rng(seed), fit.solved.chain.drops
    if D < FEWEST:
        raise InvalidMethod("halves need four drops at least")
    one = np.zeros((splits, D))
    for row in one:
        row[rng.permutation(D)[: D // 2]] = 1.0
    return np.asarray(np.abs(moved(fit, one)[:, 0] - moved(fit, 1 - one)[:, 0]) / fit.inertia_to_mass)


def held_out(fit: PooledFit) -> tuple[HeldOut, ...]:
    """Each admitted impact, whether it agrees or not, by what the other drops say of theta, friction and restitution.

    States come from flights, continuity and the floor; consistency is left out of them everywhere.
    """
    found = fit.solved
    problem = found.chain
    nothing = np.zeros(len(found.part), dtype=bool)
    spread = residual_tolerances(problem, found.at, found.part, nothing, found.tolerances, fit.model)
    held = np.zeros(len(found.free), dtype=bool)
    at, _ = descended(
        problem, found.at, found.part, spread, found.use, held, found.prior, found.tolerances.floor
    )
    without = _moved(fit, 1.0 - np.eye(problem.drops))
    struck = problem.drop[problem.before]
    rows = []
    for d in np.unique(struck[found.turning]):
        hit = collisions(problem, replace(at, shared=without[d]), found.part)
        friction, restitution = _laws(fit, found.segmented.drops[d].name)
        for i in np.flatnonzero(found.turning & (struck == d)):
            moment = hit.GQ[i, 0] * hit.jump[i, 1] - hit.GQ[i, 1] * hit.jump[i, 0]
            rows.append(
                HeldOut(
                    found.segmented.drops[d].name,
                    float(at.tau[i]),
                    float(hit.jump[i, 2]),
                    float(moment / without[d, 0]),
                    _struck(
                        hit.before[i, 3:],
                        hit.GQ[i],
                        hit.normal,
                        hit.tangent,
                        without[d, 0],
                        friction,
                        restitution,
                    ),
                )
            )
    return tuple(rows)


def _laws(fit: PooledFit, name: str) -> tuple[float, float]:
    """Median friction and restitution without a drop."""
    others = [impact for impact in fit.impacts if impact.used and impact.drop != name]
    sliding = [impact.friction_ratio for impact in others if impact.mode == "slides"]
    restitution = [impact.restitution for impact in others]
    return (
        float(np.median(sliding)) if sliding else fit.friction_bound,
        float(np.median(restitution)) if restitution else 0.0,
    )


def _struck(
    v: Vector, GQ: Vector, n: Vector, t: Vector, J: float, friction: float, restitution: float
) -> float:
    """The jump of omega by Coulomb's and Newton's laws."""
    N = np.array([*n, GQ[0] * n[1] - GQ[1] * n[0]])
    T = np.array([*t, GQ[0] * t[1] - GQ[1] * t[0]])
    W = np.array([1.0, 1.0, 1 / J])
    c_n, c_t, _ = one_contact(N, T, W, v.copy(), np.array([restitution * float(N @ v), 0.0]), friction)
    return float((N[2] * c_n + T[2] * c_t) / J)


def assumed(fit: PooledFit, names: Sequence[str], rounds: int = 4) -> float:
    """J/m with these held at zero, all else as free as it was; impacts, flights and frames the same [m^2].

    Raises:
        InvalidMethod: if a name is none of what impacts share, or is J/m.
    """
    for name in names:
        if name not in (*SHARED[1:], WAVES):
            raise InvalidMethod(
                f"cannot hold {name!r} at zero; what may be is {', '.join((*SHARED[1:], WAVES))}"
            )
    return float(_again(fit, names, rounds).shared[0])


def _again(fit: PooledFit, names: Sequence[str], rounds: int) -> Unknowns:
    """With these held at zero, and tolerances that follow."""
    found, problem = fit.solved, fit.solved.chain
    at, tolerances, free = found.at, found.tolerances, found.free.copy()
    zero = np.isin(np.append(SHARED, np.full(problem.size - S, WAVES)), list(names))
    free &= ~zero
    at = replace(at, shared=np.where(zero, 0.0, at.shared))
    if "floor_height" in names:
        at, tolerances = replace(at, heights=0 * at.heights), replace(tolerances, floor=1e-9)
    for _ in range(rounds):
        prior = priors(found.prior, problem.size, tolerances.uneven)
        spread = residual_tolerances(problem, at, found.part, found.turning, tolerances, fit.model)
        at, system = descended(problem, at, found.part, spread, found.use, free, prior, tolerances.floor)
        by = reduced(problem, at, system, tolerances.floor)
        tolerances = updated_tolerances(problem, at, system, by, found.use, tolerances, spread, free, prior)
        problem = rested(problem, tolerances)
    return at


@dataclass(frozen=True, eq=False)
class Agreement:
    """All that is asked of a fit afterwards, once.

    Args:
        drawn: (K,) J/m of bootstrapped drops [m^2].
        differences: (L,) of random halves by J/m; NaN with fewer than four drops.
        held_out: impacts by drops without their own.
        assumed: J/m under each of `ASSUMPTIONS` [m^2].
    """

    drawn: Vector
    differences: Vector
    held_out: tuple[HeldOut, ...]
    assumed: Mapping[str, float]

    @property
    def interval(self) -> tuple[float, float]:
        """That holds 95 % of what is drawn [m^2]."""
        low, high = np.percentile(self.drawn, INTERVAL)
        return float(low), float(high)

    @property
    def halves_difference(self) -> float:
        """Below which 95 % of the differences of halves are; NaN with fewer than four drops."""
        return float(np.quantile(self.differences, LEVEL))

    @property
    def errors(self) -> Vector:
        """(H,) |error| of each held-out jump of omega, from the measured linear jump [rad/s]."""
        return np.array([abs(each.from_jump - each.jump_of_omega) for each in self.held_out])

    @property
    def errors_from_before(self) -> Vector:
        """(H,) the same from the state before alone [rad/s]."""
        return np.array([abs(each.from_before - each.jump_of_omega) for each in self.held_out])


def agreement(fit: PooledFit, seed: int = 0) -> Agreement:
    """`seed` is of what is drawn."""
    enough = fit.solved.chain.drops >= FEWEST
    return Agreement(
        bootstrap(fit, seed=seed),
        halves(fit, seed=seed) if enough else np.full(1, np.nan),
        held_out(fit),
        {name: assumed(fit, held) for name, held in ASSUMPTIONS.items()},
    )
