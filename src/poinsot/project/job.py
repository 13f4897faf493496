"""Project: one TOML file -> robot, recordings, preprocessing, method; and `identify`, which runs them in order.

The `build_*` functions are the only place where the names of a project file meet the arguments of the package.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from ..exceptions import InvalidProject, UnreadableFile, listing, nearest
from ..io import Column, Source, convert, read_recording
from ..recording import QUANTITIES, Recording
from .errors import invalid_project
from .settings import (
    ButterworthSettings,
    ColumnSettings,
    DriveSettings,
    EssentialSettings,
    FileSettings,
    OffsetSettings,
    QuantitySettings,
    RecordingSettings,
    Settings,
)
from .toml import read_toml

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..inspection import Inspection
    from ..models.articulated import Articulated
    from ..models.drive import Drive
    from ..signals.signals import Signals

EFFORTS = ("torque", "current", "voltage")

Progress = Callable[[str], None]
"""Called with what is being done, in a few words."""


@dataclass(frozen=True, eq=False)
class Run:
    """A recording of a project, with what the project says about it.

    Args:
        held: channels that keep their value between samples, like commands.
    """

    name: str
    role: str
    recording: Recording
    window_s: tuple[float, float] | None = None
    held: tuple[str, ...] = ()


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

    def robot_path(self, data_dir: Path | None = None) -> Path:
        """The robot description: beside the project file, else in the folder of the recordings."""
        folders = [self.path.parent, *([data_dir] if data_dir is not None else [])]
        candidates = [folder / self.settings.robot.path for folder in folders]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        raise UnreadableFile(f"no robot description {' nor '.join(map(str, candidates))}: mend robot.path in {self.path}")

    def robot(self, data_dir: str | Path | None = None) -> Articulated:
        """The robot with its drive trains and friction."""
        return build_robot(self.settings, self.robot_path(None if data_dir is None else Path(data_dir)))

    def recordings(
        self, joints: Sequence[str], passive: Sequence[str] = (), data_dir: str | Path | None = None
    ) -> tuple[Run, ...]:
        """Read all recordings.

        Args:
            joints: of the robot, in its order: which column is whose.
            passive: joints without a motor, which need no effort.
            data_dir: folder of the recordings; None: the project file's.

        Raises:
            UnreadableFile, InvalidRecording, UnknownUnit: if a file does not hold what the project says.
            InvalidProject: if columns and joints do not match.
        """
        folder = self.path.parent if data_dir is None else Path(data_dir)
        return tuple(build_run(self.path, recording, folder, joints, passive) for recording in self.settings.recordings)

    def runs(self, robot: Articulated, data_dir: str | Path | None = None) -> tuple[Run, ...]:
        """Read all recordings of a robot, and check that what slides and what turns is measured so."""
        runs = self.recordings(robot.joints, robot.drive.passive, data_dir)
        for run in runs:
            check_kinds(robot, run)
        return runs

    def inspect(self, data_dir: str | Path | None = None) -> tuple[tuple[Run, Inspection], ...]:
        """Look at every recording before estimating from it."""
        from ..inspection import inspect

        robot = self.robot(data_dir)
        inspections = []
        for run in self.runs(robot, data_dir):
            order = [robot.joints.index(joint) for joint in run.recording.joints("position")]
            # Joints of which no position was recorded cannot be mapped; then speeds stay at the motors' side.
            complete = len(order) == len(robot.joints)
            velocity_map = robot.train.velocity_map[np.ix_(order, order)] if complete else None
            limits = robot.velocity_limits if complete or robot.drive.side == "joint" else None
            inspections.append((run, inspect(run.recording, limits, velocity_map=velocity_map, name=run.name)))
        return tuple(inspections)


# ------------------------------------------------------------------------------------------------------------ pipeline


def identify(project: Project, data_dir: str | Path | None = None, progress: Progress | None = None) -> Estimate:
    """From a project file to an estimate: read, smooth, regress, solve, validate.

    Args:
        project: checked.
        data_dir: folder of the recordings; None: the project file's.
        progress: called before each stage.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    from ..estimate import Estimate
    from ..parameters import Normal
    from ..regression.inverse_dynamics import inverse_dynamics
    from ..validation import validate

    say = progress or (lambda _: None)
    settings, seconds = project.settings, _Stopwatch()
    say("reading the robot")
    robot = project.robot(data_dir)
    method = build_method(settings)
    seconds.lap("robot")
    say("reading the recordings")
    runs = project.runs(robot, data_dir)
    seconds.lap("read")
    say("smoothing")
    prepared = [(run, prepare(settings, run)) for run in runs]
    seconds.lap("signals")
    say("building the regressor")
    problem = inverse_dynamics(
        robot,
        [signals for run, signals in prepared if run.role == "identification"],
        held=settings.held,
        priors={name: Normal(prior.mean, prior.std) for name, prior in settings.priors.items()},
    )
    seconds.lap("regressor")
    say("solving")
    estimate: Estimate = method.solve(problem)
    seconds.lap("solve")
    held_out = [(run.name, signals) for run, signals in prepared if run.role == "validation"]
    if held_out:
        say("validating")
        estimate = validate(estimate, held_out)
        seconds.lap("validation")
    return replace(
        estimate,
        settings={**estimate.settings, "project": settings.model_dump(mode="json", exclude_unset=True)},
        seconds=_timings(estimate.seconds, seconds),
        versions={**estimate.versions, **_versions()},
    )


