"""Settings from TOML; an error is one sentence with file, line and correction.

The line of a key is found with the parser itself: it is the first line of the shortest beginning of the file that is
valid TOML and has the key.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..arrays import LARGEST, SMALLEST, is_plausible
from ..exceptions import InvalidProject, nearest
from ..io.sources import existing_file

T = TypeVar("T", bound=BaseModel)

LARGEST_FILE = 1 << 20
"""Largest size of a project file [bytes]."""

STATEMENT = re.compile(r"\s*(\[|[\w\"'-][^=]*=)")

MAX_DEPTH = 32
"""Largest depth of nested tables; settings have five."""

Keys = Sequence[str | int]
"""Path from the top: names of tables and keys, indices of arrays."""


def read_text(path: Path) -> str:
    """The text of a hand-written file."""
    if existing_file(path).stat().st_size > LARGEST_FILE:
        raise InvalidProject(
            f"{path} is larger than {LARGEST_FILE >> 20} MiB, too large for a hand-written file"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InvalidProject(f"{path}, line {line}: not text in UTF-8") from None
    except OSError as error:
        raise InvalidProject(f"cannot read {path}: {error.strerror or error}") from error
    # Lines are then counted alike for all editors.
    return text.replace("\r\n", "\n")


def read_settings(kind: type[T], path: Path) -> T:
    """The settings in a TOML file; the error is the first in the order of the file, with its line."""
    text = read_text(path)
    try:
        content = tomllib.loads(text)
    # Python itself raises an error for numbers with thousands of digits
    except ValueError as error:
        # the message of tomllib without the location
        what, _, place = str(error).rpartition(" (at ")
        found_line = re.match(r"line (\d+)", place)
        line = int(found_line[1]) if found_line else text.count("\n") + 1
        raise InvalidProject(f"{path}, line {line}: not valid TOML: {what or error}") from None
    # A thousand nested brackets are valid TOML.
    except RecursionError:
        raise InvalidProject(f"{path} is nested too deeply to be a project file") from None
    impossible, details = _impossible_numbers(content, path), []
    try:
        settings = kind.model_validate(content)
        if not impossible:
            return settings
    except ValidationError as error:
        details = error.errors(include_url=False)
    except ArithmeticError:
        if not impossible:
            raise
    must = f"must be 0 or of a size from {SMALLEST:g} to {LARGEST:g}"
    errors = [
        (line_of(text, keys), f"{_place(keys)}{must}, not {f'{value!r:.20}'}")
        for keys, value in impossible[:20]
        if not details
    ]
    # finding a line requires parsing, and a file may have thousands of errors
    for detail in details[:20]:
        keys = _existing(content, detail["loc"])
        # Pydantic locates the table; the error is in the key that selects its kind.
        if detail["type"] == "union_tag_invalid":
            keys.append(detail["ctx"]["discriminator"].strip("'"))
        extra = detail.get("ctx", {}).get("key")
        further = () if extra is None else extra if isinstance(extra, tuple) else (extra,)
        line = line_of(text, [*keys, *further])
        where = sorted({*_sections_with(kind, str(extra))}) if detail["type"] == "unknown_key" else ()
        lives = f"; {extra} is a key of {' and '.join(where)}" if where else ""
        errors.append((line, f"{_place(keys)}{_sentence(detail)}{lives}"))
    # In the order of the file: Pydantic lists errors in the order of the classes.
    errors.sort(key=lambda error: error[0])
    line, sentence = errors[0]
    more = f" (and {len(details or impossible) - 1} more)" if len(details or impossible) > 1 else ""
    raise InvalidProject(f"{path}, line {line}: {sentence}{more}")


def _impossible_numbers(content: dict[str, Any], path: Path) -> list[tuple[list[str | int], float]]:
    """Locations of finite numbers of an impossible size for any quantity; reject tables that are nested too deeply."""
    impossible: list[tuple[list[str | int], float]] = []
    waiting: list[tuple[list[str | int], Any]] = [([], content)]
    while waiting:
        keys, value = waiting.pop()
        if len(keys) > MAX_DEPTH:
            raise InvalidProject(f"{path} is nested too deeply to be a project file")
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += (([*keys, key], inside) for key, inside in inner)
        elif isinstance(value, int | float) and value == value and not is_plausible(value):
            impossible.append((keys, value))
    return impossible


def _sections_with(kind: type[BaseModel], key: str) -> Iterator[str]:
    """Sections of a file whose tables have a key."""
    for name, field in kind.model_fields.items():
        waiting: list[Any] = [field.annotation]
        while waiting:
            part = waiting.pop()
            waiting += get_args(part)
            if isinstance(part, type) and issubclass(part, BaseModel):
                waiting += part.__subclasses__()
                if key in part.model_fields:
                    yield f"[[{name}]]" if get_origin(field.annotation) is list else f"[{name}]"


def line_of(text: str, keys: Keys) -> int:
    """The line, counted from 1, on which a key of a valid TOML text is set; of its table where it is missing."""
    lines = text.split("\n")
    # A missing key has no line: the line of its table is used.
    content = tomllib.loads(text)
    while keys and len(_existing(content, keys)) < len(keys):
        keys = keys[:-1]
    # in a file too long for a hand-written one, use the first line with the key
    word = re.compile(rf"(?<![\w-])[\"']?{re.escape(str(keys[-1] if keys else ''))}[\"']?(?![\w-])")
    if not keys or len(text) > 1 << 16:
        return next((k + 1 for k, line in enumerate(lines) if keys and word.search(line)), 1)

    def present(count: int) -> bool:
        return len(_existing(_longest_valid(lines, count)[0], keys)) == len(keys)

    # More lines never remove a key, so bisection applies.
    last = bisect_left(range(len(lines) + 1), True, key=present)
    first = _longest_valid(lines, last - 1)[1]
    # The line with the key itself, among the lines of a statement: values may span several.
    return next((k + 1 for k in range(first, last) if word.search(lines[k])), first + 1)


def _longest_valid(lines: Sequence[str], count: int) -> tuple[dict[str, Any], int]:
    """The longest valid beginning of no more than `count` lines, and its length; none if it is far from there."""
    # a valid beginning ends before a statement, as values may span several lines
    ends = (k for k in range(count, 0, -1) if k == len(lines) or STATEMENT.match(lines[k]))
    for length in islice(ends, 20):
        try:
            return tomllib.loads("\n".join(lines[:length])), length
        except tomllib.TOMLDecodeError:
            continue
    return {}, 0


def _existing(content: Any, location: Sequence[str | int]) -> list[str | int]:
    """The part of Pydantic's location that is in the file: it names union members too."""
    keys: list[str | int] = []
    for key in location:
        if (isinstance(content, dict) and key in content) or (
            isinstance(content, list) and isinstance(key, int) and key < len(content)
        ):
            content = content[key]  # type: ignore[index]
            keys.append(key)
    return keys


