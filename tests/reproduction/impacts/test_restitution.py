import json

import numpy as np
import pytest

from poinsot.models.planar.body import GRAVITY
from poinsot_reproductions.impacts import restitution


@pytest.fixture(scope="module")
def result():
    return restitution.run()


def rows(result, friction, epsilon):
    return [row for row in result.rows if (row["friction"], row["restitution"]) == (friction, epsilon)]


def test_smooth_impacts_take_what_restitution_says(result):
    for epsilon in restitution.RESTITUTIONS:
        for row in rows(result, 0.0, epsilon):
            assert row["tangential_work_j"] == 0
            # gravity's g h beside the approach, twice
            slack = 2 * GRAVITY * restitution.STEP / row["approach_m_s"]
            whole = row["expected_j"] / (1 - epsilon**2) if epsilon < 1 else 0.0
            assert row["ours"] == pytest.approx(row["expected_j"], abs=slack * abs(whole) + 1e-9)
    assert result.figures["loss_error_percent"] < 1


def test_the_first_impact_takes_less_with_more_restitution(result):
    for friction in restitution.FRICTIONS:
        taken = [-rows(result, friction, epsilon)[0]["ours"] for epsilon in restitution.RESTITUTIONS]
        assert (np.diff(taken) < 0).all()
    assert taken[-1] > 0  # with friction also at restitution 1
    assert rows(result, 0.0, 1.0)[0]["ours"] == pytest.approx(0.0, abs=1e-9)


def test_energy_falls_at_impacts_in_steps_and_is_kept_between(result):
    assert result.figures["flight_beside_drift_j"] < 1e-9
    energy = result.curves["Energy, smooth (Fig. 14)"]
    h, line = restitution.STEP, energy.lines["restitution 0.4"]
    for row in rows(result, 0.0, 0.4)[:3]:
        k = round(row["time_s"] / h)
        # the potential of a step is of its end: m g h / 2 times the change of velocity, below m g h times the approach
        assert line[k + 1] - line[k] == pytest.approx(row["ours"], abs=10 * GRAVITY * h * row["approach_m_s"])


def test_elastic_and_smooth_drifts_by_no_more_than_implicit_euler_and_halves(result):
    figures = result.figures
    assert figures["drift_within_bound"]
    for step, drift in figures["drift_j"].items():
        assert 0 < drift <= 10 * GRAVITY**2 * 1e-3 * float(step) * restitution.SECONDS / 2
        assert figures["drift_bound_j"][step] == pytest.approx(
            10 * GRAVITY**2 * 1e-3 * float(step) * restitution.SECONDS / 2
        )
    # where the last impact falls within a step adds up to a tenth
    np.testing.assert_allclose(figures["drift_ratios"], 2.0, rtol=0.1)


def test_what_scripts_read(result):
    json.dumps([result.rows, result.figures, result.notes, result.tables, result.facts])
    assert (result.name, result.seed) == ("impacts", "003")
    assert result.figures["impacts"]["friction 0"]["1"] == len(rows(result, 0.0, 1.0)) > 1
    assert len(result.curves) == 4
    assert all(len(v) == len(c.time) for c in result.curves.values() for v in c.lines.values())
