"""What one log has for a new project: its clock, its rows, and for each column its channel, or why it is not used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import carried_on
from ..diagnosis.description import placeholders
from ..exceptions import InvalidProject, PoinsotError, UnknownUnit, listing
from ..inspection.clocks import Clock, clock_unit, find_clocks, longest_increase, rate_of_arrival, roughness
from ..inspection.columns import (
    COMMAND_FILES,
    COMMANDS,
    FEET,
    LISTED,
    ColumnGuess,
    Label,
    match_columns,
    names_quantity,
    words_of,
)
from ..inspection.energy import (
    MAX_RATIO_ERROR,
    EffortAgreement,
    agreements,
    effort_factor,
    opposed_joints,
)
from ..inspection.motion import LATE_START_S
from ..inspection.readings import (
    REGISTER,
    are_registers,
    error_codes,
    first_reading,
    held_rows,
    is_flag,
    is_supply,
    period_of,
    rate_ratio,
)
from ..inspection.unit_guesses import CANDIDATES, UnitGuess, guess_units
from ..inspection.unnamed_columns import match_numbers
from ..io.readers import find_reader, is_known, list_columns
from ..io.reading import unwrapped
from ..io.sources import Column, Columns, Source
from ..io.units import DATES, UNITS, check_quantity, find_unit
from ..models.robot.articulated import Articulated
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT, EFFORTS, QUANTITIES, THRUST
from .controller_gains import first_number, gain_fields

RATES = Label(LISTED["rates"].split())
LENGTHS = ("m", "mm", "cm")
INDEXES = ("meta/info.json", "metadata.yaml")
"""Files that describe a folder: of a LeRobot data set, and of a ROS 2 bag."""
BETTER = 4.0
"""Standard deviations by which the roughness of a motion must be smaller with a clock than with an earlier one; that of
a sum of T squares is about 1 / sqrt(T) of it.
"""
CLEARLY_BETTER = 4.0
"""Ratio of unexplained variances from which a unit is better than another."""
FOLLOWS = 0.9
"""Least correlation of a position with a command that it follows."""
WRONG_RATE = 0.25
"""Relative difference of a velocity from the derivative of its position, from which its unit is another."""
SAME_RATE = 0.02
"""The same, below which a unit is the right one: a turn per minute is a tenth of 1 rad/s but for 5 %."""
CARRIES = 2.0
"""Ratio to the robot's weight, or from it, within which the sum of forces carries it."""
UNKNOWN_SIZE = "and nothing says that it is in N m: write voltage or current in place of torque if it is one"
HELD = (*EFFORTS, "position_command")
"""Quantities whose missing values are those of the row before."""


