"""JSON Schemas of the outputs, against what verbs write. `conftest.py` checks every output of every other test."""

import json
import re
from pathlib import Path

import pytest

from poinsot.exceptions import InvalidMethod
from poinsot.schemas import NAMES, read_schema
from references.json_schema import assert_matches_its_schema, errors

ROOT = Path(__file__).parents[1]
ARM = ROOT / "examples/arm"


def keys_of(schema):
    """All keys of a schema, those of its parts too."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(keys_of, schema.values()))


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_documented(name):
    schema = read_schema(name)
    assert schema["title"] == f"poinsot.{name}/1"
    text = (ROOT / "docs/command_line.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    assert keys_of(schema) <= words


def test_a_schema_that_does_not_exist():
    with pytest.raises(InvalidMethod, match="no schema 'identfy'; did you mean 'identify'"):
        read_schema("identfy")


@pytest.mark.parametrize(
    "arguments",
    [
        ("identify", ARM / "job.toml"),
        ("identify", ARM / "physical.toml"),
        ("inspect", ARM / "job.toml"),
        ("track", ARM / "track.toml"),
        ("repair", ARM / "cad.urdf"),
    ],
    ids=lambda arguments: f"{arguments[0]}-{arguments[1].stem}",
)
def test_what_a_verb_writes_matches(arguments, poinsot, tmp_path):
    code, _, _ = poinsot(*arguments, "--json", tmp_path / "result.json")
    content = json.loads((tmp_path / "result.json").read_text())
    assert code == 0
    assert content["schema"] == f"poinsot.{arguments[0]}/1"
    assert_matches_its_schema(content)


def test_the_checker_finds_what_is_wrong():
    good = {"schema": "poinsot.repair/1", "description": "arm.urdf", "impossible": 0, "bodies": []}
    body = {"name": "a", "was_consistent": True, "reason": None, "distance": 0.0, "old": None, "new": None}
    schema = read_schema("repair")
    assert errors(good | {"bodies": [body]}, schema) == []
    for wrong in (
        good | {"schema": "poinsot.repair/2"},
        good | {"impossible": 0.5},
        good | {"impossible": True},
        good | {"more": 1},
        good | {"bodies": [body | {"distance": "near"}]},
        good | {"bodies": [{key: body[key] for key in body if key != "name"}]},
        good | {"bodies": [body | {"old": {"mass": float("nan")}}]},
    ):
        assert len(errors(wrong, schema)) == 1, wrong
