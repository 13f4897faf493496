"""What pooled drops say: J/m and what shapes the contact with their covariance, a row for every impact, and the problem
where it was left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int

from ...arrays import Matrix, Vector
from ...models.planar.shapes import Shape
from ...models.planar.walls import Wall
from .chain import Chain, Linear, Reduced, Unknowns
from .flights import FlightModel
from .segmentation import Segmented

ADMITTED = "admitted"


@dataclass(frozen=True)
class Tolerances:
    """Standard deviations of what an impact is not.

    Args:
        instant: by which centers of normal, tangential and turning impulse differ [s].
        gap: of the outline and the floor, from impact to impact [m].
        lever: of the contact along the wall [m].
        spin: of the jump of omega, whatever the impulse [rad/s].
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


@dataclass(frozen=True)
class PooledImpact:
    """An impact between two flights of a drop; what cannot be said is NaN.

    Args:
        drop: its name. time: tau [s]. part: which corner. verdict: `admitted`, or why not.
        normal_impulse, tangential_impulse: by mass [m/s].
        restitution: -u_n+ / u_n-. friction_ratio: |c_t| / c_n. mode: `slides`, or `sticks or turns`.
        jump_of_omega: [rad/s]. inconsistency: what Eq. 32 leaves of it [rad/s].
        lost_time: by which the frame after it came later than its clock says [s].
        chi2: of its five residuals. trust: by which they count at least. share: of what impacts say about J/m.
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
class Spread:
    """Median and quartiles over impacts; count of them."""

    median: float
    lower: float
    upper: float
    count: int


@dataclass(frozen=True, eq=False)
class PooledFit:
    """What all drops say together. Only J/m and impulses by mass can be told without a known mass.

    Args:
        shared: (S,) in the order of `names`, SI. covariance: (S, S), 0 where held, by the scatter between drops.
        names, units: of shared. held: names that were held. unseen: combinations that the drops leave to the priors.
        tolerances: estimated. model: offset, drag, noise and wander of flights.
        impacts: all, admitted or not.
        friction: over impacts that slide; None where none does. friction_bound: mu is at least this if none slides.
        restitution: over impacts that are used.
        flight_chi2: of flights, by degree of freedom. drops_used: with at least one used impact.
        converged, rounds: of tolerances.
    """

    shared: Vector
    covariance: Matrix
    names: tuple[str, ...]
    units: tuple[str, ...]
    held: tuple[str, ...]
    unseen: tuple[str, ...]
    tolerances: Tolerances
    model: FlightModel
    impacts: tuple[PooledImpact, ...]
    friction: Spread | None
    friction_bound: float
    restitution: Spread
    flight_chi2: float
    drops_used: int
    converged: bool
    rounds: int
    solved: Solved = field(repr=False)

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

    def value(self, name: str) -> float:
        return float(self.shared[self.names.index(name)])

    def std(self, name: str) -> float:
        at = self.names.index(name)
        return float(np.sqrt(self.covariance[at, at]))


@dataclass(frozen=True, eq=False)
class Solved:
    """The problem where it was left, for what is asked of it afterwards (`agreement`).

    Args:
        segmented: drops and flights. chain: the problem. at: its unknowns. system, by: linearized there.
        part: struck in each impact. verdicts: `admitted`, or why not. use: whether it tells where the floor is.
        turning: and J/m. free: (s,) of theta: what is named, then modes of the wall. prior: (s,) precisions.
        tolerances: of residuals.
    """

    segmented: Segmented
    shape: Shape
    wall: Wall
    chain: Chain
    at: Unknowns
    system: Linear
    by: Reduced
    part: Int[np.ndarray, "I"]
    verdicts: np.ndarray
    use: Bool[np.ndarray, "I"]
    turning: Bool[np.ndarray, "I"]
    free: Bool[np.ndarray, "s"]
    prior: Vector
    tolerances: Tolerances
