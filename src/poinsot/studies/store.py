"""Results of a study on disk: a line of JSON each, with its length and checksum before it.

    0000001a 5f3c9a10 ["draw 3", {"mass": 1.02}]

A line that a kill has cut is no record, and swallows none: the next one begins on a line of its own. Arrays keep every
bit, as the base64 text of an `.npy` file.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from .. import __version__

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "poinsot"
ARRAY = "npy"


class Store:
    """The finished tasks of one study.

    Args:
        name: name of the study.
        settings: everything that results depend on beside their task's name and poinsot's version.
        folder: folder of the file; None: the user's cache.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], folder: Path | None = None):
        text = json.dumps({"version": __version__, **settings}, sort_keys=True, default=str)
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = (folder or CACHE) / f"{name}-{mark}.jsonl"

    def read(self) -> dict[str, Any]:
        """Result of each task with a complete record; the first record of a task counts."""
        if not self.path.is_file():
            return {}
        done: dict[str, Any] = {}
        for line in self.path.read_bytes().split(b"\n"):
            record = line[18:]
            if line[:18] == _head(record):
                task, result = json.loads(record, object_hook=_array)
                done.setdefault(task, result)
        return done

    def add(self, task: str, result: Any) -> None:
        """Append the result of a task, in one write."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        record = json.dumps([task, result], default=_plain).encode()
        with self.path.open("a+b") as file:
            # after a kill in the middle of a record, this one must not be a part of it
            last = b"\n"
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                last = file.read(1)
            file.write((b"" if last == b"\n" else b"\n") + _head(record) + record + b"\n")

    def clear(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def write_parquet(self, path: Path) -> None:
        """Write finished results as a table: a column `task`, and one for each key of results that are mappings."""
        import polars as pl

        from ..io.writing import atomic_path

        rows = [
            {"task": task} | (dict(result) if isinstance(result, Mapping) else {"result": result})
            for task, result in self.read().items()
        ]
        with atomic_path(path) as temporary:
            pl.DataFrame(rows, infer_schema_length=None).write_parquet(temporary)


def _head(record: bytes) -> bytes:
    return b"%08x %08x " % (len(record), crc32(record))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        file = io.BytesIO()
        np.save(file, value, allow_pickle=False)
        return {ARRAY: base64.b64encode(file.getvalue()).decode()}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a result of a study has a {type(value).__name__}: give plain values and arrays")


def _array(value: dict[str, Any]) -> Any:
    if set(value) == {ARRAY} and isinstance(value[ARRAY], str):
        return np.load(io.BytesIO(base64.b64decode(value[ARRAY])), allow_pickle=False)
    return value