class _Stopwatch:
    """Seconds of one stage after the other."""

    def __init__(self) -> None:
        self.started = self.last = clock.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = clock.perf_counter()
        self.laps[name] = now - self.last
        self.last = now


def _timings(inner: Mapping[str, float], watch: _Stopwatch) -> dict[str, float]:
    """The regressor's rows are made while the problem is solved; the estimate knows how long that took."""
    laps = dict(watch.laps)
    rows = min(inner.get("regressor", 0.0), laps["solve"])
    laps["regressor"] += rows
    laps["solve"] -= rows
    return {**laps, "total": watch.last - watch.started}


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in ("poinsot", "numpy", "scipy", "pin"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


# --------------------------------------------------------------------------------------------------------- translation


def build_robot(settings: Settings, path: Path) -> Articulated:
    """[robot], [drive] and [friction] -> the robot.

    Raises:
        UnreadableFile, InvalidModel: if the description or the drive train does not work.
        InvalidProject: if a table by joint names one that the robot does not have.
    """
    from ..models.articulated import load_robot
    from ..models.friction import NoFriction, ViscousCoulomb

    friction = settings.friction
    law = (
        NoFriction()
        if friction.law == "none"
        else ViscousCoulomb(friction.offset, friction.law == "viscous-coulomb", friction.deadband)
    )
    robot = load_robot(
        path,
        friction=law,
        floating_base=settings.robot.floating_base,
        locked=settings.robot.locked,
        gravity=settings.robot.gravity,
    )
    if settings.drive is None:
        return robot
    # Tables by joint need the robot's joints, so the drive comes second.
    robot = replace(robot, drive=build_drive(settings.drive, robot.joints))
    _ = robot.train
    return robot


def build_drive(drive: DriveSettings, joints: Sequence[str]) -> Drive:
    """[drive] -> the drive trains of these joints."""
    from ..models.drive import Coupling, Drive

    offset = drive.position_offset
    if isinstance(offset, OffsetSettings):
        values = by_joint("drive.position_offset", offset.values, joints, 0.0)
        offset = np.asarray(convert(np.asarray(values), offset.unit)[0]).tolist()
    return Drive(
        reduction=by_joint("drive.reduction", drive.reduction, joints, 1.0),
        couplings=tuple(Coupling(each.motor, each.joint, each.ratio) for each in drive.couplings),
        side=drive.side,
        position_offset=by_joint("drive.position_offset", offset, joints, 0.0),
        gain=by_joint("drive.gain", drive.gain, joints, 1.0),
        rotor_inertia=drive.rotor_inertia,
        coupled_rotor=drive.coupled_rotor,
        coupled_friction=drive.coupled_friction,
        passive=tuple(drive.passive),
    )


def by_joint(key: str, value: Any, joints: Sequence[str], default: float) -> Any:
    """A number or a list as it is; a table by joint as a list in the robot's order."""
    if not isinstance(value, Mapping):
        return value
    for joint in value:
        if joint not in joints:
            raise InvalidProject(f"{key} names {joint!r}{nearest(joint, joints)}; the robot has {listing(joints)}")
    return [value.get(joint, default) for joint in joints]


def build_preprocessing(settings: Settings, window_s: tuple[float, float] | None) -> Any:
    """[preprocessing] -> the smoother, for a recording of which `window_s` is kept."""
    preprocessing = settings.preprocessing
    common: dict[str, Any] = {
        "window_s": window_s,
        "decimate_hz": preprocessing.decimate_hz,
        "decimation_order": preprocessing.decimation_order,
        "cut_edges": preprocessing.cut_edges,
    }
    if isinstance(preprocessing, ButterworthSettings):
        from ..signals.butterworth import ButterworthDecimation

        return ButterworthDecimation(preprocessing.cutoff_hz, order=preprocessing.order, **common)
    from ..signals.random_walk import LogNormalPrior
    from ..signals.random_walk_smoother import RandomWalkSmoother

    prior = preprocessing.prior
    return RandomWalkSmoother(
        preprocessing.order,
        preprocessing.ratio,
        preprocessing.highest_cutoff,
        None if prior is None else LogNormalPrior(prior.median, prior.decades),
        **common,
    )


def prepare(settings: Settings, run: Run) -> Signals:
    """Delays, a new clock where one is asked for, then the smoother."""
    from ..signals.alignment import align
    from ..signals.resampling import resample

    preprocessing, recording = settings.preprocessing, run.recording
    if preprocessing.resample_hz is not None:
        recording = resample(
            recording, preprocessing.resample_hz, hold=run.held, gap_intervals=preprocessing.bridge_intervals
        )
    if preprocessing.delays:
        recording = align(recording, preprocessing.delays)
    return build_preprocessing(settings, run.window_s).apply(recording)


def build_method(settings: Settings) -> Any:
    """[method] -> the estimator."""
    method = settings.method
    if isinstance(method, EssentialSettings):
        from ..estimators.linear.essential import EssentialParameters

        keep = {} if method.keep is None else {"keep": tuple(method.keep)}
        return EssentialParameters(
            max_relative_std_percent=method.max_relative_std_percent,
            significance=method.significance,
            weighting=method.weighting,
            **keep,
        )
    from ..estimators.linear.least_squares import LeastSquares

    return LeastSquares(weighting=method.weighting, parameters=method.parameters)


# ---------------------------------------------------------------------------------------------------------- recordings


def build_run(
    project: Path, settings: RecordingSettings, folder: Path, joints: Sequence[str], passive: Sequence[str]
) -> Run:
    """One of [[recordings]], read."""
    if not settings.files and not settings.channels and settings.path is not None and settings.path.endswith(".npz"):
        recording = read_recording(folder / settings.path)
    else:
        where = f"{project}: recording {settings.title!r}"
        sources = [build_source(file, folder, where, joints, passive) for file in settings.files or [settings]]
        if len(sources) > 1:
            _check_clocks(settings, where)
        recording = read_recording(
            sources, rate_hz=settings.rate_hz, start_s=settings.start_s, invalid=settings.invalid
        )
    held = tuple(
        name for file in settings.files or [settings] for name, column in _columns(file, "", joints, passive) if column.hold
    )
    return Run(settings.title, settings.role, recording, settings.window_s, held)


def check_kinds(robot: Articulated, run: Run) -> None:
    """That what slides is measured in metres and what turns in radians; motors may turn what slides.

    Raises:
        InvalidProject: for the first channel that is not.
    """
    if robot.drive.side == "motor":
        return
    efforts = {"m": "N", "rad": "N m"}
    for joint, k in zip(robot.joints, robot.actuated, strict=True):
        position = robot.position_units[k]
        expected = {"position": position, "velocity": f"{position}/s", "acceleration": f"{position}/s^2", "torque": efforts[position]}
        for quantity, unit in expected.items():
            found = run.recording.units.get(f"{quantity}.{joint}")
            if found is not None and found != unit:
                moves = "slides" if position == "m" else "turns"
                raise InvalidProject(
                    f"recording {run.name!r}: joint {joint!r} {moves}, so its {quantity} is in {unit}, "
                    f"but the channel {quantity}.{joint} is in {found}: mend its unit"
                )


def _check_clocks(settings: RecordingSettings, where: str) -> None:
    if settings.rate_hz is not None and any(file.time is not None for file in settings.files):
        raise InvalidProject(f"{where} has both a time column and rate_hz; give one of them")


def build_source(
    file: FileSettings, folder: Path, where: str, joints: Sequence[str], passive: Sequence[str]
) -> Source:
    """One file of a recording, its columns named for the joints."""
    assert file.path is not None
    time = None if file.time is None else Column(file.time.column, file.time.unit, file.time.scale)
    return Source(
        folder / file.path,
        dict(_columns(file, where, joints, passive)),
        time,
        file.rows,
        tuple(file.require),
        file.delimiter,
        file.header,
        file.skip_lines,
        file.decimal_comma,
    )


def _columns(
    file: FileSettings, where: str, joints: Sequence[str], passive: Sequence[str]
) -> list[tuple[str, Column]]:
    """(channel, column) of one file."""
    columns = []
    for quantity in QUANTITIES:
        settings: QuantitySettings | None = getattr(file, quantity)
        if settings is None:
            continue
        names, owners = _match(quantity, settings, where, joints, passive)
        scales = _each(f"{where}: {quantity}.scale", by_joint(f"{quantity}.scale", settings.scale, owners, 1.0), owners)
        units = _each(f"{where}: {quantity}.unit", settings.unit, owners)
        for name, joint, unit, scale in zip(names, owners, units, scales, strict=True):
            columns.append((f"{quantity}.{joint}", Column(name, unit, float(scale), settings.hold, settings.initial)))
    return columns + [(name, _column(column)) for name, column in file.channels.items()]


def _each(key: str, value: Any, owners: Sequence[str]) -> list[Any]:
    values = value if isinstance(value, list) else [value] * len(owners)
    if len(values) != len(owners):
        raise InvalidProject(f"{key} has {len(values)} values for {len(owners)} columns")
    return values


def _match(
    quantity: str, settings: QuantitySettings, where: str, joints: Sequence[str], passive: Sequence[str]
) -> tuple[Sequence[str | int], Sequence[str]]:
    """Columns and the joints that they belong to."""
    driven = [joint for joint in joints if joint not in passive]
    owners = list(settings.joints) if settings.joints is not None else None
    for joint in owners or ():
        if joint not in joints:
            raise InvalidProject(
                f"{where}: {quantity}.joints names {joint!r}{nearest(joint, joints)}; the robot has {listing(joints)}"
            )
    if isinstance(settings.columns, str):
        owners = owners or (driven if quantity in EFFORTS else list(joints))
        count = len(owners)
        return ([settings.columns] if count == 1 else [f"{settings.columns}[{k}]" for k in range(count)]), owners
    count = len(settings.columns)
    if owners is None:
        owners = driven if quantity in EFFORTS and count == len(driven) else list(joints)
    if count != len(owners):
        of = f"{len(settings.joints)} are named" if settings.joints is not None else f"the robot has {len(joints)}: {listing(joints)}"
        raise InvalidProject(
            f"{where}: {quantity} has {count} columns, but of joints {of}; give one column a joint, or name the joints "
            f"with joints = [...]"
        )
    return settings.columns, owners


def _column(settings: ColumnSettings) -> Column:
    return Column(settings.column, settings.unit, settings.scale, settings.hold, settings.initial)
