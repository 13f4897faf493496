"""Creation of a project file from a robot description and logs: `poinsot new`.

Columns are matched to joints by their headers (`inspection.columns`) and by what their numbers are
(`inspection.readings`), and checked against the robot where only their order assigns them to joints; units are guessed
from magnitudes (`inspection.unit_guesses`), the time base from stamps and motion (`inspection.clocks`); the methods
decide whether they can start from the channels of a log. Each guess is a comment of the file, with its reason, and each
column that is not read is listed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader

from ..exceptions import InvalidModel, InvalidProject, PoinsotError, listing
from ..inspection.columns import BY_NUMBER, BY_ORDER, ColumnGuess, names_quantity
from ..inspection.energy import free_joints, gains_energy
from ..inspection.motion import carrier_of_imu, clock_facts, find_unfollowed, motion_facts
from ..inspection.readings import is_noise
from ..inspection.unit_guesses import USUAL
from ..io.readers import list_columns
from ..io.units import STANDARD_GRAVITY
from ..models.robot.articulated import Articulated, load_robot
from ..models.robot.motors import described_motors
from ..models.robot.rotors import DescribedRotor, described_rotors
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT, EFFORTS, THRUST, Recording, clock_text
from ..statistics import white_noise
from .controller_gains import controller_gains, for_all
from .job import Job, Project
from .methods import find_beginning
from .methods.base import TEMPLATES, LogContents
from .settings import Settings
from .settings.preprocessing import SMOOTHED
from .starting_log import HELD, LogReading, index_of, is_command_file, match_log, read_companion, read_log

NO_COLUMN = "no column has their position"
"""Why joints are locked."""
MOST_EPISODES = 50
"""Maximum number of episodes of a data set that become recordings; the first ones are taken."""


@dataclass(frozen=True)
class Start:
    """A project file that can be identified at once. `text`: its text. `method`: its method. `guesses`: subject,
    value and reason of each guess. `unused`: columns that it does not read.
    """

    text: str
    method: str
    guesses: tuple[dict[str, str], ...]
    unused: tuple[str, ...]


def start_project(
    robot: Path,
    logs: Path | Sequence[Path],
    job: Path,
    rate_hz: float | None = None,
    validation: Sequence[Path] = (),
) -> Start:
    """Create a project file; nothing is written to disk. `robot`: description, URDF or MJCF. `logs`: tables with named
    columns, a recording each. `job`: where the file will be: paths in it are relative to its folder. `rate_hz`: rate of
    logs without a clock, or in place of their clocks [Hz]. `validation`: logs that are predicted and not fitted.
    Raises `PoinsotError`: one sentence that says what a log lacks.
    """
    fitted = [logs] if isinstance(logs, Path) else list(logs)
    paths = [index_of(path) for path in [*fitted, *validation]]
    lists = [list_columns(path) for path in paths]
    described, rotors = _described(
        robot, [*(path.stem for path in paths), *(name for columns in lists for name in columns.names)]
    )
    flying = [rotor.name for rotor in rotors]
    links = [link for links in described.links.values() for link in links]
    commanded = {path for path, each in zip(paths, lists, strict=True) if is_command_file(path, each.names)}
    commanded = set() if len(commanded) == len(set(paths)) else commanded
    matches = [
        match_log(path, columns.names, described.joints, links, path in commanded, flying)
        for path, columns in zip(paths, lists, strict=True)
    ]
    quantities = [{each.quantity for each in matched} for matched in matches]
    # files with commands or efforts only belong to one with positions, in the order of both
    alone = [
        path
        for path, names in zip(paths, quantities, strict=True)
        if names and "position" not in names and THRUST not in names
    ]
    if len(alone) < len(paths):
        lists = [each for path, each in zip(paths, lists, strict=True) if path not in alone]
        paths = [path for path in paths if path not in alone]
        if len(alone) % len(paths):
            raise InvalidProject(
                f"{listing(map(str, alone))} have no positions, and do not belong to {listing(map(str, paths))} one by "
                "one: give as many files with efforts or commands as with positions"
            )
    else:
        alone = []
    sensed = any(names & {*FRAME_QUANTITIES, CONTACT} for names in quantities)
    described = load_robot(robot, floating_base=True) if sensed or rotors else described
    episodes = [
        (path, k, "" if path in map(index_of, fitted) else "validation")
        for path, columns in zip(paths, lists, strict=True)
        for k in range(min(columns.episodes, MOST_EPISODES))
    ]
    several = {path: columns.episodes > 1 for path, columns in zip(paths, lists, strict=True)}
    motors = described_motors(described, robot)
    still = _still_joints(described, motors, [each for matched in matches for each in matched])
    unread = () if sensed or rotors else tuple(joint for joint, why in still.items() if not why)
    readings = [read_log(described, path, rate_hz, k, flying, unread) for path, k, _ in episodes]
    readings = [
        replace(
            log,
            companions=tuple(
                read_companion(described, log, path, path in commanded, unread)
                for path in alone[k :: len(paths)]
            ),
        )
        for k, log in enumerate(readings)
    ]
    floating, resting = _base_moves(described, robot, readings)
    described = load_robot(robot) if (sensed or rotors) and not floating else described
    readings = [log.without(dict.fromkeys(log.base_sensors, resting) if resting else {}) for log in readings]
    first = readings[0]
    located = [each.owner for each in first.used if each.quantity == "position"]
    locked = _locked(described, [*located, *unread])
    if described.floating_base and not floating:
        locked = {described.model.names[1]: 0.0} | locked  # nothing says how the base moves: it is held
    held = load_robot(robot, floating_base=floating, locked=locked)
    first = first.with_units(held, {})
    readings = [first, *(log.with_units(held, first.units) for log in readings[1:])]
    contents = replace(_contents(held, first), unread=unread, motors=motors or {})
    name, row, beginning = find_beginning(contents)
    readings = [
        log.mapped(lambda guess: guess if guess.quantity in beginning.quantities else None)
        for log in readings
    ]
    for log in readings[1:]:
        channels = [{each.channel for each in one.guesses} for one in (first, log)]
        if lacks := [each.channel for each in readings[0].guesses if each.channel not in channels[1]]:
            raise InvalidProject(
                f"{log.path} has no {listing(lacks)}, which {first.path} has: logs of one project have the same "
                "channels"
            )
    followed = [each.owner for each in readings[0].guesses if each.quantity == "position_command"]
    gains = controller_gains(
        {each: first.fields[each] for each in followed if each in first.fields}, first.table
    )
    times = first.times
    steady = (
        None if gains.rows is None else times[[gains.rows.start, gains.rows.stop - 1]] - times[first.rows][0]
    )
    content = {
        "gains": for_all(gains.held, followed),
        "steady_s": steady,
        "subject": row.subject,
        "robot": os.path.relpath(robot, job.parent),
        "floating_base": row.floating_base and held.floating_base,
        "locked": locked,
        "locked_why": "; ".join(dict.fromkeys(still.get(joint) or NO_COLUMN for joint in locked)),
        "reason": beginning.reason,
        "rotors": [rotor for rotor in rotors if f"{THRUST}.{rotor.name}" in first.units],
        **beginning.values,
    }
    parts = [
        DraftPart(
            log,
            {
                "paths": [os.path.relpath(file.path, job.parent) for file in log.files],
                "name": f"{log.path.parent.parent.name} {k}" if several[log.path] else "",
                "role": role,
            },
        )
        for log, (_, k, role) in zip(readings, episodes, strict=True)
    ]
    draft = _Draft(job, tuple(parts), content, beginning.template)
    draft = draft.cut_to_motion().compared_with_robot().with_determined_parameters()
    held_joints = [(joint, "locked", still.get(joint) or NO_COLUMN) for joint in locked]
    held_joints += [(joint, "free", "no column has its position, and no motor holds it") for joint in unread]
    guesses = [("method", name, beginning.reason), *held_joints, *gains.said]
    return begun(draft.parts, name, draft.text(), guesses)


def _described(path: Path, columns: Sequence[str]) -> tuple[Articulated, tuple[DescribedRotor, ...]]:
    """The robot, with a floating base where nothing else of it moves; and its rotors, if a column names thrusts."""
    try:
        robot = load_robot(path)
    except InvalidModel:  # a body without joints
        robot = load_robot(path, floating_base=True)
    if not any(names_quantity(column, THRUST) for column in columns):
        return robot, ()
    return robot, described_rotors(load_robot(path, floating_base=True), path)


def _base_moves(robot: Articulated, path: Path, logs: Sequence[LogReading]) -> tuple[bool, str]:
    """Whether sensors of the base say that it moves; and why they do not, if there are some. `path`: of the robot."""
    weight = float(np.sum(robot.inertials[:, 0])) * STANDARD_GRAVITY
    sensed = [x for log in logs for x in log.base_sensors.values()]
    placed = [x for log in logs for name, x in log.readings.items() if name.startswith("frame_position.")]
    feet = [x for log in logs for x in log.foot_contacts(weight).values()]
    placed += feet
    if not sensed and not placed:
        return False, ""
    if robot.inertials[0][0] <= 0:
        return False, "the base has no mass, so it is fixed"
    # on its feet it stands freely, though it may not move
    stands = any(np.nanmedian(x) > 0 for x in feet)
    if stands or not all(map(is_noise, placed)):
        return True, ""
    if all(map(is_noise, sensed)):
        return False, "the base does not move: it reads noise"
    carriers = {_carrier(path, log) for log in logs}
    if len(carriers) == 1 and (body := carriers.pop()):
        return False, f"the base does not move: {body} turns as the IMU does, by its joints alone"
    return True, ""


def _carrier(path: Path, log: LogReading) -> str:
    """The link of a robot with a fixed base that carries the log's IMU; "": none, or it is not known."""
    gyro, acc = (
        [x for name, x in log.readings.items() if name.startswith(f"{quantity}.")]
        for quantity in ("gyro", "accelerometer")
    )
    try:
        fixed = load_robot(path)
    except InvalidModel:
        return ""
    channels = [f"position.{joint}" for joint in fixed.joints]
    if not len(gyro) == len(acc) == 3 or fixed.floating_base or fixed.closure:
        return ""
    if not {*channels} <= log.readings.keys():
        return ""
    q = np.column_stack([log.readings[name] for name in channels])
    return carrier_of_imu(fixed, q, np.column_stack(gyro), np.column_stack(acc), log.step_s)


