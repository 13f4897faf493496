"""Page -> one HTML file: the templates filled in, Plotly's code inlined once, and written whole or not at all.

Nothing in the file refers to the network, and its content security policy forbids it to: what a browser shows is in
the file.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..io.writing import check_writable, write_text
from .blocks import Page

TEMPLATES = Path(__file__).parent / "templates"


def render(page: Page) -> str:
    """The page as HTML text."""
    return _environment().get_template("base.html").render(
        page=page,
        style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        script=Markup((TEMPLATES / "figures.js").read_text(encoding="utf-8")),
        plotly_script=Markup(plotly_script()) if page.has_figures else "",
    )  # fmt: skip


def write_page(page: Page, path: str | os.PathLike[str]) -> Path:
    """Writes the page, whole or not at all."""
    path = Path(path)
    check_writable(path)  # before the work that fills it
    write_text(path, render(page))
    return path


@cache
def plotly_script() -> str:
    """Plotly's code, from the package's data; the package itself is slow to import and is not needed."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("plotly is a dependency of poinsot: run `pip install plotly`")
    return (Path(spec.origin).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def script_json(value: Any) -> Markup:
    """JSON that no text inside can break out of its script element with."""
    # NaN is no JSON: a browser would refuse the whole figure.
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # `</script>` in a name would end the element; the other two end lines in older JavaScript.
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


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
    environment.filters["script_json"] = script_json
    return environment
