"""What a notebook shows of public values: short text, and a table of an estimate."""

import inspect
import re
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot.arrays import Brief

EXAMPLES = Path(__file__).parents[1] / "examples"
ARM = EXAMPLES / "arm"
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


MANY = re.compile(r"Vector|Matrix|Samples|Times|Mask|Configurations|Columns|ndarray|Float\[")
"""In the type of a field that holds as many numbers as there are samples or parameters."""
FEW = {
    "noise",
    "bias",
    "walk",
    "reference",
    "rates",
    "knots",
    "inertia",
    "center",
    "frame",
    "unit",
    "information",
    "make",
    "read_columns",
    "stops",
}
"""Fields with a few numbers, of which a sensor, a body or a filter is made, and functions."""


def test_public_classes_that_hold_recordings_are_brief():
    for name in poinsot.__all__:
        kind = getattr(poinsot, name)
        if inspect.isclass(kind) and is_dataclass(kind) and kind is not poinsot.Estimate:
            many = [each.name for each in fields(kind) if each.repr and MANY.search(str(each.type))]
            assert issubclass(kind, Brief) or set(many) <= FEW, (name, many)


def reachable(value, seen, depth=0):
    """Values of this package among the public attributes of one, and of theirs."""
    if isinstance(value, list | tuple) and depth < 5:
        for each in value[:2]:
            yield from reachable(each, seen, depth + 1)
    elif isinstance(value, dict) and depth < 5:
        yield from reachable(tuple(value.values()), seen, depth)
    elif type(value).__module__.startswith("poinsot") and id(value) not in seen and depth < 5:
        seen[id(value)] = value
        yield value
        for name in dir(value):
            if not name.startswith("_") and name != "certificate":
                try:
                    attribute = getattr(value, name)
                except Exception:  # what this family does not have
                    continue
                if not callable(attribute):
                    yield from reachable(attribute, seen, depth + 1)


@pytest.mark.parametrize(
    "job",
    [
        "arm/job.toml",
        *(
            pytest.param(f"{name}.toml", marks=pytest.mark.slow)
            for name in ("arm/physical", "quadruped/job", "furuta/job", "throw/job", "so101/job")
        ),
    ],
)
def test_everything_that_hangs_on_an_estimate_is_shown_briefly(job):
    project = poinsot.Project.load(EXAMPLES / job)
    for value in reachable([project, poinsot.identify(project)], {}):
        text = repr(value)
        assert len(text.splitlines()) <= MOST and len(text) < 4000, f"{type(value).__name__}: {text[:500]}"


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
        assert row[4].endswith(("known", "zero within its interval"))


def test_a_recording_names_its_channels(recording):
    assert "position.waist, position.elbow" in repr(recording) and "array of (2500,)" in repr(recording)


def test_a_recording_has_a_sparkline_for_each_channel():
    time = np.arange(50) / 10
    channels = {"position.a": np.sin(time), "still": np.ones(50), "<b>": time}
    valid = {"<b>": np.abs(time - 2) > 0.5}
    html = poinsot.Recording(time, channels, dict.fromkeys(channels, "1"), valid)._repr_html_()
    assert html.count("<svg") == 3 and html.count("<polyline") == 4  # one channel has a gap
    assert "<b>" not in html.replace("<b>Recording</b>", "") and "50 samples, 4.9 s, 10 Hz" in html
