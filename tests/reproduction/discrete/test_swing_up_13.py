"""Thirteen parameters: what recordings show of them, found on short ones; and the seconds that are said."""

import json

import numpy as np
import pytest

from poinsot_reproductions.discrete import DISCRETE, swing_up_13
from poinsot_reproductions.discrete.paper_furuta import INITIAL, NAMES, NOISE, TRUTH, values

SHORT = {"release": 1.0, "swing-up": 4.0}


@pytest.fixture(scope="module")
def result():
    return swing_up_13.run(0, SHORT, every=(100, 50), anew=False, explicit=False)


def test_there_are_thirteen_with_units_and_beginnings():
    entries = swing_up_13.estimator().mechanism.entries
    assert len(NAMES) == 13 and all(NAMES[name] in entries for name in NAMES)
    assert set(TRUTH) == set(INITIAL) == set(NAMES)
    assert sorted(name for names in swing_up_13.KINDS.values() for name in names) == sorted(NAMES)
    begun, truth = values(swing_up_13.ALL, INITIAL), values(swing_up_13.ALL, TRUTH)
    # of b2 both are what we read in place of an unreadable number
    assert [name for name, a, b in zip(swing_up_13.ALL, begun, truth, strict=True) if a == b] == [
        "b2",
        "tilt_z",
    ]


@pytest.mark.slow
def test_what_is_seen_is_found(result):
    json.dumps([result.rows, result.figures, result.notes, result.tables, result.facts])
    assert result.name == "discrete-multibody" and result.seed == "000" and len(result.rows) == 26
    unseen = result.figures["not_seen"]
    assert {"Jaxx", "Jayy", "tilt_z", "K"} <= set(unseen["release"])
    assert set(unseen["swing-up"]) == {"Jaxx", "Jayy", "tilt_z"}
    for row in result.rows:
        if row["scenario"] == "swing-up" and row["seen"] and row["truth"]:
            # a generator of another discretization and stiffness: beyond noise, a little is its own
            assert abs(row["ours"] - row["truth"]) < 5 * row["std"] + 0.05 * abs(row["truth"])
            if row["parameter"] in ("Jbyy", "K"):
                assert abs(row["error_percent"]) < 2


@pytest.mark.slow
def test_figures_are_of_the_timed_recording(result):
    figures = result.figures
    assert 2 <= figures["iterations"] <= 20 and figures["seconds_warm"] > 0
    own = [row for row in result.rows if row["scenario"] == "swing-up" and row["seen"]]
    assert figures["max_error_percent"] == max(abs(row["error_percent"]) for row in own if row["truth"])
    assert figures["max_error_percent"] == max(figures["max_error_percent_by_kind"].values())
    assert figures["seconds_cold"] is None and "explicit" not in figures
    assert [each["steps"] for each in figures["growth"]] == [400, 800]
    assert all(len(v) == len(c.time) for c in result.curves.values() for v in c.lines.values())


@pytest.mark.slow
def test_costs_of_held_out_recordings_are_near_what_noise_says(result):
    """Two encoders with weight 1: a cost of 2 noise^2 if the states follow none of it."""
    costs = result.figures["cross_validation"]
    assert set(costs) == set(SHORT) and 0.5 * NOISE**2 < costs["swing-up"]["swing-up"] < 3 * NOISE**2
    assert costs["swing-up"]["release"] < 3 * NOISE**2


def test_a_process_started_anew_is_refused_with_its_last_words(monkeypatch):
    monkeypatch.setattr(swing_up_13, "ANEW", "raise SystemExit('out of luck')")
    record = swing_up_13.Record("x", np.arange(5) * 0.01, np.zeros((5, 1)), np.zeros((5, 2)))
    with pytest.raises(swing_up_13.PoinsotError, match="ended early: out of luck"):
        swing_up_13.cold(record)


def test_both_simulated_parts_are_registered():
    assert set(DISCRETE.parts) == {"synthetic", "pendulum", "furuta", "swing_up_13"}
