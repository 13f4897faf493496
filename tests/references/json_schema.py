"""The part of JSON Schema that Pydantic writes for typed dictionaries, checked in the plainest way."""

import math
from functools import cache

from poinsot.schemas import read_schema

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
WORDS = {
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "const", "enum", "items", "maxItems", "minItems",
    "prefixItems", "properties", "required", "title", "type",
}  # fmt: skip


def errors(value, schema, root=None, where="result"):
    """What is wrong, a sentence each. Keys that the schema does not list are wrong here, although it allows them."""
    root = schema if root is None else root
    assert set(schema) <= WORDS, f"{where}: this checker does not know {set(schema) - WORDS}"
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        tried = [errors(value, each, root, where) for each in schema["anyOf"]]
        return [] if any(not each for each in tried) else min(tried, key=len)
    if "const" in schema and value != schema["const"]:
        return [f"{where} is {value!r}, not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where} is {value!r}, none of {schema['enum']}"]
    kind = schema.get("type")
    if kind is not None:
        kinds = [kind] if isinstance(kind, str) else kind
        named = "boolean" if isinstance(value, bool) else None
        if not any(each == named if named else isinstance(value, TYPES[each]) for each in kinds):
            return [f"{where} is {value!r:.60}, not of type {kind}"]
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{where} is {value}"]
    if kind == "object":
        return list(_object_errors(value, schema, root, where))
    if kind == "array":
        first = schema.get("prefixItems", [])
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            return [f"{where} has {len(value)} items"]
        items = [*first, *[schema.get("items", {})] * (len(value) - len(first))]
        return [
            error
            for k, (each, item) in enumerate(zip(value, items, strict=True))
            for error in errors(each, item, root, f"{where}[{k}]")
        ]
    return []


def _object_errors(value, schema, root, where):
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", None if known else {})
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where} has no {key!r}"
    for key, each in value.items():
        if key in known:
            yield from errors(each, known[key], root, f"{where}.{key}")
        elif others is None:
            yield f"{where} has {key!r}, which its schema does not list"
        elif isinstance(others, dict):
            yield from errors(each, others, root, f"{where}.{key}")


def assert_matches_its_schema(content):
    """The content of a `--json` output, by the schema that it names."""
    name = content["schema"].removeprefix("poinsot.").partition("/")[0]
    assert errors(content, _schema(name)) == []


_schema = cache(read_schema)
