"""Creation of a project file from a robot description and a log: `poinsot new`.

Columns are matched to joints by their headers (`inspection.columns`), and checked against the robot where only their
order assigns them to joints; units are guessed from magnitudes (`inspection.unit_guesses`); the methods decide whether
they can start from the channels of a log. Each guess is a comment of the file, with its reason.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader

from ..arrays import carried_on
from ..exceptions import InvalidProject, PoinsotError, listing
from ..inspection.clocks import Clock, clock_unit, find_clocks
from ..inspection.columns import BY_ORDER, ColumnGuess, match_columns
from ..inspection.energy import gains_energy
from ..inspection.motion import LATE_START_S, clock_facts, motion_facts
from ..inspection.unit_guesses import guess_units
from ..io.readers import find_reader, list_columns
from ..io.sources import Column, Columns, Source
from ..io.units import DATES, convert, find_unit
from ..models.robot.articulated import Articulated, load_robot
from ..quantities import FRAME_QUANTITIES
from ..recording import EFFORTS, QUANTITIES, Recording, clock_text
from .job import Job, Project
from .methods import find_beginning
from .methods.base import TEMPLATES, LogContents
from .settings import Settings
from .settings.preprocessing import SMOOTHED


@dataclass(frozen=True)
class Start:
    """A project file that can be identified at once. `text`: its text. `method`: its method. `guesses`: subject,
    value and reason of each guess. `unused`: columns that it does not read.
    """

    text: str
    method: str
    guesses: tuple[dict[str, str], ...]
    unused: tuple[str, ...]


def start_project(robot: Path, log: Path, job: Path, rate_hz: float | None = None) -> Start:
    """Create a project file; nothing is written to disk. `robot`: description, URDF or MJCF. `log`: a table
    with named columns. `job`: where the file will be: paths in it are relative to its folder. `rate_hz`: sampling rate
    of a log without a clock, or in place of its clock [Hz]. Raises `PoinsotError`: one sentence that says what the log
    lacks.
    """
    log = next((log / each for each in INDEXES if (log / each).is_file()), log)
    columns, reading = list_columns(log)
    for floating in (False, True):
        described = load_robot(robot, floating_base=floating)
        links = [link for links in described.links.values() for link in links]
        matched = match_columns(columns, described.joints, links)
        if not any(each.quantity in FRAME_QUANTITIES for each in matched):
            break  # no sensor of a moving base
    read = [each.column for each in matched if each.quantity == "position"]
    if not read:
        raise InvalidProject(
            f"{log}: no column is named like the position of a joint of {described.name}; it has {listing(columns)}: "
            f'name them "position.{described.joints[0]}", or "q1" and so on'
        )
    fields = _gain_fields(matched, columns)
    (clock, unit, reason), table = _read(log, matched, columns, reading, rate_hz, fields)
    rows = np.isfinite(table[read[0]])
    if rows.sum() < 2:
        raise InvalidProject(f"{log}: fewer than two rows have a number in the column {read[0]!r}")
    missing = {name for name, x in table.items() if not np.isfinite(x[rows]).all()}
    values = {name: (carried_on(x, np.nan) if name in missing else x)[rows] for name, x in table.items()}
    located = [each.owner for each in matched if each.quantity == "position"]
    used = [each for each in matched if _is_of_use(each, values[each.column], located)]
    for quantity, listed in FRAME_QUANTITIES.items():  # all axes of one frame, or none
        sensed = [each for each in used if each.quantity == quantity]
        axes = [each for each in sensed if each.owner[:-1] == sensed[0].owner[:-1]]
        kept = axes if len(axes) in listed.counts else []
        used = [each for each in used if each not in sensed or each in kept]
    (low, high), locked = described.position_limits, {}
    for k, joint in enumerate(described.joints):
        if joint not in (*located, *described.dependent_joints):
            locked[joint] = 0.0 if low[k] <= 0 <= high[k] else float(f"{0.5 * (low[k] + high[k]):.3g}")
    held = load_robot(robot, floating_base=described.floating_base, locked=locked)
    factor = find_unit(unit).factor
    ticks = np.zeros(0) if clock is None else clock.ticks(values)
    step_s = 1 / rate_hz if rate_hz else factor * float(np.median(np.diff(ticks)))
    positions_first = sorted(used, key=lambda each: each.quantity != "position")
    readings = {each.channel: values[each.column] for each in positions_first}
    named = {each.channel: each.unit for each in used if each.unit is not None}
    units = guess_units(held, readings, named, step_s)
    name, row, beginning = find_beginning(_contents(held, readings, units, step_s))
    used = [each for each in used if each.quantity in beginning.quantities]
    read_ones = {*(clock.columns if clock else ()), *(each.column for each in used)}
    values = {name: x for name, x in values.items() if name in read_ones}
    commanded = [each.owner for each in used if each.quantity == "position_command"]
    gains = _controller_gains({each: fields[each] for each in commanded if each in fields}, table)
    times = np.arange(len(rows)) / (rate_hz or 1.0) if clock is None else factor * clock.ticks(table)
    steady = None if gains.rows is None else times[[gains.rows.start, gains.rows.stop - 1]] - times[rows][0]
    content = {
        "gains": _for_all(gains.held, commanded),
        "steady_s": steady,
        "subject": row.subject,
        "robot": os.path.relpath(robot, job.parent),
        "floating_base": row.floating_base,
        "locked": locked,
        "log": os.path.relpath(log, job.parent),
        "rate_hz": rate_hz,
        "clock": (clock, unit, reason),
        "from_1970": bool(len(ticks)) and factor * ticks[0] > LATE_START_S,
        "require": [] if rows.all() else read[:1],
        "masked": any(each.column in missing for each in used if each.quantity not in HELD),
        "reading": reading,
        "reason": beginning.reason,
        **beginning.values,
    }
    initial = {each.column: _initial(each, values[each.column]) for each in used if each.column in missing}
    draft = _Draft(job, tuple(used), units, initial, content, beginning.template)
    draft = draft.cut_to_motion().compared_with_robot()
    unused = tuple(each for each in columns if each not in values)
    guesses = [
        ("method", name, beginning.reason),
        *([("clock", " and ".join(clock.columns), reason)] if clock else []),
    ]
    guesses += [
        (each.column, f"{each.channel} [{units[each.channel][0]}]", each.reason) for each in draft.used
    ]
    guesses += [(joint, "locked", "no column has its position") for joint in locked]
    guesses += gains.said
    said = tuple(dict(zip(("what", "value", "reason"), each, strict=True)) for each in guesses)
    return Start(draft.text(unused=listing(unused) if unused else ""), name, said, unused)


INDEXES = ("meta/info.json", "metadata.yaml")
"""Files that describe a folder: of a LeRobot data set, and of a ROS 2 bag."""
HELD = (*EFFORTS, "position_command")
"""Quantities whose missing values are those of the row before."""


def _initial(guess: ColumnGuess, x: np.ndarray) -> float:
    """Value of a held column before its first reading: no effort, or the first command."""
    return 0.0 if guess.quantity in EFFORTS else _first_number(x) + 0.0  # no -0.0


GAINS = {"kp": "stiffness", "kd": "velocity_gain"}
"""Fields beside a position command (Unitree's `MotorCmd`) -> parameters of an actuator."""


def _gain_fields(matched: Sequence[ColumnGuess], columns: Sequence[str]) -> dict[str, dict[str, str]]:
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


@dataclass(frozen=True)
class _Gains:
    """Gains of controllers that are logged with commands.

    Args:
        held: PARAMETER.JOINT -> value. rows: of the table, to which they belong; None: all. said: column, parameter and
            reason of each.
    """

    held: Mapping[str, float]
    rows: slice | None
    said: tuple[tuple[str, str, str], ...]


def _controller_gains(fields: Mapping[str, Mapping[str, str]], table: Columns) -> _Gains:
    """The gains of the longest run of rows in which they are constant, if that is more than half of the rows.

    The torque of such a command is kp (q - position) + kd (dq - velocity) + tau. Gains rise while a robot stands up,
    and are zero once its motors are off. Where velocities or torques are commanded too, they are not used.
    """
    if not fields:
        return _Gains({}, None, ())
    steady: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for joint, own in fields.items():
        x = {key: table[column] for key, column in own.items()}
        x = {key: carried_on(each, _first_number(each)) for key, each in x.items()}
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
    return _Gains(held, rows, tuple(said))


def _first_number(x: np.ndarray) -> float:
    known = x[np.isfinite(x)]
    return float(known[0]) if len(known) else np.nan


def _is_most(run: slice, rows: np.ndarray) -> bool:
    return 2 * (run.stop - run.start) > len(rows)


def _longest_run(values: np.ndarray, usable: np.ndarray) -> slice:
    """The longest run of usable rows in which values (T, k) do not change."""
    changes = (values[1:] != values[:-1]).any(axis=1) | (usable[1:] != usable[:-1])
    edges = [0, *(np.flatnonzero(changes) + 1).tolist(), len(values)]
    runs = [slice(*pair) for pair in pairwise(edges) if usable[pair[0]]]
    return max(runs, key=lambda run: run.stop - run.start, default=slice(0, 0))


def _for_all(held: Mapping[str, float], joints: Sequence[str]) -> Mapping[str, float]:
    """PARAMETER.JOINT -> value; PARAMETER alone where all joints have the same values."""
    found: dict[str, set[float]] = {}
    for name, value in held.items():
        found.setdefault(name.partition(".")[0], set()).add(value)
    alike = len(held) == len(found) * len(joints) and all(len(values) == 1 for values in found.values())
    return {name: values.pop() for name, values in found.items()} if alike else held


def _read(
    log: Path,
    matched: Sequence[ColumnGuess],
    columns: Sequence[str],
    reading: Mapping[str, Any],
    rate_hz: float | None,
    fields: Mapping[str, Mapping[str, str]],
) -> tuple[tuple[Clock | None, str, str], Columns]:
    """The clock (None with a rate), its unit and the reason; and the columns, those of `_gain_fields` too."""
    read, why = find_reader(log).read_columns, ""
    channels = {each.channel: (each.column, "1") for each in matched}
    channels |= {
        f"{key}.{joint}": (column, "1") for joint, own in fields.items() for key, column in own.items()
    }
    if rate_hz is not None:
        return (None, "s", ""), read(Source(log, channels, **reading))
    clocks = find_clocks([each for each in columns if each not in {guess.column for guess in matched}])
    for clock, unit in product(clocks, ("s", DATES)):
        try:
            column = Column(clock.column, unit, nanoseconds=clock.nanoseconds)
            table = read(Source(log, channels, column, **reading))
            ticks = clock.ticks(table)[np.isfinite(table[matched[0].column])]
            return (clock, *clock_unit(clock, ticks, unit == DATES)), table
        except PoinsotError as error:
            why = why or f" ({error})"
    raise InvalidProject(f"{log} has no clock{why}: give its sampling rate, as in --rate-hz 250")


def _is_of_use(guess: ColumnGuess, x: np.ndarray, located: Sequence[str]) -> bool:
    """Whether a column can be used: its joint has a position, and an effort changes."""
    known = x[np.isfinite(x)]
    changes = len(known) > 0 and (guess.quantity not in EFFORTS or float(np.ptp(known)) > 0)
    return changes and (guess.quantity not in QUANTITIES or guess.owner in located)


def _contents(
    robot: Articulated,
    readings: Mapping[str, np.ndarray],
    units: Mapping[str, tuple[str, str]],
    step_s: float,
) -> LogContents:
    """Contents of the log; the noise of a quantity is that of its noisiest channel."""
    owners: dict[str, tuple[str, ...]] = {}
    noise: dict[str, float] = {}
    for channel, x in readings.items():
        quantity, _, owner = channel.partition(".")
        owner = owner.rpartition(".")[0] if quantity in FRAME_QUANTITIES else owner
        owners[quantity] = tuple(dict.fromkeys([*owners.get(quantity, ()), owner]))
        x = convert(x[np.isfinite(x)], units[channel][0])[0]
        steps = np.abs(np.diff(x))
        grain = float(np.min(steps[steps > 0], initial=1.0)) / np.sqrt(12)
        # fourth differences of white noise have 70 times its variance, and a median of 0.6745 standard deviations
        spread = float(np.median(np.abs(np.diff(x, 4)))) / (0.6745 * np.sqrt(70)) if len(x) > 4 else 0.0
        noise[quantity] = max(noise.get(quantity, 0.0), spread, grain)
    if owners.keys() <= {"position", "velocity"} and not robot.floating_base:
        channels = [f"position.{joint}" for joint in robot.joints]
        q = np.column_stack([convert(readings[each], units[each][0])[0] for each in channels])
        if gains_energy(robot, q, step_s):
            raise InvalidProject(
                "the log has angles alone, and the robot gains energy, so its motors drive it: add columns with "
                "torques, currents or voltages of its joints, or with position commands; angles alone show how it "
                "moved, and nothing of its masses and friction"
            )
    return LogContents(robot, owners, noise)


def _between(recording: Recording, start: float, stop: float) -> list[float]:
    """`between_s` of a part of a recording [s]."""
    interval = clock_facts(recording).interval_s
    return [float(clock_text(each, interval)) for each in (start, stop)]


@dataclass(frozen=True, eq=False)
class _Draft:
    """A project file under construction. `job`: its path. `used`: columns that it reads. `units`: of channels, and
    reasons. `initial`: initial values of columns with missing rows. `content`: values of its template. `template`:
    template of the method's sections.
    """

    job: Path
    used: tuple[ColumnGuess, ...]
    units: Mapping[str, tuple[str, str]]
    initial: Mapping[str, float]
    content: Mapping[str, Any]
    template: Path

    @property
    def project(self) -> Project:
        return Project(self.job, Settings.model_validate(tomllib.loads(self.text())))

    def compared_with_robot(self) -> _Draft:
        """Columns matched by order, exchanged in pairs as long as the robot then explains efforts better."""
        doubtful = {each.channel for each in self.used if each.reason.startswith(BY_ORDER)}
        if len(doubtful) < 2:
            return self
        draft = self
        for _ in self.used:
            project = draft.project
            try:
                exchanged = tuple(project.settings.method.exchanged(Job(project)))
            except PoinsotError:  # `identify` will report it
                return draft
            for pair, quantities in exchanged:
                channels = {f"{quantity}.{joint}" for quantity in quantities for joint in pair}
                if channels <= doubtful:
                    used = (
                        guess.assigned_to_other(pair) if guess.channel in channels else guess
                        for guess in draft.used
                    )
                    draft = replace(draft, used=tuple(used))
                    break
            else:
                break
        return draft

    def cut_to_motion(self) -> _Draft:
        """The longest part without a gap of the clock; and for smoothers an even clock and the part with motion."""
        project, content = self.project, dict(self.content)
        robot = project.robot() if project.settings.robot else None
        joints = () if robot else project.mechanism().readable_joints
        (run,) = project.runs(robot) if robot else project.recordings(joints, ())
        recording, reason = run.recording, "the part with constant gains"
        if content["steady_s"] is not None:
            first, last = recording.time[0] + content["steady_s"]
            content |= {"between_s": _between(recording, first, last), "between_reason": reason}
            recording = recording.between(*content["between_s"])
        clock = clock_facts(recording)
        if clock.gaps_s:
            first, last = clock.start_s, clock.start_s + clock.duration_s
            ends = [first, *chain.from_iterable(clock.gaps_s), last]
            start, stop = max(zip(ends[::2], ends[1::2], strict=True), key=lambda part: part[1] - part[0])
            reason = "the longest part without a gap of the clock"
            content |= {"between_s": _between(recording, start, stop), "between_reason": reason}
            recording = recording.between(start, stop)
            clock = clock_facts(recording)
        if project.settings.method.row.takes is SMOOTHED:
            if not recording.is_uniform and not clock.has_small_jitter:
                content["resample_hz"] = clock.even_rate_hz
            content["window_s"] = motion_facts(recording).window_s
        return replace(self, content=content)

    def text(self, **more: str) -> str:
        """The whole file; `more`: further values of its template."""
        tables: dict[str, list[ColumnGuess]] = {}
        for each in self.used:
            tables.setdefault(each.quantity, []).append(each)
        for quantity in FRAME_QUANTITIES.keys() & tables:
            ends = FRAME_QUANTITIES[quantity].ends
            tables[quantity].sort(key=lambda each: ends.index(each.channel[-1]))
        folders = [TEMPLATES, self.template.parent]
        environment = Environment(loader=FileSystemLoader(folders), trim_blocks=True, lstrip_blocks=True)
        environment.filters |= {"toml": dumps, "unit": lambda channel: self.units[channel][0]}
        own = {"tables": tables, "units": self.units, "initial": self.initial, "held": HELD}
        values = own | dict(self.content) | more
        return "\n".join(
            environment.get_template(name).render(values) for name in ("job.toml", self.template.name)
        )
