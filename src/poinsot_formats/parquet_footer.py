"""Number of rows that a Parquet file claims, without a native parser.

A file ends with its metadata, their length and the mark `PAR1`. The metadata are a structure of Thrift's compact
protocol whose third field is the number of rows, behind the version and the schema, which are skipped:

    field     one byte: 4 bits that the number is higher by (0: it follows), 4 bits of the type
    integer   7 bits a byte, the lowest first; its sign is its lowest bit
    list      one byte: 4 bits of the length (15: it follows), 4 bits of the type of its elements

(Apache Parquet's `FileMetaData`, and Apache Thrift's `thrift-compact-protocol.md`.)
"""

from __future__ import annotations

import struct
from pathlib import Path

from poinsot.io.sources import existing_file

LONGEST = 1 << 24
"""Of the metadata that are read [bytes]: the schema of some hundred thousand columns."""

DEEPEST = 64
_STOP, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 0, 3, (4, 5, 6), 7, 8, (9, 10), 12
_ROWS = 3


def count_rows(path: Path) -> int:
    """Rows that a file claims to have; 0 if its end is no such metadata.

    Raises:
        UnreadableFile: if there is no such file.
    """
    size = existing_file(path).stat().st_size
    if size < 12:
        return 0
    with path.open("rb") as file:
        file.seek(size - 8)
        (length,), mark = struct.unpack("<I", file.read(4)), file.read(4)
        if mark != b"PAR1" or length > size - 12:
            return 0
        file.seek(size - 8 - length)
        metadata = _Compact(file.read(min(length, LONGEST)))
    try:
        return max(metadata.integer_field(_ROWS), 0)
    except IndexError:  # it ends too early
        return 0


class _Compact:
    """A position in bytes of Thrift's compact protocol."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def unsigned(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                return value

    def integer(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def field(self, number: int) -> tuple[int, int]:
        """Number and type of the next field, after one of this number."""
        byte = self.byte()
        kind = byte & 15
        if kind == _STOP:
            return number, kind
        return (number + (byte >> 4) if byte >> 4 else self.integer()), kind

    def integer_field(self, wanted: int) -> int:
        """An integer of this structure; 0 if it has no such one."""
        number = 0
        while True:
            number, kind = self.field(number)
            if kind == _STOP:
                return 0
            if number == wanted and kind in _INTEGERS:
                return self.integer()
            self.skip(kind, 0)

    def skip(self, kind: int, depth: int, *, in_list: bool = False) -> None:
        if depth > DEEPEST:
            raise IndexError
        if kind in (1, 2):  # of a field, the type is the value
            self.at += in_list
        elif kind == _BYTE:
            self.at += 1
        elif kind in _INTEGERS:
            self.unsigned()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            length = self.unsigned()
            self.at += length
        elif kind in _LISTS:
            byte = self.byte()
            count = byte >> 4 if byte >> 4 < 15 else self.unsigned()
            for _ in range(count):
                if self.at >= len(self.data):
                    raise IndexError
                self.skip(byte & 15, depth + 1, in_list=True)
        elif kind == _STRUCT:
            while (kind := self.field(0)[1]) != _STOP:
                self.skip(kind, depth + 1)
        else:  # maps are in no metadata of Parquet
            raise IndexError
