"""The readers of files, by the ending of their names.

A format is one `Reader`: what reads the columns of a file, and where the format has it, what lists the contents of a
file, and what reads a file in blocks. Units, rows, clocks and missing values are handled by `reading`, the same for all
formats. To add a format, write its reader in a file of its own and list it here; another distribution lists its reader
as an entry point instead,

    [project.entry-points."poinsot.readers"]
    ticks = "my_package:TICKS"           # for names that end in .ticks

The modules are imported when a file of theirs is read, as Polars and SciPy take their time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..exceptions import UnreadableFile
from ..lazy import load, plugins
from .sources import Columns, Source, existing_file

if TYPE_CHECKING:
    from .block_log import UniformLog

GROUP = "poinsot.readers"
"""The group of entry points."""


@dataclass(frozen=True)
class Reader:
    """What reads the files of one format.

    Args:
        read_columns: returns the columns `source.wanted` as numbers; raises `UnreadableFile` with what would have
            worked.
        list_contents: returns the content of a file for scripts, and as text, as `poinsot inspect` shows it. Of the
            content, `"columns"` has the names of all columns, and `"source"` the keys of `Source` that reading them
            needs. None if the format has no names of columns.
        open_blocks: class that reads a recording in several files, longer than memory, in blocks; None if none does.
    """

    read_columns: Callable[[Source], Columns]
    list_contents: Callable[[Path], tuple[Mapping[str, Any], str]] | None = None
    open_blocks: type[UniformLog] | None = None


READERS: Mapping[str, str] = {
    **dict.fromkeys(("csv", "tsv", "txt", "dat"), "poinsot.io.tabular:TEXT"),
    **dict.fromkeys(("parquet", "pq"), "poinsot.io.parquet:PARQUET"),
    **dict.fromkeys(("mat", "npz"), "poinsot.io.named_arrays:ARRAYS"),
    **dict.fromkeys(("bag", "db3"), "poinsot.io.message_columns:BAG"),
    **dict.fromkeys(("mcap", "yaml"), "poinsot.io.message_log:MCAP"),  # metadata.yaml of a ROS 2 bag
    **dict.fromkeys(
        ("json", "jsonl", "ndjson"), "poinsot.io.records:JSON"
    ),  # and a LeRobot data set's meta/info.json
}
"""Ending, without its dot -> module and `Reader`."""

RECORDING_ENDING = ".npz"
"""Ending of poinsot's own files, which bring channels, units and clock (`npz`)."""


def find_reader(path: Path) -> Reader:
    """The reader for a file's ending; poinsot's own come before those of other distributions.

    Raises:
        UnreadableFile: if the ending is unknown, or its reader cannot be imported or is none.
    """
    ending = _ending(path)
    if ending in READERS:
        reader: Any = load(READERS[ending])
        return reader
    others = _others()
    if ending not in others:
        raise UnreadableFile(
            f"{path}: files ending in {path.suffix.lower() or 'nothing'!r} are unknown; "
            f"known are {', '.join(f'.{name}' for name in (*READERS, *sorted(others)))}"
        )
    name = others[ending].value
    try:
        reader = others[ending].load()
    except (ImportError, AttributeError) as error:
        raise UnreadableFile(f"the reader of .{ending} files, {name}, cannot be imported: {error}") from error
    if not isinstance(reader, Reader):
        raise UnreadableFile(f"{name}, listed for .{ending} files, must be a poinsot.Reader")
    return reader


def is_known(path: Path) -> bool:
    """Whether there is a reader for a file's ending."""
    return _ending(path) in READERS or _ending(path) in _others()


def _ending(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def _others() -> dict[str, EntryPoint]:
    """Ending -> entry point of another distribution; reads the metadata of every installed distribution."""
    return {point.name: point for point in plugins(GROUP) if point.name not in READERS}


class ListedColumns(NamedTuple):
    """`names` of a file's columns. `source`: keys of `Source` that reading them needs. `units`: column -> unit as a
    line of the file names it. `episodes`: of a data set, whose columns begin with the number of one, as `/0/`.
    """

    names: tuple[str, ...]
    source: Mapping[str, Any]
    units: Mapping[str, str]
    episodes: int


def list_columns(path: Path) -> ListedColumns:
    """The columns of a file, of a data set those of its first episode.

    Raises:
        UnreadableFile: if the file is no table, or its columns have no names.
    """
    if (contents := find_reader(existing_file(path)).list_contents) is not None:
        content, _ = contents(path)
        facts = content.get("source", {}), content.get("units", {}), content.get("episodes", 1)
        return ListedColumns(tuple(content["columns"]), *facts)
    raise UnreadableFile(f"{path}: nothing lists the columns of such a file; save it as .csv or .parquet")


def is_read_as_text(path: Path) -> bool:
    """Whether a row is a line of the file, by which a message can name it."""
    return READERS.get(_ending(path)) == READERS["csv"]
