"""A fleet: one project for the logs of many robots; an estimate of each log, pooled, and what differs.

Each log takes the place of the one recording for identification that the project has, and is solved by the project's
method as a task of a study, so that a run that was killed goes on. A log that is longer than `long_bytes`, or in
several files, is read in blocks (`streaming`), which the executor computes. Logs that cannot be used are listed, but
not pooled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np

from ..estimate import Estimate, Trust
from ..estimators.linear.least_squares import LeastSquares
from ..exceptions import InvalidProject, PoinsotError
from ..io.block_log import BlockLog, find_block_log
from ..io.log_names import Log, count_of, find_logs
from ..io.results import identify_json, plain
from ..io.sources import Source
from ..project import Project
from ..project.recordings import build_source
from ..project.settings.recordings import RecordingSettings
from ..stopwatch import Stopwatch
from .random_effects import BETWEEN, LEVELS, RandomEffects, random_effects
from .store import Store
from .streaming import stream_least_squares
from .study import Say, Serial, Study

SCHEMA = "poinsot.fleet/1"

OF_LOG = (
    "status",
    "trust",
    "findings",
    "rows",
    "condition_number",
    "parameters",
    "fit",
    "validation",
    "seconds",
)
"""Parts of a log's estimate that are kept, by their names in `poinsot.identify/1`."""


OF_PARAMETER = ("name", "unit", "kind", "owner", "grouping", "logs")
"""Fields of a pooled parameter that its JSON has under the same names."""


@dataclass(frozen=True, eq=False)
class Fleet:
    """Logs with the project that they are estimated by.

    Args:
        project: project with one recording for identification, whose keys apply to each log.
        folder: folder of the recordings. logs: the logs.
        long_bytes: size of a log's columns in memory from which on it is read in blocks [B].
    """

    project: Project
    folder: Path
    logs: tuple[Log, ...]
    long_bytes: int = 2**28

    @classmethod
    def of(cls, project: Project, data_dir: Path | None = None, pattern: str | None = None) -> Fleet:
        """The fleet of the logs that match a pattern, or the path of the project's recording.

        Raises:
            InvalidProject: if the project has not one recording for identification, in one file.
            UnreadableFile: if there are no logs.
        """
        folder = project.path.parent if data_dir is None else data_dir
        root = Path.cwd() if pattern is not None and data_dir is None else folder
        return cls(project, folder, find_logs(root, pattern or template_path(project)))

    def project_of(self, path: Path) -> Project:
        """The project with a file in place of the recording for identification."""
        recording = _template(self.project)
        named: dict[str, Any] = {"name": recording.name or path.name}
        if recording.files:
            named["files"] = [recording.files[0].model_copy(update={"path": str(path.absolute())})]
        else:
            named["path"] = str(path.absolute())
        recordings = [
            recording.model_copy(update=named) if other is recording else other
            for other in self.project.settings.recordings
        ]
        settings = self.project.settings.model_copy(update={"recordings": recordings})
        return Project(self.project.path, settings)

    def opener(self, log: Log) -> Callable[[], BlockLog] | None:
        """Function that opens a log to read it in blocks, if it is long or in several files; None: it is read at once.

        Raises:
            InvalidProject: if a log in several files cannot be read in blocks.
        """
        several = len(log.paths) > 1
        kind = find_block_log(log.paths)
        why = _obstacle(self.project) if kind else "its files are of no such kind, or of several ones"
        if kind and not why:
            sources = [self._source(log.name, path) for path in log.paths]
            why, first = next(filter(None, map(kind.obstacle, sources)), ""), sources[0]
            if first.clock is not None and not why:
                if several or kind.bytes_in_memory(first) > self.long_bytes:
                    return partial(kind, log.paths, first.columns, first.clock, first.require)
                return None
            why = why or "it has no time column"
        if several:
            raise InvalidProject(
                f"{self.project.path}: a log in several files is read in blocks, by least squares with "
                f"butterworth-decimation from Parquet or MCAP with a time column; {why}"
            )
        return None

    @cached_property
    def _joints(self) -> Sequence[str]:
        return self.project.robot(self.folder).joints

    def _source(self, name: str, path: Path) -> Source:
        """A file of a log, with the columns of the recording for identification."""
        recording = _template(self.project)
        file = (recording.files[0] if recording.files else recording).model_copy(update={"path": str(path)})
        return build_source(file, self.folder, name, self._joints, self._joints)

    def estimate(
        self, executor: Executor | None = None, folder: Path | None = None, *, say: Say = lambda _: None
    ) -> FleetEstimate:
        """Estimate each log, and pool.

        Args:
            executor: runs the logs, and the blocks of long ones; None: as in `Study.run`.
            folder: folder of the store of finished logs; None: the user's cache.

        Raises:
            PoinsotError: if no log can be used, in the words of the first one; `StudyInterrupted` as in `Study.run`.
        """
        watch = Stopwatch()
        say(f"reading {len(self.logs)} logs")
        names = {f"{log.name} {_digest(log.paths)}": log for log in self.logs}
        long = {name: opens for name, log in names.items() if (opens := self.opener(log)) is not None}
        tasks = {name: LogTask(self.project_of(log.paths[0]), self.folder) for name, log in names.items()}
        settings = self.project.settings.model_dump(mode="json")
        # the recordings' own paths are in the names
        inputs = [path for path in self.project.inputs(self.folder) if path != self.project.path]
        store = Store("fleet", {"settings": settings, "inputs": _digest(inputs)}, folder)
        watch.lap("read")
        short = {name: task for name, task in tasks.items() if name not in long}
        done = Study(short, identify_log, unit="logs").run(executor, store, say=say, clear=False)
        streamed = partial(stream_log, executor=executor)
        blocks = {name: (tasks[name], opened) for name, opened in long.items()}
        done |= Study(blocks, streamed, unit="long logs").run(Serial(), store, say=say)
        watch.lap("logs")
        records = tuple(done[name] for name in names)
        used = [k for k, record in enumerate(records) if "refused" not in record]
        if not used:
            raise PoinsotError(
                f"none of {len(records)} logs can be used; {self.logs[0].name}: {records[0]['refused']}"
            )
        pooled = tuple(_pool([self.logs[k] for k in used], [records[k] for k in used]))
        watch.lap("pool")
        return FleetEstimate(self, records, pooled, watch.seconds)