def _locked(robot: Articulated, located: Sequence[str]) -> dict[str, float]:
    """Joints without a position, and where they are held [rad], [m]: at 0, or in the middle of a range without 0."""
    (low, high), locked = robot.position_limits, {}
    for k, joint in enumerate(robot.joints):
        if joint in (*located, *robot.dependent_joints):
            continue
        if joint in robot.model.names:
            locked[joint] = 0.0 if low[k] <= 0 <= high[k] else float(f"{0.5 * (low[k] + high[k]):.3g}")
        else:  # a freedom of a joint with several
            locked[joint.rpartition(".")[0]] = 0.0
    return locked


def _still_joints(
    robot: Articulated, motors: Mapping[str, float | None] | None, matched: Sequence[ColumnGuess]
) -> dict[str, str]:
    """Joints without a position in the log, but for those that follow others -> why they stand still; "": they move.
    `motors`: see `described_motors`.
    """
    columns = {
        quantity: {each.owner for each in matched if each.quantity == quantity}
        for quantity in ("position", "position_command", *EFFORTS)
    }
    located, driven = columns["position"], set[str]().union(*(columns[effort] for effort in EFFORTS))
    still, fingers = {}, _fingers(robot, motors is not None)
    for joint in robot.joints:
        if joint in (*located, *robot.dependent_joints):
            continue
        if robot.floating_base or not located or columns["position_command"]:
            still[joint] = NO_COLUMN
        elif joint in driven:
            still[joint] = ""
        elif motors is not None and joint in motors:
            still[joint] = f"{NO_COLUMN}, and a motor holds it"
        else:
            still[joint] = f"{NO_COLUMN}, and it is a finger" if joint in fingers else ""
    return still


