"""Creation of a project file from logs of a body that is tossed in space: `poinsot new LOG --shape box`.

Its pose is a place and a quaternion. Headers name them; numbers decide the rest: the axis that falls with g is
vertical, and of two orders of a quaternion whose components are only counted, the body touches one floor in the right
one. A table may hold several tosses: a column that counts them, or a clock that begins again, tells them apart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..estimators.impacts.problem import accelerations
from ..exceptions import InvalidProject, listing
from ..inspection.clocks import Clock
from ..inspection.columns import BY_NAME, LISTED, ColumnGuess, Label, unit_in_name, words_of
from ..inspection.unit_guesses import UnitGuess
from ..io.readers import find_reader, is_known, list_columns
from ..io.sources import Source
from ..io.units import STANDARD_GRAVITY, convert, find_unit
from ..models.planar.drop import Drop
from ..models.rotations import from_quaternion
from .methods.base import TEMPLATES
from .settings.bodies_and_walls import SpatialBodySettings
from .starting import MOST_EPISODES, DraftPart, Start, begun, project_text
from .starting_log import INDEXES, LogReading, index_of, read_with_clock
from .starting_throw import LENGTHS, RATES

QUATERNIONS = Label(LISTED["quaternions"].split())
TOSSES = Label(LISTED["tosses"].split())
WXYZ = ("w", "x", "y", "z")
LEAST_FRAMES = 10
"""Frames of a toss, at least: a flight and an impact."""
LEAST_TOUCHES = 3
"""Heights at which a body touches, at least, whose spread says something."""
FALLS, LEAST_FALLS = 0.1, 3
"""Relative difference from g within which a body falls, and least number of windows in which it does."""
MOST_FLIGHTS = 10
"""Tosses in which falls are counted, at most."""
CLEARLY = 2.0
"""Factor by which the heights at which a body touches must spread less in one order of its quaternion than in others."""
NEIGHBOURS = 2
"""Frames on either side of which the lowest point is no lower where it touches."""


def start_toss(
    body: SpatialBodySettings, sizes: Mapping[str, Any], logs: Sequence[Path], job: Path, rate_hz: float | None
) -> Start:
    """Create a project file of a body in space; nothing is written to disk. `sizes`: keys of [body] beside `shape`;
    others as of `start_throw`. Raises `PoinsotError`: one sentence that says what is missing.
    """
    paths = [file for log in logs for file in _files(log)]
    tosses = [toss for path in paths for toss in _read(path, rate_hz)][:MOST_EPISODES]
    outline, corners = {"shape": body.shape, **sizes}, body.corners(job.parent).points  # type: ignore[attr-defined]
    vertical = {log.quantities.pop("vertical")["column"][0] for log in tosses}
    if len(vertical) > 1:
        raise InvalidProject(
            f"of some tosses {listing(sorted(vertical))} fall with gravity, each in others: give those of one camera"
        )
    (axis,) = vertical
    if axis != "z":
        outline, corners = _turned(outline, corners, axis)
    guesses: list[tuple[Any, ...]] = []
    orders = [order for order in ("xyzw", "wxyz")] if _is_counted(tosses[0]) else ["xyzw"]
    touches = {order: _touches(tosses, corners, order) for order in orders}
    spreads = {order: spread for order, (_, spread) in touches.items()}
    order = min(spreads, key=spreads.__getitem__)
    if len(orders) > 1:
        other = max(spreads, key=spreads.__getitem__)
        if not spreads[order] * CLEARLY < spreads[other]:
            raise InvalidProject(
                f"{tosses[0].path}: its motion does not tell whether the quaternion begins or ends with w: name its "
                'columns "qw", "qx", "qy" and "qz"'
            )
        worse = f"{1e3 * spreads[other]:.2g} mm" if np.isfinite(spreads[other]) else "at none"
        why = f"the body touches one height within {1e3 * spreads[order]:.2g} mm, and {worse} as {other}"
        tosses = [_ordered(log, order, why) for log in tosses]
        guesses.append(("order of the quaternion", order, why))
    height, spread = touches[order]
    floor = 0.0 if abs(height) < spread else float(f"{height:.3g}")
    reason = "the log has places and quaternions of a body, and --shape its corners"
    content = {"subject": "body", "outline": outline, "plane": floor, "floor": None, "reason": reason}
    content |= {"outline_why": f"axes of the body in the order in which {axis} is the last" if axis != "z" else ""}
    names = [path.stem for path in paths]
    parts = tuple(
        DraftPart(log, {"paths": [os.path.relpath(log.path, job.parent)], "name": name})
        for log, name in zip(tosses, _names(tosses, names), strict=True)
    )
    text = project_text(parts, content, TEMPLATES / "impacts.toml")
    guesses = [("method", "impacts", reason), *guesses]
    guesses.append(("floor", floor, "the lowest point of the body where it turns upwards [m]"))
    return begun(parts, "impacts", text, guesses)


def _files(path: Path) -> list[Path]:
    """A file, or the tables of a folder."""
    if not path.is_dir() or any((path / index).is_file() for index in INDEXES):
        return [index_of(path)]
    found = sorted(each for each in path.iterdir() if each.is_file() and is_known(each))
    if not found:
        raise InvalidProject(f"{path} is a folder that holds no log: name a file, or several")
    return found


def _names(tosses: Sequence[LogReading], stems: Sequence[str]) -> Iterator[str]:
    """Name of each toss: left to the file's where there is one of it, and files have different names."""
    counts = [sum(log.path == other.path for other in tosses) for log in tosses]
    for k, (log, count) in enumerate(zip(tosses, counts, strict=True)):
        first = next(i for i, other in enumerate(tosses) if other.path == log.path)
        many = count > 1 or stems.count(log.path.stem) > 1
        yield f"{log.path.stem} {k - first + 1}" if many else ""


