"""The weighted least-squares problem of pooled drops: flights joined by impacts, and bodies at rest.

The unknowns of a drop are the states at both ends of each of its flights, the instant tau of each impact, the time
Delta that the tracker lost in it, if any, and the height of the floor in it above that of all drops, since the floor
drifts. All drops share theta (`collisions.PARAMETERS`). A flight's states are normal given theta (`flights`), and so is
the height with the tolerance `floor`: with Q the root of their covariance and y of unit variance,

    states = mean + B (theta - reference) + Q y,        height = floor y_h

    minimize over y, tau, Delta, theta     sum over drops of (|y|^2 + robust cost of its residuals)
                                           + innovations of the filters + theta^T diag(prior) theta

Innovations are linear in theta, whatever the states. With the whitened residuals r of a drop's impacts and rests, G
their derivative by y, tau and Delta, and E that by theta, states following it, a Gauss-Newton step is

    M = I + G G^T,   lambda = M^-1 (r - G y + E dtheta),   y <- -G^T lambda
    S_bar = E^T M^-1 E,   g_bar = E^T M^-1 (r - G y),      (sum S_bar + prior) dtheta = -(sum g_bar + prior theta)

tau and Delta have no prior: they are normal about their last values with `INSTANT_STD`, so wide that it changes
nothing. M is as large as the number of a drop's residuals, whatever its flights and frames. S_bar and g_bar are all
that leaving out drops needs. The part of a residual's variance that the unknowns absorb, with the covariance C of
theta, is its leverage, the diagonal of I - M^-1 + M^-1 E C E^T M^-1.

Tolerances are variance components: each is updated so that the mean square of its residuals is 1, where the number of
residuals is reduced by their leverages. They are constant in a minimization.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...arrays import Bool, Float, Int, Matrix, Vector
from ...solve import Stop, stop_requested
from .collisions import (
    HEIGHT,
    INERTIA,
    OF_FLIGHTS,
    OWN,
    Collision,
    ContactGeometry,
    Encounters,
    Resting,
    S,
    bounds,
    prior_precisions,
    scales,
)
from .flights import Segmented, flight

B = 14
"""Unknowns of a flight and the impact after it: y of both ends, tau, Delta. An impact depends on the 26 from the first
of its flights on."""
INSTANT_STD = 0.1
"""Of tau and Delta [s]; impacts determine them to 1e-4 s."""
CAUSES = np.array([0, 0, 0, 1, 0])
"""Group of each residual, with a robust weight of its own (`student_t`): 0 tells whether the impact was one instant, so
that others lose their influence on J/m, 1 where outline and floor are."""
TOGETHER = CAUSES[:, None] == CAUSES
COUNTS = TOGETHER.sum(axis=1)
FREEDOM, FREEDOM_AT_REST = np.where(CAUSES == 0, 4.0, 2.0), 4.0
"""nu of each residual. Smaller for gaps: contacts off the floor are more frequent than impacts of two instants."""
CONTINUITY = 0.3
"""Tolerance of continuity that does not depend on the jump, in standard deviations of a frame's noise."""
LEAST = {"lever": 1e-4, "rest": 1e-6, "uneven": 1e-7}
"""Least tolerances [m]: where contacts are exact, as in simulations, one of 0 would outweigh every other residual."""
AT_ONCE = 100
"""Samples of weights whose normal matrices are summed in one product."""
STEPS = 40
"""Largest number of steps of a minimization."""
LARGEST_CHANGE = 2.0
"""Factor by which an update changes a tolerance at most."""


@dataclass(frozen=True)
class Tolerances:
    """Standard deviations of the residuals of impacts and of bodies at rest.

    Args:
        instant: difference of the centers of normal, tangential and turning impulse [s].
        gap: outline and floor, from impact to impact [m]. lever: place of the contact along the wall [m].
        spin: jump of omega, whatever the impulse [rad/s]. floor: of the floor's height, from drop to drop [m].
        rest: of the height of a corner that a body at rest lies on [m].
        uneven: of second differences of the wall's unevenness, from knot to knot [m].
    """

    instant: float = 2e-4
    gap: float = 3e-4
    lever: float = 5e-4
    spin: float = 0.1
    floor: float = 3e-4
    rest: float = 1e-4
    uneven: float = 3e-5


