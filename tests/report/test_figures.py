"""Figures are plain JSON; thinning keeps every peak; names stay names."""

import json
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.report.figures.curves import (
    autocorrelation_grid,
    channel_figure,
    effort_figure,
    effort_grid,
    white_band,
)
from poinsot.report.figures.intervals import interval_grid
from poinsot.report.figures.style import rounded
from poinsot.report.figures.thinning import end_to_end, line, thinned
from poinsot.report.numbers import significant
from poinsot.report.tables import fit_table


def test_rounding_keeps_six_digits_of_the_largest():
    assert rounded([1234.56789, 0.0049, -2.0]) == [1234.57, 0.0, -2.0]
    assert rounded([1.23456789e-9]) == [1.23457e-9]
    assert rounded([1.0, nan, inf]) == [1.0, None, None]
    assert rounded([]) == [] and rounded([nan]) == [None] and rounded([0.0]) == [0.0]


@given(st.integers(1, 20000), st.integers(10, 4000), st.integers(0, 2**32 - 1))
def test_thinning_keeps_extremes_and_ends(length, longest, seed):
    values = np.random.default_rng(seed).normal(size=length)
    kept = thinned(values, longest)
    assert len(kept) <= max(longest, 1)
    assert np.all(np.diff(kept) > 0)
    assert kept[0] == 0 and kept[-1] == length - 1
    assert values[kept].min() == values.min() and values[kept].max() == values.max()


def test_thinning_keeps_a_single_spike_in_every_place():
    for place in range(0, 9000, 97):
        values = np.zeros(9000)
        values[place] = 1.0
        assert place in thinned(values, 500)


def test_thinning_passes_over_missing_samples():
    values = np.full(9000, nan)
    values[4000] = 3.0
    assert 4000 in thinned(values, 500)


def test_a_gap_breaks_the_line_and_restarted_clocks_stand_end_to_end():
    time = np.concatenate([np.arange(100) * 0.01, 5.0 + np.arange(100) * 0.01])
    assert line(time, np.ones(200))["y"].count(None) == 1
    again = np.concatenate([time, time])
    drawn = line(again, np.ones(400))
    assert np.all(np.diff(end_to_end(again)) > 0)
    assert drawn["y"].count(None) == 3
    assert len(line(np.arange(50000) * 0.01, np.ones(50000))["x"]) <= 4000


def test_effort_panel_shows_measured_predicted_and_residual_on_one_time_axis(tx40):
    figure = effort_figure(tx40.fit, 2)
    measured, predicted, residual = figure.data
    assert [trace["yaxis"] for trace in figure.data] == ["y", "y", "y2"]
    np.testing.assert_allclose(measured["y"], tx40.fit.measured[:, 2], atol=1e-4)
    np.testing.assert_allclose(predicted["y"], tx40.fit.predicted[:, 2], atol=1e-4)
    np.testing.assert_allclose(residual["y"], tx40.fit.residuals[:, 2], atol=1e-5)
    assert figure.layout["yaxis"]["title"]["text"] == "torque [N\u00a0m]"
    assert "relative error" in figure.alt and "joint_3" in figure.alt


def test_the_size_of_residuals_is_that_of_the_samples_that_were_read(tx40):
    measured = tx40.fit.measured.copy()
    measured[::2, 1] = nan
    fit = replace(tx40.fit, measured=measured)
    residual = fit.residuals[1::2, 1]
    rms, largest = np.sqrt(np.mean(residual**2)), np.abs(residual).max()
    alt = effort_figure(fit, 1).alt
    assert f"residual {significant(rms, 3)} N" in alt and f"largest {significant(largest, 3)} N" in alt
    cells = [cell.text for cell in fit_table(fit).rows[1]]
    assert significant(rms, 3, padded=True) in cells and significant(largest, 3, padded=True) in cells


def test_long_fits_are_thinned_and_say_so(emps):
    grid = effort_grid(emps.fit)
    (panel,) = grid.panels
    assert "24841 rows" in grid.caption
    assert max(len(trace["y"]) for trace in panel.data) <= 4000
    assert max(panel.data[2]["y"]) == pytest.approx(float(emps.fit.residuals.max()), rel=1e-5)
    assert panel.layout["yaxis"]["title"]["text"] == "force [N]"


def test_many_joints_share_the_points_of_a_page(humanoid):
    grid = effort_grid(humanoid.fit)
    assert len(grid.panels) == 30
    assert max(len(trace["y"]) for panel in grid.panels for trace in panel.data) <= 1200


def test_the_white_band_is_that_of_the_rows(tx40):
    grid = autocorrelation_grid(tx40.fit)
    (shape,) = grid.panels[0].layout["shapes"]
    assert shape["y1"] == pytest.approx(1.96 / np.sqrt(170), rel=1e-3)
    assert white_band(tx40.fit) == pytest.approx(shape["y1"], rel=1e-3)
    assert "not white" in grid.panels[5].note and grid.panels[0].note.endswith(", white")
    assert len({tuple(panel.layout["yaxis"]["range"]) for panel in grid.panels}) == 1


def test_intervals_are_grouped_by_kind_and_leave_the_unknown_out(tx40):
    values = tx40.values.copy()
    values[0] = nan
    grid = interval_grid(tx40.updated(values=values, identifiable=np.isfinite(values)))
    assert grid is not None
    titles = [panel.title for panel in grid.panels]
    assert titles[:2] == ["First moments of mass", "Moments and products of inertia"]
    assert set(titles[2:]) == {"Rotor inertia", "Coulomb friction", "Viscous friction"}
    assert sum(len(panel.data[0]["x"]) for panel in grid.panels) == 27
    assert "1 that the data do not determine" in grid.caption
    nothing = tx40.updated(values=np.full(28, nan), identifiable=np.zeros(28, dtype=bool))
    assert interval_grid(nothing) is None


def test_a_channel_with_gaps_or_nothing_at_all():
    time = np.arange(5) * 0.1
    assert channel_figure("q", "rad", time, np.array([0.0, 1.0, nan, 3.0, 2.0])).note == "from 0 to 3 rad"
    assert channel_figure("q", "rad", time, np.full(5, nan)).note == "no finite value"


def test_figures_are_json_and_names_are_not_markup(build_fit):
    name = '<b>"elbow"</b>'
    fits = {"<i>a</i>": build_fit((name,), 80), "b": build_fit((name,), 80)}
    for figure in (effort_figure(fits["<i>a</i>"], 0), effort_figure(fits["b"], 0)):
        text = json.dumps(figure.plotly, allow_nan=False)
        assert "<b>" not in text and "<i>" not in text


def test_a_joint_without_effort_is_drawn_without_a_warning(tx40):
    fit = tx40.fit
    correlation = fit.autocorrelation.copy()
    correlation[0] = nan
    silent = replace(
        fit,
        measured=fit.measured * 0,
        predicted=fit.predicted * 0,
        autocorrelation=correlation,
        whiteness=(replace(fit.whiteness[0], lag1=nan), *fit.whiteness[1:]),
        relative_error_percent=nan,
        relative_error_percent_per_joint=6 * (nan,),
    )
    assert "–" in effort_grid(silent).panels[0].note
    assert autocorrelation_grid(silent).panels[0].note.startswith("lag 1: –")