def _place(keys: Sequence[str | int]) -> str:
    """`recordings[0].position: `; nothing at the top."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
    return f"{text}: " if text else ""


def _sentence(detail: ErrorDetails) -> str:
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    shown = f"{value!r:.60}"
    key = detail["loc"][-1] if detail["loc"] else ""
    sentences = {
        "missing": f"the key {key!r} is missing",
        "float_type": f"must be a number, not {shown}",
        "int_type": f"must be a whole number, not {shown}",
        "int_from_float": f"must be a whole number, not {shown}",
        "string_type": f"must be text in quotes, not {shown}",
        "bool_type": f"must be true or false, not {shown}",
        "list_type": f"must be a list in square brackets, not {shown}",
        "dict_type": f"must be a table, not {shown}",
        "finite_number": f"must be a finite number, not {shown}",
        "too_short": f"needs at least {context.get('min_length')} entries, but has {context.get('actual_length')}",
        "too_long": f"may have at most {context.get('max_length')} entries, and has {context.get('actual_length')}",
        "greater_than": f"must be greater than {context.get('gt')}, not {shown}",
        "greater_than_equal": f"must be at least {context.get('ge')}, not {shown}",
        "less_than": f"must be less than {context.get('lt')}, not {shown}",
        "less_than_equal": f"must be at most {context.get('le')}, not {shown}",
    }
    # A number or "auto": Pydantic names only the text.
    if kind == "literal_error" and context["expected"] == "'auto'":
        return f'must be a number or "auto", not {shown}'
    if kind == "literal_error":
        return _choice(str(value), str(context["expected"]))
    if kind == "union_tag_invalid":
        return _choice(str(context["tag"]), str(context["expected_tags"]).replace("', '", "' or '"))
    if kind == "union_tag_not_found":
        return f"the key {context['discriminator']} is missing"
    return sentences.get(kind, detail["msg"])


def _choice(value: str, expected: str) -> str:
    options = [option.strip(" '") for part in expected.split(" or ") for option in part.split(",")]
    return f"must be {expected}, not {value!r}{nearest(value, options)}"
