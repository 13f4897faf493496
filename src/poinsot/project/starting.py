"""The beginning of a project file from a robot description and a log: `poinsot new`.

Columns are matched to joints by their headers (`inspection.columns`), and compared with the robot where only their order
says which is whose; units are guessed from magnitudes (`inspection.unit_guesses`); the methods say themselves whether
they can begin with what a log has. Each guess is a comment of the file, which says why.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import carried_on
from ..exceptions import InvalidProject, PoinsotError, listing
from ..inspection.columns import BY_ORDER, ColumnGuess, clock_unit, find_clock, match_columns
from ..inspection.motion import LATE_START_S, clock_facts, motion_facts
from ..inspection.unit_guesses import guess_units
from ..io.readers import find_reader, list_columns
from ..io.sources import Columns, Source
from ..io.units import convert, find_unit
from ..models.articulated import Articulated, load_robot
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT, EFFORTS, QUANTITIES, clock_text
from .job import Job, Project
from .methods import find_beginning
from .methods.base import LogContents
from .settings import Settings
from .settings.preprocessing import SMOOTHED

HEAD = """# Begun by `poinsot new`. A comment with "guess" says why a line is so: correct it where it is wrong.
# The page "Project file" of the documentation lists every key.

"""


@dataclass(frozen=True)
class Start:
    """A project file that can be identified at once.

    Args:
        text: of the file. method: its name.
        guesses: (what, value, reason) of each. unused: columns that it does not read.
    """

    text: str
    method: str
    guesses: tuple[tuple[str, str, str], ...]
    unused: tuple[str, ...]


def start_project(robot: Path, log: Path, job: Path, rate_hz: float | None = None) -> Start:
    """The beginning of a project file; nothing is written to disk.

    Args:
        robot: description, URDF or MJCF. log: a table with named columns.
        job: where the file will be: paths in it are relative to its folder.
        rate_hz: sampling rate of a log without a clock, or in place of its clock [Hz].

    Raises:
        PoinsotError: one sentence that says what the log lacks.
    """
    columns, reading = list_columns(log)
    for floating in (False, True):
        described = load_robot(robot, floating_base=floating)
        links = [link for links in described.links.values() for link in links]
        matched = match_columns(columns, described.joints, links)
        if not any(each.quantity in FRAME_QUANTITIES for each in matched):
            break  # no sensor of a base that moves
    read = [each.column for each in matched if each.quantity == "position"]
    if not read:
        raise InvalidProject(
            f"{log}: no column is called like the position of a joint of {described.name}; it has {listing(columns)}: "
            f'call them "position.{described.joints[0]}", or "q1" and so on'
        )
    (clock, unit, reason), table = _read(log, matched, columns, reading, rate_hz)
    rows = np.isfinite(table[read[0]])
    missing = {name for name, x in table.items() if not np.isfinite(x[rows]).all()}
    values = {name: (carried_on(x, np.nan) if name in missing else x)[rows] for name, x in table.items()}
    located = [each.owner for each in matched if each.quantity == "position"]
    used = [each for each in matched if _is_of_use(each, values[each.column], located)]
    (low, high), locked = described.position_limits, {}
    for k, joint in enumerate(described.joints):
        if joint not in located:
            locked[joint] = 0.0 if low[k] <= 0 <= high[k] else float(f"{0.5 * (low[k] + high[k]):.3g}")
    held = load_robot(robot, floating_base=described.floating_base, locked=locked)
    factor = find_unit(unit).factor
    step_s = 1 / rate_hz if rate_hz else factor * float(np.median(np.diff(values[clock])))
    readings = {
        each.channel: values[each.column]
        for each in sorted(used, key=lambda each: each.quantity != "position")
    }
    named = {each.channel: each.unit for each in used if each.unit is not None}
    units = guess_units(held, readings, named, step_s)
    name, method, beginning = find_beginning(_contents(held, readings, units))
    used = [each for each in used if each.quantity in beginning.quantities]
    lines = [
        _line("path", os.path.relpath(log, job.parent)),
        *(_line(key, each) for key, each in reading.items()),
    ]
    if rate_hz:
        lines.append(_line("rate_hz", rate_hz, "as given"))
    else:
        lines.append(f'time = {{ column = {dumps(clock)}, unit = "{unit}" }}     # guess: {reason}')
        if factor * values[clock][0] > LATE_START_S:
            lines.append(_line("start_s", 0, "times count from the first sample, not from 1970"))
    if not rows.all():
        lines.append(_line("require", read[:1], "rows of other topics have no position"))
    if any(each.column in missing for each in used if each.quantity not in HELD):
        lines.append(_line("invalid", "mask", "samples without a number become gaps"))
    subject = [f"[{method.subject}]", _line("path", os.path.relpath(robot, job.parent))]
    if method.floating_base:
        subject.append(
            _line("floating_base", True, "guess: the log has an IMU; write false for a robot that is fixed")
        )
    if locked:
        table_of = ", ".join(f"{dumps(joint)} = {position}" for joint, position in locked.items())
        subject.append(
            f"locked = {{ {table_of} }}     # no column has their position: write where they are held [rad], [m]"
        )
    initial = {each.column: _initial(each, values[each.column]) for each in used if each.column in missing}
    draft = _Draft(job, tuple(subject), tuple(lines), tuple(used), units, initial, beginning.sections)
    draft = draft.compared_with_robot().cut_to_motion()
    unused = tuple(each for each in columns if each not in {clock, *(guess.column for guess in draft.used)})
    guesses = [("method", name, beginning.reason), *([("clock", clock, reason)] if clock else [])]
    guesses += [
        (each.column, f"{each.channel} [{units[each.channel][0]}]", each.reason) for each in draft.used
    ]
    guesses += [(joint, "locked", "no column has its position") for joint in locked]
    return Start(draft.text(f"# guess: {beginning.reason}\n", unused), name, tuple(guesses), unused)


HELD = (*EFFORTS, "position_command")
"""Quantities that keep their value until the next where a row has none."""


def _line(key: str, value: Any, comment: str = "") -> str:
    return f"{key} = {dumps(value)}{comment and f'     # {comment}'}"


def _initial(guess: ColumnGuess, x: np.ndarray) -> float:
    """What a column that is held has before its first value: no effort, or the first command."""
    return 0.0 if guess.quantity in EFFORTS else float(x[np.isfinite(x)][0])


def _read(
    log: Path,
    matched: Sequence[ColumnGuess],
    columns: Sequence[str],
    reading: Mapping[str, Any],
    rate_hz: float | None,
) -> tuple[tuple[str, str, str], Columns]:
    """The clock's column (empty with a rate), its unit and the reason; and the columns."""
    read, why = find_reader(log), ""
    channels = {each.channel: (each.column, "1") for each in matched}
    if rate_hz is not None:
        return ("", "s", ""), read(Source(log, channels, **reading))
    for name in find_clock([each for each in columns if each not in {guess.column for guess in matched}]):
        try:
            table = read(Source(log, channels, (name, "s"), **reading))
            return (name, *clock_unit(name, table[name][np.isfinite(table[matched[0].column])])), table
        except PoinsotError as error:
            why = why or f" ({error})"
    raise InvalidProject(
        f"{log} has no clock{why}: give the rate at which it was sampled, as in --rate-hz 250"
    )


