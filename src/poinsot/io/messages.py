"""Messages of ROS 1 and ROS 2: their definitions, and their bytes as dictionaries of numbers.

A definition lists fields, `float64[] position`, and after a line of `=` the message types that it contains. The bytes
are the fields in this order, little-endian. ROS 1 packs them; CDR, the encoding of ROS 2 (OMG DDS-XTypes, 7.4), aligns
every number to its size, counted from the end of a header of four bytes.

Neither the definition nor the bytes are trusted: nothing is compiled or executed, types that contain themselves are
refused, and as every element takes at least one byte, the work is bounded by the size of the message.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import UnreadableFile

MAX_DEFINITION = 1 << 20
"""Largest size of a definition. [characters]"""

MAX_FIELDS = 5000
MAX_DEPTH = 30
MAX_ARRAY = 1 << 24
_NUMBERS = {
    "bool": "?", "byte": "B", "char": "B", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
_TIMES = {"time": "II", "duration": "ii"}
_TIME_TYPES = {"builtin_interfaces/Time": "iI", "builtin_interfaces/Duration": "iI"}
"""Seconds and nanoseconds, which are read as one number [ns]."""

_SECTION = re.compile(r"^=+\s*\n\s*MSG:\s*(\S+)[^\n]*\n", re.MULTILINE)
_FIELD = re.compile(
    r"(?P<type>[A-Za-z][\w/]*)(?:<=\d+)?(?P<array>\[(?:<=)?\d*\])?\s+(?P<name>[A-Za-z]\w*)\s*(?P<rest>.*)"
)


@dataclass(frozen=True)
class Field:
    """A field of a message.

    Args:
        kind: of `number`, `time`, `string`, `message`.
        code: of the number, as in `struct`. type: name of the message type.
        count: None: one; -1: a sequence with its length before it; else an array of this length.
    """

    name: str
    kind: str
    code: str
    type: str
    count: int | None


Types = Mapping[str, tuple[Field, ...]]
"""Name of a message type, `package/Type` -> its fields."""


def parse_definition(text: str, name: str) -> Types:
    """The types of a definition with those that it contains.

    Args:
        text: as in a ROS 1 bag or an MCAP schema of encoding `ros1msg` or `ros2msg`.
        name: of the message type, `package/Type` or `package/msg/Type`.

    Raises:
        UnreadableFile: if it is no definition, or a type is missing or contains itself.
    """
    if len(text) > MAX_DEFINITION:
        raise UnreadableFile(f"the definition of {name} is longer than {MAX_DEFINITION} characters")
    parts = _SECTION.split(text.replace("\r", ""))
    texts = {_short(name): parts[0]}
    for key, part in zip(parts[1::2], parts[2::2], strict=True):
        texts.setdefault(_short(key), part)
    types: dict[str, tuple[Field, ...]] = {}

    def add(type_name: str, above: tuple[str, ...]) -> None:
        if type_name in above:
            raise UnreadableFile(f"the message type {type_name} contains itself")
        if len(above) > MAX_DEPTH:
            raise UnreadableFile(f"the message type {name} is nested more than {MAX_DEPTH} deep")
        if type_name in types:
            return
        fields = tuple(_fields(texts[type_name], type_name, texts))
        for field in fields:
            if field.kind == "message":
                add(field.type, (*above, type_name))
                # Elements without a byte would make the work unbounded.
                if not types[field.type]:
                    raise UnreadableFile(
                        f"{type_name}: {field.name!r} is of the type {field.type}, which has no field"
                    )
        types[type_name] = fields
        if sum(map(len, types.values())) > MAX_FIELDS:
            raise UnreadableFile(f"the message type {name} has more than {MAX_FIELDS} fields")

    add(_short(name), ())
    return types


def _short(name: str) -> str:
    """`package/Type` of `package/msg/Type`."""
    return name.replace("/msg/", "/")


def _fields(text: str, owner: str, known: Mapping[str, str]) -> Iterator[Field]:
    for raw in text.split("\n"):
        line = raw.partition("#")[0].strip()
        if not line or re.match(r"^string\S*\s+\w+\s*=", line):  # a constant
            continue
        found = _FIELD.fullmatch(line)
        if found is None:
            raise UnreadableFile(f"the definition of {owner} has the line {line[:60]!r}, which is no field")
        if found["rest"].startswith("="):
            continue
        array = found["array"]
        count = None
        if array is not None:
            digits = array[1:-1]
            count = int(digits) if digits.isdigit() else -1
            if count > MAX_ARRAY:
                raise UnreadableFile(f"{owner}: the array {found['name']!r} has {count} elements")
            if count == 0:
                continue
        yield Field(found["name"], *_kind(found["type"], owner, known), count)


def _kind(type_name: str, owner: str, known: Mapping[str, str]) -> tuple[str, str, str]:
    """Kind, code and message type of a field's type."""
    if type_name in _NUMBERS:
        return "number", _NUMBERS[type_name], ""
    if type_name in ("string", "wstring"):
        return "string", type_name, ""
    if type_name in _TIMES:
        return "time", _TIMES[type_name], ""
    name = _short(type_name)
    for each in (name, f"{owner.rpartition('/')[0]}/{name}", f"std_msgs/{name}"):
        if each in _TIME_TYPES:
            return "time", _TIME_TYPES[each], ""
        if each in known:
            return "message", "", each
    raise UnreadableFile(f"the definition of {owner} uses {type_name}, which it does not contain")


class _Cut(Exception):
    """The bytes end before the message does."""