def _read(path: Path, rate_hz: float | None) -> list[LogReading]:
    """The poses of the tosses of one log; `PoinsotError` if it has none."""
    columns, reading, line_units, _ = list_columns(path)
    places, quaternion = _pose_columns(path, columns)
    matched = [ColumnGuess(name, f"position.{axis}", BY_NAME) for axis, name in places.items()]
    matched += [
        ColumnGuess(name, f"orientation.body.{end}", BY_NAME) for end, name in quaternion.items()
    ]
    (clock, unit, why), table = read_with_clock(path, matched, columns, reading, rate_hz, {}, restarts=True)
    count = len(next(iter(table.values())))
    times = np.arange(count) / (rate_hz or 1.0) if clock is None else find_unit(unit).factor * clock.ticks(table)
    whole = np.isfinite(np.column_stack([table[each.column] for each in matched])).all(axis=1) & np.isfinite(times)
    parts = [part for part in _tosses(path, columns, reading, times, clock) if whole[part].sum() >= LEAST_FRAMES]
    if not parts:
        raise InvalidProject(f"{path} has no toss of {LEAST_FRAMES} frames or more with a whole pose")
    named = {name: unit_in_name(name, "position")[0] or line_units.get(name) for name in places.values()}
    axes = {name: axis for axis, name in places.items()}
    flights = [np.arange(count)[part][whole[part]] for part in parts[:MOST_FLIGHTS]]
    vertical, length, up = _vertical(path, times, {name: table[name] for name in places.values()}, flights, named)
    if not up:
        raise InvalidProject(
            f"{path}: {vertical} points down; in space the vertical axis must point up: turn the poses by half a turn "
            "about a level axis"
        )
    # an even permutation, after which the vertical axis is the last
    k = "xyz".index(axes[vertical])
    order = ["xyz"[(k + 1 + i) % 3] for i in range(3)]
    fallen = "by name, and it falls"
    used = [
        ColumnGuess(places[axis], f"position.{end}", fallen if places[axis] == vertical else BY_NAME)
        for end, axis in zip("xyz", order, strict=True)
    ]
    ends = dict(zip(order, "xyz", strict=True)) | {"w": "w"}
    used += [
        ColumnGuess(name, f"orientation.body.{ends.get(end, end)}", BY_NAME) for end, name in quaternion.items()
    ]
    units = {f"position.{end}": length for end in "xyz"}
    units |= {each.channel: UnitGuess("1", "") for each in used if each.quantity == "orientation"}
    keys = {"rate_hz": (rate_hz, "as given")} if clock is None else {}
    logs = []
    for part in parts:
        rows = np.arange(count)[part]
        rows = rows[np.isfinite(times[rows])]
        own: dict[str, tuple[Any, str]] = dict(keys)
        if len(parts) > 1 or len(rows) < count:
            own["rows"] = [int(rows[0]), int(rows[-1]) + 1], "one toss of the table"
        values: dict[str | int, np.ndarray] = {each.column: np.asarray(table[each.column])[rows] for each in used}
        missing = frozenset(name for name, x in values.items() if not np.isfinite(x).all())
        log = LogReading(
            *(path, columns, reading, tuple(used), {}, table, values, rows, missing, (clock, unit, why)),
            *(rate_hz if clock is None else None, own, {}, {}, units),
        )
        log.quantities["vertical"] = {"column": (axes[vertical], "")}
        logs.append(log)
    return logs


