"""`benchmarks/diagnosis.py` in small: one robot, five corruptions, ten clean recordings."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "diagnosis.py"
CASES = (
    "torque scale: x 1000",
    "angle unit: radians",
    "lost samples: 1 %",
    "sign: tau2",
    "torque is noise: white",
)


@pytest.fixture(scope="module")
def outcomes():
    if not SCRIPT.exists():
        pytest.skip("benchmarks/ is not in source distributions")
    command = [
        sys.executable,
        str(SCRIPT),
        "--robot",
        "arm",
        "--cases",
        ",".join(CASES),
        "--clean",
        "5",
        "--json",
        "-",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)["outcomes"]


def test_each_corruption_is_found_and_named(outcomes):
    corrupted = [each for each in outcomes if each["kind"] == "corrupted"]
    assert len(corrupted) == len(CASES)
    assert [each["case"] for each in corrupted if not (each["found"] and each["named"])] == []


def test_clean_recordings_raise_no_alarm(outcomes):
    clean = [each for each in outcomes if each["kind"] in ("clean", "rough")]
    assert len(clean) == 10
    assert [each["strength"] for each in clean if each["false_alarm"]] == []
