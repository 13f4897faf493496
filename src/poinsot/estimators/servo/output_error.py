"""Actuators by output error: commands in, positions out, open loop, over whole recordings.

1. Every group of joints alone, along the measured posture, from several starts (`search`).
2. All joints are simulated together; each group again along the simulated posture, from where it was. Where several
   laws of dry friction are given, the recordings choose one for each group there (`friction_choice`). Once more.
3. Intervals for coloured residuals, and which combinations the recordings do not determine (`uncertainty`).

Where the recordings do not show the scale of a joint's torques, its torque parameters are not identifiable: their
ratios to the stiffness are the result, and the simulator gets the scale where the search ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from scipy import linalg

from ...arrays import JointSamples, Matrix, Vector
from ...estimate import Certificate, Direction, Estimate, Status
from ...estimate.fit import Fit, fit_of
from ...estimate.uncertainty import (
    EstimatedParameters,
    Uncertainty,
    condition_numbers,
    unobservable_directions,
)
from ...exceptions import InvalidMethod, InvalidModel, MissingExtra, listing, nearest
from ...models.friction.listed import servo_friction
from ...models.servo.actuator import LEVEL, Actuator, parameter as row_of
from ...models.servo.rollout import JointLoad
from ...solve import Method, Minimum, ProgressCallback, Stop, report, stop_requested
from ...solve.dense import DenseIterate
from .between_recordings import RecordingsAlone
from .coordinates import is_scaled, is_torque
from .examination import examine
from .friction_choice import choose_friction_law
from .held_description import DescriptionErrors
from .problem import SCALE_KNOWN, ActuatorProblem, CommandedMotion
from .ratios import ratios_of
from .result import Actuators, Ratio
from .search import SETTLED, GroupProblem, Search, group_problem
from .torque_scale import rescaled, torque_scales
from .uncertainty import aligned, coloured_covariance, rounding_products, rounding_step

R = TypeVar("R")

UNKNOWN = 1e6
"""Standard deviation of a coordinate that no sample shows."""

UNLIMITED = 1e9
"""Coordinate of a torque limit that is never reached."""

LIMIT_REACHED = 25.0
"""Twice the log-likelihood that a torque limit must gain to be reported. One that only cuts the highest peak gains
little, and its interval is not symmetric."""

DETERMINED = 1.0
"""A parameter is known if its standard deviation is below its value (its range of starts, where it may be zero)."""


@dataclass(frozen=True, eq=False)
class GroupResult:
    """What was found of one group.

    Args:
        z: coordinates and starts. by_chance, of_description, white: (p, p) covariances of the parameters in their
            units: for coloured residuals, of errors of the description (`held_description`), for white residuals.
        of_ratios, wrong: (p, p) of the coordinates, with both, and by the description alone.
        information: (p, p) whitened normal matrix of the coordinates. scale_known: see `SCALE_KNOWN`.
        identifiable: (p,) of the parameters. unlimited: whether the samples are as likely without a torque limit.
        alone: each recording alone. next_std: (p,) of the parameters for the next recording; NaN where it is not known.
    """

    group: GroupProblem
    z: Vector
    status: Status
    iterations: int
    by_chance: Matrix
    of_description: Matrix
    white: Matrix
    of_ratios: Matrix
    wrong: Matrix
    information: Matrix
    scale_known: bool
    identifiable: np.ndarray
    unlimited: bool
    alone: RecordingsAlone
    next_std: Vector

    @property
    def x(self) -> Vector:
        return self.z[: self.group.coordinates.size]

    @property
    def natural(self) -> Vector:
        """(p,) in their units."""
        return self.group.coordinates.natural(self.x)

    @property
    def reported(self) -> Vector:
        """(p,) the same, NaN for a torque limit that is not reached."""
        absent = [self.unlimited and name == "torque_limit" for name, _ in self.group.coordinates.columns]
        return np.where(absent, np.nan, self.natural)


@dataclass(frozen=True)
class OutputError(Method):
    """The method.

    Args:
        search: several starts, and the iteration.
        rounds: how often each group is estimated again along the simulated posture.
        friction_laws: names of `servo_friction`; a joint has the first one unless its recordings ask for another.

    Raises:
        InvalidMethod: if there is no law of a name.
    """

    search: Search = field(default_factory=Search)
    rounds: int = 2
    friction_laws: Sequence[str] = ("M1",)

    def __post_init__(self) -> None:
        known = servo_friction()
        for law in self.friction_laws or ("",):
            if law not in known:
                raise InvalidMethod(
                    f"there is no law of friction {law!r}{nearest(law, known)}; write friction_laws = "
                    f'["M1"], or several of {listing(tuple(known))}'
                )

    def solve(
        self, problem: ActuatorProblem, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """The actuators of a robot; twice, where measured torques show a scale that positions do not.

        Args:
            progress: called before each stage. stop: asked between iterations.
        """
        estimate = self._solve(problem, progress, stop)
        found = estimate.extra(Actuators)
        assert found is not None
        if stop_requested(stop) or not (scales := torque_scales(problem, found)):
            return estimate
        scaled = rescaled(problem, found, scales)
        if scaled.priors == problem.priors:
            return estimate.updated(examiner=lambda each: examine(each, scaled))
        report(progress, "with the scale of the measured torques")
        nearby = replace(self, search=replace(self.search, draws=0, refined=1, finished=1, hops=0), rounds=1)
        again = nearby._solve(scaled, progress, stop)
        return again.updated(seconds={name: s + estimate.seconds[name] for name, s in again.seconds.items()})

    def _solve(
        self, problem: ActuatorProblem, progress: ProgressCallback | None, stop: Stop | None
    ) -> Estimate:
        begun = perf_counter()
        report(progress, "computing loads along the measured posture")
        motions = problem.motions
        loads = [problem.measured_loads(motion) for motion in motions]

        laws = [self.friction_laws[0]] * len(problem.groups)

        def search(name: str, joints: Sequence[str]) -> tuple[GroupProblem, Minimum[DenseIterate]]:
            group = group_problem(problem, joints, motions, loads, laws[0])
            return self.search.best(
                group, _first_guess(problem, group), label=name, progress=progress, stop=stop
            )

        found = in_threads(search, problem.groups)
        searched = perf_counter()
        for number in range(self.rounds):
            if stop_requested(stop):
                break
            report(progress, "along the simulated posture", iteration=number + 1)
            points = [(group, minimum.at.x) for group, minimum in found]
            actuators = _actuators(problem, points)
            loads = [
                problem.simulate(
                    motion, actuators, start=_starts(problem, points, k), loads=loads[k], tolerance=1e-5
                )[1]
                for k, motion in enumerate(motions)
            ]

            def again(
                group: tuple[str, Sequence[str]], law: str, before: tuple[GroupProblem, Minimum[DenseIterate]]
            ) -> tuple[GroupProblem, Minimum[DenseIterate]]:
                return self._again(problem, *group, law, motions, loads, before, progress, stop)  # noqa: B023

            found = in_threads(again, list(zip(problem.groups, laws, found, strict=True)))
            if number == 0:
                # loads along the measured posture have the noise of its accelerations

                def choose(name: str, *before: Any) -> tuple[str, tuple[GroupProblem, Minimum[DenseIterate]]]:
                    return choose_friction_law(
                        problem, motions, loads, before, self.friction_laws, self.search,  # noqa: B023
                        label=name, progress=progress, stop=stop,
                    )  # fmt: skip

                names = [name for name, _ in problem.groups]
                chosen = in_threads(choose, [(name, *each) for name, each in zip(names, found, strict=True)])
                laws, found = [law for law, _ in chosen], [each for _, each in chosen]
        refined = perf_counter()
        report(progress, "intervals")
        errors = DescriptionErrors.of(problem, motions)
        results = in_threads(_result, [(problem, errors, self.search, *each, stop) for each in found])
        estimate = _estimate(problem, motions, loads, results, laws)
        done = perf_counter()
        seconds = {"starts": searched - begun, "coupled": refined - searched, "intervals": done - refined}
        return estimate.updated(seconds=seconds)

    def _again(
        self,
        problem: ActuatorProblem,
        name: str,
        joints: Sequence[str],
        law: str,
        motions: Sequence[CommandedMotion],
        loads: Sequence[Sequence[JointLoad]],
        before: tuple[GroupProblem, Minimum[DenseIterate]],
        progress: ProgressCallback | None,
        stop: Stop | None,
    ) -> tuple[GroupProblem, Minimum[DenseIterate]]:
        group = group_problem(problem, joints, motions, loads, law)
        group = replace(group, mean=before[0].mean, std=before[0].std).at_level_of(before[1].at.x)
        return self.search.refine(group, before[1].at.x, label=name, progress=progress, stop=stop)


def _first_guess(problem: ActuatorProblem, group: GroupProblem) -> list[Vector]:
    """The start that the user gave, where it names every coordinate that has no obvious one."""
    coordinates = group.coordinates
    joint = coordinates.joints[0]
    values = [problem.setting(problem.start, name, owner or joint) for name, owner in coordinates.columns]
    if all(value is None for value in values):
        return []
    middle = coordinates.natural(np.where(np.isfinite(group.std), group.mean, 0.0))
    theta = np.array([m if value is None else value for m, value in zip(middle, values, strict=True)])
    return [coordinates.from_natural(theta)]


def _actuators(
    problem: ActuatorProblem, found: Sequence[tuple[GroupProblem, Vector]]
) -> tuple[Actuator, ...]:
    by_joint: dict[str, Actuator] = {}
    for group, z in found:
        by_joint |= actuators_of(problem, group, z)
    return tuple(by_joint[joint] for joint in problem.joints)


def actuators_of(problem: ActuatorProblem, group: GroupProblem, z: Vector) -> dict[str, Actuator]:
    """Joint -> actuator of a group at coordinates z."""
    coordinates, found = group.coordinates, {}
    theta = coordinates.natural(z[: coordinates.size])
    for joint in coordinates.joints:
        own = {
            name: float(value)
            for (name, owner), value in zip(coordinates.columns, theta, strict=True)
            if owner in ("", joint)
        }
        levels = tuple(value for name, value in own.items() if name.startswith(LEVEL))
        plain: dict[str, Any] = {name: x for name, x in own.items() if not name.startswith(LEVEL)}
        found[joint] = problem.held_actuator(joint).updated(
            plain | ({"friction_levels": levels} if levels else {})
        )
    return found


def _starts(
    problem: ActuatorProblem, found: Sequence[tuple[GroupProblem, Vector]], motion: int
) -> tuple[Vector, Vector]:
    """(n,) positions and velocities where a motion's simulation starts, of groups at coordinates z."""
    q, v = np.zeros(len(problem.joints)), np.zeros(len(problem.joints))
    for group, z in found:
        joints, p = group.coordinates.joints, group.coordinates.size
        for n, joint in enumerate(joints):
            at = p + 2 * (motion * len(joints) + n)
            q[problem.joints.index(joint)], v[problem.joints.index(joint)] = z[at : at + 2]
    return q, v


