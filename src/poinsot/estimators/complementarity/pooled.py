"""J/m, friction and restitution of a body from many drops of it, by the flights between its impacts.

1. `segmentation` divides each drop into flights; these give offset, drag and noise (`flights`).
2. Where two flights meet without a frame in between there was an impact. Admitted are those that one instant of
   contact can explain: both flights have three frames, the jump is a blow and no push (more than gravity gives in
   three intervals of frames), and no second corner can strike before the next frame. A push, a face that lies nearly
   flat, so that contact spreads along it, and a flight of two frames, which may have been none, still touch the floor:
   they tell where it is, and their consistency is left out. Where a side is so flat that it may touch anywhere between
   its corners nothing follows.
3. All of it is one weighted least-squares problem (`chain`), in J/m, what shapes the contact (radius of corners,
   offsets and stretch of the shape, offsets of the angle and of the floor, lag of impulses) and every flight's state.
   No prior on J/m; the others have wide ones, so that what is not seen stays near nothing and says so.
4. Where a drop came to rest shows how high the floor was for it (`resting`), and contacts and rests of all drops
   together how uneven it is along the way (`unevenness`).
5. Tolerances are variance components. Each is what makes its residuals as large as they should be, what the unknowns
   take up of them discounted (leverages). An impact that disagrees with one instant counts less, and one whose gap is
   off tells less of the floor (Student's t).

Only J/m and impulses by mass follow from motion without a known mass or force (Sect. 5.2). Friction acts on J/m in no
way here: the tangential impulse of each impact is free. Where slip keeps its sign through an impact |c_t| / c_n is a
sample of mu, elsewhere a bound below it. Restitution is -u_n+ / u_n- of the struck point.

Levers are those of the corners' centers, so J/m follows their distance from the center of mass, which only heights at
contact tell: the corners' radius is what J/m depends on most (`agreement.assumed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod, NotIdentifiable
from ...models.planar.shapes import Shape
from ...models.planar.walls import Wall
from .chain import (
    Chain,
    Linear,
    Reduced,
    Unknowns,
    chain,
    collisions,
    leverages,
    linear,
    reduced,
    rows_of_theta,
    stepped,
)
from .collisions import (
    HEIGHT,
    LIFT,
    OF_CORNERS,
    OF_FLIGHTS,
    POWER,
    SCALES,
    SHARED,
    UNITS,
    Collision,
    Outline,
    S,
    lags,
)
from .flights import GRAVITY, Drop, FlightModel, flight
from .resting import resting, reweighed
from .result import ADMITTED, PooledFit, PooledImpact, Solved, Spread, Tolerances
from .segmentation import Segmented, segmented
from .unevenness import unevenness

ALOFT = 4.0
"""Times what gap and floor may differ by: flights that end farther from the wall did not strike it."""
FRAMES = 3
"""Of a flight beside an admitted impact: two fit whatever they are, so nothing shows that it was a flight."""
BLOW, PUSH = 3.0, 1.0
"""Intervals between frames; an impact must be more than gravity's impulse in so many, and any contact."""
TILT = 0.05
"""A side that lies flatter on what it strikes may touch it anywhere: no side is quite straight, and dust lies under it
[rad]."""
FLAT = 10.0
"""Times the depth of contact, its tolerance included, that the next corner must be above the floor: a face that lies
flatter is touched along a good part of its length."""
DISAGREES = 0.25
"""An impact that counts for less than this part of one is told as disagreeing."""
SCREENINGS = 4
"""Rounds after which the admitted impacts are those of the round before."""
SAMPLES_OF_TAU, SAMPLES_OF_LOSS = 21, 25
NEAR, AMPLE = np.array([1e-4, 1e-4, 3e-3, 2e-3]), 2.0
"""Scales of what flights may miss each other by where they meet, and the floor, and of the noise of a frame in them."""
LOST = 3.0
"""Intervals between frames that may be lost at an impact."""
APART, GAINED = 200.0, 5.0
"""Sum of squares of misses over their scales from which on time may have been lost, and by how
many times the loss must lessen it."""
LEAST_LEVER = 1e-4
"""A tolerance of levers below this is none [m]."""
KNOTS = 0.5
"""Of the size: from one knot of the wall's unevenness to the next."""
LEAST_UNEVENNESS = 1e-7
"""Second differences of less are none [m]."""
STILL = 0.3
"""Of the noise of a frame: what continuity is allowed whatever the jump."""
SETTLED = 0.02
"""Relative change of tolerances at which rounds end."""
UNSEEN = 0.5
"""Part of its prior variance that a direction must keep, to be told as unseen."""

