"""Flights joined by impacts, of all drops at once: residuals, normal equations, and their reduction to theta.

Unknowns are the states at both ends of each flight, (first 6, last 6), the instant tau of each impact, the time Delta
that the tracker lost in it, if any, and theta, which all drops share (`contact_parameters`). In the order

    first_0 last_0 tau_0 Delta_0 first_1 last_1 tau_1 Delta_1 ...

an impact depends on 14 successive unknowns, last_f tau_f Delta_f first_(f+1), and a flight on 12. So the normal matrix
T of all unknowns but theta has a bandwidth of 13, whatever the number of drops, flights and frames. With the border C
and the corner S,

    [ T   C ] [dx    ]     [ g_x     ]        S_bar = S - C^T T^-1 C = sum over drops
    [ C^T S ] [dtheta] = - [ g_theta ]        g_bar = g_theta - C^T T^-1 g_x

T does not couple drops, so S_bar and g_bar are sums over drops, and these terms are all that leaving out drops
needs. In each drop the floor is higher by delta than in all drops together, with a prior variance, since it drifts.
delta has the column of the floor's height; with a = S_bar_hh + 1 / variance and b = S_bar_h of a drop it is eliminated
by

    S_bar <- S_bar - b b^T / a        g_bar <- g_bar - b (g_bar_h + delta / variance) / a

A body at rest adds to S and g_theta of its drop alone (`resting`).

An impact has two robust weights by Student's t (`student_t`): one for its residuals of continuity and consistency, and
one for its gap. So an impact that was no single instant loses its influence on J/m, and, independently, one where
something lay on the floor or the outline is not as drawn loses its influence on the floor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import cholesky_banded

from ...arrays import Matrix, Vector
from ...banded import inverse_in_band, solve_in_band
from .collisions import LOST, OWN, RESIDUALS, Collision, ContactGeometry, ImpactStates, collide
from .contact_parameters import HEIGHT, OF_FLIGHTS
from .flights import flight
from .resting import HeightStep, Resting, added, student_t
from .segmentation import Segmented

B = 14
"""Unknowns of a flight and the impact after it."""
CAUSES = np.array([0, 0, 0, 1, 0])
"""Group of each residual: 0 tells whether the impact was one instant, 1 where outline and floor are."""
TOGETHER = CAUSES[:, None] == CAUSES
COUNTS = TOGETHER.sum(axis=1)
FREEDOM = np.where(CAUSES == 0, 4.0, 2.0)
"""nu of each residual. It is smaller for gaps: more contacts are off the floor than there are blows of two instants."""
JITTER = 1e-7
"""Added to the covariance of a flight's ends, relative to its diagonal."""


@dataclass(frozen=True, eq=False)
class Chain:
    """What flights and frames say, which stays the same while theta is estimated. F flights, I impacts, D drops.

    Args:
        mean: (F, 12) states at both ends of each flight. weight: (F, 12, 12) inverse of their covariance.
        by_shared: (F, 12, s) derivatives of the mean. drop: (F,) index of the flight's drop.
        innovations_normal: (D, s, s), and innovations_gradient: (D, s), of each drop at `reference`.
        reference: (s,) theta at which flights were filtered.
        before: (I,) the flight before each impact; the flight after it is the next one.
        last, first: (I,) times of the frames on both sides [s].
        drops: D.
        geometry: of contact.
        resting: contacts of drops that came to rest; None: none did, or they are left out.
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
        """Length s of theta."""
        return len(self.reference)

    def impacts(self, which: Int[np.ndarray, "K"]) -> Chain:
        """With these impacts alone, in this order."""
        return replace(self, before=self.before[which], last=self.last[which], first=self.first[which])


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Values of the unknowns.

    Args:
        states: (F, 12) at both ends of each flight. tau: (I,) instants of impact [s]. lost: (I,) times lost [s].
        shared: (s,) theta. heights: (D,) of the floor in each drop above that in all drops [m].
        brevity: (I,) b of `collisions`. It is no unknown: it is updated between minimizations.
    """

    states: Float[np.ndarray, "F 12"]
    tau: Vector
    lost: Vector
    shared: Vector
    heights: Vector
    brevity: Vector


