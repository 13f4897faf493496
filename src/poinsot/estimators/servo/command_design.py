"""Design commands that show the actuators of a robot, and predict the intervals that estimation will give.

The motion is a sequence of blocks; in each, every joint moves in one of some shapes, wide or narrow:

chirp      a sine that becomes faster: inertia, damping, delay, and the torque limit at its fast end
steps      sudden changes: delay, gains, the torque limit
sweep      constant slow speed there and back: dry friction in every posture
holds      standing still far from the middle: gravity, and with it the scale of torques

Every shape begins and ends at rest in the middle of its range, and is never faster than it may be. All are simulated
with the actuators that are taken for true. Block by block, each joint gets the shape that raises most

    log det (sum over blocks of J^T J / sigma^2 + priors),       J = d positions / d coordinates

with J and the priors those of the estimator (`search.GroupProblem`): D-optimal, one joint at a time. As no model is
exact, every shape comes once before one comes again. The whole motion
is simulated again, all joints together. Joints that leave their limits, or touch something, move less until none does.
The intervals are those of the information of the whole motion, for white noise sigma; a model that does not move as the
robot makes them wider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Any, TypeAlias

import numpy as np
from annotated_types import Gt, Lt

from ... import Recording
from ...arrays import LARGEST, Brief, JointSamples, Matrix, Times, Vector
from ...exceptions import InvalidMethod, listing
from ...excitation.limits import Limits
from ...models.friction.listed import servo_friction
from ...models.robot.articulated import Articulated
from ...models.robot.collisions import Collisions
from ...models.servo.actuator import LEVEL, Actuator, estimated_parameters, parameter as row_of
from ...models.servo.rollout import JointLoad
from ...ranges import check_ranges
from ...solve import ProgressCallback, report
from .intervals import DETERMINED, size_of
from .problem import OPEN, ActuatorProblem
from .search import GroupProblem, group_problem, is_torque

Finite: TypeAlias = Annotated[float, Gt(0), Lt(LARGEST)]
"""A number above 0 that is not infinite."""

WIDTHS = {"wide": 1.0, "narrow": 0.3}
"""Parts of the range that shapes use."""

UNBOUNDED = np.pi / 2
"""Range to either side of a joint whose position has no limit [rad], [m]."""

SHRINK, SHRINKINGS = 0.85, 20
"""Factor by which a joint moves less where a limit is exceeded, and how often at most."""


@dataclass(frozen=True, eq=False, repr=False)
class CommandDesign(Brief):
    """What is asked for.

    Args:
        robot: with a fixed base. actuators: of its joints that are commanded, as they are taken to be.
        limits: of all its joints; positions count for commands and for the simulated motion, speeds for commands.
        duration_s: at least [s]. rate_hz: of the commands. block_s: of one shape [s].
        noise: standard deviation of a measured position [rad].
        posture: (n,) of all joints where blocks begin and end [rad]; None: the middle of their limits.
        hold, open, held: see `ActuatorProblem`; what is not estimated has the value of the actuator.
        laws: joint -> law of its dry friction.
        collisions: pairs that stay apart. clearance_m: as far as this [m].

    Raises:
        InvalidMethod: if the motion is shorter than a block, or a number is none.
    """

    robot: Articulated
    actuators: tuple[Actuator, ...]
    limits: Limits
    duration_s: Finite = 60.0
    rate_hz: Finite = 50.0
    block_s: Finite = 6.0
    noise: Finite = 1e-3
    posture: Vector | None = None
    hold: bool = True
    open: tuple[str, ...] = OPEN
    held: Mapping[str, float] = field(default_factory=dict)
    laws: Mapping[str, str] = field(default_factory=dict)
    collisions: Collisions | None = None
    clearance_m: float = 0.0

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.duration_s < self.block_s or self.block_s * self.rate_hz < 50:
            raise InvalidMethod(
                f"a motion of {self.duration_s:g} s at {self.rate_hz:g} Hz is too short; write a duration of "
                f"{self.block_s:g} s or more, at a rate of {50 / self.block_s:.3g} Hz or more"
            )
        outside = [
            joint
            for joint, q, low, high in zip(
                self.robot.joints, self.middle, self.limits.lower, self.limits.upper, strict=True
            )
            if not low < q < high
        ]
        if outside:
            raise InvalidMethod(
                f"the posture is not within the position limits of {listing(outside)}; write one that is"
            )

    @cached_property
    def middle(self) -> Vector:
        """(n,) where blocks begin and end [rad]."""
        low, high = self.limits.lower, self.limits.upper
        bounded = np.isfinite(low) & np.isfinite(high)
        middle = np.where(bounded, 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0)), 0.0)
        return np.clip(middle, low, high) if self.posture is None else np.asarray(self.posture, dtype=float)

    @cached_property
    def places(self) -> np.ndarray:
        """(m,) places of the actuators' joints among the robot's."""
        return np.array([self.robot.joints.index(each.name) for each in self.actuators])

    @cached_property
    def range(self) -> Vector:
        """(m,) how far each commanded joint may go to either side [rad]."""
        near = np.minimum(self.limits.upper - self.middle, self.middle - self.limits.lower)[self.places]
        return np.where(np.isfinite(near), near, UNBOUNDED)

    @cached_property
    def speed(self) -> Vector:
        """(m,) of commands [rad/s]."""
        return self.limits.velocity[self.places]

    def problem(self, time: Times, commands: JointSamples) -> ActuatorProblem:
        """The problem that estimation will have of commands (T, m), with commands in place of positions."""
        robot, channels = self.robot, {}
        for k, joint in enumerate(robot.joints):
            channels[f"position.{joint}"] = np.full(len(time), self.middle[k])
        for k, each in enumerate(self.actuators):
            channels[f"position_command.{each.name}"] = commands[:, k]
            channels[f"position.{each.name}"] = commands[:, k]
        held = dict(self.held)
        levels = {}
        for each in self.actuators:
            open_ = {*self.open, *servo_friction()[self.laws.get(each.name, "M1")]}
            # without a limit there is nothing to be found of it
            open_ -= set() if np.isfinite(each.torque_limit) else {"torque_limit"}
            known = {
                name for name in estimated_parameters() if {name, f"{name}.{each.name}"} & set(self.held)
            }
            held |= {
                f"{name}.{each.name}": value
                for name, value in each.values.items()
                if name in known or name not in open_
            }
            held |= {f"ramp.{each.name}": each.ramp} if each.ramp and self.hold else {}
            if each.friction_positions:
                levels[each.name] = each.friction_positions
        units = dict(zip(robot.joints, self.limits.units, strict=True))
        recording = Recording(time, channels, {name: units[name.partition(".")[2]] for name in channels})
        return ActuatorProblem(
            robot, {"designed": recording}, open=self.open, held=held, hold=self.hold,
            friction_positions=levels, step_s=min(0.002, 0.5 / self.rate_hz),
        )  # fmt: skip

    def design(self, *, progress: ProgressCallback | None = None) -> DesignedCommands:
        """Design the commands.

        Raises:
            InvalidMethod: if no motion about the posture keeps within the limits.
        """
        report(progress, "simulating shapes of commands")
        block = np.arange(round(self.block_s * self.rate_hz)) / self.rate_hz
        names = [(shape, width) for shape in SHAPES for width in WIDTHS]
        waves = {
            name: np.stack(
                [
                    SHAPES[name[0]](block, WIDTHS[name[1]] * 0.9 * far, 0.95 * speed)
                    for far, speed in zip(self.range, self.speed, strict=True)
                ],
                axis=1,
            )
            for name in names
        }
        infos: list[list[Matrix]] = [[] for _ in self.actuators]
        priors: list[Matrix] = []
        for name in names:
            groups = self._simulated(block, self.middle[self.places] + waves[name])[1]
            priors = [prior for _, prior in groups]
            for k, (information, _) in enumerate(groups):
                infos[k].append(information)
        count = max(1, round(self.duration_s / self.block_s))
        shapes = [shape for shape, _ in names]
        chosen = [_greedy(each, prior, shapes, count) for each, prior in zip(infos, priors, strict=True)]
        commands = np.stack(
            [np.concatenate([waves[names[c]][:, k] for c in each]) for k, each in enumerate(chosen)], axis=1
        )
        time = np.arange(len(commands)) / self.rate_hz
        return self._within_limits(time, commands, [[" ".join(reversed(names[c])) for c in each] for each in chosen],
                                   progress)  # fmt: skip

    def _within_limits(
        self,
        time: Times,
        waves: JointSamples,
        shapes: Sequence[Sequence[str]],
        progress: ProgressCallback | None,
    ) -> DesignedCommands:
        """Waves (T, m) about the posture, smaller where a limit is exceeded."""
        part = np.ones(len(self.actuators))
        for number in range(SHRINKINGS):
            report(progress, "simulating the motion", iteration=number + 1)
            commands = self.middle[self.places] + part * waves
            positions, _, intervals = self._simulated(time, commands, intervals=True)
            low, high = self.limits.lower[self.places], self.limits.upper[self.places]
            beyond = ~((positions > low) & (positions < high)).all(axis=0)
            distance = np.inf
            if self.collisions is not None and len(self.collisions):
                q = np.tile(self.middle, (len(time), 1))
                q[:, self.places] = positions
                apart = self.collisions.distances(self.robot.configurations(q))
                distance = float(apart.min())
                beyond |= bool((apart < self.collisions.clearances(self.clearance_m)).any())
            if not beyond.any():
                return DesignedCommands(
                    self, time, commands, positions, tuple(map(tuple, shapes)), tuple(part.tolist()), intervals,
                    distance if np.isfinite(distance) else None,
                )  # fmt: skip
            part = np.where(beyond, SHRINK * part, part)
        names = [each.name for each, out in zip(self.actuators, beyond, strict=True) if out]
        raise InvalidMethod(
            f"no motion of {listing(names)} about the posture "
            "keeps within limits and clear of collisions; write another posture, or a smaller clearance"
        )

    def _simulated(
        self, time: Times, commands: JointSamples, *, intervals: bool = False
    ) -> tuple[JointSamples, list[tuple[Matrix, Matrix]], tuple[PredictedInterval, ...]]:
        """Positions (T, m), of each joint its information by the samples and by priors, (p, p) each, and intervals."""
        problem = self.problem(time, commands)
        (motion,) = problem.motions
        by_name = {each.name: each for each in self.actuators}
        actuators = [by_name[joint] for joint in problem.joints]
        start = motion.command[0], np.zeros(len(actuators))
        rollouts, loads, _ = problem.simulate(motion, actuators, start=start)
        at = [problem.joints.index(each.name) for each in self.actuators]
        positions = np.stack([rollouts[k].position for k in at], axis=1)
        if not np.isfinite(positions).all():
            raise InvalidMethod(
                "the simulation of these actuators grows without limit; give those of a result that is to be trusted"
            )
        found: list[tuple[Matrix, Matrix]] = []
        promised: list[PredictedInterval] = []
        for actuator in self.actuators:
            group, x = self._group(problem, actuator, [loads])
            z = group.begin(x)
            J, p = group.jacobian(z), len(x)
            rows = int(group.strands[0].mask.sum())
            found.append((J[:rows, :p].T @ J[:rows, :p], J[rows : rows + p, :p].T @ J[rows : rows + p, :p]))
            if intervals:
                promised += self._intervals(problem, group, x, J)
        return positions, found, tuple(promised)

    def _group(
        self, problem: ActuatorProblem, actuator: Actuator, loads: Sequence[Sequence[JointLoad]]
    ) -> tuple[GroupProblem, Vector]:
        """The estimator's problem of one joint, and its coordinates at the actuator."""
        law = self.laws.get(actuator.name, "M1")
        group = group_problem(problem, (actuator.name,), problem.motions, loads, law)
        group = replace(group, sigma=np.array([self.noise]))
        values = actuator.values | {f"{LEVEL}{k}": x for k, x in enumerate(actuator.friction_levels)}
        x = group.coordinates.from_natural(np.array([values[name] for name, _ in group.coordinates.columns]))
        return group, x

    def _intervals(
        self, problem: ActuatorProblem, group: GroupProblem, x: Vector, J: Matrix
    ) -> list[PredictedInterval]:
        p, coordinates = len(x), group.coordinates
        scale = np.sqrt(np.maximum(np.einsum("ij,ij->j", J, J), 1e-300))
        inverse = np.linalg.pinv((J / scale).T @ (J / scale), rcond=1e-14, hermitian=True)
        of_ratios = (inverse / np.outer(scale, scale))[:p, :p]
        slope, theta = coordinates.slope(x), coordinates.natural(x)
        std = np.sqrt(np.maximum(np.diag(slope @ of_ratios @ slope.T), 0.0))
        scale_known = coordinates.shows_scale(of_ratios)
        joint, found = coordinates.joints[0], []
        unit = problem.units[problem.joints.index(joint)]
        for i, (name, _) in enumerate(coordinates.columns):
            torque = is_torque(name)
            known = bool(std[i] < DETERMINED * size_of(group, name, theta[i])) and (scale_known or not torque)
            found.append(
                PredictedInterval(
                    joint, name, row_of(name).unit_of(unit), float(theta[i]), float(std[i]), known
                )
            )
        return found