def in_threads(function: Callable[..., R], arguments: Sequence[Sequence[Any]]) -> list[R]:
    """The function of every tuple of arguments, on all cores; rollouts do not hold Python's lock."""
    with ThreadPoolExecutor(min(len(arguments), os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda each: function(*each), arguments))


def _result(
    problem: ActuatorProblem,
    errors: DescriptionErrors,
    search: Search,
    group: GroupProblem,
    minimum: Minimum[DenseIterate],
    stop: Stop | None,
) -> GroupResult:
    """Intervals of one group, over all that its scale may be."""
    coordinates, z, status, iterations = group.coordinates, minimum.at.x, minimum.status, minimum.iterations
    group = group.at_level_of(z)
    p = coordinates.size
    free = None if stop_requested(stop) else _without_limit(problem, errors, search, group, z)
    unlimited = free is not None
    if free is not None:
        z, status, iterations = free.at.x, free.status, iterations + free.iterations
        group = group.at_level_of(z)
    # at a kink no step of the linearization lowers the cost, and the minimum is told by trying
    if stop_requested(stop):
        status = Status.interrupted
    elif status in (Status.stalled, Status.step_limit) and group.largest_decrease(z) < SETTLED:
        status = Status.solved
    coloured, white, H = _covariances(group, z)
    scale_known = True
    if coordinates.has_scale:
        k = coordinates.columns.index(("stiffness", ""))
        scale_known = bool(np.sqrt(coloured[k, k]) < SCALE_KNOWN)
    x = z[:p]
    slope, theta = coordinates.slope(x), coordinates.natural(x)
    by_chance, of_white = slope @ coloured[:p, :p] @ slope.T, slope @ white[:p, :p] @ slope.T
    wrong = errors.covariance(problem, group, z)[:p, :p]
    of_description = slope @ wrong @ slope.T
    std = np.sqrt(np.diag(by_chance + of_description))
    size = np.array(
        [_size(group, name, value) for (name, _), value in zip(coordinates.columns, theta, strict=True)]
    )
    identifiable = (std < DETERMINED * size) & (std > 0)
    names = [name for name, _ in coordinates.columns]
    absent = np.array([unlimited and name == "torque_limit" for name in names])
    identifiable &= ~absent
    alone = RecordingsAlone.of(
        group, z, lambda *at: _covariances(*at)[0], search, scale_known=scale_known, stop=stop
    )

    def natural(x: Vector) -> tuple[Vector, Matrix]:
        return coordinates.natural(x), coordinates.slope(x)

    following = np.hypot(alone.next_std(natural, theta, size), np.sqrt(np.diag(of_description)))
    # at a scale that is held torques have less than their own intervals, which contain all scales
    without_scale = np.array([not scale_known and is_torque(name) for name in names])
    following = np.where(without_scale, following, np.maximum(following, std))
    following[absent] = np.nan
    return GroupResult(
        group, z, status, iterations, by_chance, of_description, of_white, coloured[:p, :p] + wrong, wrong, H[:p, :p],
        scale_known, identifiable, unlimited, alone, following,
    )  # fmt: skip


