"""JSON files of a schema, read so that whatever is wrong with one is a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..exceptions import UnreadableFile
from ..io.sources import existing_file
from ..models.servo.actuator import InvalidActuator

MAX_BYTES = 1 << 26


@contextmanager
def content_of(path: str | Path, schema: str, what: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The file that exists, and its content, to be taken apart inside.

    Args:
        schema: that it must have. what: it is, in words.

    Raises:
        UnreadableFile: if the file is too large, damaged, or another one, also where values are missing or wrong.
    """
    path = existing_file(Path(path))
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UnreadableFile(f"{path} is larger than {what} can be")
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("schema") != schema:
            raise UnreadableFile(
                f"{path} has the schema {str(content.get('schema'))[:40]!r}; this version reads {schema!r}"
            )
        yield path, content
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        InvalidActuator,
    ) as error:
        raise UnreadableFile(f"{path} is damaged, or no file of {what}: {error}") from None