@dataclass(frozen=True)
class PredictedInterval:
    """What estimation will give of one parameter.

    Args:
        value: that is taken for true. std: of its estimate, without errors of the description. is_identifiable: whether
            it will be a result of its own.
    """

    joint: str
    parameter: str
    unit: str
    value: float
    std: float
    is_identifiable: bool


@dataclass(frozen=True, eq=False, repr=False)
class DesignedCommands(Brief):
    """Commands, and what they will show.

    Args:
        time: (T,) [s]. commands: (T, m) of the actuators' joints [rad]. positions: (T, m) simulated.
        shapes: joint by joint, the shape of each block. parts: (m,) of the width that was asked for.
        intervals: of all parameters that estimation will have.
        least_distance: to collisions [m]; None where nothing is watched.
    """

    design: CommandDesign
    time: Times
    commands: JointSamples
    positions: JointSamples
    shapes: tuple[tuple[str, ...], ...]
    parts: tuple[float, ...]
    intervals: tuple[PredictedInterval, ...]
    least_distance: float | None

    @property
    def joints(self) -> tuple[str, ...]:
        """(m,) names."""
        return tuple(each.name for each in self.design.actuators)

    @property
    def units(self) -> tuple[str, ...]:
        """(m,) of positions."""
        return tuple(self.design.limits.units[k] for k in self.design.places)

    def as_json(self) -> dict[str, Any]:
        """Schema `poinsot.commands/1`."""
        design = self.design
        speed = np.abs(np.diff(self.commands, axis=0)).max(axis=0) * design.rate_hz
        return {
            "schema": "poinsot.commands/1",
            "robot": design.robot.name,
            "seconds": float(self.time[-1]),
            "rate_hz": design.rate_hz,
            "noise_rad": design.noise,
            "least_distance_m": self.least_distance,
            "joints": [
                {
                    "joint": joint,
                    "unit": self.units[k],
                    "shapes": list(self.shapes[k]),
                    "part_of_range": self.parts[k],
                    "least": float(self.commands[:, k].min()),
                    "largest": float(self.commands[:, k].max()),
                    "least_position": float(self.positions[:, k].min()),
                    "largest_position": float(self.positions[:, k].max()),
                    "largest_speed": float(speed[k]),
                }
                for k, joint in enumerate(self.joints)
            ],
            "parameters": [vars(each) for each in self.intervals],
        }