@dataclass(frozen=True, eq=False)
class LogReading:
    """One log, read. `path`: its file. `columns`: all of them. `reading`: keys of the file's format. `used`: columns
    with a channel. `unused`: reasons why others are not. `table`: columns as read. `values`: the same in the rows that
    are used, errors replaced by NaN. `rows`: (r,) indices of these. `clock`: and its unit and reason; None: `rate_hz`.
    `keys`: further keys of the recording, with reasons. `quantities`: quantity -> keys of its table, with reasons.
    `fields`: joint -> columns of gains beside its command. `units`: of channels. `companions`: further files of the
    recording, whose values are at the rows of this one.
    """

    path: Path
    columns: tuple[str, ...]
    reading: Mapping[str, Any]
    used: tuple[ColumnGuess, ...]
    unused: Mapping[str, str]
    table: Columns
    values: dict[str | int, np.ndarray]
    rows: np.ndarray
    missing: frozenset[str | int]
    clock: tuple[Clock | None, str, str]
    rate_hz: float | None
    keys: dict[str, tuple[Any, str]]
    quantities: dict[str, dict[str, tuple[Any, str]]]
    fields: Mapping[str, Mapping[str, str]]
    units: Mapping[str, UnitGuess] = field(default_factory=dict)
    companions: tuple[LogReading, ...] = ()

    @property
    def files(self) -> tuple[LogReading, ...]:
        """This one, and its companions."""
        return (self, *self.companions)

    @property
    def guesses(self) -> tuple[ColumnGuess, ...]:
        """Columns with a channel, of all files."""
        return tuple(guess for file in self.files for guess in file.used)

    def mapped(self, change: Callable[[ColumnGuess], ColumnGuess | None]) -> LogReading:
        """With other channels of columns; None: without that of a column."""
        used = tuple(guess for each in self.used if (guess := change(each)) is not None)
        companions = (companion.mapped(change) for companion in self.companions)
        return replace(self, used=used, companions=tuple(each for each in companions if each.used))

    def without(self, reasons: Mapping[str, str]) -> LogReading:
        """Without the channels of columns; column -> why it is not read."""
        used = tuple(guess for guess in self.used if guess.column not in reasons)
        unused = {**self.unused, **{name: why for name, why in reasons.items() if name in self.columns}}
        companions = tuple(companion.without(reasons) for companion in self.companions)
        return replace(self, used=used, unused=unused, companions=companions)

    @property
    def base_sensors(self) -> dict[str, np.ndarray]:
        """Column -> readings of sensors of a moving base."""
        return self._readings_of(FRAME_QUANTITIES)

    def foot_contacts(self, weight: float) -> dict[str, np.ndarray]:
        """Column -> contacts of feet: those that are called so, or forces that carry the robot's `weight` [N]."""
        contacts = self._readings_of([CONTACT])
        if len(contacts) > 1 and weight:
            total = float(np.nanmedian(np.sum([*contacts.values()], axis=0)))
            if 1 / CARRIES < total / weight < CARRIES:
                return contacts
        named = {each.column for each in self.guesses if FEET & {*words_of(f"{each.column} {each.owner}")}}
        return {column: x for column, x in contacts.items() if column in named}

    def _readings_of(self, quantities: Collection[str]) -> dict[str, np.ndarray]:
        """Column -> readings in the rows that are used, of these quantities."""
        return {
            guess.column: file.values[guess.column]
            for file in self.files
            for guess in file.used
            if guess.quantity in quantities
        }

    @cached_property
    def times(self) -> np.ndarray:
        """(T,) Times of all rows of the table [s]."""
        clock = self.clock[0]
        if clock is None:
            return np.arange(len(next(iter(self.table.values())))) / (self.rate_hz or 1.0)
        return find_unit(self.clock[1]).factor * clock.ticks(self.table)

    @property
    def step_s(self) -> float:
        return float(np.median(np.diff(self.times[self.rows])))

    @property
    def from_1970(self) -> bool:
        """Whether the clock counts from 1970."""
        return self.clock[0] is not None and bool(self.times[self.rows[0]] > LATE_START_S)

    @property
    def readings(self) -> dict[str, np.ndarray]:
        """Channel -> (r,) readings, positions first."""
        read = {guess.channel: file.values[guess.column] for file in self.files for guess in file.used}
        return {name: read[name] for name in sorted(read, key=lambda name: not name.startswith("position."))}

    def positions(self, robot: Articulated, units: Mapping[str, UnitGuess]) -> np.ndarray | None:
        """(r, n) positions of the joints of a robot with a fixed base and without constraints [rad], [m]; else None."""
        channels = [f"position.{joint}" for joint in robot.joints]
        if robot.floating_base or robot.closure is not None or not {*channels} <= self.readings.keys():
            return None
        return np.column_stack([units[name].converted(self.readings[name]) for name in channels])

    @property
    def unread(self) -> dict[str, str]:
        """Column -> why it is not read, of all columns that are not."""
        clock = () if self.clock[0] is None else self.clock[0].columns
        read = {*clock, *(each.column for each in self.used)}
        return {column: self.unused.get(column, "") for column in self.columns if column not in read}

    @property
    def initial(self) -> dict[str, float]:
        """Column -> value before its first reading, of columns without a number in some rows: no effort, or the first
        command.
        """
        columns = {each.column: each for each in self.used if each.column in self.missing}
        return {
            name: 0.0 if each.quantity in EFFORTS else first_number(self.values[name]) + 0.0  # no -0.0
            for name, each in columns.items()
        }

    @property
    def is_masked(self) -> bool:
        """Whether samples without a number become gaps."""
        return any(
            each.column in file.missing
            for file in self.files
            for each in file.used
            if each.quantity not in HELD
        )

    def with_units(self, robot: Articulated, known: Mapping[str, UnitGuess]) -> LogReading:
        """With units, and with angles that are unwrapped. `known`: units of another log of the same columns."""
        named = {each.channel: each.unit for each in self.guesses if each.unit is not None}
        units = guess_units(robot, self.readings, named, self.step_s)
        units |= _angle_units(robot, self, units, named)
        units |= _command_units(self, units, named)
        found = _agreements(robot, self, units)
        factor = effort_factor(found)
        if (asked := self._as_voltages(units, factor, named, known)) is not None:
            return asked.with_units(robot, known)
        units |= _torque_units(units, factor, named)
        units |= {
            each.channel: units[each.channel]._replace(reason=f"but a command, {UNKNOWN_SIZE}")
            for each in self.guesses
            if each.quantity == "torque" and each.is_command and not factor and each.unit is None
        }
        units, wrong = _velocity_units(self, units)
        units |= {name: unit for name, unit in known.items() if name in units}
        opposed = opposed_joints(found)
        main, *companions = (file._declared(units, opposed) for file in self.without(wrong).files)
        return replace(main, companions=tuple(companions))

    def _as_voltages(
        self,
        units: Mapping[str, UnitGuess],
        factor: float | None,
        named: Mapping[str, str],
        known: Mapping[str, UnitGuess],
    ) -> LogReading | None:
        """With torques as voltages, if they are commands whose size no unit of a torque explains.
        None: they are torques.
        """
        torques = [each for each in self.guesses if each.quantity == "torque"]
        if known:
            decided = any(name.startswith("voltage.") for name in known)
        else:
            sizes = [
                abs(np.log((factor or 1.0) * find_unit(u.unit).factor)) for u in CANDIDATES["torque rad"]
            ]
            decided = factor is not None and min(sizes) > np.log(MAX_RATIO_ERROR)
        if (
            not torques
            or not decided
            or any(
                not each.is_command or each.channel in named or units[each.channel].unit == "N"
                for each in torques
            )
        ):
            return None
        asked = (
            f"{factor:.2g} times what the description's masses ask for" if factor else "as in the first log"
        )
        reason = f"a command, {asked}: volts, or A of a current, which both have a gain"
        return self.mapped(
            lambda guess: (
                replace(guess, channel=f"voltage.{guess.owner}", reason=f"{guess.reason}; {reason}")
                if guess.quantity == "torque"
                else guess
            )
        )

    def _declared(self, units: Mapping[str, UnitGuess], opposed: Collection[str]) -> LogReading:
        """The same file with these units, and with angles that are unwrapped. `opposed`: joints with efforts of the
        other sign.
        """
        wraps: dict[str, dict[str, tuple[Any, str]]] = {
            key: dict(own) for key, own in self.quantities.items()
        }
        for each in self.used:
            unit = units[each.channel]
            if each.quantity not in ("position", "position_command") or find_unit(unit.unit).si != "rad":
                continue
            if (period := period_of(self.values[each.column], (unit.turn, unit.turn / 2))) is not None:
                reason = f"{each.column} jumps by a turn where it wraps: it is unwrapped"
                wraps.setdefault(each.quantity, {})["wraps"] = float(f"{period:.15g}"), reason
                self.values[each.column] = unwrapped(self.values[each.column], period, True)
        for quantity in EFFORTS:
            signs = [
                -1.0 if each.owner in opposed else 1.0 for each in self.used if each.quantity == quantity
            ]
            if -1.0 in signs:
                reason = (
                    "efforts oppose the description's torque and drive the friction, so they are of the load"
                )
                scale: Any = -1.0
                if 1.0 in signs:
                    reason = f"efforts of {listing(opposed)} oppose the description's torque and drive the friction"
                    scale = signs
                wraps.setdefault(quantity, {})["scale"] = scale, reason
        return replace(self, units=units, quantities=wraps)


