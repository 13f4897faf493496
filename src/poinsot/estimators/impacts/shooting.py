"""Single shooting of one drop: initial state, J/m, friction and restitution by simulation from event to event.

    minimize    sum_i |(q(t_i; q_0, v_0, J/m, mu, epsilon) - q_i) / sigma|^2

with q from `models.planar.events`; the mass m is estimated as well where a known force acts and m is not given.
Height and slope of the floor, and the tracked point, are estimated with a normal prior: what each is beside the
declared one adds its square, in standard deviations. This is the problem of Gabiccini et al. (Sect. 5) with exact
instants of impact. Where the model holds the minimum is the maximum of the likelihood, its curvature gives the
covariance, and the sum is chi-square with 3 N - 9 degrees of freedom. The cost has many minima, since impacts amplify
errors of the initial state. So a search starts from the flight before the first impact and from many samples about
it: each is fitted to a first part of the motion, the best of them to longer parts, and the best of these to all
frames.

Steps are those of `solve.GaussNewton`; derivatives are forward differences, since a simulation of half a second takes
less than 1 ms and poses are smooth between changes of the sequence of events.

After ten impacts each component of theta moves poses by 1e6 standard deviations a unit, and combinations of them hardly
at all: slopes by components with errors of 1e-3 then show information on these that is not there. They give a root R of
(J^T J + P_0^-1)^-1; with S the differences for steps of `ALONG` R, a standard deviation each, J = S R^-1 / `ALONG`.

**Stationarity at a kink.** Where the sequence of events changes, the cost is continuous and has different slopes on the
two sides, and a minimum may lie there: its gradient does not vanish. Many small bounces make kinks that
are closer than a standard deviation, so that slopes promise decreases that no step finds. So a minimum is one on the
scale of the intervals: with the columns r_k of R, both signs, and h of `SHARES`, no step lowers chi-square,

    sum_k  max_h (chi^2(theta) - chi^2(theta +- h r_k))  <=  STATIONARY^2

The square root of the sum is the length of the `descent`; where the cost is smooth this is the length of the
Gauss-Newton step in standard deviations, since chi^2(theta + h r_k) = chi^2 - 2 g_k h + h^2 has the decrease g_k^2.

**The posterior** is a mixture of normal distributions about all minima that explain its frames about as well.
The sum of squares of a motion with impacts often has several minima that are nearly as deep as the deepest: another
sequence of impacts, or a contact that sticks in one and slides in the other. Laplace's approximation takes the
likelihood as normal about each. With chi_i^2 the sum there, J_i its Jacobian and P_0 a wide prior (`PRIOR_STD`), the
covariance and the share of a minimum are

    P_i = (J_i^T J_i + P_0^-1)^-1,      w_i = W_i / sum W,      W_i = exp(-chi_i^2 / 2) sqrt(det P_i)

The mixture has the covariance sum w_i (P_i + d_i d_i^T) about the deepest minimum, where d_i is the difference of a
minimum from it. Intervals are quantiles of the mixture. Further minima are found by fits that start from the best of
widened samples of the mixture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import optimize, special, stats

from ...arrays import Float, Indices, Matrix, Vector
from ...estimate import Status
from ...kernels import njit
from ...models.planar.body import GRAVITY, PlanarBody, Wall, World, floor_of, gaps_at, with_floor_moved
from ...models.planar.events import ImpactEvents, follow, moved
from ...models.planar.impulses import ONE_DIRECTION
from ...models.planar.shapes import Shape
from ...solve import GainRatio, GaussNewton, Stop, stop_requested
from ...solve.dense import DenseProblem

NAMES = ("x", "y", "theta", "v_x", "v_y", "omega", "log J/m", "mu", "epsilon", "log m")
"""Components of theta; the last only where the mass is estimated."""
INERTIA, FRICTION, RESTITUTION, MASS = 6, 7, 8, 9
GEOMETRY = ("floor_height", "floor_slope", "tracked_offset_x", "tracked_offset_y")
"""Components of theta after these, where they are estimated: floor against the declared one [m], [rad]; tracked point
from the center of mass, in the body's frame [m]."""
GEOMETRY_LIMIT, GEOMETRY_SPREAD = 10.0, 0.3
"""Of the geometry, in standard deviations of its prior: bound, and standard deviation of starting points."""
PRIOR_STD = np.array([1.0, 1.0, 1.0, 10.0, 10.0, 50.0, 1.0, 1.0, 0.5, 1.0])
"""Standard deviations of theta without any frame, P_0: wider than any throw. What the frames do not determine keeps
them."""
DIFFERENCE_SCALE = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 10.0, 1.0, 1.0, 1.0, 1.0])
"""Scale of each component of theta for finite differences; that of x and y is the body's size."""
DIFFERENCE, ALONG = 1e-8, 1e-2
"""Step of finite differences along components of theta, relative to `DIFFERENCE_SCALE`; and along columns of R."""
STATIONARY = 0.1
"""Largest length of the descent at a minimum: a tenth of a standard deviation, 1 % of what one costs in chi-square."""
KINKS, SHARES = 10, np.geomspace(10.0, 0.01, 13)
"""Largest number of continuations of a fit that ends above a minimum, and lengths h of trial steps."""
CURVATURE_FLOOR = 1e-8
"""Least curvature that damping assumes, in parts of the cost by squared scale: keeps unobservable components still."""
FINE = GaussNewton(30, 1e-6, 0.5e-6, damping=GainRatio(first=1e-6, least=1e-15), take_last=True)
"""The cost is half of chi-square; the absolute tolerance ends fits of noiseless frames. The least eigenvalue of J^T J,
scaled to a unit diagonal, is 1e-12 after ten impacts: more damping would hold what the frames show of its direction."""
ROUGH = GaussNewton(10, 1e-2, 0.5e-2, damping=GainRatio(first=1e-3, least=1e-9), take_last=True)
"""Settings of a fit to a part of the motion, which only ranks starting points."""
ROUNDS, SAMPLES = 3, 600
"""Number of rounds of a search, and of starting points of each round."""
PARTS, FIRST_PART = (0.35, 0.5, 0.75), 14.0
"""Parts of the motion up to a time after the first contact [sqrt(size / g)], which starting points are fitted to one
after the other. Errors grow from impact to impact: after some ten (14 units) a start far off has nothing to be fitted
to."""
KEPT, GROWTH = (30, 8, 4, 2), 1.5
"""How many starting points go on from each part to the next, the first number being that of groups of like restitution;
each later part has so many times the frames of the one before."""
SPREAD = np.array([1e-3, 1e-3, 0.02, 0.05, 0.05, 1.0, 0.1, 0.15, 0.0, 0.1])
"""Standard deviations of starting points, SI; of J/m, friction and mass relative."""
VELOCITY_FACTOR, MAX_RESTITUTION = 30.0, 0.8
"""Of starting points: how many times as far initial velocities of some are spread, as few frames may lie before the
first impact."""
INERTIA_RANGE, FRICTION_RANGE, MASS_FACTOR = (0.1, 0.6), (0.05, 1.2), 10.0
"""Of every other starting point: J/m in squares of the size, mu, and the largest factor on the mass."""
NEAR_CHI_SQUARE, SAME_CHI_SQUARE = 20.0, 0.1
"""Minima are kept that are at most so much above the deepest, exp(-10) of the likelihood; two motions that differ by
less than the second are one minimum."""
FAR = 10.0
"""Rough fits with so many times the chi-square of an explained motion have other impacts: more steps find no others."""
WORSE = 3.0
"""The same of laws of impact that are compared, by the chi-square of the best."""
MAX_FRICTION = 3.0
MAX_MASS_RATIO = 1e4
"""The mass is sought between the one that a known force would lift divided and multiplied by this."""


