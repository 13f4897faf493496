"""One drop, from poses alone: the program to start, shooting to finish, tests that say when to distrust it.

The program (`program`) has few minima and needs no restitution, but its impulses sit at a few nodes; shooting
(`shooting`) is exact and as sure as the data allow, but has many minima. So the program's answer begins a search of
shooting from many starts, and the best of all is taken.

**Noise** is the tracker's. Third differences of frames begin it (`noise`); what the best motion leaves ends it, unless
noise is given.

**Distrust.** With noise given, the sum of squares is chi-square with 3 N - 9 degrees of freedom. Without, the misfit
must look like noise: successive differences of what is left have twice its variance if it is white (von Neumann's
ratio), less where a wrong sequence of impacts leaves a pattern.

**What is seen** (Sects. 5.2, 5.3). The mass is not: J/m, mu, restitution, and impulses by mass are. Each impact says

    J/m = cross(GQ, dv) / d omega                                                                       (31)

A known force f beside gravity, or a moment, shows in flight as f / m, and then m, J and impulses are seen as well.
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
from ...exceptions import InvalidMethod, InvalidSignals, NotIdentifiable
from ...models.planar.events import Impacts, moved
from ...models.planar.shapes import Shape
from ...models.planar.stepping import Body
from ...models.planar.walls import Wall
from .flights import FEWEST, Drop, held_mean
from .noise import tracker_noise
from .posterior import Posterior, hunted, scaled_slopes
from .program import ComplementarityProgram, ProgramFit
from .segmentation import at_rest_from
from .shooting import FRICTION, INERTIA, MASS, RESTITUTION, Shooting, Shot

NODE, FINEST = 5e-3, 2e-3
"""Longest step of the program, and shortest, about [s]."""
BEGINNINGS = ((0.25, 0.4, 0), (0.1, 0.8, 1), (0.4, 0.15, 0))
"""Of the program: J/m in squares of the size, mu, and steps more."""
ITERATIONS = 30
"""Of a stage of a program: where it has not ended by then it is near enough for a start."""
UNSURE = 1.5
"""Times the sum of squares that chance explains, at most, for frames to be explained while noise is not known."""
REASSESSED = 1.5
"""Change of the noise that another search follows."""
REFITS = 3
DISTRUST = 1e-3
"""Probability below which a test says so."""
AT_REST = 10
"""Frames of a body that lies still, which are kept."""
LOUDER = 2.5
"""Times the tracker's noise, as neighbouring frames show it, above which what is left is more than noise."""
ALONE = 12.0
"""Times the median of what is left, above which a frame is off by itself: 8 standard deviations."""
NARROW = 0.5
"""Standard deviation of mu and of log m, at most, for them to be seen."""
BOUND = 3.84
"""More in the sum of squares, at the bound of what is not seen."""
BISECTIONS = 5
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class DropFit:
    """What one drop says.

    Args:
        drop: what was read, until it came to rest.
        theta: (p,) see `shooting.NAMES`, where the sum of squares is least.
        posterior: of theta. noise_given: whether the tracker's was.
        chi_square: of what is left, with that noise, and its degrees of freedom.
        distrust: why not to believe it, in words; empty if there is nothing.
        expected, velocities: (N, 3) at its frames.
        impacts: in their order, impulses by mass [m/s].
        friction_bound: mu is at least that, where it is not seen; None where it is.
        program: what the program found before.
        shooting: how it was simulated.
    """

    drop: Drop
    theta: Vector
    posterior: Posterior
    noise_given: bool
    chi_square: float
    degrees: int
    distrust: tuple[str, ...]
    expected: Float[np.ndarray, "N 3"]
    velocities: Float[np.ndarray, "N 3"]
    impacts: Impacts
    friction_bound: float | None
    program: ProgramFit
    shooting: Shooting

    @property
    def covariance(self) -> Matrix:
        """(p, p) of the posterior about theta."""
        return self.posterior.covariance

    @property
    def noise(self) -> Vector:
        """(3,) standard deviations of the tracker [m], [m], [rad]."""
        return self.shooting.noise

    @property
    def body(self) -> Body:
        """Of mass 1, as it was found."""
        return self.shooting.body(self.theta)

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
        """95 % [m^2]."""
        low, high = self.posterior.interval(INERTIA)
        return float(np.exp(low)), float(np.exp(high))

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

    @property
    def mass(self) -> float | None:
        """Given, or as a known force shows it [kg]; None where none does."""
        if self.mass_sought and not self.mass_identifiable:
            return None
        return self.shooting.mass_of(self.theta)

    @property
    def mass_sought(self) -> bool:
        """Whether a force was given, and no mass."""
        return len(self.theta) > MASS

    @property
    def mass_identifiable(self) -> bool:
        """Whether it was sought and is seen."""
        return self.mass_sought and bool(self.covariance[MASS, MASS] < NARROW**2)

    @property
    def shares(self) -> Vector:
        """(E,) part of the information on J/m that frames give from each impact on to the next, and after the last.

        What an impact shows of J/m is seen in what comes after it: a spin, and how the body lands or rolls then.
        Contacts struck at the same instant have the same part of it each.
        """
        J = scaled_slopes(self.shooting, self.theta).reshape(len(self.drop.times), 3, -1)
        normal = np.eye(len(self.theta)) + np.cumsum(np.einsum("nki,nkj->nij", J, J), axis=0)
        known = np.concatenate([[0.0], 1 / np.linalg.inv(normal)[:, INERTIA, INERTIA] - 1])
        instants, which, counts = np.unique(self.impacts.times, return_inverse=True, return_counts=True)
        ends = np.searchsorted(self.drop.times, [*instants[1:], np.inf])
        gained = np.diff([0.0, *known[ends]])
        return np.asarray((gained / max(known[-1], np.finfo(float).tiny) / counts)[which])

    def motion(self, times: Vector) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3"]]:
        """Poses and velocities at rising times (T,), of which the first is the first frame's [s]."""
        clock = np.union1d(times, self.drop.times)
        forces = self.shooting.forces_by_mass(self.theta)
        if forces is not None:
            held = np.searchsorted(self.drop.times, clock[:-1], side="right") - 1
            forces = forces[np.minimum(held, len(forces) - 1)]
        start = self.theta[:3], self.theta[3:6]
        poses, velocities, _ = moved(self.body, self.shooting.walls, *start, clock, forces=forces)
        wanted = np.searchsorted(clock, times)
        return poses[wanted], velocities[wanted]


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
        drop: Drop,
        shape: Shape,
        walls: Sequence[Wall],
        mass: float | None = None,
        say: Say = lambda _: None,
    ) -> DropFit:
        """J/m, mu, restitution and the motion; and m, if the drop has known forces and the mass is not given.

        Args:
            drop: frames, poses of the center of mass. shape, walls: what strikes what.
            mass: [kg], if it is known; without known forces it acts in no way.
            say: is told of each stage.

        Raises:
            InvalidSignals: if there are too few frames.
            NotIdentifiable: if nothing is struck.
        """
        if len(drop.times) < FEWEST:
            raise InvalidSignals(f"{drop.name} has {len(drop.times)} frames; it takes at least {FEWEST}")
        drop = moving(drop)
        times, poses, forces = drop.times, drop.poses, drop.forces
        noise = tracker_noise(times, poses) if self.noise is None else np.asarray(self.noise, dtype=float)
        shooting = Shooting(times, poses, noise, shape, walls, self.drag, forces, mass)
        rng = np.random.default_rng(self.seed)
        degrees = 3 * len(times) - shooting.parameters
        limit = float(stats.chi2.ppf(1 - DISTRUST, degrees)) * (1.0 if self.noise is not None else UNSURE)
        program, shots = self._begin(drop.name, shooting, limit, rng, say)
        shots = hunted(shooting, shots, rng)
        for _ in range(REFITS if self.noise is None else 0):
            found = _left(shooting, shots[0])
            change = max(np.max(found / noise), np.max(noise / found))
            noise, shooting = found, replace(shooting, noise=found)
            if change > REASSESSED:
                shots = hunted(shooting, shooting.search(shots[0].theta, limit, rng), rng)
            else:
                shots = shooting.distinct([shooting.fit(shot.theta) for shot in shots])
            if change < 1.02:
                break
        return self._result(drop, shooting, shots, program, degrees)

    def _begin(
        self, name: str, shooting: Shooting, limit: float, rng: np.random.Generator, say: Say
    ) -> tuple[ProgramFit, list[Shot]]:
        """Programs that begin differently, until shooting from one of them explains the frames."""
        few = _few(shooting)
        steps = self.steps or max(2, int(np.ceil(np.median(np.diff(few.times)) / NODE)))
        programs: list[ProgramFit] = []
        shots: list[Shot] = []
        for inertia, friction, more in BEGINNINGS:
            say(f"{name}: the program")
            programs.append(
                ComplementarityProgram(steps + more, max_iterations=ITERATIONS).solve(
                    few.times,
                    few.poses,
                    few.noise,
                    few.shape,
                    few.walls,
                    inertia * few.shape.size**2,
                    friction,
                    few.forces,
                    few.mass,
                )
            )
            say(f"{name}: shooting")
            found = shooting.search(_begun(programs[-1], shooting), limit, rng)
            shots = shooting.distinct([*shots, *found])
            if shots[0].chi_square <= limit:
                break
        return min(programs, key=lambda program: program.chi_square), shots

    def _result(
        self,
        drop: Drop,
        shooting: Shooting,
        shots: Sequence[Shot],
        program: ProgramFit,
        degrees: int,
    ) -> DropFit:
        posterior, shot = Posterior.of(shooting, shots), shots[0]
        theta = shot.theta
        expected, velocities, impacts = moved(
            shooting.body(theta),
            shooting.walls,
            theta[:3],
            theta[3:6],
            shooting.times,
            forces=shooting.forces_by_mass(theta),
        )
        if not len(impacts.times):
            raise NotIdentifiable(
                f"nothing is struck in {drop.name}, so there is nothing to identify: J/m and friction show in "
                "impacts alone"
            )
        hidden = not posterior.covariance[FRICTION, FRICTION] < NARROW**2
        return DropFit(
            drop,
            theta,
            posterior,
            self.noise is not None,
            shot.chi_square,
            degrees,
            self._distrust(shooting, shot, degrees),
            expected,
            velocities,
            impacts,
            _least_friction(shooting, shot) if hidden else None,
            program,
            shooting,
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
        left = shot.expected - shooting.poses
        for axis, what in enumerate(("x", "y", "the angle")):
            if _pattern(left[:, axis]) < DISTRUST / 3:
                reasons.append(f"what is left of {what} has a pattern, as a wrong sequence of impacts leaves")
        found = _left(shooting, shot) / tracker_noise(shooting.times, shooting.poses)
        if self.noise is None and found.max() > LOUDER:
            reasons.append(
                f"what is left is {found.max():.2g} times what frames differ by from their neighbours: the floor, the "
                "outline or a frame is wrong"
            )
        places = np.abs(left) / np.median(np.abs(left), axis=0)
        frame = int(np.argmax(places.max(axis=1)))
        if places.max() > ALONE:
            reasons.append(
                f"the frame at {shooting.times[frame]:.4g} s is far off all others: leave it out if it was misread"
            )
        return tuple(reasons)


def moving(drop: Drop) -> Drop:
    """Without all but the first frames in which it lies still, of which each would have to be simulated."""
    end = at_rest_from(drop.poses, tracker_noise(drop.times, drop.poses)) + AT_REST
    if end >= len(drop.times):
        return drop
    forces = None if drop.forces is None else drop.forces[: end - 1]
    return Drop(drop.name, drop.times[:end], drop.poses[:end], forces)


def _few(shooting: Shooting) -> Shooting:
    """The frames that a program takes: of the first part of a long motion, and no finer than its steps."""
    times = shooting.times
    every = max(1, int(2 * FINEST / np.median(np.diff(times))))
    chosen = np.arange(0, shooting.soon, every)
    forces = None if shooting.forces is None else held_mean(times, shooting.forces, chosen)
    return replace(shooting, times=times[chosen], poses=shooting.poses[chosen], forces=forces)


def _begun(program: ProgramFit, shooting: Shooting) -> Vector:
    """(p,) where the program ended."""
    restitution = np.median(program.restitutions) if len(program.restitutions) else 0.3
    return np.array(
        [
            *program.poses[0],
            *program.velocities[0],
            np.log(program.inertia_to_mass),
            min(program.friction, 1.0),
            np.clip(restitution, 0.1, 0.5),
            np.log(program.mass or 1.0),
        ]
    )[: shooting.parameters]


def _left(shooting: Shooting, shot: Shot) -> Vector:
    """(3,) standard deviations of what is left, x and y alike; parameters are counted as read by all alike."""
    e = shot.expected - shooting.poses
    rest = 1 - len(shot.theta) / e.size
    place, angle = np.sqrt(np.mean(e[:, :2] ** 2) / rest), np.sqrt(np.mean(e[:, 2] ** 2) / rest)
    return np.array([place, place, angle])


def _pattern(e: Vector) -> float:
    """Probability of successive differences as small as these if e is white (von Neumann's ratio)."""
    n = len(e)
    ratio = np.sum(np.diff(e) ** 2) / np.sum(e**2)
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
