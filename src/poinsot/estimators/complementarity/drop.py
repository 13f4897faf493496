"""One drop, from poses alone: the program to start, shooting to finish, tests that say when to distrust it.

The program (`program`) has few minima and needs no restitution, but its impulses sit at a few nodes; shooting
(`shooting`) is exact and as sure as the data allow, but has many minima. So the program's answer begins a search of
shooting from many starts, and the best of all is taken.

**Noise** is the tracker's. In flight poses are parabolas of time, so third differences of frames are noise alone, of 20
sigma^2; a low quantile of them is little moved by those over impacts. That begins it; what the best motion leaves ends
it, unless noise is given.

**Distrust.** With noise given, the sum of squares is chi-square with 3 N - 9 degrees of freedom. Without, the misfit
must look like noise: successive differences of what is left have twice its variance if it is white (von Neumann's
ratio), less where a wrong sequence of impacts leaves a pattern.

**What is seen** (Sects. 5.2, 5.3). The mass is not: J/m, mu, restitution, and impulses by mass are. Each impact says

    J/m = cross(GQ, dv) / d omega                                                                       (31)

Where every impact sticks, mu is hidden: no number is given but the least mu with which the motion is still explained
(3.84 more in the sum).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy import stats

from ...arrays import Matrix, Vector
from ...estimate import NORMAL_95
from ...exceptions import InvalidMethod, InvalidSignals, NotIdentifiable
from ...models.planar.events import Impacts, moved
from ...models.planar.shapes import Shape
from ...models.planar.stepping import Body
from ...models.planar.walls import Wall
from .program import ComplementarityProgram, ProgramFit
from .shooting import FRICTION, INERTIA, RESTITUTION, Shooting, Shot

FEWEST = 8
"""Frames of a drop."""
QUANTILE = 0.3
"""Of third differences."""
NODE = 5e-3
"""Longest step of the program, about [s]."""
BEGINNINGS = ((0.25, 0.4, 0), (0.1, 0.8, 1), (0.4, 0.15, 0))
"""Of the program: J/m in squares of the size, mu, and steps more."""
EXPLAINED = 2.0
"""Sum of squares by numbers read, at most, for a program to have explained them."""
REASSESSED = 1.5
"""Change of the noise that another search follows."""
REFITS = 3
DISTRUST = 1e-3
"""Probability below which a test says so."""
NARROW = 0.5
"""Standard deviation of mu, at most, for it to be seen."""
BOUND = 3.84
"""More in the sum of squares, at the bound of what is not seen."""
BISECTIONS = 6
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class DropFit:
    """What one drop says.

    Args:
        name: of the drop.
        theta: (9,) see `shooting.NAMES`. covariance: (9, 9); infinite where nothing is seen.
        noise: (3,) standard deviations of the tracker [m], [m], [rad]; whether they were given.
        chi_square: of what is left, with that noise, and its degrees of freedom.
        distrust: why not to believe it, in words; empty if there is nothing.
        times: (N,) [s]. poses: (N, 3) read. expected, velocities: (N, 3).
        impacts: in their order, impulses by mass [m/s].
        friction_bound: mu is at least that, where it is not seen; None where it is.
        program: what the program found before.
        body: of mass 1, as it was found. walls: what it struck.
    """

    name: str
    theta: Vector
    covariance: Matrix
    noise: Vector
    noise_given: bool
    chi_square: float
    degrees: int
    distrust: tuple[str, ...]
    times: Vector
    poses: Float[np.ndarray, "N 3"]
    expected: Float[np.ndarray, "N 3"]
    velocities: Float[np.ndarray, "N 3"]
    impacts: Impacts
    friction_bound: float | None
    program: ProgramFit
    body: Body
    walls: tuple[Wall, ...]

    @property
    def inertia_to_mass(self) -> float:
        """[m^2]"""
        return float(np.exp(self.theta[INERTIA]))

    @property
    def inertia_std(self) -> float:
        """Of J/m [m^2]."""
        return self.inertia_to_mass * float(np.sqrt(self.covariance[INERTIA, INERTIA]))

    @property
    def inertia_interval(self) -> tuple[float, float]:
        """95 %, even in log J/m [m^2]."""
        half = np.exp(NORMAL_95 * np.sqrt(self.covariance[INERTIA, INERTIA]))
        return self.inertia_to_mass / float(half), self.inertia_to_mass * float(half)

    @property
    def friction(self) -> float:
        return float(self.theta[FRICTION])

    @property
    def friction_std(self) -> float:
        return float(np.sqrt(self.covariance[FRICTION, FRICTION]))

    @property
    def friction_identifiable(self) -> bool:
        """Whether some contact slid."""
        return self.friction_bound is None

    @property
    def restitution(self) -> float:
        return float(self.theta[RESTITUTION])


@dataclass(frozen=True)
class DropIdentification:
    """The method.

    Args:
        noise: (3,) standard deviations of x, y [m] and theta [rad]; None: found.
        drag: linear and angular [1/s].
        steps: of the program between two frames; None: as many as make them about 5 ms long.
        seed: of the starts.
    """

    noise: Sequence[float] | Vector | None = None
    drag: tuple[float, float] = (0.0, 0.0)
    steps: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.noise is not None and not (len(self.noise) == 3 and min(self.noise) > 0):
            raise InvalidMethod("the noise of a tracker is three numbers above 0: of x, y and the angle")

    def solve(
        self,
        name: str,
        times: Vector,
        poses: Float[np.ndarray, "N 3"],
        shape: Shape,
        walls: Sequence[Wall],
        say: Say = lambda _: None,
    ) -> DropFit:
        """J/m, mu, restitution and the motion.

        Args:
            name: of the drop. times: (N,) of frames [s], rising. poses: (N, 3) read, of the center of mass.
            shape, walls: what strikes what. say: is told of each stage.

        Raises:
            InvalidSignals: if there are too few frames, or they are out of order or not finite.
            NotIdentifiable: if nothing is struck.
        """
        times, poses = np.asarray(times, dtype=float), np.asarray(poses, dtype=float)
        if len(times) < FEWEST:
            raise InvalidSignals(f"{name} has {len(times)} frames; it takes at least {FEWEST}")
        if not np.isfinite(poses).all() or not (np.diff(times) > 0).all():
            raise InvalidSignals(
                f"the frames of {name} are out of order or incomplete; sort them and leave gaps out"
            )
        noise = tracker_noise(times, poses) if self.noise is None else np.asarray(self.noise, dtype=float)
        steps = self.steps or max(2, int(np.ceil(np.median(np.diff(times)) / NODE)))
        say(f"{name}: the program")
        program = _program(times, poses, noise, shape, walls, steps)
        rng = np.random.default_rng(self.seed)
        shooting = Shooting(times, poses, noise, shape, walls, self.drag)
        degrees = 3 * len(times) - len(shooting.scale())
        limit = float(stats.chi2.ppf(1 - DISTRUST, degrees))
        say(f"{name}: shooting")
        shot = shooting.search(_begun(program, shape), limit, rng)
        for _ in range(REFITS if self.noise is None else 0):
            found = _left(shooting, shot)
            change = max(np.max(found / noise), np.max(noise / found))
            noise, shooting = found, replace(shooting, noise=found)
            shot = (
                shooting.search(shot.theta, limit, rng) if change > REASSESSED else shooting.fit(shot.theta)
            )
            if change < 1.02:
                break
        return self._result(name, shooting, shot, program, degrees)

    def _result(
        self, name: str, shooting: Shooting, shot: Shot, program: ProgramFit, degrees: int
    ) -> DropFit:
        covariance = shooting.covariance(shot.theta)
        theta = shot.theta
        body = shooting.body(theta)
        expected, velocities, impacts = moved(body, shooting.walls, theta[:3], theta[3:6], shooting.times)
        if not len(impacts.times):
            raise NotIdentifiable(
                f"nothing is struck in {name}, so there is nothing to identify: J/m and friction show in impacts alone"
            )
        hidden = not covariance[FRICTION, FRICTION] < NARROW**2
        return DropFit(
            name,
            theta,
            covariance,
            shooting.noise,
            self.noise is not None,
            shot.chi_square,
            degrees,
            self._distrust(shooting, shot, degrees),
            shooting.times,
            shooting.poses,
            expected,
            velocities,
            impacts,
            _least_friction(shooting, shot) if hidden else None,
            program,
            body,
            tuple(shooting.walls),
        )

    def _distrust(self, shooting: Shooting, shot: Shot, degrees: int) -> tuple[str, ...]:
        reasons = []
        if not shot.converged:
            reasons.append("the iteration did not end")
        if self.noise is not None and stats.chi2.sf(shot.chi_square, degrees) < DISTRUST:
            reasons.append(
                f"what is left is {np.sqrt(shot.chi_square / degrees):.2g} times the noise: the model does not "
                "hold, or the motion found is not the right one"
            )
        for axis, what in enumerate(("x", "y", "the angle")):
            if _pattern((shot.expected - shooting.poses)[:, axis]) < DISTRUST / 3:
                reasons.append(f"what is left of {what} has a pattern, as a wrong sequence of impacts leaves")
        return tuple(reasons)


def tracker_noise(times: Vector, poses: Float[np.ndarray, "N 3"]) -> Vector:
    """(3,) standard deviations of x, y and theta from third divided differences; x and y alike [m], [m], [rad]."""
    weights = np.zeros((len(times) - 3, 4))
    for k in range(4):
        others = [j for j in range(4) if j != k]
        for j in others:
            away = times[k : len(times) - 3 + k] - times[j : len(times) - 3 + j]
            weights[:, k] = (weights[:, k] if j != others[0] else 1.0) / away
    weights /= np.linalg.norm(weights, axis=1)[:, None]
    windows = np.lib.stride_tricks.sliding_window_view(poses, 4, axis=0)
    third = np.abs(np.einsum("kij,kj->ki", windows, weights))
    normal = stats.norm.ppf(0.5 + QUANTILE / 2)
    place, angle = np.quantile(third[:, :2], QUANTILE) / normal, np.quantile(third[:, 2], QUANTILE) / normal
    return np.maximum([place, place, angle], 1e-12)


def _program(
    times: Vector,
    poses: Float[np.ndarray, "N 3"],
    noise: Vector,
    shape: Shape,
    walls: Sequence[Wall],
    steps: int,
) -> ProgramFit:
    """The first that explains the frames, of some that begin differently; else the one that comes nearest."""
    best: ProgramFit | None = None
    for inertia, friction, more in BEGINNINGS:
        found = ComplementarityProgram(steps + more).solve(
            times, poses, noise, shape, walls, inertia * shape.size**2, friction
        )
        if best is None or found.chi_square < best.chi_square:
            best = found
        if best.chi_square < EXPLAINED * poses.size:
            break
    assert best is not None
    return best


def _begun(program: ProgramFit, shape: Shape) -> Vector:
    """(9,) where the program ended."""
    restitution = np.median(program.restitutions) if len(program.restitutions) else 0.3
    return np.array(
        [
            *program.poses[0],
            *program.velocities[0],
            np.log(program.inertia_to_mass),
            min(program.friction, 1.0),
            np.clip(restitution, 0.1, 0.5),
        ]
    )


def _left(shooting: Shooting, shot: Shot) -> Vector:
    """(3,) standard deviations of what is left, x and y alike; parameters are counted as read by all alike."""
    e = shot.expected - shooting.poses
    rest = 1 - len(shot.theta) / e.size
    place, angle = np.sqrt(np.mean(e[:, :2] ** 2) / rest), np.sqrt(np.mean(e[:, 2] ** 2) / rest)
    return np.array([place, place, angle])


def _pattern(e: Vector) -> float:
    """Probability of successive differences as small as these if e is white (von Neumann's ratio)."""
    n = len(e)
    ratio = np.sum(np.diff(e) ** 2) / np.sum((e - e.mean()) ** 2)
    return float(stats.norm.cdf((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1))))


def _least_friction(shooting: Shooting, shot: Shot) -> float:
    """The least mu that explains the motion, all else free."""
    low, high = 0.0, float(shot.theta[FRICTION])
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        theta = shot.theta.copy()
        theta[FRICTION] = middle
        if shooting.fit(theta, max_iterations=12, held=FRICTION).chi_square < shot.chi_square + BOUND:
            high = middle
        else:
            low = middle
    return high
