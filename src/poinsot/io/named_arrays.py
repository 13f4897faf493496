"""Files of named arrays: MATLAB 5 to 7 through SciPy, whose parser crashes on some damaged files, and NumPy's `.npz`.

A column is a vector `q`, a column of a matrix `q[2]`, or of a field of a struct `log.q[2]`. MATLAB's version 7.3 is
HDF5 and is refused with advice, and so is an array of Python objects, as reading it may run code. A recording that
poinsot wrote has a column for each channel, and `time`.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import UnreadableFile
from .npz import is_recording, read_npz
from .parser import run_parser
from .readers import RECORDING_ENDING, Reader
from .sources import Columns, NotedColumns, Source, column_not_found

COLUMN_NAME = re.compile(r"(?P<variable>[A-Za-z]\w*)(?P<fields>(?:\.[A-Za-z]\w*)*)(?:\[(?P<index>\d+)\])?")
"""`q`, `q[2]`, `log.q[2]`: a vector, a column of a matrix, a column of a field of a struct."""

# not squeezed: the matrix of a single sample must not look like a vector; `whosmat` fails where an object is beside
LOAD = """
import pickle
import scipy.io
content = scipy.io.loadmat(sys.argv[1], variable_names=sys.argv[2:] or None, squeeze_me=False)
if not set(sys.argv[2:]) <= set(content):
    content = dict.fromkeys(scipy.io.loadmat(sys.argv[1]))
pickle.dump({key: value for key, value in content.items() if key[0] != "_"}, sys.stdout.buffer)
"""


LOAD_NPZ = """
import pickle
import zipfile
import numpy
if not zipfile.is_zipfile(sys.argv[1]):
    raise ValueError("it is no archive of arrays")
with numpy.load(sys.argv[1], allow_pickle=False) as archive:
    names = sys.argv[2:] if set(sys.argv[2:]) <= set(archive.files) else ()
    try:
        content = {name: archive[name] if name in names or len(sys.argv) == 2 else None for name in archive.files}
    except ValueError:
        raise ValueError("an array holds Python objects, which are not read; save numbers") from None
matrices = {name: x if x is None or x.ndim > 1 else x.reshape(-1, 1) for name, x in content.items()}
pickle.dump(matrices, sys.stdout.buffer)
"""


def read_arrays(source: Source) -> Columns:
    """The wanted columns of a MATLAB or NumPy file."""
    path = Path(source.path)
    if (own := own_recording(path)) is not None:
        for name in source.wanted:
            if name not in own:
                raise column_not_found(path, name, own)
        return {name: own[str(name)] for name in source.wanted}
    parsed = {name: _parse(path, name) for name in source.wanted}
    variables = sorted({match["variable"] for match in parsed.values()})
    # variable -> array; where one does not exist, the names of all that do
    content = _load(path, variables)
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


def _load(path: Path, variables: Sequence[str] = ()) -> dict[str, Any]:
    """Name -> array of these variables, or of all."""
    if path.suffix.lower() == RECORDING_ENDING:
        content: dict[str, Any] = pickle.loads(run_parser(LOAD_NPZ, path, "arrays of numbers", *variables))
        return content
    with path.open("rb") as file:
        if file.read(10) == b"MATLAB 7.3":
            raise UnreadableFile(f"{path} is a MATLAB file of version 7.3; save it with save(..., '-v7')")
    content = pickle.loads(run_parser(LOAD, path, "a MATLAB file", *variables))
    return content


def own_recording(path: Path) -> dict[str, np.ndarray] | None:
    """Columns of a recording that poinsot wrote; None for another file."""
    if path.suffix.lower() != RECORDING_ENDING or not is_recording(path):
        return None
    recording = read_npz(path)
    return {"time": recording.time, **recording.channels}


def list_arrays(path: Path) -> tuple[dict[str, Any], str]:
    """Columns of the longest arrays, with a row for each sample, for scripts (`poinsot.columns/1`) and as text."""
    if (own := own_recording(path)) is not None:
        names = list(own)
    else:
        sizes: dict[str, tuple[int, int]] = {}
        arrays = list(_load(path).items())
        while arrays:
            name, x = arrays.pop(0)
            x = np.asarray(x)
            if x.dtype.names and x.size == 1:  # a struct
                arrays += [(f"{name}.{field}", x.reshape(-1)[0][field]) for field in x.dtype.names]
            elif x.dtype.kind in "biuf" and x.ndim == 2 and x.size and COLUMN_NAME.fullmatch(name):
                sizes[name] = max(x.shape), min(x.shape)
        longest = max(sizes.values(), default=(0, 0))[0]
        names = []
        for name, (length, width) in sizes.items():
            own_names = [name] if width == 1 else [f"{name}[{k}]" for k in range(width)]
            names += own_names if length == longest else []
    return {"schema": "poinsot.columns/1", "log": path.name, "columns": names}, "\n".join([path.name, *names])


def _parse(path: Path, name: str | int) -> re.Match[str]:
    match = COLUMN_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise UnreadableFile(f'{path}: {name!r} names no array; write "q", "q[2]" or "log.q[2]"')
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


ARRAYS = Reader(read_arrays, list_arrays)
