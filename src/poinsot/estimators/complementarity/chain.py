"""Flights joined by impacts, of all drops at once: residuals, normal equations, and the remainder of them for theta.

Unknowns are the states at both ends of each flight, (first 6, last 6), the instant tau of each impact with the time
Delta that was lost in it, if any, and theta, which all share (`collisions.SHARED`). In the order

    first_0 last_0 tau_0 Delta_0 first_1 last_1 tau_1 Delta_1 ...

an impact touches 14 numbers in a row, last_f tau_f Delta_f first_(f+1), and a flight 12, so the normal matrix T of
all that is not theta is a band of 13 below its diagonal, whatever the number of drops, flights and frames. With C and
S its border,

    [ T   C ] [dx    ]     [ g_x     ]        S_bar = S - C^T T^-1 C = sum over drops
    [ C^T S ] [dtheta] = - [ g_theta ]        g_bar = g_theta - C^T T^-1 g_x

The sums over drops have a term for each, since T couples none to another: what a drop says about theta, which is all
that a bootstrap over drops needs. After what has a name, theta has the modes of the wall's unevenness. In each drop the
floor lies delta higher than in all, with a prior variance, since it drifts; delta's column is that of the floor's
height, so with a = S_bar_hh + 1 / variance and b = S_bar_h of a drop it is gone by

    S_bar <- S_bar - b b^T / a        g_bar <- g_bar - b (g_bar_h + delta / variance) / a

A body at rest adds to S and g_theta of its drop alone (`resting`).

An impact counts by two of Student's t: chi2 of its m residuals of continuity and consistency, and that of its gap, each
count (nu + m) log(1 + chi2 / nu). So one which was no single instant loses its say, and, apart from that, one where
something lay on the floor or the outline is not as drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import cho_solve_banded, cholesky_banded

from ...arrays import Matrix, Vector
from ...banded import inverse_in_band
from .collisions import OWN, RESIDUALS, Collision, ContactGeometry, ImpactStates, collide
from .contact_parameters import HEIGHT, OF_FLIGHTS
from .flights import Flight
from .resting import HeightStep, Resting, added

B = 14
"""Unknowns of a flight and the impact after it."""
CAUSES = np.array([0, 0, 0, 1, 0])
"""Of each residual: whether it was one instant, or where outline and floor are."""
TOGETHER = CAUSES[:, None] == CAUSES
COUNTS = TOGETHER.sum(axis=1)
FREEDOM = np.where(CAUSES == 0, 4.0, 2.0)
"""nu of each: among what tells the floor there is more that does not touch it than there are blows that were none."""
ORDER = np.r_[0:6, 12, 13, 6:12]
"""Of an impact's columns (before, after, tau, Delta) as they stand in the band."""
JITTER = 1e-7
"""Of the covariance of a flight's ends, of its own diagonal: without wander, both ends are one state."""


@dataclass(frozen=True, eq=False)
class Chain:
    """What does not change while theta is sought.

    Args:
        mean: (F, 12) of both ends of each flight. weight: (F, 12, 12) inverse of its covariance.
        by_shared: (F, 12, S). drop: (F,) which.
        innovations_normal: (D, S, S) and innovations_gradient: (D, S), of each drop at `reference`.
        reference: (S,) at which flights were filtered.
        before: (I,) the flight before each impact; that after it is the next.
        last, first: (I,) times of the frames on both sides [s].
        drops: how many.
        geometry: of contact.
        resting: where drops came to rest; None: none did, or that is left out.
    """

    mean: Float[np.ndarray, "F 12"]
    weight: Float[np.ndarray, "F 12 12"]
    by_shared: Float[np.ndarray, "F 12 s"]
    drop: Int[np.ndarray, "F"]
    innovations_normal: Float[np.ndarray, "D s s"]
    innovations_gradient: Float[np.ndarray, "D s"]
    reference: Vector
    before: Int[np.ndarray, "I"]
    last: Vector
    first: Vector
    drops: int
    geometry: ContactGeometry
    resting: Resting | None = None

    @property
    def size(self) -> int:
        """Of theta."""
        return len(self.reference)


