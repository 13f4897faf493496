"""What the tests of servo robots share."""

import importlib
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def servo_installed(tmp_path, monkeypatch):
    """The entry points of pyproject.toml as it is, also where an older one is installed."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    information = tmp_path / "site" / f"poinsot-{project['version']}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (information / "entry_points.txt").write_text("\n".join(groups))
    monkeypatch.syspath_prepend(tmp_path / "site")
    importlib.invalidate_caches()
