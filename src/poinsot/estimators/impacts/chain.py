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
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...arrays import Float, Int, Matrix, Vector
from ...banded import inverse_in_band
from .collisions import OWN, Collision, ContactGeometry, collide
from .contact_parameters import HEIGHT, OF_FLIGHTS
from .flights import flight
from .resting import Resting
from .segmentation import Segmented

B = 14
"""Unknowns of a flight and the impact after it."""
JITTER = 1e-7
"""Added to the covariance of a flight's ends, relative to its diagonal."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Information from flights and frames, constant while theta is estimated. F flights, I impacts, D drops.

    Args:
        mean: (F, 12) states at both ends of each flight. weight: (F, 12, 12) inverse of their covariance.
        by_shared: (F, 12, s) derivatives of the mean. drop: (F,) index of the flight's drop.
        innovations_normal: (D, s, s), and innovations_gradient: (D, s), of each drop at `reference`.
        reference: (s,) theta at which flights were filtered.
        before: (I,) the flight before each impact; the flight after it is the next one.
        last, first: (I,) times of the frames on both sides [s]. drops: D. geometry: of contact.
        resting: contacts of drops that came to rest; None: none did, or they are not used.
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

    def impacts(self, which: Int[np.ndarray, "K"]) -> Chain:
        """The chain with these impacts alone, in this order."""
        return replace(self, before=self.before[which], last=self.last[which], first=self.first[which])


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Values of the unknowns.

    Args:
        states: (F, 12) at both ends of each flight. tau: (I,) instants of impact [s]. lost: (I,) times lost [s].
        shared: (s,) theta. heights: (D,) of the floor in each drop above that in all drops [m].
        brevity: (I,) b of `collisions`. It is not an unknown: it is updated between minimizations.
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
        chi2, trust: (I, 5) sum of squares over the group of each residual, and the group's robust weight.
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
    """Flights filtered with these shared parameters, and the impacts between them."""
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
    return collide(
        at.states[of.before, 6:],
        at.states[of.before + 1, :6],
        at.tau - of.last,
        of.first + at.lost - at.tau,
        at.brevity,
        part,
        at.heights[of.drop[of.before]],
        at.shared,
        of.geometry,
    )


@dataclass(frozen=True, eq=False)
class Reduced:
    """Normal equations of theta, S_bar (D, s, s) and g_bar (D, s), and the step of the other unknowns given its step.

    Args:
        offset: (N,) dx without a step of theta. slope: (N, s) its derivative by that step. factor: of the band.
        height_step: (D,) of the floor in each drop without a step of theta [m]. height_slope: (D, s) its derivative by
            that step. height_variance: (D,) given theta [m^2].
    """

    S_bar: Float[np.ndarray, "D s s"]
    g_bar: Float[np.ndarray, "D s"]
    offset: Vector
    slope: Matrix
    factor: Matrix
    height_step: Vector
    height_slope: Matrix
    height_variance: Vector


def stepped(of: Chain, at: Unknowns, by: Reduced, dtheta: Vector) -> Unknowns:
    """The unknowns after a step (s,) of theta, with the optimal step of the others."""
    heights = by.height_step + by.height_slope @ dtheta
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
    by_height, by_theta = reduced_derivatives(of, system, by)
    of_heights = by_height**2 * by.height_variance[of.drop[of.before]][:, None]
    of_theta = np.einsum("iab,bc,iac->ia", by_theta, covariance, by_theta)
    return np.asarray(system.trust * (of_states + of_heights + of_theta))


def reduced_derivatives(
    of: Chain, system: Linear, by: Reduced
) -> tuple[Float[np.ndarray, "I 5"], Float[np.ndarray, "I 5 s"]]:
    """Derivatives of each impact's residuals by heights, with states and instants optimal, and by theta, with all."""
    begin = B * of.before + 6
    follow = by.slope[begin[:, None] + np.arange(OWN)]
    local, own = system.rows[:, :, :OWN], system.rows[:, :, OWN:]
    moved = own + local @ follow
    by_height = moved[:, :, HEIGHT]
    return by_height, moved + by_height[:, :, None] * by.height_slope[of.drop[of.before]][:, None, :]