@dataclass(frozen=True, eq=False)
class Unknowns:
    """(F, 12) states, (I,) instants and times lost, (S,) shared, (D,) heights of the floor in each drop above the
    shared.

    `brevity` (I,) is none, but b of `collisions`. It changes between rounds, not in them.
    """

    states: Float[np.ndarray, "F 12"]
    tau: Vector
    lost: Vector
    shared: Vector
    heights: Vector
    brevity: Vector


@dataclass(frozen=True, eq=False)
class Linear:
    """Normal equations at some unknowns, weights as they are there.

    Args:
        band, border, gradient: T, C, g_x. corner: (D, S, S) of each drop. g_theta: (D, S).
        cost: (D,) robust, of each drop. chi2, trust: (I, 5) of all residuals of the same cause, and their weight.
        z: (I, 5) residuals over their tolerance.
        rows: (I, 5, 14 + S) their derivatives. std: (I, 5) tolerances of the residuals.
    """

    band: Matrix
    border: Matrix
    gradient: Vector
    corner: Float[np.ndarray, "D s s"]
    g_theta: Float[np.ndarray, "D s"]
    cost: Vector
    chi2: Float[np.ndarray, "I 5"]
    trust: Float[np.ndarray, "I 5"]
    z: Float[np.ndarray, "I 5"]
    rows: Float[np.ndarray, "I 5 c"]
    collision: Collision
    std: Float[np.ndarray, "I 5"]


def chain(
    flights: list[list[Flight]],
    joined: list[list[bool]],
    reference: Vector,
    geometry: ContactGeometry,
) -> Chain:
    """Of each drop's flights; joined[d][i] tells whether flights i and i + 1 meet in an impact."""
    flat = [one for of in flights for one in of]
    drop = np.repeat(np.arange(len(flights)), [len(of) for of in flights])
    S = len(reference)
    by_shared = np.zeros((len(flat), 12, S))
    weight = np.empty((len(flat), 12, 12))
    normal, gradient = np.zeros((len(flights), S, S)), np.zeros((len(flights), S))
    for f, one in enumerate(flat):
        by_shared[f][:, OF_FLIGHTS] = one.by_shared
        scale = np.sqrt(np.diag(one.covariance))
        inverse = np.linalg.inv(one.covariance / np.outer(scale, scale) + JITTER * np.eye(12))
        weight[f] = 0.5 * (inverse + inverse.T) / np.outer(scale, scale)
        E = one.innovations_by_shared
        # a frame that was misread is no reason to move theta
        trust = 1 / np.sqrt(1 + (one.innovations / 3) ** 2)
        normal[drop[f], OF_FLIGHTS, OF_FLIGHTS] += E.T @ (trust[:, None] * E)
        gradient[drop[f], OF_FLIGHTS] += E.T @ (trust * one.innovations)
    before, start = [], 0
    for of, join in zip(flights, joined, strict=True):
        before += [start + i for i, yes in enumerate(join) if yes]
        start += len(of)
    index = np.array(before, dtype=np.int64)
    return Chain(
        np.array([one.mean for one in flat]).reshape(-1, 12),
        weight,
        by_shared,
        drop,
        normal,
        gradient,
        reference.copy(),
        index,
        np.array([flat[i].last for i in index]),
        np.array([flat[i + 1].first for i in index]),
        len(flights),
        geometry,
    )


def collisions(of: Chain, at: Unknowns, part: Int[np.ndarray, "I"]) -> Collision:
    """Residuals of all impacts, each on the given part of the outline."""
    impacts = ImpactStates(
        at.states[of.before, 6:],
        at.states[of.before + 1, :6],
        at.tau - of.last,
        of.first + at.lost - at.tau,
        at.brevity,
        part,
        at.heights[of.drop[of.before]],
    )
    return collide(impacts, at.shared, of.geometry)


