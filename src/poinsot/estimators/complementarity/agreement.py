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
from .chain import Chain, Reduced, Unknowns, collisions, reduced
from .collisions import SHARED, S
from .contact_frames import added
from .pooled import (
    descended,
    inverse_of,
    residual_tolerances,
    reweighed_contacts,
    theta_step,
    updated_tolerances,
)
from .result import PooledFit

ASSUMPTIONS: Mapping[str, tuple[str, ...]] = {
    "sharp corners": ("corner_radius",),
    "shape centered on the center of mass": ("shape_offset_x", "shape_offset_y"),
    "tracked point at the center of mass": ("tracked_offset_x", "tracked_offset_y"),
    "angle as tracked": ("angle_offset",),
    "floor where it is drawn": ("floor_height",),
    "floor as level as drawn": ("floor_slope",),
    "impulses at the touch": ("contact_lag",),
    "no drag": ("linear_drag", "angular_drag"),
}
"""What is held at zero under each."""


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


def moved(fit: PooledFit, counts: Float[np.ndarray, "K D"]) -> Float[np.ndarray, "K s"]:
    """Theta where drops count as often as each row says."""
    found = fit.solved
    return np.array(
        [fit.shared + theta_step(found.by, fit.shared, found.free, found.prior, w)[0] for w in counts]
    )


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
    if D < 4:
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
    held = np.zeros(S, dtype=bool)
    at, _ = descended(
        problem, found.at, found.part, spread, found.use, held, found.prior, found.tolerances.floor
    )
    without = moved(fit, 1.0 - np.eye(problem.drops))
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
        if name not in SHARED[1:]:
            raise InvalidMethod(f"cannot hold {name!r} at zero; what may be is {', '.join(SHARED[1:])}")
    return float(_again(fit, fit.solved.chain, names, rounds)[0].shared[0])


@dataclass(frozen=True)
class WithoutContacts:
    """What impacts alone say, frames of contact left out.

    Args:
        inertia_to_mass: [m^2]. corner_radius: [m].
        contact_radius, contact_radius_std: what frames of contact alone say, all else as impacts do [m].
        apart: of both radii, in standard deviations of their difference, tolerances being right.

    What only frames of contact could say is NaN where there is none, or the radius is held.
    """

    inertia_to_mass: float
    corner_radius: float
    contact_radius: float
    contact_radius_std: float
    apart: float


def without_contacts(fit: PooledFit, rounds: int = 4) -> WithoutContacts:
    """The same impacts and flights by themselves, and how far the frames of contact are from what they say.

    With theta_o and C_o by impacts alone, to first order, and theta and C by all, frames of contact alone would say of
    a value r the r_c and variance v_c of which r is the mean with r_o, 1 / C = 1 / C_o + 1 / v_c.
    """
    found = fit.solved
    at, _ = _again(fit, replace(found.chain, contacts=None), (), rounds)
    impacts = (float(at.shared[0]), float(at.shared[1]))
    if found.chain.contacts is None or not found.free[1]:
        return WithoutContacts(*impacts, np.nan, np.nan, np.nan)
    theirs = added(found.chain.contacts, fit.shared, found.chain.outline, found.chain.wall, found.chain.drops)
    step, H = theta_step(found.by, fit.shared, found.free, found.prior)
    apart = replace(found.by, S_bar=found.by.S_bar - theirs.normal, g_bar=found.by.g_bar - theirs.gradient)
    step_o, H_o = theta_step(apart, fit.shared, found.free, found.prior)
    v, v_o = inverse_of(H, found.free)[1, 1], inverse_of(H_o, found.free)[1, 1]
    v_c = 1 / (1 / v - 1 / v_o)
    r, r_o = fit.shared[1] + step[1], fit.shared[1] + step_o[1]
    r_c = v_c * (r / v - r_o / v_o)
    return WithoutContacts(*impacts, float(r_c), float(np.sqrt(v_c)), float((r_c - r_o) / np.sqrt(v_c + v_o)))


def _again(fit: PooledFit, problem: Chain, names: Sequence[str], rounds: int) -> tuple[Unknowns, Reduced]:
    """With these held at zero, and tolerances that follow."""
    found = fit.solved
    at, tolerances, free = found.at, found.tolerances, found.free.copy()
    shared = at.shared.copy()
    for name in names:
        free[SHARED.index(name)], shared[SHARED.index(name)] = False, 0.0
    known = "floor_height" in names
    at = replace(at, shared=shared, heights=0 * at.heights if known else at.heights)
    if known:
        tolerances = replace(tolerances, floor=1e-9)
    for _ in range(rounds):
        spread = residual_tolerances(problem, at, found.part, found.turning, tolerances, fit.model)
        at, system = descended(
            problem, at, found.part, spread, found.use, free, found.prior, tolerances.floor
        )
        by = reduced(problem, at, system, tolerances.floor)
        tolerances = updated_tolerances(problem, at, system, by, found.use, tolerances, spread, known)
        if problem.contacts is not None:
            problem = replace(problem, contacts=reweighed_contacts(problem, at, by, free, found.prior))
    return at, by
