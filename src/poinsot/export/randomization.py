"""Ranges of actuator parameters for the next recording: what a simulator should vary while a policy is trained.

    theta_i = mu + b_i,  b_i ~ N(0, B)        parameters of recording i: friction differs from day to day
    y_i = theta_i + e_i, e_i ~ N(0, C_i)      their estimates

From n estimates of one recording each, with mean y, sample covariance S and mean covariance C of the estimates,

    B = S - C (its positive part),   cov(theta_{n+1} - y) = B + (B + C) / n

and as S has n - 1 degrees of freedom, 1.96 gives way to Student's quantile. From a single estimate the range is that of
its own standard deviations for the next recording where it has them; else it contains chance alone, which is said.
Sums are over the recordings that determine a parameter, or both of a pair, of which it takes four.

Errors of the description are in no range: a simulator has the same description, and moves like the robot with it.
Parameters that the data do not determine have no range: they keep their value and are named. Where only ratios of
torques are determined, the common scale is held: along it the simulated motion does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .. import Estimate
from ..arrays import Brief, Matrix, Vector
from ..diagnosis.parameters import FEWEST_RECORDINGS
from ..estimate import Trust
from ..estimate.uncertainty import by_chance
from ..estimators.servo.problem import ActuatorProblem
from ..estimators.servo.result import Actuators
from ..estimators.servo.search import is_scaled
from ..exceptions import InvalidMethod, UnreadableFile, UntrustedResult
from ..io.results import write_json
from ..models.servo.actuator import LEVEL, Actuator, actuator_parameters, parameter
from ..statistics import NORMAL_95, student_factor
from .json_files import content_of

SCHEMA = "poinsot.randomization/1"
LEVEL_PERCENT = 95.0


@dataclass(frozen=True)
class Variable:
    """A parameter that is varied.

    Args:
        owner: the joint, or the group of joints that share it. joints: these joints.
        parameter: of `Actuator`, or `friction_level_<k>`. unit: of it.
    """

    owner: str
    joints: tuple[str, ...]
    parameter: str
    unit: str

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.parameter}"

    @property
    def least(self) -> float:
        """Least value that it may have."""
        return parameter(self.parameter).least


@dataclass(frozen=True, eq=False, repr=False)
class Randomization(Brief):
    """A distribution of the actuators of a robot.

    Args:
        actuators: of every joint, at the middle of the distribution.
        variables: (n,) parameters that are varied. values: (n,) their middle. covariance: (n, n) of the next recording.
        undetermined: names of parameters that the data do not determine, which keep their value.
        recordings: how many were estimated. contains_spread: whether `covariance` has the spread between recordings.
    """

    actuators: tuple[Actuator, ...]
    variables: tuple[Variable, ...]
    values: Vector
    covariance: Matrix
    undetermined: tuple[str, ...] = ()
    recordings: int = 1
    contains_spread: bool = False

    @property
    def std(self) -> Vector:
        """(n,) half width of the 95 % range over 1.96, in the units of the variables."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def ranges(self) -> Matrix:
        """(n, 2) lower and upper end of the 95 % range; no parameter is below its least value."""
        half = NORMAL_95 * self.std
        least = np.array([variable.least for variable in self.variables])
        return np.maximum(np.stack([self.values - half, self.values + half], axis=1), least[:, None])

    @property
    def correlation(self) -> Matrix:
        """(n, n)"""
        scale = np.where(self.std > 0, self.std, 1.0)
        return self.covariance / np.outer(scale, scale)

    @cached_property
    def _root(self) -> Matrix:
        values, vectors = np.linalg.eigh(self.correlation)
        return self.std[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))

    def sample(self, rng: np.random.Generator) -> tuple[Actuator, ...]:
        """Actuators of every joint, drawn with their correlations; parameters stop at their least value."""
        drawn = self.values + self._root @ rng.standard_normal(len(self.values))
        changes: dict[str, dict[str, Any]] = {actuator.name: {} for actuator in self.actuators}
        levels = {actuator.name: list(actuator.friction_levels) for actuator in self.actuators}
        for variable, value in zip(self.variables, drawn.tolist(), strict=True):
            for joint in variable.joints:
                if variable.parameter.startswith(LEVEL):
                    levels[joint][int(variable.parameter.removeprefix(LEVEL))] = max(value, variable.least)
                else:
                    changes[joint][variable.parameter] = max(value, variable.least)
        return tuple(
            actuator.updated(changes[actuator.name] | {"friction_levels": tuple(levels[actuator.name])})
            for actuator in self.actuators
        )

    def as_json(self) -> dict[str, Any]:
        """The content of `randomization.json`."""
        joints: dict[str, Any] = {}
        for variable, value, (lower, upper) in zip(
            self.variables, self.values.tolist(), self.ranges.tolist(), strict=True
        ):
            row = {"value": value, "lower": lower, "upper": upper, "unit": variable.unit}
            for joint in variable.joints:
                joints.setdefault(joint, {})[variable.parameter] = row
        return {
            "schema": SCHEMA,
            "level_percent": LEVEL_PERCENT,
            "recordings": self.recordings,
            "contains_spread_between_recordings": self.contains_spread,
            "joints": joints,
            "undetermined": list(self.undetermined),
            "order": [vars(variable) | {"joints": list(variable.joints)} for variable in self.variables],
            "values": self.values.tolist(),
            "std": self.std.tolist(),
            "correlation": self.correlation.tolist(),
            "actuators": [each.content for each in self.actuators],
        }


