"""One file, well formed, complete, that asks the network for nothing, and is there in full or not at all."""

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from poinsot.estimate import Direction, Finding, Severity, Uncertainty
from poinsot.exceptions import PoinsotError, UnwritableOutput
from poinsot.inspection import inspect
from poinsot.recording import Recording
from poinsot.report import write_inspection_page, write_report
from poinsot.report.blocks import Page, Section
from poinsot.report.figures.intervals import interval_grid
from poinsot.report.page import render
from poinsot.report.sections import SECTIONS, sections
from poinsot.report.sections.identifiability import identifiability_section
from poinsot.report.sections.impacts import impacts_section
from poinsot.report.sections.motion import contacts_section, convergence_section, motion_section
from poinsot.report.sections.parameters import numbers_section
from poinsot.report.sections.payload import friction_section
from poinsot.report.sections.sensitivity import sensitivity_section
from poinsot.report.sections.tracking import (
    excitation_section,
    history_section,
    masses_section,
    rejections_section,
)
from poinsot.report.sections.verdict import trust_section
from references.thrown_square import thrown_square

LARGEST_PAGE = 1.5e6
"""Of the pages of any estimate. [bytes]"""
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
LOADING = {"src", "href", "srcset", "data", "action", "poster", "background", "formaction", "xlink:href"}


class Reader(HTMLParser):
    """Checks that elements nest, and collects what a reader and a browser would."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.figures: list[str] = []
        self.styles: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        assert len(named) == len(attributes), f"an attribute twice in <{tag}>"
        self.tags.append(tag)
        self.ids += [named["id"]] if "id" in named else []
        self.loads += [value for key, value in attributes if key in LOADING and value]
        self.styles += [named["style"]] if "style" in named else []
        if tag not in VOID:
            self.open.append(f"{tag} figures" if named.get("id") == "page_figures" else tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop().split()[0] == tag

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        if inside == "script figures":
            self.figures += map(json.dumps, json.loads(gzip.decompress(b64decode(data))))
        elif inside == "style":
            self.styles.append(data)
        elif inside != "script":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def read(path: Path) -> Reader:
    reader = Reader(path.read_text(encoding="utf-8"))
    assert len(set(reader.ids)) == len(reader.ids)
    for target in reader.loads:
        assert target.startswith("#") and target[1:] in reader.ids, target
    for style in reader.styles:
        assert "url(" not in style and "@import" not in style
    for figure in reader.figures:
        assert set(json.loads(figure)) - {"frames"} == {"data", "layout"}
    return reader


@pytest.fixture
def page(tx40, tmp_path) -> Iterator[Reader]:
    return read(write_report(tx40, tmp_path / "tx40.html"))


def test_the_page_is_one_file_with_plotly_inlined_once(tx40, tmp_path):
    path = write_report(tx40, tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    (library,) = re.findall(r'<script type="application/gzip" id="page_plotly">([^<]*)</script>', text)
    assert b"* plotly.js (gl3d - minified) v" in gzip.decompress(b64decode(library))[:200]
    assert path.stat().st_size < LARGEST_PAGE
    assert "default-src 'none'" in text
    assert path.stat().st_mode & 0o044, "others may read it"


def test_the_page_shows_every_parameter_with_its_verdict(tx40, page):
    for name in (*tx40.names, *tx40.fit.joints, "link_4"):
        assert name in page.text
    for words in (
        "well known",
        "poorly known",
        "zero within its interval",
        "8.07",
        "[7.96, 8.18]",
        "0.69 %",
        "N m s/rad",
    ):
        assert words in page.text
    assert "zz1 + ia1 + yy2 + 0.0506 m3" in page.text
    assert page.text.index("19.8 % of consecutive") < page.text.index("Relative error")


def test_the_page_says_which_standard_deviation_is_printed_and_why(tx40, emps, page, tmp_path):
    assert "account for residuals that are correlated in time" in page.text and "factor of 1.7" in page.text
    white = read(write_report(emps, tmp_path / "white.html"))
    assert "The residuals look like white noise" in white.text


def spread(estimate, factor):
    table = replace(estimate.parameters.uncertainty, readings=estimate.coloured_std / factor)
    return estimate.updated(uncertainty=table)


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (3.0, "would be too small, here by a factor of 3.0 (median)"),
        (0.8, "would be too large, here by a factor of 1.2 (median)"),
        (1.01, "would be much the same here, in the median; single ones differ by up to a factor of 1.01"),
    ],
)
def test_what_white_residuals_would_have_made_of_it(tx40, factor, words):
    text = render(Page("t", sections=sections(spread(tx40, factor))))
    assert f"those for white residuals {words}." in text


def test_what_is_not_determined_by_reason(tx40):
    undetermined = (
        *(Direction(name, "structural") for name in ("m1", "mx1", "my2 + 0.225 mz3")),
        Direction("my6 + 0.3 mx6", "unexcited"),
        Direction("xx5r", "removed"),
        Direction("off6", "removed"),
    )
    section = identifiability_section(replace(tx40, undetermined=undetermined))
    assert section.lead == (
        "This recording leaves 1 combination undetermined that a better motion would determine. "
        "2 parameters are set to zero as not essential."
    )
    structural, unexcited, removed = section.blocks[2:]
    assert (structural.title, structural.items) == ("No motion excites them", ("m1, mx1", "my2 + 0.225 mz3"))
    assert (unexcited.title, unexcited.items) == ("This recording does not excite them", ("my6 + 0.3 mx6",))
    assert (removed.title, removed.items) == ("Set to zero as not essential", ("xx5r, off6",))
    nothing = identifiability_section(replace(tx40, undetermined=undetermined[:3]))
    assert nothing.lead == "The recording determines everything that a motion of this robot can determine."
    assert len(nothing.blocks) == 3


OF_MOTIONS = (
    motion_section,
    contacts_section,
    sensitivity_section,
    convergence_section,
    friction_section,
    impacts_section,
)
"""Sections of estimates that have motions; this one has none."""
OF_FILTERS = (masses_section, history_section, excitation_section, rejections_section)
"""Sections of a filter's estimate; this one is of a regression."""
OF_CHECKS = (trust_section,)
"""Sections of an estimate that was examined; this one was made without a method."""


