"""MATLAB files of version 5 to 7 through SciPy; version 7.3 is HDF5 and is refused with advice."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import scipy.io

from ..exceptions import UnreadableFile
from .sources import Columns, Source, column_not_found

COLUMN_NAME = re.compile(r"(?P<variable>[A-Za-z]\w*)(?P<fields>(?:\.[A-Za-z]\w*)*)(?:\[(?P<index>\d+)\])?")
"""`q`, `q[2]`, `log.q[2]`: a vector, a column of a matrix, a column of a field of a struct."""


def read_mat(source: Source) -> Columns:
    """The wanted columns of a MATLAB file.

    Raises:
        UnreadableFile: with what would have worked.
    """
    path = Path(source.path)
    parsed = {name: _parse(path, name) for name in source.wanted}
    variables = sorted({match["variable"] for match in parsed.values()})
    try:
        available = [name for name, _, _ in scipy.io.whosmat(path)]
        # Not squeezed: the matrix of a single sample must not look like a vector.
        content = scipy.io.loadmat(path, variable_names=variables, squeeze_me=False)
    except NotImplementedError:
        raise UnreadableFile(
            f"{path} is a MATLAB file of version 7.3; save it with save(..., '-v7')"
        ) from None
    except Exception as error:  # SciPy's parser raises any error on damaged files
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UnreadableFile(f"{path} cannot be read as a MATLAB file: {reason}") from error
    columns = {}
    for name, match in parsed.items():
        if match["variable"] not in content:
            raise column_not_found(path, match["variable"], available)
        array = content[match["variable"]]
        for field in match["fields"].split(".")[1:]:
            array = _field(path, str(name), array, field)
        columns[name] = _column(path, str(name), array, match["index"])
    return columns


def _parse(path: Path, name: str | int) -> re.Match[str]:
    match = COLUMN_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise UnreadableFile(f'{path}: {name!r} names no MATLAB variable; write "q", "q[2]" or "log.q[2]"')
    return match


def _field(path: Path, name: str, array: np.ndarray, field: str) -> np.ndarray:
    fields = array.dtype.names or ()
    if array.size != 1 or field not in fields:
        raise column_not_found(path, name, fields, f": there is no single struct with a field {field!r}, but")
    # MATLAB saves a struct as a (1, 1) array of records.
    return np.asarray(array.reshape(-1)[0][field])


def _column(path: Path, name: str, array: np.ndarray, index: str | None) -> np.ndarray:
    if array.dtype.kind not in "biuf" or array.ndim != 2:
        raise UnreadableFile(f"{path}: {name!r} is not a matrix of real numbers")
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
