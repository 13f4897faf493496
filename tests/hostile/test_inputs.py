"""Damaged files for every reader: what fuzzing found before, and some thousand new ones (`make fuzz` has more)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").exists(), reason="benchmarks/ is not in source distributions"
)
sys.path.insert(0, str(ROOT / "benchmarks"))
if (ROOT / "benchmarks").exists():
    from support import hostile, hostile_inputs

FOUND = sorted((Path(__file__).parent / "corpus").glob("*/*"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_is_refused_in_one_sentence(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    target = hostile_inputs.TARGETS[path.parent.name]
    copy = tmp_path / f"input{target.suffix}"
    copy.write_bytes(path.read_bytes())
    outcome, said = hostile_inputs.answer(target, copy)
    assert outcome != "exception", said


@pytest.mark.parametrize(
    "name", ["csv", "parquet", "npz", "json-lines", "result", "toml", "urdf", "mjcf", "mcap", "bag"]
)
def test_new_inputs_succeed_or_are_refused(tmp_path, name):
    if name in ("mcap", "bag"):
        pytest.importorskip("rosbags")
    found = hostile.fuzz(60, 7, tmp_path, (name,))
    traces = [path.read_text() for path in (tmp_path / name).glob("*.trace")]
    assert found == {"fuzzed": 60, "fuzz_exceptions": 0, "fuzz_crashes": 0}, traces[:1]


def test_a_defect_and_a_crash_are_counted(tmp_path, monkeypatch):
    """The counts would be zero too if nothing were read."""
    script = tmp_path / "broken_inputs.py"
    script.write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
        "from dataclasses import replace\nfrom pathlib import Path\n"
        "from support import hostile_inputs as own\n"
        "def read(path):\n"
        "    size = path.stat().st_size\n"
        "    if size % 7 == 3: raise KeyError(size)\n"
        "    if size % 41 == 3: os.abort()\n"
        "own.TARGETS = {**own.TARGETS, 'csv': replace(own.TARGETS['csv'], read=read)}\n"
        "own.attack(sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))\n"
    )
    monkeypatch.setattr(hostile_inputs, "__file__", str(script))
    found = hostile.fuzz(300, 0, tmp_path / "found", ("csv",))
    # one size in 7 and one in 41, of sizes at random: within four standard deviations of 43 and 7
    assert 18 <= found["fuzz_exceptions"] <= 70
    assert 1 <= found["fuzz_crashes"] <= 18