def linear(
    of: Chain,
    at: Unknowns,
    part: Int[np.ndarray, "I"],
    tolerance: Float[np.ndarray, "I 5"],
    use: Bool[np.ndarray, "I"],
    curved: bool = False,
) -> Linear:
    """At these unknowns; tolerance is the standard deviation of each residual. Time is lost where some was.

    `curved` adds what the weights of impacts do to the second derivative, which descent does better without. It is
    taken as it is on average: of one impact it may be below 0, and of a few drops then that of the sum.
    """
    F, N, S = len(of.mean), B * len(of.mean), of.size
    band, border, gradient = np.zeros((B, N)), np.zeros((N, S)), np.zeros(N)
    moved = at.shared - of.reference
    corner = of.innovations_normal.copy()
    g_theta = of.innovations_gradient + np.einsum("dij,j->di", corner, moved)
    miss = at.states - of.mean - of.by_shared @ moved
    pull = np.einsum("fij,fj->fi", of.weight, miss)
    towards = of.weight @ of.by_shared
    starts = B * np.arange(F)
    _add_blocks(band, starts, of.weight)
    gradient.reshape(F, B)[:, :12] += pull
    border.reshape(F, B, S)[:, :12] -= towards
    corner += per_drop(np.swapaxes(of.by_shared, 1, 2) @ towards, of.drop, of.drops)
    g_theta -= per_drop(np.einsum("fia,fi->fa", of.by_shared, pull), of.drop, of.drops)
    cost = np.bincount(of.drop, np.einsum("fi,fi->f", miss, pull), of.drops)
    cost += of.innovations_gradient @ (2 * moved) + np.einsum(
        "i,dij,j->d", moved, of.innovations_normal, moved
    )
    if of.resting is not None:
        lying = added(of.resting, at.shared, at.heights, of.geometry, curved)
        corner, g_theta, cost = corner + lying.normal, g_theta + lying.gradient, cost + lying.cost
    hit = collisions(of, at, part)
    z, rows = hit.r / tolerance, hit.by / tolerance[:, :, None]
    chi2 = z * z @ TOGETHER
    trust = np.where(use[:, None], (FREEDOM + COUNTS) / (FREEDOM + chi2), 0.0)
    struck = of.drop[of.before]
    each = np.sum((FREEDOM + COUNTS) / COUNTS * np.log1p(chi2 / FREEDOM), axis=1)
    cost += np.bincount(struck, np.where(use, each, 0.0), of.drops)
    rows[:, :, 13] *= (at.lost > 0)[:, None]
    local, own = rows[:, :, :OWN][:, :, ORDER], rows[:, :, OWN:]
    weigh = trust[:, :, None] * np.eye(RESIDUALS)
    if curved:
        # d trust / d chi2 = -trust^2 / (nu + m), on average over directions and impacts
        bent = trust - 2 * trust**2 * chi2 / (COUNTS * (FREEDOM + COUNTS))
        weigh = np.where(use[:, None], bent[use].mean(axis=0), 0.0)[:, :, None] * np.eye(RESIDUALS)
    # those that do not count have no weight
    i = np.flatnonzero(use)
    local, own, weigh, pulled = local[i], own[i], weigh[i], trust[i] * z[i]
    begin = B * of.before[i] + 6
    _add_blocks(band, begin, np.swapaxes(local, 1, 2) @ weigh @ local)
    where, weighed = begin[:, None] + np.arange(OWN), weigh @ own
    gradient[where] += np.einsum("iab,ia->ib", local, pulled)
    border[where] += np.swapaxes(local, 1, 2) @ weighed
    corner += per_drop(np.swapaxes(own, 1, 2) @ weighed, struck[i], of.drops)
    g_theta += per_drop(np.einsum("iab,ia->ib", own, pulled), struck[i], of.drops)
    for column, moves in ((12, use), (13, use & (at.lost > 0))):
        band[0, np.setdiff1d(starts + column, (B * of.before + column)[moves])] += 1.0
    return Linear(band, border, gradient, corner, g_theta, cost, chi2, trust, z, rows, hit, tolerance)


def _add_blocks(band: Matrix, starts: Int[np.ndarray, "K"], blocks: Float[np.ndarray, "K n n"]) -> None:
    """No two start at the same place."""
    n = blocks.shape[1]
    for j in range(n):
        for i in range(j, n):
            band[i - j, starts + j] += blocks[:, i, j]


def per_drop(values: np.ndarray, drop: Int[np.ndarray, "K"], drops: int) -> np.ndarray:
    """(D, ...) sums over those of each drop; `drop` does not decrease."""
    begin = np.searchsorted(drop, np.arange(drops))
    some = np.searchsorted(drop, np.arange(drops), side="right") > begin
    out = np.zeros((drops, *values.shape[1:]))
    if some.any():
        out[some] = np.add.reduceat(values, begin[some], axis=0)
    return out