@dataclass(frozen=True, eq=False)
class LogTask:
    """One log as the recording of a project."""

    project: Project
    folder: Path


def identify_log(task: LogTask) -> dict[str, Any]:
    """The kept parts of a log's estimate; `refused`: why there is none."""
    return _record(lambda: task.project.identify(task.folder, stop=lambda: False))


def stream_log(task: tuple[LogTask, Callable[[], BlockLog]], executor: Executor | None) -> dict[str, Any]:
    """The same for a log that is read in blocks."""

    def estimate() -> Estimate:
        (log_task, opened), smoothing = task, task[0].project.settings.preprocessing
        method: Any = log_task.project.settings.method
        robot = log_task.project.robot(log_task.folder)
        smoother: Any = smoothing.smoother(robot.joints, None)  # type: ignore[union-attr]
        estimator = LeastSquares(weighting=method.weighting)
        return stream_least_squares(robot, opened(), smoother, estimator=estimator, executor=executor)

    return _record(estimate)


def _record(estimate: Any) -> dict[str, Any]:
    try:
        result: Estimate = estimate()
    except PoinsotError as error:
        return {"refused": str(error)}
    except MemoryError:
        return {
            "refused": "not enough memory: give its files as Parquet or MCAP, which can be read in blocks"
        }
    content = identify_json(result)
    record = {key: content[key] for key in OF_LOG}
    if result.trust is Trust.not_to_be_used:
        return {"refused": f"the result is {result.diagnosis.verdict}"} | record
    return record


@dataclass(frozen=True)
class PooledParameter:
    """One parameter of the fleet; `grouping`: the sum that it stands for, the same in all logs that have it."""

    name: str
    unit: str
    kind: str
    owner: str
    grouping: str
    logs: int
    effects: RandomEffects


@dataclass(frozen=True, eq=False)
class FleetEstimate:
    """Estimates of all logs (`records`, in the order of the logs), and the pooled parameters."""

    fleet: Fleet
    records: tuple[Mapping[str, Any], ...]
    parameters: tuple[PooledParameter, ...]
    seconds: Mapping[str, float]

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels whose spread can be estimated, coarsest first."""
        return tuple(
            level
            for level in reversed(LEVELS)
            if any(level in parameter.effects.spreads for parameter in self.parameters)
        )

    @property
    def counts(self) -> dict[str, int]:
        logs = self.fleet.logs
        refused = sum("refused" in record for record in self.records)
        robots, days = count_of(logs, "robot"), count_of(logs, "day")
        return {"logs": len(logs), "robots": robots, "days": days, "refused": refused}

    @property
    def lead(self) -> str:
        """The result in one sentence."""
        counts = self.counts
        used = counts["logs"] - counts["refused"]
        used_logs = f"{used} of {counts['logs']} logs" if counts["refused"] else f"{used} logs"
        robots = f"{counts['robots']} robot{'' if counts['robots'] == 1 else 's'}"
        differing = [
            f"{sum(level in e.effects.spreads and e.effects.spreads[level].differs for e in self.parameters)} of "
            f"{sum(level in e.effects.spreads for e in self.parameters)} differ between "
            f"{BETWEEN[level]}"
            for level in self.levels
        ]
        parts = [f"{used_logs} of {robots}: {len(self.parameters)} parameters pooled", *differing]
        return "; ".join(parts) + "."

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what these logs cannot determine, and on what was left out."""
        counts, notes = self.counts, []
        used = [
            log for log, record in zip(self.fleet.logs, self.records, strict=True) if "refused" not in record
        ]
        robots, days = count_of(used, "robot"), count_of(used, "day")
        if robots < 2:
            notes.append("All logs are of one robot: what differs between robots cannot be told.")
        elif days == robots:
            notes.append(
                "Each robot has logs of one day: what differs between robots contains what differs between days; name "
                'the days in the pattern, as in "logs/{robot}/{day}.parquet".'
            )
        if len(used) == days and days > 1:
            notes.append(
                "Each day of a robot has one log: what differs between days contains what differs from log to log."
            )
        if counts["refused"]:
            notes.append(f"{counts['refused']} logs are not pooled; the table of logs says why.")
        return tuple(notes)

    def content(self) -> dict[str, Any]:
        """Plain values, schema `poinsot.fleet/1`."""
        logs = [
            {
                "log": log.name,
                "robot": log.robot,
                "day": log.day,
                "refused": None,
                **dict.fromkeys(OF_LOG),
                **record,
            }
            for log, record in zip(self.fleet.logs, self.records, strict=True)
        ]
        pooled = [
            {
                **{key: getattr(parameter, key) for key in OF_PARAMETER},
                "value": parameter.effects.mean,
                "std": parameter.effects.std,
                "interval_95": parameter.effects.interval_95,
                "next_interval_95": parameter.effects.next_interval_95,
                "between": parameter.effects.spreads,
                "robots": [
                    {"robot": robot, "value": value, "std": std}
                    for robot, (value, std) in parameter.effects.robots.items()
                ],
            }
            for parameter in self.parameters
        ]
        content = {
            "schema": SCHEMA,
            **self.counts,
            "parameters": pooled,
            "estimates": logs,
            "notes": self.notes,
            "seconds": self.seconds,
            "text": self.text,
        }
        return dict(plain(content))

    @property
    def text(self) -> str:
        """What a terminal shows."""
        from .page import terminal_text

        return terminal_text(self)


