"""Identification of a thrown body from one drop or many.

A drop is simulated through all of its impacts (`drop`), with one restitution, one friction, and floor and tracked point
near the declared ones. Of several drops the geometry of contact is estimated too, and each impact has a restitution and
impulses of its own (`pooled`): real bodies and floors are not as drawn. If these impacts scatter about a law no more
than they are known, a few drops are simulated together, and so are drops that strike several walls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from ...arrays import Vector
from ...diagnosis.effects.geometry import DEGREE
from ...diagnosis.throws import explain
from ...estimate import Estimate, Status
from ...exceptions import InvalidMethod, NotIdentifiable, check_known, listing
from ...models.planar.drop import Drop
from ...models.planar.impulses import RESTITUTIONS
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from ...stopwatch import Stopwatch
from .collisions import OF_FLIGHTS, SHARED
from .drop import DropFit, fitted_drops
from .flights import segmented
from .pooled import PooledFit, agreement, fitted_pool
from .problem import ImpactsProblem
from .restitution import AUTO
from .shooting import GEOMETRY

SURVEYED = (("floor_mm", 1e-3), ("floor_deg", DEGREE), ("tracked_point_mm", 1e-3), ("tracked_point_mm", 1e-3))
"""Standard deviation of each component of `GEOMETRY` in `Accuracy`, and its unit in SI."""


MOST_SIMULATED = 12
"""Largest number of drops that are simulated together: scatter between the impacts of more drops determines intervals
without a law of impact."""


@dataclass(frozen=True)
class ImpactIdentification(Method):
    """Identification of a thrown body.

    Args:
        noise: (3,) standard deviations of x, y [m] and theta [rad] in a frame of a single drop; None: estimated.
        drag: linear and angular, of a single drop [1/s]; that of several is estimated.
        seed: seed of the starting points of a single drop, and of the random halves of several.
        held: known parameters by name (`collisions.SHARED`; of a single drop `shooting.GEOMETRY`) [SI].
        rounds: largest number of updates of the tolerances of several drops.
        restitution: law of restitution: `newton`, `poisson`, `energetic`, or `auto` for the one under
            which the frames are likeliest (`models.planar.impulses`).

    Raises:
        InvalidMethod: if the noise is not three numbers above 0, or a name of `held` or `restitution` is not known.
    """

    noise: Sequence[float] | Vector | None = None
    drag: tuple[float, float] = (0.0, 0.0)
    seed: int = 0
    held: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 80
    restitution: str = AUTO

    name = "impacts"

    def __post_init__(self) -> None:
        if self.noise is not None and not (len(self.noise) == 3 and min(self.noise) > 0):
            raise InvalidMethod("the noise of a tracker is three numbers above 0: of x, y and the angle")
        laws = AUTO, *RESTITUTIONS
        check_known(self.restitution, laws, "no law of restitution", "a law is one of", InvalidMethod)
        for name in self.held:
            check_known(name, SHARED, "cannot hold", "what may be held is", InvalidMethod, len(SHARED))

    @threadpool_limits.wrap(limits=1, user_api="blas")  # matrices are small: threads only cost
    def solve(
        self, problem: ImpactsProblem, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """J/m, friction and restitution, motions and impacts; of several drops also the geometry of contact, with
        intervals from leaving out drops, and tests on held-out drops.

        Raises:
            InvalidMethod: if a field is given that does not fit the number of drops; if several drops have several
                walls or known forces.
            InvalidSignals, NotIdentifiable: if the drops determine nothing.
        """
        watch = Stopwatch()
        fit = self.fit(problem, progress=progress, stop=stop)
        watch.lap("solve")
        citations: tuple[str, ...] = ("gabiccini2019", "stewart1996", "stronge2000")
        if isinstance(fit, DropFit):
            estimate = fit.estimate(problem)
        else:
            agreed = agreement(fit, self.seed, progress=progress, stop=stop)
            estimate, citations = (
                fit.estimate(problem, agreed),
                (
                    "gabiccini2019",
                    "kalman1960",
                    "bell2002",
                    "stronge2000",
                ),
            )
        watch.lap("summary")
        status = Status.interrupted if stop_requested(stop) else estimate.status
        return estimate.updated(method=self.name, citations=citations, seconds=watch.seconds, status=status)

    def fit(
        self, problem: ImpactsProblem, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> DropFit | PooledFit:
        """The minimum of the problem; errors as `solve`."""
        drops, shape, walls, held = problem.drops, problem.shape, problem.walls, dict(self.held)
        several = len(drops) > 1
        for key, idle in (("noise", None), ("drag", (0.0, 0.0))):
            if several and getattr(self, key) != idle:
                raise InvalidMethod(
                    f"method.{key} is for a single drop; with {len(drops)} drops it is estimated: delete the line"
                )
        if not several and (others := set(held) - set(GEOMETRY)):
            raise InvalidMethod(
                f"[held] of a single drop may have {listing(GEOMETRY)}; delete {listing(sorted(others))}"
            )
        if several and (forced := [drop.name for drop in drops if drop.forces is not None]):
            raise InvalidMethod(
                f"known forces, as in {forced[0]}, are for single drops: identify it separately, or delete the forces "
                "of drops in which they hardly act"
            )
        if not several or (len(walls) > 1 and self._few(drops)):
            return self._simulated(problem, progress, stop)
        if len(walls) > 1:
            raise InvalidMethod(
                f"{len(drops)} drops are pooled on one wall, but there are {len(walls)}; identify at most "
                f"{MOST_SIMULATED} together, with [held] of {listing(GEOMETRY)} only, or give only the wall that is hit"
            )
        # given velocities are of the center of mass
        if all(drop.flights is not None for drop in drops):
            held = dict.fromkeys(SHARED[OF_FLIGHTS], 0.0) | held
        report(progress, f"{len(drops)} drops: flights")
        offset = not {"tracked_offset_x", "tracked_offset_y"} <= set(held)
        drag = not {"linear_drag", "angular_drag"} <= set(held)
        parted = segmented(drops, (offset, offset, drag, drag), stop)
        try:
            pooled = parted, shape, walls[0], held, self.rounds, self.restitution
            fit = fitted_pool(*pooled, progress=progress, stop=stop)
        except NotIdentifiable as why:
            raise explain(why, problem.throws, shape, walls) from None
        if not self._few(drops) or stop_requested(stop) or not fit.laws[0].holds(fit.impulses):
            return fit
        simulated = self._simulated(problem, progress, stop)
        return fit if simulated.findings else simulated

    def _few(self, drops: Sequence[Drop]) -> bool:
        """Whether drops may be simulated together."""
        filmed = all(drop.flights is None for drop in drops)
        return filmed and len(drops) <= MOST_SIMULATED and set(self.held) <= set(GEOMETRY)

    def _simulated(
        self, problem: ImpactsProblem, progress: ProgressCallback | None, stop: Stop | None
    ) -> DropFit:
        stds = np.array([problem.accuracy.of(name) * unit for name, unit in SURVEYED])
        stds[[name in self.held for name in GEOMETRY]] = 0.0
        return fitted_drops(
            problem.drops,
            problem.shape,
            problem.walls,
            problem.mass,
            self.noise,
            self.drag,
            self.seed,
            self.restitution,
            np.array([self.held.get(name, 0.0) for name in GEOMETRY]),
            stds,
            progress=progress,
            stop=stop,
        )
