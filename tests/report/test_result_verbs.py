"""`poinsot show` and `open`: a result again, in the terminal and in the browser."""

import json
import webbrowser
from pathlib import Path

import pytest

from poinsot.cli.open import find_page
from synthetic_job import write_job

ROOT = Path(__file__).resolve().parents[2]


def test_show_prints_what_identify_printed(poinsot, tmp_path):
    job = write_job(tmp_path)
    _, printed, _ = poinsot("identify", job, "--json", tmp_path / "r.json")
    assert poinsot("show", tmp_path / "r.json") == (0, printed, "")


def test_show_prints_what_track_printed(poinsot, tmp_path):
    _, printed, _ = poinsot("track", ROOT / "examples/arm/track.toml", "--json", tmp_path / "r.json")
    assert poinsot("show", tmp_path / "r.json") == (0, printed, "")


@pytest.mark.parametrize("content", ['{"schema": "poinsot.inspect/1"}', "[]", "no JSON"])
def test_what_cannot_be_shown_is_one_sentence(poinsot, tmp_path, content):
    (tmp_path / "r.json").write_text(content)
    code, out, err = poinsot("show", tmp_path / "r.json")
    assert (code, out) == (2, "") and err.count("\n") == 1 and "r.json" in err


def test_open_finds_the_page(poinsot, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    text = (job := write_job(tmp_path)).read_text() + '\n[output]\nreport = "mine.html"\n'
    job.write_text(text)
    poinsot("identify", job, "--out", tmp_path / "out")
    page = tmp_path / "out" / "mine.html"
    for what in (page, page.parent, page.parent / "result.json"):
        assert poinsot("open", what) == (0, f"{page}\n", "")
    assert opened == 3 * [page.resolve().as_uri()]


def test_open_without_a_browser_or_a_page(poinsot, tmp_path, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    (tmp_path / "excite.html").touch()
    code, out, err = poinsot("open", tmp_path)
    assert (code, out) == (0, f"{tmp_path / 'excite.html'}\n") and "no browser" in err
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "nothing.json"):
        code, _, err = poinsot("open", path)
        assert code == 2 and err.count("\n") == 1 and "there is no" in err


def test_a_report_outside_of_the_folder_is_not_opened(tmp_path):
    """The name comes from a file that others may have written."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "page.html").touch()
    result = {"settings": {"project": {"output": {"report": "../page.html"}}}}
    (tmp_path / "deep" / "result.json").write_text(json.dumps(result))
    (tmp_path / "deep" / "report.html").touch()
    assert find_page(tmp_path / "deep" / "result.json") == tmp_path / "deep" / "report.html"