SHORT, WEAK, LYING, DOUBLE, SIDE, OFF, NOTHING, PARTING = (
    "a flight beside it has fewer than three frames",
    "a push, not a blow",
    "a face lies nearly flat on what it strikes",
    "a second corner may have struck before the next frame",
    "a side may have struck, and no corner",
    "both flights end off what is struck",
    "one flight goes on as the other",
    "the struck point moves away before it",
)
TELL_THE_FLOOR = (SHORT, WEAK, LYING)
"""They show where the floor is, and not what J/m is."""
Verdicts = np.ndarray
"""(I,) of words."""
DISAGREEING = "disagrees with one instant of contact"


@dataclass(frozen=True)
class PooledImpacts:
    """The method.

    Args:
        held: shared values that are known, by name (`collisions.SHARED`), in SI.
        gravity: [m/s^2].
        rounds: of tolerances at most.

    Raises:
        InvalidMethod: if a name is not one of them.
    """

    held: Mapping[str, float] = field(default_factory=dict)
    gravity: float = GRAVITY
    rounds: int = 80

    def __post_init__(self) -> None:
        unknown = [name for name in self.held if name not in SHARED]
        if unknown:
            raise InvalidMethod(f"cannot hold {unknown[0]!r}; what may be held is {', '.join(SHARED)}")

    def solve(self, drops: Sequence[Drop], shape: Shape, wall: Wall) -> PooledFit:
        """
        Args:
            shape: as drawn, about its center. wall: that is struck.

        Raises:
            NotIdentifiable: if there is no impact to identify from, or none that turns the body.
        """
        parted = segmented(
            drops,
            with_offset=not {"tracked_offset_x", "tracked_offset_y"} <= set(self.held),
            with_drag=not {"linear_drag", "angular_drag"} <= set(self.held),
            gravity=self.gravity,
        )
        return self.of_flights(parted, shape, wall)

    def of_flights(self, parted: Segmented, shape: Shape, wall: Wall) -> PooledFit:
        """`solve`, of drops that are divided into flights already."""
        return _result(_solved(self, parted, shape, wall), parted)


# ------------------------------------------------------------------------------------------------------------ solving


