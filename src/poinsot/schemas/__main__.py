"""Write the JSON Schema files: `python -m poinsot.schemas`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from . import NAMES, results, schema_file


def schema_text(name: str) -> str:
    """The content of the schema file of an output of `NAMES`."""
    found = TypeAdapter(getattr(results, name.capitalize())).json_schema()
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **_shortened(found)}
    return json.dumps({**content, "title": content["properties"]["schema"]["const"]}, indent=1) + "\n"


def _shortened(value: object) -> dict[str, Any]:
    """Drop the titles that Pydantic makes of names, and write "a number or null" in one line."""

    def clean(item: object) -> object:
        if isinstance(item, list):
            return [clean(each) for each in item]
        if not isinstance(item, dict):
            return item
        if item.get("anyOf") == [{"type": "number"}, {"type": "null"}]:
            return {"type": ["number", "null"]}
        return {key: clean(each) for key, each in item.items() if key != "title" or not isinstance(each, str)}

    cleaned = clean(value)
    assert isinstance(cleaned, dict)
    return cleaned


if __name__ == "__main__":
    for each in NAMES:
        schema_file(each).write_text(schema_text(each), encoding="utf-8")