def _greedy(infos: Sequence[Matrix], prior: Matrix, shapes: Sequence[str], count: int) -> list[int]:
    """Places of `count` blocks, each the one that raises log det of the information most.

    The first ones are of different shapes.
    """
    scale = np.sqrt(np.maximum(np.max([np.diag(each) for each in infos], axis=0), 1e-300))
    unit = np.outer(scale, scale)
    chosen: list[int] = []
    total = prior / unit + 1e-9 * np.eye(len(prior))
    for _ in range(count):
        used = {shapes[k] for k in chosen}
        gains = [
            -np.inf if shape in used and used != set(shapes) else np.linalg.slogdet(total + each / unit)[1]
            for shape, each in zip(shapes, infos, strict=True)
        ]
        chosen.append(int(np.argmax(gains)))
        total = total + infos[chosen[-1]] / unit
    return chosen


TAPER_S = 0.5
LEVELS = (0.4, -0.5, 1.0, -0.2, -1.0, 0.7, 0.0)
"""Of steps, as parts of their amplitude."""

Shape = Callable[[Times, float, float], Vector]
"""(T,) times from 0 [s], amplitude [rad], largest speed [rad/s] -> (T,) distances from the middle [rad]."""


def chirp(time: Times, amplitude: float, speed: float, *, from_hz: float, to_hz: float) -> Vector:
    """A sine whose frequency grows exponentially, smaller where its speed is at the limit."""
    growth = np.log(to_hz / from_hz) / time[-1]
    frequency = from_hz * np.exp(growth * time)
    ends = np.clip(np.minimum(time, time[-1] - time) / TAPER_S, 0.0, 1.0)
    wave = np.minimum(amplitude, 0.8 * speed / (2 * np.pi * frequency)) * ends * ends * (3 - 2 * ends)
    return limited(wave * np.sin(2 * np.pi * (frequency - from_hz) / growth), time, speed)


