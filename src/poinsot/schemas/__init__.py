"""JSON Schema of every `--json` output, computed from the types that are written.

    outputs      the keys of each output
    json_types   annotations of classes -> types of JSON

>>> read_schema("identify")["properties"]["schema"]["const"]
'poinsot.identify/1'
"""

from __future__ import annotations

from typing import Any

from ..exceptions import InvalidMethod, check_known

NAMES = ("identify", "track", "inspect", "excite", "repair", "new", "predict", "export", "reproduce", "fleet")
"""Names of the outputs: of verbs, of `identify` for a fleet, and `export`, beside an exported description."""


def read_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an output of `NAMES`. Raises `InvalidMethod` if there is no such output.

    Later versions add keys, so a schema allows keys that it does not list.
    """
    from typing import Literal

    from pydantic import TypeAdapter

    from .json_types import json_type
    from .outputs import OUTPUTS

    check_known(name, NAMES, "no schema", "there are", InvalidMethod, len(NAMES))
    title = f"poinsot.{name}/1"
    schema = TypeAdapter(json_type({"schema": Literal[title], **OUTPUTS[name]}, title)).json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_without_titles(schema),
        "title": title,
    }


def _without_titles(value: Any) -> Any:
    """The schema without the titles that Pydantic makes of names."""
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_titles(item) for key, item in value.items() if key != "title" or isinstance(item, dict)
    }
