"""Project: one TOML file, checked; and `identify`, which takes it from the recordings to the estimate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from ..exceptions import InvalidProject, UnreadableFile
from ..stopwatch import Stopwatch
from .errors import invalid_project
from .other_jobs import gains_from
from .recordings import Run, build_run, check_kinds
from .settings import Settings
from .settings.methods import (
    ImpactsSettings,
    JointSmoothingSettings,
    OptimalEstimationSettings,
    PayloadSettings,
)
from .settings.preprocessing import MovingPolynomialSettings, RawSettings
from .toml import read_toml
from .translation import build_knowledge, build_method, build_robot

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..inspection import Inspection
    from ..models.articulated import Articulated
    from ..models.maximal import Mechanism

Progress = Callable[[str], None]
"""Called with what is being done, in a few words."""


@dataclass(frozen=True)
class Project:
    """A project file, checked.

    Args:
        path: of the file; robot and recordings are looked for beside it.
        settings: what it says.
    """

    path: Path
    settings: Settings

    @classmethod
    def load(cls, path: str | Path) -> Project:
        """Read a project file.

        Raises:
            UnreadableFile: if there is no such file.
            InvalidProject: with the line, and the nearest key or unit where one is unknown.
        """
        path = Path(path)
        content, text = read_toml(path)
        try:
            return cls(path, Settings.model_validate(content))
        except ValidationError as error:
            raise invalid_project(path, text, content, error) from None

    def find_description(self, name: str, data_dir: Path | None = None, key: str = "robot.path") -> Path:
        """A robot description: beside the project file, else in the folder of the recordings.

        Raises:
            UnreadableFile: if it is in neither; `key` is what to mend.
        """
        folders = [self.path.parent, *([data_dir] if data_dir is not None else [])]
        candidates = [folder / name for folder in folders]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        raise UnreadableFile(
            f"no robot description {' nor '.join(map(str, candidates))}: mend {key} in {self.path}"
        )

    def robot(self, data_dir: str | Path | None = None) -> Articulated:
        """The robot with its drive trains and friction."""
        if self.settings.robot is None:
            raise InvalidProject(
                f"{self.path}: there is a [mechanism] in place of [robot]; this takes a project with a [robot]"
            )
        folder = None if data_dir is None else Path(data_dir)
        return build_robot(self.settings, self.find_description(self.settings.robot.path, folder))

    def mechanism(self, data_dir: str | Path | None = None) -> Mechanism:
        """Bodies and joints of [mechanism], without sensors.

        Raises:
            InvalidProject: if there is a [robot] in its place.
        """
        from .smoothing import build_mechanism

        if self.settings.mechanism is None:
            raise InvalidProject(f'{self.path}: there is no [mechanism]; "joint-smoothing" needs one')
        folder = None if data_dir is None else Path(data_dir)
        return build_mechanism(
            self.settings.mechanism, lambda name: self.find_description(name, folder, "mechanism.path")
        )

    def method(self, data_dir: str | Path | None = None) -> Any:
        """The estimator."""
        folder = None if data_dir is None else Path(data_dir)
        return build_method(self.settings, lambda name: self.find_description(name, folder, "method.prior"))

    def recordings(
        self, joints: Sequence[str], driven: Sequence[str], data_dir: str | Path | None = None
    ) -> tuple[Run, ...]:
        """Read all recordings.

        Args:
            joints: of the robot, in its order: which column is whose.
            driven: of what an effort may be recorded: joints with a motor.
            data_dir: folder of the recordings; None: the project file's.

        Raises:
            UnreadableFile, InvalidRecording, UnknownUnit: if a file does not hold what the project says.
            InvalidProject: if columns and joints do not match.
        """
        folder = self.path.parent if data_dir is None else Path(data_dir)
        return tuple(
            build_run(self.path, recording, folder, joints, driven) for recording in self.settings.recordings
        )

    def runs(self, robot: Articulated, data_dir: str | Path | None = None) -> tuple[Run, ...]:
        """Read all recordings of a robot, and check that what slides and what turns is measured so."""
        driven = [joint for joint in robot.joints if joint not in robot.drive.passive]
        runs = self.recordings(robot.joints, driven, data_dir)
        for run in runs:
            check_kinds(robot, run)
        return runs

    def inspect(self, data_dir: str | Path | None = None) -> tuple[tuple[Run, Inspection], ...]:
        """Look at every recording before estimating from it."""
        from ..inspection import inspect
        from .filters import propose_in

        robot = self.robot(data_dir)
        inspections = []
        for run in self.runs(robot, data_dir):
            order = [robot.joints.index(joint) for joint in run.recording.joints("position")]
            # Joints of which no position was recorded cannot be mapped; then speeds stay at the motors' side.
            complete = len(order) == len(robot.joints)
            velocity_map = robot.train.velocity_map[np.ix_(order, order)] if complete else None
            limits = robot.velocity_limits if complete or robot.drive.side == "joint" else None
            seen = inspect(
                run.recording, limits, velocity_map=velocity_map, passive=robot.drive.passive, name=run.name
            )
            inspections.append((run, seen))
        preprocessing = self.settings.preprocessing
        if isinstance(preprocessing, MovingPolynomialSettings | RawSettings):
            return tuple(inspections)
        return propose_in(inspections, preprocessing)


# ------------------------------------------------------------------------------------------------------------ pipeline


def identify(
    project: Project, data_dir: str | Path | None = None, progress: Progress | None = None
) -> Estimate:
    """From a project file to an estimate: read, smooth, regress, solve, validate.

    Args:
        project: checked.
        data_dir: folder of the recordings; None: the project file's.
        progress: called before each stage.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    from ..regression.inverse_dynamics import inverse_dynamics
    from ..validation import validate
    from .filters import with_filters
    from .preparation import condition, motion_warnings, smooth

    say = progress or (lambda _: None)
    settings, seconds = project.settings, Stopwatch()
    if isinstance(settings.method, OptimalEstimationSettings):
        from .estimation import estimate_optimally

        return estimate_optimally(project, data_dir, say)
    if isinstance(settings.method, JointSmoothingSettings):
        from .smoothing import estimate_jointly

        return estimate_jointly(project, data_dir, lambda stage: say(str(stage)))
    if isinstance(settings.method, ImpactsSettings):
        from .impacts import estimate_from_impacts

        return estimate_from_impacts(project, data_dir, lambda stage: say(str(stage)))
    assert not isinstance(settings.preprocessing, RawSettings)
    if isinstance(settings.preprocessing, MovingPolynomialSettings):
        raise InvalidProject(
            f'{project.path}: [method] name = "filter" hears one sample after the other: run poinsot track'
        )
    say("reading the robot")
    robot = project.robot(data_dir)
    method = project.method(data_dir)
    seconds.lap("robot")
    gains = gains_from(project, data_dir, say)
    if gains is not None:
        method = replace(method, gains=gains)
        seconds.lap("gains")
    say("reading the recordings")
    runs = list(project.runs(robot, data_dir))
    seconds.lap("read")
    say("smoothing")
    runs = [condition(settings.preprocessing, run) for run in runs]
    warnings = motion_warnings(runs)
    preprocessing, runs = with_filters(settings.preprocessing, runs)
    prepared = [(run, smooth(preprocessing, run)) for run in runs]
    seconds.lap("signals")
    say("building the regressor")
    held, priors = build_knowledge(settings)
    used = [(run, signals) for run, signals in prepared if run.role == "identification"]
    payload = isinstance(settings.method, PayloadSettings)
    problem = inverse_dynamics(
        robot,
        [signals for _, signals in used],
        held=held,
        priors=priors,
        loaded=[run.loaded for run, _ in used] if payload else (),
        link=getattr(settings.method, "link", None),
    )
    seconds.lap("regressor")
    say("solving")
    estimate: Estimate = method.solve(problem)
    seconds.lap("solve")
    held_out = [(run.name, signals) for run, signals in prepared if run.role == "validation"]
    if held_out:
        say("validating")
        estimate = validate(estimate, held_out, loaded=[run.name for run, _ in prepared if run.loaded])
        seconds.lap("validation")
    return estimate.updated(
        warnings=(*warnings, *estimate.warnings),
        settings={**estimate.settings, "project": settings.model_dump(mode="json", exclude_unset=True)},
        seconds=_timings(estimate.seconds, seconds),
    )


def _timings(inner: Mapping[str, float], watch: Stopwatch) -> dict[str, float]:
    """The regressor's rows are made while the problem is solved; the estimate knows how long that took."""
    seconds = watch.seconds
    rows = min(inner.get("regressor", 0.0), seconds["solve"])
    seconds["regressor"] += rows
    seconds["solve"] -= rows
    return seconds