def test_the_page_can_be_read_without_eyes_or_colour(page):
    assert page.tags.count("h1") == 1 and page.tags.count("h2") == len(SECTIONS) - len(
        OF_MOTIONS + OF_FILTERS + OF_CHECKS
    )
    assert page.tags.count("table") == page.tags.count("caption") == page.tags.count("thead")
    assert page.tags.count("figure") == page.tags.count("figcaption") == len(page.figures)
    for mark in "●◐○∅✕":
        assert mark in page.text


def test_sections_without_anything_to_say_are_left_out(emps):
    titles = [section.title for section in sections(emps)]
    assert titles[:4] == ["Verdict", "Main numbers", "Parameters", "Measured and predicted effort"]
    assert titles[4:] == ["Residuals", "Identifiability", "How it was found"]


def test_what_the_data_do_not_determine_is_never_a_number(tx40, tmp_path):
    values, covariance = tx40.values.copy(), tx40.covariance.copy()
    values[3] = np.nan
    covariance[3, 3] = np.inf
    values[5] = 0.0
    partly = tx40.updated(
        values=values, uncertainty=Uncertainty(covariance), identifiable=np.isfinite(values)
    )
    text = read(write_report(partly, tmp_path / "page.html")).text
    assert re.search(
        r"xx2r moment of inertia about x, link_2, with others – – kg m² – – ✕ not identifiable", text
    )
    assert "nan" not in text.lower().replace("nano", "")


def test_one_joint_and_thirty(emps, humanoid, tmp_path):
    single = read(write_report(emps, tmp_path / "emps.html"))
    assert len(single.figures) == 1 + 4 + 1 + 1 + 1
    many = read(write_report(humanoid, tmp_path / "humanoid.html"))
    assert len(many.figures) == 1 + len(interval_grid(humanoid).panels) + 3 * 30 + 1
    assert (tmp_path / "humanoid.html").stat().st_size < LARGEST_PAGE


def test_what_comes_from_the_prior_is_marked_without_colour(tx40, page):
    assert "Every parameter" in page.text and "link_1: " in page.text
    assert re.search(r"\(\S+\) \(\S+\) kg", page.text)
    assert "○ from prior" in page.text and "% prior" in page.text
    assert page.tags.count("tbody") > page.tags.count("table")


def test_thirty_bodies_on_a_page(humanoid, many_bodies, tmp_path):
    full, bodies = many_bodies
    reader = read(write_report(humanoid.updated(full, bodies=bodies), tmp_path / "bodies.html"))
    scenes = [figure for figure in reader.figures if "scene" in json.loads(figure)["layout"]]
    assert len(scenes) == 1 and len(scenes[0]) < 150_000
    assert reader.text.count("from prior") > 30


