"""Initial guess of impacts, and which of them are used.

Two successive flights without a frame in between meet in an impact. Its instant and the part of the outline in contact
are those with the least residuals of continuity and gap. An impact is used for J/m if one instant of contact can
explain it; the thresholds are below.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Int, Vector
from .collisions import TURNED, lags, turning_share
from .contact_parameters import INERTIA, POWER
from .pool import Chain, PooledProblem, Unknowns, collisions

ADMITTED = "admitted"
SHORT, WEAK, LYING, DOUBLE, SIDE, OFF, NOTHING, PARTING = (
    "a flight beside it has fewer than three frames",
    "a push, not an impact",
    "a face is nearly parallel to the wall",
    "a second corner may have hit before the next frame",
    "a side may have hit, and no corner",
    "both flights end away from the wall",
    "the second flight continues the first",
    "the contact point moves away before it",
)
DISAGREEING = "disagrees with one instant of contact"
ON_THE_FLOOR = (SHORT, WEAK, LYING)
"""Such contacts determine the height of the floor, but not J/m."""
MISFIT_SCALES = np.array([1e-4, 1e-4, 3e-3, 2e-3])
"""Tolerance of x, y [m], angle [rad] and gap [m] where flights meet, in addition to twice the noise of a frame."""
FRAMES = 3
"""Least number in a flight beside an impact: any two frames fit a flight, so they do not prove one."""
BLOW, PUSH = 3.0, 1.0
"""Least impulse of an impact that is used, and of any contact, relative to gravity's over one interval of frames."""
TILT = 0.05
"""Angle between side and wall below which it may touch anywhere along it: no side is exactly straight [rad]."""
CLEARANCE = 10.0
"""The next corner must be above the floor by this multiple of the depth of contact, tolerance included."""
ALOFT = 4.0
"""Flights that end farther from the wall, in tolerances of gap and floor, did not strike it."""
INSTANTS = 21
"""Samples of tau between two frames."""
LOST_INTERVALS, LOST_SAMPLES = 3.0, 25
"""Largest time that a tracker may have lost, in intervals of frames, and samples."""
LOST_MISFIT, LOST_GAIN = 200.0, 5.0
"""Squared residuals from which on lost time is considered, and the factor by which it must reduce them."""


def first_guess(
    chain: Chain, shared: Vector, noise: Vector, inertia_known: bool
) -> tuple[Unknowns, Int[np.ndarray, "I"]]:
    """Instants and parts in contact from where flights meet and touch; J/m from the jumps, where it is not known."""
    shared = shared.copy()
    # the gap of a soft contact depends on J/m: the initial guess is a radius of gyration of 0.58 of the size
    if not inertia_known:
        shared[INERTIA] = chain.geometry.shape.size**2 / 3
    at, part = place(chain, shared, noise)
    if not inertia_known:
        hit = collisions(chain, at, part)
        jump = hit.jump
        moment = hit.GQ[:, 0] * jump[:, 1] - hit.GQ[:, 1] * jump[:, 0]
        # Eq. 31 for the larger half of the jumps of the spin, which is the divisor; bad impacts give negative values
        turned = np.abs(jump[:, 2]) > np.median(np.abs(jump[:, 2]))
        ratio = moment[turned] / jump[turned, 2]
        ratio = ratio[ratio > 0]
        if len(ratio):
            at.shared[INERTIA] = float(np.median(ratio))
    return at, part


def place(chain: Chain, shared: Vector, noise: Vector) -> tuple[Unknowns, Int[np.ndarray, "I"]]:
    """The instant and the part with the least residuals of continuity and gap between the frames on both sides.

    Where the misfit is large, the tracker may have lost time: amounts of it are tried, and the best is taken.
    """
    best, part, share = _nearest(chain, shared, noise, 0.0)
    interval = chain.first - chain.last
    tau, lost = chain.last + share * interval, np.zeros(len(part))
    apart = np.flatnonzero(best > LOST_MISFIT)
    if len(apart):
        gapped, least = chain.impacts(apart), best[apart] / LOST_GAIN
        for more in np.linspace(0, LOST_INTERVALS, LOST_SAMPLES)[1:]:
            cost, which, at = _nearest(gapped, shared, noise, more)
            better = cost < least
            i = apart[better]
            least[better], part[i], lost[i] = cost[better], which[better], more * interval[i]
            tau[i] = chain.last[i] + at[better] * (1 + more) * interval[i]
    I = len(part)
    return Unknowns(np.zeros_like(chain.mean), tau, lost, shared, np.zeros(chain.drops), np.ones(I)), part


