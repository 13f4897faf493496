"""The readers of files, by the ending of their names.

A reader is a function `read(source: Source) -> Columns`: the columns `source.wanted` as numbers, or an
`UnreadableFile` with what would have worked. Units, rows, clocks
and missing values are handled by `reading`, the same for all formats. To add a format, write its reader in a file of
its own and list it here; another distribution lists its reader as an entry point instead,

    [project.entry-points."poinsot.readers"]
    ticks = "my_package:read_ticks"           # for names that end in .ticks

The modules are imported when a file of theirs is read, as Polars and SciPy take their time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from ..exceptions import UnreadableFile
from .sources import Columns, Source, existing_file

GROUP = "poinsot.readers"
"""The group of entry points."""

TEXT = ("csv", "tsv", "txt", "dat")
READERS: Mapping[str, str] = {
    **dict.fromkeys(TEXT, "poinsot.io.tabular:read_csv"),
    **dict.fromkeys(("parquet", "pq"), "poinsot.io.parquet:read_parquet"),
    "mat": "poinsot.io.matlab:read_mat",
    # yaml: metadata.yaml of a ROS 2 bag
    **dict.fromkeys(("mcap", "bag", "db3", "yaml"), "poinsot.io.message_columns:read_log_columns"),
    "json": "poinsot.io.lerobot:read_lerobot_columns",  # meta/info.json of a LeRobot data set
}
"""Ending, without its dot -> module and function."""

HEADERS: Mapping[str, str] = dict.fromkeys(TEXT, "poinsot.io.tabular:csv_columns")
"""Ending -> what lists the columns of such a file; `LISTINGS` list those of other formats."""

LISTINGS: Mapping[str, str] = {
    **dict.fromkeys(("parquet", "pq"), "poinsot.io.parquet:list_parquet"),
    **dict.fromkeys(("mcap", "bag", "db3", "yaml"), "poinsot.io.message_columns:list_log"),
    "json": "poinsot.io.lerobot:list_episodes",
}
"""Ending -> what lists the contents of such a file: path -> (content for scripts, text)."""

BLOCK_LOGS: Mapping[str, str] = {
    **dict.fromkeys(("parquet", "pq"), "poinsot.io.parquet_log:ParquetLog"),
    **dict.fromkeys(("mcap", "yaml"), "poinsot.io.message_log:MessageLog"),
}
"""Ending -> what reads a recording in such files in blocks."""

RECORDING_ENDING = ".npz"
"""Of poinsot's own files, which bring channels, units and clock (`npz`)."""


def find_reader(path: Path) -> Callable[[Source], Columns]:
    """The reader for a file's ending; poinsot's own come before those of other distributions."""
    ending = path.suffix.lower().removeprefix(".")
    if ending in READERS:
        return _load(EntryPoint(ending, READERS[ending], GROUP))
    # Looked up only here: it reads the metadata of every installed distribution.
    others = {found.name: found for found in entry_points(group=GROUP)}
    if ending in others:
        return _load(others[ending])
    known = (*READERS, *sorted({*others} - {*READERS}))
    raise UnreadableFile(
        f"{path}: files ending in {path.suffix.lower() or 'nothing'!r} are unknown; "
        f"known are {', '.join(f'.{each}' for each in known)}, {RECORDING_ENDING}"
    )


def find_listing(path: Path) -> Callable[[Path], tuple[Mapping[str, Any], str]] | None:
    """What lists a log's topics for `poinsot inspect`, for scripts and as text; None: nothing for such an ending."""
    ending = path.suffix.lower().removeprefix(".")
    return _load(EntryPoint(ending, LISTINGS[ending], GROUP)) if ending in LISTINGS else None


def list_columns(path: Path) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of a file's columns, and what its `Source` needs besides them to be read. Raises `UnreadableFile` if it is
    no table, its columns have no names, or nothing lists them.
    """
    ending = existing_file(path).suffix.lower().removeprefix(".")
    if ending in HEADERS:
        return _load(EntryPoint(ending, HEADERS[ending], GROUP))(path)
    listing = find_listing(path)
    columns = listing(path)[0].get("columns") if listing is not None else None
    if columns is None:
        if ending != RECORDING_ENDING[1:]:
            find_reader(path)  # says which endings are known
        raise UnreadableFile(f"{path}: nothing lists the columns of such a file; save it as .csv or .parquet")
    return tuple(columns), {}


def _load(listed: Any) -> Callable[[Any], Any]:
    """The function itself."""
    try:
        return listed.load()
    except (ImportError, AttributeError) as error:
        # One of ours that cannot be imported is a broken installation, and no fault of the file.
        if listed.value in READERS.values():
            raise
        raise UnreadableFile(
            f"the reader of .{listed.name} files, {listed.value}, cannot be imported: {error}"
        ) from error


def is_read_as_text(path: Path) -> bool:
    """Whether a row is a line of the file, by which a message can name it."""
    return READERS.get(path.suffix.lower().removeprefix(".")) == READERS["csv"]