def _is_of_use(guess: ColumnGuess, x: np.ndarray, located: Sequence[str]) -> bool:
    """Whether a column says something: its joint has a position, and an effort changes."""
    known = x[np.isfinite(x)]
    changes = len(known) > 0 and (guess.quantity not in EFFORTS or float(np.ptp(known)) > 0)
    return changes and (guess.quantity not in QUANTITIES or guess.owner in located)


def _contents(
    robot: Articulated, readings: Mapping[str, np.ndarray], units: Mapping[str, tuple[str, str]]
) -> LogContents:
    """What the log has; the noise of a quantity is that of its noisiest channel."""
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
    joints = {quantity: each for quantity, each in owners.items() if quantity in QUANTITIES}
    return LogContents(robot, joints, {each: owners[each] for each in owners if each not in joints}, noise)


@dataclass(frozen=True, eq=False)
class _Draft:
    """A project file that is being written.

    Args:
        job: its path. subject, recording: lines of these tables. used: columns that it reads.
        units: of channels, and why. initial: of columns that have no value in some rows. sections: those of its method.
    """

    job: Path
    subject: tuple[str, ...]
    recording: tuple[str, ...]
    used: tuple[ColumnGuess, ...]
    units: Mapping[str, tuple[str, str]]
    initial: Mapping[str, float]
    sections: str

    @property
    def project(self) -> Project:
        return Project(self.job, Settings.model_validate(tomllib.loads(self.text())))

    def compared_with_robot(self) -> _Draft:
        """Columns that were matched by order, exchanged in pairs as long as the robot explains efforts better so."""
        doubtful = {each.channel for each in self.used if each.reason.startswith(BY_ORDER)}
        if len(doubtful) < 2:
            return self
        draft = self
        for _ in self.used:
            project = draft.project
            for pair, quantities in project.settings.method.exchanged(Job(project)):
                channels = {f"{quantity}.{joint}" for quantity in quantities for joint in pair}
                if channels <= doubtful:
                    given = (
                        each.given_to_other(pair) if each.channel in channels else each for each in draft.used
                    )
                    draft = replace(draft, used=tuple(given))
                    break
            else:
                break
        return draft

    def cut_to_motion(self) -> _Draft:
        """The longest part without a gap of the clock; and for smoothers an even clock and the part with motion."""
        project, lines, sections = self.project, list(self.recording), self.sections
        robot = project.robot() if project.settings.robot else None
        mechanism_joints = () if robot else project.mechanism().readable_joints
        (run,) = project.runs(robot) if robot else project.recordings(mechanism_joints, ())
        recording, clock = run.recording, clock_facts(run.recording)
        if clock.gaps_s:
            ends = [
                clock.start_s,
                *(end for gap in clock.gaps_s for end in gap),
                clock.start_s + clock.duration_s,
            ]
            start, stop = max(zip(ends[::2], ends[1::2], strict=True), key=lambda part: part[1] - part[0])
            a, b = (clock_text(each, clock.interval_s) for each in (start, stop))
            lines.append(f"between_s = [{a}, {b}]     # guess: the longest part without a gap of the clock")
            recording = recording.between(start, stop)
            clock = clock_facts(recording)
        if project.settings.method.takes is SMOOTHED:
            if not recording.is_uniform and not clock.has_small_jitter:
                even = _line("resample_hz", clock.even_rate_hz, "guess: the clock is uneven")
                sections = sections.replace("[preprocessing]", f"[preprocessing]\n{even}")
            if (window := motion_facts(recording).window_s) is not None:
                lines.append(
                    _line(
                        "window_s",
                        [round(each, 2) for each in window],
                        "guess: no joint moves before or after",
                    )
                )
        return replace(self, recording=tuple(lines), sections=sections)

    def text(self, method: str = "", unused: Sequence[str] = ()) -> str:
        """The whole file; `method`: comment of this section."""
        left = [f"# columns that are not read: {listing(unused)}"] if unused else []
        sections = self.sections.replace("[method]", f"{method}[method]")
        recording = ["[[recordings]]", *self.recording, *left]
        return (
            HEAD
            + "\n\n".join(["\n".join(self.subject), "\n".join(recording), *self._tables(), sections])
            + "\n"
        )

    def _tables(self) -> Iterator[str]:
        """A table of each quantity."""
        for quantity in dict.fromkeys(each.quantity for each in self.used):
            own, listed = (
                [each for each in self.used if each.quantity == quantity],
                FRAME_QUANTITIES.get(quantity),
            )
            lines, units = [f"[recordings.{quantity}]"], [self.units[each.channel] for each in own]
            if listed is not None:
                own.sort(key=lambda each: listed.ends.index(each.channel[-1]))
                lines.append(
                    _line("frame", own[0].owner[:-2], f"guess: {own[0].reason}; a link of the robot")
                )
            else:
                lines.append(
                    _line("frames" if quantity == CONTACT else "joints", [each.owner for each in own])
                )
            if listed is None or not listed.is_orientation:
                names = [unit for unit, _ in units]
                lines.append(
                    _line("unit", names[0] if len({*names}) == 1 else names, f"guess: {units[0][1]}")
                )
            if quantity in HELD and (held := [each for each in own if each.column in self.initial]):
                lines.append(
                    _line("hold", True, "where a row has no value the last one counts, and before the first")
                )
                lines.append(_line("initial", self.initial[held[0].column]))
            width = max(len(dumps(each.column)) for each in own) + 5
            columns = (
                f"    {dumps(each.column) + ',':<{width}} # {each.owner}, guess {each.reason}" for each in own
            )
            yield "\n".join([*lines, "columns = [", *columns, "]"])
