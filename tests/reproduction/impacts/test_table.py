"""A few cells of Table 1, and what is made of them."""

import json

import numpy as np
import pytest

from poinsot_reproductions.impacts import table


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as executor:
        return table.run(3, 1, (0.2, 0.5), (60, 120), executor, tmp_path_factory.mktemp("kept"))


def test_errors_are_small_and_intervals_are_about_as_large(result):
    assert len(result.rows) == 4
    for row in result.rows:
        assert row["failed"] == 0 and row["draws"] == 1 and row["friction_identifiable"]
        # standard deviations are 1.1 to 2.5 %
        assert abs(row["mean_error_percent"]) < 4 * 2.5
        assert row["friction_estimate"] == pytest.approx(row["friction"], abs=0.06)
    assert result.figures["failed"] == 0 and result.figures["mean_absolute_error_percent_240"] is None
    assert 0 < result.figures["mean_absolute_error_percent_120"] < 8


def test_rows_have_the_paper_beside_them(result):
    papers = {(row["friction"], row["frames_per_second"]): row["paper_percent"] for row in result.rows}
    assert papers == {(0.2, 60): -16, (0.2, 120): -5, (0.5, 60): 3, (0.5, 120): 1}
    json.dumps([result.rows, result.figures, result.tables, result.facts, result.notes])


def test_draws_differ_and_are_the_same_again():
    job = table.Job(0.5, 120, 0, 3)
    times, poses = table.read(job)
    np.testing.assert_array_equal(poses, table.read(job)[1])
    assert not np.array_equal(poses, table.read(table.Job(0.5, 120, 1, 3))[1])
    assert len(times) == 61 and times[-1] == 0.5
    noise = poses - table.thrown(0.5)[::10]
    assert noise.std(axis=0) == pytest.approx(table.NOISE, rel=0.4)


def test_what_has_no_answer_is_counted(monkeypatch):
    monkeypatch.setattr(table, "fitted_drops", _refuse)
    found = {"0.5 120 0": table.attempt(table.Job(0.5, 120, 0, 0))}
    assert "nothing" in found["0.5 120 0"]["failed"]
    row = table._row(0.5, 120, list(found.values()))
    assert row["failed"] == 1 and row["mean_error_percent"] is None
    assert table.figures_of([row], found)["median_seconds"] is None


def _refuse(*_args, **_kwargs):
    from poinsot.exceptions import NotIdentifiable

    raise NotIdentifiable("the body hits nothing")
