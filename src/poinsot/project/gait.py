"""Gait files: intervals in which each contact is closed.

TOML, phases one after the other, the whole repeated:

    start_s = 0.5                             # default 0
    repeat = 4                                # default 1
    [[phase]]
    duration_s = 0.3
    contacts = ["LF_FOOT", "RH_FOOT"]         # closed; [] for a flight

or CSV, a row whenever something changes, 1 where a foot is on the ground:

    time,LF_FOOT,RH_FOOT
    0.5,1,1
    0.8,0,1
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from ..exceptions import InvalidProject, listing
from ..models.contacts.contacts import Gait
from .settings.fields import Positive, SettingsTable
from .toml import read_settings, read_text


class PhaseSettings(SettingsTable):
    """Contacts that are closed for a time."""

    duration_s: Positive
    contacts: list[str]


class GaitSettings(SettingsTable):
    """Phases, from a time on [s]."""

    start_s: float = 0.0
    repeat: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    phase: Annotated[list[PhaseSettings], Field(min_length=1)]


def read_gait(path: str | Path) -> Gait:
    """Read a gait file, TOML or CSV by its name; `InvalidProject` with the line if it is no gait."""
    path = Path(path)
    if path.suffix not in (".toml", ".csv"):
        raise InvalidProject(f"{path} is not a gait file: its name must end in .toml or .csv")
    if path.suffix == ".csv":
        return _gait_of_rows(path)
    gait = read_settings(GaitSettings, path)
    feet = tuple(dict.fromkeys(foot for phase in gait.phase for foot in phase.contacts))
    if not feet:
        raise InvalidProject(f"{path}: no phase names a contact")
    closed = np.array([[foot in phase.contacts for foot in feet] for phase in gait.phase])
    ends = np.cumsum(np.tile([phase.duration_s for phase in gait.phase], gait.repeat))
    return Gait(gait.start_s + np.concatenate([[0.0], ends[:-1]]), feet, np.tile(closed, (gait.repeat, 1)))


def _gait_of_rows(path: Path) -> Gait:
    header, *rows = [
        [cell.strip() for cell in row] for row in csv.reader(read_text(path).splitlines()) if row
    ] or [[]]
    if not rows or header[0] != "time" or len(header) < 2:
        raise InvalidProject(f"{path} needs a header `time,FOOT,...` and a row for each change")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header) or not set(row[1:]) <= {"0", "1"}:
            raise InvalidProject(
                f"{path}: row {number} needs a time and a 0 or 1 for each of {listing(header[1:])}"
            )
    try:
        table = np.array(rows, dtype=float)
    except ValueError:
        raise InvalidProject(f"{path}: times must be numbers [s]") from None
    if not (np.isfinite(table[:, 0]).all() and (np.diff(table[:, 0]) > 0).all()):
        raise InvalidProject(f"{path}: times must be finite and increase from row to row")
    return Gait(table[:, 0], tuple(header[1:]), table[:, 1:] == 1)