def _pool(logs: Sequence[Log], records: Sequence[Mapping[str, Any]]) -> Iterator[PooledParameter]:
    """Parameters that at least two logs determine, as the same sum; of one log nothing is pooled."""
    rows: dict[tuple[str, str, str], list[tuple[Log, Mapping[str, Any]]]] = {}
    for log, record in zip(logs, records, strict=True):
        for row in record["parameters"]:
            if row["identifiable"] and row["value"] is not None and row["std"]:
                rows.setdefault((row["name"], row["grouping"], row["unit"]), []).append((log, row))
    for (name, grouping, unit), entries in rows.items():
        if len(entries) < 2:
            continue
        # only chance: the choice of the filter changes all logs alike
        std = np.array([row["std_coloured"] or row["std"] for _, row in entries])
        common = [row["std_systematic"] or 0.0 for _, row in entries]
        effects = random_effects(
            np.array([row["value"] for _, row in entries]),
            std,
            [log.robot for log, _ in entries],
            [log.day for log, _ in entries],
            common_std=float(np.sqrt(np.mean(np.square(common)))),
        )
        first = entries[0][1]
        yield PooledParameter(name, unit, first["kind"], first["owner"], grouping, len(entries), effects)


def template_path(project: Project) -> str:
    """The path of the recording for identification, which may be a pattern."""
    recording = _template(project)
    return str(recording.files[0].path if recording.files else recording.path)


def _template(project: Project) -> RecordingSettings:
    templates = [recording for recording in project.settings.recordings if recording.role == "identification"]
    if len(templates) != 1 or len(templates[0].files) > 1:
        count = len(templates)
        many = f"{count} of them" if count != 1 else f"one in {len(templates[0].files)} files"
        raise InvalidProject(
            f"{project.path}: logs of a fleet take the place of one recording for identification in one file, and this "
            f"has {many}: keep one of [[recordings]], with its columns"
        )
    return templates[0]


def _obstacle(project: Project) -> str:
    """The setting that forbids reading a log in blocks; empty if none does."""
    recording = _template(project)
    smoothing: Any = project.settings.preprocessing
    method: Any = project.settings.method
    return next(
        (
            f"it has {key} = {given!r}"
            for key, given, needed in (
                ("[method] name", method.name, (method.name,) if method.row.streams else ()),
                ("weighting", getattr(method, "weighting", None), ("none", "per-joint")),
                ("parameters", getattr(method, "parameters", None), ("base",)),
                ("per_recording", getattr(method, "per_recording", None), ([],)),
                ("[preprocessing] method", smoothing.method, ("butterworth-decimation",)),
                ("cutoff_hz", type(getattr(smoothing, "cutoff_hz", None)), (float, int)),
                ("decimate_hz", type(getattr(smoothing, "decimate_hz", None)), (float, int, type(None))),
                ("resample_hz", smoothing.resample_hz, (None,)),
                ("delay", getattr(smoothing, "delay", None), (None,)),
                ("delays", smoothing.delays, ({},)),
                ("window_s", recording.window_s, (None,)),
                ("between_s", recording.between_s, (None,)),
                ("rate_hz", recording.rate_hz, (None,)),
            )
            if given not in needed
        ),
        "",
    )


def _digest(paths: Sequence[Path]) -> str:
    """Digest of the content of files."""
    digests = []
    for path in paths:
        try:
            with path.open("rb") as file:
                digests.append(file_digest(file, "sha256").hexdigest()[:16])
        except OSError as error:
            raise PoinsotError(f"{path} cannot be read: {error.strerror}") from None
    return "-".join(digests)
