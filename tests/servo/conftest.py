"""What the tests of the servo distribution share."""

import importlib
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "servo/pyproject.toml"


@pytest.fixture
def servo_installed(tmp_path, monkeypatch):
    """The entry points of the distribution as its pyproject.toml has them, also in a checkout without installation."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    information = tmp_path / "site" / f"poinsot_servo-{project['version']}.dist-info"
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
