"""The weighted least-squares problem of pooled drops: tolerances of residuals, priors, free parameters, minimization.

    minimize over states, instants, heights and theta     sum over drops of the robust cost of `chain`
                                                          + |heights / floor|^2 + theta^T diag(prior) theta

Tolerances are variance components: each is updated so that the mean square of its residuals is 1, where the number of
residuals is reduced by the degrees of freedom of the unknowns (leverages). They are constant in a minimization.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from ...arrays import Matrix, Vector
from ...solve import Stop, stop_requested
from .chain import Chain, Linear, Reduced, Unknowns, collisions, leverages, linear, reduced, stepped
from .contact_parameters import HEIGHT, INERTIA, S, bounds, prior_precisions, scales
from .flights import FlightModel
from .resting import reweighed

CONTINUITY = 0.3
"""Tolerance of continuity that does not depend on the jump, in standard deviations of a frame's noise."""
LEAST_LEVER, LEAST_UNEVENNESS = 1e-4, 1e-7
"""Least tolerances of levers, and of second differences of the wall [m]."""
TOGETHER = 100
"""Samples of weights whose normal matrices are summed in one product."""
STEPS = 40
"""Of a minimization at most."""
LARGEST_CHANGE = 2.0
"""Factor by which an update changes a tolerance at most."""


@dataclass(frozen=True)
class Tolerances:
    """Standard deviations of the residuals of impacts and of bodies at rest.

    Args:
        instant: difference of the centers of normal, tangential and turning impulse [s].
        gap: outline and floor, from impact to impact [m].
        lever: place of the contact along the wall [m].
        spin: jump of omega, whatever the impulse [rad/s].
        floor: of the floor's height, from drop to drop [m].
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
    """The least-squares problem with the impacts that count.

    Args:
        chain: flights and impacts. model: of the flights.
        part: (I,) struck part of the outline. use: (I,) whether an impact counts for the floor.
        turning: (I,) whether it counts for J/m as well.
        free: (s,) components of theta that are estimated.
        tolerances: of the residuals.
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
        modes = np.full(self.chain.size - S, 1 / self.tolerances.uneven**2)
        return np.append(prior_precisions(self.chain.geometry.outline.shape.size), modes)

    def stds(self, at: Unknowns) -> Float[np.ndarray, "I 5"]:
        """Of the residuals of `collisions`; that of consistency is infinite where it does not count."""
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
        """Normal equations at these unknowns; `stds` None: those there."""
        stds = self.stds(at) if stds is None else stds
        return linear(self.chain, at, self.part, stds, self.tolerances.rest, self.use, curved)

    def reduced(self, at: Unknowns, system: Linear, damping: float = 0.0) -> Reduced:
        """Normal equations of theta alone, drop by drop."""
        return reduced(self.chain, at, system, self.tolerances.floor, damping)

    def curved(self, at: Unknowns, system: Linear) -> Reduced:
        """The same with the second derivative of the robust cost, from which follows how theta moves with the drops."""
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
        """(K, s) theta to first order, where drops count as often as each row says."""
        found = np.empty((len(counts), len(theta)))
        for begin in range(0, len(counts), TOGETHER):
            rows = slice(begin, begin + TOGETHER)
            H = np.tensordot(counts[rows], by.S_bar, 1) + np.diag(self.prior)
            g = counts[rows] @ by.g_bar + self.prior * theta
            found[rows] = [theta + self._step(*each) for each in zip(H, g, strict=True)]
        return found

    def _step(self, H: Matrix, g: Vector, damping: float = 0.0) -> Vector:
        free, scale = self.free, scales(len(g))[self.free]
        A = H[np.ix_(free, free)] * np.outer(scale, scale)
        A[np.diag_indices(len(A))] *= 1 + damping
        # least squares and not a factorization: a parameter without prior and information must stay where it is
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
        shared[:S] = np.clip(shared[:S], *bounds(chain.geometry.outline.shape.size))
        shared[INERTIA] = np.clip(shared[INERTIA], 0.5 * old.shared[INERTIA], 1.5 * old.shared[INERTIA])
        # at most three intervals may be lost, as in `Admission.lost_intervals`
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
            # contacts that only determine the floor may have been no blows: they do not say how sharp those are
            of = use if name == "gap" else np.isfinite(system.std[:, 4])
            above = np.sum((share * share * excess[:, columns])[of])
            below = np.sum((share * share * degrees[:, columns])[of])
            new[name] = _changed(getattr(old, name), np.sqrt(above / below) if below > 1e-9 else 1.0)
        # where contacts are exact, as in simulations, a tolerance of 0 would make every other residual worthless
        new["lever"] = max(new["lever"], LEAST_LEVER)
        struck = np.bincount(chain.drop[chain.before[use]], minlength=chain.drops) > 0
        if struck.any() and self.free[HEIGHT]:
            # second moment of the posterior: expectation and maximization
            floor = np.sqrt(np.mean(at.heights[struck] ** 2 + by.height.variance[struck]))
            new["floor"] = _changed(old.floor, floor / old.floor)
        if chain.resting is not None:
            lying = chain.resting, old.rest, at.shared, at.heights, chain.geometry
            new["rest"] = reweighed(*lying, by.height, covariance)
        if self.free[S:].any():
            z = at.shared[S:]
            determined = np.sum(1 - np.diag(covariance)[S:] * self.prior[S:])
            ratio = np.sqrt(z @ z / max(determined, 1e-9)) / old.uneven
            new["uneven"] = max(_changed(old.uneven, ratio), LEAST_UNEVENNESS)
        return replace(old, **new)


def _changed(old: float, ratio: float) -> float:
    return old * float(np.clip(ratio, 1 / LARGEST_CHANGE, LARGEST_CHANGE))
