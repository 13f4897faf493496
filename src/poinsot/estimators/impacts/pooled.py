"""J/m, friction and restitution of a body from many drops of it, by the flights between its impacts.

`flights` divides each drop into flights, and two flights without a frame in between meet in an impact. Its instant and
the part of the outline in contact are first those with the least residuals of continuity and gap. An impact is used for
J/m if one instant of contact can explain it, or only for the floor's height; the thresholds are below. All is one
weighted least-squares problem (`pool`) in the declared parameters and the states of every flight. J/m has no prior; the
others have wide ones, so that unobservable parameters stay near 0 and are reported as such.

Friction does not influence J/m here, since the tangential impulse of each impact is free. Where slip keeps its sign
through an impact, |c_t| / c_n is a sample of mu, elsewhere a lower bound. Levers are those of the corners' centers: the
corners' radius, which only heights at contact determine, influences J/m most (`assumed`).

Consistency of drops: random halves, held-out impacts, and J/m under assumptions.

The pooled problem is a sum over drops, S_bar = sum S_d and g_bar = sum g_d at the solution (`pool`), where g_bar +
prior theta = 0. With weights w_d of the drops the solution moves, to first order, by

    dtheta(w) = -(sum w_d S_d + prior)^-1 (sum w_d g_d + prior theta)

with S_d the second derivative of the robust cost, derivatives of the weights included. So each half and each drop left
out costs one small solve. Tolerances and verdicts are those of all drops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Bool, Int, Matrix, Vector
from ...estimate import (
    NORMAL_95,
    Certificate,
    Direction,
    Estimate,
    EstimatedParameters,
    Fit,
    Provenance,
    Status,
)
from ...estimate.fit import fit_of
from ...estimate.motions import EstimatedMotion, EstimatedMotions, Impact, Impacts, SensorFit, likely_law
from ...exceptions import InvalidMethod, NotIdentifiable, check_known
from ...models.planar.body import GRAVITY, Wall
from ...models.planar.drop import Drop, of_center
from ...models.planar.impulses import one_contact
from ...models.planar.shapes import Shape
from ...solve import ProgressCallback, Stop, report, stop_requested
from ...statistics import student_factor
from .collisions import (
    COLUMN,
    INERTIA,
    LIFT,
    OF_CORNERS,
    OF_FLIGHTS,
    POWER,
    SHARED,
    TURNED,
    UNITS,
    ContactGeometry,
    S,
    bounds,
    impact_quantities,
    lags,
    turning_share,
    unevenness,
)
from .flights import Segmented, resting
from .pool import Chain, Linear, PooledProblem, Tolerances, Unknowns, chain, collisions
from .problem import (
    AGREES,
    WITHOUT_MASS,
    SolvedMotion,
    estimated_parameters,
    impacts_estimate,
    impulse_unit,
    motion_of,
)
from .restitution import AUTO, LawFit, PooledImpulses, compared, fitted_laws, law_note
from .shooting import STATIONARY

if TYPE_CHECKING:
    from .problem import ImpactsProblem


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


LEVEL = 0.95
"""Level of intervals, and part of the splits into halves whose difference is below `Agreement.halves_difference`."""
FEW = 10
"""With fewer drops the covariance is the inverse normal matrix, not from the scatter between drops."""
PRIOR_SHARE, DISAGREEMENT = 0.5, 0.25
"""A parameter that keeps more than the first part of its prior variance is unobservable; an impact with a robust weight
below the second disagrees with one instant of contact."""
SLIDES, STICKS = "slides", "sticks or turns"


@dataclass(frozen=True)
class PooledImpact:
    """An impact between two flights of a drop; NaN where a value does not exist.

    Args:
        drop: its name. time: tau [s]. part: which corner. verdict: `admitted`, or why not.
        normal_impulse, tangential_impulse: by mass [m/s].
        restitution: -u_n+ / u_n-. friction_ratio: |c_t| / c_n. mode: `slides`, or `sticks or turns`.
        jump_of_omega: [rad/s]. inconsistency: residual of Eq. 32 [rad/s].
        lost_time: delay of the frame after it against its clock [s].
        share: of the information on J/m.
    """

    drop: str
    time: float
    part: int
    verdict: str
    normal_impulse: float
    tangential_impulse: float
    restitution: float
    friction_ratio: float
    mode: str
    jump_of_omega: float
    inconsistency: float
    lost_time: float
    share: float

    @property
    def used(self) -> bool:
        return self.verdict == ADMITTED


MEDIAN_ERROR_FACTOR = 1.4826
"""Standard deviation by the median of absolute errors, of normal variables."""
JUMP = "jump of the spin"
MEDIAN_FACTOR, QUARTILE_FACTOR = 1.2533, 1.349
"""For normal variables: standard deviation of a median by that of a mean, and distance of the quartiles by the standard
deviation."""
DRAWS = 400
"""Of drops with replacement: a standard deviation from so many is right to 4 %."""


@dataclass(frozen=True)
class Quartiles:
    """Median and quartiles over impacts; count of them.

    Args:
        std: of the median: of impacts that are independent, or of drops drawn with replacement, whichever is larger.
    """

    median: float
    lower: float
    upper: float
    count: int
    std: float

    @classmethod
    def of(cls, impacts: Sequence[PooledImpact], quantity: str) -> Quartiles:
        values, drops = [getattr(impact, quantity) for impact in impacts], [impact.drop for impact in impacts]
        low, middle, high = np.percentile(values, [25, 50, 75])
        names, which = np.unique(drops, return_inverse=True)
        drawn = np.random.default_rng(0).multinomial(
            len(names), np.full(len(names), 1 / len(names)), size=DRAWS
        )
        medians = [np.median(np.repeat(values, row[which])) for row in drawn]
        apart = MEDIAN_FACTOR * (high - low) / QUARTILE_FACTOR / np.sqrt(len(values))
        return cls(float(middle), float(low), float(high), len(values), max(float(np.std(medians)), apart))


@dataclass(frozen=True, eq=False)
class PooledFit:
    """The result of pooled drops: the problem at its solution, and the shared parameters.

    Without a known mass only J/m and impulses by mass are identifiable.

    Args:
        segmented: drops and flights. problem: with its tolerances. at: its unknowns. system, by: linearized there.
        status: how the updates of tolerances ended. rounds: number of updates.
        verdicts: (I,) `ADMITTED`, or why not. asked: law of restitution, as in `ImpactIdentification`.
    """

    segmented: Segmented
    problem: PooledProblem
    at: Unknowns
    system: Linear
    by: Linear
    status: Status
    rounds: int
    verdicts: np.ndarray
    asked: str = AUTO

    @cached_property
    def inverse(self) -> tuple[Matrix, Bool[np.ndarray, "s"]]:
        """(s, s) inverse of the normal matrix, and which components of theta have no finite variance."""
        return self.problem.covariance(self.by)

    @cached_property
    def is_unobservable(self) -> Bool[np.ndarray, "S"]:
        """(S,) parameters that keep most of their prior variance, even if they scatter little between drops."""
        inverse, infinite = self.inverse
        return (infinite | (np.diag(inverse) * self.problem.prior > PRIOR_SHARE))[:S]

    @cached_property
    def unobservable(self) -> tuple[str, ...]:
        """Combinations, in units of their priors, that keep most of their prior variance."""
        free = self.problem.free[:S] & (self.problem.prior[:S] > 0)
        std = 1 / np.sqrt(self.problem.prior[:S][free])
        inverse = self.inverse[0][:S, :S][np.ix_(free, free)] / np.outer(std, std)
        variances, directions = np.linalg.eigh(inverse)
        names = [name for name, yes in zip(SHARED, free, strict=True) if yes]
        combinations = []
        for direction in directions.T[variances > PRIOR_SHARE]:
            large = [i for i in np.argsort(-np.abs(direction)) if abs(direction[i]) > 0.3]
            combinations.append(" and ".join(names[i] for i in large))
        return tuple(combinations)

    @cached_property
    def informative(self) -> np.ndarray:
        """Indices of the drops with information on theta."""
        chain = self.problem.chain
        struck = chain.struck[self.problem.use]
        return np.union1d(struck, [] if chain.resting is None else chain.resting.drop).astype(int)

    @property
    def scattered(self) -> bool:
        """Whether the covariance is from leaving out drops, not from the normal matrix."""
        return len(self.informative) >= FEW

    @cached_property
    def covariance(self) -> Matrix:
        """(S, S) of the declared parameters in SI, 0 where held, infinite where unobservable.

        By leaving out one drop after the other, and with few drops H^-1:

        (n - 1) / n sum (theta_d - mean) (theta_d - mean)^T, theta_d without drop d (Bell and McCaffrey 2002): right
        whatever the tolerances, and drops that theta follows count with what they hide. Standard deviations are those
        whose 1.96-fold holds 95 % by Student's t with n - 1 degrees of freedom, and not below those of H^-1.
        """
        covariance, n = self.inverse[0], len(self.informative)
        if self.scattered:
            without = 1.0 - np.eye(self.problem.chain.drops)[self.informative]
            d = self.problem.reweighted(self.by, self.at.shared, without)
            d -= d.mean(axis=0)
            C = d.T @ d * ((n - 1) / n)
            with np.errstate(divide="ignore", invalid="ignore"):
                least = np.nan_to_num(np.sqrt(np.diag(covariance) / np.diag(C)), nan=1.0, posinf=1.0)
            scale = np.maximum(least, student_factor(n))
            covariance = C * np.outer(scale, scale)
        covariance, hidden = covariance[:S, :S].copy(), self.is_unobservable
        covariance[hidden], covariance[:, hidden] = np.nan, np.nan
        covariance[hidden, hidden] = np.inf
        return covariance

    @cached_property
    def impacts(self) -> tuple[PooledImpact, ...]:
        """All impacts, used or not."""
        problem, system = self.problem, self.system
        used, hit = problem.use, collisions(problem.chain, self.at, problem.part)
        information, trust = np.zeros(len(used)), np.ones(len(used))
        # by which the residuals of an impact tell J/m
        influence = system.pull[: system.std.size, 1:] @ self.inverse[0][INERTIA]
        information[used] = np.sum((influence**2).reshape(-1, 5), axis=1)
        trust[used] = system.trust.min(axis=1)
        disagrees = problem.turning & (trust < DISAGREEMENT)
        struck = problem.chain.struck
        normal, tangential, restitution, ratio, slides = impact_quantities(hit)
        columns = (
            np.array([drop.name for drop in self.segmented.drops])[struck],
            self.at.tau,
            problem.part,
            np.where(disagrees, DISAGREEING, self.verdicts),
            normal,
            tangential,
            restitution,
            ratio,
            np.where(slides, SLIDES, STICKS),
            hit.jump[:, 2],
            hit.r[:, 4],
            self.at.lost,
            information / max(float(np.sum(information)), 1e-300),
        )
        return tuple(map(PooledImpact, *(column.tolist() for column in columns)))

    @property
    def shared(self) -> Vector:
        """(S,) values of `SHARED` in `UNITS`."""
        return self.at.shared[:S]

    @property
    def held(self) -> tuple[str, ...]:
        """Names of the parameters that were held, or that do not affect the drops."""
        return held_in(self.problem)

    @property
    def inertia_to_mass(self) -> float:
        """J/m [m^2]."""
        return float(self.shared[INERTIA])

    @property
    def inertia_to_mass_std(self) -> float:
        """[m^2]"""
        return float(np.sqrt(self.covariance[INERTIA, INERTIA]))

    @property
    def inertia_interval(self) -> tuple[float, float]:
        """95 % interval of J/m [m^2]."""
        half = NORMAL_95 * self.inertia_to_mass_std
        return self.inertia_to_mass - half, self.inertia_to_mass + half

    @property
    def used(self) -> list[PooledImpact]:
        """The impacts that count for J/m."""
        return [impact for impact in self.impacts if impact.used]

    @property
    def friction(self) -> Quartiles | None:
        """Over impacts that slide; None where none does."""
        sliding = [impact for impact in self.used if impact.mode == SLIDES]
        return Quartiles.of(sliding, "friction_ratio") if sliding else None

    @property
    def friction_bound(self) -> float:
        """The least friction with which the other impacts stick."""
        return max((impact.friction_ratio for impact in self.used if impact.mode != SLIDES), default=0.0)

    @property
    def restitution(self) -> Quartiles:
        """Over impacts that count."""
        return Quartiles.of(self.used, "restitution")

    @cached_property
    def impulses(self) -> PooledImpulses:
        """Of the impacts that count."""
        return pooled_impulses(self.problem, self.at, np.array([impact.used for impact in self.impacts]))

    @cached_property
    def laws(self) -> tuple[LawFit, ...]:
        """Laws of restitution, the likeliest first."""
        return fitted_laws(self.impulses, compared(self.asked))

    @cached_property
    def decided(self) -> tuple[LawFit, Matrix] | None:
        """The law that the impacts decide for, and the covariance of its friction and restitution by leaving out drops;
        None: there is none, there are too few drops, or no impact slides.
        """
        best, drops = self.laws[0], np.unique(self.impulses.drop)
        decides = likely_law({law.name: law.likelihood for law in self.laws}) is not None
        if not decides or len(drops) < FEWEST or self.friction is None:
            return None
        without = 1.0 - np.eye(self.problem.chain.drops)[drops]
        inertias = self.problem.reweighted(self.by, self.at.shared, without)[:, INERTIA]
        others = map(self.impulses.without, drops.tolist(), inertias.tolist())
        d = np.array([(fit.friction, fit.restitution) for fit in map(best.refitted, others)])
        d, n = d - d.mean(axis=0), len(drops)
        return best, student_factor(n) ** 2 * (n - 1) / n * d.T @ d

    def value(self, name: str) -> float:
        return float(self.shared[COLUMN[name]])

    def std(self, name: str) -> float:
        """Infinite where the drops do not determine it."""
        return float(np.sqrt(self.covariance[COLUMN[name], COLUMN[name]]))

    def estimate(self, problem: ImpactsProblem, agreed: Agreement) -> Estimate:
        """The estimate of the problem's drops."""
        mass, used = problem.mass, self.used
        parameters = self._parameters(problem)
        # robust standard deviation of the residuals of consistency [rad/s]
        typical = float(np.median([abs(impact.inconsistency) for impact in used])) * MEDIAN_ERROR_FACTOR
        filmed = [drop for drop in problem.drops if drop.flights is None]
        counted = np.array([impact.used for impact in self.impacts])
        drops = np.array([impact.drop for impact in agreed.held_out])
        warning = f"Tolerances still changed after {self.rounds} rounds; intervals may be off."
        held_out = [(row.time, row.jump_of_omega, row.from_jump) for row in agreed.held_out]
        motions = EstimatedMotions(self._motion(drop, max(typical, 1e-12)) for drop in filmed)
        return impacts_estimate(
            problem,
            parameters,
            self.status,
            self._normal(parameters.identifiable[:S]),
            {
                "held_out": {name: agreed.errors[drops == name] for name in np.unique(drops)},
                "upper": dict(zip(SHARED[1:], bounds(problem.shape.size)[1].tolist()[1:], strict=True)),
            },
            (
                motions,
                Impacts(self._impacts(mass)),
                FlightStates(self.problem, self.at, counted, self.decided and self.decided[0]),
            ),
            (float(parameters.values[S]), np.nan) if self.friction else (np.nan, self.friction_bound),
            {},
            {law.name: law.likelihood for law in self.laws},
            problem.walls,
            Provenance(
                warnings=() if self.status.converged else (warning,), notes=tuple(self._notes(mass, agreed))
            ),
            rows=5 * len(used),
            iterations=self.rounds,
            fit=jumps([(i.time, i.jump_of_omega, i.jump_of_omega - i.inconsistency) for i in used]),
            validation=(jumps(held_out, "held-out impacts, drop by drop"),),
            undetermined=tuple(Direction(name, "unexcited") for name in self.unobservable),
        )

    def _parameters(self, problem: ImpactsProblem) -> EstimatedParameters:
        """Theta, medians over impacts, and J."""
        mass, known = problem.mass, np.where(self.is_unobservable, np.nan, self.shared)
        rows = [
            ("J/m" if k == INERTIA else name, UNITS[k], "geometry" if k else "inertia", float(known[k]))
            for k, name in enumerate(SHARED)
        ]
        flags = [name not in self.held for name in SHARED]
        C = np.zeros((S + 2 + (mass is not None),) * 2)
        C[:S, :S] = self.covariance
        for k, (name, spread) in enumerate(
            (("friction", self.friction), ("restitution", self.restitution)), S
        ):
            value, C[k, k] = (np.nan, np.nan) if spread is None else (spread.median, spread.std**2)
            if self.decided is not None:
                value, C[k, k] = getattr(self.decided[0], name), self.decided[1][k - S, k - S]
            rows.append((name, "1", name, value))
        if mass is not None:
            rows.append(("J", "kg m^2", "inertia", mass * self.inertia_to_mass))
            C[-1, :S] = C[:S, -1] = mass * C[0, :S]
            C[-1, -1] = mass**2 * C[0, 0]
        flags += [True] * (len(rows) - S)
        flagged = [(*row, may and bool(np.isfinite(row[3]))) for row, may in zip(rows, flags, strict=True)]
        return estimated_parameters(problem.name, flagged, C, self.scattered)

    def _normal(self, seen: np.ndarray) -> Matrix:
        """Normal matrix of the identifiable parameters, all other unknowns eliminated."""
        S_bar = self.system.S_bar.sum(axis=0)
        modes, chosen = np.arange(S, len(S_bar)), np.flatnonzero(seen)
        of_modes = S_bar[np.ix_(modes, modes)] + np.diag(self.problem.prior[S:])
        cross = S_bar[np.ix_(modes, chosen)]
        # modes of the floor are eliminated with their prior, the other parameters have none here
        return np.asarray(S_bar[np.ix_(chosen, chosen)] - cross.T @ np.linalg.solve(of_modes, cross))

    def _impacts(self, mass: float | None) -> list[Impact]:
        factor, unit = impulse_unit(mass)
        return [
            Impact(
                impact.drop,
                impact.time,
                f"corner {impact.part + 1}",
                factor * impact.normal_impulse,
                factor * impact.tangential_impulse,
                unit,
                impact.restitution,
                "slides" if impact.mode == SLIDES else "",
                float("nan"),
                impact.share,
            )
            for impact in self.used
        ]

    def _motion(self, drop: Drop, typical: float) -> EstimatedMotion:
        """Poses of the center of mass: as tracked, less offsets; and jumps of the spin at frames of impacts."""
        poses = of_center(drop, self.shared[OF_FLIGHTS][:2])
        poses[:, 2] += self.value("angle_offset")
        measured, expected = np.full((len(drop.times), 1), np.nan), np.zeros((len(drop.times), 1))
        for impact in self.used:
            if impact.drop == drop.name:
                frame = int(np.abs(drop.times - impact.time).argmin())
                measured[frame] = impact.jump_of_omega
                expected[frame] = impact.jump_of_omega - impact.inconsistency
        spin = SensorFit(
            JUMP, (JUMP,), ("rad/s",), measured, expected, (JUMP,), (measured - expected) / typical
        )
        return motion_of(drop.name, drop.times, {"position": poses}, spin)

    def _notes(self, mass: float | None, agreed: Agreement) -> list[str]:
        low, high = self.inertia_interval
        J, used = self.inertia_to_mass, self.used
        moves = ", ".join(f"{name} {100 * (value / J - 1):+.1f} %" for name, value in agreed.assumed.items())
        verdicts = Counter(impact.verdict for impact in self.impacts if not impact.used)
        notes = [
            f"J/m is {1e6 * J:.4g} mm^2, 95 % from {1e6 * low:.4g} to {1e6 * high:.4g} (leaving out drops)"
            + (
                f"; random halves of the drops agree within {100 * agreed.halves_difference:.2g} % in 95 % of splits."
                if np.isfinite(agreed.halves_difference)
                else "; there are too few for halves to be compared."
            ),
            f"{len(used)} impacts of {len({impact.drop for impact in used})} drops are used; spin jumps of held-out "
            f"drops are predicted to {np.median(agreed.errors):.2g} rad/s (median).",
            f"{sum(verdicts.values())} impacts do not count for J/m"
            + "".join(
                f"{', ' if k else ': '}{n} ({why})" for k, (why, n) in enumerate(verdicts.most_common())
            )
            + ".",
            f"Change of J/m under assumptions: {moves or 'not computed, as the search was interrupted'}.",
        ]
        for name, spread in (
            ("Friction, where it slides,", self.friction),
            ("Restitution", self.restitution),
        ):
            if spread is not None:
                notes.append(
                    f"{name} is {spread.median:.3g} (median), quartiles {spread.lower:.3g} and "
                    f"{spread.upper:.3g}, over {spread.count} impacts."
                )
        if self.friction is None:
            notes.append(
                f"No impact slides, so friction is at least {self.friction_bound:.3g}, and no value is given."
            )
        if len(self.laws) > 1:
            notes.append(law_note({law.name: law.likelihood for law in self.laws}, self.laws[0].name))
        if self.decided is not None:
            best, C = self.decided
            notes.append(
                f"Under this law friction is {best.friction:.3g} +- {np.sqrt(C[0, 0]):.2g} and restitution "
                f"{best.restitution:.3g} +- {np.sqrt(C[1, 1]):.2g}, which are given."
            )
        if mass is None:
            notes.append(WITHOUT_MASS)
        return notes


