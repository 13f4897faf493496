"""Project: one TOML file, checked; and Job: its method applied to its recordings.

Ctrl-C ends loops with the results so far, and waits for blocks that must not be interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import abspath, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Brief
from ..exceptions import InvalidProject, PoinsotError, UnreadableFile
from ..io.sources import is_pattern
from ..solve import report
from .recordings import Run, build_run, check_kinds
from .settings import Settings
from .settings.preprocessing import SMOOTHED
from .toml import read_settings
from .translation import build_mechanism, build_robot

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..inspection import Inspection
    from ..models.maximal import Mechanism
    from ..models.robot.articulated import Articulated
    from ..solve import ProgressCallback, Stop
    from .methods.base import OnSample, Tracking
import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block."""
    asked: list[bool] = []
    with _on_ctrl_c(lambda: asked.append(True)):
        yield
    if asked:
        raise KeyboardInterrupt


@contextmanager
def stoppable(*, at_once_until_asked: bool = False) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; pressed once more, it interrupts at once.
    at_once_until_asked: whether Ctrl-C interrupts at once until that function is first called: from then on the work is
    known to poll it.
    """
    pressed: list[bool] = []
    polled = not at_once_until_asked

    def press() -> None:
        # Before the work polls, waiting for it could take minutes.
        if pressed or not polled:
            raise KeyboardInterrupt
        pressed.append(True)

    def stop() -> bool:
        nonlocal polled
        polled = True
        return bool(pressed)

    with _on_ctrl_c(press):
        yield stop


@contextmanager
def _on_ctrl_c(press: Callable[[], None]) -> Iterator[None]:
    # Signals reach the main thread only, and only there a handler can be set.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: press())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True, eq=False)
class Job:
    """A project that is being solved, with the arguments of `Project.identify`."""

    project: Project
    data_dir: str | Path | None = None
    progress: ProgressCallback | None = None
    stop: Stop | None = None

    @property
    def settings(self) -> Settings:
        return self.project.settings

    @property
    def record(self) -> dict[str, Any]:
        """The record of the project in a result, from which it is restored for predictions; with the data's folder."""
        folder = {} if self.data_dir is None else {"data_folder": abspath(self.data_dir)}
        return {**self.project.record, **folder}

    def say(self, stage: str) -> None:
        """Report the stage that begins."""
        report(self.progress, stage)


