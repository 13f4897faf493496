"""[[recordings]] -> recordings: columns are assigned to joints, and their units checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InvalidProject, check_known, listing
from ..io.readers import RECORDING_ENDING
from ..io.reading import read_recording
from ..io.sources import Column, Source
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT, EFFORTS, IMPACT_VELOCITIES, QUANTITIES, THRUST, Recording
from .settings.fields import by_joint
from .settings.recordings import (
    FileSettings,
    ListedQuantities,
    OrientationSettings,
    QuantitySettings,
    RecordingSettings,
)

if TYPE_CHECKING:
    from ..models.robot.articulated import Articulated


LISTED_KEYS = {*ListedQuantities.model_fields, "files", "channels", "time", "rate_hz"}
"""Keys by which a recording says what is in its file, which a file of poinsot says itself."""


@dataclass(frozen=True, eq=False)
class Run:
    """A recording of a project, with its settings. `held`: channels that keep their value between samples, like
    commands. `loaded`: whether the robot carries the load that is to be identified. `gait`: file with the times at
    which feet touch the ground.
    """

    name: str
    role: str
    recording: Recording
    window_s: tuple[float, float] | None = None
    held: tuple[str, ...] = ()
    loaded: bool = False
    gait: Path | None = None


def build_run(
    project: Path,
    settings: RecordingSettings,
    folder: Path,
    joints: Sequence[str],
    driven: Sequence[str],
    locked: Collection[str] = (),
) -> Run:
    """One of [[recordings]], read. `locked`: further joints, whose columns are passed over where they are named."""
    sources: list[Source] = []
    path = settings.path if not settings.model_fields_set & LISTED_KEYS else None
    if path is not None and path.endswith(RECORDING_ENDING):
        # Files of poinsot contain channels, units and clock.
        recording = read_recording(folder / path)
    else:
        where = f"{project}: recording {settings.title!r}"
        files, rate_hz = settings.files or [settings], settings.rate_hz
        sources = [build_source(file, folder, where, joints, driven, locked) for file in files]
        if settings.rate_hz is not None and any(file.time is not None for file in settings.files):
            raise InvalidProject(f"{where} has both a time column and rate_hz; give one of them")
        if any(getattr(file, IMPACT_VELOCITIES[0]) for file in files) and not any(
            file.time for file in files
        ):
            rate_hz = rate_hz or 1.0  # impacts need no clock: they are numbered
        recording = read_recording(
            sources, rate_hz=rate_hz, start_s=settings.start_s, invalid=settings.invalid
        )
    if settings.between_s is not None:
        start, stop = settings.between_s
        part = recording.between(start, stop)
        step = f"took {start:.15g} s to {stop:.15g} s: {len(part)} of {len(recording)} samples"
        recording = part.noted(step)
    held = tuple(name for source in sources for name, column in source.columns.items() if column.hold)
    gait = None if settings.gait is None else folder / settings.gait
    return Run(settings.title, settings.role, recording, settings.window_s, held, settings.loaded, gait)


def check_kinds(robot: Articulated, run: Run) -> None:
    """Check that prismatic joints are measured in metres and revolute joints and motors in radians."""
    # Motors rotate, including those of prismatic joints.
    if robot.drive.side == "motor":
        return
    expected = channel_units(robot)
    for name, unit in expected.items():
        found = run.recording.units.get(name, unit)
        if found != unit:
            quantity, _, joint = name.partition(".")
            moves = "slides" if expected[f"position.{joint}"] == "m" else "turns"
            raise InvalidProject(
                f"recording {run.name!r}: joint {joint!r} {moves}, so its {quantity} is in {unit}, "
                f"but the channel {name} is in {found}: correct its unit"
            )


def channel_units(robot: Articulated) -> dict[str, str]:
    """Channel of a joint -> its SI unit, on the measured side of the drive."""
    units: dict[str, str] = {}
    for joint, k in zip(robot.joints, robot.actuated, strict=True):
        slides = robot.drive.side == "joint" and robot.position_units[k] == "m"
        p, tau = ("m", "N") if slides else ("rad", "N m")
        each = (p, f"{p}/s", f"{p}/s^2", tau, "A", "V", p)
        units |= {f"{quantity}.{joint}": unit for quantity, unit in zip(QUANTITIES, each, strict=False)}
    return units


def build_source(
    file: FileSettings,
    folder: Path,
    where: str,
    joints: Sequence[str],
    driven: Sequence[str],
    locked: Collection[str] = (),
) -> Source:
    """One file of a recording, with its columns assigned to the joints."""
    assert file.path is not None
    return file.build_as(
        Source,
        path=folder / file.path,
        channels=dict(_columns(file, where, joints, driven, locked)),
        time=None if file.time is None else file.time.build_as(Column, name=file.time.column),
        require=tuple(file.require),
    )


def _columns(
    file: FileSettings, where: str, joints: Sequence[str], driven: Sequence[str], locked: Collection[str]
) -> list[tuple[str, Column]]:
    """(channel, column) of one file."""
    columns = []
    for quantity in QUANTITIES:
        settings: QuantitySettings | None = getattr(file, quantity)
        if settings is None:
            continue
        names, owners = _match(quantity, settings, where, joints, driven, locked)
        scales, zeros = (
            _each(f"{where}: {quantity}.{key}", by_joint(f"{quantity}.{key}", value, owners, usual), owners)
            for key, value, usual in (("scale", settings.scale, 1.0), ("zero", settings.zero, 0.0))
        )
        units = _each(f"{where}: {quantity}.unit", settings.unit, owners)
        for name, joint, unit, scale, zero in zip(names, owners, units, scales, zeros, strict=True):
            if joint in locked:  # a column that was named before the joint was locked
                continue
            own = float(zero), settings.wraps, tuple(settings.missing)
            column = Column(name, unit, float(scale), settings.hold, settings.initial, None, *own)
            columns.append((f"{quantity}.{joint}", column))
    columns += _at_frames(file, where)
    given = file.channels.items()
    return columns + [(name, column.build_as(Column, name=column.column)) for name, column in given]


def _at_frames(file: FileSettings, where: str) -> list[tuple[str, Column]]:
    """(channel, column) of sensors at frames, of contacts and of rotors."""
    columns = []
    for quantity, listed in FRAME_QUANTITIES.items():
        for sensor in getattr(file, quantity, ()):  # absent if listed after the settings were imported
            if isinstance(sensor, OrientationSettings):
                ends, units, scale = tuple(sensor.order), ["1"] * 4, 1.0
            else:
                ends, scale = listed.ends, sensor.scale
                units = _each(f"{where}: {quantity}.unit", sensor.unit, sensor.columns)
            columns += [
                (f"{quantity}.{sensor.frame}.{end}", Column(name, unit, scale))
                # A force sensor may come without its moments.
                for end, name, unit in zip(ends, sensor.columns, units, strict=False)
            ]
    for kind, owner in ((CONTACT, "frames"), (THRUST, "rotors")):
        settings = getattr(file, kind)
        if settings is not None:
            owners = _each(f"{where}: {kind}.{owner}", getattr(settings, owner), settings.columns)
            columns += [
                (f"{kind}.{each}", Column(name, settings.unit, getattr(settings, "scale", 1.0)))
                for each, name in zip(owners, settings.columns, strict=True)
            ]
    return columns


def _each(key: str, value: Any, owners: Sequence[str]) -> list[Any]:
    values = value if isinstance(value, list) else [value] * len(owners)
    if len(values) != len(owners):
        raise InvalidProject(f"{key} has {len(values)} values for {len(owners)} columns")
    return values


def _match(
    quantity: str,
    settings: QuantitySettings,
    where: str,
    joints: Sequence[str],
    driven: Sequence[str],
    locked: Collection[str],
) -> tuple[Sequence[str | int], Sequence[str]]:
    """Columns and their joints; joints with an effort may differ from `joints`."""
    effort = quantity in EFFORTS
    if effort:
        # A motor may drive a joint whose position is not measured.
        joints = [*joints, *(joint for joint in driven if joint not in joints)]
    owners = list(settings.joints) if settings.joints is not None else None
    for joint in owners or ():
        known = [*joints, *locked]
        check_known(joint, known, f"{where}: {quantity}.joints names", "the robot has", InvalidProject)
        if owners is not None and owners.count(joint) > 1:
            raise InvalidProject(f"{where}: {quantity}.joints names {joint!r} twice")
    for joint in settings.not_measured:
        check_known(joint, joints, f"{where}: {quantity}.not_measured names", "the robot has", InvalidProject)
        if joint in (owners or ()):
            raise InvalidProject(f"{where}: {quantity}.not_measured names {joint!r}, which has a column")
    if isinstance(settings.columns, str):
        owners = owners or list(driven if effort else joints)
        count = len(owners)
        return (
            # A matrix of a `.mat` file, column by column.
            [settings.columns] if count == 1 else [f"{settings.columns}[{k}]" for k in range(count)]
        ), owners
    count = len(settings.columns)
    if owners is None:
        owners = list(driven if effort and count == len(driven) else joints)
    if count != len(owners):
        expected = (
            f"the robot has {len(joints)} joints ({listing(joints)}): give one column a joint, name the joints with "
            "joints = [...], or hold joints without a column in [robot], as in "
            f"locked = {{ {joints[-1]} = 0.0 }}"
            if settings.joints is None
            else f"names {len(owners)} joints: give one column for each"
        )
        raise InvalidProject(f"{where}: {quantity} has {count} columns, but {expected}")
    return settings.columns, owners
