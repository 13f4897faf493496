"""Settings from TOML; Pydantic's findings -> one sentence with file, line and what would have worked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..exceptions import InvalidProject, nearest
from .toml import line_of, read_toml

T = TypeVar("T", bound=BaseModel)


def read_settings(kind: type[T], path: Path) -> T:
    """The settings in a TOML file.

    Raises:
        UnreadableFile: if there is no such file.
        InvalidProject: with the first mistake in the order of the file, its line, and how many more there are.
    """
    content, text = read_toml(path)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        details = error.errors(include_url=False)
    found = []
    for detail in details:
        keys = _existing(content, detail["loc"])
        # Pydantic says where the table is; what is wrong is the key that chooses among its kinds.
        if detail["type"] == "union_tag_invalid":
            keys.append(detail["ctx"]["discriminator"].strip("'"))
        extra = detail.get("ctx", {}).get("key")
        further = () if extra is None else extra if isinstance(extra, tuple) else (extra,)
        line = line_of(text, [*keys, *further])
        found.append((line, f"{_place(keys)}{_sentence(detail)}"))
    # In the order of the file; Pydantic lists them in the order of the classes.
    found.sort(key=lambda each: each[0])
    line, sentence = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise InvalidProject(f"{path}, line {line}: {sentence}{more}")


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
        "too_short": f"needs at least {context.get('min_length')} entries, and has {context.get('actual_length')}",
        "too_long": f"may have at most {context.get('max_length')} entries, and has {context.get('actual_length')}",
        "greater_than": f"must be greater than {context.get('gt')}, not {shown}",
        "greater_than_equal": f"must be at least {context.get('ge')}, not {shown}",
        "less_than": f"must be less than {context.get('lt')}, not {shown}",
        "less_than_equal": f"must be at most {context.get('le')}, not {shown}",
    }
    # A number or "auto": Pydantic only says what the text may be.
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
