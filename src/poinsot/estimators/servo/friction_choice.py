"""The law of dry friction of a joint, chosen by the recordings that are fitted.

With J_r the cost of recording r at the minimum of a law, whitened by the level and correlation c of the residuals that
the first law leaves, and N samples,

    gain_r = 2 (J_r of the first law - J_r) / c,        sum of gain_r > (parameters more) ln(N / c)

is the Bayesian information criterion (Schwarz 1978). Most of a servo's residuals are what no law explains, so alone it
would take a law that serves one recording at the cost of another. Friction is the same in all of them: every gain_r
must be above 0 too. Laws are ranked by their excess with coarse steps of the simulation; the first of them that passes
with the steps asked for is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Vector
from ...models.servo.actuator import parameter as row_of
from ...models.servo.rollout import JointLoad
from ...solve import ProgressCallback, Stop, stop_requested
from .problem import ActuatorProblem, CommandedMotion
from .search import Fitted, GroupProblem, Search, group_problem

PART = 0.2
"""Part of dry friction that a further parameter has where its search begins, and dry friction per torque there."""


def choose_friction_law(
    problem: ActuatorProblem,
    motions: Sequence[CommandedMotion],
    loads: Sequence[Sequence[JointLoad]],
    found: Fitted,
    laws: Sequence[str],
    search: Search,
    *,
    label: str = "",
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> tuple[str, Fitted]:
    """The law of one group of joints, and the group with it at its minimum.

    Every law contains the first one, whose minimum was searched from several starts: one that explains more near there
    is searched by perturbed restarts from there, and then compared.

    Args:
        found: the group with the first law, at its minimum. laws: names, of `servo_friction`.
    """
    if len(laws) == 1:
        return laws[0], found
    joints, z = found[0].coordinates.joints, found[1].at.x
    first = found[0].at_level_of(z)
    coarse_first = first.coarse(search.coarse_s).at_level_of(z)
    coarse_minimum = search.coarse.minimize(coarse_first.dense().at(z), stop=stop).at.x
    ranked: list[tuple[float, str, GroupProblem, Vector]] = []
    for law in laws[1:]:
        trial = group_problem(problem, joints, motions, loads, law)
        coarse = _at_level(trial.coarse(search.coarse_s), coarse_first)
        begin = np.concatenate(
            [_start(first, coarse_minimum, trial), coarse_minimum[first.coordinates.size :]]
        )
        near = search.coarse.minimize(coarse.dense().at(begin), stop=stop).at.x
        gained = excess(coarse_first, coarse_minimum, coarse, near)
        if gained > 0:
            ranked.append((gained, law, trial, near[: trial.coordinates.size]))
    minimum = search.refine(first, z, stop=stop)[1].at.x if ranked else z
    for _, law, trial, x in sorted(ranked, key=lambda each: -each[0]):
        if stop_requested(stop):
            break
        trial, best = replace(search, draws=0, refined=1, finished=1).best(
            trial, [x], label=f"{label}, {law}", progress=progress, stop=stop
        )
        if excess(first, minimum, trial, best.at.x) > 0:
            return law, (trial, best)
    return laws[0], found


def excess(first: GroupProblem, z: Vector, trial: GroupProblem, other: Vector) -> float:
    """What a law gains over the first beyond chance; -inf where it is worse in a recording.

    Args:
        first, trial: the group with the first law and with another. z, other: unknowns of both.
    """
    gains = costs_by_recording(first, z) - costs_by_recording(_at_level(trial, first), other)
    samples = sum(sum(strand.rows) for strand in first.strands)
    more = trial.coordinates.size - first.coordinates.size
    if (gains <= 0).any():
        return -np.inf
    return float(2 * gains.sum() / first.correlation - more * np.log(max(samples / first.correlation, 2.0)))


def _at_level(group: GroupProblem, first: GroupProblem) -> GroupProblem:
    return replace(group, sigma=first.sigma, rate_sigma=first.rate_sigma, correlation=first.correlation)


def costs_by_recording(group: GroupProblem, z: Vector) -> Vector:
    """(R,) cost of each recording's samples at z (size,)."""
    ends = np.cumsum([sum(strand.rows) for strand in group.strands])
    parts = np.split(group.residuals(z)[: ends[-1]], ends[:-1])
    return np.array([0.5 * float(r @ r) for r in parts]).reshape(-1, len(group.sigma)).sum(axis=1)


def _start(first: GroupProblem, z: Vector, trial: GroupProblem) -> Vector:
    """(p,) coordinates of a group with a further law, where a part of its dry friction is of this law."""
    old = first.coordinates
    values = dict(zip(old.columns, old.natural(z[: old.size]), strict=True))
    coulomb = values.get(("coulomb", ""), 0.0)

    def begin(name: str) -> float:
        row = row_of(name)
        return row.default or (PART * coulomb if row.is_torque else PART)

    theta = [
        (values[column] if column in values else begin(column[0]))
        * (1 - PART if column[0] == "coulomb" else 1.0)
        for column in trial.coordinates.columns
    ]
    return trial.coordinates.from_natural(np.array(theta))
