"""Which files are the logs of a fleet: a pattern of names, and the robot and day in a name.

logs/*.parquet                          a date in a name is the day, and what stands before it the robot
logs/{robot}/{day}.parquet              given by place
logs/{robot}/{day}/part_{part}.parquet  one log in several files, in the order of their names
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..exceptions import InvalidProject, UnreadableFile, listing

PLACES = ("robot", "day", "part")
DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)(?!\d)")
SEPARATORS = " -_.,"


@dataclass(frozen=True)
class Log:
    """One recording of one robot on one day; `paths`: its files, in the order of time."""

    name: str
    paths: tuple[Path, ...]
    robot: str
    day: str


def find_logs(folder: Path, pattern: str) -> tuple[Log, ...]:
    """The logs whose files' names, from a folder, fit a pattern; sorted by name.

    Raises:
        InvalidProject: if the pattern has an unknown place.
        UnreadableFile: if no file fits.
    """
    for place in re.findall(r"\{([^}]*)\}", pattern):
        if place not in PLACES:
            raise InvalidProject(
                f"the pattern {pattern!r} has {{{place}}}; it may have {listing(f'{{{known}}}' for known in PLACES)}"
            )
    loose = re.sub(r"\{[^}]*\}", "*", pattern)
    names = sorted(glob.glob(loose, root_dir=folder, recursive=True))
    files = [name for name in names if (folder / name).is_file()]
    if not files:
        raise UnreadableFile(f"no file fits {pattern!r} in {folder.absolute()}; give the folder of the logs")
    fits = re.compile(_expression(pattern))
    logs: dict[tuple[str, ...], list[Path]] = {}
    for name in files:
        match = fits.fullmatch(name)
        places = {} if match is None else match.groupdict()
        robot, day = _named_by_date(name)
        robot, day = places.get("robot", robot), places.get("day", day)
        log_name = name if "part" not in places else fits_without_part(pattern, places)
        logs.setdefault((log_name, robot, day), []).append(folder / name)
    return tuple(Log(log_name, tuple(paths), robot, day) for (log_name, robot, day), paths in logs.items())


def fits_without_part(pattern: str, places: dict[str, str]) -> str:
    """The name of a log in several files."""
    name = pattern.replace("{part}", "*")
    for place in ("robot", "day"):
        name = name.replace(f"{{{place}}}", places.get(place, ""))
    return name


def count_of(logs: Iterable[Log], level: str) -> int:
    """Number of robots, or of days of robots."""
    return len({(log.robot, log.day)[: 1 if level == "robot" else 2] for log in logs})


def _expression(pattern: str) -> str:
    """The pattern as a regular expression with a group for each place."""
    parts = re.split(r"(\{[^}]*\}|\*\*/?|\*|\?)", pattern)
    meaning = {"*": "[^/]*", "?": "[^/]", "**": ".*", "**/": "(?:.*/)?"}
    seen: set[str] = set()
    text = ""
    for part in parts:
        if part.startswith("{") and part[1:-1] in seen:
            text += f"(?P={part[1:-1]})"
        elif part.startswith("{"):
            seen.add(part[1:-1])
            text += f"(?P<{part[1:-1]}>[^/]+?)"
        else:
            text += meaning.get(part) or re.escape(part)
    return text


def _named_by_date(name: str) -> tuple[str, str]:
    """(robot, day) of a name with a date; without one each file is a robot of its own, on a day without name."""
    path = Path(name)
    stem = path.with_suffix("").as_posix()
    if (date := DATE.search(stem)) is None:
        return stem, ""
    before = stem[: date.start()].strip(SEPARATORS + "/")
    return before or "robot", "-".join(date.groups())