def _angle_units(
    robot: Articulated, log: LogReading, units: Mapping[str, UnitGuess], named: Mapping[str, str]
) -> dict[str, UnitGuess]:
    """Angles whose unit no header names, in the unit in which efforts agree with the description's torque; none where
    they agree in no unit, or in several.
    """
    channels = [
        name for name in units if name.startswith("position.") and find_unit(units[name].unit).si == "rad"
    ]
    if not channels or not named.keys().isdisjoint(channels):
        return {}
    units_of_angles = dict.fromkeys([units[channels[0]], *CANDIDATES["position rad"]])
    found = [_agreements(robot, log, {**units, **dict.fromkeys(channels, unit)}) for unit in units_of_angles]
    joints = [joint for joint in found[0] if any(each[joint].agrees for each in found if joint in each)]
    if not joints or not all(each.keys() >= {*joints} for each in found):
        return {}
    rests = [float(np.mean([1 - each[joint].correlation ** 2 for joint in joints])) for each in found]
    rest, unit = min(zip(rests, units_of_angles, strict=True), key=lambda fit: fit[0])
    other = rests[0]
    if rest * CLEARLY_BETTER > other:
        return {}
    reason = f"efforts then agree with the description's torque, but for {100 * rest:.2g} % of their variance"
    commands = [name for name in units if name.startswith("position_command.")]
    return dict.fromkeys(
        (name for name in (*channels, *commands) if units[name].unit == units[channels[0]].unit),
        unit._replace(reason=f"{reason}; in {units[channels[0]].text} for {100 * other:.2g} %"),
    )