def write_randomization(randomization: Randomization, path: str | Path) -> None:
    """Write `randomization.json`, complete or not at all."""
    write_json(randomization.as_json(), path)


def read_randomization(path: str | Path) -> Randomization:
    """Read what `write_randomization` wrote.

    Raises:
        UnreadableFile: if the file is damaged, or another one.
    """
    with content_of(path, SCHEMA, "ranges of actuators") as (path, content):
        std, correlation = (
            np.array(content["std"], dtype=float),
            np.array(content["correlation"], dtype=float),
        )
        variables = tuple(
            Variable(each["owner"], tuple(each["joints"]), each["parameter"], each["unit"])
            for each in content["order"]
        )
        values = np.array(content["values"], dtype=float)
        n = len(variables)
        if values.shape != (n,) or std.shape != (n,) or correlation.reshape(n, -1).shape != (n, n):
            raise UnreadableFile(f"{path} is damaged: {n} parameters need {n} values and correlations")
        if not all(np.isfinite(each).all() for each in (values, std, correlation)):
            raise UnreadableFile(f"{path} is damaged: a number is not finite")
        actuators = tuple(Actuator(**_with_tuples(each)) for each in content["actuators"])
        names = {actuator.name: actuator for actuator in actuators}
        for variable in variables:
            _check(path, variable, names)
        return Randomization(
            actuators,
            variables,
            values,
            correlation.reshape(n, n) * np.outer(std, std),
            tuple(map(str, content["undetermined"])),
            int(content["recordings"]),
            bool(content["contains_spread_between_recordings"]),
        )


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _check(path: Path, variable: Variable, actuators: Mapping[str, Actuator]) -> None:
    for joint in variable.joints:
        if joint not in actuators:
            raise UnreadableFile(f"{path} is damaged: it has no actuator {joint!r}")
        number = variable.parameter.removeprefix(LEVEL)
        known = len(actuators[joint].friction_levels)
        if variable.parameter not in actuator_parameters() and not (number.isdigit() and int(number) < known):
            raise UnreadableFile(f"{path} is damaged: an actuator has no parameter {variable.parameter!r}")


def randomization_of(estimates: Estimate | Sequence[Estimate], *, force: bool = False) -> Randomization:
    """Ranges for the next recording.

    Args:
        estimates: of the method `actuators`: one, or at least four of the same robot and parameters, one a recording.
        force: take also those that are not to be used.

    Raises:
        InvalidMethod: if they are of another method, do not fit together, or are two or three.
        UntrustedResult: if one is not to be used.
    """
    given = [estimates] if isinstance(estimates, Estimate) else list(estimates)
    if not given or 1 < len(given) < FEWEST_RECORDINGS:
        raise InvalidMethod(
            f"{len(given)} estimates do not show the spread between recordings; give one estimate of all recordings, "
            f"or at least {FEWEST_RECORDINGS}, one of each"
        )
    for estimate in given:
        if not force and estimate.trust is Trust.not_to_be_used:
            raise UntrustedResult(
                f"no ranges are made of a result that is not to be used: {estimate.findings[0]} To make them all the "
                "same, give force=True."
            )
    scales = _held_scales(given)
    each = [_determined(one, scales) for one in given]
    first = each[0]
    if len(each) == 1:
        return first
    joints = [actuator.name for actuator in first.actuators]
    if any([actuator.name for actuator in one.actuators] != joints for one in each):
        raise InvalidMethod("the estimates are of different joints; give those of one robot")
    places = [{variable.name: k for k, variable in enumerate(one.variables)} for one in each]
    found = {variable.name: variable for one in each for variable in one.variables}
    names = [name for name in found if sum(name in place for place in places) >= FEWEST_RECORDINGS]
    y = np.full((len(each), len(names)), np.nan)
    C = np.full((len(each), len(names), len(names)), np.nan)
    for row, spread, one, named in zip(y, C, each, places, strict=True):
        there = [k for k, name in enumerate(names) if name in named]
        place = [named[names[k]] for k in there]
        row[there] = one.values[place]
        spread[np.ix_(there, there)] = one.covariance[np.ix_(place, place)]
    covariance, middle = next_recording_covariance(y, C), np.nanmean(y, axis=0)
    variables = tuple(found[name] for name in names)
    undetermined = dict.fromkeys([name for one in each for name in one.undetermined if name not in names])
    # At the middle of all recordings, which a draw without chance is.
    without_chance = Randomization(first.actuators, variables, middle, np.zeros_like(covariance))
    actuators = without_chance.sample(np.random.default_rng(0))
    return Randomization(actuators, variables, middle, covariance, tuple(undetermined), len(each), True)


