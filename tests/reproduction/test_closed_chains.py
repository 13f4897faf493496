"""The case of closed chains in short: accelerations as MuJoCo's, intervals that hold the truth, a page."""

import json

import numpy as np
import pytest

from poinsot_reproductions.optimal_estimation import loops


@pytest.mark.parametrize("mechanism", loops.MECHANISMS, ids=lambda each: each.name)
def test_accelerations_are_those_of_mujoco(mechanism):
    assert loops.acceleration_error(mechanism, np.random.default_rng(11)) < 1e-6


@pytest.fixture(scope="module")
def result():
    return loops.run(12, quick=True)


@pytest.mark.slow
def test_intervals_hold_the_truth(result):
    for mechanism in loops.MECHANISMS:
        figures = result.figures[mechanism.name]
        assert figures["inside_intervals"]
        assert figures["converged"]
    assert result.figures["five-bar"]["base_parameters"] == 11


@pytest.mark.slow
def test_the_result_can_be_written(result, tmp_path):
    json.dumps(result.content())
    result.write_page(tmp_path / "loops.html")
    assert "five-bar" in (tmp_path / "loops.html").read_text()