@dataclass(frozen=True, eq=False)
class Linear:
    """Normal equations at some unknowns, with the robust weights there.

    Args:
        band, border, gradient: T, C, g_x. corner: (D, s, s) S of each drop. g_theta: (D, s).
        cost: (D,) robust cost of each drop.
        chi2, trust: (I, 5) sum of squares over the group of each residual (`CAUSES`), and the group's robust weight.
        z: (I, 5) residuals divided by `std`. rows: (I, 5, 14 + s) derivatives of z. std: (I, 5) tolerances.
        collision: residuals of impacts, with their geometry.
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


def chain(parted: Segmented, shared: Vector, geometry: ContactGeometry) -> Chain:
    """Flights filtered with these values of what they share, and the impacts between them."""
    model = replace(parted.model, offset=shared[OF_FLIGHTS][:2], drag=shared[OF_FLIGHTS][2:])
    flown = zip(parted.drops, parted.flights, strict=True)
    flat = [flight(one, frames, model) for one, of in flown for frames in of]
    D, S = len(parted.drops), len(shared)
    drop = np.repeat(np.arange(D), [len(of) for of in parted.flights])
    by_shared, weight = np.zeros((len(flat), 12, S)), np.empty((len(flat), 12, 12))
    normal, gradient = np.zeros((D, S, S)), np.zeros((D, S))
    for f, one in enumerate(flat):
        by_shared[f][:, OF_FLIGHTS] = one.by_shared
        scale = np.sqrt(np.diag(one.covariance))
        # without wander both ends are one state, and the covariance is singular: hence the jitter
        inverse = np.linalg.inv(one.covariance / np.outer(scale, scale) + JITTER * np.eye(12))
        weight[f] = 0.5 * (inverse + inverse.T) / np.outer(scale, scale)
        E = one.innovations_by_shared
        # a robust weight: theta must not follow a frame that was misread
        trust = 1 / np.sqrt(1 + (one.innovations / 3) ** 2)
        normal[drop[f], OF_FLIGHTS, OF_FLIGHTS] += E.T @ (trust[:, None] * E)
        gradient[drop[f], OF_FLIGHTS] += E.T @ (trust * one.innovations)
    # flights depend on offset and drag alone: the chain continues linearly from where they were filtered
    reference = np.zeros(S)
    reference[OF_FLIGHTS] = shared[OF_FLIGHTS]
    meets = [b.frames[0] == a.frames[-1] + 1 for a, b in pairwise(flat)]
    index = np.flatnonzero((np.diff(drop) == 0) & np.array(meets, dtype=bool))
    return Chain(
        np.array([one.mean for one in flat]).reshape(-1, 12),
        weight,
        by_shared,
        drop,
        normal,
        gradient,
        reference,
        index,
        np.array([flat[i].last for i in index]),
        np.array([flat[i + 1].first for i in index]),
        D,
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
    rest: float,
    use: Bool[np.ndarray, "I"],
    curved: bool = False,
) -> Linear:
    """Normal equations at these unknowns; tolerance holds the standard deviations of the residuals, rest that at rest.

    `curved` adds the derivative of the robust weights to the second derivative of the cost. Descent is better without.
    """
    F, N, S = len(of.mean), B * len(of.mean), of.size
    band, border, gradient = np.zeros((B, N)), np.zeros((N, S)), np.zeros(N)
    moved = at.shared - of.reference
    # innovations of the filters: linear in theta, whatever the states
    corner = of.innovations_normal.copy()
    g_theta = of.innovations_gradient + np.einsum("dij,j->di", corner, moved)
    cost = of.innovations_gradient @ (2 * moved)
    cost += np.einsum("i,dij,j->d", moved, of.innovations_normal, moved)
    # flights: states against those that the frames say
    miss = at.states - of.mean - of.by_shared @ moved
    pull = np.einsum("fij,fj->fi", of.weight, miss)
    towards = of.weight @ of.by_shared
    starts = B * np.arange(F)
    _add_blocks(band, starts, of.weight)
    gradient.reshape(F, B)[:, :12] += pull
    border.reshape(F, B, S)[:, :12] -= towards
    corner += products_per_drop(of.by_shared, towards, of.drop, of.drops)
    g_theta -= products_per_drop(of.by_shared, pull[:, :, None], of.drop, of.drops)[:, :, 0]
    cost += np.bincount(of.drop, np.einsum("fi,fi->f", miss, pull), of.drops)
    if of.resting is not None:
        of_rest = added(of.resting, rest, at.shared, at.heights, of.geometry, curved)
        corner, g_theta, cost = corner + of_rest[0], g_theta + of_rest[1], cost + of_rest[2]
    # impacts
    hit = collisions(of, at, part)
    z, rows = hit.r / tolerance, hit.by / tolerance[:, :, None]
    # no time is lost where none was found at the start: this unknown stays 0
    rows[:, :, LOST] *= (at.lost > 0)[:, None]
    chi2 = z * z @ TOGETHER
    weight, robust, bent = student_t(chi2, COUNTS, FREEDOM)
    trust = np.where(use[:, None], weight, 0.0)
    struck = of.drop[of.before]
    # each residual has the cost of its group divided by the number of residuals in it
    cost += np.bincount(struck, np.where(use, np.sum(robust / COUNTS, axis=1), 0.0), of.drops)
    # impacts that do not count have no weight; leaving them out saves most of the time
    i = np.flatnonzero(use)
    # the curvature of one impact may be negative, and with few drops the sum's: every impact gets the mean
    weigh = np.broadcast_to(bent[i].mean(axis=0), (len(i), RESIDUALS)) if curved else trust[i]
    local, own, pulled = rows[i, :, :OWN], rows[i, :, OWN:], trust[i] * z[i]
    weighed, begin = weigh[:, :, None] * own, B * of.before[i] + 6
    local_T, where = np.swapaxes(local, 1, 2), begin[:, None] + np.arange(OWN)
    _add_blocks(band, begin, local_T @ (weigh[:, :, None] * local))
    gradient[where] += np.einsum("iab,ia->ib", local, pulled)
    border[where] += local_T @ weighed
    corner += products_per_drop(own, weighed, struck[i], of.drops)
    g_theta += products_per_drop(own, pulled[:, :, None], struck[i], of.drops)[:, :, 0]
    # unknowns without any residual keep their values: a 1 on the diagonal makes their step 0
    for column, moves in ((12, use), (13, use & (at.lost > 0))):
        band[0, np.setdiff1d(starts + column, (B * of.before + column)[moves])] += 1.0
    return Linear(band, border, gradient, corner, g_theta, cost, chi2, trust, z, rows, hit, tolerance)


def _add_blocks(band: Matrix, starts: Int[np.ndarray, "K"], blocks: Float[np.ndarray, "K n n"]) -> None:
    """Add blocks (K, n, n) on the diagonal of a banded matrix, no two of which start at the same place."""
    n = blocks.shape[1]
    for j in range(n):
        for i in range(j, n):
            band[i - j, starts + j] += blocks[:, i, j]


def products_per_drop(
    A: Float[np.ndarray, "K m a"], C: Float[np.ndarray, "K m c"], drop: Int[np.ndarray, "K"], drops: int
) -> Float[np.ndarray, "D a c"]:
    """Sums of A_k^T C_k over each drop; `drop` (K,) must not decrease."""
    # one product a drop, and not one an impact: those of all impacts together do not fit into a cache
    ends = np.searchsorted(drop, np.arange(drops + 1))
    return np.array(
        [A[i:j].reshape(-1, A.shape[2]).T @ C[i:j].reshape(-1, C.shape[2]) for i, j in pairwise(ends)]
    )


@dataclass(frozen=True, eq=False)
class Reduced:
    """Normal equations of theta, S_bar (D, s, s) and g_bar (D, s), and how the other unknowns follow its step.

    Args:
        offset: (N,) dx without a step of theta. slope: (N, s) its derivative by that step. factor: of the band.
        height: how the floor's heights follow.
    """

    S_bar: Float[np.ndarray, "D s s"]
    g_bar: Float[np.ndarray, "D s"]
    offset: Vector
    slope: Matrix
    factor: Matrix
    height: HeightStep


def reduced(of: Chain, at: Unknowns, system: Linear, height_std: float, damping: float = 0.0) -> Reduced:
    """States, instants and heights eliminated; `height_std` is the prior's of a drop's floor [m]."""
    band = system.band.copy()
    band[0] *= 1 + damping
    factor = cholesky_banded(band, lower=True, check_finite=False)
    # the border has the gradient as one more column, so that one product reduces both
    X = np.column_stack([system.gradient, system.border])
    solve_in_band(factor, X)
    F, S = len(of.mean), of.size
    through = products_per_drop(system.border.reshape(F, B, S), X.reshape(F, B, S + 1), of.drop, of.drops)
    S_bar, g_bar = system.corner - through[:, :, 1:], system.g_theta - through[:, :, 0]
    # a drop's own height moves its residuals as the common one does: row and column of it are those of HEIGHT
    a = S_bar[:, HEIGHT, HEIGHT] + 1 / height_std**2
    b, g = S_bar[:, HEIGHT].copy(), g_bar[:, HEIGHT] + at.heights / height_std**2
    S_bar -= b[:, :, None] * b[:, None, :] / a[:, None, None]
    g_bar -= b * (g / a)[:, None]
    return Reduced(S_bar, g_bar, -X[:, 0], -X[:, 1:], factor, HeightStep(-g / a, -b / a[:, None], 1 / a))


def stepped(of: Chain, at: Unknowns, by: Reduced, dtheta: Vector) -> Unknowns:
    """The unknowns after a step (s,) of theta, which the others follow."""
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
    """Leverage of each residual, the part of its variance that the unknowns absorb: trust x row P row^T.

    P is the inverse of the normal matrix of all of them: states and instants, given heights and theta, vary by T^-1,
    heights given theta by their variance, theta by its `covariance`.
    """
    Z = inverse_in_band(by.factor)
    begin = B * of.before + 6
    P = np.empty((len(begin), OWN, OWN))
    for j in range(OWN):
        for i in range(j, OWN):
            P[:, i, j] = P[:, j, i] = Z[i - j, begin + j]
    local = system.rows[:, :, :OWN]
    of_states = np.einsum("iab,ibc,iac->ia", local, P, local)
    by_height, by_theta = followed(of, system, by)
    of_heights = by_height**2 * by.height.variance[of.drop[of.before]][:, None]
    of_theta = np.einsum("iab,bc,iac->ia", by_theta, covariance, by_theta)
    return np.asarray(system.trust * (of_states + of_heights + of_theta))


def followed(
    of: Chain, system: Linear, by: Reduced
) -> tuple[Float[np.ndarray, "I 5"], Float[np.ndarray, "I 5 s"]]:
    """Derivatives of each impact's residuals by heights, states and instants following, and by theta, all following."""
    begin = B * of.before + 6
    follow = by.slope[begin[:, None] + np.arange(OWN)]
    local, own = system.rows[:, :, :OWN], system.rows[:, :, OWN:]
    moved = own + local @ follow
    by_height = moved[:, :, HEIGHT]
    return by_height, moved + by_height[:, :, None] * by.height.slope[of.drop[of.before]][:, None, :]
