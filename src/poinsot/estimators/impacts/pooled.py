"""J/m, friction and restitution of a body from many drops of it, by the flights between its impacts.

`segmentation` divides each drop into flights, and two flights without a frame in between meet in an impact. `admission`
decides what it is used for: J/m, or only the floor's height. All is one weighted least-squares problem (`chain`,
`pooled_problem`) in the declared parameters and the states of every flight. J/m has no prior; the others have wide
ones, so that unobservable parameters stay near 0 and are reported as such.

Friction does not influence J/m here, since the tangential impulse of each impact is free. Where slip keeps its sign
through an impact, |c_t| / c_n is a sample of mu, elsewhere a lower bound. Levers are those of the corners' centers: the
corners' radius, which only heights at contact determine, influences J/m most (`agreement.assumed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...arrays import Bool
from ...estimate import Status
from ...exceptions import NotIdentifiable
from ...models.planar.body import GRAVITY
from ...models.planar.contact import Wall
from ...models.planar.shapes import Shape
from ...solve import ProgressCallback, Stop, report, stop_requested
from .admission import ADMITTED, LYING, ON_THE_FLOOR, first_guess, impact_verdicts
from .collisions import ContactGeometry
from .contact_parameters import COLUMN, INERTIA, LIFT, OF_CORNERS, OF_FLIGHTS, SHARED, S, unevenness
from .pool import PooledProblem, Tolerances, Unknowns, chain, collisions
from .pooled_fit import PooledFit
from .resting import resting
from .segmentation import Segmented

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
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> PooledFit:
    """The minimum of the pooled problem, its tolerances, and the covariance of theta.

    Args:
        parted: drops, divided into flights. shape: as drawn, about its center.
        wall: that is struck. held: known parameters by name [SI].
        most_rounds: largest number of updates of the tolerances.

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
    fit = PooledFit(parted, problem, at, system, by, status, rounds, verdicts)
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
