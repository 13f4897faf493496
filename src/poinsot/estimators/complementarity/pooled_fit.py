"""Result of pooled drops: theta with its covariance, a row for every impact, and the solved problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool

from ...arrays import Matrix, Vector
from ...estimate import Status
from .admission import ADMITTED
from .chain import Linear, Reduced, Unknowns
from .flights import FlightModel
from .pooled_problem import PooledProblem
from .segmentation import Segmented
from .tolerances import Tolerances

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


@dataclass(frozen=True)
class Quartiles:
    """Median and quartiles over impacts; count of them."""

    median: float
    lower: float
    upper: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Quartiles:
        low, middle, high = np.percentile(values, [25, 50, 75])
        return cls(float(middle), float(low), float(high), len(values))


@dataclass(frozen=True, eq=False)
class PooledSolution:
    """The problem at its solution, from which `agreement` starts.

    Args:
        segmented: drops and flights. problem: with its tolerances. at: its unknowns. system, by: linearized there.
        verdicts: of each impact, `ADMITTED` or why it does not count.
    """

    segmented: Segmented
    problem: PooledProblem
    at: Unknowns
    system: Linear
    by: Reduced
    verdicts: np.ndarray


@dataclass(frozen=True, eq=False)
class PooledFit:
    """The result of pooled drops; without a known mass only J/m and impulses by mass are identifiable.

    Args:
        shared: (S,) in the order of `names`, SI. covariance: (S, S), 0 where held, infinite where unobservable.
        scattered: whether the covariance is from the scatter between drops, and not from the normal matrix.
        names, units: of shared. held: names that were held.
        unobservable: combinations that keep most of their prior variance. is_unobservable: (S,) of single parameters.
        model: offset, drag, noise and wander of flights.
        impacts: all, whether they count or not.
        friction: over impacts that slide; None where none does. friction_bound: mu is at least this if none slides.
        restitution: over impacts that count.
        flight_chi2: of flights, by degree of freedom.
        status: how the updates of tolerances ended. rounds: of them.
    """

    shared: Vector
    covariance: Matrix
    scattered: bool
    names: tuple[str, ...]
    units: tuple[str, ...]
    held: tuple[str, ...]
    unobservable: tuple[str, ...]
    is_unobservable: Bool[np.ndarray, "S"]
    model: FlightModel
    impacts: tuple[PooledImpact, ...]
    friction: Quartiles | None
    friction_bound: float
    restitution: Quartiles
    flight_chi2: float
    status: Status
    rounds: int
    solution: PooledSolution = field(repr=False)

    @property
    def tolerances(self) -> Tolerances:
        """As estimated."""
        return self.solution.problem.tolerances

    @property
    def converged(self) -> bool:
        return self.status is Status.solved

    @property
    def inertia_to_mass(self) -> float:
        """J/m [m^2]."""
        return float(self.shared[0])

    @property
    def inertia_to_mass_std(self) -> float:
        """[m^2]"""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def impacts_used(self) -> int:
        return sum(impact.used for impact in self.impacts)

    @property
    def drops_used(self) -> int:
        """Number of drops with at least one impact that counts."""
        return len({impact.drop for impact in self.impacts if impact.used})

    def value(self, name: str) -> float:
        return float(self.shared[self.names.index(name)])

    def std(self, name: str) -> float:
        """Infinite where the drops do not determine it."""
        at = self.names.index(name)
        return float(np.sqrt(self.covariance[at, at]))
