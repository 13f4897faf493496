"""MATLAB files of version 5 to 7 through SciPy, whose parser crashes on some damaged files (bus errors).

Version 7.3 is HDF5 and is refused with advice.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import UnreadableFile
from .parser import run_parser
from .readers import Reader
from .sources import Columns, NotedColumns, Source, column_not_found

COLUMN_NAME = re.compile(r"(?P<variable>[A-Za-z]\w*)(?P<fields>(?:\.[A-Za-z]\w*)*)(?:\[(?P<index>\d+)\])?")
"""`q`, `q[2]`, `log.q[2]`: a vector, a column of a matrix, a column of a field of a struct."""

# not squeezed: the matrix of a single sample must not look like a vector; `whosmat` fails where an object is beside
LOAD = """
import pickle
import scipy.io
content = scipy.io.loadmat(sys.argv[1], variable_names=sys.argv[2:], squeeze_me=False)
if not set(sys.argv[2:]) <= set(content):
    content = dict.fromkeys(scipy.io.loadmat(sys.argv[1]))
pickle.dump({key: value for key, value in content.items() if key[0] != "_"}, sys.stdout.buffer)
"""


def read_mat(source: Source) -> Columns:
    """The wanted columns of a MATLAB file."""
    path = Path(source.path)
    parsed = {name: _parse(path, name) for name in source.wanted}
    with path.open("rb") as file:
        if file.read(10) == b"MATLAB 7.3":
            raise UnreadableFile(f"{path} is a MATLAB file of version 7.3; save it with save(..., '-v7')")
    variables = sorted({match["variable"] for match in parsed.values()})
    # variable -> array; where one does not exist, the names of all that do
    content: dict[str, Any] = pickle.loads(run_parser(LOAD, path, "a MATLAB file", *variables))
    for variable in variables:
        if variable not in content:
            raise column_not_found(path, variable, content)
    columns = NotedColumns()
    for name, match in parsed.items():
        array = content[match["variable"]]
        for field in match["fields"].split(".")[1:]:
            fields = array.dtype.names or ()
            if array.size != 1 or field not in fields:
                hint = f": there is no single struct with a field {field!r}, but"
                raise column_not_found(path, str(name), fields, hint)
            # MATLAB saves a struct as a (1, 1) array of records.
            array = np.asarray(array.reshape(-1)[0][field])
        columns[name] = _column(path, str(name), array, match["index"], columns.notes)
    return columns


def _parse(path: Path, name: str | int) -> re.Match[str]:
    match = COLUMN_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise UnreadableFile(f'{path}: {name!r} names no MATLAB variable; write "q", "q[2]" or "log.q[2]"')
    return match


def _column(path: Path, name: str, array: np.ndarray, index: str | None, notes: list[str]) -> np.ndarray:
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        raise UnreadableFile(f"{path}: {name!r} is not a matrix of real numbers")
    if 1 < array.shape[0] < array.shape[1]:
        note = (
            f"{path.name}: {name.partition('[')[0]} is {array.shape[0]} x {array.shape[1]} and was transposed"
        )
        notes += [note] if note not in notes else []
        array = array.T
    if index is None:
        if min(array.shape) > 1:
            raise UnreadableFile(
                f"{path}: {name!r} is a matrix of {array.shape[0]} x {array.shape[1]}; "
                f'name one of its columns, "{name}[0]" to "{name}[{array.shape[1] - 1}]"'
            )
        return np.asarray(array, dtype=float).ravel()
    if int(index) >= array.shape[1]:
        raise UnreadableFile(
            f"{path}: {name!r} does not exist: the matrix has {array.shape[1]} columns, counted from 0"
        )
    return np.asarray(array[:, int(index)], dtype=float)


MATLAB = Reader(read_mat)
