"""`benchmarks/semidefinite_coverage.py` in small: 95 % intervals of masses hold true bodies drawn from the prior."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.parametrize("name", ["arm, coloured, few rows", "Panda, coloured, few rows"])
def test_intervals_of_masses_hold_the_truth(name, monkeypatch):
    if not BENCHMARKS.exists():
        pytest.skip("benchmarks/ is not in source distributions")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    study = importlib.import_module("semidefinite_coverage")
    sys.modules.pop("semidefinite_coverage")
    runs = 40
    inside = np.array([study.run(study.CASES[name], seed)[0] for seed in range(runs)])[..., 0]
    # masses of one arm depend on each other; as if there were one a recording, three standard deviations
    assert inside.mean() > 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