def _agree(value: float, expected: float, slack: float = 0.0) -> bool:
    return abs(value - expected) <= AGREES * abs(expected) + slack


def pooled_impulses(problem: PooledProblem, at: Unknowns, used: Bool[np.ndarray, "I"]) -> PooledImpulses:
    """Of these impacts, by the velocities at their ends."""
    chain, hit = problem.chain, collisions(problem.chain, at, problem.part)
    GQ, n, t = hit.GQ[used], hit.normal, hit.tangent
    N, T = (np.column_stack([np.tile(u, (len(GQ), 1)), GQ[:, 0] * u[1] - GQ[:, 1] * u[0]]) for u in (n, t))
    covariance, before = chain.root @ chain.root.transpose(0, 2, 1), chain.before[used]
    return PooledImpulses(
        N,
        T,
        float(at.shared[INERTIA]),
        hit.before[used, 3:],
        hit.jump[used, :2] @ np.column_stack([n, t]),
        covariance[before, 9:, 9:],
        covariance[before + 1, 3:6, 3:6],
        chain.struck[used],
    )


@dataclass(frozen=True, eq=False)
class FlightStates(SolvedMotion):
    """The unknowns of pooled drops that are not parameters.

    Args:
        pooled: the problem with its tolerances. used: (I,) impacts that count for J/m.
        at: states at both ends of each flight, instants of impact, lost times, heights of the floor in each drop, and
            all of theta.
        law: whose friction and restitution are given; None: they are medians.
    """

    key = "flights"

    pooled: PooledProblem
    at: Unknowns
    used: Bool[np.ndarray, "I"]
    law: LawFit | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "impact_times_s": self.at.tau,
            "lost_times_s": self.at.lost,
            "floor_heights_m": self.at.heights,
            "wall_modes_m": self.at.shared[S:],
        }

    def certify(self, problem: ImpactsProblem, estimate: Estimate) -> Certificate:
        """stationarity is the length of the remaining Gauss-Newton step in standard deviations: the largest of each
        estimated parameter, and of states, instants and heights together. feasible: theta and instants are within their
        bounds, held values are held, and J, friction and restitution agree with theta and states.
        """
        pooled, names = self.pooled, ("J/m", *SHARED[1:])
        values = dict(zip(estimate.names, estimate.values.tolist(), strict=True))
        theta = self.at.shared.copy()
        theta[:S] = [values[name] if np.isfinite(values[name]) else theta[k] for k, name in enumerate(names)]
        low, high = bounds(pooled.chain.geometry.shape.size)
        if not theta[INERTIA] > 0:
            return Certificate(float("inf"), False, STATIONARY)
        at = replace(self.at, shared=theta)
        system = pooled.linearized(at)
        by = pooled.linearized(at, system.std, curved=True)
        step, std = pooled.step(by, theta)[:S], estimate.std[:S]
        counts = pooled.free[:S] & np.isfinite(std) & (std > 0)
        others = pooled.distance(at, by)
        stationarity = max(float(np.max(np.abs(step[counts]) / std[counts])), np.sqrt(max(others, 0.0)))
        chain = pooled.chain
        slack = 0.5 * (chain.first - chain.last)
        feasible = bool(
            ((low <= theta[:S]) & (theta[:S] <= high)).all()
            and (at.tau >= chain.last - slack - AGREES).all()
            and (at.tau <= chain.first + at.lost + slack + AGREES).all()
            and all(
                _agree(values["J/m" if k == SHARED[0] else k], float(self.at.shared[COLUMN[k]]))
                for k in held_in(pooled)
            )
        )
        _, _, restitution, ratio, slides = impact_quantities(collisions(pooled.chain, at, pooled.part))
        derived = {"restitution": float(np.median(restitution[self.used]))}
        if (self.used & slides).any():
            derived["friction"] = float(np.median(ratio[self.used & slides]))
        if self.law is not None:
            law = self.law.refitted(pooled_impulses(pooled, at, self.used))
            derived |= {"friction": law.friction, "restitution": law.restitution}
        if problem.mass is not None:
            derived["J"] = problem.mass * values["J/m"]
        shifts = {name: estimate.std[estimate.names.index(name)] for name in derived}
        feasible &= all(
            _agree(values[name], value, 0.0 if name == "J" else STATIONARY * float(shifts[name]))
            for name, value in derived.items()
        )
        return Certificate(float(stationarity), feasible, STATIONARY)