def _fingers(robot: Articulated, has_motors: bool) -> tuple[str, ...]:
    """Joints with limits that carry no others than followers. Of MJCF, two or more on one body, if it has no motors: it
    names them all, and a URDF may lack that of a gripper. A pendulum has no limits in a URDF.
    """
    is_urdf = robot.source is not None and robot.source.suffix.lower() == ".urdf"
    if has_motors and not is_urdf:
        return ()
    low, high = robot.position_limits
    moved = {joint: body for joint, (body, _) in zip(robot.joints, robot.freedoms, strict=True)}
    carriers = dict(zip(robot.bodies, robot.parents, strict=True))
    carrying = {carriers[body] for joint, body in moved.items() if joint not in robot.followers}
    limited = np.isfinite(low) & np.isfinite(high)
    ends = [
        joint
        for joint, has in zip(robot.joints, limited, strict=True)
        if has and moved[joint] not in carrying
    ]
    beside = [carriers[moved[joint]] for joint in ends]
    return tuple(
        joint for joint, carrier in zip(ends, beside, strict=True) if is_urdf or beside.count(carrier) > 1
    )


def _contents(robot: Articulated, log: LogReading) -> LogContents:
    """Contents of the log; the noise of a quantity is that of its noisiest channel."""
    owners: dict[str, tuple[str, ...]] = {}
    noise: dict[str, float] = {}
    channels: dict[str, float] = {}
    for channel, x in log.readings.items():
        quantity, _, owner = channel.partition(".")
        owner = owner.rpartition(".")[0] if quantity in FRAME_QUANTITIES else owner
        owners[quantity] = tuple(dict.fromkeys([*owners.get(quantity, ()), owner]))
        x = log.units[channel].converted(x[np.isfinite(x)])
        steps = np.abs(np.diff(x))
        grain = float(np.min(steps[steps > 0], initial=1.0)) / np.sqrt(12)
        channels[channel] = max(white_noise(x, order=4), grain)
        noise[quantity] = max(noise.get(quantity, 0.0), channels[channel])
    units = {channel.partition(".")[0]: unit.unit for channel, unit in log.units.items()}
    if (q := log.positions(robot, log.units)) is None:
        return LogContents(robot, owners, noise, units=units, channel_noise=channels)
    q = q[np.isfinite(q).all(axis=1)]
    driven = owners.keys() <= {"position", "velocity"} and gains_energy(robot, q, log.step_s)
    return LogContents(
        robot, owners, noise, driven, free_joints(robot, q, log.step_s), units, channel_noise=channels
    )


