"""Creation of a project file from logs of a thrown body, without a robot: `poinsot new LOG --shape NAME`.

Its pose is two positions and an angle. Headers name them; numbers decide the rest. In flight a body falls with g: the
axis that falls is vertical, it points up or down, and the unit of the positions is the one in which it falls with g.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from ..arrays import mode_near
from ..estimators.impacts.problem import LOWEST, NEAR, accelerations
from ..exceptions import InvalidProject, listing
from ..inspection.columns import BY_NAME, LISTED, ColumnGuess, Label, unit_in_name, words_of
from ..inspection.unit_guesses import UnitGuess
from ..io.readers import list_columns
from ..io.units import STANDARD_GRAVITY, convert, find_unit
from ..models.planar.drop import Drop
from .methods.base import TEMPLATES
from .settings.bodies_and_walls import BodySettings, PlanarBodySettings, SpatialBodySettings
from .starting import DraftPart, Start, begun, project_text
from .starting_log import LENGTHS, RATES, LogReading, index_of, read_with_clock

ANGLES = Label(LISTED["angles"].split())
TOUCHES = 0.05
"""Quantile of the heights of the lowest point, where the search for the floor begins."""


def start_throw(
    shape: str,
    sizes: Mapping[str, Any],
    logs: Sequence[Path],
    job: Path,
    rate_hz: float | None = None,
    validation: Sequence[Path] = (),
) -> Start:
    """Create a project file of a thrown body; nothing is written to disk. `shape`: of `[body]`. `sizes`: its further
    keys. `logs`, `job`, `rate_hz` as of `start_project`. Raises `PoinsotError`: one sentence that says what is missing.
    """
    if validation:
        raise InvalidProject(
            "impacts supports no logs for validation, since each throw is tested by its residuals: give all logs "
            "without --validation"
        )
    try:
        body = TypeAdapter(BodySettings).validate_python({"shape": shape, **sizes})
    except ValidationError as error:
        first = error.errors()[0]
        if "expected_tags" in first.get("ctx", {}):
            raise InvalidProject(
                f"--shape {shape!r} is no shape of a thrown body; known are {first['ctx']['expected_tags']}"
            ) from error
        key = ".".join(map(str, first["loc"][1:])) or "shape"
        raise InvalidProject(
            f"--shape {shape}: {key}: {first['msg'].lower()}; sizes are given as in --size radius=0.05, by the keys of "
            "[body]"
        ) from error
    if isinstance(body, SpatialBodySettings):
        from .starting_toss import start_toss

        return start_toss(body, sizes, logs, job, rate_hz)
    assert isinstance(body, PlanarBodySettings)
    readings = [_read(index_of(path), rate_hz) for path in logs]
    floors = [_floor(log, body.outline().outline()) for log in readings]
    floor = float(f"{np.median(floors):.3g}")
    reason = "the log has the pose of a body, and --shape its outline"
    content = {"subject": "body", "outline": {"shape": shape, **sizes}, "floor": floor, "reason": reason}
    parts = tuple(DraftPart(log, {"paths": [os.path.relpath(log.path, job.parent)]}) for log in readings)
    text = project_text(parts, content, TEMPLATES / "impacts.toml")
    guesses = [
        ("method", "impacts", reason),
        ("floor", floor, "the lowest point of the body at its lowest [m]"),
    ]
    return begun(parts, "impacts", text, guesses)


def _floor(log: LogReading, outline: np.ndarray) -> float:
    """Height of the floor [m]: where the lowest points of the body (outline (n, 2)) are while it touches; 0 if that is
    within their noise.
    """
    flips = log.quantities.get("position", {}).get("scale", (np.ones(3),))[0]
    columns = (log.units[each.channel].converted(log.values[each.column]) for each in log.used)
    poses = np.column_stack([*columns]) * flips
    poses = poses[np.isfinite(poses).all(axis=1)]
    c, s = np.cos(poses[:, 2, None]), np.sin(poses[:, 2, None])
    heights = np.min(poses[:, 1, None] + s * outline[:, 0] + c * outline[:, 1], axis=1)
    # noise of the lowest point, whose arm turns with the angle
    y, angle = Drop("", np.arange(len(poses), dtype=float), poses).noise[1:]
    noise = float(np.hypot(y, np.abs(outline).max() * angle))
    # towards the frames that touch, of which the lowest quantile is the lower edge
    floor = mode_near(heights, float(np.quantile(heights, TOUCHES)), 2 * noise)
    return 0.0 if abs(floor) < 2 * noise else floor


def read_sizes(texts: Sequence[str]) -> dict[str, Any]:
    """`KEY=VALUE` of a command line -> keys of [body]; values are TOML."""
    sizes: dict[str, Any] = {}
    for text in texts:
        try:
            sizes |= tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidProject(
                f"--size {text!r}: write a key of [body] and its value, as sides=[0.1, 0.05]"
            ) from error
    return sizes


def _read(path: Path, rate_hz: float | None) -> LogReading:
    """The pose of one log; `PoinsotError` if it has none."""
    columns, reading, line_units, _ = list_columns(path)
    axes: dict[str, list[str]] = {axis: [] for axis in (*"xyz", "angle")}
    for column in columns:
        words, (_, unit_words) = words_of(column), unit_in_name(column, "position")
        own = [word for word in words if word not in unit_words]
        last = own[-1] if own else ""
        is_rate = last[:1] == "v" and last[1:] in (*"xyz", *ANGLES)
        axis = "angle" if not ANGLES.isdisjoint(own) else last if last in axes else ""
        if axis and not is_rate and RATES.isdisjoint(words):
            axes[axis].append(column)
    several = [names for names in axes.values() if len(names) > 1]
    if several:
        raise InvalidProject(
            f"{path}: {listing(several[0])} are several of one kind; of tracked points, write [body.markers] with "
            "their places and their columns in position; else keep one column of each kind"
        )
    flat = [axis for axis in "xyz" if axes[axis]]
    if len(flat) < 2 or not axes["angle"]:
        raise InvalidProject(
            f"{path}: no columns are named like the pose of a body in a vertical plane; it has {listing(columns)}: "
            'name them "x", "y" (up) and "angle"'
        )
    matched = [ColumnGuess(axes[axis][0], f"position.{axis}", BY_NAME) for axis in (*flat, "angle")]
    (clock, unit, reason), table = read_with_clock(path, matched, columns, reading, rate_hz, {})
    values = {each.column: table[each.column] for each in matched}
    rows = np.flatnonzero(np.isfinite(np.column_stack([*values.values()])).any(axis=1))
    times = np.arange(len(rows)) / (rate_hz or 1.0)
    if clock is not None:
        times = find_unit(unit).factor * clock.ticks(table)[rows]
    named = {column: unit_in_name(column, "position")[0] or line_units.get(column) for column in values}
    lengths = [axes[axis][0] for axis in flat]
    vertical, length, up = _vertical(path, times, {name: values[name][rows] for name in lengths}, named)
    across = next(
        name for name in sorted(lengths, key=lambda name: -np.nanstd(values[name][rows])) if name != vertical
    )
    (angle,) = axes["angle"]
    turn = _angle_unit(values[angle][rows], named[angle])
    used = (
        ColumnGuess(across, "position.x", "by name, and it does not fall"),
        ColumnGuess(vertical, "position.y", "by name, and it falls"),
        ColumnGuess(angle, "position.angle", BY_NAME),
    )
    flips = {"scale": ([1.0, -1.0, -1.0], "the vertical axis points down")}
    keys = {"rate_hz": (rate_hz, "as given")} if clock is None else {}
    numbers: dict[str | int, np.ndarray] = {name: x[rows] for name, x in values.items()}
    missing: frozenset[str | int] = frozenset(name for name, x in numbers.items() if not np.isfinite(x).all())
    units = {"position.x": length, "position.y": length, "position.angle": turn}
    return LogReading(
        *(path, columns, reading, used, {}, table, numbers, rows, missing, (clock, unit, reason)),
        *(rate_hz if clock is None else None, keys, {} if up else {"position": flips}, {}, units),
    )


def _vertical(
    path: Path, times: np.ndarray, columns: Mapping[str, np.ndarray], named: Mapping[str, str | None]
) -> tuple[str, UnitGuess, bool]:
    """Header of the vertical axis, unit of the positions, and whether it points up: the last of x, y and z that falls
    with g in a unit. Walls push upwards only, so upward accelerations are the largest.
    """
    for name, x in reversed(list(columns.items())):
        known = np.isfinite(x)
        pose = np.column_stack([np.zeros(known.sum()), x[known], np.zeros(known.sum())])
        a, _ = accelerations(Drop(name, times[known], pose))
        up = bool(np.mean((a - np.mean(a)) ** 3) >= 0)
        fall = max(-float(np.quantile(a if up else -a, LOWEST)), np.finfo(float).tiny)
        units = (named[name] or "m",) if named[name] else LENGTHS
        g = {unit: float(convert(np.array([fall]), unit)[0][0]) / STANDARD_GRAVITY for unit in units}
        unit = min(units, key=lambda unit: abs(np.log(g[unit])))
        if abs(np.log(g[unit])) < np.log(NEAR):
            reason = (
                "its header names it" if named[name] else f"{name} then falls with {g[unit]:.2f} g in flight"
            )
            return name, UnitGuess(unit, reason), up
    raise InvalidProject(
        f"{path}: none of {listing([*columns])} falls with gravity in {listing(LENGTHS)}: look at the clock or "
        "rate, and whether the body flies"
    )


def _angle_unit(x: np.ndarray, named: str | None) -> UnitGuess:
    """Unit of an angle: radians, unless it then turned by more than a quarter turn in a usual frame."""
    if named:
        return UnitGuess(named, "its header names it")
    step = float(np.nanquantile(np.abs(np.diff(x)), 1 - LOWEST))
    return (
        UnitGuess("deg", f"in rad it would turn by {step:.3g} rad from frame to frame")
        if step > np.pi / 2
        else UnitGuess("rad", "the numbers are plausible")
    )