def _pose_columns(path: Path, columns: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Axis -> column of the place, and component -> column of the quaternion, in the order of the file: w, x, y, z, or
    numbers.
    """
    places: dict[str, list[str]] = {axis: [] for axis in "xyz"}
    components: dict[str, list[str]] = {}
    for column in columns:
        words, (_, unit_words) = words_of(column), unit_in_name(column, "position")
        own = [word for word in words if word not in unit_words]
        last = own[-1] if own else ""
        turns = not QUATERNIONS.isdisjoint(own[:-1])
        if len(last) == 2 and last[0] == "q" and last[1] in WXYZ:
            components.setdefault(last[1], []).append(column)
        elif turns and (last in WXYZ or last.isdecimal()):
            components.setdefault(last, []).append(column)
        elif RATES.isdisjoint(own):
            axis = last[1:] if len(last) == 2 and last[0] in "pt" else last
            if axis in places:
                places[axis].append(column)
    several = [names for names in (*places.values(), *components.values()) if len(names) > 1]
    if several:
        raise InvalidProject(
            f"{path}: {listing(several[0])} are several of one kind: keep one column of each kind, of one body"
        )
    counted = sorted((end for end in components if end.isdecimal()), key=int)
    ends = WXYZ if all(end in components for end in WXYZ) else counted
    if not all(places.values()) or len(ends) != 4:
        raise InvalidProject(
            f"{path}: no columns are named like the pose of a body in space; it has {listing(columns)}: name them "
            '"x", "y", "z", "qx", "qy", "qz" and "qw"'
        )
    return {axis: names[0] for axis, names in places.items()}, {end: components[end][0] for end in ends}


def _tosses(
    path: Path,
    columns: Sequence[str],
    reading: Mapping[str, Any],
    times: np.ndarray,
    clock: Clock | None,
) -> list[slice]:
    """Rows of each toss: where the clock begins again, or a column counts another one."""
    begins = {0, *(np.flatnonzero(np.diff(times) < 0) + 1).tolist()}
    counters = [name for name in columns if not TOSSES.isdisjoint(words_of(name))]
    for name in counters[:1]:
        table = find_reader(path).read_columns(Source(path, {name: (name, "1")}, **reading))
        begins |= {*(np.flatnonzero(np.diff(table[name]) != 0) + 1).tolist()}
    edges = [*sorted(begins), len(times)]
    return [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True)]


def _vertical(
    path: Path,
    times: np.ndarray,
    columns: Mapping[str, np.ndarray],
    tosses: Sequence[np.ndarray],
    named: Mapping[str, str | None],
) -> tuple[str, UnitGuess, bool]:
    """Header of the vertical axis, unit of the places, and whether it points up: where most windows of the tosses
    (rows of each) have the acceleration of a fall. A body may rest, or slide, for longer than it flies.
    """
    best: tuple[int, str, str, bool, float] = 0, "", "", True, 0.0
    for name, x in columns.items():
        drops = [Drop(name, times[rows], np.column_stack([0 * x[rows], x[rows], 0 * x[rows]])) for rows in tosses]
        a = np.concatenate([accelerations(drop)[0] for drop in drops])
        for unit in [named[name] or "m"] if named[name] else LENGTHS:
            g = -convert(a, unit)[0] / STANDARD_GRAVITY
            for sign in (1.0, -1.0):
                falls = np.abs(sign * g - 1) < FALLS
                if falls.any():
                    best = max(best, (int(falls.sum()), unit, name, sign > 0, sign * float(np.mean(g[falls]))))
    count, unit, name, up, fall = best
    if count < LEAST_FALLS:
        raise InvalidProject(
            f"{path}: none of {listing([*columns])} falls with gravity in {listing(LENGTHS)}: look at the clock or "
            "rate, and whether the body flies"
        )
    reason = "its header names it" if named[name] else f"{name} then falls with {fall:.3f} g in flight"
    return name, UnitGuess(unit, reason), up


def _is_counted(log: LogReading) -> bool:
    """Whether the components of its quaternion have numbers, and no names."""
    return any(each.quantity == "orientation" and each.channel[-1].isdecimal() for each in log.used)


def _ordered(log: LogReading, order: str, why: str) -> LogReading:
    """With the counted components of the quaternion as those of an order."""
    counted = [each for each in log.used if each.quantity == "orientation"]
    names = {
        each.column: replace(each, channel=f"orientation.body.{end}", reason=why)
        for each, end in zip(counted, order, strict=True)
    }
    units = {**log.units, **{each.channel: UnitGuess("1", "") for each in names.values()}}
    return replace(log, used=tuple(names.get(each.column, each) for each in log.used), units=units)


def _touches(tosses: Sequence[LogReading], corners: np.ndarray, order: str) -> tuple[float, float]:
    """Median of the heights at which the lowest point of the body (corners (C, 3)) turns upwards, and their mean
    distance from it [m]; infinite where there are too few.
    """
    turning = []
    for log in tosses:
        columns = {each.channel: each for each in log.used}
        z = log.units["position.z"].converted(log.values[columns["position.z"].column])
        turned = [each for each in log.used if each.quantity == "orientation"]
        listed = turned if _is_counted(log) else [columns[f"orientation.body.{end}"] for end in order]
        q = np.column_stack([log.values[each.column] for each in listed])
        q = q if order == "xyzw" else np.roll(q, -1, axis=1)
        whole = np.isfinite(np.column_stack([z, q])).all(axis=1)
        heights = z[whole] + (from_quaternion(q[whole])[:, 2, :] @ corners.T).min(axis=1)
        windows = np.lib.stride_tricks.sliding_window_view(heights, 2 * NEIGHBOURS + 1)
        turning.append(windows[windows.argmin(axis=1) == NEIGHBOURS, NEIGHBOURS])
    found = np.concatenate(turning)
    if len(found) < LEAST_TOUCHES:
        return 0.0, np.inf
    return float(np.median(found)), float(np.mean(np.abs(found - np.median(found))))


def _turned(outline: dict[str, Any], corners: np.ndarray, axis: str) -> tuple[dict[str, Any], np.ndarray]:
    """[body] and its corners, with axes in the order in which another one than z is the last."""
    k = "xyz".index(axis)
    order = [(k + 1 + i) % 3 for i in range(3)]
    turned = dict(outline)
    if "sides" in outline:
        turned["sides"] = [outline["sides"][i] for i in order]
    elif "vertices" in outline:
        turned["vertices"] = [[corner[i] for i in order] for corner in outline["vertices"]]
    else:
        raise InvalidProject(
            f"{axis} is vertical, and a mesh has its own axes: turn the poses, so that z points up and x, y, z are "
            "right-handed"
        )
    return turned, corners[:, order]