@dataclass(frozen=True, repr=False)
class Project(Brief):
    """A project file, checked.

    Args:
        path: path of the file; robot and recordings are searched beside it.
        settings: its content.
    """

    path: Path
    settings: Settings

    @classmethod
    def load(cls, path: str | Path) -> Project:
        """Read a project file. Raises `UnreadableFile` if there is no such file. Raises `InvalidProject` with the line,
        and the nearest key or unit where one is unknown.
        """
        path = Path(path)
        if path.suffix.lower() != ".toml" and path.is_file():
            is_robot = path.suffix.lower() in (".urdf", ".xml", ".mjcf")
            kind, command = (
                ("robot description", f"{path} LOG") if is_robot else ("recording", f"ROBOT.urdf {path}")
            )
            raise InvalidProject(
                f"{path} is a {kind} by its name, but a project file is needed: create one with `poinsot new {command}`"
            )
        return cls(path, read_settings(Settings, path))

    @classmethod
    def of(cls, project: Any) -> Project:
        """A project, or the one of a file. Raises `InvalidProject` if it is neither."""
        if isinstance(project, str | Path):
            return cls.load(project)
        if not isinstance(project, cls):
            raise InvalidProject(
                f"a Project or the path of a project file is needed, not {type(project).__name__}"
            )
        return project

    @property
    def record(self) -> dict[str, Any]:
        """Settings, path and text of the project file."""
        settings = self.settings.model_dump(mode="json", exclude_unset=True)
        found = {"project": settings, "project_file": abspath(self.path)}
        with suppress(OSError):  # a project that Python made has no file
            found["project_text"] = self.path.read_text(encoding="utf-8")
        return found

    def is_of_many(self, data_dir: str | Path | None = None) -> bool:
        """Whether the path of a recording is a pattern, which stands for the logs of a fleet."""
        folder = self.path.parent if data_dir is None else Path(data_dir)
        files = (file for each in self.settings.recordings for file in each.files or [each])
        return any(is_pattern(folder, file.path or "") for file in files)

    def inputs(self, data_dir: str | Path | None = None, of_jobs: bool = True) -> tuple[Path, ...]:
        """The project file and all that its keys name, beside it or among the recordings, and those of `other_jobs`."""
        folders = (self.path.parent, *([Path(data_dir)] if data_dir is not None else []))

        def texts(value: Any) -> Iterator[str]:
            if isinstance(value, dict | list):
                for each in value.values() if isinstance(value, dict) else value:
                    yield from texts(each)
            elif isinstance(value, str):
                yield value

        named = texts(self.settings.model_dump(exclude={"output"}, exclude_unset=True))
        found = (folder / name for name in named for folder in folders)
        others = (self.path.parent / name for name in self.settings.method.other_jobs.values())
        # inputs of another job do not include results of a third one
        jobs = [self.load(path) for path in others if of_jobs and path.suffix == ".toml" and isfile(path)]
        inside = (path for job in jobs for path in job.inputs(data_dir, of_jobs=False))
        return (self.path, *(path for path in found if isfile(path)), *inside)

    def find_description(
        self, name: str, data_dir: str | Path | None = None, key: str = "robot.path"
    ) -> Path:
        """A robot description, beside the project file or in the folder of the recordings; `key` names it in errors."""
        folders = [self.path.parent, *([Path(data_dir)] if data_dir is not None else [])]
        candidates = [folder / name for folder in folders]
        for candidate in candidates:
            if isfile(candidate):
                return candidate
        raise UnreadableFile(
            f"no robot description {' nor '.join(map(str, candidates))}: correct {key} in {self.path}"
        )

    def robot(self, data_dir: str | Path | None = None) -> Articulated:
        """The robot with its drive trains and friction."""
        if self.settings.robot is None:
            raise InvalidProject(f"{self.path}: there is no [robot], which this command needs")
        return build_robot(self.settings, self.find_description(self.settings.robot.path, data_dir))

    def mechanism(self, data_dir: str | Path | None = None) -> Mechanism:
        """Bodies and joints of [mechanism], without sensors. Raises `InvalidProject` if there is a [robot] in its
        place.
        """
        if self.settings.mechanism is None:
            raise InvalidProject(f"{self.path}: there is no [mechanism], which this command needs")
        return build_mechanism(
            self.settings.mechanism, lambda name: self.find_description(name, data_dir, "mechanism.path")
        )

    def recordings(
        self, joints: Sequence[str], driven: Sequence[str], data_dir: str | Path | None = None
    ) -> tuple[Run, ...]:
        """Read all recordings.

        Args:
            joints: names of the robot's joints, in its order, to which columns are assigned.
            driven: names of joints with a motor, of which efforts may be recorded.
            data_dir: folder of the recordings; None: the project file's.

        Raises:
            UnreadableFile, InvalidRecording, UnknownUnit: if a file does not contain what the project declares.
            InvalidProject: if columns and joints do not match.
        """
        folder = self.path.parent if data_dir is None else Path(data_dir)
        locked = () if self.settings.robot is None else tuple(self.settings.robot.locked)
        return tuple(
            build_run(self.path, recording, folder, joints, driven, locked)
            for recording in self.settings.recordings
        )

    def runs(self, robot: Articulated, data_dir: str | Path | None = None) -> tuple[Run, ...]:
        """Read all recordings of a robot, and check that units match prismatic and revolute joints."""
        driven = [joint for joint in robot.joints if joint not in robot.drive.without_effort]
        runs = self.recordings(robot.joints, driven, data_dir)
        for run in runs:
            check_kinds(robot, run)
        return runs

    def inspect(self, data_dir: str | Path | None = None) -> tuple[tuple[Run, Inspection], ...]:
        """Inspect every recording before estimation."""
        from ..estimate import Finding, Severity
        from ..inspection import inspect
        from .preparation import propose_in

        method = self.settings.method
        smoothed, any_turn = method.row.takes is SMOOTHED, method.row.estimates_motion
        inspections = []
        for run, known in self._described_runs(data_dir):
            # a window is set: findings on what it excludes are not reported
            known |= {"any_turn": any_turn, "standstills": smoothed and run.window_s is None}
            inspections.append((run, inspect(run.recording, name=run.name, **known)))
        if method.row.takes is SMOOTHED:
            preprocessing: Any = self.settings.preprocessing
            inspections = list(propose_in(inspections, preprocessing))
        # the method itself reports what it needs
        try:
            found = [
                Finding("preparation", Severity.warning, each, "")
                for each in method.prepare(Job(self, data_dir))
            ]
        except PoinsotError as error:
            found = [Finding("preparation", Severity.error, f"{method.name} cannot use this: {error}.", "")]
        run, seen = inspections[0]
        return ((run, seen.with_findings(*found)), *inspections[1:])

    def _described_runs(self, folder: str | Path | None) -> Iterator[tuple[Run, dict[str, Any]]]:
        """Each recording, with the arguments of `inspect` that describe its joints."""
        if self.settings.body is not None:
            axes = self.settings.body.axes
            for run in self.recordings(axes, self.settings.body.forces, folder):
                yield run, {"passive": axes}
        elif self.settings.mechanism is not None:
            mechanism = self.mechanism(folder)
            joints = mechanism.readable_joints
            for run in self.recordings(joints, mechanism.inputs, folder):
                yield run, {"passive": [joint for joint in joints if joint not in mechanism.inputs]}
        else:
            robot = self.robot(folder)
            for run in self.runs(robot, folder):
                order = [robot.joints.index(joint) for joint in run.recording.joints("position")]
                # Without all recorded positions, motor positions cannot be mapped to joints: speeds stay at motor side.
                complete = len(order) == len(robot.joints)
                limits = robot.velocity_limits if complete or robot.drive.side == "joint" else None
                velocity_map = robot.train.velocity_map[np.ix_(order, order)] if complete else None
                yield (
                    run,
                    {"limits": limits, "velocity_map": velocity_map, "passive": robot.drive.without_effort},
                )

    def identify(
        self,
        data_dir: str | Path | None = None,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> Estimate:
        """From recordings to an estimate, by the method that the project file names.

        Args:
            data_dir: folder of the recordings; None: the project file's.
            progress: called before each stage and after each iteration.
            stop: called between iterations; True ends the method with the result so far. None: Ctrl-C does so.

        Raises:
            PoinsotError: one sentence that says what to correct.
        """
        method = self.settings.method
        if stop is not None:
            # A program with a `stop` of its own handles Ctrl-C itself.
            return method.identify(Job(self, data_dir, progress, stop))
        # Linear methods never poll: there Ctrl-C must interrupt at once, as usual.
        with stoppable(at_once_until_asked=True) as ctrl_c:
            return method.identify(Job(self, data_dir, progress, ctrl_c))


def identify(project: Project | str | Path, data_dir: str | Path | None = None, **options: Any) -> Estimate:
    """`Project.identify` of a project or of its file; arguments and errors as there."""
    return Project.of(project).identify(data_dir, **options)


def track(
    project: Project | str | Path,
    data_dir: str | Path | None = None,
    *,
    stream: str | None = None,
    follow: bool = False,
    on_sample: OnSample | None = None,
    progress: ProgressCallback | None = None,
    stop: Stop | None = None,
) -> Tracking:
    """Run the filter of a project; Ctrl-C, or `stop`, ends it with the samples processed until then.

    Args:
        project: a project whose method is a filter, or its file. data_dir: as in `identify`.
        stream: file of JSON lines in place of the recordings, `-` for standard input.
        follow: whether to wait for lines that are still being appended to `stream`.
        on_sample: called after each sample.
        progress: called with the state of the run.
        stop: called before each sample; True ends the run.

    Raises:
        PoinsotError: one sentence that says what to correct.
    """
    job = Job(Project.of(project), data_dir, progress, stop)
    return job.settings.method.track(job, stream=stream, follow=follow, on_sample=on_sample)
