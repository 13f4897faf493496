"""Messages of ROS 1, ROS 2 and JSON as dictionaries of numbers.

`rosbags` parses the definition of a message type and compiles a decoder from it. The work that a definition may ask for
is limited before: types that contain themselves or are missing are refused, and so are arrays of many texts or
messages, for each of whose elements `rosbags` writes code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from keyword import kwlist
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import MissingExtra, UnreadableFile
from .containers import EXTRA, Topic

MAX_DEFINITION = 1 << 20
"""Maximum size of a definition. [characters]"""

MAX_FIELDS = 5000
MAX_DEPTH = 30
MAX_ARRAY, MAX_UNROLLED = 1 << 24, 4096
"""Maximum length of an array of numbers, and of all arrays of texts or messages in a definition together."""

_SECTION = re.compile(r"^=+[ \t]*\n\s*MSG:[ \t]*", re.MULTILINE)
_CONSTANT = re.compile(r"^[ \t]*\w\S*[ \t]+\w+[ \t]*=.*$", re.MULTILINE)
_COMMENT = re.compile(r"#.*$", re.MULTILINE)
_TIMES = ("builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration")
_SECOND = 1_000_000_000
_PLAIN = (float, int, bool, str)
_WORDS = {f"{word}_": word for word in kwlist}
"""Fields whose names are words of Python, to which `rosbags` appends a sign -> name in the definition."""


class Decoded(NamedTuple):
    """A message as dictionaries.

    Args:
        fields: name -> number, time [ns], text, array of numbers, dictionary, or list of texts or dictionaries.
        shape: lengths of its sequences and the texts that may name elements: messages of one type and shape have the
            same numbers at the same places.
    """

    fields: dict[str, Any]
    shape: tuple[Any, ...]


def message_decoder(topic: Topic) -> Callable[[bytes], Decoded]:
    """The decoder of a topic's messages.

    Raises:
        UnreadableFile: if messages of this encoding are not read, or the log does not define their type; of the
            decoder: if the bytes are no such message.
        MissingExtra: without the package `rosbags`.
    """
    if topic.encoding == "json":
        return _decode_json
    if topic.encoding not in ("cdr", "ros1"):
        raise UnreadableFile(
            f"{topic.name}: messages in {topic.encoding or 'an unnamed encoding'!r} are not read; "
            "those in cdr, ros1 and json are"
        )
    try:
        return _compiled(topic.definition, topic.type, topic.encoding)
    except ImportError as error:
        raise MissingExtra(EXTRA, error.name or "rosbags") from None
    except KeyError:
        raise UnreadableFile(f"{topic.name}: the log does not define the message type {topic.type}") from None


@lru_cache(maxsize=200)
def _compiled(definition: str, name: str, encoding: str) -> Callable[[bytes], Decoded]:
    """A decoder; `KeyError` if the log has no definition, and the type is none of ROS 2."""
    from rosbags.typesys import Stores, get_typestore

    root, store = full_name(name), get_typestore(Stores.LATEST if not definition else Stores.EMPTY)
    if not definition:  # bags from before ROS 2 Iron hold none
        if encoding != "cdr" or root not in store.fielddefs:
            raise KeyError(root)
    else:
        types = parse_definition(definition, name)
        try:
            store.register(types)
            store.get_msgdef(root)
        except Exception as error:
            raise UnreadableFile(
                f"the definition of {name} cannot be used: {type(error).__name__} {error}"
            ) from None
    read = store.deserialize_cdr if encoding == "cdr" else store.deserialize_ros1

    def decode(data: bytes) -> Decoded:
        shape: list[Any] = []
        try:
            return Decoded(_plain(read(data, root), shape), tuple(shape))
        except Exception as error:
            raise UnreadableFile(
                f"a message of type {name} is damaged, of {len(data)} bytes: {error or type(error).__name__}"
            ) from None

    return decode


def _decode_json(data: bytes) -> Decoded:
    shape: list[Any] = []
    try:
        content = json.loads(data, parse_int=_integer)
        if not isinstance(content, dict):
            raise ValueError("it is no object")
        return Decoded({key: _plain(value, shape) for key, value in content.items()}, tuple(shape))
    except (ValueError, RecursionError, OverflowError) as error:
        raise UnreadableFile(f"a message is not JSON of numbers: {error}") from None


def _integer(text: str) -> int:
    if abs(number := int(text)) >= 2**64:
        raise ValueError("it has a number of more than 64 bits")
    return number


def _plain(value: Any, shape: list[Any], depth: int = 0) -> Any:
    """A value of JSON, or of a message of `rosbags`, as `Decoded` has it.

    Args:
        value: number, text, None, list, array, dictionary or message.
        shape: list to which lengths, keys and texts that may name elements are added.
        depth: number of values that contain this one.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    if isinstance(value, np.ndarray):
        shape.append(len(value))
        return value
    if isinstance(value, list):
        shape.append(len(value))
        if value and all(number is None or isinstance(number, (int, float)) for number in value):
            return np.array([math.nan if number is None else number for number in value], dtype=float)
        return [_plain(element, shape, depth + 1) for element in value]
    if hasattr(value, "__msgtype__"):
        value = vars(value)
        value.pop("__msgtype__", None)
        if not _WORDS.keys().isdisjoint(value):
            value = {_WORDS.get(name, name): inner for name, inner in value.items()}
    if isinstance(value, dict):
        if len(value) == 2 and value.keys() in ({"sec", "nsec"}, {"sec", "nanosec"}):
            seconds, nanoseconds = value.values()
            if isinstance(seconds, int) and isinstance(nanoseconds, int):
                return seconds * _SECOND + nanoseconds
        shape.append((*value, value.get("name") if isinstance(value.get("name"), str) else None))
        return {
            key: inner if inner.__class__ in _PLAIN else _plain(inner, shape, depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, str):
        shape.append(value)
    return math.nan if value is None else value


# ---------------------------------------------------------------------------------------------------------- definitions


def full_name(name: str) -> str:
    """`package/msg/Type` of `package/Type`."""
    return name if "/msg/" in name else name.replace("/", "/msg/", 1)


def parse_definition(text: str, name: str) -> dict[str, Any]:
    """Name of a message type, `package/msg/Type` -> its definition as `rosbags` has it: constants and fields.

    Args:
        text: of the type and of those that it contains, as in a ROS 1 bag or an MCAP schema.
        name: of the message type, `package/Type` or `package/msg/Type`.

    Raises:
        UnreadableFile: if it is no definition, a type is missing or contains itself, or one of the limits is exceeded.
    """
    from rosbags.typesys import TypesysError, get_types_from_msg

    if len(text) > MAX_DEFINITION:
        raise UnreadableFile(f"the definition of {name} is longer than {MAX_DEFINITION} characters")
    # `rosbags` refuses names of constants that others allow, and takes lines of 80 signs only
    text = _COMMENT.sub("", _CONSTANT.sub("", text.replace("\r", "")))
    if len([line for line in text.splitlines() if line.strip()]) > MAX_FIELDS:
        raise UnreadableFile(f"the message type {name} has more than {MAX_FIELDS} fields")
    try:
        types = get_types_from_msg(_SECTION.sub(f"{'=' * 80}\nMSG: ", text), name)
    except TypesysError as error:
        line = [*str(error).split("\n"), "", ""][3]
        raise UnreadableFile(
            f"the definition of {name} has the line {line[:60]!r}, which is no field"
        ) from None
    _check_type(types, full_name(name), (), {})
    return types


def _check_type(
    types: Mapping[str, Any], name: str, above: tuple[str, ...], unrolled: dict[str, int]
) -> None:
    """Check a type and those that it contains.

    Args:
        types, name: as of `parse_definition`.
        above: the types that contain it.
        unrolled: checked type -> number of elements of its arrays of texts and messages.
    """
    from rosbags.interfaces import Nodetype

    short, owner = (each.replace("/msg/", "/") for each in (name, above[-1] if above else ""))
    if name in above:
        raise UnreadableFile(f"the message type {short} contains itself")
    if len(above) > MAX_DEPTH:
        raise UnreadableFile(f"the message type {above[0]} is nested more than {MAX_DEPTH} deep")
    if name in unrolled or name in _TIMES:
        return
    if name not in types:
        raise UnreadableFile(f"the definition of {owner} uses {short}, which it does not contain")
    # Elements without a byte would make the work unbounded.
    if not types[name][1] and above:
        raise UnreadableFile(f"{owner} has a field of the type {short}, which has no field")
    unrolled[name] = 0
    for field, (node, detail) in types[name][1]:
        inner, of = detail[0] if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (node, detail)
        if node == Nodetype.ARRAY:
            unrolled[name] += detail[1] if inner == Nodetype.NAME or of[0] == "string" else 0
            if detail[1] > MAX_ARRAY or sum(unrolled.values()) > MAX_UNROLLED:
                raise UnreadableFile(f"{short}: the array {field!r} has {detail[1]} elements")
        if inner == Nodetype.NAME:
            _check_type(types, of, (*above, name), unrolled)
