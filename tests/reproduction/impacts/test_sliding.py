import json

import numpy as np
import pytest

from poinsot.models.planar.body import GRAVITY
from poinsot_reproductions.impacts import sliding
from poinsot_reproductions.impacts.paper_ellipse import SLIDE, ellipse, moves


@pytest.fixture(scope="module")
def result():
    return sliding.run()


def by_friction(result):
    return {row["friction"]: row for row in result.rows if "friction" in row}


def test_it_takes_off_from_the_papers_friction_on(result):
    found = by_friction(result)
    assert list(found) == pytest.approx(np.arange(0, 1.05, 0.1))
    for friction, row in found.items():
        if friction > 0.35:
            assert row["takes_off_seconds"] < 1.0
        else:
            assert row["takes_off_seconds"] is None
    assert result.figures["takes_off_from_friction"] == 0.4
    assert result.figures["stays_up_to_friction"] == 0.3
    (row,) = [row for row in result.rows if row["paper"] is not None]
    assert (row["paper"], row["ours"]) == (0.4, 0.4)


@pytest.mark.parametrize("step", [5e-3, 2e-4])
def test_in_other_steps_too(step):
    found = by_friction(sliding.run(frictions=(0.3, 0.4, 1.0), step=step, halvings=0))
    assert [row["takes_off_seconds"] is None for row in found.values()] == [True, False, False]
    assert found[0.4]["takes_off_seconds"] == pytest.approx(0.44, abs=0.02)


def test_take_off_begins_between_the_frictions_that_are_shown(result):
    soon, later = (result.figures[f"take_off_within_{s}s_begins_at_friction"] for s in (1, 2))
    assert 0.3 < later < soon < 0.4
    for within, friction in ((1.0, soon), (2.0, later)):
        assert sliding.takes_off(moves(ellipse(friction), SLIDE, 1e-3, within)) is not None
        assert sliding.takes_off(moves(ellipse(friction - 1e-3), SLIDE, 1e-3, within)) is None


def test_energy_falls_while_it_slides_and_is_kept_in_flight(result):
    h = sliding.STEP
    for friction, row in by_friction(result).items():
        if friction == 0:
            assert row["energy_j"]["2 s"] == row["energy_j"]["start"]
        else:
            assert row["largest_change_sliding_j"] < 0
            assert row["energy_j"]["2 s"] < row["energy_j"]["start"]
        if row["change_flying_j"] is not None:
            np.testing.assert_allclose(row["change_flying_j"], -10 * GRAVITY**2 * h**2 / 2, atol=1e-9)
    assert result.figures["energy_falls_while_sliding"]
    assert result.figures["flight_beside_drift_j"] < 1e-9


def test_friction_takes_what_the_first_steps_say():
    """Flat on the floor it bears its weight, so mu m g v_x h a step."""
    motion = moves(ellipse(0.2), SLIDE, 1e-5, 0.01)
    assert motion.energy[-1] - motion.energy[0] == pytest.approx(-0.2 * 10 * GRAVITY * 15 * 0.01, rel=0.01)


def test_what_scripts_read(result):
    json.dumps([result.rows, result.figures, result.notes, result.tables, result.facts])
    assert (result.name, result.seed) == ("impacts", "003")
    assert set(result.figures["takes_off_seconds"]) == {f"{k / 10:g}" for k in range(11)}
    assert all(len(v) == len(c.time) for c in result.curves.values() for v in c.lines.values())
