"""What a notebook shows of public values: short text, and a table of an estimate."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import poinsot

ARM = Path(__file__).parents[1] / "examples/arm"
MOST = 25
"""Lines of a representation."""


@pytest.fixture(scope="module")
def estimate():
    return poinsot.identify(poinsot.Project.load(ARM / "job.toml"))


@pytest.fixture(scope="module")
def recording():
    channels = {f"position.{name}": (column, "deg") for name, column in (("waist", "q1"), ("elbow", "q3"))}
    return poinsot.read_recording(ARM / "identification.csv", channels, rate_hz=250)


def test_representations_are_short(estimate, recording):
    project = poinsot.Project.load(ARM / "job.toml")
    signals = estimate.problem.recordings[0]
    shown = (
        *(estimate, estimate.fit, estimate.parameters, estimate.problem, estimate.diagnosis),
        *(recording, project, project.robot(), signals, estimate.certificate(), poinsot.LeastSquares()),
    )
    for value in shown:
        text = repr(value)
        assert len(text.splitlines()) <= MOST, type(value).__name__
        assert "array([" not in text or len(text) < 4000, type(value).__name__


def test_an_estimate_says_how_much_it_leaves_out(estimate):
    shown, whole = repr(estimate).splitlines(), str(estimate).splitlines()
    assert shown[:-1] == whole[: len(shown) - 1]
    assert shown[-1] == f"... {len(whole) - len(shown) + 1} more lines; print(estimate) shows them"


def test_the_table_has_every_parameter_with_its_interval(estimate):
    class Cells(HTMLParser):
        rows: list

        def handle_starttag(self, tag, attrs):
            if tag == "tr":
                self.rows.append([])

        def handle_data(self, data):
            if self.rows:
                self.rows[-1].append(data)

    cells = Cells()
    cells.rows = []
    cells.feed(estimate._repr_html_())
    assert len(cells.rows) == 1 + len(estimate.names)
    for name, row in zip(estimate.names, cells.rows[1:], strict=True):
        low, high = estimate.interval(name)
        assert row[0] == name and row[2] == f"{low:.4g} to {high:.4g}"


def test_a_recording_names_its_channels(recording):
    assert "position.waist, position.elbow" in repr(recording) and "array of (2500,)" in repr(recording)
