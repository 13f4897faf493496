"""Creation of a project file from logs of a body that is tossed in space: `poinsot new LOG --shape box`.

Its pose is a place and a quaternion. Headers name them; numbers decide the rest: the axis that falls with g is
vertical, and of two orders of a quaternion whose components are only counted, the body touches one floor in the right
one. A table may hold several tosses: a column that counts them, or a clock that begins again, tells them apart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import mode_near
from ..estimators.impacts.problem import NEAR, WINDOW, WINDOW_FRAMES, accelerations
from ..exceptions import InvalidProject, listing
from ..inspection.clocks import Clock
from ..inspection.columns import BY_NAME, LISTED, ColumnGuess, Label, unit_in_name, words_of
from ..inspection.unit_guesses import UnitGuess
from ..io.readers import find_reader, is_known, list_columns
from ..io.sources import Source
from ..io.units import STANDARD_GRAVITY, find_unit
from ..models.planar.drop import Drop
from ..models.rotations import from_quaternion
from .methods.base import TEMPLATES
from .settings.bodies_and_walls import SpatialBodySettings
from .starting import MOST_EPISODES, DraftPart, Start, begun, project_text
from .starting_log import INDEXES, LENGTHS, RATES, LogReading, index_of, read_with_clock

QUATERNIONS = Label(LISTED["quaternions"].split())
TOSSES = Label(LISTED["tosses"].split())
WXYZ = ("w", "x", "y", "z")
LEAST_FRAMES = 10
"""Frames of a toss, at least: a flight and an impact."""
LEAST_TOUCHES = 3
"""Heights at which a body touches, at least, whose spread says something."""
FALLS, LEAST_FALLS, MANY = 0.1, 3, 0.05
"""Relative difference within which accelerations are one, and least number, and part, of windows that have it."""
KNOWN_BY = 4.0
"""Standard deviations from which an acceleration is not 0."""
LEAST_SCALE, SURELY = 0.01, 4.0
"""Relative difference from g, and standard deviations of it, from which the scale of places is wrong."""
MOST_FLIGHTS = 10
"""Tosses in which falls are counted, at most."""
CLEARLY = 2.0
"""Factor by which the heights at which a body touches must spread less in the right order of its quaternion."""
NEIGHBOURS = 2
"""Frames on either side of which the lowest point is no lower where it touches."""


def start_toss(
    body: SpatialBodySettings,
    sizes: Mapping[str, Any],
    logs: Sequence[Path],
    job: Path,
    rate_hz: float | None,
) -> Start:
    """Create a project file of a body in space; nothing is written to disk. `sizes`: keys of [body] beside `shape`;
    others as of `start_throw`. Raises `PoinsotError`: one sentence that says what is missing.
    """
    paths = [file for log in logs for file in _files(log)]
    outline, corners = {"shape": body.shape, **sizes}, body.corners(job.parent).points  # type: ignore[attr-defined]
    tables = [_Table.read(path, rate_hz) for path in paths]
    fall = _fall(tables)
    if not fall.up:
        raise InvalidProject(
            f"{tables[0].path}: {fall.axis} points down; in space the vertical axis must point up: turn the poses by "
            "half a turn about a level axis"
        )
    axis = fall.axis
    tosses = [log for table in tables for log in table.logs(axis, *_length(table, fall))][:MOST_EPISODES]
    if axis != "z":
        outline, corners = _turned(outline, corners, axis)
    guesses: list[tuple[Any, ...]] = []
    orders = ["xyzw", "wxyz"] if _is_counted(tosses[0]) else ["xyzw"]
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
    content |= {
        "outline_why": f"axes of the body in the order in which {axis} is the last" if axis != "z" else ""
    }
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


@dataclass(frozen=True, eq=False)
class _Table:
    """A log of tosses, as read. `places`: axis -> column. `quaternion`: component -> column. `times`: (T,) [s].
    `whole`:
    (T,) rows with a whole pose. `parts`: rows of the tosses. `named`: column -> unit in its header or its line. Others
    as of `LogReading`.
    """

    path: Path
    columns: tuple[str, ...]
    reading: Mapping[str, Any]
    places: Mapping[str, str]
    quaternion: Mapping[str, str]
    table: Mapping[str | int, np.ndarray]
    clock: tuple[Clock | None, str, str]
    rate_hz: float | None
    times: np.ndarray
    whole: np.ndarray
    parts: Sequence[slice]
    named: Mapping[str, str | None]

    @classmethod
    def read(cls, path: Path, rate_hz: float | None) -> _Table:
        """`PoinsotError` if it has no poses."""
        columns, reading, line_units, _ = list_columns(path)
        places, quaternion = _pose_columns(path, columns)
        pose = [*places.values(), *quaternion.values()]
        matched = [ColumnGuess(name, f"position.{k}", BY_NAME) for k, name in enumerate(pose)]
        (clock, unit, why), table = read_with_clock(
            path, matched, columns, reading, rate_hz, {}, restarts=True
        )
        times = np.arange(len(next(iter(table.values())))) / (rate_hz or 1.0)
        if clock is not None:
            times = find_unit(unit).factor * clock.ticks(table)
        whole = np.isfinite(np.column_stack([*(table[name] for name in pose), times])).all(axis=1)
        parts = [part for part in _tosses(path, columns, reading, times) if whole[part].sum() >= LEAST_FRAMES]
        if not parts:
            raise InvalidProject(f"{path} has no toss of {LEAST_FRAMES} frames or more with a whole pose")
        named = {name: unit_in_name(name, "position")[0] or line_units.get(name) for name in places.values()}
        rate_hz = rate_hz if clock is None else None
        found = (clock, unit, why), rate_hz, times, whole, parts, named
        return cls(path, columns, reading, places, quaternion, table, *found)

    def falls(self, axis: str) -> Iterator[tuple[np.ndarray, float]]:
        """Accelerations along an axis in short windows of the first tosses, and their windows of one flight at once."""
        x = self.table[self.places[axis]]
        for part in self.parts[:MOST_FLIGHTS]:
            rows = np.flatnonzero(self.whole[part]) + part.start
            still = np.zeros(len(rows))
            yield accelerations(Drop(axis, self.times[rows], np.column_stack([still, x[rows], still])))

    def logs(
        self, axis: str, length: UnitGuess, scale: Mapping[str, tuple[Any, str]]
    ) -> Iterator[LogReading]:
        """Each toss, with axes in an even permutation after which this one is the last."""
        order = _axes_before(axis)
        ends = dict(zip(order, "xyz", strict=True)) | {"w": "w"}
        used = [
            ColumnGuess(
                self.places[each],
                f"position.{ends[each]}",
                f"{BY_NAME}, and it falls" if each == axis else BY_NAME,
            )
            for each in order
        ]
        used += [
            ColumnGuess(name, f"orientation.body.{ends.get(end, end)}", BY_NAME)
            for end, name in self.quaternion.items()
        ]
        units = {each.channel: length if each.quantity == "position" else UnitGuess("1", "") for each in used}
        keys = {"rate_hz": (self.rate_hz, "as given")} if self.clock[0] is None else {}
        for part in self.parts:
            rows = np.arange(len(self.times))[part]
            own: dict[str, tuple[Any, str]] = dict(keys)
            if len(rows) < len(self.times):
                own["rows"] = [int(rows[0]), int(rows[-1]) + 1], "one toss of the table"
            values: dict[str | int, np.ndarray] = {
                each.column: self.table[each.column][rows] for each in used
            }
            missing = frozenset(name for name, x in values.items() if not np.isfinite(x).all())
            yield LogReading(
                *(
                    self.path,
                    self.columns,
                    self.reading,
                    tuple(used),
                    {},
                    dict(self.table),
                    values,
                    rows,
                    missing,
                ),
                *(self.clock, self.rate_hz, own, {"position": dict(scale)} if scale else {}, {}, units),
            )


def _axes_before(axis: str) -> list[str]:
    """x, y and z in an even permutation after which this axis is the last."""
    return ["xyz"[("xyz".index(axis) + 1 + i) % 3] for i in range(3)]


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
) -> list[slice]:
    """Rows of each toss: where the clock begins again, or a column counts another one."""
    begins = {0, *(np.flatnonzero(np.diff(times) < 0) + 1).tolist()}
    counters = [name for name in columns if not TOSSES.isdisjoint(words_of(name))]
    for name in counters[:1]:
        table = find_reader(path).read_columns(Source(path, {name: (name, "1")}, **reading))
        begins |= {*(np.flatnonzero(np.diff(table[name]) != 0) + 1).tolist()}
    edges = [*sorted(begins), len(times)]
    return [slice(a, b) for a, b in pairwise(edges)]


class _Fall(NamedTuple):
    """How bodies fall. `windows`: number of windows of frames in which they do. `axis`: the vertical one. `up`:
    whether it points up. `size`: acceleration [unit of the columns/s^2]. `std`: of its mean, relative.
    """

    windows: int
    axis: str
    up: bool
    size: float
    std: float

    @classmethod
    def near(cls, a: np.ndarray, size: float, axis: str, up: bool, frames: int) -> _Fall:
        """The acceleration that most of `a` (n,) have near `size`. `frames`: in a window, of which so many overlap."""
        alike = a[np.abs(a / size - 1) < FALLS]
        size = float(np.median(alike)) if len(alike) else size
        size = mode_near(a, size, FALLS / 2 * size)
        alike = a[np.abs(a / size - 1) < FALLS / 2]
        if not len(alike):
            return cls(0, axis, up, size, np.inf)
        # the deviation from the median that half of them have, as a standard deviation
        std = 1.4826 * float(np.median(np.abs(alike / size - 1))) * np.sqrt(frames / len(alike))
        return cls(len(alike), axis, up, size, float(std))


def _fall(tables: Sequence[_Table]) -> _Fall:
    """Where most windows of frames have the acceleration g in a usual unit; else where many have one acceleration, the
    largest such one. Bodies may rest, or slide, for longer than they fly, and slide with less than g.
    """
    known, others, total = [], [], 0
    step = float(np.median(np.concatenate([np.diff(table.times[table.parts[0]]) for table in tables])))
    frames = max(round(WINDOW / step), WINDOW_FRAMES)
    units = {table.named[name] for table in tables for name in table.places.values()}
    sizes = [
        STANDARD_GRAVITY / find_unit(unit).factor for unit in [each for each in units if each] or LENGTHS
    ]
    for axis in "xyz":
        found = [pair for table in tables for pair in table.falls(axis)]
        a, noise = np.concatenate([pair[0] for pair in found]), float(np.median([pair[1] for pair in found]))
        total = len(a)

        for sign in (-1.0, 1.0):
            rising = np.sort(sign * a[sign * a > KNOWN_BY * noise])
            known += [_Fall.near(rising, size, axis, sign < 0, frames) for size in sizes]
            ends = np.searchsorted(rising, rising * (1 + FALLS) / (1 - FALLS), side="right")
            for first in np.flatnonzero(ends - np.arange(len(rising)) > MANY * total):
                size = float(np.median(rising[first : ends[first]]))
                others.append(_Fall.near(rising, size, axis, sign < 0, frames))
    best: _Fall | None = max(known)
    if best is not None and best.windows < max(MANY * total, LEAST_FALLS):
        best = max(others, key=lambda fall: fall.size, default=None)
    if best is None or best.windows < LEAST_FALLS:
        raise InvalidProject(
            f"{listing(str(table.path) for table in tables)}: along no axis a body falls: look at the clock or rate, "
            "and whether the body flies"
        )
    return best


def _length(table: _Table, fall: _Fall) -> tuple[UnitGuess, dict[str, tuple[Any, str]]]:
    """Unit of the places, and their scale where they fall with another acceleration than g."""
    column = table.places[fall.axis]
    named = table.named[column]
    units = [named] if named else LENGTHS
    g = {unit: fall.size * find_unit(unit).factor / STANDARD_GRAVITY for unit in units}
    unit = min(units, key=lambda unit: abs(np.log(g[unit])))
    near = abs(np.log(g[unit])) < np.log(NEAR)
    if named:
        if not near:
            raise InvalidProject(
                f"{table.path}: in {named} {column} falls with {g[unit]:.3g} times gravity: look at the unit, the "
                "clock or the rate"
            )
        return UnitGuess(named, "its header names it"), {}
    if not near:
        why = f"of an unknown unit, so that {column} falls with g in flight"
        return UnitGuess("m", "after the scale"), {"scale": (float(f"{1 / g['m']:.4g}"), why)}
    reason = f"{column} then falls with {g[unit]:.3f} g in flight"
    if abs(g[unit] - 1) < max(LEAST_SCALE, SURELY * fall.std):
        return UnitGuess(unit, reason), {}
    why = f"{column} then falls with g in flight; delete it if it is the clock that is wrong"
    return UnitGuess(unit, reason), {"scale": (float(f"{1 / g[unit]:.4g}"), why)}


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
        z = z * log.quantities.get("position", {}).get("scale", (1.0,))[0]
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
    order = ["xyz".index(each) for each in _axes_before(axis)]
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