def _command_units(
    log: LogReading, units: Mapping[str, UnitGuess], named: Mapping[str, str]
) -> dict[str, UnitGuess]:
    """Position commands whose unit no header names, in the unit in which positions follow them, where that is another
    than that of positions.
    """
    read = log.readings
    pairs = {
        name: f"position.{name.partition('.')[2]}"
        for name in units
        if name.startswith("position_command.") and name not in named
    }
    pairs = {name: position for name, position in pairs.items() if position in read}
    if not pairs:
        return {}
    si = find_unit(units[next(iter(pairs))].unit).si

    def slope(unit: UnitGuess | None) -> float:
        """Median of the slopes of positions over commands in this unit, or in the unit of positions; of those that
        follow them.
        """
        slopes = []
        for name, position in pairs.items():
            x = (unit or units[name]).converted(read[name])
            y = units[position].converted(read[position])
            xx, xy, yy = _moments(x, y)
            if abs(xy) > FOLLOWS * np.sqrt(xx * yy):
                slopes.append(xy / xx)
        return float(np.median(slopes)) if slopes else 1.0

    if abs(slope(None) - 1) < WRONG_RATE:
        return {}
    follow = [unit for unit in CANDIDATES.get(f"position {si}", ()) if abs(slope(unit) - 1) < WRONG_RATE]
    return dict.fromkeys(pairs, follow[0]._replace(reason="positions then follow them")) if follow else {}


def _velocity_units(
    log: LogReading, units: Mapping[str, UnitGuess]
) -> tuple[dict[str, UnitGuess], dict[str, str]]:
    """Units in which velocities are the derivatives of positions; and velocity columns that are so in none -> why."""
    guessed, wrong, read = dict(units), {}, log.readings
    for each in log.guesses:
        position = f"position.{each.owner}"
        if each.quantity != "velocity" or position not in read:
            continue
        ratio = rate_ratio(units[position].converted(read[position]), read[each.channel], log.step_s)
        guess = find_unit(units[each.channel].unit)
        if ratio is None or abs(ratio * guess.factor - 1) < WRONG_RATE:
            continue
        errors = {name: abs(ratio * unit.factor - 1) for name, unit in UNITS.items() if unit.si == guess.si}
        unit = min(errors, key=errors.__getitem__)
        if errors[unit] < SAME_RATE:
            guessed[each.channel] = UnitGuess(unit, "it is then the derivative of the position")
        else:
            wrong[each.column] = f"it is {ratio:.3g} times the derivative of the position"
    return guessed, wrong


def _agreements(
    robot: Articulated, log: LogReading, units: Mapping[str, UnitGuess]
) -> dict[str, EffortAgreement]:
    """`agreements` of the log's torques in units whose factor is 1, or of its currents or voltages; empty: nothing can
    be compared.
    """
    quantity = next((name for name in EFFORTS if any(each.quantity == name for each in log.guesses)), "")
    efforts = {
        name.partition(".")[2]: x
        for name, x in log.readings.items()
        if quantity and name.startswith(f"{quantity}.")
    }
    q = log.positions(robot, units)
    if not efforts or q is None or placeholders(robot.inertials).any():
        return {}
    whole = np.isfinite(np.column_stack([q, *efforts.values()])).all(axis=1)
    return agreements(robot, q[whole], {joint: x[whole] for joint, x in efforts.items()}, log.step_s)


def _torque_units(
    units: Mapping[str, UnitGuess], factor: float | None, named: Mapping[str, str]
) -> dict[str, UnitGuess]:
    """Torques whose unit no header names, in the unit that agrees with the description's masses; no channels where that
    is not known.
    """
    guessed = [name for name in units if name.startswith("torque.") and name not in named]
    if factor is None or not guessed or any(units[name].unit == "N" for name in guessed):
        return {}
    sizes = {guess: factor * find_unit(guess.unit).factor for guess in CANDIDATES["torque rad"]}
    best = min(sizes, key=lambda guess: abs(np.log(sizes[guess])))
    asked = "times what the description's masses ask for"
    if abs(np.log(sizes[best])) > np.log(MAX_RATIO_ERROR):
        reason = f"but it is {factor:.2g} {asked}: currents and volts have a gain"
        return {name: units[name]._replace(reason=reason) for name in guessed}
    return {name: best._replace(reason=f"{sizes[best]:.2g} {asked}") for name in guessed}


def index_of(path: Path) -> Path:
    """The file that describes a folder, or its only log; the path itself of a file."""
    found = [path / index for index in INDEXES if (path / index).is_file()]
    if not found and path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file() and is_known(each))
        if len(found) != 1:
            listed = f"holds {listing(each.name for each in found)}" if found else "holds no log"
            raise InvalidProject(f"{path} is a folder that {listed}: name a file, or several")
    return found[0] if found else path