def _solved(method: PooledImpacts, parted: Segmented, shape: Shape, wall: Wall) -> tuple[Solved, bool, int]:
    outline = Outline(shape)
    may = np.array([name not in method.held for name in SHARED])
    may[OF_CORNERS] &= outline.has_corners
    shared = np.zeros(S)
    shared[OF_FLIGHTS] = np.concatenate([parted.model.offset, parted.model.drag])
    for name, value in method.held.items():
        shared[SHARED.index(name)] = value
    named = 1 / _prior(shape.size) ** 2
    tolerances = replace(
        Tolerances(),
        floor=3e-4 if "floor_height" not in method.held else 1e-9,
        gap=max(3e-4, float(parted.model.noise[1]) / 2),
    )
    problem = _chained(parted, shared, outline, wall, method.gravity)
    if not len(problem.before):
        raise NotIdentifiable(
            "no impact between two flights in these drops; there is nothing to identify J/m from: film a drop "
            "until after it has bounced, at a rate that gives three frames between bounces at least"
        )
    at, part = _started(problem, shared, parted.model.noise, "inertia_to_mass" in method.held)
    free = may & (np.arange(S) != LIFT)
    verdicts = np.full(len(part), ADMITTED, dtype=object)
    use = turning = np.zeros(len(part), dtype=bool)
    converged, rounds = False, 0
    for rounds in range(1, method.rounds + 1):
        at = replace(at, brevity=_brevity(problem, at, part))
        if rounds <= SCREENINGS:
            verdicts = _verdicts(problem, parted, at, part, tolerances, rounds > 1)
            turning = verdicts == ADMITTED
            use = turning | np.isin(verdicts, TELL_THE_FLOOR if rounds > 1 else (LYING,))
            if not turning.any():
                raise NotIdentifiable(
                    "no impact is a single blow on one corner; film at a higher rate, or more drops"
                )
        spread = residual_tolerances(problem, at, part, turning, tolerances, parted.model)
        prior = priors(named, problem.size, tolerances.uneven)
        at, system = descended(problem, at, part, spread, use, free, prior, tolerances.floor)
        by = reduced(problem, at, system, tolerances.floor)
        new = updated_tolerances(problem, at, system, by, use, tolerances, spread, free, prior)
        change = max(
            abs(np.log(getattr(new, k) / getattr(tolerances, k)))
            for k in ("instant", "gap", "lever", "floor", "rest", "uneven")
        )
        tolerances = new
        if rounds == SCREENINGS:
            problem, at, free = _grounded(problem, parted, at, may)
        problem = rested(problem, tolerances)
        if rounds > SCREENINGS and change < SETTLED:
            converged = True
            break
    spread = residual_tolerances(problem, at, part, turning, tolerances, parted.model)
    prior = priors(named, problem.size, tolerances.uneven)
    at, system = descended(problem, at, part, spread, use, free, prior, tolerances.floor, enough=1e-6)
    by = _curved(problem, at, part, spread, use, tolerances.floor)
    found = Solved(
        parted, shape, wall, problem, at, system, by, part, verdicts, use, turning, free, prior, tolerances
    )
    return found, converged, rounds


def _grounded(
    problem: Chain, parted: Segmented, at: Unknowns, may: Bool[np.ndarray, "named"]
) -> tuple[Chain, Unknowns, Bool[np.ndarray, "s"]]:
    """With flights filtered anew by what was found, bodies at rest, and a wall that may be uneven; what is free."""
    outline, wall = problem.outline, problem.wall
    size, t = outline.shape.size, np.array([np.cos(wall.slope), np.sin(wall.slope)])
    places = np.concatenate([drop.poses[:, :2] - [wall.x, wall.y] for drop in parted.drops]) @ t
    uneven = unevenness(float(places.min()) - size, float(places.max()) + size, KNOTS * size)
    lying = resting(parted, at.shared, outline, wall)
    free = np.append(may, np.ones(uneven.count, dtype=bool))
    free[LIFT] &= lying is not None
    shared = np.append(at.shared, np.zeros(uneven.count))
    grounded = replace(_chained(parted, shared, outline, wall, problem.gravity), resting=lying, uneven=uneven)
    return grounded, replace(at, shared=shared), free


def rested(problem: Chain, by: Tolerances) -> Chain:
    """With the tolerance of rest."""
    if problem.resting is None:
        return problem
    return replace(problem, resting=replace(problem.resting, std=by.rest))


def priors(named: Vector, size: int, uneven: float) -> Vector:
    """(s,) precisions about 0 of what is named, and of the modes of the wall's unevenness."""
    return np.append(named[:S], np.full(size - S, 1 / uneven**2))


def _curved(
    problem: Chain,
    at: Unknowns,
    part: Int[np.ndarray, "I"],
    spread: Float[np.ndarray, "I 5"],
    use: Bool[np.ndarray, "I"],
    floor: float,
) -> Reduced:
    """With the second derivative of the robust cost: how theta moves with the drops follows from that."""
    try:
        by = reduced(problem, at, linear(problem, at, part, spread, use, curved=True), floor)
    except np.linalg.LinAlgError:
        # convex in descent's sense only: then the weights stay as they are
        return reduced(problem, at, linear(problem, at, part, spread, use), floor)
    return by


