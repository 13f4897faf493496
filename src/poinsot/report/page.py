"""Page -> one HTML file: templates rendered, Plotly and figures compressed, written atomically.

The file contains all that a browser shows: nothing in it refers to the network, and its content security policy forbids
access.
"""

from __future__ import annotations

import gzip
import json
import os
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..io.writing import check_writable, write_text
from .blocks import Page

TEMPLATES = Path(__file__).parent / "templates"
PLOTLY = Path(__file__).parent / "plotly" / "plotly-gl3d-4.1.1.min.js.gz"


def render(page: Page) -> str:
    """The page as HTML text."""
    return _environment().get_template("base.html").render(
        page=page,
        style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        script=Markup((TEMPLATES / "figures.js").read_text(encoding="utf-8")),
        plotly_script=Markup(b64encode(PLOTLY.read_bytes()).decode()) if page.figures else "",
    )  # fmt: skip


def write_page(page: Page, path: str | os.PathLike[str]) -> Path:
    """Write the page atomically."""
    path = Path(path)
    check_writable(path)  # before the page is rendered
    write_text(path, render(page))
    return path


def compressed(value: Any) -> Markup:
    """JSON, compressed with gzip, as base64: no text inside can break out of its script element."""
    # NaN is no JSON: a browser would refuse all figures.
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(b64encode(gzip.compress(text.encode(), mtime=0)).decode())


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # A misspelt name in a template is an error, and not an empty place on a page.
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters["compressed"] = compressed
    return environment