@dataclass(frozen=True, eq=False)
class Reduced:
    """What drops say about theta: S_bar (D, S, S), g_bar (D, S), and how the other unknowns follow.

    Args:
        offset: (N,) of dx without a step of theta. slope: (N, S). factor: of the band.
        height: how the floor's heights follow.
    """

    S_bar: Float[np.ndarray, "D s s"]
    g_bar: Float[np.ndarray, "D s"]
    offset: Vector
    slope: Matrix
    factor: Matrix
    height: HeightStep


def reduced(of: Chain, at: Unknowns, system: Linear, height_std: float, damping: float = 0.0) -> Reduced:
    """Without states, instants and heights; `height_std` is the prior's of a drop's floor [m]."""
    band = system.band.copy()
    band[0] *= 1 + damping
    factor = cholesky_banded(band, lower=True, check_finite=False)
    X = cho_solve_banded(
        (factor, True), np.column_stack([system.gradient, system.border]), check_finite=False
    )
    S_bar, g_bar = system.corner.copy(), system.g_theta.copy()
    F, S = len(of.mean), of.size
    C, X_f = system.border.reshape(F, B, S), X.reshape(F, B, S + 1)
    through = per_drop(np.swapaxes(C, 1, 2) @ X_f, of.drop, of.drops)
    S_bar -= through[:, :, 1:]
    g_bar -= through[:, :, 0]
    a = S_bar[:, HEIGHT, HEIGHT] + 1 / height_std**2
    b, g = S_bar[:, HEIGHT].copy(), g_bar[:, HEIGHT] + at.heights / height_std**2
    S_bar -= b[:, :, None] * b[:, None, :] / a[:, None, None]
    g_bar -= b * (g / a)[:, None]
    return Reduced(S_bar, g_bar, -X[:, 0], -X[:, 1:], factor, HeightStep(-g / a, -b / a[:, None], 1 / a))


def stepped(of: Chain, at: Unknowns, by: Reduced, dtheta: Vector) -> Unknowns:
    heights = by.height.step + by.height.slope @ dtheta
    dx = (by.offset + by.slope @ dtheta).reshape(-1, B)
    dx += by.slope[:, HEIGHT].reshape(-1, B) * heights[of.drop][:, None]
    return Unknowns(
        at.states + dx[:, :12],
        at.tau + dx[of.before, 12],
        at.lost + dx[of.before, 13],
        at.shared + dtheta,
        at.heights + heights,
        at.brevity,
    )


def leverages(of: Chain, system: Linear, by: Reduced, covariance: Matrix) -> Float[np.ndarray, "I 5"]:
    """How much of each residual the unknowns take up: trust x row P row^T.

    P is the inverse of the normal matrix of all of them: states and instants, given heights and theta, vary by T^-1,
    heights given theta by their variance, theta by its `covariance`.
    """
    Z = inverse_in_band(by.factor)
    begin = B * of.before + 6
    P = np.empty((len(begin), OWN, OWN))
    for j in range(OWN):
        for i in range(j, OWN):
            P[:, i, j] = P[:, j, i] = Z[i - j, begin + j]
    local = system.rows[:, :, :OWN][:, :, ORDER]
    of_states = np.einsum("iab,ibc,iac->ia", local, P, local)
    by_height, by_theta = _followed(of, system, by)
    of_heights = by_height**2 * by.height.variance[of.drop[of.before]][:, None]
    of_theta = np.einsum("iab,bc,iac->ia", by_theta, covariance, by_theta)
    return np.asarray(system.trust * (of_states + of_heights + of_theta))


def rows_of_theta(of: Chain, system: Linear, by: Reduced) -> Float[np.ndarray, "I 5 s"]:
    """Derivatives of each impact's residuals by theta, states, instants and heights following it."""
    return _followed(of, system, by)[1]


def _followed(
    of: Chain, system: Linear, by: Reduced
) -> tuple[Float[np.ndarray, "I 5"], Float[np.ndarray, "I 5 s"]]:
    """Derivatives by heights, states and instants following, and by theta, heights following as well."""
    begin = B * of.before + 6
    follow = by.slope[begin[:, None] + np.arange(OWN)]
    local, own = system.rows[:, :, :OWN][:, :, ORDER], system.rows[:, :, OWN:]
    moved = own + local @ follow
    by_height = moved[:, :, HEIGHT]
    return by_height, moved + by_height[:, :, None] * by.height.slope[of.drop[of.before]][:, None, :]
