"""Lines over time: all are drawn, told apart, and described to who cannot see them."""

import json

import numpy as np

from poinsot.report import curve_figure


def test_every_line_is_drawn_in_an_ink_of_its_own():
    time = np.linspace(0, 30, 10_000)
    lines = {"true": np.sin(time), "estimate": np.cos(time), "third": np.full(10_000, np.nan)}
    figure = curve_figure("Mass", "kg", time, lines)
    assert [trace["name"] for trace in figure.data] == list(lines)
    assert len({json.dumps(trace["line"]) for trace in figure.data}) == 3
    assert figure.layout["showlegend"]
    assert max(len(trace["x"]) for trace in figure.data) < 5000
    assert "true, estimate and third" in figure.alt and "from -1 to 1 kg" in figure.alt
    json.dumps(figure.plotly)


def test_nothing_finite_is_no_error():
    figure = curve_figure("Empty", "kg", np.zeros(1), {"a": np.array([np.nan])})
    assert figure.alt == "Empty: a over time"
