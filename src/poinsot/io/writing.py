"""Write files atomically: a file appears under its name when it is complete, or not at all.

Whatever cannot be written is an `UnwritableOutput`: a folder is missing, is none or is closed to writing, the disk is
full, or a name is too long or that of a folder. Temporary files are locked while their process lives: the next one that
writes there removes what a killed one left.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import file_digest
from os.path import isfile, samefile
from pathlib import Path
from shutil import copyfileobj
from tempfile import gettempdir

import numpy as np

from ..exceptions import UnwritableOutput

try:
    import fcntl
except ImportError:  # Windows: what a killed process left stays
    fcntl = None  # type: ignore[assignment]

TABLE_SUFFIXES = (".csv", ".parquet")
MAX_NAME, MAX_PATH = 255, 4000
"""Of a file and of its path with all folders; systems have 255 and 4095. [bytes]"""

TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}\.partial(\.\w*)?", re.DOTALL)


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; it becomes `path` when the block ends without an exception.

    The temporary name has the same suffix, which some writers need. An existing file at `path` is unchanged until
    then, and also if the block fails or is interrupted. Links are followed; devices and pipes are written to.
    """
    path = Path(path)
    check_writable(path)
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    folder = Path(gettempdir()) if _is_device(path) else target.parent
    # beside the target: `os.replace` is atomic within one file system; names end at 255 bytes
    temporary = folder / f".{path.stem[:50]}.{secrets.token_hex(4)}.partial{path.suffix}"
    _remove_abandoned(folder)
    lock: int | None = None
    try:
        lock = _locked(temporary, os.O_CREAT | os.O_EXCL)
        yield temporary
        if _is_device(path):
            with temporary.open("rb") as complete, path.open("wb") as device:
                copyfileobj(complete, device)
        else:
            os.replace(temporary, target)
    except OSError as error:
        raise UnwritableOutput(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        # After Ctrl-C too, so that nothing half-written is left behind.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _locked(path: Path, flags: int = 0) -> int | None:
    """An open file whose lock this process holds until it is closed; None if another process holds it."""
    opened = os.open(path, os.O_RDWR | flags, 0o666)
    try:
        if fcntl is not None:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        return None
    return opened


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files whose process is dead."""
    with suppress(OSError):
        for path in (folder / name for name in os.listdir(folder) if TEMPORARY.fullmatch(name) and fcntl):
            if (lock := _locked(path)) is not None:
                path.unlink()
                os.close(lock)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, complete or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_columns(columns: Mapping[str, np.ndarray], path: str | Path) -> None:
    """Write columns of equal length under their names, complete or not at all; CSV with a header and all digits."""
    path = Path(path)
    check_suffix(path)
    import polars as pl

    table = pl.DataFrame({name: np.ascontiguousarray(values) for name, values in columns.items()})
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".csv":
            table.write_csv(temporary)
        else:
            table.write_parquet(temporary)


def check_suffix(path: Path) -> None:
    """Check that the ending of the name is a known format."""
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise UnwritableOutput(
            f"cannot write {path}: its name has no known ending; use {' or '.join(TABLE_SUFFIXES)}"
        )


def check_writable(path: str | Path) -> None:
    """Check that a file can be written under this name."""
    path = Path(path)
    _check_length(path)
    if _is_device(path):
        if not os.access(path, os.W_OK):
            raise UnwritableOutput(f"cannot write {path}: no permission to write to it")
        return
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.exists():
        raise UnwritableOutput(f"cannot write {path}: there is no folder {folder}")
    if path.is_dir():
        raise UnwritableOutput(f"cannot write {path}: it is a folder")
    _check_open(folder, f"cannot write {path}")


def _check_length(path: Path) -> None:
    """Check that the system takes names of this length, with room for that of a temporary file beside it."""
    path = Path(os.path.abspath(path))
    if len(os.fsencode(path)) > MAX_PATH or max(len(os.fsencode(name)) for name in path.parts) > MAX_NAME:
        raise UnwritableOutput(f"cannot write {path}: the name is too long")


def _check_open(folder: Path, refusal: str) -> None:
    if not folder.is_dir():
        raise UnwritableOutput(f"{refusal}: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UnwritableOutput(f"{refusal}: no permission to write in {folder}")


def check_apart(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Refuse an output that is read, by whatever name or link; None is none, - standard output or standard input."""
    read = [path for path in ("/dev/stdin" if str(path) == "-" else path for path in inputs) if isfile(path)]
    for output in (each for each in outputs if each is not None):
        opened = "/dev/stdout" if str(output) == "-" else output
        if isfile(opened) and any(samefile(opened, path) for path in read):
            raise UnwritableOutput(
                f"cannot write {output}: it is read here, and would be lost; name another file"
            )


def _is_device(path: Path) -> bool:
    """Whether it is a device or a pipe, which must be written to and not replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def check_folder(folder: str | Path) -> None:
    """Check that a folder exists or can be created, and is writable. Creates nothing."""
    folder = Path(folder)
    _check_length(folder / ("x" * 100))  # of the files in it
    # The nearest folder above that exists is the one in which all others will be made.
    existing = next((parent for parent in (folder, *folder.absolute().parents) if parent.exists()), folder)
    _check_open(existing, f"cannot write to the folder {folder}")


def output_folder(folder: str | Path) -> Path:
    """Return the folder, created if it is missing."""
    folder = Path(folder)
    check_folder(folder)
    try:
        for each in reversed((folder, *folder.parents)):  # not `parents=True`, which calls itself
            each.mkdir(exist_ok=True)
    except OSError as error:
        raise UnwritableOutput(f"cannot create the folder {folder}: {error.strerror or error}") from error
    return folder


def write_own(writers: Mapping[str, Callable[[Path], object]], folder: Path, record: str) -> list[Path]:
    """Write files to a folder where only those are overwritten that this function wrote before.

    Args:
        writers: name, with folders, -> what writes the file. record: name of the file that lists what was written.

    Raises:
        UnwritableOutput: if a file stands there that is not in the record, or was changed since, or the record is
            damaged; nothing is written.
    """
    listed = folder / record
    try:
        known = dict(json.loads(listed.read_text(encoding="utf-8"))["files"]) if isfile(listed) else {}
    except (ValueError, LookupError, TypeError):
        raise UnwritableOutput(f"{listed} is damaged; remove it, or name another folder") from None
    for name in writers:
        if isfile(path := folder / name) and known.get(name) != _digest(path):
            raise UnwritableOutput(
                f"{path} is there, and was not written by this verb or was changed since; move it, or name another "
                "folder"
            )
    paths = [output_folder((folder / name).parent) / Path(name).name for name in writers]
    for path, write in zip(paths, writers.values(), strict=True):
        write(path)
    files = known | {name: _digest(path) for name, path in zip(writers, paths, strict=True)}
    write_text(listed, json.dumps({"schema": "poinsot.manifest/1", "files": files}, indent=1) + "\n")
    return paths


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
