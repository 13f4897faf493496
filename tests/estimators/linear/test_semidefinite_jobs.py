"""Whole jobs: the embedded arm, whose truth is known, and the TX40 from its real recording."""

import json
from pathlib import Path

import numpy as np
import pytest

from poinsot.cli import main
from poinsot.project import Project, identify

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def tx40(shared_data):
    return identify(Project.load(EXAMPLES / "tx40_physical.toml"), shared_data("staubli_tx40"))


def test_tx40_is_possible_at_the_price_of_fifteen_hundredths_of_a_point(tx40, shared_data):
    free = identify(Project.load(EXAMPLES / "tx40.toml"), shared_data("staubli_tx40"))
    assert len(tx40.bodies) == 6
    assert all(body.physically_consistent for body in tx40.bodies)
    assert min(body.min_pseudo_inertia_eigenvalue for body in tx40.bodies) > 0
    price = tx40.fit.relative_error_percent - free.fit.relative_error_percent
    assert 0 < price < 0.15
    assert tx40.certificate().holds


def test_tx40s_base_values_stay_within_their_intervals(tx40, shared_data):
    """4.4 standard deviations in 61 dimensions: single parameters move by less than two."""
    free = identify(Project.load(EXAMPLES / "tx40.toml"), shared_data("staubli_tx40"))
    assert tx40.names == free.names
    assert np.abs((tx40.values - free.values) / free.white_std).max() < 3


def test_the_arm_of_the_example_is_closer_to_the_truth_than_its_drawings(tmp_path):
    assert (
        main(["identify", str(EXAMPLES / "arm" / "physical.toml"), "--json", str(tmp_path / "arm.json")]) == 0
    )
    result = json.loads((tmp_path / "arm.json").read_text())
    masses = [body["mass"] for body in result["bodies"]]
    assert 12.2 - 1e-6 <= sum(masses) <= 12.4 + 1e-6
    truth, drawings = np.array([6.0, 4.2, 2.1]), np.array([5.2, 3.4, 1.6])
    assert np.all(np.abs(masses[1:] - truth[1:]) < 0.5 * np.abs(drawings[1:] - truth[1:]))
    assert result["certificate"].keys() >= {"primal", "dual", "gap"}
    assert result["certificate"]["holds"]
    by_name = {each["name"]: each for each in result["full_parameters"]}
    assert by_name["mx3"]["prior_share"] < 0.01 < 0.9 < by_name["xx1"]["prior_share"]
    assert by_name["mx3"]["value"] == pytest.approx(2.1 * 0.18, abs=4 * by_name["mx3"]["std"])
