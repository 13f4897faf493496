"""TOML with places: the line of every key, so that a sentence can say where to look.

The line of a key is found with the parser itself: it is the first line of the shortest beginning of the file that is
valid TOML and has the key.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..exceptions import InvalidProject
from ..io.sources import existing_file

LARGEST_FILE = 1 << 20
"""A project file is written by hand. [bytes]"""

Keys = Sequence[str | int]
"""From the top: names of tables and keys, indices of arrays."""


def read_text(path: Path) -> str:
    """The text of a file that is written by hand.

    Raises:
        UnreadableFile: if there is no such file.
        InvalidProject: if it is too large for that, or not text, with the line.
    """
    if existing_file(path).stat().st_size > LARGEST_FILE:
        raise InvalidProject(
            f"{path} is larger than {LARGEST_FILE >> 20} MiB, too large for a page that is written by hand"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InvalidProject(f"{path}, line {line}: not text in UTF-8") from None
    except OSError as error:
        raise InvalidProject(f"cannot read {path}: {error.strerror or error}") from error
    # So that lines are counted alike, whatever the editor.
    return text.replace("\r\n", "\n")


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """The content of a TOML file, and its text.

    Raises:
        UnreadableFile: if there is no such file.
        InvalidProject: if it is not TOML, with the line.
    """
    text = read_text(path)
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        what, line = _syntax_error(str(error), text)
        raise InvalidProject(f"{path}, line {line}: not valid TOML: {what}") from None
    # A thousand brackets in a row are valid TOML.
    except RecursionError:
        raise InvalidProject(f"{path} is nested too deeply to be a project file") from None


def line_of(text: str, keys: Keys) -> int:
    """The line, counted from 1, on which a key of a valid TOML text is set; of its table where it is missing."""
    lines = text.split("\n")
    # A key that is missing has no line: its table has.
    while keys and not _has(tomllib.loads(text), keys):
        keys = keys[:-1]
    if not keys:
        return 1

    def present(count: int) -> bool:
        return _has(_longest_valid(lines, count)[0], keys)

    # More lines never lose a key, so it can be searched by halves.
    last = bisect_left(range(len(lines) + 1), True, key=present)
    first = _longest_valid(lines, last - 1)[1]
    # Of the lines of the statement, the one with the key itself: values may run over many.
    word = re.compile(rf"(?<![\w-])[\"']?{re.escape(str(keys[-1]))}[\"']?(?![\w-])")
    return next((k + 1 for k in range(first, last) if word.search(lines[k])), first + 1)


def _longest_valid(lines: Sequence[str], count: int) -> tuple[dict[str, Any], int]:
    """The longest valid beginning of no more than `count` lines, and its length."""
    for length in range(count, 0, -1):
        try:
            return tomllib.loads("\n".join(lines[:length])), length
        except tomllib.TOMLDecodeError:
            continue
    return {}, 0


def _has(content: Any, keys: Keys) -> bool:
    for key in keys:
        known = (
            content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
        )
        if key not in known:
            return False
        content = content[key]
    return True


def _syntax_error(message: str, text: str) -> tuple[str, int]:
    """What tomllib says without its place, and the line."""
    what, _, place = message.rpartition(" (at ")
    if found := re.match(r"line (\d+)", place):
        return what, int(found[1])
    return (what or message), text.count("\n") + 1
