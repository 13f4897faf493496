"""The commands of the README run in order, in a fresh folder that holds the examples and nothing else.

`make dist` runs all of them with the command of the installed wheel, which the variable POINSOT names.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FENCES = re.findall(r"^```([a-z]*)\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
LINES = [
    line.split("  #")[0].strip()
    for language, block in FENCES
    for line in ("" if language else block).splitlines()
    if line.startswith("poinsot ")
]
FIRST = 3
"""Commands from a log to a page."""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    return tmp_path


@pytest.fixture
def command(poinsot):
    """Arguments -> exit code and stderr."""
    installed = os.environ.get("POINSOT")
    if installed is None:
        return lambda *arguments: poinsot(*arguments)[::2]

    def run_installed(*arguments):
        done = subprocess.run([installed, *arguments], capture_output=True, text=True, timeout=600)
        return done.returncode, done.stderr

    return run_installed


def run(command, lines):
    for line in lines:
        code, err = command(*shlex.split(line)[1:])
        assert code == 0, f"{line}: {err}"


def test_a_page_from_a_log(command, fresh):
    assert [shlex.split(line)[1] for line in LINES[:FIRST]] == ["new", "inspect", "identify"]
    run(command, LINES[:FIRST])
    assert (fresh / "results/report.html").is_file() and (fresh / "results/estimate.json").is_file()


@pytest.mark.slow
def test_all_commands(command, fresh):
    assert len(LINES) >= 6
    run(command, LINES)
