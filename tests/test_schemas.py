"""JSON Schema files: those of the description, and what the verbs write. `conftest.py` checks every other output."""

import importlib
import json
import re
from pathlib import Path

import pytest

from poinsot.schemas import NAMES, read_schema, schema_file
from references.json_schema import assert_matches_its_schema, errors

ROOT = Path(__file__).parents[1]
ARM = ROOT / "examples/arm"


@pytest.fixture
def description(monkeypatch):
    """The module in docs/ that describes all outputs; the wheel does not contain it."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("json_schemas")


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_that_of_the_description(name, description):
    assert schema_file(name).read_text(encoding="utf-8") == description.schema_text(name), (
        "run `make schemas`"
    )
    assert read_schema(name)["title"] == f"poinsot.{name}/1"


def test_every_file_is_listed():
    assert {path.stem for path in schema_file("identify").parent.glob("*.json")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_documented(name):
    schema = read_schema(name)
    text = (ROOT / "docs/command_line.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    keys = {key for each in (schema, *schema.get("$defs", {}).values()) for key in each.get("properties", {})}
    assert keys <= words


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
