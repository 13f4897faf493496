"""JSON Schema of every `--json` output: `identify.json`, `track.json`, ... beside this file.

`make schemas` writes them from `docs/json_schemas.py`.

>>> read_schema("identify")["properties"]["schema"]["const"]
'poinsot.identify/1'
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAMES = ("identify", "track", "inspect", "excite", "repair", "new", "predict", "export", "reproduce", "fleet")
"""Names of the outputs: of verbs, of `identify` for a fleet, and `export`, beside an exported description."""


def schema_file(name: str) -> Path:
    """The file that holds a schema of `NAMES`."""
    return Path(__file__).with_name(f"{name}.json")


def read_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an output of `NAMES`."""
    return dict(json.loads(schema_file(name).read_text(encoding="utf-8")))