def read_log(
    robot: Articulated,
    path: Path,
    rate_hz: float | None,
    episode: int = 0,
    rotors: Sequence[str] = (),
    unread: Sequence[str] = (),
) -> LogReading:
    """Match the columns of a log, or of an episode of a data set, and read them; `PoinsotError` if it lacks some.
    `rotors`: names of those of a robot that flies. `unread`: joints that move without a position in the log.
    """
    columns, reading, units, _ = list_columns(path)
    if episode:
        columns = tuple(f"/{episode}{column.removeprefix('/0')}" for column in columns)
    links = [link for links in robot.links.values() for link in links]
    unused: dict[str, str] = {}
    by_numbers = _unnamed(robot, path, columns, reading, rate_hz, links)
    while True:  # without the columns whose numbers are no readings of their channel
        known = [column for column in columns if column not in unused]
        matched = [
            _with_unit(each, units) for each in match_log(path, known, robot.joints, links, rotors=rotors)
        ]
        matched += [each for each in by_numbers if each.column in known]
        read = [each.column for each in matched if each.quantity == "position"]
        if any(each.quantity == THRUST for each in matched):  # of its joints, only rotors may move
            read = read or [each.column for each in matched if each.quantity in FRAME_QUANTITIES]
        if not read:
            if not reading.get("header", True):
                raise InvalidProject(
                    f"{path} has no header, and its numbers do not say which column is which: name the columns in a "
                    f"first line, as in time,q1,tau1 ({len(columns)} names)"
                )
            if not robot.joints:
                raise InvalidProject(
                    f"{path}: {robot.name} is a free body, and its log needs thrusts of rotors that its description "
                    f"has, beside an IMU or its pose; it has {listing(columns)}"
                )
            raise InvalidProject(
                f"{path}: no column is named like the position of a joint of {robot.name}; it has "
                f'{listing(columns)}: name them "position.{robot.joints[0]}", or "q1" and so on'
            )
        fields = gain_fields(matched, columns)
        (clock, unit, reason), table = read_with_clock(path, matched, columns, reading, rate_hz, fields)
        positions = np.column_stack([table[name] for name in read])
        rows = np.flatnonzero(np.isfinite(positions[:, 0]))
        if len(rows) < 2:
            raise InvalidProject(f"{path}: fewer than two rows have a number in the column {read[0]!r}")
        located = [each.owner for each in matched if each.quantity == "position"]
        useless = _useless(matched, table, [*located, *unread])
        if not useless:
            break
        unused |= useless
    keys: dict[str, tuple[Any, str]] = {}
    total, why, factor = len(positions), "", find_unit(unit).factor
    if len(rows) < total:
        keys["require"] = read[:1], "rows of other topics have no position"
    if clock is not None:
        part = longest_increase(clock.ticks(table)[rows])
        why = "the clock runs backwards elsewhere" if part.stop - part.start < len(rows) else ""
        rows = rows[part]
    if before := first_reading(np.column_stack([carried_on(x, 0.0)[rows] for x in positions.T])):
        why = f"{before} rows stand at {positions[rows[0], 0]:g} before the first reading"
        rows = rows[before:]
    start, stop = int(rows[0]), int(rows[-1]) + 1
    if clock is not None and (rate := rate_of_arrival(clock.ticks(table)[rows], positions[rows])) is not None:
        reason = f"stamps of {clock.column} are times of arrival, in bursts: at equal intervals the motion is smoother"
        keys["rate_hz"] = rate_hz, _ = float(f"{rate / factor:.5g}"), reason
        clock = None
    every, first = held_rows(positions[rows]) if np.ptp(rows) == len(rows) - 1 else (1, 0)
    if every > 1:
        ticks = np.arange(total) / (rate_hz or 1.0) if clock is None else factor * clock.ticks(table)
        hz = 1 / float(np.median(np.diff(ticks[rows])))
        held = f"readings are held: they change at {hz / every:.4g} Hz in a log of {hz:.4g} Hz"
        keys["every"] = every, held
        start, rows = start + first, rows[first::every]
        if clock is None:
            rate_hz = hz / every
            keys["rate_hz"] = rate_hz, keys.get("rate_hz", (0, "as given, of the rows that are kept"))[1]
        why = why or ("the first new reading" if first else "")
    if why:
        keys["rows"] = [start, stop], why
    values = dict(table)
    quantities = _repairs(matched, values)
    matched = _controls(matched, values)
    missing = frozenset(name for name, x in values.items() if not np.isfinite(x[rows]).all())
    values = {name: (carried_on(x, np.nan) if name in missing else x)[rows] for name, x in values.items()}
    if "rate_hz" not in keys and clock is None:
        keys["rate_hz"] = rate_hz, "as given"
    return LogReading(
        *(path, columns, reading, _of_whole_frames(matched), unused, table, values, rows, missing),
        *((clock, unit, reason), keys["rate_hz"][0] if clock is None else None, keys, quantities, fields),
    )


