"""`poinsot open`: open the page of a result in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ..exceptions import UnreadableFile
from .shell import sentences

PAGES = "report.html", "inspect.html", "excite.html"
"""Names of pages that commands write, in order of preference; then any other page of a folder."""


def open_(
    result: Annotated[
        Path,
        typer.Argument(
            help="A result, the folder that --out made, or a page.", metavar="RESULT", show_default=False
        ),
    ],
) -> None:
    """Open the page of a result in the browser."""
    with sentences():
        page = find_page(result)
    typer.echo(f"{page}")
    try:
        shown = webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        shown = False
    if not shown:
        typer.echo("no browser was found; open this file in one", err=True)


def find_page(result: Path) -> Path:
    """The page of a result or of a folder, or the given page.

    Raises:
        UnreadableFile: if there is none.
    """
    if result.suffix.lower() in (".html", ".htm") and result.is_file():
        return result
    folder = result if result.is_dir() else result.parent
    names = [folder / name for name in PAGES]
    if result.is_file():
        from ..project.other_jobs import read_result

        content = read_result(result, "open")
        output = content.get("settings", {}).get("project", {}).get("output", {})
        names = [folder / Path(output.get("report", PAGES[0])).name, result.with_suffix(".html"), *names]
    elif not result.is_dir():
        raise UnreadableFile(f"there is no file or folder {result}")
    page = next((path for path in (*names, *sorted(folder.glob("*.html"))) if path.is_file()), None)
    if page is None:
        raise UnreadableFile(
            f"there is no page in {folder}: `poinsot identify JOB.toml --out {folder}` writes one"
        )
    return page
