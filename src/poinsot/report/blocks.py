"""Content of the sections of a page. Each block names the template that renders it, and is independent of HTML.

All text is plain text: templates escape it, so a joint may be called `<script>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar


@dataclass(frozen=True, kw_only=True)
class PageBlock:
    """A block of a section, with a heading above it where there are several; a folded block shows only its heading."""

    template: ClassVar[str]
    title: str = ""
    caption: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """A heading with a tone of `Cell`, a sentence that states the result, and the blocks, which may be folded."""

    title: str
    lead: str
    blocks: tuple[PageBlock, ...] = ()
    tone: str = ""
    folded: bool = False

    @property
    def anchor(self) -> str:
        """The title as the name of a link: lower case, with hyphens in place of all but letters and digits."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.title.lower()).split())


def section_of(title: str, lead: str, *blocks: PageBlock | None) -> Section:
    """A section of those blocks that are not None."""
    return Section(title, lead, tuple(block for block in blocks if block is not None))


@dataclass(frozen=True)
class TableColumn:
    """A column of a table; `numeric`: it is aligned to the right, `code`: its cells are symbols or formulas."""

    title: str
    numeric: bool = False
    code: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell of a table; the bar beneath its text is a part of its full length, 0 to 1.

    The tone is `"good"`, `"fair"`, `"bad"`, `"assumed"` for values that were not measured, `"shared"` for a bar of two
    parts, or ""; never the only carrier of the meaning.
    """

    text: str
    bar: float | None = None
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Table(PageBlock):
    """A table; the first cell of each row is its header.

    A group is (heading, how many rows); without groups all rows belong together.
    """

    template: ClassVar[str] = "table.html"
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()

    @property
    def grouped(self) -> list[tuple[str, tuple[tuple[Cell, ...], ...]]]:
        """(heading, rows) of each group."""
        rest = iter(self.rows)
        groups = self.groups or (("", len(self.rows)),)
        return [(heading, tuple(islice(rest, count))) for heading, count in groups]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One Plotly figure, as the JSON-able dicts that Plotly reads.

    Args:
        data, layout: Plotly's.
        alt: text alternative of the picture.
        title, note: above the picture, left and right.
        wide: whether it takes the whole width of the page, and scrolls sideways where that is too small.
        frames: Plotly's frames of an animation, each named by its time [s], as the slider shows it.
    """

    data: tuple[dict[str, Any], ...]
    layout: dict[str, Any]
    alt: str
    title: str = ""
    note: str = ""
    wide: bool = False
    frames: tuple[dict[str, Any], ...] = ()

    @property
    def plotly(self) -> dict[str, Any]:
        """Arguments of `Plotly.newPlot`."""
        moving = {"frames": list(self.frames)} if self.frames else {}
        return {"data": list(self.data), "layout": self.layout, **moving}


@dataclass(frozen=True, kw_only=True)
class FigureGrid(PageBlock):
    """Small multiples.

    Args:
        panels: in reading order.
        legend: (style, label) of each kind of line, the same in all panels; styles are those of the style sheet.
        shared_x: whether zooming one panel zooms all.
        packed: whether panels of different heights stand close beneath each other, column by column.
    """

    template: ClassVar[str] = "figure_grid.html"
    panels: tuple[Figure, ...]
    legend: tuple[tuple[str, str], ...] = ()
    shared_x: bool = False
    packed: bool = False


@dataclass(frozen=True)
class Card:
    """One headline number."""

    name: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Cards(PageBlock):
    """Headline numbers side by side."""

    template: ClassVar[str] = "cards.html"
    cards: tuple[Card, ...]


@dataclass(frozen=True, kw_only=True)
class Facts(PageBlock):
    """Names and values beneath each other."""

    template: ClassVar[str] = "facts.html"
    facts: tuple[tuple[str, str], ...]


SEVERITIES = ("error", "warning", "note", "ok")
"""Severities of findings, worst first."""


@dataclass(frozen=True, kw_only=True)
class Findings(PageBlock):
    """Sentences with a severity of `SEVERITIES`, worst first whatever the order given."""

    template: ClassVar[str] = "findings.html"
    findings: tuple[tuple[str, str], ...]

    @property
    def sorted(self) -> list[tuple[str, str]]:
        # Stable: among findings of one severity the order given stays.
        return sorted(self.findings, key=lambda finding: SEVERITIES.index(finding[0]))

    @staticmethod
    def of(findings: Iterable[tuple[str, str]]) -> Findings | None:
        """The block of these findings; None where there are none."""
        sentences = tuple(findings)
        return Findings(findings=sentences) if sentences else None


@dataclass(frozen=True, kw_only=True)
class Items(PageBlock):
    """A list of sentences, numbered where their order matters, or of formulas."""

    template: ClassVar[str] = "items.html"
    items: tuple[str, ...]
    numbered: bool = False
    code: bool = False


@dataclass(frozen=True, kw_only=True)
class Verbatim(PageBlock):
    """Text to be copied as it is; text in the language `"toml"` is highlighted."""

    template: ClassVar[str] = "verbatim.html"
    text: str
    language: str = ""


@dataclass(frozen=True)
class FirstScreen:
    """What a reader sees without scrolling: the headline in the tone of its trust, the next step, the numbers that say
    most, and one figure. `kind`: what the figure compares, e.g. `"measured-predicted"`.
    """

    headline: str
    next_step: str
    tone: str
    numbers: tuple[tuple[str, str], ...]
    figure: FigureGrid | None
    kind: str


@dataclass(frozen=True)
class Page:
    """Title, kicker above, alert (in red) and subtitle beneath it, what comes first, and sections in order, the first
    `opening` beside the picture.
    """

    title: str
    kicker: str = ""
    subtitle: str = ""
    alert: str = ""
    sections: Sequence[Section] = field(default_factory=tuple)
    first: FirstScreen | None = None
    picture: FigureGrid | None = None
    opening: int = 0

    @property
    def figures(self) -> list[dict[str, Any]]:
        """Plotly figures, in the order of the page."""
        first = self.first.figure if self.first else None
        blocks = [first, self.picture, *(block for section in self.sections for block in section.blocks)]
        return [panel.plotly for block in blocks if isinstance(block, FigureGrid) for panel in block.panels]