def is_command_file(path: Path, columns: Sequence[str]) -> bool:
    """Whether the name of a file says that its columns were commanded, and no header does."""
    of_columns = Label(word for column in columns for word in words_of(column))
    return not COMMAND_FILES.isdisjoint(words_of(path.stem)) and COMMANDS.isdisjoint(of_columns)


def _unnamed(
    robot: Articulated,
    path: Path,
    columns: Sequence[str],
    reading: Mapping[str, Any],
    rate_hz: float | None,
    frames: Sequence[str],
) -> list[ColumnGuess]:
    """Guesses of columns by their numbers, where headers name no position, or neither an effort nor a command; none if
    the base moves, or joints depend on each other.
    """
    named = match_log(path, columns, robot.joints, frames)
    located = tuple(each.column for each in named if each.quantity == "position")
    others = {each.quantity for each in named} & {*EFFORTS, "position_command", CONTACT, *FRAME_QUANTITIES}
    if others or robot.floating_base or robot.closure is not None or placeholders(robot.inertials).any():
        return []
    if located and [each.owner for each in named if each.quantity == "position"] != [*robot.joints]:
        return []
    used = {each.column for each in named if each.quantity != "position"}
    clocks = {column for clock in find_clocks(columns) for column in clock.columns}
    guesses = [ColumnGuess(name, f"column.{name}", "") for name in columns if name not in used | clocks]
    try:
        (clock, unit, _), table = read_with_clock(path, guesses, columns, reading, rate_hz, {})
        ticks = np.arange(2.0) if clock is None else clock.ticks(table)
    except PoinsotError:  # a column of text, or no clock, which the reading of named columns will say
        return []
    step_s = 1 / rate_hz if rate_hz else find_unit(unit).factor * float(np.median(np.diff(ticks)))
    numbers = {
        each.column: table[each.column]
        for each in guesses
        if clock is None or each.column not in clock.columns
    }
    return match_numbers(robot, numbers, robot.joints, located, step_s) if step_s > 0 else []


def match_log(
    path: Path,
    columns: Sequence[str],
    joints: Sequence[str],
    frames: Sequence[str],
    commanded: bool = False,
    rotors: Sequence[str] = (),
) -> list[ColumnGuess]:
    """Channels of the columns of a log, as `match_columns`. Where no header names a quantity, the file's name does; and
    where it is one of several, and `is_command_file`.
    """
    matched = match_columns(columns, joints, frames, rotors)
    named = any(names_quantity(column) for column in columns)
    if not commanded and (named or not names_quantity(path.stem)):
        return matched
    headers = {f"{path.stem}/{column}": column for column in columns if not find_clocks([column])}
    return [replace(each, column=headers[each.column]) for each in match_columns([*headers], joints, frames)]


def read_companion(
    robot: Articulated, main: LogReading, path: Path, commanded: bool, unread: Sequence[str] = ()
) -> LogReading:
    """A file of the same recording as `main`, without positions: its values at the rows of that. `commanded`: as of
    `match_log`. `PoinsotError` if it has neither a clock nor the same rows. `unread`: as of `read_log`.
    """
    columns, reading, units, _ = list_columns(path)
    links = [link for links in robot.links.values() for link in links]
    matched = [_with_unit(each, units) for each in match_log(path, columns, robot.joints, links, commanded)]
    rate_hz = None if main.clock[0] else main.rate_hz
    (clock, unit, reason), table = read_with_clock(path, matched, columns, reading, rate_hz, {})
    names = [each.column for each in matched]
    keys: dict[str, tuple[Any, str]] = {}
    commands = [each.column for each in matched if each.quantity == "position_command"]
    values: dict[str | int, np.ndarray]
    if clock is None:
        if len(next(iter(table.values()))) != len(next(iter(main.table.values()))):
            raise InvalidProject(
                f"{path} has no clock, and other rows than {main.path}: add a column with the time"
            )
        keys = {key: main.keys[key] for key in ("rows", "every") if key in main.keys}
        values = {name: table[name][main.rows] for name in names}
    else:
        ticks, times = find_unit(unit).factor * clock.ticks(table), main.times[main.rows]
        whole = np.flatnonzero(np.isfinite(ticks))
        before = np.maximum(np.searchsorted(ticks[whole], times, side="right") - 1, 0)
        values = {
            name: carried_on(table[name], np.nan)[whole][before]
            if name in commands
            else np.interp(times, ticks[whole], table[name][whole])
            for name in names
        }
    located = [each.owner for each in main.used if each.quantity == "position"]
    useless = _useless(matched, values, [*located, *unread])
    used = tuple(each for each in matched if each.column not in useless)
    missing: frozenset[str | int] = frozenset(commands if clock else ()) | {
        name for name, x in values.items() if not np.isfinite(x).all()
    }
    return LogReading(
        *(path, columns, reading, used, useless, table, values, main.rows, missing, (clock, unit, reason)),
        *(rate_hz, keys, _repairs(used, values), {}),
    )