@dataclass(frozen=True, eq=False)
class Chain:
    """Information from flights and frames, constant while theta is estimated. F flights, I impacts, D drops.

    Args:
        mean: (F, 12) states at both ends of each flight. root: (F, 12, 12) Q of their covariance Q Q^T.
        by_shared: (F, 12, s) derivatives of the mean. drop: (F,) index of the flight's drop.
        innovations_normal: (D, s, s), and innovations_gradient: (D, s), of each drop at `reference`.
        reference: (s,) theta at which flights were filtered.
        before: (I,) the flight before each impact; the flight after it is the next one.
        last, first: (I,) times of the frames on both sides [s]. drops: D. geometry: of contact.
        resting: contacts of drops that came to rest; None: none did, or they are not used.
    """

    mean: Float[np.ndarray, "F 12"]
    root: Float[np.ndarray, "F 12 12"]
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
        """The chain with only these impacts, in this order."""
        return replace(self, before=self.before[which], last=self.last[which], first=self.first[which])

    @property
    def struck(self) -> Int[np.ndarray, "I"]:
        """(I,) index of each impact's drop."""
        return self.drop[self.before]


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Values of the unknowns.

    Args:
        y: (F, 12) of the states of each flight. tau: (I,) instants of impact [s]. lost: (I,) times lost [s].
        shared: (s,) theta. heights: (D,) of the floor in each drop above that in all drops [m].
        brevity: (I,) b of `collisions`. It is not an unknown: it is updated between minimizations.
    """

    y: Float[np.ndarray, "F 12"]
    tau: Vector
    lost: Vector
    shared: Vector
    heights: Vector
    brevity: Vector


@dataclass(frozen=True, eq=False)
class ImpactRows:
    """R whitened residuals with their robust weights: five of each impact that is used, impact by impact, then one of
    each contact at rest.

    Args:
        drop: (R,) index of each residual's drop. r: (R,) residuals.
        begin: (R,) the first of the unknowns on which it depends; G: (R, 26) derivatives by these.
        height: (R,) derivative by y_h. E: (R, s) derivatives by theta, states following it.
    """

    drop: Int[np.ndarray, "R"]
    begin: Int[np.ndarray, "R"]
    r: Vector
    G: Float[np.ndarray, "R 26"]
    height: Vector
    E: Float[np.ndarray, "R s"]

    @property
    def columns(self) -> Int[np.ndarray, "R 26"]:
        """The unknowns on which each residual depends."""
        return self.begin[:, None] + np.arange(self.G.shape[1])

    def pulled(self, force: Vector, flights: int, drops: int) -> tuple[Float[np.ndarray, "F 14"], Vector]:
        """G^T of a force (R,) on the residuals: by flights, and by the drops' heights (D,)."""
        out = np.zeros(B * flights)
        np.add.at(out, self.columns, force[:, None] * self.G)
        return out.reshape(-1, B), np.bincount(self.drop, force * self.height, drops)


@dataclass(frozen=True, eq=False)
class Linear:
    """The problem linearized at some unknowns, all of them but theta eliminated drop by drop.

    Args:
        collision: U impacts that are used. std, trust: (U, 5) their tolerances and robust weights.
        rows: residuals and derivatives. cost: (D,) robust cost of each drop.
        S_bar, g_bar: (D, s, s), (D, s) normal equations of theta. pull: (R, 1 + s) M^-1 [r - G y, E].
        free: (R,) diagonal of M^-1. height_variance: (D,) of the floor in each drop given theta [m^2].
    """

    collision: Collision
    std: Float[np.ndarray, "U 5"]
    trust: Float[np.ndarray, "U 5"]
    rows: ImpactRows
    cost: Vector
    S_bar: Float[np.ndarray, "D s s"]
    g_bar: Float[np.ndarray, "D s"]
    pull: Float[np.ndarray, "R c"]
    free: Vector
    height_variance: Vector