def _without_limit(
    problem: ActuatorProblem, errors: DescriptionErrors, search: Search, group: GroupProblem, z: Vector
) -> Minimum[DenseIterate] | None:
    """The minimum without a torque limit, where an open one explains no more than chance or the description do.

    Wrong masses or a tilted base bend a slow motion as a limit does, so both minima are compared with the errors of the
    description open, too. None: the limit is reached.
    """
    columns = group.coordinates.columns
    if ("torque_limit", "") not in columns:
        return None
    without = z.copy()
    without[columns.index(("torque_limit", ""))] = UNLIMITED
    _, found = search.refine(group, without)

    def gain(cost: Callable[[Vector], float]) -> float:
        return 2 * (cost(found.at.x) - cost(z)) / group.correlation

    reached = gain(lambda each: group.dense().at(each).cost) > LIMIT_REACHED and (
        gain(lambda each: errors.least_cost(problem, group, each)) > LIMIT_REACHED
    )
    return None if reached else found


def _size(group: GroupProblem, name: str, value: float) -> float:
    """What a parameter's standard deviation is compared with."""
    if name in ("zero", "delay", "lag", "dead_band", "backlash"):
        rate = group.strands[0].steps
        interval = float(np.median(np.diff(rate.time)))
        return interval if name in ("delay", "lag") else 10 * float(group.sigma.max())
    return abs(value)