def _with_unit(guess: ColumnGuess, units: Mapping[str, str]) -> ColumnGuess:
    """With the unit that a line of the file names, if it is one of the quantity."""
    try:
        check_quantity(guess.channel, units.get(guess.column, ""))
    except UnknownUnit:
        return guess
    return guess if guess.unit else replace(guess, unit=units[guess.column])


def read_with_clock(
    log: Path,
    matched: Sequence[ColumnGuess],
    columns: Sequence[str],
    reading: Mapping[str, Any],
    rate_hz: float | None,
    fields: Mapping[str, Mapping[str, str]],
    restarts: bool = False,
) -> tuple[tuple[Clock | None, str, str], Columns]:
    """The clock (None with a rate), its unit and the reason; and the columns. `fields`: those of `gain_fields`.
    `restarts`: whether the clock may begin again, as in tables of several tosses.
    """
    read, why = find_reader(log).read_columns, ""
    channels = {each.channel: (each.column, "1") for each in matched}
    channels |= {
        f"{key}.{joint}": (column, "1") for joint, own in fields.items() for key, column in own.items()
    }
    if rate_hz is not None:
        return (None, "s", ""), read(Source(log, channels, **reading))
    unmatched = [each for each in columns if each not in {guess.column for guess in matched}]
    clocks = find_clocks(unmatched)
    if not reading.get("header", True):
        clocks = _increasing_columns(log, unmatched or columns, reading)
    measured = [guess.column for guess in matched if guess.quantity == "position"] or [
        guess.column for guess in matched
    ]
    best: tuple[float, tuple[Clock | None, str, str], Columns] | None = None
    for clock, unit in product(clocks, ("s", DATES)):
        try:
            column = Column(clock.column, unit, nanoseconds=clock.nanoseconds)
            table = read(Source(log, channels, column, **reading))
            rows = np.flatnonzero(np.isfinite(table[measured[0]]))
            ticks = clock.ticks(table)[rows]
            part = longest_increase(ticks)
            # a column that is no clock increases for a few rows only
            rows = rows[part] if restarts or 10 * (part.stop - part.start) > len(ticks) else rows
            ticks = clock.ticks(table)[rows]
            found = clock, *clock_unit(clock, ticks, unit == DATES)
        except PoinsotError as error:
            why = why or f" ({error})"
            continue
        if len(clocks) == 1:
            return found, table
        positions = np.column_stack([table[name][rows] for name in measured])
        rough = roughness(ticks, positions[:, np.isfinite(positions).all(axis=0)])
        if best is None:
            best = rough, found, table
        elif rough < best[0] * (1 - BETTER / np.sqrt(len(rows))):
            reason = (
                f"{found[2]}; the motion is smoother than with {best[1][0].column}"
                if best[1][0]
                else found[2]
            )
            best = rough, (found[0], found[1], reason), table
    if best is not None:
        return best[1:]
    raise InvalidProject(f"{log} has no clock{why}: give its sampling rate, as in --rate-hz 250")


def _increasing_columns(log: Path, columns: Sequence[str], reading: Mapping[str, Any]) -> list[Clock]:
    """The columns of a table without a header that only increase."""
    source = Source(log, {name: (name, "1") for name in columns}, **reading)
    table = find_reader(log).read_columns(source)
    return [Clock(name) for name in columns if (np.diff(table[name]) > 0).all()]


def _useless(
    matched: Sequence[ColumnGuess], table: Mapping[str | int, np.ndarray], located: Sequence[str]
) -> dict[str, str]:
    """Column -> why it is not read: its numbers are not of its channel, or a better column has what it says."""
    reasons = {
        each.column: why for each in matched if (why := _uselessness(each, table[each.column], located))
    }
    efforts = [each for each in matched if each.quantity in EFFORTS and each.column not in reasons]
    measured = {each.owner: each.column for each in efforts if not each.is_command}
    return reasons | {
        each.column: f"commanded or computed, and {measured[each.owner]} is measured"
        for each in efforts
        if each.is_command and each.owner in measured
    }