def next_recording_covariance(y: Matrix, C: np.ndarray) -> Matrix:
    """(p, p) covariance of the next recording's parameters about the mean of estimates.

    Args:
        y: (n, p) estimates, one a recording; NaN where it does not determine a parameter.
        C: (n, p, p) their covariances, or (p, p) the same for all.
    """
    seen = np.isfinite(y).astype(float)
    pairs = seen.T @ seen
    counts = np.diag(pairs)
    centred = np.where(seen > 0, y - np.nanmean(y, axis=0), 0.0)
    S = centred.T @ centred / np.maximum(pairs - 1, 1)
    of_pairs = np.nansum(
        np.broadcast_to(C, (len(y), *C.shape[-2:])) * seen[:, :, None] * seen[:, None, :], axis=0
    )
    chance = of_pairs / np.maximum(pairs, 1)
    scale = np.sqrt(np.maximum(np.diag(chance) + np.diag(S), 1e-300))
    S, chance = S / np.outer(scale, scale), chance / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(S - chance)
    B = (vectors * np.maximum(values, 0.0)) @ vectors.T
    student = student_factor(counts)
    # Chance is known by itself; only the spread between recordings is estimated from few numbers.
    share = 1 / np.sqrt(np.outer(counts, counts))
    covariance = np.outer(student, student) * B * (1 + share) + chance * share
    # Each parameter at least as uncertain as one recording leaves it: a small sample may show no spread by chance.
    lift = np.sqrt(np.maximum(np.diag(chance) / np.diag(covariance), 1.0))
    return covariance * np.outer(lift, lift) * np.outer(scale, scale)


def _held_scales(estimates: Sequence[Estimate]) -> dict[str, float]:
    """Owner -> stiffness of the first estimate, where some estimate does not determine the scale of torques."""
    held: dict[str, float] = {}
    for estimate in estimates:
        extra, groups = _parts(estimate)
        for owner in dict.fromkeys(estimate.owners):
            joint = groups.get(owner, (owner,))[0]
            if not extra.scale_known[joint]:
                held.setdefault(owner, _parts(estimates[0])[0][joint].stiffness)
    return held


def _parts(estimate: Estimate) -> tuple[Actuators, dict[str, tuple[str, ...]]]:
    """Its actuators, and the joints of each group that shares parameters."""
    extra, problem = estimate.extra(Actuators), estimate.problem
    if extra is None:
        raise InvalidMethod(
            f"ranges of actuators come from estimates of the method `actuators`, not of {estimate.method!r}"
        )
    return extra, dict(problem.groups) if isinstance(problem, ActuatorProblem) else {}


def _determined(estimate: Estimate, scales: Mapping[str, float]) -> Randomization:
    """What one estimate determines, at the stiffness of `scales` for owners whose scale of torques is held."""
    extra, groups = _parts(estimate)
    rows = list(zip(estimate.owners, estimate.kinds, estimate.units, strict=True))
    # with its own description a simulator moves like the robot, right or wrong
    values, C = np.array(estimate.values, dtype=float), np.array(by_chance(estimate.parameters.uncertainty))
    keep = np.array(estimate.identifiable, dtype=bool)
    following = _next_by_chance(estimate)
    for owner, stiffness in scales.items():
        own = [k for k, row in enumerate(rows) if row[0] == owner]
        torques = [k for k in own if is_scaled(rows[k][1])]
        scale = next((k for k in own if rows[k][1] == "stiffness"), None)
        if scale is None:
            continue
        # Given the stiffness: the ratios to it are what the data determine.
        if C[scale, scale] > 0:
            C = C - np.outer(C[:, scale], C[scale]) / C[scale, scale]
        factor = np.ones(len(values))
        factor[[scale, *torques]] = stiffness / values[scale]
        values, C = values * factor, C * np.outer(factor, factor)
        for k in torques:
            keep[k] = NORMAL_95 * np.sqrt(max(C[k, k], 0.0)) < abs(values[k])
        keep[scale] = False
        following *= factor
    std = np.sqrt(np.maximum(np.diag(C), 0.0))
    known = np.isfinite(following)
    widened = np.divide(following, std, out=np.ones_like(std), where=known & (std > 0))
    C = C * np.outer(widened, widened)
    keep &= np.isfinite(values) & np.isfinite(np.diag(C))
    kept = np.flatnonzero(keep)
    variables = tuple(
        Variable(owner, tuple(groups.get(owner, (owner,))), kind, unit)
        for owner, kind, unit in (rows[k] for k in kept)
    )
    return Randomization(
        extra.actuators,
        variables,
        values[kept],
        C[np.ix_(kept, kept)],
        tuple(f"{rows[k][0]}.{rows[k][1]}" for k in np.flatnonzero(~keep)),
        len(extra.starts),
        bool(len(kept)) and bool(known[kept].all()),
    )


def _next_by_chance(estimate: Estimate) -> Vector:
    """(p,) standard deviations for the next recording without errors of the description; NaN where not known."""
    if (between := estimate.parameters.uncertainty.recordings) is None:
        return np.full(len(estimate.names), np.nan)
    wrong = 0.0 if estimate.systematic_std is None else estimate.systematic_std
    return np.sqrt(np.maximum(np.maximum(between, estimate.std) ** 2 - np.square(wrong), 0.0))
