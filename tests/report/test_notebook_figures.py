"""What an estimate has in a notebook besides: tables, and figures that Plotly itself accepts."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot.exceptions import InvalidMethod, MissingExtra

go = pytest.importorskip("plotly.graph_objects")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def estimate():
    return poinsot.identify(poinsot.Project.load(EXAMPLES / "arm/physical.toml"))


@pytest.fixture(scope="module")
def throw():
    return poinsot.identify(poinsot.Project.load(EXAMPLES / "throw/job.toml"))


def test_tables_have_a_row_a_parameter(estimate):
    table, other = estimate.to_polars(), estimate.to_pandas()
    assert tuple(table["name"]) == tuple(other["name"]) == estimate.names
    np.testing.assert_array_equal(table["value"], estimate.values)
    np.testing.assert_array_equal(other["std"], estimate.std)
    assert (table["low"][0], table["high"][0]) == estimate.interval(estimate.names[0])
    assert list(other.columns) == table.columns and "covariance" not in table.columns


def test_measured_torques_are_drawn_joint_by_joint(estimate):
    figure = estimate.plot.torques()
    assert isinstance(figure, go.Figure)
    measured = [trace for trace in figure.data if trace.name == "measured"]
    assert len(measured) == 3 and len({trace.xaxis for trace in measured}) == 3
    for k, trace in enumerate(measured):
        np.testing.assert_allclose(trace.y, estimate.fit.measured[:, k], rtol=1e-4, atol=1e-4)
    # panels lie beneath each other, and no two vertical axes overlap
    domains = sorted(axis.domain for axis in figure.select_yaxes())
    assert len(domains) == 6 and all(a[1] <= b[0] for a, b in pairwise(domains))


def test_all_determined_parameters_are_drawn_with_their_intervals(estimate):
    figure = estimate.plot.parameters()
    drawn = np.concatenate([trace.x for trace in figure.data])
    known = estimate.values[estimate.identifiable]
    np.testing.assert_allclose(np.sort(drawn), np.sort(known), rtol=1e-4, atol=1e-5)


def test_residuals_and_bodies(estimate):
    assert len(estimate.plot.residuals().data) == 3
    kinds = {trace.type for trace in estimate.plot.bodies().data}
    assert kinds == {"mesh3d", "scatter3d"}
    assert "torques()" in repr(estimate.plot) and len(repr(estimate.plot)) < 100


def test_what_cannot_be_drawn_is_said(throw):
    with pytest.raises(InvalidMethod, match="fits sensors, not efforts"):
        throw.plot.torques()
    with pytest.raises(InvalidMethod, match="no body with a placement"):
        throw.plot.bodies()
    assert len(throw.to_polars()) == len(throw.names)


@pytest.mark.parametrize(("package", "ask"), [("plotly.graph_objects", "plot"), ("pandas", "to_pandas")])
def test_without_the_extra_it_is_named(estimate, monkeypatch, package, ask):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"poinsot\[notebook\]"):
        estimate.plot.torques() if ask == "plot" else estimate.to_pandas()


def test_other_attributes_are_refused_as_before(estimate):
    with pytest.raises(
        AttributeError, match="beside the attributes of every Estimate it has full_parameters"
    ):
        estimate.plots
    assert not hasattr(estimate, "_ipython_display_")
