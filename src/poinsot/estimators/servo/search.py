"""The search for the actuator of one group of joints: output error from several starts.

    minimize  1/2 sum over samples |(measured - simulated(x, start)) / sigma|^2 + priors

The cost has many minima (a delay may stand for damping, dry friction for a small gain). So the search draws points from
ranges that follow from the recording, ranks them by their cost with coarse steps, refines the best with these, and the
best of those with the steps asked for. The ranges, with e the error of "position = command", T the torque that the
mechanism takes, and ratios to the stiffness k:

    k  0.3 to 100 rms(T) / rms(e)          damping, derivative gain / k  1 ms to 0.2 s
    dry friction / k  2 to 100 % rms(e)    armature / k  (3 ms)^2 to (60 ms)^2
    torque limit / k  0.3 to 3 largest e   delay, lag  0 to 80 ms

They only say where to look first: parameters are bounded by what is possible, and nothing else.

Coordinates of the search are torques as ratios to the stiffness. From positions under position commands, everything
that a joint does with its own torques is invariant to their common scale: only gravity, known inertia and coupling have
a scale of their own. So with an open stiffness

    x = (log stiffness, torque parameters / stiffness, delay, lag, zero, ...)

the ratios are what the data determine well, and log stiffness is the one direction that they may not. Without an open
stiffness all parameters are their own coordinates.

Joints of a group have all of these in common but `zero`; each joint and recording has a start (position and velocity),
known to within a prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, TypeAlias

import numpy as np
from annotated_types import Ge

from ...arrays import Matrix, Vector
from ...models.servo.actuator import parameter as row_of
from ...models.servo.kernel import START_Q, START_V
from ...models.servo.rollout import ActuatorRollout, JointLoad, Steps, parameter_vector, place_of, roll_out
from ...models.servo.setpoint import Setpoint
from ...ranges import Count, Seed
from ...solve import GaussNewton, Minimum, ProgressCallback, Stop, report, stop_requested
from ...solve.dense import DenseIterate, DenseProblem
from ...statistics import correlation_time
from .problem import SCALE_KNOWN, ActuatorProblem, CommandedMotion

OWN = frozenset(("zero",))
"""Parameters that joints of a group do not share."""


def is_torque(parameter: str) -> bool:
    """Whether a parameter grows with the scale of torques: it is a torque, per something."""
    return row_of(parameter).is_torque


def is_scaled(parameter: str) -> bool:
    """Whether the coordinate of a parameter is its ratio to the stiffness."""
    return parameter != "stiffness" and is_torque(parameter)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Of one group of joints.

    Args:
        joints: of the group. open: parameters that are estimated, the same for all.
        held: (n, p) numbers of each joint's rollout, of what is not open.
        ramps: (n,) times in which setpoints move to commands [s].
    """

    joints: tuple[str, ...]
    open: tuple[str, ...]
    held: Matrix
    ramps: tuple[float, ...]

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """(parameter, joint) of each coordinate; joint "" for one that the group shares."""
        shared = [(name, "") for name in self.open if name not in OWN]
        return (*shared, *((name, joint) for name in self.open if name in OWN for joint in self.joints))

    @property
    def size(self) -> int:
        return len(self.columns)

    @cached_property
    def scale(self) -> int | None:
        """Place of log stiffness; None where the stiffness is not open."""
        return self.columns.index(("stiffness", "")) if "stiffness" in self.open else None

    @cached_property
    def ratios(self) -> np.ndarray:
        """(p,) whether a coordinate is a ratio to the stiffness."""
        return np.array([self.scale is not None and is_scaled(name) for name, _ in self.columns], dtype=bool)

    def shows_scale(self, covariance: Matrix) -> bool:
        """Whether the scale of torques is known, by the (p, p) covariance of coordinates: see `SCALE_KNOWN`."""
        k = self.scale
        return k is None or bool(np.sqrt(covariance[k, k]) < SCALE_KNOWN)

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """Places in theta of `open`, in its order."""
        return tuple(place_of(name) for name in self.open)

    def natural(self, x: Vector) -> Vector:
        """(p,) parameters in their units, of coordinates x (p,)."""
        theta = np.array(x, dtype=float)
        if self.scale is not None:
            theta[self.scale] = np.exp(x[self.scale])
            theta[self.ratios] *= theta[self.scale]
        return theta

    def slope(self, x: Vector) -> Matrix:
        """(p, p) of `natural` by x."""
        slope = np.eye(len(x))
        if (k := self.scale) is not None:
            slope[self.ratios, self.ratios] = slope[k, k] = np.exp(x[k])
            slope[self.ratios, k] = x[self.ratios] * slope[k, k]
        return slope

    def from_natural(self, theta: Vector) -> Vector:
        """(p,) coordinates of parameters in their units."""
        x = np.array(theta, dtype=float)
        if self.scale is not None:
            x[self.ratios] /= theta[self.scale]
            x[self.scale] = np.log(theta[self.scale])
        return x

    def of_joint(self, theta: Vector, joint: int) -> Vector:
        """(p,) numbers of the rollout of a joint of the group, without its start."""
        numbers = self.held[joint].copy()
        for place, (_, owner), value in zip(self._places, self.columns, theta, strict=True):
            if owner in ("", self.joints[joint]):
                numbers[place] = value
        return numbers

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """Place in theta of each column."""
        return tuple(place_of(name) for name, _ in self.columns)

    def spread(self, sensitivities: Matrix, joint: int) -> Matrix:
        """(T, p) of a joint's positions by the group's parameters, from those by its own `open`, (T, len(open))."""
        out = np.zeros((len(sensitivities), self.size))
        for column, (name, owner) in enumerate(self.columns):
            if owner in ("", self.joints[joint]):
                out[:, column] = sensitivities[:, self.open.index(name)]
        return out


