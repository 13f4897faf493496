"""Result of pooled drops: the solved problem, the covariance of theta, and a row for every impact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from ...arrays import Bool, Matrix, Vector
from ...estimate import NORMAL_95, Certificate, Estimate, Status
from ...estimate.extras import Extra
from ...exceptions import InvalidMethod
from .admission import ADMITTED, DISAGREEING
from .chain import Linear, Reduced, Unknowns, reduced_derivatives
from .collisions import impact_quantities
from .contact_parameters import COLUMN, INERTIA, SHARED, S, bounds
from .pooled_problem import PooledProblem
from .problem import AGREES
from .segmentation import Segmented
from .shooting import STATIONARY

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
        chi2: sum of its five squared residuals. trust: their least robust weight. share: of the information on J/m.
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
    chi2: float
    trust: float
    share: float

    @property
    def used(self) -> bool:
        return self.verdict == ADMITTED


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


def _agree(value: float, expected: float, slack: float = 0.0) -> bool:
    return abs(value - expected) <= AGREES * abs(expected) + slack


@dataclass(frozen=True, eq=False)
class FlightStates(Extra):
    """The unknowns of pooled drops that are not parameters.

    Args:
        at: states at both ends of each flight, instants of impact, lost times, heights of the floor in each drop, and
            all of theta.
    """

    key = "flights"

    at: Unknowns

    def as_json(self) -> dict[str, Any]:
        return {
            "impact_times_s": self.at.tau,
            "lost_times_s": self.at.lost,
            "floor_heights_m": self.at.heights,
            "wall_modes_m": self.at.shared[S:],
        }


@dataclass(frozen=True, eq=False)
class PooledFit:
    """The result of pooled drops: the problem at its solution, and the shared parameters.

    Without a known mass only J/m and impulses by mass are identifiable.

    Args:
        segmented: drops and flights. problem: with its tolerances. at: its unknowns. system, by: linearized there.
        status: how the updates of tolerances ended. rounds: number of updates.
        verdicts: (I,) `ADMITTED`, or why not. mass: for the certificate alone [kg]; None: not known.
    """

    segmented: Segmented
    problem: PooledProblem
    at: Unknowns
    system: Linear
    by: Reduced
    status: Status
    rounds: int
    verdicts: np.ndarray
    mass: float | None = None

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
        found = []
        for direction in directions.T[variances > PRIOR_SHARE]:
            large = [i for i in np.argsort(-np.abs(direction)) if abs(direction[i]) > 0.3]
            found.append(" and ".join(names[i] for i in large))
        return tuple(found)

    @cached_property
    def informative(self) -> np.ndarray:
        """Indices of the drops with information on theta."""
        chain = self.problem.chain
        struck = chain.drop[chain.before[self.problem.use]]
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
            scale = np.maximum(least, stdtrit(n - 1, 0.5 + 0.5 * LEVEL) / NORMAL_95)
            covariance = C * np.outer(scale, scale)
        covariance, hidden = covariance[:S, :S].copy(), self.is_unobservable
        covariance[hidden], covariance[:, hidden] = np.nan, np.nan
        covariance[hidden, hidden] = np.inf
        return covariance

    @cached_property
    def impacts(self) -> tuple[PooledImpact, ...]:
        """All impacts, used or not."""
        problem, system = self.problem, self.system
        # (I,) by which the residuals of an impact tell J/m
        influence = reduced_derivatives(problem.chain, system, self.by)[1] @ self.inverse[0][INERTIA]
        information = np.sum(system.trust * influence**2, axis=1)
        disagrees = problem.turning & (system.trust.min(axis=1) < DISAGREEMENT)
        struck = problem.chain.drop[problem.chain.before]
        normal, tangential, restitution, ratio, slides = impact_quantities(system.collision)
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
            system.collision.jump[:, 2],
            system.collision.r[:, 4],
            self.at.lost,
            system.chi2[:, [0, 3]].sum(axis=1),
            system.trust.min(axis=1),
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
        return tuple(name for name, free in zip(SHARED, self.problem.free, strict=False) if not free)

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

    def value(self, name: str) -> float:
        return float(self.shared[COLUMN[name]])

    def std(self, name: str) -> float:
        """Infinite where the drops do not determine it."""
        return float(np.sqrt(self.covariance[COLUMN[name], COLUMN[name]]))

    def certify(self, estimate: Estimate) -> Certificate:
        """Optimality and feasibility at an estimate's values, with its `FlightStates`.

        stationarity is the length of the remaining Gauss-Newton step in standard deviations: the largest of each
        estimated parameter, and of states, instants and heights together. feasible: theta and instants are within their
        bounds, held values are held, and J, friction and restitution agree with theta and states.
        """
        states = estimate.extra(FlightStates)
        if states is None:
            raise InvalidMethod("this estimate has no flights; certify an estimate of PooledImpacts")
        problem, names = self.problem, ("J/m", *SHARED[1:])
        values = dict(zip(estimate.names, estimate.values.tolist(), strict=True))
        theta = states.at.shared.copy()
        theta[:S] = [values[name] if np.isfinite(values[name]) else theta[k] for k, name in enumerate(names)]
        low, high = bounds(problem.chain.geometry.shape.size)
        if not theta[INERTIA] > 0:
            return Certificate(float("inf"), False, STATIONARY)
        at = replace(states.at, shared=theta)
        system = problem.linearized(at)
        by = problem.curved(at, system)
        step, std = problem.step(by, theta)[:S], estimate.std[:S]
        counts = problem.free[:S] & np.isfinite(std) & (std > 0)
        # g^T T^-1 g, the squared length of the step of the unknowns other than theta
        others = -float(system.gradient @ by.offset)
        stationarity = max(float(np.max(np.abs(step[counts]) / std[counts])), np.sqrt(max(others, 0.0)))
        chain = problem.chain
        slack = 0.5 * (chain.first - chain.last)
        feasible = bool(
            ((low <= theta[:S]) & (theta[:S] <= high)).all()
            and (at.tau >= chain.last - slack - AGREES).all()
            and (at.tau <= chain.first + at.lost + slack + AGREES).all()
            and all(_agree(values["J/m" if k == SHARED[0] else k], self.value(k)) for k in self.held)
        )
        _, _, restitution, ratio, slides = impact_quantities(system.collision)
        derived = {"restitution": float(np.median(restitution[problem.turning]))}
        if (problem.turning & slides).any():
            derived["friction"] = float(np.median(ratio[problem.turning & slides]))
        if self.mass is not None:
            derived["J"] = self.mass * values["J/m"]
        shifts = {name: estimate.std[estimate.names.index(name)] for name in derived}
        feasible &= all(
            _agree(values[name], value, 0.0 if name == "J" else STATIONARY * float(shifts[name]))
            for name, value in derived.items()
        )
        return Certificate(float(stationarity), feasible, STATIONARY)