def _prior(size: float) -> Vector:
    """(S,) standard deviations about 0; J/m has none."""
    lengths = {"corner_radius": 0.25, "floor_height": 0.25, "resting_lift": 0.01}
    others = {
        "inertia_to_mass": np.inf,
        "angle_offset": 0.1,
        "floor_slope": 0.05,
        "contact_lag": 1e-3,
        "lag_power": 0.5,
        "elongation": 0.05,
        "skew": 0.05,
        "linear_drag": 1.0,
        "angular_drag": 1.0,
    }
    return np.array([others[name] if name in others else lengths.get(name, 0.1) * size for name in SHARED])


def _chained(parted: Segmented, shared: Vector, outline: Outline, wall: Wall, gravity: float) -> Chain:
    model = replace(parted.model, offset=shared[OF_FLIGHTS][:2], drag=shared[OF_FLIGHTS][2:])
    flights = [
        [flight(drop, frames, model, gravity) for frames in of]
        for drop, of in zip(parted.drops, parted.flights, strict=True)
    ]
    joined = [[bool(b.frames[0] == a.frames[-1] + 1) for a, b in pairwise(of)] for of in flights]
    reference = np.zeros(len(shared))
    reference[OF_FLIGHTS] = shared[OF_FLIGHTS]
    return chain(flights, joined, reference, outline, wall, gravity)


def _started(
    problem: Chain, shared: Vector, noise: Vector, known: bool
) -> tuple[Unknowns, Int[np.ndarray, "I"]]:
    """Instants and corners by where flights meet and touch; J/m from the jumps, where it is not known."""
    shared = shared.copy()
    if not known:
        shared[0] = problem.outline.shape.size**2 / 3
    at, part = placed(problem, shared, noise)
    if not known:
        hit = collisions(problem, at, part)
        jump = hit.jump
        moment = hit.GQ[:, 0] * jump[:, 1] - hit.GQ[:, 1] * jump[:, 0]
        turned = np.abs(jump[:, 2]) > np.median(np.abs(jump[:, 2]))
        ratio = moment[turned] / jump[turned, 2]
        ratio = ratio[ratio > 0]
        if len(ratio):
            at.shared[0] = float(np.median(ratio))
    return at, part


def placed(problem: Chain, shared: Vector, noise: Vector) -> tuple[Unknowns, Int[np.ndarray, "I"]]:
    """The instant, and the part, with the least of continuity and gap between the frames on both sides.

    Where nothing comes near, time may have been lost: then the same is sought with some, and taken if that explains it.
    """
    best, part, share = _nearest(problem, shared, noise, 0.0)
    interval = problem.first - problem.last
    tau, lost = problem.last + share * interval, np.zeros(len(part))
    apart = np.flatnonzero(best > APART)
    if len(apart):
        those = replace(
            problem, before=problem.before[apart], last=problem.last[apart], first=problem.first[apart]
        )
        least = best[apart] / GAINED
        for more in np.linspace(0, LOST, SAMPLES_OF_LOSS)[1:]:
            cost, which, at = _nearest(those, shared, noise, more)
            better = cost < least
            i = apart[better]
            least[better], part[i], lost[i] = cost[better], which[better], more * interval[i]
            tau[i] = problem.last[i] + at[better] * (1 + more) * interval[i]
    I = len(part)
    return Unknowns(problem.mean.copy(), tau, lost, shared, np.zeros(problem.drops), np.ones(I)), part