def bounds(columns: Sequence[tuple[str, str]], longest_delay: float) -> tuple[Vector, Vector]:
    """(p,) least and largest coordinates: ratios of nothing below 0, delays up to the longest [s]."""
    lower = np.array([row_of(name).smallest for name, _ in columns])
    upper = np.array([longest_delay if name in ("delay", "lag") else np.inf for name, _ in columns])
    return lower, upper


SCALE_PRIOR = np.log(10.0)
"""Standard deviation of log stiffness about the middle of its range before the data: a factor of ten."""

SMALLEST_LEVEL = 1e-9
"""Level of the residuals of a joint that stands still exactly, and is simulated so [rad]."""

SETTLED = 1e-2
"""Part of the cost by which a perturbed restart must lower it to count."""

MAX_HOPS = 24
HOP = 10.0
"""Length of a perturbation in standard deviations for white residuals."""

STEEPEST = 1e9
"""Largest sensitivity that is not a simulation's instability."""

WIDEST_SCALE = 10.0
"""Log stiffness stays so near to the middle of its range."""

START_POSITION_STD, START_VELOCITY_STD = 3.0, 0.3
"""Of a start: times the level of the residuals [rad], and times the largest speed."""


@dataclass(frozen=True, eq=False)
class JointRecording:
    """One joint in one recording.

    Args:
        joint: place in the group. steps, setpoint, load: of the simulation. command: (T,) [rad]. measured: (T,), NaN
            where nothing was.
        position, velocity: where the simulation may start.
        rate: (T,) measured velocities, NaN where none is used [rad/s]; None: none is. late: their lateness,
            nearly [s].
        supply: (K,) see `roll_out`.
    """

    joint: int
    steps: Steps
    command: Vector
    setpoint: Setpoint
    load: JointLoad
    measured: Vector
    position: float
    velocity: float
    rate: Vector | None = None
    late: float = 0.0
    supply: Vector | None = None

    @cached_property
    def mask(self) -> np.ndarray:
        return np.isfinite(self.measured)

    @cached_property
    def rate_mask(self) -> np.ndarray:
        """(T,) where a velocity is used."""
        return (
            np.zeros(len(self.mask), dtype=bool) if self.rate is None else self.mask & np.isfinite(self.rate)
        )

    @cached_property
    def velocity_at(self) -> Vector | None:
        """Times of the simulation at which velocities are compared [s]."""
        return None if self.rate is None else self.steps.time[self.rate_mask] - self.late

    @cached_property
    def rows(self) -> tuple[int, int]:
        """Numbers of positions and of velocities that are used."""
        return int(self.mask.sum()), int(self.rate_mask.sum())

    def errors(self, found: ActuatorRollout) -> tuple[Vector, Vector]:
        """Of positions [rad] and velocities [rad/s] that are used, measured less simulated."""
        of_velocity = np.empty(0)
        if self.rate is not None:
            of_velocity = without_lateness(self.rate[self.rate_mask] - found.velocity, found)
        return (self.measured - found.position)[self.mask], of_velocity

    def coarse(self, longest: float) -> JointRecording:
        """With longer steps, and positions alone."""
        steps = Steps.of(self.steps.time, longest)
        at, there = self.steps.middles, steps.middles
        supply = None if self.supply is None else np.interp(there, at, self.supply)
        return replace(
            self,
            steps=steps,
            load=self.load.resampled(at, there),
            rate=None,
            supply=supply,
        )