def _between(recording: Recording, start: float, stop: float) -> list[float]:
    """`between_s` of a part of a recording [s]."""
    interval = clock_facts(recording).interval_s
    return [float(clock_text(each, interval)) for each in (start, stop)]


@dataclass(frozen=True, eq=False)
class DraftPart:
    """A log of a project under construction, and further values of its part of the template."""

    log: LogReading
    content: Mapping[str, Any]

    @property
    def repairs(self) -> list[tuple[Any, ...]]:
        """Subject, value and reason of each guess of rows and numbers."""
        between = self.content.get("between_s")
        guesses: list[tuple[Any, ...]] = []
        for log in self.log.files:
            guesses += [(key, value, why) for key, (value, why) in log.keys.items()]
            guesses += [
                (f"{quantity}.{key}", value, why)
                for quantity, keys in log.quantities.items()
                for key, (value, why) in keys.items()
            ]
        return guesses + ([("between_s", between, self.content["between_reason"])] if between else [])

    @property
    def guesses(self) -> list[tuple[Any, ...]]:
        """Subject, value and reason of each guess."""
        clocks = [file.clock for file in self.log.files]
        guesses: list[tuple[Any, ...]] = [
            ("clock", " and ".join(clock.columns), reason) for clock, _, reason in clocks if clock
        ]
        guesses += self.repairs
        for guess in self.log.guesses:
            unit = self.log.units[guess.channel]
            doubt = f"; {unit.reason}" if unit.reason and not unit.reason.startswith(USUAL) else ""
            guesses.append((guess.column, f"{guess.channel} [{unit.text}]", f"{guess.reason}{doubt}"))
        return guesses

    @property
    def values(self) -> dict[str, Any]:
        """Values of the template."""
        files = [
            {"log": log, "path": path, "is_first": log is self.log, **_tables(log)}
            for log, path in zip(self.log.files, self.content["paths"], strict=True)
        ]
        return {"log": self.log, "files": files} | dict(self.content)


