"""poinsot's own file format of a Recording, lossless: an uncompressed zip of NumPy arrays and a JSON header.

    header.json        {"schema": "poinsot.recording/1", "channels": [{"name", "unit", "masked"}], "metadata": {...}}
    time.npy           (T,) float64 [s]
    channel_0.npy      (T,) float64, one a channel, in the order of the header
    valid_0.npy        (T,) bool, where the channel is masked

`numpy.load` opens it too. Nothing is pickled, and since nothing is compressed no member is larger than the file.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from ..exceptions import InvalidRecording, UnreadableFile
from ..recording import Recording
from .writing import atomic_path

SCHEMA = "poinsot.recording/1"
_HEADER = "header.json"
DAMAGED = (
    *(zipfile.BadZipFile, OSError, EOFError, ValueError, LookupError, TypeError, RuntimeError),
    *(SyntaxError, TokenError, AttributeError, ArithmeticError, struct.error, zlib.error, MemoryError, SystemError),
)  # fmt: skip
"""Errors of the standard library and NumPy on damaged archives, with RecursionError and NotImplementedError."""


def write_recording(recording: Recording, path: str | Path) -> None:
    """Write a recording to `.npz`, complete or not at all.

    `metadata` must be valid JSON: text, numbers, booleans, None, lists and dictionaries of them (a tuple
    comes back as a list).

    Raises:
        InvalidRecording: if the metadata cannot be written.
        UnwritableOutput: if the file cannot.
    """
    channels = [
        {"name": name, "unit": recording.units[name], "masked": name in recording.valid}
        for name in recording.channels
    ]
    try:
        header = json.dumps({"schema": SCHEMA, "channels": channels, "metadata": dict(recording.metadata)})
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecording(f"the recording's metadata cannot be written: {error}") from None
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), header)
        _write_array(archive, "time", recording.time)
        for k, name in enumerate(recording.channels):
            _write_array(archive, f"channel_{k}", recording[name])
            if name in recording.valid:
                _write_array(archive, f"valid_{k}", recording.valid[name])


def is_recording(path: Path) -> bool:
    """Whether a file is an archive with the header of a recording; other archives hold arrays of somebody else."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _HEADER in archive.namelist()
    except DAMAGED:
        return False


def read_npz(path: Path) -> Recording:
    """Read what `write_recording` wrote; `UnreadableFile` if it did not, or the file is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            if _HEADER not in archive.namelist():
                raise UnreadableFile(f"{path} is not a recording that poinsot wrote: it has no {_HEADER}")
            header = json.loads(_member(archive, path, _HEADER))
            found = header.get("schema") if isinstance(header, dict) else None
            if found != SCHEMA:
                raise UnreadableFile(
                    f"{path} has the schema {found!r}; this version of poinsot reads {SCHEMA!r}"
                )
            channels, units, valid = {}, {}, {}
            for k, channel in enumerate(header["channels"]):
                name, units[name] = str(channel["name"]), str(channel["unit"])
                channels[name] = _read_array(archive, path, f"channel_{k}", np.dtype(float))
                if channel["masked"]:
                    valid[name] = _read_array(archive, path, f"valid_{k}", np.dtype(bool))
            time = _read_array(archive, path, "time", np.dtype(float))
            return Recording(time, channels, units, valid, header["metadata"])
    except UnreadableFile:
        raise
    except DAMAGED as error:
        raise UnreadableFile(f"{path} is damaged, or not a recording that poinsot wrote: {error}") from error


def _write_array(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    # A fixed date: the same recording gives the same bytes.
    with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def _read_array(archive: zipfile.ZipFile, path: Path, name: str, dtype: np.dtype[Any]) -> np.ndarray:
    # not `read_array`, which allocates the size in the header before checking that of the file
    content = BytesIO(_member(archive, path, f"{name}.npy"))
    np.lib.format.read_magic(content)
    shape, _, found = np.lib.format.read_array_header_1_0(content)
    values = content.read()
    if found != dtype or len(shape) != 1 or shape[0] * dtype.itemsize != len(values):
        raise UnreadableFile(f"{path} is damaged: {name} does not hold the {dtype} vector that it should")
    return np.frombuffer(values, dtype)


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> bytes:
    info = archive.getinfo(name)
    # A compressed member may be a bomb: a few bytes that fill the memory.
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > path.stat().st_size:
        raise UnreadableFile(f"{path} is not a recording that poinsot wrote: {name} is compressed")
    return archive.read(info)