def _nearest(
    problem: Chain, shared: Vector, noise: Vector, more: float
) -> tuple[Vector, Int[np.ndarray, "I"], Vector]:
    """Least cost, its part, and tau as a share of the interval, `more` intervals being lost."""
    I, P, interval = len(problem.before), len(problem.outline.shape.parts), problem.first - problem.last
    best, part, share = np.full(I, np.inf), np.zeros(I, dtype=np.int64), np.zeros(I)
    scale = np.hypot(NEAR, AMPLE * np.append(noise, noise[1]))
    each = replace(
        problem,
        before=np.tile(problem.before, P),
        last=np.tile(problem.last, P),
        first=np.tile(problem.first, P),
    )
    of_part, still = np.repeat(np.arange(P), I), np.zeros(problem.drops)
    for x in np.linspace(0, 1, SAMPLES_OF_TAU):
        tau, lost = problem.last + x * (1 + more) * interval, more * interval
        at = Unknowns(problem.mean, np.tile(tau, P), np.tile(lost, P), shared, still, np.ones(P * I))
        cost = np.sum((collisions(each, at, of_part).r[:, :4] / scale) ** 2, axis=1).reshape(P, I)
        which = np.argmin(cost, axis=0)
        least = cost[which, np.arange(I)]
        better = least < best
        best[better], part[better], share[better] = least[better], which[better], x
    return best, part, share


def _brevity(problem: Chain, at: Unknowns, part: Int[np.ndarray, "I"]) -> Vector:
    hit = collisions(problem, at, part)
    return np.asarray((1 + (hit.GQ @ hit.tangent) ** 2 / at.shared[0]) ** -0.5)


def _verdicts(
    problem: Chain,
    parted: Segmented,
    at: Unknowns,
    part: Int[np.ndarray, "I"],
    tolerances: Tolerances,
    placed_well: bool = True,
) -> Verdicts:
    """`admitted`, or why not; the floor must be where it is thought to be for flights to end off it."""
    frames = np.array([len(f) for of in parted.flights for f in of])
    hit = collisions(problem, at, part)
    interval, J = problem.first + at.lost - problem.last, at.shared[0]
    verdicts = np.full(len(part), ADMITTED, dtype=object)
    u, x = hit.contact_velocity(hit.before)[:, 0], hit.GQ @ hit.tangent
    lagging = lags(at.shared, at.brevity, u)
    lag = lagging.acts * lagging.value
    double, lying, side = np.zeros((3, len(part)), dtype=bool)
    depth = np.maximum(lag, 0.0) * np.abs(u) + tolerances.gap
    for p in range(len(problem.outline.shape.parts)):
        other = collisions(problem, at, np.full(len(part), p))
        x_other, u_other = other.GQ @ other.tangent, other.contact_velocity(other.before)[:, 0]
        gap = other.r[:, 3] + lags(at.shared, at.brevity, u_other).value * u_other
        side |= (part != p) & (other.r[:, 3] - hit.r[:, 3] < TILT * np.abs(x_other - x))
        lying |= (part != p) & (gap < FLAT * depth)
        for restitution in (0.0, 1.0):
            blow = -(1 + restitution) * u / (1 + x * x / J)
            after = u_other + blow * (1 + x * x_other / J)
            double |= (part != p) & (gap + np.minimum(after, 0.0) * (interval + 2 * np.maximum(lag, 0.0)) < 0)
    pushed = hit.jump[:, :2] @ hit.normal / (problem.gravity * (problem.first - problem.last))
    verdicts[lying] = LYING
    verdicts[pushed < BLOW] = WEAK
    verdicts[(frames[problem.before] < FRAMES) | (frames[problem.before + 1] < FRAMES)] = SHORT
    verdicts[double] = DOUBLE
    verdicts[side] = SIDE
    verdicts[u >= 0] = PARTING
    verdicts[pushed < PUSH] = NOTHING
    if placed_well:
        verdicts[np.abs(hit.r[:, 3]) > ALOFT * np.hypot(tolerances.gap, tolerances.floor)] = OFF
    return verdicts


def residual_tolerances(
    problem: Chain,
    at: Unknowns,
    part: Int[np.ndarray, "I"],
    turning: Bool[np.ndarray, "I"],
    by: Tolerances,
    model: FlightModel,
) -> Float[np.ndarray, "I 5"]:
    """Standard deviations of the residuals of `collisions`; that of consistency is infinite where it is left out."""
    jump = collisions(problem, at, part).jump
    speed = np.hypot(jump[:, 0], jump[:, 1])
    return np.column_stack(
        [
            np.sqrt((by.instant * jump) ** 2 + (STILL * model.noise) ** 2),
            np.full(len(part), by.gap),
            np.where(turning, np.sqrt((by.lever * speed / at.shared[0]) ** 2 + by.spin**2), np.inf),
        ]
    )


