import json
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest

from flat_estimate import flat_estimate
from poinsot.estimate import Body, Direction, Estimate, Fit, Status, Whiteness
from poinsot.estimate.motions import Impact, Impacts
from poinsot.exceptions import UnwritableOutput
from poinsot.io.results import identify_json, plain, to_text, write_estimate


def fit(scale: float = 0.1, recording: str = "") -> Fit:
    measured = np.column_stack([np.arange(1.0, 5.0), np.zeros(4)])
    white = Whiteness(0.1, 20, 0.5, True)
    return Fit(
        np.arange(4.0), ("a", "b"), ("N m", "N"), measured, measured * (1 - scale), np.zeros((2, 3)),
        (white, white), 100 * scale, (100 * scale, float("nan")), recording,
    )  # fmt: skip


def estimate(**options) -> Estimate:
    return flat_estimate(
        method="least-squares",
        names=("m1", "fc1"),
        units=("kg", "N"),
        owners=("link", "a"),
        kinds=("inertia", "coulomb"),
        groupings=("m1 + m2", "fc1"),
        values=np.array([0.0, np.nan]),
        covariance=np.diag([4.0, np.nan]),
        std_kind="white",
        white_std=np.array([2.0, np.nan]),
        coloured_std=np.array([3.0, np.inf]),
        identifiable=np.array([True, False]),
        status=Status.partly,
        condition_number=12.0,
        scaled_condition_number=np.inf,
        rows=8,
        fit=fit(),
        bodies=(Body("link", 1.0, np.zeros(3), np.eye(3), True, 0.5), Body("tool")),
        undetermined=(Direction("fc1", "unexcited"),),
        settings={"weighting": "none", "nested": {"a": (1, np.float64(2))}},
        seconds={"solve": 0.1},
        **options,
    )


def test_what_is_no_number_is_null():
    content = json.loads(to_text(identify_json(estimate())))
    first, second = content["parameters"]
    assert (first["value"], first["std"], first["relative_std_percent"]) == (0.0, 2.0, None)
    assert (first["std_white"], first["std_coloured"]) == (2.0, 3.0)
    assert (second["value"], second["std"], second["std_coloured"], second["identifiable"]) == (
        None,
        None,
        None,
        False,
    )
    assert content["scaled_condition_number"] is None
    assert content["fit"]["relative_error_percent_per_joint"] == [10.0, None]


def test_the_documented_keys():
    content = identify_json(estimate())
    assert content["schema"] == "poinsot.identify/1"
    assert content["status"] == {"converged": True, "message": Status.partly.value, "name": "partly"}
    assert content["bodies"][0] == {
        "name": "link", "mass": 1.0, "center_of_mass": [0.0, 0.0, 0.0], "inertia_at_com": np.eye(3).tolist(),
        "physically_consistent": True, "min_pseudo_inertia_eigenvalue": 0.5, "reasons": [],
        "inertial": None, "prior": None, "prior_share": None, "log_cholesky_covariance": None,
    }  # fmt: skip
    assert content["bodies"][1]["mass"] is None
    assert content["undetermined"] == [{"combination": "fc1", "reason": "unexcited"}]
    assert content["validation"] is None
    assert content["settings"] == {"weighting": "none", "nested": {"a": [1, 2.0]}}


def test_held_out_recordings_are_pooled():
    content = identify_json(estimate(validation=(fit(0.1, "one"), fit(0.2, "two"))))["validation"]
    # Both have the same size: the pooled error is the root mean square of 10 and 20 %.
    assert content["relative_error_percent"] == pytest.approx(np.sqrt((10**2 + 20**2) / 2))
    assert content["relative_error_percent_per_joint"][1] is None
    assert [each["recording"] for each in content["recordings"]] == ["one", "two"]


def test_impacts_have_a_row_each():
    blow = Impact("drop 1", 0.25, "corner 2 on the floor", 1.5, -0.3, "m/s", 0.4, "slides", 0.7, 0.6)
    slow = Impact("drop 1", 0.5, "corner 3 on the floor", 0.2, 0.0, "m/s", float("nan"), "", 0.1)
    content = json.loads(to_text(identify_json(estimate(impacts=Impacts((blow, slow))))))
    assert content["impacts"][0] == {
        "recording": "drop 1", "time_s": 0.25, "contact": "corner 2 on the floor", "normal_impulse": 1.5,
        "tangential_impulse": -0.3, "unit": "m/s", "restitution": 0.4, "mode": "slides", "energy_lost": 0.7,
        "share": 0.6,
    }  # fmt: skip
    second = content["impacts"][1]
    assert (second["restitution"], second["mode"], second["share"]) == (None, "", None)
    assert "impacts" not in identify_json(estimate())


def test_it_is_written_whole_or_not_at_all(tmp_path):
    write_estimate(estimate(), tmp_path / "e.json")
    assert json.loads((tmp_path / "e.json").read_text()) == identify_json(estimate())
    with pytest.raises(UnwritableOutput):
        write_estimate(estimate(), tmp_path / "nowhere" / "e.json")


def test_plain_values():
    class Colour(Enum):
        red = "the colour of blood"

    @dataclass
    class Pair:
        left: int
        right: tuple

    assert plain({1: Colour.red, "p": Pair(1, (2, None)), "b": np.bool_(True), "i": np.int64(3)}) == {
        "1": "red", "p": {"left": 1, "right": [2, None]}, "b": True, "i": 3,
    }  # fmt: skip
    assert plain(complex(1, 2)) == "(1+2j)"
