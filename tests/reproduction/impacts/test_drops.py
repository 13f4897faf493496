"""Pooled drops: of the generator here, of real ones where they are."""

import json

import numpy as np
import pytest

from poinsot_reproductions.impacts import drops, squares
from poinsot_reproductions.impacts.pooled_drops import SIDE, uniform_square


def test_a_uniform_square_with_round_corners():
    """By drawing points in it: 4e5 of them tell the mean of r^2 to 0.1 %."""
    radius, rng = 8e-3, np.random.default_rng(0)
    points = rng.uniform(-SIDE / 2, SIDE / 2, (400_000, 2))
    beyond = np.abs(points) - (SIDE / 2 - radius)
    inside = ~((beyond > 0).all(axis=1) & ((beyond**2).sum(axis=1) > radius**2))
    assert uniform_square(radius) == pytest.approx((points[inside] ** 2).sum(axis=1).mean(), rel=2e-3)
    assert uniform_square(1e-9) == pytest.approx(SIDE**2 / 6)


@pytest.mark.slow
def test_simulated_squares_come_back():
    result = squares.run(1, (600.0,), drops=8)
    (row,) = result.rows
    low, high = row["interval_mm2"]
    # eight drops say it to 2 or 3 percent
    assert abs(row["error_percent"]) < 8 and low < row["ours"] < high
    json.dumps([result.rows, result.figures, result.tables])


@pytest.mark.slow
def test_real_drops(shared_data, tmp_path):
    """A few of them: the whole folder is the case."""
    folder = shared_data("square_drops")
    for path in sorted(folder.glob("drop_*.csv"))[:6]:
        (tmp_path / path.name).symlink_to(path)
    result = drops.run(tmp_path)
    figures = result.figures
    assert figures["drops"] == 6 and figures["impacts_used"] > 8
    # all sixty say 425; six of them some 4 % more or less
    assert 350 < figures["inertia_to_mass_mm2"] < 500
    assert figures["held_out_median_error_rad_s"] < 2
    json.dumps([result.rows, figures, result.tables, result.facts, result.notes])
    assert any("assumption" in note for note in result.notes)