def held_in(pooled: PooledProblem) -> tuple[str, ...]:
    """Names of the parameters that are held, or that do not affect the drops."""
    return tuple(name for name, free in zip(SHARED, pooled.free, strict=False) if not free)


def jumps(rows: Sequence[tuple[float, float, float]], recording: str = "") -> Fit:
    """The fit of jumps of the spin, (time, measured, predicted); each drop has its own clock, so rows have no order."""
    times, measured, predicted = np.hsplit(np.array(rows, dtype=float).reshape(-1, 3), 3)
    columns = times[:, 0], (JUMP,), ("rad/s",), measured, predicted
    return fit_of(*columns, recording=recording, ordered=False)


SCREENINGS, SETTLED = 4, 0.02
"""Rounds after which the impacts that count stay the same, and relative change of tolerances at which rounds end."""
KNOT_SPACING = 0.5
"""Of the wall's unevenness, in parts of the body's size."""


def fitted_pool(
    parted: Segmented,
    shape: Shape,
    wall: Wall,
    held: Mapping[str, float] = {},
    most_rounds: int = 80,
    restitution: str = AUTO,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> PooledFit:
    """The minimum of the pooled problem, its tolerances, and the covariance of theta.

    Args:
        parted: drops, divided into flights. shape: as drawn, about its center.
        wall: that is struck. held: known parameters by name [SI].
        most_rounds: largest number of updates of the tolerances. restitution: as in `ImpactIdentification`.

    Raises:
        NotIdentifiable: if there is no impact, or none that changes the spin.
    """
    geometry = ContactGeometry(shape, wall, GRAVITY)
    may = np.array([name not in held for name in SHARED])
    may[OF_CORNERS] &= geometry.has_corners
    shared = np.zeros(S)
    shared[OF_FLIGHTS] = np.concatenate([parted.model.offset, parted.model.drag])
    for name, value in held.items():
        shared[COLUMN[name]] = value
    tolerances = Tolerances(
        floor=3e-4 if "floor_height" not in held else 1e-9,
        gap=max(3e-4, float(parted.model.noise[1]) / 2),
    )
    first = chain(parted, shared, geometry)
    if not len(first.before):
        raise NotIdentifiable(
            "these drops have no impact between two flights, which J/m is identified from: film a drop "
            "until after it has bounced, at a rate with at least three frames between bounces"
        )
    # the first tolerances are only a start; impacts count from the first screening on, and lift only with rests
    at, part = first_guess(first, shared, parted.model.noise, "inertia_to_mass" in held)
    none = np.zeros(len(part), dtype=bool)
    problem = PooledProblem(
        first, parted.model.noise, part, none, none, may & (np.arange(S) != LIFT), tolerances
    )
    verdicts = np.full(len(part), ADMITTED, dtype=object)
    frames = np.array([len(f) for of in parted.flights for f in of])
    status, rounds = Status.unsettled, 0
    for rounds in range(1, most_rounds + 1):
        hit = collisions(problem.chain, at, part)
        at = replace(at, brevity=(1 + (hit.GQ @ hit.tangent) ** 2 / at.shared[INERTIA]) ** -0.5)
        if rounds <= SCREENINGS:
            verdicts = impact_verdicts(problem, frames, at, rounds > 1)
            turning = verdicts == ADMITTED
            if not turning.any():
                raise NotIdentifiable("no impact is on a single corner; film at a higher rate, or more drops")
            use = turning | np.isin(verdicts, ON_THE_FLOOR if rounds > 1 else (LYING,))
            problem = replace(problem, use=use, turning=turning)
        at, system = problem.minimized(at, stop=stop)
        old, new = problem.tolerances, problem.updated_tolerances(at, system)
        change = max(
            abs(np.log(getattr(new, k) / getattr(old, k)))
            for k in ("instant", "gap", "lever", "floor", "rest", "uneven")
        )
        # only now: rests and unevenness of the floor would adapt to impacts that are not used
        if rounds == SCREENINGS:
            problem, at = _grounded(problem, parted, at, may)
        problem = replace(problem, tolerances=new)
        report(progress, "tolerances", iteration=rounds, detail=f"change {100 * change:.2g} %")
        if stop_requested(stop):
            status = Status.interrupted
            break
        if rounds > SCREENINGS and change < SETTLED:
            status = Status.solved
            break
    at, system = problem.minimized(at, enough=1e-6, stop=stop)
    by = problem.linearized(at, system.std, curved=True)
    fit = PooledFit(parted, problem, at, system, by, status, rounds, verdicts, restitution)
    if not sum(impact.share for impact in fit.used) > 0 or fit.inertia_to_mass_std > fit.inertia_to_mass:
        raise NotIdentifiable(
            f"the {len(fit.used)} impacts of these drops do not determine J/m: none changes the spin enough; "
            "throw the body so that it lands on a corner, beside its center"
        )
    return fit


def _grounded(
    problem: PooledProblem, parted: Segmented, at: Unknowns, may: Bool[np.ndarray, "named"]
) -> tuple[PooledProblem, Unknowns]:
    """With flights filtered again at these values, bodies at rest, and a wall that may be uneven."""
    geometry = problem.chain.geometry
    size, wall = geometry.shape.size, geometry.wall
    t = np.array([np.cos(wall.slope), np.sin(wall.slope)])
    places = np.concatenate([drop.poses[:, :2] - [wall.x, wall.y] for drop in parted.drops]) @ t
    uneven = unevenness(float(places.min()) - size, float(places.max()) + size, KNOT_SPACING * size)
    lying = resting(parted, at.shared, geometry)
    free = np.append(may, np.ones(uneven.modes.shape[1], dtype=bool))
    free[LIFT] &= lying is not None
    shared = np.append(at.shared, np.zeros(uneven.modes.shape[1]))
    grounded = replace(chain(parted, shared, replace(geometry, uneven=uneven)), resting=lying)
    return replace(problem, chain=grounded, free=free), replace(at, shared=shared)


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