@dataclass(frozen=True, eq=False)
class ShootingFit:
    """A local minimum.

    Args:
        theta: (p,) see `NAMES`. chi_square: of the frames. predicted: (frames, 3) poses.
        status: `solved` at a stationary point, smooth or at a kink; `stalled`, `step_limit` otherwise.
        iterations: accepted steps. law: of impacts, as in `PlanarBody`.
    """

    theta: Vector
    chi_square: float
    predicted: Float[np.ndarray, "N 3"]
    status: Status
    iterations: int
    law: str


@dataclass(frozen=True, eq=False)
class Shooting:
    """Residuals of one drop against its simulation.

    Args:
        times: (N,) [s]. poses: (N, 3) measured. noise: (3,) standard deviations.
        shape, walls: outline of the body, and walls that it may strike. drag: linear and angular [1/s].
        forces: (N - 1, 3) known forces beside gravity, held from one frame to the next [N], [N], [N m].
        mass: [kg]; None: estimated if there are forces, else it acts in no way.
        law: of impacts, as in `PlanarBody`.
        geometry: (4,) values of `GEOMETRY` that are not estimated. geometry_std: (4,) of the prior about 0 of
            those that are; 0: not estimated.
    """

    times: Vector
    poses: Float[np.ndarray, "N 3"]
    noise: Vector
    shape: Shape
    walls: Sequence[Wall]
    drag: tuple[float, float] = (0.0, 0.0)
    forces: Float[np.ndarray, "K 3"] | None = None
    mass: float | None = None
    law: str = "complementarity"
    geometry: Vector = field(default_factory=lambda: np.zeros(len(GEOMETRY)))
    geometry_std: Vector = field(default_factory=lambda: np.zeros(len(GEOMETRY)))

    def __post_init__(self) -> None:
        for name in ("times", "poses", "noise", "geometry", "geometry_std"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=float))

    def under_law_of(self, fit: ShootingFit) -> Shooting:
        """The same frames, with the law of impact of a fit."""
        return self if fit.law == self.law else replace(self, law=fit.law)

    @property
    def mass_is_estimated(self) -> bool:
        return self.forces is not None and self.mass is None

    @property
    def own(self) -> int:
        """Components of theta before the geometry: 9, or 10 where the mass is estimated."""
        return MASS + self.mass_is_estimated

    @property
    def estimated_geometry(self) -> Indices:
        """Numbers of the components of `GEOMETRY` that are estimated."""
        return np.flatnonzero(self.geometry_std)

    def name_of(self, k: int) -> str:
        """The name of a component of theta."""
        return GEOMETRY[self.estimated_geometry[k - self.own]] if k >= self.own else NAMES[k]

    @property
    def of_geometry(self) -> slice:
        """Components of theta that are of the geometry."""
        return slice(self.own, self.own + len(self.estimated_geometry))

    @property
    def parameters(self) -> int:
        """Length of theta."""
        return self.of_geometry.stop

    @property
    def prior_std(self) -> Vector:
        """(p,) standard deviations of theta without any frame."""
        return np.append(PRIOR_STD[: self.own], self.geometry_std[self.estimated_geometry])

    @property
    def readings(self) -> Float[np.ndarray, "N 3"]:
        """Measured poses of all frames."""
        return self.poses

    @property
    def degrees(self) -> int:
        """Degrees of freedom of chi-square: the prior of the geometry has as many terms as components."""
        return self.readings.size - self.parameters + len(self.estimated_geometry)

    def each(self, theta: Vector) -> Iterator[tuple[Shooting, Vector]]:
        """Each drop with its own components of theta."""
        yield self, theta

    @cached_property
    def simulation(
        self,
    ) -> tuple[World, float, bool, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
        """Arguments of compiled functions: the body with mass and inertia 1, its mass and whether it is estimated,
        times, poses, noise, geometry, numbers of its estimated components, and number of the floor.
        """
        unit = PlanarBody(self.shape, 1.0, 1.0, 0.0, 0.0, self.drag, self.law)
        world = unit.world(self.walls, np.zeros((1, 3)) if self.forces is None else self.forces)
        mass = 1.0 if self.mass is None else float(self.mass)
        frames, moved = (self.times, self.poses, self.noise), (self.geometry, self.estimated_geometry)
        return world, mass, self.mass_is_estimated, *frames, *moved, floor_of(self.walls)

    def theta(
        self, state: Sequence[Vector], inertia: float, friction: float, restitution: float, mass: float | None
    ) -> Vector:
        """(p,) of a pose and a velocity, J/m, mu, epsilon, and the mass, None: 1 kg."""
        rest = np.log(inertia), friction, restitution, np.log(mass or 1.0)
        start = np.array([*state[0], *state[1], *rest])[: self.own]
        return np.append(start, np.zeros(len(self.estimated_geometry)))

    def geometry_of(self, theta: Vector) -> Vector:
        """(4,) `GEOMETRY`, given or estimated."""
        values = self.geometry.copy()
        values[self.estimated_geometry] = theta[self.of_geometry]
        return values

    def walls_of(self, theta: Vector) -> tuple[Wall, ...]:
        """The walls, with the floor where theta has it."""
        height, slope = self.geometry_of(theta)[:2]
        return with_floor_moved(self.walls, float(height), float(slope))

    def mass_of(self, theta: Vector) -> float | None:
        """[kg], given or estimated; None where no force acts."""
        return float(np.exp(theta[MASS])) if self.mass_is_estimated else self.mass

    def body(self, theta: Vector) -> PlanarBody:
        """The body of mass 1 with the values of theta."""
        inertia = float(np.exp(theta[INERTIA]))
        return PlanarBody(
            self.shape,
            1.0,
            inertia,
            float(theta[FRICTION]),
            float(theta[RESTITUTION]),
            self.drag,
            self.law,
        )

    def forces_by_mass(self, theta: Vector) -> Float[np.ndarray, "K 3"] | None:
        """Forces on the body of mass 1 [m/s^2], [m/s^2], [m^2/s^2]; None where there are none."""
        return None if self.forces is None else np.asarray(self.forces / self.mass_of(theta))

    def motion(
        self, theta: Vector, times: Vector
    ) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3"], ImpactEvents]:
        """Poses and velocities of the center of mass at rising times (T,), of which the first is the first frame's [s],
        and impacts.
        """
        # frames are times of it too: forces are constant from one to the next
        clock, forces = np.union1d(times, self.times), self.forces_by_mass(theta)
        if forces is not None:
            held = np.searchsorted(self.times, clock[:-1], side="right") - 1
            forces = forces[np.minimum(held, len(forces) - 1)]
        body, wanted = self.body(theta), np.searchsorted(clock, times)
        poses, velocities, impacts = moved(
            body, self.walls_of(theta), theta[:3], theta[3:6], clock, forces=forces
        )
        return poses[wanted], velocities[wanted], impacts

    def residuals(self, theta: Vector, frames: int | None = None) -> Vector:
        """(3 frames,) predicted minus measured poses of the first frames, None: all, in standard deviations."""
        e = np.empty((frames or len(self.times), 3))
        _residuals(self.simulation, theta, e)
        return e.ravel()

    def sums_of_squares(self, thetas: Float[np.ndarray, "S p"], frames: int | None = None) -> Vector:
        """(S,) chi-square of the first frames, None: all, and of the geometry; infinite where a simulation fails."""
        sums = np.array([np.sum(self.misfit(theta, frames) ** 2) for theta in thetas])
        return np.where(np.isfinite(sums), sums, np.inf)

    def misfit(self, theta: Vector, frames: int | None = None) -> Vector:
        """(3 frames + G,) residuals, and the geometry in standard deviations of its prior."""
        at = self.of_geometry
        return np.append(self.residuals(theta, frames), theta[at] / self.prior_std[at])

    def misfit_jacobian(self, J: Matrix) -> Matrix:
        """(3 frames + G, p) derivatives of the misfit, J (3 frames, p) being those of the residuals."""
        return np.concatenate([J, np.diag(1 / self.prior_std)[self.of_geometry]])

    def bounds(self) -> tuple[Vector, Vector]:
        """(p,) of theta: J/m is at most the square of the size, since all mass is inside."""
        lower, upper = np.full(self.parameters, -np.inf), np.full(self.parameters, np.inf)
        lower[INERTIA], upper[INERTIA] = np.log(np.array([1e-3, 1.0]) * self.shape.size**2)
        lower[[FRICTION, RESTITUTION]], upper[[FRICTION, RESTITUTION]] = 0.0, (MAX_FRICTION, 1.0)
        if self.mass_is_estimated:
            assert self.forces is not None
            lifted = np.log(lifted_mass(self.forces, self.shape))
            lower[MASS], upper[MASS] = lifted - np.log(MAX_MASS_RATIO), lifted + np.log(MAX_MASS_RATIO)
        at = self.of_geometry
        upper[at] = GEOMETRY_LIMIT * self.prior_std[at]
        lower[at] = -upper[at]
        return lower, upper

    def scale(self) -> Vector:
        """(p,) scale of finite differences."""
        size = self.shape.size
        geometry = np.array([size, 1.0, size, size])[self.estimated_geometry]
        return np.array([size, size, *DIFFERENCE_SCALE[2 : self.own], *geometry])

    def jacobian(self, theta: Vector, e: Vector) -> Matrix:
        """(3 frames, p) derivatives of the residuals e (3 frames,) at theta."""
        R, inverse = covariance_root(self._by_components(theta, e), self.prior_std)
        return np.asarray(self._differences(theta, e, ALONG * R) @ inverse / ALONG)

    def _by_components(self, theta: Vector, e: Vector) -> Matrix:
        """The same to some 1e-3 of each column, at half the time."""
        return self._differences(theta, e, np.diag(DIFFERENCE * self.scale())) / (DIFFERENCE * self.scale())

    def _differences(self, theta: Vector, e: Vector, steps: Matrix) -> Matrix:
        """(3 frames, p) changes of the residuals by each column of steps (p, p), which is taken back within bounds."""
        ahead, (lower, upper) = theta + steps.T, self.bounds()
        back = ((ahead < lower) | (ahead > upper)).any(axis=1)
        ahead[back] = np.clip(theta - steps.T[back], lower, upper)
        changes = np.stack([self.residuals(point, len(e) // 3) - e for point in ahead], axis=1)
        # where a simulation fails beside theta, there is no slope
        changes = np.where(np.isfinite(changes), changes, 0.0)
        return changes * np.where(back, -1.0, 1.0)

    def fit(
        self,
        theta: Vector,
        frames: int | None = None,
        method: GaussNewton | None = None,
        held: Sequence[int] | Indices = (),
    ) -> ShootingFit:
        """The minimum near theta (p,), over the first so many frames; None: all.

        Args:
            method: of the iteration; None: `FINE`.
            held: components that keep their values.
        """
        (lower, upper), fixed = self.bounds(), list(held)
        lower[fixed] = upper[fixed] = theta[fixed]
        weight = CURVATURE_FLOOR / self.scale() ** 2
        # a part only ranks starting points
        slopes, rows = (
            (self.jacobian if frames is None else self._by_components),
            3 * (frames or len(self.readings)),
        )
        problem = DenseProblem(
            lambda x: self.misfit(x, frames),
            lambda x, e: self.misfit_jacobian(slopes(x, e[:rows])),
            lower,
            upper,
            lambda _, cost: weight * (2 * cost + 1),
        )
        solution = (method or FINE).minimize(problem.at(theta))
        at, status, iterations = solution.at, solution.status, solution.iterations
        # where the iteration ends otherwise, this is a minimum only if no step on either side of kinks descends
        for trial in range(KINKS + 1) if method is None else ():
            if status not in (Status.stalled, Status.step_limit):
                break
            length, step = self.descent(at.x, frames, held)
            if length <= STATIONARY:
                status = Status.solved
            if length <= STATIONARY or trial == KINKS:
                break
            point, longer = problem.at(at.x + step), problem.at(np.clip(at.x + 2 * step, lower, upper))
            while longer.cost < point.cost:
                step, point = 2 * step, longer
                longer = problem.at(np.clip(at.x + 2 * step, lower, upper))
            solution = FINE.minimize(point)
            at, status, iterations = solution.at, solution.status, iterations + solution.iterations
        predicted = at.r[:rows].reshape(-1, 3) * self.noise + self.readings[:frames]
        return ShootingFit(at.x, 2 * at.cost, predicted, status, iterations, self.law)

    def descent(
        self, theta: Vector, frames: int | None = None, held: Sequence[int] | Indices = ()
    ) -> tuple[float, Vector]:
        """Length in standard deviations (see above), and the step (p,) that lowers chi-square most."""
        lower, upper = self.bounds()
        e = self.residuals(theta, frames)
        J, wide, r = self.jacobian(theta, e), self.prior_std, self.misfit(theta, frames)
        g = self.misfit_jacobian(J).T @ r
        # a component at its bound is free if the cost descends into the box
        free = ~((theta <= lower) & (g > 0) | (theta >= upper) & (g < 0))
        free[list(held)] = False
        total, best, descent = 0.0, 0.0, np.zeros(len(theta))
        # independent directions of one standard deviation
        for column in covariance_root(J[:, free], wide[free])[0].T:
            direction = np.zeros(len(theta))
            direction[free] = column
            points = np.clip(theta + np.outer([*SHARES, *-SHARES], direction), lower, upper)
            decreases = float(r @ r) - self.sums_of_squares(points, frames)
            k = int(np.argmax(decreases))
            total += max(float(decreases[k]), 0.0)
            if decreases[k] > best:
                best, descent = float(decreases[k]), points[k] - theta
        return float(np.sqrt(total)), descent

    def search(
        self, theta: Vector, good_enough: float, rng: np.random.Generator, stop: Stop | None = None
    ) -> list[ShootingFit]:
        """Distinct minima over all frames, the deepest first, from many starting points about theta (p,).

        Args:
            good_enough: chi-square at which it ends after the first of its rounds.
            stop: ends the search with what was found.
        """
        minima = self.fits([theta])
        for k in range(ROUNDS):
            if k and minima[0].chi_square <= good_enough:
                break
            chosen = self._starting_points(theta, rng)
            for stage, frames in enumerate(self._part_lengths()):
                if stop_requested(stop):
                    return minima
                ranked = sorted(
                    (self.fit(point, frames, ROUGH) for point in chosen), key=lambda fit: fit.chi_square
                )
                count = KEPT[min(stage + 1, len(KEPT) - 1)]
                chosen = [fit.theta for fit in ranked[:count]]
            minima = self.distinct([*minima, *self.fits(chosen)])
        return self.distinct([self.fit(minima[0].theta), *minima])

    def fits(self, thetas: Iterable[Vector], far: float | None = None) -> list[ShootingFit]:
        """Minima over all frames near each of thetas; rough ones where chi-square stays above `far`, None: `FAR` times
        its expectation.
        """
        rough, far = (self.rough(theta) for theta in thetas), FAR * self.degrees if far is None else far
        return [self.fit(fit.theta) if fit.chi_square < far else fit for fit in rough]

    def rough(self, theta: Vector) -> ShootingFit:
        """A few steps over all frames from theta (p,)."""
        return self.fit(theta, len(self.times), ROUGH)

    @cached_property
    def first_contact(self) -> int:
        """Index of the first frame within a tenth of the size from a wall; 0 if there is none."""
        gaps = gaps_at(self.poses, self.shape, self.walls).min(axis=1)
        near = np.flatnonzero(gaps < 0.1 * self.shape.size)
        return int(near[0]) if len(near) else 0

    @property
    def first_part(self) -> int:
        """Number of frames until `FIRST_PART` after the first contact."""
        end = self.times[self.first_contact] + FIRST_PART * np.sqrt(self.shape.size / GRAVITY)
        return int(np.searchsorted(self.times, end))

    def _part_lengths(self) -> list[int]:
        """Number of frames of each part that starting points are fitted to."""
        N, first, until = len(self.times), self.first_contact, self.first_part
        parts = [min(max(first + round(part * (until - first)), first + 6), N) for part in PARTS]
        while round(GROWTH * parts[-1]) < N:
            parts.append(round(GROWTH * parts[-1]))
        return parts

    def _starting_points(self, theta: Vector, rng: np.random.Generator) -> list[Vector]:
        """Of samples about theta, those that fit the first part best, one for each group of like restitution."""
        spread = np.append(SPREAD[: self.own], GEOMETRY_SPREAD * self.prior_std[self.of_geometry])
        offset = spread * rng.standard_normal((SAMPLES, len(theta)))
        # logarithmically, so that most stay close: few frames may lie before the first impact
        offset[:, 3:6] *= np.exp(rng.uniform(0, np.log(VELOCITY_FACTOR), (SAMPLES, 1)))
        points = theta + offset
        # restitution is not sampled but spread evenly, and the best point of each group of like restitution is taken:
        # with a wrong one, no other parameter brings the body to its second impact in time
        points[:, FRICTION] = theta[FRICTION] * np.exp(points[:, FRICTION] - theta[FRICTION])
        points[:, RESTITUTION] = np.linspace(0, MAX_RESTITUTION, SAMPLES)
        low, high = np.log([INERTIA_RANGE, FRICTION_RANGE]).T
        anywhere = np.exp(rng.uniform(low, high, (SAMPLES // 2, 2)))
        points[1::2, INERTIA] = np.log(anywhere[:, 0] * self.shape.size**2)
        points[1::2, FRICTION] = anywhere[:, 1]
        if self.mass_is_estimated:
            points[1::2, MASS] += rng.uniform(-1, 1, SAMPLES // 2) * np.log(MASS_FACTOR)
        points = np.clip(points, *self.bounds())
        costs = self.sums_of_squares(points, self._part_lengths()[0])
        groups = np.array_split(np.arange(SAMPLES), KEPT[0])
        return [points[group[np.argmin(costs[group])]] for group in groups]

    def distinct(self, fits: Sequence[ShootingFit]) -> list[ShootingFit]:
        """One fit per motion, the deepest first, of those nearly as deep as the deepest.

        Laws with one direction of friction for a whole impact may give the same motion as those that follow it, with
        another coefficient: the latter are then kept.
        """
        minima: list[ShootingFit] = []
        # motions are compared and not theta, in which unobservable components may differ
        for fit in sorted(fits, key=lambda fit: fit.chi_square):
            apart = [np.sum(((fit.predicted - other.predicted) / self.noise) ** 2) for other in minima]
            near = not minima or fit.chi_square < minima[0].chi_square + NEAR_CHI_SQUARE
            if near and (not minima or min(apart) > SAME_CHI_SQUARE):
                minima.append(fit)
            elif (
                near
                and fit.law not in ONE_DIRECTION
                and minima[k := int(np.argmin(apart))].law in ONE_DIRECTION
            ):
                minima[k] = fit
        return minima


def covariance_root(J: Matrix, wide: Vector = PRIOR_STD) -> tuple[Matrix, Matrix]:
    """R (p, p) with R R^T = (J^T J + P_0^-1)^-1, and its inverse; J (r, p), `wide` the root of P_0 in its first p."""
    p = J.shape[1]
    # singular values of J: eigenvalues of J^T J would lose half of the digits
    _, s, V = np.linalg.svd(np.concatenate([J * wide[:p], np.eye(p)]), full_matrices=False)
    return wide[:p, None] * V.T / s, s[:, None] * V / wide[:p]


def lifted_mass(forces: Float[np.ndarray, "K 3"], shape: Shape) -> float:
    """The mass whose weight equals the known forces, and moments divided by the body's size [kg]."""
    size = np.sqrt(np.mean(np.sum((forces / [1.0, 1.0, shape.size]) ** 2, axis=1)))
    return float(max(size, np.finfo(float).tiny) / GRAVITY)


@njit(cache=True)
def _residuals(simulation, theta, e):
    """Write residuals (frames, 3) in standard deviations."""
    inertia = np.exp(theta[INERTIA])
    unit, given, estimated, times, poses, noise, declared, open_ones, facing = simulation
    mass = np.exp(theta[MASS]) if estimated else given
    geometry, own = declared.copy(), len(theta) - len(open_ones)
    for k in range(len(open_ones)):
        geometry[open_ones[k]] = theta[own + k]
    walls = unit.walls.copy()
    walls[facing, 1] += geometry[0]
    walls[facing, 2] += geometry[1]
    accelerations = unit.pushes / mass
    accelerations[:, 2] /= inertia
    v, log, which = np.empty((len(e), 3)), np.empty((1, 12)), np.empty(1, dtype=np.int64)
    e[0], v[0] = theta[:3], theta[3:6]
    world = World(
        unit.parts,
        unit.harmonics,
        walls,
        np.array([1.0, 1.0, 1.0 / inertia]),
        unit.drag,
        theta[FRICTION],
        theta[RESTITUTION],
        accelerations,
        unit.law,
    )
    follow(world, times[: len(e)], e, v, log, which)
    for i in range(len(e)):
        c, s = np.cos(e[i, 2]), np.sin(e[i, 2])
        e[i, 0] += c * geometry[2] - s * geometry[3]
        e[i, 1] += s * geometry[2] + c * geometry[3]
    e[:] = (e - poses[: len(e)]) / noise


LEAST_SHARE = 0.01
"""Minima with a smaller share are excluded from the mixture."""
WIDENING = 2.5
"""Factor on the standard deviations of the samples."""
MIXTURE_SAMPLES, MIXTURE_FITS = 200, 4
"""Number of samples in a round, and number of the best of them that start a fit."""
MIXTURE_ROUNDS, MIXTURE_GAIN = 4, 0.3
"""Largest number of rounds; another one follows only if the least chi-square decreased by at least this."""


def further_minima(
    shooting: Shooting, fits: Sequence[ShootingFit], rng: np.random.Generator, stop: Stop | None = None
) -> list[ShootingFit]:
    """The given minima and those found from samples about them, the deepest first."""
    found = shooting.distinct(fits)
    for _ in range(MIXTURE_ROUNDS):
        if stop_requested(stop):
            return found
        least, law = found[0].chi_square, shooting.under_law_of(found[0])
        mixture = MixturePosterior.of(shooting, found)
        points = np.clip(mixture.samples(MIXTURE_SAMPLES, WIDENING, rng), *shooting.bounds())
        chosen = points[np.argsort(law.sums_of_squares(points))[:MIXTURE_FITS]]
        found = shooting.distinct([*found, *law.fits(chosen)])
        if found[0].chi_square > least - MIXTURE_GAIN:
            break
    # far from the frames, the deepest may be a rough one
    return shooting.distinct([shooting.under_law_of(found[0]).fit(found[0].theta), *found])


@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """A mixture of normal distributions of theta, the deepest minimum's first.

    Args:
        means: (M, p). covariances: (M, p, p). shares: (M,), their sum is 1.
    """

    means: Float[np.ndarray, "M p"]
    covariances: Float[np.ndarray, "M p p"]
    shares: Vector

    @classmethod
    def of(cls, shooting: Shooting, fits: Sequence[ShootingFit]) -> MixturePosterior:
        """About distinct minima, of those with a share of at least `LEAST_SHARE`."""
        fits = sorted(fits, key=lambda fit: fit.chi_square)
        found = [_laplace(shooting.under_law_of(fit), fit) for fit in fits]
        shares = special.softmax([log for _, log in found])
        kept = [k for k, share in enumerate(shares) if share >= LEAST_SHARE or k == 0]
        return cls(
            np.array([fits[k].theta for k in kept]),
            np.array([found[k][0] for k in kept]),
            shares[kept] / shares[kept].sum(),
        )

    @property
    def covariance(self) -> Matrix:
        """(p, p) covariance about the first mean."""
        d = self.means - self.means[0]
        return np.asarray(np.tensordot(self.shares, self.covariances + d[:, :, None] * d[:, None, :], 1))

    def interval(self, k: int, level: float = 0.95) -> tuple[float, float]:
        """Of theta_k, with equal probability below and above."""
        means, stds = self.means[:, k], np.sqrt(self.covariances[:, k, k])
        # nine standard deviations: the quantile is inside for any level above 1e-18
        ends = float((means - 9 * stds).min()), float((means + 9 * stds).max())
        low, high = (
            float(optimize.brentq(lambda x, p=p: self.shares @ stats.norm.cdf(x, means, stds) - p, *ends))
            for p in (0.5 - 0.5 * level, 0.5 + 0.5 * level)
        )
        return low, high

    def samples(self, count: int, widening: float, rng: np.random.Generator) -> Float[np.ndarray, "S p"]:
        """(count, p) samples, with standard deviations multiplied by `widening`."""
        which = rng.choice(len(self.shares), count, p=self.shares)
        # by eigenvalues: rounding may make the least of a covariance negative
        values, directions = np.linalg.eigh(self.covariances)
        roots = directions * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        z = widening * rng.standard_normal((count, self.means.shape[1]))
        return np.asarray(self.means[which] + np.einsum("sij,sj->si", roots[which], z))


def _laplace(shooting: Shooting, fit: ShootingFit) -> tuple[Matrix, float]:
    """Covariance about a minimum, and log W."""
    J = shooting.jacobian(fit.theta, shooting.residuals(fit.theta))
    root, inverse = covariance_root(J, shooting.prior_std)
    return root @ root.T, -0.5 * fit.chi_square - float(np.linalg.slogdet(inverse)[1])
