"""Guess the channels of columns whose headers say nothing, or that have none, from their numbers.

Columns of one quantity stand beside each other, one for each joint: n neighbours in a table without a header, or n
headers that differ in their numbers only. A block of them is

    positions     if another block is their derivative; without one, any may be
    efforts       if they agree with the description's torque of the positions in half of the joints, beside friction

and the positions count with which efforts agree best: a reference agrees less than what was measured. Of efforts the
first with friction counts, and of others that follow it, as commands of a drive do, the one with the most noise: what
was measured has noise of its own. Joints are in the robot's order, which the agreement confirms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..io.units import convert
from ..models.robot.articulated import Articulated
from .columns import BY_ORDER, ColumnGuess, words_of
from .energy import AGREES, MAX_RATIO_ERROR, EffortAgreement, agreements, effort_factor
from .readings import rate_ratio

Block = tuple[str, ...]

LEAST_FRICTION = 0.05
"""Median over joints of the least part of a motor's power that friction takes."""
MAX_COLUMNS = 200
"""Maximum number of columns that are compared with each other."""


def match_numbers(
    robot: Articulated, table: Mapping[str, np.ndarray], joints: Sequence[str], located: Block, step_s: float
) -> list[ColumnGuess]:
    """Guesses of unnamed columns; none where nothing fits. `table`: column -> (T,) numbers. `joints`: of the robot, in
    its order. `located`: columns of their positions, where headers name them, else empty. `step_s`: sampling interval
    [s].
    """
    moving = {
        name: x for name, x in table.items() if (np.isfinite(x).all() and np.ptp(x) > 0) or name in located
    }
    blocks = [block for block in _blocks([*moving], len(joints)) if block != located][:MAX_COLUMNS]
    rates = {
        a: b
        for a in ([located] if located else blocks)
        for b in reversed(blocks)  # the first one remains
        if a != b and all(rate_ratio(moving[q], moving[v], step_s) for q, v in zip(a, b, strict=True))
    }
    positions = [located] if located else [a for a in rates if a not in rates.values()] or blocks
    best: tuple[float, list[ColumnGuess]] = 0.0, []
    for q in positions:
        others = [block for block in blocks if block != rates.get(q) and not {*block} & {*q}]
        fits = [
            (y, found)
            for y in others
            if (found := _agreements(robot, joints, [moving[x] for x in q], [moving[x] for x in y], step_s))
        ]
        if not fits:
            continue
        y, found = next((fit for fit in fits if _has_friction(fit[1])), fits[0])
        computed = [block for block, fit in fits if not _has_friction(fit)]
        y = _measured(moving, y, [block for block in others if block not in computed])
        agreement = float(np.mean([abs(each.correlation) for each in found.values()]))
        if agreement > best[0]:
            is_torque = abs(np.log(effort_factor(found) or 1.0)) < np.log(MAX_RATIO_ERROR)
            channels = {
                "position": (() if located else q, BY_ORDER),
                "velocity": (rates.get(q, ()), f"{BY_ORDER}, as the derivative of positions"),
                "torque" if is_torque else "current": (
                    y,
                    f"{BY_ORDER}, as it agrees with the description{'' if is_torque else ', but for a gain'}",
                ),
            }
            guesses = [
                ColumnGuess(column, f"{quantity}.{joint}", reason)
                for quantity, (block, reason) in channels.items()
                for column, joint in zip(block, joints, strict=bool(block))
            ]
            best = agreement, guesses
    return best[1]


def _has_friction(found: Mapping[str, EffortAgreement]) -> bool:
    """Whether efforts were measured: those that were computed from a model have no friction."""
    return float(np.median([each.friction_share for each in found.values()])) > LEAST_FRICTION


def _measured(table: Mapping[str, np.ndarray], efforts: Block, others: Sequence[Block]) -> Block:
    """Of efforts and the blocks that follow them in most joints, the one with the most noise."""
    of_one_kind = [
        block
        for block in others
        if np.median(
            [abs(np.corrcoef(table[x], table[y])[0, 1]) for x, y in zip(block, efforts, strict=True)]
        )
        > AGREES
    ]
    return max([efforts, *of_one_kind], key=lambda block: np.median([_roughness(table[x]) for x in block]))


def _roughness(x: np.ndarray) -> float:
    """Size of second differences, mostly noise, as a fraction of the signal's standard deviation."""
    return float(np.median(np.abs(np.diff(x, n=2))) / np.std(x))


def _blocks(columns: Sequence[str], n: int) -> list[Block]:
    """Blocks of n columns of one quantity, in the order of the file."""
    if all(column.isdigit() for column in columns):
        windows = [tuple(columns[k : k + n]) for k in range(len(columns) - n + 1)]
        return [window for window in windows if int(window[-1]) - int(window[0]) == n - 1]
    groups: dict[tuple[str, ...], list[str]] = {}
    for column in columns:
        groups.setdefault(tuple(word for word in words_of(column) if not word.isdigit()), []).append(column)
    return [tuple(group) for group in groups.values() if len(group) == n]


def _agreements(
    robot: Articulated,
    joints: Sequence[str],
    positions: Sequence[np.ndarray],
    efforts: Sequence[np.ndarray],
    step_s: float,
) -> dict[str, EffortAgreement]:
    """Agreements of efforts with the torque of the description, in radians or degrees; empty: they do not agree."""
    for unit in ("rad", "deg"):
        q = np.column_stack(
            [
                convert(x, unit)[0] if robot.position_units[k] == "rad" else x
                for k, x in zip(robot.actuated, positions, strict=True)
            ]
        )
        found = agreements(robot, q, dict(zip(joints, efforts, strict=True)), step_s)
        if found and 2 * sum(each.agrees for each in found.values()) >= len(joints):
            return found
    return {}