def _nearest(
    chain: Chain, shared: Vector, noise: Vector, more: float
) -> tuple[Vector, Int[np.ndarray, "I"], Vector]:
    """Least cost, its part, and tau as a share of the interval, when `more` intervals were lost."""
    I, P, interval = len(chain.before), len(chain.geometry.shape.parts), chain.first - chain.last
    best, part, share = np.full(I, np.inf), np.zeros(I, dtype=np.int64), np.zeros(I)
    scale = np.hypot(MISFIT_SCALES, 2.0 * np.append(noise, noise[1]))
    # all parts of the outline at once, part by part
    tried = chain.impacts(np.tile(np.arange(I), P))
    of_part, still = np.repeat(np.arange(P), I), np.zeros(chain.drops)
    still_flights = np.zeros_like(chain.mean)
    for x in np.linspace(0, 1, INSTANTS):
        tau, lost = chain.last + x * (1 + more) * interval, more * interval
        at = Unknowns(still_flights, np.tile(tau, P), np.tile(lost, P), shared, still, np.ones(P * I))
        cost = np.sum((collisions(tried, at, of_part).r[:, :4] / scale) ** 2, axis=1).reshape(P, I)
        which = np.argmin(cost, axis=0)
        least = cost[which, np.arange(I)]
        better = least < best
        best[better], part[better], share[better] = least[better], which[better], x
    return best, part, share


def impact_verdicts(
    problem: PooledProblem, frames: Int[np.ndarray, "F"], at: Unknowns, floor_is_known: bool
) -> np.ndarray:
    """(I,) `ADMITTED`, or why not, from frames in each flight; distance from the wall is tested for a known floor."""
    chain, part, tolerances = problem.chain, problem.part, problem.tolerances
    hit = collisions(chain, at, part)
    interval, J = chain.first + at.lost - chain.last, at.shared[INERTIA]
    verdicts = np.full(len(part), ADMITTED, dtype=object)
    u, x = hit.contact_velocity(hit.before)[:, 0], hit.GQ @ hit.tangent
    lag = turning_share(at.shared[POWER]) / TURNED * lags(at.shared, at.brevity, u)
    double, lying, side = np.zeros((3, len(part)), dtype=bool)
    depth = np.maximum(lag, 0.0) * np.abs(u) + tolerances.gap
    for p in range(len(chain.geometry.shape.parts)):
        other = collisions(chain, at, np.full(len(part), p))
        x_other, u_other = other.GQ @ other.tangent, other.contact_velocity(other.before)[:, 0]
        gap = other.r[:, 3] + lags(at.shared, at.brevity, u_other) * u_other
        side |= (part != p) & (other.r[:, 3] - hit.r[:, 3] < TILT * np.abs(x_other - x))
        lying |= (part != p) & (gap < CLEARANCE * depth)
        # with either restitution: would the other corner reach the floor before the next frame?
        for restitution in (0.0, 1.0):
            blow = -(1 + restitution) * u / (1 + x * x / J)
            after = np.minimum(u_other + blow * (1 + x * x_other / J), 0.0)
            double |= (part != p) & (gap + after * (interval + 2 * np.maximum(lag, 0.0)) < 0)
    pushed = hit.jump[:, :2] @ hit.normal / (chain.geometry.gravity * (chain.first - chain.last))
    # a later verdict replaces an earlier one: from impacts that still determine the floor to none at all
    verdicts[lying] = LYING
    verdicts[pushed < BLOW] = WEAK
    short = frames < FRAMES
    verdicts[short[chain.before] | short[chain.before + 1]] = SHORT
    verdicts[double] = DOUBLE
    verdicts[side] = SIDE
    verdicts[u >= 0] = PARTING
    verdicts[pushed < PUSH] = NOTHING
    if floor_is_known:
        verdicts[np.abs(hit.r[:, 3]) > ALOFT * np.hypot(tolerances.gap, tolerances.floor)] = OFF
    return verdicts
