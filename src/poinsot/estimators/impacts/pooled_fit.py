"""Result of pooled drops: the solved problem, the covariance of theta, and a row for every impact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from ...arrays import Bool, Matrix, Vector
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
from ...estimate.motions import EstimatedMotion, EstimatedMotions, Impact, Impacts, SensorFit
from ...models.planar.drop import Drop, of_center
from .admission import ADMITTED, DISAGREEING
from .collisions import impact_quantities
from .contact_parameters import COLUMN, INERTIA, OF_FLIGHTS, SHARED, UNITS, S, bounds
from .estimate import (
    AGREES,
    WITHOUT_MASS,
    SolvedMotion,
    estimated_parameters,
    impacts_estimate,
    impulse_unit,
    motion_of,
)
from .pool import Linear, PooledProblem, Unknowns, collisions
from .segmentation import Segmented
from .shooting import STATIONARY

if TYPE_CHECKING:
    from .agreement import Agreement
    from .problem import ImpactsProblem

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
        verdicts: (I,) `ADMITTED`, or why not.
    """

    segmented: Segmented
    problem: PooledProblem
    at: Unknowns
    system: Linear
    by: Linear
    status: Status
    rounds: int
    verdicts: np.ndarray

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
            (motions, Impacts(self._impacts(mass)), FlightStates(self.problem, self.at)),
            (self.friction.median, np.nan) if self.friction else (np.nan, self.friction_bound),
            {},
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
        if mass is None:
            notes.append(WITHOUT_MASS)
        return notes


def _agree(value: float, expected: float, slack: float = 0.0) -> bool:
    return abs(value - expected) <= AGREES * abs(expected) + slack


@dataclass(frozen=True, eq=False)
class FlightStates(SolvedMotion):
    """The unknowns of pooled drops that are not parameters.

    Args:
        pooled: the problem with its tolerances.
        at: states at both ends of each flight, instants of impact, lost times, heights of the floor in each drop, and
            all of theta.
    """

    key = "flights"

    pooled: PooledProblem
    at: Unknowns

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
        derived = {"restitution": float(np.median(restitution[pooled.turning]))}
        if (pooled.turning & slides).any():
            derived["friction"] = float(np.median(ratio[pooled.turning & slides]))
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
