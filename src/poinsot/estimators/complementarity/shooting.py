"""One drop by simulation from event to event: how it began, J/m, mu and restitution (after seed 003, Sect. 5).

    minimize    sum_i |(q(t_i; q_0, v_0, J/m, mu, epsilon) - q_i) / sigma|^2

with q from `models.planar.events`, and of the mass m as well where a known force acts and m is not known. Where the
model holds, that is the maximum of likelihood, and its curvature says how sure it is; the sum is chi-square with
3 N - 9 degrees of freedom, which says whether the model holds. But a motion with impacts forgets little: an error at
the beginning grows from impact to impact, and the sum has many minima. So it begins where `program` ended, which has
none of that, and at many starts about it: each is fitted to a first part of the motion, the best of them to longer
parts, and the best of these to all.

Levenberg and Marquardt's steps; derivatives by differences, since a simulation takes some 0.2 ms and poses are smooth
between changes of the sequence of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numba import njit

from ...arrays import Matrix, Vector
from ...models.planar.contact import contacts_at
from ...models.planar.events import follow
from ...models.planar.shapes import Shape
from ...models.planar.stepping import GRAVITY, Body
from ...models.planar.walls import Wall, told

NAMES = ("x", "y", "theta", "v_x", "v_y", "omega", "log J/m", "mu", "epsilon", "log m")
"""Of theta; the last only where it is sought."""
INERTIA, FRICTION, RESTITUTION, MASS = 6, 7, 8, 9
DIFFERENCE = 1e-6
"""Of a parameter, in parts of its scale."""
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-9, 1e8
TOLERANCE, ROUGH = 1e-6, 1e-2
"""Of the sum: a step that lowers it by less, in parts of it, is the last; of a part of the motion."""
UNFELT = 1e-8
"""Part of the sum that a parameter's changing by its scale moves at least, as far as damping goes."""
MOST_FRICTION = 3.0
NEARLY, SAME = 20.0, 0.1
"""More in the sum, up to which a minimum is worth keeping; sum of squares between two that are one."""
ROUNDS, DRAWS = 3, 600
"""Of a search, and starts of each."""
PARTS, KEPT = (0.35, 0.5, 0.75), (30, 8, 4, 2)
"""Parts of the motion that starts are fitted to, one after the other, and how many go on: first the best of groups of
like restitution."""
NEAR = 0.1
"""Gap from which on a body is about to strike, in parts of its size: from then on parts are counted."""
SOON, LONGER = 14.0, 1.5
"""Of a motion that goes on for longer, in times sqrt(size / g), these are parts of so much; then each is so many times
the one before: what impacts make of an error leaves nothing to be fitted far from where it began."""
SPREAD = np.array([1e-3, 1e-3, 0.02, 0.05, 0.05, 1.0, 0.1, 0.15, 0.0, 0.1])
"""Of starts; of J/m, of mu and of m in parts of them."""
SCALE = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 10.0, 1.0, 1.0, 1.0, 1.0])
"""By which differences are taken; of places it is the body's size."""
MASSES = 1e4
"""Times the mass that the force would lift, up and down, in which m is sought."""
FAST = 30.0
"""Times that as far are first velocities, of some starts: few frames may be there before the first impact."""
MOST_RESTITUTION = 0.8
"""Of starts."""
ANYWHERE = np.array([[0.1, 0.05], [0.6, 1.2]])
"""J/m in squares of the size and mu, at least and at most, of every other start: the program may be wrong in both."""


class _Setting(NamedTuple):
    """What kernels want of a `Shooting`: as there."""

    parts: np.ndarray
    harmonics: np.ndarray
    walls: np.ndarray
    drag: np.ndarray
    pushes: np.ndarray
    mass: float
    times: np.ndarray
    poses: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True, eq=False)
class Shot:
    """What shooting found.

    Args:
        theta: (p,) see `NAMES`.
        chi_square: of the frames. expected: (frames, 3) poses.
        converged: whether no step lowers the sum any more. iterations: steps.
    """

    theta: Vector
    chi_square: float
    expected: Float[np.ndarray, "N 3"]
    converged: bool
    iterations: int


