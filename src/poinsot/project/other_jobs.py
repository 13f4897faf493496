"""Results of another job: `gains_from` and `robot_from` name its project file, or the result file that it wrote."""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidMethod, InvalidProject, UnreadableFile, listing
from ..io.sources import existing_file

if TYPE_CHECKING:
    from ..estimate import DriveGains, Finding
    from ..models.robot.articulated import Articulated
    from ..models.robot.link_torques import LinkTorques
    from ..regression.dynamics import IdentifiedDynamics
    from .job import Job, Project

MAX_RESULT_BYTES = 64 * 2**20


def gains_from(job: Job, name: str) -> DriveGains:
    """The gains of another job with recordings in the same folder; `name`: name of its project file, or of its result.
    Raises `UnreadableFile` if there is no such file, or it is neither a project nor a result. Raises `InvalidProject`
    if it identifies no gains, or takes them from another one itself.
    """
    path = _path(job.project, "gains_from", name)
    job.say(f"identifying the drive gains: {path.name}")
    gains = _gains(path, "gains_from", _result(job, path, "gains_from"))
    written = path.suffix == ".json"
    if gains is None and written:
        raise UnreadableFile(f"gains_from: {path} is not a result of `poinsot identify` with drive gains")
    if gains is None or not (written or gains.identified):
        raise InvalidProject(
            f"gains_from: {path} identifies no drive gains; for that it needs currents, and a load of known mass"
        )
    return gains


def torques_from(
    job: Job, name: str | None, links: Sequence[str]
) -> tuple[LinkTorques, tuple[str, ...], tuple[Finding, ...]]:
    """The robot of a project with these open bodies, the steps that its parameters come from (another job's project
    file or result of this name, or the description), and the errors that were found in that job.
    """
    from ..models.robot.link_torques import LinkTorques

    robot = job.project.robot(job.data_dir)
    if name is None:
        return (
            LinkTorques(robot, tuple(links)),
            ("mass properties of other bodies as described, no friction",),
            (),
        )
    path = _path(job.project, "robot_from", name)
    job.say(f"identifying the robot: {path.name}")
    result = _result(job, path, "robot_from")
    with of_result(path, "robot_from"):
        found = identified(robot, result, path, "robot_from")
    l = len(robot.bodies)
    nominal, added = found.theta[: 10 * l].reshape(l, 10), found.theta[10 * l :]
    steps = (f"gains, friction and mass properties of other bodies from {path.name}",)
    return LinkTorques(found.robot, tuple(links), nominal, added), steps, _errors(result, path)


def _errors(result: Mapping[str, Any], path: Path) -> tuple[Finding, ...]:
    """Errors among the findings of a result: what uses it has them too."""
    from ..estimate import Finding, Severity

    with of_result(path, "robot_from"):
        return tuple(
            Finding(
                str(row["cause"]),
                Severity.error,
                f"The robot is that of {path.name}, which is not to be used: {row['message']}",
                str(row.get("remedy", "")),
                evidence=float(row.get("evidence") or 0.0),
            )
            for row in result.get("findings", ())
            if row["severity"] == Severity.error.name
        )


def identified(robot: Articulated, result: Mapping[str, Any], path: Path, key: str) -> IdentifiedDynamics:
    """Identified dynamics of a robot from a result, with its drive gains and without the load of its recordings.
    `path`: path of the result. `key`: key of the project file that names it, for messages.
    """
    from ..regression.dynamics import IdentifiedDynamics

    gains = _gains(path, key, result)
    if gains is not None:
        driven = [joint for joint, yes in zip(robot.joints, robot.train.driven, strict=True) if yes]
        if list(gains.joints) != driven:
            raise InvalidProject(
                f"{path} has gains of {listing(gains.joints)}, but this robot has motors of {listing(driven)}"
            )
        robot = replace(robot, drive=replace(robot.drive, gain=tuple(gains.values.tolist())))
    all_rows = result.get("full_parameters") or result["parameters"]
    # Base parameters were estimated with these values held, and are wrong without them; full ones contain them.
    held = (
        {} if "full_parameters" in result else result.get("settings", {}).get("project", {}).get("held", {})
    )
    kept = [k for k, row in enumerate(all_rows) if row["kind"] != "payload"]
    rows, names = [all_rows[k] for k in kept], robot.parameters.names
    # A result of an earlier version has no covariance.
    covariance = [
        [float("nan")] * len(all_rows) if (c := row.get("covariance")) is None else c for row in rows
    ]
    fits = [result["fit"], *(result["validation"] or {}).get("recordings", ())] if "fit" in result else []
    try:
        if not rows:
            raise InvalidMethod("it has no parameters")
        found = IdentifiedDynamics(
            robot,
            robot.parameters.hold(**{name: value for name, value in held.items() if name in names}),
            [row["name"] for row in rows],
            np.array([row["value"] for row in rows], dtype=float),
            np.array(covariance, dtype=float)[:, kept],
            np.max([each["rms_per_joint"] for each in fits], axis=0) if fits else np.zeros(robot.model.nv),
        )
    except InvalidMethod as error:
        raise InvalidProject(
            f"{key}: {path} does not fit this robot: {error}; [robot], [drive], [friction] and [held] must be alike in "
            "both"
        ) from None
    return found


