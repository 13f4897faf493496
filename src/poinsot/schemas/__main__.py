"""Write the JSON Schema files: `python -m poinsot.schemas`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from . import NAMES, results, schema_file


def schema_text(name: str) -> str:
    """The content of the schema file of an output of `NAMES`."""
    found = _shortened(TypeAdapter(getattr(results, name.capitalize())).json_schema())
    title = found["properties"]["schema"]["const"]
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": title}
    return json.dumps(content, indent=1) + "\n"


def _shortened(value: Any) -> Any:
    """Drop the titles that Pydantic makes of names, and write "a number or null" in one line."""
    if isinstance(value, list):
        return [_shortened(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("anyOf") == [{"type": "number"}, {"type": "null"}]:
        return {"type": ["number", "null"]}
    return {
        key: _shortened(each) for key, each in value.items() if key != "title" or not isinstance(each, str)
    }


if __name__ == "__main__":
    for each in NAMES:
        schema_file(each).write_text(schema_text(each), encoding="utf-8")
