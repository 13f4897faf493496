"""Pictures of the documentation: each is shown somewhere, each that is shown is drawn, and drawing them works."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def drawn():
    """Names of all functions that `@picture` marks, without running them."""
    return [
        node.name
        for path in sorted(FOLDER.glob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(each, ast.Name) and each.id == "picture" for each in node.decorator_list)
    ]


def test_every_picture_is_shown_and_every_one_shown_is_drawn():
    names = drawn()
    shown = {name for page in PAGES for name in re.findall(r"pictures/(\w+)\.svg", page.read_text())}
    assert len(names) == len({*names}) >= 40
    assert shown == {*names}


def test_every_picture_has_a_text():
    for page in PAGES:
        for text in re.findall(r"!\[([^\]]*)\]\(", page.read_text()):
            assert len(text) > 20, page
        assert "![](" not in page.read_text()


def test_a_concept_page_has_a_picture():
    for page in sorted((ROOT / "docs" / "concepts").glob("*.md")):
        assert "/pictures/" in page.read_text(), page


def test_a_group_draws_legible_files(tmp_path):
    code = f"import build, pathlib; build.FOLDER = pathlib.Path({str(tmp_path)!r}); print(*build._draw('bodies'))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=FOLDER,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    for name in run.stdout.split():
        text = (tmp_path / name).read_text()
        assert text.startswith("<?xml") and "<text" in text  # searchable, not outlines
        assert "http://www.w3.org/2000/svg" in text
