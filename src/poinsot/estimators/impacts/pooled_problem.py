"""The weighted least-squares problem of pooled drops: tolerances of residuals, priors, free parameters, minimization.

    minimize over states, instants, heights and theta     sum over drops of the robust cost of `chain`
                                                          + |heights / floor|^2 + theta^T diag(prior) theta

Tolerances are variance components: each is updated so that the mean square of its residuals is 1, where the number of
residuals is reduced by the degrees of freedom of the unknowns (leverages). They are constant in a minimization.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import cholesky_banded

from ...arrays import Bool, Float, Int, Matrix, Vector
from ...banded import solve_in_band
from ...solve import Stop, stop_requested
from .chain import B, Chain, Linear, Reduced, Unknowns, collisions, leverages, stepped
from .collisions import LOST, OWN
from .contact_parameters import HEIGHT, INERTIA, S, bounds, prior_precisions, scales
from .flights import FlightModel
from .resting import added, student_t, updated_std

CAUSES = np.array([0, 0, 0, 1, 0])
"""Group of each residual, with a robust weight of its own (`student_t`): 0 tells whether the impact was one instant, so
that others lose their influence on J/m, 1 where outline and floor are."""
TOGETHER = CAUSES[:, None] == CAUSES
COUNTS = TOGETHER.sum(axis=1)
FREEDOM = np.where(CAUSES == 0, 4.0, 2.0)
"""nu of each residual. Smaller for gaps: contacts off the floor are more frequent than impacts of two instants."""
CONTINUITY = 0.3
"""Tolerance of continuity that does not depend on the jump, in standard deviations of a frame's noise."""
LEAST_LEVER, LEAST_UNEVENNESS = 1e-4, 1e-7
"""Least tolerances of levers, and of second differences of the wall [m]."""
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
class PooledProblem:
    """The least-squares problem with the impacts that are used.

    Args:
        chain: flights and impacts. model: of the flights.
        part: (I,) part of the outline in contact. use: (I,) whether an impact is used for the floor.
        turning: (I,) whether it is used for J/m as well. free: (s,) components of theta that are estimated.
        tolerances: tolerances of the residuals.
    """

    chain: Chain
    model: FlightModel
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

    def stds(self, at: Unknowns) -> Float[np.ndarray, "I 5"]:
        """Standard deviations of the residuals of `collisions`; infinite for consistency where it is not used."""
        jump, by = collisions(self.chain, at, self.part).jump, self.tolerances
        lever = by.lever * np.hypot(jump[:, 0], jump[:, 1]) / at.shared[INERTIA]
        return np.column_stack(
            [
                np.sqrt((by.instant * jump) ** 2 + (CONTINUITY * self.model.noise) ** 2),
                np.full(len(jump), by.gap),
                np.where(self.turning, np.sqrt(lever**2 + by.spin**2), np.inf),
            ]
        )

    def linearized(
        self, at: Unknowns, stds: Float[np.ndarray, "I 5"] | None = None, curved: bool = False
    ) -> Linear:
        """Normal equations at these unknowns; `stds` of the residuals, None: those there.

        `curved` adds the derivative of the robust weights to the second derivative of the cost. Descent is better
        without.
        """
        stds = self.stds(at) if stds is None else stds
        of, use = self.chain, self.use
        F, N, s = len(of.mean), B * len(of.mean), len(self.free)
        band, border, gradient = np.zeros((B, N)), np.zeros((N, s)), np.zeros(N)
        moved = at.shared - of.reference
        # innovations of the filters: linear in theta, whatever the states
        corner = of.innovations_normal.copy()
        g_theta = of.innovations_gradient + np.einsum("dij,j->di", corner, moved)
        cost = of.innovations_gradient @ (2 * moved)
        cost += np.einsum("i,dij,j->d", moved, of.innovations_normal, moved)
        # flights: states against those estimated from frames
        miss = at.states - of.mean - of.by_shared @ moved
        pull = np.einsum("fij,fj->fi", of.weight, miss)
        towards = of.weight @ of.by_shared
        starts = B * np.arange(F)
        _add_blocks(band, starts, of.weight)
        gradient.reshape(F, B)[:, :12] += pull
        border.reshape(F, B, s)[:, :12] -= towards
        corner += _products_per_drop(of.by_shared, towards, of.drop, of.drops)
        g_theta -= _products_per_drop(of.by_shared, pull[:, :, None], of.drop, of.drops)[:, :, 0]
        cost += np.bincount(of.drop, np.einsum("fi,fi->f", miss, pull), of.drops)
        if of.resting is not None:
            of_rest = added(of.resting, self.tolerances.rest, at.shared, at.heights, of.geometry, curved)
            corner, g_theta, cost = corner + of_rest[0], g_theta + of_rest[1], cost + of_rest[2]
        # impacts
        hit = collisions(of, at, self.part)
        z, rows = hit.r / stds, hit.by / stds[:, :, None]
        # no time is lost where none was found at the start: this unknown stays 0
        rows[:, :, LOST] *= (at.lost > 0)[:, None]
        chi2 = z * z @ TOGETHER
        weight, robust, bent = student_t(chi2, COUNTS, FREEDOM)
        trust = np.where(use[:, None], weight, 0.0)
        struck = of.drop[of.before]
        # each residual has the cost of its group divided by the number of residuals in it
        cost += np.bincount(struck, np.where(use, np.sum(robust / COUNTS, axis=1), 0.0), of.drops)
        # impacts that are not used have no weight; excluding them saves most of the time
        i = np.flatnonzero(use)
        # the curvature of one impact may be negative, and with few drops the sum's: every impact gets the mean
        weigh = np.broadcast_to(bent[i].mean(axis=0), bent[i].shape) if curved else trust[i]
        local, own, pulled = rows[i, :, :OWN], rows[i, :, OWN:], trust[i] * z[i]
        weighed, begin = weigh[:, :, None] * own, B * of.before[i] + 6
        local_T, where = np.swapaxes(local, 1, 2), begin[:, None] + np.arange(OWN)
        _add_blocks(band, begin, local_T @ (weigh[:, :, None] * local))
        gradient[where] += np.einsum("iab,ia->ib", local, pulled)
        border[where] += local_T @ weighed
        corner += _products_per_drop(own, weighed, struck[i], of.drops)
        g_theta += _products_per_drop(own, pulled[:, :, None], struck[i], of.drops)[:, :, 0]
        # unknowns without any residual keep their values: a 1 on the diagonal makes their step 0
        for column, moves in ((12, use), (13, use & (at.lost > 0))):
            band[0, np.setdiff1d(starts + column, (B * of.before + column)[moves])] += 1.0
        return Linear(band, border, gradient, corner, g_theta, cost, chi2, trust, z, rows, hit, stds)

    def reduced(self, at: Unknowns, system: Linear, damping: float = 0.0) -> Reduced:
        """Normal equations of theta alone, drop by drop: states, instants and heights eliminated."""
        of, height_std = self.chain, self.tolerances.floor
        band = system.band.copy()
        band[0] *= 1 + damping
        factor = cholesky_banded(band, lower=True, check_finite=False)
        # the border has the gradient as one more column, so that one product reduces both
        X = np.column_stack([system.gradient, system.border])
        solve_in_band(factor, X)
        F, s = len(of.mean), len(self.free)
        through = _products_per_drop(
            system.border.reshape(F, B, s), X.reshape(F, B, s + 1), of.drop, of.drops
        )
        S_bar, g_bar = system.corner - through[:, :, 1:], system.g_theta - through[:, :, 0]
        # a drop's own height affects its residuals like the common one: row and column of it are those of HEIGHT
        a = S_bar[:, HEIGHT, HEIGHT] + 1 / height_std**2
        b, g = S_bar[:, HEIGHT].copy(), g_bar[:, HEIGHT] + at.heights / height_std**2
        S_bar -= b[:, :, None] * b[:, None, :] / a[:, None, None]
        g_bar -= b * (g / a)[:, None]
        return Reduced(S_bar, g_bar, -X[:, 0], -X[:, 1:], factor, -g / a, -b / a[:, None], 1 / a)

    def curved(self, at: Unknowns, system: Linear) -> Reduced:
        """The same with the second derivative of the robust cost, for the change of theta with weights of drops."""
        try:
            return self.reduced(at, self.linearized(at, system.std, curved=True))
        except np.linalg.LinAlgError:
            # with the derivative of the weights it is not convex here: they are held
            return self.reduced(at, self.linearized(at, system.std))

    def normal(self, by: Reduced) -> Matrix:
        """(s, s) normal matrix of theta, prior included."""
        return np.asarray(by.S_bar.sum(axis=0) + np.diag(self.prior))

    def step(self, by: Reduced, theta: Vector, damping: float = 0.0) -> Vector:
        """(s,) step of theta, 0 where it is held."""
        return self._step(self.normal(by), by.g_bar.sum(axis=0) + self.prior * theta, damping)

    def reweighted(self, by: Reduced, theta: Vector, counts: Float[np.ndarray, "K D"]) -> Matrix:
        """(K, s) theta to first order, with the multiplicities of drops (K, D)."""
        found = np.empty((len(counts), len(theta)))
        for begin in range(0, len(counts), AT_ONCE):
            rows = slice(begin, begin + AT_ONCE)
            H = np.tensordot(counts[rows], by.S_bar, 1) + np.diag(self.prior)
            g = counts[rows] @ by.g_bar + self.prior * theta
            found[rows] = [theta + self._step(*each) for each in zip(H, g, strict=True)]
        return found

    def _step(self, H: Matrix, g: Vector, damping: float = 0.0) -> Vector:
        free, scale = self.free, scales(len(g))[self.free]
        A = H[np.ix_(free, free)] * np.outer(scale, scale)
        A[np.diag_indices(len(A))] *= 1 + damping
        # least squares, not a factorization: a parameter without prior and information must not change
        step = np.zeros(len(g))
        step[free] = -scale * np.linalg.lstsq(A, g[free] * scale, rcond=1e-13)[0]
        return step

    def covariance(self, by: Reduced) -> tuple[Matrix, Bool[np.ndarray, "s"]]:
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
        stds, prior, floor = self.stds(at), self.prior, self.tolerances.floor

        def cost(of: Linear, there: Unknowns) -> float:
            return float(np.sum(of.cost + (there.heights / floor) ** 2) + prior @ there.shared**2)

        system, damping = self.linearized(at, stds), 1e-4
        here = cost(system, at)
        for _ in range(STEPS):
            if stop_requested(stop):
                break
            by = self.reduced(at, system, damping)
            step = self.step(by, at.shared, damping)
            new = self._bounded(stepped(self.chain, at, by, step), at)
            ahead = self.linearized(new, stds)
            there = cost(ahead, new)
            if there < here:
                gained, at, system, here = here - there, new, ahead, there
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
        # at most three intervals may be lost, as in `admission.LOST_INTERVALS`
        lost = np.where(old.lost > 0, np.clip(new.lost, 1e-9, 6 * slack), 0.0)
        tau = np.clip(new.tau, chain.last - slack, chain.first + lost + slack)
        return replace(new, tau=tau, lost=lost, shared=shared)

    def updated_tolerances(self, at: Unknowns, system: Linear, by: Reduced) -> Tolerances:
        """Tolerances from the mean squares of their residuals, with the degrees of freedom of the unknowns removed."""
        old, chain, use = self.tolerances, self.chain, self.use
        covariance, _ = self.covariance(by)
        jump = system.collision.jump
        excess = system.trust * system.z**2
        degrees = np.where(use[:, None], 1 - leverages(chain, system, by, covariance), 0.0)
        speed, of_turning = np.hypot(jump[:, :1], jump[:, 1:2]), system.std[:, 4:]
        # columns of the residuals of each tolerance, and its share of their variance
        parts_of = {
            "instant": (slice(0, 3), (old.instant * jump / system.std[:, :3]) ** 2),
            "gap": (slice(3, 4), np.ones((len(use), 1))),
            "lever": (slice(4, 5), (old.lever * speed / at.shared[INERTIA] / of_turning) ** 2),
            "spin": (slice(4, 5), (old.spin / of_turning) ** 2),
        }
        new: dict[str, float] = {}
        for name, (columns, share) in parts_of.items():
            # contacts used only for the floor may not be impacts: they do not inform the tolerance of instants
            of = use if name == "gap" else np.isfinite(system.std[:, 4])
            above = np.sum((share * share * excess[:, columns])[of])
            below = np.sum((share * share * degrees[:, columns])[of])
            new[name] = _changed(getattr(old, name), np.sqrt(above / below) if below > 1e-9 else 1.0)
        # where contacts are exact, as in simulations, a tolerance of 0 would outweigh every other residual
        new["lever"] = max(new["lever"], LEAST_LEVER)
        struck = np.bincount(chain.drop[chain.before[use]], minlength=chain.drops) > 0
        if struck.any() and self.free[HEIGHT]:
            # second moment of the posterior: expectation and maximization
            floor = np.sqrt(np.mean(at.heights[struck] ** 2 + by.height_variance[struck]))
            new["floor"] = _changed(old.floor, floor / old.floor)
        if chain.resting is not None:
            lying = chain.resting, old.rest, at.shared, at.heights, chain.geometry
            new["rest"] = updated_std(*lying, by.height_slope, by.height_variance, covariance)
        if self.free[S:].any():
            z = at.shared[S:]
            determined = np.sum(1 - np.diag(covariance)[S:] * self.prior[S:])
            ratio = np.sqrt(z @ z / max(determined, 1e-9)) / old.uneven
            new["uneven"] = max(_changed(old.uneven, ratio), LEAST_UNEVENNESS)
        return replace(old, **new)


def _changed(old: float, ratio: float) -> float:
    return old * float(np.clip(ratio, 1 / LARGEST_CHANGE, LARGEST_CHANGE))


def _add_blocks(band: Matrix, starts: Int[np.ndarray, "K"], blocks: Float[np.ndarray, "K n n"]) -> None:
    """Add blocks (K, n, n) on the diagonal of a banded matrix, no two of which start at the same place."""
    n = blocks.shape[1]
    for j in range(n):
        for i in range(j, n):
            band[i - j, starts + j] += blocks[:, i, j]


def _products_per_drop(
    A: Float[np.ndarray, "K m a"], C: Float[np.ndarray, "K m c"], drop: Int[np.ndarray, "K"], drops: int
) -> Float[np.ndarray, "D a c"]:
    """Sums of A_k^T C_k over each drop; `drop` (K,) must not decrease."""
    # one product a drop, and not one an impact: those of all impacts together do not fit into a cache
    ends = np.searchsorted(drop, np.arange(drops + 1))
    return np.array(
        [A[i:j].reshape(-1, A.shape[2]).T @ C[i:j].reshape(-1, C.shape[2]) for i, j in pairwise(ends)]
    )
