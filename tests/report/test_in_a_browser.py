"""Pages in chromium, wide and narrow, light and dark: silent, offline, within the screen, and drawn."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot.report import write_inspection_page, write_report
from references.thrown_square import thrown_square

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra `dev`")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")

ARM = Path(__file__).parents[2] / "examples" / "arm"
LARGEST_PAGE = 1.5e6  # [bytes]
WAIT_MS = 20_000
"""For a figure to be drawn, without a graphics card on a busy machine."""
DRIVER = ("GPU", "WebGL")
"""Words of messages about the graphics driver, which here is a slow one without a graphics card."""


@pytest.fixture(scope="module")
def browser():
    # Playwright's loop stays open until the module ends.
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser):
    """(page, messages and requests) of a file; `width` [px], `scheme` light or dark."""
    contexts = []

    def opened(path, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page, noise = context.new_page(), []
        page.on(
            "console", lambda said: noise.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("request", lambda asked: noise.append(asked.url))
        page.goto(f"file://{path}")
        page.locator(".plot").first.scroll_into_view_if_needed()
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=WAIT_MS)
        return page, noise

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(params=["arm", "tx40", "thrown", "recording"])
def path(request, tmp_path):
    path = tmp_path / f"{request.param}.html"
    if request.param == "arm":
        project = poinsot.Project.load(ARM / "job.toml")
        return write_report(poinsot.identify(project), path, sections=project.settings.method.row.sections)
    if request.param == "recording":
        (run, inspection), *_ = poinsot.Project.load(ARM / "job.toml").inspect()
        return write_inspection_page(inspection, run.recording, path)
    if request.param == "thrown":
        emps, rng = request.getfixturevalue("emps"), request.getfixturevalue("rng")
        return write_report(thrown_square(emps, rng), path)
    return write_report(request.getfixturevalue("tx40"), path)


def test_a_page_is_silent_offline_and_within_every_screen(path, opened):
    assert path.stat().st_size < LARGEST_PAGE
    backgrounds = {}
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            page, noise = opened(path, width, scheme)
            # the file itself is asked for; what it holds needs no network
            requests = [
                one for one in noise if "://" in one and not one.startswith(("file:", "data:", "blob:"))
            ]
            said = [one for one in noise if "://" not in one and not any(word in one for word in DRIVER)]
            assert (requests, said) == ([], []), (width, scheme)
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
            background = "getComputedStyle(document.body).backgroundColor"
            backgrounds[scheme] = page.evaluate(background)
            paper = page.evaluate("document.querySelector('.js-plotly-plot').layout.paper_bgcolor")
            assert (paper == "#ffffff") == (scheme == "light"), "figures follow the scheme"
    assert backgrounds["light"] != backgrounds["dark"]


def test_every_folded_figure_is_drawn_where_it_is_unfolded(tx40, tmp_path, opened):
    page, noise = opened(write_report(tx40, tmp_path / "page.html"))
    folds = page.locator("main > section > details")
    assert folds.count() > 5, "what is not the verdict is folded"
    assert page.evaluate("document.documentElement.scrollHeight") < 8000
    count = page.evaluate(
        """async () => {
            document.querySelectorAll("details").forEach((fold) => (fold.open = true));
            for (const plot of document.querySelectorAll(".plot")) {
                plot.scrollIntoView();
                for (let k = 0; k < 200 && !plot.querySelector(".main-svg"); k++)
                    await new Promise((done) => setTimeout(done, 50));
            }
            return [".plot", ".js-plotly-plot"].map((which) => document.querySelectorAll(which).length);
        }"""
    )
    assert count[0] == count[1] > 10
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
    assert not [said for said in noise if "://" not in said and not any(word in said for word in DRIVER)]


def test_a_link_unfolds_its_section(tx40, tmp_path, opened):
    page, _ = opened(write_report(tx40, tmp_path / "page.html"))
    page.click('nav a[href="#residuals"]')
    page.wait_for_selector("#residuals > details[open] .js-plotly-plot", timeout=WAIT_MS)


def test_the_first_screen_has_headline_numbers_next_step_and_curve(tx40, tmp_path, opened):
    page, _ = opened(write_report(tx40, tmp_path / "page.html"))
    page.wait_for_selector("[data-role=first-figure] .main-svg", timeout=WAIT_MS)
    for role in ("headline", "key-number", "next-step", "first-figure"):
        for k in range(count := page.locator(f"[data-role={role}]").count()):
            box = page.locator(f"[data-role={role}]").nth(k).bounding_box()
            assert box["y"] + box["height"] < 800
        assert count == (5 if role == "key-number" else 1)


def test_the_robot_is_drawn_in_three_dimensions(tx40, tmp_path, opened):
    """By its pixels: identified bodies are blue, on white paper."""
    page, _ = opened(write_report(tx40, tmp_path / "page.html"))
    page.locator(".picture .plot").scroll_into_view_if_needed()
    page.wait_for_selector(".picture canvas", timeout=WAIT_MS)
    page.wait_for_timeout(1000)  # the scene is drawn a frame after its canvas is there
    box = page.locator(".picture .plot").bounding_box()
    from io import BytesIO

    from PIL import Image

    pixels = np.asarray(Image.open(BytesIO(page.screenshot(clip=box))).convert("RGB")).astype(int)
    blue = (pixels[..., 2] - pixels[..., 0] > 60).mean()
    # ten bodies of a robot that fills the box: a hundredth of it at the very least
    assert blue > 0.01


def test_the_numbers_of_a_figure_are_saved(tx40, tmp_path, opened):
    page, _ = opened(write_report(tx40, tmp_path / "page.html"))
    page.hover(".picture .plot")
    with page.expect_download(timeout=WAIT_MS) as download:
        page.click('.picture [data-title="Save the numbers as CSV"]')
    rows = Path(download.value.path()).read_text().splitlines()
    assert rows[0] == "trace,x,y,z" and len(rows) > 100
    assert all(len(row.rsplit(",", 3)) == 4 for row in rows)


def test_printing_unfolds_and_draws_everything(tx40, tmp_path, opened):
    page, noise = opened(write_report(tx40, tmp_path / "page.html"), scheme="dark")
    page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert not [said for said in noise if "://" not in said and not any(word in said for word in DRIVER)]
    assert page.locator("details[open]").count() == 0, "folded again"
