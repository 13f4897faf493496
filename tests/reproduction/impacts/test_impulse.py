"""Impulses by step and formulation: what is known by hand, what converges and what does not."""

import json

import numpy as np
import pytest

from poinsot.models.planar.body import GRAVITY
from poinsot_reproductions.impacts import IMPACTS, impulse


@pytest.fixture(scope="module")
def result():
    return impulse.run()


def rows(result, situation, formulation):
    return [row for row in result.rows if (row["situation"], row["formulation"]) == (situation, formulation)]


def test_the_drop_is_133_within_a_percent_at_every_step(result):
    found = rows(result, "drop", "IRC")
    assert {1.0, 2.0, 5.0, 10.0} < {row["step_ms"] for row in found}
    for row in found:
        assert row["paper"] == 133.0
        assert abs(row["impulse_ns"] / 133 - 1) < 0.01
        assert row["steps_of_impact"] == 1


def test_it_is_between_nothing_and_two_steps_of_gravity_too_large(result):
    by_hand = 10 * np.sqrt(2 * GRAVITY * 9)
    assert result.figures["exact_ns"]["drop"] == pytest.approx(by_hand, rel=1e-9)
    for row in rows(result, "drop", "IRC"):
        assert -1e-9 < row["ours"] - by_hand < 2 * 10 * GRAVITY * 1e-3 * row["step_ms"]


def test_the_throw_converges_to_the_papers_impulse(result):
    assert result.figures["exact_ns"]["throw"] == pytest.approx(86.5, rel=0.01)
    found = {row["step_ms"]: row["error_percent"] for row in rows(result, "throw", "IRC")}
    assert abs(result.figures["throw_irc_finest_percent"]) < 0.01
    # first order: the ellipse turns on for up to a step, 8 rad/s, which is 0.25 % a millisecond
    for step, error in found.items():
        assert abs(error) < 0.4 * step
    assert result.figures["throw_irc_within_1_percent_up_to_ms"] >= 5


@pytest.mark.parametrize("situation", ["drop", "throw"])
def test_impulses_of_gaps_do_not_converge(result, situation):
    found = {row["step_ms"]: row for row in rows(result, situation, "IGC")}
    finer = [row["ours"] for step, row in found.items() if step < 1]
    coarse = [row["ours"] for step, row in found.items() if step >= 1]
    whole = result.figures["exact_ns"][situation]
    for values in (finer, coarse):
        assert np.ptp(values) > 0.2 * whole
    assert max(row["steps_of_impact"] for row in found.values()) == 2
    assert result.figures[f"{situation}_igc_within_1_percent_up_to_ms"] is None


def test_both_steps_of_gaps_together_are_the_whole():
    motion = impulse.moves(impulse.ellipse(0.3), impulse.DROP, 1e-3, 1.45, impulse.LAWS["IGC"])
    k = motion.struck[0]
    assert motion.impulses[k : k + 2, 0, 0].sum() == pytest.approx(132.88, abs=2 * 10 * GRAVITY * 2e-3)


def test_what_scripts_read(result):
    json.dumps([result.rows, result.figures, result.notes, result.tables, result.facts])
    assert (result.name, result.seed) == ("impacts", "003")
    for situation in ("drop", "throw"):
        for formulation in ("IRC", "IGC"):
            by_step = result.figures["impulse_ns"][situation][formulation]
            assert {"1", "2", "5", "10", "0.01"} < set(by_step)
    assert all(len(v) == len(c.time) for c in result.curves.values() for v in c.lines.values())
    assert len(result.curves) == 7


def test_the_picture_around_an_impact_has_it():
    for name, formulation in (("drop", "IRC"), ("throw", "IGC")):
        time, lines = impulse.around_impact(name, formulation)
        for line, values in lines.items():
            step = float(line.split()[0])
            assert values.max() == pytest.approx(impulse.first_impact(name, formulation, 1e-3 * step)[0])
            assert time[np.argmax(values)] == pytest.approx(1.354 if name == "drop" else 0.593, abs=0.011)


def test_the_case_is_registered():
    assert {"impulse", "sliding", "restitution"} <= set(IMPACTS.parts)
    said = []
    assert IMPACTS("sliding", 3, None, said.append).rows
    assert said[0].startswith("sliding: ")
