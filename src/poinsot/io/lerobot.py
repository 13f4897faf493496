"""LeRobot data sets, versions 2.0 to 3.0: one episode as a Recording, or columns for a project file.

    meta/info.json                    fps, features with the names of their entries, where the data are (`data_path`)
    data/chunk-000/*.parquet          a row a frame: `action`, `observation.state` (lists), `episode_index`, `timestamp`
    meta/episodes/chunk-000/*.parquet from version 3.0 on: which file has which episode, as a file has several

Positions of a joint are in degrees, in radians, or a share of its calibrated travel: -100 to 100 (joints) or 0 to 100
(grippers). The files do not say which, so it is declared, or guessed from the values and said:

    beyond 100.5 somewhere            no share of a travel: degrees
    within 2 pi on every joint        radians
    otherwise                         a share of the travel, which a motion of few degrees also looks like

`timestamp` is the number of the frame by the rate, not the time of a measurement: the files have no jitter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..exceptions import UnreadableFile, listing, nearest
from ..recording import Recording
from .parquet import POLARS_ERRORS, checked
from .readers import Reader
from .sources import Columns, NotedColumns, Source, column_not_found, existing_file

INFO = "meta/info.json"
UNITS = ("deg", "rad", "+-100", "0 to 100")
"""What positions may be measured in: `+-100` and `0 to 100` are shares of the calibrated travel in percent."""

LARGEST_SHARE = 100.5
"""Largest magnitude of a share of the travel; servos overshoot their ends a little. [%]"""

MAX_JSON_BYTES = 1 << 26
MAX_FRAMES = 20_000_000
"""Largest number of frames of a file that is opened: a file of some kilobytes may claim billions."""

MAX_FILES = 10_000
_QUANTITIES = {"pos": "position", "vel": "velocity"}
_SI = {"position": "rad", "velocity": "rad/s"}
_FIELD = re.compile(r"\{(episode_chunk|episode_index|chunk_index|file_index):0(\d)d\}")


@dataclass(frozen=True)
class LeRobotDataset:
    """The description of a data set.

    Args:
        folder: the one that holds `meta` and `data`.
        version: of the format, e.g. `"v3.0"`. robot: its type, as the data set names it.
        rate_hz: frames per second.
        episodes: how many there are.
        features: name of a feature of numbers -> names of its entries; of a scalar, its own name alone.
        data_path: pattern of the files with the frames. chunk_size: episodes in a folder, before version 3.0.
    """

    folder: Path
    version: str
    robot: str
    rate_hz: float
    episodes: int
    features: Mapping[str, tuple[str, ...]]
    data_path: str
    chunk_size: int

    def columns(self, episode: int | str) -> list[str]:
        """Names of the columns of an episode in a project file."""
        return [
            f"/{episode}/{feature}" if entries == (feature,) else f"/{episode}/{feature}/{entry}"
            for feature, entries in self.features.items()
            for entry in entries
        ]

    def frames(self, episode: int, features: Sequence[str]) -> dict[str, np.ndarray]:
        """Feature -> (T, entries) numbers of one episode in the order of its frames, NaN where the file has none.

        Raises:
            UnreadableFile: if the episode or a feature does not exist, or the file is damaged.
        """
        if not 0 <= episode < self.episodes:
            raise UnreadableFile(
                f"{self.folder} has no episode {episode}; it has {self.episodes}, counted from 0"
            )
        for name in features:
            if name not in self.features:
                raise UnreadableFile(
                    f"{self.folder} has no feature {name!r}{nearest(name, self.features)}; "
                    f"it has {listing(self.features)}"
                )
        path = existing_file(self._file(episode))
        table = _read_parquet(path, ["episode_index", "frame_index", *features], episode)
        if not len(table):
            raise UnreadableFile(f"{path} has no frame of episode {episode}")
        table = table.sort("frame_index")
        return {name: _matrix(path, table[name], len(self.features[name])) for name in features}

    def _file(self, episode: int) -> Path:
        """The file that holds an episode."""
        numbers = {"episode_index": episode, "episode_chunk": episode // self.chunk_size}
        if "{file_index" in self.data_path:
            numbers |= self._place(episode)

        def number(field: re.Match[str]) -> str:
            if field[1] not in numbers:
                raise UnreadableFile(f"{self.folder / INFO}: data_path has {field[0]}, which is unknown here")
            return f"{numbers[field[1]]:0{field[2]}d}"

        # Substituted here and not by `format`, which would follow whatever a hostile pattern asks for.
        relative = _FIELD.sub(number, self.data_path)
        if "{" in relative or Path(relative).is_absolute() or ".." in Path(relative).parts:
            raise UnreadableFile(
                f"{self.folder / INFO}: data_path {self.data_path[:80]!r} does not lead to a file in the data set"
            )
        return self.folder / relative

    def _place(self, episode: int) -> dict[str, int]:
        """Chunk and file of an episode in version 3.0."""
        folder = self.folder / "meta/episodes"
        names = ["episode_index", "data/chunk_index", "data/file_index"]
        files = sorted(folder.glob("chunk-*/file-*.parquet"))[:MAX_FILES]
        for path in files:
            found = _read_parquet(path, names, episode)
            if len(found):
                return {"chunk_index": int(found[names[1]][0]), "file_index": int(found[names[2]][0])}
        raise UnreadableFile(f"{folder} does not say in which file episode {episode} is")


def open_lerobot(folder: str | Path) -> LeRobotDataset:
    """Read the description of a LeRobot data set.

    Args:
        folder: the one that holds `meta/info.json`, or that file.

    Raises:
        UnreadableFile: if it is no such data set, of a version before 2.0, or damaged.
    """
    path = Path(folder)
    path = path if path.suffix.lower() == ".json" else path / INFO
    content = _read_json(existing_file(path))
    try:
        version = str(content["codebase_version"])
        features = {
            str(name): _entries(str(name), feature)
            for name, feature in content["features"].items()
            if feature["dtype"] not in ("video", "image", "string")
        }
        dataset = LeRobotDataset(
            path.parent.parent,
            version,
            str(content.get("robot_type")),
            float(content["fps"]),
            int(content["total_episodes"]),
            features,
            str(content["data_path"]),
            max(int(content.get("chunks_size") or 1000), 1),
        )
    except KeyError as error:
        raise UnreadableFile(f"{path} does not describe a LeRobot data set: it has no {error}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise UnreadableFile(
            f"{path} does not describe a LeRobot data set: {type(error).__name__} {error}"
        ) from None
    if not re.fullmatch(r"v[23]\.\d+", version):
        raise UnreadableFile(
            f"{path}: LeRobot data sets of version {version[:20]!r} cannot be read; convert it to v2.1 or v3.0"
        )
    if not (math.isfinite(dataset.rate_hz) and dataset.rate_hz > 0):
        raise UnreadableFile(f"{path}: fps is {dataset.rate_hz}, and must be a positive number")
    return dataset


def read_lerobot(
    folder: str | Path,
    episode: int = 0,
    *,
    units: str | Mapping[str, str] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    command: str = "action",
    state: str = "observation.state",
) -> Recording:
    """Read one episode: channels `position_command.<joint>` and `position.<joint>`.

    A joint has the name of its entry without the ending `.pos`. Entries with other endings are velocities (`.vel`),
    or keep the feature's name and have no unit.

    Args:
        folder: of the data set, or its `meta/info.json`.
        episode: counted from 0.
        units: one of `UNITS`, for all joints or by joint; None, and joints that are not named: guessed, and said
            among the recording's steps.
        limits: joint -> (lower, upper) end of the calibrated travel [rad], to which shares of it are converted.
            Shares of joints without limits become 0 to 1 of the travel, without a unit.
        command, state: the features with commanded and measured positions.

    Raises:
        UnreadableFile: if there is no such episode, or a unit is unknown.
    """
    dataset = open_lerobot(folder)
    frames = dataset.frames(episode, [command, state, "frame_index"])
    time = frames["frame_index"][:, 0] / dataset.rate_hz
    features = {"command": command, "state": state}
    entries = {
        (role, entry): frames[feature][:, k]
        for role, feature in features.items()
        for k, entry in enumerate(dataset.features[feature])
    }
    joints: dict[str, list[np.ndarray]] = {}
    for (_, entry), values in entries.items():
        joint, _, ending = entry.rpartition(".")
        if not joint or ending == "pos":
            joints.setdefault(entry.removesuffix(".pos"), []).append(values)
    chosen, steps = _choose_units(
        {joint: np.concatenate(both) for joint, both in joints.items()}, units, limits or {}
    )
    channels, si, valid = {}, {}, {}
    for (role, entry), values in entries.items():
        joint, _, ending = entry.rpartition(".")
        quantity = _QUANTITIES.get(ending) if joint else "position"
        if quantity is None:
            name, unit = f"{features[role]}.{entry}", "1"
        else:
            joint = entry.removesuffix(f".{ending}")
            # A velocity is in the unit of the position by second.
            unit = chosen.get(joint, "rad")
            values, unit = _to_si(values, unit, (limits or {}).get(joint), quantity)
            name = f"{quantity}{'_command' if role == 'command' else ''}.{joint}"
        channels[name], si[name] = values, unit
        if not np.isfinite(values).all():
            valid[name] = np.isfinite(values)
    steps.append(
        f"the clock is the number of the frame by {dataset.rate_hz:g} Hz: LeRobot does not log times of measurements"
    )
    source = {"sources": [str(dataset.folder / INFO)], "episode": episode, "robot": dataset.robot}
    return Recording(time, channels, si, valid, {**source, "steps": steps})


def read_lerobot_columns(source: Source) -> Columns:
    """The reader of `meta/info.json` for project files: columns `/<episode>/<feature>/<entry>`, as the files have them.

    `/3/action/elbow_flex.pos` is an entry of the action of episode 3, `/3/timestamp` its clock [s].
    """
    dataset = open_lerobot(source.path)
    places = {name: _parse(dataset, name) for name in source.wanted}
    episodes = sorted({episode for episode, _, _ in places.values()})
    if len(episodes) > 1:
        raise UnreadableFile(
            f"{source.path}: columns of episodes {listing(map(str, episodes))} are asked for together; "
            "give each episode a [[recordings]] of its own"
        )
    frames = dataset.frames(episodes[0], sorted({feature for _, feature, _ in places.values()}))
    columns = NotedColumns()
    columns.update({name: frames[feature][:, k] for name, (_, feature, k) in places.items()})
    columns.notes.append(f"episode {episodes[0]} of a LeRobot data set {dataset.version} of {dataset.robot}")
    return columns


def _parse(dataset: LeRobotDataset, name: str | int) -> tuple[int, str, int]:
    """Episode, feature and entry of a column's name."""
    found = re.fullmatch(r"/(\d{1,9})/([^/]+)(?:/(.+))?", str(name))
    episode = found[1] if found else "0"
    known = dataset.columns(episode)
    if found is None or name not in known:
        raise column_not_found(dataset.folder / INFO, name, known)
    entries = dataset.features[found[2]]
    return int(episode), found[2], entries.index(found[3]) if found[3] else 0