@dataclass(frozen=True)
class Decoded:
    """A message as dictionaries.

    Args:
        fields: name -> number, time [ns], text, array of numbers, dictionary, or list of texts or dictionaries.
        shape: lengths of its sequences and the texts that may name elements: messages of one type and shape have the
            same numbers at the same places.
    """

    fields: dict[str, Any]
    shape: tuple[Any, ...]


def decoder(types: Types, name: str, encoding: str) -> Callable[[bytes], Decoded]:
    """A function that decodes messages.

    Args:
        types: from `parse_definition`. name: of the type.
        encoding: `"ros1"` or `"cdr"`.

    Raises:
        UnreadableFile: (the function) if the bytes are no such message.
    """
    root = _short(name)
    layouts: dict[Any, _Layout] = {}

    def decode(data: bytes) -> Decoded:
        try:
            reader = _Reader(data, types, encoding == "cdr", layouts)
            fields = reader.message(root)
        except (_Cut, struct.error, UnicodeDecodeError, ValueError) as error:
            raise UnreadableFile(
                f"a message of type {root} is damaged: {len(data)} bytes {error or 'end before it does'}"
            ) from None
        return Decoded(fields, tuple(reader.shape))

    return decode


@dataclass(frozen=True)
class _Layout:
    """Bytes of a type of numbers only, which lie alike in every message: many motors cost one call each.

    Args:
        numbers: all of them, with the bytes that align them.
        places: name of a field, index of its first number, and its count; None: it is no array.
    """

    numbers: struct.Struct
    places: tuple[tuple[str, int, int | None], ...]


class _Reader:
    """The position in the bytes of one message; `layouts` are those met so far."""

    def __init__(self, data: bytes, types: Types, aligned: bool, layouts: dict[Any, _Layout]):
        self.data, self.types, self.aligned, self.layouts = data, types, aligned, layouts
        self.order, self.start, self.largest = "<", 0, 8
        self.shape: list[Any] = []
        if aligned:
            if len(data) < 4 or data[1] not in (0, 1, 6, 7):
                raise _Cut("are not in an encoding that is known")
            # The last bit is the order of bytes; the second version of the encoding aligns to 4 at most.
            self.order, self.start = "<" if data[1] & 1 else ">", 4
            self.largest = 8 if data[1] < 2 else 4
        self.at = self.start

    def align(self, size: int) -> None:
        if self.aligned:
            self.at += -(self.at - self.start) % min(size, self.largest)

    def number(self, code: str) -> Any:
        size = struct.calcsize(code)
        self.align(size)
        (value,) = struct.unpack_from(self.order + code, self.data, self.at)
        self.at += size
        return value

    def time(self, code: str) -> int:
        """[ns]"""
        seconds, nanoseconds = self.number(code[0]), self.number(code[1])
        return int(seconds) * 1_000_000_000 + int(nanoseconds)

    def length(self, least: int) -> int:
        """Length of a sequence whose elements take at least so many bytes."""
        count = int(self.number("I"))
        if count * least > len(self.data) - self.at:
            raise _Cut
        return count

    def string(self, code: str) -> str:
        if code == "wstring":
            raise _Cut("hold a wstring, which is not read")
        count = self.length(1)
        raw = self.data[self.at : self.at + count]
        self.at += count
        return raw.rstrip(b"\0").decode("utf-8", errors="replace")

    def numbers(self, code: str, count: int) -> np.ndarray:
        size = struct.calcsize(code)
        if count:
            self.align(size)
        if count * size > len(self.data) - self.at:
            raise _Cut
        values = np.frombuffer(self.data, self.order + code, count, self.at)
        self.at += count * size
        return values

    def numbers_only(self, name: str) -> dict[str, Any]:
        """A message whose fields are numbers, and arrays of fixed length of them."""
        phase = (self.at - self.start) % self.largest if self.aligned else 0
        key = (name, phase, self.order, self.largest)
        if key not in self.layouts:
            self.layouts[key] = self.layout(name, phase)
        layout = self.layouts[key]
        values = layout.numbers.unpack_from(self.data, self.at)
        self.at += layout.numbers.size
        return {
            field: values[k] if count is None else np.array(values[k : k + count])
            for field, k, count in layout.places
        }

    def layout(self, name: str, phase: int) -> _Layout:
        code, places, k = "", [], 0
        for field in self.types[name]:
            size, count = struct.calcsize(field.code), 1 if field.count is None else field.count
            gap = -phase % min(size, self.largest) if self.aligned else 0
            code += f"{gap}x{count}{field.code}"
            places.append((field.name, k, field.count))
            phase, k = phase + gap + size * count, k + count
        return _Layout(struct.Struct(self.order + code), tuple(places))

    def message(self, name: str) -> dict[str, Any]:
        if self.types[name] and all(
            field.kind == "number" and field.count != -1 for field in self.types[name]
        ):
            return self.numbers_only(name)
        fields: dict[str, Any] = {}
        for field in self.types[name]:
            if field.count is None:
                fields[field.name] = value = self.one(field)
                if field.kind == "string" and field.name == "name":
                    self.shape.append(value)
                continue
            count = field.count
            if count < 0:
                count = self.length(1)
                self.shape.append(count)
            if field.kind == "number":
                fields[field.name] = self.numbers(field.code, count)
                continue
            if count > len(self.data) - self.at:
                raise _Cut
            fields[field.name] = values = [self.one(field) for _ in range(count)]
            if field.kind == "string":
                self.shape.extend(values)
        if self.aligned and not self.types[name]:
            self.at += 1  # an empty structure has a byte in ROS 2
        return fields

    def one(self, field: Field) -> Any:
        if field.kind == "number":
            return self.number(field.code)
        if field.kind == "time":
            return self.time(field.code)
        if field.kind == "string":
            return self.string(field.code)
        return self.message(field.type)
