"""Photograph the first screens of six results, in light and in dark, for the gallery.

    python docs/pictures_of_pages.py                  # identifies the examples, and writes docs/assets/screens/*.webp
    python docs/pictures_of_pages.py arm=run/arm ...  # of results that are there

Needs Debian's chromium.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "assets" / "screens"
RESULTS = {
    "arm": ("identify", "arm/physical.toml"),
    "load": ("track", "arm/track.toml"),
    "quadruped": ("identify", "quadruped/job.toml"),
    "pendulum": ("identify", "furuta/job.toml"),
    "throw": ("identify", "throw/job.toml"),
    "servo": ("identify", "so101/job.toml"),
}
SIZE, SHOWN, QUALITY = {"width": 1280, "height": 800}, (800, 500), 80


def pages(given: list[str], folder: Path) -> dict[str, Path]:
    """The page of each result, identified where its folder is not given."""
    folders = {name: Path(path) for name, _, path in (argument.partition("=") for argument in given)}
    for name, (verb, project) in RESULTS.items():
        if name not in folders:
            folders[name] = folder / name
            job = ROOT / "examples" / project
            subprocess.run([sys.executable, "-m", "poinsot", verb, job, "--out", folders[name]], check=True)
    return {name: folders[name].resolve() / "report.html" for name in RESULTS}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as browsers:
        browser = browsers.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        for name, page in pages(sys.argv[1:], Path(folder)).items():
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport=SIZE, color_scheme=scheme)
                tab = context.new_page()
                tab.goto(page.as_uri())
                tab.wait_for_selector("[data-role=first-figure] .main-svg")
                tab.wait_for_timeout(3000)  # the robot is drawn by the processor
                picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB").resize(SHOWN)
                picture.save(FOLDER / f"{name}_{scheme}.webp", quality=QUALITY)
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
