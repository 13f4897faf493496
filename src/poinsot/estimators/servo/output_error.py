"""Actuators by output error: commands in, positions out, open loop, over whole recordings.

1. Every group of joints alone, along the measured posture, from several starts (`search`).
2. All joints are simulated together; each group again along the simulated posture, from where it was. Where several
   laws of dry friction are given, the recordings choose one for each group there (`friction_choice`). Once more.
3. Intervals for coloured residuals, and which combinations the recordings do not determine (`intervals`).

Where the recordings do not show the scale of a joint's torques, its torque parameters are not identifiable: their
ratios to the stiffness are the result, and the simulator gets the scale where the search ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from scipy import linalg

from ...arrays import JointSamples, Vector
from ...estimate import Certificate, Estimate, Status
from ...estimate.fit import Fit, fit_of
from ...estimate.uncertainty import EstimatedParameters, Uncertainty, condition_numbers
from ...exceptions import InvalidMethod, InvalidModel, MissingExtra, listing, nearest
from ...models.friction.listed import servo_friction
from ...models.servo.actuator import LEVEL, Actuator, parameter as row_of
from ...models.servo.rollout import JointLoad
from ...solve import Method, ProgressCallback, Stop, report, stop_requested
from .effects import ServoErrors
from .examination import examine
from .friction_choice import choose_friction_law
from .intervals import GroupResult
from .problem import ActuatorProblem, CommandedMotion
from .result import Actuators
from .search import SETTLED, Fitted, GroupProblem, Search, group_problem
from .simulated import SimulatedMotions
from .torque_scale import rescaled, torque_scales

R = TypeVar("R")


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

        def search(name: str, joints: Sequence[str]) -> Fitted:
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

            def again(name: str, joints: Sequence[str], law: str, before: Fitted) -> Fitted:
                group = group_problem(problem, joints, motions, loads, law)  # noqa: B023
                group = replace(group, mean=before[0].mean, std=before[0].std).at_level_of(before[1].at.x)
                return self.search.refine(group, before[1].at.x, label=name, progress=progress, stop=stop)

            found = in_threads(
                again, [(*group, *rest) for group, *rest in zip(problem.groups, laws, found, strict=True)]
            )
            if number == 0:
                # loads along the measured posture have the noise of its accelerations

                def choose(name: str, *before: Any) -> tuple[str, Fitted]:
                    return choose_friction_law(
                        problem, motions, loads, before, self.friction_laws, self.search,  # noqa: B023
                        label=name, progress=progress, stop=stop,
                    )  # fmt: skip

                names = [name for name, _ in problem.groups]
                chosen = in_threads(choose, [(name, *each) for name, each in zip(names, found, strict=True)])
                laws, found = [law for law, _ in chosen], [each for _, each in chosen]
        refined = perf_counter()
        report(progress, "intervals")
        results = in_threads(
            GroupResult.of,
            [
                (problem, self.search, name, *each, stop)
                for (name, _), each in zip(problem.groups, found, strict=True)
            ],
        )
        estimate = _estimate(problem, motions, loads, results, laws)
        done = perf_counter()
        seconds = {"starts": searched - begun, "coupled": refined - searched, "intervals": done - refined}
        return estimate.updated(seconds=seconds)


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
    """(n,) actuators, of groups at coordinates z."""
    by_joint: dict[str, Actuator] = {}
    for coordinates, z in ((group.coordinates, z) for group, z in found):
        theta = coordinates.natural(z[: coordinates.size]).tolist()
        for joint, ramp in zip(coordinates.joints, coordinates.ramps, strict=True):
            own: dict[str, Any] = {"ramp": ramp} | {
                name: value
                for (name, owner), value in zip(coordinates.columns, theta, strict=True)
                if owner in ("", joint)
            }
            levels = tuple(own.pop(name) for name in list(own) if name.startswith(LEVEL))
            own |= {"friction_levels": levels} if levels else {}
            by_joint[joint] = problem.held_actuator(joint).updated(own)
    return tuple(by_joint[joint] for joint in problem.joints)


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


def _estimate(
    problem: ActuatorProblem,
    motions: Sequence[CommandedMotion],
    loads: Sequence[Sequence[JointLoad]],
    results: Sequence[GroupResult],
    laws: Sequence[str],
) -> Estimate:
    found = [(each.group, each.z) for each in results]
    unlimited = {joint for each in results if each.absent.any() for joint in each.group.coordinates.joints}
    actuators = tuple(
        actuator.updated({"torque_limit": np.inf} if actuator.name in unlimited else {})
        for actuator in _actuators(problem, found)
    )
    errors = _errors(problem, results, actuators)
    edges = np.cumsum([0, *(len(each.x) for each in results)])
    for name, whole in (("total", errors.of_coordinates), ("between", errors.between_blocks_of_coordinates)):
        if whole is not None:
            results = [
                replace(each, **{name: whole[first:last, first:last]})
                for each, (first, last) in zip(results, pairwise(edges), strict=True)
            ]
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
            owner = joint or each.name
            names.append(f"{owner}.{name}")
            owners.append(owner)
            kinds.append(name)
            units.append(row_of(name).unit_of(each.unit))
    identifiable = np.concatenate([each.identifiable for each in results])
    white, by_chance = (
        linalg.block_diag(*(each.in_units(getattr(each, name)) for each in results))
        for name in ("white", "coloured")
    )
    following = np.concatenate([each.next_std for each in results])
    parameters = EstimatedParameters(
        tuple(names), tuple(units), tuple(owners), tuple(kinds), np.concatenate([each.reported for each in results]),
        tuple(names), identifiable, Uncertainty(
            np.sqrt(np.diag(white)), by_chance, systematic=errors,
            recordings=following if np.isfinite(following).any() else None,
        ),
    )  # fmt: skip
    undetermined = tuple(direction for each in results for direction in each.undetermined())
    worst, scaled = max((condition_numbers(each.information) for each in results), key=lambda pair: pair[1])
    converged = all(each.status.converged for each in results)
    worst_status = next((each.status for each in results if not each.status.converged), Status.solved)
    status = worst_status if not converged else (Status.partly if undetermined else Status.solved)
    every = problem.all_motions
    of_file = _simulated_file(problem, actuators, every, [*starts, *(None for _ in held_out)])
    predicted = of_file or positions
    rms = _rms(problem, every, positions)
    rms_of_file = _rms(problem, every, of_file) if of_file else {}
    extra = Actuators(
        actuators, problem.hold, problem.step_s,
        {joint: each.scale_known for each in results for joint in each.group.coordinates.joints},
        tuple(ratio for each in results for ratio in each.ratios()), rms,
        {motion.name: start for motion, start in zip(motions, starts, strict=True)},
        {joint: law for (_, joints), law in zip(problem.groups, laws, strict=True) for joint in joints},
        np.concatenate([motion.command for motion in motions]), problem.robot, rms_of_file,
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


def _errors(
    problem: ActuatorProblem, results: Sequence[GroupResult], actuators: Sequence[Actuator]
) -> ServoErrors:
    """Effects of the estimate of all groups."""
    at = SimulatedMotions(problem, tuple((each.group, each.z) for each in results), tuple(actuators))
    slope = linalg.block_diag(*(each.group.coordinates.slope(each.x) for each in results))
    return ServoErrors(at, linalg.block_diag(*(each.coloured for each in results)), slope)


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