def _covariances(group: GroupProblem, z: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Of all unknowns for coloured and for white residuals, and the normal matrix."""
    J, r = group.jacobian(z), group.residuals(z)
    samples = len(r) - group.size
    # positions and velocities of every strand
    ends = np.cumsum([count for each in group.strands for count in each.rows])[:-1]
    H = J.T @ J
    # without any effect on the samples: known to no accuracy
    seen = np.diag(H) > 1e-16 * np.diag(H).max()
    scale = np.sqrt(np.diag(H)[seen])
    blocks = [each / scale for each in np.split(J[:samples, seen], ends)]
    priors = J[samples:, seen] / scale
    parts = np.split(r[:samples], ends)
    rounding = np.zeros((len(scale), len(scale)))
    for strand, rollout, block in zip(group.strands, group.rollouts(z), blocks[::2], strict=True):
        measured, position = strand.measured[strand.mask], rollout.position[strand.mask]
        rms, level = float(np.sqrt(np.mean((measured - position) ** 2))), float(group.sigma[strand.joint])
        rounding += rounding_products(block, position, rounding_step(measured), rms, level)
    prior = priors.T @ priors + 1e-14 * np.eye(len(scale))
    found = []
    rates = tuple(
        (aligned(block, strand.rate_mask[strand.mask]), aligned(part, strand.rate_mask[strand.mask]))
        for strand, block, part in zip(group.strands, blocks[1::2], parts[1::2], strict=True)
        if strand.rate is not None
    )
    for each in coloured_covariance(
        blocks[::2],
        parts[::2],
        prior,
        group.correlation,
        rounding,
        rates if len(rates) == len(group.strands) else (),
    ):
        whole = np.diag(np.where(seen, 0.0, UNKNOWN**2))
        whole[np.ix_(seen, seen)] = each / np.outer(scale, scale)
        found.append(whole)
    return found[0], found[1], H


def _estimate(
    problem: ActuatorProblem,
    motions: Sequence[CommandedMotion],
    loads: Sequence[Sequence[JointLoad]],
    results: Sequence[GroupResult],
    laws: Sequence[str],
) -> Estimate:
    actuators_by_joint: dict[str, Actuator] = {}
    for each in results:
        own = actuators_of(problem, each.group, each.z)
        limit = (
            {"torque_limit": np.inf}
            if each.unlimited and "torque_limit" in each.group.coordinates.open
            else {}
        )
        actuators_by_joint |= {joint: actuator.updated(limit) for joint, actuator in own.items()}
    actuators = tuple(actuators_by_joint[joint] for joint in problem.joints)
    found = [(each.group, each.z) for each in results]
    starts = [_starts(problem, found, k) for k in range(len(motions))]
    simulated = [
        problem.simulate(motion, actuators, start=start, loads=each)[0]
        for motion, start, each in zip(motions, starts, loads, strict=True)
    ]
    held_out = [problem.simulate(motion, actuators)[0] for motion in problem.held_out_motions]
    positions = [
        np.stack([each.position for each in rollouts], axis=1) for rollouts in (*simulated, *held_out)
    ]
    names, owners, kinds, units = [], [], [], []
    for each in results:
        for name, joint in each.group.coordinates.columns:
            owner = joint or _group_name(problem, each)
            names.append(f"{owner}.{name}")
            owners.append(owner)
            kinds.append(name)
            position_unit = problem.units[problem.joints.index(each.group.coordinates.joints[0])]
            units.append(row_of(name).unit_of(position_unit))
    identifiable = np.concatenate([_identifiable(each) for each in results])
    white = np.sqrt(np.concatenate([np.diag(each.white) for each in results]))
    by_chance, of_description = (
        linalg.block_diag(*parts)
        for parts in zip(*((each.by_chance, each.of_description) for each in results), strict=True)
    )
    following = np.concatenate([each.next_std for each in results])
    parameters = EstimatedParameters(
        tuple(names), tuple(units), tuple(owners), tuple(kinds), np.concatenate([each.reported for each in results]),
        tuple(names), identifiable, Uncertainty(
            white, by_chance, description=of_description,
            recordings=following if np.isfinite(following).any() else None,
        ),
    )  # fmt: skip
    undetermined = tuple(direction for each in results for direction in _undetermined(problem, each))
    worst, scaled = max((condition_numbers(each.information) for each in results), key=lambda pair: pair[1])
    converged = all(each.status.converged for each in results)
    worst_status = next((each.status for each in results if not each.status.converged), Status.solved)
    status = worst_status if not converged else (Status.partly if undetermined else Status.solved)
    every = (*motions, *problem.held_out_motions)
    of_file = _simulated_file(problem, actuators, every, [*starts, *(None for _ in held_out)])
    predicted = of_file or positions
    rms = _rms(problem, every, positions)
    rms_of_file = _rms(problem, every, of_file) if of_file else {}
    extra = Actuators(
        actuators, problem.hold, problem.step_s,
        {joint: each.scale_known for each in results for joint in each.group.coordinates.joints},
        tuple(ratio for each in results for ratio in _ratios(problem, each)), rms,
        {motion.name: start for motion, start in zip(motions, starts, strict=True)},
        {joint: law for (_, joints), law in zip(problem.groups, laws, strict=True) for joint in joints},
        np.concatenate([motion.command for motion in motions]), problem.robot, by_chance,
        rms_of_file,
    )  # fmt: skip
    estimate = Estimate(
        "actuators", problem.robot.name, parameters, status, worst, sum(int(m.measured.size) for m in motions),
        _fit(problem, motions, predicted[: len(motions)]), scaled, max(each.iterations for each in results),
        undetermined=undetermined,
        validation=tuple(
            _fit(problem, [motion], [q])
            for motion, q in zip(problem.held_out_motions, predicted[len(motions) :], strict=True)
        ),
        certifier=_certifier(results),
        examiner=lambda each: examine(each, problem),
    )  # fmt: skip
    return estimate.updated(extra, described=problem.robot.described)


def _rms(
    problem: ActuatorProblem, motions: Sequence[CommandedMotion], simulated: Sequence[JointSamples]
) -> dict[str, dict[str, float]]:
    """Recording -> joint -> root mean square error of simulated positions (T, n) [rad]."""
    found = {}
    for motion, position in zip(motions, simulated, strict=True):
        errors = np.sqrt(np.nanmean((motion.measured - position) ** 2, axis=0))
        found[motion.name] = dict(zip(problem.joints, errors.tolist(), strict=True))
    return found


def _simulated_file(
    problem: ActuatorProblem,
    actuators: Sequence[Actuator],
    motions: Sequence[CommandedMotion],
    starts: Sequence[tuple[Vector, Vector] | None],
) -> list[JointSamples]:
    """(T, n) positions of the MuJoCo file in every motion, open loop, all joints together; empty: it has none."""
    if problem.joints != problem.robot.joints:  # in the file, joints without an actuator are passive
        return []
    try:
        from ...simulation.actuators import Simulator, recorded_motion, roll_out_all

        simulator = Simulator.of(problem.robot, actuators, hold=problem.hold)
    except (MissingExtra, InvalidModel):
        return []
    pairs = zip(motions, starts, strict=True)
    found = roll_out_all((simulator, recorded_motion(motion, actuators, start)) for motion, start in pairs)
    return found if all(np.isfinite(each).all() for each in found) else []


def _group_name(problem: ActuatorProblem, result: GroupResult) -> str:
    joints = result.group.coordinates.joints
    return next(name for name, each in problem.groups if each == joints)


SMALLEST = 1e-6
"""Size of a ratio that was estimated as 0."""


def _identifiable(result: GroupResult) -> np.ndarray:
    """(p,) with torques that have no scale as not identifiable."""
    found = result.identifiable.copy()
    if not result.scale_known:
        for i, (name, _) in enumerate(result.group.coordinates.columns):
            if is_torque(name):
                found[i] = False
    return found


def _undetermined(problem: ActuatorProblem, result: GroupResult) -> list[Direction]:
    """The scale of torques, and combinations of the other coordinates that are not determined.

    Combinations are eigenvectors of the covariance in units of the parameters' sizes, with eigenvalues above 1.
    """
    owner, group = _group_name(problem, result), result.group
    columns, found = group.coordinates.columns, []
    torques = [name for name, _ in columns if is_torque(name)]
    if not result.scale_known:
        found.append(
            Direction(f"common scale of {', '.join(f'{owner}.{name}' for name in torques)}", "unexcited")
        )
    if result.unlimited:
        found.append(Direction(f"{owner}.torque_limit (hardly reached)", "unexcited"))
    kept = [
        k
        for k, (name, _) in enumerate(columns)
        if name != "stiffness" and not (name == "torque_limit" and result.unlimited)
    ]
    if not kept:
        return found
    has_scale = group.coordinates.has_scale
    names = [
        f"{joint or owner}.{name}" + (" / stiffness" if has_scale and is_scaled(name) else "")
        for name, joint in (columns[k] for k in kept)
    ]
    size = np.array([max(_size(group, columns[k][0], float(result.x[k])), SMALLEST) for k in kept])
    relative = result.of_ratios[np.ix_(kept, kept)] / np.outer(size, size)
    values, vectors = np.linalg.eigh(relative)
    open_ = vectors[:, values > DETERMINED**2] * size[:, None]
    return found + list(unobservable_directions(names, size, open_, ()))


def _ratios(problem: ActuatorProblem, result: GroupResult) -> list[Ratio]:
    coordinates = result.group.coordinates
    unit = problem.units[problem.joints.index(coordinates.joints[0])]
    absent = "torque_limit" if result.unlimited else ""
    return ratios_of(
        _group_name(problem, result),
        unit,
        coordinates,
        result.x,
        result.of_ratios,
        result.wrong,
        result.alone,
        absent,
    )


def _fit(
    problem: ActuatorProblem, motions: Sequence[CommandedMotion], simulated: Sequence[JointSamples]
) -> Fit:
    measured, predicted = np.concatenate([motion.measured for motion in motions]), np.concatenate(simulated)
    counts = [len(motion.steps.time) for motion in motions]
    return fit_of(
        np.concatenate([motion.steps.time for motion in motions]),
        problem.joints,
        problem.units,
        measured,
        predicted,
        counts=counts,
        recording=motions[0].name if len(motions) == 1 else "",
    )


def _certifier(results: Sequence[GroupResult]) -> Callable[[Estimate], Certificate]:
    def certify(estimate: Estimate) -> Certificate:
        """Largest part of a group's cost that a change of one parameter takes away, at the estimate's values; bounds.

        Dry friction makes kinks, where the gradient of the least cost is not zero.
        """
        stationarity, feasible, first = 0.0, True, 0
        for each in results:
            group, p = each.group, each.group.coordinates.size
            # NaN stands for no torque limit
            theta = np.where(np.isfinite(each.reported), estimate.values[first : first + p], each.natural)
            first += p
            z = np.concatenate([group.coordinates.from_natural(theta), each.z[p:]])
            dense = group.dense()
            feasible &= bool((z >= dense.lower).all() and (z <= dense.upper).all())
            stationarity = max(stationarity, group.largest_decrease(z))
        return Certificate(stationarity, feasible, tolerance=SETTLED)

    return certify