def chain(parted: Segmented, shared: Vector, geometry: ContactGeometry) -> Chain:
    """Flights filtered with these shared parameters, and the impacts between them."""
    model = replace(parted.model, offset=shared[OF_FLIGHTS][:2], drag=shared[OF_FLIGHTS][2:])
    flown = zip(parted.drops, parted.flights, strict=True)
    flat = [flight(one, frames, model) for one, of in flown for frames in of]
    D, s = len(parted.drops), len(shared)
    drop = np.repeat(np.arange(D), [len(of) for of in parted.flights])
    by_shared, normal, gradient = np.zeros((len(flat), 12, s)), np.zeros((D, s, s)), np.zeros((D, s))
    for f, one in enumerate(flat):
        by_shared[f][:, OF_FLIGHTS] = one.by_shared
        E = one.innovations_by_shared
        # a robust weight: theta must not follow a frame that was misread
        trust = 1 / np.sqrt(1 + (one.innovations / 3) ** 2)
        normal[drop[f], OF_FLIGHTS, OF_FLIGHTS] += E.T @ (trust[:, None] * E)
        gradient[drop[f], OF_FLIGHTS] += E.T @ (trust * one.innovations)
    # by eigenvalues of correlations: without wander both ends are one state, and the covariance is singular
    C = np.array([one.covariance for one in flat]).reshape(-1, 12, 12)
    scale = np.sqrt(np.einsum("fii->fi", C))
    values, directions = np.linalg.eigh(C / (scale[:, :, None] * scale[:, None, :]))
    root = scale[:, :, None] * directions * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    # flights depend on offset and drag only: the chain continues linearly from where they were filtered
    reference = np.zeros(s)
    reference[OF_FLIGHTS] = shared[OF_FLIGHTS]
    meets = [b.frames[0] == a.frames[-1] + 1 for a, b in pairwise(flat)]
    index = np.flatnonzero((np.diff(drop) == 0) & np.array(meets, dtype=bool))
    return Chain(
        np.array([one.mean for one in flat]).reshape(-1, 12),
        root,
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


def encounters(of: Chain, at: Unknowns, part: Int[np.ndarray, "I"]) -> Encounters:
    """The impacts, each on the given part of the outline, with the states of flights."""
    a, b = of.before, of.before + 1
    # only the halves that impacts depend on
    first, second = (
        of.mean[f, half]
        + of.by_shared[f, half] @ (at.shared - of.reference)
        + np.einsum("fij,fj->fi", of.root[f, half], at.y[f])
        for f, half in ((a, slice(6, 12)), (b, slice(0, 6)))
    )
    until = of.first + at.lost - at.tau
    return Encounters(first, second, at.tau - of.last, until, at.brevity, part, at.heights[of.struck])


def collisions(of: Chain, at: Unknowns, part: Int[np.ndarray, "I"]) -> Collision:
    """Residuals of all impacts, each on the given part of the outline."""
    return encounters(of, at, part).collide(at.shared, of.geometry)


def student_t(
    chi2: np.ndarray, number: np.ndarray, freedom: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Robust weight, cost and curvature of groups of residuals by Student's t.

    Args:
        chi2: sums of squares of the groups. number: m, residuals in a group. freedom: nu.

    Returns:
        The weight t = (nu + m) / (nu + chi2) of their squares; the cost (nu + m) log(1 + chi2 / nu), whose gradient is
        that of t chi2 with t held; half the second derivative of the cost along a residual, averaged over the m
        directions: t - 2 t^2 chi2 / (m (nu + m)), since dt / dchi2 = -t^2 / (nu + m).
    """
    t, m = (freedom + number) / (freedom + chi2), np.maximum(number, 1)
    return t, (freedom + number) * np.log1p(chi2 / freedom), t - 2 * t**2 * chi2 / (m * (freedom + number))


@dataclass(frozen=True, eq=False)
class PooledProblem:
    """The least-squares problem with the impacts that are used.

    Args:
        chain: flights and impacts. noise: (3,) of a frame [m], [m], [rad].
        part: (I,) part of the outline in contact. use: (I,) whether an impact is used for the floor.
        turning: (I,) whether it is used for J/m as well. free: (s,) components of theta that are estimated.
        tolerances: tolerances of the residuals.
    """

    chain: Chain
    noise: Vector
    part: Int[np.ndarray, "I"]
    use: Bool[np.ndarray, "I"]
    turning: Bool[np.ndarray, "I"]
    free: Bool[np.ndarray, "s"]
    tolerances: Tolerances

    @property
    def prior(self) -> Vector:
        """(s,) precisions about 0 of theta: of the declared parameters, and of the modes of the wall's unevenness."""
        modes = np.full(len(self.free) - S, 1 / self.tolerances.uneven**2)
        return np.append(prior_precisions(self.chain.geometry.shape.size), modes)

    def stds(self, at: Unknowns) -> Float[np.ndarray, "U 5"]:
        """Standard deviations of the residuals of impacts that are used; infinite for a consistency that is not."""
        used, by = np.flatnonzero(self.use), self.tolerances
        jump = collisions(*self._only(used, at)).jump
        lever = by.lever * np.hypot(jump[:, 0], jump[:, 1]) / at.shared[INERTIA]
        return np.column_stack(
            [
                np.sqrt((by.instant * jump) ** 2 + (CONTINUITY * self.noise) ** 2),
                np.full(len(jump), by.gap),
                np.where(self.turning[used], np.sqrt(lever**2 + by.spin**2), np.inf),
            ]
        )

    def _only(self, i: Int[np.ndarray, "K"], at: Unknowns) -> tuple[Chain, Unknowns, Int[np.ndarray, "K"]]:
        few = replace(at, tau=at.tau[i], lost=at.lost[i], brevity=at.brevity[i])
        return self.chain.impacts(i), few, self.part[i]

    def linearized(
        self, at: Unknowns, stds: Float[np.ndarray, "U 5"] | None = None, curved: bool = False
    ) -> Linear:
        """The problem at these unknowns; `stds` of the residuals, None: those there.

        `curved` adds the derivative of the robust weights to the second derivative of the cost. Descent is better
        without.
        """
        stds = self.stds(at) if stds is None else stds
        of, few, part = self._only(np.flatnonzero(self.use), at)
        D, lying, shared, heights = of.drops, of.resting, at.shared, at.heights
        meeting = encounters(of, few, part)
        hit = meeting.collide(shared, of.geometry)
        z, by = hit.r / stds, meeting.derivatives(shared, of.geometry) / stds[:, :, None]
        trust, robust, bent = student_t(z * z @ TOGETHER, COUNTS, FREEDOM)
        # each residual has the cost of its group divided by the number of residuals in it
        cost = np.bincount(of.struck, np.sum(robust / COUNTS, axis=1), D)
        (a, before), (b, after) = (of.before, by[:, :, :6]), (of.before + 1, by[:, :, 8:OWN])
        # no time is lost where none was found at the start: this unknown stays 0
        instants = INSTANT_STD * by[:, :, 6:8]
        instants[:, :, 1] *= (few.lost > 0)[:, None]
        G = np.concatenate([before @ of.root[a, 6:], instants, after @ of.root[b, :6]], axis=2)
        E = by[:, :, OWN:] + before @ of.by_shared[a, 6:] + after @ of.by_shared[b, :6]
        columns = z[:, :, None], trust[:, :, None], G, by[:, :, [OWN + HEIGHT]], E
        parts = [[x.reshape(-1, x.shape[2]) for x in columns]]
        # the curvature of one impact may be negative, and with few drops the sum's: every impact gets the mean
        bends = [np.tile(bent.sum(axis=0) / max(len(z), 1), len(z))]
        drop, begin = np.repeat(of.struck, 5), np.repeat(B * a, 5)
        if lying is not None:
            e = lying.residuals(shared, heights, of.geometry)[0] / self.tolerances.rest
            by_theta = lying.derivatives(shared, heights, of.geometry) / self.tolerances.rest
            number = np.bincount(lying.drop, minlength=D)
            weight, robust, bent = student_t(np.bincount(lying.drop, e * e, D), number, FREEDOM_AT_REST)
            cost = cost + robust
            still = np.zeros((len(e), G.shape[2]))
            parts.append([e[:, None], weight[lying.drop, None], still, by_theta[:, [HEIGHT]], by_theta])
            bends.append(np.full(len(e), bent[number > 0].mean()))
            flight_of = np.minimum(np.searchsorted(of.drop, lying.drop), len(of.mean) - 2)
            drop, begin = np.append(drop, lying.drop), np.append(begin, B * flight_of)
        r, t, G, height, E = (np.concatenate(both) for both in zip(*parts, strict=True))
        w = np.concatenate(bends)[:, None]
        # with the derivative of the weights the cost may not be convex here: then they are held
        root = np.sqrt(w if curved and (w > 0).all() else t)
        height = self.tolerances.floor * root * height
        rows = ImpactRows(drop, begin, (t * r / root)[:, 0], root * G, height[:, 0], root * E)
        return self._eliminated(at, hit, stds, trust, rows, cost)

    def _eliminated(
        self,
        at: Unknowns,
        hit: Collision,
        stds: Float[np.ndarray, "U 5"],
        trust: Float[np.ndarray, "U 5"],
        rows: ImpactRows,
        cost: Vector,
    ) -> Linear:
        """All unknowns but theta eliminated; `cost` (D,) is that of the residuals."""
        of, y = self.chain, np.pad(at.y, ((0, 0), (0, B - 12))).ravel()
        moved, heights = at.shared - of.reference, at.heights / self.tolerances.floor
        cost = cost + np.bincount(of.drop, np.sum(at.y**2, axis=1), of.drops) + heights**2
        cost += of.innovations_gradient @ (2 * moved) + moved @ of.innovations_normal @ moved
        S_bar, g_bar = of.innovations_normal.copy(), of.innovations_gradient + of.innovations_normal @ moved
        columns = rows.columns
        r = rows.r - np.sum(rows.G * y[columns], axis=1) - rows.height * heights[rows.drop]
        pull, free, left = np.column_stack([r, rows.E]), np.ones(len(r)), np.ones(of.drops)
        order = np.argsort(rows.drop, kind="stable")
        for k in np.split(order, np.flatnonzero(np.diff(rows.drop[order])) + 1) if len(order) else ():
            d, of_drop = rows.drop[k[0]], columns[k] - rows.begin[k].min()
            G = np.zeros((len(k), of_drop.max() + 2))
            np.put_along_axis(G, of_drop, rows.G[k], axis=1)
            G[:, -1] = rows.height[k]
            inverse = np.linalg.inv(np.eye(len(k)) + G @ G.T)
            pull[k], free[k] = inverse @ pull[k], np.diag(inverse)
            left[d] -= G[:, -1] @ inverse @ G[:, -1]
            g_bar[d] += rows.E[k].T @ pull[k, 0]
            S_bar[d] += rows.E[k].T @ pull[k, 1:]
        height_variance = self.tolerances.floor**2 * left
        return Linear(hit, stds, trust, rows, cost, S_bar, g_bar, pull, free, height_variance)

    def stepped(self, at: Unknowns, system: Linear, dtheta: Vector, share: float = 1.0) -> Unknowns:
        """The unknowns after this share of a step (s,) of theta and of the optimal step of the others."""
        force = -system.pull[:, 0] - system.pull[:, 1:] @ dtheta
        y, heights = system.rows.pulled(force, len(at.y), self.chain.drops)
        before = self.chain.before
        return Unknowns(
            at.y + share * (y[:, :12] - at.y),
            at.tau + share * INSTANT_STD * y[before, 12],
            at.lost + share * INSTANT_STD * y[before, 13],
            at.shared + share * dtheta,
            at.heights + share * (self.tolerances.floor * heights - at.heights),
            at.brevity,
        )

    def distance(self, at: Unknowns, system: Linear) -> float:
        """Squared length of the step of all unknowns but theta, in their standard deviations given theta."""
        # g^T T^-1 g with the gradient g and T the identity plus G^T G
        (gradient, of_height), (last, last_height) = (
            system.rows.pulled(force, len(at.y), self.chain.drops)
            for force in (system.rows.r, -system.pull[:, 0])
        )
        y, heights = np.pad(at.y, ((0, 0), (0, B - 12))), at.heights / self.tolerances.floor
        return float(np.sum((y + gradient) * (y - last)) + (heights + of_height) @ (heights - last_height))

    def normal(self, by: Linear) -> Matrix:
        """(s, s) normal matrix of theta, prior included."""
        return np.asarray(by.S_bar.sum(axis=0) + np.diag(self.prior))

    def step(self, by: Linear, theta: Vector, damping: float = 0.0) -> Vector:
        """(s,) step of theta, 0 where it is held."""
        return self._step(self.normal(by), by.g_bar.sum(axis=0) + self.prior * theta, damping)

    def reweighted(self, by: Linear, theta: Vector, counts: Float[np.ndarray, "K D"]) -> Matrix:
        """(K, s) theta to first order, with the multiplicities of drops (K, D)."""
        thetas = np.empty((len(counts), len(theta)))
        for begin in range(0, len(counts), AT_ONCE):
            rows = slice(begin, begin + AT_ONCE)
            H = np.tensordot(counts[rows], by.S_bar, 1) + np.diag(self.prior)
            g = counts[rows] @ by.g_bar + self.prior * theta
            thetas[rows] = [theta + self._step(*both) for both in zip(H, g, strict=True)]
        return thetas

    def _step(self, H: Matrix, g: Vector, damping: float = 0.0) -> Vector:
        free, scale = self.free, scales(len(g))[self.free]
        A = H[np.ix_(free, free)] * np.outer(scale, scale)
        A[np.diag_indices(len(A))] *= 1 + damping
        # least squares, not a factorization: a parameter without prior and information must not change
        step = np.zeros(len(g))
        step[free] = -scale * np.linalg.lstsq(A, g[free] * scale, rcond=1e-13)[0]
        return step

    def covariance(self, by: Linear) -> tuple[Matrix, Bool[np.ndarray, "s"]]:
        """(s, s) inverse of the normal matrix, 0 where theta is held, and which components have no finite variance."""
        free, scale = self.free, scales(len(self.free))[self.free]
        # by eigenvalues: a direction without information has no finite variance, and must not make that of others 0
        values, directions = np.linalg.eigh(self.normal(by)[np.ix_(free, free)] * np.outer(scale, scale))
        known = values > len(values) * np.finfo(float).eps * values[-1]
        root = directions[:, known] / np.sqrt(values[known])
        out, unobservable = np.zeros((len(free),) * 2), np.zeros(len(free), dtype=bool)
        out[np.ix_(free, free)] = root @ root.T * np.outer(scale, scale)
        unobservable[free] = np.abs(directions[:, ~known]).max(axis=1, initial=0.0) > 1e-6
        return out, unobservable

    def minimized(
        self, at: Unknowns, enough: float = 1e-2, stop: Stop | None = None
    ) -> tuple[Unknowns, Linear]:
        """The minimum of the cost near these unknowns, by damped Gauss-Newton steps; weights follow the residuals.

        Args:
            enough: actual decrease of the cost at which it ends.
        """
        # This loop ends by the actual decrease of the cost. `solve.GaussNewton` ends by the predicted one, which need
        # not become small here: robust weights change, and instants and theta are clipped after each step.
        stds, damping = self.stds(at), 1e-4
        system = self.linearized(at, stds)
        cost = float(system.cost.sum() + self.prior @ at.shared**2)
        for _ in range(STEPS):
            if stop_requested(stop):
                break
            step = self.step(system, at.shared, damping)
            new = self._bounded(self.stepped(at, system, step, 1 / (1 + damping)), at)
            ahead = self.linearized(new, stds)
            gained = cost - float(ahead.cost.sum() + self.prior @ new.shared**2)
            if gained > 0:
                at, system, cost = new, ahead, cost - gained
                damping = max(damping / 10, 1e-9)
                if gained < enough:
                    break
            else:
                damping = max(10 * damping, 1e-4)
                if damping > 1e8:
                    break
        return at, system

    def _bounded(self, new: Unknowns, old: Unknowns) -> Unknowns:
        """Clip instants to their frames and theta to its bounds; J/m changes by half at most in a step."""
        chain = self.chain
        slack = 0.5 * (chain.first - chain.last)
        shared = new.shared.copy()
        shared[:S] = np.clip(shared[:S], *bounds(chain.geometry.shape.size))
        shared[INERTIA] = np.clip(shared[INERTIA], 0.5 * old.shared[INERTIA], 1.5 * old.shared[INERTIA])
        # at most three intervals may be lost, as in `pooled.LOST_INTERVALS`
        lost = np.where(old.lost > 0, np.clip(new.lost, 1e-9, 6 * slack), 0.0)
        tau = np.clip(new.tau, chain.last - slack, chain.first + lost + slack)
        return replace(new, tau=tau, lost=lost, shared=shared)

    def updated_tolerances(self, at: Unknowns, system: Linear) -> Tolerances:
        """Tolerances from the mean squares of their residuals, with the degrees of freedom of the unknowns removed."""
        old, chain = self.tolerances, self.chain
        covariance, _ = self.covariance(system)
        pull = system.pull[:, 1:]
        degrees, excess = system.free - np.einsum("ra,ab,rb->r", pull, covariance, pull), system.rows.r**2
        U, jump = len(system.std), system.collision.jump
        speed, turning = np.hypot(jump[:, 0], jump[:, 1]), system.std[:, 4]
        # contacts that are used only for the floor may not be impacts: they do not inform the tolerance of instants
        turns = np.isfinite(turning)
        share = np.zeros((len(excess), 5))
        of_impact = share[: 5 * U].reshape(U, 5, 5)
        # share of each tolerance in the variance of each residual
        of_impact[turns, :3, 0] = ((old.instant * jump / system.std[:, :3]) ** 2)[turns]
        of_impact[:, 3, 1] = 1.0
        of_impact[:, 4, 2] = (old.lever * speed / at.shared[INERTIA] / turning) ** 2
        of_impact[:, 4, 3] = (old.spin / turning) ** 2
        share[5 * U :, 4] = 1.0
        above, below = excess @ share**2, degrees @ share**2
        ratio = np.sqrt(np.where(below > 1e-9, above / np.maximum(below, 1e-9), 1.0))
        ratios = dict(zip(("instant", "gap", "lever", "spin", "rest"), ratio.tolist(), strict=True))
        if chain.resting is None:
            del ratios["rest"]
        struck = np.bincount(chain.struck[self.use], minlength=chain.drops) > 0
        if struck.any() and self.free[HEIGHT]:
            # second moment of the posterior: expectation and maximization
            floor = np.sqrt(np.mean(at.heights[struck] ** 2 + system.height_variance[struck]))
            ratios["floor"] = floor / old.floor
        if self.free[S:].any():
            z = at.shared[S:]
            determined = np.sum(1 - np.diag(covariance)[S:] * self.prior[S:])
            ratios["uneven"] = np.sqrt(z @ z / max(determined, 1e-9)) / old.uneven
        changed = {
            name: float(getattr(old, name) * np.clip(ratio, 1 / LARGEST_CHANGE, LARGEST_CHANGE))
            for name, ratio in ratios.items()
        }
        return replace(old, **{name: max(value, LEAST.get(name, 0.0)) for name, value in changed.items()})
