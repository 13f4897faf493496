"""Commands of a project's recordings on the clock of their own messages.

A log with topics has commands and positions in messages of their own. A recording has one clock, that of the positions:
rows of other topics are dropped (`require`), and a command is held until the next row (`hold`), up to one row late. So
the method reads the commands again, without dropping rows, and takes them at their own stamps.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators.servo.problem import COMMAND
from ..exceptions import InvalidRecording
from ..io.reading import read_recording
from ..io.sources import Column, Source
from .recordings import build_source

if TYPE_CHECKING:
    from ..models.robot.articulated import Articulated
    from ..recording import Recording
    from .job import Job

REQUIRED = "required"
"""Beginning of the names of channels of the columns that rows must have."""


def own_commands(job: Job, robot: Articulated) -> dict[str, Recording]:
    """Name of a recording -> its `position_command.JOINT`, masked at rows of other topics.

    Only for recordings whose rows of commands are dropped, and not where [preprocessing] resamples or shifts them.
    """
    preprocessing: Any = job.settings.preprocessing
    shifted = any(name.partition(".")[0] == COMMAND for name in preprocessing.delays)
    if preprocessing.resample_hz is not None or shifted:
        return {}
    project, found = job.project, {}
    folder = project.path.parent if job.data_dir is None else Path(job.data_dir)
    driven = [joint for joint in robot.joints if joint not in robot.drive.passive]
    settings: Any
    for settings in project.settings.recordings:
        held = settings.position_command is not None and settings.position_command.hold
        if settings.files or settings.time is None or not (settings.require and held):
            continue
        where = f"{project.path}: recording {settings.title!r}"
        source = build_source(settings, folder, where, robot.joints, driven)
        channels = {
            name: replace(column, hold=False, initial=None)
            for name, column in source.columns.items()
            if name.partition(".")[0] == COMMAND
        }
        required = {f"{REQUIRED}.{k}": Column(name, "1") for k, name in enumerate(source.require)}
        rows = _read(replace(source, channels=channels | required, require=()), next(iter(channels.values())))
        if rows is None:
            continue
        used = np.all([rows.mask(name) for name in required], axis=0)
        given = np.any([rows.mask(name) for name in channels], axis=0)
        if not (given & ~used).any():
            continue  # commands and positions are in one message
        late = 0.0
        if settings.start_s is not None:  # times count from the first row that is used
            late = settings.start_s - read_recording(replace(source, channels=required)).time[0]
        found[settings.title] = replace(
            rows,
            time=rows.time + late,
            channels={name: rows[name] for name in channels},
            units={name: rows.units[name] for name in channels},
            valid={name: rows.mask(name) for name in channels},
        )
    return found


def _read(source: Source, command: Column) -> Recording | None:
    """All rows; where their clock does not increase, those with this command; None: nor does it there."""
    for require in ((), (command.name,)):
        try:
            return read_recording(replace(source, require=require), invalid="mask")
        except InvalidRecording:
            continue
    return None
