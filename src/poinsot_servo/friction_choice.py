"""The law of dry friction of a joint, chosen by the recordings that are fitted.

With J_r the cost of recording r at the minimum of a law, whitened by the level and correlation c of the residuals that
the first law leaves, and N samples,

    gain_r = 2 (J_r of the first law - J_r) / c,        sum of gain_r > (parameters more) ln(N / c)

is the Bayesian information criterion (Schwarz 1978). Most of a servo's residuals are what no law explains, so alone it
would take a law that serves one recording at the cost of another. Friction is the same in all of them: every gain_r
must be above 0 too. Of the laws that pass, that with the largest excess of the sum is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poinsot.arrays import Vector
from poinsot.solve import Minimum, ProgressCallback, Stop, stop_requested
from poinsot.solve.dense import DenseIterate

from .actuator import FRICTION_LAWS
from .problem import ActuatorProblem, Motion
from .rollout import JointLoad
from .search import GroupProblem, Search, group_problem

PART = 0.2
"""Part of dry friction that a further parameter has where its search begins, and dry friction per torque there."""


def choose_friction_law(
    problem: ActuatorProblem,
    motions: Sequence[Motion],
    loads: Sequence[Sequence[JointLoad]],
    found: tuple[GroupProblem, Minimum[DenseIterate]],
    laws: Sequence[str],
    search: Search,
    *,
    label: str = "",
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> tuple[str, tuple[GroupProblem, Minimum[DenseIterate]]]:
    """The law of one group of joints, and the group with it at its minimum.

    Every law contains the first one, whose minimum was searched from several starts: one that explains more near there
    is searched by perturbed restarts from there, and then compared.

    Args:
        found: the group with the first law, at its minimum. laws: names, of `FRICTION_LAWS`.
    """
    chosen, most = (laws[0], found), 0.0
    if len(laws) == 1:
        return chosen
    joints, z = found[0].coordinates.joints, found[1].at.x
    first = found[0].at_level_of(z)
    _, minimum = search.refine(first, z, stop=stop)
    for law in laws[1:]:
        if stop_requested(stop):
            break
        trial = group_problem(problem, joints, motions, loads, law)
        begin = _start(first, minimum.at.x, trial)
        starts = minimum.at.x[first.coordinates.size :]
        _, near = search.refine(_at_level(trial, first), np.concatenate([begin, starts]), stop=stop)
        if excess(first, minimum.at.x, trial, near.at.x) <= 0:
            continue
        trial, best = replace(search, draws=0, refined=1, finished=1).best(
            trial,
            [near.at.x[: trial.coordinates.size]],
            label=f"{label}, {law}",
            progress=progress,
            stop=stop,
        )
        gained = excess(first, minimum.at.x, trial, best.at.x)
        if gained > most:
            chosen, most = (law, (trial, best)), gained
    return chosen


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
    further = {name for law in FRICTION_LAWS.values() for name in law}
    begin = dict.fromkeys(further, PART) | {"stiction": PART * coulomb, "stribeck_speed": 0.1}
    theta = [
        (values[column] if column in values else begin[column[0]])
        * (1 - PART if column[0] == "coulomb" else 1.0)
        for column in trial.coordinates.columns
    ]
    return trial.coordinates.from_natural(np.array(theta))