@dataclass(frozen=True, eq=False)
class GroupProblem:
    """Output error of one group of joints along given loads.

    Args:
        coordinates: of its parameters. strands: joints and recordings.
        sigma: (n,) level of the residuals of each joint [rad]. rate_sigma: (n,) of its measured velocities [rad/s].
        mean, std: (p,) normal priors of the coordinates; infinite: none. knots: positions of friction levels.
        correlation: samples that a residual stays like itself. So many together count as one against priors, which
            else would be nothing against thousands of samples at rest.
        longest_delay: [s]. huber: see `ActuatorProblem`.
    """

    coordinates: Coordinates
    strands: tuple[JointRecording, ...]
    sigma: Vector
    rate_sigma: Vector
    mean: Vector
    std: Vector
    knots: tuple[float, ...] = ()
    correlation: float = 1.0
    longest_delay: float = 0.25
    huber: float = np.inf

    @property
    def size(self) -> int:
        """Unknowns: parameters and two of the start of each strand."""
        return self.coordinates.size + 2 * len(self.strands)

    def coarse(self, longest: float) -> GroupProblem:
        """With longer steps, and positions alone."""
        return replace(self, strands=tuple(each.coarse(longest) for each in self.strands))

    def begin(self, x: Vector) -> Vector:
        """(size,) coordinates and measured starts."""
        return np.concatenate([x, *([each.position, each.velocity] for each in self.strands)])

    def rollouts(self, z: Vector, *, slopes: bool = False) -> list[ActuatorRollout]:
        """The simulation of every strand."""
        return [self._rollout(k, z, slopes) for k in range(len(self.strands))]

    def numbers(self, k: int, z: Vector) -> Vector:
        """Numbers of the rollout of a strand, see `parameter_vector`."""
        coordinates = self.coordinates
        numbers = coordinates.of_joint(coordinates.natural(z[: coordinates.size]), self.strands[k].joint)
        numbers[[START_Q, START_V]] = z[coordinates.size + 2 * k : coordinates.size + 2 * k + 2]
        return numbers

    def _rollout(self, k: int, z: Vector, slopes: bool = False) -> ActuatorRollout:
        strand = self.strands[k]
        wanted = (*self.coordinates.wanted, START_Q, START_V) if slopes else ()
        return roll_out(
            self.numbers(k, z), strand.steps, strand.setpoint, strand.load, supply=strand.supply, knots=self.knots,
            wanted=wanted, velocity_at=strand.velocity_at,
        )  # fmt: skip

    def _softened(self, strand: JointRecording, found: ActuatorRollout) -> tuple[Vector, Vector]:
        """Whitened residuals of a strand's positions, then velocities, and their slopes by the errors."""
        of_position, of_velocity = strand.errors(found)
        levels = np.repeat([self.sigma[strand.joint], self.rate_sigma[strand.joint]], strand.rows)
        r, slope = softened(np.concatenate([of_position, of_velocity]) / levels, self.huber)
        return r, slope / levels

    def cost_up_to(self, most: float, z: Vector) -> float:
        """Sum of squared residuals; infinite where that of priors and the first strands is beyond `most` already."""
        prior = self._prior_residuals(z)
        cost = float(prior @ prior)
        for k, strand in enumerate(self.strands):
            r = self._softened(strand, self._rollout(k, z))[0]
            cost += float(r @ r)
            if not cost <= most:
                return np.inf
        return cost

    def residuals(self, z: Vector) -> Vector:
        """Whitened: of samples, of priors, of starts."""
        parts = [self._softened(strand, each)[0] for strand, each in self._simulated(z)]
        return np.concatenate([*parts, self._prior_residuals(z)])

    def jacobian(self, z: Vector, _: Vector | None = None) -> Matrix:
        """(N, size) of `residuals`."""
        coordinates, p = self.coordinates, self.coordinates.size
        slope, rows = coordinates.slope(z[:p]), []
        for k, (strand, each) in enumerate(self._simulated(z, slopes=True)):
            block = np.zeros((sum(strand.rows), self.size))
            found = each.sensitivities[strand.mask]
            if strand.rate is not None:
                found = np.concatenate([found, without_lateness(each.rates, each)])
            # of a simulation that grows without limit, which no step is to follow
            sensitivities = np.clip(np.nan_to_num(found), -STEEPEST, STEEPEST)
            block[:, :p] = coordinates.spread(sensitivities[:, :-2], strand.joint) @ slope
            block[:, p + 2 * k : p + 2 * k + 2] = sensitivities[:, -2:]
            rows.append(-block * self._softened(strand, each)[1][:, None])
        return np.concatenate([*rows, np.diag(self._prior_weights())])

    def _prior_weights(self) -> Vector:
        weights = np.zeros(self.size)
        weights[: self.coordinates.size] = 1 / self.std
        for k, strand in enumerate(self.strands):
            at = self.coordinates.size + 2 * k
            speed = float(np.abs(np.gradient(strand.command, strand.steps.time)).max())
            weights[at] = 1 / (START_POSITION_STD * self.sigma[strand.joint])
            weights[at + 1] = 1 / max(START_VELOCITY_STD * speed, 1e-3)
        return weights * np.sqrt(self.correlation)

    def _prior_residuals(self, z: Vector) -> Vector:
        center = self.begin(self.mean)
        return (z - center) * self._prior_weights()

    def dense(self) -> DenseProblem:
        lower, upper = bounds(self.coordinates.columns, self.longest_delay)
        if (k := self.coordinates.scale) is not None:
            lower[k], upper[k] = self.mean[k] - WIDEST_SCALE, self.mean[k] + WIDEST_SCALE
        free = np.full(2 * len(self.strands), np.inf)
        return DenseProblem(
            self.residuals,
            self.jacobian,
            np.concatenate([lower, -free]),
            np.concatenate([upper, free]),
            curvature_floor=lambda _, cost: 1e-9 * cost,
        )

    def largest_decrease(self, z: Vector) -> float:
        """Largest part of the cost that a change of one coordinate to either side takes away, by half a standard
        deviation for white residuals.
        """
        dense = self.dense()
        at = dense.at(z)
        H, p = at.normal[0], self.coordinates.size
        steps = 0.5 / np.sqrt(np.maximum(np.diag(H)[:p], 1e-12)) * np.sqrt(2 * at.cost / len(at.r))
        largest = 0.0
        for k in range(p):
            for side in (-1.0, 1.0):
                other = z.copy()
                other[k] += side * steps[k]
                largest = max(largest, 1 - dense.at(other).cost / at.cost)
        return largest

    def at_level_of(self, z: Vector) -> GroupProblem:
        """The same problem with level and correlation of the residuals at z."""
        errors = self._errors(z)
        parts = [part for each in errors for part in each if len(part)]
        times = [correlation_time(each) for each in parts]
        count = np.array([len(each) for each in parts], dtype=float)
        sigma, rate_sigma = self._levels(errors)
        correlation = float(np.sum(count * times) / count.sum())
        return replace(self, correlation=correlation, sigma=sigma, rate_sigma=rate_sigma)

    def levels(self, z: Vector) -> tuple[Vector, Vector]:
        """`sigma` and `rate_sigma`: root mean squares of errors; of most samples where large ones count less."""
        return self._levels(self._errors(z))

    def _simulated(self, z: Vector, *, slopes: bool = False) -> list[tuple[JointRecording, ActuatorRollout]]:
        return list(zip(self.strands, self.rollouts(z, slopes=slopes), strict=True))

    def _errors(self, z: Vector) -> list[tuple[Vector, Vector]]:
        """`Strand.errors` of every strand."""
        return [strand.errors(each) for strand, each in self._simulated(z)]

    def _levels(self, errors: Sequence[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
        joints, found = [strand.joint for strand in self.strands], []
        for channel in range(2):
            by_joint = [
                np.concatenate(
                    [each[channel] for of, each in zip(joints, errors, strict=True) if of == joint]
                )
                for joint in range(len(self.sigma))
            ]
            found.append(np.array([max(self._level(each), SMALLEST_LEVEL) for each in by_joint]))
        return found[0], found[1]

    def _level(self, errors: Vector) -> float:
        if not len(errors):
            return 0.0
        # the median of |e| of normal residuals is 0.6745 standard deviations
        robust = np.isfinite(self.huber)
        return float(np.median(np.abs(errors)) / 0.6745 if robust else np.sqrt(np.mean(errors**2)))


Fitted: TypeAlias = tuple[GroupProblem, Minimum[DenseIterate]]
"""The problem of a group, with the level of its residuals, and its minimum."""


def without_lateness(rows: np.ndarray, found: ActuatorRollout) -> np.ndarray:
    """Rows (V, ...) of velocities without their part that another lateness would change (variable projection)."""
    direction = np.nan_to_num(found.acceleration)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
    return np.asarray(rows - np.multiply.outer(direction, direction @ rows))


def softened(r: Vector, c: float) -> tuple[Vector, Vector]:
    """s (N,) with s^2 / 2 = c^2 (sqrt(1 + (r / c)^2) - 1), a smooth Huber loss of residuals r, and ds/dr (N,)."""
    if not np.isfinite(c):
        return r, np.ones_like(r)
    root = np.sqrt(1.0 + (r / c) ** 2)
    # c^2 (root - 1) without cancellation
    ratio = np.sqrt(2.0 / (root + 1.0))
    return r * ratio, 1.0 / (root * ratio)


def group_problem(
    problem: ActuatorProblem,
    joints: Sequence[str],
    motions: Sequence[CommandedMotion],
    loads: Sequence[Sequence[JointLoad]],
    law: str = "M1",
) -> GroupProblem:
    """The problem of one group; `loads` of every motion, of every joint of the problem; `law` of dry friction."""
    first = joints[0]
    open_ = problem.open_of(first, law)
    actuators = [problem.held_actuator(joint) for joint in joints]
    held = np.array([parameter_vector(actuator, 0.0, 0.0) for actuator in actuators])
    coordinates = Coordinates(tuple(joints), open_, held, tuple(actuator.ramp for actuator in actuators))
    strands = []
    for motion, of_motion in zip(motions, loads, strict=True):
        for n, joint in enumerate(joints):
            k = problem.joints.index(joint)
            command = np.ascontiguousarray(motion.command[:, k])
            strands.append(
                JointRecording(
                    n, motion.steps, command,
                    motion.commands[k].setpoint(coordinates.ramps[n]), of_motion[k],
                    np.ascontiguousarray(motion.measured[:, k]), float(motion.start_position[k]),
                    float(motion.start_velocity[k]), *_further_channels(problem, motion, joint),
                )
            )  # fmt: skip
    p = coordinates.size
    found = GroupProblem(
        coordinates, tuple(strands), np.full(len(joints), 1e-3), np.ones(len(joints)), np.zeros(p), np.full(p, np.inf),
        problem.knots_of(first), huber=problem.huber,
    )  # fmt: skip
    mean, std = _priors(problem, found)
    return replace(found, mean=mean, std=std)


def _further_channels(
    problem: ActuatorProblem, motion: CommandedMotion, joint: str
) -> tuple[Vector | None, float, Vector | None]:
    """`rate`, `late` and `supply` of a strand."""
    velocity, supply = motion.velocities.get(joint), motion.supply(problem.held_actuator(joint))
    if velocity is None or velocity.problem:
        return None, 0.0, supply
    return velocity.values, velocity.late, supply


def _priors(problem: ActuatorProblem, group: GroupProblem) -> tuple[Vector, Vector]:
    """(p,) means and standard deviations of the coordinates."""
    coordinates = group.coordinates
    mean, std = np.zeros(coordinates.size), np.full(coordinates.size, np.inf)
    ranges = Ranges.of(group)
    for i, (name, joint) in enumerate(coordinates.columns):
        prior = problem.prior(name, joint or coordinates.joints[0])
        if name == "stiffness":
            mean[i], std[i] = np.log(ranges.stiffness), SCALE_PRIOR
            if prior is not None:
                mean[i], std[i] = np.log(prior.mean), prior.std / prior.mean
        elif prior is not None:
            # a ratio's prior is at the middle of the stiffness; it moves little where the scale is known
            scale = np.exp(mean[coordinates.scale]) if coordinates.ratios[i] else 1.0
            mean[i], std[i] = prior.mean / scale, prior.std / scale
    return mean, std


@dataclass(frozen=True)
class Ranges:
    """Sizes that the ranges of a search follow from.

    Args:
        stiffness: middle of its range [N m/rad]. error: rms of "position = command" [rad], largest: its maximum.
    """

    stiffness: float
    error: float
    largest: float

    @classmethod
    def of(cls, group: GroupProblem) -> Ranges:
        errors, torques = [], []
        for strand in group.strands:
            errors.append((strand.command - strand.measured)[strand.mask])
            own = np.gradient(np.gradient(strand.load.posture, strand.steps.middles), strand.steps.middles)
            torques.append(strand.load.load + strand.load.inertia * own)
        error, torque = np.concatenate(errors), np.concatenate(torques)
        rms = max(float(np.sqrt(np.mean(error**2))), 1e-5)
        size = max(float(np.sqrt(np.mean(torque**2))), 1e-4)
        return cls(size / rms * np.sqrt(0.3 * 100.0), rms, max(float(np.abs(error).max()), 1e-4))

    def draw(self, rng: np.random.Generator, coordinates: Coordinates, count: int) -> Matrix:
        """(count, p) points, stratified in every coordinate (Latin hypercube)."""
        p = coordinates.size
        strata = np.stack([rng.permutation(count) for _ in range(p)], axis=1)
        u = (strata + rng.random((count, p))) / count
        stiffness = np.full(count, coordinates.held[0, 0])
        if (k := coordinates.scale) is not None:
            stiffness = self.stiffness * np.exp((u[:, k] - 0.5) * np.log(100.0 / 0.3))
        found = np.zeros((count, p))
        for i, (name, _) in enumerate(coordinates.columns):
            low, high = self.range(name)
            value = low * (high / low) ** u[:, i] if low > 0 else low + (high - low) * u[:, i]
            if name == "stiffness":
                value = np.log(stiffness)
            elif is_scaled(name) and coordinates.scale is None:
                value = value * stiffness
            found[:, i] = value
        return found

    def range(self, name: str) -> tuple[float, float]:
        """Of a coordinate, as a ratio to the stiffness where it is a torque."""
        low, high, size = row_of(name).start
        scale = {"": 1.0, "error": self.error, "largest": self.largest}[size]
        return low * scale, high * scale


CLOSE = 1e-4
"""Decrease of the cost, over the correlation of residuals, up to which a step is the last; at kinks 100 times that, a
seventh of a standard deviation."""

FINE = GaussNewton(max_iterations=30, relative_tolerance=0.0, kink_factor=100.0)
COARSE = GaussNewton(max_iterations=25, relative_tolerance=1e-5, kink_factor=1e4)


@dataclass(frozen=True)
class Search:
    """Several starts, then the iteration.

    Args:
        draws: points that are ranked. refined: of them, that are refined with coarse steps. finished: of those, with
            the steps asked for; but none whose cost with coarse steps is more than `coarse_error` above the least.
        hops: perturbed restarts in a row that must fail to lower the cost by more than `SETTLED` before the search
            ends. Dry friction makes many small minima close to each other.
        coarse_s: longest coarse step [s]; a whole number of them is between two samples. coarse_error: part of the cost
            by which coarse steps may change the order of two minima. seed: of the draws.
        iteration: of the last refinement. coarse: of those before.
    """

    draws: Count = 300
    refined: int = 6
    finished: int = 2
    hops: Annotated[int, Ge(0)] = 6
    coarse_s: float = 0.01
    coarse_error: float = 0.5
    seed: Seed = 0
    iteration: GaussNewton = FINE
    coarse: GaussNewton = COARSE

    def best(
        self,
        group: GroupProblem,
        first: Sequence[Vector] = (),
        *,
        label: str = "",
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Fitted:
        """The best minimum, and the problem with the level of residuals there.

        Args:
            first: (p,) coordinates that are starts in any case.
        """
        rng = np.random.default_rng(self.seed)
        coarse = group.coarse(self.coarse_s)
        points = [*first, *Ranges.of(group).draw(rng, group.coordinates, self.draws)]
        dense = coarse.dense()
        p = group.coordinates.size
        points = [np.clip(x, dense.lower[:p], dense.upper[:p]) for x in points]
        costs: list[float] = []
        for x in points:  # one that is worse than those that will be refined needs no whole simulation
            most = sorted(costs)[self.refined - 1] if len(costs) >= self.refined else np.inf
            costs.append(coarse.cost_up_to(most, coarse.begin(x)))
        ranked = [points[k] for k in np.argsort(costs, kind="stable")[: self.refined]]
        coarse = coarse.at_level_of(coarse.begin(ranked[0]))
        found = []
        for n, x in enumerate(ranked):
            report(progress, f"{label}: starts", fraction=n / len(ranked))
            found.append(self.coarse.minimize(coarse.dense().at(coarse.begin(x)), stop=stop))
            if stop_requested(stop):
                break
        found.sort(key=lambda each: each.at.cost)
        coarse = coarse.at_level_of(found[0].at.x)
        others = [
            each
            for each in found[1 : self.finished]
            if each.at.cost < (1 + self.coarse_error) * found[0].at.cost
        ]
        found = [self.hop(coarse, found[0].at.x, rng, label, progress, stop), *others]
        at = found[0].at.x
        sigma, rate_sigma = coarse.levels(at)[0], group.levels(at)[1]
        group = replace(group, sigma=sigma, rate_sigma=rate_sigma, correlation=coarse.correlation)
        last = [self.refine(group, each.at.x, label=label, progress=progress, stop=stop) for each in found]
        return min(last, key=lambda each: each[1].at.cost)

    def hop(
        self,
        group: GroupProblem,
        z: Vector,
        rng: np.random.Generator,
        label: str,
        progress: ProgressCallback | None,
        stop: Stop | None,
    ) -> Minimum[DenseIterate]:
        """Perturbed restarts until `hops` in a row do not help."""
        dense, failures, ranges = group.dense(), 0, Ranges.of(group)
        found = self.coarse.minimize(dense.at(z), stop=stop)
        p = group.coordinates.size
        for n in range(MAX_HOPS):
            if failures >= self.hops or stop_requested(stop):
                break
            report(progress, f"{label}: perturbed restarts", iteration=n, cost=found.at.cost)
            z = found.at.x.copy()
            H = found.at.normal[0][:p, :p]
            seen = np.diag(H) > 1e-9 * np.diag(H).max()
            scale = np.sqrt(np.diag(H)[seen])
            values, vectors = np.linalg.eigh(H[np.ix_(seen, seen)] / np.outer(scale, scale))
            widths = HOP / np.sqrt(np.maximum(values, 1e-4))
            z[:p][seen] += vectors @ (widths * rng.standard_normal(seen.sum())) / scale
            # a limit that is never reached does not come back by itself
            z[:p][~seen] = ranges.draw(rng, group.coordinates, 1)[0][~seen]
            trial = self.coarse.minimize(dense.at(z), stop=stop)
            better = trial.at.cost < (1 - SETTLED) * found.at.cost
            failures = 0 if better else failures + 1
            if trial.at.cost < found.at.cost:
                found = trial
        return found

    def refine(
        self,
        group: GroupProblem,
        z: Vector,
        *,
        label: str = "",
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Fitted:
        """From one start, with the steps asked for."""
        report(progress, f"{label}: refining")
        # by the standard deviations that the parameters will have
        iteration = replace(self.iteration, absolute_tolerance=CLOSE * group.correlation)
        return group, iteration.minimize(group.dense().at(z), stop=stop)
