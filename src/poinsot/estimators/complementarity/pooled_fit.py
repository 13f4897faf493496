"""Result of pooled drops: the solved problem, the covariance of theta, and a row for every impact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool

from ...arrays import Matrix, Vector
from ...estimate import NORMAL_95, Status
from .admission import ADMITTED
from .chain import Linear, Reduced, Unknowns
from .contact_parameters import COLUMN, INERTIA, SHARED, UNITS, S
from .pooled_problem import PooledProblem
from .segmentation import Segmented

SLIDES, STICKS = "slides", "sticks or turns"


@dataclass(frozen=True)
class PooledImpact:
    """An impact between two flights of a drop; NaN where a value does not exist.

    Args:
        drop: its name. time: tau [s]. part: which corner. verdict: `admitted`, or why not.
        normal_impulse, tangential_impulse: by mass [m/s].
        restitution: -u_n+ / u_n-. friction_ratio: |c_t| / c_n. mode: `slides`, or `sticks or turns`.
        jump_of_omega: [rad/s]. inconsistency: residual of Eq. 32 [rad/s].
        lost_time: by which the frame after it came later than its clock says [s].
        chi2: of its five residuals. trust: least robust weight of them. share: part of the information on J/m.
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
    def of(cls, values: Sequence[float], drops: Sequence[str]) -> Quartiles:
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
    """The result of pooled drops: the problem at its solution, and what follows for the shared parameters.

    Without a known mass only J/m and impulses by mass are identifiable.

    Args:
        segmented: drops and flights. problem: with its tolerances. at: its unknowns. system, by: linearized there.
        status: how the updates of tolerances ended. rounds: number of updates.
        covariance: (S, S) of the declared parameters in SI, 0 where held, infinite where unobservable.
        scattered: whether the covariance is from leaving out drops, and not from the normal matrix.
        unobservable: combinations that keep most of their prior variance. is_unobservable: (S,) of single parameters.
        impacts: all, whether they count or not.
    """

    segmented: Segmented
    problem: PooledProblem
    at: Unknowns
    system: Linear
    by: Reduced
    status: Status
    rounds: int
    covariance: Matrix
    scattered: bool
    unobservable: tuple[str, ...]
    is_unobservable: Bool[np.ndarray, "S"]
    impacts: tuple[PooledImpact, ...] = field(repr=False)

    names, units = SHARED, UNITS

    @property
    def shared(self) -> Vector:
        """(S,) values of `names` in `units`."""
        return self.at.shared[:S]

    @property
    def held(self) -> tuple[str, ...]:
        """Names of the parameters that were held, or that nothing in the drops depends on."""
        return tuple(name for name, free in zip(SHARED, self.problem.free, strict=False) if not free)

    @property
    def converged(self) -> bool:
        return self.status is Status.solved

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
        if not sliding:
            return None
        return Quartiles.of([each.friction_ratio for each in sliding], [each.drop for each in sliding])

    @property
    def friction_bound(self) -> float:
        """The least friction with which the other impacts stick."""
        return max((impact.friction_ratio for impact in self.used if impact.mode != SLIDES), default=0.0)

    @property
    def restitution(self) -> Quartiles:
        """Over impacts that count."""
        used = self.used
        return Quartiles.of([impact.restitution for impact in used], [impact.drop for impact in used])

    @property
    def impacts_used(self) -> int:
        return len(self.used)

    @property
    def drops_used(self) -> int:
        """Number of drops with at least one impact that counts."""
        return len({impact.drop for impact in self.used})

    def value(self, name: str) -> float:
        return float(self.shared[COLUMN[name]])

    def std(self, name: str) -> float:
        """Infinite where the drops do not determine it."""
        return float(np.sqrt(self.covariance[COLUMN[name], COLUMN[name]]))
