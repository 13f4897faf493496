"""Gains of controllers that a log has beside position commands, as Unitree's `MotorCmd` (kp, kd)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..arrays import carried_on
from ..inspection.columns import ColumnGuess
from ..io.sources import Columns

GAINS = {"kp": "stiffness", "kd": "velocity_gain"}
"""Fields beside a position command (Unitree's `MotorCmd`) -> parameters of an actuator."""


def gain_fields(matched: Sequence[ColumnGuess], columns: Sequence[str]) -> dict[str, dict[str, str]]:
    """Joint -> field -> column, of messages and tables that have gains beside a position command.

    A column of a message is MESSAGE/FIELD; in a table it has the name of the command with one word changed.
    """
    wanted, fields = (*GAINS, "dq", "tau"), {}
    by_lower = {name.lower(): name for name in columns}
    for each in matched:
        if each.quantity != "position_command":
            continue
        words = re.split(r"([/._ ])", each.column)
        for k in range(len(words) - 1, -1, -2):  # the last word of a message is its field
            names = {key: "".join([*words[:k], key, *words[k + 1 :]]).lower() for key in wanted}
            own = {key: by_lower[name] for key, name in names.items() if name in by_lower}
            if GAINS.keys() <= own.keys():
                fields[each.owner] = own
                break
    return fields


def first_number(x: np.ndarray) -> float:
    """The first finite number; NaN: there is none."""
    known = x[np.isfinite(x)]
    return float(known[0]) if len(known) else np.nan


@dataclass(frozen=True)
class Gains:
    """Gains of controllers that are logged with commands.

    Args:
        held: PARAMETER.JOINT -> value. rows: of the table, to which they belong; None: all. said: column, parameter and
            reason of each.
    """

    held: Mapping[str, float]
    rows: slice | None
    said: tuple[tuple[str, str, str], ...]


def controller_gains(fields: Mapping[str, Mapping[str, str]], table: Columns) -> Gains:
    """The gains of the longest run of rows in which they are constant, if that is more than half of the rows.

    The torque of such a command is kp (q - position) + kd (dq - velocity) + tau. Gains rise while a robot stands up,
    and are zero once its motors are off. Where velocities or torques are commanded too, they are not used.
    """
    if not fields:
        return Gains({}, None, ())
    steady: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for joint, own in fields.items():
        x = {key: table[column] for key, column in own.items()}
        x = {key: carried_on(each, first_number(each)) for key, each in x.items()}
        usable = np.isfinite(x["kd"]) & (x["kp"] > 0)
        for key in x.keys() - GAINS.keys():
            usable &= x[key] == 0
        gains = np.stack([x[key] for key in GAINS], axis=1)
        if _is_most(_longest_run(gains, usable), usable):
            steady[joint] = gains, usable
    if steady:
        usable = np.all([each[1] for each in steady.values()], axis=0)
        run = _longest_run(np.hstack([each[0] for each in steady.values()]), usable)
        steady = steady if _is_most(run, usable) else {}
    held: dict[str, float] = {}
    said, rows = [], None
    for joint, own in fields.items():
        if joint not in steady:
            reason = "it changes, or velocities or torques are commanded too: not held"
            said.append((own["kp"], f"stiffness.{joint}", reason))
            continue
        whole = run.stop - run.start == len(usable)
        rows = None if whole else run
        reason = f"constant in {'the' if whole else 'most of the'} log: held"
        for parameter, value in zip(GAINS.values(), steady[joint][0][run.start], strict=True):
            held[f"{parameter}.{joint}"] = float(f"{value:.7g}")
        said += [(own[key], f"{parameter}.{joint}", reason) for key, parameter in GAINS.items()]
        held[f"derivative_gain.{joint}"] = 0.0
    return Gains(held, rows, tuple(said))


def _is_most(run: slice, rows: np.ndarray) -> bool:
    return 2 * (run.stop - run.start) > len(rows)


def _longest_run(values: np.ndarray, usable: np.ndarray) -> slice:
    """The longest run of usable rows in which values (T, k) do not change."""
    changes = (values[1:] != values[:-1]).any(axis=1) | (usable[1:] != usable[:-1])
    edges = [0, *(np.flatnonzero(changes) + 1).tolist(), len(values)]
    runs = [slice(*pair) for pair in pairwise(edges) if usable[pair[0]]]
    return max(runs, key=lambda run: run.stop - run.start, default=slice(0, 0))


def for_all(held: Mapping[str, float], joints: Sequence[str]) -> Mapping[str, float]:
    """PARAMETER.JOINT -> value; PARAMETER alone where all joints have the same values."""
    found: dict[str, set[float]] = {}
    for name, value in held.items():
        found.setdefault(name.partition(".")[0], set()).add(value)
    alike = len(held) == len(found) * len(joints) and all(len(values) == 1 for values in found.values())
    return {name: values.pop() for name, values in found.items()} if alike else held