def updated_tolerances(
    problem: Chain,
    at: Unknowns,
    system: Linear,
    by: Reduced,
    use: Bool[np.ndarray, "I"],
    old: Tolerances,
    spread: Float[np.ndarray, "I 5"],
    free: Bool[np.ndarray, "s"],
    prior: Vector,
) -> Tolerances:
    """Each by the mean square of its residuals over what is left of their number."""
    _, H = theta_step(by, at.shared, free, prior)
    covariance = inverse_of(H, free)
    jump = system.collision.jump
    excess = system.trust * system.z**2
    left = np.where(use[:, None], 1 - leverages(problem, system, by, covariance), 0.0)
    parts_of = {
        "instant": (slice(0, 3), (old.instant * jump / spread[:, :3]) ** 2),
        "gap": (slice(3, 4), np.ones((len(use), 1))),
        "lever": (
            slice(4, 5),
            (old.lever * np.hypot(jump[:, 0], jump[:, 1]) / at.shared[0] / spread[:, 4])[:, None] ** 2,
        ),
        "spin": (slice(4, 5), (old.spin / spread[:, 4])[:, None] ** 2),
    }
    new = {}
    for name, (columns, share) in parts_of.items():
        # what only tells the floor may have been no blow, and says nothing of how sharp those are
        of = use if name == "gap" else np.isfinite(spread[:, 4])
        above = np.sum((share * share * excess[:, columns])[of])
        below = np.sum((share * share * left[:, columns])[of])
        ratio = np.sqrt(above / below) if below > 1e-9 else 1.0
        new[name] = getattr(old, name) * float(np.clip(ratio, 0.5, 2.0))
    new["lever"] = max(new["lever"], LEAST_LEVER)
    struck = np.bincount(problem.drop[problem.before[use]], minlength=problem.drops) > 0
    new["floor"] = old.floor
    if struck.any() and free[HEIGHT]:
        # the posterior's second moment: expectation and maximization
        floor = np.sqrt(np.mean(at.heights[struck] ** 2 + by.height_variance[struck]))
        new["floor"] = float(np.clip(floor, 0.5 * old.floor, 2 * old.floor))
    new["rest"], new["uneven"] = old.rest, old.uneven
    if problem.resting is not None:
        new["rest"] = reweighed(
            problem.resting,
            at.shared,
            at.heights,
            problem.outline,
            problem.wall,
            problem.uneven,
            by.height_slope,
            by.height_variance,
            covariance,
        ).std
    if free[S:].any():
        z = at.shared[S:]
        seen = np.sum(1 - np.diag(covariance)[S:] * prior[S:])
        ratio = np.sqrt(z @ z / max(seen, 1e-9)) / old.uneven
        new["uneven"] = max(old.uneven * float(np.clip(ratio, 0.5, 2.0)), LEAST_UNEVENNESS)
    return Tolerances(**new)


def theta_step(
    by: Reduced,
    shared: Vector,
    free: Bool[np.ndarray, "s"],
    prior: Vector,
    counts: Vector | None = None,
    damping: float = 0.0,
) -> tuple[Vector, Matrix]:
    """A step of theta, 0 where it is held, and the normal matrix; `counts` weighs drops."""
    counts = np.ones(len(by.g_bar)) if counts is None else counts
    H = np.einsum("d,dij->ij", counts, by.S_bar) + np.diag(prior)
    g = counts @ by.g_bar + prior * shared
    scale = _scales(len(free))[free]
    A = H[np.ix_(free, free)] * np.outer(scale, scale)
    A[np.diag_indices(len(A))] *= 1 + damping
    step = np.zeros(len(free))
    step[free] = -scale * np.linalg.lstsq(A, g[free] * scale, rcond=1e-13)[0]
    return step, H