def _tables(log: LogReading) -> dict[str, Any]:
    """Columns of a file by quantity, and those that are not read, for the template."""
    tables: dict[str, list[Any]] = {}
    for guess in log.used:
        tables.setdefault(guess.quantity, []).append(guess)
    for quantity in FRAME_QUANTITIES.keys() & tables:
        ends = FRAME_QUANTITIES[quantity].ends
        tables[quantity].sort(key=lambda guess: ends.index(guess.channel[-1]))
    unread = [f"{column} ({why})" if why else column for column, why in log.unread.items()]
    return {"tables": tables, "unused": ", ".join(unread).replace("\n", " ")}


@dataclass(frozen=True, eq=False)
class _Draft:
    """A project file under construction. `job`: its path. `parts`: its recordings. `content`: values of its template.
    `template`: template of the method's sections.
    """

    job: Path
    parts: tuple[DraftPart, ...]
    content: Mapping[str, Any]
    template: Path

    @property
    def project(self) -> Project:
        return Project(self.job, Settings.model_validate(tomllib.loads(self.text())))

    def compared_with_robot(self) -> _Draft:
        """Columns matched by order or number, exchanged in pairs as long as the robot then explains efforts better."""
        used = self.parts[0].log.guesses
        # numbers may count joints in the order of the alphabet
        doubtful = {each.channel for each in used if each.reason.startswith((BY_ORDER, BY_NUMBER))}
        if len(doubtful) < 2:
            return self
        draft = self
        for _ in used:
            project = draft.project
            try:
                exchanged = tuple(project.settings.method.exchanged(Job(project)))
            except PoinsotError:  # `identify` will report it
                return draft
            for pair, quantities in exchanged:
                channels = {f"{quantity}.{joint}" for quantity in quantities for joint in pair}
                if channels <= doubtful:
                    draft = draft._exchanged(pair, channels)
                    break
            else:
                break
        return draft

    def _exchanged(self, pair: tuple[str, str], channels: set[str]) -> _Draft:
        """With the columns of these channels assigned to the other joint of the pair."""
        parts = []
        for part in self.parts:
            log = part.log.mapped(
                lambda guess: guess.assigned_to_other(pair) if guess.channel in channels else guess
            )
            parts.append(replace(part, log=log))
        return replace(self, parts=tuple(parts))

    def cut_to_motion(self) -> _Draft:
        """Of each log the longest part without a gap of the clock in which joints follow their commands; and for
        smoothers an even clock and the part with motion.
        """
        project, content = self.project, dict(self.content)
        robot = project.robot() if project.settings.robot else None
        if robot is not None:
            runs = project.runs(robot)
        else:
            mechanism = project.mechanism()
            runs = project.recordings(mechanism.readable_joints, mechanism.inputs)
        parts = []
        for part, run in zip(self.parts, runs, strict=True):
            recording, own = run.recording, dict(part.content)
            if part is self.parts[0] and content["steady_s"] is not None:
                first, last = recording.time[0] + content["steady_s"]
                own |= {
                    "between_s": _between(recording, first, last),
                    "between_reason": "the part with constant gains",
                }
                recording = recording.between(*own["between_s"])
            clock, off = clock_facts(recording), find_unfollowed(recording)
            if clock.gaps_s or off:
                first, last = clock.start_s, clock.start_s + clock.duration_s
                cuts = sorted([*((a, b) for a, b, _ in off), *clock.gaps_s])
                ends = [first, *np.maximum.accumulate(list(chain.from_iterable(cuts))).tolist(), last]
                start, stop = max(zip(ends[::2], ends[1::2], strict=True), key=lambda part: part[1] - part[0])
                causes = [f"from {a:.4g} s to {b:.4g} s {why}" for a, b, why in off]
                causes += ["the longest part without a gap of the clock"] if clock.gaps_s else []
                reason = "; ".join(causes)
                own |= {"between_s": _between(recording, start, stop), "between_reason": reason}
                recording = recording.between(start, stop)
                clock = clock_facts(recording)
            if project.settings.method.row.takes is SMOOTHED:
                if part.log.is_masked or not (recording.is_uniform or clock.has_small_jitter):
                    content["resample_hz"] = clock.even_rate_hz
                own["window_s"] = motion_facts(recording).window_s
            parts.append(replace(part, content=own))
        return replace(self, parts=tuple(parts), content=content)

    def with_determined_parameters(self) -> _Draft:
        """With those of the method's parameters that the recordings determine."""
        if not self.content.get("proposed"):
            return self
        project = self.project
        found = project.settings.method.determined(Job(project))
        left = [name for name in self.content["parameters"] if name not in found]
        return replace(self, content={**self.content, "parameters": found, "undetermined": left})

    def text(self) -> str:
        """The whole file."""
        return project_text(self.parts, self.content, self.template)