def _entries(name: str, feature: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of a feature's entries: listed, listed by group (version 2), or numbered."""
    count = math.prod(int(size) for size in feature["shape"])
    if not 0 < count <= 10_000:
        raise ValueError(f"feature {name!r} has {count} entries")
    names = feature.get("names")
    if isinstance(names, Mapping):
        names = [each for group in names.values() for each in (group if isinstance(group, list) else [group])]
    if isinstance(names, list) and len(names) == count and len({*map(str, names)}) == count:
        return tuple(map(str, names))
    return (name,) if count == 1 else tuple(map(str, range(count)))


def _choose_units(
    joints: Mapping[str, np.ndarray],
    declared: str | Mapping[str, str] | None,
    limits: Mapping[str, tuple[float, float]],
) -> tuple[dict[str, str], list[str]]:
    """Unit of each joint's positions, and a sentence for each that is guessed."""
    given = dict.fromkeys(joints, declared) if isinstance(declared, str) else dict(declared or {})
    for joint, unit in given.items():
        if joint not in joints:
            raise UnreadableFile(
                f"units of {joint!r}{nearest(joint, joints)}; the joints are {listing(joints)}"
            )
        if unit not in UNITS:
            raise UnreadableFile(f"positions cannot be in {unit!r}; write one of {listing(map(repr, UNITS))}")
    open_joints = {joint: values for joint, values in joints.items() if joint not in given}
    peak = max((_peak(values) for values in open_joints.values()), default=0.0)
    steps = []
    for joint, values in open_joints.items():
        unit, reason = guess_unit(values, peak, limits.get(joint))
        given[joint] = unit
        steps.append(f"positions of {joint!r} are taken to be in {unit!r}: {reason}")
    return given, steps


def guess_unit(values: np.ndarray, peak: float, limits: tuple[float, float] | None = None) -> tuple[str, str]:
    """The likely unit of a joint's positions, one of `UNITS`, and the reason.

    Args:
        values: (T,) commanded and measured positions.
        peak: largest magnitude among all joints of the data set, as they are usually written alike.
        limits: (lower, upper) end of the joint's travel [rad].
    """
    if peak <= 2 * math.pi:
        return "rad", "no joint goes beyond 2 pi; write units= if that is wrong"
    if _peak(values) > LARGEST_SHARE:
        return "deg", "it goes beyond 100, so it is no share of a travel"
    low, high = float(np.nanmin(values, initial=0.0)), float(np.nanmax(values, initial=0.0))
    share = "0 to 100" if low >= 100 - LARGEST_SHARE else "+-100"
    if limits is not None and not (
        math.radians(low) >= limits[0] - 0.1 and math.radians(high) <= limits[1] + 0.1
    ):
        return share, "in degrees it would leave its limits"
    if peak > LARGEST_SHARE:
        return "deg", f"other joints go beyond 100; write units= if it is {share!r} of its travel"
    return share, "a guess, as no joint goes beyond 100; write units= if it is in 'deg'"


def _peak(values: np.ndarray) -> float:
    return float(np.nanmax(np.abs(values), initial=0.0))


def _to_si(
    values: np.ndarray, unit: str, limits: tuple[float, float] | None, quantity: str
) -> tuple[np.ndarray, str]:
    """Positions or velocities in SI units; shares of a travel of unknown ends are 0 to 1 of it."""
    if unit in ("deg", "rad"):
        return (np.radians(values) if unit == "deg" else values), _SI[quantity]
    at_lower, travel = (-100.0, 200.0) if unit == "+-100" else (0.0, 100.0)
    share = (values - (at_lower if quantity == "position" else 0.0)) / travel
    if limits is None:
        return share, "1" if quantity == "position" else "1/s"
    lower, upper = limits
    return share * (upper - lower) + (lower if quantity == "position" else 0.0), _SI[quantity]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise UnreadableFile(f"{path} is larger than a description of a data set can be")
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableFile(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise UnreadableFile(f"{path} does not describe a LeRobot data set: it holds no object")
    return content


def _read_parquet(path: Path, names: Sequence[str], episode: int) -> pl.DataFrame:
    """Columns of the rows of one episode."""
    with checked(path, names):
        lazy = pl.scan_parquet(path, glob=False)
        available = lazy.collect_schema().names()
        for name in names:
            if name not in available:
                raise column_not_found(path, name, available)
        if (frames := int(lazy.select(pl.len()).collect().item())) > MAX_FRAMES:
            raise UnreadableFile(f"{path} claims {frames} rows, more than the {MAX_FRAMES} that are read")
        return lazy.filter(pl.col("episode_index") == episode).select(list(dict.fromkeys(names))).collect()


def _matrix(path: Path, series: pl.Series, width: int) -> np.ndarray:
    """(T, width) numbers of a column of lists, or of scalars."""
    rows = len(series)
    try:
        if isinstance(series.dtype, (pl.List, pl.Array)):
            lists = series.cast(pl.List(pl.Float64))
            if not (lists.list.len() == width).all():
                raise UnreadableFile(f"{path}: lists of {series.name!r} do not all have {width} entries")
            series = lists.explode()
        elif not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
            raise UnreadableFile(f"{path}: column {series.name!r} holds {series.dtype}, not numbers")
        return series.cast(pl.Float64).to_numpy().reshape(rows, width)
    except (*POLARS_ERRORS, ValueError) as error:
        raise UnreadableFile(
            f"{path}: column {series.name!r} does not hold {width} numbers a row: {error}"
        ) from None


def list_episodes(path: Path) -> tuple[dict[str, Any], str]:
    """A data set for `poinsot inspect`: for scripts (schema `poinsot.episodes/1`), and as text."""
    dataset = open_lerobot(path)
    features = {name: list(entries) for name, entries in dataset.features.items()}
    facts = {"version": dataset.version, "robot": dataset.robot, "rate_hz": dataset.rate_hz}
    content = {"schema": "poinsot.episodes/1", **facts, "episodes": dataset.episodes, "features": features}
    content["columns"] = dataset.columns(0)
    lines = [
        f"LeRobot data set {dataset.version} of {dataset.robot}: {dataset.episodes} episodes at {dataset.rate_hz:g} Hz",
        *(f"/0/{name}: {listing(entries, 40)}" for name, entries in features.items()),
    ]
    return content, "\n".join(lines)


LEROBOT = Reader(read_lerobot_columns, list_episodes)