def descended(
    problem: Chain,
    at: Unknowns,
    part: Int[np.ndarray, "I"],
    spread: Float[np.ndarray, "I 5"],
    use: Bool[np.ndarray, "I"],
    free: Bool[np.ndarray, "s"],
    prior: Vector,
    floor: float,
    counts: Vector | None = None,
    enough: float = 1e-2,
    steps: int = 40,
) -> tuple[Unknowns, Linear]:
    """Levenberg and Marquardt's steps to the least of the robust cost, tolerances as given; `counts` weighs drops."""
    weigh = np.ones(problem.drops) if counts is None else counts

    def cost(of: Linear, there: Unknowns) -> float:
        return float(weigh @ (of.cost + (there.heights / floor) ** 2) + prior @ there.shared**2)

    system, damping = linear(problem, at, part, spread, use), 1e-4
    here = cost(system, at)
    for _ in range(steps):
        by = reduced(problem, at, system, floor, damping)
        step, _ = theta_step(by, at.shared, free, prior, counts, damping)
        new = _inside(problem, stepped(problem, at, by, step), at)
        ahead = linear(problem, new, part, spread, use)
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


def _inside(problem: Chain, new: Unknowns, old: Unknowns) -> Unknowns:
    """Instants near their frames; J/m above 0, changed by half at most; a radius from 0 to half the size."""
    slack = 0.5 * (problem.first - problem.last)
    shared = new.shared.copy()
    shared[POWER] = np.clip(shared[POWER], -0.95, 1.0)
    shared[0] = np.clip(shared[0], 0.5 * old.shared[0], 1.5 * old.shared[0])
    shared[1] = np.clip(shared[1], 0.0, 0.5 * problem.outline.shape.size)
    lost = np.where(old.lost > 0, np.clip(new.lost, 1e-9, 2 * LOST * slack), 0.0)
    tau = np.clip(new.tau, problem.last - slack, problem.first + lost + slack)
    return replace(new, tau=tau, lost=lost, shared=shared)


# ---------------------------------------------------------------------------------------------------------- the result


def _result(solved: tuple[Solved, bool, int], parted: Segmented) -> PooledFit:
    found, converged, rounds = solved
    problem, at, system, by = found.chain, found.at, found.system, found.by
    _, H = theta_step(by, at.shared, found.free, found.prior)
    covariance, gain = scatter(found)
    impacts = _impacts(found, H)
    used = np.array([impact.used for impact in impacts])
    turns = np.einsum("ijk,k->ij", rows_of_theta(problem, system, by), gain)[used]
    if not np.any(turns) or np.sqrt(covariance[0, 0]) > at.shared[0]:
        raise NotIdentifiable(
            f"the {int(used.sum())} impacts of these drops leave J/m open: none changes the spin enough; "
            "throw the body so that it lands on a corner, beside its center"
        )
    sliding = [impact.friction_ratio for impact in impacts if impact.used and impact.mode == SLIDES]
    others = [impact.friction_ratio for impact in impacts if impact.used and impact.mode != SLIDES]
    residual = np.concatenate(
        [
            flight(drop, frames, parted.model, problem.gravity).innovations
            for drop, of in zip(parted.drops, parted.flights, strict=True)
            for frames in of
            if len(frames) >= FRAMES
        ]
    )
    return PooledFit(
        at.shared[:S],
        covariance[:S, :S],
        SHARED,
        UNITS,
        tuple(name for name, is_free in zip(SHARED, found.free, strict=False) if not is_free),
        _unseen(H, found),
        found.tolerances,
        replace(parted.model, offset=at.shared[OF_FLIGHTS][:2], drag=at.shared[OF_FLIGHTS][2:]),
        impacts,
        _spread(sliding) if sliding else None,
        float(np.max(others)) if others else 0.0,
        _spread([impact.restitution for impact in impacts if impact.used]),
        float(np.mean(residual**2)),
        len({impact.drop for impact in impacts if impact.used}),
        converged,
        rounds,
        found,
    )