def values_from(project: Project, name: str) -> dict[str, float]:
    """Parameter -> value of a result that `identify` wrote before."""
    path = _path(project, "start_from", name)
    with of_result(path, "start_from"):
        rows = read_result(path, "start_from")["parameters"]
        return {str(row["name"]): float(row["value"]) for row in rows if row["value"] is not None}


@contextmanager
def of_result(path: Path, key: str, what: str = "") -> Iterator[None]:
    """Turn errors of missing or wrong content into the message that the file is not a result."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise UnreadableFile(f"{key}: {path} is not a result of `poinsot identify`{what}") from None


def _path(project: Project, key: str, name: str) -> Path:
    path = project.path.parent / name
    if not os.path.isfile(path):
        raise UnreadableFile(f"{key}: there is no file {path}, which {project.path} refers to")
    return path


def _result(job: Job, path: Path, key: str) -> Mapping[str, Any]:
    """Result of schema `poinsot.identify/1`: read, or computed now."""
    # A result is used without its recordings, which may have been moved.
    if path.suffix == ".json":
        return read_result(path, key)
    from ..io.results import identify_json

    other = type(job.project).load(path)
    asks = other.settings.method.other_jobs.get(key)
    # One step only: a cycle of jobs would never end.
    if asks is not None:
        raise InvalidProject(
            f"{key}: {path} takes its {key.removesuffix('_from')} from {asks}; name the job that identifies them"
        )
    return identify_json(other.identify(job.data_dir, stop=job.stop))


RESULT = "result.json"
"""Name of a result in the folder that `--out` made, unless the project gives it another."""


def result_in(path: Path) -> Path:
    """The result itself, or the one in a folder that `--out` made."""
    return path / RESULT if path.is_dir() else path


def read_result(path: Path, key: str) -> Mapping[str, Any]:
    """The JSON of a result; `key`: key of the project file that names it, for messages."""
    if existing_file(path).stat().st_size > MAX_RESULT_BYTES:
        raise UnreadableFile(f"{key}: {path} is larger than {MAX_RESULT_BYTES >> 20} MiB: it is not a result")
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        result = None
    if not isinstance(result, dict) or not isinstance(result.get("parameters", []), list):
        raise UnreadableFile(f"{key}: {path} is not a result of `poinsot identify`")
    return result


def _gains(path: Path, key: str, result: Mapping[str, Any]) -> DriveGains | None:
    """The drive gains of a result, if it has any."""
    from ..estimate import DriveGains

    if "drive_gains" not in result:
        return None
    with of_result(path, key, " with drive gains"):
        rows: list[dict[str, Any]] = result["drive_gains"]
        gains = DriveGains(
            tuple(str(row["joint"]) for row in rows),
            tuple(str(row["unit"]) for row in rows),
            np.array([float(row["value"]) for row in rows]),
            np.array([[float(each) for each in row["covariance"]] for row in rows]),
            identified=any(row.get("identified", False) for row in rows),
        )
    finite = np.isfinite(gains.values).all() and np.isfinite(gains.covariance).all()
    if gains.covariance.shape != (len(rows), len(rows)) or not finite:
        raise UnreadableFile(f"{key}: the drive gains in {path} are not complete")
    return gains
