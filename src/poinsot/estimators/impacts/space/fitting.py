"""The fit of tosses: division into flights, which impacts count, tolerances, and the law of restitution.

An impact counts if it is at one corner: the next corner is higher by more than the places are known, and gap and lever
fit as well as they do in most impacts. Two corners that strike between two frames look like one impact that fits
neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ....arrays import Matrix, Vector
from ....diagnosis.tosses import Surveyed
from ....exceptions import NotIdentifiable
from ....models.gravity import STANDARD_GRAVITY
from ....models.spatial.impacts import LAWS, plane_axes
from ....solve import ProgressCallback, Stop, report, stop_requested
from ....statistics import student_factor
from .flights import TossFlight, tracker_noise
from .kernels import (
    FRICTION,
    GRAVITY_RATIO,
    HEIGHT,
    IN_IMPACTS,
    RADIUS,
    RESTITUTION,
    SHIFT,
    TILT_X,
    S,
    plane_normal,
)
from .pool import (
    GROUPS,
    OF_ROWS,
    ContactScene,
    Pool,
    Strike,
    TossEquations,
    TossState,
    first_states,
    minimized,
    state_at,
)
from .problem import TossesProblem

EXACT = 1e-6
"""Standard deviation of what the laboratory knows exactly."""
SHAPE_STD = 0.5
"""Of the chart of the inertia about a body of uniform density."""
START = np.array([5e-4, 5e-3, 1e-3, 1e-3, 0.1, 0.1, 0.03])
"""First tolerances of impacts: places [m], rotations [rad], gap [m], lever [m], law; and of friction from slide to
slide."""
LEAST = np.array([1e-6, 1e-5, 1e-5, 1e-4, 1e-5, 1e-5, 3e-4, 3e-4, 1e-4])
"""Below these, tolerances are those of the integration."""
UNLIKE = 6.0
"""An impact does not count if gap or lever is off by so many times the median of those that count."""
MOST_RATIO = 0.8
"""Largest ratio of two changes of a tolerance with which they are extrapolated: to five times the last one."""
SCREENINGS, ROUNDS, SETTLED = 5, 40, 0.03
"""Rounds after which the impacts that count stay the same, their largest number, and the relative change of tolerances
at which they end."""
DECIDED = 10
"""Rounds after which the variance of the difference between both frictions stays: near 0 it would come and go."""
LAW = slice(10, 13)
"""TossRows of an impact that follow from the law."""
SEVERAL, UNEXPLAINED = "several corners", "not one corner"


@dataclass(frozen=True, eq=False)
class TossLawFit:
    """The fit with one law of restitution."""

    pool: Pool
    theta: Vector
    states: list[TossState]
    linear: TossEquations
    log_likelihood: float
    settled: bool


@dataclass(frozen=True, eq=False)
class TossesFit:
    """The fits with each law, and the one that counts."""

    problem: TossesProblem
    laws: dict[str, TossLawFit]
    law: str
    rounds: int

    @property
    def best(self) -> TossLawFit:
        return self.laws[self.law]

    @property
    def theta(self) -> Vector:
        return self.best.theta

    @property
    def geometry(self) -> ContactScene:
        return self.best.pool.geometry

    @cached_property
    def counted(self) -> list[tuple[TossState, Strike]]:
        """Impacts that count, with their tosses."""
        return [(state, impact) for state in self.best.states for impact in state.impacts if not impact.why]

    @cached_property
    def covariance(self) -> Matrix:
        """(S, S) of theta: of the posterior, widened by the scatter between tosses where that is larger."""
        fit = self.best
        C = np.linalg.inv(fit.linear.H.sum(axis=0) + fit.pool.prior_rows(fit.theta)[0])
        g = fit.linear.b
        D = len(g)
        if D < 2:
            return np.asarray(C)
        between = C @ (g.T @ g) @ C * D / (D - 1) * student_factor(D) ** 2
        wider = np.sqrt(np.maximum(np.diag(between) / np.diag(C), 1.0))
        return np.asarray(C * np.outer(wider, wider))

    def without(self, toss: int) -> Vector:
        """theta without one toss, by one step."""
        fit = self.best
        H = fit.linear.H.sum(axis=0) - fit.linear.H[toss] + fit.pool.prior_rows(fit.theta)[0]
        return np.asarray(fit.theta + np.linalg.solve(H, fit.linear.b[toss]))

    def jumps(self) -> list[tuple[float, Vector, Vector, Vector]]:
        """Of impacts that count: time, jump of the velocity (3,) along the normal and the plane from the flights on
        both sides, and those predicted from the flight before by theta, and by theta of the other tosses [m/s].
        """
        fit = self.best
        # states that know nothing of inertia and laws: with them, they would explain their own jumps
        std = np.where(np.isin(np.arange(len(GROUPS)), (5, 6, 7)), 1e6, fit.pool.std)
        held = (fit.theta, np.full(S, 1e-12))
        free = replace(fit.pool, std=std, prior=held)
        _, states, *_ = minimized(free, fit.theta, fit.states, 4)
        rows = []
        for d, state in enumerate(states):
            others = self.without(d)
            for impact in state.impacts:
                if impact.why:
                    continue
                own, of_others = (free.residuals(theta, state, impact) for theta in (fit.theta, others))
                a, b = (
                    state_at(f, impact.t, self.geometry, fit.theta)[1]
                    for f in state.flights[impact.before :][:2]
                )
                jump = plane_axes(self.normal, self.geometry.plane[2]) @ (b - a)
                rows.append((impact.t, jump, jump - own[LAW], jump - of_others[LAW]))
        return rows

    @property
    def differs(self) -> bool:
        """Whether the friction of impacts is another than that of slides."""
        return bool(self.best.pool.prior[1][IN_IMPACTS] > EXACT)

    @property
    def normal(self) -> Vector:
        """(3,) of the plane, as estimated."""
        tilt = self.theta[TILT_X : TILT_X + 2]
        return np.asarray(plane_normal(self.geometry.plane[1], self.geometry.plane[2:], tilt))

    def lever(self, corner: int, R: np.ndarray) -> Vector:
        """From the center of mass to the point of a corner that touches, in the world's axes (3,) [m]."""
        theta, geometry = self.theta, self.geometry
        place = geometry.corners[corner] + theta[SHIFT : SHIFT + 3] - theta[RADIUS] * geometry.inwards[corner]
        return np.asarray(R @ place - theta[RADIUS] * self.normal)


