"""MkDocs hooks: what the build makes of running code, and how pages show it.

- pictures and the pages of the gallery, drawn by docs/pictures
- the public names, a page for each section of `__init__.pyi`, and tables of the causes of findings on the page on trust
- tables from runs of the papers' cases, where a page has `<!-- from a run: NAME -->`
- the JSON Schema of every `--json` output, as a file
- a picture alone in its paragraph becomes a figure whose caption is its alt text; formulas become MathML
"""

import html
import json
import re
import sys
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

import poinsot
from poinsot.schemas import NAMES

sys.path.insert(0, str(Path(__file__).parent / "pictures"))
from build import build

FORMULA = re.compile(r'<(div|span) class="arithmatex">\\[\[(](.*?)\\[\])]</\1>', re.DOTALL)
PICTURE = re.compile(r'<p><img alt="([^"]*)" src="([^"]*pictures/[^"]*)" ?/?></p>')

TABLE = re.compile(r"<!-- from a run: (\w+) -->")
TABLES: dict[str, str] = {}
"""What runs say in Markdown, by the name under which a page asks for it."""
SECTIONS = "<!-- sections of the API -->"
"""Where the page on the API has its list of names."""


def on_files(files, config):
    for path in build():
        if path.suffix == ".md":
            TABLES[path.stem] = path.read_text()
        else:
            files.append(File.generated(config, f"pictures/{path.name}", abs_src_path=str(path)))
    for name in NAMES:
        schema = json.dumps(poinsot.read_schema(name), indent=1)
        files.append(File.generated(config, f"schemas/{name}.json", content=schema))
    for title, slug, names in _sections():
        files.append(File.generated(config, f"api/{slug}.md", content=_reference(title, names)))
    return files


def on_page_markdown(markdown: str, page, **_) -> str:
    markdown = TABLE.sub(lambda match: TABLES[match[1]], markdown)
    if page.file.src_uri == "concepts/trust.md":
        return markdown + _causes()
    if page.file.src_uri == "api.md":
        lines = [
            f"- [{title}](api/{slug}.md): {', '.join(f'`{name}`' for name in names)}"
            for title, slug, names in _sections()
        ]
        return markdown.replace(SECTIONS, "\n".join(lines))
    return markdown


def on_page_content(content: str, **_) -> str:
    content = PICTURE.sub(
        r'<figure><img alt="\1" src="\2" loading="lazy"><figcaption>\1</figcaption></figure>', content
    )
    return FORMULA.sub(_mathml, content)


def _mathml(match: re.Match) -> str:
    """A formula as MathML, which browsers set without a script."""
    return convert(html.unescape(match[2]), display="block" if match[1] == "div" else "inline")


def _causes() -> str:
    """A table of every cause: what it means, and what to do."""
    from poinsot.diagnosis import causes
    from poinsot.estimators.joint.examination import CAUSES
    from poinsot.estimators.servo.examination import CHECKS

    of_servos = dict.fromkeys(cause for check in CHECKS for cause in check.causes)
    return "\n".join(["", *_table((*causes(), *CAUSES)), "", "### Of servos", "", *_table(of_servos), ""])


def _table(causes) -> list[str]:
    rows = [f"| `{each.name}` | {each.means} | {each.advice} |" for each in causes]
    return ["| cause | what it means | what to do |", "|---|---|---|", *rows]


def _sections() -> list[tuple[str, str, list[str]]]:
    """Title, file name and public names of each section of the package's contents page, `__init__.pyi`."""
    text = Path(poinsot.__file__).with_suffix(".pyi").read_text()
    sections = []
    for part in re.split(r"^# (?!ruff)", text, flags=re.MULTILINE)[1:]:
        title, _, imports = part.partition("\n")
        names = [
            name
            for name in re.findall(r" as (\w+)$", imports, re.MULTILINE)
            if callable(getattr(poinsot, name))
        ]
        if names:
            sections.append((title.capitalize(), title.replace(" ", "_"), names))
    return sections


def _reference(title: str, names: list[str]) -> str:
    """A page of the API."""
    objects = (getattr(poinsot, name) for name in names)
    return "\n\n".join([f"# {title}", *(f"::: {it.__module__}.{it.__qualname__}" for it in objects)])