@dataclass(frozen=True, eq=False)
class Shooting:
    """One drop, and what it takes to simulate it.

    Args:
        times: (N,) [s]. poses: (N, 3) read. noise: (3,) standard deviations.
        shape, walls: what strikes what. drag: linear and angular [1/s].
        forces: (N - 1, 3) known, beside gravity, held from one frame to the next [N], [N], [N m].
        mass: [kg]; None: sought, if there are forces, else it acts in no way.
    """

    times: Vector
    poses: Float[np.ndarray, "N 3"]
    noise: Vector
    shape: Shape
    walls: Sequence[Wall]
    drag: tuple[float, float] = (0.0, 0.0)
    forces: Float[np.ndarray, "K 3"] | None = None
    mass: float | None = None

    def __post_init__(self) -> None:
        for name in ("times", "poses", "noise"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=float))

    @cached_property
    def geometry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parts, harmonics and walls, as kernels want them."""
        return self.shape.parts, self.shape.harmonics, told(self.walls)

    @cached_property
    def pushes(self) -> Float[np.ndarray, "K 3"]:
        """Known forces, or one of none."""
        return np.zeros((1, 3)) if self.forces is None else np.ascontiguousarray(self.forces, dtype=float)

    @property
    def parameters(self) -> int:
        """How many: 9, or 10 where the mass is sought."""
        return RESTITUTION + 1 + (self.forces is not None and self.mass is None)

    @cached_property
    def setting(self) -> _Setting:
        """All of it, as kernels want it."""
        return _Setting(
            *self.geometry,
            np.array(self.drag, dtype=float),
            self.pushes,
            1.0 if self.mass is None else float(self.mass),
            self.times,
            self.poses,
            self.noise,
        )

    def mass_of(self, theta: Vector) -> float | None:
        """[kg], known or sought; None where no force shows it."""
        return float(np.exp(theta[MASS])) if len(theta) > MASS else self.mass

    def body(self, theta: Vector) -> Body:
        """Of mass 1, as theta has it."""
        inertia = float(np.exp(theta[INERTIA]))
        return Body(self.shape, 1.0, inertia, float(theta[FRICTION]), float(theta[RESTITUTION]), self.drag)

    def forces_by_mass(self, theta: Vector) -> Float[np.ndarray, "K 3"] | None:
        """On a body of mass 1 [m/s^2], [m/s^2], [m^2/s^2]; None where there are none."""
        return None if self.forces is None else np.asarray(self.forces / self.mass_of(theta))

    def errors(self, theta: Vector, frames: int) -> Vector:
        """(3 frames,) weighted."""
        e = np.empty((frames, 3))
        _errors(self.setting, theta, e)
        return e.ravel()

    def sums(self, thetas: Float[np.ndarray, "S p"], frames: int | None = None) -> Float[np.ndarray, "S 2"]:
        """Sums of squares over the first frames, None: all, of x and y, and of the angle."""
        e, sums = np.empty((frames or len(self.times), 3)), np.empty((len(thetas), 2))
        _sums(self.setting, np.ascontiguousarray(thetas), e, sums)
        return sums

    def bounds(self) -> tuple[Vector, Vector]:
        """(p,) of theta: J/m is no more than the square of the size, since all of the mass is inside."""
        lower, upper = np.full(self.parameters, -np.inf), np.full(self.parameters, np.inf)
        lower[INERTIA], upper[INERTIA] = np.log(np.array([1e-3, 1.0]) * self.shape.size**2)
        lower[[FRICTION, RESTITUTION]], upper[[FRICTION, RESTITUTION]] = 0.0, (MOST_FRICTION, 1.0)
        if self.forces is not None and self.mass is None:
            lifted = np.log(mass_lifted(self.forces, self.shape))
            lower[MASS], upper[MASS] = lifted - np.log(MASSES), lifted + np.log(MASSES)
        return lower, upper

    def scale(self) -> Vector:
        """(p,) by which differences are taken."""
        return np.array([self.shape.size, self.shape.size, *SCALE[2 : self.parameters]])

    def slopes(self, theta: Vector, e: Vector, frames: int) -> Matrix:
        """(3 frames, p) derivatives of the errors."""
        J = np.empty((len(theta), frames, 3))
        _slopes(self.setting, theta, self.scale(), e.reshape(-1, 3), J)
        return J.reshape(len(theta), -1).T

    def fit(
        self,
        theta: Vector,
        frames: int | None = None,
        max_iterations: int = 30,
        held: int | None = None,
        tolerance: float = TOLERANCE,
    ) -> Shot:
        """The sum's minimum near theta (p,), over the first so many frames; None: all.

        Args:
            held: a parameter that stays.
            tolerance: of the sum; a step that lowers it by less, in parts of it, is the last.
        """
        frames = len(self.times) if frames is None else frames
        (lower, upper), scale = self.bounds(), self.scale()
        theta = np.clip(theta, lower, upper)
        e = self.errors(theta, frames)
        cost, alpha, steps, converged = float(e @ e), FIRST_DAMPING, 0, False
        while steps < max_iterations and not converged:
            J = self.slopes(theta, e, frames)
            H, g = J.T @ J, J.T @ e
            free = ~((theta <= lower) & (g > 0) | (theta >= upper) & (g < 0))
            if held is not None:
                free[held] = False
            damping = np.maximum(np.diag(H), UNFELT * (cost + 1) / scale**2)
            steps += 1
            while True:
                d = np.zeros(len(theta))
                d[free] = -np.linalg.solve((H + np.diag(alpha * damping))[np.ix_(free, free)], g[free])
                there = np.clip(theta + d, lower, upper)
                e_there = self.errors(there, frames)
                if e_there @ e_there < cost:
                    break
                alpha *= 4
                if alpha > MOST_DAMPING:
                    return self._shot(theta, e, frames, steps, True)
            lower_cost = float(e_there @ e_there)
            converged = cost - lower_cost < tolerance * (lower_cost + 1)
            theta, e, cost, alpha = there, e_there, lower_cost, max(alpha / 5, LEAST_DAMPING)
        return self._shot(theta, e, frames, steps, converged)

    def _shot(self, theta: Vector, e: Vector, frames: int, steps: int, converged: bool) -> Shot:
        return Shot(
            theta, float(e @ e), e.reshape(-1, 3) * self.noise + self.poses[:frames], converged, steps
        )

    def search(self, theta: Vector, good_enough: float, rng: np.random.Generator) -> list[Shot]:
        """From many starts about theta (p,): each is fitted to a first part of the motion, the best to longer ones.

        Args:
            good_enough: chi-square at which it ends after the first of its rounds.

        Returns:
            Distinct minima over all frames, the least first.
        """
        found = [self.fit(theta)]
        for k in range(ROUNDS):
            if k and found[0].chi_square <= good_enough:
                break
            chosen = self._begun(theta, rng)
            for stage, frames in enumerate(self._parts()):
                shots = sorted(
                    (self.fit(each, frames, 10, tolerance=ROUGH) for each in chosen),
                    key=lambda shot: shot.chi_square,
                )
                chosen = [shot.theta for shot in shots[: KEPT[min(stage + 1, len(KEPT) - 1)]]]
            found = self.distinct([*found, *(self.fit(each) for each in chosen)])
        return found

    @cached_property
    def strikes(self) -> int:
        """The first frame that is near a wall; 0 if none is."""
        gaps = np.array([contacts_at(pose, self.shape, self.walls)[0].min() for pose in self.poses])
        near = np.flatnonzero(gaps < NEAR * self.shape.size)
        return int(near[0]) if len(near) else 0

    @property
    def soon(self) -> int:
        """How many frames there are until some time after that."""
        end = self.times[self.strikes] + SOON * np.sqrt(self.shape.size / GRAVITY)
        return int(np.searchsorted(self.times, end))

    def _parts(self) -> list[int]:
        """How many frames each has."""
        N, first, soon = len(self.times), self.strikes, self.soon
        parts = [min(max(first + round(part * (soon - first)), first + 6), N) for part in PARTS]
        while round(LONGER * parts[-1]) < N:
            parts.append(round(LONGER * parts[-1]))
        return parts

    def _begun(self, theta: Vector, rng: np.random.Generator) -> list[Vector]:
        """Starts about theta that follow the first part of the motion best, of each of some restitutions."""
        away = SPREAD[: len(theta)] * rng.standard_normal((DRAWS, len(theta)))
        away[:, 3:6] *= np.exp(rng.uniform(0, np.log(FAST), (DRAWS, 1)))
        begun = theta + away
        begun[:, FRICTION] = theta[FRICTION] * np.exp(begun[:, FRICTION] - theta[FRICTION])
        begun[:, RESTITUTION] = np.linspace(0, MOST_RESTITUTION, DRAWS)
        least, most = np.log(ANYWHERE)
        anywhere = np.exp(rng.uniform(least, most, (DRAWS // 2, 2)))
        begun[1::2, INERTIA] = np.log(anywhere[:, 0] * self.shape.size**2)
        begun[1::2, FRICTION] = anywhere[:, 1]
        begun = np.clip(begun, *self.bounds())
        costs = self.sums(begun, self._parts()[0]).sum(axis=1)
        groups = np.array_split(np.arange(DRAWS), KEPT[0])
        return [begun[group[np.argmin(costs[group])]] for group in groups]

    def distinct(self, shots: Sequence[Shot]) -> list[Shot]:
        """One of each that ended at the same motion, the least sum first, if it is nearly as good as the best."""
        found: list[Shot] = []
        for shot in sorted(shots, key=lambda shot: shot.chi_square):
            apart = [np.sum(((shot.expected - other.expected) / self.noise) ** 2) for other in found]
            if not found or (shot.chi_square < found[0].chi_square + NEARLY and min(apart) > SAME):
                found.append(shot)
        return found


def mass_lifted(forces: Float[np.ndarray, "K 3"], shape: Shape) -> float:
    """The mass whose weight is as large as known forces are, moments taken at the body's size [kg]."""
    size = np.sqrt(np.mean(np.sum((forces / [1.0, 1.0, shape.size]) ** 2, axis=1)))
    return float(max(size, np.finfo(float).tiny) / GRAVITY)