def inertia_chart(J: Matrix) -> Vector:
    """(6,) of `kernels.inertia_of`: J/m of a body is tr(S) 1 - S with S = L L^T positive definite."""
    L = np.linalg.cholesky(0.5 * np.trace(J) * np.eye(3) - J)
    return np.array([*np.log(np.diag(L)), L[1, 0], L[2, 0], L[2, 1]])


def fitted(
    problem: TossesProblem,
    restitution: str,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> TossesFit:
    """The minimum of the problem with one law of `LAWS`, or with each ("auto").

    Raises:
        NotIdentifiable: if there is no impact between two flights, or none that counts.
    """
    start, prior, geometry = _start(problem)
    noise = tracker_noise(problem.tosses)
    report(progress, f"{len(problem.tosses)} tosses: flights")
    found = first_states(problem.tosses, geometry, start, noise, problem.shape.size)
    states = [state for state in found if state.impacts or state.slides]
    if not any(state.impacts for state in states):
        raise NotIdentifiable(
            "these tosses have no impact between two flights: film until after the body has bounced, at a rate with at "
            "least four frames between bounces"
        )
    wanted = LAWS if restitution == "auto" else (restitution,)
    laws: dict[str, TossLawFit] = {}
    rounds, std = 0, np.concatenate([noise, START])
    theta = start
    for law in wanted:
        pool = Pool(geometry, std, LAWS.index(law), prior)
        fit, more = _settled(pool, theta, states, not laws, progress, stop)
        laws[law], rounds = fit, rounds + more
        # the other laws begin where the first one ended
        std, prior, theta, states = fit.pool.std, fit.pool.prior, fit.theta, fit.states
        if stop_requested(stop):
            break
    best = max(laws, key=lambda law: laws[law].log_likelihood)
    return TossesFit(problem, laws, best, rounds)


def surveyed(problem: TossesProblem) -> Surveyed:
    """Standard deviations of what the laboratory says of the scene."""
    accuracy = problem.accuracy
    # acceleration changes with lengths, and with the square of the clock
    gravity = np.hypot(accuracy.length_percent, 2 * accuracy.clock_percent) / 100
    tilt = np.radians(accuracy.floor_deg)
    known = (gravity, 1e-3 * accuracy.floor_mm, tilt, 1e-3 * accuracy.tracked_point_mm)
    return Surveyed(*(EXACT if accuracy.exact else max(float(std), EXACT) for std in known))


def scene_of(problem: TossesProblem) -> ContactScene:
    """The corners and the plane as they are declared."""
    shape, normal = problem.shape, np.asarray(problem.plane.normal, dtype=float)
    n = normal / np.linalg.norm(normal)
    along = plane_axes(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    plane = np.array([np.asarray(problem.plane.point, dtype=float), *along])
    return ContactScene(shape.points, shape.inwards, plane, np.array(STANDARD_GRAVITY))


def _start(problem: TossesProblem) -> tuple[Vector, tuple[Vector, Vector], ContactScene]:
    """First theta, its prior (mean and std), and the geometry."""
    shape = problem.shape
    theta = np.zeros(S)
    theta[:6] = inertia_chart(shape.uniform_inertia)
    theta[GRAVITY_RATIO], theta[RADIUS], theta[FRICTION], theta[RESTITUTION] = (
        1.0,
        shape.corner_radius,
        0.3,
        0.5,
    )
    known = surveyed(problem)
    std = np.full(S, known.point)
    std[:3], std[3:6] = SHAPE_STD, SHAPE_STD * float(np.exp(theta[0]))
    std[[GRAVITY_RATIO, FRICTION, RESTITUTION, IN_IMPACTS]] = known.gravity, 1.0, 1.0, EXACT
    std[HEIGHT], std[TILT_X : TILT_X + 2] = known.height, known.tilt
    return theta, (theta.copy(), std), scene_of(problem)


def _settled(
    pool: Pool,
    theta: Vector,
    states: list[TossState],
    screen: bool,
    progress: ProgressCallback | None,
    stop: Stop | None,
) -> tuple[TossLawFit, int]:
    """Rounds of screening, minimization and new tolerances.

    A tolerance that goes to 0 does so by the same factor in each round: changes in the same direction as those before
    are extrapolated as a geometric series (Aitken 1926).
    """
    name, settled, linear, k = LAWS[pool.law], False, None, 0
    before = np.zeros(len(pool.std))
    for k in range(1, ROUNDS + 1):
        if screen and k <= SCREENINGS:
            _screen(pool, theta, states, first=k == 1)
        theta, states, linear, _ = minimized(pool, theta, states, most=12, enough=0.05)
        squares, rows, trace = linear.sums.T
        std = np.maximum(pool.std * np.sqrt(squares / np.maximum(rows - trace, 1.0)), LEAST)
        prior = _with_difference(pool, theta, linear) if k <= DECIDED else pool.prior
        changes = np.log(
            np.append(std, prior[1][IN_IMPACTS]) / np.append(pool.std, pool.prior[1][IN_IMPACTS])
        )
        change = float(np.abs(changes).max())
        report(
            progress, f"tolerances, restitution by {name}", iteration=k, detail=f"change {100 * change:.2g} %"
        )
        settled = change < SETTLED and (not screen or k > SCREENINGS)
        if settled or stop_requested(stop):
            break
        own = changes[:-1]
        ratio = np.divide(own, before, out=np.zeros_like(own), where=before != 0)
        further = own / (1 - np.clip(ratio, 0.0, MOST_RATIO))
        pool = replace(pool, std=np.maximum(pool.std * np.exp(further), LEAST), prior=prior)
        before = own
    assert linear is not None
    likelihood = -linear.cost - pool.prior_rows(theta)[2]
    return TossLawFit(pool, theta, states, linear, likelihood, settled), k


def _with_difference(pool: Pool, theta: Vector, linear: TossEquations) -> tuple[Vector, Vector]:
    """The prior under which the friction of impacts may differ from that of slides by as much as the data say.

    Where both determine it, d is their difference without a prior, and s its standard deviation, the likeliest variance
    of the prior is d^2 - s^2, or 0.
    """
    mean, std = pool.prior
    h, k = np.diag(pool.prior_rows(theta)[0]).copy(), IN_IMPACTS
    held, h[k] = h[k], 0.0
    C = np.linalg.inv(linear.H.sum(axis=0) + np.diag(h) + 1e-12 * np.eye(S))
    # the gradient of the data balances that of the prior at the minimum
    d = theta[k] + C[k, k] * held * theta[k]
    std = std.copy()
    std[k] = max(np.sqrt(max(d**2 - C[k, k], 0.0)), EXACT)
    return mean, std


def _screen(pool: Pool, theta: Vector, states: Sequence[TossState], first: bool) -> None:
    """Mark the impacts that do not count."""
    impacts = [(state, impact) for state in states for impact in state.impacts]
    z = pool.errors(theta, states)
    gap, lever = (np.sqrt(np.mean(z[:, group == OF_ROWS] ** 2, axis=1)) for group in (4, 5))
    places = 4 * np.hypot(pool.std[4], pool.std[0])
    several = np.array([_second(pool, theta, state, impact) < places for state, impact in impacts])
    alone = ~several
    if not alone.any():
        raise NotIdentifiable("no impact is at one corner: toss the body so that it lands on its corners")
    usual = [1.0, 1.0] if first else [max(float(np.median(x[alone])), 1e-9) for x in (gap, lever)]
    limit = 5 * UNLIKE if first else UNLIKE
    fits = (gap < limit * usual[0]) & (lever < limit * usual[1])
    for (_, impact), one, good in zip(impacts, alone, fits, strict=True):
        impact.why = SEVERAL if not one else "" if good else UNEXPLAINED
    if not (alone & fits).any():
        raise NotIdentifiable(
            "no impact agrees with the corners and the plane that are declared: look at [body], [[walls]], the unit of "
            "the positions and the order of the quaternions"
        )


def _second(pool: Pool, theta: Vector, state: TossState, impact: Strike) -> float:
    """Height of the second lowest corner above the lowest when it strikes [m]; the corner is brought up to date."""
    flight: TossFlight = state.flights[impact.before]
    p, _, R, _ = state_at(flight, impact.t, pool.geometry, theta)
    order, gaps = pool.geometry.lowest(theta, p, R)
    impact.corner = int(order[0])
    return float(gaps[order[1]] - gaps[order[0]])