def project_text(parts: Sequence[DraftPart], content: Mapping[str, Any], template: Path) -> str:
    """A project file. `content`: values of the templates. `template`: of the sections of its method."""
    folders = [TEMPLATES, template.parent]
    environment = Environment(loader=FileSystemLoader(folders), trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "toml": dumps,
        "named": lambda name, names: names.get(name, name),
        "unit": lambda channel, units: units[channel].unit,
        "number": lambda channel, units, name: getattr(units[channel], name),
        "scaling": lambda channel, units: "" if units[channel].scale == 1 else units[channel].text,
    }
    values = {"parts": [part.values for part in parts], "held": HELD, "names": {}} | dict(content)
    return "\n".join(environment.get_template(name).render(values) for name in ("job.toml", template.name))


def begun(draft: tuple[DraftPart, ...], method: str, text: str, guesses: Sequence[tuple[Any, ...]]) -> Start:
    """The start of a project with these parts. `guesses`: subject, value and reason, of the method and its model."""
    logs = [part.log for part in draft]
    unread = {column: why for log in logs for file in log.files for column, why in file.unread.items()}
    used = {guess.column for log in logs for guess in log.guesses} | {subject for subject, *_ in guesses}
    # of further episodes, the columns of the first
    own = {column for file in logs[0].files for column in file.columns}
    own |= {column for log in logs if log.path != logs[0].path for column in log.columns}
    unused = tuple(column for column in unread if column not in used and column in own)
    said = [*guesses[:1]]
    for part in draft:
        repeated = part.log.path == logs[0].path and part is not draft[0]  # a further episode
        said += part.repairs if repeated else part.guesses
    said += guesses[1:]
    said += [(column, "not used", unread[column] or f"{method} does not read it") for column in unused]
    rows = tuple(dict(zip(("what", "value", "reason"), map(str, row), strict=True)) for row in said)
    return Start(text, method, rows, unused)