def steps(time: Times, amplitude: float, speed: float) -> Vector:
    """Sudden changes, each held for a part of the time."""
    seconds = time[-1] / len(LEVELS)
    widest = max(abs(b - a) for a, b in zip((0.0, *LEVELS), LEVELS, strict=False))
    part = np.minimum((time / seconds).astype(int), len(LEVELS) - 1)
    # each level is reached within half of its time
    wave = min(amplitude, 0.5 * speed * seconds / widest) * np.array(LEVELS)[part]
    return limited(wave, time, speed)


def sweep(time: Times, amplitude: float, speed: float, *, part: float) -> Vector:
    """There and back at this part of the largest speed, or as fast as one period needs."""
    periods = max(1, round(time[-1] * part * speed / (4 * amplitude)))
    amplitude = min(amplitude, 0.9 * speed * time[-1] / (4 * periods))
    wave = 2 / np.pi * np.arcsin(np.sin(2 * np.pi * periods * time / time[-1]))
    return limited(amplitude * wave, time, speed)


def holds(time: Times, amplitude: float, speed: float) -> Vector:
    """To one side and to the other at half of the largest speed, and held there."""
    amplitude = min(amplitude, 0.05 * speed * time[-1])
    goal = amplitude * np.where(time < 0.4 * time[-1], 1.0, np.where(time < 0.8 * time[-1], -1.0, 0.0))
    return limited(goal, time, 0.5 * speed)


SHAPES: Mapping[str, Shape] = {
    "slow chirp": partial(chirp, from_hz=0.1, to_hz=1.0),
    "fast chirp": partial(chirp, from_hz=0.5, to_hz=4.0),
    "steps": steps,
    "slow sweep": partial(sweep, part=0.1),
    "sweep": partial(sweep, part=0.4),
    "holds": holds,
}


def limited(wave: Vector, time: Times, speed: float) -> Vector:
    """(T,) that follows a wave from 0 with at most this speed."""
    found, at = np.empty_like(wave), 0.0
    largest = speed * np.diff(time, prepend=time[0])
    for k, goal in enumerate(wave):
        at += min(max(goal - at, -largest[k]), largest[k])
        found[k] = at
    return found