def test_drops_on_a_page_move(emps, rng, tmp_path):
    thrown = read(write_report(thrown_square(emps, rng), tmp_path / "thrown.html"))
    moving = [figure for figure in map(json.loads, thrown.figures) if "frames" in figure]
    assert len(moving) == 2 and "Impact by impact" in thrown.text
    for figure in moving:
        names = [one["name"] for one in figure["frames"]]
        assert len(set(names)) == len(names) and sorted(names, key=float) == names
    assert sum(map(len, thrown.figures)) < 1_000_000


def test_names_cannot_break_out_of_the_page(tx40, tmp_path):
    evil = "</script><script>alert(1)</script><img src=http://x onerror=1>"
    fit = replace(tx40.fit, joints=(evil, *tx40.fit.joints[1:]))
    bad = tx40.updated(
        robot=evil,
        names=(evil, *tx40.names[1:]),
        owners=(evil, *tx40.owners[1:]),
        fit=fit,
        warnings=(evil,),
    )
    reader = read(write_report(bad, tmp_path / "page.html"))
    assert "img" not in reader.tags
    assert evil in reader.text


def test_the_project_file_is_shown_as_the_file(tx40, tmp_path):
    job = '[robot]\npath = "<arm>.urdf" # mine\n'
    found = tx40.updated(settings={"project": {"robot": {}}, "project_file": "job.toml", "project_text": job})
    reader = read(write_report(found, tmp_path / "page.html"))
    assert job in reader.words and "Project file job.toml" in reader.text


def test_the_main_numbers_are_masses_then_those_known_best(emps, humanoid):
    (table,) = numbers_section(emps).blocks
    assert [row[0].text for row in table.rows] == ["m1", "fv1", "fc1", "off1"]
    (table,) = numbers_section(humanoid).blocks
    determined = [name for name, yes in zip(humanoid.names, humanoid.identifiable, strict=True) if yes]
    shown = [row[0].text for row in table.rows]
    percent = dict(zip(humanoid.names, humanoid.relative_std_percent, strict=True))
    assert len(shown) == 10 and shown == sorted(determined, key=percent.__getitem__)[:10]
    nothing = np.full(len(emps.values), np.nan)
    assert numbers_section(emps.updated(values=nothing, identifiable=np.isfinite(nothing))) is None


def test_all_but_the_verdict_and_what_a_method_is_for_is_folded(tx40):
    assert [section.title for section in sections(tx40) if not section.folded] == [
        "Verdict", "Main numbers", "Payload",
    ]  # fmt: skip


def test_references_are_for_copying(tx40):
    text = render(Page("t", sections=sections(tx40)))
    assert "How to cite" not in text


def test_a_page_without_figures_has_no_script():
    text = render(Page("Title", sections=(Section("Only", "One sentence."),)))
    assert "<script" not in text and len(text) < 20_000


def test_nothing_is_left_behind_where_a_page_cannot_be_written(tx40, tmp_path, monkeypatch):
    with pytest.raises(UnwritableOutput, match="there is no folder"):
        write_report(tx40, tmp_path / "missing" / "page.html")
    with pytest.raises(UnwritableOutput, match="is a folder"):
        write_report(tx40, tmp_path)
    (tmp_path / "page.html").write_text("before")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(PoinsotError, match="No space left"):
        write_report(tx40, tmp_path / "page.html")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "before"


def test_the_inspection_page(tmp_path):
    time = np.arange(6000) * 1e-3
    channels = {"position.a": np.sin(time), "torque.a": np.cos(time)}
    recording = Recording(time, channels, {"position.a": "rad", "torque.a": "N m"})
    seen = inspect(recording, name="log.csv")

    def written(*findings):
        found = tuple(Finding("cause", Severity[severity], sentence, "") for severity, sentence in findings)
        return read(
            write_inspection_page(replace(seen, findings=found), recording, tmp_path / "inspect.html")
        )

    reader = written(("note", "still at the end"), ("error", "position.a is constant"))
    assert "1 error and 1 note to resolve before any estimation." in reader.text
    assert reader.text.index("position.a is constant") < reader.text.index("still at the end")
    assert "Samples 6000" in reader.text and "Repeated [%]" in reader.text and "log.csv" in reader.text
    assert len(reader.figures) == 2
    assert "6000 rows are drawn" in reader.text
    assert "The recording can be used" in written().text
    assert "The recording can be used for estimation; 2 notes." in written(("note", "a"), ("note", "b")).text
