"""Drive gains that another job has found: `gains_from` names its project file, or the result that it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, UnreadableFile
from .settings.methods import PayloadSettings

if TYPE_CHECKING:
    from ..estimate import DriveGains
    from .job import Project

MAX_RESULT_BYTES = 64 * 2**20


def gains_from(
    project: Project, data_dir: str | Path | None, say: Callable[[str], None]
) -> DriveGains | None:
    """The gains that a job asks another one for, which reads the same folder; None: it asks for none.

    Raises:
        UnreadableFile: if there is no such file, or it is neither a project nor a result.
        InvalidProject: if it identifies no gains, or asks another one itself.
    """
    method = project.settings.method
    if not isinstance(method, PayloadSettings) or method.gains_from is None:
        return None
    path = project.path.parent / method.gains_from
    if not path.is_file():
        raise UnreadableFile(f"gains_from: there is no file {path}, where {project.path} looks for it")
    if path.suffix == ".json":
        return _read(path)
    from .job import Project, identify

    other = Project.load(path)
    if isinstance(other.settings.method, PayloadSettings) and other.settings.method.gains_from is not None:
        raise InvalidProject(
            f"gains_from: {path} takes its gains from {other.settings.method.gains_from}; name the job that identifies "
            "them"
        )
    say(f"identifying the drive gains: {path.name}")
    gains = identify(other, data_dir).drive_gains
    if gains is None or not gains.identified:
        raise InvalidProject(
            f"gains_from: {path} identifies no drive gains; for that it needs currents, and a load of known mass"
        )
    return gains


def _read(path: Path) -> DriveGains:
    """From a result as `--json` and `--out` write it."""
    from ..estimate import DriveGains

    if path.stat().st_size > MAX_RESULT_BYTES:
        raise UnreadableFile(
            f"gains_from: {path} is larger than {MAX_RESULT_BYTES >> 20} MiB; that is no result"
        )
    try:
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["drive_gains"]
        gains = DriveGains(
            tuple(str(row["joint"]) for row in rows),
            tuple(str(row["unit"]) for row in rows),
            np.array([float(row["value"]) for row in rows]),
            np.array([[float(each) for each in row["covariance"]] for row in rows]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise UnreadableFile(
            f"gains_from: {path} is no result of `poinsot identify` with drive gains"
        ) from None
    finite = np.isfinite(gains.values).all() and np.isfinite(gains.covariance).all()
    if gains.covariance.shape != (len(rows), len(rows)) or not finite:
        raise UnreadableFile(f"gains_from: the drive gains in {path} are not complete")
    return gains