@njit(cache=True)
def _errors(setting, theta, e):
    """Writes weighted errors (frames, 3)."""
    inertia = np.exp(theta[INERTIA])
    mass = np.exp(theta[MASS]) if len(theta) > MASS else setting.mass
    pushes = setting.pushes / mass
    pushes[:, 2] /= inertia
    v, log, which = np.empty((len(e), 3)), np.empty((1, 12)), np.empty(1, dtype=np.int64)
    kind = np.array([inertia, theta[FRICTION], setting.drag[0], setting.drag[1]])
    epsilon, times = theta[RESTITUTION : RESTITUTION + 1], setting.times[: len(e)]
    e[0], v[0] = theta[:3], theta[3:6]
    follow(setting.parts, setting.harmonics, setting.walls, kind, pushes, epsilon, times, e, v, log, which)
    for k in range(len(e)):
        for i in range(3):
            e[k, i] = (e[k, i] - setting.poses[k, i]) / setting.noise[i]


@njit(cache=True)
def _sums(setting, thetas, e, sums):
    """Writes sums of squares of errors over the rows of e (frames, 3), of x and y, and of the angle (S, 2)."""
    for s in range(len(thetas)):
        _errors(setting, thetas[s], e)
        sums[s] = 0.0
        for k in range(len(e)):
            sums[s, 0] += e[k, 0] ** 2 + e[k, 1] ** 2
            sums[s, 1] += e[k, 2] ** 2
        if not np.isfinite(sums[s, 0] + sums[s, 1]):
            sums[s] = np.inf


@njit(cache=True)
def _slopes(setting, theta, scale, e, J):
    """Writes their derivatives (p, frames, 3)."""
    for k in range(len(theta)):
        moved = theta.copy()
        moved[k] += DIFFERENCE * scale[k]
        if k == RESTITUTION and moved[k] > 1.0:
            moved[k] = theta[k] - DIFFERENCE * scale[k]
        _errors(setting, moved, J[k])
        for n in range(len(e)):
            for i in range(3):
                J[k, n, i] = (J[k, n, i] - e[n, i]) / (moved[k] - theta[k])