def scatter(found: Solved) -> tuple[Matrix, Vector]:
    """(S, S) covariance of theta by the scatter of what drops say (their gradients), and the row of J/m in H^-1.

    H^-1 (sum g_d g_d^T) H^-1 n / (n - 1), which a bootstrap over drops tends to: it needs no tolerance to be right, but
    it needs drops. With fewer than ten it is H^-1.
    """
    problem, by = found.chain, found.by
    _, H = theta_step(by, found.at.shared, found.free, found.prior)
    inverse = inverse_of(H, found.free)
    struck = np.unique(problem.drop[problem.before[found.use]])
    if problem.resting is not None:
        struck = np.union1d(struck, problem.resting.drop)
    if len(struck) < FEW:
        return inverse, inverse[0]
    g = by.g_bar[struck] - by.g_bar[struck].mean(axis=0)
    n = len(struck)
    return inverse @ (g.T @ g * (n / (n - 1))) @ inverse, inverse[0]


def _scales(size: int) -> Vector:
    return np.append(SCALES, np.full(size - S, SCALE_OF_MODES))


SCALE_OF_MODES = 1e-5
"""By which a step of what makes the wall uneven is measured."""
FEW = 10
SLIDES, STICKS = "slides", "sticks or turns"


def inverse_of(H: Matrix, free: Bool[np.ndarray, "s"]) -> Matrix:
    """(S, S), 0 where theta is held."""
    out, scale = np.zeros((len(free),) * 2), _scales(len(free))[free]
    at = np.ix_(free, free)
    out[at] = np.linalg.pinv(H[at] * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)
    return out


def _spread(values: Sequence[float]) -> Spread:
    low, middle, high = np.percentile(values, [25, 50, 75])
    return Spread(float(middle), float(low), float(high), len(values))


def _impacts(found: Solved, H: Matrix) -> tuple[PooledImpact, ...]:
    problem, at, system = found.chain, found.at, found.system
    hit: Collision = system.collision
    verdicts = found.verdicts.copy()
    verdicts[found.turning & (system.trust.min(axis=1) < DISAGREES)] = DISAGREEING
    before, after = hit.contact_velocity(hit.before), hit.contact_velocity(hit.after)
    normal, tangential = hit.jump[:, :2] @ hit.normal, hit.jump[:, :2] @ hit.tangent
    weight = np.sqrt(system.trust) * (rows_of_theta(problem, system, found.by) @ inverse_of(H, found.free)[0])
    information = np.sum(weight**2, axis=1)
    share = information / max(float(np.sum(information)), 1e-300)
    slides = (before[:, 1] * after[:, 1] > 0) & (tangential * before[:, 1] < 0)
    return tuple(
        PooledImpact(
            found.segmented.drops[problem.drop[problem.before[i]]].name,
            float(at.tau[i]),
            int(found.part[i]),
            str(verdicts[i]),
            float(normal[i]),
            float(tangential[i]),
            float(-after[i, 0] / before[i, 0]) if before[i, 0] else np.nan,
            float(abs(tangential[i] / normal[i])) if normal[i] else np.nan,
            SLIDES if slides[i] else STICKS,
            float(hit.jump[i, 2]),
            float(hit.r[i, 4]),
            float(at.lost[i]),
            float(system.chi2[i, [0, 3]].sum()),
            float(system.trust[i].min()),
            float(share[i]),
        )
        for i in range(len(normal))
    )


def _unseen(H: Matrix, found: Solved) -> tuple[str, ...]:
    """Directions, in units of their priors, of which the drops leave most to the priors."""
    free = found.free & (found.prior > 0) & (np.arange(len(found.free)) < S)
    std = 1 / np.sqrt(found.prior[free])
    variances, directions = np.linalg.eigh(inverse_of(H, found.free)[np.ix_(free, free)] / np.outer(std, std))
    names = [name for name, yes in zip(SHARED, free, strict=False) if yes]
    told = []
    for variance, direction in zip(variances, directions.T, strict=True):
        if variance > UNSEEN:
            large = [i for i in np.argsort(-np.abs(direction)) if abs(direction[i]) > 0.3]
            told.append(" and ".join(names[i] for i in large))
    return tuple(told)