def _uselessness(guess: ColumnGuess, x: np.ndarray, located: Sequence[str]) -> str:
    """Why the numbers of a column are not of its channel; "": they can be."""
    known = x[np.isfinite(x)]
    if not len(known):
        return "it has no number"
    # a command, before which the motor was off: it begins later than one of its own periods
    rows = np.flatnonzero(np.isfinite(x))
    begins = len(known) == 1 or rows[0] > np.median(np.diff(rows))
    if guess.quantity in EFFORTS and not np.isfinite(x[0]) and (begins or np.ptp(known) > 0):
        return "" if known.any() else "it is 0 throughout"
    if guess.quantity in QUANTITIES and guess.owner not in located:
        return f"{guess.owner} has no position"
    if guess.quantity in EFFORTS and np.ptp(known) == 0:
        return f"it is {known[0]:g} throughout"
    if guess.quantity not in ("position", "position_command", CONTACT, *FRAME_QUANTITIES) and is_flag(known):
        return f"a flag, {np.min(known):g} or {np.max(known):g}"
    supply = guess.quantity == "voltage" and is_supply(known)
    return "a supply voltage, which keeps its sign and size" if supply else ""


def _controls(matched: Sequence[ColumnGuess], values: Columns) -> list[ColumnGuess]:
    """A simulator's `ctrl`, which is an effort of motors where positions do not follow it."""
    positions = {each.owner: values[each.column] for each in matched if each.quantity == "position"}
    controls = {
        each.column: _moments(values[each.column], positions[each.owner])
        for each in matched
        if each.quantity == "position_command" and "ctrl" in words_of(each.column) and each.owner in positions
    }
    alike = [xy / np.sqrt(xx * yy) if xx * yy > 0 else 0.0 for xx, xy, yy in controls.values()]
    if not alike or np.median(alike) > FOLLOWS:
        return [*matched]
    why = "positions do not follow it, so it is an effort"
    return [
        replace(each, channel=f"torque.{each.owner}", reason=f"{each.reason}; {why}")
        if each.column in controls
        else each
        for each in matched
    ]


def _moments(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Variances of x and y (T,), with the covariance between them, where both are known; 0 of fewer than three."""
    known = np.isfinite(x) & np.isfinite(y)
    (xx, xy), (_, yy) = np.cov(x[known], y[known]) if known.sum() > 2 else np.zeros((2, 2))
    return float(xx), float(xy), float(yy)


def _of_whole_frames(matched: Sequence[ColumnGuess]) -> tuple[ColumnGuess, ...]:
    """All axes of one frame, or none."""
    used = list(matched)
    for quantity, listed in FRAME_QUANTITIES.items():
        sensed = [each for each in used if each.quantity == quantity]
        axes = [each for each in sensed if each.owner[:-1] == sensed[0].owner[:-1]]
        kept = axes if len(axes) in listed.counts else []
        used = [each for each in used if each not in sensed or each in kept]
    return tuple(used)


def _repairs(
    matched: Sequence[ColumnGuess], values: dict[str | int, np.ndarray]
) -> dict[str, dict[str, tuple[Any, str]]]:
    """Keys of the tables of quantities whose numbers are not as they seem; `values` are corrected in place."""
    keys: dict[str, dict[str, tuple[Any, str]]] = {}
    failed: dict[float, np.ndarray] = {}  # numbers that stand for errors of positions -> rows that have them
    for quantity in sorted(
        {each.quantity for each in matched} & {"position", *EFFORTS}, key="position".__ne__
    ):
        columns: dict[str | int, np.ndarray] = {
            each.column: values[each.column] for each in matched if each.quantity == quantity
        }
        # a position cannot jump, and an effort can
        codes = {*error_codes(list(columns.values()), fewest=1 if quantity == "position" else 2)}
        for code, rows in failed.items():  # a message that failed as a whole
            same = np.any([x == code for x in columns.values()], axis=0)
            codes |= {code} if same.any() and not np.any(same & ~rows) else set()
        if codes:
            why = "single samples jump to it and back: errors of a bus"
            keys[quantity] = {"missing": (sorted(codes), why)}
            if quantity == "position":
                failed = {code: np.any([x == code for x in columns.values()], axis=0) for code in codes}
            columns = {name: np.where(np.isin(x, [*codes]), np.nan, x) for name, x in columns.items()}
        if quantity != "position" and are_registers([*columns.values()]):
            why = "negative numbers of 16 bits are logged without their sign"
            keys.setdefault(quantity, {})["wraps"] = REGISTER, why
            columns = {name: unwrapped(x, REGISTER, False) for name, x in columns.items()}
        values |= columns
    return keys
