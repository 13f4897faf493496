"""Readers are found by the ending of a file's name: those of other distributions, and poinsot's own first."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot import cli
from poinsot.exceptions import UnreadableFile
from poinsot.io.readers import find_reader, list_columns

GUIDE = Path(__file__).parents[2] / "docs/extend/reader.md"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution: its one module, and the readers that it lists."""
    monkeypatch.syspath_prepend(tmp_path / "site")

    def install(module, code, readers):
        information = tmp_path / "site" / f"{module}-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(f"[poinsot.readers]\n{readers}\n")
        (information.parent / f"{module}.py").write_text(code)
        monkeypatch.delitem(importlib.sys.modules, module, raising=False)
        importlib.invalidate_caches()

    return install


def write_ticks(path):
    np.array([[0.0, 90.0, 2.0], [5.0, 180.0, 2.5], [10.0, 0.0, 3.0]]).tofile(path)
    return path


def read_ticks(path, column="angle"):
    return poinsot.read_recording(path, {"position.elbow": (column, "deg")}, time=("ticks", "ms"))


def test_the_reader_of_the_guide_works_once_it_is_installed(install, tmp_path, capsys):
    """A table, its listing, and a log in blocks, from one file and one entry point."""
    text = GUIDE.read_text()
    code = re.search(r"```python\n(# poinsot_ticks.py\n.*?)```", text, re.DOTALL)[1]
    listed = re.search(r'```ini\n\[project.entry-points."poinsot.readers"\]\n(.*?)```', text, re.DOTALL)[1]
    path = write_ticks(tmp_path / "log.ticks")
    with pytest.raises(UnreadableFile, match=r"files ending in '\.ticks' are unknown"):
        read_ticks(path)
    install("poinsot_ticks", code, listed.replace('"', ""))
    recording = read_ticks(path)
    np.testing.assert_allclose(recording["position.elbow"], [np.pi / 2, np.pi, 0.0])
    np.testing.assert_allclose(recording.time, [0.0, 0.005, 0.01])
    with pytest.raises(UnreadableFile, match="it has ticks, angle, torque"):
        read_ticks(path, "speed")
    with pytest.raises(UnreadableFile, match=r"known are .*\.csv.*\.npz.*\.ticks"):
        read_ticks(write_ticks(tmp_path / "log.tocks"))
    assert list_columns(path).names == ("ticks", "angle", "torque")
    assert cli.main(["inspect", str(path)]) == 0
    assert "angle" in capsys.readouterr().out
    log = poinsot.open_log([path, path_after(path)], {"position.elbow": ("angle", "deg")}, ("ticks", "ms"))
    assert len(log) == 6
    np.testing.assert_allclose(log.read(2, 5)["position.elbow"], [0.0, np.pi / 2, np.pi])


def path_after(path):
    """A file with the rows that follow."""
    later = path.with_name("later.ticks")
    np.add(np.fromfile(path).reshape(-1, 3), [15.0, 0.0, 0.0]).tofile(later)
    return later


def test_other_distributions_do_not_replace_poinsots_readers(install):
    install("poinsot_thief", "", "csv = poinsot_thief:read")
    assert find_reader(Path("a.csv")).read_columns.__module__ == "poinsot.io.tabular"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import no_such_library\n", r"reader of \.broken files, poinsot_broken:READ, .*no_such_library"),
        (
            "def READ(source): pass\n",
            r"poinsot_broken:READ, listed for \.broken files, must be a poinsot\.Reader",
        ),
    ],
)
def test_a_reader_that_cannot_be_used_is_named(install, code, sentence):
    install("poinsot_broken", code, "broken = poinsot_broken:READ")
    with pytest.raises(UnreadableFile, match=sentence):
        find_reader(Path("a.broken"))
