"""Identification from the poses of one drop: a program for starting points, shooting for the result, and its tests.

The solution of the program (`program`), which has few minima but impulses at few nodes, starts a search by shooting
(`shooting`). Third differences of frames give the initial value of the tracker's noise, residuals of the best motion
the final one. Where every impact sticks, the least mu that still explains the motion is given in place of mu.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from ...arrays import Vector
from ...estimate import Finding, Severity, Status
from ...exceptions import InvalidSignals, NotIdentifiable
from ...models.planar.contact import Wall
from ...models.planar.drop import Drop
from ...models.planar.shapes import Shape
from ...solve import ProgressCallback, Stop, report, stop_requested
from .drop_fit import DropFit
from .flights import FEWEST, integrals
from .posterior import MixturePosterior, further_minima
from .segmentation import moving
from .shooting import FINE, FRICTION, Shooting, ShootingFit

if TYPE_CHECKING:
    from .program import ProgramFit

FRICTION_THRESHOLD = float(stats.chi2.ppf(0.95, 1))
"""95 % chi-square threshold of one parameter that the data bound on one side only."""
BISECTIONS = 5
NODE_SPACING_S, LEAST_NODE_SPACING_S = 5e-3, 2e-3
"""Longest step of the program, and about the shortest [s]. A body of 5 m/s moves 25 mm in 5 ms, less than its size."""
PROGRAM_STARTS = ((0.25, 0.4, 0), (0.1, 0.8, 1), (0.4, 0.15, 0))
"""J/m in squares of the size, mu, and additional steps, of each program; the next one is solved only if shooting from
the ones before does not explain the frames."""
PROGRAM_ITERATIONS = 30
"""Largest number of iterations of a stage of a program: enough for a starting point."""
UNKNOWN_NOISE_FACTOR = 1.5
"""Factor on the chi-square threshold up to which frames count as explained while the noise is not known: third
differences give it to some 20 %, its square to 50 %."""
NOISE_UPDATES, NOISE_CHANGE = 3, 1.5
"""Largest number of updates of the noise; a change by more than this factor is followed by another search."""
SIGNIFICANCE = 1e-3
"""Probability of a test below which the result is distrusted."""
NEIGHBOUR_FACTOR, OUTLIER_FACTOR = 2.5, 12.0
"""Ratios above which a result is distrusted: of residuals to the noise between neighbouring frames, and of a frame's
residual to the median: 8 standard deviations."""
IDENTIFIABLE_STD = 0.5
"""Largest standard deviation of mu and of log m with which they count as identifiable."""


def fitted_drop(
    drop: Drop,
    shape: Shape,
    walls: Sequence[Wall],
    mass: float | None = None,
    noise: Sequence[float] | Vector | None = None,
    drag: tuple[float, float] = (0.0, 0.0),
    steps: int | None = None,
    seed: int = 0,
    *,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> DropFit:
    """J/m, mu, restitution and the motion; and m, if the drop has known forces and the mass is not given.

    Args:
        drop: frames, poses of the center of mass. shape, walls: outline of the body, and walls that it may strike.
        mass: [kg], if it is known; without known forces it acts in no way.
        noise, drag, steps, seed: as in `ImpactIdentification`.

    Raises:
        InvalidSignals: if there are too few frames.
        NotIdentifiable: if the body hits nothing.
    """
    if len(drop.times) < FEWEST:
        raise InvalidSignals(f"{drop.name} has {len(drop.times)} frames; it takes at least {FEWEST}")
    # frames at rest add no information, and each would have to be simulated
    drop = moving(drop)
    times, poses, forces = drop.times, drop.poses, drop.forces
    given = noise is not None
    noise = np.asarray(drop.noise if noise is None else noise, dtype=float)
    shooting = Shooting(times, poses, noise, shape, walls, drag, forces, mass)
    rng = np.random.default_rng(seed)
    limit = float(stats.chi2.ppf(1 - SIGNIFICANCE, shooting.degrees))
    limit *= 1.0 if given else UNKNOWN_NOISE_FACTOR
    program, fits = _first_fits(drop.name, shooting, limit, steps, rng, progress, stop)
    fits = further_minima(shooting, fits, rng, stop)
    for _ in range(NOISE_UPDATES if not given else 0):
        if stop_requested(stop):
            break
        report(progress, "noise of the tracker", cost=0.5 * fits[0].chi_square, detail=drop.name)
        after = residual_noise(shooting, fits[0])
        # a wrong noise may hide the right motion among those that "explain" the frames: then search again
        change = max(np.max(after / noise), np.max(noise / after))
        noise, shooting = after, replace(shooting, noise=after)
        if change > NOISE_CHANGE:
            fits = shooting.search(fits[0].theta, limit, rng, stop)
            fits = further_minima(shooting, fits, rng, stop)
        else:
            fits = shooting.distinct([shooting.fit(minimum.theta) for minimum in fits])
        if change < 1.02:
            break
    return _result(drop, shooting, fits, program, given, stop_requested(stop))


def _first_fits(
    name: str,
    shooting: Shooting,
    limit: float,
    steps: int | None,
    rng: np.random.Generator,
    progress: ProgressCallback | None,
    stop: Stop | None,
) -> tuple[ProgramFit | None, list[ShootingFit]]:
    """Programs from different values, until shooting from one of them explains the frames."""
    few = _frames_of_program(shooting)
    steps = steps or max(2, int(np.ceil(np.median(np.diff(few.times)) / NODE_SPACING_S)))
    # another start only if the motion is not explained: most drops need one program
    programs: list[ProgramFit] = []
    fits: list[ShootingFit] = []
    for inertia, friction, more in PROGRAM_STARTS:
        if stop_requested(stop):
            break
        from .program import solve_program  # CasADi is needed from here on, and not before

        report(progress, "nonlinear program", detail=name)
        start = inertia * few.shape.size**2, friction
        begin = solve_program(few, *start, steps + more, PROGRAM_ITERATIONS)
        programs.append(begin)
        report(progress, "shooting", detail=name)
        bounce = float(np.clip(np.median(begin.restitutions), 0.1, 0.5)) if len(begin.restitutions) else 0.3
        known = begin.inertia_to_mass, min(begin.friction, 1.0), bounce, begin.mass
        theta = shooting.theta((begin.poses[0], begin.velocities[0]), *known)
        more_fits = shooting.search(theta, limit, rng, stop)
        fits = shooting.distinct([*fits, *more_fits])
        if fits[0].chi_square <= limit:
            break
    if not fits:
        # no program was solved: pose and velocity of the first frames, and middling values of the rest
        t, q = shooting.times, shooting.poses
        state = q[0], (q[2] - q[0]) / (t[2] - t[0])
        fits = [shooting.fit(shooting.theta(state, 0.25 * shooting.shape.size**2, 0.4, 0.3, None))]
    return min(programs, key=lambda program: program.chi_square, default=None), fits


def _frames_of_program(shooting: Shooting) -> Shooting:
    """The first part of a long motion, with frames no closer than the shortest steps."""
    times = shooting.times
    every = max(1, int(2 * LEAST_NODE_SPACING_S / np.median(np.diff(times))))
    chosen = np.arange(0, shooting.first_part, every)
    few, forces = times[chosen], shooting.forces
    if forces is not None:
        forces = integrals(times, forces, few) / np.diff(few)[:, None]
    return replace(shooting, times=few, poses=shooting.poses[chosen], forces=forces)


def _result(
    drop: Drop,
    shooting: Shooting,
    fits: Sequence[ShootingFit],
    program: ProgramFit | None,
    noise_given: bool,
    interrupted: bool,
) -> DropFit:
    posterior, fit = MixturePosterior.of(shooting, fits), fits[0]
    predicted, velocities, impacts = shooting.motion(fit.theta, shooting.times)
    if not len(impacts.times):
        raise NotIdentifiable(
            f"the body hits nothing in {drop.name}"
            + (" in the motion found until the interruption" if interrupted else "")
            + ", so there is nothing to identify: only impacts determine J/m and friction"
        )
    std = np.sqrt(np.diag(posterior.covariance))
    return DropFit(
        drop=drop,
        theta=fit.theta,
        posterior=posterior,
        noise_given=noise_given,
        chi_square=fit.chi_square,
        iterations=fit.iterations + (0 if program is None else program.iterations),
        status=Status.interrupted if interrupted else fit.status,
        findings=tuple(_distrust(drop, shooting, fit, noise_given)),
        predicted=predicted,
        velocities=velocities,
        impacts=impacts,
        friction_bound=None if std[FRICTION] < IDENTIFIABLE_STD else _least_friction(shooting, fit),
        mass_identifiable=shooting.mass_is_estimated and bool(std[-1] < IDENTIFIABLE_STD),
        program=program,
        shooting=shooting,
    )


def _distrust(drop: Drop, shooting: Shooting, fit: ShootingFit, noise_given: bool) -> Iterator[Finding]:
    warning, error, degrees = Severity.warning, Severity.error, shooting.degrees
    poor = partial(Finding, "poor-fit", remedy="See the other findings, the outline and the walls.")
    if fit.status is not Status.solved:
        yield poor(warning, f"the iteration ended before a minimum ({fit.status.name})")
    if noise_given and stats.chi2.sf(fit.chi_square, degrees) < SIGNIFICANCE:
        ratio = np.sqrt(fit.chi_square / degrees)
        yield poor(
            error if ratio > NEIGHBOUR_FACTOR else warning,
            f"residuals are {ratio:.2g} times the noise: the model does not hold, or the search found a wrong "
            "motion",
        )
    e = fit.predicted - shooting.poses
    for axis, what in enumerate(("x", "y", "the angle")):
        # three tests at once: a third of the significance each
        if von_neumann_probability(e[:, axis]) < SIGNIFICANCE / 3:
            yield poor(warning, f"residuals of {what} are correlated, as after a wrong sequence of impacts")
    ratio = residual_noise(shooting, fit) / drop.noise
    if not noise_given and ratio.max() > NEIGHBOUR_FACTOR:
        yield poor(
            error,
            f"residuals are {ratio.max():.2g} times the noise between neighbouring frames: the floor, the "
            "outline or a frame is wrong",
            evidence=float(ratio.max()),
        )
    relative = np.abs(e) / np.median(np.abs(e), axis=0)
    if relative.max() > OUTLIER_FACTOR:
        frame = int(np.argmax(relative.max(axis=1)))
        message = f"the frame at {shooting.times[frame]:.4g} s is far from all others; exclude it if misread"
        yield Finding("outliers", warning, message, "", evidence=float(relative.max()))


def residual_noise(shooting: Shooting, fit: ShootingFit) -> Vector:
    """(3,) standard deviations of the residuals, x and y alike; degrees of freedom are shared evenly."""
    e = fit.predicted - shooting.poses
    share = 1 - len(fit.theta) / e.size
    place, angle = np.sqrt(np.mean(e[:, :2] ** 2) / share), np.sqrt(np.mean(e[:, 2] ** 2) / share)
    return np.array([place, place, angle])


def von_neumann_probability(e: Vector) -> float:
    """Probability of successive differences as small as these if e is white (von Neumann's ratio, 2 on average)."""
    # normal for n above some ten; its variance is that of white normal residuals
    n = len(e)
    ratio = np.sum(np.diff(e) ** 2) / np.sum(e**2)
    return float(stats.norm.cdf((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1))))


def _least_friction(shooting: Shooting, fit: ShootingFit) -> float:
    """The least mu whose chi-square, all else free, is within `FRICTION_THRESHOLD` of the minimum."""
    # chi-square falls as mu rises, up to where every impact sticks: bisection finds the threshold
    low, high = 0.0, float(fit.theta[FRICTION])
    method = replace(FINE, max_iterations=12)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        theta = fit.theta.copy()
        theta[FRICTION] = middle
        if shooting.fit(theta, method=method, held=FRICTION).chi_square < fit.chi_square + FRICTION_THRESHOLD:
            high = middle
        else:
            low = middle
    return high
