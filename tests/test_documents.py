"""Documents run: every Python block of the README and of docs/, every example, and every name they mention.

The blocks of one document are run in order and share their variables. Paths are as seen from the project's root.
A block that needs a real recording says so in the line before it, an example in a comment:

    <!-- needs: ../shared/data/emps -->            # needs: ../shared/data/emps
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import poinsot

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>\S+) -->\n+)?^```python[^\n]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
NEEDS = re.compile(r"^# needs: (\S+)", re.MULTILINE)
MENTION = re.compile(r"\bpoinsot\.([A-Za-z_]\w*)\b(?!/)")  # not the schemas: poinsot.identify/1

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty folder in which relative paths lead where they lead from the project's root."""
    (tmp_path / "project").mkdir()
    (tmp_path / "shared").symlink_to(ROOT.parent / "shared")
    for name in ("examples", "docs"):
        (tmp_path / "project" / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path / "project")


def skip_if_missing(needed):
    if needed and not Path(needed).exists():
        pytest.skip(f"needs {needed}")


@each_document
def test_python_blocks_run(document, project, subtests):
    text = document.read_text()
    variables = {"__name__": "__main__"}
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        with subtests.test(line=line + 1):
            skip_if_missing(match["needs"])
            # The empty lines make a traceback point into the document.
            exec(compile("\n" * line + match["code"], document, "exec"), variables)


@each_document
def test_mentioned_names_exist(document):
    missing = {
        name
        for name in MENTION.findall(document.read_text())
        if not hasattr(poinsot, name) and importlib.util.find_spec(f"poinsot.{name}") is None
    }
    assert not missing


@each_example
def test_example_runs(example, project):
    needed = NEEDS.search(example.read_text())
    skip_if_missing(needed and needed[1])
    run = subprocess.run(
        [sys.executable, f"examples/{example.name}"],
        env={**os.environ, "PYTHONWARNINGS": "error"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", poinsot.__all__)
def test_public_name_imports(name):
    assert getattr(poinsot, name) is not None
