"""Readers are found by the ending of a file's name, poinsot's own and those of other distributions."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot.exceptions import UnreadableFile
from poinsot.io.readers import READERS, find_reader, is_read_as_text

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
        importlib.invalidate_caches()

    return install


def write_ticks(path):
    np.array([[0.0, 90.0, 2.0], [5.0, 180.0, 2.5], [10.0, 0.0, 3.0]]).tofile(path)
    return path


def read_ticks(path, column="angle"):
    return poinsot.read_recording(path, {"position.elbow": (column, "deg")}, time=("ticks", "ms"))


def test_the_reader_of_the_guide_works_once_it_is_installed(install, tmp_path):
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
    with pytest.raises(UnreadableFile, match=r"known are .*\.csv.*\.ticks.*, \.npz"):
        read_ticks(write_ticks(tmp_path / "log.tocks"))


def test_other_distributions_do_not_replace_poinsots_readers(install):
    install("poinsot_thief", "", "csv = poinsot_thief:read")
    assert find_reader(Path("a.csv")).__module__ == "poinsot.io.tabular"


def test_a_reader_that_cannot_be_imported_is_named(install):
    install("poinsot_broken", "import no_such_library\n", "broken = poinsot_broken:read")
    with pytest.raises(
        UnreadableFile, match=r"reader of \.broken files, poinsot_broken:read, .*no_such_library"
    ):
        find_reader(Path("a.broken"))


@pytest.mark.parametrize("ending", READERS)
def test_every_listed_reader_exists_and_capitals_do_not_matter(ending):
    assert callable(find_reader(Path(f"A.{ending.upper()}")))
    assert is_read_as_text(Path(f"a.{ending}")) == (ending in ("csv", "tsv", "txt", "dat"))
